"""The operator's log: what the house says of itself, in a file that the owner alone reads; one line of JSON each.

Comes in: the policy, which names the directory. Goes out: operator.log there, with starts, ends, reloads, and what an
engine said when it failed; nothing that an analyst sees. Every door that opens a policy sets this up first.
"""

from __future__ import annotations

import json
import logging
import os
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from sfumato.policy import Policy

_LOG = logging.getLogger("sfumato.operator")
_LOGS = ("sfumato.operator", "uvicorn")
"""Ours, and what the HTTP server says of itself."""


def keep_log(policy: Policy) -> None:
    """Send the operator's lines to operator.log below the policy's `state`, and nowhere else."""
    logs = [logging.getLogger(name) for name in _LOGS]
    for log in logs:
        for old in list(log.handlers):
            log.removeHandler(old)
            old.close()
    handler = _Private(Path(policy.data.state) / "operator.log", encoding="utf-8", delay=True)
    handler.setFormatter(_Lines())
    for log in logs:
        log.addHandler(handler)
        log.propagate = False
    _LOG.setLevel(logging.INFO)


def tell(message: str, **fields: Any) -> None:
    """One line, with what belongs to it."""
    _LOG.info(message, extra={"fields": fields})


def warn(message: str, **fields: Any) -> None:
    """One line that the operator should not miss."""
    _LOG.warning(message, extra={"fields": fields})


class _Lines(logging.Formatter):
    """A record as one line of JSON; a traceback names places in the code, never the values that were there."""

    def format(self, record: logging.LogRecord) -> str:
        document = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": record.process,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            document["trace"] = self.formatException(record.exc_info)
        return json.dumps(document)


class _Private(logging.FileHandler):
    """A file that nobody else may read, in a directory that nobody else may enter."""

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        return os.fdopen(handle, "a", encoding="utf-8")
