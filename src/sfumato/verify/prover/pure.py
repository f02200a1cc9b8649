"""Verify, prover: pure claims from which one about Rényi divergence may follow. Comes in: a program. Goes out: numbers
to try.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import exp, tanh

from sfumato.verify.prover.rewrite import ONE, scaled
from sfumato.verify.prover.trial import divergence
from sfumato.verify.run import NotRun, RunFault, Runner
from sfumato.verify.tree import Binary, Expr, FunctionCall, Num, Program, Unary, Var, draws_of, walk

EPS = Var("eps")
FINE = 10**6


def pure_claims(program: Program) -> Iterator[Expr]:
    """Expressions in the claim, multiples of epsilon, and where the claim is a number the one that it allows."""
    named = [part for node in program.renyi for part in walk(node)]
    rates = [EPS, *(rate for draw in draws_of(program) for rate in _rates(draw.law, draw.args))]
    tried = [scaled(rate, part) for rate in rates for part in map(Fraction, ("1", "2", "1/2"))]
    tried += [part.left for part in named if isinstance(part, Binary) and part.op == "^"]
    tried += [part for part in named if isinstance(part, FunctionCall) and part.name == "ln"]
    tried += [part for part in named if isinstance(part, Var)]
    yield from dict.fromkeys(tried)
    most = _allowed(program)
    if most is not None:
        yield Num(most)


def _rates(law: str, args: tuple[Expr, ...]) -> list[Expr]:
    if law in ("Geometric", "TruncGeometric"):
        return [Unary("-", FunctionCall("ln", (args[0],)))]
    return [Binary("/", ONE, args[0])] if law == "Laplace" else []


def _allowed(program: Program) -> Fraction | None:
    """The greatest pure claim from which the claim follows, where it is a number."""
    runner = Runner(program, exact=False)
    try:
        *orders, most = (float(runner.code(node)({})) for node in program.renyi)
    except (NotRun, RunFault, KeyError, TypeError, ValueError, ArithmeticError):
        return None
    low, high = 0.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        value = divergence("Geometric", middle, *orders) if orders else middle * tanh(middle / 2)
        low, high = (middle, high) if value <= most * (1 - exp(-30)) else (low, middle)
    return Fraction(int(low * FINE), FINE) if low * FINE >= 1 else None
