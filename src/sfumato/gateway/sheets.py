"""Released whole numbers as tables: for the engine above the cut, for later stages, and for intervals.

Comes in: the cuts of a plan and what was drawn of them. Goes out: sheets: keys, released columns on the grids of their
types, and beside them, where a statement reads them, the numbers as they were drawn (see `sql.fine`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from itertools import accumulate, chain
from typing import Any

from sfumato.sql.aggregates.base import DISTINCT, Term
from sfumato.sql.bind import Question
from sfumato.sql.bundles import Source
from sfumato.sql.cut import Cut, Part, Released, value_of
from sfumato.sql.fine import fine_name
from sfumato.sql.public import table_of
from sfumato.sql.running import Reading, Whole
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
        self.place = cut.release.place
        self.sizes = [_count(part, found) for part, found in zip(cut.parts, drawn, strict=True)]
        self.count = sum(self.sizes)
        self._totals: dict[tuple[int, Reading | Whole], dict[Any, tuple[Fraction, Term]]] = {}

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

    def total(self, places: dict[str, Any], bundle: int, reading: Reading | Whole) -> tuple[Fraction, Term] | None:
        """A total, and its noise: up to a released row, over all rows like it, or over those of a group of groups.

        None where there is none: an outer join found no row; or a key of the group is NULL, which might mean the same.
        """
        names = reading.names if isinstance(reading, Whole) else None
        found = [places.get(name) for name in ((self.place,) if names is None else names)]
        if None in found:
            return None
        if (bundle, reading) not in self._totals:
            self._totals[bundle, reading] = self._sums_of(bundle, reading)
        return self._totals[bundle, reading].get(found[0] if names is None else tuple(found))

    def _sums_of(self, bundle: int, reading: Reading | Whole) -> dict[Any, tuple[Fraction, Term]]:
        released, cells = self.cut.parts[0].bundles[bundle], self.drawn[0].cells[bundle]
        groups = tuple(zip(*self.keys(), strict=True)) or ((),) * self.count
        rows: dict[Any, tuple[Fraction, Term]] = {}
        for track in reading.tracks(groups):
            totals = list(accumulate(cells[place][0] for place in track))
            if isinstance(reading, Reading):
                for end, (place, whole) in enumerate(zip(track, totals, strict=True), 1):
                    rows[place] = whole * released.unit, released.total(len(track), end)
                continue
            all_of_it = totals[-1] * released.unit, released.total(len(track), len(track))
            alike = tuple(groups[track[0]][key] for key in reading.apart)
            rows |= dict.fromkeys(track if reading.names is None else [alike], all_of_it)
        return rows

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
    shown = [node.name for _, node in question.items if isinstance(node, Column)]
    return [tuple(columns[name]) for name in (*shown, *question.relation.shape.places)]


def _released(aggregate: Aggregate, value: Any) -> Any:
    """A released value as the engine above holds it: nearest whole steps, or a double; unclamped (semantics 4.3)."""
    if aggregate.facts.kind == DATE and isinstance(value, int):
        return date.fromordinal(value)
    if not isinstance(value, int | Fraction) or isinstance(value, bool):
        return value
    if aggregate.facts.exact and aggregate.facts.grid is not None:
        return int((value / aggregate.facts.grid + Fraction(1, 2)) // 1)
    return float(value)
