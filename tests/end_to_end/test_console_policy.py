"""The policy page in a real browser: form and text say the same, and what is weaker is confirmed by its words."""

import json

import pytest
from tests.end_to_end import pg
from tests.end_to_end.browser import IMAGE, SCRIPT, Tab, chromium, expect, serving, write_odd
from tests.end_to_end.test_console import check_axe
from tests.end_to_end.test_console_owner import by_session

from sfumato.policy import load


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def opened(written, tmp_path_factory):
    with serving(pg.make_clinic(tmp_path_factory.mktemp("policy"), written)) as door:
        yield door


@pytest.fixture
def served(opened):
    """One server for all; the file is as it was before each."""
    place = opened.gate.policy.path
    text = place.read_text()
    yield opened
    place.write_text(text)


@pytest.fixture
def owner(browser, served):
    tab = Tab(browser, served, "owner", start="/policy")
    expect(tab.page.locator("#problems")).to_contain_text("No changes.")
    yield tab
    tab.close()


def field(page, path):
    return page.locator(f"[data-path='{path}']")


def text(page):
    return page.input_value("#text")


def has(page, piece):
    page.wait_for_function("piece => document.getElementById('text').value.includes(piece)", arg=piece)


def test_the_form_writes_the_text_and_the_text_fills_the_form(owner, tmp_path):
    page = owner.page
    old = text(page)
    field(page, "tables.visit.groups_per_unit").fill("4")
    field(page, "tables.visit.groups_per_unit").press("Tab")
    has(page, "groups_per_unit = 4\n")
    assert text(page) == old.replace("groups_per_unit = 5", "groups_per_unit = 4")  # and no comment is lost
    expect(page.locator("#diff .more")).to_have_text("+groups_per_unit = 4\n")
    page.fill("#text", old.replace("max = 120", "max = 110"))
    expect(field(page, "tables.patient.columns.age.max")).to_have_value("110")
    expect(field(page, "tables.visit.groups_per_unit")).to_have_value("5")
    expect(page.locator("summary", has_text="age")).to_contain_text("integer, 0 … 110")
    field(page, "privacy.timing").select_option("padded")
    has(page, 'timing = "padded"')
    field(page, "privacy.timing").select_option("")
    page.wait_for_function("() => !document.getElementById('text').value.includes('timing')")
    page.locator("summary", has_text="disease").click()
    field(page, "tables.patient.columns.disease.values").fill('Cold\n"Flu" = 1\n')
    field(page, "tables.patient.columns.disease.values").blur()
    has(page, 'values = ["Cold", "\\"Flu\\" = 1"]')
    check_axe(page)
    page.screenshot(path=tmp_path / "form.png", full_page=True)
    page.click("#back")
    expect(page.locator("#problems")).to_contain_text("No changes.")
    expect(field(page, "tables.patient.columns.age.max")).to_have_value("120")
    assert not owner.troubles


def test_what_cannot_be_taken_is_said_at_its_field(owner):
    page = owner.page
    old = text(page)
    field(page, "privacy.epsilon").fill("4\u0660x")
    field(page, "privacy.epsilon").press("Tab")
    expect(page.locator(".field .wrong").first).to_contain_text("epsilon must be a number, like 0.5 or 1e-6")
    expect(field(page, "privacy.epsilon")).to_have_value("4\u0660x")  # what was typed stays
    assert text(page) == old
    field(page, "privacy.epsilon").fill("3")
    field(page, "privacy.epsilon").press("Tab")
    has(page, "epsilon = 3 ")
    expect(page.locator(".field .wrong").first).to_be_empty()
    page.fill("#text", old.replace("[privacy]", "[privacy"))
    expect(page.locator("#unread")).to_be_visible()
    expect(field(page, "privacy.epsilon")).to_be_disabled()
    page.fill("#text", old)
    expect(page.locator("#unread")).to_be_hidden()
    expect(field(page, "privacy.epsilon")).to_have_value("4")
    assert not [one for one in owner.troubles if "400" not in one]


def test_columns_are_added_and_removed(owner):
    page = owner.page
    old = text(page)
    table = page.locator("section.panel", has_text="Table region")
    patient = page.locator("section.panel", has_text="Table patient")
    expect(table.locator("text=Add column")).to_be_visible()
    patient.locator("label:has-text('Column') input").fill("height")
    patient.locator(".row select").select_option("integer")
    patient.locator("text=Add column").click()
    has(page, 'height = { type = "integer" }')
    expect(page.locator("#problems")).to_contain_text('no column "height"')  # the file has none
    expect(page.locator("#apply")).to_be_disabled()
    patient.locator("summary", has_text="height").click()
    patient.locator("details", has_text="height").locator("text=Remove column").click()
    page.wait_for_function("() => !document.getElementById('text').value.includes('height')")
    assert text(page) == old
    patient.locator("summary", has_text="street").click()
    patient.locator("details", has_text="street").locator("text=Remove column").click()
    expect(page.locator("#problems")).to_contain_text("The policy is valid.")
    check_axe(page)
    page.click("#back")
    assert not owner.troubles


def test_shares_are_added_and_removed(owner, served):
    page = owner.page
    page.fill("label:has-text('Analyst') input", SCRIPT)
    page.fill(".row label:has-text('epsilon') input", "0.5")
    page.click("text=Add share")
    expect(page.locator(".share bdi").last).to_have_text(SCRIPT)
    expect(page.locator("#problems")).to_contain_text("The policy is valid.")
    page.locator(".share", has_text="ana").first.locator("text=Remove share").click()
    expect(page.locator("#weaker")).to_contain_text("ana may spend epsilon 4 instead of 1")
    expect(page.locator("#apply")).to_be_disabled()
    page.check("#sure")
    page.click("#apply")
    expect(page.locator("#say")).to_contain_text("is saved")
    shares = {name: float(one.epsilon) for name, one in load(served.gate.policy.path).analysts.items()}
    assert shares == {SCRIPT: 0.5, "guide": 1}
    assert page.evaluate("window.hacked") is None
    assert not owner.troubles


def test_a_weaker_promise_in_the_form_is_named_with_odds(owner, served, tmp_path):
    page = owner.page
    old = text(page)
    field(page, "privacy.epsilon").fill("5")
    field(page, "privacy.epsilon").press("Tab")
    expect(page.locator("#weaker .weaker").first).to_contain_text("This weakens the guarantee:")
    expect(page.locator("#weaker")).to_contain_text("becomes at most 99.4 % instead of 98.3 %")
    field(page, "tables.visit.rows_per_unit").fill("40")
    field(page, "tables.visit.rows_per_unit").press("Tab")
    expect(page.locator("#weaker .also")).to_contain_text("This allows more within the same guarantee:")
    expect(page.locator("#weaker .also")).to_contain_text('rows_per_unit of "visit" changes from 20 to 40')
    expect(page.locator("#apply")).to_be_disabled()
    page.check("#sure")
    expect(page.locator("#apply")).to_be_enabled()
    field(page, "tables.visit.public").check()
    expect(page.locator("#weaker")).to_contain_text('table "visit" becomes public')
    assert not page.is_checked("#sure")  # what was confirmed was something else
    expect(page.locator("#apply")).to_be_disabled()
    check_axe(page)
    page.screenshot(path=tmp_path / "weaker.png", full_page=True)
    assert served.gate.policy.path.read_text() == old
    page.check("#sure")
    page.click("#apply")
    expect(page.locator("#say")).to_contain_text("is saved")
    expect(page.locator("#weaker")).to_be_empty()  # it is saved: there is nothing more to confirm
    assert load(served.gate.policy.path).tables["visit"].public
    lines = (served.state / "audit.jsonl").read_text().splitlines()
    (written,) = [
        one for one in map(json.loads, lines) if one["event"] == "policy written" and "becomes public" in str(one)
    ]
    assert any("epsilon rises from 4 to 5" in words for words in written["confirmed"])
    assert not owner.troubles


def test_a_click_that_comes_before_the_check_saves_nothing_unread(owner, served):
    """Between a keystroke and the server's word about it there is nothing to be confirmed or saved."""
    page = owner.page
    old = text(page)
    page.fill("#text", old.replace("max = 120", "max = 110"))
    expect(page.locator("#apply")).to_be_enabled()
    page.evaluate(
        """() => {
          const text = document.getElementById("text");
          text.value = text.value.replace("epsilon = 4 ", "epsilon = 40 ");
          text.dispatchEvent(new Event("input"));
          document.getElementById("apply").click();
        }"""
    )
    expect(page.locator("#weaker")).to_contain_text("epsilon rises from 4 to 40")
    assert served.gate.policy.path.read_text() == old


def test_a_change_is_saved_only_if_its_own_words_were_confirmed(served):
    old = served.gate.policy.path.read_text()
    texts = {
        "privacy.epsilon": old.replace("\nepsilon = 4 ", "\nepsilon = 5 ", 1),
        "data.id": old.replace('id = "clinic"', 'id = "other"'),
        "tables.region.public": old.replace('"region.csv"', '"visit.csv"'),
        "privacy.query_epsilon": old.replace("query_epsilon = 0.1", "query_epsilon = 0.2"),
        "analysts.ana": old.replace("epsilon = 1 ", "epsilon = 2 "),
        "tables.visit.rows_per_unit": old.replace("rows_per_unit = 20", "rows_per_unit = 21"),
    }
    with served.client() as client:
        by_session(client, served)
        mark = client.get("/api/policy").json()["mark"]
        before = []
        for what, new in texts.items():
            assert new != old, what
            found = client.post("/api/policy/check", json={"text": new}).json()
            assert found["problems"] == [], what
            named = [*found["weaker"], *found["also"]]
            assert what in [one["what"] for one in named]
            words = [one["words"] for one in named]
            for confirm in ([], before, words[1:], ["yes"]):
                reply = client.post("/api/policy/apply", json={"text": new, "mark": mark, "confirm": confirm})
                assert (reply.status_code, reply.json()["hint"]) == (400, "Confirm it to save it."), what
            for confirm in (True, "yes", [True], {}):
                reply = client.post("/api/policy/apply", json={"text": new, "mark": mark, "confirm": confirm})
                assert "confirm must be a list" in reply.json()["message"]
            assert client.post("/api/policy/apply", json={"text": new, "mark": mark}).status_code == 400
            assert served.gate.policy.path.read_text() == old
            before = words
        done = client.post("/api/policy/apply", json={"text": new, "mark": mark, "confirm": before})
        assert done.status_code == 200
    assert served.gate.policy.path.read_text() == new


def test_what_the_ledger_would_refuse_is_said_before_it_is_saved(served):
    served.gate.sql("SELECT COUNT(*) AS n FROM patient", analyst="ana")
    old = served.gate.policy.path.read_text()
    texts = {
        old.replace('"add-remove"', '"replace"'): 'adjacency cannot become "replace" any more',
        old.replace('unit = "ssn"', 'unit = "street"'): 'the unit of table "patient" cannot change from "ssn"',
    }
    with served.client() as client:
        by_session(client, served)
        mark = client.get("/api/policy").json()["mark"]
        for new, said in texts.items():
            assert new != old
            found = client.post("/api/policy/check", json={"text": new}).json()["problems"]
            assert [said in one["message"] for one in found] == [True]
            assert found[0]["line"] is not None
            reply = client.post("/api/policy/apply", json={"text": new, "mark": mark, "confirm": []})
            assert (reply.status_code, said in reply.json()["detail"]) == (400, True)
    assert served.gate.policy.path.read_text() == old


def test_an_edit_is_for_owners_and_writes_nothing(served):
    old = served.gate.policy.path.read_text()
    body = {"text": old, "path": ["privacy", "epsilon"], "value": "5"}
    for name in ("ana", "auditor"):
        with served.client(name) as client:
            assert client.post("/api/policy/edit", json=body).status_code == 403
    with served.client() as client:
        by_session(client, served)
        assert client.post("/api/policy/edit", json=body).json()["text"].count("epsilon = 5 ") == 1
        for wrong in ({"path": "privacy"}, {"path": [1]}, {"path": ["data", "ledger"]}, {"value": 5}, {"text": "a ="}):
            assert client.post("/api/policy/edit", json=body | wrong).status_code in (400, 422), wrong
        del client.headers["X-CSRF-Token"]
        assert client.post("/api/policy/edit", json=body).status_code == 403
    with served.client() as client:
        by_session(client, served)
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        assert client.post("/api/policy/edit", content="text=1", headers=form).status_code == 415
    assert served.gate.policy.path.read_text() == old


def test_names_that_are_markup_stay_text_in_the_form(browser, tmp_path):
    policy = write_odd(tmp_path / "odd")
    policy.write_text(policy.read_text() + f"\n[analysts.'''{IMAGE}''']\nepsilon = 1\n".replace("'''", "'"))
    with serving(policy) as served:
        for width in (1280, 390):
            tab = Tab(browser, served, "owner", start="/policy", width=width)
            page = tab.page
            expect(page.locator(".share", has_text=IMAGE)).to_be_visible()
            page.locator("summary", has_text="colour").click()
            assert SCRIPT in field(page, "tables.people.columns.colour.values").input_value()
            assert page.evaluate("window.hacked") is None
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            page.screenshot(path=tmp_path / f"odd-{width}.png", full_page=True)
            assert not tab.troubles
            tab.close()
