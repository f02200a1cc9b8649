"""What the mechanisms share: opening exact numbers, adding noise, and looking for the end of an interval.

Comes in: an int, a Fraction, an array of whole numbers, or any of these sealed in an `Exact`. Goes out: the same shape
with noise. Floats are refused: a float has lost the grid that the guarantee speaks of.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.events import Event
from sfumato.errors import InputError
from sfumato.words import Exact, Loss, as_written, probability, show

_INT64 = 1 << 63


class Mechanism(Protocol):
    """One release with a price: what every entry of MECHANISMS can do."""

    @property
    def event(self) -> Event:
        """What one release is, for the accountant."""

    def loss(self, distance: Any) -> Loss:
        """What one release costs if neighbours differ by at most `distance`."""

    def release(self, value: Any) -> Any:
        """One noisy answer: this spends."""


def opened(value: Any) -> Any:
    """The number inside: the one place, with words.py, where an Exact is opened."""
    return value._sealed if isinstance(value, Exact) else value


def as_integers(value: Any) -> Any:
    """A Python int, or an array of whole numbers (int64, or Python ints where 64 bits do not do)."""
    value = opened(value)
    if isinstance(value, np.ndarray):
        return _integer_array(value)
    if isinstance(value, (list, tuple)):
        plain = set(map(type, value)) <= {int}  # a long list of them is read at once
        return _narrowed(list(value) if plain else [_integer(opened(item)) for item in value])
    return _integer(value)


def _integer(value: Any) -> int:
    if type(value) is int:
        return value
    if isinstance(value, (bool, np.bool_)):
        raise InputError("a release needs a number, but was given a truth value", hint="Count the rows that are true.")
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, (Fraction, Decimal)) and value == int(value):
        return int(value)
    if isinstance(value, (float, np.floating)):
        raise InputError(
            "a release needs whole numbers, but was given a float",
            detail="Sums of floats depend on the order of the rows, and noise in floats leaks the number beneath it.",
            hint="Count in whole units (cents, grams), or use Laplace with a grid.",
        )
    kind = "a fraction that is not whole" if isinstance(value, (Fraction, Decimal)) else type(value).__name__
    raise InputError(f"a release needs whole numbers, but was given {kind}", hint="Use Laplace with a grid.")


def _integer_array(value: NDArray[Any]) -> NDArray[Any]:
    if value.dtype.kind == "i":
        return value.astype(np.int64, copy=False)
    if value.dtype.kind == "u" and value.dtype.itemsize < 8:
        return value.astype(np.int64)
    if value.dtype.kind in "uO":
        return _narrowed([_integer(item) for item in value.ravel().tolist()]).reshape(value.shape)
    _integer(value.dtype.type(0))
    raise AssertionError("unreachable")


def narrow(value: NDArray[Any]) -> NDArray[Any]:
    """Python ints as int64 where every one fits: a function of the numbers shown, so the type tells nothing else."""
    return _narrowed(value.ravel().tolist()).reshape(value.shape)


def _narrowed(numbers: list[int]) -> NDArray[Any]:
    if not numbers or (min(numbers) >= -_INT64 and max(numbers) < _INT64):
        return np.array(numbers, np.int64)
    whole = np.empty(len(numbers), object)
    whole[:] = numbers
    return whole


def with_noise(value: Any, sample: Callable[[int | None], Any]) -> Any:
    """A number or an array plus independent noise in every entry; nothing wraps."""
    if isinstance(value, int):
        return value + sample(None)
    noise = sample(value.size).reshape(value.shape)
    if object not in (value.dtype, noise.dtype) and largest(value) + largest(noise) < _INT64:
        return value + noise
    return narrow(value.astype(object) + noise.astype(object))


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
