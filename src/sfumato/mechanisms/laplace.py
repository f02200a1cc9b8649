"""The Laplace mechanism on a grid: numbers that are not whole, moved onto multiples of a stated step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.accounting import Pure
from sfumato.errors import InputError
from sfumato.mechanisms.base import as_distance, as_integers, pure_loss, with_noise
from sfumato.mechanisms.geometric import Geometric
from sfumato.mechanisms.inputs import as_exact_number, as_items, as_rational
from sfumato.mechanisms.parameters import AsFraction
from sfumato.reals import Real, as_real
from sfumato.sampling import sample_laplace
from sfumato.types import Loss, as_written, positive, show


@dataclass(frozen=True)
class Laplace:
    """Add Laplace noise on a grid to a number, exactly.

    Guarantee: if neighbours differ by at most `distance` in L1, one release costs epsilon = ceil(distance / grid) /
        scale, scale being ceil(sensitivity_l1 / grid) / epsilon in steps of the grid; at distance sensitivity_l1 it
        costs epsilon.
    Proof: a single number is moved to the nearest multiple of the grid, halves upward; this commutes with whole shifts
        and is monotone, so numbers at most D steps apart land at most ceil(D) steps apart. The entries of an array must
        lie on the grid already: moving k entries by a hair each could move k steps. Then the geometric mechanism.
    Reference: Dwork, McSherry, Nissim, Smith, TCC 2006; Mironov, CCS 2012 (why on a grid and not in floats).
    Checked by: laws::loss_is_sup_of_log_ratio, laws::rounding_onto_the_grid_moves_at_most_the_distance,
        laws::mass_adds_up, laws::interval_is_the_smallest, verify::certificates_of_the_library_hold
    """

    sensitivity_l1: AsFraction = AsFraction()
    epsilon: AsFraction = AsFraction()
    grid: AsFraction = AsFraction()

    def __post_init__(self) -> None:
        for name in ("sensitivity_l1", "epsilon", "grid"):
            object.__setattr__(self, name, positive(getattr(self, name), name))

    @cached_property
    def on_grid(self) -> Geometric:
        """The same in whole steps of the grid."""
        return Geometric(Fraction(self._steps(self.sensitivity_l1)), self.epsilon)

    def _steps(self, distance: Fraction) -> int:
        return -((-distance) // self.grid)

    @property
    def scale(self) -> Fraction:
        """Noise has the weight e^(-|z|/scale) at a multiple z of the grid."""
        return self.on_grid.scale * self.grid

    @property
    def event(self) -> Pure:
        """One release, for the accountant."""
        return Pure(self.epsilon)

    def loss(self, distance: Any) -> Loss:
        """What one release costs if neighbours differ by at most `distance` in L1."""
        return pure_loss(self._steps(as_distance(distance)) / self.on_grid.scale)

    def release(self, value: Any) -> Any:
        """A multiple of the grid near the number, as a Fraction; of an array, an array of them."""
        return _each(self.release_steps(value), lambda steps: steps * self.grid)

    def release_steps(self, value: Any) -> Any:
        """The same in whole steps of the grid."""
        items = as_items(value)
        if items is None:
            nearest = int((as_exact_number(value) / self.grid + Fraction(1, 2)) // 1)
            return nearest + sample_laplace(self.on_grid.scale)
        numbers = np.empty(items.size, object)
        numbers[:] = [as_rational(item) for item in items.ravel().tolist()]
        steps = as_integers(_each(numbers.reshape(items.shape), self._on_grid_already))
        return with_noise(steps, lambda count: sample_laplace(self.on_grid.scale, count))

    def _on_grid_already(self, value: int | Fraction) -> int:
        steps = value / self.grid
        if steps.denominator != 1:
            raise InputError(
                f"every entry of an array must be a multiple of the grid {show(self.grid)}",
                hint="Move each person's part onto the grid first, and add up whole steps.",
            )
        return int(steps)

    def mass(self, z: Any) -> Real:
        """The probability that the noise is z: 0 unless z is a multiple of the grid."""
        steps = as_written(z, "z") / self.grid
        return self.on_grid.mass(int(steps)) if steps.denominator == 1 else as_real(0)

    def cdf(self, z: Any) -> Real:
        """The probability that the noise is at most z."""
        return self.on_grid.cdf(as_written(z, "z") // self.grid)

    def interval(self, confidence: Any = Fraction(95, 100)) -> tuple[Fraction, Fraction]:
        """The smallest (-t, t) that holds the noise with at least this probability."""
        low, high = self.on_grid.interval(confidence)
        return low * self.grid, high * self.grid


def _each(numbers: Any, to: Callable[[Any], Any]) -> Any:
    """One int or Fraction, or each of an array of them; of equal numbers once."""
    if not isinstance(numbers, np.ndarray):
        return to(numbers)
    items = numbers.ravel().tolist()
    known = {item: to(item) for item in set(items)}
    found = np.empty(numbers.size, object)
    found[:] = [known[item] for item in items]
    return found.reshape(numbers.shape)


@dataclass(frozen=True)
class TruncatedLaplace:
    """The Laplace mechanism on a grid with its output clamped to [low, high]: atoms at both ends.

    Guarantee: as Laplace: neighbours at most `distance` apart in L1 cost epsilon = ceil(distance / grid) / scale.
    Proof: bringing the answer into a fixed range looks at the answer only, and post-processing costs nothing.
    Reference: Dwork and Roth 2014, proposition 2.1 (post-processing).
    Checked by: laws::loss_is_sup_of_log_ratio, laws::truncated_mass_adds_up,
        verify::certificates_of_the_library_hold
    """

    sensitivity_l1: AsFraction = AsFraction()
    epsilon: AsFraction = AsFraction()
    grid: AsFraction = AsFraction()
    low: AsFraction = AsFraction()
    high: AsFraction = AsFraction()

    def __post_init__(self) -> None:
        plain = Laplace(self.sensitivity_l1, self.epsilon, self.grid)
        for name in ("sensitivity_l1", "epsilon", "grid"):
            object.__setattr__(self, name, getattr(plain, name))
        for name in ("low", "high"):
            object.__setattr__(self, name, as_written(getattr(self, name), name))
        if self.low > self.high:
            raise InputError(f"low must be at most high, but is {show(self.low)} > {show(self.high)}")
        if any((end / self.grid).denominator != 1 for end in (self.low, self.high)):
            raise InputError(f"low and high must be multiples of the grid {show(self.grid)}")

    @cached_property
    def plain(self) -> Laplace:
        """The mechanism before its answer is brought into the range."""
        return Laplace(self.sensitivity_l1, self.epsilon, self.grid)

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
        """Noisy multiples of the grid within [low, high]."""
        return _each(self.plain.release_steps(value), lambda steps: min(max(steps * self.grid, self.low), self.high))

    def mass(self, output: Any, value: Any) -> Real:
        """The probability of this output for this value: the two ends hold what lies beyond them."""
        if (as_written(output, "output") / self.grid).denominator != 1:
            return as_real(0)
        return self.cdf(output, value) - self.cdf(as_written(output, "output") - self.grid, value)

    def cdf(self, output: Any, value: Any) -> Real:
        """The probability of at most this output for this value."""
        y, x = as_written(output, "output"), as_written(value, "value")
        if y >= self.high:
            return as_real(1)
        nearest = (x / self.grid + Fraction(1, 2)) // 1 * self.grid
        return self.plain.cdf(y - nearest) if y >= self.low else as_real(0)

    def interval(self, confidence: Any = Fraction(95, 100)) -> tuple[Fraction, Fraction]:
        """Of the plain mechanism: a value within the range is never further from the truncated answer."""
        return self.plain.interval(confidence)
