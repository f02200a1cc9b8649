"""Above the cut: ordinary SQL over released tables and public ones, in an engine that never held a private row.

Comes in: a question, and released tables as columns. Goes out: rows in the order asked for. Everything here is
post-processing and free.
"""

from __future__ import annotations

import threading
from typing import Any

import duckdb

from sfumato.errors import QueryError
from sfumato.sql.bind import Question
from sfumato.sql.emit import expression, sort_key
from sfumato.sql.relations import Release
from sfumato.sql.select import released_name, select
from sfumato.sql.tree import BOOLEAN, DATE, DECIMAL, DOUBLE, INTEGER, TIMESTAMP, Column, Facts, columns_of
from sfumato.words import Sheet

_TYPES = {
    INTEGER: "HUGEINT",
    DECIMAL: "HUGEINT",
    DOUBLE: "DOUBLE",
    DATE: "DATE",
    TIMESTAMP: "TIMESTAMP",
    BOOLEAN: "BOOLEAN",
}


def table_of(release: Release, columns: dict[str, list[Any]]) -> Sheet:
    """A release as a table."""
    kinds = tuple((name, column_type(release.columns[name].facts)) for name in columns)
    return Sheet(released_name(release), kinds, tuple(columns.values()))


def column_type(facts: Facts) -> str:
    """The engine's type of a column: exact numbers are whole steps."""
    return _TYPES.get(facts.kind, "VARCHAR")


def top(question: Question) -> str:
    """The last SELECT: each item's value, then what its origins need of the row, for intervals."""
    relation = question.traced
    places = [Column(name, relation.columns[name].facts) for name in relation.shape.places]
    nodes = (*question.computed, *question.traces)
    read = {name for node in nodes for name in columns_of(node)}
    read |= {name for s in question.order for name in columns_of(s.node)} | {place.name for place in places}
    shown = [f"{expression(node)} AS i{n}" for n, node in enumerate(nodes)]
    by = [sort_key(s.node, s.descending, s.nulls_first) for s in question.order]
    by += [sort_key(place, False, False) for place in places]
    tail = f" ORDER BY {', '.join(by)}" if by else ""
    tail += f" LIMIT {question.limit}" if question.limit is not None else ""
    tail += f" OFFSET {question.offset}" if question.offset else ""
    return f"SELECT {', '.join(shown)} FROM ({select(relation, read)}) AS q{tail}"


def is_bare(question: Question) -> bool:
    """Whether the answer is a released table itself, row by row in its own order: nothing is to be computed."""
    asked_for = question.order or question.limit is not None or question.offset
    columns = all(isinstance(node, Column) for _, node in question.items)
    return isinstance(question.relation, Release) and columns and not asked_for


# an engine of our own, for what planning works out and for frames
def engine() -> duckdb.DuckDBPyConnection:
    """A fresh in-memory engine without access to anything outside."""
    connection = duckdb.connect(":memory:", config={"threads": 1, "enable_external_access": False})
    connection.execute("SET memory_limit = '1GB'")
    connection.execute("SET lock_configuration = true")
    return connection


_thread = threading.local()


def run(sql: str) -> list[tuple[Any, ...]]:
    """Rows of SQL that reads no table."""
    if not hasattr(_thread, "connection"):
        _thread.connection = engine()
    try:
        return [tuple(row) for row in _thread.connection.execute(sql).fetchall()]
    except duckdb.Error as error:
        raise refused(error) from None


def refused(error: duckdb.Error) -> QueryError:
    """What cannot be computed of released numbers."""
    return QueryError(
        "what is asked of the released numbers cannot be computed",
        detail=str(error).split("\n", maxsplit=1)[0],
        sqlstate="22000",
    )
