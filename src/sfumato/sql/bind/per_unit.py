"""Aggregates and windows over one person's own rows: below the cut, before anything is released.

Comes in: an aggregate's name and argument, and how many rows of a person count. Goes out: what is known of its value.
Only functions of the *set* of a person's rows are here (semantics 2.2): none depends on the order of rows, on
floating-point sums or on other people, so that taking one person away changes nobody else's value. What grows with the
number of rows is clamped where it is derived (semantics 1.4).
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.aggregates.over_unit import one_of_them
from sfumato.algebra.tree import (
    INTEGER,
    Aggregate,
    Constant,
    Facts,
    Node,
)
from sfumato.errors import Obstacle, QueryError

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
    kind = AGGREGATES.get(name)
    rule = None if kind is None else kind.over_unit
    if rule is None:
        why = REFUSED.get(name)
        raise QueryError(
            f"{name.upper()} depends on {why}: another person's rows could change it"
            if why
            else f"{name.upper().replace('_DISTINCT', '(DISTINCT …)')} over one person's rows is not supported",
            position=position,
            hint="Write SUM or AVG over SELECT DISTINCT of the person and the column."
            if name.endswith("_distinct")
            else f"Supported for each person: {', '.join(_supported()).upper()}.",
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


def _supported() -> list[str]:
    return sorted(name for name, kind in AGGREGATES.items() if kind.over_unit is not None)


def _fraction(node: Node, position: int) -> str:
    value = node.value if isinstance(node, Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | Fraction) or not 0 <= value <= 1:
        raise QueryError("a percentile needs a literal fraction from 0 to 1", position=position, sqlstate="22003")
    return repr(float(value))


# windows over one person's rows
TIE_FREE = ("rank", "dense_rank", "count", "sum", "avg", "min", "max")
ORDERED = ("row_number", "lag", "lead", "first_value", "last_value")
"""Functions that tell ties apart: only where rows that tie are alike in every column."""
FRAMELESS = ("row_number", "lag", "lead")
"""Those that do not look at their frame."""


def window_facts(name: str, args: tuple[Node, ...], rows: int, position: int) -> Facts:
    """What is known of a window function over at most so many rows of one person."""
    if name in ("row_number", "rank", "dense_rank"):
        return Facts(INTEGER, Fraction(1), Fraction(rows), Fraction(1), nullable=False)
    if name in ("lag", "lead", "first_value", "last_value"):
        return one_of_them(name, args, rows, position)
    if name not in ("count", "sum", "avg", "min", "max"):
        raise QueryError(
            f"window function {name} over one person's rows is not supported",
            position=position,
            obstacle=Obstacle.WINDOW,
        )
    rule = AGGREGATES[name].over_unit
    assert rule is not None
    return rule(name, args, rows, position)
