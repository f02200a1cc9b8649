"""A list by its profile: where its first number stands, how many there are, how small the least and how large the most.

Comes in: training outputs of two neighbours. Goes out: a View. A mechanism that tests many numbers and shows few gives
itself away by the three together: that so many were passed over before a number so small was shown. Single places do
not see that, and cells of all places are too many. A number that comes again and again is no measurement but a sign,
such as the 0 for "no".

The score is additive in where, how many, least and largest, and in products of where with how far the least and the
largest lie below a few marks: a logistic regression, so that one direction is fitted and not a table of cells.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.outputs import NUMBER, Outputs, together

Floats = NDArray[np.float64]
_FITTED = 25_000
"""Runs of each side that the score is fitted to."""
_MARKS = (0.01, 0.03, 0.1, 0.25, 0.5, 0.75)
_SIGN = 0.02
"""A number that is this part of all numbers is a sign."""
_COUNTS = 6
_UNSHARED = 250_000
"""Products of a block: below this a matrix product stays in one thread."""


def profile_score(one: Outputs, other: Outputs) -> Callable[[Outputs], Floats] | None:
    """The larger, the likelier for the first neighbour; None where there are no numbers but signs."""
    one, other = one.rows(0, _FITTED), other.rows(0, _FITTED)
    both = together([one, other])
    signs = _signs(both)
    _, many, least, most = _profile(both, signs)
    if not (many > 0).any():
        return None
    places = both.numbers.shape[1]
    counts = np.unique(many)[1 : _COUNTS + 1]
    marks = [np.unique(np.quantile(ends[many > 0], _MARKS)) for ends in (least, most)]

    def features(o: Outputs) -> list[Floats]:
        where, many, least, most = _profile(o.wide(places), signs)
        at = where / places
        below = [(many > 0).astype(float)]
        for ends, cuts in ((least, marks[0]), (most, marks[1])):
            wide = max(float(cuts[-1] - cuts[0]), 1e-12)
            shown = np.where(many > 0, ends, cuts[-1])
            below += [np.maximum(cut - shown, 0) / wide for cut in cuts[1:]]
        columns = [np.ones(len(o)), at, at * at, *((many == count).astype(float) for count in counts)]
        columns += [part * by for by in (1.0, at, at * at) for part in below]
        return columns

    label = np.concatenate([np.ones(len(one)), np.zeros(len(other))])
    weights = logistic(np.ascontiguousarray(np.array(features(both)).T), label).tolist()
    return lambda o: np.asarray(sum(weight * column for weight, column in zip(weights, features(o), strict=True)))


def _signs(outputs: Outputs) -> Floats:
    numbers = outputs.numbers[outputs.symbols == NUMBER]
    values, counts = np.unique(numbers, return_counts=True)
    return np.asarray(values[counts > _SIGN * max(1, numbers.size)])


def _profile(outputs: Outputs, signs: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Where the first number stands, how many there are, the least and the largest."""
    numbers, there = outputs.numbers, outputs.symbols == NUMBER
    for sign in signs:
        there = there & (numbers != sign)
    many = there.sum(axis=1)
    where = np.where(many > 0, there.argmax(axis=1), numbers.shape[1])
    least = np.where(there, numbers, np.inf).min(axis=1)
    most = np.where(there, numbers, -np.inf).max(axis=1)
    return where.astype(float), many.astype(float), least, most


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
