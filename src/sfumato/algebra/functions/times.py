"""Functions of dates, timestamps and intervals below a release: what is known of their values.

Comes in: arguments with their facts. Goes out: facts of the value. A bound of a date or a timestamp is the number of a
day; an interval is a number of seconds, as PostgreSQL compares intervals. All of them are total: beyond the years 1 to
9999, and where a text does not read as a time, the value is NULL. Their meaning is in `engines/reference_times.py`.
"""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction

from sfumato.algebra import interval_values as intervals
from sfumato.algebra.calendar_units import CLOCK, UNITS, first_day
from sfumato.algebra.functions.record import ScalarFunction
from sfumato.algebra.functions.rules import Mismatch, Rule, fit, nullable, text_facts
from sfumato.algebra.tree import DATE, DECIMAL, INTEGER, INTERVAL, NULL, TEXT, TIMES, TIMESTAMP, Call, Facts, Node

MICRO, DAY = Fraction(1, 10**6), 86_400
EPOCH = date(1970, 1, 1).toordinal()
_FIRST, _LAST = Fraction(intervals.FIRST), Fraction(intervals.LAST)

_PARTS: dict[str, tuple[int, int]] = {
    "month": (1, 12),
    "day": (1, 31),
    "quarter": (1, 4),
    "dow": (0, 6),
    "isodow": (1, 7),
    "doy": (1, 366),
    "week": (1, 53),
    "hour": (0, 23),
    "minute": (0, 59),
}
AGE = "age"
"""Marks intervals that age() made, in `every`."""
YEARS = ("year", "isoyear")
_SPANS = {"day": DAY, "hour": 3600, "minute": 60}
"""Parts of an interval, with their seconds."""


def _extract(args: tuple[Node, ...], extra: str) -> Facts:
    """A part of a moment, or of an interval."""
    f = args[0].facts
    if f.kind == INTERVAL:
        return _extract_span(args, extra)
    if f.kind not in TIMES:
        raise Mismatch(f"extract needs a date, a timestamp or an interval, but was given {f.kind}")
    if extra in _PARTS:
        least, most = _PARTS[extra]
        return Facts(INTEGER, Fraction(least), Fraction(most), Fraction(1), f.nullable)
    if extra == "second":
        return Facts(DECIMAL, Fraction(0), 60 - MICRO, MICRO, f.nullable)
    if extra == "epoch":
        grid = MICRO if f.kind == TIMESTAMP else Fraction(DAY)
        low, high = (_FIRST if f.low is None else f.low), (_LAST if f.high is None else f.high)
        clock = DAY - MICRO if f.kind == TIMESTAMP else 0
        return Facts(DECIMAL, (low - EPOCH) * DAY, (high - EPOCH) * DAY + clock, grid, f.nullable)
    if extra not in YEARS:
        raise Mismatch(f"extract supports year, isoyear, {', '.join(_PARTS)}, second and epoch, but not {extra}")
    if f.low is None or f.high is None:
        return Facts(INTEGER, None, None, Fraction(1), f.nullable)
    iso = extra == "isoyear"
    years = [d.isocalendar()[0] if iso else d.year for d in (date.fromordinal(int(e)) for e in (f.low, f.high))]
    return Facts(INTEGER, Fraction(years[0]), Fraction(years[1]), Fraction(1), f.nullable)


def _extract_span(args: tuple[Node, ...], extra: str) -> Facts:
    """A part of an interval. What age() made has months, which a number of seconds does not tell from days."""
    f, made = args[0].facts, args[0]
    if f.every == AGE and extra in ("epoch", "day") and not (isinstance(made, Call) and made.name == "age"):
        raise Mismatch(f"the {extra} of an interval that age made, and another clause chose, is not known")
    if extra == "epoch":
        return Facts(DECIMAL, f.low, f.high, MICRO, f.nullable)
    if extra not in _SPANS:
        raise Mismatch(f"extract of an interval supports epoch, {', '.join(_SPANS)}, but not {extra}")
    most = {"hour": 23, "minute": 59}.get(extra)
    if f.low is None or f.high is None:  # a released sum
        size = None if most is None else Fraction(most)
        return Facts(INTEGER, None if size is None else -size, size, Fraction(1), f.nullable)
    ends = [int(end / _SPANS[extra]) for end in (f.low, f.high)]
    low, high = ends if most is None else (-most if f.low < 0 else 0, most if f.high > 0 else 0)
    return Facts(INTEGER, Fraction(low), Fraction(high), Fraction(1), f.nullable)


def _date_trunc(args: tuple[Node, ...], extra: str) -> Facts:
    """The first day, or the first moment, of a unit."""
    f = args[0].facts
    if f.kind not in TIMES:
        raise Mismatch(f"date_trunc needs a date or a timestamp, but was given {f.kind}")
    if extra not in UNITS:
        raise Mismatch(f"date_trunc supports {', '.join(UNITS)}, decade, century and millennium, but not {extra}")
    if extra in CLOCK:
        return Facts(TIMESTAMP, f.low, f.high, None, f.nullable, every=extra)
    low, high = (
        None if end is None else Fraction(first_day(extra, date.fromordinal(int(end))).toordinal())
        for end in (f.low, f.high)
    )
    return Facts(DATE, low, high, Fraction(1), f.nullable, every=extra)


def difference(a: Facts, b: Facts, nulls: bool) -> Facts:
    """timestamp - timestamp: an interval."""
    first, last = (_FIRST, _LAST)
    low = ((first if a.low is None else a.low) - (last if b.high is None else b.high) - 1) * DAY
    high = ((last if a.high is None else a.high) - (first if b.low is None else b.low) + 1) * DAY
    return Facts(INTERVAL, low, high, MICRO, nulls)


def _two_times(name: str, args: tuple[Node, ...]) -> tuple[Facts, Facts]:
    a, b = args[0].facts, args[1].facts
    for f in (a, b):
        if f.kind not in TIMES:
            raise Mismatch(f"{name} needs dates or timestamps, but was given {f.kind}")
    return a, b


def _age(args: tuple[Node, ...], _: str) -> Facts:
    """age(a, b), as PostgreSQL compares it: years of 12 months of 30 days. A real month has 28 to 31 days."""
    between = difference(*_two_times("age", args), nullable(args))
    assert between.low is not None
    assert between.high is not None
    room, short, long = Fraction(31 * DAY), Fraction(30, 31), Fraction(30, 28)
    low = between.low * (short if between.low > 0 else long) - room
    high = between.high * (long if between.high > 0 else short) + room
    return Facts(INTERVAL, low, high, MICRO, between.nullable, every=AGE)


def _age_part(args: tuple[Node, ...], extra: str) -> Facts:
    """The whole years, months or days of age(a, b); years grow with a and fall with b."""
    a, b = _two_times("age", args)
    if extra not in ("year", "month", "day"):
        raise Mismatch(f"extract of age supports year, month and day, but not {extra}")
    between = difference(a, b, nulls=False)
    assert between.low is not None
    assert between.high is not None
    years = [_fewest(between.low) - 1, -_fewest(-between.high) + 1]
    most = {"month": 11, "day": 30}.get(extra)
    low, high = years if most is None else (-most, most)
    if a.low is not None and b.high is not None and a.low > b.high:
        low = max(low, 0)
    if extra == "year" and all(end is not None for end in (a.low, a.high, b.low, b.high)):
        low, high = _years(a.low, _later(b.high, b)), _years(_later(a.high, a), b.low)
    return Facts(INTEGER, Fraction(low), Fraction(high), Fraction(1), nullable(args))


def _fewest(span: Fraction) -> int:
    """The fewest whole years in a span of time, which may be negative: a year has 365 or 366 days."""
    return int(span // (366 * DAY)) if span > 0 else int(span // (365 * DAY))


def _later(end: Fraction | None, facts: Facts) -> Fraction | None:
    """The last moment of a bound: a timestamp may be almost a day later than its day."""
    return end if end is None or facts.kind != TIMESTAMP else min(end + 1, _LAST)


def _years(a: Fraction | None, b: Fraction | None) -> int:
    """Whole years from one day to another, negative backwards."""
    assert a is not None
    assert b is not None
    first, last = date.fromordinal(int(b)), date.fromordinal(int(a))
    early, late, sign = (first, last, 1) if first <= last else (last, first, -1)
    return sign * (late.year - early.year - ((late.month, late.day) < (early.month, early.day)))


FORMATS: dict[str, int] = {
    "YYYY": 4, "MM": 2, "DD": 2, "HH24": 2, "MI": 2, "SS": 2, "DDD": 3, "IW": 2, "IYYY": 4, "Q": 1, "D": 1, "ID": 1,
    "Dy": 3, "Mon": 3, "MON": 3, "DY": 3, "YY": 2, "MS": 3, "US": 6, "HH12": 2, "HH": 2, "WW": 2, "W": 1,
    "dy": 3, "mon": 3, "AM": 2, "PM": 2, "am": 2, "pm": 2, "Day": 9, "DAY": 9, "day": 9, "Month": 9, "MONTH": 9,
    "month": 9, "SSSS": 5, "SSSSS": 5,
}  # fmt: skip
"""The patterns of to_char, with their widths: all of one width, as PostgreSQL fills them, and no locale. Only seconds
past midnight are not filled."""
_OTHERS = ("IDDD",)
"""Patterns that PostgreSQL has and that begin with another one."""
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_NAMES = ("MON", "DY", "DAY", "MONTH", "AM", "PM")
_NUMBERS = tuple(word for word in FORMATS if word == word.upper() and word not in _NAMES)
_WORDS = sorted({*FORMATS, *_OTHERS, *(word.lower() for word in (*_NUMBERS, *_OTHERS))}, key=len, reverse=True)
LONGEST_PATTERN = 100
"""Characters of a pattern of to_char."""
_PIECE = re.compile(f"(FM|fm)?({'|'.join(_WORDS)})" + r'|"[^"]*"|[^A-Za-z"\\]')


def pieces(pattern: str) -> list[str] | None:
    """The parts of a to_char pattern: known words, and signs for themselves; None where a part is not known.

    Numbers are in capitals whatever was written, and FM before a word, which is then not filled, is a part of it.
    """
    found, at = [], 0
    while at < len(pattern):
        match = _PIECE.match(pattern, at)
        if match is None:
            return None
        bare, word = match[1], match[2]
        if word is not None and word.upper() in _OTHERS:
            return None
        if bare and word.upper() in ("MS", "US"):
            return None  # which are filled even so
        if word is None:
            found.append(match[0])
        else:
            found.append(("FM" if bare else "") + (word.upper() if word.upper() in _NUMBERS else word))
        at = match.end()
    return found


def names(part: str) -> tuple[str, tuple[str, ...]] | None:
    """Of a pattern that is a name: the part of a date that it names (dow counts from Sunday), and all names of it."""
    word = part.removeprefix("FM")
    kind, whole = ("dow", WEEKDAYS) if word.lower() in ("day", "dy") else ("month", MONTHS)
    if word.lower() not in ("day", "dy", "month", "mon"):
        return None
    made = [name if word.lower() in ("day", "month") else name[:3] for name in whole]
    made = [name.upper() if word.isupper() else name.lower() if word.islower() else name for name in made]
    filled = word.lower() in ("day", "month") and word == part
    return kind, tuple(name.ljust(9) if filled else name for name in made)


def _to_char(args: tuple[Node, ...], extra: str) -> Facts:
    f = args[0].facts
    if f.kind not in TIMES:
        raise Mismatch(f"to_char needs a date or a timestamp, but was given {f.kind}")
    parts = pieces(extra) if len(extra) <= LONGEST_PATTERN else None
    if parts is None:
        raise Mismatch(f"to_char needs a pattern of {', '.join(FORMATS)} and separators between them")
    widths = (FORMATS.get(part.removeprefix("FM"), len(part)) for part in parts)
    return Facts(TEXT, nullable=f.nullable, length=sum(widths))


PARSED = {"%Y": "[0-9]{4}", "%m": "[0-9]{2}", "%d": "[0-9]{2}", "%H": "[0-9]{2}", "%M": "[0-9]{2}", "%S": "[0-9]{2}"}
"""The parts of a text that to_date and to_timestamp read, as patterns of digits."""


def parsed(extra: str) -> list[str] | None:
    """The parts of a format: each of year, month and day once, then the clock; None where a part is not known."""
    found = re.findall(r"%.|[^%]", extra)
    words = [part for part in found if part in PARSED]
    known = all(part in PARSED or part in "-/. :T" for part in found)
    return found if known and len(set(words)) == len(words) and {"%Y", "%m", "%d"} <= set(words) else None


def _from_text(kind: str) -> Rule:
    def rule(args: tuple[Node, ...], extra: str) -> Facts:
        text_facts(args[:1])
        if parsed(extra) is None:
            raise Mismatch(
                "the format must hold YYYY, MM and DD, perhaps HH24, MI and SS, with separators between them"
            )
        return Facts(kind, _FIRST, _LAST, Fraction(1) if kind == DATE else None, True)

    return rule


def _date_bin(args: tuple[Node, ...], extra: str) -> Facts:
    """The start of the bin that holds a moment; `extra`: microseconds of a bin, and of its origin from the year 1."""
    f = args[0].facts
    if f.kind not in TIMES:
        raise Mismatch(f"date_bin needs a date or a timestamp, but was given {f.kind}")
    width = Fraction(int(extra.split(maxsplit=1)[0]), 10**6 * DAY)
    low = _FIRST if f.low is None else f.low
    inside = low - width - 1 >= _FIRST
    below = max(_FIRST, Fraction((low - width) // 1))
    return Facts(TIMESTAMP, below, _LAST if f.high is None else f.high, None, f.nullable or not inside)


def _make_date(args: tuple[Node, ...], _: str) -> Facts:
    """make_date(year, month, day); NULL where there is no such day."""
    for arg in args:
        if arg.facts.kind not in (INTEGER, NULL):
            raise Mismatch(f"make_date needs whole numbers, but was given {arg.facts.kind}")
    year, _month, _day = args
    low, high = _FIRST, _LAST
    if year.facts.low is not None and year.facts.high is not None:
        first, last = (min(max(int(end), 1), 9999) for end in (year.facts.low, year.facts.high))
        low, high = Fraction(date(first, 1, 1).toordinal()), Fraction(date(last, 12, 31).toordinal())
    return Facts(DATE, low, high, Fraction(1), True)


def _interval_text(args: tuple[Node, ...], _: str) -> Facts:
    """An interval as PostgreSQL prints one of days and a time."""
    if args[0].facts.kind != INTERVAL:
        raise Mismatch(f"an interval is needed here, but this is {args[0].facts.kind}")
    return Facts(TEXT, nullable=args[0].facts.nullable, length=40, every=INTERVAL)


def _interval_of(args: tuple[Node, ...], _: str) -> Facts:
    """A number of seconds, to the microsecond, as an interval."""
    f = args[0].facts
    if not f.exact or f.grid is None or (f.grid / MICRO).denominator != 1:
        raise Mismatch("an interval is made of whole microseconds")
    return fit(Facts(INTERVAL, f.low, f.high, MICRO, f.nullable))


def _shift(args: tuple[Node, ...], extra: str) -> Facts:
    """A date or a timestamp and an interval: a timestamp; NULL beyond the years 1 to 9999."""
    f, span = args[0].facts, intervals.stored(extra)
    if f.kind not in TIMES:
        raise Mismatch(f"an interval can only be added to a date or a timestamp, but this is {f.kind}")
    first, last = intervals.FIRST, intervals.LAST
    clock = intervals.DAY - 1 if f.kind == TIMESTAMP else 0
    low = intervals.later_day(first if f.low is None else int(f.low), span)
    high = intervals.later_day(last if f.high is None else int(f.high), span, clock)
    if high < first or low > last:
        raise Mismatch("the result is outside the years 1 to 9999")
    inside = first <= low and high <= last
    return Facts(TIMESTAMP, Fraction(max(low, first)), Fraction(min(high, last)), None, f.nullable or not inside)


def _later_by(args: tuple[Node, ...], _: str) -> Facts:
    """A time and an interval that rows hold: a timestamp; NULL beyond the years 1 to 9999."""
    f, by = args[0].facts, args[1].facts
    if f.kind not in TIMES or by.kind != INTERVAL or by.every == AGE:
        raise Mismatch("an interval can only be added to a date or a timestamp")
    if by.low is None or by.high is None:
        raise Mismatch("an interval that is added to a time needs bounds")
    low = (_FIRST if f.low is None else f.low) + by.low // DAY
    high = (_LAST if f.high is None else f.high) + by.high // DAY + 1
    if high < _FIRST or low > _LAST:
        raise Mismatch("the result is outside the years 1 to 9999")
    inside = low >= _FIRST and high <= _LAST
    return Facts(TIMESTAMP, max(low, _FIRST), min(high, _LAST), None, nullable(args) or not inside)


TIME_FUNCTIONS = (
    ScalarFunction(
        "extract", _extract, "extract(part from time)", "year, month, day, dow, hour, epoch and other parts"
    ),
    ScalarFunction(
        "date_trunc", _date_trunc, "date_trunc('month', time)", "the start of the unit that contains a time"
    ),
    ScalarFunction("age", _age, "age(later, earlier)", "the interval between two times", by_name=True),
    ScalarFunction(
        "age_part", _age_part, "extract(year from age(later, earlier))", "whole years, months or days between two times"
    ),
    ScalarFunction(
        "to_char",
        _to_char,
        "to_char(time, 'YYYY-MM'), to_char(number, '9,990.00')",
        "a time or a number as text",
        by_name=True,
    ),
    ScalarFunction(
        "to_date",
        _from_text(DATE),
        "to_date(text, 'YYYY-MM-DD')",
        "a text as a date; NULL if it is not one",
        by_name=True,
    ),
    ScalarFunction(
        "to_timestamp",
        _from_text(TIMESTAMP),
        "to_timestamp(text, 'YYYY-MM-DD')",
        "a text as a timestamp; NULL if it is not one",
        by_name=True,
    ),
    ScalarFunction(
        "date_bin", _date_bin, "date_bin(stride, time, origin)", "the start of the stride that contains a time"
    ),
    ScalarFunction(
        "make_date", _make_date, "make_date(year, month, day)", "a date; NULL if there is no such day", by_name=True
    ),
    ScalarFunction(
        "later by", _later_by, "time + x * interval '1 day'", "a time moved by a number of days or shorter units"
    ),
    ScalarFunction("interval_text", _interval_text, "interval::text", "an interval as PostgreSQL prints it"),
    ScalarFunction("interval_of", _interval_of, "avg(later - earlier)", "a mean, or a sum, of intervals"),
    ScalarFunction(
        "shift", _shift, "time + interval '1 month'", "a time moved by an interval; NULL beyond the years 1 to 9999"
    ),
)
"""Functions of time."""
