"""Verify, relational: the walk from a property to a finding. Comes in: a program. Goes out: what was found, with what
shows it, and its certificate.

Small inputs first: exact laws refute at once. Then a coupling, which the kernel checks and which holds for all sizes.
Then more exact laws, which decide what is finite. What is left goes to the prover and the refuter of claims: secrecy is
a claim of 0 about any two private inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import z3

from sfumato.verify.kernel import secrecy
from sfumato.verify.kernel.certificate import FORMAT, hash_of
from sfumato.verify.kernel.pair import CouplingProof
from sfumato.verify.relational.decide import (
    Difference,
    ExactLawSearch,
    difference,
    enumerate_laws,
    last_bits,
)
from sfumato.verify.relational.documents import MANY, difference_document, scope_of
from sfumato.verify.relational.exact import Laws
from sfumato.verify.relational.inputs import ProgramInputs
from sfumato.verify.relational.search import ALL, Stuck, search
from sfumato.verify.run import Env, NotRun, RunFault
from sfumato.verify.tree import Program, draws_of

FEW = 3_000
"""Work for a first look: statements times states."""
SHOWN = 40
"""Pairs of runs that are followed for a coupling of what is decided already, only to show it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found: PROVED by a coupling or by all laws, REFUTED by a difference, or UNKNOWN."""

    verdict: str
    scope: str | dict[str, Any]
    coupling: CouplingProof | None
    difference: Difference | None
    certificate: dict[str, Any] | None
    note: str = ""


def find(program: Program) -> tuple[Finding | None, Finding | None]:
    """What couplings and exact laws say, None if neither says anything; and then what is shown for small sizes.

    Guarantee: PROVED with scope "all" only if the property holds; REFUTED only with inputs whose exact chances differ.
    Proof: a coupling is accepted by the kernel (kernel/pair.py); laws are exact and of all inputs (decide.py).
    Reference: see there.
    Checked by: verify::what_is_said_of_random_programs_is_true, verify::properties_are_decided_as_derived_by_hand
    """
    first = enumerate_laws(program, FEW)
    if first.difference is not None:
        return _refuted(program, first.difference), None
    coupling, stuck = search(program, SHOWN if first.complete else ALL)
    if coupling is not None:
        return Finding("PROVED", "all", coupling, None, secrecy.write(program, coupling)), None
    if first.complete:
        return _enumerated(program, first), None
    guessed = _from_model(program, stuck) or last_bits(program, FEW)
    if guessed is not None:
        return _refuted(program, guessed), None
    more = enumerate_laws(program, MANY)
    if more.difference is not None:
        return _refuted(program, more.difference), None
    if more.complete:
        return _enumerated(program, more), None
    return None, _enumerated(program, more) if more.limits else None


def _refuted(program: Program, found: Difference) -> Finding:
    document = {
        "format": FORMAT,
        "verdict": "REFUTED",
        "kind": "difference",
        "property": program.property,
        "program": program.source,
        "hash": hash_of(program.source),
        "witness": difference_document(found),
    }
    return Finding("REFUTED", "all", None, found, document)


def _enumerated(program: Program, found: ExactLawSearch) -> Finding:
    scope = scope_of(found)
    document = {
        "format": FORMAT,
        "verdict": "PROVED",
        "kind": "enumeration",
        "property": program.property,
        "program": program.source,
        "hash": hash_of(program.source),
        "scope": scope,
    }
    return Finding("PROVED", scope, None, None, document, "all inputs were run, with all noise")


def _from_model(program: Program, stuck: Stuck) -> Difference | None:
    """Two inputs on which an open condition fails, if exact laws on them differ."""
    if stuck is None or program.property == "uniform":
        return None
    if any(param.type.kind not in ("int", "real", "range", "interval", "bool") for param in program.params):
        return None
    pair, condition = stuck
    solver = pair.world.solver(condition.assumed)
    solver.add(z3.Not(condition.goal))
    if solver.check() != z3.sat:
        return None
    model, inputs, laws = solver.model(), ProgramInputs(program), Laws(program, MANY)
    envs = [_read(program, model, side, pair.world.context) for side in (1, 2)]
    if None in envs or not all(inputs.fits(env) for env in envs if env is not None):
        return None
    one, two = envs
    assert one is not None
    assert two is not None
    try:
        return difference(one, two, laws.of(one), laws.of(two))
    except (NotRun, RunFault, TypeError, KeyError):
        return None


def _read(program: Program, model: Any, side: int, context: Any) -> Env | None:
    env: Env = {"eps": Fraction(1), "delta": Fraction(0)}
    for param in program.params:
        label = f"{param.name}@{side}" if param.private else param.name
        whole, bit = param.type.kind in ("int", "range"), param.type.kind == "bool"
        make = z3.Bool if bit else z3.Int if whole else z3.Real
        found = model.eval(make(label, context), model_completion=True)
        if bit:
            env[param.name] = bool(z3.is_true(found))
        elif z3.is_int_value(found) or z3.is_rational_value(found):
            env[param.name] = Fraction(str(found))
        else:
            return None
    return env


def is_claimable(program: Program) -> bool:
    """Whether the prover and the refuter of claims know what the program draws: numbers, not bit lists."""
    lists = any(draw.law == "Uniform" and len(draw.args) == 1 for draw in draws_of(program))
    return program.property != "uniform" and not lists
