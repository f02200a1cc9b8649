"""Neighbours differ by at most the claim where keys and numbers are made of timestamps, intervals and new functions."""

# ruff: noqa: E501  an example stands on one line
from __future__ import annotations

from datetime import datetime

import pytest

from tests.laws.directed import LIST, example, policies

T = {"type": "timestamp", "min": datetime(2024, 1, 30), "max": datetime(2024, 3, 2, 23, 59, 59)}  # noqa: DTZ001  times have no zone here
ROWS = "a:2024-01-31T23:59:59.999999,x*3 a:2024-02-29T12:30:00,y*4 b:2023-01-01T00:00:00,x b:2024-03-01T00:00:00,z c:,y c:2030-01-01T00:00:00,"
QUERIES = {
    "months": "SELECT date_trunc('month', t), COUNT(*) FROM t GROUP BY 1",
    "days under a condition": "SELECT t::date, COUNT(*) FROM t WHERE t >= '2024-02-28' AND t < '2024-03-02' GROUP BY 1",
    "hours of the day": "SELECT extract(hour from t), COUNT(*), COUNT(DISTINCT s) FROM t GROUP BY 1",
    "bins": "SELECT date_bin('12 hours', t, TIMESTAMP '2024-01-01'), COUNT(*) FROM t WHERE t < '2024-02-02' GROUP BY 1",
    "months after DISTINCT": "SELECT m, COUNT(*) FROM (SELECT DISTINCT u, date_trunc('month', t) AS m FROM t) q GROUP BY 1",
    "first months": "SELECT date_trunc('month', f), COUNT(*) FROM (SELECT u, MIN(t) AS f FROM t GROUP BY u) q GROUP BY 1",
    "different months": "SELECT COUNT(DISTINCT date_trunc('month', t)), COUNT(*) FROM t",
    "the first and the last": "SELECT MIN(t), MAX(t) FROM t",
    "seconds between": "SELECT SUM(extract(epoch from (t - TIMESTAMP '2024-02-01'))), AVG(extract(day from (t - TIMESTAMP '2024-02-01'))) FROM t",
    "a mean of intervals": "SELECT AVG(t - TIMESTAMP '2024-02-01'), SUM(t - (TIMESTAMP '2024-02-01' + INTERVAL '1 day 02:30:00')) FROM t",
    "a person's mean of intervals": "SELECT COUNT(*) FROM (SELECT u, AVG(t - TIMESTAMP '2024-02-01') AS a FROM t GROUP BY u) q WHERE a > INTERVAL '1 day 02:30:00'",
    "a part of a month": "SELECT extract(month from t) / 4, COUNT(*) FROM t GROUP BY 1",
    "a part of a month, added up": "SELECT SUM(extract(day from t) / 7), AVG(extract(hour from t) / extract(day from t)) FROM t",
    "steps of an epoch": "SELECT to_timestamp(floor(extract(epoch from t) / 604800) * 604800), COUNT(*) FROM t GROUP BY 1",
    "minutes by a division": "SELECT AVG(extract(epoch from (t - TIMESTAMP '2024-02-01')) / 60) FROM t",
    "ages": "SELECT extract(month from age(TIMESTAMP '2025-01-01', t)), COUNT(*) FROM t GROUP BY 1",
    "texts of months": "SELECT to_char(t, 'YYYY-MM'), COUNT(*) FROM t GROUP BY 1",
    "parts of texts": "SELECT SUM(length(regexp_replace(s, '[xy]', 'abc')) + length(split_part(s, 'y', 1)) + length(lpad(s, 4, '-'))) FROM t",
    "the least of months": "SELECT m, COUNT(*) FROM (SELECT u, MIN(date_trunc('month', t)) AS m FROM t GROUP BY u) q GROUP BY m",
    "hours of a person, twice": "SELECT m, COUNT(*) FROM (SELECT u, s, MAX(date_trunc('hour', t)) AS m FROM t WHERE t < '2024-02-01' GROUP BY u, s) q GROUP BY m",
    "parts of an age with a name": "SELECT SUM(extract(day from a)), SUM(extract(epoch from a) / 86400) FROM (SELECT u, age(TIMESTAMP '2023-05-31 07:00', t) AS a FROM t) q",
    "months of a series": "SELECT g.d, COUNT(*) FROM t JOIN generate_series(DATE '2024-01-01', DATE '2024-03-01', INTERVAL '1 month') AS g(d) ON date_trunc('month', t.t) = g.d GROUP BY 1",
    "steps of a series": "SELECT g, COUNT(*), SUM(g) FROM t JOIN generate_series(0, 40, 10) AS g ON extract(day from t.t) >= g AND extract(day from t.t) < g + 15 GROUP BY 1",
    "the most common of a series": "SELECT mode() WITHIN GROUP (ORDER BY g), MAX(g) FROM t JOIN generate_series(0, 40, 10) AS g ON extract(day from t.t) >= g",
    "the first of a list": "SELECT COUNT(*) FROM (SELECT u, t, row_number() OVER (PARTITION BY u ORDER BY t) AS r FROM (SELECT u, t FROM t) x) y WHERE r = 1",
}


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("name", QUERIES)
def test_neighbours_differ_by_at_most_the_claim_in_time(name: str, adjacency: str) -> None:
    table = {"unit": "u", "rows_per_unit": 5, "columns": {"u": {"type": "text", "max_length": 6}, "t": T, "s": LIST}}
    made = policies({"t": table}, adjacency)
    others: dict[str | None, str] = {"a": "a:2024-02-01T05:00:00,z*5", None: "d:2024-02-10T10:00:00,x*9"}
    assert example(made, ROWS, QUERIES[name], others).check() >= 0
