"""How far the rows keep to what was declared: read once, when a data version is admitted, for the owner's eyes alone.

Comes in: the policy with its types, and a cursor. Goes out: counts. Nothing of it reaches an analyst: declarations are
enforced in every query, whether the rows keep to them or not (semantics 1.4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Any

from sfumato.engines.base import Measured, Say
from sfumato.engines.postgres.relations import Writer
from sfumato.engines.postgres.scans import enforced
from sfumato.engines.postgres.source import ServerTable, SourceColumn, Tables
from sfumato.engines.postgres.spelling import literal, number, text
from sfumato.policy import Policy, PolicyColumn, Table
from sfumato.sql.bind.sources import scan_of
from sfumato.sql.column_facts import facts_of
from sfumato.sql.tree import Facts


def measure(policy: Policy, tables: Tables, cursor: Any, say: Say) -> dict[str, Measured]:
    """Every table that is stored; a view has the rows of its tables, and is not measured by itself."""
    found = {}
    for name, table in policy.tables.items():
        there = tables[name]
        if there.view is None:
            say(f"reading {name}")
            found[name] = _public(cursor, there) if table.public else _private(cursor, table, there, policy, tables)
    return found


def _one(cursor: Any, sql: str) -> list[int]:
    return [int(value or 0) for value in cursor.execute(sql).fetchone()]


def _public(cursor: Any, there: ServerTable) -> Measured:
    return Measured(_one(cursor, f"SELECT COUNT(*) FROM {there.place}")[0])


def _private(cursor: Any, table: Table, there: ServerTable, policy: Policy, tables: Tables) -> Measured:
    most = table.rows_per_unit if isinstance(table.rows_per_unit, int) else None
    unit, source = Writer(tables).unit_of(scan_of(table, policy, 0))
    people = f"SELECT u, COUNT(*) AS n FROM (SELECT {unit} AS u FROM {source}) AS q WHERE u IS NOT NULL GROUP BY u"
    over = f"FILTER (WHERE n > {'NULL' if most is None else most})"
    less = f"n - {0 if most is None else most}"
    rows, persons, owned, highest, many, theirs, beyond = _one(
        cursor,
        f"SELECT (SELECT COUNT(*) FROM {there.place}), COUNT(*), SUM(n), MAX(n), COUNT(*) {over}, SUM(n) {over},"
        f" SUM({less}) {over} FROM ({people}) AS p",
    )
    counted = list(_counts(table, there))
    columns: dict[str, dict[str, int]] = {name: {} for name in table.columns}
    if counted:
        shown = ", ".join(f"COUNT(*) FILTER (WHERE {condition})" for _, _, condition in counted)
        numbers = _one(cursor, f"SELECT {shown} FROM {there.place} AS t")
        for (name, kind, _), value in zip(counted, numbers, strict=True):
            columns[name][kind] = value
    removed = theirs if most == 1 else beyond  # where it is 1, a person with more rows is left out (semantics 3.1d)
    return Measured(rows, persons, rows - owned, highest, table.rows_per_unit, many, removed, columns)


def _counts(table: Table, there: ServerTable) -> Iterator[tuple[str, str, str]]:
    """(column, what is counted, condition), those that can be of each column."""
    for name, column in table.columns.items():
        source = there.columns[name].raw("t")
        yield name, "nulls", f"{source} IS NULL"
        if column.type in (None, "text"):
            bare = f"{source}::text"
            if column.values is not None:
                yield name, "outside", f"{bare} NOT IN ({', '.join(text(str(one)) for one in column.values)})"
            elif column.max_length is not None and table.unit != name:
                yield name, "too_long", f"length({bare}) > {column.max_length}"
            continue
        value = _value(column, there.columns[name])
        yield name, "unreadable", f"{source} IS NOT NULL AND {value} IS NULL"
        if column.low is not None and column.high is not None:
            yield name, "below", f"{value} < {_literal(column.low)}"
            yield name, "above", f"{value} > {_literal(column.high)}"
        if column.values is not None:
            yield name, "outside", f"{value} NOT IN ({', '.join(_literal(one) for one in column.values)})"


def _value(column: PolicyColumn, there: SourceColumn) -> str:
    """A value in its declared type without its bounds; a number as a double."""
    kind = "double" if column.type in ("integer", "decimal", "double") else column.type
    bare = replace(column, type=kind, low=None, high=None, grid=None, values=None)
    return enforced(bare, there, facts_of(bare))


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return str(value).upper()
    return literal(value, Facts("date")) if isinstance(value, date) else number(float(value))
