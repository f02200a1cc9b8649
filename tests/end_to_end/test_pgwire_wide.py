"""What drivers and tools write, at the PostgreSQL interface: parameters everywhere, probes, names, settings."""

# ruff: noqa: E501, DTZ001  a query stands on one line; times have no zone
from datetime import date, datetime, timedelta

import psycopg
import pytest
from tests.end_to_end import pg

BY_AREA = "SELECT area, COUNT(*) AS n FROM patient GROUP BY area ORDER BY area"


@pytest.fixture(scope="module")
def door(written, tmp_path_factory):
    policy = pg.make_clinic(tmp_path_factory.mktemp("door"), written, *pg.RICH)
    with pg.serving(policy, encrypted=False) as served:
        yield served


@pytest.fixture
def connection(door):
    with psycopg.connect(door.dsn(), autocommit=True) as made:
        yield made


def test_parameters_in_cursors_and_plans(door, connection):
    """psycopg's server-side cursors, and EXPLAIN, take values."""
    with connection.transaction(), connection.cursor("c") as cursor:
        cursor.execute("SELECT area, COUNT(*) FROM patient WHERE age > %s GROUP BY area", (30,))
        assert len(cursor.fetchall()) == 5
    assert connection.execute("EXPLAIN SELECT COUNT(*) FROM patient WHERE age > %s", (30,)).fetchall()
    fewer = connection.execute(f"{BY_AREA} LIMIT %s::INTEGER OFFSET %s", (2, 1)).fetchall()
    assert fewer == connection.execute(BY_AREA).fetchall()[1:3]
    assert len(connection.execute(f"{BY_AREA} LIMIT ALL").fetchall()) == 5
    assert len(connection.execute(f"{BY_AREA} LIMIT NULL").fetchall()) == 5
    assert len(connection.execute(f"{BY_AREA} FETCH FIRST 2 ROWS ONLY").fetchall()) == 2


@pytest.mark.parametrize("text", ["2020-06-01", "2020-06-01 +00", "2020-06-01 00:00:00+00", "2020-06-01T00:00:00.000Z"])
def test_dates_in_every_text_form(connection, text):
    """JDBC, node and ODBC send dates with a zone or a time."""
    wanted = connection.execute("SELECT COUNT(*) FROM patient WHERE admitted >= %s", (date(2020, 6, 1),)).fetchone()
    assert connection.execute("SELECT COUNT(*) FROM patient WHERE admitted >= %s", (text,)).fetchone() == wanted
    assert connection.execute("SELECT COUNT(*) FROM patient WHERE admitted >= %s::date", (text,)).fetchone() == wanted


def test_lists_of_values(connection):
    wanted = connection.execute("SELECT COUNT(*) FROM patient WHERE disease IN ('Cold', 'Flu')").fetchone()
    for condition in ("disease = ANY(ARRAY['Cold', 'Flu'])", "disease = ANY('{Cold,Flu}')", "disease = ANY(%s)"):
        values = (["Cold", "Flu"],) if "%s" in condition else None
        assert connection.execute(f"SELECT COUNT(*) FROM patient WHERE {condition}", values).fetchone() == wanted


def test_probes_are_free_and_have_columns(door, connection):
    """LIMIT 0 and WHERE false tell names and types and nothing else."""
    before = pg.debits(door)
    for text in (
        "SELECT * FROM patient WHERE 1 = 0", "SELECT * FROM public.patient WHERE false", "SELECT * FROM patient LIMIT 0",
        "SELECT * FROM (SELECT * FROM patient) AS t LIMIT 0", "SELECT * FROM (SELECT * FROM patient LIMIT 0) AS t",
    ):  # fmt: skip
        cursor = connection.execute(text)
        assert [c.name for c in cursor.description][:3] == ["ssn", "age", "disease"]
        assert cursor.fetchall() == []
    cursor = connection.execute("SELECT * FROM (SELECT area, AVG(age) AS a FROM patient GROUP BY area) AS t LIMIT 0")
    assert [c.name for c in cursor.description] == ["area", "a"]
    assert pg.debits(door) == before


def test_names_with_their_schema(connection):
    assert connection.execute('SELECT COUNT(*) FROM "public"."patient" WHERE public.patient.age > 200').fetchone()
    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("SELECT COUNT(*) FROM private.patient")


def test_time_zones(connection):
    """A zone is kept, and what means another moment in it is refused: SET does not say SET and do nothing."""
    zoned = (
        "SELECT TIMESTAMPTZ '2024-01-01 12:00'", "SELECT '2024-01-01'::timestamp with time zone", "SELECT to_timestamp(0)",
        "SELECT COUNT(*) FROM patient WHERE timezone('UTC', admitted) > '2024-01-01'",
        "SELECT COUNT(*) FROM patient WHERE admitted AT TIME ZONE 'UTC' > '2024-01-01'",
    )  # fmt: skip
    warned = []
    connection.add_notice_handler(lambda notice: warned.append(notice.severity))
    connection.execute("SET TIME ZONE 'europe/paris'")  # as pgcli does when it connects
    assert connection.execute("SHOW TIME ZONE").fetchone() == ("Europe/Paris",)
    assert connection.info.parameter_status("TimeZone") == "Europe/Paris"
    for text in zoned:
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="depends on the time zone of the session"):
            connection.execute(text)
    assert connection.execute("SELECT TIMESTAMP '2024-01-01 12:00', DATE '2024-01-01'").fetchone()[0] == datetime(
        2024, 1, 1, 12
    )
    assert connection.execute("SELECT relname, NULL::timestamptz FROM pg_class WHERE relname = 'x'").fetchall() == []
    for word in ("no such place", "+02"):
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            connection.execute(f"SET TIME ZONE '{word}'")
    connection.execute("SET TIME ZONE 'UTC'")
    for text in zoned:
        connection.execute(text)
    assert "WARNING" not in warned


def test_a_zone_of_the_start_up_message_is_answered_with_utc(door):
    """Drivers send the zone of their machine with every connection; what is reported is what holds."""
    with psycopg.connect(door.dsn(), options="-c TimeZone=Europe/Paris") as link:
        assert link.info.parameter_status("TimeZone") == "UTC"
        assert link.execute("SELECT TIMESTAMPTZ '2024-01-01 12:00+02'").fetchone() == (datetime(2024, 1, 1, 10),)


def test_intervals_have_their_type(connection):
    """In text and in binary, as results and as parameters."""
    for binary in (False, True):
        cursor = connection.execute(
            "SELECT INTERVAL '1 day 02:00', TIMESTAMP '2024-01-01' - TIMESTAMP '2024-01-02 01:00'", binary=binary
        )
        assert [column.type_code for column in cursor.description] == [1186, 1186]
        assert cursor.fetchone() == (timedelta(1, 7200), -timedelta(1, 3600))
    for mark in ("%s", "%b", "%t"):
        found = connection.execute(f"SELECT TIMESTAMP '2024-01-01' + {mark}", (timedelta(hours=30),))
        assert found.fetchone() == (datetime(2024, 1, 2, 6),)


@pytest.mark.parametrize(
    ("text", "state"),
    [("SELECT 1/0", "22012"), ("SELECT 'abc'::int", "22P02"), ("SELECT '99999999999'::int", "22003"),
     ("SELECT 'x'::date", "22007"), ("SELECT 1 % 0", "22012"), ("SELECT 'maybe'::boolean", "22P02")],
)  # fmt: skip
def test_errors_of_queries_without_tables(connection, text, state):
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(text)
    assert caught.value.sqlstate == state


def test_values_of_queries_without_tables(connection):
    found = connection.execute("SELECT 7/2, '12'::int + 1, INTERVAL '1 year 2 months', '02:30'::interval, 't'::boolean")
    assert found.fetchone() == (3, 13, timedelta(365 + 60), timedelta(0, 9000), True)
    shown = connection.execute(
        "SELECT TIMESTAMP '2024-01-03 02:00' - TIMESTAMP '2024-01-01', age(DATE '2024-03-01', DATE '2023-01-31')"
    )
    assert shown.fetchone() == (timedelta(2, 7200), timedelta(365 + 31))


def test_intervals_stand_at_the_end_and_are_an_option(door):
    with psycopg.connect(door.dsn(), autocommit=True, options="-csfumato.intervals=on") as connection:
        cursor = connection.execute("SELECT COUNT(*) AS n, area, AVG(age) AS a FROM patient GROUP BY area")
        assert [c.name for c in cursor.description] == ["n", "area", "a", "n_low", "n_high", "a_low", "a_high"]
        for n, _, a, n_low, n_high, a_low, a_high in cursor.fetchall():
            assert n_low <= n <= n_high
            assert a is None or a_low <= a <= a_high


def test_the_first_line_of_a_notice_has_the_error(connection):
    heard = []
    connection.add_notice_handler(lambda notice: heard.append(notice.message_primary))
    connection.execute("SELECT COUNT(*) AS n FROM patient WHERE age < 99")
    assert heard[0].startswith("n ± ")


def test_error_bars_as_functions(door, connection):
    """The ends of intervals as columns, in an outer query too; free beside their number, and nothing is computed."""
    asked = "SELECT area, COUNT(*) AS n, sfumato_low(COUNT(*)) AS low, sfumato_high(COUNT(*)) AS high, sfumato_error(COUNT(*)) AS e FROM patient GROUP BY area"
    rows = connection.execute(asked).fetchall()
    before = pg.debits(door)
    again = connection.execute(f"SELECT area, low, high FROM ({asked}) AS t ORDER BY area").fetchall()
    assert pg.debits(door) == before
    assert sorted((r[0] or "", r[2], r[3]) for r in rows) == sorted((r[0] or "", *r[1:]) for r in again)
    for _, n, low, high, error in rows:
        assert low <= n <= high
        assert error == max(high - n, n - low) > 0
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        connection.execute("SELECT area FROM patient GROUP BY area HAVING sfumato_low(COUNT(*)) > 5")
