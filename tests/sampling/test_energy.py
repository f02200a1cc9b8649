"""Coins and choices by energy, at a tiny word size, and their frequencies at the real one."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from sfumato.sampling.energy import sample_flips, sample_lowest
from tests.sampling.enumerate_bits import exact_law
from tests.sampling.test_exact_mass import real

F = Fraction


@pytest.mark.parametrize("gap", [0, 1, 2, 7, 60])
def test_flips_have_the_exact_mass(gap: int) -> None:
    """The coin of a gap that stands among others, every bit string tried; ties are settled in words of 32 bits, left
    undecided."""
    rate = F(2, 7)
    mass, undecided = exact_law(lambda bits: bool(sample_flips(rate, np.array([gap]), 1, bits, width=12)[0, 0]), 12)
    heads = mpmath.e ** -real(rate * gap)
    assert real(mass.get(True, F(0))) <= heads <= real(mass.get(True, F(0)) + undecided)
    assert undecided <= F(1, 1 << 12)


@pytest.mark.parametrize("gaps", [[0, 1, 1, 4], [3, 0], [0, 0, 0], [0, 50, 200], [5]])
def test_lowest_has_the_exact_mass(gaps: list[int]) -> None:
    rate = F(2, 7)
    mass, undecided = exact_law(lambda bits: sample_lowest(rate, np.array(gaps), bits=bits, width=6), 18)
    weights = [mpmath.e ** -real(rate * gap) for gap in gaps]
    assert undecided < F(1, 100)
    for i, weight in enumerate(weights):
        seen = mass.get(i, F(0))
        assert real(seen) - mpmath.mpf(2) ** -300 <= weight / sum(weights) <= real(seen + undecided)


@pytest.mark.parametrize("gaps", [[0, 1], [2, 0, 2]])
def test_two_at_once_are_independent(gaps: list[int]) -> None:
    """Every bit string of a draw of two, at words of four bits: the mass of a pair is the product."""
    rate = F(2, 7)
    mass, undecided = exact_law(lambda bits: tuple(sample_lowest(rate, np.array(gaps), 2, bits, width=4).tolist()), 12)
    weights = [mpmath.e ** -real(rate * gap) for gap in gaps]
    assert undecided < F(1, 4)
    for i, j in np.ndindex(len(gaps), len(gaps)):
        both = weights[i] * weights[j] / sum(weights) ** 2
        seen = mass.get((i, j), F(0))
        assert real(seen) <= both <= real(seen + undecided)
    heads, unsure = exact_law(
        lambda bits: tuple(sample_flips(rate, np.array(gaps[-2:]), 2, bits, width=3)[:, 1].tolist()), 12
    )
    once = mpmath.e ** -real(rate * gaps[-1])
    for pair in np.ndindex(2, 2):
        seen, wanted = heads.get(tuple(map(bool, pair)), F(0)), [1 - once, once]
        assert real(seen) <= wanted[pair[0]] * wanted[pair[1]] + mpmath.mpf(2) ** -300
        assert wanted[pair[0]] * wanted[pair[1]] <= real(seen + unsure) + mpmath.mpf(2) ** -300


def test_lowest_has_its_frequencies() -> None:
    gaps = np.array([0, 3, 3, 10, 0, 1])
    weights, wrong = np.exp(-gaps / 5), np.exp(-gaps / 4)
    alone, many = [sample_lowest(F(1, 5), gaps) for _ in range(5000)], sample_lowest(F(1, 5), gaps, 200_000)
    for draws in (alone, many):
        counts = np.bincount(draws, minlength=6)
        assert stats.chisquare(counts, weights / weights.sum() * len(draws)).pvalue > 1e-9
    assert stats.chisquare(counts, wrong / wrong.sum() * len(draws)).pvalue < 1e-6


def test_flips_have_their_frequencies() -> None:
    gaps = np.repeat(np.array([0, 1, 5, 30]), 50_000)
    heads = sample_flips(F(1, 5), gaps).reshape(4, -1).sum(axis=1)
    assert heads[0] == 50_000
    for hits, gap in zip(heads[1:], (1, 5, 30), strict=True):
        assert stats.binomtest(int(hits), 50_000, float(np.exp(-gap / 5))).pvalue > 1e-9


def test_gaps_may_be_many_and_huge() -> None:
    gaps = np.array([10**30, 10**30 + 5, 7, 7], object)
    assert sample_lowest(F(1), gaps) in (2, 3)
    assert not sample_flips(F(1), gaps)[:2].any()
    assert 0 <= sample_lowest(F(1, 100), np.arange(200_000)) < 200_000
