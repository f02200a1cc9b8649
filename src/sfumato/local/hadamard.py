"""Hadamard response: one random entry of the value's row of a Hadamard matrix, in one noisy bit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.local.base import Law, Tally, Worth, supported, with_count
from sfumato.local.tape import (
    Flags,
    Indices,
    Octets,
    Tape,
    octets_for,
    pack_integers,
    sample_coins,
    sample_uniform_bytes,
    unpack_integers,
)
from sfumato.local.thresholds import BITS, Odds, check_bits, check_size, check_tells, check_threshold, epsilon_of


@dataclass(frozen=True)
class HadamardResponse:
    """Pick a random row of the Hadamard matrix and report its sign at the true value, truthfully with truth/2^bits.

    Guarantee: any two values cost epsilon = ln(p/(1 - p)), p = truth/2^bits, rounded up.
    Proof: the row does not depend on the value; given the row the report is one bit of randomized response.
    Reference: Acharya, Sun, Zhang, AISTATS 2019; Bassily, Nissim, Stemmer, Thakurta, NeurIPS 2017.
    Checked by: local::epsilon_is_the_worst_ratio_of_the_law, local::encoders_draw_their_law,
        local::estimates_are_unbiased_with_the_stated_variance
    """

    name: ClassVar[str] = "hadamard"
    takes: ClassVar[str] = "values"
    size: int
    truth: int
    bits: int = BITS

    def __post_init__(self) -> None:
        check_size(self.size)
        check_bits(self.bits)
        check_threshold(self.truth, self.bits, "truth")
        check_tells(self.p, 1 - self.p)

    @classmethod
    def planned(cls, size: int, epsilon: object, bits: int = BITS) -> HadamardResponse:
        """The most informative one that spends at most epsilon."""
        return cls(size, Odds.of(epsilon).keep(1, bits), bits)

    @property
    def rows(self) -> int:
        """The size of the matrix: the least power of two that holds all values."""
        return 1 << max(1, (self.size - 1).bit_length())

    @property
    def p(self) -> Fraction:
        """The probability of the true sign."""
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
        return octets_for(2 * self.rows)

    @property
    def worth(self) -> Worth:
        """The rows of two values agree in half of all places, so a report supports another value half the time."""
        return Worth.of_support(self.p, Fraction(1, 2))

    def encode(self, values: Indices, tape: Tape) -> Octets:
        """Twice the row, plus the noisy sign."""
        rows = sample_uniform_bytes(tape, len(values), self.rows)
        lies = ~sample_coins(tape, len(values), self.truth, self.bits)
        return pack_integers(2 * rows + (parity(rows & values) ^ lies), self.width)

    def valid(self, reports: Octets) -> Flags:
        """Whether a report names a row."""
        result: Flags = unpack_integers(reports) < 2 * self.rows
        return result

    def tally(self, reports: Octets) -> Tally:
        """How often each row was reported with each sign."""
        return with_count(reports, np.bincount(unpack_integers(reports), minlength=2 * self.rows))

    def shares(self, tally: Tally) -> NDArray[np.float64]:
        """Unbiased shares, by one fast transform."""
        signs = tally[1::2] - tally[2::2]
        supports = (tally[0] + transform(signs)[: self.size]) / 2
        return supported(np.concatenate([tally[:1], supports]), self.p, Fraction(1, 2))

    def law(self, value: int) -> Law:
        """The probability of every report."""
        each = {}
        for row in range(self.rows):
            sign = (row & value).bit_count() & 1
            for bit in (0, 1):
                chance = self.p if bit == sign else 1 - self.p
                each[(2 * row + bit).to_bytes(self.width, "little")] = chance / self.rows
        return each


def parity(numbers: Indices) -> Indices:
    """Whether the number of set bits is odd, for numbers below 2^32."""
    folded = numbers
    for shift in (16, 8, 4, 2, 1):
        folded = folded ^ (folded >> shift)
    return folded & 1


def transform(signs: NDArray[np.int64]) -> NDArray[np.int64]:
    """The Walsh-Hadamard transform of a vector whose length is a power of two."""
    vector, half = signs.copy(), 1
    while half < len(vector):
        pairs = vector.reshape(-1, 2, half)
        vector = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return vector
