"""Written intervals: whole years, months, weeks, days, hours, minutes and seconds, and what they do to days.

Comes in: the words of an interval. Goes out: months, days and microseconds, which are added in this order, as
PostgreSQL does: a month later than the 31st of January is the last of February.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from fractions import Fraction

FIRST, LAST = date(1, 1, 1).toordinal(), date(9999, 12, 31).toordinal()
"""The days that a date or a timestamp can have: the scan lets no other through."""
DAY = 86_400_000_000
YEARS = {"decade": 10, "century": 100, "millennium": 1000}
"""Units of many years. Of an interval they are counted from zero, not from the first year of a calendar."""
_CYCLE = date(401, 1, 1).toordinal() - date(1, 1, 1).toordinal()
_PART = r"([+-]? *+[0-9]{1,9}+) *+([A-Za-z]++)"
_CLOCK = r"([+-]?)([0-9]{1,7}):([0-5][0-9])(?::([0-5][0-9])(?:\.([0-9]{1,6}))?)?"
_WRITTEN = re.compile(rf" *+(?:{_PART}(?: ++{_PART})*+(?: ++{_CLOCK})?|{_CLOCK}) *+")
"""What may stand between the quotes. No repetition gives back what it took: blanks may stand in many places."""
LONGEST = 200
"""Characters of a written interval."""

_UNITS: dict[str, tuple[int, int, int]] = {
    **dict.fromkeys(("year", "years", "yr", "yrs", "y"), (12, 0, 0)),
    **dict.fromkeys(("month", "months", "mon", "mons"), (1, 0, 0)),
    **dict.fromkeys(("week", "weeks", "w"), (0, 7, 0)),
    **dict.fromkeys(("day", "days", "d"), (0, 1, 0)),
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h"), (0, 0, DAY // 24)),
    **dict.fromkeys(("minute", "minutes", "min", "mins", "m"), (0, 0, DAY // 1440)),
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), (0, 0, 1_000_000)),
}


@dataclass(frozen=True)
class Span:
    """An interval, in the three numbers that PostgreSQL keeps."""

    months: int
    days: int
    microseconds: int

    def __str__(self) -> str:
        return f"{self.months} {self.days} {self.microseconds}"

    @property
    def compared(self) -> int:
        """Microseconds, as PostgreSQL compares intervals: a month has 30 days."""
        return (30 * self.months + self.days) * DAY + self.microseconds

    def __neg__(self) -> Span:
        return Span(-self.months, -self.days, -self.microseconds)


def part_of(span: Span, word: str) -> int | Fraction | None:
    """EXTRACT of a written interval, as PostgreSQL has it; None for what is no part. A year has 365.25 days."""
    years, months = int(Fraction(span.months, 12)), span.months - 12 * int(Fraction(span.months, 12))
    seconds = Fraction(span.microseconds, 10**6)
    hours, minutes = int(seconds / 3600), int(seconds / 60) - 60 * int(seconds / 3600)
    whole = (years * 36_525 + months * 3_000 + span.days * 100) * 864 + seconds
    parts: dict[str, int | Fraction] = {
        "epoch": whole, "year": years, "month": months, "day": span.days, "hour": hours, "minute": minutes,
        "second": seconds - 60 * int(seconds / 60), "quarter": int(Fraction(months, 3)) + 1,
        **{word: int(Fraction(years, size)) for word, size in YEARS.items()},
    }  # fmt: skip
    found = parts.get(word)
    return int(found) if isinstance(found, Fraction) and found.denominator == 1 else found


def truncated(span: Span, word: str) -> Span | None:
    """date_trunc of a written interval: toward zero, as PostgreSQL does; None for what is no unit of intervals.

    >>> shown(truncated(Span(-28, 3, 5), "year"))
    '-2 years'
    """
    months = {"month": 1, "quarter": 3, "year": 12, **{name: 12 * years for name, years in YEARS.items()}}
    clock = {"hour": 3600, "minute": 60, "second": 1}
    if word in months:
        return Span(int(Fraction(span.months, months[word])) * months[word], 0, 0)
    if word in clock:
        size = clock[word] * 1_000_000
        return Span(span.months, span.days, int(Fraction(span.microseconds, size)) * size)
    return Span(span.months, span.days, 0) if word == "day" else None


def is_written(text: str) -> bool:
    """Whether a text has the form of an interval."""
    return len(text) <= LONGEST and _WRITTEN.fullmatch(text) is not None


def read(text: str) -> Span | None:
    """The interval that a text names, within ten thousand years; None for what is not one."""
    if not is_written(text):
        return None
    months = days = microseconds = 0
    for number, word in re.findall(_PART, text):
        unit = _UNITS.get(word.lower())
        if unit is None:
            return None
        times = int(number.replace(" ", ""))
        months += times * unit[0]
        days += times * unit[1]
        microseconds += times * unit[2]
    clock = re.search(_CLOCK, text)
    if clock is not None:
        sign, hours, minutes, seconds, rest = clock.groups()
        size = (int(hours) * 3600 + int(minutes) * 60 + int(seconds or 0)) * 1_000_000 + int((rest or "").ljust(6, "0"))
        microseconds += -size if sign == "-" else size
    if max(abs(months) * 30, abs(days), abs(microseconds) // DAY) > LAST:
        return None
    return Span(months, days, microseconds)


def shown(span: Span) -> str:
    """The interval as PostgreSQL prints it.

    >>> shown(Span(14, -3, 3_600_000_000))
    '1 year 2 mons -3 days +01:00:00'
    >>> shown(Span(0, 0, 0))
    '00:00:00'
    """
    years, months = int(span.months / 12), int(span.months - 12 * int(span.months / 12))
    words, before = [], False
    for number, word in ((years, "year"), (months, "mon"), (span.days, "day")):
        if number:
            words.append(f"{'+' if before and number > 0 else ''}{number} {word}{'' if number == 1 else 's'}")
            before = number < 0
    if span.microseconds or not words:
        seconds, rest = divmod(abs(span.microseconds), 1_000_000)
        sign = "-" if span.microseconds < 0 else "+" if before else ""
        tail = f".{rest:06}".rstrip("0") if rest else ""
        words.append(f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{tail}")
    return " ".join(words)


def clocked(span: Span) -> str:
    """The interval in words that `read` reads as the same three numbers.

    >>> clocked(Span(14, -3, -5_400_000_000))
    '14 months -3 days -01:30:00.000000'
    """
    seconds, rest = divmod(abs(span.microseconds), 1_000_000)
    clock = f"{'-' if span.microseconds < 0 else ''}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{span.months} months {span.days} days {clock}.{rest:06}"


def stored(text: str) -> Span:
    """The interval that a node holds as three numbers."""
    months, days, microseconds = map(int, text.split())
    return Span(months, days, microseconds)


def later_day(day: int, span: Span, clock: int = 0) -> int:
    """The day, as a number, on which a moment of this day falls afterwards, also beyond the years 1 to 9999.

    Months first, the day of the month held to the length of the new month: no day overtakes another.
    """
    before = date.fromordinal(day)
    count = before.year * 12 + before.month - 1 + span.months
    cycles, month = (count // 12 - 1) // 400, count % 12 + 1
    year = count // 12 - 400 * cycles  # a year from 1 to 400 with the same calendar
    moved = date(year, month, min(before.day, monthrange(year, month)[1])).toordinal() + cycles * _CYCLE
    return moved + span.days + (clock + span.microseconds) // DAY


def later(moment: date, span: Span) -> datetime | None:
    """A written date or timestamp moved by an interval; None beyond the years 1 to 9999."""
    start = moment if isinstance(moment, datetime) else datetime.combine(moment, time())
    clock = (start - datetime.combine(start.date(), time())) // timedelta(microseconds=1)
    day = later_day(start.toordinal(), span, clock)
    if not FIRST <= day <= LAST:
        return None
    rest = timedelta(microseconds=(clock + span.microseconds) % DAY)
    return datetime.combine(date.fromordinal(day), time()) + rest


def between(later: date, earlier: date) -> Span:
    """What PostgreSQL's age(a, b) is: years, months, days and a time, field by field, with borrowing.

    The days that a month lends are those of the month of the earlier moment.

    >>> shown(between(date(2024, 1, 31), date(2023, 2, 28)))
    '11 mons 3 days'
    """
    a, b = (m if isinstance(m, datetime) else datetime.combine(m, time()) for m in (later, earlier))
    if a < b:
        return -between(b, a)
    clock = (a - datetime.combine(a.date(), time())) - (b - datetime.combine(b.date(), time()))
    days, months = a.day - b.day, (a.year - b.year) * 12 + a.month - b.month
    if clock < timedelta():
        clock, days = clock + timedelta(1), days - 1
    while days < 0:
        days, months = days + monthrange(b.year, b.month)[1], months - 1
    return Span(months, days, clock // timedelta(microseconds=1))
