"""What the mechanisms share: adding noise, and looking for the end of an interval.

Comes in: numbers that `inputs.py` has let in. Goes out: the same shape with noise.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Event
from sfumato.errors import InputError
from sfumato.mechanisms.inputs import as_count, as_integers, narrowed, opened
from sfumato.types import Loss, as_written, probability, show

__all__ = [
    "Mechanism",
    "as_confidence",
    "as_count",
    "as_distance",
    "as_integers",
    "clamped",
    "has_room",
    "largest",
    "least",
    "narrow",
    "opened",
    "pure_loss",
    "with_noise",
]

_ROOM = np.int64(1 << 62)


class Mechanism(Protocol):
    """One release with a price: what every entry of MECHANISMS can do."""

    @property
    def event(self) -> Event:
        """What one release is, for the accountant."""

    def loss(self, distance: Any) -> Loss:
        """What one release costs if neighbours differ by at most `distance`."""

    def release(self, value: Any) -> Any:
        """One noisy answer: this spends."""


def narrow(value: NDArray[Any]) -> NDArray[Any]:
    """Python ints as int64 where every one fits: a function of the numbers shown, so the type tells nothing else."""
    return narrowed(value.ravel().tolist()).reshape(value.shape)


def with_noise(value: Any, sample: Callable[[int | None], Any]) -> Any:
    """A number or an array plus independent noise in every entry; nothing wraps."""
    if isinstance(value, int):
        return value + sample(None)
    noise = sample(value.size).reshape(value.shape)
    if object not in (value.dtype, noise.dtype) and has_room(value) and has_room(noise):
        return value + noise
    return narrow(value.astype(object) + noise.astype(object))


def has_room(value: NDArray[np.int64]) -> bool:
    """Whether every number is below 2^62 in size. Compared in NumPy: small ints of Python are made faster than others,
    and that can be measured.
    """
    return not value.size or bool(value.max() < _ROOM and value.min() > -_ROOM)


def largest(value: NDArray[Any]) -> int:
    """The largest absolute value, as a Python int."""
    return max(int(value.max()), -int(value.min())) if value.size else 0


def clamped(value: Any, low: int, high: int) -> Any:
    """Each number brought into [low, high]."""
    if isinstance(value, int):
        return min(max(value, low), high)
    return narrow(np.minimum(np.maximum(value.astype(object), low), high))


def as_distance(distance: Any) -> Fraction:
    """How far neighbours are apart: zero or more."""
    number = as_written(distance, "distance")
    if number < 0:
        raise InputError(f"distance must be at least 0, but is {show(number)}")
    return number


def as_confidence(confidence: Any) -> Fraction:
    """A confidence strictly between 0 and 1, as it was written."""
    return probability(confidence, "confidence")


def pure_loss(epsilon: Fraction) -> Loss:
    """An epsilon-private release is epsilon²/2-zCDP (Bun and Steinke 2016)."""
    return Loss(epsilon, epsilon * epsilon / 2)


def least(holds: Callable[[int], bool], guess: int) -> int:
    """The least whole number >= 0 for which a monotone condition holds, looked for from a guess."""
    low, high, step = -1, max(0, guess), 1  # the condition fails at low and, after this loop, holds at high
    while not holds(high):
        low, high, step = high, high + step, 2 * step
    step = 1
    while high - step > low and holds(high - step):
        high, step = high - step, 2 * step
    low = max(low, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
