"""Unary encoding: one bit for each value of the list, each flipped on its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.local.base import CHUNK, Law, Tally, Worth, clean_padding, column_sums, supported, with_count
from sfumato.local.tape import Flags, Indices, Octets, Tape, sample_coins
from sfumato.local.thresholds import BITS, Odds, check_bits, check_size, check_tells, check_threshold, epsilon_of


@dataclass(frozen=True)
class UnaryEncoding:
    """Set the bit of the true value with probability one/2^bits, each other bit with probability zero/2^bits.

    Guarantee: any two values cost epsilon = ln(p (1 - q)/(q (1 - p))), p = one/2^bits, q = zero/2^bits, rounded up.
    Proof: two values differ in two bits; the ratio is largest where the first is set and the second is not.
    Reference: Erlingsson, Pihur, Korolova, CCS 2014; Wang, Blocki, Li, Jha, USENIX Security 2017.
    Checked by: local::epsilon_is_the_worst_ratio_of_the_law, local::encoders_draw_their_law,
        local::estimates_are_unbiased_with_the_stated_variance
    """

    name: ClassVar[str] = "optimised-unary"
    takes: ClassVar[str] = "values"
    size: int
    one: int
    zero: int
    bits: int = BITS

    def __post_init__(self) -> None:
        check_size(self.size)
        check_bits(self.bits)
        check_threshold(self.one, self.bits, "one")
        check_threshold(self.zero, self.bits, "zero")
        check_tells(self.p, self.q)

    @classmethod
    def planned(cls, size: int, epsilon: object, bits: int = BITS) -> UnaryEncoding:
        """The true bit is a fair coin: the least variance for rare values."""
        return cls(size, 1 << (bits - 1), (1 << bits) - Odds.of(epsilon).keep(1, bits), bits)

    @property
    def p(self) -> Fraction:
        """The probability that the true bit is set."""
        return Fraction(self.one, 1 << self.bits)

    @property
    def q(self) -> Fraction:
        """The probability that another bit is set."""
        return Fraction(self.zero, 1 << self.bits)

    @property
    def ratio(self) -> Fraction:
        """The largest likelihood ratio of two values."""
        return self.p * (1 - self.q) / (self.q * (1 - self.p))

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
        """The bits, eight to a byte."""
        reports = np.empty((len(values), self.width), np.uint8)
        step = max(1, CHUNK // self.size)
        for start in range(0, len(values), step):
            part = values[start : start + step]
            bits = sample_coins(tape, len(part) * self.size, self.zero, self.bits).reshape(len(part), self.size)
            bits[np.arange(len(part)), part] = sample_coins(tape, len(part), self.one, self.bits)
            reports[start : start + step] = np.packbits(bits, axis=1, bitorder="little")
        return reports

    def valid(self, reports: Octets) -> Flags:
        """Whether no bit is set beyond the last value."""
        return clean_padding(reports, self.size)

    def tally(self, reports: Octets) -> Tally:
        """How often each bit was set."""
        return with_count(reports, column_sums(reports, self.size))

    def shares(self, tally: Tally) -> NDArray[np.float64]:
        """Unbiased shares."""
        return supported(tally, self.p, self.q)

    def law(self, value: int) -> Law:
        """The probability of every report."""
        chances = [self.p if v == value else self.q for v in range(self.size)]
        return {
            np.packbits(np.array(bits, np.uint8), bitorder="little").tobytes(): prod(
                (c if bit else 1 - c for bit, c in zip(bits, chances, strict=True)), start=Fraction(1)
            )
            for bits in product((0, 1), repeat=self.size)
        }


@dataclass(frozen=True)
class SymmetricUnary(UnaryEncoding):
    """Unary encoding in which a bit tells the truth equally often whether it is set or not.

    Guarantee: that of unary encoding, with q = 1 - p: twice ln(p/(1 - p)).
    Proof: two bits change, and each costs ln(p/(1 - p)).
    Reference: Erlingsson, Pihur, Korolova, CCS 2014 (basic one-time RAPPOR).
    Checked by: local::epsilon_is_the_worst_ratio_of_the_law, local::encoders_draw_their_law,
        local::estimates_are_unbiased_with_the_stated_variance
    """

    name: ClassVar[str] = "symmetric-unary"

    @classmethod
    def planned(cls, size: int, epsilon: object, bits: int = BITS) -> SymmetricUnary:
        """Half of epsilon for each of the two bits."""
        keep = Odds.of(epsilon).halved().keep(1, bits)
        return cls(size, keep, (1 << bits) - keep, bits)
