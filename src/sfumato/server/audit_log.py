"""The audit log: who came in, what was asked, what it cost, what was refused; one line of JSON each.

Comes in: events of a door. Goes out: audit.jsonl in the policy's state directory, for owner and auditors. It holds no
answer, let alone a true value; what engines say of themselves goes to the operator's log instead. The ledger is the
record of what was spent: where this log cannot be written, answers that were paid for are given all the same, the
operator is told, and the log itself says how many lines it lacks.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.server.append_only_file import Lines

_OPERATOR = logging.getLogger("sfumato.operator")

_NAME = 63
"""Characters of a user's name."""


class AuditLog:
    """Lines that are only ever appended. Any number of threads may write."""

    def __init__(self, state: str | Path) -> None:
        self._lines = Lines(Path(state) / "audit.jsonl", lambda lost: _line("lines lost", {"lines": lost}))

    def write(self, event: str, **fields: Any) -> None:
        """One event, with the moment and what belongs to it."""
        why = self._lines.append(_line(event, fields))
        if why is not None:
            _OPERATOR.critical(
                "the audit log cannot be written (%s): its lines are lost until it can be; what was spent is in the"
                " ledger. Free space or repair the disk.",
                why,
            )

    def close(self) -> None:
        """Let go of the file."""
        self._lines.close()


def _line(event: str, fields: dict[str, Any]) -> str:
    moment = datetime.now(UTC).isoformat(timespec="milliseconds")
    known = {name: value for name, value in fields.items() if value is not None}
    if isinstance(known.get("user"), str):  # a stranger may call herself anything
        known["user"] = known["user"][:_NAME]
    return json.dumps({"at": moment, "event": event, **known})
