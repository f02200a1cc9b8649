"""A ledger that is gone: what in the state directory shows that there was one, and the owner who goes on without it.

Comes in: the file of the last head, which may be gone, too. Goes out: a refusal to begin a new ledger, or nothing.
Beside the last head two things are looked at: policies that were kept when a ledger was opened under them, which name
their data set, and the audit log, which records what queries cost but not of which data set; where there are traces of
another data set in the same directory, its lines may be about that one, and show nothing. `admitted.json` shows nothing
either: `check` writes it before the first query. Who removes all of that is not found out here: an anchor on another
disk protects against it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from sfumato.errors import LedgerError
from sfumato.ledger.chain import FIRST
from sfumato.ledger.kept_policies import FOLDER, data_sets_of_kept_policies
from sfumato.ledger.last_head import ACCEPT, LastHead, place_of_last_head, read_last_head, write_last_head

_AUDIT = "audit.jsonl"


def check_found(path: Path | None, last: LastHead | None, is_there: Callable[[], bool] = lambda: False) -> None:
    """Refuse to begin a new ledger where there was one, unless the owner has accepted that.

    `last` was read from `path` before the ledger was looked for; `is_there` looks for it once more, because another
    process may have begun it, and left its traces, in between.
    """
    if last is not None and not last.accepted:
        raise _missing(f"Entry {last.seq} was recorded for this data set")
    if last is None and path is not None:
        shown = find_earlier_use(path)
        if shown is not None and not is_there():
            raise _missing(shown)


def _missing(shown: str) -> LedgerError:
    detail = f"{shown}; a new ledger would forget what was spent."
    return LedgerError("the ledger is missing", detail=detail, hint=ACCEPT)


def accept_loss(path: Path) -> LastHead | None:
    """Let the next opening go on without what was recorded; return that, or None if nothing shows that there was a
    ledger. Entry 0 stands for entries of which no number is known.
    """
    last = read_last_head(path)
    if last is None and find_earlier_use(path) is not None:
        last = LastHead(0, FIRST)
    if last is not None:
        write_last_head(path, last._replace(accepted=True))
    return last


def find_earlier_use(last_head: Path) -> str | None:
    """Return what shows, beside the last head, that a ledger of this data set was used with this state directory."""
    state = last_head.parent
    heads = {place_of_last_head(state, data_id) for data_id in data_sets_of_kept_policies(state)}
    if last_head in heads:
        return f'A policy of this data set, under which a ledger was opened, is in "{FOLDER}" in the state directory'
    others = heads | (set(state.glob("ledger-*.head")) - {last_head})
    if not others and any(map(_is_charge, _audit_lines(state))):
        return f'"{_AUDIT}" in the state directory records queries that were charged'
    return None


def _audit_lines(state: Path) -> Iterator[bytes]:
    """The audit log, also what was moved to another name beside it; a device or a pipe has no past to be read."""
    for place in filter(Path.is_file, sorted(state.glob(f"{_AUDIT}*"))):
        try:
            with place.open("rb") as lines:
                yield from lines
        except OSError:
            continue


def _is_charge(line: bytes) -> bool:
    if b'"cost"' not in line:
        return False
    try:
        cost = json.loads(line)["cost"]
        return any(cost.get(name) not in (None, "0") for name in ("epsilon", "rho", "delta"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
