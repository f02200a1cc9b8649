"""What a release adds up: its bundles, each once, what is not a sum, where each aggregate's number comes from.

Comes in: a release, and what bounds one person in it. Goes out: what does not depend on how much is spent. A question
that is asked at another epsilon has the same release, so it is worked out once (a release is equal to itself only).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato.algebra.aggregates import AGGREGATES, JOINTS, parts
from sfumato.algebra.aggregates.base import SUMS, Bundle, Formula
from sfumato.algebra.functions import call
from sfumato.algebra.group_keys import groups as groups_of
from sfumato.algebra.job import ContributionLimits, Job
from sfumato.algebra.public_rows import PublicRows
from sfumato.algebra.relations import Release, conditions, remembered
from sfumato.algebra.tree import Aggregate, Node
from sfumato.interrupts import step
from sfumato.sql.release.clamps import held
from sfumato.sql.release.impossible import no_row, nobody
from sfumato.sql.release.joint_sensitivity import longest_row

NOTHING = Formula("zero", lambda *_: Fraction(0))
"""Of a constant of the schema: nothing is released for it."""
NULL = Formula("null", lambda *_: None)
"""Of rows that nobody can have, what SQL says of no rows: nothing is released for it either."""
_FEW = 4096
"""Groups of one question that are kept for another time."""

_PIECE = 100
"""Groups that are written at once."""

Groups = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class BundleSource:
    """Where an aggregate's number comes from: which bundle, and by which of its formulas."""

    bundle: int
    formula: Formula


Sources = tuple[tuple[str, Aggregate, BundleSource], ...]
"""The columns of a release, what they are, and where their numbers come from."""


@dataclass(frozen=True)
class Summed:
    """What a release is made of."""

    bundles: tuple[Bundle, ...]
    extras: tuple[Aggregate, ...]
    sources: Sources

    @property
    def arguments(self) -> tuple[frozenset[Node], ...]:
        """Of each bundle, what the aggregates that come of it are about; a part is about the number of its whole."""
        found: list[set[Node]] = [set() for _ in self.bundles]
        for _, aggregate, source in self.sources:
            if 0 <= source.bundle < len(found) and source.formula is not parts.PART:
                found[source.bundle] |= {node for node in (aggregate.arg, aggregate.second) if node is not None}
        return tuple(map(frozenset, found))


@remembered
def bundles_of(release: Release) -> Summed:
    """Bundles, each once, what is not a sum, and where each aggregate comes from; one x shares its sums."""
    aggregates = [aggregate for _, aggregate in release.aggregates]
    gone = {a: _of_nobody(a) for a in aggregates if nobody(release) or no_row(release, a)}
    extras = list(dict.fromkeys(a for a in aggregates if AGGREGATES[a.name].measure != SUMS and a not in gone))
    beside: dict[tuple[Node | None, Node | None], set[str]] = {}
    for aggregate in aggregates:
        beside.setdefault((aggregate.arg, aggregate.where), set()).add(aggregate.name)
    paired = _paired(list(dict.fromkeys(a for a in aggregates if a not in gone)), beside)
    bundles: dict[Bundle, int] = {}
    found: list[tuple[Bundle | None, Formula]] = []
    for aggregate in aggregates:
        step()
        if aggregate in gone:
            found.append((None, gone[aggregate]))
            continue
        if AGGREGATES[aggregate.name].measure != SUMS:
            found.append((None, AGGREGATES[aggregate.name].formula))
            continue
        bundle, formula = paired.get(aggregate) or _bundle(aggregate, beside[aggregate.arg, aggregate.where])
        if bundle.length == 0:  # a constant of the schema: nothing to release (semantics 1.2)
            found.append((None, NOTHING))
            continue
        bundles.setdefault(bundle, len(bundles))
        found.append((bundle, formula))
    places = {aggregate: len(bundles) + i for i, aggregate in enumerate(extras)}
    sources = []
    for (name, aggregate), (of, formula) in zip(release.aggregates, found, strict=True):
        step()
        place = places.get(aggregate, -1) if of is None else bundles[of]
        sources.append((name, aggregate, BundleSource(place, formula)))
    return Summed(tuple(bundles), tuple(extras), tuple(sources))


def _paired(
    aggregates: list[Aggregate], beside: dict[tuple[Node | None, Node | None], set[str]]
) -> dict[Aggregate, tuple[Bundle, Formula]]:
    """A whole and a part of it, released as the part and the rest; nothing where one shares other sums."""
    pair = parts.pair_of(aggregates)
    if pair is None:
        return {}
    part, whole, condition = pair
    both = [_bundle(one, beside[one.arg, one.where]) for one in (part, whole)]
    if any(len(bundle.parts) != 1 or bundle.person or not bundle.length or not f.plain for bundle, f in both):
        return {}
    shared = parts.halves(both[1][0], condition)
    return {part: (shared, parts.PART), whole: (shared, parts.WHOLE)}


def _of_nobody(aggregate: Aggregate) -> Formula:
    """The constant that an aggregate is of no rows."""
    return NOTHING if AGGREGATES[aggregate.name].never_null else NULL


def _bundle(aggregate: Aggregate, beside: set[str]) -> tuple[Bundle, Formula]:
    """The sums that an aggregate comes from, and the formula, given what else is asked of the same argument."""
    arg, name = aggregate.arg, aggregate.name
    kind = AGGREGATES[name]
    alone = kind.bundle(aggregate)
    if kind.of_constant is not None and alone.length == 0:  # of what is always the same: is there a row at all?
        return AGGREGATES["count"].bundle(aggregate), kind.of_constant
    if arg is None or not (arg.facts.exact and arg.facts.bounded) or arg.facts.low == arg.facts.high:
        return alone, kind.formula
    for joint in JOINTS:
        if name in joint.formulas and joint.is_wanted(beside):
            return joint.bundle(aggregate), joint.formulas[name]
    return alone, kind.formula


@remembered
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


def listed(release: Release, keys: tuple[int, ...], rows: PublicRows) -> tuple[Groups, str]:
    """The groups of these list keys in list order, and all of them as text."""
    try:
        return _listed(release, keys, rows)
    except _Many as many:
        groups: Groups = many.args[0]
        return groups, _words(groups)


@remembered
def _listed(release: Release, keys: tuple[int, ...], rows: PublicRows) -> tuple[Groups, str]:
    nodes = [release.keys[i][1] for i in keys]
    found: Groups = tuple(groups_of(release.below, nodes, rows)) if nodes else ((),)
    if len(found) > _FEW:
        raise _Many(found)
    return found, _words(found)


WRITTEN = 4
"""How many characters of text one byte of a key may become, with quotes and commas."""


def _words(groups: Groups) -> str:
    """The groups as `as_json` would write them, in pieces: others have their turn in between."""
    pieces = []
    for at in range(0, len(groups), _PIECE):
        step()
        pieces.append(as_json([list(map(str, group)) for group in groups[at : at + _PIECE]])[1:-1])
    return f"[{', '.join(pieces)}]"


def as_json(value: Any) -> str:
    """A value as it is written into the digest of a question."""
    return json.dumps(value, ensure_ascii=False)


@remembered
def job_of(
    release: Release,
    limits: ContributionLimits,
    kept: tuple[int, ...],
    chosen: tuple[int, ...],
    *,
    clip: Fraction | None,
    together: int | None = None,
    different_values: tuple[int, ...] = (),
) -> Job:
    """The job of the grouping set that keeps these keys, under these limits."""
    made = bundles_of(release)
    job = Job(release, limits, kept, chosen, made.bundles, clip, made.extras)
    return replace(held(job, made.arguments), together=together, different_values=different_values)
