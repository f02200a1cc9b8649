"""How far the rows keep to what was declared: read once, when a data version is admitted, for the owner's eyes alone.

Comes in: the policy with its types, a writer of SELECTs, and what runs one. Goes out: counts. Nothing of it reaches an
analyst: declarations are enforced in every query, whether the rows keep to them or not (semantics 1.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from sfumato.algebra.column_facts import facts_of
from sfumato.algebra.table_scans import scan_of
from sfumato.algebra.tree import TEXT, Facts
from sfumato.engines.base import Measured, Say
from sfumato.engines.remote.selects import RemoteTable, SelectWriter
from sfumato.policy import Policy, PolicyColumn, Table


@dataclass(frozen=True)
class Measuring:
    """Counts over the tables of an engine; `one` runs a SELECT of one row of whole numbers."""

    writer: SelectWriter
    one: Callable[[str], list[int]]

    def tables(self, policy: Policy, names: Iterable[str], say: Say) -> dict[str, Measured]:
        """What the rows of these tables are like."""
        measured = {}
        for name in names:
            say(f"reading {name}")
            table, there = policy.tables[name], self.writer.tables[name]
            measured[name] = self._public(there) if table.public else self._private(table, there, policy)
        return measured

    def _public(self, there: RemoteTable) -> Measured:
        return Measured(self.one(f"SELECT COUNT(*) FROM {there.place}")[0])

    def _private(self, table: Table, there: RemoteTable, policy: Policy) -> Measured:
        most = table.rows_per_unit if isinstance(table.rows_per_unit, int) else None
        unit, source = self.writer.unit_of(scan_of(table, policy, 0))
        people = f"SELECT u, COUNT(*) AS n FROM (SELECT {unit} AS u FROM {source}) AS q WHERE u IS NOT NULL GROUP BY u"
        over = f"FILTER (WHERE n > {'CAST(NULL AS BIGINT)' if most is None else most})"
        less = f"n - {0 if most is None else most}"
        rows, persons, owned, highest, many, theirs, beyond = self.one(
            f"SELECT (SELECT COUNT(*) FROM {there.place}) AS a, COUNT(*), SUM(n), MAX(n), COUNT(*) {over},"
            f" SUM(n) {over}, SUM({less}) {over} FROM ({people}) AS p"
        )
        counted = list(self._counts(table, there))
        columns: dict[str, dict[str, int]] = {name: {} for name in table.columns}
        if counted:
            shown = ", ".join(f"COUNT(*) FILTER (WHERE {condition})" for _, _, condition in counted)
            numbers = self.one(f"SELECT {shown} FROM {there.place} AS t")
            for (name, kind, _), value in zip(counted, numbers, strict=True):
                columns[name][kind] = value
        removed = theirs if most == 1 else beyond  # where it is 1, a person with more rows is left out (semantics 3.1d)
        return Measured(rows, persons, rows - owned, highest, table.rows_per_unit, many, removed, columns)

    def _counts(self, table: Table, there: RemoteTable) -> Iterator[tuple[str, str, str]]:
        """(column, what is counted, condition), those that can be of each column."""
        for name, column in table.columns.items():
            source = there.columns[name].raw("t")
            yield name, "nulls", f"{source} IS NULL"
            if column.type in (None, "text"):
                bare = f"CAST({source} AS {self.writer.dialect.type_of(Facts(TEXT))})"
                if column.values is not None:
                    listed = ", ".join(self.writer.dialect.text(str(value)) for value in column.values)
                    yield name, "outside", f"{bare} NOT IN ({listed})"
                elif column.max_length is not None and table.unit != name:
                    yield name, "too_long", f"length({bare}) > {column.max_length}"
                continue
            value = self._value(column, there.columns[name])
            yield name, "unreadable", f"{source} IS NOT NULL AND {value} IS NULL"
            if column.low is not None and column.high is not None:
                yield name, "below", f"{value} < {self._literal(column.low)}"
                yield name, "above", f"{value} > {self._literal(column.high)}"
            if column.values is not None:
                yield name, "outside", f"{value} NOT IN ({', '.join(self._literal(one) for one in column.values)})"

    def _value(self, column: PolicyColumn, there: Any) -> str:
        """A value in its declared type without its bounds; a number as a double."""
        kind = "double" if column.type in ("integer", "decimal", "double") else column.type
        bare = replace(column, type=kind, low=None, high=None, grid=None, values=None)
        return self.writer.dialect.enforced(bare, there, facts_of(bare))

    def _literal(self, value: Any) -> str:
        if isinstance(value, str):
            return self.writer.dialect.text(value)
        if isinstance(value, bool):
            return str(value).upper()
        if isinstance(value, date):
            return self.writer.dialect.literal(value, Facts("date"))
        return self.writer.dialect.number(float(value))
