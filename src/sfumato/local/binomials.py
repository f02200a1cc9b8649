"""Binomial probabilities in floats, for many counts at once: what shuffling and tests of texts are computed from."""

from __future__ import annotations

from math import log, log1p

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_FACTORIALS: dict[str, Floats] = {"log": np.zeros(1)}


def _log_factorials(most: int) -> Floats:
    """ln 0!, ln 1!, ..., summed with 64 bits of mantissa or more where the machine has them."""
    known = _FACTORIALS["log"]
    if len(known) <= most:
        size = max(most + 1, 2 * len(known))
        numbers = np.arange(1, size, dtype=np.float64)
        known = np.concatenate([[0.0], np.cumsum(np.log(numbers), dtype=np.longdouble).astype(np.float64)])
        _FACTORIALS["log"] = known
    return known


def log_binomial(n: int, k: NDArray[np.int64], p: float) -> Floats:
    """The logarithm of the binomial probabilities."""
    if p >= 1:
        return np.where(k == n, 0.0, -np.inf)
    logs = _log_factorials(n)
    result: Floats = logs[n] - logs[k] - logs[n - k] + k * log(p) + (n - k) * log1p(-p)
    return result


def binomial_tails(counts: NDArray[np.int64], n: int, p: float) -> Floats:
    """The probability of at least so many successes among n, for each count; summed from the small end."""
    chances = np.exp(log_binomial(n, np.arange(n + 1), p))
    tails = np.minimum(np.cumsum(chances[::-1])[::-1], 1.0)
    result: Floats = tails[counts]
    return result
