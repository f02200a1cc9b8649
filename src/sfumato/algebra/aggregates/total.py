"""SUM(x): needs bounds and a grid."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from sfumato.algebra.aggregates import over_public, over_unit
from sfumato.algebra.aggregates.base import (
    ZERO,
    AggregateKind,
    Bundle,
    Formula,
    Range,
    bounded_number,
    filtered,
    first,
    first_draw,
)
from sfumato.algebra.functions import call
from sfumato.algebra.tree import Aggregate, Facts, Node


def _bind(args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
    number = bounded_number(args[0] if args else None, "SUM", position)
    return Aggregate(
        "sum", number, where, Facts(number.facts.kind, None, None, number.facts.grid, nullable=True), position
    )


def _bundle(aggregate: Aggregate) -> Bundle:
    assert aggregate.arg is not None
    part = call("coalesce", (aggregate.arg, ZERO)) if aggregate.arg.facts.nullable else aggregate.arg
    return Bundle((filtered(part, aggregate.where),), aggregate.arg.facts.largest)


def _range(aggregate: Aggregate) -> Range:
    """What adds up numbers that are not negative is not negative."""
    low = None if aggregate.arg is None else aggregate.arg.facts.low
    return (Fraction(0) if low is not None and low >= 0 else None), None


TOTAL = Formula("sum", first, first_draw, lambda _, names: f"the sum of {names}", plain=True, adds_up=True)
SUM = AggregateKind(
    "sum",
    _bind,
    _bundle,
    TOTAL,
    range=_range,
    never_null=True,
    usage="SUM(x)",
    words="the sum",
    nodes=(exp.Sum,),
    over_unit=over_unit.summed,
    over_public=over_public.summed,
)
