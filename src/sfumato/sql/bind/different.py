"""Means, variances and deviations of different values over people: computed of sums and numbers that are released.

Comes in: the argument, and what makes an aggregate of it. Goes out: an expression over COUNT(DISTINCT x) and
SUM(DISTINCT …). The squares are those of the distance from the lower bound: two values that differ have squares that
differ, as no distance is negative.
"""

from __future__ import annotations

from collections.abc import Callable

from sfumato.algebra.functions import call
from sfumato.algebra.tree import DOUBLE, Node
from sfumato.errors import QueryError
from sfumato.sql.bind.constants import constant


def of_different(name: str, arg: Node, aggregate: Callable[[str, Node], Node], position: int) -> Node:
    """The mean, variance or deviation of different values; NULL where there are too few."""

    def released(of: str, node: Node) -> Node:
        return call("cast", (aggregate(of, node),), DOUBLE, position)

    count = released("count_distinct", arg)
    if name == "avg":
        return call("/", (released("sum_distinct", arg), count), "", position)
    low = arg.facts.low
    if low is None or not arg.facts.exact:
        raise QueryError(
            f"{name.upper()}(DISTINCT …) needs numbers with bounds and a grid",
            position=position,
            hint="Declare min, max and grid in the policy, or write ROUND(LEAST(GREATEST(x, 0), 100), 2).",
        )
    above = call("-", (arg, constant(int(low) if low.denominator == 1 else low)), "", position)
    total, squares = released("sum_distinct", above), released("sum_distinct", call("*", (above, above), "", position))
    spread = call("-", (squares, call("/", (call("*", (total, total)), count))), "", position)
    divisor = count if name.endswith("_pop") else call("-", (count, constant(1)))
    variance = call("greatest", (call("/", (spread, divisor)), constant(0)), "", position)
    known = call("case", (call(">", (divisor, constant(0))), variance, constant(None)))  # greatest skips NULL
    return call("sqrt", (known,), "", position) if name.startswith("stddev") else known
