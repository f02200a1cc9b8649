"""The unit of a ledger that is in use, from policy files: refused, recorded, and told to the owner."""

import json

import pytest
from tests.end_to_end.served import command, running

import sfumato
from sfumato.errors import PolicyError
from sfumato.owner.admission import check

POLICY = """
[source]
engine = "duckdb"
files = { patient = "patient.csv", visit = "visit.csv", region = "region.csv" }
[data]
id = "clinic"
version = "1"
[privacy]
epsilon = 100
query_epsilon = 1
[tables.patient]
unit = "ssn"
rows_per_unit = 1
[tables.patient.columns]
id = { type = "integer", min = 0, max = 1000 }
ssn = { type = "text", max_length = 9 }
household = { type = "text", max_length = 9 }
[tables.visit]
unit = { join = "patient", on = "patient_id = id" }
rows_per_unit = 3
[tables.visit.columns]
patient_id = { type = "integer", min = 0, max = 1000 }
ssn = { type = "text", max_length = 9 }
cost = { type = "integer", min = 0, max = 100 }
[tables.region]
public = true
"""
NEW = """
[tables.lab]
unit = "ssn"
rows_per_unit = 2
[tables.lab.columns]
ssn = { type = "text", max_length = 9 }
"""
CHANGES = {
    "a coarser unit": [('unit = "ssn"\nrows_per_unit = 1', 'unit = "household"\nrows_per_unit = 9')],
    "identifiers as numbers": [('\nssn = { type = "text", max_length = 9 }\nhou', '\nssn = { type = "integer" }\nhou')],
    "a column instead of a join": [('unit = { join = "patient", on = "patient_id = id" }', 'unit = "ssn"')],
    "a protected table becomes public": [
        (
            '[tables.visit]\nunit = { join = "patient", on = "patient_id = id" }\nrows_per_unit = 3',
            "[tables.visit]\npublic = true",
        )
    ],
    "the tables under other names": [
        ("tables.patient", "tables.person"),
        ("{ patient =", "{ person ="),
        ('"patient"', '"person"'),
        ("tables.visit", "tables.stay"),
        (" visit =", " stay ="),
    ],
}
ALLOWED = {
    "a new version": [('version = "1"', 'version = "2"')],
    "other bounds": [("rows_per_unit = 3", "rows_per_unit = 5"), ("max = 100 ", "max = 200 ")],
    "a partition": [("query_epsilon = 1", 'query_epsilon = 1\npartition = "patient.id"')],
    "a new table": [("region = ", 'lab = "lab.csv", region = '), ("[tables.region]", NEW + "[tables.region]")],
}


def write(folder, changes=()):
    text = POLICY
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    policy = folder / "sfumato.toml"
    policy.write_text(text, encoding="utf-8")
    people = "".join(f"{i},1{i:03},h{i // 4}\n" for i in range(40))
    (folder / "patient.csv").write_text("id,ssn,household\n" + people, encoding="utf-8")
    (folder / "visit.csv").write_text(
        "patient_id,ssn,cost\n" + "".join(f"{i % 40},1{i % 40:03},{i % 90}\n" for i in range(100)), encoding="utf-8"
    )
    (folder / "lab.csv").write_text("ssn\n1001\n", encoding="utf-8")
    (folder / "region.csv").write_text("city,people\nParis,2\nLyon,1\n", encoding="utf-8")
    return policy


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_a_coarser_unit_is_refused_where_anybody_was_charged(tmp_path, changes):
    with sfumato.open(write(tmp_path)) as gate:
        first = gate.sql("SELECT COUNT(*) FROM patient")
    policy = write(tmp_path, changes)
    with pytest.raises(PolicyError) as refused:
        sfumato.open(policy)
    assert "Charges so far (1)" in str(refused.value)
    (problem,) = check(policy).problems
    assert problem.message == refused.value.message, "check says what a gateway would say"
    with sfumato.open(write(tmp_path)) as gate:
        assert gate.sql("SELECT COUNT(*) FROM patient").receipt == first.receipt


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_public_answers_alone_do_not_fix_the_unit(tmp_path, changes):
    with sfumato.open(write(tmp_path)) as gate:
        gate.sql("SELECT COUNT(*) FROM region")
    sfumato.open(write(tmp_path, changes)).close()


@pytest.mark.parametrize("changes", ALLOWED.values(), ids=ALLOWED)
def test_the_same_units_in_another_policy_go_on(tmp_path, changes):
    with sfumato.open(write(tmp_path)) as gate:
        gate.sql("SELECT COUNT(*) FROM patient")
    policy = write(tmp_path, changes)
    assert check(policy).problems == ()
    with sfumato.open(policy) as gate:
        gate.sql("SELECT COUNT(*) FROM visit")
        gate._ledger.verify()
        assert gate.budget().spent.epsilon == 2


def test_a_reload_with_another_unit_is_refused_and_serving_goes_on(tmp_path):
    policy = write(tmp_path)
    with running(policy) as server, server.client() as client:
        asked = {"sql": "SELECT COUNT(*) FROM patient"}
        assert client.post("/api/query", json=asked).status_code == 200
        write(tmp_path, CHANGES["a coarser unit"])
        done = command("reload", "-p", policy)
        assert done.returncode == 2, done.stderr
        assert 'the unit of table "patient" cannot change from "ssn" (text) to "household" (text)' in done.stderr
        assert "stays in force" in done.stderr
        assert client.post("/api/query", json=asked).status_code == 200
    write(tmp_path)
    shown = command("ledger", "show", "--json", "-p", policy)
    (entry,) = [entry for entry in json.loads(shown.stdout)["entries"] if entry["kind"] == "policy"]
    assert entry["body"]["now"]["units"] == {
        "patient": {"column": "ssn", "type": "text"},
        "visit": {"column": "patient_id", "join": "patient", "key": "id"},
        "region": {},
    }
