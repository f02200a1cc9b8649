"""The vocabulary of the house, as frozen records that every room shares.

Comes in: what people write (decimals) and what rooms compute. Goes out: numbers that mean one thing everywhere.
Numbers that carry a guarantee are `int` or `Fraction`. A decimal that a person writes is that decimal: 0.1 is 1/10,
also as a Python float, by its repr (semantics 4.2).
"""

from __future__ import annotations

import numbers
import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from math import log10
from typing import Any, NoReturn
from urllib.parse import unquote

from sfumato.errors import InputError

UNIT = Fraction(1, 10**15)
"""Prices are whole multiples of this (semantics 5.3), so that sums of prices are sums of integers."""

_MOST_BITS = 3_322
"""Of a number of a thousand digits."""
_TOLD, _TOLD_BITS = 60, 200
"""Characters of a number, or its bits, that an error message repeats."""
_LEAST_CHANCE = Fraction(1, 10**100)
_PASSWORD = re.compile(r"(?<=://)([^/@:]*):[^/@]*@")


def as_written(value: object, what: str = "number") -> Fraction:
    """The exact number that a person wrote: int, Fraction, Decimal, decimal or fraction text, or a float by its repr.

    >>> as_written(0.1), as_written("1e-6"), as_written("1/3")
    (Fraction(1, 10), Fraction(1, 1000000), Fraction(1, 3))
    """
    if isinstance(value, bool) or value is None:
        raise InputError(f"{what} must be a number, but is {value!r}")
    if type(value) is Fraction and type(value.numerator) is type(value.denominator) is int:
        return value
    try:
        if isinstance(value, Fraction):  # its parts may be integers of NumPy, which wrap around
            return Fraction(operator.index(value.numerator), operator.index(value.denominator))
        if isinstance(value, numbers.Integral):
            return Fraction(_bounded(operator.index(value), what))
    except TypeError:  # a span of time of NumPy is an Integral by name
        raise InputError(f"{what} must be a number, but is {type(value).__name__}") from None
    if isinstance(value, (float, Decimal, str, numbers.Real)):
        text = value.strip() if isinstance(value, str) else str(value)
        if len(text) > 1000:
            raise InputError(f"{what} must be written in at most 1000 characters, but has {len(text)}")
        try:
            _check_exponent(text, what)
            return Fraction(text)
        except (ValueError, ZeroDivisionError):
            raise InputError(f"{what} must be a finite number, but is {_cut(text)!r}") from None
    raise InputError(f"{what} must be a number, but is {type(value).__name__}")


def _check_exponent(text: str, what: str) -> None:
    """1e999999999 is eleven characters and a gigabyte: refuse it before it is expanded."""
    _, marker, exponent = text.lower().partition("e")
    if marker and abs(int(exponent)) > 1000:
        raise InputError(f"{what} must be a finite number with an exponent of at most 1000, but is {_cut(text)!r}")


def _bounded(number: int, what: str) -> int:
    """A whole number of at most a thousand digits: Python writes no long ones, and nobody reads them."""
    if number.bit_length() > _MOST_BITS:
        raise InputError(f"{what} must be written in at most 1000 characters")
    return number


def _cut(text: str) -> str:
    """The beginning of a text that is too long for a message."""
    return text if len(text) <= _TOLD else f"{text[:_TOLD]}…"


def told(number: Fraction | int) -> str:
    """A number in a message: as it is written, or its size where that is long.

    >>> told(Fraction(1, 10)), told(Fraction(10) ** 200), told(Fraction(1, 10**90 + 1))
    ('0.1', 'about 1e200', 'about 1e-90')
    """
    number = Fraction(number)
    if max(number.numerator.bit_length(), number.denominator.bit_length()) <= _TOLD_BITS:
        return _cut(show(number))
    digits = round((abs(number.numerator).bit_length() - number.denominator.bit_length()) * log10(2))
    return f"about {'-' if number < 0 else ''}1e{digits}"


_SMALLEST = Fraction(1, 10**100)


def positive(value: object, what: str) -> Fraction:
    """A number above zero, or one clear error that says what is allowed."""
    number = as_written(value, what)
    if number <= 0:
        raise InputError(f"{what} must be above 0, but is {told(number)}")
    return number


def sized(value: object, what: str) -> Fraction:
    """A number above zero that floats can compute with: its square is one, too, and so is one over it."""
    number = positive(value, what)
    if not _SMALLEST <= number <= 1 / _SMALLEST:
        raise InputError(f"{what} must be between 1e-100 and 1e100, but is {told(number)}")
    return number


def whole(value: object, what: str, low: int | None = None) -> int:
    """A whole number, at least `low`, or one clear error that says what is allowed."""
    number = as_written(value, what)
    if number.denominator != 1:
        raise InputError(f"{what} must be a whole number, but is {told(number)}")
    if low is not None and number < low:
        raise InputError(f"{what} must be at least {low}, but is {told(number)}")
    return int(number)


def probability(value: object, what: str) -> Fraction:
    """A number strictly between 0 and 1."""
    number = as_written(value, what)
    if not 0 < number < 1:
        raise InputError(f"{what} must be above 0 and below 1, but is {told(number)}")
    return number


def certainty(value: object) -> Fraction:
    """A confidence: a probability that leaves more to chance than doubles can tell from nothing."""
    number = as_written(value, "confidence")
    if 1 < number < 100:
        percent = show(number / 100)
        raise InputError(f"confidence must be above 0 and below 1, but is {told(number)}", hint=f"Write {percent}.")
    number = probability(value, "confidence")
    if 1 - number < _LEAST_CHANCE:
        raise InputError("confidence must be at most 1 - 1e-100")
    return number


def show(number: Fraction | int) -> str:
    """A fraction as people write it: a decimal where it ends within 20 digits, else p/q."""
    number = Fraction(number)
    rest = number.denominator
    places = 0
    while rest % 10 == 0:
        rest, places = rest // 10, places + 1
    for prime in (2, 5):
        while rest % prime == 0:
            rest, places = rest // prime, places + 1
    if rest != 1 or places > 20:
        return f"{number.numerator}/{number.denominator}"
    if places == 0:
        return str(number.numerator)
    sign = "-" if number < 0 else ""
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}".rstrip("0").rstrip(".")


def show_grouped(number: Fraction | int) -> str:
    """A number as `show` writes it, with thousands separators.

    >>> show_grouped(20_000), show_grouped(Fraction("-1234.5")), show_grouped(Fraction(10_000, 3))
    ('20,000', '-1,234.5', '10000/3')
    """
    whole_part, point, rest = show(number).partition(".")
    return whole_part + point + rest if "/" in whole_part else f"{int(whole_part):,}{point}{rest}"


def show_small(number: Fraction) -> str:
    """A fraction as `show` writes it; one below 1e-4 with an exponent, where that is short.

    >>> show_small(Fraction("1e-8")), show_small(Fraction("4.9e-7")), show_small(Fraction("0.01"))
    ('1e-8', '4.9e-7', '0.01')
    """
    if 0 < number < Fraction(1, 10**4) and number * 10**15 % 1 == 0:
        units = str(number * 10**15)
        short = units.rstrip("0")
        if len(short) <= 4:
            rest = f".{short[1:]}" if short[1:] else ""
            return f"{short[0]}{rest}e-{16 - len(units)}"
    return show(number)


class Adjacency(Enum):
    """Which two databases are neighbours (semantics 1.2), and what that makes of one person's norm.

    `norm` is a bound B on the vector of one person. Under add-remove one side has it and the other has nothing; under
    replace the vector becomes any other admissible one.
    """

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"

    @classmethod
    def of(cls, value: Adjacency | str) -> Adjacency:
        """The adjacency that a person named."""
        try:
            return cls(value)
        except ValueError:
            raise InputError(f'adjacency must be "add-remove" or "replace", but is {value!r}') from None

    def sensitivity_l1(
        self, norm: Fraction | int, *, entries: int | None = None, nonnegative: bool = False
    ) -> Fraction:
        """B; under replace 2B, or B for a single entry that cannot be negative."""
        if self is Adjacency.ADD_REMOVE or (entries == 1 and nonnegative):
            return Fraction(norm)
        return 2 * Fraction(norm)

    def sensitivity_l2_squared(
        self, norm_squared: Fraction | int, *, entries: int | None = None, nonnegative: bool = False
    ) -> Fraction:
        """B²; under replace 4B², 2B² where no entry can be negative, B² for a single such entry."""
        if self is Adjacency.ADD_REMOVE or (entries == 1 and nonnegative):
            return Fraction(norm_squared)
        return (2 if nonnegative else 4) * Fraction(norm_squared)

    def keys(self, keys_per_unit: int) -> int:
        """How many keys one person can touch: twice as many where she may leave some and enter others."""
        return keys_per_unit if self is Adjacency.ADD_REMOVE else 2 * keys_per_unit


@dataclass(frozen=True, slots=True)
class Loss:
    """What a release spends, in each currency; None where no finite claim is made in that currency."""

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent in all: epsilon and delta of the promise (semantics 5.1)."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)


class Exact:
    """A number, or an array of numbers, before noise. Only a mechanism opens it.

    It prints as <exact>, and does not compare, hash, convert, iterate, copy or pickle: a true value that strays into a
    log line, a condition or a cache becomes an error there and then.
    """

    __slots__ = ("_sealed",)
    _sealed: Any

    def __init__(self, value: Any) -> None:
        object.__setattr__(self, "_sealed", value._sealed if isinstance(value, Exact) else value)

    def part(self, index: int) -> Exact:
        """One number of a sealed row, sealed."""
        return Exact(self._sealed[index])

    def some(self, first: int, width: int) -> Exact:
        """Some numbers of a sealed row, sealed."""
        return Exact(self._sealed[first : first + width])

    @staticmethod
    def gather(rows: Iterable[Exact | None], first: int, width: int) -> Exact:
        """The same places of many sealed rows as one sealed list; a row that is missing has zeros."""
        none = (0,) * width
        return Exact([n for row in rows for n in (none if row is None else row._sealed[first : first + width])])

    def __repr__(self) -> str:
        return "<exact>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "<exact>"

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("only a mechanism can read an exact number")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _refuse
    __int__ = __float__ = __index__ = __complex__ = __round__ = __trunc__ = __floor__ = __ceil__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __neg__ = __abs__ = _refuse
    __hash__ = __len__ = __iter__ = __getitem__ = __contains__ = __array__ = __bytes__ = _refuse
    __reduce__ = __reduce_ex__ = __getstate__ = __copy__ = __deepcopy__ = __setattr__ = __delattr__ = _refuse


def without_password(address: str) -> str:
    """The address of a server as it may be shown and recorded; a password may stand before the host or among options.

    >>> without_password("postgresql://ana:secret@host/db?password=secret&connect_timeout=3#table")
    'postgresql://ana@host/db?connect_timeout=3#table'
    """
    bare = _PASSWORD.sub(r"\1@", address)
    start, mark, rest = bare.partition("?")
    if "://" not in address or not mark:
        return bare
    options, sign, table = rest.partition("#")
    kept = [one for one in options.split("&") if unquote(one.partition("=")[0]) not in ("password", "sslpassword")]
    return start + "?" * bool(kept) + "&".join(kept) + sign + table


def identifier(name: str) -> str:
    """A name in SQL, always quoted."""
    return '"' + name.replace('"', '""') + '"'


def string(value: str) -> str:
    """A string in SQL."""
    return "'" + value.replace("'", "''") + "'"
