"""Subset selection: a random set of values that holds the true one more often than chance would."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.local.base import CHUNK, Law, Tally, Worth, clean_padding, column_sums, supported, with_count
from sfumato.local.tape import Flags, Indices, Octets, Tape, sample_coins, sample_uniform_bytes
from sfumato.local.thresholds import BITS, Odds, check_bits, check_size, check_tells, check_threshold, epsilon_of
from sfumato.reals import ceil
from sfumato.types import whole


@dataclass(frozen=True)
class SubsetSelection:
    """Report a set of `chosen` values that holds the true one with probability truth/2^bits, else a set without it.

    Guarantee: any two values cost epsilon = |ln(p (size - chosen)/((1 - p) chosen))|, p = truth/2^bits, rounded up.
    Proof: a set with the true value has probability p/C(size-1, chosen-1), one without (1-p)/C(size-1, chosen); the
        ratio of the two is as stated.
    Reference: Ye and Barg, IEEE Trans. Inf. Theory 2018; Wang and others 2016.
    Checked by: local::epsilon_is_the_worst_ratio_of_the_law, local::encoders_draw_their_law,
        local::estimates_are_unbiased_with_the_stated_variance
    """

    name: ClassVar[str] = "subset"
    takes: ClassVar[str] = "values"
    size: int
    chosen: int
    truth: int
    bits: int = BITS

    def __post_init__(self) -> None:
        check_size(self.size)
        check_bits(self.bits)
        check_threshold(self.truth, self.bits, "truth")
        if not 1 <= self.chosen < self.size:
            raise InputError(f"chosen must be 1 to {self.size - 1}, but is {self.chosen}")
        check_tells(self.p, self.q)

    @classmethod
    def planned(cls, size: int, epsilon: object, bits: int = BITS) -> SubsetSelection:
        """The set size with the least variance, size/(e^epsilon + 1)."""
        odds, size = Odds.of(epsilon), whole(size, "size", 2)
        chosen = min(size - 1, max(1, -ceil(-(size / (odds.value + 1) + Fraction(1, 2)))))
        return cls(size, chosen, odds.keep(Fraction(size - chosen, chosen), bits), bits)

    @property
    def p(self) -> Fraction:
        """The probability that the set holds the true value."""
        return Fraction(self.truth, 1 << self.bits)

    @property
    def q(self) -> Fraction:
        """The probability that it holds another one."""
        return (self.p * (self.chosen - 1) + (1 - self.p) * self.chosen) / (self.size - 1)

    @property
    def ratio(self) -> Fraction:
        """The largest likelihood ratio of two values."""
        return self.p * (self.size - self.chosen) / ((1 - self.p) * self.chosen)

    @property
    def epsilon(self) -> Fraction:
        """What one report costs."""
        return epsilon_of(self.ratio)

    @property
    def width(self) -> int:
        """Bytes of a report."""
        return (self.size + 7) // 8

    @property
    def worth(self) -> Worth:
        """What one report contributes."""
        return Worth.of_support(self.p, self.q)

    def encode(self, values: Indices, tape: Tape) -> Octets:
        """The set, one bit for each value."""
        reports = np.empty((len(values), self.width), np.uint8)
        step = max(1, 8 * CHUNK // self.size)
        for start in range(0, len(values), step):
            bits = self._sets(values[start : start + step], tape)
            reports[start : start + step] = np.packbits(bits, axis=1, bitorder="little")
        return reports

    def _sets(self, values: Indices, tape: Tape) -> Flags:
        """Each place but one's own is taken with probability (still needed)/(still left): a uniform set.

        The last place stands in for one's own, whose bit is the coin.
        """
        own = sample_coins(tape, len(values), self.truth, self.bits)
        needed = self.chosen - own.astype(np.int64)
        sets = np.empty((self.size, len(values)), np.bool_)
        for slot in range(self.size - 1):
            np.less(sample_uniform_bytes(tape, len(values), self.size - 1 - slot), needed, out=sets[slot])
            needed -= sets[slot]
        everybody = np.arange(len(values))
        sets[self.size - 1] = sets[np.minimum(values, self.size - 2), everybody]
        sets[values, everybody] = own
        return np.ascontiguousarray(sets.T)

    def valid(self, reports: Octets) -> Flags:
        """Whether the set has the stated size."""
        sizes = np.unpackbits(reports, axis=1).sum(axis=1, dtype=np.int64)
        result: Flags = (sizes == self.chosen) & clean_padding(reports, self.size)
        return result

    def tally(self, reports: Octets) -> Tally:
        """How many sets hold each value."""
        return with_count(reports, column_sums(reports, self.size))

    def shares(self, tally: Tally) -> NDArray[np.float64]:
        """Unbiased shares."""
        return supported(tally, self.p, self.q)

    def law(self, value: int) -> Law:
        """The probability of every report."""
        each = {}
        for members in combinations(range(self.size), self.chosen):
            report = sum(1 << v for v in members).to_bytes(self.width, "little")
            inside, outside = comb(self.size - 1, self.chosen - 1), comb(self.size - 1, self.chosen)
            each[report] = self.p / inside if value in members else (1 - self.p) / outside
        return each
