"""Verify, refuter: certificates of refutations. Comes in: a witness, or the document of one. Goes out: a document; and
why one shows nothing, everything computed anew. No search is imported here.
"""

from __future__ import annotations

from typing import Any

from sfumato.errors import InputError
from sfumato.verify.finite.decide import NEVER
from sfumato.verify.kernel import certificate
from sfumato.verify.parse import read_program
from sfumato.verify.refuter.documents import (
    exact_inputs,
    exact_number,
    exact_value,
    plain_inputs,
    plain_value,
    shape_document,
    shape_of,
)
from sfumato.verify.refuter.events import OutputPattern, OutputSet, Test, say
from sfumato.verify.refuter.witness import Witness, certified
from sfumato.verify.tree import Program


def witness_document(witness: Witness) -> dict[str, Any]:
    """A witness as one document."""
    return {
        "input": plain_inputs(witness.one),
        "neighbour": plain_inputs(witness.two),
        "event": _event_document(witness.event),
        "chance": witness.chance_one,
        "neighbour_chance": witness.chance_two,
        "loss": witness.loss,
        "claim": witness.claim,
    }


def _event_document(event: OutputPattern | OutputSet) -> dict[str, Any]:
    if isinstance(event, OutputSet):
        listed = ["never" if value == NEVER else plain_value(value) for value in event.values]
        return {"words": say(event), "outputs": listed}
    return {
        "words": say(event),
        "shape": shape_document(event.shape),
        "leaves": [leaf if isinstance(leaf, bool) or leaf is None else str(leaf) for leaf in event.leaves],
        "tests": [
            {
                "factors": {str(place): str(factor) for place, factor in test.factors},
                "sign": test.sign,
                "bound": str(test.bound),
            }
            for test in event.tests
        ],
    }


def _event_of(said: dict[str, Any]) -> OutputPattern | OutputSet:
    """The event of a document."""
    if "outputs" in said:
        return OutputSet(tuple(NEVER if value == "never" else exact_value(value) for value in said["outputs"]))
    return OutputPattern(
        shape_of(said["shape"]),
        tuple(leaf if isinstance(leaf, bool) or leaf is None else exact_number(leaf) for leaf in said["leaves"]),
        tuple(
            Test(
                tuple((int(at), exact_number(factor)) for at, factor in test["factors"].items()),
                test["sign"],
                exact_number(test["bound"]),
            )
            for test in said["tests"]
        ),
    )


def witness_certificate(program: Program, witness: Witness) -> dict[str, Any]:
    """The certificate of a refutation."""
    return {
        "format": certificate.FORMAT,
        "verdict": "REFUTED",
        "program": program.source,
        "hash": certificate.hash_of(program.source),
        "witness": witness_document(witness),
    }


def witness_faults(document: dict[str, Any]) -> list[str]:
    """Why a document is no refutation; empty if it is one: everything is computed anew."""
    try:
        if document["format"] != certificate.FORMAT or certificate.hash_of(document["program"]) != document["hash"]:
            return ["the hash is not that of the program"]
        program = read_program(document["program"])
        said = document["witness"]
        event = _event_of(said["event"])
        found = certified(program, exact_inputs(said["input"]), exact_inputs(said["neighbour"]), event)
        if found is None:
            return ["these inputs and this event do not refute the claim"]
        if (found.chance_one, found.chance_two, found.loss) != (said["chance"], said["neighbour_chance"], said["loss"]):
            return ["the probabilities differ"]
        if witness_document(found) != said:
            return ["the witness has entries that no check reads"]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError) as error:
        return [f"it is not a certificate: {type(error).__name__}"]
    except InputError as error:
        return [f"it cannot be parsed: {error.message}"]
    return []
