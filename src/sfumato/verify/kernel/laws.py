"""Verify, kernel: draws. Comes in: a draw, its shift and two runs. Goes out: the drawn value in both runs, and what
it cost.

For each law: what its arguments must be, how the second run's noise is the first one's, moved, and the log-ratio of
densities. Laws that are not moved are drawn alike in both runs, if their arguments are equal.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.verify.kernel.curves import meets_curve
from sfumato.verify.kernel.polynomial import Poly, number
from sfumato.verify.kernel.redraws import LAWS
from sfumato.verify.kernel.renyi import meets_unit
from sfumato.verify.kernel.tails import without_tail
from sfumato.verify.kernel.turned import is_turned, turned
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.kernel.values import PairedList, PairedNumber
from sfumato.verify.tree import Assign, Binary, Draw, Expr, FunctionCall, Num, Unary, Var, parts, walk
from sfumato.verify.tree import SequenceLiteral as Listed

if TYPE_CHECKING:
    from sfumato.verify.kernel.evaluate import State
    from sfumato.verify.kernel.product import Product

NOISE = "#noise"
ZERO = Num(Fraction(0))


def drawn(product: Product, draw: Draw, state: State, *ends: tuple[Poly | None, str], whole: bool) -> Poly:
    """The unknown value of a draw. Its support is known on the path of the draw, and nowhere else: the one place where
    a law says which values it may have.
    """
    runs = product.runs
    found = runs.unknown(draw.name, whole=whole)
    support = [runs.says(found - end, sign) for end, sign in ends if end is not None]
    if support:
        runs.learn(f"the support of {draw.law}", draw.at, state, *support)
    return found


def shifted_draw(product: Product, draw: Draw, state: State) -> None:
    """Draw in both runs: noise h in the first, h + a in the second."""
    if state.own[0] or state.own[1]:
        raise NoProofRule("a draw on a way of one run alone")
    if draw.number in product.again:
        _check_again(product, draw)
    match draw.law:
        case "Gauss" | "Laplace" if draw.number in product.squared:
            _squared(product, draw, state)
        case "Laplace":
            _laplace(product, draw, state)
        case "Exponential":
            _exponential(product, draw, state)
        case "Geometric" | "TruncGeometric":
            _geometric(product, draw, state)
        case "Steps":
            _steps(product, draw, state)
        case "Choice" if isinstance(draw.args[0], Var) and draw.args[0].name in product.proof.weights:
            _chosen_by_bounds(product, draw, state, draw.args[0].name)
        case "Choice" if (weights := _logarithms(product, draw, state)) is not None:
            _chosen(product, draw, state, weights)
        case _:
            _alike(product, draw, state)


def _check_again(product: Product, draw: Draw) -> None:
    """What may be made again is moved by what does not read its noise, and is not paid with delta (redraws.py)."""
    if draw.law not in LAWS:
        raise NoProofRule(f"{draw.law} is not made again")
    _without_noise(product.proof.shifts.get(draw.number, ZERO))
    if draw.number in ((product.curve or (0,))[0], (product.proof.tail or (0,))[0]):
        raise NoProofRule("what is made again is not paid with delta")


def _laplace(product: Product, draw: Draw, state: State) -> None:
    scale, centre = (product.runs.number(arg, state) for arg in draw.args)
    _check_scale(product, draw, state, scale)
    noise = drawn(product, draw, state, whole=False)
    without_tail(product, draw, state, noise, scale)
    shift = moved(product, draw, state, noise)
    distance = shift - (centre.two - centre.one)
    size = product.runs.terms.magnitude(distance, product.runs.positive(state))
    if _is_paid_with_delta(product, draw):
        meets_curve(product, draw, state, size, scale.one)
    else:
        if draw.number in product.proof.curved:
            _without_noise(product.proof.shifts.get(draw.number, ZERO))
            meets_unit(product, draw, state, size, scale.one)
        _spend(product, draw, state, size, scale)
    state.values[draw.name] = PairedNumber(noise, noise + shift, False)


def _is_paid_with_delta(product: Product, draw: Draw) -> bool:
    """Whether a draw is paid with delta; then its shift must not read the noise that it moves."""
    if product.curve is None or product.curve[0] != draw.number:
        return False
    _without_noise(product.proof.shifts.get(draw.number, ZERO))
    return True


def _squared(product: Product, draw: Draw, state: State) -> None:
    """Charged by the square of shift/scale; the shift must not read the noise that it moves."""
    scale, centre = (product.runs.number(arg, state) for arg in draw.args)
    _check_scale(product, draw, state, scale)
    _without_noise(product.proof.shifts.get(draw.number, ZERO))
    noise = drawn(product, draw, state, whole=False)
    shift = moved(product, draw, state, noise)
    distance = shift - (centre.two - centre.one)
    squared = PairedNumber(scale.one * scale.one, scale.one * scale.one, False)
    _spend(product, draw, state, distance * distance, squared)
    state.values[draw.name] = PairedNumber(noise, noise + shift, False)


def _exponential(product: Product, draw: Draw, state: State) -> None:
    """On x >= 0 the log-ratio of densities is shift/scale, with its sign; the second noise must not be negative."""
    scale = product.runs.number(draw.args[0], state)
    _check_scale(product, draw, state, scale)
    support = (number(0), ">=")
    noise = drawn(product, draw, state, support, whole=False)
    without_tail(product, draw, state, noise, scale)
    shift = moved(product, draw, state, noise, support)
    if _is_paid_with_delta(product, draw):
        size = product.runs.terms.magnitude(shift, product.runs.positive(state))
        meets_curve(product, draw, state, size, scale.one)
    else:
        _lands(product, draw, state, noise + shift)
        _spend(product, draw, state, shift, scale)
    state.values[draw.name] = PairedNumber(noise, noise + shift, False)


def _lands(product: Product, draw: Draw, state: State, other: Poly) -> None:
    lands = product.runs.terms.compare(other, ">=", product.runs.positive(state))
    product.runs.require("support", "the moved noise is not negative", at=draw.at, state=state, goal=lands)


def _rate(product: Product, draw: Draw, state: State) -> PairedNumber:
    """ln(1/a) of a ratio a between 0 and 1."""
    rate = product.runs.number(Unary("-", FunctionCall("ln", (draw.args[0],), draw.at), draw.at), state)
    product.runs.safe("the ratio lies between 0 and 1", draw.at, state, product.runs.compare(rate, ">", state))
    product.runs.require(
        "scale", "the ratio is the same in both runs", at=draw.at, state=state, goal=product.runs.equal(rate)
    )
    return rate


def _steps(product: Product, draw: Draw, state: State) -> None:
    """Steps(p) is k = 0, 1, 2, … with chance (1 - p) p^k (coins.py): s ln(1/p) for a whole shift s, with its sign; the
    second noise must not be negative.
    """
    rate, support = _rate(product, draw, state), (number(0), ">=")
    noise = drawn(product, draw, state, support, whole=True)
    without_tail(product, draw, state, noise, rate)
    shift = moved(product, draw, state, noise, support)
    if not product.runs.terms.is_whole(shift):
        raise NoProofRule("steps are moved by whole numbers")
    if _is_paid_with_delta(product, draw):
        size = product.runs.terms.magnitude(shift, product.runs.positive(state))
        meets_curve(product, draw, state, size, rate.one)
    else:
        _lands(product, draw, state, noise + shift)
        _pay(product, draw, state, shift * rate.one)
    state.values[draw.name] = PairedNumber(noise, noise + shift, True)


def _geometric(product: Product, draw: Draw, state: State) -> None:
    """Geometric(a): |s| ln(1/a) for a whole shift s. Truncation is a function of the sum."""
    rate = _rate(product, draw, state)
    noise = drawn(product, draw, state, whole=True)
    without_tail(product, draw, state, noise, rate)
    shift = moved(product, draw, state, noise)
    if not product.runs.terms.is_whole(shift):
        raise NoProofRule("a geometric noise is moved by whole numbers")
    size = product.runs.terms.magnitude(shift, product.runs.positive(state))
    if _is_paid_with_delta(product, draw):
        meets_curve(product, draw, state, size, rate.one)
    elif draw.number in product.squared:
        _without_noise(product.proof.shifts.get(draw.number, ZERO))
        _pay(product, draw, state, size * rate.one * size * rate.one)
    else:
        if draw.number in product.proof.curved:
            _without_noise(product.proof.shifts.get(draw.number, ZERO))
            meets_unit(product, draw, state, size, rate.one)
        _pay(product, draw, state, size * rate.one)
    found = PairedNumber(noise, noise + shift, True)
    if draw.law == "TruncGeometric":
        found = _truncated(product, draw, state, found)
    state.values[draw.name] = found


def _truncated(product: Product, draw: Draw, state: State, noise: PairedNumber) -> PairedNumber:
    low, high, *rest = (product.runs.number(arg, state) for arg in draw.args[1:])
    if rest:
        noise = PairedNumber(noise.one + rest[0].one, noise.two + rest[0].two, noise.whole and rest[0].whole)
    order = product.runs.compare(PairedNumber(low.one - high.one, low.two - high.two, True), "<=", state)
    product.runs.safe("the lower end is not above the upper", draw.at, state, order)
    state.values[draw.name] = noise
    state.values["#low"], state.values["#high"] = low, high
    found = product.runs.number(FunctionCall("clamp", (Var(draw.name), Var("#low"), Var("#high"))), state)
    del state.values["#low"], state.values["#high"]
    return found


def _alike(product: Product, draw: Draw, state: State) -> None:
    """The same value in both runs, at no cost, where all arguments are equal in both. A choice from a range may be
    moved by a whole number where delta pays for it, and a coin may be turned.
    """
    paid = draw.law == "Uniform" and _is_paid_with_delta(product, draw)
    coin = is_turned(product, draw)
    if draw.number in product.proof.shifts and product.proof.shifts[draw.number] != ZERO and not paid and not coin:
        raise NoProofRule(f"{draw.law} is not moved")
    args = [product.runs.value(arg, state) for arg in draw.args]
    for arg in args:
        product.runs.require(
            "scale", "the law is the same in both runs", at=draw.at, state=state, goal=product.runs.equal(arg)
        )
    low, high, whole = _range(product, draw, state, args)
    found = drawn(product, draw, state, (low, ">="), (high, "<="), whole=whole)
    shift = number(0)
    if paid and low is not None and high is not None:
        shift = moved(product, draw, state, found)
        if not product.runs.terms.is_whole(shift):
            raise NoProofRule("a choice from a range is moved by whole numbers")
        size = product.runs.terms.magnitude(shift, product.runs.positive(state))
        meets_curve(product, draw, state, size, high - low + number(1))
    if coin:
        other, cost = turned(product, draw, state, found)
        _pay(product, draw, state, cost)
        shift = other - found
    state.values[draw.name] = PairedNumber(found, found + shift, whole)


def _range(product: Product, draw: Draw, state: State, args: list[Any]) -> tuple[Poly | None, Poly | None, bool]:
    """What the arguments of a law must be, and the least and the greatest value that can be drawn."""
    if draw.law == "Choice":
        if not isinstance(args[0], PairedList) or not args[0].items:
            raise NoProofRule("the weights of Choice are listed")
        weights = [weight for weight in args[0].items if isinstance(weight, PairedNumber)]
        if len(weights) < len(args[0].items):
            raise NoProofRule("weights are numbers")
        total = PairedNumber(number(0), number(0), False)
        for weight in weights:
            product.runs.safe("a weight is not negative", draw.at, state, product.runs.compare(weight, ">=", state))
            total = PairedNumber(total.one + weight.one, total.two + weight.two, False)
        product.runs.safe("the weights are not all zero", draw.at, state, product.runs.compare(total, ">", state))
        return number(0), number(len(args[0].items) - 1), True
    numbers = [arg for arg in args if isinstance(arg, PairedNumber)]
    if len(numbers) < len(args):
        raise NoProofRule("the arguments of a law are numbers")
    if draw.law == "Gauss":
        product.runs.safe("the scale is positive", draw.at, state, product.runs.compare(numbers[0], ">", state))
        return None, None, False
    if draw.law == "Bernoulli":
        product.runs.safe(
            "a probability is not negative", draw.at, state, product.runs.compare(numbers[0], ">=", state)
        )
        above = PairedNumber(numbers[0].one - number(1), numbers[0].two - number(1), False)
        product.runs.safe("a probability is at most 1", draw.at, state, product.runs.compare(above, "<=", state))
        return number(0), number(1), True
    if draw.law == "Uniform" and len(numbers) == 2 and all(end.whole for end in numbers):
        low, high = numbers
        order = product.runs.compare(PairedNumber(low.one - high.one, low.two - high.two, True), "<=", state)
        product.runs.safe("the lower end is not above the upper", draw.at, state, order)
        return low.one, high.one, True
    raise NoProofRule(f"{draw.law} is not covered")


def moved(product: Product, draw: Draw, state: State, noise: Poly, *support: tuple[Poly, str]) -> Poly:
    """The shift of a draw, and the condition that noise + shift is one to one in the noise.

    The shift reads the state before the draw. The noise itself may stand in the tests of `#if` alone, so that the map
    is a translation on each piece.
    """
    node = product.proof.shifts.get(draw.number, ZERO)
    check_pieces(node)

    def at(value: Poly) -> Poly:
        there = state.copy()
        there.values[NOISE] = PairedNumber(value, value, False)
        found = product.runs.said(node, there)
        if not isinstance(found, PairedNumber):
            raise NoProofRule("a shift is a number")
        return found.one

    found = at(noise)
    if any(isinstance(part, Var) and part.name == NOISE for part in walk(node)):
        whole = all(product.runs.terms.atoms[atom].is_int() for atom in noise.atoms)
        other = drawn(product, replace(draw, name=f"{draw.name}~"), state, *support, whole=whole)
        differ = product.runs.terms.compare(noise - other, "!=", product.runs.positive(state))
        apart = product.runs.terms.compare(noise + found - other - at(other), "!=", product.runs.positive(state))
        product.runs.require(
            "injective", "different noises stay different", at=draw.at, state=state, goal=apart, more=(differ,)
        )
    return found


def check_pieces(node: Expr) -> None:
    """Refuse a shift whose value, not only whose choice of a piece, depends on the noise, or on how the noise moves."""
    if isinstance(node, FunctionCall) and node.name == "#if":
        test = node.args[0]
        for part in walk(test):
            if isinstance(part, FunctionCall) and part.name in ("#shift", "#same", "#two"):
                _without_noise(part)
        for piece in node.args[1:]:
            check_pieces(piece)
        return
    if isinstance(node, Var) and node.name == NOISE:
        raise NoProofRule("a shift is a translation on each piece")
    for part in parts(node):
        check_pieces(part)


def _without_noise(node: Expr) -> None:
    if any(isinstance(part, Var) and part.name == NOISE for part in walk(node)):
        raise NoProofRule("how far the noise moves is what is being said")


def _logarithms(product: Product, draw: Draw, state: State) -> list[PairedNumber] | None:
    """The logarithms of weights that are not the same in both runs; None if they are the same, or have none."""
    weights = product.runs.value(draw.args[0], state)
    if not isinstance(weights, PairedList) or not weights.items:
        return None
    numbers = [weight for weight in weights.items if isinstance(weight, PairedNumber)]
    if len(numbers) < len(weights.items) or all(weight.one == weight.two for weight in numbers):
        return None
    found = []
    for weight in numbers:
        product.runs.safe("a weight is positive", draw.at, state, product.runs.compare(weight, ">", state))
        one = product.runs.functions.ln(weight.one, product.runs.positive(state, 0))
        found.append(PairedNumber(one, product.runs.functions.ln(weight.two, product.runs.positive(state, 1)), False))
    return found


def _chosen(product: Product, draw: Draw, state: State, weights: list[PairedNumber]) -> None:
    """The same choice k in both runs, for ln(w_k/w'_k) + max_j ln(w'_j/w_j).

    Proof: P(k)/P'(k) = w_k/w'_k * sum(w')/sum(w), and sum(w') <= max_j(w'_j/w_j) sum(w), all weights being positive.
    """
    if draw.number in product.proof.shifts and product.proof.shifts[draw.number] != ZERO:
        raise NoProofRule(f"{draw.law} is not moved")
    terms, positive = product.runs.terms, product.runs.positive(state)
    found = drawn(product, draw, state, (number(0), ">="), (number(len(weights) - 1), "<="), whole=True)
    most, own = weights[0].two - weights[0].one, weights[0].one - weights[0].two
    for place, weight in enumerate(weights[1:], start=1):
        gain = weight.two - weight.one
        most = terms.choose(terms.compare(gain - most, ">=", positive), gain, most)
        own = terms.choose(terms.compare(found - number(place), "=", positive), -gain, own)
    _pay(product, draw, state, own + most)
    state.values[draw.name] = PairedNumber(found, found, True)


def check_weights(product: Product, statement: Assign, state: State) -> None:
    """Whatever becomes an element of a list of weights is positive, and its logarithm moves within the list's bounds.

    Both runs assign together, and a list is only ever written anew or made longer: so its elements stand side by side.
    """
    match statement.value:
        case Listed(items=items):
            pass
        case Binary(op="++", left=Var(name=name), right=Listed(items=items)) if name == statement.name:
            pass
        case _:
            raise NoProofRule("a list of weights is written out, or made longer")
    given = any(param.name == statement.name for param in product.program.params)
    if given or state.own[0] or state.own[1]:
        raise NoProofRule("a list of weights is made by both runs together")
    low, high = _bounds_of(product, statement.name)
    for item in items:
        weight = product.runs.number(item, state)
        product.runs.safe("a weight is positive", statement.at, state, product.runs.compare(weight, ">", state))
        first = product.runs.functions.ln(weight.one, product.runs.positive(state, 0))
        moved = product.runs.functions.ln(weight.two, product.runs.positive(state, 1)) - first
        for over in (low - moved, moved - high):
            goal = product.runs.terms.compare(over, "<=", product.runs.positive(state))
            label = "a weight moves within its bounds"
            product.runs.require("cost", label, at=statement.at, state=state, goal=goal)


def _bounds_of(product: Product, name: str) -> tuple[Poly, Poly]:
    low, high = (product.runs.number(node, product.start) for node in product.proof.weights[name])
    if low.one != low.two or high.one != high.two:
        raise NoProofRule("bounds of weights are public")
    return low.one, high.one


def _chosen_by_bounds(product: Product, draw: Draw, state: State, name: str) -> None:
    """The same choice k in both runs, for high - low, where all ln(w'_j/w_j) lie between low and high.

    Proof: P(k)/P'(k) = w_k/w'_k * sum(w')/sum(w) <= e^-low e^high, all weights being positive.
    """
    if draw.number in product.proof.shifts and product.proof.shifts[draw.number] != ZERO:
        raise NoProofRule(f"{draw.law} is not moved")
    size = product.runs.stream(product.runs.value(Var(name), state)).length
    product.runs.require(
        "scale", "the law is the same in both runs", at=draw.at, state=state, goal=product.runs.equal(size)
    )
    product.runs.safe("there are weights", draw.at, state, product.runs.compare(size, ">", state))
    low, high = _bounds_of(product, name)
    found = drawn(product, draw, state, (number(0), ">="), (size.one, "<"), whole=True)
    _pay(product, draw, state, high - low)
    state.values[draw.name] = PairedNumber(found, found, True)


def _check_scale(product: Product, draw: Draw, state: State, scale: PairedNumber) -> None:
    product.runs.safe("the scale is positive", draw.at, state, product.runs.compare(scale, ">", state))
    product.runs.require(
        "scale", "the scale is the same in both runs", at=draw.at, state=state, goal=product.runs.equal(scale)
    )


def _spend(product: Product, draw: Draw, state: State, size: Poly, scale: PairedNumber) -> None:
    """Add size/scale to what this draw has spent, in its unit."""
    size = size * number(2) if draw.number in product.again else size
    whole = scale.one * product.units[draw.number]
    cost = product.runs.divided(PairedNumber(size, size, False), PairedNumber(whole, whole, False), draw.at, state)
    state.spent[draw.number] = state.spent[draw.number] + cost.one


def _pay(product: Product, draw: Draw, state: State, cost: Poly) -> None:
    """Add a cost to what this draw has spent, in its unit."""
    cost = cost * number(2) if draw.number in product.again else cost
    unit = product.units[draw.number]
    paid = product.runs.divided(PairedNumber(cost, cost, False), PairedNumber(unit, unit, False), draw.at, state)
    state.spent[draw.number] = state.spent[draw.number] + paid.one
