"""Statements that people and tools write, sent by the same client to PostgreSQL and to the gateway, over the same rows.

The policy clips nothing and epsilon is huge, so that both must answer alike: the same rows, with the same names.
"""

# ruff: noqa: E501  a statement stands on one line
import re
from pathlib import Path

import psycopg
import pytest
from tests import pgserver
from tests.corpus import tables
from tests.corpus.judging import difference
from tests.end_to_end import pg

STATEMENTS = [
    block.strip()
    for block in re.split(r"(?m)^---\s*$", Path(__file__).with_name("beside_postgres.sql").read_text(encoding="utf-8"))
]


@pytest.fixture(scope="module")
def postgres():
    with pgserver.cluster() as cluster, psycopg.connect(cluster.address, autocommit=True) as link:
        link.execute("SET TIME ZONE 'UTC'")
        data = tables.rows()
        for name, columns in tables.SCHEMA.items():
            link.execute(f"CREATE TABLE {name} ({columns})")
            with link.cursor() as cursor:
                marks = ", ".join(["%s"] * len(data[name][0]))
                cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", data[name])
        yield link


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with tables.plain() as plain:
        policy = tables.write(plain, tmp_path_factory.mktemp("beside"))
    policy.write_text(policy.read_text().replace('id = "corpus"', 'id = "clinic"'))
    with pg.serving(policy, encrypted=False) as served, psycopg.connect(served.dsn(), autocommit=True) as link:
        yield link


def ask(link, statement):
    """Names of columns, and rows."""
    cursor = link.execute(statement.encode())
    return [column.name for column in cursor.description], cursor.fetchall()


def compared(statement, postgres, gateway):
    """What is different between the two answers; None where nothing is."""
    (names, wanted), (ours, rows) = ask(postgres, statement), ask(gateway, statement)
    return f"columns {ours}, not {names}" if names != ours else difference(rows, wanted)


@pytest.mark.parametrize("number", range(len(STATEMENTS)))
def test_both_answer_alike(number, postgres, gateway):
    assert compared(STATEMENTS[number], postgres, gateway) is None, STATEMENTS[number]


ERRORS = [
    "SELECT 1/0, current_user", "SELECT 'abc'::int, current_user", "SELECT 7/2, current_setting('server_version_num')::int/0", "SELECT version(), 7 % 0",
    "SELECT 1/0 FROM pg_class", "SELECT 'abc'::int FROM pg_class", "SELECT relnatts / (relnatts - relnatts) FROM pg_class", "SELECT '1.5'::int, now()",
    "SELECT date '2023-000'", "SELECT string_agg(DISTINCT area, ',' ORDER BY title) FROM area_info",
    "SELECT EXTRACT(HOUR FROM day) AS h, COUNT(*) FROM visit GROUP BY 1", "SELECT COUNT(*) FROM visit WHERE day::time < '12:00'",
]  # fmt: skip


@pytest.mark.parametrize("statement", ERRORS)
def test_both_raise_the_same_error(statement, postgres, gateway):
    states = []
    for link in (postgres, gateway):
        with pytest.raises(psycopg.Error) as raised:
            link.execute(statement)
        states.append(raised.value.diag.sqlstate)
    assert states[0] == states[1]


NOBODY, FOLLOWED = "belong to nobody", "one person's row to another's"
REFUSED = {
    "a public row without anybody is counted": ("SELECT i.title, COUNT(*) FROM area_info i LEFT JOIN patient p ON p.area = i.area GROUP BY i.title", NOBODY),
    "only who is missing": ("SELECT i.title, COUNT(p.id) FROM area_info i LEFT JOIN patient p ON p.area = i.area WHERE p.id IS NULL GROUP BY 1", NOBODY),
    "missing people are something": ("SELECT n_name, COUNT(COALESCE(c_custkey, 0)) FROM nation LEFT JOIN customer ON c_nationkey = n_nationkey GROUP BY 1", NOBODY),
    "a condition takes groups away": ("SELECT i.title, COUNT(p.id) FROM area_info i LEFT JOIN patient p ON p.area = i.area AND i.inhabitants > 2000 GROUP BY 1", NOBODY),
    "only who is missing, said twice": ("SELECT i.title, COUNT(*) FILTER (WHERE NOT p.id IS NOT NULL) FROM area_info i LEFT JOIN patient p ON p.area = i.area GROUP BY 1", NOBODY),
    "an end of BETWEEN is missing": ("SELECT i.title, COUNT(*) FILTER (WHERE NOT (i.inhabitants BETWEEN p.age AND 3)) FROM area_info i LEFT JOIN patient p ON p.area = i.area GROUP BY 1", NOBODY),
    "people in a recursion": ("WITH RECURSIVE g AS (SELECT age AS v FROM patient UNION ALL SELECT v + 1 FROM g WHERE v < 100) SELECT COUNT(*) FROM g", FOLLOWED),
    "people who meet a recursion": ("WITH RECURSIVE g(v) AS (SELECT COUNT(*) FROM patient UNION ALL SELECT t.n FROM g JOIN (SELECT p.age AS a, COUNT(*) AS n FROM patient p JOIN g ON p.age > g.v GROUP BY 1) t ON t.a = g.v) SELECT * FROM g", FOLLOWED),
    "values of other people in ALL": ("SELECT COUNT(*) FROM patient WHERE salary > ALL (SELECT salary FROM patient)", "over rows of other people"),
    "values of people like these in ANY": ("SELECT COUNT(*) FROM patient p WHERE salary > ANY (SELECT salary FROM patient q WHERE q.area = p.area)", "over rows of other people"),
    "NULL among rows": ("SELECT COUNT(*) FROM patient WHERE (area, age) NOT IN (SELECT area, 50 FROM area_info)", "nullable columns"),
    "NULL among rows, asked by IS": ("SELECT COUNT(*) FROM patient WHERE ((area, age) IN (SELECT area, 50 FROM area_info)) IS NULL", "nullable columns"),
    "released numbers of another draw in ALL": ("SELECT area FROM area_info i WHERE inhabitants > ALL (SELECT t.a FROM (SELECT area, AVG(age) AS a FROM patient GROUP BY area) t WHERE t.area = i.area)", "several released numbers"),
    "months that are not told apart": ("SELECT age(ended_at, started_at), COUNT(*) FROM visit GROUP BY 1", "cannot be a group key"),
    "a distance among people's rows": ("SELECT AVG(s) FROM (SELECT patient_id, SUM(cost) OVER (PARTITION BY patient_id ORDER BY day RANGE BETWEEN INTERVAL '6 days' PRECEDING AND CURRENT ROW) AS s FROM visit) t", "over rows of people"),
    "a recursion that does not end": ("WITH RECURSIVE g AS (SELECT COUNT(*) AS v FROM patient UNION ALL SELECT v + 1 FROM g) SELECT MAX(v) FROM g", "more than 1,000 rows"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_not_be_the_same_is_refused(name, gateway):
    statement, why = REFUSED[name]
    with pytest.raises(psycopg.Error, match=why):
        gateway.execute(statement.encode())


def test_ends_of_intervals_have_names_in_an_outer_query(gateway):
    """As `sfumato.intervals` names them; what the query shows itself is not shown twice."""
    inner = "(SELECT COUNT(*) AS n FROM visit) x"
    assert ask(gateway, f"SELECT n, n_low, x.n_high AS top FROM {inner}") == (["n", "n_low", "top"], [(500, 500, 500)])
    gateway.execute("SET sfumato.intervals = on")
    assert ask(gateway, f"SELECT n, n_low FROM {inner}") == (["n", "n_low", "n_high"], [(500, 500, 500)])
    gateway.execute("RESET sfumato.intervals")
    for statement in (
        "SELECT age_low FROM patient",
        "SELECT inhabitants_low FROM area_info",
        "SELECT kind_low FROM (SELECT kind, COUNT(*) FROM visit GROUP BY 1) x",
    ):
        with pytest.raises(psycopg.errors.UndefinedColumn):
            gateway.execute(statement)


def test_connections_start_with_the_settings_of_the_policy(tmp_path):
    with tables.plain() as plain:
        policy = tables.write(plain, tmp_path)
    text = policy.read_text().replace('id = "corpus"', 'id = "clinic"')
    share = '[analysts.ana]\nepsilon = 1e17\nsettings = { intervals = "on", confidence = 0.9 }\n'
    policy.write_text(text.replace("[tables.", share + "[tables.", 1))
    with pg.serving(policy, encrypted=False) as served:
        with psycopg.connect(served.dsn(), autocommit=True) as link:
            assert ask(link, "SELECT COUNT(*) AS n FROM visit")[0] == ["n", "n_low", "n_high"]
            assert ask(link, "SHOW sfumato.confidence")[1] == [("0.9",)]
        with psycopg.connect(served.dsn(), options="-csfumato.intervals=off", autocommit=True) as link:
            assert ask(link, "SELECT COUNT(*) AS n FROM visit")[0] == ["n"]
