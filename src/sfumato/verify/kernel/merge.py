"""Verify, kernel: one state from two branches. Comes in: a test and the states after both branches. Goes out: a state.

Each run has the values of the branch that it took. Of a list only is known whether it is the same in both runs: after
branches that runs may take differently it is the same only if they take the same one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import z3

from sfumato.verify.kernel.evaluate import State
from sfumato.verify.kernel.polynomial import Poly, single
from sfumato.verify.kernel.values import Boolean, PairedList, PairedNumber, Stream, Value

if TYPE_CHECKING:
    from sfumato.verify.kernel.product import Product


def merged(product: Product, test: Boolean, then: State, other: State, before: State) -> State:
    """One state from two branches."""
    known = list(before.known)
    more = [branch.known[len(before.known) :] for branch in (then, other)]
    if any(len(part) > 1 for part in more):  # loops inside have left what they know
        known.append(z3.Or(product.runs.terms.all_of(more[0]), product.runs.terms.all_of(more[1])))
    values = {}
    for name in then.values:
        if name in other.values:
            merged = merge(product, test, then.values[name], other.values[name], before)
            if merged is not None:
                values[name] = merged
    spent = {draw: _either(product, test.one, amount, other.spent[draw], before) for draw, amount in then.spent.items()}
    return State(values, spent, known, before.own)


def _either(product: Product, test: Any, first: Poly, second: Poly, before: State) -> Poly:
    """The value of the branch that was taken. A divisor of one branch alone may be zero on the other.

    It is then not taken out of the choice: the value is a new unknown v with v * divisor = dividend on that branch.
    """
    own = first.divisors.keys() ^ second.divisors.keys()
    sure = all(
        product.runs.terms.proves([*product.runs.facts, *before.known], product.runs.terms.atoms[atom] != 0)
        for atom in own
    )
    if first == second or sure:
        return product.runs.terms.choose(test, first, second)
    found = product.runs.terms.fresh("either", whole=False)
    for one, taken in ((first, test), (second, z3.Not(test))):
        below = single(tuple(sorted(one.divisors.items())))
        divides = [product.runs.terms.atoms[atom] != 0 for atom in one.divisors]
        equal = product.runs.terms.term(found * below) == product.runs.terms.term(one * below)
        meant = z3.Implies(product.runs.terms.all_of([taken, *divides]), equal)
        product.runs.facts.define(product.runs.terms.term(found), meant)
    return found


def merge(product: Product, test: Boolean, then: Value, other: Value, before: State) -> Value | None:
    """One value from two; None if they are of different kinds, and then it must not be read."""
    if _is_one(then, other):
        return then
    if isinstance(then, PairedNumber) and isinstance(other, PairedNumber):
        one = _either(product, test.one, then.one, other.one, before)
        two = _either(product, test.two, then.two, other.two, before)
        return PairedNumber(one, two, then.whole and other.whole)
    if isinstance(then, Boolean) and isinstance(other, Boolean):
        return Boolean(z3.If(test.one, then.one, other.one), z3.If(test.two, then.two, other.two))
    if isinstance(then, PairedList | Stream) and isinstance(other, PairedList | Stream):
        first, second = product.runs.stream(then), product.runs.stream(other)
        same = z3.If(test.one, first.same, second.same)
        if not test.one.eq(test.two):
            same = z3.And(same, test.one == test.two)
        length = merge(product, test, first.length, second.length, before)
        assert isinstance(length, PairedNumber)
        return Stream(same, length)
    return None


def _is_one(then: Value, other: Value) -> bool:
    """Whether both branches leave the same value. Streams that say the same need not be the same: each says only that
    it is equal in both runs, and the runs may be on different branches.
    """
    if isinstance(then, PairedList) and isinstance(other, PairedList) and len(then.items) == len(other.items):
        return all(map(_is_one, then.items, other.items))
    return then is other or (not isinstance(then, Stream | PairedList) and then == other)
