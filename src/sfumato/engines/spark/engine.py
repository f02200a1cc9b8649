"""The engine over Spark: jobs run where the rows are; groups with their sums come to the driver, and no private row.

Comes in: a policy with a master and tables. Goes out: an Engine. Public tables are read once, into an embedded DuckDB
that never holds a private row: planning, public sub-queries and what lies above the releases are its work. A job is
handed the public rows that planning has counted; the driver sends them to every worker.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
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
from sfumato.engines.remote.engine import CompiledJob, RemoteEngine
from sfumato.engines.remote.measuring import Measuring
from sfumato.engines.remote.selects import PassedRows
from sfumato.engines.spark.dialect import writer
from sfumato.engines.spark.files import stamp_of
from sfumato.engines.spark.jobs import SALT, SparkStatement, compile_job
from sfumato.engines.spark.reports import elements_of, histogram_of
from sfumato.engines.spark.scans import public_value
from sfumato.engines.spark.session import SparkServer
from sfumato.engines.spark.source import SparkTable, SparkTables
from sfumato.engines.spark.spelling import identifier, text, type_of
from sfumato.engines.spark.tables import open_table
from sfumato.errors import PolicyError, SfumatoError
from sfumato.interrupts import FREE_SECONDS, Slots, current, stopped
from sfumato.policy import Policy, Table, UnitJoin
from sfumato.recent import Recent
from sfumato.types import Exact

_REMEMBERED = 32 * 2**20
"""Bytes of dry runs that are held once, and of compiled jobs."""
_FREE = 2
"""Free statements at the same time; one analyst has half of them."""
ARROW = {
    "BIGINT": pa.int64(),
    "DECIMAL(38, 0)": pa.decimal128(38, 0),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "BOOLEAN": pa.bool_(),
    "STRING": pa.string(),
}


class Spark(RemoteEngine):
    """The owner's tables where Spark reads them."""

    def __init__(self, policy: Policy) -> None:
        """Look at schemas, read public tables, and look whether keys that lead to persons are keys."""
        assert policy.source.dsn is not None
        assert isinstance(policy.source.files, dict)
        self._server, self._free = SparkServer(policy.source.dsn), Slots(_FREE, _FREE // 2)
        self._compiled: Recent[CompiledJob[SparkStatement]] = Recent(_REMEMBERED)
        self._tried: Recent[bool] = Recent(_REMEMBERED)
        self._opened = secrets.token_hex(16)
        try:
            self.tables: SparkTables = {
                name: open_table(
                    self._server, name, policy.source.files[name], _read(policy, table), public=table.public
                )
                for name, table in policy.tables.items()
            }
            self._stamps = {name: stamp_of(table) for name, table in self.tables.items()}
            for name, table in policy.tables.items():
                _check_columns(policy, table, self.tables[name])
            _check_units(policy, self.tables)
            _check_partition(policy)
            self._keys = _keys(policy)
            self._check_keys(paid=False)
            public = {name: table for name, table in policy.tables.items() if table.public}
            frames = {name: self._read_public(self.tables[name]) for name in public}
            self._beside = DuckDB(replace(policy, tables=public), frames)
        except SfumatoError:
            self.close()
            raise
        except Exception as error:  # noqa: BLE001  whatever Spark says
            self.close()
            raise failure(error, paid=False) from None

    def _read_public(self, table: SparkTable) -> pa.Table:
        """The rows of a public table: numbers that are not doubles as text, times within the years 1 to 9999."""
        shown = {name: public_value(column) for name, column in table.columns.items()}
        found = self._server.cells(
            f"SELECT {', '.join(sql for sql, _ in shown.values()) or '1'} FROM {table.place} AS t"
        )
        numbers = {pa.date32(): pa.int32(), pa.timestamp("us"): pa.int64()}
        arrays = [
            found.column(i).combine_chunks().cast(numbers.get(kind, kind)).cast(kind)
            for i, (_, kind) in enumerate(shown.values())
        ]
        return pa.table(arrays, list(shown))

    # the source
    def schema(self, table: Table) -> dict[str, str]:
        """The columns of a table with their types, in the policy's words, as Spark declares them."""
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
        """None: a view of a catalog is refused when it is opened."""
        return {}

    def measure(self, policy: Policy, say: Say) -> dict[str, Measured]:
        """How far the rows keep to what was declared, for the owner alone."""
        try:
            return Measuring(writer(self.tables), self._one_row).tables(policy, policy.tables, say)
        except SfumatoError:
            raise
        except Exception as error:  # noqa: BLE001  whatever Spark says
            raise failure(error, paid=False) from None

    def _one_row(self, sql: str) -> list[int]:
        return [int(column[0].as_py() or 0) for column in self._server.cells(sql).columns]

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything that is run inside of the block sees the files that were there when the gateway was opened.

        Where files are on this machine, a run whose files have changed meanwhile fails.
        """
        yield

    def _check_files(self, *, paid: bool) -> None:
        changed = [name for name, table in self.tables.items() if self._stamps[name] != stamp_of(table)]
        if changed:
            raise failure(PolicyError(f'the files of "{changed[0]}" have changed since they were opened'), paid=paid)

    def marker(self) -> str:
        """What changes whenever files have changed; where they are not on this machine, it is new each time."""
        stamps = [(name, stamp_of(table)) for name, table in sorted(self.tables.items())]
        if all(table.files for table in self.tables.values()):
            return hashlib.sha256(f"{self._opened} {stamps}".encode()).hexdigest()
        return secrets.token_hex(16)

    # jobs
    def compile(self, job: Job) -> None:
        """Write a job, or raise QueryError where it cannot be; nothing is run."""
        self.compiled(job)

    def compiled(self, job: Job) -> CompiledJob[SparkStatement]:
        """The statements of a job, written once."""
        key = id(job), job
        found = self._compiled.get(key)
        if found is None:
            found = compile_job(job, self.tables)
            self._compiled.put(key, found)
        return found

    def identity(self, job: Job) -> str:
        """Never twice the same: rows may change where they are."""
        self.compiled(job)
        return secrets.token_hex(16)

    def dry_run(self, job: Job, fixed: Mapping[int, FinishedTable]) -> None:
        """Run a job over its tables without their rows: what its text alone breaks is raised here, for free."""
        bare = compile_job(job, {name: replace(table, empty=True) for name, table in self.tables.items()})
        leash = current()
        for statement in bare.statements():
            if self._tried.get(statement.text) is None:
                with self._free.of("" if leash is None else leash.analyst):
                    self._run(statement, fixed, "salt", paid=False)
                self._tried.put(statement.text, True)

    def run(self, job: Job, fixed: Mapping[int, FinishedTable], salt: str) -> JobRows:
        """The rows of a job."""
        self._check_files(paid=True)
        self._check_keys(paid=True)
        found = self.compiled(job).rows(job, lambda statement, keys: self._paid(statement, fixed, salt, keys))
        self._check_files(paid=True)
        return found

    def _paid(self, statement: SparkStatement, fixed: Mapping[int, FinishedTable], salt: str, keys: int) -> Rows:
        """Rows as (group, sealed sums). It was paid for: nothing but the end of the server interrupts it."""
        rows = self._run(statement, fixed, salt, paid=True)
        return [(row[:keys], Exact(row[keys:])) for row in rows]

    def _run(
        self, statement: SparkStatement, fixed: Mapping[int, FinishedTable], salt: str, *, paid: bool
    ) -> list[tuple[Any, ...]]:
        leash = None if paid else current()
        try:
            given = {identifier(one.name): self._rows_of(one, fixed) for one in statement.handed}
            with self._server.handed(given) as views:
                sql = statement.text.replace(SALT, text(salt))
                for name, view in views.items():
                    sql = sql.replace(name, f"`{view}`")
                found = self._server.cells(sql, leash, seconds=FREE_SECONDS if leash is not None else None)
        except SfumatoError:
            raise
        except Exception as error:  # noqa: BLE001  whatever Spark says
            raise failure(error, paid=paid) from None
        columns = [column.to_pylist() for column in found.columns]
        typed = [_typed(values, kind) for values, kind in zip(columns, statement.kinds, strict=False)]
        typed += [[_whole(value) for value in values] for values in columns[len(typed) :]]
        return list(zip(*typed, strict=True))

    def _rows_of(self, handed: PassedRows, fixed: Mapping[int, FinishedTable]) -> pa.Table:
        columns, count = self.handed_columns(handed, fixed)
        if not handed.columns:
            return pa.table([pa.array([1] * count, pa.int64())], ["_"])
        kinds = [ARROW[type_of(handed.relation.columns[name].facts)] for name in handed.columns]
        arrays = [pa.array([sent(v, k) for v in values], k) for values, k in zip(columns, kinds, strict=True)]
        return pa.table(arrays, [identifier(name).strip("`") for name in handed.columns])

    def _check_keys(self, *, paid: bool) -> None:
        """Raise where a key that leads to persons is none: a row that led to two persons would count for both.

        Nothing keeps it unique, so it is looked at when the gateway is opened and, unless the files are on this machine
        and have not changed, before every run.
        """
        if paid and all(self.tables[name].files for name, _ in self._keys):
            return
        for name, keys in sorted(self._keys):
            columns, place = [self.tables[name].columns[key].raw("t") for key in keys], self.tables[name].place
            known = " AND ".join(f"{column} IS NOT NULL" for column in columns)
            twice = f"SELECT 1 AS k FROM {place} AS t WHERE {known} GROUP BY {', '.join(columns)}"
            found = self._server.cells(f"SELECT COUNT(*) AS n FROM ({twice} HAVING COUNT(*) > 1) AS q")
            if found.column(0)[0].as_py():
                error = PolicyError(
                    f'"{name}.{", ".join(keys)}" leads to people, but its values are not unique',
                    hint="Name a column that has each value once.",
                )
                raise failure(error) if paid else error

    def histogram(self, of: Histogram) -> Rows:
        """Buckets, and the number of units in each."""
        return self._paid(histogram_of(of, self.tables), {}, "", 1)

    def elements(self, of: Elements) -> Rows:
        """Rows without a key: a value in steps of its grid, and how often it occurs."""
        return self._paid(elements_of(of, self.tables), {}, "", 0)

    def stop(self) -> None:
        """End every run, now and later: the server shuts down."""
        self._server.life.cancel(stopped())
        self._embedded.stop()

    def close(self) -> None:
        """Let go of the data."""
        self._server.close()
        if self._beside is not None:
            self._beside.close()


def _whole(value: Any) -> Any:
    """Whole numbers as such: those of 38 digits come as decimals."""
    return int(value) if isinstance(value, Decimal) else value


def _typed(values: list[Any], kind: str) -> list[Any]:
    """A column of groups; days and moments came as whole numbers."""
    if kind == "DATE":
        return [None if v is None else date(1970, 1, 1) + timedelta(v) for v in values]
    if kind == "TIMESTAMP":
        first = datetime(1970, 1, 1)  # noqa: DTZ001  times have no zone here
        return [None if v is None else first + timedelta(microseconds=v) for v in values]
    return [_whole(value) for value in values]


def sent(value: Any, kind: pa.DataType) -> Any:
    """A public value on its way to Spark."""
    if value is not None and pa.types.is_decimal(kind):
        return Decimal(int(value))
    if value is not None and pa.types.is_timestamp(kind):
        return value.replace(tzinfo=UTC)
    return value


def _read(policy: Policy, table: Table) -> list[str]:
    """The columns of a table that are read: those that are declared, its unit, and keys that lead to it."""
    unit = [table.unit] if isinstance(table.unit, str) else [c for c, _ in table.unit.pairs] if table.unit else []
    return [*table.columns, *unit, *(key for name, keys in _keys(policy) if name == table.name for key in keys)]


def _check_columns(policy: Policy, table: Table, there: SparkTable) -> None:
    missing = [name for name in _read(policy, table) if name not in there.columns]
    if missing:
        raise PolicyError(
            f'table "{table.name}" has no column "{missing[0]}"',
            detail=f"Columns: {', '.join(sorted(there.columns))}.",
            hint="Names must match to the letter.",
        )


def _check_units(policy: Policy, tables: SparkTables) -> None:
    """Units are compared as they are: of one type everywhere."""
    private = [table for table in policy.tables.values() if not table.public]
    units = [(table.name, table.unit) for table in private if isinstance(table.unit, str)]
    pairs = list(pairwise(units))
    pairs += [
        ((table.name, column), (table.unit.table, key))
        for table in private
        if isinstance(table.unit, UnitJoin)
        for column, key in table.unit.pairs
    ]
    for name, key in sorted({end for pair in pairs for end in pair} | set(units)):
        if not tables[name].columns[key].can_name_persons:
            raise PolicyError(
                f'"{name}.{key}" identifies people, but its type has equal values that are not identical',
                detail=f"In Spark it is {tables[name].columns[key].type}.",
                hint="Identify people by a number, a text or a timestamp.",
            )
    for (first, one), (other, two) in pairs:
        columns = [tables[first].columns[one], tables[other].columns[two]]
        a, b = columns
        alike = (
            a.family == b.family and a.word in ("integer", "text") and read_alike(policy, (first, one), (other, two))
        )
        if a.type != b.type and not alike:
            raise PolicyError(
                f'"{first}.{one}" and "{other}.{two}" identify people, but their types differ',
                detail=f"In Spark they are {a.type} and {b.type}.",
                hint="Identifiers are compared as they are: store both in the same type.",
            )


def _keys(policy: Policy) -> frozenset[tuple[str, tuple[str, ...]]]:
    """The keys that lead to persons: tables, and their columns."""
    joins = [table.unit for table in policy.tables.values() if isinstance(table.unit, UnitJoin)]
    return frozenset((one.table, one.keys) for one in joins)


def _check_partition(policy: Policy) -> None:
    """Who is in which cell of people must not change, or a person could be charged in one cell after another."""
    if policy.privacy.partition is not None:
        raise PolicyError(
            "a partition needs rows that do not change",
            detail="Where Spark reads them a person may move from one cell to another, and be charged in each.",
            hint='Leave partition out, or serve files with engine = "duckdb".',
        )
