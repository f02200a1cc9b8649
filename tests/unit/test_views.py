"""A view is its query: asking the view and asking a sub-query plan the same work, the same bounds, the same price."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from sfumato.gateway import Gateway, open_policy
from tests.compiled import plain
from tests.plans import plan_of

POLICY = """
[source]
engine = "duckdb"
files = "d.duckdb"
[data]
id = "d"
[privacy]
epsilon = 10
delta = 1e-3
[tables.person]
unit = "id"
rows_per_unit = 1
[tables.person.columns]
id = { type = "integer" }
age = { type = "integer", min = 0, max = 120 }
sex = { values = ["f", "m"] }
[tables.visit]
unit = "who"
rows_per_unit = 5
[tables.visit.columns]
who = { type = "integer" }
cost = { type = "decimal", min = 0, max = 100, grid = 0.01 }
city = { values = ["a", "b"] }
[tables.v]
unit = "id"
rows_per_unit = 1
[tables.v.columns]
id = { type = "integer" }
x = { type = "integer", min = 0, max = 1 }
k = { values = ["never"] }
"""
"""What the policy says of the view's own columns is narrower than the truth, and must not be believed."""

VIEWS = {
    "a filter": "SELECT id, age AS x, sex AS k FROM person WHERE age > 17",
    "a join": "SELECT p.id, p.age AS x, w.city AS k FROM person p JOIN visit w ON p.id = w.who",
    "an outer join": "SELECT p.id, p.age AS x, w.city AS k FROM person p LEFT JOIN visit w ON p.id = w.who",
    "per person": "SELECT who AS id, COUNT(*) AS x, MAX(city) AS k FROM visit GROUP BY who",
    "rows of two tables": "SELECT id, age AS x, sex AS k FROM person UNION ALL SELECT who, 1, city FROM visit",
}
QUESTIONS = (
    "SELECT COUNT(*), SUM(x) FROM {v}",
    "SELECT k, AVG(x) FROM {v} GROUP BY k",
    "SELECT COUNT(DISTINCT id) FROM {v} WHERE x > 2",
    "SELECT p.sex, COUNT(*) FROM {v} JOIN person p ON p.id = v.id GROUP BY p.sex",
)


@pytest.fixture(params=VIEWS)
def view(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE person AS SELECT i AS id, i % 90 AS age, ['f', 'm'][i % 2 + 1] AS sex FROM range(50) t(i)"
        )
        connection.execute(
            "CREATE TABLE visit AS SELECT i % 60 AS who, 1.5 AS cost, ['a', 'b'][i % 2 + 1] AS city FROM range(99) r(i)"
        )
        connection.execute(f"CREATE VIEW v AS {VIEWS[request.param]}")
    (tmp_path / "sfumato.toml").write_text(POLICY, encoding="utf-8")
    return VIEWS[request.param], tmp_path / "sfumato.toml"


def planned(gate: Gateway, sql: str) -> tuple[object, ...]:
    plan = plan_of(gate, sql, 1)
    parts = [part for cut in plan.cuts for part in cut.parts]
    return (
        plan.digest,
        plan.event,
        [(plain(part.job), part.groups, [(r.sensitivity, r.scale, r.unit) for r in part.bundles]) for part in parts],
    )


def test_a_view_is_its_query(view: tuple[str, Path]) -> None:
    query, path = view
    with open_policy(path) as gate:
        for question in QUESTIONS:
            assert planned(gate, question.format(v="v")) == planned(gate, question.format(v=f"({query}) AS v")), (
                question
            )
