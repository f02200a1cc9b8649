"""Verify, kernel: exp, ln and sqrt. Comes in: polynomials. Goes out: atoms, and what is known of them.

ln undoes exp: exp(p) is an atom whose exponent p is kept, and ln of a product is the sum of logarithms, so that scales
such as exp(-eps*t) and claims such as ln 3 or 2*ln(1/a) cancel exactly. ln of a whole number is a sum over its prime
factors, so that ln 4 is 2 * ln 2. Numbers without parameters are also known between two fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import z3

from sfumato.reals import Real, TooCoarse, as_real, exp, ln, sqrt
from sfumato.verify.kernel.facts import ProofFacts
from sfumato.verify.kernel.polynomial import Poly, atom_power, number, poly
from sfumato.verify.kernel.terms import SolverTerms
from sfumato.verify.kernel.uncovered import NoProofRule

BITS, MORE = 64, 256
_FACTORS = 1 << 12
"""Prime factors up to this are found; what is left counts as one."""


class Functions:
    """exp, ln and sqrt in one context of the solver."""

    def __init__(self, terms: SolverTerms, facts: ProofFacts) -> None:
        self.terms = terms
        self.facts = facts
        self._exponents: dict[int, Poly] = {}  # of atoms that are exp(…)
        self._insides: dict[int, Poly] = {}  # of atoms that are ln(…)
        self._values: dict[int, Real] = {}  # of atoms without parameters
        self._made: dict[tuple[str, Poly], Poly] = {}

    def call(self, name: str, one: Poly, positive: Callable[[int], bool]) -> Poly:
        """The value of a function; that ln and sqrt may be taken is asked elsewhere."""
        if name == "exp":
            return self.exp(one)
        return self.ln(one, positive) if name == "ln" else self.sqrt(one)

    # ---- exp

    def exp(self, one: Poly) -> Poly:
        """e^one: whole multiples of logarithms become powers, the rest is an atom."""
        if not one.terms:
            return number(1)
        found, rest = number(1), {}
        for monomial, factor in one.terms:
            inside = self._insides.get(monomial[0][0]) if len(monomial) == 1 and monomial[0][1] == 1 else None
            if inside is not None and factor.denominator == 1 and abs(factor) <= 64 and len(inside.terms) == 1:
                found = found * _power(inside, int(factor))
            else:
                rest[monomial] = factor
        return found * self._exp(poly(rest)) if rest else found

    def _exp(self, one: Poly) -> Poly:
        if ("exp", one) in self._made:
            return self._made["exp", one]
        found = self._atom("exp", one, exp)
        ((((atom, _),), _),) = found.terms
        self._exponents[atom] = one
        term, zero = self.terms.atoms[atom], z3.RealVal(0, self.terms.context)
        self.facts.define(term, term > zero)
        self._compared_with_one(term, one)
        return found

    def _compared_with_one(self, term: Any, logarithm: Poly) -> None:
        """x < 1 exactly if ln x < 0."""
        if any(power < 0 for monomial, _ in logarithm.terms for _, power in monomial):
            return
        inside, one = self.terms.term(logarithm), z3.RealVal(1, self.terms.context)
        self.facts.define(term, (inside < 0) == (term < one), (inside == 0) == (term == one))

    # ---- ln

    def ln(self, one: Poly, positive: Callable[[int], bool]) -> Poly:
        """ln of a positive number: of a product the sum of logarithms."""
        if len(one.terms) != 1 or one.terms[0][1] <= 0:
            return self._ln(one)
        monomial, factor = one.terms[0]
        if not all(atom in self._exponents or positive(atom) for atom, _ in monomial):
            return self._ln(one)
        total = self._ln_number(factor)
        for atom, power in monomial:
            part = self._exponents.get(atom)
            total = total + (self._ln(atom_power(atom)) if part is None else part) * number(power)
        return total

    def _ln_number(self, value: Fraction) -> Poly:
        total = number(0)
        for whole, sign in ((value.numerator, 1), (value.denominator, -1)):
            for prime, power in _factors(whole):
                total = total + self._ln(number(prime)) * number(sign * power)
        return total

    def _ln(self, one: Poly) -> Poly:
        if ("ln", one) in self._made:
            return self._made["ln", one]
        found = self._atom("ln", one, ln)
        ((((atom, _),), _),) = found.terms
        self._insides[atom] = one
        if one.constant is None and not one.divisors:
            unit = z3.RealVal(1, self.terms.context)
            inside, term = self.terms.term(one), self.terms.atoms[atom]
            signs = z3.And((term < 0) == (inside < unit), (term == 0) == (inside == unit))
            self.facts.define(term, z3.Implies(inside > 0, signs))
        return found

    # ---- sqrt, and what is known of numbers

    def sqrt(self, one: Poly) -> Poly:
        """The root: exactly where it is a fraction."""
        value = one.constant
        if value is not None:
            ends = [_root(part) for part in (value.numerator, value.denominator)]
            if value == 0 or None not in ends:
                return number(0) if value == 0 else number(Fraction(ends[0] or 0, ends[1] or 1))
        found = self._atom("sqrt", one, sqrt)
        if not one.divisors:
            term, inside = self.terms.term(found), self.terms.term(one)
            self.facts.define(term, z3.Implies(inside >= 0, z3.And(term >= 0, term * term == inside)))
        return found

    def _atom(self, name: str, one: Poly, function: Callable[[Real], Real]) -> Poly:
        """The atom of a function's value; between two fractions if there is no parameter in it."""
        key = (name, one)
        if key not in self._made:
            found = self.terms.fresh(name, whole=False)
            self._made[key] = found
            inside = self._value(one)  # of a tower of exponents nothing is known but its sign
            if inside is not None and not (name == "exp" and max(map(abs, _between(inside))) > 1000):
                ((((atom, _),), _),) = found.terms
                self._values[atom] = value = function(inside)
                low, high = _between(value)
                term = self.terms.atoms[atom]
                self.facts.define(term, term >= self.terms.value(low), term <= self.terms.value(high))
        return self._made[key]

    def _value(self, one: Poly) -> Real | None:
        """A number without parameters."""
        if any(atom not in self._values for atom in one.atoms) or _too_large(one):
            return None
        total = as_real(0)
        for monomial, factor in one.terms:
            part = as_real(factor)
            for atom, power in monomial:
                base = self._values[atom] ** abs(power)
                part = part * (base if power > 0 else base.reciprocal())
            total = total + part
        return total


def _too_large(one: Poly) -> bool:
    return one.constant is not None and abs(one.constant) > 1000


def _between(value: Real) -> tuple[Fraction, Fraction]:
    for bits in (BITS, MORE):
        try:
            low, high = value.enclose(bits)
        except TooCoarse:
            continue
        return Fraction(low, 1 << bits), Fraction(high, 1 << bits)
    raise NoProofRule("a number that is not known well enough")


def _power(one: Poly, power: int) -> Poly:
    """A single monomial to a whole power."""
    ((monomial, factor),) = one.terms
    return Poly(((tuple((atom, times * power) for atom, times in monomial), factor**power),)) if power else number(1)


def _factors(whole: int) -> list[tuple[int, int]]:
    """Prime factors with their powers; a great one may be a product."""
    found, prime = [], 2
    while prime * prime <= whole and prime <= _FACTORS:
        power = 0
        while whole % prime == 0:
            whole, power = whole // prime, power + 1
        if power:
            found.append((prime, power))
        prime += 1
    return [*found, (whole, 1)] if whole > 1 else found


def _root(whole: int) -> int | None:
    from math import isqrt

    return isqrt(whole) if whole >= 0 and isqrt(whole) ** 2 == whole else None
