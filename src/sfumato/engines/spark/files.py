"""The files of a private table: whether all of them are read, whether Spark can read each, and what shows a change.

Comes in: the data frame of a table. Goes out: their names where they are on this machine, or one PolicyError that names
the file which would be left out, or the table that cannot be read.

Guarantee: when a source is opened, every file below its paths is read, and every declared column of it can be. A file
    whose types are not those that it says, or a moment that Spark does not hold, refuses the source then, and not a run
    that was charged.
Proof: files are compared with those of a listing that leaves out none but hidden ones. A Parquet file on this machine
    keeps in its own schema, and not in the notes that Spark writes beside, a type that Spark reads without a failure;
    where it does not, or nothing is known, the columns are read once.
Reference: semantics 1.3, 1.4, 2.5; decisions 082, 088, 101.
Checked by: unit::no_folder_decides_whether_others_are_read, unit::a_file_that_lies_about_its_types_is_refused,
    unit::a_moment_that_spark_cannot_hold_refuses_its_file
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
from pyarrow import parquet

from sfumato.engines.base import OPERATOR
from sfumato.engines.spark.session import SparkServer
from sfumato.engines.spark.source import (
    DAY,
    FLOAT,
    MOMENT,
    NUMERIC,
    OTHER,
    TEXTUAL,
    TRUTH,
    WHOLE,
    SparkColumn,
    SparkTable,
)
from sfumato.errors import PolicyError
from sfumato.policy.sections import quote

_SURE = {
    WHOLE: re.compile(r"INT32 (None|Int\(.*isSigned=true\))|INT64 (None|Int\(.*isSigned=true\)) bigint"),
    FLOAT: re.compile(r"FLOAT None float|DOUBLE None double"),
    TRUTH: re.compile(r"BOOLEAN None"),
    DAY: re.compile(r"INT32 Date"),
    MOMENT: re.compile(r"INT64 Timestamp\(.*timeUnit=microseconds.*\)"),
    TEXTUAL: re.compile(r"BYTE_ARRAY String"),
    OTHER: re.compile(r"BYTE_ARRAY None binary"),
}
"""How a Parquet file keeps a column so that Spark surely reads it: the type in bytes, its meaning, and Spark's type."""


def check_all_are_read(server: SparkServer, name: str, kind: str, paths: list[str], frame: Any) -> None:
    """Refuse files of which some would be left out: where one folder is named key=value, Spark leaves out those beside
    it, so that one person's folder would decide whether others are read.
    """
    everywhere, read = (
        set(server.frame(kind, paths, merged=False, everywhere=True).inputFiles()),
        set(frame.inputFiles()),
    )
    left_out = everywhere - read
    if len({folder_keys(file) for file in everywhere}) > 1:
        fewest = min(map(folder_keys, everywhere), key=len)
        left_out |= {file for file in everywhere if folder_keys(file) == fewest}
    if left_out:
        raise PolicyError(
            f'{len(left_out):,} files of table "{name}" would not be read, such as {quote(shown(min(left_out)), 200)}',
            hint="Put all files of a table into one folder, or all of them into folders key=value of the same keys.",
        )
    if read - everywhere:
        raise PolicyError(
            f'table "{name}" has files outside of its folder, such as {quote(shown(min(read - everywhere)), 200)}',
            hint="Put all partitions of a table into its own folder.",
        )


def folder_keys(address: str) -> tuple[str, ...]:
    """The names of the columns that the folders of a file give."""
    folders = unquote(urlparse(address).path).split("/")[:-1]
    return tuple(folder.partition("=")[0].lower() for folder in folders if "=" in folder)


def local_files(frame: Any) -> tuple[str, ...]:
    """The files of a frame, where all of them are on this machine."""
    found = tuple(sorted(map(local_path, frame.inputFiles())))
    return found if all(found) else ()


def local_path(address: str) -> str:
    """The file of an address, where it is on this machine; else nothing."""
    parts = urlparse(address)
    path = unquote(parts.path)
    return path if parts.scheme in ("", "file") and Path(path).exists() else ""


def shown(address: str) -> str:
    """A file as a person names it."""
    return local_path(address) or address


def check_readable(server: SparkServer, table: SparkTable, read: Iterable[str] | None) -> None:
    """Refuse a table with a column that Spark cannot read to its end: a charged run would end at that row."""
    columns = [
        table.columns[name] for name in dict.fromkeys(table.columns if read is None else read) if name in table.columns
    ]
    if not columns or _is_sure(table, columns):
        return
    values = [_value(column) for column in columns]
    try:
        server.cells(f"SELECT {', '.join(f'COUNT({one})' for one in values)} FROM {table.place} AS t")
    except Exception as error:  # noqa: BLE001  whatever Spark says
        OPERATOR.error("table %s: %s", table.name, str(error)[:10_000])
        raise PolicyError(
            f'table "{table.name}" holds a value that Spark cannot read',
            detail=f"One of: {', '.join(column.name for column in columns)}.",
            hint="A file may say other types than it has, or hold milliseconds beyond the years -290308 to 294247.",
        ) from None


def _value(column: SparkColumn) -> str:
    """What is counted; of a record or a list all of it is read."""
    complex_ = column.type.startswith(("struct", "map", "array"))
    return f"to_json({column.raw('t')})" if complex_ else column.raw("t")


def _is_sure(table: SparkTable, columns: list[SparkColumn]) -> bool:
    """Whether the files' own schemas show that nothing of these columns can fail; files elsewhere show nothing."""
    try:
        return bool(table.files) and all(_keeps(file, columns) for file in table.files)
    except (OSError, pa.ArrowException):
        return False


def _keeps(file: str, columns: list[SparkColumn]) -> bool:
    schema = parquet.read_metadata(file).schema
    leaves = [schema.column(i) for i in range(len(schema))]
    kept = {leaf.path: f"{leaf.physical_type} {leaf.logical_type}" for leaf in leaves if leaf.max_repetition_level == 0}
    nested = {leaf.path.partition(".")[0] for leaf in leaves} - kept.keys()
    return not any(column.name in nested for column in columns) and all(
        _is_plain(kept[column.name], column) for column in columns if column.name in kept
    )


def _is_plain(kept: str, column: SparkColumn) -> bool:
    if column.family == NUMERIC:
        precision, scale = column.digits
        return kept.endswith(f" Decimal(precision={precision}, scale={scale})")
    sure = _SURE[column.family]
    return bool(sure.fullmatch(kept) or sure.fullmatch(f"{kept} {column.type}"))


def stamp_of(table: SparkTable) -> tuple[tuple[str, int, int], ...] | None:
    """Name, size and time of each file, where they are on this machine; None where one is gone."""
    try:
        return tuple((file, Path(file).stat().st_size, Path(file).stat().st_mtime_ns) for file in table.files)
    except OSError:
        return None
