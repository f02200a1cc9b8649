"""Tails of the discrete laws against mpmath, by direct summation."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest

from sfumato.mechanisms import tails

F = Fraction


def direct(variance: Fraction, k: int, bits: int) -> Any:
    """P(Z >= k), term by term, with bits to spare."""
    with mpmath.workprec(bits + 60):
        two = 2 * mpmath.mpf(variance.numerator) / variance.denominator
        reach = int(mpmath.sqrt(two * bits)) + 5
        weights = [mpmath.e ** (-mpmath.mpf(x * x) / two) for x in range(max(reach, k + 5))]
        return sum(weights[k:]) / (2 * sum(weights) - 1)


@pytest.mark.parametrize("bits", [40, 96, 200])
@pytest.mark.parametrize(
    ("variance", "k"),
    [(F(1), 1), (F(1, 50), 1), (F(97, 3), 9), (F(4096), 100), (F(4097), 100), (F(4097), 1), (F(9001, 2), 250)],
)
def test_gaussian_tails_are_enclosed(variance: Fraction, k: int, bits: int) -> None:
    """On both sides of the variance where the sum is taken by the formula of Euler and Maclaurin."""
    low, high = tails.gaussian_tail(variance, k).enclose(bits)
    with mpmath.workprec(bits + 60):
        assert low <= direct(variance, k, bits) * mpmath.mpf(2) ** bits <= high
    assert high - low <= 1 << 16


def test_too_few_terms_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one correction term fewer than its bound asks for, the enclosure misses: the check above can fail."""
    monkeypatch.setattr(tails, "_terms", lambda variance, bits: 1)
    with pytest.raises(AssertionError):
        test_gaussian_tails_are_enclosed(F(4097), 100, 200)


def test_the_two_ways_agree_beyond_the_border(monkeypatch: pytest.MonkeyPatch) -> None:
    formula = tails.gaussian_tail(F(10_000), 333).enclose(128)
    monkeypatch.setattr(tails, "_DIRECT", 10**9)
    summed = tails.gaussian_tail(F(10_000), 333).enclose(128)
    assert max(formula[0], summed[0]) <= min(formula[1], summed[1])


@pytest.mark.parametrize("variance", [F(1), F(4096), F(4097), F(10**6)])
def test_the_whole_is_enclosed(variance: Fraction) -> None:
    low, high = tails.gaussian_whole(variance).enclose(80)
    with mpmath.workprec(200):
        two = 2 * mpmath.mpf(variance.numerator) / variance.denominator
        whole = 1 + 2 * sum(
            mpmath.e ** (-mpmath.mpf(x * x) / two) for x in range(1, int(12 * float(variance) ** 0.5) + 20)
        )
        assert low - 2**20 <= whole * mpmath.mpf(2) ** 80 <= high + 2**20  # the terms left out are below 2^-100
