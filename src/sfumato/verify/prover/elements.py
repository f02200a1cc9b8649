"""Verify, prover: guesses about the element that differs. Comes in: a loop that reads a list. Goes out: when one run
waits for the other, how far sums are apart once the element was read, and which values of it rounds are compared with.

What a round adds to a sum is known from its text (`loops.effects_of`); put the place where inputs differ in the place
of the counter, and it says how far the sums of two runs are apart from then on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sfumato.verify.kernel.product import is_quiet
from sfumato.verify.prover.loops import comparisons, effects_of, said_in
from sfumato.verify.prover.rewrite import ONE, ZERO, linear, minus, negative, replaced, scaled
from sfumato.verify.tree import (
    Binary,
    Expr,
    FunctionCall,
    Index,
    Num,
    Program,
    Var,
    While,
    changed,
    names,
    statements,
    walk,
)


@dataclass(frozen=True, slots=True)
class ListReading:
    """A round reads a list at a position, which a counter moves."""

    name: str  # of the list
    counter: str
    position: Expr  # in terms of variables before the round
    falls: bool

    @property
    def ghost(self) -> str:
        """The place where this list differs."""
        return f"#place_{self.name}"

    @property
    def counter_at_place(self) -> Expr | None:
        """The counter in the round that reads the place."""
        split = linear(self.position, self.counter)
        if split is None or split[0] not in (1, -1):
            return None
        return scaled(minus(Var(self.ghost), split[1]), split[0])


def readings(program: Program, loop: While) -> list[ListReading]:
    """What rounds of a loop read of private lists; where they read nothing, the counter that the test counts by."""
    effects = effects_of(loop.body)
    steps = {name: node.value for name, node in effects.items() if isinstance(node, Num) and node.value}
    lists = [param.name for param in program.params if param.private and param.type.kind == "list"]
    found = []
    for node in (part for said in said_in(loop.body) for part in walk(said)):
        match node:
            case Index(base=Var(name=name), index=index) if name in lists:
                counters = names(index) & changed(loop.body)
                found += [ListReading(name, at, index, steps[at] < 0) for at in counters if counters <= steps.keys()]
    if not found and lists:
        for less, more in comparisons(loop.test):
            if isinstance(less, Var) and steps.get(less.name, 0) > 0:
                found.append(ListReading(lists[0], less.name, less, falls=False))
            if isinstance(more, Var) and steps.get(more.name, 0) < 0:
                found.append(ListReading(lists[0], more.name, minus(more, ONE), falls=True))
    return list(dict.fromkeys(found))


def in_longer(node: Expr, direction: str) -> Expr:
    """An expression in the run with one element more."""
    return FunctionCall("#two", (node,)) if direction == "more" else node


def waits_of(program: Program, direction: str) -> dict[int, Expr]:
    """For loops without draws: the run with the shorter list waits while the other one reads the element that is
    there once; then both read the same again.
    """
    found: dict[int, Expr] = {}
    if program.adjacent == "addremove":
        for loop in statements(program.body):
            if isinstance(loop, While) and is_quiet(loop.body):
                for reading in readings(program, loop)[:1]:
                    at = in_longer(reading.position, direction)
                    found[loop.number] = Binary("=", at, Var(reading.ghost))
    return found


def apart(program: Program, loop: While, direction: str) -> Iterator[tuple[ListReading, str, Expr]]:
    """(reading, variable, how far it is apart once the place was read)."""
    effects = effects_of(loop.body)
    for reading in readings(program, loop):
        at = reading.counter_at_place
        for name, effect in effects.items():
            if at is None or name == reading.counter:
                continue
            here = replaced(effect, {reading.counter: at})
            if names(here) & changed(loop.body):
                continue
            if program.adjacent == "one":
                yield reading, name, FunctionCall("#shift", (here,))
            elif program.adjacent == "addremove":
                yield reading, name, FunctionCall("#two", (here,)) if direction == "more" else negative(here)


def to_come(program: Program, reading: ListReading, amount: Expr) -> Expr:
    """How far a sum will be apart, said before the place is read: an empty list has none."""
    if program.adjacent != "one":
        return amount
    return FunctionCall("#if", (Binary(">", FunctionCall("size", (Var(reading.name),)), ZERO), amount, ZERO))


def compared(program: Program, outer: While, counter: str, direction: str) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    """(`=` or an order, values of the element that differs) that the counter of a loop is compared with inside."""
    for loop in statements(outer.body):
        if not isinstance(loop, While) or not is_quiet(loop.body):
            continue
        for _, _, node in apart(program, loop, direction):
            for test in walk(node):
                if isinstance(test, Binary) and test.op in ("=", "!=", "<", "<=", ">", ">="):
                    split = linear(minus(test.left, test.right), counter)
                    if split is None or split[0] not in (1, -1) or names(split[1]) & changed(outer.body):
                        continue
                    value = scaled(split[1], -split[0])
                    both = (value, FunctionCall("#two", (value,)))
                    one = (in_longer(value, direction),)
                    yield "=" if test.op in ("=", "!=") else "<", both if program.adjacent == "one" else one
