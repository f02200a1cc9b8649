"""Verify, refuter: all ways through a program on one input. Comes in: an input. Goes out: ways with tests, weights,
outputs.

Noise stays a letter; where a test reads it, the way forks. Coins, dice and choices fork too, with their weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.reals import Real, exp, ln, sqrt
from sfumato.verify.refuter.chances import Noise
from sfumato.verify.refuter.forms import Form, noise
from sfumato.verify.run import AtDraw, Env, NotRun, Runner
from sfumato.verify.tree import Program

_REAL = {"exp": exp, "ln": ln, "sqrt": sqrt}


class TooMany(Exception):
    """More ways than are looked at."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way through a program: what was decided, the noises, the tests (each form is at least 0), and the output."""

    decided: tuple[int, ...]
    noises: tuple[Noise, ...]
    tests: tuple[Form, ...]
    weight: Fraction
    output: Any


class Walker:
    """Walks all ways of a program."""

    def __init__(self, program: Program, most: int = 400) -> None:
        self.program = program
        self.most = most
        self.runner = Runner(program, exact=True, decide=self._decide, real=lambda name, value: _REAL[name](value))
        self._choices: list[int] = []
        self._taken = 0
        self._open: list[tuple[int, ...]] = []
        self._tests: list[Form] = []

    def ways(self, env: Env) -> list[Way]:
        """All ways on an input, in a fixed order."""
        self._open = [()]
        found: list[Way] = []
        while self._open:
            if len(found) >= self.most:
                raise TooMany
            found.append(self._walk(dict(env), self._open.pop()))
        return found

    def way(self, env: Env, decided: tuple[int, ...]) -> Way | None:
        """The way that decides so, if there is one."""
        found = self._walk(dict(env), decided)
        return found if found.decided == decided else None

    def ends(self, env: Env) -> list[Way]:
        """Two ways that are quickly found: every choice the first, every choice the second."""
        return [self._walk(dict(env), ()), self._walk(dict(env), (1,) * 64)]

    def _walk(self, env: Env, choices: tuple[int, ...]) -> Way:
        self._choices, self._taken, self._tests = list(choices), 0, []
        noises: list[Noise] = []
        weight = Fraction(1)
        running = self.runner.run(env, 200)
        try:
            stop = next(running)
            while True:
                value = None
                if isinstance(stop, AtDraw):
                    value, factor = self._draw(stop, noises)
                    weight *= factor
                stop = running.send(value)
        except StopIteration as end:
            return Way(tuple(self._choices), tuple(noises), tuple(self._tests), weight, end.value)

    def _choose(self, count: int) -> int:
        """The next choice; other ones are kept for later."""
        if self._taken == len(self._choices):
            so_far = tuple(self._choices)
            self._open += [(*so_far, other) for other in range(count - 1, 0, -1)]
            self._choices.append(0)
        self._taken += 1
        return self._choices[self._taken - 1]

    def _decide(self, difference: Any, sign: str) -> bool:
        if not isinstance(difference, Form):
            raise NotRun
        if sign in ("=", "!="):  # a linear form of continuous noise has no atoms
            return sign == "!="
        yes = self._choose(2) == 0
        above = (sign in (">", ">=")) == yes
        self._tests.append(difference if above else -difference)
        return yes

    def _draw(self, stop: AtDraw, noises: list[Noise]) -> tuple[Any, Fraction]:
        law, args = stop.draw.law, stop.args
        if law == "Gauss":
            noises.append(Noise(law, args[0] if isinstance(args[0], Real) else Fraction(args[0])))
            return noise(len(noises) - 1) + args[1], Fraction(1)
        if any(isinstance(arg, Real) for arg in args):
            raise NotRun
        if law in ("Laplace", "Exponential"):
            noises.append(Noise(law, Fraction(args[0])))
            centre = Fraction(0) if law == "Exponential" else args[1]
            return noise(len(noises) - 1) + centre, Fraction(1)
        if law == "Bernoulli":
            outcomes = [(Fraction(1), Fraction(args[0])), (Fraction(0), 1 - Fraction(args[0]))]
        elif law == "Uniform" and len(args) == 2:
            low, high = int(args[0]), int(args[1])
            if high - low > 64:
                raise TooMany
            outcomes = [(Fraction(k), Fraction(1, high - low + 1)) for k in range(low, high + 1)]
        elif law == "Choice":
            if any(isinstance(weight, Real) for weight in args[0]):
                raise NotRun
            total = sum(args[0])
            outcomes = [(Fraction(k), Fraction(weight) / total) for k, weight in enumerate(args[0])]
        else:
            raise NotRun
        return outcomes[self._choose(len(outcomes))]
