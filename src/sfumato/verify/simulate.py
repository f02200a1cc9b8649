"""Verify: many runs of a program at once. Comes in: a program, an input, a number. Goes out: so many outputs.

Every variable is an array with one place for each run; tests make masks. Noise comes from the operating system's
generator, but as floating-point numbers: this shows what a program does, and must not release anything about anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.errors import InputError
from sfumato.sampling import source
from sfumato.verify.tree import (
    Assign,
    Binary,
    Draw,
    Expr,
    FunctionCall,
    If,
    Index,
    Num,
    Program,
    Return,
    SequenceLiteral,
    Stmt,
    TruthLiteral,
    Unary,
    Var,
    While,
)

Array = Any
ROUNDS = 10_000


@dataclass(slots=True)
class SimulatedList:
    """A list in every run: numbers, whether they are truths, and how long it is."""

    numbers: Array
    truths: Array
    sizes: Array


def simulate(program: Program, count: int, inputs: dict[str, Any]) -> list[Any]:
    """Outputs of so many independent runs on one input."""
    missing = [param.name for param in program.params if param.name not in inputs]
    if missing or count < 1:
        raise InputError(
            f"simulation needs a value of {missing[0]!r}" if missing else "simulation needs at least one run"
        )
    machine = _Machine(program, count)
    for name, value in {"delta": 0, **inputs}.items():
        machine.env[name] = machine.constant(value)
    for use in program.uses:
        if f"{use.name}()" not in machine.env:
            raise InputError(
                f'simulation needs a value of function "{use.name}"', hint=f'Give it as **{{"{use.name}()": 0}}.'
            )
    with np.errstate(all="ignore"):  # lanes that are not on a way compute nonsense, which nobody reads
        machine.block(program.body, np.ones(count, dtype=bool))
    return machine.outputs


class _Machine:
    def __init__(self, program: Program, count: int) -> None:
        self.program = program
        self.count = count
        self.env: dict[str, Any] = {}
        self.outputs: list[Any] = [None] * count
        self.done = np.zeros(count, dtype=bool)

    def constant(self, value: Any) -> Any:
        if isinstance(value, tuple | list):
            return self.rows([self.constant(item) for item in value])
        if isinstance(value, bool | np.bool_):
            return np.full(self.count, bool(value))
        return np.full(self.count, float(Fraction(value) if isinstance(value, str) else value))

    def rows(self, items: list[Any]) -> Any:
        """A list from its items; a list of lists stays a Python list."""
        if any(isinstance(item, SimulatedList) for item in items):
            return items
        shape = (self.count, len(items))
        numbers, truths = np.zeros(shape), np.zeros(shape, dtype=bool)
        for place, item in enumerate(items):
            numbers[:, place], truths[:, place] = item, item.dtype == bool
        return SimulatedList(numbers, truths, np.full(self.count, len(items)))

    # ---- statements

    def block(self, body: tuple[Stmt, ...], where: Array) -> None:
        for statement in body:
            here = where & ~self.done
            if not here.any():
                return
            match statement:
                case Assign(name=name, value=value):
                    self.assign(name, self.value(value), here)
                case Draw(name=name):
                    self.assign(name, self.drawn(statement), here)
                case Return(value=value):
                    self.give(self.value(value), here)
                case If(test=test, then=then, other=other):
                    holds = self.value(test)
                    self.block(then, here & holds)
                    self.block(other, here & ~holds)
                case While():
                    self.loop(statement, here)

    def loop(self, loop: While, where: Array) -> None:
        for _ in range(ROUNDS):
            where = where & ~self.done & self.value(loop.test)
            if not where.any():
                return
            self.block(loop.body, where)
        raise InputError(f"a loop runs more than {ROUNDS} times")

    def assign(self, name: str, value: Any, where: Array) -> None:
        before = self.env.get(name)
        if before is None or where.all() or type(before) is not type(value):
            self.env[name] = value
        elif isinstance(value, SimulatedList):
            width = max(before.numbers.shape[1], value.numbers.shape[1])
            old, new = _wide(before, width), _wide(value, width)
            row = where[:, None]
            self.env[name] = SimulatedList(
                np.where(row, new.numbers, old.numbers),
                np.where(row, new.truths, old.truths),
                np.where(where, new.sizes, old.sizes),
            )
        else:
            self.env[name] = np.where(where, value, before)

    def give(self, value: Any, where: Array) -> None:
        for run in np.flatnonzero(where):
            self.outputs[run] = _output(value, int(run))
        self.done |= where

    # ---- expressions

    def value(self, node: Expr) -> Any:
        match node:
            case Num(value=number):
                return np.full(self.count, float(number))
            case TruthLiteral(value=truth):
                return np.full(self.count, truth)
            case Var(name=name):
                if name not in self.env:
                    raise InputError(
                        f'"{name}" has no value yet' if name != "eps" else "simulation needs a value of 'eps'"
                    )
                return self.env[name]
            case SequenceLiteral(items=items):
                return self.rows([self.value(item) for item in items])
            case Unary(op=op, arg=arg):
                inside = self.value(arg)
                return ~inside if op == "!" else -inside
            case Index(base=base, index=index):
                return self.element(self.value(base), self.value(index))
            case FunctionCall():
                return self.called(node)
            case Binary(op=op, left=left, right=right):
                return self.combined(op, self.value(left), self.value(right))
        raise InputError("an expression that is not simulated")

    def element(self, inside: Any, index: Array) -> Any:
        if isinstance(inside, list):
            chosen = self.rows([self.constant(0)] * max(row.numbers.shape[1] for row in inside))
            for place, row in enumerate(inside):
                here = index == place
                chosen.numbers[here], chosen.truths[here] = row.numbers[here], row.truths[here]
                chosen.sizes = np.where(here, row.sizes, chosen.sizes)
            return chosen
        if not inside.numbers.shape[1]:
            return np.zeros(self.count)
        place = np.clip(index, 0, inside.numbers.shape[1] - 1).astype(int)
        run = np.arange(self.count)
        found, truth = inside.numbers[run, place], inside.truths[run, place]
        return found.astype(bool) if truth.all() else found

    def called(self, node: FunctionCall) -> Any:
        if f"{node.name}()" in self.env:
            return self.env[f"{node.name}()"]
        args = [self.value(arg) for arg in node.args]
        match node.name:
            case "size":
                return (
                    np.full(self.count, float(len(args[0])))
                    if isinstance(args[0], list)
                    else args[0].sizes.astype(float)
                )
            case "min":
                return np.minimum(*args)
            case "max":
                return np.maximum(*args)
            case "clamp":
                return np.minimum(np.maximum(args[0], args[1]), args[2])
            case "abs" | "exp" | "ln" | "sqrt":
                return {"abs": np.abs, "exp": np.exp, "ln": np.log, "sqrt": np.sqrt}[node.name](args[0])
        raise InputError(f'"{node.name}" is not simulated')

    def combined(self, op: str, left: Any, right: Any) -> Any:
        if op == "++":
            return _joined(left, right)
        if isinstance(left, SimulatedList) or isinstance(right, SimulatedList):
            raise InputError(f'"{op}" of lists is not simulated')
        if op in ("=", "!=") and left.dtype != right.dtype:  # `false` is not 0
            return np.full(self.count, op == "!=")
        return _OPERATORS[op](left, right)

    # ---- laws

    def uniform(self) -> Array:
        """Numbers strictly between 0 and 1."""
        return (source().take(self.count, 53).astype(float) + 0.5) / 2.0**53

    def drawn(self, draw: Draw) -> Any:
        args = [self.value(arg) for arg in draw.args]
        match draw.law:
            case "Laplace":
                u = self.uniform() - 0.5
                return args[1] - args[0] * np.sign(u) * np.log1p(-2 * np.abs(u))
            case "Exponential":
                return -args[0] * np.log(self.uniform())
            case "Gauss":
                return args[1] + args[0] * np.sqrt(-2 * np.log(self.uniform())) * np.cos(2 * np.pi * self.uniform())
            case "Geometric" | "TruncGeometric":
                steps = [np.floor(np.log(self.uniform()) / np.log(args[0])) for _ in range(2)]
                found = steps[0] - steps[1]
                if draw.law == "TruncGeometric":
                    found = np.minimum(np.maximum(found + (args[3] if len(args) > 3 else 0), args[1]), args[2])
                return found
            case "Bernoulli":
                return (self.uniform() < args[0]).astype(float)
            case "Uniform" if len(args) == 2:
                return args[0] + np.floor(self.uniform() * (args[1] - args[0] + 1))
            case "Choice":
                weights = np.cumsum(args[0].numbers, axis=1)
                return (self.uniform()[:, None] * weights[:, -1:] >= weights).sum(axis=1).astype(float)
        bits = int(args[0][0])
        return self.rows([(self.uniform() < 0.5).astype(float) for _ in range(bits)])


_OPERATORS: dict[str, Any] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "mod": lambda a, b: a % b,
    "^": lambda a, b: a**b,
    "xor": lambda a, b: (a.astype(int) ^ b.astype(int)).astype(float),
    "and": lambda a, b: (a.astype(int) & b.astype(int)).astype(float),
    "or": lambda a, b: (a.astype(int) | b.astype(int)).astype(float),
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "&&": lambda a, b: a & b,
    "||": lambda a, b: a | b,
}


def _wide(rows: SimulatedList, width: int) -> SimulatedList:
    more = width - rows.numbers.shape[1]
    return SimulatedList(
        np.pad(rows.numbers, ((0, 0), (0, more))), np.pad(rows.truths, ((0, 0), (0, more))), rows.sizes
    )


def _joined(left: SimulatedList, right: SimulatedList) -> SimulatedList:
    """Each run's list, and the other one after its end."""
    width = int((left.sizes + right.sizes).max(initial=0))
    joined = _wide(left, max(width, left.numbers.shape[1]))
    numbers, truths = joined.numbers.copy(), joined.truths.copy()
    run = np.arange(len(left.sizes))
    for place in range(right.numbers.shape[1]):
        here = place < right.sizes
        at = (left.sizes + place)[here]
        numbers[run[here], at], truths[run[here], at] = right.numbers[here, place], right.truths[here, place]
    return SimulatedList(numbers, truths, left.sizes + right.sizes)


def _output(value: Any, run: int) -> Any:
    if isinstance(value, list):
        return [_output(item, run) for item in value]
    if isinstance(value, SimulatedList):
        pairs = zip(value.numbers[run], value.truths[run], strict=True)
        return [bool(number) if truth else float(number) for number, truth in list(pairs)[: value.sizes[run]]]
    return bool(value[run]) if value.dtype == bool else float(value[run])
