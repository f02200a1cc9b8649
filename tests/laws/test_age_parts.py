"""Parts of intervals are PostgreSQL's, and are refused where the form of an age is lost."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction

import pytest

from sfumato.algebra.interval_values import part_of, read
from sfumato.errors import QueryError
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from tests import tableless
from tests.laws.asking import TODAY
from tests.laws.directed import policies

T = {"type": "timestamp", "min": datetime(2023, 1, 1), "max": datetime(2024, 3, 2)}  # noqa: DTZ001  times have no zone here
COLUMNS = {"u": {"type": "text", "max_length": 6}, "t": T, "w": T}
POLICY = policies({"t": {"unit": "u", "rows_per_unit": 3, "columns": COLUMNS}})
LOST = [
    "SELECT AVG(extract({} from m)) FROM (SELECT u, MAX(age(t, w)) AS m FROM t GROUP BY u) q",
    "SELECT AVG(extract({} from m)) FROM (SELECT u, t - w AS m FROM t UNION ALL SELECT u, age(t, w) FROM t) q",
    "SELECT AVG(extract({} from CASE WHEN t > w THEN age(t, w) ELSE t - w END)) FROM t",
]
KEPT = [
    "SELECT AVG(extract({} from age(t, w))) FROM t",
    "SELECT AVG(extract({} from a)) FROM (SELECT u, age(t, w) AS a FROM t) q",
    "SELECT AVG(extract({} from m)) FROM (SELECT u, MAX(t - w) AS m FROM t GROUP BY u) q",
]


@pytest.mark.parametrize("part", ["day", "epoch"])
@pytest.mark.parametrize("text", LOST)
def test_the_parts_of_an_age_that_lost_its_form_are_refused(text: str, part: str) -> None:
    with pytest.raises(QueryError, match="an interval that age made"):
        bind(parse(text.format(part)), POLICY, TODAY, tableless.tableless())


@pytest.mark.parametrize("part", ["day", "epoch", "hour"])
@pytest.mark.parametrize("text", KEPT)
def test_the_parts_of_other_intervals_are_not(text: str, part: str) -> None:
    assert bind(parse(text.format(part)), POLICY, TODAY, tableless.tableless()).releases


@pytest.mark.parametrize(
    ("words", "part", "value"),
    [
        ("1 year 2 months", "epoch", 36_741_600),
        ("-14 months", "month", -2),
        ("-14 months", "year", -1),
        ("26:15:03.5", "hour", 26),
        ("26:15:03.5", "second", Fraction(7, 2)),
        ("3 days 04:05", "epoch", 273_900),
        ("3 days 04:05", "day", 3),
    ],
)
def test_the_parts_of_written_intervals_are_those_of_postgresql(words: str, part: str, value: int | Fraction) -> None:
    span = read(words)
    assert span is not None
    assert part_of(span, part) == value
