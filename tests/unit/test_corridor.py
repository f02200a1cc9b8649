"""The order of the walk: nothing is read before it is paid for on the disk, nothing is told before it is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sfumato.errors import BudgetError, InputError, LedgerError, QueryError
from sfumato.gateway import Gateway, open_policy
from sfumato.ledger import Ledger

POLICY = """
[source]
engine = "duckdb"
files = { t = "t.csv" }
[data]
id = "d"
[privacy]
epsilon = 1
[tables.t]
unit = "u"
rows_per_unit = 3
[tables.t.columns]
u = { type = "text", max_length = 9 }
n = { type = "integer", min = 0, max = 9 }
"""
ASK = "SELECT COUNT(*) FROM t"


@pytest.fixture
def gate(tmp_path: Path) -> Any:
    (tmp_path / "t.csv").write_text("u,n\na,1\nb,2\n", encoding="utf-8")
    (tmp_path / "sfumato.toml").write_text(POLICY, encoding="utf-8")
    with open_policy(tmp_path / "sfumato.toml") as opened:
        yield opened


def kinds(folder: Path) -> list[str]:
    """What stands in the ledger's file, as another process would see it."""
    with Ledger.visit(folder / "d.ledger") as other:
        return [entry.kind for entry in other.entries()]


def test_the_engine_runs_after_the_debit_is_on_the_disk(gate: Gateway, tmp_path: Path, monkeypatch: Any) -> None:
    seen: list[list[str]] = []
    run = gate._engine.run
    monkeypatch.setattr(gate._engine, "run", lambda *asked: seen.append(kinds(tmp_path)) or run(*asked))
    gate.sql(ASK, epsilon="0.1")
    assert [k.count("debit") for k in seen] == [1]
    assert "answer" not in seen[0]
    gate.sql(ASK + " WHERE n > 3", epsilon="0.1")
    assert [k.count("debit") for k in seen] == [1, 2]


def test_the_answer_is_on_the_disk_before_it_is_told(gate: Gateway, tmp_path: Path, monkeypatch: Any) -> None:
    """An answer that could not be stored is not given: told and forgotten, it could be drawn again and averaged."""
    from sfumato.gateway import gateway as corridor

    seen: list[list[str]] = []
    build = corridor.build

    def watched(plan: Any, cells: Any, **rest: Any) -> Any:
        if rest["receipt"] is not None:
            seen.append(kinds(tmp_path))
        return build(plan, cells, **rest)

    monkeypatch.setattr(corridor, "build", watched)
    gate.sql(ASK, epsilon="0.1")
    assert [k.count("answer") for k in seen] == [1]

    def broken(*_: Any) -> Any:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(gate._ledger, "store", broken)
    with pytest.raises(LedgerError):
        gate.sql(ASK + " WHERE n > 3", epsilon="0.1")
    assert len(seen) == 1


def test_what_is_refused_reaches_neither_engine_nor_ledger(gate: Gateway, tmp_path: Path, monkeypatch: Any) -> None:
    def touched(*_: Any) -> Any:
        raise AssertionError("the engine was touched")

    monkeypatch.setattr(gate._engine, "run", touched)
    before = kinds(tmp_path)
    for arguments in ({"epsilon": 2}, {"epsilon": 0}, {"epsilon": "0.1", "rows_per_unit": 4}, {"within": -1}):
        with pytest.raises((BudgetError, QueryError), match=r"budget|must be|lowered"):
            gate.sql(ASK, **arguments)
    for wrong in ("three", 1.5, True, 0, -2):
        with pytest.raises(InputError, match="rows_per_unit must be"):
            gate.sql(ASK, epsilon="0.1", rows_per_unit=wrong)
    assert kinds(tmp_path) == before
