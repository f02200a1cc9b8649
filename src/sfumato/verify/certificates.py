"""Verify: certificates of proofs of any kind. Comes in: a document. Goes out: why it is no proof, or nothing.

A proof by alignment is checked by the kernel (and the curve of Gaussian noise by finite/gauss.py), a proof by listing by
the finite laws; neither asks who searched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.verify.finite import paper
from sfumato.verify.finite.gauss import keeps_within
from sfumato.verify.kernel import certificate


def proof_faults(document: dict[str, Any], second: Callable[[str], bool | None] | None = None) -> list[str]:
    """Why a certificate is no proof; empty if it is one. `second` asks another solver."""
    if "listing" in document:
        return paper.faults_of(document)
    return certificate.faults_of(document, second, keeps_within)
