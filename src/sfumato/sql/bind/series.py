"""generate_series of written values: whole numbers, or timestamps by an interval.

Comes in: bound constants. Goes out: the values, at most ten thousand, and what is known of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from fractions import Fraction
from typing import Any

from sfumato.algebra import interval_values as intervals
from sfumato.algebra.tree import INTEGER, TIMESTAMP, Constant, Facts, Node
from sfumato.errors import QueryError

MOST = 10_000
"""Rows of one series."""


def written_series(parts: Sequence[Node | None], position: int) -> tuple[Facts, tuple[Any, ...]]:
    """The values from the first to the second, by the third."""
    values = [part.value if isinstance(part, Constant) else None for part in parts]
    start, end, step = values
    if isinstance(start, date) and isinstance(end, date) and isinstance(step, intervals.Span):
        return _moments(start, end, step, position)
    step = 1 if parts[2] is None else step
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in (start, end, step)):
        raise QueryError(
            "generate_series needs integer literals, or two literal dates and an interval",
            position=position,
            sqlstate="42883",
            hint="Write generate_series(1, 10), or"
            " generate_series(DATE '2024-01-01', DATE '2024-12-31', INTERVAL '1 month').",
        )
    assert isinstance(start, int)
    assert isinstance(end, int)
    assert isinstance(step, int)
    if step == 0:
        raise QueryError("step size cannot equal zero", position=position, sqlstate="22023")
    numbers = range(start, end + (1 if step > 0 else -1), step)
    _check(len(numbers), position)
    low, high = (Fraction(min(numbers)), Fraction(max(numbers))) if numbers else (None, None)
    return Facts(INTEGER, low, high, Fraction(1), nullable=False, values=tuple(numbers)), tuple(numbers)


def _moments(start: date, end: date, step: intervals.Span, position: int) -> tuple[Facts, tuple[Any, ...]]:
    first, last = (m if isinstance(m, datetime) else datetime.combine(m, time()) for m in (start, end))
    found, at = list[datetime](), first
    while at <= last:
        found.append(at)
        _check(len(found), position)
        following = intervals.later(at, step)
        if following is None or following <= at:
            if following is not None:
                raise QueryError("a series of timestamps needs a step forward", position=position, sqlstate="22023")
            break
        at = following
    low, high = (Fraction(found[0].toordinal()), Fraction(found[-1].toordinal())) if found else (None, None)
    listed: Any = tuple(found)
    return Facts(TIMESTAMP, low, high, None, nullable=False, values=listed), listed


def _check(count: int, position: int) -> None:
    if count > MOST:
        raise QueryError(f"a series may have at most {MOST} rows", position=position, sqlstate="54000")
