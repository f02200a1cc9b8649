"""Metrics for mechanisms that are designed: tables of distances, points of a grid, distances along a graph.

Comes in: points, or answers and which of them are neighbours. Goes out: tables of exact distances, in the order of the
points. The metrics themselves, by name, are those of `mechanisms.metrics`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from sfumato.errors import InputError
from sfumato.mechanisms.metrics import METRICS, Distance, Metric, distances, largest, root, same, triangle_fault
from sfumato.types import positive, whole

Table = tuple[tuple[Distance, ...], ...]


def grid(width: int, height: int | None = None, step: object = 1) -> list[tuple[Fraction, Fraction]]:
    """The points of a grid, row by row from the top, `step` apart.

    >>> [(str(x), str(y)) for x, y in grid(2, 2)]
    [('0', '0'), ('1', '0'), ('0', '1'), ('1', '1')]
    """
    apart = positive(step, "step")
    across, down = whole(width, "width", 1), whole(width if height is None else height, "height", 1)
    return [(x * apart, y * apart) for y in range(down) for x in range(across)]


def along(edges: Iterable[tuple[Any, Any]], points: Sequence[Any]) -> list[list[int | None]]:
    """How many edges lie between any two points of a graph; None where no way leads from one to the other."""
    near: dict[Any, set[Any]] = {point: set() for point in points}
    for one, other in edges:
        if one not in near or other not in near:
            raise InputError("an edge joins two of the points")
        near[one].add(other)
        near[other].add(one)
    table = []
    for start in points:
        found = {start: 0}
        front = deque([start])
        while front:
            here = front.popleft()
            for point in near[here] - found.keys():
                found[point] = found[here] + 1
                front.append(point)
        table.append([found.get(point) for point in points])
    return table


def scaled(table: Sequence[Sequence[Distance]], factor: object) -> Table:
    """Every distance times a number: epsilon d is the metric of a mechanism that is epsilon d-private."""
    by = positive(factor, "factor")
    return tuple(tuple(d * by for d in row) for row in table)


def added(one: Sequence[Sequence[Distance]], other: Sequence[Sequence[Distance]]) -> Table:
    """What two mechanisms tell together: d + d'."""
    return tuple(tuple(d + e for d, e in zip(r, s, strict=True)) for r, s in zip(one, other, strict=True))


__all__ = [
    "METRICS",
    "Distance",
    "Metric",
    "Table",
    "added",
    "along",
    "distances",
    "grid",
    "largest",
    "root",
    "same",
    "scaled",
    "triangle_fault",
]
