"""AVG(x), and SUM and COUNT of the same x beside it: two sums that come for one price.

A = sum of (x - low) and B = sum of (high - x) over the rows where x is known. A row's length in both together is high -
low, so A + B = (high - low) COUNT(x), and SUM(x) = (high A + low B)/(high - low), AVG(x) = low + (high - low) A/(A +
B).
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.sql.aggregates.base import ZERO, Bundle, Interval, Kind, Noisy, bounded_number, filtered, half_width, known
from sfumato.sql.functions import call
from sfumato.sql.tree import DECIMAL, DOUBLE, INTEGER, Aggregate, Constant, Facts, Node


def _bind(arg: Node | None, where: Node | None, position: int) -> Aggregate:
    number = bounded_number(arg, "AVG", position)
    return Aggregate("avg", number, where, Facts(DOUBLE, number.facts.low, number.facts.high, nullable=True), position)


def _ends(aggregate: Aggregate) -> tuple[Fraction, Fraction]:
    assert aggregate.arg is not None
    low, high = aggregate.arg.facts.low, aggregate.arg.facts.high
    assert low is not None
    assert high is not None
    return low, high


def _number(value: Fraction, like: Facts) -> Constant:
    kind = INTEGER if value.denominator == 1 and like.kind == INTEGER else DECIMAL
    grid = Fraction(1) if kind == INTEGER else Fraction(1, value.denominator)
    return Constant(int(value) if kind == INTEGER else value, Facts(kind, value, value, grid, False))


def bundle(aggregate: Aggregate) -> Bundle:
    """The two ends."""
    low, high = _ends(aggregate)
    arg = aggregate.arg
    assert arg is not None
    width = high - low
    ends = (call("-", (arg, _number(low, arg.facts))), call("-", (_number(high, arg.facts), arg)))
    if arg.facts.nullable:
        ends = tuple(call("case", (known(arg), end, ZERO)) for end in ends)  # type: ignore[assignment]
    return Bundle(tuple(filtered(end, aggregate.where) for end in ends), width)


def _finish(aggregate: Aggregate, noisy: Noisy) -> Fraction | None:
    """Within the declared range; nothing to divide by gives NULL."""
    low, high = _ends(aggregate)
    a, b = noisy.values
    if a + b <= 0:
        return None
    return min(high, max(low, low + (high - low) * a / (a + b)))


def _spread(aggregate: Aggregate, noisy: Noisy, confidence: Fraction) -> Interval:
    """Test inversion: all p in [0, 1] for which (1-p) A - p B is within its own noise of zero."""
    low, high = _ends(aggregate)
    a, b = noisy.values

    def possible(p: Fraction) -> bool:
        gap = abs((1 - p) * a - p * b)
        return gap <= half_width((1 - p, p), noisy.scale, noisy.step, confidence)

    grid = [Fraction(i, 32) for i in range(33)]
    inside = [p for p in grid if possible(p)]
    centre = min(Fraction(1), max(Fraction(0), a / (a + b))) if a + b > 0 else None
    if centre is not None:
        inside.append(centre)
    if not inside:
        return low, high
    first, last = _edge(min(inside), Fraction(-1, 32), possible), _edge(max(inside), Fraction(1, 32), possible)
    return low + (high - low) * first, low + (high - low) * last


def _edge(inside: Fraction, step: Fraction, possible: object) -> Fraction:
    """The end of the possible stretch, by halving between a point inside and the next one outside; rounded outward."""
    test = possible
    assert callable(test)
    outside = inside + step
    if not 0 <= outside <= 1:
        outside = Fraction(0) if step < 0 else Fraction(1)
        if test(outside):
            return outside
    for _ in range(24):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if test(middle) else (inside, middle)
    return outside


def sum_of(aggregate: Aggregate, noisy: Noisy) -> Fraction:
    """SUM(x) from the two ends."""
    low, high = _ends(aggregate)
    return (high * noisy.values[0] + low * noisy.values[1]) / (high - low)


def count_of(aggregate: Aggregate, noisy: Noisy) -> Fraction:
    """COUNT(x) from the two ends."""
    low, high = _ends(aggregate)
    return (noisy.values[0] + noisy.values[1]) / (high - low)


def spread_of_sum(aggregate: Aggregate, noisy: Noisy, confidence: Fraction) -> Interval:
    """The interval of SUM(x)."""
    low, high = _ends(aggregate)
    t = half_width((high / (high - low), low / (high - low)), noisy.scale, noisy.step, confidence)
    middle = sum_of(aggregate, noisy)
    return middle - t, middle + t


def spread_of_count(aggregate: Aggregate, noisy: Noisy, confidence: Fraction) -> Interval:
    """The interval of COUNT(x)."""
    low, high = _ends(aggregate)
    weight = 1 / (high - low)
    t = half_width((weight, weight), noisy.scale, noisy.step, confidence)
    middle = count_of(aggregate, noisy)
    return middle - t, middle + t


AVG = Kind("avg", _bind, bundle, _finish, _spread)
