"""Integer thresholds for an epsilon, and the epsilon of integer thresholds.

Comes in: an epsilon that somebody asked for. Goes out: thresholds below 2^bits that spend at most that, and the epsilon
that a likelihood ratio really costs, rounded up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from sfumato.errors import InputError
from sfumato.reals import Real, as_real, ceil, exp, ln, round_down, round_up, sqrt
from sfumato.types import as_written, positive, show, whole

BITS = 32
"""Bits of a threshold, unless a task says otherwise."""
_MOST_EPSILON = 1000
MOST_VALUES = 1 << 24


@dataclass(frozen=True)
class Odds:
    """e^epsilon: a fraction where epsilon was written as a logarithm, else a real number."""

    epsilon: Fraction
    exact: Fraction | None = None

    @classmethod
    def of(cls, text: object) -> Odds:
        """From 1, "0.5" or "ln 3"."""
        if isinstance(text, Odds):
            return text
        written = re.fullmatch(r"\s*+ln\s*+\(?\s*+([0-9./]+)\s*+\)?\s*+", text) if isinstance(text, str) else None
        if written:
            ratio = as_written(written[1], "the argument of ln")
            if ratio <= 1:
                raise InputError(f"epsilon must be above 0, but is ln {show(ratio)}")
            return cls(round_up(ln(ratio)), ratio)
        epsilon = positive(text, "epsilon")
        if epsilon > _MOST_EPSILON:
            raise InputError(f"epsilon must be at most {_MOST_EPSILON}", hint="Larger ones protect nobody.")
        return cls(epsilon)

    @property
    def value(self) -> Real:
        """e^epsilon."""
        return exp(self.epsilon) if self.exact is None else as_real(self.exact)

    def halved(self) -> Odds:
        """e^(epsilon/2): half of the budget, for each of two bits that change."""
        if self.exact is None:
            return Odds(self.epsilon / 2)
        top, bottom = isqrt(self.exact.numerator), isqrt(self.exact.denominator)
        if Fraction(top, bottom) ** 2 == self.exact:
            return Odds(round_up(ln(Fraction(top, bottom))), Fraction(top, bottom))
        return _Root(self.epsilon / 2, None, self.exact)

    def split(self, parts: int) -> Odds:
        """e^(epsilon/parts): one of several equal shares of the budget."""
        whole_part = self.epsilon if self.exact is None else round_down(ln(self.exact))
        return self if parts == 1 else Odds(whole_part / parts)

    def keep(self, others: Fraction | int, bits: int) -> int:
        """The largest threshold t with t/(2^bits - t) <= e^epsilon/others."""
        unit = 1 << bits
        if self.exact is not None:
            return _inside(int(unit * self.exact / (self.exact + others) // 1), bits)
        return _inside(-ceil(-(unit * self.value / (self.value + others))), bits)

    def whole(self) -> int:
        """The integer nearest to e^epsilon."""
        return -ceil(-(self.value + Fraction(1, 2))) if self.exact is None else int((self.exact + Fraction(1, 2)) // 1)


@dataclass(frozen=True)
class _Root(Odds):
    """The square root of a fraction that is no square."""

    square: Fraction = Fraction(1)

    @property
    def value(self) -> Real:
        return sqrt(self.square)


def _inside(threshold: int, bits: int) -> int:
    """Brought into 1 ... 2^bits - 1: no report may be impossible for anybody; but raising it would exceed epsilon."""
    if threshold < 1:
        raise InputError(
            "the least threshold costs more than this epsilon",
            detail=f"Thresholds have {bits} bits, too few for so many values.",
            hint="Use more bits, or a larger epsilon.",
        )
    return min(threshold, (1 << bits) - 1)


def epsilon_of(ratio: Fraction) -> Fraction:
    """What the likelihood ratio of two true values costs: |ln ratio|, rounded up."""
    if ratio <= 0:
        raise InputError("a report is possible for one value and impossible for another", hint="No epsilon covers it.")
    return Fraction(0) if ratio == 1 else round_up(ln(max(ratio, 1 / ratio)))


def check_size(size: int) -> None:
    """A list of values that somebody could write down, and a decoder could go through."""
    if whole(size, "size", 2) > MOST_VALUES:
        raise InputError(f"there can be at most {MOST_VALUES} values, but there are {size}", hint="Use --strings.")


def check_bits(bits: int) -> None:
    """Thresholds are read byte by byte, and a browser computes with whole numbers below 2^53."""
    if bits not in (8, 16, 24, 32, 40, 48):
        raise InputError(f"bits must be 8, 16, 24, 32, 40 or 48, but is {bits}")


def check_threshold(threshold: int, bits: int, what: str) -> None:
    """Strictly between 0 and 2^bits: at the ends some report would be impossible, and no epsilon would cover it."""
    if not 0 < threshold < 1 << bits:
        raise InputError(
            f"{what} must be above 0 and below 2^{bits}, but is {threshold}",
            hint="At the ends some report is impossible for some value, which no epsilon covers.",
        )


def check_tells(p: Fraction, q: Fraction) -> None:
    """A report must say something: otherwise no estimate can be made from any number of them."""
    if p <= q:
        raise InputError(
            "the reports would say nothing about the value",
            detail="Epsilon is too small for thresholds of so few bits.",
            hint="Use a larger epsilon, or more bits.",
        )
