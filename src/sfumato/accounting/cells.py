"""Cells: a partition of people, so that what is asked about some does not count against the others.

Comes in: what the cells of one data version have spent, as far as one question is concerned, in units of 1e-15. Goes
out: what a charge to some of them adds to what is spent. Spent is what was charged to everybody, plus, for each data
version, the largest sum of a cell; under replace the two largest, for a person may leave one cell and enter another.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from heapq import nlargest
from typing import TypeAlias

from sfumato.errors import InputError
from sfumato.types import UNIT, Adjacency, Loss, show

Rooms: TypeAlias = tuple[int | None, int | None, int | None]
"""What is left of epsilon, rho and delta, in units; None where a door is shut, overrun or missing."""


def to_units(amount: Fraction | int) -> int:
    """An amount in units of 1e-15, rounded up; a negative one would be a refund, and nothing is refunded."""
    if amount < 0:
        raise InputError(f"a loss must be at least 0, but is {show(amount)}")
    return -(-amount.numerator * UNIT.denominator // amount.denominator)


@dataclass(frozen=True, slots=True)
class Heights:
    """One currency in one data version: the sums of all cells that a question touches, and the largest of all others.

    Of the others, those that are among the largest of all cells are enough: as many as one person can change.
    """

    touched: tuple[int, ...]
    others: tuple[int, ...] = ()

    def peak(self, most: int, cost: int = 0) -> int:
        """The `most` largest sums together, once each touched cell has paid `cost`."""
        return sum(nlargest(most, [*(paid + cost for paid in self.touched), *self.others]))

    def growth(self, most: int, cost: int) -> int:
        """What a charge of `cost` adds to the peak: nothing, as long as other cells are higher."""
        return self.peak(most, cost) - self.peak(most)

    def room(self, most: int, left: int) -> int:
        """The largest cost whose growth is at most `left`.

        The peak is the largest sum of k touched cells and `most` - k others, and k of them pay; so each k is a bound.
        """
        touched, others = sorted(self.touched, reverse=True), sorted(self.others, reverse=True)
        high = left + self.peak(most)
        return min(
            (high - sum(touched[:k]) - sum(others[: most - k])) // k for k in range(1, min(most, len(touched)) + 1)
        )


@dataclass(frozen=True, slots=True)
class TouchedCells:
    """The cells that a question touches, among the cells of one data version, in each currency.

    A version is here a state of the rows: the ledger keeps other rows under the same name apart (`ledger.cells`).

    Guarantee: with charges to cells, everything that a filter ever admitted keeps the promise of that filter, for every
        person, if in each data version a person is in one cell at most, by her own rows alone, and an answer depends
        only on people in the cells that its question touches, which are known from its text.
    Proof: take two neighbours. Under add-remove they differ in one person, who is in one cell c(v) of each version v. A
        release that does not touch c(v) has the same law on both sides: to this pair it costs nothing in any currency.
        The others cost their price, which is fixed before the noise is drawn. These are prices for this one pair, and
        the proof of the filter speaks of one pair at a time. Its sums for this pair are the charges to everybody and
        to c(v), added up over v; in each currency this is at most what is spent, which takes the largest cell of each
        version, wherever she is. So pure: log-ratios add up to at most spent epsilon. zcdp: the supermartingale of this
        pair has sums of rho of at most spent rho. Delta: its exceptional events have at most spent delta. best: spent
        epsilon is within its limit, or spent rho is, so the sums of this pair pass by the same door; the largest cell
        may be another one in epsilon than in rho, and a release without a claim in a currency shuts that door for
        all cells. Under replace she leaves c(v) and enters c'(v), where a release that touches neither cancels and
        any other costs its price once: together at most the sums of two cells. Who is where may change from version to
        version, so versions add up.
    Reference: semantics 5.3; McSherry, SIGMOD 2009; docs/decisions/002-best-filter.md, which is for each pair.
    Checked by: laws::spent_is_the_worst_path, laws::no_person_pays_more_than_is_promised,
        laws::rooms_of_cells_are_exact, laws::no_adversary_gains_by_cells, unit::cells_are_parallel,
        unit::replace_takes_the_two_largest, unit::versions_add_up
    """

    adjacency: Adjacency
    epsilon: Heights
    rho: Heights
    delta: Heights

    @property
    def most(self) -> int:
        """How many cells one person can change: the one that she is in, and under replace another."""
        return self.adjacency.keys(1)

    def growth(self, loss: Loss) -> Loss:
        """What a charge of `loss` to these cells adds to what is spent; None stays None, which shuts a door."""
        return Loss(
            None if loss.epsilon is None else self.epsilon.growth(self.most, to_units(loss.epsilon)) * UNIT,
            None if loss.rho is None else self.rho.growth(self.most, to_units(loss.rho)) * UNIT,
            self.delta.growth(self.most, to_units(loss.delta)) * UNIT,
        )

    def rooms(self, left: Rooms) -> Rooms:
        """The largest charge to these cells that fits in what is left for everybody, in each currency."""
        epsilon, rho, delta = left
        return (
            None if epsilon is None else self.epsilon.room(self.most, epsilon),
            None if rho is None else self.rho.room(self.most, rho),
            None if delta is None else self.delta.room(self.most, delta),
        )
