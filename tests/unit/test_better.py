"""A better answer for the difference: under the pure ledger, drawn given the stored one (semantics 5.4)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sfumato.accounting import Pure, Refinement
from sfumato.errors import BudgetError
from sfumato.gateway import Gateway, open_policy, protect
from sfumato.ledger import Ledger, Overtaken
from tests.plans import plan_of

POLICY = """
[source]
engine = "duckdb"
files = { t = "t.csv" }
[data]
id = "d"
[privacy]
epsilon = 2
composition = "COMPOSITION"
delta = DELTA
[tables.t]
unit = "u"
rows_per_unit = 3
[tables.t.columns]
u = { type = "text", max_length = 9 }
n = { type = "integer", min = 0, max = 9 }
k = { values = ["a", "b"] }
"""
ASK = "SELECT k, COUNT(*), AVG(n) FROM t GROUP BY k"


def opened(folder: Path, composition: str = "pure") -> Gateway:
    rows = "".join(f"p{i % 40},{i % 10},{'ab'[i % 2]}\n" for i in range(100))
    (folder / "t.csv").write_text("u,n,k\n" + rows, encoding="utf-8")
    text = POLICY.replace("COMPOSITION", composition).replace("DELTA", "0" if composition == "pure" else "1e-6")
    (folder / "sfumato.toml").write_text(text, encoding="utf-8")
    return open_policy(folder / "sfumato.toml")


def test_a_better_answer_costs_the_difference(tmp_path: Path) -> None:
    with opened(tmp_path) as gate:
        first = gate.sql(ASK, epsilon="0.5")
        assert gate.explain(ASK, epsilon="0.8").cost.epsilon == Fraction(3, 10)  # type: ignore[union-attr]
        better = gate.sql(ASK, epsilon="0.8")
        assert first.cost.epsilon == Fraction(1, 2)
        assert better.cost.epsilon == Fraction(3, 10)
        assert gate.sql(ASK, epsilon="0.6").rows == better.rows  # a higher epsilon is given free
        best = gate.sql(ASK, epsilon=2)
        assert best.cost.epsilon == Fraction(12, 10)
        assert gate.budget().spent.epsilon == 2
        with pytest.raises(BudgetError):
            gate.sql("SELECT COUNT(*) FROM t", epsilon="0.1")


def test_a_better_answer_is_close_to_the_truth(tmp_path: Path) -> None:
    """Noise of the better answer, not of the earlier one: at a large epsilon nothing of the first noise is left."""
    opened(tmp_path).close()
    text = (tmp_path / "sfumato.toml").read_text(encoding="utf-8").replace("epsilon = 2", "epsilon = 1000")
    (tmp_path / "sfumato.toml").write_text(text, encoding="utf-8")
    with open_policy(tmp_path / "sfumato.toml") as gate:
        gate.sql("SELECT COUNT(*) FROM t", epsilon="0.01")
        assert gate.sql("SELECT COUNT(*) FROM t", epsilon=900).rows == [(100,)]


@pytest.mark.parametrize("composition", ["best", "zcdp"])
def test_under_other_ledgers_it_costs_in_full(composition: str, tmp_path: Path) -> None:
    with opened(tmp_path, composition) as gate:
        gate.sql(ASK, epsilon="0.1")
        again = gate.sql(ASK, epsilon="0.2")
        assert again.cost.rho == Fraction(2, 100)


def test_a_better_answer_is_drawn_from_the_last_one(tmp_path: Path) -> None:
    """Two better answers from one earlier answer would cost more than the two differences."""
    with Ledger.open(tmp_path / "l", data_id="d", composition="pure", epsilon=5) as book:
        asked: dict[str, Any] = {"question": "q", "version": "1", "text": ""}

        def debit(event: Any, epsilon: Any) -> Any:
            return book.debit("ana", event, epsilon=epsilon, **asked)

        with pytest.raises(Overtaken):
            debit(Refinement(Fraction(1, 2), Fraction(1)), 1)  # there is no earlier answer
        first = debit(Pure(Fraction(1, 2)), Fraction(1, 2))
        with pytest.raises(Overtaken):
            debit(Refinement(Fraction(1, 2), Fraction(1)), 1)  # it is not stored yet
        book.store(first, b"one")
        better = debit(Refinement(Fraction(1, 2), Fraction(1)), 1)
        with pytest.raises(Overtaken):
            debit(Refinement(Fraction(1, 2), Fraction(2)), 2)  # somebody is at it
        book.store(better, b"two")
        with pytest.raises(Overtaken):
            debit(Refinement(Fraction(1, 2), Fraction(2)), 2)  # there is a better one to start from
        debit(Refinement(Fraction(1), Fraction(2)), 2)
        assert book.budget().spent.epsilon == 2


def test_who_is_overtaken_pays_in_full(tmp_path: Path, monkeypatch: Any) -> None:
    with opened(tmp_path) as gate:
        stored = gate._ledger.stored
        gate.sql(ASK, epsilon="0.5")
        asked = plan_of(gate, ASK, "0.5")
        old = stored(asked.digest, "1", Fraction(1, 10))
        gate.sql(ASK, epsilon="0.6")
        monkeypatch.setattr(gate._ledger, "best", lambda *_: old)
        assert gate.sql(ASK, epsilon="0.7").cost.epsilon == Fraction(7, 10)


def test_a_better_answer_is_for_the_same_rows(tmp_path: Path) -> None:
    """For other exact numbers the two answers together would lose more than the better one costs: it costs in full."""
    public = POLICY.replace('files = { t = "t.csv" }', 'files = { t = "t.csv", r = "r.csv" }')
    text = public.replace("COMPOSITION", "pure").replace("DELTA", "0").replace("epsilon = 2", "epsilon = 200")
    rows = "".join(f"p{i},{i % 10},{'ab'[i % 2]}\n" for i in range(100))
    files = {"sfumato.toml": f"{text}\n[tables.r]\npublic = true\n", "t.csv": f"u,n,k\n{rows}", "r.csv": "k,z\na,1\n"}
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    asks = [ASK, "SELECT COUNT(*) FROM t JOIN r ON t.k = r.k"]
    changes: list[tuple[str | None, str]] = [
        (None, ""),
        ("t.csv", files["t.csv"] + "new,1,a\n"),
        (None, ""),
        ("r.csv", "k,z\na,1\nb,2\n"),
        ("t.csv", files["t.csv"]),
    ]
    last, costs = 1, []
    for name, content in [(None, ""), *changes]:
        if name is not None:
            (tmp_path / name).write_text(content, encoding="utf-8")
        with open_policy(tmp_path / "sfumato.toml") as gate:
            before = gate.explain(asks[0], epsilon=last).cost
            assert before is not None
            costs.append([gate.sql(ask, epsilon=last).cost.epsilon for ask in asks])
            assert before.epsilon == costs[-1][0]
        last += 1
    assert costs == [[1, 1], [1, 1], [3, 3], [1, 1], [5, 5], [6, 6]]


def test_a_better_answer_for_a_frame_is_of_one_opening(tmp_path: Path) -> None:
    def gate(people: int) -> Gateway:
        frame = pd.DataFrame({"id": range(people), "age": [i % 90 for i in range(people)]})
        ledger = tmp_path / "l.ledger"
        return protect(frame, "id", 1, 9, bounds={"age": (0, 120)}, ledger=ledger, composition="pure")

    ask = "SELECT COUNT(*) FROM data"
    with gate(1000) as one:
        assert one.sql(ask, epsilon=1).cost.epsilon == 1
        assert one.sql(ask, epsilon=2).cost.epsilon == 1
    with gate(1040) as other:
        assert other.sql(ask, epsilon=3).cost.epsilon == 3
        assert other.sql(ask, epsilon=2).cost.epsilon == 0


def test_a_frame_may_have_a_version(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": range(100)})
    for version, cost in (("monday", 1), ("tuesday", 1), ("monday", 0)):
        with protect(frame, "id", 1, 9, ledger=tmp_path / "l.ledger", version=version) as gate:
            assert gate.sql("SELECT COUNT(*) FROM data", epsilon=1).cost.epsilon == cost


def test_the_best_answer_is_made_better_and_no_other(tmp_path: Path) -> None:
    """An answer at the least epsilon that there is does not stand before better ones."""
    with opened(tmp_path) as gate:
        least = gate.policy.privacy.min_epsilon
        gate.sql(ASK, epsilon=least)
        gate.sql(ASK, epsilon="0.5")
        assert gate.explain(ASK, epsilon=1).cost.epsilon == Fraction(1, 2)  # type: ignore[union-attr]
        assert gate.sql(ASK, epsilon=1).cost.epsilon == Fraction(1, 2)


def test_a_better_answer_is_for_the_same_statement(tmp_path: Path, monkeypatch: Any) -> None:
    """Where the digests of two queries are one by mistake, the second costs in full: its exact numbers are others."""
    one, other = "SELECT COUNT(*) FROM t WHERE n > 3", "SELECT COUNT(*) FROM t WHERE n > 5"
    with opened(tmp_path) as gate:
        asked = plan_of(gate, one, "0.5")
        real = gate._planner.planned
        monkeypatch.setattr(
            gate._planner, "planned", lambda *of, **more: replace(real(*of, **more), digest=asked.digest)
        )
        gate.sql(one, epsilon="0.5")
        assert gate.sql(one, epsilon="0.6").cost.epsilon == Fraction(1, 10)
        assert gate.sql(other, epsilon="0.7").cost.epsilon == Fraction(7, 10)
