"""The one way in for data: every `release` reads its numbers here, and nothing else gets past.

Comes in: a number, a list or tuple of numbers, a plain NumPy array, or any of these sealed in an `Exact`. Goes out:
Python ints and Fractions, or arrays of int64, or of Python ints where 64 bits do not do. All else is refused by its
name, with one error: subclasses of arrays, numbers and lists can answer each look differently, hide entries under a
mask or wrap around, so types are compared, and no method of the data is called before its type is known.

A whole number is an int, a NumPy integer, or a Fraction or Decimal that is whole. A rational number may have a
fractional part. Floats are refused where whole numbers are needed: a float has lost the grid that the guarantee speaks
of. `as_exact_number` takes single floats of up to 64 bits, by their binary value, for a mechanism that moves them onto
a grid.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.types import Exact

_INT64 = 1 << 63
_MOST_DIGITS = 1000
"""A Decimal has at most this exponent: 1E+999999999 is twelve characters and a gigabyte."""
_NUMPY_INTEGERS = frozenset(np.dtype(code).type for code in "bhilqBHILQ")
_EXACT_FLOATS = frozenset({float, np.float16, np.float32, np.float64})


def opened(value: Any) -> Any:
    """The number inside: the one place, with types.py, where an Exact is opened."""
    return value._sealed if type(value) is Exact else value


def as_integers(value: Any) -> Any:
    """A Python int, or an array of whole numbers (int64, or Python ints where 64 bits do not do)."""
    value = opened(value)
    if type(value) is np.ndarray:
        return _integer_array(value)
    if type(value) in (list, tuple):
        items = list(value)  # a copy: another thread may change the list while its types are looked at
        plain = set(map(type, items)) <= {int}  # a long list of them is read at once
        return narrowed(items if plain else [as_integer(item) for item in items])
    return as_integer(value)


def as_integer(value: Any) -> int:
    """One whole number, as a Python int."""
    number = as_rational(value)
    if isinstance(number, int):
        return number
    if number.denominator != 1:
        raise InputError(
            "a release needs whole numbers, but was given a fraction that is not whole", hint="Use Laplace with a grid."
        )
    return number.numerator


def as_rational(value: Any) -> int | Fraction:
    """One int or Fraction, with ints of Python inside."""
    value = _single(value)
    kind = type(value)
    if kind is int:
        return value  # type: ignore[no-any-return]
    if kind in _NUMPY_INTEGERS:
        return int(value)
    if kind is Fraction:
        # a Fraction made of NumPy integers would wrap around
        return Fraction(_part(value.numerator), _part(value.denominator))
    if kind is Decimal:
        return Fraction(_finite(value))
    raise _refusal(kind)


def as_exact_number(value: Any) -> Fraction:
    """One number by its exact value: as a rational number, or a float of up to 64 bits by its binary value."""
    value = _single(value)
    if type(value) not in _EXACT_FLOATS:
        if issubclass(type(value), (float, np.floating)):
            raise InputError(
                f"a release needs a float of at most 64 bits, but was given {type(value).__name__}",
                detail="Rounding it to 64 bits could move neighbours further apart than they are.",
                hint="Convert it to a Fraction: Fraction(*x.as_integer_ratio()).",
            )
        return Fraction(as_rational(value))
    if not np.isfinite(value):
        raise InputError("a release needs a finite number", hint="Leave out or replace missing values before.")
    return Fraction(float(value))


def as_items(value: Any) -> NDArray[Any] | None:
    """The entries of an array or list as they are, in an array of objects; None where the value is one number."""
    value = opened(value)
    if type(value) is np.ndarray:
        if value.ndim == 0:
            return None
        _check_dtype(value.dtype)
        return value.astype(object)
    if type(value) not in (list, tuple):
        return None
    items = np.empty(len(value), object)
    for place, item in enumerate(value):  # one by one: NumPy would look into lists and arrays
        items[place] = item
    return items


def narrowed(numbers: list[int]) -> NDArray[Any]:
    """Python ints as int64 where every one fits, else as they are."""
    if not numbers or (min(numbers) >= -_INT64 and max(numbers) < _INT64):
        return np.array(numbers, np.int64)
    whole = np.empty(len(numbers), object)
    whole[:] = numbers
    return whole


def is_plain_number(value: Any) -> bool:
    """Whether it is a number of one of the types that `as_rational` takes, or an array without dimensions."""
    kind = type(value)
    return kind in _NUMPY_INTEGERS or kind in (int, Fraction, Decimal) or (kind is np.ndarray and value.ndim == 0)


def as_count(count: Any) -> int | None:
    """How many releases are asked for at once: a whole number of at least 0, or None for one."""
    if count is None:
        return None
    if type(count) is not int and type(count) not in _NUMPY_INTEGERS:
        raise InputError(f"count must be a whole number, but is {type(count).__name__}")
    if count < 0:
        raise InputError(f"count must be at least 0, but is {count}")
    return int(count)


def _single(value: Any) -> Any:
    """What is sealed, or is the only entry of an array of numbers without dimensions: an object may be anything."""
    value = opened(value)
    if type(value) is not np.ndarray or value.ndim:
        return value
    if value.dtype.kind == "O":
        raise _refusal(np.object_, array=True)
    return value[()]


def _integer_array(value: NDArray[Any]) -> Any:
    if value.ndim == 0:
        return as_integer(value)
    _check_dtype(value.dtype)
    if value.dtype.kind == "i" or (value.dtype.kind == "u" and value.dtype.itemsize < 8):
        return value.astype(np.int64, copy=False)
    items = value.ravel().tolist()
    return narrowed(items if value.dtype.kind == "u" else [as_integer(item) for item in items]).reshape(value.shape)


def _check_dtype(dtype: np.dtype[Any]) -> None:
    """Whole numbers, or objects that are looked at one by one."""
    if dtype.kind not in "iuO":
        raise _refusal(dtype.type, array=True)


def _part(number: Any) -> int:
    """The numerator or denominator of a Fraction."""
    if type(number) is not int and type(number) not in _NUMPY_INTEGERS:
        raise _refusal(type(number))
    return int(number)


def _finite(number: Decimal) -> Decimal:
    if not number.is_finite():
        raise InputError("a release needs a finite number", hint="Leave out or replace missing values before.")
    if number and not -_MOST_DIGITS <= number.adjusted() <= _MOST_DIGITS:
        raise InputError(f"a release needs a number with an exponent of at most {_MOST_DIGITS}")
    return number


_PLAIN = "Pass ints or Fractions, a flat list of them, or a plain numpy.ndarray of whole numbers."
_REFUSED: tuple[tuple[tuple[type[Any], ...], str, str, str], ...] = (
    ((bool, np.bool_), "a number", "A boolean is not a number to release.", "Count the rows that are true."),
    (
        (float, np.floating),
        "whole numbers",
        "Sums of floats depend on the order of the rows, and noise in floats leaks the number beneath it.",
        "Count in whole units (cents, grams), or use Laplace with a grid.",
    ),
    (
        (np.ma.MaskedArray,),
        "a plain array",
        "Numbers under a mask would be released without noise.",
        "Decide what a masked entry counts as, for example with .filled(0).",
    ),
    ((np.ndarray,), "a plain array", "A subclass of an array can behave differently from an array.", _PLAIN),
    (
        (int, Fraction, Decimal, list, tuple, Exact, *_NUMPY_INTEGERS),
        "plain numbers",
        "A subclass of a number or a list can behave differently from a number or a list.",
        _PLAIN,
    ),
    ((object,), "a number or a list of numbers", "", _PLAIN),
)
"""What is refused, by type: what a release needs instead, why, and what to do."""


def _refusal(kind: type[Any], *, array: bool = False) -> InputError:
    """The one error for something that is not a number to release: it names the type, and never the value."""
    given = f"an array of {kind.__name__}" if array else kind.__name__
    if kind in (list, tuple, np.ndarray):
        return InputError(f"a release needs one number in this place, but was given {given}", hint=_PLAIN)
    _, needed, detail, hint = next(line for line in _REFUSED if issubclass(kind, line[0]))
    return InputError(f"a release needs {needed}, but was given {given}", detail=detail or None, hint=hint)
