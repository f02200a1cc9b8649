"""Verify, prover: what the text of a loop says. Comes in: a loop. Goes out: what a round adds, what falls with every
round.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

from sfumato.verify.prover.rewrite import ONE, ZERO, folded, linear, minus, plus, replaced
from sfumato.verify.tree import (
    Assign,
    Binary,
    Expr,
    FunctionCall,
    If,
    Num,
    Stmt,
    Unary,
    Var,
    While,
    changed,
    conjuncts,
    expressions,
    names,
    walk,
)

LATER = "#later"
"""What a round draws, or a loop inside of it computes."""
LONGEST = 400
"""Parts of what a variable is after a round: what is longer is not looked at."""


def after_round(body: tuple[Stmt, ...], by: dict[str, Expr] | None = None) -> dict[str, Expr]:
    """What each variable that a round may change is after it, in terms of what all variables were before."""
    found = dict(by or {})
    for statement in body:
        match statement:
            case Assign(name=name, value=value):
                found[name] = _short(replaced(value, found))
            case If(test=test, then=then, other=other):
                first, second = after_round(then, found), after_round(other, found)
                said = replaced(test, found)
                for name in changed((statement,)):
                    sides = (first.get(name, Var(name)), second.get(name, Var(name)))
                    found[name] = sides[0] if sides[0] == sides[1] else _short(FunctionCall("#if", (said, *sides)))
            case _:
                found |= dict.fromkeys(changed((statement,)), Var(LATER))
    return found


def said_in(body: tuple[Stmt, ...], by: dict[str, Expr] | None = None, of: set[str] | None = None) -> Iterator[Expr]:
    """The expressions of a round (or those that are assigned to some variables), in terms of what all variables were
    before it.
    """
    found = dict(by or {})
    for statement in body:
        if of is None or (isinstance(statement, Assign) and statement.name in of):
            yield from (replaced(node, found) for node in expressions(statement))
        if isinstance(statement, If):
            yield from said_in(statement.then, found, of)
            yield from said_in(statement.other, found, of)
        found = after_round((statement,), found)


def _short(node: Expr) -> Expr:
    return node if sum(1 for _ in islice(walk(node), LONGEST)) < LONGEST else Var(LATER)


def effects_of(body: tuple[Stmt, ...]) -> dict[str, Expr]:
    """What one round adds to each variable, where the body says so: `x := x + e`, also under tests."""
    added = {name: _added(node, name) for name, node in after_round(body).items()}
    return {name: node for name, node in added.items() if node is not None}


def _added(node: Expr, name: str) -> Expr | None:
    match node:
        case FunctionCall(name="#if", args=(test, first, second)) if not names(test) & {name, LATER}:
            sides = [_added(side, name) for side in (first, second)]
            if sides[0] is None or sides[1] is None:
                return None
            return sides[0] if sides[0] == sides[1] else FunctionCall("#if", (test, sides[0], sides[1]))
    split = linear(node, name)
    return None if split is None or split[0] != 1 or LATER in names(split[1]) else folded(split[1])


def comparisons(test: Expr) -> Iterator[tuple[Expr, Expr]]:
    """(less, more) of the comparisons that must all hold."""
    if isinstance(test, Binary):
        if test.op == "&&":
            yield from comparisons(test.left)
            yield from comparisons(test.right)
        elif test.op in ("<", "<="):
            yield test.left, test.right
        elif test.op in (">", ">="):
            yield test.right, test.left


def rank_of(loop: While) -> Expr | None:
    """What falls with every round: the distance of a counter that the body moves to its end, and flags not yet set."""
    moved = {
        statement.name
        for statement in loop.body
        if isinstance(statement, Assign) and statement.name in names(statement.value)
    }
    pairs = [*comparisons(loop.test), *_different(loop)]
    if not pairs:
        return None
    less, more = next(((less, more) for less, more in pairs if (names(less) | names(more)) & moved), pairs[0])
    rank = minus(more, less)
    effects = effects_of(loop.body)
    steps = [effects[name] for name in sorted(names(less)) if name in effects and names(effects[name])]
    if len(steps) == 1 and not names(steps[0]) & changed(loop.body):
        rank = Binary("/", rank, steps[0])  # budgets fall by what is spent in a round
    for flag in _flags(loop.test):
        rank = plus(rank, FunctionCall("#if", (flag, ONE, ZERO)))
    return rank


def _different(loop: While) -> Iterator[tuple[Expr, Expr]]:
    """(less, more) of tests `a != b`, where one side is a counter that goes towards the other."""
    effects = effects_of(loop.body)
    for test in conjuncts(loop.test):
        if isinstance(test, Binary) and test.op == "!=":
            for here, there in ((test.left, test.right), (test.right, test.left)):
                step = effects.get(here.name) if isinstance(here, Var) else None
                if step == ONE:
                    yield here, there
                elif step == Num(Fraction(-1)):
                    yield there, here


def _flags(test: Expr) -> list[Expr]:
    """Truths that end a loop when they change."""
    return [
        part
        for part in conjuncts(test)
        if isinstance(part, Var) or (isinstance(part, Unary) and part.op == "!" and isinstance(part.arg, Var))
    ]
