"""The geometric mechanism: whole numbers with two-sided geometric noise, the default for counts and sums."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, overload

from sfumato.accounting import Pure, Refinement
from sfumato.errors import InputError
from sfumato.mechanisms.base import as_confidence, as_distance, as_integers, clamped, pure_loss, with_noise
from sfumato.mechanisms.channel import Channel
from sfumato.mechanisms.parameters import AsFraction, AsWhole
from sfumato.reals import Real, as_real, ceil, exp, ln
from sfumato.sampling import choice_table, sample_geometric, sample_laplace, source
from sfumato.types import Loss, positive, show, whole


@dataclass(frozen=True)
class Geometric:
    """Add two-sided geometric noise (the discrete Laplace distribution) to integers.

    Guarantee: if neighbours differ by at most `distance` in L1, one release costs epsilon = distance / scale, where
        scale = sensitivity_l1 / epsilon; at distance sensitivity_l1 it costs epsilon.
    Proof: the mass at y given x is proportional to e^(-|y - x|/scale); by the triangle inequality the log-ratio of two
        such masses is at most |x - x'|/scale in each coordinate, and the coordinates add up.
    Reference: Ghosh, Roughgarden, Sundararajan, STOC 2009; Dwork, McSherry, Nissim, Smith, TCC 2006.
    Checked by: laws::loss_is_sup_of_log_ratio, laws::mass_adds_up, laws::interval_is_the_smallest,
        sampling::scale_is_the_stated_one, laws::refined_pair_costs_the_better_epsilon,
        verify::certificates_of_the_library_hold
    """

    sensitivity_l1: AsFraction = AsFraction()
    epsilon: AsFraction = AsFraction()

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity_l1", positive(self.sensitivity_l1, "sensitivity_l1"))
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))

    @property
    def scale(self) -> Fraction:
        """Noise has the weight e^(-|z|/scale)."""
        return self.sensitivity_l1 / self.epsilon

    @property
    def event(self) -> Pure:
        """One release, for the accountant."""
        return Pure(self.epsilon)

    @cached_property
    def _ratio(self) -> Real:
        return exp(-1 / self.scale)

    def loss(self, distance: Any) -> Loss:
        """What one release costs if neighbours differ by at most `distance` in L1."""
        return pure_loss(as_distance(distance) / self.scale)

    @overload
    def release(self, value: int) -> int: ...
    @overload
    def release(self, value: Any) -> Any: ...
    def release(self, value: Any) -> Any:
        """The number, or each number of an array, plus noise."""
        return with_noise(as_integers(value), lambda count: sample_laplace(self.scale, count))

    def mass(self, z: int) -> Real:
        """The probability that the noise is z."""
        return (1 - self._ratio) / (1 + self._ratio) * exp(-abs(whole(z, "z")) / self.scale)

    def cdf(self, z: int) -> Real:
        """The probability that the noise is at most z."""
        z = whole(z, "z")
        if z < 0:
            return exp(z / self.scale) / (1 + self._ratio)
        return 1 - exp(-(z + 1) / self.scale) / (1 + self._ratio)

    def interval(self, confidence: Any = Fraction(95, 100)) -> tuple[int, int]:
        """The smallest (-t, t) that holds the noise with at least this probability.

        P(|Z| > t) = 2 r^(t+1)/(1+r) <= 1 - confidence if and only if t + 1 >= scale ln(2/((1 - confidence)(1 + r)));
        the two sides are never equal, as powers of e with different rational exponents are independent (Lindemann,
        Weierstrass).
        """
        miss = 1 - as_confidence(confidence)
        t = max(0, ceil(ln(2 / (miss * (1 + self._ratio))) * self.scale) - 1)
        return -t, t

    def refinement(self, before: Geometric) -> Refinement:
        """What the better answer is, for the accountant."""
        self._check_refines(before)
        return Refinement(before.epsilon, self.epsilon)

    def refine(self, value: Any, earlier: int, before: Geometric) -> int:
        """A better answer to the query that `before` answered with `earlier`, for the difference in epsilon.

        Z1 = Z2 + W, where W is 0 with probability w = (1-r1)² r2 / ((1-r2)² r1) and else a discrete Laplace draw of
        ratio r1: the generating functions are (1-r)²/(1 + r² - r(t + 1/t)), and their quotient is w + (1-w) times that
        of r1. So drawing Z2 given Z1 makes the pair (answer 1, answer 2) a release of answer 2 alone with public noise
        added: epsilon in all.
        """
        self._check_refines(before)
        exact = as_integers(value)
        if not isinstance(exact, int):
            raise InputError("a better answer is drawn for one number at a time")
        return exact + self._sample_given(whole(earlier, "earlier") - exact, before)

    def _check_refines(self, before: Geometric) -> None:
        if before.sensitivity_l1 != self.sensitivity_l1:
            raise InputError(
                "a better answer has the sensitivity of the earlier one",
                detail=f"Now {show(self.sensitivity_l1)}, earlier {show(before.sensitivity_l1)}.",
            )
        if before.epsilon >= self.epsilon:
            raise InputError(
                "a better answer has a larger epsilon than the earlier one",
                detail=f"Now {show(self.epsilon)}, earlier {show(before.epsilon)}.",
                hint="The earlier answer is as good: return it again, free.",
            )

    def refined_weights(self, noise: int, before: Geometric) -> tuple[Real, Real, Real, Real]:
        """Weights of the better noise given that the earlier one was `noise`, by where it lies.

        In turn: equal to it and drawn as W = 0; on the far side of zero; from zero to it; beyond it. For m = |noise|:
        w/(1-w) (1+r1)/(1-r1) r2^m, then sums of r2^|k| r1^|m - k| over k < 0, 0 <= k <= m, k > m; all over r1^m, so
        that some are not small however large m is.
        """
        m = abs(noise)
        r1, r2 = before._ratio, self._ratio
        same = ((1 - r1) / (1 - r2)) ** 2 * r2 / r1
        rest = exp(-m * (1 / self.scale - 1 / before.scale))
        outside = r1 * r2 / (1 - r1 * r2)
        return (
            same / (1 - same) * (1 + r1) / (1 - r1) * rest,
            outside,
            (r1 - r2 * rest) / (r1 - r2),
            rest * outside,
        )

    def _sample_given(self, noise: int, before: Geometric) -> int:
        bits = source()
        sign = -1 if noise < 0 else 1
        m = abs(noise)
        place = choice_table(self.refined_weights(noise, before)).draw(bits)
        together = 1 / (1 / before.scale + 1 / self.scale)
        if place == 0:
            better = m
        elif place == 1:
            better = -1 - sample_geometric(together)
        elif place == 2:
            # weights (r2/r1)^k on 0..m: a geometric number modulo m + 1 has them
            better = sample_geometric(1 / (1 / self.scale - 1 / before.scale)) % (m + 1)
        else:
            better = m + 1 + sample_geometric(together)
        return sign * better


@dataclass(frozen=True)
class TruncatedGeometric:
    """The geometric mechanism with its output clamped to [low, high], and the finite channel that it defines.

    Guarantee: as Geometric: neighbours at most `distance` apart in L1 cost epsilon = distance / scale.
    Proof: bringing the answer into a fixed range looks at the answer only, and post-processing costs nothing.
    Reference: Ghosh, Roughgarden, Sundararajan, STOC 2009 (the truncated law has the ends as atoms).
    Checked by: laws::loss_is_sup_of_log_ratio, laws::channel_epsilon_is_the_stated_one,
        laws::truncated_mass_adds_up, verify::certificates_of_the_library_hold
    """

    sensitivity_l1: AsFraction = AsFraction()
    epsilon: AsFraction = AsFraction()
    low: AsWhole = AsWhole()
    high: AsWhole = AsWhole()

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", whole(self.low, "low"))
        object.__setattr__(self, "high", whole(self.high, "high"))
        if self.low > self.high:
            raise InputError(f"low must be at most high, but is {self.low} > {self.high}")
        plain = Geometric(self.sensitivity_l1, self.epsilon)
        object.__setattr__(self, "sensitivity_l1", plain.sensitivity_l1)
        object.__setattr__(self, "epsilon", plain.epsilon)

    @cached_property
    def plain(self) -> Geometric:
        """The mechanism before its answer is brought into the range."""
        return Geometric(self.sensitivity_l1, self.epsilon)

    @property
    def scale(self) -> Fraction:
        """As of the plain mechanism."""
        return self.plain.scale

    @property
    def event(self) -> Pure:
        """One release, for the accountant."""
        return self.plain.event

    def loss(self, distance: Any) -> Loss:
        """What one release costs if neighbours differ by at most `distance` in L1."""
        return self.plain.loss(distance)

    def release(self, value: Any) -> Any:
        """Noisy numbers within [low, high]."""
        return clamped(self.plain.release(value), self.low, self.high)

    def mass(self, output: int, value: int) -> Real:
        """The probability of this output for this value: the two ends hold what lies beyond them."""
        return self.cdf(output, value) - self.cdf(whole(output, "output") - 1, value)

    def cdf(self, output: int, value: int) -> Real:
        """The probability of at most this output for this value."""
        if output >= self.high:
            return as_real(1)
        return self.plain.cdf(whole(output, "output") - whole(value, "value")) if output >= self.low else as_real(0)

    def interval(self, confidence: Any = Fraction(95, 100)) -> tuple[int, int]:
        """Of the plain mechanism: a value within the range is never further from the truncated answer."""
        return self.plain.interval(confidence)

    def channel(self) -> Channel:
        """The matrix over the inputs low to high, the rows being inputs and the columns outputs."""
        size = self.high - self.low + 1
        if size > 512:
            raise InputError(f"a channel is written out for at most 512 values, but the range has {size}")
        values = range(self.low, self.high + 1)
        return Channel([[self.mass(y, x) for y in values] for x in values])
