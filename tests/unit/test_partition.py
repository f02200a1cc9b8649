"""The partition of people: which cells a question touches, and what it is charged (semantics 5.3)."""

# ruff: noqa: E501  a question stands on one line
from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sfumato.errors import BudgetError
from sfumato.gateway import Gateway, open_policy
from tests.plans import plan_of

POLICY = """
[source]
engine = "duckdb"
files = { patient = "patient.csv", visit = "visit.csv" }
[data]
id = "p"
[privacy]
epsilon = 1
partition = "patient.area"
adjacency = "ADJACENCY"
[tables.patient]
unit = "u"
rows_per_unit = 1
[tables.patient.columns]
u = { type = "text", max_length = 9 }
area = { values = ["north", "south", "west"] }
age = { type = "integer", min = 0, max = 99 }
[tables.visit]
unit = "u"
rows_per_unit = 5
[tables.visit.columns]
u = { type = "text", max_length = 9 }
cost = { type = "integer", min = 0, max = 99 }
"""


def opened(tmp_path: Path, adjacency: str = "add-remove") -> Gateway:
    (tmp_path / "patient.csv").write_text(
        "u,area,age\na,north,1\nb,south,2\nc,west,3\nd,,4\ntwo,north,5\ntwo,south,6\n", encoding="utf-8"
    )
    (tmp_path / "visit.csv").write_text("u,cost\na,1\na,2\nb,3\nnobody,4\ntwo,5\n", encoding="utf-8")
    (tmp_path / "sfumato.toml").write_text(POLICY.replace("ADJACENCY", adjacency), encoding="utf-8")
    return open_policy(tmp_path / "sfumato.toml")


@pytest.fixture
def gate(tmp_path: Path) -> Any:
    with opened(tmp_path) as gateway:
        yield gateway


def touched(gate: Gateway, sql: str) -> tuple[str, ...] | None:
    asked = plan_of(gate, sql)
    return asked.cells


NORTH, SOUTH, WEST, NULL = '"north"', '"south"', '"west"', "null"
EVERYBODY = None


@pytest.mark.parametrize(
    ("sql", "cells"),
    [
        ("SELECT COUNT(*) FROM patient", EVERYBODY),
        ("SELECT COUNT(*) FROM patient WHERE area = 'north'", (NORTH,)),
        ("SELECT COUNT(*) FROM patient WHERE area <> 'north'", (SOUTH, WEST)),
        ("SELECT COUNT(*) FROM patient WHERE area IN ('north', 'west') AND age > 3", (NORTH, WEST)),
        ("SELECT COUNT(*) FROM patient WHERE area IS NULL", (NULL,)),
        ("SELECT COUNT(*) FROM patient WHERE area = 'north' OR age > 3", EVERYBODY),
        ("SELECT COUNT(*) FILTER (WHERE area = 'north') FROM patient", EVERYBODY),
        ("SELECT COUNT(*) FROM visit", EVERYBODY),
        ("SELECT COUNT(*) FROM visit JOIN patient USING (u) WHERE area = 'south'", (SOUTH,)),
        ("SELECT COUNT(*) FROM visit v LEFT JOIN patient p ON v.u = p.u WHERE p.area = 'south'", (SOUTH,)),
        ("SELECT COUNT(*) FROM visit v LEFT JOIN patient p ON v.u = p.u AND p.area = 'south'", EVERYBODY),
        ("SELECT COUNT(*) FROM visit v LEFT JOIN patient p ON v.u = p.u WHERE p.area IS NULL", EVERYBODY),
        ("SELECT COUNT(*) FROM visit v JOIN patient p ON v.u = p.u WHERE p.area IS NULL", (NULL,)),
        ("SELECT COUNT(*) FROM (SELECT u, MAX(age) AS m FROM patient WHERE area = 'west' GROUP BY u) AS t", (WEST,)),
        (
            "SELECT COUNT(*) FROM (SELECT u FROM patient WHERE area = 'west' UNION SELECT u FROM patient WHERE area = 'north')t",
            (NORTH, WEST),
        ),
        ("SELECT COUNT(*) FROM patient WHERE area = 'west' AND age > (SELECT AVG(age) FROM patient)", EVERYBODY),
        (
            "SELECT COUNT(*) FROM patient WHERE area = 'west' AND age > (SELECT AVG(age) FROM patient WHERE area = 'north')",
            (NORTH, WEST),
        ),
        ("SELECT COUNT(*) FROM visit WHERE u IN (SELECT u FROM patient WHERE area = 'north')", EVERYBODY),
    ],
)
def test_cells_are_those_that_the_condition_leaves(sql: str, cells: tuple[str, ...] | None, gate: Gateway) -> None:
    assert touched(gate, sql) == (None if cells is None else tuple(sorted(cells)))


def test_questions_to_different_people_share_the_budget(gate: Gateway) -> None:
    """Three cells, each asked for all of epsilon; then nobody may be asked any more."""
    for area in ("north", "south", "west"):
        gate.sql(f"SELECT COUNT(*) FROM patient WHERE area = '{area}'", epsilon=1)
    assert gate.budget().spent.epsilon == 1
    assert gate.explain("SELECT COUNT(*) FROM patient WHERE area IS NULL", epsilon=1).refused is None
    for refused in ("SELECT COUNT(*) FROM patient", "SELECT SUM(age) FROM patient WHERE area = 'north'"):
        assert isinstance(gate.explain(refused, epsilon="0.01").refused, BudgetError)
        with pytest.raises(BudgetError):
            gate.sql(refused, epsilon="0.01")


def test_under_replace_two_cells_count(tmp_path: Path) -> None:
    with opened(tmp_path, "replace") as gate:
        gate.sql("SELECT COUNT(*) FROM patient WHERE area = 'north'", epsilon="0.5")
        gate.sql("SELECT COUNT(*) FROM patient WHERE area = 'south'", epsilon="0.5")
        assert gate.budget().spent.epsilon == 1
        with pytest.raises(BudgetError):
            gate.sql("SELECT COUNT(*) FROM patient WHERE area = 'west'", epsilon="0.6")


def test_who_has_two_rows_is_in_no_two_cells(gate: Gateway) -> None:
    """`two` has a row in the north and one in the south: she is left out before the condition is looked at."""
    for area, people in (("north", 1), ("south", 1)):
        asked = plan_of(gate, f"SELECT COUNT(*) FROM patient WHERE area = '{area}'", 1)
        ((_, sums),) = gate._engine.run(asked.cuts[0].parts[0].job, {}, "salt").sums
        assert _opened(sums) == (people,)


def _opened(sums: Any) -> tuple[int, ...]:
    """What is sealed, for a test: the noise of a huge epsilon is none."""
    from sfumato.mechanisms import Geometric

    return tuple(int(Geometric(1, 10**6).release(sums.part(i))) for i in range(1))


def test_who_moves_within_a_version_pays_for_both_cells(tmp_path: Path) -> None:
    """A reload in the middle of a version: a is in the north first and in the south then, and both answers are hers."""
    policy, file = POLICY.replace("ADJACENCY", "add-remove"), tmp_path / "patient.csv"
    north, south, west = (f"SELECT COUNT(*) FROM patient WHERE area = '{area}'" for area in ("north", "south", "west"))
    (tmp_path / "visit.csv").write_text("u,cost\na,1\n", encoding="utf-8")
    for version in ("daily", "1"):
        (tmp_path / "sfumato.toml").write_text(
            policy.replace('id = "p"', f'id = "{version}"\nversion = "{version}"'), encoding="utf-8"
        )
        file.write_text("u,area,age\na,north,1\nb,south,2\n", encoding="utf-8")
        with open_policy(tmp_path / "sfumato.toml") as gate:
            gate.sql(north, epsilon=0.25)
            assert gate.budget().spent.epsilon == Fraction(1, 4)
        with open_policy(tmp_path / "sfumato.toml") as gate:  # the same rows: nobody has moved
            gate.sql(west, epsilon=0.25)
            assert gate.budget().spent.epsilon == Fraction(1, 4)
        file.write_text("u,area,age\na,south,1\nb,south,2\n", encoding="utf-8")
        with open_policy(tmp_path / "sfumato.toml") as gate:
            preview = gate.explain(south, epsilon=0.25)
            assert preview.before is not None
            assert preview.before.epsilon == Fraction(3, 4)
            gate.sql(south, epsilon=0.25)
            assert gate.budget().spent.epsilon == Fraction(1, 2)
            assert gate.ledger.verify()
