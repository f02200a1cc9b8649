"""A list by its profile: how far its first number stands, and how small the least or how large the largest is.

Comes in: training outputs of two neighbours. Goes out: a score. A mechanism that tests many numbers and shows few gives
itself away by both together: that so many were passed over before a number so small was shown. Single places do not see
that, and cells of all places are too many. A number that comes again and again is no measurement but a sign, such as
the 0 for "no".

The events are half planes beyond a place: at or after a place, and on one side of a line. Three numbers are fitted, so
that a few dozen runs of a rare event suffice to choose them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.outputs import NUMBER, OutputTable, together
from sfumato.audit.worth import Worth

Floats = NDArray[np.float64]
_SLOPES = (0.0, 0.5, 0.75, 1.0, 2.0)
"""In units of how widely numbers and places are spread."""
_PLACES = (0.0, 0.3, 0.6, 0.8, 0.95)
"""Quantiles of the first number's place from which an event may begin."""
_SIGN = 0.02
"""A number that is this part of all numbers is a sign."""
_FITTED = 12_000
"""Runs of each side that are fitted to."""
_CUTS = 60
"""Heights of a line that are tried."""
_FEWEST = 5
"""Runs on both sides together that an event has at least."""
_OUTSIDE = -1e300
"""The height of what is not in the half plane."""
_UNSHARED = 250_000
"""Products of a block: below this a matrix product stays in one thread."""


def profile_score(one: OutputTable, other: OutputTable, worth: Worth) -> Callable[[OutputTable], Floats] | None:
    """The larger, the likelier for the first neighbour, at one of its two ends; None where there are no numbers but
    signs. `worth` says what counts of both sides are worth.
    """
    one, other = one.rows(0, _FITTED), other.rows(0, _FITTED)
    both = together([one, other])
    signs, places = _signs(both), both.numbers.shape[1]
    at, ends = _profile(both, signs)
    there = np.isfinite(ends[0])
    if not there.any():
        return None
    sizes = len(one), len(other)
    shown = np.flatnonzero(there)
    at, first = at[shown], shown < len(one)
    starts = np.unique(np.quantile(at, _PLACES))
    best: tuple[float, int, float, float, bool] | None = None
    for which, end in enumerate(ends):
        unit = _spread(end[shown]) / max(_spread(at), 1.0)
        for slope in (part * unit for part in _SLOPES):
            order = np.argsort(end[shown] - slope * at, kind="stable")
            for start in starts:
                counts = _counts(first[order[at[order] >= start]])
                for often, seldom in ((0, 1), (1, 0)) if len(counts[0]) else ():
                    promise = float(worth(counts[often], sizes[often], counts[seldom], sizes[seldom]).max())
                    if best is None or promise > best[0]:
                        best = promise, which, slope, float(start), often == 0
    if best is None:
        return None
    _, which, slope, start, forward = best

    def score(o: OutputTable) -> Floats:
        at, ends = _profile(o.wide(places), signs)
        inside = np.isfinite(ends[which]) & (at >= start)
        height = np.where(inside, slope * at - np.where(inside, ends[which], 0.0), _OUTSIDE)
        return height if forward else -height

    return score


def _counts(first: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """How many runs of each side lie below so many heights of a line, low to high."""
    cuts = np.unique(np.geomspace(_FEWEST, max(len(first), _FEWEST), _CUTS).astype(int)) - 1
    cuts = cuts[cuts < len(first)]
    ones = np.cumsum(first, dtype=float)[cuts]
    return ones, cuts + 1 - ones


def _spread(values: Floats) -> float:
    low, high = np.quantile(values, (0.1, 0.9))
    return float(high - low)


def _signs(outputs: OutputTable) -> Floats:
    numbers = outputs.numbers[outputs.symbols == NUMBER]
    values, counts = np.unique(numbers, return_counts=True)
    return np.asarray(values[counts > _SIGN * max(1, numbers.size)])


def _profile(outputs: OutputTable, signs: Floats) -> tuple[Floats, tuple[Floats, Floats]]:
    """Where the first number stands; the least of all and the opposite of the largest, infinite where there is none."""
    numbers, there = outputs.numbers, outputs.symbols == NUMBER
    for sign in signs:
        there = there & (numbers != sign)
    at = np.where(there.any(axis=1), there.argmax(axis=1), numbers.shape[1]).astype(float)
    least = np.where(there, numbers, np.inf).min(axis=1)
    most = np.where(there, -numbers, np.inf).min(axis=1)
    return at, (least, most)


def logistic(x: Floats, label: Floats) -> Floats:
    """A few steps of Newton with a ridge: a direction is needed, not an optimum.

    In blocks so small that no library shares them out to threads: where cores are busy, waiting for those takes longer.
    """
    wide = x.shape[1]
    weights, block = np.zeros(wide), max(8, _UNSHARED // wide**2)
    for _ in range(6):
        gradient, hessian = -weights, np.eye(wide)
        for at in range(0, len(x), block):
            rows = x[at : at + block]
            p = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
            gradient = gradient + (label[at : at + block] - p) @ rows
            hessian += (rows * (p * (1 - p) + 1e-6)[:, None]).T @ rows
        weights = weights + np.linalg.solve(hessian, gradient)
    return weights
