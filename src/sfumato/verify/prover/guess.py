"""Verify, prover: invariants guessed from what was seen. Comes in: states at the beginning of rounds. Goes out:
candidates.

How far a variable moves, what was spent, counters against parameters: each is compared with a few reference values,
over all states and over those before and after the place where inputs differ (or the answer is decided). What held in
every state is a candidate; `houdini.py` keeps those that are true.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from sfumato.verify.kernel.kinds import kinds_of
from sfumato.verify.prover.rewrite import ONE, ZERO, linear, minus, replaced, scaled
from sfumato.verify.prover.sites import widths_of
from sfumato.verify.prover.trial import Bench, Sight
from sfumato.verify.tree import (
    Assign,
    Binary,
    Call,
    Draw,
    Expr,
    If,
    Num,
    Program,
    Stmt,
    Unary,
    Var,
    While,
    changed,
    names,
    statements,
)

Array = Any
_NEAR = 1e-9


@dataclass(frozen=True, slots=True)
class Quantity:
    """An expression of a proof, and its value in every state."""

    node: Expr
    values: Array


class Guess:
    """Candidates for one loop."""

    def __init__(
        self, bench: Bench, loop: While, sights: list[Sight], units: dict[int, Expr], scales: dict[str, Expr]
    ) -> None:
        self.bench = bench
        self.program: Program = bench.program
        self.loop = loop
        self.sights = sights
        self.units = units
        self.scales = scales
        kinds = kinds_of(self.program)
        present = set.intersection(*(set(sight.one) & set(sight.two) for sight in sights))
        self.moving = [name for name in sorted(changed(loop.body)) if name in present]
        self.numbers = [name for name in self.moving if kinds.get(name) in ("int", "real")]
        self.whole = [name for name in self.moving if kinds.get(name) == "int"]
        self.draws = [
            statement.number
            for statement in statements(loop.body)
            if isinstance(statement, Draw) and statement.number in units
        ]
        self.fixed = {param.name for param in self.program.params} | {"eps", "delta"}
        self.fixed -= changed(self.program.body)
        self.widths = [self.quantity(width) for width in widths_of(self.program)]

    def quantity(self, node: Expr) -> Quantity:
        """An expression with its values."""
        ghost = self.bench.ghost(node)
        return Quantity(node, np.array([float(ghost(sight.one, sight.two)) for sight in self.sights]))

    def candidates(self) -> list[Expr]:
        """Everything that held in all states, without repetitions."""
        found = [*self._same(), *self._shifts(), *self._counters(), *self._resized(), *self._bounds(), *self._spent()]
        return list(dict.fromkeys(found))

    # ---- where states are looked at

    def _guards(self) -> Iterator[tuple[Expr | None, Array]]:
        yield None, np.ones(len(self.sights), dtype=bool)
        if not names(self.loop.test) <= self.fixed | set(self.moving):
            return
        goes = self.quantity(self.loop.test)
        yield self.loop.test, goes.values == 1.0
        seen = self.sights[0].one
        ghosts = [
            name for name in seen if name in ("#place", "#up", "#down", "#answer") and not isinstance(seen[name], bool)
        ]
        for name in self.whole:
            counter = self.quantity(Var(name))
            start = self._start(name)
            if start is not None and "#answer" in ghosts:
                later = Binary(">", Var(name), start.node)
                yield later, counter.values > start.values
                yield Binary("=", Var(name), start.node), counter.values == start.values
                yield Binary("<", Var("#answer"), start.node), self.quantity(Var("#answer")).values < start.values
            for ghost in ghosts:
                place = self.quantity(Var(ghost))
                before, after = Binary("<=", Var(name), Var(ghost)), Binary(">", Var(name), Var(ghost))
                yield before, counter.values <= place.values
                yield after, counter.values > place.values
                if ghost != "#answer":
                    continue
                if start is not None:
                    yield (
                        Binary("&&", later, before),
                        (counter.values > start.values) & (counter.values <= place.values),
                    )
                for other in self.whole:
                    if other != name:
                        chosen = self.quantity(Var(other)).values == place.values
                        guard = Binary("&&", after, Binary("=", Var(other), Var(ghost)))
                        yield guard, (counter.values > place.values) & chosen

    def _start(self, name: str) -> Quantity | None:
        """What a variable was before any loop, if that is said by parameters."""
        for statement in statements(self.program.body):
            if isinstance(statement, Assign) and statement.name == name:
                return self.quantity(statement.value) if names(statement.value) <= self.fixed else None
        return None

    # ---- what is looked for

    def _same(self) -> Iterator[Expr]:
        for name in self.moving:
            if name not in self.numbers:
                same = Call("#same", (Var(name),))
                if self.quantity(same).values.all():
                    yield same

    def _shifts(self) -> Iterator[Expr]:
        shifts = [self.quantity(Call("#shift", (Var(name),))) for name in self.numbers]
        steps = [Quantity(ZERO, np.zeros(len(self.sights))), self.quantity(ONE), self.quantity(Num(Fraction(-1)))]
        for width in self.widths:
            steps += [Quantity(scaled(width.node, Fraction(k)), k * width.values) for k in (1, -1, 2, -2)]
        guards = list(self._guards())
        if self.program.adjacent == "moves":
            for name in self.whole:
                net = self.quantity(Binary("-", _passed(name, "#up"), _passed(name, "#down")))
                steps += [net, Quantity(scaled(net.node, Fraction(-1)), -net.values)]
        for shift in shifts:
            yield from self._guarded(guards, shift, steps)

    def _guarded(
        self, guards: list[tuple[Expr | None, Array]], quantity: Quantity, steps: list[Quantity]
    ) -> Iterator[Expr]:
        """Against references everywhere; and where that is not an equation, also before and after each place."""
        first = list(self._against(None, guards[0][1], quantity, steps))
        yield from first
        if any(isinstance(node, Binary) and node.op == "=" for node in first):
            return
        for guard, where in guards[1:]:
            if where.any():
                yield from self._against(guard, where, quantity, steps)

    def _resized(self) -> Iterator[Expr]:
        """Under `addremove`: a sum is off by the element that is there once, and by the one that is read early or
        late.
        """
        if self.program.adjacent != "addremove" or any(
            isinstance(part, Draw | While) for part in statements(self.loop.body)
        ):
            return
        effects = effects_of(self.loop.body)
        steps = [Quantity(ZERO, np.zeros(len(self.sights)))]
        for width in (*self.widths, *(self.quantity(node) for node in sorted(_leaves(effects), key=str))):
            steps += [width, Quantity(scaled(width.node, Fraction(-1)), -width.values)]
        for name, counter in product(self.numbers, self.whole):
            if name == counter or effects.get(counter) != ONE or name not in effects:
                continue
            level = self.quantity(Call("#shift", (Var(counter),))).values
            more = bool((level > 0).any())
            over = Binary("=", Call("#shift", (Var(counter),)), ONE if more else Num(Fraction(-1)))
            same = Binary("=", Call("#shift", (Var(counter),)), ZERO)
            yield Binary("||", same, over)
            shift = self.quantity(Call("#shift", (Var(name),)))
            yield from self._against(over, np.abs(level) > 0, shift, steps)
            behind = replaced(effects[name], {counter: minus(Var(counter), ONE)})
            off = Binary("+", shift.node, behind) if more else Binary("-", shift.node, effects[name])
            inside = Binary("<", Var(counter), Call("size", (Var(self.program.params[0].name),)))
            guard = Binary("&&", Binary(">", Var(counter), Var("#place")), same)
            before = Binary("&&", Binary("<=", Var(counter), Var("#place")), same)
            yield _implies(before, Binary("=", shift.node, ZERO))
            for step in steps:
                for sign in ("<=", ">="):
                    yield _implies(guard if more else Binary("&&", guard, inside), Binary(sign, off, step.node))

    def _against(self, guard: Expr | None, where: Array, quantity: Quantity, steps: list[Quantity]) -> Iterator[Expr]:
        """The quantity equals a reference value, or keeps to one side of it and touches it."""
        for step in steps:
            gap = (quantity.values - step.values)[where]
            if np.abs(gap).max() < _NEAR:
                yield _implies(guard, Binary("=", quantity.node, step.node))
                return
            if gap.max() < _NEAR and np.abs(gap).min() < _NEAR:
                yield _implies(guard, Binary("<=", quantity.node, step.node))
            if gap.min() > -_NEAR and np.abs(gap).min() < _NEAR:
                yield _implies(guard, Binary(">=", quantity.node, step.node))

    def _counters(self) -> Iterator[Expr]:
        """Counters from where they start, up to parameters and sizes, and below each other."""
        ends = [Var(name) for name in sorted(self.fixed) if kinds_of(self.program).get(name) == "int"]
        sizes: list[Expr] = [
            Call("size", (Var(param.name),))
            for param in self.program.params
            if param.type.kind == "list" and param.name in self.fixed
        ]
        for name in self.whole:
            counter = self.quantity(Var(name))
            start = self._start(name)
            if start is not None and (counter.values >= start.values).all():
                yield Binary(">=", Var(name), start.node)
            if start is not None and (counter.values <= start.values).all():
                yield Binary("<=", Var(name), start.node)
            if counter.values.min() == 0:
                yield Binary(">=", Var(name), ZERO)
            for end in (*ends, *sizes):
                gap = counter.values - self.quantity(end).values
                if gap.max() == 0:
                    yield Binary("<=", Var(name), end)
            for other in self.whole:
                if other == name:
                    continue
                gap = counter.values - self.quantity(Var(other)).values
                if gap.max() in (0, -1):
                    yield Binary("<=", Var(name), Var(other))
                if start is not None and (later := self.quantity(Var(other)).values > 0).any() and gap[later].max() < 0:
                    yield _implies(Binary(">", Var(other), ZERO), Binary("<", Var(name), Var(other)))

    def _bounds(self) -> Iterator[Expr]:
        """How far the loop's own test can be overstepped."""
        for left, right in _comparisons(self.loop.test):
            gap = minus(left, right)
            if any(name in self.scales for name in names(gap)):
                unit = next(self.scales[name] for name in sorted(names(gap)) if name in self.scales)
                gap = minus(Binary("/", left, unit), Binary("/", right, unit))
            if not names(gap) <= self.fixed | set(self.numbers):
                continue
            most = self.quantity(gap).values.max()
            yield Binary("<=", gap, Num(Fraction(round(most * 4), 4)))

    # ---- what was spent

    def _spent(self) -> Iterator[Expr]:
        spent = [self.quantity(Var(f"#spent{number}")) for number in self.draws]
        total = self._total()
        sums = [*spent, *([total] if total is not None else [])]
        steps = [Quantity(ZERO, np.zeros(len(self.sights)))]
        for width in self.widths:
            steps += [Quantity(scaled(width.node, Fraction(k)), k * width.values) for k in (1, 2, 4)]
        guards = list(self._guards())
        for amount in sums:
            yield from self._guarded(guards, amount, steps)
            yield from self._progress(amount)
            yield from self._moved_twice(amount)
            yield from self._parameters(amount)
            for name in self.numbers:
                if not self.quantity(Call("#shift", (Var(name),))).values.any():
                    continue
                shift = Call("abs", (Call("#shift", (Var(name),)),))
                both = Quantity(Binary("+", amount.node, shift), amount.values + self.quantity(shift).values)
                yield from (
                    node for node in self._against(None, both.values == both.values, both, steps[1:]) if _is_most(node)
                )

    def _moved_twice(self, amount: Quantity) -> Iterator[Expr]:
        """Under `moves`: at most so much for each of the two places that were passed."""
        if self.program.adjacent != "moves":
            return
        for name in self.whole:
            passed = Binary("+", _passed(name, "#up"), _passed(name, "#down"))
            if (amount.values <= self.quantity(passed).values + _NEAR).all():
                yield Binary("<=", amount.node, passed)

    def _total(self) -> Quantity | None:
        """The draws of this loop together, where their units are multiples of each other."""
        if len(self.draws) < 2:
            return None
        units = [self.quantity(self.units[number]).values for number in self.draws]
        node: Expr = ZERO
        values = np.zeros(len(self.sights))
        for number, unit in zip(self.draws, units, strict=True):
            ratios = unit / units[0]
            ratio = Fraction(round(float(ratios[0]) * 48), 48)
            if np.abs(ratios - float(ratio)).max() > _NEAR:
                return None
            part = scaled(Var(f"#spent{number}"), ratio)
            node = part if node == ZERO else Binary("+", node, part)
            values = values + self.quantity(Var(f"#spent{number}")).values * float(ratio)
        return Quantity(node, values)

    def _progress(self, amount: Quantity) -> Iterator[Expr]:
        """At most so much for each step that a counter has made."""
        for name in self.numbers:
            start = self._start(name)
            if start is None:
                continue
            node: Expr = Var(name)
            first = start.node
            if name in self.scales:
                node, first = (Binary("/", part, self.scales[name]) for part in (node, first))
            steps = self.quantity(minus(node, first))
            if (steps.values < 0).any():
                steps = self.quantity(minus(first, node))
            if (steps.values < 0).any() or not (steps.values > 0).any():
                continue
            for width in self.widths:
                reach = steps.values * width.values
                went = reach > 0
                if not went.any():
                    continue
                rate = (amount.values[went] / reach[went]).max()
                factor = Fraction(-int((_NEAR - rate) * 12 // 1), 12)
                if factor > 0 and (amount.values <= float(factor) * reach + _NEAR).all():
                    times = steps.node if width.node == ONE else Binary("*", width.node, steps.node)
                    yield Binary("<=", amount.node, scaled(times, factor))

    def _parameters(self, amount: Quantity) -> Iterator[Expr]:
        """At most a multiple of a parameter, or of one less than it."""
        kinds = kinds_of(self.program)
        for name in sorted(self.fixed):
            if kinds.get(name) != "int":
                continue
            for less in (ZERO, ONE):
                end = self.quantity(minus(Var(name), less))
                for width in self.widths:
                    for factor in (1, 2):
                        most = factor * end.values * width.values
                        if (amount.values <= most + _NEAR).all() and (np.abs(amount.values - most) < _NEAR).any():
                            times = end.node if width.node == ONE else Binary("*", width.node, end.node)
                            yield Binary("<=", amount.node, scaled(times, Fraction(factor)))


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


def _leaves(effects: dict[str, Expr]) -> set[Expr]:
    """The numbers that a round may add under a test."""
    return {
        part
        for node in effects.values()
        if isinstance(node, Call) and node.name == "#if"
        for part in node.args[1:]
        if isinstance(part, Num) and part.value
    }


def _implies(guard: Expr | None, node: Expr) -> Expr:
    return node if guard is None else Binary("||", Unary("!", guard), node)


def _passed(name: str, ghost: str) -> Expr:
    return Call("#if", (Binary(">", Var(name), Var(ghost)), ONE, ZERO))


def _is_most(node: Expr) -> bool:
    return isinstance(node, Binary) and node.op == "<="


def _comparisons(test: Expr) -> Iterator[tuple[Expr, Expr]]:
    """(less, more) of the comparisons that must all hold."""
    if isinstance(test, Binary):
        if test.op == "&&":
            yield from _comparisons(test.left)
            yield from _comparisons(test.right)
        elif test.op in ("<", "<="):
            yield test.left, test.right
        elif test.op in (">", ">="):
            yield test.right, test.left


def rank_of(loop: While) -> Expr | None:
    """What falls with every round: the distance of a counter that the body moves to its end."""
    moved = {
        statement.name
        for statement in loop.body
        if isinstance(statement, Assign) and statement.name in names(statement.value)
    }
    pairs = list(_comparisons(loop.test))
    for less, more in pairs:
        if (names(less) | names(more)) & moved:
            return minus(more, less)
    return minus(pairs[0][1], pairs[0][0]) if pairs else None
