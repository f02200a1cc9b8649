"""Joins along keys: fewer rows are expected of one person, and no more than these ever count, true or not."""

from __future__ import annotations

import random
from datetime import date
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import parse_one

from sfumato.engines.reference import Reference
from sfumato.policy import from_dict
from sfumato.sql.bind.factoring import factored
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release.claims import check
from sfumato.sql.release.plan import plan
from tests import tableless

NUMBER = {"type": "integer", "min": 0, "max": 9}
POLICY = from_dict(
    {
        "source": {"engine": "duckdb", "files": {"person": "a", "orders": "b", "item": "c"}},
        "data": {"id": "k"},
        "privacy": {"epsilon": 10},
        "tables": {
            "person": {"unit": "u", "rows_per_unit": 1, "columns": {"u": {"type": "integer"}, "z": NUMBER}},
            "orders": {
                "unit": "u",
                "rows_per_unit": 3,
                "columns": {"u": {"type": "integer"}, "id": {"type": "integer"}, "x": NUMBER},
            },
            "item": {
                "unit": {"join": "orders", "on": "o = id"},
                "rows_per_unit": 4,
                "columns": {"o": {"type": "integer"}, "y": NUMBER},
            },
        },
    }
)
_SOURCES = [
    "orders JOIN item ON id = o",
    "item JOIN orders ON id = o",
    "orders LEFT JOIN item ON id = o AND y > 3",
    "item, person, orders WHERE o = id AND person.u = orders.u",
    "person JOIN (SELECT u, x, id AS i FROM orders WHERE x > 2) AS t USING (u) JOIN item ON t.i = o",
]


def tables(chance: random.Random, unique: bool) -> dict[str, list[dict[str, Any]]]:
    """People with more or fewer rows than the policy says; keys that are unique, or are not."""
    orders = [{"u": chance.randrange(4), "id": i, "x": chance.randrange(10)} for i in range(9)]
    if not unique:
        orders += [dict(row, x=chance.randrange(10)) for row in orders for _ in range(2)]
    items = [{"o": chance.randrange(9), "y": chance.randrange(10)} for _ in range(40)]
    return {"person": [{"u": u, "z": u} for u in range(4)], "orders": orders, "item": items}


def without(rows: dict[str, list[dict[str, Any]]], person: int) -> dict[str, list[dict[str, Any]]]:
    """The database without one person's rows; an item is whose its first order is."""
    owner: dict[int, int] = {}
    for row in rows["orders"]:
        owner.setdefault(row["id"], row["u"])
    return {
        "person": [row for row in rows["person"] if row["u"] != person],
        "orders": [row for row in rows["orders"] if row["u"] != person],
        "item": [row for row in rows["item"] if owner.get(row["o"]) != person],
    }


@pytest.mark.parametrize("source", _SOURCES)
@pytest.mark.parametrize("what", ["COUNT(*)", "SUM(y)", "AVG(y)", "COUNT(*), SUM(x)"])
def test_neighbours_differ_by_what_is_claimed_whatever_the_keys_are(source: str, what: str) -> None:
    """The number of rows is a conclusion from keys; the weights are what bounds one person, also where it is false."""
    question = bind(parse(f"SELECT {what} FROM {source}"), POLICY, date(2024, 1, 1))
    asked = plan(question, POLICY, Fraction(1), rows=tableless.tableless())
    assert asked.cuts[0].contribution <= 6  # 12 without the key
    check(asked.cuts, POLICY.privacy.adjacency, asked.event)
    part, chance = asked.cuts[0].parts[0], random.Random(25)
    moved = 0
    for unique in (True, False):
        for _ in range(4):
            rows = tables(chance, unique)
            for person in range(4):
                one, other = (
                    Reference(POLICY, there, {}).run(part.job, "salt").sums.get((), (0,) * 99)
                    for there in (rows, without(rows, person))
                )
                at = 0
                for released in part.bundles:
                    width = len(released.bundle.parts)
                    change = sum(abs(a - b) for a, b in zip(one[at : at + width], other[at : at + width], strict=True))
                    assert change * released.unit <= released.sensitivity
                    moved, at = max(moved, change), at + width
    assert moved


conditions = st.recursive(
    st.sampled_from(["a", "b", "c", "a = b"]),
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("(NOT {})".format, inner),
    ),
    max_leaves=7,
)
_TRUTHS = "(SELECT unnest([TRUE, FALSE, NULL]) AS {})"
WORLDS = " CROSS JOIN ".join(_TRUTHS.format(name) for name in "abc")


@settings(max_examples=200, deadline=None)
@given(conditions)
def test_factoring_keeps_every_truth(text: str) -> None:
    """On all twenty-seven worlds of three truths, NULL among them, by an engine that knows nothing of it."""
    written = factored(parse_one(text, dialect="postgres")).sql(dialect="postgres")
    sql = f"SELECT count(*) FROM {WORLDS} WHERE ({text}) IS DISTINCT FROM ({written})"
    assert tableless.run(sql) == [(0,)]


def test_what_is_common_is_taken_out() -> None:
    def made(text: str) -> str:
        return factored(parse_one(text, dialect="postgres")).sql(dialect="postgres")

    assert made("(a AND b AND x > 1) OR (c AND b AND a)") == "a AND b AND (x > 1 OR c)"
    assert made("(a AND b) OR (a AND b AND c)") == "a AND b"
    assert made("z AND ((a AND b) OR (c AND a))") == "z AND a AND (b OR c)"
    assert made("a OR b") == "a OR b"
    assert made("(a IN (SELECT 1) AND b) OR (a IN (SELECT 1) AND c)").count("SELECT") == 2
