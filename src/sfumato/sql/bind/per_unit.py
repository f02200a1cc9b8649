"""Aggregates and windows over one person's own rows: below the cut, before anything is released.

Comes in: an aggregate's name and argument, and how many rows of a person count. Goes out: what is known of its value.
Only functions of the *set* of a person's rows are here (semantics 2.2): none depends on the order of rows, on
floating-point sums or on other people, so that taking one person away changes nobody else's value. What grows with the
number of rows is clamped where it is derived (semantics 1.4).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sfumato.errors import Obstacle, QueryError
from sfumato.sql.relations import size_of
from sfumato.sql.tree import (
    BOOLEAN,
    DECIMAL,
    DOUBLE,
    INTEGER,
    NUMBERS,
    Aggregate,
    Constant,
    Facts,
    Node,
)

_MOST_ROWS = 1 << 40
FINER = 2_000_000
"""A mean lies on this part of its grid; odd where it was rounded, so that comparisons are those of fractions."""

QUANTILES = ("percentile_cont", "percentile_disc")
REFUSED = {
    "first": "which row comes first",
    "last": "which row comes last",
    "any_value": "which row the engine reads first",
    "mode": "which of several values the engine reads first",
    "arg_max": "which of several rows the engine reads first",
    "arg_min": "which of several rows the engine reads first",
}


def bind(name: str, args: tuple[Node, ...], where: Node | None, rows: int, position: int) -> Aggregate:
    """An aggregate of one person's rows, with what is known of its value."""
    rule = _FACTS.get(name)
    if rule is None:
        why = REFUSED.get(name)
        raise QueryError(
            f"{name.upper()} depends on {why}: another person's rows could change it"
            if why
            else f"{name.upper().replace('_DISTINCT', '(DISTINCT …)')} over one person's rows is not supported",
            position=position,
            hint="Write SUM or AVG over SELECT DISTINCT of the person and the column."
            if name in ("sum_distinct", "avg_distinct")
            else f"Supported for each person: {', '.join(sorted(_FACTS)).upper()}.",
        )
    if not args and name != "count":
        raise QueryError(f"{name.upper()} needs a column", position=position, sqlstate="42601")
    facts = rule(name, args, rows, position)
    if name == "count" and not args and where is None:
        facts = Facts(INTEGER, Fraction(1), facts.high, Fraction(1), False)
    extra = ""
    if name in QUANTILES:
        extra = _fraction(args[1], position)
    return Aggregate(name, args[0] if args else None, where, facts, position, extra)


def _fraction(node: Node, position: int) -> str:
    value = node.value if isinstance(node, Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | Fraction) or not 0 <= value <= 1:
        raise QueryError("a percentile needs a literal fraction from 0 to 1", position=position, sqlstate="22003")
    return repr(float(value))


def _count(_: str, _args: tuple[Node, ...], rows: int, _position: int) -> Facts:
    return Facts(INTEGER, Fraction(0), Fraction(rows), Fraction(1), nullable=False)


def _different(_: str, args: tuple[Node, ...], rows: int, _position: int) -> Facts:
    """Of a list there are not more values than the list has."""
    size = size_of(args[0].facts)
    most = rows if size is None else min(rows, size - args[0].facts.nullable)
    return Facts(INTEGER, Fraction(0), Fraction(most), Fraction(1), nullable=False)


def _number(name: str, args: tuple[Node, ...], position: int, most: int) -> Facts:
    """An exact bounded number whose sums fit into 127 bits."""
    facts = args[0].facts
    if facts.kind not in NUMBERS:
        raise QueryError(
            f"{name.upper()} needs numbers, but was given {facts.kind}", position=position, sqlstate="42883"
        )
    if not facts.exact or not facts.bounded or facts.grid is None:
        raise QueryError(
            f"{name.upper()} over one person's rows needs a number with bounds and a grid",
            position=position,
            hint="Declare min, max and grid in the policy, or write ROUND(LEAST(GREATEST(x, 0), 100), 2).",
        )
    if facts.largest / facts.grid >= most:
        raise QueryError(
            f"{name.upper()} of numbers this large might exceed 127 bits",
            position=position,
            hint="Declare narrower bounds or a coarser grid.",
        )
    return facts


def _sum(name: str, args: tuple[Node, ...], rows: int, position: int) -> Facts:
    f = _number(name, args, position, 1 << 80)
    assert f.low is not None
    assert f.high is not None
    low, high = (end * rows if outward else end for end, outward in ((f.low, f.low < 0), (f.high, f.high > 0)))
    return Facts(f.kind, low, high, f.grid)


def _mean(name: str, args: tuple[Node, ...], _: int, position: int) -> Facts:
    f = _number(name, args, position, 1 << 60)
    assert f.grid is not None
    return Facts(DECIMAL, f.low, f.high, f.grid / FINER)


def _spread(name: str, args: tuple[Node, ...], _: int, position: int) -> Facts:
    f = _number(name, args, position, 1 << 40)
    assert f.low is not None
    assert f.high is not None
    width = f.high - f.low
    return Facts(DOUBLE, Fraction(0), width * width if name.startswith("var") else width)


def _extreme(_: str, args: tuple[Node, ...], _rows: int, _position: int) -> Facts:
    f = args[0].facts
    return Facts(f.kind, f.low, f.high, f.grid, True, f.length, f.values, every=f.every)


def _truth(name: str, args: tuple[Node, ...], _: int, position: int) -> Facts:
    if args[0].facts.kind != BOOLEAN:
        raise QueryError(f"{name.upper()} needs a condition", position=position, sqlstate="42883")
    return Facts(BOOLEAN)


def _interpolated(name: str, args: tuple[Node, ...], _: int, position: int) -> Facts:
    """Between two of her values: a median on halves of the grid, other percentiles on a finer one."""
    f = _number(name, args, position, 1 << 50)
    assert f.grid is not None
    return Facts(DECIMAL, f.low, f.high, f.grid / parts_of(name))


def parts_of(name: str) -> int:
    """In how many parts a step of the grid is divided: a median lies between two steps."""
    return 2 if name == "median" else FINER


_FACTS: dict[str, Callable[[str, tuple[Node, ...], int, int], Facts]] = {
    "count": _count,
    "count_distinct": _different,
    "sum": _sum,
    "avg": _mean,
    "min": _extreme,
    "max": _extreme,
    "bool_and": _truth,
    "bool_or": _truth,
    "var_pop": _spread,
    "var_samp": _spread,
    "stddev_pop": _spread,
    "stddev_samp": _spread,
    "median": _interpolated,
    "percentile_cont": _interpolated,
    "percentile_disc": _extreme,
}
"""What is known of each aggregate over at most so many rows of one person."""


# windows over one person's rows
TIE_FREE = ("rank", "dense_rank", "count", "sum", "avg", "min", "max")
ORDERED = ("row_number", "lag", "lead", "first_value", "last_value")
"""Functions that tell ties apart: only where rows that tie are alike in every column."""


def window_facts(name: str, args: tuple[Node, ...], rows: int, position: int) -> Facts:
    """What is known of a window function over at most so many rows of one person."""
    if name in ("row_number", "rank", "dense_rank"):
        return Facts(INTEGER, Fraction(1), Fraction(rows), Fraction(1), nullable=False)
    if name in ("lag", "lead", "first_value", "last_value"):
        return _extreme(name, args, rows, position)
    if name not in ("count", "sum", "avg", "min", "max"):
        raise QueryError(
            f"window function {name} over one person's rows is not supported",
            position=position,
            obstacle=Obstacle.WINDOW,
        )
    return _FACTS[name](name, args, rows, position)
