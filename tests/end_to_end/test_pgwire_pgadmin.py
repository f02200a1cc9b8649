"""What an administration tool of PostgreSQL asks of the catalog, in statements of our own with the same parts."""

import psycopg
import pytest
from tests.end_to_end import pg

from sfumato.server.pgwire.relations import FIRST


@pytest.fixture(scope="module")
def connection(written, tmp_path_factory):
    policy = pg.make_clinic(tmp_path_factory.mktemp("door"), written, *pg.RICH)
    with pg.serving(policy, encrypted=False) as served:
        with psycopg.connect(served.dsn(), autocommit=True) as made:
            yield made
        assert pg.debits(served) == 0, "looking is free"


def test_settings_are_set_through_the_function_that_shows_them(connection):
    sql = "SELECT set_config('bytea_output', 'escape', false) FROM pg_show_all_settings() WHERE name = 'bytea_output'"
    assert connection.execute(sql).fetchall() == [("escape",)]
    assert connection.execute("SHOW bytea_output").fetchone() == ("escape",)
    shown = connection.execute("SELECT s.setting FROM pg_catalog.pg_show_all_settings() s WHERE s.name = 'TimeZone'")
    assert shown.fetchall() == [("UTC",)]


def test_a_session_without_gssapi(connection):
    sql = "SELECT gss_authenticated, encrypted, principal FROM pg_catalog.pg_stat_gssapi WHERE pid = pg_backend_pid()"
    assert connection.execute(sql).fetchall() == [(False, False, None)]


def test_roles_by_recursion_in_a_list(connection):
    sql = """SELECT r.rolname, '{}' = ANY(ARRAY(WITH RECURSIVE up AS (
                 SELECT a.oid, a.rolname FROM pg_catalog.pg_roles a WHERE a.oid = r.oid UNION ALL
                 SELECT m.roleid, b.rolname FROM up JOIN pg_catalog.pg_auth_members m ON m.member = up.oid
                 JOIN pg_catalog.pg_roles b ON b.oid = m.roleid) SELECT rolname FROM up)) AS has
             FROM pg_catalog.pg_roles r WHERE r.rolname = current_user"""
    assert connection.execute(sql.format("pg_signal_backend")).fetchall() == [("ana", False)]
    assert connection.execute(sql.format("ana")).fetchall() == [("ana", True)]


def test_columns_by_a_list_that_a_subquery_gives(connection):
    sql = """SELECT attname FROM pg_attribute WHERE attrelid = 'region'::regclass AND attnum = ANY(
             (SELECT array_agg(attnum) FROM pg_attribute WHERE attrelid = 'region'::regclass AND attnum = 1)::oid[])"""
    first = "SELECT column_name FROM information_schema.columns WHERE table_name = 'region' AND ordinal_position = 1"
    assert connection.execute(sql).fetchall() == connection.execute(first).fetchall() != []


def test_the_database_is_not_one_of_the_systems_own(connection):
    sql = "SELECT datname FROM pg_database WHERE oid > %s::oid AND datname NOT LIKE 'template_'"
    assert connection.execute(sql, (FIRST - 1,)).fetchall() == [("clinic",)]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (r"nspname NOT LIKE 'pg\_%'", ["information_schema", "public"]),
        (r"nspname LIKE 'pg\_%'", ["pg_catalog", "pg_toast"]),
        (r"nspname !~~ 'pg\_%'", ["information_schema", "public"]),
        (r"nspname ILIKE 'PG\_%'", ["pg_catalog", "pg_toast"]),
        (r"nspname LIKE 'p\ublic'", ["public"]),
        ("nspname LIKE 'p_b%'", ["public"]),
        ("nspname LIKE 'pg!_c%' ESCAPE '!'", ["pg_catalog"]),
        (r"nspname LIKE E'pg\\_c%'", ["pg_catalog"]),
        (r"nspname LIKE 'pub\%'", []),
    ],
)
def test_a_backslash_of_a_pattern(connection, condition, found):
    rows = connection.execute(f"SELECT nspname FROM pg_namespace WHERE {condition} ORDER BY 1").fetchall()
    assert [name for (name,) in rows] == found


def test_nobody_was_granted_anything(connection):
    sql = """SELECT g.rolname, pg_catalog.array_agg(b.privilege_type) AS privileges FROM
             (SELECT (d).grantee AS grantee, (d).privilege_type AS privilege_type FROM
                 (SELECT pg_catalog.aclexplode(n.nspacl) AS d FROM pg_catalog.pg_namespace n) a) b
             LEFT JOIN pg_catalog.pg_roles g ON b.grantee = g.oid GROUP BY g.rolname"""
    assert connection.execute(sql).fetchall() == []
    sql = "SELECT d.grantor, d.is_grantable FROM pg_class c, pg_catalog.aclexplode(c.relacl) d"
    assert connection.execute(sql).fetchall() == []


def test_rows_as_json(connection):
    sql = "SELECT 'all' AS chart, pg_catalog.row_to_json(t) AS data FROM (SELECT 1 AS total, 0 AS idle) t"
    assert connection.execute(sql).fetchall() == [("all", {"total": 1, "idle": 0})]


def test_rows_have_the_transaction_that_made_them(connection):
    assert connection.execute("SELECT c.xmin FROM pg_class c WHERE c.relname = 'visit'").fetchall() == [(1,)]
    assert (
        connection.execute("SELECT to_char(xact_start, 'YYYY-MM-DD HH24:MI TZ') FROM pg_stat_activity").fetchall() == []
    )
    assert connection.execute("SELECT x.extname FROM pg_extension x, pg_available_extensions() e").fetchall() == []


@pytest.mark.parametrize("relation", ["pg_stats", "pg_stats_ext", "pg_stat_slru", "pg_stat_progress_vacuum"])
def test_statistics_are_empty(connection, relation):
    assert connection.execute(f"SELECT count(*) FROM {relation}").fetchone() == (0,)
