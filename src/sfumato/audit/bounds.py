"""Exact confidence bounds for a probability from counts, and what they say about epsilon and delta.

Comes in: how often an event happened in how many runs. Goes out: a bound that holds with the stated confidence for
every true probability (Clopper and Pearson 1934), rounded to the safe side. No statistics library is needed.
"""

from __future__ import annotations

import math

import numpy as np

_SLACK = 4e-15
"""Relative error that is allowed for in each logarithm of a factorial; the C library's own is some units of 1e-16."""


def bound_tail(successes: int, trials: int, log_p: float, log_q: float) -> float:
    """At least P(X >= successes) for X binomial with ln p and ln (1 - p) given, where successes is at or above np.

    The terms fall from the first one on by factors that themselves fall: what is left after the last term that is
    added up is less than a geometric series.
    """
    k, n = successes, trials
    if k <= 0:
        return 1.0
    logs = (math.lgamma(n + 1), math.lgamma(k + 1), math.lgamma(n - k + 1))
    error = _SLACK * (sum(logs) + k * abs(log_p) + (n - k) * abs(log_q) + 10)
    first = logs[0] - logs[1] - logs[2] + k * log_p + ((n - k) * log_q if n > k else 0.0)
    odds = math.exp(log_p - log_q) if n > k else 0.0
    count = min(n - k, 200 + 12 * math.isqrt(n))
    j = np.arange(k, k + count, dtype=float)
    ratios = (n - j) / (j + 1) * odds
    total = 1.0 + float(np.cumprod(ratios).sum()) if count else 1.0
    if count and n - k > count:
        last, ratio = float(np.prod(ratios)), float(ratios[-1])
        if ratio >= 1:
            return 1.0
        total += last * ratio / (1 - ratio)
    whole = first + error + math.log(total) + 1e-9  # 1e-9: the products of at most a million factors
    return 1.0 if whole >= 0 else math.exp(whole)


def bound_below(successes: int, trials: int, miss: float) -> float:
    """A number that is above the true probability with probability at most `miss`.

    Guarantee: whatever the probability p, the result is at most p with probability at least 1 - miss.
    Proof: the result is a p' with P(X >= successes | p') <= miss by an upper bound of that tail, or 0. The tail grows
        with p; if the true p were below p', counts as large as this one would have probability at most miss.
    Reference: Clopper and Pearson, Biometrika 26, 1934.
    Checked by: attacks::bounds_are_outside_of_the_exact_ones, attacks::bounds_cover
    """
    if successes == 0:
        return 0.0
    low, high = 0.0, successes / trials
    for _ in range(60):
        p = (low + high) / 2
        if p == 0 or bound_tail(successes, trials, math.log(p), math.log1p(-p)) <= miss:
            low = p
        else:
            high = p
    return low


def bound_above(successes: int, trials: int, miss: float) -> float:
    """A number that is below the true probability with probability at most `miss`: the mirror of `bound_below`.

    Guarantee: whatever the probability p, the result is at least p with probability at least 1 - miss.
    Proof: failures are successes of probability 1 - p; the tail P(X <= successes | p) falls with p.
    Reference: Clopper and Pearson, Biometrika 26, 1934.
    Checked by: attacks::bounds_are_outside_of_the_exact_ones, attacks::bounds_cover
    """
    if successes == trials:
        return 1.0
    low, high = successes / trials, 1.0
    for _ in range(60):
        p = (low + high) / 2
        tail = 0.0 if p == 1 else bound_tail(trials - successes, trials, math.log1p(-p), math.log(p))
        if tail <= miss:
            high = p
        else:
            low = p
    return high


def epsilon_from(often: float, seldom: float, delta: float) -> float:
    """The least epsilon for which P <= e^epsilon Q + delta can hold if P >= often and Q <= seldom; never below 0."""
    if often <= delta or seldom <= 0:
        return 0.0
    return max(0.0, (math.log(often - delta) - math.log(seldom)) - 1e-12)


def delta_from(often: float, seldom: float, epsilon: float) -> float:
    """The least delta for which P <= e^epsilon Q + delta can hold if P >= often and Q <= seldom; never below 0."""
    return max(0.0, often - math.exp(min(epsilon, 700.0)) * seldom * (1 + 1e-12) - 1e-15)


def guessing_p_value(guesses: int, right: int, epsilon: float, *, delta: float = 0.0, planted: int = 0) -> float:
    """At least the probability of so many right guesses if everything that was released is (epsilon, delta)-private.

    Guarantee: if one run of an (epsilon, delta)-private system, add-remove, was given each of `planted` persons or not
        by a fair coin of its own, and for `guesses` of them a coin is guessed from what was released, then `right`
        or more guesses are right with at most this probability.
    Proof: given all earlier coins and the release, the odds of the next coin are at most e^epsilon, but for delta; so
        the number of right guesses is below a binomial of probability e^epsilon/(1 + e^epsilon) in stochastic order.
        The term with delta is that of theorem 5.2: failures of total probability 2 m delta may each lift the number by
        some i, and the worst such lift is the largest mean of i masses below `right`.
    Reference: Steinke, Nasr, Jagielski, Privacy Auditing with One (1) Training Run, NeurIPS 2023, theorem 5.2.
    Checked by: attacks::the_canary_audit_is_the_binomial, attacks::the_gateway_survives_its_canaries,
        attacks::half_of_the_noise_is_found_by_canaries
    """
    if right <= 0:
        return 1.0
    log_p, log_q = -math.log1p(math.exp(-epsilon)), -epsilon - math.log1p(math.exp(-epsilon))
    if right < guesses * math.exp(log_p):
        return 1.0
    beta = bound_tail(right, guesses, log_p, log_q)
    if delta == 0:
        return min(1.0, beta)
    worst = mass = 0.0
    for i in range(1, right + 1):
        j = right - i
        binomial = math.lgamma(guesses + 1) - math.lgamma(j + 1) - math.lgamma(guesses - j + 1)
        mass += math.exp(binomial + j * log_p + (guesses - j) * log_q)
        worst = max(worst, mass / i)
    return min(1.0, beta + worst * (1 + 1e-9) * 2 * planted * delta)


def epsilon_from_guesses(guesses: int, right: int, miss: float, *, delta: float = 0.0, planted: int = 0) -> float:
    """The largest epsilon that so many right guesses refute, error `miss`; 0 if none."""
    low, high = 0.0, 50.0
    if guessing_p_value(guesses, right, low, delta=delta, planted=planted) > miss:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        if guessing_p_value(guesses, right, middle, delta=delta, planted=planted) <= miss:
            low = middle
        else:
            high = middle
    return low
