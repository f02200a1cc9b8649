"""Intervals of many cells at once are those of each cell by itself, or wider by next to nothing; never narrower."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato.algebra.exact_numbers import ExactNumbers
from sfumato.algebra.noise_sums import ONE, Draw, Linear, OneCell, weighed
from sfumato.algebra.noise_widths import NoiseTerm, widths
from sfumato.gateway.interval_sources import DrawnNumbers
from sfumato.intervals import ratio_ends
from sfumato.intervals.cell_intervals import ends, told
from sfumato.intervals.column_intervals import intervals_of_column
from sfumato.intervals.sum_intervals import ColumnEnds, RatioQuestion, answered
from tests.plain_intervals import plain_interval, plain_width

F = Fraction
SURE = F(19, 20)
CELLS = 10
LAW = NoiseTerm(F(40), F(1))
OTHER = NoiseTerm(F(7, 3), F(1, 4))
BELL = NoiseTerm(F(900), F(1), gaussian=True)
FAINT = NoiseTerm(F(1, 50), F(1))
TWICE = NoiseTerm(F(5), F(1), draws=2)

MEAN = (weighed([F(1), F(0)], [(0, 0, 0, 0), (0, 0, 1, 0)]), weighed([F(1, 120)] * 2, [(0, 0, 0, 0), (0, 0, 1, 0)]))
SHARE = (weighed([F(100)], [(0, 0, 0, 0)]), weighed([F(1)], [(0, 0, 1, 0)]))
SHIFTED = (Linear(SHARE[0].terms, F(7, 3)), Linear(SHARE[1].terms, F(-5)))
THREE = (
    weighed([F(1), F(-2, 7), F(1, 9)], [(0, 0, part, 0) for part in range(3)]),
    weighed([F(1, 120)] * 3, [(0, 0, part, 0) for part in range(3)]),
)
SUM = (THREE[0], ONE)
INVERSE = (Linear(frozenset(), F(1000)), SHARE[1])
FORMS = {"mean": MEAN, "share": SHARE, "shifted": SHIFTED, "three": THREE, "sum": SUM, "inverse": INVERSE}
LAWS = {
    "one law": [LAW] * 3,
    "two laws": [LAW, OTHER, OTHER],
    "bell": [BELL] * 3,
    "both": [BELL, LAW, LAW],
    "faint": [FAINT] * 3,
    "twice": [LAW, TWICE, LAW],
}


@dataclass
class Many:
    """Cells of one law: for each part a number in each cell."""

    terms: Sequence[NoiseTerm]
    numbers: list[list[int]]

    def drawn(self, key: Draw) -> tuple[ExactNumbers, NoiseTerm]:
        term = self.terms[key[2]]
        return ExactNumbers(self.numbers[key[2]], term.step), term

    def runs(self, _: int, __: int) -> bool:
        return False

    def noise(self, pool: Any) -> NoiseTerm:
        raise AssertionError(pool)


@dataclass
class One:
    """One of these cells."""

    many: Many
    cell: int

    def drawn(self, key: Draw) -> tuple[Fraction, NoiseTerm]:
        numbers, term = self.many.drawn(key)
        return numbers[self.cell], term

    runs, noise = Many.runs, Many.noise


def numbers(word: str, count: int) -> list[int]:
    """Numbers of all sizes: about nothing, negative, usual, huge."""
    chance = random.Random(word)
    sizes = (0, 1, 30, 300, 5_000, 10**6, 10**12, 10**18, 10**30)
    return [chance.choice((1, 1, 1, -1)) * chance.randint(0, chance.choice(sizes)) for _ in range(count)]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("chernoff", [False, True])
def test_many_intervals_are_those_of_each_cell(form: str, law: str, chernoff: bool) -> None:
    many = Many(LAWS[law], [numbers(f"{form} {law} {part}", CELLS) for part in range(3)])
    top, bottom = FORMS[form]
    (found,) = answered([(RatioQuestion(top, bottom, SURE, chernoff), many)])
    assert found is not None
    for cell in range(CELLS):
        _compare(found, cell, plain_interval(top, bottom, One(many, cell), SURE, chernoff), many, chernoff)
    one_by_one = answered(
        [(RatioQuestion(top, bottom, SURE, chernoff), OneCell(One(many, cell))) for cell in range(CELLS)]
    )
    for cell, alone in enumerate(one_by_one):  # the same, asked as so many questions
        known, same = found.at(cell), None if alone is None else alone.at(0)
        assert (known is None) == (same is None)
        if known is not None and same is not None:
            assert abs(known[0] - same[0]) + abs(known[1] - same[1]) <= _slack(known, many, cell, chernoff)


def _slack(known: tuple[Fraction, Fraction], many: Many, cell: int, chernoff: bool) -> Fraction:
    """How much wider an interval may be: what a search of so many steps leaves, and what doubles lose."""
    size = max(1, *(abs(column[cell]) for column in many.numbers), *(abs(end) for end in known))
    return (
        (known[1] - known[0]) / (300 if chernoff else 5_000)
        + max(abs(known[0]), abs(known[1])) * F(1, 10**8)
        + F(size) / 10**12
    )


def _compare(found: ColumnEnds, cell: int, plain: Any, many: Many, chernoff: bool) -> None:
    known = found.at(cell)
    assert (known is None) == (plain is None), (cell, known, plain)
    if known is None:
        return
    low, high = plain
    assert known[0] <= low
    assert high <= known[1]
    assert (known[1] - known[0]) - (high - low) <= _slack(known, many, cell, chernoff)


def test_widths_of_many_cells_are_those_of_each() -> None:
    chance = random.Random("widths of many cells")
    for terms in LAWS.values():
        weights = np.array([[chance.choice((0.0, 1.0, chance.gauss(0, 3))) for _ in range(60)] for _ in terms])
        for chernoff in (False, True):
            found = widths(weights, terms, 0.05, chernoff)
            for cell in range(60):
                plain = plain_width(list(zip(weights[:, cell].tolist(), terms, strict=True)), 0.05, chernoff)
                assert plain * (1 - 1e-9) <= found[cell] <= plain * (1 + 1e-4)


def test_what_is_looked_up_is_never_narrower_than_what_is_computed() -> None:
    """The table of two terms, beside the same without a table; of four draws both have Chernoff's bound alone."""
    chance = random.Random("looked up")
    weights = np.array([[chance.gauss(0, 5) * 10 ** chance.randint(-6, 6) for _ in range(500)] for _ in range(2)])
    for terms in ([LAW, LAW], [LAW, OTHER], [LAW, TWICE], [TWICE, FAINT]):
        for chernoff in (False, True):
            looked_up = ratio_ends._width(terms, 0.01, chernoff)(weights)
            computed = widths(weights, terms, 0.01, chernoff)
            assert (looked_up >= computed * (1 - 1e-6)).all()
            assert (looked_up <= computed * (1 + 1e-3)).all()


QUESTIONS = (
    "SELECT k, COUNT(*), AVG(x), 2 * SUM(x) - 3 AS s, SUM(x) / COUNT(*) AS i FROM data GROUP BY k",
    "SELECT k, c, COUNT(*) AS n, AVG(x) AS m, GROUPING(c) AS g FROM data GROUP BY ROLLUP (k, c)",
    "SELECT k, n FROM (SELECT k, COUNT(*) n FROM data GROUP BY k) a UNION ALL SELECT c, AVG(x) FROM data GROUP BY c",
    "WITH t AS (SELECT k, COUNT(*) n FROM data GROUP BY k) SELECT a.n - b.n, a.n * b.n, 1.0 * a.n / b.n FROM t a, t b",
    "WITH t AS (SELECT k, COUNT(*) n FROM data GROUP BY ROLLUP (k)) SELECT a.n - b.n, 2 * a.n FROM t a, t b",
    "SELECT k, ROUND(AVG(x), 1), k * AVG(x), CASE WHEN k > 2 THEN COUNT(*) ELSE -COUNT(*) END FROM data GROUP BY k",
    "SELECT k, VAR_POP(x), STDDEV_SAMP(x), LAG(COUNT(*)) OVER (ORDER BY k) FROM data GROUP BY k",
    "SELECT k, SUM(COUNT(*)) OVER (ORDER BY k), COUNT(*) / SUM(COUNT(*)) OVER () FROM data GROUP BY k",
)


@pytest.mark.parametrize("sql", QUESTIONS)
@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
def test_intervals_of_a_column_are_those_of_its_rows(sql: str, noise: str) -> None:
    chance = random.Random("intervals of a column")
    rows = [{"u": u, "k": chance.randrange(5), "c": chance.randrange(2), "x": chance.randrange(50)} for u in range(400)]
    with pytest.warns(UserWarning, match="no ledger file"):
        gate = sfumato.protect(
            pd.DataFrame(rows), unit="u", rows_per_unit=1, epsilon=10, delta=1e-6, composition="best",
            bounds={"k": (0, 4), "c": (0, 1), "x": (0, 49)},
        )  # fmt: skip
    answer = gate.sql(sql, epsilon=0.5, noise=noise)
    plan = answer.plan
    assert plan is not None
    found, slots = DrawnNumbers(plan, answer._draws), answer._slots(None)
    for of in plan.question.origins:
        if of is None:
            continue
        places = []
        for alike in intervals_of_column(of, slots, found, SURE):
            places += alike.places
            for number, place in enumerate(alike.places):
                one = ends(told(of, slots[place], found), found, SURE)
                known = None if alike.ends is None else alike.ends.at(number)
                assert (one is None) == (known is None)
                if one is not None and known is not None:
                    slack = (one[1] - one[0]) / 10**6 + F(1, 10**9)
                    assert abs(one[0] - known[0]) + abs(one[1] - known[1]) <= slack
        assert sorted(places) == list(range(len(slots)))
