"""BOOL_OR and BOOL_AND: from a noisy count of the rows that decide them.

BOOL_OR is true where more rows are true than noise alone would show; BOOL_AND is true unless more rows are false.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.errors import QueryError
from sfumato.sql.aggregates.base import ONE, ZERO, Bundle, Kind, filtered
from sfumato.sql.functions import call
from sfumato.sql.tree import BOOLEAN, Aggregate, Facts, Node

NAMES = ("bool_and", "bool_or")


def _kind(name: str) -> Kind:
    def bind(args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
        if not args or args[0].facts.kind != BOOLEAN:
            raise QueryError(f"{name.upper()} needs a condition", position=position, sqlstate="42883")
        return Aggregate(name, args[0], where, Facts(BOOLEAN, nullable=False), position)

    def bundle(aggregate: Aggregate) -> Bundle:
        assert aggregate.arg is not None
        decides = aggregate.arg if name == "bool_or" else call("not", (aggregate.arg,))
        return Bundle((filtered(call("case", (decides, ONE, ZERO)), aggregate.where),), Fraction(1))

    return Kind(name, bind, bundle, lambda _, sums: sums[0])


TRUTHS = tuple(_kind(name) for name in NAMES)
