"""What planning asks of an engine: rows of public tables and of declared domains, before anything is charged.

Comes in: relations and expressions of our algebra. Goes out: rows that are nobody's data. No private row is read, so
what comes back may decide about groups, fan-outs and refusals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sfumato.algebra.relations import HeldRows, Relation, Scan
from sfumato.algebra.tree import Column, Node, Value


@dataclass(frozen=True)
class DeclaredValues:
    """The declared values of a column, in order: `values`, or `count` steps of its grid from `low` on. NULL is last.

    Of a timestamp `low` is a second, counted from the first day on, and `step` how many seconds lie between two values.
    """

    column: Column
    values: tuple[Value, ...] | None
    low: int
    count: int
    step: int = 1


@dataclass(frozen=True)
class TableValues:
    """The different rows of a public table in these columns; with `missing`, a row of NULLs besides."""

    scan: Scan
    columns: tuple[Column, ...]
    missing: bool


@dataclass(frozen=True)
class KeyList:
    """The combinations of values that pass the conditions, as images under the keys.

    `reads` are the columns in the order that sorts the images: each image stands where its first combination does.
    """

    sources: tuple[DeclaredValues | TableValues, ...]
    conditions: tuple[Node, ...]
    keys: tuple[Node, ...]
    reads: tuple[str, ...]


class PublicRows(Protocol):
    """An engine, as planning sees it."""

    def images(self, keys: KeyList) -> list[tuple[Any, ...]]:
        """The different images of a list of keys, in order."""

    def count_values(self, table: TableValues) -> int:
        """How many rows these values of a public table are."""

    def most_alike(self, relation: Relation, nodes: Sequence[Node]) -> int:
        """The largest number of rows of a public relation that have the same values of these expressions."""

    def rows(self, relation: Relation, nodes: Sequence[Node], most: int) -> list[tuple[Any, ...]]:
        """What these expressions are in the rows of a public relation, of so many rows at most."""

    def fix(self, relation: Relation) -> HeldRows:
        """Public rows that private rows will meet, computed once and kept for as long as the handle."""
