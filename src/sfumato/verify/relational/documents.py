"""Verify, relational: certificates of properties. Comes in: what was found about one, or its document. Goes out: a
document; and why one shows nothing, everything computed anew.
"""

from __future__ import annotations

from typing import Any

from sfumato.errors import SfumatoError
from sfumato.verify.faults import say_value
from sfumato.verify.finite.decide import NEVER
from sfumato.verify.kernel.certificate import FORMAT, hash_of
from sfumato.verify.lexer import read_tokens
from sfumato.verify.parse import read_program
from sfumato.verify.refuter.documents import exact_number
from sfumato.verify.relational.decide import Difference, ExactLawSearch, enumerate_laws, is_difference
from sfumato.verify.tree import Program

MANY = 24_000
"""Work for a decision by exact laws: statements times states."""


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


def scope_of(found: ExactLawSearch) -> str | dict[str, Any]:
    """For which inputs exact laws are equal."""
    if found.complete:
        return "all"
    return dict(found.limits) if found.limits else {}


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
        if something and document["scope"] == scope_of(listed):
            return []
        return ["the distributions are not equal on all these inputs"]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError) as error:
        return [f"it is not a certificate: {type(error).__name__}"]
    except SfumatoError as error:
        return [f"it cannot be parsed: {error.message}"]


def _difference(said: dict[str, Any]) -> Difference:
    one, two = ({name: _exact(value) for name, value in said[side].items()} for side in ("input", "neighbour"))
    output, other = (_exact(said[side]["output"]) for side in ("event", "neighbour_event"))
    chances = exact_number(said["chance"]), exact_number(said["neighbour_chance"])
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
    return value if isinstance(value, bool) else exact_number(value)
