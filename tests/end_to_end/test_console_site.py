"""The console without a browser: links that work once, pages by role, files with their hashes, sizes and headers."""

import contextlib
import gzip
import hashlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import pytest
from tests.end_to_end import pg, web

from sfumato.attacks.base import Knowledge, Person, SecretFact
from sfumato.attacks.document import document
from sfumato.attacks.report import AttackReport
from sfumato.mechanisms import Geometric
from sfumato.server import tokens
from sfumato.server.audit_log import AuditLog
from sfumato.server.console import console
from sfumato.server.console.site import PAGES
from sfumato.server.users import Users

ROOT = Path(__file__).parents[2]
HOME = files("sfumato.server.console")
LINK = re.compile(r'(?:href|src|action)="(/[^"]*)"')


@pytest.fixture(scope="module")
def served(written, tmp_path_factory):
    policy = pg.make_clinic(tmp_path_factory.mktemp("web"), written, *pg.RICH)
    users = Users(policy.parent / ".sfumato")
    site = console(users, AuditLog(policy.parent / ".sfumato"))
    with web.serving(policy, users=users, console=site) as door:
        yield door


@contextlib.contextmanager
def by_link(door, name):
    with door.client() as client:
        reply = client.get("/", params={"link": tokens.link(door.users, name)[1]})
        assert reply.status_code == 200, reply.text
        yield client


def test_a_link_logs_in_once(served):
    _, text = tokens.link(served.users, "ana")
    with served.client() as client:
        assert client.get("/").headers["location"] == "/login?next=%2F"
        reply = client.get("/", params={"link": text})
        assert reply.status_code == 200
        assert text not in reply.text
        cookie = reply.headers["set-cookie"].lower()
        assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/"))
        assert client.get("/api/me").json()["name"] == "ana"
        assert client.get("/").status_code == 200
    with served.client() as other:
        assert other.get("/", params={"link": text}).status_code == 401
        assert other.get("/api/me").status_code == 401


def test_of_many_who_come_with_one_link_one_gets_in(served):
    _, text = tokens.link(served.users, "ana")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: tokens.redeem(served.users, text, timedelta(hours=1)), range(8)))
    assert sum(one is not None for one in found) == 1


def test_a_link_is_no_token_and_no_cookie_and_ends(served):
    _, text = tokens.link(served.users, "owner")
    with served.client() as client:
        assert client.get("/api/me", headers={"Authorization": f"Bearer {text}"}).status_code == 401
        assert client.get("/api/me", headers={"Cookie": f"sfumato={text}"}).status_code == 401
        assert client.get("/", params={"link": served.tokens["owner"]}).status_code == 401  # nor a token a link
    short = tokens.issue(served.users, "owner", timedelta(microseconds=1), kind=tokens.LINK)[1]
    assert tokens.redeem(served.users, short, timedelta(hours=1)) is None


@pytest.mark.parametrize("role", ["analyst", "owner", "auditor"])
def test_a_page_is_shown_to_its_roles_alone(served, role):
    with by_link(served, "ana" if role == "analyst" else role) as client:
        for page in PAGES:
            reply = client.get(page.path)
            if role in page.roles:
                assert reply.status_code == 200, page.path
                assert f'data-page="{page.name}"' in reply.text
            elif page.path == "/":
                assert reply.headers["location"] == "/ledger"
            else:
                assert reply.status_code == 403, page.path


def test_pages_name_only_what_is_there_and_no_other_machine(served):
    with by_link(served, "owner") as client:
        texts = [client.get(path).text for path in (*(page.path for page in PAGES), "/login", "/class/x")]
        for text in texts:
            assert "http:" not in text
            assert "https:" not in text
            assert "<style" not in text
            assert " style=" not in text
            assert not re.search(r"<script(?! (?:type=\"module\" )?src=)", text)
            assert not re.search(r"\son\w+=", text)
            for path in LINK.findall(text):
                assert path.startswith("/login") or client.get(path).status_code == 200, path


def test_files_have_their_type_a_tag_and_nothing_else_can_be_asked_for(served):
    with served.client() as client:
        reply = client.get("/static/console.css")
        assert reply.headers["content-type"] == "text/css; charset=utf-8"
        assert reply.headers["content-encoding"] == "gzip"
        assert reply.headers["content-security-policy"].startswith("default-src 'self'")
        again = client.get("/static/console.css", headers={"If-None-Match": reply.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        for path in ("../site.py", "%2e%2e/site.py", "vendor/../../site.py", "/etc/passwd", "", "vendor"):
            assert client.get(f"/static/{path}").status_code == 404, path
        assert client.get("/nothing").json()["message"] == "there is no such page"
        assert client.post("/history").status_code == 405


def test_modules_import_what_is_there_and_nothing_from_elsewhere():
    names = {path.name for path in (HOME / "static").iterdir() if path.name.endswith(".js")}
    for name in names:
        text = (HOME / "static" / name).read_text(encoding="utf-8")
        for module in re.findall(r'from "([^"]+)"|import\("([^"]+)"\)', text):
            path = (module[0] or module[1]).removeprefix("./")
            assert (HOME / "static" / path).is_file(), (name, path)
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text), (
            name
        )
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), name


def test_the_bundle_is_the_one_whose_hash_is_written_down():
    vendor = HOME / "static" / "vendor"
    hashes = json.loads((vendor / "hashes.json").read_text())
    assert {path.name for path in vendor.iterdir()} == {*hashes, "hashes.json"}
    for name, known in hashes.items():
        assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == known, f"{name}: `make console`"
    licences = (vendor / "LICENCES.txt").read_text(encoding="utf-8")
    locked = json.loads((ROOT / "console" / "package-lock.json").read_text())["packages"]
    for path, package in locked.items():
        if path and not package.get("dev"):
            assert f"{path.removeprefix('node_modules/')} {package['version']}" in licences
            assert package["integrity"] in licences


def test_all_scripts_together_are_small():
    scripts = [path for path in (HOME / "static").iterdir() if path.name.endswith(".js")]
    scripts.append(HOME / "static" / "vendor" / "codemirror.js")
    assert sum(len(gzip.compress(path.read_bytes(), 9)) for path in scripts) < 400_000


def _report(defence, right, bound, total):
    return AttackReport(
        attack="differencing",
        defence=defence,
        applicable=True,
        reason="",
        queries=20,
        refused=1,
        spent=total and Fraction(1, 2),
        total=total,
        asking=1.5,
        thinking=0.25,
        people=10,
        claims=10,
        right=right,
        base_rate=0.5,
        interval=(right / 10 - 0.3, 1.0),
        certain=0,
        certain_right=0,
        bound=bound,
        succeeded=bound is None,
        worst=("SELECT '</pre><script>window.hacked = 1</script>'",),
        advice="noise",
        curve=((1, 0.0), (20, right / 10)),
        transcript=(("SELECT '<script>window.hacked = 1</script>'", "<b>no</b>"),),
    )


PEOPLE = (Person({"ssn": 1, "<b>age</b>": 2}, "ssn = 1"),) * 10
KNOWN = Knowledge("t", SecretFact("disease", "<img src=x onerror=window.hacked=1>"), PEOPLE, "ssn", 0.5)
REPORTS = [_report("raw", 10, None, None), _report("dp", 5, 0.62, Fraction(1))]
REPORT = document(REPORTS, "<script>window.hacked = 1</script>.toml", KNOWN, "copy")
"""As `sfumato attack` keeps it, with markup wherever a policy, its values or a question could bring some."""


def test_the_report_of_the_red_team_is_for_owners_and_auditors(served):
    place = served.state / "redteam.json"
    with served.client("auditor") as auditor, served.client("ana") as ana:
        empty = auditor.get("/api/redteam").json()
        assert empty == {
            "command": "sfumato attack all --target sfumato.toml --secret COLUMN",
            "report": None,
            "pictures": {},
        }
        assert [ana.get(path).status_code for path in ("/api/redteam", "/redteam")] == [403, 403]
        try:
            place.write_text(json.dumps(REPORT))
            found = auditor.get("/api/redteam").json()
            assert found["report"] == REPORT
            (svg,) = found["pictures"]["differencing"]
            assert ("<style" not in svg, "raw: 100 at 20; dp: 50 at 20; a guess: " in svg) == (True, True)
            assert ana.get("/api/redteam").status_code == 403
            for bad in ("", "[]", "{}", '{"format": 1}', json.dumps(REPORT | {"attacks": None})):
                place.write_text(bad)
                reply = auditor.get("/api/redteam")
                assert (reply.status_code, reply.json()["message"]) == (
                    422,
                    "the attack report cannot be read",
                )
        finally:
            place.unlink()


def test_history_is_ones_own(served):
    with served.client("ana") as ana, served.client("bob") as bob:
        for client, area in ((ana, "north"), (bob, "south")):
            sql = f"SELECT COUNT(*) FROM patient WHERE area = '{area}'"
            assert client.post("/api/query", json={"sql": sql}).status_code == 200
        for client, area in ((ana, "north"), (bob, "south")):
            page = client.get("/api/history").json()
            assert [one["sql"] for one in page["questions"]] == [f"SELECT COUNT(*) FROM patient WHERE area = '{area}'"]
            one = page["questions"][0]
            assert (one["end"], one["cost"]["epsilon"], page["next"]) == ("answer", "1/10", None)
            asked = client.post("/api/query", json={"sql": one["sql"], "epsilon": one["epsilon"]}).json()
            assert (asked["receipt"], asked["cost"]["epsilon"]) == (one["receipt"], "0")
        more = "SELECT COUNT(*) FROM patient WHERE area = 'west'"
        ana.post("/api/query", json={"sql": more})
        first = ana.get("/api/history?limit=1").json()
        assert first["questions"][0]["sql"] == more
        rest = ana.get(f"/api/history?limit=1&before={first['next']}").json()
        assert rest["questions"][0]["sql"].endswith("'north'")
        assert ana.get("/api/history?limit=0").status_code == 400
    with served.client("auditor") as auditor:
        assert auditor.get("/api/history").status_code == 403


def test_the_law_of_a_column_is_that_of_its_mechanism(served):
    with served.client("ana") as ana:
        before = web.spent(served)
        question = {"sql": "SELECT disease, COUNT(*) AS n FROM patient GROUP BY disease", "epsilon": 1}
        law = ana.post("/api/law", json={**question, "column": 1}).json()
        noise = Geometric(1, 1)
        (picture,) = law["pictures"]
        assert (law["law"], law["epsilon"], picture["moves"], picture["assumed"]) == ("geometric", "1", "1", None)
        for output, out, inside, belief in zip(
            map(int, picture["outputs"]), picture["bob_out"], picture["bob_in"], picture["belief"], strict=True
        ):
            assert (out, inside) == (float(noise.mass(output)), float(noise.mass(output - 1)))
            assert belief == pytest.approx(inside / (inside + out))
            assert belief <= float(Fraction(law["at_most"]))
        assert law["at_most"] == "0.731059"
        assert "<style" not in picture["svg"]
        sums = ana.post("/api/law", json={"sql": "SELECT SUM(cost) FROM visit", "epsilon": 1}).json()
        assert [one["moves"] for one in sums["pictures"]] == ["20000"]
        assert 0.99 < sum(sums["pictures"][0]["bob_out"]) <= 1
        gaussian = {"sql": "SELECT COUNT(*) FROM visit", "epsilon": 1, "noise": "gaussian"}
        assert ana.post("/api/law", json=gaussian).json()["epsilon"] is None
        key = ana.post("/api/law", json={**question, "column": 0}).json()
        assert (key["pictures"], key["why"].startswith("this column has no noise")) == ([], True)
        for bad in (9, True, -1, "1"):
            assert ana.post("/api/law", json={**question, "column": bad}).status_code == 400
        assert ana.post("/api/law", json={"sql": "SELECT ssn FROM patient"}).status_code == 403
        assert web.spent(served) == before
        odds = ana.get("/api/odds?epsilon=1/10").json()
        words = odds.pop("words")
        assert odds == {"epsilon": "0.1", "before": "0.5", "at_most": "0.52498"}
        assert words.endswith("is in the data becomes at most 52.5 %, one about their values at most 55 %")
        replace = ana.get("/api/odds?epsilon=1/10&adjacency=replace").json()["words"]
        assert replace == "a 50 % suspicion about somebody's values becomes at most 52.5 %"
        assert ana.get("/api/odds?epsilon=1&adjacency=none").status_code == 400
        assert [ana.get(f"/api/odds?epsilon={e}").status_code for e in ("", "-1", "nan", "1e99", "1/0")] == [400] * 5
