"""The work of planning grows with the size of a statement and no faster: counted in calls, never in seconds."""

# ruff: noqa: E501  a query stands on one line
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest

import sfumato
from sfumato.gateway import Gateway
from sfumato.sql import relations, tree
from sfumato.sql.release import impossible, joint_sensitivity, normal_form

PEOPLE = pd.DataFrame({"ssn": [f"p{i}" for i in range(20)], "age": [i % 20 for i in range(20)]})


@pytest.fixture
def gate() -> Iterator[Gateway]:
    with sfumato.protect(PEOPLE, unit="ssn", rows_per_unit=1, epsilon=10**9, bounds={"age": (0, 120)}, name="p") as made:
        yield made


def counting(patch: pytest.MonkeyPatch, *of: tuple[Any, str]) -> Counter[str]:
    """How often these functions are called from now on."""
    calls: Counter[str] = Counter()

    def counted(name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            calls[name] += 1
            return inner(*args, **named)

        return call

    for module, name in of:
        patch.setattr(module, name, counted(name, getattr(module, name)))
    return calls


def joined(joins: int, values: int) -> str:
    """A list below a sub-query that is joined with itself."""
    listed = ", ".join(map(str, range(values)))
    more = " ".join(f"JOIN c AS c{i} USING (ssn)" for i in range(1, joins))
    return f"WITH c AS (SELECT ssn, age FROM p WHERE age IN ({listed})) SELECT COUNT(*) FROM c AS c0 {more}"


WORK = (
    (impossible, "_plain"),
    (joint_sensitivity, "is_atom"),
    (joint_sensitivity, "_survey"),
    (normal_form, "_constant"),
    (normal_form, "_number_key"),
    (tree, "children"),
    (relations, "_renamed"),
)


def test_a_list_that_is_read_often_is_looked_at_once_for_each_time(gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the joins are twice the work, not four times: conditions and the columns that they read are kept."""
    calls = counting(monkeypatch, *WORK)
    found = []
    for joins in (6, 12):
        calls.clear()
        assert gate.explain(joined(joins, 150)).refused is None
        found.append(dict(calls))
    assert min(found[0].values()) > 0
    for name, often in found[1].items():
        assert often < 2.6 * found[0][name], name
    assert found[1]["_constant"] < 2 * 12 * 150, "not once for each order of equal tables"


def test_no_long_work_is_without_a_step(gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done for each value of a list takes steps itself."""
    since, most = Counter[str](), Counter[str]()

    def step() -> None:
        for name, often in since.items():
            most[name] = max(most[name], often)
        since.clear()

    def counted(name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            since[name] += 1
            return inner(*args, **named)

        return call

    for module in (impossible, joint_sensitivity, normal_form, relations, tree):
        monkeypatch.setattr(module, "step", step)
    for module, name in WORK:
        monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    values = 400
    assert gate.explain(joined(8, values)).refused is None
    step()
    assert set(most) == {name for _, name in WORK}
    for name, often in most.items():
        assert often <= 3 * values, name
