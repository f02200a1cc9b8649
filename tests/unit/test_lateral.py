"""LATERAL is rewritten only where the rewriting means the same; every other form is refused, and an answer is right."""

# ruff: noqa: E501  a query stands on one line
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from sfumato.errors import QueryError
from sfumato.gateway import Gateway, open_policy

POLICY = """
[source]
engine = "duckdb"
files = { t = "t.csv", y = "y.csv" }
[data]
id = "d"
[privacy]
epsilon = 1e12
composition = "pure"
[tables.t]
unit = "u"
rows_per_unit = 3
[tables.t.columns]
u = { type = "integer" }
i = { type = "integer", min = 0, max = 9 }
[tables.y]
public = true
[tables.y.columns]
i = { type = "integer" }
p = { type = "integer" }
"""
ROWS = {"t": "u,i\n1,1\n1,2\n2,2\n3,3\n", "y": "i,p\n1,\n2,1\n3,1\n-1,2\n2,2\n"}
RIGHT = [
    "SELECT COUNT(*) FROM t CROSS JOIN LATERAL (SELECT i + 1 AS j) l WHERE l.j > 2",
    "SELECT COUNT(*) FROM t CROSS JOIN LATERAL (SELECT 2 AS j) l WHERE EXISTS (SELECT 1 FROM y WHERE y.i = l.j)",
    "SELECT COUNT(*) FROM t CROSS JOIN LATERAL (VALUES (t.i), (9)) l(x) WHERE l.x > 1",
    "SELECT COUNT(*) FROM t JOIN LATERAL (SELECT y.p FROM y WHERE y.i = t.i ORDER BY y.p LIMIT 1) l ON TRUE",
    "SELECT COUNT(*) FROM t JOIN LATERAL (SELECT y.p FROM y WHERE abs(y.i) = t.i) l ON TRUE",
]
REFUSED = [
    "SELECT COUNT(*) FROM t CROSS JOIN LATERAL (SELECT i + 1 AS j) l WHERE EXISTS (SELECT 1 FROM y WHERE y.i = l.j)",
    "SELECT COUNT(*) FROM t CROSS JOIN LATERAL (SELECT t.i + 1 AS j) l WHERE EXISTS (SELECT 1 FROM y t WHERE t.i = l.j)",
    "SELECT COUNT(l.j) FROM t CROSS JOIN LATERAL (SELECT 5 AS j) l RIGHT JOIN t b ON t.u = b.u AND t.i = 9",
    "SELECT COUNT(*) FROM t CROSS JOIN LATERAL (VALUES (t.i), (9)) l(x) RIGHT JOIN t b ON t.u = b.u AND t.i = 9",
    "SELECT COUNT(l.j) FROM t CROSS JOIN LATERAL (SELECT 5 AS j) l FULL JOIN t b ON t.u = b.u",
    "SELECT COUNT(*) FROM t CROSS JOIN LATERAL (VALUES (t.i), (9)) l(x) WHERE EXISTS (SELECT 1 FROM y t WHERE t.i = l.x)",
    "SELECT COUNT(*) FROM t JOIN LATERAL (SELECT y.p FROM y WHERE abs(y.i) = t.i ORDER BY y.i LIMIT 1) l ON TRUE",
]


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder: Path = tmp_path_factory.mktemp("lateral")
    for name, text in ROWS.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    (folder / "sfumato.toml").write_text(POLICY, encoding="utf-8")
    with open_policy(folder / "sfumato.toml") as opened:
        yield opened


@pytest.mark.parametrize("text", RIGHT)
def test_a_rewritten_lateral_means_the_same(gate: Gateway, text: str) -> None:
    with duckdb.connect() as plain:
        for name, rows in ROWS.items():
            head, *lines = rows.splitlines()
            values = ", ".join("(" + ", ".join(cell or "NULL" for cell in line.split(",")) + ")" for line in lines)
            plain.execute(f"CREATE TABLE {name} AS SELECT * FROM (VALUES {values}) AS v({head})")
        assert gate.sql(text, epsilon=10**9).rows == plain.execute(text).fetchall()


@pytest.mark.parametrize("text", REFUSED)
def test_a_lateral_that_another_form_does_not_mean_is_refused(gate: Gateway, text: str) -> None:
    with pytest.raises(QueryError, match="LATERAL"):
        gate.sql(text, epsilon=1)


def test_an_empty_series_as_a_key_has_no_groups(gate: Gateway) -> None:
    text = "SELECT g.x, COUNT(*) FROM t CROSS JOIN generate_series(2, 1) g(x) GROUP BY 1"
    assert gate.sql(text, epsilon=1).rows == []
