"""Exercises and Bob in the console: checked by the code of the command, drawn from the policy; nothing is spent."""

from datetime import timedelta

import pytest
from tests.end_to_end import pg
from tests.end_to_end.browser import SCRIPT, Tab, chromium, expect, serving
from tests.end_to_end.test_console import check_axe

from sfumato.learn import EXERCISES, check
from sfumato.server.classroom import open_class


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def served(written, tmp_path_factory):
    with serving(pg.make_clinic(tmp_path_factory.mktemp("learn"), written)) as door:
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


@pytest.mark.parametrize("role", ["ana", "auditor", "owner"])
def test_every_exercise_is_checked_by_the_code_of_the_command(role, served):
    with served.client(role) as client:
        found = client.get("/api/learn").json()["exercises"]
        assert [one["name"] for one in found] == list(EXERCISES)
        assert all(set(one) == {"name", "question"} for one in found)  # no answer comes along
        for one in found:
            exact = EXERCISES[one["name"]].answer()
            for given, right in ((repr(exact), True), (repr(2 * exact + 1), False), ("1/3", check(one["name"], "1/3"))):
                said = client.post("/api/learn/answer", json={"name": one["name"], "answer": given}).json()
                assert said["right"] is right
                assert (said["answer"] is None) == (not right)  # a wrong answer learns nothing but that
            shown = client.post("/api/learn/answer", json={"name": one["name"]}).json()
            assert shown == {
                "name": one["name"],
                "right": None,
                "answer": f"{exact:.6g}",
                "shown_by": EXERCISES[one["name"]].shown_by,
            }


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"name": "coins", "answer": SCRIPT}, "is not a number"),
        ({"name": "coins", "answer": "9" * 101}, "this is not a number"),
        ({"name": "coins", "answer": 1}, "answer must be a text"),
        ({"name": SCRIPT, "answer": "1"}, "there is no exercise with this name"),
        ({"answer": "1"}, "name must be a text"),
        ({"name": "coins", "show": True}, "unknown field"),
    ],
)
def test_what_is_no_answer_is_refused(body, said, served):
    with served.client("ana") as client:
        reply = client.post("/api/learn/answer", json=body)
        assert (reply.status_code, said in reply.json()["message"]) == (400, True)
    with served.client() as stranger:
        assert stranger.get("/api/learn").status_code == 401
        assert stranger.post("/api/learn/answer", json=body).status_code == 401


def test_exercises_are_answered_in_the_console(tab, tmp_path):
    page = tab("auditor", start="/learn").page
    expect(page.locator("#exercises li")).to_have_count(len(EXERCISES))
    expect(page.locator("#pages a[aria-current]")).to_have_text("Exercises")
    one = page.locator("#coins")
    one.locator("input").fill("2")
    one.locator("button.main").click()
    expect(one.locator(".said")).to_have_text("Not right. Try again.")
    one.locator("input").fill("ln 3")
    one.locator("input").press("Enter")
    expect(one.locator(".said")).to_contain_text(f"Right. The answer is {EXERCISES['coins'].answer():.6g}.")
    expect(page.locator("#done")).to_have_text(f"1 of {len(EXERCISES)} answered.")
    other = page.locator("#forty")
    other.locator("input").fill(SCRIPT)
    other.locator("input").press("Enter")
    expect(other.locator(".said")).to_contain_text("is not a number")
    other.locator("text=Show answer").click()
    expect(other.locator(".said")).to_contain_text("The answer is 4.")
    expect(page.locator("#done")).to_have_text(f"1 of {len(EXERCISES)} answered.")  # who looks has not answered
    check_axe(page)
    page.screenshot(path=tmp_path / "learn.png", full_page=True)
    page.reload()
    expect(page.locator("#done")).to_have_text(f"1 of {len(EXERCISES)} answered.")
    assert page.evaluate("window.hacked") is None


def test_bob_is_shown_in_any_query_and_nothing_is_spent(tab, served, tmp_path):
    ana = tab("ana", start="/bob")
    page = ana.page
    expect(page.locator("#laws svg rect.in").first).to_be_visible()
    expect(page.locator("#odds")).to_contain_text("can become at most 62.3 % sure")
    page.fill("#epsilon", "1")
    expect(page.locator("#odds")).to_contain_text("at most 73.2 %")
    page.fill("#sql", "SELECT city, COUNT(*) AS n, SUM(cost) AS total FROM visit GROUP BY city")
    expect(page.locator("#column option")).to_have_text(["n", "total"])
    page.select_option("#column", label="total")
    expect(page.locator("#laws")).to_contain_text("Bob moves")
    check_axe(page)
    page.screenshot(path=tmp_path / "bob.png", full_page=True)
    page.fill("#sql", "SELECT ssn FROM patient")
    expect(page.locator("#refusal")).to_be_visible()
    expect(page.locator("#laws svg")).to_have_count(0)
    page.fill("#sql", f"SELECT '{SCRIPT}' AS x, COUNT(*) AS n FROM patient GROUP BY 1")
    page.wait_for_url("**script**")
    page.fill("#epsilon", "zero")
    expect(page.locator("#refusal")).to_contain_text("epsilon must be a number")
    assert page.evaluate("window.hacked") is None
    assert ana.spent() == 0
    assert not [one for one in ana.troubles if "400" not in one and "422" not in one]


def test_bob_is_not_for_auditors_and_exercises_are(tab, served):
    with served.client("auditor") as client:
        assert client.get("/bob").status_code in (303, 403)
    page = tab("auditor", start="/learn").page
    expect(page.locator("#pages a", has_text="Bob in any query")).to_have_count(0)
    expect(page.locator("#pages a", has_text="Exercises")).to_have_count(1)


def test_the_grid_and_the_attack_are_pages_with_sliders(tab, tmp_path):
    page = tab("ana", start="/play?page=grid").page
    expect(page.locator("#picture svg title").first).to_have_text("Reports of somebody in column 2, row 2")
    page.locator("#slide-column").focus()
    page.keyboard.press("Home")
    expect(page.locator("#picture svg title").first).to_have_text("Reports of somebody in column 1, row 2")
    page.locator("#slide-side").focus()
    page.keyboard.press("Home")
    expect(page.locator("#value-row")).to_have_text("2")
    check_axe(page)
    page.goto(page.url.partition("/play")[0] + "/play?page=attack&epsilon=4&people=1")
    expect(page.locator("#rows")).to_contain_text("the attack is right")
    page.locator("#slide-people").focus()
    page.keyboard.press("End")
    expect(page.locator("#rows")).to_contain_text("each of 40 people")
    check_axe(page)
    page.screenshot(path=tmp_path / "attack.png", full_page=True)


def test_a_student_joins_by_a_click(browser, tmp_path, written):
    """Loading the page takes no account; coming back keeps it; a full class says so in the page's own words."""
    policy = pg.make_clinic(tmp_path, written)
    policy.write_text(policy.read_text(encoding="utf-8") + "\n[analysts.student01]\nepsilon = 1\n", encoding="utf-8")
    with serving(policy) as door:
        link = f"{door.url}/class/{open_class(door.users, timedelta(hours=1))}"
        student, late = (browser.new_context(viewport={"width": 390, "height": 800}).new_page() for _ in range(2))
        late.goto(link)
        expect(late.locator("#join")).to_be_visible()
        student.goto(link)
        student.click("#join")
        expect(student.locator("#after")).to_contain_text("You are student01. Your budget is epsilon 1")
        expect(student.locator("#psql")).to_contain_text("psql postgresql://student01:")
        check_axe(student)
        student.goto(link)
        expect(student.locator("#after")).to_contain_text("You are student01")
        expect(student.locator("#psql")).to_be_hidden()
        student.click("text=Ask a question")
        expect(student.locator("#ask")).to_be_enabled()
        late.click("#join")
        expect(late.locator("#wrong")).to_have_text(
            "This class is full. All of its accounts are taken. Ask the teacher to start a larger one."
        )
        late.goto(link[:-1] + ("A" if link[-1] != "A" else "B"))
        late.click("#join")
        expect(late.locator("#wrong")).to_have_text("This class has ended. Ask the teacher for a new link.")
