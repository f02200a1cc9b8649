"""An engine that runs jobs where the rows are, with public rows in an embedded DuckDB beside it.

Comes in: what an engine's own compiler made of a job. Goes out: the rows of the job, and everything that is asked of
public and released rows: the embedded engine never holds a private row, and nothing here reads one.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.aggregates.base import CHOICE
from sfumato.algebra.column_elements import Elements
from sfumato.algebra.finished_tables import FinishedTable
from sfumato.algebra.job import Job
from sfumato.algebra.post_processing import PostProcessing
from sfumato.algebra.public_rows import KeyList, TableValues
from sfumato.algebra.relations import Fixed, HeldRows, Relation
from sfumato.algebra.tree import Node
from sfumato.algebra.unit_histogram import Histogram
from sfumato.engines.base import JobRows, Rows
from sfumato.engines.duckdb import DuckDB
from sfumato.engines.remote.selects import PassedRows
from sfumato.policy import Policy, PublicNumbers, Table
from sfumato.sql.release.release_plan import ReleasePlan

StatementT = TypeVar("StatementT")
"""What an engine runs at once."""


@dataclass(frozen=True)
class CompiledJob(Generic[StatementT]):
    """The statements of a job: sums by group, people by open key, and one for each aggregate that is not a sum."""

    sums: StatementT | None
    people: StatementT | None
    extras: tuple[StatementT, ...]

    def statements(self) -> Iterator[StatementT]:
        """All of them."""
        yield from (statement for statement in (self.sums, self.people) if statement is not None)
        yield from self.extras

    def rows(self, job: Job, run: Callable[[StatementT, int], Rows]) -> JobRows:
        """The rows of the job; `run` gives those of a statement whose first columns, so many, are its group."""
        keys = len(job.kept)
        sums = [] if self.sums is None else run(self.sums, keys)
        people = [] if self.people is None else run(self.people, len(job.chosen))
        if is_one_pass(job):  # the last of the sums is the number of people
            last, order = sum(len(bundle.parts) for bundle in job.bundles), [job.kept.index(i) for i in job.chosen]
            people = [(tuple(group[i] for i in order), row.some(last, 1)) for group, row in sums]
        widths = [keys + (AGGREGATES[aggregate.name].measure == CHOICE) for aggregate in job.extras]
        extras = [run(statement, width) for statement, width in zip(self.extras, widths, strict=True)]
        return JobRows(sums, people, tuple(extras))


def is_one_pass(job: Job) -> bool:
    """Whether a person's groups are her open keys, so that one statement has the people as well as the sums."""
    return bool(job.bundles) and bool(job.chosen) and set(job.chosen) == set(job.kept)


class RemoteEngine:
    """What engines share whose public rows are beside them."""

    _beside: DuckDB | None = None

    @property
    def _embedded(self) -> DuckDB:
        assert self._beside is not None
        return self._beside

    def handed_columns(self, handed: PassedRows, fixed: Mapping[int, FinishedTable]) -> tuple[list[list[Any]], int]:
        """The columns of public rows that a statement is handed, and how many rows they are."""
        of = handed.relation
        if isinstance(of, Fixed) and of.kept is None and of.number in fixed:
            table = fixed[of.number]
            return [table.values(name) for name in handed.columns], len(table.values(next(iter(table.kinds))))
        rows = self._embedded.public_rows(of, handed.columns)
        return [[row[i] for row in rows] for i in range(len(handed.columns))], len(rows)

    def salt(self) -> str:
        """The hash key by which a person's open keys are kept: a new one each time."""
        return secrets.token_hex(16)

    def first_digest(self, policy: Policy, noise: str, cuts: tuple[ReleasePlan, ...]) -> str | None:  # noqa: ARG002  nothing to look for
        """There were no answers of these engines before the normal form."""
        return None

    def first_text(self, of: Histogram | Elements) -> str | None:  # noqa: ARG002  nothing to look for
        """Nor keys of that time."""
        return None

    # public rows, and above the releases
    def public_numbers(self, table: Table) -> dict[str, PublicNumbers]:
        """The numbers of a public table: the lowest and the highest value, and the grid of an exact type."""
        return self._embedded.public_numbers(table)

    def stored(self) -> frozenset[str]:
        """The tables that are kept: public ones."""
        return self._embedded.stored()

    def fix(self, relation: Relation) -> HeldRows:
        """Public rows that private rows will meet, computed once; kept as long as the handle."""
        return self._embedded.fix(relation)

    def public_rows(self, relation: Relation, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Columns of a public table or of kept public rows, as private rows meet them."""
        return self._embedded.public_rows(relation, names)

    def images(self, keys: KeyList) -> list[tuple[Any, ...]]:
        """The different images of a list of keys, in order."""
        return self._embedded.images(keys)

    def count_values(self, table: TableValues) -> int:
        """How many rows these values of a public table are."""
        return self._embedded.count_values(table)

    def most_alike(self, relation: Relation, nodes: Sequence[Node]) -> int:
        """The largest number of alike rows of a public relation, as private rows will meet it."""
        return self._embedded.most_alike(relation, nodes)

    def rows(self, relation: Relation, nodes: Sequence[Node], most: int) -> list[tuple[Any, ...]]:
        """What these expressions are in the rows of a public relation."""
        return self._embedded.rows(relation, nodes, most)

    def fixed_table(self, fixed: Fixed, released: tuple[FinishedTable, ...]) -> FinishedTable:
        """Public rows made of released tables, computed once."""
        return self._embedded.fixed_table(fixed, released)

    def finish(self, last: PostProcessing, released: tuple[FinishedTable, ...]) -> list[tuple[Any, ...]]:
        """The rows of what lies above the releases."""
        return self._embedded.finish(last, released)

    def rehearse(self, last: PostProcessing, released: tuple[FinishedTable, ...]) -> list[tuple[Any, ...]]:
        """The same over stand-ins."""
        return self._embedded.rehearse(last, released)
