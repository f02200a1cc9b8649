"""VARIANCE and STDDEV of x, and COUNT, SUM and AVG of the same x beside them: three sums that come for one price.

With y = x - low and w = high - low the parts are (w - y)², 2 y (w - y) and y²: never negative, and they add up to w² in
every row. Hence w² COUNT = P + Q + R, w (SUM of y) = Q/2 + R, and the sum of squares of y is R.
"""

from __future__ import annotations

import math
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
from sfumato.algebra.aggregates.mean import ends_of, number
from sfumato.algebra.functions import call
from sfumato.algebra.noise_sums import Draw, Moment, Ratio, weighed
from sfumato.algebra.noise_widths import NoiseTerm
from sfumato.algebra.tree import DOUBLE, Aggregate, Facts, Node

NAMES = ("var_pop", "var_samp", "stddev_pop", "stddev_samp")
_HALF = Fraction(1, 2)

Weights = tuple[Fraction, Fraction, Fraction]
"""Of P, Q and R."""


def weights(low: Fraction, high: Fraction) -> tuple[Weights, Weights, Weights]:
    """COUNT, SUM of y and sum of squares of y as combinations of the three sums."""
    w, zero = high - low, Fraction(0)
    one = 1 / (w * w)
    return (one, one, one), (zero, _HALF / w, 1 / w), (zero, zero, Fraction(1))


def bundle(aggregate: Aggregate) -> Bundle:
    """The three sums."""
    low, high = ends_of(aggregate)
    arg = aggregate.arg
    assert arg is not None
    y = call("-", (arg, number(low, arg.facts)))
    z = call("-", (number(high, arg.facts), arg))
    two = number(Fraction(2), arg.facts)
    parts: list[Node] = [call("*", (z, z)), call("*", (two, call("*", (y, z)))), call("*", (y, y))]
    if arg.facts.nullable:
        parts = [call("case", (known(arg), part, ZERO)) for part in parts]
    return Bundle(tuple(filtered(part, aggregate.where) for part in parts), (high - low) ** 2, whole=True)


def moments(aggregate: Aggregate, sums: tuple[Fraction, ...]) -> tuple[Fraction, Fraction, Fraction]:
    """COUNT, SUM of y and sum of squares of y."""
    low, high = ends_of(aggregate)
    count, total, squares = (
        sum((weight * part for weight, part in zip(row, sums, strict=True)), Fraction(0)) for row in weights(low, high)
    )
    return count, total, squares


def _value(aggregate: Aggregate, sums: Sums, _: NoiseTerm | None) -> Fraction | None:
    """Within the possible range; nothing to divide by gives NULL."""
    low, high = ends_of(aggregate)
    count, total, squares = moments(aggregate, sums)
    if count <= 0:
        return None
    name, width = aggregate.name, high - low
    if name == "count":
        return count
    if name == "sum":
        return low * count + total
    mean = total / count
    if name == "avg":
        return min(high, max(low, low + mean))
    variance = min(width * width / 4, max(Fraction(0), squares / count - mean * mean))
    if name.endswith("samp"):
        if count <= 1:
            return None
        variance = min(width * width / 2, variance * count / (count - 1))
    return variance if name.startswith("var") else Fraction(math.sqrt(variance))


def _draws(aggregate: Aggregate, draw: Callable[[int], Draw]) -> Ratio | Moment:
    """COUNT, SUM and AVG are ratios; a variance has an interval of its own."""
    draws = (draw(0), draw(1), draw(2))
    if aggregate.name in NAMES:
        return Moment(aggregate, draws)
    low, high = ends_of(aggregate)
    count, first = (weighed(row, draws) for row in weights(low, high)[:2])
    total = first.plus(count.scaled(low))
    return {"count": Ratio(count), "sum": Ratio(total), "avg": Ratio(total, count)}[aggregate.name]


def _words(_: Aggregate, names: str) -> str:
    return f"three sums over {names}, which give count, mean and spread"


_THIRDS = {name: Formula(f"{name} of thirds", _value, _draws, _words) for name in ("count", "sum", "avg", *NAMES)}
THIRDS = Joint(bundle, _THIRDS, lambda beside: bool(beside & set(NAMES)))


_OF = {"pop": "all rows", "amp": "a sample"}
_NODES: dict[str, tuple[type[exp.Expression], ...]] = {
    "var_pop": (exp.VariancePop,),
    "var_samp": (exp.Variance,),
    "stddev_pop": (exp.StddevPop,),
    "stddev_samp": (exp.StddevSamp, exp.Stddev),
}


def _kind(name: str) -> AggregateKind:
    def bind(args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
        arg = bounded_number(args[0] if args else None, name.upper(), position)
        low, high = arg.facts.low, arg.facts.high
        assert low is not None
        assert high is not None
        width = high - low
        most = width * width / (4 if name.endswith("pop") else 2)
        if name.startswith("stddev"):
            most = width
        return Aggregate(name, arg, where, Facts(DOUBLE, Fraction(0), most, nullable=True), position)

    return AggregateKind(
        name,
        bind,
        bundle,
        Formula(name, _value, words=_words),
        range=lambda a: (a.facts.low, a.facts.high),
        usage=f"{name.upper()}(x)",
        words=f"the {'variance' if name.startswith('var') else 'standard deviation'} of {_OF[name[-3:]]}",
        nodes=_NODES[name],
        over_unit=over_unit.spread,
        over_public=over_public.as_double,
    )


SPREADS = tuple(_kind(name) for name in NAMES)
