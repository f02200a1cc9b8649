"""Verify, kernel: coins whose chances differ. Comes in: a coin, a bound and two runs. Goes out: the coin, which shows
the same in both runs, and what it cost.

Guarantee: the chance of either side in the first run is at most e^bound times that in the second one, and the bound is
    what the draw costs; where the chances are the same it costs nothing.
Proof: for given values of what was drawn before, the identity of {0, 1} is one to one, and the ratio of chances is p/p'
    for heads and (1 - p)/(1 - p') for tails. Both are at most e^bound by the conditions p <= e^bound p' and 1 - p <=
    e^bound (1 - p'), which also hold where p' or 1 - p' is zero: then the first run never shows that side. The bound
    is a number of the header, public and the same whatever was drawn. Bounds of several draws add up as other costs
    do; they are used for plain claims alone, not beside rules that pay with delta or charge squares.
Reference: Duchi, Jordan, Wainwright, FOCS 2013 (a bounded number as one coin); Warner, JASA 1965.
Checked by: verify::a_coin_with_another_chance_costs_its_bound, verify::what_the_kernel_accepts_is_true
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.verify.kernel.polynomial import Poly, number
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.kernel.values import PairedNumber
from sfumato.verify.tree import Draw, draws_of

if TYPE_CHECKING:
    from sfumato.verify.kernel.evaluate import State
    from sfumato.verify.kernel.product import Product


def check_chances(product: Product) -> None:
    """Refuse whatever the rule is not about."""
    proof = product.proof
    coins = {draw.number for draw in draws_of(product.program) if draw.law == "Bernoulli"}
    if not proof.chances.keys() <= coins:
        raise NoProofRule("chances of what is no coin")
    if proof.chances and (
        product.program.renyi
        or proof.gauss is not None
        or proof.curve is not None
        or proof.tail is not None
        or proof.last is not None
        or proof.redrawn
    ):
        raise NoProofRule("coins whose chances differ are covered for plain claims")


def weighed(product: Product, draw: Draw, state: State) -> Poly:
    """The conditions that bound both ratios of chances; what the draw costs goes out. That chances lie between 0 and 1
    is asked elsewhere.
    """
    runs, node = product.runs, product.proof.chances[draw.number]
    bound, chance = runs.number(node, product.start), runs.number(draw.args[0], state)
    if bound.one != bound.two:
        raise NoProofRule("a bound of chances is public")
    factor = runs.functions.exp(bound.one)
    tails = PairedNumber(number(1) - chance.one, number(1) - chance.two, False)
    for side, label in ((chance, "heads"), (tails, "tails")):
        goal = runs.terms.compare(side.one - factor * side.two, "<=", runs.positive(state))
        runs.require("cost", f"{label} are at most so much likelier", at=draw.at, state=state, goal=goal)
    differ = runs.terms.compare(chance.one - chance.two, "!=", runs.positive(state))
    return runs.terms.choose(differ, bound.one, number(0))
