"""A release as an attacker reads it: its classes, and the classes whose labels cover each person.

Comes in: a published table, what is known of people, hierarchies. Goes out: a ReleaseView. Labels are read as
`release-check` reads them.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.anonymity.inspection.coverage import cover
from sfumato.anonymity.inspection.reading import PublishedTable, read_published
from sfumato.anonymity.inspection.trees import read_trees
from sfumato.attacks.base import Knowledge, plain
from sfumato.attacks.matching import Candidates, Forced, forced
from sfumato.attacks.spelling import Spelling
from sfumato.errors import InputError

_MOST_WAYS = 256
"""Spellings of what is known of one person, at most."""


@dataclass(frozen=True)
class ReleaseView:
    """A release as the attacker sees it: sensitive values by class, and the classes that each person can be in.

    `crowd` are the candidates of everybody in the table; `everybody` says whether that is so.
    """

    name: str
    classes: tuple[Counter[Any], ...]
    candidates: tuple[Candidates, ...]
    crowd: tuple[Candidates, ...]
    everybody: bool = True

    @cached_property
    def groups(self) -> Counter[Candidates]:
        """How many people have which candidates."""
        return Counter(self.crowd)

    @cached_property
    def fitting(self) -> Counter[int]:
        """How many people fit each class."""
        found: Counter[int] = Counter()
        for group, many in self.groups.items():
            for at in group:
                found[at] += many
        return found

    @cached_property
    def forced(self) -> Forced:
        """What follows if every row is somebody's; nothing where it is not known who is there."""
        if not self.everybody:
            return Forced({}, frozenset())
        return forced(self.groups, [one.total() for one in self.classes])

    def has_rows_for_all(self, person: int) -> bool:
        """Whether the person has a row for certain."""
        return self.candidates[person] in self.forced.sure

    def values(self, group: Candidates) -> Counter[Any]:
        """The sensitive values of all rows that can be those of people with these candidates."""
        total: Counter[Any] = Counter()
        for at in self.left_of(group):
            total.update(self.classes[at])
        return total

    def shares(self, group: Candidates) -> dict[Any, Fraction]:
        """How probable each value is: a class counts by how many of those who fit it have a row there."""
        weights = {at: Fraction(self.classes[at].total(), max(1, self.fitting[at])) for at in self.left_of(group)}
        whole = sum(weights.values(), Fraction(0))
        found: dict[Any, Fraction] = {}
        for at, weight in weights.items():
            for value, many in self.classes[at].items():
                part = weight * Fraction(many, self.classes[at].total()) / whole
                found[value] = found.get(value, Fraction(0)) + part
        return found

    def left_of(self, group: Candidates) -> Candidates:
        """The classes that people with these candidates can be in; the candidates where nothing follows."""
        return self.forced.left.get(group, group)


def view(
    file: str | Path,
    knowledge: Knowledge,
    hierarchies: Path | None,
    spelling: Spelling | None = None,
    everybody: Sequence[Mapping[str, Any]] | None = None,
) -> ReleaseView:
    """Read a release, and find everybody's classes.

    `everybody` has what is known of all people of the table; without it they are those whom the attacker knows.
    """
    table = read_published(file)
    if knowledge.fact.column not in table.columns:
        raise InputError(f'"{table.name}" has no column "{knowledge.fact.column}"')
    columns = tuple(c for c in knowledge.people[0].known if c in table.columns and c != knowledge.fact.column)
    if not columns:
        raise InputError(f'"{table.name}" has no column that is known of people', hint="Name some with --known A,B.")
    crowd = everybody or [*(one.known for one in knowledge.people), *knowledge.others]
    complete = everybody is not None or not knowledge.only
    return _view(
        table, columns, knowledge, hierarchies, spelling=spelling or Spelling(), crowd=crowd, complete=complete
    )


def _view(
    table: PublishedTable,
    columns: tuple[str, ...],
    knowledge: Knowledge,
    place: Path | None,
    *,
    spelling: Spelling,
    crowd: Sequence[Mapping[str, Any]],
    complete: bool,
) -> ReleaseView:
    hidden = knowledge.fact.column
    classes: dict[tuple[str, ...], Counter[Any]] = {}
    cells, own = table.cells(hidden), [plain(one[hidden]) for one in crowd if hidden in one]
    values = spelling.secrets(table.name, knowledge.fact, {*cells}, own)
    if own and Counter(repr(values[text]) for text in cells) - Counter(map(repr, own)):
        complete = False  # more rows with a secret than people: some are nobody's here, and nothing is certain
    for key, text in zip(table.parts(columns), cells, strict=True):
        classes.setdefault(key, Counter())[values[text]] += 1
    known = [_texts(one.known, columns, spelling) for one in knowledge.people]
    others = [_texts(one, columns, spelling) for one in crowd]
    people = {key: Counter({"": 1}) for keys in (*known, *others) for key in keys}
    labels: list[tuple[tuple[str, ...], Counter[str]]] = [(key, Counter()) for key in classes]
    masks = cover(columns, labels, people, read_trees(place, columns)).masks
    found = {keys: _places(keys, masks) for keys in {*known, *others}}
    return ReleaseView(
        table.name,
        tuple(classes.values()),
        tuple(found[keys] for keys in known),
        tuple(found[keys] for keys in others),
        complete,
    )


def _texts(known: Mapping[str, Any], columns: tuple[str, ...], spelling: Spelling) -> tuple[tuple[str, ...], ...]:
    """What is known of somebody, in every way in which it is spelt."""
    ways = [spelling.of(c, plain(known[c])) for c in columns]
    if math.prod(map(len, ways)) > _MOST_WAYS:
        ways = [way[:1] for way in ways]
    return tuple(itertools.product(*ways))


def _places(keys: tuple[tuple[str, ...], ...], masks: Mapping[tuple[str, ...], int]) -> Candidates:
    """The classes that cover one of the spellings."""
    mask, found = 0, []
    for key in keys:
        mask |= masks[key]
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)
