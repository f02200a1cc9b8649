"""Where the rows of a policy's tables are, for Spark: files by their format, or names of a catalog.

Comes in: what the policy says of a table. Goes out: a view of the session with its columns; or one PolicyError that
says what is missing: a path, a table, the jar of a format.
"""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
from pyarrow import parquet

from sfumato.engines.base import OPERATOR
from sfumato.engines.spark import text_lines
from sfumato.engines.spark.session import SparkServer
from sfumato.engines.spark.source import MOMENT, SparkColumn, SparkTable
from sfumato.errors import PolicyError
from sfumato.policy.sections import quote

FORMATS = ("parquet", "csv", "delta", "iceberg", "orc", "table")
"""What may stand before a colon; `table` is a name of a catalog."""
_TEXTS = ("csv", "json", "text", "xml")
_LOOKED_AT = 1000
"""Files that are looked at to name the one whose types differ."""
_WIDER = re.compile(r"timestamp\[(?!us)")
_JARS = {"delta": "io.delta:delta-spark_2.13", "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13"}


def placed(written: str) -> tuple[str, str]:
    """The format and the path of what a policy says; without a word for it, by the ending."""
    word, colon, rest = written.partition(":")
    if colon and word in FORMATS:
        return word, rest.strip()
    return "csv" if written.lower().endswith((".csv", ".csv.gz")) else "parquet", written


def open_table(server: SparkServer, name: str, written: str | tuple[str, ...], *, public: bool = False) -> SparkTable:
    """A view of a table. Only schemas are read, and the lines of text files, which are read once to refuse odd ones."""
    named = [placed(one) for one in ([written] if isinstance(written, str) else written)]
    kind, paths = named[0][0], [path for _, path in named]
    if any(other != kind for other, _ in named) or (kind == "table" and len(paths) > 1):
        raise PolicyError(f'the files of table "{name}" are of several formats', hint="Name files of one format.")
    server.check_settings()
    try:
        if kind == "table":
            _check_catalog(server, name, paths[0], public=public)
        if kind == "csv" and not public:
            return _of_lines(server, name, paths)
        frame = server.frame(kind, paths)
        columns = _columns(name, frame)
        if kind in ("parquet", "orc") and not public:
            _check_all_are_read(server, name, kind, paths, frame)
    except PolicyError:
        raise
    except Exception as error:  # noqa: BLE001  whatever Spark says
        raise _missing(server, name, kind, paths, str(error)) from None
    files = () if kind == "table" or server.connect else _files(frame)
    table = SparkTable(name, server.name(frame), columns, files)
    if kind in ("parquet", "orc", "table") and not public:
        _check_moments(server, table)
    return table


def _columns(name: str, frame: Any) -> dict[str, SparkColumn]:
    fields = [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
    odd = [field for field, _ in fields if "`" in field or "${" in field]
    if odd:
        raise PolicyError(f'a column of table "{name}" is named "{odd[0]}"', hint="Rename it: no ` and no ${.")
    return {field: SparkColumn(field, type_) for field, type_ in fields}


def _check_all_are_read(server: SparkServer, name: str, kind: str, paths: list[str], frame: Any) -> None:
    """Refuse files of which some would be left out: where one folder is named key=value, Spark leaves out those beside
    it, so that one person's folder would decide whether others are read.
    """
    everywhere = set(server.frame(kind, paths, merged=False, everywhere=True).inputFiles())
    left_out = everywhere - set(frame.inputFiles())
    if len({_folder_keys(file) for file in everywhere}) > 1:
        fewest = min(map(_folder_keys, everywhere), key=len)
        left_out |= {file for file in everywhere if _folder_keys(file) == fewest}
    if left_out:
        first = min(left_out)
        file = _local_path(first) or first
        raise PolicyError(
            f'{len(left_out):,} files of table "{name}" would not be read, such as {quote(file, 200)}',
            hint="Put all files of a table into one folder, or all of them into folders key=value of the same keys.",
        )


def _folder_keys(address: str) -> tuple[str, ...]:
    """The names of the columns that the folders of a file give."""
    folders = unquote(urlparse(address).path).split("/")[:-1]
    return tuple(folder.partition("=")[0].lower() for folder in folders if "=" in folder)


def _files(frame: Any) -> tuple[str, ...]:
    """The files of a frame, where all of them are on this machine."""
    found = tuple(sorted(map(_local_path, frame.inputFiles())))
    return found if all(found) else ()


def _check_catalog(server: SparkServer, name: str, written: str, *, public: bool) -> None:
    """Refuse a view, and a private table whose files are text: options of a catalog decide how those are read."""
    if server.is_view(written):
        raise PolicyError(
            f'table "{name}" is a view of the catalog, and cannot be protected',
            hint="Name the tables that it is made of.",
        )
    said = server.described(written)
    provider, location = said.get("provider", "").lower(), said.get("location", "")
    if provider in _TEXTS and not public:
        raise PolicyError(
            f'table "{name}" is kept as {provider}, and cannot be protected',
            detail="One row may decide how the rows of others are read.",
            hint="Store it as Parquet, or name its text files as csv: PATH.",
        )
    if provider in ("parquet", "orc") and location:  # the types of all its files
        server.frame(provider, [location])


def _of_lines(server: SparkServer, name: str, paths: list[str]) -> SparkTable:
    """A private table of text files: each line decides its own row."""
    lines = server.frame("text", paths)
    _check_all_are_read(server, name, "text", paths, lines)
    beside = [field for field in lines.columns if field != "value"]
    columns = _columns(name, server.frame("csv", paths))
    names = [field for field in columns if field not in beside]
    view, files = server.name(lines), () if server.connect else _files(lines)
    odd = server.cells(text_lines.odd_files(view, names)).to_pylist()
    if odd:
        address, headers, broken = odd[0].values()
        raise _odd(name, address, names, headers=headers, broken=broken)
    rows = server.query(text_lines.rows_of(view, names, beside))
    return SparkTable(name, server.name(rows), columns, files)


def _odd(name: str, address: str, names: list[str], *, headers: int, broken: int) -> PolicyError:
    file = _local_path(address)
    if headers != 1:
        return PolicyError(
            f'{quote(file or address, 200)} of table "{name}" holds the names of its columns {headers:,} times',
            hint="The first line of every file must be the same, with different names, and no other line.",
        )
    where = [str(line) for line in text_lines.odd_lines(file, len(names))] if file else []
    return PolicyError(
        f'{broken:,} lines of {quote(file or address, 200)} of table "{name}" are not as the first one says',
        detail=f"The first are {', '.join(where)}." if where else "",
        hint="A line has one field for each name, is UTF-8, and closes its quotes; a field does not hold a line's end.",
    )


def _check_moments(server: SparkServer, table: SparkTable) -> None:
    """Refuse a table with a moment that Spark cannot hold: a file may keep more, and the run would end at that row."""
    timed = [column for column in table.columns.values() if "timestamp" in column.type]
    if not timed or not _may_overflow(table):
        return
    read = [one.raw("t") if one.family == MOMENT else f"to_json({one.raw('t')})" for one in timed]
    try:
        server.cells(f"SELECT {', '.join(f'COUNT({one})' for one in read)} FROM {table.place} AS t")
    except Exception as error:  # noqa: BLE001  whatever Spark says
        OPERATOR.error("table %s: %s", table.name, str(error)[:10_000])
        raise PolicyError(
            f'table "{table.name}" holds a moment that Spark cannot read',
            detail=f"One of: {', '.join(one.name for one in timed)}.",
            hint="Milliseconds beyond the years -290308 to 294247 are not held. Correct the row.",
        ) from None


def _may_overflow(table: SparkTable) -> bool:
    """Whether moments may be kept in wider units than Spark's microseconds; of files elsewhere it is not known."""
    try:
        schemas = [parquet.read_schema(file) for file in table.files]
    except (OSError, pa.ArrowException):
        return True
    return not schemas or any(_WIDER.search(str(field.type)) for schema in schemas for field in schema)


def _local_path(address: str) -> str:
    """The file of an address, where it is on this machine; else nothing."""
    parts = urlparse(address)
    path = unquote(parts.path)
    return path if parts.scheme in ("", "file") and Path(path).exists() else ""


def _missing(server: SparkServer, name: str, kind: str, paths: list[str], said: str) -> PolicyError:
    OPERATOR.error("table %s: %s", name, said[:10_000])
    if kind in _JARS and ("DATA_SOURCE_NOT_FOUND" in said or "ClassNotFound" in said or "Failed to find" in said):
        return PolicyError(
            f'table "{name}" is of format {kind}, whose jar Spark does not have',
            hint=f"Start Spark with spark.jars.packages = {_JARS[kind]}:VERSION, or with its jar on the class path.",
        )
    if "CANNOT_MERGE_SCHEMAS" in said:
        return PolicyError(
            f'the files of table "{name}" keep a column in different types',
            detail=_first_other(server, kind, paths),
            hint="Whichever is read first would decide for all rows: write them with one type.",
        )
    if kind == "table":
        return PolicyError(f'the catalog has no table "{paths[0]}"', hint="Names must match; Spark's catalogs decide.")
    return PolicyError(
        f'table "{name}" cannot be read from "{paths[0]}" as {kind}', hint="The operator's log has what Spark said."
    )


def _first_other(server: SparkServer, kind: str, paths: list[str]) -> str:
    """The first file whose types are not those of the files before it."""
    met: dict[str, tuple[str, str]] = {}
    with suppress(Exception):
        for file in islice(sorted(server.frame(kind, paths, merged=False).inputFiles()), _LOOKED_AT):
            for field in server.frame(kind, [file]).schema.fields:
                type_ = field.dataType.simpleString()
                first, meant = met.setdefault(field.name, (file, type_))
                if meant != type_:
                    return f'"{field.name}" is {meant} in {quote(first, 200)}, and {type_} in {quote(file, 200)}.'
    return ""


def stamp_of(table: SparkTable) -> tuple[tuple[str, int, int], ...] | None:
    """Name, size and time of each file, where they are on this machine; None where one is gone."""
    try:
        return tuple((file, Path(file).stat().st_size, Path(file).stat().st_mtime_ns) for file in table.files)
    except OSError:
        return None
