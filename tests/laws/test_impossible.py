"""Filters that nobody can pass: what is called impossible against every row there is."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.algebra.relations import Filter
from sfumato.cli.clinic import write_clinic
from sfumato.engines.duckdb.expressions import expression
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release import impossible, joint_sensitivity
from sfumato.sql.release.impossible import nearest, nobody
from sfumato.sql.release.plan import plan
from sfumato.types import identifier
from tests import tableless
from tests.laws.test_longest_row import DOMAIN, POLICY, atoms, conditions, opaque

_MORE = st.sampled_from(["1 = 0", "2 > 1", "'a' = 'b'", "NULL = 1", "5 < n", "n = NULL", "k IN ('x', 'y', 'z', 'v')"])


def passing(where: str) -> tuple[bool, int]:
    """Whether the filter is called impossible, and how many rows of the whole domain pass it, by the engine."""
    question = bind(parse(f"SELECT COUNT(*) FROM p WHERE {where}"), POLICY, date(2024, 1, 1))
    below = question.releases[0].below
    assert isinstance(below, Filter)
    shown = ", ".join(f"{name} AS {identifier('0.' + name)}" for name in ("k", "o", "n", "m", "day"))
    sql = f"SELECT count(*) FROM (SELECT {shown} FROM {DOMAIN}) WHERE {expression(below.condition)}"
    (count,) = tableless.open_tableless().execute(sql).fetchone()
    return bool(nobody(question.releases[0])), count


@settings(max_examples=150, deadline=None)
@given(conditions(st.one_of(atoms, _MORE)))
def test_what_is_called_impossible_has_no_row(where: str) -> None:
    """Where every condition compares columns with constants, it is found exactly where no row passes."""
    called, count = passing(where)
    assert called == (count == 0)


@settings(max_examples=60, deadline=None)
@given(conditions(st.one_of(atoms, opaque)), conditions(atoms))
def test_other_conditions_may_hold(one: str, other: str) -> None:
    """With other conditions among them less is found; what is called impossible still has no row."""
    called, count = passing(f"{one} AND {other}")
    assert not called or count == 0


_WRITTEN = st.sampled_from(
    ["n + 1 > {}", "2 * n - 1 <= {}", "{} > -n", "n * n = {}", "3 - n <> {}", "NOT n + 1 < {}", "n + m >= {}"]
)
_TEXTS = st.sampled_from(
    ["k LIKE 'A'", "k LIKE 'a'", "k ILIKE 'A'", "k ILIKE 'q'", "lower(k) = 'A'", "lower(k) = 'a'", "upper(k) = 'A'",
     "NOT lower(k) = 'A'", "k LIKE 'a_'", "NOT k LIKE 'a'", "lower(k) <> 'a'"]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(conditions(st.one_of(atoms, _TEXTS, st.builds(str.format, _WRITTEN, st.integers(-12, 12)))))
def test_other_forms_that_are_called_impossible_have_no_row(where: str) -> None:
    """Sums and products of columns, patterns without wildcards, lower and upper of lists, with NOT, AND and OR."""
    called, count = passing(where)
    assert not called or count == 0


@pytest.mark.parametrize(
    ("where", "none"),
    [
        ("n + 1 > 300", True),
        ("n + 1 > 2", False),
        ("NOT n + 1 < 300", True),
        ("n * 2 > 300 OR k = 'A'", True),
        ("300 < n + n", True),
        ("k LIKE 'A'", True),
        ("k LIKE 'a%'", False),
        ("k ILIKE 'A'", False),
        ("lower(k) = 'A'", True),
        ("upper(k) = 'A'", False),
        ("upper(k) = 'A' AND k <> 'a'", True),
        ("n / 1 > 300", False),  # only sums and products are looked into
    ],
)
def test_other_forms_are_recognised(where: str, none: bool) -> None:
    assert passing(where)[0] == none


_CASES = [
    ("COUNT(CASE WHEN k = 'A' THEN 1 END)", 0),
    ("SUM(CASE WHEN k = 'A' THEN 1 ELSE 0 END)", 0),
    ("SUM(CASE WHEN k = 'A' THEN n END)", 0),
    ("SUM(CASE WHEN k = 'A' THEN n WHEN n > 9 THEN 2 ELSE 0 END)", 0),
    ("COUNT(DISTINCT CASE WHEN n > 9 THEN k END)", 0),
    ("AVG(CASE WHEN k = 'A' THEN n END)", None),
    ("MAX(CASE WHEN k = 'A' THEN n END)", None),
]
_NO_CASES = [
    "COUNT(CASE WHEN k = 'A' THEN 1 ELSE 0 END)",  # it counts every row
    "AVG(CASE WHEN k = 'A' THEN 1 ELSE 0 END)",  # zero, or NULL where there is no row
    "MAX(CASE WHEN k = 'A' THEN 1 ELSE 0 END)",
    "SUM(CASE WHEN k = 'A' THEN 1 ELSE 2 END)",
    "SUM(CASE WHEN k = 'a' THEN 1 ELSE 0 END)",
    "SUM(CASE WHEN k = 'A' THEN 0 WHEN k = 'a' THEN n ELSE 0 END)",
    "COUNT(CASE WHEN k IS NULL THEN 1 END)",
    "COUNT(CASE WHEN NOT k = 'A' THEN 1 END)",
]


@pytest.mark.parametrize(("shown", "value"), _CASES)
def test_a_case_that_nobody_fulfils_is_free(shown: str, value: int | None) -> None:
    """What an aggregate is of no rows, whatever the rows are: NULL arguments are left out, zeros add nothing."""
    question = bind(parse(f"SELECT {shown} FROM p"), POLICY, date(2024, 1, 1))
    asked = plan(question, POLICY, Fraction(1), rows=tableless.tableless())
    assert asked.event is None
    ((_, aggregate, source),) = asked.cuts[0].sources
    assert source.formula.value(aggregate, (), None) == value
    exact = shown.replace("SUM(", "COALESCE(SUM(").replace("END)", "END), 0)") if "SUM" in shown else shown
    (found,) = tableless.open_tableless().execute(f"SELECT {exact} FROM {DOMAIN}").fetchone()
    assert found == value
    assert any("no row can have" in text for _, text in asked.notes)


@pytest.mark.parametrize("shown", _NO_CASES)
def test_a_case_that_depends_on_rows_is_paid_for(shown: str) -> None:
    question = bind(parse(f"SELECT {shown} FROM p"), POLICY, date(2024, 1, 1))
    assert plan(question, POLICY, Fraction(1), rows=tableless.tableless()).event is not None


@pytest.mark.parametrize(
    ("having", "free"),
    [("k = 'A'", True), ("COUNT(*) > 1 AND 'A' = k", True), ("k IN ('A', 'B')", True), ("k IN ('A', 'a')", False),
     ("k <> 'A'", False), ("k = 'A' OR COUNT(*) > 1", False)],
)  # fmt: skip
@pytest.mark.parametrize("groups", ["k", "ROLLUP (k, n)"])
def test_having_an_unlisted_key_is_free(having: str, free: bool, groups: str) -> None:
    sql = f"SELECT k, COUNT(*) FROM p GROUP BY {groups} HAVING {having}"
    asked = plan(bind(parse(sql), POLICY, date(2024, 1, 1)), POLICY, Fraction(1), rows=tableless.tableless())
    assert (asked.event is None) == free


def test_a_stretch_that_is_not_tried_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_sensitivity, "_numbers", lambda facts, _: iter([facts.low]))
    called, count = passing("n > 1")
    assert called
    assert count


@pytest.mark.parametrize(
    ("source", "none"),
    [
        ("p WHERE k = 'A'", True),
        ("(SELECT u, n AS x FROM p WHERE n > 9) AS t WHERE x > 0", True),
        ("p JOIN (SELECT u FROM p WHERE k = 'z') AS t USING (u)", True),
        ("p LEFT JOIN (SELECT u FROM p WHERE k = 'z') AS t USING (u)", False),
        ("(SELECT u FROM p WHERE 1 = 0 UNION ALL SELECT u FROM p WHERE n < -5) AS t", True),
        ("(SELECT u FROM p WHERE 1 = 0 UNION ALL SELECT u FROM p) AS t", False),
        ("(SELECT u, MAX(n) AS m FROM p WHERE n IN (7, 8) GROUP BY u) AS t", True),
        ("p a JOIN p b ON a.u = b.u AND a.n > 4", True),
        ("p WHERE EXISTS (SELECT 1 FROM p q WHERE q.u = p.u AND q.n > 4)", False),
    ],
)
def test_nothing_stays_nothing_along_relations(source: str, none: bool) -> None:
    question = bind(parse(f"SELECT COUNT(*) FROM {source}"), POLICY, date(2024, 1, 1))
    assert bool(nobody(question.releases[0])) == none
    asked = plan(question, POLICY, Fraction(1), rows=tableless.tableless())
    assert (asked.event is None) == none


def test_the_nearest_value_is_named() -> None:
    assert nearest("female", ["Female", "Male"]) == "Female"
    assert nearest("FEMAL", ["Male", "Female"]) == "Female"
    assert nearest("north ", ["north", "south"]) == "north"
    assert nearest("xyz", ["north", "south"]) is None


def test_a_filter_that_matches_nobody_is_free(tmp_path: Path) -> None:
    """It is answered as the constant it is, in every place of a question, and says what is listed."""
    write_clinic(tmp_path)
    with sfumato.open(tmp_path / "sfumato.toml") as clinic:
        answer = clinic.sql(
            "SELECT COUNT(*), MAX(age), AVG(age), SUM(age) FROM patient WHERE area = 'North'", epsilon=1
        )
        assert answer.rows == [(0, None, None, 0)]
        assert answer.cost.epsilon == 0
        assert answer.intervals() == [[None] * 4]
        assert "did you mean 'north'?" in answer.notes[0][1]
        seen = clinic.explain("SELECT COUNT(*) FROM patient WHERE age > 200", epsilon=1)
        assert seen.cost is not None
        assert seen.cost.epsilon == 0
        assert [column.law for column in seen.columns] == ["exact"]
        assert "age is from 0 to 120" in seen.notes[0][1]
        assert clinic.sql("SELECT street, COUNT(*) FROM patient WHERE age > 200 GROUP BY street").rows == []
        grouped = clinic.sql("SELECT area, COUNT(*) FROM patient WHERE 1 = 0 GROUP BY area")
        assert [n for _, n in grouped.rows] == [0] * 5
        assert clinic.budget().spent.epsilon == 0
        both = clinic.sql("SELECT COUNT(*) FILTER (WHERE area = 'nort'), COUNT(*) FROM patient", epsilon=1)
        alone = clinic.sql("SELECT COUNT(*) FROM patient", epsilon=1)
        assert both.rows[0] == (0, alone.rows[0][0])  # the whole epsilon is for the count that there is
        assert alone.cost.epsilon == 0
        union = (
            "SELECT COUNT(*) AS n FROM patient WHERE age > 200 UNION ALL SELECT COUNT(*) FROM patient WHERE age < 30"
        )
        mixed = clinic.sql(union, epsilon=1)
        assert mixed.rows[0] == (0,)
        assert mixed.cost.epsilon == 1


def test_a_wrong_word_costs_no_privacy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Were everything called impossible, every answer would be a constant: no row is read for it."""
    write_clinic(tmp_path)
    monkeypatch.setattr(impossible, "_empty", lambda *_: (joint_sensitivity.FALSE,))
    with sfumato.open(tmp_path / "sfumato.toml") as clinic:
        monkeypatch.setattr(type(clinic._engine), "run", lambda *_: pytest.fail("rows were read"))
        assert clinic.sql("SELECT COUNT(*) FROM patient").rows == [(0,)]
        assert clinic.sql("SELECT street, COUNT(*) FROM patient GROUP BY street").rows == []
