"""The discrete Gaussian distribution, exactly, for any rational variance parameter.

Comes in: sigma² > 0. Goes out: integers X with P(X = x) proportional to e^(-x²/(2 sigma²)), as Python ints or arrays.

The letters: m = 2^b a step with sigma <= 24 m; B a coin, H >= 0 a row; a = mH + B; L uniform in [0, m).

Guarantee: the law is the stated one, if the bits are uniform.
Proof: (B, H) is drawn with weight e^(-a²/(2 sigma²)) by the lemma of cuts.py, L is uniform, and the triple is kept with
probability e^(-g/(2 sigma²)), g = L(2a + L); a kept triple has weight e^(-(a+L)²/(2 sigma²)), and (B, H, L) -> a + L (B
= 0) or -(a + L) (B = 1) meets every integer once. For m = 1 nothing is rejected.
(tail) beyond the table H = K+1+E has weight proportional to e^(-m a0 E/sigma²) e^(-m² E²/(2 sigma²)), a0 = m(K+1) + B:
a geometric proposal and a coin. (coin) e^-γ is enclosed by integers from one table of e^(-i/1024) and 1 - d <= e^-d <=
1 - d + d²/2; what falls between the two ends, one draw in a million, is decided by certified enclosures and further
bits. No float takes part.
Reference: Canonne, Kamath, Steinke, NeurIPS 2020 (the law); Karney, ACM TOMS 2016 (row and remainder).
Checked by: sampling::tables_give_the_exact_mass, sampling::gaussian_rows_give_the_exact_mass,
sampling::gaussian_coin_is_enclosed, sampling::scale_is_the_stated_one
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.reals import bound_exp_neg, ceil_shift
from sfumato.sampling.bits import Bits, SystemBits, source
from sfumato.sampling.cuts import CutTable, divide
from sfumato.sampling.laplace import sample_geometric
from sfumato.sampling.pool import Pool

_TOP = 24
_CHUNK = 1 << 15
_ROOM = 62
"""Where 2a + L of every row in the table has at most 62 bits, arrays of int64 do; beyond, one at a time in Python."""
_SCALE = 30
"""γ is held in units of 2^-30, the coin's word has 32 bits, the table of e^-γ has steps of 2^-10."""
_BELOW, _ABOVE = 128, 1 << 12


class RowCuts:
    """Coin and row together, in the order of their signed value H or -1-H: two tails and 2(K+1) values between."""

    def __init__(self, variance: Fraction, step: int, tail_bits: int) -> None:
        self.variance, self.step = variance, step
        # e^(-(mK)²/(2 sigma²)) <= 2^-tail_bits if (mK)² >= 2 sigma² tail_bits 7/10
        self.reach = isqrt(int(14 * tail_bits * variance / (10 * step * step))) + 2

    def _weights(self, coin: int, precise: int, rows: int) -> tuple[list[int], int]:
        """Lower ends of e^(-(mh + B)²/(2 sigma²)) for h < rows, and a slack that covers each, and the rest in all.

        w_(h+1) = w_h g_h and g_(h+1) = g_h q: products of lower ends, so e_g grows by 3 and e_w by e_g + 1 at a step.
        The rest is at most w_rows / (1 - g_rows), as the g_h decrease.
        """
        m, two = self.step, 2 * self.variance
        weight = bound_exp_neg(Fraction(coin) / two, precise)[0]
        ratio = bound_exp_neg(Fraction(m * m + 2 * m * coin) / two, precise)[0]
        factor = bound_exp_neg(2 * Fraction(m * m) / two, precise)[0]
        lows, ratio_slack, slack = [], 2, 2
        for _ in range(rows):
            lows.append(weight)
            weight, ratio = weight * ratio >> precise, ratio * factor >> precise
            slack, ratio_slack = slack + ratio_slack + 1, ratio_slack + 3
        rest = ((weight + slack) << precise) // max(1, (1 << precise) - ratio - ratio_slack) + 1
        return lows, slack + rest

    def enclose(self, bits: int) -> tuple[list[int], int]:
        """Sums from the far negative side on, over the sum of all, by the lemma of `divide`."""
        precise = bits + 64
        rows = max(self.reach + 1, isqrt(int(14 * precise * self.variance / (10 * self.step**2))) + 3)
        (plus, plus_slack), (minus, minus_slack) = self._weights(0, precise, rows), self._weights(1, precise, rows)
        slack = (rows + 1) * (plus_slack + minus_slack)
        running = sum(minus[self.reach + 1 :])
        parts = [running]
        for weight in minus[self.reach :: -1] + plus[: self.reach + 1]:
            running += weight
            parts.append(running)
        return divide(parts, slack, sum(plus) + sum(minus), slack, bits)


@lru_cache(maxsize=1)
def _exp_steps() -> NDArray[np.int64]:
    """floor(2^32 e^(-i/1024)) for γ below 1: powers of one lower end, each below its power by at most 3 units a
    step.
    """
    precise = 128
    ratio = bound_exp_neg(Fraction(1, 1024), precise)[0]
    power, steps = 1 << precise, []
    for i in range(1024):
        if (power + 3 * i + 3) >> 96 != power >> 96:
            raise AssertionError("a step of the exponential table is not decided")
        steps.append(power >> 96)
        power = power * ratio >> precise
    return np.array(steps, np.int64)


class _Coin:
    """Bernoulli(e^(-L(2a + L)/(2 sigma²))), by integers.

    γ 2^30 is approximated from below by Γ, within `error` units: L and 2a + L are cut to 30 and 31 bits, their product
    to 31 bits, and that is multiplied by a 31-bit number. Then in units of 2^-32, with base = T_i - floor(T_i d/2^30),
    e^-γ >= T_i (1 - (d + error)/2^30) > base - 1 - 4 error and e^-γ <= (T_i + 1)(1 - d/2^30 + d²/2^61) < base + 2 +
    2^11.
    """

    def __init__(self, variance: Fraction, step: int, reach: int) -> None:
        self.two = 2 * variance
        self.longest = longest = 2 * (step * (reach + 1) + 1) + step
        if (step - 1) * longest >= self.two:
            raise AssertionError("the rows are too coarse for the coin's table")
        self.trim = max(0, step.bit_length() - 30), max(0, longest.bit_length() - 31)
        short, long = step >> self.trim[0], longest >> self.trim[1]
        self.first = max(0, (short * long).bit_length() - 31)
        per_unit = Fraction(1 << (_SCALE + sum(self.trim) + self.first)) / self.two  # Γ per unit of the cut product
        self.last = 0
        while per_unit * (2 << self.last) < 1 << 31:
            self.last += 1
        self.multiplier = int(per_unit * (1 << self.last))
        most = (short * long >> self.first) + 1
        # a factor that is not cut loses nothing: its remainder, times the other, is counted only where it was cut
        cut = (long if self.trim[0] else 0) + (short if self.trim[1] else 0) + all(self.trim)
        lost = Fraction(cut, 1 << self.first) + (1 if self.first else 0)
        error = per_unit * lost + Fraction(most, 1 << self.last) + 1
        if not (self.multiplier < 1 << 31 and most < 1 << 32 and 4 * error + 2 < _BELOW):
            raise AssertionError("the coin's fixed point does not hold this scale")

    def base(self, remainder: NDArray[np.int64], start: NDArray[np.int64]) -> NDArray[np.int64]:
        """The middle of the enclosure of e^-γ, in units of 2^-32."""
        product = (remainder >> self.trim[0]) * ((2 * start + remainder) >> self.trim[1])
        product >>= self.first
        product *= self.multiplier
        product >>= self.last
        steps = _exp_steps().take(product >> 20, mode="clip")
        product &= (1 << 20) - 1
        product *= steps
        product >>= _SCALE
        steps -= product
        return steps

    def exactly(self, word: int, width: int, remainder: int, start: int, bits: Bits) -> bool:
        """Is U < e^-γ, where U begins with the word."""
        return is_below_exp(Fraction(remainder * (2 * start + remainder)) / self.two, word, width, bits)


class _Plan:
    """The table of one variance, its step and its coin."""

    def __init__(self, variance: Fraction, *, guide: int = 16, width: int = 64, top: int = _TOP) -> None:
        self.variance = variance
        self.shift = 0
        while variance > (top << self.shift) ** 2:
            self.shift += 1
        self.step = 1 << self.shift
        cuts = RowCuts(variance, self.step, width)
        self.reach = cuts.reach
        self.top = CutTable(cuts, -2 - cuts.reach, open_ends=True, guide=guide, width=width)
        self.pool = Pool(self.draws)
        if self.shift:
            self.coin = _Coin(variance, self.step, cuts.reach)

    def row(self, signed: int, bits: Bits) -> tuple[int, int]:
        """(H, coin) from the table's value, the tails drawn on by proposal and coin."""
        coin = 1 if signed < 0 else 0
        high = -1 - signed if coin else signed
        if high <= self.reach:
            return high, coin
        start = self.step * (self.reach + 1) + coin
        scale = self.variance / (self.step * start)
        while True:
            more: int = sample_geometric(scale, bits=bits)
            gamma = Fraction((self.step * more) ** 2) / (2 * self.variance)
            if is_below_exp(gamma, 0, 0, bits):
                return self.reach + 1 + more, coin

    def draws(self, bits: Bits, count: int) -> NDArray[Any]:
        """X, as many as are asked for; Python ints where 62 bits would not do."""
        if self.shift and self.coin.longest.bit_length() > _ROOM:
            return np.array([self._one(bits) for _ in range(count)] + [None], object)[:-1]
        out = np.empty(count, np.int64)
        at = 0
        while at < count:
            wanted = count - at
            more = min(_CHUNK, wanted + wanted // 16 + 8 if self.shift else wanted)
            kept = self.kept(bits, more)[:wanted]
            out[at : at + kept.size] = kept
            at += kept.size
        return out

    def _one(self, bits: Bits) -> int:
        """One X, in Python ints."""
        while True:
            high, coin = self.row(self.top.draw(bits), bits)
            start, remainder = self.step * high + coin, bits.word(self.shift)
            if self.coin.exactly(0, 0, remainder, start, bits):
                return -(start + remainder) if coin else start + remainder

    def kept(self, bits: Bits, count: int) -> NDArray[np.int64]:
        """A chunk of triples, those that were kept."""
        signed, rare = self.top.draws(bits, count)
        value = signed.astype(np.int64)
        sign = value >> 63
        value ^= sign
        value <<= self.shift
        value -= sign  # a = mH + B
        tails = rare[value[rare] > self.step * (self.reach + 1) - 1]
        for j in tails:
            high, coin = self.row(int(signed[j]), bits)
            value[j] = self.step * high + coin
        if self.shift:
            value, sign = self._finish(value, sign, set(tails.tolist()), bits)
        value ^= sign
        value -= sign
        return value

    def _finish(
        self, start: NDArray[np.int64], sign: NDArray[np.int64], tails: set[int], bits: Bits
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        remainder = bits.take(start.size, self.shift).astype(np.int64)
        words = bits.take(start.size, 32).astype(np.int64)
        gap = words - self.coin.base(remainder, start)
        keep = gap < -_BELOW
        gap += _BELOW
        unsure = np.flatnonzero(gap.view(np.uint64) < _ABOVE + _BELOW).tolist()
        for j in sorted(tails.union(unsure)):
            keep[j] = self.coin.exactly(int(words[j]), 32, int(remainder[j]), int(start[j]), bits)
        start += remainder
        return start[keep], sign[keep]


def is_below_exp(gamma: Fraction, word: int, width: int, bits: Bits) -> bool:
    """Is U < e^-γ, where U begins with the word: certified enclosures, and more bits until it is decided."""
    while True:
        low, high = bound_exp_neg(gamma, width + 32)
        if word + 1 <= low >> 32:
            return True
        if word >= ceil_shift(high, 32):
            return False
        word, width = word << 32 | bits.word(32), width + 32


@lru_cache(maxsize=64)
def _plan(variance: Fraction) -> _Plan:
    return _Plan(variance)


def sample_gaussian(variance: Fraction, count: int | None = None, bits: Bits | None = None) -> Any:
    """Draw from the discrete Gaussian law of parameter sigma² = variance: one int, or an array of `count`."""
    if variance <= 0:
        raise InputError("the variance must be above 0")
    plan, stream = _plan(variance), bits or source()
    if not isinstance(stream, SystemBits):
        drawn = plan.draws(stream, 1 if count is None else count)
        return int(drawn[0]) if count is None else drawn
    return plan.pool.take(stream) if count is None else plan.pool.many(stream, count)
