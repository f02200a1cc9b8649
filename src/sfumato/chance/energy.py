"""Coins and choices by energy: outcome i has weight e^(-rate gap_i), the gaps being whole numbers, however many.

Comes in: a rational rate > 0 and gaps >= 0. Goes out: a coin each (`sample_flips`), or one index (`sample_lowest`).

Guarantee: each coin and each choice has exactly its stated probability, if the bits are uniform.
Proof: the powers e^(-rate gap) are products of lower ends, each truncated, so below their value by at most 3 units a
step; a word decides a coin unless it falls into the cell of its power, and a choice unless it falls into the cell of a
cut, as in cuts.py; then more bits are drawn. Outcomes of one gap are equally likely. Gaps so large that their power is
below one unit are one region of weight at most a unit each; where the word may fall there, more bits are drawn.
Reference: McSherry and Talwar, FOCS 2007 (the law); cuts.py (the comparison).
Checked by: chance::flips_have_the_exact_mass, chance::lowest_has_the_exact_mass, chance::lowest_has_its_frequencies
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.chance.bits import Bits, source
from sfumato.chance.choice import sample_uniform
from sfumato.chance.cuts import divide
from sfumato.chance.gaussian import is_below_exp
from sfumato.reals import bound_exp_neg

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
    rate: Fraction, gaps: NDArray[Any], bits: Bits | None = None, width: int = _WIDTH
) -> NDArray[np.bool_]:
    """A coin for each gap, true with probability e^(-rate gap)."""
    stream = bits or source()
    distinct, place = np.unique(gaps, return_inverse=True)
    values = [int(gap) for gap in distinct]
    near, guard = _reach(rate, values, width), 48
    lows = _powers(rate, values[:near], width + guard)
    floors = np.zeros(len(values), np.uint64)
    unsure = np.zeros(len(values), bool)
    for i, low in enumerate(lows):
        floors[i] = min(low >> guard, (1 << width) - 1)
        unsure[i] = (low + 3 * i + 3) >> guard != low >> guard
    words = stream.take(len(place), width).astype(np.uint64)
    result: NDArray[np.bool_] = words < floors[place]
    result[np.asarray(gaps) == 0] = True
    close = (words == floors[place]) | (unsure[place] & (words == floors[place] + np.uint64(1)))
    for j in np.flatnonzero(close & (np.asarray(gaps) != 0)):
        result[j] = is_below_exp(rate * values[place[j]], int(words[j]), width, stream)
    return result


def sample_lowest(rate: Fraction, gaps: NDArray[Any], bits: Bits | None = None, width: int = _WIDTH) -> int:
    """The index i with probability proportional to e^(-rate gap_i)."""
    stream = bits or source()
    distinct, place, counts = np.unique(gaps, return_inverse=True, return_counts=True)
    values, many = [int(gap) for gap in distinct], [int(count) for count in counts]
    word, have = stream.word(width), width
    while (found := _region(rate, values, many, word, have)) is None:
        word, have = word << width | stream.word(width), have + width
    members = np.flatnonzero(place == found)
    return int(members[sample_uniform(len(members), bits=stream)])


def _region(rate: Fraction, gaps: list[int], counts: list[int], word: int, have: int) -> int | None:
    """The class of gaps whose region holds every number that begins with the word, or None where more bits are
    needed.
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
    lows, width = divide(parts, slack, running, slack, have)
    below = sum(low + width <= word for low in lows)
    above = sum(low >= word + 1 for low in lows)
    return below if below + above == len(lows) and below < near else None
