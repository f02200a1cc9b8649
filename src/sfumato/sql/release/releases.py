"""One release: its groups, how much one person can matter in it, the scale of its noise and its jobs.

Comes in: a Release of the tree and what it may spend. Goes out: a Cut: one Part for each grouping set, everything known
before any data is touched but the values of open keys. One weight per person for the whole part (semantics 3.1), the
longest row for the joint price (3.2), sums over integers on a grid (3.3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import isqrt, prod
from typing import Any

from sfumato.accounting import Event, Pure
from sfumato.accounting import GaussianRelease as GaussianEvent
from sfumato.algebra import group_keys
from sfumato.algebra.aggregates import AGGREGATES, distinct, order
from sfumato.algebra.aggregates.base import CHOICE, Bundle
from sfumato.algebra.domains import Domains
from sfumato.algebra.job import FINE, ContributionLimits, grid_of
from sfumato.algebra.public_rows import PublicRows
from sfumato.algebra.relations import Grouped, Relation, Release, Windowed, below, scans_in
from sfumato.algebra.tree import Aggregate, Column, columns_of
from sfumato.errors import QueryError
from sfumato.intervals.prefix_sums import Running, Total, WindowReading, independent_variance
from sfumato.mechanisms import (
    GaussianKeySelection,
    KeySelection,
    MostFrequent,
    OrderStatistic,
    RankInterval,
    ThresholdedCounts,
)
from sfumato.policy import FEW_GROUPS, ROW, Policy, Table
from sfumato.sql.release import impossible
from sfumato.sql.release.bundles import (
    WRITTEN,
    Sources,
    as_json,
    bundles_of,
    fed_together,
    job_of,
    listed,
)
from sfumato.sql.release.choice_steps import steps_of
from sfumato.sql.release.impossible import no_row, nobody
from sfumato.sql.release.release_plan import (
    GAUSSIAN,
    GEOMETRIC,
    Extra,
    GroupingSetPlan,
    ReleasedBundle,
    ReleasePlan,
    ReleaseTerms,
)
from sfumato.types import Adjacency, show, whole

_MOST_ROWS = 1 << 40
_BOUND = " (contribution bound)"
_ON_ENDS = Fraction(1, 4)
"""What of the price of a quantile pays for its interval."""


def cut(
    release: Release,
    policy: Policy,
    terms: ReleaseTerms,
    rows: PublicRows,
    *,
    totals: tuple[Total, ...] = (),
    orders: dict[str, WindowReading] | None = None,
) -> ReleasePlan:
    """How this release is made for these terms.

    `totals` are the windows above that are running totals; `orders` those released columns that are nothing else.
    """
    most = contribution(release, terms)
    summed_up = bundles_of(release)
    opened = [i for i, (_, node) in enumerate(release.keys) if group_keys.is_open(node, release.below)]
    open_sets = 0 if nobody(release) else sum(any(i in opened for i in kept) for kept in release.sets)
    spent_on_keys = _selection_share(release, open_sets, bool(summed_up.bundles or summed_up.extras), terms)
    one_noise = bool(open_sets) and _by_one_noise(release, most, terms, opened, policy.privacy.adjacency)
    if one_noise:  # what is paid for the counts pays for the keys, too
        spent_on_keys = Fraction(0), Fraction(0)
    values = ReleaseTerms(terms.epsilon - spent_on_keys[0], terms.noise, terms.delta, terms.rows_per_unit)
    if terms.noise == GAUSSIAN:  # rho is what is divided
        values = ReleaseTerms(terms.epsilon, terms.noise, terms.delta, terms.rows_per_unit)
    work = _Work(
        release,
        policy.privacy.adjacency,
        most,
        summed_up.bundles,
        summed_up.extras,
        values,
        spent_on_keys,
        opened,
        open_sets,
        _read_so(summed_up.sources, orders or {}),
        one_noise,
    )
    parts = work.all_parts(rows)
    events: list[Event] = [part.selection.event for part in parts if part.selection is not None]
    events += work.events(parts)
    return ReleasePlan(release, terms, work.bound, parts, summed_up.sources, tuple(events), work.notes(parts), totals)


def _read_so(sources: Sources, orders: dict[str, WindowReading]) -> dict[int, WindowReading]:
    """The bundles that are read as running totals only, each in one order."""
    found: dict[int, set[WindowReading | None]] = {}
    for name, _, source in sources:
        found.setdefault(source.bundle, set()).add(orders.get(name) if source.formula.adds_up else None)
    return {bundle: r for bundle, (r, *more) in found.items() if bundle >= 0 and r is not None and not more}


def contribution(release: Release, terms: ReleaseTerms) -> int:
    """C: the product of the tables' rows along the joins, or less if the analyst asks (semantics 3.1c)."""
    natural = release.below.person_rows
    if terms.rows_per_unit is None:
        return natural
    lowered = whole(terms.rows_per_unit, "rows_per_unit", 1)
    if lowered > natural:
        raise QueryError(f"rows_per_unit may only be lowered: the policy says {natural}", sqlstate="22023")
    return lowered


def summed(release: Release) -> tuple[Table, str] | None:
    """The table and column that a lone SUM adds up: what `sum_per_unit` is about (semantics 3.1f)."""
    aggregates = [aggregate for _, aggregate in release.aggregates]
    arg = aggregates[0].arg if [aggregate.name for aggregate in aggregates] == ["sum"] else None
    if isinstance(arg, Column):
        for scan in scans_in(release.below):
            if arg.name in scan.columns:
                return scan.table, arg.name.split(".", 1)[1]
    return None


def _selection_share(
    release: Release, open_sets: int, aggregated: bool, terms: ReleaseTerms
) -> tuple[Fraction, Fraction]:
    """(epsilon, rho) of choosing open keys: half, or all where nothing else is asked; nothing without open keys."""
    if not open_sets:
        return Fraction(0), Fraction(0)
    if not terms.delta:
        node = next(node for _, node in release.keys if group_keys.is_open(node, release.below))
        raise QueryError(
            "the values of this key are not declared, so partition selection needs delta, and the policy has none",
            position=node.position,
            hint="Group by a column with declared values, or let the owner set delta and query_delta in the policy "
            "(in Python: protect(…, delta=1e-6), or values= for this column).",
        )
    part = Fraction(1, 2) if aggregated else Fraction(1)
    return terms.epsilon * part, terms.rho * part


def _says_groups(release: Release) -> bool:
    """Whether the owner says of every table in how many groups a person counts."""
    return all(scan.table.groups_per_unit is not None for scan in scans_in(release.below))


def _groups_said(release: Release) -> int:
    """The product of what the owner says; a table of which nothing is said leaves it as it is."""
    return prod(int(scan.table.groups_per_unit or 1) for scan in scans_in(release.below) if not scan.table.public)


def _values_per_unit(release: Release, most: int) -> int:
    """How many different values of one person count: as many as rows where the owner does not say groups."""
    return max(1, min(most, _groups_said(release))) if _says_groups(release) else most


def _keys_per_unit(release: Release, most: int, terms: ReleaseTerms) -> int:
    """K: under how many open keys one person is counted; a few where neither owner nor analyst says."""
    few = _is_few(release, terms)
    return min(most, _groups_said(release) * FEW_GROUPS) if few else _values_per_unit(release, most)


def _is_few(release: Release, terms: ReleaseTerms) -> bool:
    """Whether nobody says under how many open keys one person is counted."""
    return terms.rows_per_unit is None and not _says_groups(release)


def _by_one_noise(release: Release, most: int, terms: ReleaseTerms, opened: list[int], adjacency: Adjacency) -> bool:
    """Whether the noise on the one count that is asked of open keys also decides which of them are shown.

    So that no key is lost by it that the other way would show: the count from which half of the keys are shown is
    compared with the number of people from which the selection by people, for half of epsilon, shows half of them. A
    key of n people whose rows count whole has a count of at least n.
    """
    summed_up, alone = bundles_of(release), release.below.person_rows == 1
    if terms.noise != GEOMETRIC or [set(kept) for kept in release.sets] != [set(opened)] or summed_up.extras:
        return False
    counts = all(aggregate.name in ("count", "count_persons") for _, aggregate in release.aggregates)
    if len(summed_up.bundles) != 1 or not counts or terms.delta * 2 >= 1:
        return False
    many = 1 if alone else _keys_per_unit(release, most, terms)
    norm = min(most, many) if summed_up.bundles[0].person else most
    if norm > 2 * many:
        return False
    by_count = ThresholdedCounts(norm, terms.epsilon, terms.delta, many, adjacency).threshold
    return by_count <= KeySelection(terms.epsilon / 2, terms.delta, many, adjacency).turn + 1


@dataclass
class _Work:
    """What the parts of one release have in common."""

    release: Release
    adjacency: Adjacency
    most: int
    bundles: tuple[Bundle, ...]
    extras: tuple[Aggregate, ...]
    terms: ReleaseTerms
    for_keys: tuple[Fraction, Fraction]
    opened: list[int]
    open_sets: int
    orders: dict[int, WindowReading]
    one_noise: bool = False

    @property
    def alone(self) -> bool:
        """Each person has one row: sums are on the grid itself (semantics 3.1d)."""
        return self.release.below.person_rows == 1

    @property
    def gaussian(self) -> bool:
        return self.terms.noise == GAUSSIAN

    @property
    def rho(self) -> Fraction:
        """What the values spend in zCDP."""
        return self.terms.rho - self.for_keys[1]

    @property
    def bound(self) -> Fraction:
        """C, or C2 for Gaussian noise (semantics 3.1e)."""
        if not self.gaussian or self.alone:
            return Fraction(self.most)
        own = [Fraction(scan.table.l2_per_unit) for scan in scans_in(self.release.below) if not scan.table.public]
        least = min(Fraction(self.most), prod(own, start=Fraction(1)))
        return max(Fraction(int(least * FINE), FINE), Fraction(1, FINE))  # so many digits fit into the engine's numbers

    @property
    def keys_per_unit(self) -> int:
        """K: under how many open keys one person is counted."""
        return _keys_per_unit(self.release, self.most, self.terms)

    def limits(self, by_norm: bool) -> ContributionLimits:
        """What bounds one person in the engine's SQL: the norm of her rows (semantics 3.1e), or their number."""
        bound = self.bound if by_norm else Fraction(self.most)
        return ContributionLimits(self.alone, by_norm, bound, self.most, 1 if self.alone else self.keys_per_unit)

    def all_parts(self, rows: PublicRows) -> tuple[GroupingSetPlan, ...]:
        """All grouping sets; together they have no more groups than one may have."""
        parts: list[GroupingSetPlan] = []
        for kept in self.release.sets:
            parts.append(self.part(kept, rows))
            group_keys.check_groups(sum(len(part.groups) for part in parts))
            group_keys.check_bytes(sum(len(part.words) for part in parts) // WRITTEN)
        return tuple(parts)

    def part(self, kept: tuple[int, ...], rows: PublicRows) -> GroupingSetPlan:
        """One grouping set."""
        chosen = tuple(i for i in kept if i in self.opened)
        groups, words = listed(self.release, tuple(i for i in kept if i not in self.opened), rows)
        if chosen and nobody(self.release):
            groups, words = (), as_json([])  # no key of nobody is shown, so that nothing is chosen either
        selection: KeySelection | GaussianKeySelection | ThresholdedCounts | None = None
        if chosen and groups and not self.one_noise:
            selection = self._selection()
        every = None if chosen else len(groups)
        clip = self._clip()
        share = (self.rho if self.gaussian else self.terms.epsilon) / (self.entries * len(self.release.sets))
        single = self.together == len(self.bundles) and len(self.release.sets) == 1
        cells = self._cells(every, len(groups))
        released = tuple(
            self._released(bundle, share, cells, clip=clip, single=single and not chosen) for bundle in self.bundles
        )
        if not chosen and groups and len(self.release.sets) == 1:
            released = self._running(released, groups, share, cells)
        if chosen and groups and self.one_noise:
            selection = self._thresholded(released[0], share, cells)
        by_norm = self.gaussian and not any(r.running for r in released)
        limits = replace(self.limits(by_norm), few=self._few(cells))
        values = tuple(self._different(aggregate, every)[1] for aggregate in self.extras)
        together = self._row_feeds()
        job = job_of(self.release, limits, kept, chosen, clip=clip, together=together, different_values=values)
        more = tuple(self._extra(aggregate, share, rows, every=every) for aggregate in self.extras)
        return GroupingSetPlan(kept, chosen, groups, (*released, *more), share, job, selection, words)

    @cached_property
    def together(self) -> int:
        """How many bundles one person can feed at once; where these are all, each is paid for by itself."""
        return fed_together(self.release, self.alone)

    def _row_feeds(self) -> int | None:
        """How many bundles one row may feed, which the engine enforces; None where that is all of them."""
        persons = 0 if self.alone else sum(bundle.person for bundle in self.bundles)
        by_row = self.together - persons
        return by_row if by_row < len(self.bundles) - persons else None

    def _different(self, aggregate: Aggregate, every: int | None) -> tuple[int, int]:
        """How many different values one person can add, in one group and in all; no matter for a choice."""
        if aggregate.arg is None or AGGREGATES[aggregate.name].measure == CHOICE:
            return 0, 0
        return distinct.moved(aggregate.arg, _values_per_unit(self.release, self.most), every)

    def _in_one_group(self, aggregate: Aggregate, kept: int) -> int:
        """How many of the values that one person keeps can be in one group: by enforced domains, not by inference."""
        assert aggregate.arg is not None
        count = Domains(self.release.below).of(aggregate.arg).count
        return kept if count is None else max(1, min(kept, count))

    @property
    def entries(self) -> int:
        """Among how many the price is divided: bundles that one row can feed, and each that is not a sum."""
        return max(1, self.together + len(self.extras))

    def _extra(self, aggregate: Aggregate, share: Fraction, rows: PublicRows, *, every: int | None) -> ReleasedBundle:
        """What is not a sum, with its law; `every` is the number of groups where it is known."""
        nothing, entries = Bundle((), Fraction(0)), 1 if every == 1 else None
        if AGGREGATES[aggregate.name].measure == CHOICE:
            low, high = order.candidates(aggregate)
            steps = steps_of(aggregate, self.release.below, rows)
            law, around = self._choice(aggregate, share, one_group=entries is not None)
            extra = Extra(aggregate, law, low, high, steps, around)
            return ReleasedBundle(nothing, Fraction(0), Fraction(0), Fraction(1), self.terms.noise, extra)
        _, kept = self._different(aggregate, every)
        extra, size, unit = Extra(aggregate), distinct.size_of_value(aggregate), distinct.unit_of(aggregate)
        if size / unit * _MOST_ROWS >= 1 << 126:
            raise _too_large(aggregate.position)
        up = distinct.is_nonnegative(aggregate)
        if self.gaussian:
            length = self._in_one_group(aggregate, kept) * kept * size**2
            squared = self.adjacency.sensitivity_l2_squared(length, entries=entries, nonnegative=up)
            return ReleasedBundle(nothing, squared, squared / (2 * share), unit, GAUSSIAN, extra)
        moved = self.adjacency.sensitivity_l1(kept * size, entries=entries, nonnegative=up)
        return ReleasedBundle(nothing, moved, moved / share, unit, GEOMETRIC, extra)

    def _choice(
        self, aggregate: Aggregate, share: Fraction, *, one_group: bool
    ) -> tuple[OrderStatistic | MostFrequent, RankInterval | None]:
        """The law of a choice; of a quantile also that of its interval, for a part of the price."""
        fine, fraction, adjacency = 1 if self.alone else FINE, order.fraction(aggregate), self.adjacency
        norm = Fraction(self.most * fine)
        for_ends = share * _ON_ENDS if fraction is not None else Fraction(0)
        epsilon, more = (_root_of_eight(one) if self.gaussian else one for one in (share - for_ends, for_ends))
        if aggregate.name == "mode":
            return MostFrequent(norm, epsilon, adjacency), None
        if adjacency is Adjacency.REPLACE and not one_group:
            # she may leave one group and enter another: two comings and goings, each in its own group
            norm, adjacency = 2 * norm, Adjacency.ADD_REMOVE
        end = "high" if aggregate.name == "max" else "low"
        law = OrderStatistic(fraction, norm, epsilon, adjacency, end)
        return law, None if fraction is None else RankInterval(fraction, norm, more, adjacency, fine)

    def events(self, parts: tuple[GroupingSetPlan, ...]) -> list[Event]:
        """What the values cost: noise on sums and counts as one, each choice by itself."""
        made = [part for part in parts if part.bundles and part.groups]
        if not made or self.one_noise:  # the event of the selection is that of the noise
            return []
        laws = [law for part in made for r in part.bundles if r.extra is not None for law in r.extra.choices]
        noisy = self.entries - sum(AGGREGATES[aggregate.name].measure == CHOICE for aggregate in self.extras)
        share = made[0].share * noisy * len(self.release.sets)
        events: list[Event] = []
        if noisy and any(r.extra is None or r.extra.law is None for part in made for r in part.bundles):
            events.append(GaussianEvent(share) if self.gaussian else Pure(share))
        return [*events, *(law.event for law in laws)]

    def _cells(self, every: int | None, dense: int) -> int:
        """In how many groups one person can be at most, for counts of persons."""
        return self.keys_per_unit * dense if every is None else every

    def _few(self, cells: int) -> bool:
        """Whether nobody can be in more groups than count: then a person counts whole, on the integers themselves."""
        return not self.gaussian and cells <= self.bound

    def _selection(self) -> KeySelection | GaussianKeySelection:
        delta, touched = self.terms.delta / self.open_sets, 1 if self.alone else self.keys_per_unit
        if self.gaussian:
            return GaussianKeySelection(self.for_keys[1] / self.open_sets, delta, touched, self.adjacency)
        return KeySelection(self.for_keys[0] / self.open_sets, delta, touched, self.adjacency)

    def _thresholded(self, released: ReleasedBundle, share: Fraction, cells: int) -> ThresholdedCounts:
        """Counts that are shown from a threshold on, in steps of their unit."""
        norm = min(self.bound, Fraction(cells)) if released.bundle.person else self.bound
        touched = 1 if self.alone else self.keys_per_unit
        return ThresholdedCounts(norm / released.unit, share, self.terms.delta, touched, self.adjacency)

    def _clip(self) -> Fraction | None:
        """A release that is one SUM and nothing else clips the person's vector of group sums instead (3.1f)."""
        if self.gaussian or len(self.bundles) != 1 or [a.name for _, a in self.release.aggregates] != ["sum"]:
            return None
        default = self.most * self.bundles[0].length
        declared = default
        if (of := summed(self.release)) is not None:
            declared = Fraction(of[0].sum_per_unit.get(of[1], default))
        return None if self.alone and declared >= default else min(declared, default)

    def _released(
        self, bundle: Bundle, share: Fraction, cells: int, *, clip: Fraction | None, single: bool
    ) -> ReleasedBundle:
        """A bundle with its noise.

        Under replace, a single sum that cannot be negative moves by its norm only; but where bundles share a price
        because no row feeds two, she may leave one and enter another, so that holds only where every one is paid for.
        """
        unit = self._unit(bundle, clip, self._few(cells))
        entries = 1 if single and cells == 1 and len(bundle.parts) == 1 else None
        if not self.gaussian:
            norm = clip if clip is not None else self.bound * bundle.length
            if bundle.person:
                norm = min(self.bound, Fraction(cells))
            moved = self.adjacency.sensitivity_l1(norm, entries=entries, nonnegative=bundle.nonnegative)
            return ReleasedBundle(bundle, moved, moved / share, unit)
        squared = (self.bound * bundle.length) ** 2
        if bundle.person:
            squared = min(self.bound**2, Fraction(cells))
        moved = self.adjacency.sensitivity_l2_squared(squared, entries=entries, nonnegative=bundle.nonnegative)
        return ReleasedBundle(bundle, moved, moved / (2 * share), unit, GAUSSIAN)

    def _running(
        self, released: tuple[ReleasedBundle, ...], groups: tuple[tuple[Any, ...], ...], share: Fraction, cells: int
    ) -> tuple[ReleasedBundle, ...]:
        """Bundles that are read as running totals only get their noise there, where that is the smaller error.

        Guarantee: the price stays the same.
        Proof: what is paid for is the L1 distance of neighbours' sums over `sensitivity`, summed over the bundles; that
            is the loss of independent geometric noise and of PrefixSums alike. Gaussian noise: PrefixSums needs L1, but
            C2 bounds L2; so such a release, one bundle by itself, weighs rows by their number, and C bounds its L1.
        Reference: semantics 3.1, 3.2; PrefixSums.
        Checked by: laws::one_person_moves_running_totals_by_what_is_paid
        """
        return tuple(
            self._running_bundle(r, self.orders[i], groups, share, cells=cells) if i in self.orders else r
            for i, r in enumerate(released)
        )

    def _running_bundle(
        self,
        r: ReleasedBundle,
        reading: WindowReading,
        groups: tuple[tuple[Any, ...], ...],
        share: Fraction,
        *,
        cells: int,
    ) -> ReleasedBundle:
        lengths = [len(track) for track in reading.tracks(groups)]
        variance = independent_variance(r.scale, r.unit, self.gaussian)
        if not self.gaussian:
            running = Running(reading, r.sensitivity / r.unit, epsilon=share)
            return replace(r, running=running) if running.better(lengths, variance) else r
        if len(self.bundles) > 1 or self.extras:
            return r
        norm = min(Fraction(self.most), Fraction(cells)) if r.bundle.person else self.most * r.bundle.length
        moved = self.adjacency.sensitivity_l1(norm)
        running = Running(reading, moved / r.unit, rho=share)
        if not running.better(lengths, variance):
            return r
        return replace(r, sensitivity=moved**2, scale=moved**2 / (2 * share), running=running)

    def _unit(self, bundle: Bundle, clip: Fraction | None, few: bool) -> Fraction:
        """The unit of the whole numbers that the engine adds up: the grid, or 2^-20 of it where rows are weighted."""
        grid = grid_of(bundle)
        unit = grid if self.alone and clip is None else grid / FINE
        if bundle.person and few:
            unit = grid
        if bundle.length / unit * _MOST_ROWS >= 1 << 126:
            raise _too_large(bundle.parts[0].position)
        return unit

    def notes(self, parts: tuple[GroupingSetPlan, ...]) -> tuple[tuple[str | None, str], ...]:
        """Printed whenever the policy allows bounding to bite, not when it did (semantics 4.4)."""
        none = [nobody(self.release)]
        if not none[0]:
            none = [no_row(self.release, aggregate) for _, aggregate in self.release.aggregates]
        notes = [impossible.words(parts) for parts in dict.fromkeys(none) if parts]
        if not self.bundles and not self.extras and not self.open_sets:
            return tuple((None, note) for note in notes)
        if self.alone:
            scanned = {s.table.name: s.table for s in scans_in(self.release.below) if s.table.rows_per_unit == 1}
            tables = sorted(name for name, table in scanned.items() if table.unit != ROW)
            if tables:
                several = f"people with more than one row in {' or '.join(tables)}"
                notes.append(f"possible bias: {several} are excluded (contribution bound 1)")
        elif (clip := self._clip()) is not None:
            most = f"{int(clip):,}" if clip.denominator == 1 else show(clip)
            notes.append(f"possible bias: each person's sum is clipped at {most}{_BOUND}")
        elif self.gaussian and not any(r.running for part in parts for r in part.bundles):
            norm = show(self.bound)
            notes.append(f"possible bias: people whose rows have a norm above {norm} are down-weighted{_BOUND}")
        else:
            most, rows = f"{self.most:,}", "row" if self.most == 1 else "rows"
            notes.append(f"possible bias: people with more than {most} {rows} are down-weighted to {most}{_BOUND}")
        if any(_grows(relation) for relation in _all(self.release.below)):
            notes.append(
                "possible bias: values that grow with a person's rows are clamped to what the contribution bound allows"
            )
        if self.open_sets:
            many = self.keys_per_unit
            if not self.alone:
                kept = f"possible bias: each person counts in at most {many} {'group' if many == 1 else 'groups'}"
                default = many < self.most and _is_few(self.release, self.terms)
                notes.append(f"{kept} (the default: the policy has no groups_per_unit)" if default else kept)
            shown = dict.fromkeys(
                (part.half_shown, _key_words(self.release, part)) for part in parts if part.half_shown is not None
            )
            notes.extend(_threshold_note(*half, keys) for half, keys in shown if half is not None)
        return tuple((None, note) for note in notes)


def _key_words(release: Release, part: GroupingSetPlan) -> str:
    """The undeclared keys by the names of their columns, where listed ones divide their people into groups."""
    if not part.listed:
        return ""
    names = [name.rpartition(".")[2] for i in part.chosen for name in columns_of(release.keys[i][1])]
    return " and ".join(dict.fromkeys(names)) or "the undeclared key"


def _all(relation: Relation) -> list[Relation]:
    """A relation and everything below it, down to releases."""
    if isinstance(relation, Release):
        return []
    return [relation, *(inner for part in below(relation) for inner in _all(part))]


def _grows(relation: Relation) -> bool:
    """Whether it has a person's own count or sum, which are clamped where they are derived (semantics 1.4)."""
    if isinstance(relation, Grouped):
        return relation.private and any(a.name.startswith(("count", "sum")) for _, a in relation.aggregates)
    return isinstance(relation, Windowed) and relation.private


def _threshold_note(number: int, counted: str, keys: str = "") -> str:
    """How large a group must be to be shown: known from the policy and the cost, before any row is read.

    Where listed keys stand beside undeclared ones, people are counted by the undeclared `keys` alone: a value of these
    is shown with all its groups, small and empty ones too, or not at all.
    """
    if keys:
        return (
            f"values of {keys} with fewer than about {number:,} people in all their groups together are suppressed; "
            f"the others are shown with every declared group, however small (thresholding)"
        )
    if counted == "count":
        return f"groups are shown if their noisy count is at least {number} (thresholding)"
    return f"groups with fewer than about {number:,} people are suppressed (thresholding)"


def _root_of_eight(rho: Fraction) -> Fraction:
    """An epsilon with epsilon²/8 at most rho: rounded down, to twelve digits."""
    scale = 10**24
    return Fraction(isqrt(int(8 * rho * scale)), 10**12)


def _too_large(position: int) -> QueryError:
    return QueryError(
        "the sums of this query might exceed 127 bits",
        position=position,
        hint="Declare narrower bounds or a coarser grid.",
    )
