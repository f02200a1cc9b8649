"""Symmetries of a design problem: permutations that change neither what outputs are worth nor any distance.

Comes in: the worth of each output for each input, and the distances. Goes out: a group, of which every member has been
compared number by number. A symmetric problem has a symmetric best mechanism (the mean of all images of a best one), so
that one output of each orbit is enough. Guesses come first (a line read backwards, a circle turned, a grid turned and
mirrored), then a search by refinement, within a number of its own steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

LARGEST = 512
"""Members of a group at most: a larger one is used in part."""
STEPS = 2000
"""Refinements that a search may take."""


@dataclass(frozen=True, eq=False)
class Group:
    """Every member as a permutation of inputs and the one of outputs that goes with it; `back` undoes the first."""

    inputs: Places
    outputs: Places
    back: Places
    chosen: Places
    """One output of each orbit: the first."""


@dataclass(eq=False)
class _Search:
    worth: Floats
    distance: Floats
    steps: int = STEPS
    place: dict[bytes, int] = field(default_factory=dict)
    members: dict[bytes, tuple[Places, Places]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.worth = self.worth + 0.0  # one zero only, for comparing bytes
        self.place = {row.tobytes(): z for z, row in enumerate(self.worth)}
        count = self.distance.shape[0]
        self.members = {np.arange(count).tobytes(): (np.arange(count), np.arange(len(self.worth)))}

    def partner(self, move: Places) -> Places | None:
        """The permutation of outputs that goes with one of inputs; None if there is none, or distances change."""
        if not np.array_equal(self.distance[np.ix_(move, move)], self.distance):
            return None
        found = [self.place.get(row.tobytes()) for row in np.ascontiguousarray(self.worth[:, np.argsort(move)])]
        return None if None in found else np.array(found, dtype=np.intp)

    def add(self, move: Places) -> bool:
        """Take a permutation in, with all its products, if it is a symmetry and the group stays small enough."""
        if move.tobytes() in self.members:
            return True
        other = self.partner(move)
        if other is None:
            return False
        grown = dict(self.members)
        edge = [(move, other)]
        steps = [*self.generators, (move, other)]
        while edge:
            one = edge.pop()
            if one[0].tobytes() in grown:
                continue
            grown[one[0].tobytes()] = one
            if len(grown) > LARGEST:
                return False
            edge.extend((g[0][one[0]], g[1][one[1]]) for g in steps)
            edge.extend((one[0][g[0]], one[1][g[1]]) for g in steps)
        self.members = grown
        self.generators = steps
        return True

    generators: list[tuple[Places, Places]] = field(default_factory=list)


def symmetries(worth: Floats, distance: Floats) -> Group:
    """The group, at least of the identity alone."""
    search = _Search(worth, distance)
    for move in _likely(len(distance)):
        search.add(move)
    if len(distance) > 1:
        _refine(search)
    inputs = np.array([a for a, _ in search.members.values()])
    outputs = np.array([b for _, b in search.members.values()])
    chosen = np.unique(outputs.min(axis=0))
    return Group(inputs, outputs, np.argsort(inputs, axis=1), chosen)


def _likely(count: int) -> Iterator[Places]:
    """Permutations that problems often have: of a line, of a circle, of a grid."""
    line = np.arange(count)
    yield np.roll(line, 1)
    yield line[::-1].copy()
    for width in range(2, count // 2 + 1):
        if count % width == 0:
            table = line.reshape(-1, width)
            yield table[::-1].ravel()
            yield table[:, ::-1].ravel()
            if table.shape[0] == width:
                yield table.T.ravel()


def _refine(search: _Search) -> None:
    """Search for more, one base point after another: where can it go if the points before it stay?"""
    alike = _alike(search)
    fixed: list[tuple[int, int]] = []
    for point in range(len(alike)):
        if search.steps <= 0 or (alike.sum(axis=1) == 1).all():
            return
        for image in np.flatnonzero(alike[point]):
            moves = [m for m, _ in search.members.values() if all(m[a] == b for a, b in fixed)]
            if image not in {int(m[point]) for m in moves}:
                found = _complete(search, _narrow(search, alike, point, int(image)))
                if found is not None and not search.add(found):
                    return
        alike = _narrow(search, alike, point, point)
        fixed.append((point, point))


def _alike(search: _Search) -> NDArray[np.bool_]:
    """Which points look the same: their distances, sorted, and what outputs are worth there, sorted."""
    looks = np.concatenate([np.sort(search.distance, axis=1), np.sort(search.worth.T, axis=1)], axis=1)
    _, kind = np.unique(looks, axis=0, return_inverse=True)
    kind = kind.ravel()
    return np.asarray(kind[:, None] == kind[None, :])


def _narrow(search: _Search, alike: NDArray[np.bool_], point: int, image: int) -> NDArray[np.bool_]:
    """What is still possible once the point goes to the image: distances to both must agree."""
    search.steps -= 1
    left = alike & (search.distance[point][:, None] == search.distance[image][None, :])
    left[point] = False
    left[:, image] = False
    left[point, image] = True
    return np.asarray(left)


def _complete(search: _Search, alike: NDArray[np.bool_]) -> Places | None:
    """A permutation within what is possible, by trying the point with the fewest images; None if there is none."""
    width = alike.sum(axis=1)
    if (width == 0).any() or search.steps <= 0:
        return None
    if (width == 1).all():
        move = alike.argmax(axis=1)
        return move if search.partner(move) is not None else None
    point = int(np.where(width > 1, width, len(alike) + 1).argmin())
    for image in np.flatnonzero(alike[point]):
        found = _complete(search, _narrow(search, alike, point, int(image)))
        if found is not None:
            return found
    return None
