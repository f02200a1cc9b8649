"""What Parquet files and databases hold beside the rows of a release: metadata, names, deleted rows, odd orders.

Comes in: a file, or a connection to a database. Goes out: what was found, in words.
"""

from __future__ import annotations

import base64
import json
import math
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from sfumato.types import identifier, string

_SMALL_GROUP = 10_000
"""Rows of a group of a Parquet file below which no writer ends it by itself."""
_MANY_ORDERS = 40.0
"""Bits of an order of labels from which on it could say something: fewer than 15 labels have less."""
_BLOCK = 4096
"""Databases are made of blocks of a multiple of so many bytes."""
_ROOM = 300
"""Bytes that two databases with the same table differ by, generously: dates, numbers of versions."""
_WRITER = re.compile(
    r"(?:parquet-cpp(?:-arrow)?|parquet-mr|parquet-rs|fastparquet-python|DuckDB|Polars|polars|impala|Arrow2[\w -]*"
    r"|parquet-go|parquet2?)"
    r"(?: \((?:python|rust|nodejs|R)\))?(?: version)?(?: v?[\d.]+(?:-\w+(?:\.\d+)?)?)?(?: ?\(build [0-9a-f]{6,64}\))?"
)
_VERSION = re.compile(r"[\d.]+(?:[-+.]?\w{1,12})?")
_OF_COLUMNS = {"num_categories", "ordered", "timezone", "encoding", "precision", "scale"}


def is_odd_order(labels: Sequence[str], rows: Sequence[str]) -> bool:
    """Whether labels stand in an order that neither their texts, nor their numbers, nor the rows give."""
    many = len(labels)
    if math.lgamma(many + 1) / math.log(2) < _MANY_ORDERS:
        return False
    order = list(labels)
    known = set(order)
    by_rows = list(dict.fromkeys(text for text in rows if text in known))
    usual = [by_rows, sorted(order), sorted(order, key=_as_number)]
    return all(order not in (one, one[::-1]) for one in usual)


def _as_number(text: str) -> tuple[float, str]:
    try:
        return float(text), text
    except ValueError:
        return math.inf, text


def told_by_parquet(file: Path) -> Iterator[str]:
    """What a Parquet file says of its columns, and values that its dictionaries list although no row has them."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return
    try:
        yield from _hidden(pa, pq, file)
    except pa.ArrowException:
        yield "parts that Arrow cannot read"


def _hidden(pa: Any, pq: Any, file: Path) -> Iterator[str]:
    schema = pq.read_schema(file)
    for one in schema:
        if set(one.metadata or ()) - {b"PARQUET:field_id"}:
            yield f'metadata of the column "{one.name[:40]}"'
    kinds = ("string", "large_string", "binary", "large_binary", "dictionary")
    texts = [one.name for one in schema if any(getattr(pa.types, f"is_{kind}")(one.type) for kind in kinds)]
    opened = pq.ParquetFile(file, read_dictionary=texts)
    if opened.metadata.created_by and not _WRITER.fullmatch(opened.metadata.created_by):
        yield "the name of a writer that is not known"
    sizes = [opened.metadata.row_group(i).num_rows for i in range(opened.metadata.num_row_groups)]
    if any(size != max(sizes) and size < _SMALL_GROUP for size in sizes[:-1]) or (sizes and sizes[-1] > sizes[0]):
        yield "groups of rows of different sizes"
    table = opened.read(columns=texts)
    for name in texts:
        yield from _of_dictionaries(pa, name, table.column(name).chunks)


def _of_dictionaries(pa: Any, name: str, chunks: Sequence[Any]) -> Iterator[str]:
    for part in chunks:
        if not pa.types.is_dictionary(part.type):
            continue
        used = part.indices.unique().drop_null()
        if len(used) < len(part.dictionary):
            yield f'values in the dictionary of the column "{name[:40]}" that no row has'
            return
        labels = [str(label) for label in part.dictionary.to_pylist()]
        if is_odd_order(labels, [labels[i] for i in used.to_pylist()]):
            yield f'an order of values in the dictionary of the column "{name[:40]}" that its rows do not have'
            return


def told_by_pairs(pairs: Sequence[tuple[Any, Any]], columns: Sequence[str]) -> list[str]:
    """What the metadata of a Parquet file gives away; the schema alone gives nothing away."""
    found = (_extra(bytes(key), bytes(value), columns) for key, value in pairs)
    return list(dict.fromkeys(words for words in found if words))


def _extra(key: bytes, value: bytes, columns: Sequence[str]) -> str | None:
    name = key.decode("utf-8", "replace")
    if name == "ARROW:schema":
        return _of_arrow(value, columns)
    if name == "pandas":
        return _of_pandas(value, columns)
    return f'metadata "{name[:40]}"'


def _of_arrow(value: bytes, columns: Sequence[str]) -> str | None:
    """What the schema that Arrow stored says beside the columns."""
    try:
        import pyarrow as pa
    except ImportError:
        return None
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(value, validate=True)))
    except (ValueError, OSError, pa.ArrowException):
        return "an unreadable schema of Arrow"
    told = schema.metadata or {}
    if set(told) - {b"pandas"} or tuple(schema.names) != tuple(columns):
        return "metadata in the schema of Arrow"
    return _of_pandas(told[b"pandas"], columns) if told else None


def _of_pandas(value: bytes, columns: Sequence[str]) -> str | None:
    """What pandas tells of a frame beside its columns: an index or its name, attributes, other names."""
    try:
        told = json.loads(value)
        index, above = told.get("index_columns", []), told.get("column_indexes", [])
    except (ValueError, AttributeError):
        return "unreadable metadata of pandas"
    if told.get("attributes"):
        return "attributes that pandas stored"
    if not all(isinstance(one, dict) and one.get("kind") == "range" for one in index):
        return "an index that pandas stored"
    if any(one.get("name") is not None for one in [*index, *(one for one in above if isinstance(one, dict))]):
        return "the name of an index that pandas stored"
    if not all((one["start"], one["step"]) == (0, 1) for one in index if {"start", "step"} <= one.keys()):
        return "an index that pandas stored"
    known = {"index_columns", "column_indexes", "columns", "creator", "pandas_version", "partition_columns"}
    plain = set(told) <= known | {"attributes"} and all(_is_plain(one, columns) for one in told.get("columns", []))
    creator = told.get("creator") or {"library": "pyarrow", "version": "0"}
    by = creator.get("library") in ("pyarrow", "fastparquet") and _VERSION.fullmatch(str(creator.get("version")))
    versions = _VERSION.fullmatch(str(told.get("pandas_version") or "0"))
    return None if plain and by and versions and not told.get("partition_columns") else "metadata of pandas"


def _is_plain(one: Any, columns: Sequence[str]) -> bool:
    """Whether what pandas says of a column is its name and kind alone."""
    if not isinstance(one, dict) or not set(one) <= {"name", "field_name", "pandas_type", "numpy_type", "metadata"}:
        return False
    if not {one.get("name"), one.get("field_name")} <= {*columns, None}:
        return False
    kinds = (str(one.get("pandas_type")), str(one.get("numpy_type")))
    about = one.get("metadata") or {}
    return (
        all(re.fullmatch(r"[\w\[\], ]{1,40}", kind) for kind in kinds)
        and isinstance(about, dict)
        and set(about) <= _OF_COLUMNS
        and all(item is None or isinstance(item, (bool, int)) or len(str(item)) < 30 for item in about.values())
        and not any(isinstance(item, (list, dict)) for item in about.values())
    )


def told_by_database(
    engine: duckdb.DuckDBPyConnection, place: Path, table: str, rows: list[tuple[str, ...]], *, alone: bool
) -> Iterator[str]:
    """What a DuckDB file, attached as `published`, says beside the rows of a table, which may be `alone` in it."""
    for words, sql in (
        ("a comment on a table", "SELECT 1 FROM duckdb_tables() WHERE comment IS NOT NULL"),
        ("a comment on a column", "SELECT 1 FROM duckdb_columns() WHERE comment IS NOT NULL"),
        ("a default of a column", "SELECT 1 FROM duckdb_columns() WHERE column_default IS NOT NULL"),
        ("a condition on a table", "SELECT 1 FROM duckdb_tables() WHERE check_constraint_count > 0"),
        ("a macro", "SELECT 1 FROM duckdb_functions() WHERE NOT internal"),
        ("a sequence", "SELECT 1 FROM duckdb_sequences() WHERE true"),
        ("an index", "SELECT 1 FROM duckdb_indexes() WHERE true"),
        ("names inside of a type", "SELECT 1 FROM duckdb_columns() WHERE data_type ~ '.*(STRUCT|UNION|MAP)\\(.*'"),
        (
            "a type by another name",
            "SELECT 1 FROM duckdb_types() WHERE NOT internal AND labels IS NULL",
        ),
    ):
        if engine.execute(f"{sql} AND database_name = 'published'").fetchone():
            yield words
    schema = table.rpartition(".")[0] or "main"
    others = "SELECT 1 FROM duckdb_schemas() WHERE NOT internal AND database_name = 'published' AND schema_name NOT IN"
    if engine.execute(f"{others} ('main', ?)", [schema]).fetchone():
        yield "another schema"
    known = {cell for row in rows for cell in row}
    types = engine.execute("SELECT labels FROM duckdb_types() WHERE NOT internal AND database_name = 'published'")
    columns = list(zip(*rows, strict=True))
    for (labels,) in types.fetchall():
        if set(labels or ()) - known:
            yield "values of a type that no row has"
        elif labels and all(is_odd_order(labels, column) for column in columns):
            yield "an order of the values of a type that no column has"
    if Path(f"{place}.wal").exists():
        yield "a log of changes beside it"
    if _is_view(engine, table):
        yield "a view"
    elif alone and _holds_more(engine, place, table):
        yield "more than its table needs, as deleted values do: copy the table into a new file"


def _is_view(engine: duckdb.DuckDBPyConnection, table: str) -> bool:
    sql = "SELECT 1 FROM duckdb_views() WHERE database_name = 'published' AND lower(view_name) = lower(?)"
    return engine.execute(sql, [table.rpartition(".")[2]]).fetchone() is not None


def _holds_more(engine: duckdb.DuckDBPyConnection, place: Path, table: str) -> bool:
    """Whether a database has more bytes that are not zero than a new one with the same table.

    What is dropped, deleted or changed stays in the file: in free blocks, behind the end of used ones, in row groups.
    """
    if place.stat().st_size % _BLOCK:
        return True
    source = ".".join(identifier(part) for part in ("published", *table.split(".")))
    with tempfile.TemporaryDirectory(prefix="sfumato-") as folder:
        fresh = Path(folder) / "fresh.duckdb"
        engine.execute(f"ATTACH {string(str(fresh))} AS fresh")
        engine.execute(f"CREATE TABLE fresh.{identifier(table.rpartition('.')[2])} AS FROM {source}")
        engine.execute("DETACH fresh")
        needed = _filled_bytes(fresh)
    return _filled_bytes(place) > needed + max(_ROOM, needed // 20)


def _filled_bytes(file: Path) -> int:
    """The bytes of a file that are not zero."""
    found = 0
    with file.open("rb") as stream:
        while part := stream.read(1 << 20):
            found += len(part) - part.count(0)
    return found


def told_by_postgres(name: str) -> list[tuple[str, str]]:
    """Questions to PostgreSQL about a table, by what a row of the answer means."""
    here = f"'{name.replace(chr(39), chr(39) * 2)}'::regclass"
    return [
        ("a comment on a table", f"SELECT 1 WHERE obj_description({here}, 'pg_class') IS NOT NULL"),
        ("a comment on a column", f"SELECT 1 FROM pg_description WHERE objoid = {here} AND objsubid > 0"),
        ("a default of a column", f"SELECT 1 FROM pg_attrdef WHERE adrelid = {here}"),
        ("a condition on a table", f"SELECT 1 FROM pg_constraint WHERE conrelid = {here} AND contype = 'c'"),
        ("a view", f"SELECT 1 FROM pg_class WHERE oid = {here} AND relkind <> 'r'"),
    ]
