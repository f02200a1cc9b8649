"""A choice among entries of many candidates: its loss over all neighbours, what monotone needs, and its draws."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.mechanisms import Exponential, RankedChoice
from sfumato.reals import Real, exp, ln

F = Fraction
ALARM = 1e-9
epsilons = st.fractions(F(1, 20), F(4), max_denominator=60)
sensitivities = st.sampled_from([F(1), F(2), F(3, 2)])


def moves(law: RankedChoice, count: int) -> list[tuple[int, ...]]:
    """Every way in which one person moves the scores: each by at most the sensitivity, where monotone all one way."""
    most = int(law.sensitivity)
    every = product(range(-most, most + 1), repeat=count)
    return [m for m in every if not law.monotone or min(m) >= 0 or max(m) <= 0]


def neighbours(law: RankedChoice, scores: list[int]) -> list[list[int]]:
    moved = [[s + by for s, by in zip(scores, m, strict=True)] for m in moves(law, len(scores))]
    return [scores for scores in moved if min(scores) >= 0]


def log_ratios(law: RankedChoice, scores: list[int], other: list[int], lengths: list[int] | None = None) -> list[Real]:
    return [ln(p / q) for p, q in zip(law.mass(scores, lengths), law.mass(other, lengths), strict=True)]


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(
    ("scores", "lengths"),
    [([2, 2], None), ([0, 1, 5], None), ([3, 0, 9], [1, 7, 10**6]), ([4, 4], [1, 2**60]), ([1, 0, 2], [2, 2**62, 1])],
)
@pytest.mark.parametrize("epsilon", [F(1, 3), F(2)])
def test_ranked_loss_is_sup_of_log_ratio(
    epsilon: Fraction, scores: list[int], lengths: list[int] | None, monotone: bool
) -> None:
    """Over all neighbours, by exact comparison: no index tells more than epsilon; the worst neighbour of an index is
    the one whose other entries all move the other way, or stay where monotone."""
    law = RankedChoice(2, epsilon, monotone)
    many = lengths or [1] * len(scores)
    claimed = law.loss(2).epsilon
    assert claimed == epsilon
    for other in neighbours(law, scores):
        for p, q in zip(law.mass(scores, lengths), law.mass(other, lengths), strict=True):
            assert p < exp(epsilon) * q
            assert q < exp(epsilon) * p
    far = [s + 10 for s in scores]  # room for moves downward
    for i in range(len(scores)):
        ratios = [log_ratios(law, other, far, lengths)[i] for other in neighbours(law, far)]
        share = law.mass(far, lengths)[i]
        # i moves down and all others up by 2, or, where monotone, i alone moves down
        down, up = exp(2 * law.rate), exp(0 if monotone else -2 * law.rate)
        worst = ln(down / (share * down + (1 - share) * up))
        assert max(float(r) for r in ratios) == pytest.approx(float(worst), rel=1e-12)
        assert worst < epsilon
        if many[i] * 10**9 < sum(many):
            assert worst > epsilon * (1 - F(1, 10**8))  # the claim is not padded


@settings(max_examples=25, deadline=None)
@given(
    sensitivities,
    epsilons,
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 2**62)), min_size=2, max_size=5),
    st.booleans(),
    st.data(),
)
def test_ranked_range_is_epsilon(
    sensitivity: Fraction, epsilon: Fraction, entries: list[tuple[int, int]], monotone: bool, data: st.DataObject
) -> None:
    """All log-ratios of one pair of neighbours lie within a range of width epsilon, also where all scores move one way
    at twice the rate: this is what rho = epsilon²/8 rests on."""
    law = RankedChoice(sensitivity, epsilon, monotone)
    most = int(sensitivity)
    scores, lengths = [s + most for s, _ in entries], [n for _, n in entries]
    low = 0 if monotone else -most
    other = [s + data.draw(st.integers(low, most)) for s in scores]
    ratios = [float(r) for r in log_ratios(law, scores, other, lengths)]
    assert max(ratios) - min(ratios) <= float(epsilon) * (1 + 1e-9) + 1e-12
    assert max(ratios) >= -1e-12
    assert min(ratios) <= 1e-12
    assert law.loss(sensitivity).rho == epsilon**2 / 8 == law.event.epsilon**2 / 8


@pytest.mark.parametrize("monotone", [False, True])
def test_ranked_range_is_used(monotone: bool) -> None:
    """The width is attained: an entry that moves one way and one that moves the other way, or stays."""
    law = RankedChoice(1, 1, monotone)
    ratios = [float(r) for r in log_ratios(law, [5, 5, 5], [6, 5 if monotone else 4, 5])]
    assert max(ratios) - min(ratios) == pytest.approx(1)


def divergence(order: float, first: list[Real], second: list[Real]) -> Any:
    """Rényi's, of this order."""
    pairs = [(mpmath.mpf(float(p)), mpmath.mpf(float(q))) for p, q in zip(first, second, strict=True)]
    return mpmath.log(sum(p**order * q ** (1 - order) for p, q in pairs)) / (order - 1)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("lengths", [None, [1, 1, 1000], [1, 2**40, 2**40], [30, 1, 40]])
@pytest.mark.parametrize("epsilon", [F(1, 4), F(3)])
def test_ranked_rho_holds(epsilon: Fraction, lengths: list[int] | None, monotone: bool) -> None:
    """Rényi divergences between all neighbours, of many orders, are at most order times rho; half of it is exceeded."""
    law = RankedChoice(1, epsilon, monotone)
    scores = [4, 3, 4]
    rho = float(law.loss(1).rho)
    worst = 0.0
    for other in neighbours(law, scores):
        for first, second in ((scores, other), (other, scores)):
            for order in (1.001, 1.5, 2, 8, 64):
                found = float(divergence(order, law.mass(first, lengths), law.mass(second, lengths)))
                assert found <= order * rho * (1 + 1e-6) + 1e-12
                worst = max(worst, found / (order * rho))
    if lengths in (None, [30, 1, 40]) and epsilon < 1:
        assert worst > 0.5


def test_ranked_common_moves_do_not_count() -> None:
    """The largest weight less one's own: a person adds to weights, and scores move both ways, but alike for all."""
    law = RankedChoice(1, 1, monotone=True)
    for weights in product(range(4), repeat=3):
        for more in product((0, 1), repeat=3):
            moved = [w + m for w, m in zip(weights, more, strict=True)]
            pair = [[max(held) - w for w in held] for held in (weights, moved)]
            ratios = [float(r) for r in log_ratios(law, *pair, [1, 2**50, 3])]
            assert max(map(abs, ratios)) <= 1 + 1e-12
            assert max(ratios) - min(ratios) <= 1 + 1e-12


def test_ranked_monotone_needs_one_direction() -> None:
    """Where one person helps one candidate and harms another, as under replace, the monotone rate costs twice."""
    law = RankedChoice(1, 1, monotone=True)
    ratios = [float(r) for r in log_ratios(law, [5, 5, 5], [4, 6, 6], [1, 2**60, 2**60])]
    assert min(ratios) == pytest.approx(-2, rel=1e-9)
    apart = [float(r) for r in log_ratios(law, [5, 5], [4, 6])]
    assert max(apart) - min(apart) == pytest.approx(2)
    assert float(divergence(1.001, law.mass([5, 5]), law.mass([4, 6]))) > float(law.loss(1).rho) * 1.001
    honest = RankedChoice(1, 1)
    assert max(abs(float(r)) for r in log_ratios(honest, [5, 5, 5], [4, 6, 6], [1, 2**60, 2**60])) <= 1


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 5)), min_size=1, max_size=6), epsilons, st.booleans())
def test_ranked_cuts_do_not_matter(runs: list[tuple[int, int]], epsilon: Fraction, monotone: bool) -> None:
    """An entry of n candidates is n entries of one; each candidate then has the exponential mechanism's chance."""
    law = RankedChoice(1, epsilon, monotone)
    together = law.mass([s for s, _ in runs], [n for _, n in runs])
    apart = law.mass([s for s, n in runs for _ in range(n)])
    plain = Exponential(1, epsilon, monotone)
    scores = [-s for s, n in runs for _ in range(n)]
    at = 0
    for share, (_, n) in zip(together, runs, strict=True):
        for c in range(at, at + n):
            assert float(apart[c]) == pytest.approx(float(share) / n, rel=1e-12)
            assert float(plain.mass(c, scores)) == pytest.approx(float(apart[c]), rel=1e-12)
        at += n
    assert math.fsum(float(share) for share in together) == pytest.approx(1, abs=1e-12)
    assert plain.event == law.event
    assert plain.loss(3) == law.loss(3)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.integers(0, 30), st.sampled_from([F(1, 2), F(2)]))
def test_ranked_entries_may_be_cut_by_the_data(values: list[int], more: int, epsilon: Fraction) -> None:
    """A median of numbers from 0 to 30: entries are the runs between the numbers, which differ between neighbours. A
    candidate drawn uniformly from the entry is private: its score moves by at most one."""

    def candidates(numbers: list[int]) -> list[float]:
        """The chance of each candidate 0, ..., 30 by the runs of equal score |2 (numbers below c) - all|."""
        edges = [0, *sorted({n + 1 for n in numbers}), 31]
        runs = [(a, b) for a, b in pairwise(edges) if a < b]
        scores = [abs(2 * sum(n < a for n in numbers) - len(numbers)) for a, _ in runs]
        masses = law.mass(scores, [b - a for a, b in runs])
        return [float(p) / (b - a) for p, (a, b) in zip(masses, runs, strict=True) for _ in range(a, b)]

    law = RankedChoice(1, epsilon)
    ratios = [math.log(p / q) for p, q in zip(candidates(values), candidates([*values, more]), strict=True)]
    assert max(map(abs, ratios)) <= float(epsilon) * (1 + 1e-9)
    assert max(ratios) - min(ratios) <= float(epsilon) * (1 + 1e-9)


def p_value(counts: np.ndarray, masses: np.ndarray) -> float:
    return float(stats.chisquare(counts, masses / masses.sum() * counts.sum()).pvalue)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(
    ("scores", "lengths"),
    [
        ([4, 2, 0, 4, 3], None),
        ([7, 9, 8, 12], [1, 4, 2, 40]),
        ([2**70, 2**70 + 3, 2**70 + 1], [2**62, 2**62, 2**61]),
    ],
)
def test_ranked_draws_have_their_law(scores: list[int], lengths: list[int] | None, monotone: bool) -> None:
    """Two-sided: the stated law is accepted; the law of the other rate, and that of the scores upside down, are not."""
    law = RankedChoice(1, F(3, 2), monotone)
    counts = np.bincount([law.release(scores, lengths) for _ in range(6000)], minlength=len(scores))
    masses = np.array([float(p) for p in law.mass(scores, lengths)])
    assert masses.sum() == pytest.approx(1, abs=1e-12)
    assert p_value(counts, masses) > ALARM
    other = [float(p) for p in RankedChoice(1, F(3, 2), not monotone).mass(scores, lengths)]
    upside_down = [float(p) for p in law.mass([max(scores) - s for s in scores], lengths)]
    for wrong in (other, upside_down):
        assert p_value(counts, np.array(wrong)) < 1e-6


def test_ranked_choice_of_many_has_its_law() -> None:
    """Seventy thousand entries, several chunks: shares of ten groups of entries, with lengths of up to 60 bits."""
    count = 70_000
    law = RankedChoice(F(3, 2), F(1, 500))
    scores = (np.arange(count) * 7919) % 5003
    lengths = ((np.arange(count) % 13 + 1) << 56) + 12345
    weights = lengths * np.exp(-float(law.rate) * scores)
    groups = np.arange(count) // 7000
    draws = np.array([law.release(scores, lengths) for _ in range(1500)])
    assert p_value(np.bincount(groups[draws], minlength=10), np.bincount(groups, weights)) > ALARM
    by_score = scores // 1001
    assert p_value(np.bincount(by_score[draws]), np.bincount(by_score, weights)) > ALARM
    assert p_value(np.bincount(by_score[draws]), np.bincount(by_score, lengths.astype(float))) < 1e-6
    by_length = np.arange(count) % 13
    assert p_value(np.bincount(by_length[draws]), np.bincount(by_length, weights)) > ALARM
