"""Verify, finite laws: whether one input is admitted, for certain. Comes in: an input of exact numbers. Goes out: yes,
or no proof.

A witness stands on this: it is no witness at a point that only rounding admits.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.verify.finite.field import LetterField, NeedRoot
from sfumato.verify.finite.inputs import Setting
from sfumato.verify.finite.signs import ParameterDomain
from sfumato.verify.run import Env, NotRun, RunFault, Runner
from sfumato.verify.tree import Program, Type

ROOTS = 200


def surely_admitted(program: Program, env: Env) -> bool:
    """Whether an input lies in its types and satisfies what is required: decided exactly, never by floats."""
    if not env["eps"] > 0 or not 0 <= env["delta"] < 1:
        return False
    root = 1
    while root <= ROOTS:
        runner = Setting({}, ParameterDomain(LetterField(root))).runner(program)
        try:
            inside = all(_fits(param.type, env[param.name], runner, env) for param in program.params)
            return inside and all(runner.truth(node, env) for node in program.requires)
        except NeedRoot as need:
            root = need.root
        except (NotRun, RunFault, TypeError):
            return False
    return False


def _fits(kind: Type, value: Any, runner: Runner, env: Env) -> bool:
    """Whether a value is one of a type."""
    match kind.kind:
        case "bool":
            return isinstance(value, bool)
        case "list":
            return isinstance(value, tuple) and all(_fits(kind.items[0], item, runner, env) for item in value)
        case "tuple":
            right = isinstance(value, tuple) and len(value) == len(kind.items)
            return right and all(_fits(*pair, runner, env) for pair in zip(kind.items, value, strict=True))
        case "bits":
            size = runner.code(kind.args[0])(env)
            return isinstance(value, tuple) and len(value) == size and all(_is_bit(item) for item in value)
    if not isinstance(value, Fraction) or (kind.kind in ("int", "range") and value.denominator != 1):
        return False
    if not kind.args:
        return True
    low, high = (runner.code(end)(env) for end in kind.args)
    return runner.compare(low, value, "<=") and runner.compare(value, high, "<=")


def _is_bit(value: Any) -> bool:
    return isinstance(value, Fraction) and value in (0, 1)
