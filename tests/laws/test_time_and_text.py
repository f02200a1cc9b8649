"""New functions of time and text mean in the engine what the reference interpreter says, over hostile values."""

from __future__ import annotations

import random
import re
from collections import Counter
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

import duckdb
import pytest

from sfumato.algebra import interval_values as intervals
from sfumato.algebra import pattern_meaning as meaning
from sfumato.algebra import patterns
from sfumato.algebra.calendar_units import CLOCK, UNITS, days, first_day, first_moment, units_between
from sfumato.algebra.functions import call
from sfumato.algebra.functions.times import FORMATS
from sfumato.algebra.key_ranges import FINER, grain
from sfumato.algebra.tree import DATE, DECIMAL, INTEGER, INTERVAL, TIMESTAMP, Call, Column, Constant, Facts, Node
from sfumato.engines.duckdb.expressions import expression, literal
from sfumato.engines.reference_functions import NotInReference, apply
from sfumato.engines.reference_texts import ASCII_TEXTS, TEXTS, compiled
from sfumato.engines.reference_times import TIMES
from sfumato.errors import QueryError
from sfumato.sql.bind.constants import constant
from sfumato.sql.read.arrays import written_array
from sfumato.sql.read.moments import read_date, read_timestamp
from tests.laws.test_functions import ARGUMENTS, BINS, COLUMNS, PARTS, TO_CHAR, Maker

NEW = [*TIMES, *TEXTS, *ASCII_TEXTS, "concat_ws", "-", *"&|#"]
"""The functions whose meaning is written in reference_times and reference_texts."""


def value_of(node: Node, row: dict[str, Any]) -> Any:
    """What a node means in a row of engine values: exact numbers become Fractions."""
    if isinstance(node, Constant):
        value = node.value
        if isinstance(value, intervals.Span):
            return Fraction(value.compared, 10**6)
        return Fraction(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(node, Column):
        value = row[node.name]
        exact = node.facts.exact and value is not None
        return Fraction(value) * (node.facts.grid or 1) if exact else value
    assert isinstance(node, Call)
    return apply(node, lambda arg: value_of(arg, row))


@pytest.fixture(scope="module")
def rows() -> tuple[duckdb.DuckDBPyConnection, list[dict[str, Any]]]:
    r = random.Random(5)
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("CREATE TABLE rows (" + ", ".join(f'"{n}" {k}' for n, (_, k, _) in COLUMNS.items()) + ")")
    found = []
    for n in range(40):
        row = []
        for facts, _, values in COLUMNS.values():
            value = values[n] if n < len(values) else r.choice(values)
            row.append(None if facts.nullable and r.random() < 0.1 else value)
        found.append(dict(zip(COLUMNS, row, strict=True)))
    connection.executemany(
        f"INSERT INTO rows VALUES ({', '.join('?' * len(COLUMNS))})", [list(x.values()) for x in found]
    )
    return connection, found


@pytest.mark.parametrize("name", NEW)
def test_a_function_means_what_the_reference_says(
    name: str, rows: tuple[duckdb.DuckDBPyConnection, list[dict[str, Any]]]
) -> None:
    """Alone and nested: the same value, or NULL, in every row; every function is covered."""
    connection, found = rows
    r, counts = random.Random(f"meaning {name}"), Counter[str]()
    for n in range(60):
        made = Maker(r, n % 2).make(name) if name in ARGUMENTS else None
        if made is None or (name == "-" and made.facts.kind != INTERVAL and n % 4):
            continue
        shown = connection.execute(f"SELECT {expression(made)} FROM rows").fetchall()
        for (value,), row in zip(shown, found, strict=True):
            try:
                wanted = value_of(made, row)
            except NotInReference:
                counts["not covered"] += 1
                continue
            if made.facts.kind in (INTEGER, DECIMAL, INTERVAL) and value is not None:
                value = value * made.facts.grid  # noqa: PLW2901  in its own unit
            assert value == wanted, (made, row, value, wanted)
            counts["NULL" if wanted is None else "value"] += 1
    assert counts["value"] > (3 if name in ("to_date", "to_timestamp") else 20), counts


def test_age_is_counted_as_postgresql_counts_it() -> None:
    """The examples of its documentation, and of its regression tests."""
    cases = [
        ((2001, 4, 10), (1957, 6, 13), "43 years 9 mons 27 days"),
        ((2024, 3, 31), (2024, 2, 29), "1 mon 2 days"),
        ((2023, 3, 15), (2024, 1, 1), "-9 mons -17 days"),
        ((2024, 1, 1), (2024, 1, 1), "00:00:00"),
    ]
    for a, b, wanted in cases:
        assert intervals.shown(intervals.between(date(*a), date(*b))) == wanted


# units of the calendar, and lists of keys
def test_units_are_counted_and_listed_alike() -> None:
    r = random.Random(6)
    for _ in range(300):
        low = date.fromordinal(r.randint(1, intervals.LAST - 2000))
        high = low + timedelta(r.randint(0, 1500))
        for unit in UNITS:
            if unit in CLOCK:
                assert units_between(unit, 7, 8) == 2 * 86_400 // CLOCK[unit]
                continue
            listed = list(days(unit, low, high))
            every = [low + timedelta(i) for i in range((high - low).days + 1)]
            assert listed == [day for day in every if first_day(unit, day) == day], (unit, low, high)
            assert len(listed) == units_between(unit, low.toordinal(), high.toordinal())


T = Column("t", Facts(TIMESTAMP, Fraction(738_000), Fraction(738_900)))
KEYS = [
    *(call("date_trunc", (T,), unit) for unit in UNITS),
    *(call("extract", (T,), part) for part in PARTS),
    *(call("to_char", (T,), pattern) for pattern in (*TO_CHAR, *FORMATS)),
    *(call("date_bin", (T,), bin_) for bin_ in BINS),
    call("cast", (T,), "date"),
    call("is null", (T,)),
    call("+", (call("extract", (T,), "dow"), constant(1))),
    call("=", (call("cast", (T,), "date"), constant(date(2024, 1, 1)))),
]


def test_a_key_is_a_function_of_its_grain() -> None:
    """Two moments of one unit give the key one value; and no key has a coarser grain than it needs to be safe."""
    r, seen = random.Random(7), Counter[str | None]()
    for key in KEYS:
        unit = grain(key, "t")
        seen[unit] += 1
        if unit is None:
            continue
        assert unit in FINER
        for _ in range(200):
            at = datetime(2021, 1, 1) + timedelta(microseconds=r.randrange(900 * intervals.DAY))  # noqa: DTZ001  naive
            start = first_moment(unit, at)
            assert value_of(key, {"t": at}) == value_of(key, {"t": start}), (key, at)
    assert seen["day"] > 8
    assert seen["hour"] >= 2
    assert seen["minute"] >= 2
    assert seen[None] >= 1
    assert seen["second"] >= 3
    assert grain(T, "t") is None
    assert grain(call("extract", (T,), "epoch"), "t") is None


# patterns
def longest(pattern: str, text: str) -> tuple[int, int] | None:
    """PostgreSQL's rule: the leftmost place, and from there the longest match; by trying every end."""
    for start in range(len(text) + 1):
        for end in range(len(text), start - 1, -1):
            if re.compile(compiled(pattern).pattern, re.DOTALL).fullmatch(text, start, end):
                inside = compiled(pattern).match(text, start)
                if pattern.startswith("^") and start:
                    continue
                if pattern.endswith("$") and end < len(text):
                    continue
                return (start, end) if inside else None
    return None


PIECES = ["a", "b", "[ab]", "[^a]", "(a)", "(?:ab)", "(b[0-9])", "[0-9]", ".", "c", " "]


def test_what_a_pattern_takes_is_the_longest_match() -> None:
    """Of patterns that are taken, going from left to right finds what PostgreSQL's rule says."""
    r, texts = random.Random(8), ["", "a", "ab", "aab", "abab", "ab1", "b1b2", "a c", "cab12", "bbb", "1a", "a1b a1b"]
    taken = left = 0
    for _ in range(1500):
        parts = [r.choice(PIECES) + r.choice(["", "", "*", "+", "?", "{1,2}"]) for _ in range(r.randint(1, 4))]
        pattern = r.choice(["", "^"]) + "".join(parts) + r.choice(["", "", "$"])
        if patterns.problem(pattern) is not None:
            continue
        if meaning.ambiguity(pattern, parts=False) is not None:
            left += 1
            continue
        taken += 1
        for text in texts:
            found = compiled(pattern).search(text)
            assert (None if found is None else found.span()) == longest(pattern, text), (pattern, text)
    assert taken > 300
    assert left > 100


def test_patterns_that_take_different_texts_are_refused() -> None:
    for pattern in ("a|ab", "a?a?ab", "[ab]*b+a", "(a)(ab)?b?a", ".*x(?:yz)?", "(?:ab)*a", "a*b*$ab"):
        assert meaning.ambiguity(pattern, parts=False) is not None, pattern
    taken = ("^.*@", ".*/[^/]+", "^(.*)-([a-z]{2})", "a?ab", "[ab]*b")
    for pattern in ("[0-9]+", "^https?://(?:www\\.)?([^/]+)/.*$", "x[0-9]*", "a+b", *taken):
        assert meaning.ambiguity(pattern, parts=False) is None, pattern
    with pytest.raises(QueryError):
        call("regexp_replace", (constant("ab"), constant("a|ab"), constant("x")))


def test_both_cases_of_a_pattern() -> None:
    r = random.Random(9)
    for _ in range(300):
        pattern = "".join(r.choice(["a", "B", "[a-c]", "[^xY]", "1", ".", "Z+"]) for _ in range(r.randint(1, 4)))
        both = meaning.any_case(pattern)
        assert both is not None
        for text in ("aB1z", "ABC", "zZ", "xy", "b.1"):
            wanted = re.search(pattern, text, re.IGNORECASE | re.DOTALL | re.ASCII) is not None
            assert (re.search(both, text, re.DOTALL) is not None) == wanted, (pattern, text)
    assert meaning.any_case("é") is None


# written values
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2024-06-01", "2024-06-01 00:00:00"),
        ("2024-06-01 +00", "2024-06-01 00:00:00"),
        ("2024-06-01 10:00:00+02", "2024-06-01 10:00:00"),
        ("2024-06-01T10:00:00.123Z", "2024-06-01 10:00:00.123000"),
        ("20240601", "2024-06-01 00:00:00"),
        ("Jun 1, 2024 10:00", "2024-06-01 10:00:00"),
        ("1 June 2024", "2024-06-01 00:00:00"),
        ("06/01/2024", "2024-06-01 00:00:00"),
        ("2024-06-01 24:00:00", "2024-06-02 00:00:00"),
        ("1 Jun 2023 03:04 PM", "2023-06-01 15:04:00"),
        ("2023-06-01 12:30:15 am", "2023-06-01 00:30:15"),
        ("2023-152", "2023-06-01 00:00:00"),
        ("2023-367", None),
        ("2023-000", None),
        ("2023-06-01 13:30 PM", None),
        ("2024-02-30", None),
        ("2024-06-01 25:00", None),
        ("tomorrow", None),
        ("2024-06-01; DROP", None),
    ],
)
def test_timestamps_are_read_as_postgresql_reads_them(text: str, wanted: str | None) -> None:
    found = read_timestamp(text)
    assert (None if found is None else str(found)) == wanted
    day = read_date(text)
    if wanted is None or "24:00" in text:
        return
    assert str(day) == wanted[:10]


def test_a_zone_moves_a_timestamp_with_time_zone_only() -> None:
    assert str(read_timestamp("2024-06-01 10:00:00+02", in_utc=True)) == "2024-06-01 08:00:00"
    assert str(read_timestamp("2024-06-01 10:00:00-0330", in_utc=True)) == "2024-06-01 13:30:00"


def test_arrays_are_read_as_postgresql_reads_them() -> None:
    assert written_array('{1, 2,NULL,"a,b"}') == ["1", "2", None, "a,b"]
    for wrong in ("", "1,2", "{1", "{a}b}", '{"a}', "{,}", "{{1}}"):
        assert written_array(wrong) is None, wrong


def test_dates_stay_dates() -> None:
    """A literal of each kind is what the engine reads back."""
    moment = datetime(2024, 6, 1, 10, 30)  # noqa: DTZ001  naive
    sql = f"SELECT {literal(moment, Facts(TIMESTAMP))}, {literal(moment.date(), Facts(DATE))}"
    assert duckdb.execute(sql).fetchall() == [(moment, moment.date())]
