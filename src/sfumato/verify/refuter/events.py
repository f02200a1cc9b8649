"""Verify, refuter: sets of outputs, and their chances. Comes in: ways through a program. Goes out: events and balls.

An event fixes the shape of the output, truths, numbers that are exactly so, and linear tests of the other numbers.
Its chance on an input is the sum over *all* ways whose output can lie in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from sfumato.verify.faults import say_value
from sfumato.verify.finite.decide import NEVER
from sfumato.verify.refuter.chances import NotComputed, chance
from sfumato.verify.refuter.forms import Form
from sfumato.verify.refuter.paths import ProgramPath
from sfumato.verify.run import REJECTED


@dataclass(frozen=True, slots=True)
class Test:
    """sum of factor * output[place], compared with a number: sign is <=, >= or =."""

    factors: tuple[tuple[int, Fraction], ...]
    sign: str
    bound: Fraction


@dataclass(frozen=True, slots=True)
class OutputPattern:
    """Outputs of this shape, with these exact leaves (None: any number), that pass these tests."""

    shape: Any
    leaves: tuple[bool | Fraction | None, ...]
    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class OutputSet:
    """A set of outputs, listed; NEVER stands for runs that do not end."""

    values: tuple[Any, ...]


def leaves_of(output: Any) -> tuple[Any, list[Any]]:
    """The shape of an output (nested tuples of None) and its leaves."""
    if isinstance(output, tuple):
        shapes, leaves = [], []
        for item in output:
            shape, inner = leaves_of(item)
            shapes.append(shape)
            leaves += inner
        return tuple(shapes), leaves
    return None, [output]


def begins(event: OutputPattern, output: tuple[Any, ...]) -> bool:
    """Whether an output that begins so may lie in an event; yes where that is not clear."""
    if not isinstance(event.shape, tuple) or any(inner is not None for inner in event.shape):
        return True  # lists inside of lists are looked at when they are complete
    if len(output) > len(event.shape):
        return False
    return all(
        not isinstance(leaf, tuple) and is_leaf(leaf, wanted)
        for leaf, wanted in zip(output, event.leaves[: len(output)], strict=True)
    ) and all(_holds(test, output) for test in event.tests)


def _holds(test: Test, output: tuple[Any, ...]) -> bool:
    """Whether a test holds of an output so far; yes where it reads noise, or what is not there yet."""
    if any(place >= len(output) or not isinstance(output[place], Fraction | int) for place, _ in test.factors):
        return True
    value = sum((output[place] * factor for place, factor in test.factors), -test.bound)
    return bool({"<=": value <= 0, ">=": value >= 0, "=": value == 0}[test.sign])


def is_leaf(leaf: Any, wanted: bool | Fraction | None) -> bool:
    """Whether a number or truth of an output is the one that an event asks for (None: any number)."""
    if wanted is None:
        return not isinstance(leaf, bool)
    if isinstance(leaf, Form):  # a form of noise equals a number with no chance
        return False
    return isinstance(leaf, bool) == isinstance(wanted, bool) and bool(leaf == wanted)


def chance_of(event: OutputPattern, ways: list[ProgramPath]) -> Any:
    """The chance of an event on the input whose ways these are; where noise may be drawn again, under the condition
    that it is not.
    """
    total, again = arb(0), arb(0)
    for way in ways:
        if way.output is REJECTED:
            again += chance(list(way.noises), list(way.tests))
            continue
        tests = meets(event, way)
        if tests is not None:
            total += chance(list(way.noises), [*way.tests, *tests]) * arb(way.weight.numerator) / way.weight.denominator
    if again.is_zero():
        return total
    if not again < 1:
        raise NotComputed
    return total / (1 - again)


def meets(event: OutputPattern, way: ProgramPath) -> list[Form] | None:
    """Tests of the noise under which a way's output lies in an event; None if it never does (or has no chance to)."""
    if way.output is REJECTED:
        return None
    shape, leaves = leaves_of(way.output)
    if shape != event.shape:
        return None
    if not all(is_leaf(leaf, wanted) for leaf, wanted in zip(leaves, event.leaves, strict=True)):
        return None
    tests: list[Form] = []
    for test in event.tests:
        value: Any = -test.bound
        for place, factor in test.factors:
            value = value + leaves[place] * factor
        if not isinstance(value, Form):
            holds = {"<=": value <= 0, ">=": value >= 0, "=": value == 0}[test.sign]
            if not holds:
                return None
        elif test.sign == "=":
            return None
        else:
            tests.append(value if test.sign == ">=" else -value)
    return tests


def reduced(leaves: list[Any]) -> list[tuple[dict[int, Fraction], Any]]:
    """Combinations of outputs with as little noise in each as there can be: (factors by place, form), by
    elimination.
    """
    rows: list[tuple[dict[int, Fraction], Any]] = []
    pivots: list[tuple[int, dict[int, Fraction], Form]] = []
    for place, leaf in enumerate(leaves):
        if not isinstance(leaf, Form):
            continue
        factors: dict[int, Fraction] = {place: Fraction(1)}
        value: Form | Fraction = leaf
        for noise, other, form in pivots:
            own = dict(value.factors).get(noise) if isinstance(value, Form) else None
            if own:
                ratio = own / dict(form.factors)[noise]
                value = value - form * ratio
                for at, factor in other.items():
                    factors[at] = factors.get(at, Fraction(0)) - ratio * factor
        if isinstance(value, Form):
            pivots.append((value.factors[-1][0], dict(factors), value))
        rows.append(({at: factor for at, factor in factors.items() if factor}, value))
    return rows


def event_around(way: ProgramPath, sides: tuple[int, ...] | None, depth: Fraction) -> OutputPattern:
    """The event of a way: its truths and exact numbers, and free combinations below -depth (side -1) or above depth.

    One side stands for all, none for above; without sides at all, free combinations are not tested.
    """
    shape, leaves = leaves_of(way.output)
    tests = []
    for number, (factors, value) in enumerate(reduced(leaves)):
        named = tuple(sorted(factors.items()))
        if isinstance(value, Form):
            if sides is None:
                continue
            side = 1 if not sides else sides[number] if len(sides) > 1 else sides[0]
            tests.append(Test(named, ">=" if side > 0 else "<=", side * depth))
        else:
            tests.append(Test(named, "=", value))
    return OutputPattern(shape, tuple(None if isinstance(leaf, Form) else leaf for leaf in leaves), tuple(tests))


def say(event: OutputPattern | OutputSet) -> str:
    """An event in words: `output = [false, true]`, `output[1] <= -2`."""
    if isinstance(event, OutputSet):
        said = ["no output" if value == NEVER else f"output = {say_value(value)}" for value in event.values]
        return " or ".join(said)
    single = event.shape is None

    def name(place: int) -> str:
        return "output" if single else f"output[{place}]"

    said = [] if single else [f"size(output) = {len(event.shape)}"]
    for place, leaf in enumerate(event.leaves):
        if leaf is not None:
            said.append(f"{name(place)} = {str(leaf).lower() if isinstance(leaf, bool) else leaf}")
    for test in event.tests:
        parts = []
        for place, factor in test.factors:
            size = "" if abs(factor) == 1 else f"{abs(factor)} * "
            parts.append(("-" if factor < 0 else "+") + f" {size}{name(place)}")
        left = " ".join(parts).removeprefix("+ ")
        said.append(f"{left} {test.sign} {test.bound}")
    return " and ".join(said) if said else "any output"
