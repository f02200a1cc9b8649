"""The linear program of the best mechanism, in floats: what is searched. What is promised is checked elsewhere.

Comes in: worth[z][x], what output z is worth when x is the truth (prior times gain), and the distances epsilon d. Goes
out: a Program, whose rows are the pairs of inputs that must be compared; all other pairs follow from them.

For one output z the unknowns k are a column of the mechanism. A row for inputs x and x' says k_x - e^(-d) k_x' >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.design.symmetry import Group, symmetries

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

FARTHEST = 69.0
"""e^-69 is below 1e-30: a pair so far apart asks for less than the repair gives to every entry."""


@dataclass(frozen=True, eq=False)
class PrivacyRows:
    """Ordered pairs (here, there), sorted by here: k_here - decay k_there >= 0.

    Each input is also a pair with itself, of decay 0: a probability is at least 0. `short` is 1 - decay, computed
    without the cancellation that a decay near 1 would bring.
    """

    here: Places
    there: Places
    decay: Floats
    short: Floats
    by_here: Places
    by_there: Places
    order: Places

    def slack(self, k: Floats) -> Floats:
        """What each row has to spare: columns of k in, one number for each column and row out."""
        far = k.take(self.there, axis=1)
        out: Floats = k.take(self.here, axis=1)
        out -= far
        far *= self.short
        out += far
        return out

    def some(self, chosen: NDArray[np.bool_]) -> PrivacyRows:
        """The chosen rows; each input must keep the pair with itself."""
        return _rows(self.here[chosen], self.there[chosen], self.decay[chosen], self.short[chosen])

    def near(self, count: int) -> NDArray[np.bool_]:
        """Which rows compare an input with itself or with one of the `count` inputs nearest to either of the two."""
        rank = np.empty(len(self.here), dtype=np.intp)
        order = np.lexsort((-self.decay, self.here))
        rank[order] = np.arange(len(order)) - self.by_here.take(self.here[order])
        close = np.zeros((len(self.by_here),) * 2, dtype=bool)
        close[self.here, self.there] = (rank < count) | (self.here == self.there)
        close |= close.T
        return np.asarray(close[self.here, self.there])

    def prices(self, price: Floats) -> Floats:
        """The transpose: what prices of rows add to each unknown."""
        out: Floats = np.add.reduceat(price, self.by_here, axis=1)
        out -= np.add.reduceat((price * self.decay).take(self.order, axis=1), self.by_there, axis=1)
        return out


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """Maximise the sum of worth * k over columns, which add up to 1 for every input, each column obeying the rows.

    With a group of symmetries only one output of each orbit has a column; `count` is the size of its orbit. `first` are
    columns to start from.
    """

    worth: Floats
    rows: PrivacyRows
    group: Group
    count: Floats
    first: Floats

    def everywhere(self, columns: Floats) -> Floats:
        """The sum of one vector for each output, over all outputs: those without a column are images."""
        mean = (self.count / len(self.group.inputs)) @ columns
        total: Floats = mean[self.group.back].sum(axis=0)
        return total

    def settled(self, columns: Floats) -> Floats:
        """Columns that symmetries which keep their output leave as they are: the mean of their images under these."""
        total, images = np.zeros_like(columns), np.zeros(len(columns))
        for there, back in zip(self.group.outputs, self.group.back, strict=True):
            same = there[self.group.chosen] == self.group.chosen
            total[same] += columns[same][:, back]
            images[same] += 1
        return np.asarray(total / images[:, None])

    def whole(self, columns: NDArray[np.float64]) -> Floats:
        """A column for every output, from one for each orbit."""
        full = np.empty((self.group.outputs.shape[1], columns.shape[1]), dtype=columns.dtype)
        for there, back in zip(self.group.outputs, self.group.back, strict=True):
            full[there[self.group.chosen]] = columns[:, back]
        return full


def chain(distance: Floats) -> NDArray[np.bool_]:
    """Which pairs must be compared: those with no third input on the way, at distances that add up.

    The others follow from these. A mistake by rounding costs nothing but a little utility: the mechanism is repaired
    and checked for all pairs, and a bound from fewer rows is a bound.
    """
    needed = distance <= FARTHEST
    for y in range(len(distance)):
        via = distance[:, y, None] + distance[None, y, :] <= distance * (1 + 1e-12)
        via[y, :] = via[:, y] = False
        needed &= ~via
    np.fill_diagonal(needed, val=False)
    return needed


def rows_of(distance: Floats) -> PrivacyRows:
    """The rows for a table of distances, epsilon d; infinity where nothing is asked."""
    needed = chain(distance)
    np.fill_diagonal(needed, val=True)
    here, there = np.nonzero(needed)
    own = here == there
    apart = np.where(own, np.inf, distance[here, there])
    return _rows(here, there, np.exp(-apart), -np.expm1(-apart))


def _rows(here: Places, there: Places, decay: Floats, short: Floats) -> PrivacyRows:
    order = np.argsort(there, kind="stable")
    first, other = (np.flatnonzero(np.diff(side, prepend=-1)) for side in (here, there[order]))
    return PrivacyRows(here, there, decay, short, first, other, order)


def program_of(worth: Floats, distance: Floats) -> LinearProgram:
    """The program with its symmetries. worth: a row for each output, no two rows equal."""
    group = symmetries(worth, distance)
    chosen = group.chosen
    orbit = np.sort(group.outputs, axis=0)[0]
    count = np.bincount(orbit, minlength=len(worth))[chosen].astype(np.float64)
    return LinearProgram(worth[chosen], rows_of(distance), group, count, first_columns(worth, distance)[chosen])


def first_columns(worth: Floats, distance: Floats) -> Floats:
    """Columns that obey every row with something to spare: the exponential mechanism around the input that each output
    suits best, and a tenth of the uniform one.

    Both e^(-d/2) and its sum over outputs change by at most e^(d/2) between inputs, so their quotient by at most e^d.
    """
    regret, span = worth.max(axis=0) - worth, np.ptp(worth, axis=0)
    home = np.where(span > 0, regret / np.where(span > 0, span, 1), np.inf).argmin(axis=1)
    around = np.exp(-0.5 * distance[home])
    around /= np.maximum(around.sum(axis=0), 1e-300)
    return np.asarray(0.9 * around + 0.1 / len(worth))
