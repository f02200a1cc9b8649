"""Cells of a partition: on the emitted SQL, whoever is not in a touched cell can go, and no exact sum changes."""

# ruff: noqa: E501  a question stands on one line
from __future__ import annotations

import json
import random
from datetime import date
from fractions import Fraction
from typing import Any

import duckdb
import pytest

from sfumato.policy import Policy, from_dict
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release.plan import plan
from tests import tableless
from tests.compiled import plain

AREAS = ["north", "south", "west"]


def policy() -> Policy:
    person = {"u": {"type": "text", "max_length": 9}}
    return from_dict(
        {
            "source": {"engine": "duckdb", "files": {"patient": "a", "visit": "b"}},
            "data": {"id": "p"},
            "privacy": {"epsilon": 10, "partition": "patient.area"},
            "tables": {
                "patient": {
                    "unit": "u",
                    "rows_per_unit": 1,
                    "columns": {**person, "area": {"values": AREAS}, "age": {"type": "integer", "min": 0, "max": 9}},
                },
                "visit": {
                    "unit": "u",
                    "rows_per_unit": 3,
                    "columns": {**person, "cost": {"type": "integer", "min": 0, "max": 9}},
                },
            },
        }
    )


QUESTIONS = [
    "SELECT COUNT(*), SUM(age) FROM patient WHERE area = 'north'",
    "SELECT age, COUNT(*) FROM patient WHERE area <> 'north' GROUP BY age",
    "SELECT COUNT(*) FROM patient WHERE area IS NULL",
    "SELECT COUNT(*) FROM visit JOIN patient USING (u) WHERE area IN ('south', 'west')",
    "SELECT COUNT(*) FROM visit JOIN patient USING (u) WHERE area IS NULL",
    "SELECT COUNT(*) FROM visit v LEFT JOIN patient p ON v.u = p.u WHERE p.area = 'west'",
    "SELECT COUNT(*) FROM visit v LEFT JOIN patient p ON v.u = p.u AND p.age > 4 WHERE p.area IS NULL",
    "SELECT COUNT(*) FROM visit v FULL JOIN patient p ON v.u = p.u WHERE p.area = 'south'",
    "SELECT AVG(m) FROM (SELECT u, MAX(age) AS m FROM patient WHERE area = 'north' GROUP BY u) AS t",
    "SELECT COUNT(*) FROM (SELECT u FROM patient WHERE area = 'north' UNION SELECT u FROM patient WHERE area = 'west') AS t",
    "SELECT COUNT(*) FROM patient p WHERE area = 'south' AND EXISTS (SELECT 1 FROM visit v WHERE v.u = p.u)",
    "SELECT COUNT(*) FROM patient a JOIN patient b ON a.u = b.u WHERE a.area = 'north' AND b.area = 'south'",
    "SELECT MEDIAN(age), COUNT(DISTINCT age) FROM patient WHERE area = 'west'",
]


def rows(seed: int) -> tuple[list[Any], list[Any]]:
    """Persons with a cell, without one, with two rows, with NULL, with a value that is not listed, with visits only."""
    r = random.Random(seed)
    names = [f"p{i}" for i in range(12)]
    patient = [(n, r.choice([*AREAS, *AREAS, None, "elsewhere"]), r.randrange(10)) for n in names[:10]]
    patient += [(names[0], "north", 1), (names[1], "south", 9)]
    visit = [(r.choice(names), r.randrange(10)) for _ in range(40)]
    return patient, visit


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sql", QUESTIONS, ids=range(len(QUESTIONS)))
def test_who_is_not_in_a_touched_cell_changes_nothing(sql: str, seed: int) -> None:
    made = policy()
    asked = plan(bind(parse(sql), made, date(2024, 1, 1)), made, Fraction(1), rows=tableless.tableless())
    statements = [statement for cut in asked.cuts for part in cut.parts for statement in plain(part.job).statements()]
    patient, visit = rows(seed)
    with duckdb.connect() as connection:
        for name, columns, listed in (
            ("patient", "u VARCHAR, area VARCHAR, age INTEGER", patient),
            ("visit", "u VARCHAR, cost INTEGER", visit),
        ):
            connection.execute(f"CREATE TABLE {name} ({columns})")
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(listed[0]))})", listed)

        def sums(without: str | None) -> list[Any]:
            connection.execute("BEGIN")
            for name in ("patient", "visit"):
                connection.execute(f"DELETE FROM {name} WHERE u = ?", [without])
            salted = [
                connection.execute(one.text, {"salt": "s"} if one.salted else None).fetchall() for one in statements
            ]
            connection.execute("ROLLBACK")
            return [sorted((row for row in found if any(row)), key=str) for found in salted]

        whole = sums(None)
        for person in sorted({row[0] for row in (*patient, *visit)}):
            own = [area if area in AREAS else None for name, area, _ in patient if name == person]
            cell = json.dumps(own[0]) if len(own) == 1 else "none at all"
            if asked.cells is not None and cell not in asked.cells:
                assert sums(person) == whole, person


def test_some_questions_touch_some_cells_only() -> None:
    made = policy()
    touched = [
        plan(bind(parse(sql), made, date(2024, 1, 1)), made, Fraction(1), rows=tableless.tableless()).cells
        for sql in QUESTIONS
    ]
    assert sum(cells is not None for cells in touched) >= 10
