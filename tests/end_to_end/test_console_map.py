"""The map page of the console: what it draws, and that no position leaves the browser."""

from pathlib import Path

import pytest
from tests.end_to_end import pg
from tests.end_to_end.browser import Tab, chromium, expect, serving
from tests.end_to_end.test_console import check_axe

from sfumato.geo.mechanism import LocationMechanism
from sfumato.geo.retrieval import retrieve
from sfumato.server import console

ADDON = Path(__file__).parents[2] / "clients" / "browser" / "location" / "noise"


@pytest.fixture
def page(written, tmp_path):
    with serving(pg.make_clinic(tmp_path / "web", written)) as door, chromium() as opened:
        tab = Tab(opened, door, "auditor", start="/map")
        yield tab
        assert tab.troubles == []
        tab.close()


def test_the_noise_of_the_console_is_that_of_the_addon():
    ours = Path(console.__file__).parent / "static" / "noise"
    names = sorted(path.name for path in ADDON.glob("*.js"))
    assert names == sorted(path.name for path in ours.glob("*.js"))
    assert len(names) == 4
    for name in names:
        assert (ours / name).read_bytes() == (ADDON / name).read_bytes(), name


def test_a_report_is_drawn_and_nothing_is_sent(page):
    expect(page.page.locator("#near .ring")).to_have_count(4)
    expect(page.page.locator("#near .cloud")).to_have_count(250)
    expect(page.page.locator("#world .land")).to_have_count(1)
    sent = []
    page.page.on("request", lambda request: sent.append(request.url))
    before = page.page.locator("#facts dd").first.text_content()
    page.page.click("text=Draw a report")
    expect(page.page.locator("#facts dd").first).not_to_have_text(before)
    page.page.locator("#world svg").click(position={"x": 30, "y": 30})
    expect(page.page.locator("#lat")).not_to_have_value("48.8584")
    assert sent == []
    made = LocationMechanism.within("ln 4", 200)
    area = retrieve(made, 300).grid_radius
    for place, metres in ((1, area - 300), (2, area)):
        shown = page.page.locator("#facts dd").nth(place).text_content()
        assert abs(float(shown.split()[0].replace(",", "")) - metres) < 0.6
    page.page.fill("#level", "ln 1")
    page.page.click("text=Draw a report")
    expect(page.page.locator("#say")).to_contain_text("a level is above 0")
    check_axe(page.page)
