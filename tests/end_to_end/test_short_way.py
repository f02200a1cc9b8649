"""The short way of the collector: what goes there gets the reply of the long way, and what is odd does not go there."""

import base64
import json
import os
import re
import socket
import threading
import time
from datetime import date

import numpy as np
import pytest
from tests.end_to_end.web import serving

from sfumato.cli.clinic import write_clinic
from sfumato.local.collecting import Collection, install
from sfumato.local.kary import KAryResponse
from sfumato.local.tape import SystemTape
from sfumato.local.task import planned_task
from sfumato.server.http import report_fast_path

LINE = "POST /api/collect/{name} HTTP/1.1"
PLAIN = ("Host: localhost", "Content-Type: application/json")
BROWSER = (
    *("Connection: keep-alive", "User-Agent: Mozilla/5.0 (X11; Linux x86_64)", "Accept: */*", "Sec-Fetch-Mode: cors"),
    *("Origin: http://localhost", "Referer: http://localhost/survey", "Accept-Encoding: gzip, deflate"),
)


def task(name, **words):
    return planned_task(name, KAryResponse.planned(3, 2), minimum_batch=50, **words)


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    home = tmp_path_factory.mktemp("short")
    write_clinic(home, fresh=True)
    with serving(home / "sfumato.toml") as served:
        install(served.state, task("one").to_toml())
        install(served.state, task("two").to_toml())
        install(served.state, task("old", expires=date(2020, 1, 1)).to_toml())
        yield served


@pytest.fixture
def taken(monkeypatch):
    """What the short way took."""
    found, read = [], report_fast_path.ReportFastPath.read

    def watched(self, *args):
        result = read(self, *args)
        found.append(result is not None)
        return result

    monkeypatch.setattr(report_fast_path.ReportFastPath, "read", watched)
    return found


def in_base64(raw):
    return base64.b64encode(raw).decode()


def document(count=1, identity=None):
    reports = task("one").encoder.encode(np.zeros(count, np.int64), SystemTape())
    return {
        "reports": [{"id": in_base64(identity or os.urandom(16)), "report": in_base64(r.tobytes())} for r in reports]
    }


def request(name="one", body=None, headers=PLAIN, line=LINE, length=None):
    raw = body if isinstance(body, bytes) else json.dumps(body or document()).encode()
    stated = [] if length == "" else [f"Content-Length: {len(raw) if length is None else length}"]
    return "\r\n".join([line.format(name=name), *headers, *stated, "", ""]).encode("latin-1") + raw


def reply_of(file):
    """Status and headers, and the body; the date is left out."""
    head = []
    while (line := file.readline().strip()) != b"":
        head.append(line)
    length = next((int(v.split(b":")[1]) for v in head if v.lower().startswith(b"content-length")), 0)
    return [line for line in head if not line.lower().startswith(b"date:")], file.read(length)


def sent(web, *parts, replies=1):
    with socket.create_connection((web.host, web.port), timeout=30) as line:
        for i, part in enumerate(parts):
            if i:
                time.sleep(0.2)
            line.sendall(part)
        with line.makefile("rb") as file:
            return [reply_of(file) for _ in range(replies)]


SAME = {
    "plain": lambda i: request(body=document(identity=i)),
    "a browser": lambda i: request(body=document(identity=i), headers=(*PLAIN, *BROWSER)),
    "many": lambda i: request(body={"reports": document(1, i)["reports"] * 3}),
    "another task": lambda i: request("two", body=document(identity=i)),
}


@pytest.mark.parametrize("name", SAME)
def test_both_ways_give_the_same_reply(web, taken, name):
    first, second = (SAME[name](os.urandom(16)) for _ in range(2))
    (short,) = sent(web, first)
    assert taken == [True]
    (long,) = sent(web, second[:40], second[40:])
    assert taken[1:] == [False, False] or taken[1:] == [False]
    assert short == long
    assert short[0][0] == b"HTTP/1.1 200 OK"
    assert json.loads(short[1]) == {"accepted": 1, "repeated": 2 if name == "many" else 0}
    (again,) = sent(web, first)
    assert json.loads(again[1]) == {"accepted": 0, "repeated": 3 if name == "many" else 1}


def longer(pad):
    return json.dumps({**document(), pad: " " * 2**20}).encode()


ODD = {
    "no such task": request("none"),
    "an expired task": request("old"),
    "a name in capitals": request("One"),
    "a path that is quoted": request("%6Fne"),
    "a parameter": request("one?x=1"),
    "another method": request(line="PUT /api/collect/{name} HTTP/1.1"),
    "an older version": request(line="POST /api/collect/{name} HTTP/1.0"),
    "a whole address": request(line="POST http://localhost/api/collect/{name} HTTP/1.1"),
    "no host": request(headers=PLAIN[1:]),
    "two hosts": request(headers=(*PLAIN, "Host: localhost")),
    "a foreign host": request(headers=("Host: example.org", PLAIN[1])),
    "two lengths": request(headers=(*PLAIN, "Content-Length: 5")),
    "a longer length": request(length=100_000)[:-1],
    "a shorter length": request(length=5),
    "a length with a sign": request(length="+5"),
    "a length with a zero": request(body=b"{}" * 6, length="012"),
    "no length": request(length=""),
    "chunks": request(headers=(*PLAIN, "Transfer-Encoding: chunked"), length="", body=b"2\r\n{}\r\n0\r\n\r\n"),
    "chunks and a length": request(headers=(*PLAIN, "Transfer-Encoding: chunked"), body=b"2\r\n{}\r\n0\r\n\r\n"),
    "an expectation": request(headers=(*PLAIN, "Expect: 100-continue")),
    "an upgrade": request(headers=(*PLAIN, "Connection: upgrade", "Upgrade: h2c")),
    "the last request": request(headers=(*PLAIN, "Connection: close")),
    "a folded header": request(headers=(*PLAIN, "User-Agent: a", " b: c")),
    "a space before the colon": request(headers=("Host : localhost", PLAIN[1])),
    "no space after the colon": request(headers=("Host:localhost", PLAIN[1])),
    "a control character": request(headers=(*PLAIN, "User-Agent: a\x01b")),
    "a zero byte": request(headers=(*PLAIN, "User-Agent: a\0b")),
    "line ends of another kind": request().replace(b"\r\n", b"\n", 1),
    "an unknown header": request(headers=(*PLAIN, "X-Anything: 1")),
    "another type": request(headers=(PLAIN[0], "Content-Type: text/plain")),
    "another type wanted": request(headers=(*PLAIN, "Accept: text/csv")),
    "no JSON": request(body=b"{"),
    "no object": request(body=b"[]"),
    "a name twice": request(body=b'{"reports": [], "reports": []}'),
    "an unknown name": request(body={"x": 1}),
    "no report": request(body={"reports": []}),
    "an id too short": request(body=document(identity=b"short")),
    "no base64": request(body={"reports": [{"id": "?", "report": "?"}]}),
    "a report of another task": request(body={"reports": [{"id": in_base64(bytes(16)), "report": in_base64(b"\xff")}]}),
    "a body too long": request(body=longer("pad")),
}


@pytest.mark.parametrize("name", ODD)
def test_requests_that_leave_anything_open_go_the_long_way(web, taken, name):
    place = web.state / "collect" / "one"
    before = Collection(place).waiting + Collection(place).stored
    if name in ("a longer length", "an expectation"):  # the long way waits for what is missing, or says to go on
        with socket.create_connection((web.host, web.port), timeout=30) as line:
            line.sendall(ODD[name])
            line.settimeout(0.5)
            try:
                said = line.recv(40)
            except TimeoutError:
                said = b""
        assert said.startswith(b"HTTP/1.1") == (name == "an expectation")
    else:
        (one,) = sent(web, ODD[name])
        assert one[0][0].startswith(b"HTTP/1.1 ")
        counted = Collection(place).waiting + Collection(place).stored > before
        assert (b" 200 " in one[0][0]) == counted
    assert not any(taken)


def test_requests_in_a_row_are_answered_in_their_order(web, taken):
    first, second = os.urandom(16), os.urandom(16)
    three = [request(body=document(identity=i)) for i in (first, second, first)]
    replies = sent(web, b"".join(three), replies=3)
    assert [json.loads(body)["accepted"] for _, body in replies] == [1, 1, 0]
    assert not any(taken)
    split = [request(body=document(identity=os.urandom(16))) for _ in range(3)]
    replies = sent(web, *split, replies=3)
    assert [json.loads(body)["accepted"] for _, body in replies] == [1, 1, 1]
    assert taken[-3:] == [True] * 3


def test_what_comes_while_a_report_is_stored_waits(web, taken, monkeypatch):
    commit = Collection.commit

    def slowly(self, records):
        time.sleep(0.5)
        return commit(self, records)

    monkeypatch.setattr(Collection, "commit", slowly)
    parts = [request(body=document(identity=os.urandom(16))) for _ in range(2)]
    replies = sent(web, *parts, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", replies=3)
    assert [head[0] for head, _ in replies] == [b"HTTP/1.1 200 OK"] * 3
    assert [json.loads(body).get("accepted") for _, body in replies] == [1, 1, None]
    assert taken[:2] == [True, False] or taken[:2] == [True, True]


def test_a_device_that_does_not_read_goes_the_long_way(web, taken):
    """There its next reply waits until it reads; here replies would pile up in the server."""
    connections = web.door._server.server_state.connections
    with socket.create_connection((web.host, web.port), timeout=30) as line, line.makefile("rb") as file:
        line.sendall(request())
        assert reply_of(file)[0][0] == b"HTTP/1.1 200 OK"
        (mine,) = [c for c in connections if c.client == line.getsockname()[:2]]
        web.run(mine.flow.pause_writing)
        line.sendall(request())
        time.sleep(0.3)
        assert taken == [True]
        web.run(mine.flow.resume_writing)
        assert reply_of(file)[0][0] == b"HTTP/1.1 200 OK"


def test_a_report_on_its_way_is_answered_before_the_server_stops(tmp_path, monkeypatch):
    write_clinic(tmp_path, fresh=True)
    commit, begun, got = Collection.commit, threading.Event(), []

    def slowly(self, records):
        begun.set()
        time.sleep(0.5)
        return commit(self, records)

    monkeypatch.setattr(Collection, "commit", slowly)
    with serving(tmp_path / "sfumato.toml") as served:
        install(served.state, task("one").to_toml())
        device = threading.Thread(target=lambda: got.extend(sent(served, request())))
        device.start()
        assert begun.wait(30)
    device.join()
    assert json.loads(got[0][1]) == {"accepted": 1, "repeated": 0}


def test_a_report_that_could_not_be_stored_is_told_in_the_same_words(web, taken, monkeypatch):
    def full(self, records):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Collection, "commit", full)
    one = request(body=document())
    (short,), (long,) = sent(web, one), sent(web, one[:40], one[40:])
    assert short == long
    assert short[0][0].startswith(b"HTTP/1.1 503")
    assert taken[0]

    def broken(self, records):
        raise RuntimeError("a secret of the server")

    monkeypatch.setattr(Collection, "commit", broken)
    (short,), (long,) = sent(web, one), sent(web, one[:40], one[40:])
    assert short == long
    assert short[0][0].startswith(b"HTTP/1.1 500")
    assert b"secret" not in short[1]


def test_requests_are_counted_on_both_ways(web):
    def count():
        with web.client("owner") as owner:
            found = re.search(r'requests\S*collect/\{task\}"\S* (\d+)', owner.get("/metrics").text)
        return int(found[1]) if found else 0

    before = count()
    one, two = request(), request()
    sent(web, one)
    sent(web, two[:40], two[40:])
    assert count() == before + 2
