"""Verify, kernel: coins that show the other side in the second run. Comes in: a coin, a test and two runs. Goes out:
the coin in both runs, and what it cost.

Guarantee: where the test holds, the coin b of the first run is 1 - b in the second one, and what is added to the cost
    bounds the logarithm of the ratio of chances; where it does not hold, both coins are the same for nothing.
Proof: the test reads what was before the draw, so for given values of what was drawn before, b -> 1 - b (or b -> b) is
    one to one on {0, 1}. A coin with chance p, which is the same in both runs and lies between 0 and 1 where it is
    turned, is b = 1 with p and shows 0 in the second run with 1 - p: the ratio is p/(1 - p), and for b = 0 its inverse.
    With p = s/t the odds are s/(t - s), and with p = 1 - q they are those of q, turned.
Reference: Warner, JASA 1965 (randomized response); Barthe, Gaboardi, Arias, Hsu, Roth, Strub, POPL 2015 (couplings).
Checked by: verify::a_coin_is_turned_at_its_odds, verify::what_the_kernel_accepts_is_true
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.verify.kernel.polynomial import Poly, number
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.kernel.values import Boolean, PairedNumber
from sfumato.verify.tree import Binary, Draw, Expr, FunctionCall, Num

if TYPE_CHECKING:
    from sfumato.verify.kernel.evaluate import State
    from sfumato.verify.kernel.product import Product

TURN = "#turn"
ONE = Num(Fraction(1))


def is_turned(product: Product, draw: Draw) -> bool:
    """Whether a proof turns a coin somewhere."""
    node = product.proof.shifts.get(draw.number)
    return draw.law == "Bernoulli" and isinstance(node, FunctionCall) and node.name == TURN and len(node.args) == 1


def turned(product: Product, draw: Draw, state: State, coin: Poly) -> tuple[Poly, Poly]:
    """What the coin shows in the second run, and what that costs. That its chance is one, and the same in both runs, is
    asked elsewhere.
    """
    runs, node = product.runs, product.proof.shifts[draw.number]
    assert isinstance(node, FunctionCall)
    where = runs.said(node.args[0], state)
    if not isinstance(where, Boolean):
        raise NoProofRule("a coin is turned where a test holds")
    there = state.copy()
    there.known.append(where.one)
    above, below = (runs.number(part, there) for part in odds(draw.args[0]))
    for part in (above, below):
        goal = runs.terms.compare(part.one, ">", runs.positive(there))
        runs.require("support", "a coin that is turned may show both sides", at=draw.at, state=there, goal=goal)
    ratio = runs.divided(
        PairedNumber(above.one, above.one, False), PairedNumber(below.one, below.one, False), draw.at, there
    )
    price = runs.functions.ln(ratio.one, runs.positive(there))
    heads = runs.says(coin - number(1), "=")
    cost = runs.terms.choose(where.one, runs.terms.choose(heads, price, -price), number(0))
    return runs.terms.choose(where.one, number(1) - coin, coin), cost


def odds(node: Expr) -> tuple[Expr, Expr]:
    """Two numbers in the ratio of p to 1 - p, as they cancel best."""
    match node:
        case Binary(op="/", left=left, right=right):
            return left, Binary("-", right, left)
        case Binary(op="-", left=left, right=right) if left == ONE:
            above, below = odds(right)
            return below, above
    return node, Binary("-", ONE, node)
