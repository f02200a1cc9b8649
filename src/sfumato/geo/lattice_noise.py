"""Exact planar (and spatial) noise on the integer lattice: P(v) is proportional to e^(-rate |v|), |v| Euclidean.

`LatticeNoise(rate, dimensions)` draws integer vectors. The rate is a positive fraction or an exact real, per lattice
step. A point reported at lattice position x + v is e^(-rate |z - x|)/Z likely at z, whatever x is, so that two true
positions x, x' are told apart by at most e^(rate |x - x'|): no correction for discretisation is needed.

The letters: E the rate, d the number of dimensions, a a fraction below E/sqrt(d), n = |v|² and m = the sum of |v_i|.

Guarantee: every vector has exactly the stated probability, if the bits are uniform.
Proof: (proposal) the coordinates are independent two-sided geometric numbers, so that v is proposed with probability
proportional to e^(-a m). (coin) v is kept with probability e^(-(E sqrt(n) - a m)), which is at most 1 because
sqrt(n) >= m/sqrt(d). Kept vectors therefore have probability proportional to e^(-E sqrt(n)). (decision) the coin
compares a uniform number U, of which a word of W bits is known, with that probability p. In floats p is known up to
2^-40: square root, sums and products are rounded by IEEE 754, the exponential is a table of correctly rounded powers
times a polynomial of degree 5 whose remainder is below 2^-57, and exponents above 512 are never decided in floats. A
word is decided only where its cell lies at least 2^-40 away from the computed value. All other words go to integer
enclosures of p, and to more bits of U, until the cell lies on one side; words never decided have probability 0.
Reference: von Neumann 1951 (rejection); Andrés, Bordenabe, Chatzikokolakis, Palamidessi, CCS 2013 (the planar law).
Checked by: geo::coins_have_the_exact_mass, geo::lattice_noise_has_the_exact_law,
geo::float_powers_are_within_the_margin
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, cached_property
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.reals import Real, as_real, exp, sqrt
from sfumato.sampling import Bits, sample_laplace, source

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_WIDTH = 32
_CHUNK = 1 << 14
_LEAST = Fraction(1, 1 << 34)
_MOST_PROPOSED = 40
_DIGITS = 20
_FAR = 512.0
_MARGIN = 2.0**-40
_CELLS, _REACH = 256, 64


@cache
def _table() -> Floats:
    """e^(-k/256) for k below 64 * 256, correctly rounded."""
    return np.array([float(exp(Fraction(-k, _CELLS))) for k in range(_CELLS * _REACH)])


def exp_neg(x: Floats) -> Floats:
    """e^-x for x >= 0, within 2^-50; anything above 63.99 counts as 63.99. Only IEEE 754 basic operations are used."""
    x = np.minimum(x, _REACH - 0.01)
    cell = (x * _CELLS).astype(np.int32)
    r = x - cell * (1.0 / _CELLS)
    p = r * (-1.0 / 120)
    p += 1.0 / 24
    for c in (-1.0 / 6, 0.5, -1.0, 1.0):
        p *= r
        p += c
    p *= _table().take(cell)
    return p


class LatticeNoise:
    """Integer vectors v with probability proportional to e^(-rate |v|)."""

    def __init__(self, rate: Real | Fraction, dimensions: int = 2, *, width: int = _WIDTH) -> None:
        self.rate, self.dimensions, self.width = as_real(rate), dimensions, width
        if self.rate < _LEAST:
            raise InputError(
                "the grid is too fine for this level of protection",
                detail="The noise would span more than ten thousand million grid steps.",
                hint="Use a coarser grid.",
            )
        self._rate = float(self.rate)
        self.proposal = _dyadic_below(self.rate / sqrt(dimensions))
        self._kept = {2: 0.78, 3: 0.6}.get(dimensions, 0.5)

    @cached_property
    def _scale(self) -> Fraction:
        return 1 / self.proposal

    def sample(self, count: int, bits: Bits | None = None) -> Integers:
        """`count` vectors, as the rows of an array."""
        stream = bits or source()
        out = np.empty((count, self.dimensions), np.int64)
        filled = 0
        while filled < count:
            tries = min(_CHUNK, int((count - filled) / self._kept) + 8)
            vectors = [np.asarray(sample_laplace(self._scale, tries, stream), np.int64) for _ in range(self.dimensions)]
            kept = np.flatnonzero(self.coins(vectors, stream))[: count - filled]
            for axis, values in enumerate(vectors):
                out[filled : filled + kept.size, axis] = values[kept]
            filled += kept.size
        return out

    def coins(self, vectors: list[Integers], bits: Bits) -> NDArray[np.bool_]:
        """For each proposed vector whether it is kept."""
        total, squares = np.zeros(vectors[0].size), np.zeros(vectors[0].size)
        for values in vectors:
            size = np.abs(values).astype(np.float64)
            total += size
            size *= size
            squares += size
        np.sqrt(squares, out=squares)
        squares *= self._rate
        far = squares > _FAR
        total *= float(self.proposal)
        squares -= total
        chance = exp_neg(np.maximum(squares, 0.0))
        chance *= 2.0**self.width
        words = bits.take(chance.size, self.width)
        above = chance - words
        margin = _MARGIN * 2.0**self.width
        kept: NDArray[np.bool_] = above >= 1 + margin
        unsure = (above > -margin) & ~kept
        unsure |= far
        for j in np.flatnonzero(unsure):
            kept[j] = self._settle([int(values[j]) for values in vectors], int(words[j]), bits)
        return kept

    def _settle(self, vector: list[int], word: int, bits: Bits) -> bool:
        """Whether a uniform number that begins with the word is below the vector's chance, by exact enclosures."""
        square, total = sum(c * c for c in vector), sum(abs(c) for c in vector)
        if square == 0:
            return True
        root = isqrt(square)
        length: Real | int = root if root * root == square else sqrt(square)
        chance = exp(self.proposal * total - self.rate * length)
        width, guard = self.width, 48
        while True:
            low, high = chance.enclose(width + guard)
            if (word + 1) << guard <= low:
                return True
            if word << guard >= high:
                return False
            word, width = word << self.width | bits.word(self.width), width + self.width


def _dyadic_below(number: Real) -> Fraction:
    """A fraction of 20 bits at most `number` and within 2^-18 of it; at most 40, beyond which nearly all noise is 0."""
    bits = 64
    low = number.enclose(bits)[0]
    if low >= _MOST_PROPOSED << bits:
        return Fraction(_MOST_PROPOSED)
    drop = max(0, low.bit_length() - _DIGITS)
    return Fraction(low >> drop << drop, 1 << bits)


def mass_total(rate: float, dimensions: int = 2) -> float:
    """Z, the sum of e^(-rate |v|) over the lattice, in floats: for tests and pictures."""
    reach = int(45 / rate) + 2
    axis = np.arange(-reach, reach + 1, dtype=np.float64)
    squares: Any = axis**2
    for _ in range(dimensions - 1):
        squares = squares[..., None] + axis**2
    return float(np.exp(-rate * np.sqrt(squares)).sum())
