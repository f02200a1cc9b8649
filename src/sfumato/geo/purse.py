"""What each person has spent on reports, and the last report, in memory; `ledger.person_budgets` keeps them.

Amounts are whole multiples of 1e-15, as everywhere in the project.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from sfumato.errors import BudgetError
from sfumato.types import show

Point = tuple[int, ...]


@dataclass(frozen=True)
class Held:
    """What a person has spent, and the grid point that was reported last."""

    spent: Fraction
    last: Point | None


class Purse(Protocol):
    """Where spending is kept."""

    def held(self, person: str) -> Held:
        """What is known about a person."""

    def charge(self, person: str, cost: Fraction, budget: Fraction) -> None:
        """Add a cost; BudgetError where the sum would exceed the budget, and nothing is added then."""

    def remember(self, person: str, point: Point) -> None:
        """Keep the last report."""


class MemoryPurse:
    """A purse that ends with the process."""

    def __init__(self) -> None:
        self._held: dict[str, Held] = {}

    def held(self, person: str) -> Held:
        """What is known about a person."""
        return self._held.get(person, Held(Fraction(0), None))

    def charge(self, person: str, cost: Fraction, budget: Fraction) -> None:
        """Add a cost within the budget."""
        before = self.held(person)
        check_budget(before.spent, cost, budget)
        self._held[person] = Held(before.spent + cost, before.last)

    def remember(self, person: str, point: Point) -> None:
        """Keep the last report."""
        self._held[person] = Held(self.held(person).spent, point)


def check_budget(spent: Fraction, cost: Fraction, budget: Fraction) -> None:
    """Raise BudgetError where a cost does not fit."""
    if spent + cost > budget:
        raise BudgetError(
            "the location budget of this person does not allow another report",
            detail=f"Spent {show(spent)} of {show(budget)}; this report costs {show(cost)}.",
            hint="Keep the last report, or start a new budget deliberately.",
        )
