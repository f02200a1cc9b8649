"""Files that their owner alone may read, replaced whole or not at all.

A file is written under another name, forced to the disk and renamed. The other name holds the number of the process, so
that the next one finds what a killed process left behind, and removes it.
"""

from __future__ import annotations

import itertools
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PRIVATE = 0o600
_DAY = 86_400.0
"""After so many seconds a file belongs to no process that is still writing it, whichever process has the number now."""
_ENDS = ("", ".wal", "-wal", "-shm", "-journal")
"""What databases put beside a file."""
_LEFT = re.compile(r"\.([0-9]+)(?:\.[0-9]+)?\.new(?:\.wal|-wal|-shm|-journal)?")
_NUMBERS = itertools.count()
_WRITTEN: set[str] = set()
"""The other names that this process uses now."""


def real_path(path: Path) -> Path:
    """Return where a path leads when links are followed; a circle of links leads to itself, and cannot be opened."""
    return Path(os.path.realpath(path))  # `resolve` raises a RuntimeError for a circle


def make_private_directory(path: Path) -> None:
    """Make a directory that its owner alone may enter; one that already exists becomes so."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        with suppress(PermissionError):  # it belongs to somebody else, who decided on it
            path.chmod(0o700)


def replace_file(path: Path, data: bytes, *, mode: int = PRIVATE) -> None:
    """Write a file whole, durable when this returns; a link is followed, so that it stays a link."""
    real = real_path(path)
    done = False
    while not done:
        with fresh_file(real) as fresh:
            with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            try:
                fresh.replace(real)
                done = True
            except FileNotFoundError:  # a process in another container took it for a leftover
                if not real.parent.is_dir():
                    raise
    sync_directory(real.parent)


@contextmanager
def fresh_file(path: Path) -> Iterator[Path]:
    """A name that nobody uses, to write a file under before it takes its own; nothing is left of it but by a kill."""
    remove_leftovers(path)
    fresh = path.with_name(f"{path.name}.{os.getpid()}.{next(_NUMBERS)}.new")
    beside = [fresh.with_name(fresh.name + end) for end in _ENDS]
    _WRITTEN.add(fresh.name)
    try:
        for left in beside:
            left.unlink(missing_ok=True)
        yield fresh
    finally:
        with suppress(OSError):
            for left in beside:
                left.unlink(missing_ok=True)
        _WRITTEN.discard(fresh.name)


def remove_leftovers(path: Path) -> None:
    """Remove what processes that ended have left beside a file: half of it, or all of it under the other name."""
    for found in path.parent.glob(f"{_escaped(path.name)}.*.new*"):
        number = _LEFT.fullmatch(found.name[len(path.name) :])
        if number is not None and not _is_written(found, int(number[1])):
            with suppress(OSError):
                found.unlink()


def _escaped(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


def _is_written(path: Path, process: int) -> bool:
    """Return whether a process that lives may be writing this."""
    if process == os.getpid():
        return path.name.rpartition(".new")[0] + ".new" in _WRITTEN
    try:
        if time.time() - path.stat().st_mtime > _DAY:
            return False
        os.kill(process, 0)
    except (ProcessLookupError, FileNotFoundError, OverflowError):
        return False
    except OSError:
        pass  # it lives, and belongs to somebody else
    return True


@contextmanager
def appended_line(path: Path, line: str) -> Iterator[None]:
    """Add a line to a file, durable when the block begins; if the block raises, the line is removed again.

    A line that has no end, because somebody else's writing was cut short, gets one first. Other processes wait until
    the block has ended: none of them removes a line that is not its own.
    """
    data = f"{line}\n".encode()
    with path.open("a+b") as file:
        _wait_for(file.fileno())
        start = file.seek(0, os.SEEK_END)
        file.seek(max(0, start - 1))
        if file.read(1) not in (b"", b"\n"):
            data = b"\n" + data
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            yield
        except BaseException:
            with suppress(OSError):
                os.truncate(path, start)
            raise


def _wait_for(handle: int) -> None:
    """Take the lock of a file, until it is closed."""
    try:
        import fcntl
    except ImportError:  # Windows: one process at a time
        return
    fcntl.flock(handle, fcntl.LOCK_EX)


def sync_directory(directory: Path) -> None:
    """Make names durable; Windows has no such call."""
    if os.name == "nt":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
