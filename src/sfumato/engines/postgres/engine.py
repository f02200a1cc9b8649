"""The engine of a live PostgreSQL: jobs run where the rows are, and no row leaves the server.

Comes in: a policy with the address of a server. Goes out: an Engine. Public tables are read once, into an embedded
DuckDB that never holds a private row: planning, public sub-queries and what lies above the releases are its work. A job
is handed the public rows that planning has counted; of the server it reads private tables alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa

from sfumato.algebra.column_elements import Elements
from sfumato.algebra.finished_tables import FinishedTable
from sfumato.algebra.job import Job
from sfumato.algebra.table_scans import scan_of
from sfumato.algebra.unit_histogram import Histogram
from sfumato.engines.base import JobRows, Measured, Rows, Say, failure, read_alike
from sfumato.engines.duckdb import DuckDB
from sfumato.engines.postgres import catalog
from sfumato.engines.postgres.dialect import writer
from sfumato.engines.postgres.jobs import Statement, compile_job
from sfumato.engines.postgres.reports import elements_sql, histogram_sql
from sfumato.engines.postgres.scans import public_value
from sfumato.engines.postgres.server import PostgresServer
from sfumato.engines.postgres.source import TEXTUAL, WHOLE, ServerTable, Tables
from sfumato.engines.remote.engine import CompiledJob, RemoteEngine
from sfumato.engines.remote.measuring import Measuring
from sfumato.errors import PolicyError
from sfumato.interrupts import FREE_SECONDS, Slots, current, stopped
from sfumato.policy import Policy, Table, UnitJoin
from sfumato.recent import Recent
from sfumato.types import Exact

_REMEMBERED = 32 * 2**20
"""Bytes of dry runs that are held once, and of compiled jobs."""
_FREE = 4
"""Free statements on the server at the same time; one analyst has half of them at most."""


class PostgreSQL(RemoteEngine):
    """The owner's tables on their server."""

    def __init__(self, policy: Policy) -> None:
        """Look at the catalog, and read public tables."""
        assert policy.source.dsn is not None
        self._server, self._free = PostgresServer(policy.source.dsn), Slots(_FREE, _FREE // 2)
        self._compiled: Recent[CompiledJob[Statement]] = Recent(_REMEMBERED)
        self._tried: Recent[bool] = Recent(_REMEMBERED)
        try:
            self.tables: Tables = {name: catalog.table(self._server, name) for name in policy.tables}
            for name, table in policy.tables.items():
                _check_columns(table, self.tables[name])
            _check_units(policy, self.tables)
            self._keys = _keys(policy, self.tables)
            self._units = _unique_units(policy, self.tables)
            _check_partition(policy)
            public = {name: table for name, table in policy.tables.items() if table.public}
            frames = {name: self._read_public(self.tables[name]) for name in public}
            self._beside = DuckDB(replace(policy, tables=public), frames)
        except self._server.error as error:
            self.close()
            raise failure(error, paid=False) from None
        except BaseException:
            self.close()
            raise

    def _read_public(self, table: ServerTable) -> pa.Table:
        """The rows of a public table: numbers that are not doubles as text, times within the years 1 to 9999."""
        shown = {name: public_value(column) for name, column in table.columns.items()}
        with self._server.reading() as cursor:
            listed = ", ".join(sql for sql, _ in shown.values()) or "1"
            rows = cursor.execute(f"SELECT {listed} FROM {table.place} AS t").fetchall()
        arrays = [pa.array([row[i] for row in rows], kind) for i, (_, kind) in enumerate(shown.values())]
        return pa.table(arrays, list(shown))

    # the source
    def schema(self, table: Table) -> dict[str, str]:
        """The columns of a table with their types, in the policy's words, as the server declares them."""
        return {name: column.word for name, column in self.tables[table.name].columns.items()}

    def check_scan(self, policy: Policy, name: str) -> None:
        """Raise QueryError where a table cannot be scanned as it is declared; no row is read."""
        if policy.tables[name].public:
            self._embedded.check_scan(policy, name)
            return
        scan = scan_of(policy.tables[name], policy, 0)
        writer(self.tables).select(scan, scan.columns)

    def keep(self, policy: Policy, names: Iterable[str]) -> None:
        """Keep public tables as their scans give them; others stay where they are."""
        for name in names:
            if not policy.tables[name].public:
                self.check_scan(policy, name)
        self._embedded.keep(policy, [name for name in names if policy.tables[name].public])

    def views(self) -> dict[str, str]:
        """The tables of the policy that are views, with their queries."""
        return {name: table.view for name, table in self.tables.items() if table.view is not None}

    def measure(self, policy: Policy, say: Say) -> dict[str, Measured]:
        """How far the rows keep to what was declared, for the owner alone."""
        try:
            with self._server.reading() as cursor:
                measuring = Measuring(
                    writer(self.tables), lambda sql: [int(value or 0) for value in cursor.execute(sql).fetchone()]
                )
                stored = [name for name in policy.tables if self.tables[name].view is None]  # a view has no rows itself
                return measuring.tables(policy, stored, say)
        except self._server.error as error:
            raise failure(error, paid=False) from None

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything that is run inside of the block sees the same rows."""
        try:
            with self._server.snapshot():
                yield
        except self._server.error as error:
            raise failure(error) from None

    def marker(self) -> str:
        """What changes whenever a transaction has begun to write or has ended, and never comes again."""
        try:
            with self._server.reading(current(), seconds=FREE_SECONDS) as cursor:
                started, snapshot = cursor.execute(
                    "SELECT pg_postmaster_start_time()::text, pg_current_snapshot()::text"
                ).fetchone()
        except self._server.error as error:
            raise failure(error, paid=False) from None
        return f"{started} {snapshot}"

    # jobs
    def compile(self, job: Job) -> None:
        """Write a job, or raise QueryError where it cannot be; nothing is run."""
        self.compiled(job)

    def compiled(self, job: Job, one_row: frozenset[str] = frozenset()) -> CompiledJob[Statement]:
        """The statements of a job, written once; in the tables of `one_row` nobody has two rows."""
        key = id(job), job, one_row
        written = self._compiled.get(key)
        if written is None:
            written = compile_job(job, self.tables, one_row)
            self._compiled.put(key, written)
        return written

    def identity(self, job: Job) -> str:
        """Never twice the same: rows of a live server change, so that no later numbers are those of earlier ones."""
        self.compiled(job)
        return secrets.token_hex(16)

    def dry_run(self, job: Job, fixed: Mapping[int, FinishedTable]) -> None:
        """Plan a job over its tables, read its patterns, and run it over tables without rows: what its text alone
        breaks is raised here, for free.
        """
        empty = {name: _Empty.of(table) for name, table in self.tables.items()}
        for one_row in dict.fromkeys((frozenset[str](), frozenset(self._units))):  # which one runs is known in the run
            bare = compile_job(job, empty, one_row)
            for statement, without in zip(self.compiled(job, one_row).statements(), bare.statements(), strict=True):
                if self._keys or self._tried.get(statement.text) is None:  # a key to persons may be lost meanwhile
                    self._try(statement, without, fixed)
                    self._tried.put(statement.text, True)

    def _try(self, statement: Statement, without: Statement, fixed: Mapping[int, FinishedTable]) -> None:
        leash = current()
        given = self._parameters(statement, fixed, "salt")
        try:
            with (
                self._free.of("" if leash is None else leash.analyst),
                self._server.reading(leash, seconds=None if leash is None else FREE_SECONDS) as cursor,
            ):
                self._check_keys(cursor, paid=False)
                if statement.salted:  # no row of an empty table is hashed, and some servers do not let md5 be used
                    cursor.execute("SELECT md5($1::text)", ["salt"])
                for pattern in statement.patterns:
                    cursor.execute("SELECT (''::text COLLATE \"C\") ~ $1::text", [pattern])
                cursor.execute(f"EXPLAIN {statement.text}", given)
                cursor.execute(without.text, given)
        except self._server.error as error:
            raise failure(error, paid=False) from None

    def run(self, job: Job, fixed: Mapping[int, FinishedTable], salt: str) -> JobRows:
        """The rows of a job, all of one snapshot."""
        with self.snapshot():
            written = self.compiled(job, self._one_row())
            return written.rows(job, lambda statement, keys: self._paid(statement, fixed, salt, keys))

    def _one_row(self) -> frozenset[str]:
        """The tables whose unit has a unique index in the snapshot of the rows, which has met every row that is seen.

        Either all of them or none: both forms of a job were tried before it was paid for. Nothing that anybody sees
        depends on it, for both give the same numbers.
        """
        if not self._units:
            return frozenset()
        try:
            with self._server.reading() as cursor:
                lost = catalog.not_unique(cursor, frozenset(self._units.values()))
        except self._server.error as error:
            raise failure(error) from None
        return frozenset() if lost else frozenset(self._units)

    def _paid(self, statement: Statement, fixed: Mapping[int, FinishedTable], salt: str, keys: int) -> Rows:
        """Rows as (group, sealed sums). It was paid for: nothing but the end of the server interrupts it."""
        given = self._parameters(statement, fixed, salt)
        try:
            with self._server.reading() as cursor:
                self._check_keys(cursor, paid=True)
                rows = cursor.execute(statement.text, given).fetchall()
        except (self._server.error, MemoryError, UnicodeError) as error:
            raise failure(error) from None
        return [(tuple(map(_key, row[:keys])), Exact(tuple(map(_key, row[keys:])))) for row in rows]

    def _check_keys(self, cursor: Any, *, paid: bool) -> None:
        """Raise where a key that leads to persons is no longer unique in the server.

        The catalog is read in the snapshot of the rows: an index that is there has met every row that is seen. A row
        that led to two persons would count for both, and no limit of one of them would hold for the row.
        """
        lost = catalog.not_unique(cursor, self._keys)
        if lost:
            place = f"{lost[0][0]} ({', '.join(sorted(lost[0][1]))})"
            raise failure(PolicyError(f"{place} is no longer unique in the server"), paid=paid)

    def _parameters(self, statement: Statement, fixed: Mapping[int, FinishedTable], salt: str) -> list[Any]:
        """The hash key, then an array for each column of the public rows that a statement is handed."""
        given: list[Any] = [salt] if statement.salted else []
        for handed in statement.handed:
            columns, count = self.handed_columns(handed, fixed)
            given += [[_sent(value) for value in values] for values in columns] if handed.columns else [count]
        return given

    def histogram(self, of: Histogram) -> Rows:
        """Buckets, and the number of units in each."""
        return self._paid(Statement(histogram_sql(of, self.tables), False, (), ()), {}, "", 1)

    def elements(self, of: Elements) -> Rows:
        """Rows without a key: a value in steps of its grid, and how often it occurs."""
        return self._paid(Statement(elements_sql(of, self.tables), False, (), ()), {}, "", 0)

    def stop(self) -> None:
        """End every run, now and later: the server shuts down."""
        self._server.life.cancel(stopped())
        self._embedded.stop()

    def close(self) -> None:
        """Let go of the data."""
        self._server.close()
        if self._beside is not None:
            self._beside.close()


class _Empty(ServerTable):
    """A table without its rows."""

    @classmethod
    def of(cls, table: ServerTable) -> ServerTable:
        """The same columns, and no row."""
        return cls(table.name, table.schema, table.columns, table.unique, only=table.only)

    @property
    def place(self) -> str:
        """Nothing of the table."""
        return f"(SELECT * FROM {super().place} WHERE FALSE OFFSET 0)"


def _key(value: Any) -> Any:
    """Whole numbers as such: numeric comes as a decimal."""
    return int(value) if isinstance(value, Decimal) else value


def _sent(value: Any) -> Any:
    """A public value as a parameter: whole numbers as text, for they may be of any size."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _check_columns(table: Table, there: ServerTable) -> None:
    missing = [name for name in table.columns if name not in there.columns]
    if missing:
        raise PolicyError(
            f'table "{table.name}" has no column "{missing[0]}" that can be read',
            detail=f"Columns: {', '.join(sorted(there.columns))}.",
            hint="Names must match to the letter; the role needs SELECT; types must be the server's own.",
        )


def _check_units(policy: Policy, tables: Tables) -> None:
    """Units are compared as they are, and a key that leads to a person must be one by the server's own word."""
    private = [t for t in policy.tables.values() if not t.public and tables[t.name].view is None]
    for table in private:
        _check_plain(table, tables)
    units = [(table.name, table.unit) for table in private if isinstance(table.unit, str)]
    for one, other in pairwise(units):
        _check_alike(policy, tables, one, other)
    for table in private:
        unit = table.unit
        if not isinstance(unit, UnitJoin):
            continue
        for column, key in unit.pairs:
            _check_alike(policy, tables, (table.name, column), (unit.table, key))
        if not catalog.is_unique(frozenset(unit.keys), tables[unit.table].unique):
            raise PolicyError(
                f'"{unit.place}" is a key to people, but the server does not enforce that it is unique',
                detail="Rows of a live database change, so checking once is not enough.",
                hint=f"Add a primary key, or CREATE UNIQUE INDEX ON {unit.table} ({', '.join(unit.keys)}).",
            )


def _check_plain(table: Table, tables: Tables) -> None:
    """Refuse a column that names persons, or leads to them, and is of a type that may take two of them for one."""
    unit = table.unit
    named = [(table.name, unit)] if isinstance(unit, str) else []
    if isinstance(unit, UnitJoin):
        named = [end for column, key in unit.pairs for end in ((table.name, column), (unit.table, key))]
    for place, name in named:
        column = tables[place].columns.get(name)
        if column is not None and not column.can_name_persons:
            raise PolicyError(
                f'"{place}.{name}" identifies people, but two values of its type may be equal that are not the same',
                detail=f"On the server it is {column.type}.",
                hint="Identify people by a number, a text, a uuid or a moment.",
            )


def _keys(policy: Policy, tables: Tables) -> frozenset[tuple[str, frozenset[str]]]:
    """The keys that lead to persons: full names of tables, and their columns."""
    joins = [table.unit for table in policy.tables.values() if isinstance(table.unit, UnitJoin)]
    return frozenset((tables[one.table].full, frozenset(one.keys)) for one in joins if tables[one.table].view is None)


def _unique_units(policy: Policy, tables: Tables) -> dict[str, tuple[str, frozenset[str]]]:
    """Tables whose unit the server keeps unique, by name, with their full names and units."""
    units = {t.name: t.unit for t in policy.tables.values() if isinstance(t.unit, str) and tables[t.name].view is None}
    return {
        name: (tables[name].full, frozenset({unit}))
        for name, unit in units.items()
        if catalog.is_unique(frozenset({unit}), tables[name].unique)
    }


def _check_partition(policy: Policy) -> None:
    """Who is in which cell of people must not change, or a person could be charged in one cell after another."""
    if policy.privacy.partition is not None:
        raise PolicyError(
            "a partition needs rows that do not change",
            detail="In a live database a person may move from one cell to another and be charged in part in each.",
            hint="Leave partition out, or serve files.",
        )


def _check_alike(policy: Policy, tables: Tables, one: tuple[str, str], other: tuple[str, str]) -> None:
    columns = [tables[table].columns[column] for table, column in (one, other)]
    first, second = columns
    same = (first.type, first.digits) == (second.type, second.digits)
    if not same and not (
        first.family == second.family and first.family in (WHOLE, TEXTUAL) and read_alike(policy, one, other)
    ):
        raise PolicyError(
            f'"{one[0]}.{one[1]}" and "{other[0]}.{other[1]}" identify people, but have different types',
            detail=f"On the server they are {first.type} and {second.type}.",
            hint="Identifiers are compared as they are: store both in the same type.",
        )
