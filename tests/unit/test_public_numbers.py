"""Numbers of public tables: bounds and grids are read from their rows, so that sums over people can be made of them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import sfumato
from sfumato.engines.duckdb import sources
from sfumato.policy import Table

PEOPLE = 40
POLICY = """
[data]
id = "rates"
version = "2024-01-01"
[source]
engine = "duckdb"
files = { visit = "visit.csv", rate = "rate.csv", lines = "lines.jsonl", typed = "typed.parquet" }
[privacy]
epsilon = 1e9
query_epsilon = 1e7
[tables.visit]
unit = "pid"
rows_per_unit = 1
[tables.visit.columns]
pid = { type = "integer" }
cost = { type = "decimal", min = 0, max = 10, grid = 0.1 }
area = { values = ["a", "b"] }
[tables.rate]
public = true
[tables.lines]
public = true
[tables.typed]
public = true
"""


@pytest.fixture(scope="module")
def gate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rates")
    rows = "".join(f"{i},{i % 7}.5,{'ab'[i % 2]}\n" for i in range(PEOPLE))
    (folder / "visit.csv").write_text("pid,cost,area\n" + rows)
    (folder / "rate.csv").write_text("area,price,fine,kept\na,1.25,0.12345678901,5\nb,-2.50,3.3,7\nc,,1,9\n")
    (folder / "lines.jsonl").write_text('{"area": "a", "price": 1.25}\n{"area": "b", "price": -2.5}\n')
    typed = "SELECT a AS area, CAST(p AS DECIMAL(9, 3)) AS price, CAST(p AS DOUBLE) AS near"
    given = "(VALUES ('a', 1.25), ('b', -2.5)) AS t(a, p)"
    duckdb.sql(f"{typed} FROM {given}").write_parquet(str(Path(folder / "typed.parquet")))
    (folder / "sfumato.toml").write_text(POLICY)
    with sfumato.open(folder / "sfumato.toml") as gate:
        yield gate


def wanted(price):
    return sum((i % 7 + 0.5) * price["ab"[i % 2]] for i in range(PEOPLE))


@pytest.mark.parametrize(
    ("table", "column"),
    [("rate", "price"), ("lines", "price"), ("typed", "price"), ("typed", "near"), ("rate", "fine")],
)
def test_sums_are_made_of_public_numbers(gate, table, column):
    """Those of a text file too, which has no types; also with ROUND, which the hint of a refusal proposes."""
    prices = {"a": 0.12345678901, "b": 3.3} if column == "fine" else {"a": 1.25, "b": -2.5}
    for term in (f"v.cost * r.{column}", f"ROUND(v.cost * r.{column}, 3)"):
        answer = gate.sql(f"SELECT SUM({term}) FROM visit v JOIN {table} r USING (area)")
        assert float(answer.rows[0][0]) == pytest.approx(wanted(prices), abs=0.1)


def test_numbers_of_a_text_file_are_as_they_are_written(gate):
    policy = gate.policy.tables["rate"].columns
    assert (policy["price"].type, policy["fine"].type, policy["kept"].type) == ("decimal", "double", "integer")
    assert [str(row[0]) for row in gate.sql("SELECT price * 3 FROM rate ORDER BY 1").rows] == ["-7.5", "3.75", "None"]
    assert gate.sql("SELECT SUM(price) = -1.25 FROM rate").rows == [(True,)]


@pytest.mark.parametrize(
    "written", [["9.99", "10"], ["-10", "0", ".5"], ["1.", "2.25"], ["123456789012.34", "0.5", "-1"]]
)
def test_numbers_without_a_point_are_decimals_beside_others(tmp_path, written):
    lines = "".join(f"{'ab'[i % 2]},{number}\n" for i, number in enumerate(written))
    (tmp_path / "rate.csv").write_text("area,price\n" + lines)
    head, _, _ = POLICY.partition("[tables.visit]")
    files = head.replace('visit = "visit.csv", ', "").replace(', lines = "lines.jsonl", typed = "typed.parquet"', "")
    (tmp_path / "sfumato.toml").write_text(files + "[tables.rate]\npublic = true\n")
    with sfumato.open(tmp_path / "sfumato.toml") as gate:
        rows = [row[0] for row in gate.sql("SELECT price FROM rate").rows]
        total = gate.sql("SELECT SUM(price) FROM rate").rows[0][0]
    assert sorted(rows) == sorted(map(Decimal, written))
    assert total == sum(map(Decimal, written))


def test_numbers_with_more_digits_than_a_double_has_are_none(tmp_path):
    for number, exact in (("123456789012.34", True), ("123456789012.3456", False), ("1e5", False)):
        (tmp_path / "t.csv").write_text(f"price\n{number}\n1.5\n")
        with duckdb.connect() as engine:
            table = Table("t", True, None, None, None, Fraction(1), {}, {})
            found = sources._with_decimals(engine, f"read_csv('{tmp_path / 't.csv'}')", table)
        assert ("DECIMAL(18" in found) is exact
