"""Whether every released row can stand for an original row: each for one of its own, with the same sensitive value.

Comes in: the classes of a release and the original rows. Goes out: the classes that claim more rows than there are, and
for each original combination which classes cover it. Sets of classes are whole numbers, one bit for a class.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sfumato.anonymity.inspection.column_labels import ColumnLabels
from sfumato.anonymity.inspection.trees import Trees
from sfumato.interrupts import check_wanted

Key = tuple[str, ...]
_MOST_EDGES = 2_000_000
"""Pairs of combinations and classes up to which overlapping classes are matched exactly."""


@dataclass(frozen=True)
class Coverage:
    """`masks`: for each original combination the classes that cover it. `short`: class, value, missing rows.

    `unread` has the labels of each column whose meaning is not known, which count as covering everything, `misleading`
    those whose text excludes a value that the hierarchy puts under them. `confused` are columns in which two labels can
    be taken for each other, so that people may not be in the classes that cover them. `open_labels` are those of each
    column that hide a cell, or that the hierarchy has above some values: nobody can tell which. `exact` is False where
    classes overlap too much to be matched and only each class for itself was looked at.
    """

    masks: dict[Key, int]
    short: list[tuple[int, str, int]]
    unread: dict[str, list[str]]
    exact: bool
    by_column: list[dict[str, int]]
    misleading: dict[str, list[str]]
    confused: tuple[str, ...] = ()
    open_labels: dict[str, list[str]] = field(default_factory=dict)

    def culprit(self, at: int, value: str, raw: dict[Key, Counter[str]], wanted: int) -> int | None:
        """The column whose label alone explains why a class lacks rows, if there is one."""
        bit = 1 << at
        for skipped in range(len(self.by_column)):
            have = 0
            for key, counts in raw.items():
                others = (m[v] for j, (m, v) in enumerate(zip(self.by_column, key, strict=True)) if j != skipped)
                if counts[value] and all(mask & bit for mask in others):
                    have += counts[value]
            if have >= wanted:
                return skipped
        return None


def cover(
    columns: Sequence[str],
    classes: Sequence[tuple[Key, Counter[str]]],
    raw: dict[Key, Counter[str]],
    trees: dict[str, Trees],
) -> Coverage:
    """Match the rows of every class with original rows that its labels cover."""
    by_column, unread, misleading, confused, open_labels = [], {}, {}, [], {}
    for j, column in enumerate(columns):
        labels = ColumnLabels(trees.get(column), frozenset(key[j] for key in raw))
        found, opaque = _column(j, classes, labels)
        by_column.append(found)
        if opaque:
            unread[column] = sorted(opaque)
        shown = {key[j] for key, _ in classes}
        wrong = labels.misleading(shown)
        if wrong:
            misleading[column] = sorted(wrong)
        if labels.confused(shown):
            confused.append(column)
        either = labels.open_labels(shown)
        if either:
            open_labels[column] = sorted(either)
    masks = _masks(len(classes), by_column, raw)
    short, exact = _match(classes, raw, masks)
    return Coverage(masks, short, unread, exact, by_column, misleading, tuple(confused), open_labels)


def _masks(many: int, by_column: Sequence[dict[str, int]], raw: Iterable[Key]) -> dict[Key, int]:
    """For each combination the classes that cover it; equal sets are one object, as there are few different ones."""
    masks: dict[Key, int] = {}
    known: dict[int, int] = {}
    full = (1 << many) - 1
    for key in raw:
        check_wanted()
        mask = full
        for one, value in zip(by_column, key, strict=True):
            mask &= one[value]
        masks[key] = known.setdefault(mask, mask)
    return masks


def _column(
    j: int, classes: Sequence[tuple[Key, Counter[str]]], labels: ColumnLabels
) -> tuple[dict[str, int], set[str]]:
    """For each original value of a column the classes whose label covers it."""
    bits: dict[str, int] = {}
    for at, (key, _) in enumerate(classes):
        bits[key[j]] = bits.get(key[j], 0) | 1 << at
    opaque = {label for label in bits if not labels.has_meaning(label)}
    found = dict.fromkeys(labels.values, 0)
    for label, mask in bits.items():
        for value in labels.covered(label):
            found[value] |= mask
    return found, opaque


def _match(
    classes: Sequence[tuple[Key, Counter[str]]], raw: dict[Key, Counter[str]], masks: dict[Key, int]
) -> tuple[list[tuple[int, str, int]], bool]:
    open_: dict[str, dict[int, int]] = {}
    for at, (_, counts) in enumerate(classes):
        for value, many in counts.items():
            open_.setdefault(value, {})[at] = many
    shared: dict[str, Counter[int]] = {}
    for key, counts in raw.items():
        mask = masks[key]
        for value, many in counts.items():
            if mask and not mask & (mask - 1):  # one class alone: its rows go there
                _take(open_.get(value, {}), mask.bit_length() - 1, many)
            elif mask:
                shared.setdefault(value, Counter())[mask] += many
    edges = sum(mask.bit_count() for groups in shared.values() for mask in groups)
    if edges > _MOST_EDGES:
        return _each_alone(classes, raw, masks), False
    for value, needs in open_.items():
        _flow(needs, shared.get(value, Counter()))
    return [(at, value, many) for value, needs in open_.items() for at, many in needs.items() if many > 0], True


def _take(needs: dict[int, int], at: int, many: int) -> None:
    if at in needs:
        needs[at] = max(0, needs[at] - many)


def _each_alone(
    classes: Sequence[tuple[Key, Counter[str]]], raw: dict[Key, Counter[str]], masks: dict[Key, int]
) -> list[tuple[int, str, int]]:
    """A condition that is necessary only: each class for itself has enough original rows."""
    have: list[Counter[str]] = [Counter() for _ in classes]
    for key, counts in raw.items():
        for at in places(masks[key]):
            have[at].update(counts)
    return [
        (at, value, many - have[at][value])
        for at, (_, counts) in enumerate(classes)
        for value, many in counts.items()
        if many > have[at][value]
    ]


def _flow(needs: dict[int, int], supply: Counter[int]) -> None:
    """Give rows of several classes to those that need them: augmenting paths, shortest first."""
    flow = _Flow(needs, supply)
    flow.start()
    for at in [at for at, many in needs.items() if many > 0]:
        check_wanted()
        while needs[at] > 0 and flow.augment(at):
            pass


@dataclass(frozen=True)
class _Flow:
    """Rows that classes need, rows that are free by the set of classes that cover them, and who was given which."""

    needs: dict[int, int]
    supply: Counter[int]
    given: dict[int, Counter[int]] = field(default_factory=dict)

    def start(self) -> None:
        """Whatever is free goes to the first that needs it."""
        for mask in list(self.supply):
            for at in places(mask):
                many = min(self.supply[mask], self.needs.get(at, 0))
                if many:
                    self.supply[mask] -= many
                    self.needs[at] -= many
                    self.given.setdefault(at, Counter())[mask] += many

    def augment(self, start: int) -> bool:
        """One path from a class that lacks rows, through classes that could do with others, to rows that are free."""
        came: dict[int, tuple[int, int] | None] = {start: None}
        queue = deque([start])
        while queue:
            at = queue.popleft()
            for mask in self.supply:
                if not mask >> at & 1:
                    continue
                if self.supply[mask] > 0:
                    self._move(at, mask, came)
                    return True
                for other in places(mask):
                    if other not in came and self.given.get(other, Counter())[mask] > 0:
                        came[other] = (at, mask)
                        queue.append(other)
        return False

    def _move(self, at: int, mask: int, came: dict[int, tuple[int, int] | None]) -> None:
        """One row along the path."""
        self.supply[mask] -= 1
        self.given.setdefault(at, Counter())[mask] += 1
        step = came[at]
        while step is not None:
            before, through = step
            self.given[at][through] -= 1
            self.given.setdefault(before, Counter())[through] += 1
            at, step = before, came[before]
        self.needs[at] -= 1


def count_covered(many: int, people: dict[Key, Counter[str]], masks: dict[Key, int]) -> list[int]:
    """For each of so many classes the people whom its labels cover."""
    found = [0] * many
    for key, counts in people.items():
        for at in places(masks[key]):
            found[at] += counts.total()
    return found


def places(mask: int) -> Iterator[int]:
    """The bits of a mask that are set."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
