"""Ties in several windows of one SELECT, and in rows that break what the policy declares.

As in test_row_order, a thousand people have rows that tie, and the same rows in another order, or those of all but one
person, must give the same numbers. Here several windows of one SELECT order the same rows in different ways, so that
pairs of their numbers depend on which of two alike rows each of them puts first; and a scalar sub-query has several
rows where the policy promises one, because rows break it or a domain clamps two keys to one.
"""

# ruff: noqa: E501  a query stands on one line
from __future__ import annotations

import importlib
import random
from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from sfumato.errors import PlanError
from tests.laws.mutants import planted
from tests.laws.neighbours import claimed, combined, loss
from tests.laws.test_row_order import opened
from tests.laws.twins import Here

NUMBER = '{ type = "integer", min = 0, max = 3 }'
POLICY = f"""
[source]
engine = "duckdb"
files = {{ w = "w.parquet", m = "m.parquet", x = "x.parquet", p = "p.parquet", v = "v.parquet", t = "t.parquet" }}
[data]
id = "ties"
[privacy]
epsilon = 10
[tables.w]
unit = "u"
rows_per_unit = 3
[tables.w.columns]
u = {{ type = "integer" }}
j = {NUMBER}
s = {{ type = "text", max_length = 9 }}
[tables.m]
unit = "u"
rows_per_unit = 2
[tables.m.columns]
u = {{ type = "integer" }}
t = {{ type = "timestamp", min = 2024-01-01T00:00:00, max = 2024-12-31T00:00:00 }}
lat = {{ type = "decimal", min = 48.8, max = 48.9, grid = 0.00001 }}
lon = {{ type = "decimal", min = 2.3, max = 2.4, grid = 0.00001 }}
[tables.x]
unit = "u"
rows_per_unit = 1
[tables.x.columns]
u = {{ type = "integer" }}
j = {NUMBER}
s = {{ type = "text", max_length = 9 }}
[tables.p]
unit = "u"
rows_per_unit = 1
[tables.p.columns]
u = {{ type = "integer" }}
k = {{ type = "integer", min = 0, max = 1000 }}
i = {NUMBER}
[tables.v]
unit = "u"
rows_per_unit = 1
[tables.v.columns]
u = {{ type = "integer" }}
j = {NUMBER}
[tables.t]
unit = {{ join = "p", on = "k = k" }}
rows_per_unit = 1
[tables.t.columns]
k = {{ type = "integer", min = 0, max = 1000 }}
j = {NUMBER}
"""
"""In m everybody has two rows: ages of 30 days and of a month, which are equal as intervals; points in one large cell and
in two small ones. In w everybody has four alike rows, where three are declared, and in x two, where one is; in p two that differ, where one
is declared; keys of t and p are clamped.
"""
PAIRED = "SELECT {} FROM (SELECT u, ROW_NUMBER() OVER (PARTITION BY u ORDER BY j) AS a, {} AS b FROM w) AS q WHERE {}"
SUB = "(SELECT p.i FROM p WHERE p.u = v.u)"
ONE = "SELECT COUNT(*) FROM ({}) AS q WHERE {}"
TIMES = (datetime(2024, 1, 31), datetime(2024, 2, 1))  # noqa: DTZ001  moments have no zone
LAT, LON = (48.85001, 48.85501), (2.35001, 2.35501)
AGES = "(SELECT u, age(t, TIMESTAMP '2024-01-01') AS a FROM m) AS q"
CELLS = "(SELECT u, geo_cell(lat, lon, 5000) AS h FROM m) AS q"
BEHIND = {
    "month of an age, distinct on": ONE.format(f"SELECT DISTINCT ON (q.u) q.u, EXTRACT(month FROM q.a) AS d FROM {AGES}", "d = 1"),
    "day of an age, row_number": ONE.format(f"SELECT q.u, EXTRACT(day FROM q.a) AS d, ROW_NUMBER() OVER (PARTITION BY q.u ORDER BY q.a) AS r FROM {AGES}", "r = 1 AND d = 30"),
    "day of an age, lag": ONE.format(f"SELECT q.u, LAG(EXTRACT(day FROM q.a)) OVER (PARTITION BY q.u ORDER BY q.a) AS d FROM {AGES}", "d = 30"),
    "month of an age, first_value": ONE.format(f"SELECT q.u, FIRST_VALUE(EXTRACT(month FROM q.a)) OVER (PARTITION BY q.u ORDER BY q.a) AS d FROM {AGES}", "d = 1"),
    "day of an age, a frame of rows": ONE.format(f"SELECT q.u, SUM(EXTRACT(day FROM q.a)) OVER (PARTITION BY q.u ORDER BY q.a ROWS UNBOUNDED PRECEDING) AS d, EXTRACT(month FROM q.a) AS e FROM {AGES}", "d = 30 AND e = 1"),
    "day of an age, two windows": ONE.format(f"SELECT q.u, EXTRACT(day FROM q.a) AS d, ROW_NUMBER() OVER (PARTITION BY q.u) AS r, ROW_NUMBER() OVER (PARTITION BY q.u, q.a) AS e FROM {AGES}", "d = 30 AND r = 1"),
    "day of an age, qualify": ONE.format(f"SELECT q.u, EXTRACT(day FROM q.a) AS d FROM {AGES} QUALIFY ROW_NUMBER() OVER (PARTITION BY q.u ORDER BY q.a) = 1", "d = 30"),
    "epoch of an age": ONE.format(f"SELECT DISTINCT ON (q.u) q.u, EXTRACT(epoch FROM q.a) AS d, EXTRACT(day FROM q.a) AS e FROM {AGES}", "e = 30"),
    "decade of an age, two sub-queries": ONE.format(f"SELECT DISTINCT ON (u) u, EXTRACT(decade FROM b) AS d, EXTRACT(day FROM b) AS e FROM (SELECT q.u, q.a AS b FROM {AGES}) AS q", "d = 0 AND e = 30"),
    "an age in lateral": f"SELECT COUNT(*) FROM (SELECT p.u, l.d FROM (SELECT DISTINCT u FROM m) AS p JOIN LATERAL (SELECT EXTRACT(day FROM q.a) AS d FROM {AGES} WHERE q.u = p.u LIMIT 1) AS l ON TRUE) AS z WHERE d = 30",
    "an age in WITH": f"WITH q AS (SELECT * FROM {AGES}) SELECT COUNT(*) FROM (SELECT DISTINCT ON (x.u) x.u, EXTRACT(month FROM x.a) AS d FROM q AS x JOIN q AS y ON x.u = y.u) AS z WHERE d = 1",
    "small cell of a large one, distinct on": ONE.format(f"SELECT DISTINCT ON (q.u) q.u, geo_cell(q.h, 100) AS c FROM {CELLS}", "c < '48.853'"),
    "small cell of a large one, row_number": ONE.format(f"SELECT q.u, geo_cell(q.h, 100) AS c FROM {CELLS} QUALIFY ROW_NUMBER() OVER (PARTITION BY q.u ORDER BY q.h) = 1", "c < '48.853'"),
}  # fmt: skip
"""Functions that see what is behind the name of an expression, and tell apart what is one value of it."""
HIDDEN = "(SELECT u, j FROM w) AS q"
ADMITTED = {
    f"{aggregate} of {name}": f"SELECT {aggregate.format('x')} FROM (SELECT u, {window} AS x FROM {HIDDEN}) AS z"
    for aggregate in ("SUM({})", "AVG({})", "COUNT({})", "COUNT(*)", "MAX({})", "STDDEV({})", "COUNT(DISTINCT {})", "MEDIAN({})")
    for name, window in (
        ("lag", "LAG(j) OVER (PARTITION BY u ORDER BY j)"),
        ("lag with a frame", "LAG(j) OVER (PARTITION BY u ORDER BY j RANGE UNBOUNDED PRECEDING)"),
        ("first_value", "FIRST_VALUE(j) OVER (PARTITION BY u ORDER BY j)"),
        ("a frame of rows", "SUM(j) OVER (PARTITION BY u ORDER BY j ROWS UNBOUNDED PRECEDING)"),
        ("the latest row", "CASE WHEN ROW_NUMBER() OVER (PARTITION BY u ORDER BY j DESC) = 1 THEN j END"),
    )
} | {
    "first of a range beside row_number": ONE.format(f"SELECT u, FIRST_VALUE(j) OVER (PARTITION BY u ORDER BY j RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS a, ROW_NUMBER() OVER (PARTITION BY u ORDER BY j DESC) AS b FROM {HIDDEN}", "b = 1 AND a = 1"),
    "last of groups beside a frame of rows": ONE.format(f"SELECT u, LAST_VALUE(j) OVER (PARTITION BY u ORDER BY j GROUPS CURRENT ROW) AS a, COUNT(*) OVER (PARTITION BY u ORDER BY j DESC ROWS UNBOUNDED PRECEDING) AS b FROM {HIDDEN}", "b = 1 AND a = 1"),
    "row_number with a range beside another": ONE.format(f"SELECT u, ROW_NUMBER() OVER (PARTITION BY u ORDER BY j RANGE UNBOUNDED PRECEDING) AS a, ROW_NUMBER() OVER (PARTITION BY u ORDER BY j DESC) AS b FROM {HIDDEN}", "b = 1 AND a = 1"),
    "windows over a union": "SELECT SUM(x) FROM (SELECT u, LAG(j) OVER (PARTITION BY u ORDER BY j) AS x FROM (SELECT u, j FROM w UNION ALL SELECT u, j FROM x) AS q) AS z",
    "a union of windows": f"SELECT SUM(x) FROM (SELECT u, LAG(j) OVER (PARTITION BY u ORDER BY j) AS x FROM {HIDDEN} UNION ALL SELECT u, j FROM v) AS z",
    "an expression over distinct on": f"SELECT SUM(ABS(j)) FROM (SELECT DISTINCT ON (u) u, j FROM {HIDDEN} ORDER BY u, j DESC) AS z",
}  # fmt: skip
"""Common questions over sub-queries that hide columns, which decide no tie and are not read."""
QUERIES = {
    **BEHIND,
    **ADMITTED,
    "another partition": PAIRED.format("COUNT(*)", "ROW_NUMBER() OVER (PARTITION BY u, s ORDER BY j)", "a = 1 AND b = 1"),
    "another order": PAIRED.format("COUNT(*)", "ROW_NUMBER() OVER (PARTITION BY u ORDER BY s, j DESC)", "a = 1 AND b = 1"),
    "a product of two": PAIRED.format("SUM(a * b)", "ROW_NUMBER() OVER (PARTITION BY u, s ORDER BY j)", "a > 0"),
    "a frame of rows": PAIRED.format("COUNT(*)", "SUM(j) OVER (PARTITION BY u, s ORDER BY j ROWS UNBOUNDED PRECEDING)", "a = 1 AND b = 1"),
    "lead": PAIRED.format("COUNT(*)", "LEAD(j) OVER (PARTITION BY u, s ORDER BY j)", "a = 1 AND b IS NULL"),
    "more rows than declared": PAIRED.format("COUNT(*)", "LEAD(j) OVER (PARTITION BY u, s ORDER BY j)", "a = 1 AND b IS NULL").replace("FROM w", "FROM x"),
    "people with more rows": PAIRED.format("COUNT(DISTINCT u)", "LEAD(j) OVER (PARTITION BY u, s ORDER BY j DESC)", "a = 2 AND b IS NULL"),
    "two leads": ONE.format("SELECT u, LEAD(j) OVER (PARTITION BY u ORDER BY j) AS a, LEAD(j) OVER (PARTITION BY u, s ORDER BY j) AS b FROM x", "a IS NULL AND b IS NULL"),
    "distinct on": ONE.format("SELECT DISTINCT ON (u) u, ROW_NUMBER() OVER (PARTITION BY u, s ORDER BY j) AS b FROM w", "b = 1"),
    "qualify": ONE.format("SELECT u, SUM(j) OVER (PARTITION BY u, s ORDER BY j ROWS UNBOUNDED PRECEDING) AS b FROM w QUALIFY ROW_NUMBER() OVER (PARTITION BY u ORDER BY j) = 1", "b = 1"),
    "three windows": ONE.format("SELECT u, ROW_NUMBER() OVER (PARTITION BY u) AS a, ROW_NUMBER() OVER (PARTITION BY u, j) AS b, LAG(j) OVER (PARTITION BY u, s) AS c FROM w", "a = 1 AND b = 1 AND c IS NULL"),
    "groups of a person": ONE.format("SELECT u, j, ROW_NUMBER() OVER (PARTITION BY u ORDER BY MIN(i)) AS a, ROW_NUMBER() OVER (PARTITION BY u, j) AS b FROM (SELECT w.u, w.j, p.i FROM w JOIN p ON w.u = p.u) AS e GROUP BY u, j, i", "a = 1 AND b = 1"),
    "a sub-query beside row_number": ONE.format(f"SELECT v.u, ROW_NUMBER() OVER (PARTITION BY v.u ORDER BY v.j) AS r, {SUB} AS s FROM v", "r = 1 AND s = 3"),
    "a sub-query under distinct on": ONE.format(f"SELECT DISTINCT ON (v.u) v.u, v.j, {SUB} AS s FROM v ORDER BY v.u, v.j", "s = 3"),
    "a sub-query in a window": ONE.format(f"SELECT v.u, LAG({SUB}) OVER (PARTITION BY v.u ORDER BY v.j) AS s FROM v", "s = 3"),
    "a sub-query and a frame": ONE.format(f"SELECT v.u, SUM({SUB}) OVER (PARTITION BY v.u ORDER BY v.j ROWS UNBOUNDED PRECEDING) AS s FROM v", "s = 3"),
    "a sub-query beside groups": ONE.format(f"SELECT v.u, COUNT(*) AS c, ROW_NUMBER() OVER (PARTITION BY v.u ORDER BY COUNT(*)) AS r, {SUB} AS s FROM v GROUP BY v.u", "r = 1 AND s = 3"),
    "a key that is clamped": ONE.format("SELECT a.u, LAG((SELECT p.i FROM p WHERE p.k = t.k)) OVER (PARTITION BY a.u ORDER BY t.j) AS s FROM t JOIN p AS a ON t.k = a.k", "s = 3"),
}  # fmt: skip
FAULTS = (
    ("clauses", "if len(sorts) < 2:", "if True:"),
    (
        "clauses",
        "Facts(INTEGER, Fraction(1), None, Fraction(1), nullable=False)",
        "persons.window_facts('row_number', (), relation.person_rows, 0)",
    ),
    ("clauses", "for name, column in relation.columns.items() if name not in before}", "for name, column in ()}"),
    (
        "clauses",
        "return list(read.values())",
        "return nameable + [c for n, c in relation.columns.items() if n not in before]",
    ),
)
"""Each window breaks ties by itself; rows beyond the bound have one number; the columns of sub-queries are not among those
that decide; and expressions decide by their values, not by what is read under their names.
"""


def frames(people: list[int]) -> dict[str, pa.Table]:
    """Rows in a random order: an engine sorts few rows, or sorted ones, as they came."""

    def table(rows: list[dict[str, Any]]) -> pa.Table:
        random.Random(3 * len(people) + people[0]).shuffle(rows)
        return pa.Table.from_pylist(rows)

    return {
        "w": table([{"u": who, "j": 1, "s": "abcdefgh"} for who in people for _ in range(4)]),
        "x": table([{"u": who, "j": 1, "s": "abcdefgh"} for who in people for _ in range(2)]),
        "p": table([{"u": who, "k": 5000 + 2 * who + i, "i": 3 * i} for who in people for i in (0, 1)]),
        "v": table([{"u": who, "j": 1} for who in people]),
        "m": table([{"u": who, "t": TIMES[i], "lat": LAT[i], "lon": LON[i]} for who in people for i in (0, 1)]),
        "t": table([{"k": 5000 + 2 * who, "j": 1} for who in people]),
    }


@pytest.fixture(scope="module")
def databases() -> Iterator[list[Here]]:
    with opened(POLICY, frames, gone=(0, 300, 500, 701)) as made:
        yield made


def check(plan: Any) -> None:
    """What the gateway asks of every plan before it is charged, by the checker of the algebra that is loaded."""
    checker = importlib.import_module("sfumato.algebra.contribution")
    for cut in plan.cuts:
        for part in cut.parts:
            checker.contribution(part.job, len(part.groups))


def numbers(databases: list[Here], text: str, how: Any = None) -> tuple[Any, list[Any]]:
    """The plan of a query, and its exact numbers in each of the databases, by the plan that is run."""
    plans = [here.planned(text, None, how) for here in databases]
    vectors = [here._vector(plan.cuts[0], (), facts=True) for here, plan in zip(databases, plans, strict=True)]
    return plans[0].cuts[0], vectors


def moved(databases: list[Here], text: str, how: Any = None) -> tuple[bool, Fraction]:
    """Whether the order of rows matters, and the most that one person changes, in shares of what is claimed."""
    cut, (as_they_are, turned, *without) = numbers(databases, text, how)
    losses, most = [loss(cut, combined([as_they_are, one], [1, -1])) for one in without], claimed(cut)
    return as_they_are != turned, max(losses) / most if most else Fraction(any(losses)) * 2  # a choice has no noise


def is_moved(found: tuple[bool, Fraction]) -> bool:
    return found[0] or found[1] > 1


@pytest.mark.parametrize("form", QUERIES)
def test_ties_change_no_number(form: str, databases: list[Here]) -> None:
    depends, most = moved(databases, QUERIES[form])
    assert not depends
    assert most <= 1


@pytest.mark.parametrize("form", QUERIES)
def test_the_checker_admits_plans_whose_ties_are_decided(form: str, databases: list[Here]) -> None:
    check(databases[0].planned(QUERIES[form], None))


@pytest.mark.parametrize("fault", FAULTS)
def test_the_checker_refuses_faults_of_ties(fault: tuple[str, str, str], databases: list[Here]) -> None:
    """With a fault planted, no plan passes the checker whose numbers depend on how rows lie."""
    refused = set()
    with planted(fault) as faulty:
        for form, text in QUERIES.items():
            try:
                check(databases[0].planned(text, None, faulty))
            except PlanError:
                refused.add(form)
        seen = {form for form in QUERIES.keys() - refused if is_moved(moved(databases, QUERIES[form], faulty))}
    assert refused
    assert not seen


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_ties_are_seen(fault: tuple[str, str, str], databases: list[Here]) -> None:
    """With a fault planted, numbers depend on how rows lie, or one person moves them by more than is claimed."""
    with planted(fault) as faulty:
        found = {form: moved(databases, text, faulty) for form, text in QUERIES.items()}
    seen = [form for form, (depends, most) in found.items() if depends or most > 1]
    assert seen
    assert max(most for _, most in found.values()) > 1


def test_a_frame_of_groups_means_the_same_beside_another_window(databases: list[Here]) -> None:
    """Numbers of rows would make a group of each row."""
    first = "FIRST_VALUE(j) OVER (PARTITION BY u ORDER BY j GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) AS a"
    beside = "ROW_NUMBER() OVER (PARTITION BY u ORDER BY j DESC) AS b"
    rows = "(SELECT u, i AS j FROM p UNION ALL SELECT u, i FROM p) AS e"
    alone, together = (ONE.format(f"SELECT u, {shown} FROM {rows}", "a = 0") for shown in (first, f"{first}, {beside}"))
    vectors = [numbers(databases, text)[1] for text in (alone, together)]
    assert vectors[0] == vectors[1]
    assert any(any(values) for values in vectors[0][0].values())
