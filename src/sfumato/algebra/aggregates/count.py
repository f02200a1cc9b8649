"""COUNT(*), COUNT(x) and COUNT(DISTINCT person)."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from sfumato.algebra.aggregates import over_public, over_unit
from sfumato.algebra.aggregates.base import (
    ONE,
    ZERO,
    AggregateKind,
    Bundle,
    Formula,
    filtered,
    first,
    first_draw,
    from_zero,
    known,
)
from sfumato.algebra.functions import call
from sfumato.algebra.tree import INTEGER, Aggregate, Facts, Node

_RESULT = Facts(INTEGER, None, None, Fraction(1), nullable=False)


def _bind(args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
    return Aggregate("count", args[0] if args else None, where, _RESULT, position)


def _bundle(aggregate: Aggregate) -> Bundle:
    part: Node = ONE
    if aggregate.arg is not None and aggregate.arg.facts.nullable:
        part = call("case", (known(aggregate.arg), ONE, ZERO))
    return Bundle((filtered(part, aggregate.where),), Fraction(1))


def _bind_persons(args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
    return Aggregate("count_persons", args[0], where, _RESULT, position)


def _bundle_persons(aggregate: Aggregate) -> Bundle:
    return Bundle((filtered(ONE, aggregate.where),), Fraction(1), person=True)


_ROWS = Formula("count", first, first_draw, plain=True, adds_up=True)
_PERSONS = Formula("count_persons", first, first_draw, lambda *_: "the number of people", plain=True, adds_up=True)

COUNT = AggregateKind(
    "count",
    _bind,
    _bundle,
    _ROWS,
    range=from_zero,
    never_null=True,
    usage="COUNT(*), COUNT(x)",
    words="the number of rows, or of those where x is not NULL",
    nodes=(exp.Count,),
    over_unit=over_unit.counted,
    over_public=over_public.counted,
)
COUNT_PERSONS = AggregateKind(
    "count_persons",
    _bind_persons,
    _bundle_persons,
    _PERSONS,
    range=from_zero,
    never_null=True,
    usage="COUNT(DISTINCT person)",
    words="the number of people",
)
