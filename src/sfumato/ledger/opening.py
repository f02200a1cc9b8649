"""Opening a ledger: the right file, of the right data set, not older than its anchor, under a policy that is recorded.

Comes in: a path and a policy, or a path alone. Goes out: the rules to decide by, and the one thread that writes.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, LedgerError, PolicyError
from sfumato.ledger import chain, schema, store, sums
from sfumato.ledger.anchor import OLDER, check_anchor, read_anchor, write_anchor
from sfumato.ledger.decide import Rules
from sfumato.ledger.groupcommit import Writer
from sfumato.ledger.records import EVERYBODY, Terms, name
from sfumato.ledger.tell import Owner

Clock = Callable[[], datetime]


def now() -> datetime:
    """The time of an entry."""
    return datetime.now(UTC)


def stamp(clock: Clock) -> str:
    """A time as it stands in the chain."""
    return clock().astimezone(UTC).isoformat(timespec="microseconds")


@dataclass(frozen=True, slots=True)
class Opening:
    """What is to be opened; no data id and no terms for one who only visits."""

    path: Path | str
    data_id: str | None
    terms: Terms | None
    anchor: Path | None
    who: str
    busy: float
    clock: Clock


def place_of(path: Path | str) -> Path | str:
    """A path that stays the same wherever the process goes, or the word for memory."""
    return store.MEMORY if str(path) == store.MEMORY else Path(path).absolute()


def open_ledger(request: Opening, owner: Owner) -> tuple[Rules, Writer]:
    """Check, make or upgrade the file, record the policy, and start the thread that writes."""
    if request.path == store.MEMORY and request.anchor is not None:
        raise InputError("a ledger in memory has no anchor", hint="Name a file for the ledger.")
    try:
        mark = None if request.anchor is None else read_anchor(request.anchor)
        if isinstance(request.path, Path):
            _check_not_lost(request.path, mark)
            store.make_file(request.path)
        connection = store.connect(request.path, request.busy)
        try:
            return _start(connection, request, mark, owner)
        except BaseException:
            connection.close()
            raise
    except (sqlite3.Error, OSError) as error:
        raise store.unreachable(error) from error


def _start(
    connection: sqlite3.Connection, request: Opening, mark: tuple[int, str] | None, owner: Owner
) -> tuple[Rules, Writer]:
    rules = store.patiently(lambda: _prepare(connection, request, mark), request.busy)
    names = store.Names.of(request.path) if isinstance(request.path, Path) else None
    if names is not None:
        store.sync_directory(names.log.parent)  # the name of the log: SQLite does it too, but ignores a failure

    def check() -> None:
        if names is not None:
            names.check()

    def committed(after: sqlite3.Connection) -> None:
        if request.anchor is not None:
            write_anchor(request.anchor, *chain.head(after))

    committed(connection)
    return rules, Writer(connection, check, committed, owner, patient=request.path != store.MEMORY)


def _check_not_lost(path: Path, mark: tuple[int, str] | None) -> None:
    """An anchor without its ledger: the file was removed, and a new one would be a new budget."""
    if mark is not None and (not path.exists() or path.stat().st_size == 0):
        raise LedgerError(
            "the ledger is older than its anchor",
            detail=f"The anchor names entry {mark[0]}, but there is no ledger.",
            hint=OLDER,
        )


def _prepare(connection: sqlite3.Connection, request: Opening, mark: tuple[int, str] | None) -> Rules:
    """Everything about opening that reads or writes the file, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if isinstance(request.path, Path):
            store.upgrade(connection, request.path)
        if schema.format_of(connection) == 0:
            if request.data_id is None:
                raise LedgerError("the file holds no ledger yet")
            schema.create(connection)
            document = {"data": request.data_id, "format": schema.FORMAT, "ledger": os.urandom(16).hex()}
            chain.append(connection, stamp(request.clock), "opened", None, document)
        check_anchor(connection, mark)
        rules = _adopt(connection, _check_data(connection, request.data_id), request)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return rules


def _check_data(connection: sqlite3.Connection, data_id: str | None) -> str:
    """The ledger is that of this data set; one who serves it also finds its last entry whole."""
    if data_id is not None:
        chain.read_entry(connection, chain.head(connection)[0])
    found = str(chain.read_entry(connection, 1).body.get("data"))
    if data_id is not None and found != data_id:
        raise LedgerError(
            f'the ledger belongs to "{found}", not to "{data_id}"',
            hint="A budget belongs to its data set: name the ledger of this one, or a new file.",
        )
    return found


def _adopt(connection: sqlite3.Connection, data_id: str, request: Opening) -> Rules:
    """The policy in force from now on; a change is an entry, with what was before and who changed it."""
    last = chain.read_last(connection, "policy")
    before, sealed = (None, "") if last is None else (last.body["now"], last.hash)
    terms = Terms.from_dict(before or {}) if request.terms is None else request.terms
    if request.terms is not None and terms.to_dict() != before:
        _check_adjacency(connection, before, terms)
        body = {"who": name(request.who, "who"), "before": before, "now": terms.to_dict()}
        sealed = chain.append(connection, stamp(request.clock), "policy", None, body).hash
        sums.write_limits(connection, terms)
    return Rules(data_id, terms, terms.filters(), sealed)


def _check_adjacency(connection: sqlite3.Connection, before: dict[str, Any] | None, terms: Terms) -> None:
    """What was spent is what the promise says it is: prices for add-remove do not bound what replace promises."""
    spent = sums.read_sums(connection, EVERYBODY)["debits"] if terms.covers_less(before) else 0
    if spent:
        raise PolicyError(
            'adjacency cannot become "replace" any more',
            detail=f"{spent} debits were priced for add-remove, where one person changes less.",
            hint='Keep adjacency = "add-remove", or begin a new data set.',
        )
