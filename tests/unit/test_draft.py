"""A draft of a policy: from names and types alone, whatever the rows are."""

from __future__ import annotations

import gzip
import os
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sfumato.engines.duckdb import text_files as texts
from sfumato.errors import InputError, PolicyError
from sfumato.gateway import open_policy
from sfumato.owner import schema
from sfumato.owner.admission import check
from sfumato.owner.draft import draft, look, person_of
from sfumato.owner.presets import PRESETS, propose
from sfumato.owner.schema import Link, Schema
from sfumato.owner.unit_columns import UnitPath, candidates, ways
from sfumato.policy import parse
from tests.unit.owner_sample import write_parquet

# the schema, and nothing but the schema


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
    assert [sorted(tables[name].filled) for name in ("person", "airport")] == [["id"], []]


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
    assert ways(CLINIC, ("patient", "ssn")) == {"patient": UnitPath("ssn"), "visit": UnitPath("patient_ssn")}
    assert ways(SHOP, ("customers", "id")) == {
        "customers": UnitPath("id"),
        "orders": UnitPath("customer_id"),
        "items": UnitPath("order_id", "orders", "id"),
    }
    tables, _ = schema.of_database(str(database(tmp_path / "air.duckdb")))
    assert ways(tables, ("person", "id")) == {
        "person": UnitPath("id"),
        "booking": UnitPath("who"),
        "Leg": UnitPath("booking_no", "booking", "no"),
    }


def test_id_is_another_thing_in_every_table() -> None:
    assert ways({"person": text("id"), "car": text("id", "wheels")}, ("person", "id")) == {"person": UnitPath("id")}


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
        ([tmp_path / "a.xlsx"], "cannot tell the type of"),
        ([tmp_path / "b.csv"], "there is no file"),
        ([tmp_path / "a.csv", empty], "not both"),
        ([empty], "holds no table"),
        ([tmp_path / "a\udcff.csv"], "cannot be written"),
    ):
        with pytest.raises(InputError, match=message):
            look([str(path) for path in data])
    source = look([str(tmp_path / "a.csv")])
    with pytest.raises(InputError, match="there is no column") as caught:
        person_of(source, "a.idd")
    assert caught.value.hint == "Pass --unit a.id."
    with pytest.raises(InputError, match="there is no column") as caught:
        person_of(source, "name")
    assert caught.value.hint == "Pass --unit TABLE.COLUMN, or --unit row."


def test_a_column_is_not_proposed_because_its_table_is_named(tmp_path: Path) -> None:
    """Whoever writes patient.name does not mean patient.age, although most letters are the same."""
    (tmp_path / "patient.csv").write_text("ssn,age,disease\n", encoding="utf-8")
    source = look([str(tmp_path / "patient.csv")])
    with pytest.raises(InputError, match="there is no column") as caught:
        person_of(source, "patient.name")
    assert caught.value.hint == "Pass --unit TABLE.COLUMN, or --unit row."
    assert caught.value.detail == "The columns are patient.ssn, patient.age, patient.disease."
    with pytest.raises(InputError, match="there is no column") as caught:
        person_of(source, "patients.snn")
    assert caught.value.hint == "Pass --unit patient.ssn."


def test_a_unit_may_be_named_as_people_type_it(tmp_path: Path) -> None:
    """A column that one table has needs no table, and capital letters are no mistake; of several, choose one."""
    (tmp_path / "People.csv").write_text("pid,age\n", encoding="utf-8")
    (tmp_path / "visits.csv").write_text("pid,Day\n", encoding="utf-8")
    one = look([str(tmp_path / "People.csv")])
    for written in ("pid", "PID", "people.pid", "People.pid"):
        assert person_of(one, written) == ("people", "pid")
    assert candidates(one.tables) == [("people", "pid")]
    both = look([str(tmp_path / name) for name in ("People.csv", "visits.csv")])
    assert person_of(both, "day") == ("visits", "Day")
    with pytest.raises(InputError, match="several tables have a column") as caught:
        person_of(both, "pid")
    assert caught.value.hint == "Pass --unit with one of people.pid, visits.pid."
