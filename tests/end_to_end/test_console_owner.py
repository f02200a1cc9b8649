"""The console's pages for owners and auditors in a real browser, and the pages for programs behind them."""

import json
import re
from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import httpx
import pytest
from tests.end_to_end import pg
from tests.end_to_end.browser import PASSWORD, Tab, chromium, expect, serving
from tests.end_to_end.served import running, write_small
from tests.end_to_end.test_console import check_axe
from tests.end_to_end.test_console_site import REPORT

import sfumato
from sfumato.server import tokens
from sfumato.server.users import Users

COUNT = "SELECT COUNT(*) AS n FROM patient"


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture
def served(written, tmp_path):
    with serving(pg.make_clinic(tmp_path / "web", written)) as door:
        yield door


@pytest.fixture
def tab(browser, served):
    made = []

    def open_tab(name, **options):
        made.append(Tab(browser, served, name, **options))
        return made[-1]

    yield open_tab
    for one in made:
        one.close()


def journal(served):
    lines = (Path(served.state) / "audit.jsonl").read_text().splitlines()
    return [json.loads(line)["event"] for line in lines]


def test_a_budget_that_goes_on_in_rho_is_not_called_spent(served, tab):
    """One query with Gaussian noise ends counting in epsilon: "0 of 4 left" beside "about 41 more" is no budget."""
    served.gate.sql(COUNT, epsilon=Fraction(1, 10), analyst="ana")
    auditor = tab("auditor", start="/ledger").page
    expect(auditor.locator("#standings")).to_contain_text(
        "ε 0.1, spent so far: a 50 % suspicion that somebody is in the data becomes at most 52.5 %"
    )
    expect(auditor.locator("#standings")).to_contain_text("ε 4, the whole budget: ")
    served.gate.sql(COUNT, epsilon=Fraction(1, 10), noise="gaussian", analyst="ana")
    auditor.reload()
    everybody, ana = (auditor.locator("#standings li").nth(number).inner_text() for number in (0, 1))
    assert re.search(r"ρ 0\.2\d+ of 0\.296 left", everybody), everybody
    assert re.search(r"ρ 0\.0\d+ of 0\.0229 left", ana), ana
    expect(auditor.locator("#burn figcaption")).to_contain_text("anaρ 0.01")
    analyst = tab("ana").page
    expect(analyst.locator(".gauge")).to_contain_text(re.compile(r"0\.0\d+ of 0\.0229 ρ left"))


def test_the_ledger_is_a_statement_that_can_be_verified_and_frozen(served, tab, tmp_path):
    served.gate.sql(COUNT, epsilon=Fraction(1, 4), analyst="ana")
    served.gate.sql(COUNT, epsilon=Fraction(1, 2), analyst="owner")
    owner = tab("owner", start="/ledger")
    page = owner.page
    expect(page.locator("#list tbody tr")).to_have_count(4)  # opened, policy, two questions
    expect(page.locator("#list thead")).to_contain_text("query or event")
    page.check("#answers")
    expect(page.locator("#list tbody tr")).to_have_count(6)
    page.uncheck("#answers")
    expect(page.locator("#list tbody tr")).to_have_count(4)
    expect(page.locator("#burn polygon")).to_have_count(2)
    expect(page.locator("#burn figcaption")).to_contain_text("anaε 0.25")
    page.click("#verify")
    expect(page.locator(".chain.good")).to_contain_text("6 entries, 2 charges, 2 answers recomputed")
    check_axe(page)
    page.screenshot(path=tmp_path / "ledger.png", full_page=True)
    with page.expect_download() as caught:
        page.click("text=Export all entries")
    lines = [json.loads(line) for line in caught.value.path().read_text().splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, 7))
    page.click("text=Freeze")
    page.click("dialog >> button.danger")
    expect(page.locator("#switch")).to_contain_text("Frozen: no query is answered")
    with pytest.raises(sfumato.errors.BudgetError):
        served.gate.sql(COUNT, epsilon=Fraction(1, 4), analyst="ana")
    auditor = tab("auditor", width=390, dark=True)
    expect(auditor.page.locator("#switch")).to_have_text("frozen")
    assert auditor.page.url.endswith("/ledger")
    assert auditor.page.locator("button.danger").count() == 0
    check_axe(auditor.page)
    page.click("text=Unfreeze")
    expect(page.locator("#switch")).to_have_text("Freeze")
    assert served.gate.sql(COUNT, epsilon=Fraction(1, 4), analyst="ana").cost.epsilon == 0
    assert [event for event in journal(served) if event in ("frozen", "thawed")] == ["frozen", "thawed"]
    assert not owner.troubles + auditor.troubles


def test_what_was_spent_last_is_seen_in_the_chart(served, tab):
    """Each step stands until the next, and the last one until now: it is as high as the sum of the ledger."""
    for i in range(3):
        served.gate.sql(f"{COUNT} WHERE age > {i}", epsilon=Fraction(1, 4), analyst="ana")
    auditor = tab("auditor")
    expect(auditor.page.locator("#burn figcaption")).to_contain_text("anaε 0.75")
    expect(auditor.page.locator(".brand")).to_have_text("sfumato · clinic")
    points = auditor.page.locator("#burn polygon").get_attribute("points").split()
    corners = [tuple(map(float, point.split(","))) for point in points]
    floor, right = max(y for _, y in corners), max(x for x, _ in corners)
    limit = float(auditor.page.locator("#burn .limit").get_attribute("y1"))
    assert min(y for x, y in corners if x == right) == min(y for _, y in corners)
    assert (floor - min(y for _, y in corners)) / (floor - limit) == pytest.approx(0.75 / 4, rel=1e-6)
    highest = [x for x, y in corners if y == min(y for _, y in corners)]
    assert max(highest) - min(highest) > 10  # wide enough to be seen


def test_the_report_of_the_red_team_is_shown_and_what_stands_in_it_is_text(served, tab, tmp_path):
    auditor = tab("auditor")
    page = auditor.page
    page.click("nav >> text=Attacks")
    expect(page.locator("#report")).to_contain_text("No report yet")
    expect(page.locator("#report pre")).to_have_text("sfumato attack all --target sfumato.toml --secret COLUMN")
    check_axe(page)
    (served.state / "redteam.json").write_text(json.dumps(REPORT))
    page.reload()
    expect(page.locator("#report h2").first).to_have_text("A guarantee was broken, or there was none")
    expect(page.locator(".chain.broken")).to_have_text(
        "raw: broken by 1 of 1 attack; differencing recovered 10 of 10 people's secrets."
    )
    expect(page.locator(".chain.good")).to_have_text("dp: held against 1 of 1 attack.")
    expect(page.locator("td.bad")).to_have_text("broken: 10 of 10 right (100 %)")
    expect(page.locator("#report")).to_contain_text("Epsilon 1 permits much about one person")
    expect(page.locator("#attack-differencing svg")).to_have_count(1)
    for summary in page.locator("summary").all():
        summary.click()
    shown = page.locator("#report").inner_text()
    for text in (
        REPORT["target"],
        REPORT["secret"]["value"],
        "<b>age</b>",
        "<b>no</b>",
        *REPORT["reports"][0]["worst"],
    ):
        assert text in shown
    assert page.evaluate("window.hacked") is None
    assert page.locator("main script, main img, main b, main i").count() == 0
    check_axe(page)
    page.set_viewport_size({"width": 390, "height": 860})
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    page.screenshot(path=tmp_path / "redteam.png", full_page=True)
    assert not auditor.troubles
    ana = tab("ana", start="/redteam")
    expect(ana.page.locator("h1")).to_have_text("You cannot open this page")
    assert ana.page.locator("nav >> text=Attacks").count() == 0


WATCH = """window.tabbed = new Map();
addEventListener("focusin", (event) => {
    const at = event.composedPath()[0];
    const seen = (one) => one && (getComputedStyle(one).outlineStyle !== "none" || seen(one.parentElement));
    window.tabbed.set(at, Boolean(at.matches(".cm-content") || seen(at))); // the editor draws it a moment later: below
}, true);"""
MISSED = """() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
    .filter((one) => !one.disabled && one.checkVisibility() && !window.tabbed.has(one)).map((one) => one.outerHTML)"""
UNSEEN = "() => [...window.tabbed].filter(([, seen]) => !seen).map(([one]) => one.outerHTML)"


def test_everything_is_reached_by_tab_and_the_focus_is_seen(served, tab):
    """From the first link to the last button of each page, and nothing holds the focus."""
    served.gate.sql(COUNT, epsilon=Fraction(1, 4), analyst="owner")
    (served.state / "redteam.json").write_text(json.dumps(REPORT))
    owner = tab("owner", start="/ledger")
    page = owner.page
    page.add_init_script(WATCH)
    paths = ("/history", "/ledger", "/redteam", "/people", "/policy", "/release", "/surveys", "/wizard")
    for path in (*paths, "/play?page=utility", "/"):
        owner.go(path)
        page.wait_for_load_state("networkidle")
        if path == "/":
            owner.ready()
            page.keyboard.press("Control+Enter")
            page.wait_for_selector("#result .foot button")
            page.evaluate("document.querySelector('.skip').focus()")
        many = page.locator("a[href], button, input, select, textarea, summary, [tabindex='0']").count()
        for _ in range(many + 4):  # the editor, a radio or two
            page.keyboard.press("Tab")
        assert page.evaluate(MISSED) == [], path
        assert page.evaluate(UNSEEN) == [], path
    page.locator(".cm-content").focus()
    expect(page.locator(".cm-editor")).to_have_css("outline-style", "solid")
    page.locator("#result .foot button").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("dialog svg")).to_be_visible()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.closest('.foot') !== null")  # back to where one was
    assert not owner.troubles


def test_a_broken_chain_is_red(served, tab):
    import sqlite3

    served.gate.sql(COUNT, analyst="ana")
    file = sqlite3.connect(served.gate.policy.data.ledger)
    file.execute("DROP TRIGGER entry_stays")
    file.execute("UPDATE entry SET body = replace(body, '1/10', '1/11') WHERE kind = 'debit'")
    file.commit()
    file.close()
    auditor = tab("auditor")
    expect(auditor.page.locator(".chain.broken")).to_contain_text("entry 3 of the ledger was changed")


def test_people_come_and_go_in_the_console(served, tab):
    owner = tab("owner", start="/people")
    page = owner.page
    page.fill("#name", "<b>eve</b>")
    page.click("#add button")
    password = page.locator("dialog pre").inner_text()
    with served.client() as client:
        assert client.post("/login", json={"name": "<b>eve</b>", "password": password}).status_code == 200
    page.keyboard.press("Escape")
    row = page.locator("#users tr", has_text="<b>eve</b>")
    check_axe(page)
    row.locator("text=New token").click()
    expect(page.locator("dialog h2")).to_have_text("A token for <b>eve</b>")
    token = page.locator("dialog pre").inner_text()
    page.keyboard.press("Escape")
    with served.client() as client:
        client.headers["Authorization"] = f"Bearer {token}"
        assert client.get("/api/me").json()["name"] == "<b>eve</b>"
        end = page.locator("#tokens tr", has_text="<b>eve</b>").filter(has_text="token").locator("text=Revoke")
        end.click()
        expect(end).to_have_count(0)
        assert client.get("/api/me").status_code == 401
        client.headers["Authorization"] = f"Bearer {tokens.issue(served.users, '<b>eve</b>', timedelta(days=1))[1]}"
        assert client.get("/api/me").status_code == 200
        row.locator("text=Remove").click()
        page.click("dialog button.danger")
        expect(row).to_have_count(0)
        assert client.get("/api/me").status_code == 401
    assert [event for event in journal(served) if "user" in event or "token" in event] == [
        "user added",
        "token made",
        "token revoked",
        "user removed",
    ]
    assert not owner.troubles


def test_people_and_policies_are_changed_by_somebody_who_is_there(served):
    """An owner's token that was lost makes no owners; and a cookie alone, from another site, makes none either."""
    policy = served.gate.policy.path.read_text()
    changes = {
        "/api/people/add": {"name": "eve", "role": "owner"},
        "/api/people/remove": {"name": "ana"},
        "/api/people/token": {"name": "ana"},
        "/api/people/revoke": {"name": "ana", "id": "0" * 12},
        "/api/policy/apply": {"text": policy + "\n", "mark": "0"},
        "/api/policy/write": {"name": "new.toml", "text": policy},
        "/api/policy/reload": {},
    }
    before = served.users.document()
    with served.client("owner") as by_token:
        for path, body in changes.items():
            reply = by_token.post(path, json=body)
            assert (reply.status_code, reply.json()["message"]) == (
                403,
                "users and policies can only be changed in the console",
            )
    with served.client() as by_cookie:
        by_cookie.get("/", params={"link": tokens.link(served.users, "owner")[1]})
        for path, body in (changes | {"/api/freeze": {"frozen": True}}).items():
            reply = by_cookie.post(path, json=body)
            assert (reply.status_code, reply.json()["hint"]) == (403, "Send X-CSRF-Token.")
    for name in ("ana", "auditor"):
        with served.client(name) as client:
            for path, body in (changes | {"/api/freeze": {"frozen": True}, "/api/policy/check": {"text": ""}}).items():
                assert client.post(path, json=body).status_code == 403
            assert client.get("/api/policy").status_code == 403
            assert client.get("/api/people").status_code == 403
    assert served.users.document()["users"] == before["users"]
    assert served.gate.policy.path.read_text() == policy
    assert not (served.gate.policy.path.parent / "new.toml").exists()


def by_session(client, served):
    client.get("/", params={"link": tokens.link(served.users, "owner")[1]})
    client.headers["X-CSRF-Token"] = client.get("/api/me").json()["csrf"]
    return client


def test_a_weaker_promise_is_named_and_has_to_be_confirmed(served, tab, tmp_path):
    owner = tab("owner", start="/policy")
    page = owner.page
    expect(page.locator("#problems")).to_contain_text("No changes.")
    old = page.input_value("#text")
    page.fill("#text", old.replace("\nepsilon = 4 ", "\nepsilon = 5 ", 1))
    expect(page.locator("#weaker")).to_contain_text("epsilon rises from 4 to 5")
    expect(page.locator("#weaker")).to_contain_text("at most 99.4 % instead of 98.3 %")
    expect(page.locator("#apply")).to_be_disabled()
    check_axe(page)
    page.screenshot(path=tmp_path / "weaker.png", full_page=True)
    with served.client() as client:
        by_session(client, served)
        mark = client.get("/api/policy").json()["mark"]
        text = page.input_value("#text")
        refused = client.post("/api/policy/apply", json={"text": text, "mark": mark})
        assert (refused.status_code, refused.json()["message"]) == (400, "this change weakens the guarantee")
    assert served.gate.policy.path.read_text() == old
    page.check("#sure")
    page.click("#apply")
    expect(page.locator("#say")).to_contain_text("is saved")
    assert "epsilon = 5" in served.gate.policy.path.read_text()
    assert not owner.troubles


def test_a_user_is_replaced_only_after_a_question(served, tab):
    owner = tab("owner", start="/people")
    page = owner.page
    before = served.users.document()["users"]["ana"]
    page.fill("#name", "ana")
    page.click("#add button")
    expect(page.locator("dialog h2")).to_have_text("Replace ana?")
    assert served.users.document()["users"]["ana"] == before
    page.click("dialog button.danger")
    expect(page.locator("dialog button.main")).to_have_text("Copy password")
    assert served.users.document()["users"]["ana"] != before
    assert not owner.troubles


def test_a_policy_is_shown_as_a_difference_before_it_is_written(served, tab, tmp_path):
    owner = tab("owner", start="/policy")
    page = owner.page
    expect(page.locator("#problems")).to_contain_text("No changes.")
    old = page.input_value("#text")
    assert old == served.gate.policy.path.read_text()
    expect(page.locator("#apply")).to_be_disabled()
    page.fill("#text", old.replace("max = 120", "max = -1"))
    expect(page.locator("#problems .refusal")).to_contain_text("Line")
    expect(page.locator("#apply")).to_be_disabled()
    page.fill("#text", old.replace("max = 120", "max = 110"))
    expect(page.locator("#diff .more")).to_contain_text("max = 110")
    expect(page.locator("#diff .less")).to_contain_text("max = 120")
    check_axe(page)
    page.screenshot(path=tmp_path / "policy.png", full_page=True)
    page.click("#apply")
    expect(page.locator("#say")).to_contain_text("is saved")
    assert "max = 110" in served.gate.policy.path.read_text()
    assert served.gate.policy.path.with_name("sfumato.toml.before").read_text() == old
    with served.client() as client:
        by_session(client, served)
        late = client.post("/api/policy/apply", json={"text": old, "mark": "0" * 64})
        assert late.json()["message"] == "the policy file was changed in the meantime"
    assert not owner.troubles


def test_a_policy_from_a_browser_stays_in_its_folder(served, tmp_path):
    (tmp_path / "secret.csv").write_text("password\nhunter2\n")
    old = served.gate.policy.path.read_text()
    texts = [
        old.replace('"region.csv"', f'"{tmp_path}/secret.csv"'),
        old.replace('"region.csv"', '"../secret.csv"'),
        old.replace("[data]", '[data]\nstate = "/tmp"'),
        old.replace("[data]", '[data]\nanchor = "../head"'),
        old.replace('"region.csv"', '"https://example.com/x.csv"'),
        *(
            re.sub(r'engine = "duckdb"\nfiles *= .*', f'engine = "spark"\nmaster = "{master}"\ntables = {tables}', old)
            for master, first in (
                ("local[1]", f"csv:{tmp_path}/secret.csv"),
                ("local[1]", "csv: ../secret.csv"),
                ("local[1]", "table:default.secret"),
                ("spark://example.com:7077", "patient.parquet"),
                ("connect: sc://example.com", "patient.parquet"),
            )
            for tables in [f'{{ patient = "{first}", visit = "visit.csv", region = "region.csv" }}']
        ),
    ]
    with served.client() as client:
        by_session(client, served)
        mark = client.get("/api/policy").json()["mark"]
        for text in texts:
            assert text != old
            found = client.post("/api/policy/check", json={"text": text}).json()["problems"]
            assert [one["message"] for one in found] == ["a path is outside the policy's folder"]
            assert client.post("/api/policy/apply", json={"text": text, "mark": mark}).status_code == 400
            assert client.post("/api/policy/write", json={"name": "a.toml", "text": text}).status_code == 400
        for name in ("../a.toml", "a", "sfumato.toml", ".toml", "a/b.toml", "a.toml\n"):
            assert client.post("/api/policy/write", json={"name": name, "text": old}).status_code == 400
        for files in (["../secret.csv"], [str(tmp_path / "secret.csv")], ["sfumato.toml"], [], "patient.parquet", [1]):
            assert client.post("/api/policy/draft", json={"files": files}).status_code == 400
    assert served.gate.policy.path.read_text() == old


def test_the_wizard_writes_a_policy_that_works(served, tab, tmp_path):
    owner = tab("owner", start="/wizard")
    page = owner.page
    for name in ("patient.parquet", "visit.csv", "region.csv"):
        page.check(f"input[value='{name}']")
    page.check("input[value='patient.ssn']")
    expect(page.locator("#odds")).to_contain_text("ε 1: whatever all analysts together ever query, a 50 % suspicion")
    expect(page.locator("#odds")).to_contain_text("becomes at most 73.2 %")
    check_axe(page)

    def decide(label, value):
        field = page.locator(".field", has=page.locator(f"text='{label}'")).locator("input")
        field.fill(value)
        page.keyboard.press("Tab")  # the field may be gone by now: the page saves what loses the focus
        expect(field).to_have_count(0)

    page.click("text=public: no row is about a person")
    decide("patient: rows_per_unit", "1")
    decide("visit: rows_per_unit", "20")
    for column, low, high in (("patient.salary", "0", "200000"), ("visit.cost", "0", "1000")):
        decide(f"{column}: min", low)
        decide(f"{column}: max", high)
    for column in ("patient.admitted", "visit.day"):
        decide(f"{column}: min", "2015-01-01")
        decide(f"{column}: max", "2030-12-31")
    decide("patient.disease: values", "Cold, Flu, Asthma")
    page.locator("#epsilon").focus()
    page.keyboard.press("End")
    expect(page.locator("#odds")).to_contain_text("ε 10")
    page.fill("#name", "mine.toml")
    expect(page.locator("#save")).to_be_enabled()
    page.screenshot(path=tmp_path / "wizard.png", full_page=True)
    page.click("#save")
    expect(page.locator("#done")).to_contain_text("mine.toml was written")
    made = served.gate.policy.path.with_name("mine.toml")
    text = made.read_text().replace('id = "web"', 'id = "mine"')
    assert "epsilon = 10\n" in text
    made.write_text(text)
    with sfumato.open(made) as gate:
        answer = gate.sql("SELECT disease, COUNT(*) AS n FROM patient GROUP BY disease", epsilon=1)
        assert [row[0] for row in answer.rows] == ["Cold", "Flu", "Asthma", None]
    page.click("#save")
    expect(page.locator("#say")).to_contain_text('"mine.toml" already exists')
    assert not [one for one in owner.troubles if "400" not in one]


def test_spending_is_what_the_ledger_adds_up(served):
    for i, (who, price) in enumerate((("ana", Fraction(1, 10)), ("owner", Fraction(1, 5)), ("ana", Fraction(3, 10)))):
        served.gate.sql(f"{COUNT} WHERE age > {i}", epsilon=price, analyst=who)
    with served.client("auditor") as client:
        found = client.get("/api/spending").json()
    own = [(one["analyst"], one["own"]["epsilon"], one["everybody"]["epsilon"]) for one in found["points"]]
    assert own == [("ana", "1/10", "1/10"), ("owner", "1/5", "3/10"), ("ana", "2/5", "3/5")]
    assert Fraction(own[-1][2]) == served.gate.budget().spent.epsilon
    with served.client("ana") as client:
        assert client.get("/api/spending").status_code == 403


def test_an_owner_neither_removes_herself_nor_gives_up_her_role(served):
    with served.client() as client:
        by_session(client, served)
        assert client.post("/api/people/remove", json={"name": "owner"}).status_code == 400
        body = {"name": "owner", "role": "analyst", "password": PASSWORD}
        assert client.post("/api/people/add", json=body).status_code == 400
        assert client.post("/api/people/token", json={"name": "ana", "days": 0}).status_code == 400
        made = client.post("/api/people/token", json={"name": "ana", "days": 2}).json()
        assert client.post("/api/people/revoke", json={"name": "ana", "id": made["id"]}).status_code == 200
        assert tokens.admit(served.users, made["token"]) is None
        (kept,) = [t for t in tokens.tokens(served.users) if t.kind == tokens.SESSION]
        assert kept.ends - kept.made == timedelta(hours=12)


def test_a_page_of_the_playground_is_a_link(served, tab, tmp_path):
    auditor = tab("auditor", start="/play?page=composition&epsilon=0.2&k=50")
    page = auditor.page
    expect(page.locator("#picture svg title")).to_have_text("50 queries together")
    expect(page.locator("#rows")).to_contain_text("basic: epsilons add up10")
    page.locator("#slide-k").focus()
    page.keyboard.press("End")
    expect(page.locator("#picture svg title")).to_have_text("400 queries together")
    page.wait_for_url("**k=400")
    check_axe(page)
    auditor.go("/play?page=utility&n=6&epsilon=1&seen=2&gain=distance")
    expect(page.locator("#picture svg title").first).to_have_text("Truncated geometric as a channel")
    page.select_option("#pick-mechanism", "randomized-response")
    expect(page.locator("#picture svg title").first).to_have_text("Randomized response as a channel")
    page.wait_for_url("**gain=distance**")
    assert "mechanism=randomized-response" in page.url
    page.locator("#slide-n").focus()
    page.keyboard.press("Home")
    expect(page.locator("#value-seen")).to_have_text("2")
    expect(page.locator("#rows")).to_contain_text("best guess after 2")
    check_axe(page)
    for name in ("geometric", "laplace", "gaussian", "averaging", "response", "joint"):
        auditor.go(f"/play?page={name}")
        page.wait_for_selector("#picture svg .curve, #picture svg .in", state="attached")
    page.screenshot(path=tmp_path / "play.png", full_page=True)
    assert not auditor.troubles


def test_a_changed_policy_is_served_after_a_reload_from_the_console(tmp_path):
    """`sfumato serve` as a process: the console is at its HTTP address, and reload is heard by that very process."""
    policy = write_small(tmp_path)
    with running(policy, "--http", "127.0.0.1:0", users=("ana", "owner")) as server, server.client("ana") as ana:
        with httpx.Client(base_url=str(ana.base_url), trust_env=False, timeout=60) as client:
            users = Users(server.state)
            client.get("/", params={"link": tokens.link(users, "owner")[1]})
            client.headers["X-CSRF-Token"] = client.get("/api/me").json()["csrf"]
            assert 'data-page="policy"' in client.get("/policy").text
            old = client.get("/api/policy").json()
            text = old["text"].replace("epsilon = 100", "epsilon = 150")
            found = client.post("/api/policy/check", json={"text": text}).json()
            body = {"text": text, "mark": old["mark"], "confirm": [one["words"] for one in found["weaker"]]}
            assert client.post("/api/policy/apply", json=body).status_code == 200
            assert ana.get("/api/budget").json()["total"]["epsilon"] == "100"
            done = client.post("/api/policy/reload", json={}).json()
            assert done["servers"] == 1
            assert done["warnings"] == ['version "one" was not admitted with these files: `sfumato check` does it']
            assert ana.get("/api/budget").json()["total"]["epsilon"] == "150"
            (tmp_path / "visit.csv").unlink()
            failed = client.post("/api/policy/reload", json={})
            assert (failed.status_code, failed.json()["sqlstate"]) == (422, "F0000")
            assert ana.get("/api/budget").json()["total"]["epsilon"] == "150"
        assert [line["event"] for line in server.log("audit.jsonl")].count("reload asked") == 2
