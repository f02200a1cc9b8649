"""Engines give what a job means: DuckDB's plain and physical plans against the reference interpreter, on hostile rows."""

# ruff: noqa: E501  a fault stands on one line

from __future__ import annotations

import random
import sys
from collections import Counter
from typing import Any

import pytest

from sfumato.engines.duckdb import slices
from tests.laws import twins
from tests.laws.mutants import planted
from tests.laws.neighbours import Broken
from tests.laws.shapes import askings, meetings
from tests.laws.test_twins import world
from tests.laws.twins import Asked, Here


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the reference was asked, and what it did not cover."""
    found: Counter[str] = Counter()
    monkeypatch.setattr(Here, "reference", found)
    monkeypatch.setattr(slices, "_LARGE", 0)
    monkeypatch.setattr("sfumato.owner.preparation.secrets.token_hex", lambda n: "5a" * n)
    return found


def compared(queries: list[Asked], found: Counter[str], **how: Any) -> None:
    """All of these queries give what they mean; what is not covered is little, and said."""
    before = found["compared"]
    list(twins.check(world(), queries, steps=(1,), **how))
    sys.stdout.write(f"{dict(found)}\n")
    assert found["compared"] - before > 2 * len(queries)
    assert sum(found.values()) - found["compared"] <= found["compared"] / 50


def test_engines_give_what_a_job_means(asked: Counter[str]) -> None:
    """A sample of all shapes."""
    compared(
        [query for query in [*list(meetings(3))[::41], *list(askings(3))[::17]] if "OVER" not in query.text], asked
    )


@pytest.mark.slow
def test_engines_give_what_every_shape_means(asked: Counter[str]) -> None:
    """All shapes, with prepared rows and without; then random tables."""
    shapes = [*meetings(5), *askings(5)]
    compared(shapes, asked)
    compared(shapes[::3], asked, prepared=True)
    for seed in range(40):
        r = random.Random(seed)
        list(twins.check(twins.twins(r), r.sample(shapes, 30), prepared=seed % 3 == 0))


FAULTS = {
    "a weight is rounded up": ("SELECT COUNT(*) FROM v", ("engines.duckdb.jobs", "* {most}) // {counted} END", "* {most}) // {counted} + 1 END"), ("engines.duckdb.row_counts", "{FINE * most} // CAST({rows} AS BIGINT) END", "{FINE * most} // CAST({rows} AS BIGINT) + 1 END")),
    "a mean is rounded to the even step": ("SELECT SUM(a) FROM (SELECT u, AVG(i) AS a FROM v WHERE s = 'a' OR s IS NULL GROUP BY u) AS q", ("engines.duckdb.per_unit", "AND {whole} % 2 = 0", "AND {whole} % 2 = 1")),
    "whole quotients are rounded": ("SELECT SUM(i / 3) FROM v", ("engines.duckdb.expressions", '"({expression(a)} // NULLIF({expression(b)}, 0))"', '"CAST(ROUND({expression(a)} / NULLIF({expression(b)}, 0)) AS BIGINT)"')),
    "NOT IN forgets NULL": ("SELECT COUNT(*) FROM v WHERE s NOT IN (SELECT n FROM y)", ("engines.duckdb.relations", 'mark = f"({operand} IN (SELECT {value} {rows}))"', 'mark = f"COALESCE({operand} IN (SELECT {value} {rows}), FALSE)"')),
    "a filter that is unknown passes": ("SELECT SUM(i) FILTER (WHERE s = 'a') FROM v", ("aggregates.base", 'call("case", (where, part, ZERO))', 'call("case", (call("coalesce", (where, Constant(True, Facts("boolean")))), part, ZERO))')),
    "ranks do not count ties": ("SELECT SUM(k) FROM (SELECT u, RANK() OVER (PARTITION BY u ORDER BY s) AS k FROM v) AS q", ("engines.duckdb.per_unit", 'call = f"{over.name}(', 'call = f"{over.name.replace(\'rank\', \'dense_rank\')}(')),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_a_compiler_are_caught(fault: str, asked: Counter[str]) -> None:
    """A fault that all plans of the engine share is seen by the reference alone."""
    text, *faults = FAULTS[fault]
    rows = {
        2: {"p": [], "v": [twins.row(2, s=s, i=i) for s, i in (("a", 5), ("a", 2), (None, 4), ("b", 1), ("b", None))]}
    }
    tables = twins.Twins(twins.policy("add-remove", 3), rows, {}, [{"g": 4, "n": "b"}, {"g": 2, "n": None}])
    assert list(twins.check(tables, [Asked(text)]))
    assert asked["compared"]
    with planted(*faults) as faulty, pytest.raises(Broken, match="but the job means"):
        list(twins.check(tables, [Asked(text)], faulty))
