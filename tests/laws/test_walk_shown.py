"""The whole walk as it is shown: groups, names, types, orders, and all that lies above the cut."""

# ruff: noqa: E501  a question stands on one line
from __future__ import annotations

import pytest

from sfumato.errors import QueryError
from sfumato.gateway import protect
from tests.laws.walking import SURE, F, crowd, opened


def test_groups_stand_in_list_order_with_the_empty_ones_and_the_unknown_last(tmp_path) -> None:
    """Trap V12: the order of the list, whoever is there; the engine's order is never seen."""
    columns = 'disease = { values = ["Cold", "Flu", "Asthma"] }'
    everybody = [("a", "Asthma"), ("b", None), ("c", "Cold"), ("d", "other")]
    for left_out in ("", "a", "b", "c", "d"):
        with opened(tmp_path, [row for row in everybody if row[0] != left_out], columns) as gateway:
            answer = gateway.sql("SELECT disease, COUNT(*) FROM visit GROUP BY disease", F(1, 10))
            assert [row[0] for row in answer.rows] == ["Cold", "Flu", "Asthma", None]
            assert [g[0] for g in gateway.sql("SELECT disease FROM visit GROUP BY 1").rows] == [
                "Cold",
                "Flu",
                "Asthma",
                None,
            ]


def test_names_and_types_are_those_of_postgres(tmp_path) -> None:
    with opened(tmp_path, crowd(), each=5) as gateway:
        answer = gateway.sql(
            "SELECT city, COUNT(*), SUM(age), SUM(cost) AS total, AVG(cost), COUNT(*) + 1, well, date_trunc('month', day), "
            'COUNT(DISTINCT ssn) "Who", CASE WHEN COUNT(*) > 1 THEN 2 END, EXTRACT(year FROM day), RANK() OVER (ORDER BY COUNT(*)) '
            "FROM visit GROUP BY city, well, date_trunc('month', day), EXTRACT(year FROM day)"
        )
        assert answer.columns == (
            "city",
            "count",
            "sum",
            "total",
            "avg",
            "?column?",
            "well",
            "date_trunc",
            "Who",
            "case",
            "extract",
            "rank",
        )
        assert answer.types[:7] == ("text", "bigint", "bigint", "numeric", "numeric", "bigint", "boolean")


@pytest.fixture(scope="module")
def cities(tmp_path_factory):
    rows = [(str(i), city) for i, city in enumerate(["Paris"] * 5 + ["Lyon"] * 9 + [None] * 2)]
    with opened(tmp_path_factory.mktemp("cities"), rows, 'city = { values = ["Paris", "Lyon", "Nice"] }') as gateway:
        yield gateway


@pytest.mark.parametrize(("text", "rows"), [
    ("SELECT city, COUNT(*) FROM visit GROUP BY city", [("Paris", 5), ("Lyon", 9), ("Nice", 0), (None, 2)]),
    ("SELECT city, COUNT(*) AS n FROM visit GROUP BY city ORDER BY n DESC", [("Lyon", 9), ("Paris", 5), (None, 2), ("Nice", 0)]),
    ("SELECT city, COUNT(*) FROM visit GROUP BY city ORDER BY 1", [("Lyon", 9), ("Nice", 0), ("Paris", 5), (None, 2)]),
    ("SELECT city, COUNT(*) FROM visit GROUP BY city ORDER BY city DESC", [(None, 2), ("Paris", 5), ("Nice", 0), ("Lyon", 9)]),
    ("SELECT city, COUNT(*) FROM visit GROUP BY city ORDER BY city NULLS FIRST LIMIT 2", [(None, 2), ("Lyon", 9)]),
    ("SELECT city FROM visit GROUP BY city ORDER BY COUNT(*) DESC LIMIT 1 OFFSET 1", [("Paris",)]),
    ("SELECT city, COUNT(*) FROM visit GROUP BY city HAVING COUNT(*) > 3", [("Paris", 5), ("Lyon", 9)]),
    ("SELECT city, COUNT(*) FROM visit WHERE city <> 'Lyon' GROUP BY city", [("Paris", 5), ("Nice", 0)]),
    ("SELECT DISTINCT COUNT(*) > 3 FROM visit GROUP BY city ORDER BY 1", [(False,), (True,)]),
    ("SELECT DISTINCT COUNT(*) > 3 FROM visit GROUP BY city ORDER BY 1 DESC LIMIT 1", [(True,)]),
    ("SELECT city, RANK() OVER (ORDER BY COUNT(*) DESC) FROM visit GROUP BY city", [("Paris", 2), ("Lyon", 1), ("Nice", 4), (None, 3)]),
    ("SELECT city, SUM(COUNT(*)) OVER () FROM visit GROUP BY city LIMIT 1", [("Paris", 16)]),
    ("SELECT city, SUM(COUNT(*)) OVER (ORDER BY COUNT(*)) FROM visit GROUP BY city", [("Paris", 7), ("Lyon", 16), ("Nice", 0), (None, 2)]),
    ("SELECT CASE WHEN COUNT(*) > 3 THEN 'many' ELSE 'few' END FROM visit GROUP BY city", [("many",), ("many",), ("few",), ("few",)]),
    ("SELECT COUNT(*) * 2 - 1, COUNT(*) / 3, COUNT(*) % 3 FROM visit", [(31, 5, 1)]),
    ("SELECT COUNT(*) FROM visit WHERE city = 'Nowhere'", [(0,)]),
])  # fmt: skip
def test_what_lies_above_the_cut_is_ordinary_sql(cities, text, rows) -> None:
    assert cities.sql(text).rows == rows


IGNORED = {
    "SELECT COUNT(*) FROM visit WHERE LENGTH(city) BETWEEN SYMMETRIC 5 AND 1": 14,
    "SELECT COUNT(*) FROM visit WHERE TRIM(LEADING 'P' FROM city) = 'aris'": 5,
    "SELECT COUNT(*) FROM visit WHERE TRIM('P' FROM city) = 'aris'": 5,
    "SELECT COUNT(*) FROM visit WHERE CAST(city AS VARCHAR(2)) = 'Pa'": 5,
    "SELECT SUM(COUNT(*)) OVER w FROM visit GROUP BY city WINDOW w AS (ORDER BY COUNT(*)) LIMIT 1": 7,
    "SELECT SUM(FLOOR(1.55, 1)) FROM visit": None,
}
"""Words that change what a question means, and the right first number; None: PostgreSQL knows no such question."""


@pytest.mark.parametrize("text", IGNORED)
def test_no_word_of_a_question_is_passed_over(cities, text) -> None:
    """Answered as PostgreSQL would, or refused; never answered as another question."""
    try:
        shown = cities.sql(text).rows[0][0]
    except QueryError:
        return
    assert IGNORED[text] is not None
    assert shown == IGNORED[text]


def test_a_clamp_bounds(tmp_path) -> None:
    """What the refusal of an unbounded SUM suggests."""
    with opened(tmp_path, [("a", 7), ("b", 700)], "x = { type = 'integer' }", types={"x": "BIGINT"}) as gateway:
        assert gateway.sql("SELECT SUM(LEAST(GREATEST(x, 0), 100)) FROM visit").rows == [(107,)]


def test_a_list_of_a_thousand_values_is_a_question_like_others(cities) -> None:
    listed = ", ".join(f"'{i}'" for i in range(1000))
    assert cities.sql(f"SELECT COUNT(*) FROM visit WHERE ssn IN ({listed})").rows == [(16,)]


class Untouchable:
    """An engine that must not be asked anything but what public tables hold, in an engine of their own."""

    def __init__(self, engine):
        for name in ("images", "count_values", "most_alike", "fix", "compile", "rehearse", "dry_run"):
            setattr(self, name, getattr(engine, name))

    def __getattr__(self, name):
        raise AssertionError(f"planning touched the engine: {name}")


def test_a_preview_touches_no_data(tmp_path) -> None:
    """Refusal, words, price and scale are the same with any engine: here one that cannot be touched."""
    with opened(tmp_path, crowd(), each=5) as gateway:
        engine, gateway._engine = gateway._engine, Untouchable(gateway._engine)
        for text in ("SELECT city, AVG(cost) FROM visit GROUP BY city", "SELECT * FROM visit", "SELECT COUNT(*) FROM nowhere", "SELECT city FROM visit GROUP BY 1", "nonsense",
                     "SELECT COUNT(*) FROM visit AS a JOIN visit AS b ON a.ssn = b.ssn WHERE a.cost > (SELECT AVG(cost) FROM visit)"):  # fmt: skip
            gateway.explain(text).to_dict()
        with pytest.raises(QueryError):
            gateway.sql("SELECT ssn FROM visit")
        gateway._engine = engine


def test_a_frame_is_protected() -> None:
    """The same walk from Python, with what DuckDB can scan."""
    arrow = pytest.importorskip("pyarrow")
    frame = arrow.table({"who": [1, 2, 3, 3], "x": [1, 2, 3, 4], "city": ["a", "b", "c", None]})
    with pytest.warns(UserWarning, match="no ledger file"):
        protected = protect(frame, "who", 2, 10**10, bounds={"x": (0, 10)}, values={"city": ["a", "b"]})
    with protected as gateway:
        answer = gateway.sql("SELECT city, SUM(x), COUNT(DISTINCT who) FROM data GROUP BY city", SURE)
        assert answer.rows == [("a", 1, 1), ("b", 2, 1), (None, 7, 1)]


def test_a_question_without_groups_has_no_rows(cities) -> None:
    assert cities.sql("SELECT city, COUNT(*) FROM visit WHERE city = 'Nowhere' GROUP BY city").rows == []


def test_units_of_a_collated_column_are_compared_byte_for_byte(tmp_path) -> None:
    """A collation of the owner's database would make one person of 'a' and 'A', and one key of 'x' and 'X'."""
    kinds = {"ssn": "VARCHAR", "s": "VARCHAR COLLATE NOCASE"}
    columns = 's = { values = ["x", "y"] }'
    for rows in ([("a", "X"), ("b", "x")], [("b", "x"), ("a", "X")]):
        with opened(tmp_path, rows, columns, types=kinds) as gateway:
            assert gateway.sql("SELECT s, COUNT(*) FROM visit GROUP BY s").rows == [("x", 1), ("y", 0), (None, 1)]
            assert gateway.sql("SELECT COUNT(*) FROM visit WHERE s = 'x'").rows == [(1,)]
