"""Verify: a program as the audit sees it. Comes in: a program and an epsilon. Goes out: what runs of it say about its
claim.

Inputs are the refuter's witness, if there is one at this epsilon, and adjacent pairs made up in a fixed order. The
audit knows nothing of the program but its outputs, which the simulation draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.audit import AuditVerdict as Found
from sfumato.audit import OutputTable, Subject, audit, encode
from sfumato.errors import InputError
from sfumato.verify.adjacent import are_adjacent
from sfumato.verify.cases import Maker
from sfumato.verify.kernel.inputs import directions
from sfumato.verify.refuter.search import RefuterSearch
from sfumato.verify.refuter.witness import real
from sfumato.verify.run import Env
from sfumato.verify.simulate import simulate
from sfumato.verify.tree import Binary, Num, Program, Var

PAIRS, CASES, WORK, GRID, BILLION = 12, 60, 8000, 2.0**16, 10**9


def audited(program: Program, epsilon: Fraction, samples: int) -> Found:
    """The audit's verdict on the claim at this epsilon, on pairs that the program admits."""
    if len(program.claim) != 1 or epsilon <= 0:
        raise InputError("an audit needs a claim without delta, and an epsilon above 0")
    pairs = list(_pairs(program, epsilon))
    if not pairs:
        raise InputError(f"no adjacent inputs were found at epsilon {epsilon}", hint="Loosen `requires`.")
    claims = [_claimed(program, one) for one, _ in pairs]
    claim = claims[0]  # of the refuter's pair, or of the first
    pairs = [pair for pair, other in zip(pairs, claims, strict=True) if other <= claim]

    def sample(given: Any, count: int) -> OutputTable:
        """Rounded: what floating-point noise gives away in its last bits is not the program's doing."""
        seen = encode(simulate(program, count, dict(given)))
        return OutputTable(np.round(seen.numbers * GRID) / GRID, seen.symbols)

    subject = Subject(program.name, sample, tuple(pairs))
    return audit(subject, claim, samples=samples)


def _claimed(program: Program, env: Env) -> Fraction:
    """What the program claims on an input, in nats, not rounded down."""
    return Fraction(int((real(program.claim[0], env).upper() * BILLION).ceil().unique_fmpz()), BILLION)


def _pairs(program: Program, epsilon: Fraction) -> Iterator[tuple[Env, Env]]:
    """Admitted adjacent inputs with this epsilon: the refuter's first."""
    fixed = replace(program, requires=(*program.requires, Binary("=", Var("eps"), Num(epsilon))))
    witness = RefuterSearch(fixed, work=WORK).run()
    if witness is not None:
        yield witness.one, witness.two
    maker, seen = Maker(fixed), 0
    for case in maker.cases(CASES, directions(program)[0]):
        one, two = ({name: _plain(value) for name, value in env.items()} for env in (case.one, case.two))
        if one != two and maker.admits(one) and maker.admits(two) and are_adjacent(fixed, one, two, maker.bound):
            yield one, two
            seen += 1
            if seen == PAIRS:
                return


def _plain(value: Any) -> Any:
    """Functions of `uses` as the numbers that they are on one input."""
    return value.value if hasattr(value, "number") else value
