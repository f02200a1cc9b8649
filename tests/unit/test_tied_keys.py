"""Groups that public joins and conditions rule out are not listed; all that a row can have are (semantics 3.6a)."""

# ruff: noqa: E501, ISC004  a query stands on one line

from __future__ import annotations

import random
from datetime import date
from fractions import Fraction
from typing import Any

import duckdb
import pytest

from sfumato.algebra import tied_keys
from sfumato.policy import from_dict
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release.plan import plan
from tests.compiled import Rows

KEY = {"type": "integer"}
POLICY = from_dict(
    {
        "source": {"engine": "duckdb", "files": {"p": "p", "nation": "n", "region": "r"}},
        "data": {"id": "tied"},
        "privacy": {"epsilon": 10},
        "tables": {
            "p": {
                "unit": "u",
                "rows_per_unit": 3,
                "columns": {
                    "u": KEY,
                    "nat": {"type": "integer", "min": 0, "max": 7},
                    "alt": {"type": "integer", "min": 0, "max": 7},
                    "s": {"values": ["a", "b", "c"], "nulls": False},
                },
            },
            "nation": {"public": True, "columns": {"n": KEY, "n_name": {"type": "text", "max_length": 9}, "r": KEY}},
            "region": {"public": True, "columns": {"r": KEY, "r_name": {"type": "text", "max_length": 9}}},
        },
    }
)
PUBLIC = duckdb.connect()
PUBLIC.execute("CREATE TABLE region AS SELECT * FROM (VALUES (0, 'ASIA'), (1, 'EUROPE'), (2, NULL)) AS t(r, r_name)")
PUBLIC.execute("CREATE TABLE nation AS SELECT i AS n, 'N' || i AS n_name, i % 4 AS r FROM range(8) AS t(i)")
PUBLIC.execute(
    "CREATE TABLE p AS SELECT a.i AS nat, b.i AS alt, s, 1 AS u FROM (SELECT unnest([0,1,2,3,4,5,6,7,NULL]) AS i) AS a,"
    " (SELECT unnest([0,1,2,3,4,5,6,7,NULL]) AS i) AS b, (SELECT unnest(['a','b','c']) AS s) AS c"
)


def public(sql: str) -> list[tuple[Any, ...]]:
    return PUBLIC.execute(sql).fetchall()


def listed(sql: str) -> list[tuple[Any, ...]]:
    question = bind(parse(sql), POLICY, date(2024, 1, 1), Rows(public))
    return list(plan(question, POLICY, Fraction(1), rows=Rows(public)).cuts[0].parts[0].groups)


TWO = "p JOIN nation n1 ON n1.n = nat JOIN nation n2 ON n2.n = alt"
ASIA = "p JOIN nation ON nat = n JOIN region ON nation.r = region.r"


@pytest.mark.parametrize(
    ("sql", "groups"),
    [
        (f"SELECT n_name, COUNT(*) FROM {ASIA} WHERE r_name = 'ASIA' GROUP BY n_name", [("N0",), ("N4",)]),
        (f"SELECT r_name, COUNT(*) FROM {ASIA} WHERE n_name IN ('N1', 'N3') GROUP BY r_name", [("EUROPE",)]),
        (f"SELECT n_name, r_name, COUNT(*) FROM {ASIA} WHERE r_name = 'ASIA' GROUP BY n_name, r_name", [("N0", "ASIA"), ("N4", "ASIA")]),
        (
            f"SELECT n1.n_name, n2.n_name AS o, COUNT(*) FROM {TWO} WHERE (n1.n_name = 'N1' AND n2.n_name = 'N2') OR"
            " (n1.n_name = 'N2' AND n2.n_name = 'N1') GROUP BY n1.n_name, n2.n_name",
            [("N1", "N2"), ("N2", "N1")],
        ),
        ("SELECT s, nat, COUNT(*) FROM p WHERE (s = 'c' AND nat < 2) OR (s = 'a' AND nat = 7) GROUP BY s, nat", [("a", 7), ("c", 0), ("c", 1)]),
    ],
)  # fmt: skip
def test_public_joins_leave_out_groups(sql: str, groups: list[tuple[Any, ...]]) -> None:
    assert listed(sql) == groups


def test_an_outer_join_keeps_all_groups() -> None:
    found = listed("SELECT n_name, COUNT(*) FROM p LEFT JOIN nation ON nat = n AND n_name < 'N2' GROUP BY n_name")
    assert (None,) in found
    assert {("N0",), ("N1",)} <= set(found)


def test_every_group_of_a_row_is_listed() -> None:
    """Over all rows that the policy admits: what the engine finds by itself is in the list, in its order."""
    chance = random.Random(5)
    tests = ["r_name = 'ASIA'", "nation.r < 2", "n_name > 'N2'", "nat <> alt", "s = 'a'", "(n_name = 'N1' OR r_name = 'ASIA')",
             "(s = 'b' AND n_name < 'N5' OR s = 'a')", "alt > nation.r", "r_name IS NULL", "nat = region.r"]  # fmt: skip
    fewer = 0
    for _ in range(60):
        kind = chance.choice(("JOIN", "LEFT JOIN"))
        source = f"p {kind} nation ON nat = n {kind} region ON nation.r = region.r"
        where = " AND ".join(chance.sample(tests, chance.randint(1, 3)))
        names = chance.sample(["n_name", "r_name", "s", "nat"], chance.randint(1, 3))
        sql = f"FROM {source} WHERE {where} GROUP BY {', '.join(names)}"
        there = set(public(f"SELECT {', '.join(names)} {sql}"))
        found = listed(f"SELECT {', '.join(names)}, COUNT(*) {sql}")
        assert there <= set(found), sql
        assert len(set(found)) == len(found)
        fewer += len(found) == len(there)
    assert fewer > 20


def test_too_many_combinations_leave_the_list_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tied_keys, "MOST_TRIED", 3)
    sql = f"SELECT n_name, COUNT(*) FROM {ASIA} WHERE r_name = 'ASIA' GROUP BY n_name"
    assert len(listed(sql)) == 8
