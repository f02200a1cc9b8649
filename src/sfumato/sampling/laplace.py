"""The geometric and the discrete Laplace distribution, exactly, for any rational scale.

Comes in: a scale s > 0. Goes out: integers X with P(X = x) = (1-r)/(1+r) r^|x|, r = e^(-1/s), as Python ints or as
arrays (int64, or Python ints in an object array where 62 bits are not certain to do).

The letters: G geometric, P(G >= k) = r^k; B a coin with P(B = 1) = r/(1+r), independent; X = G, or -1-G where B = 1.

Guarantee: the law is the stated one, if the bits are uniform.
Proof: (sign) P(X = x) = r^x (1-r)/(1+r) for x >= 0, and for x < 0 it is r/(1+r) r^(-1-x) (1-r) = (1-r)/(1+r) r^|x|.
(digits) P(G = g) is proportional to r^g, so the digits of g = d_0 + 256 d_1 + ... are independent, P(d_j = d) being
proportional to r^(256^j d), and H = floor(g / M), M = 256^n, is geometric with ratio r^M.
(tail) given H >= K, H - K has the law of H again, and the coin is independent of it: a draw beyond the table adds K and
draws H once more. Each lookup has its exact law by the lemma of cuts.py.
Reference: Ghosh, Roughgarden, Sundararajan, STOC 2009 (the law); Canonne, Kamath, Steinke, NeurIPS 2020.
Checked by: sampling::tables_give_the_exact_mass, sampling::laplace_digits_give_the_exact_mass,
sampling::every_cut_is_the_floor, sampling::scale_is_the_stated_one
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.reals import bound_exp_neg
from sfumato.sampling.bits import Bits, SystemBits, source
from sfumato.sampling.cuts import CutTable, divide
from sfumato.sampling.pool import Pool

_DIGIT = 8
_TOP = 16
"""The top digit's scale is at most 16, so that its table has at most some 900 cuts."""
_TAIL_BITS = 40
"""One draw in 2^40 lies beyond the table and takes longer."""
_CHUNK = 1 << 16
_ROOM = 62


class TopCuts:
    """Coin and top digit together, in the order of their signed value V = H or -1-H: two tails and 2K values
    between.
    """

    def __init__(self, rate: Fraction, step: int, tail_bits: int) -> None:
        self.rate, self.step = rate, step
        # r^(step K) <= 2^-tail_bits, as ln 2 < 7/10
        self.reach = max(1, -((-7 * tail_bits) // (10 * rate * step)))

    def enclose(self, bits: int) -> tuple[list[int], int]:
        """c = r ρ^K/(1+r), ..., r/(1+r), 1 - ρ/(1+r), ..., 1 - ρ^K/(1+r), with ρ = r^step.

        v_k <= 2^P ρ^k/(1+r) <= v_k + e_k: a product of two lower ends truncated is below by at most e_k + 2 + 1.
        """
        precise = bits + 24
        one = 1 << precise
        r_low, r_high = bound_exp_neg(self.rate, precise)
        ratio = bound_exp_neg(self.rate * self.step, precise)[0]
        value = one * one // (one + r_high)
        powers = [value]
        for _ in range(self.reach):
            value = value * ratio >> precise
            powers.append(value)
        slack = 3 * self.reach + 8
        negative = [power * r_low >> precise for power in reversed(powers)]
        positive = [one - power - slack for power in powers[1:]]
        return [cut >> 24 for cut in negative + positive], (slack >> 24) + 2


class DigitCuts:
    """One lower digit d in [0, size): c_k = (1 - ρ^k)/(1 - ρ^size), ρ = r^step."""

    def __init__(self, rate: Fraction, step: int, size: int) -> None:
        self.rate, self.step, self.size = rate * step, step, size

    def enclose(self, bits: int) -> tuple[list[int], int]:
        """Powers of ρ as in TopCuts; near ρ = 1 the differences lose bits, so as many are added first."""
        lost = max(0, self.rate.denominator.bit_length() - self.rate.numerator.bit_length())
        precise = bits + 2 * lost + 24
        one = 1 << precise
        ratio = bound_exp_neg(self.rate, precise)[0]
        value, parts = one, []
        slack = 3 * self.size + 8
        for _ in range(self.size):
            value = value * ratio >> precise
            parts.append(one - value - slack)
        whole = parts.pop()
        return divide(parts, slack, whole, slack, bits)


class _Plan:
    """The tables of one scale."""

    def __init__(
        self, scale: Fraction, *, guide: int = 16, width: int = 64, digit: int = _DIGIT, top: int = _TOP
    ) -> None:
        self.digit = digit
        self.lower: list[CutTable] = []
        step = 1
        rate = 1 / scale
        while scale > top * step:
            self.lower.append(CutTable(DigitCuts(rate, step, 1 << digit), 0, guide=guide, width=width))
            step <<= digit
        self.lower.reverse()
        self.step = step
        cuts = TopCuts(rate, step, _TAIL_BITS if width == 64 else width // 2)
        self.reach = cuts.reach
        self.top = CutTable(cuts, -1 - cuts.reach, open_ends=True, guide=guide, width=width)
        self.pool = Pool(self.many)

    def beyond(self, high: int, bits: Bits) -> int:
        """Where H reached the end of the table: as much again as another draw says."""
        last = high
        while last == self.reach:
            signed = self.top.draw(bits)
            last = -1 - signed if signed < 0 else signed
            high += last
        return high

    def many(self, bits: Bits, count: int, signed: bool = True) -> NDArray[Any]:
        """X, or G, as many as are asked for."""
        out = np.empty(count, np.int64)
        chunks = [self.fill(bits, out[at : at + _CHUNK], signed) for at in range(0, count, _CHUNK)]
        if any(chunk.dtype == object for chunk in chunks):
            return np.concatenate([chunk.astype(object) for chunk in chunks])
        return out

    def fill(self, bits: Bits, out: NDArray[np.int64], signed: bool) -> NDArray[Any]:
        """One chunk of X, or of G, written into `out`; or Python ints in a new array, where 62 bits might not do."""
        top, rare = self.top.draws(bits, out.size)
        out[:] = top
        if signed and self.step == 1:
            self._extend(out, rare, bits)
            return out
        sign = out >> 63
        out ^= sign
        value: NDArray[Any] = out
        if (self._extend(out, rare, bits) + 1) * self.step >= 1 << _ROOM:
            value, sign = out.astype(object), sign.astype(object)
        for table in self.lower:
            value <<= self.digit
            value += table.draws(bits, out.size)[0]
        if signed:
            value ^= sign
        return value

    def _extend(self, out: NDArray[np.int64], rare: NDArray[np.intp], bits: Bits) -> int:
        """Carry the tails on, on either side of zero; the largest H."""
        largest = self.reach
        for j in rare[(out[rare] == self.reach) | (out[rare] == -1 - self.reach)]:
            sign = -1 if out[j] < 0 else 0
            high = self.beyond(self.reach, bits)
            out[j] = high ^ sign
            largest = max(largest, high)
        return largest


@lru_cache(maxsize=64)
def _plan(scale: Fraction) -> _Plan:
    return _Plan(scale)


def sample_laplace(scale: Fraction, count: int | None = None, bits: Bits | None = None) -> Any:
    """Draw from the discrete Laplace law: one int, or an array of `count`."""
    plan, stream = _plan(_positive(scale)), bits or source()
    if not isinstance(stream, SystemBits):
        drawn = plan.many(stream, 1 if count is None else count)
        return int(drawn[0]) if count is None else drawn
    return plan.pool.take(stream) if count is None else plan.pool.many(stream, count)


def sample_geometric(scale: Fraction, count: int | None = None, bits: Bits | None = None) -> Any:
    """Draw G >= 0 with P(G >= k) = e^(-k/scale): one int, or an array of `count`."""
    drawn = _plan(_positive(scale)).many(bits or source(), 1 if count is None else count, signed=False)
    return int(drawn[0]) if count is None else drawn


def _positive(scale: Fraction) -> Fraction:
    if scale <= 0:
        raise InputError("the scale must be above 0")
    return scale
