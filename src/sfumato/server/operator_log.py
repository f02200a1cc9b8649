"""The operator's log: what the server reports about itself, one line of JSON each, readable by the owner only.

Comes in: the policy, which names the directory. Goes out: operator.log there, made by its first line: starts, ends,
reloads, what an engine said when it failed, and what is wrong with ledger or disk; nothing that an analyst sees. Every
door that opens a policy sets this up first. A log that cannot be written stops nothing, and what it would have held is
shown nowhere else: stderr is told that there was something.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.policy import Policy
from sfumato.server.append_only_file import Lines

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
    handler = _Private(Path(policy.data.state) / "operator.log")
    handler.setFormatter(_Lines())
    for log in logs:
        log.addHandler(handler)
        log.propagate = False
    _LOG.setLevel(logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.ERROR)  # its warnings are about requests: strangers would write them


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


class _Private(logging.Handler):
    """Lines of a file that nobody else may read; whatever goes wrong with it, whoever logs goes on."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._lines = Lines(path, lambda lost: json.dumps({"message": "lines were lost here", "lines": lost}))

    def emit(self, record: logging.LogRecord) -> None:
        """One record; an engine's words may hold a row, so they go to this file or nowhere."""
        try:
            why = self._lines.append(self.format(record))
        except Exception as error:  # noqa: BLE001  a record that cannot be written as text
            why = type(error).__name__
        if why is not None and sys.stderr is not None:
            try:
                sys.stderr.write(f"sfumato: the operator's log cannot be written ({why}); its lines are lost\n")
            except OSError:
                pass

    def close(self) -> None:
        """Let go of the file."""
        self._lines.close()
        super().close()
