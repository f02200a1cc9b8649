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
    it returns: E is the countable union, over all O, of the outputs in E that show O. (Or over all pairs of the first
    and the second one: of outputs that show one alone, the second may be any number, 0 for example.) Hence Pr1[E] =
    integral over {h : run 1 in E} of p1(h) <= e^cost * integral of p2(T(h)) <= e^claim Pr2[E]. (6) Loops end, by a
    rank that falls by at least 1 and is not negative; or else the cost is within the claim whenever a loop begins
    its body anew, and then the same integral over "not ended after n rounds" bounds the chance of never ending.
    Loops are cut by invariants that hold at entry and are kept by the body; what the body may change is forgotten
    otherwise. Blocks without draws, returns and loops may be passed on different ways: values are then those of
    each run's own way. In a loop of such blocks the runs do not meet, so that one of them may wait while the other
    goes round (`waits`): whenever one has rounds to go, one of them goes. (7) With Gaussian shifts, which never
    read their own noise, the guarantee is Pr[P(x) in E] <= e^(c+k) Pr[P(x') in E] + delta_m(k) for every k, where c
    bounds the other costs, m^2 the sum of (a_k/s_k)^2 on every way, and delta_m is the curve of one Gaussian
    mechanism with shift m: let Q1 be the law of T(h), Q0 that of h, and Q the law in which only the other draws are
    moved. Q <= e^c Q0 as before. Under Q the logarithm of dQ1/dQ is S - V/2 with S = sum of a_k z_k/s_k, z_k
    independent standard normal and a_k known before z_k, and V = sum of (a_k/s_k)^2 <= m^2; fill V up to m^2 with
    one more noise, which only helps to tell them apart; then exp(i t S + t^2 m^2/2) has mean 1, so S is normal with
    variance m^2, and the curve is that of one shift m. That delta_m(k) is at most the claimed delta is asked of who
    knows the curve (finite/gauss.py); where parameters are no numbers, it is asked about numbers e, s and d with e
    <= k - c, m^2 <= s and d <= delta for all parameters (`normal`), because delta_m(k) falls with k and grows with
    m; or delta is a formula that meets a tail (bell.py). (8) A proof may be of a case, which holds of both inputs
    or of neither; then there is another one of the opposite case. (9) One draw may be paid with delta instead
    (curves.py), or its far values left to delta (tails.py). (10) A draw that is made until something holds costs
    twice (redraws.py). (11) One draw of a loop may be thought of as made last (lastly.py). (12) Claims about Rényi
    divergence charge squares, or curves (renyi.py).
Reference: Albarghouthi, Hsu, POPL 2018; Wang, Ding, Wang, Kifer, Zhang, CCS 2020 (randomness alignment); Smith,
    Thakurta, 2022 (fully adaptive composition for Gaussian differential privacy).
Checked by: verify::wrong_programs_are_never_proved, verify::proved_implies_true_by_enumeration,
    verify::a_map_that_is_not_one_to_one_proves_nothing
"""

from __future__ import annotations

from typing import Any

import z3

from sfumato.verify.kernel import lastly
from sfumato.verify.kernel.allowed import check_allowed
from sfumato.verify.kernel.bell import check_bell
from sfumato.verify.kernel.coins import counted_coins
from sfumato.verify.kernel.curves import check_curve
from sfumato.verify.kernel.evaluate import Evaluator, State
from sfumato.verify.kernel.kinds import kinds_of
from sfumato.verify.kernel.lastly import LAST, check_last, with_ghosts
from sfumato.verify.kernel.late import late
from sfumato.verify.kernel.laws import check_weights, shifted_draw
from sfumato.verify.kernel.merge import merged
from sfumato.verify.kernel.polynomial import Poly, number
from sfumato.verify.kernel.proof import Proof, fraction_of
from sfumato.verify.kernel.redraws import made_again, redrawn
from sfumato.verify.kernel.renyi import SYMMETRIC, check_renyi, within_renyi
from sfumato.verify.kernel.returns import one_return
from sfumato.verify.kernel.rounds import joint_loop, quiet_loop, round_by_round
from sfumato.verify.kernel.tails import check_tail
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.kernel.values import Boolean, PairedList, PairedNumber, Value
from sfumato.verify.tree import (
    Again,
    Assign,
    Binary,
    Draw,
    Expr,
    FunctionCall,
    If,
    Num,
    Program,
    Return,
    Skip,
    Stmt,
    Var,
    While,
    names,
    statements,
)


def is_quiet(body: tuple[Stmt, ...]) -> bool:
    """No draw, no return, no loop: two runs may pass on different ways."""
    return not any(isinstance(statement, Draw | Return | While | Again) for statement in statements(body))


class Product:
    """Two runs of a program, step by step."""

    def __init__(self, program: Program, proof: Proof) -> None:
        loops = {part.number for part in statements(program.body) if isinstance(part, While)}
        endless = frozenset(loops - proof.ranks.keys() - proof.unrolled)
        self.endless = endless
        program = counted_coins(program) if proof.counted else program
        if proof.redrawn:
            if proof.pointwise or proof.one_return or proof.gauss is not None:
                raise NoProofRule("redrawn noise is covered for all outputs at once, and without Gaussian noise")
            program = redrawn(program)
        self.again = made_again(program)  # draws that cost twice, because they may be made again
        self.latest: int | None = None  # the draw that was made last
        self.program = late(one_return(program) if proof.one_return else program, endless)
        self.last: While | None = None  # the loop of a draw that is made last
        if proof.last is not None:
            self.program = with_ghosts(self.program, *proof.last[:3])
            self.last = check_last(self.program, proof)
        self.proof = proof
        self.runs = Evaluator(self.program, proof.direction)
        self.terms, self.conditions, self.steps = self.runs.terms, self.runs.conditions, self.runs.steps
        self.kinds = kinds_of(self.program)
        self.curve: tuple[int, PairedNumber, Poly] | None = None
        self.curves: dict[int, Poly] = {}  # of draws in a Rényi claim
        self.invariants: dict[str, Any] = {}  # as they are assumed at the head of their loop

    def run(self) -> None:
        """Go through the program; afterwards `conditions` holds all that has to be checked."""
        self.runs.inputs.start()
        self._pin_parameters()
        start = State(dict(self.runs.inputs.values), {}, [])
        for required in self.program.requires:
            truth = self.runs.truth(required, start)
            self.runs.facts.require(truth.one, truth.two)
        self.base = tuple(self.runs.facts)
        if self.proof.case is not None:
            case = self.runs.truth(self.proof.case, start)
            if not case.one.eq(case.two):
                raise NoProofRule("a case is the same for both inputs")
            self.runs.facts.require(case.one)
        self.units: dict[int, Poly] = {}
        self.squared: set[int] = set()  # draws that are charged by the square of their shift
        for statement in statements(self.program.body):
            if isinstance(statement, Draw):
                if self.program.renyi:
                    if statement.law in SYMMETRIC and statement.number not in self.proof.curved:
                        self.squared.add(statement.number)
                elif statement.law == "Gauss" and self.proof.gauss is not None:
                    self.squared.add(statement.number)
                start.spent[statement.number] = number(0)
                unit = self.proof.units.get(statement.number)
                self.units[statement.number] = self.unit(unit, start) if unit is not None else number(1)
        if self.proof.pointwise:
            answer = self.runs.terms.fresh("answer", whole=True)
            self.runs.ghosts["#answer"] = PairedNumber(answer, answer, True)
            if any("#second" in names(shift) for shift in self.proof.shifts.values()):
                second = self.runs.terms.fresh("second", whole=True)
                self.runs.ghosts["#second"] = PairedNumber(second, second, True)
        if self.last is not None:
            moved = self.runs.unknown("last", whole=False)
            self.runs.ghosts[LAST] = PairedNumber(moved, moved, False)
        self.start = start
        self._check_claim()
        check_renyi(self)
        self.curve = None if self.proof.curve is None else check_curve(self)
        if self.proof.bell:
            check_bell(self)
        if self.proof.tail is not None:
            check_tail(self)
        if self.proof.normal is not None:
            self._check_normal(self.proof.normal)
        if self.block(self.program.body, start.copy()) is not None:
            raise NoProofRule("a path without return")

    def _pin_parameters(self) -> None:
        """A public parameter that is required to be a number is that number from now on."""
        public = {"eps", "delta"} | {param.name for param in self.program.params if not param.private}
        todo = list(self.program.requires)
        while todo:
            match todo.pop():
                case Binary(op="&&", left=left, right=right):
                    todo += [left, right]
                case Binary(
                    op="=", left=FunctionCall(name="size", args=(Var(name=name),)), right=Num(value=length)
                ) if name in self.runs.inputs.sizes and length >= 0:
                    size = self.runs.inputs.sizes[name]
                    if size.one == size.two and size.one.constant is None:
                        self.runs.inputs.require(size.one - number(length), "=")
                        self.runs.inputs.sizes[name] = PairedNumber(number(length), number(length), True)
                case (
                    Binary(op="=", left=Var(name=name), right=other) | Binary(op="=", left=other, right=Var(name=name))
                ) if name in public and not names(other):
                    before, value = self.runs.inputs.values[name], self.runs.bound(other)
                    if (
                        isinstance(before, PairedNumber)
                        and value.one.constant is not None
                        and before.one.constant is None
                    ):
                        self.runs.inputs.require(before.one - value.one, "=")
                        self.runs.inputs.values[name] = PairedNumber(value.one, value.one, before.whole and value.whole)

    def _check_claim(self) -> None:
        """No part of a claim is negative, whatever the parameters are: also equal inputs are adjacent, and one event is
        that anything happens, so nothing keeps within a negative claim. This holds before any path is chosen.
        """
        for part in self.program.claim:
            claimed = self.runs.number(part, self.start)
            goal = self.runs.compare(claimed, ">=", self.start)[0]
            label = "the claim is not negative"
            self.runs.require("claim", label, at=part.at, state=self.start, goal=goal)

    def unit(self, node: Expr, state: State) -> Poly:
        """A public positive number that does not change."""
        found = self.runs.number(node, state)
        if found.one != found.two:
            raise NoProofRule("a unit is public")
        self.runs.require("unit", "a unit is positive", at=0, state=state, goal=self.runs.compare(found, ">", state)[0])
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
                state.values[name] = self.runs.value(value, state)
                return state
            case Draw():
                lastly.begins(self, statement, state)
                shifted_draw(self, statement, state)
                self.latest = statement.number
                return state
            case Return():
                self._return(statement, state)
                return None
            case If():
                return self._if(statement, state)
            case While(body=body):
                if statement.number in self.proof.unrolled:
                    return round_by_round(self, statement, state)
                if is_quiet(body):
                    return quiet_loop(self, statement, state)
                after = joint_loop(self, statement, state)
                if statement == self.last:
                    lastly.ends(self, after, statement.at)
                return after
            case Again():
                return self._again(statement, state)
            case Skip(moved=moved, test=test):
                if moved is not None and test is not None:
                    check_allowed(self, moved, test, state)
                return state
        raise NoProofRule("a statement of an unknown kind")

    def _again(self, statement: Again, state: State) -> State:
        """Both runs accept what was drawn, or none of them does (redraws.py)."""
        if state.own[0] or state.own[1] or self.latest != statement.number:
            raise NoProofRule("what is made again is the last draw, by both runs together")
        test = self.runs.truth(statement.test, state)
        goal = self.runs.terms.true if test.one.eq(test.two) else test.one == test.two
        label = "both runs accept what was drawn, or none of them"
        self.runs.require("path", label, at=statement.at, state=state, goal=goal)
        self.within_claim(statement.at, state, (test.one,))
        state.known.append(z3.Not(test.one))
        return state

    def _return(self, statement: Return, state: State) -> None:
        found = self.runs.value(statement.value, state)
        more: tuple[Any, ...] = ()
        if self.proof.pointwise:
            more = (self._is_answer(found),)
            label = "if run 1 returns the answer, so does run 2"
            self.runs.require("output", label, at=statement.at, state=state, goal=self.runs.equal(found), more=more)
        else:
            self.runs.require(
                "output", "both runs return the same", at=statement.at, state=state, goal=self.runs.equal(found)
            )
        self.within_claim(statement.at, state, more)

    def _is_answer(self, found: Value) -> Any:
        """Whether run 1 returns the answer, or shows it in the list that it returns: and the second one, if the proof
        speaks of it and the list shows one.
        """
        shown = list(found.items) if isinstance(found, PairedList) else [found]
        listed = [item for item in shown if isinstance(item, Boolean) or getattr(item, "whole", False)]
        wanted = [self.runs.ghosts[name] for name in ("#answer", "#second") if name in self.runs.ghosts]
        if not listed:
            raise NoProofRule("pointwise proofs are about whole numbers and truths")
        equal = []
        for item, answer in zip(listed, wanted, strict=False):
            assert isinstance(answer, PairedNumber)
            if isinstance(item, Boolean):
                value = self.runs.terms.choose(item.one, number(1), number(0))
            else:
                assert isinstance(item, PairedNumber)
                value = item.one
            equal.append(self.runs.terms.compare(value - answer.one, "=", lambda _: False))
        return self.runs.terms.all_of(equal)

    def within_claim(self, at: int, state: State, more: tuple[Any, ...]) -> None:
        """What was spent so far is within the claim."""
        if self.program.renyi:
            within_renyi(self, at, state)
            return
        total = number(0)
        for draw, spent in state.spent.items():
            if draw not in self.squared and (self.curve is None or draw != self.curve[0]):
                total = total + spent * self.units[draw]
        claim = [self.runs.number(part, self.start) for part in self.program.claim]
        if self.curve is not None:
            claim[0] = self.curve[1]
        if self.proof.gauss is not None:
            claim[0] = self._within_squares(at, state, more)
        if any(part.one != part.two for part in claim):
            raise NoProofRule("a claim is the same for both inputs")
        over = total * number(self.program.group) - claim[0].one
        goal = self.runs.terms.compare(over, "<=", self.runs.positive(state))
        self.runs.require("cost", "what was spent is within the claim", at=at, state=state, goal=goal, more=more)

    def _within_squares(self, at: int, state: State, more: tuple[Any, ...]) -> PairedNumber:
        """The squares of Gaussian shifts are within their bound; the bound of other costs goes out."""
        assert self.proof.gauss is not None
        pure, most = (self.runs.number(part, self.start) for part in self.proof.gauss)
        if self.proof.pointwise or len(self.program.claim) != 2 or most.one != most.two:
            raise NoProofRule("a Gaussian proof is of a claim (k, delta), for all outputs at once")
        if self.program.group > 1 and pure.one.terms:
            raise NoProofRule("groups are covered for Gaussian noise alone")
        total = number(0)
        for draw in self.squared:
            total = total + state.spent[draw] * self.units[draw]
        over = total * number(self.program.group**2) - most.one
        goal = self.runs.terms.compare(over, "<=", self.runs.positive(state))
        self.runs.require(
            "cost", "the squares of Gaussian shifts are within their bound", at=at, state=state, goal=goal, more=more
        )
        return pure

    def _check_normal(self, said: tuple[Expr, Expr, Expr]) -> None:
        """The claim is never below, and the bound of squares never above, the numbers that the curve is asked about."""
        if self.proof.gauss is None or len(self.program.claim) != 2 or None in map(fraction_of, said):
            raise NoProofRule("numbers of a Gaussian proof")
        least, most, delta = (self.runs.number(part, self.start).one for part in said)
        named = (*self.program.claim, *self.proof.gauss)
        epsilon, claimed, pure, squares = (self.runs.number(part, self.start).one for part in named)
        for value, label in (
            (epsilon - pure - least, "what is left of the claim is never below its number"),
            (most - squares, "the squares are never above their number"),
            (claimed - delta, "delta is never below its number"),
        ):
            goal = self.runs.compare(PairedNumber(value, value, False), ">=", self.start)[0]
            self.runs.require("curve", label, at=self.program.claim[0].at, state=self.start, goal=goal)

    def _if(self, statement: If, state: State) -> State | None:
        test = self.runs.truth(statement.test, state)
        together = test.one.eq(test.two)
        if not together and not is_quiet((*statement.then, *statement.other)):
            if state.own[0] or state.own[1]:
                raise NoProofRule("a block with draws inside of one that runs pass on different ways")
            self.runs.require(
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
        return merged(self, test, then, other, state)
