"""The PostgreSQL door end to end: real clients against a real gateway and ledger, and raw sockets that misbehave."""

import asyncio
import json
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal
from pathlib import Path

import asyncpg
import pg8000.dbapi
import psycopg
import psycopg2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.end_to_end import pg

import sfumato
from sfumato.cli import clinic
from sfumato.errors import InputError
from sfumato.server.pgwire.connection import Wire
from sfumato.server.pgwire.startup import WireLimits, is_near
from sfumato.server.pgwire.tls import tls

BY_DISEASE = "SELECT disease, COUNT(*) AS n, AVG(age) AS age, SUM(salary) AS pay FROM patient GROUP BY disease"


@pytest.fixture(scope="module")
def door(written, tmp_path_factory):
    """One server for all tests that do not count its whole budget."""
    policy = pg.make_clinic(tmp_path_factory.mktemp("door"), written, *pg.RICH)
    with pg.serving(policy, users=("ana", "owner", "auditor")) as served:
        yield served


@pytest.fixture
def expected(door):
    return door.gate.sql(BY_DISEASE, analyst="ana").rows


# clients


@pytest.mark.parametrize("encrypted", ["disable", "require"])
@pytest.mark.parametrize("binary", [False, True])
def test_psycopg(door, expected, encrypted, binary):
    with psycopg.connect(door.dsn(sslmode=encrypted)) as connection:
        cursor = connection.cursor(binary=binary)
        cursor.execute(BY_DISEASE)
        assert [column.name for column in cursor.description] == ["disease", "n", "age", "pay"]
        assert [column.type_code for column in cursor.description] == [25, 20, 1700, 1700]
        assert cursor.fetchall() == expected


def test_psycopg_binds_the_channel(door):
    with psycopg.connect(door.dsn(sslmode="require", channel_binding="require")) as connection:
        assert connection.execute("SHOW server_version").fetchone() == ("15.0",)


def test_psycopg_parameters_and_prepared_statements(door):
    sql = "SELECT COUNT(*) FROM patient WHERE age > %s AND disease = ANY(%s) AND admitted >= %s AND salary < %s"
    written = (
        "SELECT COUNT(*) FROM patient WHERE age > 40 AND disease IN ('Cold', 'Flu')"
        " AND admitted >= DATE '2016-01-01' AND salary < 50000.5"
    )
    wanted = door.gate.sql(written, analyst="ana").rows
    before = pg.debits(door)
    with psycopg.connect(door.dsn()) as connection:
        for prepare in (False, True):
            for binary in (False, True):
                cursor = connection.cursor(binary=binary)
                values = (40, ["Cold", "Flu"], date(2016, 1, 1), Decimal("50000.5"))
                cursor.execute(sql, values, prepare=prepare)
                assert cursor.fetchall() == wanted
    assert pg.debits(door) == before, "the same question is free, however it is asked"


def test_psycopg_text_is_never_sql(door):
    with psycopg.connect(door.dsn()) as connection:
        evil = "x' OR '1'='1"
        cursor = connection.execute("SELECT COUNT(*) FROM patient WHERE street = %s", (evil,))
        assert cursor.fetchone()[0] < 500


def test_psycopg_server_side_cursor_and_transactions(door, expected):
    with psycopg.connect(door.dsn()) as connection:
        with connection.transaction(), connection.cursor("named") as cursor:
            cursor.execute(BY_DISEASE)
            assert [*cursor.fetchmany(2), *cursor.fetchall()] == expected
        with pytest.raises(psycopg.errors.UndefinedColumn) as refused:
            connection.execute("SELECT COUNT(*) FROM patient WHERE nothing = 1")
        assert refused.value.diag.statement_position == "36"
        assert refused.value.diag.message_hint
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute(BY_DISEASE)
        connection.rollback()
        with connection.transaction(), pytest.raises(psycopg.Error), connection.transaction():
            connection.execute("SELECT nothing FROM patient")
        assert connection.execute(BY_DISEASE).fetchall() == expected


def test_psycopg_pipeline_and_executemany(door):
    with psycopg.connect(door.dsn()) as connection:
        with connection.pipeline():
            cursors = [connection.execute("SELECT COUNT(*) FROM patient WHERE age > %s", (age,)) for age in (20, 40)]
            assert all(cursor.fetchone()[0] > 0 for cursor in cursors)
        cursor = connection.cursor()
        cursor.executemany("SELECT COUNT(*) FROM patient WHERE age > %s", [(20,), (40,)], returning=True)
        assert cursor.fetchone()[0] > 0


def test_psycopg_copy_in_three_formats(door, expected):
    with psycopg.connect(door.dsn()) as connection:
        for form, words in (("text", ""), ("csv", "(FORMAT csv, HEADER)"), ("binary", "(FORMAT binary)")):
            with connection.cursor().copy(f"COPY ({BY_DISEASE}) TO STDOUT {words}") as copy:
                if form == "csv":
                    assert b"".join(map(bytes, copy)).startswith(b"disease,n,age,pay\nCold,")
                    continue
                copy.set_types(["text", "int8", "numeric", "numeric"])
                assert list(copy.rows()) == expected


def test_notices_say_cost_rest_and_width(door):
    heard = []
    with psycopg.connect(door.dsn()) as connection:
        connection.add_notice_handler(lambda notice: heard.append((notice.message_primary, notice.message_detail)))
        connection.execute("/* epsilon=0.5 */ SELECT COUNT(*) FROM patient WHERE age = 77")
        assert heard[0][0].startswith("count ± 6 at 95 %; cost: epsilon 0.5; epsilon ")
        connection.execute("SET client_min_messages = warning")
        connection.execute("/* epsilon=0.5 */ SELECT COUNT(*) FROM patient WHERE age = 77")
    assert len(heard) == 1


def test_intervals_explain_and_budget(door):
    with psycopg.connect(door.dsn(), autocommit=True) as connection:
        connection.execute("SET sfumato.intervals = on")
        connection.execute("SET sfumato.epsilon = 0.25")
        cursor = connection.execute("SELECT area, COUNT(*) AS n FROM patient GROUP BY area")
        assert [column.name for column in cursor.description] == ["area", "n", "n_low", "n_high"]
        assert all(low <= n <= high for _, n, low, high in cursor)
        before = connection.execute("SHOW sfumato.budget").fetchall()
        plan = connection.execute("EXPLAIN SELECT COUNT(*) FROM patient WHERE age = 12")
        assert plan.description[0].name == "QUERY PLAN"
        assert any("would cost: epsilon 0.25" in line for (line,) in plan)
        after = connection.execute("SHOW sfumato.budget").fetchall()
    assert before == after
    assert [name for name, *_ in after] == ["total", "spent", "remaining"]
    assert after[0][1] == after[1][1] + after[2][1] == 900


def test_within_chooses_the_epsilon(door):
    with psycopg.connect(door.dsn()) as connection:
        connection.execute("SET sfumato.within = 60")
        connection.execute("SET sfumato.intervals = on")
        _, low, high = connection.execute("SELECT COUNT(*) FROM patient WHERE age = 55").fetchone()
    assert high - low <= 120


def test_psycopg2(door, expected):
    connection = psycopg2.connect(door.dsn())
    cursor = connection.cursor()
    cursor.execute("SELECT COUNT(*) FROM patient WHERE disease = %s AND age > %s", ("Cold", 30))
    assert cursor.fetchone()[0] > 0
    assert "; cost: epsilon" in connection.notices[0]
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        cursor.execute("SELECT ssn FROM patient")
    connection.rollback()
    named = connection.cursor("named")
    named.execute(BY_DISEASE)
    assert named.fetchmany(2) + named.fetchall() == expected
    named.close()
    connection.close()


def test_pg8000(door, expected):
    connection = pg8000.dbapi.connect(
        user="ana", password=pg.PASSWORD, host=door.host, port=door.port, database="clinic"
    )
    cursor = connection.cursor()
    cursor.execute(BY_DISEASE)
    assert [tuple(row) for row in cursor.fetchall()] == expected
    cursor.execute("SELECT COUNT(*) FROM patient WHERE disease = %s AND age > %s", ("Cold", 30))
    assert cursor.fetchone()[0] > 0
    connection.rollback()
    connection.close()


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ("SELECT nothing FROM patient", "42703"),
        ("SELECT nothing FROM patient WHERE age > %s", "42703"),
        ("SELECT ssn FROM patient", "42501"),
        ("SELEC 1", "42601"),
        ("CREATE TABLE t (a int)", "0A000"),
        ("SELECT a.ssn FROM patient a JOIN patient b ON a.age = b.age WHERE a.age > %s", "0A000"),
    ],
)
def test_pg8000_goes_on_after_a_refusal(door, sql, state):
    """It writes Bind before it reads what Describe said: a refusal must come at Parse, or it is out of step."""
    connection = pg8000.dbapi.connect(
        user="ana", password=pg.PASSWORD, host=door.host, port=door.port, database="clinic"
    )
    cursor = connection.cursor()
    with pytest.raises(pg8000.dbapi.DatabaseError) as refused:
        cursor.execute(sql, (3,) if "%s" in sql else ())
    assert refused.value.args[0]["C"] == state
    connection.rollback()
    cursor.execute("SELECT COUNT(*) FROM patient WHERE age > %s", (30,))
    assert cursor.fetchone()[0] > 0
    cursor.execute("SELECT date_trunc(%s, day) AS d, COUNT(*) FROM visit GROUP BY 1", ("year",))
    assert len(cursor.fetchall()) > 1
    connection.close()


def test_asyncpg_values_in_written_lists(door):
    async def ask():
        connection = await asyncpg.connect(
            host=door.host, port=door.port, user="ana", password=pg.PASSWORD, database="clinic"
        )
        found = await connection.fetchval("SELECT COUNT(*) FROM patient WHERE age = ANY(ARRAY[$1, $2])", 30, 31)
        same = await connection.fetchval("SELECT COUNT(*) FROM patient WHERE age IN (30, 31)")
        units = await connection.fetch("SELECT date_trunc($1, day) AS d, COUNT(*) FROM visit GROUP BY 1", "year")
        await connection.close()
        return found, same, len(units)

    found, same, units = asyncio.run(ask())
    assert found == same
    assert units > 1


def test_asyncpg(door, expected):
    async def ask():
        connection = await asyncpg.connect(
            user="ana", password=pg.PASSWORD, host=door.host, port=door.port, database="clinic"
        )
        assert [tuple(row) for row in await connection.fetch(BY_DISEASE)] == expected
        where = "age > $1 AND disease = ANY($2) AND admitted >= $3 AND salary < $4"
        values = (40, ["Cold"], date(2016, 1, 1), Decimal(90000))
        count = await connection.fetchval(f"SELECT COUNT(*) FROM patient WHERE {where}", *values)
        assert count > 0
        async with connection.transaction():
            found = [tuple(row) async for row in connection.cursor(BY_DISEASE, prefetch=2)]
        assert found == expected
        statement = await connection.prepare("SELECT COUNT(*) FROM patient WHERE age > $1 LIMIT $2")
        assert [kind.name for kind in statement.get_parameters()] == ["int8", "int8"]
        with pytest.raises(asyncpg.UndefinedTableError):
            await connection.fetch("SELECT COUNT(*) FROM nothing")
        await connection.reset()
        await connection.close()

    before = pg.debits(door)
    asyncio.run(ask())
    assert pg.debits(door) - before == Decimal("0.1"), "one new question"


def psql(door, *arguments, **environment):
    found = shutil.which("psql")
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail("psql is not installed; on CI nothing is skipped")
        pytest.skip("psql is not installed (apt-get install postgresql-client)")
    words = [found, "-X", "-v", "ON_ERROR_STOP=0", door.dsn(), *arguments]
    return subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ | environment, timeout=60)


def test_psql(door, expected):
    done = psql(door, "-At", "-c", BY_DISEASE, "-c", f"\\copy ({BY_DISEASE}) to stdout csv header", "-c", "\\conninfo")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split("|")[0] for line in lines[:6]] == [*clinic.DISEASES, ""]
    assert lines[6] == "disease,n,age,pay"
    assert "SSL connection" in lines[-1]
    assert "; cost: " in done.stderr


def test_psql_shows_where_the_mistake_is(door):
    done = psql(door, "-c", "SELECT COUNT(*) FROM patient WHERE wage > 1")
    assert "LINE 1: SELECT COUNT(*) FROM patient WHERE wage > 1" in done.stderr
    assert done.stderr.splitlines()[2].index("^") == len("LINE 1: SELECT COUNT(*) FROM patient WHERE ")
    assert "HINT:" in done.stderr


# who may come in


@pytest.mark.parametrize("user", ["ana", "zoe"])
def test_a_wrong_password_and_an_unknown_name_look_the_same(door, user):
    exchanges = []
    for _ in range(2):
        with pg.Raw(door, user=user, password="wrong") as client:  # noqa: S106 - it is wrong
            exchanges.append(client.greeting)
    for said in exchanges:
        assert pg.kinds(said) == "RRE"
        fields = pg.fields_of(said[-1][1])
        message = f'password authentication failed for user "{user}"'
        assert (fields["S"], fields["C"], fields["M"]) == ("FATAL", "28P01", message)
    salts = {said[1][1].split(b"s=")[1] for said in exchanges}
    assert len(salts) == 1


def test_another_database_does_not_exist(door):
    with pytest.raises(psycopg.OperationalError, match='database "other" does not exist'):
        psycopg.connect(door.dsn(dbname="other"))


def test_too_many_failures_wait_a_minute(written, tmp_path):
    policy = pg.make_clinic(tmp_path / "c", written)
    with pg.serving(policy, limits=WireLimits(failures=3), encrypted=False) as served:
        for _ in range(3):
            with pg.Raw(served, password="wrong") as client:  # noqa: S106 - it is wrong
                assert pg.fields_of(client.greeting[-1][1])["C"] == "28P01"
        with pg.Raw(served) as client:
            assert pg.fields_of(client.greeting[-1][1])["C"] == "28000"
        for i in range(27):
            with pg.Raw(served, user=f"u{i}") as client:
                assert pg.fields_of(client.greeting[-1][1])["C"] == "28P01"
        with pg.Raw(served, user="another") as client:
            assert pg.fields_of(client.greeting[-1][1])["C"] == "28000", "one address may not try any number of names"


def test_limits_of_connections(written, tmp_path):
    policy = pg.make_clinic(tmp_path / "c", written)
    with pg.serving(
        policy, limits=WireLimits(per_user=2, connections=3), encrypted=False, users=("ana", "bob")
    ) as served:
        first, second, third = (pg.Raw(served) for _ in range(3))
        assert first.greeting[-1] == second.greeting[-1] == ("Z", b"I")
        assert pg.fields_of(third.greeting[-1][1])["C"] == "53300"
        assert third.message() is None
        bob = pg.Raw(served, user="bob")
        assert bob.greeting[-1] == ("Z", b"I")
        fourth = pg.Raw(served, login=False)
        assert pg.fields_of(fourth.message()[1])["C"] == "53300"
        for client in (first, second, third, bob, fourth):
            client.close()


def test_an_auditor_looks_and_does_not_ask(door):
    with psycopg.connect(door.dsn("auditor")) as connection:
        assert len(connection.execute("SHOW sfumato.budget").fetchall()) == 3
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(BY_DISEASE)


def test_the_owner_has_no_share(door):
    with psycopg.connect(door.dsn("owner")) as connection:
        assert connection.execute("SHOW sfumato.budget").fetchone()[1] == 1000


def test_options_of_the_start_up_count(door):
    with psycopg.connect(door.dsn(options="'-c sfumato.epsilon=0.5 -c sfumato.intervals=on'")) as connection:
        assert connection.execute("SHOW sfumato.epsilon").fetchone() == ("0.5",)
        assert len(connection.execute("SELECT COUNT(*) FROM patient").fetchone()) == 3


def test_the_audit_log_has_questions_and_no_answers(door):
    with psycopg.connect(door.dsn()) as connection:
        (count,) = connection.execute("SELECT COUNT(*) FROM patient WHERE age = 31").fetchone()
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT nothing FROM patient")
    log = Path(door.gate.policy.data.state) / "audit.jsonl"
    assert log.stat().st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    question = next(line for line in lines if line.get("question", "").endswith("age = 31"))
    assert question["event"] == "question"
    assert question["cost"]["epsilon"] == "1/10"
    assert len(question["receipt"]) == 32
    assert set(question) == {"at", "event", "user", "analyst", "question", "cost", "receipt"}
    assert str(count) not in json.dumps(question["cost"])
    refusal = next(line for line in lines if line.get("question") == "SELECT nothing FROM patient")
    assert (refusal["event"], refusal["sqlstate"]) == ("refusal", "42703")


# raw sockets


def test_ssl_request_and_gss_request(door):
    with pg.Raw(door, login=False) as client:
        client.send(struct.pack("!II", 8, 80877104))
        assert client.socket.recv(1) == b"N"
        client.send(struct.pack("!II", 8, 80877103))
        assert client.socket.recv(1) == b"S"
    with pg.Raw(door, encrypted=True) as client:
        assert client.greeting[-1] == ("Z", b"I")


def test_bytes_that_came_before_tls_are_refused(door):
    """CVE-2021-23214: what a man in the middle put in front must not be taken for the client's words."""
    with pg.Raw(door, login=False) as client:
        client.send(struct.pack("!II", 8, 80877103) + pg.startup())
        answer = client.socket.recv(100)
        assert answer[:1] == b"E"
        assert b"unencrypted data" in answer


def test_newer_protocols_are_negotiated_and_older_ones_refused(door):
    with pg.Raw(door, login=False) as client:
        client.send(pg.startup(version=196610, **{"_pq_.thing": "1"}))
        kind, body = client.message()
        assert (kind, body) == ("v", struct.pack("!II", 0, 1) + b"_pq_.thing\0")
        assert client.login(pg.PASSWORD)[-1] == ("Z", b"I")
    with pg.Raw(door, login=False) as client:
        client.send(pg.startup(version=131072))
        assert client.until("E")[-1][0] == "E"


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40),
        struct.pack("!I", 2**31 - 1) + bytes(20),
        struct.pack("!I", 4),
        struct.pack("!II", 9, 196608) + b"x",
        bytes(64),
    ],
)
def test_what_is_no_start_up_is_closed_at_once(door, data):
    with pg.Raw(door, login=False) as client:
        client.send(data)
        begun = time.monotonic()
        client.until("E")
        assert client.message() is None
        assert time.monotonic() - begun < 10


def test_a_client_that_says_nothing_is_sent_away(written, tmp_path):
    policy = pg.make_clinic(tmp_path / "c", written)
    with pg.serving(policy, limits=WireLimits(startup=0.3), encrypted=False) as served:
        client = pg.Raw(served, login=False)
        assert client.message() is None
        client.close()


@pytest.mark.parametrize(
    ("data", "state"),
    [
        (b"Q" + struct.pack("!I", 2**31 - 1), "54000"),
        (b"Q" + struct.pack("!I", 3), "08P01"),
        (b"?" + struct.pack("!I", 4), "08P01"),
        (pg.framed("p", b"x"), "08P01"),
    ],
)
def test_a_message_that_cannot_be_is_fatal(door, data, state):
    with pg.Raw(door) as client:
        client.send(data)
        assert pg.fields_of(client.until("E")[-1][1])["C"] == state
        assert client.message() is None


def test_a_message_that_is_wrong_inside_is_an_error_and_life_goes_on(door):
    with pg.Raw(door) as client:
        said = client.ask(pg.framed("B", b"\0"), pg.SYNC)
        assert pg.kinds(said) == "EZ"
        said = client.ask(pg.framed("Q", b"\xff\xfe\0"))
        assert pg.fields_of(said[0][1])["C"] == "22021"
        said = client.ask(pg.framed("F", b""), pg.SYNC)
        assert pg.kinds(said).startswith("E")


def test_flush_is_a_real_message(door):
    with pg.Raw(door) as client:
        client.send(pg.parse(BY_DISEASE), pg.describe("S"), pg.FLUSH)
        assert pg.kinds(client.until("T")) == "1tT"
        client.send(pg.bind(), pg.execute(limit=1), pg.FLUSH)
        assert pg.kinds(client.until("s")) == "2NDs"
        assert pg.kinds(client.ask(pg.SYNC)) == "Z"


def test_describe_never_spends_with_the_real_ledger(door):
    before = pg.debits(door)
    with pg.Raw(door) as client:
        sql = "SELECT COUNT(*) FROM patient WHERE age = 99"
        client.ask(pg.parse(sql), pg.describe("S"), pg.bind(), pg.describe("P"), pg.SYNC)
        client.ask(pg.query(f"EXPLAIN {sql}"))
        client.ask(pg.query("BEGIN"), pg.query(f"DECLARE c CURSOR FOR {sql}"), pg.query("COMMIT"))
    assert pg.debits(door) == before


BODY = st.binary(max_size=40)
TEXTS = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=30)
FUZZ = st.lists(
    st.one_of(
        st.builds(pg.framed, st.sampled_from("QPBDECSHdcfF"), BODY),
        st.builds(pg.query, TEXTS),
        st.sampled_from([pg.SYNC, pg.FLUSH, pg.parse("SELECT $1,$2"), pg.describe("S"), pg.execute(), pg.bind([b"1"])]),
    ),
    max_size=8,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FUZZ, st.binary(max_size=30))
def test_whatever_is_sent_nothing_hangs_and_nothing_is_spent(door, messages, rest):
    before = pg.debits(door)
    with pg.Raw(door) as client:
        client.send(*messages, pg.SYNC, pg.query("SHOW TimeZone"))
        while (message := client.message()) is not None and message != ("D", b"\0\1\0\0\0\3UTC"):
            pass
        if message is not None:
            client.send(rest)
    assert pg.debits(door) == before


# stopping what runs


class Slow:
    """A gateway whose questions wait for a sign."""

    def __init__(self, gate):
        self._gate, self.policy = gate, gate.policy
        self.begun, self.go, self.asked = threading.Event(), threading.Event(), 0

    def __getattr__(self, name):
        return getattr(self._gate, name)

    def answer(self, *arguments, **options):
        self.asked += 1
        self.begun.set()
        assert self.go.wait(60)
        return self._gate.answer(*arguments, **options)


@pytest.fixture
def slow(written, tmp_path):
    policy = pg.make_clinic(tmp_path / "c", written)
    with sfumato.open(policy) as gate:
        gateway = Slow(gate)
        served = pg.Served(gateway, limits=WireLimits(workers=1, drain=5), encrypted=False)
        try:
            yield gateway, served
        finally:
            gateway.go.set()
            served.stop()


def cancel_with(served, client, secret=None):
    body = next(body for kind, body in client.greeting if kind == "K")
    process, key = struct.unpack("!II", body)
    with socket.create_connection((served.host, served.port)) as other:
        other.sendall(struct.pack("!IIII", 16, 80877102, process, key if secret is None else secret))
        assert other.recv(1) == b""


def test_a_question_can_be_cancelled_and_its_answer_is_not_lost(slow, monkeypatch):
    gateway, served = slow
    sql = "SELECT COUNT(*) FROM patient"
    engine, run, paid = gateway._engine, gateway._engine.run, threading.Event()

    def held(*arguments, **options):
        paid.set()
        assert gateway.go.wait(60)
        return run(*arguments, **options)

    monkeypatch.setattr(engine, "run", held)
    monkeypatch.setattr(gateway, "answer", gateway._gate.answer)
    with pg.Raw(served) as client:
        cancel_with(served, client)  # nothing runs: nothing happens
        client.send(pg.query(sql))
        assert paid.wait(60)
        cancel_with(served, client, secret=1)
        cancel_with(served, client)
        said = client.until("Z")
        assert pg.fields_of(said[0][1])["C"] == "57014"
        gateway.go.set()
        said = client.ask(pg.query(sql))
        assert pg.kinds(said) == "NTDCZ"
        assert "the answer was stored" in pg.fields_of(said[0][1])["M"]


def test_a_question_that_waits_for_a_thread_and_is_cancelled_is_never_asked(slow):
    gateway, served = slow
    with pg.Raw(served) as first, pg.Raw(served) as second:
        first.send(pg.query("SELECT COUNT(*) FROM patient"))
        assert gateway.begun.wait(60)
        second.send(pg.query("SELECT COUNT(*) FROM visit"))
        while not served.server._pool._work_queue.qsize():
            time.sleep(0.01)
        cancel_with(served, second)
        assert pg.fields_of(second.until("Z")[0][1])["C"] == "57014"
        gateway.go.set()
        assert pg.kinds(first.until("Z")) == "NTDCZ"
    assert gateway.asked == 1


def test_statement_timeout(slow):
    _, served = slow
    with pg.Raw(served) as client:
        said = client.ask(pg.query("SET statement_timeout = '100ms'"), pg.query("SELECT COUNT(*) FROM patient"))
        said = client.until("Z") if pg.kinds(said) == "CZ" else said
        assert pg.fields_of(said[0][1])["M"] == "canceling statement due to statement timeout"


def test_stopping_drains(slow):
    gateway, served = slow
    with pg.Raw(served) as idle, pg.Raw(served) as busy:
        busy.send(pg.query("SELECT COUNT(*) FROM patient"))
        assert gateway.begun.wait(60)
        stopping = threading.Thread(target=served.stop)
        stopping.start()
        assert pg.fields_of(idle.message()[1])["C"] == "57P01"
        assert idle.message() is None
        gateway.go.set()
        said = busy.until("E")
        assert pg.kinds(said) == "NTDCZE"
        stopping.join()


# the whole budget


def test_a_thousand_questions_at_once_against_a_budget_for_a_hundred(written, tmp_path):
    changes = [(pg.SHARE, "epsilon = 1 # a share"), ('composition = "best" ', 'composition = "pure" ')]
    policy = pg.make_clinic(tmp_path / "c", written, *changes)
    where = [f"age <> {i % 120} AND zipcode <> {75000 + i // 2}" for i in range(1000)]
    questions = [f"SELECT COUNT(*) FROM patient WHERE {condition}" for condition in where]
    assert len(set(questions)) == 1000
    answered, refused = [], []

    def ask(part):
        with psycopg.connect(served.dsn(), autocommit=True) as connection:
            connection.execute("SET sfumato.epsilon = 0.01")
            for question in part:
                try:
                    answered.append(connection.execute(question).fetchone()[0])
                except psycopg.Error as error:
                    refused.append(error.sqlstate)

    with pg.serving(policy, encrypted=False) as served:
        with ThreadPoolExecutor(20) as pool:
            list(pool.map(ask, [questions[i::20] for i in range(20)]))
        assert pg.debits(served) == 1
    assert len(answered) == 100
    assert refused == ["53400"] * 900


# the command


def test_serve_and_users_from_the_command_line(written, tmp_path):
    policy = pg.make_clinic(tmp_path / "c", written)
    command = [sys.executable, "-c", "from sfumato.cli import main; main()"]
    made = subprocess.run(
        [*command, "user", "add", "ana", "--password-stdin", "-p", str(policy)],
        input=pg.PASSWORD + "\n", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    server = subprocess.Popen(
        [*command, "serve", "--pg", "127.0.0.1:0", "--http", "none", "-p", str(policy)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address = server.stdout.readline().strip()
        assert server.stdout.readline() == "ready\n"
        port = int(address.rpartition(":")[2].partition("/")[0])
        words = f"host=127.0.0.1 port={port} user=ana password='{pg.PASSWORD}' dbname=clinic sslmode=require"
        with psycopg.connect(words) as connection:
            assert connection.execute("SELECT COUNT(*) FROM patient").fetchone()[0] > 3000
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
    with sfumato.open(policy) as gate:
        assert gate.budget("ana").spent.epsilon == Decimal("0.1")


@pytest.mark.parametrize(
    ("peer", "near"),
    [("127.0.0.1", True), ("::1", True), ("local", True), ("10.0.0.1", False), ("fe80::1%e0", False)],
)
def test_only_this_machine_is_near(peer, near):
    assert is_near(peer) == near


def test_without_tls_other_machines_stay_outside(written, tmp_path, monkeypatch):
    policy = pg.make_clinic(tmp_path / "c", written)
    with pg.serving(policy) as served:
        monkeypatch.setattr(Wire, "peer", "10.0.0.1")
        with pg.Raw(served) as client:
            fields = pg.fields_of(client.greeting[-1][1])
            assert (fields["C"], fields["H"]) == ("28000", "Use sslmode=require.")
        with pg.Raw(served, encrypted=True) as client:
            assert client.greeting[-1] == ("Z", b"I")


def test_a_certificate_of_the_owners(tmp_path):
    made = tls(tmp_path, "db.example.org")
    cert, key = tmp_path / "server.crt", tmp_path / "server.key"
    assert tls(tmp_path / "elsewhere", "x", cert, key).binding == made.binding
    with pytest.raises(InputError, match="together"):
        tls(tmp_path, "x", cert, None)
    with pytest.raises(InputError, match="certificate"):
        tls(tmp_path, "x", key, cert)


def test_the_certificate_signs_itself_and_can_be_trusted(door):
    state = Path(door.gate.policy.data.state)
    assert (state / "server.key").stat().st_mode & 0o777 == 0o600
    context = ssl.create_default_context(cafile=state / "server.crt")
    with pg.Raw(door, login=False) as client:
        client.send(struct.pack("!II", 8, 80877103))
        assert client.socket.recv(1) == b"S"
        client.socket = context.wrap_socket(client.socket, server_hostname="localhost")
        assert client.socket.version() in ("TLSv1.2", "TLSv1.3")
