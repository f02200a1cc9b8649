"""The audit log: who came in, what was asked, what it cost, what was refused; one line of JSON each.

Comes in: events of a door. Goes out: audit.jsonl in the policy's state directory, for owner and auditors. It holds no
answer, let alone a true value; what engines say of themselves goes to the operator's log instead.
"""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


class Journal:
    """Lines that are only ever appended. Any number of threads may write."""

    def __init__(self, state: str | Path) -> None:
        self._file = Path(state) / "audit.jsonl"
        self._lock = threading.Lock()
        self._handle: int | None = None

    def write(self, event: str, **fields: Any) -> None:
        """One event, with the moment and what belongs to it."""
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        known = {name: value for name, value in fields.items() if value is not None}
        line = json.dumps({"at": moment, "event": event, **known}) + "\n"
        with self._lock:
            if self._handle is None:
                self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._handle = os.open(self._file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
            os.write(self._handle, line.encode("utf-8"))

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._handle is not None:
                os.close(self._handle)
                self._handle = None
