"""Verify, kernel: certificates of proofs. Comes in: a program and its proofs, or a document. Goes out: a document, or
faults.

A certificate holds the program's text and its hash, the alignment, the invariants and every condition in SMT-LIB. To
check one, the text is read again, all conditions are made again from the alignment and the invariants, compared word
for word with those in the document, and given to the solver; where cvc5 is installed, to that one too. No part of the
prover takes part.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from json import dumps
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.verify.kernel.check import (
    as_text,
    conditions_of,
    contradiction,
    covers,
    is_admitting,
    is_open,
    needs_curve,
)
from sfumato.verify.kernel.product import Product
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.scope import scoped
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.parse import read_program, read_proof
from sfumato.verify.show import show
from sfumato.verify.tree import Draw, Expr, Program, While, changed, statements

FORMAT = 1


def hash_of(source: str) -> str:
    """What names a program: the hash of its text."""
    return sha256(source.encode()).hexdigest()


def write(program: Program, proofs: tuple[Proof, ...], size: int | None = None) -> dict[str, Any]:
    """The certificate of proofs that were accepted, for all inputs or for lists of at most a size."""
    scope: Any = "all" if size is None else {"size": size}
    return {
        "format": FORMAT,
        "verdict": "PROVED",
        "scope": scope,
        "program": program.source,
        "hash": hash_of(program.source),
        "proofs": [proof_document(scoped(program, scope), proof) for proof in proofs],
    }


def proof_document(program: Program, proof: Proof) -> dict[str, Any]:
    """One proof with its conditions."""
    return said(proof) | {"conditions": conditions_document(conditions_of(program, proof))}


def said(proof: Proof) -> dict[str, Any]:
    """What a certificate says of a proof, beside its conditions."""
    return {
        "direction": proof.direction,
        "pointwise": proof.pointwise,
        "shifts": {str(draw): show(node) for draw, node in proof.shifts.items()},
        "units": {str(draw): show(node) for draw, node in proof.units.items()},
        "scales": {name: show(node) for name, node in proof.scales.items()},
        "invariants": {str(loop): [show(node) for node in nodes] for loop, nodes in proof.invariants.items()},
        "ranks": {str(loop): show(node) for loop, node in proof.ranks.items()},
        **({"waits": {str(loop): show(node) for loop, node in proof.waits.items()}} if proof.waits else {}),
        **({"unrolled": sorted(proof.unrolled)} if proof.unrolled else {}),
        **({"weights": {name: list(map(show, ends)) for name, ends in proof.weights.items()}} if proof.weights else {}),
        **({} if proof.case is None else {"case": show(proof.case)}),
        **({} if proof.gauss is None else {"gauss": [show(part) for part in proof.gauss]}),
        **({} if proof.normal is None else {"normal": [show(part) for part in proof.normal]}),
        **({"bell": True} if proof.bell else {}),
        **({} if proof.curve is None else {"curve": [proof.curve[0], *map(show, proof.curve[1:])]}),
        **({"counted": True} if proof.counted else {}),
        **({"one_return": True} if proof.one_return else {}),
        **({"redrawn": True} if proof.redrawn else {}),
        **({} if proof.tail is None else {"tail": [*proof.tail[:2], show(proof.tail[2])]}),
        **({} if proof.last is None else {"last": [*proof.last[:2], *map(show, proof.last[2:])]}),
        **({"curved": sorted(proof.curved)} if proof.curved else {}),
    }


def conditions_document(product: Product) -> list[dict[str, str]]:
    """Conditions in SMT-LIB."""
    return [
        {"kind": condition.kind, "label": condition.label, "smt2": as_text(product, condition)}
        for condition in product.conditions
    ]


def read(document: dict[str, Any]) -> Proof:
    """One proof of a certificate."""
    return Proof(
        str(document["direction"]),
        bool(document["pointwise"]),
        {int(draw): read_proof(text) for draw, text in document["shifts"].items()},
        {int(draw): read_proof(text) for draw, text in document["units"].items()},
        {str(name): read_proof(text) for name, text in document["scales"].items()},
        {int(loop): tuple(read_proof(text) for text in texts) for loop, texts in document["invariants"].items()},
        {int(loop): read_proof(text) for loop, text in document["ranks"].items()},
        {int(loop): read_proof(text) for loop, text in document.get("waits", {}).items()},
        frozenset(map(int, document.get("unrolled", ()))),
        {str(name): _pair(texts) for name, texts in document.get("weights", {}).items()},
        read_proof(document["case"]) if "case" in document else None,
        _pair(document["gauss"]) if "gauss" in document else None,
        _three(document["normal"]) if "normal" in document else None,
        bool(document.get("bell", False)),
        (int(document["curve"][0]), *_pair(document["curve"][1:])) if "curve" in document else None,
        bool(document.get("counted", False)),
        bool(document.get("one_return", False)),
        bool(document.get("redrawn", False)),
        _tail(*document["tail"]) if "tail" in document else None,
        (int(document["last"][0]), str(document["last"][1]), *_pair(document["last"][2:]))
        if "last" in document
        else None,
        frozenset(map(int, document.get("curved", ()))),
    )


def _three(texts: list[str]) -> tuple[Expr, Expr, Expr]:
    first, second, third = (read_proof(text) for text in texts)
    return first, second, third


def _tail(site: int, side: str, bound: str) -> tuple[int, str, Expr]:
    return int(site), str(side), read_proof(bound)


def _pair(texts: list[str]) -> tuple[Expr, Expr]:
    first, second = (read_proof(text) for text in texts)
    return first, second


def faults_of(
    document: dict[str, Any],
    second: Callable[[str], bool | None] | None = None,
    curve: Callable[[Program, Proof], bool] | None = None,
) -> list[str]:
    """Why a certificate is no proof; empty if it is one. `second` asks another solver: False if it finds a
    counterexample. `curve` knows whether a Gaussian proof's bounds keep within its claim: without it there is none.
    """
    try:
        if document["format"] != FORMAT or document["verdict"] != "PROVED":
            return ["it is not a certificate of a proof in this format"]
        if hash_of(document["program"]) != document["hash"]:
            return ["the hash is not that of the program"]
        program = scoped(read_program(document["program"]), document["scope"])
        return proof_faults(program, document["proofs"], second, curve)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return [f"it is not a certificate: {type(error).__name__}"]
    except NoProofRule as error:
        return [f"the proof rule does not cover it: {error}"]
    except SfumatoError as error:
        return [f"it cannot be parsed: {error.message}"]


def proof_faults(
    program: Program,
    documents: list[dict[str, Any]],
    second: Callable[[str], bool | None] | None,
    curve: Callable[[Program, Proof], bool] | None = None,
) -> list[str]:
    """Why documents of proofs do not prove a program's claim."""
    proofs = tuple(read(proof) for proof in documents)
    if not covers(program, proofs):
        return ["there is not one proof for each direction"]
    if any(needs_curve(proof) and (curve is None or not curve(program, proof)) for proof in proofs):
        return ["the Gaussian curve exceeds the claim"]
    if any(unread(document, program) for document in documents):
        return ["a proof has entries that no check reads"]
    products = [conditions_of(program, proof) for proof in proofs]
    return [
        fault
        for product, document in zip(products, documents, strict=True)
        for fault in condition_faults(product, document["conditions"], second)
    ]


def unread(document: dict[str, Any], program: Program) -> bool:
    """Whether a proof in a certificate says anything that is not read: other keys, or draws that there are not."""
    proof, parts = read(document), list(statements(program.body))
    draws = {part.number for part in parts if isinstance(part, Draw)}
    loops = {part.number for part in parts if isinstance(part, While)}
    known = changed(program.body) | {param.name for param in program.params}
    return (
        dumps(said(proof) | {"conditions": document["conditions"]}, sort_keys=True) != dumps(document, sort_keys=True)
        or not proof.shifts.keys() | proof.units.keys() | proof.curved <= draws
        or not proof.invariants.keys() | proof.ranks.keys() | proof.waits.keys() | proof.unrolled <= loops
        or not proof.scales.keys() | proof.weights.keys() <= known
    )


def condition_faults(
    product: Product, said: list[dict[str, str]], second: Callable[[str], bool | None] | None
) -> list[str]:
    """Which conditions do not hold, or are not those that a document says."""
    made = conditions_document(product)  # before anything is solved: solving renumbers what the solver prints
    if not is_admitting(product):
        return ["no input satisfies what the program requires"]
    step = contradiction(product)
    if step is not None:
        return [f"a path that is reached becomes impossible: {step.label}"]
    if made != said:
        return ["the conditions are not those of the alignment and the invariants"]
    faults = []
    for condition, text in zip(product.conditions, said, strict=True):
        if is_open(product, condition):
            faults.append(f"not proved: {condition.kind}, {condition.label}")
        elif second is not None and second(text["smt2"]) is False:
            faults.append(f"the second solver contradicts: {condition.kind}, {condition.label}")
    return faults
