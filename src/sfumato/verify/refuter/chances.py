"""Verify, refuter: the chance that linear tests of independent noises all hold. Comes in: laws and tests. Goes out: a
ball.

Densities are piecewise sums of c x^k e^(rx) with fractions for ends, k and r, and for c balls of `flint.arb` that
hold the true coefficient. A noise whose tests read at most one other noise is integrated out, and what is left is
again such a function of the other one; this goes on until nothing is left. Tests that do not hang together like a
tree are not computed.

Guarantee: the ball holds the chance, if one is returned.
Proof: each step is an identity of real functions: products, antiderivatives of x^k e^(rx), and their values at ends
    that are linear in the other noise, on intervals between rational points where no order of ends changes; arb
    encloses each operation.
Reference: Johansson, Arb: efficient arbitrary-precision midpoint-radius interval arithmetic, IEEE Trans. Computers
    2017.
Checked by: verify::chances_agree_with_quadrature, verify::chances_of_all_outputs_sum_to_one
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial
from typing import Any

from flint import arb, ctx, fmpq

from sfumato.reals import Real
from sfumato.verify.effort import spend
from sfumato.verify.refuter.forms import Form

Exact = Any
"""A fraction of flint's: ends, slopes and rates are exact."""
Terms = dict[tuple[int, Exact], Any]
"""x^k e^(rx) by (k, r), with its coefficient."""
Line = tuple[Exact, Exact]
"""slope, constant: a linear function of the other noise."""
_NONE = fmpq(0)


class NotComputed(Exception):
    """Tests that this way of integrating does not cover."""


@dataclass(frozen=True, slots=True)
class CentredLaw:
    """A law around zero: Laplace, Exponential or Gauss, with its scale (of Gauss it may be a Real)."""

    law: str
    scale: Any


@dataclass(frozen=True, slots=True)
class Pieces:
    """A function of one variable: between `ends[i-1]` and `ends[i]` it is `parts[i]`."""

    ends: tuple[Exact, ...]
    parts: tuple[Terms, ...]

    def at(self, point: Exact) -> Terms:
        """The part that holds around a point that is no end."""
        found: Terms = self.parts[sum(end < point for end in self.ends)]
        return found


def exact(number: Fraction) -> Exact:
    """A fraction as one of flint's."""
    return fmpq(number.numerator, number.denominator)


def ball(number: Fraction) -> Any:
    """A fraction as a ball."""
    return arb(exact(number))


def density(noise: CentredLaw) -> Pieces:
    """The density of a law."""
    rate = exact(1 / noise.scale)
    if noise.law == "Exponential":
        return Pieces((_NONE,), ({}, {(0, -rate): arb(rate)}))
    return Pieces((_NONE,), ({(0, rate): arb(rate / 2)}, {(0, -rate): arb(rate / 2)}))


def chance(noises: list[CentredLaw], tests: list[Form]) -> Any:
    """The chance that every form is at least 0 (a form that is 0 has no chance)."""
    gauss = {number for number, noise in enumerate(noises) if noise.law == "Gauss"}
    if gauss:
        normal = [test for test in tests if any(noise in gauss for noise, _ in test.factors)]
        found = _normal_chance(noises, normal, gauss)
        rest = [noise if number not in gauss else _UNUSED for number, noise in enumerate(noises)]
        return found * chance(rest, [test for test in tests if test not in normal])
    functions = {number: density(noise) for number, noise in enumerate(noises)}
    left = list(tests)
    while functions:
        number = _leaf(functions, left)
        mine = [test for test in left if any(noise == number for noise, _ in test.factors)]
        left = [test for test in left if test not in mine]
        others = {noise for test in mine for noise, _ in test.factors} - {number}
        lows, highs = _limits(number, mine)
        if not others:
            total = _constant(_between(functions.pop(number), lows, highs))
            functions[-1] = _times(functions.get(-1, _ONE), Pieces((), ({(0, _NONE): total},)))
        else:
            other = others.pop()
            functions[other] = _times(functions[other], _between(functions.pop(number), lows, highs))
        if set(functions) <= {-1}:
            break
    return _constant(functions.get(-1, _ONE))


def _normal_chance(noises: list[CentredLaw], tests: list[Form], gauss: set[int]) -> Any:
    """The chance of tests of Gaussian noise alone of which no two share a noise: each is one of a normal number."""
    total = arb(1)
    seen: set[int] = set()
    for test in tests:
        members = {noise for noise, _ in test.factors}
        if not members <= gauss or members & seen:
            raise NotComputed
        seen |= members
        variance = sum(
            ((ball(factor) * scale_ball(noises[noise].scale)) ** 2 for noise, factor in test.factors), arb(0)
        )
        total *= (-ball(test.constant) / (2 * variance).sqrt()).erfc() / 2
    return total


def scale_ball(scale: Any) -> Any:
    """A ball that holds a scale."""
    if not isinstance(scale, Real):
        return ball(scale)
    low, high = scale.enclose(ctx.prec)
    middle = exact(Fraction(low + high, 1 << (ctx.prec + 1)))
    return arb(middle, exact(Fraction(high - low + 2, 1 << (ctx.prec + 1))))


def _leaf(functions: dict[int, Pieces], tests: list[Form]) -> int:
    """A noise whose tests read at most one other; the one with fewest neighbours first."""
    near: dict[int, set[int]] = {number: set() for number in functions if number >= 0}
    for test in tests:
        members = {noise for noise, _ in test.factors}
        if len(members) > 2:
            raise NotComputed
        for noise in members:
            near[noise] |= members - {noise}
    number = min(near, key=lambda noise: (len(near[noise]), noise))
    if len(near[number]) > 1:
        raise NotComputed
    return number


def _limits(number: int, tests: list[Form]) -> tuple[list[Line], list[Line]]:
    """Lower and upper ends of a noise, as lines in the other one."""
    lows: list[Line] = []
    highs: list[Line] = []
    for test in tests:
        factors = dict(test.factors)
        own = factors.pop(number)
        slope = next(iter(factors.values()), Fraction(0))
        (lows if own > 0 else highs).append((exact(-slope / own), exact(-test.constant / own)))
    return lows, highs


PIECE, TERM = 4, 2
"""Steps of a search that a piece of an integral, and a term in it, count for."""
_ONE = Pieces((), ({(0, _NONE): 1},))
_UNUSED = CentredLaw("Laplace", Fraction(1))


def _constant(pieces: Pieces) -> Any:
    (terms,) = pieces.parts
    return sum((arb(value) for value in terms.values()), arb(0))


def _times(first: Pieces, second: Pieces) -> Pieces:
    ends = sorted({*first.ends, *second.ends})
    parts = []
    for point in _inside(ends):
        product: Terms = {}
        for (k, r), a in first.at(point).items():
            for (m, s), b in second.at(point).items():
                key = (k + m, r + s)
                product[key] = product[key] + a * b if key in product else a * b
        parts.append(product)
    return Pieces(tuple(ends), tuple(parts))


def _inside(ends: list[Exact]) -> list[Exact]:
    """A point inside of each interval between ends."""
    if not ends:
        return [_NONE]
    middle = [(low + high) / 2 for low, high in itertools.pairwise(ends)]
    return [ends[0] - 1, *middle, ends[-1] + 1]


def _between(function: Pieces, lows: list[Line], highs: list[Line]) -> Pieces:
    """The integral of a function from the greatest lower to the least upper end, as a function of the other noise."""
    total = _Antiderivative(function)
    lines = [*lows, *highs]
    ends: set[Exact] = set()
    for place, (slope, constant) in enumerate(lines):
        if slope:
            ends |= {(end - constant) / slope for end in function.ends}
        for slope2, constant2 in lines[place + 1 :]:
            if slope != slope2:
                ends.add((constant2 - constant) / (slope - slope2))
    order = sorted(ends)
    parts: list[Terms] = []
    for point in _inside(order):
        low = max(lows, key=lambda line: line[0] * point + line[1], default=None)
        high = min(highs, key=lambda line: line[0] * point + line[1], default=None)
        if low and high and low[0] * point + low[1] >= high[0] * point + high[1]:
            parts.append({})
            continue
        upper = total.on_line(high, point) if high else {(0, _NONE): total.everything}
        lower = total.on_line(low, point) if low else {}
        parts.append(_sum(upper, {key: -value for key, value in lower.items()}))
    spend(PIECE * len(parts) + TERM * sum(map(len, parts)))
    return Pieces(tuple(order), tuple(parts))


def _sum(first: Terms, second: Terms) -> Terms:
    total = dict(first)
    for key, value in second.items():
        total[key] = total[key] + value if key in total else value
    return total


class _Antiderivative:
    """F(x), the integral of a function from minus infinity to x, piece by piece."""

    def __init__(self, function: Pieces) -> None:
        self.ends = function.ends
        self.parts: list[Terms] = []
        before: Any = arb(0)
        for place, terms in enumerate(function.parts):
            part = _antiderivative(terms)
            if place == 0:
                _must_vanish(terms, at_right=False)
            else:
                part = _sum(part, {(0, _NONE): before - _value(part, self.ends[place - 1])})
            self.parts.append(part)
            if place < len(self.ends):
                before = _value(part, self.ends[place])
        _must_vanish(function.parts[-1], at_right=True)
        self.everything = self.parts[-1].get((0, _NONE), arb(0))

    def on_line(self, line: Line, point: Exact) -> Terms:
        """F(slope * y + constant) as a function of y, around y = point."""
        slope, constant = line
        terms = self.parts[sum(end < slope * point + constant for end in self.ends)]
        if not slope:
            return {(0, _NONE): _value(terms, constant)}
        total: Terms = {}
        for (k, r), value in terms.items():
            scale = value * arb(r * constant).exp() if r else value
            for j in range(k + 1):
                factor = comb(k, j) * slope**j * constant ** (k - j)
                if factor:
                    key = (j, r * slope)
                    part = scale * arb(factor)
                    total[key] = total[key] + part if key in total else part
        return total


def _must_vanish(terms: Terms, *, at_right: bool) -> None:
    """An integral without end needs a density that falls."""
    if any((r >= 0 if at_right else r <= 0) for _, r in terms):
        raise NotComputed


def _antiderivative(terms: Terms) -> Terms:
    total: Terms = {}
    for (k, r), value in terms.items():
        if not r:
            total = _sum(total, {(k + 1, r): value / (k + 1)})
            continue
        for j in range(k + 1):
            factor = fmpq((-1) ** j * factorial(k), factorial(k - j)) / r ** (j + 1)
            total = _sum(total, {(k - j, r): value * arb(factor)})
    return total


def _value(terms: Terms, point: Exact) -> Any:
    total = arb(0)
    for (k, r), value in terms.items():
        total += value * arb(point**k) * (arb(r * point).exp() if r else 1)
    return total


def with_precision(bits: int) -> None:
    """How many bits balls carry from now on."""
    ctx.prec = bits
