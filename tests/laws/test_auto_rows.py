"""A contribution bound that is estimated for one query: what one person moves, what it costs, and what is chosen."""

from __future__ import annotations

import random
from datetime import date
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import sfumato
from sfumato.engines.duckdb import DuckDB
from sfumato.engines.reference import Reference
from sfumato.errors import BudgetError, InputError
from sfumato.gateway import Gateway, Query
from sfumato.gateway.auto_rows import NO_DIFFERENCE, SHARE
from sfumato.gateway.clipping import choose
from sfumato.policy import Policy, from_dict
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release.claims import check
from sfumato.sql.release.plan import Plan, plan
from sfumato.sql.unit_sizes import estimable, sizes_question
from sfumato.types import Adjacency
from tests import tableless

F = Fraction
NUMBER, ID = {"type": "integer", "min": -9, "max": 9}, {"type": "integer"}
QUERIES = {
    "SELECT COUNT(*) FROM visit": len,
    "SELECT x, COUNT(*) FROM visit WHERE x > 0 GROUP BY x": lambda rows: sum((r["x"] or 0) > 0 for r in rows),
    "SELECT SUM(x) FROM visit": lambda rows: F(sum(abs(r["x"] or 0) for r in rows), 9),
    "SELECT w, SUM(x) FILTER (WHERE x < 0) FROM visit GROUP BY w": lambda rows: F(
        sum(-r["x"] for r in rows if r["x"] is not None and r["x"] < 0), 9
    ),
    "SELECT w, COUNT(DISTINCT u) FROM visit GROUP BY w": lambda rows: len({r["w"] for r in rows}),
    "SELECT w, COUNT(*), AVG(x) FROM visit GROUP BY ROLLUP (w)": len,
    "SELECT MEDIAN(v.x) FROM visit v JOIN visit t ON v.u = t.u": lambda rows: len(rows) ** 2,
}
"""And how much one person has in each, in the multiples that C counts."""


def policy_of(adjacency: str = "add-remove") -> Policy:
    columns = {"u": ID, "x": NUMBER, "w": {"type": "text", "max_length": 3}}
    return from_dict(
        {
            "source": {"engine": "duckdb", "files": {"visit": "visit.parquet"}},
            "data": {"id": "a"},
            "privacy": {"epsilon": 10, "delta": 0.01, "query_delta": 1e-6, "adjacency": adjacency},
            "tables": {"visit": {"unit": "u", "rows_per_unit": 11, "columns": columns}},
        }
    )


def sizes(sql: str, policy: Policy) -> Plan:
    release = estimable(bind(parse(sql), policy, date(2024, 1, 1)))
    assert release is not None
    return plan(sizes_question(release, clipped=True), policy, F(1), rows=tableless.tableless())


def visits(chance: random.Random, people: int = 6) -> list[dict[str, Any]]:
    return [
        {"u": u, "x": chance.choice([None, *range(-9, 10)]), "w": chance.choice("abc")}
        for u in range(people)
        for _ in range(chance.choice([0, 1, 2, 3, 5, 9, 14]))
    ]


def buckets(asked: Plan, policy: Policy, rows: list[dict[str, Any]]) -> dict[int, int]:
    """People by bucket, by the written meaning of the job."""
    (part,) = asked.cuts[0].parts
    found = Reference(policy, {"visit": rows}, {}).run(part.job, "salt").sums
    return {int(key[0]): int(sums[0]) for key, sums in found.items() if sums[0]}


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("sql", QUERIES)
def test_people_by_their_rows_in_a_query_move_by_one(sql: str, adjacency: str) -> None:
    """A person is in one bucket, the one that her own rows say; what the checker derives is what is claimed."""
    policy, chance = policy_of(adjacency), random.Random(137)
    asked = sizes(sql, policy)
    check(asked.cuts, policy.privacy.adjacency, asked.event)
    (bundle,), most, moved = asked.cuts[0].parts[0].bundles, len(asked.cuts[0].parts[0].groups) - 1, 0
    assert bundle.sensitivity == (1 if adjacency == "add-remove" else 2)
    for _ in range(12):
        rows = visits(chance)
        whole, expected = buckets(asked, policy, rows), dict[int, int]()
        for person in range(6):
            own = [row for row in rows if row["u"] == person]
            without = buckets(asked, policy, [row for row in rows if row["u"] != person])
            others = [dict(row, u=person) for row in visits(chance, 1)]
            replaced = buckets(asked, policy, [*(row for row in rows if row["u"] != person), *others])
            for other, claimed in ((without, 1), (replaced, 2)):
                apart = sum(abs(whole.get(b, 0) - other.get(b, 0)) for b in whole.keys() | other.keys())
                assert apart <= claimed
                moved = max(moved, apart)
            matching = own if "WHERE x > 0 GROUP" not in sql else [r for r in own if (r["x"] or 0) > 0]
            if matching:
                size = QUERIES[sql](own)
                bucket = min(most, next(k for k in range(99) if size <= 2**k))
                expected[bucket] = expected.get(bucket, 0) + 1
        assert whole == expected
    assert moved == 2


@pytest.mark.parametrize("sql", QUERIES)
def test_the_engine_counts_people_as_it_is_written(sql: str) -> None:
    policy, chance = policy_of(), random.Random(3)
    asked = sizes(sql, policy)
    (part,) = asked.cuts[0].parts
    for _ in range(4):
        rows = visits(chance)
        frame = pd.DataFrame(rows).astype({"u": "Int64", "x": "Int64"})
        engine = DuckDB(policy, {"visit": frame})
        try:
            found = {int(key[0]): sums._sealed[0] for key, sums in engine.run(part.job, {}, "00" * 16).sums}
        finally:
            engine.close()
        assert {bucket: n for bucket, n in found.items() if n} == buckets(asked, policy, rows)


# what it costs, and what is chosen
def shop(**options: Any) -> Gateway:
    """300 people with a few orders each, some with many; the policy allows 64."""
    orders = [(u, u % 10) for u in range(300) for _ in range(1 + u % 4 + (20 if u % 50 == 0 else 0))]
    frame = pd.DataFrame(orders, columns=["u", "x"])
    of: dict[str, Any] = {"unit": "u", "rows_per_unit": 64, "epsilon": 100, "bounds": {"x": (0, 9)}} | options
    return sfumato.protect(frame, **of)


COUNT = "SELECT COUNT(*) FROM data"


@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
def test_an_estimate_of_rows_is_charged_with_its_query(noise: str) -> None:
    """Both together cost what was asked for; each is in the ledger before its rows are read; again, both are free."""
    composition = {"composition": "zcdp", "delta": 1e-6} if noise == "gaussian" else {}
    with shop(**composition) as gate:
        start = gate.budget().spent
        answer = gate.sql(COUNT, epsilon=1, rows_per_unit="auto", noise=noise)
        debits = [entry for entry in gate.ledger.entries() if entry.kind == "debit"]
        assert [entry.body["plan"]["rows_per_unit"] for entry in debits] == ["auto", 4]
        assert debits[0].body["text"] == f"/* rows per person */ {COUNT}"
        spent = gate.budget().spent
        if noise == "gaussian":
            assert F(1, 2) - F(1, 10**9) < spent.rho - start.rho <= F(1, 2)
            assert answer.cost.rho == spent.rho - start.rho
        else:
            assert spent.epsilon == answer.cost.epsilon == 1
        assert answer.plan is not None
        assert answer.plan.cuts[0].contribution == 4
        assert "rows_per_unit: 4, estimated for epsilon 0.2" in [note for _, note in answer.notes]
        again = gate.sql(COUNT, epsilon=1, rows_per_unit="auto", noise=noise)
        assert (again.rows, again.cost.epsilon) == (answer.rows, 0)
        found = gate.rederive()
        assert (found.plans, found.wrong, dict(found.not_derived)) == (2, [], {})


def test_noise_and_rows_may_both_be_chosen() -> None:
    with shop(composition="zcdp", delta=1e-6) as gate:
        answer = gate.sql("SELECT x, COUNT(*) FROM data GROUP BY x", epsilon=1, rows_per_unit="auto", noise="auto")
        assert answer.plan is not None
        assert answer.plan.noise == "gaussian"
        assert answer.plan.cuts[0].contribution < 64


def test_nothing_is_charged_where_not_both_can_be() -> None:
    with shop(epsilon=F(9, 10)) as gate:
        with pytest.raises(BudgetError):
            gate.sql(COUNT, epsilon=1, rows_per_unit="auto")
        assert gate.budget().spent.epsilon == 0
        assert gate.explain(COUNT, epsilon=1, rows_per_unit="auto").refused is not None
        assert gate.sql(COUNT, epsilon=F(9, 10), rows_per_unit="auto").cost.epsilon == F(9, 10)


def test_a_stored_answer_is_free_when_nothing_is_left() -> None:
    with shop(epsilon=1) as gate:
        answer = gate.sql(COUNT, epsilon=1, rows_per_unit="auto")
        assert answer.cost.epsilon == 1
        again = gate.sql(COUNT, epsilon=1, rows_per_unit="auto")
        assert (again.rows, again.cost.epsilon) == (answer.rows, 0)
        assert len([entry for entry in gate.ledger.entries() if entry.kind == "debit"]) == 2


@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
@pytest.mark.parametrize("shown", ["o", "o, SUM(0)"])
def test_undeclared_keys_without_a_number_have_an_estimate(shown: str, noise: str) -> None:
    """No number has a share of epsilon: whoever pays for the estimate has the answer as well."""
    frame = pd.DataFrame({"u": [n // 2 for n in range(400)], "o": ["a", "b"] * 200})
    options = {"composition": "zcdp"} if noise == "gaussian" else {}
    with sfumato.protect(frame, unit="u", rows_per_unit=64, epsilon=40, delta=1e-3, **options) as gate:
        answer = gate.sql(f"SELECT {shown} FROM data GROUP BY o", epsilon=5, rows_per_unit="auto", noise=noise)
        assert {row[0] for row in answer.rows} == {"a", "b"}
        debits = [entry for entry in gate.ledger.entries() if entry.kind == "debit"]
        assert len(debits) == 2
        assert debits[0].body["plan"]["rows_per_unit"] == "auto"


def test_an_estimate_serves_every_query_over_the_same_rows() -> None:
    """Other groups of the same rows have the same people by rows: only the answer is charged."""
    with shop() as gate:
        gate.sql(COUNT, epsilon=1, rows_per_unit="auto")
        other = gate.sql("SELECT x, COUNT(*) FROM data GROUP BY x", epsilon=1, rows_per_unit="auto")
        assert other.cost.epsilon == 1 - SHARE


def test_the_preview_says_what_is_estimated_and_spends_nothing() -> None:
    with shop() as gate:
        before = gate.explain(COUNT, epsilon=1, rows_per_unit="auto")
        assert before.cost is not None
        assert before.cost.epsilon == 1
        assert any("rows_per_unit is estimated first, for epsilon 0.2" in note for _, note in before.notes)
        assert gate.budget().spent.epsilon == 0
        gate.sql("SELECT x, COUNT(*) FROM data GROUP BY x", epsilon=1, rows_per_unit="auto")
        after = gate.explain(COUNT, epsilon=1, rows_per_unit="auto")
        assert after.cost is not None
        assert after.cost.epsilon == 1 - SHARE
        assert after.columns[0].scale == 4 / (1 - SHARE)


@pytest.mark.parametrize("sql", ["SELECT COUNT(DISTINCT u) FROM data", "SELECT 1", "SELECT COUNT(*) FROM data LIMIT 0"])
def test_where_it_makes_no_difference_nothing_is_estimated(sql: str) -> None:
    """People are counted once, however many rows they have; and what is free stays free."""
    with shop() as gate:
        answer, usual = (gate.sql(sql, epsilon=1, rows_per_unit=rows) for rows in ("auto", None))
        assert (answer.rows, usual.cost.epsilon) == (usual.rows, 0)
        assert (None, NO_DIFFERENCE) in answer.notes
        assert len([entry for entry in gate.ledger.entries() if entry.kind == "debit"]) <= 1


def test_a_width_cannot_choose_the_price_of_what_is_not_known() -> None:
    with shop() as gate, pytest.raises(InputError, match="not within"):
        gate.sql(COUNT, within=10, rows_per_unit="auto")
    with shop() as gate:
        assert isinstance(gate.explain(COUNT, within=10, rows_per_unit="auto").refused, InputError)


def test_the_estimate_is_not_taken_for_an_answer() -> None:
    """The query of the estimate, asked by itself, is a query with "auto" again."""
    with shop() as gate:
        gate.sql(COUNT, epsilon=1, rows_per_unit="auto")
        asked = Query(f"/* rows per person */ {COUNT}", SHARE, "auto", "geometric")
        assert gate.recall(asked) is None
        answer = gate.answer(asked)
        assert answer.columns == ("count",)
        assert len(answer.rows) == 1


def test_the_chosen_rows_have_the_least_error() -> None:
    """With next to no noise in the estimate: by the error of every power of two, group by group."""
    with shop() as gate:
        for sql, groups in ((COUNT, 1), ("SELECT x, COUNT(*) FROM data GROUP BY x", 11)):
            answer = gate.sql(sql, epsilon=F(99, 10), rows_per_unit="auto")
            assert answer.plan is not None
            counts = [75, 75, 150 - 6, 0, 0, 6, 0, 0]
            assert answer.plan.cuts[0].contribution == choose(counts, groups / F(99, 10) / (1 - SHARE), alone=False)
    with shop() as gate:  # too few people to see
        answer = gate.sql(f"{COUNT} WHERE u < 3", epsilon=F(1, 10), rows_per_unit="auto")
        assert answer.plan is not None
        assert answer.plan.cuts[0].contribution == 2


def test_undeclared_keys_of_people_with_one_key_are_shown_from_fewer() -> None:
    """Each of 300 people has one word in all her rows: with K = 1 far smaller groups are shown."""
    rows = [(u, f"w{u % 4}") for u in range(300) for _ in range(1 + u % 30)]
    frame = pd.DataFrame(rows, columns=["u", "w"])
    sql = "SELECT w, COUNT(DISTINCT u) FROM data GROUP BY w"
    with sfumato.protect(frame, unit="u", rows_per_unit=64, epsilon=10, delta=1e-3) as gate:
        few = gate.explain(sql, epsilon=1)
        assert len(gate.sql(sql, epsilon=1).rows) == 0
        answer = gate.sql(sql, epsilon=1, rows_per_unit="auto")
        assert len(answer.rows) == 4, few
        assert answer.plan is not None
        assert answer.plan.cuts[0].contribution == 1


def test_neighbours_hold_for_whatever_is_chosen() -> None:
    """The query with each C that an estimate can lead to is checked as any other: its noise is that of this C."""
    policy = policy_of()
    question = bind(parse("SELECT x, COUNT(*) FROM visit GROUP BY x"), policy, date(2024, 1, 1))
    for rows in (1, 2, 4, 8):
        asked = plan(question, policy, F(4, 5), rows, rows=tableless.tableless())
        (reason,) = check(asked.cuts, Adjacency.ADD_REMOVE, asked.event)
        assert reason.derived == rows
