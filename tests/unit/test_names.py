"""Names as people write them: in any case, without a name for a sub-query, and aliases of the select list."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import sfumato
from sfumato.errors import QueryError
from sfumato.gateway import Gateway

POLICY = """
[source]
engine = "duckdb"
files = { hits = "hits.parquet", Shops = "Shops.parquet", device = "device.parquet" }
[data]
id = "names"
version = "1"
[privacy]
epsilon = 1e15
delta = 0.1
query_delta = 1e-6
query_epsilon = 1e9
[tables.hits]
unit = "UserID"
rows_per_unit = 4
groups_per_unit = 4
[tables.hits.columns]
UserID = { type = "integer" }
ShopID = { type = "integer", min = 0, max = 9, nulls = false }
Size = { type = "integer", min = 0, max = 3, nulls = false }
weight = { type = "integer", min = 0, max = 100, nulls = false }
[tables.Shops]
public = true
[tables.device]
unit = "userid"
rows_per_unit = 1
[tables.device.columns]
userid = { type = "integer" }
kind = { values = ["a", "b"], nulls = false }
"""


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    place: Path = tmp_path_factory.mktemp("names")
    rows = duckdb.connect()
    for name, query in {
        "hits": 'SELECT i % 30 AS "UserID", i % 5 AS "ShopID", i % 3 AS "Size", 7 AS weight FROM range(90) t(i)',
        "Shops": """SELECT i AS "ID", 'city ' || (i % 2) AS "City" FROM range(8) t(i)""",
        "device": "SELECT i AS userid, CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END AS kind FROM range(30) t(i)",
    }.items():
        rows.execute(f"COPY ({query}) TO '{place / name}.parquet' (FORMAT parquet)")
    (place / "sfumato.toml").write_text(POLICY)
    with sfumato.open(place / "sfumato.toml") as made:
        yield made


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT COUNT(DISTINCT UserID) FROM hits", [(30,)]),
        ("SELECT COUNT(DISTINCT h.userid) FROM hits h WHERE h.SHOPID = 1", [(6,)]),
        ('SELECT COUNT(DISTINCT "UserID") FROM HITS', [(30,)]),
        ("SELECT City, COUNT(*) FROM hits JOIN shops ON ShopID = id GROUP BY city", [("city 0", 54), ("city 1", 36)]),
        ("SELECT kind, COUNT(*) FROM hits JOIN device USING (UserID) GROUP BY kind", [("a", 30), ("b", 60)]),
        ("SELECT kind, COUNT(*) FROM device JOIN hits USING (UserID) GROUP BY kind", [("a", 30), ("b", 60)]),
        (
            "SELECT kind, COUNT(*) FROM (SELECT UserID FROM hits) JOIN device USING (userid) GROUP BY kind",
            [("a", 30), ("b", 60)],
        ),
        ("SELECT SUM(n) FROM (SELECT kind, COUNT(*) AS n FROM device GROUP BY kind)", [(30,)]),
        (
            "SELECT a.n + b.m FROM (SELECT COUNT(*) AS n FROM device) AS a, (SELECT COUNT(*) AS m FROM hits) AS b",
            [(120,)],
        ),
        ("SELECT n + m FROM (SELECT COUNT(*) AS n FROM device), (SELECT COUNT(*) AS m FROM hits)", [(120,)]),
        ("SELECT kind AS k, COUNT(*) AS n FROM device GROUP BY kind HAVING n > 15", [("b", 20)]),
        ("SELECT kind AS k, COUNT(*) AS n FROM device GROUP BY 1 ORDER BY -n, k || 'x'", [("b", 20), ("a", 10)]),
        (
            "SELECT kind, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*)) AS r FROM device GROUP BY kind QUALIFY r = 1",
            [("a", 10, 1)],
        ),
        (  # a column comes before an alias of the same name
            "SELECT userid AS kind, kind AS other FROM (SELECT 3 AS userid, 2 AS kind) AS t ORDER BY kind + 0",
            [(3, 2)],
        ),
    ],
)
def test_names_are_found_as_they_are_meant(gate: Gateway, text: str, wanted: list[tuple[object, ...]]) -> None:
    """The answers of plain SQL: noise of this epsilon does not show."""
    assert [tuple(row) for row in gate.sql(text).rows] == wanted


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [
        ('SELECT COUNT("userid") FROM hits', "42703"),  # quotes mean it
        ('SELECT COUNT(*) FROM "HITS"', "42P01"),
        ("SELECT SUM(n) FROM (SELECT COUNT(*) AS n, COUNT(userid) AS N2 FROM device) AS t WHERE n2 > m", "42703"),
        ("SELECT COUNT(*) AS n FROM device WHERE n > 1", "42703"),  # WHERE comes before the list
        ("SELECT kind, COUNT(*) AS n FROM device GROUP BY kind HAVING SUM(n) > 1", "42803"),
        ("SELECT COUNT(*) AS n FROM device HAVING RANK() OVER (ORDER BY COUNT(*)) = 1", "42P20"),
    ],
)
def test_what_is_meant_otherwise_is_refused(gate: Gateway, text: str, sqlstate: str) -> None:
    """Refused by names alone."""
    with pytest.raises(QueryError) as caught:
        gate.sql(text)
    assert caught.value.sqlstate == sqlstate


def test_two_columns_that_differ_in_case_alone_are_ambiguous_without_quotes(gate: Gateway) -> None:
    """Neither is chosen for the analyst."""
    rows = '(SELECT COUNT(*) AS "Ab", COUNT(kind) AS "AB" FROM device) AS t'
    with pytest.raises(QueryError) as caught:
        gate.sql(f"SELECT ab FROM {rows}")
    assert caught.value.sqlstate == "42702"
    assert caught.value.hint == 'Write t."Ab" or t."AB".'


def test_a_with_query_keeps_its_lists_of_keys_however_often_it_is_used(gate: Gateway) -> None:
    """A column of a public table is a public key also in the second use: no delta, and every group is shown."""
    text = """WITH s AS (SELECT ID, City FROM Shops),
        a AS (SELECT City, COUNT(*) AS n FROM hits JOIN s ON ShopID = ID GROUP BY City),
        b AS (SELECT City, COUNT(*) AS n FROM hits JOIN s ON ShopID = ID WHERE UserID IN (SELECT userid FROM device)
              GROUP BY City)
        SELECT City, n FROM b WHERE City NOT IN (SELECT City FROM a WHERE n < 0)"""
    answer = gate.sql(text)
    assert answer.cost.delta == 0
    assert [tuple(row) for row in answer.rows] == [("city 0", 54), ("city 1", 36)]


def test_numbers_of_public_tables_have_the_bounds_of_their_rows(gate: Gateway) -> None:
    """AVG of a joined public number needs no bounds in the policy: its rows are nobody's."""
    ((mean, most),) = gate.sql("SELECT AVG(ID), MAX(ID) FROM hits JOIN Shops ON ShopID = ID").rows
    assert float(mean) == pytest.approx(2)
    assert most == 4
    assert gate.explain("SELECT SUM(ID) FROM hits JOIN Shops ON ShopID = ID", epsilon=1).columns[0].scale == 4 * 7


def test_a_part_of_a_text_is_no_longer_than_it_says(gate: Gateway) -> None:
    """A public text without a declared length, compared often: each comparison counts its part alone."""
    listed = ", ".join(f"'{i:05}'" for i in range(40))
    text = f"SELECT COUNT(*) FROM hits JOIN Shops ON ShopID = ID WHERE SUBSTR(City, 1, 5) IN ({listed}, 'city ')"
    assert gate.sql(text).rows[0][0] == 90
