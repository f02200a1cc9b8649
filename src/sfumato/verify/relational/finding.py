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

from sfumato.errors import SfumatoError
from sfumato.verify.faults import say_value
from sfumato.verify.kernel import secrecy
from sfumato.verify.kernel.certificate import FORMAT, hash_of
from sfumato.verify.kernel.pair import Coupling
from sfumato.verify.parse import read_program
from sfumato.verify.relational.decide import Difference, Search, difference, enumerate_laws, is_difference
from sfumato.verify.relational.exact import Budget, law_of
from sfumato.verify.relational.inputs import Inputs
from sfumato.verify.relational.search import Stuck, search
from sfumato.verify.run import Env, Fault, NotRun, Runner, TooLong
from sfumato.verify.tree import Program

FEW, MANY = 1500, 16_000
"""Runs of the program for a first look, and for a decision."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found: PROVED by a coupling or by all laws, REFUTED by a difference, or UNKNOWN."""

    verdict: str
    scope: str | dict[str, Any]
    coupling: Coupling | None
    difference: Difference | None
    certificate: dict[str, Any] | None
    note: str = ""


def find(program: Program) -> Finding | None:
    """What couplings and exact laws say; None if neither says anything.

    Guarantee: PROVED with scope "all" only if the property holds; REFUTED only with inputs whose exact chances differ.
    Proof: a coupling is accepted by the kernel (kernel/pair.py); laws are exact and of all inputs (relational/decide.py).
    Reference: see there.
    Checked by: verify::what_is_said_of_random_programs_is_true, verify::properties_are_decided_as_derived_by_hand
    """
    first = enumerate_laws(program, FEW)
    if first.difference is not None:
        return _refuted(program, first.difference)
    coupling, stuck = search(program)
    if coupling is not None:
        return Finding("PROVED", "all", coupling, None, secrecy.write(program, coupling))
    if first.complete:
        return _enumerated(program, first)
    guessed = _from_model(program, stuck)
    if guessed is not None:
        return _refuted(program, guessed)
    more = enumerate_laws(program, MANY)
    if more.difference is not None:
        return _refuted(program, more.difference)
    return _enumerated(program, more) if more.complete else None


def up_to(program: Program) -> Finding | None:
    """What exact laws of small inputs show: the property for these sizes, and no more."""
    found = enumerate_laws(program, MANY)
    return _enumerated(program, found) if found.level is not None and found.growing else None


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


def _enumerated(program: Program, found: Search) -> Finding:
    scope: str | dict[str, Any] = "all"
    if not found.complete:
        scope = {"size": found.level, "of": " and ".join(found.growing)}
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
    model, inputs, runner = solver.model(), Inputs(program), Runner(program)
    envs = [_read(program, model, side, pair.world.context) for side in (1, 2)]
    if None in envs or not all(inputs.fits(env) for env in envs if env is not None):
        return None
    one, two = envs
    assert one is not None
    assert two is not None
    try:
        laws = [law_of(runner, env, Budget(FEW)) for env in (one, two)]
    except (TooLong, NotRun, Fault, TypeError):
        return None
    return difference(one, two, *laws)


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


# ---- documents


def difference_document(found: Difference) -> dict[str, Any]:
    """A difference as one document."""
    return {
        "input": {name: _plain(value) for name, value in found.one.items()},
        "neighbour": {name: _plain(value) for name, value in found.two.items()},
        "event": {"words": f"output = {say_value(found.output)}", "output": _plain(found.output)},
        "neighbour_event": {"words": f"output = {say_value(found.other_output)}", "output": _plain(found.other_output)},
        "chance": str(found.chance),
        "neighbour_chance": str(found.other_chance),
    }


def faults_of(document: dict[str, Any]) -> list[str]:
    """Why a document of exact laws shows nothing; empty if it does: everything is computed anew."""
    try:
        if document["format"] != FORMAT or hash_of(document["program"]) != document["hash"]:
            return ["the hash is not that of the program"]
        program = read_program(document["program"])
        if program.property is None or program.property != document["property"]:
            return ["the property is not that of the program"]
        if document["verdict"] == "REFUTED":
            return [] if is_difference(program, _difference(document["witness"])) else ["these chances do not differ"]
        found = enumerate_laws(program, MANY)
        level = None if document["scope"] == "all" else int(document["scope"]["size"])
        if found.complete or (level is not None and found.level is not None and found.level >= level):
            return []
        return ["the laws are not equal on all these inputs"]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError) as error:
        return [f"it is not a certificate: {type(error).__name__}"]
    except SfumatoError as error:
        return [f"it does not read: {error.message}"]


def _difference(said: dict[str, Any]) -> Difference:
    one, two = ({name: _exact(value) for name, value in said[side].items()} for side in ("input", "neighbour"))
    outputs = (_exact(said[side]["output"]) for side in ("event", "neighbour_event"))
    return Difference(one, two, *outputs, Fraction(said["chance"]), Fraction(said["neighbour_chance"]))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, bool) else str(value)


def _exact(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_exact(item) for item in value)
    return value if isinstance(value, bool) else Fraction(value)
