"""Between currencies: zCDP and Renyi divergences on one side, (epsilon, delta) on the other.

Comes in: rho or a Renyi divergence, and one half of (epsilon, delta). Goes out: the other half rounded up, or the
largest safe rho rounded down. Every order alpha > 1 gives a true bound; floats only guess the best one, and the bound
at that very alpha, a fraction, is then enclosed and rounded in the safe direction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from sfumato.accounting.compose import FINE
from sfumato.accounting.events import BoundedRange, Event, GaussianRelease, GaussianSelection, Pure, Selection, Together
from sfumato.errors import InputError
from sfumato.reals import Real, exp, ln, round_down, round_up
from sfumato.types import as_written, positive, probability, show


def _bound_excess(order: Fraction, delta: Fraction) -> Real:
    """ln(1/(alpha delta)) / (alpha - 1) + ln(1 - 1/alpha): what (epsilon, delta) needs above the divergence."""
    return -ln(order * delta) / (order - 1) + ln(1 - 1 / order)


def epsilon_of_renyi(order: object, value: object, delta: object) -> Fraction:
    """The epsilon at `delta` of laws whose Renyi divergence of the given order is at most `value`, either way.

    Guarantee: value + ln(1/(alpha delta)) / (alpha - 1) + ln(1 - 1/alpha), or 0; rounded up to 1e-15.
    Proof: delta is the mean of (1 - e^(epsilon - Z))+ for the log-ratio Z. That function lies below c e^((alpha-1) Z)
        with c = e^(-(alpha-1) epsilon) (1 - 1/alpha)^(alpha-1) / alpha, where they touch; the mean of e^((alpha-1) Z)
        is at most e^((alpha-1) value). Solve for epsilon.
    Reference: Canonne, Kamath, Steinke, NeurIPS 2020, proposition 12.
    Checked by: unit::renyi_conversion_agrees_with_dp_accounting, laws::conversions_cover_the_gaussian
    """
    alpha, divergence = _order(order), _at_least_zero(value, "value")
    return max(Fraction(0), round_up(divergence + _bound_excess(alpha, probability(delta, "delta"))))


def renyi_limit(order: object, epsilon: object, delta: object) -> Fraction:
    """The largest divergence of one order that is within (epsilon, delta).

    Guarantee: `epsilon_of_renyi` of it is at most epsilon, up to its own rounding; rounded down to 1e-15, at least 0.
    Proof: the conversion is the divergence plus a constant of the order and delta.
    Reference: Canonne, Kamath, Steinke, NeurIPS 2020, proposition 12.
    Checked by: laws::renyi_limit_is_the_inverse
    """
    excess = _bound_excess(_order(order), probability(delta, "delta"))
    return max(Fraction(0), round_down(positive(epsilon, "epsilon") - excess))


def epsilon_of_rho(rho: object, delta: object) -> Fraction:
    """The epsilon at `delta` of a rho-zCDP release.

    Guarantee: rho-zCDP is (epsilon, delta)-private for the returned epsilon; within 1e-14 of the best over all orders.
    Proof: zCDP bounds the divergence of every order alpha by alpha rho; convert the one that is best.
    Reference: Canonne, Kamath, Steinke, NeurIPS 2020, corollary 13.
    Checked by: unit::zcdp_conversion_agrees_with_dp_accounting, laws::conversions_cover_the_gaussian
    """
    return _epsilon_of_rho(_at_least_zero(rho, "rho"), probability(delta, "delta"))


@lru_cache(maxsize=1024)
def _epsilon_of_rho(rho: Fraction, delta: Fraction) -> Fraction:
    if rho == 0:
        return Fraction(0)
    slope, log_delta = _guess(rho), float(ln(delta))

    def epsilon_at(a: float) -> float:  # a is alpha - 1
        return slope * (1 + a) - (math.log1p(a) + log_delta) / a + math.log(a / (1 + a))

    order = _best_order(lambda a: (slope, epsilon_at(a)))
    return max(Fraction(0), round_up(order * rho + _bound_excess(order, delta)))


def delta_of_rho(rho: object, epsilon: object) -> Fraction:
    """The delta at `epsilon` of a rho-zCDP release.

    Guarantee: rho-zCDP is (epsilon, delta)-private for the returned delta; rounded up to 1e-40, at most 1.
    Proof: that of epsilon_of_renyi, solved for delta: e^((alpha-1)(alpha rho - epsilon)) (1-1/alpha)^(alpha-1) / alpha.
    Reference: Canonne, Kamath, Steinke, NeurIPS 2020, corollary 13.
    Checked by: laws::delta_and_epsilon_of_rho_agree, laws::conversions_cover_the_gaussian
    """
    r, e = _at_least_zero(rho, "rho"), _at_least_zero(epsilon, "epsilon")
    if r == 0:
        return Fraction(0)
    order = _best_order(lambda _: (_guess(r), _guess(e)))
    exponent = (order - 1) * (order * r - e) - ln(order) + (order - 1) * ln(1 - 1 / order)
    return Fraction(1) if exponent > 0 else round_up(exp(exponent), FINE)


def rho_star(epsilon: object, delta: object) -> Fraction:
    """The largest rho whose conversion is within (epsilon, delta): what a zCDP filter may spend.

    Guarantee: rho_star-zCDP is (epsilon, delta)-private. A multiple of 1e-15, rounded down; a relative 1e-9 more fails.
    Proof: for each order the conversion is at most epsilon exactly when rho is at most (epsilon - excess) / alpha. So
        any order gives a safe rho, and the largest of them over all orders is the answer.
    Reference: Canonne, Kamath, Steinke, NeurIPS 2020, corollary 13.
    Checked by: laws::rho_star_is_safe_and_maximal, unit::rho_star_is_the_number_rounded_down
    """
    return _rho_star(positive(epsilon, "epsilon"), probability(delta, "delta"))


@lru_cache(maxsize=1024)
def _rho_star(epsilon: Fraction, delta: Fraction) -> Fraction:
    height, log_delta = _guess(epsilon), float(ln(delta))

    def rho_at(a: float) -> float:  # a is alpha - 1
        return (height + (math.log1p(a) + log_delta) / a - math.log(a / (1 + a))) / (1 + a)

    order = _best_order(lambda a: (rho_at(a), height))
    return max(Fraction(0), round_down((epsilon - _bound_excess(order, delta)) / order))


def _best_order(line: Callable[[float], tuple[float, float]]) -> Fraction:
    """A guess of the best order; nothing depends on its being right but tightness.

    ln delta = (alpha-1)(alpha rho - epsilon) + (alpha-1) ln(alpha-1) - alpha ln alpha is convex in alpha. Its slope is
    (2 alpha - 1) rho - epsilon + ln(1 - 1/alpha), and along the curve of the unknown half, `line` says (rho, epsilon)
    at alpha - 1, every zero of that slope is a crossing upward: one zero, found by halving on a scale of ln(alpha - 1).
    """
    low, high = -60.0, 90.0
    for _ in range(100):
        middle = (low + high) / 2
        a = math.exp(middle)
        rho, epsilon = line(a)
        if (1 + 2 * a) * rho - epsilon + math.log(a / (1 + a)) < 0:
            low = middle
        else:
            high = middle
    return 1 + Fraction(math.exp((low + high) / 2))


def renyi(event: Event, order: object) -> Fraction | None:
    """The Renyi divergence of one fixed order that an event may cost; each part is rounded up to 1e-15.

    Guarantee: but for the event's delta, neighbours' laws have at most this divergence, either way; None claims
        nothing.
    Proof: pure: the worst pair is randomized response, for it is convex in the log-ratio; alpha epsilon²/2 bounds it
        for small epsilon. Range: alpha epsilon²/8, and never above pure. Gaussian: alpha rho. Parts add.
    Reference: Mironov, CSF 2017; Bun, Steinke, TCC 2016; Cesar, Rogers, ALT 2021.
    Checked by: unit::renyi_agrees_with_dp_accounting, laws::renyi_of_randomized_response
    """
    alpha = _order(order)
    bound: Fraction | None = None
    match event:
        case Pure(epsilon) | Selection(epsilon, _):
            bound = min(_response(epsilon, alpha), round_up(alpha * epsilon**2 / 2))
        case BoundedRange(epsilon):
            bound = min(_response(epsilon, alpha), round_up(alpha * epsilon**2 / 8))
        case GaussianRelease(rho) | GaussianSelection(rho, _):
            bound = round_up(alpha * rho)
        case Together(events):
            parts = [renyi(part, alpha) for part in events]
            known = [part for part in parts if part is not None]
            bound = sum(known, Fraction(0)) if len(known) == len(parts) else None
    return bound


def _response(epsilon: Fraction, order: Fraction) -> Fraction:
    """ln((e^(alpha epsilon) + e^((1-alpha) epsilon)) / (1 + e^epsilon)) / (alpha - 1), with small exponentials only."""
    ratio = (1 + exp((1 - 2 * order) * epsilon)) / (1 + exp(-epsilon))
    return min(epsilon, round_up(epsilon + ln(ratio) / (order - 1)))


def _order(value: object) -> Fraction:
    order = as_written(value, "order")
    if order <= 1:
        raise InputError(f"order must be above 1, but is {show(order)}")
    return order


def _at_least_zero(value: object, what: str) -> Fraction:
    number = as_written(value, what)
    if number < 0:
        raise InputError(f"{what} must be at least 0, but is {show(number)}")
    return number


def _guess(number: Fraction) -> float:
    """A float near enough to choose an order by; beyond 1e15 any will do."""
    return float(min(number, Fraction(10**15)))


def belief(prior: object, epsilon: object) -> Fraction:
    """What somebody who holds a suspicion with probability `prior` can come to hold, to 1e-6 upward.

    Guarantee: after an epsilon-private answer the probability of one of two neighbouring databases, as against the
        other, is at most this. What one person's rows say is two steps of add-remove: see `odds.suspicion`.
    Proof: by Bayes' rule the odds of the statement are multiplied by a ratio of two probabilities of the answer, which
        is at most e^epsilon; p e^epsilon/(1 - p + p e^epsilon) = p/(p + (1 - p) e^-epsilon) grows with epsilon.
    Reference: Dwork, Roth 2014, section 2.3; Kasiviswanathan, Smith, Journal of Privacy and Confidentiality 6, 2014.
    Checked by: unit::a_belief_moves_by_the_ratio, unit::a_belief_is_reached_by_randomized_response
    """
    before, loss = probability(prior, "prior"), _at_least_zero(epsilon, "epsilon")
    if loss == 0:
        return before
    return min(Fraction(1), round_up(before / (before + (1 - before) * exp(-loss)), Fraction(1, 10**6)))
