"""What each person has spent on reports, and the last report, in memory; `ledger.person_budgets` keeps them.

Amounts are whole multiples of 1e-15, as everywhere in the project.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Protocol, TypeVar

from sfumato.errors import BudgetError
from sfumato.types import show

Point = tuple[int, ...]
T = TypeVar("T")


@dataclass(frozen=True)
class Held:
    """What a person has spent, and the grid point that was reported last."""

    spent: Fraction
    last: Point | None


NOBODY = Held(Fraction(0), None)


class Purse(Protocol):
    """Where spending is kept."""

    def held(self, person: str) -> Held:
        """What is known about a person."""

    def charge(self, person: str, cost: Fraction, budget: Fraction) -> None:
        """Add a cost; BudgetError where the sum would exceed the budget, and nothing is added then."""

    def remember(self, person: str, point: Point) -> None:
        """Keep the last report."""

    def together(self, run: Callable[[Purse], T]) -> T:
        """Run this with a purse that nobody else spends from meanwhile, and keep all that it spent and remembered at
        once: it is kept when this returns, and none of it if this raises.
        """


class MemoryPurse:
    """A purse that ends with the process; `before` is what others have kept."""

    def __init__(self, before: Mapping[str, Held] = MappingProxyType({})) -> None:
        self._before, self._held = before, dict[str, Held]()

    def _key(self, person: str) -> str:
        """The name under which a person is kept."""
        return person

    def held(self, person: str) -> Held:
        """What is known about a person."""
        key = self._key(person)
        return self._held.get(key) or self._before.get(key, NOBODY)

    def charge(self, person: str, cost: Fraction, budget: Fraction) -> None:
        """Add a cost within the budget."""
        before = self.held(person)
        check_budget(before.spent, cost, budget)
        self._held[self._key(person)] = Held(before.spent + cost, before.last)

    def remember(self, person: str, point: Point) -> None:
        """Keep the last report."""
        self._held[self._key(person)] = Held(self.held(person).spent, point)

    def together(self, run: Callable[[Purse], T]) -> T:
        """Run this on a purse of its own, and keep what it spent and remembered."""
        purse = MemoryPurse(self._held)
        result = run(purse)
        self._held |= purse._held
        return result


def check_budget(spent: Fraction, cost: Fraction, budget: Fraction) -> None:
    """Raise BudgetError where a cost does not fit."""
    if spent + cost > budget:
        raise BudgetError(
            "the location budget of this person does not allow another report",
            detail=f"Spent {show(spent)} of {show(budget)}; this report costs {show(cost)}.",
            hint="Keep the last report, or start a new budget deliberately.",
        )
