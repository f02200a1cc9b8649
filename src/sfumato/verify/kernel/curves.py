"""Verify, kernel: a draw that is paid with delta. Comes in: a proof that names one draw. Goes out: conditions.

Guarantee: if all conditions hold, Pr[P(x) in E] <= e^k Pr[P(x') in E] + delta for the claim (k, delta).
Proof: let j be the draw, which is made at most once, c a bound of what all other draws cost on any way, and e = k - c,
    which is not negative. Let p and q be the densities of the noise of both runs, q at the moved noise; both are
    products over draws, and given what was drawn before, q_j is a density too, because the shift of j does not read
    its own noise. Then p <= e^e r + (p_j - e^e q_j)^+ s, where r and s are p with q_j, and with nothing, in the place
    of p_j. Integrated over the noises that lead into E, the second part is at most the mean over what was drawn before
    of the integral of (p_j - e^e q_j)^+, and r is at most e^c q. For Laplace noise moved by at most m scales that
    integral is at most 1 - exp((e - m)/2), or 0 if e >= m: the densities differ by e^m on one side, and the set where
    p_j > e^e q_j is a half-line, whose chances are 1 - exp((e - m)/2)/2 and exp(-(e + m)/2)/2. For Geometric(e^-m)
    moved by at most one it is (1 - e^(e - m))/(1 + e^-m): the set is z <= 0, with chances 1/(1 + a) and a/(1 + a).
    For noise on one side, Exponential(b) moved by a with |a| <= m b, or Steps(p) with |a| ln(1/p) <= m, it is at most
    1 - e^-m: moved upwards, q_j = e^(-|a|/b) p_j, which leaves 1 - e^(e - m) or nothing; moved downwards, q_j >= p_j
    where the moved noise is not negative, and 0 where it is, which has the chance 1 - e^(-|a|/b). For Uniform(lo..hi)
    moved by a whole a it is at most |a|/(hi - lo + 1): q_j = p_j but for at most |a| values. All grow with m, and
    e >= 0.
Reference: Balle, Barthe, Gaboardi, JPC 2020, theorem 3 (Laplace); Ghosh, Roughgarden, Sundararajan, STOC 2009.
Checked by: verify::a_delta_is_proved_down_to_the_curve, verify::a_draw_that_is_paid_with_delta_is_made_once,
    verify::what_the_kernel_accepts_is_true
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.verify.kernel.polynomial import Poly, number
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.kernel.values import PairedNumber
from sfumato.verify.tree import Draw, Program, While, statements

if TYPE_CHECKING:
    from sfumato.verify.kernel.evaluate import State
    from sfumato.verify.kernel.product import Product

ROUNDED = ("Geometric", "TruncGeometric")
ONE_SIDED = ("Exponential", "Steps")
HALF = number(Fraction(1, 2))


def check_curve(product: Product) -> tuple[int, PairedNumber, Poly]:
    """The draw, the bound of other costs, and how far the draw may be moved; with the condition that delta meets it."""
    assert product.proof.curve is not None
    site, *said = product.proof.curve
    program, runs, start = product.program, product.runs, product.start
    law = made_once(program, site, ("Laplace", *ROUNDED, *ONE_SIDED, "Uniform")).law
    if product.proof.pointwise or product.proof.gauss is not None or len(program.claim) != 2 or program.group > 1:
        raise NoProofRule("delta pays for a claim (k, delta) about single steps, for all outputs at once")
    pure, most = (runs.number(node, start) for node in said)
    claim, delta = (runs.number(part, start) for part in program.claim)
    if any(part.one != part.two for part in (pure, most, claim, delta)):
        raise NoProofRule("a claim and its bounds are the same for both inputs")
    left = claim.one - pure.one
    for value, label in ((left, "other costs are within the claim"), (most.one, "a bound is not negative")):
        goal = runs.compare(PairedNumber(value, value, False), ">=", start)[0]
        runs.require("curve", label, at=program.claim[0].at, state=start, goal=goal)
    if law == "Laplace":
        kept = runs.functions.exp((left - most.one) * HALF)
        over = number(1) - kept - delta.one
    elif law in ONE_SIDED:
        over = number(1) - runs.functions.exp(-most.one) - delta.one
    elif law == "Uniform":
        over = most.one - delta.one
    else:
        kept, ratio = runs.functions.exp(left - most.one), runs.functions.exp(-most.one)
        over = number(1) - kept - delta.one * (number(1) + ratio)
    goal = runs.compare(PairedNumber(over, over, False), "<=", start)[0]
    runs.require("curve", "delta meets the curve of the noise", at=program.claim[1].at, state=start, goal=goal)
    return site, pure, most.one


def made_once(program: Program, site: int, laws: tuple[str, ...]) -> Draw:
    """The draw of this number, which stands in the text once, outside of all loops, and has one of these laws."""
    found = [part for part in statements(program.body) if isinstance(part, Draw) and part.number == site]
    inside = [part for loop in statements(program.body) if isinstance(loop, While) for part in statements(loop.body)]
    if len(found) != 1 or found[0] in inside or found[0].law not in laws:
        raise NoProofRule(f"one draw, which is made once, is paid with delta, of {', '.join(laws)}")
    return found[0]


def meets_curve(product: Product, draw: Draw, state: State, moved: Poly, by: Poly) -> None:
    """The draw is moved no further than the proof says: `moved` (not negative) in units of `by`."""
    runs = product.runs
    assert product.curve is not None
    _, _, most = product.curve
    if draw.law == "Steps":
        goals = [(moved * by - most, "<=", "the steps are moved by at most their bound")]
    elif draw.law not in ROUNDED:
        goals = [(moved - most * by, "<=", "the noise is moved by at most its bound")]
    else:
        goals = [
            (moved - number(1), "<=", "the noise is moved by at most one"),
            (by - most, "=", "the bound is its rate"),
        ]
    for value, sign, label in goals:
        goal = runs.terms.compare(value, sign, runs.positive(state))
        runs.require("curve", label, at=draw.at, state=state, goal=goal)
