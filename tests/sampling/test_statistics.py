"""Two-sided: the stated scale is accepted, a scale 10 % off is rejected; a false alarm has probability 1e-9 a test."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sfumato.sampling import (
    sample_bernoulli,
    sample_bernoulli_exp,
    sample_choice,
    sample_gaussian,
    sample_geometric,
    sample_laplace,
    sample_uniform,
)

F = Fraction
N = 400_000
ALARM = 1e-9


def bins(scale: float) -> np.ndarray:
    """Edges of cells that hold about 1/40 of the mass each, and the two tails."""
    return np.unique(np.round(np.linspace(-4 * scale - 1, 4 * scale + 1, 41)).astype(np.int64))


def laplace_cells(scale: float, edges: np.ndarray) -> np.ndarray:
    r = np.exp(-1 / scale)
    below = np.where(edges <= 0, r ** np.maximum(1 - edges, 0) / (1 + r), 1 - r ** np.maximum(edges, 0) / (1 + r))
    return np.diff(np.concatenate([[0], below, [1]]))  # P(X < edge)


def gaussian_cells(sigma: float, edges: np.ndarray) -> np.ndarray:
    if sigma <= 3000:
        reach = int(12 * sigma) + 5
        mass = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * sigma**2))
        below = np.concatenate([[0], np.cumsum(mass)])[edges + reach] / mass.sum()
    else:  # the sum and the integral differ by less than 1e-13 here
        below = stats.norm.cdf((edges - 0.5) / sigma)
    return np.diff(np.concatenate([[0], below, [1]]))


def p_value(sample: np.ndarray, edges: np.ndarray, expected: np.ndarray) -> float:
    counts = np.bincount(np.searchsorted(edges, sample, side="right"), minlength=len(expected))
    keep = expected * len(sample) >= 5
    pooled = np.append(counts[keep], counts[~keep].sum())
    wanted = np.append(expected[keep], expected[~keep].sum()) * len(sample)
    pooled, wanted = pooled[wanted > 0], wanted[wanted > 0]
    return float(stats.chi2.sf(((pooled - wanted) ** 2 / wanted).sum(), len(wanted) - 1))


def many(sample: Callable[..., Any], parameter: Fraction) -> np.ndarray:
    return np.asarray(sample(parameter, N), np.int64)


def one_by_one(sample: Callable[..., Any], parameter: Fraction) -> np.ndarray:
    return np.array([sample(parameter) for _ in range(40_000)], np.int64)


@pytest.mark.parametrize("path", [many, one_by_one])
@pytest.mark.parametrize("scale", [F(1, 2), F(1), F(10), F(17), F(1000), F(10**6), F(2**50, 3)])
def test_scale_is_the_stated_one(scale: Fraction, path: Callable[..., np.ndarray]) -> None:
    sample, edges = path(sample_laplace, scale), bins(float(scale))
    assert p_value(sample, edges, laplace_cells(float(scale), edges)) > ALARM
    for wrong in (0.9, 1.1):
        assert p_value(sample, edges, laplace_cells(wrong * float(scale), edges)) < ALARM


@pytest.mark.parametrize("path", [many, one_by_one])
@pytest.mark.parametrize("sigma", [F(1), F(10), F(24), F(25), F(1000), F(10**6), F(2**50, 3)])
def test_sigma_is_the_stated_one(sigma: Fraction, path: Callable[..., np.ndarray]) -> None:
    sample, edges = path(sample_gaussian, sigma * sigma), bins(float(sigma))
    assert p_value(sample, edges, gaussian_cells(float(sigma), edges)) > ALARM
    for wrong in (0.9, 1.1):
        assert p_value(sample, edges, gaussian_cells(wrong * float(sigma), edges)) < ALARM


@pytest.mark.parametrize("sample", [sample_laplace, sample_geometric])
def test_low_digits_have_their_law(sample: Callable[..., Any]) -> None:
    """The last eight bits of |x|, which a test of the scale does not see, at a scale of three lookups."""
    scale = 10**5 + 0.5
    draws = np.asarray(sample(F(200_001, 2), N), np.int64)
    residues = np.where(draws < 0, -1 - draws, draws) % 256
    weights = np.exp(-np.arange(256) / scale)
    counts = np.bincount(residues, minlength=256)
    expected = weights / weights.sum() * N
    assert stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), 255) > ALARM


def test_gaussian_low_bits_are_uniform() -> None:
    """At sigma 1e6 the last eight bits are uniform to within e^(-2 pi² sigma²/2^16), far below what can be seen."""
    counts = np.bincount(np.asarray(sample_gaussian(F(10**12), N)) % 256, minlength=256)
    assert stats.chisquare(counts).pvalue > ALARM


def test_wide_scales_need_big_integers() -> None:
    """Beyond 62 bits the draws are Python ints of the stated size: nothing wraps."""
    for sample, parameter, size in (
        (sample_laplace, F(2**70), 2**70),
        (sample_gaussian, F(2**140), 2**70),
        (sample_laplace, F(2**60), 2**60),
        (sample_gaussian, F(2**124), 2**62),
        (sample_gaussian, F(2**114), 2**57),
    ):
        draws = [int(x) for x in sample(parameter, 4000)]
        middle = sorted(abs(x) for x in draws)[2000] / size
        stated = 0.6931 if sample is sample_laplace else 0.6745
        assert abs(middle - stated) < 0.12  # 4000 draws: sd of the median about 0.02 for either law
        assert len(set(draws)) == 4000


def test_coins_and_choices_have_their_frequencies() -> None:
    def close(hits: Any, chance: float) -> bool:
        return bool(stats.binomtest(int(hits), N, chance).pvalue > ALARM)

    assert close(sample_bernoulli(F(1, 3), N).sum(), 1 / 3)
    assert not close(sample_bernoulli(F(1, 3), N).sum(), 1.1 / 3)
    assert close(sample_bernoulli_exp(F(3, 2), N).sum(), float(np.exp(-1.5)))
    assert not close(sample_bernoulli_exp(F(3, 2), N).sum(), float(1.1 * np.exp(-1.5)))
    assert stats.chisquare(np.bincount(sample_uniform(11, N), minlength=11)).pvalue > ALARM
    counts = np.bincount(sample_choice([F(1), F(2), F(5)], N), minlength=3)
    assert stats.chisquare(counts, [N / 8, N / 4, 5 * N / 8]).pvalue > ALARM
