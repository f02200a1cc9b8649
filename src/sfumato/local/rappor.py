"""RAPPOR: strings as Bloom filters, a permanent noisy copy that is drawn once, and a fresh noisy copy of that.

Comes in: texts. Goes out: a cohort and the bits of a filter. Each cohort has hash functions of its own, so that strings
that share bits in one cohort are told apart in another. A device draws one permanent copy for a task, from a fresh key
and the first text that it reports, and keeps it: whatever it reports later, a thousand times, it has told one copy.
A copy for each text would tell when a text changes: two equal reports come from one copy for certain.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import ClassVar

import numpy as np

from sfumato.errors import InputError
from sfumato.local.base import CHUNK, Law, Tally, clean_padding, column_sums
from sfumato.local.tape import (
    Flags,
    Indices,
    KeyedTape,
    Octets,
    Tape,
    pack_integers,
    sample_coins,
    sample_uniform_bytes,
    unpack_integers,
)
from sfumato.local.thresholds import BITS, Odds, check_bits, check_tells, check_threshold, epsilon_of
from sfumato.reals import ceil


@dataclass(frozen=True)
class Rappor:
    """Report a Bloom filter of `filter` bits and `hashes` hash functions, flipped permanently, then again at each
    report.

    A permanent bit differs from the filter's with probability flip/2^bits (half of the paper's f); a reported bit is
    set with probability one/2^bits (the paper's q) where the permanent bit is set, else with zero/2^bits (its p). With
    one = 2^bits and zero = 0 the permanent copy itself is reported: the one-time variant.

    Guarantee: one report costs `epsilon`, and all reports that a device draws from one permanent copy cost `permanent`
        together, whatever its texts were and whenever they changed:
        hashes ln(q* (1 - p*)/(p* (1 - q*))) and 2 hashes ln((1 - flip)/flip), both rounded up, where q* and p* are the
        probabilities of a set bit in the report for a set and for an unset bit of the filter.
    Proof: two texts differ in at most `hashes` bits in each direction, and bits are independent. Whatever is sent later
        is a post-processing of the permanent copy, which depends on the first text alone.
    Reference: Erlingsson, Pihur, Korolova, CCS 2014.
    Checked by: local::rappor_costs_what_its_bits_can_tell, local::epsilon_is_the_worst_ratio_of_the_law,
        local::a_permanent_copy_is_drawn_once, local::all_reports_of_a_device_cost_its_permanent_copy
    """

    name: ClassVar[str] = "rappor"
    takes: ClassVar[str] = "strings"
    filter: int
    hashes: int
    cohorts: int
    flip: int
    one: int
    zero: int
    bits: int = BITS

    def __post_init__(self) -> None:
        check_bits(self.bits)
        if not 1 <= self.hashes <= 8:
            raise InputError(f"hashes must be 1 to 8, but is {self.hashes}")
        if not 2 <= self.filter <= 4096 or not 1 <= self.cohorts <= 1024:
            raise InputError("a filter has 2 to 4096 bits, and there are 1 to 1024 cohorts")
        check_threshold(self.flip, self.bits, "flip")
        if not 0 <= self.zero <= 1 << self.bits or not 0 <= self.one <= 1 << self.bits:
            raise InputError(f"one and zero must be 0 to 2^{self.bits}")
        check_tells(1 - self.f_half, self.f_half)
        check_tells(self.p, self.q)

    @classmethod
    def planned(
        cls,
        epsilon: object,
        permanent: object | None = None,
        *,
        filter: int = 64,  # noqa: A002  the name of the field
        hashes: int = 2,
        cohorts: int = 16,
        bits: int = BITS,
    ) -> Rappor:
        """`epsilon` for one report and `permanent` for all of a device; without it the permanent copy is reported."""
        unit = 1 << bits
        odds = Odds.of(epsilon).split(2 * hashes)
        if permanent is None:
            return cls(filter, hashes, cohorts, unit - odds.keep(1, bits), unit, 0, bits)
        flip = unit - Odds.of(permanent).split(2 * hashes).keep(1, bits)
        part = Fraction(flip, unit)
        wanted = odds.value / (odds.value + 1)
        if wanted > 1 - part:
            return cls(filter, hashes, cohorts, flip, unit, 0, bits)
        one = -ceil(-(unit * (wanted - part) / (1 - 2 * part)))
        return cls(filter, hashes, cohorts, flip, one, unit - one, bits)

    @property
    def f_half(self) -> Fraction:
        """The probability that a permanent bit is wrong."""
        return Fraction(self.flip, 1 << self.bits)

    @property
    def p(self) -> Fraction:
        """The probability of a set bit in a report where the filter's is set (q* of the paper)."""
        one, zero = Fraction(self.one, 1 << self.bits), Fraction(self.zero, 1 << self.bits)
        return (1 - self.f_half) * one + self.f_half * zero

    @property
    def q(self) -> Fraction:
        """The same where it is not (p* of the paper)."""
        one, zero = Fraction(self.one, 1 << self.bits), Fraction(self.zero, 1 << self.bits)
        return self.f_half * one + (1 - self.f_half) * zero

    @property
    def ratio(self) -> Fraction:
        """The largest likelihood ratio of two values."""
        return self.pair_ratio**self.hashes

    @property
    def pair_ratio(self) -> Fraction:
        """The same for one bit in each direction."""
        return self.p * (1 - self.q) / (self.q * (1 - self.p))

    @property
    def epsilon(self) -> Fraction:
        """What one report costs."""
        return epsilon_of(self.ratio)

    @property
    def one_time(self) -> bool:
        """Whether the permanent copy itself is reported."""
        return self.one == 1 << self.bits and self.zero == 0

    @property
    def permanent_copy(self) -> Rappor:
        """The encoder of which one report is the permanent copy: all reports of a device are made from that."""
        return replace(self, one=1 << self.bits, zero=0)

    @property
    def permanent(self) -> Fraction:
        """What all reports from one permanent copy cost together."""
        return epsilon_of(((1 - self.f_half) / self.f_half) ** (2 * self.hashes))

    @property
    def width(self) -> int:
        """Bytes of a report: the cohort, then the bits."""
        return 2 + (self.filter + 7) // 8

    def filters(self, text: str) -> Flags:
        """The Bloom filter of a text in every cohort, one row each."""
        rows = np.zeros((self.cohorts, self.filter), np.bool_)
        for cohort in range(self.cohorts):
            rows[cohort, list(places(text, cohort, self.hashes, self.filter))] = True
        return rows

    def encode(self, values: Sequence[str], tape: Tape) -> Octets:
        """One report each of devices that have never reported before: cohorts and permanent copies are drawn anew."""
        reports = np.empty((len(values), self.width), np.uint8)
        tables = {text: self.filters(text) for text in set(values)}
        step = max(1, CHUNK // self.filter)
        for start in range(0, len(values), step):
            part = values[start : start + step]
            cohorts = sample_uniform_bytes(tape, len(part), self.cohorts)
            true = np.stack([tables[text][cohort] for text, cohort in zip(part, cohorts.tolist(), strict=True)])
            reports[start : start + step] = self._report(cohorts, self._permanent(true, tape), tape)
        return reports

    def copy(self, text: str, cohort: int, key: bytes, task: bytes) -> Flags:
        """The permanent copy of a device with a cohort: drawn from its first text, then kept. The key is secret, and
        drawn for this copy alone: a second copy from it would be the same for the same text only.
        """
        if len(key) < 16 or not 0 <= cohort < self.cohorts:
            raise InputError(f"a device has a key of at least 16 bytes and a cohort below {self.cohorts}")
        true = np.zeros((1, self.filter), np.bool_)
        true[0, list(places(text, cohort, self.hashes, self.filter))] = True
        return self._permanent(true, KeyedTape(key, memo_label(task, cohort, text)))

    def report_kept(self, cohort: int, copy: Flags, tape: Tape) -> bytes:
        """One report of a device that has drawn its permanent copy."""
        return self._report(np.array([cohort]), copy, tape).tobytes()

    def _permanent(self, true: Flags, tape: Tape) -> Flags:
        wrong = sample_coins(tape, true.size, self.flip, self.bits).reshape(true.shape)
        return true ^ wrong

    def _report(self, cohorts: Indices, kept: Flags, tape: Tape) -> Octets:
        """Fresh coins for the set and the unset bits, the probability of which depends on nothing else."""
        set_ones = sample_coins(tape, kept.size, self.one, self.bits).reshape(kept.shape)
        set_zeros = sample_coins(tape, kept.size, self.zero, self.bits).reshape(kept.shape)
        told = np.where(kept, set_ones, set_zeros)
        return np.concatenate([pack_integers(cohorts, 2), np.packbits(told, axis=1, bitorder="little")], axis=1)

    def law(self, text: str) -> Law:
        """The probability of every report; for small filters."""
        each = {}
        for cohort, row in enumerate(self.filters(text)):
            for bits in product((0, 1), repeat=self.filter):
                chance = Fraction(1, self.cohorts)
                for true, bit in zip(row.tolist(), bits, strict=True):
                    rate = self.p if true else self.q
                    chance *= rate if bit else 1 - rate
                tail = np.packbits(np.array(bits, np.uint8), bitorder="little").tobytes()
                each[cohort.to_bytes(2, "little") + tail] = chance
        return each

    def valid(self, reports: Octets) -> Flags:
        """Whether the cohort exists."""
        return (unpack_integers(reports[:, :2]) < self.cohorts) & clean_padding(reports[:, 2:], self.filter)

    def tally(self, reports: Octets) -> Tally:
        """For each cohort the number of reports, then how often each bit was set."""
        cohorts = unpack_integers(reports[:, :2])
        rows = []
        for cohort in range(self.cohorts):
            part = reports[cohorts == cohort, 2:]
            rows.append(np.concatenate([[len(part)], column_sums(part, self.filter)]))
        return np.concatenate(rows).astype(np.int64)


@lru_cache(maxsize=1 << 16)
def places(text: str, cohort: int, hashes: int, size: int) -> tuple[int, ...]:
    """Where a text sets its bits in one cohort: four bytes of a digest for each hash function."""
    digest = hashlib.sha256(cohort.to_bytes(2, "little") + text.encode()).digest()
    return tuple(int.from_bytes(digest[4 * i : 4 * i + 4], "little") % size for i in range(hashes))


def memo_label(task: bytes, cohort: int, text: str) -> bytes:
    """What a permanent copy belongs to: task, cohort and text, none of which can run into another."""
    return hashlib.sha256(task).digest() + cohort.to_bytes(2, "little") + hashlib.sha256(text.encode()).digest()
