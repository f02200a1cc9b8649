"""The SQL of what planning asks: lists of keys, and how many public rows are alike.

Comes in: the records of `algebra/public_rows.py`. Goes out: rows of public tables and declared domains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

from sfumato.algebra.public_rows import DeclaredValues, KeyList, TableValues
from sfumato.algebra.relations import HeldRows, Relation
from sfumato.algebra.tree import DATE, TIMESTAMP, Node, columns_of
from sfumato.engines.duckdb.expressions import expression, literal
from sfumato.engines.duckdb.relations import select
from sfumato.types import identifier

_EPOCH = (date(1970, 1, 1).toordinal() - 1) * 86_400
"""1970, in seconds from the first day on."""
Run = Callable[[str], list[tuple[Any, ...]]]
"""Where SQL over public tables runs."""


class PlanningRows:
    """Public rows, by SQL that `run` runs; without a keeper public sub-queries are part of what is run."""

    def __init__(self, run: Run, listing: Run | None = None) -> None:
        self._run = run
        self._listing = run if listing is None else listing
        """Where lists of keys are read, which have a limit of their own."""

    def images(self, keys: KeyList) -> list[tuple[Any, ...]]:
        """The different images of a list of keys, in order."""
        return [tuple(row) for row in self._listing(_images(keys))]

    def count_values(self, table: TableValues) -> int:
        """How many rows these values of a public table are."""
        return int(self._run(f"SELECT COUNT(*) FROM {_table(table)}")[0][0])

    def most_alike(self, relation: Relation, nodes: Sequence[Node]) -> int:
        """The largest number of rows of a public relation that have the same values of these expressions."""
        return int(self._run(most_alike(relation, nodes))[0][0])

    def rows(self, relation: Relation, nodes: Sequence[Node], most: int) -> list[tuple[Any, ...]]:
        """What these expressions are in the rows of a public relation, of so many rows at most."""
        return [tuple(row) for row in self._run(rows_of(relation, nodes, most))]

    def fix(self, relation: Relation) -> HeldRows:
        """Not to be had here: only an engine with tables keeps rows."""
        raise NotImplementedError(type(relation).__name__)


def most_alike(relation: Relation, nodes: Sequence[Node]) -> str:
    """The SELECT of the largest number of rows that have the same values of these expressions."""
    wanted = {name for node in nodes for name in columns_of(node)}
    by = f" GROUP BY {', '.join(expression(node) for node in nodes)}" if nodes else ""
    counted = f"SELECT COUNT(*) AS n FROM ({select(relation, wanted)}) AS q{by}"
    return f"SELECT COALESCE(MAX(n), 0) FROM ({counted}) AS c"


def rows_of(relation: Relation, nodes: Sequence[Node], most: int) -> str:
    """The SELECT of expressions over the rows of a relation."""
    wanted = {name for node in nodes for name in columns_of(node)}
    shown = ", ".join(f"{expression(node)} AS v{i}" for i, node in enumerate(nodes))
    return f"SELECT {shown} FROM ({select(relation, wanted)}) AS q LIMIT {most}"


def _images(keys: KeyList) -> str:
    sources = [_table(one) if isinstance(one, TableValues) else _declared(one) for one in keys.sources]
    condition = " AND ".join(expression(part) for part in keys.conditions) or "TRUE"
    places = "".join(f", {identifier('#' + name)}" for name in keys.reads)
    shown = ", ".join(f"{expression(node)} AS k{i}" for i, node in enumerate(keys.keys))
    source = " CROSS JOIN ".join(sources) or "(SELECT 1)"
    by = ", ".join(f"k{i}" for i in range(len(keys.keys)))
    order = ", ".join(f"min({identifier('#' + name)})" for name in keys.reads) or "1"
    inner = f"SELECT {shown}{places} FROM {source} WHERE {condition}"
    return f"SELECT {by} FROM ({inner}) GROUP BY {by} ORDER BY {order}"


def _table(table: TableValues) -> str:
    """The different rows of a public table in these columns, with the place of each value."""
    names = ", ".join(identifier(c.name) for c in table.columns)
    rows = f"SELECT DISTINCT {names} FROM ({select(table.scan, [c.name for c in table.columns])})"
    if table.missing:
        rows = f"({rows}) UNION SELECT {', '.join('NULL' for _ in table.columns)}"
    ranks = ", ".join(
        f"dense_rank() OVER (ORDER BY {identifier(c.name)} NULLS LAST) AS {identifier('#' + c.name)}"
        for c in table.columns
    )
    return f"(SELECT {names}, {ranks} FROM ({rows}))"


def _declared(of: DeclaredValues) -> str:
    """A column's declared values with their places; NULL comes last."""
    facts, name = of.column.facts, of.column.name
    if of.values is not None:
        rows = [f"({literal(value, facts)}, {place})" for place, value in enumerate(of.values)]
        values = f"SELECT v, p FROM (VALUES {', '.join(rows or ['(NULL, 0)'])}) AS d(v, p)"
        values += "" if rows else " WHERE FALSE"
    else:
        first = f"i + {of.low}"
        if facts.kind == DATE:
            first = f"{literal(date.fromordinal(of.low), facts)} + i::INTEGER"
        if facts.kind == TIMESTAMP:
            first = f"make_timestamp((i * {of.step} + {of.low} - {_EPOCH}) * 1000000)"
        values = f"SELECT {first} AS v, i AS p FROM range({of.count}) AS r(i)"
    null = f" UNION ALL SELECT NULL, {of.count}" if facts.nullable else ""
    return f"(SELECT v AS {identifier(name)}, p AS {identifier('#' + name)} FROM ({values}{null}))"
