"""Units of the calendar: where a day or a moment falls in one, and every unit between two days.

Comes in: days and words such as `month`. Goes out: first moments of units, the dates and hours that a key can have.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

DAYS = ("day", "week", "month", "quarter", "year")
"""Units whose first moment is a day."""
CLOCK = {"hour": 3600, "minute": 60, "second": 1}
"""Units of the clock, in seconds."""
UNITS = (*DAYS, *CLOCK)


def first_day(unit: str, day: date) -> date:
    """The first day of the unit that holds a day; the first of all days where a week would begin before it."""
    if unit == "week":
        return date.fromordinal(max(1, day.toordinal() - day.weekday()))
    if unit == "quarter":
        return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    if unit == "month":
        return day.replace(day=1)
    return day.replace(month=1, day=1) if unit == "year" else day


def first_moment(unit: str, moment: datetime) -> datetime:
    """The first moment of the unit that holds a moment."""
    if unit not in CLOCK:
        return datetime.combine(first_day(unit, moment.date()), time())
    kept = {"hour": moment.replace(minute=0, second=0), "minute": moment.replace(second=0)}.get(unit, moment)
    return kept.replace(microsecond=0)


def count(unit: str, low: date, high: date) -> int:
    """How many units have their first day between two days, of units that are days or longer."""
    if unit == "day":
        return high.toordinal() - low.toordinal() + 1
    if unit == "week":
        return (high.toordinal() - 1) // 7 - (low.toordinal() - 2) // 7
    months = {"month": 1, "quarter": 3, "year": 12}[unit]

    def number(day: date) -> int:
        return (day.year * 12 + day.month - 1) // months

    return number(high) - number(low) + (first_day(unit, low) == low)


def units_between(unit: str, low: int, high: int) -> int:
    """How many units begin on these days, from the first to the last, by their numbers."""
    if unit in CLOCK:
        return (high - low + 1) * 86_400 // CLOCK[unit]
    return count(unit, date.fromordinal(low), date.fromordinal(high))


def days(unit: str, low: date, high: date) -> Iterator[date]:
    """The first days of all units that begin between two days."""
    at = low if unit == "day" else first_day(unit, low)
    while at <= high:
        if at >= low:
            yield at
        try:
            at = _next(unit, at)
        except (OverflowError, ValueError):
            return


def _next(unit: str, first: date) -> date:
    if unit in ("day", "week"):
        return first + timedelta(1 if unit == "day" else 7)
    months = first.year * 12 + first.month - 1 + {"month": 1, "quarter": 3, "year": 12}[unit]
    return date(months // 12, months % 12 + 1, 1)
