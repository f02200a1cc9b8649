"""Verify: what can be said where nothing was decided. Comes in: a program and the verdict UNKNOWN. Goes out: a proof
for short lists, or the best interval that was found.

The lower end is a part of the claim that was refuted, the upper end a multiple that was proved: both by the same
steps as any other verdict. A proof for short lists has its size in its certificate, and is never a plain PROVED.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfumato.verify.attempt import attempted
from sfumato.verify.effort import MORE, is_spent, limited
from sfumato.verify.finite.gauss import keeps_within
from sfumato.verify.kernel import certificate
from sfumato.verify.kernel.check import is_proved
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.scope import within
from sfumato.verify.prover.rewrite import scaled
from sfumato.verify.prover.search import search
from sfumato.verify.show import show
from sfumato.verify.tree import Expr, Program
from sfumato.verify.verdict import Verdict, refutation

MULTIPLES = (2, 4, 8, 16)
NEAR, PARTS = Fraction(99, 100), (Fraction(9, 10), Fraction(1, 2), Fraction(1, 8))
LARGEST = 64
"""Multiples and parts of the claim that are tried, and the longest lists."""


def settle(program: Program, verdict: Verdict, hints: tuple[Expr, ...] = ()) -> Verdict:
    """The verdict, and where it is UNKNOWN whatever more can be said.

    Guarantee: PROVED with scope {"size": n} only if the claim holds for all inputs that the program admits whose
        private lists have at most n elements.
    Proof: the kernel's conditions hold for the program that also requires those sizes (kernel/scope.py).
    Reference: see kernel/product.py.
    Checked by: verify::a_proof_for_short_lists_says_so, verify::a_proof_for_short_lists_is_true_there
    """
    if verdict.verdict != "UNKNOWN" or not program.claim:
        return verdict
    with limited(MORE):
        least = attempted(lambda: _refuted_part(program, verdict), None)
    with limited(MORE):
        most = attempted(lambda: _proved_multiple(program), None)
    with limited(5 * MORE):  # each of its searches is a short one
        small = attempted(lambda: _short(program, hints), None)
    if small is not None:
        size, proofs = small
        document = certificate.write(program, proofs, size)
        return replace(
            verdict, verdict="PROVED", scope={"size": size}, at_least=least, at_most=most, proofs=proofs,
            certificate=document, note=f"for longer lists nothing was decided{_interval(least, most)}", hint="",
        )  # fmt: skip
    note = verdict.note if least is None else _without_less(verdict, least)
    return replace(verdict, at_least=least, at_most=most, note=f"{note}{_interval(least, most)}")


def _without_less(verdict: Verdict, least: str) -> str:
    """The note without the largest loss that was seen, where more than that is certain."""
    seen = float(verdict.at_least.partition(" ")[0]) if verdict.at_least else 0.0
    certain = float(least.partition(" ")[0])
    if not seen or certain <= seen:
        return verdict.note
    return verdict.note.partition("; the largest loss found is")[0]


def _interval(least: str | None, most: str | None) -> str:
    """What is certain of the loss: a part of the claim that was refuted, a multiple that was proved."""
    said = [f"more than {least}"] if least else []
    said += [f"at most {most}"] if most else []
    return f"; it is proved that the loss is {' and '.join(said)}" if said else ""


def _with_claim(program: Program, factor: Fraction) -> Program:
    return replace(program, claim=(scaled(program.claim[0], factor), *program.claim[1:]))


def _refuted_part(program: Program, verdict: Verdict) -> str | None:
    """The greatest of some parts of the claim that is refuted: small ones, which are found at once, come first."""
    seen = Fraction(verdict.at_least.partition(" ")[0]) if verdict.at_least else Fraction(0)
    found = None
    for factor in sorted({*PARTS, *((Fraction(round(seen * NEAR, 3)),) if seen else ())}):
        if is_spent() or refutation(_with_claim(program, factor)) is None:
            break
        found = f"{float(factor):.4g} * ({show(program.claim[0])}){_beside(program)}"
    return found


def _proved_multiple(program: Program) -> str | None:
    """The least of some multiples of the claim that is proved."""
    for factor in MULTIPLES:
        more = _with_claim(program, Fraction(factor))
        if is_spent():
            return None
        proofs = search(more).proofs
        if proofs is not None and is_proved(more, proofs, keeps_within):
            return f"{factor} * ({show(program.claim[0])}){_beside(program)}"
    return None


def _beside(program: Program) -> str:
    return " with the same delta" if len(program.claim) > 1 else ""


def _short(program: Program, hints: tuple[Expr, ...]) -> tuple[int, tuple[Proof, ...]] | None:
    """The greatest size up to which the claim is proved, by doubling and halving; None if there is none."""
    if within(program, 1) == program:
        return None
    best, size, fails = None, 1, LARGEST + 1
    while size < fails:
        with limited(MORE // 2):
            proofs = search(within(program, size), hints).proofs
        if proofs is not None and is_proved(within(program, size), proofs, keeps_within):
            best = size, proofs
        else:
            fails = size
        low = best[0] if best else 0
        size = min(2 * low, LARGEST) if fails > LARGEST else (low + fails) // 2
        if size <= low:
            break
    return best
