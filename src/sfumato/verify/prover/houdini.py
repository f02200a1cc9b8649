"""Verify, prover: of many candidates, those that are invariants. Comes in: a proof with guesses. Goes out: a proof.

Candidates that a model contradicts are dropped until none is: what is left holds at entry and is kept by every round.
Then the other conditions are asked. The kernel makes all conditions; nothing is decided here that it does not check
again.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import z3

from sfumato.verify.effort import spend
from sfumato.verify.kernel.check import conditions_of, is_open
from sfumato.verify.kernel.evaluate import Condition
from sfumato.verify.kernel.product import Product
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.tree import Program

ROUNDS = 40
STEPS = 400_000
"""Steps of the solver for one question of a search: a tenth of what a certificate may take."""
EACH, PER_STEP = 600, 2
"""What making a condition costs, and how many steps of the solver are one of ours."""


def settled(program: Program, proof: Proof) -> tuple[Proof, Condition | None]:
    """The proof with those candidates that are invariants, and the first condition that is still open."""
    for _ in range(ROUNDS):
        product = _conditions(program, proof)
        dropped = _contradicted(product)
        if not dropped:
            found = _first_open(product)
            _count(product)
            return proof, found
        _count(product)
        kept = {
            loop: tuple(node for place, node in enumerate(nodes) if f"{loop}:{place}" not in dropped)
            for loop, nodes in proof.invariants.items()
        }
        proof = replace(proof, invariants=kept)
    return proof, _first_open(_conditions(program, proof))


def _conditions(program: Program, proof: Proof) -> Product:
    product = conditions_of(program, proof)
    product.terms.steps = STEPS
    spend(EACH * len(product.conditions))
    return product


def _count(product: Product) -> None:
    spend(product.terms.used() // PER_STEP)


def _contradicted(product: Product) -> set[str]:
    groups: dict[tuple[str, str], list[Condition]] = defaultdict(list)
    for condition in product.conditions:
        if condition.kind in ("entry", "step"):
            groups[condition.kind, condition.label.partition(":")[0]].append(condition)
    dropped: set[str] = set()
    for group in groups.values():
        dropped |= _fails(product, [condition for condition in group if condition.label not in dropped])
    return dropped


def _fails(product: Product, group: list[Condition]) -> set[str]:
    """Labels of those conditions of a group that do not follow from what all of them assume."""
    failed: set[str] = set()
    if not group:
        return failed
    solver = product.terms.solver()
    solver.add(*max((condition.assumed for condition in group), key=len))
    left = list(group)
    while left:
        solver.push()
        solver.add(z3.Not(product.terms.all_of([condition.goal for condition in left])))
        answer = solver.check()
        wrong = _wrong(solver.model(), left) if answer == z3.sat else []
        solver.pop()
        if answer == z3.unsat:
            return failed
        if not wrong:  # the solver does not know: ask one by one
            wrong = [condition for condition in left if not product.terms.proves(condition.assumed, condition.goal)]
            failed |= {condition.label for condition in wrong}
            return failed
        failed |= {condition.label for condition in wrong}
        left = [condition for condition in left if condition.label not in failed]
    return failed


def _wrong(model: Any, group: list[Condition]) -> list[Condition]:
    return [condition for condition in group if z3.is_false(model.eval(condition.goal, model_completion=True))]


def _first_open(product: Product) -> Condition | None:
    """The first condition that is not proved, but for those that say that invariants are kept."""
    rest = (condition for condition in product.conditions if condition.kind not in ("entry", "step"))
    return next((condition for condition in rest if is_open(product, condition)), None)


def trimmed(program: Program, proof: Proof) -> Proof:
    """The proof with those invariants that something else needs: of what the conditions assume, the solver says what
    it used.
    """
    product = conditions_of(program, proof)
    labels = {formula.get_id(): label for label, formula in product.invariants.items()}
    plain = {label for label, formula in product.invariants.items() if z3.is_true(z3.simplify(formula))}
    needed: set[str] = set(plain)
    open_ones = [c for c in product.conditions if c.kind not in ("entry", "step") or c.label in plain]
    done: set[int] = set()
    while open_ones:
        condition = open_ones.pop()
        done.add(id(condition))
        for label in sorted(_used(product, condition, labels) - needed):  # sets of words have no order of their own
            needed.add(label)
            open_ones += [
                c for c in product.conditions if c.kind in ("entry", "step") and c.label == label and id(c) not in done
            ]
    kept = {
        loop: tuple(node for place, node in enumerate(nodes) if f"{loop}:{place}" in needed)
        for loop, nodes in proof.invariants.items()
    }
    return replace(proof, invariants=kept)


def _used(product: Product, condition: Condition, labels: dict[int, str]) -> set[str]:
    """The invariants that the proof of a condition used; all that it assumes if the solver does not say."""
    solver = product.terms.solver()
    solver.set("core.minimize", True)
    marked = {}
    for formula in condition.assumed:
        label = labels.get(formula.get_id())
        if label is None:
            solver.add(formula)
        elif label not in marked:
            marked[label] = z3.Bool(f"used {label}", product.terms.context)
            solver.add(z3.Implies(marked[label], formula))
    solver.add(z3.Not(condition.goal))
    if solver.check(*marked.values()) != z3.unsat:
        return set(marked)
    core = {str(found).strip("|") for found in solver.unsat_core()}
    return {label for label, flag in marked.items() if str(flag).strip("|") in core}
