"""Messages to the operator when something is wrong with the ledger: plain sentences in the log, each once.

Comes in: an error that somebody else is about to get. Goes out: a line for the owner, who may not be there to see it.
Analysts ask again and again; the log of a full disk must not be filled by that.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3

from sfumato.errors import LedgerError

OPERATOR = logging.getLogger("sfumato.operator")

AGAIN = "Fix the cause and restart the gateway; `sfumato ledger verify` checks the ledger."

_WORDS = {
    sqlite3.SQLITE_FULL: "The disk is full",
    sqlite3.SQLITE_IOERR: "The disk failed to read or write",
    sqlite3.SQLITE_READONLY: "The file may not be written",
    sqlite3.SQLITE_CANTOPEN: "The file cannot be opened",
    sqlite3.SQLITE_CORRUPT: "The file is damaged",
    sqlite3.SQLITE_NOTADB: "The file is damaged",
}
_SYNCS = {sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC}


class Owner:
    """The owner of one open ledger, and what she was told already."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def tell(self, error: LedgerError, level: int = logging.ERROR) -> None:
        """One line, the first time that this goes wrong."""
        if error.message not in self._told:
            self._told.add(error.message)
            OPERATOR.log(level, "%s", " ".join(f"{error.message}. {error.detail or ''} {error.hint or ''}".split()))


def went_back(now: str, latest: str) -> LedgerError:
    """The clock is behind the last entry of the chain."""
    return LedgerError(
        "the clock went back",
        detail=f"It says {now}, but the last entry of the ledger is of {latest}.",
        hint="Correct the clock. Until it has passed that time, new entries carry that time beside the clock's.",
    )


def words_of(error: BaseException) -> str:
    """What went wrong, for people; no path, which is nobody's business but the owner's."""
    if isinstance(error, OSError):
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        return f"{'The disk is full' if full else 'A file failed'} ({os.strerror(error.errno or 0)})."
    code = getattr(error, "sqlite_errorcode", 0)
    if code in _SYNCS:
        return f"The disk did not confirm that what was written is durable ({error})."
    words = _WORDS.get(code & 0xFF)
    return f"{type(error).__name__}: {error}." if words is None else f"{words} ({error})."
