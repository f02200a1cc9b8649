"""COUNT(DISTINCT x) of few values: noise for as many as there can be, shown within these."""

# ruff: noqa: E501  expressions stand beside their numbers
from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from sfumato.algebra.aggregates.distinct import most_values
from sfumato.algebra.tree import columns_of
from sfumato.engines.duckdb.expressions import expression
from sfumato.gateway import protect
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.types import identifier
from tests import tableless
from tests.laws.asking import TODAY
from tests.laws.directed import policy

F = Fraction
COLUMNS = {
    "s": {"values": ["x", "y", "z"]},
    "c": {"values": ["X", "y"], "nulls": False},
    "b": {"type": "boolean"},
    "i": {"type": "integer", "min": -1, "max": 2},
    "o": {"type": "text", "max_length": 9},
}
ADMISSIBLE = {
    "s": ["'x'", "'y'", "'z'", "NULL"],
    "c": ["'X'", "'y'"],
    "b": ["TRUE", "FALSE", "NULL"],
    "i": ["-1", "0", "1", "2", "NULL"],
    "o": ["''", "'a'", "'bb'", "NULL"],
}
COUNTED = {
    "s": 3, "c": 2, "b": 2, "i": 4, "o": None,
    "UPPER(s)": 4, "UPPER(c)": 2, "COALESCE(s, 'q')": 4, "UPPER(COALESCE(s, 'x'))": 4, "s || c": 8, "i > 0": 2, "i * i": 5,
    "CASE WHEN o = 'a' THEN 'p' ELSE s END": 4, "CASE WHEN b THEN 1 ELSE 2 END": 2, "i + CASE WHEN b THEN 1 ELSE 0 END": 5,
    "NULLIF(s, 'x')": 3, "o || s": None, "LENGTH(o)": 10, "i IS NULL": 2, "CASE WHEN b IS NULL THEN 'n' WHEN b THEN UPPER(s) ELSE c END": 24,
    "(s, c)": 8, "ROW(s, b)": 12, "(i, b, s)": 60, "(o, s)": None, "(s, (c, b))": 24, "ROW(b)": 3,
}  # fmt: skip
"""What is claimed for each expression; the most that rows can give is no more."""


@pytest.mark.parametrize("text", COUNTED)
def test_no_rows_have_more_different_values(text: str) -> None:
    """All admissible values of all columns, one row for each: the engine finds no more than is claimed."""
    question = bind(parse(f"SELECT COUNT(DISTINCT {text}) FROM t"), policy(COLUMNS, 9), TODAY, tableless.tableless())
    arg = question.releases[0].aggregates[0][1].arg
    assert arg is not None
    claimed = most_values(arg)
    assert claimed == COUNTED[text]
    columns = list(columns_of(arg))
    listed = [ADMISSIBLE[name.split(".", 1)[1]] for name in columns]
    rows = ", ".join(f"({', '.join(values)})" for values in product(*listed))
    names = ", ".join(map(identifier, columns))
    ((found,),) = tableless.run(f"SELECT COUNT(DISTINCT {expression(arg)}) FROM (VALUES {rows}) AS t({names})")
    assert claimed is None or found <= claimed


def test_few_values_get_little_noise_and_are_shown_within_them() -> None:
    """Three values though each person may have nine: scale three; no answer and no interval is beyond 0 and 3."""
    pandas = pytest.importorskip("pandas")
    people = pandas.DataFrame({"id": [i // 3 for i in range(90)], "s": ["x", "y", "z"] * 30, "k": range(90)})
    more = {"unit": "id", "rows_per_unit": 9, "values": {"s": ["x", "y", "z"]}, "bounds": {"k": (0, 99)}}
    gate = protect(people, epsilon=1000, **more)
    assert gate.explain("SELECT COUNT(DISTINCT s) FROM data", epsilon=1).columns[0].scale == 3
    assert gate.explain("SELECT COUNT(DISTINCT k) FROM data", epsilon=1).columns[0].scale == 9
    seen = set()
    for i in range(60):
        answer = gate.sql("SELECT COUNT(DISTINCT s) FROM data", epsilon=F(1, 10) + F(i, 10**6))
        ((low, high),) = answer.intervals()[0]
        assert 0 <= low <= answer.rows[0][0] <= high <= 3
        seen.add(answer.rows[0][0])
    assert seen == {0, 1, 2, 3} or len(seen) > 1


def test_different_values_are_added_up_with_noise_for_the_largest() -> None:
    """K values of at most 50 in size: scale K times 50, and with a huge epsilon the numbers of plain SQL."""
    pandas = pytest.importorskip("pandas")
    people = pandas.DataFrame(
        {"id": [i // 3 for i in range(90)], "k": [i % 31 - 10 for i in range(90)], "g": ["a", "b", "b"] * 30}
    )
    more = {"unit": "id", "rows_per_unit": 4, "values": {"g": ["a", "b"]}, "bounds": {"k": (-50, 40)}}
    gate = protect(people, epsilon=10**15, **more)
    assert gate.explain("SELECT SUM(DISTINCT k) FROM data", epsilon=1).columns[0].scale == 4 * 50
    k = sorted(set(people["k"]))
    mean = F(sum(k), len(k))
    spread = sum((value - mean) ** 2 for value in k)
    shown = "SUM(DISTINCT k), AVG(DISTINCT k), VAR_POP(DISTINCT k), VARIANCE(DISTINCT k), STDDEV(DISTINCT k)"
    ((total, average, whole, sample, root),) = gate.sql(f"SELECT {shown} FROM data", epsilon=10**12).rows
    assert total == sum(k)
    assert float(average) == pytest.approx(float(mean))
    assert float(whole) == pytest.approx(float(spread / len(k)))
    assert float(sample) == pytest.approx(float(spread / (len(k) - 1)))
    assert float(root) ** 2 == pytest.approx(float(sample))
    by_group = {g: sum(set(part["k"])) for g, part in people.groupby("g")}
    found = gate.sql("SELECT g, SUM(DISTINCT k) FROM data GROUP BY g", epsilon=10**12).rows
    assert {g: number for g, number in found if g is not None} == by_group


def test_the_mean_of_different_values_has_an_interval() -> None:
    """It is a ratio of two released numbers."""
    pandas = pytest.importorskip("pandas")
    people = pandas.DataFrame({"id": range(60), "k": [i % 30 for i in range(60)]})
    gate = protect(people, unit="id", rows_per_unit=1, epsilon=10**6, bounds={"k": (0, 40)})
    answer = gate.sql("SELECT AVG(DISTINCT k) FROM data", epsilon=1000)
    ((low, high),) = answer.intervals()[0]
    assert low <= 14.5 <= high
