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
from sfumato.verify.finite.decide import NEVER
from sfumato.verify.kernel import secrecy
from sfumato.verify.kernel.certificate import FORMAT, hash_of
from sfumato.verify.kernel.pair import CouplingProof
from sfumato.verify.lexer import read_tokens
from sfumato.verify.parse import read_program
from sfumato.verify.relational.decide import (
    Difference,
    ExactLawSearch,
    difference,
    enumerate_laws,
    is_difference,
    last_bits,
)
from sfumato.verify.relational.exact import Laws
from sfumato.verify.relational.inputs import ProgramInputs
from sfumato.verify.relational.search import ALL, Stuck, search
from sfumato.verify.run import Env, NotRun, RunFault
from sfumato.verify.tree import Program, draws_of

FEW, MANY = 3_000, 24_000
"""Work for a first look, and for a decision: statements times states."""
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


def _scope(found: ExactLawSearch) -> str | dict[str, Any]:
    if found.complete:
        return "all"
    return dict(found.limits) if found.limits else {}


def _enumerated(program: Program, found: ExactLawSearch) -> Finding:
    scope = _scope(found)
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


# ---- secrecy as a claim


def is_claimable(program: Program) -> bool:
    """Whether the prover and the refuter of claims know what the program draws: numbers, not bit lists."""
    lists = any(draw.law == "Uniform" and len(draw.args) == 1 for draw in draws_of(program))
    return program.property != "uniform" and not lists


def as_claim(source: str) -> str:
    """The text of a program with secrecy written as a claim: any two private inputs lose nothing."""
    tokens = read_tokens(source)
    for place, token in enumerate(tokens[:-2]):
        word, end = tokens[place + 1], tokens[place + 2]
        if token.text == "property" and word.text in ("secrecy", "noninterference") and end.text == ";":
            return f"{source[: token.at]}adjacent any; claim 0{source[end.at :]}"
    raise ValueError("a program without this property")


def claim_certificate(program: Program, document: dict[str, Any] | None) -> dict[str, Any]:
    """The certificate of a property that was decided as a claim: it holds that of the claim."""
    return {
        "format": FORMAT,
        "verdict": None if document is None else document["verdict"],
        "kind": "claim",
        "property": program.property,
        "program": program.source,
        "hash": hash_of(program.source),
        "claim": document,
    }


def inner_certificate(document: dict[str, Any]) -> dict[str, Any] | None:
    """The certificate of the claim, if it is about the very text that this program has as a claim."""
    inner = document["claim"]
    fits = (
        document["format"] == FORMAT
        and hash_of(document["program"]) == document["hash"]
        and inner["program"] == as_claim(document["program"])
        and inner["verdict"] == document["verdict"]
        and inner.get("scope", "all") == "all"  # a proof for short lists is none of the property
    )
    return inner if fits else None


# ---- documents


def event_of(found: Difference, output: Any) -> str:
    """An event in words."""
    if output == NEVER:
        return "never returns"
    what = "output" if found.bits is None else f"the last {found.bits} of the bits in output"
    return f"{what} = {say_value(output)}"


def difference_document(found: Difference) -> dict[str, Any]:
    """A difference as one document."""
    return {
        "input": {name: _plain(value) for name, value in found.one.items()},
        "neighbour": {name: _plain(value) for name, value in found.two.items()},
        "event": {"words": event_of(found, found.output), "output": _plain(found.output)},
        "neighbour_event": {"words": event_of(found, found.other_output), "output": _plain(found.other_output)},
        "bits": found.bits,
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
            found = _difference(document["witness"])
            if not is_difference(program, found):
                return ["these probabilities do not differ"]
            known = difference_document(found) == document["witness"]
            return [] if known else ["the witness has entries that no check reads"]
        listed = enumerate_laws(program, MANY)
        something = listed.difference is None and (listed.complete or listed.limits)
        if something and document["scope"] == _scope(listed):
            return []
        return ["the distributions are not equal on all these inputs"]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError) as error:
        return [f"it is not a certificate: {type(error).__name__}"]
    except SfumatoError as error:
        return [f"it cannot be parsed: {error.message}"]


def _difference(said: dict[str, Any]) -> Difference:
    one, two = ({name: _exact(value) for name, value in said[side].items()} for side in ("input", "neighbour"))
    output, other = (_exact(said[side]["output"]) for side in ("event", "neighbour_event"))
    chances = Fraction(said["chance"]), Fraction(said["neighbour_chance"])
    bits = None if said["bits"] is None else int(said["bits"])
    return Difference(one, two, output, other, chances[0], chances[1], bits)


def _plain(value: Any) -> Any:
    if value == NEVER:
        return "never"
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, bool) else str(value)


def _exact(value: Any) -> Any:
    if value == "never":
        return NEVER
    if isinstance(value, list):
        return tuple(_exact(item) for item in value)
    return value if isinstance(value, bool) else Fraction(value)
