"""COVAR, CORR and REGR of two numbers: nine sums that come for one price.

With a = y - low and w = high - low for the one, b and v for the other, the parts are the products of (w - a)², 2 a (w -
a), a² with (v - b)², 2 b (v - b), b²: never negative, and they add up to w² v² in every row where both are known. The
moments up to a² b² are combinations of them. Where squares are not asked for, four sums do: (w - a) and a with (v - b)
and b. As in PostgreSQL the first argument is Y, the second X.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from sfumato.algebra.aggregates import over_public
from sfumato.algebra.aggregates.base import (
    ZERO,
    AggregateKind,
    Bundle,
    Formula,
    Range,
    Sums,
    bounded_number,
    filtered,
    known,
)
from sfumato.algebra.aggregates.mean import number
from sfumato.algebra.functions import call
from sfumato.algebra.noise_sums import Draw, Moment, Ratio, weighed
from sfumato.algebra.noise_widths import NoiseTerm
from sfumato.algebra.tree import DOUBLE, INTEGER, Aggregate, Facts, Node
from sfumato.errors import QueryError

_LINEAR = ("covar_pop", "covar_samp", "regr_count", "regr_avgx", "regr_avgy", "regr_sxy")
_MEANS = {"regr_avgy": ("10", 0), "regr_avgx": ("01", 1)}
"""The moment that is averaged, and which of the two numbers it is of."""
NAMES = (*_LINEAR, "corr", "regr_slope", "regr_intercept", "regr_r2", "regr_sxx", "regr_syy")


def _ends(node: Node) -> tuple[Fraction, Fraction]:
    low, high = node.facts.low, node.facts.high
    assert low is not None
    assert high is not None
    return low, high


def _pieces(node: Node, squares: bool) -> list[Node]:
    """The one-dimensional parts of a number."""
    low, high = _ends(node)
    up, down = call("-", (node, number(low, node.facts))), call("-", (number(high, node.facts), node))
    if not squares:
        return [down, up]
    two = number(Fraction(2), node.facts)
    return [call("*", (down, down)), call("*", (two, call("*", (up, down)))), call("*", (up, up))]


def bundle(aggregate: Aggregate) -> Bundle:
    """Four or nine sums."""
    y, x = aggregate.arg, aggregate.second
    assert y is not None
    assert x is not None
    squares = aggregate.name not in _LINEAR
    parts: list[Node] = [call("*", (p, q)) for p in _pieces(y, squares) for q in _pieces(x, squares)]
    for node in (y, x):
        if node.facts.nullable:
            parts = [call("case", (known(node), part, ZERO)) for part in parts]
    power = 2 if squares else 1
    length = Fraction(1)
    for node in (y, x):
        low, high = _ends(node)
        length *= (high - low) ** power
    return Bundle(tuple(filtered(part, aggregate.where) for part in parts), length, whole=True)


def ends(aggregate: Aggregate) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
    """The bounds of Y and of X."""
    assert aggregate.arg is not None
    assert aggregate.second is not None
    return _ends(aggregate.arg), _ends(aggregate.second)


def weights(aggregate: Aggregate) -> dict[str, tuple[Fraction, ...]]:
    """n ("00") and the sums of a ("10"), b ("01"), ab, and of a², b² where there are nine, as combinations of these."""
    (low_y, high_y), (low_x, high_x) = ends(aggregate)
    rows: list[dict[int, tuple[Fraction, ...]]] = []
    size = 2 if aggregate.name in _LINEAR else 3
    for width in (high_y - low_y, high_x - low_x):
        half, zero = Fraction(1, 2), Fraction(0)
        if size == 2:
            rows.append({0: (1 / width, 1 / width), 1: (zero, Fraction(1))})
        else:
            one = 1 / (width * width)
            rows.append({0: (one,) * 3, 1: (zero, half / width, 1 / width), 2: (zero, zero, Fraction(1))})
    return {
        f"{i}{j}": tuple(y * x for y in of_y for x in of_x)
        for i, of_y in rows[0].items()
        for j, of_x in rows[1].items()
    }


def _moments(aggregate: Aggregate, sums: tuple[Fraction, ...]) -> dict[str, Fraction]:
    """The same of noisy sums."""
    return {
        name: sum((weight * part for weight, part in zip(row, sums, strict=True)), Fraction(0))
        for name, row in weights(aggregate).items()
    }


def _value(aggregate: Aggregate, sums: Sums, _: NoiseTerm | None) -> Fraction | None:
    """The number from the moments; NULL where there is nothing to divide by."""
    m, name = _moments(aggregate, sums), aggregate.name
    n = m["00"]
    if name == "regr_count":
        return n
    if n <= 0:
        return None
    (low_y, high_y), (low_x, high_x) = ends(aggregate)
    mean_y, mean_x = m["10"] / n, m["01"] / n
    sxy = m["11"] - n * mean_y * mean_x
    if name not in _LINEAR:
        syy, sxx = (max(Fraction(0), m[key] - n * mean * mean) for key, mean in (("20", mean_y), ("02", mean_x)))
        return _fitted(name, sxy, sxx=sxx, syy=syy, mean_y=low_y + mean_y, mean_x=low_x + mean_x)
    most = (high_y - low_y) * (high_x - low_x) / (4 if name.endswith("pop") else 2)
    divisor = n if name.endswith("pop") else n - 1
    found = {
        "regr_avgy": min(high_y, max(low_y, low_y + mean_y)),
        "regr_avgx": min(high_x, max(low_x, low_x + mean_x)),
        "regr_sxy": sxy,
    }
    if name in found:
        return found[name]
    return None if divisor <= 0 else min(most, max(-most, sxy / divisor))


def _fitted(
    name: str, sxy: Fraction, *, sxx: Fraction, syy: Fraction, mean_y: Fraction, mean_x: Fraction
) -> Fraction | None:
    if name in ("regr_sxx", "regr_syy"):
        return sxx if name == "regr_sxx" else syy
    if sxx <= 0 or (name in ("corr", "regr_r2") and syy <= 0):
        return None
    slope = sxy / sxx
    if name == "regr_slope":
        return slope
    if name == "regr_intercept":
        return mean_y - slope * mean_x
    if name == "regr_r2":
        return min(Fraction(1), sxy * sxy / (sxx * syy))
    root = Fraction(math.sqrt(sxx) * math.sqrt(syy))
    return min(Fraction(1), max(Fraction(-1), sxy / root))


def _draws(aggregate: Aggregate, draw: Callable[[int], Draw]) -> Ratio | Moment:
    """The number of rows and the means are ratios, the others moments."""
    rows = weights(aggregate)
    draws = tuple(draw(part) for part in range(len(rows["00"])))
    if aggregate.name == "regr_count":
        return Ratio(weighed(rows["00"], draws))
    if aggregate.name not in _MEANS:
        return Moment(aggregate, draws)
    (moment, which), count = _MEANS[aggregate.name], weighed(rows["00"], draws)
    return Ratio(weighed(rows[moment], draws).plus(count.scaled(ends(aggregate)[which][0])), count)


_COVARIANCES = {"covar_pop": 4, "covar_samp": 2}
"""The product of two ranges over this is the largest."""


def _range(aggregate: Aggregate) -> Range:
    if aggregate.name in _MEANS:
        return ends(aggregate)[_MEANS[aggregate.name][1]]
    if aggregate.facts.bounded:
        return aggregate.facts.low, aggregate.facts.high
    if aggregate.name in _COVARIANCES:  # of two numbers between their ends; a sample has two rows at least
        (low, high), (first, last) = ends(aggregate)
        most = (high - low) * (last - first) / _COVARIANCES[aggregate.name]
        return -most, most
    return (Fraction(0) if aggregate.name == "regr_count" else None), None


def _words(aggregate: Aggregate, names: str) -> str:
    return f"{len(weights(aggregate)['00'])} sums of products of {names}"


_MEANINGS = {
    "covar_pop": "the covariance of all rows",
    "covar_samp": "the covariance of a sample",
    "corr": "the correlation",
    "regr_count": "the number of rows where both are known",
    "regr_avgx": "the mean of x where both are known",
    "regr_avgy": "the mean of y where both are known",
    "regr_sxx": "the sum of squares of x around its mean",
    "regr_syy": "the sum of squares of y around its mean",
    "regr_sxy": "the sum of products around the means",
    "regr_slope": "the slope of the least-squares line",
    "regr_intercept": "the intercept of the least-squares line",
    "regr_r2": "the square of the correlation",
}


def _kind(name: str) -> AggregateKind:
    def bind(args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
        both = [*args, None, None][:2]
        y, x = (bounded_number(arg, name.upper(), position) for arg in both)
        for node in (y, x):
            low, high = _ends(node)
            if low == high:
                raise QueryError(
                    f"{name.upper()} needs two numbers that vary, but one of these is the same in every row",
                    position=position,
                    hint="Use COUNT, AVG or VAR_POP of the other column.",
                )
        facts = Facts(DOUBLE, nullable=True)
        if name == "regr_count":
            facts = Facts(INTEGER, None, None, Fraction(1), nullable=False)
        elif name == "corr":
            facts = Facts(DOUBLE, Fraction(-1), Fraction(1), nullable=True)
        elif name == "regr_r2":
            facts = Facts(DOUBLE, Fraction(0), Fraction(1), nullable=True)
        return Aggregate(name, y, where, facts, position, second=x)

    formula = Formula(name, _value, _draws, _words)
    return AggregateKind(
        name,
        bind,
        bundle,
        formula,
        range=_range,
        never_null=name == "regr_count",
        usage=f"{name.upper()}(y, x)",
        words=_MEANINGS[name],
        nodes=(getattr(exp, "".join(word.capitalize() for word in name.split("_"))),),
        over_public=over_public.of_pairs,
    )


PAIRS = tuple(_kind(name) for name in NAMES)
