"""Tables as they were published: read by the standard library where they are text, by the engine otherwise.

Comes in: a CSV or Parquet file, or `FILE.duckdb#TABLE`. Goes out: columns and rows as text in their order, and what
else the file says. Nothing here is shared with the code that writes releases.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from uuid import uuid4

import duckdb

from sfumato.anonymity.inspection.beside import (
    told_by_database,
    told_by_pairs,
    told_by_parquet,
    told_by_postgres,
)
from sfumato.anonymity.inspection.containers import told_by_gzip, told_by_layout
from sfumato.errors import EngineError, InputError
from sfumato.types import identifier, string

_QUOTED = re.compile(r'"[^"]*"')
_FIRST_LINE = re.compile(r'[^"\r\n]*(?:"[^"]*"[^"\r\n]*)*')
"""The line of names; a name in quotes may hold delimiters and line breaks."""
_CELL_IN_QUOTES = re.compile(r'"(?:[^"]|"")*"')
_PLAIN = re.compile(r"[\w.+-]+")
_DIGITS = re.compile(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?")
_NOTHING = ("null", "na")
"""Texts that some writers put in quotes, since they stand for no value elsewhere."""
_LINE_END = re.compile(r"\r\n|\n|\r")
NULL = "\udc00"
"""A cell without a value, in a column that has empty texts too: no text in UTF-8 is this one."""
_BLANK = re.compile(r"(?:\r\n|\n|\r(?!\n))(?=\r|\n)")


@dataclass(frozen=True)
class PublishedTable:
    """A table with its rows in order; `extras` are things that a file holds beside its rows."""

    name: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    extras: tuple[str, ...] = ()

    @cached_property
    def mixed(self) -> frozenset[str]:
        """Columns with NULL and empty texts, which are two different cells."""
        return frozenset(name for i, name in enumerate(self.columns) if any(row[i] == NULL for row in self.rows))

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


def read_published(data: str | Path) -> PublishedTable:
    """The table behind a name."""
    text = str(data)
    if text.startswith(("postgresql://", "postgres://")):
        return _from_postgres(*_parts(text))
    if "#" in text and not Path(text).exists():
        return _from_database(*text.split("#", 1))
    file = Path(text)
    if not file.is_file():
        raise InputError(f'there is no file "{text}"', sqlstate="58P01")
    with file.open("rb") as stream:
        parquet = stream.read(4) == b"PAR1"
    return _from_parquet(file) if parquet else _from_text(file)


def _from_text(file: Path) -> PublishedTable:
    raw = file.read_bytes()
    packed = raw[:2] == b"\x1f\x8b"
    try:
        text = (gzip.decompress(raw) if packed else raw).decode("utf-8-sig")
    except (UnicodeDecodeError, OSError, EOFError):
        raise InputError(f'"{file.name}" is not UTF-8 text', hint="Save it as UTF-8.") from None
    first = _FIRST_LINE.match(text)
    sign = max(",;\t|", key=_QUOTED.sub("", first[0] if first else "").count)
    table = _parsed(file.name, text, sign)
    extras = [*_uneven(text, sign, blank=len(table.columns) > 1), *(told_by_gzip(raw) if packed else ())]
    return replace(table, extras=tuple(extras))


def _uneven(text: str, sign: str, *, blank: bool) -> Iterator[str]:
    """How lines are written, where that differs from row to row: each difference marks rows, and can number them."""
    bare = _CELL_IN_QUOTES.sub("q", text)
    if len(set(_LINE_END.findall(bare))) > 1:
        yield "different ends of lines"
    if blank and _BLANK.search(bare):  # of one column, an empty cell
        yield "blank lines"
    if '"' in text and not _is_evenly_quoted(text, sign):
        yield "values in quotes in some rows and without in others"


def _is_evenly_quoted(text: str, sign: str) -> bool:
    """Whether quotes say nothing: around whole cells, and in one way for all values of a column that are alike.

    A writer may put quotes around texts and not around numbers, around values with odd signs, and around the words that
    stand for nothing.
    """
    stop = re.escape(sign)
    cell = re.compile(rf'("(?:[^"]|"")*")?([^{stop}\r\n]*)({stop}|\r\n|\n|\r|$)')
    spelt: dict[tuple[int, str], str] = {}
    quoted: dict[tuple[int, bool], bool] = {}
    at = column = line = 0
    while at < len(text) and (found := cell.match(text, at)):
        marked, rest, end = found.groups()
        value = (marked or "")[1:-1].replace('""', '"') + rest
        if (marked and rest) or spelt.setdefault((column, value), (marked or "") + rest) != (marked or "") + rest:
            return False
        if line and _PLAIN.fullmatch(value) and value.casefold() not in _NOTHING:
            kind = column, bool(_DIGITS.fullmatch(value))
            if quoted.setdefault(kind, bool(marked)) is not bool(marked):
                return False
        at, column, line = found.end(), column + 1 if end == sign else 0, line + (end != sign)
    return True


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


def _from_postgres(address: str, table: str) -> PublishedTable:
    """The rows of a PostgreSQL table, in the order in which the server gives them."""
    try:
        import psycopg
    except ImportError:
        raise InputError("PostgreSQL needs psycopg", hint="pip install 'sfumato[attack]'") from None
    name = ".".join(identifier(part) for part in table.split("."))
    none = uuid4().hex  # no cell is this text
    try:
        sql = f"COPY (SELECT * FROM {name}) TO STDOUT (FORMAT csv, HEADER, NULL '{none}')"
        with psycopg.connect(address) as link:
            with link.cursor().copy(sql) as copy:
                text = b"".join(bytes(part) for part in copy)
            extras = [words for words, found in told_by_postgres(name) if link.execute(found).fetchone()]
    except psycopg.OperationalError:
        raise EngineError("PostgreSQL cannot be reached", hint="Check the address and who may connect.") from None
    except psycopg.Error as error:
        raise InputError(f'the table "{table}" cannot be read', detail=str(error).split("\n")[0]) from None
    found = _parsed(table, text.decode("utf-8"), ",")
    rows = [tuple(None if cell == none else cell for cell in row) for row in found.rows]
    return replace(found, rows=_filled(rows, len(found.columns)), extras=tuple(extras))


def _from_parquet(file: Path) -> PublishedTable:
    with duckdb.connect() as engine:
        try:
            found = engine.execute(f"SELECT * FROM read_parquet({string(str(file))})")
            columns = tuple(one[0] for one in found.description or ())
            table = _texts(engine, f"read_parquet({string(str(file))})", columns)
            pairs = engine.execute(f"SELECT key, value FROM parquet_kv_metadata({string(str(file))})").fetchall()
        except duckdb.Error as error:
            raise InputError(f'"{file.name}" cannot be read', detail=str(error).split("\n")[0]) from None
    extras = (*told_by_pairs(pairs, columns), *told_by_parquet(file), *told_by_layout(file.read_bytes()))
    return PublishedTable(file.name, columns, table, extras)


def _from_database(place: str, table: str) -> PublishedTable:
    if not Path(place).is_file():
        raise InputError(f'there is no file "{place}"', sqlstate="58P01")
    with duckdb.connect() as engine:
        try:
            engine.execute(f"ATTACH {string(place)} AS published (READ_ONLY)")
            source = "published." + ".".join(identifier(part) for part in table.split("."))
            found = engine.execute(f"SELECT * FROM {source} LIMIT 0")
            columns = tuple(one[0] for one in found.description or ())
            rows = _texts(engine, source, columns)
            others = engine.execute(
                "SELECT table_schema, table_name FROM information_schema.tables "
                "WHERE table_catalog = 'published' AND lower(table_schema || '.' || table_name) <> lower(?)",
                [table if "." in table else f"main.{table}"],
            ).fetchall()
            told = list(told_by_database(engine, Path(place), table, rows, alone=not others))
        except duckdb.Error as error:
            raise InputError(f'"{place}" cannot be read', detail=str(error).split("\n")[0]) from None
    return PublishedTable(table, columns, rows, (*(f'another table "{name}"' for _, name in others), *told))


def _texts(engine: duckdb.DuckDBPyConnection, source: str, columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The cells as text."""
    shown = ", ".join(f"CAST({identifier(name)} AS VARCHAR)" for name in columns)
    rows = engine.execute(f"SELECT {shown} FROM {source}").fetchall()
    return _filled(rows, len(columns))


def _filled(rows: Sequence[tuple[str | None, ...]], many: int) -> list[tuple[str, ...]]:
    """Rows with texts for NULL: an empty one, except in columns that have empty texts too."""
    fill = [NULL if any(row[i] == "" for row in rows) else "" for i in range(many)]
    return [tuple(fill[i] if cell is None else cell for i, cell in enumerate(row)) for row in rows]
