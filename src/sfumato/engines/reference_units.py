"""Aggregates and windows over the rows of one unit, for the reference interpreter.

Comes in: the rows of one unit's group or partition. Goes out: one value, or the rows with one more column each. What
grows with the number of rows is clamped to its bounds (semantics 1.4).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

from sfumato.algebra.relations import Windowed
from sfumato.algebra.tree import Aggregate, Facts, Node, Over, Sorted
from sfumato.engines.reference_functions import NotInReference, compare

Values = dict[str, Any]
Evaluate = Callable[[Node, Values], Any]
_FINER = 2_000_000
"""A mean is kept on this part of the grid of its numbers; where that rounds it, it is moved to an odd step."""


def aggregate_of(aggregate: Aggregate, rows: list[Values], evaluate: Evaluate) -> Any:
    """An aggregate over the rows of one unit's group."""
    passed = [row for row in rows if aggregate.where is None or evaluate(aggregate.where, row) is True]
    if aggregate.arg is None:
        return clamped(Fraction(len(passed)), aggregate.facts)
    arg = aggregate.arg
    known = [value for row in passed if (value := evaluate(arg, row)) is not None]
    return total_of(aggregate.name, known, arg, aggregate.facts)


def total_of(name: str, known: list[Any], arg: Node, facts: Facts) -> Any:
    """An aggregate of known values."""
    if name in ("count", "count_distinct"):
        return clamped(Fraction(len(known) if name == "count" else len(set(known))), facts)
    if not known:
        return None
    if name == "sum":
        return clamped(sum(known, Fraction(0)), facts)
    if name == "avg":
        return _mean(known, arg.facts.grid or Fraction(1), facts)
    if name in ("min", "max"):
        best = known[0]
        for value in known[1:]:
            order = compare((value, ""), (best, "")) or 0
            best = value if (order < 0) == (name == "min") and order else best
        return best
    if name in ("bool_and", "bool_or"):
        return all(known) if name == "bool_and" else any(known)
    raise NotInReference(f"{name} of one unit")


def _mean(known: list[Fraction], grid: Fraction, facts: Facts) -> Any:
    """Toward zero on a finer grid; what was rounded goes to the odd neighbour, so that it equals no coarser number."""
    fine = grid / _FINER
    exact = sum(known, Fraction(0)) / len(known) / fine
    whole = math.trunc(exact)
    if exact.denominator != 1 and whole % 2 == 0:
        whole += 1 if exact > 0 else -1
    return clamped(whole * fine, facts)


def clamped(value: Fraction, facts: Facts) -> Fraction:
    """A number that grows with rows, between its bounds."""
    if facts.low is None or facts.high is None:
        return value
    return min(max(value, facts.low), facts.high)


def window_of(windowed: Windowed, rows: list[tuple[Any, Values]], evaluate: Evaluate) -> list[tuple[Any, Values]]:
    """The rows with window functions as columns, each over the rows of its unit."""
    made = [(unit, dict(row)) for unit, row in rows]
    for name, over in windowed.windows:
        partitions: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for place, (unit, row) in enumerate(rows):
            partitions[unit, *((type(v).__name__, v) for v in (evaluate(p, row) for p in over.partition))].append(place)
        for places in partitions.values():
            for place, value in _windows(over, [rows[i][1] for i in places], evaluate):
                made[places[place]][1][name] = value
    return made


def _windows(over: Over, rows: list[Values], evaluate: Evaluate) -> list[tuple[int, Any]]:
    """Each row of a partition with the value of a window there."""
    if over.frame:
        raise NotInReference("a frame")

    def first(a: int, b: int) -> int:
        return _order(over.order, rows[a], rows[b], evaluate)

    order = sorted(range(len(rows)), key=cmp_to_key(first))
    found = []
    for place in range(len(rows)):
        before = [i for i in order if _order(over.order, rows[i], rows[place], evaluate) < 0]
        until = [i for i in order if _order(over.order, rows[i], rows[place], evaluate) <= 0]
        found.append((place, _window(over, rows, before, until if over.order else order, evaluate)))
    return found


def _window(over: Over, rows: list[Values], before: list[int], until: list[int], evaluate: Evaluate) -> Any:
    if over.name == "rank":
        return clamped(Fraction(len(before) + 1), over.facts)
    if over.name == "dense_rank":
        different = {tuple(str(evaluate(s.node, rows[i])) for s in over.order) for i in before}
        return clamped(Fraction(len(different) + 1), over.facts)
    if over.name not in ("count", "sum", "avg", "min", "max"):
        raise NotInReference(f"window {over.name}")
    if not over.args:
        return clamped(Fraction(len(until)), over.facts)
    known = [value for i in until if (value := evaluate(over.args[0], rows[i])) is not None]
    return total_of(over.name, known, over.args[0], over.facts)


def _order(order: tuple[Sorted, ...], a: Values, b: Values, evaluate: Evaluate) -> int:
    """Which of two rows comes first."""
    for item in order:
        x, y = evaluate(item.node, a), evaluate(item.node, b)
        if x is None or y is None:
            found = (x is None) - (y is None)
            found = -found if item.nulls_first else found
        else:
            found = compare((x, ""), (y, "")) or 0
            found = -found if item.descending else found
        if found:
            return found
    return 0
