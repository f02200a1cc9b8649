"""Areas of retrieval and the corrections of continuous noise: numbers of the lecture, and draws."""

from math import log, pi

import numpy as np
import pytest
from scipy import special

from sfumato.errors import InputError
from sfumato.geo.continuous import Discretisation, sample_rounded
from sfumato.geo.earth import ground_distance
from sfumato.geo.mechanism import LocationMechanism
from sfumato.geo.retrieval import demonstrate, retrieve, spatial_tail
from sfumato.geo.zones import Zone


def test_the_area_of_retrieval_is_that_of_the_lecture():
    """300 m become about 1 km at ln 4 within 200 m and 95 %: by Lambert's W, which the code does not use."""
    area = retrieve(LocationMechanism.within("ln 4", 200), 300, "0.95")
    w = special.lambertw((0.95 - 1) / np.e, -1).real
    assert area.noise_radius == pytest.approx(-(w + 1) * 200 / log(4), rel=1e-12)
    assert area.radius == pytest.approx(984.395, abs=1e-3)
    assert area.grid_radius > area.radius


def test_the_tail_of_spatial_noise_is_a_bessel_function():
    for t in (1e-4, 0.01, 0.3, 1, 4, 20, 60):
        assert spatial_tail(t) == pytest.approx(t * t * special.kv(2, t) / 2, rel=1e-11)
    assert spatial_tail(0) == 1


@pytest.mark.parametrize("around", [(45.0, 7.0), None])
@pytest.mark.parametrize("zones", [(), (Zone(45.014, 7.024, 600),)])
@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.99"])
def test_everything_of_interest_is_retrieved(around, zones, confidence):
    made = LocationMechanism.within("ln 4", 200, around=around, grid=50, zones=zones)
    area = retrieve(made, 300, confidence)
    lat, lon = np.full(20_000, 45.01), np.full(20_000, 7.02)
    within = (ground_distance(lat, lon, *made.report_many(lat, lon)) <= area.grid_radius - 300).mean()
    sure = float(confidence)
    assert within >= sure - 5 * np.sqrt(sure * (1 - sure) / 20_000)


def test_a_demonstration_counts_what_was_missed():
    chance = np.random.default_rng(1)
    places = 45 + chance.normal(0, 0.02, 4000), 7 + chance.normal(0, 0.03, 4000)
    users = 45 + chance.normal(0, 0.01, 150), 7 + chance.normal(0, 0.01, 150)
    made = LocationMechanism.within("ln 4", 200, around=(45, 7))
    done = demonstrate(made, retrieve(made, 300, "0.9"), places, users)
    assert 0.85 < done.complete < 1
    assert 0.85 < done.recall <= 1
    assert done.lost == pytest.approx(done.wanted * (1 - done.recall))
    assert done.bandwidth > 3


WANTED = "0.00693147180559945"  # ln 4 / 200


@pytest.mark.parametrize(
    ("angle", "form", "inner"),
    [
        (2 * pi * 2**-53, "ccs13", 0.0069314718026),
        (2 * pi * 2**-53, "lecture", 0.0069314718012),
        (1e-9, "ccs13", 0.00692718),
        (1e-9, "lecture", 0.00692516),
        (1e-7, "ccs13", 0.00650459),
        (1e-7, "lecture", 0.00630233),
    ],
)
def test_the_inner_epsilon_solves_the_published_corrections(angle, form, inner):
    made = Discretisation(10, 100_000, angle)
    solved = made.inner(WANTED, form)
    assert solved == pytest.approx(inner, rel=1e-5 if angle > 1e-10 else 1e-11)
    assert made.achieved(solved, form) <= float(WANTED) < made.achieved(solved * (1 + 1e-9), form)


def test_settings_that_no_noise_satisfies_are_refused():
    for form in ("ccs13", "lecture"):
        with pytest.raises(InputError, match="no noise gives this level"):
            Discretisation(1, 100_000, 1e-7).inner(WANTED, form)
        with pytest.raises(InputError, match="no noise"):
            Discretisation(1, 1e9, 1e-3).inner(5, form)
    with pytest.raises(InputError, match="not a form"):
        Discretisation(1, 10).inner(1, "other")


def test_rounded_noise_has_the_mean_of_planar_noise():
    drawn = sample_rounded("ln 4", "0.001", 50_000)
    assert np.hypot(*drawn.T).mean() * 0.001 * log(4) == pytest.approx(2, rel=0.03)
