"""Which bound is best for a noisy histogram of persons: post-processing, in fractions, the same whenever it is asked.

Comes in: noisy numbers of persons by powers of two, and how much noise one step of the bound costs. Goes out: the power
of two for which noise and what is lost by bounding are least together; or None, where too few persons can be seen.

With a bound C the noise of an answer is about C times `noise`, and a person with m > C loses m - C. A bucket counts as
its middle. A noisy number that noise alone may well have made counts as zero: otherwise noise in one of the high and
empty buckets, which weigh most, would decide. Whatever is chosen, privacy does not depend on it (semantics 3.1c).

Were the numbers exact, the error with the chosen C would be at most eight times the least that any C has. Let C* be the
best, 2^(k-1) < C* <= 2^k. With 2^(k+1) the noise is at most four times as large, and who still loses is counted for at
most 3/2 of what she loses with C*; so the estimated error is at most four times the least. The true error of a C is at
most twice its estimate, as nobody has more than twice the middle of her bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.mechanisms import Geometric
from sfumato.types import Adjacency

SURE = Fraction(95, 100)
"""How sure we are that no empty bucket of a histogram passes for one with persons."""


@dataclass(frozen=True)
class Persons:
    """Noisy numbers of persons: bucket k is of those who have more than 2^(k-1) and up to 2^k; the last is the rest.

    `alone`: with a bound of 1, who has more is left out (rows, semantics 3.1d), and not only what is beyond 1.
    """

    counts: tuple[int, ...]
    epsilon: Fraction
    adjacency: Adjacency
    alone: bool

    @property
    def law(self) -> Geometric:
        """The noise in each number: under replace a person leaves one bucket and enters another."""
        return Geometric(self.adjacency.sensitivity_l1(1, nonnegative=True), self.epsilon)

    @property
    def noise(self) -> Fraction:
        """The scale of a histogram's noise for each step of the bound, at the epsilon of these numbers."""
        return self.law.scale

    @property
    def seen(self) -> tuple[int, ...]:
        """The numbers with those taken as zero that, one among so many, noise alone might have made."""
        _, most = self.law.interval(1 - (1 - SURE) / len(self.counts))
        return tuple(count if count > most else 0 for count in self.counts)

    def best(self) -> int | None:
        """The bound with the least error by these numbers; the lowest of several; None where nobody can be seen."""
        return choose(self.seen, self.noise, alone=self.alone)

    def lost(self, bound: Fraction) -> Fraction | None:
        """The part of everything that is beyond this bound, about; None where nobody can be seen."""
        whole = sum(count * middle(k) for k, count in enumerate(self.seen))
        return _lost(self.seen, bound, alone=False) / whole if whole else None


def middle(bucket: int) -> Fraction:
    """The middle of the whole numbers in a bucket: 1; 2; 3 and 4; 5 to 8."""
    return Fraction(1) if bucket == 0 else Fraction((1 << bucket - 1) + 1 + (1 << bucket), 2)


def choose(counts: Sequence[int], noise: Fraction, *, alone: bool) -> int | None:
    """The power of two, below the last bucket, for which noise and loss are least."""
    if not any(counts):
        return None
    bounds = [Fraction(1 << k) for k in range(len(counts) - 1)]
    return int(min(bounds, key=lambda bound: (noise * bound + _lost(counts, bound, alone=alone), bound)))


def _lost(counts: Sequence[int], bound: Fraction, *, alone: bool) -> Fraction:
    kept = 0 if alone and bound == 1 else bound
    return sum((n * (middle(k) - kept) for k, n in enumerate(counts) if middle(k) > bound), Fraction(0))
