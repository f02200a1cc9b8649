"""A ledger in a PostgreSQL server, for gateways on several hosts: its lock, its fence, and commits in doubt.

Comes in: an address. Goes out: a `Store`. Every write locks the row `head` first, so that one gateway at a time
decides; every write and every look asks with the same statement whether this is the server that was served before.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import LifoQueue
from typing import Any, TypeVar

from sfumato.errors import InputError, LedgerError
from sfumato.ledger import chain, postgres_schema, schema
from sfumato.ledger.operator_messages import OPERATOR
from sfumato.ledger.postgres_link import NoConnection, PostgresLink, read_address
from sfumato.ledger.protocol import Head, StoreConnection, Work
from sfumato.ledger.records import OtherStore, OutcomeUnknown, ServerError
from sfumato.ledger.steps import StepResult
from sfumato.ledger.store import unreachable
from sfumato.types import identifier

T = TypeVar("T")

READERS = 4
"""At most so many read at once; each is opened when it is needed first."""

PATIENCE = 3
"""How many times as long as for a lock is looked for a commit in doubt."""

SERVER = (
    "(SELECT system_identifier::text FROM pg_control_system()) || '/' ||"
    " CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END"
)
"""Which cluster this is, and on which timeline: another one after a restored backup, a failover, a recovery."""

_SETTINGS = "current_setting('synchronous_commit'), current_setting('fsync')"
_FENCE = f"changes, format, place, server, {SERVER}, {_SETTINGS}, (SELECT hash FROM entry WHERE seq = ?)"  # noqa: S608 - constants
LOCK = f"UPDATE head SET changes = changes + 1 WHERE one RETURNING {_FENCE}"  # noqa: S608 - constants
LOOK = f"SELECT {_FENCE}, last.seq, last.hash FROM head, (SELECT seq, hash FROM entry ORDER BY seq DESC LIMIT 1) last"  # noqa: S608 - constants


class PostgresStore:
    """One open ledger in a server.

    Guarantee: a transaction of this process is written only on a server that is the one which the ledger recorded,
        whose commits are durable, and whose chain holds the last entry that this process has seen.
    Proof: all of it comes back from the statement that takes the lock, and is checked before anything else is written;
        a gateway that was cut off in a transaction loses it with its connection, and begins anew with that statement.
        After a failover, a restored dump or a recovery the server has another identifier or timeline than the one
        recorded in the row, for every gateway alike, until the owner accepts it (`sfumato ledger accept`).
    Reference: semantics 5.2, 5.6; postgresql.org/docs, 26.3 (timelines), 52.20 (system identifier).
    Checked by: end_to_end::a_restored_dump_is_another_server, end_to_end::a_promoted_standby_is_another_server,
        end_to_end::an_older_chain_on_the_same_server_is_refused, end_to_end::a_server_that_does_not_sync_is_refused,
        end_to_end::a_gateway_that_is_stopped_holding_the_lock_loses_its_transaction
    """

    readable = shares_commits = True
    faults: tuple[type[Exception], ...] = (ServerError,)

    def __init__(self, address: str, busy: float, *, visiting: bool = False) -> None:
        """`visiting`: one who only looks may look at any server; what is wrong with it she is told when she writes."""
        self._address, self._schema = read_address(address)
        self._busy, self._visiting = busy, visiting
        self._link: PostgresLink | None = None
        self._changes = self._before = 0
        self._away = False
        self._seen: Head = (0, chain.FIRST)
        self._noting = threading.Lock()
        self._free: LifoQueue[PostgresLink | None] = LifoQueue()
        for _ in range(READERS):
            self._free.put(None)

    def _connect(self, *, long: bool = False) -> PostgresLink:
        """One more connection. The operator is told once that there is none, and once that there is one again."""
        try:
            link = PostgresLink(self._address, self._schema, self._busy, long=long)
        except NoConnection as error:
            if not self._away:
                OPERATOR.warning("the server of the ledger cannot be reached: %s", error.why)
            self._away = True
            raise
        if self._away:
            OPERATOR.warning("the server of the ledger can be reached again")
        self._away = False
        return link

    # opening

    def exists(self) -> bool:
        """Return whether there is a ledger."""
        with self._connect() as link:
            return self._has_tables(link)

    def _has_tables(self, link: PostgresLink) -> bool:
        name = f"{identifier(self._schema)}.head"
        return link.execute("SELECT to_regclass(?) IS NOT NULL", (name,)).fetchone()[0] is True

    def check_left(self) -> None:
        """Nothing lies beside the tables."""

    def start(self, prepare: Callable[[StoreConnection, bool], T]) -> T:
        """Open or make the tables, in one transaction with what `prepare` writes."""
        self._link = link = self._connect()
        try:
            fresh = self._open(link)
            before = 0 if fresh else link.changes
            made = prepare(link, fresh)
            self._seen = chain.head(link)
            if link.changes == before:
                link.execute("ROLLBACK")
            else:
                self._commit_first(link)
        except BaseException:
            self.close()
            raise
        self._before = link.changes
        return made

    def _commit_first(self, link: PostgresLink) -> None:
        try:
            link.commit()
        except ServerError as error:
            raise OutcomeUnknown.of(unreachable(error)) from error

    def _open(self, link: PostgresLink) -> bool:
        """Begin; take the lock, or make the tables where there are none. Two that make them come one after another."""
        link.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        link.execute("SELECT pg_advisory_xact_lock(hashtext(?))", (f"sfumato {self._schema}",))
        fresh = not self._has_tables(link)
        if fresh:
            self.make_tables(link, os.urandom(16).hex())
        if self._visiting:
            self._look(link)
        else:
            self._take(link)
        schema.check_format(link.format)
        lost = link.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = ? AND c.relkind = 'r' AND c.relpersistence <> 'p'",
            (self._schema,),
        ).fetchone()
        if lost is not None:
            raise LedgerError("a table of the ledger is not durable", detail=f"{lost[0]} is unlogged.")
        return fresh

    def make_tables(self, link: PostgresLink, place: str) -> None:
        """Make the tables of an empty ledger, inside the transaction that is open."""
        (encoding,) = link.execute("SELECT getdatabaseencoding()").fetchone()
        if encoding != "UTF8":
            raise LedgerError("a ledger needs a database in UTF8", detail=f"This one is in {encoding}.")
        name = identifier(self._schema)
        link.execute_plain(f"CREATE SCHEMA IF NOT EXISTS {name}")
        link.execute_plain(";".join(postgres_schema.statements(name)))
        link.execute(f"INSERT INTO head VALUES(true, ?, ?, {SERVER}, 0)", (schema.FORMAT, place))

    @contextmanager
    def receive(self, place: str) -> Iterator[PostgresLink | None]:
        """A connection to new tables for a ledger that is moved here; None if it has arrived already."""
        try:
            with self._connect(long=True) as link:
                link.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
                link.execute("SELECT pg_advisory_xact_lock(hashtext(?))", (f"sfumato {self._schema}",))
                if self._has_tables(link):
                    self._look(link)
                    if link.place != place:
                        raise InputError("there is a ledger at the new place already", hint="Name another schema.")
                    link.execute("ROLLBACK")
                    yield None
                    return
                self.make_tables(link, place)
                link.place, link.format = place, schema.FORMAT
                yield link
                self._commit_first(link)
        except ServerError as error:
            raise unreachable(error) from error

    def accept(self, who: str, now: str) -> bool:
        """Take the server as it is now for the one that holds the newest ledger; the chain records who said so."""
        try:
            with self._connect() as link:
                link.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
                row = self._one(link.execute(LOCK, (0,)).fetchall())
                self._check(link, row, (0, chain.FIRST), looking=True)
                recorded, server = row[3:5]
                if recorded == server:
                    return False
                last = chain.read_last(link, "frozen", "thawed")
                kind, body = ("thawed", {}) if last is None else (last.kind, last.body)
                document = {**body, "who": who, "server": {"before": recorded, "now": server}}
                chain.append(link, now, kind, None, document)
                link.execute(f"UPDATE head SET server = {SERVER}, changes = changes + 1")  # noqa: S608 - a constant
                self._commit_first(link)
                return True
        except ServerError as error:
            raise unreachable(error) from error

    # writing

    def begin(self) -> StoreConnection:
        """Take the lock, and check that this is the server that was served before. One lost connection is replaced."""
        for again in (False, True):
            if self._link is None or self._link.lost:
                self._link = self._connect()
            link = self._link
            try:
                self._lock(link)
            except ServerError as error:
                if error.meaning is not StepResult.LOST or again:
                    raise
                link.close()
            else:
                self._before = link.changes
                return link
        raise AssertionError

    def _lock(self, link: PostgresLink) -> None:
        link.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        self._take(link)

    def commit(self) -> None:
        """Commit what was written; where nothing was, not even the lock is."""
        assert self._link is not None
        if self._link.changes == self._before:
            self._link.execute("ROLLBACK")
            return
        self._link.commit()
        self._changes += 1

    def undo(self) -> None:
        """Give the lock back, and the turns: what held them may be gone."""
        if self._link is None or self._link.lost:
            return
        try:
            self._link.execute("ROLLBACK")
            self._link.execute("SELECT pg_advisory_unlock_all()")
        except ServerError:
            self._link.close()

    def look(self, head: Head) -> bool:
        """Return whether an entry is in the chain, under the lock: what has not come by then never comes.

        An entry that is there may be on this server alone, if its commit was cut off while it waited for a standby. The
        lock is an update: committing it waits for all that was written before, so that what is found is as durable as
        if its own commit had been confirmed.
        """
        assert self._link is not None
        self._link.close()
        end = time.monotonic() + PATIENCE * self._busy
        while True:
            try:
                self._link = self._connect()
                self._lock(self._link)
                found = chain.hash_at(self._link, head[0]) == head[1]
                if found:
                    self._link.commit()
                else:
                    self._link.execute("ROLLBACK")
            except ServerError as error:
                self._link.close()
                if error.meaning is StepResult.WRONG or time.monotonic() > end:
                    raise
                time.sleep(0.05)
            else:
                self._changes += found
                return found

    def check_after(self, head: Head) -> None:
        """Remember the head of the chain."""
        self._note(head)

    def hear(self, error: BaseException) -> StepResult:
        """Return what an error means."""
        if isinstance(error, ServerError):
            return error.meaning
        return StepResult.OLDER if isinstance(error, OtherStore) else StepResult.WRONG

    def changes(self) -> int:
        """Return how many transactions of this process were committed."""
        return self._changes

    def keep_up(self) -> None:
        """The server looks after itself."""

    # reading

    def check_before(self, submit: Callable[[Work[None]], None]) -> None:
        """Each look checks for itself."""

    def mark(self) -> int:
        """The number of the last transaction of anybody; see `Ledger.mark`."""
        return self._with_reader(self._look)

    def read(self, work: Work[T], *, alone: bool = False) -> T:
        """Read from one moment of the ledger."""
        if not alone:
            return self._with_reader(lambda link: self._snapshot(link, work))
        try:
            with self._connect(long=True) as link:
                return self._snapshot(link, work)
        except ServerError as error:
            raise unreachable(error) from error

    def _snapshot(self, link: PostgresLink, work: Work[T]) -> T:
        link.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            self._look(link)
            return work(link)
        finally:
            if not link.lost:
                link.execute("ROLLBACK")

    def _look(self, link: PostgresLink) -> int:
        seen = self._seen  # once: another thread may see more meanwhile
        row = self._one(link.execute(LOOK, (seen[0],)).fetchall())
        self._check(link, row, seen, looking=self._visiting)
        self._note((row[8], row[9]))
        return int(row[0])

    def _with_reader(self, work: Callable[[PostgresLink], T]) -> T:
        link = self._free.get()
        try:
            for again in (False, True):
                try:
                    link = self._connect() if link is None or link.lost else link
                    return work(link)
                except ServerError as error:
                    if error.meaning is not StepResult.LOST or again:
                        raise unreachable(error) from error
            raise AssertionError
        finally:
            self._free.put(link)

    def backup(self, target: Path) -> None:
        """The server's own tools know how."""
        raise LedgerError(
            "a ledger in PostgreSQL is backed up by PostgreSQL",
            detail=f'"{target.name}" was not written.',
            hint=f"pg_dump --schema={self._schema} writes one; a restored backup is older and must be accepted.",
        )

    # the fence

    def _one(self, rows: list[Any]) -> Any:
        if len(rows) != 1:
            raise OtherStore("the ledger is gone", detail="Its head is missing.", hint="Restore the newest ledger.")
        return rows[0]

    def _take(self, link: PostgresLink) -> None:
        seen = self._seen
        self._check(link, self._one(link.execute(LOCK, (seen[0],)).fetchall()), seen)

    def _check(self, link: PostgresLink, row: Any, seen: Head, *, looking: bool = False) -> None:
        """Check what came back with the lock, or with a look, against what was seen when it was asked for."""
        _, link.format, link.place, recorded, server, commits, syncs, sealed = row[:8]
        seq, known = seen
        if syncs != "on" or commits not in ("on", "remote_apply"):
            raise LedgerError(
                "the server of the ledger does not make commits durable",
                detail=f"fsync is {syncs}, synchronous_commit is {commits}.",
                hint="Set both to on.",
            )
        if server != recorded and not looking:
            raise OtherStore(
                "the ledger is on another server than before",
                detail=f"It was served by {recorded}, and this is {server}: a standby that took over, or a restored"
                " backup. It may lack charges.",
                hint="Check that it is the newest and that no other server holds it; then `sfumato ledger accept`.",
            )
        if seq and sealed != known:
            raise OtherStore(
                "the ledger is older than it was",
                detail=f"The chain no longer holds entry {seq}, which was there before.",
                hint="Stop every gateway, restore the newest ledger, and start again.",
            )

    def _note(self, head: Head) -> None:
        with self._noting:
            self._seen = max(self._seen, head)

    # the end

    def fail(self, error: BaseException) -> None:
        """What was not committed is undone with the connection."""
        del error
        self.close()

    def close_readers(self) -> None:
        """Close what only reads."""
        for link in [self._free.get() for _ in range(READERS)]:  # who reads now is waited for
            if link is not None:
                link.close()
            self._free.put(None)

    def close(self) -> None:
        """Close the connection of the writer."""
        if self._link is not None:
            self._link.close()
