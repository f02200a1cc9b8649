"""Intervals as they are shown: within what is possible, in the type of their column, rounded outward.

Comes in: a question's origins, what was drawn, and the rows that are shown. Goes out: what each number of a column is
worth: its interval, whether that says nothing, and whether there is none although noise is in the number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from sfumato.algebra.aggregates import order
from sfumato.algebra.exact_numbers import ExactNumbers, common_unit
from sfumato.algebra.tree import DATE, INTEGER, TIMES, Aggregate, Facts
from sfumato.gateway.interval_sources import DrawnNumbers, is_constant, possible, released_as
from sfumato.intervals.cell_intervals import Null
from sfumato.intervals.column_intervals import AlikeRows, intervals_of_column
from sfumato.intervals.provenance import Origin

_WIDE = Context(prec=80)
"""More digits than a number of the engine has."""
_FINE = Fraction(1, 10**9)
"""The grid of numbers that have none."""
_DIGITS = 30


ShownInterval = tuple[Any, Any] | None


class NumberWorth(NamedTuple):
    """What a number is worth; one without an interval that is neither `unknown` nor `bare` is exact."""

    interval: ShownInterval = None
    unknown: bool = False
    """Its interval is the whole range, or any number is possible."""
    bare: bool = False
    """Noise is in it, and it has no interval."""


Range = tuple[Fraction | None, Fraction | None]
Drawn = tuple[DrawnNumbers, Fraction]
"""What was drawn, and the confidence that is asked for."""


def intervals_shown(
    of: Origin | None, values: Sequence[Any], rows: Sequence[tuple[Any, ...]], found: Drawn, facts: Facts
) -> list[NumberWorth]:
    """What each number of a column is worth. A released number is within its possible range (semantics 4.3).

    Where noise has made a number NULL, nothing is told of it, unless it is a mean.
    """
    shown = [NumberWorth()] * len(rows)
    if of is None:
        return shown
    for alike in intervals_of_column(of, rows, *found):
        if isinstance(alike.number, Null) or is_constant(of, found[0], alike.slots):
            continue
        aggregate = released_as(of, found[0], alike.slots)
        for place, one in zip(alike.places, _shown(alike, aggregate, facts), strict=True):
            told = aggregate is not None or values[place] is not None
            shown[place] = one if told else NumberWorth(None, one.unknown, bare=not one.unknown)
    return shown


def _shown(alike: AlikeRows, aggregate: Aggregate | None, facts: Facts) -> list[NumberWorth]:
    """The intervals of rows that are alike."""
    low, high = (None, None) if aggregate is None else possible(aggregate)
    if aggregate is not None and facts.grid is None:
        facts = replace(facts, grid=aggregate.facts.grid)  # a count among doubles is shown as a whole number
    whole: ShownInterval = None
    if low is not None and high is not None:
        (whole,) = _outward([low.numerator * high.denominator], [high.numerator * low.denominator],
                            Fraction(1, low.denominator * high.denominator), (None, None), facts)  # fmt: skip
    unknown = whole if alike.number is not None else None  # a mean of nobody knows how many is somewhere
    ends = alike.ends
    if ends is None:
        return [NumberWorth(unknown, unknown is not None, bare=unknown is None)] * len(alike.places)
    if isinstance(ends.low, ExactNumbers) and isinstance(ends.high, ExactNumbers):
        unit = common_unit(ends.low.unit, ends.high.unit)
        known = _outward(ends.low.in_units(unit), ends.high.in_units(unit), unit, (low, high), facts)
    else:
        known = []
        for below, above in zip(ends.low, ends.high, strict=True):
            unit = common_unit(below, above)
            known += _outward([int(below / unit)], [int(above / unit)], unit, (low, high), facts)
    return [
        NumberWorth(unknown, unknown=True) if place in ends.none else NumberWorth(one, one is not None and one == whole)
        for place, one in enumerate(known)
    ]


def _outward(lows: list[int], highs: list[int], unit: Fraction, within: Range, facts: Facts) -> list[tuple[Any, Any]]:
    """Interval ends in the column's own type, within the possible range, rounded outward."""
    half = common_unit(unit / 2, *(end for end in within if end is not None))
    factor = int(unit / half)
    low, high = (None if end is None else int(end / half) for end in within)
    per = half / _grid(facts)
    top, bottom, number = per.numerator, per.denominator, _number(facts)
    pairs = zip(lows, highs, strict=True)
    ends = (within_range(one * factor, two * factor, low, high) for one, two in pairs)
    return [(number(below * top // bottom), number(-(-above * top // bottom))) for below, above in ends]


def within_range(below: int, above: int, low: int | None, high: int | None) -> tuple[int, int]:
    """An interval cut to the possible range, and at least half as wide as it was, where the range leaves room.

    Noise may carry a count below zero. The number that is shown is then zero, and an interval of zero alone would look
    exact: the interval is taken around the number that is shown. It holds what the plain cut would hold, and more.
    """
    half = (above - below) // 2
    if low is not None:
        below, above = max(low, below), max(above, low + half)
    if high is not None:
        below, above = min(below, max(high - half, low if low is not None else high - half)), min(high, above)
    return below, above


def _grid(facts: Facts) -> Fraction:
    """The steps in which ends are written: days, seconds, or those of a number's type."""
    return Fraction(1) if facts.kind in TIMES else facts.grid or _FINE


def _number(facts: Facts) -> Callable[[int], int | Decimal | date]:
    """How steps of the grid are written: whole numbers, or decimals with as few digits as will do; days, moments."""
    grid = _grid(facts)
    if facts.kind in TIMES:
        return date.fromordinal if facts.kind == DATE else order.moment
    if facts.kind == INTEGER:
        return int if grid == 1 else lambda steps: int(steps * grid)
    places = next((n for n in range(_DIGITS + 1) if (grid * 10**n).denominator == 1), None)
    if places is None:
        return lambda steps: decimal_of(steps * grid)
    factor, digits = int(grid * 10**places), places

    def written(steps: int) -> Decimal:
        whole, after = steps * factor, digits
        while after and not whole % 10:
            whole, after = whole // 10, after - 1
        return Decimal(whole).scaleb(-after, _WIDE)

    return written


def decimal_of(value: Fraction) -> Decimal:
    """A number in decimals, with as few digits as will do."""
    digits = 0
    while digits < _DIGITS and (value * 10**digits).denominator != 1:
        digits += 1
    return Decimal(int(value * 10**digits)).scaleb(-digits, _WIDE)
