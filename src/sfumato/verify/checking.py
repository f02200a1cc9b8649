"""Verify: which check a certificate needs. Comes in: a document. Goes out: why it shows nothing; empty if it holds.

Couplings and alignments are checked by the kernel (the curve of Gaussian noise by finite/gauss.py), laws and chances
are computed anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.verify.finite import paper
from sfumato.verify.finite.gauss import keeps_within
from sfumato.verify.kernel import certificate, secrecy


def faults_of(document: dict[str, Any], second: Callable[[str], bool | None] | None = None) -> list[str]:
    """Why a certificate does not hold. `second` asks another solver about the conditions of proofs."""
    match document.get("kind"):
        case "coupling":
            return secrecy.faults_of(document, second)
        case "enumeration" | "difference":
            from sfumato.verify.relational.finding import faults_of as exactly

            return exactly(document)
    if document.get("verdict") == "PROVED" and "listing" in document:
        return paper.faults_of(document)
    if document.get("verdict") == "PROVED":
        return certificate.faults_of(document, second, keeps_within)
    from sfumato.verify.verdict import witness_faults

    return witness_faults(document)
