"""Verify, kernel: the door. Comes in: a program and a proof. Goes out: the conditions, and whether a solver proves
them all.
"""

from __future__ import annotations

from collections.abc import Callable

import z3

from sfumato.verify.kernel.evaluate import Condition, PathStep
from sfumato.verify.kernel.inputs import directions
from sfumato.verify.kernel.product import Product
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.tree import Expr, Program, Unary, promises


def conditions_of(program: Program, proof: Proof) -> Product:
    """Two runs with all their conditions; raises NotCovered where the proof rule says nothing."""
    if not promises(program):
        raise NoProofRule("a property is not a claim")
    product = Product(program, proof)
    try:
        product.run()
    except z3.Z3Exception as error:
        raise NoProofRule("a formula that the solver does not take") from error
    return product


def is_open(product: Product, condition: Condition) -> bool:
    """Whether the solver does not prove a condition."""
    return not product.terms.proves(condition.assumed, condition.goal)


def first_open(product: Product) -> Condition | None:
    """The first condition that the solver does not prove."""
    return next((condition for condition in product.conditions if is_open(product, condition)), None)


def is_admitting(product: Product) -> bool:
    """Whether the solver finds no contradiction in what is required of the inputs."""
    return not product.terms.proves(product.base, product.terms.false)


def is_possible(product: Product) -> bool:
    """Whether the solver finds no contradiction in what is required of the inputs, nor in what is learned on a path:
    otherwise everything would follow.
    """
    return is_admitting(product) and contradiction(product) is None


def contradiction(product: Product) -> PathStep | None:
    """The first step that leaves nothing of a path that could be reached before it; None if there is no such step.

    With this, and because a test always leaves one of its branches, every path that some input reaches stays possible
    up to its return.
    """
    impossible = product.terms.false
    for step in product.steps:
        if product.terms.proves(step.after, impossible) and not product.terms.proves(step.before, impossible):
            return step
    return None


def as_text(product: Product, condition: Condition) -> str:
    """A condition in SMT-LIB: it holds if this is unsatisfiable."""
    solver = product.terms.solver()
    solver.add(*condition.assumed, z3.Not(condition.goal))
    return str(solver.to_smt2())


def covers(program: Program, proofs: tuple[Proof, ...]) -> bool:
    """Whether there is a proof for each direction, or one where something holds and one where it does not."""
    cases: dict[str, list[Expr | None]] = {}
    for proof in proofs:
        cases.setdefault(proof.direction, []).append(proof.case)
    return sorted(cases) == sorted(directions(program)) and all(map(_is_everything, cases.values()))


def _is_everything(cases: list[Expr | None]) -> bool:
    match cases:
        case [None]:
            return True
        case [first, Unary(op="!", arg=second)]:
            return first is not None and first == second
    return False


def needs_curve(proof: Proof) -> bool:
    """Whether a proof's bounds have to be compared with the curve of Gaussian noise, outside of the kernel."""
    return proof.gauss is not None and not proof.bell


def is_proved(
    program: Program, proofs: tuple[Proof, ...], curve: Callable[[Program, Proof], bool] | None = None
) -> bool:
    """Whether the proofs of all directions hold: then, and only then, the claim is proved for everything that is
    required. `curve` knows whether a Gaussian proof's bounds keep within its claim: without it there is none.
    """
    if not covers(program, proofs):
        return False
    if any(needs_curve(proof) and (curve is None or not curve(program, proof)) for proof in proofs):
        return False
    try:
        products = [conditions_of(program, proof) for proof in proofs]
        return all(is_possible(product) and first_open(product) is None for product in products)
    except NoProofRule:
        return False
