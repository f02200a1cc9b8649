"""How wide a sum of independent draws of one law is: the ends of its interval, from its characteristic function.

Comes in: the law, how many draws are added up, and how often the sum may lie outside. Goes out: the half width, a whole
number. Widths are post-processing: doubles will do, and every error is to the wide side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.base import least

_LOST = 1e-12
"""More than everything that is left out here: two tails of 1e-14, and rounding; the rest of a sum is below a tenth."""
_PART = 1e-6
"""This part of a miss may be lost."""
_TAIL = 1e-14
_LEAST = 1e-9
"""A rarer miss than this is left to the bound of the moments."""
_STEPS = 1 << 16
"""A width is found to this part of the standard deviation where that is larger."""

Angles = NDArray[Any]


@lru_cache(maxsize=1 << 16)
def sum_width(scale: Fraction, draws: int, miss: Fraction, gaussian: bool = False) -> int:
    """A t with P(|S| > t) <= miss, for the sum S of so many draws: of discrete Laplace noise of this scale, or of
    discrete Gaussian noise with this sigma².

    Guarantee: never too small; the smallest such t, up to a millionth of the miss (or 1e-12) and up to 2^-16 of a
        standard deviation.
    Proof: with an odd period p = 2x + 1, where P(|S| >= x) <= 1e-14 by the bound of the moments, the law of S modulo p
        has P(|S| <= t modulo p) = (1/p) sum over k of f(2 pi k/p) sin((t + 1/2) 2 pi k/p)/sin(pi k/p), f the
        characteristic function of S, and differs from that of S by less than P(|S| >= x) for t <= x. f falls from 0 to
        pi and |sin(pi k/p)| >= 2k/p, so what is left out beyond K is at most f(2 pi K/p) (1 + ln(p/2K)). For discrete
        Laplace draws E e^(l Z) <= 1/(1 - l² scale²) and f = (1 + sin²(a/2)/sinh²(1/(2 scale)))^-draws; for discrete
        Gaussian ones E e^(l Z) <= e^(l² sigma²/2), and f is a ratio of two theta functions.
    Reference: Poisson summation; Canonne, Kamath, Steinke, NeurIPS 2020 (subgaussian tails).
    Checked by: laws::widths_of_sums_are_those_of_the_law
    """
    allowed, spread = float(miss), float(scale)
    deviation = math.sqrt(draws * (spread if gaussian else 2 * spread * spread))
    if allowed < _LEAST:
        return _by_moments(spread, draws, float(miss), gaussian)
    reach = _by_moments(spread, draws, _TAIL, gaussian)
    period = 2 * reach + 1
    lost = max(_LOST, _PART * allowed)
    angles = _angles(spread, draws, gaussian, period, lost / 10)
    weights = (_normal if gaussian else _laplace)(spread, draws, angles) / np.sin(angles / 2)
    coarse = max(1, int(deviation / _STEPS))

    def holds(steps: int) -> bool:
        t = min(reach, steps * coarse)
        inside = (2 * t + 1 + 2 * float(weights @ np.sin((t + 0.5) * angles))) / period
        return t >= reach or 1 - inside + lost <= allowed

    return min(reach, least(holds, int(deviation / coarse)) * coarse)


def _angles(scale: float, draws: int, gaussian: bool, period: int, rest: float) -> Angles:
    """2 pi k/period for k up to where what is left out is below the rest."""
    law: Callable[[float, int, Angles], Angles] = _normal if gaussian else _laplace
    last = (period - 1) // 2
    needed = rest / (1 + math.log(period))
    count = min(last, 16)
    while count < last and law(scale, draws, np.array([2 * math.pi * count / period]))[0] > needed:
        count = min(last, 2 * count)
    return 2 * math.pi / period * np.arange(1, count + 1)


def _laplace(scale: float, draws: int, angles: Angles) -> Angles:
    """The characteristic function of a sum of discrete Laplace draws."""
    half = 1 / (2 * scale)
    weight = 0.0 if half > 300 else 1 / math.sinh(half) ** 2
    return np.asarray(np.exp(-draws * np.log1p(weight * np.sin(angles / 2) ** 2)))


def _normal(variance: float, draws: int, angles: Angles) -> Angles:
    """The characteristic function of a sum of discrete Gaussian draws: by the weights, or by Poisson's formula."""
    if variance < 1:
        x = np.arange(1, 12)
        weights = np.exp(-x * x / (2 * variance))
        one = (1 + 2 * np.cos(np.outer(angles, x)) @ weights) / (1 + 2 * weights.sum())
    else:
        shifts = 2 * math.pi * np.arange(-2, 3)
        one = np.exp(-variance * (angles[:, None] + shifts) ** 2 / 2).sum(axis=1)
        one = one / np.exp(-variance * shifts**2 / 2).sum()
    return np.asarray(np.maximum(one, 0.0) ** draws)


def _by_moments(scale: float, draws: int, miss: float, gaussian: bool) -> int:
    """An x with P(|S| >= x) <= miss, by Chernoff's bound."""
    needed = math.log(2 / miss)
    if gaussian:
        return math.ceil(math.sqrt(2 * scale * draws * needed) * (1 + 1e-9)) + 1
    rates = np.linspace(0.01, 0.99, 99)
    bounds = (needed - draws * np.log1p(-rates * rates)) / rates
    rates_small = np.minimum(0.5, math.sqrt(needed / draws) * np.array([0.8, 1.0, 1.2]))
    small = (needed - draws * np.log1p(-rates_small * rates_small)) / rates_small
    return math.ceil(scale * float(min(bounds.min(), small.min())) * (1 + 1e-9)) + 1
