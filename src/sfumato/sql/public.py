"""Above the cut: ordinary SQL over released tables, in a DuckDB that never held a private row.

Comes in: released columns and the expressions over them. Goes out: rows in the order asked for. Everything here is
post-processing and free. The same embedded engine works out which groups a question has, from declared domains alone.
"""

from __future__ import annotations

import threading
from datetime import date
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import duckdb

from sfumato.errors import QueryError
from sfumato.policy import Table
from sfumato.sql.emit import expression, literal, sort_key
from sfumato.sql.tree import BOOLEAN, DATE, DECIMAL, DOUBLE, INTEGER, Column, Facts, Node, Sorted, columns_of, conjuncts
from sfumato.words import identifier

MOST_GROUPS = 1_000_000


def engine() -> duckdb.DuckDBPyConnection:
    """A fresh in-memory engine without access to anything outside."""
    connection = duckdb.connect(":memory:", config={"threads": 1, "enable_external_access": False})
    connection.execute("SET memory_limit = '1GB'")
    connection.execute("SET lock_configuration = true")
    return connection


_thread = threading.local()


def _engine() -> duckdb.DuckDBPyConnection:
    if not hasattr(_thread, "connection"):
        _thread.connection = engine()
    return _thread.connection  # type: ignore[no-any-return]


# which groups there are
def groups(table: Table, nodes: list[Node], where: Node | None) -> list[tuple[Any, ...]]:
    """Every group that a question can have, in list order, from declared domains alone (semantics 3.6a).

    Keys that read the same columns are worked out together: all combinations of the columns' values, and NULL, that
    pass those parts of WHERE that read nothing else.
    """
    together: list[tuple[list[int], set[str]]] = []
    for i, node in enumerate(nodes):
        indices, reads = [i], set(columns_of(node))
        for part in [part for part in together if part[1] & reads]:
            together.remove(part)
            indices, reads = part[0] + indices, part[1] | reads
        together.append((indices, reads))
    lists = [(indices, _images(table, [nodes[i] for i in indices], where)) for indices, _ in together]
    total = prod(len(images) for _, images in lists)
    if total > MOST_GROUPS:
        raise QueryError(
            f"this question has {total:,} groups, more than {MOST_GROUPS:,}",
            hint="Group by fewer columns, or by wider classes such as date_trunc('month', day).",
        )
    return _combined(len(nodes), lists)


def _combined(count: int, lists: list[tuple[list[int], list[tuple[Any, ...]]]]) -> list[tuple[Any, ...]]:
    """All combinations, sorted by the keys in their order, each in the order of its own list."""
    ranks: list[dict[Any, int]] = [{} for _ in range(count)]
    for indices, images in lists:
        for image in images:
            for i, value in zip(indices, image, strict=True):
                ranks[i].setdefault(value, len(ranks[i]))
    for rank in ranks:
        if None in rank:
            rank[None] = len(rank) + 1
    result = []
    for combination in product(*(images for _, images in lists)):
        row: list[Any] = [None] * count
        for (indices, _), image in zip(lists, combination, strict=True):
            for i, value in zip(indices, image, strict=True):
                row[i] = value
        result.append(tuple(row))
    return sorted(result, key=lambda row: [ranks[i][value] for i, value in enumerate(row)])


def _images(table: Table, nodes: list[Node], where: Node | None) -> list[tuple[Any, ...]]:
    """The values that these keys take over all declared values of the columns that they read, in the order of these."""
    used: dict[str, Column] = {}
    for node in nodes:
        used |= columns_of(node)
    domains = [_domain(table, column, nodes[0].position) for column in used.values()]
    size = prod(count for _, count in domains)
    if size > MOST_GROUPS:
        raise QueryError(
            f"working out these groups takes {size:,} combinations, more than {MOST_GROUPS:,}",
            position=nodes[0].position,
            hint="Group by fewer columns, or declare narrower bounds.",
        )
    applied = [part for part in conjuncts(where) if columns_of(part) and set(columns_of(part)) <= set(used)]
    condition = " AND ".join(expression(part) for part in applied) or "TRUE"
    places = "".join(f", {identifier('#' + name)}" for name in used)
    shown = ", ".join(f"{expression(node)} AS k{i}" for i, node in enumerate(nodes))
    source = " CROSS JOIN ".join(domain for domain, _ in domains) or "(SELECT 1)"
    keys = ", ".join(f"k{i}" for i in range(len(nodes)))
    order = ", ".join(f"min({identifier('#' + name)})" for name in used) or "1"
    inner = f"SELECT {shown}{places} FROM {source} WHERE {condition}"
    rows = _engine().execute(f"SELECT {keys} FROM ({inner}) GROUP BY {keys} ORDER BY {order}").fetchall()
    return [tuple(row) for row in rows]


def _domain(table: Table, column: Column, position: int) -> tuple[str, int]:
    """A column's declared values with their places, as a sub-query, and how many they are; NULL comes last."""
    declared, facts = table.columns[column.name], column.facts
    if declared.values is not None or facts.kind == BOOLEAN:
        listed = declared.values if declared.values is not None else (False, True)
        rows = [f"({literal(value, facts)}, {place})" for place, value in enumerate(listed)]
        count, values = len(rows), f"SELECT v, p FROM (VALUES {', '.join(rows)}) AS d(v, p)"
    elif facts.low is not None and facts.high is not None and (facts.exact or facts.kind == DATE):
        grid = facts.grid or Fraction(1)
        low, high = int(facts.low / grid), int(facts.high / grid)
        count, first = high - low + 1, f"i + {low}"
        if facts.kind == DATE:
            first = f"{literal(date.fromordinal(low), facts)} + i::INTEGER"
        values = f"SELECT {first} AS v, i AS p FROM range({min(count, MOST_GROUPS + 1)}) AS r(i)"
    else:
        raise QueryError(
            f'the values of "{column.name}" are not declared, so its groups are not known',
            position=position,
            hint="Group by a column with declared values or bounds; groups of open columns are not supported yet.",
        )
    null = f" UNION ALL SELECT NULL, {count}" if facts.nullable else ""
    select = f"SELECT v AS {identifier(column.name)}, p AS {identifier('#' + column.name)} FROM ({values}{null})"
    return f"({select})", count + facts.nullable


# what is shown
def finish(
    released: dict[str, tuple[Facts, list[Any]]],
    items: list[Node],
    *,
    having: Node | None,
    order: tuple[Sorted, ...],
    limit: int | None,
    offset: int,
    distinct: bool,
) -> list[tuple[Any, ...]]:
    """The rows of the answer: each item's value, and last the released row that it came from (-1 under DISTINCT)."""
    connection = _engine()
    count = len(next(iter(released.values()))[1]) if released else 1
    _fill(connection, released, count)
    try:
        shown = ", ".join(f"{expression(item)} AS {identifier(f'i{n}')}" for n, item in enumerate(items))
        sorting = ", ".join(sort_key(s.node, s.descending, s.nulls_first) for s in order)
        inner = f'SELECT {shown}, "#" FROM released' + (f" WHERE {expression(having)}" if having is not None else "")
        rest = (f" LIMIT {limit}" if limit is not None else "") + (f" OFFSET {offset}" if offset else "")
        if distinct and any(s.node not in items for s in order):
            raise QueryError("with SELECT DISTINCT, ORDER BY must name what is selected", sqlstate="42P10")
        if distinct:
            names = ", ".join(identifier(f"i{n}") for n in range(len(items)))
            once = f'SELECT {names}, min("#") AS place FROM ({inner}) GROUP BY {names}'
            by = [Sorted(Column(f"i{items.index(s.node)}", s.node.facts), s.descending, s.nulls_first) for s in order]
            sorting = "".join(f"{sort_key(s.node, s.descending, s.nulls_first)}, " for s in by)
            sql = f"SELECT {names}, -1 FROM ({once}) ORDER BY {sorting}place{rest}"
        else:
            sql = inner + f' ORDER BY {sorting + ", " if sorting else ""}"#"{rest}'
        return [tuple(row) for row in connection.execute(sql).fetchall()]
    except duckdb.Error as error:
        raise QueryError(
            "what is asked of the released numbers cannot be computed",
            detail=str(error).split("\n", maxsplit=1)[0],
            sqlstate="22000",
        ) from None
    finally:
        connection.execute("DROP TABLE IF EXISTS released")


_COLUMN_TYPES = {INTEGER: "HUGEINT", DECIMAL: "HUGEINT", DOUBLE: "DOUBLE", DATE: "DATE", BOOLEAN: "BOOLEAN"}


def _fill(connection: duckdb.DuckDBPyConnection, released: dict[str, tuple[Facts, list[Any]]], count: int) -> None:
    """The released columns as a table; the place of each row is its last column."""
    shown = [
        f"unnest(${i}::{_COLUMN_TYPES.get(facts.kind, 'VARCHAR')}[]) AS {identifier(name)}"
        for i, (name, (facts, _)) in enumerate(released.items(), start=1)
    ]
    places = f'unnest(range({count})) AS "#"'
    lists = [values for _, values in released.values()]
    connection.execute(f"CREATE OR REPLACE TEMP TABLE released AS SELECT {', '.join([*shown, places])}", lists)
