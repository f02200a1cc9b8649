"""Which rows may meet, how many rows of one person that makes, and what is refused (semantics 2.2)."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from sfumato.engines.duckdb import DuckDB
from sfumato.errors import QueryError
from sfumato.policy import Policy, from_dict
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release.plan import Plan, plan
from tests.compiled import Rows

COLUMNS = {"u": {"type": "integer"}, "x": {"type": "integer", "min": 0, "max": 9}, "s": {"values": ["a", "b"]}}


def policy(**privacy: Any) -> Policy:
    return from_dict(
        {
            "source": {
                "engine": "duckdb",
                "files": {"one": "a", "many": "b", "r": "c", "pay": "d", "shop": "e", "item": "f"},
            },
            "data": {"id": "j"},
            "privacy": {"epsilon": 10, "delta": 1e-6, **privacy},
            "tables": {
                "one": {"unit": "u", "rows_per_unit": 1, "columns": {**COLUMNS, "k": {"type": "integer"}}},
                "many": {"unit": "u", "rows_per_unit": 5, "columns": COLUMNS},
                "pay": {
                    "unit": {"join": "one", "on": "k = k"},
                    "rows_per_unit": 3,
                    "columns": {"k": {"type": "integer"}, "y": {"type": "integer", "min": 0, "max": 9}},
                },
                "shop": {"unit": "u", "rows_per_unit": 16, "columns": {**COLUMNS, "id": {"type": "integer"}}},
                "item": {
                    "unit": {"join": "shop", "on": "shop = id"},
                    "rows_per_unit": 12,
                    "columns": {"shop": {"type": "integer"}, "y": {"type": "integer", "min": 0, "max": 9}},
                },
                "r": {"public": True, "columns": {"s": {"type": "text", "max_length": 9}, "n": {"type": "integer"}}},
            },
        }
    )


PUBLIC = duckdb.connect()
PUBLIC.execute("CREATE TABLE r AS SELECT * FROM (VALUES ('a', 1), ('a', 2), ('b', 3), (NULL, 4)) AS t(s, n)")


def public(sql: str) -> list[tuple[Any, ...]]:
    return PUBLIC.execute(sql).fetchall()


def planned(sql: str, **options: Any) -> Plan:
    made = policy(**options.pop("privacy", {}))
    return plan(bind(parse(sql), made, date(2024, 1, 1), Rows(public)), made, Fraction(1), rows=Rows(public), **options)


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("one", 1),
        ("many", 5),
        ("pay", 3),
        ("one JOIN many ON one.u = many.u", 5),
        ("many a JOIN many b ON a.u = b.u", 25),
        ("many a JOIN many b USING (u) JOIN many c USING (u)", 125),
        ("one a, one b WHERE a.u = b.u", 1),
        ("one LEFT JOIN many USING (u)", 5),
        ("one FULL JOIN one b ON one.u = b.u", 1),
        ("one FULL JOIN one b ON one.u = b.u AND one.x = b.x", 2),
        ("pay JOIN one ON pay.k = one.k", 3),
        ("pay a JOIN pay b ON a.k = b.k", 9),
        ("shop JOIN item ON shop.id = item.shop", 12),
        ("item JOIN shop ON shop.id = item.shop", 12),
        ("shop, item WHERE id = item.shop", 12),
        ("item, one, shop WHERE one.u = shop.u AND shop.id = item.shop", 12),
        ("one, item, shop WHERE item.shop = shop.id AND shop.u = one.u", 12),
        ("one JOIN shop USING (u) JOIN item ON item.shop = shop.id", 12),
        ("one JOIN shop USING (u) JOIN r ON r.n = shop.x JOIN item ON item.shop = shop.id", 12),
        ("shop JOIN r ON r.s = shop.s JOIN item ON item.shop = shop.id", 32 * 12),  # a shop is there twice
        ("(SELECT u, id AS i FROM shop WHERE x > 3) AS t JOIN item ON t.i = item.shop", 12),
        ("(SELECT u, id + 0 AS i, id FROM shop) AS t JOIN item ON t.i = item.shop AND t.id = item.shop", 12),
        ("shop LEFT JOIN item ON shop.id = item.shop", 16 + 12 - 1),
        ("item LEFT JOIN shop ON shop.id = item.shop", 12),
        ("shop FULL JOIN item ON shop.id = item.shop", 28),
        ("shop a JOIN shop b ON a.u = b.u AND a.x = b.x", 256),
        ("item a JOIN item b ON a.shop = b.shop", 144),
        ("item a JOIN shop ON a.shop = id JOIN item b ON b.shop = id", 144),
        ("many, r WHERE (many.s = r.s AND r.n > 1) OR (x > 5 AND many.s = r.s)", 10),
        ("many JOIN r ON (many.s = r.s AND r.n > 1) OR (x > 5 AND many.s = r.s)", 10),
        ("many JOIN r ON many.s = r.s", 10),
        ("many LEFT JOIN r ON many.s = r.s AND r.n > 9", 10),
        ("many CROSS JOIN r", 20),
        ("many JOIN (SELECT s, MAX(n) AS n FROM r GROUP BY s) AS t ON many.s = t.s", 5),
        ("many JOIN (SELECT s, COUNT(*) AS n FROM many GROUP BY s) AS t ON many.s = t.s", 5),
        ("many JOIN (SELECT s, COUNT(*) AS n FROM many GROUP BY s) AS t ON many.x < t.n", 15),
        ("(SELECT DISTINCT u FROM many) AS t", 1),
        ("(SELECT DISTINCT u, s FROM many) AS t", 3),
        ("(SELECT u, COUNT(*) AS n FROM many GROUP BY u) AS t", 1),
        ("(SELECT u, s, COUNT(*) AS n FROM many GROUP BY u, s) AS t", 3),
        ("(SELECT u, s, COUNT(*) AS n FROM many GROUP BY GROUPING SETS ((u, s), (u))) AS t", 6),
        ("(SELECT u FROM many UNION ALL SELECT u FROM one) AS t", 6),
        ("(SELECT u FROM many UNION SELECT u FROM one) AS t", 1),
        ("many WHERE u IN (SELECT u FROM many)", 5),
        ("many a WHERE x > (SELECT AVG(x) FROM many b WHERE b.u = a.u AND b.s = a.s)", 5),
    ],
)
def test_rows_of_one_person_multiply_along_joins(source: str, rows: int) -> None:
    cut = planned(f"SELECT COUNT(*) FROM {source}").cuts[-1]
    assert cut.contribution == rows
    assert cut.parts[0].bundles[0].sensitivity == rows


@pytest.mark.parametrize(
    "source",
    [
        "many a JOIN many b ON a.s = b.s",
        "many a JOIN many b ON a.u = b.u + 0",
        "many a JOIN many b ON a.u = b.x",
        "many a JOIN many b ON NOT a.u <> b.u",
        "many a JOIN many b ON a.u = b.u OR TRUE",
        "many a JOIN many b ON a.u IN (b.u)  AND a.x = b.x OR a.s = b.s",
        "many a, many b WHERE a.x = b.x",
        "many a CROSS JOIN one b",
        "(SELECT s AS u FROM many) AS a JOIN many b ON a.u = b.s",
        "(SELECT x AS u, u AS x FROM many) AS a JOIN many b ON a.u = b.u",
        "(SELECT u, x FROM many UNION ALL SELECT x, u FROM many) AS a JOIN one b ON a.u = b.u",
        "many a JOIN r ON a.s = r.s JOIN many b ON b.s = r.s",
        "pay JOIN one ON pay.y = one.k",
        "pay JOIN one ON pay.k = one.x",
        "r LEFT JOIN many ON r.s = many.s",
        "many RIGHT JOIN r ON r.s = many.s",
        "many FULL JOIN r ON r.s = many.s",
        "many WHERE x IN (SELECT x FROM one)",
        "many WHERE u IN (SELECT x FROM one)",
        "many WHERE u NOT IN (SELECT u + 0 FROM one)",
        "many a WHERE EXISTS (SELECT 1 FROM one b WHERE a.x = b.x)",
        "many a WHERE x > (SELECT x FROM one b WHERE b.s = a.s)",
        "(SELECT u FROM many UNION ALL SELECT n FROM r) AS t",
        "(SELECT x FROM many EXCEPT SELECT x FROM one) AS t",
        "(SELECT u, s FROM many EXCEPT ALL SELECT u, s FROM one) AS t",
        "(SELECT u FROM many LIMIT 3) AS t",
        "(SELECT DISTINCT ON (s) u, s FROM many) AS t",
    ],
)
def test_joins_of_people_are_refused(source: str) -> None:
    with pytest.raises(QueryError) as refused:
        planned(f"SELECT COUNT(*) FROM {source}")
    assert refused.value.sqlstate in ("0A000", "42883")


def test_a_join_that_makes_too_many_rows_is_refused() -> None:
    nine = " ".join(f"JOIN many m{i} ON m0.u = m{i}.u" for i in range(1, 9))
    with pytest.raises(QueryError, match="1,953,125 rows"):
        planned(f"SELECT COUNT(*) FROM many m0 {nine}")


def test_several_releases_share_the_price() -> None:
    """The whole price is epsilon, fixed before the first stage."""
    made = planned("SELECT COUNT(*) FROM many WHERE x > (SELECT AVG(x) FROM many) AND x < (SELECT AVG(x) FROM one)")
    assert [cut.terms.epsilon for cut in made.cuts] == [Fraction(1, 3)] * 3
    assert [str(event) for cut in made.cuts for event in cut.events] == ["Pure(epsilon=Fraction(1, 3))"] * 3


def test_open_keys_take_half_and_a_delta() -> None:
    made = from_dict(
        {
            "source": {"engine": "duckdb", "files": {"t": "x"}},
            "data": {"id": "o"},
            "privacy": {"epsilon": 10, "delta": 1e-6, "query_delta": 1e-7},
            "tables": {
                "t": {
                    "unit": "u",
                    "rows_per_unit": 5,
                    "groups_per_unit": 2,
                    "columns": {
                        "u": {"type": "integer"},
                        "o": {"type": "text", "max_length": 9},
                        "s": {"values": ["a"]},
                    },
                }
            },
        }
    )

    def asked(sql: str, **options: Any) -> Plan:
        return plan(bind(parse(sql), made, date(2024, 1, 1)), made, Fraction(1), rows=Rows(public), **options)

    half = asked("SELECT o, COUNT(*) FROM t GROUP BY o").cuts[0]
    assert str(half.events) == (  # five rows under two keys: a threshold for five would hide more keys
        "(Selection(epsilon=Fraction(1, 2), delta=Fraction(1, 10000000)), Pure(epsilon=Fraction(1, 2)))"
    )
    assert half.parts[0].selection.keys_per_unit == 2
    for sql, rows in (
        ("SELECT o, COUNT(*) FROM t GROUP BY o", 3),
        ("SELECT o, COUNT(DISTINCT u) FROM t GROUP BY o", 5),
    ):
        one = asked(sql, rows_per_unit=rows).cuts[0]
        assert str(one.events) == "(Selection(epsilon=Fraction(1, 1), delta=Fraction(1, 10000000)),)"
        assert one.parts[0].share == 1
        assert one.parts[0].least is not None
    alone = asked("SELECT DISTINCT o FROM t").cuts[0]
    assert str(alone.events) == "(Selection(epsilon=Fraction(1, 1), delta=Fraction(1, 10000000)),)"
    sets = asked("SELECT o, s, COUNT(*) FROM t GROUP BY CUBE (o, s)").cuts[0]
    assert [part.chosen for part in sets.parts] == [(0,), (0,), (), ()]
    assert sum(event.epsilon for event in sets.events) == 1
    assert sum(getattr(event, "delta", 0) for event in sets.events) == Fraction(1, 10**7)
    assert {part.share for part in sets.parts} == {Fraction(1, 8)}
    gauss = asked("SELECT o, COUNT(*) FROM t GROUP BY o", noise="gaussian").cuts[0]
    assert str(gauss.events) == (
        "(GaussianSelection(rho=Fraction(1, 4), delta=Fraction(1, 10000000)), GaussianRelease(rho=Fraction(1, 4)))"
    )


def test_gaussian_noise_uses_its_own_bound() -> None:
    """C2 bounds the L2 norm of rows per group: twenty rows in twenty groups have a norm of 4.5, not 20."""
    made = policy()
    many = made.tables["many"]
    assert planned("SELECT s, COUNT(*) FROM many GROUP BY s", noise="gaussian").cuts[0].contribution == many.l2_per_unit
    two = planned("SELECT COUNT(*), SUM(x) FROM one", noise="gaussian").cuts[0].parts[0]
    assert [b.sensitivity for b in two.bundles] == [1, 81]
    assert sum(b.sensitivity / (2 * b.scale) for b in two.bundles) == Fraction(1, 2)
    with pytest.raises(QueryError, match="counts in epsilon"):
        planned("SELECT COUNT(*) FROM one", noise="gaussian", privacy={"composition": "pure"})


@pytest.mark.parametrize(
    "source",
    [
        "p JOIN y ON p.f = y.i",
        "p LEFT JOIN y ON y.i = p.f",
        "p JOIN (SELECT i, COUNT(*) AS n FROM y GROUP BY i) AS z ON z.i = p.f",
        "p JOIN (SELECT DISTINCT i FROM y) AS z ON p.f = z.i",
    ],
)
def test_rows_that_a_double_meets_are_counted_as_doubles(source: str) -> None:
    """Whole numbers beyond 2^53 that differ are the same double: one row meets all of them, and that is her C.

    Each person has one row in p, so that a plan which believed the key of y would add up what is there, unweighted.
    """
    far = 9007199254740992
    people = pa.table({"u": [1, 2, 3], "f": [float(far), float(far), 1.0]})
    keys = pa.table({"i": [far, far + 1, 7]})
    made = from_dict(
        {
            "source": {"engine": "duckdb", "files": {"p": ":memory:", "y": ":memory:"}},
            "data": {"id": "far"},
            "privacy": {"epsilon": 1},
            "tables": {
                "p": {"unit": "u", "rows_per_unit": 1, "columns": {"u": {"type": "integer"}, "f": {"type": "double"}}},
                "y": {"public": True, "columns": {"i": {"type": "integer"}}},
            },
        }
    )
    engine = DuckDB(made, {"p": people, "y": keys})
    engine.keep(made, made.tables)
    try:
        tree = parse(f"SELECT COUNT(*) FROM {source}")
        asked = bind(tree, made, date(2024, 1, 1), engine, stored=engine.stored())
        assert asked.releases[0].below.person_rows == 2
        part = plan(asked, made, Fraction(1), rows=engine).cuts[0].parts[0]
        assert engine.known.unique == {"p"}
        assert part.bundles[0].sensitivity == 2
    finally:
        engine.close()
