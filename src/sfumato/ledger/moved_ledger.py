"""A ledger that was moved elsewhere can be spent there, and nowhere else.

The last entry at the old place says that it is frozen, and where it went; only the place that it names may thaw it. A
copy of the old place says the same.
"""

from __future__ import annotations

from typing import Any

from sfumato.errors import LedgerError
from sfumato.ledger import chain
from sfumato.ledger.protocol import StoreConnection, dialect_of
from sfumato.ledger.records import Entry


def find_move(connection: StoreConnection) -> dict[str, Any] | None:
    """Return where the ledger went, if the last that happened to it was that it was moved."""
    return _move_of(chain.read_last(connection, "frozen", "thawed"))


def _move_of(last: Entry | None) -> dict[str, Any] | None:
    found = last.body.get("moved") if last is not None and last.kind == "frozen" else None
    return found if isinstance(found, dict) else None


def check_here(connection: StoreConnection) -> bool:
    """Refuse to go on at a place that the ledger was moved away from; return whether the budget is frozen."""
    last = chain.read_last(connection, "frozen", "thawed")
    went = _move_of(last)
    if went is not None and went.get("place") != dialect_of(connection).read_place(connection):
        raise LedgerError(
            "the ledger was moved",
            detail="Charges are recorded at its new place.",
            hint="Name the new place in the policy of every gateway.",
        )
    return last is not None and last.kind == "frozen"
