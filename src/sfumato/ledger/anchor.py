"""The anchor: the head of the chain, kept in another place, so that an older ledger cannot stand in for a newer one.

A small file holding `seq hash`. It is replaced after each commit, whole or not at all; a crash between the two leaves a
ledger that is newer than its anchor, which is fine. It protects as far as those who can write the ledger cannot write
the anchor. Two processes may set it back by the commit of a moment, never to an entry that the chain does not hold.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path

from sfumato.errors import LedgerError
from sfumato.files import PRIVATE, real_path, remove_leftovers, replace_file
from sfumato.ledger.chain import hash_at, head
from sfumato.ledger.operator_messages import AGAIN, words_of
from sfumato.ledger.protocol import StoreConnection

OLDER = "Restore the newest ledger: an older one lacks later charges and would refund them."
_LINE = re.compile(r"([0-9]{1,18}) ([0-9a-f]{64})\n")


def read_anchor(path: Path) -> tuple[int, str] | None:
    """Number and hash that the anchor holds; None where there is none yet."""
    try:
        text = path.read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise LedgerError("the anchor of the ledger cannot be read") from error
    line = _LINE.fullmatch(text)
    if line is None:
        raise LedgerError("the anchor of the ledger is damaged", detail="It must hold one number and one hash.")
    return int(line[1]), line[2]


def open_anchor(path: Path) -> tuple[int, str] | None:
    """The anchor when a ledger is opened: what a killed process left half-written beside it is removed."""
    remove_leftovers(real_path(path))
    return read_anchor(path)


def check_anchor(connection: StoreConnection, anchor: tuple[int, str] | None) -> None:
    """The chain holds the entry that the anchor names. The anchor is read first: the ledger may be newer, not older."""
    if anchor is None:
        return
    if hash_at(connection, anchor[0]) != anchor[1]:
        raise LedgerError(
            "the ledger is older than its anchor",
            detail=f"The anchor names entry {anchor[0]}, which is not in this chain of {head(connection)[0]} entries.",
            hint=OLDER,
        )


def write_anchor(path: Path, seq: int, sealed: str) -> None:
    """Replace the anchor, durable on return; it never goes back."""
    known = read_anchor(path)
    if known is not None and known[0] >= seq:
        return
    try:
        mode = PRIVATE if known is None else stat.S_IMODE(path.stat().st_mode)  # an auditor may have been let in
        replace_file(path, f"{seq} {sealed}\n".encode("ascii"), mode=mode)
    except OSError as error:
        raise LedgerError("the anchor of the ledger cannot be written", detail=words_of(error), hint=AGAIN) from error
