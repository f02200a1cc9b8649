"""How far two inputs are apart: a metric by name, by its matrix, or any function of two inputs.

Comes in: numbers, tuples of them (databases, points of a plane) or labels. Goes out: a fraction, or an exact real where
the distance is a root. Equal roots are one object, so that a table of distances can be searched for equal ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from math import isqrt
from typing import Any

from sfumato.errors import InputError
from sfumato.reals import Real, sqrt
from sfumato.types import as_written, show

Distance = Fraction | Real
Metric = str | Callable[[Any, Any], Any] | Sequence[Sequence[Any]] | None
"""A word of METRICS, a function of two inputs, a matrix in the order of the inputs; None: any two are 1 apart."""


def distances(metric: Metric, points: Sequence[Any]) -> tuple[tuple[Distance, ...], ...]:
    """The table of distances between points, in their order.

    >>> distances("normalised-manhattan", [(32, 0), (32, 1), (30, 4)])[0]
    (Fraction(0, 1), Fraction(1, 32), Fraction(3, 16))
    """
    count = len(points)
    if metric is None or isinstance(metric, str) or callable(metric):
        between = word_function(metric, points)
        half = [[as_distance(between(points[i], points[j])) for j in range(i)] for i in range(count)]
        table = [[half[max(i, j)][min(i, j)] if i != j else Fraction(0) for j in range(count)] for i in range(count)]
        if between is metric:
            _check([[as_distance(metric(x, y)) for y in points] for x in points], count)
    else:
        table = [[as_distance(d) for d in row] for row in metric]
        _check(table, count)
    return tuple(tuple(row) for row in table)


def word_function(metric: str | Callable[[Any, Any], Any] | None, points: Sequence[Any]) -> Callable[[Any, Any], Any]:
    """The metric as a function of two points; the normalised one is of all of them."""
    if metric is None:
        return discrete
    if not isinstance(metric, str):
        return metric
    word = metric.strip().lower().replace("_", "-").replace("normalized", "normalised")
    if word == NORMALISED:
        return normalised(points)
    if word not in METRICS:
        raise InputError(f'metric "{metric}" is not known', hint=f"One of: {', '.join([*METRICS, NORMALISED])}.")
    return METRICS[word]


def _check(table: list[list[Distance]], count: int) -> None:
    if len(table) != count or any(len(row) != count for row in table):
        raise InputError(f"a matrix of distances between {count} inputs has {count} rows of {count} numbers")
    for i in range(count):
        if not is_zero(table[i][i]):
            raise InputError(f"the distance of an input to itself is 0, but row {i} says otherwise")
        for j in range(i):
            if not same(table[i][j], table[j][i]) and float(table[i][j]) != float(table[j][i]):
                raise InputError(f"a metric is symmetric, but entries {i}, {j} and {j}, {i} differ")


def as_distance(distance: Any) -> Distance:
    """How far apart: zero or more; a real that is not a fraction is above zero."""
    if isinstance(distance, Real):
        if distance.sign() < 0:
            raise InputError("distance must be at least 0, but is below")
        return distance
    number = as_written(distance, "distance")
    if number < 0:
        raise InputError(f"distance must be at least 0, but is {show(number)}")
    return number


def is_zero(distance: Distance) -> bool:
    """Whether it is 0: a fraction, or a real whose enclosure is 0 itself."""
    return distance.sign() == 0 if isinstance(distance, Real) else distance == 0


def same(one: Distance, other: Distance) -> bool:
    """Whether two distances are equal; two different objects of irrational value count as different."""
    if isinstance(one, Real) or isinstance(other, Real):
        return one is other
    return one == other


def largest(found: Sequence[Distance]) -> Distance:
    """The largest of some distances."""
    most = found[0]
    for distance in found[1:]:
        if not same(distance, most) and distance > most:
            most = distance
    return most


def discrete(x: Any, y: Any) -> Fraction:
    """1 for any two that differ."""
    return Fraction(int(x != y))


def hamming(x: Any, y: Any) -> Fraction:
    """In how many records two databases of one length differ; None is the absence of a record.

    >>> hamming((32, 41, 27), (21, 52, 27))
    Fraction(2, 1)
    """
    return sum((discrete(a, b) for a, b in _records(x, y)), Fraction(0))


def manhattan(x: Any, y: Any) -> Fraction:
    """The sum of the distances of the records, or of the coordinates."""
    return sum((abs(_number(a) - _number(b)) for a, b in _records(x, y)), Fraction(0))


def euclidean(x: Any, y: Any) -> Distance:
    """As the crow flies.

    >>> euclidean((0, 0), (3, 4))
    Fraction(5, 1)
    """
    pairs = list(_records(x, y))
    if all(type(a) is type(b) is int for a, b in pairs):  # the points of a grid, without fractions
        return root(Fraction(sum((a - b) ** 2 for a, b in pairs)))
    return root(sum(((_number(a) - _number(b)) ** 2 for a, b in pairs), Fraction(0)))


@cache
def root(square: Fraction) -> Distance:
    """The square root: a fraction where it is one, else a real, the same object each time."""
    top, bottom = isqrt(square.numerator), isqrt(square.denominator)
    if top * top == square.numerator and bottom * bottom == square.denominator:
        return Fraction(top, bottom)
    return sqrt(square)


def normalised(points: Sequence[Any]) -> Callable[[Any, Any], Fraction]:
    """The Manhattan distance in units of the largest distance between two values that occur."""
    values = sorted({_number(v) for point in points for v in (point if isinstance(point, (tuple, list)) else [point])})
    width = values[-1] - values[0] if values else Fraction(0)
    if width == 0:
        raise InputError("a normalised distance needs two values that differ")
    return lambda x, y: manhattan(x, y) / width


def _records(x: Any, y: Any) -> list[tuple[Any, Any]]:
    """Two databases or points record by record; two plain values are one record each."""
    first, second = (v if isinstance(v, (tuple, list)) else (v,) for v in (x, y))
    if len(first) != len(second):
        raise InputError(
            f"a distance needs two inputs of one length, but they have {len(first)} and {len(second)}",
            hint="Write None for a record that is absent.",
        )
    return list(zip(first, second, strict=True))


def _number(value: Any) -> Fraction:
    if value is None:
        raise InputError("an absent record is not a number", hint="Use the Hamming distance.")
    return as_written(value, "a value with a distance")


METRICS: dict[str, Callable[[Any, Any], Any]] = {
    "discrete": discrete,
    "hamming": hamming,
    "manhattan": manhattan,
    "euclidean": euclidean,
}
"""By name, but for the normalised one, which depends on all values that occur, too."""
NORMALISED = "normalised-manhattan"


def triangle_fault(table: Sequence[Sequence[Distance]]) -> tuple[int, int, int] | None:
    """Points (i, k, j) with d(i, j) > d(i, k) + d(k, j): what keeps a table from being a metric; None for a metric."""
    for i, row in enumerate(table):
        for k, first in enumerate(row):
            for j, whole in enumerate(row):
                if len({i, j, k}) == 3 and _exceeds(whole, first, table[k][j]):
                    return i, k, j
    return None


def _exceeds(whole: Distance, first: Distance, second: Distance) -> bool:
    """whole > first + second; sums of roots that agree to thousands of bits count as equal."""
    if not any(isinstance(d, Real) for d in (whole, first, second)):
        return whole > first + second
    if float(whole) < float(first) + float(second) - 1e-9 * float(whole):
        return False
    try:
        return bool(whole > first + second)
    except ArithmeticError:
        return False
