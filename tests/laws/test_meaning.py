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
EXP(n) > 20 | EXP(c) < 1 | CBRT(n) = -1 | CBRT(n) < -1.5
POWER(n, 2) = 49 | POW(c, 2) = 1.5625 | POWER(c, 3) < 0 | POWER(n, 8) = 5764801 | POWER(2, c) > 2
POWER(n, 0) = 1 | TRUNC(c) = -2 | TRUNC(c) = 0 | MOD(n, 4) = -3
s ILIKE 'a%' | s NOT ILIKE 'a%' | s ILIKE 'XYZ' | s ILIKE 'A_B' | STARTS_WITH(s, 'A') | STARTS_WITH(s, '')
STRPOS(s, 'b') = 2 | POSITION('b' IN s) = 3 | STRPOS(s, '') = 1
LEFT(s, 1) = 'A' | RIGHT(s, 2) = 'yz' | LEFT(s, 0) = ''
REPLACE(s, 'b', 'xx') = 'Axx' | REPLACE(s, 'y', '') = 'xz' | CONCAT(s, 'x') = 'x' | CONCAT(NULL, s, 'q') = 'Abq'
REVERSE(s) = 'bA' | LTRIM('  ' || s) = 'Ab' | RTRIM(s || '  ') = s | CHAR_LENGTH(s) = 2
n IS DISTINCT FROM 3 | n IS NOT DISTINCT FROM NULL | n IS DISTINCT FROM c | b IS NOT TRUE | b IS NOT FALSE
d IS DISTINCT FROM '2024-07-01' | s IS DISTINCT FROM 'Ab'
d > DATE '2024-01-01' - INTERVAL '1 month' | d + INTERVAL '1 month' = DATE '2023-02-28'
d - INTERVAL '1 year' < DATE '2023-02-28'
d + INTERVAL '1 year 1 day' > TIMESTAMP '2025-02-28 12:00' | d + INTERVAL '36 hours' = TIMESTAMP '2024-07-02 12:00'
INTERVAL '2 weeks' + d > DATE '2024-01-01' | d + INTERVAL '1' MONTH > DATE '2024-07-31'
EXTRACT(month FROM d + INTERVAL '1 month') = 2
CAST(c AS DECIMAL(3, 1)) = 1.3 | CAST(c AS NUMERIC(2, 0)) = -3 | c::NUMERIC(3, 1) = -0.1 | CAST(n AS TEXT) = '-7'
CAST(b AS TEXT) = 'true' | CAST(d AS TEXT) LIKE '2023-%' | n || s = '3Ab' | s || n = 'xyz-4' | CONCAT(n, s) = '3Ab'
CAST(c AS REAL) > 3 | CAST(n AS DOUBLE PRECISION) = 3 | CAST(n AS BOOLEAN) | CAST(d AS TIMESTAMP) = d
s LIKE 'a!%b' ESCAPE '!' | s NOT LIKE 'a!%b' ESCAPE '!' | s LIKE 'A\\b' ESCAPE ''
TRIM(LEADING 'A' FROM s) = 'b' | TRIM(BOTH 'xz' FROM s) = 'y'
"""
# whole numbers divide toward zero in PostgreSQL: the plain engine spells that //
OTHERS = [
    ("LOG(n) > 0.8", "log10(nullif(greatest(n, 0), 0)) > 0.8"),
    ("LOG(2, n) > 2", "log2(nullif(greatest(n, 0), 0)) > 2"),
    ("LN(c) > 0.1", "c > 0 AND ln(c) > 0.1"),
    ("SQRT(c) > 1.2", "c >= 0 AND sqrt(c) > 1.2"),
    ("POWER(n, -1) > 0.2", "n = 3"),
    ("CAST(s AS VARCHAR(1)) = 'A'", "left(s, 1) = 'A'"),
    ("LN(n) IS NULL", "NOT coalesce(n > 0, FALSE)"),
    ("SQRT(c) IS NULL", "NOT coalesce(c >= 0, FALSE)"),
    ("POWER(c, 0.5) IS NULL", "NOT coalesce(c >= 0, FALSE)"),
    ("POWER(n, -1) IS NULL", "coalesce(n = 0, TRUE)"),
    ("n ^ 2 / 2 = 24.5", "n = 7 OR n = -7"),
    ("-n ^ 2 = 9", "n = 3"),
    ("TRUNC(c, 1) = 1.2", "c = 1.25"),
    ("TRUNC(c, 1) = -2.7", "c = -2.75"),
    ("ROUND(n) / 2 = 3.5", "n = 7"),
    ("FLOOR(c) / 2 = -1.5", "c = -2.75"),
    ("c % 0.5 = 0.25", "c % 0.5 = 0.25"),
    ("MOD(c, 0.5) = -0.25", "c % 0.5 = -0.25"),
    ("DIV(n, 2) = -3", "n = -7"),
    ("DIV(c, 0.5) = -5", "c = -2.75"),
    ("DIV(n, 2) / 2 = 1.5", "n = 7"),
    ("WIDTH_BUCKET(n, -5, 5, 5) = 1", "n = -4"),
    ("WIDTH_BUCKET(n, -5, 5, 5) = 6", "n = 7"),
    ("WIDTH_BUCKET(n, -5, 5, 5) = 0", "n = -7"),
    ("WIDTH_BUCKET(c, 3, -3, 3) = 1", "c > 1"),
    ("WIDTH_BUCKET(c, 3, -3, 3) = 0", "FALSE"),
    ("WIDTH_BUCKET(c, 0, 1.25, 2) = 3", "c >= 1.25"),
    ("WIDTH_BUCKET(SQRT(c), 0, 2, 4) = 3", "c = 1.25"),
    ("s ~ '^[A-Z]'", "regexp_matches(s, '^[A-Z]')"),
    ("s !~ 'b$'", "NOT regexp_matches(s, 'b$')"),
    ("s ~ '^a.b$'", "s = 'a%b'"),
    ("s ~ '^(Ab|x[a-z]{2})$'", "s IN ('Ab', 'xyz')"),
    ("regexp_like(s, 'b')", "contains(s, 'b')"),
    ("s ^@ 'A'", "starts_with(s, 'A')"),
    ("b IS UNKNOWN", "b IS NULL"),
    ("b IS NOT UNKNOWN", "b IS NOT NULL"),
    ("n BETWEEN SYMMETRIC 3 AND -4", "n BETWEEN -4 AND 3"),
    ("n NOT BETWEEN SYMMETRIC 3 AND -4", "n NOT BETWEEN -4 AND 3"),
    ("d < now()", "d IS NOT NULL"),
    ("d < LOCALTIMESTAMP - INTERVAL '1 day'", "d IS NOT NULL"),
    ("d > CURRENT_TIMESTAMP", "FALSE"),
    ("date_part('month', d) = 12", "month(d) = 12"),
    ("CAST(now() AS DATE) = CURRENT_DATE", "TRUE"),
    ("CAST(c AS NUMERIC(1, 0)) IS NULL", "c IS NULL"),
    ("CAST(n * 10 AS NUMERIC(2, 0)) IS NULL", "n IS NULL"),
    ("CAST(n * 20 AS NUMERIC(2, 0)) IS NULL", "n IS NULL OR abs(n) = 7"),
    ("CAST(n * 10000 AS SMALLINT) IS NULL", "n IS NULL OR abs(n) > 3"),
    ("CAST(s AS INTEGER) IS NULL", "TRUE"),
    ("CAST(REPLACE(s, 'xyz', ' 12 ') AS INTEGER) = 12", "s = 'xyz'"),
    ("CAST(REPLACE(s, 'xyz', '1e3') AS INTEGER) = 1000", "FALSE"),
    ("CAST(REPLACE(s, 'xyz', '0x1F') AS INTEGER) IS NOT NULL", "FALSE"),
    ("CAST(REPLACE(s, 'xyz', '1e1') AS NUMERIC) = 10", "s = 'xyz'"),
    ("CAST(REPLACE(s, 'xyz', '-1.005') AS NUMERIC(5, 2)) = -1.01", "s = 'xyz'"),
    ("CAST(REPLACE(s, 'xyz', '2.5e0') AS DOUBLE PRECISION) = 2.5", "s = 'xyz'"),
    ("CAST(REPLACE(s, 'xyz', '1e400') AS DOUBLE PRECISION) IS NOT NULL", "FALSE"),
    ("CAST(REPLACE(s, 'xyz', '2024-02-29') AS DATE) = DATE '2024-02-29'", "s = 'xyz'"),
    ("CAST(REPLACE(s, 'xyz', '2024-02-30') AS DATE) IS NOT NULL", "FALSE"),
    ("CAST(REPLACE(s, 'xyz', ' Yes ') AS BOOLEAN)", "s = 'xyz'"),
    ("CAST(0.1 AS REAL) = CAST(0.1 AS DOUBLE PRECISION)", "FALSE"),
]
DIVISIONS = [
    ("n / 2 = 1", "n // 2 = 1"),
    ("n / 2 = -2", "n // 2 = -2"),
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


@pytest.mark.parametrize(("ours", "theirs"), DIVISIONS + OTHERS)
def test_a_condition_means_what_postgresql_says(
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
    "TRUNC(c)",
    "POWER(n, 2)",
    "POWER(c, 2)",
    "MOD(n, 4)",
    "c % 0.5",
    "ROUND(LN(n + 11), 2)",
    "ROUND(SQRT(ABS(c)), 3)",
    "ROUND(EXP(c), 1)",
    "FLOOR(LOG10(n + 11))",
    "STRPOS(s, 'b')",
    "CAST(c AS DECIMAL(3, 1))",
    "LENGTH(CONCAT(s, n))",
    "LENGTH(REPLACE(s, 'b', 'xyz'))",
    "EXTRACT(month FROM d + INTERVAL '1 month')",
    "CAST(n * 10000 AS INTEGER)",
]


@pytest.mark.parametrize("expression", SUMS)
def test_a_sum_is_the_sum(expression: str, gate: Gateway, plain: duckdb.DuckDBPyConnection) -> None:
    """SUM, COUNT and AVG of an expression; c lies on its grid, so nothing is rounded."""
    total, count, mean = plain.execute(
        f"SELECT sum({expression}), count({expression}), avg({expression}) FROM data"
    ).fetchone()
    answer = gate.sql(f"SELECT SUM({expression}), COUNT({expression}), AVG({expression}) FROM data", epsilon=10**8)
    assert float(answer.rows[0][0]) == pytest.approx(float(total), abs=1e-9)
    assert answer.rows[0][1] == count
    assert float(answer.rows[0][2]) == pytest.approx(float(mean), abs=1e-3)
    alone = gate.sql(f"SELECT SUM({expression}) FROM data", epsilon=10**8)
    assert float(alone.rows[0][0]) == pytest.approx(float(total), abs=1e-9)
