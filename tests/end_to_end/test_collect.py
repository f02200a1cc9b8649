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
from sfumato.local.collecting import Collection, install
from sfumato.local.decoding import ReportTally
from sfumato.local.kary import KAryResponse
from sfumato.local.tape import SystemTape
from sfumato.local.task import planned_task

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
                patch.setattr(Collection, "_append", fault)
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


def test_no_address_is_kept(web):
    """Neither the files of the task nor any log of the server name the sender."""
    with web.client() as device:
        assert device.post("/api/collect/colours", json=body(colours(), [1] * 60)).status_code == 200
    for path in web.state.rglob("*"):
        if path.is_file() and "collect" in path.parts:
            assert b"127.0.0.1" not in path.read_bytes()
            assert path.name == "lock" or path.name.partition("-")[0] in ("task.toml", "batch", "ids", "intake")


SERVE = """
import sys
from pathlib import Path
import asyncio
import sfumato
from sfumato.server.http import HttpDoor
from sfumato.server.audit_log import Journal
from sfumato.server.users import Users

async def main(policy):
    with sfumato.open(policy) as gate:
        state = gate.policy.data.state
        door = HttpDoor(gate, Users(state), Journal(state))
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
