"""Verify, relational: laws of outputs in fractions. Comes in: a program and one input. Goes out: every output with its
chance; never returning is one of them.

The laws are those of finite/law.py. A program that draws from infinitely many values, or with chances that are no
fractions, has no law here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.verify.finite.decide import NEVER
from sfumato.verify.finite.field import LetterField
from sfumato.verify.finite.law import Machine
from sfumato.verify.finite.signs import ParameterDomain
from sfumato.verify.run import Env, NotRun
from sfumato.verify.tree import Program

Law = dict[Any, Fraction]


class Laws:
    """The laws of one program, for so much work: statements times states."""

    def __init__(self, program: Program, work: int) -> None:
        self.program = program
        self.machine = Machine(program, ParameterDomain(LetterField(1)))
        self.left = work

    def of(self, env: Env) -> Law:
        """The law on one input; raises NotRun where there is none, or no work is left."""
        self.machine.most = self.left
        found = self.machine.run(dict(env))
        self.left -= self.machine.work
        if not found.is_whole:
            raise NotRun
        law: Law = {}
        for value, weight in found.outputs.values():
            if not isinstance(weight, int | Fraction):
                raise NotRun
            law[frozen(value)] = Fraction(weight)
        rest = 1 - sum(law.values(), Fraction(0))
        return {**law, NEVER: rest} if rest else law


def frozen(value: Any) -> Any:
    """An output as a key: `false` is not 0."""
    if value == NEVER:
        return value
    if isinstance(value, tuple):
        return tuple(frozen(item) for item in value)
    return ("truth", value) if isinstance(value, bool) else Fraction(value)


def thawed(key: Any) -> Any:
    """An output from its key."""
    if isinstance(key, tuple) and key != NEVER:
        return key[1] if len(key) == 2 and key[0] == "truth" else tuple(thawed(item) for item in key)
    return key
