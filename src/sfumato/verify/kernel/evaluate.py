"""Verify, kernel: expressions in two runs at once. Comes in: an expression and a state. Goes out: its value in both
runs.

Whatever could fail (a division by zero, an index outside of its list) becomes a condition, for each run on the way
that this run takes. Expressions of proofs are evaluated here too: `#shift(e)` is how far e moves from the first run
to the second, `#two(e)` what it is in the second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import z3

from sfumato.verify.kernel.facts import ProofFacts
from sfumato.verify.kernel.functions import Functions
from sfumato.verify.kernel.inputs import PairedInputs
from sfumato.verify.kernel.lists import element_of, number_of_bits
from sfumato.verify.kernel.polynomial import Poly, common, inverse, number, single
from sfumato.verify.kernel.terms import SolverTerms
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.kernel.values import Boolean, Input, PairedList, PairedNumber, Stream, Value
from sfumato.verify.tree import Binary, Expr, FunctionCall, Index, Num, Program, TruthLiteral, Unary, Var
from sfumato.verify.tree import SequenceLiteral as Listed

_LONGEST = 10_000
"""Elements of a list that is followed one by one."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What has to follow from what: kind and label for people, a place in the text, and two parts of a formula."""

    kind: str
    label: str
    at: int
    assumed: tuple[Any, ...] = field(repr=False)
    goal: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class PathStep:
    """A step that adds to what is known on a path: whatever was possible before it is possible after it."""

    label: str
    at: int
    before: tuple[Any, ...] = field(repr=False)
    after: tuple[Any, ...] = field(repr=False)


@dataclass(slots=True)
class State:
    """Where two runs are: variables, what was spent at each draw, what is known on this way, and on each run's own
    way.
    """

    values: dict[str, Value]
    spent: dict[int, Poly]
    known: list[Any]
    own: tuple[list[Any], list[Any]] = field(default_factory=lambda: ([], []))

    def copy(self) -> State:
        """The same, to be changed apart."""
        return State(dict(self.values), dict(self.spent), list(self.known), (list(self.own[0]), list(self.own[1])))


def _unsure(_: int) -> bool:
    """No atom is known to be positive."""
    return False


class Evaluator:
    """Expressions of one program in two runs."""

    def __init__(self, program: Program, direction: str) -> None:
        self.program = program
        self.terms = SolverTerms()
        self.facts = ProofFacts()
        self.steps: list[PathStep] = []
        self.conditions: list[Condition] = []
        self.ghosts: dict[str, Value] = {}
        self.inputs = PairedInputs(self.terms, program, direction, self.facts)
        self.inputs.bound = self.bound
        self.functions = Functions(self.terms, self.facts)
        self._signs: dict[tuple[int, ...], bool] = {}
        self._alive: list[list[Any]] = []
        self._calls: dict[tuple[str, ...], PairedNumber] = {}
        self.proving = False  # whether an expression of a proof is evaluated

    def bound(self, node: Expr) -> PairedNumber:
        """A number of the header, which is public."""
        return self.number(node, State(dict(self.inputs.values), {}, []))

    # ---- unknowns of a path

    def unknown(self, name: str, *, whole: bool) -> Poly:
        """A new unknown number that is made on a path: what is learned about it holds on a path only."""
        found = self.terms.fresh(name, whole=whole)
        self.facts.bind(self.terms.term(found, whole=whole))
        return found

    def unknown_truth(self, name: str) -> Any:
        """A new unknown truth that is made on a path."""
        found = self.terms.fresh_truth(name)
        self.facts.bind(found)
        return found

    def learn(self, label: str, at: int, state: State, *facts: Any) -> None:
        """State what holds on the path of a state, and note the step: it must not make the path impossible."""
        before = (*self.facts, *state.known)
        self.facts.learn([*state.known, *state.own[0], *state.own[1]], *facts)
        self.steps.append(PathStep(label, at, before, (*before, *facts)))

    def says(self, value: Poly, sign: str) -> Any:
        """`value sign 0`, whatever is known of its atoms."""
        return self.terms.compare(value, sign, _unsure)

    # ---- conditions

    def require(self, kind: str, label: str, *, at: int, state: State, goal: Any, more: tuple[Any, ...] = ()) -> None:
        """Note a condition: the goal follows from what is known here."""
        if not z3.is_true(goal):
            self.conditions.append(Condition(kind, label, at, (*self.facts, *state.known, *more), goal))

    def safe(self, label: str, at: int, state: State, goals: tuple[Any, Any]) -> None:
        """Note for each run that nothing fails, on the way that this run takes."""
        for run in (0, 1):
            if run == 0 or not goals[1].eq(goals[0]) or state.own[0] or state.own[1]:
                self.require("safe", label, at=at, state=state, goal=goals[run], more=tuple(state.own[run]))

    def positive(self, state: State, run: int | None = None) -> Callable[[int], bool]:
        """Whether an atom is positive wherever this state is reached (by this run)."""
        known = [*state.known, *(state.own[run] if run is not None else ())]

        def ask(atom: int) -> bool:
            term = self.terms.atoms[atom]
            if z3.is_app_of(term, z3.Z3_OP_ITE):
                return False
            key = (atom, len(self.facts), *(part.get_id() for part in known))
            if key not in self._signs:
                self._signs[key] = self.terms.proves([*self.facts, *known], term > 0)
                self._alive.append(known)  # a formula that is thrown away may leave its number to another one
            return self._signs[key]

        return ask

    def compare(self, value: PairedNumber, sign: str, state: State) -> tuple[Any, Any]:
        """`value sign 0` in both runs."""
        one = self.terms.compare(value.one, sign, self.positive(state, 0))
        if value.one == value.two and not state.own[0] and not state.own[1]:
            return one, one
        return one, self.terms.compare(value.two, sign, self.positive(state, 1))

    # ---- expressions

    def number(self, node: Expr, state: State) -> PairedNumber:
        """A number."""
        found = self.value(node, state)
        if not isinstance(found, PairedNumber):
            raise NoProofRule("a number is expected")
        return found

    def truth(self, node: Expr, state: State) -> Boolean:
        """A truth."""
        found = self.value(node, state)
        if not isinstance(found, Boolean):
            raise NoProofRule("a truth is expected")
        return found

    def said(self, node: Expr, state: State) -> Value:
        """The value of an expression of a proof."""
        self.proving = True
        try:
            return self.value(node, state)
        finally:
            self.proving = False

    def holds(self, node: Expr, state: State) -> Any:
        """What an invariant says of a state."""
        found = self.said(node, state)
        if not isinstance(found, Boolean):
            raise NoProofRule("an invariant is a truth")
        return found.one

    def value(self, node: Expr, state: State) -> Value:
        """The value of an expression in both runs."""
        match node:
            case Num(value=value):
                return PairedNumber(number(value), number(value), value.denominator == 1)
            case TruthLiteral(value=value):
                truth = self.terms.true if value else self.terms.false
                return Boolean(truth, truth)
            case Var(name=name):
                return self._named(name, state)
            case Listed(items=items):
                return PairedList(tuple(self.value(item, state) for item in items))
            case Unary(op="!", arg=arg):
                inside = self.truth(arg, state)
                return Boolean(z3.Not(inside.one), z3.Not(inside.two))
            case Unary(arg=arg):
                found = self.number(arg, state)
                return PairedNumber(-found.one, -found.two, found.whole)
            case Index(base=base, index=index):
                return self._element(base, index, node.at, state)
            case FunctionCall():
                return self._call(node, state)
            case Binary():
                return self._binary(node, state)
        raise NoProofRule("an expression of an unknown kind")

    def _named(self, name: str, state: State) -> Value:
        found = state.values.get(name)
        if found is None and name.startswith("#spent"):
            spent = state.spent.get(int(name.removeprefix("#spent") or 0))
            found = None if spent is None else PairedNumber(spent, spent, False)
        found = found or self.ghosts.get(name) or self.inputs.ghosts.get(name)
        if found is None:
            raise NoProofRule(f'"{name}" may have no value')
        return found

    def _element(self, base: Expr, index: Expr, at: int, state: State) -> Value:
        inside, place = self.value(base, state), self.number(index, state)
        if not place.whole:
            raise NoProofRule("an index is a whole number")
        if isinstance(inside, PairedList):
            return element_of(self, inside.items, place, at=at, state=state)
        if not isinstance(inside, Input):
            raise NoProofRule("the elements of this list are not followed")
        size = self.inputs.size(inside)
        if self.proving:  # an element that is not there may be anything: a proof may speak of it
            return self.inputs.read(inside, place)
        low = self.compare(place, ">=", state)
        high = self.compare(PairedNumber(place.one - size.one, place.two - size.two, True), "<", state)
        both = (self.terms.all_of((low[0], high[0])), self.terms.all_of((low[1], high[1])))
        self.safe("the index lies in the list", at, state, both)
        return self.inputs.read(inside, place)

    def _binary(self, node: Binary, state: State) -> Value:
        op = node.op
        if op in ("&&", "||"):
            return self._logic(node, state)
        left, right = self.value(node.left, state), self.value(node.right, state)
        if op == "++":
            return self.joined(left, right)
        if op in ("=", "!=") and isinstance(left, Boolean) and isinstance(right, Boolean):
            pair = left.one == right.one, left.two == right.two
            return Boolean(*pair) if op == "=" else Boolean(z3.Not(pair[0]), z3.Not(pair[1]))
        if not isinstance(left, PairedNumber) or not isinstance(right, PairedNumber):
            raise NoProofRule(f'"{op}" is covered for numbers')
        if op in ("=", "!=", "<", "<=", ">", ">="):
            return Boolean(*self.compare(PairedNumber(left.one - right.one, left.two - right.two, False), op, state))
        return self._arithmetic(op, left, right, node.at, state)

    def _logic(self, node: Binary, state: State) -> Boolean:
        """`&&` and `||` read their right side only where the left one does not decide."""
        left = self.truth(node.left, state)
        there = state.copy()
        for run, test in enumerate((left.one, left.two)):
            there.own[run].append(test if node.op == "&&" else z3.Not(test))
        right = self.truth(node.right, there)
        join = z3.And if node.op == "&&" else z3.Or
        return Boolean(join(left.one, right.one), join(left.two, right.two))

    def _arithmetic(self, op: str, left: PairedNumber, right: PairedNumber, at: int, state: State) -> PairedNumber:
        whole = left.whole and right.whole
        match op:
            case "+":
                return PairedNumber(left.one + right.one, left.two + right.two, whole)
            case "-":
                return PairedNumber(left.one - right.one, left.two - right.two, whole)
            case "*":
                return PairedNumber(left.one * right.one, left.two * right.two, whole)
            case "/":
                return self.divided(left, right, at, state)
            case "mod" if whole:
                self.safe("the modulus is positive", at, state, self.compare(right, ">", state))
                one = self._remainder(left.one, right.one)
                return PairedNumber(one, self._remainder(left.two, right.two), True)
            case "^":
                power = right.one.constant
                if power is None or power != right.two.constant or power.denominator != 1 or not 0 <= power <= 8:
                    raise NoProofRule("a power is a number from 0 to 8")
                found = PairedNumber(number(1), number(1), left.whole)
                for _ in range(int(power)):
                    found = PairedNumber(found.one * left.one, found.two * left.two, left.whole)
                return found
        raise NoProofRule(f'"{op}" is not covered')

    def divided(self, left: PairedNumber, right: PairedNumber, at: int, state: State) -> PairedNumber:
        """A quotient; that the divisor is not zero is a condition."""
        self.safe("the divisor is not zero", at, state, self.compare(right, "!=", state))
        return PairedNumber(left.one * self._inverse(right.one), left.two * self._inverse(right.two), False)

    def _inverse(self, one: Poly) -> Poly:
        if not one.terms:
            raise NoProofRule("a division by zero")
        unit = common([one])
        rest = one * single(inverse(unit))
        value = rest.constant
        if value is not None:
            return single(inverse(unit)) * number(1 / value)
        ((monomial, _),) = self.terms.atom(self.terms.term(rest)).terms
        return single(inverse(unit)) * single(inverse(monomial))

    def _remainder(self, one: Poly, modulus: Poly) -> Poly:
        """x mod m in [0, m): the solver's own where m is a number, else unknown but for its range."""
        first, second = self.terms.term(one, whole=True), self.terms.term(modulus, whole=True)
        if modulus.constant is not None:
            return self.terms.atom(first % second)
        found = self.terms.function("remainder", 2, whole=True)(first, second)
        self.facts.define(found, z3.Implies(second > 0, z3.And(found >= 0, found < second)))
        return self.terms.atom(found)

    def joined(self, left: Value, right: Value) -> Value:
        """`++`."""
        if isinstance(left, PairedList) and isinstance(right, PairedList):
            if len(left.items) + len(right.items) > _LONGEST:
                raise NoProofRule(f"a list of more than {_LONGEST:,} elements")
            return PairedList((*left.items, *right.items))
        first, second = self.stream(left), self.stream(right)
        length = PairedNumber(first.length.one + second.length.one, first.length.two + second.length.two, True)
        return Stream(self.terms.all_of((first.same, second.same)), length)

    def stream(self, value: Value) -> Stream:
        """A list as a stream."""
        if isinstance(value, Stream):
            return value
        if not isinstance(value, PairedList):
            raise NoProofRule("a list is expected")
        length = number(len(value.items))
        return Stream(self.equal(value), PairedNumber(length, length, True))

    def equal(self, value: Value) -> Any:
        """That a value is the same in both runs."""
        match value:
            case PairedNumber(one=one, two=two):
                return self.terms.compare(one - two, "=", lambda _: False)
            case Boolean(one=one, two=two):
                return self.terms.true if one.eq(two) else one == two
            case PairedList(items=items):
                return self.terms.all_of([self.equal(item) for item in items])
            case Stream(same=same):
                return same
        raise NoProofRule("an input as a whole is not covered here")

    # ---- functions

    def _call(self, node: FunctionCall, state: State) -> Value:
        name = node.name
        if name in ("#shift", "#same", "#two", "#if"):
            return self._ghost_call(node, state)
        if name == "size":
            inside = self.value(node.args[0], state)
            if isinstance(inside, Input):
                return self.inputs.size(inside)
            return self.stream(inside).length
        if name == "int":
            return number_of_bits(self.inputs, self.value(node.args[0], state))
        if name in ("exp", "ln", "sqrt"):
            return self._real_function(name, self.number(node.args[0], state), node.at, state)
        if name in ("abs", "min", "max", "clamp"):
            args = [self.number(arg, state) for arg in node.args]
            whole = all(arg.whole for arg in args)
            one = self.terms.extreme(name, [arg.one for arg in args], self.positive(state, 0))
            two = self.terms.extreme(name, [arg.two for arg in args], self.positive(state, 1))
            return PairedNumber(one, two, whole)
        for use in self.program.uses:
            if use.name == name:
                return self._unknown_function(node, use.sensitivity, state)
        raise NoProofRule(f'"{name}" is not covered')

    def _ghost_call(self, node: FunctionCall, state: State) -> Value:
        """What only proofs say."""
        if node.name == "#if":
            test = self.truth(node.args[0], state)
            first, second = (self.number(arg, state) for arg in node.args[1:])
            one = self.terms.choose(test.one, first.one, second.one)
            two = self.terms.choose(test.two, first.two, second.two)
            return PairedNumber(one, two, first.whole and second.whole)
        inside = self.value(node.args[0], state)
        if node.name == "#same":
            same = self.equal(inside)
            return Boolean(same, same)
        if not isinstance(inside, PairedNumber):
            raise NoProofRule("#shift and #two are of numbers")
        moved = inside.two if node.name == "#two" else inside.two - inside.one
        return PairedNumber(moved, moved, inside.whole)

    def _real_function(self, name: str, inside: PairedNumber, at: int, state: State) -> PairedNumber:
        """exp, ln, sqrt."""
        if name != "exp":
            sign = ">" if name == "ln" else ">="
            self.safe(f"{name} is of a number {sign} 0", at, state, self.compare(inside, sign, state))
        values = [inside.one.constant, inside.two.constant]
        if (
            any(value is not None and (value < 0 or (name == "ln" and value == 0)) for value in values)
            and name != "exp"
        ):
            raise NoProofRule(f"{name} of this number")
        one = self.functions.call(name, inside.one, self.positive(state, 0))
        two = one if inside.one == inside.two else self.functions.call(name, inside.two, self.positive(state, 1))
        return PairedNumber(one, two, False)

    def _unknown_function(self, node: FunctionCall, sensitivity: Expr, state: State) -> PairedNumber:
        """A function of `uses`: unknown in both runs, but for how far it moves."""
        given = []
        for arg in node.args:
            if not isinstance(arg, Var) or state.values.get(arg.name) != self.inputs.values.get(arg.name):
                raise NoProofRule("a function of `uses` is given parameters as they came")
            given.append(arg.name)
        key = (node.name, *given)
        if key not in self._calls:
            one, two = (self.terms.fresh(node.name, whole=False) for _ in range(2))
            most = self.bound(sensitivity).one
            compare = self.terms.compare
            near = [compare(two - one - most, "<=", _unsure), compare(one - two - most, "<=", _unsure)]
            some = compare(most, ">=", _unsure)  # else there is no such function
            self.facts.define(self.terms.term(one - two), z3.Implies(some, z3.And(*near)))
            self._calls[key] = PairedNumber(one, two, False)
        return self._calls[key]
