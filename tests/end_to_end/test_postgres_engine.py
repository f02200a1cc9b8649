"""From psql through the gateway into PostgreSQL: a policy over a live server, drafted, checked, served and asked."""

# ruff: noqa: E501  a statement stands on one line

import subprocess

import pytest
from tests.end_to_end.hosting import PASSWORD, hosting
from tests.end_to_end.pg import Served
from tests.needed import needed
from tests.pgserver import program
from typer.testing import CliRunner

from sfumato.cli import app

psycopg = needed("psycopg")
TABLES = """
DROP SCHEMA IF EXISTS ward CASCADE; CREATE SCHEMA ward; SET search_path = ward;
DO $$ BEGIN CREATE ROLE ward_reader LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
CREATE TYPE place AS ENUM ('north', 'south');
CREATE TABLE patient (ssn text PRIMARY KEY, place place, age int);
CREATE TABLE visit (patient text NOT NULL REFERENCES patient, cost numeric(8, 2));
INSERT INTO patient SELECT 'p' || i, (ARRAY['north', 'south'])[1 + i % 2]::place, i % 90 FROM generate_series(1, 400) AS i;
INSERT INTO visit SELECT 'p' || (1 + i % 400), i % 70 FROM generate_series(1, 1200) AS i;
GRANT USAGE ON SCHEMA ward TO ward_reader; GRANT SELECT ON ALL TABLES IN SCHEMA ward TO ward_reader;
ALTER ROLE ward_reader SET search_path = ward;
"""
DECISIONS = (
    ('epsilon = "?"', "epsilon = 100000"),
    ('rows_per_unit = "?"', "rows_per_unit = 5"),
    ('cost    = { type = "decimal", min = "?", max = "?", grid = 0.01 }', "cost = { min = 0, max = 100, grid = 0.01 }"),
)


@pytest.fixture(scope="module")
def reader(pg):
    """The address of a role that may read, and nothing else."""
    with psycopg.connect(pg, autocommit=True) as link:
        link.execute(TABLES)
    return pg.replace("me:hunter2@", "ward_reader:secret@")


def test_psql_asks_the_gateway_and_the_gateway_asks_postgresql(reader, tmp_path):
    policy, run = tmp_path / "sfumato.toml", CliRunner()
    drafted = run.invoke(app, ["init", reader, "--unit", "patient.ssn", "-o", str(policy)])
    assert drafted.exit_code == 0, drafted.output
    text = policy.read_text()
    assert "secret" not in text
    assert 'place = { values = ["north", "south"] }' in text
    assert "rows_per_unit = 1  # the database declares" in text
    for old, new in DECISIONS:
        assert old in text, text
        text = text.replace(old, new)
    policy.write_text(text)
    checked = run.invoke(app, ["check", "-p", str(policy)])
    assert checked.exit_code == 0, checked.output
    assert "400" in checked.output
    with hosting(policy, Served) as served:
        psql = program("psql")
        asked = "SET sfumato.epsilon = 1000; SELECT place, COUNT(*) FROM patient GROUP BY place; SELECT SUM(cost) FROM visit"
        done = subprocess.run(
            [psql, f"host={served.host} port={served.port} user=ana dbname=postgres", "-At", "-c", asked],
            capture_output=True,
            text=True,
            check=False,
            env={"PGPASSWORD": PASSWORD, "PATH": "/usr/bin:/bin"},
        )
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert lines[:3] == ["SET", "north|200", "south|200"]
        assert abs(float(lines[-1]) - sum(i % 70 for i in range(1, 1201))) < 20
        preview = served.gate.explain("SELECT SUM(cost) FROM visit", 1000)
        assert preview.cost.epsilon == 0, "what psql has paid for is stored"


def test_a_table_under_row_security_is_named_by_init_and_check(reader, tmp_path):
    admin = reader.replace("ward_reader:secret@", "me:hunter2@")
    policy, run = tmp_path / "sfumato.toml", CliRunner()
    with psycopg.connect(admin, autocommit=True) as link:
        link.execute(
            "CREATE TABLE ward.secured (ssn text, age int); ALTER TABLE ward.secured ENABLE ROW LEVEL SECURITY;"
            "CREATE MATERIALIZED VIEW ward.stored AS SELECT * FROM ward.patient;"
            "GRANT SELECT ON ALL TABLES IN SCHEMA ward TO ward_reader"
        )
        try:
            drafted = run.invoke(app, ["init", reader, "--unit", "patient.ssn", "-o", str(policy)])
            assert 'Left out: row security filters "secured" for this role.' in drafted.output
            assert 'Left out: "stored" is a materialized view, and cannot be protected.' in drafted.output
            text = policy.read_text()
            assert '# Left out: row security filters "secured" for this role.\n' in text
            for old, new in DECISIONS:
                text = text.replace(old, new)
            for name in ("secured", "stored"):
                text += f'[tables.{name}]\nunit = "ssn"\nrows_per_unit = 1\n[tables.{name}.columns]\nssn = {{ type = "text", max_length = 9 }}\n'
            policy.write_text(text)
            checked = run.invoke(app, ["check", "-p", str(policy)])
            assert checked.exit_code == 2
            assert 'row security filters "secured" for this role' in checked.output
            assert "Give the role BYPASSRLS" in checked.output
            assert '"stored" is a materialized view' in checked.output
            assert "has no table" not in checked.output
            policy.write_text(text.replace("[tables.stored", "[tables.patients"))
            missed = run.invoke(app, ["check", "-p", str(policy)])
            assert 'the database has no table "patients"' in missed.output
            assert 'Did you mean "patient"?' in missed.output
        finally:
            link.execute("DROP TABLE ward.secured; DROP MATERIALIZED VIEW ward.stored")


def test_what_the_server_keeps_from_being_null_is_drafted_so(reader, tmp_path):
    admin = reader.replace("ward_reader:secret@", "me:hunter2@")
    policy, run = tmp_path / "sfumato.toml", CliRunner()
    with psycopg.connect(admin, autocommit=True) as link:
        link.execute(
            "CREATE DOMAIN ward.filled AS text NOT NULL; CREATE TABLE ward.stay (ssn text NOT NULL, place ward.place NOT NULL,"
            " age int NOT NULL, weight float8 NOT NULL, cost numeric(8, 2) NOT NULL, note text, word ward.filled);"
            "GRANT SELECT ON ward.stay TO ward_reader"
        )
        try:
            drafted = run.invoke(app, ["init", reader, "--unit", "stay.ssn", "-o", str(policy)])
            assert drafted.exit_code == 0, drafted.output
            lines = policy.read_text().partition("[tables.stay.columns]\n")[2].partition("\n\n")[0].splitlines()
            said = {line.split()[0]: "nulls = false" in line for line in lines}
            wanted = ("age", "place"), ("ssn", "weight", "cost", "note", "word")
            assert said == dict.fromkeys(wanted[0], True) | dict.fromkeys(wanted[1], False)
        finally:
            link.execute("DROP TABLE ward.stay; DROP DOMAIN ward.filled")
