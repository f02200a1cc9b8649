"""Verify, kernel: claims about Rényi divergence. Comes in: a proof of such a claim. Goes out: conditions.

Guarantee: if all conditions hold, D_a(P(x) || P(x')) <= e for the claim renyi(a, e), and D_a(P(x) || P(x')) <= rho a
    for every a > 1 for the claim zcdp(rho), for adjacent inputs in this direction.
Proof: let p be the density of the noise h of run 1, p' that of run 2, T the map of product.py and L_k the log-ratio of
    draw k, so that p(h)/p'(T(h)) = exp(sum L_k). Run 2 returns at T(h) what run 1 returns at h, so the law of outputs
    on x is that of run 2 with the noise T(h), and D_a(P(x) || P(x')) <= D_a(law of T(h) || p') = ln E exp((a - 1)
    sum L_k)/(a - 1), the mean over p. Let c_k be what draw k is charged; if E[exp((a - 1)(L_k - c_k)) | what was drawn
    before] <= 1 for each k, the product of these has a mean of at most 1, and sum c_k <= B on every way gives
    D_a <= B. All loops end, so that every way is finite. (1) A draw whose move does not read its own noise has a c_k
    that is known before it is drawn, and needs c_k >= D_a of its law from the law moved by s nats: (a) Gauss:
    a s^2/2. (b) Laplace: f(s) = ln((a exp((a-1) s) + (a-1) exp(-a s))/(2a-1))/(a-1). (c) Whatever has ratios between
    exp(-s) and exp(s) from both sides, as Geometric noise: t^a is below its chord there, so g(s) = ln((exp((a-1) s) +
    exp(-a s))/(1 + exp(-s)))/(a-1) = ln(cosh((a-1/2) s)/cosh(s/2))/(a-1); one step of Geometric noise has just these
    two ratios. (2) f(s) <= a (s - 1 + exp(-s)): at s = 0 both are 0, and with x = exp(-s), n = 2a - 1 the derivatives
    compare as (1-x)((n+1) + (n-1) x^n) >= 2 (1 - x^n); the difference is 0 at x = 1 and falls, because n x^(n-1) <=
    1 + (n-1) x^n by the means. (3) g(s) <= a s tanh(s/2): at n = 1 both sides of ln cosh(n s/2) - ln cosh(s/2) <=
    (n^2 - 1) s tanh(s/2)/4 are 0, and tanh(n s/2) <= n tanh(s/2). (4) s - 1 + exp(-s) and s tanh(s/2) are at most
    s^2/2, so each of these laws may be charged a s^2/2, its square. (5) f and s - 1 + exp(-s) are convex in s and 0
    at 0: a Laplace noise that is never moved by more than m nats may be charged s/m times their value at m. Geometric
    noise that is moved by one step or not at all is charged 1 or 0 times its value. (6) Any other draw has L_k <= c_k
    for every noise. In zcdp, c_k/a lies between 0 and c_k, so the sum is at most rho if it is both with these draws
    and without them.
Reference: Mironov, CSF 2017 (Laplace, Gauss); Bun, Steinke, TCC 2016; Harrison, Manurangsi, 2025 (exact zCDP).
Checked by: verify::renyi_claims_are_proved_down_to_the_curve, verify::what_is_proved_of_renyi_is_true
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import z3

from sfumato.verify.kernel.polynomial import Poly, number
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.kernel.values import PairedNumber
from sfumato.verify.tree import Draw, draws_of

if TYPE_CHECKING:
    from sfumato.verify.kernel.evaluate import State
    from sfumato.verify.kernel.product import Product

STEPS = ("Geometric", "TruncGeometric")
SYMMETRIC = ("Gauss", "Laplace", *STEPS)
"""Laws that may be charged by the square of how far they are moved."""
HALF = number(Fraction(1, 2))


def check_renyi(product: Product) -> None:
    """What a proof of such a claim may be; and that the order is above 1."""
    proof, program = product.proof, product.program
    if not program.renyi:
        if proof.curved:
            raise NoProofRule("curves of draws belong to claims about Rényi divergence")
        return
    others = (proof.gauss, proof.normal, proof.curve, proof.tail, proof.last)
    if any(part is not None for part in others) or proof.bell or proof.pointwise or proof.redrawn or proof.one_return:
        raise NoProofRule("claims about Rényi divergence are proved for all outputs at once, without delta")
    if program.group > 1 or product.endless or product.again:
        raise NoProofRule("claims about Rényi divergence are about single steps, and loops that end")
    laws = {draw.number: draw.law for draw in draws_of(program)}
    if any(laws.get(site) not in ("Laplace", *STEPS) or site not in proof.units for site in proof.curved):
        raise NoProofRule("a draw with a curve is Laplace or Geometric noise, and has a unit")
    if any(part.one != part.two for part in _promised(product)):
        raise NoProofRule("a claim is the same for both inputs")
    *orders, _ = (part.one for part in _promised(product))
    check_order(product, orders)
    for site in sorted(proof.curved):
        product.curves[site] = named_curve(product, laws[site], orders, product.units[site])


def check_order(product: Product, orders: list[Poly]) -> None:
    """The condition that an order is above 1."""
    for order in orders:
        above, at = PairedNumber(order - number(1), order - number(1), False), product.program.renyi[0].at
        goal = product.runs.compare(above, ">", product.start)[0]
        product.runs.require("claim", "the order is above 1", at=at, state=product.start, goal=goal)


def _promised(product: Product) -> list[PairedNumber]:
    return [product.runs.number(part, product.start) for part in product.program.renyi]


def meets_unit(product: Product, draw: Draw, state: State, moved: Poly, by: Poly) -> None:
    """A draw with a curve is moved no further than its unit: `moved` (not negative), in scales or with a rate."""
    unit, runs = product.units[draw.number], product.runs
    if draw.law == "Laplace":
        goals = [(moved - unit * by, "<=", "the noise is moved by at most its unit")]
    else:
        goals = [
            (moved - number(1), "<=", "the noise is moved by at most one"),
            (by - unit, "=", "the unit is the rate"),
        ]
    for value, sign, label in goals:
        goal = runs.terms.compare(value, sign, runs.positive(state))
        runs.require("curve", label, at=draw.at, state=state, goal=goal)


def within_renyi(product: Product, at: int, state: State) -> None:
    """What was charged so far is within the claim."""
    *orders, most = (part.one for part in _promised(product))
    factor = orders[0] * HALF if orders else HALF
    curved, other = number(0), number(0)
    for site, spent in state.spent.items():
        if site in product.squared:
            curved = curved + spent * product.units[site] * factor
        elif site in product.proof.curved:
            curved = curved + spent * product.curves[site]
        else:
            other = other + spent * product.units[site]
    totals = [curved + other] if orders else [curved, curved + other]
    for total in totals:
        goal = product.runs.terms.compare(total - most, "<=", product.runs.positive(state))
        product.runs.require("cost", "what was spent is within the claim", at=at, state=state, goal=goal)


def named_curve(product: Product, law: str, orders: list[Poly], moved: Poly) -> Poly:
    """The curve of a law that is moved by so many nats (a positive number) as one unknown, which is never negative."""
    runs = product.runs
    found, value = runs.terms.fresh("curve", whole=False), _curve(product, law, orders, moved)
    powers = runs.functions.exp(moved) * runs.functions.exp(-moved)
    sense = [runs.says(order - number(1), ">") for order in orders]
    facts = [runs.says(found - value, "="), runs.says(found, ">="), runs.says(powers - number(1), "=")]
    runs.facts.define(runs.terms.term(found), *(z3.Implies(z3.And(*sense), fact) if sense else fact for fact in facts))
    return found


def _curve(product: Product, law: str, orders: list[Poly], moved: Poly) -> Poly:
    """The divergence of a law from itself, moved by so many nats: at an order, or its greatest quotient by orders."""
    exp, one, at = product.runs.functions.exp, number(1), product.program.renyi[0].at
    if not orders:
        if law == "Laplace":
            return moved - one + exp(-moved)
        return moved * quotient(product, one - exp(-moved), one + exp(-moved), at)
    a = orders[0]
    up, down, less = exp((a - one) * moved), exp(-a * moved), a - one
    if law == "Laplace":
        inside = quotient(product, a * up + less * down, a + less, at)
    else:
        inside = quotient(product, up + down, one + exp(-moved), at)
    return quotient(product, product.runs.functions.ln(inside, product.runs.positive(product.start)), less, at)


def quotient(product: Product, above: Poly, below: Poly, at: int) -> Poly:
    """A quotient; that the divisor is not zero is a condition."""
    over, under = PairedNumber(above, above, False), PairedNumber(below, below, False)
    return product.runs.divided(over, under, at, product.start).one
