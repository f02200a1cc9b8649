"""Verify, prover: where noise may be left to delta. Comes in: a program with a claim (k, delta). Goes out: draws with
sides and bounds to try.

An answer that is kept back below a threshold T is shown for one person only if the noise is about T: bounds are the
numbers that tests compare with, less what a private number may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import exp

from sfumato.verify.cases import Maker, to_floats
from sfumato.verify.kernel.branches import tainted
from sfumato.verify.kernel.tails import TAILED, TWO_SIDED
from sfumato.verify.prover.rewrite import ZERO, folded, linear, minus, negative, plus, scaled
from sfumato.verify.prover.sites import NOISE, atoms_of, summands_of, uses_of, widths_of
from sfumato.verify.run import NotRun, RunFault, Runner
from sfumato.verify.tree import Draw, Expr, Num, Program, draws_of, names

Tail = tuple[int, str, Expr]
STEPS = tuple(map(Fraction, (0, -1, 1, -2, 2)))
MOST, CASES = 6, 12
"""Bounds that are tried, and cases in which the tail has to be within delta."""


def tails_to_try(program: Program, sites: list[int]) -> list[Tail]:
    """Draws whose far values delta may pay for, with a side and where it begins."""
    found: list[Tail] = []
    for draw, uses in uses_of(program, "both").items():
        if draw.number in sites and draw.law in TAILED:
            bounds = [bound for test in uses.tests for atom in atoms_of(test) for bound in _bounds(program, atom)]
            sides = [(side, bound) for side, bound in bounds if side == "above" or draw.law in TWO_SIDED]
            found += [(draw.number, *one) for one in dict.fromkeys(sides) if _is_paid(program, draw, one[1])]
    return found[:MOST]


def _is_paid(program: Program, draw: Draw, bound: Expr) -> bool:
    """Whether the tail was within delta in all cases that were looked at."""
    runner = Runner(program, exact=False)
    for case in Maker(program, seed=11).cases(CASES):
        env = to_floats(case.one)
        try:
            most, far, first = (runner.code(node)(env) for node in (program.claim[1], bound, draw.args[0]))
            ratio = first**far if draw.law in ("Geometric", "Steps") else exp(-far / first)
        except (RunFault, NotRun, KeyError, TypeError, ArithmeticError):
            continue  # a scale that is only known later
        part = {"Laplace": 0.5, "Geometric": 1 / (1 + first)}.get(draw.law, 1.0)
        if far < 0 or ratio * part > most * (1 + 1e-9):
            return False
    return True


def _bounds(program: Program, atom: Expr) -> Iterator[tuple[str, Expr]]:
    """How large the noise is where c * noise + rest passes 0: without what is private, and some steps around."""
    split = linear(atom, NOISE)
    if split is None or not split[0]:
        return
    private = tainted(program) | {draw.name for draw in draws_of(program)}
    public = {"eps", "delta"} | {param.name for param in program.params if not param.private}
    rest: Expr = ZERO
    for sign, part in summands_of(split[1]):
        if names(part) & private:
            continue
        if not names(part) <= public:
            return
        rest = plus(rest, part) if sign > 0 else minus(rest, part)
    edge = scaled(negative(rest), 1 / split[0])
    widths = [width for width in widths_of(program) if isinstance(width, Num)][:1] or [Num(Fraction(1))]
    for side, bound in (("above", edge), ("below", negative(edge))):
        for step in STEPS:
            found = folded(plus(bound, Num(step * widths[0].value)))
            if not isinstance(found, Num) or found.value >= 0:
                yield side, found
