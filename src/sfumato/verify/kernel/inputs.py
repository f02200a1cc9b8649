"""Verify, kernel: adjacent inputs. Comes in: the header of a program. Goes out: two runs' parameters, and facts about
them.

An element of a list is a function of its place, unknown but for its type; the neighbour's element is the same, moved
as the adjacency allows. Facts about an element are stated whenever it is read, so that conditions stay free of
quantifiers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import z3

from sfumato.verify.kernel.facts import ProofFacts
from sfumato.verify.kernel.polynomial import Poly, number
from sfumato.verify.kernel.terms import SolverTerms
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.kernel.values import Boolean, Input, PairedNumber, Value
from sfumato.verify.tree import Num, Param, Program, Type

_BIT = (Num(Fraction(0)), Num(Fraction(1)))
DIRECTIONS = {"inc": ("up", "down"), "dec": ("up", "down"), "addremove": ("more", "less")}
"""Adjacencies that look different from the other side need a proof from each side."""


def directions(program: Program) -> tuple[str, ...]:
    """The directions in which a program's claim has to be proved."""
    return DIRECTIONS.get(program.adjacent or "", ("both",))


class PairedInputs:
    """The two inputs of a pair of runs. `bounds` evaluates the ends of a type, which are public."""

    def __init__(self, terms: SolverTerms, program: Program, direction: str, facts: ProofFacts) -> None:
        self.terms = terms
        self.program = program
        self.direction = direction
        self.facts = facts
        self.private = [param for param in program.params if param.private]
        self.values: dict[str, Value] = {}
        self.sizes: dict[str, PairedNumber] = {}
        self.ghosts: dict[str, Value] = {}
        self.bound: Any = None  # set by the product program, which knows how to evaluate
        self._functions: dict[str, Any] = {}
        self._told: set[tuple[object, ...]] = set()
        self._touched: dict[str, Any] = {}

    def start(self) -> None:
        """Make the parameters."""
        eps, delta = self.terms.fresh("eps", whole=False), self.terms.fresh("delta", whole=False)
        self.values["eps"] = PairedNumber(eps, eps, False)
        self.values["delta"] = PairedNumber(delta, delta, False)
        self.require(eps, ">")
        self.require(delta, ">=")
        self.require(delta - number(1), "<")
        if self.program.adjacent in ("moves", "addremove") and len(self.private) != 1:
            raise NoProofRule("this adjacency is covered for one private parameter only")
        if self.program.adjacent == "one" and len(self.private) > 1:
            self._touched = {param.name: self.terms.fresh_truth(f"touched_{param.name}") for param in self.private}
            flags = [
                z3.If(flag, z3.IntVal(1, self.terms.context), z3.IntVal(0, self.terms.context))
                for flag in self._touched.values()
            ]
            self.facts.require(z3.Sum(*flags) <= 1)
        for param in self.program.params:
            if not param.private:
                self.values[param.name] = self._public(param)
        for param in self.private:
            self.values[param.name] = self._private(param)

    def require(self, one: Poly, sign: str) -> None:
        """State what holds of all inputs."""
        self.facts.require(self._says(one, sign))

    def _define(self, one: Poly, *facts: Any) -> None:
        """State what holds of a part of the inputs, wherever it is read."""
        self.facts.define(self.terms.term(one), *facts)

    def _says(self, one: Poly, sign: str) -> Any:
        return self.terms.compare(one, sign, lambda _: False)

    def _public(self, param: Param) -> Value:
        if param.type.kind in ("list", "bits", "tuple"):
            return self._sized(param, private=False)
        return self._leaf(param.name, param.type, (), param)

    def _private(self, param: Param) -> Value:
        if param.type.kind == "list" and self.program.adjacent in ("one", "moves", "addremove"):
            for word in {"one": ("place",), "moves": ("up", "down"), "addremove": ("place",)}[self.program.adjacent]:
                place = self.terms.fresh(f"{word}_{param.name}", whole=True)
                self.ghosts[f"#{word}"] = self.ghosts[f"#{word}_{param.name}"] = PairedNumber(place, place, True)
        if param.type.kind in ("list", "bits", "tuple"):
            return self._sized(param, private=True)
        return self._leaf(param.name, param.type, (), param)

    def _sized(self, param: Param, *, private: bool) -> Input:
        if param.type.kind == "list":
            size = self.terms.fresh(f"size_{param.name}", whole=True)
            other = size
            if private and self.program.adjacent == "any":
                other = self.terms.fresh(f"size2_{param.name}", whole=True)
            if private and self.program.adjacent == "addremove":
                other = size + number(1 if self.direction == "more" else -1)
                place = self.ghosts["#place"]
                assert isinstance(place, PairedNumber)
                self.require(place.one, ">=")
                self.require(place.one - size, "<=" if self.direction == "more" else "<")
            self.require(size, ">=")
            self.require(other, ">=")
            self.sizes[param.name] = PairedNumber(size, other, True)
            if private and self.program.adjacent in ("one", "moves"):
                self._place_inside(param, size)
        elif private and self.program.adjacent in ("addremove", "moves"):
            raise NoProofRule("this adjacency is covered for lists only")
        return Input(param.name, param.type)

    def _place_inside(self, param: Param, size: Poly) -> None:
        """Two places that move are in the list; where at most one element changes, its place is (if there is any)."""
        for word in {"one": ("#place",), "moves": ("#up", "#down")}[self.program.adjacent or ""]:
            place = self.ghosts[f"{word}_{param.name}"]
            assert isinstance(place, PairedNumber)
            self.require(place.one, ">=")
            inside = self._says(place.one - size, "<")
            some = self.terms.true if word != "#place" else self._says(size, ">")
            self.facts.require(z3.Implies(some, inside))

    # ---- elements

    def read(self, value: Input, index: PairedNumber) -> Value:
        """The element of an input at an index."""
        inner = value.type
        if inner.kind in {"list", "bits"}:
            found = inner.items[0] if inner.kind == "list" else Type("range", _BIT)
        else:
            place = index.one.constant
            if place is None or place != index.two.constant or not 0 <= place < len(inner.items):
                raise NoProofRule("a part of a tuple is read by a number")
            found = inner.items[int(place)]
        at = (*value.at, index)
        if found.kind in ("list", "bits", "tuple"):
            if found.kind == "list":
                raise NoProofRule("lists of lists are not covered")
            return Input(value.name, found, at)
        param = next(param for param in self.program.params if param.name == value.name)
        return self._leaf(value.name, found, at, param)

    def size(self, value: Input) -> PairedNumber:
        """How many elements an input has."""
        if value.type.kind == "list":
            return self.sizes[value.name]
        if value.type.kind == "tuple":
            return PairedNumber(number(len(value.type.items)), number(len(value.type.items)), True)
        found: PairedNumber = self.bound(value.type.args[0])
        return found

    def _function(self, name: str, arity: int, *, whole: bool) -> Any:
        key = f"{name}/{arity}{'' if whole else 'r'}"  # parts of a tuple may be of different kinds
        if key not in self._functions:
            self._functions[key] = self.terms.function(key, arity, whole=whole)
        return self._functions[key]

    def _at(self, name: str, places: list[Any], *, whole: bool) -> Any:
        if not places:
            key = f"{name}/0"
            if key not in self._functions:
                make = z3.Int if whole else z3.Real
                self._functions[key] = make(key, self.terms.context)
            return self._functions[key]
        return self._function(name, len(places), whole=whole)(*places)

    def _leaf(self, name: str, kind: Type, at: tuple[PairedNumber, ...], param: Param) -> Value:
        """A number or truth of an input, in both runs, with the facts of its type and of the adjacency."""
        if kind.kind == "bool":
            return self._truth(name, kind, at, param)
        whole = kind.kind in ("int", "range")
        first = [self.terms.term(index.one, whole=True) for index in at]
        second = [self.terms.term(index.two, whole=True) for index in at]
        one = self._typed(name, kind, first, whole=whole)
        if not param.private:
            return PairedNumber(one, self._typed(name, kind, second, whole=whole), whole)
        return PairedNumber(one, self._moved(name, kind, second, param, whole=whole), whole)

    def _truth(self, name: str, kind: Type, at: tuple[PairedNumber, ...], param: Param) -> Boolean:
        numbers = self._leaf(name, Type("range", _BIT), at, param)
        assert isinstance(numbers, PairedNumber)
        assert kind.kind == "bool"
        return Boolean(self._says(numbers.one - number(1), "="), self._says(numbers.two - number(1), "="))

    def _typed(self, name: str, kind: Type, places: list[Any], *, whole: bool) -> Poly:
        """An element of the first input, within its type."""
        found = self.terms.atom(self._at(name, places, whole=whole))
        self._within(found, kind)
        return found

    def _within(self, found: Poly, kind: Type) -> None:
        if kind.args and self._once("within", found, kind.args):
            ends = [self.bound(end) for end in kind.args]
            if kind.kind == "range" and not all(end.whole for end in ends):
                raise NoProofRule("the ends of a range are whole numbers")
            low, high = (end.one for end in ends)
            some = self._says(high - low, ">=")  # a list of such elements may be empty: then nothing is known
            inside = z3.And(self._says(found - low, ">="), self._says(found - high, "<="))
            self._define(found, z3.Implies(some, inside))

    def _once(self, *key: object) -> bool:
        fresh = key not in self._told
        self._told.add(key)
        return fresh

    def _moved(self, name: str, kind: Type, places: list[Any], param: Param, *, whole: bool) -> Poly:
        """An element of the second input."""
        word = self.program.adjacent
        if word == "addremove":
            return self._shifted_list(name, kind, places, whole=whole)
        if word == "any":
            return self._typed(f"{name}.other", kind, places, whole=whole)
        one = self._typed(name, kind, places, whole=whole)
        if word == "moves":
            up, down = (self._place(param, ghost) for ghost in ("#up", "#down"))
            self.facts.define(up, up != down)
            yes, no = z3.IntVal(1, self.terms.context), z3.IntVal(0, self.terms.context)
            two = one + self.terms.atom(z3.If(places[0] == up, yes, z3.If(places[0] == down, -yes, no)))
            self._within(two, kind)
            return two
        inner = places if word != "one" or param.type.kind != "list" else places[1:]
        change = self.terms.atom(self._at(f"{name}.change", inner, whole=whole))
        element = param.type.items[0] if param.type.kind == "list" else param.type
        self._bounded(change, kind, free=element.kind == "tuple")
        conditions = []
        if word == "one" and param.type.kind == "list":
            conditions.append(places[0] == self._place(param, "#place"))
        if param.name in self._touched:
            conditions.append(self._touched[param.name])
        two = one + (self.terms.choose(self.terms.all_of(conditions), change, number(0)) if conditions else change)
        self._within(two, kind)
        return two

    def _place(self, param: Param, ghost: str) -> Any:
        found = self.ghosts[f"{ghost}_{param.name}"]
        assert isinstance(found, PairedNumber)
        return self.terms.term(found.one, whole=True)

    def _bounded(self, change: Poly, kind: Type, *, free: bool) -> None:
        """How far an element may move: by 1 where its type has no ends; in one direction for `inc`. The language says
        so of numbers; of numbers inside of a tuple it does not, and nothing is assumed.
        """
        if not self._once("bounded", change):
            return
        if not kind.args and not free:
            self._define(change, self._says(change - number(1), "<="), self._says(change + number(1), ">="))
        if self.program.adjacent in ("inc", "dec"):
            self._define(change, self._says(change, ">=" if self.direction == "up" else "<="))

    def _shifted_list(self, name: str, kind: Type, places: list[Any], *, whole: bool) -> Poly:
        """One element more or less, at `#place`: what comes after it stands one further, or one nearer."""
        place = self._place(next(param for param in self.private), "#place")
        first, inner = places[0], places[1:]
        here = self._typed(name, kind, places, whole=whole)
        if self.direction == "less":
            later = self._typed(name, kind, [first + 1, *inner], whole=whole)
            return self.terms.choose(first < place, here, later)
        new = self._typed(f"{name}.new", kind, inner, whole=whole)
        before = self._typed(name, kind, [first - 1, *inner], whole=whole)
        return self.terms.choose(first < place, here, self.terms.choose(first == place, new, before))
