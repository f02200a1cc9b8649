"""Open keys with one count, through the whole path: what is shown, and the interval that is told beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sfumato
from sfumato.errors import QueryError
from sfumato.gateway.gateway import Gateway

SIZES = {"a": 400, "b": 90, "c": 60, "d": 30, "e": 3}
POLICY = """
[source]
engine = "duckdb"
files = { data = "data.csv" }
[data]
id = "words"
version = "1"
[privacy]
epsilon = 1000
delta = 1e-2
query_delta = 1e-3
delta_selection = 9e-3
composition = "pure"
[tables.data]
unit = "id"
rows_per_unit = 1
[tables.data.columns]
id = { type = "text", max_length = 9 }
word = { type = "text", max_length = 9 }
k = { type = "integer", min = 0, max = 9999 }
"""


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    path: Path = tmp_path_factory.mktemp("words")
    words = [word for word, size in SIZES.items() for _ in range(size)]
    path.joinpath("data.csv").write_text("id,word,k\n" + "".join(f"{i},{w},0\n" for i, w in enumerate(words)))
    path.joinpath("sfumato.toml").write_text(POLICY.replace("1e-2", "0.9").replace("9e-3", "0.8"))
    with sfumato.open(path / "sfumato.toml") as opened:
        yield opened


def test_intervals_hold_given_that_the_key_is_shown(gate: Gateway) -> None:
    """Fresh answers: of each key's, those that show it hold it as often as is said, but for six standard errors."""
    met, held = dict.fromkeys(SIZES, 0), dict.fromkeys(SIZES, 0)
    for number in range(120):  # another filter that lets everybody through: a fresh draw
        asked = f"SELECT word, COUNT(*) AS n FROM data WHERE k < {number + 1} GROUP BY word"
        answer = gate.sql(asked, epsilon="0.1")
        assert answer.plan is not None
        part = answer.plan.cuts[0].parts[0]
        assert part.least is not None
        for (word, n), (_, ends) in zip(answer.rows, answer.intervals("0.9"), strict=True):
            assert ends is not None
            met[word] += 1
            held[word] += ends[0] <= SIZES[word] <= ends[1]
            assert n >= part.least
            assert ends[0] <= n <= ends[1]
    assert met["a"] == 120
    assert 10 < met["b"] < 120
    assert met["e"] < 10
    for word, shown in met.items():
        assert held[word] >= 0.9 * shown - 6 * (0.09 * shown) ** 0.5, (word, met, held)


def test_the_preview_says_from_where_on_keys_are_shown(gate: Gateway) -> None:
    seen = gate.explain("SELECT word, COUNT(*) AS n, 2 * COUNT(*) FROM data GROUP BY word", epsilon=1)
    assert any("groups are shown if their noisy count is at least" in note for _, note in seen.notes)
    assert seen.cost is not None
    assert seen.cost.delta > 0
    assert seen.cost.epsilon == 1


def test_the_ends_of_shown_counts_can_be_asked_for(gate: Gateway) -> None:
    """A dry run looks at zeros, which no threshold shows."""
    answer = gate.sql("SELECT word, COUNT(*), sfumato_low(COUNT(*)), sfumato_high(COUNT(*)) FROM data GROUP BY word")
    for row, intervals in zip(answer.rows, answer.intervals(), strict=True):
        assert (row[2], row[3]) == intervals[1]


def test_a_width_is_not_promised_for_shown_counts(gate: Gateway) -> None:
    with pytest.raises(QueryError, match="within is not available"):
        gate.sql("SELECT word, COUNT(*) FROM data GROUP BY word", within=25)
