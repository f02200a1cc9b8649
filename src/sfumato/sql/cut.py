"""One release: its groups, how much one person can matter in it, the scale of its noise and the engine's SQL.

Comes in: a Release of the tree and what it may spend. Goes out: a Cut: one Part for each grouping set, everything known
before any data is touched but the values of open keys. One weight per person for the whole part (semantics 3.1), the
longest row for the joint price (3.2), sums over integers on a grid (3.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

from sfumato.accounting import Event
from sfumato.accounting.events import Gaussian as GaussianEvent
from sfumato.accounting.events import Pure
from sfumato.errors import QueryError
from sfumato.mechanisms import GaussianKeySelection, KeySelection
from sfumato.policy import Policy
from sfumato.sql import keys
from sfumato.sql.aggregates import AGGREGATES, mean
from sfumato.sql.aggregates.base import Bundle
from sfumato.sql.emit import expression, steps
from sfumato.sql.functions import call, common_grid
from sfumato.sql.relations import Release, conditions, scans_in
from sfumato.sql.rows import longest_row
from sfumato.sql.select import select
from sfumato.sql.tree import Aggregate, Column, Node, columns_of
from sfumato.words import Adjacency, show, whole

FINE = 1 << 20
"""Weights are whole numbers of 2^-20 (semantics 3.1b)."""
_MOST_ROWS = 1 << 40
GEOMETRIC, GAUSSIAN = "geometric", "gaussian"


@dataclass(frozen=True)
class Terms:
    """What a release may spend: epsilon, or rho = epsilon²/2 for Gaussian noise, and delta for choosing open keys."""

    epsilon: Fraction
    noise: str
    delta: Fraction
    rows_per_unit: int | None

    @property
    def rho(self) -> Fraction:
        """What this epsilon buys in zCDP."""
        return self.epsilon**2 / 2


@dataclass(frozen=True)
class Released:
    """A bundle as it is released: what one person can move, the size of the noise, and the unit of its numbers.

    Geometric: `sensitivity` in L1, `scale` = sensitivity/epsilon. Gaussian: `sensitivity` is the square of L2, and
    `scale` the variance. Both in the unit of the values; the engine's whole numbers are multiples of `unit`.
    """

    bundle: Bundle
    sensitivity: Fraction
    scale: Fraction
    unit: Fraction
    noise: str = GEOMETRIC


@dataclass(frozen=True)
class Source:
    """Where an aggregate's number comes from: which bundle, and by which of its formulas."""

    bundle: int
    formula: str


@dataclass(frozen=True)
class Part:
    """One grouping set: `kept` are its keys by number, of which `chosen` are open and come by selection.

    `groups` are the combinations of the list keys among `kept`. `sql` gives kept keys and sums; `people` gives open
    keys and the number of different persons behind each.
    """

    kept: tuple[int, ...]
    chosen: tuple[int, ...]
    groups: tuple[tuple[Any, ...], ...]
    bundles: tuple[Released, ...]
    share: Fraction
    sql: str | None
    people: str | None
    selection: KeySelection | GaussianKeySelection | None

    @property
    def listed(self) -> tuple[int, ...]:
        """The list keys among the kept ones."""
        return tuple(i for i in self.kept if i not in self.chosen)


@dataclass(frozen=True)
class Cut:
    """Everything about a release that is known before any data is touched."""

    release: Release
    terms: Terms
    contribution: Fraction
    parts: tuple[Part, ...]
    sources: tuple[tuple[str, Aggregate, Source], ...]
    events: tuple[Event, ...]
    notes: tuple[tuple[str | None, str], ...]


def cut(release: Release, policy: Policy, terms: Terms, run: keys.Run) -> Cut:
    """How this release is made for these terms."""
    most = contribution(release, terms)
    aggregates = [aggregate for _, aggregate in release.aggregates]
    bundles, sources = _bundles(aggregates)
    opened = [i for i, (_, node) in enumerate(release.keys) if keys.is_open(node, release.below)]
    open_sets = sum(any(i in opened for i in kept) for kept in release.sets)
    spent_on_keys = _selection_share(release, open_sets, bool(bundles), terms)
    values = Terms(terms.epsilon - spent_on_keys[0], terms.noise, terms.delta, terms.rows_per_unit)
    if terms.noise == GAUSSIAN:  # rho is what is divided
        values = Terms(terms.epsilon, terms.noise, terms.delta, terms.rows_per_unit)
    work = _Work(release, policy.privacy.adjacency, most, bundles, aggregates, values, spent_on_keys, opened, open_sets)
    parts = tuple(work.part(kept, run) for kept in release.sets)
    events: list[Event] = [part.selection.event for part in parts if part.selection is not None]
    if any(part.bundles and (part.groups or part.chosen) for part in parts):
        events.append(GaussianEvent(work.rho) if terms.noise == GAUSSIAN else Pure(values.epsilon))
    named = tuple((name, a, s) for (name, a), (_, s) in zip(release.aggregates, sources, strict=True))
    return Cut(release, terms, work.bound, parts, named, tuple(events), work.notes())


def contribution(release: Release, terms: Terms) -> int:
    """C: the product of the tables' rows along the joins, or less if the analyst asks (semantics 3.1c)."""
    natural = release.below.person_rows
    if terms.rows_per_unit is None:
        return natural
    lowered = whole(terms.rows_per_unit, "rows_per_unit", 1)
    if lowered > natural:
        raise QueryError(f"rows_per_unit may only be lowered: the policy says {natural}", sqlstate="22023")
    return lowered


def _selection_share(release: Release, open_sets: int, aggregated: bool, terms: Terms) -> tuple[Fraction, Fraction]:
    """(epsilon, rho) of choosing open keys: half, or all where nothing else is asked; nothing without open keys."""
    if not open_sets:
        return Fraction(0), Fraction(0)
    if not terms.delta:
        node = next(node for _, node in release.keys if keys.is_open(node, release.below))
        raise QueryError(
            "the values of this key are not declared, so choosing which to show needs delta, and the policy has none",
            position=node.position,
            hint="Group by a column with declared values, or let the owner set delta and query_delta.",
        )
    part = Fraction(1, 2) if aggregated else Fraction(1)
    return terms.epsilon * part, terms.rho * part


def _bundles(aggregates: list[Aggregate]) -> tuple[list[Bundle], list[tuple[Aggregate, Source]]]:
    """Bundles, each once, and from which each aggregate comes; AVG, SUM and COUNT of one x share the two ends."""
    bundles: list[Bundle] = []
    sources: list[tuple[Aggregate, Source]] = []
    for aggregate in aggregates:
        beside = {other.name for other in aggregates if other.arg == aggregate.arg and other.where == aggregate.where}
        bundle, formula = AGGREGATES[aggregate.name].bundle(aggregate), aggregate.name
        if aggregate.name == "avg" and bundle.length == 0:  # of what is always the same: is there a row at all?
            bundle, formula = AGGREGATES["count"].bundle(aggregate), "constant"
        if bundle.length == 0:  # a constant of the schema: nothing to release (semantics 1.2)
            sources.append((aggregate, Source(-1, "zero")))
            continue
        if (
            aggregate.arg is not None
            and ("avg" in beside or beside >= {"sum", "count"})
            and aggregate.name != "count_persons"
        ):
            facts = aggregate.arg.facts
            if facts.exact and facts.bounded and facts.low != facts.high:
                bundle, formula = mean.bundle(aggregate), f"{aggregate.name} of ends"
        if bundle not in bundles:
            bundles.append(bundle)
        sources.append((aggregate, Source(bundles.index(bundle), formula)))
    return bundles, sources


def sources_of(aggregates: list[Aggregate]) -> list[Source]:
    """Where the numbers of these aggregates come from: what has a bundle is paid for."""
    return [source for _, source in _bundles(aggregates)[1]]


@dataclass
class _Work:
    """What the parts of one release have in common."""

    release: Release
    adjacency: Adjacency
    most: int
    bundles: list[Bundle]
    aggregates: list[Aggregate]
    terms: Terms
    for_keys: tuple[Fraction, Fraction]
    opened: list[int]
    open_sets: int

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
        own = [scan.table.l2_per_unit for scan in scans_in(self.release.below, through=False) if not scan.table.public]
        least = min(Fraction(self.most), prod(own, start=Fraction(1)))
        return max(Fraction(int(least * FINE), FINE), Fraction(1, FINE))  # so many digits fit into the engine's numbers

    @property
    def keys_per_unit(self) -> int:
        """K: under how many open keys one person is counted."""
        own = [scan.table.groups_per_unit for scan in scans_in(self.release.below) if not scan.table.public]
        return max(1, min(self.most, prod(own)))

    def part(self, kept: tuple[int, ...], run: keys.Run) -> Part:
        """One grouping set."""
        nodes = [node for _, node in self.release.keys]
        chosen = tuple(i for i in kept if i in self.opened)
        listed = [i for i in kept if i not in self.opened]
        groups = keys.groups(self.release.below, [nodes[i] for i in listed], run) if listed else [()]
        selection = self._selection() if chosen else None
        every = None if chosen else len(groups)
        clip = self._clip()
        together = max(1, self._together())
        share = (self.rho if self.gaussian else self.terms.epsilon) / (together * len(self.release.sets))
        single = together == len(self.bundles) and len(self.release.sets) == 1
        released = tuple(
            self._released(bundle, share, self._cells(every, len(groups)), clip=clip, single=single and not chosen)
            for bundle in self.bundles
        )
        writer = _Writer(self, kept, chosen, released, clip)
        sql = writer.sql() if released else None
        return Part(kept, chosen, tuple(groups), released, share, sql, writer.people() if chosen else None, selection)

    def _cells(self, every: int | None, dense: int) -> int:
        """In how many groups one person can be at most, for counts of persons."""
        return self.keys_per_unit * dense if every is None else every

    def _selection(self) -> KeySelection | GaussianKeySelection:
        delta, touched = self.terms.delta / self.open_sets, 1 if self.alone else self.keys_per_unit
        if self.gaussian:
            return GaussianKeySelection(self.for_keys[1] / self.open_sets, delta, touched, self.adjacency)
        return KeySelection(self.for_keys[0] / self.open_sets, delta, touched, self.adjacency)

    def _together(self) -> int:
        """How many bundles one person can feed at once: by the longest row (semantics 3.2); counts of persons add up.

        Where a person has one row, what she feeds is what her row feeds. Otherwise each of her rows, weighted, feeds at
        most so many, and her weights add up to C; but her rows may feed different counts of persons, each in full.
        """
        by_row = [b for b in self.bundles if not b.person or self.alone]
        known: Node | None = None
        for part in conditions(self.release.below):
            known = part if known is None else call("and", (known, part))
        return longest_row(by_row, known) + len(self.bundles) - len(by_row)

    def _clip(self) -> Fraction | None:
        """A release that is one SUM and nothing else clips the person's vector of group sums instead (3.1f)."""
        if self.gaussian or len(self.bundles) != 1 or len(self.aggregates) != 1 or self.aggregates[0].name != "sum":
            return None
        arg = self.aggregates[0].arg
        default = self.most * self.bundles[0].length
        declared = default
        if isinstance(arg, Column):
            for scan in scans_in(self.release.below):
                if arg.name in scan.columns:
                    declared = scan.table.sum_per_unit.get(arg.name.split(".", 1)[1], default)
        return None if self.alone and declared >= default else min(declared, default)

    def _released(
        self, bundle: Bundle, share: Fraction, cells: int, *, clip: Fraction | None, single: bool
    ) -> Released:
        """A bundle with its noise.

        Under replace, a single sum that cannot be negative moves by its norm only; but where bundles share a price
        because no row feeds two, she may leave one and enter another, so that holds only where every one is paid for.
        """
        unit = self._unit(bundle, clip)
        entries = 1 if single and cells == 1 and len(bundle.parts) == 1 else None
        if not self.gaussian:
            norm = clip if clip is not None else self.bound * bundle.length
            if bundle.person:
                norm = min(self.bound, Fraction(cells))
            moved = self.adjacency.sensitivity_l1(norm, entries=entries, nonnegative=bundle.nonnegative)
            return Released(bundle, moved, moved / share, unit)
        squared = (self.bound * bundle.length) ** 2
        if bundle.person:
            squared = min(self.bound**2, Fraction(cells))
        moved = self.adjacency.sensitivity_l2_squared(squared, entries=entries, nonnegative=bundle.nonnegative)
        return Released(bundle, moved, moved / (2 * share), unit, GAUSSIAN)

    def _unit(self, bundle: Bundle, clip: Fraction | None) -> Fraction:
        """The unit of the whole numbers that the engine adds up: the grid, or 2^-20 of it where rows are weighted."""
        grid = grid_of(bundle)
        unit = grid if self.alone and clip is None else grid / FINE
        if bundle.length / unit * _MOST_ROWS >= 1 << 126:
            raise QueryError(
                "the sums of this question might not fit into 127 bits",
                position=bundle.parts[0].position,
                hint="Declare narrower bounds or a coarser grid.",
            )
        return unit

    def notes(self) -> tuple[tuple[str | None, str], ...]:
        """Printed whenever the policy allows bounding to bite, not when it did (semantics 4.4)."""
        if not self.bundles and not self.open_sets:
            return ()
        notes = []
        if self.alone:
            tables = sorted({s.table.name for s in scans_in(self.release.below) if s.table.rows_per_unit == 1})
            if tables:
                notes.append(f"bias possible: who has more than one row in {' or '.join(tables)} is left out")
        elif (clip := self._clip()) is not None:
            notes.append(f"bias possible: what one person adds is clipped at {show(clip)}")
        elif self.gaussian:
            notes.append(f"bias possible: who has rows of a norm above {show(self.bound)} counts as {show(self.bound)}")
        else:
            notes.append(f"bias possible: who has more than {self.most} rows counts as {self.most}")
        if self.open_sets:
            many = self.keys_per_unit
            if not self.alone:
                notes.append(f"bias possible: each person counts under at most {many} {'key' if many == 1 else 'keys'}")
            notes.append("keys of few persons are not shown")
        return tuple((None, note) for note in notes)


def grid_of(bundle: Bundle) -> Fraction:
    """The grid on which all parts of a bundle lie."""
    return common_grid(*(part.facts.grid for part in bundle.parts)) or Fraction(1)


@dataclass
class _Writer:
    """The engine's SQL of one part: rows, limited to some keys of a person, sums per person, her weight, sums."""

    work: _Work
    kept: tuple[int, ...]
    chosen: tuple[int, ...]
    released: tuple[Released, ...]
    clip: Fraction | None

    @property
    def _parts(self) -> list[tuple[str, Node, Bundle]]:
        bundles = [released.bundle for released in self.released]
        return [(f"_p{i}_{j}", part, bundle) for i, bundle in enumerate(bundles) for j, part in enumerate(bundle.parts)]

    def _rows(self) -> str:
        """The rows that reach the release: person, keys, parts of the bundles."""
        nodes = [self.work.release.keys[i][1] for i in self.kept]
        read = {name for node in (*nodes, *(part for _, part, _ in self._parts)) for name in columns_of(node)}
        shown = [f"{expression(node)} AS _k{i}" for i, node in zip(self.kept, nodes, strict=True)]
        shown += [f"{steps(part, grid_of(bundle))} AS {name}" for name, part, bundle in self._parts]
        return f"SELECT {', '.join(['_u', *shown])} FROM ({select(self.work.release.below, read)}) AS q"

    def _with(self) -> str:
        """The rows that count; with open keys, those of at most K keys of a person, by a keyed hash (3.6b)."""
        if not self.chosen:
            return f"WITH kept AS ({self._rows()})"
        names = [f"_k{i}" for i in self.chosen]
        text = " || chr(31) || ".join(f"COALESCE('=' || CAST({name} AS VARCHAR), '')" for name in ("_u", *names))
        order = ", ".join([f"md5($salt || {text})", *names])
        # who has several rows where one is declared is left out before her keys are looked at
        base = "all_rows"
        alone = ""
        if self.work.alone:
            base = "single"
            alone = ", single AS (SELECT * FROM all_rows QUALIFY COUNT(*) OVER (PARTITION BY _u) = 1)"
        same = " AND ".join(["a._u = b._u", *(f"a.{name} IS NOT DISTINCT FROM b.{name}" for name in names)])
        return (
            f"WITH all_rows AS ({self._rows()}){alone}, "
            f"pairs AS (SELECT _u, {', '.join(names)} FROM {base} GROUP BY ALL), "
            f"few AS (SELECT * FROM pairs QUALIFY row_number() OVER (PARTITION BY _u ORDER BY {order})"
            f" <= {1 if self.work.alone else self.work.keys_per_unit}), "
            f"kept AS (SELECT a.* FROM {base} AS a JOIN few AS b ON {same})"
        )

    def people(self) -> str:
        """The number of different persons under each open key."""
        names = ", ".join(f"_k{i}" for i in self.chosen)
        return f"{self._with()} SELECT {names}, COUNT(*) AS n FROM few GROUP BY {names}"

    def sql(self) -> str:
        """Sums per person and group, the person's weight, sums per group."""
        parts, alone = self._parts, self.work.alone
        names = [f"_k{i}" for i in self.kept]
        sums = [f"{'MAX' if b.person else 'SUM'}({name}) AS {name}" for name, _, b in parts]
        by = ", ".join(["_u", *names])
        person = f"SELECT {', '.join(['_u', *names, 'COUNT(*) AS _n', *sums])} FROM kept GROUP BY {by}"
        totals = ["SUM(_n) AS _n", "COUNT(*) AS _g"]
        if self.work.gaussian:
            totals.append("SUM(CAST(_n AS HUGEINT) * _n) AS _q")
        if self.clip is not None:
            totals.append(f"SUM(ABS({parts[0][0]})) AS _s")
        weight = f"SELECT _u, {', '.join(totals)} FROM person GROUP BY _u"
        weighted = [
            f"COALESCE(CAST(SUM(CAST(p.{name} AS HUGEINT) * {self._weight(b)}) AS HUGEINT), 0) AS {name}"
            for name, _, b in parts
        ]
        only = " WHERE w._n = 1" if alone else ""
        tail = f" GROUP BY {', '.join(f'p.{name}' for name in names)}" if names else ""
        head = ", ".join([*(f"p.{name} AS {name}" for name in names), *weighted])
        return (
            f"{self._with()}, person AS ({person}), weight AS ({weight}) "
            f"SELECT {head} FROM person AS p JOIN weight AS w ON p._u = w._u{only}{tail}"
        )

    def _weight(self, bundle: Bundle) -> str:
        """The person's weight in units of 2^-20, toward zero; 1 where each person has one row."""
        if self.clip is not None:
            most = int(self.clip / grid_of(bundle))
            return f"CASE WHEN w._s <= {most} THEN {FINE} ELSE ({FINE}::HUGEINT * {most}) // w._s END"
        if self.work.alone:
            return "1"
        bound = self.work.bound
        if not self.work.gaussian:
            counted, most = "w._g" if bundle.person else "w._n", int(bound)
            return f"CASE WHEN {counted} <= {most} THEN {FINE} ELSE ({FINE}::HUGEINT * {most}) // {counted} END"
        squared, limit = "w._g" if bundle.person else "w._q", bound**2
        # the square root, upward: a double is off by less than one part in 2^50
        root = f"CAST(CEIL(SQRT(CAST({squared} AS DOUBLE)) * {FINE} * 1.000000001) AS HUGEINT)"
        return (
            f"CASE WHEN {squared}::HUGEINT * {limit.denominator} <= {limit.numerator} THEN {FINE}"
            f" ELSE ({FINE * FINE}::HUGEINT * {bound.numerator}) // ({root} * {bound.denominator}) END"
        )


# from noisy whole numbers to values
def value_of(aggregate: Aggregate, source: Source, sums: tuple[Fraction, ...]) -> Fraction | None:
    """An aggregate's number from the sums of its bundle."""
    if source.formula == "zero":
        return Fraction(0)
    if source.formula == "constant":
        assert aggregate.arg is not None
        return aggregate.arg.facts.low if sums[0] > 0 else None
    if source.formula == "sum of ends":
        return mean.sum_of(aggregate, sums)
    if source.formula == "count of ends":
        return mean.count_of(aggregate, sums)
    return AGGREGATES[aggregate.name].finish(aggregate, sums)
