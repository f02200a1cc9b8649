"""Verify, prover: guesses about counters. Comes in: states at the beginning of rounds. Goes out: candidates.

Whole numbers (and sizes of lists) from where they start, up to parameters and sizes, below each other, what changes
with the first round, and how far the loop's own test can be overstepped; of the second run too, where it counts
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from sfumato.verify.kernel.kinds import kinds_of
from sfumato.verify.prover.loops import comparisons
from sfumato.verify.prover.quantity import Quantity, implies
from sfumato.verify.prover.rewrite import ZERO, folded, minus
from sfumato.verify.tree import Binary, Expr, FunctionCall, Num, Unary, Var, names

if TYPE_CHECKING:
    from sfumato.verify.prover.guess import LoopCandidates


def counted(guess: LoopCandidates) -> Iterator[Expr]:
    """All candidates about counters."""
    for name, node in guess.tallies:
        start = guess.start(name)
        runs: list[Expr] = [node]
        if guess.quantity(FunctionCall("#shift", (node,))).values.any():
            runs.append(FunctionCall("#two", (node,)))
        elif node != Var(name):
            yield Binary("=", FunctionCall("#shift", (node,)), ZERO)
        for run in runs:
            counter = guess.quantity(run)
            yield from _ends(guess, counter, start)
            yield from _below(guess, name, counter)
    yield from _begun(guess)
    yield from _flagged(guess)
    yield from _overstepped(guess)


def _ends(guess: LoopCandidates, counter: Quantity, start: Quantity | None) -> Iterator[Expr]:
    """From where it starts, from 0, up to parameters and sizes."""
    if start is not None and (counter.values >= start.values).all():
        yield Binary(">=", counter.node, start.node)
    if start is not None and (counter.values <= start.values).all():
        yield Binary("<=", counter.node, start.node)
    if counter.values.min() == 0:
        yield Binary(">=", counter.node, ZERO)
    kinds = kinds_of(guess.program)
    ends: list[Expr] = [Var(name) for name in sorted(guess.fixed) if kinds.get(name) == "int"]
    ends += [
        FunctionCall("size", (Var(param.name),))
        for param in guess.program.params
        if param.type.kind == "list" and param.name in guess.fixed
    ]
    for end in ends:
        if (counter.values - guess.quantity(end).values).max() == 0:
            yield Binary("<=", counter.node, end)


def _below(guess: LoopCandidates, name: str, counter: Quantity) -> Iterator[Expr]:
    """Not above another counter; below it once that has begun; begun once that has."""
    for other, node in guess.tallies:
        if other == name:
            continue
        there = guess.quantity(node).values
        gap = counter.values - there
        if gap.max() in (0, -1):
            yield Binary("<=", counter.node, node)
        if (there > 0).any() and counter.values.min() == 0 and counter.values[there > 0].min() > 0:
            yield implies(Binary(">", node, ZERO), Binary(">", counter.node, ZERO))
        start = guess.start(other)
        for least in dict.fromkeys((ZERO, folded(start.node) if start is not None else ZERO)):
            if guess.start(name) is not None and isinstance(least, Num):
                later = there > float(least.value)
                if later.any() and gap[later].max() < 0:
                    yield implies(Binary(">", node, least), Binary("<", counter.node, node))


def _flagged(guess: LoopCandidates) -> Iterator[Expr]:
    """Counters that are below a parameter, or not, while a truth holds."""
    kinds = kinds_of(guess.program)
    flags = [name for name in guess.moving if kinds.get(name) == "bool"]
    ends = [Var(name) for name in sorted(guess.fixed) if kinds.get(name) == "int"]
    for flag, (_, node), end in product(flags, guess.tallies, ends):
        truth = guess.quantity(Var(flag)).values == 1.0
        below = guess.quantity(node).values < guess.quantity(end).values
        for held, guard in ((truth, Var(flag)), (~truth, Unary("!", Var(flag)))):
            if held.any() and not held.all() and below[held].all():
                yield implies(guard, Binary("<", node, end))


def _begun(guess: LoopCandidates) -> Iterator[Expr]:
    """What changes with the first round: numbers that are greater from then on, in each run, and truths."""
    kinds = kinds_of(guess.program)
    for name, step in guess.steps.items():
        start = guess.start(name)
        if start is None:
            continue
        begun = guess.quantity(Var(name)).values != start.values
        later = Binary("<" if step < 0 else ">", Var(name), start.node)
        if begun.all() or not begun.any():
            continue
        for other in guess.whole:
            for node in (Var(other), FunctionCall("#two", (Var(other),))):
                values = guess.quantity(node).values
                gap = (values - guess.quantity(Var(name)).values)[begun]
                if other != name and (gap.min() > 0 or gap.max() < 0):
                    yield implies(later, Binary(">" if gap.min() > 0 else "<", node, Var(name)))
                least, first = values[begun].min(), values[~begun]
                if other != name and least > first.max() == first.min():
                    yield implies(later, Binary(">=", node, Num(Fraction(int(least)))))
                    yield implies(Unary("!", later), Binary("=", node, Num(Fraction(int(first[0])))))
        for flag in guess.moving:
            if kinds.get(flag) == "bool":
                values = guess.quantity(Var(flag)).values == 1.0
                if (values == begun).all() or (values != begun).all():
                    yield Binary("=", Var(flag), later if (values == begun).all() else Unary("!", later))


def _overstepped(guess: LoopCandidates) -> Iterator[Expr]:
    """How far the loop's own test can be overstepped."""
    moving = {name for name, _ in guess.tallies} | set(guess.numbers)
    for left, right in comparisons(guess.loop.test):
        gap = minus(left, right)
        if any(name in guess.scales for name in names(gap)):
            unit = next(guess.scales[name] for name in sorted(names(gap)) if name in guess.scales)
            gap = minus(Binary("/", left, unit), Binary("/", right, unit))
        if names(gap) <= guess.fixed | moving:
            most = guess.quantity(gap).values.max()
            yield Binary("<=", gap, Num(Fraction(round(most * 4), 4)))
