"""dBitFlip: a few buckets of one's own, and for each a noisy bit that says whether the value lies in it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import comb
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.local.base import Law, Tally, Worth, clean_padding, with_count
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
class BitFlip:
    """Pick `sampled` of the `size` values at random and report for each, truthfully with truth/2^bits, if it is one's.

    Guarantee: any two values cost epsilon = min(2, sampled) ln(p/(1 - p)), p = truth/2^bits, rounded up.
    Proof: the buckets do not depend on the value; given them at most two bits differ, or one if there is one.
    Reference: Ding, Kulkarni, Yekhanin, NeurIPS 2017.
    Checked by: local::epsilon_is_the_worst_ratio_of_the_law, local::encoders_draw_their_law,
        local::estimates_are_unbiased_with_the_stated_variance
    """

    name: ClassVar[str] = "dbitflip"
    takes: ClassVar[str] = "values"
    size: int
    sampled: int
    truth: int
    bits: int = BITS

    def __post_init__(self) -> None:
        check_size(self.size)
        check_bits(self.bits)
        check_threshold(self.truth, self.bits, "truth")
        if not 1 <= self.sampled <= min(self.size, 256):
            raise InputError(f"sampled must be 1 to {min(self.size, 256)}, but is {self.sampled}")
        check_tells(self.p, 1 - self.p)

    @classmethod
    def planned(cls, size: int, epsilon: object, bits: int = BITS, sampled: int = 16) -> BitFlip:
        """So many buckets, or all where there are fewer."""
        odds, sampled = Odds.of(epsilon), min(size, sampled)
        return cls(size, sampled, (odds if sampled == 1 else odds.halved()).keep(1, bits), bits)

    @property
    def p(self) -> Fraction:
        """The probability of a true bit."""
        return Fraction(self.truth, 1 << self.bits)

    @property
    def ratio(self) -> Fraction:
        """The largest likelihood ratio of two values."""
        return (self.p / (1 - self.p)) ** min(2, self.sampled)

    @property
    def epsilon(self) -> Fraction:
        """What one report costs."""
        return epsilon_of(self.ratio)

    @property
    def _place(self) -> int:
        return octets_for(self.size)

    @property
    def width(self) -> int:
        """Bytes of a report: the buckets, then their bits."""
        return self.sampled * self._place + (self.sampled + 7) // 8

    @property
    def worth(self) -> Worth:
        """A bucket is looked at by sampled/size of all people, and weighs as much more."""
        p, q, scale = self.p, 1 - self.p, Fraction(self.size, self.sampled)
        one = Worth.of_support(p, q)
        return Worth(scale * (one.own + 1) - 1, scale * one.other, scale * one.low, scale * one.high)

    def encode(self, values: Indices, tape: Tape) -> Octets:
        """Buckets in increasing order, and a bit for each."""
        n = len(values)
        buckets = self._buckets(n, tape)
        lies = ~sample_coins(tape, n * self.sampled, self.truth, self.bits).reshape(n, self.sampled)
        told = (buckets == values[:, None]) ^ lies
        places = pack_integers(buckets.ravel(), self._place).reshape(n, -1)
        return np.concatenate([places, np.packbits(told, axis=1, bitorder="little")], axis=1)

    def _buckets(self, n: int, tape: Tape) -> Indices:
        """Floyd's method: the j-th draw is below size - sampled + j + 1; one that was drawn before gives its largest
        value.
        """
        chosen = np.full((n, self.sampled), -1, np.int64)
        for j in range(self.sampled):
            top = self.size - self.sampled + j
            drawn = sample_uniform_bytes(tape, n, top + 1)
            again = (chosen[:, :j] == drawn[:, None]).any(axis=1)
            chosen[:, j] = np.where(again, top, drawn)
        chosen.sort(axis=1)
        return chosen

    def _parts(self, reports: Octets) -> tuple[Indices, Flags]:
        cut = self.sampled * self._place
        buckets = unpack_integers(reports[:, :cut].reshape(-1, self._place)).reshape(len(reports), self.sampled)
        bits = np.unpackbits(reports[:, cut:], axis=1, count=self.sampled, bitorder="little")
        return buckets, bits.astype(np.bool_)

    def valid(self, reports: Octets) -> Flags:
        """Whether the buckets increase and exist."""
        buckets, _ = self._parts(reports)
        rising = (np.diff(buckets, axis=1) > 0).all(axis=1)
        result: Flags = rising & (buckets[:, -1] < self.size)
        return result & clean_padding(reports[:, self.sampled * self._place :], self.sampled)

    def tally(self, reports: Octets) -> Tally:
        """How often each bucket was looked at, and how often its bit was set."""
        buckets, bits = self._parts(reports)
        seen = np.bincount(buckets.ravel(), minlength=self.size)
        ones = np.bincount(buckets[bits], minlength=self.size)
        return with_count(reports, np.concatenate([seen, ones]))

    def shares(self, tally: Tally) -> NDArray[np.float64]:
        """Unbiased shares."""
        n, seen, ones = max(1, int(tally[0])), tally[1 : self.size + 1], tally[self.size + 1 :]
        p, q = float(self.p), float(1 - self.p)
        result: NDArray[np.float64] = (ones - q * seen) / (p - q) * (self.size / (n * self.sampled))
        return result

    def law(self, value: int) -> Law:
        """The probability of every report."""
        each = {}
        sets = comb(self.size, self.sampled)
        for buckets in combinations(range(self.size), self.sampled):
            head = b"".join(b.to_bytes(self._place, "little") for b in buckets)
            for bits in product((0, 1), repeat=self.sampled):
                chance = Fraction(1, sets)
                for bucket, bit in zip(buckets, bits, strict=True):
                    chance *= self.p if bit == (bucket == value) else 1 - self.p
                tail = np.packbits(np.array(bits, np.uint8), bitorder="little").tobytes()
                each[head + tail] = chance
        return each
