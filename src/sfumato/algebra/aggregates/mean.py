"""AVG(x), and SUM and COUNT of the same x beside it: two sums that come for one price.

A = sum of (x - low) and B = sum of (high - x) over the rows where x is known. A row's length in both together is high -
low, so A + B = (high - low) COUNT(x), and SUM(x) = (high A + low B)/(high - low), AVG(x) = low + (high - low) A/(A +
B).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from sfumato.algebra.aggregates import over_public, over_unit
from sfumato.algebra.aggregates.base import (
    ZERO,
    AggregateKind,
    Bundle,
    Formula,
    Joint,
    Sums,
    bounded_number,
    filtered,
    known,
)
from sfumato.algebra.functions import call
from sfumato.algebra.noise_sums import Draw, Ratio, weighed
from sfumato.algebra.noise_widths import NoiseTerm
from sfumato.algebra.tree import DECIMAL, DOUBLE, INTEGER, Aggregate, Constant, Facts, Node
from sfumato.types import show


def _bind(args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
    arg = bounded_number(args[0] if args else None, "AVG", position)
    return Aggregate("avg", arg, where, Facts(DOUBLE, arg.facts.low, arg.facts.high, nullable=True), position)


def ends_of(aggregate: Aggregate) -> tuple[Fraction, Fraction]:
    """The bounds of an aggregate's argument."""
    assert aggregate.arg is not None
    low, high = aggregate.arg.facts.low, aggregate.arg.facts.high
    assert low is not None
    assert high is not None
    return low, high


def number(value: Fraction, like: Facts) -> Constant:
    """A constant beside an expression of these facts."""
    kind = INTEGER if value.denominator == 1 and like.kind == INTEGER else DECIMAL
    grid = Fraction(1) if kind == INTEGER else Fraction(1, value.denominator)
    return Constant(int(value) if kind == INTEGER else value, Facts(kind, value, value, grid, False))


def bundle(aggregate: Aggregate) -> Bundle:
    """The two ends."""
    low, high = ends_of(aggregate)
    arg = aggregate.arg
    assert arg is not None
    width = high - low
    ends = (call("-", (arg, number(low, arg.facts))), call("-", (number(high, arg.facts), arg)))
    if arg.facts.nullable:
        ends = tuple(call("case", (known(arg), end, ZERO)) for end in ends)  # type: ignore[assignment]
    return Bundle(tuple(filtered(end, aggregate.where) for end in ends), width)


def _average(aggregate: Aggregate, sums: Sums, _: NoiseTerm | None) -> Fraction | None:
    """Within the declared range; nothing to divide by gives NULL."""
    low, high = ends_of(aggregate)
    a, b = sums
    if a + b <= 0:
        return None
    return min(high, max(low, low + (high - low) * a / (a + b)))


def _sum(aggregate: Aggregate, sums: Sums, _: NoiseTerm | None) -> Fraction:
    low, high = ends_of(aggregate)
    return (high * sums[0] + low * sums[1]) / (high - low)


def _count(aggregate: Aggregate, sums: Sums, _: NoiseTerm | None) -> Fraction:
    low, high = ends_of(aggregate)
    return (sums[0] + sums[1]) / (high - low)


def _count_draws(aggregate: Aggregate, draw: Callable[[int], Draw]) -> Ratio:
    low, high = ends_of(aggregate)
    return Ratio(weighed([1 / (high - low)] * 2, [draw(0), draw(1)]))


def _sum_draws(aggregate: Aggregate, draw: Callable[[int], Draw]) -> Ratio:
    low, high = ends_of(aggregate)
    return Ratio(weighed([high / (high - low), low / (high - low)], [draw(0), draw(1)]))


def _average_draws(aggregate: Aggregate, draw: Callable[[int], Draw]) -> Ratio:
    return Ratio(_sum_draws(aggregate, draw).top, _count_draws(aggregate, draw).top)


def _words(aggregate: Aggregate, names: str) -> str:
    low, high = (show(end) for end in ends_of(aggregate))
    return f"two sums: how far {names} is above {low}, and how far below {high}"


_ENDS = {
    "count": Formula("count of ends", _count, _count_draws, _words),
    "sum": Formula("sum of ends", _sum, _sum_draws, _words),
    "avg": Formula("avg of ends", _average, _average_draws, _words),
}


def _constant(aggregate: Aggregate, sums: Sums, _: NoiseTerm | None) -> Fraction | None:
    """The mean of what never changes, where there is a row at all."""
    assert aggregate.arg is not None
    return aggregate.arg.facts.low if sums[0] > 0 else None


ENDS = Joint(bundle, _ENDS, lambda beside: "avg" in beside or beside >= {"sum", "count"})
AVG = AggregateKind(
    "avg",
    _bind,
    bundle,
    _ENDS["avg"],
    of_constant=Formula("constant", _constant),
    range=ends_of,
    usage="AVG(x)",
    words="the mean",
    nodes=(exp.Avg,),
    over_unit=over_unit.averaged,
    over_public=over_public.as_double,
)
