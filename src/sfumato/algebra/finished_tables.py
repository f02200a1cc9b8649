"""Finished rows that an engine is handed beside a query: released tables, and public rows made of them.

Comes in: names of columns, their types in our own words, and where their values come from. Goes out: a table whose
columns are computed when an engine reads them: most queries read few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class FinishedTable:
    """A name, the type of each column, and a function for its values."""

    __slots__ = ("_made", "_values", "kinds", "name")

    def __init__(self, name: str, columns: Mapping[str, tuple[str, Callable[[], list[Any]]]]) -> None:
        self.name = name
        self.kinds = {column: kind for column, (kind, _) in columns.items()}
        self._values = {column: values for column, (_, values) in columns.items()}
        self._made: dict[str, list[Any]] = {}

    def values(self, column: str) -> list[Any]:
        """The values of a column, in the order of the rows; computed once."""
        made = self._made.get(column)
        if made is None:
            made = self._made[column] = self._values[column]()
        return made
