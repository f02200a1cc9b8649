"""Location mechanisms on the cells of a small grid, as matrices: planar noise, cloaking, and what an adversary learns.

Rows are true cells, columns are reports; cells are numbered row by row. Distances are in cells. Matrices are floats for
the comparison; `certified` turns one into fractions and finds an epsilon that provably holds for them. Planar noise is
also given as logarithms: its rarest reports have probabilities that no float has, and no epsilon holds for one of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, inf, log
from typing import Any

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
        if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
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
    return np.asarray(np.exp(planar_logs(cells, epsilon)))


def planar_logs(cells: GridCells, epsilon: float) -> Floats:
    """The logarithms of `planar`, each of which is finite and has its digits, however small the probability: sums have
    positive terms only, and each block of the finer grid is measured against its most likely point.
    """
    far = max(cells.width, cells.height) + _TAIL / epsilon
    if 2 * far > _WINDOW:
        raise InputError("the noise is much wider than the grid", hint="Use a smaller --side, or a larger epsilon.")
    fine = max(1, min(int(_WINDOW / (2 * far)), 15) - 1) | 1
    reach = int(far * fine) + fine
    axis = np.arange(-reach, reach + 1, dtype=np.float64) / fine
    rows, columns = (_Blocks.of(size, fine, axis) for size in (cells.height, cells.width))
    nearest = np.hypot(rows.spread[:, None], columns.spread[None, :])
    mass = np.exp(-epsilon * (np.hypot(axis[:, None], axis[None, :]) - nearest))
    sums = np.add.reduceat(np.add.reduceat(mass, rows.starts, axis=0), columns.starts, axis=1)
    logs = np.log(sums) - epsilon * np.hypot(rows.nearest[:, None], columns.nearest[None, :])
    logs = _with_ends(_with_ends(logs).T).T
    x, y = cells.places[:, 0], cells.places[:, 1]
    table = logs[_reported(cells.height)[y][:, y], _reported(cells.width)[x][:, x]]
    return np.asarray(table - np.logaddexp.reduce(table, axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class _Blocks:
    """The fine offsets of one axis, cut into those that move a report by the same number of cells, from as many to the
    left as there are cells, or more, to as many to the right: where each block starts, the least absolute offset of
    each, and that of each fine offset's block.
    """

    starts: NDArray[np.intp]
    nearest: Floats
    spread: Floats

    @classmethod
    def of(cls, size: int, fine: int, axis: Floats) -> _Blocks:
        middle = len(axis) // 2
        moved = np.arange(1 - size, size + 1)
        starts = np.concatenate([[0], moved * fine - fine // 2 + middle])
        nearest = np.minimum.reduceat(np.abs(axis), starts)
        return cls(starts, nearest, np.repeat(nearest, np.diff(np.append(starts, len(axis)))))


def _with_ends(logs: Floats) -> Floats:
    """Columns of blocks; behind them what lies in each block or left of it, in each or right of it, and everything."""
    left = np.logaddexp.accumulate(logs, axis=1)
    right = np.logaddexp.accumulate(logs[:, ::-1], axis=1)[:, ::-1]
    return np.concatenate([logs, left, right, np.repeat(left[:, -1:], logs.shape[1], axis=1)], axis=1)


def _reported(size: int) -> NDArray[np.int64]:
    """For each true and reported column its place in `_with_ends`: the outer columns take what falls outside."""
    apart = np.arange(size)[None, :] - np.arange(size)[:, None] + size
    apart[:, 0] += 2 * size + 1
    apart[:, -1] += 2 * (2 * size + 1)
    return apart


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


def needed_epsilon(logs: Floats, distance: Floats) -> float:
    """The least epsilon per cell of a matrix of logarithms, by float arithmetic; infinite where there is none."""
    some = np.isfinite(logs)
    if (some.any(axis=0) & ~some.all(axis=0)).any():
        return inf
    logs = logs[:, some.all(axis=0)]
    most = np.array([(logs[x] - logs).max(axis=1) for x in range(len(logs))])
    np.fill_diagonal(most, 0.0)
    return float((most / np.where(distance > 0, distance, 1)).max())


def as_fractions(table: Floats) -> list[list[Fraction]]:
    """Rows of whole multiples of a power of 1/2 that add up to exactly 1; what rounding leaves goes to the largest
    entry. The unit is 2^-64, and smaller where an entry is: none of them becomes 0.
    """
    return _as_units(*np.frexp(table))


def fractions_of_logs(logs: Floats) -> list[list[Fraction]]:
    """The same for a matrix of logarithms."""
    twos = np.ceil(logs / log(2))
    return _as_units(np.exp(logs - twos * log(2)), twos)


def _as_units(parts: Floats, twos: NDArray[Any]) -> list[list[Fraction]]:
    """Rows of parts * 2^twos."""
    wide = _WIDE + max(0, -int(twos[parts > 0].min()))
    rows = []
    for row, powers in zip(parts, twos, strict=True):
        numerators = (row * 2.0**_WIDE).tolist()
        entries = [_shifted(int(n), wide - _WIDE + int(t)) for n, t in zip(numerators, powers.tolist(), strict=True)]
        largest = max(range(len(entries)), key=entries.__getitem__)
        entries[largest] += (1 << wide) - sum(entries)
        rows.append([Fraction(n, 1 << wide) for n in entries])
    return rows


def _shifted(number: int, by: int) -> int:
    return number << by if by >= 0 else number >> -by


def certified(cells: GridCells, table: Floats) -> Fraction | None:
    """An epsilon per cell that holds for the matrix in fractions, compared in whole numbers; None where none does.

    Guarantee: the matrix `as_fractions(table)` is epsilon d-private for the Euclidean distance d in cells.
    Proof: `certificate.check` compares every pair of cells and every report in whole numbers. The value tried is that
        of float arithmetic, raised by a little until the check passes.
    Reference: the definition by distances.
    Checked by: geo::the_certified_epsilon_is_the_least_one, geo::planar_noise_is_certified_on_every_shape_of_grid
    """
    return certified_rows(cells, as_fractions(table))


def certified_rows(cells: GridCells, rows: Sequence[Sequence[Fraction]]) -> Fraction | None:
    """The same for a matrix that is in fractions already."""
    near = needed_epsilon(np.array([[_logarithm(p) for p in row] for row in rows]), cells.distance)
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


def _logarithm(number: Fraction) -> float:
    """Of numbers that no float has, too."""
    return log(number.numerator) - log(number.denominator) if number else -inf


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
