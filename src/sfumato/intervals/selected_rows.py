"""Aggregates over rows that a noisy condition selects: what they can be, given what each row can be.

Comes in: for each row whether the condition surely holds (True), surely does not (False) or may (None), and the
interval of its number, or None where that may be NULL or anything. Goes out: an interval, or None where the aggregate
may be NULL, or anything.

Guarantee: if every row is as stated, the interval holds the aggregate over the rows for which the condition holds.
Proof: the rows that count are those that surely pass, S, and some subset of those that may, U. A count is at least
    those of S that have a number, and at most all of both. A sum has a term of each row of S, and of each row of U
    either its term or zero. The least mean over S and a subset of U has of U the rows with the least lower ends, and
    one more of them lowers a mean just where it is below it: so they are taken from the least on, as long as they
    lower it; the largest mean likewise. The largest number is at most the largest of all, and at least that of S.
    Without a row that surely passes there may be none, and SQL gives NULL of all but a count.
Reference: semantics 4.4; decision 143.
Checked by: laws::what_is_selected_is_within_its_interval
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

Ends = tuple[Fraction, Fraction]
Row = tuple[bool | None, Ends | None]


def _counted(rows: Sequence[Row]) -> Ends | None:
    sure = sum(passes is True and ends is not None for passes, ends in rows)
    return Fraction(sure), Fraction(sum(passes is not False for passes, _ in rows))


def _sides(rows: Sequence[Row]) -> tuple[list[Ends], list[Ends]] | None:
    """The intervals of rows that surely pass, and of those that may; None where one of them may be anything, or where
    none surely passes.
    """
    left = [(passes, ends) for passes, ends in rows if passes is not False]
    sure = [ends for passes, ends in left if passes and ends is not None]
    may = [ends for passes, ends in left if not passes and ends is not None]
    return (sure, may) if sure and len(sure) + len(may) == len(left) else None


def _summed(rows: Sequence[Row]) -> Ends | None:
    sides = _sides(rows)
    if sides is None:
        return None
    sure, may = sides
    low = sum((low for low, _ in sure), Fraction(0)) + sum((min(low, Fraction(0)) for low, _ in may), Fraction(0))
    high = sum((high for _, high in sure), Fraction(0)) + sum((max(high, Fraction(0)) for _, high in may), Fraction(0))
    return low, high


def _least_mean(sure: list[Fraction], may: list[Fraction]) -> Fraction:
    total, count = sum(sure, Fraction(0)), len(sure)
    for one in sorted(may):
        if one * count >= total:
            break
        total, count = total + one, count + 1
    return total / count


def _averaged(rows: Sequence[Row]) -> Ends | None:
    sides = _sides(rows)
    if sides is None:
        return None
    sure, may = sides
    low = _least_mean([low for low, _ in sure], [low for low, _ in may])
    return low, -_least_mean([-high for _, high in sure], [-high for _, high in may])


def _largest(rows: Sequence[Row]) -> Ends | None:
    sides = _sides(rows)
    if sides is None:
        return None
    sure, may = sides
    return max(low for low, _ in sure), max(high for _, high in (*sure, *may))


def _smallest(rows: Sequence[Row]) -> Ends | None:
    sides = _sides(rows)
    if sides is None:
        return None
    sure, may = sides
    return min(low for low, _ in (*sure, *may)), min(high for _, high in sure)


RULES: dict[str, Callable[[Sequence[Row]], Ends | None]] = {
    "count where": _counted,
    "sum where": _summed,
    "avg where": _averaged,
    "max where": _largest,
    "min where": _smallest,
}
