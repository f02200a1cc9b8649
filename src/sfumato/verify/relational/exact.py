"""Verify, relational: laws of outputs, exactly. Comes in: a program and one input. Goes out: every output with its chance
as a fraction.

All values of all draws are followed; a program that draws from infinitely many values, or with chances that are no
fractions, has no law here.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from sfumato.verify.run import AtDraw, Env, Fault, NotRun, Runner, TooLong

Law = dict[Any, Fraction]
ROUNDS = 300


class Budget:
    """How many runs are left."""

    def __init__(self, runs: int) -> None:
        self.left = runs

    def spend(self) -> None:
        """One run more; raises TooLong when there is none left."""
        self.left -= 1
        if self.left < 0:
            raise TooLong


def law_of(runner: Runner, env: Env, budget: Budget) -> Law:
    """The law of a program's output on one input.

    Guarantee: the chances are exact, and sum to 1.
    Proof: draws are independent and each has finitely many values with exact chances; every sequence of values is run
        once, and its chance is the product. A run that is cut off raises TooLong, so nothing is left out.
    Reference: the definition.
    Checked by: verify::laws_are_those_of_an_enumeration_by_hand
    """
    law: Law = {}
    stack: list[tuple[tuple[Any, ...], Fraction]] = [((), Fraction(1))]
    while stack:
        values, chance = stack.pop()
        budget.spend()
        running = runner.run(dict(env), ROUNDS)
        given = list(values)
        try:
            stop = next(running)
            while True:
                answer = None
                if isinstance(stop, AtDraw):
                    if not given:
                        drawn = [(value, part) for value, part in outcomes(stop) if part]
                        if len(stack) + len(drawn) > budget.left + 1:
                            raise TooLong
                        stack += [((*values, value), chance * part) for value, part in drawn[1:]]
                        value, part = drawn[0]
                        values, chance = (*values, value), chance * part
                        given = [value]
                    answer = given.pop(0)
                stop = running.send(answer)
        except StopIteration as end:
            key = frozen(end.value)
            law[key] = law.get(key, Fraction(0)) + chance
    return law


def outcomes(stop: AtDraw) -> Iterator[tuple[Any, Fraction]]:
    """The values of a draw, with their chances."""
    law, args = stop.draw.law, stop.args
    if law == "Choice":
        weights = [_exact(weight) for weight in args[0]]
        for place, weight in enumerate(weights):
            yield Fraction(place), weight / sum(weights)
        return
    exact = [_exact(arg) for arg in args]
    match law:
        case "Bernoulli":
            yield Fraction(1), exact[0]
            yield Fraction(0), 1 - exact[0]
        case "Uniform" if len(exact) == 1:
            bits = _whole(exact[0], stop)
            if bits > 16:
                raise TooLong
            for chosen in product((Fraction(0), Fraction(1)), repeat=bits):
                yield chosen, Fraction(1, 2**bits)
        case "Uniform":
            low, high = (_whole(end, stop) for end in exact)
            if high - low > 2**16:
                raise TooLong
            for value in range(low, high + 1):
                yield Fraction(value), Fraction(1, high - low + 1)
        case "TruncGeometric" if len(exact) in (3, 4):
            yield from _truncated(exact, stop)
        case _:
            raise NotRun


def _truncated(args: list[Fraction], stop: AtDraw) -> Iterator[tuple[Any, Fraction]]:
    """min(max(c + Geometric(a), lo), hi)."""
    ratio, (low, high) = args[0], (_whole(end, stop) for end in args[1:3])
    centre = _whole(args[3], stop) if len(args) > 3 else 0
    if high - low > 2**12:
        raise TooLong

    def at_most(k: int) -> Fraction:  # P(Geometric <= k)
        return 1 - ratio ** (k + 1) / (1 + ratio) if k >= 0 else ratio**-k / (1 + ratio)

    for value in range(low, high + 1):
        above = Fraction(1) if value == high else at_most(value - centre)
        below = Fraction(0) if value == low else at_most(value - 1 - centre)
        yield Fraction(value), above - below


def _exact(value: Any) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise NotRun
    return Fraction(value)


def _whole(value: Fraction, stop: AtDraw) -> int:
    if value.denominator != 1:
        raise NotRun
    if value < 0 and len(stop.args) == 1:
        raise Fault(f"{value} bits", stop.draw.at)
    return int(value)


def frozen(value: Any) -> Any:
    """An output as a key: `false` is not 0."""
    if isinstance(value, tuple):
        return tuple(frozen(item) for item in value)
    return ("truth", value) if isinstance(value, bool) else Fraction(value)


def thawed(key: Any) -> Any:
    """An output from its key."""
    if isinstance(key, tuple):
        return key[1] if len(key) == 2 and key[0] == "truth" else tuple(thawed(item) for item in key)
    return key
