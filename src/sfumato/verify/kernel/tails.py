"""Verify, kernel: far noise that is left to delta. Comes in: a proof that names one draw, a side and a bound. Goes out:
conditions, and what is then known of the noise.

Guarantee: if all conditions hold, Pr[P(x) in E] <= e^k Pr[P(x') in E] + delta for the claim (k, delta).
Proof: let j be the draw, which is made at most once, and B that it is made and its noise in the first run is t or
    more (on the other side: -t or less). t is public and fixed before the first step. Given what was drawn before j,
    the chance of B is at most the tail of the law: e^(-t/b) / 2 for Laplace(b, 0) and t >= 0, e^(-t/b) for
    Exponential(b), e^(-t r)/(1 + e^-r) for Geometric(e^-r) and p^t for Steps(p), both with a whole t >= 0. So
    Pr1[E] <= Pr1[B] + Pr1[E without B] <= delta + Pr1[E without B]. On all other ways everything holds that
    product.py asks, so that the second part is at most e^k Pr2[E]: the map of noises is one to one there, costs at
    most k, and leads into E.
Reference: Barthe, Köpf, Olmedo, Zanella, POPL 2012 (couplings up to a bad event); Korolova, Kenthapadi, Mishra,
    Ntoulas, WWW 2009 (thresholds).
Checked by: verify::a_tail_is_left_to_delta_and_no_more, verify::what_the_kernel_accepts_is_true
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.verify.kernel.curves import made_once
from sfumato.verify.kernel.polynomial import Poly, number
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.kernel.values import PairedNumber
from sfumato.verify.tree import Draw, Num, names

if TYPE_CHECKING:
    from sfumato.verify.kernel.evaluate import State
    from sfumato.verify.kernel.product import Product

ZERO = Num(Fraction(0))
TWO_SIDED = ("Laplace", "Geometric")
TAILED = (*TWO_SIDED, "Exponential", "Steps")
SIDES = ("above", "below")


def check_tail(product: Product) -> None:
    """Refuse a tail that the rule is not about."""
    assert product.proof.tail is not None
    site, side, bound = product.proof.tail
    program = product.program
    draw = made_once(program, site, TAILED)
    if side not in SIDES or (side == "below" and draw.law not in TWO_SIDED):
        raise NoProofRule("noise has a tail above, and on two sides also below")
    if draw.law == "Laplace" and draw.args[1] != ZERO:
        raise NoProofRule("the tail of Laplace noise around 0")
    if product.proof.pointwise or product.proof.gauss is not None or product.proof.curve is not None:
        raise NoProofRule("a tail is left to delta alone, and for all outputs at once")
    if len(program.claim) != 2 or program.group > 1:
        raise NoProofRule("a tail is left to the delta of a claim about single steps")
    public = {"eps", "delta"} | {param.name for param in program.params if not param.private}
    if not names(bound) <= public:
        raise NoProofRule("where a tail begins is public")


def without_tail(product: Product, draw: Draw, state: State, noise: Poly, by: PairedNumber) -> None:
    """From here on the noise lies below the tail that delta pays for. `by` is a scale, or the rate of whole noise."""
    if product.proof.tail is None or product.proof.tail[0] != draw.number:
        return
    _, side, node = product.proof.tail
    runs, start = product.runs, product.start
    bound, delta = runs.number(node, start), runs.number(product.program.claim[1], start)
    if bound.one != bound.two or delta.one != delta.two:
        raise NoProofRule("where a tail begins is public, and so is delta")
    whole = draw.law in ("Geometric", "Steps")
    if whole and not runs.terms.is_whole(bound.one):
        raise NoProofRule("the tail of whole noise begins at a whole number")
    far = bound.one * by.one if whole else runs.divided(bound, by, draw.at, state).one
    mass, most = runs.functions.exp(-far), delta.one
    if draw.law == "Laplace":
        most = most * number(2)
    elif draw.law == "Geometric":
        most = most * (number(1) + runs.functions.exp(-by.one))
    for value, label in ((bound.one, "a tail begins at 0 or later"), (most - mass, "delta is at least the tail")):
        goal = runs.terms.compare(value, ">=", runs.positive(state))
        runs.require("tail", label, at=draw.at, state=state, goal=goal)
    fact = runs.says(noise - bound.one, "<") if side == "above" else runs.says(noise + bound.one, ">")
    runs.learn("noise before its tail", draw.at, state, fact)
