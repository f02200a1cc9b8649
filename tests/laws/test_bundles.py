"""The parts of an aggregate: no admissible row is longer than its bundle says, by the engine's own arithmetic."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest

from sfumato.algebra.column_facts import facts_of
from sfumato.algebra.functions import common_grid
from sfumato.engines.duckdb.expressions import literal, steps
from sfumato.policy import from_dict
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release.plan import plan
from sfumato.types import identifier
from tests import tableless

F = Fraction
POLICY = from_dict(
    {
        "source": {"engine": "duckdb", "files": {"t": "t.csv"}},
        "data": {"id": "d"},
        "privacy": {"epsilon": 1},
        "tables": {
            "t": {
                "unit": "u",
                "rows_per_unit": 3,
                "columns": {
                    "u": {"type": "text", "max_length": 9},
                    "a": {"type": "integer", "min": -7, "max": 12},
                    "p": {"type": "integer", "min": 100, "max": 120},
                    "c": {"type": "decimal", "min": -1, "max": 2, "grid": F(1, 4)},
                    "n": {"type": "integer", "min": 0, "max": 3, "nulls": False},
                },
            }
        },
    }
)
QUESTIONS = [
    "COUNT(*)",
    "COUNT(a)",
    "COUNT(*) FILTER (WHERE a > 3 OR c < 0)",
    "SUM(a)",
    "SUM(p)",
    "SUM(c) FILTER (WHERE n <> 2)",
    "AVG(a)",
    "AVG(c)",
    "AVG(p) FILTER (WHERE a IS NULL)",
    "SUM(a * n - p)",
    "SUM(a / n)",
    "AVG(a % 5)",
    "SUM(CASE WHEN a > 0 THEN c ELSE p END)",
    "SUM(ABS(a) + ROUND(c, 1) + FLOOR(c) + CEIL(c))",
    "SUM(ROUND(a / 3.0, 2))",
    "SUM(COALESCE(NULLIF(a, 5), 9))",
    "AVG(GREATEST(a, n))",
    "SUM(LEAST(a, c, p) - -n)",
    "SUM(SIGN(a) * CAST(c AS INTEGER))",
]


@pytest.mark.parametrize("text", QUESTIONS)
def test_no_row_is_longer_than_its_bundle(text: str) -> None:
    """Over all declared values and NULL: sizes add up to at most `length`, and reach it for a plain column;
    each part stays within the bounds that interval arithmetic gave it."""
    asked = plan(
        bind(parse(f"SELECT {text} FROM t"), POLICY, date(2024, 1, 1)), POLICY, F(1), rows=tableless.tableless()
    )
    table = POLICY.tables["t"]
    domains = []
    for name in ("a", "p", "c", "n"):
        facts = facts_of(table.columns[name])
        values = [
            literal(facts.low + i * facts.grid, facts) for i in range(int((facts.high - facts.low) / facts.grid) + 1)
        ]
        values += ["NULL"] if facts.nullable else []
        domains.append(f"(SELECT unnest([{', '.join(values)}]) AS {identifier('0.' + name)})")
    for released in asked.cuts[0].parts[0].bundles:
        bundle = released.bundle
        grid = common_grid(*(part.facts.grid for part in bundle.parts))
        shown = ", ".join(steps(part, grid) for part in bundle.parts)
        rows = (
            tableless.open_tableless()
            .execute(f"SELECT DISTINCT {shown} FROM {' CROSS JOIN '.join(domains)}")
            .fetchall()
        )
        longest = max(sum(abs(cell) for cell in row) * grid for row in rows)
        assert longest <= bundle.length
        for i, part in enumerate(bundle.parts):
            assert all(part.facts.low <= row[i] * grid <= part.facts.high for row in rows)
        if text in ("COUNT(*)", "COUNT(a)", "SUM(a)", "SUM(p)", "AVG(a)", "AVG(c)"):
            assert longest == bundle.length
