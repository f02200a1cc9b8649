"""A count or sum beside a part of it: two sums for one price, of which a row feeds one."""

from __future__ import annotations

import random
from datetime import date
from fractions import Fraction
from typing import Any

import duckdb
import pandas as pd
import pytest

import sfumato
from sfumato.algebra.aggregates import parts
from sfumato.algebra.aggregates.base import ONE, ZERO, Bundle
from sfumato.algebra.contribution import _Work
from sfumato.algebra.functions import call
from sfumato.engines.reference import Reference
from sfumato.errors import PlanError
from sfumato.policy import Policy, from_dict
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release import bundles
from sfumato.sql.release.claims import check
from sfumato.sql.release.plan import Plan, plan
from tests import tableless

F = Fraction
PAIRS = {
    "COUNT(*), COUNT(*) FILTER (WHERE x > 2)": 1,
    "COUNT(*) FILTER (WHERE NOT x > 2), COUNT(*)": 1,
    "COUNT(x), COUNT(x) FILTER (WHERE w = 'a')": 1,
    "100.0 * SUM(CASE WHEN w = 'a' THEN 1 ELSE 0 END) / COUNT(*)": 1,
    "SUM(x), SUM(x) FILTER (WHERE x % 2 = 0)": 9,
    "SUM(x), SUM(CASE WHEN x + 1 > 0 THEN x END)": 9,
    "SUM(x * x), SUM(CASE WHEN x * x > 9 THEN x * x ELSE 0 END)": 81,
    "COUNT(*), COUNT(*) FILTER (WHERE x > 2), MAX(x)": 1,
}
"""Columns of a query, and how far one row moves both numbers together."""
PART = "COUNT(*) FILTER (WHERE x > 1)"
APART = [
    "COUNT(*), COUNT(*) FILTER (WHERE x > 2), COUNT(*) FILTER (WHERE x < 1)",
    "COUNT(*), COUNT(x) FILTER (WHERE x > 2)",
    "COUNT(*), SUM(CASE WHEN x > 2 THEN 2 ELSE 0 END)",
    "COUNT(*), SUM(CASE WHEN x > 2 THEN 1 ELSE 1 END)",
    "COUNT(*), SUM(CASE WHEN x > 2 THEN 1 WHEN x > 1 THEN 0 ELSE 1 END)",
    "SUM(x), SUM(CASE WHEN x > 2 THEN x + 1 ELSE 0 END)",
    "COUNT(DISTINCT u), COUNT(DISTINCT u) FILTER (WHERE x > 2)",
    "AVG(x), SUM(x), SUM(x) FILTER (WHERE x > 2)",
    "MODE(w), COUNT(*), COUNT(*) FILTER (WHERE x > 2)",
]


def policy_of(adjacency: str = "add-remove", rows: int = 3) -> Policy:
    columns = {"u": {"type": "integer"}, "x": {"type": "integer", "min": -9, "max": 9}, "w": {"values": ["a", "b"]}}
    return from_dict(
        {
            "source": {"engine": "duckdb", "files": {"t": "t.parquet"}},
            "data": {"id": "a"},
            "privacy": {"epsilon": 10, "adjacency": adjacency},
            "tables": {"t": {"unit": "u", "rows_per_unit": rows, "columns": columns}},
        }
    )


def planned(columns: str, policy: Policy, by: str = "") -> Plan:
    question = bind(parse(f"SELECT {columns} FROM t{by}"), policy, date(2024, 1, 1))
    return plan(question, policy, F(1), rows=tableless.tableless())


def people(chance: random.Random, count: int = 5) -> list[dict[str, Any]]:
    values = [None, *range(-9, 10)]
    return [
        {"u": u, "x": chance.choice(values), "w": chance.choice([None, "a", "b"])}
        for u in range(count)
        for _ in range(chance.choice([0, 1, 2, 5]))
    ]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("by", ["", " GROUP BY w"])
@pytest.mark.parametrize("columns", PAIRS)
def test_neighbours_differ_by_what_both_numbers_cost(columns: str, by: str, adjacency: str) -> None:
    """By the written meaning of the job: over both sums and all groups, and close to what is claimed."""
    policy, chance, most = policy_of(adjacency), random.Random(137), F(0)
    asked = planned(columns, policy, by)
    check(asked.cuts, policy.privacy.adjacency, asked.event)
    (part,), size = asked.cuts[0].parts, PAIRS[columns]
    released = part.bundles[0]
    assert (len(released.bundle.parts), released.bundle.length) == (2, size)
    assert released.sensitivity == 3 * size * (1 if adjacency == "add-remove" else 2)
    assert part.share == F(1, 2 if "MAX" in columns else 1)
    for _ in range(25):
        rows = people(chance)
        one = Reference(policy, {"t": rows}, {}).run(part.job, "salt").sums
        for person in range(5):
            others = [row for row in rows if row["u"] != person]
            if adjacency == "replace":
                others += [dict(row, u=person) for row in people(chance, 1)]
            other = Reference(policy, {"t": others}, {}).run(part.job, "salt").sums
            keys = one.keys() | other.keys()
            zero = (0, 0)
            moved = sum(abs(one.get(k, zero)[i] - other.get(k, zero)[i]) for k in keys for i in (0, 1))
            assert moved * released.unit <= released.sensitivity
            most = max(most, moved * released.unit)
    assert most > released.sensitivity / 4


@pytest.mark.parametrize("columns", APART)
def test_what_is_no_part_is_released_by_itself(columns: str) -> None:
    asked = planned(columns, policy_of())
    check(asked.cuts, policy_of().privacy.adjacency, asked.event)
    formulas = {source.formula for _, _, source in asked.cuts[0].sources}
    assert not formulas & {parts.PART, parts.WHOLE}


def test_the_checker_adds_up_parts_that_one_condition_does_not_separate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: two sums that a row can feed both of, at the price of one."""
    policy = policy_of()
    good = planned("COUNT(*), COUNT(*) FILTER (WHERE x > 2)", policy)
    job = good.cuts[0].parts[0].job
    p, q = (call(op, (job.release.below.columns["0.x"], ZERO)) for op in ("<", ">"))

    def pair(first: Any, second: Any) -> tuple[Any, ...]:
        return call("case", first), call("case", second)

    work = _Work(job, 1)
    assert work.either(pair((p, ONE, ZERO), (p, ZERO, ONE))) == 1
    wrong = [
        pair((p, ONE, ZERO), (q, ZERO, ONE)),
        pair((p, ONE, ZERO), (p, ONE, ZERO)),
        pair((p, ONE, ONE), (p, ZERO, ONE)),
    ]
    for two in wrong:
        assert work.either(two) is None
        monkeypatch.setattr(parts, "halves", lambda whole, _, two=two: Bundle(two, whole.length))
        planted = planned("COUNT(*), COUNT(*) FILTER (WHERE x > 2)", policy)
        with pytest.raises(PlanError):
            check(planted.cuts, policy.privacy.adjacency, planted.event)


def test_the_answer_is_that_of_plain_sql_as_epsilon_grows() -> None:
    """Where the condition is NULL, a row is in the rest."""
    frame = pd.DataFrame(people(random.Random(4), 40)).astype({"u": "Int64", "x": "Int64"})
    frame = frame.drop_duplicates("u")
    plain = duckdb.connect()
    plain.register("t", frame)
    gate = sfumato.protect(
        frame, unit="u", rows_per_unit=1, epsilon=10**9, name="t", bounds={"x": (-9, 9)}, values={"w": ["a", "b"]}
    )
    with gate:
        for columns in PAIRS:
            if "MAX" in columns:
                continue
            for by in ("", "w, "):
                sql = f"SELECT {by}{columns} FROM t{' GROUP BY w' if by else ''}"
                meant = {row[: bool(by)]: row for row in plain.execute(sql).fetchall()}
                answer = gate.sql(sql, epsilon=10**5)
                for row, ends in zip(answer.rows, answer.intervals(), strict=True):
                    exact = meant.get(row[: bool(by)])
                    for value, end, true in zip(row, ends, exact or row, strict=True):
                        assert value == true or abs(float(value) - float(true or 0)) < 1e-6, (sql, row, exact)
                        assert end is None or end[0] <= value <= end[1]


def test_both_are_better_and_the_answer_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as good for the part, and the root of two for the whole; numbers of another law are not stored ones."""
    frame = pd.DataFrame({"u": range(100), "x": [1, 2] * 50})
    sql = f"SELECT COUNT(*), {PART} FROM data"

    def widths() -> tuple[list[Any], str]:
        with sfumato.protect(frame, unit="u", rows_per_unit=1, epsilon=10, bounds={"x": (0, 9)}) as gate:
            answer = gate.sql(sql, epsilon="0.1")
            assert answer.plan is not None
            ends = [high - low for low, high in gate.sql(sql, within=20).intervals()[0]]  # type: ignore[misc]
            assert 38 <= max(ends) <= 40
            totals = f"SELECT SUM(n), SUM(m) FROM (SELECT x, COUNT(*) AS n, {PART} AS m FROM data GROUP BY x) AS t"
            ends = [high - low for low, high in gate.sql(totals, within=40).intervals()[0]]  # type: ignore[misc]
            assert 76 <= max(ends) <= 80
            return [column.half_width() for column in gate.explain(sql, epsilon="0.1").columns], answer.plan.digest

    together, digest = widths()
    monkeypatch.setattr(bundles.parts, "pair_of", lambda _: None)
    apart, before = widths()
    assert digest != before
    assert 1.9 < apart[1] / together[1] < 2.1
    assert 1.3 < apart[0] / together[0] < 1.6
