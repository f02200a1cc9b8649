"""Verify, kernel: loops of two runs. Comes in: a loop, its invariants, and a state. Goes out: the state after it, and
conditions.

A loop that draws is gone round by both runs together. A loop without draws each run goes round as often as it does,
and one may wait for the other. A loop whose tests are known is gone through round by round. Why this is right is said
in product.py.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import z3

from sfumato.verify.kernel.evaluate import PathStep, State
from sfumato.verify.kernel.merge import merge
from sfumato.verify.kernel.polynomial import number
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.kernel.values import Boolean, PairedNumber, Stream, Value
from sfumato.verify.tree import Binary, Draw, Expr, FunctionCall, Num, Var, While, changed, statements

if TYPE_CHECKING:
    from sfumato.verify.kernel.product import Product

ROUNDS = 64
"""A loop is gone through round by round for at most so many."""


def _head(product: Product, loop: While, state: State) -> State:
    """Check the invariants at entry, forget what the loop may change, and assume the invariants."""
    invariants = product.proof.invariants.get(loop.number, ())
    for place, invariant in enumerate(invariants):
        goal = product.runs.holds(invariant, state)
        product.runs.require("entry", f"{loop.number}:{place}", at=loop.at, state=state, goal=goal)
    equal = {_equality(invariant) for invariant in invariants}
    _keeps_kinds(product, loop, state)
    head = state.copy()
    for name in sorted(changed(loop.body)):
        if name in head.values:
            head.values[name] = _forgotten(product, loop, head, name, equal=name in equal)
    for statement in statements(loop.body):
        if isinstance(statement, Draw):
            head.spent[statement.number] = product.runs.unknown(f"spent{statement.number}", whole=False)
    before = (*product.runs.facts, *head.known)
    for place, invariant in enumerate(invariants):
        assumed = product.runs.holds(invariant, head)
        head.known.append(assumed)
        product.invariants[f"{loop.number}:{place}"] = assumed
    if invariants:
        after = (*product.runs.facts, *head.known)
        product.runs.steps.append(PathStep("the invariants of a loop", loop.at, before, after))
    return head


def _forgotten(product: Product, loop: While, head: State, name: str, *, equal: bool) -> Value:
    """Any value of a variable's kind; the same in both runs where an invariant says so."""
    kind, runs = product.kinds.get(name), product.runs
    if kind in ("int", "real"):
        unit = number(1)
        if name in product.proof.scales and kind == "real":
            unit = product.unit(product.proof.scales[name], product.start)
        one = unit * runs.unknown(name, whole=kind == "int")
        two = one if equal else unit * runs.unknown(f"{name}@2", whole=kind == "int")
        return PairedNumber(one, two, kind == "int")
    if kind == "bool":
        first = runs.unknown_truth(name)
        return Boolean(first, first if equal else runs.unknown_truth(f"{name}@2"))
    if kind != "list":
        raise NoProofRule(f'"{name}" holds values of different kinds')
    length, label = runs.unknown(f"size_{name}", whole=True), f"any list {name}"
    if equal:
        runs.learn(label, loop.at, head, runs.says(length, ">="))
        return Stream(runs.terms.true, PairedNumber(length, length, True))
    other, same = runs.unknown(f"size_{name}@2", whole=True), runs.unknown_truth(f"same_{name}")
    lengths = runs.says(length, ">="), runs.says(other, ">="), z3.Implies(same, runs.says(length - other, "="))
    runs.learn(label, loop.at, head, *lengths)
    return Stream(same, PairedNumber(length, other, True))


def _keeps_kinds(product: Product, loop: While, state: State) -> None:
    """Refuse a state whose values are not of the kinds that `_forgotten` gives them at the head of the loop."""
    for name in changed(loop.body):
        value, kind = state.values.get(name), product.kinds.get(name)
        fits = (
            value is None
            or (kind == "int" and isinstance(value, PairedNumber) and value.whole)
            or (kind == "real" and isinstance(value, PairedNumber))
            or (kind == "bool" and isinstance(value, Boolean))
            or (kind == "list" and not isinstance(value, PairedNumber | Boolean))
        )
        if not fits:
            raise NoProofRule(f'"{name}" holds values of different kinds')


def _kept(product: Product, loop: While, after: State) -> None:
    _keeps_kinds(product, loop, after)
    for place, invariant in enumerate(product.proof.invariants.get(loop.number, ())):
        goal = product.runs.holds(invariant, after)
        product.runs.require("step", f"{loop.number}:{place}", at=loop.at, state=after, goal=goal)


def round_by_round(product: Product, loop: While, state: State | None) -> State | None:
    """A loop whose test is known in every round, and the same in both runs."""
    for _ in range(ROUNDS):
        if state is None:
            return None
        test = product.runs.truth(loop.test, state)
        one, two = z3.simplify(test.one), z3.simplify(test.two)
        if z3.is_false(one) and z3.is_false(two):
            return state
        if not z3.is_true(one) or not z3.is_true(two):
            break
        state = product.block(loop.body, state)
    raise NoProofRule("a loop whose rounds are not known")


def joint_loop(product: Product, loop: While, state: State) -> State:
    """A loop that draws, returns or has loops inside, or that need not end: both runs go round together."""
    if state.own[0] or state.own[1]:
        raise NoProofRule("a loop inside of a block that runs pass on different ways")
    head = _head(product, loop, state)
    test = product.runs.truth(loop.test, head)
    product.runs.require(
        "path",
        "both runs go round as often",
        at=loop.at,
        state=head,
        goal=product.runs.terms.true if test.one.eq(test.two) else test.one == test.two,
    )
    inside = head.copy()
    inside.known.append(test.one)
    rank = _rank(product, loop, head)
    if rank is None:
        if product.proof.pointwise:
            raise NoProofRule("a loop without a rank")
        product.within_claim(loop.at, head, (test.one,))
    else:
        product.runs.require(
            "rank",
            "the rank is not negative",
            at=loop.at,
            state=inside,
            goal=product.runs.compare(rank, ">=", inside)[0],
        )
    after = product.block(loop.body, inside)
    if after is not None:
        _kept(product, loop, after)
        if rank is not None:
            _falls(product, loop, rank, after, (product.runs.terms.true,))
    head.known.append(z3.Not(test.one))
    return head


def _rank(product: Product, loop: While, head: State) -> PairedNumber | None:
    rank = product.proof.ranks.get(loop.number)
    return None if rank is None else product.runs.number(rank, head)


def _falls(product: Product, loop: While, rank: PairedNumber, after: State, goes: tuple[Any, ...]) -> None:
    """The rank falls by at least 1 in every run that goes round."""
    now = product.runs.number(product.proof.ranks[loop.number], after)
    less = PairedNumber(now.one - rank.one + number(1), now.two - rank.two + number(1), True)
    falls = product.runs.compare(less, "<=", after)
    for run in range(len(goes)):
        product.runs.require("rank", "the rank falls", at=loop.at, state=after, goal=falls[run], more=(goes[run],))


def quiet_loop(product: Product, loop: While, state: State) -> State:
    """A loop without draws: each run goes round as often as it does, one of them may wait for the other. Without a
    rank it need not end, and both go round together.
    """
    if loop.number not in product.proof.ranks:
        return joint_loop(product, loop, state)
    if state.own[0] or state.own[1]:
        raise NoProofRule("a loop inside of a block that runs pass on different ways")
    head = _head(product, loop, state)
    test = product.runs.truth(loop.test, head)
    rank = _rank(product, loop, head)
    assert rank is not None
    inside = head.copy()
    goes = _goes(product, loop, test, head)
    together = goes.one.eq(goes.two)
    if together:
        inside.known.append(goes.one)
    else:
        inside.known.append(z3.Or(goes.one, goes.two))
        inside.own[0].append(goes.one)
        inside.own[1].append(goes.two)
    bound = product.runs.compare(rank, ">=", inside)
    for run in (0, 1):
        going = (goes.one, goes.two)[run]
        product.runs.require(
            "rank", "the rank is not negative", at=loop.at, state=inside, goal=bound[run], more=(going,)
        )
    after = product.block(loop.body, inside)
    assert after is not None
    if not together:
        moved = {
            name: merged
            for name, value in after.values.items()
            if name in head.values and (merged := merge(product, goes, value, head.values[name], head)) is not None
        }
        after = State(moved, after.spent, [*after.known], ([], []))
    _kept(product, loop, after)
    _falls(product, loop, rank, after, (goes.one, goes.two))
    head.known += [z3.Not(test.one)] if test.one.eq(test.two) else [z3.Not(test.one), z3.Not(test.two)]
    return head


def _goes(product: Product, loop: While, test: Boolean, head: State) -> Boolean:
    """Which runs go round: all that are not over, but for one that waits for the other."""
    if loop.number not in product.proof.waits:
        return test
    waits = product.runs.holds(product.proof.waits[loop.number], head)
    first = product.proof.direction == "more"  # the run with the shorter list waits
    one = z3.And(test.one, z3.Not(waits)) if first else test.one
    two = test.two if first else z3.And(test.two, z3.Not(waits))
    some = z3.Implies(z3.Or(test.one, test.two), z3.Or(one, two))
    product.runs.require("rank", "while a run goes on, one of them goes", at=loop.at, state=head, goal=some)
    return Boolean(one, two)


def _equality(node: Expr) -> str | None:
    """The variable of which an invariant says that it is the same in both runs."""
    match node:
        case Binary(op="=", left=FunctionCall(name="#shift", args=(Var(name=name),)), right=Num(value=value)) if (
            value == Fraction(0)
        ):
            return name
        case FunctionCall(name="#same", args=(Var(name=name),)):
            return name
    return None
