"""What a local encoder is, and what its reports are worth.

An encoder is one frozen record of integers: sizes and thresholds, as they stand in a task file. It turns values into
reports of a fixed number of bytes, adds reports up (a *tally*, which can be added to others) and says how much one
report adds to the estimate of one value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.local.tape import Flags, Indices, Octets, Tape

Tally = NDArray[np.int64]
Law = Mapping[bytes, Fraction]
CHUNK = 1 << 20
"""Bytes that are handled at once where a report is long."""


@dataclass(frozen=True, slots=True)
class Worth:
    """How one report contributes to the estimate of one share.

    `own` is the variance of the contribution of somebody who has the value, `other` that of somebody who has not; `low`
    and `high` are the least and the largest contribution that any report can make, a fake one included. `honest` is the
    least that an honest report contributes on average: 0, or less where public hash functions are the same for all.
    """

    own: Fraction
    other: Fraction
    low: Fraction
    high: Fraction
    honest: Fraction = Fraction(0)

    @classmethod
    def of_support(cls, p: Fraction, q: Fraction, least: Fraction | None = None) -> Worth:
        """A report supports the value with probability p if it is the person's own, else with q on average and, for
        some values, with as little as `least`.
        """
        gap = p - q
        honest = Fraction(0) if least is None else (least - q) / gap
        return cls(p * (1 - p) / gap**2, q * (1 - q) / gap**2, -q / gap, (1 - q) / gap, honest)


class Encoder(Protocol):
    """One local mechanism: what every entry of ENCODERS can do."""

    name: ClassVar[str]
    takes: ClassVar[str]
    """What it reports on: "values" (a declared list), "numbers" (a range) or "strings" (any text)."""

    @property
    def ratio(self) -> Fraction:
        """The largest likelihood ratio of two values, which is at least 1."""

    @property
    def epsilon(self) -> Fraction:
        """What one report costs, from the thresholds that are used, rounded up."""

    @property
    def width(self) -> int:
        """Bytes of a report."""

    def encode(self, values: Indices, tape: Tape) -> Octets:
        """One report for each value, a row of `width` bytes."""

    def valid(self, reports: Octets) -> Flags:
        """Which rows are reports that `encode` can give."""

    def tally(self, reports: Octets) -> Tally:
        """What these reports add to an estimate."""


class Frequencies(Encoder, Protocol):
    """An encoder of one value out of a declared list."""

    @property
    def size(self) -> int:
        """How many values the list has."""

    @property
    def worth(self) -> Worth:
        """What one report contributes."""

    def shares(self, tally: Tally) -> NDArray[np.float64]:
        """The unbiased estimate of every value's share."""

    def law(self, value: int) -> Law:
        """The probability of every report, exactly; for small sizes."""


def supported(counts: Tally, p: Fraction, q: Fraction) -> NDArray[np.float64]:
    """Unbiased shares from the number of reports and, behind it, the number that support each value."""
    n = max(1, int(counts[0]))
    result: NDArray[np.float64] = (counts[1:] / n - float(q)) / float(p - q)
    return result


def with_count(reports: Octets, counts: NDArray[Any]) -> Tally:
    """A tally: the number of reports, then counts."""
    return np.concatenate([[len(reports)], counts]).astype(np.int64)


def column_sums(packed: Octets, columns: int) -> Tally:
    """How many rows have each bit set; bits are packed eight to a byte, the first in the lowest."""
    sums = np.zeros(columns, np.int64)
    step = 255 * max(1, CHUNK // (255 * max(1, columns)))
    for start in range(0, len(packed), step):
        bits = np.unpackbits(packed[start : start + step], axis=1, count=columns, bitorder="little")
        for at in range(0, len(bits), 255):
            sums += np.add.reduce(bits[at : at + 255], axis=0, dtype=np.uint8)
    return sums


def clean_padding(packed: Octets, columns: int) -> Flags:
    """Which rows have no bit set beyond the last column."""
    spare = -columns % 8
    if not spare:
        return np.ones(len(packed), np.bool_)
    result: Flags = packed[:, -1] < (1 << (8 - spare))
    return result
