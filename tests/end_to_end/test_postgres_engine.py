"""From psql through the gateway into PostgreSQL: a policy over a live server, drafted, checked, served and asked."""

# ruff: noqa: E501  a statement stands on one line

import subprocess

import pytest
from tests.end_to_end.hosting import PASSWORD, hosting
from tests.end_to_end.pg import Served
from tests.pgserver import program
from typer.testing import CliRunner

from sfumato.cli import app

psycopg = pytest.importorskip("psycopg")
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
