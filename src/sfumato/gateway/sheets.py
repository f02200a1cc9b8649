"""Released whole numbers as tables: for the engine above the cut, for later stages, and for intervals.

Comes in: the cuts of a plan and what was drawn of them. Goes out: sheets: keys, released columns on the grids of their
types, and beside them, where a statement reads them, the numbers as they were drawn (see `sql.fine`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from itertools import chain
from typing import Any

from sfumato.sql.aggregates.base import DISTINCT
from sfumato.sql.bind import Question
from sfumato.sql.bundles import Source
from sfumato.sql.cut import Cut, Part, Released, value_of
from sfumato.sql.fine import fine_name
from sfumato.sql.public import table_of
from sfumato.sql.tree import DATE, Aggregate, Column
from sfumato.words import Sheet, identifier


@dataclass(frozen=True)
class Drawn:
    """What was released of one grouping set: the open keys that were chosen, and whole numbers by bundle and group."""

    keys: tuple[tuple[Any, ...], ...]
    cells: tuple[tuple[tuple[int, ...], ...], ...]


Draws = tuple[tuple[Drawn, ...], ...]
"""What was released: by cut, by grouping set."""


class Numbers:
    """The released numbers of one cut, row by row."""

    def __init__(self, cut: Cut, drawn: tuple[Drawn, ...]) -> None:
        self.cut, self.drawn = cut, drawn
        self.sizes = [_count(part, found) for part, found in zip(cut.parts, drawn, strict=True)]
        self.count = sum(self.sizes)

    def part(self, row: int) -> tuple[Part, Drawn, int]:
        """The grouping set of a released row, and which group of it the row is."""
        which = 0
        while row >= self.sizes[which]:
            row, which = row - self.sizes[which], which + 1
        return self.cut.parts[which], self.drawn[which], row

    def of(self, row: int, source: Source) -> Released | None:
        """What was released for an aggregate in a row; a constant has nothing."""
        return None if source.bundle < 0 else self.part(row)[0].bundles[source.bundle]

    def keys(self) -> list[list[Any]]:
        """Each key of the release for all released rows; NULL where a grouping set leaves it out."""
        parts = list(zip(self.cut.parts, self.drawn, strict=True))
        listed = [[_key(i, part, drawn) for part, drawn in parts] for i in range(len(self.cut.release.keys))]
        return [found[0] if len(found) == 1 else list(chain.from_iterable(found)) for found in listed]

    def sums(self, row: int, bundle: int) -> tuple[Fraction, ...]:
        """The noisy sums of a bundle in a row."""
        if bundle < 0:
            return ()
        part, drawn, group = self.part(row)
        return tuple(cell * part.bundles[bundle].unit for cell in drawn.cells[bundle][group])


def _count(part: Part, drawn: Drawn) -> int:
    """How many groups a grouping set has."""
    return len(part.groups) * (len(drawn.keys) if part.chosen else 1)


def sheets(cuts: tuple[Cut, ...], draws: Draws, sql: str) -> tuple[Sheet, ...]:
    """Released tables, as an engine reads them for these statements: fine columns only where they are read."""
    return tuple(_sheet(cut, drawn, sql) for cut, drawn in zip(cuts, draws, strict=True))


def _sheet(cut: Cut, drawn: tuple[Drawn, ...], sql: str) -> Sheet:
    release, numbers = cut.release, Numbers(cut, drawn)
    columns = {name: values for (name, _), values in zip(release.keys, numbers.keys(), strict=True)}
    if len(cut.parts) > 1:
        columns[f"{release.number}.set"] = [which for which, size in enumerate(numbers.sizes) for _ in range(size)]
    for name, aggregate, source in cut.sources:
        columns[name] = _column(aggregate, source, numbers)
        fine = release.columns.get(fine_name(name))
        if fine is not None and identifier(fine.name) in sql:
            columns[fine.name] = _column(replace(aggregate, facts=fine.facts), source, numbers)
    columns[release.place] = list(range(numbers.count))
    return table_of(release, columns)


def _key(number: int, part: Part, found: Drawn) -> list[Any]:
    """A key of all rows of a grouping set: open keys one after the other, the listed groups inside each."""
    listed = part.listed
    if number in listed:
        at = listed.index(number)
        return [group[at] for group in part.groups] * (len(found.keys) if part.chosen else 1)
    if number in part.chosen:
        at = part.chosen.index(number)
        return [picked[at] for picked in found.keys for _ in part.groups]
    return [None] * _count(part, found)


def _column(aggregate: Aggregate, source: Source, numbers: Numbers) -> list[Any]:
    """A released column as the engine above holds it; a single sum by whole numbers alone, for there may be many."""
    grid = aggregate.facts.grid
    if source.formula not in ("count", "count_persons", "sum", DISTINCT) or source.bundle < 0 or grid is None:
        return [
            _released(aggregate, value_of(aggregate, source, numbers.sums(row, source.bundle), numbers.of(row, source)))
            for row in range(numbers.count)
        ]
    found = []
    for part, drawn in zip(numbers.cut.parts, numbers.drawn, strict=True):
        ratio, cells = part.bundles[source.bundle].unit / grid, drawn.cells[source.bundle]
        if ratio == 1:
            found += [number for (number,) in cells]
            continue
        top, bottom = 2 * ratio.numerator, 2 * ratio.denominator
        found += [(number * top + ratio.denominator) // bottom for (number,) in cells]
    return found


def bare(question: Question, sheet: Sheet) -> list[tuple[Any, ...]]:
    """The columns that the last SELECT would give of a released table where it computes nothing (see `public.top`)."""
    columns = {name: values for (name, _), values in zip(sheet.columns, sheet.values, strict=True)}
    shown = [
        node.name for node in (*(node for _, node in question.items), *question.traces) if isinstance(node, Column)
    ]
    return [tuple(columns[name]) for name in shown]


def _released(aggregate: Aggregate, value: Any) -> Any:
    """A released value as the engine above holds it: nearest whole steps, or a double; unclamped (semantics 4.3)."""
    if aggregate.facts.kind == DATE and isinstance(value, int):
        return date.fromordinal(value)
    if not isinstance(value, int | Fraction) or isinstance(value, bool):
        return value
    if aggregate.facts.exact and aggregate.facts.grid is not None:
        return int((value / aggregate.facts.grid + Fraction(1, 2)) // 1)
    return float(value)
