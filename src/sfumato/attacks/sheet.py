"""A table to attack: any CSV or Parquet file, in an engine of its own.

Comes in: a file. Goes out: a Sheet, whose columns have kinds that can be asked about in plain SQL: numbers, dates,
moments, booleans and text. What has another kind (lists, times of day, bytes, numbers that are none) becomes text, and
so do codes with leading zeros, which are names and no numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from sfumato.errors import InputError
from sfumato.types import identifier, string

TABLE = "data"
_WHOLE = ("BIGINT", "INTEGER", "SMALLINT", "TINYINT", "UINTEGER", "USMALLINT", "UTINYINT")
_PLAIN = ("BOOLEAN", "DATE", "TIMESTAMP", "VARCHAR", *_WHOLE)
_FLOATS = ("DOUBLE", "FLOAT")
_DECLARED = {"text": "VARCHAR", "integer": "BIGINT", "date": "DATE", "boolean": "BOOLEAN"}
"""Types of a policy that a file may spell in another way."""


@dataclass(frozen=True)
class Sheet:
    """The owner's rows, in an engine of their own."""

    engine: duckdb.DuckDBPyConnection
    columns: tuple[str, ...]
    rows: int

    def records(self) -> list[dict[str, Any]]:
        """Every row, for the referee and for what is published."""
        found = self.engine.execute(f"SELECT * FROM {identifier(TABLE)}").fetchall()
        return [dict(zip(self.columns, row, strict=True)) for row in found]

    def count(self, where: str) -> int:
        """How many rows really fulfil a condition, for the referee; none where it is no condition of this engine's."""
        try:
            row = self.engine.execute(f"SELECT COUNT(*) FROM {identifier(TABLE)} WHERE {where}").fetchone()
        except duckdb.Error:
            return 0
        return int(row[0]) if row else 0


def read_sheet(file: Path, declared: Mapping[str, str] | None = None) -> Sheet:
    """A CSV (its first line names the columns) or Parquet file as the table `data`.

    `declared` has the types of a policy: what a gateway reads as text is asked about as text, whatever it looks like.
    """
    if not file.is_file():
        raise InputError(f'there is no file "{file.name}"', sqlstate="58P01")
    engine = duckdb.connect()
    engine.execute("SET threads = 1")  # thousands of small questions: threads cost more than they save
    try:
        kinds = _kinds(engine, file)
        types = {column: _DECLARED[kind] for column, kind in (declared or {}).items() if kind in _DECLARED}
        text = [c for c in kinds if types.get(c) == "VARCHAR"]
        if not _is_parquet(file):
            text += _codes(engine, file, [c for c, kind in kinds.items() if kind in _WHOLE and c not in text])
        columns = ", ".join(
            f"TRY_CAST({identifier(name)} AS {types[name]}) AS {identifier(name)}"
            if name in types
            else _column(engine, file, name, kind)
            for name, kind in kinds.items()
        )
        engine.execute(f"CREATE TABLE {identifier(TABLE)} AS SELECT {columns} FROM {_reader(file, text)}")
    except duckdb.Error as error:
        raise InputError(
            f'"{file.name}" cannot be read as a table',
            detail=str(error).split("\n")[0],
            hint="Give a Parquet file, or a CSV in UTF-8 whose first line names the columns.",
        ) from None
    if len(kinds) == 1 and re.search(r"[,;\t|]", next(iter(kinds))):
        raise InputError(
            f'"{file.name}" cannot be read as a table',
            hint="Its lines do not all have as many columns as the first one.",
        )
    found = engine.execute(f"SELECT COUNT(*) FROM {identifier(TABLE)}").fetchone()
    return Sheet(engine, tuple(kinds), int(found[0]) if found else 0)


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(4) == b"PAR1"


def _reader(file: Path, text: list[str] | None = None, *, everything: bool = False) -> str:
    name = string(str(file))
    if _is_parquet(file):
        return f"read_parquet({name})"
    kept = "".join(f"{string(column)}: 'VARCHAR', " for column in text or [])
    types = f", types = {{{kept[:-2]}}}" if kept else ""
    return f"read_csv({name}, header = true, sample_size = -1, all_varchar = {str(everything).lower()}{types})"


def _kinds(engine: duckdb.DuckDBPyConnection, file: Path) -> dict[str, str]:
    described = engine.execute(f"DESCRIBE SELECT * FROM {_reader(file)}").fetchall()
    return {str(row[0]): str(row[1]) for row in described}


def _codes(engine: duckdb.DuckDBPyConnection, file: Path, columns: list[str]) -> list[str]:
    """Columns of digits of which some begin with a zero: 02139 is the name of a place."""
    if not columns:
        return []
    tests = ", ".join(f"bool_or(regexp_matches({identifier(c)}, '^\\s*[-+]?0[0-9]'))" for c in columns)
    row = engine.execute(f"SELECT {tests} FROM {_reader(file, everything=True)}").fetchone()
    return [c for c, found in zip(columns, row or (), strict=False) if found]


def _column(engine: duckdb.DuckDBPyConnection, file: Path, name: str, kind: str) -> str:
    column = identifier(name)
    if kind in _PLAIN or (kind.startswith("DECIMAL") and "," in kind):
        return column
    if kind in _FLOATS:
        odd = engine.execute(f"SELECT COUNT(*) FROM {_reader(file)} WHERE NOT isfinite({column})").fetchone()
        if odd == (0,):
            return column if kind == "DOUBLE" else f"CAST({column} AS DOUBLE) AS {column}"
    return f"CAST({column} AS VARCHAR) AS {column}"
