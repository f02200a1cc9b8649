"""COUNT(DISTINCT (a, b)): the text of a row tells different rows apart, and is no longer than is claimed."""

# ruff: noqa: DTZ001  a moment without a zone
from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from itertools import product

import pytest

from sfumato.algebra.tree import columns_of
from sfumato.engines.duckdb.expressions import expression
from sfumato.errors import QueryError
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.types import identifier
from tests import tableless
from tests.laws.asking import TODAY
from tests.laws.directed import policy

COLUMNS = {
    "t": {"type": "text", "max_length": 3},
    "u": {"type": "text", "max_length": 12},
    "i": {"type": "integer", "min": -10, "max": 12},
    "d": {"type": "decimal", "min": Decimal("-1.25"), "max": 2, "grid": Decimal("0.25")},
    "b": {"type": "boolean"},
    "at": {"type": "timestamp", "min": datetime(2024, 1, 1), "max": datetime(2024, 12, 31, 23)},
    "x": {"type": "double"},
}
SIGNS = ["", ",", ":", "1", "1:", ",1", "1,", ":,", "\\", "n", "11", "0:,"]
SHOWN = ["NULL", *(f"'{sign}'" for sign in SIGNS)]
ADMISSIBLE = {
    "t": SHOWN,
    "u": [*SHOWN, "'1:1,1:1,'", "'äöü,12:'", "'123456789012'"],
    "i": ["NULL", "-10", "0", "1", "12"],
    "d": ["NULL", "-5", "0", "1", "8"],  # steps of a quarter
    "b": ["NULL", "TRUE", "FALSE"],
    "at": ["NULL", "TIMESTAMP '2024-01-01 00:00:00'", "TIMESTAMP '2024-01-01 00:00:00.000001'"],
}
ROWS = [
    "(t, u)",
    "(t, u, t || ',')",
    "(u, i)",
    "(i, t)",
    "(d, b, i)",
    "(t, (u, b))",
    "((t, b), u)",
    "(at, d)",
    "ROW(u)",
]


def bound(row):
    release = bind(parse(f"SELECT COUNT(DISTINCT {row}) FROM t"), policy(COLUMNS, 9), TODAY, tableless.tableless())
    return release.releases[0].aggregates[0][1].arg


@pytest.mark.parametrize("row", ROWS)
def test_different_rows_have_different_texts(row: str) -> None:
    """Every row of hostile values: as many texts as rows, none of them NULL or longer than claimed."""
    arg = bound(row)
    columns = list(columns_of(arg))
    values = list(product(*(ADMISSIBLE[name.split(".", 1)[1]] for name in columns)))
    rows = ", ".join(f"({', '.join(row)})" for row in values)
    names, text = ", ".join(map(identifier, columns)), expression(arg)
    (found,) = tableless.run(
        f"SELECT COUNT(DISTINCT {text}), COUNT({text}), MAX(LENGTH({text})) FROM (VALUES {rows}) AS t({names})"
    )
    assert found[:2] == (len(values), len(values))
    assert not arg.facts.nullable
    assert found[2] <= arg.facts.length


@pytest.mark.parametrize(
    ("row", "why"), [("(t, x)", "is a double"), ("(t, x * 2)", "is a double"), ("t, u", "one column")]
)
def test_others_are_refused(row: str, why: str) -> None:
    with pytest.raises(QueryError, match=why) as refused:
        bound(row)
    assert row != "t, u" or "COUNT(DISTINCT (t, u))" in (refused.value.hint or "")
