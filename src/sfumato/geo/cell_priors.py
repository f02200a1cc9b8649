"""Priors on the cells of a grid: the lecture's shapes, a table of weights, or points counted by cell."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.geo.earth import check_degrees
from sfumato.geo.grid_channels import GridCells

Floats = NDArray[np.float64]


def shaped_priors(cells: GridCells, side: int) -> dict[str, Floats]:
    """Uniform on all cells, and on four regions: two blocks, a diagonal band, blocks across the borders of zones of
    this side, and blocks inside of zones. Regions that a grid is too small for are left out.
    """
    column, row = cells.places[:, 0], cells.places[:, 1]
    x, y = (np.minimum(p, size - 1 - p) for p, size in ((column, cells.width), (row, cells.height)))
    blocks = ((column + row) // max(1, cells.width // 2 + 1) % 2 == 0) & (x >= 1) & (y >= 1)
    half = np.abs(column * cells.height - row * cells.width) <= max(cells.width, cells.height)
    corner = (x < 2) & (y < 2)
    border = (_beside_border(column, side, cells.width)) & (_beside_border(row, side, cells.height))
    if (cells.width, cells.height) == (9, 9):
        first = (column >= 1) & (column <= 3) & (row >= 1) & (row <= 3)
        second = (column >= 5) & (column <= 7) & (row >= 5) & (row <= 7)
        blocks = first | second
    shapes = {"blocks": blocks, "diagonal": half, "across zones": border, "inside zones": corner}
    found = {"uniform": np.full(cells.count, 1 / cells.count)}
    for name, shape in shapes.items():
        if 1 < shape.sum() < cells.count:
            found[name] = shape / shape.sum()
    return found


def _beside_border(place: NDArray[np.int64], side: int, size: int) -> NDArray[np.bool_]:
    """GridCells next to a border between two zones."""
    last, first = (place % side == side - 1) & (place < size - 1), (place % side == 0) & (place > 0)
    return np.asarray(last | first)


def read_prior(path: Path, cells: GridCells, positions: tuple[Floats, Floats] | None = None) -> Floats:
    """A prior from a file: one weight for each cell, in rows or in one column; or `positions` counted by cell."""
    if positions is not None:
        return count_points(cells, *positions)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            numbers = [float(entry) for row in csv.reader(file) for entry in row if entry.strip()]
    except ValueError:
        raise InputError(
            f'"{path.name}" is neither a table of weights nor a file of points',
            hint="Write one number for each cell, or give a CSV file with columns lat and lon.",
        ) from None
    weights = np.array(numbers)
    if weights.size and np.isfinite(weights).all() and weights.max() > 0:
        weights = weights / weights.max()  # the sum of large ones is no float
    if weights.size != cells.count or not np.isfinite(weights).all() or weights.min() < 0 or weights.sum() <= 0:
        raise InputError(
            f'"{path.name}" is not a prior for {cells.width}x{cells.height} cells',
            detail=f"It has {weights.size} numbers; {cells.count} are needed, none below 0 and not all 0.",
        )
    return np.asarray(weights / weights.sum())


def count_points(cells: GridCells, lat: Floats, lon: Floats) -> Floats:
    """The share of points in each of the smallest square cells that hold all points; north is up.

    Cells are square on the ground at the middle latitude, as the distances between cells take them to be. Points on
    both sides of the antimeridian are near each other.
    """
    if lat.size == 0:
        raise InputError("the file has no points")
    check_degrees(lat, lon)
    north, east = lat - (lat.min() + lat.max()) / 2, _around_gap(lon)
    east = east * np.cos(np.radians((lat.min() + lat.max()) / 2))
    side = max(np.ptp(east) / cells.width, np.ptp(north) / cells.height) or 1.0
    column = _bins(east, cells.width, side)
    row = cells.height - 1 - _bins(north, cells.height, side)
    counts = np.bincount(row * cells.width + column, minlength=cells.count)
    return np.asarray(counts / counts.sum())


def _around_gap(lon: Floats) -> Floats:
    """Longitudes counted to the east from the largest gap between them: no two near points are 360 degrees apart."""
    there = np.unique(lon % 360)
    gaps = np.diff(np.concatenate([there, there[:1] + 360]))
    return np.asarray((lon % 360 - there[(int(gaps.argmax()) + 1) % len(there)]) % 360)


def _bins(values: Floats, count: int, side: float) -> NDArray[np.int64]:
    """The cell of each value on one axis; what is left of the axis is divided between both ends."""
    low, high = float(values.min()), float(values.max())
    scaled = (values - low + (count * side - (high - low)) / 2) / side
    return np.clip(scaled.astype(np.int64), 0, count - 1)
