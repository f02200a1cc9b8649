"""The embedded engine: Parquet, CSV, JSON lines, globs of them, a DuckDB database, or frames of pandas, Polars and
Arrow.

Comes in: the policy's source. Goes out: an Engine. Text files are read as text, and `emit` casts them totally, so no
value of a row decides a type. After loading, access to anything outside is switched off for good.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb

from sfumato.engines import texts
from sfumato.engines.base import OPERATOR, failure
from sfumato.engines.prepared import HOME, Prepared
from sfumato.engines.slices import fetch
from sfumato.engines.spill import take_spill
from sfumato.errors import PolicyError
from sfumato.policy import Policy, Table, UnitJoin
from sfumato.words import Exact, Sheet, identifier, string

_LINES = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz")


class DuckDB:
    """The owner's tables in one DuckDB process, read only; public ones in an engine of their own, beside it."""

    def __init__(
        self,
        policy: Policy,
        frames: dict[str, Any] | None = None,
        threads: int | None = None,
        *,
        prepared: Prepared | None = None,
        into: Path | None = None,
        later: bool = False,
    ) -> None:
        """Load the source; of `prepared` tables none. `into` is a new file that rows will be prepared into.

        `later`: rows are read when they are kept, and only as they are kept; until then every look reads the source.
        """
        memory = _memory()
        config: dict[str, Any] = {"memory_limit": f"{memory >> 20}MiB"}
        if prepared is not None:
            config["perfect_ht_threshold"] = _dense(prepared.people, memory, threads)
        if threads:
            config["threads"] = threads
        self._spills = [take_spill(policy), take_spill(policy)]
        self._private, self._public = (
            duckdb.connect(":memory:", config=config | {"temp_directory": spill.folder}) for spill in self._spills
        )
        self._views: dict[str, str] = {}
        self._kept: frozenset[str] = frozenset()
        self._unique: frozenset[str] = frozenset()
        self._prepared, self._later = prepared, later
        self._open = frozenset(table.name for table in policy.tables.values() if table.public)
        self._schemas: dict[str, dict[str, str]] = {}
        try:
            if prepared is not None:
                self._private.execute(f"ATTACH {string(str(prepared.place))} AS {HOME} (READ_ONLY)")
            if into is not None:
                self._private.execute(f"ATTACH {string(str(into))} AS {HOME}")
            for table in policy.tables.values():
                if prepared is not None and table.name in prepared.scans:
                    self._schemas[table.name] = prepared.schemas[table.name]
                else:
                    self._load(policy, table, frames or {})
            if prepared is None:  # else it was checked when these rows were prepared
                self._check_units(policy)
        except duckdb.Error as error:
            raise _unreadable(error) from None
        if not later:
            self._seal()

    def _seal(self) -> None:
        """From now on nothing outside can be reached."""
        for connection in (self._private, self._public):
            connection.execute("DETACH DATABASE IF EXISTS source")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")

    def _load(self, policy: Policy, table: Table, frames: dict[str, Any]) -> None:
        """A table into its engine; public ones into both, so that private rows can meet them."""
        for connection in (self._private, self._public) if table.public else (self._private,):
            self._load_into(connection, policy, table, frames)

    def _load_into(
        self, connection: duckdb.DuckDBPyConnection, policy: Policy, table: Table, frames: dict[str, Any]
    ) -> None:
        files = policy.source.files
        if table.name in frames:
            connection.register("_frame", frames[table.name])
            self._create(connection, table, "_frame")
            if not self._later:
                connection.unregister("_frame")
        elif isinstance(files, str):
            connection.execute(f"ATTACH IF NOT EXISTS {string(files)} AS source (READ_ONLY)")
            view = self._view(connection, table)
            if view is not None:  # it is not loaded: questions about it are about its tables
                self._views[table.name] = view
                rows = connection.execute(f"DESCRIBE SELECT * FROM source.{identifier(table.name)}").fetchall()
                self._schemas[table.name] = {str(row[0]): _kind(str(row[1])) for row in rows}
                return
            self._create(connection, table, f"source.{identifier(table.name)}")
        elif isinstance(files, dict) and table.name in files:
            self._create(connection, table, _reader(files[table.name], table))
        else:
            raise PolicyError(f'no file holds the table "{table.name}"', hint="Name it in [source] files.")

    def _of(self, table: Table) -> duckdb.DuckDBPyConnection:
        return self._public if table.public else self._private

    def _create(self, connection: duckdb.DuckDBPyConnection, table: Table, source: str) -> None:
        self._check_columns(connection, table, source)
        columns = ", ".join(self._bare(connection, table, source)) or "*"
        connection.execute(f"CREATE {self._kind} {identifier(table.name)} AS SELECT {columns} FROM {source}")

    @property
    def _kind(self) -> str:
        return "VIEW" if self._later else "TABLE"

    def _bare(self, connection: duckdb.DuckDBPyConnection, table: Table, source: str) -> list[str]:
        """The columns to be read; texts by their bytes, so that no collation of the source makes two of them equal."""
        rows = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        texts = {str(row[0]) for row in rows if str(row[1]).startswith("VARCHAR")}
        names = table.columns or [str(row[0]) for row in rows]
        return [
            f"DECODE(ENCODE({identifier(name)})) AS {identifier(name)}" if name in texts else identifier(name)
            for name in names
        ]

    def schema(self, table: Table) -> dict[str, str]:
        """The columns of a table with their types, in the policy's words, as its source declares them."""
        if table.name in self._schemas:
            return self._schemas[table.name]
        rows = self._of(table).execute(f"DESCRIBE {identifier(table.name)}").fetchall()
        return {str(row[0]): _kind(str(row[1])) for row in rows}

    def _check_columns(self, connection: duckdb.DuckDBPyConnection, table: Table, source: str) -> None:
        there = {str(row[0]) for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
        missing = [name for name in table.columns if name not in there]
        if missing:
            raise PolicyError(
                f'table "{table.name}" has no column "{missing[0]}"',
                detail=f"The source has: {', '.join(sorted(there))}.",
                hint="Names must match to the letter.",
            )

    def _view(self, connection: duckdb.DuckDBPyConnection, table: Table) -> str | None:
        """The query of a view, or None for a stored table."""
        rows = connection.execute(
            "SELECT sql FROM duckdb_views() WHERE database_name = 'source' AND view_name = ?", [table.name]
        ).fetchall()
        if rows:
            query = str(rows[0][0]).split(" AS ", 1)[1].strip().rstrip(";").replace("count_star()", "count(*)")
            described = connection.execute(f"DESCRIBE SELECT * FROM source.{identifier(table.name)}").fetchall()
            names = ", ".join(identifier(str(row[0])) for row in described)
            return f"SELECT * FROM ({query}) AS v ({names})"
        found = connection.execute(
            "SELECT COUNT(*) FROM duckdb_tables() WHERE database_name = 'source' AND table_name = ?", [table.name]
        ).fetchone()
        if not found or not found[0]:
            raise PolicyError(f'the database has no table "{table.name}"', hint="Names must match to the letter.")
        return None

    def keep(self, scans: dict[str, str]) -> None:
        """Keep each table as its scan gives it: domains are enforced once, when the data are loaded, not each time."""
        loaded = {name: sql for name, sql in scans.items() if name not in self.counted()}
        try:
            for name, sql in loaded.items():
                for connection in self._holding(name):
                    connection.execute(f"CREATE TABLE {identifier('#' + name)} AS {sql}")
        except duckdb.Error as error:
            raise _unreadable(error) from None
        for name in loaded:
            for connection in self._holding(name):
                connection.execute(f"DROP {self._kind} {identifier(name)}")
                connection.execute(f"ALTER TABLE {identifier('#' + name)} RENAME TO {identifier(name)}")
        for name in self.counted():
            for kind, prefix in (("VIEW", ""), ("VIEW", "#people "), ("TABLE", "#sizes ")):  # the last is short
                there = identifier(prefix + name)
                self._private.execute(f"CREATE {kind} {there} AS SELECT * FROM {HOME}.{there}")
        self._kept = frozenset(scans)
        self._unique = frozenset(name for name in loaded if name not in self._open and self._is_unique(name))
        if self._prepared is not None:
            self._unique |= self._prepared.unique
        if self._later:
            self._seal()

    def prepare(self, tables: dict[str, str], record: str) -> None:
        """Write what these SELECTs give of kept tables into the new file, then its record, and let go of it."""
        for name, sql in tables.items():
            self._private.execute(f"CREATE TABLE {HOME}.{name} AS {sql}")
        self._private.execute(f"CREATE TABLE {HOME}.{HOME} AS SELECT ? AS record", [record])
        self._private.execute(f"CHECKPOINT {HOME}")
        self._private.execute(f"DETACH {HOME}")

    def _is_unique(self, name: str) -> bool:
        person = identifier("#person")
        sql = f"SELECT COUNT(*) = COUNT(DISTINCT {person}) FROM {identifier(name)}"
        found = self._private.execute(sql).fetchone()
        return bool(found and found[0])

    def people(self, names: Iterable[str]) -> int:
        """How many persons these kept tables have together."""
        everybody = " UNION ".join(f"SELECT {identifier('#person')} FROM {identifier(name)}" for name in names)
        found = self._private.execute(f"SELECT COUNT(*) FROM ({everybody})").fetchone() if everybody else None
        return int(found[0]) if found else 0

    def same(self, name: str) -> list[str]:
        """The columns of a kept table that are the same in all rows of each person, where somebody has several rows."""
        rows = self._private.execute(f"DESCRIBE {identifier(name)}").fetchall()
        exact = [str(row[0]) for row in rows if str(row[1]) not in ("FLOAT", "DOUBLE")]  # -0 equals 0, and is another
        return [c for c in exact if c != "#person" and name not in self._unique and self._is_same(name, c)]

    def _is_same(self, name: str, column: str) -> bool:
        """A few persons show of most columns that they are not."""
        person, rows, x = identifier("#person"), identifier(name), identifier(column)
        few = f"(SELECT * FROM {rows} WHERE {person} IN (SELECT {person} FROM {rows} LIMIT 1000))"
        alike = f"MIN({x}) IS NOT DISTINCT FROM MAX({x}) AND COUNT({x}) IN (0, COUNT(*))"
        asked = (f"SELECT BOOL_AND(s) FROM (SELECT {alike} AS s FROM {t} GROUP BY {person})" for t in (few, rows))
        return all((found := self._private.execute(sql).fetchone()) and found[0] for sql in asked)

    def unique(self) -> frozenset[str]:
        """Tables in which each person surely has one row."""
        return self._unique

    def counted(self) -> dict[str, tuple[str, ...]]:
        """Tables that are prepared, and what is stored of them, by its names in order."""
        return {} if self._prepared is None else self._prepared.names

    def salt(self) -> str:
        """The hash key by which a person's open keys are kept: a new one each time, or that of the prepared rows."""
        return secrets.token_hex(16) if self._prepared is None else self._prepared.salt

    def _holding(self, name: str) -> list[duckdb.DuckDBPyConnection]:
        """The connections that hold a table: public ones are in both."""
        return [self._private, *([self._public] if name in self._open else [])]

    def stored(self) -> frozenset[str]:
        """The tables that are kept as their scans give them."""
        return self._kept

    def views(self) -> dict[str, str]:
        """The tables of the policy that are views, with their queries."""
        return dict(self._views)

    def _check_units(self, policy: Policy) -> None:
        """Units are compared as they are, without a cast: their types must be the same (semantics 1.1)."""
        private = [t for t in policy.tables.values() if not t.public and t.name not in self._views]
        units = [(table.name, table.unit) for table in private if isinstance(table.unit, str)]
        for (first, one), (other, two) in pairwise(units):
            self._check_alike((first, one), (other, two))
        for table in private:
            if isinstance(table.unit, UnitJoin):
                self._check_alike((table.name, table.unit.column), (table.unit.table, table.unit.key))
                self._check_unique(table.unit)

    def _check_alike(self, one: tuple[str, str], other: tuple[str, str]) -> None:
        types = [self._type(*one), self._type(*other)]
        if types[0] != types[1] and not all(_kind(kind) == "integer" for kind in types):
            raise PolicyError(
                f'"{one[0]}.{one[1]}" and "{other[0]}.{other[1]}" name persons, but their types differ',
                detail=f"In the source they are {types[0]} and {types[1]}.",
                hint="Identifiers are compared as they are: store both in the same type, in files of the same kind.",
            )

    def _type(self, table: str, column: str) -> str:
        rows = self._private.execute(f"DESCRIBE {identifier(table)}").fetchall()
        return next(str(row[1]) for row in rows if str(row[0]) == column)

    def _check_unique(self, unit: UnitJoin) -> None:
        """The key that leads to a person leads to one: checked when the data are admitted."""
        key = identifier(unit.key)
        sql = f"SELECT COUNT(*) - COUNT(DISTINCT {key}) FROM {identifier(unit.table)} WHERE {key} IS NOT NULL"
        found = self._private.execute(sql).fetchone()
        if found and found[0]:
            raise PolicyError(
                f'"{unit.table}.{unit.key}" leads to persons, but is not unique',
                hint="A key of a foreign key must name one row; the data of this version cannot be admitted.",
            )

    def run(
        self, sql: str, keys: int, sheets: tuple[Sheet, ...] = (), salt: str | None = None
    ) -> list[tuple[tuple[Any, ...], Exact]]:
        """Rows as (group, sealed sums)."""
        try:
            rows = _asked(self._private, sql, sheets, salt, keys=keys)
        except (duckdb.Error, MemoryError, RuntimeError) as error:
            raise failure(error) from None
        return [(tuple(row[:keys]), Exact(tuple(row[keys:]))) for row in rows]

    def run_public(self, sql: str, sheets: tuple[Sheet, ...] = ()) -> list[tuple[Any, ...]]:
        """Rows of public and released tables, in the clear: this connection never held a private one."""
        try:
            return [tuple(row) for row in _asked(self._public, sql, sheets)]
        except (duckdb.Error, MemoryError, RuntimeError) as error:
            raise failure(error, paid=False) from None

    def close(self) -> None:
        """Let go of the data."""
        self._private.close()
        self._public.close()
        for spill in self._spills:
            spill.release()


def _asked(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    sheets: tuple[Sheet, ...],
    salt: str | None = None,
    *,
    keys: int = 0,
) -> list[tuple[Any, ...]]:
    """The rows of one question on a connection of its own, beside the released tables that it reads."""
    with connection.cursor() as cursor:
        for sheet in sheets:
            cursor.execute(sheet.create(), list(sheet.values))
        hashes = salt is not None and "salt" in cursor.extract_statements(sql)[0].named_parameters
        return fetch(cursor, sql, keys, {"salt": salt} if hashes and salt is not None else None)


def _unreadable(error: duckdb.Error) -> PolicyError:
    OPERATOR.error("loading failed: %s", error)
    return PolicyError(
        "the source cannot be read",
        detail=str(error).split("\n")[0],
        hint="Check files and columns of the policy.",
    )


def _memory() -> int:
    """What the engine may take: half of the machine's memory. A question cannot change it."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _dense(people: int, memory: int, threads: int | None) -> int:
    """Up to so many bits whole numbers are grouped in arrays instead of hash tables: as many as these persons' numbers
    need. Each thread has an array, of some 64 bytes a person with three sums: together at most an eighth of the memory.
    """
    room = memory // (512 * (threads or os.cpu_count() or 1))
    return max(12, min((people + 1).bit_length(), room.bit_length() - 1))


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
        by_text = ending.endswith(texts.ENDINGS)
        return f"read_csv_auto({names}, union_by_name = true)" if by_text else f"read_json_auto({names})"
    if ending.endswith(texts.ENDINGS):
        return texts.reader(listed)
    if ending.endswith(_LINES):
        columns = ", ".join(f"{string(name)}: 'VARCHAR'" for name in table.columns)
        return f"read_json({names}, format = 'newline_delimited', columns = {{{columns}}})"
    raise PolicyError(
        f'files of kind "{Path(listed[0]).suffix}" cannot be read',
        hint="Use .parquet, .csv, .jsonl, or one .duckdb database.",
    )
