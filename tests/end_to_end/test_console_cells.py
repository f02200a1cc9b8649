"""A heat map in the console: an answer whose key is a cell is drawn as squares, in place."""

import random

import pytest
from tests.end_to_end.browser import Tab, chromium, expect, serving
from tests.end_to_end.test_console import check_axe

POLICY = """
[source]
engine = "duckdb"
files = { trip = "trip.csv" }
[data]
id = "trips"
[privacy]
epsilon = 400
query_epsilon = 5
[analysts.ana]
epsilon = 300
[tables.trip]
unit = "id"
rows_per_unit = 1
[tables.trip.columns]
id = { type = "integer" }
lat = { type = "decimal", min = 48.80, max = 48.92, grid = 0.00001 }
lon = { type = "decimal", min = 2.22, max = 2.48, grid = 0.00001 }
place = { type = "point", grid = 2000 }
"""


@pytest.fixture
def ana(tmp_path):
    r = random.Random(5)
    points = [(r.gauss(48.89, 0.01), r.gauss(2.25, 0.02)) for _ in range(600)]  # most people live in the north-west
    lines = ["id,lat,lon", *(f"{i},{lat:.6f},{lon:.6f}" for i, (lat, lon) in enumerate(points))]
    (tmp_path / "trip.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "sfumato.toml").write_text(POLICY, encoding="utf-8")
    with serving(tmp_path / "sfumato.toml") as served, chromium() as opened:
        tab = Tab(opened, served, "ana")
        tab.ready()
        yield tab
        assert tab.troubles == []
        tab.close()


def test_a_heat_map_is_drawn_where_it_lies(ana, tmp_path):
    """70 cells in 7 rows and 10 columns, north above; the fullest is the darkest."""
    ana.write("SELECT place, COUNT(*) AS n FROM trip GROUP BY place")
    ana.ask()
    cells = ana.page.locator("#result svg.cells rect")
    expect(cells).to_have_count(70)
    drawn = cells.evaluate_all(
        "all => all.map(r => [+r.getAttribute('x'), +r.getAttribute('y'), +r.getAttribute('fill-opacity'),"
        " r.classList.contains('sure'), r.textContent])"
    )
    assert len({x for x, *_ in drawn}) == 10
    assert len({y for _, y, *_ in drawn}) == 7
    darkest = max(drawn, key=lambda one: one[2])
    assert darkest[2] == 1
    assert darkest[3]
    assert darkest[0] < 0.3 * max(x for x, *_ in drawn)
    assert darkest[1] < 0.5 * max(y for _, y, *_ in drawn)
    south_west = next(one for one in drawn if one[4].startswith("48.8090,2.2336"))
    assert south_west[0] == min(x for x, *_ in drawn)
    assert south_west[1] == max(y for _, y, *_ in drawn)
    expect(ana.page.locator("#result figcaption")).to_contain_text("No position:")
    expect(ana.page.locator("details.table")).to_contain_text("cells of 2000 m")
    expect(ana.page.locator("details.table")).not_to_contain_text("undefined")
    check_axe(ana.page)
    ana.page.screenshot(path=tmp_path / "cells.png", full_page=True)


def test_many_cells_are_drawn_as_pixels(ana):
    ana.write("SELECT geo_cell(place, 200) AS cell, COUNT(*) AS n FROM trip GROUP BY cell")
    ana.ask()
    canvas = ana.page.locator("#result canvas.cells")
    expect(canvas).to_be_visible()
    size = canvas.evaluate("c => [c.width, c.height]")
    dark = canvas.evaluate(
        "c => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let best = 0, at = -1;"
        " for (let i = 3; i < d.length; i += 4) if (d[i] > best) { best = d[i]; at = (i - 3) / 4; }"
        " return [at % c.width, Math.floor(at / c.width), best]; }"
    )
    assert size == [96, 67]
    assert dark[2] == 255
    assert dark[0] < size[0] / 2
    assert dark[1] < size[1] / 2


def test_other_texts_are_drawn_as_bars(ana):
    ana.write(
        "SELECT CASE WHEN lat > 48.86 THEN '48.1,2.2' ELSE 'south' END AS part, COUNT(*) AS n FROM trip GROUP BY 1"
    )
    ana.ask()
    expect(ana.page.locator("#result svg .bar-fill").first).to_be_visible()
    expect(ana.page.locator("#result svg.cells")).to_have_count(0)
