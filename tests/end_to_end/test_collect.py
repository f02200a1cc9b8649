"""The collector behind the HTTP interface: what is stored, what is refused, and what an estimate shows."""

import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import date
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.end_to_end.web import serving

from sfumato.cli.clinic import write_clinic
from sfumato.cli.survey import ANSWERS, write_survey
from sfumato.local import collecting
from sfumato.local.collecting import Collection, install
from sfumato.local.decoding import ReportTally
from sfumato.local.kary import KAryResponse
from sfumato.local.rappor import Rappor
from sfumato.local.sketch import CountMeanSketch
from sfumato.local.tape import SystemTape
from sfumato.local.task import planned_task
from sfumato.server.http import collect, report_fast_path, request_bodies
from sfumato.server.http.routes import ROUTES

VALUES = ("red", "green", "blue")


def colours(name="colours", expires=None):
    words = {"values": VALUES, "minimum_batch": 50, "question": "Which colour?", "expires": expires}
    return planned_task(name, KAryResponse.planned(3, 2), **words)


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    home = tmp_path_factory.mktemp("collect")
    write_clinic(home, fresh=True)
    with serving(home / "sfumato.toml") as served:
        install(served.state, colours().to_toml())
        yield served


def in_base64(raw):
    return base64.b64encode(raw).decode()


def body(task, indices):
    reports = task.encoder.encode(np.array(indices), SystemTape())
    return {"reports": [{"id": in_base64(os.urandom(16)), "report": in_base64(row.tobytes())} for row in reports]}


def test_reports_are_stored_once_and_estimated(web):
    task = colours()
    with web.client() as device, web.client("ana") as ana:
        sent = body(task, [0] * 150 + [1] * 50)
        assert device.post("/api/collect/colours", json=sent).json() == {"accepted": 200, "repeated": 0}
        assert device.post("/api/collect/colours", json=sent).json() == {"accepted": 0, "repeated": 200}
        shown = ana.get("/api/collect/colours/estimate", params={"population": "sampled"}).json()
        assert (shown["reports"], shown["waiting"], shown["question"]) == (200, 0, "Which colour?")
        assert [row["value"] for row in shown["estimates"]] == list(VALUES)
        assert shown["estimates"][0]["low"] - 0.1 < 0.75 < shown["estimates"][0]["high"] + 0.1
        assert ana.get("/api/collect").json()["tasks"][0]["reports"] == 200
        assert device.get("/api/collect/colours/task").text == task.to_toml()
        assert device.get("/api/collect/colours/estimate").status_code == 401


def test_a_collector_without_room_says_so(web, monkeypatch):
    """507 in both ways to it, so that a device keeps its report and sends it again."""
    install(web.state, colours("full").to_toml())
    sent = body(colours("full"), [0] * 60)
    with web.client() as device:
        assert device.post("/api/collect/full", json=sent).status_code == 200
        monkeypatch.setattr(collecting, "MOST", 60)
        for headers in ({}, {"X-More": "1"}):
            said = device.post("/api/collect/full", json=body(colours("full"), [1]), headers=headers)
            assert (said.status_code, said.json()["sqlstate"]) == (507, "53100")
            assert "as many reports as it may have" in said.json()["message"]
        assert device.post("/api/collect/full", json=sent).json() == {"accepted": 0, "repeated": 60}


@pytest.mark.parametrize("encoder", [Rappor.planned(6), CountMeanSketch.planned(4, salt=0)], ids=["rappor", "sketch"])
def test_texts_are_estimated_once_there_is_a_list_of_candidates(web, encoder):
    """A file in the task's directory; a list that changes is read anew, and reports are counted once."""
    name = f"texts-{encoder.name}"
    task = planned_task(name, encoder, minimum_batch=50)
    install(web.state, task.to_toml())
    reports = encoder.encode(["anna"] * 300 + ["bert"] * 100, SystemTape())
    sent = [{"id": in_base64(os.urandom(16)), "report": in_base64(row.tobytes())} for row in reports]
    with web.client() as device, web.client("ana") as ana:
        assert device.post(f"/api/collect/{name}", json={"reports": sent}).json()["accepted"] == 400
        shown = ana.get(f"/api/collect/{name}/estimate").json()
        assert shown["estimates"] == []
        assert shown["candidates"] == f"collect/{name}/candidates.txt"
        file = web.state / shown["candidates"]
        for listed in (["anna", "bert"], ["bert", "carl", "anna"]):
            file.write_text("\n".join([*listed, ""]))
            os.utime(file, (len(listed), len(listed)))
            rows = {row["value"]: row for row in ana.get(f"/api/collect/{name}/estimate").json()["estimates"]}
            assert set(rows) == set(listed)
            assert rows["anna"]["low"] - 0.1 < 0.75 < rows["anna"]["high"] + 0.1
        file.unlink()
        assert ana.get(f"/api/collect/{name}/estimate").json()["estimates"] == []


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        (lambda d: {**d, "more": 1}, 400, "more"),
        (lambda d: {"reports": []}, 400, "list of 1 to"),
        (lambda d: {"reports": [{**d["reports"][0], "who": "me"}]}, 400, "nothing else"),
        (lambda d: {"reports": [{**d["reports"][0], "id": "AAAA"}]}, 400, "16 bytes"),
        (lambda d: {"reports": [{**d["reports"][0], "report": "!"}]}, 400, "1 bytes"),
        (lambda d: {"reports": [{**d["reports"][0], "report": in_base64(b"\x03")}]}, 400, "not one of this task"),
        (lambda d: {"reports": [*d["reports"], None]}, 400, "an id and a report"),
    ],
)
def test_what_is_no_report_is_refused_and_nothing_of_it_stored(web, change, status, words):
    held = Collection(web.state / "collect" / "colours")
    before = held.stored + held.waiting
    with web.client() as device:
        said = device.post("/api/collect/colours", json=change(body(colours(), [0])))
    assert said.status_code == status
    assert words in said.json()["message"]
    assert held.stored + held.waiting == before


@pytest.mark.parametrize("count", [request_bodies.SHORT_BODY // 40, collect.MOST])
def test_long_bodies_are_read_beside_the_loop(web, monkeypatch, count):
    """Sixty strangers who sent 5,000 reports at a time made everybody else wait for nine seconds."""
    task, read = colours("long"), []
    install(web.state, task.to_toml())

    def watched(document, encoder, _real=collect.records_of):
        read.append(threading.current_thread().name.rsplit("_", 1)[0])
        return _real(document, encoder)

    for module in (collect, report_fast_path):
        monkeypatch.setattr(module, "records_of", watched)
    with web.client() as device:
        sent = device.post("/api/collect/long", json=body(task, [0] * count))
    assert sent.json() == {"accepted": count, "repeated": 0}
    assert read == ["sfumato-reports"]


@pytest.mark.parametrize("extra", [{}, {"X-Long-Way": "1"}])
def test_pages_of_other_sites_can_report_and_read_the_task_and_nothing_else(web, extra):
    """Without credentials; errors can be read as well. No other page has such a header, or answers a preflight."""
    asked = {"Origin": "https://survey.example", "Access-Control-Request-Headers": "content-type"}
    origin = "access-control-allow-origin"
    with web.client() as client:
        before = client.options("/api/collect/colours", headers={**asked, "Access-Control-Request-Method": "POST"})
        assert before.status_code == 204
        assert before.headers["access-control-allow-methods"] == "POST"
        assert before.headers["access-control-allow-headers"] == "Content-Type"
        headers = {"Origin": "https://survey.example", **extra}
        for document, status in ((body(colours(), [0, 1]), 200), ({"reports": []}, 400)):
            said = client.post("/api/collect/colours", json=document, headers=headers)
            assert said.status_code == status
            assert said.headers[origin] == "*"
        for reply in (before, said, client.get("/api/collect/colours/task", headers=headers)):
            assert reply.headers[origin] == "*"
            assert "access-control-allow-credentials" not in reply.headers
        for route in ROUTES:
            path = route.path.replace("{task}", "colours")
            if path in ("/api/collect/colours", "/api/collect/colours/task"):
                continue
            assert origin not in client.request(route.method, path, headers=headers).headers, path
            assert client.options(path, headers=asked).status_code in (404, 405), path


def test_tasks_that_do_not_exist_or_have_ended_are_refused(web):
    install(web.state, colours(name="old", expires=date(2020, 1, 1)).to_toml())
    with web.client() as device:
        for name, words in (("nothing", "no such task"), ("old", "expired"), ("..%2Fold", "no such")):
            said = device.post(f"/api/collect/{name}", json=body(colours(), [0]))
            assert said.status_code in (404, 422)
            assert words in said.json()["message"]


def test_a_task_that_is_changed_is_read_anew(web):
    install(web.state, colours(name="ends").to_toml())
    with web.client() as device:
        assert device.post("/api/collect/ends", json=body(colours(), [0])).status_code == 200
        install(web.state, colours(name="ends", expires=date(2020, 1, 1)).to_toml())
        assert "expired" in device.post("/api/collect/ends", json=body(colours(), [0])).json()["message"]


def test_a_full_disk_is_said_and_the_next_report_is_taken(web, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    def broken(*_):
        raise ZeroDivisionError

    sent = body(colours(), [0])
    with web.client() as device:
        for fault, status in ((full, 503), (broken, 500)):
            with monkeypatch.context() as patch:
                patch.setattr(Collection, "_store", fault)
                said = device.post("/api/collect/colours", json=sent)
            assert said.status_code == status
            assert "stored" in said.json()["message"] or status == 500
        assert device.post("/api/collect/colours", json=sent).json() == {"accepted": 1, "repeated": 0}


def test_the_demo_has_a_survey(tmp_path):
    """A second start adds no visitors."""
    for _ in range(2):
        assert write_survey(tmp_path) == "travel"
    held = Collection(tmp_path / "collect" / "travel")
    assert (held.stored, held.waiting) == (1000, 0)
    tally = ReportTally(held.task)
    for batch in held.batches(1):
        tally.add_bytes(batch)
    for row, people in zip(tally.estimates(confidence=0.9999), ANSWERS.values(), strict=True):
        assert row.low < people / 1000 < row.high


def test_no_address_is_kept(web, capfd):
    """Neither the files of the task nor any log of the server name the sender, of reports that were refused either."""
    way = httpx.HTTPTransport(local_address="127.0.0.7")
    with httpx.Client(base_url=web.url, transport=way, headers={"User-Agent": "told-by-nobody"}) as device:
        assert device.post("/api/collect/colours", json=body(colours(), [1] * 60)).status_code == 200
        assert device.post("/api/collect/colours", json={"reports": []}).status_code == 400
        assert device.post("/api/collect/nothing", json=body(colours(), [1])).status_code == 422
        assert device.post("/api/collect/colours", content=b"{").status_code >= 400
    said = capfd.readouterr()
    kept = [said.out.encode(), said.err.encode()]
    kept += [path.read_bytes() for path in web.state.rglob("*") if path.is_file()]
    assert not [one for one in kept if b"127.0.0.7" in one or b"told-by-nobody" in one]
    for path in web.state.rglob("*"):
        if path.is_file() and "collect" in path.parts:
            assert b"127.0.0.1" not in path.read_bytes()
            assert path.name == "lock" or path.name.partition("-")[0] in ("task.toml", "batch", "ids", "waiting")


SERVE = """
import sys
from pathlib import Path
import asyncio
import sfumato
from sfumato.server.http import HttpServer
from sfumato.server.audit_log import AuditLog
from sfumato.server.users import Users

async def main(policy):
    with sfumato.open(policy) as gate:
        state = gate.policy.data.state
        door = HttpServer(gate, Users(state), AuditLog(state))
        print(*await door.start("127.0.0.1", 0), flush=True)
        await asyncio.sleep(600)

asyncio.run(main(sys.argv[1]))
"""


def flood(url, task, acknowledged, first):
    """Send one report a request, as devices do, until the server is gone."""
    reports = task.encoder.encode(np.zeros(4000, np.int64), SystemTape())
    with httpx.Client(base_url=url, timeout=30, trust_env=False) as client:
        for i, row in enumerate(reports):
            identity = (first + i).to_bytes(16, "big")
            document = {"reports": [{"id": in_base64(identity), "report": in_base64(row.tobytes())}]}
            try:
                if client.post("/api/collect/colours", json=document).status_code == 200:
                    acknowledged.append((identity, row.tobytes()))
            except httpx.HTTPError:
                return


def test_none_is_lost_on_kill_9_after_its_acknowledgement(tmp_path):
    write_clinic(tmp_path, fresh=True)
    task = colours()
    state = tmp_path / ".sfumato"
    install(state, task.to_toml())
    server = subprocess.Popen(
        [sys.executable, "-c", SERVE, tmp_path / "sfumato.toml"], stdout=subprocess.PIPE, text=True
    )
    host, port = server.stdout.readline().split()
    acknowledged = []
    clients = [
        threading.Thread(target=flood, args=(f"http://{host}:{port}", task, acknowledged, k * 10**6)) for k in range(3)
    ]
    for client in clients:
        client.start()
    while len(acknowledged) < 300:
        time.sleep(0.01)
    server.send_signal(signal.SIGKILL)
    server.wait()
    server.stdout.close()
    for client in clients:
        client.join()
    held = Collection(Path(state) / "collect" / "colours")
    assert held.commit(acknowledged) == [False] * len(acknowledged)
    assert held.stored + held.waiting - len(acknowledged) <= len(clients)  # written, but the word did not get through
    assert json.dumps(held.to_dict())
