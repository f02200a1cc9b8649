"""SUM(x): needs bounds and a grid."""

from __future__ import annotations

from fractions import Fraction

from sfumato.sql.aggregates.base import ZERO, Bundle, Kind, bounded_number, filtered
from sfumato.sql.functions import call
from sfumato.sql.tree import Aggregate, Facts, Node


def _bind(args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
    number = bounded_number(args[0] if args else None, "SUM", position)
    return Aggregate(
        "sum", number, where, Facts(number.facts.kind, None, None, number.facts.grid, nullable=True), position
    )


def _bundle(aggregate: Aggregate) -> Bundle:
    assert aggregate.arg is not None
    part = call("coalesce", (aggregate.arg, ZERO)) if aggregate.arg.facts.nullable else aggregate.arg
    return Bundle((filtered(part, aggregate.where),), aggregate.arg.facts.largest)


def _finish(_: Aggregate, sums: tuple[Fraction, ...]) -> Fraction:
    return sums[0]


SUM = Kind("sum", _bind, _bundle, _finish)
