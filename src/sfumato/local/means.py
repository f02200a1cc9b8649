"""The mean of numbers, with an interval that says which population it speaks of.

Guarantee: an interval holds the true mean with about the stated confidence, by the normal law of a sum of many
independent readings.
Proof: a reading of u has expectation u and variance c0 + c1 u + c2 u². So the mean of n readings has variance
(c0 + c1 m + c2 s)/n for fixed people with mean m and mean square s, and (s - m²)/n more if they are a sample. The mean
square lies between m² and m; the squares of the readings tell where, up to an uncertainty of their own (Hoeffding's),
and the largest variance that this leaves counts. Means that the estimate does not contradict form the interval. One
report may be far off where nearly all are near, so a part of the largest step that one can make is allowed for.
Reference: Duchi, Jordan, Wainwright, FOCS 2013; Wang and others, ICDE 2019 (variances); Wilson 1927 (score intervals).
Checked by: local::means_are_unbiased_with_the_stated_variance, local::intervals_of_means_cover,
local::intervals_of_means_cover_where_nothing_varies
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt

from sfumato.local.base import Tally
from sfumato.local.estimates import allowed_part, check_asked, quantile
from sfumato.local.numbers import Means
from sfumato.types import certainty

_STEPS = 60


def estimate_mean(
    encoder: Means, tally: Tally, *, population: str = "fixed", confidence: object = 0.95
) -> tuple[float, float, float]:
    """The mean of u = (x - low)/(high - low) and its interval."""
    cells = tally.reshape(-1, 3)
    n = int(cells[:, 0].sum())
    check_asked(n, population)
    first, second = 0.0, 0.0
    for (count, total, squares), part in zip(cells.tolist(), encoder.parts, strict=True):
        offset, slope = float(part.offset), float(part.slope)
        first += (total - offset * count) / slope
        second += (squares - 2 * offset * total + offset**2 * count) / slope**2
    mean = first / n
    return mean, *_interval(encoder, (mean, second / n), n, population, confidence)


def expected_interval(encoder: Means, n: int, confidence: object) -> tuple[float, float]:
    """The interval of n people whose numbers are spread evenly over the range, where reports are as expected."""
    c0, c1, c2 = (float(c) for c in encoder.spread)
    return _interval(encoder, (0.5, c0 + c1 / 2 + (1 + c2) / 3), n, "fixed", confidence)


def _interval(
    encoder: Means, moments: tuple[float, float], n: int, population: str, confidence: object
) -> tuple[float, float]:
    """From the means of n readings and of their squares."""
    (mean, square), z = moments, quantile(confidence)
    half = allowed_part(z) * _largest_step(encoder) / n
    doubt = sqrt(log(2 / (1 - float(certainty(confidence)))) / (2 * n)) * _largest_square(encoder)
    c0, c1, c2 = (float(c) for c in encoder.spread)

    def reach(tried: float) -> float:
        return half + z * sqrt(_variance((c0, c1, c2), tried, square, doubt, population) / n)

    return _end(mean, -1, reach), _end(mean, 1, reach)


def _end(mean: float, sign: int, reach: Callable[[float], float]) -> float:
    """Where the distance from the estimate is as large as the reach of the mean that is tried, by bisection."""
    near, far = 0.0, max(reach(tried / 16) for tried in range(17)) + 1.0
    for _ in range(_STEPS):
        middle = (near + far) / 2
        near, far = (middle, far) if middle <= reach(mean + sign * middle) else (near, middle)
    return mean + sign * far


def _variance(spread: tuple[float, float, float], tried: float, square: float, doubt: float, population: str) -> float:
    """Of one reading, at most, if the mean is the one that is tried."""
    c0, c1, c2 = spread
    m = min(max(tried, 0.0), 1.0)
    least, most = m * m, m
    if 1 + c2 > 1e-9:  # a single bit does not show the mean square
        middle, around = (square - c0 - c1 * m) / (1 + c2), doubt / (1 + c2)
        least, most = max(least, min(most, middle - around)), min(most, max(least, middle + around))
    weight = c2 if population == "fixed" else 1 + c2
    rest = 0.0 if population == "fixed" else -m * m
    return max(0.0, c0 + c1 * m + weight * (most if weight > 0 else least) + rest)


def _largest_square(encoder: Means) -> float:
    """Of a reading."""
    return max(float(end) ** 2 for part in encoder.parts for end in part.ends)


def _largest_step(encoder: Means) -> float:
    """How far one report can move the sum of all readings: between the extreme ones, which are at least 1 apart."""
    ends = [float(end) for part in encoder.parts for end in part.ends]
    return max(ends) - min(ends)
