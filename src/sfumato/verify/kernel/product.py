"""Verify, kernel: the proof rule. Comes in: a program, an alignment and invariants. Goes out: conditions for a solver.

Guarantee: if all conditions hold, then for adjacent inputs x, x' in this direction and every set E of outputs,
    Pr[P(x) in E] <= e^claim Pr[P(x') in E].
Proof: fix x, x' (and an output O in pointwise mode). Run P on x with noise h = (h_1, h_2, …) and on x' with h' =
    T(h), where h'_k = h_k + a_k and a_k is the shift at this draw. a_k depends on what happened before the draw,
    which h_1..h_(k-1) determine, and on h_k only by choosing between translations (leaves of `#if`). (1) For fixed
    h_1..h_(k-1) the map h_k -> h_k + a_k is one to one ("injective"), so T, which is triangular, is one to one. (2)
    It is a translation on each of countably many measurable pieces, so it keeps Lebesgue (counting) measure on each.
    (3) The density of the noise of run 1 at h is at most e^cost times the density of the noise of run 2 at T(h): per
    draw |a - d(centre)|/scale for Laplace, a/scale for Exponential, whose support T keeps ("support"), |a| t for
    Geometric(e^-t) with whole a; scales are equal in both runs and positive. (4) Both runs draw the same number of
    times: draws stand only where both runs are on the same way ("path"). (5) At a return both outputs are equal, or,
    in pointwise mode, they are equal if O is what run 1 returns, or the first whole number or truth in the list that
    it returns: E is the countable union, over all O, of the outputs in E that show O. Hence Pr1[E] = integral over {h
    : run 1 in E} of p1(h) <= e^cost * integral of p2(T(h)) <= e^claim Pr2[E]. (6) Loops end, by a rank that falls by
    at least 1 and is not negative; or else the cost is within the claim whenever a loop begins its body anew, and
    then the same integral over "not ended after n rounds" bounds the chance of never ending. Loops are cut by
    invariants that hold at entry and are kept by the body; what the body may change is forgotten otherwise. Blocks
    without draws, returns and loops may be passed on different ways: values are then those of each run's own way. In
    a loop of such blocks the runs do not meet, so that one of them may wait while the other goes round (`waits`):
    whenever one has rounds to go, one of them goes. (7) With Gaussian shifts, which never read their own noise, the
    guarantee is Pr[P(x) in E] <= e^(c+k) Pr[P(x') in E] + delta_m(k) for every k, where c bounds the other costs, m^2
    the sum of (a_k/s_k)^2 on every way, and delta_m is the curve of one Gaussian mechanism with shift m: let Q1 be
    the law of T(h), Q0 that of h, and Q the law in which only the other draws are moved. Q <= e^c Q0 as before. Under
    Q the logarithm of dQ1/dQ is S - V/2 with S = sum of a_k z_k/s_k, z_k independent standard normal and a_k known
    before z_k, and V = sum of (a_k/s_k)^2 <= m^2; fill V up to m^2 with one more noise, which only helps to tell them
    apart; then exp(i t S + t^2 m^2/2) has mean 1, so S is normal with variance m^2, and the curve is that of one
    shift m.
    That delta_m(k) is at most the claimed delta is asked of who knows the curve (finite/gauss.py). (8) A proof may be
    of a case, which holds of both inputs or of neither; then there is another one of the opposite case.
Reference: Albarghouthi, Hsu, POPL 2018; Wang, Ding, Wang, Kifer, Zhang, CCS 2020 (randomness alignment); Smith,
    Thakurta, 2022 (fully adaptive composition for Gaussian differential privacy).
Checked by: verify::wrong_programs_are_never_proved, verify::proved_implies_true_by_enumeration,
    verify::a_map_that_is_not_one_to_one_proves_nothing
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import z3

from sfumato.verify.kernel.evaluate import Evaluator, State
from sfumato.verify.kernel.kinds import kinds_of
from sfumato.verify.kernel.late import late
from sfumato.verify.kernel.laws import check_weights, shifted_draw
from sfumato.verify.kernel.polynomial import Poly, number, single
from sfumato.verify.kernel.values import Boolean, Items, NotCovered, Number, Stream, Value
from sfumato.verify.tree import (
    Assign,
    Binary,
    Call,
    Draw,
    Expr,
    If,
    Num,
    Program,
    Return,
    Skip,
    Stmt,
    Var,
    While,
    changed,
    names,
    statements,
)

ROUNDS = 64
"""A loop is gone through round by round for at most so many."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What a prover hands in for one direction: shifts by draw, invariants and ranks by loop; units make numbers
    small.
    """

    direction: str
    pointwise: bool = False
    shifts: dict[int, Expr] = field(default_factory=dict)
    units: dict[int, Expr] = field(default_factory=dict)  # what is spent at a draw is counted in this unit
    scales: dict[str, Expr] = field(default_factory=dict)  # a variable that loops change is a multiple of this
    invariants: dict[int, tuple[Expr, ...]] = field(default_factory=dict)
    ranks: dict[int, Expr] = field(default_factory=dict)
    waits: dict[int, Expr] = field(default_factory=dict)  # in a loop without draws: when the shorter run waits
    unrolled: frozenset[int] = frozenset()  # loops that are gone through round by round: their tests are known
    weights: dict[str, tuple[Expr, Expr]] = field(default_factory=dict)
    """Lists of weights, of any length: between which bounds each logarithm moves."""
    case: Expr | None = None  # what is also required: there is another proof where it does not hold
    gauss: tuple[Expr, Expr] | None = None  # bounds of what other draws cost, and of the squares of Gaussian shifts


def is_quiet(body: tuple[Stmt, ...]) -> bool:
    """No draw, no return, no loop: two runs may pass on different ways."""
    return not any(isinstance(statement, Draw | Return | While) for statement in statements(body))


class Product(Evaluator):
    """Two runs of a program, step by step."""

    def __init__(self, program: Program, proof: Proof) -> None:
        super().__init__(late(program), proof.direction)
        self.proof = proof
        self.kinds = kinds_of(self.program)
        self.invariants: dict[str, Any] = {}  # as they are assumed at the head of their loop

    def run(self) -> None:
        """Go through the program; afterwards `conditions` holds all that has to be checked."""
        self.inputs.start()
        self._pin_parameters()
        start = State(dict(self.inputs.values), {}, [])
        for required in self.program.requires:
            truth = self.truth(required, start)
            self.facts += [truth.one, truth.two]
        self.base = tuple(self.facts)
        if self.proof.case is not None:
            case = self.truth(self.proof.case, start)
            if not case.one.eq(case.two):
                raise NotCovered("a case is the same for both inputs")
            self.facts.append(case.one)
        self.units: dict[int, Poly] = {}
        self.squared: set[int] = set()  # draws that are charged by the square of their shift
        for statement in statements(self.program.body):
            if isinstance(statement, Draw):
                if statement.law == "Gauss" and self.proof.gauss is not None:
                    self.squared.add(statement.number)
                start.spent[statement.number] = number(0)
                unit = self.proof.units.get(statement.number)
                self.units[statement.number] = self._unit(unit, start) if unit is not None else number(1)
        if self.proof.pointwise:
            answer = self.terms.fresh("answer", whole=True)
            self.ghosts["#answer"] = Number(answer, answer, True)
        self.start = start
        if self.block(self.program.body, start.copy()) is not None:
            raise NotCovered("a path without return")

    def _pin_parameters(self) -> None:
        """A public parameter that is required to be a number is that number from now on."""
        public = {"eps", "delta"} | {param.name for param in self.program.params if not param.private}
        todo = list(self.program.requires)
        while todo:
            match todo.pop():
                case Binary(op="&&", left=left, right=right):
                    todo += [left, right]
                case Binary(op="=", left=Call(name="size", args=(Var(name=name),)), right=Num(value=length)) if (
                    name in self.inputs.sizes and length >= 0
                ):
                    size = self.inputs.sizes[name]
                    if size.one == size.two and size.one.constant is None:
                        self.inputs.tell(size.one - number(length), "=")
                        self.inputs.sizes[name] = Number(number(length), number(length), True)
                case (
                    Binary(op="=", left=Var(name=name), right=other) | Binary(op="=", left=other, right=Var(name=name))
                ) if name in public and not names(other):
                    before, value = self.inputs.values[name], self.bound(other)
                    if isinstance(before, Number) and value.one.constant is not None and before.one.constant is None:
                        self.inputs.tell(before.one - value.one, "=")
                        self.inputs.values[name] = Number(value.one, value.one, before.whole and value.whole)

    def _unit(self, node: Expr, state: State) -> Poly:
        """A public positive number that does not change."""
        found = self.number(node, state)
        if found.one != found.two:
            raise NotCovered("a unit is public")
        self.require("unit", "a unit is positive", at=0, state=state, goal=self.compare(found, ">", state)[0])
        return found.one

    # ---- statements

    def block(self, body: tuple[Stmt, ...], state: State | None) -> State | None:
        """Run statements; None if every path has returned."""
        for statement in body:
            if state is None:
                return None
            state = self.step(statement, state)
        return state

    def step(self, statement: Stmt, state: State) -> State | None:
        """Run one statement."""
        match statement:
            case Assign(name=name, value=value):
                if name in self.proof.weights:
                    check_weights(self, statement, state)
                state.values[name] = self.value(value, state)
                return state
            case Draw():
                shifted_draw(self, statement, state)
                return state
            case Return():
                self._return(statement, state)
                return None
            case If():
                return self._if(statement, state)
            case While(body=body):
                if statement.number in self.proof.unrolled:
                    return self._round_by_round(statement, state)
                if is_quiet(body):
                    return self._quiet_loop(statement, state)
                return self._loop(statement, state)
            case Skip():
                return state
        raise NotCovered("a statement of an unknown kind")

    def _return(self, statement: Return, state: State) -> None:
        found = self.value(statement.value, state)
        more: tuple[Any, ...] = ()
        if self.proof.pointwise:
            answer = self.ghosts["#answer"]
            assert isinstance(answer, Number)
            more = (self._is_answer(found, answer.one),)
            label = "if run 1 returns the answer, so does run 2"
            self.require("output", label, at=statement.at, state=state, goal=self.equal(found), more=more)
        else:
            self.require("output", "both runs return the same", at=statement.at, state=state, goal=self.equal(found))
        self._within_claim(statement.at, state, more)

    def _is_answer(self, found: Value, answer: Poly) -> Any:
        """Whether run 1 returns the answer, or shows it in the list that it returns."""
        if isinstance(found, Items):
            listed = (item for item in found.items if isinstance(item, Boolean) or getattr(item, "whole", False))
            found = next(listed, found)
        if isinstance(found, Boolean):
            shown = self.terms.choose(found.one, number(1), number(0))
        elif isinstance(found, Number) and found.whole:
            shown = found.one
        else:
            raise NotCovered("pointwise proofs are about whole numbers and truths")
        return self.terms.compare(shown - answer, "=", lambda _: False)

    def _within_claim(self, at: int, state: State, more: tuple[Any, ...]) -> None:
        total = number(0)
        for draw, spent in state.spent.items():
            if draw not in self.squared:
                total = total + spent * self.units[draw]
        claim = [self.number(part, self.start) for part in self.program.claim]
        if self.proof.gauss is not None:
            claim[0] = self._within_squares(at, state, more)
        if any(part.one != part.two for part in claim):
            raise NotCovered("a claim is the same for both inputs")
        over = total * number(self.program.group) - claim[0].one
        goal = self.terms.compare(over, "<=", self.positive(state))
        self.require("cost", "what was spent is within the claim", at=at, state=state, goal=goal, more=more)
        if len(claim) > 1:
            self.require(
                "cost",
                "the claimed delta is not negative",
                at=at,
                state=state,
                goal=self.compare(claim[1], ">=", state)[0],
            )

    def _within_squares(self, at: int, state: State, more: tuple[Any, ...]) -> Number:
        """The squares of Gaussian shifts are within their bound; the bound of other costs goes out."""
        assert self.proof.gauss is not None
        pure, most = (self.number(part, self.start) for part in self.proof.gauss)
        if self.proof.pointwise or len(self.program.claim) != 2 or most.one != most.two:
            raise NotCovered("a Gaussian proof is of a claim (k, delta), for all outputs at once")
        if self.program.group > 1 and pure.one.terms:
            raise NotCovered("groups are covered for Gaussian noise alone")
        total = number(0)
        for draw in self.squared:
            total = total + state.spent[draw] * self.units[draw]
        over = total * number(self.program.group**2) - most.one
        goal = self.terms.compare(over, "<=", self.positive(state))
        self.require(
            "cost", "the squares of Gaussian shifts are within their bound", at=at, state=state, goal=goal, more=more
        )
        return pure

    def _if(self, statement: If, state: State) -> State | None:
        test = self.truth(statement.test, state)
        together = test.one.eq(test.two)
        if not together and not is_quiet((*statement.then, *statement.other)):
            if state.own[0] or state.own[1]:
                raise NotCovered("a block with draws inside of one that runs pass on different ways")
            self.require(
                "path", "both runs take the same branch", at=statement.at, state=state, goal=test.one == test.two
            )
            test, together = Boolean(test.one, test.one), True
        branches = []
        for body, negated in ((statement.then, False), (statement.other, True)):
            there = state.copy()
            one, two = (z3.Not(truth) if negated else truth for truth in (test.one, test.two))
            if together and not state.own[0] and not state.own[1]:
                there.known.append(one)
            else:
                there.own[0].append(one)
                there.own[1].append(two)
            branches.append(self.block(body, there))
        then, other = branches
        if then is None or other is None:
            return then if other is None else other
        return self._merged(test, then, other, state)

    def _merged(self, test: Boolean, then: State, other: State, before: State) -> State:
        """One state from two branches."""
        known = list(before.known)
        more = [branch.known[len(before.known) :] for branch in (then, other)]
        if any(len(part) > 1 for part in more):  # loops inside have left what they know
            known.append(z3.Or(self.terms.all_of(more[0]), self.terms.all_of(more[1])))
        values = {}
        for name in then.values:
            if name in other.values:
                merged = self._merge(test, then.values[name], other.values[name], before)
                if merged is not None:
                    values[name] = merged
        spent = {draw: self._either(test.one, amount, other.spent[draw], before) for draw, amount in then.spent.items()}
        return State(values, spent, known, before.own)

    def _either(self, test: Any, first: Poly, second: Poly, before: State) -> Poly:
        """The value of the branch that was taken. A divisor of one branch alone may be zero on the other.

        It is then not taken out of the choice: the value is a new unknown v with v * divisor = dividend on that branch.
        """
        own = first.divisors.keys() ^ second.divisors.keys()
        sure = all(self.terms.proves([*self.facts, *before.known], self.terms.atoms[atom] != 0) for atom in own)
        if first == second or sure:
            return self.terms.choose(test, first, second)
        found = self.terms.fresh("either", whole=False)
        for one, taken in ((first, test), (second, z3.Not(test))):
            below = single(tuple(sorted(one.divisors.items())))
            divides = [self.terms.atoms[atom] != 0 for atom in one.divisors]
            equal = self.terms.term(found * below) == self.terms.term(one * below)
            self.facts.append(z3.Implies(self.terms.all_of([taken, *divides]), equal))
        return found

    def _merge(self, test: Boolean, then: Value, other: Value, before: State) -> Value | None:
        """One value from two; None if they are of different kinds, and then it must not be read."""
        if _is_one(then, other):
            return then
        if isinstance(then, Number) and isinstance(other, Number):
            one = self._either(test.one, then.one, other.one, before)
            two = self._either(test.two, then.two, other.two, before)
            return Number(one, two, then.whole and other.whole)
        if isinstance(then, Boolean) and isinstance(other, Boolean):
            return Boolean(z3.If(test.one, then.one, other.one), z3.If(test.two, then.two, other.two))
        if isinstance(then, Items | Stream) and isinstance(other, Items | Stream):
            first, second = self.stream(then), self.stream(other)
            same = z3.If(test.one, first.same, second.same)
            if not test.one.eq(test.two):
                same = z3.And(same, test.one == test.two)
            length = self._merge(test, first.length, second.length, before)
            assert isinstance(length, Number)
            return Stream(same, length)
        return None

    # ---- loops

    def _head(self, loop: While, state: State) -> State:
        """Check the invariants at entry, forget what the loop may change, and assume the invariants."""
        invariants = self.proof.invariants.get(loop.number, ())
        for place, invariant in enumerate(invariants):
            goal = self.holds(invariant, state)
            self.require("entry", f"{loop.number}:{place}", at=loop.at, state=state, goal=goal)
        equal = {_equality(invariant) for invariant in invariants}
        head = state.copy()
        for name in sorted(changed(loop.body)):
            if name in head.values:
                head.values[name] = self._forgotten(name, equal=name in equal)
        for statement in statements(loop.body):
            if isinstance(statement, Draw):
                head.spent[statement.number] = self.terms.fresh(f"spent{statement.number}", whole=False)
        for place, invariant in enumerate(invariants):
            assumed = self.holds(invariant, head)
            head.known.append(assumed)
            self.invariants[f"{loop.number}:{place}"] = assumed
        return head

    def _forgotten(self, name: str, *, equal: bool) -> Value:
        """Any value of a variable's kind; the same in both runs where an invariant says so."""
        kind = self.kinds.get(name)
        if kind in ("int", "real"):
            unit = number(1)
            if name in self.proof.scales and kind == "real":
                unit = self._unit(self.proof.scales[name], self.start)
            one = unit * self.terms.fresh(name, whole=kind == "int")
            two = one if equal else unit * self.terms.fresh(f"{name}@2", whole=kind == "int")
            return Number(one, two, kind == "int")
        if kind == "bool":
            first = self.terms.fresh_truth(name)
            return Boolean(first, first if equal else self.terms.fresh_truth(f"{name}@2"))
        if kind != "list":
            raise NotCovered(f'"{name}" holds values of different kinds')
        length = self.terms.fresh(f"size_{name}", whole=True)
        self.inputs.tell(length, ">=")
        if equal:
            return Stream(self.terms.true, Number(length, length, True))
        other, same = self.terms.fresh(f"size_{name}@2", whole=True), self.terms.fresh_truth(f"same_{name}")
        self.inputs.tell(other, ">=")
        self.facts.append(z3.Implies(same, self.terms.compare(length - other, "=", lambda _: False)))
        return Stream(same, Number(length, other, True))

    def _kept(self, loop: While, after: State) -> None:
        for place, invariant in enumerate(self.proof.invariants.get(loop.number, ())):
            goal = self.holds(invariant, after)
            self.require("step", f"{loop.number}:{place}", at=loop.at, state=after, goal=goal)

    def _round_by_round(self, loop: While, state: State | None) -> State | None:
        """A loop whose test is known in every round, and the same in both runs."""
        for _ in range(ROUNDS):
            if state is None:
                return None
            test = self.truth(loop.test, state)
            one, two = z3.simplify(test.one), z3.simplify(test.two)
            if z3.is_false(one) and z3.is_false(two):
                return state
            if not z3.is_true(one) or not z3.is_true(two):
                break
            state = self.block(loop.body, state)
        raise NotCovered("a loop whose rounds are not known")

    def _loop(self, loop: While, state: State) -> State:
        """A loop that draws, returns or has loops inside: both runs go round together."""
        if state.own[0] or state.own[1]:
            raise NotCovered("a loop inside of a block that runs pass on different ways")
        head = self._head(loop, state)
        test = self.truth(loop.test, head)
        self.require(
            "path",
            "both runs go round as often",
            at=loop.at,
            state=head,
            goal=self.terms.true if test.one.eq(test.two) else test.one == test.two,
        )
        inside = head.copy()
        inside.known.append(test.one)
        rank = self._rank(loop, head)
        if rank is None:
            if self.proof.pointwise:
                raise NotCovered("a loop without a rank")
            self._within_claim(loop.at, head, (test.one,))
        else:
            self.require(
                "rank", "the rank is not negative", at=loop.at, state=inside, goal=self.compare(rank, ">=", inside)[0]
            )
        after = self.block(loop.body, inside)
        if after is not None:
            self._kept(loop, after)
            if rank is not None:
                self._falls(loop, rank, after, (0,), (self.terms.true, self.terms.true))
        head.known.append(z3.Not(test.one))
        return head

    def _rank(self, loop: While, head: State) -> Number | None:
        rank = self.proof.ranks.get(loop.number)
        return None if rank is None else self.number(rank, head)

    def _falls(self, loop: While, rank: Number, after: State, runs: tuple[int, ...], goes: tuple[Any, Any]) -> None:
        now = self.number(self.proof.ranks[loop.number], after)
        less = Number(now.one - rank.one + number(1), now.two - rank.two + number(1), True)
        falls = self.compare(less, "<=", after)
        for run in runs:
            self.require("rank", "the rank falls", at=loop.at, state=after, goal=falls[run], more=(goes[run],))

    def _quiet_loop(self, loop: While, state: State) -> State:
        """A loop without draws: each run goes round as often as it does, one of them may wait for the other."""
        if state.own[0] or state.own[1]:
            raise NotCovered("a loop inside of a block that runs pass on different ways")
        head = self._head(loop, state)
        test = self.truth(loop.test, head)
        rank = self._rank(loop, head)
        if rank is None:
            raise NotCovered("a loop without a rank")
        inside = head.copy()
        goes = self._goes(loop, test, head)
        together = goes.one.eq(goes.two)
        if together:
            inside.known.append(goes.one)
        else:
            inside.known.append(z3.Or(goes.one, goes.two))
            inside.own[0].append(goes.one)
            inside.own[1].append(goes.two)
        bound = self.compare(rank, ">=", inside)
        for run in (0, 1):
            going = (goes.one, goes.two)[run]
            self.require("rank", "the rank is not negative", at=loop.at, state=inside, goal=bound[run], more=(going,))
        after = self.block(loop.body, inside)
        assert after is not None
        if not together:
            moved = {
                name: merged
                for name, value in after.values.items()
                if name in head.values and (merged := self._merge(goes, value, head.values[name], head)) is not None
            }
            after = State(moved, after.spent, [*after.known], ([], []))
        self._kept(loop, after)
        self._falls(loop, rank, after, (0, 1), (goes.one, goes.two))
        head.known += [z3.Not(test.one)] if test.one.eq(test.two) else [z3.Not(test.one), z3.Not(test.two)]
        return head

    def _goes(self, loop: While, test: Boolean, head: State) -> Boolean:
        """Which runs go round: all that are not over, but for one that waits for the other."""
        if loop.number not in self.proof.waits:
            return test
        waits = self.holds(self.proof.waits[loop.number], head)
        first = self.proof.direction == "more"  # the run with the shorter list waits
        one = z3.And(test.one, z3.Not(waits)) if first else test.one
        two = test.two if first else z3.And(test.two, z3.Not(waits))
        some = z3.Implies(z3.Or(test.one, test.two), z3.Or(one, two))
        self.require("rank", "while a run goes on, one of them goes", at=loop.at, state=head, goal=some)
        return Boolean(one, two)


def _is_one(then: Value, other: Value) -> bool:
    """Whether both branches leave the same value. Streams that say the same need not be the same: each says only that
    it is equal in both runs, and the runs may be on different branches.
    """
    if isinstance(then, Items) and isinstance(other, Items) and len(then.items) == len(other.items):
        return all(map(_is_one, then.items, other.items))
    return then is other or (not isinstance(then, Stream | Items) and then == other)


def _equality(node: Expr) -> str | None:
    """The variable of which an invariant says that it is the same in both runs."""
    match node:
        case Binary(op="=", left=Call(name="#shift", args=(Var(name=name),)), right=Num(value=value)) if (
            value == Fraction(0)
        ):
            return name
        case Call(name="#same", args=(Var(name=name),)):
            return name
    return None
