"""Run, then noise: what is asked of the rows, and the numbers that leave.

Comes in: the cuts of a plan that is paid for, and an engine. Goes out: what was released, as whole numbers. Exact
numbers stay sealed until a mechanism opens them; groups are in list and key order, and noise is drawn in that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from sfumato.engines import Engine
from sfumato.gateway.answer import mechanism_of
from sfumato.gateway.sheets import Drawn, Draws, sheets
from sfumato.mechanisms import Geometric
from sfumato.sql.cut import GEOMETRIC, Part, Released
from sfumato.sql.plan import Plan
from sfumato.words import Exact, Sheet

_MOST_REFINED = 5000
"""Better answers are drawn number by number; beyond so many a new answer is drawn in full."""


def draw(engine: Engine, asked: Plan) -> Draws:
    """The releases of a plan, stage by stage: a later one reads what an earlier one released."""
    drawn: list[tuple[Drawn, ...]] = []
    for number, cut in enumerate(asked.cuts):
        before = sheets(asked.cuts[:number], tuple(drawn), cut.sql)
        drawn.append(tuple(_release(engine, part, before) for part in cut.parts))
    return tuple(drawn)


def is_refinable(asked: Plan) -> bool:
    """Whether better numbers can be drawn given earlier ones: geometric noise, list keys, and not too many numbers."""
    if asked.noise != GEOMETRIC or len(asked.cuts) != 1:
        return False
    parts = asked.cuts[0].parts
    cells = sum(len(part.groups) * sum(len(r.bundle.parts) for r in part.bundles) for part in parts)
    if cells > _MOST_REFINED or any(part.chosen for part in parts):
        return False
    return not any(r.extra or r.running for part in parts for r in part.bundles)


def refine(engine: Engine, asked: Plan, earlier: Plan, known: Draws) -> Draws:
    """Better numbers, each drawn given the earlier one."""
    (cut,), (old,), (drawn,) = asked.cuts, earlier.cuts, known
    better = []
    for part, was, found in zip(cut.parts, old.parts, drawn, strict=True):
        rows = {tuple(group): sums for group, sums in _rows(engine, part, (), None)}
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
        better.append(Drawn((), tuple(cells)))
    return (tuple(better),)


def _release(engine: Engine, part: Part, before: tuple[Sheet, ...]) -> Drawn:
    """Which open keys are shown, then noise on every sum of every group, in list and key order."""
    salted = bool(part.chosen) or any(r.extra is not None and "$salt" in r.extra.sql for r in part.bundles)
    salt = engine.salt() if salted else None
    places = [part.kept.index(i) for i in (*part.chosen, *part.listed)]
    found = _rows(engine, part, before, salt)
    shown: tuple[tuple[Any, ...], ...] = ()
    if part.selection is not None and part.people is not None:
        counted = found
        if part.fast is None:
            counted = engine.run(part.people, len(part.chosen), before, salt)
        counted = sorted(counted, key=_in_order if any(None in key for key, _ in counted) else itemgetter(0))
        last = sum(len(released.bundle.parts) for released in part.bundles) if part.fast is not None else 0
        people = Exact.gather((row for _, row in counted), last, 1)
        chosen = part.selection.release(people).tolist() if counted else []
        shown = tuple(key for (key, _), kept in zip(counted, chosen, strict=True) if kept)
    groups: Sequence[tuple[Any, ...]] = part.groups
    if part.chosen:
        groups = [(*key, *group) for key in shown for group in part.groups]
    rows = dict(found)
    if places != list(range(len(places))):  # list keys before open ones
        rows = {tuple(group[i] for i in places): sums for group, sums in found}
    cells, at = [], 0
    for released in part.bundles:
        if released.extra is not None:
            cells.append(_chosen(engine, released, part, groups, places=places, sheets=before, salt=salt))
            continue
        width = len(released.bundle.parts)
        flat = _noisy(released, part, Exact.gather(map(rows.get, groups), at, width)) if groups else []
        cells.append(tuple(zip(*([iter(flat)] * width), strict=True)))
        at += width
    return Drawn(shown, tuple(cells))


def _rows(
    engine: Engine, part: Part, before: tuple[Sheet, ...], salt: str | None
) -> list[tuple[tuple[Any, ...], Exact]]:
    """The sums of a part, group by group; what has none is asked for nothing."""
    sql = part.fast or part.sql
    return [] if sql is None else engine.run(sql, len(part.kept), before, salt if part.chosen else None)


def _chosen(
    engine: Engine,
    released: Released,
    part: Part,
    groups: Sequence[tuple[Any, ...]],
    *,
    places: list[int],
    sheets: tuple[Sheet, ...],
    salt: str | None,
) -> tuple[tuple[int, ...], ...]:
    """What is not a sum: noise on numbers of different values, or a choice in every group."""
    extra = released.extra
    assert extra is not None
    found = engine.run(extra.fast or extra.sql, len(part.kept) + (extra.law is not None), sheets, salt)
    if extra.law is None:
        counts = {tuple(group[i] for i in places): row for group, row in found}
        exact = Exact.gather(map(counts.get, groups), 0, 1)
        return tuple((value,) for value in mechanism_of(released, part).release(exact).tolist()) if groups else ()
    rows: dict[tuple[Any, ...], list[tuple[int, Exact]]] = {}
    for group, weight in found:
        rows.setdefault(tuple(group[i] for i in places), []).append((int(group[-1]), weight.part(0)))
    chosen = []
    for group in groups:
        there = sorted(rows.get(group, []), key=lambda row: row[0])
        weights = Exact([weight for _, weight in there])
        chosen.append((extra.law.release([place for place, _ in there], weights, extra.low, extra.high),))
    return tuple(chosen)


def _noisy(released: Released, part: Part, exact: Exact) -> list[int]:
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
