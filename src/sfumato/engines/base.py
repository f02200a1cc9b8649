"""What an engine is: it holds the owner's tables, compiles jobs and runs them.

Comes in: jobs, bound queries and finished tables; no text of any dialect. Goes out: keys in the clear, sums sealed as
Exact. Whatever an engine says when it fails goes to the operator's log; the analyst sees one fixed sentence
(semantics 6.2).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from sfumato.algebra.column_elements import Elements
from sfumato.algebra.finished_tables import FinishedTable
from sfumato.algebra.job import Job
from sfumato.algebra.post_processing import PostProcessing
from sfumato.algebra.public_rows import PublicRows
from sfumato.algebra.relations import Fixed
from sfumato.algebra.unit_histogram import Histogram
from sfumato.errors import EngineError, QueryError
from sfumato.policy import Policy, PublicNumbers, Table
from sfumato.sql.release.release_plan import ReleasePlan
from sfumato.types import Exact

OPERATOR = logging.getLogger("sfumato.operator")
Rows = list[tuple[tuple[Any, ...], Exact]]
"""Groups in the clear, each with its sealed numbers."""
Say = Callable[[str], object]


LONGEST_SQL = 1_000_000
"""Characters of SQL that is written for one query: what is read often is written often, and an engine takes hundreds of
bytes for each character of a list, which its own limit of memory does not count."""


def read_alike(policy: Policy, *columns: tuple[str, str]) -> bool:
    """Whether identifiers that are stored in different types are read alike: as whole numbers or texts they are, while
    an engine rounds numbers of another width in another way.
    """
    return all(policy.tables[table].columns[column].type in ("integer", "text", None) for table, column in columns)


def too_deep(position: int = 0) -> QueryError:
    """The refusal of an expression whose text would be repeated within itself, and grow with each repetition."""
    return QueryError(
        "this expression is too long when its functions are written out",
        position=position,
        hint="Nest fewer functions; for AT TIME ZONE, declare narrower bounds of the timestamp.",
        sqlstate="54001",
    )


def bounded_sql(text: str, times: int = 1) -> str:
    """A part of a statement, which stands in it so many times; refused before it is written that often."""
    if len(text) * times > LONGEST_SQL:
        raise QueryError(
            f"this query has more than {LONGEST_SQL:,} characters when its sub-queries are written out",
            sqlstate="54001",
            hint="Read long lists fewer times: put them into a public table and join it, or split the query.",
        )
    return text


@dataclass(frozen=True)
class JobRows:
    """What a job returns: sums by group, the number of people by open key, the rows of each aggregate of `extras`."""

    sums: Rows
    people: Rows
    extras: tuple[Rows, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """What the rows of one table are like, for the owner alone. Of a public table only the rows are counted.

    `without_person` are rows that are dropped, `most_rows` those of the person who has most, `over` the persons with
    more than are `declared`, `removed` how many rows' worth of theirs a query over all rows would leave out.
    """

    rows: int
    persons: int | None = None
    without_person: int = 0
    most_rows: int = 0
    declared: int | str | None = None
    over: int = 0
    removed: int = 0
    columns: Mapping[str, Mapping[str, int]] | None = None

    @property
    def unique_unit(self) -> bool:
        """Nobody has two rows here."""
        return self.persons is not None and self.most_rows <= 1


class Engine(PublicRows, Protocol):
    """One connection to the owner's data."""

    def compile(self, job: Job) -> None:
        """Write the job in the engine's own language, or raise QueryError where it cannot be; nothing is run."""

    def identity(self, job: Job) -> str:
        """A text that two jobs share only where this engine computes the same numbers for both, on every database."""

    def dry_run(self, job: Job, fixed: Mapping[int, FinishedTable]) -> None:
        """Run a job on empty tables of the same types: what its text alone breaks is raised here, for free."""

    def run(self, job: Job, fixed: Mapping[int, FinishedTable], salt: str) -> JobRows:
        """The rows of a job. `fixed` are public rows made of earlier releases, `salt` is the hash key for keys."""

    def fixed_table(self, fixed: Fixed, released: tuple[FinishedTable, ...]) -> FinishedTable:
        """Public rows made of released tables, computed once."""

    def finish(self, last: PostProcessing, released: tuple[FinishedTable, ...]) -> list[tuple[Any, ...]]:
        """The rows of what lies above the releases, in the clear: values of the items, then what intervals need."""

    def rehearse(self, last: PostProcessing, released: tuple[FinishedTable, ...]) -> list[tuple[Any, ...]]:
        """The same over stand-ins; an engine may remember the rows."""

    def histogram(self, of: Histogram) -> Rows:
        """Buckets, and the number of units in each."""

    def elements(self, of: Elements) -> Rows:
        """Rows without a key: a value in steps of its grid, and how often it occurs."""

    def first_digest(self, policy: Policy, noise: str, cuts: tuple[ReleasePlan, ...]) -> str | None:
        """The key under which versions before the normal form stored an answer, where this engine was there then."""

    def first_text(self, of: Histogram | Elements) -> str | None:
        """What stood for a histogram or elements in such keys."""

    def schema(self, table: Table) -> dict[str, str]:
        """The columns of a table with their types, in the policy's words, as its source declares them."""

    def public_numbers(self, table: Table) -> dict[str, PublicNumbers]:
        """The numbers of a public table: the lowest and the highest value, and the grid of an exact type."""

    def check_scan(self, policy: Policy, name: str) -> None:
        """Raise QueryError where a table cannot be scanned as it is declared; no row is read."""

    def keep(self, policy: Policy, names: Iterable[str]) -> None:
        """Keep these tables as their scans give them, if that saves work: what a query sees stays the same."""

    def stored(self) -> frozenset[str]:
        """The tables that are kept so."""

    def measure(self, policy: Policy, say: Say) -> dict[str, Measured]:
        """How far the rows keep to what was declared, for the owner alone."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Everything that is run inside of the block sees the same rows."""

    def marker(self) -> str:
        """A text that changes whenever rows may have changed, and never comes again; "" where rows never change."""

    def salt(self) -> str:
        """The hash key by which a person's open keys are kept: a new one each time, or that of the prepared rows."""

    def views(self) -> dict[str, str]:
        """The tables of the policy that are views in the source, with their queries."""

    def stop(self) -> None:
        """End every run, now and later: the server shuts down."""

    def close(self) -> None:
        """Let go of the data."""


def failure(error: Exception, *, paid: bool = True) -> EngineError:
    """The one sentence for every cause; the cause goes to the operator."""
    OPERATOR.error("engine failure: %s", error)
    return EngineError(
        "the engine could not run this query",
        detail="The charge stands." if paid else None,
        hint="Ask the owner: the operator's log has the cause.",
    )
