"""COUNT(DISTINCT x): each person keeps at most K values, by a keyed hash; the number of values that anybody kept."""

from __future__ import annotations

from fractions import Fraction

from sfumato.errors import QueryError
from sfumato.sql.aggregates.base import DISTINCT, Bundle, Kind
from sfumato.sql.tree import DOUBLE, INTEGER, Aggregate, Facts, Node


def _bind(args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
    if not args:
        raise QueryError("COUNT(DISTINCT …) needs a column", position=position, sqlstate="42601")
    if args[0].facts.kind == DOUBLE:
        raise QueryError(
            "different values must be exact, but this is a double", position=position, hint="Write ROUND(x, 2)."
        )
    facts = Facts(INTEGER, None, None, Fraction(1), nullable=False)
    return Aggregate("count_distinct", args[0], where, facts, position)


COUNT_DISTINCT = Kind("count_distinct", _bind, lambda _: Bundle((), Fraction(1)), lambda _, sums: sums[0], DISTINCT)
