"""Verify, refuter: numbers that are linear in noise. Comes in: fractions and numbered noises. Goes out: exact linear
forms.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.verify.run import NotRun


@dataclass(frozen=True, slots=True)
class Form:
    """constant + sum of factor * noise; no factor is zero."""

    constant: Fraction
    factors: tuple[tuple[int, Fraction], ...]

    def __add__(self, other: Form | Fraction | int) -> Form | Fraction:
        if not isinstance(other, Form):
            return Form(self.constant + other, self.factors)
        total = dict(self.factors)
        for noise, factor in other.factors:
            total[noise] = total.get(noise, Fraction(0)) + factor
        return form(self.constant + other.constant, total)

    __radd__ = __add__

    def __neg__(self) -> Form:
        return Form(-self.constant, tuple((noise, -factor) for noise, factor in self.factors))

    def __sub__(self, other: Form | Fraction | int) -> Form | Fraction:
        return self + -other

    def __rsub__(self, other: Fraction | int) -> Form | Fraction:
        return -self + other

    def __mul__(self, other: Form | Fraction | int) -> Form | Fraction:
        if isinstance(other, Form):
            raise NotRun
        return form(self.constant * other, {noise: factor * other for noise, factor in self.factors})

    __rmul__ = __mul__

    def __truediv__(self, other: Fraction | int) -> Form | Fraction:
        return self * (Fraction(1) / other)

    def __rtruediv__(self, other: Fraction | int) -> Form:
        raise NotRun

    def __pow__(self, power: int) -> Form:
        if power != 1:
            raise NotRun
        return self


def form(constant: Fraction, factors: dict[int, Fraction]) -> Form | Fraction:
    """A form, or a plain number if no noise is left in it."""
    kept = tuple(sorted((noise, factor) for noise, factor in factors.items() if factor))
    return Form(Fraction(constant), kept) if kept else Fraction(constant)


def noise(number: int) -> Form:
    """One noise alone."""
    return Form(Fraction(0), ((number, Fraction(1)),))
