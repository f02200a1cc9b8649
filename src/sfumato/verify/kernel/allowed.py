"""Verify, kernel: which arguments a law allows. Comes in: a draw that was moved to a later place. Goes out: conditions
that its arguments are allowed where the program as written makes the draw.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.tree import Binary, Draw, Expr, Num, SequenceLiteral

if TYPE_CHECKING:
    from sfumato.verify.kernel.evaluate import State
    from sfumato.verify.kernel.product import Product

ZERO, ONE = Num(Fraction(0)), Num(Fraction(1))


def check_allowed(product: Product, draw: Draw, test: Expr, state: State) -> None:
    """Note for both runs that the arguments of a draw are allowed where a test holds."""
    runs, there = product.runs, state.copy()
    found = runs.truth(test, state)
    there.own[0].append(found.one)
    there.own[1].append(found.two)
    for wanted in _wanted(draw):
        truth = runs.truth(wanted, there)
        runs.safe(f"{draw.law} is given what it allows", draw.at, there, (truth.one, truth.two))
    if draw.law == "Uniform" and not all(runs.number(arg, there).whole for arg in draw.args):
        raise NoProofRule("ends or lengths that are not whole")


def _wanted(draw: Draw) -> tuple[Expr, ...]:
    """What the language asks of a law's arguments (run.check_law), as tests."""
    first = draw.args[0]
    match draw.law:
        case "Laplace" | "Gauss" | "Exponential":
            return (Binary(">", first, ZERO),)
        case "Geometric" | "Steps":
            return Binary(">", first, ZERO), Binary("<", first, ONE)
        case "TruncGeometric":
            return Binary(">", first, ZERO), Binary("<", first, ONE), Binary("<=", draw.args[1], draw.args[2])
        case "Bernoulli":
            return Binary(">=", first, ZERO), Binary("<=", first, ONE)
        case "Uniform" if len(draw.args) == 2:
            return (Binary("<=", first, draw.args[1]),)
        case "Choice" if isinstance(first, SequenceLiteral) and first.items:
            total = first.items[0]
            for weight in first.items[1:]:
                total = Binary("+", total, weight)
            return (*(Binary(">=", weight, ZERO) for weight in first.items), Binary(">", total, ZERO))
    raise NoProofRule(f"{draw.law} is not moved to a later place")
