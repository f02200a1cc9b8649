"""The embedded engine: it runs jobs and questions over the tables of a policy in one DuckDB process.

Comes in: jobs, bound queries, finished tables. Goes out: rows. What is loaded is the business of `loading`.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from sfumato.algebra import group_keys as key_lists
from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.aggregates.base import CHOICE
from sfumato.algebra.column_elements import Elements
from sfumato.algebra.finished_tables import FinishedTable
from sfumato.algebra.job import Job
from sfumato.algebra.post_processing import PostProcessing
from sfumato.algebra.public_rows import KeyList, TableValues
from sfumato.algebra.relations import Fixed, Relation, fixed_name
from sfumato.algebra.tree import INTEGER, Node
from sfumato.algebra.unit_histogram import Histogram
from sfumato.engines.base import OPERATOR, JobRows, Measured, Rows, Say, failure
from sfumato.engines.duckdb import fast_plans, first_digest, fixed_rows
from sfumato.engines.duckdb.fast_plans import Physical
from sfumato.engines.duckdb.fetching import fetch_bounded
from sfumato.engines.duckdb.finishing import Temporary, finish, temporaries, temporary
from sfumato.engines.duckdb.fixed_rows import FixedRows, FixedStore
from sfumato.engines.duckdb.jobs import EngineStatement
from sfumato.engines.duckdb.loading import TWINS, Tables
from sfumato.engines.duckdb.measuring import measure
from sfumato.engines.duckdb.planning import PlanningRows, Run, most_alike
from sfumato.engines.duckdb.prepared_file import PreparedFile
from sfumato.engines.duckdb.relations import ENDLESS, TOO_LONG, reading, select, stored_scans
from sfumato.engines.duckdb.row_counts import TableKnowledge
from sfumato.engines.duckdb.slices import fetch
from sfumato.engines.duckdb.unit_reports import elements_sql, histogram_sql
from sfumato.errors import EngineError, QueryError, SfumatoError
from sfumato.interrupts import FREE_SECONDS, CancelScope, Slots, Stopped, current, stopped, watched
from sfumato.policy import Policy, PublicNumbers, Table
from sfumato.recent import Recent
from sfumato.sql.release.release_plan import ReleasePlan
from sfumato.types import Exact

_FREE = max(2, os.cpu_count() or 1)
"""Free runs at the same time, each with one thread; one analyst has half of them at most."""
_REMEMBERED = 16 * 2**20
"""Bytes of dry runs that are held once, and of the rows of those above the releases."""
_ROOM = 32 * 2**20
"""Bytes of public rows that are kept at most."""


class DuckDB:
    """The owner's tables in one DuckDB process, read only; public ones in an engine of their own, beside it."""

    def __init__(
        self,
        policy: Policy,
        frames: dict[str, Any] | None = None,
        threads: int | None = None,
        *,
        prepared: PreparedFile | None = None,
        into: Path | None = None,
        later: bool = False,
    ) -> None:
        """Load the source, as `Tables` does."""
        self.tables = Tables(policy, frames or {}, threads, prepared=prepared, into=into, later=later)
        self._private, self._public = self.tables.private, self.tables.public
        self._fixed = FixedStore(self._private)
        self._life, self._free = CancelScope(), Slots(_FREE, _FREE // 2)
        self.known = TableKnowledge()
        self.forget()

    def forget(self) -> None:
        """Let go of what was read of public tables and of what was tried; it is read and tried again when needed."""
        self._planning = PlanningRows(_Looks(self.run_public), _Looks(self._list_keys))
        self._tried: Recent[bool] = Recent(_REMEMBERED)
        self._rehearsed: Recent[list[tuple[Any, ...]]] = Recent(_REMEMBERED)

    # tables
    def schema(self, table: Table) -> dict[str, str]:
        """The columns of a table with their types, in the policy's words, as its source declares them."""
        return self.tables.schema(table)

    def public_numbers(self, table: Table) -> dict[str, PublicNumbers]:
        """The numbers of a public table: the lowest and the highest value, and the grid of an exact type."""
        return self.tables.public_numbers(table)

    def check_scan(self, policy: Policy, name: str) -> None:
        """Raise QueryError where a table cannot be scanned as it is declared; no row is read."""
        stored_scans(policy, [name])

    def keep(self, policy: Policy, names: Iterable[str]) -> None:
        """Keep each table as its scan gives it: domains are enforced once, when the data are loaded, not each time."""
        self.tables.keep(policy, names)
        self.known = TableKnowledge(self.tables.unique, self.tables.counted(), _Looks(self._look))

    def stored(self) -> frozenset[str]:
        """The tables that are kept as their scans give them."""
        return self.tables.kept

    def views(self) -> dict[str, str]:
        """The tables of the policy that are views, with their queries."""
        return dict(self.tables.views)

    def salt(self) -> str:
        """The hash key by which a person's open keys are kept: a new one each time, or that of the prepared rows."""
        prepared = self.tables.prepared
        return secrets.token_hex(16) if prepared is None else prepared.salt

    # jobs
    def compile(self, job: Job) -> None:
        """Write the plain form of a job, once, or raise QueryError; what is known of rows is not used."""
        fast_plans.plain_form(job)

    def identity(self, job: Job) -> str:
        """The statements of the plain form: the same text over the same rows gives the same numbers."""
        return "\n".join(statement.text for statement in fast_plans.plain_form(job).statements())

    def dry_run(self, job: Job, fixed: Mapping[int, FinishedTable]) -> None:
        """Run the plain form of a job on empty tables of the same types: what its text alone breaks is raised here.

        The same statement beside tables of the same types is tried once.
        """
        tables = _all_columns(fixed)
        for statement in fast_plans.plain_form(job).statements():
            key = (statement.text, *(table.create for table in tables))
            if self._tried.get(key) is None:
                self._try(statement, tables)
                self._tried.put(key, True)

    def _try(self, statement: EngineStatement, tables: list[Temporary]) -> None:
        with self._free_cursor(self._private) as cursor:
            _create(cursor, tables)
            cursor.execute(f"SET search_path = '{TWINS},main'")
            cursor.execute(statement.text, _parameters(statement, "salt")).fetchall()

    def run(self, job: Job, fixed: Mapping[int, FinishedTable], salt: str) -> JobRows:
        """The rows of a job, by the physical plan that fits these very rows; where that cannot be chosen or its text
        cannot run, by the plain form: that was tried before the charge, so no failure comes of a text alone.
        """
        known, tables = (
            replace(self.known, sizes={number: _size(of) for number, of in fixed.items()}),
            _all_columns(fixed),
        )
        try:
            physical = fast_plans.physical(job, known)
        except Stopped:
            raise
        except (
            SfumatoError,
            RecursionError,
        ):  # a look at public rows failed, or a deep text met a short stack
            return self._rows(job, fast_plans.plain_form(job), tables, salt)
        try:
            return self._rows(job, physical, tables, salt)
        except EngineError:
            if self._runs_empty(physical, tables):
                raise
            return self._rows(job, fast_plans.plain_form(job), tables, salt)

    def _runs_empty(self, physical: Physical, tables: list[Temporary]) -> bool:
        """Whether these statements run on empty tables."""
        try:
            for statement in physical.statements():
                self._try(statement, tables)
        except EngineError:
            return False
        return True

    def _rows(self, job: Job, physical: Physical, tables: list[Temporary], salt: str) -> JobRows:
        keys = len(job.kept)
        sums = [] if physical.sums is None else self._paid(physical.sums, tables, salt, keys)
        people: Rows = []
        if job.chosen and physical.people is not None:
            people = self._paid(physical.people, tables, salt, len(job.chosen))
        elif job.chosen:  # the last of the sums is the number of people
            last = sum(len(bundle.parts) for bundle in job.bundles)
            people = [(group, row.some(last, 1)) for group, row in sums]
        widths = [keys + (AGGREGATES[aggregate.name].measure == CHOICE) for aggregate in job.extras]
        extras = [self._paid(one, tables, salt, width) for one, width in zip(physical.extras, widths, strict=True)]
        return JobRows(sums, people, tuple(extras))

    def _paid(self, statement: EngineStatement, tables: list[Temporary], salt: str, keys: int) -> Rows:
        """Rows as (group, sealed sums). It was paid for: nothing but the end of the server interrupts it."""
        try:
            with self._private.cursor() as cursor, watched(cursor.interrupt, self._life):
                _create(cursor, tables)
                rows = fetch(cursor, statement, keys, _parameters(statement, salt))
        except (duckdb.Error, MemoryError, RuntimeError) as error:
            raise failure(error) from None
        return [(tuple(row[:keys]), Exact(tuple(row[keys:]))) for row in rows]

    def histogram(self, of: Histogram) -> Rows:
        """Buckets, and the number of units in each."""
        return self._paid(EngineStatement(histogram_sql(of)), [], "", 1)

    def elements(self, of: Elements) -> Rows:
        """Rows without a key: a value in steps of its grid, and how often it occurs."""
        return self._paid(EngineStatement(elements_sql(of)), [], "", 0)

    def measure(self, policy: Policy, say: Say) -> dict[str, Measured]:
        """How far the rows keep to what was declared, for the owner alone."""
        tables = [table for name, table in policy.tables.items() if name not in self.tables.views]
        return measure(policy, tables, self._private, say)

    def first_digest(self, policy: Policy, noise: str, cuts: tuple[ReleasePlan, ...]) -> str | None:
        """The key under which versions before the normal form stored an answer."""
        return first_digest.first_digest(policy, noise, cuts)

    def first_text(self, of: Histogram | Elements) -> str | None:
        """What stood for a histogram or elements in such keys."""
        return histogram_sql(of) if isinstance(of, Histogram) else elements_sql(of)

    # public rows
    def fix(self, relation: Relation) -> FixedRows:
        """Public rows that private rows will meet, computed once; kept as long as the handle."""
        return self._fixed.fix(select(relation, relation.columns), self._computed)

    def images(self, keys: KeyList) -> list[tuple[Any, ...]]:
        """The different images of a list of keys, in order."""
        return self._planning.images(keys)

    def count_values(self, table: TableValues) -> int:
        """How many rows these values of a public table are."""
        return self._planning.count_values(table)

    def most_alike(self, relation: Relation, nodes: Sequence[Node]) -> int:
        """The largest number of alike rows of a public relation, as private rows will meet it."""
        return int(self._look(most_alike(relation, nodes))[0][0])

    def rows(self, relation: Relation, nodes: Sequence[Node], most: int) -> list[tuple[Any, ...]]:
        """What these expressions are in the rows of a public relation."""
        return self._planning.rows(relation, nodes, most)

    def _computed(self, sql: str) -> tuple[list[tuple[Any, ...]], list[tuple[str, str]], int]:
        """Public rows, in the engine of public tables, whose memory and threads are bounded."""
        with self._free_cursor(self._public) as cursor:
            found = cursor.execute(sql)
            columns = [(str(column[0]), str(column[1])) for column in found.description or ()]
            rows, size = fetch_bounded(found, fixed_rows.MOST_BYTES, fixed_rows.MOST_ROWS)
            return rows, columns, size

    def _look(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of public tables and of kept rows, as private rows meet them."""
        with self._free_cursor(self._private) as cursor:
            return [tuple(row) for row in fetch_bounded(cursor.execute(sql))[0]]

    def _list_keys(self, sql: str) -> list[tuple[Any, ...]]:
        """Keys of groups, from public tables and declared domains: as many bytes as groups may have, with or without a
        client.
        """
        with self._free_cursor(self._public) as cursor:
            try:
                return fetch_bounded(cursor.execute(sql), key_lists.MOST_BYTES, cell=key_lists.VALUE)[0]
            except QueryError:
                raise key_lists.too_long() from None

    def public_rows(self, relation: Relation, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Columns of a public table or of kept public rows, by their names in order, as private rows meet them."""
        return self._look(select(relation, names))

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything that is run inside of the block sees the same rows: they do not change here."""
        yield

    def marker(self) -> str:
        """Rows that were loaded do not change."""
        return ""

    # above the releases
    def fixed_table(self, fixed: Fixed, released: tuple[FinishedTable, ...]) -> FinishedTable:
        """Public rows made of released tables, computed once."""
        names = sorted(fixed.columns)
        with reading() as reads:
            sql = select(fixed.below, names)
        rows = self.run_public(sql, temporaries(released, reads))
        columns = {name: (fixed.columns[name].facts.kind, [row[i] for row in rows]) for i, name in enumerate(names)}
        columns = columns or {"_": (INTEGER, [1 for _ in rows])}
        return FinishedTable(fixed_name(fixed), {name: (kind, partial(list, v)) for name, (kind, v) in columns.items()})

    def finish(self, last: PostProcessing, released: tuple[FinishedTable, ...]) -> list[tuple[Any, ...]]:
        """The rows above the releases: this connection never held a private one."""
        select = finish(last)
        return self.run_public(select.text, temporaries(released, select.reads))

    def rehearse(self, last: PostProcessing, released: tuple[FinishedTable, ...]) -> list[tuple[Any, ...]]:
        """The same over stand-ins: the same statement over the same stand-ins is run once."""
        select = finish(last)
        tables = temporaries(released, select.reads)
        text = select.text.replace(TOO_LONG, "NULL")  # over stand-ins a recursion may not end, but over numbers it may
        key = (text, *((table.create, tuple(map(tuple, table.values))) for table in tables))
        rows = self._rehearsed.get(key)
        if rows is None:
            rows = self.run_public(text, tables)
            self._rehearsed.put(key, rows)
        return rows

    def run_public(self, sql: str, tables: Iterable[Temporary] = ()) -> list[tuple[Any, ...]]:
        """Rows of public and finished tables, in the clear: this connection never held a private one.

        Work for a client of a server has limits of time, memory and bytes, and ends when the client leaves.
        """
        with self._free_cursor(self._public) as cursor:
            _create(cursor, tables)
            rows = cursor.execute(sql)
            found = rows.fetchall() if current() is None else fetch_bounded(rows)[0]
            return [tuple(row) for row in found]

    @contextmanager
    def _free_cursor(self, connection: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor for statements that nobody paid for: work for a client of a server has its limits."""
        leash = current()
        try:
            if leash is None:
                with connection.cursor() as cursor, watched(cursor.interrupt, self._life):
                    yield cursor
                return
            with (
                self._free.of(leash.analyst),
                connection.cursor() as cursor,
                watched(cursor.interrupt, leash, self._life, seconds=FREE_SECONDS),
            ):
                yield cursor
        except duckdb.OutOfMemoryException as error:
            raise no_memory(error) from None
        except (duckdb.Error, MemoryError, RuntimeError) as error:
            if isinstance(error, duckdb.InvalidInputException) and ENDLESS in str(error):
                raise QueryError(
                    f"this recursion over released rows has {ENDLESS}",
                    sqlstate="54000",
                    hint="Let its condition end it sooner; asking again for the same releases is free.",
                ) from None
            raise failure(error, paid=False) from None

    def stop(self) -> None:
        """End every run, now and later: the server shuts down."""
        self._life.cancel(stopped())

    def close(self) -> None:
        """Let go of the data."""
        self.tables.close()


class _Looks:
    """Rows of public tables, which do not change: read once for each statement as long as there is room for them."""

    def __init__(self, run: Run) -> None:
        self._run, self._seen = run, Recent[list[tuple[Any, ...]]](_ROOM)

    def __call__(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        rows = self._seen.get(sql)
        if rows is None:
            rows = self._run(sql)
            self._seen.put(sql, rows)
        return rows


def _parameters(statement: EngineStatement, salt: str) -> dict[str, str] | None:
    return {"salt": salt} if statement.salted else None


def _all_columns(fixed: Mapping[int, FinishedTable]) -> list[Temporary]:
    return [temporary(table, set(table.kinds)) for table in fixed.values()]


def _size(table: FinishedTable) -> int:
    return len(table.values(next(iter(table.kinds))))


def _create(cursor: duckdb.DuckDBPyConnection, tables: Iterable[Temporary]) -> None:
    """Put the finished tables that a statement reads beside it, on a connection of its own."""
    for table in tables:
        cursor.execute(table.create, list(table.values))


def no_memory(error: Exception) -> QueryError:
    """A free run that needs more memory than there is for all of them; the engine's words go to the operator."""
    OPERATOR.warning("a free query ran out of memory: %.500s", error)
    return QueryError(
        "this query needs more memory than free queries may take",
        sqlstate="53200",
        hint="Reduce the query: fewer rows, fewer joined tables, a smaller result.",
    )
