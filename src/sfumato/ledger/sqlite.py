"""A ledger in a file of SQLite: its lock, its log, its checkpoints, those who read beside the writer.

Comes in: a path, or the word for memory. Goes out: a `Store`. `store` makes and copies the file, `schema` is what
stands in it, `guard` watches it.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from sfumato.errors import LedgerError
from sfumato.files import real_path, sync_directory
from sfumato.ledger import schema, store
from sfumato.ledger.file_guard import FileGuard, Overwritten, has_log, leave_open
from sfumato.ledger.protocol import Head, StoreConnection, Work
from sfumato.ledger.readers import Readers, snapshot
from sfumato.ledger.records import Busy
from sfumato.ledger.steps import StepResult

T = TypeVar("T")

CHECKPOINT = 2000
"""After so many changed rows the log is copied into the database, which keeps it at a few megabytes."""


class SqliteStore:
    """One open file, or one ledger in memory, which has no file to guard and nobody beside the writer."""

    faults: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, path: Path | str, busy: float) -> None:
        self.path = path if isinstance(path, Path) else None
        self.shares_commits = self.readable = self.path is not None
        self._place, self._busy = path, busy
        self._log = self.path is not None and has_log(self.path)
        self.connection: sqlite3.Connection
        self.guard: FileGuard | None = None
        self._copied, self._ended = 0, False
        self._watching = threading.Lock()

    # opening

    def exists(self) -> bool:
        """Return whether there is a file with something in it."""
        return self.path is not None and self.path.exists() and self.path.stat().st_size > 0

    def check_left(self) -> None:
        """Refuse a log without its ledger: the file was removed, and a new one is a new budget."""
        if self._log:
            raise LedgerError(
                "the ledger was removed, but not its log",
                detail="The log of a ledger is beside it and holds charges.",
                hint="Restore the ledger that the log belongs to. Remove the log only to begin a new ledger.",
            )

    def start(self, prepare: Callable[[StoreConnection, bool], T]) -> T:
        """Check, make or upgrade the file, in one transaction with what `prepare` writes."""
        if self.path is not None:
            store.make_file(self.path)
        self.connection = store.connect(self._place, self._busy)
        try:
            made = store.patiently(lambda: self._prepare(prepare), self._busy)
        except Overwritten:
            leave_open(self.connection)
            raise
        except BaseException:
            self.connection.close()
            raise
        self._copied = self.connection.total_changes
        if self.path is not None:
            sync_directory(real_path(self.path).parent)  # the log's name: SQLite does it too, but ignores a failure
            self._readers = Readers(partial(_open_reader, self.path, self._busy))
            self._watcher = _open_reader(self.path, self._busy)
        return made

    def _prepare(self, prepare: Callable[[StoreConnection, bool], T]) -> T:
        connection = self.connection
        connection.execute("BEGIN IMMEDIATE")
        changes = connection.total_changes
        try:
            if self.path is not None:
                store.upgrade(connection, self.path)
            fresh = schema.format_of(connection) == 0
            if fresh:
                schema.create(connection)
            guard = None if self.path is None else FileGuard(self.path, connection, crashed=self._log)
            made = prepare(connection, fresh)
            if guard is not None and connection.total_changes != changes:
                guard.check(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        if guard is not None:
            guard.note(connection)
        self.guard = guard
        return made

    # writing

    def begin(self) -> StoreConnection:
        """Take the lock, and check the files."""
        self.connection.execute("BEGIN IMMEDIATE")
        if self.guard is not None:
            self.guard.check(self.connection)
        return self.connection

    def commit(self) -> None:
        """Commit; on the disk when it returns."""
        self.connection.execute("COMMIT")

    def undo(self) -> None:
        """Give the lock back."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def look(self, head: Head) -> bool:
        """Nothing is looked for in a file: a commit that failed there ends the ledger."""
        raise LedgerError("a commit to a file is not looked for", detail=f"It is entry {head[0]}.")

    def check_after(self, head: Head) -> None:
        """Check the files once more, so that nobody is told of a commit that the next opening would not find."""
        del head  # the guard reads it anew
        if self.guard is None:
            return
        self.guard.check_names()
        if not self.guard.is_quiet():
            with _suppress_busy():
                self.connection.execute("BEGIN IMMEDIATE")
                self.guard.check(self.connection)
                self.connection.execute("COMMIT")
        self.guard.note(self.connection)

    def hear(self, error: BaseException) -> StepResult:
        """A lock held by others is their transaction, not a failure of ours; all else is one."""
        return StepResult.BUSY if isinstance(error, sqlite3.Error) and store.is_busy(error) else StepResult.WRONG

    def changes(self) -> int:
        """Return how many rows this process has changed."""
        return self.connection.total_changes

    def keep_up(self) -> None:
        """Copy the log into the database now and then; after the answers, whose commits do not depend on it."""
        if self.guard is None or self.connection.total_changes - self._copied < CHECKPOINT:
            return
        with _suppress_busy():  # those who hold the lock may copy it, too
            self.guard.checkpoint(self.connection)
            self._copied = self.connection.total_changes

    # reading

    def check_before(self, submit: Callable[[Work[None]], None]) -> None:
        """Check that the files are those that were opened."""
        if self.guard is None:
            return
        self.guard.check_names()
        if not self.guard.is_quiet():
            with suppress(Busy):  # another gateway may be copying the log: under the lock one can tell
                submit(lambda _: None)

    def mark(self) -> int:
        """PRAGMA data_version, on a connection that writes nothing; see `Ledger.mark`."""
        try:
            with self._watching:  # one at a time: a statement of another thread would hold an older view of the file
                ((version,),) = self._watcher.execute("PRAGMA data_version").fetchall()
            return int(version)
        except sqlite3.Error as error:
            raise store.unreachable(error) from error

    def read(self, work: Work[T], *, alone: bool = False) -> T:
        """Read from one moment of the file."""
        if not alone:
            return self._readers.read(work)
        assert self.path is not None
        with closing(_open_reader(self.path, self._busy)) as reader:
            return snapshot(reader, work)

    def backup(self, target: Path) -> None:
        """Write a copy in one file."""
        if self.path is None:
            raise LedgerError("a ledger in memory has no backup")
        store.copy(self.path, target)

    # the end

    def fail(self, error: BaseException) -> None:
        """Closing gives the lock back to other processes and writes no more commits."""
        self._ended = True
        if self.guard is not None and isinstance(error, Overwritten):
            self.guard.abandon(self.connection)
        else:
            self.connection.close()

    def close_readers(self) -> None:
        """Close what only reads."""
        if self.readable:
            self._readers.close()
            self._watcher.close()

    def close(self) -> None:
        """Close the file, unless it was overwritten meanwhile."""
        if self._ended:
            return
        if self.guard is None:
            self.connection.close()
        else:
            self.guard.close(self.connection)


@contextmanager
def _suppress_busy() -> Iterator[None]:
    """Go on where another process holds the lock for too long."""
    try:
        yield
    except sqlite3.Error as error:
        if not store.is_busy(error):
            raise


def _open_reader(path: Path, busy: float) -> sqlite3.Connection:
    reader = sqlite3.connect(path, timeout=busy, isolation_level=None, check_same_thread=False)
    reader.execute("PRAGMA query_only = ON")
    return reader
