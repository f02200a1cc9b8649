"""The exact law of the lattice noise: coins by trying every bit string, the whole law against production bits."""

from fractions import Fraction
from math import isqrt

import mpmath
import numpy as np
import pytest
from scipy import stats

from sfumato.errors import InputError
from sfumato.geo.lattice_noise import LatticeNoise, exp_neg, mass_total
from sfumato.reals import ln, sqrt
from tests.sampling.enumerate_bits import exact_law

F = Fraction
mpmath.mp.prec = 300
RATES = {"3/10": F(3, 10), "2": F(2), "ln 4 / 7": ln(F(4)) / 7}


def real(x):
    if isinstance(x, F | int):
        return mpmath.mpf(F(x).numerator) / F(x).denominator
    low, _ = x.enclose(280)
    return mpmath.mpf(low) / mpmath.mpf(2) ** 280


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("name", RATES)
def test_coins_have_the_exact_mass(name, dimensions):
    noise = LatticeNoise(RATES[name], dimensions, width=7)
    points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (-3, 4, 0), (2, -5, 7), (30, 1, 0), (900, 0, 0)]
    settled = 0
    for point in [p[:dimensions] for p in points]:
        law, undecided = exact_law(lambda bits, p=point: bool(noise.coins([np.array([c]) for c in p], bits)[0]), 21)
        settled += undecided > 0 or any(mass.denominator > 128 for mass in law.values())
        exponent = real(RATES[name]) * mpmath.sqrt(sum(c * c for c in point))
        true = mpmath.exp(real(noise.proposal) * sum(map(abs, point)) - exponent)
        assert undecided <= F(2, 1 << 21)
        assert real(law.get(True, F(0))) <= true <= real(law.get(True, F(0)) + undecided)
        assert true <= 1
    assert settled >= 4, "no coin went beyond its first word"


@pytest.mark.parametrize(("rate", "dimensions"), [(F(1), 2), (F(1, 5), 2), (F(6), 2), (ln(F(4)) / 3, 2), (F(1), 3)])
def test_lattice_noise_has_the_exact_law(rate, dimensions):
    """Production bits against the masses of all lattice points that are expected at least ten times."""
    count, e = 400_000, float(rate)
    drawn = LatticeNoise(rate, dimensions).sample(count)
    keys, seen = np.unique(drawn, axis=0, return_counts=True)
    reach = int(12 / e) + 3
    axes = np.meshgrid(*[np.arange(-reach, reach + 1)] * dimensions, indexing="ij")
    lattice = np.stack([a.ravel() for a in axes], axis=1)
    expected = count * np.exp(-e * np.sqrt((lattice**2).sum(axis=1))) / mass_total(e, dimensions)
    often = expected >= 10
    assert often.sum() > 8 or e > 5
    counts = {tuple(key): n for key, n in zip(keys.tolist(), seen.tolist(), strict=True)}
    observed = np.array([counts.get(tuple(p), 0) for p in lattice[often].tolist()])
    rest = count - observed.sum(), count - expected[often].sum()
    chi = ((observed - expected[often]) ** 2 / expected[often]).sum() + (rest[0] - rest[1]) ** 2 / max(rest[1], 1e-9)
    assert stats.chi2.sf(chi, often.sum()) > 1e-7


def test_float_powers_are_within_the_margin():
    x = np.concatenate([np.linspace(0, 63.98, 20_001), np.arange(0, 64) * 1.0, [63.99, 100.0, 511.0]])
    computed = exp_neg(x.copy())
    assert max(abs(mpmath.mpf(c) - mpmath.exp(-mpmath.mpf(v))) for c, v in zip(computed, x, strict=True)) < 2.0**-50


@pytest.mark.parametrize("rate", [F(1, 1 << 33), F(1, 10**6), F(1), F(1000), F(10**9)])
def test_noise_is_drawn_at_any_rate(rate):
    drawn = LatticeNoise(rate).sample(20_000)
    lengths = np.sqrt((drawn.astype(float) ** 2).sum(axis=1)) * float(rate)
    if rate < F(1, 1000):
        assert abs(lengths.mean() - 2) < 0.1
        assert stats.kstest(lengths, stats.gamma(2).cdf).pvalue > 1e-6
        assert stats.kstest(np.arctan2(drawn[:, 1], drawn[:, 0]), stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-6
    if rate >= 1000:
        assert not drawn.any()


def test_the_proposal_stays_below_the_law():
    for rate in (*RATES.values(), F(1, 1 << 33), F(10**9), sqrt(F(2)), F(isqrt(2 * 10**30), 10**15)):
        noise = LatticeNoise(rate)
        assert 0 < real(noise.proposal) <= real(noise.rate) / mpmath.sqrt(2)


def test_a_grid_that_is_too_fine_is_refused():
    with pytest.raises(InputError, match="too fine"):
        LatticeNoise(F(1, 1 << 40))
