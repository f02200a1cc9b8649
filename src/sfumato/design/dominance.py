"""Guesses that need not be made: another one is worth at least as much after every private answer.

Comes in: what guesses are worth, and the distances. Goes out: for each guess the one that takes its place, and prices
that prove it. A column k of a private mechanism obeys k_y >= e^(-d) k_x. So a guess w that is worth more than z at some
inputs y, and less at others x, still beats z if what it has more at the y covers, weighed down by e^(-d), what it has
less at the x. For the identity gain this finds all guesses that nobody makes: those with a prior below e^(-d) times
another's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Cover = list[tuple[int, int, float]]
"""(y, x, amount): so much of what w has more at y covers what it has less at x."""
TRIES = 12
"""How many guesses are tried in the place of one: first those that are least behind anywhere."""


@dataclass(frozen=True, eq=False)
class Places:
    """For each guess the one that is kept in its place, itself or another, and the covers on the way there."""

    kept: NDArray[np.intp]
    covers: list[Cover]


def replace(worth: Floats, distance: Floats) -> Places:
    """Which guesses to keep."""
    count = len(worth)
    decay = np.exp(-distance)
    parent, own = list(range(count)), [Cover() for _ in range(count)]
    alive = np.ones(count, dtype=bool)
    for z in np.argsort(worth.max(axis=1), kind="stable").tolist():
        more = worth - worth[z]
        less = np.maximum(-more, 0.0)
        able = alive & (np.maximum(more, 0.0) @ decay >= less).all(axis=1)
        able[z] = False
        able = np.flatnonzero(able)
        for w in able[np.argsort(less[able].sum(axis=1), kind="stable")][:TRIES].tolist():
            found = _cover(more[w], decay)
            if found is not None:
                parent[z], own[z], alive[z] = w, found, False
                break
    kept, covers = np.arange(count), []
    for z in range(count):
        way: Cover = []
        while parent[kept[z]] != kept[z]:
            way += own[kept[z]]
            kept[z] = parent[kept[z]]
        covers.append(way)
    return Places(kept, covers)


def _cover(more: Floats, decay: Floats) -> Cover | None:
    """How what is more covers what is less, the nearest first; None if this way does not."""
    less = np.flatnonzero(more < 0)
    left = np.maximum(more, 0.0)
    cover: Cover = []
    for x in less[np.argsort(more[less])].tolist():
        open_ = -float(more[x])
        for y in np.argsort(-decay[:, x], kind="stable").tolist():
            if open_ <= 0 or decay[y, x] == 0:
                break
            if left[y] > 0:
                needed = open_ / float(decay[y, x])
                amount = min(float(left[y]), needed)
                cover.append((y, x, amount))
                left[y] -= amount
                open_ = 0.0 if amount == needed else open_ - amount * float(decay[y, x])
        if open_ > 0:
            return None
    return cover
