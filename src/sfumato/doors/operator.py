"""The operator's log: what an engine said of itself, and what is wrong with ledger or disk, for the owner alone.

Comes in: the policy, which names the directory. Goes out: nothing that an analyst sees; the file is made by its first
line. Every door that opens a policy sets this up first. A log that cannot be written stops nothing, and what it would
have held is shown nowhere else: stderr is told that there was something.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from sfumato.doors.lines import Lines
from sfumato.policy import Policy

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
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for log in logs:
        log.addHandler(handler)
        log.propagate = False


class _Private(logging.Handler):
    """Lines of a file that nobody else may read; whatever goes wrong with it, whoever logs goes on."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._lines = Lines(path, lambda lost: f"{lost} lines were lost here")

    def emit(self, record: logging.LogRecord) -> None:
        """One record; an engine's words may hold a row, so they go to this file or nowhere."""
        try:
            why = self._lines.append(self.format(record))
        except Exception as error:  # noqa: BLE001  a record that cannot be written as text
            why = type(error).__name__
        if why is not None and sys.stderr is not None:
            try:
                sys.stderr.write(
                    f"sfumato: the operator's log cannot be written ({why}); what it should hold is lost\n"
                )
            except OSError:
                pass

    def close(self) -> None:
        """Let go of the file."""
        self._lines.close()
        super().close()
