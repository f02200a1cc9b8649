"""The same question, asked several times at once: one after another, so that it is paid for once.

Comes in: the digest of a question. Goes out: a turn; who comes after it finds the answer stored. Other questions wait
for nothing. Between processes the ledger decides: there the first answer is kept, and each of them has paid.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """A lock for each question that somebody is about to pay for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, tuple[threading.Lock, int]] = {}

    @contextmanager
    def of(self, question: str) -> Iterator[None]:
        """A turn at this question."""
        with self._lock:
            turn, count = self._waiting.get(question, (threading.Lock(), 0))
            self._waiting[question] = (turn, count + 1)
        try:
            with turn:
                yield
        finally:
            with self._lock:
                turn, count = self._waiting.pop(question)
                if count > 1:
                    self._waiting[question] = (turn, count - 1)
