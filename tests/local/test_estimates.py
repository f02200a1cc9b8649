"""Estimates: unbiased, with the variance that is stated, and intervals that cover as often as they say."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from scipy import stats

from sfumato.errors import InputError
from sfumato.local import ENCODERS
from sfumato.local.estimates import (
    ALLOWED,
    consistent,
    estimate_shares,
    score_interval,
    share_variance,
)
from sfumato.local.kary import Warner
from sfumato.local.means import estimate_mean
from sfumato.local.sketch import CountMeanSketch
from sfumato.local.strings import estimate_sketch
from sfumato.local.tape import SystemTape

SEEDS, USERS, SIZE = 50, 3000, 48
FREQUENCIES = [name for name, kind in ENCODERS.items() if kind.takes == "values" and name != "warner"]
NUMBERS = [name for name, kind in ENCODERS.items() if kind.takes == "numbers"]
TAPE = SystemTape()


def people():
    """A third has one value, and the rest is spread thinner and thinner."""
    weights = 1 / np.arange(1, SIZE + 1)
    counts = np.floor(weights / weights.sum() * USERS).astype(int)
    counts[0] += USERS - counts.sum()
    return np.repeat(np.arange(SIZE), counts)


@pytest.mark.parametrize("name", FREQUENCIES)
@pytest.mark.parametrize("epsilon", [1, 3])
def test_estimates_are_unbiased_with_the_stated_variance(name, epsilon):
    """The mean squared error is within 10 % of theory over 50 runs of 48 values; the mean error is none."""
    encoder, values = ENCODERS[name].planned(SIZE, epsilon), people()
    true = np.bincount(values, minlength=SIZE) / USERS
    errors = np.array([encoder.shares(encoder.tally(encoder.encode(values, TAPE))) - true for _ in range(SEEDS)])
    variance = share_variance(encoder.worth, true, USERS, "fixed")
    assert 0.88 < (errors**2 / variance).mean() < 1.12  # about 4.5 standard deviations of 2400 squares
    assert (np.abs(errors.mean(axis=0)) / np.sqrt(variance / SEEDS)).max() < 5


def test_the_sketch_is_unbiased_with_the_stated_variance():
    """Over salts: the hash functions of one task are fixed, and its collisions with them."""
    texts = [f"text {i}" for i in range(SIZE)]
    values = people()
    true = np.bincount(values, minlength=SIZE) / USERS
    scores = []
    for salt in range(SEEDS):
        encoder = CountMeanSketch.planned(2, hashes=16, columns=32, salt=salt)
        tally = encoder.tally(encoder.encode([texts[v] for v in values], TAPE))
        supports = encoder.supports(tally, texts)
        shares = (supports[1:] / USERS - float(encoder.q)) / float(encoder.p - encoder.q)
        others = (true**2).sum() - true**2
        variance = share_variance(encoder.worth, true, USERS, "fixed") + encoder.collision_spread * others
        scores.append((shares - true) / np.sqrt(variance))
    assert 0.88 < np.square(scores).mean() < 1.12
    assert np.abs(np.mean(scores, axis=0)).max() < 5 / sqrt(SEEDS)
    rows = estimate_sketch(encoder, tally, texts)
    assert np.mean([row.low <= f <= row.high for row, f in zip(rows, true, strict=True)]) > 0.8


@pytest.mark.parametrize("shape", [(1, 12), (10, 66), (16, 16), (100, 700)])
@pytest.mark.parametrize("listed", [1, 400])
def test_intervals_of_the_sketch_cover_texts_that_meet_a_frequent_one(shape, listed):
    """Nine of ten have one text. Who meets it under a single hash function meets it in every report; and that it is not
    listed may be hidden by the noise of many that are.
    """
    hashes, columns = shape
    missed, looked = 0, 0
    for salt in range(60):
        encoder = CountMeanSketch.planned(8, hashes=hashes, columns=columns, salt=salt)
        texts = [f"frequent {salt}"] * 1800 + [f"rare {i % 40}" for i in range(200)]
        candidates = [f"absent {salt} {i}" for i in range(max(20, listed))]
        rows = estimate_sketch(encoder, encoder.tally(encoder.encode(texts, TAPE)), candidates)
        missed += sum(not row.low <= 0 <= row.high for row in rows)
        looked += len(rows)
    assert missed / looked < 0.05 + 3 * sqrt(0.05 / looked)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), 1, 4])
def test_means_are_unbiased_with_the_stated_variance(name, epsilon):
    """Fixed numbers; the stated spread is the variance of a reading, number by number."""
    encoder, trials = ENCODERS[name].planned(epsilon), 800
    points = np.linspace(0, encoder.grid, 40).astype(np.int64)
    u = points / encoder.grid
    c0, c1, c2 = (float(c) for c in encoder.spread)
    stated = (c0 + c1 * u + c2 * u * u).mean() / len(u)
    errors = []
    for _ in range(trials):
        mean, low, high = estimate_mean(encoder, encoder.tally(encoder.encode(points, TAPE)))
        assert low <= mean <= high
        errors.append(mean - u.mean())
    assert abs(np.mean(errors)) < 5 * sqrt(stated / trials)
    assert 0.75 < np.var(errors) / stated < 1.25  # 5 standard deviations


@pytest.mark.parametrize("population", ["fixed", "sampled"])
@pytest.mark.parametrize("name", ["k-ary", "optimised-unary", "hadamard", "dbitflip", "local-hashing"])
def test_intervals_cover_as_often_as_they_say(name, population):
    encoder, dice = ENCODERS[name].planned(8, 3), np.random.default_rng(7)
    true = np.array([0.6, 0.2, 0.1, 0.05, 0.03, 0.02, 0, 0])
    fixed = np.repeat(np.arange(8), (true * 2000).astype(int))
    inside = []
    for _ in range(250):
        values = fixed if population == "fixed" else dice.choice(8, 2000, p=true)
        rows = estimate_shares(
            encoder, encoder.tally(encoder.encode(values, TAPE)), list("abcdefgh"), population=population
        )
        inside += [row.low <= f <= row.high for row, f in zip(rows, true, strict=True)]
    assert 0.93 < np.mean(inside) < 0.975


@pytest.mark.parametrize("population", ["fixed", "sampled"])
@pytest.mark.parametrize("name", NUMBERS)
def test_intervals_of_means_cover(name, population):
    """At least as often as they say: the mean square of the numbers is not known, and the largest that the readings
    allow counts. They are not wider than a third more than the 1.96 deviations that somebody who knew it would take.
    """
    encoder, dice = ENCODERS[name].planned(2), np.random.default_rng(3)
    fixed = dice.integers(0, encoder.grid + 1, 1000)
    inside, widths, means = 0, [], []
    for _ in range(400):
        points = fixed if population == "fixed" else dice.integers(0, encoder.grid + 1, 1000)
        mean, low, high = estimate_mean(encoder, encoder.tally(encoder.encode(points, TAPE)), population=population)
        inside += low <= (fixed.mean() / encoder.grid if population == "fixed" else 0.5) <= high
        widths.append(high - low)
        means.append(mean)
    assert stats.binom.cdf(inside, 400, 0.95) > 1e-9
    assert 0.8 < np.mean(widths) / (2 * 1.96 * np.std(means)) < 1.45  # 1.0 to 1.2, and 3.5 % of chance


def test_the_slides_variance_mixes_two_populations():
    """Three quarters tell the truth: the estimate is 2n'/n - 1/2, its variance 3/(4n) for fixed people, and more by
    p (1 - p)/n where they are a sample. Literally, (n' - 1/4) 2/n is biased: the expectation of n' is pn/2 + n/4.
    """
    coin, n = Warner.planned(2, "ln 3"), 1000
    values = np.repeat([0, 1], [700, 300])
    tally = coin.tally(coin.encode(values, TAPE))
    said = int(tally[2])
    assert coin.shares(tally)[1] == pytest.approx(2 * said / n - 1 / 2)
    assert coin.worth.own == coin.worth.other == Fraction(3, 4)
    assert float(share_variance(coin.worth, 0.3, n, "fixed")) == pytest.approx(3 / (4 * n))
    assert float(share_variance(coin.worth, 0.3, n, "sampled")) == pytest.approx(0.3 * 0.7 / n + 3 / (4 * n))
    expected = sum(coin.law(v)[b"\1"] * count for v, count in ((0, 700), (1, 300)))
    assert expected == Fraction(300, 2) + Fraction(n, 4)
    literal = (expected - Fraction(1, 4)) * 2 / n
    assert literal == Fraction(7995, 10000)  # where the truth is 3/10


def test_post_processing_is_named_and_consistent():
    shares = np.array([0.7, 0.5, -0.3, 0.05])
    assert consistent(shares, "none") is shares
    assert consistent(shares, "nonnegative").tolist() == [0.7, 0.5, 0, 0.05]
    simplex = consistent(shares, "simplex")
    assert simplex.sum() == pytest.approx(1)
    assert (simplex >= 0).all()
    assert simplex.tolist() == pytest.approx([0.6, 0.4, 0, 0])
    with pytest.raises(InputError, match="post-processing"):
        consistent(shares, "clip")


def test_an_estimate_needs_reports_and_a_population():
    coin = Warner.planned(2, 1)
    with pytest.raises(InputError, match="no reports"):
        estimate_shares(coin, coin.tally(np.zeros((0, 1), np.uint8)), ["no", "yes"])
    with pytest.raises(InputError, match="fixed or sampled"):
        estimate_shares(coin, coin.tally(np.zeros((5, 1), np.uint8)), ["no", "yes"], population="all")


def test_a_score_interval_solves_its_quadratic():
    """Part of a report to either side, and then 1.96 deviations of the share that is tried."""
    worth = Warner.planned(2, 1).worth
    part = ALLOWED * float(worth.high - worth.low) / 500
    for population in ("fixed", "sampled"):
        low, high = score_interval(worth, np.array([0.4]), 500, population, 1.96)
        for end in (low[0], high[0]):
            reach = 1.96 * sqrt(share_variance(worth, end, 500, population))
            assert abs(0.4 - end) == pytest.approx(part + reach)
