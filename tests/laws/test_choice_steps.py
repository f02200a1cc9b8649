"""MIN, MAX, percentiles and MODE of a step function choose among its values, and among all of them."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import duckdb
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.mechanisms.order import numbers_of_steps
from sfumato.types import Exact

FIRST = date(2021, 1, 15)
PEOPLE = 300
EXPRESSIONS = {
    "date_trunc('month', d)": lambda value: value.day == 1,
    "date_trunc('week', d)": lambda value: value.weekday() == 0,
    "date_trunc('hour', t)": lambda value: (value.minute, value.second) == (0, 0),
    "date_trunc('month', t)": lambda value: value.day == 1,
    "extract(year FROM d) * 12": lambda value: value % 12 == 0,
    "floor(x / 10) * 10": lambda value: value % 10 == 0,
    "x * x": lambda value: round(float(value) ** 0.5) ** 2 == value,
    "CASE WHEN x < 30 THEN 5 WHEN x < 60 THEN 70 ELSE 900 END": lambda value: value in (5, 70, 900),
    "width_bucket(x, 0, 100, 4) * 25": lambda value: value % 25 == 0,
    "x % 7 * 3": lambda value: value in range(0, 21, 3),
}


def frame() -> pd.DataFrame:
    days = [FIRST + timedelta(days=i * 7 % 200) for i in range(PEOPLE)]
    moments = [
        datetime.combine(day, datetime.min.time()) + timedelta(seconds=i * 977 % 86_400) for i, day in enumerate(days)
    ]
    return pd.DataFrame({"u": range(PEOPLE), "d": days, "t": moments, "x": [i % 101 for i in range(PEOPLE)]})


@pytest.fixture(scope="module")
def gate() -> Any:
    with pytest.warns(UserWarning, match="no ledger file"):
        return sfumato.protect(
            frame(),
            unit="u",
            rows_per_unit=1,
            epsilon=10_000,
            bounds={
                "d": (FIRST, date(2022, 2, 20)),
                "t": ("2021-01-15 00:00:00", "2022-02-20 00:00:00"),
                "x": (0, 100),
            },
        )


@pytest.mark.parametrize("name", ["MIN({})", "MAX({})", "MODE() WITHIN GROUP (ORDER BY {})",
                                  "PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY {})"])  # fmt: skip
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_choice_is_a_value_of_its_argument(gate: Any, expression: str, name: str) -> None:
    """At an epsilon at which it is nearly uniform among its candidates, also of a derived column."""
    for sql in (
        f"SELECT x % 10 AS k, {name.format(expression)} AS v FROM data GROUP BY x % 10",
        f"SELECT k, {name.format('e')} AS v FROM (SELECT x % 10 AS k, {expression} AS e FROM data) s GROUP BY k",
    ):
        if sql.startswith("SELECT k") and not expression.startswith("date_trunc"):
            continue  # of a column of numbers only its ends and its grid are known
        answer = gate.sql(sql, epsilon=0.01)
        values = [row[1] for row in answer.rows]
        assert len(values) == 11  # and NULL, in which nobody is
        assert all(value is None or EXPRESSIONS[expression](value) for value in values), values
        (released,) = answer.plan.cuts[0].parts[0].bundles
        ((drawn,),) = answer._draws
        assert all(cell[0] in released.extra.steps for cell in drawn.cells[0])


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_value_of_an_argument_is_a_step(gate: Any, expression: str) -> None:
    plan = gate.sql(f"SELECT MIN({expression}) FROM data", epsilon=0.01).plan
    (released,) = [one for one in plan.cuts[0].parts[0].bundles if one.extra is not None]
    data = frame()
    assert len(data) == PEOPLE
    expression = expression.replace("width_bucket(x, 0, 100, 4)", "least(5, x // 25 + 1)")  # DuckDB has none
    days = released.extra.aggregate.arg.facts.kind == "date"
    for (value,) in duckdb.sql(f"SELECT DISTINCT {expression} FROM data").fetchall():
        place = value
        if isinstance(value, date):
            place = value.toordinal() if days else int((value - datetime(1, 1, 1)).total_seconds())  # noqa: DTZ001  times have no zone here
        assert int(place) in released.extra.steps


def test_a_choice_with_much_epsilon_is_the_right_one(gate: Any) -> None:
    assert gate.sql("SELECT MIN(date_trunc('month', d)) FROM data", epsilon=50).rows == [(date(2021, 1, 1),)]
    assert gate.sql("SELECT MAX(floor(x / 40) * 40) FROM data", epsilon=50).rows == [(80,)]
    assert gate.sql("SELECT MODE() WITHIN GROUP (ORDER BY x / 60 * 7) FROM data", epsilon=50).rows == [(0,)]


def test_a_column_chooses_among_all_its_values(gate: Any) -> None:
    """Stored answers keep their keys: nothing is listed where every step of the grid is a value."""
    for arg in ("x", "d", "t", "x + 1", "extract(month FROM d)", "abs(x - 50)"):
        plan = gate.sql(f"SELECT MIN({arg}) FROM data", epsilon=0.01).plan
        (released,) = [one for one in plan.cuts[0].parts[0].bundles if one.extra is not None]
        assert released.extra.steps == ()
    plan = gate.sql("SELECT MEDIAN(x * 2) FROM data", epsilon=0.01).plan
    (released,) = [one for one in plan.cuts[0].parts[0].bundles if one.extra is not None]
    assert released.extra.steps == ()  # it may lie between two values


@given(st.sets(st.integers(-50, 50), min_size=1), st.dictionaries(st.integers(-60, 60), st.integers(0, 9)))
def test_steps_keep_the_weight_of_every_person(steps: set[int], rows: dict[int, int]) -> None:
    places, ordered = sorted(rows), tuple(sorted(steps))
    numbers, weights = numbers_of_steps(ordered, places, Exact([rows[place] for place in places]))
    held = weights._sealed
    assert sum(held) == sum(rows.values())
    assert numbers == sorted(set(numbers))
    assert all(0 <= number < len(ordered) for number in numbers)
    for number, weight in zip(numbers, held, strict=True):
        assert weight == sum(w for place, w in rows.items() if _last(ordered, place) == number)


def _last(steps: tuple[int, ...], place: int) -> int:
    return max((i for i, step in enumerate(steps) if step <= place), default=0)
