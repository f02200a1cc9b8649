"""The outside of a ledger file: made, opened, upgraded, copied; durable, local, and readable by its owner only.

Comes in: a path. Goes out: an SQLite connection in WAL mode whose commits are on the disk when they return.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sfumato.errors import LedgerError
from sfumato.files import PRIVATE, fresh_file, real_path, sync_directory
from sfumato.ledger import schema
from sfumato.ledger.operator_messages import AGAIN, OPERATOR, words_of
from sfumato.ledger.records import Busy, ServerError
from sfumato.ledger.steps import StepResult

MEMORY = ":memory:"
MOUNTS = Path("/proc/mounts")
NETWORK = frozenset(
    {"afs", "ceph", "cifs", "fuse.ceph", "fuse.glusterfs", "fuse.sshfs", "glusterfs", "lustre", "nfs", "nfs4", "smb3"}
)
"""File systems whose locks or shared memory may not hold between hosts, which WAL needs (sqlite.org/wal.html)."""

UNREACHED = "the ledger cannot be reached"

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
    if isinstance(error, ServerError) and error.meaning is not StepResult.WRONG:
        detail = f"{error}; nothing was written."
        return Busy(
            "the ledger is busy" if error.meaning is StepResult.BUSY else UNREACHED, detail=detail, hint="Try again."
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
    """Make an empty file that only its owner may read; SQLite gives the same rights to what it puts beside it.

    A link that leads nowhere yet is followed: SQLite would make the file that it names, for everybody to read.
    """
    real = real_path(path)
    check_local(real)
    try:
        os.close(os.open(real, os.O_CREAT | os.O_EXCL | os.O_RDWR, PRIVATE))
    except FileExistsError:
        mode = stat.S_IMODE(real.stat().st_mode)
        if mode & 0o077:
            OPERATOR.warning("other users can read the ledger (mode %o); run chmod 600 on it", mode)
        return
    sync_directory(real.parent)


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
    with fresh_file(target) as fresh:
        os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_RDWR, PRIVATE))
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
