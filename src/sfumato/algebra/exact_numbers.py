"""Columns of exact numbers, all of them multiples of one unit: what intervals of many cells are computed with.

Comes in: whole numbers and a unit. Goes out: sums and multiples of such columns, exactly. A fraction of its own for
each cell would cost ten times as much.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExactNumbers:
    """One number for each cell: so many units."""

    counts: list[int]
    unit: Fraction

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, cell: int) -> Fraction:
        return self.counts[cell] * self.unit

    def __iter__(self) -> Iterator[Fraction]:
        return (count * self.unit for count in self.counts)

    def times(self, factor: Fraction) -> ExactNumbers:
        """Each number times the same factor."""
        if not factor:
            return ExactNumbers([0] * len(self.counts), Fraction(1))
        return ExactNumbers(self.counts, self.unit * factor)

    def plus(self, other: ExactNumbers | Fraction) -> ExactNumbers:
        """Cell by cell, or the same for each."""
        if isinstance(other, Fraction):
            if not other:
                return self
            unit = common_unit(self.unit, other)
            more = int(other / unit)
            return ExactNumbers([count + more for count in self.in_units(unit)], unit)
        unit = common_unit(self.unit, other.unit)
        pairs = zip(self.in_units(unit), other.in_units(unit), strict=True)
        return ExactNumbers([one + two for one, two in pairs], unit)

    def in_units(self, unit: Fraction) -> list[int]:
        """The same numbers as multiples of a unit that divides their own."""
        factor = int(self.unit / unit)
        return self.counts if factor == 1 else [count * factor for count in self.counts]

    def floats(self) -> Floats:
        """The nearest doubles; what is beyond them is infinite."""
        top, bottom = self.unit.numerator, self.unit.denominator
        return np.array([_nearest(count * top, bottom) for count in self.counts])


def exact(number: Fraction) -> ExactNumbers:
    """One number, for one cell."""
    return ExactNumbers([number.numerator], Fraction(1, number.denominator))


def from_floats(values: Floats) -> ExactNumbers:
    """Doubles as they are; they must be finite."""
    ratios = [value.as_integer_ratio() for value in values.tolist()]
    whole = max((bottom for _, bottom in ratios), default=1)  # all of them are powers of two
    return ExactNumbers([top * (whole // bottom) for top, bottom in ratios], Fraction(1, whole))


def common_unit(*numbers: Fraction) -> Fraction:
    """The largest unit that divides all of these; 1 where all are zero."""
    bottom = math.lcm(*(number.denominator for number in numbers))
    top = math.gcd(*(number.numerator * (bottom // number.denominator) for number in numbers))
    return Fraction(top or 1, bottom)


def _nearest(top: int, bottom: int) -> float:
    try:
        return top / bottom
    except OverflowError:
        return math.inf if top > 0 else -math.inf
