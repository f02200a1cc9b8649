"""Verify, prover: invariants guessed from what was seen. Comes in: states at the beginning of rounds. Goes out:
candidates.

How far a variable moves, what was spent, counters against parameters: each is compared with a few reference values,
over all states and over those before and after the place where inputs differ (or the answer is decided). What held in
every state is a candidate; `houdini.py` keeps those that are true.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np

from sfumato.verify.effort import spend
from sfumato.verify.kernel.kinds import kinds_of
from sfumato.verify.prover.counters import counted
from sfumato.verify.prover.elements import apart, in_longer, to_come
from sfumato.verify.prover.loops import comparisons, effects_of, said_in
from sfumato.verify.prover.quantity import NEAR, Array, Quantity, implies, is_equation, passed_once, times
from sfumato.verify.prover.rewrite import ONE, ZERO, minus, negative, replaced, scaled
from sfumato.verify.prover.sites import answers_of, second_answers, widths_of
from sfumato.verify.prover.spending import spendings
from sfumato.verify.prover.trial import Bench, Sight
from sfumato.verify.run import NotRun, RunFault
from sfumato.verify.tree import (
    Assign,
    Binary,
    Draw,
    Expr,
    FunctionCall,
    Index,
    Num,
    Program,
    SequenceLiteral,
    Unary,
    Var,
    While,
    changed,
    draws_of,
    expressions,
    names,
    statements,
    walk,
)


class LoopCandidates:
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
        self.flags = [name for name in self.moving if kinds.get(name) == "bool"]
        self.draws = [
            statement.number
            for statement in statements(loop.body)
            if isinstance(statement, Draw) and statement.number in units
        ]
        self.free = [
            statement.number
            for statement in statements(loop.body)
            if isinstance(statement, Draw) and statement.number not in units
        ]
        self.fixed = {param.name for param in self.program.params} | {"eps", "delta"}
        self.fixed -= changed(self.program.body)
        effects = effects_of(loop.body).items()
        self.steps = {name: node.value for name, node in effects if name in self.whole and isinstance(node, Num)}
        self.widths = [self.quantity(width) for width in widths_of(self.program)]

    def quantity(self, node: Expr) -> Quantity:
        """An expression with its values."""
        spend(len(self.sights))
        ghost = self.bench.ghost(node)
        return Quantity(node, np.array([float(ghost(sight.one, sight.two)) for sight in self.sights]))

    def sparse(self, node: Expr) -> Quantity:
        """The same of what has no value in some states, such as an element of an empty list."""
        ghost = self.bench.ghost(node)

        def read(sight: Sight) -> float:
            try:
                return float(ghost(sight.one, sight.two))
            except (RunFault, IndexError):
                return float("nan")

        return Quantity(node, np.array([read(sight) for sight in self.sights]))

    def candidates(self, hints: tuple[Expr, ...] = ()) -> list[Expr]:
        """Everything that held in all states, without repetitions; hints too, if they did."""
        spent = spendings(self)
        nothing = [Binary("=", Var(f"#spent{number}"), ZERO) for number in self.free]  # drawn alike in both runs
        found = [*nothing, *self._same(), *self._shifts(), *counted(self), *self._apart(), *self._early(), *spent]
        return list(dict.fromkeys((*(hint for hint in hints if self._held(hint)), *found)))

    def _held(self, hint: Expr) -> bool:
        """Whether something held in all states, and speaks of what there is at this loop."""
        try:
            return bool((self.quantity(hint).values == 1.0).all())
        except (RunFault, NotRun, KeyError, TypeError, IndexError, ZeroDivisionError):
            return False

    # ---- where states are looked at

    def guards(self) -> Iterator[tuple[Expr | None, Array]]:
        """Everywhere; where the loop goes on; before and after each place; in the last round of a loop around."""
        yield None, np.ones(len(self.sights), dtype=bool)
        if not names(self.loop.test) <= self.fixed | set(self.moving):
            return
        goes = self.quantity(self.loop.test)
        yield self.loop.test, goes.values == 1.0
        yield from self._last_rounds()
        two = "#second" in self.ghosts  # there are many places then, and counters alone pass them
        for name, ghost in product([*self.steps] if two else self.whole, self.ghosts):
            for position in self._positions(name, ghost):
                yield from self._around(name, position, ghost)
        if two:
            yield from self._between()

    def _between(self) -> Iterator[tuple[Expr, Array]]:
        """Before, between and after two answers, where what was passed is what was chosen."""
        first, second = (self.quantity(Var(ghost)) for ghost in ("#answer", "#second"))
        for name in self.whole:
            if self.steps.get(name) != 1:
                continue
            here, others = self.quantity(Var(name)), [other for other in self.whole if other != name]
            for early, late in ((first, second), (second, first)):
                passed = Binary("&&", Binary(">", Var(name), early.node), Binary("<=", Var(name), late.node))
                where = (here.values > early.values) & (here.values <= late.values)
                for other in others:
                    chosen = self.quantity(Var(other)).values == early.values
                    yield Binary("&&", passed, Binary("=", Var(other), early.node)), where & chosen
            both = Binary("&&", Binary(">", Var(name), first.node), Binary(">", Var(name), second.node))
            where = (here.values > first.values) & (here.values > second.values)
            neither = Binary("&&", Binary("<=", Var(name), first.node), Binary("<=", Var(name), second.node))
            yield neither, (here.values <= first.values) & (here.values <= second.values)
            for one, two in permutations(others, 2):
                chosen = (self.quantity(Var(one)).values == first.values) & (
                    self.quantity(Var(two)).values == second.values
                )
                equal = Binary("&&", Binary("=", Var(one), first.node), Binary("=", Var(two), second.node))
                different = Binary("&&", equal, Binary("!=", first.node, second.node))
                yield Binary("&&", both, different), where & chosen & (first.values != second.values)

    def _early(self) -> Iterator[Expr]:
        """What holds in the first rounds alone: a flag, or that two choices are the same."""
        for name in self.whole:
            if self.steps.get(name) != 1:
                continue
            here = self.quantity(Var(name)).values
            for flag in self.flags:
                for node, wanted in ((Var(flag), 1.0), (Unary("!", Var(flag)), 0.0)):
                    up = self.quantity(Var(flag)).values == wanted
                    if up.any() and (~up).any() and here[up].max() <= 2 < here.max():
                        yield implies(node, Binary("<=", Var(name), Num(Fraction(int(here[up].max())))))
                        yield from self._just_passed(node, name, up & (here > 0))
            for one, two in combinations(self.whole if "#second" in self.ghosts else [], 2):
                same = self.quantity(Var(one)).values == self.quantity(Var(two)).values
                if name not in (one, two) and same.any() and here[same].max() <= 2 < here.max():
                    late = Binary(">", Var(name), Num(Fraction(int(here[same].max()))))
                    yield implies(late, Binary("!=", Var(one), Var(two)))

    def _last_rounds(self) -> Iterator[tuple[Expr, Array]]:
        """Where the counter of a loop around this one, that ends at a number, is at its greatest."""
        for outer in statements(self.program.body):
            if isinstance(outer, While) and self.loop in statements(outer.body):
                for less, more in comparisons(outer.test):
                    if isinstance(less, Var) and isinstance(more, Num) and less.name in self.sights[0].one:
                        counter = self.quantity(less)
                        last = Num(Fraction(int(counter.values.max())))
                        yield Binary(">=", less, last), counter.values >= float(last.value)

    @property
    def ghosts(self) -> list[str]:
        """Places where inputs differ or an answer is decided."""
        seen = self.sights[0].one
        words = ("#up", "#down", "#answer", "#second")
        places = [name for name in seen if name.startswith("#place_")]
        return [
            *(name for name in words if name in seen),
            *(places if len(places) > 1 else ["#place"] if places else []),
        ]

    def _positions(self, name: str, ghost: str) -> list[Expr]:
        """What of a counter is compared with a place: itself, and what the loop says: `d[i - 1]`, `max := i + 1`."""
        found: list[Expr] = [Var(name)]
        if ghost in ("#answer", "#second"):
            answers = answers_of(self.program) if ghost == "#answer" else second_answers(self.program)
            shown = {node.name for node in answers if isinstance(node, Var)}
            found += [node for node in said_in(self.loop.body, None, shown - {name}) if names(node) == {name}]
        else:
            found += [
                part.index
                for node in said_in(self.loop.body)
                for part in walk(node)
                if isinstance(part, Index) and names(part.index) == {name}
            ]
        if self.loop.number in self.bench.waits:
            found = [in_longer(node, self.bench.direction) for node in found]
        return list(dict.fromkeys(found))

    def _around(self, name: str, position: Expr, ghost: str) -> Iterator[tuple[Expr, Array]]:
        """Before and after a place; for an answer also whether it was chosen, and the first round."""
        here, place = self.quantity(position), self.quantity(Var(ghost))
        sign = -1 if self.steps.get(name, 1) < 0 else 1  # of a counter that falls, everything is the other way round
        more, less = (">", "<") if sign > 0 else ("<", ">")
        before, after = Binary(f"{less}=", position, Var(ghost)), Binary(more, position, Var(ghost))
        earlier, passed = sign * here.values <= sign * place.values, sign * here.values > sign * place.values
        yield before, earlier
        yield after, passed
        if ghost not in ("#answer", "#second"):
            return
        start = self.start(name)
        if start is not None:
            first = self.quantity(replaced(position, {name: start.node}))
            counter = self.quantity(Var(name)).values
            begun = counter != start.values
            later = Binary(more, Var(name), start.node)
            yield later, begun
            yield Binary("=", Var(name), start.node), ~begun
            yield Binary(less, Var(ghost), first.node), sign * place.values < sign * first.values
            yield Binary("&&", later, before), begun & earlier
        for other in self.whole:
            if other != name:
                chosen = self.quantity(Var(other)).values == place.values
                guard = Binary("&&", after, Binary("=", Var(other), Var(ghost)))
                yield guard, passed & chosen
                for flag in self.flags:  # it may be where it was before it was chosen
                    up = self.quantity(Var(flag)).values == 1.0
                    yield Binary("&&", guard, Var(flag)), passed & chosen & up
                    yield Binary("&&", guard, Unary("!", Var(flag))), passed & chosen & ~up
                begin = self.start(other)
                alike = position == Var(name) and begin is not None and start is not None and begin.node == start.node
                if start is not None and not alike:  # where it was not chosen before the first round
                    yield Binary("&&", later, guard), passed & chosen & begun

    def start(self, name: str) -> Quantity | None:
        """What a variable was before any loop, if that is said by parameters; of a list its size."""
        for statement in statements(self.program.body):
            if isinstance(statement, Assign) and statement.name == name:
                value = ZERO if statement.value == SequenceLiteral(()) else statement.value
                return self.quantity(value) if names(value) <= self.fixed else None
        return None

    @property
    def tallies(self) -> list[tuple[str, Expr]]:
        """(name, number) of whole numbers that the loop moves: variables, and sizes of lists that something reads."""
        read = {node.args[0] for part in statements(self.program.body) for e in expressions(part) for node in walk(e)
                if isinstance(node, FunctionCall) and node.name == "size"}  # fmt: skip
        read |= {draw.args[0] for draw in draws_of(self.program) if draw.law == "Choice"}
        lists = [name for name in self.moving if Var(name) in read]
        return [(name, Var(name)) for name in self.whole] + [
            (name, FunctionCall("size", (Var(name),))) for name in lists
        ]

    # ---- what is looked for

    def _same(self) -> Iterator[Expr]:
        for name in self.moving:
            if name not in self.numbers:
                same = FunctionCall("#same", (Var(name),))
                if self.quantity(same).values.all():
                    yield same

    def _shifts(self) -> Iterator[Expr]:
        shifts = [self.quantity(FunctionCall("#shift", (Var(name),))) for name in self.numbers]
        steps = [Quantity(ZERO, np.zeros(len(self.sights))), self.quantity(ONE), self.quantity(Num(Fraction(-1)))]
        for width in self.widths:
            steps += [Quantity(scaled(width.node, Fraction(k)), k * width.values) for k in (1, -1, 2, -2)]
        guards = list(self.guards())
        if self.program.adjacent == "moves":
            for name in self.whole:
                net = self.quantity(Binary("-", passed_once(name, "#up"), passed_once(name, "#down")))
                steps += [net, Quantity(scaled(net.node, Fraction(-1)), -net.values)]
        for shift in shifts:
            first = list(self.guarded(guards, shift, steps))
            yield from first
            if not any(is_equation(node) for node in first):
                yield from self._extremes(shift)
                yield from self._alone(shift)
                yield from self._drift(shift)

    def _extremes(self, shift: Quantity) -> Iterator[Expr]:
        """The greatest and the least that was seen, as a multiple of a width."""
        for width in self.widths:
            if not (width.values > 0).all():
                continue
            ratios = shift.values / width.values
            for extreme, sign in ((ratios.max(), "<="), (ratios.min(), ">=")):
                factor = Fraction(round(float(extreme) * 12), 12)
                if abs(float(factor) - extreme) < NEAR:
                    yield Binary(sign, shift.node, scaled(width.node, factor))

    def _alone(self, shift: Quantity) -> Iterator[Expr]:
        """Under `one`: it moves only if the element at the place does, and then perhaps as far."""
        if self.program.adjacent != "one":
            return
        still = Binary("=", shift.node, ZERO)
        for param in self.program.params:
            ghost = f"#place_{param.name}"
            if ghost not in self.sights[0].one or param.name not in self.fixed:
                continue
            if param.type.items[0].kind in ("bits", "tuple", "bool", "list"):
                continue
            element = FunctionCall("#shift", (Index(Var(param.name), Var(ghost)),))
            read = self.bench.ghost(element)
            moved = np.array([float(read(s.one, s.two)) if s.one[param.name] else 0.0 for s in self.sights])
            went = np.abs(shift.values) > NEAR
            if (np.abs(moved[went]) > NEAR).all():
                yield Binary("||", still, Binary("!=", element, ZERO))
            if (np.abs(shift.values - moved)[went] < NEAR).all():
                yield Binary("||", still, Binary("=", shift.node, element))

    def _drift(self, shift: Quantity) -> Iterator[Expr]:
        """At most so far for each step that a counter has made, where every element may move."""
        if self.program.adjacent not in ("all", "inc", "dec", "any"):
            return
        for name, width in product(self.whole, self.widths):
            start = self.start(name)
            if start is None or np.abs(shift.values).max() <= 2 * width.values.max():
                continue
            steps = self.quantity(minus(Var(name), start.node))
            reach = steps.values * width.values
            went = reach > 0
            if not went.any() or (steps.values < 0).any() or np.abs(shift.values[~went]).max(initial=0) > NEAR:
                continue
            rate = (np.abs(shift.values[went]) / reach[went]).max()
            far = scaled(times(width.node, steps.node), Fraction(-int((NEAR - rate) * 12 // 1), 12))
            yield Binary("<=", shift.node, far)
            yield Binary(">=", shift.node, negative(far))

    def _just_passed(self, flag: Expr, name: str, where: Array) -> Iterator[Expr]:
        """A variable that the loop does not change is where the counter just was."""
        kinds = kinds_of(self.program)
        later = Binary("&&", flag, Binary(">", Var(name), ZERO))
        for other in sorted(set(self.sights[0].one) - set(self.moving)):
            if kinds.get(other) == "int" and other in changed(self.program.body) and where.any():
                gap = self.quantity(minus(Var(name), Var(other))).values[where]
                if (gap == 1.0).all():
                    yield implies(later, Binary("=", Var(other), minus(Var(name), ONE)))

    def guarded(
        self, guards: list[tuple[Expr | None, Array]], quantity: Quantity, steps: list[Quantity]
    ) -> Iterator[Expr]:
        """Against references everywhere; and where that is not an equation, also before and after each place."""
        first = list(self.against(None, guards[0][1], quantity, steps))
        yield from first
        if any(is_equation(node) for node in first):
            return
        for guard, where in guards[1:]:
            if where.any():
                yield from self.against(guard, where, quantity, steps)

    def _apart(self) -> Iterator[Expr]:
        """How far a sum is apart once the element was read that differs."""
        for reading, name, amount in apart(self.program, self.loop, self.bench.direction):
            if name not in self.numbers:
                continue
            position, place = in_longer(reading.position, self.bench.direction), Var(reading.ghost)
            after = Binary("<" if reading.falls else ">", position, place)
            equal = Binary("=", FunctionCall("#shift", (Var(name),)), amount)
            before = Binary(">=" if reading.falls else "<=", position, place)
            undone = Binary("=", FunctionCall("#shift", (Var(name),)), negative(to_come(self.program, reading, amount)))
            for candidate in (implies(after, equal), implies(before, undone)):
                held = self.sparse(candidate).values
                if (held[~np.isnan(held)] == 1.0).all():
                    yield candidate

    def against(self, guard: Expr | None, where: Array, quantity: Quantity, steps: list[Quantity]) -> Iterator[Expr]:
        """The quantity equals a reference value, or keeps to one side of it and touches it."""
        for step in steps:
            gap = (quantity.values - step.values)[where]
            if np.abs(gap).max() < NEAR:
                yield implies(guard, Binary("=", quantity.node, step.node))
                return
            if gap.max() < NEAR and np.abs(gap).min() < NEAR:
                yield implies(guard, Binary("<=", quantity.node, step.node))
            if gap.min() > -NEAR and np.abs(gap).min() < NEAR:
                yield implies(guard, Binary(">=", quantity.node, step.node))
