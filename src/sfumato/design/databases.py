"""All databases over a finite domain, and which of them are neighbours. For questions that are settled by looking.

Comes in: values, sizes, an adjacency. Goes out: databases as tuples in the order of their records, and pairs of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

from sfumato.errors import InputError

Database = tuple[Any, ...]
ADJACENCIES = ("add-remove", "replace", "both")
LARGEST = 200_000
"""Databases that are looked at, one by one."""


def as_adjacency(word: Any) -> str:
    """Which two databases are neighbours: one record more or less, one record different, or either."""
    name = getattr(word, "value", word)
    if name not in ADJACENCIES:
        raise InputError(f"adjacency must be one of {', '.join(ADJACENCIES)}, but is {name!r}")
    return str(name)


@dataclass(frozen=True)
class DatabaseDomain:
    """Every database with a number of records from `smallest` to `largest`, each with one of the values."""

    values: tuple[Any, ...]
    smallest: int
    largest: int

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) != len(self.values):
            raise InputError("a domain has at least one value, and none twice")
        if not 0 <= self.smallest <= self.largest:
            raise InputError(f"sizes go from 0 up, not from {self.smallest} to {self.largest}")
        if self.count > LARGEST:
            raise InputError(
                f"there are {self.count} databases of these sizes, and at most {LARGEST} are looked at",
                hint="Name fewer values, with a larger step, or a smaller size.",
            )

    @property
    def count(self) -> int:
        """How many databases there are."""
        return sum(len(self.values) ** n for n in range(self.smallest, self.largest + 1))

    def all(self) -> Iterator[Database]:
        """Each of them, the small ones first."""
        for size in range(self.smallest, self.largest + 1):
            yield from product(self.values, repeat=size)

    def neighbours(self, adjacency: str) -> Iterator[tuple[Database, Database]]:
        """Every two neighbours: the second one is larger, or has a later value in the place that differs."""
        for one in self.all():
            if adjacency != "add-remove":
                yield from ((one, other) for other in self._replaced(one))
            if adjacency != "replace" and len(one) < self.largest:
                yield from ((one, other) for other in self._added(one))

    def steps(self) -> Iterator[tuple[Database, Database]]:
        """Every two databases that differ in one record, whose values follow each other in the list of values."""
        following = dict(zip(self.values, self.values[1:], strict=False))
        for one in self.all():
            for i, value in enumerate(one):
                if value in following:
                    yield one, (*one[:i], following[value], *one[i + 1 :])

    def equals(self) -> Iterator[tuple[Database, Database]]:
        """Any two databases of one size, once."""
        count = sum(len(self.values) ** (2 * n) for n in range(self.smallest, self.largest + 1))
        if count > 10 * LARGEST:
            raise InputError(
                f"there are {count} pairs of databases, and at most {10 * LARGEST} are looked at",
                hint="Name fewer values, with a larger step, or a smaller size.",
            )
        for size in range(self.smallest, self.largest + 1):
            here = list(product(self.values, repeat=size))
            yield from ((a, b) for i, a in enumerate(here) for b in here[i + 1 :])

    def _replaced(self, one: Database) -> Iterator[Database]:
        for i, value in enumerate(one):
            for other in self.values[self.values.index(value) + 1 :]:
                yield (*one[:i], other, *one[i + 1 :])

    def _added(self, one: Database) -> Iterator[Database]:
        for i in range(len(one) + 1):
            for value in self.values:
                yield (*one[:i], value, *one[i:])


def path_of(values: Sequence[Any]) -> bool:
    """Whether the values are numbers that go up: then steps from one to the next make up every distance."""
    return all(isinstance(value, (int, Fraction)) for value in values) and all(a < b for a, b in pairwise(values))
