"""Tails of the discrete laws, as real numbers with enclosures: what intervals and curves are computed from.

Comes in: the parameters of a law and a whole number k. Goes out: P(Z >= k), to any precision; no approximation whose
error is not enclosed.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import comb, factorial, isqrt

from sfumato.reals import PI, Enclosure, Real, bound_exp_neg, ceil_shift, exp, sqrt

_DIRECT = 64 * 64
"""Up to this variance the sum is taken term by term; beyond, by the formula of Euler and Maclaurin."""


def gaussian_tail(variance: Fraction, k: int) -> Real:
    """P(Z >= k) for the discrete Gaussian of parameter sigma² = variance.

    Beyond sigma = 64, with f(x) = e^(-x²/(2 sigma²)) and h_n = (-1)^n f^(n)/f, a polynomial in k with rational
    coefficients:
        sum over x >= k of f(x) = integral from k of f + f(k) (1/2 + sum over j <= p of B_2j/(2j)! h_(2j-1)(k)) + R,
        |R| <= |B_2p|/(2p)! integral |f^(2p)| <= 4/(2 pi)^2p sqrt(2 pi) sqrt((2p)!) sigma^(1-2p),
    the last by Cauchy and Schwarz, as the Hermite function of degree n has squared norm n! sqrt(2 pi). The sum over all
    integers is sigma sqrt(2 pi) (1 + 2 e^(-2 pi² sigma²) + ...) by Poisson's formula.
    """
    if k <= 0:
        return 1 - gaussian_tail(variance, 1 - k)
    if variance <= _DIRECT:
        return _direct_tail(variance, k)
    gamma = Fraction(k * k) / (2 * variance)
    half_erfc = Fraction(1, 2) - sqrt(gamma) / sqrt(PI) * exp(-gamma) * _odd_series(2 * gamma)
    density = exp(-gamma) / sqrt(2 * PI * variance)

    def enclose(bits: int) -> Enclosure:
        if 10 * gamma >= 7 * (bits + 1):  # P(Z >= k) <= e^-gamma: the discrete Gaussian is subgaussian
            return 0, 1
        terms = _terms(variance, bits)
        whole = half_erfc + density * _correction(variance, k, terms)
        low, high = whole.enclose(bits)
        return low - 2, high + 2  # R, and the difference of the two normalisers, each below one unit

    return Real(enclose)


def _terms(variance: Fraction, bits: int) -> int:
    """p with 4 sqrt((2p)!) (2 pi sigma)^-2p <= 2^-bits: R in units of the whole sum. 2 pi > 6."""
    p = 1
    while 16 * factorial(2 * p) << (2 * bits) > (36 * variance) ** (2 * p):
        p += 1
    return p


@lru_cache(maxsize=256)
def _bernoulli(n: int) -> Fraction:
    """The Bernoulli number B_n, B_1 = -1/2."""
    if n == 0:
        return Fraction(1)
    return -sum((comb(n + 1, j) * _bernoulli(j) for j in range(n)), Fraction(0)) / (n + 1)


def _correction(variance: Fraction, k: int, terms: int) -> Fraction:
    """1/2 + sum over j <= terms of B_2j/(2j)! h_(2j-1)(k); h_(n+1) = (k h_n - n h_(n-1))/sigma²."""
    value = Fraction(1, 2)
    before, now = Fraction(1), Fraction(k) / variance
    for n in range(1, 2 * terms):
        if n % 2:
            value += _bernoulli(n + 1) / factorial(n + 1) * now
        before, now = now, (k * now - n * before) / variance
    return value


def _odd_series(q: Fraction) -> Real:
    """sum over n >= 0 of q^n / (1 3 5 ... (2n+1)), for q >= 0: erf(y) = 2/sqrt(pi) y e^(-y²) times this at q = 2 y²."""

    def enclose(bits: int) -> Enclosure:
        # every term is truncated once more than the one before: off by at most q/(2n+1) times that, plus 1
        term, slack, low, error, n = 1 << bits, 0, 0, 0, 0
        while term > 0 or 2 * q > 2 * n + 1:
            low, error = low + term, error + slack
            n += 1
            term = term * q.numerator // (q.denominator * (2 * n + 1))
            slack = slack * q.numerator // (q.denominator * (2 * n + 1)) + 2
        # the rest: at most twice the next term, as the ratios are below one half from here on
        return low, low + error + 2 * (term + slack)

    return Real(enclose)


def _direct_tail(variance: Fraction, k: int) -> Real:
    """The sum itself, over the sum of all: both from weights that start at 0 and at k."""
    whole = Real(lambda bits: _weights_from(variance, 0, bits))
    part = Real(lambda bits: _weights_from(variance, k, bits))
    return part / (2 * whole - 1)


def _weights_from(variance: Fraction, k: int, bits: int) -> Enclosure:
    """Enclose the sum over x >= k of e^(-x²/(2 sigma²)), k >= 0: products of lower ends, and the rest as a geometric
    series.
    """
    precise = bits + 32
    two = 2 * variance
    weight = bound_exp_neg(Fraction(k * k) / two, precise)[0]
    ratio = bound_exp_neg(Fraction(2 * k + 1) / two, precise)[0]
    factor = bound_exp_neg(Fraction(2) / two, precise)[0]
    count = max(2, isqrt(int(14 * precise * variance / 10)) + 2 - k)
    low, error, slack, ratio_slack = 0, 0, 2, 2
    for _ in range(count):
        low, error = low + weight, error + slack
        weight, ratio = weight * ratio >> precise, ratio * factor >> precise
        slack, ratio_slack = slack + ratio_slack + 1, ratio_slack + 3
    rest = ((weight + slack) << precise) // max(1, (1 << precise) - ratio - ratio_slack) + 1
    return low >> 32, ceil_shift(low + error + rest, 32)


def gaussian_whole(variance: Fraction) -> Real:
    """The sum over all integers of e^(-x²/(2 sigma²))."""
    if variance <= _DIRECT:
        return 2 * Real(lambda bits: _weights_from(variance, 0, bits)) - 1
    base = sqrt(2 * PI * variance)

    def enclose(bits: int) -> Enclosure:
        # sigma sqrt(2 pi) (1 + 2 e^(-2 pi² sigma²) + ...), and 4 e^(-2 pi² sigma²) < e^(-19 sigma²) bounds the rest of
        # the bracket
        low, high = base.enclose(bits)
        return low, high + ceil_shift(high * bound_exp_neg(19 * variance, bits)[1], bits)

    return Real(enclose)
