"""Randomized response: the truth with a stated probability, otherwise another value of the list.

Two values are Warner's survey question; more are the k-ary response.
"""

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
from sfumato.types import whole


@dataclass(frozen=True)
class KAryResponse:
    """Report the true one of `size` values with probability truth/2^bits, else one of the others.

    Guarantee: any two values cost epsilon = |ln(p (size - 1)/(1 - p))|, p = truth/2^bits, rounded up.
    Proof: a report has probability p if it is true and (1 - p)/(size - 1) if it is not; the ratio is as stated.
    Reference: Warner 1965; Kairouz, Oh, Viswanath, JMLR 2016.
    Checked by: local::epsilon_is_the_worst_ratio_of_the_law, local::encoders_draw_their_law,
        local::estimates_are_unbiased_with_the_stated_variance
    """

    name: ClassVar[str] = "k-ary"
    takes: ClassVar[str] = "values"
    size: int
    truth: int
    bits: int = BITS

    def __post_init__(self) -> None:
        check_size(self.size)
        check_bits(self.bits)
        check_threshold(self.truth, self.bits, "truth")
        check_tells(self.p, self.q)

    @classmethod
    def planned(cls, size: int, epsilon: object, bits: int = BITS) -> KAryResponse:
        """The most informative one that spends at most epsilon."""
        check_size(size)
        return cls(size, Odds.of(epsilon).keep(size - 1, bits), bits)

    @property
    def p(self) -> Fraction:
        """The probability of the truth."""
        return Fraction(self.truth, 1 << self.bits)

    @property
    def q(self) -> Fraction:
        """The probability of each other value."""
        return (1 - self.p) / (self.size - 1)

    @property
    def ratio(self) -> Fraction:
        """The largest likelihood ratio of two values."""
        return self.p / self.q

    @property
    def epsilon(self) -> Fraction:
        """What one report costs."""
        return epsilon_of(self.ratio)

    @property
    def width(self) -> int:
        """Bytes of a report."""
        return octets_for(self.size)

    @property
    def worth(self) -> Worth:
        """What one report contributes."""
        return Worth.of_support(self.p, self.q)

    def respond(self, values: Indices, tape: Tape) -> Indices:
        """The reported value of each."""
        lies = ~sample_coins(tape, len(values), self.truth, self.bits)
        others = 1 + sample_uniform_bytes(tape, len(values), self.size - 1)
        told = values + lies * others
        result: Indices = np.where(told >= self.size, told - self.size, told)
        return result

    def encode(self, values: Indices, tape: Tape) -> Octets:
        """The reported value, little-endian."""
        return pack_integers(self.respond(values, tape), self.width)

    def valid(self, reports: Octets) -> Flags:
        """Whether a report is a value."""
        result: Flags = unpack_integers(reports) < self.size
        return result

    def tally(self, reports: Octets) -> Tally:
        """How often each value was reported."""
        return with_count(reports, np.bincount(unpack_integers(reports), minlength=self.size))

    def shares(self, tally: Tally) -> NDArray[np.float64]:
        """Unbiased shares."""
        return supported(tally, self.p, self.q)

    def law(self, value: int) -> Law:
        """The probability of every report."""
        return {y.to_bytes(self.width, "little"): self.p if y == value else self.q for y in range(self.size)}


@dataclass(frozen=True)
class Warner(KAryResponse):
    """Answer a question of yes and no truthfully with probability truth/2^bits.

    Guarantee: the two answers cost |ln(p/(1 - p))|: three quarters are ln 3.
    Proof: that of the k-ary response for two values.
    Reference: Warner, JASA 1965.
    Checked by: local::epsilon_is_the_worst_ratio_of_the_law, local::three_quarters_cost_ln_3,
        local::the_slides_variance_mixes_two_populations
    """

    name: ClassVar[str] = "warner"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole(self.size, "size", 2)
        if self.size != 2:
            from sfumato.errors import InputError

            raise InputError(f"warner needs two values, but has {self.size}", hint="Use k-ary.")
