"""Checks that the files of an open ledger are those that were opened, and that nobody else has written to them.

In WAL mode SQLite writes the main file in checkpoints only. Here a checkpoint runs under the write lock and records the
size and the time of change that the main file has after it, so any other change of the main file (`cp`, `cat >`,
`truncate`, a restored backup on the same inode) shows as a difference. The log only ever grows while the ledger is
open, the names keep their inodes, and the chain still holds the last entry that this process saw.

A ledger that fails one of these checks serves no more. Its connection is left open until the process ends: closing it
would write the log into a file that it does not belong to.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
from pathlib import Path
from typing import NamedTuple

from sfumato.errors import LedgerError
from sfumato.files import real_path
from sfumato.ledger import chain
from sfumato.ledger.audit import audit

AGAIN = "Stop every gateway, restore the newest ledger together with its log, and start again."


class Overwritten(LedgerError):
    """The main file or its log holds something that no gateway has written."""


class FileState(NamedTuple):
    """What a write to the main file changes."""

    size: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> FileState:
        """Return the state of a file now."""
        found = path.stat()
        return cls(found.st_size, found.st_mtime_ns)


class _Record(NamedTuple):
    """The row in which processes tell each other what the main file looks like.

    `epoch` changes when a process could not know that the file was not replaced; `busy` says that a checkpoint begins.
    """

    epoch: str
    state: FileState
    busy: bool


class FileGuard:
    """Watches the files of one open ledger. All methods but `is_quiet` and `check_names` run in a write transaction."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, crashed: bool) -> None:
        """Begin to watch, in the transaction that opens the ledger.

        `crashed`: a log lay beside the main file before it was opened, so the two must fit each other.
        """
        self._path, real = path, real_path(path)
        self._log = real.with_name(f"{real.name}-wal")
        self._beside = (self._log, real.with_name(f"{real.name}-shm"))
        self._names = self._find_names()
        self._seen, self._grown = FileState.of(path), self._log.stat().st_size
        self._head = chain.head(connection)
        self._copier: sqlite3.Connection | None = None
        found = _read(connection)
        self._joined = found is not None and found.state == self._seen
        same = found is not None and (self._joined or found.busy)
        self._epoch = found.epoch if found is not None and same else secrets.token_hex(8)
        if found is not None and not self._joined and crashed:
            self._check_whole()

    def check_names(self) -> None:
        """Check that whoever opens the ledger next finds the files that are open here."""
        try:
            same = self._find_names() == self._names
        except FileNotFoundError:
            same = False
        if not same:
            raise LedgerError(
                "the file of the ledger was replaced or removed while it was open",
                detail="The next process to open it would not find new charges.",
                hint=AGAIN,
            )

    def is_quiet(self) -> bool:
        """Return whether the main file is as it was when it was last checked."""
        try:
            return FileState.of(self._path) == self._seen
        except FileNotFoundError:
            return False

    def check(self, connection: sqlite3.Connection) -> None:
        """Check everything, with the write lock held.

        Guarantee: if it returns, then since this process opened the ledger its main file was written by checkpoints of
            gateways alone, as far as its size and time of change tell; the log was not cut; and the chain holds the
            last entry that this process has seen.
        Proof: a checkpoint takes the write lock and commits the file's state before it lets go of it, so under the lock
            the recorded state is that of the last checkpoint. A process that opens the ledger when the recorded state
            does not fit, as after the last one closed it, begins a new epoch, which the others notice.
        Reference: semantics 5.6; sqlite.org/wal.html (checkpoints; the log is reset, not cut).
        Checked by: end_to_end::a_ledger_that_is_overwritten_in_place_serves_no_more,
            end_to_end::a_ledger_that_is_overwritten_while_nobody_asks,
            end_to_end::all_gateways_notice_whoever_looks_first,
            end_to_end::workers_that_checkpoint_do_not_alarm_each_other
        """
        self.check_names()
        now, size = FileState.of(self._path), self._log.stat().st_size
        found = _read(connection)
        if not self._joined:
            self._join(connection, found, now)
        elif found is None or found.epoch != self._epoch:
            raise self._overwritten("Another process opened it after its main file had been changed.")
        elif found.state != now:
            if not found.busy:
                raise self._overwritten("Its main file was changed by something that is not a gateway.")
            self._check_whole()  # a process was ended in the middle of a checkpoint
            _write(connection, _Record(self._epoch, now, busy=False))
        if size < self._grown or (self._grown and not self._log_begins()):
            raise self._overwritten("Its log was truncated while it was open.")
        if chain.hash_at(connection, self._head[0]) != self._head[1]:
            raise self._overwritten(f"The chain no longer holds entry {self._head[0]}, which was there before.")
        self._seen, self._grown = now, size

    def note(self, connection: sqlite3.Connection) -> None:
        """Remember the head of the chain and the length of the log after a commit."""
        self._head = chain.head(connection)
        self._grown = self._log.stat().st_size

    def checkpoint(self, connection: sqlite3.Connection) -> None:
        """Copy the log into the main file, under the write lock, and record what the file looks like then."""
        while not self._is_announced(connection):
            _write(connection, _Record(self._epoch, self._seen, busy=True))
            connection.execute("COMMIT")
        if self._copier is None:
            self._copier = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            for line in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON"):
                self._copier.execute(f"PRAGMA {line}")
        self._copier.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        self._seen = FileState.of(self._path)
        _write(connection, _Record(self._epoch, self._seen, busy=False))
        connection.execute("COMMIT")

    def _is_announced(self, connection: sqlite3.Connection) -> bool:
        """Take the lock and return whether the others know that a checkpoint begins.

        If the process ends in the middle of it, they then check the whole file instead of giving up.
        """
        connection.execute("BEGIN IMMEDIATE")
        self.check(connection)
        found = _read(connection)
        return found is not None and found.busy

    def close(self, connection: sqlite3.Connection) -> None:
        """Close the connection; if something is wrong with the files, leave it open until the process ends."""
        try:
            if not self.is_quiet():
                connection.execute("BEGIN IMMEDIATE")
                self.check(connection)
                connection.execute("ROLLBACK")
        except (sqlite3.Error, LedgerError) as error:
            self.abandon(connection)
            if isinstance(error, Overwritten):
                raise
            return
        self._close_copier()
        connection.close()

    def abandon(self, connection: sqlite3.Connection) -> None:
        """Give the lock back, and close nothing."""
        leave_open(connection, *([] if self._copier is None else [self._copier]))

    def _close_copier(self) -> None:
        if self._copier is not None:
            self._copier.close()

    def _join(self, connection: sqlite3.Connection, found: _Record | None, now: FileState) -> None:
        """Take part in what other processes record, at the first write after this process opened the ledger."""
        if found is not None and found.state == now:
            self._epoch = found.epoch
        elif now == self._seen:
            _write(connection, _Record(self._epoch, now, busy=False))
        else:
            raise self._overwritten("Its main file was changed by something that is not a gateway.")
        self._joined = True

    def _check_whole(self) -> None:
        """Recompute the whole ledger, as a process reads it that has nothing of it in memory."""
        fresh = sqlite3.connect(self._path, isolation_level=None)
        try:
            fresh.execute("PRAGMA query_only = ON")
            audit(fresh)
        except (sqlite3.Error, LedgerError) as error:
            raise self._overwritten(f"Its main file and its log do not match ({error}).") from error
        finally:
            fresh.close()

    def _log_begins(self) -> bool:
        """Return whether the log starts as a log does: one that was emptied and written on starts with zeros."""
        with self._log.open("rb") as file:  # SQLite holds no lock on the log: closing this takes none away
            return file.read(4) in (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")

    def _find_names(self) -> tuple[tuple[int, int], ...]:
        found = [path.stat() for path in (self._path, *self._beside)]
        return tuple((file.st_dev, file.st_ino) for file in found)

    def _overwritten(self, detail: str) -> Overwritten:
        return Overwritten("the ledger was overwritten while it was open", detail=detail, hint=AGAIN)


def leave_open(*connections: sqlite3.Connection) -> None:
    """Give locks back, and keep connections open: the last one to close would write the log into the main file."""
    for connection in connections:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    threading.Thread(target=_hold, args=connections, name="sfumato-ledger-left-open", daemon=True).start()


def _hold(*connections: sqlite3.Connection) -> None:
    """Wait forever: Python closes nothing that the frame of a daemon thread refers to."""
    threading.Event().wait()
    del connections


def _read(connection: sqlite3.Connection) -> _Record | None:
    row = connection.execute("SELECT epoch, size, changed, busy FROM file").fetchone()
    return None if row is None else _Record(row[0], FileState(row[1], row[2]), bool(row[3]))


def _write(connection: sqlite3.Connection, record: _Record) -> None:
    connection.execute(
        "INSERT INTO file(one, epoch, size, changed, busy) VALUES(1, ?, ?, ?, ?) ON CONFLICT(one) DO UPDATE SET"
        " epoch = excluded.epoch, size = excluded.size, changed = excluded.changed, busy = excluded.busy",
        (record.epoch, *record.state, record.busy),
    )


def has_log(path: Path) -> bool:
    """Return whether a log with something in it lies beside a ledger."""
    real = real_path(path)
    try:
        return real.with_name(f"{real.name}-wal").stat().st_size > 0
    except FileNotFoundError:
        return False
