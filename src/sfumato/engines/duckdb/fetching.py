"""Rows of a free query, as many bytes as a server is willing to hold.

Comes in: a cursor whose statement was executed; its rows stream. Goes out: all rows, or an error as soon as they are
too many bytes: no more than a few megabytes are fetched before they are counted.
"""

from __future__ import annotations

from typing import Any

import duckdb

from sfumato.errors import QueryError

MOST_BYTES = 256 * 2**20
"""Of one result: what texts hold, and `CELL` for every value."""
CELL = 32
"""Bytes that a value takes by itself, roughly."""
_STEP = 4 * 2**20
"""Bytes that are fetched at once, as far as the rows so far tell."""
_FIRST, _LARGEST = 16, 2048
"""Rows that are fetched at once: a vector of the engine at most."""
_WIDE = ("VARCHAR", "BLOB", "BIT", "[", "MAP", "STRUCT", "UNION", "JSON", "VARIANT", "ENUM", "GEOMETRY", "BIGNUM")
"""Types whose values have a size of their own; what is not known to be narrow is looked at, too."""
_NARROW = ("INT", "DECIMAL", "DOUBLE", "FLOAT", "BOOL", "DATE", "TIME", "UUID", "NULL", "INTERVAL")


def fetch_bounded(
    cursor: duckdb.DuckDBPyConnection,
    most: int = MOST_BYTES,
    rows_at_most: int | None = None,
    cell: int = CELL,
) -> tuple[list[tuple[Any, ...]], int]:
    """All rows, and roughly how many bytes they take: what texts hold, and `cell` for every value.

    Guarantee: the rows that are held when this returns or raises have at most `most` bytes and what one step adds.
    Proof: each step is counted before the next one is fetched.
    Reference: docs/threats.md, Availability.
    Checked by: unit::a_result_that_is_too_large_is_an_error_and_is_not_held
    """
    kinds = [str(column[1]) for column in cursor.description or ()]
    wide = [i for i, kind in enumerate(kinds) if _is_wide(kind)]
    rows: list[tuple[Any, ...]] = []
    held, size = 0, _FIRST
    while more := cursor.fetchmany(size):
        rows += more
        held += len(more) * cell * len(kinds) + sum(size_of(row[i]) for row in more for i in wide)
        if held > most:
            raise too_large(f"{most >> 20} MiB")
        if rows_at_most is not None and len(rows) > rows_at_most:
            raise too_large(f"{rows_at_most} rows")
        size = min(4 * size, _LARGEST, max(1, _STEP * len(rows) // max(1, held)))
    return rows, held


def _is_wide(kind: str) -> bool:
    return any(word in kind for word in _WIDE) or not any(word in kind for word in _NARROW)


def too_large(most: str) -> QueryError:
    """The error of a result that a server does not hold."""
    return QueryError(
        f"the result is larger than {most}",
        sqlstate="54000",
        hint="Request fewer rows or shorter texts: LIMIT, WHERE, GROUP BY.",
    )


def size_of(value: Any) -> int:
    """Bytes of a value beyond `CELL`: characters of a text, values of a list."""
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, (list, tuple, set)):
        return sum(CELL + size_of(one) for one in value)
    if isinstance(value, dict):
        return sum(2 * CELL + size_of(key) + size_of(one) for key, one in value.items())
    return 0
