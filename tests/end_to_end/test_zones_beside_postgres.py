"""AT TIME ZONE of whatever may stand before it, beside PostgreSQL: the direction depends on a type.

A time without a zone is read on the clocks of the zone, one with a zone is shown on them. Which of the two an
expression is PostgreSQL knows from its types, and here it is told from the statement. Every kind of expression that
keeps a time stands once between two conversions, over rows that both have; what cannot be told must be refused, never
guessed.
"""

# ruff: noqa: DTZ001, E501  times without a zone are what this is about; a source stands on one line
from __future__ import annotations

from datetime import date, datetime
from itertools import product

import pandas as pd
import psycopg
import pytest

import sfumato
from sfumato.errors import QueryError

PEOPLE = 40
BASES = (
    "t", "d", "t AT TIME ZONE 'UTC'", "d AT TIME ZONE 'UTC'", "CAST(t AS timestamptz)", "CAST(t AS date)",
    "to_timestamp(extract(epoch from t))", "date_trunc('hour', t, 'Europe/Paris')", "date_trunc('year', t, 'UTC')",
    "timestamptz '2024-06-01 09:30+02'", "timestamp '2024-06-01 09:30'", "date '2024-06-01'", "'2024-06-01 09:30'",
)  # fmt: skip
AROUND = {
    "itself": "{}",
    "another zone": "({}) AT TIME ZONE 'America/New_York'",
    "back and forth": "(({}) AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'",
    "coalesce": "COALESCE({}, {})",
    "greatest": "GREATEST({}, timestamp '2000-01-01')",
    "greatest with a zone": "GREATEST({}, timestamptz '2000-01-01')",
    "least": "LEAST({}, date '2030-01-01')",
    "nullif": "NULLIF({}, timestamp '2001-01-01')",
    "case": "CASE WHEN ill = 'yes' THEN {} ELSE {} END",
    "case of two kinds": "CASE WHEN ill = 'yes' THEN {} ELSE timestamptz '2024-06-01 09:30' END",
    "an hour later": "({}) + interval '1 hour'",
    "an hour earlier": "({}) - interval '1 hour'",
    "date_trunc": "date_trunc('hour', {})",
    "date_trunc to decades": "date_trunc('decade', {})",
    "date_bin": "date_bin('15 minutes', {}, timestamp '2001-01-01')",
    "date_bin with a zone": "date_bin('15 minutes', {}, timestamptz '2001-01-01')",
    "brackets": "(({}))",
    "a scalar sub-query": "(SELECT timestamptz '2024-06-01 09:30')",
    "make_date": "make_date(2024, 6, 1)",
    "to_date": "to_date('2024-06-01', 'YYYY-MM-DD')",
    "to_timestamp": "to_timestamp('2024-06-01 09', 'YYYY-MM-DD HH24')",
}
SOURCES = {
    "a sub-query": "FROM (SELECT {} AS z, ill FROM people) AS q",
    "a renamed sub-query": "FROM (SELECT {}, ill FROM people) AS q(z, sick)",
    "a sub-query under a name that the table has": "FROM (SELECT {} AS t, ill FROM people) AS q",
    "a star": "FROM (SELECT * FROM (SELECT {} AS z, ill FROM people) AS p) AS q",
    "a union": "FROM (SELECT {} AS z FROM people UNION ALL SELECT {} FROM people) AS q",
    "a union of two kinds": "FROM (SELECT {} AS z FROM people UNION ALL SELECT timestamptz '2024-06-01 09:30' FROM people) AS q",
}  # fmt: skip
UNKNOWN = "cannot be told from the statement"


@pytest.fixture(scope="module")
def both(pg):
    """The same people in a gateway and in PostgreSQL."""
    moments = [datetime(2024, 6, 1, 12, 15) if i % 2 else datetime(2024, 1, 10, 3, 45) for i in range(PEOPLE)]
    frame = pd.DataFrame({"id": range(PEOPLE), "t": moments, "ill": ["yes", "no"] * (PEOPLE // 2)})
    frame["d"] = [moment.date() for moment in moments]
    days = (date(2024, 1, 1), date(2024, 12, 31))
    times = (datetime(2024, 1, 1), datetime(2024, 12, 31))
    gate = sfumato.protect(
        frame, unit="id", rows_per_unit=2, epsilon=10**9, name="people", bounds={"t": times, "d": days},
        values={"ill": ["yes", "no"]},
    )  # fmt: skip
    with gate, psycopg.connect(pg, autocommit=True) as server:
        server.execute("SET TIME ZONE 'UTC'")
        server.execute("CREATE TEMP TABLE people (id int, t timestamp, d date, ill text)")
        with server.cursor() as cursor:
            rows = [(row.id, row.t.to_pydatetime(), row.d, row.ill) for row in frame.itertuples()]
            cursor.executemany("INSERT INTO people VALUES (%s, %s, %s, %s)", rows)
        yield gate, server


def hours(both, expression, source="FROM people"):
    """The hours that each of the two shows, or why ours does not."""
    gate, server = both
    sql = (
        f"SELECT extract(hour from ({expression}) AT TIME ZONE 'Europe/Paris') AS h, COUNT(*) AS n {source} GROUP BY 1"
    )
    try:
        theirs = {int(hour): count for hour, count in server.execute(sql).fetchall() if hour is not None}
    except psycopg.Error as error:
        theirs = str(error)
    try:
        answer = gate.sql(sql, epsilon=10**5)
    except QueryError as refused:
        return refused.message, theirs
    return {int(hour): int(count) for hour, count in answer.rows if hour is not None and count}, theirs


def compared(both, cases):
    """What differs, and how many were told, refused as unknown, and not taken by one of the two."""
    wrong, counts = {}, {"equal": 0, "unknown": 0, "refused": 0, "invalid": 0}
    for name, (expression, source) in cases.items():
        ours, theirs = hours(both, expression, source)
        if isinstance(theirs, str):
            counts["invalid"] += 1
        elif isinstance(ours, str):
            counts["unknown" if UNKNOWN in ours else "refused"] += 1
        elif ours == theirs:
            counts["equal"] += 1
        else:
            wrong[name] = ours, theirs
    return wrong, counts


def test_what_keeps_a_time_keeps_its_zone(both):
    cases = {
        (base, name): (around.format(*[base] * 2), "FROM people")
        for base, (name, around) in product(BASES, AROUND.items())
    }
    wrong, counts = compared(both, cases)
    assert wrong == {}
    assert counts["equal"] > 0.8 * len(cases), counts
    assert counts["unknown"] <= 0.05 * len(cases), counts


def test_a_column_of_a_sub_query_keeps_its_zone(both):
    cases = {
        (base, name): ("t" if "name that" in name else "z", source.format(*[base] * 2))
        for base, (name, source) in product(BASES, SOURCES.items())
    }
    wrong, counts = compared(both, cases)
    assert wrong == {}
    assert counts["equal"] > 0.6 * len(cases), counts
