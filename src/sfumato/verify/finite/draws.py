"""Verify, finite laws: draws that can be listed. Comes in: a draw and its arguments. Goes out: values with chances.

Geometric noise, and coins that are counted, have no end: they are listed up to a reach, and what lies further is one
value on each side of which only its range is known. A test that such a range decides (a clamp) makes it exact again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import Any

from sfumato.verify.finite.signs import ParameterDomain
from sfumato.verify.run import NotRun, RunFault, check_law
from sfumato.verify.tree import Draw

MOST = 4096
_PLAIN = int | Fraction


class Undecided(NotRun):
    """A range that is too wide to tell."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """A number of which only this is known: it is at least `low` (None: nothing), and at most `high`."""

    low: Fraction | None
    high: Fraction | None

    def __add__(self, other: Any) -> Beyond:
        if isinstance(other, Beyond):
            return Beyond(_plus(self.low, other.low), _plus(self.high, other.high))
        if isinstance(other, bool) or not isinstance(other, _PLAIN):
            raise NotRun
        return Beyond(_plus(self.low, Fraction(other)), _plus(self.high, Fraction(other)))

    __radd__ = __add__

    def __neg__(self) -> Beyond:
        return Beyond(None if self.high is None else -self.high, None if self.low is None else -self.low)

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, bool) or not isinstance(other, _PLAIN):
            raise NotRun
        if other == 0:
            return Fraction(0)
        ends = [None if end is None else end * other for end in (self.low, self.high)]
        return Beyond(*ends) if other > 0 else Beyond(*ends[::-1])

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, bool) or not isinstance(other, _PLAIN):
            raise NotRun
        return self * (1 / Fraction(other))

    def __rtruediv__(self, other: Any) -> Any:
        raise NotRun

    def __pow__(self, power: int) -> Any:
        raise NotRun

    def compare(self, sign: str) -> bool:
        """`self sign 0`, where the range tells."""
        low, high = self.low, self.high
        above, below = low is not None and low > 0, high is not None and high < 0
        match sign:
            case "=" | "!=" if above or below:
                return sign == "!="
            case ">" | "<=" if above or (high is not None and high <= 0):
                return above == (sign == ">")
            case "<" | ">=" if below or (low is not None and low >= 0):
                return below == (sign == "<")
        raise Undecided

    def may_be(self, value: Any) -> bool:
        """Whether a number lies in the range."""
        if isinstance(value, bool) or not isinstance(value, _PLAIN):
            return not isinstance(value, bool | tuple)
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


def _plus(first: Fraction | None, second: Fraction | None) -> Fraction | None:
    return None if first is None or second is None else first + second


def outcomes_of(draw: Draw, args: tuple[Any, ...], domain: ParameterDomain, reach: int) -> list[tuple[Any, Any]]:
    """Every value of a draw with its chance; chances are not zero, and their sum is 1."""
    if draw.law in ("Laplace", "Exponential", "Gauss"):
        raise NotRun
    _check(draw, args, domain)
    match draw.law:
        case "Bernoulli":
            found = [(Fraction(1), _number(args[0])), (Fraction(0), 1 - _number(args[0]))]
        case "Choice":
            total = sum(args[0][1:], _number(args[0][0]))
            found = [(Fraction(place), weight / total) for place, weight in enumerate(args[0])]
        case "Uniform":
            found = _uniform(args)
        case "Steps":
            found = _steps(_number(args[0]), reach)
        case "Geometric":
            found = _geometric(_number(args[0]), reach)
        case _:
            found = _truncated(*args)
    return [(value, chance) for value, chance in found if not (isinstance(chance, Fraction) and not chance)]


def _number(value: Any) -> Any:
    return Fraction(value) if isinstance(value, int) else value


def _check(draw: Draw, args: tuple[Any, ...], domain: ParameterDomain) -> None:
    """Arguments that are allowed for all parameters; a fault if plain ones are not."""
    inside = args[0] if draw.law == "Choice" else args
    if not isinstance(inside, tuple) or any(isinstance(arg, bool | tuple | Beyond) for arg in inside):
        raise NotRun
    if all(isinstance(arg, _PLAIN) for arg in inside):
        check_law(draw if draw.law != "Steps" else replace(draw, law="Bernoulli"), args)
        if draw.law == "Steps" and args[0] == 1:
            raise NotRun  # the coins are tossed for ever
        return
    first = _number(args[0])
    sure = {
        "Choice": lambda: (
            all(domain.always(weight, ">=") for weight in inside)
            and domain.always(sum(inside[1:], _number(inside[0])), ">")
        ),
        "Bernoulli": lambda: domain.always(first, ">=") and domain.always(1 - first, ">="),
        "Steps": lambda: domain.always(first, ">=") and domain.always(1 - first, ">"),
        "Geometric": lambda: domain.always(first, ">") and domain.always(1 - first, ">"),
        "TruncGeometric": lambda: domain.always(first, ">") and domain.always(1 - first, ">"),
    }.get(draw.law)
    if sure is None or not sure():
        raise NotRun
    if draw.law == "TruncGeometric":
        if not all(isinstance(end, _PLAIN) for end in args[1:]):
            raise NotRun
        if args[1] > args[2]:
            raise RunFault(f"lower end {args[1]} above upper end {args[2]}", draw.at)


def _uniform(args: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    if any(arg != int(arg) for arg in args):
        raise NotRun
    if len(args) == 1:
        if not 0 <= args[0] <= 12:
            raise NotRun
        values: list[Any] = [tuple(map(Fraction, bits)) for bits in product((0, 1), repeat=int(args[0]))]
    else:
        if args[1] - args[0] >= MOST:
            raise NotRun
        values = [Fraction(value) for value in range(int(args[0]), int(args[1]) + 1)]
    return [(value, Fraction(1, len(values))) for value in values]


def _geometric(ratio: Any, reach: int) -> list[tuple[Any, Any]]:
    """(1-a)/(1+a) a^|k| up to the reach; P(Z >= k) = a^k/(1+a) for k >= 0."""
    if not reach:
        raise NotRun
    centre = (1 - ratio) / (1 + ratio)
    tail = ratio ** (reach + 1) / (1 + ratio)
    found: list[tuple[Any, Any]] = [(Fraction(k), centre * ratio ** abs(k)) for k in range(-reach, reach + 1)]
    return [*found, (Beyond(Fraction(reach + 1), None), tail), (Beyond(None, Fraction(-reach - 1)), tail)]


def _steps(chance: Any, reach: int) -> list[tuple[Any, Any]]:
    """(1-p) p^k up to the reach; P(K >= k) = p^k."""
    if not reach:
        raise NotRun
    found: list[tuple[Any, Any]] = [(Fraction(k), (1 - chance) * chance**k) for k in range(reach + 1)]
    return [*found, (Beyond(Fraction(reach + 1), None), chance ** (reach + 1))]


def _truncated(ratio: Any, low: Any, high: Any, centre: Any = Fraction(0)) -> list[tuple[Any, Any]]:
    """min(max(c + Z, low), high): the tails lie on the ends."""
    ratio, low, high, centre = _number(ratio), Fraction(low), Fraction(high), Fraction(centre)
    if low == high:
        return [(low, Fraction(1))]
    first, last = floor(low - centre) + 1, ceil(high - centre) - 1  # noises that lead strictly inside
    if last - first > MOST:
        raise NotRun
    inside = [(centre + k, (1 - ratio) / (1 + ratio) * ratio ** abs(k)) for k in range(first, last + 1)]
    return [(low, _at_most(ratio, first - 1)), *inside, (high, _at_most(ratio, -last - 1))]


def _at_most(ratio: Any, k: int) -> Any:
    """P(Z <= k), which is P(Z >= -k)."""
    return ratio**-k / (1 + ratio) if k <= 0 else 1 - ratio ** (k + 1) / (1 + ratio)
