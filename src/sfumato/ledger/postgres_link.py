"""One connection to the server of a ledger: its settings, its silence, and what its errors mean.

Comes in: an address. Goes out: a `Connection`, whose statements end within a set time, and whose errors say whether the
transaction is over, undone, or nobody knows.
"""

from __future__ import annotations

import hashlib
import select
import time
from collections.abc import Generator, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sfumato.errors import InputError, LedgerError
from sfumato.ledger import postgres_schema
from sfumato.ledger.protocol import Rows, StoreConnection
from sfumato.ledger.records import ServerError
from sfumato.ledger.steps import StepResult
from sfumato.types import identifier

T = TypeVar("T")
SCHEMA = "sfumato_ledger"
"""Where the tables stand unless the address says otherwise, after a #."""

SPARE = 10.0
"""Seconds beyond those for a lock after which a server that says nothing counts as gone."""

IDLE = 2.0
"""Seconds beyond those for a lock after which the server takes a transaction from a gateway that says nothing."""

LONG = 3600.0
"""Seconds for one statement, and between two, of what goes through a whole ledger."""

WIDEST = 2000
"""Bytes of the texts in one key: PostgreSQL's indexes end at 2,700."""

_UNDONE = {"55P03", "40001", "40P01", "57014"}
"""Lock not available, not serialisable, deadlock, cancelled: the server undid the transaction and goes on."""
_GONE = ("57P", "08", "25P03", "25P04")
"""The server shuts down or starts, the connection broke, or it was idle in a transaction for too long."""


class NoConnection(ServerError):
    """No connection could be made; `why` is for the operator, as it names the host."""

    def __init__(self, why: str) -> None:
        super().__init__("Its server cannot be reached", StepResult.LOST)
        self.why = why


class TimedConnection(psycopg.Connection[Any]):
    """A connection that waits for its server only so long; a server that was stopped answers nothing at all."""

    patience: float = 60.0

    def wait(self, gen: Generator[Any, Any, T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Run one exchange; if nothing comes for too long, the connection is closed."""
        del interval, timeout  # each wait has its own end
        poll = select.poll()
        handle = self.pgconn.socket
        end = time.monotonic() + self.patience
        try:
            wanted = next(gen)
            while True:
                poll.register(handle, (select.POLLIN if wanted & 1 else 0) | (select.POLLOUT if wanted & 2 else 0))
                events = poll.poll(max(0.0, end - time.monotonic()) * 1000)
                if not events:
                    self.pgconn.finish()
                    raise psycopg.OperationalError("the server did not respond in time")
                bits = events[0][1]
                broken = bits & ~(select.POLLIN | select.POLLOUT)
                ready = (1 if bits & select.POLLIN or broken else 0) | (2 if bits & select.POLLOUT or broken else 0)
                wanted = gen.send(ready & wanted or wanted)
        except StopIteration as done:
            result: T = done.value
            return result


class Postgres:
    """What the rules of the ledger cannot say in SQL that every store understands."""

    def read_format(self, connection: StoreConnection) -> int:
        """Return the format, as it was read when the lock was taken."""
        return _link(connection).format

    def read_place(self, connection: StoreConnection) -> str:
        """Return the name of this place."""
        return _link(connection).place

    def claim(self, connection: StoreConnection, question: str) -> bool:
        """Take the turn at a question, until it is answered or this connection ends."""
        sql = "SELECT pg_try_advisory_lock(?)"
        return bool(connection.execute(sql, (self._turn(connection, question),)).fetchone()[0])

    def release(self, connection: StoreConnection, question: str) -> None:
        """Give the turn back."""
        connection.execute("SELECT pg_advisory_unlock(?)", (self._turn(connection, question),))

    def check_fits(self, *texts: str) -> None:
        """Refuse texts that no index would take: an error of the server would end serving."""
        if sum(len(text.encode()) for text in texts) > WIDEST:
            raise InputError(
                "a name or an epsilon is too long for a ledger in PostgreSQL",
                hint=f"Together they may have {WIDEST} bytes.",
            )

    def check_inside(self, connection: StoreConnection) -> None:
        """The tables and walls of this version, as this very server would make them for itself."""
        link = _link(connection)
        space = connection.execute("SELECT oid FROM pg_namespace WHERE nspname = ?", (link.schema,)).fetchone()
        found = postgres_schema.read_inside(connection, space[0])
        with PostgresLink(link.address, link.schema, link.busy) as apart:
            apart.execute("BEGIN")
            apart.execute("CREATE TEMPORARY TABLE first_of_all(x integer) ON COMMIT DROP")  # makes the schema
            apart.execute("DROP TABLE first_of_all")
            apart.execute_plain(";".join(postgres_schema.statements("pg_temp")))
            space = apart.execute("SELECT pg_my_temp_schema()").fetchone()
            wanted = postgres_schema.read_inside(apart, space[0])
            apart.execute("ROLLBACK")
        postgres_schema.check_inside(found, wanted)

    def _turn(self, connection: StoreConnection, question: str) -> int:
        name = f"{_link(connection).place} {question}".encode()
        return int.from_bytes(hashlib.sha256(name).digest()[:8], "big", signed=True)


POSTGRES = Postgres()


@lru_cache(maxsize=256)
def _marks(sql: str) -> str:
    """A statement with psycopg's marks; no text of the ledger's own has a question mark in it."""
    return sql.replace("%", "%%").replace("?", "%s")


class PostgresLink:
    """One open connection. Errors of the server come out as `ServerError`, which say what they mean."""

    dialect = POSTGRES

    def __init__(self, address: str, schema: str, busy: float, *, long: bool = False) -> None:
        """`long`: for what reads or copies a whole ledger, and keeps nobody waiting."""
        self.address, self.schema, self.busy = address, schema, busy
        self.place, self.format, self.changes = "", 0, 0
        self._warned = ""
        wait = max(2, round(busy))
        try:
            self._made = TimedConnection.connect(
                address,
                autocommit=True,
                client_encoding="UTF8",
                application_name="sfumato ledger",
                connect_timeout=wait,
                keepalives_idle=wait,
                keepalives_interval=2,
                keepalives_count=3,
                tcp_user_timeout=wait * 1000,
                target_session_attrs="read-write",
            )
        except psycopg.Error as error:
            raise NoConnection(str(error).strip().split("\n")[0]) from None
        self._made.patience = LONG if long else busy + SPARE
        self._made.add_notice_handler(self._notice)
        try:
            self._set_up(idle=LONG if long else busy + IDLE)
        except BaseException:
            self.close()
            raise

    def _set_up(self, idle: float) -> None:
        """Locks are waited for only so long; who falls silent inside a transaction loses it; commits are durable."""
        name, milliseconds = identifier(self.schema), max(1, round(self.busy * 1000))
        self.execute_plain(
            f"SET search_path = pg_catalog, {name}; SET lock_timeout = {milliseconds};"
            f" SET idle_in_transaction_session_timeout = {max(1, round(idle * 1000))}; SET statement_timeout = 0"
        )
        self.execute(
            "SELECT set_config('synchronous_commit', 'on', false)"
            " WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')"
        )

    def __enter__(self) -> PostgresLink:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Rows:
        """Run one statement; what it changed is counted."""
        try:
            cursor = self._made.execute(_marks(sql), tuple(parameters))
        except psycopg.Error as error:
            raise self._meaning(error) from None
        if sql.startswith(("INSERT", "UPDATE", "DELETE")):
            self.changes += max(0, cursor.rowcount)
        return cursor

    def execute_plain(self, sql: str) -> None:
        """Run statements without values."""
        try:
            self._made.execute(sql.encode())
        except psycopg.Error as error:
            raise self._meaning(error) from None

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> object:
        """Run one statement for each row."""
        try:
            with self._made.cursor() as cursor:
                cursor.executemany(_marks(sql), [tuple(row) for row in rows])
                self.changes += max(0, cursor.rowcount)
        except psycopg.Error as error:
            raise self._meaning(error) from None
        return None

    def commit(self) -> None:
        """Commit, and believe it only if the server says so without a word of warning.

        A transaction that had failed is answered with ROLLBACK. A commit whose wait for a standby was cut short is
        answered with a warning: it may not survive the server.
        """
        self._warned = ""
        try:
            said = self._made.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            raise self._meaning(error) from None
        if said != "COMMIT" or self._warned:
            raise ServerError(f"The server did not confirm a commit ({self._warned or said})", StepResult.WRONG)

    def close(self) -> None:
        """Close it; what it had not committed is undone."""
        self._made.close()

    @property
    def lost(self) -> bool:
        """Whether nothing can be said on it any more."""
        return self._made.closed

    def _notice(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self._warned = f"{notice.sqlstate}"

    def _meaning(self, error: psycopg.Error) -> ServerError:
        state = error.sqlstate or ""
        silent = not state and isinstance(error, psycopg.OperationalError)
        if self._made.closed or self._made.broken or silent or state.startswith(_GONE):
            return ServerError("The connection to its server broke", StepResult.LOST)
        if state in _UNDONE:
            return ServerError(f"The server rolled back the transaction ({state})", StepResult.BUSY)
        words = (error.diag.message_primary or type(error).__name__).strip()
        return ServerError(f"{words} ({state})", StepResult.WRONG)


def _link(connection: StoreConnection) -> PostgresLink:
    if not isinstance(connection, PostgresLink):
        raise TypeError("not a connection to a server")
    return connection


def read_address(address: str) -> tuple[str, str]:
    """The address for libpq, and the schema that stands after its #."""
    plain, _, schema = address.partition("#")
    schema = schema or SCHEMA
    if not (schema.isidentifier() and schema.isascii() and schema.islower() and len(schema) < 60):
        raise InputError("the schema of a ledger must be a plain name", hint="Write postgresql://…/DATABASE#clinic.")
    try:
        conninfo_to_dict(plain)
    except psycopg.Error:
        raise LedgerError("the address of the ledger cannot be read", hint="postgresql://USER@HOST/DATABASE") from None
    return plain, schema


def show_address(address: str) -> str:
    """Where a ledger lies, without who may come in."""
    plain, schema = read_address(address)
    known = conninfo_to_dict(plain)
    kept = {name: known[name] for name in ("host", "hostaddr", "port", "dbname") if known.get(name)}
    return f"{make_conninfo(**{name: str(value) for name, value in kept.items()})} schema={schema}"
