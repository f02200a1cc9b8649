"""Verify, kernel: terms of the solver. Comes in: polynomials and names. Goes out: formulas, and answers of the solver.

Every check has a context of its own and a limit in the solver's own steps: the same text gives the same answer every
time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import z3

from sfumato.verify.kernel.polynomial import Poly, atom_power, common, inverse, poly, single

STEPS = 4_000_000
"""Steps of the solver for one condition: about two seconds. Conditions of the programs in the tests need under a
tenth.
"""


class SolverTerms:
    """One context of the solver, with its atoms."""

    def __init__(self) -> None:
        self.context = z3.Context()
        self.atoms: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._count = 0
        self.steps = STEPS
        self.true = z3.BoolVal(True, self.context)
        self.false = z3.BoolVal(False, self.context)

    def fresh(self, name: str, *, whole: bool) -> Poly:
        """A new unknown number."""
        self._count += 1
        make = z3.Int if whole else z3.Real
        return self.atom(make(f"{name}!{self._count}", self.context))

    def fresh_truth(self, name: str) -> Any:
        """A new unknown truth."""
        self._count += 1
        return z3.Bool(f"{name}!{self._count}", self.context)

    def function(self, name: str, arity: int, *, whole: bool) -> Any:
        """An unknown function of whole numbers."""
        integer = z3.IntSort(self.context)
        return z3.Function(name, *[integer] * arity, integer if whole else z3.RealSort(self.context))

    def atom(self, term: Any) -> Poly:
        """A term as a polynomial."""
        key = term.get_id()
        if key not in self._numbers:
            self._numbers[key] = len(self.atoms) + 1
            self.atoms[len(self.atoms) + 1] = term
        return atom_power(self._numbers[key])

    def is_whole(self, one: Poly) -> bool:
        """Whether a polynomial is made of whole numbers only."""
        return all(
            factor.denominator == 1 and all(power > 0 and self.atoms[atom].is_int() for atom, power in monomial)
            for monomial, factor in one.terms
        )

    def term(self, one: Poly, *, whole: bool = False) -> Any:
        """The solver's term of a polynomial that has no negative powers."""
        total = None
        for monomial, factor in one.terms:
            product = None
            for atom, power in monomial:
                if power < 0:
                    raise ValueError("a negative power has no term")
                base = self.atoms[atom]
                base = z3.ToReal(base) if base.is_int() and not whole else base
                for _ in range(power):
                    product = base if product is None else product * base
            value = self.value(factor, whole=whole)
            part = value if product is None else product if factor == 1 else value * product
            total = part if total is None else total + part
        return self.value(Fraction(0), whole=whole) if total is None else total

    def value(self, number: Fraction, *, whole: bool = False) -> Any:
        """A number of the solver."""
        if whole:
            return z3.IntVal(number.numerator, self.context)
        return z3.RealVal(str(number), self.context)

    def cleared(self, one: Poly, positive: Callable[[int], bool]) -> Poly:
        """A polynomial with the same sign and without negative powers.

        Factors that are known to be positive are taken out; a negative power of another atom, which is not zero
        because it was divided by, is cleared by an even power of it.
        """
        out = []
        factors = common([one])
        if len(one.terms) == 1 and len(factors) == 1 and factors[0][1] == 1:
            return one  # one unknown alone: whether it is positive is the question itself
        for atom, power in factors:
            if positive(atom):
                out.append((atom, -power))
            elif power < 0:
                out.append((atom, -power + (power % 2)))
        return one * single(tuple(sorted(out)))

    def compare(self, one: Poly, sign: str, positive: Callable[[int], bool]) -> Any:
        """`one sign 0` as a formula."""
        clear = self.cleared(one, positive)
        value = clear.constant
        if value is not None:
            return self.true if _HOLDS[sign](value) else self.false
        whole = self.is_whole(clear)
        left, zero = self.term(clear, whole=whole), self.value(Fraction(0), whole=whole)
        return _FORMULA[sign](left, zero)

    def choose(self, test: Any, first: Poly, second: Poly) -> Poly:
        """`first` where the test holds, else `second`; what both have as a factor stays outside."""
        if first == second or z3.is_true(test):
            return first
        if z3.is_false(test):
            return second
        unit = common([first, second])
        back = single(inverse(unit))
        first, second = first * back, second * back
        whole = self.is_whole(first) and self.is_whole(second)
        return single(unit) * self.atom(z3.If(test, self.term(first, whole=whole), self.term(second, whole=whole)))

    def magnitude(self, one: Poly, positive: Callable[[int], bool]) -> Poly:
        """|one|; positive factors stay outside."""
        out = []
        for atom, power in common([one]):
            if positive(atom):
                out.append((atom, power))
            elif power < 0:
                out.append((atom, power - (power % 2)))
        unit = tuple(sorted(out))
        inside = one * single(inverse(unit))
        value = inside.constant
        if value is not None:
            return single(unit) * poly({(): abs(value)})
        nonnegative = self.compare(inside, ">=", positive)
        return single(unit) * self.choose(nonnegative, inside, -inside)

    def extreme(self, name: str, args: list[Poly], positive: Callable[[int], bool]) -> Poly:
        """abs, min, max, clamp."""
        if name == "abs":
            return self.magnitude(args[0], positive)
        if name == "clamp":
            return self.extreme("min", [self.extreme("max", args[:2], positive), args[2]], positive)
        first, second = args
        below = self.compare(first - second, "<=", positive)
        return self.choose(below, first, second) if name == "min" else self.choose(below, second, first)

    def all_of(self, parts: Sequence[Any]) -> Any:
        """The conjunction."""
        kept = [part for part in parts if not z3.is_true(part)]
        return self.true if not kept else kept[0] if len(kept) == 1 else z3.And(*kept)

    def solver(self) -> Any:
        """A solver with a fixed seed and a limit in steps."""
        solver = z3.Solver(ctx=self.context)
        solver.set("random_seed", 1)
        solver.set("rlimit", self.steps)
        return solver

    def used(self) -> int:
        """How many steps the solver has made in this context."""
        solver = self.solver()
        solver.check()
        return int(solver.statistics().get_key_value("rlimit count"))

    def proves(self, assumed: Sequence[Any], goal: Any) -> bool:
        """Whether the goal follows, as far as the solver can tell within its steps."""
        if z3.is_true(goal):
            return True
        solver = self.solver()
        solver.add(*assumed)
        solver.add(z3.Not(goal))
        return bool(solver.check() == z3.unsat)


_HOLDS: dict[str, Callable[[Fraction], bool]] = {
    "<": lambda value: value < 0,
    "<=": lambda value: value <= 0,
    ">": lambda value: value > 0,
    ">=": lambda value: value >= 0,
    "=": lambda value: value == 0,
    "!=": lambda value: value != 0,
}
_FORMULA: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda left, zero: left < zero,
    "<=": lambda left, zero: left <= zero,
    ">": lambda left, zero: left > zero,
    ">=": lambda left, zero: left >= zero,
    "=": lambda left, zero: left == zero,
    "!=": lambda left, zero: left != zero,
}
