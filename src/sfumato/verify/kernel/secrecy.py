"""Verify, kernel: properties shown by couplings, and their certificates. Comes in: a program and a coupling, or a
document. Goes out: the conditions that are not proved, or faults.

A certificate holds the program's text and its hash, the map of each draw with its inverse, invariants, and every
condition that is not plain by normal forms in SMT-LIB. To check one, all conditions are made again, compared word for
word, and given to the solver. No part of any search takes part.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import z3

from sfumato.errors import SfumatoError
from sfumato.verify.kernel.certificate import FORMAT, hash_of
from sfumato.verify.kernel.pair import CouplingCase, CouplingProof, RunPair
from sfumato.verify.kernel.single import Open
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.parse import read_program, read_proof
from sfumato.verify.show import show
from sfumato.verify.tree import Program


def pairs_of(program: Program, coupling: CouplingProof) -> list[RunPair]:
    """Two runs for every case; raises NotCovered where the proof rule says nothing."""
    if program.property is None:
        raise NoProofRule("a claim is not a property")
    truths = list(product((True, False), repeat=len(coupling.tests)))
    if len(truths) != len(coupling.cases):
        raise NoProofRule("there is not one coupling for each case")
    found = []
    for truth, case in zip(truths, coupling.cases, strict=True):
        pair = RunPair(program, case)
        try:
            pair.run(coupling.tests, truth)
        except z3.Z3Exception as error:
            raise NoProofRule("a formula that the solver does not take") from error
        found.append(pair)
    return found


def is_open(pair: RunPair, condition: Open) -> bool:
    """Whether the solver does not prove a condition."""
    return not pair.world.follows(condition.assumed, condition.goal)


def first_open(pair: RunPair) -> Open | None:
    """The first condition that the solver does not prove."""
    return next((condition for condition in pair.conditions if is_open(pair, condition)), None)


def is_shown(program: Program, coupling: CouplingProof) -> bool:
    """Whether a coupling shows the property of a program, for everything that is required; from a contradiction
    nothing is shown.
    """
    try:
        pairs = pairs_of(program, coupling)
    except NoProofRule:
        return False
    return any(pair.reached for pair in pairs) and all(first_open(pair) is None for pair in pairs)


# ---- certificates


def write(program: Program, coupling: CouplingProof) -> dict[str, Any]:
    """The certificate of a coupling that was accepted."""
    return {
        "format": FORMAT,
        "verdict": "PROVED",
        "kind": "coupling",
        "property": program.property,
        "program": program.source,
        "hash": hash_of(program.source),
        "tests": [{"run": run, "test": show(test)} for run, test in coupling.tests],
        "cases": [
            _case(case) | {"conditions": _conditions(pair)}
            for case, pair in zip(coupling.cases, pairs_of(program, coupling), strict=True)
        ],
    }


def _said(coupling: CouplingProof) -> list[dict[str, Any]]:
    return [_case(case) for case in coupling.cases]


def _case(case: CouplingCase) -> dict[str, Any]:
    return {
        "couplings": [
            {"draws": list(sites), "map": show(there), "inverse": show(back)}
            for sites, (there, back) in sorted(case.couplings.items())
        ],
        "alone": sorted(list(site) for site in case.alone),
        "order": list(case.order),
        "turned": list(case.turned),
        "invariants": {str(loop): [show(node) for node in nodes] for loop, nodes in case.invariants.items()},
    }


def _conditions(pair: RunPair) -> list[dict[str, str]]:
    return [
        {"kind": condition.kind, "label": condition.label, "smt2": as_text(pair, condition)}
        for condition in pair.conditions
    ]


def as_text(pair: RunPair, condition: Open) -> str:
    """A condition in SMT-LIB: it holds if this is unsatisfiable. Empty where both sides have the same normal form."""
    if z3.is_true(condition.goal):
        return ""
    solver = z3.Solver(ctx=pair.world.context)
    solver.add(*condition.assumed, z3.Not(condition.goal))
    return str(solver.to_smt2())


def read(document: dict[str, Any]) -> CouplingProof:
    """The coupling of a certificate."""
    return CouplingProof(
        tuple((int(said["run"]), read_proof(said["test"])) for said in document["tests"]),
        tuple(
            CouplingCase(
                {
                    (int(said["draws"][0]), int(said["draws"][1])): (
                        read_proof(said["map"]),
                        read_proof(said["inverse"]),
                    )
                    for said in case["couplings"]
                },
                frozenset((int(side), int(number)) for side, number in case["alone"]),
                {int(loop): tuple(read_proof(text) for text in texts) for loop, texts in case["invariants"].items()},
                tuple(int(place) for place in case["order"]),
                tuple(int(place) for place in case["turned"]),
            )
            for case in document["cases"]
        ),
    )


def faults_of(document: dict[str, Any], second: Callable[[str], bool | None] | None = None) -> list[str]:
    """Why a certificate of a coupling is no proof; empty if it is one. `second` asks another solver."""
    try:
        if document["format"] != FORMAT or document["verdict"] != "PROVED" or document["kind"] != "coupling":
            return ["it is not a certificate of a coupling in this format"]
        if hash_of(document["program"]) != document["hash"]:
            return ["the hash is not that of the program"]
        program = read_program(document["program"])
        if program.property is None or program.property != document["property"]:
            return ["the property is not that of the program"]
        coupling = read(document)
        if _said(coupling) != [{key: case[key] for key in case if key != "conditions"} for case in document["cases"]]:
            return ["a case has entries that no check reads"]
        if [{"run": run, "test": show(test)} for run, test in coupling.tests] != document["tests"]:
            return ["a test has entries that no check reads"]
        pairs = pairs_of(program, coupling)
        if not any(pair.reached for pair in pairs):
            return ["no input satisfies what the program requires"]
        faults = []
        for pair, case in zip(pairs, document["cases"], strict=True):
            if _conditions(pair) != case["conditions"]:
                return ["the conditions are not those of the couplings"]
            for condition, said in zip(pair.conditions, case["conditions"], strict=True):
                if is_open(pair, condition):
                    faults.append(f"not proved: {condition.kind}, {condition.label}")
                elif second is not None and said["smt2"] and second(said["smt2"]) is False:
                    faults.append(f"the second solver contradicts: {condition.kind}, {condition.label}")
        return faults
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        return [f"it is not a certificate: {type(error).__name__}"]
    except NoProofRule as error:
        return [f"the proof rule does not cover it: {error}"]
    except SfumatoError as error:
        return [f"it cannot be parsed: {error.message}"]
