"""The longest row by example: what shares a price and what does not."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest

from sfumato.policy import Policy, from_dict
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release.plan import Plan, plan
from tests import tableless

F = Fraction


def people(adjacency: str = "add-remove", rows: int = 1) -> Policy:
    columns = {
        "u": {"type": "text", "max_length": 9},
        "eyes": {"values": ["brown", "blue", "green", "red"]},
        "height": {"type": "integer", "min": 100, "max": 220},
        "born": {"type": "date", "min": date(1900, 1, 1), "max": date(2020, 12, 31)},
        "x": {"type": "double"},
        "t": {"type": "text", "max_length": 5},
        "d": {"type": "decimal", "min": 0, "max": 1, "grid": F(1, 2)},
    }
    return from_dict(
        {
            "source": {"engine": "duckdb", "files": {"p": "p.csv"}},
            "data": {"id": "d"},
            "privacy": {"epsilon": 1, "adjacency": adjacency},
            "tables": {"p": {"unit": "u", "rows_per_unit": rows, "columns": columns}},
        }
    )


def asked(select: str, policy: Policy | None = None) -> Plan:
    policy = policy or people()
    return plan(bind(parse(f"SELECT {select}"), policy, date(2024, 1, 1)), policy, F(1), rows=tableless.tableless())


def price(select: str, policy: Policy | None = None) -> int:
    """By how much each scale is stretched: epsilon over the share of one bundle."""
    return int(F(1) / asked(select, policy).cuts[0].parts[0].share)


def counts(*conditions: str) -> str:
    return ", ".join(f"COUNT(*) FILTER (WHERE {condition})" for condition in conditions)


def test_eye_colours_cost_one() -> None:
    """The second lecture: four eye colours cost 1, brown eyes and taller than six feet cost 2."""
    four = counts(*(f"eyes = '{colour}'" for colour in ("brown", "blue", "green", "red")))
    assert price(f"{four} FROM p") == 1
    assert price(f"{counts('eyes = ' + repr('brown'), 'height > 183')} FROM p") == 2
    assert price(f"{four}, COUNT(*) FROM p") == 2
    assert price(f"{four}, COUNT(*) FILTER (WHERE eyes IS NULL) FROM p") == 1


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        (counts("height < 150", "height >= 150"), 1),
        (counts("height <= 150", "height >= 150"), 2),
        (counts("height < 150", "height BETWEEN 150 AND 170", "height > 170"), 1),
        (counts("height > 110", "height > 120", "height > 130"), 3),  # thresholds: nested, all add up
        (counts("height > 150.5", "height < 150.6"), 1),  # no whole number lies between
        (counts("height > 150.5", "height < 151.5"), 2),
        (counts("born < DATE '1950-01-01'", "born >= DATE '1950-01-01'"), 1),
        (counts("NOT (eyes = 'red')", "eyes = 'red'", "eyes IS NULL"), 1),
        (counts("eyes IN ('red', 'blue')", "eyes IN ('blue', 'green')", "eyes = 'brown'"), 2),
        (counts("height > 220", "eyes = 'red'"), 1),  # nobody is taller than the declared bound
        (counts("t = 'a'", "t = 'b'", "t <> 'a'"), 2),
        (counts("d = 0.25", "eyes = 'red'"), 1),  # not on the grid
        (counts("height > 150 AND eyes = 'red'", "height > 150 AND eyes = 'blue'", "height <= 150"), 1),
        (counts("eyes = 'red' OR height > 200", "eyes = 'blue' OR height > 200"), 2),
        ("SUM(CASE WHEN eyes = 'red' THEN height ELSE 0 END), SUM(CASE WHEN eyes = 'blue' THEN height ELSE 0 END)", 1),
        ("AVG(height) FILTER (WHERE eyes = 'red'), AVG(height) FILTER (WHERE eyes = 'blue')", 1),
        ("COUNT(height), COUNT(*) FILTER (WHERE height IS NULL)", 1),
        ("COUNT(DISTINCT u) FILTER (WHERE eyes = 'red'), COUNT(DISTINCT u) FILTER (WHERE eyes = 'blue')", 1),
    ],
)
def test_what_shares_a_price(select: str, expected: int) -> None:
    assert price(f"{select} FROM p") == expected


def test_the_filter_of_the_question_counts() -> None:
    assert price(f"{counts('height > 150', 'height < 170')} FROM p") == 2
    assert price(f"{counts('height > 150', 'height < 170')} FROM p WHERE height > 180") == 1


def test_opaque_conditions_add_up() -> None:
    """Doubles, arithmetic, functions: nothing is concluded from them but that equal ones hold together."""
    assert price(f"{counts('x + 1e20 - 1e20 < 0.5', 'x > 0.5')} FROM p") == 2
    assert price(f"{counts('height % 3 < 0', 'height > 100')} FROM p") == 2
    assert price(f"{counts('COALESCE(height / 7, 7) = 7', 'height < 0')} FROM p") == 1
    assert price(f"{counts('lower(t) = ' + repr('a'), 'NOT lower(t) = ' + repr('a'))} FROM p") == 1
    assert price(f"{counts('height + 0 < 150', 'height + 0 >= 150')} FROM p") == 2


def test_beyond_the_limit_everything_adds_up() -> None:
    rest = "d <> {} AND height % {} = 1"
    many = counts(*(f"eyes = 'red' AND height <> {h} AND {rest.format(h % 2, h)}" for h in range(101, 112)))
    assert price(f"{many} FROM p") == 11


def test_persons_with_several_rows_add_up() -> None:
    """One person's two rows may be red and blue: she counts in both, though no row does."""
    pair = "COUNT(DISTINCT u) FILTER (WHERE eyes = 'red'), COUNT(DISTINCT u) FILTER (WHERE eyes = 'blue')"
    assert price(f"{pair} FROM p", people(rows=5)) == 2
    assert price(f"{counts('eyes = ' + repr('red'), 'eyes = ' + repr('blue'))} FROM p", people(rows=5)) == 1


def test_under_replace_one_may_leave_a_count_and_enter_another() -> None:
    """Red becomes blue: two counts change by one. A single count is excepted only where all are paid for."""
    both = counts("eyes = 'red'", "eyes = 'blue'")
    assert [r.scale for r in asked(f"{both} FROM p", people("replace")).cuts[0].parts[0].bundles] == [2, 2]
    assert [r.scale for r in asked("COUNT(*) FROM p", people("replace")).cuts[0].parts[0].bundles] == [1]
    nested = counts("height > 150", "height > 160")
    assert [r.scale for r in asked(f"{nested} FROM p", people("replace")).cuts[0].parts[0].bundles] == [2, 2]
