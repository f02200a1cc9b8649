"""Neighbours differ by at most the claim where people meet LATERAL, written lists, series and recursion."""

# ruff: noqa: E501  an example stands on one line
from __future__ import annotations

import pytest

from tests.laws.directed import INT, LIST, example, policies

ROWS = "a:3,x*4 a:10,y b:0,x b:7,z*2 c:,y c:5,"
QUERIES = {
    "columns as rows": "SELECT v.k, SUM(v.n), COUNT(*) FROM t CROSS JOIN LATERAL (VALUES ('one', t.i), ('two', t.i * 2), ('no', 0)) AS v(k, n) GROUP BY v.k",
    "an expression with a name": "SELECT x.h, COUNT(*) FROM t, LATERAL (SELECT t.i / 3 AS h) x GROUP BY x.h",
    "numbers of the same person": "SELECT SUM(v.n), COUNT(*) FROM (SELECT DISTINCT u FROM t) p CROSS JOIN LATERAL (SELECT COUNT(*) AS n FROM t w WHERE w.u = p.u) v",
    "rows of the same person": "SELECT SUM(v.i), COUNT(*) FROM t p JOIN LATERAL (SELECT w.i FROM t w WHERE w.u = p.u AND w.s = 'x') v ON true",
    "a written list": "SELECT q.k, COUNT(*) FROM t JOIN unnest(ARRAY['x', 'z']) AS q(k) ON q.k = t.s GROUP BY q.k",
    "written numbers": "SELECT b.n, COUNT(*), SUM(b.n) FROM t JOIN (VALUES (0), (4), (9)) AS b(n) ON t.i >= b.n GROUP BY b.n",
    "numbers of a union": "SELECT n, COUNT(*) FROM (SELECT u, 1 AS n FROM t UNION ALL SELECT u, 9 FROM t WHERE i > 4) q GROUP BY n",
    "recursion": "WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n + 3 FROM r WHERE n < 8) SELECT r.n, COUNT(*), SUM(t.i) FROM t JOIN r ON t.i >= r.n AND t.i < r.n + 5 GROUP BY r.n",
}


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("name", QUERIES)
def test_neighbours_differ_by_at_most_the_claim_where_forms_are_rewritten(name: str, adjacency: str) -> None:
    table = {"unit": "u", "rows_per_unit": 5, "columns": {"u": {"type": "text", "max_length": 6}, "i": INT, "s": LIST}}
    made = policies({"t": table}, adjacency)
    others: dict[str | None, str] = {"a": "a:9,z*5", None: "d:8,x*9"}
    assert example(made, ROWS, QUERIES[name], others).check() >= 0
