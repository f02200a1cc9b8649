"""A better answer for the difference: under the pure ledger, drawn given the stored one (semantics 5.4)."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sfumato.accounting import Pure, Refinement
from sfumato.errors import BudgetError
from sfumato.gateway import Gateway, open_policy
from sfumato.ledger import Ledger, Overtaken

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
        asked = gate._plan(ASK, "0.5", rows_per_unit=None, noise=None, within=None, confidence=Fraction(1, 2))
        old = stored(asked.digest, "1", Fraction(1, 10))
        gate.sql(ASK, epsilon="0.6")
        monkeypatch.setattr(gate._ledger, "stored", lambda *_: old)
        assert gate.sql(ASK, epsilon="0.7").cost.epsilon == Fraction(7, 10)
