"""The walk over open keys, Gaussian noise, grouping sets and stages: what is drawn is what the plan says, and is paid."""

# ruff: noqa: E501  a question stands on one line
from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato.accounting import price
from sfumato.errors import BudgetError, QueryError
from sfumato.gateway import answer as answers
from tests.laws.walking import opened

F = Fraction
COLUMNS = """
o = { type = "text", max_length = 5 }
s = { values = ["x", "y"] }
i = { type = "integer", min = 0, max = 10 }
"""
TYPES = {"o": "VARCHAR", "s": "VARCHAR", "i": "BIGINT"}
MANY = [(f"{p}", "often", "x" if p % 3 else "y", p % 11) for p in range(400)]


def walk(tmp_path, rows=MANY, privacy="epsilon = 4\nquery_epsilon = 0.5\ndelta = 1e-6", each=2):
    return opened(tmp_path, rows, COLUMNS, privacy=privacy, types=TYPES, each=each)


def test_delta_is_spent_once(tmp_path) -> None:
    """Trap V14: open keys and Gaussian noise until nothing is left: the deltas of all selections and the one of the
    conversion stay within delta, and no question passes by epsilon alone once there was a Gaussian."""
    with walk(tmp_path, privacy="epsilon = 4\nquery_epsilon = 0.25\ndelta = 1e-6") as gateway:
        privacy, asked, spent = gateway.policy.privacy, 0, F(0)
        while asked < 1000:
            law, other = "gaussian" if asked % 2 else None, f"i <> {asked} AND '{asked}' <> o"
            try:
                spent += gateway.sql(f"SELECT o, COUNT(*) FROM visit WHERE {other} GROUP BY o", noise=law).cost.delta
            except BudgetError:
                break
            asked += 1
        assert 2 < asked < 1000
        assert spent == gateway.budget().spent.delta
        assert spent <= privacy.delta_selection <= privacy.delta
        assert gateway.budget().spent.epsilon is None  # a Gaussian has no epsilon of its own
        assert gateway.budget().spent.rho <= gateway.budget().total.rho


def test_a_key_of_one_person_is_not_shown(tmp_path) -> None:
    """Her chance to be seen is below 1e-8; forty visits do not help her."""
    rows = [*MANY, *[("her", "only", "x", 1)] * 40]
    with walk(tmp_path, rows, "epsilon = 1000\nquery_epsilon = 0.5\ndelta = 1e-5\nquery_delta = 1e-8") as gateway:
        for law in ("geometric", "gaussian"):
            for text in (
                "SELECT o, COUNT(*) FROM visit GROUP BY o",
                "SELECT o, s, COUNT(*) FROM visit GROUP BY o, s",
                "SELECT DISTINCT o FROM visit",
                "SELECT o, SUM(i) FROM visit GROUP BY ROLLUP(o)",
            ):
                shown = {row[0] for row in gateway.sql(text, F(1, 2), noise=law).rows}
                assert "often" in shown
                assert "only" not in shown


@pytest.mark.parametrize("law", ["geometric", "gaussian"])
def test_what_is_drawn_is_what_the_plan_says(tmp_path, monkeypatch, law) -> None:
    """The laws of all bundles of all grouping sets of all stages, in their order; the debit is the price of the plan."""
    drawn = []

    class Geometric(answers.Geometric):
        def release(self, exact):
            drawn.append(self.scale)
            return super().release(exact)

    class Gaussian(answers.Gaussian):
        def release(self, exact):
            drawn.append(self.squared / (2 * self.rho) if hasattr(self, "squared") else self.variance)
            return super().release(exact)

    monkeypatch.setattr(answers, "Geometric", Geometric)
    monkeypatch.setattr(answers, "Gaussian", Gaussian)
    with walk(tmp_path, privacy="epsilon = 1e6\nquery_epsilon = 1\ndelta = 0.1\nquery_delta = 1e-3") as gateway:
        for text in (
            "SELECT s, COUNT(*), SUM(i) FROM visit GROUP BY ROLLUP(s)",
            "SELECT o, AVG(i), COUNT(DISTINCT ssn) FROM visit GROUP BY o",
            "SELECT s, COUNT(*) FROM visit WHERE i > (SELECT AVG(i) FROM visit) GROUP BY s",
        ):
            drawn.clear()
            answer = gateway.sql(text, 1, noise=law)
            plan = answer._plan
            bundles = [released for cut in plan.cuts for part in cut.parts for released in part.bundles]
            scales = [r.scale / (r.unit if law == "geometric" else r.unit**2) for r in bundles]
            assert drawn == scales
            cost = price(plan.event)
            assert (answer.cost.epsilon, answer.cost.rho, answer.cost.delta) == (cost.epsilon, cost.rho, cost.delta)


def test_what_is_refused_costs_nothing(tmp_path) -> None:
    """Trap V2."""
    with walk(tmp_path) as gateway:
        before = gateway.budget().spent
        for text in (
            "SELECT COUNT(*) FROM visit WHERE ssn NOT IN (SELECT CASE WHEN ssn = '1' THEN NULL ELSE ssn END FROM visit)",
            "SELECT COUNT(*) FROM visit AS a JOIN visit AS b ON a.s = b.s",
            "SELECT COUNT(*) FROM (SELECT ssn, i FROM visit LIMIT 5) AS q",
        ):
            with pytest.raises(QueryError) as refused:
                gateway.sql(text)
            assert refused.value.sqlstate == "0A000"
        assert gateway.budget().spent == before


def test_two_questions_of_one_sql_are_told_apart(tmp_path) -> None:
    """Both compare with a released number of the same two sums; but one with their sum, the other with their count."""
    with walk(tmp_path, privacy="epsilon = 1e6\nquery_epsilon = 1e4") as gateway:
        text = "SELECT COUNT(*) FROM visit WHERE i * 500 > (SELECT n FROM (SELECT {} AS n, {} AS c FROM visit) AS q)"
        one, other = (gateway.sql(text.format(*pair)) for pair in (("SUM(i)", "COUNT(i)"), ("COUNT(i)", "SUM(i)")))
        assert one.receipt != other.receipt
        assert one.rows != other.rows
