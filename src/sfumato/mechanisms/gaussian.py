"""The discrete Gaussian mechanism: whole numbers, priced in zCDP, with its exact curve for one number."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any

from sfumato.accounting import GaussianRelease as GaussianEvent
from sfumato.errors import InputError
from sfumato.mechanisms.base import as_confidence, as_distance, as_integers, least, with_noise
from sfumato.mechanisms.parameters import AsFraction, MaybeFraction
from sfumato.mechanisms.tails import gaussian_tail, gaussian_whole
from sfumato.reals import Real, exp, round_up
from sfumato.sampling import sample_gaussian
from sfumato.types import Loss, as_written, positive, probability, show, whole

_FINEST = Fraction(1, 10**12)


@dataclass(frozen=True)
class Gaussian:
    """Add discrete Gaussian noise to integers.

    Guarantee: if neighbours differ by at most `distance` in L2, one release is rho-zCDP with rho = distance²/(2
        sigma²), where sigma² = sensitivity_l2²/(2 rho); it is not epsilon-private for any epsilon. For one whole number
        it is (epsilon, delta(epsilon))-private by the exact discrete curve, which exceeds the continuous one.
    Proof: the Renyi divergence of order a between discrete Gaussians a whole shift d apart is at most a d²/(2 sigma²),
        and the coordinates add up. The ratio of masses at y grows without bound. For a shift d the likelihood ratio is
        increasing, so the best event is an upper tail, from the first y with d(2y - d) > 2 sigma² epsilon on; larger
        shifts only help each tail.
    Reference: Canonne, Kamath, Steinke, NeurIPS 2020, theorems 4 and 7.
    Checked by: laws::gaussian_renyi_is_within_rho, laws::gaussian_curve_is_the_exact_sum, laws::gaussian_is_not_pure,
        laws::mass_adds_up, laws::interval_is_the_smallest, sampling::sigma_is_the_stated_one
    """

    sensitivity_l2: MaybeFraction = MaybeFraction()
    rho: AsFraction = AsFraction()
    squared: MaybeFraction = MaybeFraction(None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive(self.rho, "rho"))
        if (self.sensitivity_l2 is None) == (self.squared is None):
            raise InputError(
                "give sensitivity_l2, or its square as `squared` where that is not the square of a fraction"
            )
        if self.squared is None:
            number = positive(self.sensitivity_l2, "sensitivity_l2")
            object.__setattr__(self, "sensitivity_l2", number)
            object.__setattr__(self, "squared", number * number)
        else:
            object.__setattr__(self, "squared", positive(self.squared, "squared"))

    @classmethod
    def for_one_number(cls, sensitivity: Any, epsilon: Any, delta: Any) -> Gaussian:
        """The least noise, to nine digits, that makes one whole number (epsilon, delta)-private by the exact curve."""
        shift = whole(sensitivity, "sensitivity", 1)
        wanted, slack = positive(epsilon, "epsilon"), probability(delta, "delta")
        low, high = Fraction(0), Fraction(1, 16)
        while not cls._variance(shift, high).delta(wanted) <= slack:
            low, high = high, 2 * high
        while high - low > high / 10**9:
            middle = (low + high) / 2
            low, high = (low, middle) if cls._variance(shift, middle).delta(wanted) <= slack else (middle, high)
        return cls._variance(shift, high)

    @classmethod
    def _variance(cls, shift: int, variance: Fraction) -> Gaussian:
        return cls(Fraction(shift), Fraction(shift * shift) / (2 * variance))

    @cached_property
    def variance(self) -> Fraction:
        """sigma²: noise has the weight e^(-z²/(2 sigma²))."""
        assert self.squared is not None
        return self.squared / (2 * self.rho)

    @property
    def event(self) -> GaussianEvent:
        """One release, for the accountant."""
        return GaussianEvent(self.rho)

    def loss(self, distance: Any) -> Loss:
        """What one release costs if neighbours differ by at most `distance` in L2: rho, and no epsilon."""
        return Loss(None, as_distance(distance) ** 2 / (2 * self.variance))

    def release(self, value: Any) -> Any:
        """The number, or each number of an array, plus noise."""
        return with_noise(as_integers(value), lambda count: sample_gaussian(self.variance, count))

    def mass(self, z: int) -> Real:
        """The probability that the noise is z."""
        return exp(-Fraction(whole(z, "z") ** 2) / (2 * self.variance)) / self._whole

    @cached_property
    def _whole(self) -> Real:
        return gaussian_whole(self.variance)

    def cdf(self, z: int) -> Real:
        """The probability that the noise is at most z."""
        return gaussian_tail(self.variance, -whole(z, "z"))

    def interval(self, confidence: Any = Fraction(95, 100)) -> tuple[int, int]:
        """The smallest (-t, t) that holds the noise with at least this probability."""
        miss = 1 - as_confidence(confidence)
        # a guess where to look; the exact tail decides
        guess = NormalDist(0, float(self.variance) ** 0.5).inv_cdf(1 - float(miss) / 2) if float(miss) > 1e-15 else 0
        t = least(lambda t: 2 * gaussian_tail(self.variance, t + 1) <= miss, int(guess))
        return -t, t

    def delta(self, epsilon: Any, distance: Any = None) -> Real:
        """The least delta for which one whole number, `distance` apart, is (epsilon, delta)-private: the exact
        curve.
        """
        wanted = as_written(epsilon, "epsilon")
        if wanted < 0:
            raise InputError(f"epsilon must be at least 0, but is {show(wanted)}")
        shift = whole(self.sensitivity_l2 if distance is None else distance, "distance", 1)
        first = (wanted * self.variance / shift + Fraction(shift, 2)) // 1 + 1
        return gaussian_tail(self.variance, first - shift) - exp(wanted) * gaussian_tail(self.variance, first)

    def epsilon(self, delta: Any, distance: Any = None) -> Fraction:
        """The least epsilon, to 1e-12 upward, for which one whole number is (epsilon, delta)-private by the exact
        curve.
        """
        wanted = probability(delta, "delta")
        low, high = Fraction(0), Fraction(1)
        if self.delta(low, distance) <= wanted:
            return low
        while not self.delta(high, distance) <= wanted:
            low, high = high, 2 * high
        while high - low > _FINEST:
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle, distance) <= wanted else (middle, high)
        return round_up(high, _FINEST)
