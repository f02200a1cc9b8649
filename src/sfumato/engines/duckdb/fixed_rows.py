"""Public rows that private rows meet: computed once, and kept in the engine that joins them.

Comes in: a SELECT over public tables. Goes out: a table that holds its rows for as long as somebody has the handle. So
the rows that planning counts are the rows that are read when the query runs, whatever order a sort or a float sum
happens to have.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any
from weakref import WeakValueDictionary, finalize

import duckdb

from sfumato.types import identifier

MOST_ROWS, MOST_BYTES = 1_000_000, 64 * 2**20
"""Rows of one public sub-query that private rows meet, and the bytes that they take."""
Compute = Callable[[str], tuple[list[tuple[Any, ...]], list[tuple[str, str]], int]]
"""The rows of a SELECT, the names and types of its columns, and roughly how many bytes it takes."""
_SCHEMA = identifier("#fixed")


class FixedRows:
    """A table of public rows; it is dropped some time after the last reference to this handle."""

    __slots__ = ("__weakref__", "_size", "name", "rows")

    def __init__(self, name: str, rows: int, size: int) -> None:
        self.name, self.rows, self._size = name, rows, size

    def __sizeof__(self) -> int:
        """The bytes of its rows: who keeps the handle keeps them."""
        return object.__sizeof__(self) + self._size


class FixedStore:
    """The tables of one connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}")
        self._connection, self._numbers, self._lock = connection, count(), threading.Lock()
        self._held: WeakValueDictionary[str, FixedRows] = WeakValueDictionary()
        self._unused: deque[str] = deque()

    def fix(self, sql: str, compute: Compute) -> FixedRows:
        """The rows of this SELECT; the same text gives the same rows as long as they are held."""
        held = self._held.get(sql)
        if held is None:
            self._drop_unused()
            made = self._create(*compute(sql))  # not under the lock: it may take its time
            with self._lock:
                held = self._held.setdefault(sql, made)
        return held

    def _create(self, rows: list[tuple[Any, ...]], columns: list[tuple[str, str]], size: int) -> FixedRows:
        name = f"{_SCHEMA}.{identifier(str(next(self._numbers)))}"
        kinds = ["INTEGER" if "NULL" in kind else kind for _, kind in columns]  # of nothing but NULL
        shown = [f"unnest(${i + 1}::{kinds[i]}[]) AS {identifier(column)}" for i, (column, _) in enumerate(columns)]
        values = [[row[i] for row in rows] for i in range(len(columns))]
        with self._connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {name} AS SELECT {', '.join(shown)}", values)
        fixed = FixedRows(name, len(rows), size)
        finalize(fixed, self._unused.append, name).atexit = False  # dropped later: this may run inside of any statement
        return fixed

    def _drop_unused(self) -> None:
        with self._connection.cursor() as cursor, suppress(IndexError):  # another thread was faster
            while True:
                cursor.execute(f"DROP TABLE IF EXISTS {self._unused.popleft()}")
