"""What several releases of the same people leave together: groups that one release alone does not show.

Comes in: releases beside the original rows: sensitive values by class, and for each person the classes that cover her.
Goes out: the groups of people whom no release tells apart. Who is in one release and not in another is told apart by
that too: subtraction. Rows that the same people have more or fewer of in two releases are those of who came or left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.anonymity.inspection.homes import places

Mark = tuple[int, ...]
Place = tuple[int, int]
"""Which of two releases, and which of its classes."""


@dataclass(frozen=True)
class EarlierRelease:
    """An earlier release of the same people, and its quasi-identifiers; without them all columns count as known."""

    file: str | Path
    quasi: tuple[str, ...] = ()


@dataclass(frozen=True)
class ShownRelease:
    """A release beside the original rows: sensitive values by class, and for each original row a bit for each class."""

    name: str
    classes: list[Counter[str]]
    masks: list[int]

    def classes_of(self, mask: int) -> list[Counter[str]]:
        """The classes of a mask."""
        found = []
        while mask:
            low = mask & -mask
            found.append(self.classes[low.bit_length() - 1])
            mask ^= low
        return found


@dataclass(frozen=True)
class JointGroup:
    """People of the same classes in all releases, and their sensitive values."""

    size: int
    values: Counter[str]


def joint_groups(shown: Sequence[ShownRelease], values: Sequence[str]) -> list[JointGroup]:
    """The groups that all releases leave together.

    A group that one release leaves by itself is what that release shows: its classes, which can overlap, so that a copy
    of a release adds nothing. A weaker release among them makes all of them as weak.
    """
    alone = [Counter(one.masks) for one in shown]
    groups: dict[Mark, Counter[str]] = {}
    for mark, value in zip(zip(*(one.masks for one in shown), strict=True), values, strict=True):
        if any(mark):
            groups.setdefault(mark, Counter())[value] += 1
    found = []
    for mark, counts in groups.items():
        own = [i for i, mask in enumerate(mark) if mask and alone[i][mask] == counts.total()]
        if own:
            parts = [part for i in own if i for part in shown[i].classes_of(mark[i])]  # the first is judged by itself
            found += [JointGroup(part.total(), part) for part in parts]
        else:
            found.append(JointGroup(counts.total(), counts))
    return found


def changed_groups(one: ShownRelease, other: ShownRelease) -> Iterator[JointGroup]:
    """Rows that one of two releases has more of: somebody came or left.

    Where their labels cover the same people, the difference is theirs. Who is in one of them alone is in a joint group;
    but where the classes that cover her overlap, that group is judged by these classes. There, if they have a row for
    everybody whom they cover, what the other release lacks are the rows of all who are not in it.
    """
    pairs = Counter(pair for pair in zip(one.masks, other.masks, strict=True) if any(pair))
    parts = _Parts()
    for pair in pairs:
        parts.join([(side, i) for side, mask in enumerate(pair) for i in places(mask)])
    rows: dict[Place, tuple[Counter[str], Counter[str]]] = {}
    for at in list(parts.above):
        rows.setdefault(parts.top(at), (Counter(), Counter()))[at[0]].update((one, other)[at[0]].classes[at[1]])
    apart = _apart(parts, pairs)
    for name, sides in rows.items():
        if name not in apart:
            found = [sides[0] - sides[1], sides[1] - sides[0]]
        else:
            full = [at for at, many in apart[name].items() if sides[at].total() == many and sides[1 - at] <= sides[at]]
            found = [sides[at] - sides[1 - at] for at in full if sides[1 - at]]
        yield from (JointGroup(rest.total(), rest) for rest in found if rest)


def _apart(parts: _Parts, pairs: Mapping[tuple[int, int], int]) -> dict[Place, dict[int, int]]:
    """Parts with people who are in one release alone; where their classes overlap, how many that release covers."""
    sharing = Counter((at, i) for at in (0, 1) for mask in {pair[at] for pair in pairs} for i in places(mask))
    many: Counter[tuple[Place, int]] = Counter()
    found: dict[Place, dict[int, int]] = {}
    for pair, people in pairs.items():
        sides = [at for at in (0, 1) if pair[at]]
        name = parts.top((sides[0], next(places(pair[sides[0]]))))
        many.update({(name, at): people for at in sides})
        if len(sides) == 1:
            mixed = found.setdefault(name, {})
            if any(sharing[sides[0], i] > 1 for i in places(pair[sides[0]])):
                mixed[sides[0]] = 0
    return {name: {at: many[name, at] for at in mixed} for name, mixed in found.items()}


@dataclass(frozen=True)
class _Parts:
    """Classes of two releases in parts that share people."""

    above: dict[Place, Place] = field(default_factory=dict)

    def top(self, at: Place) -> Place:
        self.above.setdefault(at, at)
        while self.above[at] != at:
            self.above[at] = self.above[self.above[at]]
            at = self.above[at]
        return at

    def join(self, places: Sequence[Place]) -> None:
        for at in places:
            self.above[self.top(at)] = self.top(places[0])
