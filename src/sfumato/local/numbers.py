"""Numbers in a range: Duchi's bit, the piecewise mechanism, and the hybrid of the two.

A number is a point j of a grid from 0 (the low end of the range) to `grid` (the high end). Each report has a linear
expectation in j, so that its unbiased reading of j/grid is an affine function of the report.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from sfumato.errors import InputError
from sfumato.local.base import Encoder, Law, Tally
from sfumato.local.tape import (
    Flags,
    Indices,
    Octets,
    Tape,
    pack_integers,
    sample_coins,
    sample_uniform_bytes,
    unpack_integers,
)
from sfumato.local.thresholds import BITS, Odds, check_bits, check_tells, check_threshold, epsilon_of
from sfumato.reals import ceil
from sfumato.types import whole

GRID = 1 << 16


class Means(Encoder, Protocol):
    """An encoder of a number in a range."""

    grid: int

    @property
    def parts(self) -> tuple[UnbiasedReading, ...]:
        """How the report of each part is read; the tally has three numbers for each."""

    @property
    def spread(self) -> tuple[Fraction, Fraction, Fraction]:
        """c0, c1, c2: the variance of one reading of u = j/grid is c0 + c1 u + c2 u²."""

    def law(self, value: int) -> Law:
        """The probability of every report, exactly; for small grids."""


@dataclass(frozen=True, slots=True)
class UnbiasedReading:
    """u = (report - offset)/slope is unbiased for j/grid; reports run from 0 to `last`."""

    offset: Fraction
    slope: Fraction
    last: int

    def at(self, report: int | Fraction) -> Fraction:
        """What a report says."""
        return (report - self.offset) / self.slope

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The least and the largest reading."""
        return self.at(0), self.at(self.last)


def moments(reports: Indices) -> Tally:
    """Their number, their sum, and the sum of their squares."""
    return np.array([len(reports), int(reports.sum()), int((reports * reports).sum())], np.int64)


@dataclass(frozen=True)
class DuchiBit:
    """Round the number to one end of its range at random, without bias, then report that end by randomized response.

    Guarantee: any two numbers cost at most epsilon = ln(p/(1 - p)), p = truth/2^bits, rounded up; the two ends do.
    Proof: a report is a post-processing by randomized response of a bit that depends on the number.
    Reference: Duchi, Jordan, Wainwright, FOCS 2013; Ding, Kulkarni, Yekhanin, NeurIPS 2017 (1BitMean).
    Checked by: local::epsilon_is_the_worst_ratio_of_the_law, local::encoders_draw_their_law,
        local::means_are_unbiased_with_the_stated_variance
    """

    name: ClassVar[str] = "duchi"
    takes: ClassVar[str] = "numbers"
    truth: int
    grid: int = GRID
    bits: int = BITS

    def __post_init__(self) -> None:
        check_bits(self.bits)
        check_threshold(self.truth, self.bits, "truth")
        check_tells(self.p, 1 - self.p)
        if not 1 <= self.grid <= GRID:
            raise InputError(f"grid must be 1 to {GRID}, but is {self.grid}")

    @classmethod
    def planned(cls, epsilon: object, bits: int = BITS) -> DuchiBit:
        """The most informative one that spends at most epsilon."""
        return cls(Odds.of(epsilon).keep(1, bits), bits=bits)

    @property
    def p(self) -> Fraction:
        """The probability that the end is reported truthfully."""
        return Fraction(self.truth, 1 << self.bits)

    @property
    def ratio(self) -> Fraction:
        """The largest likelihood ratio of two values."""
        return self.p / (1 - self.p)

    @property
    def epsilon(self) -> Fraction:
        """What one report costs."""
        return epsilon_of(self.ratio)

    @property
    def width(self) -> int:
        """Bytes of a report."""
        return 1

    @property
    def parts(self) -> tuple[UnbiasedReading, ...]:
        """A bit is set with probability (1 - p) + (2p - 1) u."""
        return (UnbiasedReading(1 - self.p, 2 * self.p - 1, 1),)

    @property
    def spread(self) -> tuple[Fraction, Fraction, Fraction]:
        """r (1 - r)/(2p - 1)² with r = (1 - p) + (2p - 1) u."""
        p, gap = self.p, 2 * self.p - 1
        return p * (1 - p) / gap**2, Fraction(1), Fraction(-1)

    def encode(self, values: Indices, tape: Tape) -> Octets:
        """One bit."""
        up = sample_uniform_bytes(tape, len(values), self.grid) < values
        lies = ~sample_coins(tape, len(values), self.truth, self.bits)
        return (up ^ lies).astype(np.uint8).reshape(-1, 1)

    def valid(self, reports: Octets) -> Flags:
        """Whether a report is a bit."""
        result: Flags = reports[:, 0] < 2
        return result

    def tally(self, reports: Octets) -> Tally:
        """Number, sum and sum of squares."""
        return moments(unpack_integers(reports))

    def law(self, value: int) -> Law:
        """The probability of every report."""
        r = (1 - self.p) + (2 * self.p - 1) * Fraction(value, self.grid)
        return {b"\0": 1 - r, b"\1": r}


@dataclass(frozen=True)
class Piecewise:
    """Report one of `cells` numbers: with probability truth/2^bits one within `window` cells at the value, else any
    other.

    Guarantee: any two numbers cost at most epsilon = |ln(p (cells - window)/((1 - p) window))|, rounded up.
    Proof: a cell inside the window has probability p/window, one outside (1 - p)/(cells - window).
    Reference: Wang and others, ICDE 2019; here with whole cells, so that every probability is rational.
    Checked by: local::epsilon_is_the_worst_ratio_of_the_law, local::encoders_draw_their_law,
        local::means_are_unbiased_with_the_stated_variance
    """

    name: ClassVar[str] = "piecewise"
    takes: ClassVar[str] = "numbers"
    window: int
    truth: int
    cells: int = GRID
    bits: int = BITS

    def __post_init__(self) -> None:
        check_bits(self.bits)
        check_threshold(self.truth, self.bits, "truth")
        if not 2 <= whole(self.cells, "cells", 2) <= GRID or not 1 <= self.window < self.cells:
            raise InputError(f"the window must be 1 to {self.cells - 1} of at most {GRID} cells, but is {self.window}")
        check_tells(self.p / self.window, (1 - self.p) / self.grid)

    @classmethod
    def planned(cls, epsilon: object, bits: int = BITS) -> Piecewise:
        """The window with the least variance: one part in e^(epsilon/2) + 1 of all cells."""
        odds, cells = Odds.of(epsilon), GRID
        window = min(cells - 1, max(1, -ceil(-(cells / (odds.halved().value + 1)))))
        return cls(window, odds.keep(Fraction(cells - window, window), bits), cells, bits)

    @property
    def grid(self) -> int:
        """The window can begin at so many cells, and one more."""
        return self.cells - self.window

    @property
    def p(self) -> Fraction:
        """The probability of the window."""
        return Fraction(self.truth, 1 << self.bits)

    @property
    def ratio(self) -> Fraction:
        """The largest likelihood ratio of two values."""
        return self.p * self.grid / ((1 - self.p) * self.window)

    @property
    def epsilon(self) -> Fraction:
        """What one report costs."""
        return epsilon_of(self.ratio)

    @property
    def width(self) -> int:
        """Bytes of a report."""
        return 2

    @cached_property
    def parts(self) -> tuple[UnbiasedReading, ...]:
        """The expectation of a report is linear in where the window begins."""
        first, last = self._expectation(0, 1), self._expectation(self.grid, 1)
        return (UnbiasedReading(first, last - first, self.cells - 1),)

    def _expectation(self, j: int, power: int) -> Fraction:
        """Of a report, or of its square."""
        w, cells = self.window, self.cells
        middle = j + Fraction(w - 1, 2)
        inside = middle if power == 1 else middle**2 + Fraction(w * w - 1, 12)
        everything = (
            Fraction(cells * (cells - 1), 2) if power == 1 else Fraction((cells - 1) * cells * (2 * cells - 1), 6)
        )
        return self.p * inside + (1 - self.p) * (everything - w * inside) / self.grid

    @cached_property
    def spread(self) -> tuple[Fraction, Fraction, Fraction]:
        """The quadratic through three points of the grid (or of its line, where the grid is short)."""
        slope = self.parts[0].slope

        def variance(j: int) -> Fraction:
            return (self._expectation(j, 2) - self._expectation(j, 1) ** 2) / slope**2

        low, middle, high = variance(0), variance(self.grid), variance(2 * self.grid)
        c2 = (high - 2 * middle + low) / 2
        return low, middle - low - c2, c2

    def encode(self, values: Indices, tape: Tape) -> Octets:
        """The cell."""
        inside = sample_coins(tape, len(values), self.truth, self.bits)
        near = values + sample_uniform_bytes(tape, len(values), self.window)
        far = sample_uniform_bytes(tape, len(values), self.grid)
        return pack_integers(np.where(inside, near, far + self.window * (far >= values)), 2)

    def valid(self, reports: Octets) -> Flags:
        """Whether a report is a cell."""
        result: Flags = unpack_integers(reports) < self.cells
        return result

    def tally(self, reports: Octets) -> Tally:
        """Number, sum and sum of squares."""
        return moments(unpack_integers(reports))

    def law(self, value: int) -> Law:
        """The probability of every report."""
        inside, outside = self.p / self.window, (1 - self.p) / self.grid
        return {
            y.to_bytes(2, "little"): inside if value <= y < value + self.window else outside for y in range(self.cells)
        }


@dataclass(frozen=True)
class HybridNumber:
    """Use the piecewise mechanism with probability choice/2^bits, else Duchi's bit, and say which.

    Guarantee: any two numbers cost the larger of the two epsilons.
    Proof: which of the two is used does not depend on the number.
    Reference: Wang and others, ICDE 2019.
    Checked by: local::epsilon_is_the_worst_ratio_of_the_law, local::encoders_draw_their_law,
        local::means_are_unbiased_with_the_stated_variance
    """

    name: ClassVar[str] = "hybrid"
    takes: ClassVar[str] = "numbers"
    choice: int
    window: int
    truth: int
    bit_truth: int
    cells: int = GRID
    bits: int = BITS

    def __post_init__(self) -> None:
        check_bits(self.bits)
        if not 0 <= self.choice <= 1 << self.bits:
            raise InputError(f"choice must be 0 to 2^{self.bits}, but is {self.choice}")
        self.pair  # noqa: B018  its own checks

    @classmethod
    def planned(cls, epsilon: object, bits: int = BITS) -> HybridNumber:
        """Piecewise with probability 1 - e^(-epsilon/2), or never where epsilon is at most 0.61."""
        odds = Odds.of(epsilon)
        piece, bit = Piecewise.planned(odds, bits), DuchiBit.planned(odds, bits)
        unit = 1 << bits
        choice = 0 if odds.epsilon <= Fraction(61, 100) else -ceil(-(unit - unit / odds.halved().value))
        return cls(choice, piece.window, piece.truth, bit.truth, piece.cells, bits)

    @cached_property
    def pair(self) -> tuple[Piecewise, DuchiBit]:
        """The two mechanisms, on one grid."""
        piece = Piecewise(self.window, self.truth, self.cells, self.bits)
        return piece, DuchiBit(self.bit_truth, piece.grid, self.bits)

    @property
    def grid(self) -> int:
        """Of both."""
        return self.pair[0].grid

    @property
    def ratio(self) -> Fraction:
        """The largest likelihood ratio of two values."""
        return max(self.pair[0].ratio, self.pair[1].ratio)

    @property
    def epsilon(self) -> Fraction:
        """What one report costs."""
        return epsilon_of(self.ratio)

    @property
    def width(self) -> int:
        """Bytes of a report: which of the two, and two for what it says."""
        return 3

    @property
    def parts(self) -> tuple[UnbiasedReading, ...]:
        """Both."""
        return self.pair[0].parts + self.pair[1].parts

    @property
    def spread(self) -> tuple[Fraction, Fraction, Fraction]:
        """Both readings are unbiased, so the variances mix as the two are chosen."""
        share = Fraction(self.choice, 1 << self.bits)
        first, second = (one.spread for one in self.pair)
        c0, c1, c2 = (share * a + (1 - share) * b for a, b in zip(first, second, strict=True))
        return c0, c1, c2

    def encode(self, values: Indices, tape: Tape) -> Octets:
        """Both are drawn, and one is reported."""
        piece, bit = self.pair
        first = sample_coins(tape, len(values), self.choice, self.bits)
        cells, ends = piece.encode(values, tape), bit.encode(values, tape)
        told = np.where(first[:, None], cells, np.concatenate([ends, np.zeros_like(ends)], axis=1))
        return np.concatenate([first[:, None].astype(np.uint8), told], axis=1)

    def valid(self, reports: Octets) -> Flags:
        """Whether a report is one of either."""
        piece, bit = self.pair
        first, second = piece.valid(reports[:, 1:]), bit.valid(reports[:, 1:2]) & (reports[:, 2] == 0)
        result: Flags = np.where(reports[:, 0] == 1, first, (reports[:, 0] == 0) & second)
        return result

    def tally(self, reports: Octets) -> Tally:
        """Three numbers for each of the two."""
        piece, bit = self.pair
        by = reports[:, 0] == 1
        return np.concatenate([piece.tally(reports[by, 1:]), bit.tally(reports[~by, 1:2])])

    def law(self, value: int) -> Law:
        """The probability of every report."""
        share = Fraction(self.choice, 1 << self.bits)
        piece, bit = self.pair
        each = {b"\1" + report: share * chance for report, chance in piece.law(value).items()}
        return each | {b"\0" + report + b"\0": (1 - share) * chance for report, chance in bit.law(value).items()}
