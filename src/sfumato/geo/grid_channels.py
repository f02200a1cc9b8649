"""Location mechanisms on the cells of a small grid, as matrices: planar noise, cloaking, and what an adversary learns.

Rows are true cells, columns are reports; cells are numbered row by row. Distances are in cells. Matrices are floats for
the comparison; `certified` turns one into fractions and finds an epsilon that provably holds for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, inf, log

import numpy as np
from numpy.typing import NDArray

from sfumato.design.certificate import check
from sfumato.design.level import Level
from sfumato.design.metrics import distances, grid
from sfumato.errors import ClaimError, InputError
from sfumato.types import whole

Floats = NDArray[np.float64]
_WIDE = 64
_TAIL = 45.0
_WINDOW = 3000
MOST = 400


@dataclass(frozen=True)
class GridCells:
    """A grid of width times height cells."""

    width: int
    height: int

    def __post_init__(self) -> None:
        whole(self.width, "width", 1)
        whole(self.height, "height", 1)
        if not 2 <= self.count <= MOST:
            raise InputError(f"a grid has between 2 and {MOST} cells, but this one has {self.count}")

    @classmethod
    def parse(cls, text: str) -> GridCells:
        """Parse a grid such as 9x9."""
        parts = text.lower().replace("×", "x").split("x")
        if len(parts) != 2 or not all(part.strip().isdigit() for part in parts):
            raise InputError(f'"{text}" is not a grid', hint="Write columns times rows, for example 9x9.")
        return cls(int(parts[0]), int(parts[1]))

    @property
    def count(self) -> int:
        """How many cells there are."""
        return self.width * self.height

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Column and row of each cell."""
        return np.stack([np.arange(self.count) % self.width, np.arange(self.count) // self.width], axis=1)

    @cached_property
    def distance(self) -> Floats:
        """Distances between cells, in cells."""
        apart = self.places[:, None, :] - self.places[None, :, :]
        return np.asarray(np.sqrt((apart.astype(np.float64) ** 2).sum(axis=2)))


def planar(cells: GridCells, epsilon: float) -> Floats:
    """Planar noise on a finer grid, an odd number of points to each side of a cell; a report outside of the grid counts
    for the nearest cell. Both steps are post-processing, so that the matrix is epsilon-private per cell.
    """
    far = max(cells.width, cells.height) + _TAIL / epsilon
    if 2 * far > _WINDOW:
        raise InputError("the noise is much wider than the grid", hint="Use a smaller --side, or a larger epsilon.")
    fine = max(1, min(int(_WINDOW / (2 * far)), 15) - 1) | 1
    reach = int(far * fine) + fine
    axis = np.arange(-reach, reach + 1, dtype=np.float64) / fine
    mass = np.exp(-epsilon * np.sqrt(axis[:, None] ** 2 + axis[None, :] ** 2))
    sums = np.zeros((2 * reach + 2, 2 * reach + 2))
    sums[1:, 1:] = np.cumsum(np.cumsum(mass, axis=0), axis=1)
    sums /= sums[-1, -1]
    x_low, x_high = _edges(cells.width, fine, reach)
    y_low, y_high = _edges(cells.height, fine, reach)
    x, y = cells.places[:, 0], cells.places[:, 1]
    left, right = x_low[x][:, x], x_high[x][:, x]
    top, bottom = y_low[y][:, y], y_high[y][:, y]
    table = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def _edges(size: int, fine: int, reach: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each true and reported column the first and the last fine offset, as places in the sums."""
    apart = np.arange(size)[None, :] - np.arange(size)[:, None]
    low = apart * fine - fine // 2 + reach
    high = apart * fine + fine // 2 + reach + 1
    low[:, 0], high[:, -1] = 0, 2 * reach + 1
    return low, high


def cloaking(cells: GridCells, side: int) -> Floats:
    """The cell in the middle of the true cell's zone of side times side cells."""
    zone = cells.places // side * side
    last = np.array([cells.width, cells.height]) - 1
    middle = (zone + np.minimum(zone + side - 1, last)) // 2
    table = np.zeros((cells.count, cells.count))
    table[np.arange(cells.count), middle[:, 1] * cells.width + middle[:, 0]] = 1
    return table


def expected_loss(table: Floats, prior: Floats, distance: Floats) -> float:
    """The expected distance between the true cell and the reported one."""
    return float((prior[:, None] * table * distance).sum())


def adversary_error(table: Floats, prior: Floats, distance: Floats) -> float:
    """The expected distance between the true cell and the best guess of somebody who knows prior and mechanism."""
    return float((distance @ (prior[:, None] * table)).min(axis=0).sum())


def bayes_error(table: Floats, prior: Floats) -> float:
    """The probability that the likeliest cell is not the true one."""
    return 1 - float((prior[:, None] * table).max(axis=0).sum())


def needed_epsilon(table: Floats, distance: Floats) -> float:
    """The least epsilon per cell of a matrix of floats, by float arithmetic; infinite where there is none."""
    if ((table > 0).any(axis=0) & (table <= 0).any(axis=0)).any():
        return inf
    logs = np.log(table[:, (table > 0).all(axis=0)])
    most = np.array([(logs[x] - logs).max(axis=1) for x in range(len(logs))])
    np.fill_diagonal(most, 0.0)
    return float((most / np.where(distance > 0, distance, 1)).max())


def as_fractions(table: Floats) -> list[list[Fraction]]:
    """Rows of whole multiples of 2^-64 that add up to exactly 1; what rounding leaves goes to the largest entry."""
    rows = []
    for row in table:
        entries = [int(p * 2.0**_WIDE) for p in row.tolist()]
        entries[int(row.argmax())] += (1 << _WIDE) - sum(entries)
        rows.append([Fraction(n, 1 << _WIDE) for n in entries])
    return rows


def certified(cells: GridCells, table: Floats) -> Fraction | None:
    """An epsilon per cell that holds for the matrix in fractions, compared in whole numbers; None where none does.

    Guarantee: the matrix `as_fractions(table)` is epsilon d-private for the Euclidean distance d in cells.
    Proof: `certificate.check` compares every pair of cells and every report in whole numbers. The value tried is that
        of float arithmetic, raised by a little until the check passes.
    Reference: the definition by distances.
    Checked by: geo::the_certified_epsilon_is_the_least_one
    """
    rows = as_fractions(table)
    near = needed_epsilon(np.array([[float(p) for p in row] for row in rows]), cells.distance)
    if near == inf:
        return None
    points = grid(cells.width, cells.height)
    apart = [list(row) for row in distances("euclidean", points)]
    for margin in (Fraction(1, 10**12), Fraction(1, 10**9), Fraction(1, 10**6)):
        epsilon = max(Fraction(round(near * 10**12), 10**12) + margin, margin)
        try:
            check(rows, Level(epsilon), apart, points)
        except ClaimError:
            continue
        return epsilon
    raise ClaimError("the epsilon of this matrix could not be certified", detail=f"Floats say {near:.17g}.")


def calibrate_planar(cells: GridCells, loss: float, prior: Floats) -> float:
    """The epsilon at which planar noise has this loss, within 1e-9."""

    def lost(epsilon: float) -> float:
        return expected_loss(planar(cells, epsilon), prior, cells.distance)

    return solve_loss(lost, loss, 1.75 / loss, 1e-9)


def solve_loss(lost: Callable[[float], float], wanted: float, first: float, near: float) -> float:
    """The epsilon whose loss is the wanted one: a secant on logarithms, in which the loss is nearly a straight line."""
    x, slope = log(first), -1.0
    y = log(lost(first) / wanted)
    for _ in range(20):
        if abs(y) < near:
            break
        step = max(-1.0, min(1.0, -y / slope))
        x, before = x + step, y
        y = log(lost(exp(x)) / wanted)
        slope = min((y - before) / step, -0.05) if step else slope
    return exp(x)
