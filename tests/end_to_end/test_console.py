"""The console in a real browser: first answer, free preview, refusal and its way out, money, odd names, lost lines."""

import random
import re
import xml.etree.ElementTree as ET
from decimal import Decimal
from fractions import Fraction

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.end_to_end import pg
from tests.end_to_end.browser import COLOURS, LONG, RIGHT_TO_LEFT, SCRIPT, Tab, chromium, expect, serving, write_odd

from sfumato.gateway import Spent, rounding

SERIOUS = ("serious", "critical")
ROUNDED = [  # value, ends, type -> what is shown, and what stands beside it
    ((1412, [1382, 1442], "bigint"), ("1,412", "±30")),
    (("41.234", ["40.434", "42.034"], "numeric"), ("41.23", "±0.80")),
    (("905872.55", ["-144128", "1955873"], "numeric"), ("900,000", "±1,100,000")),
    ((28, [0, 28], "bigint"), ("28", "(0 to 28)")),
    ((75001, None, "bigint"), ("75001", "")),  # a key, such as a postal code
    (("1483054", ["1283338", "1682770"], "numeric"), ("1,480,000", "±200,000")),
    ((None, None, "bigint"), ("NULL", "")),
    (("a<b", None, "text"), ("a<b", "")),
    ((-1500, [-1560, -1440], "bigint"), ("\u22121,500", "±60")),
    (("0.00012", ["0.00002", "0.00022"], "numeric"), ("0.00012", "±0.00010")),
]


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def demo(written, tmp_path_factory):
    with serving(pg.make_clinic(tmp_path_factory.mktemp("web"), written)) as served:
        yield served


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    with serving(write_odd(tmp_path_factory.mktemp("odd"))) as served:
        yield served


@pytest.fixture
def tab(browser, request):
    made = []

    def open_tab(served, name="ana", **options):
        made.append(Tab(browser, served, name, **options))
        return made[-1]

    yield open_tab
    for one in made:
        one.close()


def check_axe(page):
    found = Axe().run(page).response["violations"]
    assert not [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in SERIOUS]


def test_a_first_answer_takes_one_click_and_its_price_was_shown_for_nothing(tab, demo, tmp_path):
    ana = tab(demo)
    ana.ready()
    page = ana.page
    expect(page.locator("#preview")).to_contain_text("ε 0.1")
    expect(page.locator("#preview")).to_contain_text(
        "a 50 % suspicion that somebody is in the data becomes at most 52.5 %, one about their values at most 55 %"
    )
    expect(page.locator("#preview")).to_contain_text("one person changes it by at most 1")
    assert ana.spent() == 0
    page.screenshot(path=tmp_path / "preview.png", full_page=True)
    page.click("#ask")
    page.wait_for_selector("#result tbody tr")
    assert ana.spent() == Fraction(1, 10)
    answer = demo.gate.sql("SELECT disease, COUNT(*) AS n FROM patient GROUP BY disease ORDER BY n DESC", analyst="ana")
    assert answer.cost.epsilon == 0
    rows = page.locator("#result tbody tr")
    assert rows.count() == len(answer.rows) == 6
    shown = [rows.nth(i).locator(".value").inner_text() for i in range(6)]
    assert [int(text.replace(",", "")) for text in shown] == [row[1] for row in answer.rows]
    assert page.locator("#result .whisker").count() == 3 * 6
    expect(page.locator(".gauge")).to_contain_text("0.9 of 1 ε left")
    expect(page.locator(".gauge")).to_contain_text(
        re.compile(r"enough for about \d+ quer(y|ies)( like this one)? at ε 0\.1")
    )
    expect(page.locator("#ask")).to_contain_text("free")
    check_axe(page)
    page.screenshot(path=tmp_path / "answer.png", full_page=True)
    assert not ana.troubles


def test_the_law_of_a_number_is_the_mechanisms_own(tab, demo):
    ana = tab(demo)
    ana.ask()
    page = ana.page
    page.click("button:has-text('Effect of one person')")
    page.wait_for_selector("dialog svg rect.in")
    expect(page.locator("dialog")).to_contain_text("Epsilon 0.1 allows up to e^0.1 = 1.1052.")
    expect(page.locator("dialog")).to_contain_text("at most 52.5 %")
    check_axe(page)
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).not_to_be_visible()
    assert not ana.troubles


def test_one_result_shows_the_laws_of_what_was_released_for_it(tab, odd):
    """Of a ratio its two numbers; of a choice the law for people who are made up; of what has none, why."""
    ana = tab(odd)
    ana.ready()
    page = ana.page
    ana.write(
        "SELECT SUM(code) / COUNT(*) AS ratio, MODE() WITHIN GROUP (ORDER BY colour) AS mode,"
        f" MIN({LONG}) AS least FROM people"
    )
    ana.ask()
    expect(page.locator("#result figure.law svg")).to_have_count(2)
    expect(page.locator("#result figure.law")).to_contain_text(
        "Released for it: the sum of code. Bob moves it by at most 4,999."
    )
    page.click("#result .foot button >> text=mode")
    expect(page.locator("dialog")).to_contain_text(
        "The probability of each value depends on the rows, which a picture must not reveal."
    )
    expect(page.locator("dialog")).to_contain_text(SCRIPT)
    assert page.evaluate("window.hacked") is None
    check_axe(page)
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()
    page.click("#result .foot button >> text=least")
    expect(page.locator("dialog svg rect.in").first).to_be_visible()  # else Escape comes before the dialog
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()
    ana.write("SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) AS so_far FROM people GROUP BY day")
    ana.ask()
    page.click("button:has-text('Effect of one person')")
    expect(page.locator("dialog")).to_contain_text("There is no picture of this column: prefix sums share their noise")
    assert not ana.troubles


def test_a_refusal_is_shown_at_its_place_and_its_way_out_is_a_button(tab, demo):
    ana = tab(demo)
    ana.ready()
    before = ana.spent()
    ana.write("SELECT area, ssn FROM patient WHERE age > 44 AND ssn = '000-00-0042'")
    page = ana.page
    expect(page.locator("#refusal")).to_contain_text("identifiers of individual people")
    expect(page.locator("#ask")).to_be_disabled()
    expect(page.locator(".cm-lintRange-error")).to_have_text("ssn")
    check_axe(page)
    page.click("text=Ask this instead")
    expect(page.locator("#refusal")).to_be_hidden()
    assert ana.spent() == before
    ana.ready()
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#result tbody tr")
    assert ana.spent() == before + Fraction(1, 10)
    assert not ana.troubles


def test_the_slider_and_the_width_choose_the_price(tab, demo):
    ana = tab(demo)
    ana.ready()
    before = ana.spent()
    page = ana.page
    page.fill("#within", "10")
    preview = demo.gate.explain(
        "SELECT disease, COUNT(*) AS n FROM patient GROUP BY disease ORDER BY n DESC", analyst="ana", within=10
    )
    expect(page.locator("#ask")).to_contain_text(f"ε {float(preview.cost.epsilon):.3g}")
    expect(page.locator("#preview .width")).to_have_text("± 10")
    page.locator("#slider").focus()
    page.keyboard.press("Home")
    expect(page.locator("#epsilon")).to_have_value("0.0032")
    expect(page.locator("#within")).to_have_value("")
    assert ana.spent() == before


def test_what_is_typed_is_completed_from_the_schema_with_and_aliases(tab, demo):
    ana = tab(demo)
    ana.ready()
    ana.write("WITH young AS (SELECT area, age AS years FROM patient) SELECT COUNT(*) FROM young y WHERE y.")
    ana.page.keyboard.type("ye")
    expect(ana.page.locator(".cm-tooltip-autocomplete")).to_contain_text("years")
    ana.page.keyboard.press("Escape")
    ana.write("SELECT COUNT(*) FROM patient WHERE disease = '")
    ana.page.keyboard.type("As")
    expect(ana.page.locator(".cm-tooltip-autocomplete")).to_contain_text("Asthma")
    ana.page.keyboard.press("Escape")
    ana.write("SELECT COUNT(*) FROM patient ")
    ana.page.keyboard.type("gro")
    expect(ana.page.locator(".cm-tooltip-autocomplete li").first).to_have_text("GROUP BY")
    ana.page.wait_for_timeout(150)  # what has just come up is not taken yet
    ana.page.keyboard.press("Tab")
    ana.page.keyboard.type(" are")
    expect(ana.page.locator(".cm-tooltip-autocomplete li").first).to_contain_text("area")
    ana.page.locator("#epsilon").focus()
    expect(ana.page.locator(".cm-tooltip-autocomplete")).to_have_count(0)
    expect(ana.page.locator(".cm-content")).to_have_text("SELECT COUNT(*) FROM patient GROUP BY are")
    ana.write("SELECT COUNT(*) FROM ")
    ana.page.keyboard.type("r")
    expect(ana.page.locator(".cm-tooltip-autocomplete li").first).to_contain_text("regiontable")
    ana.page.keyboard.press("Escape")
    ana.write("SELECT COUNT(*) FROM patient p JOIN region r ON p.area = r.area WHERE ")
    ana.page.keyboard.type("are")
    expect(ana.page.locator(".cm-tooltip-autocomplete li").first).to_contain_text("areain patient, region")


def test_an_answer_says_that_it_belongs_to_the_query_before(tab, demo):
    ana = tab(demo)
    ana.ask()
    head = ana.page.locator("#result .headline h2")
    expect(head).to_have_text("Answer")
    asked = ana.page.locator(".cm-content").inner_text()
    ana.write("SELECT COUNT(*) AS other FROM patient")
    expect(head).to_have_text("Answer to the previous query")
    expect(ana.page.locator("#result.stale")).to_have_count(1)
    ana.write(asked)
    expect(head).to_have_text("Answer")
    expect(ana.page.locator("#result.stale")).to_have_count(0)


def test_a_spent_budget_is_said_before_anything_is_asked(tab, odd, tmp_path):
    bob = tab(odd, "bob")
    bob.ready()
    page = bob.page
    page.fill("#epsilon", "1")
    expect(page.locator("#ask")).to_contain_text("ε 1")
    bob.ask()
    bob.write("SELECT COUNT(*) AS n FROM people WHERE code < 10")
    expect(page.locator("#refusal.money")).to_contain_text("does not allow this query")
    expect(page.locator("#ask")).to_be_disabled()
    expect(page.locator(".gauge")).to_contain_text("spent: repeated queries stay free")
    expect(page.locator("#preview .sums")).to_contain_text("budget after–")
    check_axe(page)
    page.screenshot(path=tmp_path / "spent.png", full_page=True)
    assert bob.spent() == 1


def test_markup_right_to_left_null_and_long_names_are_text(tab, odd, tmp_path):
    ana = tab(odd, width=390, dark=True)
    page = ana.page
    ana.ready()
    ana.write(f'SELECT colour, COUNT(*) AS "<b>n</b>", SUM({LONG}) AS {LONG} FROM people GROUP BY colour')
    ana.ask()
    text = page.locator("#result table").inner_text()
    assert SCRIPT in text
    assert "<b>n</b>" in text
    assert "NULL" in text
    assert page.locator("#result bdi", has_text=RIGHT_TO_LEFT.split()[0]).count() == 1
    assert page.evaluate("window.hacked") is None
    assert page.locator("main script, main img, main b").count() == 0
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) == 0
    ana.write("SELECT COUNT(*) FROM people WHERE colour = '")
    page.keyboard.type("<")
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("<script>")
    page.keyboard.press("Escape")
    ana.go("/history")
    page.wait_for_selector("tbody tr")
    assert page.evaluate(wide) == 0
    check_axe(page)
    page.screenshot(path=tmp_path / "history.png", full_page=True)
    assert not ana.troubles


def test_five_thousand_groups_stay_readable(tab, odd, tmp_path):
    ana = tab(odd)
    ana.ready()
    ana.write("SELECT code, COUNT(*) AS n FROM people GROUP BY code")
    ana.ask()
    page = ana.page
    assert page.locator("#result tbody tr").count() == 200
    page.click("text=show more")
    assert page.locator("#result tbody tr").count() == 1200
    expect(page.locator("#result figcaption")).to_contain_text("Showing the first 30 of 5,001 rows")
    page.screenshot(path=tmp_path / "many.png")
    assert not ana.troubles


def test_columns_sort_charts_download_and_long_lines_are_thinned(tab, odd, tmp_path):
    ana = tab(odd)
    page = ana.page
    ana.ready()
    ana.write("SELECT code * 2 AS twice, COUNT(*) AS n FROM people GROUP BY twice")
    ana.ask()
    expect(page.locator("#result figcaption")).to_contain_text("the minimum and maximum of each interval")
    assert 100 < page.locator("#result svg.chart circle").count() <= 600
    first = "#result tbody tr:first-child td:nth-child({0}) .value"
    page.click("#result th:nth-child(1) button")
    assert page.locator("#result th:nth-child(1)").get_attribute("aria-sort") == "ascending"
    assert page.locator(first.format(1)).inner_text() == "0"
    page.click("#result th:nth-child(1) button")
    assert page.locator(first.format(1)).inner_text().replace(",", "") == "9998"
    with page.expect_download() as caught:
        page.click("text=Download chart")
    saved = caught.value.path().read_text()
    assert saved.startswith("<svg")
    assert "<style" in saved
    page.screenshot(path=tmp_path / "line.png", full_page=True)
    assert not ana.troubles


def test_a_date_beside_another_key_is_a_line_for_each_of_its_values(tab, odd, tmp_path):
    ana = tab(odd)
    page = ana.page
    ana.ready()
    ana.write(
        "SELECT colour IS NULL AS missing, date_trunc('month', day) AS month, COUNT(*) AS n FROM people GROUP BY 1, 2"
    )
    ana.ask()
    rows = page.locator("#result tbody tr").all_inner_texts()
    places = {"false": 0, "true": 0}
    for row in rows:
        missing, month = row.split("\t")[:2]
        places[missing] += month.strip() != "NULL"
    assert page.locator("#result svg.chart path.path").count() == 2
    assert page.locator("#result svg.chart g > .dot").count() == sum(places.values()) >= 24
    assert page.locator("#result svg.chart line.path").count() == 2  # the legend
    assert page.locator("#result svg.chart text.name > title").all_text_contents() == ["false", "true"]
    if len(rows) > sum(places.values()):
        expect(page.locator("#result figcaption")).to_contain_text("Rows without a month are not drawn")
    page.locator("#result figure").screenshot(path=tmp_path / "lines.png")
    assert not ana.troubles


OVERLAPS = """() => {
    const texts = [...document.querySelectorAll("#result svg.chart text")];
    const boxes = texts.map((text) => [text.lastChild.textContent, text.getBoundingClientRect()]);
    const edge = document.querySelector("#result svg.chart").getBoundingClientRect(), bad = [];
    boxes.forEach(([first, a], i) => {
        if (a.left < edge.left - 1 || a.right > edge.right + 1) bad.push([first, "outside"]);
        for (const [second, b] of boxes.slice(i + 1)) {
            const apart = a.right < b.left + 1 || b.right < a.left + 1 || a.bottom < b.top + 2 || b.bottom < a.top + 2;
            if (!apart) bad.push([first, second]);
        }
    });
    return bad;
}"""


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True), (1700, True)])
def test_two_keys_have_a_legend_and_no_text_lies_on_another(tab, odd, tmp_path, width, dark):
    """Lines over time for each of at most eight values, and bars in groups; values that are markup stay text."""
    ana = tab(odd, width=width, dark=dark)
    page = ana.page
    asked = {
        "lines": "SELECT date_trunc('month', day) AS month, colour, COUNT(*) AS n FROM people GROUP BY 1, 2",
        "many": "SELECT date_trunc('month', day) AS month, code % 12 AS part, COUNT(*) AS n FROM people GROUP BY 1, 2",
        "groups": f"SELECT colour, {LONG} > 4 AS high, COUNT(*) AS n FROM people GROUP BY 1, 2",
    }
    for name, sql in asked.items():
        ana.ready()
        ana.write(sql)
        ana.ready()
        expect(page.locator("#ask")).to_contain_text(re.compile("ε 0.5|free"))
        page.click("#ask")
        second = {"lines": "colour", "many": "part", "groups": "high"}[name]
        expect(page.locator("#result th button").nth(1)).to_have_text(second)
        expect(page.locator("#result .headline h2")).to_have_text("Answer")
        chart = page.locator("#result svg.chart")
        page.locator("#result figure").screenshot(path=tmp_path / f"{name}-{width}.png")
        assert page.evaluate(OVERLAPS) == [], name
        legend = chart.locator("> text.name > title").all_text_contents()
        if name == "lines":
            assert sorted(legend) == sorted([*COLOURS, "NULL"])
            assert chart.locator("path.path").count() == 6
            assert len({one.get_attribute("d") for one in chart.locator("> path.dot").all()}) == 6
        elif name == "many":
            assert len(legend) == chart.locator("path.path").count() == 8
            fewer = re.compile(r"Showing 8 of 1[23] lines \(by part\)")
            expect(page.locator("#result figcaption")).to_contain_text(fewer)
        else:
            assert "true" in legend
            assert chart.locator(".bar-fill").count() == page.locator("#result tbody tr").count()
            bars = [int(float(one.get_attribute("x"))) for one in chart.locator(".bar-fill").all()]
            zero = int(float(chart.locator("line.zero").get_attribute("x1")))
            assert zero in bars  # bars start at 0
            cut = "box => box.scrollHeight - box.clientHeight"
            assert page.locator("#result .drawing").evaluate(cut) <= 1  # the axis and what whiskers mean are seen
    with page.expect_download() as caught:
        page.click("text=Download chart")
    saved = ET.fromstring(caught.value.path().read_text())
    words = ["".join(text.itertext()) for text in saved.iter("{http://www.w3.org/2000/svg}text")]
    assert any(SCRIPT in text for text in words)
    assert any(text.startswith("Whiskers contain the exact number") for text in words)  # the sentence below it, too
    assert not list(saved.iter("{http://www.w3.org/2000/svg}script"))
    assert page.evaluate("window.hacked") is None
    assert not ana.troubles


def test_a_missing_point_is_a_gap_and_the_largest_lines_are_drawn(tab, demo):
    script = """async () => {
        const { pieces, largestSeries, seriesPlan } = await import("/static/series.js");
        const { range } = await import("/static/axes.js");
        const at = (...places) => places.map((place) => ({ at: place }));
        const rows = Array.from({ length: 12 }, (_, i) => ({ series: `s${i}`, value: i === 3 ? -99 : i }));
        const plan = (types, rows, columns = types) => seriesPlan({ types, rows, columns }, types.map((_, i) => i));
        return [
            pieces(at(1, 2, 4), [1, 2, 3, 4]).map((one) => one.piece),
            pieces(at(1, 2, 3, 9, 10), [1, 2, 3, 9, 10]).map((one) => one.piece),
            pieces(at(1, 2, 9, 30), [1, 2, 9, 30]).map((one) => one.piece),
            largestSeries(rows).chosen,
            range([{ value: 41, ends: [40, 42] }], false)[0] > 0, range([{ value: 41, ends: [40, 42] }])[0],
            range([{ value: 3, ends: [0, 6] }], false)[0],
            plan(["text", "timestamp"], [["a", "1"], ["b", "2"], ["a", "3"]]),
            plan(["text", "bigint"], [["a", "1"], ["b", "2"], ["a", "3"]], ["colour", "zipcode"]),
            plan(["text", "text", "text"], [["a", "1", "x"], ["b", "2", "y"]]),
        ];
    }"""
    lacked, longer, irregular, chosen, above, bars, low, times, codes, three = tab(demo).page.evaluate(script)
    assert lacked == [0, 0, 1]  # another line has a point there
    assert longer == [0, 0, 0, 1, 1]  # no line has one
    assert irregular == [0, 0, 0, 0]  # there is no usual step
    assert chosen == ["s3", *(f"s{i}" for i in range(5, 12))]
    assert (above, bars, low) == (True, 0, 0)
    assert times == {"key": 1, "series": [0], "kind": "line"}
    assert codes == {"key": 1, "series": [0], "kind": "groups"}
    assert three is None


def test_an_unknown_number_has_no_bar(tab, odd):
    ana = tab(odd)
    page = ana.page
    ana.ready()
    ana.write("SELECT day < DATE '2000-01-01' AS early, AVG(code) AS mean FROM people GROUP BY early")
    ana.ask()
    rows = page.locator("#result tbody tr").count()
    unknown = page.locator("#result tbody").inner_text().count("unknown")
    assert 1 <= unknown < rows  # nobody came before 2000
    assert page.locator("#result svg.chart .bar-fill").count() == rows - unknown
    expect(page.locator("#result figcaption")).to_contain_text("not drawn")
    edges = "cells => cells.map(cell => Math.round(cell.getBoundingClientRect().right))"
    assert len(set(page.locator("#result td .value").evaluate_all(edges))) == 1  # digits below each other


def test_tabs_and_saved_queries_come_back(tab, odd, tmp_path):
    ana = tab(odd)
    page = ana.page
    ana.ready()
    ana.write("SELECT COUNT(*) AS first FROM people")
    page.click("#save")
    page.fill("#save-name", "<b>mine</b>")
    page.click("dialog form button")
    expect(page.locator("#saved")).to_contain_text("<b>mine</b>")
    page.click("#tabs >> [aria-label='New tab']")
    ana.write("SELECT COUNT(*) AS second FROM people")
    assert page.locator("#tabs .tab").count() == 2
    expect(page.locator("#ask")).to_be_enabled()
    page.screenshot(path=tmp_path / "tabs.png", full_page=True)
    page.reload()
    ana.ready()
    assert page.locator("#tabs .tab").count() == 2
    expect(page.locator(".cm-content")).to_contain_text("second")
    page.click("#kept summary")
    page.click("#saved button >> nth=0")
    expect(page.locator(".cm-content")).to_contain_text("first")
    page.click("#tabs >> [aria-label='Close tab 2']")
    assert page.locator("#tabs .tab").count() == 1
    check_axe(page)
    assert not ana.troubles


def test_an_unfinished_query_is_no_mistake_yet(tab, odd):
    ana = tab(odd)
    page = ana.page
    ana.ready()
    at = page.locator("#ask").bounding_box()["y"]
    ana.write("SELECT COUNT(*) FROM peop")
    with page.expect_response("**/api/explain"):
        page.keyboard.insert_text("")
        page.keyboard.type("l")
    assert page.locator("#refusal").is_hidden()
    expect(page.locator("#refusal")).to_be_visible()
    assert page.locator("#ask").bounding_box()["y"] == at  # nothing above it moved
    assert not ana.troubles


def test_a_page_that_is_not_there_is_a_page(tab, odd):
    ana = tab(odd)
    ana.page.goto(odd.url + "/nowhere")
    expect(ana.page.locator("h1")).to_have_text("Page not found")
    with odd.client("ana") as client:
        assert client.get("/nowhere").headers["content-type"].startswith("application/json")


def test_a_lost_reply_is_asked_for_again_and_paid_once(tab, odd):
    ana = tab(odd)
    ana.ready()
    ana.write("SELECT COUNT(*) AS n FROM people WHERE code < 77")
    ana.ready()
    before, page = ana.spent(), ana.page
    lost, keys = [], []

    def lose(route):
        keys.append(route.request.headers["idempotency-key"])
        if lost:
            route.continue_()
            return
        lost.append(route.fetch().status)  # it was answered, and the answer got lost
        route.abort()

    page.route("**/api/query", lose)
    page.click("#ask")
    expect(page.locator("#say")).to_contain_text("The connection was lost")
    assert lost == [200]
    page.click("#say >> text=Try again")
    page.wait_for_selector("#result tbody tr")
    assert ana.spent() == before + Fraction(1, 2)
    assert len(keys) == 2
    assert len(set(keys)) == 1  # a retry, by its name too
    page.context.set_offline(True)
    ana.write("SELECT COUNT(*) AS n FROM people WHERE code < 78")
    expect(page.locator("#say")).to_contain_text("Nothing was sent or charged")
    page.context.set_offline(False)
    page.click("#say >> text=Try again")
    ana.ready()
    assert ana.spent() == before + Fraction(1, 2)


def test_an_export_costs_nothing_and_is_the_answer(tab, odd):
    ana = tab(odd)
    ana.ready()
    ana.write("SELECT colour, COUNT(*) AS n FROM people GROUP BY colour")
    ana.ask()
    before = ana.spent()
    with ana.page.expect_download() as caught:
        ana.page.click("text=CSV")
    text = caught.value.path().read_text(encoding="utf-8")
    assert text.startswith("colour,n,n_low,n_high")
    ana.page.click("text=psql")
    expect(ana.page.locator("dialog pre")).to_contain_text("psql 'host=127.0.0.1 port=5439 user=ana dbname=odd'")
    assert ana.spent() == before


def test_a_page_of_another_role_and_a_request_of_another_site_are_turned_away(tab, odd):
    ana = tab(odd)
    reply = ana.page.goto(f"{odd.url}/history")
    assert reply.status == 200
    ask = """(more) => fetch("/api/query", {method: "POST", headers: {"Content-Type": "application/json", ...more},
        body: JSON.stringify({sql: "SELECT COUNT(*) FROM people"})}).then((reply) => reply.status)"""
    before = ana.spent()
    assert ana.page.evaluate(ask, {}) == 403
    assert ana.page.evaluate(ask, {"X-CSRF-Token": "0" * 64}) == 403
    assert ana.spent() == before


def test_name_and_password_lead_to_the_page_that_was_wanted(browser, odd):
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{odd.url}/history")
    assert page.url.endswith("/login?next=%2Fhistory")
    check_axe(page)
    page.fill("#name", "ana")
    page.fill("#password", "wrong horse")
    page.keyboard.press("Enter")
    expect(page.locator("#wrong")).to_have_text("Wrong name or password.")
    page.fill("#password", pg.PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/history")
    page.click("text=Log out")
    page.wait_for_url("**/login")
    for elsewhere in ("//evil.example/", "/.//evil.example/", "https://evil.example/", "javascript:alert(1)"):
        page.goto(f"{odd.url}/login?next={elsewhere}")
        page.fill("#name", "ana")
        page.fill("#password", pg.PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: "/login" not in url)
        assert page.url.startswith(f"{odd.url}/")
        page.goto("about:blank")
        context.clear_cookies()
    context.close()


def test_numbers_are_rounded_by_their_own_width(tab, demo):
    """Never more digits than the noise allows, and never a smaller width than it is."""
    ana = tab(demo)
    script = """async (cases) => {
        const { shown, wide, percent, toNumber } = await import("/static/numbers.js");
        return [cases.map((one) => shown(...one)), wide("1198293"), wide("1/3"), percent("0.731059"), toNumber("1/8")];
    }"""
    found, *rest = ana.page.evaluate(script, [list(given) for given, _ in ROUNDED])
    assert [(one["text"], one["beside"]) for one in found] == [wanted for _, wanted in ROUNDED]
    assert rest == ["1,200,000", "0.34", "73.2\u00a0%", 0.125]


def test_the_console_writes_numbers_as_the_command_line_and_notebooks_do(tab, demo):
    """One rule in two languages: the same digits, separators and intervals."""
    rng, cases = random.Random(5), []
    for places in (0, 0, 2, 4):
        for power in range(1, 8):
            for _ in range(12):
                half = Decimal(rng.randrange(1, 10**power)).scaleb(-places)
                value = Decimal(rng.randrange(-(10**6), 10**7)).scaleb(-places)
                low = value - (half if rng.random() < 0.5 else half * rng.randrange(1, 4))
                cases.append((value, low, value + half))
    given = [[str(value), [str(low), str(high)], "numeric"] for value, low, high in cases]
    script = """async (cases) => {
        const { shown, wide } = await import("/static/numbers.js");
        return [cases.map((one) => shown(...one)), cases.map((one) => wide(String(one[1][1] - one[1][0])))];
    }"""
    texts, widths = tab(demo).page.evaluate(script, given)
    wanted = [rounding.around(value, (low, high)) for value, low, high in cases]
    assert [(one["text"].replace("\u2212", "-"), one["beside"].replace("\u2212", "-")) for one in texts] == wanted
    whole = [i for i, (_, low, high) in enumerate(cases) if (high - low) % 1 == 0]
    assert [widths[i] for i in whole] == [rounding.width(Fraction(cases[i][2] - cases[i][1])) for i in whole]


def test_the_console_counts_queries_as_the_command_line_does(tab, demo):
    """Seven queries at 0.1 are what 0.7 allows, although 7 * 0.1 is above 0.7 in doubles."""
    prices = [Fraction(each) for each in ("0.1", "0.3", "0.07")]
    cases = [(n, each, n * each) for each in prices for n in range(1, 40)]
    cases += [(n + 1, each, left) for n, each, left in cases]
    script = """async (cases) => {
        const { enoughFor } = await import("/static/numbers.js");
        return cases.map(([n, each, left]) => enoughFor(n, { epsilon: each }, { epsilon: left }, true));
    }"""
    found = tab(demo).page.evaluate(script, [[n, str(each), str(left)] for n, each, left in cases])
    amounts = [(n, *(Spent(x, None, Fraction(0)) for x in rest)) for n, *rest in cases]
    assert [text.replace("ε", "epsilon") for text in found] == [rounding.enough_for(*one) for one in amounts]


def test_ticks_of_dates_are_beginnings(tab, demo):
    """Years, months or days as people name them, not whatever row is at a third."""
    script = """async (spans) => {
        const { timeTicks } = await import("/static/axes.js");
        return spans.map(([a, b]) => timeTicks(Date.parse(a), Date.parse(b)).map((one) => one.name));
    }"""
    spans = [
        ["2023-01-01", "2025-12-31"], ["2023-02-03", "2023-11-20"], ["2024-05-30", "2024-06-04"],
        ["1950-01-01", "2020-01-01"], ["2024-01-01T08:00:00Z", "2024-01-01T12:30:00Z"],
    ]  # fmt: skip
    years, months, days, decades, hours = tab(demo).page.evaluate(script, spans)
    assert years == ["2023", "2024", "2025"]
    assert months == ["2023-04", "2023-07", "2023-10"]
    assert days == ["2024-05-30", "2024-05-31", "2024-06-01", "2024-06-02", "2024-06-03", "2024-06-04"]
    assert decades == ["1950", "1975", "2000"]
    assert hours == ["01-01 08:00", "01-01 09:00", "01-01 10:00", "01-01 11:00", "01-01 12:00"]


def test_fewer_rows_of_each_person_are_a_choice_with_their_widths(tab, demo):
    ana = tab(demo)
    ana.ready()
    ana.write("SELECT COUNT(*) AS n FROM visit")
    page = ana.page
    expect(page.locator("#preview .width")).to_have_text("± 600")
    page.select_option(".fewer select", "10")
    narrow = demo.gate.explain("SELECT COUNT(*) AS n FROM visit", analyst="ana", rows_per_unit=10)
    expect(page.locator("#preview .width")).to_have_text(f"± {narrow.columns[0].half_width()}")
    before = ana.spent()
    ana.ask()
    again = demo.gate.sql("SELECT COUNT(*) AS n FROM visit", analyst="ana", rows_per_unit=10)
    assert again.cost.epsilon == 0  # this is what was asked and paid for
    assert ana.spent() > before


def test_a_session_that_ends_loses_no_question_and_one_number_shows_its_law(tab, demo):
    ana = tab(demo)
    ana.ready()
    sql = "SELECT COUNT(*) AS n FROM patient WHERE age > 60"
    with ana.page.expect_response("**/api/explain"):  # else the preview is the first to hear that the session ended
        ana.write(sql)
    ana.page.wait_for_url("**sql=SELECT+COUNT**")
    ana.ready()
    ana.context.clear_cookies()
    ana.page.click("#ask")
    ana.page.wait_for_url("**/login?next=**")
    ana.page.fill("#name", "ana")
    ana.page.fill("#password", pg.PASSWORD)
    ana.page.keyboard.press("Enter")
    expect(ana.page.locator(".cm-content")).to_have_text(sql)
    ana.ask()
    expect(ana.page.locator("#result svg .in").first).to_be_attached()
    expect(ana.page.locator("#result figcaption")).to_contain_text("at most 52.5 %")
