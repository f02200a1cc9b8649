"""The same question, asked several times at once: one after another, so that it is paid for once.

Comes in: the digest of a question. Goes out: a turn; who comes after it finds the answer stored. Other questions wait
for nothing. Between processes the ledger decides: there the first answer is kept, and each of them has paid.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sfumato.interrupts import LOOK, check_wanted, who


class QueryLocks:
    """A lock for each question that somebody is about to pay for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, tuple[threading.Lock, list[str]]] = {}

    @contextmanager
    def of(self, question: str) -> Iterator[None]:
        """A turn at this question; who waits for it stops when it is cancelled."""
        analyst = who()
        with self._lock:
            turn, analysts = self._waiting.setdefault(question, (threading.Lock(), []))
            analysts.append(analyst)
        try:
            while not turn.acquire(timeout=LOOK):
                check_wanted()
            try:
                yield
            finally:
                turn.release()
        finally:
            with self._lock:
                analysts.remove(analyst)
                if not analysts:
                    del self._waiting[question]

    def analysts(self, question: str) -> tuple[str, ...]:
        """Who waits for the answer to this question, the one who has the turn included."""
        with self._lock:
            return tuple(dict.fromkeys(self._waiting[question][1])) if question in self._waiting else ()
