"""Windows that look at another row keep all their arguments where the number is an average; lists of constants."""

from __future__ import annotations

from decimal import Decimal

import duckdb
import pytest

import sfumato

KEYS = [f"k{i}" for i in range(6)]
MEANS = [Decimal(3 * i) for i in range(6)]


@pytest.fixture(scope="module")
def gate() -> sfumato.Gateway:
    frame = duckdb.sql("SELECT i AS id, 'k' || (i % 6) AS k, (i % 6) * 3.0 AS x FROM range(6000) AS r(i)").arrow()
    return sfumato.protect(
        frame, unit="id", rows_per_unit=1, epsilon=1e12, bounds={"x": (0, 20, 0.01)}, values={"k": KEYS}
    )


@pytest.mark.parametrize(
    ("window", "shown"),
    [
        ("LAG(AVG(x), 2)", [None, None, *MEANS[:4]]),
        ("LAG(AVG(x))", [None, *MEANS[:5]]),
        ("LAG(AVG(x), 2, -1)", [Decimal(-1), Decimal(-1), *MEANS[:4]]),
        ("LAG(AVG(x), 1, 0.5)", [Decimal("0.5"), *MEANS[:5]]),
        ("LEAD(AVG(x), 2)", MEANS[2:]),
        ("NTH_VALUE(AVG(x), 2)", [None, *[MEANS[1]] * 5]),
        ("FIRST_VALUE(AVG(x))", [MEANS[0]] * 6),
    ],
)
def test_a_window_over_averages_reads_the_row_that_it_names(
    gate: sfumato.Gateway, window: str, shown: list[object]
) -> None:
    answer = gate.sql(f"SELECT k, {window} OVER (ORDER BY k) AS w FROM data GROUP BY k ORDER BY k", epsilon=1e10)
    assert [row[0] for row in answer.rows][:6] == KEYS
    assert [row[1] for row in answer.rows][: len(shown)] == shown


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ("STRING_AGG('a', ';')", ";".join("a" * 7)),
        ("ARRAY_AGG(TRUE)", "{" + ",".join("t" * 7) + "}"),
        ("STRING_AGG(k, ';' ORDER BY 'a')", ";".join(KEYS)),
        ("STRING_AGG(DISTINCT 'a', ',')", "a"),
        ("MODE() WITHIN GROUP (ORDER BY 'a')", "a"),
    ],
)
def test_aggregates_over_released_rows_take_constants(gate: sfumato.Gateway, call: str, shown: str) -> None:
    assert gate.sql(f"SELECT {call} FROM (SELECT k FROM data GROUP BY k) AS t").rows == [(shown,)]
