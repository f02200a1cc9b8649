"""What makes two queries the same one: the digest of their jobs in normal form, under which an answer is stored.

Comes in: the cuts of a plan. Goes out: a digest, and a Layout: the order in which the released numbers are stored, the
same for every spelling of the query. The text of a query, its names, its order of columns and whatever is computed of
released numbers are no part of a digest; neither is epsilon, for a better answer is drawn from an earlier one.

Guarantee: for queries with one digest the exact numbers are the same on every database, in the order of their layouts,
    and so are their sensitivities, units and shares of the price.
Proof: keys of rows and expressions are those of `normal_rows` and `normal_form`; what bounds one person is a part of
    the digest, as are the groups in the stored order. Released numbers are put into the order of the keys of what they
    are.
Reference: semantics 5.4.
Checked by: laws::one_key_means_one_answer, laws::spellings_of_one_query_cost_once
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.algebra.relations import Release
from sfumato.intervals.fine_numbers import fine_name
from sfumato.mechanisms import OrderStatistic
from sfumato.policy import Policy
from sfumato.sql.release.bundles import Summed, bundles_of
from sfumato.sql.release.normal_form import key_of, key_of_long
from sfumato.sql.release.normal_rows import Closed, NormalRows
from sfumato.sql.release.release_plan import GAUSSIAN, GroupingSetPlan, ReleasedBundle, ReleasePlan

PREFIX = "2:"
"""The version of the normal form. Another one makes other digests; those before are then honoured as the first is."""
_MOST_GROUPS = 20_000
"""Beyond so many groups they are stored in the order of the query: another order of its keys is another query."""

Words = dict[str, str]


@dataclass(frozen=True)
class Arrangement:
    """How the numbers of one part are stored: its bundles and its groups, by their places in the plan."""

    bundles: tuple[int, ...]
    groups: tuple[int, ...] | None
    """None where they are stored as they are."""


Layout = tuple[tuple[Arrangement, ...], ...]
"""For each cut and each part."""


@dataclass(frozen=True)
class _Named:
    """A release in normal form: the keys of its rows, its grouping keys, and each of its bundles."""

    rows: str
    by: tuple[str, ...]
    bundles: tuple[str, ...]
    values: Words


def digest(policy: Policy, noise: str, cuts: tuple[ReleasePlan, ...]) -> tuple[str, Layout]:
    """The digest of a plan, and the layout of its stored answer."""
    released: dict[Release, tuple[str, Words]] = {}
    layout: list[tuple[Arrangement, ...]] = []
    for cut in cuts:
        if not cut.parts:
            continue
        known = _named(cut, released)
        arranged = tuple(_arrange(known, part, cut) for part in cut.parts)
        parts = [_part(cut, part, known, how) for part, how in zip(cut.parts, arranged, strict=True)]
        key = key_of_long("release", known.rows, parts)
        released[cut.release] = key, _words(cut, known, key)
        layout.append(arranged)
    keys = [key for key, _ in released.values()]
    return f"{PREFIX}{key_of('query', policy.digest, noise, keys)}", tuple(layout)


def _named(cut: ReleasePlan, released: dict[Release, tuple[str, Words]]) -> _Named:
    """The keys of a release, given those before it; kept with the release, for they are the same at any epsilon."""
    memo, kept_as = cut.release.memo, (_named, tuple(key for key, _ in released.values()))
    if kept_as not in memo:
        job = cut.parts[0].job  # its rows and bundles are those of every part
        closed = NormalRows(released).close(job.release.below)
        by = tuple(str(closed.of(node)) for _, node in job.release.keys)
        sums = [
            key_of("sums", [closed.of(part) for part in b.parts], str(b.length), b.person, b.whole) for b in job.bundles
        ]
        bundles = (*sums, *(key_of("extra", closed.aggregate(aggregate)) for aggregate in job.extras))
        memo[kept_as] = _Named(closed.key, by, bundles, _values(closed, bundles_of(cut.release), bundles))
    found: _Named = memo[kept_as]
    return found


def _values(closed: Closed, summed: Summed, bundles: Sequence[str]) -> Words:
    """What the columns of a release are: which formula of which bundle, for which aggregate."""
    return {
        name: key_of(of.formula.name, bundles[of.bundle] if of.bundle >= 0 else "", closed.aggregate(aggregate))
        for name, aggregate, of in summed.sources
    }


def _words(cut: ReleasePlan, known: _Named, key: str) -> Words:
    """The columns of a release, for those that come after it; its rows are numbered in the order of the query."""
    release = cut.release
    words = {
        name: key_of("key", known.by[i], [number for number, part in enumerate(cut.parts) if i in part.kept])
        for i, (name, _) in enumerate(release.keys)
    }
    order = [[known.by[i] for i in part.kept] for part in cut.parts]
    for name, word in known.values.items():
        if (fine := release.columns.get(fine_name(name))) is not None:
            words[fine.name] = key_of("fine", word, str(fine.facts.grid))
    return words | known.values | {release.place: key_of(key, order), f"{release.number}.set": key_of("set", order)}


def _arrange(known: _Named, part: GroupingSetPlan, cut: ReleasePlan) -> Arrangement:
    bundles = tuple(sorted(range(len(part.bundles)), key=lambda i: known.bundles[i]))
    plain = part.chosen or any(r.running for one in cut.parts for r in one.bundles) or len(part.kept) < 2
    if plain or len(part.groups) > _MOST_GROUPS:
        return Arrangement(bundles, None)
    columns = sorted(range(len(part.kept)), key=lambda i: known.by[part.kept[i]])
    ranks: list[dict[Any, int]] = [{} for _ in part.kept]
    for group in part.groups:
        for rank, value in zip(ranks, group, strict=True):
            rank.setdefault((type(value), value), len(rank))
    places = [tuple(ranks[i][type(group[i]), group[i]] for i in columns) for group in part.groups]
    return Arrangement(bundles, tuple(sorted(range(len(places)), key=places.__getitem__)))


def _part(cut: ReleasePlan, part: GroupingSetPlan, known: _Named, how: Arrangement) -> list[Any]:
    """One grouping set: its groups in the stored order, what bounds one person, and each number's noise."""
    job, limits = part.job, part.job.limits
    if how.groups is None:
        keys, groups = [known.by[i] for i in part.kept], part.words
    else:
        order = sorted(range(len(part.kept)), key=lambda i: known.by[part.kept[i]])
        keys = [known.by[part.kept[i]] for i in order]
        groups = key_of_long([[str(part.groups[at][i]) for i in order] for at in how.groups])
    bounds = [limits.alone, limits.gaussian, str(limits.bound), limits.most, limits.keys, limits.few]
    held = [str(job.clip), job.together, part.selection and str(part.selection.delta)]
    if part.least is not None:
        held.append("one noise")
    values = (0,) * len(job.bundles) + job.different_values
    numbers = [[known.bundles[i], values[i] if values else 0, *_noise(part, part.bundles[i])] for i in how.bundles]
    share = str(part.share / (cut.terms.rho if cut.terms.noise == GAUSSIAN else cut.terms.epsilon))
    return [keys, sorted(known.by[i] for i in part.chosen), groups, bounds, held, numbers, share]


def _noise(part: GroupingSetPlan, released: ReleasedBundle) -> list[Any]:
    """How far one person moves a number, its unit; the candidates of a choice; the shape of running totals."""
    found: list[Any] = [str(released.sensitivity), str(released.unit)]
    if released.extra is not None:
        arg = released.extra.aggregate.arg
        listed = [] if arg is None or arg.facts.values is None else list(arg.facts.values)
        found += [released.extra.aggregate.name, released.extra.low, released.extra.high, listed]
        if released.extra.steps:
            found.append(key_of(list(released.extra.steps)))
        if isinstance(released.extra.law, OrderStatistic):  # stored answers without intervals are other answers
            found.append("no end without rows" if released.extra.around is None else "with its interval")
    if released.running is not None:
        tracks = released.running.reading.tracks(part.groups)
        found.append(released.running.text([len(track) for track in tracks]))
    return found
