"""Moving a ledger into a PostgreSQL server, and copying one out of it: every row, and not one more.

Comes in: a connection to the old place, in one moment. Goes out: the same chain at the new place, checked there before
it is committed. `moved` says what the last entry at the old place means.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import InputError, LedgerError
from sfumato.files import PRIVATE
from sfumato.ledger import chain, schema
from sfumato.ledger.audit import audit
from sfumato.ledger.moved_ledger import find_move
from sfumato.ledger.postgres_schema import TABLES
from sfumato.ledger.protocol import StoreConnection, dialect_of
from sfumato.ledger.records import ChainReport

if TYPE_CHECKING:
    from sfumato.ledger.postgres import PostgresStore


def leave(connection: StoreConnection, to: str, who: str, now: str) -> dict[str, Any]:
    """Write the last entry of the old place, or find it there: an interrupted move goes on, to the same place."""
    went = find_move(connection)
    if went is not None and went["place"] != dialect_of(connection).read_place(connection):
        if went["to"] != to:
            raise InputError(
                "the ledger was already moved to another place",
                detail=f"It went to {went['to']}.",
                hint="Name that place to finish the move.",
            )
        return went
    last = chain.read_last(connection, "frozen", "thawed")
    frozen = last is not None and last.kind == "frozen"
    went = {"to": to, "place": os.urandom(16).hex(), "frozen": frozen}
    chain.append(connection, now, "frozen", None, {"who": who, "moved": went})
    return went


def arrive(connection: StoreConnection, new: PostgresStore, went: dict[str, Any], who: str, now: str) -> ChainReport:
    """Copy every row to the new place, check it there, and thaw it; all of it in one transaction.

    Guarantee: when it returns, the new place holds every entry of the old one with the same hashes, and the sums and
        answers that follow from them; the old one serves no more. At no time do both serve.
    Proof: the old place ended with an entry that names the new one, and its rows were read after that. What was written
        is recomputed by `audit` before it is committed, and its head is that of the old place.
    Reference: semantics 5.1 and 5.6.
    Checked by: end_to_end::a_ledger_is_moved_with_its_chain, end_to_end::a_move_that_was_interrupted_goes_on,
        end_to_end::what_was_moved_is_spent_at_one_place
    """
    with new.receive(str(went["place"])) as link:
        if link is None:  # it was done before, and only its end was not heard
            return new.read(audit, alone=True)
        copy_rows(connection, link)
        if chain.head(link) != chain.head(connection):
            raise LedgerError("the ledger was changed while it was moved", hint="Move it again.")
        audit(link)
        if not went["frozen"]:
            chain.append(link, now, "thawed", None, {"who": who, "moved": went["place"]})
        return audit(link)


def copy_rows(source: StoreConnection, target: StoreConnection) -> None:
    """Every row of every table, inside the transactions that are open."""
    for table in TABLES:
        order = " ORDER BY seq" if table == "entry" else ""
        rows = source.execute(f"SELECT * FROM {table}{order}").fetchall()  # noqa: S608 - constants
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            target.executemany(f"INSERT INTO {table} VALUES({marks})", rows)


def copy_to_file(source: StoreConnection, target: Path) -> None:
    """A new file with the same ledger, for what is tried out and not spent."""
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, PRIVATE))
    with closing(sqlite3.connect(target, isolation_level=None)) as file:
        file.execute("BEGIN")
        schema.create(file)
        copy_rows(source, file)
        file.execute("COMMIT")
