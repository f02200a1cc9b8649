"""Tables as they were published: read by the standard library where they are text, by the engine otherwise.

Comes in: a CSV or Parquet file, `FILE.duckdb#TABLE` or `postgresql://…#TABLE`. Goes out: columns and rows as text in
their order. Nothing here is shared with the code that writes releases.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb

from sfumato.errors import EngineError, InputError
from sfumato.types import identifier, string

_QUOTED = re.compile(r'"[^"]*"')
_FIRST_LINE = re.compile(r'[^"\r\n]*(?:"[^"]*"[^"\r\n]*)*')
"""The line of names; a name in quotes may hold delimiters and line breaks."""
NULL = "\udc00"
"""A cell without a value, in a column that has empty texts too: no text in UTF-8 is this one."""


@dataclass(frozen=True)
class TablePlace:
    """Where a table is: `kind` is text, parquet, duckdb or postgresql; the file or address, and the table in it."""

    kind: str
    file: str
    table: str = ""


@dataclass(frozen=True)
class PublishedTable:
    """A table with its rows in order."""

    name: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]

    @cached_property
    def mixed(self) -> frozenset[str]:
        """Columns with NULL and empty texts, which are two different cells."""
        return frozenset(name for i, name in enumerate(self.columns) if NULL in map(itemgetter(i), self.rows))

    def merged(self, apart: frozenset[str]) -> PublishedTable:
        """The table with empty texts for NULL, but in some columns."""
        places = [i for i, name in enumerate(self.columns) if name in self.mixed - apart]
        if not places:
            return self
        rows = [tuple("" if i in places and cell == NULL else cell for i, cell in enumerate(row)) for row in self.rows]
        return replace(self, rows=rows)

    def column(self, name: str) -> int:
        """The place of a column."""
        if name not in self.columns:
            raise InputError(f'"{self.name}" has no column "{name}"', hint=f"It has {', '.join(self.columns)}.")
        return self.columns.index(name)

    def parts(self, names: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The rows, of these columns alone."""
        places = [self.column(name) for name in names]
        if len(places) < 2:
            return [tuple(row[place] for place in places) for row in self.rows]
        return list(map(itemgetter(*places), self.rows))

    def cells(self, name: str) -> list[str]:
        """The cells of one column."""
        return list(map(itemgetter(self.column(name)), self.rows))


def locate(data: str | Path) -> TablePlace:
    """What a name stands for."""
    text = str(data)
    if text.startswith(("postgresql://", "postgres://")):
        return TablePlace("postgresql", *_parts(text))
    if "#" in text and not Path(text).exists():
        ends = [at for at, sign in enumerate(text) if sign == "#"]  # folders have such names too
        end = next((at for at in ends if Path(text[:at]).is_file()), ends[0])
        return TablePlace("duckdb", text[:end], text[end + 1 :])
    file = Path(text)
    if not file.is_file():
        raise InputError(f'there is no file "{text}"', sqlstate="58P01")
    with file.open("rb") as stream:
        return TablePlace("parquet" if stream.read(4) == b"PAR1" else "text", text)


def read_published(data: str | Path) -> PublishedTable:
    """The table behind a name."""
    place = locate(data)
    if place.kind == "postgresql":
        return _from_postgres(place.file, place.table)
    if place.kind == "duckdb":
        return _from_database(place.file, place.table)
    return _from_parquet(Path(place.file)) if place.kind == "parquet" else _from_text(Path(place.file))


def _from_text(file: Path) -> PublishedTable:
    raw = file.read_bytes()
    try:
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
    except (UnicodeDecodeError, OSError, EOFError, zlib.error):
        raise InputError(f'"{file.name}" is not UTF-8 text', hint="Save it as UTF-8.") from None
    return _parsed(file.name, text, sign_of(text))


def sign_of(text: str) -> str:
    """The sign between the cells of a CSV text."""
    first = _FIRST_LINE.match(text)
    return max(",;\t|", key=_QUOTED.sub("", first[0] if first else "").count)


def _parsed(name: str, text: str, sign: str) -> PublishedTable:
    """The columns and rows of a CSV text."""
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=sign))
    except csv.Error as error:
        raise InputError(f'"{name}" cannot be read', detail=f"{error}.") from None
    if not lines or not any(lines[0]):
        raise InputError(f'"{name}" has no header line')
    columns, rows = tuple(lines[0]), []
    if len(set(columns)) < len(columns):
        raise InputError(f'"{name}" has two columns with the same name')
    for number, line in enumerate(lines[1:], 2):
        if len(line) == len(columns):
            rows.append(tuple(line))
        elif line:
            raise InputError(f'line {number} of "{name}" has {len(line)} fields, not {len(columns)}')
        elif len(columns) == 1:
            rows.append(("",))
    return PublishedTable(name, columns, rows)


def _parts(text: str) -> tuple[str, str]:
    place, _, table = text.rpartition("#")
    if not place or not table:
        raise InputError(f'which table of "{text.rpartition("@")[2]}"?', hint="Write …#TABLE.")
    return place, table


def connect_postgres(address: str) -> Any:
    """A connection to a server of PostgreSQL."""
    try:
        import psycopg
    except ImportError:
        raise InputError("PostgreSQL needs psycopg", hint="pip install 'sfumato[attack]'") from None
    try:
        return psycopg.connect(address)
    except psycopg.OperationalError:
        raise EngineError("PostgreSQL cannot be reached", hint="Check the address and who may connect.") from None


def _from_postgres(address: str, table: str) -> PublishedTable:
    """The rows of a PostgreSQL table, in the order in which they are stored."""
    name = ".".join(identifier(part) for part in table.split("."))
    none = uuid4().hex  # no cell is this text
    with connect_postgres(address) as link:
        try:
            link.execute("SET synchronize_seqscans = off; SET max_parallel_workers_per_gather = 0")
            sql = f"COPY (SELECT * FROM {name}) TO STDOUT (FORMAT csv, HEADER, NULL '{none}')"
            with link.cursor().copy(sql) as copy:
                text = b"".join(bytes(part) for part in copy)
        except link.Error as error:
            raise InputError(f'the table "{table}" cannot be read', detail=str(error).split("\n")[0]) from None
    found = _parsed(table, text.decode("utf-8"), ",")
    rows = [tuple(None if cell == none else cell for cell in row) for row in found.rows]
    return replace(found, rows=_filled(rows, len(found.columns)))


def _from_parquet(file: Path) -> PublishedTable:
    with duckdb.connect() as engine:
        try:
            return _of_engine(engine, file.name, f"read_parquet({string(str(file))})")
        except duckdb.Error as error:
            raise InputError(f'"{file.name}" cannot be read', detail=str(error).split("\n")[0]) from None


def _from_database(place: str, table: str) -> PublishedTable:
    if not Path(place).is_file():
        raise InputError(f'there is no file "{place}"', sqlstate="58P01")
    with duckdb.connect() as engine:
        try:
            engine.execute(f"ATTACH {string(place)} AS published (READ_ONLY)")
            return _of_engine(engine, table, "published." + ".".join(identifier(part) for part in table.split(".")))
        except duckdb.Error as error:
            raise InputError(f'"{place}" cannot be read', detail=str(error).split("\n")[0]) from None


def _of_engine(engine: duckdb.DuckDBPyConnection, name: str, source: str) -> PublishedTable:
    """The cells as text."""
    columns = tuple(one[0] for one in engine.execute(f"SELECT * FROM {source} LIMIT 0").description or ())
    shown = ", ".join(f"CAST({identifier(name)} AS VARCHAR)" for name in columns)
    rows = engine.execute(f"SELECT {shown} FROM {source}").fetchall()
    return PublishedTable(name, columns, _filled(rows, len(columns)))


def _filled(rows: Sequence[tuple[str | None, ...]], many: int) -> list[tuple[str, ...]]:
    """Rows with texts for NULL: an empty one, except in columns that have empty texts too."""
    fill = [NULL if "" in map(itemgetter(i), rows) else "" for i in range(many)]
    return [_without_null(row, fill) if None in row else row for row in rows]  # type: ignore[misc]  # no cell is None


def _without_null(row: tuple[str | None, ...], fill: list[str]) -> tuple[str, ...]:
    return tuple(fill[i] if cell is None else cell for i, cell in enumerate(row))
