"""A new aggregate and a new function are a record each, and nothing else knows of them.

Both are defined in this file alone; they are parsed, priced, checked, answered with an interval, mean the same in the
engine as in the reference interpreter, and stand in the documentation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from tools import make_reference

import sfumato
from sfumato.algebra.aggregates import AGGREGATES, AggregateKind, over_public
from sfumato.algebra.aggregates.base import Bundle, Formula, bounded_number, filtered, first, first_draw, from_zero
from sfumato.algebra.functions import FUNCTIONS, Mismatch, ScalarFunction, call
from sfumato.algebra.functions.interval_ends import ENDS
from sfumato.algebra.tree import NUMBERS, Aggregate, Call, Facts, Node
from sfumato.engines.duckdb.expressions import expression as in_duckdb
from sfumato.engines.postgres.expressions import expression as in_postgres
from sfumato.engines.reference_functions import strict
from sfumato.errors import PlanError, QueryError
from sfumato.gateway import Gateway
from tests.laws.twins import Asked, Here, Twins, check, policy, row


# the function: three times a number
def _thrice_facts(args: tuple[Node, ...], _: str) -> Facts:
    facts = args[0].facts
    if facts.kind not in NUMBERS or not facts.exact:
        raise Mismatch("thrice needs an exact number")
    low, high = (None if end is None else 3 * end for end in (facts.low, facts.high))
    return replace(facts, low=low, high=high)


def _in_duckdb(node: Call) -> str:
    return f"(3 * {in_duckdb(node.args[0])})"


def _in_postgres(node: Call) -> str:
    return f"(3 * {in_postgres(node.args[0])})"


THRICE = ScalarFunction(
    "thrice",
    _thrice_facts,
    "thrice(x)",
    "three times a number",
    by_name=True,
    meaning=strict(lambda _, x: 3 * x),
    interval=lambda _, args: (3 * args[0][0], 3 * args[0][1]),
    spellings={"duckdb": _in_duckdb, "postgres": _in_postgres},
)


# the aggregate: the sum of squares
def _bind(args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
    number = bounded_number(args[0] if args else None, "SUM_OF_SQUARES", position)
    square = call("*", (number, number))
    return Aggregate("sum_of_squares", number, where, replace(square.facts, low=None, high=None), position)


def _bundle(aggregate: Aggregate) -> Bundle:
    assert aggregate.arg is not None
    square = call("*", (aggregate.arg, aggregate.arg))
    zero = call("-", (square, square))
    part = call("coalesce", (square, zero)) if square.facts.nullable else square
    return Bundle((filtered(part, aggregate.where),), square.facts.largest)


SUM_OF_SQUARES = AggregateKind(
    "sum_of_squares",
    _bind,
    _bundle,
    Formula("sum_of_squares", first, first_draw, lambda _, names: f"the sum of squares of {names}", plain=True),
    range=from_zero,
    never_null=True,
    usage="SUM_OF_SQUARES(x)",
    words="the sum of squares",
    by_name=True,
    over_public=over_public.summed,
)
PEOPLE = 4_000
CURVES_OF_DOUBLES = ("ln", "log10", "log", "exp", "sqrt", "cbrt", "power")


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FUNCTIONS, THRICE.name, THRICE)
    monkeypatch.setitem(AGGREGATES, SUM_OF_SQUARES.name, SUM_OF_SQUARES)


@pytest.fixture
def gate() -> Iterator[Gateway]:
    rows = range(PEOPLE)
    frame = pd.DataFrame({"who": rows, "x": [n % 11 for n in rows], "g": [n % 2 for n in rows]})
    with pytest.warns(UserWarning, match="ledger"):
        opened = sfumato.protect(
            frame, unit="who", rows_per_unit=1, epsilon=1000, bounds={"x": (0, 10)}, values={"g": [0, 1]}, name="t"
        )
    with opened:
        yield opened


def _squares(factor: int, group: int) -> int:
    return sum((factor * (n % 11)) ** 2 for n in range(PEOPLE) if n % 2 == group)


def test_without_their_records_they_are_refused(gate: Gateway) -> None:
    for text in ("SELECT SUM_OF_SQUARES(x) FROM t", "SELECT SUM(thrice(x)) FROM t"):
        with pytest.raises(QueryError, match="not supported"):
            gate.sql(text)


@pytest.mark.usefixtures("known")
def test_they_are_parsed_priced_and_answered_with_an_interval(gate: Gateway) -> None:
    text = "SELECT g, SUM_OF_SQUARES(thrice(x)), thrice(COUNT(*)) AS n FROM t GROUP BY g ORDER BY g"
    preview = gate.explain(text, epsilon=20)
    assert preview.cost.epsilon == 20
    assert not preview.refused
    answer = gate.sql(text, epsilon=20)
    assert list(answer.columns) == ["g", "sum_of_squares", "n"]
    ends: Any = answer.intervals()
    for group, (shown, squares, count) in enumerate(answer.rows[:2]):  # the third group is NULL
        assert shown == group
        low, high = ends[group][1]
        assert low <= _squares(3, group) <= high
        assert low <= squares <= high
        assert high - low < _squares(3, group)
        assert ends[group][2][0] <= 3 * PEOPLE // 2 <= ends[group][2][1]
        assert count % 3 == 0
    again = gate.sql(text, epsilon=20)
    assert again.cost.epsilon == 0
    assert again.rows == answer.rows


@pytest.mark.usefixtures("known")
def test_bad_arguments_are_refused_in_the_words_of_the_record(gate: Gateway) -> None:
    for text, words in (
        ("SELECT SUM(thrice('a')) FROM t", "thrice needs an exact number"),
        ("SELECT SUM(thrice()) FROM t", "does not take 0 arguments"),
        ("SELECT SUM_OF_SQUARES(who) FROM t", "identifier of a person"),
        ("SELECT SUM(SUM_OF_SQUARES(x)) FROM t", "nested"),
        ("SELECT x, SUM_OF_SQUARES(x) FROM t GROUP BY g", "GROUP BY"),
        ("SELECT COUNT(*) FROM t WHERE SUM_OF_SQUARES(x) > 3", "not allowed"),
        ("SELECT MAX(n) FROM (SELECT who, SUM_OF_SQUARES(x) AS n FROM t GROUP BY who) AS p", "person's rows"),
    ):
        with pytest.raises(QueryError, match=words):
            gate.sql(text)
    assert gate.budget().spent.epsilon == 0


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_engine_and_reference_agree_and_neighbours_differ_by_what_is_claimed(
    adjacency: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [
        Asked("SELECT SUM_OF_SQUARES(thrice(i)) FROM v"),
        Asked("SELECT s, SUM_OF_SQUARES(m) FILTER (WHERE thrice(i) > 4), COUNT(*) FROM v GROUP BY s"),
        Asked("SELECT SUM_OF_SQUARES(m), SUM(thrice(m)) FROM p", "gaussian"),
    ]
    people = {
        0: {"p": [row(0, i=4, m=2.0, s="a")], "v": [row(0, i=4, m=2.0, s="a")] * 5},
        1: {"p": [row(1, i=9, m=-1.0)], "v": [row(1, i=None, m=None), row(1, i=2, m=-1.0, s="b")]},
    }
    others = {u: {"p": [row(u, i=0, m=0.25)], "v": [row(u, i=1, m=0.3, s="a")]} for u in people}
    compared: Counter[str] = Counter()
    monkeypatch.setattr(Here, "reference", compared)
    largest = dict(check(Twins(policy(adjacency, 2), people, others, []), asked))
    assert len(largest) == len(asked)
    assert set(compared) == {"compared"}
    assert max(largest.values()) > (Fraction(99, 100) if adjacency == "add-remove" else Fraction(49, 100))


@pytest.mark.usefixtures("known")
def test_a_record_that_claims_too_little_is_refused(monkeypatch: pytest.MonkeyPatch, gate: Gateway) -> None:
    """The facts of a function and the length of an aggregate are claims; what is derived from the job decides."""
    short = replace(SUM_OF_SQUARES, bundle=lambda aggregate: replace(_bundle(aggregate), length=Fraction(1)))
    monkeypatch.setitem(AGGREGATES, SUM_OF_SQUARES.name, short)
    with pytest.raises(PlanError):
        gate.sql("SELECT SUM_OF_SQUARES(x) FROM t", epsilon=1)
    assert gate.budget().spent.epsilon == 0


@pytest.mark.usefixtures("known")
def test_an_engine_without_a_spelling_refuses_before_anything_is_charged(
    monkeypatch: pytest.MonkeyPatch, gate: Gateway
) -> None:
    monkeypatch.setitem(FUNCTIONS, THRICE.name, replace(THRICE, spellings={"postgres": _in_postgres}))
    with pytest.raises(QueryError, match="THRICE is not supported over DuckDB"):
        gate.sql("SELECT SUM(thrice(x)) FROM t", epsilon=1)
    assert gate.budget().spent.epsilon == 0


@pytest.mark.usefixtures("known")
def test_they_are_documented() -> None:
    page = make_reference.sql_page()
    assert "| `SUM_OF_SQUARES(x)` | the sum of squares |  | yes |" in page
    assert "| `thrice(x)` | three times a number | yes | yes |  |" in page


def test_every_function_of_the_table_has_all_of_its_parts() -> None:
    """Usage and words for people, a spelling in DuckDB; where the reference knows no meaning, this says so."""
    assert all(f.usage and f.words for f in FUNCTIONS.values())
    assert all(kind.usage and kind.words for kind in AGGREGATES.values())
    assert {name for name, f in FUNCTIONS.items() if "duckdb" not in f.spellings} == set()
    without = {name for name, f in FUNCTIONS.items() if f.meaning is None}
    assert without == {*ENDS, *CURVES_OF_DOUBLES, "width_bucket", "like", "ilike", "regexp_like"}
