"""Intervals of the first rows are those of all rows, and what shows a few rows asks for no more."""

from __future__ import annotations

import duckdb
import pytest

import sfumato
from sfumato.gateway.answer import Answer
from sfumato.server.answer_tables import answer_table

QUERIES = [
    "SELECT k, AVG(x), COUNT(*), SUM(x) / COUNT(*), VAR_POP(x) FROM t GROUP BY k",
    "SELECT k, SUM(COUNT(*)) OVER (ORDER BY k) FROM t GROUP BY k",
    "SELECT DISTINCT n FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) q",
    "SELECT 1",
]


@pytest.fixture(scope="module")
def gate() -> sfumato.Gateway:
    frame = duckdb.sql("SELECT i AS u, i % 60 AS k, i % 11 AS x FROM range(3000) AS r(i)").arrow()
    return sfumato.protect(frame, "u", 1, 1000, bounds={"k": (0, 79), "x": (0, 10)}, name="t")


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("first", [None, 0, 1, 7, 10_000])
def test_the_first_intervals_are_those_of_all(gate: sfumato.Gateway, text: str, first: int | None) -> None:
    answer = gate.sql(text, epsilon=1)
    assert answer.intervals(first=first) == answer.intervals()[:first]
    assert answer.untold(first=first) == answer.untold()[:first]


def test_what_shows_few_rows_asks_for_few(gate: sfumato.Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, plain = [], Answer.worth

    def counted(self: Answer, confidence: object = None, *, first: int | None = None) -> object:
        found = plain(self, confidence, first=first)
        asked.append(len(found))
        return found

    answer = gate.sql(QUERIES[0], epsilon=1)
    monkeypatch.setattr(Answer, "worth", counted)
    assert repr(answer)
    assert answer_table(answer, 5).row_count == 5
    assert len(answer.rows) == 81
    assert max(asked) < 80
