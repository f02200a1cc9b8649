"""Bounds that the owner left to be found: which they are, and the policy with the numbers that were found for them.

Comes in: a policy with "auto" in it. Goes out: the same policy with numbers. Its digest stays that of what is written:
a number that is found is no change of the policy, and the questions that use it have it in their own digests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction

from sfumato.policy.records import AUTO, Policy, PolicyColumn, Table, groups_by_default

STAND_IN = 2
"""What stands for rows per person before they are found: with it every question is planned as for persons of many."""

MOST_STEPS = 1 << 62
"""Columns of fewer steps than that from zero are added up in 127 bits, however many rows there are."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A bound to be found: `rows_per_unit` of a table, or `sum_per_unit` of one of its columns."""

    table: str
    column: str | None = None

    @property
    def words(self) -> str:
        """Which bound it is, for people."""
        if self.column is None:
            return f'rows_per_unit of "{self.table}"'
        return f'sum_per_unit of "{self.table}.{self.column}"'


def unknown(policy: Policy) -> tuple[Unknown, ...]:
    """The bounds that this policy leaves to be found."""
    found = []
    for name, table in policy.tables.items():
        if table.rows_per_unit == AUTO:
            found.append(Unknown(name))
        found += [Unknown(name, column) for column, most in table.sum_per_unit.items() if most == AUTO]
    return tuple(found)


def with_bounds(policy: Policy, found: Mapping[Unknown, Fraction | None]) -> Policy:
    """The policy with what was found; a sum for which None was found has the default of one that is not declared.

    What was not found yet is planned with stand-ins: two rows for each person, and sums that are not declared.
    """
    return replace(policy, tables={name: _settled(table, found) for name, table in policy.tables.items()})


def _settled(table: Table, found: Mapping[Unknown, Fraction | None]) -> Table:
    sums = {
        column: found.get(Unknown(table.name, column)) if most == AUTO else most
        for column, most in table.sum_per_unit.items()
    }
    kept = replace(table, sum_per_unit={column: most for column, most in sums.items() if most is not None})
    if table.rows_per_unit != AUTO:
        return kept
    rows = int(found.get(Unknown(table.name)) or STAND_IN)
    # more groups than rows would only cost: where she has written more, the rows decide
    written = table.groups_per_unit
    groups = min(written, rows) if isinstance(written, int) else groups_by_default(rows)
    norm = Fraction(rows) if table.l2_per_unit == AUTO else Fraction(table.l2_per_unit)
    return replace(kept, rows_per_unit=rows, groups_per_unit=groups, l2_per_unit=norm)


def steps_of(column: PolicyColumn) -> int | None:
    """How many steps of its grid a column of numbers is away from zero at most; None before its grid is known."""
    if column.values is not None:
        return max((abs(value) for value in column.values if isinstance(value, int)), default=0)
    if column.grid is None or column.low is None or isinstance(column.low, date):
        return None
    ends = [Fraction(end) for end in (column.low, column.high) if isinstance(end, int | Fraction)]
    return int(max(abs(end) for end in ends) / column.grid)
