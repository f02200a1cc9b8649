"""Verify: which check a certificate needs. Comes in: a document. Goes out: why it shows nothing; empty if it holds.

A proof by alignment or by coupling is checked by the kernel (and the curve of Gaussian noise by finite/gauss.py), a
proof by listing by the finite laws, a refutation by its chances, computed anew; nobody asks who searched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.verify.finite import paper
from sfumato.verify.finite.gauss import keeps_within
from sfumato.verify.kernel import certificate, secrecy

Second = Callable[[str], bool | None] | None


def faults_of(document: dict[str, Any], second: Second = None) -> list[str]:
    """Why a certificate does not hold, of a claim or of a property, proved or refuted. `second` asks another solver."""
    kind = document.get("kind")
    if kind == "coupling":
        return secrecy.faults_of(document, second)
    if kind in ("enumeration", "difference"):
        from sfumato.verify.relational.finding import faults_of as exactly

        return exactly(document)
    if kind == "claim":
        from sfumato.verify.relational.finding import inner_certificate

        try:
            inner = inner_certificate(document)
        except (KeyError, TypeError, ValueError) as error:
            return [f"it is not a certificate: {type(error).__name__}"]
        return ["the claim is not that of the program"] if inner is None else faults_of(inner, second)
    if document.get("verdict") == "PROVED" and "listing" in document:
        return paper.faults_of(document)
    if document.get("verdict") == "PROVED":
        return certificate.faults_of(document, second, keeps_within)
    from sfumato.verify.verdict import witness_faults

    return witness_faults(document)
