"""The whole walk, from an analyst's words to an answer: right where noise is nothing, and priced as it should be."""

# ruff: noqa: E501  a question stands on one line
from __future__ import annotations

import random
from collections import defaultdict

import duckdb
import pytest

from sfumato.errors import BudgetError
from sfumato.gateway import answer as answers
from tests.laws.directed import planned, policy
from tests.laws.walking import F, crowd, near, opened

# right where noise is nothing
ASKED = [
    "COUNT(*)", "COUNT(cost)", "COUNT(city)", "COUNT(DISTINCT ssn)", "SUM(cost)", "AVG(cost)", "SUM(age)", "AVG(age)",
    "COUNT(*) FILTER (WHERE age > 50)", "SUM(cost) FILTER (WHERE well)", "AVG(age) FILTER (WHERE city = 'Paris')",
    "COUNT(DISTINCT ssn) FILTER (WHERE well)", "SUM(CASE WHEN well THEN 1 ELSE 0 END)", "SUM(age * 2 - 3)",
    "SUM(ROUND(cost))", "SUM(FLOOR(cost))", "SUM(CEIL(cost))", "AVG(ABS(age - 60))", "SUM(LEAST(age, 50))",
    "SUM(GREATEST(age, 50))", "SUM(age % 7)", "SUM(EXTRACT(month FROM day))", "COUNT(NULLIF(city, 'Paris'))",
    "SUM(LENGTH(COALESCE(city, 'nowhere')))", "SUM(CAST(well AS INTEGER))", "SUM(day - DATE '2024-01-01')",
]  # fmt: skip


@pytest.mark.parametrize("keys", ["", "city", "well", "EXTRACT(month FROM day)", "city, well"])
def test_every_aggregate_is_the_engines_where_nothing_is_bounded(tmp_path, keys) -> None:
    """Nobody has more rows than count, so the weights are one, and plain SQL says what is right."""
    rows = crowd()
    with opened(tmp_path, rows, each=5) as gateway, duckdb.connect() as plain:
        plain.execute(
            "CREATE TABLE visit (ssn VARCHAR, city VARCHAR, cost DECIMAL(18, 2), age BIGINT, day DATE, well BOOLEAN)"
        )
        plain.executemany("INSERT INTO visit VALUES (?, ?, ?, ?, ?, ?)", rows)
        for asked in ASKED:
            text = f"SELECT {keys + ', ' if keys else ''}{asked} FROM visit{' GROUP BY ' + keys if keys else ''}"
            shown, width = gateway.sql(text).rows, keys.count(",") + 1 if keys else 0
            true = {row[:width]: row[width] for row in plain.execute(text).fetchall()}
            for row in shown:
                right = true.pop(row[:width], None)
                zero = right is None and "AVG" not in asked  # a sum of nothing is zero here: NULL would tell
                assert near(row[width], 0 if zero else right) or (right is None and "AVG" in asked), (text, row, right)
            assert not true, (text, true)


def weighted(rows, each):
    """Weights by person, as the contract has them."""
    count = defaultdict(int)
    for row in rows:
        count[row[0]] += 1
    return [F(min(1 << 20, (each << 20) // count[row[0]]), 1 << 20) for row in rows]


@pytest.mark.parametrize(
    "asked", ["SUM(cost) / COUNT(*)", "100.0 * SUM(CASE WHEN city = 'Paris' THEN 1 ELSE 0 END) / COUNT(*)", "AVG(cost)"]
)
def test_ratios_are_person_weighted_ratios(tmp_path, asked) -> None:
    """Trap V5: heavy people weigh the same in both, so that ratios stay ratios."""
    r = random.Random(5)
    rows = [
        (f"{p}", r.choice(["Paris", "Lyon"]), round(r.uniform(0, 1000), 2), 1, "2024-01-01", True)
        for p in range(50)
        for _ in range(r.choice([1, 3, 40]))
    ]
    weights = weighted(rows, 5)
    total = sum(weights)
    right = {
        "SUM": sum(w * F(str(row[2])) for w, row in zip(weights, rows, strict=True)) / total,
        "100": 100 * sum(w for w, row in zip(weights, rows, strict=True) if row[1] == "Paris") / total,
    }
    with opened(tmp_path, rows, each=5) as gateway:
        shown = gateway.sql(f"SELECT {asked} FROM visit").rows[0][0]
        assert abs(float(shown) / float(right[asked[:3].replace("AVG", "SUM")]) - 1) < 0.01
        both = gateway.sql("SELECT AVG(cost), SUM(cost) / COUNT(cost) FROM visit").rows[0]
        assert abs(float(both[0]) / float(both[1]) - 1) < 1e-4


def test_one_visit_in_each_of_twenty_places_adds_a_quarter_to_each(tmp_path) -> None:
    """Trap V6: on a grid of whole rows she would vanish."""
    rows = [("her", place) for place in range(20)] + [
        (f"{p}", place) for p in range(3) for place in range(20) for _ in range(1) if place % 4 == p
    ]
    with opened(
        tmp_path, rows, "place = { type = 'integer', min = 0, max = 19 }", each=5, types={"place": "BIGINT"}
    ) as gateway:
        answer = gateway.sql("SELECT place, SUM(1) * 4, COUNT(*) FROM visit WHERE ssn = 'her' GROUP BY place")
        cells = [F(cell[0], 1 << 20) for cell in answer._draws[0][0].cells[0]]
        assert all(abs(cell - F(1, 4)) < F(1, 1000) for cell in cells[:20]), cells


def test_strange_numbers_are_what_the_contract_says(tmp_path) -> None:
    """Trap V7: NaN is NULL, beyond the bounds is the bound, NULL stays NULL."""
    rows = [(str(i), value) for i, value in enumerate(["30", None, "NaN", "inf", "-inf", "40"])]
    column = "x = { type = 'double', min = 0, max = 120, grid = 1 }"
    for kind in ("DOUBLE", "VARCHAR", "FLOAT"):
        with opened(tmp_path, rows, column, types={"x": kind}) as gateway:
            assert gateway.sql("SELECT SUM(x), COUNT(x), COUNT(*) FROM visit").rows == [(30 + 40 + 120, 4, 6)]
            assert near(gateway.sql("SELECT AVG(x) FROM visit").rows[0][0], 47.5)


def test_a_value_beyond_its_bound_is_the_bound_for_every_predicate(tmp_path) -> None:
    """Trap V3: 150 years are 120, also for WHERE and FILTER."""
    with opened(
        tmp_path, [("a", 150), ("b", 30)], "age = { type = 'integer', min = 0, max = 120 }", types={"age": "BIGINT"}
    ) as gateway:
        assert gateway.sql("SELECT COUNT(*) FILTER (WHERE age > 120) FROM visit").rows == [(0,)]
        assert gateway.sql("SELECT COUNT(*) FROM visit WHERE age = 120").rows == [(1,)]
        assert gateway.sql("SELECT SUM(age) FROM visit").rows == [(150,)]


def test_whole_numbers_divide_as_in_postgres(tmp_path) -> None:
    """Trap V15: below the cut, as a key, and above the cut; toward zero also for negative numbers."""
    rows = [(str(i), i - 20) for i in range(61)]
    with opened(tmp_path, rows, "age = { type = 'integer', min = -20, max = 40 }", types={"age": "BIGINT"}) as gateway:
        assert gateway.sql("SELECT COUNT(*) FROM visit WHERE age / 10 = 3").rows == [(10,)]
        grouped = dict(gateway.sql("SELECT age / 10, COUNT(*) FROM visit GROUP BY age / 10").rows)
        assert {k: v for k, v in grouped.items() if v} == {-2: 1, -1: 10, 0: 19, 1: 10, 2: 10, 3: 10, 4: 1}
        assert gateway.sql("SELECT COUNT(*) / 2 FROM visit").rows == [(30,)]
        assert gateway.sql("SELECT SUM(-7 / 2), SUM(-7 % 2) FROM visit").rows == [(-3 * 61, -61)]


# prices
def scales(text, made, **more):
    return [released.scale for released in planned(text, made, **more).cuts[0].parts[0].bundles]


def test_four_filters_that_exclude_each_other_share_one_price() -> None:
    """Trap V1: priced once; that one weight makes it true is in the examples of the neighbour check."""
    made = policy({"s": {"values": ["x", "y", "z"]}}, 20)
    four = "SELECT COUNT(*) FILTER (WHERE s = 'x'), COUNT(*) FILTER (WHERE s = 'y'), COUNT(*) FILTER (WHERE s = 'z'), COUNT(*) FILTER (WHERE s IS NULL) FROM t"
    assert scales(four, made) == [20] * 4
    assert scales(four.replace("s IS NULL", "i = 1").replace("i = 1", "u = 'a'"), made) == [40] * 4


def test_conditions_that_only_look_disjoint_are_priced_apart() -> None:
    """Trap V4: doubles, rests and quotients are opaque."""
    made = policy({"x": {"type": "double"}, "i": {"type": "integer", "min": -9, "max": 9}})
    for one, other in (
        ("x + 1e20 - 1e20 < 0.5", "x > 0.5"),
        ("i % 3 < 0", "i < 0"),
        ("COALESCE(i / i, 7) = 7", "i <> 0"),
    ):
        assert scales(f"SELECT COUNT(*) FILTER (WHERE {one}), COUNT(*) FILTER (WHERE {other}) FROM t", made) == [2, 2]


def test_replacing_a_person_costs_twice_but_for_one_count() -> None:
    """Trap V9."""
    columns = {"s": {"values": ["x", "y"]}, "i": {"type": "integer", "min": -50, "max": 100}}
    add, replace = policy(columns), policy(columns, adjacency="replace")
    for text, factor in (
        ("SELECT s, COUNT(*) FROM t GROUP BY s", 2),
        ("SELECT SUM(i) FROM t", 2),
        ("SELECT COUNT(*) FROM t", 1),
        ("SELECT AVG(i) FROM t", 2),
    ):
        assert scales(text, replace) == [factor * scale for scale in scales(text, add)], text


def test_forty_tenths_are_four(tmp_path) -> None:
    """Trap V13: exactly forty questions of 0.1 in a budget of 4, written in TOML and as a Python float."""
    rows = [(f"{p}", p) for p in range(9)]
    for epsilon in (None, 0.1, "0.1"):
        column = "x = { type = 'integer', min = 0, max = 99 }"
        with opened(
            tmp_path, rows, column, privacy="epsilon = 4.0\nquery_epsilon = 0.1", types={"x": "BIGINT"}
        ) as gateway:
            for i in range(40):
                assert gateway.sql(f"SELECT COUNT(*) FROM visit WHERE x <= {i}", epsilon).cost.epsilon == F(1, 10)
            with pytest.raises(BudgetError) as refused:
                gateway.sql("SELECT COUNT(*) FROM visit WHERE x < 50", epsilon)
            assert refused.value.sqlstate == "53400"


def test_the_noise_is_drawn_from_the_law_of_the_plan(tmp_path, monkeypatch) -> None:
    """What the neighbour check proves of a plan holds for the answer only if the draw takes the plan's scale."""
    drawn = []

    class Spy(answers.Geometric):
        def release(self, exact):
            drawn.append(self.scale)
            return super().release(exact)

    monkeypatch.setattr(answers, "Geometric", Spy)
    with opened(tmp_path, crowd(), each=5) as gateway:
        for text in (
            "SELECT COUNT(*), SUM(cost), AVG(age) FROM visit",
            "SELECT city, COUNT(*) FROM visit GROUP BY city",
            "SELECT SUM(cost) FROM visit",
        ):
            drawn.clear()
            answer = gateway.sql(text, 1)
            bundles = answer._plan.cuts[0].parts[0].bundles
            assert [scale * r.unit for scale, r in zip(drawn, bundles, strict=True)] == [r.scale for r in bundles]
