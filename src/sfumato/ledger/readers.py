"""Connections that only read, several at once: a long look of one does not keep the others waiting.

Comes in: work that reads. Goes out: its result, from one moment of the file, whatever is written meanwhile.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from queue import LifoQueue
from typing import TypeVar

from sfumato.ledger import store
from sfumato.ledger.protocol import Work

T = TypeVar("T")
READERS = 4
"""At most so many read at once; each is opened when it is needed first."""


class Readers:
    """A few connections to one ledger. Any number of threads may use them."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect, self._open = connect, list[sqlite3.Connection]()
        self._free: LifoQueue[sqlite3.Connection | None] = LifoQueue()
        for _ in range(READERS - 1):
            self._free.put(None)
        self._open.append(connect())
        self._free.put(self._open[0])

    def read(self, work: Work[T]) -> T:
        """The result of work that writes nothing."""
        reader = self._free.get()
        try:
            if reader is None:
                reader = self._connect()
                self._open.append(reader)
            return snapshot(reader, work)
        except sqlite3.Error as error:
            raise store.unreachable(error) from error
        finally:
            self._free.put(reader)

    def close(self) -> None:
        """Close them all."""
        for reader in self._open:
            reader.close()


def snapshot(reader: sqlite3.Connection, work: Work[T]) -> T:
    """Read from one moment of the file, whatever is written meanwhile."""
    try:
        reader.execute("BEGIN")
        try:
            return work(reader)
        finally:
            reader.execute("ROLLBACK")
    except sqlite3.Error as error:
        raise store.unreachable(error) from error
