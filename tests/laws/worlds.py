"""Worlds: a policy, tables as a careless owner might have them, and the rows that each person might have had instead.

Rows are texts and become typed by the physical type that a column happens to have: what does not fit is NULL there.
Whose row it is follows the policy: by the unit as it stands in the file, or by the foreign key that leads to one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any

import duckdb

from sfumato.policy import Policy, Table, UnitJoin
from sfumato.types import identifier
from tests.compiled import Rows, finish

_PUBLIC: list[duckdb.DuckDBPyConnection] = []
_NUMBERS = count()
Row = tuple[str | None, ...]
Tables = dict[str, list[Row]]


@dataclass(frozen=True)
class World:
    """A policy, the physical types of its columns by table, rows by table, and for each person other rows of hers.

    For a single table its name may be left out of `types`, `rows` and `others`: see `one`.
    """

    policy: Policy
    types: dict[str, dict[str, str]]
    rows: Tables
    others: dict[str | None, list[Tables]] = field(default_factory=dict)

    @cached_property
    def _schema(self) -> str:
        """Where the public tables lie, in an engine that holds nothing else; one for all worlds."""
        if not _PUBLIC:
            _PUBLIC.append(duckdb.connect(":memory:", config={"threads": 1}))
        name = f"world{next(_NUMBERS)}"
        _PUBLIC[0].execute(f"CREATE SCHEMA {name}")
        for table in self.policy.tables.values():
            if table.public:
                rows: list[tuple[Any, ...]] = [(0, None, *row) for row in self.rows[table.name]]
                fill(_PUBLIC[0], f"{name}.{identifier(table.name)}", table, self.types[table.name], rows)
        return name

    def run(self, sql: str, tables: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of public tables, and of released ones: what planning may look at."""
        schema, connection = self._schema, _PUBLIC[0]
        connection.execute(f"SET search_path = '{schema}'")
        for table in tables:
            connection.execute(table.create, list(table.values))
        return [tuple(row) for row in connection.execute(sql).fetchall()]

    @property
    def rows_for_planning(self) -> Rows:
        """Public rows as planning asks for them."""
        return Rows(self.run)

    def finish(self, question: Any, released: Any) -> list[tuple[Any, ...]]:
        """The rows above the releases."""
        return finish(question, released, self.run)


def one(policy: Policy, types: dict[str, str], rows: list[Row], others: dict[str | None, list[list[Row]]]) -> World:
    """A world of a single table."""
    name = next(iter(policy.tables))
    lists = {who: [{name: other} for other in lists] for who, lists in others.items()}
    return World(policy, {name: types}, {name: rows}, lists)


def fill(
    connection: duckdb.DuckDBPyConnection, name: str, table: Table, types: dict[str, str], rows: list[tuple[Any, ...]]
) -> None:
    """A stored table of rows (part, who, values)."""
    declared = list(table.columns)
    heads = ["part", "who", *(f"c{i}" for i in range(len(declared)))]
    casts = ", ".join(f"TRY_CAST(c{i} AS {types[c]}) AS {identifier(c)}" for i, c in enumerate(declared))
    if rows:
        listed = ", ".join("(" + ", ".join(text(value) for value in row) + ")" for row in rows)
        source = f"(VALUES {listed}) AS r({', '.join(heads)})"
    else:
        source = f"(SELECT {', '.join(f'NULL::VARCHAR AS {head}' for head in heads)}) WHERE false"
    connection.execute(
        f"CREATE OR REPLACE TABLE {name} AS SELECT part::INTEGER AS part, who::VARCHAR AS who, {casts} FROM {source}"
    )


def text(value: Any) -> str:
    """A value as SQL writes it."""
    if isinstance(value, int):
        return str(value)
    return "NULL::VARCHAR" if value is None else "'" + str(value).replace("'", "''") + "'"


def owned(connection: duckdb.DuckDBPyConnection, tables: dict[str, Table], place: str) -> None:
    """Say of each stored row whose it is: NULL where it is nobody's."""
    done: set[str] = set()
    waiting = [name for name, table in tables.items() if not table.public]
    while waiting:
        name = waiting.pop(0)
        unit, stored = tables[name].unit, f"{place}.{identifier('rows ' + name)}"
        if isinstance(unit, UnitJoin):
            if unit.table not in done:
                waiting.append(name)
                continue
            keys = f"{place}.{identifier('rows ' + unit.table)}"
            connection.execute(
                f"UPDATE {stored} AS t SET who = (SELECT k.who FROM {keys} AS k"
                f" WHERE k.{identifier(unit.key)} = t.{identifier(unit.column)} AND k.part = t.part)"
            )
        else:
            connection.execute(f"UPDATE {stored} SET who = {identifier(str(unit))}::VARCHAR")
        done.add(name)
