"""Equivalence classes of a generalisation: grouping of compressed tuples, and roll-up from a finer grouping.

Comes in: the distinct combinations of quasi-identifiers with their counts, and a level for each column. Goes out: one
row of counts for each class. A grouping that was computed before serves for every coarser one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from operator import le

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.integer]
Node = tuple[int, ...]
"""A level for each quasi-identifier: 0 is the value itself, the last one is `*`."""
_DENSE = 4
"""Keys are counted in an array of their whole space if that is at most so many times as long as the list of keys."""
_KEPT_BYTES = 256 << 20
"""Memory for groupings that are kept for roll-up."""
_KEPT = 400
"""So many of them at most: each is looked at for every node."""


@dataclass(frozen=True)
class Ladder:
    """One quasi-identifier: for each level the group of each value, the label and the share of each group.

    A share is the part of the domain that a label stands for, 0 for a single value and 1 for everything, as a whole
    number of units (`Tuples.unit`); if `exact` is false, some are rounded down to one, and `fractions` has them as they
    are.
    """

    column: str
    groups: tuple[Codes, ...]
    labels: tuple[tuple[str, ...], ...]
    shares: tuple[Ints, ...]
    exact: bool = True
    fractions: tuple[tuple[Fraction, ...], ...] = ()

    @property
    def height(self) -> int:
        """The highest level."""
        return len(self.groups) - 1


@dataclass(frozen=True)
class Tuples:
    """The table, compressed: distinct combinations of quasi-identifiers with a count for each sensitive value.

    `population` counts the people of a larger table by combination, where one was given. `unit` is the share of one
    whole column: the loss of a row is a number of units, `unit` times the number of columns if it is suppressed.
    """

    ladders: tuple[Ladder, ...]
    codes: tuple[Codes, ...]
    histogram: Ints
    sensitive: tuple[str, ...]
    unit: int
    population: Ints | None = None

    @cached_property
    def rows(self) -> int:
        """Rows of the table."""
        return int(self.histogram.sum())

    @cached_property
    def totals(self) -> Ints:
        """Rows by sensitive value."""
        return np.asarray(self.histogram.sum(axis=0))

    @property
    def top(self) -> Node:
        """Everything generalised to `*`."""
        return tuple(ladder.height for ladder in self.ladders)


@dataclass(frozen=True)
class Classes:
    """The classes of one node: a representative combination, counts by sensitive value, and sizes."""

    representative: Ints
    histogram: Ints
    size: Ints
    population: Ints | None = None

    def __len__(self) -> int:
        return len(self.size)

    @property
    def bytes(self) -> int:
        """Memory that it takes."""
        return int(self.representative.nbytes + self.histogram.nbytes + self.size.nbytes)

    def __getitem__(self, chosen: npt.NDArray[np.bool_]) -> Classes:
        population = None if self.population is None else self.population[chosen]
        return Classes(self.representative[chosen], self.histogram[chosen], self.size[chosen], population)


def group_of(tuples: Tuples, column: int, level: int, rows: Ints | slice) -> Codes:
    """The group of each of these combinations, at one level of one column."""
    return tuples.ladders[column].groups[level][tuples.codes[column][rows]]


@dataclass
class Grouping:
    """Groupings of one table by node; the smallest that is finer than the wanted one is rolled up."""

    tuples: Tuples
    _kept: dict[Node, Classes] = field(default_factory=dict)
    _pinned: dict[Node, Classes] = field(default_factory=dict)
    _bytes: int = 0

    def __post_init__(self) -> None:
        table = self.tuples
        size = table.histogram.sum(axis=1)
        self._base = Classes(np.arange(len(size)), table.histogram, size, table.population)

    def classes(self, node: Node) -> Classes:
        """The classes of a node."""
        if node in self._kept:
            return self._kept[node]
        finer = self._finer(node)
        made = _merge(self.tuples, finer, node)
        if len(made) < 0.9 * len(finer):
            self._keep(node, made)
        return made

    def pin(self, node: Node) -> None:
        """Keep the grouping of a node for good, within the memory for such groupings."""
        made = self.classes(node)
        if len(made) < 0.9 * len(self._base) and made.bytes < _KEPT_BYTES // 8:
            self._pinned[node] = made

    def _finer(self, node: Node) -> Classes:
        best, many = self._base, len(self._base)
        for kept in (self._pinned, self._kept):
            for other, classes in kept.items():
                if len(classes.size) < many and all(map(le, other, node)):
                    best, many = classes, len(classes.size)
        return best

    def _keep(self, node: Node, classes: Classes) -> None:
        while self._kept and (self._bytes + classes.bytes > _KEPT_BYTES or len(self._kept) >= _KEPT):
            oldest = next(iter(self._kept))
            self._bytes -= self._kept.pop(oldest).bytes
        self._kept[node] = classes
        self._bytes += classes.bytes


def _merge(tuples: Tuples, finer: Classes, node: Node) -> Classes:
    key = np.zeros(len(finer), np.int64)
    space = 1
    for column, level in enumerate(node):
        many = len(tuples.ladders[column].labels[level])
        if many == 1:
            continue
        if space * many >= 1 << 62:
            _, key = np.unique(key, return_inverse=True)
            space = len(finer)
        key *= many
        key += group_of(tuples, column, level, finer.representative)
        space *= many
    if space <= max(_DENSE * len(finer), 1024):
        return _count(finer, key, space)
    return _sort(finer, key, space)


def _count(finer: Classes, key: Ints, space: int) -> Classes:
    columns = finer.histogram.T
    size = _sums(key, finer.size, space)
    present = size > 0
    if finer.population is not None:
        population = _sums(key, finer.population, space)
        present |= population > 0
    last = np.zeros(space, np.int64)
    last[key] = finer.representative
    histogram = size[:, None] if len(columns) == 1 else np.stack([_sums(key, one, space) for one in columns], axis=1)
    return Classes(
        last[present],
        histogram[present],
        size[present],
        None if finer.population is None else population[present],
    )


def _sums(key: Ints, weights: Ints, space: int) -> Ints:
    return np.bincount(key, weights=weights, minlength=space).astype(np.int64)


def _sort(finer: Classes, key: Ints, space: int) -> Classes:
    many = len(key)
    if space * many < 1 << 63:  # a plain sort of key and place in one number is several times faster than argsort
        packed = np.sort(key * many + np.arange(many))
        order = packed % many
        ordered = packed // many
    else:
        order = np.argsort(key, kind="stable")
        ordered = key[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    histogram = np.add.reduceat(finer.histogram[order], starts, axis=0)
    population = None if finer.population is None else np.add.reduceat(finer.population[order], starts)
    size = histogram[:, 0] if histogram.shape[1] == 1 else np.add.reduceat(finer.size[order], starts)
    return Classes(finer.representative[order[starts]], histogram, size, population)


def labels_of(tuples: Tuples, node: Node, rows: Ints) -> list[list[str]]:
    """The released labels of these combinations, column by column."""
    shown = []
    for column, level in enumerate(node):
        names = tuples.ladders[column].labels[level]
        shown.append([names[code] for code in group_of(tuples, column, level, rows).tolist()])
    return shown


def share_of(tuples: Tuples, node: Node, rows: Ints) -> Ints:
    """The loss of a row of each of these combinations, in units."""
    total = np.zeros(len(rows), np.int64)
    for column, level in enumerate(node):
        total += tuples.ladders[column].shares[level][group_of(tuples, column, level, rows)]
    return total


def tuple_of(levels: Sequence[int]) -> Node:
    """A node from any sequence of levels."""
    return tuple(int(level) for level in levels)
