"""Functions of dates, timestamps and intervals as DuckDB spells them: total, NULL where there is no value.

Comes in: a call and the SQL of its arguments. Goes out: SQL. An interval is a whole number of microseconds.
"""

from __future__ import annotations

from sfumato.algebra.functions.times import PARSED, names, parsed, pieces
from sfumato.algebra.tree import DATE, INTERVAL, Call, Node
from sfumato.types import string

_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The first moment of the year 1, in microseconds from 1970."""


def moment(node: Node, sql: str) -> str:
    """A date or a timestamp as a timestamp."""
    return f"CAST({sql} AS TIMESTAMP)" if node.facts.kind == DATE else sql


def difference(node: Call, args: list[str]) -> str:
    """Microseconds from one moment to another."""
    a, b = (f"epoch_us({moment(arg, sql)})" for arg, sql in zip(node.args, args, strict=True))
    return f"({a} - {b})"


def extract(node: Call, args: list[str]) -> str:
    """A part of a moment, or of an interval."""
    arg, x = node.args[0], args[0]
    if arg.facts.kind == INTERVAL:
        sizes = {"day": (86_400, None), "hour": (3600, 86_400), "minute": (60, 3600)}
        if node.extra == "epoch":
            return x
        size, within = sizes[node.extra]
        rest = x if within is None else f"({x} % {within * 10**6})"
        return f"({rest} // {size * 10**6})"
    if node.extra == "epoch":
        return f"epoch_us({x})" if arg.facts.kind != DATE else f"CAST({x} - DATE '1970-01-01' AS BIGINT)"
    if node.extra == "second":
        return f"CAST(EXTRACT(microsecond FROM {moment(arg, x)}) AS BIGINT)"
    return f"CAST(EXTRACT({node.extra} FROM {x}) AS BIGINT)"


def date_trunc(node: Call, args: list[str]) -> str:
    """The first day, or the first moment, of a unit."""
    kind = "DATE" if node.facts.kind == DATE else "TIMESTAMP"
    return f"CAST(date_trunc({string(node.extra)}, {moment(node.args[0], args[0])}) AS {kind})"


def _months_days(node: Call, args: list[str]) -> tuple[str, str, str]:
    """Months, days and microseconds of age."""
    a, b = (moment(arg, sql) for arg, sql in zip(node.args, args, strict=True))
    span = f"age({a}, {b})"
    months = f"(12 * CAST(date_part('year', {span}) AS BIGINT) + CAST(date_part('month', {span}) AS BIGINT))"
    clock = (
        f"(3600000000 * CAST(date_part('hour', {span}) AS BIGINT) + 60000000 * CAST(date_part('minute', {span}) AS"
        f" BIGINT) + CAST(date_part('microsecond', {span}) AS BIGINT))"
    )
    return months, f"CAST(date_part('day', {span}) AS BIGINT)", clock


def age(node: Call, args: list[str]) -> str:
    """As PostgreSQL compares it: a month has 30 days."""
    months, days, clock = _months_days(node, args)
    return f"(86400000000 * (30 * {months} + {days}) + {clock})"


def age_part(node: Call, args: list[str]) -> str:
    """Whole years, months or days."""
    months, days, _ = _months_days(node, args)
    return {"year": f"({months} // 12)", "month": f"({months} % 12)", "day": days}[node.extra]


_PADDED = {"YYYY": ("year", 4), "MM": ("month", 2), "DD": ("day", 2), "HH24": ("hour", 2), "MI": ("minute", 2),
           "DDD": ("doy", 3), "IW": ("week", 2), "IYYY": ("isoyear", 4), "Q": ("quarter", 1),
           "ID": ("isodow", 1)}  # fmt: skip


def to_char(node: Call, args: list[str]) -> str:
    """Each pattern by itself: numbers filled with zeros, names in English."""
    x = moment(node.args[0], args[0])
    shown = [_piece(part, x) for part in pieces(node.extra) or []]
    return f"CASE WHEN {x} IS NOT NULL THEN {' || '.join(shown) or repr('')} END"


def _piece(part: str, x: str) -> str:
    named, word = names(part), part.removeprefix("FM")
    if named is not None:
        listed = ", ".join(map(string, named[1]))
        return f"[{listed}][CAST(EXTRACT({named[0]} FROM {x}) AS BIGINT){' + 1' if named[0] == 'dow' else ''}]"
    if word in ("AM", "PM", "am", "pm"):
        early, late = ("AM", "PM") if word.isupper() else ("am", "pm")
        return f"CASE WHEN EXTRACT(hour FROM {x}) < 12 THEN '{early}' ELSE '{late}' END"
    if word != part:
        return f"CAST(CAST({_piece(word, x)} AS BIGINT) AS VARCHAR)"
    if part in _PADDED:
        word, width = _PADDED[part]
        return _number(f"EXTRACT({word} FROM {x})", width)
    clock = f"(EXTRACT(hour FROM {x}) * 3600 + EXTRACT(minute FROM {x}) * 60)"
    micros = f"CAST(EXTRACT(microsecond FROM {x}) AS BIGINT)"
    known = {
        "YY": _number(f"(EXTRACT(year FROM {x}) % 100)", 2),
        **dict.fromkeys(("SSSS", "SSSSS"), f"CAST({clock} + {micros} // 1000000 AS VARCHAR)"),
        "SS": _number(f"({micros} // 1000000)", 2),
        "MS": _number(f"({micros} % 1000000 // 1000)", 3),
        "US": _number(f"({micros} % 1000000)", 6),
        "D": _number(f"(EXTRACT(dow FROM {x}) + 1)", 1),
        "HH12": _number(f"((EXTRACT(hour FROM {x}) + 11) % 12 + 1)", 2),
        "HH": _number(f"((EXTRACT(hour FROM {x}) + 11) % 12 + 1)", 2),
        "WW": _number(f"((EXTRACT(doy FROM {x}) + 6) // 7)", 2),
        "W": _number(f"((EXTRACT(day FROM {x}) + 6) // 7)", 1),
    }
    return known.get(part) or string(part[1:-1] if part.startswith('"') else part)


def _number(sql: str, width: int) -> str:
    return f"LPAD(CAST({sql} AS VARCHAR), {width}, '0')"


def from_text(node: Call, args: list[str]) -> str:
    """to_date and to_timestamp: digits at fixed places, everything else is NULL."""
    parts = parsed(node.extra) or []
    places, at = dict[str, int](), 1
    for part in parts:
        places[part] = at
        at += {"%Y": 4}.get(part, 2) if part in PARSED else 1
    pattern = "".join(PARSED.get(p, f"[{p}]") for p in parts)
    wanted = [("%Y", 4, "-"), ("%m", 2, "-"), ("%d", 2, " "), ("%H", 2, ":"), ("%M", 2, ":"), ("%S", 2, "")]
    pieces_of = [
        f"SUBSTRING({args[0]}, {places[p]}, {width}) || {string(after)}" if p in places else string("00" + after)
        for p, width, after in wanted
    ]
    text = " || ".join(pieces_of)
    known = f"REGEXP_FULL_MATCH({args[0]}, {string(pattern)}) AND SUBSTRING({args[0]}, {places['%Y']}, 4) <> '0000'"
    seconds = f" AND SUBSTRING({args[0]}, {places['%S']}, 2) < '60'" if "%S" in places else ""
    hours = f" AND SUBSTRING({args[0]}, {places['%H']}, 2) < '24'" if "%H" in places else ""
    kind = "DATE" if node.facts.kind == DATE else "TIMESTAMP"
    return f"CASE WHEN {known}{seconds}{hours} THEN CAST(TRY_CAST({text} AS TIMESTAMP) AS {kind}) END"


def date_bin(node: Call, args: list[str]) -> str:
    """The start of a bin, in whole microseconds from the year 1."""
    width, origin = map(int, node.extra.split())
    at = f"(CAST(epoch_us({moment(node.args[0], args[0])}) AS HUGEINT) - ({_FIRST}) - {origin})"
    start = f"({at} - (({at} % {width}) + {width}) % {width} + {origin})"
    return f"CASE WHEN {start} >= 0 THEN make_timestamp(CAST({start} + ({_FIRST}) AS BIGINT)) END"


def later_by(node: Call, args: list[str]) -> str:
    """A moment, and microseconds; beyond the years 1 to 9999 NULL."""
    at = f"(CAST(epoch_us({moment(node.args[0], args[0])}) AS HUGEINT) + {args[1]})"
    return f"CASE WHEN {at} BETWEEN {_FIRST} AND {_LAST} THEN make_timestamp(CAST({at} AS BIGINT)) END"


def make_date(_: Call, args: list[str]) -> str:
    """NULL where there is no such day."""
    year, month, day = args
    inside = f"{year} BETWEEN 1 AND 9999 AND {month} BETWEEN 1 AND 12 AND {day} BETWEEN 1 AND 31"
    text = " || '-' || ".join(_number(part, width) for part, width in ((year, 4), (month, 2), (day, 2)))
    return f"CASE WHEN {inside} THEN TRY_CAST({text} AS DATE) END"


def interval_text(_: Call, args: list[str]) -> str:
    """Days, then a time; each with its sign where it is negative."""
    x, day = args[0], 86_400 * 10**6
    days, rest = f"({x} // {day})", f"ABS({x} % {day})"
    sign = f"CASE WHEN {x} < 0 THEN '-' ELSE '' END"
    parts = [f"({rest} // 3600000000)", f"({rest} // 60000000 % 60)", f"({rest} // 1000000 % 60)"]
    clock = " || ':' || ".join(_number(part, 2) for part in parts)
    fraction = _number(f"({rest} % 1000000)", 6)
    tail = f"CASE WHEN {rest} % 1000000 = 0 THEN '' ELSE '.' || RTRIM({fraction}, '0') END"
    word = f"CAST({days} AS VARCHAR) || CASE WHEN {days} = 1 THEN ' day' ELSE ' days' END"
    before = f"CASE WHEN {days} = 0 THEN '' ELSE {word} END"
    between = f"CASE WHEN {days} = 0 OR {rest} = 0 THEN '' ELSE ' ' END"
    time = f"CASE WHEN {rest} = 0 AND {days} <> 0 THEN '' ELSE {sign} || {clock} || {tail} END"
    return f"({before} || {between} || {time})"


TIME_SPELLINGS = {
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
