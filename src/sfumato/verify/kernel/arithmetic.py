"""Verify, kernel: numbers of one run. Comes in: terms of the solver. Goes out: terms, without remainders inside of
remainders.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from sfumato.verify.kernel.symbols import World
from sfumato.verify.kernel.uncovered import NoProofRule

FACTORS = 64
"""Factors of one product."""
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def is_number(term: Any, value: int) -> bool:
    """Whether a term is this very number."""
    return bool(z3.is_int_value(term)) and term.as_long() == value


def as_real(term: Any) -> Any:
    """A whole number as a real one."""
    return z3.ToReal(term) if term.is_int() else term


def times(left: Any, right: Any) -> Any:
    """A product, if it does not have too many factors: the solver writes all of them side by side."""
    found = z3.simplify(left * right)
    if z3.is_mul(found) and found.num_args() > FACTORS:
        raise NoProofRule("a product of very many factors")
    return found


def _without(term: Any, modulus: Any) -> Any:
    """A whole number without remainders by this modulus: a sum changes by multiples of it only."""
    if z3.is_mod(term) and term.arg(1).eq(modulus):
        return _without(term.arg(0), modulus)
    if z3.is_add(term):
        return z3.Sum(*[_without(part, modulus) for part in term.children()])
    if z3.is_mul(term) and term.num_args() == 2 and z3.is_int_value(term.arg(0)):
        return term.arg(0) * _without(term.arg(1), modulus)
    if z3.is_sub(term):
        first, *rest = [_without(part, modulus) for part in term.children()]
        for part in rest:
            first = first - part
        return first
    return term


def remainder(world: World, known: list[Any], left: Any, modulus: Any) -> Any:
    """left mod modulus, without remainders by the same modulus inside."""
    bare = z3.simplify(_without(left, modulus))
    if z3.is_int_value(bare) and z3.is_int_value(modulus) and modulus.as_long() > 0:
        return world.value(bare.as_long() % modulus.as_long())
    asked = not z3.is_int_value(modulus) or z3.is_const(bare)
    inside = asked and world.proves(known, z3.And(bare >= 0, bare < modulus))
    return bare if inside else bare % modulus
