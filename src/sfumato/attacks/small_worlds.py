"""What several releases leave of small parts of a table: every way to give rows to people, by dynamic programming.

Comes in: cells of people whom no release tells apart, and the classes of each release. Goes out: for each cell of a
part that is small enough the values that its people have in some world. Classes tie cells together; parts are what no
class ties, and are worked out by themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

Cell = tuple[tuple[int, ...], ...]
"""The classes that cover a person in each release."""
Choice = tuple[Any, tuple[int, ...]]
"""A value, and the places of the rows that a person has with it: one at most of each release."""
_MOST_PEOPLE = 40
_MOST_STEPS = 200_000
"""Steps for all parts together: a second or two."""


class _TooManyError(Exception):
    """There are more ways than may be tried."""


def values_in_some_world(
    cells: Mapping[Cell, int], classes: Sequence[Sequence[Counter[Any]]]
) -> dict[Cell, set[Any] | None]:
    """For each cell of a small part the values of its people in all worlds; None where somebody can have no row at all.

    Guarantee: exactly the values of some way to give each row to a different person of a cell that its class covers, in
        every release, each person with one value. Parts without such a way, or with too many, are left out.
    Proof: every way is a path through the people of a part; rows that are left after a person are all that later people
        depend on.
    Reference: Bellman 1957; Irving and Jerrum 1994.
    Checked by: attacks::small_releases_together_leave_exactly_what_some_world_has
    """
    found: dict[Cell, set[Any] | None] = {}
    steps = _MOST_STEPS
    for part in _parts(cells):
        if sum(cells[cell] for cell in part) > _MOST_PEOPLE:
            continue
        ways = _Ways([cell for cell in part for _ in range(cells[cell])], classes, steps)
        try:
            found |= ways.values()
        except _TooManyError:
            pass
        steps = max(0, ways.steps)
    return found


def _parts(cells: Mapping[Cell, int]) -> list[list[Cell]]:
    """Cells that classes tie together."""
    above: dict[Any, Any] = {}

    def top(at: Any) -> Any:
        above.setdefault(at, at)
        while above[at] != at:
            above[at] = above[above[at]]
            at = above[at]
        return at

    for cell in cells:
        for release, group in enumerate(cell):
            for at in group:
                above[top((release, at))] = top(cell)
    parts: dict[Any, list[Cell]] = {}
    for cell in cells:
        parts.setdefault(top(cell), []).append(cell)
    return sorted(parts.values(), key=len)


@dataclass
class _Ways:
    """The ways to give rows to some people, one person after the other."""

    people: Sequence[Cell]
    classes: Sequence[Sequence[Counter[Any]]]
    steps: int
    _ends: dict[tuple[int, tuple[int, ...]], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        covered = sorted({(r, at) for cell in self.people for r, group in enumerate(cell) for at in group})
        rows = [((r, at, v), many) for r, at in covered for v, many in self.classes[r][at].items()]
        self._places = {row: i for i, (row, _) in enumerate(rows)}
        self._start = tuple(many for _, many in rows)
        self._choices = {cell: list(self._rows(cell)) for cell in set(self.people)}

    def _rows(self, cell: Cell) -> Iterator[Choice]:
        """What a person of a cell can have: a value with a row of some releases, or no row at all."""
        known = {v for r, group in enumerate(cell) for at in group for v in self.classes[r][at]}
        yield None, ()
        for value in known:
            here = [[None, *(p for at in group if (p := self._places.get((r, at, value))) is not None)]
                    for r, group in enumerate(cell)]  # fmt: skip
            for chosen in product(*here):
                taken = tuple(place for place in chosen if place is not None)
                if taken:
                    yield value, taken

    def _next(self, at: int, left: tuple[int, ...]) -> Iterator[tuple[Choice, tuple[int, ...]]]:
        """What the next person can have of the rows that are left, and the rest."""
        for value, taken in self._choices[self.people[at]]:
            self.steps -= 1
            if self.steps < 0:
                raise _TooManyError
            if all(left[place] for place in taken):
                yield (value, taken), tuple(n - (place in taken) for place, n in enumerate(left))

    def _can_end(self, at: int, left: tuple[int, ...]) -> bool:
        """Whether the rows that are left can all be given to the people from here on."""
        if at == len(self.people):
            return not any(left)
        if (at, left) not in self._ends:
            self._ends[at, left] = any(self._can_end(at + 1, after) for _, after in self._next(at, left))
        return self._ends[at, left]

    def values(self) -> dict[Cell, set[Any] | None]:
        """For each cell the values of its people in some way; None where somebody can have no row."""
        if not self._can_end(0, self._start):
            return {}
        found: dict[Cell, set[Any]] = {cell: set() for cell in self.people}
        free: set[Cell] = set()
        reached = {self._start}
        for at, cell in enumerate(self.people):
            after = set()
            for left in reached:
                for (value, taken), rest in self._next(at, left):
                    if self._can_end(at + 1, rest):
                        after.add(rest)
                        found[cell] |= {value} if taken else set()
                        free |= set() if taken else {cell}
            reached = after
        return {cell: None if cell in free else values for cell, values in found.items()}
