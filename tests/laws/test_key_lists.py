"""Lists of keys are complete: whatever admissible row passes the conditions, its key is in the list."""

# ruff: noqa: E501, DTZ001  a query stands on one line; times have no zone
from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import duckdb
import pytest

from sfumato.algebra import group_keys
from sfumato.algebra.relations import conditions
from sfumato.engines.duckdb.expressions import expression
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from tests import tableless
from tests.laws.asking import TODAY
from tests.laws.directed import policies

FIRST, LAST = datetime(2023, 1, 30, 6, 15), datetime(2024, 3, 2, 18, 45, 10)
COLUMNS: dict[str, Any] = {
    "u": {"type": "text", "max_length": 6},
    "ts": {"type": "timestamp", "min": FIRST, "max": LAST},
    "d": {"type": "date", "min": FIRST.date(), "max": LAST.date()},
    "i": {"type": "integer", "min": -40, "max": 70},
    "big": {"type": "integer", "min": 0, "max": 10**9},
}
POLICY = policies({"t": {"unit": "u", "rows_per_unit": 3, "columns": COLUMNS}}, delta=1e-6)
KEYS = [
    "date_trunc('month', ts)", "date_trunc('week', ts)", "date_trunc('hour', ts)", "ts::date", "extract(hour from ts)",
    "extract(year from ts), extract(month from ts)", "date_trunc('day', ts), extract(dow from ts)", "to_char(ts, 'YYYY-MM')",
    "date_bin('6 hours', ts, TIMESTAMP '2001-01-01')", "floor(extract(epoch from ts) / 86400) * 86400",
    "floor(extract(epoch from ts) / 300) * 300", "ceil(extract(epoch from ts) / 3600)", "7 - floor(extract(epoch from ts) / 7200)",
    "round(extract(epoch from ts) / 900) * 900 + 1",
    "date_trunc('quarter', d)", "d, date_trunc('month', ts)", "floor(i / 10.0) * 10", "i, extract(minute from ts)",
    "date_trunc('day', ts AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Paris')", "(ts AT TIME ZONE 'America/New_York')::date",
    "extract(hour from timezone('Asia/Kolkata', ts::timestamptz))", "date_trunc('week', ts + INTERVAL '1 day')",
    "date_trunc('month', ts::timestamptz, 'Australia/Lord_Howe')", "date_trunc('quarter', ts - INTERVAL '1 month 90 minutes')",
    "(extract(dow from ts) + 1) * 7 - 3", "3 - extract(month from ts)", "-2 * extract(hour from ts)",
]  # fmt: skip
WHERES = [
    "TRUE", "ts >= '2023-06-01'", "ts > '2023-06-01 12:30:00'", "ts < '2023-12-01'", "ts <= '2023-12-01 00:00:00'",
    "ts BETWEEN '2023-03-04 05:06' AND '2023-03-09T10:00:00Z'", "ts::date = '2023-05-05'", "ts = '2023-05-05 10:00'",
    "'2023-08-01' <= ts AND d < '2024-01-01'", "date_trunc('month', ts) = '2023-07-01'", "extract(hour from ts) > 20",
    "i BETWEEN 3 AND 9", "i > 2.5 AND ts IS NOT NULL", "d = '2024-02-29'", "ts < '1999-01-01'", "ts - d > INTERVAL '2 days'",
]  # fmt: skip


def rows_of(r: random.Random, count: int) -> list[dict[str, Any]]:
    """Admissible rows: at the ends, at first moments of units, and anywhere."""
    found = []
    for _ in range(count):
        at = FIRST + timedelta(microseconds=r.randrange(int((LAST - FIRST) / timedelta(microseconds=1)) + 1))
        at = r.choice(
            [FIRST, LAST, at, at, at.replace(hour=0, minute=0, second=0, microsecond=0), datetime(2023, 6, 1)]
        )
        day = FIRST.date() + timedelta(r.randrange((LAST.date() - FIRST.date()).days + 1))
        found.append(
            {
                "0.ts": r.choice([None, at, at, at]),
                "0.d": r.choice([None, day, day, at.date()]),
                "0.i": r.choice([None, -40, 70, r.randint(-40, 70)]),
            }
        )
    return found


@pytest.mark.parametrize("key", KEYS)
def test_no_row_is_outside_of_the_list_of_its_key(key: str) -> None:
    """Over every kind of condition; and the lists are not much longer than they must be."""
    r, checked = random.Random(key), 0
    engine = duckdb.connect(config={"threads": 1})
    engine.execute('CREATE TABLE rows ("0.ts" TIMESTAMP, "0.d" DATE, "0.i" BIGINT)')
    engine.executemany("INSERT INTO rows VALUES (?, ?, ?)", [list(row.values()) for row in rows_of(r, 400)])
    for where in WHERES:
        text = f"SELECT {key}, COUNT(*) FROM t WHERE {where} GROUP BY {key}"
        release = bind(parse(text), POLICY, TODAY, tableless.tableless()).releases[0]
        nodes = [node for _, node in release.keys]
        assert not any(group_keys.is_open(node, release.below) for node in nodes), where
        listed = set(group_keys.groups(release.below, nodes, tableless.tableless()))
        passing = " AND ".join(map(expression, conditions(release.below)))
        shown = engine.execute(f"SELECT {', '.join(map(expression, nodes))} FROM rows WHERE {passing}").fetchall()
        checked += len(shown)
        assert set(shown) <= listed, (where, set(shown) - listed)
    assert checked > 1000


def test_conditions_shorten_lists() -> None:
    wanted = {
        "SELECT date_trunc('month', ts), COUNT(*) FROM t WHERE ts >= '2023-06-01' AND ts < '2023-08-01' GROUP BY 1": 2,
        "SELECT date_trunc('hour', ts), COUNT(*) FROM t WHERE ts >= '2023-06-01' AND ts < '2023-06-02' GROUP BY 1": 24,
        "SELECT floor(extract(epoch from ts) / 300) * 300, COUNT(*) FROM t WHERE ts BETWEEN '2023-06-01T00:00:00Z' AND '2023-06-01T03:00:00Z' GROUP BY 1": 37,
        "SELECT floor(extract(epoch from ts) / 300) * 300, COUNT(*) FROM t WHERE ts >= '2023-06-01 00:00' AND ts < '2023-06-01 03:00' GROUP BY 1": 36,
        "SELECT extract(epoch from ts)::bigint, COUNT(*) FROM t WHERE ts >= '2023-06-01 00:00' AND ts < '2023-06-01 00:01' GROUP BY 1": 61,
        "SELECT ts::date, COUNT(*) FROM t WHERE ts BETWEEN '2023-06-01' AND '2023-06-03 12:00' GROUP BY 1": 3,
        "SELECT date_trunc('month', d), COUNT(*) FROM (SELECT DISTINCT u, d FROM t) q GROUP BY 1": 15,
        "SELECT m, COUNT(*) FROM (SELECT DISTINCT u, date_trunc('month', d) AS m FROM t) q GROUP BY 1": 15,
        "SELECT m, COUNT(*) FROM (SELECT u, date_trunc('month', MIN(ts)) AS m FROM t GROUP BY u) q GROUP BY 1": 15,
        "SELECT m, COUNT(*) FROM (SELECT u, date_trunc('month', d) AS m FROM t UNION ALL SELECT u, date_trunc('month', ts) FROM t) q GROUP BY 1": 15,
    }  # fmt: skip
    for text, count in wanted.items():
        release = bind(parse(text), POLICY, TODAY, tableless.tableless()).releases[0]
        nodes = [node for _, node in release.keys]
        found = [group for group in group_keys.groups(release.below, nodes, tableless.tableless()) if None not in group]
        assert len(found) == count, (text, found[:3])


def test_a_range_of_more_than_a_million_values_is_an_open_key() -> None:
    counted = Counter[bool]()
    for text in (
        "SELECT big, COUNT(*) FROM t GROUP BY big",
        "SELECT big, COUNT(*) FROM t WHERE big < 100 GROUP BY big",
    ):
        release = bind(parse(text), POLICY, TODAY, tableless.tableless()).releases[0]
        counted[group_keys.is_open(release.keys[0][1], release.below)] += 1
    assert counted == {True: 1, False: 1}


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("SELECT m, COUNT(*) FROM (SELECT u, MIN(date_trunc('month', ts)) AS m FROM t GROUP BY u) q GROUP BY m", 16),
        ("SELECT g, COUNT(*) FROM t JOIN generate_series(0, 60, 20) AS g ON i >= g GROUP BY g", 4),
        ("SELECT g + 1, COUNT(*) FROM t JOIN generate_series(0, 60, 20) AS g ON i >= g WHERE g < 40 GROUP BY 1", 2),
        ("SELECT g.m, COUNT(*) FROM t JOIN generate_series(DATE '2023-02-01', DATE '2023-05-01', INTERVAL '1 month') AS g(m) ON ts >= g.m GROUP BY 1", 4),
        ("SELECT g.m::date, COUNT(*) FROM t LEFT JOIN generate_series(DATE '2023-02-01', DATE '2023-05-01', INTERVAL '1 month') AS g(m) ON ts >= g.m GROUP BY 1", 5),
    ],
)  # fmt: skip
def test_lists_of_steps_are_as_long_as_their_steps(text: str, groups: int) -> None:
    """NULL is a group where a column or an outer join may miss."""
    release = bind(parse(text), POLICY, TODAY, tableless.tableless()).releases[0]
    nodes = [node for _, node in release.keys]
    assert len(group_keys.groups(release.below, nodes, tableless.tableless())) == groups
