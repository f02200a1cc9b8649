"""How wide noise is: the tails of released numbers and of combinations of them.

Comes in: the noise of draws, each with a weight. Goes out: a width that their sum stays within, with some confidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from sfumato.mechanisms import Gaussian, Geometric, PrefixSums, ThresholdedCounts
from sfumato.mechanisms.sums import sum_width

Interval = tuple[Fraction | None, Fraction | None] | None


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
    noise = [noise_of(float(weight), term) for weight, term in used]
    wide = Fraction(wide_enough(noise, float(1 - confidence), chernoff)) * Fraction(1_000_001, 1_000_000)
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
    if term.shown is not None:
        # below the threshold nothing is shown: only a dry run, over zeros, comes here with such a number
        low, high = term.shown.interval(max(int(number / term.step), term.shown.threshold), confidence)
        return low * term.step, high * term.step
    half = width_of(((Fraction(1), term),), confidence)
    return number - half, number + half


Noise = tuple[float, float, float, bool, int]
"""Weight, scale, step, whether it is Gaussian, and how many independent draws of it are added up."""


def noise_of(weight: float, term: NoiseTerm) -> Noise:
    """The noise of a term, in doubles."""
    return weight, float(term.scale), float(term.step), term.gaussian, term.draws


def wide_enough(terms: list[Noise], miss: float, chernoff: bool = False) -> float:
    """`width_of` for several terms, in doubles.

    The bounds are proved, and what doubles lose is far below what they leave.
    """
    known = [(abs(w) * scale, draws) for w, scale, _, gaussian, draws in terms if not gaussian and w]
    sizes = sorted(known, reverse=True)
    variance = sum(draws * w * w * scale for w, scale, _, gaussian, draws in terms if gaussian)
    bound = _chernoff(sizes, variance, math.log(2 / miss))
    if sum(draws for _, draws in sizes) <= 2 and not variance and not chernoff:
        single = [size for size, draws in sizes for _ in range(draws)]
        slack = sum(draws * abs(w) * step for w, _, step, _, draws in terms)
        tail = _two(single, miss) if len(single) == 2 else single[0] * -math.log(miss) if single else 0.0
        return min(bound, slack + tail)  # where noise is far below a step, the slack is most of it
    return bound


def _chernoff(sizes: list[tuple[float, int]], variance: float, needed: float) -> float:
    """The least bound over some l, by golden section; every l gives a true one."""

    def bound(rate: float) -> float:
        moments = variance * rate * rate / 2 - sum(draws * math.log1p(-((rate * size) ** 2)) for size, draws in sizes)
        return (needed + moments) / rate

    if not sizes:
        return math.sqrt(2 * variance * needed)
    low, high = 0.0, 1 / sizes[0][0]
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = bound(left), bound(right)
    for _ in range(24):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = bound(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = bound(right)
    return min(at_left, at_right)


def _two(sizes: list[float], miss: float) -> float:
    """Where the tail of two continuous Laplace draws falls below `miss`, outward."""
    low, high = 0.0, sizes[0] * (2 + 2 * math.log(2 / miss)) * 2
    for _ in range(32):
        middle = (low + high) / 2
        low, high = (low, middle) if _tail(sizes, middle) <= miss else (middle, high)
    return high


def _tail(sizes: list[float], t: float) -> float:
    a, b = sizes
    if a - b < 1e-6 * a:
        return (1 + t / (2 * a)) * math.exp(-t / a)
    return (a * a * math.exp(-t / a) - b * b * math.exp(-t / b)) / (a * a - b * b)
