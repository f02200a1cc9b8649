"""Verify, prover: what the text of a loop says. Comes in: a loop. Goes out: what a round adds, what falls with every
round.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sfumato.verify.prover.rewrite import ONE, ZERO, linear, minus, plus
from sfumato.verify.tree import Assign, Binary, Call, Expr, If, Num, Stmt, Unary, Var, While, changed, names


def effects_of(body: tuple[Stmt, ...]) -> dict[str, Expr]:
    """What one round adds to each variable, where the body says so: `x := x + e`, also under a test."""
    found: dict[str, Expr] = {}
    for statement in body:
        if isinstance(statement, Assign):
            split = linear(statement.value, statement.name)
            if split is not None and split[0] == 1 and statement.name not in found:
                found[statement.name] = split[1]
            else:
                found.pop(statement.name, None)
        elif isinstance(statement, If):
            then, other = effects_of(statement.then), effects_of(statement.other)
            for name in changed((statement,)):
                if name in found or (name in changed(statement.then) and name not in then):
                    found.pop(name, None)
                elif name not in changed(statement.other) or name in other:
                    found[name] = Call("#if", (statement.test, then.get(name, ZERO), other.get(name, ZERO)))
    return found


def added_by(effects: dict[str, Expr]) -> set[Expr]:
    """The numbers that a round may add under a test."""
    return {
        part
        for node in effects.values()
        if isinstance(node, Call) and node.name == "#if"
        for part in node.args[1:]
        if isinstance(part, Num) and part.value
    }


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
    for flag in _flags(loop.test):
        rank = plus(rank, Call("#if", (Var(flag), ZERO, ONE)))
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


def conjuncts(test: Expr) -> list[Expr]:
    """The parts of a test that must all hold."""
    if isinstance(test, Binary) and test.op == "&&":
        return [*conjuncts(test.left), *conjuncts(test.right)]
    return [test]


def _flags(test: Expr) -> list[str]:
    """Truths that end a loop when they come true."""
    return [
        part.arg.name
        for part in conjuncts(test)
        if isinstance(part, Unary) and part.op == "!" and isinstance(part.arg, Var)
    ]
