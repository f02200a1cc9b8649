"""The synthetic catalog: what tools look at, and that nobody learns from it what is not public."""

import asyncio
import re
from pathlib import Path

import asyncpg
import psycopg
import pytest
from tests.end_to_end import pg
from tests.end_to_end.test_pgwire_clients import psql

from sfumato.cli import clinic
from sfumato.sql.read.lexer import statements, without_schema


@pytest.fixture(scope="module")
def door(written, tmp_path_factory):
    policy = pg.make_clinic(tmp_path_factory.mktemp("door"), written, *pg.RICH)
    with pg.serving(policy, encrypted=False) as served:
        yield served
        assert pg.debits(served) == 0, "looking is free"


@pytest.fixture
def connection(door):
    with psycopg.connect(door.dsn(), autocommit=True) as made:
        yield made


def test_start_up_questions(connection):
    cursor = connection.execute("SELECT 1, 'a', 1.5, true, NULL, version(), current_schema(), current_database(), user")
    assert cursor.fetchone() == (1, "a", 1.5, True, None, "PostgreSQL 15.0 (sfumato)", "public", "clinic", "ana")
    names = [column.name for column in cursor.description]
    assert names == [*["?column?"] * 5, "version", "current_schema", "current_database", "user"]
    assert connection.execute("SELECT pg_catalog.version() AS v WHERE 1 = 1").description[0].name == "v"
    assert connection.execute("SELECT current_setting('server_version_num')::int / 10000").fetchone() == (15,)
    assert connection.execute("SELECT %s::int + 1, %s", (41, "x")).fetchone() == (42, "x")


def test_set_config_sets(connection):
    assert connection.execute("SELECT set_config('sfumato.epsilon', '0.5', false)").fetchone() == ("0.5",)
    assert connection.execute("SHOW sfumato.epsilon").fetchone() == ("0.5",)
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        connection.execute("SELECT set_config(relname, '1', false) FROM pg_class")
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        connection.execute("SELECT set_config('sfumato.epsilon', 'much', false)")
    assert connection.execute("SELECT current_setting('sfumato.epsilon')").fetchone() == ("0.5",)


def test_tables_and_columns_in_information_schema(connection):
    tables = connection.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
    assert sorted(tables.fetchall()) == [("patient",), ("region",), ("visit",)]
    columns = connection.execute(
        "SELECT column_name, data_type, ordinal_position FROM INFORMATION_SCHEMA.COLUMNS"
        " WHERE table_name = %s ORDER BY ordinal_position",
        ("patient",),
    ).fetchall()
    assert [name for name, _, _ in columns] == list(clinic.PATIENT)
    assert columns[1][1:] == ("bigint", 2)
    assert columns[3][1] == "numeric"


@pytest.mark.parametrize(
    ("sql", "oids"),
    [
        ("SELECT relname, relkind, oid, relname || 'x' FROM pg_class", [19, 18, 26, 25]),
        ("SELECT c.* FROM (SELECT nspname, oid FROM pg_namespace) AS c", [19, 26]),
        ("WITH n AS (SELECT nspname AS x FROM pg_namespace) SELECT n.x, upper(x) FROM n", [19, 25]),
        ("SELECT table_name, is_nullable, ordinal_position FROM information_schema.columns", [19, 1043, 23]),
        ("SELECT relname FROM pg_class UNION ALL SELECT 'x'", [25]),
        ("SELECT 'x'::varchar AS a, CAST('x' AS varchar(5)) AS b, 'x'::char(3) AS c, 'x' AS d", [1043, 1043, 1042, 25]),
        ("SELECT area::varchar AS a, COUNT(*) FROM patient WHERE false GROUP BY 1", [1043, 20]),
    ],
)
def test_names_letters_and_varchar_have_their_own_numbers(connection, sql, oids):
    assert [column.type_code for column in connection.execute(sql).description] == oids


def test_comments_tell_what_the_policy_allows(connection):
    found = connection.execute(
        "SELECT a.attname, col_description(c.oid, a.attnum) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
        " WHERE c.relname = 'patient' AND a.attnum > 0"
    )
    about = dict(found.fetchall())
    assert about["age"] == "0 to 120"
    assert about["ssn"].startswith("identifies the person")
    assert about["disease"] == "one of Cold, Flu, Asthma, Diabetes, Migraine"
    assert about["admitted"] == "2015-01-01 to 2030-12-31"


def test_names_become_numbers_and_numbers_names(connection):
    (oid, shown, name, kind), *_ = connection.execute(
        "SELECT 'patient'::regclass::oid, 'patient'::regclass, c.oid::regclass::text,"
        " format_type(a.atttypid, a.atttypmod) FROM pg_class c"
        " JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.oid = 'patient'::regclass AND a.attname = 'admitted'"
    ).fetchall()
    assert (int(oid) >= 16384, shown, name, kind) == (True, "patient", "patient", "date")
    kinds = connection.execute("SELECT typname, typinput FROM pg_type WHERE oid = ANY(%s)", ([20, 25],)).fetchall()
    assert sorted(kinds) == [("int8", "int8in"), ("text", "textin")]


def test_nothing_is_measured(connection):
    row = connection.execute(
        "SELECT reltuples, relpages, pg_total_relation_size(oid), pg_relation_size(oid) FROM pg_class"
        " WHERE relname = 'patient'"
    ).fetchone()
    assert row == (-1, 0, 0, 0)
    assert connection.execute("SELECT n_live_tup FROM pg_stat_user_tables").fetchall() == [(0,)] * 3
    for statistics in ("pg_stats", "pg_statistic", "pg_stats_ext", "pg_statio_all_tables WHERE heap_blks_hit > 0"):
        assert connection.execute(f"SELECT * FROM {statistics}").fetchall() == []


def test_only_who_asks_is_shown(door, connection):
    door.users.add("bob", "analyst", pg.PASSWORD)
    names = {name for (name,) in connection.execute("SELECT rolname FROM pg_roles").fetchall()}
    assert names == {"owner", "ana"}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT read_text('/etc/passwd')",
        "SELECT getenv('HOME')",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM duckdb_tables()",
        "SELECT * FROM pg_class, patient",
        "SELECT (SELECT COUNT(*) FROM patient), relname FROM pg_class",
        "SELECT relname FROM pg_class WHERE oid IN (SELECT age FROM patient)",
        "CREATE TABLE pg_catalog.x AS SELECT 1",
        "DELETE FROM pg_class",
        "INSTALL httpfs",
        "ATTACH 'x.db'",
        "SET VARIABLE session_user = 'owner'",
        "SELECT pgf_regclass('x')",
        "SELECT * FROM pgx.pg_class",
        "SELECT nextval('x')",
        "WITH gone AS (DELETE FROM pg_class RETURNING oid) SELECT * FROM gone",
        "SELECT relname INTO x FROM pg_class",
    ],
)
def test_the_engine_of_the_catalog_does_nothing_else(door, connection, sql):
    with pytest.raises(psycopg.Error) as refused:
        connection.execute(sql)
    assert refused.value.sqlstate in ("42601", "42704", "42883", "42P01", "0A000", "42501", "42803", "42703")
    assert pg.debits(door) == 0


def test_a_question_that_multiplies_is_stopped(connection):
    with pytest.raises(psycopg.errors.ProgramLimitExceeded):
        connection.execute("SELECT a.attname FROM pg_attribute a, pg_attribute b")
    assert connection.execute("SELECT COUNT(*) FROM pg_class WHERE relnamespace = 2200").fetchone() == (3,)


def test_describe_of_the_catalog(door):
    with pg.Raw(door) as client:
        said = client.ask(pg.parse("SELECT oid, relname FROM pg_class WHERE relkind = $1"), pg.describe("S"), pg.SYNC)
        assert pg.kinds(said) == "1tTZ"
        assert said[2][1].startswith(b"\0\2oid\0")


DESCRIBED = r"""
    \d; \d patient; \d+ visit; \dt; \dt+; \dv; \dv+; \di; \di+; \ds; \dm; \dE; \dn; \dn+; \l; \l+; \du; \du+; \dg; \df;
    \df+; \dfa; \dp; \z; \ddp; \dT; \dT+; \dC; \dC+; \dD; \da; \dA; \dA+; \dAc; \dAf; \dAp; \db; \dc; \dconfig;
    \dconfig+; \dd; \des; \det; \deu; \dew; \dF; \dFd; \dFp; \dFt; \dl; \dL; \do; \dO; \dP; \drds; \dRp; \dRs; \dx;
    \dx+; \dX; \dy; \sf version; \sv pg_tables; \conninfo; \encoding; \d pg_class; \dS; \dtS; \dvS; \dfS; \d public.*
"""


def test_psql_describes(door):
    texts = [text.strip() for text in DESCRIBED.split(";")]
    done = psql(door, *[word for text in texts for word in ("-c", text)])
    assert done.returncode == 0
    assert "ERROR" not in done.stderr, done.stderr
    for part in ("public | patient | table", 'Table "public.patient"', "one of Paris, Lyon, Nice", "clinic | owner"):
        assert part in done.stdout


def test_psql_describes_what_a_question_would_give(door, tmp_path):
    script = tmp_path / "describe.sql"
    script.write_text("SELECT disease, COUNT(*), AVG(age) FROM patient GROUP BY disease \\gdesc\n")
    done = psql(door, "-f", str(script))
    lines = [[word.strip() for word in line.split("|")] for line in done.stdout.splitlines() if "|" in line]
    assert lines[1:] == [["disease", "text"], ["count", "bigint"], ["avg", "numeric"]], done.stderr


TOOLS = [line for line in Path(__file__).with_name("tools.sql").read_text().splitlines() if not line.startswith("--")]


@pytest.mark.parametrize("sql", TOOLS, ids=lambda sql: sql[:40])
def test_tools_are_answered(door, connection, sql):
    if sql.startswith(("show", "SHOW")):
        assert len(connection.execute(sql).fetchone()) == 1
        return
    simple = psycopg.ClientCursor(connection).execute(sql)
    prepared = psycopg.RawCursor(connection).execute(sql, prepare=True)
    assert [(c.name, c.type_code) for c in simple.description] == [(c.name, c.type_code) for c in prepared.description]
    if not re.search(r"\bnow\(|timestamp|random", sql, re.IGNORECASE):
        assert simple.fetchall() == prepared.fetchall()
    assert pg.debits(door) == 0


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("SELECT current_timestamp", "current_timestamp"),
        ("SELECT to_char(now(), 'YYYY')", "to_char"),
        ("SELECT pg_catalog.lower('X')", "lower"),
        ("SELECT 2::numeric(10, 2)", "numeric"),
        ("SELECT '{1,2}'::int[]", "int4"),
        ("SELECT 'version'::regproc::oid", "oid"),
        ("SELECT date_trunc('day', now())", "date_trunc"),
        ("SELECT trim(' a ')", "btrim"),
        ("SELECT relname::text FROM pg_class", "relname"),
    ],
)
def test_columns_are_called_what_postgresql_calls_them(connection, sql, name):
    assert connection.execute(sql).description[0].name == name


def test_asyncpg_learns_types(door):
    async def ask():
        connection = await asyncpg.connect(
            user="ana", password=pg.PASSWORD, host=door.host, port=door.port, database="clinic"
        )
        found = await connection.fetch("SELECT oid, relname, relkind FROM pg_class WHERE relnamespace = 2200")
        assert sorted(row["relname"] for row in found) == ["patient", "region", "visit"]
        await connection.fetch("SELECT typname FROM pg_type WHERE oid = any($1::oid[])", [20, 25])
        await connection.reset()
        await connection.close()

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ('SELECT "public"."patient"."age" FROM "public"."patient"', 'SELECT "patient"."age" FROM "patient"'),
        ("SELECT age FROM clinic.public.patient", "SELECT age FROM patient"),
        ("SELECT public FROM t", "SELECT public FROM t"),
        ("SELECT 'public.x', a.public.b", "SELECT 'public.x', a.public.b"),
    ],
)
def test_the_one_schema_may_be_named(written, left):
    made = without_schema(written, "clinic")
    assert len(made) == len(written), "places stay where they are"
    assert [t.text for t in statements(made)[0].tokens] == [t.text for t in statements(left)[0].tokens]


def test_questions_with_their_schema(door):
    with psycopg.connect(door.dsn()) as connection:
        plan = connection.execute('EXPLAIN SELECT COUNT(*) FROM "public"."patient" WHERE "public"."patient"."age" > 3')
        assert "geometric" in plan.fetchall()[1][0]
