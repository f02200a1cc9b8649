"""The chain: entries in one order, each holding the hash of the one before it.

Comes in: what happened, as a document. Goes out: an entry that cannot be changed, moved or removed without changing
every hash after it. The chain alone does not stop one who writes all of it anew; an anchor kept elsewhere does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from sfumato.errors import LedgerError
from sfumato.ledger.protocol import StoreConnection
from sfumato.ledger.records import Entry

FIRST = "0" * 64
"""What the first entry holds in place of the hash before it."""

KINDS = ("opened", "policy", "debit", "answer", "failed", "frozen", "thawed", "reopened")
"""Append-only, like the kinds of events: a chain written today is read in ten years."""

COLUMNS = "seq, time, kind, analyst, body, previous, hash"

PAGE = 1000
"""How many entries are read at once."""


def canonical(document: Any) -> str:
    """One text for one document: keys in order, no spaces, ASCII."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(data: bytes) -> str:
    """SHA-256, as text."""
    return hashlib.sha256(data).hexdigest()


def seal(*fields: int | str | None) -> str:
    """The hash of seq, time, kind, analyst, body and previous: over a JSON list, which reads in one way only."""
    return digest(canonical(fields).encode())


def head(connection: StoreConnection) -> tuple[int, str]:
    """Number and hash of the last entry; (0, FIRST) before there is one."""
    return _last(connection)[:2]


def hash_at(connection: StoreConnection, seq: int) -> str | None:
    """The hash of an entry, FIRST for number 0, None where there is none."""
    row = connection.execute("SELECT hash FROM entry WHERE seq = ?", (seq,)).fetchone()
    return str(row[0]) if row else FIRST if seq == 0 else None


def latest_time(connection: StoreConnection) -> str:
    """The time of the last entry, which no other is later than; nothing before there is one."""
    return _last(connection)[2]


def _last(connection: StoreConnection) -> tuple[int, str, str]:
    row = connection.execute("SELECT seq, hash, time FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
    return (row[0], row[1], str(row[2])) if row else (0, FIRST, "")


def append(connection: StoreConnection, time: str, kind: str, analyst: str | None, document: dict[str, Any]) -> Entry:
    """Write the next entry, inside the transaction that is open.

    Times never go back: where the clock did, an entry has the time of the one before it, and what the clock said.
    """
    last, previous, latest = _last(connection)
    if time < latest:
        time, document = latest, document | {"clock": time}
    seq, body = last + 1, canonical(document)
    sealed = seal(seq, time, kind, analyst, body, previous)
    connection.execute(
        "INSERT INTO entry(seq, time, kind, analyst, body, previous, hash) VALUES(?, ?, ?, ?, ?, ?, ?)",
        (seq, time, kind, analyst, body, previous, sealed),
    )
    return Entry(seq, time, kind, analyst, document, previous, sealed)


def read_entry(connection: StoreConnection, seq: int) -> Entry:
    """One entry by its number; its hash is checked, for it is about to be relied on."""
    row = connection.execute(f"SELECT {COLUMNS} FROM entry WHERE seq = ?", (seq,)).fetchone()  # noqa: S608 - a constant
    if row is None:
        raise LedgerError(f"entry {seq} of the ledger is missing")
    return check_row(row)


def read_last(connection: StoreConnection, *kinds: str) -> Entry | None:
    """The last entry of these kinds, which are not those that every question writes."""
    marks = ", ".join("?" * len(kinds))
    row = connection.execute(
        f"SELECT {COLUMNS} FROM entry WHERE kind NOT IN ('debit', 'answer') AND kind IN ({marks})"  # noqa: S608 - marks
        " ORDER BY seq DESC LIMIT 1",
        kinds,
    ).fetchone()
    return check_row(row) if row else None


def read_policies(connection: StoreConnection) -> list[tuple[dict[str, Any], bool]]:
    """All recorded terms, oldest first, each with whether something was charged under it; they are few."""
    rows = connection.execute(
        "SELECT seq FROM entry WHERE kind NOT IN ('debit', 'answer') AND kind = 'policy' ORDER BY seq"
    ).fetchall()
    places = [seq for (seq,) in rows]
    charged = "SELECT 1 FROM entry WHERE seq > ? AND seq < ? AND kind = 'debit' LIMIT 1"
    return [
        (read_entry(connection, seq).body["now"], connection.execute(charged, (seq, later)).fetchone() is not None)
        for seq, later in zip(places, [*places[1:], 2**63 - 1], strict=False)
    ]


def read_page(connection: StoreConnection, after: int) -> list[Entry]:
    """The next entries after a number, each checked by itself."""
    return [check_row(row) for row in _rows(connection, after)]


def read_own(connection: StoreConnection, analyst: str, before: int, limit: int) -> list[Entry]:
    """The last debits of one analyst before a number, and what became of them, the newest first; by their indexes."""
    debits = f"SELECT {COLUMNS} FROM entry WHERE seq < ? AND kind = 'debit' AND analyst = ? ORDER BY seq DESC LIMIT ?"  # noqa: S608 - a constant
    found = [check_row(row) for row in connection.execute(debits, (before, analyst, limit))]
    if not found:
        return []
    receipts = [entry.body["receipt"] for entry in found]
    answers = f"SELECT seq FROM answer WHERE receipt IN ({', '.join('?' * len(receipts))})"  # noqa: S608 - marks
    failures = "SELECT seq FROM entry WHERE kind NOT IN ('debit', 'answer') AND kind = 'failed' AND seq > ?"
    ends = [*connection.execute(answers, receipts), *connection.execute(failures, (found[-1].seq,))]
    return found + [read_entry(connection, seq) for (seq,) in ends]


def _rows(connection: StoreConnection, after: int) -> list[tuple[Any, ...]]:
    query = f"SELECT {COLUMNS} FROM entry WHERE seq > ? ORDER BY seq LIMIT ?"  # noqa: S608 - a constant
    return connection.execute(query, (after, PAGE)).fetchall()


def walk(connection: StoreConnection) -> Iterator[Entry]:
    """Every entry from the first, each checked by itself and against the one before it."""
    last, previous = 0, FIRST
    while rows := _rows(connection, last):
        for row in rows:
            if row[0] != last + 1:
                raise LedgerError(f"entry {last + 1} of the ledger is missing", detail=f"The next one is {row[0]}.")
            entry = check_row(row)
            if entry.previous != previous:
                raise LedgerError(f"entry {entry.seq} of the ledger does not follow entry {last}")
            last, previous = entry.seq, entry.hash
            yield entry


def check_row(row: tuple[Any, ...]) -> Entry:
    """An entry whose hash is that of its fields, or an error that names it."""
    seq, time, kind, analyst, body, previous, sealed = row
    texts = (time, kind, body, previous, sealed) if analyst is None else (time, kind, analyst, body, previous, sealed)
    if not all(isinstance(text, str) for text in texts) or seal(seq, time, kind, analyst, body, previous) != sealed:
        raise LedgerError(f"entry {seq} of the ledger was changed", detail="Its hash is not that of its fields.")
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    if kind not in KINDS or not isinstance(document, dict) or canonical(document) != body:
        raise LedgerError(
            f"entry {seq} of the ledger is not understood",
            detail=f"Its kind is {kind!r}.",
            hint="The ledger was written by newer code, or by hand.",
        )
    return Entry(seq, time, kind, analyst, document, previous, sealed)
