"""Verify: how far a claim is from the truth. Comes in: a program and its verdict. Goes out: the least amount that was
proved, the greatest that was refuted, and what would repair a claim that is false.

Amounts that are sums over draws (shape.py) are tried first, so that they may speak of N and of sizes; an amount of
another shape is found as a multiple of the claim, by halving. Whatever is said to be proved was proved, and whatever is
said to be refuted was refuted; between the two nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato.errors import InputError
from sfumato.verify.amounts import Amounts
from sfumato.verify.finite.decide import exact_loss
from sfumato.verify.finite.say import say_loss
from sfumato.verify.kernel.polynomial import number
from sfumato.verify.parse import read_proof
from sfumato.verify.prover.rewrite import scaled
from sfumato.verify.run import NotRun
from sfumato.verify.shape import SpendingShape
from sfumato.verify.show import show
from sfumato.verify.tree import Binary, Expr, Program, Var
from sfumato.verify.verdict import Verdict, verify

STEPS, MOST = 8, 16
NEAR = Fraction(99, 100)
_PARTS = (NEAR, Fraction(9, 10), Fraction(3, 4), Fraction(1, 2))


@dataclass(frozen=True, slots=True)
class TightBounds:
    """The least amount that was proved, the greatest that was refuted, and a repair, each in words."""

    proved: str | None
    refuted: str | None
    repair: str | None = None

    def say(self) -> str:
        """In one line, or two."""
        above = f"proved {self.proved}" if self.proved is not None else "no amount was proved"
        below = f"refuted {self.refuted}" if self.refuted is not None else "no amount was refuted"
        line = f"Tight: {above}, {below}."
        return line if self.repair is None else f"{line}\nRepair: {self.repair}."

    def to_dict(self) -> dict[str, Any]:
        """One document, for programs."""
        return {"proved": self.proved, "refuted": self.refuted, "repair": self.repair}


def tightest(program: Program, verdict: Verdict) -> TightBounds | None:
    """Bounds on the least amount that holds."""
    if len(program.claim) != 1:
        return None
    exact = _listed(program)
    if exact is not None:
        part = _refuted(program, exact)
        return TightBounds(show(exact), None if part is None else _multiple(exact, part))
    shape = SpendingShape(program)
    counts = shape.least()
    if counts is None:
        return _by_halving(program, verdict)
    amount = shape.amount(counts)
    node = shape.amounts.show(amount)
    refuted = _refuted(program, node)
    repair = shape.repair(counts) if verdict.verdict == "REFUTED" else None
    return TightBounds(show(node), None if refuted is None else _multiple(node, refuted), repair)


def _listed(program: Program) -> Expr | None:
    """The loss itself, of a program whose laws can be listed; believed if a claim of it is proved."""
    try:
        factor = exact_loss(program)
        if factor is None or factor == "infinite":
            return None
        found = read_proof(say_loss(factor))
        return found if verify(replace(program, claim=(found,))).verdict == "PROVED" else None
    except (InputError, NotRun):
        return None


def _refuted(program: Program, claim: Expr) -> Fraction | None:
    """The greatest part of an amount that is refuted, as far as it was looked for."""

    def decide(part: Fraction) -> bool:
        return verify(replace(program, claim=(scaled(claim, part),))).verdict == "REFUTED"

    low = next((part for part in _PARTS if decide(part)), None)
    if low is None or low == NEAR:
        return low
    high = _PARTS[_PARTS.index(low) - 1]
    for _ in range(STEPS // 2):
        middle = (low + high) / 2
        low, high = (middle, high) if decide(middle) else (low, middle)
    return low


def _multiple(node: Expr, part: Fraction) -> str:
    """A part of an amount, in words."""
    if part == 1:
        return show(node)
    amounts = Amounts()
    found = amounts.read(node)
    if found is not None and len(found.terms) == 1:
        return show(_decimal(amounts.show(found * number(part)), found.terms[0][1] * part))
    return f"{float(part):.4g} * ({show(node)})"


def _decimal(node: Expr, factor: Fraction) -> Expr:
    """One product with a coefficient that reads as a decimal: 1.98 * eps, not 99/50 * eps."""
    plain = Amounts()
    found = plain.read(node)
    assert found is not None
    unit = plain.show(found * number(1 / factor)) if factor else node
    return unit if factor == 1 else Binary("*", Var(f"{float(factor):.4g}"), unit)


# ---- multiples of the claim


def _by_halving(program: Program, verdict: Verdict) -> TightBounds:
    claim = program.claim[0]

    def decide(factor: Fraction) -> str:
        return verify(replace(program, claim=(scaled(claim, factor), *program.claim[1:]))).verdict

    proved = Fraction(1) if verdict.exit_code == 0 else _first_proved(decide)
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
    return TightBounds(*(None if part is None else _multiple(claim, part) for part in (proved, refuted)))


def _first_proved(decide: Callable[[Fraction], str]) -> Fraction | None:
    factor = Fraction(2)
    while factor <= MOST:
        if decide(factor) == "PROVED":
            return factor
        factor *= 2
    return None
