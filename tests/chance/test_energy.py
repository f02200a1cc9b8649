"""Coins and choices by energy, at a tiny word size, and their frequencies at the real one."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from sfumato.chance.energy import sample_flips, sample_lowest
from tests.chance.enumerate_bits import exact_law
from tests.chance.test_exact_mass import real

F = Fraction


@pytest.mark.parametrize("gap", [0, 1, 2, 7, 60])
def test_flips_have_the_exact_mass(gap: int) -> None:
    """The coin of a gap that stands among others, every bit string tried; ties are settled in words of 32 bits, left
    undecided."""
    rate = F(2, 7)
    mass, undecided = exact_law(lambda bits: bool(sample_flips(rate, np.array([gap]), bits, width=12)[0]), 12)
    heads = mpmath.e ** -real(rate * gap)
    assert real(mass.get(True, F(0))) <= heads <= real(mass.get(True, F(0)) + undecided)
    assert undecided <= F(1, 1 << 12)


@pytest.mark.parametrize("gaps", [[0, 1, 1, 4], [3, 0], [0, 0, 0], [0, 50, 200], [5]])
def test_lowest_has_the_exact_mass(gaps: list[int]) -> None:
    rate = F(2, 7)
    mass, undecided = exact_law(lambda bits: sample_lowest(rate, np.array(gaps), bits, width=6), 18)
    weights = [mpmath.e ** -real(rate * gap) for gap in gaps]
    assert undecided < F(1, 100)
    for i, weight in enumerate(weights):
        seen = mass.get(i, F(0))
        assert real(seen) - mpmath.mpf(2) ** -300 <= weight / sum(weights) <= real(seen + undecided)


def test_lowest_has_its_frequencies() -> None:
    gaps = np.array([0, 3, 3, 10, 0, 1])
    draws = [sample_lowest(F(1, 5), gaps) for _ in range(20_000)]
    weights = np.exp(-gaps / 5)
    counts = np.bincount(draws, minlength=6)
    assert stats.chisquare(counts, weights / weights.sum() * 20_000).pvalue > 1e-9
    wrong = np.exp(-gaps / 4)
    assert stats.chisquare(counts, wrong / wrong.sum() * 20_000).pvalue < 1e-6


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
