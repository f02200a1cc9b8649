"""Above the release: ordinary SQL over released tables and public ones.

Comes in: the post-processing of a query. Goes out: the SELECT that computes it, and the finished tables that it reads.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.algebra.finished_tables import FinishedTable
from sfumato.algebra.post_processing import PostProcessing
from sfumato.algebra.tree import Column, columns_of
from sfumato.engines.duckdb.expressions import expression, sort_key
from sfumato.engines.duckdb.relations import Reads, engine_type, ordering, reading, select
from sfumato.types import identifier


@dataclass(frozen=True)
class Finish:
    """A SELECT, and the finished tables and columns that it reads."""

    text: str
    reads: Reads


def finish(last: PostProcessing) -> Finish:
    """The SELECT that computes the values of each row."""
    relation, nodes = last.relation, last.values
    places = [Column(name, relation.columns[name].facts) for name in relation.shape.places]
    read = {name for node in nodes for name in columns_of(node)}
    read |= {name for s in last.order for name in columns_of(s.node)} | {place.name for place in places}
    shown = [f"{expression(node)} AS i{n}" for n, node in enumerate(nodes)]
    by = [sort_key(s.node, s.descending, s.nulls_first) for s in ordering(last.order)]
    by += [sort_key(place, False, False) for place in places]
    tail = f" ORDER BY {', '.join(by)}" if by else ""
    tail += f" LIMIT {last.limit}" if last.limit is not None else ""
    tail += f" OFFSET {last.offset}" if last.offset else ""
    with reading() as reads:
        rows = select(relation, read)
    return Finish(f"SELECT {', '.join(shown)} FROM ({rows}) AS q{tail}", reads)


@dataclass(frozen=True)
class Temporary:
    """A finished table on its way to the engine: the statement that creates it, and the values of its columns."""

    create: str
    values: tuple[list[object], ...]


def temporary(table: FinishedTable, columns: set[str]) -> Temporary:
    """The statement that creates a finished table with these columns; the lists of values are its parameters.

    One without columns has the values of its first column, for its number of rows matters.
    """
    names = sorted(columns) or list(table.kinds)[:1]
    shown = ", ".join(
        f"unnest(${i}::{engine_type(table.kinds[name])}[]) AS {identifier(name)}"
        for i, name in enumerate(names, start=1)
    )
    create = f"CREATE OR REPLACE TEMP TABLE {identifier(table.name)} AS SELECT {shown}"
    return Temporary(create, tuple(table.values(name) for name in names))


def temporaries(tables: tuple[FinishedTable, ...], reads: Reads) -> list[Temporary]:
    """Those of the tables that a statement reads."""
    return [temporary(table, reads[table.name]) for table in tables if table.name in reads]
