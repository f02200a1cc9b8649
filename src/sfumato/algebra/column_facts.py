"""What the policy declares of a column, as facts: the scan enforces them, so everything above may rely on them.

Comes in: a column of the policy. Goes out: Facts: its type, bounds, grid, list of values, and whether it can be NULL.
"""

from __future__ import annotations

from datetime import date
from fractions import Fraction

from sfumato.algebra.tree import DATE, DECIMAL, DOUBLE, INTEGER, TEXT, Facts
from sfumato.policy import Bound
from sfumato.policy import PolicyColumn as Declared


def facts_of(column: Declared) -> Facts:
    """What the policy's declaration, enforced in the scan, makes true of a column."""
    kind, nullable = column.type or TEXT, column.nulls
    if column.values is not None and kind == INTEGER:
        numbers = [int(v) for v in column.values]
        ends = Fraction(min(numbers)), Fraction(max(numbers))
        return Facts(INTEGER, *ends, Fraction(1), nullable, values=column.values)
    low, high = (_end(bound) for bound in (column.low, column.high))
    if kind == INTEGER:
        return Facts(INTEGER, low, high, Fraction(1), nullable)
    if kind in (DECIMAL, DOUBLE):
        if column.grid is None or low is None:
            return Facts(DOUBLE, low, high, None, nullable)
        return Facts(DECIMAL, low, high, column.grid, nullable)
    if kind == TEXT:
        longest = max(len(str(v)) for v in column.values) if column.values is not None else column.max_length
        return Facts(TEXT, nullable=nullable, length=longest, values=column.values)
    return Facts(kind, low, high, Fraction(1) if kind == DATE else None, nullable, values=column.values)


def _end(bound: Bound | None) -> Fraction | None:
    if isinstance(bound, date):  # a datetime is a date too: its day
        return Fraction(bound.toordinal())
    return None if bound is None else Fraction(bound)
