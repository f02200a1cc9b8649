"""Where the rows of a table come from: files, a DuckDB database, or a frame that is registered.

Comes in: the policy's source and one of its tables. Goes out: what stands in FROM, and the columns that are read of it.
Text files are read as text: scans cast text totally, so no value of a row decides a type.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from sfumato.engines.base import OPERATOR
from sfumato.engines.duckdb import text_files
from sfumato.engines.duckdb.file_layout import files_of, folder_options, parquet_reader
from sfumato.errors import PolicyError
from sfumato.policy import ROW, Table
from sfumato.types import identifier, string

_LINES = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz")


def columns_of(connection: duckdb.DuckDBPyConnection, source: str) -> dict[str, str]:
    """The columns of what stands in FROM, with the engine's names of their types."""
    return {str(row[0]): str(row[1]) for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}


def read_of(connection: duckdb.DuckDBPyConnection, table: Table, source: str) -> str:
    """The SELECT of the columns that the policy names; texts by their bytes, so that no collation of the source makes
    two of them equal.

    Where each row is a person, the person is a random number: it says nothing of the row, its place or the others.
    """
    there = columns_of(connection, source)
    missing = [name for name in table.columns if name not in there]
    if missing:
        raise PolicyError(
            f'table "{table.name}" has no column "{missing[0]}"',
            detail=f"The source has: {', '.join(sorted(there))}.",
            hint="Names must match exactly.",
        )
    shown = [
        f"DECODE(ENCODE({identifier(name)})) AS {identifier(name)}"
        if there[name].startswith("VARCHAR")
        else identifier(name)
        for name in (table.columns if table.columns or table.unit == ROW else there)
    ]
    shown = [*([f"uuid() AS {identifier(ROW)}"] if table.unit == ROW else []), *shown]
    return f"SELECT {', '.join(shown) or '*'} FROM {source}"


def view_of(connection: duckdb.DuckDBPyConnection, table: Table) -> str | None:
    """The query of a view of the attached database, or None for a stored table."""
    rows = connection.execute(
        "SELECT sql FROM duckdb_views() WHERE database_name = 'source' AND schema_name = 'main' AND view_name = ?",
        [table.name],
    ).fetchall()
    if rows:
        query = str(rows[0][0]).split(" AS ", 1)[1].strip().rstrip(";").replace("count_star()", "count(*)")
        names = ", ".join(map(identifier, columns_of(connection, f"source.{identifier(table.name)}")))
        return f"SELECT * FROM ({query}) AS v ({names})"
    found = connection.execute(
        "SELECT COUNT(*) FROM duckdb_tables()"
        " WHERE database_name = 'source' AND schema_name = 'main' AND table_name = ?",
        [table.name],
    ).fetchone()
    if not found or not found[0]:
        raise PolicyError(f'the database has no table "{table.name}"', hint="Names must match exactly.")
    return None


def reader(connection: duckdb.DuckDBPyConnection, paths: str | tuple[str, ...], table: Table) -> str:
    """The table function that reads a file, several, or a glob; text stays text."""
    listed = [paths] if isinstance(paths, str) else list(paths)
    ending = Path(listed[0]).name.lower()
    if ending.endswith(text_files.ENDINGS):
        if table.public:  # nobody's data: its values may say its types
            return text_files.public_reader(listed)
        return text_files.reader(listed, lambda headers: folder_options(headers, table))
    if ending.endswith((".parquet", ".pq", *_LINES)):
        files = files_of(connection, listed)
        names = f"[{', '.join(map(text_files.exactly, files))}]"
        if ending.endswith(_LINES):
            if table.public:
                return f"read_json_auto({names})"
            columns = ", ".join(f"{string(name)}: 'VARCHAR'" for name in table.columns)
            options = folder_options(dict.fromkeys(files, ()), table)
            return f"read_json({names}, format = 'newline_delimited', columns = {{{columns}}}, {options})"
        if table.public:
            return f"read_parquet({names}, union_by_name = true)"
        return parquet_reader(connection, files, table)
    raise PolicyError(
        f'files of kind "{Path(listed[0]).suffix}" cannot be read',
        hint="Use .parquet, .csv, .jsonl, or one .duckdb database.",
    )


def kind_of(declared: str) -> str:
    """A type of DuckDB in the policy's words."""
    name = declared.split("(", maxsplit=1)[0].upper()
    if name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT"):
        return "integer"
    kinds = {"DECIMAL": "decimal", "FLOAT": "double", "DOUBLE": "double", "DATE": "date", "BOOLEAN": "boolean"}
    return "timestamp" if name.startswith("TIMESTAMP") else kinds.get(name, "text")


def unreadable(error: duckdb.Error) -> PolicyError:
    """What is said of a source that cannot be read; the engine's words go to the operator."""
    OPERATOR.error("loading failed: %s", str(error)[:10_000])
    return PolicyError(
        "the source cannot be read",
        detail=text_files.words_of(str(error)),
        hint="Check files and columns of the policy.",
    )
