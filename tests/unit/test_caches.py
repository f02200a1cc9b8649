"""Caches are bounded in bytes: what was asked for free does not fill the memory, whatever it is made of."""

# ruff: noqa: E501  a query stands on one line
from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

import sfumato
from sfumato.gateway import Gateway, Query
from sfumato.recent import SHARE, Recent, bytes_held
from sfumato.server.pgwire import statement_kinds
from sfumato.sql.read.lexer import statements

PEOPLE = pd.DataFrame({"ssn": [f"p{i}" for i in range(20)], "age": [i % 20 for i in range(20)]})


@pytest.fixture
def gate() -> Iterator[Gateway]:
    with sfumato.protect(
        PEOPLE, unit="ssn", rows_per_unit=1, epsilon=10**9, bounds={"age": (0, 120)}, name="p"
    ) as made:
        yield made


def caches(gate: Gateway) -> list[Recent[Any]]:
    """Every cache of a gateway and its engine."""
    gc.collect()
    owners = (gate._planner, gate._memory, gate._engine, gate._engine._planning._run, gate._engine.known.look)  # type: ignore[attr-defined]
    return [one for owner in owners for one in vars(owner).values() if isinstance(one, Recent)]


LONG = {
    "long keys": lambda i: f"SELECT age::text || '{'a' * 9_000}{i}', COUNT(*) FROM p GROUP BY 1",
    "long texts": lambda i: f"SELECT COUNT(*) FROM p WHERE ssn = '{'b' * 40_000}{i}'",
    "lists": lambda i: f"SELECT COUNT(*) FROM p WHERE age IN ({', '.join(map(str, range(i, 2_000 + i)))})",
    "many names": lambda i: (
        f"SELECT {', '.join(f'COUNT(*) + {i} AS {chr(97 + j % 26) * 60}{j}' for j in range(150))} FROM p"
    ),
    "read often": lambda i: (
        f"WITH c AS (SELECT ssn, age FROM p WHERE age IN ({', '.join(map(str, range(i, 500 + i)))})) SELECT COUNT(*) FROM c "
        + " ".join(f"JOIN c AS c{j} USING (ssn)" for j in range(5))
    ),
}


@pytest.mark.parametrize("kind", LONG)
def test_caches_are_bounded_in_bytes(kind: str, gate: Gateway) -> None:
    """Any number of free previews hold what fits and no more, and one of them never more than its share."""
    room = 3 * 2**20
    for one in caches(gate):
        one._most = room
    for i in range(12):
        assert gate.explain(LONG[kind](i)).refused is None
    kept = caches(gate)
    assert len(kept) == 7, "plans, questions, answers, two of dry runs, two of public rows"
    for one in kept:
        assert one.held == sum(weight for _, weight in one._kept.values()) <= room
        assert all(weight <= room // SHARE for _, weight in one._kept.values())


@pytest.mark.parametrize("kind", LONG)
def test_what_an_entry_holds_is_what_it_weighs(kind: str, gate: Gateway) -> None:
    """The memory that is taken until a preview is forgotten is what the caches say, within a factor of two."""
    gate.explain(LONG[kind](0))
    gc.collect()
    tracemalloc.start()
    try:
        before = sum(one.held for one in caches(gate)), tracemalloc.get_traced_memory()[0]
        gate.explain(LONG[kind](1))
        after = sum(one.held for one in caches(gate)), tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    taken = after[1] - before[1]
    assert taken > 20_000
    assert after[0] - before[0] > taken / 2


def test_records_texts_and_functions_are_counted_and_everything_once() -> None:
    text = "x" * 10_000
    for held in ([text], (text, text), {text: text}, {1: [text]}, frozenset((text,)), lambda: text, Query(text)):
        assert 10_000 < bytes_held(held, 10**9) < 11_000
    assert 10_000 < bytes_held(ValueError(text), 10**9) < 11_000
    tokens = statements("SELECT " + "1+" * 1_000 + "1")
    assert bytes_held(tokens, 10**9) > 2_000 * 100, "tokens take more than their text"
    assert bytes_held([["x" * 1_000] for _ in range(1_000)], 5_000) < 20_000, "counted until it is known to be too much"
    assert bytes_held([f"{i}" * 1_000 for i in range(9)], 10**9) > 9_000


def test_what_was_read_is_bounded_in_bytes_and_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement_kinds, "_ROOM", 10_000)
    made: list[str] = []
    kept: list[Recent[Any]] = []
    monkeypatch.setattr(statement_kinds, "Recent", lambda most: kept.append(Recent(most)) or kept[0])
    read = statement_kinds.remembered(lambda text: made.append(text) or text * 10)
    for _ in range(2):
        assert [read("a"), read("b" * 300), read("c" * (statement_kinds.KEPT + 1))][:2] == ["a" * 10, "b" * 3_000]
    assert [text[0] for text in made] == ["a", "b", "c", "b", "c"], "what takes more than its share is read again"
    assert kept[0].held <= 10_000
