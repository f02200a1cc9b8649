"""Quantiles and ends through the gateway: the exact law of all that leaves, for neighbours, and what intervals hold."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import sfumato
from sfumato.gateway.gateway import Gateway
from sfumato.mechanisms import OrderStatistic, RankInterval
from sfumato.mechanisms.base import as_integers
from tests.laws.test_rank_interval import quantiles

F = Fraction
HIGH = 6
EPSILON = F(2)
QUERIES = (
    "SELECT MEDIAN(x) FROM data",
    "SELECT g, PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY x) FROM data GROUP BY g",
    "SELECT MEDIAN(x), MIN(x), MAX(x) FROM data",
    "SELECT g, MEDIAN(2 * (x / 2)) FROM data GROUP BY ROLLUP (g)",
)

Rows = list[tuple[int, int, str]]


def gateway(rows: Rows, adjacency: str, most: int) -> Gateway:
    frame = pd.DataFrame({"id": [r[0] for r in rows], "x": [r[1] for r in rows], "g": [r[2] for r in rows]})
    frame = frame.astype({"id": "int64", "x": "int64", "g": "object"})
    options: Any = {"bounds": {"x": (0, HIGH)}, "values": {"g": ["a", "b"]}, "adjacency": adjacency}
    with pytest.warns(UserWarning, match="no ledger"):
        return sfumato.protect(frame, unit="id", rows_per_unit=most, epsilon=10**6, **options)


class Heard(Exception):
    """All heaps are known."""


def laws_of(gate: Gateway, sql: str, monkeypatch: pytest.MonkeyPatch) -> list[dict[tuple[int, int], float]]:
    """For each choice of the question, in the order of its draws, the exact law of its candidate and its rung."""
    found: list[Any] = []

    def choose(law: Any, places: Any, weights: Any, low: Any, high: Any) -> int:
        held = as_integers(weights).tolist() if len(places) else []
        found.append([law, list(places), held, low, high, None])
        return int(low)

    def widen(law: Any, _: Any, __: Any, ___: Any, ____: Any, _____: Any) -> int:
        found[-1][-1] = law
        return 0

    with monkeypatch.context() as patched:
        patched.setattr(OrderStatistic, "release", choose)
        patched.setattr(RankInterval, "release", widen)
        gate.sql(sql, epsilon=EPSILON)
    return [_law(*one[:-1], around=one[-1]) for one in found]


def _law(law: Any, *heap: Any, around: Any) -> dict[Any, float]:
    result: dict[tuple[int, int], float] = {}
    for first, count, mass in law.mass(*heap):
        for value in range(first, first + count):
            rungs = [1.0] if around is None else around.mass(*heap, value)
            for rung, chance in enumerate(rungs):
                result[value, rung] = float(mass) / count * float(chance)
    return result


def distance(gates: list[Gateway], sql: str, monkeypatch: pytest.MonkeyPatch) -> float:
    """The largest log-ratio of all that leaves: choices are independent, so those of each add up."""
    one, two = (laws_of(gate, sql, monkeypatch) for gate in gates)
    assert len(one) == len(two) > 0
    return sum(max(abs(math.log(a[k] / b[k])) for k in a) for a, b in zip(one, two, strict=True))


def worlds(adjacency: str, most: int) -> list[list[Gateway]]:
    """Neighbours: one person comes, or has other rows; she may have more rows than count, in several groups."""
    chance = random.Random(most)
    pairs = []
    for size in (0, 7):
        others = [(i, chance.randint(0, HIGH), chance.choice("ab")) for i in range(1, size + 1)]
        for mine in ([(0, 0, "a")], [(0, 0, "a")] * most, [(0, HIGH, "a"), (0, 0, "b"), (0, 3, "a")][: most + 1]):
            instead: Rows = [] if adjacency == "add-remove" else [(0, HIGH - x, "b") for _, x, _ in mine]
            pairs.append([gateway(others + rows, adjacency, most) for rows in (mine, instead)])
    return pairs


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("most", [1, 2])
def test_neighbours_differ_by_epsilon_in_all_that_leaves(
    adjacency: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    worst = 0.0
    for gates in worlds(adjacency, most):
        for sql in QUERIES:
            found = distance(gates, sql, monkeypatch)
            assert found <= float(EPSILON) * (1 + 1e-9), (sql, found)
            worst = max(worst, found)
    assert worst > float(EPSILON) / 3


@pytest.mark.parametrize(("law", "factor"), [(OrderStatistic, 2), (RankInterval, 6)])
def test_what_is_not_paid_for_is_seen(law: Any, factor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test can fail: choices for several times of what is paid for them. A quarter is paid for intervals."""
    right = law.mass
    monkeypatch.setattr(law, "mass", lambda self, *args: right(replace(self, epsilon=self.epsilon * factor), *args))
    seen = [distance(gates, QUERIES[0], monkeypatch) for gates in worlds("add-remove", 1)]
    assert max(seen) > float(EPSILON) * 1.01


# what the intervals of answers hold
CASES = {
    "MEDIAN(x)": F(1, 2),
    "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)": F(9, 10),
    "PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY x)": F(1, 4),
    "MIN(x)": F(0),
    "MAX(x)": F(1),
}


@pytest.fixture(scope="module")
def many() -> tuple[Gateway, list[int]]:
    chance = random.Random(3)
    values = [min(1000, int(chance.expovariate(1 / 90))) for _ in range(400)]
    frame = pd.DataFrame({"id": range(400), "x": values, "k": [0] * 400})
    with pytest.warns(UserWarning, match="no ledger"):
        return sfumato.protect(
            frame, unit="id", rows_per_unit=1, epsilon=10**6, bounds={"x": (0, 1000), "k": (0, 10**6)}
        ), values


@pytest.mark.parametrize("item", CASES)
@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_intervals_of_choices_hold_what_they_promise(many: tuple[Gateway, list[int]], item: str, epsilon: str) -> None:
    """Fresh answers through the whole path: no more misses than are allowed, but for chance."""
    gate, values = many
    q = CASES[item]
    truth = quantiles(values, q)["CONT" in item or item.startswith("MED")]
    runs, missed, told = 60, 0, 0
    for number in range(runs):  # another filter that lets everybody through: a fresh draw
        answer = gate.sql(f"SELECT {item} AS x FROM data WHERE k < {number + 1}", epsilon=epsilon)
        ((ends,),), ((value,),) = answer.intervals(), answer.rows
        assert ends is not None
        missed += not ends[0] <= truth <= ends[1]
        told += value is not None
        assert (value is None) == answer.untold()[0][0]
        assert value is None or ends[0] <= value <= ends[1]
        assert answer.intervals("0.999")[0][0][0] <= ends[0]  # type: ignore[index]
    assert missed <= 3 + 4 * math.sqrt(3)  # 3 of 60, and four standard errors
    assert told > runs / 2 or epsilon == "0.1"


def test_what_is_computed_of_choices_has_an_interval(many: tuple[Gateway, list[int]]) -> None:
    gate, values = many
    sql = "SELECT MEDIAN(x), 2 * MEDIAN(x) + 1, MAX(x) - MIN(x), COALESCE(MEDIAN(x), -1), AVG(x) FROM data"
    answer = gate.sql(sql, epsilon=8)
    plain, twice_more, spread, coalesced, mean = answer.intervals()[0]
    assert plain is not None
    assert twice_more == (2 * plain[0] + 1, 2 * plain[1] + 1)
    assert spread is not None
    assert spread[0] <= max(values) - min(values) <= spread[1]
    assert coalesced is None  # NULL would have stood for "cannot tell"
    assert mean is not None


def test_too_few_rows_give_null_and_the_whole_range(many: tuple[Gateway, list[int]]) -> None:
    """No COUNT(*) is needed: the interval of the choice itself says that nothing can be told."""
    gate, _ = many
    answer = gate.sql("SELECT MEDIAN(x), MIN(x), MAX(x) FROM data WHERE x = 1000 AND k > 10", epsilon="0.1")
    assert answer.rows == [(None, None, None)]
    assert [tuple(map(int, ends)) for ends in answer.intervals()[0] if ends is not None] == [(0, 1000)] * 3
    assert answer.untold() == [[True] * 3]
    assert sum("no value can be given" in note for _, note in answer.notes) == 3
