"""Lists of group keys are bounded in bytes, and written in pieces: the same text and the same digest as in one."""

# ruff: noqa: E501  a query stands on one line
from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

import sfumato
from sfumato.algebra import group_keys
from sfumato.engines.duckdb import fetching
from sfumato.errors import QueryError
from sfumato.gateway import Gateway
from sfumato.sql.release import bundles, normal_form
from sfumato.sql.release.normal_form import key_of, key_of_long

PEOPLE = pd.DataFrame({"ssn": [f"p{i}" for i in range(20)], "age": [i % 20 for i in range(20)], "x": ["a", "b"] * 10})


@pytest.fixture
def gate() -> Iterator[Gateway]:
    made = sfumato.protect(
        PEOPLE, unit="ssn", rows_per_unit=1, epsilon=10**9, bounds={"age": (0, 99)}, values={"x": ["a", "b"]}, name="p"
    )
    with made:
        yield made


def refusal(gate: Gateway, sql: str) -> QueryError | None:
    found = gate.explain(sql).refused
    assert found is None or isinstance(found, QueryError)
    return found


LONG = {
    "one key": "SELECT age::text || '{}', COUNT(*) FROM p GROUP BY 1",
    "two keys of their own": "SELECT age, x || '{}', COUNT(*) FROM p GROUP BY 1, 2",
    "a text that is listed by its form": "SELECT age, CASE WHEN x = 'a' THEN '{}' ELSE 'c' END, COUNT(*) FROM p GROUP BY 1, 2",
    "rollup": "SELECT x || '{}', age, COUNT(*) FROM p GROUP BY ROLLUP (1, 2)",
}


@pytest.mark.parametrize("kind", LONG)
def test_keys_of_groups_are_bounded_in_bytes(kind: str, gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only in number; and they are refused before they are written out."""
    monkeypatch.setattr(group_keys, "MOST_BYTES", 60_000)
    assert refusal(gate, LONG[kind].format("k" * 100)) is None
    made: list[int] = []
    whole = bundles.as_json
    monkeypatch.setattr(bundles, "as_json", lambda value: made.append(len(text := whole(value))) or text)
    refused = refusal(gate, LONG[kind].format("k" * 2_000))
    assert refused is not None
    assert refused.sqlstate == "54000"
    assert "keys of this query's groups" in refused.message
    assert sum(made) <= 60_000 * bundles.WRITTEN


def test_no_more_keys_are_fetched_than_are_held(gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_keys, "MOST_BYTES", 60_000)
    monkeypatch.setattr(fetching, "_STEP", 10_000)
    monkeypatch.setattr(fetching, "_FIRST", 2)
    counted: list[int] = []
    size_of = fetching.size_of
    monkeypatch.setattr(fetching, "size_of", lambda value: counted.append(size_of(value)) or size_of(value))
    assert refusal(gate, LONG["one key"].format("k" * 5_000)) is not None
    assert 60_000 < sum(counted) <= 60_000 + 2 * 10_000 + 5_100, "not the half million that the hundred keys have"


def test_keys_are_written_in_pieces_with_steps(gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long they are: a step for each hundred groups, and for each slice of a text that is hashed."""
    steps: dict[str, int] = {"bundles": 0, "normal_form": 0}
    pieces: list[int] = []
    for module, name in ((bundles, "bundles"), (normal_form, "normal_form")):
        monkeypatch.setattr(module, "step", lambda name=name: steps.__setitem__(name, steps[name] + 1))
    whole, written = bundles.as_json, normal_form._written
    monkeypatch.setattr(bundles, "as_json", lambda value: pieces.append(len(value)) or whole(value))
    monkeypatch.setattr(normal_form, "_written", lambda value: pieces.append(len(value)) or written(value))
    found = []
    for most in (9, 99):
        steps.update(bundles=0, normal_form=0)
        assert (
            refusal(
                gate,
                f"SELECT age, age % 50, x || '{'y' * 1_000}', COUNT(*) FROM p WHERE age <= {most} GROUP BY 1, 2, 3",
            )
            is None
        )
        found.append(dict(steps))
    text = 100 * 2 * 1_000
    assert found[1]["bundles"] - found[0]["bundles"] >= 180 // bundles._PIECE
    assert found[1]["normal_form"] - found[0]["normal_form"] >= text * 8 // 10 // normal_form._PIECE
    assert max(pieces) <= normal_form._PIECE


def _some(chance: random.Random, deep: int = 3) -> Any:
    if deep and chance.random() < 0.5:
        return [_some(chance, deep - 1) for _ in range(chance.choice((0, 1, 3, 40)))]
    return chance.choice((None, True, 7, -3, "", 'a"b\\', "é\u2028\x00𝄞" * chance.choice((1, 50)), "x" * 99, 10**30))


@pytest.mark.parametrize("piece", [1, 7, 10_000])
def test_what_is_written_in_pieces_has_the_same_key(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(81)
    monkeypatch.setattr(normal_form, "_PIECE", piece)
    monkeypatch.setattr(bundles, "_PIECE", piece)
    for _ in range(60):
        parts = [_some(chance) for _ in range(chance.choice((1, 3, 9)))]
        assert key_of_long(*parts) == key_of(*parts)
        groups = tuple((str(_some(chance, 0)), i, None) for i in range(chance.choice((0, 1, 2, 15))))
        written = json.dumps([list(map(str, group)) for group in groups], ensure_ascii=False)
        assert bundles._words(groups) == written
