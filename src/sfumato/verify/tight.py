"""Verify: how far a claim is from the truth. Comes in: a program and its verdict. Goes out: multiples proved and
refuted.

The claim is multiplied by numbers until one multiple is proved, another is refuted, and they are a hundredth apart;
or until there is neither between them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato.verify.prover.rewrite import scaled
from sfumato.verify.tree import Program
from sfumato.verify.verdict import Verdict, verify
from sfumato.words import show

STEPS, MOST = 8, 16
NEAR = Fraction(99, 100)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least multiple of the claim that was proved, and the greatest that was refuted."""

    claim: str
    proved: Fraction | None
    refuted: Fraction | None

    def say(self) -> str:
        """In one line."""
        above = f"proved {show(self.proved)} * ({self.claim})" if self.proved is not None else "no multiple was proved"
        below = (
            f"refuted {show(self.refuted)} * ({self.claim})" if self.refuted is not None else "no multiple was refuted"
        )
        return f"Tight: {above}, {below}."

    def to_dict(self) -> dict[str, Any]:
        """One document, for programs."""
        return {
            name: None if value is None else str(value)
            for name, value in (("proved", self.proved), ("refuted", self.refuted))
        }


def tightest(program: Program, verdict: Verdict) -> Bounds | None:
    """Bounds on the least multiple of the claim that holds."""
    if not program.claim:
        return None

    def decide(factor: Fraction) -> str:
        return verify(replace(program, claim=(scaled(program.claim[0], factor), *program.claim[1:]))).verdict

    proved = Fraction(1) if verdict.verdict == "PROVED" else _first_proved(decide)
    refuted = Fraction(1) if verdict.verdict == "REFUTED" else None
    for step in range(STEPS):
        if proved is None or (refuted is not None and refuted >= proved * NEAR):
            break
        middle = proved * NEAR if step == 0 else (proved + (refuted or 0)) / 2
        found = decide(middle)
        if found == "PROVED":
            proved = middle
        elif found == "REFUTED":
            refuted = middle
        else:
            break
    return Bounds(verdict.claim, proved, refuted)


def _first_proved(decide: Callable[[Fraction], str]) -> Fraction | None:
    factor = Fraction(2)
    while factor <= MOST:
        if decide(factor) == "PROVED":
            return factor
        factor *= 2
    return None
