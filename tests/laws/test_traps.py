"""Where the obvious design breaks: each counterexample, asked of the gateway itself."""

# ruff: noqa: E501  a question stands on one line
from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sfumato.accounting.curves import epsilon_of_rho
from sfumato.errors import BudgetError, QueryError
from sfumato.gateway import Gateway, open_policy

POLICY = """
[source]
engine = "duckdb"
files = { patient = "patient.csv", visit = "visit.csv" }
[data]
id = "traps"
[privacy]
epsilon = 3
delta = 1e-6
composition = "best"
query_epsilon = 0.1
query_delta = 2e-8
[tables.patient]
unit = "ssn"
rows_per_unit = 1
[tables.patient.columns]
ssn = { type = "integer" }
city = { values = ["A", "B"] }
[tables.visit]
unit = "patient_ssn"
rows_per_unit = 20
[tables.visit.columns]
patient_ssn = { type = "integer" }
cost = { type = "integer", min = 0, max = 1000 }
city = { values = ["A", "B"] }
tag = { type = "text", max_length = 9 }
"""


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gateway]:
    patients = "".join(f"{i},{'AB'[i % 2]}\n" for i in range(300))
    visits = "".join(f"{i % 300},{i % 997},{'AB'[i % 2]},t{i % 3}\n" for i in range(2000))
    (tmp_path / "patient.csv").write_text("ssn,city\n" + patients, encoding="utf-8")
    (tmp_path / "visit.csv").write_text("patient_ssn,cost,city,tag\n" + visits, encoding="utf-8")
    (tmp_path / "sfumato.toml").write_text(POLICY, encoding="utf-8")
    with open_policy(tmp_path / "sfumato.toml") as gateway:
        yield gateway


REFUSED = {
    "trap V2": "SELECT COUNT(*) FROM patient WHERE ssn NOT IN "
    "(SELECT CASE WHEN patient_ssn = 123 THEN NULL ELSE patient_ssn + 5000 END FROM visit)",
    "trap V10, the first": "SELECT COUNT(*) FROM (SELECT patient_ssn, FIRST(city) AS c FROM visit GROUP BY patient_ssn)"
    " AS t WHERE c = 'A'",
    "trap V10, any": "SELECT COUNT(*) FROM (SELECT patient_ssn, ANY_VALUE(city) AS c FROM visit GROUP BY patient_ssn)"
    " AS t WHERE c = 'A'",
    "trap V11": "SELECT COUNT(*) FROM (SELECT patient_ssn % 2 AS h, SUM(cost) AS s FROM visit GROUP BY patient_ssn % 2)"
    " AS t WHERE s > 1000000",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_mixes_persons_is_refused_and_costs_nothing(name: str, gate: Gateway) -> None:
    with pytest.raises(QueryError) as refused:
        gate.sql(REFUSED[name])
    assert refused.value.sqlstate == "0A000"
    assert gate.budget().spent.epsilon == 0


def test_a_mean_of_each_person_is_answered(gate: Gateway) -> None:
    """Trap V10, the last: a mean on the integer grid is the same in whatever order rows come."""
    exact = sum(_mean(person) > 498 for person in range(300))
    asked = "SELECT COUNT(*) FROM (SELECT patient_ssn, AVG(cost) AS a FROM visit GROUP BY patient_ssn HAVING AVG(cost) > 498) AS t"
    ends = gate.sql(asked, epsilon=2).intervals(Fraction(999_999, 1_000_000))[0][0]
    assert ends is not None
    assert ends[0] <= exact <= ends[1]


def _mean(person: int) -> float:
    costs = [i % 997 for i in range(2000) if i % 300 == person]
    return sum(costs) / len(costs)


def _deltas(gate: Gateway) -> list[Fraction]:
    return [
        Fraction(entry.body["price"]["delta"])
        for entry in gate._ledger.entries()
        if entry.kind == "debit" and entry.body.get("price")
    ]


def test_each_delta_is_spent_once(gate: Gateway) -> None:
    """Trap V14: open keys and Gaussian noise until both are refused.

    What selection spent and what the conversion of rho takes are together at most delta; a Gaussian shuts the pure door.
    """
    answered = {"open": 0, "gaussian": 0}
    refused: set[str] = set()
    for i in range(2000):
        kind = ("open", "gaussian")[i % 2]
        options: dict[str, Any] = {"noise": "gaussian"} if kind == "gaussian" else {}
        sql = (
            "SELECT tag, COUNT(*) FROM visit WHERE cost > {} GROUP BY tag"
            if kind == "open"
            else ("SELECT COUNT(*) FROM visit WHERE cost > {}")
        )
        try:
            gate.sql(sql.format(i), epsilon="0.1", **options)
            answered[kind] += 1
        except BudgetError:
            refused.add(kind)
        if refused == {"open", "gaussian"}:
            break
    assert answered["open"] > 3
    assert answered["gaussian"] > 3
    policy, spent = gate.policy.privacy, gate.budget().spent
    assert spent.epsilon is None  # a Gaussian makes no claim in epsilon: the pure door is shut
    assert sum(_deltas(gate), Fraction(0)) == spent.delta <= policy.delta_selection

    left = policy.delta - policy.delta_selection
    assert spent.rho is not None
    assert epsilon_of_rho(spent.rho, left) <= policy.epsilon
