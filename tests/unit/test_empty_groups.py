"""Groups of nobody: where they change a rank, an average or a LIMIT, the preview and the answer say so."""

from __future__ import annotations

import pandas as pd
import pytest

import sfumato

GROUPS = "(SELECT g, COUNT(*) AS n FROM data GROUP BY g)"
SAID = {
    "SELECT g, RANK() OVER (ORDER BY COUNT(*)) FROM data GROUP BY g": "RANK",
    "SELECT g, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY g) FROM data GROUP BY g": "LAG",
    "SELECT g, COUNT(*) AS n FROM data GROUP BY g ORDER BY n LIMIT 2": "LIMIT",
    "SELECT g, COUNT(*) / AVG(COUNT(*)) OVER () FROM data GROUP BY g": "AVG",
    f"SELECT AVG(n), MIN(n) FROM {GROUPS} AS t": "AVG and MIN",
    f"SELECT COUNT(*) FROM {GROUPS} AS t": "COUNT",
    f"SELECT n FROM (SELECT n FROM {GROUPS} AS t ORDER BY n LIMIT 2) AS s": "LIMIT",
    f"SELECT AVG(n) FROM {GROUPS} AS t WHERE g <> 'a'": "AVG",
}
NOT_SAID = [
    "SELECT g, COUNT(*) FROM data GROUP BY g ORDER BY g",
    "SELECT g, RANK() OVER (ORDER BY COUNT(*) DESC) FROM data GROUP BY g",
    "SELECT g, COUNT(*) AS n FROM data GROUP BY g ORDER BY n DESC LIMIT 2",
    "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g) FROM data GROUP BY g",
    f"SELECT SUM(n) FROM {GROUPS} AS t",
    f"SELECT AVG(n) FROM {GROUPS} AS t WHERE n > 10",
    "SELECT w, RANK() OVER (ORDER BY COUNT(*)) FROM data GROUP BY w",
    "SELECT AVG(x) FROM data",
    "SELECT g, COUNT(*) FROM data WHERE 1 = 0 GROUP BY g",
]


def gateway() -> sfumato.gateway.Gateway:
    frame = pd.DataFrame({"id": range(200), "g": ["a", "b"] * 100, "w": ["v"] * 200, "x": [1] * 200})
    of = {"unit": "id", "rows_per_unit": 1, "epsilon": 100, "delta": 1e-3, "bounds": {"x": (0, 9)}}
    return sfumato.protect(frame, values={"g": ["a", "b", "c"]}, **of)


@pytest.mark.parametrize("sql", SAID)
def test_groups_of_nobody_are_mentioned_where_they_count(sql: str) -> None:
    with gateway() as gate:
        expected = f"every declared group is a row, even an empty one, and counts in {SAID[sql]}"
        assert expected in [text for _, text in gate.explain(sql).notes]
        assert expected in [text for _, text in gate.sql(sql).notes]


@pytest.mark.parametrize("sql", NOT_SAID)
def test_nothing_is_said_where_they_change_nothing(sql: str) -> None:
    with gateway() as gate:
        preview = gate.explain(sql)
        assert preview.refused is None
        assert not [text for _, text in preview.notes if "declared group" in text]
