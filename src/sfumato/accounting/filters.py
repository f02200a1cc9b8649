"""Filters: whether a release may still be made, when each question is chosen after the last answer.

Comes in: the price of a release, before its noise is drawn. Goes out: a debit or a BudgetError, nothing in between.
Sums are integers in units of 1e-15, kept running, so a decision costs the same after ten thousand debits as after one.

The doors of `best`: a release may pass by the sum of epsilon or by the sum of rho. The whole proof is in
docs/decisions/002-best-filter.md. Delta is divided once: `delta_selection` bounds the sum of the deltas of releases,
the rest turns rho into epsilon.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction

from sfumato.accounting.cells import Rooms, TouchedCells, to_units
from sfumato.accounting.curves import renyi, renyi_limit, rho_star
from sfumato.accounting.events import Event, charge
from sfumato.accounting.refusals import refusal
from sfumato.errors import BudgetError, InputError, LedgerError, PolicyError
from sfumato.types import UNIT, Loss, as_written, positive, show

COMPOSITIONS = ("pure", "zcdp", "best")

NO_END = sys.maxsize
"""How many releases fit that cost nothing."""


@dataclass(frozen=True, slots=True)
class _Sums:
    """What was spent, in units; a door that met a release without a claim in its currency is shut for good."""

    epsilon: int = 0
    rho: int = 0
    delta: int = 0
    epsilon_shut: int = 0
    rho_shut: int = 0
    debits: int = 0

    def after(self, loss: Loss) -> _Sums:
        return _Sums(
            self.epsilon + to_units(loss.epsilon or 0),
            self.rho + to_units(loss.rho or 0),
            self.delta + to_units(loss.delta),
            self.epsilon_shut | (loss.epsilon is None),
            self.rho_shut | (loss.rho is None),
            self.debits + 1,
        )


class PrivacyFilter:
    """One budget, spent by releases that are chosen adaptively.

    Guarantee: everything that was ever admitted is together (epsilon, delta)-private, under all three compositions.
    Proof: pure: log-ratios add up to at most epsilon. zcdp: L^alpha e^(-alpha (alpha-1) sum of rho), with L the
        likelihood ratio, is a supermartingale for each alpha, so the stopped process is rho*-zCDP. best: a finished
        transcript fits one door wholly or the other wholly, and both promise the same epsilon, so the two parts add
        without a second delta. The exceptional events of releases add up to delta_selection. Limits are rounded
        down, prices up. In full: docs/decisions/002-best-filter.md. For charges to some people only, see `Cells`.
    Reference: Rogers, Roth, Ullman, Vadhan, NeurIPS 2016; Whitehouse, Ramdas, Rogers, Wu, ICML 2023.
    Checked by: laws::a_filter_never_exceeds, laws::no_adversary_exceeds_the_best_filter, unit::ten_tenths_are_one,
        unit::fifty_nine_tenths_under_best, unit::a_gaussian_shuts_the_pure_door,
        unit::a_refinement_shuts_the_rho_door
    """

    __slots__ = ("_delta", "_epsilon", "_rho", "_sums", "composition")

    def __init__(
        self, composition: str, epsilon: object, delta: object = 0, delta_selection: object | None = None
    ) -> None:
        if composition not in COMPOSITIONS:
            raise PolicyError(f'composition must be "pure", "zcdp" or "best", but is {composition!r}')
        self.composition = composition
        whole_epsilon = positive(epsilon, "epsilon")
        selection, conversion = divide_delta(delta, delta_selection)
        if composition == "zcdp" and conversion == 0:
            raise PolicyError(
                'composition "zcdp" needs a delta above delta_selection',
                hint='Set delta, for example 1e-6, or composition = "pure".',
            )
        self._delta = _limit(selection)
        self._epsilon = None if composition == "zcdp" else _limit(whole_epsilon)
        converts = composition != "pure" and conversion > 0
        self._rho = _limit(rho_star(whole_epsilon, conversion)) if converts else None
        self._sums = _Sums()

    @property
    def limit(self) -> Loss:
        """What may be spent in each currency in all; None where a currency has no limit."""
        return Loss(_amount(self._epsilon), _amount(self._rho), self._delta * UNIT)

    @property
    def spent(self) -> Loss:
        """What was charged so far; None where a release made no claim in that currency."""
        sums = self._sums
        return Loss(
            None if sums.epsilon_shut else sums.epsilon * UNIT,
            None if sums.rho_shut else sums.rho * UNIT,
            sums.delta * UNIT,
        )

    def remaining(self, cells: TouchedCells | None = None) -> Loss:
        """What is left in each currency, for everybody or for these cells: 0 if it is closed, None if unlimited."""
        epsilon, rho, delta = self._rooms(cells)
        return Loss(
            None if self._epsilon is None else (epsilon or 0) * UNIT,
            None if self._rho is None else (rho or 0) * UNIT,
            (delta or 0) * UNIT,
        )

    def _rooms(self, cells: TouchedCells | None) -> Rooms:
        sums = self._sums
        rooms = (
            _room(self._epsilon, sums.epsilon, sums.epsilon_shut),
            _room(self._rho, sums.rho, sums.rho_shut),
            _room(self._delta, sums.delta),
        )
        return rooms if cells is None else cells.rooms(rooms)

    def admits(self, loss: Loss, cells: TouchedCells | None = None) -> bool:
        """Whether this release fits; checking costs nothing."""
        return self._fits(self._sums.after(_growth(loss, cells)))

    def _fits(self, sums: _Sums) -> bool:
        by_epsilon = self._epsilon is not None and not sums.epsilon_shut and sums.epsilon <= self._epsilon
        by_rho = self._rho is not None and not sums.rho_shut and sums.rho <= self._rho
        return sums.delta <= self._delta and (by_epsilon or by_rho)

    def spend(self, loss: Loss, cells: TouchedCells | None = None) -> None:
        """Charge this release to everybody or to these cells, or raise a BudgetError and change nothing."""
        sums = self._sums.after(_growth(loss, cells))
        if not self._fits(sums):
            raise refusal(self.composition, loss, self.remaining(cells), self.limit)
        self._sums = sums

    def remaining_count(self, loss: Loss, cells: TouchedCells | None = None) -> int:
        """How many more releases of this cost fit, exactly, if all of them are charged to the same cells."""
        epsilon, rho, delta = self._rooms(cells)
        doors = max(_times(epsilon, loss.epsilon), _times(rho, loss.rho))
        return min(doors, _times(delta, loss.delta))

    def state(self) -> dict[str, int]:
        """The running sums, for a ledger."""
        return asdict(self._sums)

    def restore(self, state: Mapping[str, int]) -> None:
        """Restore the running sums from a ledger."""
        whole = all(type(value) is int and value >= 0 for value in state.values())
        if set(state) != set(self.state()) or not whole:  # a sum left out would be budget given back
            raise LedgerError(
                "the state of a filter is damaged", detail=f"It must hold whole numbers: {', '.join(self.state())}."
            )
        self._sums = _Sums(**state)


def divide_delta(delta: object, delta_selection: object | None) -> tuple[Fraction, Fraction]:
    """Delta in two: for the exceptional events of releases (half, unless said), and to turn rho into epsilon."""
    whole = as_written(delta, "delta")
    selection = whole / 2 if delta_selection is None else as_written(delta_selection, "delta_selection")
    if not 0 <= whole < 1:
        raise InputError(f"delta must be at least 0 and below 1, but is {show(whole)}")
    if not 0 <= selection <= whole:
        raise InputError(f"delta_selection must be between 0 and delta {show(whole)}, but is {show(selection)}")
    return selection, whole - selection


def _growth(loss: Loss, cells: TouchedCells | None) -> Loss:
    """What a release adds to what is spent: its price, or what its cells make of it."""
    return loss if cells is None else cells.growth(loss)


def _limit(amount: Fraction) -> int:
    """A limit in units, rounded down."""
    return amount // UNIT


def _amount(units: int | None) -> Fraction | None:
    return None if units is None else units * UNIT


def _room(limit: int | None, spent: int, shut: int = 0) -> int | None:
    """What is left at a door; None where it is shut, overrun or missing."""
    return None if limit is None or shut or spent > limit else limit - spent


def _times(room: int | None, cost: Fraction | None) -> int:
    """How often a cost fits in a room."""
    if room is None or cost is None:
        return 0
    units = to_units(cost)
    return room // units if units else NO_END


class RenyiFilter:
    """One budget, counted in the Renyi divergence of one order that is fixed before the first query.

    Guarantee: everything that was ever admitted is together (epsilon, delta)-private.
    Proof: that of the zcdp filter for this alpha alone. A second order tried on the same answers would need its own
        share of delta.
    Reference: Feldman, Zrnic, NeurIPS 2021; Canonne, Kamath, Steinke, NeurIPS 2020.
    Checked by: unit::renyi_filter_counts, laws::a_renyi_filter_never_exceeds
    """

    __slots__ = ("_delta", "_spent", "_spent_delta", "limit", "order")

    def __init__(self, order: object, epsilon: object, delta: object, delta_selection: object | None = None) -> None:
        selection, conversion = divide_delta(delta, delta_selection)
        if conversion == 0:
            raise PolicyError("a Renyi filter needs a delta above delta_selection", hint="Set delta, for example 1e-6.")
        self.order = as_written(order, "order")
        self.limit = renyi_limit(self.order, epsilon, conversion)
        if self.limit == 0:
            raise PolicyError(f"order {show(self.order)} leaves nothing to spend", hint="Choose a higher order.")
        self._delta, self._spent, self._spent_delta = _limit(selection) * UNIT, Fraction(0), Fraction(0)

    def remaining(self) -> Fraction:
        """What is left of the divergence."""
        return self.limit - self._spent

    def _after(self, event: Event) -> tuple[Fraction, Fraction] | None:
        """The sums with this event, or None where it does not fit."""
        value, delta = renyi(event, self.order), self._spent_delta + charge(event).delta
        if value is None or self._spent + value > self.limit or delta > self._delta:
            return None
        return self._spent + value, delta

    def admits(self, event: Event) -> bool:
        """Whether this release fits; checking costs nothing."""
        return self._after(event) is not None

    def spend(self, event: Event) -> None:
        """Debit this release, or raise a BudgetError and change nothing."""
        sums = self._after(event)
        if sums is None:
            left = f"{show(self.remaining())} of {show(self.limit)} remains"
            cost = renyi(event, self.order)
            costs = "claims no divergence" if cost is None else f"costs {show(cost)}"
            detail = f"This release {costs} at order {show(self.order)}; {left}."
            raise BudgetError("budget is spent", detail=detail, hint="Use a smaller epsilon, or fewer groups.")
        self._spent, self._spent_delta = sums
