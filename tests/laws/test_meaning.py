"""Every function means what PostgreSQL means by it: counts and sums through the gateway against plain SQL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

from sfumato.gateway import Gateway, protect

ROWS = [
    ("a", 3, Decimal("1.25"), "Ab", date(2023, 1, 31), True),
    ("b", -4, Decimal("0.50"), "xyz", date(2024, 2, 29), False),
    ("c", None, Decimal("-2.75"), None, date(2023, 12, 31), None),
    ("d", 0, None, "a%b", None, True),
    ("e", 7, Decimal("3.00"), "A\\b", date(2024, 7, 1), False),
    ("f", -7, Decimal("-0.10"), "", date(2023, 6, 15), True),
]
NAMES = ("u", "n", "c", "s", "d", "b")

CONDITIONS = """
n IS NULL | n IS NOT NULL | NOT n IS NULL | n IS NOT NULL AND c IS NULL | n = 3 | n <> 3 | n != 3 | n > -4
n >= -4 | n < 0 | n BETWEEN -4 AND 3 | n NOT BETWEEN -4 AND 3 | n IN (3, 7) | n NOT IN (3, 7) | n + 1 = 4
n - 1 > 1 | n * n > 10 | -n > 0 | n % 3 = 1 | n % 3 = -1 | ABS(n) = 7 | SIGN(n) = -1 | c = 0.5 | c > 0.49
c < -2.749 | c * 2 = 2.5 | c + n > 4 | n > c | ROUND(c) = 1 | ROUND(c) = -3 | ROUND(c, 1) = 1.3 | FLOOR(c) = -3
CEIL(c) = -2 | CEIL(c) = 0 | FLOOR(c) = 0 | s = 'Ab' | s <> 'Ab' | s LIKE 'A%' | s NOT LIKE 'A%' | s LIKE '_b'
s LIKE 'a\\%b' | s LIKE '%' | LOWER(s) = 'ab' | UPPER(s) = 'XYZ' | LENGTH(s) = 3 | LENGTH(s) = 0
SUBSTRING(s, 2, 1) = 'b' | TRIM(s) = s | s || 'x' = 'Abx' | d = DATE '2024-02-29' | d > DATE '2023-06-15'
d IS NOT NULL | EXTRACT(year FROM d) = 2023 | EXTRACT(month FROM d) = 12 | EXTRACT(day FROM d) > 28
EXTRACT(dow FROM d) = 0 | EXTRACT(quarter FROM d) = 1 | EXTRACT(doy FROM d) = 60
date_trunc('month', d) = DATE '2023-06-01' | date_trunc('year', d) = DATE '2024-01-01'
date_trunc('week', d) < DATE '2023-02-01' | d + 1 = DATE '2024-03-01' | d - DATE '2023-01-01' = 30 | b | NOT b
b IS TRUE | b IS FALSE | b IS NULL | b = TRUE | CASE WHEN n > 0 THEN TRUE ELSE b END
CASE n WHEN 3 THEN 1 WHEN 7 THEN 2 END = 2 | COALESCE(n, 9) = 9 | NULLIF(n, 3) IS NULL | GREATEST(n, 0) = 0
LEAST(n, 0) = 0 | GREATEST(n, c) > 2 | CAST(c AS INTEGER) = 1 | CAST(c AS INTEGER) = -3 | CAST(b AS INTEGER) = 1
n > 0 AND b OR c < 0 | NOT (n > 0 AND b) | NULL | TRUE | n = NULL | 1 = 1 AND n > 0 | u = 'a'
u IN ('a', 'b', 'zz') | d IN ('2024-07-01')
"""
# whole numbers divide toward zero in PostgreSQL: the plain engine spells that //
DIVISIONS = [
    ("n / 2 = 1", "n // 2 = 1"),
    ("n / 2 = -2", "n // 2 = -2"),
    ("n / 0 IS NULL", "TRUE"),
    ("7 / n = -1", "7 // nullif(n, 0) = -1"),
    ("c / 2 > 0.6", "c / 2 > 0.6"),
    ("n / 2.0 = 1.5", "n / 2.0 = 1.5"),
]


@pytest.fixture(scope="module")
def gate() -> Iterator[Gateway]:
    frame = pa.table({name: [row[i] for row in ROWS] for i, name in enumerate(NAMES)})
    bounds = {"n": (-10, 10), "c": (-3, 3, Decimal("0.05")), "d": (date(2023, 1, 1), date(2024, 12, 31))}
    with protect(
        frame, "u", 1, 10**12, bounds=bounds, values={"b": [False, True], "s": ["Ab", "xyz", "a%b", "A\\b", ""]}
    ) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def plain() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE data (u VARCHAR, n INTEGER, c DECIMAL(9, 2), s VARCHAR, d DATE, b BOOLEAN)")
    connection.executemany("INSERT INTO data VALUES (?, ?, ?, ?, ?, ?)", ROWS)
    return connection


@pytest.mark.parametrize("condition", [c.strip() for line in CONDITIONS.strip().split("\n") for c in line.split(" | ")])
def test_a_condition_means_what_it_says(condition: str, gate: Gateway, plain: duckdb.DuckDBPyConnection) -> None:
    escaped = condition.replace("LIKE 'a\\%b'", "LIKE 'a\\%b' ESCAPE '\\'")
    expected = plain.execute(f"SELECT count(*) FROM data WHERE {escaped}").fetchone()[0]
    assert gate.sql(f"SELECT COUNT(*) FROM data WHERE {condition}", epsilon=1000).rows == [(expected,)]
    assert gate.sql(f"SELECT COUNT(*) FILTER (WHERE {condition}) FROM data", epsilon=1000).rows == [(expected,)]


@pytest.mark.parametrize(("ours", "theirs"), DIVISIONS)
def test_whole_numbers_divide_toward_zero(
    ours: str, theirs: str, gate: Gateway, plain: duckdb.DuckDBPyConnection
) -> None:
    expected = plain.execute(f"SELECT count(*) FROM data WHERE {theirs}").fetchone()[0]
    assert gate.sql(f"SELECT COUNT(*) FROM data WHERE {ours}", epsilon=1000).rows == [(expected,)]


SUMS = [
    "n",
    "c",
    "n * 2 - 1",
    "n * c",
    "ABS(n)",
    "CASE WHEN b THEN n ELSE c END",
    "COALESCE(n, 5)",
    "ROUND(c, 1)",
    "ROUND(c)",
    "FLOOR(c)",
    "CEIL(c)",
    "SIGN(n)",
    "LEAST(n, c)",
    "GREATEST(n, 0)",
    "n % 4",
    "EXTRACT(month FROM d)",
    "LENGTH(s)",
    "CAST(c AS INTEGER)",
    "d - DATE '2023-01-01'",
    "-c",
]


@pytest.mark.parametrize("expression", SUMS)
def test_a_sum_is_the_sum(expression: str, gate: Gateway, plain: duckdb.DuckDBPyConnection) -> None:
    """SUM, COUNT and AVG of an expression; c lies on its grid, so nothing is rounded."""
    total, count, mean = plain.execute(
        f"SELECT sum({expression}), count({expression}), avg({expression}) FROM data"
    ).fetchone()
    answer = gate.sql(f"SELECT SUM({expression}), COUNT({expression}), AVG({expression}) FROM data", epsilon=10**6)
    assert float(answer.rows[0][0]) == pytest.approx(float(total), abs=1e-9)
    assert answer.rows[0][1] == count
    assert float(answer.rows[0][2]) == pytest.approx(float(mean), abs=1e-3)
    alone = gate.sql(f"SELECT SUM({expression}) FROM data", epsilon=10**6)
    assert float(alone.rows[0][0]) == pytest.approx(float(total), abs=1e-9)
