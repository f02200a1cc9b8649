"""Strings of any kind: fingerprints, the count-mean sketch, and heavy hitters by extending prefixes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import ClassVar

import numpy as np

from sfumato.errors import InputError
from sfumato.local.base import CHUNK, Law, Tally, Worth, clean_padding, column_sums
from sfumato.local.hashing import LIMB, PRIME, Buckets
from sfumato.local.tape import (
    Flags,
    Indices,
    Octets,
    SystemTape,
    Tape,
    octets_for,
    pack_integers,
    sample_coins,
    sample_uniform_bytes,
    unpack_integers,
)
from sfumato.local.thresholds import BITS, Odds, check_bits, check_tells, check_threshold, epsilon_of


def fingerprints(texts: Sequence[str]) -> Indices:
    """Sixty bits of a digest of each text: two texts share them with probability 2^-60."""
    kept: dict[str, int] = {}
    for text in texts:
        if text not in kept:
            kept[text] = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") & ((1 << 2 * LIMB) - 1)
    return np.array([kept[text] for text in texts], np.int64)


def hash_limbs(low_by: Indices, high_by: Indices, offset: Indices, values: Indices, prime: int) -> Indices:
    """(a low + c high + b) modulo the prime, for values of two limbs."""
    low, high = values & ((1 << LIMB) - 1), values >> LIMB
    result: Indices = (low_by * low % prime + high_by * high % prime + offset) % prime
    return result


@dataclass(frozen=True)
class CountMeanSketch:
    """Pick one of `hashes` public hash functions, and report its one-hot vector of `columns` bits, each flipped.

    Guarantee: any two texts cost at most epsilon = 2 ln(p/(1 - p)), p = truth/2^bits, rounded up.
    Proof: the hash function does not depend on the text; given it at most two bits differ.
    Reference: Apple's Differential Privacy Team, 2017.
    Checked by: local::epsilon_is_the_worst_ratio_of_the_law, local::estimates_are_unbiased_with_the_stated_variance,
        local::collisions_are_exactly_as_stated
    """

    name: ClassVar[str] = "count-mean-sketch"
    takes: ClassVar[str] = "strings"
    hashes: int
    columns: int
    truth: int
    salt: int = 0
    prime: int = PRIME
    bits: int = BITS

    def __post_init__(self) -> None:
        check_bits(self.bits)
        check_threshold(self.truth, self.bits, "truth")
        if not 1 <= self.hashes <= 1 << 16 or not 0 <= self.salt < 1 << 31:
            raise InputError("there are 1 to 65536 hash functions, and a salt from 0 to 2^31 - 1")
        check_tells(self.p, 1 - self.p)
        self._cut  # noqa: B018  its own checks

    @classmethod
    def planned(
        cls, epsilon: object, *, hashes: int = 1024, columns: int = 1024, salt: int | None = None, bits: int = BITS
    ) -> CountMeanSketch:
        """Half of epsilon for each of two bits. Unless a salt is given, it is drawn: other texts meet in each task."""
        if salt is None:
            salt = int(sample_uniform_bytes(SystemTape(), 1, 1 << 31)[0])
        return cls(hashes, columns, Odds.of(epsilon).halved().keep(1, bits), salt, bits=bits)

    @cached_property
    def _cut(self) -> Buckets:
        return Buckets(self.prime, self.columns)

    @cached_property
    def _functions(self) -> Indices:
        """Three numbers for each hash function, from a digest of salt and number."""
        rows = [hashlib.sha256(f"sketch/{self.salt}/{j}".encode()).digest() for j in range(self.hashes)]
        return np.array(
            [[int.from_bytes(row[8 * i : 8 * i + 8], "little") % self.prime for i in range(3)] for row in rows]
        )

    @property
    def p(self) -> Fraction:
        """The probability of a true bit."""
        return Fraction(self.truth, 1 << self.bits)

    @property
    def q(self) -> Fraction:
        """The probability that a report supports another text, over all hash functions."""
        meet = self._cut.collision
        return self.p * meet + (1 - self.p) * (1 - meet)

    @property
    def ratio(self) -> Fraction:
        """The largest likelihood ratio of two values."""
        return (self.p / (1 - self.p)) ** 2

    @property
    def epsilon(self) -> Fraction:
        """What one report costs."""
        return epsilon_of(self.ratio)

    @property
    def width(self) -> int:
        """Bytes of a report: the hash function, then the bits."""
        return 2 + (self.columns + 7) // 8

    @property
    def worth(self) -> Worth:
        """What one report contributes, apart from collisions that all reports share. A text that never meets another
        supports it with its lies alone.
        """
        return Worth.of_support(self.p, self.q, 1 - self.p)

    @property
    def collision_spread(self) -> float:
        """Variance of a share for each unit of the sum of squared other shares: the hash functions are public, and a
        text that meets another meets it in every report.
        """
        meet = float(self._cut.collision)
        return meet / (1 - meet) / self.hashes

    @property
    def collision_step(self) -> float:
        """How far a share moves if its text meets, under one hash function, another that everybody has."""
        return 1 / (1 - float(self._cut.collision)) / self.hashes

    def column(self, function: Indices, marks: Indices) -> Indices:
        """Where each fingerprint falls under each hash function."""
        low, high, offset = self._functions[function].T
        return self._cut.of(hash_limbs(low, high, offset, marks, self.prime))

    def encode(self, values: Sequence[str], tape: Tape) -> Octets:
        """The hash function, and the flipped vector."""
        marks = fingerprints(values)
        reports = np.empty((len(marks), self.width), np.uint8)
        step = max(1, CHUNK // self.columns)
        for start in range(0, len(marks), step):
            part = marks[start : start + step]
            function = sample_uniform_bytes(tape, len(part), self.hashes)
            lies = ~sample_coins(tape, len(part) * self.columns, self.truth, self.bits).reshape(len(part), -1)
            lies[np.arange(len(part)), self.column(function, part)] ^= True
            packed = np.packbits(lies, axis=1, bitorder="little")
            reports[start : start + step] = np.concatenate([pack_integers(function, 2), packed], axis=1)
        return reports

    def law(self, text: str) -> Law:
        """The probability of every report; for small sketches."""
        each = {}
        for j in range(self.hashes):
            own = int(self.column(np.array([j]), fingerprints([text]))[0])
            for bits in product((0, 1), repeat=self.columns):
                chance = Fraction(1, self.hashes)
                for column, bit in enumerate(bits):
                    chance *= self.p if bit == (column == own) else 1 - self.p
                tail = np.packbits(np.array(bits, np.uint8), bitorder="little").tobytes()
                each[j.to_bytes(2, "little") + tail] = chance
        return each

    def valid(self, reports: Octets) -> Flags:
        """Whether the hash function exists."""
        return (unpack_integers(reports[:, :2]) < self.hashes) & clean_padding(reports[:, 2:], self.columns)

    def tally(self, reports: Octets) -> Tally:
        """The sketch: for each hash function the number of reports, then how often each bit was set."""
        functions = unpack_integers(reports[:, :2])
        order = np.argsort(functions, kind="stable")
        ends = np.searchsorted(functions[order], np.arange(self.hashes + 1))
        table = np.zeros((self.hashes, self.columns + 1), np.int64)
        for j in range(self.hashes):
            part = reports[order[ends[j] : ends[j + 1]], 2:]
            table[j, 0], table[j, 1:] = len(part), column_sums(part, self.columns)
        return table.ravel()

    def supports(self, tally: Tally, texts: Sequence[str]) -> Tally:
        """The number of reports, then how many support each text."""
        table = tally.reshape(self.hashes, self.columns + 1)
        everybody = np.arange(self.hashes)
        counts = [int(table[everybody, 1 + self.column(everybody, mark)].sum()) for mark in fingerprints(texts)]
        return np.array([int(table[:, 0].sum()), *counts], np.int64)


@dataclass(frozen=True)
class PrefixExtending:
    """Report, by local hashing, a prefix of the text whose length is picked at random; frequent texts are then found
    letter by letter.

    A text is its first `letters` bytes (at most seven), filled up with zeros.

    Guarantee: any two texts cost at most the epsilon of the k-ary response over `buckets` values.
    Proof: length and hash function do not depend on the text; given them the report is k-ary response on a bucket.
    Reference: Wang, Li, Jha, IEEE TDSC 2019 (prefix extending method).
    Checked by: local::epsilon_is_the_worst_ratio_of_the_law, local::frequent_texts_are_found_letter_by_letter
    """

    name: ClassVar[str] = "prefix"
    takes: ClassVar[str] = "strings"
    letters: int
    buckets: int
    truth: int
    prime: int = PRIME
    bits: int = BITS

    def __post_init__(self) -> None:
        check_bits(self.bits)
        check_threshold(self.truth, self.bits, "truth")
        if not 1 <= self.letters <= 7:
            raise InputError(f"letters must be 1 to 7, but is {self.letters}")
        self._cut  # noqa: B018  its own checks
        check_tells(self.told_p, (1 - self.told_p) / (self.buckets - 1))

    @classmethod
    def planned(cls, epsilon: object, *, letters: int = 6, bits: int = BITS) -> PrefixExtending:
        """Buckets as in local hashing."""
        odds = Odds.of(epsilon)
        buckets = max(2, min(1 << 12, odds.whole() + 1))
        return cls(letters, buckets, odds.keep(buckets - 1, bits), bits=bits)

    @cached_property
    def _cut(self) -> Buckets:
        return Buckets(self.prime, self.buckets)

    @property
    def told_p(self) -> Fraction:
        """The probability that the true bucket is reported."""
        return Fraction(self.truth, 1 << self.bits)

    p = told_p

    @property
    def q(self) -> Fraction:
        """The probability that a report supports another prefix."""
        meet = self._cut.collision
        return self.p * meet + (1 - self.p) / (self.buckets - 1) * (1 - meet)

    @property
    def ratio(self) -> Fraction:
        """The largest likelihood ratio of two values."""
        return self.p * (self.buckets - 1) / (1 - self.p)

    @property
    def epsilon(self) -> Fraction:
        """What one report costs."""
        return epsilon_of(self.ratio)

    @property
    def width(self) -> int:
        """Bytes of a report: the length, three numbers of the hash function, the bucket."""
        return 1 + 12 + octets_for(self.buckets)

    @property
    def worth(self) -> Worth:
        """What one report of a group contributes to that group's shares."""
        return Worth.of_support(self.p, self.q)

    def codes(self, texts: Sequence[str]) -> Indices:
        """The first letters of each text as a number."""
        padded = [text.encode()[: self.letters].ljust(self.letters, b"\0") for text in texts]
        return np.array([int.from_bytes(one, "big") for one in padded], np.int64)

    def encode(self, values: Sequence[str], tape: Tape) -> Octets:
        """Length less one, hash function, reported bucket."""
        from sfumato.local.kary import KAryResponse

        codes, n = self.codes(values), len(values)
        group = sample_uniform_bytes(tape, n, self.letters)
        low, high, offset = (sample_uniform_bytes(tape, n, self.prime) for _ in range(3))
        prefixes = codes >> (8 * (self.letters - 1 - group))
        buckets = self._cut.of(hash_limbs(low, high, offset, prefixes, self.prime))
        told = KAryResponse(self.buckets, self.truth, self.bits).encode(buckets, tape)
        numbers = [pack_integers(part, 4) for part in (low, high, offset)]
        return np.concatenate([pack_integers(group, 1), *numbers, told], axis=1)

    def _parts(self, reports: Octets) -> tuple[Indices, ...]:
        numbers = [unpack_integers(reports[:, 1 + 4 * i : 5 + 4 * i]) for i in range(3)]
        return unpack_integers(reports[:, :1]), *numbers, unpack_integers(reports[:, 13:])

    def law(self, text: str) -> Law:
        """The probability of every report; for small primes."""
        each = {}
        code = int(self.codes([text])[0])
        for group, *numbers in product(range(self.letters), *(range(self.prime) for _ in range(3))):
            prefix = np.array([code >> (8 * (self.letters - 1 - group))], np.int64)
            low, high, offset = (np.array([number], np.int64) for number in numbers)
            bucket = int(self._cut.of(hash_limbs(low, high, offset, prefix, self.prime))[0])
            head = bytes([group]) + b"".join(number.to_bytes(4, "little") for number in numbers)
            for told in range(self.buckets):
                chance = self.p if told == bucket else (1 - self.p) / (self.buckets - 1)
                each[head + told.to_bytes(self.width - 13, "little")] = chance / (self.letters * self.prime**3)
        return each

    def valid(self, reports: Octets) -> Flags:
        """Whether all numbers are in range."""
        group, low, high, offset, bucket = self._parts(reports)
        small = (low < self.prime) & (high < self.prime) & (offset < self.prime)
        return small & (group < self.letters) & (bucket < self.buckets)

    def tally(self, reports: Octets) -> Tally:
        """How many reports there are of each length."""
        return np.bincount(unpack_integers(reports[:, :1]), minlength=self.letters).astype(np.int64)

    def supports(self, reports: Octets, group: int, parents: Indices) -> Tally:
        """How many reports on this length support each parent with each of 256 last letters: a row per parent."""
        groups, low, high, offset, bucket = self._parts(reports)
        own, starts, prime = groups == group, self._cut.starts, np.uint32(self.prime)
        low, high, offset, bucket = low[own], high[own], offset[own], bucket[own]
        room = (starts[bucket + 1] - starts[bucket]).astype(np.uint32)
        step, begin = low.astype(np.uint32), offset - starts[bucket]
        counts = np.zeros((len(parents), 256), np.int64)
        for row, parent in enumerate(parents.tolist()):
            first = np.array([parent << 8], np.int64)
            state = hash_limbs(low, high, begin % self.prime, first, self.prime).astype(np.uint32)
            for letter in range(256):
                counts[row, letter] = np.count_nonzero(state < room)
                state = state + step
                state = np.minimum(state, state - prime)  # wraps around where nothing is to be taken off
        return counts
