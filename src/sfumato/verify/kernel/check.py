"""Verify, kernel: the door. Comes in: a program and a proof. Goes out: the conditions, and whether a solver proves them all."""

from __future__ import annotations

from sfumato.verify.kernel.evaluate import Condition
from sfumato.verify.kernel.inputs import directions
from sfumato.verify.kernel.product import Product, Proof
from sfumato.verify.kernel.values import NotCovered
from sfumato.verify.tree import Program


def conditions_of(program: Program, proof: Proof) -> Product:
    """Two runs with all their conditions; raises NotCovered where the proof rule says nothing."""
    if not program.claim:
        raise NotCovered("a property is not a claim")
    product = Product(program, proof)
    product.run()
    return product


def is_open(product: Product, condition: Condition) -> bool:
    """Whether the solver does not prove a condition."""
    return not product.terms.proves(condition.assumed, condition.goal)


def first_open(product: Product) -> Condition | None:
    """The first condition that the solver does not prove."""
    return next((condition for condition in product.conditions if is_open(product, condition)), None)


def is_proved(program: Program, proofs: tuple[Proof, ...]) -> bool:
    """Whether the proofs of all directions hold: then, and only then, the claim is proved for everything that is required."""
    if sorted(proof.direction for proof in proofs) != sorted(directions(program)):
        return False
    try:
        return all(first_open(conditions_of(program, proof)) is None for proof in proofs)
    except NotCovered:
        return False
