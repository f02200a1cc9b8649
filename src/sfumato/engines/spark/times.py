"""Functions of dates, timestamps and intervals as Spark's SQL: total, NULL where there is no value.

Comes in: a call and the SQL of its arguments, over the years 1 to 9999, which the scan sees to. Goes out: text. An
interval is a whole number of microseconds; a timestamp is one in UTC, which the session's time zone is.
"""

from __future__ import annotations

from collections.abc import Callable

from sfumato.algebra import interval_values as intervals
from sfumato.algebra.functions.times import PARSED, names, parsed, pieces
from sfumato.algebra.tree import DATE, INTERVAL, Call
from sfumato.engines.spark import casts
from sfumato.engines.spark.spelling import WIDE, once, text, whole
from sfumato.errors import QueryError

DAY = 86_400_000_000
FIRST = -62_135_596_800_000_000
"""The first moment of the year 1, in microseconds from 1970."""
LAST = 253_402_300_799_999_999
_FARTHEST = 100_000 * 366
"""Days that an interval may lead away: no stage of it leaves what Spark holds."""


def micros(x: str) -> str:
    """Microseconds from 1970."""
    return f"unix_micros(CAST({x} AS TIMESTAMP))"


def days(x: str) -> str:
    """Days from 1970."""
    return f"CAST(unix_date({x}) AS BIGINT)"


def arithmetic(node: Call, a: str, b: str) -> str:
    """A date and days, or the days between two dates; the bounds of both are known."""
    if node.facts.kind != DATE:
        return f"({days(a)} - {days(b)})"
    if node.args[0].facts.kind != DATE:
        a, b = b, a
    return f"date_add({a}, CAST({'' if node.name == '+' else '-'}({b}) AS INT))"


def difference(_: Call, args: list[str]) -> str:
    """Microseconds from one moment to another."""
    return f"({micros(args[0])} - {micros(args[1])})"


def shift(node: Call, x: str) -> str:
    """Months, then days, then the clock; beyond the years 1 to 9999 NULL."""
    span = intervals.stored(node.extra)
    if abs(span.months) * 31 + abs(span.days) + abs(span.microseconds) // DAY > _FARTHEST:
        raise QueryError(
            "this interval leads too far away from the years 1 to 9999",
            position=node.position,
            hint="Use a shorter interval.",
        )
    day, clock = "CAST(x AS DATE)", "pmod(unix_micros(x), 86400000000L)"
    moved = f"add_months({day}, {span.months})" if span.months else day
    at = f"(CAST(unix_date({moved}) AS BIGINT) + ({span.days}L)) * {DAY}L + {clock} + ({span.microseconds}L)"
    inside = f"CASE WHEN m BETWEEN {FIRST}L AND {LAST}L THEN timestamp_micros(m) END"
    found = once({"x": f"CAST({x} AS TIMESTAMP)"}, once({"m": at}, inside))
    return f"CAST({found} AS DATE)" if node.facts.kind == DATE else found


_PARTS = {
    "year": "year(d)",
    "isoyear": "extract(YEAROFWEEK FROM d)",
    "month": "month(d)",
    "day": "day(d)",
    "quarter": "quarter(d)",
    "dow": "(dayofweek(d) - 1)",
    "isodow": "(weekday(d) + 1)",
    "doy": "dayofyear(d)",
    "week": "weekofyear(d)",
}
_CLOCK = {"hour": (3_600_000_000, DAY), "minute": (60_000_000, 3_600_000_000), "second": (1, 60_000_000)}


def part(word: str, x: str) -> str:
    """A part of a date or a timestamp; a second in microseconds."""
    if word in _PARTS:
        return f"CAST({once({'d': f'CAST({x} AS DATE)'}, _PARTS[word])} AS BIGINT)"
    size, within = _CLOCK[word]
    return f"(pmod({micros(x)}, {within}L) div {size}L)"


def extract(node: Call, args: list[str]) -> str:
    """A part of a moment, or of an interval."""
    kind, x = node.args[0].facts.kind, args[0]
    if kind == INTERVAL:
        sizes = {"day": (86_400, None), "hour": (3600, 86_400), "minute": (60, 3600)}
        if node.extra == "epoch":
            return x
        size, within = sizes[node.extra]
        rest = x if within is None else f"({x} % {within * 10**6}L)"
        return f"({rest} div {size * 10**6}L)"
    if node.extra == "epoch":
        return micros(x) if kind != DATE else days(x)
    found = part(node.extra, x)
    return found if node.facts.bounded else f"CAST({found} AS {WIDE})"


def date_trunc(node: Call, args: list[str]) -> str:
    """The first day, or the first moment, of a unit; the first day of all is a Monday."""
    sizes, x = {"hour": 3600, "minute": 60, "second": 1}, args[0]
    if node.extra in sizes:
        size = sizes[node.extra] * 10**6
        found = once({"m": micros(x)}, f"timestamp_micros(m - pmod(m, {size}L))")
        return f"CAST({found} AS DATE)" if node.facts.kind == DATE else found
    day = f"CAST({x} AS DATE)"
    day = day if node.extra == "day" else f"trunc({day}, '{node.extra.upper()}')"
    return day if node.facts.kind == DATE else f"CAST({day} AS TIMESTAMP)"


def _age(result: str, args: list[str]) -> str:
    """A result over M months, D days and C microseconds between two moments, field by field, with borrowing.

    `s` is the sign; the days that a month lends are those of the month of the earlier moment, at most twice.
    """
    lent = "CASE WHEN e >= 0L THEN 0L WHEN e + g >= 0L THEN 1L ELSE 2L END"
    borrowed = once(
        {"e": "(CAST(day(CAST(a AS DATE)) - day(CAST(b AS DATE)) AS BIGINT) - CASE WHEN c < 0L THEN 1L ELSE 0L END)"},
        once({"g": "CAST(day(last_day(CAST(b AS DATE))) AS BIGINT)"}, once({"k": lent}, result)),
    )
    clock = "(pmod(unix_micros(a), 86400000000L) - pmod(unix_micros(b), 86400000000L))"
    later = "CASE WHEN f < o THEN o ELSE f END"
    earlier = "CASE WHEN f < o THEN f ELSE o END"
    sign = "CASE WHEN f < o THEN (-1L) ELSE 1L END"
    inner = once({"s": sign}, once({"a": later}, once({"b": earlier}, once({"c": clock}, borrowed))))
    moments = {"f": f"CAST({args[0]} AS TIMESTAMP)", "o": f"CAST({args[1]} AS TIMESTAMP)"}
    return once(moments, f"CASE WHEN f IS NOT NULL AND o IS NOT NULL THEN {inner} END")


_MONTHS_OF = "(CAST((year(a) - year(b)) * 12 + month(a) - month(b) AS BIGINT) - k)"
_DAYS_OF = "(e + k * g)"
_CLOCK_OF = "CASE WHEN c < 0L THEN c + 86400000000L ELSE c END"


def age(_: Call, args: list[str]) -> str:
    """As PostgreSQL compares it: a month has 30 days."""
    return _age(f"s * ({DAY}L * (30L * {_MONTHS_OF} + {_DAYS_OF}) + {_CLOCK_OF})", args)


def age_part(node: Call, args: list[str]) -> str:
    """Whole years, months or days."""
    parts = {"year": f"({_MONTHS_OF} div 12L)", "month": f"({_MONTHS_OF} % 12L)", "day": _DAYS_OF}
    return _age(f"s * {parts[node.extra]}", args)


_PADDED = {"YYYY": ("year", 4), "MM": ("month", 2), "DD": ("day", 2), "HH24": ("hour", 2), "MI": ("minute", 2),
           "DDD": ("doy", 3), "IW": ("week", 2), "IYYY": ("isoyear", 4), "Q": ("quarter", 1),
           "ID": ("isodow", 1)}  # fmt: skip


def to_char(node: Call, args: list[str]) -> str:
    """Each pattern by itself: numbers filled with zeros, names in English."""
    shown = ", ".join(map(_piece, pieces(node.extra) or [])) or "''"
    return once({"x": f"CAST({args[0]} AS TIMESTAMP)"}, f"CASE WHEN x IS NOT NULL THEN concat({shown}) END")


def _piece(piece: str) -> str:
    named, bare = names(piece), piece.removeprefix("FM")
    if named is not None:
        place = "dayofweek" if named[0] == "dow" else "month"
        return f"array({', '.join(map(text, named[1]))})[{place}(CAST(x AS DATE)) - 1]"
    if bare in ("AM", "PM", "am", "pm"):
        early, late = ("AM", "PM") if bare.isupper() else ("am", "pm")
        return f"CASE WHEN {part('hour', 'x')} < 12L THEN '{early}' ELSE '{late}' END"
    if bare != piece:
        return f"CAST(CAST({_piece(bare)} AS BIGINT) AS STRING)"
    if piece in _PADDED:
        word, width = _PADDED[piece]
        return _filled(part(word, "x"), width)
    second, twelve = part("second", "x"), f"(({part('hour', 'x')} + 11L) % 12L + 1L)"
    past_midnight = f"({part('hour', 'x')} * 3600L + {part('minute', 'x')} * 60L + {second} div 1000000L)"
    known = {
        "YY": _filled(f"({part('year', 'x')} % 100L)", 2),
        **dict.fromkeys(("SSSS", "SSSSS"), f"CAST({past_midnight} AS STRING)"),
        "SS": _filled(f"({second} div 1000000L)", 2),
        "MS": _filled(f"({second} % 1000000L div 1000L)", 3),
        "US": _filled(f"({second} % 1000000L)", 6),
        "D": _filled(f"({part('dow', 'x')} + 1L)", 1),
        "HH12": _filled(twelve, 2),
        "HH": _filled(twelve, 2),
        "WW": _filled(f"(({part('doy', 'x')} + 6L) div 7L)", 2),
        "W": _filled(f"(({part('day', 'x')} + 6L) div 7L)", 1),
    }
    return known.get(piece) or text(piece[1:-1] if piece.startswith('"') else piece)


def _filled(sql: str, width: int) -> str:
    """With zeros before it, and never cut."""
    return f"lpad(CAST({sql} AS STRING), {width}, '0')"


def from_text(node: Call, args: list[str]) -> str:
    """to_date and to_timestamp: digits at fixed places, everything else is NULL."""
    parts, places, at = parsed(node.extra) or [], dict[str, int](), 1
    for piece in parts:
        places[piece] = at
        at += {"%Y": 4}.get(piece, 2) if piece in PARSED else 1
    pattern = "".join(PARSED.get(p, f"[{p}]") for p in parts)
    day = ", '-', ".join(f"substring(x, {places[p]}, {4 if p == '%Y' else 2})" for p in ("%Y", "%m", "%d"))
    found, known = casts.day(f"concat({day})"), [f"x RLIKE {text(chr(92) + 'A' + pattern + chr(92) + 'z')}"]
    if node.facts.kind != DATE:
        found = f"unix_micros(CAST({found} AS TIMESTAMP))"
        for p, below, unit in (("%H", 24, 3600), ("%M", 60, 60), ("%S", 60, 1)):
            if p in places:
                two = f"substring(x, {places[p]}, 2)"
                known.append(f"{two} < '{below}'")
                found += f" + COALESCE(TRY_CAST({two} AS BIGINT), 0L) * {unit * 10**6}L"
        found = f"timestamp_micros({found})"
    return once({"x": args[0]}, f"CASE WHEN {' AND '.join(known)} THEN {found} END")


def date_bin(node: Call, args: list[str]) -> str:
    """The start of a bin, in whole microseconds from the year 1."""
    width, origin = (whole(int(n), wide=True) for n in node.extra.split())
    at = f"(CAST({micros(args[0])} AS {WIDE}) - ({FIRST}L) - {origin})"
    start = once({"a": at}, f"a - ((a % {width}) + {width}) % {width} + {origin}")
    last = whole(LAST - FIRST, wide=True)
    moved = f"timestamp_micros(CAST(CASE WHEN s BETWEEN 0L AND {last} THEN s END AS BIGINT) + ({FIRST}L))"
    return once({"s": start}, moved)


def later_by(_: Call, args: list[str]) -> str:
    """A moment, and microseconds; beyond the years 1 to 9999 NULL."""
    at = f"(CAST({micros(args[0])} AS {WIDE}) + CAST({args[1]} AS {WIDE}))"
    first, last = whole(FIRST, wide=True), whole(LAST, wide=True)
    return once({"s": at}, f"timestamp_micros(CAST(CASE WHEN s BETWEEN {first} AND {last} THEN s END AS BIGINT))")


def make_date(_: Call, args: list[str]) -> str:
    """NULL where there is no such day."""
    inside = "y BETWEEN 1 AND 9999 AND m BETWEEN 1 AND 12 AND d BETWEEN 1 AND 31"
    written = f"concat({_filled('y', 4)}, '-', {_filled('m', 2)}, '-', {_filled('d', 2)})"
    return once(dict(zip("ymd", args, strict=True)), f"CASE WHEN {inside} THEN TRY_CAST({written} AS DATE) END")


def interval_text(_: Call, args: list[str]) -> str:
    """Days, then a time; each with its sign where it is negative."""
    clock = ", ':', ".join(
        _filled(one, 2) for one in ("r div 3600000000L", "r div 60000000L % 60L", "r div 1000000L % 60L")
    )
    tail = f"CASE WHEN r % 1000000L = 0L THEN '' ELSE concat('.', rtrim('0', {_filled('r % 1000000L', 6)})) END"
    sign = "CASE WHEN x < 0L THEN '-' ELSE '' END"
    shown = "CASE WHEN d = 0L THEN '' ELSE concat(CAST(d AS STRING), CASE WHEN d = 1L THEN ' day' ELSE ' days' END) END"
    between = "CASE WHEN d = 0L OR r = 0L THEN '' ELSE ' ' END"
    time = f"CASE WHEN r = 0L AND d <> 0L THEN '' ELSE concat({sign}, {clock}, {tail}) END"
    parts = once({"d": f"(x div {DAY}L)"}, once({"r": f"abs(x % {DAY}L)"}, f"concat({shown}, {between}, {time})"))
    return once({"x": args[0]}, f"CASE WHEN x IS NOT NULL THEN {parts} END")


TIMES: dict[str, Callable[[Call, list[str]], str]] = {
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
