"""Long lists after IN: what is written at once means what the plain form means, and is counted as the plain form is."""

from fractions import Fraction

import duckdb
import pytest

from sfumato.algebra.functions import call
from sfumato.algebra.tree import DECIMAL, INTEGER, TEXT, Call, Column, Constant, Facts
from sfumato.engines.duckdb import expressions
from sfumato.sql.release import joint_sensitivity
from sfumato.sql.release.joint_sensitivity import can_hold

HUGE = 1 << 61


def number(value, grid="1"):
    kind = INTEGER if Fraction(grid) == 1 else DECIMAL
    return Constant(value, Facts(kind, Fraction(value), Fraction(value), Fraction(grid), nullable=False))


def column(low, high, grid):
    kind = INTEGER if Fraction(grid) == 1 else DECIMAL
    return Column("x", Facts(kind, Fraction(low), Fraction(high), Fraction(grid)))


@pytest.mark.parametrize(
    ("operand", "values"),
    [
        (column(0, 120, 1), [number(5), number(-3), number(10**9)]),
        (column(0, 500, "0.01"), [number(5), number(Fraction("7.25"), "0.01"), number(-1)]),
        (column(0, 500, "0.01"), [number(Fraction("7.125"), "0.001"), number(7)]),
        (column(-10, 10, 1), [number(Fraction("2.5"), "0.5"), number(2)]),
        (column(0, 300, 3), [number(6), number(9)]),
        (column(0, HUGE, 1), [number(HUGE), number(0)]),
    ],
)
def test_numbers_written_in_steps_are_the_plain_form(operand, values, monkeypatch):
    node = call("in", (operand, *values), "", 0)
    steps = [None, *range(-5, 60), 500, 700, 725, 7125, 2500, 7000]
    steps += [HUGE] if operand.facts.high == HUGE else []
    cells = ", ".join(f"({'NULL' if step is None else step}::BIGINT)" for step in steps)
    rows = f"(VALUES {cells}) t(x)"
    quick = expressions.expression(node)
    monkeypatch.setattr(expressions, "_listed_steps", lambda _: None)
    plain = expressions.expression(node)
    found = duckdb.sql(f"SELECT x, {quick}, {plain} FROM {rows}").fetchall()
    assert [one[1] for one in found] == [one[2] for one in found]
    assert any(one[1] for one in found) or operand.facts.grid == 1


def test_numbers_on_finer_grids_are_multiplied_before_the_engine_sees_them():
    node = call("in", (column(0, 500, "0.01"), number(5), number(6)), "", 0)
    assert expressions.expression(node) == '("x" IN (500, 600))'


@pytest.mark.parametrize("values", [[Constant(None, Facts("null"))], [number(1 << 62)]])
def test_what_may_not_fit_is_written_the_plain_way(values):
    node = Call("in", (column(0, 500, "0.01"), number(5), *values), Facts("boolean"))
    assert expressions._listed_steps(node) is None


@pytest.mark.parametrize("grid", ["1", "0.01", "3", "10", "0.5"])
@pytest.mark.parametrize("kind", ["number", "text"])
def test_cells_are_never_fewer_than_they_are_counted(grid, kind):
    for values in ([1], list(range(-20, 300, 7)), [Fraction(1, 3), 5, 5, 600]):
        if kind == "text":
            facts, constants = Facts(TEXT, length=9), [Constant(str(value), Facts(TEXT)) for value in values]
        else:
            facts, constants = column(0, 100, grid).facts, [number(value, "0.01") for value in values]
        atoms = [Call("=", (Column("x", facts), constant), Facts("boolean")) for constant in constants]
        atoms.append(Call("is null", (Column("x", facts),), Facts("boolean")))
        assert joint_sensitivity._fewest_cells(atoms) <= len(list(joint_sensitivity._cells(facts, atoms)))


def test_a_long_list_is_possible_as_soon_as_its_cells_are_too_many(monkeypatch):
    atoms = [Call("=", (column(0, 10**6, 1), number(value)), Facts("boolean")) for value in range(2_000)]
    monkeypatch.setattr(joint_sensitivity, "_cells", lambda *_: pytest.fail("they were listed"))
    assert can_hold([Call("or", tuple(atoms), Facts("boolean"))])
