"""`unit = "row"`: each row is a person, no other table is about people, and one row moves what it is said to move."""

from __future__ import annotations

import json
from fractions import Fraction

import duckdb
import pytest

import sfumato
from sfumato.engines import ENGINES, connect
from sfumato.engines.duckdb.prepared_file import look
from sfumato.errors import PolicyError
from sfumato.owner.admission import check
from sfumato.owner.draft import draft, person_of
from sfumato.owner.draft import look as look_at
from sfumato.owner.preparation import prepare
from sfumato.policy import ROW, from_dict, load, parse, units_of

POLICY = """
[source]
engine = "duckdb"
files = { people = "people.csv", tag = "tag.csv" }
[data]
id = "people"
[privacy]
epsilon = 1e18
delta = 0.5
query_epsilon = 1e9
query_delta = 1e-3
composition = "pure"
[tables.people]
unit = "row"
[tables.people.columns]
age = { type = "integer", min = 0, max = 120 }
sex = { values = ["f", "m"] }
town = { type = "text", max_length = 10 }
[tables.tag]
public = true
"""
PEOPLE = [(30 + i % 50, "fm"[i % 2], "abcde"[i % 5]) for i in range(200)]


@pytest.fixture
def home(tmp_path):
    rows = "".join(f"{age},{sex},{town}\n" for age, sex, town in PEOPLE)
    (tmp_path / "people.csv").write_text("age,sex,town\n" + rows)
    (tmp_path / "tag.csv").write_text("town,word\n" + "".join(f"{t},{w}\n" for t in "abcde" for w in "xyz"))
    (tmp_path / "sfumato.toml").write_text(POLICY)
    return tmp_path


def document(**tables):
    files = dict.fromkeys(tables, ":memory:")
    return {
        "source": {"engine": "duckdb", "files": files},
        "data": {"id": "d"},
        "privacy": {"epsilon": 1},
        "tables": tables,
    }


def test_a_person_has_one_row_and_nothing_else_can_be_written():
    table = from_dict(document(t={"unit": "row"})).tables["t"]
    assert (table.unit, table.rows_per_unit, table.groups_per_unit, table.l2_per_unit) == (ROW, 1, 1, Fraction(1))
    for key in ("rows_per_unit", "groups_per_unit", "l2_per_unit"):
        assert from_dict(document(t={"unit": "row", key: 1})).tables["t"] == table
        with pytest.raises(PolicyError, match=f'{key} .*must be 1 where unit = "row"'):
            from_dict(document(t={"unit": "row", key: 2}))
    with pytest.raises(PolicyError, match="must be 1"):
        from_dict(document(t={"unit": "row", "rows_per_unit": "auto"}))


def test_a_column_of_that_name_is_not_taken_for_it():
    with pytest.raises(PolicyError, match="it could mean either"):
        from_dict(document(t={"unit": "row", "columns": {"row": {"type": "integer"}}}))
    with pytest.raises(PolicyError, match="begins with #"):
        from_dict(document(t={"unit": "row", "columns": {"#row": {"type": "integer"}}}))


def test_where_rows_are_people_no_other_table_is_private():
    other = {"unit": "id", "rows_per_unit": 1, "columns": {"id": {"type": "integer"}}}
    for tables in ({"t": {"unit": "row"}, "u": other}, {"u": other, "t": {"unit": "row"}}):
        with pytest.raises(PolicyError, match='is "row", but table "u" also has a privacy unit'):
            from_dict(document(**tables))
    with pytest.raises(PolicyError, match="also has a privacy unit"):
        from_dict(document(t={"unit": "row"}, u={"unit": "row"}))
    assert from_dict(document(t={"unit": "row"}, u={"public": True})).tables["u"].public


def test_nothing_leads_to_a_row():
    key = {"id": {"type": "integer"}}
    joined = {"unit": {"join": "t", "on": "id = id"}, "rows_per_unit": 3, "columns": key}
    with pytest.raises(PolicyError, match="also has a privacy unit"):
        from_dict(document(t={"unit": "row", "columns": key}, u=joined))


def test_no_query_can_name_a_row(home):
    asked = (
        'SELECT "#row" FROM people',
        'SELECT COUNT(DISTINCT "#row") FROM people',
        'SELECT COUNT(*) FROM people a JOIN people b ON a."#row" = b."#row"',
        'SELECT COUNT(*) FROM people a JOIN people b USING ("#row")',
        "SELECT COUNT(*) FROM people a JOIN people b ON a.age = b.age",
        "SELECT COUNT(*) FROM people a NATURAL JOIN people b",
        "SELECT COUNT(*) FROM people a, people b",
        "SELECT COUNT(*) FROM people WHERE age IN (SELECT age FROM people WHERE sex = 'f')",
        "SELECT COUNT(*) FROM people a WHERE EXISTS (SELECT 1 FROM people b WHERE b.age = a.age)",
        "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY age) AS r FROM people) AS t",
        "SELECT COUNT(*) FROM (SELECT rowid FROM people) AS t",
        "SELECT age FROM people LIMIT 1",
    )
    with sfumato.open(home / "sfumato.toml") as gate:
        for sql in asked:
            refused = gate.explain(sql).refused
            assert refused is not None, sql
            assert "#row" not in (refused.hint or ""), sql
            hint = refused.hint or ""
            if hint.startswith("Try this instead: "):
                assert gate.explain(hint.removeprefix("Try this instead: ").removesuffix(".")).refused is None


QUERIES = (
    ("SELECT COUNT(*) FROM people", 1),
    ("SELECT SUM(age) FROM people", 120),
    ("SELECT sex, COUNT(*) FROM people GROUP BY sex", 1),
    ("SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL SELECT age FROM people) AS t", 2),
    ("SELECT COUNT(*) FROM people p JOIN tag t ON t.town = p.town", 3),
    ("SELECT word, COUNT(*) FROM people p JOIN tag t ON t.town = p.town GROUP BY word", None),
    ("SELECT town, COUNT(*) FROM people GROUP BY town", None),
)


def numbers(gate, sql):
    """Nearly exact answers: the noise of an epsilon of a thousand millions is none."""
    answer = gate.sql(sql, epsilon=10**9)
    return {row[:-1]: row[-1] for row in answer.rows}


def exact(rows, sql):
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE people (age INT, sex VARCHAR, town VARCHAR)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
        connection.execute("CREATE TABLE tag AS SELECT * FROM (VALUES ('a'),('b'),('c'),('d'),('e')) t(town),"
                           " (VALUES ('x'),('y'),('z')) w(word)")  # fmt: skip
        return {row[:-1]: row[-1] for row in connection.execute(sql).fetchall()}


@pytest.mark.parametrize("prepared", [False, True])
def test_one_row_moves_what_is_claimed(home, prepared):
    """Whole sums over the table with and without one row, through the gateway, loaded and prepared."""

    def answers():
        if prepared:
            prepare(home / "sfumato.toml")
            policy = load(home / "sfumato.toml")
            assert look(policy, policy.data.version) is not None
        with sfumato.open(home / "sfumato.toml") as gate:
            claims = [gate.explain(sql, epsilon=1).columns[-1].scale for sql, _ in QUERIES]
            return [numbers(gate, sql) for sql, _ in QUERIES], claims

    before, claims = answers()
    lines = (home / "people.csv").read_text().splitlines()
    (home / "people.csv").write_text("\n".join([*lines[:120], *lines[121:]]) + "\n")
    text = (home / "sfumato.toml").read_text()
    (home / "sfumato.toml").write_text(text.replace('id = "people"', 'id = "people"\nversion = "2"'))
    after, _ = answers()
    for (sql, most), one, two, scale in zip(QUERIES, before, after, claims, strict=True):
        moved = sum(abs(one.get(key, 0) - two.get(key, 0)) for key in one.keys() | two.keys())
        assert moved >= 1, sql  # the row counts
        if most is not None:
            assert {key: value for key, value in one.items() if value} == exact(PEOPLE, sql)
            assert scale == most  # noise is scaled for what one row can change, and no more
            assert moved <= most
        elif scale is not None:
            assert moved <= scale


def test_rows_have_names_that_say_nothing_of_their_place(home):
    with sfumato.open(home / "sfumato.toml") as one, sfumato.open(home / "sfumato.toml") as two:
        names = []
        for gate in (one, two):
            rows = gate._engine._private.execute('SELECT CAST("#person" AS VARCHAR) FROM people').fetchall()
            names.append([row[0] for row in rows])
        assert len(set(names[0])) == len(set(names[1])) == len(PEOPLE)
        assert not set(names[0]) & set(names[1])


def test_the_ledger_keeps_the_unit(home):
    assert units_of(load(home / "sfumato.toml").tables) == {"people": {"column": ROW}, "tag": {}}
    with sfumato.open(home / "sfumato.toml") as gate:
        gate.sql("SELECT COUNT(*) FROM people")
    text = POLICY.replace('unit = "row"', 'unit = "town"\nrows_per_unit = 1')
    (home / "sfumato.toml").write_text(text)
    with pytest.raises(PolicyError) as refused:
        sfumato.open(home / "sfumato.toml")
    assert "from each row to" in str(refused.value.detail) + refused.value.message


def test_check_and_init_know_it(home):
    report = check(home / "sfumato.toml")
    assert not report.problems
    assert (report.tables["people"].persons, report.tables["people"].most_rows) == (200, 1)
    source = look_at([str(home / "people.csv")])
    assert person_of(source, "row") == person_of(source, "people.row") == ("people", ROW)
    text = draft(source, ("people", ROW), home)
    assert 'unit = "row"' in text
    assert "rows_per_unit" not in text.split("[tables.people]")[1]
    filled = text.replace('epsilon = "?"', "epsilon = 1").replace('"?"', "1")
    assert parse(filled, home / "draft.toml").tables["people"].unit == ROW


def test_other_engines_say_that_they_cannot(monkeypatch):
    monkeypatch.setitem(ENGINES, "other", lambda *_: pytest.fail("it must not be asked"))
    policy = from_dict(document(t={"unit": "row"}))
    from dataclasses import replace

    with pytest.raises(PolicyError, match='unit = "row" needs engine = "duckdb"'):
        connect(replace(policy, source=replace(policy.source, engine="other")))


def test_the_schema_over_http_says_row(home):
    from sfumato.server.http.gateway_calls import schema

    with sfumato.open(home / "sfumato.toml") as gate:
        tables = {table["name"]: table for table in json.loads(json.dumps(schema(gate)))["tables"]}
    assert (tables["people"]["unit"], tables["people"]["rows_per_unit"]) == ("row", 1)
