"""Several releases as sums: in each of them some people have so many of each value, whoever has which.

Comes in: releases as an attacker reads them. Goes out: for people of the same candidates in all of them, the values
that all releases together leave. Somebody who is in one release alone is the difference of two sums.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from sfumato.attacks.base import SecretFact
from sfumato.attacks.matching import Candidates
from sfumato.attacks.small_worlds import values_in_some_world
from sfumato.attacks.sums import ValueSum, possible_values
from sfumato.attacks.views import ReleaseView

Cell = tuple[Candidates, ...]
"""The candidates of a person in each release."""
_MOST_BOUNDS = 2_000_000
"""Cells times values up to which each value is bounded by itself; beyond, only who has the secret."""


@dataclass(frozen=True)
class _Block:
    """People who have the rows of some classes among them; `slack` of them have none."""

    groups: frozenset[Candidates]
    values: Counter[Any]
    slack: int


def values_left_together(views: Sequence[ReleaseView], fact: SecretFact) -> dict[Hashable, set[Any]]:
    """For each cell the values that its people can have, in every world in which the rows of each release are theirs.

    Guarantee: a value that is not left is nobody's of the cell, if every row of each release is the row of a different
        person whom its labels cover, with her value.
    Proof: each block's rows belong to its people, so that the number of those with a value lies between that of the
        rows and as many more as have no row; differences of such sums, and passing bounds on, keep what is true.
    Reference: Ganta, Kasiviswanathan, Smith 2008; Xiao and Tao 2007.
    Checked by: attacks::what_releases_leave_together_is_left_in_some_world,
        attacks::small_releases_together_leave_exactly_what_some_world_has
    """
    if not all(one.everybody for one in views) or len({len(one.crowd) for one in views}) > 1:
        return {}
    cells: Counter[Cell] = Counter(zip(*(one.crowd for one in views), strict=True))
    names = {value for one in views for values in one.classes for value in values}
    if len(cells) * len(names) > _MOST_BOUNDS:
        views = [replace(one, classes=tuple(_by_fact(values, fact) for values in one.classes)) for one in views]
    blocks = [_blocks(one) for one in views]
    allowed: dict[Hashable, set[Any] | None] = {}
    for cell in cells:
        sets = [{*one.values(group)} for one, group in zip(views, cell, strict=True) if group in one.forced.sure]
        allowed[cell] = set.intersection(*sets) if sets else None
    sums = [one for place, found in enumerate(blocks) for one in _sums(found, place, cells)]
    for i, j in combinations(range(len(views)), 2):
        sums += _differences(blocks[i], blocks[j], (i, j), cells)
    found = possible_values(dict(cells.items()), allowed, sums)
    if len(cells) * len(names) > _MOST_BOUNDS:
        true = {value for value in names if fact.holds(value)}
        return {cell: {v for v in names if (v in true) in left} for cell, left in found.items()}
    exactly = values_in_some_world(cells, [one.classes for one in views])
    return found | {cell: left for cell, left in exactly.items() if left is not None}


def _by_fact(values: Counter[Any], fact: SecretFact) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for value, many in values.items():
        found[fact.holds(value)] += many
    return found


def _blocks(one: ReleaseView) -> list[_Block]:
    """People and classes in parts between which no row can be exchanged."""
    above: dict[Hashable, Hashable] = {}
    left = {group: classes for group, classes in one.forced.left.items() if classes}
    for group, classes in left.items():
        for at in classes:
            _join(above, group, at)
    parts: dict[Hashable, list[Candidates]] = {}
    for group in left:
        parts.setdefault(_top(above, group), []).append(group)
    found = []
    for groups in parts.values():
        values: Counter[Any] = Counter()
        for at in {at for group in groups for at in left[group]}:
            values.update(one.classes[at])
        found.append(_Block(frozenset(groups), values, sum(one.groups[group] for group in groups) - values.total()))
    return found


def _top(above: dict[Hashable, Hashable], at: Hashable) -> Hashable:
    above.setdefault(at, at)
    while above[at] != at:
        above[at] = above[above[at]]
        at = above[at]
    return at


def _join(above: dict[Hashable, Hashable], one: Hashable, other: Hashable) -> None:
    above[_top(above, one)] = _top(above, other)


def _sums(blocks: Sequence[_Block], place: int, cells: Counter[Cell]) -> Iterator[ValueSum]:
    by_group: dict[Candidates, list[Cell]] = {}
    for cell in cells:
        by_group.setdefault(cell[place], []).append(cell)
    for block in blocks:
        inside = tuple(cell for group in block.groups for cell in by_group.get(group, ()))
        yield ValueSum(inside, (), block.values, block.slack)


def _differences(
    one: Sequence[_Block], other: Sequence[_Block], places: tuple[int, int], cells: Counter[Cell]
) -> Iterator[ValueSum]:
    """For blocks of two releases that share people: who is in the one's and not in the other's."""
    first = {group: (0, n) for n, block in enumerate(one) for group in block.groups}
    second = {group: (1, n) for n, block in enumerate(other) for group in block.groups}
    both = [(cell, first.get(cell[places[0]]), second.get(cell[places[1]])) for cell in cells]
    above: dict[Hashable, Hashable] = {}
    for _, here, there in both:
        if here and there:
            _join(above, here, there)
    alone: dict[Hashable, tuple[list[Cell], list[Cell]]] = {}
    for cell, here, there in both:
        if (here is None) is not (there is None):
            alone.setdefault(_top(above, here or there), ([], []))[here is None].append(cell)
    mine: dict[Hashable, tuple[list[_Block], list[_Block]]] = {}
    for side, blocks in enumerate((one, other)):
        for n, block in enumerate(blocks):
            mine.setdefault(_top(above, (side, n)), ([], []))[side].append(block)
    for name, (plus, minus) in alone.items():
        more, fewer = mine[name]
        values = sum((block.values for block in more), Counter[Any]())
        values.subtract(sum((block.values for block in fewer), Counter[Any]()))
        slacks = sum(block.slack for block in more), sum(block.slack for block in fewer)
        yield ValueSum(tuple(plus), tuple(minus), values, *slacks)
