"""Connections to a PostgreSQL server: one read-only snapshot for each use, ended on the server when it must end.

Comes in: an address. Goes out: cursors inside of a transaction that is REPEATABLE READ and READ ONLY. What decides how
values are read and written is set in each transaction, so that neither the role's settings nor a pooler change it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from weakref import WeakSet

from sfumato.engines.base import OPERATOR
from sfumato.engines.postgres.settings import LATER, LOOKED_AT, SET, TIMEOUTS
from sfumato.errors import EngineError, InputError, PolicyError
from sfumato.interrupts import CancelScope, watched

OLDEST = 130000
"""Versions before 13 are not supported."""
_ENCODINGS = ("UTF8", "LATIN1")
"""Encodings whose bytes are in the order of characters, and that have a character for each text."""
_IDLE = 8
"""Connections that are kept while nobody uses them."""
_GRACE = 2000
"""Milliseconds after which the server itself ends free work that the gateway should have ended: only if it is gone."""


class PostgresServer:
    """A server that rows are read from."""

    def __init__(self, dsn: str) -> None:
        self._dsn, self._psycopg = dsn, _driver()
        self._idle: list[Any] = []
        self._lock, self._mine = threading.Lock(), threading.local()
        self._spoilt: WeakSet[Any] = WeakSet()
        self.life = CancelScope()
        connection = self._connect()
        info = connection.info
        self.version, encoding = info.server_version, info.parameter_status("server_encoding") or ""
        self._keep(connection)
        if self.version < OLDEST:
            self.close()
            raise PolicyError("this PostgreSQL is too old", hint="Version 13 or later is needed.")
        if encoding not in _ENCODINGS:
            self.close()
            raise PolicyError(
                f"the database is encoded as {encoding}",
                hint="Texts are ordered by their characters: UTF8 and LATIN1 are supported.",
            )

    @property
    def error(self) -> Any:
        """What the driver raises."""
        return self._psycopg.Error

    def _connect(self) -> Any:
        try:
            made = self._psycopg.connect(
                self._dsn, autocommit=True, prepare_threshold=None, cursor_factory=self._psycopg.RawCursor
            )
            made.execute("SET client_encoding = 'UTF8'")
        except self._psycopg.Error as error:
            OPERATOR.error("PostgreSQL cannot be reached: %s", str(error)[:10_000])
            raise EngineError(
                "the database cannot be reached", hint="The operator's log has the cause. Nothing was charged."
            ) from None
        try:
            _look_at(made)
        except BaseException:
            made.close()
            raise
        return made

    @contextmanager
    def reading(self, *leashes: CancelScope | None, seconds: float | None = None, bare: bool = False) -> Iterator[Any]:
        """A cursor in a snapshot of its own, or in the one that this thread holds; it ends with these leashes.

        `bare` keeps the search path of the role: for the catalog alone.
        """
        held = getattr(self._mine, "connection", None)
        with ExitStack() as stack:
            connection = held if held is not None else stack.enter_context(self._transaction(seconds, bare=bare))
            cancel = stack.enter_context(_Canceller(connection, self._spoilt))
            stack.enter_context(watched(cancel, *leashes, self.life, seconds=seconds))
            yield stack.enter_context(connection.cursor())

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that this thread reads inside of the block is of one snapshot."""
        if getattr(self._mine, "connection", None) is not None:
            yield
            return
        with self._transaction(None) as connection:
            self._mine.connection = connection
            try:
                yield
            finally:
                self._mine.connection = None

    @contextmanager
    def _transaction(self, seconds: float | None, *, bare: bool = False) -> Iterator[Any]:
        connection = self._begun(self._begin(seconds, bare=bare))
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        with suppress(self._psycopg.Error):  # what was read was read
            connection.execute("COMMIT")
        self._keep(connection)

    def _begin(self, seconds: float | None, *, bare: bool) -> str:
        settings = SET | dict.fromkeys(TIMEOUTS, "0")
        settings |= {name: value for name, (first, value) in LATER.items() if self.version >= first}
        if seconds is not None:
            settings["statement_timeout"] = f"{int(seconds * 1000) + _GRACE}"
        sets = "".join(f"; SET LOCAL {name} = '{value}'" for name, value in settings.items() if name != "search_path")
        path = "" if bare else f"; SET LOCAL search_path = {SET['search_path']}"
        return f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY{sets}{path}"

    def _begun(self, text: str) -> Any:
        """A connection in a new transaction; one that was idle may be broken, a new one must not be."""
        while True:
            with self._lock:
                idle = self._idle.pop() if self._idle else None
            connection = idle if idle is not None else self._connect()
            try:
                connection.execute(text)
            except self._psycopg.Error:
                connection.close()
                if idle is None:
                    raise
            else:
                return connection

    def _keep(self, connection: Any) -> None:
        idle = self._psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            sound = not connection.closed and connection not in self._spoilt
            if sound and connection.info.transaction_status == idle and len(self._idle) < _IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Let go of all connections that nobody uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _look_at(connection: Any) -> None:
    """Refuse a connection whose settings would leave rows out, or end a run by how many there are."""
    for name, (must, reason) in LOOKED_AT.items():
        found = connection.execute("SELECT current_setting($1::text)", [name]).fetchone()[0]
        if found != must:
            raise PolicyError(
                f"{name} is {found} for this role",
                detail=reason,
                hint=f"A superuser writes: ALTER ROLE {connection.info.user} SET {name} = '{must}'.",
            )


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise InputError("PostgreSQL needs psycopg", hint="pip install 'sfumato[postgres]'") from None
    return psycopg


class _Canceller:
    """Asks the server to end what it does; in a thread, for a server that is gone does not answer.

    A request may arrive when the statement has ended already, and would end the next one: its connection is spoilt,
    and serves nobody else.
    """

    def __init__(self, connection: Any, spoilt: WeakSet[Any]) -> None:
        self._connection, self._spoilt = connection, spoilt
        self._thread: threading.Thread | None = None

    def __call__(self) -> None:
        self._spoilt.add(self._connection)
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._ask, name="sfumato-cancel", daemon=True)
            self._thread.start()

    def _ask(self) -> None:
        with suppress(Exception):
            self._connection.cancel_safe(timeout=5.0)

    def __enter__(self) -> _Canceller:
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._thread.join(5.0)
