"""Rows that follow the original ones more closely than chance allows: all but a few, a sample, in moved pieces.

Comes in: the kinds of released and original rows in their order, and groups of rows within which no column sorts them.
Goes out: a fault, if an order of the original rows is found. Kinds are small numbers, and every step over all rows is
one of arrays: most releases have no order, which takes all comparisons to see.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.anonymity.inspection.order import CHANCE, Unit, log_chance
from sfumato.anonymity.inspection.ranks import ranks_of
from sfumato.anonymity.inspection.traces import ReleaseFault

Ints = npt.NDArray[np.int64]
_PIECES = (2, 4, 8, 16, 32, 64)
"""Into how many pieces groups are divided, to be compared piece by piece with the whole original table."""
_LEAST_PIECE = 20
_WRITERS = range(2, 65)
"""Among how many writers rows can have been dealt in turn."""
_FIRST = 2_000
"""Rows that are compared then."""


def find_followed(
    blocks: Sequence[Sequence[int]],
    classes: Sequence[int],
    rows: Sequence[Hashable],
    people: Sequence[Hashable],
    columns: Mapping[str, Sequence[str]],
) -> Iterator[ReleaseFault]:
    """Rows in an order of the original ones. `blocks` are groups of released rows, `classes` their classes.

    `rows` and `people` are kinds: class and values as released. Rows of a group are compared with the original rows of
    their kinds, and once more class by class; in the order of the table, also piece by piece: rows that were dealt to
    several writers, or of which a part was shuffled.
    """
    numbers = {kind: n for n, kind in enumerate(dict.fromkeys(rows))}
    kinds = [numbers[kind] for kind in rows]
    inside: dict[tuple[int, int], list[int]] = {}
    for at, block in enumerate(blocks):
        for i in block:
            inside.setdefault((at, classes[i]), []).append(i)
    whole, parts = _Layout.of(blocks, kinds), _Layout.of(list(inside.values()), kinds)
    if not whole.parts:
        return  # whatever stands together is alike
    crowd = _Crowd.of([numbers.get(kind, -1) for kind in people], kinds, classes)
    orders: list[tuple[str | None, Sequence[float]]] = [(None, range(len(people)))]
    orders += [(column, ranks) for column, texts in columns.items() for ranks in ranks_of(texts)]
    pieces = [layout for many in _PIECES if (layout := whole.divided(many)).parts]
    limit = math.log(CHANCE / (8 * len(orders) + 2 * len(pieces) + 2 * len(_WRITERS)))
    for name, ranks in orders:
        numbered = np.asarray(ranks, np.float64)[crowd.who]
        for sign, way in ((1, ""), (-1, " backwards")):
            ordered = np.argsort(sign * numbered, kind="stable")
            found = min(log_chance(layout.units(crowd.kinds[ordered])) for layout in (whole, parts))
            if found >= limit and name is None:
                there = crowd.kinds[ordered]
                found = min([found, *(log_chance(layout.units(there)) for layout in pieces)])
                found = min([found, *(log_chance([unit]) for unit in _gathered(whole, there.tolist()))])
            if found >= limit and name is not None:
                fitted = crowd.kinds[crowd.fitted(ordered, sign * numbered)]
                found = min(
                    log_chance(whole.units(fitted)) + crowd.free(numbered),
                    log_chance(parts.units(fitted)) + crowd.free(numbered, crowd.classes),
                )
            if found < limit:
                what = "table" if name is None else "values"
                words = f"the rows follow the order of the original {what}{way}: by chance less than once in a million"
                yield ReleaseFault("order", words, name, 1)
                return


def _gathered(whole: _Layout, people: list[int]) -> Iterator[Unit]:
    """The first rows as they would stand if they had been dealt in turn to several writers, and joined."""
    if len(whole.parts) > 1:
        return  # sorted or grouped after that
    (rows,) = whole.parts
    for many in _WRITERS if len(rows) >= _LEAST_PIECE else ():
        size, longer = divmod(len(rows), many)
        starts = [i * size + min(i, longer) for i in range(many + 1)]
        turns = -(-_FIRST // many)
        hands = [rows[start : min(end, start + turns)] for start, end in pairwise(starts)]
        yield [one for turn in zip_longest(*hands) for one in turn if one is not None], people[: _FIRST + _FIRST // 4]


@dataclass(frozen=True)
class _Layout:
    """Groups of released rows by kind, those with one kind alone left out, and which groups have which kinds."""

    parts: list[list[int]]

    @classmethod
    def of(cls, groups: Sequence[Sequence[int]], kinds: Sequence[int]) -> _Layout:
        return cls([[kinds[i] for i in group] for group in groups if any(kinds[i] != kinds[group[0]] for i in group)])

    def divided(self, many: int) -> _Layout:
        """Every group in so many pieces."""
        parts = []
        for part in self.parts:
            size = -(-len(part) // many)
            if size >= _LEAST_PIECE:
                parts += [part[start : start + size] for start in range(0, len(part), size)]
        return _Layout([part for part in parts if len(set(part)) > 1])

    @cached_property
    def owners(self) -> tuple[Ints, Ints]:
        """Kinds and the groups that have them, by kind."""
        pairs = sorted({(kind, at) for at, part in enumerate(self.parts) for kind in part})
        return np.array([kind for kind, _ in pairs], np.int64), np.array([at for _, at in pairs], np.int64)

    def units(self, people: Ints) -> list[Unit]:
        """Every group beside the original rows of its kinds."""
        if not self.parts:
            return []
        kinds, groups = self.owners
        first = np.searchsorted(kinds, people, "left")
        many = np.searchsorted(kinds, people, "right") - first
        who = np.repeat(np.arange(len(people)), many)
        offset = np.arange(len(who)) - np.repeat(np.cumsum(many) - many, many)
        group = groups[np.repeat(first, many) + offset]
        ordered = np.argsort(group, kind="stable")
        ends = np.cumsum(np.bincount(group, minlength=len(self.parts)))[:-1]
        found = np.split(people[who[ordered]], ends)
        return [(part, there.tolist()) for part, there in zip(self.parts, found, strict=True)]


@dataclass(frozen=True)
class _Crowd:
    """Original rows of released kinds: which rows they are, their kinds, and their classes."""

    who: Ints
    kinds: Ints
    classes: Ints
    rows: Ints
    """Kinds of the released rows."""

    @classmethod
    def of(cls, people: Sequence[int], rows: Sequence[int], classes: Sequence[int]) -> _Crowd:
        found = np.array(people, np.int64)
        who = np.flatnonzero(found >= 0)
        home = np.zeros(max(rows) + 1, np.int64)
        home[np.array(rows)] = np.array(classes)
        return cls(who, found[who], home[found[who]], np.array(rows, np.int64))

    def fitted(self, ordered: Ints, numbers: npt.NDArray[np.float64]) -> Ints:
        """People by their numbers, those of one number as rows stand: the n-th released row of a kind is the n-th."""
        kinds = self.kinds[ordered]
        by_kind = np.argsort(kinds, kind="stable")
        starts = np.searchsorted(kinds[by_kind], kinds[by_kind], "left")
        nth = np.empty(len(kinds), np.int64)
        nth[by_kind] = np.arange(len(kinds)) - starts
        places = np.argsort(self.rows, kind="stable")
        released = self.rows[places]
        first, end = np.searchsorted(released, kinds, "left"), np.searchsorted(released, kinds, "right")
        there = first + nth < end
        at = np.where(there, places[np.minimum(first + nth, len(places) - 1)], len(places))
        chosen = np.lexsort((at, numbers[ordered]))
        return np.asarray(ordered[chosen])

    def free(self, numbers: npt.NDArray[np.float64], classes: Ints | None = None) -> float:
        """The logarithm of the number of orders among which those of people with one number were chosen."""
        groups = (
            _numbered(numbers) if classes is None else _numbered(numbers) * (int(classes.max(initial=0)) + 1) + classes
        )
        tied = np.unique(groups, return_counts=True)[1]
        alike = np.unique(_numbered(groups) * (int(self.kinds.max(initial=0)) + 1) + self.kinds, return_counts=True)[1]
        return float(_log_factorials(tied).sum() - _log_factorials(alike).sum())


def _numbered(values: npt.NDArray[Any]) -> Ints:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _log_factorials(counts: Ints) -> npt.NDArray[np.float64]:
    sums = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, int(counts.max(initial=1)) + 1)))])
    return np.asarray(sums[counts])
