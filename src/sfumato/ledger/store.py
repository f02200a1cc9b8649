"""The outside of a ledger file: made, opened, upgraded, copied; durable, local, and readable by its owner only.

Comes in: a path. Goes out: an SQLite connection in WAL mode whose commits are on the disk when they return.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from sfumato.errors import LedgerError
from sfumato.ledger import schema
from sfumato.ledger.records import Busy
from sfumato.ledger.tell import AGAIN, words_of

MEMORY = ":memory:"
MOUNTS = Path("/proc/mounts")
NETWORK = frozenset(
    {"afs", "ceph", "cifs", "fuse.ceph", "fuse.glusterfs", "fuse.sshfs", "glusterfs", "lustre", "nfs", "nfs4", "smb3"}
)
"""File systems whose locks or shared memory may not hold between hosts, which WAL needs (sqlite.org/wal.html)."""

T = TypeVar("T")


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another process held the lock for too long; nothing was written then."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def unreachable(error: BaseException) -> LedgerError:
    """What went wrong, as the detail of one fixed message; a new error each time, as a traceback is written into it."""
    if isinstance(error, sqlite3.Error) and is_busy(error):
        return Busy(
            "the ledger is busy", detail="Another process holds its lock; nothing was written.", hint="Try again."
        )
    if isinstance(error, LedgerError):
        return LedgerError(error.message, detail=error.detail, hint=error.hint)
    return LedgerError("the ledger cannot be read or written", detail=words_of(error), hint=AGAIN)


def connect(path: Path | str, busy: float) -> sqlite3.Connection:
    """A connection in WAL mode with full synchronisation; transactions are begun and ended by hand."""
    connection = sqlite3.connect(path, timeout=busy, isolation_level=None, check_same_thread=False)
    try:
        patiently(lambda: _set_up(connection, memory=path == MEMORY), busy)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_up(connection: sqlite3.Connection, *, memory: bool) -> None:
    if not memory and connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise LedgerError("the ledger needs a file system with shared memory", detail=f"The journal is {mode!r}.")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")  # macOS: fsync alone leaves the data in the drive
    connection.execute("PRAGMA checkpoint_fullfsync = ON")
    connection.execute("PRAGMA wal_autocheckpoint = 0")  # it would swallow its own errors; groupcommit does it by hand
    connection.execute("PRAGMA trusted_schema = OFF")


def patiently(work: Callable[[], T], busy: float) -> T:
    """Try while the lock is held by others: SQLite does not wait by itself when two make or switch a file at once."""
    end = time.monotonic() + busy
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)


def make_file(path: Path) -> None:
    """An empty file that only its owner may read; SQLite gives the same rights to what it puts beside it."""
    check_local(path)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make names durable; Windows has no such call."""
    if os.name == "nt":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass(frozen=True, slots=True)
class Names:
    """An open ledger and its log: their names, and the files that stood there when they were opened."""

    ledger: Path
    log: Path
    files: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, path: Path) -> Names:
        """The names of a ledger that is open now; the log lies beside the file that a link names."""
        real = path.resolve()
        log = real.with_name(f"{real.name}-wal")
        return cls(path, log, _files(path, log))

    def check(self) -> None:
        """The files still have their names: who opens the ledger next must find what is written now."""
        try:
            same = _files(self.ledger, self.log) == self.files
        except FileNotFoundError:
            same = False
        if not same:
            raise LedgerError(
                "the file of the ledger was replaced or removed while it was open",
                detail="Who opens it next would not find what is debited now.",
                hint="Stop every gateway, bring back the newest ledger with the log beside it, and start again.",
            )


def _files(*paths: Path) -> tuple[tuple[int, int], ...]:
    found = [path.stat() for path in paths]
    return tuple((file.st_dev, file.st_ino) for file in found)


def check_local(path: Path) -> None:
    """Refuse a network file system where Linux tells: two hosts would each believe to hold the lock."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    real = path.parent.resolve()
    best, kind = -1, ""
    for line in lines:
        fields = line.split(" ")
        point = Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[1]))
        if len(point.parts) >= best and real.is_relative_to(point):
            best, kind = len(point.parts), fields[2]
    if kind in NETWORK:
        raise LedgerError(
            "the ledger must be on a local disk",
            detail=f"Its directory is on a network file system ({kind}).",
            hint="Keep the ledger on the host that serves; keep backups and the anchor elsewhere.",
        )


def upgrade(connection: sqlite3.Connection, path: Path) -> None:
    """Bring an older file to this format, in the transaction that is open, after a copy of it was kept beside it."""
    number = schema.format_of(connection)
    schema.check_format(number)
    if number in (0, schema.FORMAT):
        return
    copy(path, path.with_name(f"{path.name}.format-{number}"))
    for old in range(number, schema.FORMAT):
        schema.UPGRADES[old](connection)
    connection.execute(f"PRAGMA user_version = {schema.FORMAT}")


def copy(path: Path, target: Path) -> None:
    """A whole copy of a ledger that is in use, by SQLite's backup; under its name only once it is on the disk."""
    if target.exists() and target.samefile(path):
        raise LedgerError("a backup must not replace the ledger itself")
    if target.with_name(target.name + "-wal").exists():
        raise LedgerError("a backup must not replace a ledger that is in use")
    fresh = target.with_name(f"{target.name}.{os.getpid()}.new")
    fresh.unlink(missing_ok=True)
    os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    _backup(path, fresh)
    with fresh.open("rb+") as file:
        os.fsync(file.fileno())
    fresh.replace(target)
    sync_directory(target.parent)


def _backup(path: Path, fresh: Path) -> None:
    source, copied = sqlite3.connect(path), sqlite3.connect(fresh)
    try:
        source.backup(copied)
        copied.execute("PRAGMA journal_mode = DELETE")  # so that the copy is one file, with nothing beside it
    finally:
        copied.close()
        source.close()
