"""Files that an owner uploads: private, beside the policy, below a name of the server's; of others nothing is left."""

import io
import json
import os
import socket
import stat
import time
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.end_to_end import pg
from tests.end_to_end.browser import Tab, chromium, expect, serving
from tests.end_to_end.test_console import check_axe
from tests.end_to_end.test_console_owner import by_session
from tests.end_to_end.web import HttpLimits

from sfumato.server.http import uploads

BYTES = {"Content-Type": "application/octet-stream"}
ROWS = b"person,age\nbob secret,41\nana,7\n"
HOSTILE = [
    ("../../evil.csv", "evil.csv"),
    ("/etc/passwd.csv", "etc_passwd.csv"),
    ("..\\..\\evil.csv", "evil.csv"),
    ("a\0b.csv", "a_b.csv"),
    ("<img src=x onerror=alert(1)>.csv", "img_src_x_onerror_alert_1.csv"),
    ("\u202egpj.csv", "gpj.csv"),
    (".csv", "data.csv"),
    ("x" * 5000 + ".CSV", "x" * 60 + ".csv"),
    ("sfumato.toml.csv", "sfumato_toml.csv"),
    ("$(rm -rf).csv", "rm_-rf.csv"),
    ("a.csv.parquet.tsv", "a_csv_parquet.tsv"),
]


def parquet():
    stream = io.BytesIO()
    pq.write_table(pa.table({"person": ["bob secret", "ana"], "age": [41, 7]}), stream)
    return stream.getvalue()


@pytest.fixture(scope="module")
def opened(written, tmp_path_factory):
    limits = HttpLimits(upload=100_000)
    with serving(pg.make_clinic(tmp_path_factory.mktemp("upload") / "web", written), limits=limits) as door:
        yield door


@pytest.fixture
def served(opened):
    """One server for all; what a test leaves beside the policy is taken away."""
    before = listed(opened)
    yield opened
    for name in reversed(listed(opened)):
        if name not in before:
            place = home(opened) / name
            (place.rmdir if place.is_dir() and not place.is_symlink() else place.unlink)()


@pytest.fixture
def owner(served):
    with served.client() as client:
        yield by_session(client, served)


def home(served):
    return served.gate.policy.path.parent


def listed(served):
    """All that is there, with hidden folders, but for what the server itself keeps."""
    known = (".sfumato", "clinic.ledger")
    return sorted(
        str(p.relative_to(home(served)))
        for p in home(served).rglob("*")
        if not p.match(".sfumato/*") and not p.name.startswith(known)
    )


def send(client, name, data=ROWS, **headers):
    return client.post("/api/policy/upload", params={"name": name}, content=data, headers=BYTES | headers)


def test_an_upload_is_a_private_file_beside_the_policy(served, owner):
    before = listed(served)
    for name, data in (("People 2024.CSV", ROWS), ("people.parquet", parquet())):
        reply = send(owner, name, data)
        assert reply.status_code == 200, reply.text
        made = home(served) / reply.json()["name"]
        assert made.read_bytes() == data
        assert reply.json()["bytes"] == len(data)
        assert stat.S_IMODE(made.stat().st_mode) == 0o600
        assert made.stat().st_nlink == 1
    assert listed(served) == sorted([*before, "People_2024.csv", "people.parquet"])
    again = send(owner, "people.parquet", parquet()).json()["name"]
    assert again == "people-2.parquet"
    found = owner.get("/api/policy/sources").json()
    assert {"People_2024.csv", "people.parquet", "people-2.parquet"} < set(found["files"])
    assert found["served"] == ["patient.parquet", "region.csv", "visit.csv"]
    draft = owner.post("/api/policy/draft", json={"files": ["people.parquet"], "unit": "people.person"}).json()
    assert 'age    = { type = "integer", min = 0, max = 120 }' in draft["text"] or "age" in draft["text"]
    assert "values =" not in draft["text"].replace('or values = ["a", "b"]', "")  # no list is guessed
    assert "secret" not in draft["text"]


def test_rows_of_an_upload_are_in_no_log(served, owner):
    assert send(owner, "people.csv").status_code == 200
    assert send(owner, "wrong.parquet").status_code == 400
    for log in served.state.rglob("*"):
        if log.is_file():
            assert b"bob secret" not in log.read_bytes()
    events = [json.loads(line) for line in (served.state / "audit.jsonl").read_text().splitlines()]
    event = [one for one in events if one["event"] == "data uploaded"][-1]
    assert (event["user"], event["file"]) == ("owner", "people.csv")
    assert set(event) == {"at", "event", "user", "file"}


@pytest.mark.parametrize(("name", "becomes"), HOSTILE)
def test_a_hostile_name_leads_nowhere(name, becomes, served, owner):
    above = home(served).parent
    outside = sorted(p for p in above.rglob("*") if home(served) not in p.parents)
    before = listed(served)
    reply = send(owner, name)
    assert (reply.status_code, reply.json().get("name")) == (200, becomes)
    assert listed(served) == sorted([*before, becomes])
    assert sorted(p for p in above.rglob("*") if home(served) not in p.parents) == outside


def test_a_file_that_exists_stays_also_behind_a_link(served, owner):
    target = home(served) / "target"
    target.write_text("mine")
    (home(served) / "people.csv").symlink_to(target)
    (home(served) / "gone.csv").symlink_to(home(served) / "nowhere")
    assert send(owner, "people.csv").json()["name"] == "people-2.csv"
    assert send(owner, "gone.csv").json()["name"] == "gone-2.csv"
    assert target.read_text() == "mine"
    assert not (home(served) / "nowhere").exists()
    old = (home(served) / "visit.csv").read_bytes()
    assert send(owner, "visit.csv").json()["name"] == "visit-2.csv"
    assert (home(served) / "visit.csv").read_bytes() == old


@pytest.mark.parametrize(
    ("name", "data", "refused"),
    [
        ("people.csv", b"", (400, "not a readable CSV file")),
        ("people.csv", b"1,2\n3,4\n", (400, "not a readable CSV file")),
        ("people.csv", b"\xff\xfe\x00\x01", (400, "not a readable CSV file")),
        ("people.parquet", ROWS, (400, "not a readable Parquet file")),
        ("people.parquet", b"PAR1" + b"x" * 100 + b"PAR1", (400, "not a readable Parquet file")),
        ("people.exe", ROWS, (400, "only CSV and Parquet")),
        ("people", ROWS, (400, "only CSV and Parquet")),
        ("people.duckdb", ROWS, (400, "only CSV and Parquet")),
        ("sfumato.toml", ROWS, (400, "only CSV and Parquet")),
        ("people.csv", ROWS + b"x" * 100_000, (413, "at most 100,000 bytes")),
    ],
)
def test_of_an_upload_that_fails_nothing_is_left(name, data, refused, served, owner):
    before, (status, said) = listed(served), refused
    reply = send(owner, name, data)
    assert reply.status_code == status
    assert said in reply.json()["message"]
    assert "upload-" not in reply.text  # where it was for a moment
    assert "secret" not in reply.text
    assert listed(served) == before


def test_a_body_that_grows_beyond_its_limit_is_cut(served, owner):
    """Without a stated length, too."""
    before = listed(served)

    def parts():
        yield b"a,b\n"
        for _ in range(40):
            yield b"1,2\n" * 1000

    try:
        reply = send(owner, "people.csv", parts())
        assert reply.status_code == 413
    except httpx.TransportError:  # the server closed the connection before all was sent
        pass
    assert until(lambda: listed(served) == before)


def begin(served, client, stated=1000):
    """A request that says more than it sends: a connection, and the first line of a file."""
    line = socket.create_connection((served.host, served.port), timeout=60)
    cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    head = {
        "Host": f"{served.host}:{served.port}",
        "Cookie": cookies,
        "X-CSRF-Token": client.headers["X-CSRF-Token"],
        "Content-Length": str(stated),
        **BYTES,
    }
    lines = [f"{name}: {value}" for name, value in head.items()]
    line.sendall("\r\n".join(["POST /api/policy/upload?name=people.csv HTTP/1.1", *lines, "", "a,b\n"]).encode())
    return line


def test_who_falls_silent_is_not_waited_for(written, tmp_path):
    with serving(pg.make_clinic(tmp_path / "web", written), limits=HttpLimits(body_seconds=0.5)) as served:
        before = listed(served)
        with served.client() as client, begin(served, by_session(client, served)) as line:
            said = line.recv(10_000)  # nothing more is sent: it is the server that ends this
            assert b" 408 " in said.splitlines()[0]
            assert until(lambda: listed(served) == before)


def test_who_leaves_leaves_nothing(served, owner):
    before = listed(served)
    with begin(served, owner):
        assert until(lambda: listed(served) != before)  # it has begun
        refused = send(owner, "other.csv")
        assert (refused.status_code, refused.json()["message"]) == (429, "another file is being uploaded")
    assert until(lambda: listed(served) == before)
    assert send(owner, "other.csv").status_code == 200  # and the next one may


def until(true):
    """Whether something becomes true within a minute."""
    ends = time.monotonic() + 60
    while not true() and time.monotonic() < ends:
        time.sleep(0.05)
    return true()


def test_a_full_disk_is_said_and_nothing_is_left(served, owner, monkeypatch):
    before = listed(served)
    monkeypatch.setattr(uploads, "_SPARE", 2**62)
    reply = send(owner, "people.csv")
    assert (reply.status_code, reply.json()["message"]) == (
        503,
        "the server's disk is too full for this file",
    )
    assert listed(served) == before


def test_a_folder_that_a_killed_server_left_is_removed(served, owner):
    old, new = (home(served) / f".upload-{name}" for name in ("old", "new"))
    for folder in (old, new):
        folder.mkdir()
        (folder / "rows.csv").write_bytes(ROWS)
    os.utime(old, (0, 0))
    assert send(owner, "people.csv").status_code == 200
    assert not old.exists()
    assert new.exists()  # another server may be writing it


def test_only_an_owner_who_is_there_uploads(served):
    before = listed(served)
    for name in ("ana", "auditor", "owner"):
        with served.client(name) as by_token:
            reply = send(by_token, "people.csv")
            assert reply.status_code == 403, name
    with served.client() as stranger:
        assert send(stranger, "people.csv").status_code == 401
    with served.client() as client:
        by_session(client, served)
        for change in (
            {"X-CSRF-Token": "wrong"},
            {"Origin": "https://evil.example"},
        ):
            assert send(client, "people.csv", **change).status_code == 403
        for kind in ("multipart/form-data; boundary=x", "text/plain", "application/x-www-form-urlencoded", "text/csv"):
            assert send(client, "people.csv", **{"Content-Type": kind}).status_code == 415
        assert client.post("/api/policy/upload", content=ROWS, headers=BYTES).status_code == 400
        assert client.get("/api/policy/upload").status_code == 405
    assert listed(served) == before


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


def test_the_wizard_takes_a_file_from_the_owners_machine(browser, served, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "<img src=x onerror=window.hacked=1>.csv").write_bytes(b'id,"<b>age</b>"\n1,2\n')
    (mine / "large.csv").write_bytes(ROWS + b"x" * 100_000)
    (mine / "wrong.parquet").write_bytes(ROWS)
    tab = Tab(browser, served, "owner", start="/wizard")
    page = tab.page
    expect(page.locator("#most")).to_have_text("CSV or Parquet, up to 97.7 KiB")
    page.set_input_files("#file", mine / "large.csv")
    expect(page.locator("#say")).to_contain_text("large.csv is 97.7 KiB; uploads are limited to 97.7 KiB.")
    page.set_input_files("#file", mine / "wrong.parquet")
    expect(page.locator("#say")).to_contain_text("this is not a readable Parquet file")
    page.set_input_files("#file", mine / "<img src=x onerror=window.hacked=1>.csv")
    expect(page.locator("#say")).to_contain_text("was uploaded as img_src_x_onerror_window_hacked_1.csv")
    name = "img_src_x_onerror_window_hacked_1"
    assert page.is_checked(f"input[value='{name}.csv']")
    expect(page.locator("#sending")).to_be_hidden()
    page.check(f"input[value='{name}.id']")
    page.wait_for_function("() => document.getElementById('text').value.includes('<b>age</b>')")
    expect(page.locator("#twice")).to_be_hidden()
    page.check("input[value='visit.csv']")
    expect(page.locator("#twice")).to_contain_text(
        "visit.csv is served already. A second policy has a budget of its own"
    )
    check_axe(page)
    page.screenshot(path=tmp_path / "upload.png", full_page=True)
    assert page.evaluate("window.hacked") is None
    assert Path(home(served) / f"{name}.csv").exists()
    assert not [one for one in tab.troubles if "400" not in one]
    tab.close()
