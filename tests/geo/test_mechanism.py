"""The stated level between any two positions, and the attack on the precision of reports."""

from itertools import product
from math import log

import numpy as np
import pyproj
import pytest
from scipy import special, stats

from sfumato.attacks import location
from sfumato.geo.earth import to_metres
from sfumato.geo.frames import slack
from sfumato.geo.mechanism import LocationMechanism
from sfumato.geo.zones import Zone

GEOD = pyproj.Geod(ellps="WGS84")
PLACES = [(48.85, 2.35), (89.999, 0), (0, 179.9999), (-60.5, -20)]


@pytest.mark.parametrize("around", [True, False])
@pytest.mark.parametrize("place", PLACES)
def test_the_stated_level_holds_between_any_two_positions(place, around):
    """The log of the worst ratio of probabilities of a report is the noise's rate times the steps between points."""
    made = LocationMechanism.within("ln 4", 200, around=place if around else None)
    chance = np.random.default_rng(5)
    spread = 10.0 ** chance.uniform(-9, -2, (3000, 1))
    first = np.array(place) + chance.normal(size=(3000, 2)) * spread
    second = first + chance.normal(size=(3000, 2)) * spread
    first, second = np.clip(first, [-90, -400], [90, 400]), np.clip(second, [-90, -400], [90, 400])
    chord = np.linalg.norm(to_metres(*first.T) - to_metres(*second.T), axis=1)
    steps = (made.frame.to_grid(*first.T) - made.frame.to_grid(*second.T)).astype(float)
    worst = float(made.noise.rate) * np.linalg.norm(steps, axis=1)
    assert (worst <= log(4) * np.maximum(1, chord / 200) * (1 + 1e-12)).all()
    assert worst.max() > log(4)
    assert ((chord < 200) & (worst > 0.9 * log(4))).any(), "the level is not reached: more noise than needed"


@pytest.mark.parametrize("radius", [1, 200, 5000])
@pytest.mark.parametrize("zone", [False, True])
def test_the_stated_level_holds_on_the_ground_everywhere(radius, zone):
    """Pairs at the radius and around it, in all directions, by an independent geodesy; poles and antimeridian too."""
    chance, worst, n = np.random.default_rng(6), 0.0, 300
    for place in product((-90, -60, -0.1, 48.85, 89.99999, 90), (-180, 2.3, 179.99999)):
        for around in (place, None):
            zones = [Zone(*place, radius)] if zone else []
            made = LocationMechanism.within("ln 4", radius, around=around, zones=zones)
            start = [np.full(n, v) for v in place[::-1]]
            lon, lat, _ = map(np.asarray, GEOD.fwd(*start, chance.uniform(0, 360, n), chance.uniform(0, 5 * radius, n)))
            far = radius * np.where(np.arange(n) % 2, 1, chance.uniform(0, 2, n))
            lon2, lat2, _ = map(np.asarray, GEOD.fwd(lon, lat, chance.uniform(0, 360, n), far))
            ground = np.asarray(GEOD.inv(lon, lat, lon2, lat2)[2])
            steps = (made.frame.to_grid(lat, lon) - made.frame.to_grid(lat2, lon2)).astype(float)
            told = float(made.noise.rate) * np.linalg.norm(steps, axis=1)
            worst = max(worst, (told / (log(4) * np.maximum(1, ground / radius))).max())
    assert 0.98 < worst <= 1


def test_the_level_is_that_of_the_noise_and_the_slack():
    made = LocationMechanism.within("ln 4", 200, around=(0, 0), grid=2)
    assert float(made.inner.epsilon) * (200 + float(slack(made.frame))) == pytest.approx(log(4), rel=1e-14)
    assert float(made.noise.rate) == pytest.approx(2 * float(made.inner.epsilon), rel=1e-14)


def rounded_lambert(epsilon, chance):
    """A reporter as browser add-ons had it: an inverse distribution function rounded to six decimals, on a sphere."""

    def report(lat, lon):
        radius = -(round(special.lambertw((chance.random() - 1) / np.e, -1).real, 6) + 1) / epsilon
        theta, ratio = chance.random() * 2 * np.pi, radius / 6378137.0
        phi, lam = np.radians(lat), np.radians(lon)
        out = np.arcsin(np.sin(phi) * np.cos(ratio) + np.cos(phi) * np.sin(ratio) * np.cos(theta))
        east = np.sin(theta) * np.sin(ratio) * np.cos(phi)
        return float(np.degrees(out)), float(
            np.degrees(lam + np.arctan2(east, np.cos(ratio) - np.sin(phi) * np.sin(out)))
        )

    return report


def test_the_precision_attack_identifies_rounded_noise():
    chance = np.random.default_rng(7)
    among = location.candidates(48.8584, 2.2945)
    true = chance.integers(0, 441, 40).tolist()
    found = location.precision(rounded_lambert(2 / 500, chance), location.decimals_of_radius(2 / 500), true, among)
    assert found.identified >= 38
    assert found.blind < 0.1


@pytest.mark.parametrize("around", [(48.85, 2.29), None])
def test_the_precision_attack_finds_nothing(around):
    """The same attack, with the epsilon of the noise and with that of the level, and with offsets in degrees."""
    made = LocationMechanism.within(2, 500, around=around)
    chance = np.random.default_rng(8)
    among = location.candidates(48.8584, 2.2945)
    true = chance.integers(0, 441, 300).tolist()
    measures = [location.decimals_of_radius(e) for e in (2 / 500, float(made.inner.epsilon))]
    measures += [location.decimals_of_radius(1, float(made.frame.step)), location.decimals_of_offset(1e-7)]
    for measure in measures:
        found = location.precision(made.report, measure, true, among)
        assert stats.binom.sf(found.identified - 1, 300, 1 / 441) > 1e-6


def test_reports_of_all_positions_are_points_of_one_grid():
    """Digits tell which grid point was reported and nothing else: reports of two positions have the same support."""
    made = LocationMechanism.within("ln 4", 40, around=(48.85, 2.29), grid=20)
    seen = []
    for lat, lon in [(48.8584, 2.2945), (48.858437219, 2.294499331)]:
        out = made.report_many(np.full(60_000, lat), np.full(60_000, lon))
        points = made.frame.to_grid(*out)
        assert (np.array(made.frame.from_grid(points)) == np.array(out)).all()
        seen.append({tuple(p) for p in np.round(np.array(out).T, 12).tolist()})
    assert len(seen[0] & seen[1]) > 0.7 * min(map(len, seen))


def test_repeated_reports_average_out_as_composition_says():
    """Independent draws are what they are: the mean of many is near the place. Traces spend a budget for that."""
    made = LocationMechanism.within("ln 4", 200, around=(48.85, 2.29))
    assert location.averaging(made.report, 48.8584, 2.2945, 3000) < 40
