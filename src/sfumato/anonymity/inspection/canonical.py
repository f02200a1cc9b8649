"""The one form in which a release is published: sorted rows, in bytes that follow from them.

Comes in: a release as it was read. Goes out: faults where its bytes mark rows or hold more than them, and notes where
they leave room for that: rows that are not sorted, bytes that no plain writer gives these rows. Whatever the order of
rows, quotes, metadata or unused parts of a file could say, they cannot say it in the one form: the file is a function
of which rows it has.
"""

from __future__ import annotations

import gzip
import re
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise, product
from pathlib import Path

import duckdb

from sfumato.anonymity.inspection.reading import NULL, PublishedTable, TablePlace, connect_postgres, locate, sign_of
from sfumato.anonymity.inspection.traces import ReleaseFault, ReleaseNote
from sfumato.errors import InputError
from sfumato.types import identifier, string

_ENDS = ("\n", "\r\n")
_END = re.compile(r"\r\n|\r|\n|\Z")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_CATALOG = ("schemas", "tables", "columns", "constraints", "indexes", "sequences", "types", "functions", "views")
_BLOCK = 4096
"""A DuckDB file is made of blocks of a multiple of so many bytes."""
_ROOM = 300
"""Bytes by which two DuckDB files with the same table differ, or a twentieth: some of their bytes are random."""
_Quoted = Callable[[str, bool], bool]
"""Whether a writer puts quotes around a cell that needs none; the second argument: not all cells of its column are
numbers."""
_STYLES: tuple[_Quoted, ...] = (
    lambda *_: False,  # Python, pandas, Excel
    lambda cell, _: "#" in cell,  # DuckDB, NULL for empty cells
    lambda cell, _: "#" in cell or cell == "",  # DuckDB
    lambda cell, _: cell == "",  # Polars, Spark
    lambda _, is_text: is_text,  # R
    lambda *_: True,
)


def find_form(data: str | Path, table: PublishedTable) -> Iterator[ReleaseFault]:
    """Whether a release is in its one form; what is not wrong, but leaves room for more than the rows, is a note.

    Guarantee: without a fault or note the rows are sorted, and the file is one of at most 192 that these rows have as
        CSV (by delimiter, quotes, line ends and byte order mark, each the same in the whole file), or one of two that
        this version of the engine writes as Parquet. Of a DuckDB file its catalog is that of a new one with this table;
        how many bytes it holds beside is judged by a rule of thumb. A text with notes alone has one spelling for each
        cell of a column, and one line end.
    Proof: the file is compared with what is written anew from its cells.
    Reference: none; equality of files.
    Checked by: unit::whatever_is_changed_in_a_file_is_a_fault, unit::a_file_of_the_same_rows_is_the_same_file
    """
    moved = next((i for i, (before, after) in enumerate(pairwise(table.rows), 2) if after < before), None)
    if moved is not None:
        words = "the rows are not sorted by their cells, and a random order cannot be told from one that was chosen"
        yield ReleaseNote("order", words, None, moved)
    place = locate(data)
    if place.kind == "postgresql":
        yield from (ReleaseFault("metadata", f"the table also has {words}") for words in _in_postgres(place))
    elif place.kind == "text":
        yield from _in_text(Path(place.file), table)
    else:
        yield from (ReleaseFault("metadata", words) for words in _by_engine(place, table))


def write_canonical(table: PublishedTable, out: Path) -> None:
    """Write the rows of a release as CSV in its one form."""
    if out.exists():
        raise InputError(f'"{out}" exists', hint="Name a file that does not exist yet.")
    rows = [tuple(cell.replace(NULL, "") for cell in row) for row in table.rows]
    text = "".join(f"{line}\n" for line in _lines([table.columns, *sorted(rows)], ",", _STYLES[0]))
    out.write_text(text, encoding="utf-8", newline="")


def _in_text(file: Path, table: PublishedTable) -> Iterator[ReleaseFault]:
    raw = file.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        yield from _in_gzip(file, raw)
        raw = gzip.decompress(raw)
    text = raw.decode("utf-8").removeprefix("\ufeff")
    sign = sign_of(text)
    for style, end in product(_STYLES, _ENDS):
        whole = end.join(_lines([table.columns, *table.rows], sign, style))
        if text in (whole, whole + end):
            return
    odd = _odd_line(text, sign, table)
    if odd is None:
        words = "cells have quotes or line ends that no plain writer gives them, though the same in every row"
        yield ReleaseNote("format", words)
        return
    words = "this row has other quotes or another line end than rows with the same cells, which can mark it"
    yield ReleaseFault("format", words, None, odd)


def _in_gzip(file: Path, raw: bytes) -> Iterator[ReleaseFault]:
    """What the header of a compressed file says (RFC 1952), and what stands behind it."""
    stream = zlib.decompressobj(31)
    stream.decompress(raw)
    name = raw[10:].partition(b"\0")[0].decode("latin-1") if raw[3] & 8 else ""
    if raw[3] & ~9 or stream.unused_data or name not in ("", file.name.removesuffix(".gz")):
        yield ReleaseFault("metadata", "the compressed file holds a name, a comment or bytes beside its text")
    yield ReleaseNote("metadata", "the text is compressed, and its compression can hold more than the rows")


def _odd_line(text: str, sign: str, table: PublishedTable) -> int | None:
    """The first row that ends otherwise than the line of names, or has a cell in another spelling than before."""
    cell, spelt = re.compile(rf'(?:"(?:[^"]|"")*")?[^{re.escape(sign)}\r\n]*'), dict[tuple[int, str], str]()
    at, end = 0, None
    for number, row in enumerate([table.columns, *table.rows]):
        for j, value in enumerate(row):
            found = cell.match(text, at)
            spelling = found[0] if found else ""
            at += len(spelling) + (j + 1 < len(row))
            if j + 1 < len(row) and text[at - 1 : at] != sign:
                return number
            if number and spelt.setdefault((j, value), spelling) != spelling:
                return number
        stop = _END.match(text, at)
        if stop is None or stop[0] not in (end, "", stop[0] if end is None else ""):
            return number
        at, end = stop.end(), end or stop[0]
    return None if not text[at:].strip("\r\n") else len(table.rows)


def _lines(rows: Sequence[tuple[str, ...]], sign: str, style: _Quoted) -> list[str]:
    """Rows as a writer of this style writes them, the line of names first."""
    distinct = set(rows[1:])
    texts = [not all(map(_NUMBER.fullmatch, {row[j] for row in distinct})) for j in range(len(rows[0]))]
    needed = re.compile(rf'[{re.escape(sign)}"\r\n]')

    def line(row: tuple[str, ...], are_texts: Sequence[bool]) -> str:
        return sign.join([spelt(cell, is_text) for cell, is_text in zip(row, are_texts, strict=True)])

    def spelt(cell: str, is_text: bool) -> str:
        return f'"{cell.replace(chr(34), chr(34) * 2)}"' if needed.search(cell) or style(cell, is_text) else cell

    known = {row: line(row, texts) for row in distinct}
    return [line(rows[0], [True] * len(texts)), *(known[row] for row in rows[1:])]


def _by_engine(place: TablePlace, table: PublishedTable) -> Iterator[str]:
    """In what a file differs from the one that the engine writes of its rows: equal neighbours once, repeated."""
    counts = [(row, len(list(alike))) for row, alike in groupby(table.rows)]
    many = range(len(table.columns))
    cells = [[None if row[j] in ("", NULL) else row[j] for row, _ in counts] for j in many]
    shown = ", ".join(f"unnest(?::VARCHAR[]) AS c{j}" for j in many)
    names = ", ".join(f"c{j} AS {identifier(name)}" for j, name in enumerate(table.columns))
    rows, cells_and_counts = f"SELECT {shown}, unnest(?::BIGINT[]) AS n", [*cells, [n for _, n in counts]]
    sql = f"SELECT {names} FROM (SELECT * EXCLUDE (n), unnest(range(n)) FROM "
    with tempfile.TemporaryDirectory(prefix="sfumato-") as folder, duckdb.connect() as engine:
        engine.execute("SET threads = 1")
        engine.execute(f"CREATE TEMP TABLE ordered AS {rows}", cells_and_counts)
        fresh = Path(folder) / "fresh"
        if place.kind == "parquet":
            for source, given in (("ordered", []), (f"({rows})", cells_and_counts)):  # as it writes a table, or a query
                engine.execute(f"COPY ({sql}{source})) TO {string(str(fresh))} (FORMAT parquet)", given)
                if fresh.read_bytes() == Path(place.file).read_bytes():
                    return
            keys = engine.execute(f"SELECT key::VARCHAR FROM parquet_kv_metadata({string(place.file)})").fetchall()
            noted = f" (such as the notes {', '.join(key for (key,) in keys)[:200]})" if keys else ""
            yield f"the file is not what DuckDB {duckdb.__version__} writes of these rows, and can hold more{noted}"
            return
        engine.execute(f"ATTACH {string(place.file)} AS published (READ_ONLY)")
        engine.execute(f"ATTACH {string(str(fresh))} AS fresh")
        for schema in place.table.split(".")[:-1]:
            engine.execute(f"CREATE SCHEMA IF NOT EXISTS fresh.{identifier(schema)}")
        engine.execute(f"CREATE TABLE fresh.{'.'.join(map(identifier, place.table.split('.')))} AS {sql}ordered)")
        other = [kind for kind in _CATALOG if _catalog(engine, "published", kind) != _catalog(engine, "fresh", kind)]
        engine.execute("DETACH fresh")
        if other:
            yield f"the database has other {' and '.join(', '.join(other).rsplit(', ', 1))} beside the release"
        elif Path(f"{place.file}.wal").exists() or _holds_more(Path(place.file), fresh):
            yield "the database holds more than its table, as deleted rows do: copy the table into a new file"


def _catalog(engine: duckdb.DuckDBPyConnection, database: str, kind: str) -> Counter[str]:
    """What a database says of its tables, types and functions, comments included, but for its own numbers of them."""
    found = engine.execute(f"SELECT * FROM duckdb_{kind}() WHERE database_name = ?", [database])
    names = [one[0] for one in found.description or ()]
    own = {name for name in names if name.endswith("oid")} | {"database_name", "estimated_size"}
    return Counter(
        repr([cell for name, cell in zip(names, row, strict=True) if name not in own]) for row in found.fetchall()
    )


def _holds_more(file: Path, fresh: Path) -> bool:
    """Whether a database has clearly more bytes that are not zero than a new one: deleted rows stay in the file."""
    needed = _filled_bytes(fresh)
    return file.stat().st_size % _BLOCK > 0 or _filled_bytes(file) > needed + max(_ROOM, needed // 20)


def _filled_bytes(file: Path) -> int:
    raw = file.read_bytes()
    return len(raw) - raw.count(0)


def _in_postgres(place: TablePlace) -> Iterator[str]:
    """What a table of PostgreSQL has beside its rows."""
    name = ".".join(identifier(part) for part in place.table.split("."))
    here = f"'{name.replace(chr(39), chr(39) * 2)}'::regclass"
    questions = {
        "a comment": f"SELECT 1 FROM pg_description WHERE objoid = {here}",
        "a default of a column": f"SELECT 1 FROM pg_attrdef WHERE adrelid = {here}",
        "a condition": f"SELECT 1 FROM pg_constraint WHERE conrelid = {here} AND contype = 'c'",
        "the text of a view": f"SELECT 1 FROM pg_class WHERE oid = {here} AND relkind <> 'r'",
    }
    with connect_postgres(place.file) as link:
        yield from (words for words, sql in questions.items() if link.execute(sql).fetchone())
