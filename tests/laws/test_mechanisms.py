"""Every mechanism against its promise, on its exact mass function."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.mechanisms import (
    Channel,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    RandomizedResponse,
    Staircase,
    TruncatedGeometric,
    TruncatedLaplace,
)
from sfumato.reals import exp

F = Fraction
ALARM = 1e-9
epsilons = st.fractions(F(1, 20), F(4), max_denominator=60)
sensitivities = st.integers(1, 7)


def log_ratio(p: Any, q: Any) -> float:
    return math.log(float(p)) - math.log(float(q))


def sup_over_shift(mechanism: Any, shift: int, reach: int, step: Fraction | int = 1) -> float:
    """The largest log-ratio of masses a whole shift apart."""
    mass = {z: mechanism.mass(z * step) for z in range(-reach - shift, reach + shift + 1)}
    return max(abs(log_ratio(mass[z], mass[z + shift])) for z in range(-reach, reach + 1))


@settings(max_examples=25, deadline=None)
@given(sensitivities, epsilons)
def test_loss_is_sup_of_log_ratio(sensitivity: int, epsilon: Fraction) -> None:
    """No output tells neighbours apart by more than the loss, and one tells as much: for every mechanism with a pure
    price."""
    for shift in (1, sensitivity, 2 * sensitivity + 1):
        for mechanism in (Geometric(sensitivity, epsilon), Staircase(sensitivity, epsilon)):
            claimed = float(mechanism.loss(shift).epsilon)
            assert sup_over_shift(mechanism, shift, 3 * sensitivity) == pytest.approx(claimed, rel=1e-9)
        grid = F(1, 4)
        fine = Laplace(sensitivity, epsilon, grid)
        assert sup_over_shift(fine, 4 * shift, 8, grid) == pytest.approx(float(fine.loss(shift).epsilon), rel=1e-9)
    low, high = -2, sensitivity + 2
    for mechanism, step in (
        (TruncatedGeometric(sensitivity, epsilon, low, high), F(1)),
        (TruncatedLaplace(sensitivity, epsilon, F(1, 2), low, high), F(1, 2)),
    ):
        outputs = [low + step * i for i in range(int((high - low) / step) + 1)]
        ratios = [abs(log_ratio(mechanism.mass(y, 0), mechanism.mass(y, sensitivity))) for y in outputs]
        assert max(ratios) == pytest.approx(float(mechanism.loss(sensitivity).epsilon), rel=1e-9)


@settings(max_examples=6, deadline=None)
@given(
    st.integers(1, 3),
    st.fractions(F(1, 3), F(4), max_denominator=20),
    st.lists(st.integers(0, 8), min_size=2, max_size=4),
    st.data(),
)
def test_choices_are_private(sensitivity: int, epsilon: Fraction, scores: list[int], data: st.DataObject) -> None:
    """Exponential, permute-and-flip and noisy max: scores that move by at most the sensitivity, in any or in one
    direction."""
    both = st.integers(-sensitivity, sensitivity)
    for monotone, moves in ((False, both), (True, st.integers(0, sensitivity))):
        neighbour = [s + data.draw(moves) for s in scores]
        for kind in (Exponential, PermuteAndFlip, NoisyMax):
            mechanism = kind(sensitivity, epsilon, monotone)
            for i in range(len(scores)):
                ratio = abs(log_ratio(mechanism.mass(i, scores), mechanism.mass(i, neighbour)))
                assert ratio <= float(epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip, NoisyMax])
@pytest.mark.parametrize("monotone", [False, True])
def test_choices_use_their_epsilon(kind: Any, monotone: bool) -> None:
    """The price is not padded: the worst neighbours, among many candidates, come near to it."""
    mechanism = kind(1, 1, monotone)
    scores = [10] + [12] * 9 if kind is NoisyMax else [0] + [6] * 9
    moved = [scores[0] + 1] + [s - (0 if monotone else 1) for s in scores[1:]]
    ratio = log_ratio(mechanism.mass(0, moved), mechanism.mass(0, scores))
    assert 0.6 < ratio <= 1


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip, NoisyMax])
@pytest.mark.parametrize("scores", [[3], [1, 1], [4, 2, 0, 4], [0, F(1, 2), F(5, 3)]])
def test_choices_add_up(kind: Any, scores: list[Any]) -> None:
    """Masses are a law, and the draws have it."""
    if kind is NoisyMax and any(isinstance(s, Fraction) for s in scores):
        scores = [0, 3, 10]
    mechanism = kind(1, F(3, 2))
    masses = [float(mechanism.mass(i, scores)) for i in range(len(scores))]
    assert sum(masses) == pytest.approx(1, abs=1e-12)
    counts = np.bincount([mechanism.release(scores) for _ in range(4000)], minlength=len(scores))
    if len(scores) > 1:
        assert stats.chisquare(counts, np.array(masses) * 4000 / sum(masses)).pvalue > ALARM


@settings(max_examples=20, deadline=None)
@given(epsilons, st.lists(st.integers(0, 9), min_size=2, max_size=5), st.data())
def test_exponential_range_is_epsilon(epsilon: Fraction, scores: list[int], data: st.DataObject) -> None:
    """All log-ratios of one pair of neighbours lie within a range of width epsilon: this is what rho = epsilon²/8
    rests on."""
    mechanism = Exponential(2, epsilon)
    neighbour = [s + data.draw(st.integers(-2, 2)) for s in scores]
    ratios = [log_ratio(mechanism.mass(i, scores), mechanism.mass(i, neighbour)) for i in range(len(scores))]
    assert max(ratios) - min(ratios) <= float(epsilon) * (1 + 1e-9)
    assert mechanism.loss(2).rho == epsilon**2 / 8


def test_permute_and_flip_is_wider_than_its_epsilon() -> None:
    """Why permute-and-flip is charged epsilon²/2: its log-ratios do not fit into a range of epsilon."""
    mechanism = PermuteAndFlip(1, 1)
    scores, neighbour = [0, 0, 0, 0, 0, 3], [1, -1, -1, -1, -1, 3]
    ratios = [log_ratio(mechanism.mass(i, neighbour), mechanism.mass(i, scores)) for i in range(6)]
    assert max(ratios) <= 1
    widest = max(ratios) - min(ratios)
    assert widest > float(mechanism.epsilon) * 0.9
    assert mechanism.loss(1).rho == F(1, 2)


@settings(max_examples=20, deadline=None)
@given(epsilons, st.lists(st.integers(0, 9), min_size=2, max_size=5))
def test_permute_and_flip_is_no_worse(epsilon: Fraction, scores: list[int]) -> None:
    """The expected score is at least the exponential mechanism's, at the same epsilon."""

    def expected(mechanism: Any) -> float:
        return sum(float(mechanism.mass(i, scores)) * s for i, s in enumerate(scores))

    assert expected(PermuteAndFlip(1, epsilon)) >= expected(Exponential(1, epsilon)) - 1e-12


def _joint(mechanism: NoisyMax, scores: tuple[int, ...], winner: int, gap: int, reach: int = 90) -> float:
    """P(winner and gap): over what the winner needs, the most that a later one has or one more than an earlier one."""
    noise = Geometric(1, 1 / mechanism.scale)
    cdf = {z: float(noise.cdf(z)) for z in range(-2 * reach, 2 * reach + 1)}
    mass = {z: cdf[z] - cdf[z - 1] for z in range(1 - 2 * reach, 2 * reach + 1)}
    needs = [score + (i < winner) for i, score in enumerate(scores) if i != winner]

    def below(needed: int) -> float:
        return math.prod(cdf[needed - need] for need in needs)

    return sum((below(t) - below(t - 1)) * mass[t + gap - scores[winner]] for t in range(-reach, reach))


GAPS: list[tuple[bool, tuple[int, ...], tuple[int, ...]]] = [
    (False, (2, 1, 0), (3, 0, 1)),
    (False, (2, 1, 0), (1, 2, 1)),
    (False, (2, 1, 0), (2, 2, -1)),
    *((False, (0,) * n + (0, 0), (1,) * n + (-1, -1)) for n in (1, 2, 5, 20)),
    *((True, (0,) * n + (1, 1), (1,) * n + (1, 1)) for n in (1, 2, 5, 20)),
]
"""Whether scores move one way, and neighbours; many earlier scores that rise meet the last ones that fall, or stay."""


@pytest.mark.parametrize(("monotone", "scores", "neighbour"), GAPS)
def test_noisy_max_gap_is_free(monotone: bool, scores: tuple[int, ...], neighbour: tuple[int, ...]) -> None:
    """Winner and gap together, at the price of the winner alone: exact joint masses, and those are what is drawn."""
    mechanism = NoisyMax(1, 1, monotone)
    last = range(max(0, len(scores) - 3), len(scores))
    for winner, gap in product(last, (0, 1, 2, 5)):
        p, q = _joint(mechanism, scores, winner, gap), _joint(mechanism, neighbour, winner, gap)
        assert abs(math.log(p / q)) <= 1 + 1e-6
    drawn = list(zip(*(part.tolist() for part in mechanism.release_with_gap(scores, 20_000)), strict=True))
    for pair in product(last, (0, 1, 2)):
        assert stats.binomtest(drawn.count(pair), 20_000, _joint(mechanism, scores, *pair)).pvalue > ALARM


LAWS: list[tuple[Any, Fraction]] = [
    (Geometric(1, 1), F(1)),
    (Geometric(3, F(1, 2)), F(1)),
    (Geometric(1, 20), F(1)),
    (Laplace(1, F(1, 2), F(1, 4)), F(1, 4)),
    (Gaussian(1, F(1, 2)), F(1)),
    (Gaussian(3, F(1, 8)), F(1)),
    (Gaussian(1, 50), F(1)),
    (Staircase(5, F(3, 2)), F(1)),
    (Staircase(1, 1), F(1)),
    (Staircase(4, 3, tread=4), F(1)),
]


@pytest.mark.parametrize(("mechanism", "step"), LAWS)
def test_mass_adds_up(mechanism: Any, step: Fraction) -> None:
    """mass, cdf and symmetry belong to one law, with nothing left over."""
    reach = 80
    masses = {z: float(mechanism.mass(z * step)) for z in range(-reach, reach + 1)}
    assert all(masses[z] == masses[-z] for z in masses)
    assert all(masses[z + 1] <= masses[z] for z in range(reach))
    for z in (-7, -1, 0, 1, 12):
        difference = mechanism.cdf(z * step) - mechanism.cdf((z - 1) * step)
        assert float(difference) == pytest.approx(masses[z], rel=1e-12)
        assert float(mechanism.cdf(-z * step) + mechanism.cdf((z - 1) * step)) == pytest.approx(1, abs=1e-15)
    inside = float(mechanism.cdf(reach * step) - mechanism.cdf((-reach - 1) * step))
    assert math.fsum(masses.values()) == pytest.approx(inside, rel=1e-12)
    assert float(mechanism.cdf(10**4 * step)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("mechanism", "step"), LAWS)
@pytest.mark.parametrize("confidence", ["0.5", "0.8", "0.95", "0.999", "0.999999999"])
def test_interval_is_the_smallest(mechanism: Any, step: Fraction, confidence: str) -> None:
    """It holds the noise at least as often as stated, and one step less would not."""
    low, high = mechanism.interval(confidence)
    assert low == -high
    covered = mechanism.cdf(high) - mechanism.cdf(low - step)
    assert covered >= F(confidence)
    if high > 0:
        narrower = mechanism.cdf(high - step) - mechanism.cdf(low)
        assert narrower < F(confidence)


@pytest.mark.parametrize("scale", [10**6, 10**12, 2**70])
def test_intervals_of_wide_laws(scale: int) -> None:
    """At scales where the grid is invisible the exact ends agree with the continuous laws to their last shown digit."""
    assert Geometric(scale, 1).interval()[1] == pytest.approx(scale * math.log(20), rel=1e-6)
    assert Gaussian(scale, F(1, 2)).interval()[1] == pytest.approx(scale * 1.959963984540054, rel=1e-6)


@settings(max_examples=20, deadline=None)
@given(sensitivities, epsilons, st.integers(-3, 3), st.integers(0, 6))
def test_truncated_mass_adds_up(sensitivity: int, epsilon: Fraction, low: int, width: int) -> None:
    mechanism = TruncatedGeometric(sensitivity, epsilon, low, low + width)
    for value in (low - 2, low, low + width):
        assert math.fsum(float(mechanism.mass(y, value)) for y in range(low, low + width + 1)) == pytest.approx(
            1, abs=1e-12
        )
        assert float(mechanism.mass(low - 1, value)) == 0
    fine = TruncatedLaplace(sensitivity, epsilon, F(1, 2), low, low + width)
    outputs = [low + F(i, 2) for i in range(2 * width + 1)]
    assert math.fsum(float(fine.mass(y, low)) for y in outputs) == pytest.approx(1, abs=1e-12)
    response = RandomizedResponse(epsilon, width + 2)
    assert math.fsum(float(response.mass(y, 1)) for y in range(width + 2)) == pytest.approx(1, abs=1e-12)


@settings(max_examples=15, deadline=None)
@given(epsilons, st.integers(1, 5))
def test_channel_epsilon_is_the_stated_one(epsilon: Fraction, high: int) -> None:
    """The finite channel of the truncated law needs exactly epsilon a step, and k epsilon for inputs k apart."""
    channel = TruncatedGeometric(1, epsilon, 0, high).channel()
    found = channel.epsilon(lambda x, y: abs(x - y))
    assert epsilon <= found <= epsilon + F(2, 10**15)
    assert epsilon * high <= channel.epsilon() <= epsilon * high + F(2, 10**15)
    response = RandomizedResponse(epsilon, high + 1).channel().epsilon()
    assert epsilon <= response <= epsilon + F(2, 10**15)


@given(st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=2, max_size=4))
def test_channel_epsilon_of_any_matrix(weights: list[list[int]]) -> None:
    """Against the definition, on rational matrices, under two metrics; the witness attains it."""
    rows = [[F(w, sum(row)) for w in row] for row in weights]
    channel = Channel(rows)
    for metric in (None, lambda x, y: F(abs(x - y), 2)):
        pairs = [(x, y) for x in range(len(rows)) for y in range(len(rows)) if x != y]
        needed = max(
            max(math.log(a / b) for a, b in zip(rows[x], rows[y], strict=True)) / float(metric(x, y) if metric else 1)
            for x, y in pairs
        )
        found = channel.epsilon(metric)
        assert float(found) == pytest.approx(needed, abs=1e-12)
        if found:
            x, other, y, epsilon = channel.witness(metric)
            distance = metric(x, other) if metric else 1
            assert math.log(rows[x][y] / rows[other][y]) / float(distance) == pytest.approx(float(epsilon), abs=1e-12)
            assert exp(found * F(distance)) >= rows[x][y] / rows[other][y]


def test_channel_with_a_zero_has_no_epsilon() -> None:
    assert Channel([[1, 0], [F(1, 2), F(1, 2)]]).epsilon() is None
    assert Channel([[F(1, 2), F(1, 2)], [F(1, 2), F(1, 2)]]).epsilon() == 0
    assert Channel([[F(1, 2), F(1, 2)], [F(1, 3), F(2, 3)]]).epsilon([[0, 0], [0, 0]]) is None


def test_channel_rows_are_sampled() -> None:
    channel = Channel([[F(1, 2), F(1, 3), F(1, 6)], [F(0), F(1), F(0)]])
    counts = np.bincount(channel.release(np.zeros(6000, int)), minlength=3)
    assert stats.chisquare(counts, [3000, 2000, 1000]).pvalue > ALARM
    assert set(channel.release([1] * 50).tolist()) == {1}
    response = RandomizedResponse(1, 4)
    counts = np.bincount(response.release(np.full(6000, 2)), minlength=4)
    masses = np.array([float(response.mass(y, 2)) for y in range(4)])
    assert stats.chisquare(counts, masses / masses.sum() * 6000).pvalue > ALARM


def test_response_of_three_quarters_is_ln_3() -> None:
    response = RandomizedResponse.telling_truth(F(3, 4))
    assert float(response.epsilon) == pytest.approx(math.log(3), abs=1e-15)
    assert exp(response.epsilon) >= 3
    assert exp(response.epsilon - F(1, 10**15)) < 3


@given(st.fractions(-50, 50), st.fractions(F(1, 100), 5), st.fractions(F(1, 9), 3), st.fractions(0, 1))
def test_rounding_onto_the_grid_moves_at_most_the_distance(
    x: Fraction, distance: Fraction, grid: Fraction, part: Fraction
) -> None:
    """Numbers at most the distance apart land at most as many steps apart as the loss charges."""
    mechanism = Laplace(1, 1, grid)
    landed = [(value / grid + F(1, 2)) // 1 for value in (x, x + part * distance)]
    charged = mechanism.loss(distance).epsilon * mechanism.on_grid.scale
    assert abs(landed[1] - landed[0]) <= charged
    assert mechanism.loss(1).epsilon == 1


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 4), st.fractions(F(1, 50), 2, max_denominator=50), st.integers(2, 9))
def test_gaussian_renyi_is_within_rho(shift: int, rho: Fraction, order: int) -> None:
    """The Renyi divergence of the discrete law itself, summed in mpmath, is at most order * rho."""
    mechanism = Gaussian(shift, rho)
    variance = mpmath.mpf(mechanism.variance.numerator) / mechanism.variance.denominator
    reach = int(mpmath.sqrt(variance) * 20) + 20 + 2 * order * shift
    weight = [mpmath.e ** (-mpmath.mpf(x * x) / (2 * variance)) for x in range(reach)]
    whole = 2 * sum(weight) - 1
    total = sum(
        mpmath.e ** ((-order * x * x + (order - 1) * (x - shift) ** 2) / (2 * variance))
        for x in range(-2 * reach, 2 * reach)
    )
    divergence = mpmath.log(total / whole) / (order - 1)
    assert divergence <= order * float(rho) * (1 + 1e-9)
    assert mechanism.loss(shift).rho == rho
    assert mechanism.loss(shift).epsilon is None


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3), st.fractions(F(1, 4), 40, max_denominator=8), st.fractions(0, 3, max_denominator=20))
def test_gaussian_curve_is_the_exact_sum(shift: int, variance: Fraction, epsilon: Fraction) -> None:
    """delta(epsilon) is the sum of the positive parts, over the discrete law; shorter shifts need no more."""
    mechanism = Gaussian(shift, F(shift * shift) / (2 * variance))
    sigma2 = mpmath.mpf(variance.numerator) / variance.denominator
    reach = int(mpmath.sqrt(sigma2) * 25) + 30
    weight = {x: mpmath.e ** (-mpmath.mpf(x * x) / (2 * sigma2)) for x in range(-reach, reach + 1)}
    whole = sum(weight.values())
    factor = mpmath.e ** (mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    positive = [max(0, weight[x - shift] - factor * weight[x]) for x in range(-reach + shift, reach + 1)]
    true = float(sum(positive) / whole)
    assert float(mechanism.delta(epsilon)) == pytest.approx(true, rel=1e-9, abs=1e-30)
    assert float(mechanism.delta(epsilon, 1)) <= true * (1 + 1e-12) + 1e-30


def test_gaussian_curve_exceeds_the_continuous_one() -> None:
    """The analytic curve is too optimistic for the discrete law: at sigma 1 by more than a factor of two at its
    worst."""
    worst = 0.0
    for i in range(1, 60):
        epsilon = F(i, 10)
        sigma = 1.0
        analytic = stats.norm.sf(float(epsilon) * sigma - 0.5 / sigma) - math.exp(epsilon) * stats.norm.sf(
            float(epsilon) * sigma + 0.5 / sigma
        )
        worst = max(worst, float(Gaussian(1, F(1, 2)).delta(epsilon)) / analytic)
    assert worst > 2


@given(st.integers(1, 30))
def test_gaussian_is_not_pure(epsilon: int) -> None:
    """For any epsilon there is an answer that tells more."""
    mechanism = Gaussian(1, F(1, 2))
    assert log_ratio(mechanism.mass(epsilon + 1), mechanism.mass(epsilon + 2)) > epsilon


def test_gaussian_for_one_number_is_tight() -> None:
    for epsilon, delta in ((F(1), F(1, 10**6)), (F(1, 10), F(1, 10**5)), (F(4), F(1, 10**8))):
        mechanism = Gaussian.for_one_number(1, epsilon, delta)
        assert mechanism.delta(epsilon) <= delta
        assert Gaussian(1, mechanism.rho * F(1001, 1000)).delta(epsilon) > delta
        assert mechanism.epsilon(delta) <= epsilon
        assert mechanism.epsilon(delta) > epsilon * F(99, 100)


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 3), st.fractions(F(1, 10), 1, max_denominator=20), st.fractions(F(1, 10), 1, max_denominator=20))
def test_refined_pair_costs_the_better_epsilon(sensitivity: int, first: Fraction, more: Fraction) -> None:
    """The exact joint law of the two answers: it is that of the better answer with public noise, and costs its
    epsilon."""
    before, after = Geometric(sensitivity, first), Geometric(sensitivity, first + more)
    for noise in (0, 1, -2, 5):
        weights = [float(w) for w in after.refined_weights(noise, before)]
        given_first = {z: conditional(before, after, noise, z, weights) for z in range(-80, 81)}
        for z, chance in given_first.items():
            joint = float(before.mass(noise)) * chance
            public = float(after.mass(z)) * public_noise(before, after, noise - z)
            assert joint == pytest.approx(public, rel=1e-9)
    # a person moves the number by at most the sensitivity: the pair (y1, y2) = x + (z1, z2)
    for y1, y2, shift in product((-3, 0, 4), (-2, 0, 1, 5), range(1, sensitivity + 1)):
        pair = [float(after.mass(y2 - x)) * public_noise(before, after, y1 - y2) for x in (0, shift)]
        assert abs(math.log(pair[0] / pair[1])) <= float(first + more) * (1 + 1e-9)
    assert after.refinement(before).epsilon_before == first


def public_noise(before: Geometric, after: Geometric, w: int) -> float:
    """P(W = w) of the proof, from its definition."""
    r1, r2 = math.exp(-1 / before.scale), math.exp(-1 / after.scale)
    same = (1 - r1) ** 2 * r2 / ((1 - r2) ** 2 * r1)
    return (same if w == 0 else 0) + (1 - same) * float(before.mass(w))


def conditional(before: Geometric, after: Geometric, noise: int, z: int, weights: list[float]) -> float:
    """P(better noise = z) as the sampler draws it: a place by its weight, then a geometric law within the place."""
    sign = -1 if noise < 0 else 1
    m, z = abs(noise), sign * z
    together = math.exp(-(1 / before.scale + 1 / after.scale))
    inner = math.exp(-(1 / after.scale - 1 / before.scale))
    chance = 0.0
    if z == m:
        chance += weights[0]
    if z < 0:
        chance += weights[1] * (1 - together) * together ** (-1 - z)
    elif z <= m:
        chance += weights[2] * inner**z * (1 - inner) / (1 - inner ** (m + 1))
    else:
        chance += weights[3] * (1 - together) * together ** (z - m - 1)
    return chance / sum(weights)


def test_refined_answers_have_their_law() -> None:
    """Drawn: the better noise has its own law, and the earlier is the better plus W."""
    before, after = Geometric(1, F(1, 2)), Geometric(1, F(3, 2))
    pairs = []
    for _ in range(6000):
        earlier = before.release(7)
        pairs.append((earlier - 7, after.refine(7, earlier, before) - 7))
    for z in range(-3, 4):
        hits = sum(b == z for _, b in pairs)
        assert stats.binomtest(hits, 6000, float(after.mass(z))).pvalue > ALARM
        apart = sum(a - b == z for a, b in pairs)
        assert stats.binomtest(apart, 6000, public_noise(before, after, z)).pvalue > ALARM


def test_staircase_has_the_stated_frequencies() -> None:
    mechanism = Staircase(4, F(3, 2), tread=1)
    draws = [mechanism.release(10) - 10 for _ in range(20_000)]
    for z in (-8, -5, -4, -1, 0, 1, 3, 4, 9):
        assert stats.binomtest(draws.count(z), 20_000, float(mechanism.mass(z))).pvalue > ALARM


def test_staircase_beats_geometric_at_large_epsilon() -> None:
    """Expected size of the noise at epsilon 4 and sensitivity 20: well below the geometric mechanism's."""

    def expected(mechanism: Any) -> float:
        return sum(abs(z) * float(mechanism.mass(z)) for z in range(-200, 201))

    assert expected(Staircase(20, 4)) < 0.7 * expected(Geometric(20, 4))
    for tread in range(1, 21):  # the tread chosen is near the best one
        assert expected(Staircase(20, 4)) <= 1.05 * expected(Staircase(20, 4, tread=tread))


@settings(max_examples=20, deadline=None)
@given(epsilons, st.integers(0, 40), st.integers(0, 40))
def test_group_of_shifts_adds_up(epsilon: Fraction, a: int, b: int) -> None:
    """loss is a metric's multiple: distances add."""
    assume(a + b > 0)
    mechanism = Geometric(1, epsilon)
    assert mechanism.loss(a + b).epsilon == mechanism.loss(a).epsilon + mechanism.loss(b).epsilon
