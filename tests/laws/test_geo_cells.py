"""Cells of a map: the engine, the reference interpreter and the list of keys agree; the list knows no rows."""

from __future__ import annotations

import random
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from pyproj import Geod

import sfumato
from sfumato.algebra import geo_cells
from sfumato.algebra.geo_cells import CellGrid, GridRefused, grid_over
from sfumato.algebra.group_keys import groups
from sfumato.algebra.tree import DECIMAL, DOUBLE, Call, Column, Constant, Facts
from sfumato.engines import reference_functions
from sfumato.engines.duckdb.expressions import expression
from sfumato.errors import PolicyError, QueryError
from sfumato.sql.bind.points import cell_of
from tests.laws import directed, twins
from tests.laws.mutants import planted
from tests.laws.neighbours import Broken
from tests.laws.test_twins import world
from tests.laws.twins import Asked, Here

PLACES = {"lat": ("-90", "90"), "lon": ("-180", "180")}


def _bounds(r: random.Random, low: int, high: int, grid: Fraction) -> tuple[Fraction, Fraction]:
    """Two ends on the grid: a town, a country, the whole earth, or a single value."""
    wide = Fraction(r.choice(["0", "0.05", "2", "30", "360"]))
    first = r.choice([low, high, -1, 0, r.uniform(low, high)])
    a = max(Fraction(low), Fraction(first) - r.choice([0, 1]) * wide)
    ends = [
        min(max(end // grid * grid, -(-Fraction(low) // grid) * grid), high // grid * grid) for end in (a, a + wide)
    ]
    return min(ends), max(ends)


def _case(r: random.Random) -> Call | None:
    """A call over two columns with random bounds and grids."""
    nodes = []
    for name, (low, high) in PLACES.items():
        grid = Fraction(r.choice(["0.00001", "0.0000001", "0.25", "3", "1e-12", "0.000007"]))
        ends = _bounds(r, int(low), int(high), grid)
        nodes.append(Column(name, Facts(r.choice([DECIMAL, DOUBLE]), *ends, grid, True)))
    side = Fraction(r.choice(["1", "3.7", "50", "500", "12345", "400000", "5000000"]))
    try:
        call = cell_of(nodes[0], nodes[1], side, 0)
    except QueryError as refused:
        assert "more than 1,000,000" in str(refused)  # noqa: PT017  no other refusal may happen here
        return None
    assert isinstance(call, Call)
    return call


def _steps(r: random.Random, facts: Facts, edges: list[Fraction]) -> int | None:
    """A value that a scan can deliver: an end, anything between, or a number next to an edge of a cell."""
    assert facts.low is not None
    assert facts.high is not None
    assert facts.grid is not None
    low, high = int(facts.low / facts.grid), int(facts.high / facts.grid)
    near = int(r.choice(edges) / facts.grid) + r.choice([-1, 0, 1])
    return r.choice([low, high, None, r.randint(low, high), r.randint(low, high), min(max(near, low), high)])


def _edges(low: Fraction, size: Fraction, count: int) -> list[Fraction]:
    return [low + size * i for i in {0, 1, 2, count // 2, count - 1, count} if i >= 0]


def _is_listed(grid: CellGrid, name: str) -> bool:
    """Whether a name is in the list, without making it."""
    places = []
    for text, first, size, count in zip(
        name.split(","), grid.first, (grid.height, grid.width), (grid.rows, grid.columns), strict=True
    ):
        place = (Fraction(text) / grid.unit - first) / size
        places.append(int(place))
        if place.denominator != 1 or not 0 <= place < count:
            return False
    return grid.name(*places) == name


@pytest.mark.parametrize("cases", [60, pytest.param(3000, marks=pytest.mark.slow)])
def test_the_cell_of_a_point_is_the_same_in_the_engine(cases: int) -> None:
    """The engine's SQL and the reference give one name, of the list, for every point that a scan can deliver."""
    r, met, engine = random.Random(cases), Counter[str](), duckdb.connect(":memory:")
    for _ in range(cases):
        call = _case(r)
        if call is None:
            met["refused"] += 1
            continue
        grid, (lat, lon) = geo_cells.read(call.extra), call.args
        names = grid.rows * grid.columns
        lats = _edges(grid.south, grid.height * grid.unit, grid.rows)
        lons = _edges(grid.west, grid.width * grid.unit, grid.columns)
        rows = [(_steps(r, lat.facts, lats), _steps(r, lon.facts, lons)) for _ in range(40)]
        values = ", ".join(f"({'NULL' if a is None else a}, {'NULL' if b is None else b})" for a, b in rows)
        sql = f"SELECT {expression(call)} FROM (VALUES {values}, (0, 0)) AS p(lat, lon)"
        found = [row[0] for row in engine.execute(sql).fetchall()][:-1]
        for (a, b), name in zip(rows, found, strict=True):
            steps = {"lat": (a, lat.facts.grid), "lon": (b, lon.facts.grid)}
            values_of = {key: None if n is None else n * step for key, (n, step) in steps.items()}  # type: ignore[operator]
            wanted = reference_functions.apply(call, lambda node, known=values_of: known[node.name])  # type: ignore[misc]
            assert name == wanted, (call, values_of)
            assert name is None or _is_listed(grid, name), (call, values_of)
            met["NULL" if name is None else "points"] += 1
        met["grids of one cell" if names == 1 else "grids"] += 1
    sys.stdout.write(f"{dict(met)}\n")
    assert met["grids"] > cases / 3
    assert met["points"] > 10 * met["grids"]


def test_every_cell_is_listed_once() -> None:
    """Names differ, each is the cell of its own centre, and the list is as long as the grid."""
    r, met = random.Random(7), 0
    while met < 1000:
        call = _case(r)
        grid = None if call is None else geo_cells.read(call.extra)
        if call is None or grid is None or grid.rows * grid.columns > 50_000:
            continue
        assert grid.written() == call.extra
        names = geo_cells.names(grid)
        assert len(set(names)) == len(names) == grid.rows * grid.columns <= 1_000_000
        for name in r.sample(names, min(50, len(names))):
            lat, lon = map(Fraction, name.split(","))
            assert grid.cell(lat, lon) == name or len(names) == 1 or grid.digits == geo_cells.MOST_DIGITS
            assert abs(lat) <= 90 or grid.rows == 1
            met += 1


def test_a_cell_is_as_large_as_it_says() -> None:
    """Measured on the ellipsoid, at the middle of the bounds: within 1 % of the side, at every latitude of people."""
    earth = Geod(ellps="WGS84")
    for south in (-80, -55, -1, 0, 33, 48, 60, 70, 80):
        for side in (20, 500, 20_000):
            span = Fraction(side, 10_000)
            grid = grid_over((Fraction(south), south + span), (Fraction(2), 2 + span), Fraction(side))
            lat, high, wide = float(south + span / 2), float(grid.height * grid.unit), float(grid.width * grid.unit)
            _, _, north = earth.inv(2, lat - high / 2, 2, lat + high / 2)
            _, _, east = earth.inv(2, lat, 2 + wide, lat)
            assert abs(north / side - 1) < 0.01, (south, side, north)
            assert abs(east / side - 1) < 0.02, (south, side, east)


@pytest.mark.parametrize(
    ("lats", "lons", "side"),
    [
        ((-91, 0), (0, 1), 500),
        ((0, 91), (0, 1), 500),
        ((0, 1), (-181, 0), 500),
        ((0, 1), (0, 361), 500),
        ((0, 1), (-90, 300), 500),
        ((0, 1), (0, 1), 0),
        ((0, 1), (0, 1), 6_000_000),
        ((0, 1), (0, 1), 100),
    ],
)
def test_what_gives_no_grid_is_refused(lats: tuple[int, int], lons: tuple[int, int], side: int) -> None:
    ends = [(Fraction(a), Fraction(b)) for a, b in (lats, lons)]
    with pytest.raises(GridRefused):
        grid_over(ends[0], ends[1], Fraction(side))


def test_the_whole_earth_has_a_grid() -> None:
    """Poles included: centres are places on the earth, and a row at a pole is a row like others."""
    grid = grid_over((Fraction(-90), Fraction(90)), (Fraction(-180), Fraction(180)), Fraction(50_000))
    for lat, lon in ((90, 180), (-90, -180), (90, 0), (0, 180)):
        north, east = map(Fraction, grid.cell(Fraction(lat), Fraction(lon)).split(","))
        assert abs(north - lat) <= grid.height * grid.unit
        assert abs(north) <= 90
        assert abs(east - lon) <= grid.width * grid.unit
        assert abs(east) <= 180
    pole = grid_over((Fraction(899999, 10000), Fraction(90)), (Fraction(-180), Fraction(180)), Fraction(500))
    assert pole.rows * pole.columns < 100


# in queries
LAT = {"type": "decimal", "min": Fraction("48.80"), "max": Fraction("48.92"), "grid": Fraction("0.00001")}
LON = {"type": "double", "min": Fraction("2.22"), "max": Fraction("2.48"), "grid": Fraction("0.00001")}
POINT = {"lat": LAT, "lon": LON, "place": {"type": "point", "grid": 5000}}
EXAMPLES = {
    "cells of a map": directed.example(
        directed.policy(POINT),
        "a:48.85,2.35 b:48.85,2.36 c:99,-99 d:,2.3",
        "SELECT place, COUNT(*) FROM t GROUP BY place",
        means={("48.8675,2.3223",): (1,), ("48.8675,2.3905",): (1,), ("48.9125,2.2541",): (1,), (None,): (1,)},
    ),
    "many cells of one person": directed.example(
        directed.policy(POINT, 3),
        "a:48.81,2.23*5 a:48.85,2.35*2 a:48.91,2.47*2 b:48.85,2.35",
        "SELECT geo_cell(place, 2000), COUNT(*), COUNT(DISTINCT u) FROM t GROUP BY 1",
    ),
    "cells in a condition": directed.example(
        directed.policy(POINT, 2),
        "a:48.81,2.23*5 b:48.85,2.35",
        "SELECT COUNT(*) FROM t WHERE geo_cell(lat, lon, 5000) = '48.8675,2.3223'",
        means={(): (1,)},
    ),
    "different cells": directed.example(
        directed.policy(POINT, 3), "a:48.81,2.23 a:48.85,2.35 b:48.85,2.36", "SELECT COUNT(DISTINCT place) FROM t"
    ),
    "cells or a word": directed.example(
        directed.policy(POINT, 2),
        "a:48.81,2.23*4 b:48.85,2.35 c:,2.3",
        "SELECT COALESCE(place, 'nowhere'), COUNT(*) FROM t GROUP BY 1",
        means={("48.8225,2.2541",): (2,), ("48.8675,2.3223",): (1,), ("nowhere",): (1,)},
    ),
    "cells and what they are part of": directed.example(
        directed.policy(POINT, 2),
        "a:48.81,2.23*5 b:48.85,2.35 c:,2.3",
        "SELECT place, (lat > 48.85), COUNT(*) FROM t GROUP BY ROLLUP(place, (lat > 48.85))",
    ),
    "cells through a sub-query": directed.example(
        directed.policy(POINT, 2),
        "a:48.81,2.23*5 b:48.85,2.35",
        "SELECT c, COUNT(*) FROM (SELECT u, geo_cell(place) AS c FROM t) AS q GROUP BY c",
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_claim_holds_for_cells(name: str) -> None:
    """Neighbours differ by at most what is paid, group by group, on the engine's SQL."""
    assert EXAMPLES[name].check() <= 1


def test_a_cell_that_is_not_listed_is_caught() -> None:
    """Were the engine's last row not clamped, a group would appear that is not in the list."""
    north = directed.example(
        directed.policy(POINT), "a:48.92,2.3 b:48.85,2.35", "SELECT place, COUNT(*) FROM t GROUP BY 1"
    )
    exact = directed.policy({**POINT, "lat": {**LAT, "max": Fraction("48.89")}})
    edge = directed.example(
        exact, "a:48.89,2.3 b:48.85,2.35", "SELECT geo_cell(place, 5000), COUNT(*) FROM t GROUP BY 1"
    )
    assert north.check() <= 1
    with planted(("engines.duckdb.expressions", ", {count - 1})", ", {count})")) as faulty, pytest.raises(Broken):
        edge.check(faulty)


def test_the_list_of_cells_knows_no_rows() -> None:
    """Every cell is a group, in the order of the list, and NULL where a coordinate may be NULL."""
    example = EXAMPLES["cells of a map"]
    plan = directed.planned(example.text, example.made)
    (part,) = plan.cuts[0].parts
    node = plan.cuts[0].release.keys[0][1]
    grid = geo_cells.read(node.extra)
    assert [group[0] for group in part.groups] == [*geo_cells.names(grid), None]
    assert [group[0] for group in groups(plan.cuts[0].release.below, [node], lambda _: [])] == [
        *geo_cells.names(grid),
        None,
    ]


def test_the_reference_gives_what_cells_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole jobs with cells as keys: the engine's plans against the reference interpreter."""
    found: Counter[str] = Counter()
    monkeypatch.setattr(Here, "reference", found)
    texts = [
        f"SELECT geo_cell({lat}, {lon}, {side}), {what} FROM {table} GROUP BY 1"
        for lat, lon, side in (("m", "i", 100_000), ("i - 3", "m + 1", 400_000.5))
        for what in ("COUNT(*)", "SUM(i)", "COUNT(DISTINCT u)")
        for table in ("p", "v")
    ]
    answered = list(twins.check(world(), [Asked(text) for text in texts], steps=(1,)))
    sys.stdout.write(f"{len(answered)} of {len(texts)} answered, {dict(found)}\n")
    assert len(answered) > len(texts) // 2
    assert found["compared"] > len(texts)
    assert set(found) == {"compared"}


# the policy
_LAT = '{ type = "decimal", min = 48.8, max = 48.92, grid = 0.00001 }'
_LON = '{ type = "decimal", min = 2.22, max = 2.48, grid = 0.00001 }'


def _policy(tmp_path: Path, point: str, lat: str = "") -> str:
    (tmp_path / "t.csv").write_text("id,lat,lon\n1,48.85,2.35\n2,48.86,2.36\n")
    path = tmp_path / "sfumato.toml"
    path.write_text(
        '[source]\nengine = "duckdb"\nfiles = { t = "t.csv" }\n[data]\nid = "t"\n[privacy]\nepsilon = 4\n'
        '[tables.t]\nunit = "id"\nrows_per_unit = 1\n[tables.t.columns]\nid = { type = "integer" }\n'
        f"lat = {lat or _LAT}\n"
        f"lon = {_LON}\nplace = {point}\n"
    )
    return str(path)


def test_a_heat_map_is_one_group_by(tmp_path: Path) -> None:
    """Every cell is released, also the empty ones; a name for the point gives the declared grid."""
    with sfumato.open(_policy(tmp_path, '{ type = "point", grid = 5000 }')) as gate:
        answer = gate.sql("SELECT place, COUNT(*) AS n FROM t GROUP BY place", epsilon=1)
        same = gate.sql("SELECT geo_cell(lat, lon, 5000) AS place, COUNT(*) AS n FROM t GROUP BY 1", epsilon=1)
        finer = gate.explain("SELECT geo_cell(place, 200), COUNT(*) FROM t GROUP BY 1")
        finest = gate.explain("SELECT geo_cell(place, 5), COUNT(*) FROM t GROUP BY 1")
    assert len(answer.rows) == 3 * 4 + 1
    assert answer.rows == same.rows
    assert same.cost.epsilon == 0
    assert finer.refused is None
    assert finer.columns[0].name == "geo_cell"
    assert finest.refused is not None
    assert "more than 1,000,000" in str(finest.refused)


@pytest.mark.parametrize(
    ("point", "lat", "why"),
    [
        ('{ type = "point" }', "", "has no grid"),
        ('{ type = "point", grid = 0 }', "", "above 0"),
        ('{ type = "point", grid = 0.5 }', "", "1 to 5,000,000"),
        ('{ type = "point", grid = 500, min = 3 }', "", "unknown key"),
        ('{ type = "point", grid = 500, lat = "nowhere" }', "", "not a listed column"),
        ('{ type = "point", grid = 500 }', '{ type = "text", max_length = 3 }', "numbers"),
        ('{ type = "point", grid = 500 }', '{ type = "decimal" }', "no bounds"),
        ('{ type = "point", grid = 500 }', '{ type = "decimal", min = 0, max = 100 }', "between -90 and 90"),
    ],
)
def test_a_point_that_cannot_be_is_refused(point: str, lat: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=why):
        sfumato.open(_policy(tmp_path, point, lat))


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("geo_cell(lat, lon)", "does not take these arguments"),
        ("geo_cell(lat, lon, id)", "literal side"),
        ("geo_cell(id, lon, 500)", "declared bounds"),
        ("geo_cell(lat, 'a', 500)", "a longitude is a number"),
        ("geo_cell(lat, lon, -5)", "metres wide"),
        ("geo_cell(lat + 90, lon, 500)", "between -90 and 90"),
        ("geo_hash(lat, lon, 500)", "function geo_hash is not supported"),
    ],
)
def test_a_call_that_cannot_be_is_refused(call: str, why: str, tmp_path: Path) -> None:
    with sfumato.open(_policy(tmp_path, '{ type = "point", grid = 5000 }')) as gate:
        preview = gate.explain(f"SELECT {call}, COUNT(*) FROM t GROUP BY 1")
    assert preview.refused is not None
    assert why in str(preview.refused)


def test_a_policy_without_points_keeps_its_digest() -> None:
    """Stored answers are found by the digest: a policy that declares no point must keep the one it had."""
    policy = directed.policy({"lat": LAT, "lon": LON})
    assert policy.digest != directed.policy(POINT).digest
    assert policy.digest == "9533b9dcc84828a649de4c854d012acb15529456344188fd020307e31745219a"


def test_a_constant_point_has_a_cell() -> None:
    """Written numbers are a point, too: one cell."""
    lat, lon = (
        Constant(x, Facts(DECIMAL, x, x, Fraction(1, 100), False)) for x in (Fraction("48.85"), Fraction("2.35"))
    )
    call = cell_of(lat, lon, Fraction(500), 0)
    assert isinstance(call, Call)
    assert isinstance(geo_cells.read(call.extra), CellGrid)
    assert duckdb.sql(f"SELECT {expression(call)}").fetchall() == [geo_cells.names(geo_cells.read(call.extra))]
