"""The tree of partial sums that running totals are put together from: which nodes, how many, and which tree is best.

Comes in: the length of a sequence. Goes out: a Tree: node sums level by level, and running totals as sums and
differences of nodes. Only whole numbers; nothing here knows noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.base import largest

_MOST_LEVELS = 8
_SMALL = 1 << 62


@dataclass(frozen=True)
class Tree:
    """Blocks of `radix` entries, blocks of `radix` blocks, and so on: `levels` in all, the entries being the first.

    A running total up to a place inside a block is that up to the block's beginning plus the nodes from there, or that
    up to the block's end minus the nodes behind: whichever takes fewer nodes.
    """

    length: int
    radix: int
    levels: int

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many nodes each level has; the last node of a level may be shorter than the others."""
        counts = [self.length]
        while len(counts) < self.levels:
            counts.append(-(-counts[-1] // self.radix))
        return tuple(counts)

    def sums(self, entries: NDArray[Any]) -> list[NDArray[Any]]:
        """The exact sums of the nodes, level by level: every entry lies in one node of each level."""
        tree = [wide(entries, self.length)]
        for _ in range(self.levels - 1):
            tree.append(np.add.reduceat(tree[-1], np.arange(0, len(tree[-1]), self.radix)))
        return tree

    @cached_property
    def _walk(self) -> tuple[list[tuple[NDArray[Any], ...]], NDArray[Any]]:
        """From the highest level down: for each place the place above that it leans on, where the nodes between the two
        begin and end, and whether they are added; and how many nodes each running total takes.
        """
        steps: list[tuple[NDArray[Any], ...]] = []
        taken: NDArray[Any] = np.arange(self.counts[-1] + 1)
        for count, above in zip(self.counts[-2::-1], self.counts[:0:-1], strict=True):
            place = np.arange(count + 1)
            block, into = np.divmod(place, self.radix)
            begin, end = place - into, np.minimum(place - into + self.radix, count)
            after = np.minimum(block + 1, above)
            add = taken[block] + into <= taken[after] + end - place
            steps.append((np.where(add, block, after), np.where(add, begin, place), np.where(add, place, end), add))
            taken = np.minimum(taken[block] + into, taken[after] + end - place)
        return steps, taken

    @property
    def draws(self) -> NDArray[Any]:
        """How many nodes the sum of the first 1, 2, ... entries takes."""
        return self._walk[1][1:]

    def totals(self, nodes: list[NDArray[Any]]) -> NDArray[Any]:
        """The running totals from the nodes, level by level; a level may have many rows, for as many trees."""
        found = _sums_before(nodes[-1])
        for level, (leans, begin, end, add) in zip(nodes[-2::-1], self._walk[0], strict=True):
            before = _sums_before(level)
            between = before[..., end] - before[..., begin]
            if object in (found.dtype, between.dtype):
                found, between = found.astype(object), between.astype(object)
            found = found[..., leans] + np.where(add, between, -between)
        return found[..., 1:]


def wide(values: NDArray[Any], count: int) -> NDArray[Any]:
    """As Python ints where a sum of so many of them might not fit into 64 bits."""
    small = values.dtype != object and (largest(values) + 1) * (count + 1) < _SMALL
    return values if small else values.astype(object)


def _sums_before(level: NDArray[Any]) -> NDArray[Any]:
    level = wide(level, 4 * _MOST_LEVELS * level.shape[-1])
    return np.concatenate([np.zeros((*level.shape[:-1], 1), level.dtype), np.cumsum(level, axis=-1)], axis=-1)


@lru_cache(maxsize=256)
def best_tree(length: int) -> Tree:
    """The tree with the least mean variance of all running totals, where each node has noise as many times as large as
    there are levels: the mean number of nodes times the square of the number of levels.

    With m levels of equal weight the radix is near (2 length)^(1/m) and the price near m³ radix/4; around the two best
    of these the number of nodes is counted. One level is the sequence itself: independent noise on every entry.
    """
    guesses = {levels: (2 * length) ** (1 / levels) for levels in range(2, _MOST_LEVELS + 1)}
    likely = sorted(guesses, key=lambda levels: levels**3 * guesses[levels])[:2]
    trees = [Tree(length, max(2, length), 1)]
    for levels in likely:
        radixes = {max(2, round(guesses[levels] * eighths / 8)) for eighths in range(6, 13)}
        trees += [Tree(length, radix, levels) for radix in sorted(radixes) if radix ** (levels - 1) < length]
    return min(trees, key=lambda tree: (int(tree.draws.sum()) * tree.levels**2, tree.levels, tree.radix))
