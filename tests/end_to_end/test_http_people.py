"""Who may come in over HTTP: tokens, roles, sessions, failed log-ins, revocation in mid-flight."""

import json
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest
from tests.end_to_end import pg, web
from tests.end_to_end.web import COUNT, PASSWORD

from sfumato.errors import InputError, QueryError
from sfumato.server import scram, tokens
from sfumato.server.login_throttle import LoginThrottle
from sfumato.server.pgwire.tls import tls
from sfumato.server.tokens import admit, issue, revoke
from sfumato.server.users import Users


@pytest.fixture
def door(written, tmp_path):
    policy = pg.make_clinic(tmp_path / "c", written, *pg.RICH)
    with web.serving(policy) as served:
        yield served


def journal(served):
    return [json.loads(line) for line in (served.state / "audit.jsonl").read_text(encoding="utf-8").splitlines()]


# tokens


def test_a_token_is_kept_hashed_and_opens_until_it_ends(tmp_path, monkeypatch):
    users = Users(tmp_path)
    users.add("ana", "analyst", PASSWORD)
    token, text = issue(users, "ana", timedelta(days=1))
    kept = (tmp_path / "users.json").read_text()
    assert text not in kept
    assert text.rpartition("_")[2] not in kept
    assert stat.S_IMODE((tmp_path / "users.json").stat().st_mode) == 0o600
    assert admit(users, text)[0].name == "ana"
    assert admit(Users(tmp_path), text)[1] == token
    other = text[:-1] + ("A" if text[-1] != "A" else "B")
    for wrong in ("", "ana", text + "x", text[:-1], other, text.replace(token.id, "0" * 12), text.upper(), "\ud800"):
        assert admit(users, wrong) is None
    short, soon = issue(users, "ana", timedelta(microseconds=1))
    time.sleep(0.001)
    assert admit(users, soon) is None
    assert short.id not in {t.id for t in tokens.tokens(users)}


def test_a_token_ends_with_revocation_password_and_user(tmp_path):
    users, elsewhere = Users(tmp_path), Users(tmp_path)
    for name in ("ana", "bob"):
        users.add(name, "analyst", PASSWORD)
    token, text = issue(users, "ana", timedelta(days=1))
    _, kept = issue(users, "bob", timedelta(days=1))
    with pytest.raises(InputError, match="no token"):
        revoke(users, "bob", token.id)
    assert revoke(elsewhere, "ana", token.id) == 1
    assert admit(users, text) is None
    _, text = issue(users, "ana", timedelta(days=1))
    elsewhere.add("ana", "analyst", PASSWORD + "2")
    assert admit(users, text) is None
    _, text = issue(users, "ana", timedelta(days=1))
    elsewhere.remove("ana")
    assert admit(users, text) is None
    users.add("ana", "analyst", PASSWORD)
    assert admit(users, text) is None
    assert admit(users, kept) is not None
    with pytest.raises(InputError, match="no user"):
        issue(users, "zoe", timedelta(days=1))
    with pytest.raises(InputError, match="must last"):
        issue(users, "ana", timedelta(0))


def test_the_role_of_a_token_is_never_more_than_the_users(tmp_path):
    users = Users(tmp_path)
    users.add("boss", "owner", PASSWORD)
    users.add("ana", "analyst", PASSWORD)
    _, text = issue(users, "boss", timedelta(days=1), role="auditor")
    assert admit(users, text)[0].role == "auditor"
    for name, role in (("ana", "owner"), ("ana", "auditor"), ("boss", "analyst"), ("ana", "king")):
        with pytest.raises(InputError, match="role"):
            issue(users, name, timedelta(days=1), role=role)
    with users.changing() as document:
        document["users"]["boss"]["role"] = "analyst"
    assert admit(users, text) is None


def test_tokens_do_not_pile_up(tmp_path, monkeypatch):
    monkeypatch.setattr(tokens, "_MOST", 3)
    users = Users(tmp_path)
    users.add("ana", "analyst", PASSWORD)
    made = [issue(users, "ana", timedelta(days=1))[1] for _ in range(5)]
    assert [admit(users, text) is not None for text in made] == [False, False, True, True, True]


def test_a_file_from_before_tokens_is_read(tmp_path):
    users = Users(tmp_path)
    users.add("ana", "analyst", PASSWORD)
    file = tmp_path / "users.json"
    document = json.loads(file.read_text())
    del document["tokens"]
    file.write_text(json.dumps(document))
    assert tokens.tokens(Users(tmp_path)) == []
    assert admit(Users(tmp_path), issue(Users(tmp_path), "ana", timedelta(days=1))[1]) is not None


def test_the_command_shows_a_token_once(written, tmp_path, call):
    policy = pg.make_clinic(tmp_path / "c", written)

    def run(*words, code=0):
        done = call("user", *words, "-p", policy)
        assert done.returncode == code, done.stderr
        return done.stdout

    run("add", "ana")
    text = run("token", "ana", "--days", "2").strip()
    made = json.loads(run("token", "ana", "--role", "analyst", "--json"))
    users = Users(policy.parent / ".sfumato")
    assert admit(users, text) is not None
    assert admit(users, made["token"]) is not None
    listed = run("list")
    assert made["id"] in listed
    assert text not in listed
    assert {token["id"] for token in json.loads(run("list", "--json"))["tokens"]} > {made["id"]}
    run("token", "ana", "--revoke", made["id"])
    assert admit(users, made["token"]) is None
    run("token", "ana", "--revoke", "all")
    assert admit(users, text) is None
    run("token", "zoe", code=2)
    run("token", "ana", "--days", "0", code=2)
    run("token", "ana", "--role", "owner", code=2)


# roles

PAGES = [
    ("POST", "/api/query", {"ana", "owner"}), ("POST", "/api/explain", {"ana", "owner"}),
    ("GET", "/api/budget", {"ana", "owner", "auditor"}), ("GET", "/api/schema", {"ana", "owner", "auditor"}),
    ("GET", "/api/me", {"ana", "owner", "auditor"}), ("GET", "/api/ledger", {"owner", "auditor"}),
    ("GET", "/api/ledger/verify", {"owner", "auditor"}), ("GET", "/metrics", {"owner"}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "may"), PAGES)
def test_roles(door, method, path, may):
    body = {"json": {"sql": COUNT}} if method == "POST" else {}
    for name in ("ana", "owner", "auditor"):
        with door.client(name) as client:
            response = client.request(method, path, **body)
        assert response.status_code == (200 if name in may else 403), (name, response.text)
        if name not in may:
            assert response.json()["sqlstate"] == "42501"
    with door.client() as stranger:
        for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Basic YTpi"}, {"Cookie": "sfumato=x"}):
            response = stranger.request(method, path, headers=headers, **body)
            assert (response.status_code, response.json()["sqlstate"]) == (401, "28000")
            assert response.headers["www-authenticate"].startswith("Bearer")


def test_an_analyst_sees_her_own_budget_and_the_owner_everybodys(door):
    with door.client("ana") as ana, door.client("bob") as bob, door.client("owner") as owner:
        ana.post("/api/query", json={"sql": COUNT, "epsilon": 0.5})
        assert ana.get("/api/budget").json()["spent"]["epsilon"] == "1/2"
        assert bob.get("/api/budget").json()["spent"]["epsilon"] == "0"
        assert bob.get("/api/budget?analyst=ana").status_code == 403
        assert bob.get("/api/budget?analyst=").status_code == 400
        assert "analysts" not in ana.get("/api/budget").json()
        document = owner.get("/api/budget").json()
        assert document["analyst"] is None
        spent = {one["analyst"]: one["spent"]["epsilon"] for one in document["analysts"]}
        assert spent == {"ana": "1/2", "guide": "0"}
        assert owner.get("/api/budget?analyst=bob").json()["spent"]["epsilon"] == "0"
        owner.post("/api/query", json={"sql": "SELECT COUNT(*) FROM visit", "epsilon": 0.25})
        assert ana.get("/api/budget").json()["spent"]["epsilon"] == "1/2"


def test_keys_of_two_analysts_do_not_meet(door):
    body = {"sql": "SELECT COUNT(*) FROM patient WHERE age = 5", "epsilon": 0.5}
    other = {"sql": "SELECT COUNT(*) FROM patient WHERE age = 6", "epsilon": 0.5}
    key = {"Idempotency-Key": "one"}
    with door.client("ana") as ana, door.client("bob") as bob:
        assert ana.post("/api/query", json=body, headers=key).status_code == 200
        assert bob.post("/api/query", json=other, headers=key).status_code == 200


# revocation in mid-flight


class Held:
    """A gateway's `sql` that waits before or after the debit until it is let go."""

    def __init__(self, gate, monkeypatch, *, paid):
        self.reached, self.go = threading.Event(), threading.Event()
        sql = gate.answer

        def held(*words, **options):
            answer = sql(*words, **options) if paid else None
            self.reached.set()
            assert self.go.wait(60)
            return answer if paid else sql(*words, **options)

        monkeypatch.setattr(gate, "answer", held)


def test_the_answer_of_a_token_that_was_revoked_meanwhile_is_withheld(door, monkeypatch):
    held = Held(door.gate, monkeypatch, paid=True)
    with door.client("ana") as client, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(client.post, "/api/query", json={"sql": COUNT})
        assert held.reached.wait(60)
        revoke(Users(door.state), "ana")
        held.go.set()
        response = asked.result()
    assert (response.status_code, response.json()["sqlstate"]) == (401, "28000")
    assert "rows" not in response.text
    assert journal(door)[-1]["event"] == "withheld"
    assert web.spent(door) > 0  # paid for and stored: the next to ask gets it for nothing


def test_a_question_of_a_token_that_was_revoked_while_it_waited_is_never_asked(written, tmp_path, monkeypatch):
    policy = pg.make_clinic(tmp_path / "c", written)
    with web.serving(policy, limits=web.HttpLimits(workers=1)) as door:
        held = Held(door.gate, monkeypatch, paid=True)
        with door.client("bob") as bob, door.client("ana") as ana, ThreadPoolExecutor(2) as pool:
            first = pool.submit(bob.post, "/api/query", json={"sql": COUNT})
            assert held.reached.wait(60)
            second = pool.submit(ana.post, "/api/query", json={"sql": "SELECT COUNT(*) FROM visit"})
            while door.door._office._queries.threads._work_queue.qsize() == 0:
                time.sleep(0.01)
            revoke(Users(door.state), "ana")
            held.go.set()
            assert first.result().status_code == 200
            assert second.result().status_code == 401
        assert web.spent(door) == 0
        assert [line["user"] for line in journal(door) if line["event"] == "question"] == ["bob"]


# sessions


def test_a_session_by_name_and_password(door):
    with door.client() as browser:
        response = browser.post("/login", json={"name": "ana", "password": PASSWORD})
        assert response.status_code == 200
        cookie = response.headers["set-cookie"]
        assert {part.strip().lower() for part in cookie.split(";")[1:]} >= {"httponly", "samesite=strict", "path=/"}
        assert "secure" not in cookie.lower()
        csrf = response.json()["csrf"]
        assert csrf not in cookie
        assert browser.get("/api/me").json() == response.json() | {"data": "clinic"}
        own = {"X-CSRF-Token": csrf}
        asked = {"json": {"sql": COUNT}}
        for wrong in ({}, {"X-CSRF-Token": "x"}, {"X-CSRF-Token": "é"}, own | {"Origin": "http://evil.example"}):
            refused = browser.post("/api/query", headers=[(k, v.encode()) for k, v in wrong.items()], **asked)
            assert refused.status_code == 403, wrong
        assert web.spent(door) == 0
        assert browser.post("/api/query", headers=own | {"Origin": door.url}, **asked).status_code == 200
        text = browser.cookies["sfumato"]
        assert browser.get("/api/me", headers={"Authorization": f"Bearer {text}"}).status_code == 401
        assert browser.post("/logout").status_code == 403
        assert browser.post("/logout", headers=own).status_code == 204
        browser.cookies.set("sfumato", text, domain="127.0.0.1")
        assert browser.get("/api/me").status_code == 401
    events = [line["event"] for line in journal(door)]
    assert events[0] == "log-in"
    assert events[-1] == "log-out"


def test_a_token_is_no_cookie(door):
    with door.client() as browser:
        browser.cookies.set("sfumato", door.tokens["ana"], domain="127.0.0.1")
        assert browser.get("/api/me").status_code == 401


def test_a_session_ends_with_its_user(door):
    with door.client() as browser:
        browser.post("/login", json={"name": "ana", "password": PASSWORD})
        assert browser.get("/api/me").status_code == 200
        Users(door.state).remove("ana")
        assert browser.get("/api/me").status_code == 401


def test_under_tls_the_cookie_is_secure_and_the_host_is_remembered(written, tmp_path):
    policy = pg.make_clinic(tmp_path / "c", written)
    with web.serving(policy, tls=tls(tmp_path, "127.0.0.1").context) as door, door.client(verify=False) as browser:
        response = browser.post("/login", json={"name": "ana", "password": PASSWORD})
        cookie = response.headers["set-cookie"]
        assert cookie.startswith("__Host-sfumato=")
        assert "secure" in cookie.lower()
        assert "max-age" in response.headers["strict-transport-security"]
        assert browser.get("/api/me").status_code == 200


@pytest.mark.parametrize(
    "body", [{}, {"name": "ana"}, {"name": 1, "password": "x"}, {"name": "ana", "password": "x", "y": 1}]
)
def test_what_is_no_log_in(door, body):
    with door.client() as browser:
        assert browser.post("/login", json=body).status_code == 400


def test_a_wrong_password_and_an_unknown_name_look_the_same(door):
    with door.client() as browser:
        replies = [browser.post("/login", json={"name": name, "password": "wrong"}) for name in ("ana", "zoe")]
    assert [reply.status_code for reply in replies] == [401, 401]
    assert replies[0].text.replace("ana", "zoe") == replies[1].text
    assert replies[0].json()["sqlstate"] == "28P01"


def test_who_fails_too_often_is_told_when_to_come_back_and_so_at_the_other_door(written, tmp_path, monkeypatch):
    policy = pg.make_clinic(tmp_path / "c", written)
    prove = scram.verifier

    def slow(*words):
        time.sleep(0.05)  # who tries thirty at once has all of them tried before the first has failed, if they may
        return prove(*words)

    monkeypatch.setattr(scram, "verifier", slow)
    with pg.serving(policy, encrypted=False) as wire:
        served = web.Web(wire.gate, users=wire.users)
        try:
            with served.client() as browser, ThreadPoolExecutor(30) as pool:
                replies = pool.map(
                    lambda _: browser.post("/login", json={"name": "ana", "password": "guess"}).status_code, range(30)
                )
                assert sorted(replies) == [401] * 10 + [429] * 20
                response = browser.post("/login", json={"name": "ana", "password": PASSWORD})
                assert response.status_code == 429
                assert 0 < int(response.headers["retry-after"]) <= 60
                assert response.headers["retry-after"] in response.json()["hint"]
                assert browser.post("/login", json={"name": "bob", "password": PASSWORD}).status_code == 200
            with pytest.raises(psycopg.OperationalError, match="too many failed"):
                psycopg.connect(wire.dsn())
        finally:
            served.stop()


def test_failures_are_forgotten_after_a_minute(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("sfumato.server.login_throttle.time.monotonic", lambda: now[0])
    failures = LoginThrottle()
    for _ in range(3):
        failures.add("ana", "2001:db8::1")
        now[0] += 10
    assert failures.wait("ana", "2001:db8::1", 3) == 30
    assert failures.wait("ana", "2001:db8::ffff", 3) == 30  # the same neighbourhood
    assert failures.wait("bob", "2001:db8::1", 3) == 0
    assert failures.wait("ana", "2001:db9::1", 3) == 0
    assert failures.wait("ana", "::ffff:10.0.0.1", 3) == 0
    with pytest.raises(QueryError, match="too many"):
        failures.check("ana", "2001:db8::1", 3)
    now[0] += 30
    assert failures.wait("ana", "2001:db8::1", 3) == 0
    now[0] += 60
    failures.wait("x", "y")
    assert not failures._at
