"""Run the jobs, then add noise: the numbers that leave.

Comes in: the cuts of a plan that is paid for, and an engine. Goes out: what was released, as whole numbers. Exact
numbers stay sealed until a mechanism opens them; groups are in list and key order, and noise is drawn in that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from sfumato.algebra.finished_tables import FinishedTable
from sfumato.algebra.relations import fixed_in
from sfumato.engines import Engine
from sfumato.engines.base import JobRows, Rows
from sfumato.errors import EngineError, QueryError
from sfumato.gateway.answer import mechanism_of
from sfumato.gateway.released_tables import Draws, ReleasedSet, released_tables
from sfumato.mechanisms import Geometric, ThresholdedCounts, numbers_of_steps
from sfumato.sql.release.plan import Plan
from sfumato.sql.release.release_plan import GEOMETRIC, GroupingSetPlan, ReleasedBundle, ReleasePlan
from sfumato.types import Exact

_MOST_REFINED = 5000
"""Better answers are drawn number by number; beyond so many a new answer is drawn in full."""


class BetweenStages(QueryError):
    """What a query computes of its own released numbers met a limit of free work, or cannot be computed.

    It comes after the charge, which stands. No private row was read meanwhile: it follows from the text and from
    released numbers, so it is no failure of the data version.
    """


def draw(engine: Engine, asked: Plan) -> Draws:
    """The releases of a plan, stage by stage: a later one reads what an earlier one released."""
    drawn: list[tuple[ReleasedSet, ...]] = []
    with engine.snapshot():
        for number, cut in enumerate(asked.cuts):
            fixed = _between(engine, cut, released_tables(asked.cuts[:number], tuple(drawn)))
            drawn.append(tuple(_drawn(engine, part, fixed) for part in cut.parts))
    return tuple(drawn)


def _drawn(engine: Engine, part: GroupingSetPlan, fixed: dict[int, FinishedTable]) -> ReleasedSet:
    """What is released of one grouping set; rows are not read where nothing is."""
    if part.selection is None and not (part.bundles and part.groups):
        return ReleasedSet((), ((),) * len(part.bundles))
    return _release(part, engine.run(part.job, fixed, engine.salt()))


def dry_run(engine: Engine, asked: Plan, draws: Draws) -> None:
    """Try the jobs of a plan on empty tables; `draws` stands for what earlier stages release."""
    for number, cut in enumerate(asked.cuts):
        fixed = _fixed(engine, cut, released_tables(asked.cuts[:number], draws[:number]))
        for part in cut.parts:
            engine.dry_run(part.job, fixed)


def _between(engine: Engine, cut: ReleasePlan, released: tuple[FinishedTable, ...]) -> dict[int, FinishedTable]:
    """The same after the charge."""
    detail, hint = "The charge stands.", "Split it into several queries: computing with stored answers is free."
    try:
        return _fixed(engine, cut, released)
    except EngineError:
        words = "the post-processing of this query's released numbers cannot be computed"
        raise BetweenStages(words, detail=detail, hint=hint, sqlstate="22000") from None
    except QueryError as error:
        raise BetweenStages(error.message, detail=detail, hint=hint, sqlstate=error.sqlstate) from None


def _fixed(engine: Engine, cut: ReleasePlan, released: tuple[FinishedTable, ...]) -> dict[int, FinishedTable]:
    """The public rows made of earlier releases that private rows will meet, each computed once."""
    found: dict[int, FinishedTable] = {}
    for fixed in fixed_in(cut.release.below):
        if fixed.kept is None and fixed.number not in found:
            found[fixed.number] = engine.fixed_table(fixed, released)
    return found


def is_refinable(asked: Plan) -> bool:
    """Whether better numbers can be drawn given earlier ones: geometric noise, list keys, and not too many numbers.

    They are drawn for the exact numbers that the earlier ones were drawn for. Public sub-queries may be computed anew
    meanwhile, and a float sum or a tie then comes out otherwise: a query that reads one is not refined.
    """
    if asked.noise != GEOMETRIC or len(asked.cuts) != 1 or fixed_in(asked.cuts[0].release.below):
        return False
    parts = asked.cuts[0].parts
    cells = sum(len(part.groups) * sum(len(r.bundle.parts) for r in part.bundles) for part in parts)
    if cells > _MOST_REFINED or any(part.chosen for part in parts):
        return False
    return not any(r.extra or r.running for part in parts for r in part.bundles)


def refine(engine: Engine, asked: Plan, earlier: Plan, before: Draws) -> Draws:
    """Better numbers, each drawn given the earlier one."""
    (cut,), (old,), (drawn,) = asked.cuts, earlier.cuts, before
    better = []
    for part, was, found in zip(cut.parts, old.parts, drawn, strict=True):
        rows = {tuple(group): sums for group, sums in engine.run(part.job, {}, engine.salt()).sums}
        cells, at = [], 0
        for released, then, seen_before in zip(part.bundles, was.bundles, found.cells, strict=True):
            width = len(released.bundle.parts)
            new, law = mechanism_of(released, part), mechanism_of(then, was)
            assert isinstance(new, Geometric)
            assert isinstance(law, Geometric)
            exact = [_sums(rows.get(group), at, width) for group in part.groups]
            cells.append(
                tuple(
                    tuple(new.refine(value, seen, law) for value, seen in zip(row, numbers, strict=True))
                    for row, numbers in zip(exact, seen_before, strict=True)
                )
            )
            at += width
        better.append(ReleasedSet((), tuple(cells)))
    return (tuple(better),)


def _release(part: GroupingSetPlan, found: JobRows) -> ReleasedSet:
    """Which open keys are shown, then noise on every sum of every group, in list and key order."""
    places = [part.kept.index(i) for i in (*part.chosen, *part.listed)]
    shown: tuple[tuple[Any, ...], ...] = ()
    counted: list[tuple[tuple[Any, ...], Exact]] = []
    if part.selection is not None:
        counted = sorted(found.people, key=_in_order if any(None in key for key, _ in found.people) else itemgetter(0))
    if isinstance(part.selection, ThresholdedCounts):
        return _thresholded(part.selection, [key for key, _ in counted], found, places)
    if part.selection is not None:
        people = Exact.gather((row for _, row in counted), 0, 1)
        chosen = part.selection.release(people).tolist() if counted else []
        shown = tuple(key for (key, _), kept in zip(counted, chosen, strict=True) if kept)
    groups: Sequence[tuple[Any, ...]] = part.groups
    if part.chosen:
        groups = [(*key, *group) for key in shown for group in part.groups]
    rows = dict(found.sums)
    if places != list(range(len(places))):  # list keys before open ones
        rows = {tuple(group[i] for i in places): sums for group, sums in found.sums}
    cells, at, extras = [], 0, iter(found.extras)
    for released in part.bundles:
        if released.extra is not None:
            cells.append(_chosen(next(extras), released, part, groups, places))
            continue
        width = len(released.bundle.parts)
        flat = _noisy(released, part, Exact.gather(map(rows.get, groups), at, width)) if groups else []
        cells.append(tuple(zip(*([iter(flat)] * width), strict=True)))
        at += width
    return ReleasedSet(shown, tuple(cells))


def _thresholded(law: ThresholdedCounts, keys: list[tuple[Any, ...]], found: JobRows, places: list[int]) -> ReleasedSet:
    """One noise on the count of every key that somebody has; those that reach the threshold are shown, with it."""
    sums = {tuple(group[i] for i in places): row for group, row in found.sums}
    told = law.release(Exact.gather(map(sums.get, keys), 0, 1)) if keys else []
    shown = [(key, number) for key, number in zip(keys, told, strict=True) if number is not None]
    return ReleasedSet(tuple(key for key, _ in shown), (tuple((number,) for _, number in shown),))


def _chosen(
    found: Rows, released: ReleasedBundle, part: GroupingSetPlan, groups: Sequence[tuple[Any, ...]], places: list[int]
) -> tuple[tuple[int, ...], ...]:
    """What is not a sum: noise on numbers of different values, or a choice in every group."""
    extra = released.extra
    assert extra is not None
    if extra.law is None:
        counts = {tuple(group[i] for i in places): row for group, row in found}
        exact = Exact.gather(map(counts.get, groups), 0, 1)
        return tuple((value,) for value in mechanism_of(released, part).release(exact).tolist()) if groups else ()
    rows: dict[tuple[Any, ...], list[tuple[int, Exact]]] = {}
    for group, weight in found:
        rows.setdefault(tuple(group[i] for i in places), []).append((int(group[-1]), weight.part(0)))
    chosen: list[tuple[int, ...]] = []
    for group in groups:
        there = sorted(rows.get(group, []), key=lambda row: row[0])
        at, weights = [place for place, _ in there], Exact([weight for _, weight in there])
        if extra.steps:
            at, weights = numbers_of_steps(extra.steps, at, weights)
        number = extra.law.release(at, weights, *extra.candidates)
        place = extra.steps[number] if extra.steps else number
        if extra.around is None:
            chosen.append((place,))
        else:
            chosen.append((place, extra.around.release(at, weights, *extra.candidates, number)))
    return tuple(chosen)


def _noisy(released: ReleasedBundle, part: GroupingSetPlan, exact: Exact) -> list[int]:
    """Sums with noise, in the order of the groups."""
    if released.running is not None:
        return released.running.release(exact, part.groups)
    return list(mechanism_of(released, part).release(exact).tolist())


def _in_order(row: tuple[tuple[Any, ...], Exact]) -> list[tuple[bool, Any]]:
    """Keys in their own order, NULL last (semantics 2.5)."""
    return [(value is None, 0 if value is None else value) for value in row[0]]


def _sums(row: Exact | None, at: int, width: int) -> tuple[Any, ...]:
    """The sums of one bundle in one group, still sealed; a group without rows has none."""
    return (0,) * width if row is None else tuple(row.part(i) for i in range(at, at + width))
