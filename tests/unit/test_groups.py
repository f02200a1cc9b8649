"""How many groups a question may have: all of its grouping sets and releases together (semantics 3.6a)."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest

from sfumato.algebra import group_keys
from sfumato.errors import QueryError
from sfumato.policy import from_dict
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release.plan import Plan, plan
from tests.tableless import tableless

NUMBER = {"type": "integer", "min": 1, "max": 9, "nulls": False}
POLICY = from_dict(
    {
        "source": {"engine": "duckdb", "files": {"t": ":memory:"}},
        "data": {"id": "groups"},
        "privacy": {"epsilon": 10},
        "tables": {
            "t": {
                "unit": "u",
                "rows_per_unit": 1,
                "columns": {"u": {"type": "integer"}, **dict.fromkeys("abc", NUMBER)},
            }
        },
    }
)


def planned(sql: str) -> Plan:
    return plan(bind(parse(sql), POLICY, date(2024, 1, 1), tableless()), POLICY, Fraction(1), rows=tableless())


@pytest.mark.parametrize(
    ("sql", "groups"),
    [
        ("SELECT COUNT(*) FROM t GROUP BY a, b", 81),
        ("SELECT COUNT(*) FROM t GROUP BY ROLLUP (a, b)", 91),
        ("SELECT COUNT(*) FROM t GROUP BY GROUPING SETS ((a, b), (b, c), (a, c))", 243),
        ("SELECT a, COUNT(*) FROM t GROUP BY a, b UNION ALL SELECT c, COUNT(*) FROM t GROUP BY b, c", 162),
        ("SELECT COUNT(*) FROM t WHERE a > (SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM t GROUP BY b, c) AS q)", 82),
    ],
)
def test_groups_of_a_question_are_counted_together(monkeypatch: pytest.MonkeyPatch, sql: str, groups: int) -> None:
    """A free preview of sixty-four sets of a million groups each would fill the memory of whoever serves it."""
    assert sum(len(part.groups) for cut in planned(sql).cuts for part in cut.parts) == groups
    monkeypatch.setattr(group_keys, "MOST_GROUPS", groups)
    planned(sql)
    monkeypatch.setattr(group_keys, "MOST_GROUPS", groups - 1)
    with pytest.raises(QueryError, match=f"this query has {groups} groups, more than {groups - 1}"):
        planned(sql)
