"""The embedded engine: Parquet, CSV, JSON lines, globs of them, a DuckDB database, or frames of pandas, Polars and
Arrow.

Comes in: the policy's source. Goes out: an Engine. Text files are read as text, and `emit` casts them totally, so no
value of a row decides a type. After loading, access to anything outside is switched off for good.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb

from sfumato.engines.base import OPERATOR, failure
from sfumato.errors import PolicyError
from sfumato.policy import Policy, Table
from sfumato.words import Exact, identifier, string

_TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
_LINES = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz")


class DuckDB:
    """The owner's tables in one DuckDB process, read only; public ones in an engine of their own, beside it."""

    def __init__(self, policy: Policy, frames: dict[str, Any] | None = None, threads: int | None = None) -> None:
        config: dict[str, Any] = {"memory_limit": _memory(), "temp_directory": _spill(policy)}
        if threads:
            config["threads"] = threads
        self._private = duckdb.connect(":memory:", config=config)
        self._public = duckdb.connect(":memory:", config=config)
        try:
            for table in policy.tables.values():
                self._load(policy, table, frames or {})
        except duckdb.Error as error:
            OPERATOR.error("loading failed: %s", error)
            raise PolicyError(
                "the source cannot be read",
                detail=str(error).split("\n")[0],
                hint="Check files and columns of the policy.",
            ) from None
        for connection in (self._private, self._public):
            connection.execute("DETACH DATABASE IF EXISTS source")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")

    def _load(self, policy: Policy, table: Table, frames: dict[str, Any]) -> None:
        connection, files = self._of(table), policy.source.files
        if table.name in frames:
            connection.register("_frame", frames[table.name])
            self._create(table, "_frame")
            connection.unregister("_frame")
        elif isinstance(files, str):
            connection.execute(f"ATTACH IF NOT EXISTS {string(files)} AS source (READ_ONLY)")
            self._check_base_table(table)
            self._create(table, f"source.{identifier(table.name)}")
        elif isinstance(files, dict) and table.name in files:
            self._create(table, _reader(files[table.name], table))
        else:
            raise PolicyError(f'no file holds the table "{table.name}"', hint="Name it in [source] files.")

    def _of(self, table: Table) -> duckdb.DuckDBPyConnection:
        return self._public if table.public else self._private

    def _create(self, table: Table, source: str) -> None:
        self._check_columns(table, source)
        columns = ", ".join(self._bare(table, source)) or "*"
        self._of(table).execute(f"CREATE TABLE {identifier(table.name)} AS SELECT {columns} FROM {source}")

    def _bare(self, table: Table, source: str) -> list[str]:
        """The columns to be read; texts by their bytes, so that no collation of the source makes two of them equal."""
        rows = self._of(table).execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        texts = {str(row[0]) for row in rows if str(row[1]).startswith("VARCHAR")}
        names = table.columns or [str(row[0]) for row in rows]
        return [
            f"DECODE(ENCODE({identifier(name)})) AS {identifier(name)}" if name in texts else identifier(name)
            for name in names
        ]

    def schema(self, table: Table) -> dict[str, str]:
        """The columns of a table with their types, in the policy's words, as its source declares them."""
        rows = self._of(table).execute(f"DESCRIBE {identifier(table.name)}").fetchall()
        return {str(row[0]): _kind(str(row[1])) for row in rows}

    def _check_columns(self, table: Table, source: str) -> None:
        there = {str(row[0]) for row in self._of(table).execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
        missing = [name for name in table.columns if name not in there]
        if missing:
            raise PolicyError(
                f'table "{table.name}" has no column "{missing[0]}"',
                detail=f"The source has: {', '.join(sorted(there))}.",
                hint="Names must match to the letter.",
            )

    def _check_base_table(self, table: Table) -> None:
        """A view could let one person change the rows of others: only stored tables are taken."""
        found = (
            self._of(table)
            .execute(
                "SELECT count(*) FROM duckdb_tables() WHERE database_name = 'source' AND table_name = ?", [table.name]
            )
            .fetchone()
        )
        if not found or not found[0]:
            raise PolicyError(
                f'"{table.name}" is not a stored table of the database', hint="Views are not supported yet."
            )

    def run(self, sql: str, keys: int) -> list[tuple[tuple[Any, ...], Exact]]:
        """Rows as (group, sealed sums)."""
        try:
            rows = self._private.cursor().execute(sql).fetchall()
        except (duckdb.Error, MemoryError, RuntimeError) as error:
            raise failure(error) from None
        return [(tuple(row[:keys]), Exact(tuple(row[keys:]))) for row in rows]

    def run_public(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of public tables, in the clear: this connection never held a private one."""
        try:
            return [tuple(row) for row in self._public.cursor().execute(sql).fetchall()]
        except (duckdb.Error, MemoryError, RuntimeError) as error:
            raise failure(error, paid=False) from None

    def close(self) -> None:
        """Let go of the data."""
        self._private.close()
        self._public.close()


def _memory() -> str:
    """What the engine may take: half of the machine's memory. A question cannot change it."""
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') // 2 // 2**20}MiB"


def _spill(policy: Policy) -> str:
    """Where rows may lie that do not fit into memory: the owner's own folder, never the one that she happens to be in.

    A frame has no such folder: what does not fit fails.
    """
    if policy.path is None:
        return ""
    folder = Path(policy.data.state)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return str(folder / "spill")


def _kind(declared: str) -> str:
    """A type of DuckDB in the policy's words."""
    name = declared.split("(", maxsplit=1)[0].upper()
    if name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT"):
        return "integer"
    kinds = {"DECIMAL": "decimal", "FLOAT": "double", "DOUBLE": "double", "DATE": "date", "BOOLEAN": "boolean"}
    return "timestamp" if name.startswith("TIMESTAMP") else kinds.get(name, "text")


def _reader(paths: str | tuple[str, ...], table: Table) -> str:
    """The table function that reads a file, several, or a glob; text stays text."""
    listed = [paths] if isinstance(paths, str) else list(paths)
    names = f"[{', '.join(string(path) for path in listed)}]"
    ending = Path(listed[0]).name.lower()
    if ending.endswith((".parquet", ".pq")):
        return f"read_parquet({names}, union_by_name = true)"
    if table.public:  # nobody's data: its values may say its types
        return f"read_csv_auto({names}, union_by_name = true)" if ending.endswith(_TEXT) else f"read_json_auto({names})"
    if ending.endswith(_TEXT):
        return (
            f"read_csv({names}, all_varchar = true, header = true, union_by_name = true, quote = '\"', escape = '\"')"
        )
    if ending.endswith(_LINES):
        columns = ", ".join(f"{string(name)}: 'VARCHAR'" for name in table.columns)
        return f"read_json({names}, format = 'newline_delimited', columns = {{{columns}}})"
    raise PolicyError(
        f'files of kind "{Path(listed[0]).suffix}" cannot be read',
        hint="Use .parquet, .csv, .jsonl, or one .duckdb database.",
    )
