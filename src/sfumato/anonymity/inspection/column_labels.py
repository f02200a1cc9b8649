"""The labels of one column: which original values each of them stands for.

Comes in: the hierarchy of a column, if there is one, and its original values. Goes out: for a label its values. What a
label means is said by `meaning.covers`, value by value; here the same is found without looking at every value, since a
column may have thousands of values and of labels.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from sfumato.anonymity.inspection.meaning import (
    EMPTY,
    are_days,
    covers,
    day_of,
    has_meaning,
    is_period,
    labels_of,
    members,
    number_of,
    reach_of,
    read_label,
)
from sfumato.anonymity.inspection.trees import Trees


@dataclass(frozen=True)
class ColumnLabels:
    """A column with its hierarchy and its original values."""

    tree: Trees | None
    values: frozenset[str]

    def has_meaning(self, label: str) -> bool:
        """Whether a label can be read."""
        return has_meaning(label, self._labels, self.values)

    def covered(self, label: str) -> Sequence[str]:
        """The values that a label stands for, or may if it has no meaning.

        Checked by: unit::a_label_covers_what_it_covers_value_by_value, unit::thousands_of_labels_take_no_time
        """
        if label in self._labels:
            return [*self._below.get(label, ()), *self._one_by_one(label, self._beside)]
        if label and not label.strip("*"):
            return [*self.values]
        if label in EMPTY or (self._has_days and is_period(label)):
            return self._one_by_one(label, self.values)
        if "*" in label and "|" not in label:
            return self._matching(label)
        return self._of_set(label) if members(label) else self._between(label)

    def misleading(self, labels: Iterable[str]) -> set[str]:
        """Labels whose text excludes a value that the hierarchy puts under them."""
        wanted = {*labels} - {"*"}
        return {
            label
            for value in self.values
            for label in (self.tree or {}).get(value, ())
            if label in wanted and label != value and read_label(label, value) is False
        }

    def open_labels(self, labels: Iterable[str]) -> set[str]:
        """Labels `*`, and empty ones, that a row can have because its cell is hidden, or because the hierarchy has them
        above some values: nobody can tell which, and both are read as the hierarchy says.

        A value that is spelt so is itself, on every level.
        """
        every = frozenset(self.tree or ())
        found = ((name, self._levels.get(name, {})) for name in {*labels} & {"*", *EMPTY})
        return {
            name
            for name, levels in found
            if any(level and values not in (every, {name}) for level, values in levels.items())
        }

    def confused(self, labels: Iterable[str]) -> bool:
        """Whether a label has two meanings, or two labels each cover a value that is the other one's on the same level:
        nobody can tell which of the classes people are in.

        Guarantee: otherwise, two people of a release whom the same classes cover can be exchanged: each can have the
            other's row by what the labels mean, whatever the levels of the labels are.
        Proof: a label that a hierarchy has on one level, or above the same values on several, means these values and no
            others, so that `covered` is its meaning and not more; whoever is covered by a class can be in it. A label
            with other values on another level means one or the other, which no text tells, and local recoding mixes
            levels; so does a `*` or an empty label that may hide everything (`open_labels`). All of these are confused,
            also as members of a set. What is left are labels that no hierarchy lists: the labels of a release by one
            level are those of its people, and two people with different labels in the same classes are each covered by
            the label of the other.
        Reference: none; an exchange of two people.
        Checked by: unit::labels_that_can_be_taken_for_each_other_do_not_pass,
            unit::who_passes_is_one_of_k_by_the_hierarchy_alone_where_levels_mix
        """
        wanted = {*labels}
        if any(self._has_two_meanings(one) for label in wanted for one in (label, *self._parts(label))):
            return True
        owned: set[tuple[int, str, str]] = set()
        for label in wanted:
            for value in self.covered(label):
                row = (self.tree or {}).get(value, (value,))
                owned |= {(i, own, label) for i, own in enumerate(row) if own != label and own in wanted}
        return any((i, label, own) in owned for i, own, label in owned)

    def _has_two_meanings(self, label: str) -> bool:
        """Whether a hierarchy has a label above some values on one level, and above others on another."""
        levels = [values & self.values for values in self._levels.get(label, {}).values()]
        return len({*levels} - {frozenset()}) > 1 or bool(self.open_labels([label]))

    @cached_property
    def _levels(self) -> dict[str, dict[int, frozenset[str]]]:
        """What each label of the hierarchy stands for on each level; the values themselves are level 0."""
        found: dict[str, dict[int, set[str]]] = {}
        for value, row in (self.tree or {}).items():
            for level, label in enumerate(row):
                found.setdefault(label, {}).setdefault(level, set()).add(value)
        return {label: {level: frozenset(one) for level, one in levels.items()} for label, levels in found.items()}

    def _parts(self, label: str) -> frozenset[str]:
        """The members of a set, if the hierarchy does not list the set itself."""
        return frozenset() if label in self._labels else members(label)

    @cached_property
    def _labels(self) -> frozenset[str]:
        return labels_of(self.tree)

    @cached_property
    def _below(self) -> dict[str, list[str]]:
        """The values below each label of the hierarchy."""
        found: dict[str, list[str]] = {}
        for value in self.values:
            for label in {*(self.tree or {}).get(value, ())}:
                found.setdefault(label, []).append(value)
        return found

    @cached_property
    def _beside(self) -> list[str]:
        """Values that the hierarchy does not have."""
        return [value for value in self.values if value not in (self.tree or {})]

    @cached_property
    def _has_days(self) -> bool:
        return are_days(self.values) or any(day_of(value) is not None for value in self.values)

    @cached_property
    def _numbers(self) -> tuple[list[Decimal], list[str]]:
        """Values that are numbers, from low to high."""
        found = sorted((number, value) for value in self.values if (number := number_of(value)) is not None)
        return [number for number, _ in found], [value for _, value in found]

    @cached_property
    def _starts(self) -> dict[tuple[int, int], dict[str, list[str]]]:
        """Values by their length, with and without blanks around them, and by how they start; filled when needed."""
        return {}

    def _one_by_one(self, label: str, values: Iterable[str]) -> list[str]:
        answers = {value: covers(label, value, self.tree, self.values, self._labels) for value in values}
        opaque = None in answers.values() and not self.has_meaning(label)
        return [value for value, answer in answers.items() if answer or (answer is None and opaque)]

    def _matching(self, label: str) -> Sequence[str]:
        """The values of a pattern; those that start alike are looked up."""
        start = label.rstrip("*")
        if "*" in start:
            return self._one_by_one(label, self.values)
        places = len(label), len(start)
        if places not in self._starts:
            found = self._starts.setdefault(places, {})
            for value in self.values:
                for text in {value, value.strip()}:
                    if len(text) == len(label) and "\n" not in text[len(start) :]:
                        found.setdefault(text[: len(start)], []).append(value)
        return self._starts[places].get(start, [])

    def _of_set(self, label: str) -> Sequence[str]:
        """The values of all members; one that is an original value means that, or what the hierarchy says."""
        if not self.has_meaning(label):
            return self._one_by_one(label, self.values)
        if label in self.values:
            return [label]
        found: set[str] = set()
        for part in members(label):
            found |= {part, *self._below.get(part, ())} if part in self.values else {*self.covered(part)}
        return [*found]

    def _between(self, label: str) -> Sequence[str]:
        """The values that are numbers in a range, and the value that is spelt like the label."""
        numbers, texts = self._numbers
        reach = reach_of(label)
        if reach is not None and numbers:
            low, high, ends = reach
            first = (bisect_left if ends[0] == "[" else bisect_right)(numbers, low)
            last = (bisect_right if ends[1] == "]" else bisect_left)(numbers, high)
            found = texts[first:last]
            return found if label not in self.values or label in found else [*found, label]
        if label in self.values:
            return [label]
        return [] if self.tree is not None else [*self.values]
