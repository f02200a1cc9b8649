"""Questions about public tables alone: they hold nobody's data, so the answer is exact and free.

Comes in: a Question about a public table. Goes out: SQL for the engine that holds public tables only, and what its
columns are; what lies above is worked out by `public.finish`, as for released tables.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.errors import QueryError
from sfumato.sql.bind import Question
from sfumato.sql.emit import double, expression
from sfumato.sql.expressions import facts_of
from sfumato.sql.scan import enforced
from sfumato.sql.tree import DOUBLE, Aggregate, Column, Facts, Node, children, columns_of
from sfumato.words import identifier

NAMES = ("count", "sum", "avg", "min", "max")
"""Aggregates over public rows."""


@dataclass(frozen=True)
class Plain:
    """A question about public rows: engine SQL, its columns in order, and the names of the aggregates among them."""

    question: Question
    sql: str
    columns: tuple[tuple[str, Facts], ...]
    names: dict[Aggregate, str]


def plain(question: Question) -> Plain:
    """How a question about a public table is answered."""
    nodes = [node for _, node in question.items] + [s.node for s in question.order]
    nodes += [question.having] if question.having is not None else []
    aggregates: list[Aggregate] = []
    for node in nodes:
        _collect(node, aggregates)
    grouped = bool(question.keys or aggregates)
    names = {aggregate: f"_a{i}" for i, aggregate in enumerate(aggregates)}
    shown: list[tuple[str, Facts, str]] = [(name, node.facts, expression(node)) for name, node in question.keys]
    shown += [(names[a], a.facts, _aggregate(a)) for a in aggregates]
    if not grouped:
        used: dict[str, Column] = {}
        for node in nodes:
            used |= columns_of(node)
        shown = [(name, column.facts, identifier(name)) for name, column in used.items()]
        shown = shown or [("_one", Facts("integer", grid=None), "1")]
    table = question.table
    scan = ", ".join(
        f"{enforced(column, identifier(name), facts_of(column))} AS {identifier(name)}"
        for name, column in table.columns.items()
    )
    where = f" WHERE {expression(question.where)}" if question.where is not None else ""
    columns = ", ".join(f"{sql} AS {identifier(name)}" for name, _, sql in shown)
    sql = f"SELECT {columns} FROM (SELECT {scan} FROM {identifier(table.name)}){where}"
    if question.keys:
        keys = ", ".join(str(i + 1) for i in range(len(question.keys)))
        sql += f" GROUP BY {keys} ORDER BY {keys}"
    return Plain(question, sql, tuple((name, facts) for name, facts, _ in shown), names)


def _collect(node: Node, found: list[Aggregate]) -> None:
    if isinstance(node, Aggregate):
        if node not in found:
            found.append(node)
        return
    for child in children(node):
        _collect(child, found)


def _aggregate(aggregate: Aggregate) -> str:
    if aggregate.name not in NAMES:
        raise QueryError(f"{aggregate.name.upper()} is not supported over public tables", position=aggregate.position)
    if aggregate.arg is None:
        inner = "*"
    elif aggregate.name == "avg" or aggregate.facts.kind == DOUBLE:
        inner = double(aggregate.arg)
    else:
        inner = expression(aggregate.arg)
    where = f" FILTER (WHERE {expression(aggregate.where)})" if aggregate.where is not None else ""
    return f"{aggregate.name.upper()}({inner}){where}"
