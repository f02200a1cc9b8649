"""A column as a list of numbers, for programs that take one: one SELECT (semantics 1.4).

Comes in: a private table of the policy and a column of numbers or truths. Goes out: SQL over the table's own scan that
gives each value, in steps of the column's grid, and how often it occurs.

Guarantee: a person has at most `rows_per_unit` of the elements, and what the others have does not depend on her.
Proof: rows are counted by the person that the scan attached; those of a person with more rows are left out, all of
    them, so what is left of each person is computed from her rows alone.
Reference: semantics 1.2 and 3.1d.
Checked by: rooms::a_person_brings_no_more_elements_than_rows
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.errors import InputError
from sfumato.policy import Policy, Table
from sfumato.sql.scan import facts_of
from sfumato.sql.select import select
from sfumato.sql.sources import scan_of
from sfumato.sql.tree import BOOLEAN, DECIMAL, INTEGER
from sfumato.words import identifier


@dataclass(frozen=True)
class Elements:
    """The SQL that counts them; the unit of its numbers, and between which numbers they lie (None: no end is known)."""

    sql: str
    step: Fraction
    low: Fraction | None
    high: Fraction | None
    whole: bool


def elements(table: Table, policy: Policy, column: str, *, stored: bool) -> Elements:
    """The values of a column, of persons who have no more rows than the policy bounds."""
    scan = scan_of(table, policy, 0, stored)
    facts = facts_of(table.columns[column])
    if facts.kind not in (INTEGER, DECIMAL, BOOLEAN):
        raise InputError(
            f'column "{column}" of "{table.name}" is not one of numbers on a grid',
            hint="A program takes whole numbers, decimals with bounds and a grid, or truths.",
        )
    name = f"0.{column}"
    value = f"CAST({identifier(name)} AS {'INTEGER' if facts.kind == BOOLEAN else 'HUGEINT'})"
    rows = f"SELECT {value} AS v, COUNT(*) OVER (PARTITION BY _u) AS n FROM ({select(scan, [name])}) AS q"
    few = f"n <= {table.rows_per_unit}"
    sql = f"SELECT v, COUNT(*) FROM ({rows}) AS r WHERE {few} AND v IS NOT NULL GROUP BY v"
    if facts.kind == BOOLEAN:
        return Elements(sql, Fraction(1), Fraction(0), Fraction(1), whole=True)
    step = facts.grid or Fraction(1)
    return Elements(sql, step, facts.low, facts.high, whole=step.denominator == 1)
