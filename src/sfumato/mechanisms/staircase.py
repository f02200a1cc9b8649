"""The staircase mechanism: the least noise for a single number at large epsilon and large sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Pure
from sfumato.errors import InputError
from sfumato.mechanisms.base import (
    as_confidence,
    as_count,
    as_distance,
    as_integers,
    least,
    narrow,
    pure_loss,
    with_noise,
)
from sfumato.mechanisms.parameters import AsFraction, AsWhole
from sfumato.reals import Real, as_real, ceil, exp
from sfumato.sampling import CutTable, choice_table, sample_geometric, sample_uniform, source
from sfumato.types import Loss, positive, whole


@dataclass(frozen=True)
class Staircase:
    """Add noise whose mass falls by a factor e^-epsilon once in every `sensitivity` steps, after the first `tread` of
    them.

    Guarantee: if a single whole number differs by at most `distance` between neighbours, one release costs
        epsilon ceil(distance / sensitivity).
    Proof: with m = |z|, the mass is a e^(-epsilon k), k = floor(m / D) + (1 if m mod D >= tread); a shift of at most D
        changes m by at most D, and within D consecutive numbers k grows by exactly one, so the log-ratio is at most
        epsilon.
    Reference: Geng and Viswanath, ISIT 2014 (the discrete form, theorem 6).
    Checked by: laws::loss_is_sup_of_log_ratio, laws::mass_adds_up, laws::interval_is_the_smallest,
        laws::staircase_has_the_stated_frequencies, laws::staircase_beats_geometric_at_large_epsilon,
        laws::stairs_at_once_have_the_law_of_one
    """

    sensitivity: AsWhole = AsWhole()
    epsilon: AsFraction = AsFraction()
    tread: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", whole(self.sensitivity, "sensitivity", 1))
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        if self.tread is None:
            # near the least expected size: sensitivity / (1 + e^(epsilon/2)); privacy does not depend on it
            best = ceil(self.sensitivity / (1 + exp(self.epsilon / 2)))
            object.__setattr__(self, "tread", min(max(1, best), self.sensitivity))
        elif not 1 <= whole(self.tread, "tread") <= self.sensitivity:
            raise InputError(f"tread must be from 1 to the sensitivity {self.sensitivity}, but is {self.tread}")

    @property
    def _tread(self) -> int:
        assert self.tread is not None
        return self.tread

    @property
    def event(self) -> Pure:
        """One release, for the accountant."""
        return Pure(self.epsilon)

    def loss(self, distance: Any) -> Loss:
        """What one release costs if the number differs by at most `distance`."""
        return pure_loss(self.epsilon * ceil(as_distance(distance) / self.sensitivity))

    def release(self, value: Any, count: int | None = None) -> Any:
        """The number plus noise, or an array of `count` such releases, each at its own cost. One number only: for
        several, the steps of all would add up.
        """
        exact = as_integers(value)
        if not isinstance(exact, int):
            raise InputError("the staircase is for one number", hint="Use Geometric for several numbers at once.")
        times = as_count(count)
        if times is None:
            return exact + int(self._noise(1)[0])
        return with_noise(as_integers([exact] * times), self._noise)

    @cached_property
    def _part(self) -> CutTable:
        """Within a step of the stairs: before the fall or after it."""
        return choice_table([as_real(self._tread), exp(-self.epsilon) * (self.sensitivity - self._tread)])

    def _noise(self, count: int | None) -> NDArray[Any]:
        """Sizes k D + j with their law and a sign; a negative zero is drawn again, so that zero counts once."""
        assert count is not None
        noise = np.zeros(count, object)
        left = np.arange(count)
        while left.size:
            part = self._part.draws(source(), left.size)[0]
            size = self.sensitivity * sample_geometric(1 / self.epsilon, left.size).astype(object)
            for low, width in ((0, self._tread), (self._tread, self.sensitivity - self._tread)):
                here = np.flatnonzero(part == (low > 0))
                if here.size:
                    size[here] += low + sample_uniform(width, here.size)
            negative = sample_uniform(2, left.size) == 1
            noise[left] = np.where(negative, -size, size)
            left = left[negative & (size == 0).astype(bool)]
        return narrow(noise)

    @cached_property
    def _step(self) -> tuple[Real, Real]:
        """e^-epsilon, and the weight of one whole step of the stairs."""
        fall = exp(-self.epsilon)
        return fall, self._tread + fall * (self.sensitivity - self._tread)

    @cached_property
    def _whole(self) -> Real:
        fall, step = self._step
        return 2 * step / (1 - fall) - 1

    def mass(self, z: int) -> Real:
        """The probability that the noise is z."""
        steps, rest = divmod(abs(whole(z, "z")), self.sensitivity)
        return exp(-self.epsilon * (steps + (rest >= self._tread))) / self._whole

    def _up_to(self, size: int) -> Real:
        """The weight of 0, 1, ..., size."""
        fall, step = self._step
        steps, rest = divmod(size + 1, self.sensitivity)
        inner = min(rest, self._tread) + fall * max(0, rest - self._tread)
        return step * (1 - exp(-self.epsilon * steps)) / (1 - fall) + exp(-self.epsilon * steps) * inner

    def cdf(self, z: int) -> Real:
        """The probability that the noise is at most z."""
        z = whole(z, "z")
        if z >= 0:
            return (self._up_to(z) + (self._whole - 1) * Fraction(1, 2)) / self._whole
        return 1 - self.cdf(-z - 1)

    def interval(self, confidence: Any = Fraction(95, 100)) -> tuple[int, int]:
        """The smallest (-t, t) that holds the noise with at least this probability."""
        wanted = as_confidence(confidence)
        t = least(lambda t: (2 * self._up_to(t) - 1) / self._whole >= wanted, self.sensitivity)
        return -t, t
