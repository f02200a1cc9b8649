"""How many persons have how much: one SELECT for the two bounds that may be found for a price (semantics 1.3).

Comes in: a table of the policy, and a column of numbers or none. Goes out: SQL over the table's own scan that gives
buckets and numbers of persons: of her rows, or of the sizes of her values added up, in steps of the column's grid. No
vector of group sums is longer than the latter, whatever the keys of a question are.

Guarantee: a person changes one bucket by one under add-remove; under replace she leaves one and enters one.
Proof: rows are grouped by the person that the scan attached, which no row lacks, so what is counted is one row for each
    person who has rows, computed from hers alone; the arms of the CASE are disjoint and the last takes the rest, so it
    falls into one bucket. Which buckets there are follows from the policy.
Reference: semantics 1.2 and 1.4.
Checked by: laws::a_person_is_in_one_bucket, laws::replaced_she_leaves_one_bucket_and_enters_one
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.policy import Policy, Table
from sfumato.policy.unknown import steps_of
from sfumato.sql.scan import facts_of
from sfumato.sql.select import select
from sfumato.sql.sources import scan_of
from sfumato.words import identifier

MOST = 20
"""Rows are told apart up to 2^20; sums up to that many of the largest value."""


@dataclass(frozen=True)
class Histogram:
    """The SQL that fills it, and its number of buckets: k is for 2^(k-1) < steps <= 2^k, the last for the rest."""

    sql: str
    buckets: int
    step: Fraction


def histogram(table: Table, policy: Policy, column: str | None, *, stored: bool) -> Histogram:
    """Of each person's number of rows, or of the sizes of her values in a column, added up."""
    scan = scan_of(table, policy, 0, stored)
    if column is None:
        highest, step, measure, read = MOST, Fraction(1), "COUNT(*)", []
    else:
        declared = table.columns[column]
        highest = (steps_of(declared) or 1).bit_length() + MOST
        step = facts_of(declared).grid or Fraction(1)
        read = [f"0.{column}"]
        measure = f"COALESCE(SUM(ABS(CAST({identifier(read[0])} AS HUGEINT))), 0)"
    arms = " ".join(f"WHEN m <= {1 << k} THEN {k}" for k in range(highest + 1))
    persons = f"SELECT _u, {measure} AS m FROM ({select(scan, read)}) AS q GROUP BY _u"
    placed = f"SELECT CASE {arms} ELSE {highest + 1} END AS b FROM ({persons}) AS p"
    sql = f"SELECT b, COUNT(*) FROM ({placed}) AS h GROUP BY b"
    return Histogram(sql, highest + 2, step)
