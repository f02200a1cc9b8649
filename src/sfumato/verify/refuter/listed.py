"""Verify, refuter: chances where draws can be listed. Comes in: one input and an event. Goes out: a ball.

The laws of finite/law.py at numbers instead of letters. Where Geometric noise is cut off, what is cut off may lie in
the event or not, and the ball is as wide as that.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from flint import arb

from sfumato.verify.effort import spend
from sfumato.verify.finite.decide import NEVER
from sfumato.verify.finite.draws import Beyond, Undecided
from sfumato.verify.finite.field import LetterField, NeedRoot
from sfumato.verify.finite.law import WORK, Law, Machine
from sfumato.verify.finite.signs import ParameterDomain
from sfumato.verify.refuter.events import OutputPattern, OutputSet, Test, leaves_of
from sfumato.verify.refuter.paths import grown_by
from sfumato.verify.run import Env, NotRun
from sfumato.verify.tree import Program

ROOTS = 200
STATE = 8
"""Steps that moving a state counts for."""


def law_at(
    program: Program,
    env: Env,
    reach: int,
    weigh: Callable[[LetterField], Callable[[Any], Any]],
    *,
    most: int = WORK,
    event: OutputPattern | OutputSet | None = None,
) -> Law:
    """The law on an input whose parameters are all numbers; raises NotRun if it takes more work than `most`. Of an
    event, outputs that begin otherwise are left out.
    """
    grown = None if event is None or (isinstance(event, OutputSet) and NEVER in event.values) else grown_by(program)
    only = None if event is None or grown is None else (grown, partial(may_begin, event))
    root = 1
    while root <= ROOTS:
        field = LetterField(root)
        machine = Machine(program, ParameterDomain(field), weigh=weigh(field), most=most, only=only)
        try:
            return machine.run(env, reach)
        except NeedRoot as need:
            root = need.root
        except TypeError as error:
            raise NotRun from error
        finally:
            spend(STATE * machine.work)
    raise NotRun


def with_balls(field: LetterField) -> Callable[[Any], Any]:
    """Weights as balls."""
    return field.ball


def with_floats(field: LetterField) -> Callable[[Any], Any]:
    """Weights as floats, for looking."""
    return lambda value: float(value) if isinstance(value, Fraction) else float(field.ball(value).mid())


def listed_chance(program: Program, env: Env, event: OutputPattern | OutputSet, reach: int) -> Any:
    """A ball that holds the chance of an event."""
    law = law_at(program, env, reach, with_balls, event=event)
    unsure = arb(0) + law.lost
    total = arb(0)
    for value, weight in law.outputs.values():
        if contains(event, value):
            total += weight
    for value, weight in law.vague:
        if may_contain(event, value):
            unsure += weight
    if isinstance(event, OutputSet) and NEVER in event.values:
        returned = [weight for _, weight in (*law.outputs.values(), *law.vague)]
        total += 1 - sum(returned, arb(0)) - law.lost  # what was lost may return or not: it is unsure already
    return total + unsure * arb(0.5, 0.5)


def contains(event: OutputPattern | OutputSet, value: Any) -> bool:
    """Whether an output lies in an event."""
    if isinstance(event, OutputSet):
        return any(_same(value, wanted) for wanted in event.values)
    shape, leaves = leaves_of(value)
    if shape != event.shape:
        return False
    for leaf, wanted in zip(leaves, event.leaves, strict=True):
        if isinstance(leaf, bool) if wanted is None else not _same(leaf, wanted):
            return False
    for test in event.tests:
        total = sum((leaves[place] * factor for place, factor in test.factors), Fraction(0)) - test.bound
        if not {"<=": total <= 0, ">=": total >= 0, "=": total == 0}[test.sign]:
            return False
    return True


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(_same(a, b) for a, b in zip(first, second, strict=True))
    return isinstance(first, bool) == isinstance(second, bool) and bool(first == second)


def may_contain(event: OutputPattern | OutputSet, value: Any) -> bool:
    """Whether an output of which only ranges are known may lie in an event."""
    if isinstance(event, OutputSet):
        return any(_may_be(value, wanted) for wanted in event.values)
    shape, leaves = leaves_of(value)
    if shape != event.shape:
        return False
    for leaf, wanted in zip(leaves, event.leaves, strict=True):
        if isinstance(leaf, bool) if wanted is None else not _may_be(leaf, wanted):
            return False
    return all(_may_pass(leaves, test) for test in event.tests)


def may_begin(event: OutputPattern | OutputSet, output: tuple[Any, ...]) -> bool:
    """Whether an output that begins so may lie in an event; yes where that is not clear."""
    if isinstance(event, OutputSet):
        lists = [value[: len(output)] for value in event.values if isinstance(value, tuple)]
        return any(_may_be(output, value) for value in lists)
    if not isinstance(event.shape, tuple) or any(inner is not None for inner in event.shape):
        return True  # lists inside of lists are looked at when they are complete
    return len(output) <= len(event.shape) and all(
        not isinstance(leaf, bool) if wanted is None else _may_be(leaf, wanted)
        for leaf, wanted in zip(output, event.leaves[: len(output)], strict=True)
    )


def _may_pass(leaves: list[Any], test: Test) -> bool:
    total: Any = -test.bound
    for place, factor in test.factors:
        total = total + leaves[place] * factor
    if not isinstance(total, Beyond):
        return bool({"<=": total <= 0, ">=": total >= 0, "=": total == 0}[test.sign])
    try:
        return total.compare(test.sign)
    except Undecided:
        return True


def _may_be(value: Any, wanted: Any) -> bool:
    if isinstance(value, Beyond):
        return value.may_be(wanted)
    if isinstance(value, tuple) and isinstance(wanted, tuple):
        return len(value) == len(wanted) and all(_may_be(a, b) for a, b in zip(value, wanted, strict=True))
    return _same(value, wanted)
