"""Optimised local hashing: a random hash function of one's own, then randomized response on the hashed value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.local.base import Law, Tally, Worth, supported, with_count
from sfumato.local.hashing import PRIME, Buckets, hashed
from sfumato.local.kary import KAryResponse
from sfumato.local.tape import Flags, Indices, Octets, Tape, octets_for, pack_integers, sample_uniform_bytes
from sfumato.local.tape import unpack_integers as unpack
from sfumato.local.thresholds import BITS, Odds, check_size

_BLOCK = 1 << 14
"""Reports whose hash functions are stepped through all values at once: they fit into the processor's cache."""


@dataclass(frozen=True)
class LocalHashing:
    """Report a random hash function, and the bucket of the true value by k-ary response over the buckets.

    Guarantee: any two values cost the epsilon of the k-ary response over `buckets` values.
    Proof: the hash function does not depend on the value; given it, two values fall into one bucket, and cost nothing,
        or into two, and cost that epsilon.
    Reference: Wang, Blocki, Li, Jha, USENIX Security 2017; the hash functions are Carter and Wegman's, whose collisions
        are exact.
    Checked by: local::epsilon_is_the_worst_ratio_of_the_law, local::collisions_are_exactly_as_stated,
        local::estimates_are_unbiased_with_the_stated_variance
    """

    name: ClassVar[str] = "local-hashing"
    takes: ClassVar[str] = "values"
    size: int
    buckets: int
    truth: int
    prime: int = PRIME
    bits: int = BITS

    def __post_init__(self) -> None:
        check_size(self.size)
        if self.size > self.prime:
            raise InputError(f"there are more values than the prime {self.prime} can distinguish")
        self._told  # noqa: B018  its own checks
        self._cut  # noqa: B018  the same

    @classmethod
    def planned(cls, size: int, epsilon: object, bits: int = BITS) -> LocalHashing:
        """The number of buckets with the least variance: one more than e^epsilon."""
        odds = Odds.of(epsilon)
        buckets = max(2, min(1 << 12, odds.whole() + 1))
        return cls(size, buckets, odds.keep(buckets - 1, bits), bits=bits)

    @cached_property
    def _told(self) -> KAryResponse:
        return KAryResponse(self.buckets, self.truth, self.bits)

    @cached_property
    def _cut(self) -> Buckets:
        return Buckets(self.prime, self.buckets)

    @property
    def p(self) -> Fraction:
        """The probability that a report supports the true value."""
        return self._told.p

    @property
    def q(self) -> Fraction:
        """The probability that it supports another one."""
        meet = self._cut.collision
        return self._told.p * meet + self._told.q * (1 - meet)

    @property
    def ratio(self) -> Fraction:
        """The largest likelihood ratio of two values."""
        return self._told.ratio

    @property
    def epsilon(self) -> Fraction:
        """What one report costs."""
        return self._told.epsilon

    @property
    def width(self) -> int:
        """Bytes of a report: two numbers of the hash function, and a bucket."""
        return 2 * self._number + self._told.width

    @property
    def _number(self) -> int:
        return octets_for(self.prime)

    @property
    def worth(self) -> Worth:
        """What one report contributes."""
        return Worth.of_support(self.p, self.q)

    def encode(self, values: Indices, tape: Tape) -> Octets:
        """Multiplier, offset, reported bucket."""
        a = sample_uniform_bytes(tape, len(values), self.prime)
        b = sample_uniform_bytes(tape, len(values), self.prime)
        told = self._told.encode(self._cut.of(hashed(a, b, values, self.prime)), tape)
        return np.concatenate([pack_integers(a, self._number), pack_integers(b, self._number), told], axis=1)

    def _parts(self, reports: Octets) -> tuple[Indices, Indices, Indices]:
        cut = self._number
        return unpack(reports[:, :cut]), unpack(reports[:, cut : 2 * cut]), unpack(reports[:, 2 * cut :])

    def valid(self, reports: Octets) -> Flags:
        """Whether numbers and bucket are in range."""
        a, b, bucket = self._parts(reports)
        result: Flags = (a < self.prime) & (b < self.prime) & (bucket < self.buckets)
        return result

    def tally(self, reports: Octets) -> Tally:
        """How many reports support each value.

        A report supports v if (a v + b) lies in its bucket. The sums are stepped from v to v + 1 by one addition and
        one subtraction, in 32 bits, with the start of the bucket taken off: then it is one comparison a value.
        """
        supports = np.zeros(self.size, np.int64)
        starts = self._cut.starts
        for at in range(0, len(reports), _BLOCK):
            a, b, bucket = self._parts(reports[at : at + _BLOCK])
            step, prime = a.astype(np.uint32), np.uint32(self.prime)
            room = (starts[bucket + 1] - starts[bucket]).astype(np.uint32)
            state = ((b - starts[bucket]) % self.prime).astype(np.uint32)
            below, inside = np.empty_like(state), np.empty(len(state), np.bool_)
            for value in range(self.size):
                np.less(state, room, out=inside)
                supports[value] += np.count_nonzero(inside)
                np.add(state, step, out=state)
                np.subtract(state, prime, out=below)  # wraps around to a large number where it is not needed
                np.minimum(state, below, out=state)
        return with_count(reports, supports)

    def shares(self, tally: Tally) -> NDArray[np.float64]:
        """Unbiased shares."""
        return supported(tally, self.p, self.q)

    def law(self, value: int) -> Law:
        """The probability of every report; for small primes."""
        each: dict[bytes, Fraction] = {}
        for a in range(self.prime):
            for b in range(self.prime):
                head = a.to_bytes(self._number, "little") + b.to_bytes(self._number, "little")
                bucket = (a * value + b) % self.prime * self.buckets // self.prime
                for told, chance in self._told.law(bucket).items():
                    each[head + told] = chance / self.prime**2
        return each
