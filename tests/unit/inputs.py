"""What people may hand to a release: numbers in every container, with what they mean; or None where that is refused."""

from __future__ import annotations

import array
import enum
import tempfile
from collections import UserList, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.types import Exact

F = Fraction
SECRET = 987654321
"""Stands in everything that is refused, and in no error."""
POWERS = (7, 15, 31, 53, 62, 63, 64)
EDGES = [0, 100, *(sign * 2**power + step for power in POWERS for sign in (1, -1) for step in (-1, 0, 1))]
INTEGERS = "bhilqBHILQ"


@dataclass(frozen=True)
class Case:
    """A value to release; `numbers` is what it means (a list, or one int), or None where it is to be refused."""

    kind: str
    value: Any
    numbers: Any = None


def fits(code: str, numbers: list[int]) -> bool:
    info = np.iinfo(np.dtype(code))
    return all(info.min <= number <= info.max for number in numbers)


def accepted() -> Iterator[Case]:
    """Increasing lists of three, and single numbers, around every edge."""
    for edge in EDGES:
        numbers = sorted({1, 2, edge})
        for kind, value in _lists(numbers):
            yield Case(kind, value, numbers)
            yield Case(f"Exact of {kind}", Exact(value), numbers)
        for kind, value in _singles(edge):
            yield Case(kind, value, edge)
            yield Case(f"Exact of {kind}", Exact(value), edge)


def _lists(numbers: list[int]) -> Iterator[tuple[str, Any]]:
    whole = np.empty(len(numbers), object)
    whole[:] = numbers
    mixed = whole.copy()
    mixed[0], mixed[1], mixed[2] = F(numbers[0]), Decimal(numbers[1]), Exact(numbers[2])
    yield "list", list(numbers)
    yield "tuple", tuple(numbers)
    yield "list of Fraction", [F(n) for n in numbers]
    yield "list of Decimal", [Decimal(n) for n in numbers]
    yield "list of Exact", [Exact(n) for n in numbers]
    yield "object array", whole
    yield "mixed object array", mixed
    for code in INTEGERS:
        if fits(code, numbers):
            dtype = np.dtype(code)
            plain = np.array(numbers, dtype)
            frozen = plain.copy()
            frozen.flags.writeable = False
            yield f"{dtype} array", plain
            yield f"{dtype} array of the other byte order", plain.astype(dtype.newbyteorder())
            yield f"{dtype} array, read only", frozen
            yield f"{dtype} array, backwards", plain[::-1].copy()[::-1]
            yield f"{dtype} array, every second", np.repeat(plain, 2)[::2]
            yield f"list of {dtype}", [dtype.type(n) for n in numbers]
            yield f"list of {dtype} arrays without dimensions", [np.array(n, dtype) for n in numbers]
            yield f"list of Fraction of {dtype}", [F(dtype.type(n), dtype.type(1)) for n in numbers]


def _singles(number: int) -> Iterator[tuple[str, Any]]:
    yield "int", number
    yield "Fraction", F(number)
    yield "Decimal", Decimal(number)
    yield "Decimal with places", Decimal(f"{number}.00")
    for code in INTEGERS:
        if fits(code, [number]):
            dtype = np.dtype(code)
            yield f"{dtype}", dtype.type(number)
            yield f"{dtype} array without dimensions", np.array(number, dtype)
            yield f"Fraction of {dtype}", F(dtype.type(number), dtype.type(1))


class Finalized(np.ndarray):
    """Loses its numbers when it is looked at."""

    def __array_finalize__(self, _: Any) -> None:
        if self.size and self.dtype == np.int64:
            self.view(np.ndarray)[...] = SECRET


class Ufunc(np.ndarray):
    """Adds nothing to itself, whatever is to be added."""

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        return self.view(np.ndarray).copy()


class Wrapped(np.ndarray):
    """Gives itself back from every method."""

    def astype(self, *_: Any, **__: Any) -> Any:
        return self

    def __add__(self, _: Any) -> Any:
        return self

    def ravel(self, *_: Any) -> Any:
        return self


class Duck:
    """Claims to be an array, and another one at each look."""

    dtype, ndim, shape, size = np.dtype(np.int64), 1, (3,), 3

    def __array__(self, *_: Any, **__: Any) -> Any:
        return np.array([SECRET, 0, 1])

    def __len__(self) -> int:
        return 3

    def __getitem__(self, place: int) -> int:
        return [SECRET, 0, 1][place]


class Lying:
    """Claims to be an int."""

    __class__ = int  # type: ignore[assignment]

    def __index__(self) -> int:
        return SECRET

    __int__ = __index__


class Loud:
    """Raises whatever is done with it."""

    def _raise(self, *_: Any) -> Any:
        raise RuntimeError(SECRET)

    __eq__ = __hash__ = __index__ = __int__ = __float__ = __array__ = __len__ = __iter__ = __getitem__ = _raise
    __repr__ = __str__ = __bool__ = _raise


class OwnInt(int):
    def __add__(self, _: Any) -> int:
        return self

    __radd__ = __sub__ = __index__ = __add__  # type: ignore[assignment]


class OwnInt64(np.int64):
    def __int__(self) -> int:
        return SECRET


class OwnFraction(Fraction):
    @property
    def numerator(self) -> int:  # type: ignore[override]
        return SECRET


class OwnDecimal(Decimal):
    def is_finite(self) -> bool:
        return True


class OwnFloat(float):
    def as_integer_ratio(self) -> tuple[int, int]:
        return SECRET, 1


class OwnList(list):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[int]:
        return iter([SECRET])


class OwnExact(Exact):
    """A sealed number of its own."""


Level = enum.IntEnum("Level", {"HIGH": SECRET})
Row = namedtuple("Row", "a b c")


def refused() -> Iterator[Case]:
    """Everything else; the kind is the word that the error must hold."""
    for kind, value in (*_odd_arrays(), *_odd_lists(), *_odd_singles()):
        yield Case(kind, value)
        yield Case(kind, Exact(value) if not isinstance(value, Exact) else value)


def _odd_arrays() -> Iterator[tuple[str, Any]]:
    plain = np.array([SECRET, 0, 1])
    for mask in (False, True, [True, False, False]):
        for code in "lQfO":
            yield "MaskedArray", np.ma.MaskedArray(plain.astype(code), mask=mask)
    yield "MaskedArray", np.ma.MaskedArray(plain, mask=[True, False, False], hard_mask=True, fill_value=5)
    yield "MaskedConstant", np.ma.masked
    yield "MaskedArray", np.ma.MaskedArray(5, mask=True)
    yield "matrix", plain.view(np.matrix)
    with tempfile.TemporaryFile() as file:
        yield "memmap", np.memmap(file, np.int64, "w+", shape=(3,))
    yield "recarray", np.rec.array([(SECRET, 0)], dtype=[("a", "i8"), ("b", "i8")])
    yield "recarray", plain.view(np.recarray)
    for kind in (Ufunc, Wrapped):
        yield kind.__name__, plain.view(kind)
    yield "Finalized", np.zeros(3, np.int64).view(Finalized)
    for code in ("e", "f", "d", "g"):
        yield np.dtype(code).type.__name__, (plain % 1000).astype(code)
    for code in ("?", "F", "D", "G", "M8[s]", "m8[s]", "U9", "S9", "V8"):
        odd = plain.astype(code) if code != "V8" else plain.view("V8")
        yield odd.dtype.type.__name__, odd
        if code != "V8":
            yield odd.dtype.type.__name__, odd[()] if odd.ndim == 0 else odd[:1].reshape(())
    yield "void", np.array([(SECRET, 1.0)], dtype=[("a", "i8"), ("b", "f8")])
    yield "void", np.array((SECRET, 1.0), dtype=[("a", "i8"), ("b", "f8")])
    yield "object_", np.array(5, object)
    yield "object_", [np.array(5, object)]
    yield "datetime64", np.array(["NaT"], "M8[s]")
    yield "timedelta64", np.array(["NaT"], "m8[s]")
    for name, item in _odd_singles():
        if type(item) not in (float, np.float16, np.float32, np.float64):
            odd = np.empty(3, object)
            odd[0], odd[1], odd[2] = SECRET, 0, item
            yield name, odd


def _odd_lists() -> Iterator[tuple[str, Any]]:
    yield "OwnList", OwnList([SECRET, 0, 1])
    yield "Row", Row(SECRET, 0, 1)
    yield "UserList", UserList([SECRET, 0, 1])
    yield "array", array.array("q", [SECRET, 0, 1])
    yield "memoryview", memoryview(np.array([SECRET, 0, 1]))
    yield "range", range(SECRET, SECRET + 3)
    yield "dict", {SECRET: 1}
    yield "set", {SECRET}
    yield "generator", (n for n in (SECRET, 0, 1))
    yield "list", [SECRET, [0], 1]
    yield "ndarray", [SECRET, np.array([0]), 1]
    for name, item in _odd_singles():
        yield name, [SECRET, 0, item]


def _odd_singles() -> Iterator[tuple[str, Any]]:
    for number in (
        OwnInt(SECRET),
        OwnInt64(SECRET),
        Level.HIGH,
        OwnFraction(SECRET),
        OwnDecimal(SECRET),
        OwnFloat(SECRET),
        OwnExact(SECRET),
        np.longdouble(SECRET),
        complex(SECRET),
        np.complex128(SECRET),
        np.datetime64(SECRET, "s"),
        np.timedelta64(SECRET, "s"),
        np.str_(SECRET),
        np.bytes_(str(SECRET)),
        str(SECRET),
        str(SECRET).encode(),
        np.void(b"12345678"),
        Duck(),
        object(),
        None,
        int,
        len,
    ):
        yield type(number).__name__, number
    yield "Lying", Lying()
    yield "Loud", Loud()
    yield "bool", True
    yield "bool", np.True_
    yield "float", float("nan")
    inside = F(1)
    inside._numerator = OwnInt(SECRET)  # type: ignore[attr-defined]
    yield "OwnInt", inside
    for text in ("NaN", "sNaN", "Infinity", "-Infinity"):
        yield "finite", Decimal(text)
    for text in ("1E+999999", "1E-999999", "-1E+5000"):
        yield "exponent", Decimal(text)
