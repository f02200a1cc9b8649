"""Whether rows that are not sorted still stand in an order of the original table: a rule of thumb.

Comes in: a release beside its original table. Goes out: a fault, if its rows stand in the order of the original ones or
of one of their columns, forwards or backwards, more than shuffled rows do. How many rows stand in such an order is the
length of the longest common subsequence of released rows and of original rows that they can stand for. It is compared
with that of the same rows, shuffled where their own cells do not put them in order.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, pstdev

from sfumato.anonymity.inspection.case import ReleaseCase
from sfumato.anonymity.inspection.coverage import Key, count_covered, places
from sfumato.anonymity.inspection.exact import in_order
from sfumato.anonymity.inspection.traces import ReleaseFault

_MOST = 1000
"""Rows of a class that are compared; classes are taken until there are so many rows."""
_SHUFFLES = 199
_BY_CHANCE = 3
"""If more of the shuffles stand in the original order, that the rows do says nothing: they are few, or much alike."""
_FAR = 5.0
"""Standard deviations of shuffled rows beyond which an order is no chance."""
Kind = tuple[int, Key]
"""A class, and the values of a row that are released as they are."""


def find_order(case: ReleaseCase, keep: Key) -> Iterator[ReleaseFault]:
    """The order of the original table that the rows have, if they have one."""
    as_they_are = (*((case.sensitive,) if case.sensitive else ()), *keep)
    sample = _sampled(case, as_they_are)
    for name, order in _orders(case, as_they_are, sample.people):
        for backwards in (False, True):
            if sample.follows(order[::-1] if backwards else order, is_original=name is None and not backwards):
                source = "the original rows" if name is None else f'the original column "{name}"'
                words = f"the rows stand in the order of {source}{', backwards' * backwards}"
                yield ReleaseFault("order", f"{words}, which tells whose they are", name)
                return


@dataclass(frozen=True)
class _Sample:
    """Rows of some classes, in the order of the release, and the original rows that they can stand for.

    `blocks`: rows of different blocks stand as their own cells say. `people` has for each original row the kinds of
    rows that it can be, `most` for each class how many of its people are compared.
    """

    kinds: list[Kind]
    blocks: list[int]
    people: dict[int, list[Kind]]
    most: dict[int, int]

    def follows(self, order: Iterable[int], *, is_original: bool) -> bool:
        """Whether the rows stand in an order of the original ones: all together, or those of each class."""
        listed, seen = [], Counter[int]()
        for i in order:
            seen.update(at for at, _ in self.people[i])
            listed.append([kind for kind in self.people[i] if seen[kind[0]] <= self.most[kind[0]]])
        listed = [kinds for kinds in listed if kinds]
        if is_original and _stands_out(self.kinds, [(0, 0)] * len(self.kinds), listed, exact=True):
            return True
        if _stands_out(self.kinds, [(0, block) for block in self.blocks], listed):
            return True
        by_class = sorted(range(len(self.kinds)), key=lambda i: self.kinds[i][0])  # the lengths of classes add up
        alone = sorted((kind for kinds in listed for kind in kinds), key=lambda kind: kind[0])
        groups = [(self.kinds[i][0], self.blocks[i]) for i in by_class]
        return _stands_out([self.kinds[i] for i in by_class], groups, [[kind] for kind in alone])


def _sampled(case: ReleaseCase, names: Key) -> _Sample:
    """Classes with several kinds of rows first, and such as cover few people who are not in them."""
    number = {key: at for at, key in enumerate(case.classes)}
    keys, values = case.published.parts(case.columns), case.published.parts(names)
    kinds = [(number[key], one) for key, one in zip(keys, values, strict=True)]
    sizes = [one.total() for one in case.classes.values()]
    covered = count_covered(len(sizes), case.people, case.coverage.masks)
    several = Counter(at for at, _ in set(kinds))
    dice, left, taken = _numbers("classes", len(sizes)), _MOST, dict[int, int]()
    for at in sorted(several, key=lambda at: (several[at] < 2, covered[at] > 4 * sizes[at], dice[at])):
        if left > 0:
            taken[at], left = min(sizes[at], _MOST), left - sizes[at]
    cells = [[repr(key) for key in keys], *(case.published.cells(name) for name in case.published.columns)]
    blocks, chosen, seen = _blocks(cells), [], Counter[int]()
    for i, (at, _) in enumerate(kinds):
        seen[at] += 1
        if seen[at] <= taken.get(at, 0):
            chosen.append(i)
    marked, people = sum(1 << at for at in taken), dict[int, list[Kind]]()
    for i, (key, one) in enumerate(zip(case.original.parts(case.columns), case.original.parts(names), strict=True)):
        if case.coverage.masks[key] & marked:
            people[i] = [(at, one) for at in places(case.coverage.masks[key] & marked)]
    most = {at: -(-many * covered[at] // sizes[at]) for at, many in taken.items()}
    return _Sample([kinds[i] for i in chosen], [blocks[i] for i in chosen], people, most)


def _orders(case: ReleaseCase, names: Key, people: Iterable[int]) -> Iterator[tuple[str | None, list[int]]]:
    """Orders in which the original rows can stand: as they do, or by a column that is not released as it is; rows with
    the same cell there are shuffled.
    """
    rows = sorted(people)
    yield None, rows
    dice = dict(zip(rows, _numbers("ties", len(rows)), strict=True))
    for name in case.original.columns:
        if name not in names:
            cells = case.original.cells(name)
            rank = {value: i for i, value in enumerate(in_order({cells[i] for i in rows}))}
            yield name, sorted(rows, key=lambda i: (rank[cells[i]], dice[i]))


def _blocks(columns: Sequence[Sequence[str]]) -> list[int]:
    """Rows in blocks, inside of which no column puts them in order: sorted, or equal cells one beside the other.

    The labels of a class together are a column too.
    """
    blocks, left = [0] * len(columns[0]), list(columns)
    while refining := next((cells for cells in left if _puts_in_order(cells, blocks)), None):
        left = [cells for cells in left if cells is not refining]
        pairs = list(zip(blocks, refining, strict=True))
        blocks = [0]
        for before, after in pairwise(pairs):
            blocks.append(blocks[-1] + (before != after))
    return blocks


def _puts_in_order(cells: Sequence[str], blocks: Sequence[int]) -> bool:
    """Whether in every block equal cells stand together, and these are few or sorted."""
    pairs = list(zip(blocks, cells, strict=True))
    changes = [(a[1], b[1]) for a, b in pairwise(pairs) if a != b]
    if len(changes) + 1 > len(set(pairs)):
        return False
    if 2 * len(changes) < len(pairs):
        return True
    steps = [(a[1], b[1]) for a, b in pairwise(pairs) if a[0] == b[0] and a[1] != b[1]]
    rank = {value: i for i, value in enumerate(in_order(set(cells)))}
    return len({a < b for a, b in steps}) < 2 or len({rank[a] < rank[b] for a, b in steps}) < 2


def _stands_out(
    kinds: Sequence[Kind], groups: Sequence[tuple[int, int]], people: Sequence[Sequence[Kind]], *, exact: bool = False
) -> bool:
    """Whether far more rows stand in the order of people than if they are shuffled inside of their groups.

    `exact`: whether all of them do, and hardly any shuffle does as well.
    """
    masks = dict.fromkeys(kinds, 0)
    for i, fitting in enumerate(people):
        for kind in fitting:
            if kind in masks:
                masks[kind] |= 1 << i
    length = _common(kinds, masks, len(people))
    if exact and length < len(kinds):
        return False
    order = sorted(range(len(kinds)), key=lambda i: (groups[i], i))
    lengths: list[int] = []
    for number in range(_SHUFFLES):
        dice, shuffled = _numbers(f"shuffle {number}", len(kinds)), list(kinds)
        for i, j in zip(order, sorted(order, key=lambda i: (groups[i], dice[i])), strict=True):
            shuffled[i] = kinds[j]
        lengths.append(_common(shuffled, masks, len(people)))
        if sum(one >= length for one in lengths) > (_BY_CHANCE if exact else 0):
            return False
    return exact or length - fmean(lengths) >= _FAR * pstdev(lengths)


def _common(kinds: Sequence[Kind], masks: dict[Kind, int], many: int) -> int:
    """The length of the longest common subsequence, all places of one sequence at once.

    Reference: Crochemore, Iliopoulos, Pinzon, Reid 2001. The zeros of `free` are the ends of steps.
    """
    every = (1 << many) - 1
    free = every
    for kind in kinds:
        fitting = free & masks[kind]
        free = ((free + fitting) | (free - fitting)) & every
    return many - free.bit_count()


def _numbers(words: str, many: int) -> memoryview:
    """Whole numbers that look random and are the same each time."""
    return memoryview(hashlib.shake_128(words.encode()).digest(8 * many)).cast("Q")
