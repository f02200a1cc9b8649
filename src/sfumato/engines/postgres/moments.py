"""Functions of dates, timestamps and intervals as PostgreSQL's SQL: total, NULL where there is no value.

Comes in: a call and the SQL of its arguments. Goes out: text. An interval is a whole number of microseconds.
"""

from __future__ import annotations

from collections.abc import Callable

from sfumato.algebra.functions.times import PARSED, names, parsed, pieces
from sfumato.algebra.tree import DATE, INTERVAL, Call
from sfumato.engines.postgres import casts
from sfumato.engines.postgres.spelling import once
from sfumato.types import string

_DAY = 86_400_000_000
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The first moment of the year 1, in microseconds from 1970."""
_CLOCK = "EXTRACT(hour FROM x)::bigint * 3600000000 + EXTRACT(minute FROM x)::bigint * 60000000"
_CLOCK += " + EXTRACT(microseconds FROM x)::bigint"
_EPOCH = f"((x::date - '1970-01-01'::date)::bigint * {_DAY} + {_CLOCK})"
"""Microseconds of a timestamp x from 1970, exactly: older servers give a double for them."""


def micros(x: str) -> str:
    """Microseconds from 1970."""
    return once({"x": f"{x}::timestamp"}, _EPOCH)


def difference(_: Call, args: list[str]) -> str:
    """Microseconds from one moment to another."""
    return f"({micros(args[0])} - {micros(args[1])})"


def extract(node: Call, args: list[str]) -> str:
    """A part of a moment, or of an interval."""
    kind, x = node.args[0].facts.kind, args[0]
    if kind == INTERVAL:
        sizes = {"day": (86_400, None), "hour": (3600, 86_400), "minute": (60, 3600)}
        if node.extra == "epoch":
            return x
        size, within = sizes[node.extra]
        rest = x if within is None else f"({x} % {within * 10**6})"
        return f"({rest} / {size * 10**6})"
    if node.extra == "epoch":
        return micros(x) if kind != DATE else f"({x} - '1970-01-01'::date)::bigint"
    part = {"second": "microseconds"}.get(node.extra, node.extra)
    return f"EXTRACT({part} FROM {x}::timestamp)::{'bigint' if node.facts.bounded else 'numeric'}"


def date_trunc(node: Call, args: list[str]) -> str:
    """The first day, or the first moment, of a unit; the first week of the year 1 begins on its first day."""
    kind = "date" if node.facts.kind == DATE else "timestamp"
    return f"date_trunc('{node.extra}', {args[0]}::timestamp)::{kind}"


def age(_: Call, args: list[str]) -> str:
    """As PostgreSQL compares it: a month has 30 days."""
    return once(
        {"x": f"age({args[0]}::timestamp, {args[1]}::timestamp)"},
        f"{_DAY} * (30 * (12 * EXTRACT(year FROM x)::bigint + EXTRACT(month FROM x)::bigint)"
        f" + EXTRACT(day FROM x)::bigint) + {_CLOCK}",
    )


def age_part(node: Call, args: list[str]) -> str:
    """Whole years, months or days."""
    return f"EXTRACT({node.extra} FROM age({args[0]}::timestamp, {args[1]}::timestamp))::bigint"


_PADDED = {
    "YYYY": ("year", 4),
    "MM": ("month", 2),
    "DD": ("day", 2),
    "HH24": ("hour", 2),
    "MI": ("minute", 2),
    "DDD": ("doy", 3),
    "IW": ("week", 2),
    "IYYY": ("isoyear", 4),
    "Q": ("quarter", 1),
    "ID": ("isodow", 1),
}


def to_char(node: Call, args: list[str]) -> str:
    """Each pattern by itself: numbers filled with zeros, names in English."""
    shown = " || ".join(map(_piece, pieces(node.extra) or [])) or "''"
    return f'({once({"x": f"{args[0]}::timestamp"}, f"CASE WHEN x IS NOT NULL THEN {shown} END")})::text COLLATE "C"'


def _piece(part: str) -> str:
    named, word = names(part), part.removeprefix("FM")
    if named is not None:
        listed = ", ".join(map(string, named[1]))
        return f"(ARRAY[{listed}])[EXTRACT({named[0]} FROM x)::int{' + 1' if named[0] == 'dow' else ''}]"
    if word in ("AM", "PM", "am", "pm"):
        early, late = ("AM", "PM") if word.isupper() else ("am", "pm")
        return f"CASE WHEN EXTRACT(hour FROM x) < 12 THEN '{early}' ELSE '{late}' END"
    if word != part:
        return f"({_piece(word)})::bigint::text"
    if part in _PADDED:
        word, width = _PADDED[part]
        return _filled(f"EXTRACT({word} FROM x)::bigint", width)
    second = "EXTRACT(microseconds FROM x)::bigint"
    known = {
        "YY": _filled("(EXTRACT(year FROM x)::bigint % 100)", 2),
        **dict.fromkeys(("SSSS", "SSSSS"), "trunc(EXTRACT(epoch FROM x::time))::bigint::text"),
        "SS": _filled(f"({second} / 1000000)", 2),
        "MS": _filled(f"({second} % 1000000 / 1000)", 3),
        "US": _filled(f"({second} % 1000000)", 6),
        "D": _filled("(EXTRACT(dow FROM x)::bigint + 1)", 1),
        "HH12": _filled("((EXTRACT(hour FROM x)::bigint + 11) % 12 + 1)", 2),
        "HH": _filled("((EXTRACT(hour FROM x)::bigint + 11) % 12 + 1)", 2),
        "WW": _filled("((EXTRACT(doy FROM x)::bigint + 6) / 7)", 2),
        "W": _filled("((EXTRACT(day FROM x)::bigint + 6) / 7)", 1),
    }
    return known.get(part) or string(part[1:-1] if part.startswith('"') else part)


def _filled(sql: str, width: int) -> str:
    return f"lpad(({sql})::text, {width}, '0')"


def from_text(node: Call, args: list[str]) -> str:
    """to_date and to_timestamp: digits at fixed places, everything else is NULL."""
    parts, places, at = parsed(node.extra) or [], dict[str, int](), 1
    for part in parts:
        places[part] = at
        at += {"%Y": 4}.get(part, 2) if part in PARSED else 1
    pattern = "".join(PARSED.get(p, f"[{p}]") for p in parts)
    day = " || '-' || ".join(f"substring(x, {places[p]}, {4 if p == '%Y' else 2})" for p in ("%Y", "%m", "%d"))
    found, known = casts.day(f"({day})"), [f"x ~ {string(f'^{pattern}$')}"]
    if node.facts.kind != DATE:
        found = f"{found}::timestamp"
        for p, below, unit in (("%H", 24, 3600), ("%M", 60, 60), ("%S", 60, 1)):
            if p in places:
                two = f"substring(x, {places[p]}, 2)"
                known.append(f"{two} < '{below}'")
                found += f" + {two}::int * '{unit} seconds'::interval"
    return once({"x": args[0]}, f"CASE WHEN {' AND '.join(known)} THEN {found} END")


def date_bin(node: Call, args: list[str]) -> str:
    """The start of a bin, in whole microseconds from the year 1."""
    width, origin = map(int, node.extra.split())
    at = f"({micros(args[0])}::numeric - ({_FIRST}) - ({origin}))"
    start = once({"a": at}, f"a - ((a % {width}) + {width}) % {width} + ({origin})")
    moved = f"'0001-01-01'::timestamp + div(s, {_DAY})::int * '1 day'::interval"
    return once({"s": start}, f"CASE WHEN s >= 0 THEN {moved} + (s % {_DAY})::float8 * '1 microsecond'::interval END")


def later_by(_: Call, args: list[str]) -> str:
    """A moment, and microseconds; beyond the years 1 to 9999 NULL."""
    at = f"({micros(args[0])}::numeric - ({_FIRST}) + {args[1]})"
    moved = f"'0001-01-01'::timestamp + div(s, {_DAY})::int * '1 day'::interval"
    clock = f"(s % {_DAY})::float8 * '1 microsecond'::interval"
    return once({"s": at}, f"CASE WHEN s BETWEEN 0 AND {_LAST - _FIRST} THEN {moved} + {clock} END")


def make_date(_: Call, args: list[str]) -> str:
    """NULL where there is no such day."""
    inside = "y BETWEEN 1 AND 9999 AND m BETWEEN 1 AND 12 AND d BETWEEN 1 AND 31"
    text = f"{_filled('y::int', 4)} || '-' || {_filled('m::int', 2)} || '-' || {_filled('d::int', 2)}"
    shown = once({"x": f"CASE WHEN {inside} THEN {text} END"}, casts.day("x"))
    return once(dict(zip("ymd", args, strict=True)), shown)


def interval_text(_: Call, args: list[str]) -> str:
    """Days, then a time; each with its sign where it is negative."""
    clock = " || ':' || ".join(_filled(part, 2) for part in ("r / 3600000000", "r / 60000000 % 60", "r / 1000000 % 60"))
    tail = f"CASE WHEN r % 1000000 = 0 THEN '' ELSE '.' || rtrim({_filled('r % 1000000', 6)}, '0') END"
    sign = "CASE WHEN x < 0 THEN '-' ELSE '' END"
    days = "CASE WHEN d = 0 THEN '' ELSE d::text || CASE WHEN d = 1 THEN ' day' ELSE ' days' END END"
    between = "CASE WHEN d = 0 OR r = 0 THEN '' ELSE ' ' END"
    time = f"CASE WHEN r = 0 AND d <> 0 THEN '' ELSE {sign} || {clock} || {tail} END"
    x = args[0]
    values = {"x": x, "d": f"({x} / {_DAY})", "r": f"abs({x} % {_DAY})"}
    return f'({once(values, f"({days} || {between} || {time})")} COLLATE "C")'


MOMENTS: dict[str, Callable[[Call, list[str]], str]] = {
    "extract": extract,
    "date_trunc": date_trunc,
    "age": age,
    "age_part": age_part,
    "to_char": to_char,
    "to_date": from_text,
    "to_timestamp": from_text,
    "date_bin": date_bin,
    "make_date": make_date,
    "later by": later_by,
    "interval_text": interval_text,
}
"""Functions of time by name."""
