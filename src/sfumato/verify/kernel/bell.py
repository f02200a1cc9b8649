"""Verify, kernel: a delta of Gaussian noise that is a formula. Comes in: bounds of a proof. Goes out: a condition.

Guarantee: if the condition holds, delta_m(e) <= delta for all parameters, with e what is left of epsilon for Gaussian
    noise and m^2 <= M the bound of the squares of shifts over scales (product.py, part 7).
Proof: delta_m(e) = Q(t) - exp(e) Q(t + m) <= Q(t), with Q the tail of a standard normal number and t = e/m - m/2; it
    grows with m, so that m^2 = M may be taken, and it is 0 where M is. (1) For t >= 0, Q(t) <= exp(-t^2/2)/2, which is
    at most delta if t^2/2 >= ln(1/(2 delta)), that is if e >= M/2 and (e - M/2)^2 >= 2 M ln(1/(2 delta)). (2) Q(t) <=
    1/2 + max(-t, 0) 2/5, because the density is below 2/5: at most delta if delta >= 1/2 and t^2 <= (25/4)
    (delta - 1/2)^2, that is if (e - M/2)^2 <= (25/4) M (delta - 1/2)^2. Of ln(delta) is also known that it is at
    most delta - 1.
Reference: Dwork, Roth, 2014, theorem A.1 (scale sqrt(2 ln(1.25/delta))/epsilon); Balle, Wang, ICML 2018.
Checked by: verify::a_formula_for_delta_is_proved_where_the_curve_keeps_it
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import z3

from sfumato.verify.kernel.polynomial import number
from sfumato.verify.kernel.uncovered import NoProofRule

if TYPE_CHECKING:
    from sfumato.verify.kernel.product import Product

HALF = number(Fraction(1, 2))


def check_bell(product: Product) -> None:
    """The condition that a formula for delta is never below the tail of Gaussian noise."""
    program, runs, start = product.program, product.runs, product.start
    if product.proof.gauss is None or product.proof.normal is not None or len(program.claim) != 2:
        raise NoProofRule("a formula for the delta of Gaussian noise")
    pure, most = (runs.number(part, start) for part in product.proof.gauss)
    claim, delta = (runs.number(part, start) for part in program.claim)
    if any(part.one != part.two for part in (pure, most, claim, delta)):
        raise NoProofRule("a claim and its bounds are the same for both inputs")
    positive, at = runs.positive(start), program.claim[1].at
    goal = runs.terms.compare(delta.one, ">", positive)
    runs.require("curve", "delta is positive", at=at, state=start, goal=goal)
    logarithm = runs.functions.ln(delta.one, positive)
    if len(logarithm.atoms) == 1 and len(logarithm.terms) == 1 and delta.one.constant is None:
        known = runs.terms.compare(logarithm - delta.one + number(1), "<=", positive)
        runs.facts.define(runs.terms.term(logarithm), z3.Implies(runs.says(delta.one, ">"), known))
    gap, far = claim.one - pure.one - most.one * HALF, delta.one - HALF
    needed = -logarithm - runs.functions.ln(number(2), positive)

    parts = (
        (gap, ">="),
        (gap * gap - number(2) * most.one * needed, ">="),
        (far, ">="),
        (gap * gap - number(Fraction(25, 4)) * most.one * far * far, "<="),
    )
    first, second, third, fourth = (runs.terms.compare(value, sign, positive) for value, sign in parts)
    for value, label in (
        (claim.one - pure.one, "other costs are within the claim"),
        (most.one, "squares have a bound"),
    ):
        runs.require("curve", label, at=at, state=start, goal=runs.terms.compare(value, ">=", positive))
    runs.require(
        "curve",
        "delta is at least the tail",
        at=at,
        state=start,
        goal=z3.Or(z3.And(first, second), z3.And(third, fourth)),
    )
