"""Verify: the walk from a program to a verdict. Comes in: a program. Goes out: PROVED, REFUTED or UNKNOWN, with what
shows it.

First what makes a program an error; then a proof, which the kernel checks; then a witness, which exact chances check.
Whatever neither shows is UNKNOWN.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from sfumato.verify import advice
from sfumato.verify.attempt import attempted
from sfumato.verify.effort import LOOK, limited
from sfumato.verify.faults import check_inputs
from sfumato.verify.finite import paper
from sfumato.verify.finite.gauss import keeps_within
from sfumato.verify.kernel import certificate, pure, sampling
from sfumato.verify.kernel.check import is_proved
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.parse import read_program
from sfumato.verify.prover.pure import pure_claims
from sfumato.verify.prover.sampled import search_sampled
from sfumato.verify.prover.search import Attempt, search
from sfumato.verify.refuter.boxes import Boxes
from sfumato.verify.refuter.discrete import ListingBudget
from sfumato.verify.refuter.divergence import DivergenceWitness, divergence_certificate, divergence_document
from sfumato.verify.refuter.normal import Normal
from sfumato.verify.refuter.points import all_witnesses
from sfumato.verify.refuter.refutation import witness_certificate, witness_document
from sfumato.verify.refuter.renyi import DivergenceSearch
from sfumato.verify.refuter.search import RefuterSearch
from sfumato.verify.refuter.small import Small
from sfumato.verify.refuter.witness import Witness
from sfumato.verify.relational.documents import as_claim, claim_certificate, difference_document
from sfumato.verify.relational.finding import Finding, find, is_claimable
from sfumato.verify.show import show
from sfumato.verify.tree import Expr, FunctionCall, Program, promises, walk

PURE = 2
"""Pure claims that are tried for one about Rényi divergence."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found about a claim, and the document that shows it."""

    verdict: str  # PROVED, REFUTED, UNKNOWN
    scope: str | dict[str, Any]
    claim: str
    at_least: str | None  # the loss, in nats at the witness
    at_most: str | None  # in the words of the claim
    proofs: tuple[Proof, ...]
    witness: Witness | None
    certificate: dict[str, Any] | None
    note: str = ""
    finding: Finding | None = None  # of a property
    divergence: DivergenceWitness | None = None  # of a refuted Rényi claim
    hint: str = ""  # what to do where nothing was decided

    @property
    def exit_code(self) -> int:
        """0 proved, 1 refuted, 6 undecided, or proved for some sizes only."""
        if self.verdict == "PROVED":
            return 0 if self.scope == "all" else 6
        return 1 if self.verdict == "REFUTED" else 6

    def to_dict(self) -> dict[str, Any]:
        """One document, for programs."""
        return {
            "verdict": self.verdict,
            "scope": self.scope,
            "claim": self.claim,
            "loss": {"at_least": self.at_least, "at_most": self.at_most},
            "witness": self._witness(),
            "certificate": self.certificate,
            "note": self.note,
            "hint": self.hint,
        }

    def _witness(self) -> dict[str, Any] | None:
        if self.finding is not None and self.finding.difference is not None:
            return difference_document(self.finding.difference)
        if self.divergence is not None:
            return divergence_document(self.divergence)
        return None if self.witness is None else witness_document(self.witness)


def verify(program: Program, hints: tuple[Expr, ...] = ()) -> Verdict:
    """Prove the claim of a program, refute it, or say that neither was found. Hints are offered as invariants.

    Guarantee: PROVED with scope "all" only if the claim holds for everything that the program admits; REFUTED only if
        an admitted adjacent pair and an event break it.
    Proof: PROVED is returned when the kernel's conditions all hold (kernel/product.py), REFUTED when a witness is
        certified (refuter/witness.py).
    Reference: see there.
    Checked by: verify::proved_implies_true_by_enumeration, verify::wrong_programs_are_never_proved,
        verify::right_programs_are_never_refuted
    """
    check_inputs(program)
    claim = say_claim(program)
    if program.renyi:
        return _of_renyi(program, claim, hints)
    if not program.claim:
        return _of_property(program, claim)
    decided, attempt = _proved(program, claim, hints)
    if decided is not None:
        return decided
    witness, best = _look(program)
    if witness is not None:
        return _refuted(program, claim, witness)
    least = f"{best:.4g} * ({claim})" if best else None
    note, hint = _reason(program, attempt, best)
    return Verdict("UNKNOWN", "all", claim, least, None, (), None, None, note, hint=hint)


def _proved(program: Program, claim: str, hints: tuple[Expr, ...]) -> tuple[Verdict | None, Attempt]:
    """What listing and proofs say of a claim, and how far they came."""
    for kind in ("rounds", "inputs", "seen"):
        listed = attempted(partial(paper.listed, program, kind), None)
        if listed is not None and listed.holds:
            document = paper.write(program, kind, listed)
            return Verdict("PROVED", "all", claim, None, claim, (), None, document), Attempt(None, None)
        if listed is not None:
            broken = attempted(partial(all_witnesses, program, listed.suspects), None)
            if broken is not None:
                return _refuted(program, claim, broken), Attempt(None, None)
    attempt = attempted(lambda: search(program, hints), Attempt(None, None))
    proofs = attempt.proofs
    if proofs is not None and attempted(lambda: is_proved(program, proofs, keeps_within), False):
        document = certificate.write(program, proofs)
        return Verdict("PROVED", "all", claim, None, claim, proofs, None, document), attempt
    sampled = attempted(partial(search_sampled, program, hints), None)
    if sampled is not None and attempted(partial(sampling.is_sampled, program, *sampled), False):
        document = sampling.write(program, *sampled)
        return Verdict("PROVED", "all", claim, None, claim, (), None, document), attempt
    return None, attempt


def _reason(program: Program, attempt: Attempt, best: float) -> tuple[str, str]:
    """Why nothing was decided: where the nearest proof stops, and how near to the claim a loss came; and what to do."""
    stuck = attempt.stuck
    said, hint = advice.NO_COUPLING if stuck is None else advice.open_step(program, stuck.kind, stuck.label, stuck.at)
    if attempt.spent:
        said += "; the search for a proof ended at its limit"
    return said + nearest(best), hint


def nearest(best: float) -> str:
    """How near to the claim the largest loss came that was found, if one was."""
    if not best:
        return ""
    return f"; the largest loss found is {'the whole claim' if best >= 1 - 1e-6 else f'{best:.3g} of the claim'}"


def refutation(program: Program) -> Witness | None:
    """A witness, if one is found; no proof is looked for."""
    for kind in ("rounds", "inputs"):
        listed = attempted(partial(paper.listed, program, kind), None)
        if listed is not None and not listed.holds:
            broken: Witness | None = attempted(partial(all_witnesses, program, listed.suspects), None)
            if broken is not None:
                return broken
    return _look(program)[0]


def _of_property(program: Program, claim: str) -> Verdict:
    """Secrecy and uniformity: by couplings and exact laws; else secrecy as a claim of 0; else for small sizes."""
    nothing: tuple[Finding | None, Finding | None] = (None, None)
    found, small = attempted(lambda: find(program), nothing)
    if found is None and is_claimable(program):
        other = verify(read_program(as_claim(program.source)))
        if other.verdict == "REFUTED" or other.exit_code == 0:
            wrapped = claim_certificate(program, other.certificate)
            return replace(other, claim=claim, at_most=None, certificate=wrapped)
    found = found or small
    if found is None:
        note = "no proof was found, and no two inputs on which the output is distributed differently"
        return Verdict("UNKNOWN", "all", claim, None, None, (), None, None, note)
    return Verdict(found.verdict, found.scope, claim, None, None, (), None, found.certificate, found.note, found)


def _of_renyi(program: Program, claim: str, hints: tuple[Expr, ...]) -> Verdict:
    """Claims about Rényi divergence: by charged draws, by a pure claim, or refuted by chances of sets of outputs."""
    attempt = Attempt(None, None)
    if program.group == 1:
        attempt = attempted(lambda: search(program, hints), attempt)
    proofs = attempt.proofs
    if proofs is not None and attempted(lambda: is_proved(program, proofs), False):
        return Verdict("PROVED", "all", claim, None, claim, proofs, None, certificate.write(program, proofs))
    looking = DivergenceSearch(program)
    found = attempted(looking.run, None)
    if found is not None:
        document = divergence_certificate(program, found)
        return Verdict("REFUTED", "all", claim, found.at_least, None, (), None, document, divergence=found)
    following = (most for most in pure_claims(program) if attempted(partial(pure.follows, program, most), False))
    for most in islice(following, PURE):
        inner, _ = _proved(read_program(pure.with_pure_claim(program.source, most)), show(most), hints)
        if inner is not None and inner.verdict == "PROVED" and inner.certificate is not None:
            document = pure.write(program, most, inner.certificate)
            return Verdict("PROVED", "all", claim, None, claim, inner.proofs, None, document)
    least = f"{looking.best:.4g} * ({claim})" if looking.best else None
    note, hint = _reason(program, attempt, looking.best)
    return Verdict("UNKNOWN", "all", claim, least, None, (), None, None, note, hint=hint)


def _look(program: Program) -> tuple[Witness | None, float]:
    """A witness, by whichever search fits the draws; and the greatest loss that was seen."""
    best = 0.0
    for steps, searches in ((LOOK, (Small, ListingBudget, Normal, RefuterSearch)), (LOOK // 3, (Boxes,))):
        with limited(steps):
            for kind in searches:
                looking: Any = kind(program)
                found = attempted(looking.run, None)
                if len(program.claim) == 1:  # beside a delta a loss alone says nothing
                    best = max(best, looking.best)
                if found is not None:
                    return found, best
    return None, best


def _refuted(program: Program, claim: str, witness: Witness) -> Verdict:
    return Verdict("REFUTED", "all", claim, witness.loss, None, (), witness, witness_certificate(program, witness))


def say_claim(program: Program) -> str:
    """The claim as it was written."""
    if program.property:
        return program.property
    said = [show(part) for part in promises(program)]
    if program.renyi:
        return f"{'zcdp' if len(said) == 1 else 'renyi'}({', '.join(said)})"
    return said[0] if len(said) == 1 else f"({', '.join(said)})"


def restriction(program: Program) -> str:
    """What `requires` says about sizes: the scope of a proof is printed with it."""
    sized = [
        show(node)
        for node in program.requires
        if any(isinstance(part, FunctionCall) and part.name == "size" for part in walk(node))
    ]
    return " && ".join(sized)


# ---- witnesses as documents
