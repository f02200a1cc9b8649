"""Rows that follow the original ones more closely than chance allows: all but a few, a sample, in moved pieces.

Comes in: the kinds of released and original rows in their order, and groups of rows within which no column sorts them.
Goes out: a fault, if an order of the original rows is found. Kinds are small numbers: that a release has no order takes
all comparisons to see.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, zip_longest
from operator import itemgetter

from sfumato.anonymity.inspection.order import CHANCE, Unit, log_chance
from sfumato.anonymity.inspection.ranks import ranks_of
from sfumato.anonymity.inspection.traces import ReleaseFault

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
    crowd = _Crowd([(i, n) for i, kind in enumerate(people) if (n := numbers.get(kind, -1)) >= 0], kinds, classes)
    orders: list[tuple[str | None, Sequence[float]]] = [(None, range(len(people)))]
    orders += [(column, ranks) for column, texts in columns.items() for ranks in ranks_of(texts)]
    pieces = [layout for many in _PIECES if (layout := whole.divided(many)).parts]
    limit = math.log(CHANCE / (8 * len(orders) + 2 * len(pieces) + 2 * len(_WRITERS)))
    for name, ranks in orders:
        for sign, way in ((1, ""), (-1, " backwards")):
            ordered = crowd.sorted(ranks, sign)
            there = [kind for _, kind in ordered]
            found = min(log_chance(layout.units(there)) for layout in (whole, parts))
            if found >= limit and name is None:
                found = min([found, *(log_chance(layout.units(there)) for layout in pieces)])
                found = min([found, *(log_chance([unit]) for unit in _gathered(whole, there))])
            elif found >= limit:
                fitted = crowd.fitted(ordered)
                found = min(
                    log_chance(whole.units(fitted)) + crowd.free(ordered),
                    log_chance(parts.units(fitted)) + crowd.free(ordered, by_class=True),
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
    (rows,), there = whole.parts, people[: _FIRST + _FIRST // 4]
    for many in _WRITERS if len(rows) >= _LEAST_PIECE else ():
        size, longer = divmod(len(rows), many)
        starts = [i * size + min(i, longer) for i in range(many + 1)]
        turns = -(-_FIRST // many)
        hands = [rows[start : min(end, start + turns)] for start, end in pairwise(starts)]
        yield [one for turn in zip_longest(*hands) for one in turn if one is not None], there


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
    def owners(self) -> dict[int, list[int]]:
        """The groups that have each kind."""
        found: dict[int, list[int]] = {}
        for at, part in enumerate(self.parts):
            for kind in set(part):
                found.setdefault(kind, []).append(at)
        return found

    def units(self, people: Sequence[int]) -> list[Unit]:
        """Every group beside the original rows of its kinds."""
        found: list[list[int]] = [[] for _ in self.parts]
        owners = self.owners
        for kind in people:
            for at in owners.get(kind, ()):
                found[at].append(kind)
        return list(zip(self.parts, found, strict=True))


@dataclass(frozen=True)
class _Crowd:
    """Original rows of released kinds, each with its kind; kinds and classes of the released rows."""

    people: list[tuple[int, int]]
    rows: list[int]
    classes: Sequence[int]

    @cached_property
    def homes(self) -> dict[int, int]:
        """The class of each kind."""
        return dict(zip(self.rows, self.classes, strict=True))

    @cached_property
    def places(self) -> dict[int, list[int]]:
        """Where each kind stands in the release, the first place last."""
        found: dict[int, list[int]] = {}
        for i in range(len(self.rows) - 1, -1, -1):
            found.setdefault(self.rows[i], []).append(i)
        return found

    def sorted(self, ranks: Sequence[float], sign: int) -> list[tuple[float, int]]:
        """Numbers and kinds of people by their numbers, those of one number in the order of the table."""
        return sorted(((sign * ranks[i], kind) for i, kind in self.people), key=itemgetter(0))

    def fitted(self, ordered: Sequence[tuple[float, int]]) -> list[int]:
        """People by their numbers, those of one number as rows stand: the n-th released row of a kind is the n-th."""
        places, behind = {kind: list(there) for kind, there in self.places.items()}, len(self.rows)
        marked = [(number, there.pop() if (there := places[kind]) else behind, kind) for number, kind in ordered]
        return [kind for _, _, kind in sorted(marked)]

    def free(self, ordered: Sequence[tuple[float, int]], *, by_class: bool = False) -> float:
        """The logarithm of the number of orders among which those of people with one number were chosen."""
        homes = self.homes if by_class else dict.fromkeys(self.homes, 0)
        alike = Counter(ordered)
        tied: Counter[tuple[float, int]] = Counter()
        for (number, kind), many in alike.items():
            tied[number, homes[kind]] += many
        return sum(map(_log_factorial, tied.values())) - sum(map(_log_factorial, alike.values()))


def _log_factorial(many: int) -> float:
    return math.lgamma(many + 1)
