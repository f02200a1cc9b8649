"""What each person has spent on reports, and the last report: in memory, or in a SQLite file that survives a crash.

A charge is on the disk before a report is drawn. Amounts are whole multiples of 1e-15, as everywhere in the project.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from sfumato.errors import BudgetError, InputError, LedgerError
from sfumato.words import UNIT, show

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


class FilePurse:
    """A purse in a SQLite file; a charge is one transaction, so that two processes cannot spend the same.

    `label` describes what a unit of the budget means (level, radius, grid); a file with another label is refused.
    """

    def __init__(self, path: Path, label: str) -> None:
        self.path, self.label = path, label
        try:
            self._base = sqlite3.connect(path, isolation_level=None, timeout=30)
            self._base.execute("PRAGMA synchronous = FULL")
            self._base.execute(
                "CREATE TABLE IF NOT EXISTS location_budget"
                " (label TEXT, person TEXT, units TEXT NOT NULL, last TEXT, PRIMARY KEY (label, person)) STRICT"
            )
            labels = {row[0] for row in self._base.execute("SELECT DISTINCT label FROM location_budget")}
        except sqlite3.DatabaseError as error:
            raise LedgerError(f'"{path.name}" is not a file of location budgets', detail=str(error)) from None
        if labels - {label}:
            raise InputError(
                f'"{path.name}" holds budgets of other settings',
                detail=f"They are for {min(labels - {label})}; these are for {label}.",
                hint="Use the same level, radius and grid, or another file.",
            )

    def held(self, person: str) -> Held:
        """What is known about a person."""
        row = self._base.execute(
            "SELECT units, last FROM location_budget WHERE label = ? AND person = ?", (self.label, person)
        ).fetchone()
        if row is None:
            return Held(Fraction(0), None)
        return Held(int(row[0]) * UNIT, None if row[1] is None else tuple(map(int, row[1].split(","))))

    def charge(self, person: str, cost: Fraction, budget: Fraction) -> None:
        """Add a cost within the budget, on the disk when this returns."""
        self._base.execute("BEGIN IMMEDIATE")
        try:
            spent = self.held(person).spent
            check_budget(spent, cost, budget)
            units = str(int((spent + cost) / UNIT))
            self._base.execute(
                "INSERT INTO location_budget VALUES (?, ?, ?, NULL)"
                " ON CONFLICT (label, person) DO UPDATE SET units = excluded.units",
                (self.label, person, units),
            )
            self._base.execute("COMMIT")
        except BaseException:
            self._base.execute("ROLLBACK")
            raise

    def remember(self, person: str, point: Point) -> None:
        """Keep the last report."""
        self._base.execute(
            "UPDATE location_budget SET last = ? WHERE label = ? AND person = ?",
            (",".join(map(str, point)), self.label, person),
        )

    def close(self) -> None:
        """Close the file."""
        self._base.close()


def check_budget(spent: Fraction, cost: Fraction, budget: Fraction) -> None:
    """Raise BudgetError where a cost does not fit."""
    if spent + cost > budget:
        raise BudgetError(
            "the location budget of this person does not allow another report",
            detail=f"Spent {show(spent)} of {show(budget)}; this report costs {show(cost)}.",
            hint="Keep the last report, or start a new budget deliberately.",
        )
