"""Frames: grid distances never exceed the ground, and no place on earth is special."""

from fractions import Fraction

import numpy as np
import pyproj
import pytest

from sfumato.errors import InputError
from sfumato.geo.earth import check_degrees, to_degrees, to_metres
from sfumato.geo.frames import Around, Worldwide, slack
from sfumato.geo.mechanism import LocationMechanism, nice_step

CENTRES = [(48.85, 2.35), (0, 0), (89.9, 10), (90, 0), (-90, 0), (10, 179.9), (-45, -180), (71, -40)]
GEOD = pyproj.Geod(ellps="WGS84")


def near(lat, lon, metres, count, seed):
    """Positions at most so many metres from a place, by an independent geodesy."""
    chance = np.random.default_rng(seed)
    azimuth, far = chance.uniform(0, 360, count), chance.uniform(0, metres, count)
    lon2, lat2, _ = GEOD.fwd(np.full(count, lon), np.full(count, lat), azimuth, far)
    return np.array(lat2), np.array(lon2)


@pytest.mark.parametrize("centre", CENTRES)
def test_grid_distances_never_exceed_the_ground(centre):
    for frame, reach in [(Around(*centre, 7), 300_000), (Worldwide(Fraction(5, 2)), 300_000), (Worldwide(100), 10)]:
        lat, lon = near(*centre, reach, 4000, 1)
        lat2, lon2 = lat[::-1].copy(), lon[::-1].copy()
        close_lat, close_lon, _ = (None, None, None)
        close_lon, close_lat, _ = GEOD.fwd(lon, lat, np.linspace(0, 360, 4000), np.linspace(0, 50, 4000))
        for other_lat, other_lon in [(lat2, lon2), (np.array(close_lat), np.array(close_lon))]:
            ground = GEOD.inv(lon, lat, other_lon, other_lat)[2]
            steps = frame.to_grid(lat, lon) - frame.to_grid(other_lat, other_lon)
            metres = np.sqrt((steps.astype(float) ** 2).sum(axis=1)) * float(frame.step)
            assert (metres <= ground + float(slack(frame))).all()
            far = ground > 1000
            assert not far.any() or (metres[far] >= 0.98 * ground[far] - float(slack(frame))).all()


@pytest.mark.parametrize("centre", CENTRES)
def test_grid_points_are_where_they_say(centre):
    """From the grid to degrees and back gives the same grid point, near the centre and at the edge of the region."""
    frame = Around(*centre, Fraction(1, 2), 400_000)
    edge = frame.steps
    points = np.array([[0, 0], [1, 0], [0, -1], [edge, edge], [-edge, 3], [123_457, -98_765]])
    assert (frame.to_grid(*frame.from_grid(points)) == points).all()
    assert (frame.to_grid(*frame.from_grid(points * 1000 + 10**9)) == [[edge, edge]] * 6).all()
    world = Worldwide(1)
    lat, lon = near(*centre, 1000, 500, 2)
    back = world.from_grid(world.to_grid(lat, lon))
    assert GEOD.inv(lon, lat, back[1], back[0])[2].max() < 1
    assert (np.abs(back[0]) <= 90).all()
    assert ((back[1] >= -180) & (back[1] < 180)).all()


def test_metres_agree_with_an_independent_geodesy():
    lat, lon = near(40, 20, 19_000_000, 2000, 3)
    there = pyproj.Transformer.from_crs(4979, 4978, always_xy=True).transform(lon, lat, np.zeros(2000))
    assert np.abs(to_metres(lat, lon) - np.stack(there, axis=1)).max() < 1e-6
    back = to_degrees(to_metres(lat, lon) * (1 + 1e-4))
    assert GEOD.inv(lon, lat, back[1], back[0])[2].max() < 10


@pytest.mark.parametrize("centre", CENTRES)
def test_poles_and_the_antimeridian_are_ordinary_places(centre):
    """Reports spread alike in all directions: by the independent geodesy, not by degrees."""
    for around, shrink in [(centre, np.sqrt(1.5)), (None, np.sqrt(2))]:
        made = LocationMechanism.within("ln 4", 2000, around=around)
        lat, lon = np.full(40_000, float(centre[0])), np.full(40_000, float(centre[1]))
        out = made.report_many(lat, lon)
        azimuth, _, far = GEOD.inv(lon, lat, out[1], out[0])
        scale = 1 / float(made.inner.epsilon)
        assert abs(far.mean() / scale - (2 if around else 2.356)) < 0.05
        east, north = far * np.sin(np.radians(azimuth)), far * np.cos(np.radians(azimuth))
        assert abs(east.std() / north.std() - 1) < 0.05
        assert max(abs(east.mean()), abs(north.mean())) < 5 * scale * shrink * 2 / 200


def test_the_worldwide_grid_survives_reports_beyond_the_earth():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 10**9], [-(10**9), 0, 0], [3, 3, -5], [1, 1, 6_356_752]])
    lat, lon = Worldwide(1).from_grid(points)
    assert np.isfinite(lat).all()
    assert (np.abs(lat) <= 90).all()
    assert ((lon >= -180) & (lon < 180)).all()


def test_bad_positions_and_regions_are_refused():
    for lat, lon in [(91, 0), (float("nan"), 0), (0, 400), (0, float("inf"))]:
        with pytest.raises(InputError, match="row 2"):
            check_degrees(np.array([0.0, lat]), np.array([0.0, lon]))
    with pytest.raises(InputError, match="row 1 is outside"):
        Around(0, 0, 10, 1000).to_grid(np.array([1.0]), np.array([0.0]))
    with pytest.raises(InputError, match="outside"):
        Around(0, 0, 10, 1000).to_grid(np.array([0.0]), np.array([180.0]))
    for wrong in [(91, 0, 1), (0, 181, 1), (0, 0, 1, 2_000_000), (0, 0, 100, 10), (0, 0, 0)]:
        with pytest.raises(InputError):
            Around(*wrong)
    with pytest.raises(InputError, match="coarser"):
        LocationMechanism.within(1, 100, grid=200)


def test_steps_are_nice():
    given = [Fraction(1), Fraction(99, 100), Fraction(7), Fraction(1234), Fraction(3, 1000)]
    assert [nice_step(x) for x in given] == [1, Fraction(1, 2), 5, 1000, Fraction(2, 1000)]


@pytest.mark.parametrize("frame", [Worldwide, lambda step: Around(48, 2, step)])
def test_a_grid_is_not_finer_than_whole_numbers_hold(frame):
    """At 1e-13 m the number of steps to the centre of the earth outgrew 64 bits, and reports were anywhere."""
    with pytest.raises(InputError, match="micrometre"):
        frame("1e-13")
    assert frame("1e-6").to_grid(np.array([48.0]), np.array([2.0])).dtype == np.int64
