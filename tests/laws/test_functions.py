"""Every function keeps what is claimed of its value: evaluated in the engine over extremes, alone and nested.

A claim that does not hold is a wrong sensitivity; an error is a bit without noise. Columns hold values that the scan
can deliver for their facts, and nothing else; what `call` refuses is not asked.
"""

from __future__ import annotations

import math
import random
import re
import string as letters
from collections.abc import Callable
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

import duckdb
import pytest

from sfumato.algebra import interval_values as intervals
from sfumato.algebra import patterns
from sfumato.algebra.functions import FUNCTIONS, call
from sfumato.algebra.functions.curves import away, bucket
from sfumato.algebra.functions.interval_ends import ENDS
from sfumato.algebra.tree import (
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    INTEGER,
    INTERVAL,
    TEXT,
    TIMESTAMP,
    Call,
    Column,
    Facts,
    Node,
    Value,
)
from sfumato.engines.duckdb.expressions import expression, literal
from sfumato.errors import QueryError
from sfumato.sql.bind.constants import constant
from sfumato.types import identifier, string

ONE, CENT = Fraction(1), Fraction(1, 100)
FIRST, LAST = Fraction(intervals.FIRST), Fraction(intervals.LAST)


def _between(low: Any, high: Any, grid: Fraction = ONE) -> list[int]:
    """Steps near both ends, near zero and in between."""
    a, b = int(Fraction(low) / grid), int(Fraction(high) / grid)
    near = [a, a + 1, b, b - 1, 0, 1, -1, 2, 7, -7, 10, 100, (a + b) // 2, (a + 2 * b) // 3]
    return [n for n in near if a <= n <= b]


def _moments(*texts: str) -> list[datetime]:
    return [datetime.fromisoformat(text) for text in texts]


COLUMNS: dict[str, tuple[Facts, str, list[Any]]] = {
    "i": (Facts(INTEGER, Fraction(-5), Fraction(10), ONE), "BIGINT", _between(-5, 10)),
    "p": (Facts(INTEGER, ONE, Fraction(9), ONE, False), "BIGINT", _between(1, 9)),
    "z": (Facts(INTEGER, Fraction(0), Fraction(0), ONE, False), "BIGINT", [0]),
    "far": (Facts(INTEGER, Fraction(-(2**63)), Fraction(2**63 - 1), ONE), "HUGEINT", _between(-(2**63), 2**63 - 1)),
    "any": (Facts(INTEGER, None, None, ONE), "HUGEINT", [*_between(-(2**63), 2**63 - 1), 2**31, -(2**31), 2**15]),
    "m": (Facts(DECIMAL, Fraction(-1), Fraction(2), CENT), "BIGINT", _between(-1, 2, CENT)),
    "big": (Facts(DECIMAL, Fraction(0), Fraction(10**25), CENT, False), "HUGEINT", _between(0, 10**25, CENT)),
    "tens": (Facts(DECIMAL, Fraction(-50), Fraction(50), Fraction(10)), "BIGINT", _between(-50, 50, Fraction(10))),
    "fine": (Facts(DECIMAL, Fraction(0), ONE, Fraction(1, 10**20)), "HUGEINT", _between(0, 1, Fraction(1, 10**20))),
    "f": (
        Facts(DOUBLE),
        "DOUBLE",
        [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e308, -1e308, 5e-324, 1e-9, 709.9, -745.0, 99.5, math.inf, -math.inf],
    ),
    "g": (Facts(DOUBLE, Fraction(-1), Fraction(1, 2)), "DOUBLE", [-1.0, 0.5, 0.0, 1e-300, -0.3, 0.4999999999999999]),
    "h": (Facts(DOUBLE, ONE, Fraction(100), None, False), "DOUBLE", [1.0, 100.0, 1.0000000000000002, 50.5]),
    "tiny": (Facts(DOUBLE, Fraction(1, 10**300), ONE, None, False), "DOUBLE", [1e-300, 1.0, 1e-200]),
    "wild": (Facts(DOUBLE, nullable=False), "DOUBLE", [math.inf, -math.inf, 0.0, 1e308, -1.0, 5e-324]),
    "b": (Facts(BOOLEAN), "BOOLEAN", [True, False]),
    "s": (
        Facts(TEXT, length=6),
        "VARCHAR",
        [
            *[
                "",
                "a",
                "A",
                " b ",
                "ß",
                "İ",
                "ŉn",
                "e\u0301",
                "%",
                "_",
                "\\",
                "it's",
                '"',
                "\u00a0x",
                "\t1\n",
                "👨‍👩‍👧",
                "ẞ",
            ],
            *["1", " 12 ", "-7", "+5", "1e3", "0x1F", "1_000", "1.5", ".5", "5.", "-0.005", "1e400", "99999", "NaN"],
            *["inf", "true", "f", "yes", "of", "no", "a\nb", "aaaaaa", "true "],
        ],
    ),
    "o": (
        Facts(TEXT, nullable=False, length=13),
        "VARCHAR",
        [
            *["", "x", "2024-01-31", "2024-02-30", "0000-01-01", " 2024-1-5 ", "99999999999", "32768", "2147483648"],
            *["ABCabcß", "10000-01-01", "9" * 12, "-1234567890", "1.23456789", "1e-12", "12345678.995", "0.5e1"],
            *["a" * 13],
        ],
    ),
    "d": (
        Facts(DATE, Fraction(date(2023, 11, 1).toordinal()), Fraction(date(2024, 12, 31).toordinal()), ONE),
        "DATE",
        [date(2023, 11, 1), date(2024, 2, 29), date(2024, 12, 31), date(2024, 1, 31)],
    ),
    "day": (Facts(DATE, None, None, ONE), "DATE", [date(1, 1, 1), date(9999, 12, 31), date(2000, 2, 29)]),
    "edge": (
        Facts(DATE, LAST - 40, LAST, ONE, False),
        "DATE",
        [date(9999, 12, 31), date(9999, 11, 30), date(9999, 12, 1)],
    ),
    "t": (
        Facts(TIMESTAMP),
        "TIMESTAMP",
        _moments("0001-01-01 00:00", "9999-12-31 00:00", "2024-01-31 23:59:59.999999", "2024-03-01 00:00"),
    ),
    "w": (
        Facts(TIMESTAMP, Fraction(date(2024, 1, 30).toordinal()), Fraction(date(2024, 3, 1).toordinal()), None, False),
        "TIMESTAMP",
        _moments("2024-01-30 23:00", "2024-01-31 00:00", "2024-02-29 12:00", "2024-03-01 23:00"),
    ),
}
NUMBERS = ["i", "p", "z", "far", "any", "m", "big", "tens", "fine", "f", "g", "h", "tiny", "wild"]
EXACT = NUMBERS[:9]
WHOLE = ["i", "p", "z", "far", "any"]
TEXTS, TIMES = ["s", "o"], ["d", "day", "edge", "t", "w"]
WRITTEN: dict[str, list[Value]] = {
    "number": [0, 1, -1, 2, 3, 8, 10, Fraction(1, 2), Fraction(-5, 2), Fraction(1, 100), 10**20, None],
    "text": ["", "a", "aa", "ß", "%", "e\u0301", " ", "xyz", None],
    "place": [0, 1, 2, 9, 1000],
}
ROWS = 60


@pytest.fixture(scope="module")
def engine() -> duckdb.DuckDBPyConnection:
    """A table with every column; NULL in some rows of what may be NULL, and none at all in the first ones."""
    r = random.Random(0)
    connection = duckdb.connect(config={"threads": 1})
    kinds = ", ".join(f"{identifier(name)} {kind}" for name, (_, kind, _) in COLUMNS.items())
    connection.execute(f"CREATE TABLE rows ({kinds})")
    rows = []
    for n in range(ROWS):
        row = []
        for facts, _, values in COLUMNS.values():
            value = values[n] if n < len(values) else r.choice(values)
            row.append(None if facts.nullable and n >= 20 and r.random() < 0.15 else value)
        rows.append(row)
    connection.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(COLUMNS))})", rows)
    return connection


class Maker:
    """Random arguments: columns, written values, and functions of them."""

    def __init__(self, r: random.Random, depth: int) -> None:
        self.r, self.depth = r, depth

    def column(self, names: list[str]) -> Node:
        name = self.r.choice(names)
        return Column(name, COLUMNS[name][0])

    def some(self, names: list[str], values: str | None = None) -> Node:
        if self.depth and self.r.random() < 0.5:
            nested = Maker(self.r, self.depth - 1).of(names)
            if nested is not None:
                return nested
        if values is not None and self.r.random() < 0.25:
            return constant(self.r.choice(WRITTEN[values]))
        return self.column(names)

    def of(self, names: list[str]) -> Node | None:
        """A function whose value is of the kind of these columns."""
        wanted = {COLUMNS[name][0].kind for name in names}
        for _ in range(8):
            made = self.make(self.r.choice(sorted({*FUNCTIONS} - {*ENDS})))
            if made is not None and made.facts.kind in wanted and (made.facts.exact or names != EXACT):
                return made
        return None

    def make(self, name: str) -> Call | None:
        """A call of this function; None where it is refused."""
        args, extra = ARGUMENTS[name](self)
        try:
            made = call(name, tuple(args), extra)
            expression(made)
        except QueryError:
            return None
        return made

    def number(self) -> Node:
        return self.some(NUMBERS, "number")

    def span(self) -> Node:
        """An interval."""
        if self.r.random() < 0.2:
            return constant(
                intervals.Span(self.r.choice([0, 13]), self.r.choice([0, -3]), self.r.choice([0, 1, 10**9]))
            )
        return call("-", (self.column(["t", "w"]), self.column(TIMES)))

    def text(self) -> Node:
        return self.some(TEXTS, "text")

    def like(self) -> list[Node]:
        """Two or three values that go together."""
        names, values = self.r.choice([(NUMBERS, "number"), (TEXTS, "text"), (TIMES, None), (["b"], None)])
        return [self.some(names, values) for _ in range(2)]

    def written(self, values: str) -> Node:
        return constant(self.r.choice([v for v in WRITTEN[values] if v is not None]))


_Arguments = Callable[[Maker], tuple[list[Node], str]]
_two: _Arguments = lambda m: ([m.number(), m.number()], "")  # noqa: E731  rows of the table below
_one: _Arguments = lambda m: ([m.number()], "")  # noqa: E731  the same
_digits: _Arguments = lambda m: ([m.number()], m.r.choice(["", "0", "2", "12"]))  # noqa: E731  the same
_pair: _Arguments = lambda m: (m.like(), "")  # noqa: E731  the same
_word: _Arguments = lambda m: ([m.text()], "")  # noqa: E731  the same
_sum: _Arguments = lambda m: (  # noqa: E731  the same
    [m.some(TIMES), m.some([*WHOLE, *TIMES])] if m.r.random() < 0.3 else [m.number(), m.number()],
    "",
)
_truths: _Arguments = lambda m: ([m.some(["b"]), m.some(["b"])], "")  # noqa: E731  the same
_pattern: _Arguments = lambda m: ([m.text(), constant(m.r.choice(["a%", "%", "_", "\\%", "ß_", ""]))], "")  # noqa: E731  the same
CASTS = [
    "integer", "int4", "int2", "decimal", "decimal(3,0)", "decimal(9,2)", "decimal(30,12)", "double", "real", "text",
    "text(2)", "date", "timestamp", "boolean",
]  # fmt: skip
SPANS = ["1 0 0", "-1 0 0", "0 7 0", "12 -1 1", "0 0 -1", "0 0 86400000000", "-120000 0 0", "13 40 3600000000"]
SPANS += ["1 -40 0"]
CELLS = ["5 244/5 450 27 111/50 682 39", "1 -90 2 900 -180 2 1", "7 1/3 2 1 0 2 1000000"]
PARTS = [
    "year",
    "month",
    "day",
    "quarter",
    "dow",
    "isodow",
    "doy",
    "week",
    "hour",
    "minute",
    "second",
    "epoch",
    "isoyear",
]
UNITS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"]
TO_CHAR = ["YYYY-MM-DD", "IYYY-IW", "DDD Q D ID Dy DY Mon MON YY", 'HH24:MI:SS.MS US "at"', "YYYYMMDD",
           "Day|DAY|day|FMDay|FMDAY|FMday", "Month, FMMonth MONTH month FMmonth FMMONTH dy mon",
           "FMHH12:MI AM, HH pm am PM",
           "WW W FMDD/FMMM/yyyy hh24:mi:ss FMDDD FMIW FMYY FMQ",
           "SSSS SSSSS FMSSSS ssss"]  # fmt: skip
BINS = ["86400000000 0", "900000000 63000000000000000", "604800000000 62135596800000000", "7 -3", "3153600000000000 5"]
"""Microseconds of a bin, and of its origin from the first day on."""
TAKEN = ["a+", "^.*a", ".*-([^-]*)", "[ \t]+", "^[a-z]+$", "([0-9]+)", "x?[0-9]", "^(?:a)?([^0-9]+)$", "[^ ]+ ?"]

ARGUMENTS: dict[str, _Arguments] = {
    **dict.fromkeys(("*", "/", "%", "div", "power", "log"), _two),
    **dict.fromkeys("+-", _sum),
    **dict.fromkeys("&|#", lambda m: ([m.some(WHOLE, "number"), m.some(WHOLE)], "")),
    **dict.fromkeys(("negate", "abs", "sign", "ln", "log10", "exp", "sqrt", "cbrt"), _one),
    **dict.fromkeys(("round", "floor", "ceil", "trunc"), _digits),
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "is distinct from", "nullif"), _pair),
    **dict.fromkeys(("coalesce", "greatest", "least"), _pair),
    **dict.fromkeys(("and", "or"), _truths),
    "in": lambda m: ([*m.like(), *m.like()[:1]], ""),
    "not": lambda m: ([m.some(["b"])], ""),
    "is null": lambda m: (m.like()[:1], ""),
    "case": lambda m: ([m.some(["b"]), *m.like()], ""),
    "width_bucket": lambda m: (
        [m.number(), *(m.written("number") for _ in range(2)), constant(m.r.choice([1, 5, 1000]))],
        "",
    ),
    "extract": lambda m: (
        ([m.some(TIMES)], m.r.choice(PARTS))
        if m.r.random() < 0.8
        else ([m.span()], m.r.choice(["epoch", "day", "hour"]))
    ),
    "date_trunc": lambda m: ([m.some(TIMES)], m.r.choice(UNITS)),
    "age": lambda m: ([m.some(TIMES), m.some(TIMES)], ""),
    "age_part": lambda m: ([m.some(TIMES), m.some(TIMES)], m.r.choice(["year", "month", "day"])),
    "to_char": lambda m: ([m.some(TIMES)], m.r.choice(TO_CHAR)),
    "to_date": lambda m: ([m.text()], m.r.choice(["%Y-%m-%d", "%Y%m%d", "%d/%m/%Y"])),
    "to_timestamp": lambda m: ([m.text()], m.r.choice(["%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%m/%d/%Y %H"])),
    "date_bin": lambda m: ([m.some(TIMES)], m.r.choice(BINS)),
    "make_date": lambda m: ([m.some(WHOLE), m.some(WHOLE, "place"), m.some(WHOLE, "place")], ""),
    "later by": lambda m: ([m.some(TIMES), m.span()], ""),
    "interval_text": lambda m: ([m.span()], ""),
    "interval_of": lambda m: ([call("extract", (m.span(),), "epoch")], ""),
    "split_part": lambda m: (
        [m.text(), constant(m.r.choice(["a", "-", "aa", " "])), constant(m.r.choice([1, 2, -1, -3]))],
        "",
    ),
    "initcap": _word,
    **dict.fromkeys(
        ("lpad", "rpad"), lambda m: ([m.text(), constant(m.r.choice([0, 1, 9])), constant(m.r.choice(["0", "ab"]))], "")
    ),
    "concat_ws": lambda m: ([constant(m.r.choice(["", "-"])), *(m.text() for _ in range(m.r.choice([1, 2, 3])))], ""),
    "regexp_replace": lambda m: (
        [m.text(), constant(m.r.choice(TAKEN)), constant(m.r.choice(["", "x", "<\\1>", "\\&\\&", "\\\\"]))],
        m.r.choice(["", "g"]),
    ),
    "regexp_substring": lambda m: ([m.text(), constant(m.r.choice(TAKEN))], ""),
    "shift": lambda m: ([m.some(TIMES)], m.r.choice(SPANS)),
    **dict.fromkeys(("lower", "upper", "length", "reverse", "md5", "ascii", "octet_length", "json_string"), _word),
    "translate": lambda m: (
        [m.text(), *(constant(m.r.choice(["", "a", "aba", "xyz", "ß-", "-a ß"])) for _ in "12")],
        "",
    ),
    "trim": lambda m: (
        [m.text(), *([constant(m.r.choice(["a", " ", "xß", ""]))] if m.r.random() < 0.5 else [])],
        m.r.choice(["", "leading", "trailing", "both"]),
    ),
    "substring": lambda m: ([m.text(), *(m.written("place") for _ in range(m.r.choice([1, 2])))], ""),
    **dict.fromkeys(("left", "right"), lambda m: ([m.text(), m.written("place")], "")),
    "replace": lambda m: ([m.text(), m.written("text"), m.written("text")], ""),
    **dict.fromkeys(("strpos", "starts_with", "||"), lambda m: ([m.text(), m.text()], "")),
    "concat": lambda m: ([m.text() for _ in range(m.r.choice([1, 2, 3]))], ""),
    **dict.fromkeys(("like", "ilike"), _pattern),
    "regexp_like": lambda m: ([m.text(), constant(m.r.choice(["a+", "^.$", "[^a-c]{2,3}", "^(a|ß)?x*$"]))], ""),
    **dict.fromkeys(ENDS, _one),
    "cast": lambda m: (m.like()[:1], m.r.choice(CASTS)),
    "geo_cell": lambda m: ([m.number(), m.number()], m.r.choice(CELLS)),
}


def broken(value: Any, facts: Facts) -> str | None:  # noqa: PLR0911  one answer for each kind of value
    """What is claimed and does not hold of this value."""
    if value is None:
        return None if facts.nullable else "NULL, though it is said to be known"
    if facts.kind == INTERVAL or (facts.kind in (INTEGER, DECIMAL) and facts.exact):
        if type(value) is not int:
            return f"{value!r} is not a whole number of steps"
        number = value * (facts.grid or ONE)
    elif facts.kind == DOUBLE:
        if not facts.bounded or not math.isfinite(value):
            return None if isinstance(value, float) else f"{value!r} is not a double"
        room = facts.largest / 10**9 + Fraction(1, 10**12)  # doubles may stray, until they become exact
        facts, number = Facts(DOUBLE, facts.low - room, facts.high + room), Fraction(value)  # type: ignore[operator]
    elif facts.kind == TEXT:
        short = isinstance(value, str) and (facts.length is None or len(value) <= facts.length)
        return None if short else f"{value!r} is no text, or longer than {facts.length}"
    elif facts.kind in (DATE, TIMESTAMP):
        if type(value) is not (date if facts.kind == DATE else datetime):
            return f"{value!r} is not a {facts.kind} of the years 1 to 9999"
        number = Fraction(value.toordinal())
    else:
        return None if isinstance(value, bool) else f"{value!r} is not a truth"
    if (facts.low is not None and number < facts.low) or (facts.high is not None and number > facts.high):
        return f"{value!r} lies outside of {facts.low} to {facts.high}"
    return None


def check(engine: duckdb.DuckDBPyConnection, made: Call) -> None:
    sql = expression(made)
    try:
        values = [row[0] for row in engine.execute(f"SELECT {sql} FROM rows").fetchall()]
    except (duckdb.Error, ValueError, OverflowError) as error:
        raise AssertionError(f"{made}\n{sql}\nraised {error}") from None
    for value in values:
        fault = broken(value, made.facts)
        assert fault is None, f"{fault}\n{made}\n{sql}"


def test_there_are_arguments_for_every_function() -> None:
    assert set(ARGUMENTS) == set(FUNCTIONS)


@pytest.mark.parametrize("cases", [150, pytest.param(1500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {*ENDS}))
def test_a_function_keeps_what_is_claimed_of_it(name: str, cases: int, engine: duckdb.DuckDBPyConnection) -> None:
    """Bounds, grid, length, NULL: over extremes of every kind of argument; and no value makes the engine fail."""
    r, answered = random.Random(f"{name} {cases}"), 0
    for n in range(cases):
        made = Maker(r, n % 2).make(name)
        if made is not None:
            answered += 1
            check(engine, made)
    assert answered >= 10, answered


def strayed(name: str) -> Call:
    """A double whose interval is known, and which lies far outside of it: 1e17 takes its last digits."""
    far = constant(10**17)
    return call("-", (call("+", (call("cast", (Column(name, COLUMNS[name][0]),), "double"), far)), far))


@pytest.mark.parametrize("name", ["i", "p", "m", "g", "h"])
@pytest.mark.parametrize(
    ("function", "extra"),
    [(f, e) for f in ("round", "floor", "ceil", "trunc") for e in ("", "2")]
    + [("cast", kind) for kind in ("integer", "int4", "int2", "decimal(3,1)", "decimal(9,2)")],
)
def test_doubles_that_stray_are_held_to_their_bounds(
    function: str, extra: str, name: str, engine: duckdb.DuckDBPyConnection
) -> None:
    check(engine, call(function, (strayed(name),), extra))
    for curve in ("exp", "sqrt", "cbrt", "ln"):
        try:
            made = call(function, (call(curve, (strayed(name),)),), extra)
        except QueryError:  # e to the hundredth has too many digits
            continue
        check(engine, made)


def test_a_divisor_that_vanishes_gives_null(engine: duckdb.DuckDBPyConnection) -> None:
    """As a real number it is positive; as a double it is zero."""
    tiny = Column("tiny", COLUMNS["tiny"][0])
    check(engine, call("/", (constant(1), call("*", (tiny, tiny)))))


@pytest.mark.parametrize("part", ["year", "month", "day"])
def test_an_age_with_half_known_ends_keeps_its_bounds(part: str, engine: duckdb.DuckDBPyConnection) -> None:
    """Of one of the times only the latest or the earliest moment is known, so that years are counted by their days."""
    edge, w, t = (Column(name, COLUMNS[name][0]) for name in ("edge", "w", "t"))
    for end in ("least", "greatest"):
        check(engine, call("age_part", (edge, call(end, (w, t))), part))
        check(engine, call("age_part", (call(end, (w, t)), edge), part))


def test_a_product_without_bounds_may_be_missing(engine: duckdb.DuckDBPyConnection) -> None:
    """It is NULL where it outgrows the engine, also when neither of its arguments is."""
    big, f = Column("big", COLUMNS["big"][0]), Column("f", COLUMNS["f"][0])
    without = call("coalesce", (call("trunc", (f,), "12"), constant(10**12)))
    made = call("*", (without, big))
    assert made.facts.nullable
    check(engine, made)


@pytest.mark.slow
def test_functions_of_functions_keep_what_is_claimed(engine: duckdb.DuckDBPyConnection) -> None:
    r = random.Random(1)
    for _ in range(20_000):
        made = Maker(r, 3).make(r.choice(sorted({*FUNCTIONS} - {*ENDS})))
        if made is not None:
            check(engine, made)


# intervals
def test_a_day_is_moved_as_the_engine_moves_it(engine: duckdb.DuckDBPyConnection) -> None:
    """Written days are moved at planning, others by the engine: both mean the same, over the whole calendar."""
    r = random.Random(2)
    for _ in range(500):
        start = datetime.combine(date.fromordinal(r.randint(intervals.FIRST, intervals.LAST)), datetime.min.time())
        start += timedelta(microseconds=r.choice([0, 1, intervals.DAY - 1, r.randrange(intervals.DAY)]))
        months = r.choice([0, 1, -1, r.randint(-200, 200)])
        span = intervals.Span(months, r.randint(-70, 70), r.randint(-(10**12), 10**12))
        moved = intervals.later(start, span)
        made = call("shift", (Column("t", Facts(TIMESTAMP)),), str(span))
        sql = f"SELECT {expression(made)} FROM (SELECT {literal(start, Facts(TIMESTAMP))} AS t)"
        assert engine.execute(sql).fetchone() == (moved,), (start, span)


def test_intervals_are_read_as_written() -> None:
    assert intervals.read("1 year 2 mons -3 days") == intervals.Span(14, -3, 0)
    assert intervals.read(" 2 hours 30 minutes ") == intervals.Span(0, 0, 9_000_000_000)
    for text in ("", "1", "1 fortnight", "1 day ago", "1.5 days", "P1D", "999999999 years", "1 02:03:04", "@ 1 day"):
        assert intervals.read(text) is None, text


# patterns
PATTERN_PARTS = [
    "a", "b", "ß", ".", "[ab]", "[^a]", "[a-c0-9]", "\\.", "(a|b)", "(ab)", "^", "$", "x{2}", "a{0,2}", "b{1,}", " ",
]  # fmt: skip


def test_a_regular_expression_means_the_same_in_both(engine: duckdb.DuckDBPyConnection) -> None:
    """Python's `re` reads this part of the language as PostgreSQL does, where . is any character and $ is the end."""
    r, texts = random.Random(3), ["", "a", "b", "ab", "ba", "aß", "a.b", "xx", "a\nb", "a\n", "abab0", "9", "c c", "-"]
    checked = 0
    for _ in range(600):
        parts = [r.choice(PATTERN_PARTS) + r.choice(["", "", "*", "+", "?"]) for _ in range(r.randint(1, 5))]
        pattern = r.choice(["", "", "|"]).join(parts)
        if patterns.problem(pattern) is not None:
            continue
        checked += 1
        ours = re.compile(pattern.replace("$", "\\Z"), re.DOTALL)
        made = call("regexp_like", (Column("s", Facts(TEXT, length=9)), constant(pattern)))
        rows = engine.execute(f"SELECT {expression(made)} FROM (SELECT unnest(?::VARCHAR[]) AS s)", [texts]).fetchall()
        assert [row[0] for row in rows] == [ours.search(text) is not None for text in texts], pattern
    assert checked > 200


STRANGE = [
    "", "a||b", "(", "a)", "()", "a**", "a*?", "*a", "^*", "(?i)a", "\\d", "\\1", "[a", "[]", "[z-a]", "[[:alpha:]]",
    "a{2,1}", "a{0}", "a{256}", "a{,2}", "a{x}", "(a{100}){100}", "a\x00", "[a-]-z]", "[\\d]", "x" * 201, "a\\", "]",
    "}", "***=a",
]  # fmt: skip


@pytest.mark.parametrize("pattern", STRANGE)
def test_other_regular_expressions_are_refused(pattern: str) -> None:
    assert patterns.problem(pattern) is not None


def test_a_regular_expression_that_is_taken_never_fails(engine: duckdb.DuckDBPyConnection) -> None:
    r = random.Random(4)
    alphabet = "ab1.*+?|()[]^${},-\\ _ß" + letters.punctuation
    for _ in range(20_000):
        pattern = "".join(r.choice(alphabet) for _ in range(r.randint(1, 8)))
        if patterns.problem(pattern) is None:
            made = call("regexp_like", (Column("s", Facts(TEXT, length=9)), constant(pattern)))
            engine.execute(f"SELECT {expression(made)} FROM (SELECT 'ab1' AS s)").fetchall()


def test_like_with_another_sign_of_escape() -> None:
    assert patterns.without_escape("a!%b\\_!!", "!") == "a\\%b\\\\_\\!"
    assert patterns.without_escape("a\\%", "") == "a\\\\%"
    assert patterns.without_escape("a!", "!") is None


# numbers
def test_halves_are_rounded_away_from_zero() -> None:
    assert [away(Fraction(n, 2)) for n in (-3, -1, 0, 1, 3, 4)] == [-2, -1, 0, 1, 2, 2]


def test_buckets_are_counted_as_postgresql_counts_them() -> None:
    """The examples of its documentation and its regression tests."""
    assert bucket(Fraction("5.35"), Fraction("0.024"), Fraction("10.06"), 5) == 3
    ten, none = Fraction(10), Fraction(0)
    assert [bucket(Fraction(x), none, ten, 5) for x in ("-0.1", "0", "1.9", "2", "10")] == [0, 1, 1, 2, 6]
    assert [bucket(Fraction(x), ten, none, 5) for x in ("10.1", "10", "8", "0.1", "0")] == [0, 1, 2, 5, 6]


SIMILAR = {
    "%(show|ray)_": ("x-rays", "rayx", "show!", "xray", "ray"),
    "a.b": ("a.b", "axb"),
    "[a-c_%]+x": ("a%_x", "dx", "x", "bbx"),
    "a\\%b": ("a%b", "axb"),
    "": ("", "a"),
    "x{2,3}|y?": ("xx", "xxxx", "y", "", "xy"),
    "a^b$": ("a^b$", "ab"),
    "%": ("", "a\nb"),
    "(a|b)*c": ("ababc", "c", "abab"),
}
"""Patterns of SIMILAR TO, with texts that they match or not."""


def test_similar_to_is_a_regular_expression_of_the_whole_text() -> None:
    """What PostgreSQL 15 answers: the texts that match."""
    matched = {
        "%(show|ray)_": {"x-rays", "rayx", "show!"}, "a.b": {"a.b"}, "[a-c_%]+x": {"a%_x", "bbx"}, "a\\%b": {"a%b"},
        "": {""}, "x{2,3}|y?": {"xx", "y", ""}, "a^b$": {"a^b$"}, "%": {"", "a\nb"}, "(a|b)*c": {"ababc", "c"},
    }  # fmt: skip
    for pattern, texts in SIMILAR.items():
        made = patterns.similar(pattern)
        assert made is not None
        assert patterns.problem(made) is None
        written = f"REGEXP_MATCHES(s, {string(made)}, 's')"
        rows = duckdb.execute(f"SELECT s FROM (SELECT unnest($texts) AS s) WHERE {written}", {"texts": list(texts)})
        assert {s for (s,) in rows.fetchall()} == matched[pattern], pattern
    assert patterns.similar("a#_#", "#") is None
    assert patterns.similar("a#_b", "#") == "^(?:a\\_b)$"
    assert patterns.problem(patterns.similar("\\d") or "") is not None  # a class of characters in PostgreSQL
    assert patterns.problem(patterns.similar("%*") or "") is not None
