"""One of very many entries by energy and by length: entry i has the weight length_i e^(-rate gap_i), exactly and fast.

Comes in: a rational rate > 0, whole gaps >= 0, one of them 0, and whole lengths >= 1 (all 1 where none are given), as
arrays of int64, or of Python ints where 64 bits do not do. Goes out: one index, or many.

The letters: x_i = rate gap_i; band j = floor(x_i); L_j the lengths in band j together, N all of them; U a uniform
number of which the word u of h bits is known; C_k = L_0 e^0 + ... + L_k e^-k, and S the sum over all bands.

Guarantee: each index has exactly its stated probability, if the bits are uniform.
Proof: (tries) band j is chosen with probability L_j e^-j / S, entry i in it with length_i / L_j, and kept with
probability e^-(x_i - j): an entry is chosen and kept with probability length_i e^-x_i / S, and where none is kept all
begins again with fresh bits. As x_i - j < 1, more than one try in three is kept.
(band) all from band J on counts as one. In units of 2^-P a power e^-j lies within [p_j, p_j + 2], p_j = 0 from J on; so
C_k lies within [c_k, c_k + 2N], where c_k is the sum of L_j p_j, and S within [s, s + 2N], s = c_J, without a look at
what lies beyond. Band k is the one with C_(k-1) <= U S < C_k. It is certain where c_(k-1) + 2N <= u s / 2^h and (u + 1)
(s + 2N) / 2^h <= c_k, as u <= 2^h U < u + 1; the second is not needed for the last band of all, as U < 1. What lies
beyond is never certain, as c_(J-1) = c_J = s. Where no band is certain, more bits are drawn, and P and J grow with
them; words that are never decided have probability 0.
(floor) band j starts at the gap t_j = ceil(j / rate). With m = floor(2^b rate) and gap <= 2^b, the product gap m / 2^b
is below x by less than 1, so its floor is j or j - 1, and gap >= t_j tells which.
(entry) a uniform whole number below L_j, and the first entry of the band at which the running sum of lengths exceeds
it; sums are held in two words, of 31 bits and of what lies above them, so that nothing wraps. No float takes part.
Reference: von Neumann 1951 (rejection); cuts.py (the comparison, one cut for each band).
Checked by: sampling::bands_give_the_exact_mass, sampling::what_a_word_decides_is_right, sampling::bands_are_the_floors,
sampling::band_powers_are_enclosed, sampling::places_are_found_by_running_sums, sampling::bands_have_their_frequencies
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.reals import bound_exp_neg, ceil_shift
from sfumato.sampling.bits import Bits, Words, source
from sfumato.sampling.choice import sample_uniform
from sfumato.sampling.energy import sample_flips

_WIDTH = 64
_GUARD = 8
"""P has this many bits more than the word and the number of candidates have together."""
_LIMB, _MASK = 31, (1 << 31) - 1
_ROOM = 62
_CHUNK = 1 << 15


@lru_cache(maxsize=128)
def _powers(precise: int) -> tuple[int, ...]:
    """p_j with p_j <= 2^precise e^-j <= p_j + 2 for each j up to J; p_J is 0 and does for all that follow.

    A product of two lower ends truncated is below by at most 3 more units, here of 2^-(precise + 32); ln 2 < 7/10, so
    that e^-J is at most half a unit.
    """
    fine = precise + 32
    ratio = bound_exp_neg(Fraction(1), fine)[0]
    value, powers = 1 << fine, []
    for _ in range(-(-7 * (precise + 1) // 10)):
        powers.append(value >> 32)
        value = value * ratio >> fine
    return (*powers, 0)


def _floors(rate: Fraction, gaps: NDArray[Any], reach: int) -> NDArray[np.int64]:
    """The band of each gap, or `reach` for every gap in a band from there on."""
    p, q = rate.numerator, rate.denominator
    starts = [-(-j * q // p) for j in range(reach + 1)]
    most, shift = starts[-1], _ROOM - (reach + 1 + p // q).bit_length()
    if shift < 0 or most > 1 << shift:
        kept = [start for start in starts if gaps.dtype == object or start < 1 << 63]
        return np.searchsorted(np.array(kept, gaps.dtype), gaps, side="right") - 1
    factor, ends = (p << shift) // q, np.array(starts[1:], np.int64)
    bands = np.empty(gaps.size, np.int64)
    for at in range(0, gaps.size, _CHUNK):
        # most rate < reach + rate, so that the product has room
        clipped = np.minimum(gaps[at : at + _CHUNK], most).astype(np.int64, copy=False)
        below = clipped * factor
        below >>= shift
        np.minimum(below, reach - 1, out=below)
        below += clipped >= ends[below]
        bands[at : at + _CHUNK] = below
    return bands


def _sizes(bands: NDArray[np.int64], lengths: NDArray[Any] | None, count: int) -> list[list[int]]:
    """For each chunk of the entries, the lengths in each of `count` bands together."""
    rows = []
    for at in range(0, bands.size, _CHUNK):
        part = slice(at, at + _CHUNK)
        if lengths is None:
            rows.append(np.bincount(bands[part], minlength=count).tolist())
            continue
        high, low = np.zeros(count, lengths.dtype), np.zeros(count, lengths.dtype)
        np.add.at(high, bands[part], lengths[part] >> _LIMB)
        np.add.at(low, bands[part], lengths[part] & _MASK)
        rows.append([(h << _LIMB) + w for h, w in zip(high.tolist(), low.tolist(), strict=True)])
    return rows


def _place(lengths: NDArray[Any], at: int) -> int:
    """The first k with lengths[0] + ... + lengths[k] > at."""
    high, low = np.cumsum(lengths >> _LIMB), np.cumsum(lengths & _MASK)
    high += low >> _LIMB
    low &= _MASK
    first, last = np.searchsorted(high, at >> _LIMB, "left"), np.searchsorted(high, at >> _LIMB, "right")
    return int(first + np.searchsorted(low[first:last], at & _MASK, "right"))


class _Bands:
    """The entries by band, with as many bands as one precision tells from nothing."""

    def __init__(self, rate: Fraction, gaps: NDArray[Any], lengths: NDArray[Any] | None, precise: int) -> None:
        powers = _powers(precise)
        self.lengths = lengths
        self.bands = _floors(rate, gaps, len(powers) - 1)
        self.rows = _sizes(self.bands, lengths, len(powers))
        self.sizes = [sum(column) for column in zip(*self.rows, strict=True)]
        if not self.sizes[0]:
            raise ValueError("one of the gaps must be 0")
        self.slack = 2 * sum(self.sizes)
        last = max(j for j, size in enumerate(self.sizes) if size)
        self.sums = list(accumulate(s * p for s, p in zip(self.sizes[: last + 1], powers, strict=False)))

    def choose(self, word: int, have: int) -> int | None:
        """The band of every U that begins with the word, or None where more bits are needed."""
        low = word * self.sums[-1] >> have
        high = ceil_shift((word + 1) * (self.sums[-1] + self.slack), have)
        band = min(bisect_left(self.sums, high), len(self.sums) - 1)
        return band if band == 0 or self.sums[band - 1] + self.slack <= low else None

    def decide(self, words: Words, have: int) -> NDArray[np.int64]:
        """The same for many words, -1 where more bits are needed: the words of a band are those from the least u with
        u s / 2^h >= c_(k-1) + 2N to the greatest with (u + 1) (s + 2N) / 2^h <= c_k, by exact division.
        """
        if len(words) == 1:
            band = self.choose(int(words[0]), have)
            return np.array([-1 if band is None else band])
        whole, last = self.sums[-1], (1 << have) - 1
        first = [0, *(-((-(c + self.slack) << have) // whole) for c in self.sums[:-1])]
        final = [*((c << have) // (whole + self.slack) - 1 for c in self.sums[:-1]), last]
        held = [k for k in range(len(self.sums)) if 0 <= first[k] <= final[k] <= last]
        if not held:
            return np.full(len(words), -1, np.int64)
        starts, ends = (np.array([side[k] for k in held], np.uint64) for side in (first, final))
        found = np.searchsorted(starts, words, side="right") - 1
        inside = (found >= 0) & (words <= ends[found])
        return np.where(inside, np.array(held, np.int64)[found], -1)

    def entries(self, band: int, count: int, bits: Bits) -> NDArray[np.int64]:
        """Entries of the band, by length: the chunk of each first, then its place there."""
        at = sample_uniform(self.sizes[band], count, bits=bits)
        sums = _wide(list(accumulate(row[band] for row in self.rows)))
        chunks = np.searchsorted(sums, at, side="right")
        found = np.empty(count, np.int64)
        for chunk in np.unique(chunks).tolist():
            part = slice(chunk * _CHUNK, (chunk + 1) * _CHUNK)
            members = np.flatnonzero(self.bands[part] == band)
            here = np.flatnonzero(chunks == chunk)
            inside = at[here] - (sums[chunk - 1] if chunk else 0)
            if self.lengths is not None:
                inside = _places(self.lengths[part][members], inside, self.rows[chunk][band])
            found[here] = part.start + members[inside.astype(np.int64)]
        return found


def _wide(numbers: list[int]) -> NDArray[Any]:
    """As int64, or as Python ints where 62 bits do not do."""
    return np.array(numbers, np.int64 if max(numbers) < 1 << _ROOM else object)


def _places(lengths: NDArray[Any], at: NDArray[Any], whole: int) -> NDArray[Any]:
    """For each of them the first k with lengths[0] + ... + lengths[k] > at; `whole` is the sum of all lengths."""
    if whole < 1 << _ROOM:
        return np.searchsorted(np.cumsum(lengths.astype(np.int64, copy=False)), at, side="right")
    return np.array([_place(lengths, int(one)) for one in at])


def sample_banded(
    rate: Fraction,
    gaps: NDArray[Any],
    lengths: NDArray[Any] | None = None,
    count: int | None = None,
    *,
    bits: Bits | None = None,
    width: int = _WIDTH,
) -> Any:
    """The index i with probability proportional to lengths[i] e^(-rate gaps[i]): one int, or an array of `count`."""
    stream = bits or source()
    spare = _GUARD + (gaps.size * (1 if lengths is None else int(lengths.max()))).bit_length()
    coarse = _Bands(rate, gaps, lengths, width + spare)
    index = np.empty(1 if count is None else count, np.int64)
    left = np.arange(index.size)
    while left.size:
        words = stream.take(left.size, width).astype(np.uint64)
        bands = coarse.decide(words, width)
        tried = np.empty(left.size, np.int64)
        for band in np.unique(bands[bands >= 0]).tolist():
            here = np.flatnonzero(bands == band)
            tried[here] = coarse.entries(band, here.size, stream)
        for j in np.flatnonzero(bands < 0).tolist():
            word, have, found = int(words[j]), width, None
            while found is None:
                word, have = word << width | stream.word(width), have + width
                finer = _Bands(rate, gaps, lengths, have + spare)
                found = finer.choose(word, have)
            bands[j], tried[j] = found, finer.entries(found, 1, stream)[0]
        kept = sample_flips(Fraction(1, rate.denominator), _behind(rate, gaps[tried], bands), bits=stream)
        index[left[kept]] = tried[kept]
        left = left[~kept]
    return int(index[0]) if count is None else index


def _behind(rate: Fraction, gaps: NDArray[Any], bands: NDArray[np.int64]) -> NDArray[Any]:
    """What of rate gap lies behind the point, in units of one over the denominator of the rate."""
    p, q = rate.numerator, rate.denominator
    # q band is no larger than p gap; where both are 0, p and q themselves must have room
    if gaps.dtype == object or max(p * int(gaps.max()), p, q) >= 1 << _ROOM:
        gaps, bands = gaps.astype(object), bands.astype(object)
    return p * gaps - q * bands
