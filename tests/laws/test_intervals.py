"""Intervals hold what they promise: over many draws of noise, the exact number is inside as often as was said.

Draws come from the stated law, exactly; a miss rate above the promised one by five standard errors fails.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from sfumato.mechanisms import Gaussian, Geometric
from sfumato.sql.aggregates.base import Term
from sfumato.sql.bundles import Source
from sfumato.sql.forms import Form, Linear, form_of, interval
from sfumato.sql.tree import DOUBLE, INTEGER, Aggregate, Call, Column, Constant, Facts, Node

F = Fraction
RUNS, SURE = 300, F(9, 10)
NUMBER = Facts(INTEGER, F(0), F(100), F(1))
X = Column("0.x", NUMBER)
COUNT = Facts(INTEGER, None, None, F(1), False)


def known(*aggregates: tuple[str, str]) -> Any:
    return {
        f"r.{i}": (0, Aggregate(name, X, None, Facts(DOUBLE)), Source(i if "of" not in formula else 0, formula))
        for i, (name, formula) in enumerate(aggregates)
    }


def released(i: int) -> Column:
    return Column(f"r.{i}", COUNT)


def number(value: int | Fraction) -> Constant:
    return Constant(value, Facts(INTEGER, F(value), F(value), F(1), False))


def call(name: str, *args: Node, kind: str = DOUBLE) -> Call:
    return Call(name, args, Facts(kind, grid=F(1) if kind == INTEGER else None))


ROWS = [3, 20, 20, 47, 50, 51, 60, 88, 100] * 12
N, S = F(len(ROWS)), F(sum(ROWS))
THIRDS = tuple(F(sum(part(x) for x in ROWS)) for part in
               (lambda x: (100 - x) ** 2, lambda x: 2 * x * (100 - x), lambda x: x * x))  # fmt: skip
VARIANCE = sum((x - S / N) ** 2 for x in ROWS) / N
CASES: dict[str, tuple[Any, Node, dict[tuple[int, int, int], Fraction], Fraction, Fraction]] = {
    "a count": (known(("count", "count")), released(0), {(0, 0, 0): N}, N, F(5)),
    "a sum of two": (
        known(("count", "count"), ("sum", "sum")),
        call("+", released(0), call("*", number(3), released(1))),
        {(0, 0, 0): N, (0, 1, 0): S},
        N + 3 * S,
        F(5),
    ),
    "a ratio": (
        known(("sum", "sum"), ("count", "count")),
        call("/", released(0), released(1)),
        {(0, 0, 0): S, (0, 1, 0): N},
        S / N,
        F(3),
    ),
    "a percentage": (
        known(("count", "count"), ("count", "count")),
        call("/", call("*", number(100), released(0)), released(1)),
        {(0, 0, 0): F(30), (0, 1, 0): N},
        100 * F(30) / N,
        F(3),
    ),
    "a mean of ends": (
        known(("avg", "avg of ends")),
        released(0),
        {(0, 0, 0): S, (0, 0, 1): 100 * N - S},
        S / N,
        F(100),
    ),
    "a sum of thirds": (
        known(("sum", "sum of thirds")),
        released(0),
        dict(zip([(0, 0, 0), (0, 0, 1), (0, 0, 2)], THIRDS, strict=True)),
        S,
        F(3000),
    ),
    "a variance": (
        known(("var_pop", "var_pop of thirds")),
        released(0),
        dict(zip([(0, 0, 0), (0, 0, 1), (0, 0, 2)], THIRDS, strict=True)),
        VARIANCE,
        F(3000),
    ),
    "a rounded quotient": (
        known(("sum", "sum"), ("count", "count")),
        call("/", released(0), released(1), kind=INTEGER),
        {(0, 0, 0): S, (0, 1, 0): N},
        F(int(S / N)),
        F(3),
    ),
}


def noise(gaussian: bool, scale: Fraction) -> tuple[Term, Callable[[int], Any]]:
    if gaussian:
        law = Gaussian(None, F(1, 2), squared=scale * scale)
        return Term(scale * scale, F(1), True), lambda count: law.release([0] * count)
    pure = Geometric(1, 1 / scale)
    return Term(scale, F(1)), lambda count: pure.release([0] * count)


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_intervals_hold_what_they_promise(name: str, gaussian: bool) -> None:
    laws, node, exact, truth, scale = CASES[name]
    form = form_of(node, laws)
    assert form is not None
    term, draw = noise(gaussian, scale)
    misses = told = 0
    for _ in range(RUNS):
        drawn = dict(zip(exact, draw(len(exact)), strict=True))
        ends = interval(form, lambda atom, drawn=drawn: (exact[atom] + int(drawn[atom]), term), SURE)
        if ends is None or ends[0] is None or ends[1] is None:
            continue
        told += 1
        misses += not ends[0] <= truth <= ends[1]
    assert told > RUNS * 0.9
    allowed = float(1 - SURE) * told
    assert misses <= allowed + 5 * (allowed * float(SURE)) ** 0.5


def test_intervals_are_not_generous() -> None:
    """One count: the exact law's smallest interval; a ratio's is not twice as wide as it must be."""
    laws, node, exact, truth, scale = CASES["a ratio"]
    form = form_of(node, laws)
    assert form is not None
    term, draw = noise(False, scale)
    misses = 0
    for _ in range(RUNS):
        drawn = dict(zip(exact, draw(len(exact)), strict=True))
        ends = interval(form, lambda atom, drawn=drawn: (exact[atom] + int(drawn[atom]), term), F(1, 2))
        assert ends is not None
        misses += not ends[0] <= truth <= ends[1]  # type: ignore[operator]
    assert misses > RUNS * 0.25


@pytest.mark.parametrize(
    "node",
    [
        call("*", released(0), released(1)),
        call("abs", released(0)),
        call("case", call(">", released(0), number(3)), released(0), number(0)),
        call("/", call("+", call("/", released(0), released(1)), released(0)), number(2)),
        Column("elsewhere", COUNT),
    ],
    ids=str,
)
def test_other_forms_have_no_interval(node: Node) -> None:
    assert form_of(node, known(("sum", "sum"), ("count", "count"))) is None


def test_a_ratio_whose_divisor_may_be_zero_has_none() -> None:
    atoms = {(0, 0, 0): F(10), (0, 1, 0): F(2)}
    form = Form(Linear((((0, 0, 0), F(1)),)), Linear((((0, 1, 0), F(1)),)))
    assert interval(form, lambda atom: (atoms[atom], Term(F(5), F(1))), SURE) is None
