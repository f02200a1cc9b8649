"""Verify, prover: elements that are taken by a coin. Comes in: a program. Goes out: a claim about the program that
takes all elements, and proofs of it; or None.
"""

from __future__ import annotations

from fractions import Fraction
from math import expm1, log1p

from sfumato.verify.cases import Maker, to_floats
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.sampling import Claim, inner_programs, taken_by_coin
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.prover.rewrite import ONE, ZERO, scaled
from sfumato.verify.prover.search import EPS, search
from sfumato.verify.run import NotRun, RunFault, Runner
from sfumato.verify.tree import Binary, Draw, Expr, FunctionCall, Program, Unary, draws_of

PARTS = tuple(map(Fraction, ("2", "1", "1/2")))
TRIES, CASES = 3, 12
"""Claims about all elements that are tried, and cases in which the claim has to follow."""


def search_sampled(program: Program, hints: tuple[Expr, ...]) -> tuple[Claim, tuple[Proof, ...]] | None:
    """The claim about all elements, with its proofs."""
    try:
        coin, every = taken_by_coin(program)
    except NoProofRule:
        return None
    rates = [EPS, *(rate for draw in draws_of(every) for rate in _rates(draw))]
    tried = dict.fromkeys(scaled(rate, part) for part in PARTS for rate in rates)
    fitting = [node for node in tried if _follows(program, coin, node)]
    for most in fitting[:TRIES]:
        claim = (most, *(ZERO for _ in program.claim[1:]))
        proofs: list[Proof] = []
        for inner in inner_programs(program, claim):
            found = search(inner, hints).proofs
            if found is None:
                break
            proofs += found
        else:
            return claim, tuple(proofs)
    return None


def _rates(draw: Draw) -> list[Expr]:
    """What a draw costs for one step."""
    match draw.law:
        case "Geometric":
            return [Unary("-", FunctionCall("ln", (draw.args[0],)))]
        case "Laplace":
            return [Binary("/", ONE, draw.args[0])]
    return []


def _follows(program: Program, coin: Draw, most: Expr) -> bool:
    """Whether the claim followed in all cases that were looked at."""
    runner = Runner(program, exact=False)
    for case in Maker(program, seed=13).cases(CASES):
        env = to_floats(case.one)
        try:
            claim, chance, every = (runner.code(node)(env) for node in (program.claim[0], coin.args[0], most))
            if log1p(chance * expm1(every)) > claim * (1 + 1e-9):
                return False
        except (RunFault, NotRun, KeyError, TypeError, ArithmeticError, ValueError):
            return False
    return True
