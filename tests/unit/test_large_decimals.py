"""Numbers that are one double, and not one number: public decimals beyond 2^53 stay apart."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

import sfumato

POLICY = """
[source]
engine = "duckdb"
files = { m = "m.parquet", p = "p.parquet" }
[data]
id = "large"
version = "1"
[privacy]
epsilon = 10
[tables.p]
unit = "id"
rows_per_unit = 1
[tables.p.columns]
id = { type = "integer" }
x = { type = "integer", min = 1152921504606846975, max = 1152921504606846977 }
[tables.m]
public = true
"""
ROWS = """SELECT * FROM (VALUES (1, 9007199254740993.01::DECIMAL(38, 2), 9007199254740993), (2, 9007199254740993.02, 9007199254740992),
 (3, 90071992547409930000.02, 1), (4, NULL, NULL), (5, -9007199254740993.01, -9007199254740993)) AS t(k, d, b)"""  # noqa: E501  a table in rows


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> sfumato.Gateway:
    home: Path = tmp_path_factory.mktemp("large")
    engine = duckdb.connect()
    engine.execute(f"COPY ({ROWS}) TO '{home}/m.parquet' (FORMAT parquet)")
    people = "SELECT i AS id, 1152921504606846975 + i % 3 AS x FROM range(30) AS r(i)"
    engine.execute(f"COPY ({people}) TO '{home}/p.parquet' (FORMAT parquet)")
    (home / "sfumato.toml").write_text(POLICY)
    return sfumato.open(home / "sfumato.toml")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT d, COUNT(*) FROM m GROUP BY d",
        "SELECT k, d, b, d + 1, -d FROM m",
        "SELECT SUM(d), MIN(d), MAX(d), COUNT(DISTINCT d), COUNT(DISTINCT b), SUM(b) FROM m",
        "SELECT a.k, b.k FROM m a JOIN m b ON a.d = b.d",
        "SELECT k FROM m WHERE d > 9007199254740993.01",
    ],
)
def test_public_decimals_stay_apart(gate: sfumato.Gateway, text: str) -> None:
    wanted = duckdb.sql(text.replace("FROM m", f"FROM ({ROWS}) AS m").replace("JOIN m", f"JOIN ({ROWS}) AS m")
                        .replace("AS m a", "AS a").replace("AS m b", "AS b")).fetchall()  # fmt: skip

    def key(row: tuple[object, ...]) -> list[str]:
        return ["" if v is None else str(Decimal(str(v)).normalize() + 0) for v in row]

    assert sorted(map(key, gate.sql(text).rows)) == sorted(map(key, wanted))


def test_numbers_of_people_beside_a_bound_are_not_the_bound(gate: sfumato.Gateway) -> None:
    found = gate.sql("SELECT x, COUNT(*) FROM p GROUP BY x", epsilon=9).rows
    assert [round(n / 10) for x, n in found if x is not None] == [1, 1, 1]
