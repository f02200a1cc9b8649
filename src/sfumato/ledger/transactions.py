"""Several charges and their answers in one transaction, by work that reads what was spent inside of it.

Comes in: an open transaction, which no other writer can enter. Goes out: receipts that are durable when the transaction
is, and not before: whatever was drawn for them must not leave until `Ledger.together` has returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sfumato.accounting import Event
from sfumato.ledger import answers, chain
from sfumato.ledger.charging import ChargingRules, decide, make_request
from sfumato.ledger.protocol import StoreConnection
from sfumato.ledger.records import Entry, Receipt, Stored


class LedgerTransaction:
    """What `Ledger.together` hands to its work: the same calls as a ledger, inside one transaction."""

    def __init__(self, connection: StoreConnection, rules: ChargingRules, now: str) -> None:
        self._connection, self._rules, self._now = connection, rules, now

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """The chain, from the entry after a number."""
        while page := chain.read_page(self._connection, after=after):
            yield from page
            after = page[-1].seq

    def best(self, question: str, version: str) -> Stored | None:
        """The best answer that is stored, whatever its epsilon."""
        return answers.find_latest_answer(self._connection, question, version)

    def debit(self, analyst: str, event: Event, **of: Any) -> Receipt | Stored:
        """As `Ledger.debit`, for a question that nobody else asks."""
        request = make_request(self._rules.terms, analyst, event, **({"key": None, "plan": None} | of))
        return decide(self._connection, self._rules, request, self._now)

    def store(self, receipt: Receipt, answer: bytes) -> Stored:
        """As `Ledger.store`."""
        return answers.store(self._connection, receipt, answer, self._now)
