"""A date has no time of day: asking for it is refused, and a column that has one is declared with times."""

from __future__ import annotations

import pandas as pd
import pytest

import sfumato
from sfumato.errors import QueryError

TIMES = pd.to_datetime(["2023-03-01 08:30:00", "2023-03-01 09:15:30", "2023-03-02 08:00:00", None])
FRAME = pd.DataFrame({"id": range(4), "at": TIMES})
EXACT = {"unit": "id", "rows_per_unit": 1, "epsilon": 10**12}


def protect(*ends):
    return sfumato.protect(FRAME, **EXACT, bounds={"at": ends})


@pytest.fixture(scope="module")
def days():
    return protect("2023-01-01", "2023-12-31")


REFUSED = [
    "SELECT EXTRACT(HOUR FROM at) AS h, COUNT(*) FROM data GROUP BY 1",
    "SELECT date_part('hour', at) AS h, COUNT(*) FROM data GROUP BY 1",
    "SELECT COUNT(*) FROM data WHERE EXTRACT(MINUTE FROM at) > 30",
    "SELECT AVG(EXTRACT(SECOND FROM at)) FROM data",
    "SELECT COUNT(*) FROM data WHERE EXTRACT(HOUR FROM COALESCE(at, DATE '2023-01-01')) = 0",
    "SELECT EXTRACT(HOUR FROM d), COUNT(*) FROM (SELECT id, at + 1 AS d FROM data) t GROUP BY 1",
    "SELECT EXTRACT(HOUR FROM CURRENT_DATE)",
    "SELECT COUNT(*) FROM data WHERE at::time >= '08:00'",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_the_time_of_day_of_a_date_is_refused(statement, days):
    with pytest.raises(QueryError, match=r"not supported for type date|cannot cast type date to time") as refused:
        days.sql(statement, epsilon=10**6)
    assert '("2023-01-01 00:00", "2023-12-31 23:59")' in (refused.value.hint or "")


def test_what_the_hint_says_shows_the_hours():
    rows = protect("2023-01-01 00:00", "2023-12-31 23:59").sql(REFUSED[0], epsilon=10**6).rows
    assert {hour: count for hour, count in rows if count} == {8: 2, 9: 1, None: 1}


MIDNIGHT = [
    "EXTRACT(HOUR FROM date_trunc('month', at))",
    "EXTRACT(HOUR FROM at::timestamp)",
    "EXTRACT(HOUR FROM at AT TIME ZONE 'UTC')",
    "EXTRACT(HOUR FROM at + INTERVAL '0 days')",
    "EXTRACT(HOUR FROM date_trunc('hour', at))",
    "to_char(at, 'HH24')",
]


@pytest.mark.parametrize("key", MIDNIGHT)
def test_where_postgresql_has_a_timestamp_the_hour_is_that_of_midnight(key, days):
    rows = days.sql(f"SELECT {key} AS h, COUNT(*) FROM data WHERE at IS NOT NULL GROUP BY 1", epsilon=10**6).rows
    assert {int(hour): count for hour, count in rows if count} == {0: 3}
