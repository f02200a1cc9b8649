"""What the owner is told: the warnings and errors of the operator's log, as a list of lines."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)  # whatever level another test has set
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextmanager
def told_to_the_owner() -> Iterator[list[str]]:
    """The lines with a warning that reach the operator's log while this lasts."""
    log, handler = logging.getLogger("sfumato.operator"), _Kept()
    log.addHandler(handler)
    try:
        yield handler.lines
    finally:
        log.removeHandler(handler)
