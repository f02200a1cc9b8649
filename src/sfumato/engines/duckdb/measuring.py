"""How far the rows keep to what was declared: read once, when a data version is admitted, for the owner's eyes alone.

Comes in: the policy with its types, and a connection that has the rows. Goes out: counts. Nothing of it reaches an
analyst: declarations are enforced in every question, whether the rows keep to them or not (semantics 1.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import Any

import duckdb

from sfumato.engines.base import OPERATOR, Measured, Say
from sfumato.errors import EngineError
from sfumato.policy import Policy, PolicyColumn, Table, UnitJoin
from sfumato.types import identifier, string

KINDS = ("nulls", "unreadable", "below", "above", "outside", "too_long")
"""What is counted of a column: missing; not of its type; below and above its bounds; not in its list; cut."""


def measure(
    policy: Policy, tables: Iterable[Table], connection: duckdb.DuckDBPyConnection, say: Say
) -> dict[str, Measured]:
    """Every table that is stored; a view has the rows of its tables, and is not measured by itself."""
    found = {}
    for table in tables:
        say(f"reading {table.name}")
        found[table.name] = _public(connection, table) if table.public else _private(connection, table, policy)
    return found


def _public(connection: duckdb.DuckDBPyConnection, table: Table) -> Measured:
    return Measured(_one(connection, f"SELECT COUNT(*) FROM {identifier(table.name)}")[0])


def _private(connection: duckdb.DuckDBPyConnection, table: Table, policy: Policy) -> Measured:
    most = table.rows_per_unit if isinstance(table.rows_per_unit, int) else None
    rows, persons, owned, highest, over, theirs, beyond = _one(connection, _people(table, policy, most))
    counted = list(_counts(table))
    columns: dict[str, dict[str, int]] = {name: {} for name in table.columns}
    if counted:
        shown = ", ".join(f"COUNT(*) FILTER ({condition})" for _, _, condition in counted)
        numbers = _one(connection, f"SELECT {shown} FROM {identifier(table.name)} AS t")
        for (name, kind, _), number in zip(counted, numbers, strict=True):
            columns[name][kind] = number
    removed = theirs if most == 1 else beyond  # where it is 1, a person with more rows is left out (semantics 3.1d)
    return Measured(rows, persons, rows - owned, highest, table.rows_per_unit, over, removed, columns)


def _one(connection: duckdb.DuckDBPyConnection, sql: str) -> list[int]:
    """One row of counts."""
    try:
        with connection.cursor() as cursor:
            row = cursor.execute(sql).fetchone() or ()
    except (duckdb.Error, MemoryError, RuntimeError) as error:
        OPERATOR.error("measuring failed: %s", error)
        hint = "The operator's log in the state directory has the cause."
        raise EngineError("the engine could not read the rows", hint=hint) from None
    return [int(value or 0) for value in row]


def _people(table: Table, policy: Policy, most: int | None) -> str:
    """Rows, persons, rows that have one; the most rows of a person, and how many persons and rows are beyond."""
    limit = "NULL" if most is None else str(most)
    unit, source = _unit(table, policy)
    people = f"SELECT u, COUNT(*) AS n FROM (SELECT {unit} AS u FROM {source}) WHERE u IS NOT NULL GROUP BY u"
    over = f"FILTER (n > {limit})"
    return (  # no WITH: its name would hide a table of the owner's
        f"SELECT (SELECT COUNT(*) FROM {identifier(table.name)}), COUNT(*), SUM(n), MAX(n),"
        f" COUNT(*) {over}, SUM(n) {over}, SUM(n - {limit}) {over} FROM ({people})"
    )


def _unit(table: Table, policy: Policy) -> tuple[str, str]:
    """The person of a row as the scan attaches her, and a FROM that keeps rows without one."""
    source, step, near = f"{identifier(table.name)} AS t", table, "t"
    while isinstance(step.unit, UnitJoin):
        far = f"{near}k"
        source += f" LEFT JOIN {identifier(step.unit.table)} AS {far}"
        on = [f"{near}.{identifier(column)} = {far}.{identifier(key)}" for column, key in step.unit.pairs]
        source += f" ON {' AND '.join(on)}"
        step, near = policy.tables[step.unit.table], far
    return f"{near}.{identifier(str(step.unit))}", source


def _counts(table: Table) -> Iterator[tuple[str, str, str]]:
    """(column, what is counted, condition), those that can be of each column."""
    for name, column in table.columns.items():
        source = f"t.{identifier(name)}"
        yield name, "nulls", f"{source} IS NULL"
        value = _value(column, source)
        if value is not None:
            yield name, "unreadable", f"{source} IS NOT NULL AND {value} IS NULL"
        if column.low is not None and column.high is not None:
            yield name, "below", f"{value} < {_literal(column.low)}"
            yield name, "above", f"{value} > {_literal(column.high)}"
        if column.values is not None:
            text = f"CAST({source} AS VARCHAR)"
            listed = ", ".join(_literal(one) for one in column.values)
            yield name, "outside", f"{value or text} NOT IN ({listed})"
        elif column.type == "text" and column.max_length is not None and table.unit != name:
            yield name, "too_long", f"LENGTH(CAST({source} AS VARCHAR)) > {column.max_length}"


def _value(column: PolicyColumn, source: str) -> str | None:
    """A value in its declared type, NULL where it is not of it; None for text, which everything is."""
    if column.type in ("integer", "decimal", "double"):
        near = f"TRY_CAST({source} AS DOUBLE)"
        return f"CASE WHEN isnan({near}) THEN NULL ELSE {near} END"
    return None if column.type in (None, "text") else f"TRY_CAST({source} AS {column.type.upper()})"


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return string(value)
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, date):
        return f"{'TIMESTAMP' if isinstance(value, datetime) else 'DATE'} '{value.isoformat()}'"
    return repr(float(value))
