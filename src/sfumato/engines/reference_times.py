"""What each function of dates, timestamps and intervals means, for the reference interpreter.

Comes in: a call and the values of its arguments, none of them NULL. Goes out: its value; None beyond the years 1 to
9999. An interval is a Fraction of seconds. The meaning is PostgreSQL's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from typing import Any

from sfumato.algebra.calendar_units import first_day, first_moment
from sfumato.algebra.functions.times import PARSED, names, parsed, pieces
from sfumato.algebra.interval_values import Span, between, shown
from sfumato.algebra.tree import DATE, INTERVAL, Call

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  times have no zone here


def moment(value: Any) -> datetime:
    """A day among moments is its first one."""
    return value if isinstance(value, datetime) else datetime.combine(value, time())


def seconds(span: timedelta) -> Fraction:
    """A span of time, exactly."""
    return Fraction(span // timedelta(microseconds=1), 10**6)


def _extract(call: Call, value: Any) -> Any:
    if call.args[0].facts.kind == INTERVAL:
        return _part_of_span(call.extra, value)
    parts: dict[str, Callable[[Any], Any]] = {
        "year": lambda d: d.year,
        "isoyear": lambda d: d.isocalendar()[0],
        "month": lambda d: d.month,
        "day": lambda d: d.day,
        "quarter": lambda d: (d.month + 2) // 3,
        "dow": lambda d: d.isoweekday() % 7,
        "isodow": lambda d: d.isoweekday(),
        "doy": lambda d: d.timetuple().tm_yday,
        "week": lambda d: d.isocalendar()[1],
        "hour": lambda d: moment(d).hour,
        "minute": lambda d: moment(d).minute,
        "second": lambda d: Fraction(moment(d).second) + Fraction(moment(d).microsecond, 10**6),
        "epoch": lambda d: seconds(moment(d) - _EPOCH),
    }
    return Fraction(parts[call.extra](value))


def _part_of_span(part: str, span: Fraction) -> Fraction:
    """Days, then hours of the rest, then minutes of that rest; all with the sign of the span."""
    sign, size = (-1 if span < 0 else 1), abs(span)
    if part == "epoch":
        return span
    found = {"day": size // 86_400, "hour": size % 86_400 // 3600, "minute": size % 3600 // 60}[part]
    return Fraction(sign * found)


def _date_trunc(call: Call, value: Any) -> Any:
    if call.facts.kind != DATE:
        return first_moment(call.extra, moment(value))
    return first_day(call.extra, moment(value).date())


def _age(_: Call, a: Any, b: Any) -> Fraction:
    return Fraction(between(a, b).compared, 10**6)


def _age_part(call: Call, a: Any, b: Any) -> Fraction:
    span = between(a, b)
    sign, months = (-1 if span.months < 0 else 1), abs(span.months)
    parts = {"year": sign * (months // 12), "month": sign * (months % 12), "day": span.days}
    return Fraction(parts[call.extra])


def _to_char(call: Call, value: Any) -> str:
    at = moment(value)
    known: dict[str, str] = {
        "YYYY": f"{at.year:04}", "YY": f"{at.year % 100:02}", "MM": f"{at.month:02}", "DD": f"{at.day:02}",
        "HH24": f"{at.hour:02}", "MI": f"{at.minute:02}", "SS": f"{at.second:02}", "MS": f"{at.microsecond // 1000:03}",
        "US": f"{at.microsecond:06}", "DDD": f"{at.timetuple().tm_yday:03}", "IW": f"{at.isocalendar()[1]:02}",
        "IYYY": f"{at.isocalendar()[0]:04}", "Q": str((at.month + 2) // 3), "D": str(at.isoweekday() % 7 + 1),
        "ID": str(at.isoweekday()), "HH12": f"{(at.hour + 11) % 12 + 1:02}", "HH": f"{(at.hour + 11) % 12 + 1:02}",
        **dict.fromkeys(("SSSS", "SSSSS"), str(at.hour * 3600 + at.minute * 60 + at.second)),
        "WW": f"{(at.timetuple().tm_yday + 6) // 7:02}", "W": str((at.day + 6) // 7),
    }  # fmt: skip
    shown = []
    for part in pieces(call.extra) or []:
        word, named = part.removeprefix("FM"), names(part)
        if named is not None:
            shown.append(named[1][at.isoweekday() % 7 if named[0] == "dow" else at.month - 1])
        elif word in ("AM", "PM", "am", "pm"):
            half = "AM" if at.hour < 12 else "PM"
            shown.append(half if word.isupper() else half.lower())
        elif word in known:
            shown.append(known[word] if word == part else str(int(known[word])))
        else:
            shown.append(part[1:-1] if part.startswith('"') else part)
    return "".join(shown)


def _from_text(call: Call, text: str) -> Any:
    """Digits of fixed width at their places, and the signs between them; everything else is NULL."""
    parts = parsed(call.extra) or []
    found = re.fullmatch("".join(f"({PARSED[p]})" if p in PARSED else re.escape(p) for p in parts), text)
    if found is None:
        return None
    numbers = dict(zip((p for p in parts if p in PARSED), map(int, found.groups()), strict=True))
    try:
        at = datetime(*(numbers.get(p, 0) for p in ("%Y", "%m", "%d", "%H", "%M", "%S")))  # type: ignore[arg-type]  # noqa: DTZ001  the same
    except ValueError:
        return None
    return at.date() if call.facts.kind == DATE else at


def _date_bin(call: Call, value: Any) -> Any:
    """The start of the bin that holds the moment, counted from the origin."""
    width, origin = map(int, call.extra.split())
    first = datetime(1, 1, 1)  # noqa: DTZ001  the same
    at = (moment(value) - first) // timedelta(microseconds=1)
    start = origin + (at - origin) // width * width
    return None if start < 0 else first + timedelta(microseconds=start)


def _later_by(_: Call, value: Any, by: Any) -> Any:
    """The moment so many seconds later; NULL beyond the years 1 to 9999."""
    try:
        return moment(value) + timedelta(microseconds=int(by * 10**6))
    except OverflowError:
        return None


def _make_date(_: Call, year: Any, month: Any, day: Any) -> Any:
    try:
        return date(int(year), int(month), int(day))
    except (ValueError, OverflowError):
        return None


def _interval_text(_: Call, span: Fraction) -> str:
    sign, micros = (-1 if span < 0 else 1), int(abs(span) * 10**6)
    days, rest = divmod(micros, 86_400 * 10**6)
    return shown(Span(0, sign * days, sign * rest))


TIMES: dict[str, Callable[..., Any]] = {
    "extract": _extract,
    "date_trunc": _date_trunc,
    "age": _age,
    "age_part": _age_part,
    "to_char": _to_char,
    "to_date": _from_text,
    "to_timestamp": _from_text,
    "date_bin": _date_bin,
    "make_date": _make_date,
    "later by": _later_by,
    "interval_text": _interval_text,
    "interval_of": lambda _, seconds: Fraction(seconds),
}
"""Functions of time that are NULL where an argument is."""
