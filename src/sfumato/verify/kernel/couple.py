"""Verify, kernel: one draw of two runs. Comes in: a law in both runs, a map of the noise and its inverse. Goes out: the
drawn values, and the conditions that make the map a coupling: onto the support, undone by its inverse, masses equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import z3

from sfumato.verify.kernel.single import Reader, SingleRun
from sfumato.verify.kernel.symbols import Bit, BitList, Row, SolverNumber, Symbol
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.tree import Draw, Expr, Var

NOISE = Var("#noise")


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two draws that were made together: for those who look for couplings."""

    sites: tuple[int, int]
    law: str
    one: Symbol
    two: Symbol
    supports: tuple[Any, Any]
    runs: tuple[SingleRun, SingleRun]
    open: bool


@dataclass(frozen=True, slots=True)
class Coupled:
    """Makes draws."""

    reader: Reader
    meetings: list[Meeting]

    def alone(self, draw: Draw, run: SingleRun) -> Symbol:
        """A value of a law, whatever else happens."""
        return self._fresh(*self._arguments(draw, run), draw.name)

    def draw(
        self, one: SingleRun, two: SingleRun, coupling: tuple[Expr, Expr] | None, *, searching: bool = False
    ) -> tuple[SingleRun, SingleRun]:
        """Both runs draw, the second what the map makes of the first's noise."""
        first, second = one.todo[0], two.todo[0]
        (law, mine), (other, yours) = self._arguments(first, one), self._arguments(second, two)
        if law != other or (law != "Choice" and len(mine) != len(yours)):
            raise NoProofRule(f"draws of different laws, {first.law} and {second.law}")
        args = mine, yours
        noise = self._fresh(law, mine, first.name)
        if coupling is None and searching:
            image = self._fresh(law, yours, second.name)
        else:
            there, back = coupling or (NOISE, NOISE)
            image = self._mapped(there, noise, one, two)
            self._conditions(first, law, args, values=(noise, image), maps=(there, back), runs=(one, two))
        after = one.copy(), two.copy()
        for run, draw, value in zip(after, (first, second), (noise, image), strict=True):
            run.store[draw.name] = run.draws[draw.number] = value
            run.todo = run.todo[1:]
        sites, is_open = (first.number, second.number), coupling is None and searching
        self.meetings.append(Meeting(sites, law, noise, image, args, (one, two), is_open))
        return after

    def _mapped(self, node: Expr, noise: Symbol, one: SingleRun, two: SingleRun) -> Symbol:
        """A map of a coupling, which sees both runs as they are before the draw."""
        first, second = one.copy(), two.copy()
        first.noise, first.other = noise, second
        second.other = first
        try:
            return self.reader.value(node, first)
        finally:  # no cycle is left: the solver orders terms by when others are freed, which must not be up to chance
            first.other = second.other = None

    # ---- laws

    def _arguments(self, draw: Draw, run: SingleRun) -> tuple[str, list[Any]]:
        """A law and what it is given, with the conditions that this is allowed. Uniform(0..1) is a fair Bernoulli."""
        reader, at = self.reader, draw.at
        if draw.law == "Choice":
            weights = reader.value(draw.args[0], run)
            if not isinstance(weights, Row):
                raise NoProofRule("weights that are not written out")
            terms = [reader.world.number(item) for item in weights.items]
            goal = z3.And(*(term >= 0 for term in terms), z3.Or(*(term > 0 for term in terms)))
            reader.require("safe", "weights are not negative, and not all zero", at, z3.simplify(goal))
            return draw.law, terms
        terms = [reader.number(arg, run) for arg in draw.args]
        first = terms[0]
        match draw.law:
            case "Uniform" if len(terms) == 1:
                goal = first >= 0
            case "Uniform":
                goal = terms[0] <= terms[1]
            case "Bernoulli":
                goal = z3.And(first >= 0, first <= 1)
            case "Geometric" | "TruncGeometric":
                goal = z3.And(first > 0, first < 1, *([terms[1] <= terms[2]] if len(terms) > 1 else []))
            case _:
                goal = first > 0
        if draw.law == "Uniform" and not all(term.is_int() for term in terms):
            raise NoProofRule("ends or lengths that are not whole")
        reader.require("safe", f"{draw.law} is given what it allows", at, z3.simplify(goal))
        if draw.law == "Uniform" and _is_bit(terms):
            return "Bernoulli", [z3.RealVal("1/2", reader.world.context)]
        return draw.law, terms

    def _fresh(self, law: str, args: list[Any], name: str) -> Symbol:
        """An unknown value of the support."""
        world = self.reader.world
        if law == "Bernoulli":
            return world.bit(name)
        if law == "Uniform" and len(args) == 1:
            return world.bit_list(name, args[0])
        term = world.real(name) if law in _REAL else world.integer(name)
        world.facts.learn(self.reader.known, *_inside(law, args, term))
        return SolverNumber(term)

    # ---- conditions

    def _conditions(
        self, draw: Draw, law: str, args: Any, *, values: Any, maps: Any, runs: tuple[SingleRun, SingleRun]
    ) -> None:
        (noise, image), (there, back), (one, two) = values, maps, runs
        world, reader, at, name = self.reader.world, self.reader, draw.at, draw.name
        if law == "Uniform" and len(args[0]) == 1:
            reader.require("support", "bit lists of the same length", at, z3.simplify(args[0][0] == args[1][0]))
        self._supported(draw, law, args[1], image)
        returned = self._mapped(back, image, one, two)
        reader.require("inverse", f"{name}: there and back", at, world.equal(returned, noise)[0])
        target = self._fresh(law, args[1], name)
        origin = self._mapped(back, target, one, two)
        self._supported(draw, law, args[0], origin)
        again = self._mapped(there, origin, one, two)
        reader.require("inverse", f"{name}: back and there", at, world.equal(again, target)[0])
        reader.require("mass", f"{name}: equal masses", at, z3.simplify(self._mass(law, args, noise, image)))

    def _supported(self, draw: Draw, law: str, args: list[Any], value: Symbol) -> None:
        """The value of a map lies in the support."""
        if law == "Uniform" and len(args) == 1:
            if not isinstance(value, BitList):
                raise NoProofRule("a coupling whose value is not a bit list")
            self.reader.require("support", "a bit list of this length", draw.at, z3.simplify(value.size == args[0]))
            return
        term = self.reader.world.number(value)
        if law not in _REAL and not term.is_int():
            raise NoProofRule("a coupling whose value is not known to be whole")
        inside = _inside(law, args, term)
        if inside and not (law == "Bernoulli" and isinstance(value, Bit)):
            goal = z3.simplify(z3.And(*inside))
            self.reader.require("support", f"{draw.name} stays in the support", draw.at, goal)

    def _mass(self, law: str, args: Any, noise: Symbol, image: Symbol) -> Any:
        """That a value and its image are equally likely, given that the map is a bijection of the supports."""
        world = self.reader.world
        if law == "Uniform":
            return world.true  # supports of the same number of values: the map is a bijection
        first, second = args
        a, b = world.number(noise), world.number(image)
        match law:
            case "Bernoulli":
                chance = [z3.If(term == 1, p, 1 - p) for term, p in ((a, _real(first[0])), (b, _real(second[0])))]
                return chance[0] == chance[1]
            case "Laplace" | "Gauss":
                return z3.And(first[0] == second[0], b - second[1] == a - first[1])
            case "Geometric":
                return z3.And(first[0] == second[0], z3.Or(a == b, a == -b))
            case "Choice" if len(first) != len(second):
                return world.false
        return z3.And(a == b, *(x == y for x, y in zip(first, second, strict=True)))


_REAL = ("Laplace", "Gauss", "Exponential", "TruncGeometric")


def _inside(law: str, args: list[Any], term: Any) -> list[Any]:
    """That a value lies in the support of a law."""
    match law:
        case "Uniform" if len(args) == 2:
            return [args[0] <= term, term <= args[1]]
        case "Bernoulli":
            return [term >= 0, term <= 1]
        case "Choice":
            return [term >= 0, term < len(args)]
        case "Exponential":
            return [term >= 0]
        case "TruncGeometric":
            return [args[1] <= term, term <= args[2]]
    return []


def _real(term: Any) -> Any:
    return z3.ToReal(term) if term.is_int() else term


def _is_bit(args: Any) -> bool:
    """Whether a support is 0..1, as written."""
    return len(args) == 2 and all(z3.is_int_value(end) for end in args) and [e.as_long() for e in args] == [0, 1]
