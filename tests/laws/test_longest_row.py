"""The longest row against every row there is."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.relations import Filter
from sfumato.engines.duckdb.expressions import expression
from sfumato.policy import from_dict
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release import joint_sensitivity as rows
from sfumato.sql.release.joint_sensitivity import TRUE
from sfumato.types import identifier
from tests import tableless

F = Fraction
POLICY = from_dict(
    {
        "source": {"engine": "duckdb", "files": {"p": "p.csv"}},
        "data": {"id": "d"},
        "privacy": {"epsilon": 1},
        "tables": {
            "p": {
                "unit": "u",
                "rows_per_unit": 1,
                "columns": {
                    "u": {"type": "text", "max_length": 9},
                    "k": {"values": ["a", "b", "c"]},
                    "o": {"type": "text", "max_length": 2},
                    "n": {"type": "integer", "min": -2, "max": 4},
                    "m": {"type": "decimal", "min": 0, "max": 2, "grid": F(1, 2), "nulls": False},
                    "day": {"type": "date", "min": date(2020, 1, 1), "max": date(2020, 1, 4)},
                },
            }
        },
    }
)
DOMAIN = """(SELECT unnest(['a', 'b', 'c', NULL]) AS k) CROSS JOIN (SELECT unnest(['x', 'y', '', NULL]) AS o)
    CROSS JOIN (SELECT unnest([-2, -1, 0, 1, 2, 3, 4, NULL]) AS n)
    CROSS JOIN (SELECT unnest([0, 1, 2, 3, 4]) AS m)
    CROSS JOIN (SELECT unnest([DATE '2020-01-01', '2020-01-02', '2020-01-03', '2020-01-04', NULL]) AS day)"""

atoms = st.one_of(
    st.builds("k {} '{}'".format, st.sampled_from(["=", "<>"]), st.sampled_from("abcz")),
    st.builds(
        "n {} {}".format,
        st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
        st.sampled_from(["-3", "-2", "0", "1.5", "4", "9"]),
    ),
    st.builds("m {} {}".format, st.sampled_from(["=", "<", ">="]), st.sampled_from(["0", "0.5", "0.75", "1.9", "2"])),
    st.builds("day {} DATE '2020-01-0{}'".format, st.sampled_from(["=", "<", ">"]), st.integers(1, 5)),
    st.sampled_from(
        ["k IS NULL", "n IS NOT NULL", "day IS NULL", "TRUE", "NULL", "k IN ('a', 'c')", "n BETWEEN 0 AND 2"]
    ),
)
opaque = st.sampled_from(["n % 2 = 0", "n + 1 > 2", "upper(k) = 'A'"])


def conditions(leaves: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds("({} AND {})".format, inner, inner),
            st.builds("({} OR {})".format, inner, inner),
            st.builds("(NOT {})".format, inner),
        ),
        max_leaves=4,
    )


def brute(filters: list[str], where: str) -> tuple[int, int]:
    """What the solver says, and the most that any row of the whole domain really feeds, by the engine."""
    text = ", ".join(f"COUNT(*) FILTER (WHERE {f})" for f in filters)
    question = bind(parse(f"SELECT {text} FROM p WHERE {where}"), POLICY, date(2024, 1, 1))
    aggregates = [aggregate for _, aggregate in question.releases[0].aggregates]
    bundles = list(dict.fromkeys(AGGREGATES[aggregate.name].bundle(aggregate) for aggregate in aggregates))
    below = question.releases[0].below
    condition = below.condition if isinstance(below, Filter) else TRUE
    said = rows.longest_row(bundles, condition)
    fed = " + ".join(f"({expression(bundle.parts[0])} <> 0)::INT" for bundle in bundles) or "0"
    shown = ", ".join(f"{name} AS {identifier('0.' + name)}" for name in ("k", "o", "n", "m", "day"))
    domain = f"(SELECT {shown} FROM {DOMAIN})"
    true = (
        tableless.open_tableless()
        .execute(f"SELECT max({fed}) FROM {domain} WHERE {expression(condition)}")
        .fetchone()[0]
    )
    return said, true or 0


@settings(max_examples=120, deadline=None)
@given(st.lists(conditions(atoms), min_size=1, max_size=4), conditions(atoms))
def test_longest_row_is_the_largest_over_all_rows(filters: list[str], where: str) -> None:
    """Where every condition is made of atoms the price is exactly right: no row feeds more, and one feeds as many."""
    said, true = brute(filters, where)
    assert said == true


@settings(max_examples=60, deadline=None)
@given(st.lists(conditions(st.one_of(atoms, opaque)), min_size=1, max_size=4), conditions(st.one_of(atoms, opaque)))
def test_longest_row_is_never_too_short(filters: list[str], where: str) -> None:
    """With opaque conditions among them it may say more than any row feeds, never less."""
    said, true = brute(filters, where)
    assert said >= true


@pytest.mark.parametrize("wrong", [lambda f, c: iter([F(0)]), lambda f, c: iter(sorted(c))])
def test_a_solver_that_forgets_a_gap_is_caught(wrong: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two and three lie between: with only zero, or only the constants, tried, it says one where a row feeds two."""
    monkeypatch.setattr(rows, "_numbers", wrong)
    said, true = brute(["n > 1.5", "n < 4"], "TRUE")
    assert said < true
