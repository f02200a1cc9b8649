"""How private: an epsilon, or the logarithm of a fraction, whose powers are fractions again.

Comes in: what a person writes, 0.5 or "ln 2" or "1/2 ln 3". Goes out: a Level, which gives e^(-epsilon d) for any
distance d: a fraction where it is one, else an exact real.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, isqrt, log

from sfumato.errors import InputError
from sfumato.mechanisms.metrics import Distance
from sfumato.reals import Real, as_real, exp, ln, round_down
from sfumato.types import as_written, positive, show

_LOGARITHM = re.compile(
    r"(?:(?P<times>[\d./]+)\s*+\*?\s*+)?(?:ln|log)\s*+\(?\s*+(?P<odds>[\d./e-]+)\s*+\)?", re.IGNORECASE
)

FAR = 20_000
"""The largest epsilon times distance."""


@dataclass(frozen=True)
class Level:
    """epsilon = times, or times ln(odds) where `odds` is given."""

    times: Fraction
    odds: Fraction | None = None

    @property
    def epsilon(self) -> Fraction | Real:
        """As a number."""
        return self.times if self.odds is None else ln(self.odds) * self.times

    def below(self) -> Fraction:
        """A fraction that is at most epsilon, and less than 1e-15 below it."""
        return round_down(self.epsilon)

    def decay(self, distance: Distance | int) -> Fraction | Real:
        """e^(-epsilon distance).

        >>> as_level("ln 2").decay(3), as_level("ln 4").decay(Fraction(1, 2))
        (Fraction(1, 8), Fraction(1, 2))
        """
        if isinstance(distance, Real):
            return exp(-(as_real(distance) * self.epsilon))
        exponent = self.times * distance
        if exponent == 0:
            return Fraction(1)
        if self.odds is None:
            return exp(-exponent)
        if self.is_far(distance):
            return exp(-(ln(self.odds) * exponent))  # as a fraction it would have tens of thousands of digits
        power = _root(self.odds**exponent.numerator, exponent.denominator)
        return exp(-(ln(self.odds) * exponent)) if power is None else 1 / power

    def decay_above(self, distance: Distance | int, least: int, digits: int) -> Fraction:
        """A fraction that is at least e^(-epsilon distance): that number itself where it is a fraction, else with so
        many bits after its first one. Below 2^-least, which no ratio reaches that it is compared with, it has fewer.
        """
        decay = self.decay(distance)
        if not isinstance(decay, Real):
            return decay
        bits = digits + min(least, ceil(self._about * float(distance) / log(2)))
        return Fraction(decay.enclose(bits)[1], 1 << bits)

    def parts_of(self, whole: Level) -> Fraction | Real:
        """How many times another level this one is: a fraction where both are logarithms of powers of one number.

        >>> as_level("10 ln 16").parts_of(as_level("2 ln 2")), as_level("ln 2").parts_of(as_level("ln 8"))
        (Fraction(20, 1), Fraction(1, 3))
        """
        powers = (1, 1) if self.odds == whole.odds else _common_powers(self.odds, whole.odds)
        if powers is None:
            return as_real(self.epsilon) / whole.epsilon
        return self.times * powers[0] / (whole.times * powers[1])

    def is_far(self, distance: Distance | int) -> bool:
        """Whether e^(-epsilon distance) is so small that telling it from 0 takes more bits than are spent on it."""
        return self._about * float(distance) > FAR

    @cached_property
    def _about(self) -> float:
        return float(self.epsilon)

    def over(self, divisor: object) -> Level:
        """epsilon divided by a number, for example by a sensitivity."""
        return Level(self.times / positive(divisor, "sensitivity"), self.odds)

    def __str__(self) -> str:
        if self.odds is None:
            return show(self.times)
        return ("" if self.times == 1 else f"{show(self.times)} ") + f"ln {show(self.odds)}"


def as_level(given: object) -> Level:
    """What a person wrote.

    >>> str(as_level("0.5")), str(as_level("ln 4")), str(as_level("1/2 ln(3/2)"))
    ('0.5', 'ln 4', '0.5 ln 1.5')
    """
    if isinstance(given, Level):
        return given
    found = _LOGARITHM.fullmatch(given.strip()) if isinstance(given, str) else None
    if found is None:
        return Level(positive(given, "epsilon"))
    odds = as_written(found["odds"], "odds")
    if odds <= 1:
        raise InputError(f"epsilon must be above 0, but is ln {show(odds)}", hint="Take the logarithm of more than 1.")
    return Level(positive(found["times"] or 1, "epsilon"), odds)


def _common_powers(one: Fraction | None, two: Fraction | None) -> tuple[int, int] | None:
    """The least a, b with one = g^a and two = g^b for some g; None where there are none, as for 2 and 3.

    Euclid's algorithm on exponents: the larger of two powers of g, divided by the smaller, is a power of g again, and
    its numerator and denominator are those of the larger divided by those of the smaller.
    """
    if one is None or two is None:
        return None
    large, small = max(one, two), min(one, two)
    while large != small:
        if large.numerator % small.numerator or large.denominator % small.denominator:
            return None
        rest = large / small
        large, small = max(rest, small), min(rest, small)
    return _exponent(one, small), _exponent(two, small)


def _exponent(power: Fraction, base: Fraction) -> int:
    """How many times a base is in its power."""
    times = 0
    while power > 1:
        power, times = power / base, times + 1
    return times


def _root(number: Fraction, degree: int) -> Fraction | None:
    """The root of this degree where it is a fraction."""
    if degree == 1:
        return number
    top, bottom = _whole_root(number.numerator, degree), _whole_root(number.denominator, degree)
    return Fraction(top, bottom) if top**degree == number.numerator and bottom**degree == number.denominator else None


def _whole_root(number: int, degree: int) -> int:
    """The largest whole number whose power is at most this one, by bisection."""
    if degree == 2:
        return isqrt(number)
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= number else (low, middle - 1)
    return low
