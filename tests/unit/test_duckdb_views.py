"""Views of a DuckDB database: what a column is called is what it holds, in whatever order the policy lists columns."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import duckdb
import pytest

from sfumato.errors import PolicyError
from sfumato.gateway import open_policy

HEAD = (
    '[source]\nengine = "duckdb"\nfiles = "d.duckdb"\n[data]\nid = "d"\n[privacy]\nepsilon = 1e9\nquery_epsilon = 1e6\n'
)


def _open(home: Path, view: str, columns: tuple[str, ...]) -> Path:
    home.mkdir()
    with duckdb.connect(str(home / "d.duckdb")) as database:
        database.execute("CREATE TABLE p AS SELECT i AS u, 1 AS a, 9 AS b, 5 AS c FROM range(100) AS q(i)")
        database.execute(f"CREATE VIEW s{view}")
    listed = "".join(f'{c} = {{ type = "integer"{"" if c == "u" else ", min = 0, max = 9"} }}\n' for c in columns)
    tables = "".join(f'[tables.{t}]\nunit = "u"\nrows_per_unit = 1\n[tables.{t}.columns]\n{listed}' for t in "ps")
    place = home / "sfumato.toml"
    place.write_text(HEAD + tables, encoding="utf-8")
    return place


@pytest.mark.parametrize(
    "view",
    [
        " AS SELECT * FROM p",
        " AS SELECT p.* FROM p WHERE c > 1",
        " AS SELECT * FROM (SELECT * FROM p) AS q",
        " AS SELECT u, b, a FROM p",
        " AS SELECT q.u, q.a, q.b FROM (SELECT * FROM p) AS q",
        " (u, b, a) AS SELECT u, b, a FROM p",
    ],
)
def test_a_view_has_its_columns_in_every_order_of_the_policy(view: str, tmp_path: Path) -> None:
    """Names were given by place: with the columns of the policy in another order than in the table, b was a."""
    for number, columns in enumerate(permutations(("u", "a", "b", "c"))):
        if number % 5 == 0:
            with open_policy(_open(tmp_path / str(number), view, columns)) as gate:
                assert [tuple(map(int, row)) for row in gate.sql("SELECT AVG(a), AVG(b) FROM s").rows] == [(1, 9)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM p UNION ALL SELECT u, a, b, c FROM p WHERE u < 0",
        "SELECT u, a, b, c FROM p UNION SELECT * FROM p",
        "SELECT * FROM p EXCEPT SELECT u, a, b, c FROM p WHERE u < 0",
        "SELECT DISTINCT * FROM p",
        "SELECT k1 AS u, k2 AS a, k3 AS b FROM (SELECT * FROM p) AS q (k1, k2, k3)",
        "WITH q (k1, k2, k3) AS (SELECT * FROM p) SELECT k1 AS u, k2 AS a, k3 AS b FROM q",
        "WITH q AS (SELECT * FROM p) SELECT k1 AS u, k2 AS a, k3 AS b FROM q AS r (k1, k2, k3)",
        "SELECT k1 AS u, k2 AS a, k3 AS b FROM p AS q (k1, k2, k3)",
        "SELECT q.* FROM p AS q (u, a, b)",
        "SELECT u, a, b FROM p NATURAL JOIN (SELECT u, a, b FROM p) AS q",
    ],
)
def test_a_view_that_means_columns_by_their_places_gives_what_the_database_gives(query: str, tmp_path: Path) -> None:
    """Or is refused: the policy may list other columns than the database has, and in another order."""
    answered = 0
    for number, columns in enumerate(
        (("u", "a", "b", "c"), ("u", "b", "a", "c"), ("a", "u", "b"), ("u", "c", "a", "b"))
    ):
        try:
            gate = open_policy(_open(tmp_path / str(number), f" AS {query}", columns))
        except PolicyError:
            assert number or " AS q (" in query or " AS r (" in query
            continue
        with gate:
            answered += 1
            assert [tuple(map(round, row)) for row in gate.sql("SELECT AVG(a), AVG(b) FROM s").rows] == [(1, 9)]
    assert answered < 4


def test_a_view_of_all_columns_shows_those_of_the_policy(tmp_path: Path) -> None:
    with open_policy(_open(tmp_path / "0", " AS SELECT * FROM p", ("u", "b"))) as gate:
        assert [int(row[0]) for row in gate.sql("SELECT AVG(b) FROM s").rows] == [9]


def test_a_view_that_names_the_columns_of_a_star_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="names the columns of"):
        open_policy(_open(tmp_path / "0", " (u, x, y, z) AS SELECT * FROM p", ("u", "b", "a", "c")))


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT u, a, b, c FROM other.p", "a table of another schema"),
        ("SELECT p.u, p.a, p.b, p.c FROM p JOIN other.p AS q ON p.u = q.u", "a table of another schema"),
        ("SELECT p.u, p.a, p.b, p.c FROM p ASOF JOIN p AS q ON p.u = q.u AND p.a >= q.a", "ASOF JOIN"),
        ("SELECT p.u, p.a, p.b, p.c FROM p POSITIONAL JOIN p AS q", "JOIN needs ON or USING"),
        ("SELECT u, a, b, c FROM main.p", None),
    ],
)
def test_a_view_means_the_tables_that_it_names(query: str, why: str | None, tmp_path: Path) -> None:
    """It was answered about the policy's table of the same name, and about all pairs of rows."""
    place = _open(tmp_path / "d", " AS SELECT * FROM p", ("u", "a", "b", "c"))
    with duckdb.connect(str(tmp_path / "d/d.duckdb")) as database:
        database.execute("CREATE SCHEMA other; CREATE TABLE other.p AS SELECT * FROM p WHERE u < 3")
        database.execute(f"CREATE OR REPLACE VIEW s AS {query}")
    if why is None:
        open_policy(place).close()
        return
    with pytest.raises(PolicyError, match=why):
        open_policy(place)
