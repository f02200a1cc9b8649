"""The operator's log: what an engine said of itself, in a file that the owner alone reads.

Comes in: the policy, which names the directory. Goes out: nothing that an analyst sees; the file is made by its first
line. Every door that opens a policy sets this up first.
"""

from __future__ import annotations

import logging
import os
from io import TextIOWrapper
from pathlib import Path

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
    handler = _Private(Path(policy.data.state) / "operator.log", encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for log in logs:
        log.addHandler(handler)
        log.propagate = False


class _Private(logging.FileHandler):
    """A file that nobody else may read, in a directory that nobody else may enter."""

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        return os.fdopen(handle, "a", encoding="utf-8")
