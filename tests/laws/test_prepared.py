"""What is stored when rows are prepared gives, to the last unit, what the plain form gives; and one person stays one."""

# ruff: noqa: E501  a question stands on one line

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sfumato.algebra.job import FINE
from sfumato.engines.duckdb import prepared_tables, relations
from sfumato.engines.duckdb.prepared_file import look
from sfumato.errors import EngineError
from sfumato.gateway import open_policy
from sfumato.owner.preparation import prepare
from sfumato.policy import load
from sfumato.types import identifier
from tests.compiled import plain
from tests.laws.test_fast import Home, fast_on, found, run_on, same_numbers, text_on

POLICY = """
[source]
engine = "duckdb"
files = "world.duckdb"
[data]
id = "world"
[privacy]
epsilon = 1e18
delta = 0.5
query_epsilon = 1e9
query_delta = 1e-3
composition = "pure"
[tables.stay]
unit = "who"
rows_per_unit = 3
groups_per_unit = 2
[tables.stay.columns]
who = { type = "text", max_length = 20 }
tag = { type = "text", max_length = 4 }
code = { type = "integer" }
cost = { type = "decimal", min = -10, max = 100, grid = 0.25 }
big = { type = "integer", min = 0, max = 4000000000000000 }
day = { type = "date", min = 2024-01-01, max = 2024-12-31 }
sex = { values = ["f", "m"] }
part = { values = ["x", "y"] }
mood = { type = "double" }
[tables.home]
unit = "who"
rows_per_unit = 1
[tables.home.columns]
who = { type = "text", max_length = 20 }
area = { type = "text", max_length = 9 }
"""
PEOPLE = ("ann", "bo'b", "çem", "dee", "eve", "fay")


def world(gone: str | None = None) -> dict[str, tuple[str, list[tuple[Any, ...]]]]:
    """Six people and rows of nobody; some have one row, ann has many; two long tags are one when they are cut."""
    tags = ("red", None, "greenish", "greenest", "blue", "a", "b", "c", "d")
    stay = []
    for i in range(110):
        who = (PEOPLE * 3 + ("ann",) * 6 + (None,))[i * 7 % 25] if i > 5 else PEOPLE[i]
        if who == "fay" and i > 5:
            continue
        sex = {"ann": "f", "bo'b": "m", "çem": None}.get(who or "", "f")
        part = None if who == "dee" and i % 2 else "x" if who != "ann" else "y"
        cost = None if i % 11 == 0 else Decimal(i * 13 % 130 - 15)
        day = date(2024, 1, 1) + timedelta(i * 29 % 366)
        stay.append(
            (who, tags[i * i % 9], i * 5 % 7 or None, cost, i * 10**14 // 9, day, sex, part, (0.0, -0.0)[i % 2])
        )
    home = [(who, ("north", "south", None)[i % 3]) for i, who in enumerate(PEOPLE[:5])]
    left = [row for row in stay if row[0] is None or row[0] != gone]
    columns = "who VARCHAR, tag VARCHAR, code INTEGER, cost DECIMAL(9, 2), big BIGINT, day DATE, sex VARCHAR, part VARCHAR, mood DOUBLE"
    return {
        "stay": (columns, left),
        "home": ("who VARCHAR, area VARCHAR", [row for row in home if row[0] != gone]),
    }


DRAWN = [
    "SELECT tag, COUNT(*) FROM stay GROUP BY tag",
    "SELECT tag, COUNT(*), SUM(cost), AVG(cost) FROM stay WHERE cost > 20 GROUP BY tag",
    "SELECT tag, SUM(cost) FROM stay WHERE day < DATE '2024-07-01' GROUP BY tag",
    "SELECT tag, SUM(cost) FROM stay GROUP BY tag",
    "SELECT tag, SUM(big), COUNT(*) FROM stay WHERE cost > 0 GROUP BY tag",
    "SELECT tag, COUNT(DISTINCT who) FROM stay WHERE cost < 50 GROUP BY tag",
    "SELECT tag, COUNT(*) FILTER (WHERE cost > 20) FROM stay WHERE sex = 'f' GROUP BY tag",
    "SELECT code, COUNT(*) FROM stay WHERE part = 'x' GROUP BY code",
    "SELECT code, COUNT(*) FROM stay WHERE tag IS NULL OR tag = 'gree' GROUP BY code",
    "SELECT t, COUNT(*) FROM (SELECT tag AS t, cost FROM stay) AS q WHERE cost < 50 GROUP BY t",
    "SELECT tag, COUNT(*) FROM stay JOIN home USING (who) WHERE area = 'north' GROUP BY tag",
    "SELECT tag, COUNT(*) FROM home JOIN stay ON home.who = stay.who AND cost > 5 GROUP BY tag",
    "SELECT tag, COUNT(*) FROM stay LEFT JOIN home ON home.who = stay.who AND cost > 5 GROUP BY tag",
]
"""Open keys whose order is stored."""
HASHED = [
    "SELECT tag, COUNT(*) FROM home LEFT JOIN stay USING (who) GROUP BY tag",
    "SELECT a.tag, COUNT(*) FROM stay AS a JOIN stay AS b ON a.who = b.who GROUP BY a.tag",
    "SELECT tag, code, COUNT(*) FROM stay GROUP BY tag, code",
    "SELECT UPPER(tag), COUNT(*) FROM stay GROUP BY 1",
    "SELECT tag, COUNT(*) FROM (SELECT who, tag FROM stay UNION ALL SELECT who, tag FROM stay) AS q GROUP BY tag",
    "SELECT tag, COUNT(*) FROM (SELECT DISTINCT who, tag FROM stay) AS q GROUP BY tag",
    "SELECT area, COUNT(*) FROM home GROUP BY area",
]
"""Keys of which nothing is stored, or of rows that are there twice, or missing."""
CHOSEN = [
    "SELECT MEDIAN(cost), MIN(day), MODE(sex) FROM stay",
    "SELECT MEDIAN(cost) FROM stay WHERE day < DATE '2024-09-01'",
    "SELECT sex, MAX(cost) FILTER (WHERE part = 'x') FROM stay WHERE sex = 'f' GROUP BY sex",
    "SELECT part, PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY cost) FROM stay JOIN home USING (who) GROUP BY part",
    "SELECT tag, MEDIAN(cost) FROM stay GROUP BY tag",
    "SELECT COUNT(DISTINCT tag), MODE(part) FROM stay",
]
SAME = [
    "SELECT COUNT(*), AVG(cost) FROM stay WHERE sex = 'f'",
    "SELECT part, COUNT(*) FROM stay WHERE sex IS NULL GROUP BY part",
    "SELECT SUM(cost) FROM stay WHERE sex = 'f'",
]
"""A condition on what is the same in all rows of each person."""
OTHER = [
    "SELECT COUNT(*), AVG(cost) FROM stay WHERE part = 'x'",
    "SELECT part, COUNT(*) FROM stay WHERE mood < 1 GROUP BY part",
    "SELECT COUNT(*), SUM(big), VAR_POP(cost), COUNT(part) FROM stay",
    "SELECT SUM(big) FROM stay WHERE cost > 1",
    "SELECT COUNT(*), SUM(big) FROM stay WHERE cost > 1",
    "SELECT SUM(cost) FROM stay",
    "SELECT SUM(1) FROM stay",
]
EVERY = [*DRAWN, *HASHED, *CHOSEN, *SAME, *OTHER]
BOUNDS = ((3, 2), (1, 1), (40, 3))


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, int], Home]:
    """The same people under several bounds: C rows, K keys."""
    made = {}
    for most, keys in BOUNDS:
        text = POLICY.replace(
            "rows_per_unit = 3\ngroups_per_unit = 2", f"rows_per_unit = {most}\ngroups_per_unit = {keys}"
        )
        made[most, keys] = Home(tmp_path_factory.mktemp(f"c{most}k{keys}"), text, world())
    return made


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_what_is_stored_gives_the_same_numbers(bounds: tuple[int, int], homes: dict[tuple[int, int], Home]) -> None:
    """Also at lower bounds than the policy's, and by Gaussian noise; the key of a stored answer is the same."""
    home = homes[bounds]
    for sql in EVERY:
        same_numbers(home, home.prepared, sql)
        for most in (1,) if bounds == BOUNDS[0] and "home" not in sql else ():
            same_numbers(home, home.prepared, sql, None, most)
        if bounds == BOUNDS[0]:
            same_numbers(home, home.prepared, sql, "gaussian")
            assert home.planned(sql, home.kept).digest == home.planned(sql, home.prepared).digest


ONE = POLICY.split("[tables.home]", maxsplit=1)[0]
"""The policy of one table: nobody is named by a second one."""
LAYOUTS = {
    "two tables": (POLICY, "part"),
    "one table": (ONE, "part"),
    "a column of the name of row numbers": (ONE, "rowid"),
    "in another spelling, beside another table": (POLICY, "RowId"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_row_is_prepared_once_whatever_tables_there_are(layout: str, tmp_path: Path) -> None:
    """A person of one table had a number for each of her rows, and each row was stored once for each number."""
    text, name = LAYOUTS[layout]
    text = text.replace("\npart =", f"\n{name} =")
    tables = {
        t: (c.replace("part VARCHAR", f"{name} VARCHAR"), r) for t, (c, r) in world().items() if f"tables.{t}]" in text
    }
    home = Home(tmp_path, text, tables)
    for table in tables:
        shown = ", ".join(identifier(column) for column in home.policy.tables[table].columns)
        read = f'SELECT "#person", {shown} FROM {table}'
        kept, stored = (Counter(e._private.execute(read).fetchall()) for e in (home.kept, home.prepared))
        assert stored == kept
    numbers = home.prepared._private.execute('SELECT DISTINCT "#person", "#number" FROM stay').fetchall()
    assert len(numbers) == len({person for person, _ in numbers}) == len({number for _, number in numbers})
    assert look(load(tmp_path / "sfumato.toml"), home.policy.version_at(datetime.now(UTC))).people == len(PEOPLE)  # type: ignore[union-attr]
    asked = [sql.replace("part", identifier(name)) for sql in EVERY if "home" in tables or "home" not in sql]
    for number, sql in enumerate(asked[:: 1 if layout == "one table" else 3]):
        same_numbers(home, home.prepared, sql, "gaussian" if number % 3 == 2 else None)


def test_rows_that_are_not_there_once_are_not_prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault of the test above, planted: nothing is left that somebody could read."""
    monkeypatch.setattr(prepared_tables, "everybody", lambda _: f"SELECT {relations.UNIT} AS u FROM stay")
    with pytest.raises(EngineError, match="could not be prepared"):
        Home(tmp_path, ONE, {"stay": world()["stay"]})
    assert not list(tmp_path.rglob("prepared.duckdb*"))


def quick(home: Home, sql: str) -> str:
    return text_on(home.prepared, home.planned(sql, home.prepared).cuts[0].parts[0])


def test_lots_are_used_where_they_are_those_of_the_rows(homes: dict[tuple[int, int], Home]) -> None:
    texts = {sql: quick(homes[3, 2], sql) for sql in (*DRAWN, *HASHED)}
    assert [sql for sql, text in texts.items() if '"#lot ' in text.replace("0.", "").replace("1.", "")] == DRAWN
    assert [sql for sql in DRAWN if "md5(" in texts[sql]] == []


def test_what_is_the_same_in_all_rows_of_a_person_is_known(homes: dict[tuple[int, int], Home]) -> None:
    """NULL in all her rows is the same, in some is not; nor are two zeros that are written otherwise."""
    known = homes[3, 2].prepared.known.counted
    assert [name for name in known["stay"] if name.startswith("same ")] == ["same who", "same sex"]
    assert [name for name in known["home"] if name.startswith("same ")] == []
    assert ["#weight 3" in quick(homes[3, 2], sql) for sql in (*SAME[:2], *OTHER[:2])] == [True, True, False, False]


def test_no_hash_reads_the_number_of_a_person(homes: dict[tuple[int, int], Home]) -> None:
    """It depends on who else is there: one person more, and other people's keys would be chosen anew."""
    seen = Counter[str]()
    for sql in EVERY:
        for cut in homes[3, 2].planned(sql, homes[3, 2].prepared).cuts:
            forms = [form for part in cut.parts for form in (plain(part.job), run_on(homes[3, 2].prepared, part))]
            for statement in (statement for form in forms for statement in form.statements()):
                seen["hashed"] += "md5(" in statement.text
                seen["numbered"] += '"#number"' in statement.text
                assert not ("md5(" in statement.text and '"#number"' in statement.text), sql
                assert statement.salted == ("md5($salt" in statement.text), sql
    assert min(seen["hashed"], seen["numbered"]) > 10


def _vector(home: Home, sql: str) -> tuple[Counter[Any], Counter[Any]]:
    """Sums by group, and the number of persons behind each open key."""
    (part,) = home.planned(sql, home.prepared).cuts[0].parts
    width, sums, people = len(part.kept), Counter[Any](), Counter[Any]()
    quick, texts = fast_on(home.prepared, part), iter(run_on(home.prepared, part).extras)
    if quick is not None:
        for row in found(home.prepared, quick, home.prepared.salt()):
            parts = row[width : width + sum(len(r.bundle.parts) for r in part.bundles)]
            sums.update({(row[:width], i): value for i, value in enumerate(parts)})
            people[row[:width]] += row[-1] if part.chosen else 0
    for number, released in enumerate(part.bundles):
        if released.extra is not None and released.extra.law is not None:
            for row in found(home.prepared, next(texts), ""):
                sums[number, row[:-1]] += row[-1]
    return sums, people


def test_one_person_moves_stored_numbers_by_what_is_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prepared with her and without her, under one hash key: nobody else's keys are chosen anew."""
    monkeypatch.setattr("sfumato.owner.preparation.secrets.token_hex", lambda n: "5a" * n)
    asked = ["SELECT COUNT(*) FROM stay", "SELECT tag, COUNT(*) FROM stay GROUP BY tag",
             "SELECT tag, COUNT(*) FROM stay WHERE cost > 20 GROUP BY tag", "SELECT MEDIAN(cost) FROM stay",
             "SELECT code, COUNT(*) FROM stay WHERE sex = 'f' GROUP BY code"]  # fmt: skip
    for name in ("all", *PEOPLE[:2]):
        (tmp_path / name).mkdir()
    everybody = Home(tmp_path / "all", POLICY, world())
    whole, reached = {sql: _vector(everybody, sql) for sql in asked}, 0
    for who in PEOPLE[:2]:
        others = Home(tmp_path / who, POLICY, world(who))
        for sql in asked:
            sums, people = _vector(others, sql)
            moved = whole[sql][0].copy()
            moved.subtract(sums)
            assert sum(map(abs, moved.values())) <= 3 * FINE, (who, sql)
            reached += sum(map(abs, moved.values())) > 2 * FINE
            seen = whole[sql][1].copy()
            seen.subtract(people)
            assert sum(map(abs, seen.values())) <= 2, (who, sql)
    assert reached > 4


def test_prepared_rows_have_one_hash_key_and_others_a_new_one_each_time(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    home = Home(tmp_path / "a", POLICY, world())
    policy = load(tmp_path / "a" / "sfumato.toml")
    assert home.prepared.salt() == home.prepared.salt()
    assert len({home.kept.salt(), home.kept.salt(), home.prepared.salt()}) == 3
    prepare(tmp_path / "a" / "sfumato.toml")
    again = look(policy, policy.version_at(datetime.now(UTC)))
    assert again is not None
    assert again.salt != home.prepared.salt()
    assert again.salt not in repr(again)


def test_a_question_may_speak_of_the_hash_key(tmp_path: Path) -> None:
    """A text in it is a text, also where nothing is hashed."""
    for name, (columns, listed) in world().items():
        with duckdb.connect(str(tmp_path / "world.duckdb")) as connection:
            connection.execute(f"CREATE TABLE {name} ({columns})")
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(listed[0]))})", listed)
    (tmp_path / "sfumato.toml").write_text(POLICY, encoding="utf-8")
    prepare(tmp_path / "sfumato.toml")
    with open_policy(tmp_path / "sfumato.toml") as gate:
        assert len(gate.sql("SELECT MEDIAN(cost) FROM stay WHERE tag <> '$salt'", epsilon=1).rows) == 1
        assert len(gate.sql("SELECT COUNT(DISTINCT code) FROM stay WHERE tag <> '$salt'", epsilon=1).rows) == 1
        assert len(gate.sql("SELECT tag, COUNT(*) FROM stay WHERE tag <> '$salt' GROUP BY tag", epsilon=10**6).rows) > 1
