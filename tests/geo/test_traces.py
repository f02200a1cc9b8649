"""Traces: budgets, the test of a prediction, zones and saved places."""

import json
from fractions import Fraction
from itertools import pairwise
from math import exp, isqrt, log

import numpy as np
import pytest

from sfumato.errors import BudgetError, InputError, LedgerError
from sfumato.geo.frames import slack
from sfumato.geo.mechanism import LocationMechanism
from sfumato.geo.purse import FilePurse, MemoryPurse
from sfumato.geo.saved_places import SavedPlaces
from sfumato.geo.traces import FRESH, HELD, REPEATED, TraceMechanism
from sfumato.geo.zones import STRETCH, Zone

MADE = LocationMechanism.within("ln 4", 200, around=(48, 2))


def test_a_trace_never_exceeds_its_budget():
    trace = TraceMechanism.of(MADE, "6 ln 4")
    kinds, total = [], Fraction(0)
    for i in range(60):  # a person who moves far every time
        step = trace.report("ana", 48 + 0.02 * (i % 3), 2.0)
        kinds.append(step.kind)
        total += step.spent
    assert total == trace.purse.held("ana").spent <= trace._total
    assert kinds.count(FRESH) >= 4
    assert kinds[-1] == HELD
    first = kinds.index(HELD)
    assert set(kinds[first:]) == {HELD}
    assert trace.report("ben", 48, 2).kind == FRESH


def test_a_person_who_stays_mostly_gets_the_same_answer():
    trace = TraceMechanism.of(MADE, "100 ln 4")
    steps = [trace.report("ana", 48.001, 2.001) for _ in range(200)]
    kinds = [step.kind for step in steps]
    assert kinds[0] == FRESH
    assert kinds.count(REPEATED) > 100
    assert all((a.lat, a.lon) == (b.lat, b.lon) for a, b in pairwise(steps) if b.kind == REPEATED)
    assert sum(step.spent for step in steps) < 0.6 * 200 * log(4)


def test_the_test_of_a_prediction_costs_what_it_says():
    """The exact chance to pass, for all distances: neighbours within the radius differ by at most e^test."""
    trace = TraceMechanism.of(LocationMechanism.within("ln 4", 200, around=(0, 0), grid=20), "6 ln 4")
    rate, step = float(trace.test_rate), float(trace.mechanism.frame.step)
    threshold = int(trace.threshold / trace.mechanism.frame.step)
    r = exp(-rate)

    def chance(steps):  # P(noise >= steps - threshold)
        k = steps - threshold
        return r**k / (1 + r) if k > 0 else 1 - r ** (1 - k) / (1 + r)

    slackness = float(slack(trace.mechanism.frame))
    worst = 0.0
    for metres in (0, 50, 200, 500):
        for steps in range(200):
            near = steps + int((metres + slackness) / step) + 1
            for a, b in ((chance(steps), chance(near)), (1 - chance(near), 1 - chance(steps))):
                bound = log(4) / 4 * max(1, metres / 200)
                assert log(a / b) <= bound + 1e-9
                worst = max(worst, log(a / b) / bound)
    assert worst > 0.9
    drawn = np.mean([trace.passes((threshold, 0)) for _ in range(4000)])
    assert abs(drawn - chance(threshold)) < 0.04
    offsets = [(3, 4), (threshold + 9, 2)]
    for offset in offsets:
        seen = np.mean([trace.passes(offset) for _ in range(4000)])
        assert abs(seen - chance(isqrt(offset[0] ** 2 + offset[1] ** 2))) < 0.04


def test_a_budget_survives_the_process_and_is_charged_before_the_draw(tmp_path, monkeypatch):
    file = tmp_path / "purse"
    purse = FilePurse(file, "trip")
    trace = TraceMechanism.of(MADE, "3 ln 4", purse=purse)
    first = trace.report("ana", 48, 2)
    purse.close()
    again = FilePurse(file, "trip")
    trace = TraceMechanism.of(MADE, "3 ln 4", purse=again)
    assert again.held("ana").spent == first.spent > 0
    assert again.held("ana").last is not None
    with pytest.raises(InputError, match="other settings"):
        FilePurse(file, "other")
    monkeypatch.setattr(type(MADE.noise), "sample", lambda *_: (_ for _ in ()).throw(RuntimeError("power cut")))
    with pytest.raises(RuntimeError):
        trace.report("ben", 48, 2)
    assert again.held("ben").spent == trace._fresh_cost


def test_costs_that_do_not_fit_are_refused_whole():
    purse = MemoryPurse()
    purse.charge("ana", Fraction(3), Fraction(4))
    with pytest.raises(BudgetError):
        purse.charge("ana", Fraction(2), Fraction(4))
    assert purse.held("ana").spent == 3
    with pytest.raises(BudgetError, match="single report"):
        TraceMechanism.of(MADE, "0.5 ln 4").check_first()
    with pytest.raises(BudgetError):
        TraceMechanism.of(MADE, "0.5 ln 4").report("ana", 48, 2)


def test_a_file_that_is_no_purse_is_refused(tmp_path):
    (tmp_path / "x").write_text("this is no database, " * 100)
    with pytest.raises(LedgerError):
        FilePurse(tmp_path / "x", "a")


@pytest.mark.parametrize("around", [(48, 2), None])
def test_positions_in_a_zone_are_one(around):
    zone = Zone(48.01, 2.01, 300)
    made = LocationMechanism.within("ln 4", 200, around=around, zones=[zone])
    inside = 48.01 + np.array([0, 1, -2, 1.5]) / 1000, 2.01 + np.array([0, 1, 1.5, -2]) / 1000
    points = made.frame.to_grid(*inside)
    assert (points == points[0]).all()
    outside = made.frame.to_grid(np.array([48.01, 48.03]), np.array([2.015, 2.01]))
    assert (np.abs(outside - points[0]).max(axis=1) > 10).all()


@pytest.mark.parametrize("around", [(48, 2), None])
def test_zones_stretch_by_no_more_than_they_say(around):
    plain = LocationMechanism.within("ln 4", 200, around=around)
    made = LocationMechanism.within("ln 4", 200, around=around, zones=[Zone(48, 2, 200), Zone(48.1, 2, 150)])
    chance = np.random.default_rng(6)
    lat, lon = 48 + chance.normal(0, 0.006, 4000), 2 + chance.normal(0, 0.009, 4000)
    lat2, lon2 = lat + chance.normal(0, 1e-3, 4000), lon + chance.normal(0, 1e-3, 4000)
    ground = np.linalg.norm(plain.frame.coordinates(lat, lon) - plain.frame.coordinates(lat2, lon2), axis=1)
    pulled = np.linalg.norm(made.frame.coordinates(lat, lon) - made.frame.coordinates(lat2, lon2), axis=1)
    assert (pulled <= float(STRETCH) * ground + 1e-6).all()
    assert (pulled > 1.25 * ground).any()
    steps = made.frame.to_grid(lat, lon) - made.frame.to_grid(lat2, lon2)
    worst = float(made.noise.rate) * np.linalg.norm(steps.astype(float), axis=1)
    assert (worst <= log(4) * np.maximum(1, ground / 200) + 1e-12).all()


def test_zones_that_touch_are_refused():
    made = LocationMechanism.within("ln 4", 200, zones=[Zone(48, 2, 200), Zone(48.005, 2, 200)])
    with pytest.raises(InputError, match="too near"):
        made.report(48, 2)
    with pytest.raises(InputError, match="at most 50 km"):
        Zone(0, 0, 10**6)


def test_saved_places_are_drawn_once(tmp_path):
    places = SavedPlaces(tmp_path / "places.json")
    at = places.save("home", 48.001, 2.001, MADE)
    assert at != (48.001, 2.001)
    assert SavedPlaces(tmp_path / "places.json").report("home") == at
    assert places.save("museum", 48.86, 2.33) == (48.86, 2.33)
    assert json.loads((tmp_path / "places.json").read_text()) == {"home": list(at), "museum": [48.86, 2.33]}
    with pytest.raises(InputError, match="saved already"):
        places.save("home", 48.001, 2.001, MADE)
    with pytest.raises(InputError, match="no saved place"):
        places.report("school")
    assert (tmp_path / "places.json").stat().st_mode & 0o077 == 0
    places.remove("museum")
    assert list(SavedPlaces(tmp_path / "places.json").places) == ["home"]
    with pytest.raises(InputError, match="no saved place"):
        places.remove("museum")
    with pytest.raises(InputError, match="no valid position"):
        places.save("nowhere", 99, 2)
    (tmp_path / "places.json").write_text("[1]")
    with pytest.raises(InputError, match="not a file of saved places"):
        SavedPlaces(tmp_path / "places.json")
