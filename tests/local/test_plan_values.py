"""Plans for lists of values and for numbers: intervals are as wide as planned, and the planned share is found."""

import numpy as np
import pytest

from sfumato.errors import InputError
from sfumato.local.binomials import log_binomial
from sfumato.local.dbitflip import BitFlip
from sfumato.local.estimates import estimate_shares, quantile, score_interval
from sfumato.local.means import estimate_mean
from sfumato.local.plan import plans, weigh
from sfumato.local.table import ENCODERS
from sfumato.local.tape import SystemTape

EPSILONS = (0.5, 1, 2, 4, 8)
VALUES = [name for name, kind in ENCODERS.items() if kind.takes == "values"]
NUMBERS = [name for name, kind in ENCODERS.items() if kind.takes == "numbers"]


def encoders(name, sizes, epsilons):
    """Those that can be planned: some mechanisms need a larger list, or a smaller epsilon."""
    for size in (2,) if name == "warner" else sizes:
        for epsilon in epsilons:
            try:
                yield ENCODERS[name].planned(size, epsilon), size
            except InputError:
                continue


def half_of(encoder, n):
    """Half of the 95 % interval of one survey, in which all values are equally frequent, or numbers spread evenly."""
    if encoder.takes == "numbers":
        tally = encoder.tally(encoder.encode(spread_evenly(encoder, n), SystemTape()))
        _, low, high = estimate_mean(encoder, tally)
        return (high - low) / 2
    tally = encoder.tally(encoder.encode(np.arange(n) % encoder.size, SystemTape()))
    rows = estimate_shares(encoder, tally, [str(i) for i in range(encoder.size)])
    return np.mean([(row.high - row.low) / 2 for row in rows])


def spread_evenly(encoder, n, above=0.0):
    """Numbers with mean 1/2 + above."""
    u = (np.arange(n) + 0.5) / n
    return np.floor((u + (1 - u) * 2 * above) * encoder.grid + 0.5).astype(np.int64)


def check_widths(name, sizes, counts, epsilons):
    made = (
        ((ENCODERS[name].planned(epsilon), 1) for epsilon in epsilons)
        if name in NUMBERS
        else encoders(name, sizes, epsilons)
    )
    tried = 0
    for encoder, size in made:
        for n in counts:
            plan = weigh(encoder, n, size)
            half = np.mean([half_of(encoder, n) for _ in range(max(2, 12 - n // 100))])
            assert 0.85 < half / plan.error < 1.15, (name, size, n, float(encoder.epsilon), half, plan.error)
            tried += 1
    assert tried >= 4


@pytest.mark.parametrize("name", VALUES + NUMBERS)
def test_intervals_of_values_and_means_are_as_wide_as_planned(name):
    check_widths(name, (3, 20), (20, 1000), (0.5, 4, 8))


@pytest.mark.slow
@pytest.mark.parametrize("name", VALUES + NUMBERS)
def test_intervals_of_all_sizes_are_as_wide_as_planned(name):
    check_widths(name, (3, 20, 100), (20, 100, 1000, 20_000), EPSILONS)


def found(encoder, size, n):
    """How probably the interval of a value with the planned share is above 0, at the level of all values together:
    exactly, from the law of the number of reports that support it. None where nothing is found in so small a survey.
    """
    people = round(weigh(encoder, n, size).detectable * n)
    if people > n:
        return None
    gap = 1 / float(encoder.worth.high - encoder.worth.low)
    q = -float(encoder.worth.low) * gap
    own, others = (
        np.exp(log_binomial(many, np.arange(many + 1), p)) for many, p in ((people, q + gap), (n - people, q))
    )
    law, counts = np.convolve(own, others), np.arange(n + 1)
    low, _ = score_interval(encoder.worth, (counts / n - q) / gap, n, "fixed", quantile(1 - 2 * 0.05 / size))
    return float(law[low > 0].sum())


@pytest.mark.parametrize("name", [name for name in VALUES if ENCODERS[name] is not BitFlip])
def test_a_value_with_the_planned_share_is_told_from_nothing(name):
    """In four of five surveys; and the plan does not ask for much more where there are many reports."""
    least, tried = 1.0, 0
    for encoder, size in encoders(name, (3, 20, 200), (*EPSILONS, 10)):
        for n in (5, 20, 100, 1000, 5000):
            chance = found(encoder, size, n)
            if chance is None:
                continue
            least, tried = min(least, chance), tried + 1
            assert chance < 0.9 or weigh(encoder, n, size).detectable * n < 40
    assert tried >= 10
    assert least >= 0.78, least


@pytest.mark.parametrize("name", [*NUMBERS, "dbitflip"])
@pytest.mark.parametrize(("n", "epsilon"), [(50, 4), (400, 1), (400, 8)])
def test_a_planned_share_or_shift_is_told_from_nothing_in_surveys(name, n, epsilon):
    """In four of five: of 80 surveys, 53 or fewer have a chance below 5e-3."""
    named = name in NUMBERS
    encoder = ENCODERS[name].planned(epsilon) if named else ENCODERS[name].planned(20, epsilon)
    plan = weigh(encoder, n, 1 if named else 20)
    if plan.detectable >= (0.5 if named else 1):
        pytest.skip("nothing is found in so small a survey")
    seen = 0
    for _ in range(80):
        if named:
            tally = encoder.tally(encoder.encode(spread_evenly(encoder, n, plan.detectable), SystemTape()))
            seen += estimate_mean(encoder, tally, confidence=0.9)[1] > 0.5
        else:
            people = round(plan.detectable * n)
            tally = encoder.tally(encoder.encode(np.repeat([0, 1], [people, n - people]), SystemTape()))
            labels = [str(i) for i in range(20)]
            seen += estimate_shares(encoder, tally, labels, confidence=1 - 2 * 0.05 / 20)[0].low > 0
    assert seen >= 54


def test_mechanisms_are_ranked_by_the_intervals_that_they_give():
    """Among values that an average number of people have; the shortest report of those within 5 % of the best."""
    for size, n, epsilon in ((20, 1000, 4), (3, 1000, 8), (100, 1000, 4), (100, 10_000, 2), (10, 200, 1)):
        best, *others = plans("values", n, epsilon, size=size)
        halves = [np.mean([half_of(plan.encoder, n) for _ in range(12)]) for plan in (best, *others)]
        assert halves[0] <= 1.1 * min(halves), (size, n, epsilon)
        assert best.share == 1 / size


def test_a_lifetime_is_that_of_rappor_wherever_it_is_planned():
    for only in (None, "rappor"):
        weighed = plans("strings", 10**9, 1, only=only, candidates=20, lifetime=3)
        rappor = next(plan.encoder for plan in weighed if plan.encoder.name == "rappor")
        assert 2.9 < rappor.permanent <= 3
        assert not rappor.one_time
