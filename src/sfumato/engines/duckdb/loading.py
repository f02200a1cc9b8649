"""The owner's tables in two connections: all of them in one, public ones in another beside it.

Comes in: the policy's source, or rows that were prepared. Goes out: tables as their scans give them, units checked;
then access to anything outside is switched off for good.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

import duckdb

from sfumato.engines.base import read_alike
from sfumato.engines.duckdb.frame_rows import as_read, in_memory
from sfumato.engines.duckdb.generated_columns import check_generated
from sfumato.engines.duckdb.prepared_file import HOME, PreparedFile
from sfumato.engines.duckdb.relations import everybody, stored_scans
from sfumato.engines.duckdb.sources import FINER, columns_of, kind_of, read_of, reader, unreadable, view_of
from sfumato.engines.duckdb.spill import take_spill
from sfumato.errors import EngineError, PolicyError
from sfumato.policy import ROW, Policy, PublicNumbers, Table, UnitJoin
from sfumato.types import identifier, string

TWINS = "#twins"
"""The schema of empty tables."""
_FREE_MEMORY, _FREE_DISK = 1 << 30, 4 << 30
"""Bytes that all free runs together may take beside the public tables, in memory and on the disk."""
_BY_STATISTICS = "statistics_propagation,filter_pushdown"
"""What is switched off while files are read. The least and the largest value that a Parquet file states leave out NaN;
from them the optimizer would conclude that there is none, so that one row would decide what the NaN of others become.
"""
_BY_ROWS = "statistics_propagation"
"""What stays switched off. From the least and the largest value of a column the optimizer would rewrite expressions,
and raise where the rewriting fails: one person, whose value is the largest, would decide whether a query is answered.
"""

_SAME = (
    *(
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "HUGEINT",
        "UTINYINT",
        "USMALLINT",
        "UINTEGER",
        "UBIGINT",
        "UHUGEINT",
    ),
    *("BIGNUM", "DECIMAL", "BOOLEAN", "VARCHAR", "UUID", "BLOB", "BIT", "JSON", "DATE", "TIME", "TIME_NS", "TIMESTAMP"),
    *("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "TIME WITH TIME ZONE"),
)
"""Types whose equal values are the same, byte for byte; a text has lost its collation when it is read."""


class Tables:
    """The tables of a policy, loaded.

    Guarantee: what a row of a table holds follows from that row of the source and from the policy alone, on every
        machine and at every time, and whether a statement can run does not follow from the values of rows.
    Proof: a source gives each row by itself (`sources`, `generated_columns`), scans are functions of one row, the time
        zone is UTC, and while they are read no optimizer sees what a file states about all of its rows. Afterwards none
        sees the least and the largest value of a column, so a statement that was planned on empty tables is planned in
        the same way on these.
    Reference: semantics 1.3, 1.4, 2.5.
    Checked by: unit::nan_in_a_file_is_missing_whatever_others_hold,
        unit::an_object_of_a_frame_does_not_change_what_others_hold, laws::no_outcome_depends_on_the_largest_value,
        unit::rows_are_the_same_in_every_time_zone
    """

    def __init__(
        self,
        policy: Policy,
        frames: dict[str, Any],
        threads: int | None,
        *,
        prepared: PreparedFile | None,
        into: Path | None,
        later: bool,
    ) -> None:
        """Load the source; of `prepared` tables none. `into` is a new file that rows will be prepared into.

        `later`: rows are read when they are kept, and only as they are kept; until then every look reads the source.
        """
        memory = _memory()
        config: dict[str, Any] = {"memory_limit": f"{memory >> 20}MiB", "disabled_optimizers": _BY_STATISTICS}
        if prepared is not None:
            config["perfect_ht_threshold"] = _dense(prepared.people, memory, threads)
        if threads:
            config["threads"] = threads
        self._spills = [take_spill(policy), take_spill(policy)]
        self.private, self.public = (_connected(config | {"temp_directory": spill.folder}) for spill in self._spills)
        self.views: dict[str, str] = {}
        self.kept: frozenset[str] = frozenset()
        self.unique: frozenset[str] = frozenset()
        self.prepared, self._later = prepared, later
        self._open = frozenset(table.name for table in policy.tables.values() if table.public)
        self._schemas: dict[str, dict[str, str]] = {}
        self._finer: set[tuple[str, str]] = set()
        try:
            if prepared is not None:
                self.private.execute(f"ATTACH {string(str(prepared.place))} AS {HOME} (READ_ONLY)")
            if into is not None:
                self.private.execute(f"ATTACH {string(str(into))} AS {HOME}")
            for table in policy.tables.values():
                if prepared is not None and table.name in prepared.scans:
                    self._schemas[table.name] = prepared.schemas[table.name]
                else:
                    self._load(policy, table, frames)
            if prepared is None:  # else it was checked when these rows were prepared
                self._check_units(policy)
        except duckdb.Error as error:
            raise unreadable(error) from None
        if not later:
            self._seal()

    def _seal(self) -> None:
        """From now on nothing outside can be reached, and free work has its limits."""
        used = self.public.execute("SELECT SUM(memory_usage_bytes) FROM duckdb_memory()").fetchone()
        free = min(_memory(), int(used[0] or 0 if used else 0) + _FREE_MEMORY)
        self.public.execute(f"SET memory_limit = '{free >> 20}MiB'")
        self.public.execute(f"SET max_temp_directory_size = '{_FREE_DISK >> 20}MiB'")
        self.public.execute("SET threads = 1")  # beside the thread that asks there is none: slots bound them all
        for connection in (self.private, self.public):
            connection.execute(f"SET disabled_optimizers = '{_BY_ROWS}'")
            connection.execute("DETACH DATABASE IF EXISTS source")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")

    # loading
    def _load(self, policy: Policy, table: Table, frames: dict[str, Any]) -> None:
        """A table into its engine; public ones into both, so that private rows can meet them."""
        for connection in self._holding(table.name):
            self._load_into(connection, policy, table, frames)

    def _load_into(
        self, connection: duckdb.DuckDBPyConnection, policy: Policy, table: Table, frames: dict[str, Any]
    ) -> None:
        files = policy.source.files
        if table.name in frames:
            frame, name = frames[table.name], f"_frame {table.name}"  # a view of it may read it later
            connection.register(name, in_memory(frame) if table.public else as_read(frame))
            self._create(connection, table, identifier(name))
            if not self._later:
                connection.unregister(name)
        elif isinstance(files, str):
            connection.execute(f"ATTACH IF NOT EXISTS {string(files)} AS source (READ_ONLY)")
            view, source = view_of(connection, table, policy), f"source.{identifier(table.name)}"
            if view is not None:  # it is not loaded: questions about it are about its tables
                self.views[table.name] = view
                there = columns_of(connection, source)
                self._schemas[table.name] = {name: kind_of(kind) for name, kind in there.items()}
                return
            check_generated(connection, table)
            self._create(connection, table, source)
        elif isinstance(files, dict) and table.name in files:
            self._create(connection, table, reader(connection, files[table.name], table))
        else:
            raise PolicyError(f'no file holds the table "{table.name}"', hint="Name it in [source] files.")

    def _create(self, connection: duckdb.DuckDBPyConnection, table: Table, source: str) -> None:
        self._finer |= {(table.name, name) for name, kind in columns_of(connection, source).items() if kind == FINER}
        connection.execute(f"CREATE {self._kind} {identifier(table.name)} AS {read_of(connection, table, source)}")

    @property
    def _kind(self) -> str:
        return "VIEW" if self._later else "TABLE"

    def schema(self, table: Table) -> dict[str, str]:
        """The columns of a table with their types, in the policy's words, as its source declares them."""
        if table.name in self._schemas:
            return self._schemas[table.name]
        there = columns_of(self.public if table.public else self.private, identifier(table.name))
        return {name: kind_of(kind) for name, kind in there.items() if name != ROW}

    def public_numbers(self, table: Table) -> dict[str, PublicNumbers]:
        """The numbers of a public table: the lowest and the highest value, and the grid of an exact type."""
        connection, source, found = self.public, identifier(table.name), dict[str, PublicNumbers]()
        for name, kind in columns_of(connection, source).items():
            if kind_of(kind) not in ("decimal", "integer", "double"):
                continue
            grid = (
                Fraction(1, 10 ** int(kind.rstrip(")").split(",")[1])) if kind.startswith("DECIMAL(") else Fraction(1)
            )
            ends = connection.execute(
                f"SELECT MIN({identifier(name)}), MAX({identifier(name)}) FROM {source}"
            ).fetchone()
            if any(isinstance(end, float) and not isfinite(end) for end in ends or ()):
                continue
            low, high = (Fraction(end or 0) for end in ends or (0, 0))
            found[name] = low, high, None if kind_of(kind) == "double" else grid
        return found

    def _holding(self, name: str) -> list[duckdb.DuckDBPyConnection]:
        """The connections that hold a table: public ones are in both."""
        return [self.private, *([self.public] if name in self._open else [])]

    # units
    def _check_units(self, policy: Policy) -> None:
        """Units are compared as they are, without a cast: their types must be the same (semantics 1.1)."""
        private = [t for t in policy.tables.values() if not t.public and t.name not in self.views]
        units = [(table.name, table.unit) for table in private if isinstance(table.unit, str)]
        joins = [table.unit for table in private if isinstance(table.unit, UnitJoin)]
        for name, column in (*units, *((unit.table, key) for unit in joins for key in unit.keys)):
            self._check_bytes(name, column)
        for one, other in pairwise(units):
            self._check_alike(policy, one, other)
        for table in private:
            if isinstance(table.unit, UnitJoin):
                for column, key in table.unit.pairs:
                    self._check_alike(policy, (table.name, column), (table.unit.table, key))
                self._check_unique(table.unit)

    def _check_bytes(self, table: str, column: str) -> None:
        """A type whose equal values may differ would make one person of several, and so would NaN: 1 month and 30 days
        are equal, 0.0 and -0.0, and all numbers that are missing.
        """
        kind = self._type(table, column)
        if not kind.startswith("ENUM") and (kind.endswith("]") or kind.split("(")[0] not in _SAME):
            raise PolicyError(
                f'"{table}.{column}" identifies people, but is of type {kind}',
                hint="Use a whole number, a text, a date or a UUID: values that are equal must be the same.",
            )

    def _check_alike(self, policy: Policy, one: tuple[str, str], other: tuple[str, str]) -> None:
        types = [self._type(*one), self._type(*other)]
        whole = all(kind_of(kind) == "integer" for kind in types) and read_alike(policy, one, other)
        if types[0] != types[1] and not whole:
            raise PolicyError(
                f'"{one[0]}.{one[1]}" and "{other[0]}.{other[1]}" identify people, but have different types',
                detail=f"In the source they are {types[0]} and {types[1]}.",
                hint="Identifiers are compared as they are: store both in the same type, in files of the same kind.",
            )

    def _type(self, table: str, column: str) -> str:
        """As the source declares it: people who differ there by less than is read must not become one."""
        if (table, column) in self._finer:
            return FINER
        rows = self.private.execute(f"DESCRIBE {identifier(table)}").fetchall()
        return next(str(row[1]) for row in rows if str(row[0]) == column)

    def _check_unique(self, unit: UnitJoin) -> None:
        """The key that leads to a person leads to one: checked when the data are admitted."""
        names = [identifier(key) for key in unit.keys]
        key, known = ", ".join(names), " AND ".join(f"{name} IS NOT NULL" for name in names)
        sql = f"SELECT COUNT(*) - COUNT(DISTINCT ({key})) FROM {identifier(unit.table)} WHERE {known}"
        found = self.private.execute(sql).fetchone()
        if found and found[0]:
            raise PolicyError(
                f'"{unit.place}" is a key to people, but is not unique',
                hint="A foreign key must refer to one row; this data version cannot be admitted.",
            )

    # tables as their scans give them
    def keep(self, policy: Policy, names: Iterable[str]) -> None:
        """Keep each table as its scan gives it: domains are enforced once, when the data are loaded, not each time."""
        scans = stored_scans(policy, names)
        loaded = {name: sql for name, sql in scans.items() if name not in self.counted()}
        try:
            for name, sql in loaded.items():
                for connection in self._holding(name):
                    connection.execute(f"CREATE TABLE {identifier('#' + name)} AS {sql}")
        except duckdb.Error as error:
            raise unreadable(error) from None
        for name in loaded:
            for connection in self._holding(name):
                connection.execute(f"DROP {self._kind} {identifier(name)}")
                connection.execute(f"ALTER TABLE {identifier('#' + name)} RENAME TO {identifier(name)}")
        for name in self.counted():
            for kind, prefix in (("VIEW", ""), ("VIEW", "#people "), ("TABLE", "#sizes ")):  # the last is short
                there = identifier(prefix + name)
                self.private.execute(f"CREATE {kind} {there} AS SELECT * FROM {HOME}.{there}")
        self.kept = frozenset(scans)
        self.unique = frozenset(name for name in loaded if name not in self._open and self._is_unique(name))
        if self.prepared is not None:
            self.unique |= self.prepared.unique
        self._check_apart(policy, scans)
        self._create_twins()
        if self._later:
            self._seal()

    def _check_apart(self, policy: Policy, names: Iterable[str]) -> None:
        """Rows that are people have different numbers: two of 122 random bits are equal once in an age."""
        for name in names:
            if policy.tables[name].unit == ROW and name not in self.unique:
                raise PolicyError(f'the rows of table "{name}" could not be distinguished', hint="Try again.")

    def _create_twins(self) -> None:
        """An empty table for each table and view that a question can read."""
        schema = identifier(TWINS)
        self.private.execute(f"CREATE SCHEMA {schema}")
        rows = self.private.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' AND table_catalog = 'memory'"
        ).fetchall()
        for name in (identifier(row[0]) for row in rows):
            self.private.execute(f"CREATE TABLE {schema}.{name} AS SELECT * FROM main.{name} LIMIT 0")

    def prepare(self, tables: dict[str, str], record: str) -> None:
        """Write what these SELECTs give of kept tables into the new file, then its record, and let go of it.

        Guarantee: the file has each row of a kept table once.
        Proof: the numbers of rows are compared; a SELECT that gives each row at least once gives it once.
        Reference: semantics 1.4.
        Checked by: laws::each_row_is_prepared_once_whatever_tables_there_are
        """
        for name, sql in tables.items():
            self.private.execute(f"CREATE TABLE {HOME}.{name} AS {sql}")
        for name in (identifier(name) for name in self.kept - self._open):
            sql = f"SELECT (SELECT COUNT(*) FROM {name}) = (SELECT COUNT(*) FROM {HOME}.{name})"
            if self.private.execute(sql).fetchall() != [(True,)]:
                raise EngineError("the rows could not be prepared", hint="Use the policy without preparing its rows.")
        self.private.execute(f"CREATE TABLE {HOME}.{HOME} AS SELECT ? AS record", [record])
        self.private.execute(f"CHECKPOINT {HOME}")
        self.private.execute(f"DETACH {HOME}")

    def _is_unique(self, name: str) -> bool:
        person = identifier("#person")
        sql = f"SELECT COUNT(*) = COUNT(DISTINCT {person}) FROM {identifier(name)}"
        found = self.private.execute(sql).fetchone()
        return bool(found and found[0])

    def people(self, names: Iterable[str]) -> int:
        """How many persons these kept tables have together."""
        there = tuple(names)
        found = self.private.execute(f"SELECT COUNT(*) FROM ({everybody(there)})").fetchone() if there else None
        return int(found[0]) if found else 0

    def same(self, name: str) -> list[str]:
        """The columns of a kept table that are the same in all rows of each person, where somebody has several rows."""
        rows = self.private.execute(f"DESCRIBE {identifier(name)}").fetchall()
        exact = [str(row[0]) for row in rows if str(row[1]) not in ("FLOAT", "DOUBLE")]  # -0 equals 0, and is another
        return [c for c in exact if c != "#person" and name not in self.unique and self._is_same(name, c)]

    def _is_same(self, name: str, column: str) -> bool:
        """A few persons show of most columns that they are not."""
        person, rows, x = identifier("#person"), identifier(name), identifier(column)
        few = f"(SELECT * FROM {rows} WHERE {person} IN (SELECT {person} FROM {rows} LIMIT 1000))"
        alike = f"MIN({x}) IS NOT DISTINCT FROM MAX({x}) AND COUNT({x}) IN (0, COUNT(*))"
        asked = (f"SELECT BOOL_AND(s) FROM (SELECT {alike} AS s FROM {t} GROUP BY {person})" for t in (few, rows))
        return all((found := self.private.execute(sql).fetchone()) and found[0] for sql in asked)

    def counted(self) -> dict[str, tuple[str, ...]]:
        """Tables that are prepared, and what is stored of them, by its names in order."""
        return {} if self.prepared is None else self.prepared.names

    def close(self) -> None:
        """Let go of the data."""
        self.private.close()
        self.public.close()
        for spill in self._spills:
            spill.release()


def _connected(config: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """An empty database. Its time zone is not the machine's, which would decide on the day of a moment."""
    connection = duckdb.connect(":memory:", config=config)
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection


def _memory() -> int:
    """What the engine may take: half of the machine's memory. A question cannot change it."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _dense(people: int, memory: int, threads: int | None) -> int:
    """Up to so many bits whole numbers are grouped in arrays instead of hash tables: as many as these persons' numbers
    need. Each thread has an array, of some 64 bytes a person with three sums: together at most an eighth of the memory.
    """
    room = memory // (512 * (threads or os.cpu_count() or 1))
    return max(12, min((people + 1).bit_length(), room.bit_length() - 1))
