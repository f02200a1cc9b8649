"""Verify, refuter: inputs near the numbers that a program names. Comes in: a program. Goes out: adjacent pairs.

Tests change their mind at numbers of the text, at their roots, and where a sum over a list reaches them; and where the
solver says that two runs part ways. Only searches use these pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice, product
from math import isqrt
from typing import Any

import z3

from sfumato.verify.cases import Maker, make_pools
from sfumato.verify.kernel.check import conditions_of
from sfumato.verify.kernel.inputs import directions
from sfumato.verify.kernel.product import Product
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.kernel.values import PairedNumber
from sfumato.verify.refuter.inputs import Element, InputMaker, put
from sfumato.verify.run import Env, NotRun, RunFault
from sfumato.verify.tree import Num, Program, Type, expressions, statements, walk

NUMBERS, LONGEST, PAIRS = 6, 64, 240
"""Numbers of the text, elements of a list, and pairs that are looked at."""


def marks_of(program: Program) -> list[Fraction]:
    """Numbers of the text and their roots, from below and above."""
    written = {
        part.value
        for statement in statements(program.body)
        for node in expressions(statement)
        for part in walk(node)
        if isinstance(part, Num) and part.value not in (0, 1)
    }
    chosen = sorted(written, key=lambda value: (value.denominator, abs(value)))[:NUMBERS]
    found = [Fraction(0), *chosen, *(-value for value in chosen)]
    for value in chosen:
        if value > 1:
            root = isqrt(int(value))
            cube = round(float(value) ** (1 / 3))
            found += [Fraction(sign * at) for at in (root, root + 1, cube) for sign in (1, -1)]
    return list(dict.fromkeys(found))


def marked_pairs(program: Program) -> Iterator[tuple[Env, Env]]:
    """Adjacent pairs near the marks; those of the solver first."""
    maker = Maker(program)
    pairs = (*islice(_models(program), 4), *_near(program, InputMaker(program, maker)))
    count = 0
    for one, two in dict.fromkeys((_frozen(one), _frozen(two)) for one, two in pairs):
        first, second = dict(one), dict(two)
        if maker.admits(first) and maker.admits(second):
            count += 1
            yield first, second
        if count >= PAIRS:
            return


def _frozen(env: Env) -> Any:
    return tuple(sorted(env.items()))


def _near(program: Program, inputs: InputMaker) -> Iterator[tuple[Env, Env]]:
    """Every private number at a mark or one step from it, and its neighbours; lists long enough to add up to one."""
    marks = marks_of(program)
    pools = make_pools(program, 2)
    private = [param for param in program.params if param.private]
    named = [param for param in program.params if not param.private]
    if program.uses or any(param.name not in pools.publics for param in named):
        return
    values = [_unique([*pools.publics[param.name][:3], *(_kept(param.type, marks)[:3])]) for param in named]
    settings = list(islice(product(pools.eps[:2], pools.delta[:1], *values), 12))
    sizes = [int(mark) for mark in marks if mark.denominator == 1 and 1 < mark <= LONGEST]
    lists = any(param.type.kind == "list" for param in private)
    for (eps, delta, *chosen), size in product(settings, dict.fromkeys([1, 2, *sizes]) if lists else [0]):
        env: Env = {"eps": eps, "delta": delta}
        env |= {param.name: value for param, value in zip(named, chosen, strict=True)}
        try:
            neutral = inputs.neutral(env, size)
            if neutral is not None:
                yield from _around(program, inputs, neutral, size, marks)
        except (NotRun, RunFault):
            return


def _around(
    program: Program, inputs: InputMaker, neutral: Env, size: int, marks: list[Fraction]
) -> Iterator[tuple[Env, Env]]:
    elements = inputs.elements(size)
    if len(elements) > 2:  # all at one end: the sum over the list is a mark
        ends = [inputs.poles(element.type, neutral) or (Fraction(0), Fraction(1)) for element in elements]
        for side in (1, 0):
            env = neutral
            for element, end in zip(elements, ends, strict=True):
                env = put(env, element, end[side])
            yield from _changed(program, env, elements[0], ends[0][1 - side])
        return
    for element in elements:
        step = Fraction(1)
        for mark in marks:
            for value in (mark, mark + step, mark - step, mark + step / 2):
                if element.type.kind in ("int", "range") and value.denominator != 1:
                    continue
                if element.type.kind not in ("int", "range", "real", "interval"):
                    continue
                env = neutral
                for other in elements:
                    env = put(env, other, value)
                for change in (step, -step):
                    yield from _changed(program, env, element, value + change)


def _changed(program: Program, env: Env, element: Element, value: Any) -> Iterator[tuple[Env, Env]]:
    """The neighbour with one element changed, or gone; in both orders."""
    if program.adjacent == "addremove":
        items = env[element.name]
        two = env | {element.name: (*items[: element.place], *items[(element.place or 0) + 1 :])}
    elif program.adjacent == "moves":
        return
    else:
        two = put(env, element, value)
    yield env, two
    yield two, env


def _kept(kind: Type, marks: list[Fraction]) -> list[Fraction]:
    if kind.kind == "bool":
        return []
    return [mark for mark in marks if mark.denominator == 1 or kind.kind in ("real", "interval")]


def _unique(values: list[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


# ---- where the solver says that runs part


def _models(program: Program) -> Iterator[tuple[Env, Env]]:
    """Inputs without lists for which two runs return different things, or take different branches, with equal noise."""
    if program.uses or any(param.type.kind in ("list", "bits", "tuple", "bool") for param in program.params):
        return
    for direction in directions(program):
        try:
            product_of = conditions_of(program, Proof(direction))
        except (NoProofRule, ValueError):
            continue
        for condition in product_of.conditions:
            if condition.kind not in ("output", "path"):
                continue
            solver = product_of.terms.solver()
            solver.add(*condition.assumed, z3.Not(condition.goal))
            if solver.check() == z3.sat:
                found = [_read(product_of, solver.model(), run) for run in (0, 1)]
                if found[0] is not None and found[1] is not None:
                    yield found[0], found[1]
                    yield found[1], found[0]


def _read(product_of: Product, model: Any, run: int) -> Env | None:
    """The parameters of one run in a model; None if one is no fraction."""
    env: Env = {}
    for name in ("eps", "delta", *(param.name for param in product_of.program.params)):
        value = product_of.runs.inputs.values[name]
        if not isinstance(value, PairedNumber):
            return None
        poly = (value.one, value.two)[run]
        total = Fraction(0)
        for monomial, factor in poly.terms:
            part = factor
            for atom, power in monomial:
                found = model.eval(product_of.terms.atoms[atom], model_completion=True)
                if not (z3.is_rational_value(found) or z3.is_int_value(found)):
                    return None
                part *= Fraction(str(found.as_fraction() if z3.is_rational_value(found) else found.as_long())) ** power
            total += part
        env[name] = total
    return env
