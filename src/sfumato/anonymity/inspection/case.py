"""A release beside its original table: rows by class, which classes cover whom, distances.

Comes in: both tables, the columns, what is claimed. Goes out: what every part of the check looks at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sfumato.anonymity.inspection.claims import Claims
from sfumato.anonymity.inspection.coverage import Coverage, Key
from sfumato.anonymity.inspection.exact import equal_distance, hierarchical_distance, in_order, ordered_distance
from sfumato.anonymity.inspection.reading import PublishedTable
from sfumato.anonymity.inspection.trees import Trees


@dataclass(frozen=True)
class ReleaseCase:
    """A release beside its original table: rows by class, and which classes cover whom."""

    published: PublishedTable
    original: PublishedTable
    columns: Key
    sensitive: str | None
    classes: dict[Key, Counter[str]]
    people: dict[Key, Counter[str]]
    coverage: Coverage
    trees: dict[str, Trees]
    order: Sequence[str]
    claims: Claims

    @property
    def least(self) -> int:
        """The rows of the smallest class."""
        return min(one.total() for one in self.classes.values())

    @cached_property
    def total(self) -> Counter[str]:
        """How often the original table has each sensitive value."""
        total: Counter[str] = Counter()
        for one in self.people.values():
            total.update(one)
        return total

    @cached_property
    def names(self) -> list[str]:
        """Sensitive values that occur, from low to high: a name that nobody has would only make steps smaller."""
        known = {*self.total, *(value for one in self.classes.values() for value in one)}
        return [name for name in self.order if name in known] or in_order(known)

    def distance(self, kind: str, values: Counter[str]) -> Fraction | None:
        """How far sensitive values are from those of the original table; None where the distance is not known."""
        if kind == "equal":
            return equal_distance(values, self.total)
        if kind == "ordered":
            return ordered_distance(values, self.total, self.names)
        tree = self.trees.get(self.sensitive or "")
        if not tree or not all(name in tree for name in (*self.names, *values)):
            return None
        return hierarchical_distance(values, self.total, tree)

    @cached_property
    def distances(self) -> dict[str, Fraction]:
        """How far the farthest class is from the original table, by each distance that can be computed."""
        if self.sensitive is None:
            return {}
        found: dict[str, Fraction] = {}
        for kind in ("equal", "ordered", "hierarchical"):
            far = [self.distance(kind, one) for one in self.classes.values()]
            known = [one for one in far if one is not None]
            if known:
                found[kind] = max(known)
        return found


def values_of(table: PublishedTable, sensitive: str | None) -> list[str]:
    """The sensitive values of the rows; empty ones where no column is sensitive."""
    return table.cells(sensitive) if sensitive else [""] * len(table.rows)
