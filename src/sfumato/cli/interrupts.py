"""Ctrl-C while the command line is still loading ends it without a traceback.

Comes in: an exception that nothing handles. Goes out: nothing for Ctrl-C, whose exit code stays that of the signal; the
usual report for anything else. It is imported before whatever takes time.
"""

from __future__ import annotations

import sys
from types import TracebackType

_usual = sys.excepthook


def _told(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        _usual(kind, error, trace)


def install() -> None:
    """Be silent about Ctrl-C from now on."""
    sys.excepthook = _told


install()
