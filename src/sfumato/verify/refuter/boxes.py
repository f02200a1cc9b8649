"""Verify, refuter: small boxes of outputs. Comes in: a program. Goes out: a witness, or None.

Noise is put at a point, near the tests that it decides; the event is a small box around what is then returned. A box
that the neighbour cannot reach shows a loss without end: one-sided noise, noise that is shown beside what it hides,
answers that are kept back below a number. Nothing but `witness.certified` says that a claim is false.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, islice
from math import log
from typing import Any

from sfumato.verify.cases import Dice, Maker
from sfumato.verify.effort import EffortSpent, spend
from sfumato.verify.refuter.chances import NotComputed, scale_ball, with_precision
from sfumato.verify.refuter.events import OutputPattern, OutputSet, Test, chance_of, leaves_of
from sfumato.verify.refuter.forms import Form
from sfumato.verify.refuter.listed import law_at, with_floats
from sfumato.verify.refuter.marks import marked_pairs
from sfumato.verify.refuter.paths import ProgramPath, TooManyPaths, Walker
from sfumato.verify.refuter.witness import Witness, as_input, certified, real, refutes
from sfumato.verify.run import Env, NotRun, RunFault, TooLong
from sfumato.verify.tree import Program, draws_of

WORK, POINTS, WAYS, STATES = 6_000, 6, 24, 4_000
"""Work (about ways times noises) before the search gives up; points of a way, ways of a pair, states of a law."""
HALF, FINE = Fraction(1, 8), 10**4
"""Half the width of a box; bounds that are computed are multiples of 1/FINE."""
_FAILED = (NotRun, NotComputed, TooManyPaths, RunFault, TooLong, TypeError, ArithmeticError)


@dataclass(slots=True)
class Boxes:
    """What is left to spend, and the best loss seen."""

    program: Program
    best: float = 0.0
    work: int = WORK

    def run(self) -> Witness | None:
        """The first witness."""
        if self.program.uses:
            return None
        whole = any(draw.law in ("Geometric", "TruncGeometric") for draw in draws_of(self.program))
        cases = ((case.one, case.two) for case in Maker(self.program, seed=5).cases(40))
        with_precision(128)
        for one, two in chain(marked_pairs(self.program), cases):
            self.work -= 10
            spend(600)
            if self.work < 0:
                return None
            try:
                found = self._listed(one, two) if whole else self._at(one, two)
            except EffortSpent:
                return None
            except _FAILED:
                continue
            if found is not None:
                return found
            with_precision(128)
        return None

    def _listed(self, one: Env, two: Env) -> Witness | None:
        """An output that the neighbour cannot have, where everything is whole."""
        laws = [law_at(self.program, env, 6, with_floats, most=STATES) for env in (one, two)]
        self.work -= 20 + sum(law.work for law in laws) // 20
        if laws[1].vague or not isinstance(laws[1].lost, int):
            return None
        for key, (value, weight) in laws[0].outputs.items():
            if weight > 1e-6 and key not in laws[1].outputs:
                return certified(self.program, one, two, OutputSet((value,)))
        return None

    def _at(self, one: Env, two: Env) -> Witness | None:
        walker = Walker(self.program, most=WAYS)
        ways = [walker.ways(as_input(env)) for env in (one, two)]
        limits = [real(part, one) for part in self.program.claim]
        seen: set[OutputPattern] = set()
        lines = (event for way in ways[0] for event in _half_lines(way)) if len(limits) > 1 else ()
        cuts = _best_cuts(ways, float(limits[0].mid())) if len(limits) > 1 else ()
        for event in chain(lines, cuts, (event for way in ways[0] for event in _events(way))):
            if event in seen:
                continue
            seen.add(event)
            cost = 2 + sum(len(way.noises) ** 2 for found in ways for way in found)
            self.work -= cost
            spend(30 * cost)
            if self.work < 0:
                return None
            first, second = (chance_of(event, found) for found in ways)
            if refutes(first, second, limits):
                found = certified(self.program, one, two, event)
                if found is not None:
                    return found
            elif len(limits) == 1 and first > 0 and second > 0 and limits[0] > 0:
                self.best = max(self.best, log(float(first.mid()) / float(second.mid())) / float(limits[0].mid()))
        return None


def _events(way: ProgramPath) -> Iterator[OutputPattern]:
    """Boxes around the outputs at some points of a way."""
    shape, leaves = leaves_of(way.output)
    for point in islice(_points(way), POINTS):
        values = [_value(leaf, point) if isinstance(leaf, Form) else leaf for leaf in leaves]
        tests: list[Test] = []
        for place, (leaf, value) in enumerate(zip(leaves, values, strict=True)):
            if isinstance(leaf, Form):
                own = ((place, Fraction(1)),)
                tests += [Test(own, ">=", value - HALF), Test(own, "<=", value + HALF)]
        kept = tuple(None if isinstance(leaf, Form) else leaf for leaf in leaves)
        yield OutputPattern(shape, kept, tuple(tests))


def _half_lines(way: ProgramPath) -> Iterator[OutputPattern]:
    """Everything on one side of where a test cuts off what is returned: delta is lost on whole half-lines."""
    shape, leaves = leaves_of(way.output)
    if len(leaves) != 1 or not isinstance(leaves[0], Form) or len(leaves[0].factors) != 1:
        return
    ((shown, slope),) = leaves[0].factors
    for test in way.tests:
        if len(test.factors) == 1 and test.factors[0][0] == shown:
            edge = leaves[0].constant - slope * test.constant / test.factors[0][1]
            for sign in (">=", "<="):
                yield OutputPattern(shape, (None,), (Test(((0, Fraction(1)),), sign, edge),))


def _best_cuts(ways: list[list[ProgramPath]], claim: float) -> Iterator[OutputPattern]:
    """Where one number with Laplace noise is shown: all on the side of the first centre on which the loss exceeds the
    claim. What that event loses beyond the claim is the whole delta.
    """
    if any(len(found) != 1 or found[0].tests or len(found[0].noises) != 1 for found in ways):
        return
    (first,), (second,) = ways
    shape, leaves = leaves_of(first.output)
    other_shape, others = leaves_of(second.output)
    if shape != other_shape or first.noises[0].law != "Laplace" or second.noises[0].law != "Laplace":
        return
    for place, (form, moved) in enumerate(zip(leaves, others, strict=True)):
        if isinstance(form, Form) and isinstance(moved, Form) and form.factors == moved.factors:
            step = moved.constant - form.constant
            width = float(scale_ball(first.noises[0].scale).mid()) * abs(float(form.factors[0][1]))
            back = Fraction(round(claim * width / 2 * FINE), FINE) * (1 if step > 0 else -1)
            edge = form.constant + step / 2 - back
            kept = tuple(None if isinstance(leaf, Form) else leaf for leaf in leaves)
            yield OutputPattern(shape, kept, (Test(((place, Fraction(1)),), "<=" if step > 0 else ">=", edge),))


def _points(way: ProgramPath) -> Iterator[dict[int, Fraction]]:
    """Values of the noises that lead along a way: near tests of one noise, else near nothing."""
    if not way.noises:
        yield {}
        return
    near: dict[int, list[Fraction]] = {number: [] for number in range(len(way.noises))}
    for test in way.tests:
        if len(test.factors) == 1:
            ((number, factor),) = test.factors
            edge = -test.constant / factor
            near.setdefault(number, []).extend(edge + Fraction(step, 4) for step in (1, -1, 3, -3))
    for number, values in near.items():
        values += [Fraction(step, 4) for step in (1, -1, 0, 4, -4, 9, -9)]
        if way.noises[number].law == "Exponential":
            near[number] = [value for value in values if value >= 0]
    dice = Dice(17)
    tried: set[Any] = set()
    for turn in range(24):
        point = {
            number: values[turn % len(values)] if turn < 8 else dice.pick(values) for number, values in near.items()
        }
        key = tuple(point.values())
        if key not in tried and all(_value(test, point) > 0 for test in way.tests):
            yield point
        tried.add(key)


def _value(form: Form, point: dict[int, Fraction]) -> Fraction:
    return sum((factor * point[number] for number, factor in form.factors), form.constant)
