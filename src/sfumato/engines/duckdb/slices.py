"""Persons in slices: the same sums with less memory, where a question holds all pairs of a person and a key at once.

Comes in: a cursor and a statement. Goes out: the rows of the whole question. How many
slices there are follows from how many rows there are, and shows in nothing but time and memory.
"""

from __future__ import annotations

from typing import Any

import duckdb

from sfumato.engines.duckdb.jobs import EngineStatement
from sfumato.types import identifier

_LARGE = 500_000
"""Rows of the largest table from which on slices are worth their statements."""
_FEWEST, _EACH = 8, 625_000
"""Slices there are at least, and rows of a slice where there are more."""
_PARTS = identifier("#parts")


def fetch(
    cursor: duckdb.DuckDBPyConnection, statement: EngineStatement, keys: int, parameters: dict[str, str] | None
) -> list[tuple[Any, ...]]:
    """The rows of a question whose first `keys` columns are groups and whose others are sums.

    Guarantee: the rows are those of the question asked at once.
    Proof: a statement says that it may be sliced only where it has the condition `SLICE`, which splits persons, and
        everything but the last sums is about one person (`key_sampling`); these are whole numbers of 128 bits, and what
        they add up to is what they were in one piece.
    Reference: semantics 3.6b.
    Checked by: laws::slices_add_up_to_the_whole, laws::a_question_cannot_ask_for_slices
    """
    rows = _rows(cursor) if statement.sliced else 0
    if not statement.sliced or rows < _LARGE:
        return cursor.execute(statement.text, parameters).fetchall()
    slices = max(_FEWEST, rows // _EACH)
    cursor.execute(f"SET VARIABLE slices = {slices}")
    for number in range(slices):
        cursor.execute(f"SET VARIABLE slice = {number}")
        cursor.execute(
            (f"INSERT INTO {_PARTS} " if number else f"CREATE TEMP TABLE {_PARTS} AS ") + statement.text, parameters
        )
    names = [identifier(column[0]) for column in cursor.execute(f"SELECT * FROM {_PARTS} LIMIT 0").description or ()]
    shown = ", ".join([*names[:keys], *(f"SUM({name})" for name in names[keys:])])
    return cursor.execute(f"SELECT {shown} FROM {_PARTS} GROUP BY {', '.join(names[:keys])}").fetchall()


def _rows(cursor: duckdb.DuckDBPyConnection) -> int:
    found = cursor.execute("SELECT MAX(estimated_size) FROM duckdb_tables()").fetchone()
    return int(found[0] or 0) if found else 0
