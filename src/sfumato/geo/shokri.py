"""The mechanism that maximises the adversary's expected error at a given loss, for a known prior (Shokri and others).

It is the solution of a linear program. Where loss and error are the same distance, its value is the smaller of the loss
and of the error without any report, and a great many mechanisms attain it: the solver's choice among them decides what
an adversary with another prior can do. Two choices are made here, a vertex and an interior point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ClaimError, InputError
from sfumato.geo.grid_channels import GridCells

Floats = NDArray[np.float64]
VERTEX, INTERIOR = "highs-ds", "highs-ipm"


@dataclass(frozen=True, eq=False)
class _Orbits:
    """Pairs of cells that symmetries of the square map to each other: one unknown for each."""

    pair: NDArray[np.intp]
    report: NDArray[np.intp]

    @property
    def pairs(self) -> int:
        return int(self.pair.max()) + 1


def _orbits(cells: GridCells, prior: Floats) -> _Orbits:
    """Under those symmetries of the grid that keep the prior."""
    table = np.arange(cells.count).reshape(cells.height, cells.width)
    images = [table, table[::-1], table[:, ::-1], table[::-1, ::-1]]
    if cells.width == cells.height:
        images += [image.T for image in images]
    moves = [image.ravel() for image in images if np.allclose(prior[image.ravel()], prior, rtol=0, atol=1e-15)]
    index = np.arange(cells.count**2).reshape(cells.count, cells.count)
    pair = np.minimum.reduce([index[np.ix_(move, move)] for move in moves])
    report = np.minimum.reduce(moves)
    return _Orbits(
        np.unique(pair, return_inverse=True)[1].reshape(index.shape), np.unique(report, return_inverse=True)[1]
    )


def optimal_for_prior(cells: GridCells, prior: Floats, loss: float, method: str = VERTEX) -> Floats:
    """The mechanism: maximise the sum over reports z of min over guesses g of sum_x prior_x K_xz d(x, g)."""
    try:
        from scipy.optimize import linprog
        from scipy.sparse import csr_matrix
    except ImportError:
        raise InputError("this comparison needs SciPy", hint="Install sfumato[geo].") from None
    n, distance = cells.count, cells.distance
    orbits = _orbits(cells, prior)
    pairs, reports = orbits.pairs, int(orbits.report.max()) + 1
    first = np.array([int(np.flatnonzero(orbits.report == r)[0]) for r in range(reports)])
    true = np.flatnonzero(prior > 0)
    size = np.bincount(orbits.report)
    # one row for each report orbit and guess: error_z - sum_x prior_x d(x, g) K_xz <= 0
    r, g, x = (a.ravel() for a in np.meshgrid(np.arange(reports), np.arange(n), true, indexing="ij"))
    rows = np.concatenate([r * n + g, np.arange(reports * n)])
    columns = np.concatenate([orbits.pair[x, first[r]], pairs + np.repeat(np.arange(reports), n)])
    values = np.concatenate([-prior[x] * distance[x, g], np.ones(reports * n)])
    cost = np.bincount(orbits.pair[true].ravel(), (prior[true, None] * distance[true]).ravel(), minlength=pairs)
    least = csr_matrix((values, (rows, columns)), shape=(reports * n + 1, pairs + reports)).tolil()
    least[-1, :pairs] = cost
    sums = csr_matrix(
        (np.ones(true.size * n), (np.repeat(np.arange(true.size), n), orbits.pair[true].ravel())),
        shape=(true.size, pairs + reports),
    )
    keep = np.unique(orbits.pair[true].min(axis=1), return_index=True)[1]
    goal = np.concatenate([np.zeros(pairs), -size.astype(np.float64)])
    bound = np.concatenate([np.zeros(reports * n), [loss]])
    options = {"presolve": True}
    answer = linprog(
        goal, least.tocsr(), bound, sums[keep], np.ones(keep.size), bounds=(0, None), method=method, options=options
    )
    if answer.status != 0:
        raise ClaimError("the linear program was not solved", detail=str(answer.message))
    table = np.maximum(answer.x[:pairs][orbits.pair], 0)
    table[prior <= 0] = 0
    table[prior <= 0, np.flatnonzero(prior <= 0)] = 1  # where nobody is expected: tell the truth
    return np.asarray(table / table.sum(axis=1, keepdims=True))
