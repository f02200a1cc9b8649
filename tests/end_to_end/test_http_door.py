"""The HTTP door as a server: limits, slow clients, names, both doors on one budget, reload, the end, the logs."""

import asyncio
import errno
import json
import logging
import os
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg
import pytest
from tests.end_to_end import pg, web
from tests.end_to_end.web import COUNT

import sfumato
from sfumato.server import users
from sfumato.server.http.request_checks import RequestGuard
from sfumato.server.operator_log import keep_log

QUESTION = json.dumps({"sql": COUNT}).encode()


@pytest.fixture
def policy(written, tmp_path):
    return pg.make_clinic(tmp_path / "c", written, *pg.RICH)


def raw(served, data, *, wait=10.0):
    """What comes back for these bytes, until the server closes or is quiet."""
    with socket.create_connection((served.host, served.port), timeout=wait) as client:
        client.sendall(data)
        heard = b""
        try:
            while part := client.recv(65536):
                heard += part
        except TimeoutError:
            pass
        return heard


def request(served, name="ana", length=None, body=QUESTION, more=""):
    head = (
        f"POST /api/query HTTP/1.1\r\nHost: {served.host}\r\nAuthorization: Bearer {served.tokens[name]}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body) if length is None else length}\r\n{more}\r\n"
    )
    return head.encode() + body


def test_every_response_is_dressed(policy):
    with web.serving(policy) as served, served.client("ana") as client:
        for response in (client.get("/api/me"), client.get("/nothing"), client.get("/healthz")):
            policy_words = response.headers["content-security-policy"]
            assert "default-src 'self'" in policy_words
            assert "frame-ancestors 'none'" in policy_words
            assert "unsafe" not in policy_words
            assert response.headers["x-content-type-options"] == "nosniff"
            assert response.headers["referrer-policy"] == "no-referrer"
            assert response.headers["cache-control"] == "no-store"
            assert "server" not in response.headers
        crossed = client.get("/api/me", headers={"Origin": "http://evil.example"})
        asked = client.options("/api/query", headers={"Origin": "http://evil.example"})
        assert asked.status_code == 405
        for response in (crossed, asked):
            assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1:9", 200), ("localhost", 200), ("LOCALHOST:1", 200), ("[::1]:5", 200), ("evil.example", 421),
     ("127.0.0.1.evil.example", 421), ("localhost.evil.example:80", 421), ("", 421), ("dp.example", 200),
     ("[::1]evil", 421), ("[::1].evil.example", 421), ("[::1]:5evil", 421),
     ("[dp.example]", 421), ("localhost:1:2", 421), ("localhost:", 200)],
)  # fmt: skip
def test_a_name_that_was_made_to_lead_here_is_not_ours(policy, host, status):
    with web.serving(policy, hosts=("dp.example",)) as served:
        answer = raw(served, f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        assert answer.startswith(f"HTTP/1.1 {status} ".encode()), answer


@pytest.mark.parametrize(
    ("number", "sqlstate", "words"),
    [(errno.ENOSPC, "53100", "No space left on device."), (errno.EIO, "58030", "Input/output error.")],
)
def test_a_log_in_on_a_full_disk_names_the_disk(policy, monkeypatch, number, sqlstate, words):
    with web.serving(policy) as served, served.client(None) as client:

        def full(file, data):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(users, "replace_file", full)
        answer = client.post("/login", json={"name": "ana", "password": pg.PASSWORD})
        assert answer.status_code == 503
        assert answer.json()["sqlstate"] == sqlstate
        assert answer.json()["detail"] == words
        assert "set-cookie" not in answer.headers


def test_other_machines_need_tls():
    reached = []

    async def app(scope, receive, send):
        reached.append(scope["client"][0])

    async def ask(allow, peer, scheme):
        sent = []

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "scheme": scheme, "client": (peer, 1), "headers": [(b"host", b"10.0.0.1")]}
        await RequestGuard(app, frozenset(), allow)(scope, None, send)
        return sent[0]["status"] if sent else 200

    assert asyncio.run(ask(False, "10.0.0.9", "http")) == 403
    assert asyncio.run(ask(False, "10.0.0.9", "https")) == 200
    assert asyncio.run(ask(True, "10.0.0.9", "http")) == 200
    assert asyncio.run(ask(False, "127.0.0.1", "http")) == 200
    assert len(reached) == 3


def test_words_of_a_proxy_are_not_believed(policy):
    with web.serving(policy) as served, served.client() as client:
        claimed = {"X-Forwarded-For": "10.9.9.9", "Forwarded": "for=10.9.9.9"}
        client.post("/login", json={"name": "ana", "password": "wrong"}, headers=claimed)
        last = json.loads((served.state / "audit.jsonl").read_text().splitlines()[-1])
        assert last["peer"] == "127.0.0.1"


def test_a_body_that_is_too_long_or_too_slow(policy):
    limits = web.HttpLimits(body=1000, body_seconds=0.3)
    with web.serving(policy, limits=limits) as served, served.client("ana") as client:
        assert raw(served, request(served, length=10**9)).startswith(b"HTTP/1.1 413 ")
        chunked = request(served, body=b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
        assert raw(served, chunked + b"7d0\r\n" + b" " * 2000 + b"\r\n").startswith(b"HTTP/1.1 413 ")
        slow = raw(served, request(served, length=500))
        assert slow.startswith(b"HTTP/1.1 408 ")
        assert client.post("/api/query", json={"sql": COUNT}).status_code == 200
        assert web.spent(served) > 0


def test_a_client_that_says_nothing_or_never_ends_its_head_is_sent_away(policy):
    with web.serving(policy, limits=web.HttpLimits(idle_seconds=0.4)) as served:
        for words in (b"", b"GET /healthz HTTP/1.1\r\nX-Slow: "):
            start = time.monotonic()
            assert raw(served, words, wait=20) == b""
            assert time.monotonic() - start < 15


def test_what_is_no_http_is_refused_and_life_goes_on(policy):
    with web.serving(policy) as served, served.client("ana") as client:
        for words in (b"\x16\x03\x01\x00", b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", request(served, length="x")):
            answer = raw(served, words + b"\r\n\r\n")
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer
        upgrade = (
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n"
        )
        asked = f"GET /api/me HTTP/1.1\r\nHost: localhost\r\n{upgrade}\r\n".encode()
        assert b" 401 " in raw(served, asked, wait=2).partition(b"\r\n")[0]
        assert client.get("/healthz").status_code == 200


def test_too_many_requests_at_once_of_one_person(policy, monkeypatch):
    with web.serving(policy, limits=web.HttpLimits(per_user=2)) as served:
        go, sql = threading.Event(), served.gate.answer

        def held(*words, **options):
            assert go.wait(60)
            return sql(*words, **options)

        monkeypatch.setattr(served.gate, "answer", held)
        with served.client("ana") as ana, served.client("bob") as bob, ThreadPoolExecutor(2) as pool:
            running = [pool.submit(ana.post, "/api/query", json={"sql": COUNT}) for _ in range(2)]
            while served.door._office._seats["ana"] < 2:
                time.sleep(0.01)
            refused = ana.get("/api/me")
            assert (refused.status_code, refused.json()["sqlstate"]) == (429, "53300")
            assert refused.headers["retry-after"] == "1"
            assert bob.get("/api/me").status_code == 200
            assert ana.get("/healthz").status_code == 200
            go.set()
            assert [one.result().status_code for one in running] == [200, 200]
            assert ana.get("/api/me").status_code == 200


def test_a_thousand_questions_over_both_doors_against_a_budget_for_a_hundred(written, tmp_path):
    changes = [(pg.SHARE, "epsilon = 1 # a share"), ('composition = "best" ', 'composition = "pure" ')]
    policy = pg.make_clinic(tmp_path / "c", written, *changes)
    questions = [
        f"SELECT COUNT(*) FROM patient WHERE age <> {i % 120} AND zipcode <> {75000 + i // 2}" for i in range(1000)
    ]
    assert len(set(questions)) == 1000
    answered, refused = [], []

    def by_wire(part):
        with psycopg.connect(wire.dsn(), autocommit=True) as connection:
            connection.execute("SET sfumato.epsilon = 0.01")
            for question in part:
                try:
                    answered.append(("wire", connection.execute(question).fetchone()[0]))
                except psycopg.Error as error:
                    refused.append(error.sqlstate)

    def by_http(part):
        with served.client("ana") as client:
            for question in part:
                response = client.post("/api/query", json={"sql": question, "epsilon": 0.01})
                if response.status_code == 200:
                    answered.append(("http", response.json()["rows"][0][0]))
                else:
                    assert response.status_code == 402
                    refused.append(response.json()["sqlstate"])

    with pg.serving(policy, encrypted=False) as wire:
        served = web.Web(wire.gate, users=wire.users)
        try:
            with ThreadPoolExecutor(20) as pool:
                parts = [questions[i::20] for i in range(20)]
                done = [pool.submit(by_wire if i % 2 else by_http, part) for i, part in enumerate(parts)]
                for one in done:
                    one.result()
            assert web.spent(served) == 1
            report = served.gate.ledger.verify()
        finally:
            served.stop()
    assert len(answered) == report.debits == 100
    assert {door for door, _ in answered} == {"wire", "http"}
    assert refused == ["53400"] * 900


def test_a_new_gateway_takes_over_and_the_old_one_ends_what_it_began(written, tmp_path, monkeypatch):
    old_policy = pg.make_clinic(tmp_path / "old", written)
    new_policy = pg.make_clinic(tmp_path / "new", written, ('version = "2024-11"', 'version = "2024-12"'))
    with web.serving(old_policy) as served, sfumato.open(new_policy) as new:
        reached, go, sql = threading.Event(), threading.Event(), served.gate.answer

        def held(*words, **options):
            reached.set()
            assert go.wait(60)
            return sql(*words, **options)

        monkeypatch.setattr(served.gate, "answer", held)
        with served.client("ana") as client, ThreadPoolExecutor(1) as pool:
            running = pool.submit(client.post, "/api/query", json={"sql": COUNT})
            assert reached.wait(60)
            left = served.run(served.door.swap, new)
            assert client.get("/api/schema").json()["version"] == "2024-12"
            assert not left.done()
            go.set()
            assert running.result().status_code == 200
            deadline = time.monotonic() + 60
            while not left.done() and time.monotonic() < deadline:
                time.sleep(0.01)
            assert left.done()
        assert served.gate.budget("ana").spent.epsilon > 0
        assert new.budget("ana").spent.epsilon == 0
        assert served.run(served.door.swap, new).done()


def test_stopping_drains(policy, monkeypatch):
    with web.serving(policy) as served:
        reached, go, sql = threading.Event(), threading.Event(), served.gate.answer

        def held(*words, **options):
            reached.set()
            assert go.wait(60)
            return sql(*words, **options)

        monkeypatch.setattr(served.gate, "answer", held)
        with served.client("ana") as client, ThreadPoolExecutor(2) as pool:
            running = pool.submit(client.post, "/api/query", json={"sql": COUNT})
            assert reached.wait(60)
            stopping = pool.submit(served.stop)
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                try:
                    socket.create_connection((served.host, served.port), timeout=5).close()
                except OSError:
                    break
                time.sleep(0.02)
            else:
                pytest.fail("it still listens")
            go.set()
            assert running.result().status_code == 200
            stopping.result()


def test_a_door_that_never_opened_can_be_closed(policy):
    async def close(gate):
        await web.HttpServer(gate, None, None).stop()

    with sfumato.open(policy) as gate:
        asyncio.run(close(gate))


def test_two_doors_do_not_share_a_port_and_say_so(policy):
    with web.serving(policy) as served:

        async def again():
            door = web.HttpServer(served.gate, served.users, served.journal)
            with pytest.raises(OSError, match="in use"):
                await door.start(served.host, served.port)
            await door.stop()

        asyncio.run(again())


def test_the_console_has_its_place(policy):
    async def pages(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"cache-control", b"max-age=60")]})
        await send({"type": "http.response.body", "body": scope["path"].encode()})

    with web.serving(policy, console=pages) as served, served.client("ana") as client:
        response = client.get("/static/app.js")
        assert (response.text, response.headers["cache-control"]) == ("/static/app.js", "max-age=60")
        assert "default-src 'self'" in response.headers["content-security-policy"]
        assert client.get("/api/me").json()["name"] == "ana"


def test_no_log_holds_a_true_value(written, tmp_path, monkeypatch):
    """A count that nobody else has: planted in the data, asked for, and made to appear in the engine's own words."""
    policy = pg.make_clinic(tmp_path / "c", written, *pg.RICH)
    keep_log(sfumato.open(policy).policy)
    try:
        with web.serving(policy) as served, served.client("ana") as client, served.client("owner") as owner:
            engine, run, true = served.gate._engine, served.gate._engine.run, []

            def seen(*words):
                rows = run(*words)
                true.append(str(rows.sums[0][1]._sealed[0]))
                return rows

            monkeypatch.setattr(engine, "run", seen)
            sql = "SELECT SUM(salary) FROM patient WHERE age BETWEEN 20 AND 90"
            replies = [client.post("/api/query", json={"sql": sql})]
            replies.append(client.post("/api/query", json={"sql": sql}, headers={"Accept": "text/csv"}))

            def failing(*words):
                raise RuntimeError(f"planted {true[0]}")

            monkeypatch.setattr(engine, "run", failing)
            replies.append(client.post("/api/query", json={"sql": "SELECT SUM(salary) FROM patient WHERE age > 3"}))
            replies += [
                owner.get("/metrics"),
                owner.get("/api/ledger"),
                owner.get("/healthz"),
                owner.get("/api/budget"),
            ]
    finally:
        for name in ("sfumato.operator", "uvicorn"):
            log = logging.getLogger(name)
            for handler in list(log.handlers):
                log.removeHandler(handler)
                handler.close()
            log.propagate = True
    assert replies[2].status_code == 503
    assert len(true[0]) >= 6
    for response in replies:
        assert true[0] not in response.text
        assert true[0] not in str(response.headers)
    journal = (served.state / "audit.jsonl").read_text()
    assert "question" in journal
    assert true[0] not in journal
    assert f"planted {true[0]}" in (served.state / "operator.log").read_text()  # the one place where it may be
    assert all(true[0].encode() not in path.read_bytes() for path in policy.parent.glob("clinic.ledger*"))


def test_many_requests_on_one_connection(policy):
    """Keep-alive and pipelining: every request has its own answer, in order."""
    with web.serving(policy) as served:
        me = f"GET /api/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {served.tokens['ana']}\r\n"
        stranger = "GET /api/me HTTP/1.1\r\nHost: localhost\r\n"
        heard = raw(served, f"{me}\r\n{stranger}\r\n{me}Connection: close\r\n\r\n".encode())
        assert re.findall(rb"HTTP/1.1 (\d+) ", heard) == [b"200", b"401", b"200"]


def test_an_asynchronous_client(policy):
    async def ask(served):
        headers = {"Authorization": f"Bearer {served.tokens['ana']}"}
        limits = httpx.Limits(max_connections=50)
        async with httpx.AsyncClient(base_url=served.url, headers=headers, timeout=60, limits=limits) as client:
            asked = [client.post("/api/query", json={"sql": COUNT, "epsilon": 0.1}) for _ in range(50)]
            return await asyncio.gather(*asked)

    with web.serving(policy) as served:
        replies = asyncio.run(ask(served))
        assert {reply.status_code for reply in replies} == {200}
        assert len({reply.json()["receipt"] for reply in replies}) == 1
        assert len({str(reply.json()["rows"]) for reply in replies}) == 1
