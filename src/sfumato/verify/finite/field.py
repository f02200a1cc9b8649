"""Verify, finite laws: numbers that are known exactly. Comes in: fractions, and letters. Goes out: quotients of
polynomials.

A *letter* stands for a number that is no fraction: e^(-eps/m), a public parameter, e^(1/m), ln 7, a root. Numbers are
quotients of polynomials in letters, in lowest terms, so that equal numbers look equal. `signs.py` says where letters
may lie.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb, isqrt, lcm
from typing import Any

from flint import arb, ctx, fmpq, fmpz_mpoly_ctx

from sfumato.verify.run import NotRun

LETTERS = 12
PRODUCTS, DEGREE = 1_000_000, 20_000
"""Products of terms that one multiplication may make, and the greatest power of a letter: more is not computed."""
_CONTEXT = fmpz_mpoly_ctx.get([f"g{number}" for number in range(LETTERS)], "lex")
_GENERATORS = _CONTEXT.gens()
_ZERO, _ONE = _CONTEXT.from_dict({}), _CONTEXT.from_dict({(0,) * LETTERS: 1})


class NeedRoot(Exception):
    """e^(-eps/m) is needed for a greater m: everything begins anew with it."""

    def __init__(self, root: int) -> None:
        super().__init__(root)
        self.root = root


@dataclass(frozen=True, slots=True)
class Letter:
    """What a letter stands for.

    kind is `name` (a parameter), `decay` (e^(-eps/m)), `e` (e^(1/m)), `ln`, `sqrt` or `exp` of a number, `pow` (a
    fraction to a fraction).
    """

    kind: str
    name: str = ""
    of: Any = None
    power: Fraction = Fraction(1)


@dataclass(slots=True)
class LetterField:
    """The letters of one computation."""

    root: int = 1
    letters: list[Letter] = field(default_factory=list)
    sure: Callable[[Any, str], bool] = lambda _, __: False  # whether `value sign 0` is proved; the domain knows

    def letter(self, wanted: Letter) -> Any:
        """The number that is one letter."""
        if wanted not in self.letters:
            if len(self.letters) == LETTERS:
                raise NotRun
            self.letters.append(wanted)
        return LetterRatio(self, _GENERATORS[self.letters.index(wanted)], _ONE)

    def make(self, top: Any, bottom: Any) -> Any:
        """top / bottom in lowest terms: a fraction, if no letter is left."""
        if bottom.is_zero():
            raise NotRun
        shared = top.gcd(bottom)
        if not shared.is_one():
            top, bottom = top / shared, bottom / shared
        if bottom.leading_coefficient() < 0:
            top, bottom = -top, -bottom
        if top.is_constant() and bottom.is_constant():
            return Fraction(_constant(top), _constant(bottom))
        return LetterRatio(self, top, bottom)

    # ---- functions

    def function(self, name: str, value: Any) -> Any:
        """exp, ln or sqrt of a number."""
        if isinstance(value, int | Fraction):
            value = Fraction(value)
            return {"exp": self.exp, "ln": self._ln, "sqrt": self._sqrt}[name](value)
        if not isinstance(value, LetterRatio):
            raise NotRun
        return self.exp(value) if name == "exp" else self._ln(value) if name == "ln" else self._sqrt(value)

    def exp(self, value: Any) -> Any:
        """e^value: a product over the terms of the value."""
        if isinstance(value, int | Fraction):
            return Fraction(1) if value == 0 else self._root_of(Letter("e"), Fraction(value))
        if not value.bottom.is_constant():
            return self.letter(Letter("exp", of=value))
        total: Any = Fraction(1)
        for powers, factor in value.top.to_dict().items():
            total = total * self._exp_term(powers, Fraction(int(factor), _constant(value.bottom)))
        return total

    def _exp_term(self, powers: tuple[int, ...], factor: Fraction) -> Any:
        """e^(factor * monomial)."""
        inside = [(self.letters[place], power) for place, power in enumerate(powers) if power]
        if not inside:
            return self.exp(factor)
        if len(inside) == 1 and inside[0][1] == 1:
            letter = inside[0][0]
            if letter.kind == "name" and letter.name == "eps":
                return self._root_of(Letter("decay"), -factor)
            if letter.kind == "ln" and factor.denominator == 1:
                return letter.of ** int(factor)
            if letter.kind == "ln" and isinstance(letter.of, Fraction):
                return self._power(letter.of, factor)
        monomial = self.make(_CONTEXT.from_dict({powers: factor.numerator}), _ONE * factor.denominator)
        return self.letter(Letter("exp", of=monomial))

    def _root_of(self, letter: Letter, power: Fraction) -> Any:
        if (power * self.root).denominator != 1:
            raise NeedRoot(lcm(self.root, power.denominator))
        if abs(power * self.root) > 5000:
            raise NotRun
        return self.letter(letter) ** int(power * self.root)

    def _power(self, base: Fraction, power: Fraction) -> Any:
        """base^power, for a positive base: exactly where that is a fraction."""
        whole, rest = divmod(power, 1)
        if abs(whole) > 5000:
            raise NotRun
        found: Any = base ** int(whole)
        if rest:
            ends = [_whole_root(part, rest.denominator) for part in (base.numerator, base.denominator)]
            if None in ends:
                return found * self.letter(Letter("pow", of=base, power=rest))
            found = found * Fraction(ends[0] or 0, ends[1] or 1) ** rest.numerator
        return found

    def _ln(self, value: Any) -> Any:
        if isinstance(value, Fraction):
            if value <= 0:
                raise NotRun
            return Fraction(0) if value == 1 else self.letter(Letter("ln", of=value))
        if not self.sure(value, ">"):
            raise NotRun
        if len(value.top.to_dict()) == len(value.bottom.to_dict()) == 1:  # a product of letters
            ((tops, factor),), ((bottoms, divisor),) = value.top.to_dict().items(), value.bottom.to_dict().items()
            kinds = [
                (self.letters[place], int(above - below))
                for place, (above, below) in enumerate(zip(tops, bottoms, strict=True))
                if above != below
            ]
            if factor > 0 and all(letter.kind in ("decay", "e") for letter, _ in kinds):
                total = self._ln(Fraction(int(factor), int(divisor)))
                for letter, power in kinds:
                    unit = -self.letter(Letter("name", "eps")) if letter.kind == "decay" else Fraction(1)
                    total = total + unit * Fraction(power, self.root)
                return total
        return self.letter(Letter("ln", of=value))

    def _sqrt(self, value: Any) -> Any:
        if isinstance(value, Fraction):
            if value < 0:
                raise NotRun
            return self._power(value, Fraction(1, 2)) if value else value
        if not self.sure(value, ">="):
            raise NotRun
        return self.letter(Letter("sqrt", of=value))

    # ---- balls

    def ball(self, value: Any, given: dict[str, Fraction] | None = None) -> Any:
        """A ball that holds a number, at flint's precision; parameters as given."""
        if isinstance(value, int | Fraction):
            return ball(Fraction(value))
        used = _used(value)
        points = {place: self.letter_ball(self.letters[place], given or {}) for place in used}
        return _at(value.top, points) / _at(value.bottom, points)

    def letter_ball(self, letter: Letter, given: dict[str, Fraction]) -> Any:
        """A ball that holds what a letter stands for."""
        match letter.kind:
            case "name" if letter.name in given:
                return ball(given[letter.name])
            case "decay" if "eps" in given:
                return ball(-given["eps"] / self.root).exp()
            case "e":
                return ball(Fraction(1, self.root)).exp()
            case "ln":
                return self.ball(letter.of, given).log()
            case "sqrt":
                return self.ball(letter.of, given).sqrt()
            case "exp":
                return self.ball(letter.of, given).exp()
            case "pow":
                return (ball(letter.of).log() * ball(letter.power)).exp()
        raise NotRun

    def is_fixed(self, value: Any) -> bool:
        """Whether no parameter stands in a number."""
        if not isinstance(value, LetterRatio):
            return True
        letters = [self.letters[place] for place in _used(value)]
        return all(
            letter.kind in ("e", "pow") or (letter.kind in ("ln", "sqrt", "exp") and self.is_fixed(letter.of))
            for letter in letters
        )


@dataclass(frozen=True, slots=True, eq=False)
class LetterRatio:
    """A number with letters in it: top / bottom, in lowest terms."""

    field: LetterField
    top: Any
    bottom: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LetterRatio) and bool(self.top == other.top) and bool(self.bottom == other.bottom)

    def __hash__(self) -> int:
        return hash((str(self.top), str(self.bottom)))

    def __add__(self, other: Any) -> Any:
        pair = _parts(other)
        if pair is None:
            return NotImplemented
        _check_size((self.top, pair[1]), (pair[0], self.bottom), (self.bottom, pair[1]))
        return self.field.make(self.top * pair[1] + pair[0] * self.bottom, self.bottom * pair[1])

    __radd__ = __add__

    def __neg__(self) -> LetterRatio:
        return LetterRatio(self.field, -self.top, self.bottom)

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        pair = _parts(other)
        if pair is None:
            return NotImplemented
        _check_size((self.top, pair[0]), (self.bottom, pair[1]))
        return self.field.make(self.top * pair[0], self.bottom * pair[1])

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        pair = _parts(other)
        if pair is None:
            return NotImplemented
        if isinstance(other, LetterRatio) and not self.field.sure(other, "!="):
            raise NotRun
        _check_size((self.top, pair[1]), (self.bottom, pair[0]))
        return self.field.make(self.top * pair[1], self.bottom * pair[0])

    def __rtruediv__(self, other: Any) -> Any:
        if not self.field.sure(self, "!="):
            raise NotRun
        return self.field.make(self.bottom, self.top) * other

    def __pow__(self, power: int) -> Any:
        if power < 0 and not self.field.sure(self, "!="):
            raise NotRun
        top, bottom = (self.top, self.bottom) if power >= 0 else (self.bottom, self.top)
        if any(_terms_of_power(one, abs(power)) > PRODUCTS for one in (top, bottom)):
            raise NotRun
        return self.field.make(top ** abs(power), bottom ** abs(power))

    def letters(self) -> list[Letter]:
        """The letters that stand in it."""
        return [self.field.letters[place] for place in _used(self)]

    def __str__(self) -> str:
        return f"({self.top})/({self.bottom})"


def ball(number: Fraction) -> Any:
    """A fraction as a ball."""
    return arb(fmpq(number.numerator, number.denominator))


def with_precision(bits: int) -> None:
    """How many bits balls carry from now on."""
    ctx.prec = bits


def _check_size(*pairs: tuple[Any, Any]) -> None:
    """Raise NotRun before a product that is too large is computed."""
    for first, second in pairs:
        if len(first) * len(second) > PRODUCTS or any(
            degree > DEGREE for degree in (*first.degrees(), *second.degrees())
        ):
            raise NotRun


def _terms_of_power(one: Any, power: int) -> int:
    """How many terms a power may have."""
    if max(one.degrees()) * power > DEGREE:
        return PRODUCTS + 1
    return comb(len(one) + power - 1, power) if len(one) > 1 else 1


def _parts(value: Any) -> tuple[Any, Any] | None:
    if isinstance(value, LetterRatio):
        return value.top, value.bottom
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return None
    return _ONE * value.numerator, _ONE * value.denominator


def _constant(one: Any) -> int:
    return int(one.to_dict().get((0,) * LETTERS, 0))


def _used(value: LetterRatio) -> list[int]:
    return [place for place in range(LETTERS) if value.top.degrees()[place] or value.bottom.degrees()[place]]


def _at(one: Any, points: dict[int, Any]) -> Any:
    """A polynomial at balls."""
    total = arb(0)
    for powers, factor in one.to_dict().items():
        term = arb(factor)
        for place, power in enumerate(powers):
            if power:
                term *= points[place] ** power
        total += term
    return total


def _whole_root(number: int, degree: int) -> int | None:
    """The whole root of a positive whole number, if it has one."""
    found = isqrt(number) if degree == 2 else round(number ** (1 / degree)) if number < 1 << 900 else 0
    return found if found**degree == number else None
