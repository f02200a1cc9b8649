"""How wide noise is: the tails of released numbers and of combinations of them.

Comes in: the noise of draws, each with a weight. Goes out: a width that their sum stays within, with some confidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.algebra.exact_numbers import ExactNumbers, Floats, exact
from sfumato.mechanisms import Gaussian, Geometric, PrefixSums, ThresholdedCounts, sum_width

Interval = tuple[Fraction, Fraction] | None


@dataclass(frozen=True)
class NoiseTerm:
    """The noise of one released sum: geometric with a scale, or Gaussian with a variance, on multiples of step.

    Of a total: the sum of so many independent `draws`; of a running one also that of the first `end` entries by a `law`
    of its own, which stands alone in its form: see `forms`.
    """

    scale: Fraction
    step: Fraction
    gaussian: bool = False
    draws: int = 1
    law: PrefixSums | None = None
    end: int = 0
    shown: ThresholdedCounts | None = None
    """The law of a number that is told because it is large: its interval is that given that it is told."""

    def __hash__(self) -> int:
        """Of whole numbers: that of a fraction takes an inverse modulo a prime."""
        return hash(
            (*self.scale.as_integer_ratio(), *self.step.as_integer_ratio(), self.gaussian, self.draws, self.end)
        )


@lru_cache(maxsize=4096)
def width_of(terms: tuple[tuple[Fraction, NoiseTerm], ...], confidence: Fraction, chernoff: bool = False) -> Fraction:
    """A t with P(|sum of weight Z| <= t) >= confidence, for independent noise Z.

    One term: the smallest such t, by its exact law, also where it is a sum of several draws of one law. Two geometric
    ones: a discrete draw and a continuous Laplace one can be coupled within one step, so the continuous tail at t
    covers the discrete at t + the sum of |weight| step; it is (a² e^(-t/a) - b² e^(-t/b))/(a² - b²), or (1 + t/2a)
    e^(-t/a) for a = b. More: Chernoff's bound with the moments of the continuous laws, which exceed those of the
    discrete ones: for a geometric Z of scale b, E e^(lZ) <= 1/(1 - l² b²), because (cosh y - 1)/y² grows with y; for a
    Gaussian it is at most e^(l² s²/2). Ends are rounded outward: this is post-processing, and errs to the wide side.
    With `chernoff` it is this bound for any number of terms: a convex function of the weights (see `moments`).
    """
    used = tuple((abs(weight), term) for weight, term in terms if weight and term.scale)
    if not used:
        return Fraction(0)
    if len(used) == 1 and not chernoff:
        return _alone(used[0][1], confidence) * used[0][0]
    weights = np.array([[float(weight)] for weight, _ in used])
    found = widths(weights, [term for _, term in used], float(1 - confidence), chernoff)
    wide = Fraction(float(found[0])) * Fraction(1_000_001, 1_000_000)
    if chernoff:
        return wide
    steps = [weight * term.step for weight, term in used]  # the sum is a multiple of what divides all of these
    whole = math.lcm(*(step.denominator for step in steps))
    grid = Fraction(math.gcd(*(int(step * whole) for step in steps)), whole)
    return wide // grid * grid


def _alone(term: NoiseTerm, confidence: Fraction) -> Fraction:
    """The least width of one term, by its law."""
    if term.law is not None:
        return term.law.interval(confidence, term.end)[1] * term.step
    if term.draws > 1:
        scale = term.scale / term.step ** (2 if term.gaussian else 1)
        return sum_width(scale, term.draws, 1 - confidence, term.gaussian) * term.step
    if term.gaussian:
        law = Gaussian(None, Fraction(1, 2), squared=term.scale / term.step**2)
        return law.interval(confidence)[1] * term.step
    return Geometric(Fraction(1), term.step / term.scale).interval(confidence)[1] * term.step


def ends_of(number: Fraction, term: NoiseTerm, confidence: Fraction) -> tuple[Fraction, Fraction]:
    """The interval of one released number by itself."""
    low, high = ends_of_all(exact(number), term, confidence)
    return low[0], high[0]


def ends_of_all(numbers: ExactNumbers, term: NoiseTerm, confidence: Fraction) -> tuple[ExactNumbers, ExactNumbers]:
    """The intervals of released numbers of one law, each by itself."""
    if term.shown is not None:
        # below the threshold nothing is shown: only a dry run, over zeros, comes here with such a number
        least, per_step = term.shown.threshold, numbers.unit / term.step
        steps = [max(int(count * per_step), least) for count in numbers.counts]
        known = {step: term.shown.interval(step, confidence) for step in set(steps)}
        return (
            ExactNumbers([known[step][0] for step in steps], term.step),
            ExactNumbers([known[step][1] for step in steps], term.step),
        )
    half = width_of(((Fraction(1), term),), confidence)
    return numbers.plus(-half), numbers.plus(half)


def widths(weights: Floats, terms: Sequence[NoiseTerm], miss: float, chernoff: bool = False) -> Floats:
    """`width_of` for several terms, in doubles, for many cells: a row of weights for each term, a column for each cell.

    The bounds are proved, and what doubles lose is far below what they leave.
    """
    sizes = np.abs(weights) * _column(float(term.scale) * (not term.gaussian) for term in terms)
    draws = np.array([term.draws for term in terms])
    spread = _column(term.draws * float(term.scale) * term.gaussian for term in terms)
    variance = np.asarray((weights * weights * spread).sum(axis=0))
    bound = chernoff_bound(sizes, draws, variance, miss)
    few = ((sizes > 0) * draws[:, None]).sum(axis=0) <= 2
    few &= variance == 0
    if chernoff or not few.any():
        return bound
    steps = _column(term.draws * float(term.step) for term in terms)
    slack = (np.abs(weights[:, few]) * steps).sum(axis=0)
    repeated = np.repeat(sizes[:, few], np.minimum(draws, 2), axis=0)
    two = np.sort(np.vstack([repeated, np.zeros_like(repeated[:1])]), axis=0)[-2:]
    bound[few] = np.minimum(bound[few], slack + two_laplace(two[1], two[0], miss))
    return bound  # where noise is far below a step, the slack is most of it


def _column(values: Iterable[float]) -> Floats:
    return np.array(list(values), dtype=np.float64)[:, None]


def chernoff_bound(sizes: Floats, draws: NDArray[np.int64], variance: Floats, miss: float) -> Floats:
    """The least bound over some l for each cell, by finer and finer grids; every l gives a true one."""
    needed, times = math.log(2 / miss), draws[:, None, None]
    largest = sizes.max(axis=0, initial=0.0)
    found = np.sqrt(2 * variance * needed)
    some = largest > 0
    if not some.any():
        return found
    sizes, variance = sizes[:, None, some], variance[some]
    low, high = np.zeros_like(variance), 1 / largest[some]
    for _ in range(_LEVELS):
        rates = low + (high - low) * _GRID
        moments = variance * rates * rates / 2 - (times * np.log1p(-((rates * sizes) ** 2))).sum(axis=0)
        bounds = (needed + moments) / rates
        best = bounds.argmin(axis=0)
        low, high = low + (high - low) * _BELOW[best], low + (high - low) * _ABOVE[best]
    found[some] = bounds.min(axis=0)
    return found


_LEVELS = 3
_POINTS = np.arange(18) / 17
_GRID, _BELOW, _ABOVE = _POINTS[1:-1, None], _POINTS[:-2], _POINTS[2:]
"""Grids of 16 points; the next one lies between the neighbours of the best."""


def two_laplace(larger: Floats, smaller: Floats, miss: float) -> Floats:
    """Where the tail of the sum of two continuous Laplace draws falls below `miss`, outward; one may be nothing."""
    low, high = np.zeros_like(larger), larger * (2 + 2 * math.log(2 / miss)) * 2
    for _ in range(32):
        middle = (low + high) / 2
        covered = _tail(larger, smaller, middle) <= miss
        low, high = np.where(covered, low, middle), np.where(covered, middle, high)
    return np.where(smaller > 0, high, larger * -math.log(miss))


def _tail(a: Floats, b: Floats, t: Floats) -> Floats:
    alike = a - b < 1e-6 * a
    with np.errstate(divide="ignore", invalid="ignore"):
        equal = (1 + t / (2 * a)) * np.exp(-t / a)
        apart = (a * a * np.exp(-t / a) - b * b * np.exp(-t / b)) / (a * a - b * b)
    return np.where(alike, equal, apart)
