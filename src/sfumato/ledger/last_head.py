"""The last entry of the chain that a gateway wrote, kept in the state directory: a ledger that is gone is missed.

A file of one line, `seq hash`, written in place after each commit. It is forced to the disk only when it is made, so it
may be older than the ledger, never newer; it survives a killed process. Together with the ledger it can be removed or
copied by whoever owns both: an anchor on another disk (see `anchor`) protects against that, too.

The owner who gives up a lost ledger says so with `sfumato ledger accept`, which adds the word `accepted`; the next
opening records it in the chain (see `earlier_use`). Entry 0 stands for entries of which no number is known.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sfumato.errors import LedgerError
from sfumato.files import PRIVATE, make_private_directory, sync_directory
from sfumato.ledger.chain import hash_at, head
from sfumato.ledger.operator_messages import AGAIN, words_of
from sfumato.ledger.protocol import StoreConnection

ACCEPT = (
    "Restore the newest ledger. If it is lost for good, `sfumato ledger accept` lets this one be served;"
    " the charges that it lacks are then forgotten."
)
_LINE = re.compile(r"([0-9]{18}) ([0-9a-f]{64})( accepted)? *\n")
_TRIES = 5
_WIDTH = 18 + 1 + 64 + len(" accepted") + 1


class LastHead(NamedTuple):
    """Number and hash of the entry, and whether the owner has given up what the ledger may lack."""

    seq: int
    hash: str
    accepted: bool = False


def place_of_last_head(state: str | Path, data_id: str) -> Path:
    """Return the file for a data set; several may share a state directory."""
    return Path(state) / f"ledger-{hashlib.sha256(data_id.encode()).hexdigest()[:16]}.head"


def read_last_head(path: Path | None) -> LastHead | None:
    """Return what the file holds; None where there is none, or an empty one whose first line was never written."""
    if path is None:
        return None
    for _ in range(_TRIES):  # a line that is being written may be read in part
        try:
            text = path.read_text(encoding="ascii")
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise LedgerError("the record of the last ledger entry cannot be read") from error
        line = _LINE.fullmatch(text)
        if line is not None:
            return LastHead(int(line[1]), line[2], line[3] is not None)
        if not text:
            return None
        time.sleep(0.001)
    raise LedgerError(
        "the record of the last ledger entry is damaged",
        detail=f"{path.name} in the state directory must hold one number and one hash.",
        hint="Check the ledger with `sfumato ledger verify`, then remove the damaged file.",
    )


def write_last_head(path: Path, last: LastHead) -> None:
    """Write the line in place, which needs no more room on the disk; durable only where the file is new."""
    words = f"{last.seq:018d} {last.hash}{' accepted' if last.accepted else ''}"
    line = words.ljust(_WIDTH - 1).encode("ascii") + b"\n"
    try:
        try:
            handle = os.open(path, os.O_WRONLY)
        except FileNotFoundError:
            _make(path, line)
            return
        with closing_handle(handle):
            os.pwrite(handle, line, 0)
    except OSError as error:
        raise LedgerError(
            "the record of the last ledger entry cannot be written", detail=words_of(error), hint=AGAIN
        ) from error


def _make(path: Path, line: bytes) -> None:
    make_private_directory(path.parent)
    handle = os.open(path, os.O_CREAT | os.O_WRONLY, PRIVATE)
    with closing_handle(handle):
        os.pwrite(handle, line, 0)
        os.fsync(handle)
    sync_directory(path.parent)


@contextmanager
def closing_handle(handle: int) -> Iterator[None]:
    """Close a file at the end of a block."""
    try:
        yield
    finally:
        os.close(handle)


def advance_last_head(path: Path, seq: int, sealed: str, *, serving: bool) -> None:
    """Record a newer entry; the file does not go back. Only one who serves puts an end to what was accepted."""
    known = read_last_head(path)
    if known is None or (known.accepted and serving) or (known.seq < seq and not known.accepted):
        write_last_head(path, LastHead(seq, sealed))


def check_holds(connection: StoreConnection, last: LastHead | None) -> LastHead | None:
    """Return what the owner accepted to lose, or None if the chain holds the entry that was recorded last."""
    if last is None or (last.seq and hash_at(connection, last.seq) == last.hash):
        return None
    if last.accepted:
        return last
    raise LedgerError(
        "the ledger is older than the one that was served last",
        detail=f"Entry {last.seq} was recorded, but is not in this chain of {head(connection)[0]} entries.",
        hint=ACCEPT,
    )
