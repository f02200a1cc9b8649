"""Verify: public amounts, such as 4*N/eps or size(q)/2*eps, as sums of products. Comes in: expressions. Goes out: the
same, with like terms put together, to compute with and to read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from sfumato.verify.kernel.polynomial import Monomial, Poly, atom_power, common, inverse, number, poly, single
from sfumato.verify.tree import Binary, Expr, FunctionCall, Num, Unary, Var

ONE, EPS = Num(Fraction(1)), Var("eps")


@dataclass(frozen=True, slots=True)
class Amounts:
    """Names for what amounts are made of: parameters, and sizes of lists."""

    atoms: list[Expr] = field(default_factory=list)

    def read(self, node: Expr) -> Poly | None:
        """An expression as a sum of products; None if it is something else, as max(a, b) or 1/(1 + w)."""
        match node:
            case Num(value=value):
                return number(value)
            case Var() | FunctionCall(name="size"):
                return self.atom(node)
            case Unary(op="-", arg=arg):
                inside = self.read(arg)
                return None if inside is None else -inside
            case Binary(op=op, left=left, right=right) if op in ("+", "-", "*", "/"):
                first, second = self.read(left), self.read(right)
                if first is None or second is None:
                    return None
                return _combined(op, first, second)
        return None

    def atom(self, node: Expr) -> Poly:
        """A name, or a size."""
        if node not in self.atoms:
            self.atoms.append(node)
        return atom_power(self.atoms.index(node))

    def show(self, amount: Poly) -> Expr:
        """An amount as an expression: what all terms have in common stands behind the brackets."""
        shared = common([amount]) if len(amount.terms) > 1 else ()
        inside = amount * single(inverse(shared))
        found: Expr | None = None
        for monomial, factor in sorted(inside.terms, key=lambda term: len(term[0])):
            part = self._term(monomial, abs(factor))
            if found is None:
                found = part if factor > 0 else Unary("-", part)
            else:
                found = Binary("+" if factor > 0 else "-", found, part)
        if found is None:
            return Num(Fraction(0))
        return found if not shared else self._term(shared, Fraction(1), found)

    def _term(self, monomial: Monomial, factor: Fraction, first: Expr | None = None) -> Expr:
        by_name = sorted(monomial, key=lambda part: (self.atoms[part[0]] == EPS, part))  # as people say it: N * eps
        above = [self._power(atom, power) for atom, power in by_name if power > 0]
        below = [self._power(atom, -power) for atom, power in by_name if power < 0]
        if factor.numerator != 1 or (not above and first is None):
            above.insert(0, Num(Fraction(factor.numerator)))
        if first is not None:
            above.insert(0, first)
        if factor.denominator != 1:
            below.insert(0, Num(Fraction(factor.denominator)))
        top = _product(above) if above else ONE
        return Binary("/", top, _product(below)) if below else top

    def _power(self, atom: int, power: int) -> Expr:
        base = self.atoms[atom]
        return base if power == 1 else Binary("^", base, Num(Fraction(power)))


def _combined(op: str, first: Poly, second: Poly) -> Poly | None:
    match op:
        case "+":
            return first + second
        case "-":
            return first - second
        case "*":
            return first * second
    return over(first, second)


def over(amount: Poly, by: Poly) -> Poly | None:
    """A quotient, if the divisor is one product."""
    if len(by.terms) != 1:
        return None
    ((monomial, factor),) = by.terms
    return amount * poly({inverse(monomial): 1 / factor})


def _product(parts: list[Expr]) -> Expr:
    found = parts[0]
    for part in parts[1:]:
        found = Binary("*", found, part)
    return found
