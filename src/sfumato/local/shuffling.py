"""What shuffling adds: reports that nobody can tell apart by their sender protect each other.

Comes in: the epsilon of one report, how many reports are shuffled together, a delta. Goes out: an epsilon of the whole
batch, by numbers; and the published closed form beside it.

Guarantee: the shuffled batch is (epsilon, delta)-private for each person, if each sends one report and the collector
shuffles them and forgets who sent what.
Proof: with probability e^-e0 a report looks as if it came from the person in question, half the time with each of
that person's two possible values; so the batch is a post-processing of (A + D, C - A + 1 - D) with C
binomial(n - 1, e^-e0), A binomial(C, 1/2), and D the randomized response of the person's own bit. delta is summed over
C; more clones are simulated by adding some, so delta falls with C, and a block of values of C counts as its smallest.
What is left out at both ends of C is added to delta, and float errors are covered by a margin.
Reference: Feldman, McMillan, Talwar, FOCS 2021 (theorem 3.1 and its numerical bound).
Checked by: local::shuffling_is_within_the_published_bound, local::shuffling_of_few_is_exact
"""

from __future__ import annotations

from itertools import pairwise
from math import exp, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.local.binomials import log_binomial
from sfumato.types import positive, probability, whole

_MARGIN = 1 + 1e-6
_BLOCKS = 64
_REACH = 16.0
"""Standard deviations of C on both sides that are summed one by one."""
_MOST = 10**7
"""Reports that are counted: beyond it float errors would reach the margin. More reports protect no less."""
Floats = NDArray[np.float64]


def bound_shuffled(epsilon: object, n: int, delta: object) -> float:
    """The least epsilon for this delta, by bisection; never above that of one report."""
    local, least = float(positive(epsilon, "epsilon")), float(probability(delta, "delta"))
    n = min(whole(n, "n", 1), _MOST)
    low, high = 0.0, local
    if local > 500 or shuffled_delta(local, n, 0.0) <= least:
        return local if local > 500 else 0.0
    if shuffled_delta(local, n, local) > least:
        return local  # the margin alone is above delta: one report's own epsilon always holds, with delta 0
    while high - low > 1e-6 * max(high, 1e-6):
        middle = (low + high) / 2
        low, high = (low, middle) if shuffled_delta(local, n, middle) <= least else (middle, high)
    return high


def closed_form(epsilon: object, n: int, delta: object) -> float:
    """The published bound, or that of one report where it does not hold."""
    local, least = float(positive(epsilon, "epsilon")), float(probability(delta, "delta"))
    if local > log(n / (16 * log(2 / least))) if n > 16 * log(2 / least) else True:
        return local
    odds = exp(local)
    shrink = 8 * sqrt(odds * log(4 / least)) / sqrt(n) + 8 * odds / n
    return min(local, log1p((odds - 1) / (odds + 1) * shrink))


def shuffled_delta(local: float, n: int, epsilon: float) -> float:
    """The delta of a batch at an epsilon, from above."""
    others, rate = n - 1, exp(-local)
    if others == 0:
        return max(0.0, (exp(local) - exp(epsilon)) / (1 + exp(local))) * _MARGIN
    mean, spread = others * rate, sqrt(others * rate * (1 - rate)) + 1
    first, last = max(0, int(mean - _REACH * spread)), min(others, int(mean + _REACH * spread) + 1)
    counts = np.arange(first, last + 1)
    chances = np.exp(log_binomial(others, counts, rate))
    starts = np.unique(np.linspace(0, len(counts), min(_BLOCKS, len(counts)) + 1).astype(int))
    total = 0.0
    for start, end in pairwise(starts.tolist()):
        total += float(chances[start:end].sum()) * _delta_given(int(counts[start]), local, epsilon)
    return min(1.0, (total + _outside(spread - 1, first > 0, last < others)) * _MARGIN)


def _outside(deviation: float, below: bool, above: bool) -> float:
    """The chance of a count that was not summed, by Bernstein's inequality; delta is at most 1 there."""
    reach = _REACH * (deviation + 1)
    return (below + above) * exp(-(reach**2) / (2 * (deviation**2 + reach / 3)))


def _delta_given(clones: int, local: float, epsilon: float) -> float:
    """The hockey-stick divergence of (A + D, C - A + 1 - D) for one C, over the number of one kind."""
    keep = 1 / (1 + exp(-local))
    reach = int(_REACH * sqrt(clones + 1)) + 2  # beyond it the binomial has less than 1e-30
    kinds = np.arange(max(0, clones // 2 - reach), min(clones, clones // 2 + reach) + 1)
    pmf = np.exp(log_binomial(clones, kinds, 0.5))
    one, other = np.concatenate([[0.0], pmf]), np.concatenate([pmf, [0.0]])
    first, second = keep * one + (1 - keep) * other, (1 - keep) * one + keep * other
    return float(np.maximum(first - exp(epsilon) * second, 0.0).sum()) + 1e-30
