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
from typing import TYPE_CHECKING, Any

from sfumato.errors import InputError, LedgerError, PolicyError
from sfumato.ledger import chain, running_sums, schema, store
from sfumato.ledger.anchor import OLDER, check_anchor, open_anchor, write_anchor
from sfumato.ledger.charging import ChargingRules
from sfumato.ledger.earlier_use import check_found
from sfumato.ledger.group_commit import LedgerWriter
from sfumato.ledger.last_head import LastHead, advance_last_head, check_holds, read_last_head
from sfumato.ledger.moved_ledger import check_here
from sfumato.ledger.operator_messages import OPERATOR, Owner
from sfumato.ledger.protocol import Head, Store, StoreConnection
from sfumato.ledger.records import EVERYBODY, ServerError, SpendingTerms, name
from sfumato.ledger.sqlite import SqliteStore
from sfumato.ledger.units import describe_changes, find_conflict, known_units

if TYPE_CHECKING:
    from sfumato.ledger.postgres import PostgresStore

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
    terms: SpendingTerms | None
    anchor: Path | None
    last_head: Path | None
    who: str
    busy: float
    clock: Clock


def place_of(path: Path | str) -> Path | str:
    """A path that stays the same wherever the process goes, the word for memory, or an address."""
    return str(path) if str(path) == store.MEMORY or is_address(path) else Path(path).absolute()


def is_address(path: Path | str) -> bool:
    """Whether a ledger lies in a PostgreSQL server; no file is named so."""
    return isinstance(path, str) and path.startswith(("postgresql://", "postgres://"))


def make_store(path: Path | str, busy: float, *, visiting: bool = False) -> Store:
    """Where a ledger lies; nothing is opened yet."""
    return make_server(str(path), busy, visiting=visiting)[0] if is_address(path) else SqliteStore(path, busy)


def make_server(address: str, busy: float, *, visiting: bool = False) -> tuple[PostgresStore, str]:
    """A ledger in a server, and where that is, without who may come in."""
    try:
        from sfumato.ledger.postgres import PostgresStore
        from sfumato.ledger.postgres_link import show_address
    except ImportError:
        raise InputError("a ledger in PostgreSQL needs psycopg", hint="pip install 'sfumato[postgres]'") from None
    return PostgresStore(address, busy, visiting=visiting), show_address(address)


def has_ledger(path: Path | str, busy: float = 10.0) -> bool:
    """Whether there is a ledger at a place."""
    try:
        return make_store(place_of(path), busy).exists()
    except (OSError, ServerError) as error:
        raise store.unreachable(error) from error


def accept_server(address: str, who: str, busy: float = 10.0) -> bool:
    """Accept the server that an address leads to now; return whether it was another one before."""
    return make_server(address, busy)[0].accept(name(who, "who"), stamp(now))


def open_ledger(request: Opening, owner: Owner) -> tuple[ChargingRules, Store, LedgerWriter, str | None]:
    """Check, make or upgrade the ledger, record the policy, and start the thread that writes.

    Last comes where a new ledger was begun; None for one that was there. The operator is told of it.
    """
    if request.path == store.MEMORY and request.anchor is not None:
        raise InputError("a ledger in memory has no anchor", hint="Name a file for the ledger.")
    try:
        anchor = None if request.anchor is None else open_anchor(request.anchor)
        last = read_last_head(request.last_head)
        place = make_store(request.path, request.busy, visiting=request.data_id is None)
        if not place.exists():
            _check_not_lost(place, anchor, request.last_head, last, visiting=request.data_id is None)
        rules, head, fresh = place.start(lambda link, new: (*_prepare(link, request, anchor, last, fresh=new), new))
    except (sqlite3.Error, OSError, ServerError) as error:
        raise store.unreachable(error) from error

    def committed(head: Head) -> None:
        if request.anchor is not None:
            write_anchor(request.anchor, *head)
        if request.last_head is not None:
            advance_last_head(request.last_head, *head, serving=request.terms is not None)

    try:
        committed(head)
    except BaseException:
        place.close_readers()
        place.close()
        raise
    begun = _shown(request.path) if fresh else None
    if begun is not None and request.last_head is not None:
        OPERATOR.info("created a new ledger: %s (nothing has been charged yet)", begun)
    return rules, place, LedgerWriter(place, committed, owner), begun


def _shown(path: Path | str) -> str:
    """Where a ledger is, without who may come in."""
    return make_server(str(path), 0.0)[1] if is_address(path) else str(path)


def _check_not_lost(
    place: Store, anchor: tuple[int, str] | None, last_head: Path | None, last: LastHead | None, *, visiting: bool
) -> None:
    """Refuse an anchor, a log or a record without its ledger: it was removed, and a new one is a new budget."""
    place.check_left()
    if anchor is not None:
        raise LedgerError(
            "the ledger is older than its anchor",
            detail=f"The anchor names entry {anchor[0]}, but there is no ledger.",
            hint=OLDER,
        )
    check_found(last_head, last, place.exists)
    if visiting:
        raise LedgerError("there is no ledger there yet")


def _prepare(
    connection: StoreConnection, request: Opening, anchor: tuple[int, str] | None, last: LastHead | None, *, fresh: bool
) -> tuple[ChargingRules, Head]:
    """Everything about opening that reads or writes the ledger, in one transaction."""
    if fresh:
        if request.data_id is None:
            raise LedgerError("the file holds no ledger yet")
        check_found(request.last_head, last)  # a file without a ledger in it may stand in the place of one
        document = {"data": request.data_id, "format": schema.FORMAT, "ledger": os.urandom(16).hex()}
        chain.append(connection, stamp(request.clock), "opened", None, document)
    check_anchor(connection, anchor)
    data_id = _check_data(connection, request.data_id)
    rules = _adopt(connection, data_id, request, check_holds(connection, last))
    return rules, chain.head(connection)


def _check_data(connection: StoreConnection, data_id: str | None) -> str:
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


def _adopt(connection: StoreConnection, data_id: str, request: Opening, lost: LastHead | None) -> ChargingRules:
    """The policy in force from now on; a change is an entry, with what was before and who changed it.

    So is a ledger that the owner accepted although it lacks entries (`lost`), for whoever reads the chain later.
    """
    last = chain.read_last(connection, "policy")
    before, sealed = (None, "") if last is None else (last.body["now"], last.hash)
    terms = SpendingTerms.from_dict(before or {}) if request.terms is None else request.terms
    if request.terms is not None:
        check_here(connection)
    if request.terms is not None and (terms.to_dict() != before or lost is not None):
        check_change(connection, before, terms)
        _tell_changes(connection, before, terms)
        body: dict[str, Any] = {"who": name(request.who, "who"), "before": before, "now": terms.to_dict()}
        if lost is not None:
            body["lost"] = {"seq": lost.seq, "hash": lost.hash}
        sealed = chain.append(connection, stamp(request.clock), "policy", None, body).hash
        running_sums.write_limits(connection, terms)
    return ChargingRules(data_id, terms, terms.filters(), sealed)


def _check_adjacency(connection: StoreConnection, before: dict[str, Any] | None, terms: SpendingTerms) -> None:
    """What was spent is what the promise says it is: prices for add-remove do not bound what replace promises."""
    spent = running_sums.read_sums(connection, EVERYBODY)["debits"] if terms.covers_less(before) else 0
    if spent:
        raise PolicyError(
            'adjacency cannot become "replace" any more',
            detail=f"Charges so far ({spent}) were computed for add-remove, where one person changes less.",
            hint='Keep adjacency = "add-remove", or begin a new data set.',
        )


def check_change(connection: StoreConnection, before: dict[str, Any] | None, terms: SpendingTerms) -> None:
    """Refuse a change of policy that earlier charges do not cover: of the adjacency, or of what one unit is."""
    _check_adjacency(connection, before, terms)
    conflict = find_conflict(known_units(chain.read_policies(connection)), terms.units)
    if conflict is not None:
        spent = running_sums.read_sums(connection, EVERYBODY)["debits"]
        raise PolicyError(
            conflict,
            detail=f"Charges so far ({spent}) are for the recorded units; what another unit lost by them is unknown.",
            hint="Keep the unit of every table, or begin a new data set with another id and ledger.",
        )


def _tell_changes(connection: StoreConnection, before: dict[str, Any] | None, terms: SpendingTerms) -> None:
    """Tell the owner of units that are accepted although nothing can check them."""
    known = known_units(chain.read_policies(connection))
    for change in describe_changes(known, (before or {}).get("units", {}), terms.units) if known else ():
        OPERATOR.warning("%s", change)
