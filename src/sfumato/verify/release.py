"""Verify: a program run for good, its noise drawn exactly. Comes in: a program, one input. Goes out: one output.

`simulate` looks at programs with floating-point noise; this is what may leave the house. Numbers are fractions, laws
are those that can be drawn exactly from random bits: whole numbers and choices. Laws of real numbers cannot be, so a
program that draws them is refused before anything is read or paid (`refused`).

Guarantee: the output has the very law that the language gives the program on this input.
Proof: everything between draws is arithmetic on fractions. Geometric(e^-t) on the whole numbers is the law of
    chance.sample_laplace at scale 1/t; Bernoulli, Choice and Uniform are chance.sample_choice and sample_uniform with
    these very weights, which may be reals given by enclosures. exp, ln and sqrt stand in arguments of laws only, so no
    test depends on a real number.
Reference: Canonne, Kamath, Steinke, NeurIPS 2020 (whole numbers, not floats); semantics 4.1.
Checked by: verify::an_exact_run_has_the_law_of_the_program, verify::what_cannot_be_drawn_exactly_is_refused,
    verify::elements_come_in_any_order
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from sfumato.errors import InputError
from sfumato.mechanisms import opened
from sfumato.reals import Real, exp, ln, sqrt
from sfumato.sampling import sample_choice, sample_laplace, sample_uniform
from sfumato.types import Exact
from sfumato.verify.run import AtDraw, Env, Runner
from sfumato.verify.tree import Draw, Expr, FunctionCall, Program, expressions, statements, walk

UNBOUNDED = math.inf
"""A release has no limit on rounds, elements or digits: all of them may follow from private rows, and so would whether
the limit is met.
"""

_REAL: dict[str, Callable[[Any], Real]] = {"exp": exp, "ln": ln, "sqrt": sqrt}
_LAWS = ("Geometric", "TruncGeometric", "Bernoulli", "Choice", "Uniform")


def refused(program: Program) -> InputError | None:
    """Why a program cannot be run exactly, whatever its input is."""
    for statement in statements(program.body):
        if isinstance(statement, Draw):
            if statement.law not in _LAWS:
                return InputError(
                    f"{statement.law} noise cannot be drawn exactly",
                    detail="It is a distribution on the real numbers, which a machine cannot represent.",
                    hint="Use Geometric noise on integers: the same claim has the same proof.",
                )
            if statement.law in ("Geometric", "TruncGeometric") and not _is_power(statement.args[0]):
                return InputError(
                    "the ratio of Geometric noise must be written as exp(-t)", hint="Write Geometric(exp(-eps))."
                )
        elif any(_is_real(part) for node in expressions(statement) for part in walk(node)):
            return InputError("exp, ln and sqrt may only be used in the arguments of a distribution")
    return None


def released(program: Program, env: Env, private: str, counted: list[Exact], step: Fraction) -> Any:
    """One output on a list that is still sealed: (how many steps, how often) for each different element.

    The elements stand in an order that is drawn uniformly: see gateway.programs for why.
    """
    counts = [(int(steps) * step, int(often)) for steps, often in (opened(row) for row in counted)]
    return run_exactly(program, {**env, private: shuffled([value for value, often in counts for _ in range(often)])})


def shuffled(values: list[Any]) -> tuple[Any, ...]:
    """In an order that is drawn uniformly, exactly."""
    for last in range(len(values) - 1, 0, -1):
        other = int(sample_uniform(last + 1))
        values[last], values[other] = values[other], values[last]
    return tuple(values)


def run_exactly(program: Program, env: Env) -> Any:
    """One output of the program on one input: fractions, truths, and tuples of them.

    Guarantee: a program that is proved gives an output on every input that memory holds; no limit ends it.
    Proof: a loop of a proof has a rank, or both runs go round it together; rounds, elements and digits are not counted.
    Reference: semantics 6.2.
    Checked by: verify::no_limit_ends_a_release
    """
    runner = Runner(program, real=_real, items=UNBOUNDED, bits=UNBOUNDED)
    running = runner.run(dict(env), UNBOUNDED)
    try:
        stop = next(running)
        while True:
            stop = running.send(_drawn(runner, stop) if isinstance(stop, AtDraw) else None)
    except StopIteration as end:
        return end.value


def price_of(node: Expr, program: Program, env: Env) -> Real | Fraction:
    """A claim as a number, at these parameters."""
    found = Runner(program, real=_real).code(node)(env)
    if isinstance(found, bool | tuple):
        raise InputError("a claim is a number")
    return found if isinstance(found, Real) else Fraction(found)


def _real(name: str, value: Any) -> Real:
    return _REAL[name](value)


def _is_power(node: Expr) -> bool:
    """exp of something rational."""
    return isinstance(node, FunctionCall) and node.name == "exp" and not any(map(_is_real, walk(node.args[0])))


def _is_real(node: Expr) -> bool:
    return isinstance(node, FunctionCall) and node.name in _REAL


def _drawn(runner: Runner, stop: AtDraw) -> Any:
    """The value of a draw."""
    law, args = stop.draw.law, stop.args
    match law:
        case "Geometric" | "TruncGeometric":
            ratio = stop.draw.args[0]
            assert isinstance(ratio, FunctionCall)
            exponent = runner.code(ratio.args[0])(stop.env)
            noise = Fraction(int(sample_laplace(-1 / Fraction(exponent))))
            if law == "Geometric":
                return noise
            low, high = args[1], args[2]
            return min(max(noise + (args[3] if len(args) > 3 else 0), low), high)
        case "Bernoulli":
            return Fraction(int(sample_choice([1 - args[0], args[0]])))
        case "Choice":
            return Fraction(int(sample_choice(list(args[0]))))
        case _:
            if len(args) == 1:
                return tuple(Fraction(int(bit)) for bit in sample_uniform(2, int(args[0])))
            low, high = (int(arg) for arg in args)
            return Fraction(low + int(sample_uniform(high - low + 1)))
