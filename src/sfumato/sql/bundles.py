"""What a release adds up: its bundles, each once, what is not a sum, where each aggregate's number comes from; its SQL.

Comes in: a release, and what bounds one person in it. Goes out: what does not depend on how much is spent. A question
that is asked at another epsilon has the same release, so it is worked out once (a release is equal to itself only).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sfumato.sql.aggregates import AGGREGATES, mean, spread
from sfumato.sql.aggregates.base import CHOICE, SUMS, Bundle
from sfumato.sql.counted import Known
from sfumato.sql.fast import fast, fast_places
from sfumato.sql.functions import call
from sfumato.sql.keys import Run
from sfumato.sql.keys import groups as groups_of
from sfumato.sql.relations import Release, conditions
from sfumato.sql.rows import longest_row
from sfumato.sql.tree import Aggregate, Node
from sfumato.sql.write import Limits, Writer

_REMEMBERED = 1024
_FEW = 4096
"""Groups of one question that are kept for another time."""

Groups = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Source:
    """Where an aggregate's number comes from: which bundle, and by which of its formulas."""

    bundle: int
    formula: str


Sources = tuple[tuple[str, Aggregate, Source], ...]
"""The columns of a release, what they are, and where their numbers come from."""


@dataclass(frozen=True)
class Summed:
    """What a release is made of."""

    bundles: tuple[Bundle, ...]
    extras: tuple[Aggregate, ...]
    sources: Sources


@lru_cache(maxsize=_REMEMBERED)
def bundles_of(release: Release) -> Summed:
    """Bundles, each once, what is not a sum, and where each aggregate comes from; one x shares its sums."""
    aggregates = [aggregate for _, aggregate in release.aggregates]
    bundles: list[Bundle] = []
    extras = [aggregate for aggregate in aggregates if AGGREGATES[aggregate.name].measure != SUMS]
    found: list[tuple[Bundle | None, str]] = []
    for aggregate in aggregates:
        if aggregate in extras:
            found.append((None, AGGREGATES[aggregate.name].measure))
            continue
        beside = {other.name for other in aggregates if other.arg == aggregate.arg and other.where == aggregate.where}
        bundle, formula = _bundle(aggregate, beside)
        if bundle.length == 0:  # a constant of the schema: nothing to release (semantics 1.2)
            found.append((None, "zero"))
            continue
        if bundle not in bundles:
            bundles.append(bundle)
        found.append((bundle, formula))
    sources = []
    for (name, aggregate), (of, formula) in zip(release.aggregates, found, strict=True):
        place = -1 if formula == "zero" else len(bundles) + extras.index(aggregate) if of is None else bundles.index(of)
        sources.append((name, aggregate, Source(place, formula)))
    return Summed(tuple(bundles), tuple(extras), tuple(sources))


def _bundle(aggregate: Aggregate, beside: set[str]) -> tuple[Bundle, str]:
    """The sums that an aggregate comes from, and the formula, given what else is asked of the same argument."""
    arg, name = aggregate.arg, aggregate.name
    alone = AGGREGATES[name].bundle(aggregate)
    if name == "avg" and alone.length == 0:  # of what is always the same: is there a row at all?
        return AGGREGATES["count"].bundle(aggregate), "constant"
    shared = name in ("count", "sum", "avg", *spread.NAMES)
    if not shared or arg is None or not (arg.facts.exact and arg.facts.bounded) or arg.facts.low == arg.facts.high:
        return alone, name
    if beside & set(spread.NAMES):
        return spread.bundle(aggregate), f"{name} of thirds"
    if "avg" in beside or beside >= {"sum", "count"}:
        return mean.bundle(aggregate), f"{name} of ends"
    return alone, name


@lru_cache(maxsize=_REMEMBERED)
def fed_together(release: Release, alone: bool) -> int:
    """How many bundles one person can feed at once: by the longest row (semantics 3.2); counts of persons add up.

    Where a person has one row, what she feeds is what her row feeds. Otherwise each of her rows, weighted, feeds at
    most so many, and her weights add up to C; but her rows may feed different counts of persons, each in full.
    """
    bundles = bundles_of(release).bundles
    by_row = [b for b in bundles if not b.person or alone]
    if len(by_row) <= 1:  # nothing to share
        return len(bundles)
    known: Node | None = None
    for part in conditions(release.below):
        known = part if known is None else call("and", (known, part))
    return longest_row(by_row, known) + len(bundles) - len(by_row)


class _Many(Exception):
    """More groups than are kept for another time; they are its argument."""


def listed(release: Release, keys: tuple[int, ...], run: Run) -> tuple[Groups, str]:
    """The groups of these list keys in list order, and all of them as text."""
    try:
        return _listed(release, keys, run)
    except _Many as many:
        groups: Groups = many.args[0]
        return groups, _words(groups)


@lru_cache(maxsize=128)
def _listed(release: Release, keys: tuple[int, ...], run: Run) -> tuple[Groups, str]:
    nodes = [release.keys[i][1] for i in keys]
    found: Groups = tuple(groups_of(release.below, nodes, run)) if nodes else ((),)
    if len(found) > _FEW:
        raise _Many(found)
    return found, _words(found)


def _words(groups: Groups) -> str:
    return as_json([list(map(str, group)) for group in groups])


def as_json(value: Any) -> str:
    """A value as it is written into the digest of a question."""
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class Texts:
    """The engine's SQL of one part: for the sums, plain and with less work, for the people behind open keys, and for
    each aggregate that is not a sum, plain and with less work.
    """

    sql: str | None
    people: str | None
    fast: str | None
    extras: tuple[tuple[str, str | None], ...]


@lru_cache(maxsize=_REMEMBERED)
def written(
    release: Release,
    limits: Limits,
    kept: tuple[int, ...],
    chosen: tuple[int, ...],
    *,
    clip: Fraction | None,
    known: Known,
) -> Texts:
    """The SQL of the part that keeps these keys, under these limits; what is known of the tables gives less work."""
    made = bundles_of(release)
    writer = Writer(release, limits, kept, chosen, made.bundles, clip)
    extras = tuple(
        (writer.places(a), fast_places(writer, a, known))
        if AGGREGATES[a.name].measure == CHOICE
        else (writer.different(a), None)
        for a in made.extras
    )
    sql, people = writer.sql() if made.bundles else None, writer.people() if chosen else None
    return Texts(sql, people, fast(writer, known), extras)
