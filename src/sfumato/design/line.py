"""Inputs on a line: there the best-remapped geometric mechanism is usually the best of all, and so is tried first.

Comes in: what guesses are worth, and the distances. Goes out: the columns of that mechanism and prices of rows; or
nothing, where inputs do not lie on a line or the two do not agree. It is a theorem for gains that fall with the
distance (Ghosh, Roughgarden, Sundararajan 2009), which is not relied on: prices that agree with columns prove that both
are best, and what does not agree goes the long way.

With decay a_i = e^(-d(i, i+1)), the mechanism that has all constraints tight is v_z e^(-d(x, z)), and each output is
remapped to the guess of the largest worth. The best prices leave every remapped output without loss: y solves
sum over x of e^(-d(x, z)) y_x = the worth of z's guess, for all z. What a guess has less than y at the far ends is
passed on, inwards, by rows between neighbours, until it meets what it has more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.design.program import chain

Floats = NDArray[np.float64]
Paid = list[tuple[int, int, float]]
"""(here, there, price) of rows."""
AGREE = 1e-12
"""How near columns and prices must be, as a part of what is at stake."""


def on_a_line(worth: Floats, distance: Floats) -> tuple[Floats, list[Paid]] | None:
    """A column and the priced rows for each guess, if they prove each other to be the best."""
    order = _walk(chain(distance))
    if order is None:
        return None
    worth, apart = worth[:, order], distance[np.ix_(order, order)]
    step = np.diagonal(apart, 1)
    decay, flat = np.exp(-step), np.tanh(step / 2)
    kernel = np.exp(-apart)
    values = worth @ kernel
    guess, best = values.argmax(axis=0), values.max(axis=0)
    weights = (np.pad(flat, (1, 0), constant_values=1.0) + np.pad(flat, (0, 1), constant_values=1.0)) / 2
    columns = np.zeros_like(worth)
    np.add.at(columns, guess, (weights * kernel).T)
    share = decay / -np.expm1(-2 * step)
    y = best.copy()
    y[:-1] += share * (decay * best[:-1] - best[1:])
    y[1:] += share * (decay * best[1:] - best[:-1])
    right, left, turn = _passed_on(y - worth, decay)
    over = np.empty_like(worth)
    paid: list[Paid] = []
    for w, at in enumerate(turn.tolist()):
        up = np.where(np.arange(len(y)) < at, right[w], 0.0)
        down = np.where(np.arange(len(y)) > at, left[w], 0.0)
        over[w] = worth[w] + up + down
        over[w, 1:] -= decay * up[:-1]
        over[w, :-1] -= decay * down[1:]
        rows = [(x, x + 1, p) for x, p in enumerate(up.tolist()) if p > 0]
        rows += [(x, x - 1, p) for x, p in enumerate(down.tolist()) if p > 0]
        paid.append([(int(order[x]), int(order[z]), p) for x, z, p in rows])
    gap = float(over.max(axis=0).sum() - (columns * worth).sum())
    if not gap <= AGREE * float(np.ptp(worth, axis=0).sum()):
        return None
    return columns[:, np.argsort(order)], paid


def _passed_on(room: Floats, decay: Floats) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """What each guess passes on to the right and to the left at each input, and where the two meet with least missing.

    room: what prices may still add at an input before y is exceeded.
    """
    right, left = np.maximum(room, 0.0), np.maximum(room, 0.0)
    lack_right, lack_left = np.maximum(-room, 0.0), np.maximum(-room, 0.0)
    size = room.shape[1]
    for x in range(1, size):
        have = room[:, x] + decay[x - 1] * right[:, x - 1]
        right[:, x], lack_right[:, x] = np.maximum(have, 0.0), np.maximum(-have, 0.0)
        back = size - 1 - x
        have = room[:, back] + decay[back] * left[:, back + 1]
        left[:, back], lack_left[:, back] = np.maximum(have, 0.0), np.maximum(-have, 0.0)
    before = np.cumsum(lack_right, axis=1) - lack_right
    after = np.cumsum(lack_left[:, ::-1], axis=1)[:, ::-1] - lack_left
    here = room.copy()
    here[:, 1:] += decay * right[:, :-1]
    here[:, :-1] += decay * left[:, 1:]
    missing = before + after + np.maximum(-here, 0.0)
    return right, left, np.asarray(missing.argmin(axis=1))


def _walk(near: NDArray[np.bool_]) -> NDArray[np.intp] | None:
    """The inputs from one end of the line to the other; None if they lie on none."""
    degree = near.sum(axis=1)
    if near.sum() != 2 * (len(near) - 1) or degree.max(initial=0) > 2 or len(near) < 2:
        return None
    walk = [int(np.flatnonzero(degree == 1)[0])] if (degree == 1).any() else []
    while walk and len(walk) < len(near):
        ahead = [int(x) for x in np.flatnonzero(near[walk[-1]]) if x not in walk[-2:]]
        if not ahead:
            return None
        walk.append(ahead[0])
    return np.array(walk, dtype=np.intp) if walk else None
