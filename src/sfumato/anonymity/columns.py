"""Lattices too large for arrays: a branch-and-bound search that decides one column after the other.

Comes in: a Checker. Goes out: iterations that improve the best node and raise the bound. A partial assignment is the
node whose other columns are `*`; all its completions are finer, so what it must suppress, they must too.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from sfumato.anonymity.classes import Node
from sfumato.anonymity.lattice import Checker


class ColumnSearch:
    """Best-first over partial assignments, after a greedy descent that gives a first release to compare with."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        ladders = checker.tuples.ladders
        self.order = sorted(range(len(ladders)), key=lambda j: (-len(ladders[j].labels[0]), j))
        self.heap: list[tuple[int, int, Node]] = []
        self.current: int | None = None
        top = checker.check(checker.tuples.top)
        if not checker.excludes(top):
            self._push(0, top.node, top.must)

    def bound(self) -> int:
        """No node has a loss below this, or below the best one that was found."""
        lowest = [entry[0] for entry in self.heap[:1]] if self.current is None else [self.current]
        return min([*lowest, self.checker.most])

    def __iter__(self) -> Iterator[None]:
        for _ in self.checker.descend():
            yield None
        self._pin()
        while self.heap:
            self.current, depth, node = self.heap[0]
            heapq.heappop(self.heap)  # after the bound is noted: Ctrl-C may come between any two steps
            if self.current >= self.checker.most:
                break
            yield from self._branch(-depth, node)
            self.current = None
        self.heap, self.current = [], None

    def _branch(self, depth: int, node: Node) -> Iterator[None]:
        """Every level of the next column, from the top down to where nothing finer can hold."""
        if depth == len(self.order):
            return
        column = self.order[depth]
        for level in range(node[column], -1, -1):
            child = (*node[:column], level, *node[column + 1 :])
            checked = self.checker.check(child)
            if self.checker.excludes(checked):
                break
            self._push(depth + 1, child, checked.must)
            yield None

    def _push(self, depth: int, node: Node, must: int) -> None:
        checker, total = self.checker, self.checker.whole * must
        decided = set(self.order[:depth])
        for column, (floors, tops) in enumerate(zip(checker.floors, checker.tops, strict=True)):
            worth = [floor - must * top for floor, top in zip(floors, tops, strict=True)]
            total += worth[node[column]] if column in decided else min(worth)
        if total < checker.most:
            heapq.heappush(self.heap, (total, -depth, node))

    def _pin(self) -> None:
        """Groupings by the first columns alone, from which all nodes of that depth are rolled up."""
        top = self.checker.tuples.top
        for depth in range(len(self.order), 0, -1):
            decided = set(self.order[:depth])
            self.checker.grouping.pin(tuple(0 if j in decided else level for j, level in enumerate(top)))


def search_columns(checker: Checker) -> ColumnSearch:
    """The search, ready to be iterated."""
    return ColumnSearch(checker)
