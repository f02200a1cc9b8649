"""Plans of surveys about texts: a text that is as frequent as the plan says is named, and intervals are as wide."""

from statistics import median

import numpy as np
import pytest

from sfumato.errors import InputError
from sfumato.local.plan import plans, weigh
from sfumato.local.rappor import Rappor
from sfumato.local.sketch import CountMeanSketch, PrefixExtending
from sfumato.local.strings import discover, estimate_rappor, estimate_sketch
from sfumato.local.tape import SystemTape

SMALL = [
    (PrefixExtending.planned(4, letters=3), 6000, 1),
    (PrefixExtending.planned(8, letters=2), 3000, 1),
    (Rappor.planned(6, filter=16, cohorts=8), 3000, 30),
    (Rappor.planned(6, filter=16, cohorts=8), 3000, 150),
    (Rappor.planned(4, 8, filter=16, cohorts=8), 3000, 40),
    (CountMeanSketch.planned(4, hashes=64, columns=64, salt=0), 3000, 50),
]
LARGE = [
    (PrefixExtending.planned(1), 60_000, 1),
    (Rappor.planned(1), 60_000, 1000),
    (Rappor.planned(1), 60_000, 400),
    (CountMeanSketch.planned(1, hashes=256, columns=256, salt=0), 60_000, 1000),
]


def found_in(encoder, n, candidates, share, run):
    """One survey, in which a text has this share, and all others are rare: whether it is named, and its interval."""
    dice, own = np.random.default_rng(run), "goal" if candidates == 1 else f"{run}/goal"
    listed = [own, *(f"{run}/{i}" for i in range(candidates - 1))]
    rare = [f"x{i:05}" for i in range(90_000)] if candidates == 1 else listed[1:]
    drawn = dice.integers(0, len(rare), n)
    values = [own if u < share else rare[i] for u, i in zip(dice.random(n).tolist(), drawn.tolist(), strict=True)]
    reports = encoder.encode(values, SystemTape())
    if isinstance(encoder, PrefixExtending):
        rows = [row for row in discover(encoder, reports) if row.value == own[: encoder.letters]]
    elif isinstance(encoder, Rappor):
        rows = [row for row in estimate_rappor(encoder, reports, listed) if row.value == own]
    else:
        tally = encoder.tally(reports)
        together = estimate_sketch(encoder, tally, listed, confidence=1 - 2 * 0.05 / candidates)[0]
        row = estimate_sketch(encoder, tally, listed)[0]
        return together.low > 0, (row.high - row.low) / 2
    named = bool(rows) and rows[0].p_value < 0.05
    return named, (rows[0].high - rows[0].low) / 2 if rows else None


def check_power(encoder, n, candidates, runs, least):
    plan = weigh(encoder, n, candidates)
    found = [found_in(encoder, n, candidates, plan.detectable, run) for run in range(runs)]
    assert sum(named for named, _ in found) >= least
    half = median(half for _, half in found if half is not None)
    assert half <= 1.15 * plan.error
    if not isinstance(encoder, CountMeanSketch):  # its plan is for the worst case: one other text that everybody has
        assert half >= 0.75 * plan.error


@pytest.mark.parametrize(("encoder", "n", "candidates"), SMALL)
def test_a_text_with_the_planned_share_is_named(encoder, n, candidates):
    """In four of five surveys: of 16, seven or fewer have a chance below 2e-3. The interval is as wide as planned."""
    check_power(encoder, n, candidates, runs=16, least=8)


@pytest.mark.slow
@pytest.mark.parametrize(("encoder", "n", "candidates"), LARGE)
def test_a_text_with_the_planned_share_is_named_in_large_surveys(encoder, n, candidates):
    check_power(encoder, n, candidates, runs=30, least=17)  # 16 or fewer have a chance below 1e-3


@pytest.mark.parametrize(("encoder", "n", "candidates"), SMALL[:5])
def test_a_text_with_half_of_the_planned_share_is_not_named(encoder, n, candidates):
    """The plan does not exaggerate: in most surveys such a text is missed."""
    plan = weigh(encoder, n, candidates)
    found = [found_in(encoder, n, candidates, plan.detectable / 2, run)[0] for run in range(8)]
    assert sum(found) <= 5


def test_more_candidates_need_a_larger_share():
    encoder = Rappor.planned(1)
    steps = [weigh(encoder, 60_000, many) for many in (1, 10, 400, 600, 10_000)]
    assert [plan.detectable for plan in steps] == sorted(plan.detectable for plan in steps)
    assert steps[3].error > 1.2 * steps[2].error  # half of the reports select
    with pytest.raises(InputError, match="cannot name any"):
        weigh(encoder, 60_000, 300_000)
    assert "rappor" not in {plan.encoder.name for plan in plans("strings", 60_000, 1, candidates=300_000)}
    few, many = (
        {plan.encoder.name: plan.detectable for plan in plans("strings", 60_000, 1, candidates=c)} for c in (10, 1000)
    )
    assert few["prefix"] == many["prefix"]
    assert few["rappor"] < many["rappor"]
