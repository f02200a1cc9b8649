"""How many persons have how much, for the two bounds that may be found for a price (semantics 1.3).

Comes in: a table of the policy, and a column of numbers or none. Goes out: a Histogram over the table's own scan, which
an engine fills: buckets and numbers of persons, by a person's number of rows, or by the sizes of their values added up,
in steps of the column's grid. No vector of group sums is longer than the latter, whatever the keys of a query are.

Guarantee: a person changes one bucket by one under add-remove; under replace she leaves one and enters one.
Proof: rows are grouped by the person that the scan attached, which no row lacks, so what is counted is one row for each
    person who has rows, computed from hers alone; the buckets are disjoint and the last takes the rest, so it
    falls into one bucket. Which buckets there are follows from the policy.
Reference: semantics 1.2 and 1.4.
Checked by: laws::a_person_is_in_one_bucket, laws::replaced_she_leaves_one_bucket_and_enters_one
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.algebra.column_facts import facts_of
from sfumato.algebra.relations import Scan
from sfumato.algebra.table_scans import scan_of
from sfumato.algebra.tree import Column
from sfumato.policy import Policy, Table
from sfumato.policy.unknown import steps_of

MOST = 20
"""Rows are told apart up to 2^20; sums up to that many of the largest value."""


@dataclass(frozen=True)
class Histogram:
    """Persons by their number of rows, or by the sizes of their values in a column added up, in steps of its grid.

    Bucket k is for 2^(k-1) < steps <= 2^k, the last one for the rest.
    """

    scan: Scan
    column: Column | None
    buckets: int
    step: Fraction


def histogram(table: Table, policy: Policy, column: str | None, *, stored: bool) -> Histogram:
    """Of each person's number of rows, or of the sizes of her values in a column, added up."""
    scan = scan_of(table, policy, 0, stored)
    if column is None:
        return Histogram(scan, None, MOST + 2, Fraction(1))
    declared = table.columns[column]
    highest = (steps_of(declared) or 1).bit_length() + MOST
    return Histogram(scan, scan.columns[f"0.{column}"], highest + 2, facts_of(declared).grid or Fraction(1))
