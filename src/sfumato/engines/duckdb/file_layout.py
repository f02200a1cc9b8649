"""Several files of one table: columns that folder names give, and types on which all files agree.

Comes in: the files of a private table. Goes out: how the engine is told to read them, or a refusal of the whole source.
An engine that reads `zip=00123/part.parquet` gives a column `zip` the type that fits the folders of all files, and a
column of several files the type that holds them all; then one person, whose file is read besides, decides what the
values of others become.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import duckdb

from sfumato.engines.duckdb.text_files import exactly, files_under, missing
from sfumato.errors import PolicyError
from sfumato.policy import Table
from sfumato.policy.sections import quote

_FOLDER = re.compile(r"[/\\]([^/\\=?]+)=[^/\\\n?=]*(?=[/\\])")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
"""Whole numbers that 64 bits with a sign hold: the wider type holds each as the number that it is, also as a double."""
Columns = Mapping[str, str]


def folder_columns(file: str) -> frozenset[str]:
    """The columns that the folders of a file name, in lower case."""
    return frozenset(name.lower() for name in _FOLDER.findall(file))


def folder_options(files: Mapping[str, Iterable[str]], table: Table) -> str:
    """Options of a reader by which columns come from folder names where the policy declares them, as text.

    `files` are the names of the columns that each file has itself.

    Guarantee: a value from a folder name is the text of that folder, whatever other folders there are.
    Proof: types are not guessed; that there is such a column follows from the policy, and a file without it, or with a
        column of its own of that name, refuses the source.
    Reference: semantics 1.3, 1.4.
    Checked by: unit::a_folder_does_not_decide_how_others_are_read
    """
    declared = {name.lower(): name for name in table.columns}
    named = {key for file in files for key in folder_columns(file) & declared.keys()}
    for file, own in files.items():
        if lacking := sorted(named - folder_columns(file)):
            raise PolicyError(
                f'column "{declared[lacking[0]]}" of table "{table.name}" comes from folder names,'
                f" but {quote(file, 200)} is in no such folder",
                hint=f"Put every file of the table into a folder such as {declared[lacking[0]]}=VALUE, or none.",
            )
        if both := sorted(named & {name.lower() for name in own}):
            raise PolicyError(
                f'column "{declared[both[0]]}" of table "{table.name}" is both in folder names'
                f" and in {quote(file, 200)}",
                hint="Rename the folders, or drop the column from the files.",
            )
    return f"hive_partitioning = {'true' if named else 'false'}, hive_types_autocast = false"


def parquet_reader(connection: duckdb.DuckDBPyConnection, files: list[str], table: Table) -> str:
    """What reads the Parquet files of a private table, columns matched by name.

    Guarantee: what a row holds follows from that row, the schema of its own file, and the policy.
    Proof: a declared column has the same type in every file that has it, or is a whole number in all of them, which the
        widest type holds unchanged; else the source is refused. For folder names see `folder_options`.
    Reference: semantics 1.3, 1.4.
    Checked by: unit::files_of_different_types_are_refused_as_a_whole
    """
    schemas = {file: _schema(connection, file) for file in files}
    options = folder_options(schemas, table)
    _check_types(schemas, table)
    listed = ", ".join(map(exactly, files))
    return f"read_parquet([{listed}], union_by_name = true, {options})"


def files_of(connection: duckdb.DuckDBPyConnection, paths: Iterable[str]) -> list[str]:
    """The files that the engine reads under these paths; those on other machines are looked for by the engine."""
    listed = list(paths)
    files = files_under(path for path in listed if "://" not in path)
    for path in (path for path in listed if "://" in path):
        files += [str(row[0]) for row in connection.execute("FROM glob(?)", [path]).fetchall()]
    if not files:
        raise missing(", ".join(listed))
    return list(dict.fromkeys(files))


def _schema(connection: duckdb.DuckDBPyConnection, file: str) -> Columns:
    rows = connection.execute(
        f"DESCRIBE SELECT * FROM read_parquet({exactly(file)}, hive_partitioning = false)"
    ).fetchall()
    return {str(row[0]): str(row[1]) for row in rows}


def _check_types(schemas: Mapping[str, Columns], table: Table) -> None:
    declared = {name.lower() for name in table.columns}
    first: dict[str, tuple[str, str]] = {}
    for file, columns in schemas.items():
        for name, kind in columns.items():
            key = name.lower()
            if declared and key not in declared:
                continue
            where, known = first.setdefault(key, (file, kind))
            if known != kind and not {known, kind} <= set(_WHOLE):
                raise PolicyError(
                    f'column "{name}" of table "{table.name}" has different types in its files',
                    detail=f"It is {known} in {quote(where, 200)} and {kind} in {quote(file, 200)}.",
                    hint="Write all files with the same type; a missing value does not need another type in Parquet.",
                )
