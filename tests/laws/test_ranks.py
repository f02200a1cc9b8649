"""What a choice by rank is worth: its error in ranks against its exact law, and where it says that it cannot tell."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path

import pytest

import sfumato
from sfumato.cli.clinic import write_clinic
from sfumato.gateway.answer import rank_start
from sfumato.mechanisms import MostFrequent, OrderStatistic
from sfumato.types import Adjacency

F = Fraction


@pytest.mark.parametrize("confidence", [F(1, 2), F(95, 100)])
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_ranks_are_off_by_no_more_than_is_said(confidence: Fraction, adjacency: Adjacency) -> None:
    """Over many heaps of rows, the chance of a larger error, by the weights of the exponential law, is as said."""
    chance = random.Random(7)
    near = 0.0
    for _ in range(60):
        high = chance.choice((3, 9, 40))
        places = sorted(chance.sample(range(high + 1), chance.randint(1, min(high, 6))))
        weights = [chance.choice((1, 2, 30, 90)) for _ in places]
        norm, epsilon = chance.choice((1, 3)), chance.choice((F(1, 2), F(2)))
        q = chance.choice((None, F(0), F(1, 4), F(1, 2), F(1)))
        ends = ("low", "high")
        laws = [OrderStatistic(q, norm, epsilon, adjacency, end) for end in (ends if q is None else ends[:1])]
        for law in (*laws, MostFrequent(norm, epsilon, adjacency)):
            if isinstance(law, OrderStatistic) and q is None and sum(weights) < law.reach(high + 1):
                continue  # nothing is said of so few rows
            error = law.rank_error(high + 1, confidence)
            off = {v: rank_off(law, dict(zip(places, weights, strict=True)), v, high) for v in range(high + 1)}
            rate = float(epsilon) / float(law.norm)  # the guarantee of a score, by hand
            if isinstance(law, OrderStatistic):
                rate = float(epsilon) / (2 * float(law.sensitivity))
            elif adjacency is Adjacency.REPLACE:
                rate /= 2
            parts = {v: math.exp(-rate * float(o)) for v, o in off.items()}
            missed = sum(p for v, p in parts.items() if off[v] > error) / sum(parts.values())
            assert missed <= float(1 - confidence)
            near = max(near, missed)
    assert near > 0  # the bound is not so wide that nothing is ever beyond it


def rank_off(law: OrderStatistic | MostFrequent, rows: dict[int, int], value: int, high: int) -> Fraction:
    """By how many ranks a value is off, from the definition: below, at and above it."""
    below = sum(w for place, w in rows.items() if place < value)
    at, whole = rows.get(value, 0), sum(rows.values())
    if isinstance(law, MostFrequent):
        return F(max(rows.values()) - at)
    if law.fraction is not None:
        return max(F(0), below - law.fraction * whole, law.fraction * whole - below - at)
    reach = law.reach(high + 1)
    before = below if law.from_end == "low" else whole - below - at
    return F(max(0, before - reach + 1, reach - before - at))


def test_an_answer_says_what_it_is_worth(tmp_path: Path) -> None:
    write_clinic(tmp_path)
    with sfumato.open(tmp_path / "sfumato.toml") as clinic:
        seen = clinic.explain("SELECT MAX(salary) FROM patient", epsilon="0.1")
        assert "about 429 rows lie at or beyond this value (± 305 at 95 %)" in seen.columns[0].note
        few = clinic.sql(
            "SELECT disease, MAX(salary) AS top, COUNT(*) AS n FROM patient GROUP BY disease", epsilon="0.1"
        )
        assert few.rows[-1][1] is None  # nobody is in it
        assert [top is None for _, top, _ in few.rows] == [nothing for _, nothing, _ in few.untold()]
        assert any(column == "top" and "at or beyond" in note for column, note in few.notes)
        assert any("no value can be given" in note for _, note in few.notes)
        shown = clinic.sql("SELECT disease, MAX(salary) AS top, COUNT(*) AS n FROM patient GROUP BY disease", epsilon=2)
        assert all(top is not None for _, top, n in shown.rows if n > 200)
        held = clinic.sql("SELECT COALESCE(MAX(age), -1), COUNT(*) FROM patient WHERE salary > 199999", epsilon="0.1")
        assert held.rows[0][0] == -1
        mode = clinic.sql("SELECT MODE() WITHIN GROUP (ORDER BY age), COUNT(*) FROM patient WHERE age = 7", "0.01")
        assert mode.rows[0][0] is None  # it has no interval, but a count beside it
        assert any("the upper end of its count" in note for _, note in mode.notes)


def test_what_cannot_be_told_has_the_whole_range(tmp_path: Path) -> None:
    """None means exact: a mean, a variance or a correlation of nobody knows how many is somewhere in its range."""
    write_clinic(tmp_path)
    with sfumato.open(tmp_path / "sfumato.toml") as clinic:
        few = "FROM patient WHERE age = 119 AND salary > 199990"
        answer = clinic.sql(f"SELECT AVG(age), VAR_POP(age), STDDEV_SAMP(age), CORR(age, salary) {few}", epsilon="0.05")
        assert answer.untold() == [[True] * 4]
        ranges = [(0, 120), (0, 3600), (0, 120), (-1, 1)]
        assert [tuple(map(int, ends)) for ends in answer.intervals()[0] if ends is not None] == ranges


def test_the_preview_says_from_which_epsilon_on_a_choice_says_something(tmp_path: Path) -> None:
    """Asked with twice as much and with an eighth of it, of a group of about that size."""
    write_clinic(tmp_path)
    with sfumato.open(tmp_path / "sfumato.toml") as clinic:
        sql = "SELECT MEDIAN(salary) AS m FROM patient WHERE age < 75 AND disease = 'Flu'"
        count = clinic.sql(sql.replace("MEDIAN(salary)", "COUNT(*)"), epsilon=1).rows[0][0]
        plan = clinic.sql(sql, epsilon="0.01").plan
        assert plan is not None
        start = rank_start(plan, 0, count)
        told = {
            factor: sum(
                clinic.sql(sql.replace("75", str(age)), epsilon=str(float(start * factor))).rows[0][0] is not None
                for age in range(70, 76)
            )
            for factor in (F(1, 8), F(2))
        }
        assert told[F(1, 8)] <= 2
        assert told[F(2)] >= 4
        note = clinic.explain(sql, epsilon="0.01").columns[0].note
        assert "informative from about epsilon" in note
        assert "for 1,000 rows" in note


def test_what_may_be_anything_is_not_told_as_a_number(tmp_path: Path) -> None:
    """Where a divisor may be zero there is no finite range, and None alone would mean exact."""
    write_clinic(tmp_path)
    with sfumato.open(tmp_path / "sfumato.toml") as clinic:
        few = "FROM patient WHERE age = 119 AND salary > 199990"
        items = (
            "REGR_SLOPE(age, salary), COVAR_POP(age, salary), COVAR_SAMP(age, salary), AVG(age) - AVG(salary), "
            "2 * AVG(age), 100.0 * COUNT(*) FILTER (WHERE age > 50) / COUNT(*), COUNT(*), SUM(age)"
        )
        answer = clinic.sql(f"SELECT {items} {few}", epsilon="0.01")
        assert answer.untold() == [[True] * 6 + [False] * 2]
        assert answer.intervals()[0][1] == (-6_000_000, 6_000_000)
        assert answer.intervals()[0][2] == (-12_000_000, 12_000_000)
        assert answer.to_dict()["unknown"] == [[0, i] for i in range(6)]
        assert "unknown: the noise is too large" in repr(answer)
        assert "unknown: the noise is too large" in answer._repr_html_()
        many = clinic.sql(f"SELECT {items} FROM patient", epsilon=1)
        assert not any(many.untold()[0][1:])
        assert "unknown" not in repr(clinic.sql("SELECT COUNT(*), AVG(age) FROM patient", epsilon=1))
