"""Verify, kernel: expressions of one run. Comes in: expressions and a run's variables. Goes out: symbols, and
conditions under which nothing fails: no division by zero, no index outside, no bit lists of different lengths.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import z3

from sfumato.verify.kernel import forms
from sfumato.verify.kernel.arithmetic import COMPARED, as_real, is_number, remainder, times
from sfumato.verify.kernel.symbols import Bit, BitList, Chain, Given, Row, SolverNumber, SolverTruth, Symbol, World
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.tree import (
    Binary,
    Expr,
    FunctionCall,
    Index,
    Num,
    Param,
    Program,
    SequenceLiteral,
    Type,
    Unary,
    Var,
    names,
)
from sfumato.verify.tree import TruthLiteral as Said


@dataclass(frozen=True, slots=True)
class Open:
    """A condition: it holds if the goal follows from what is assumed."""

    kind: str
    label: str
    at: int
    assumed: tuple[Any, ...]
    goal: Any
    pairs: tuple[tuple[Symbol, Symbol], ...] = ()


@dataclass(slots=True)
class SingleRun:
    """Where one run is: its variables, its inputs as they came, the last value of each draw, and what is to be done."""

    side: int
    store: dict[str, Symbol]
    inputs: dict[str, Symbol]
    draws: dict[int, Symbol]
    todo: tuple[Any, ...]
    noise: Symbol | None = None
    other: SingleRun | None = None

    def copy(self) -> SingleRun:
        """The same, to go on from here in several ways."""
        return SingleRun(self.side, dict(self.store), self.inputs, dict(self.draws), self.todo)


@dataclass(slots=True)
class Reader:
    """Evaluates expressions. `known` is what is known on the way to here; `conditions` collects what must hold."""

    world: World
    known: list[Any]
    conditions: list[Open]
    inside: list[Any] = field(default_factory=list)

    def require(self, kind: str, label: str, at: int, goal: Any, pairs: Any = ()) -> None:
        """Add a condition; that nothing fails is left out where it is plain."""
        if not z3.is_true(goal) or kind != "safe":
            assumed = (*self.world.facts, *self.known, *self.inside)
            self.conditions.append(Open(kind, label, at, assumed, goal, tuple(pairs)))

    # ---- parameters

    def parameters(self, program: Program, side: int, *, shared: bool) -> dict[str, Symbol]:
        """The inputs of a run; what is shared has the same names in both."""
        eps, delta = z3.Real("eps", self.world.context), z3.Real("delta", self.world.context)
        found: dict[str, Symbol] = {"eps": SolverNumber(eps), "delta": SolverNumber(delta)}
        self.world.facts.require(eps > 0, delta >= 0, delta < 1)
        run = SingleRun(side, found, found, {}, ())
        for param in _by_need(program):
            own = param.private and not shared
            found[param.name] = self.given(param.name, side if own else 0, param.type, (), run)
        for node in program.requires:
            self.world.facts.require(self.truth(node, run))
        return found

    def given(self, name: str, side: int, kind: Type, at: tuple[Any, ...], run: SingleRun) -> Symbol:
        """An input, or an element of one."""
        world = self.world
        label = f"{name}@{side}" if side else name

        def term(sort: Any) -> Any:
            return world.function(label, len(at), sort)(*at) if at else z3.Const(label, sort)

        match kind.kind:
            case "bool":
                return SolverTruth(term(z3.BoolSort(world.context)))
            case "int" | "range":
                if [end.value for end in kind.args if isinstance(end, Num)] == [0, 1]:
                    return world.bit_of(term(z3.BoolSort(world.context)))
                whole = term(z3.IntSort(world.context))
                self._between(kind, whole, run, (name, side, at))
                return SolverNumber(whole)
            case "real" | "interval":
                real = term(z3.RealSort(world.context))
                self._between(kind, real, run, (name, side, at))
                return SolverNumber(real)
            case "bits":
                size = world.number(self.value(kind.args[0], run))
                if not size.is_int():
                    raise NoProofRule("a length that is not a whole number")
                self._fact(size, size >= 0, name, side, at)
                key = f"{label}{''.join(f'[{z3.simplify(index).sexpr()}]' for index in at)}"
                world.words.setdefault(key, term(world.word_sort))
                if at:
                    world.origins.setdefault(key, (label, at))
                return BitList(forms.unknown(key), size)
            case "tuple":
                return Row(
                    tuple(self.given(f"{name}.{place}", side, item, at, run) for place, item in enumerate(kind.items))
                )
        return Given(name, side, kind, at)

    def _between(self, kind: Type, term: Any, run: SingleRun, where: tuple[str, int, tuple[Any, ...]]) -> None:
        if kind.args:
            low, high = (self.world.number(self.value(end, run)) for end in kind.args)
            self._fact(term, z3.And(low <= term, term <= high), *where)

    def _fact(self, term: Any, fact: Any, name: str, side: int, at: tuple[Any, ...]) -> None:
        """State what is known of an input; of an element only where there is one: a type may have no values at all."""
        there = []
        for depth, index in enumerate(at):
            there += [index >= 0, index < self._length(name.partition(".")[0], side, at[:depth])]
        self.world.facts.define(term, z3.Implies(z3.And(*there), fact) if there else fact)

    def _length(self, name: str, side: int, at: tuple[Any, ...]) -> Any:
        integer = z3.IntSort(self.world.context)
        label = f"size {name}@{side}" if side else f"size {name}"
        found = self.world.function(label, len(at), integer)(*at) if at else z3.Const(label, integer)
        self.world.facts.define(found, found >= 0)
        return found

    # ---- expressions

    def truth(self, node: Expr, run: SingleRun) -> Any:
        """A test."""
        found = self.value(node, run)
        if not isinstance(found, SolverTruth):
            raise NoProofRule("a truth is expected")
        return found.term

    def number(self, node: Expr, run: SingleRun) -> Any:
        """A number's term."""
        return self.world.number(self.value(node, run))

    def value(self, node: Expr, run: SingleRun) -> Symbol:
        """Any expression."""
        match node:
            case Num(value=exact):
                return SolverNumber(self.world.value(exact))
            case Said(value=truth):
                return SolverTruth(self.world.true if truth else self.world.false)
            case Var(name=name):
                return self._variable(name, run)
            case SequenceLiteral(items=items):
                return Row(tuple(self.value(item, run) for item in items))
            case Unary(op="!", arg=arg):
                return SolverTruth(z3.Not(self.truth(arg, run)))
            case Unary(arg=arg):
                return SolverNumber(-self.number(arg, run))
            case Index(base=base, index=index):
                return self._element(self.value(base, run), self.number(index, run), run, node.at)
            case FunctionCall():
                return self._call(node, run)
            case Binary():
                return self._binary(node, run)
        raise NoProofRule("an expression of this kind")

    def _variable(self, name: str, run: SingleRun) -> Symbol:
        found: Symbol | None
        if name == "#noise":
            found = run.noise
        elif name.startswith("#draw"):
            found = run.draws.get(int(name.removeprefix("#draw")))
        elif run.other is not None and name in run.inputs:  # in a coupling a parameter is what came in
            found = run.inputs[name]
        else:
            found = run.store.get(name)
        if found is None:
            raise NoProofRule(f'"{name}" may have no value')
        return found

    def _call(self, node: FunctionCall, run: SingleRun) -> Symbol:
        if node.name == "#two":
            if run.other is None:
                raise NoProofRule("the other run is only known to couplings")
            return self.value(node.args[0], run.other)
        if node.name == "#if":
            test, first, second = node.args
            return self._choice(self.truth(test, run), self.value(first, run), self.value(second, run))
        values = [self.value(arg, run) for arg in node.args]
        if node.name == "size":
            return SolverNumber(self.size(values[0]))
        terms = [self.world.number(value) for value in values]
        match node.name:
            case "abs":
                return SolverNumber(z3.If(terms[0] >= 0, terms[0], -terms[0]))
            case "min":
                return SolverNumber(z3.If(terms[0] <= terms[1], terms[0], terms[1]))
            case "max":
                return SolverNumber(z3.If(terms[0] <= terms[1], terms[1], terms[0]))
            case "clamp":
                above = z3.If(terms[0] <= terms[1], terms[1], terms[0])
                return SolverNumber(z3.If(above <= terms[2], above, terms[2]))
            case "exp" | "ln" | "sqrt":
                if node.name != "exp":
                    least = terms[0] > 0 if node.name == "ln" else terms[0] >= 0
                    self.require("safe", f"{node.name} of an allowed number", node.at, z3.simplify(least))
                real = z3.RealSort(self.world.context)
                argument = z3.ToReal(terms[0]) if terms[0].is_int() else terms[0]
                found = z3.Function(node.name, real, real)(argument)
                if node.name == "exp":
                    self.world.facts.define(found, found > 0)
                return SolverNumber(found)
        raise NoProofRule(f"the function {node.name}")

    def _choice(self, test: Any, first: Symbol, second: Symbol) -> Symbol:
        if isinstance(first, BitList) and isinstance(second, BitList):
            raise NoProofRule("a choice between bit lists")
        return SolverNumber(z3.If(test, self.world.number(first), self.world.number(second)))

    def size(self, value: Symbol) -> Any:
        """The length of a list."""
        match value:
            case Row(items=items):
                return self.world.value(len(items))
            case BitList(size=size):
                return size
            case Chain(size=size, added=added):
                for whole, part in added:
                    size = size + (self.size(part) if whole else 1)
                return z3.simplify(size)
            case Given(name=name, run=side, at=at):
                return self._length(name, side, at)
        raise NoProofRule("a list is expected")

    def _element(self, base: Symbol, index: Any, run: SingleRun, at: int) -> Symbol:
        if not index.is_int():
            raise NoProofRule("an index that is not known to be whole")
        inside = z3.simplify(z3.And(index >= 0, index < self.size(base)))
        self.require("safe", "the index lies inside", at, inside)
        match base:
            case Row(items=items):
                place = z3.simplify(index)
                if not z3.is_int_value(place):
                    raise NoProofRule("an element at an unknown place")
                number = int(place.as_long())
                if not 0 <= number < len(items):
                    raise NoProofRule("an index outside")
                return items[number]
            case BitList():
                return self.world.bit_at(base, index)
            case Given(name=name, run=side, type=kind, at=before):
                return self.given(name, side, kind.items[0], (*before, z3.simplify(index)), run)
        raise NoProofRule("an element of such a list")

    # ---- operators

    def _binary(self, node: Binary, run: SingleRun) -> Symbol:
        op = node.op
        if op in ("&&", "||"):
            left = self.truth(node.left, run)
            self.inside.append(left if op == "&&" else z3.Not(left))
            right = self.truth(node.right, run)
            self.inside.pop()
            return SolverTruth(z3.And(left, right) if op == "&&" else z3.Or(left, right))
        if op == "mod" and (parity := self._parity(node, run)) is not None:
            return parity
        left_value, right_value = self.value(node.left, run), self.value(node.right, run)
        if op in ("=", "!="):
            same = self._same(left_value, right_value, node.at)
            return SolverTruth(same if op == "=" else z3.simplify(z3.Not(same)))
        if op == "++":
            return self.joined(left_value, right_value)
        if op in ("xor", "and", "or") or (op in ("+", "-") and isinstance(left_value, BitList)):
            return self._bitwise(op, left_value, right_value, node.at)
        if (
            op == "-"
            and isinstance(right_value, Bit)
            and isinstance(left_value, SolverNumber)
            and is_number(left_value.term, 1)
        ):
            return Bit(forms.xor(right_value.form, forms.ONE))
        return self._arithmetic(node, self.world.number(left_value), self.world.number(right_value))

    def _same(self, left: Symbol, right: Symbol, at: int) -> Any:
        """Whether two values are equal, exactly: a test is not false because its lists look different."""
        if isinstance(left, BitList) and isinstance(right, Row):
            right = self._as_bits(right, at)
        elif isinstance(left, Row) and isinstance(right, BitList):
            left = self._as_bits(left, at)
        numbers, lists = (SolverNumber, Bit), (Row, Chain, Given)
        if isinstance(left, lists) or isinstance(right, lists):
            raise NoProofRule("a comparison of lists")
        if isinstance(left, numbers) == isinstance(right, numbers) and isinstance(left, BitList) == isinstance(
            right, BitList
        ):
            return self.world.equal(left, right)[0]
        return self.world.false

    def _parity(self, node: Binary, run: SingleRun) -> Symbol | None:
        """A sum of bits modulo 2 is their exclusive or."""
        if not (isinstance(node.right, Num) and node.right.value == 2):
            return None
        parts, found = [node.left], forms.ZERO
        while parts:
            part = parts.pop()
            if isinstance(part, Binary) and part.op in ("+", "-"):
                parts += [part.left, part.right]
                continue
            value = self.value(part, run)
            if isinstance(value, SolverNumber) and z3.is_int_value(value.term):
                value = Bit(forms.ONE if value.term.as_long() % 2 else forms.ZERO)
            if not isinstance(value, Bit):
                return None
            found = forms.xor(found, value.form)
        return Bit(found)

    def _arithmetic(self, node: Binary, left: Any, right: Any) -> Symbol:
        match node.op:
            case "+":
                return SolverNumber(z3.simplify(left + right))
            case "-":
                return SolverNumber(z3.simplify(left - right))
            case "*":
                return SolverNumber(times(left, right))
            case "/":
                self.require("safe", "no division by zero", node.at, z3.simplify(right != 0))
                return SolverNumber(z3.simplify(as_real(left) / as_real(right)))
            case "mod":
                self.require("safe", "the modulus is positive", node.at, z3.simplify(right > 0))
                if not (left.is_int() and right.is_int()):
                    raise NoProofRule("a remainder of numbers that are not whole")
                return SolverNumber(remainder(self.world, [*self.known, *self.inside], left, right))
            case "^":
                if not z3.is_int_value(right) or not 0 <= right.as_long() <= 8:
                    raise NoProofRule("a power")
                found = self.world.value(1)
                for _ in range(right.as_long()):
                    found = times(found, left)
                return SolverNumber(found)
        return SolverTruth(z3.simplify(COMPARED[node.op](left, right)))

    def _bitwise(self, op: str, left: Symbol, right: Symbol, at: int) -> Symbol:
        if isinstance(left, BitList | Row) and isinstance(right, BitList | Row):
            one, two = self._as_bits(left, at), self._as_bits(right, at)
            self.require("safe", "bit lists of the same length", at, z3.simplify(one.size == two.size))
            if op in ("+", "-"):
                return BitList(forms.plus(one.form, two.form, 1 if op == "+" else -1), one.size)
            return BitList(forms.BITWISE[op](one.form, two.form), one.size)
        if op in ("+", "-"):
            raise NoProofRule("a sum of a bit list and something else")
        return Bit(forms.BITWISE[op](self._as_bit(left, at).form, self._as_bit(right, at).form))

    def _as_bit(self, value: Symbol, at: int) -> Bit:
        if isinstance(value, Bit):
            return value
        term = self.world.number(value)
        self.require("safe", "a bit is 0 or 1", at, z3.simplify(z3.Or(term == 0, term == 1)))
        if z3.is_int_value(term):
            return Bit(forms.ONE if term.as_long() == 1 else forms.ZERO)
        return self.world.bit_of(term == 1)

    def _as_bits(self, value: Symbol, at: int) -> BitList:
        if isinstance(value, BitList):
            return value
        assert isinstance(value, Row)
        items = [self._as_bit(item, at).form for item in value.items]
        size = self.world.value(len(items))
        if all(item == forms.ZERO for item in items):
            return BitList(forms.ZERO, size)
        if items and all(item == forms.ONE for item in items):
            return BitList(forms.ONE, size)
        name = f"<{', '.join(forms.say(item) for item in items)}>"
        if name not in self.world.words:
            self.world.words[name] = z3.Const(name, self.world.word_sort)
        return BitList(forms.unknown(name), size)

    def joined(self, left: Symbol, right: Symbol) -> Symbol:
        """left ++ right."""
        if isinstance(left, Row) and isinstance(right, Row):
            return Row((*left.items, *right.items))
        if isinstance(left, Row) and not left.items:
            return right
        base = left if isinstance(left, Chain) else Chain(self.world.term(left), self.size(left))
        if isinstance(right, Row):
            return Chain(base.base, base.size, (*base.added, *((False, item) for item in right.items)))
        return Chain(base.base, base.size, (*base.added, (True, right)))


def _by_need(program: Program) -> list[Param]:
    """Parameters, each after those that its type names."""
    waiting, found = list(program.params), []
    while waiting:
        ahead = {param.name for param in waiting}
        ready = [param for param in waiting if not {name for end in _ends(param.type) for name in names(end)} & ahead]
        if not ready:
            raise NoProofRule("types that name each other")
        found += ready
        waiting = [param for param in waiting if param not in ready]
    return found


def _ends(kind: Type) -> tuple[Expr, ...]:
    return (*kind.args, *(end for item in kind.items for end in _ends(item)))
