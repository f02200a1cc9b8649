"""Verify, refuter: all ways through a program on one input. Comes in: an input. Goes out: ways with tests, weights,
outputs.

Noise stays a letter; where a test reads it, the way forks. Coins, dice and choices fork too, with their weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.reals import Real, exp, ln, sqrt
from sfumato.verify.effort import spend
from sfumato.verify.kernel.redraws import made_again, redrawn
from sfumato.verify.refuter.chances import CentredLaw
from sfumato.verify.refuter.forms import Form, noise
from sfumato.verify.run import COMPARE, AtDraw, Env, NotRun, Runner
from sfumato.verify.tree import (
    Again,
    Assign,
    Binary,
    Draw,
    Program,
    Return,
    SequenceLiteral,
    Var,
    changed,
    draws_of,
    statements,
)

INPUT = 1 << 20
"""Letters from here on stand for inputs, not for noise: only searches use such ways."""
Fits = Callable[[tuple[Any, ...]], bool]
"""Whether an event may still come of an output that has begun like this."""

_REAL = {"exp": exp, "ln": ln, "sqrt": sqrt}


class TooManyPaths(Exception):
    """More ways than are looked at."""


class _Misfit(Exception):
    """A way that leads to no output of the event."""


def grown_by(program: Program) -> str | None:
    """The variable that is returned, if it is a list that begins empty and to which things are only ever joined."""
    returned = [statement.value for statement in statements(program.body) if isinstance(statement, Return)]
    if len(returned) != 1 or not isinstance(returned[0], Var):
        return None
    name, empty = returned[0].name, 0
    for statement in statements(program.body):
        match statement:
            case Assign(name=found, value=SequenceLiteral(items=())) if found == name:
                empty += 1
            case Assign(name=found, value=Binary(op="++", left=Var(name=before))) if found == before == name:
                continue
            case Assign(name=found) | Draw(name=found) if found == name:
                return None
    first = next((part for part in program.body if name in changed((part,))), None)
    known = any(param.name == name for param in program.params)
    return name if empty == 1 and first == Assign(name, SequenceLiteral(())) and not known else None


@dataclass(frozen=True, slots=True)
class ProgramPath:
    """One way through a program: what was decided, the noises, the tests (each form is at least 0), and the output."""

    decided: tuple[int, ...]
    noises: tuple[CentredLaw, ...]
    tests: tuple[Form, ...]
    weight: Fraction
    output: Any
    hidden: bool = False  # whether inputs alone have decided a test, where there are letters for inputs


def accepted_once(program: Program) -> Program:
    """The program whose first draw is accepted or made again, if that is all that is made again: the chance of an event
    is then that of the event without a second draw, over the chance of being accepted.
    """
    found = redrawn(program)
    first = next(iter(draws_of(found)), None)
    again = [part for part in statements(found.body) if isinstance(part, Again)]
    single = len(again) == 1 and again[0] in found.body and first is not None and first.number == again[0].number
    return found if single and first in found.body else program


STEP = 12
"""Steps of a search that each draw and each test of a walk count for."""


class Walker:
    """Walks all ways of a program."""

    def __init__(self, program: Program, most: int = 400) -> None:
        program = accepted_once(program)
        self.again = bool(made_again(program))
        self.program = program
        self.most = most
        self.runner = Runner(program, exact=True, decide=self._decide, real=lambda name, value: _REAL[name](value))
        self._choices: list[int] = []
        self._taken = 0
        self._open: list[tuple[int, ...]] = []
        self._tests: list[Form] = []
        self._rule: Callable[[int], int] | None = None
        self._fits: Fits | None = None
        self._hidden = False
        self.grown = grown_by(program)

    def ways(self, env: Env, fits: Fits | None = None) -> list[ProgramPath]:
        """All ways on an input, in a fixed order; with `fits`, those whose list of outputs always fitted as it grew."""
        self._open = [()]
        self._fits = fits if self.grown is not None and not self.again else None
        found: list[ProgramPath] = []
        while self._open:
            if len(found) >= self.most:
                raise TooManyPaths
            try:
                found.append(self._walk(dict(env), self._open.pop()))
            except _Misfit:
                continue
        self._fits = None
        return found

    def by_rule(self, env: Env, rule: Callable[[int], int]) -> ProgramPath:
        """The way whose k-th choice is what a rule says."""
        self._rule = rule
        try:
            return self._walk(dict(env), ())
        finally:
            self._rule = None

    def way(self, env: Env, decided: tuple[int, ...]) -> ProgramPath | None:
        """The way that decides so, if there is one."""
        found = self._walk(dict(env), decided)
        return found if found.decided == decided else None

    def ends(self, env: Env) -> list[ProgramPath]:
        """Two ways that are quickly found: every choice the first, every choice the second."""
        return [self._walk(dict(env), ()), self._walk(dict(env), (1,) * 64)]

    def _walk(self, env: Env, choices: tuple[int, ...]) -> ProgramPath:
        self._choices, self._taken, self._tests, self._hidden = list(choices), 0, [], False
        noises: list[CentredLaw] = []
        weight = Fraction(1)
        running = self.runner.run(env, 200)
        try:
            stop = next(running)
            while True:
                value = None
                if isinstance(stop, AtDraw):
                    value, factor = self._draw(stop, noises)
                    weight *= factor
                elif self._fits is not None and self.grown and not self._fits(stop.env.get(self.grown, ())):
                    raise _Misfit
                stop = running.send(value)
        except StopIteration as end:
            spend(STEP * (2 + len(noises) + len(self._tests)))
            return ProgramPath(tuple(self._choices), tuple(noises), tuple(self._tests), weight, end.value, self._hidden)

    def _choose(self, count: int) -> int:
        """The next choice; other ones are kept for later."""
        if self._taken == len(self._choices):
            so_far = tuple(self._choices)
            self._open += [(*so_far, other) for other in range(count - 1, 0, -1)]
            self._choices.append(0 if self._rule is None else min(self._rule(self._taken), count - 1))
        self._taken += 1
        return self._choices[self._taken - 1]

    def _decide(self, difference: Any, sign: str) -> bool:
        if not isinstance(difference, Form):
            raise NotRun
        if all(number >= INPUT for number, _ in difference.factors):  # inputs alone decide
            self._hidden = True
            return COMPARE[sign](difference.constant, 0)
        if sign in ("=", "!="):  # a linear form of continuous noise has no atoms
            return sign == "!="
        yes = self._choose(2) == 0
        above = (sign in (">", ">=")) == yes
        self._tests.append(difference if above else -difference)
        return yes

    def _draw(self, stop: AtDraw, noises: list[CentredLaw]) -> tuple[Any, Fraction]:
        law, args = stop.draw.law, stop.args
        if law == "Gauss":
            noises.append(CentredLaw(law, args[0] if isinstance(args[0], Real) else Fraction(args[0])))
            return noise(len(noises) - 1) + args[1], Fraction(1)
        if any(isinstance(arg, Real) for arg in args):
            raise NotRun
        if law in ("Laplace", "Exponential"):
            noises.append(CentredLaw(law, Fraction(args[0])))
            centre = Fraction(0) if law == "Exponential" else args[1]
            return noise(len(noises) - 1) + centre, Fraction(1)
        if law == "Bernoulli":
            outcomes = [(Fraction(1), Fraction(args[0])), (Fraction(0), 1 - Fraction(args[0]))]
        elif law == "Uniform" and len(args) == 2:
            low, high = int(args[0]), int(args[1])
            if high - low > 64:
                raise TooManyPaths
            outcomes = [(Fraction(k), Fraction(1, high - low + 1)) for k in range(low, high + 1)]
        elif law == "Choice":
            if any(isinstance(weight, Real) for weight in args[0]):
                raise NotRun
            total = sum(args[0])
            outcomes = [(Fraction(k), Fraction(weight) / total) for k, weight in enumerate(args[0])]
        else:
            raise NotRun
        return outcomes[self._choose(len(outcomes))]
