"""A column as a list of numbers, for programs that take one (semantics 1.4).

Comes in: a private table of the policy and a column of numbers or truths. Goes out: Elements over the table's own
scan, which an engine counts: each value, in steps of the column's grid, and how often it occurs.

Guarantee: a person has at most `rows_per_unit` of the elements, and what the others have does not depend on her.
Proof: rows are counted by the person that the scan attached; those of a person with more rows are left out, all of
    them, so what is left of each person is computed from her rows alone.
Reference: semantics 1.2 and 3.1d.
Checked by: unit::a_person_brings_no_more_elements_than_rows
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.algebra.column_facts import facts_of
from sfumato.algebra.relations import Scan
from sfumato.algebra.table_scans import scan_of
from sfumato.algebra.tree import BOOLEAN, DECIMAL, INTEGER, Column
from sfumato.errors import InputError
from sfumato.policy import Policy, Table


@dataclass(frozen=True)
class Elements:
    """The values of a column, of units with at most `most` rows; the unit of the numbers, and between which they lie.

    Where `low` or `high` is None, no such end is known.
    """

    scan: Scan
    column: Column
    most: int
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
            f'column "{column}" of "{table.name}" does not hold numbers on a grid',
            hint="A program takes integers, decimals with bounds and a grid, or booleans.",
        )
    assert isinstance(table.rows_per_unit, int)
    of, most = scan.columns[f"0.{column}"], table.rows_per_unit
    if facts.kind == BOOLEAN:
        return Elements(scan, of, most, Fraction(1), Fraction(0), Fraction(1), whole=True)
    step = facts.grid or Fraction(1)
    return Elements(scan, of, most, step, facts.low, facts.high, whole=step.denominator == 1)
