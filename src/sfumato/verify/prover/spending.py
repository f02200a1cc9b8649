"""Verify, prover: guesses about what was spent. Comes in: states at the beginning of rounds. Goes out: candidates.

What was spent is compared with widths, with how far counters have come, and with parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from sfumato.verify.kernel.kinds import kinds_of
from sfumato.verify.prover.elements import compared
from sfumato.verify.prover.quantity import NEAR, Quantity, passed_once, times
from sfumato.verify.prover.rewrite import ONE, ZERO, minus, scaled
from sfumato.verify.tree import Binary, Expr, FunctionCall, Num, Var

if TYPE_CHECKING:
    from sfumato.verify.prover.guess import LoopCandidates


_OTHER_RATES = (Fraction(1, 2), Fraction(2))


def spendings(guess: LoopCandidates) -> Iterator[Expr]:
    """Candidates about each draw of the loop, and about all of them together."""
    spent = [guess.quantity(Var(f"#spent{number}")) for number in guess.draws]
    total = _total(guess)
    sums = [*spent, *([total] if total is not None else [])]
    steps = [Quantity(ZERO, np.zeros(len(guess.sights)))]
    for width in guess.widths:
        steps += [Quantity(scaled(width.node, Fraction(k)), k * width.values) for k in (1, 2, 4)]
    guards = list(guess.guards())
    for amount in sums:
        yield from guess.guarded(guards, amount, steps)
        yield from _progress(guess, amount)
        yield from _moved_twice(guess, amount)
        yield from _parameters(guess, amount)
        yield from _by_value(guess, amount)
    for number in guess.draws:
        yield from _budgets(guess, number)
    for amount in sums:
        for name in guess.numbers:
            if not guess.quantity(FunctionCall("#shift", (Var(name),))).values.any():
                continue
            shift = FunctionCall("abs", (FunctionCall("#shift", (Var(name),)),))
            both = Quantity(Binary("+", amount.node, shift), amount.values + guess.quantity(shift).values)
            yield from (
                node for node in guess.against(None, both.values == both.values, both, steps[1:]) if _is_most(node)
            )
            yield from _owed(guess, amount, guess.quantity(shift))


def _owed(guess: LoopCandidates, amount: Quantity, shift: Quantity) -> Iterator[Expr]:
    """What was spent, and what a shift still costs where the noise of another branch pays for it at another rate."""
    for rate in _OTHER_RATES:
        both = Quantity(Binary("+", amount.node, scaled(shift.node, rate)), amount.values + float(rate) * shift.values)
        for width in guess.widths:
            wide = width.values > 0
            if wide.any():
                most = Fraction(ceil((both.values[wide] / width.values[wide]).max() * 12 - NEAR), 12)
                if most > 0 and (both.values <= float(most) * width.values + NEAR).all():
                    yield Binary("<=", both.node, scaled(width.node, most))


def _budgets(guess: LoopCandidates, number: int) -> Iterator[Expr]:
    """What was spent is kept in a variable; or what is left to spend is a multiple of one, which stays positive."""
    unit = guess.units[number]
    cost = guess.quantity(times(unit, Var(f"#spent{number}")))
    for name in guess.numbers:
        kept, start = guess.quantity(Var(name)), guess.start(name)
        if name in guess.whole or start is None or (kept.values == start.values).all():
            continue
        if (kept.values > 0).all():
            yield Binary(">", kept.node, ZERO)
        if (cost.values <= kept.values - start.values + NEAR).all():
            yield Binary("<=", cost.node, minus(kept.node, start.node))
        for factor in (1, 2, 4):
            most = guess.quantity(scaled(minus(start.node, kept.node), Fraction(factor)))
            if (cost.values <= most.values + NEAR).all():
                yield Binary("<=", cost.node, most.node)


def _moved_twice(guess: LoopCandidates, amount: Quantity) -> Iterator[Expr]:
    """Under `moves`: at most so much for each of the two places that were passed."""
    if guess.program.adjacent != "moves":
        return
    for name in guess.whole:
        passed = Binary("+", passed_once(name, "#up"), passed_once(name, "#down"))
        if (amount.values <= guess.quantity(passed).values + NEAR).all():
            yield Binary("<=", amount.node, passed)


def _total(guess: LoopCandidates) -> Quantity | None:
    """The draws of this loop together, where their units are multiples of each other."""
    if len(guess.draws) < 2:
        return None
    units = [guess.quantity(guess.units[number]).values for number in guess.draws]
    node: Expr = ZERO
    values = np.zeros(len(guess.sights))
    for number, unit in zip(guess.draws, units, strict=True):
        ratios = unit / units[0]
        ratio = Fraction(round(float(ratios[0]) * 48), 48)
        if np.abs(ratios - float(ratio)).max() > NEAR:
            return None
        part = scaled(Var(f"#spent{number}"), ratio)
        node = part if node == ZERO else Binary("+", node, part)
        values = values + guess.quantity(Var(f"#spent{number}")).values * float(ratio)
    return Quantity(node, values)


def _progress(guess: LoopCandidates, amount: Quantity) -> Iterator[Expr]:
    """At most so much for each step that a counter has made."""
    moving = dict(guess.tallies) | {name: Var(name) for name in guess.numbers}
    for name, moved in moving.items():
        start = guess.start(name)
        if start is None:
            continue
        now, first = moved, start.node
        if name in guess.scales:
            now, first = (Binary("/", part, guess.scales[name]) for part in (now, first))
        steps = guess.quantity(minus(now, first))
        if (steps.values < 0).any():
            steps = guess.quantity(minus(first, now))
        if (steps.values < 0).any() or not (steps.values > 0).any():
            continue
        for width in guess.widths:
            reach = steps.values * width.values
            went = reach > 0
            if not went.any():
                continue
            rate = (amount.values[went] / reach[went]).max()
            factor = Fraction(-int((NEAR - rate) * 12 // 1), 12)
            if factor > 0 and (amount.values <= float(factor) * reach + NEAR).all():
                yield Binary("<=", amount.node, scaled(times(width.node, steps.node), factor))
                last = Fraction(int(steps.values.max()) - 1)  # a loop to a number, whose last round may be for free
                if last > 0 and (amount.values <= float(factor * last) * width.values + NEAR).all():
                    yield Binary("<=", amount.node, scaled(width.node, factor * last))


def _by_value(guess: LoopCandidates, amount: Quantity) -> Iterator[Expr]:
    """Where rounds are told apart by values of the element that differs: so much for each value that was passed, or
    for each round between two of them.
    """
    for name, step in guess.steps.items():
        rises, first = step > 0, Var(name)
        found: list[Expr] = []
        for sign, values in compared(guess.program, guess.loop, name, guess.bench.direction):
            if sign == "=":
                passed = [
                    FunctionCall("#if", (Binary(">" if rises else "<", first, value), ONE, ZERO)) for value in values
                ]
                found.append(passed[0] if len(passed) == 1 else Binary("+", passed[0], passed[1]))
            elif len(values) == 2:
                for here in (first, minus(first, Num(step))):
                    ends = [FunctionCall("min" if rises else "max", (here, value)) for value in values]
                    found.append(FunctionCall("abs", (minus(ends[0], ends[1]),)))
        for node in dict.fromkeys(found):
            most = guess.sparse(node).values
            here = ~np.isnan(most)
            reach = here & (most > 0)
            if not reach.any():
                continue
            rate = (amount.values[reach] / most[reach]).max()
            factor = Fraction(-int((NEAR - rate) * 12 // 1), 12)
            if factor > 0 and (amount.values[here] <= float(factor) * most[here] + NEAR).all():
                yield Binary("<=", amount.node, scaled(node, factor))


def _parameters(guess: LoopCandidates, amount: Quantity) -> Iterator[Expr]:
    """At most a multiple of a parameter, or of one less than it."""
    kinds = kinds_of(guess.program)
    for name in sorted(guess.fixed):
        if kinds.get(name) != "int":
            continue
        for less in (ZERO, ONE):
            end = guess.quantity(minus(Var(name), less))
            for width in guess.widths:
                for factor in (1, 2):
                    most = factor * end.values * width.values
                    if (amount.values <= most + NEAR).all() and (np.abs(amount.values - most) < NEAR).any():
                        yield Binary("<=", amount.node, scaled(times(width.node, end.node), Fraction(factor)))


def _is_most(node: Expr) -> bool:
    return isinstance(node, Binary) and node.op == "<="
