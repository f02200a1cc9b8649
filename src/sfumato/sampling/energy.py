"""Coins and choices by energy: outcome i has weight e^(-rate gap_i), the gaps being whole numbers, however many.

Comes in: a rational rate > 0 and gaps >= 0. Goes out: a coin each (`sample_flips`), or one index or many of them
(`sample_lowest`).

Guarantee: each coin and each choice has exactly its stated probability, if the bits are uniform.
Proof: the powers e^(-rate gap) are products of lower ends, each truncated, so below their value by at most 3 units a
step; a word decides a coin unless it falls into the cell of its power, and a choice unless it falls into the cell of a
cut, as in cuts.py; then more bits are drawn. Outcomes of one gap are equally likely. Gaps so large that their power is
below one unit are one region of weight at most a unit each; where the word may fall there, more bits are drawn.
Reference: McSherry and Talwar, FOCS 2007 (the law); cuts.py (the comparison).
Checked by: sampling::flips_have_the_exact_mass, sampling::lowest_has_the_exact_mass,
    sampling::lowest_has_its_frequencies,
sampling::two_at_once_are_independent
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.reals import bound_exp_neg
from sfumato.sampling.bits import Bits, Words, source
from sfumato.sampling.choice import sample_uniform
from sfumato.sampling.cuts import divide
from sfumato.sampling.gaussian import is_below_exp

_WIDTH = 64


def _powers(rate: Fraction, gaps: list[int], precise: int) -> list[int]:
    """Lower ends of 2^precise e^(-rate gap) for increasing gaps; each is below its value by at most 3 (i + 1) units."""
    factors: dict[int, int] = {}
    value, at, lows = 1 << precise, 0, []
    for gap in gaps:
        if gap != at:
            if gap - at not in factors:
                factors[gap - at] = bound_exp_neg(rate * (gap - at), precise)[0]
            value, at = value * factors[gap - at] >> precise, gap
        lows.append(value)
    return lows


def _reach(rate: Fraction, gaps: list[int], precise: int) -> int:
    """How many of the increasing gaps have a power that can reach one unit of 2^-precise, as ln 2 < 7/10."""
    most = Fraction(7 * (precise + 1), 10) / rate
    low, high = 0, len(gaps)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if gaps[middle] < most else (low, middle)
    return low


def sample_flips(
    rate: Fraction, gaps: NDArray[Any], count: int | None = None, bits: Bits | None = None, width: int = _WIDTH
) -> NDArray[np.bool_]:
    """A coin for each gap, true with probability e^(-rate gap); or `count` rows of them."""
    stream = bits or source()
    if len(gaps) == 1 and count is None:
        return np.array([is_below_exp(rate * int(gaps[0]), 0, 0, stream)])
    distinct, place = np.unique(gaps, return_inverse=True)
    place = place if count is None else np.tile(place, count)
    values = [int(gap) for gap in distinct]
    near, guard = _reach(rate, values, width), 48
    lows = _powers(rate, values[:near], width + guard)
    floors = np.zeros(len(values), np.uint64)
    unsure = np.zeros(len(values), bool)
    for i, low in enumerate(lows):
        floors[i] = min(low >> guard, (1 << width) - 1)
        unsure[i] = (low + 3 * i + 3) >> guard != low >> guard
    words = stream.take(len(place), width).astype(np.uint64)
    none = (distinct == 0).astype(bool)[place]
    result: NDArray[np.bool_] = (words < floors[place]) | none
    close = (words == floors[place]) | (unsure[place] & (words == floors[place] + np.uint64(1)))
    for j in np.flatnonzero(close & ~none):
        result[j] = is_below_exp(rate * values[place[j]], int(words[j]), width, stream)
    return result if count is None else result.reshape(count, len(gaps))


def sample_lowest(
    rate: Fraction, gaps: NDArray[Any], count: int | None = None, bits: Bits | None = None, width: int = _WIDTH
) -> Any:
    """The index i with probability proportional to e^(-rate gap_i): one int, or an array of `count`."""
    stream = bits or source()
    distinct, place, sizes = np.unique(gaps, return_inverse=True, return_counts=True)
    values, many = [int(gap) for gap in distinct], [int(size) for size in sizes]
    words = stream.take(1 if count is None else count, width).astype(np.uint64)
    regions = _decided(rate, values, many, words, width)
    for j in np.flatnonzero(regions < 0):
        word, have = int(words[j]), width
        while (found := _region(rate, values, many, word, have)) is None:
            word, have = word << width | stream.word(width), have + width
        regions[j] = found
    index = np.empty(len(words), np.int64)
    for region in np.unique(regions).tolist():
        members, chosen = np.flatnonzero(place == region), np.flatnonzero(regions == region)
        index[chosen] = members[sample_uniform(len(members), len(chosen), bits=stream)]
    return int(index[0]) if count is None else index


def _decided(rate: Fraction, gaps: list[int], counts: list[int], words: Words, have: int) -> NDArray[np.int64]:
    """The class of gaps of each word, as `_region` has it, or -1 where more bits are needed; the last word is left to
    it, for a cut may lie above it.
    """
    cuts = _cuts(rate, gaps, counts, have)
    if cuts is None:
        return np.full(len(words), -1, np.int64)
    lows, width, near = cuts
    last = (1 << have) - 1
    ends = np.array([min(low + width, last) for low in lows], np.uint64)
    below = np.searchsorted(ends, words, side="right")
    beside = np.searchsorted(np.array([min(low, last) for low in lows], np.uint64), words, side="right")
    return np.where((below == beside) & (below < near) & (words != np.uint64(last)), below, -1)


def _region(rate: Fraction, gaps: list[int], counts: list[int], word: int, have: int) -> int | None:
    """The class of gaps whose region holds every number that begins with the word, or None where more bits are
    needed.
    """
    cuts = _cuts(rate, gaps, counts, have)
    if cuts is None:
        return None
    lows, width, near = cuts
    below = sum(low + width <= word for low in lows)
    above = sum(low >= word + 1 for low in lows)
    return below if below + above == len(lows) and below < near else None


def _cuts(rate: Fraction, gaps: list[int], counts: list[int], have: int) -> tuple[list[int], int, int] | None:
    """(lows, width, near): the cuts between the nearest classes of gaps, each within [low, low + width] units of
    2^-have; None where so few bits enclose nothing.
    """
    precise = have + 48
    near = _reach(rate, gaps, precise)
    running, sums = 0, []
    for power, count in zip(_powers(rate, gaps[:near], precise), counts, strict=False):
        running += power * count
        sums.append(running)
    slack = (3 * near + 4) * sum(counts)
    if running <= slack:
        return None
    parts = sums if near < len(gaps) else sums[:-1]
    return *divide(parts, slack, running, slack, have), near
