"""A budget for each person, in a ledger: what reports about her positions have cost, and the last of them.

Each person is a cell of the ledger's partition of people, so that what was spent is the largest of all persons'
budgets, and one filter bounds each of them. A test of a prediction is a debit; a fresh report is a debit and its
answer, the grid point, stored before it leaves. What a batch of reports (`together`) costs a person is one debit.

Guarantee: the charges of one person never exceed the budget, whichever threads and processes make them; a charge is on
the disk when `charge` or `together` returns; the chain binds all of them, and `sfumato ledger` verifies it.
Proof: those of `Ledger.debit` for cells, with each debit a question of its own, so that none is answered for nothing,
and of `Ledger.together`: what was spent is read in the transaction that charges the batch, so that no other process can
make the charge of a batch fail after its noise was drawn, which would tell something about it.
Reference: semantics 5.1 to 5.6.
Checked by: geo::a_budget_in_a_ledger_survives_the_process, geo::two_who_share_a_ledger_spend_one_persons_budget,
geo::a_ledger_and_memory_keep_the_same_accounts, geo::a_budget_that_was_edited_is_found,
geo::what_was_reported_is_in_the_ledger_after_kill, geo::a_batch_that_is_not_committed_reports_nothing
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from sfumato.accounting import Pure
from sfumato.errors import BudgetError, InputError, LedgerError
from sfumato.geo.purse import NOBODY, Held, MemoryPurse, Point, Purse, check_budget
from sfumato.ledger.ledger import Ledger
from sfumato.ledger.records import ChainReport, Receipt, Stored
from sfumato.ledger.transactions import LedgerTransaction
from sfumato.types import Adjacency

T = TypeVar("T")
_WHO = "locations"
_ROWS = "people"


class LedgerPurse:
    """What each person has spent, and her last report. Make one with `open` or `visit`; it is a context manager.

    `label` says what a unit of the budget means (level, radius, grid): a ledger with another label is refused.
    """

    def __init__(self, ledger: Ledger, version: str) -> None:
        self.ledger, self.budget, self._version = ledger, ledger.terms.epsilon, version
        self._held: dict[str, Held] = {}
        self._paid: dict[str, Receipt] = {}
        self._questions: dict[str, tuple[str, str]] = {}
        self._seen = 0
        self._catch_up()

    @classmethod
    def open(cls, path: Path, label: str, budget: Fraction) -> LedgerPurse:
        """To spend from, within this budget for each person."""
        version = hashlib.sha256(label.encode()).hexdigest()[:32]
        shown = "".join(letter for letter in label if letter.isprintable())[:200]
        try:
            ledger = Ledger.open(
                path,
                data_id=f"positions: {shown} {version}",
                composition="pure",
                epsilon=budget,
                policy_digest=version,
                adjacency=Adjacency.ADD_REMOVE,
                partition="person",
                who=_WHO,
            )
        except LedgerError as error:
            raise LedgerError(
                f'"{path.name}" does not hold budgets of these settings',
                detail=error.message[:1].upper() + error.message[1:] + ".",
                hint="Use the same level, radius and grid, or another file.",
            ) from None
        return cls(ledger, version)

    @classmethod
    def visit(cls, path: Path) -> LedgerPurse:
        """To look at; nothing is written."""
        ledger = Ledger.visit(path)
        if not ledger.data_id.startswith("positions: "):
            ledger.close()
            raise LedgerError(f'"{path.name}" is the ledger of a gateway, not of positions')
        return cls(ledger, ledger.data_id.rpartition(" ")[2])

    def __enter__(self) -> LedgerPurse:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()

    def verify(self) -> ChainReport:
        """Recompute the ledger from its chain."""
        return self.ledger.verify()

    def people(self) -> dict[str, Held]:
        """Everybody who was ever charged, by the names of their cells."""
        self._catch_up()
        return dict(self._held)

    def held(self, person: str) -> Held:
        """What is known about a person."""
        self._catch_up()
        return self._held.get(cell_of(person), NOBODY)

    def charge(self, person: str, cost: Fraction, budget: Fraction) -> None:
        """Add a cost within the budget, on the disk when this returns."""
        if budget != self.budget:
            raise InputError("the ledger was opened with another budget")
        check_budget(self.held(person).spent, cost, budget)
        try:
            made = self.ledger.debit(_WHO, Pure(cost), **self._charge(cell_of(person), cost))
        except BudgetError as error:  # another process was faster
            raise BudgetError(
                "the location budget of this person does not allow another report", detail=error.detail
            ) from None
        assert not isinstance(made, Stored)
        self._paid[person] = made

    def remember(self, person: str, point: Point) -> None:
        """Keep the last report: the answer that its charge has paid for."""
        self.ledger.store(self._paid.pop(person), json.dumps(point).encode())

    def together(self, run: Callable[[Purse], T]) -> T:
        """Charge a batch at once: a debit for each person, with the last report, on the disk when this returns."""

        def work(transaction: LedgerTransaction) -> T:
            self._catch_up(transaction)  # inside of it: what was spent cannot change until the batch is charged
            purse = _BatchPurse(self._held)
            result = run(purse)
            for cell, (before, after) in purse.changes().items():
                cost = after.spent - before.spent
                receipt = transaction.debit(_WHO, Pure(cost), **self._charge(cell, cost))
                assert not isinstance(receipt, Stored)
                if after.last is not None and after.last != before.last:
                    transaction.store(receipt, json.dumps(after.last).encode())
            return result

        return self.ledger.together(work)

    def _charge(self, cell: str, cost: Fraction) -> dict[str, Any]:
        return {
            "question": os.urandom(16).hex(),  # a name, not noise: no two charges are the same question
            "epsilon": cost,
            "version": self._version,
            "text": "reports of positions, and tests of the last ones",
            "cells": (cell,),
            "rows": _ROWS,
        }

    def _catch_up(self, looked: Ledger | LedgerTransaction | None = None) -> None:
        """Read the entries that were added since the last look, by whichever process."""
        looked = looked or self.ledger
        for entry in looked.entries(self._seen):
            self._seen = entry.seq
            if entry.kind == "debit":
                (cell,) = entry.body["cells"]
                before = self._held.get(cell, NOBODY)
                self._held[cell] = replace(before, spent=before.spent + Fraction(entry.body["event"]["epsilon"]))
                self._questions[entry.body["receipt"]] = cell, entry.body["question"]
            if entry.kind == "answer":
                cell, question = self._questions.pop(entry.body["receipt"])
                stored = looked.best(question, self._version)
                assert stored is not None
                self._held[cell] = replace(self._held[cell], last=tuple(json.loads(stored.answer)))


class _BatchPurse(MemoryPurse):
    """What a batch spends, by cells, until it is charged."""

    def _key(self, person: str) -> str:
        return cell_of(person)

    def changes(self) -> dict[str, tuple[Held, Held]]:
        """The cells that were charged, before and after."""
        return {cell: (self._before.get(cell, NOBODY), after) for cell, after in self._held.items()}


def cell_of(person: str) -> str:
    """The name of a person's cell: printable, of bounded length, and another one for everybody else."""
    if person.isprintable() and len(person) <= 200:
        return f"person {person}"
    return f"digest {hashlib.sha256(person.encode('utf-8', 'surrogatepass')).hexdigest()}"
