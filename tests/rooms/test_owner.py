"""The owner's room: drafts from names alone, every mistake at its line, and what the rows keep to, for her eyes."""

from __future__ import annotations

import gzip
import json
import os
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sfumato.engines import texts
from sfumato.errors import InputError, PolicyError
from sfumato.gateway import open_policy
from sfumato.owner import admit, schema
from sfumato.owner.admit import Report, check, facts
from sfumato.owner.draft import draft, look, person_of
from sfumato.owner.mistakes import read_all
from sfumato.owner.people import Way, candidates, ways
from sfumato.owner.presets import PRESETS, propose
from sfumato.owner.schema import Link, Schema
from sfumato.policy import load, parse

# the schema, and nothing but the schema


def write_parquet(path: Path, select: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")


def test_of_parquet_the_footer_is_enough(tmp_path: Path) -> None:
    """Every byte of the rows is overwritten; the footer says how long it is."""
    path = tmp_path / "people.parquet"
    write_parquet(path, "SELECT i AS id, 'x' || i AS name, i::DECIMAL(9,2) AS cost FROM range(5000) AS r(i)")
    content = path.read_bytes()
    footer = 8 + int.from_bytes(content[-8:-4], "little")
    path.write_bytes(b"PAR1" + b"\xff" * (len(content) - footer - 4) + content[-footer:])
    with pytest.raises(duckdb.Error), duckdb.connect() as connection:
        connection.execute(f"SELECT SUM(id), MAX(name) FROM '{path}'").fetchall()
    assert schema.of_files([str(path)]).columns == {"id": "BIGINT", "name": "VARCHAR", "cost": "DECIMAL(9,2)"}
    assert look([str(path)]).tables.keys() == {"people"}


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_of_a_text_file_not_one_byte_after_the_first_line_is_read(ending: str, tmp_path: Path) -> None:
    """A pipe tells: what was not read is still in it."""
    first = b'id,"first, name"\n' if ending == "csv" else b'{"id": 1, "first, name": "x"}\n'
    path = tmp_path / f"people.{ending}"
    os.mkfifo(path)
    end = os.open(path, os.O_RDWR)
    try:
        os.write(end, first + b"secret")
        assert texts.first_line(str(path), quoted=True) == first.decode()
        assert os.read(end, 100) == b"secret"
    finally:
        os.close(end)
    path.unlink()
    path.write_bytes(first + b'\xff\x00"garbage",,,\n{{')
    found = schema.of_files([str(path)])
    assert list(found.columns) == ["id", "first, name"]
    assert not found.typed


HEADERS = {
    "id,name\n": ["id", "name"],
    "\ufeffid,name\r\n": ["id", "name"],
    "id;name\n": ["id", "name"],
    "id|name\n": ["id", "name"],
    "id\tname\n": ["id", "name"],
    'a,A,a,,b c,"say ""hi"", now"\n': ["a", "A_1", "a_2", "column3", "b c", 'say "hi", now'],
    '"two\nlines",x\n': ["two\nlines", "x"],
    "id": ["id"],
}


@pytest.mark.parametrize("header", HEADERS)
def test_headers_are_those_that_the_engine_finds(header: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(header.encode() + b"\n" * (not header.endswith("\n")) + b"1,2\n" * ("," in header))
    assert list(schema.of_files([str(path)]).columns) == HEADERS[header]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "holds no names"),
        ("t.csv", b"12,2024-01-01,3.5,abc\n", "does not look like names"),
        ("t.csv", b"\xff\xfe,b\n", "is not UTF-8"),
        ("t.csv", b"a" * (1 << 20), "does not end"),
        ("t.jsonl", b'["Bob", "Eve"]\n', "is not a JSON object"),
        ("t.jsonl", b"Bob\n", "is not a JSON object"),
        ("t.parquet", b"PAR1 nothing", "cannot read"),
    ],
)
def test_a_source_that_cannot_be_read_is_named(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PolicyError, match=message) as caught:
        schema.of_files([str(tmp_path / name)])
    assert "Bob" not in str(caught.value)


def test_names_of_several_files_are_one_table(tmp_path: Path) -> None:
    (tmp_path / "v1.csv").write_text("id,a\n", encoding="utf-8")
    (tmp_path / "v2.csv").write_text("id,B,A\n", encoding="utf-8")
    with gzip.open(tmp_path / "v3.csv.gz", "wt") as file:
        file.write("id,c\n1,2\n")
    assert list(schema.of_files([str(tmp_path / "v*")]).columns) == ["id", "a", "B", "c"]
    (tmp_path / "l.jsonl").write_text('{"Id": 1, "x": {"deep": 2}, "ID": 3}\n{"late": 1}\n', encoding="utf-8")
    assert list(schema.of_files([str(tmp_path / "l.jsonl")]).columns) == ["Id", "x"]


def database(path: Path) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, email VARCHAR, born DATE, photo BLOB)")
        connection.execute("CREATE TABLE booking (no INT PRIMARY KEY, who INT REFERENCES person(id), paid DOUBLE)")
        connection.execute('CREATE TABLE "Leg" (booking_no INTEGER REFERENCES booking(no), "to" VARCHAR)')
        connection.execute("CREATE TABLE airport (code VARCHAR, city VARCHAR)")
        connection.execute("CREATE VIEW adults AS SELECT * FROM person")
        connection.execute("INSERT INTO person VALUES (1, 'secret', '1990-01-01', NULL)")
    return path


def test_a_database_declares_keys(tmp_path: Path) -> None:
    tables, views = schema.of_database(str(database(tmp_path / "air.duckdb")))
    assert list(tables) == ["Leg", "airport", "booking", "person"]
    assert views == ["adults"]
    assert tables["person"].unique == {"id"}
    assert tables["booking"].links == (Link("who", "person", "id"),)


# who the person is


def text(*names: str) -> Schema:
    return Schema(dict.fromkeys(names, "VARCHAR"), typed=False)


CLINIC = {"patient": text("ssn", "age"), "visit": text("patient_ssn", "cost"), "region": text("area", "name")}
SHOP = {
    "customers": text("id", "name"),
    "orders": text("id", "customer_id", "total"),
    "items": text("order_id", "price"),
    "products": text("sku", "price"),
}


def test_candidates_are_found_by_their_names() -> None:
    assert candidates(CLINIC)[0] == ("patient", "ssn")
    assert candidates(SHOP)[0] == ("customers", "id")
    assert candidates({"log": text("UserID", "at"), "acts": text("userid", "what")})[0] == ("log", "UserID")
    assert candidates({"t": Schema({"user_id": "DOUBLE", "x": "BLOB"})}) == []
    assert candidates({"region": text("area", "name")}) == []


def test_other_tables_lead_to_the_person_by_names_or_by_keys(tmp_path: Path) -> None:
    assert ways(CLINIC, ("patient", "ssn")) == {"patient": Way("ssn"), "visit": Way("patient_ssn")}
    assert ways(SHOP, ("customers", "id")) == {
        "customers": Way("id"),
        "orders": Way("customer_id"),
        "items": Way("order_id", "orders", "id"),
    }
    tables, _ = schema.of_database(str(database(tmp_path / "air.duckdb")))
    assert ways(tables, ("person", "id")) == {
        "person": Way("id"),
        "booking": Way("who"),
        "Leg": Way("booking_no", "booking", "no"),
    }


def test_id_is_another_thing_in_every_table() -> None:
    assert ways({"person": text("id"), "car": text("id", "wheels")}, ("person", "id")) == {"person": Way("id")}


# presets


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: "-".join(preset.last or preset.first))
def test_every_preset_is_toml_and_a_column_once_it_is_decided(preset: Any) -> None:
    day = {"date": "2024-01-01", "timestamp": "2024-01-01T00:00:00"}.get(preset.kinds[0], "7")
    declared = preset.declared.replace('"?"', day)
    policy = f"""
        [source]
        engine = "duckdb"
        files = {{ t = "t.csv" }}
        [data]
        id = "d"
        [privacy]
        epsilon = 1
        [tables.t]
        unit = "u"
        rows_per_unit = 1
        [tables.t.columns]
        u = {{ type = "integer" }}
        x = {declared}
    """
    assert parse(policy).tables["t"].columns["x"].type in {*preset.kinds, "decimal"}


def test_a_preset_keeps_to_the_type_that_the_source_declares() -> None:
    assert propose("age", "text")[0] == '{ type = "text", max_length = 100 }'
    assert propose("salary", "integer")[0] == '{ type = "integer", min = "?", max = "?" }'
    assert propose("salary", "double")[0] == '{ type = "decimal", min = "?", max = "?", grid = 0.01 }'
    assert propose("salary", "decimal", 0)[0] == '{ type = "decimal", min = "?", max = "?", grid = 1 }'
    assert propose("zip", "integer")[0] == '{ type = "integer" }'
    assert propose("when", "timestamp")[0] == '{ type = "timestamp", min = "?", max = "?" }'
    assert propose("package", None)[0] == '{ type = "text", max_length = 100 }'


# the draft


def drafted(folder: Path, data: list[Path], unit: str) -> str:
    source = look([str(path) for path in data])
    return draft(source, person_of(source, unit), folder)


def test_a_draft_of_a_database(tmp_path: Path) -> None:
    found = drafted(tmp_path, [database(tmp_path / "air.duckdb")], "person.id")
    document = tomllib.loads(found)
    assert document["source"]["files"] == "air.duckdb"
    assert document["data"]["id"] == "air"
    tables = document["tables"]
    assert tables["person"]["rows_per_unit"] == 1, "its key is declared to be unique"
    assert tables["booking"]["unit"] == "who"
    assert tables["booking"]["rows_per_unit"] == "?"
    assert tables["Leg"]["unit"] == {"join": "booking", "on": "booking_no = no"}
    assert tables["airport"]["unit"] == "?"
    assert tables["person"]["columns"].keys() == {"id", "email", "born"}
    assert "photo left out" in found
    assert '"adults"' in found
    assert "secret" not in found
    assert tables["booking"]["columns"]["no"] == {"type": "integer"}


def test_odd_names_become_valid_and_unique(tmp_path: Path) -> None:
    names = ["Order.csv", "order.csv", "2024 q'1 [a].csv", "Ünï.csv", "st*r.csv", 'say "x".csv', ".csv"]
    for number, name in enumerate(names):
        (tmp_path / name).write_text(f'user_id,"Odd ""{number}""",odd = #\n1,2,3\n', encoding="utf-8")
    found = drafted(tmp_path, [tmp_path / name for name in names], "order_table.user_id")
    document = tomllib.loads(found)
    tables = ["order_table", "order_table_2", "t_2024_q_1_a", "uni", "st_r", "say_x", "data"]
    assert list(document["tables"]) == tables
    assert all(table["unit"] == "user_id" for table in document["tables"].values())
    assert list(document["tables"]["uni"]["columns"]) == ["user_id", 'Odd "3"', "odd = #"]
    path = tmp_path / "sfumato.toml"
    path.write_text(found.replace('"?"', "1"), encoding="utf-8")
    assert check(path).problems == ()
    with open_policy(path) as gate:
        assert gate.sql('SELECT COUNT("Odd ""4""") FROM st_r', epsilon=1).columns == ("count",)


def test_a_pattern_is_one_table_and_paths_start_at_the_policy(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for month in ("01", "02"):
        (tmp_path / "data" / f"visits-{month}.csv").write_text("user_id,n\n", encoding="utf-8")
    found = drafted(tmp_path / "data" / "x", [tmp_path / "data" / "visits-*.csv"], "visits.user_id")
    assert tomllib.loads(found)["source"]["files"] == {"visits": "../visits-*.csv"}


def test_identifiers_of_two_kinds_are_pointed_out(tmp_path: Path) -> None:
    write_parquet(tmp_path / "person.parquet", "SELECT 1 AS person_id")
    (tmp_path / "trip.csv").write_text("person_id\n1\n", encoding="utf-8")
    found = drafted(tmp_path, [tmp_path / "person.parquet", tmp_path / "trip.csv"], "person.person_id")
    assert "the source keeps person.person_id in another type" in found


def test_what_cannot_be_drafted_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n", encoding="utf-8")
    (tmp_path / "a.xlsx").write_text("", encoding="utf-8")
    empty = tmp_path / "e.duckdb"
    duckdb.connect(str(empty)).close()
    for data, message in (
        ([tmp_path], "is a directory"),
        ([tmp_path / "a.xlsx"], "cannot tell what"),
        ([tmp_path / "b.csv"], "there is no file"),
        ([tmp_path / "a.csv", empty], "not both"),
        ([empty], "holds no table"),
        ([tmp_path / "a\udcff.csv"], "cannot be written"),
    ):
        with pytest.raises(InputError, match=message):
            look([str(path) for path in data])
    source = look([str(tmp_path / "a.csv")])
    with pytest.raises(InputError, match="there is no column") as caught:
        person_of(source, "a.Id")
    assert caught.value.hint == "Pass --unit a.id."


# mistakes


GOOD = """\
[source]
engine = "duckdb"
files = { p = "p.csv", v = "v.csv" }
[data]
id = "d"
version = "1"
[privacy]
epsilon = 4
[analysts.ana]
epsilon = 1
[tables.p]
unit = "id"
rows_per_unit = 1
[tables.p.columns]
id = { type = "text", max_length = 9 }
age = { type = "integer", min = 0, max = 120 }
sex = { values = ["f", "m"] }
[tables.v]
unit = { join = "p", on = "who = id" }
rows_per_unit = 2
[tables.v.columns]
who = { type = "text", max_length = 9 }
cost = { type = "decimal", min = 0, max = 100, grid = 0.01 }
day = { type = "date", min = 2020-01-01, max = 2029-12-31, nulls = false }
note = { type = "text", max_length = 3 }
"""

BAD = {
    ('engine = "duckdb"', 'engine = "oracle"'): [(2, "engine")],
    ("epsilon = 4", 'epsilon = "?"'): [(8, "is not decided yet")],
    ("epsilon = 4", "epsilon = 0\nquery_epsilon = 9\ntimign = 1"): [(8, "above 0"), (10, "unknown key")],
    ("rows_per_unit = 1\n", 'rows_per_unit = "?"\ngroups_per_unit = 0\n'): [(13, "not decided"), (14, "at least 1")],
    ("min = 0, max = 120", 'min = "?", max = "?"'): [(16, "min in"), (16, "max in")],
    ("min = 0, max = 120", "min = 9, max = 1"): [(16, "above max")],
    ('unit = "id"', 'unit = "idd"'): [(12, "not a listed column")],
    ('unit = "id"\nrows_per_unit = 1', ""): [(11, "has no unit"), (11, "has no rows_per_unit")],
    ('join = "p"', 'join = "q"'): [(19, "not a table of the policy")],
    ("epsilon = 1\n", "epsilon = 5\n"): [(10, "must be at most")],
    ('id = "d"', 'id = "a/b"\nversoin = 1'): [(5, "must have no /"), (6, "unknown key")],
    ("[analysts.ana]", "[analyst.ana]"): [(9, "unknown key")],
    ('v = "v.csv" }', "v = 3 }"): [(3, "must be text")],
    ('{ values = ["f", "m"] }', "3"): [(17, "must be a table")],
    ("grid = 0.01", "grid = 0.03"): [(23, "multiple of grid")],
    (', v = "v.csv"', ""): [(18, "has no file")],
    ("[data]", "[data"): [(4, "not TOML")],
    ("epsilon = 4", "epsilon = 4\npartition = 'v.day'"): [(9, "partition")],
}


def test_a_good_policy_has_no_mistakes(tmp_path: Path) -> None:
    policy, found = read_all(GOOD, tmp_path / "sfumato.toml")
    assert found == []
    assert policy is not None


@pytest.mark.parametrize("change", BAD, ids=lambda change: change[1][:30])
def test_a_mistake_is_told_once_at_its_line(change: tuple[str, str], tmp_path: Path) -> None:
    old, new = change
    assert GOOD.count(old) == 1
    policy, found = read_all(GOOD.replace(old, new), tmp_path / "sfumato.toml")
    assert policy is None
    assert len(found) == len(BAD[change]), [str(error) for error in found]
    for error, (line, words) in zip(found, BAD[change], strict=True):
        assert words in error.message
        assert error.detail is not None
        assert error.detail.startswith(f"sfumato.toml, line {line}, column ")


def test_all_mistakes_are_told_in_the_order_of_their_lines(tmp_path: Path) -> None:
    """One change of every kind that leaves the others where they are."""
    text, lines = GOOD, []
    for (old, new), found in BAD.items():
        if "\n" not in old + new and text.count(old) == 1 and new and "TOML" not in found[0][1]:
            text = text.replace(old, new)
            lines += [line for line, _ in found]
    assert len(lines) >= 10
    _, told = read_all(text, tmp_path / "sfumato.toml")
    seen = [int(str(error.detail).split()[2].rstrip(",")) for error in told]
    assert seen == sorted(seen)
    assert set(lines) - {9} <= set(seen)  # a table [analyst] is told, and then nobody's share is too large


def test_an_empty_policy_lacks_all_of_it(tmp_path: Path) -> None:
    _, found = read_all("", tmp_path / "sfumato.toml")
    lacking = ["the policy has no [source]", "the policy has no [data]", "the policy has no [privacy]"]
    assert [error.message for error in found] == [*lacking, "the policy names no table"]
    _, found = read_all("tables = 3\nprivacy = 4\nsource = 5\n", tmp_path / "sfumato.toml")
    assert [error.message.split(" must")[0] for error in found] == [lacking[1], "tables", "privacy", "source"]


def test_one_mistake_does_not_hide_another(tmp_path: Path) -> None:
    text = GOOD.replace("[tables.p.columns]", "columns = 4\n[tables.x]").replace("rows_per_unit = 2", "public = 3")
    text = text.replace('{ p = "p.csv", v = "v.csv" }', "{}")
    _, found = read_all(text, tmp_path / "sfumato.toml")
    told = [error.message for error in found]
    assert not [words for words in told if '"t"' in words], "only what the owner wrote is named"
    for words in ('table "p" has no file', 'table "v" has no file', "columns in [tables.p]", "public in [tables.v]"):
        assert any(words in one for one in told), words


# check


def home(tmp_path: Path, policy: str = GOOD, p: str | None = None, v: str | None = None) -> Path:
    rows = "id,age,sex\na,30,f\nb,150,x\nc,old,m\n,40,f\nd,,\n"
    visits = "who,cost,day,note\na,5,2021-01-01,abc\na,-5,2021-02-30,abcd\na,500,,\nb,nan,2050-01-01,x\n"
    visits += "z,1,2021-01-01,\n"
    (tmp_path / "p.csv").write_text(rows if p is None else p, encoding="utf-8")
    (tmp_path / "v.csv").write_text(visits if v is None else v, encoding="utf-8")
    (tmp_path / "sfumato.toml").write_text(policy, encoding="utf-8")
    return tmp_path / "sfumato.toml"


def messages(report: Report) -> list[str]:
    return [problem.message for problem in report.problems]


def test_the_owner_is_told_what_does_not_hold(tmp_path: Path) -> None:
    report = check(home(tmp_path))
    assert report.problems == ()
    assert report.tables is not None
    p, v = report.tables["p"], report.tables["v"]
    assert (p.rows, p.persons, p.without_person, p.most_rows, p.over, p.unique_unit) == (5, 4, 1, 1, 0, True)
    assert p.columns == {
        "id": {"nulls": 1},
        "age": {"nulls": 1, "unreadable": 1, "below": 0, "above": 1},
        "sex": {"nulls": 1, "outside": 1},
    }
    assert (v.rows, v.persons, v.without_person, v.most_rows, v.over, v.removed) == (5, 2, 1, 3, 1, 1)
    assert v.columns == {
        "who": {"nulls": 0, "too_long": 0},
        "cost": {"nulls": 0, "unreadable": 1, "below": 1, "above": 1},
        "day": {"nulls": 1, "unreadable": 1, "below": 0, "above": 1},
        "note": {"nulls": 2, "too_long": 1},
    }
    told = [(one.line, one.column, one.message) for one in report.warnings]
    assert told == [
        (12, None, "1 row without a person: left out"),
        (16, "age", "1 value (20.0 %) not of type integer: NULL"),
        (16, "age", "1 value (20.0 %) above max: counted as max"),
        (17, "sex", "1 value (20.0 %) not in the list: NULL"),
        (19, None, "1 row without a person: left out"),
        (
            20,
            None,
            (
                "1 person of 2 with more than 2 rows, up to 3: each of their rows counts for less, "
                "which removes as much as 1 row of 5 (20.0 %)"
            ),
        ),
        (23, "cost", "1 value (20.0 %) not of type decimal: NULL"),
        (23, "cost", "1 value (20.0 %) below min: counted as min"),
        (23, "cost", "1 value (20.0 %) above max: counted as max"),
        (24, "day", "1 row with NULL: left out, as nulls = false says"),
        (24, "day", "1 value (20.0 %) not of type date: NULL"),
        (24, "day", "1 value (20.0 %) above max: counted as max"),
        (25, "note", "1 text (20.0 %) longer than 3 characters: cut"),
    ]


def test_who_has_more_than_the_one_row_is_left_out_whole(tmp_path: Path) -> None:
    report = check(home(tmp_path, p="id,age,sex\na,1,f\nb,2,m\nc,1,f\n", policy=GOOD.replace("unit = 2", "unit = 1")))
    assert report.tables is not None
    assert (report.tables["v"].over, report.tables["v"].removed) == (1, 3)
    assert any("they are left out, which removes 3 rows of 5 (60.0 %)" in one.message for one in report.warnings)


def test_what_is_measured_changes_no_answer(tmp_path: Path) -> None:
    """The same question before and after, in two places: stored answers would hide a difference."""
    question = "SELECT sex, COUNT(*), SUM(age) FROM p GROUP BY sex"
    shown = []
    for name in ("checked", "not"):
        (tmp_path / name).mkdir()
        path = home(tmp_path / name, GOOD.replace("epsilon = 4", "epsilon = 1e12"))
        if name == "checked":
            assert check(path).admitted is not None
        with open_policy(path) as gate:
            shown.append((gate.sql(question, epsilon=10**10).to_dict()["rows"], str(gate.explain(question).to_dict())))
    assert shown[0] == shown[1]


AGAINST = {
    "a file is missing": (("p.csv", "q.csv"), 3, "there is no file"),
    "a column is missing": (("age = {", "agee = {"), 16, 'has no column "agee"'),
    "a kind of file": (("p.csv", "p.xlsx"), 3, "no file"),
    "an engine": (('"duckdb"\nfiles = { p = "p.csv", v = "v.csv" }', '"postgres"\ndsn = "x"'), 2, "not supported yet"),
    "a ledger": (('version = "1"', 'ledger = "postgresql://x"'), 6, "not supported yet"),
}


@pytest.mark.parametrize("name", AGAINST)
def test_what_the_source_lacks_is_told_with_its_line(name: str, tmp_path: Path) -> None:
    (old, new), line, words = AGAINST[name]
    report = check(home(tmp_path, GOOD.replace(old, new)))
    assert len(report.problems) == 1
    assert words in report.problems[0].message
    assert f"line {line}," in str(report.problems[0].detail)
    assert report.admitted is None
    assert not (tmp_path / ".sfumato" / admit.FILE).exists()


def test_all_that_is_missing_is_told(tmp_path: Path) -> None:
    policy = GOOD.replace("age = {", "Age = {").replace("cost = {", "price = {").replace("sex = {", "gender = {")
    report = check(home(tmp_path, policy))
    assert [str(problem.detail).split(", column")[0] for problem in report.problems] == [
        f"sfumato.toml, line {line}" for line in (16, 17, 23)
    ]
    assert report.problems[0].hint == 'Did you mean "age"? Names must match to the letter.'


def test_a_key_that_leads_to_two_people_cannot_be_admitted(tmp_path: Path) -> None:
    report = check(home(tmp_path, p="id,age,sex\na,1,f\na,2,m\n"))
    assert messages(report) == ['"p.id" leads to persons, but is not unique']
    assert "line 19," in str(report.problems[0].detail)


def test_identifiers_of_two_types_cannot_be_served(tmp_path: Path) -> None:
    home(tmp_path)
    write_parquet(tmp_path / "p.parquet", "SELECT 1 AS id, 2 AS age, 'f' AS sex")
    policy = GOOD.replace("p.csv", "p.parquet").replace('unit = { join = "p", on = "who = id" }', 'unit = "who"')
    (tmp_path / "sfumato.toml").write_text(policy, encoding="utf-8")
    report = check(tmp_path / "sfumato.toml")
    assert messages(report) == ['"v.who" is VARCHAR in the source, but "p.id" is INTEGER']


def test_types_that_the_schema_gives_are_held_against_the_rules(tmp_path: Path) -> None:
    home(tmp_path)
    write_parquet(tmp_path / "p.parquet", "SELECT 'a' AS id, 2 AS age, 'f' AS sex")
    policy = GOOD.replace("p.csv", "p.parquet").replace('{ type = "text", max_length = 9 }\nage', "{}\nage")
    (tmp_path / "sfumato.toml").write_text(policy, encoding="utf-8")
    report = check(tmp_path / "sfumato.toml")
    assert messages(report) == ["[tables.p.columns.id] is text and has no max_length"]
    assert "line 15," in str(report.problems[0].detail)


VIEW = """\
[source]
engine = "duckdb"
files = "d.duckdb"
[data]
id = "d"
[privacy]
epsilon = 1
[tables.t]
unit = "u"
rows_per_unit = 1
[tables.t.columns]
u = { max_length = 9 }
x = {}
[tables.w]
unit = "u"
rows_per_unit = 1
[tables.w.columns]
u = { max_length = 9 }
x = {}
"""


@pytest.mark.parametrize(("view", "refused"), [("SELECT u, x FROM t", None), ("SELECT u, x FROM t LIMIT 1", "LIMIT")])
def test_views_are_judged(view: str, refused: str | None, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'a' AS u, 1 AS x")
        connection.execute(f"CREATE VIEW w AS {view}")
    (tmp_path / "sfumato.toml").write_text(VIEW, encoding="utf-8")
    report = check(tmp_path / "sfumato.toml")
    if refused is None:
        assert (report.problems, report.views) == ((), ("w",))
        known = facts(load(tmp_path / "sfumato.toml"), "1")
        assert known is not None
        assert known.keys() == {"t"}, "a view was not measured"
    else:
        assert refused in report.problems[0].message
        assert "line 14," in str(report.problems[0].detail)


def test_a_table_that_the_database_has_not_is_told(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE T2 AS SELECT 1 AS u")
    (tmp_path / "sfumato.toml").write_text(VIEW, encoding="utf-8")
    assert messages(check(tmp_path / "sfumato.toml")) == [
        'the database has no table "t"',
        'the database has no table "w"',
    ]


def test_a_json_name_that_no_line_has_is_a_warning(tmp_path: Path) -> None:
    path = home(tmp_path, GOOD.replace("p.csv", "p.jsonl"))
    (tmp_path / "p.jsonl").write_text('{"id": "a"}\n{"id": "b", "age": 3}\n', encoding="utf-8")
    report = check(path)
    assert report.problems == ()
    assert [one.message for one in report.warnings if one.column == "sex"] == [
        "every value is NULL: is the name spelt as in the files?"
    ]


# the record


def test_an_admission_is_kept_without_counts_for_the_owner_alone(tmp_path: Path) -> None:
    path = home(tmp_path)
    moment = datetime(2024, 11, 5, 12, tzinfo=UTC)
    kept = check(path, clock=lambda: moment).admitted
    assert kept == tmp_path / ".sfumato" / "admitted.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    kept_there = [file.name for file in kept.parent.iterdir() if not file.name.startswith("spill-")]
    assert kept_there == ["admitted.json"]
    policy = load(path)
    (entry,) = json.loads(kept.read_text())["versions"]["1"].values()
    assert entry["when"] == "2024-11-05T12:00:00+00:00"
    assert entry["tables"] == {"p": {"unique_unit": True}, "v": {"unique_unit": False}}
    assert entry.keys() == {"when", "source", "tables"}
    assert facts(policy, "1") == {"p": admit.Fact(True), "v": admit.Fact(False)}
    with open_policy(path) as gate:
        assert facts(gate.policy, "1") == facts(policy, "1"), "the gateway asks with the types of the schema"


def test_a_fact_ends_with_its_version_its_policy_and_its_files(tmp_path: Path) -> None:
    path = home(tmp_path)
    check(path)
    policy = load(path)
    assert facts(policy, "1") is not None
    assert facts(policy, "2") is None
    assert facts(parse(GOOD.replace("max = 120", "max = 121"), path), "1") is None
    assert facts(parse(GOOD), "1") is None, "a policy without a place has no state directory"
    content = (tmp_path / "p.csv").read_bytes()
    (tmp_path / "p.csv").write_bytes(content + b"e,1,f\n")
    assert facts(policy, "1") is None
    check(path)
    (tmp_path / ".sfumato" / admit.FILE).write_text("[]", encoding="utf-8")
    assert facts(policy, "1") is None
    assert check(path).admitted is not None
    assert facts(policy, "1") is not None


def test_files_that_change_while_they_are_read_are_not_admitted(tmp_path: Path) -> None:
    path = home(tmp_path)

    def touch(words: str) -> None:
        if words == "reading v":
            (tmp_path / "v.csv").write_text("who,cost,day,note\n", encoding="utf-8")

    assert messages(check(path, touch)) == ["the files were changed while they were read"]
    assert facts(load(path), "1") is None


def test_many_versions_are_not_kept_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admit, "_MOST_VERSIONS", 2)
    path = home(tmp_path, GOOD.replace('version = "1"', 'version = "daily"'))
    for day in (1, 2, 3, 2):
        check(path, clock=lambda day=day: datetime(2024, 1, day, tzinfo=UTC))
    kept = json.loads((tmp_path / ".sfumato" / admit.FILE).read_text())
    assert list(kept["versions"]) == ["2024-01-03", "2024-01-02"]
