"""Verify, finite laws: certificates of proofs by listing. Comes in: a program, or a document. Goes out: a document, or
faults.

A certificate holds the program's text and its hash, how many inputs and adjacent pairs there are, and every two chances
of one output on adjacent inputs. To check one, everything is computed anew from the text and compared word for word.
"""

from __future__ import annotations

from typing import Any

from sfumato.errors import SfumatoError
from sfumato.verify.finite.decide import Decision, decide
from sfumato.verify.finite.field import LetterRatio
from sfumato.verify.finite.inputs import Setting
from sfumato.verify.finite.observed import observed
from sfumato.verify.finite.rounds import decide_rounds
from sfumato.verify.finite.say import say_number
from sfumato.verify.kernel.certificate import FORMAT, hash_of
from sfumato.verify.parse import read_program
from sfumato.verify.tree import Program


def listed(program: Program, kind: str) -> Decision | None:
    """What listing says: all `inputs`, one of the `rounds` of a loop, or all that is `seen` of private numbers."""
    return {"inputs": decide, "rounds": decide_rounds, "seen": _decide_seen}[kind](program)


def _decide_seen(program: Program) -> Decision | None:
    """Only proofs: not everything that may be seen is seen of neighbours."""
    short = observed(program)
    found = None if short is None else decide(short)
    return found if found is not None and found.holds else None


def write(program: Program, kind: str, decision: Decision) -> dict[str, Any]:
    """The certificate of a claim that was found to hold."""
    return {
        "format": FORMAT,
        "verdict": "PROVED",
        "scope": "all",
        "program": program.source,
        "hash": hash_of(program.source),
        "listing": {
            "of": kind,
            "inputs": decision.inputs,
            "pairs": decision.pairs,
            "settings": [_setting(setting, losses) for setting, losses in decision.losses],
        },
    }


def _setting(setting: Setting, losses: tuple[tuple[Any, Any], ...]) -> dict[str, Any]:
    fixed = {name: say_number(value) for name, value in setting.public.items() if not isinstance(value, LetterRatio)}
    return {"public": fixed, "chances": [[say_number(first), say_number(second)] for first, second in losses]}


def faults_of(document: dict[str, Any]) -> list[str]:
    """Why a certificate is no proof; empty if it is one."""
    try:
        if document["format"] != FORMAT or document["verdict"] != "PROVED":
            return ["it is not a certificate of a proof in this format"]
        if hash_of(document["program"]) != document["hash"]:
            return ["the hash is not that of the program"]
        program = read_program(document["program"])
        kind = document["listing"]["of"]
        decision = listed(program, kind) if program.claim else None
        if decision is None or not decision.holds:
            return ["the claim is not proved by listing"]
        if write(program, kind, decision) != document:
            return ["the probabilities differ"]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return [f"it is not a certificate: {type(error).__name__}"]
    except SfumatoError as error:
        return [f"it cannot be parsed: {error.message}"]
    return []
