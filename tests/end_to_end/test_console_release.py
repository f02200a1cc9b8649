"""Anonymised releases in the console: pick columns, see loss and risk for each k, make one, check it, download it."""

import csv
import io
import json
from pathlib import Path

import pytest
from tests.end_to_end import pg
from tests.end_to_end.browser import Tab, chromium, expect, serving
from tests.end_to_end.test_console import check_axe
from tests.end_to_end.test_console_owner import by_session

from sfumato.anonymity import check_release

QUASI = ("age", "area")
WANTED = {"table": "patient", "quasi": list(QUASI), "sensitive": "disease", "suppress": "0.05"}


@pytest.fixture(scope="module")
def served(written, tmp_path_factory):
    with serving(pg.make_clinic(tmp_path_factory.mktemp("web"), written)) as door:
        yield door


def events(served):
    return [json.loads(line) for line in (Path(served.state) / "audit.jsonl").read_text().splitlines()]


def rows_of(text):
    return list(csv.reader(io.StringIO(text)))


def test_a_release_is_picked_compared_made_checked_and_downloaded_in_a_browser(served, tmp_path):
    with chromium() as browser:
        owner = Tab(browser, served, "owner", start="/release")
        page = owner.page
        page.select_option("#table", "patient")
        page.select_option('[data-column="age"]', "quasi")
        page.select_option('[data-column="area"]', "quasi")
        page.click("#compare")
        expect(page.locator("#compared tbody tr")).to_have_count(7)
        page.select_option('[data-column="disease"]', "sensitive")
        page.fill("#l", "2")
        page.click("#compare")
        expect(page.locator("#compared svg")).to_have_count(1)
        check_axe(page)
        page.click("[aria-label='Make the release for k = 5']")
        expect(page.locator("#made .chain")).to_contain_text("found no fault")
        with page.expect_download() as caught:
            page.click("#made >> text=Download CSV")
        Path(tmp_path / "release.csv").write_bytes(caught.value.path().read_bytes())
        expect(page.locator("#list tbody tr")).to_have_count(1)
        check_axe(page)
        page.screenshot(path=tmp_path / "release.png", full_page=True)
        page.fill("#l", "99")
        page.click("#compare")
        expect(page.locator("#say")).to_contain_text("l is larger than")
        page.set_viewport_size({"width": 390, "height": 860})
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
        assert not [one for one in owner.troubles if "400" not in one]
        owner.close()
    raw = served.gate.policy.path.parent / "patient.parquet"
    report = check_release(tmp_path / "release.csv", raw, QUASI, "disease")
    assert report.k >= 5
    assert report.distinct >= 2
    assert report.faults == ()
    said = [event for event in events(served) if event["event"].startswith("release")]
    assert [one["event"] for one in said[-2:]] == ["release made", "release downloaded"]
    assert said[-2]["columns"] == list(QUASI)


def test_a_second_release_is_checked_together_with_the_first(served):
    with served.client() as client:
        by_session(client, served)
        first = client.post("/api/release/make", json={**WANTED, "quasi": ["age"], "k": 5}).json()
        second = client.post("/api/release/make", json={**WANTED, "quasi": ["area", "zipcode"], "k": 5}).json()
        assert first["made"]["name"] in [one["name"] for one in client.get("/api/release").json()["made"]]
        assert "composition" in [fault["kind"] for fault in second["check"]["faults"]]
        assert second["check"]["with_earlier"][-1]["k"] < 5
        text = client.get("/api/release/file", params={"name": second["made"]["name"]})
        assert text.headers["content-type"].startswith("text/csv")
        head, *rows = rows_of(text.text)
        assert head == ["area", "zipcode", "disease"]
        assert len(rows) == second["release"]["released"] == second["made"]["rows"]


def test_an_earlier_release_that_was_deleted_is_named(served):
    """Somebody may have it: a check that passes over it in silence would say more than it knows."""
    with served.client() as client:
        by_session(client, served)
        first = client.post("/api/release/make", json={**WANTED, "quasi": ["age"], "k": 5}).json()["made"]["name"]
        (Path(served.gate.policy.data.state) / "releases" / first).unlink()
        second = client.post("/api/release/make", json={**WANTED, "quasi": ["age"], "k": 5}).json()
        assert [fault["words"] for fault in second["check"]["faults"] if first in fault["words"]] == [
            f"the earlier release {first} or its hierarchies are missing, so the two were not checked together"
        ]


def test_releases_of_another_table_are_named(served):
    """Its people may be the same, and nothing tells who is who: such a release was passed over in silence."""
    with served.client() as client:
        by_session(client, served)
        other = next(one for one in client.get("/api/release").json()["tables"] if one["name"] != "patient")
        column = next(one["name"] for one in other["columns"] if not one["unit"])
        wanted = {"table": other["name"], "quasi": [column], "k": 2, "suppress": "0.5"}
        first = client.post("/api/release/make", json=wanted).json()
        assert first["made"]["table"] == other["name"]
        second = client.post("/api/release/make", json={**WANTED, "quasi": ["age"], "k": 5}).json()
    assert not second["check"]["passed"]
    words = f'releases of "{other["name"]}" that were made here, which may be of the same people'
    assert words in second["check"]["scope"]["not_checked"]


def test_loss_and_risk_are_those_of_the_command_line(served, call):
    with served.client("owner") as client:
        draft = client.get("/api/release").json()["tables"][0]
        assert draft["name"] == "patient"
        reply = client.post("/api/release/compare", json={**WANTED, "hierarchies": draft["hierarchies"]})
    home = served.gate.policy.path.parent
    (home / "h.toml").write_text(draft["hierarchies"])
    words = ("--quasi", "age,area", "--sensitive", "disease", "--suppress", "0.05")
    words = (*words, "--hierarchies", str(home / "h.toml"))
    done = call("anonymize", str(home / "patient.parquet"), *words, "--dry-run", "--json")
    wanted = {one["k"]: one["loss"] for one in json.loads(done.stdout)["releases"]}
    assert {one["k"]: one["loss"] for one in reply.json()["releases"]} == wanted
    assert 0 < wanted[5] <= wanted[100]
    assert reply.json()["picture"].startswith("<svg")


def test_only_an_owner_who_is_there_makes_a_release_and_of_the_policys_tables_alone(served, tmp_path):
    secret = tmp_path / "h.csv"
    secret.write_text("hunter2;*\n")
    for name in ("ana", "auditor"):
        with served.client(name) as client:
            assert client.get("/api/release").status_code == 403
            assert client.get("/api/release/file", params={"name": "x"}).status_code == 403
            assert client.post("/api/release/compare", json=WANTED).status_code == 403
            assert client.post("/api/release/make", json={**WANTED, "k": 5}).status_code == 403
    with served.client("owner") as by_token:
        assert by_token.post("/api/release/make", json={**WANTED, "k": 5}).status_code == 403
        assert by_token.get("/api/release/file", params={"name": "x"}).status_code == 403
    with served.client() as client:
        by_session(client, served)
        before = sorted((served.state / "releases").glob("*")) if (served.state / "releases").exists() else []
        for wrong, said in (
            ({"table": str(secret)}, "choose a table"),
            ({"table": "region"}, "choose a table"),
            ({"quasi": ["nobody"]}, "quasi must be a list of columns"),
            ({"quasi": []}, "no quasi-identifiers"),
            ({"quasi": "age"}, "quasi must be a list of columns"),
            ({"sensitive": "nobody"}, "the sensitive column is not one"),
            ({"hierarchies": f'[age]\nfile = "{secret}"\n'}, "the hierarchies name a file"),
            ({"hierarchies": f'[zipcode]\nfile = "{secret}"\n'}, "the hierarchies name a file"),
            ({"hierarchies": "[age"}, "not TOML"),
            ({"hierarchies": "age = 3"}, "must be a table"),
            ({"k": 0}, "k must be at least 1"),
            ({"k": 10**9}, "k is larger than the table"),
            ({"l": "many"}, "l must be text like"),
            ({"t": "0.5", "sensitive": None}, "t needs a sensitive column"),
            ({"suppress": "2"}, "suppress must be a fraction"),
            ({"method": "magic"}, "unknown method"),
            ({"path": "/etc/passwd"}, "unknown field"),
        ):
            reply = client.post("/api/release/make", json={**WANTED, "k": 5, **wrong})
            assert reply.status_code == 400, (wrong, reply.text)
            assert said in reply.json()["message"], (wrong, reply.text)
            assert "hunter2" not in reply.text
        for name in ("", "x.csv", "../users.json", "releases.jsonl"):
            assert client.get("/api/release/file", params={"name": name}).status_code == 400
        after = sorted((served.state / "releases").glob("*")) if (served.state / "releases").exists() else []
        assert [file for file in after if file not in before] == []
