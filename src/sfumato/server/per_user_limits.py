"""How much a server keeps for one user: unread results, prepared statements, open cursors.

Comes in: things with their sizes. Goes out: nothing, or an error where one more would be too much. What is let go of is
given back by itself, whoever held it.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

from sfumato.errors import QueryError

MOST = 512 * 2**20
"""Bytes for one user, on all of her connections together."""


class Allowance:
    """The bytes of one user. Any number of threads may use it.

    Guarantee: the things that are held here and alive never have more than `most` bytes together.
    Proof: a thing is counted before it is handed on, once, and until it is freed.
    Reference: docs/threats.md, Availability.
    Checked by: unit::an_allowance_is_given_back_when_things_are_freed,
        end_to_end::results_that_nobody_reads_are_bounded
    """

    def __init__(self, most: int = MOST) -> None:
        self._most, self.used = most, 0
        self._lock, self._held = threading.RLock(), set[int]()  # a finalizer may run inside of `hold`

    def hold(self, thing: Any, size: int) -> None:
        """Count a thing as long as it lives."""
        with self._lock:
            if id(thing) in self._held:
                return
            if self.used + size > self._most:
                raise QueryError(
                    f"more than {self._most >> 20} MiB would be held for you",
                    sqlstate="53200",
                    hint="Read or close open answers, cursors and prepared statements. The answer is stored.",
                )
            self.used += size
            self._held.add(id(thing))
        weakref.finalize(thing, self._free, id(thing), size).atexit = False

    def _free(self, thing: int, size: int) -> None:
        with self._lock:
            self.used -= size
            self._held.discard(thing)
