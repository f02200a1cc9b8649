"""Verify, kernel: values of one run as terms. Comes in: types and names. Goes out: unknown values, equalities between
values, and what a solver knows of them.

Two runs are followed each for itself; what they share (public inputs, noise that a coupling identifies) are the same
terms. Bit lists are normal forms (forms.py) of any length; lists that grow in loops are terms of which only equality is
known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import z3

from sfumato.verify.kernel import forms
from sfumato.verify.kernel.facts import ProofFacts
from sfumato.verify.kernel.forms import Form
from sfumato.verify.kernel.terms import STEPS
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.tree import Type


@dataclass(frozen=True, slots=True)
class SolverNumber:
    """A number that is a term of the solver."""

    term: Any


@dataclass(frozen=True, slots=True)
class Bit:
    """A number that is 0 or 1."""

    form: Form


@dataclass(frozen=True, slots=True)
class SolverTruth:
    """true or false."""

    term: Any


@dataclass(frozen=True, slots=True)
class BitList:
    """A bit list, and its length."""

    form: Form
    size: Any


@dataclass(frozen=True, slots=True)
class Row:
    """A list whose elements are known one by one."""

    items: tuple[Symbol, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """A list of unknown length, and what was joined to its end since: single elements, or whole lists."""

    base: Any
    size: Any
    added: tuple[tuple[bool, Symbol], ...] = ()
    """(whether it is a list, value)."""


@dataclass(frozen=True, slots=True)
class Given:
    """A list that came in, or a list inside of one: read by further indices."""

    name: str
    run: int
    type: Type
    at: tuple[Any, ...] = ()


Symbol = SolverNumber | Bit | SolverTruth | BitList | Row | Chain | Given


@dataclass(slots=True)
class World:
    """One context of the solver, with everything that was named in it."""

    context: Any = field(default_factory=z3.Context)
    facts: ProofFacts = field(default_factory=ProofFacts)
    words: dict[object, Any] = field(default_factory=dict)
    bits: dict[object, Any] = field(default_factory=dict)
    composed: dict[Form, Any] = field(default_factory=dict)
    origins: dict[object, tuple[Any, Any]] = field(default_factory=dict)
    """Where the name of an element comes from: (list, index)."""
    count: int = 0
    running: Any = None
    added: int = 0
    word_sort: Any = None
    list_sort: Any = None

    def __post_init__(self) -> None:
        self.word_sort = z3.DeclareSort("Word", self.context)
        self.list_sort = z3.DeclareSort("List", self.context)

    # ---- numbers and truths

    def value(self, number: Fraction | int) -> Any:
        """A number as a term: whole ones are integers."""
        exact = Fraction(number)
        if exact.denominator == 1:
            return z3.IntVal(exact.numerator, self.context)
        return z3.RealVal(str(exact), self.context)

    @property
    def true(self) -> Any:
        """true."""
        return z3.BoolVal(True, self.context)

    @property
    def false(self) -> Any:
        """false."""
        return z3.BoolVal(False, self.context)

    def name(self, word: str) -> str:
        """A new name."""
        self.count += 1
        return f"{word}!{self.count}"

    def integer(self, word: str) -> Any:
        """A new unknown whole number, made on a path."""
        return self._bound(z3.Int(self.name(word), self.context))

    def real(self, word: str) -> Any:
        """A new unknown number, made on a path."""
        return self._bound(z3.Real(self.name(word), self.context))

    def truth(self, word: str) -> Any:
        """A new unknown truth, made on a path."""
        return self._bound(z3.Bool(self.name(word), self.context))

    def _bound(self, unknown: Any) -> Any:
        self.facts.bind(unknown)
        return unknown

    def function(self, word: str, arguments: int, sort: Any) -> Any:
        """An unknown function of whole numbers, always the same for the same word."""
        return z3.Function(word, *[z3.IntSort(self.context)] * arguments, sort)

    # ---- bits and bit lists

    def bit(self, word: str) -> Bit:
        """A new unknown bit, made on a path."""
        name = self.name(word)
        self.bits[name] = self._bound(z3.Bool(name, self.context))
        return Bit(forms.unknown(name))

    def bit_of(self, truth: Any) -> Bit:
        """The bit that is 1 where a term holds."""
        name = f"[{z3.simplify(truth).sexpr()}]"
        self.bits.setdefault(name, truth)
        return Bit(forms.unknown(name))

    def bit_list(self, word: str, size: Any) -> BitList:
        """A new unknown bit list, made on a path."""
        name = self.name(word)
        self.words[name] = self._bound(z3.Const(name, self.word_sort))
        return BitList(forms.unknown(name), size)

    def word(self, form: Form) -> Any:
        """A term for a form: the same for the same form."""
        if len(form) == 1:
            (product,) = form
            if len(product) == 1:
                ((kind, inside),) = product
                if kind == "name" and inside in self.words:
                    return self.words[inside]
        if form not in self.composed:
            self.composed[form] = z3.Const(self.name("word"), self.word_sort)
        return self.composed[form]

    def holds(self, form: Form) -> Any:
        """The truth that a bit is 1."""
        found = self.false
        for product in sorted(form, key=lambda product: sorted(map(str, product))):
            part = self.true
            for _, name in sorted(product, key=str):
                part = self.bits[name] if z3.is_true(part) else z3.And(part, self.bits[name])
            found = part if z3.is_false(found) else z3.Xor(found, part)
        return found

    def bit_at(self, value: BitList, index: Any) -> Bit:
        """One bit of a bit list: of an exclusive or, the exclusive or of bits."""
        where = z3.simplify(index)
        read = z3.Function("bit", self.word_sort, z3.IntSort(self.context), z3.BoolSort(self.context))
        found: Form = forms.ZERO
        for product in value.form:
            part: Form = forms.ONE
            for atom in product:
                whole = self.word(frozenset({frozenset({atom})}))
                name = f"{whole.sexpr()}[{where.sexpr()}]"
                self.bits.setdefault(name, read(whole, where))
                self.origins.setdefault(name, (atom, where))
                part = forms.both(part, forms.unknown(name))
            found = forms.xor(found, part)
        return Bit(found)

    def number(self, value: Symbol) -> Any:
        """The term of a number."""
        if isinstance(value, SolverNumber):
            return value.term
        if isinstance(value, Bit):
            if value.form in (forms.ZERO, forms.ONE):
                return self.value(int(value.form == forms.ONE))
            return z3.If(self.holds(value.form), self.value(1), self.value(0))
        raise NoProofRule("a number is expected")

    # ---- lists

    def chain(self, value: Symbol) -> Any:
        """The term of a list."""
        sort = self.list_sort
        match value:
            case Row(items=items):
                term = z3.Const("empty", sort)
                for item in items:
                    term = self._joined(term, (False, item))
                return term
            case Chain(base=base, added=added):
                term = base
                for part in added:
                    term = self._joined(term, part)
                return term
            case Given(name=name, run=run, at=at):
                return (
                    self.function(f"list {name}@{run}", len(at), sort)(*at) if at else z3.Const(f"{name}@{run}", sort)
                )
        raise NoProofRule("a list is expected")

    def _joined(self, term: Any, part: tuple[bool, Symbol]) -> Any:
        whole, value = part
        inside = self.term(value)
        word = f"{'join' if whole else 'add'} {inside.sort()}"
        return z3.Function(word, self.list_sort, inside.sort(), self.list_sort)(term, inside)

    def term(self, value: Symbol) -> Any:
        """Any value as a term; equal terms of the same kind are equal values."""
        match value:
            case SolverNumber() | Bit():
                return self.number(value)
            case SolverTruth(term=term):
                return term
            case BitList(form=form, size=size):
                made = z3.Function("bits", self.word_sort, z3.IntSort(self.context), self.list_sort)
                return made(self.word(form), size)
        return self.chain(value)

    # ---- the solver

    def follows(self, assumed: Sequence[Any], goal: Any) -> bool:
        """Whether a goal follows, as far as the solver can tell within its steps."""
        if z3.is_true(goal):
            return True
        solver = self.solver(assumed)
        solver.add(z3.Not(goal))
        return bool(solver.check() == z3.unsat)

    def proves(self, known: Sequence[Any], goal: Any) -> bool:
        """Whether a goal follows from all facts, and what is known besides."""
        return self.follows((*self.facts, *known), goal)

    def is_possible(self, known: Sequence[Any]) -> bool:
        """Whether the solver finds no contradiction between all facts and what is known besides."""
        if self.running is None:
            self.running = self.solver(())
        self.running.add(*self.facts[self.added :])
        self.added = len(self.facts)
        self.running.push()
        self.running.add(*known)
        found = self.running.check()
        self.running.pop()
        return bool(found != z3.unsat)

    def solver(self, assumed: Sequence[Any]) -> Any:
        """A solver with a fixed seed and a limit in steps."""
        solver = z3.Solver(ctx=self.context)
        solver.set("random_seed", 1)
        solver.set("rlimit", STEPS // 8)
        solver.add(*assumed)
        return solver

    # ---- equality

    def equal(self, one: Symbol, two: Symbol) -> tuple[Any, list[tuple[Symbol, Symbol]]]:
        """Whether two values are equal, and the parts of them that are not yet seen to be."""
        match one, two:
            case (Bit(form=left), Bit(form=right)):
                same = self.true if left == right else self.holds(left) == self.holds(right)
            case (SolverNumber() | Bit(), SolverNumber() | Bit()):
                left, right = self.number(one), self.number(two)
                same = z3.simplify(left == right)
            case (SolverTruth(term=left), SolverTruth(term=right)):
                same = self.true if left.eq(right) else left == right
            case (BitList(), BitList()):
                same = self.true if one.form == two.form else self.word(one.form) == self.word(two.form)
                same = z3.And(same, z3.simplify(one.size == two.size))
            case (Row(items=left), Row(items=right)):
                return self._all(zip(left, right, strict=True)) if len(left) == len(right) else (self.false, [])
            case (Chain(added=left), Chain(added=right)) if [k for k, _ in left] == [k for k, _ in right]:
                goal, pairs = self._all((a, b) for (_, a), (_, b) in zip(left, right, strict=True))
                return z3.simplify(z3.And(goal, one.base == two.base)), pairs
            case (Row() | Chain() | Given(), Row() | Chain() | Given()):
                same = self.chain(one) == self.chain(two)
            case _:
                same = self.false
        same = z3.simplify(same)
        return same, [] if z3.is_true(same) else [(one, two)]

    def _all(self, pairs: Any) -> tuple[Any, list[tuple[Symbol, Symbol]]]:
        goals, left = [self.true], []
        for one, two in pairs:
            goal, parts = self.equal(one, two)
            goals.append(goal)
            left += parts
        return z3.simplify(z3.And(*goals)), left
