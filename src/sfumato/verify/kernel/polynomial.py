"""Verify, kernel: polynomials whose powers may be negative, over numbered atoms. Comes in, goes out: exact fractions.

An *atom* is a term of the solver, known here by its number; `n^-1` stands for 1/n and is used only where n is not zero.
Scales such as 4*N/eps and shifts such as d(s)/size stay apart from the numbers that they multiply, so that epsilon and
sizes cancel before a solver sees them, and what is left is linear in all programs that people write.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sfumato.verify.kernel.uncovered import TooLarge

PRODUCTS, DEGREE = 40_000, 256
"""Products of terms that one multiplication makes, and the greatest power of an atom. Programs that people write stay
far below; ((x + y + 1)^8)^8 does not.
"""
Monomial = tuple[tuple[int, int], ...]
"""Atoms with their powers, by rising number; no power is zero. The empty one is 1."""


@dataclass(frozen=True, slots=True)
class Poly:
    """A sum of monomials with coefficients that are not zero."""

    terms: tuple[tuple[Monomial, Fraction], ...]

    def __add__(self, other: Poly) -> Poly:
        total = dict(self.terms)
        for monomial, factor in other.terms:
            total[monomial] = total.get(monomial, Fraction(0)) + factor
        return poly(total)

    def __neg__(self) -> Poly:
        return Poly(tuple((monomial, -factor) for monomial, factor in self.terms))

    def __sub__(self, other: Poly) -> Poly:
        return self + -other

    def __mul__(self, other: Poly) -> Poly:
        if len(self.terms) * len(other.terms) > PRODUCTS:
            raise TooLarge("a polynomial with very many terms")
        total: dict[Monomial, Fraction] = {}
        for first, a in self.terms:
            for second, b in other.terms:
                monomial = times(first, second)
                total[monomial] = total.get(monomial, Fraction(0)) + a * b
        return poly(total)

    @property
    def constant(self) -> Fraction | None:
        """Its value, if it is a number."""
        if not self.terms:
            return Fraction(0)
        if len(self.terms) == 1 and self.terms[0][0] == ():
            return self.terms[0][1]
        return None

    @property
    def divisors(self) -> dict[int, int]:
        """The atoms that it divides by, with their greatest powers."""
        found: dict[int, int] = {}
        for monomial, _ in self.terms:
            for atom, power in monomial:
                if power < 0:
                    found[atom] = max(found.get(atom, 0), -power)
        return found

    @property
    def atoms(self) -> set[int]:
        """The atoms that occur in it."""
        return {atom for monomial, _ in self.terms for atom, _ in monomial}


def poly(terms: Mapping[Monomial, Fraction]) -> Poly:
    """A polynomial from its terms."""
    return Poly(tuple(sorted((monomial, factor) for monomial, factor in terms.items() if factor)))


def number(value: Fraction | int) -> Poly:
    """A constant."""
    return Poly((((), Fraction(value)),)) if value else Poly(())


def atom_power(atom: int, power: int = 1) -> Poly:
    """One atom to a power."""
    return Poly(((((atom, power),), Fraction(1)),))


def single(monomial: Monomial) -> Poly:
    """One monomial."""
    return Poly(((monomial, Fraction(1)),))


def times(first: Monomial, second: Monomial) -> Monomial:
    """The product of two monomials."""
    powers = dict(first)
    for atom, power in second:
        powers[atom] = powers.get(atom, 0) + power
        if abs(powers[atom]) > DEGREE:
            raise TooLarge("a very high power")
    return tuple(sorted((atom, power) for atom, power in powers.items() if power))


def inverse(monomial: Monomial) -> Monomial:
    """1 divided by a monomial."""
    return tuple((atom, -power) for atom, power in monomial)


def common(polys: Iterable[Poly]) -> Monomial:
    """For each atom its least power over all terms of all polynomials: the factor that can be taken out of them."""
    rows = [dict(monomial) for one in polys for monomial, _ in one.terms]
    atoms = {atom for row in rows for atom in row}
    least = {atom: min(row.get(atom, 0) for row in rows) for atom in atoms}
    return tuple(sorted((atom, power) for atom, power in least.items() if power))
