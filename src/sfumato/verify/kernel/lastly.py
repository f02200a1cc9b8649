"""Verify, kernel: a draw of a loop that is thought of as made last. Comes in: a program and a proof. Goes out: the
program with ghosts that say what the other rounds drew, and conditions.

In pointwise proofs the noise of the round that gives the answer may be moved by how far the best of all other rounds
moves, also of those that come later: the gap between the best and the second best is then the same in both runs.

Guarantee: if all conditions hold, Pr[P(x) in E] <= e^claim Pr[P(x') in E], as in product.py.
Proof: fix the answer O. Let the loop have one draw, made once in every round, and let its round be special where i =
    O, for a counter i that is only ever one more: so at most one round is special. How often the loop goes round, the
    law's arguments and how far other rounds are moved read nothing that the loop changes, but for i. `#most` is the
    greatest (or the least) v(i, h) of the other rounds, with v = x + h where x reads nothing that the loop changes,
    but for i; so #most, in either run, is a function of what was drawn before the loop and of the other rounds'
    noise. The special noise is moved by A, where A is an expression of #most, in both runs, and of what the loop does
    not change: a function of the same. Ordered so that the special noise comes after all others of its loop, and
    before all that is drawn after the loop, the map of noises is triangular, and a translation in each coordinate: it
    is one to one and keeps measure. A is an unknown number until the loop ends, where it is what the expression says;
    whatever is shown of all numbers is shown of that one. No other shift reads it or #most. Given all else, the
    special v is equal to #most of the first run for one noise alone, which has no chance: this is left out.
Reference: Ding, Wang, Zhang, Kifer, VLDB 2019 (free gap information); Wang, Ding, Kifer, Zhang, CCS 2020.
Checked by: verify::a_gap_is_free, verify::what_is_made_last_reads_nothing_of_its_loop
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import z3

from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.kernel.values import Boolean, PairedNumber
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
    Stmt,
    TruthLiteral,
    Var,
    While,
    changed,
    names,
    statements,
    walk,
)

if TYPE_CHECKING:
    from sfumato.verify.kernel.evaluate import State
    from sfumato.verify.kernel.product import Product
    from sfumato.verify.kernel.proof import Proof

ANSWER, LAST, MOST, OWN, SEEN, PASSED = "#answer", "#last", "#most", "#own", "#seen", "#passed"
ONE = Num(Fraction(1))


def with_ghosts(program: Program, site: int, word: str, base: Expr) -> Program:
    """The program that keeps the greatest (`max`) or least (`min`) `base` + noise of rounds that are not the answer's,
    and the answer's own.
    """
    if word not in ("max", "min"):
        raise NoProofRule("what is made last is compared with the greatest or the least")
    place = next((k for k, part in enumerate(program.body) if isinstance(part, While) and _drawn(part, site)), None)
    if place is None:
        raise NoProofRule("what is made last is a draw of a loop")
    loop = program.body[place]
    assert isinstance(loop, While)
    at, draw = next((k, part) for k, part in enumerate(loop.body) if isinstance(part, Draw))
    assert isinstance(draw, Draw)
    value = Binary("+", base, Var(draw.name))
    greater = FunctionCall(word, (Var(MOST), value))
    more = If(Var(SEEN), (Assign(MOST, greater),), (Assign(MOST, value), Assign(SEEN, TruthLiteral(True))))
    special = (Assign(OWN, value), Assign(PASSED, TruthLiteral(True)))
    ghosts = If(Binary("=", Var(counter_of(loop)), Var(ANSWER)), special, (more,))
    body = (*loop.body[: at + 1], ghosts, *loop.body[at + 1 :])
    zero = Num(Fraction(0))
    begun: tuple[Stmt, ...] = (
        *(Assign(name, zero) for name in (MOST, OWN)),
        *(Assign(name, TruthLiteral(False)) for name in (SEEN, PASSED)),
    )
    return replace(program, body=(*program.body[:place], *begun, replace(loop, body=body), *program.body[place + 1 :]))


def _drawn(loop: While, site: int) -> bool:
    return any(isinstance(part, Draw) and part.number == site for part in loop.body)


def counter_of(loop: While) -> str:
    """The variable that a loop makes one more in every round, and that nothing else in it changes."""
    for part in loop.body:
        match part:
            case Assign(name=name, value=Binary(op="+", left=Var(name=left), right=right)) if (
                name == left and right == ONE
            ):
                inside = [other for other in statements(loop.body) if name in changed((other,))]
                if inside == [part] and name in names(loop.test):
                    return name
    raise NoProofRule("a loop whose rounds are counted")


def check_last(program: Program, proof: Proof) -> While:
    """Refuse whatever the rule is not about; `program` has the ghosts."""
    assert proof.last is not None
    site, _, base, moved = proof.last
    loop = next(part for part in program.body if isinstance(part, While) and _drawn(part, site))
    inside = list(statements(loop.body))
    draws = [part for part in inside if isinstance(part, Draw)]
    if len(draws) != 1 or draws[0].law != "Laplace" or draws[0] not in loop.body:
        raise NoProofRule("one draw of Laplace noise in every round")
    if any(isinstance(part, Return | While | Again) for part in inside) or proof.redrawn or not proof.pointwise:
        raise NoProofRule("a loop without returns and loops, for each answer")
    if proof.curve is not None or proof.tail is not None or proof.gauss is not None or proof.one_return:
        raise NoProofRule("what is made last is not paid with delta")
    if loop.number in proof.unrolled:
        raise NoProofRule("what is made last is followed by invariants")
    counter = counter_of(loop)
    touched = changed(loop.body) - {counter}
    match proof.shifts.get(site):
        case FunctionCall(
            name="#if", args=(Binary(op="=", left=Var(name=left), right=Var(name="#answer")), special, home)
        ):
            if left != counter or special != Var(LAST) or _ghosts(home) - {ANSWER}:
                raise NoProofRule("what is moved last is the answer's round")
        case _:
            raise NoProofRule("what is moved last is the answer's round")
    for node in (loop.test, *draws[0].args, base, home):
        if names(node) & touched:
            raise NoProofRule("what is made last is read by nothing that it is made from")
    if _ghosts(base) or _ghosts(moved) - {MOST, ANSWER} or names(moved) & (changed(loop.body) - {MOST}):
        raise NoProofRule("how far the last draw is moved reads what others drew")
    others = [node for number, node in proof.shifts.items() if number != site]
    if any(names(node) & {LAST, MOST, OWN, SEEN, PASSED} for node in others):
        raise NoProofRule("how far the last draw is moved is read by no other")
    if any(draw.number == site and draw not in draws for draw in statements(program.body) if isinstance(draw, Draw)):
        raise NoProofRule("one draw of this number")
    return loop


def _ghosts(node: Expr) -> set[str]:
    """Words that no text can name, but for those that compare two runs."""
    called = {part.name for part in walk(node) if isinstance(part, FunctionCall) and part.name.startswith("#")}
    return {name for name in names(node) if name.startswith("#")} | called - {"#shift", "#two", "#if"}


def begins(product: Product, draw: Draw, state: State) -> None:
    """At the draw: both runs count their rounds alike, so that one round is the answer's in both."""
    if product.proof.last is None or product.proof.last[0] != draw.number:
        return
    assert product.last is not None
    counter, runs = product.runs.number(Var(counter_of(product.last)), state), product.runs
    runs.require("path", "rounds are counted alike", at=draw.at, state=state, goal=runs.equal(counter))


def ends(product: Product, state: State, at: int) -> None:
    """After the loop: how far the last draw was moved, and that it was not just as great as the greatest of others."""
    assert product.proof.last is not None
    runs = product.runs
    moved = runs.said(product.proof.last[3], state)
    last, own, most = runs.ghosts[LAST], state.values[OWN], state.values[MOST]
    both = [state.values[name] for name in (SEEN, PASSED)]
    if not all(isinstance(value, PairedNumber) for value in (moved, last, own, most)):
        raise NoProofRule("how far a draw is moved is a number")
    assert isinstance(moved, PairedNumber)
    assert isinstance(last, PairedNumber)
    assert isinstance(own, PairedNumber)
    assert isinstance(most, PairedNumber)
    made = runs.terms.all_of([value.one for value in both if isinstance(value, Boolean)])
    runs.learn("how far the last draw is moved", at, state, runs.says(last.one - moved.one, "="))
    runs.learn("no two are the same", at, state, z3.Implies(made, runs.says(own.one - most.one, "!=")))
