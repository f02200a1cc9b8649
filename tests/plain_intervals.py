"""The interval of a ratio of noisy sums, one cell at a time and in plain Python: what many cells at once are held to.

Ends are where the noise stops ruling out, to the last digit of a double: nothing is added outward.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sfumato.algebra.noise_sums import Cells, Linear, OneCell, apart
from sfumato.algebra.noise_widths import Interval, NoiseTerm


def plain_interval(top: Linear, bottom: Linear, cells: Cells, confidence: Fraction, chernoff: bool = False) -> Interval:
    parts = apart((top, bottom), OneCell(cells))
    assert parts is not None
    rows = [(float(w[0]), float(w[1]), number[0], term) for w, number, term in parts]
    above = top.constant + sum((w[0] * number[0] for w, number, _ in parts), Fraction(0))
    below = bottom.constant + sum((w[1] * number[0] for w, number, _ in parts), Fraction(0))
    miss = float(1 - confidence)
    if not any(b for _, b, _, _ in rows):
        if not below:
            return None
        half = Fraction(plain_width([(a, term) for a, _, _, term in rows], miss, chernoff))
        if not chernoff:  # noise is a multiple of what divides all steps
            steps = [w[0] * term.step for w, _, term in parts if w[0]]
            whole = math.lcm(*(step.denominator for step in steps))
            grid = Fraction(math.gcd(*(int(step * whole) for step in steps)), whole)
            half = half // grid * grid
        return (above - half) / abs(below), (above + half) / abs(below)
    if abs(below) <= plain_width([(b, term) for _, b, _, term in rows], miss, chernoff):
        return None

    def possible(ratio: float) -> bool:
        gap = above - Fraction(ratio) * below  # exactly
        return abs(gap) <= plain_width([(a - ratio * b, term) for a, b, _, term in rows], miss, chernoff)

    middle = float(above / below)
    step = max(
        plain_width([(a - middle * b, t) for a, b, _, t in rows], miss, chernoff) / abs(float(below)),
        abs(middle) * 1e-9,
        1e-30,
    )
    ends = [_end(middle, step * sign, possible) for sign in (-1, 1)]
    return None if ends[0] is None or ends[1] is None else (Fraction(ends[0]), Fraction(ends[1]))


def _end(inside: float, step: float, possible: Callable[[float], bool]) -> float | None:
    middle, outside = inside, inside + step
    for _ in range(40):
        if not possible(outside):
            break
        inside, step = outside, step * 2
        outside = middle + step
    else:
        return None
    for _ in range(40):
        half = (inside + outside) / 2
        inside, outside = (half, outside) if possible(half) else (inside, half)
    return inside


def plain_width(terms: list[tuple[float, NoiseTerm]], miss: float, chernoff: bool = False) -> float:
    """How wide the noise of a sum is: Chernoff's bound, or for two draws the tail of two continuous ones."""
    known = [(abs(w) * float(t.scale), t.draws) for w, t in terms if not t.gaussian and w and t.scale]
    sizes = sorted(known, reverse=True)
    variance = sum(t.draws * w * w * float(t.scale) for w, t in terms if t.gaussian)
    bound = _chernoff(sizes, variance, math.log(2 / miss))
    if sum(draws for _, draws in sizes) <= 2 and not variance and not chernoff:
        single = [size for size, draws in sizes for _ in range(draws)]
        slack = sum(t.draws * abs(w) * float(t.step) for w, t in terms)
        tail = _two(single, miss) if len(single) == 2 else single[0] * -math.log(miss) if single else 0.0
        return min(bound, slack + tail)
    return bound


def _chernoff(sizes: list[tuple[float, int]], variance: float, needed: float) -> float:
    def bound(rate: float) -> float:
        moments = variance * rate * rate / 2 - sum(draws * math.log1p(-((rate * size) ** 2)) for size, draws in sizes)
        return (needed + moments) / rate

    if not sizes:
        return math.sqrt(2 * variance * needed)
    low, high = 0.0, 1 / sizes[0][0]
    for _ in range(36):  # a bound with one least value, by thirds
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    return bound((low + high) / 2)


def _two(sizes: list[float], miss: float) -> float:
    a, b = sizes
    low, high = 0.0, a * (2 + 2 * math.log(2 / miss)) * 2

    def tail(t: float) -> float:
        if a - b < 1e-6 * a:
            return (1 + t / (2 * a)) * math.exp(-t / a)
        return (a * a * math.exp(-t / a) - b * b * math.exp(-t / b)) / (a * a - b * b)

    for _ in range(45):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) <= miss else (middle, high)
    return low
