"""Serving as an owner runs it: start, logs, signals, reload, freeze; one process."""

import json
import os
import signal
import ssl
import stat
import threading
import time

import duckdb
import httpx
import psycopg
import pytest
from tests.end_to_end.hosting import PASSWORD
from tests.end_to_end.pg import make_clinic
from tests.end_to_end.served import command, running, write_small

from sfumato.ledger import Ledger
from sfumato.server.process.serve_options import ServeOrder, address

COUNT = "SELECT COUNT(*) FROM visit"


def begun(folder):
    """All that is said on stderr when nothing goes wrong: the ledger is new."""
    return f"Created a new ledger: {folder / 'clinic.ledger'} (nothing has been charged yet).\n"


def test_doors_are_told_then_ready_and_a_signal_ends_it_in_order(tmp_path):
    policy = write_small(tmp_path)
    with running(policy) as server:
        assert server.lines[-1] == "ready"
        schemes = [line.partition("://")[0] for line in server.lines[:-1]]
        assert schemes == ["PostgreSQL: postgresql", "HTTP and console: http"]
        with server.connect() as client:
            client.execute(COUNT)
        assert server.stop() == (0, begun(tmp_path))
        assert not list(server.state.glob("control-*"))
        said = [line["message"] for line in server.log()]
        assert said == [begun(tmp_path).strip().rstrip(".").replace("Created", "created"), "ready", "stopped"]
    with Ledger.visit(tmp_path / "clinic.ledger") as ledger:
        assert ledger.verify().answers == 1


def test_the_connections_of_one_user_are_an_option(tmp_path):
    policy = write_small(tmp_path)
    with running(policy, "--per-user", "2") as server:
        with server.connect() as first, server.connect() as second:
            assert first.execute(COUNT).fetchone() == second.execute(COUNT).fetchone()
            with pytest.raises(psycopg.OperationalError, match="too many connections"):
                server.connect()
        assert server.stop() == (0, begun(tmp_path))


@pytest.mark.parametrize("many", ["0", "501"])
def test_how_many_connections_one_user_may_have(tmp_path, call, many):
    done = call("serve", "-p", write_small(tmp_path), "--per-user", many, "--check")
    assert done.returncode == 2
    assert "--per-user must be 1 to 500" in done.stderr


def test_a_question_under_way_is_answered_before_the_end(tmp_path):
    policy = write_small(tmp_path, changes=[("query_epsilon = 1", 'query_epsilon = 1\ntiming = "padded"')])
    with running(policy) as server, server.connect() as client:
        heard = []
        asking = threading.Thread(target=lambda: heard.append(client.execute(COUNT).fetchone()))
        asking.start()
        until(lambda: debits(tmp_path) == 1)
        server.process.send_signal(signal.SIGTERM)
        asking.join(60)
        assert len(heard) == 1
        assert server.process.wait(60) == 0


def test_a_second_signal_ends_it_at_once(tmp_path):
    """A connection that never stops asking would be drained for ten seconds; the second signal does not wait."""
    policy = write_small(tmp_path)
    with running(policy) as server:
        os.kill(server.process.pid, signal.SIGSTOP)  # both signals are there before either is looked at
        os.kill(server.process.pid, signal.SIGINT)
        os.kill(server.process.pid, signal.SIGTERM)
        os.kill(server.process.pid, signal.SIGCONT)
        code, _ = server.stop(signal.SIGTERM)
        assert code in (128 + signal.SIGTERM, 128 + signal.SIGINT)


def test_logs_are_two_files_of_json_for_the_owner_and_hold_no_true_value(tmp_path, written):
    policy = make_clinic(tmp_path, written)
    exact = true_values(tmp_path)
    with running(policy) as server:
        with server.connect() as client:
            for question in QUESTIONS:
                client.execute(question)
            with pytest.raises(psycopg.Error):
                client.execute("SELECT ssn FROM patient")
            with pytest.raises(psycopg.OperationalError):
                server.connect(password="'wrong password'", sslmode="require")  # noqa: S106 - wrong on purpose
        assert server.stop()[0] == 0
        for name in ("operator.log", "audit.jsonl"):
            file = server.state / name
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert server.log(name)
            text = file.read_text()
            for value in exact:
                assert value not in text, name
        events = [line["event"] for line in server.log("audit.jsonl")]
        assert events == ["log-in", *["question"] * len(QUESTIONS), "refusal", "log-in failed"]


QUESTIONS = (
    "SELECT disease, COUNT(*) FROM patient GROUP BY disease",
    "SELECT city, SUM(cost) FROM visit GROUP BY city",
    "SELECT SUM(salary) FROM patient",
)


def true_values(home):
    """What the questions would give without noise, as it might be written; short numbers stand in any time of day."""
    with duckdb.connect() as plain:
        plain.execute(f"CREATE VIEW patient AS SELECT * FROM '{home}/patient.parquet'")
        plain.execute(f"CREATE VIEW visit AS SELECT * FROM '{home}/visit.csv'")
        found = [value for question in QUESTIONS for row in plain.execute(question).fetchall() for value in row[-1:]]
        ssn = [row[0] for row in plain.execute("SELECT ssn FROM patient").fetchall()]
    wanted = {f"{value:.0f}" for value in found} | {f'"{value}' for value in found} | set(ssn)
    assert len(wanted) > 4000
    return {value for value in wanted if len(value) > 4}


def until(holds, seconds=60.0):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def debits(home):
    try:
        with Ledger.visit(home / "clinic.ledger") as ledger:
            return sum(entry.kind == "debit" for entry in ledger.entries())
    except Exception:  # noqa: BLE001 - not there yet
        return 0


# reload


def test_new_rows_are_admitted_while_a_client_asks_in_a_loop(tmp_path, call):
    """The owner's whole workflow: new files, a new version, check, reload. The client sees no error at all."""
    policy = write_small(tmp_path, people=50, changes=[("epsilon = 100", "epsilon = 100000")])
    with running(policy, users=("ana", "owner")) as server, server.connect() as client, server.client("owner") as web:
        client.execute("SET sfumato.epsilon = 100")  # so much that the noise cannot hide which version it was
        seen, heard, failed, done = [], [], [], threading.Event()

        def ask():
            while not done.wait(0.01):
                try:
                    seen.append(client.execute(COUNT).fetchone()[0])
                except psycopg.Error as error:
                    failed.append(error)

        def ask_web():
            while not done.wait(0.01):
                reply = web.post("/api/query", json={"sql": COUNT, "epsilon": 100})
                pages = [web.get(page) for page in ("/api/ledger", "/api/budget", "/api/schema", "/healthz")]
                failed.extend(page.text for page in (reply, *pages) if page.status_code != 200)
                heard.append(reply.json()["rows"][0][0])

        asking = [threading.Thread(target=one) for one in (ask, ask_web)]
        for one in asking:
            one.start()
        until(lambda: min(len(seen), len(heard)) > 5)
        write_small(
            tmp_path, people=80, changes=[("epsilon = 100", "epsilon = 100000"), ('version = "one"', 'version = "two"')]
        )
        assert call("check", "-p", policy).returncode == 0
        reloaded = call("reload", "-p", policy, "--json")
        assert reloaded.returncode == 0, reloaded.stderr
        (said,) = json.loads(reloaded.stdout)["servers"]
        assert said["version"] == "two"
        assert said["warnings"] == []
        after = [len(seen), len(heard)]
        until(lambda: len(seen) > after[0] + 5 and len(heard) > after[1] + 5)
        done.set()
        for one in asking:
            one.join(60)
        assert failed == []
        for answers, then in zip((seen, heard), after, strict=True):
            assert set(answers[:5]) == {50}
            assert set(answers[then + 1 :]) == {80}
            assert set(answers) == {50, 80}
    with Ledger.visit(tmp_path / "clinic.ledger") as ledger:
        report = ledger.verify()
        assert (report.answers, report.failures) == (2, 0)
        assert 2 <= report.debits <= 4  # two who ask the same at the same moment both pay


def test_a_changed_budget_takes_effect_for_sessions_that_are_open_and_is_an_entry(tmp_path, call):
    policy = write_small(tmp_path, changes=[("epsilon = 100", "epsilon = 1")])
    with running(policy) as server, server.connect() as client:
        client.execute(COUNT)
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded):
            client.execute("SELECT SUM(age) FROM visit")
        write_small(tmp_path, changes=[("epsilon = 100", "epsilon = 2")])
        said = call("reload", "-p", policy)
        assert said.returncode == 0, said.stderr
        assert "epsilon 1 → 2" in said.stdout
        assert "not admitted" in said.stderr
        client.execute("SELECT SUM(age) FROM visit")
        changes = [line for line in call("ledger", "show", "-p", policy).stdout.splitlines() if " policy " in line]
        assert [line for line in changes if "epsilon 1 → 2, by owner" in line] == changes[1:]


BROKEN = [
    ('id = "clinic"', 'id = "other"', "data.id cannot change while serving"),
    ("rows_per_unit = 3", "rows_per_unit = -3", "rows_per_unit"),
    ('"visit.csv"', '"nowhere.csv"', "nowhere.csv"),
    ("[privacy]", "[privacy", "not TOML"),
    ('engine = "duckdb"', 'engine = "abacus"', "engine"),
]


def test_a_broken_policy_changes_nothing_and_says_why(tmp_path, call):
    policy = write_small(tmp_path)
    with running(policy) as server, server.connect() as client:
        before = client.execute(COUNT).fetchone()
        for old, new, why in BROKEN:
            write_small(tmp_path, changes=[(old, new)])
            said = call("reload", "-p", policy)
            assert said.returncode == 2, (new, said.stderr)
            assert why in said.stderr
            assert "The previous policy stays in force" in said.stderr
            assert client.execute(COUNT).fetchone() == before
        write_small(tmp_path)
        assert call("reload", "-p", policy).returncode == 0
        assert client.execute(COUNT).fetchone() == before
        assert sum("reload failed" in line["message"] for line in server.log()) == len(BROKEN)


def test_beyond_this_machine_http_is_encrypted_and_a_certificate_may_be_brought_along(tmp_path):
    policy = write_small(tmp_path)
    with running(policy, "--http", "0.0.0.0:0") as server:
        schemes = [line.partition("://")[0] for line in server.lines[:-1]]
        assert schemes == ["PostgreSQL: postgresql", "HTTP and console: https"]
        trust = ssl.create_default_context(cafile=server.state / "server.crt")
        trust.check_hostname = False
        with server.client(verify=trust) as web:
            assert web.post("/api/query", json={"sql": COUNT}).status_code == 200
            with pytest.raises(httpx.TransportError):
                httpx.get(str(web.base_url).replace("https", "http") + "/healthz", trust_env=False)
        own = [tmp_path / "own.crt", tmp_path / "own.key"]
        for source, target in zip(("server.crt", "server.key"), own, strict=True):
            target.write_bytes((server.state / source).read_bytes())
            (server.state / source).unlink()
    with running(policy, "--cert", own[0], "--key", own[1]) as server:
        assert not (server.state / "server.crt").exists()
        with server.client(verify=trust) as web:
            assert web.post("/api/query", json={"sql": COUNT}).json()["cost"]["epsilon"] == "0"
        with server.connect(sslmode="verify-ca", sslrootcert=own[0]) as client:
            assert client.pgconn.ssl_in_use


def test_hang_up_reloads(tmp_path):
    policy = write_small(tmp_path)
    with running(policy) as server, server.connect() as client:
        client.execute(COUNT)
        write_small(tmp_path, people=70)
        os.kill(server.process.pid, signal.SIGHUP)
        until(lambda: any(line["message"] == "reloaded" for line in server.log()))
        (said,) = [line for line in server.log() if line["message"] == "reloaded"]
        assert any("files have changed, but the version" in warning for warning in said["warnings"])
        assert client.execute("SHOW sfumato.budget").fetchone() is not None


def test_reload_without_a_server_exits_5(tmp_path, call):
    policy = write_small(tmp_path)
    said = call("reload", "-p", policy)
    assert said.returncode == 5
    assert "nothing serves this policy" in said.stderr
    assert call("reload", "-p", tmp_path / "nowhere.toml").returncode == 2


def test_the_control_socket_is_the_owners_alone_and_a_dead_one_is_removed(tmp_path, call):
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    policy = write_small(deep)
    with running(policy) as server:
        (socket,) = server.state.glob("control-*.sock")
        assert stat.S_IMODE(socket.stat().st_mode) == 0o600
        assert stat.S_IMODE(server.state.stat().st_mode) == 0o700
        assert call("reload", "-p", policy).returncode == 0
        server.process.kill()
        server.process.communicate()
        assert call("reload", "-p", policy).returncode == 5
        assert not socket.exists()


def test_freezing_stops_sessions_that_are_open(tmp_path, call):
    policy = write_small(tmp_path)
    with running(policy) as server, server.connect() as client:
        client.execute(COUNT)
        assert call("ledger", "freeze", "-p", policy).returncode == 0
        for question in (COUNT, "SELECT SUM(age) FROM visit"):
            with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="frozen"):
                client.execute(question)
        assert call("ledger", "thaw", "-p", policy).returncode == 0
        client.execute(COUNT)


# the command line


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--pg", "nowhere"], 2),
        (["--pg", "none", "--http", "none"], 2),
        (["--workers", "0"], 2),
        (["--workers", "65"], 2),
        (["--cert", "only.pem"], 2),
        (["--pg", "192.0.2.1:5439"], 2),  # an address that this machine does not have (RFC 5737)
    ],
)
def test_what_cannot_be_served_exits_2(tmp_path, words, code, call):
    done = call("serve", "-p", write_small(tmp_path), "--check", *words)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "ERROR" in done.stderr


def test_a_ledger_out_of_reach_exits_5_with_one_process_and_with_several(tmp_path):
    policy = write_small(tmp_path)
    (tmp_path / "clinic.ledger").write_bytes(b"this is no ledger at all" * 100)
    for workers in ("1", "2"):
        done = command("serve", "-p", policy, "--check", "--pg", "127.0.0.1:0", "--http", "none", "--workers", workers)
        assert (done.returncode, done.stdout) == (5, ""), done.stderr
        assert "ERROR 58030" in done.stderr


@pytest.mark.parametrize(
    ("http", "cert", "plain", "encrypted"),
    [
        ("127.0.0.1:1", None, False, False),
        ("localhost:1", None, False, False),
        ("[::1]:1", None, False, False),
        ("0.0.0.0:1", None, False, True),
        ("clinic.example:1", None, False, True),
        ("0.0.0.0:1", None, True, False),
        ("127.0.0.1:1", "a.pem", False, True),
    ],
)
def test_http_is_encrypted_wherever_somebody_else_could_listen(http, cert, plain, encrypted):
    order = ServeOrder("p", "", None, address(http), cert, cert, plain=plain)
    assert order.encrypts_http is encrypted
    assert ServeOrder.from_text(order.to_text()) == order


def test_the_password_of_a_user_is_in_no_file(tmp_path):
    policy = write_small(tmp_path)
    with running(policy) as server:
        with server.connect() as client:
            client.execute(COUNT)
        server.stop()
        files = [place for place in server.state.rglob("*") if place.is_file()]
        assert {"users.json", "policies"} <= {file.relative_to(server.state).parts[0] for file in files}
        for file in files:
            assert PASSWORD.encode() not in file.read_bytes(), file.name
