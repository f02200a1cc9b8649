"""What counts of an event on both sides promise: roughly the bound that certification would give.

Comes in: how often each side showed the event. Goes out: a number to choose by. Nothing is certified with it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Worth = Callable[[NDArray[np.float64], int, NDArray[np.float64], int], NDArray[np.float64]]
"""From counts of the first side, its runs, counts of the second, its runs."""


def estimate(
    often: NDArray[np.float64], n: int, seldom: NDArray[np.float64], m: int, *, delta: float, sure: float
) -> NDArray[np.float64]:
    """Roughly the bound that counts like these would give (Wilson's interval): for choosing only."""
    p = _wilson(often, n, -sure)
    q = _wilson(seldom, m, sure)
    return np.asarray(np.where(p > delta, np.log(np.maximum(p - delta, 1e-300)) - np.log(np.maximum(q, 1e-12)), -1e9))


def _wilson(count: NDArray[np.float64], n: int, z: float) -> NDArray[np.float64]:
    p = count / n
    spread = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return np.asarray((p + z * z / (2 * n) + spread) / (1 + z * z / n))
