"""The inverse of a distribution function, read off an endless uniform bit string, as few bits as are needed.

Comes in: a law on consecutive integers, given by its *cuts*: increasing real numbers c_0 <= c_1 <= ... in [0, 1],
enclosed to any precision. Goes out: i such that c_(i-1) <= U < c_i, for a uniform U whose bits are drawn lazily: 16,
then 64, then 64 more at a time.

The letters: W bits in a word, u a word, F_i = floor(2^W c_i).

Guarantee: the index has exactly the law given by the cuts, if the bits are uniform.
Proof: U lies in the cell [u, u+1)/2^W. A cut with F_i < u has 2^W c_i < F_i + 1 <= u, so it lies at or below the cell;
one with F_i > u has 2^W c_i >= F_i >= u + 1, so it lies at or above its end. If no F_i equals u, the number of cuts
below U is the number of F_i below u: decided without knowing the rest of U. Otherwise more bits are drawn and the same
is asked with a longer word. A guide entry for the first 16 bits is a value only if no F_i begins with these bits, when
every longer word gives the same count; else it is a sentinel and the word is completed. Words that are never decided
have probability 0.
Reference: Knuth and Yao 1976 (lazy comparison); the guide is the method of Chen and Asau 1974, made exact.
Checked by: sampling::tables_give_the_exact_mass, sampling::every_cut_is_the_floor,
    sampling::every_guide_entry_is_decided
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.reals import Real, TooCoarse, as_real, ceil_shift
from sfumato.sampling.bits import Bits, Words

UNDECIDED = np.int16(-(1 << 15))
_GUARD = 48
_MOST = 1 << 16
"""Weights whose sum is not above 2^-65536 are taken for zeros."""
_SMALL = 1 << 13
"""So many draws of a table take as long without a guide as building one: it is built when there are more."""


class Cuts(Protocol):
    """Increasing cut points in [0, 1]."""

    def enclose(self, bits: int) -> tuple[list[int], int]:
        """(lows, slack): lows[i] <= c_i * 2^bits <= lows[i] + slack for every i."""


class RealCuts:
    """The cuts of a finite law given by weights that need not add up to one: c_i = (w_0 + ... + w_i) / sum."""

    def __init__(self, weights: Sequence[Real | Fraction | int]) -> None:
        self._weights = [as_real(w) for w in weights]

    def enclose(self, bits: int) -> tuple[list[int], int]:
        """Sums of lower ends, by the lemma of `divide`."""
        inner = bits + _GUARD
        while True:
            try:
                ends = [w.enclose(inner) for w in self._weights]
            except TooCoarse:  # a weight that divides by nearly nothing needs more bits
                if inner > _MOST:
                    raise InputError("these weights are too close to tell apart") from None
                inner *= 2
                continue
            if any(high < 0 for _, high in ends):
                raise InputError("a weight must be at least 0")
            lows = list(accumulate(low for low, _ in ends))
            slack = sum(high - low for low, high in ends)
            if lows[-1] > slack:
                return divide(lows[:-1], slack, lows[-1], slack, bits)
            if inner > _MOST:
                raise InputError("a weight must be above 0")
            inner *= 2


class FractionCuts:
    """The same for rational weights, as whole numbers: sums are exact, so that a cut at 1/2 is at 1/2."""

    def __init__(self, weights: Sequence[Fraction | int]) -> None:
        common = lcm(*(Fraction(w).denominator for w in weights))
        whole = [int(w * common) for w in weights]
        if min(whole) < 0:
            raise InputError("a weight must be at least 0")
        if not any(whole):
            raise InputError("a weight must be above 0")
        self._sums = list(accumulate(whole))

    def enclose(self, bits: int) -> tuple[list[int], int]:
        """Truncated quotients."""
        return divide(self._sums[:-1], 0, self._sums[-1], 0, bits)


def cuts_of(weights: Sequence[Real | Fraction | int]) -> Cuts:
    """The cuts of a finite law: exact sums where every weight is rational."""
    rational = [w for w in weights if not isinstance(w, Real)]
    return FractionCuts(rational) if len(rational) == len(weights) else RealCuts(weights)


def divide(parts: list[int], part_slack: int, whole: int, whole_slack: int, bits: int) -> tuple[list[int], int]:
    """Enclose part/whole for many parts of one whole, part <= whole, all in one unit, lower ends with their slacks.

    With p <= part <= p + e and w <= whole <= w + f: p/(w+f) <= part/whole, and the difference is at most
    (p+e)/w - p/(w+f) = e/w + p f/(w (w+f)) <= (e + f)/w, as p <= part <= whole <= w + f. Truncation adds one.
    """
    most = whole + whole_slack
    slack = -((-(part_slack + whole_slack) << bits) // whole) + 1
    return [(part << bits) // most for part in parts], slack


def floors(cuts: Cuts, width: int) -> list[int]:
    """F_i = floor(2^width c_i), at most 2^width - 1: with guard bits until no cut can fall on either side.

    A cut within 2^-width of 1, or at 1, gets the last word: the exact path decides there.
    """
    guard, top = _GUARD, (1 << width) - 1
    while True:
        lows, slack = cuts.enclose(width + guard)
        edge, mask = (1 << guard) - slack, (1 << guard) - 1
        if edge > 0 and all(low & mask < edge or low >> guard >= top for low in lows):
            return [min(low >> guard, top) for low in lows]
        guard *= 2


class CutTable:
    """Draws from a law given by cuts; region i stands for the integer first + i.

    `open_ends`: the first and the last region are tails whose exact value the caller draws afterwards; they are never
    in the guide, so that the caller need look for them only among the few words that were completed.
    """

    def __init__(self, cuts: Cuts, first: int, *, open_ends: bool = False, guide: int = 16, width: int = 64) -> None:
        self.cuts, self.first, self.open_ends = cuts, first, open_ends
        self.guide_width, self.width = guide, width
        self.floors = floors(cuts, width)
        self._array = np.array(self.floors, np.uint64)
        self._guide: NDArray[np.int16] | None = None
        self._drawn = 0

    def draw(self, bits: Bits) -> int:
        """One integer, in plain Python."""
        word = bits.word(self.width)
        index = bisect_left(self.floors, word)
        if index < len(self.floors) and self.floors[index] == word:
            index = self._settle_tie(word, bits)
        return self.first + index

    def draws(self, bits: Bits, count: int) -> tuple[NDArray[np.int16], NDArray[np.intp]]:
        """Many integers, and the places among them where the word had to be completed."""
        self._drawn += count
        if self._guide is None and self._drawn < _SMALL:
            return self._complete(bits.take(count, self.width).astype(np.uint64), bits), np.arange(count)
        words = bits.take(count, self.guide_width)
        values = self.guide.take(words)
        rare = np.flatnonzero(values == UNDECIDED)
        # also where there are none, so that the time does not tell
        rest = self.width - self.guide_width
        longer = words[rare].astype(np.uint64) << np.uint64(rest)
        longer |= bits.take(rare.size, rest).astype(np.uint64)
        values[rare] = self._complete(longer, bits)
        return values, rare

    @property
    def guide(self) -> NDArray[np.int16]:
        """For each first part of a word the value that it decides, or UNDECIDED; built when first needed."""
        if self._guide is None:
            starts = (self._array >> np.uint64(self.width - self.guide_width)).astype(np.int64)
            cuts_in = np.bincount(starts, minlength=1 << self.guide_width)
            regions = np.cumsum(cuts_in) - cuts_in
            guide = (regions + self.first).astype(np.int16)
            guide[cuts_in > 0] = UNDECIDED
            if self.open_ends:
                guide[(regions == 0) | (regions == len(self.floors))] = UNDECIDED
            self._guide = guide
        return self._guide

    def _complete(self, words: Words, bits: Bits) -> NDArray[np.int16]:
        if not self.floors:
            return np.full(len(words), self.first, np.int16)
        index = np.searchsorted(self._array, words, side="left")
        near = self._array[np.minimum(index, len(self._array) - 1)]
        for tie in np.flatnonzero(near == words):
            if index[tie] < len(self._array):
                index[tie] = self._settle_tie(int(words[tie]), bits)
        return (index + self.first).astype(np.int16)

    def _settle_tie(self, word: int, bits: Bits) -> int:
        """The word falls into the cell of a cut: longer words, until the cell holds no cut."""
        width = self.width
        while True:
            lows, slack = self.cuts.enclose(width + _GUARD)
            below = sum(ceil_shift(low + slack, _GUARD) <= word for low in lows)
            above = sum(low >> _GUARD >= word + 1 for low in lows)
            if below + above == len(lows):
                return below
            word, width = word << self.width | bits.word(self.width), width + self.width
