"""The engine holds numbers to the bounds that a price rests on: where the planner is wrong about them, nobody counts for more."""

# ruff: noqa: E501  a query stands on one line
from __future__ import annotations

from typing import Any

import pytest

from sfumato.algebra.functions import FUNCTIONS
from sfumato.gateway import protect
from tests.laws import twins
from tests.laws.mutants import planted
from tests.laws.neighbours import Broken
from tests.laws.test_twins import world
from tests.laws.twins import Asked, Twins, row

NARROW = (
    'ScalarFunction("*", _multiply,',
    'ScalarFunction("*", lambda args, extra: __import__("dataclasses").replace(_multiply(args, extra), high=Fraction(3), low=Fraction(0)),',
)
"""Interval arithmetic that says of every product that it lies between 0 and 3."""
SUMMED = [
    "SELECT SUM(i * 2) FROM p",
    "SELECT SUM(i * 2) FROM v",
    "SELECT AVG(i * 2), COUNT(*) FROM v",
    "SELECT VAR_POP(m * 2) FROM p",
    "SELECT s, SUM(i * i), AVG(i * i) FROM v GROUP BY s",
    "SELECT CORR(i * 2, m * 2) FROM p",
    "SELECT SUM(i * 2) FILTER (WHERE i * 2 > 2) FROM v",
    "SELECT o, SUM(m * i) FROM v GROUP BY o",
    "SELECT SUM(t) FROM (SELECT u, MAX(i * 2) AS t FROM v GROUP BY u) AS q",
    "SELECT MEDIAN(i * 2) FROM v",
    "SELECT SUM(DISTINCT i * 2) FROM p",
]
_HELD = ("bundles", "replace(held(job, made.arguments), together=together", "replace(job, together=together")


def found(text: str, faults: list[Any], noise: str | None = None, tables: Twins | None = None) -> list[Any]:
    """What neighbours show of a price under these faults."""
    with planted(*faults) as faulty:
        return list(twins.check(tables or world(), [Asked(text, noise)], faulty))


@pytest.mark.parametrize("text", SUMMED)
def test_wrong_bounds_of_an_expression_cost_no_privacy(text: str) -> None:
    """With bounds that are too narrow the answer is biased, and neighbours still show no more than the price."""
    for noise in (None, "gaussian"):
        assert found(text, [("functions.arithmetic", *NARROW)], noise)


def test_without_the_clamp_they_would() -> None:
    """The same fault is seen where nothing is held: the test above can fail."""
    with pytest.raises(Broken, match="a neighbour shows"):
        found(SUMMED[0], [("functions.arithmetic", *NARROW), _HELD])
    with pytest.raises(Broken, match="a neighbour shows"):
        found(SUMMED[-1], [("functions.arithmetic", *NARROW), _HELD])


FILTERS = "SELECT COUNT(*) FILTER (WHERE i >= 2), SUM(i) FILTER (WHERE i <= 4), COUNT(*) FILTER (WHERE s = 'a') FROM v"
_SHORT = ("joint_sensitivity", "longest = max(longest, sum(", "longest = min(1, sum(")
"""A solver that says of any filters that no row passes two of them."""


def test_a_wrong_longest_row_costs_no_privacy() -> None:
    assert found(FILTERS, [_SHORT])


def test_without_the_limit_on_what_a_row_feeds_it_would() -> None:
    with pytest.raises(Broken, match="a neighbour shows"):
        found(
            FILTERS,
            [
                _SHORT,
                (
                    "engines.duckdb.jobs",
                    "return self._fed_together(rows) if self.together is not None and self.bundles else rows",
                    "return rows",
                ),
            ],
        )


def test_too_few_different_values_cost_no_privacy() -> None:
    """Where the planner thinks that a column has one value, one value of each person counts."""
    few = ("aggregates.distinct", "return min((size for size in known if size is not None), default=None)", "return 1")
    text = "SELECT COUNT(DISTINCT o) FROM v"
    alone = Twins(
        twins.policy("add-remove", 2), {1: {"p": [], "v": [row(1, o="x"), row(1, o="y")]}}, {}, [{"g": 1, "n": "a"}]
    )
    assert found(text, [few], tables=alone)
    with pytest.raises(Broken, match="a neighbour shows"):
        found(
            text,
            [few, ("engines.duckdb.jobs", "get(aggregate, self.limits.keys)", "get(None, self.limits.keys)")],
            tables=alone,
        )


def test_the_clamp_is_no_function_of_queries() -> None:
    """Nobody can write it; it is there for what is run."""
    assert "clamp" not in FUNCTIONS
    assert list(twins.check(world(), [Asked("SELECT SUM(clamp(i, 0, 1)) FROM p")])) == []


@pytest.mark.parametrize("more", ["SUM(k - 17)", "AVG(90 - k)", "SUM((k - 17) * (k - 17))", "VARIANCE(DISTINCT k)"])
def test_a_number_that_looks_like_a_piece_of_another_sum_is_planned(more: str) -> None:
    """What is held for one aggregate does not change the parts of another: together they still add up to a constant."""
    people = pytest.importorskip("pandas").DataFrame({"id": range(9), "k": [17, 20, 31, 44, 56, 67, 70, 82, 90]})
    with protect(people, unit="id", rows_per_unit=1, epsilon=10**9, bounds={"k": (17, 90)}) as gate:
        answer = gate.sql(f"SELECT VAR_POP(k), {more} FROM data", epsilon=10**6)
        assert float(answer.rows[0][0]) == pytest.approx(float(people["k"].var(ddof=0)), rel=1e-3)
