"""Verify: which check a certificate needs. Comes in: a document. Goes out: why it shows nothing; empty if it holds.

A proof by alignment or by coupling is checked by the kernel (and the curve of Gaussian noise by finite/gauss.py), a
proof by listing by the finite laws, a refutation by its chances, computed anew; nobody asks who searched. Each check
is imported when it is needed, so that a certificate is checked by what it needs and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.verify.kernel import certificate
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.tree import Program

Second = Callable[[str], bool | None] | None


MALFORMED = "it is not a certificate"
"""How a fault begins that is not about the proof but about the document."""
_ALWAYS = {"format", "verdict", "program", "hash"}
ENTRIES = {
    "coupling": _ALWAYS | {"kind", "property", "tests", "cases"},
    "enumeration": _ALWAYS | {"kind", "property"},
    "difference": _ALWAYS | {"kind", "property", "witness"},
    "claim": _ALWAYS | {"kind", "property", "claim"},
    "pure": _ALWAYS | {"kind", "pure", "conditions", "claim"},
    "divergence": _ALWAYS | {"kind", "witness"},
    "listing": _ALWAYS | {"listing"},
    "sampled": _ALWAYS | {"sampled", "proofs"},
    "PROVED": _ALWAYS | {"proofs"},
    "REFUTED": _ALWAYS | {"witness"},
}
"""What certificates of each kind hold, beside a scope: whatever else stands in one is refused, because nobody checks
it.
"""
_WRONG = (RecursionError, ArithmeticError, LookupError, AttributeError, TypeError, ValueError, MemoryError)


def faults_of(document: Any, second: Second = None) -> list[str]:
    """Why a certificate does not hold, of a claim or of a property, proved or refuted. `second` asks another solver.

    Whatever the document is, there is an answer: what is no certificate is a fault that begins with MALFORMED.
    """
    if not isinstance(document, dict) or document.get("verdict") not in ("PROVED", "REFUTED"):
        return [f"{MALFORMED}: expected a document with a verdict"]
    if type(document.get("format")) is not int:  # true and 1.0 are equal to 1, but are no number of a format
        return [f"{MALFORMED}: expected a whole number as its format"]
    if not _is_scoped(document):
        return [f"{MALFORMED}: expected no scope, or that of its proof"]
    try:
        faults = _faults_of(document, second)
        more = sorted(document.keys() - ENTRIES[_kind(document)] - {"scope"})
        return faults or [f"no check reads {', '.join(map(repr, more))}"] if more else faults
    except SfumatoError as error:
        return [f"it cannot be parsed: {error.message}"]
    except _WRONG as error:
        return [f"{MALFORMED}: {type(error).__name__}"]


def _is_scoped(document: dict[str, Any]) -> bool:
    """Whether a document says for which inputs it holds only where that is checked: every reader prints the scope."""
    scope = document.get("scope", "all")
    if document["verdict"] == "REFUTED" or document.get("kind") in ("coupling", "claim", "pure"):
        return bool(scope == "all")
    return scope == "all" or (isinstance(scope, dict) and bool(scope))


def _kind(document: dict[str, Any]) -> str:
    """Which entries a certificate may have."""
    if document.get("kind") in ("coupling", "enumeration", "difference", "claim", "pure", "divergence"):
        return str(document["kind"])
    shown = next((key for key in ("listing", "sampled") if key in document), "PROVED")
    return shown if document["verdict"] == "PROVED" else str(document["verdict"])


def _keeps_within(program: Program, proof: Proof) -> bool:
    """Whether a Gaussian proof keeps within its claim."""
    from sfumato.verify.finite.gauss import keeps_within

    return keeps_within(program, proof)


def _faults_of(document: dict[str, Any], second: Second) -> list[str]:
    kind = document.get("kind")
    if kind == "coupling":
        from sfumato.verify.kernel import secrecy

        return secrecy.faults_of(document, second)
    if kind in ("enumeration", "difference"):
        from sfumato.verify.relational.documents import faults_of as exactly

        return exactly(document)
    if kind == "claim":
        from sfumato.verify.relational.documents import inner_certificate

        inner = inner_certificate(document)
        return ["the claim is not that of the program"] if inner is None else faults_of(inner, second)
    if kind == "pure":
        from sfumato.verify.kernel import pure

        return pure.faults_of(document, second, lambda inner: faults_of(inner, second))
    if kind == "divergence":
        from sfumato.verify.refuter.divergence import witness_faults as of_divergence

        return of_divergence(document)
    if document.get("verdict") == "PROVED" and "listing" in document:
        from sfumato.verify.finite import paper

        return paper.faults_of(document)
    if document.get("verdict") == "PROVED" and "sampled" in document:
        from sfumato.verify.kernel import sampling

        return sampling.faults_of(document, second)
    if document.get("verdict") == "PROVED":
        return certificate.faults_of(document, second, _keeps_within)
    from sfumato.verify.refuter.refutation import witness_faults

    return witness_faults(document)
