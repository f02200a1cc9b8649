"""Released whole numbers as tables: for the engine above the releases, for later stages, and for intervals.

Comes in: the cuts of a plan and what was drawn of them. Goes out: finished tables: keys, released columns on the grids
of their types, and beside them the numbers as they were drawn (see `sql.intervals.fine_numbers`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import partial
from itertools import accumulate, chain
from typing import Any

from sfumato.algebra.aggregates import AGGREGATES, order
from sfumato.algebra.aggregates.base import CHOICE
from sfumato.algebra.finished_tables import FinishedTable
from sfumato.algebra.noise_widths import NoiseTerm, ends_of
from sfumato.algebra.relations import Release, released_name
from sfumato.algebra.tree import DATE, TIMESTAMP, Aggregate, Column
from sfumato.intervals.fine_numbers import fine_name
from sfumato.sql.query_binding import BoundQuery
from sfumato.sql.release.bundles import BundleSource
from sfumato.sql.release.ranks import SURE, ranks, says_nothing
from sfumato.sql.release.release_plan import GAUSSIAN, GroupingSetPlan, ReleasedBundle, ReleasePlan, value_of


@dataclass(frozen=True)
class ReleasedSet:
    """What was released of one grouping set: the open keys that were chosen, and whole numbers by bundle and group."""

    keys: tuple[tuple[Any, ...], ...]
    cells: tuple[tuple[tuple[int, ...], ...], ...]


Draws = tuple[tuple[ReleasedSet, ...], ...]
"""What was released: by cut, by grouping set."""


class ReleasedNumbers:
    """The released numbers of one cut, row by row."""

    def __init__(self, cut: ReleasePlan, drawn: tuple[ReleasedSet, ...]) -> None:
        self.cut, self.drawn = cut, drawn
        self.sizes = [_count(part, found) for part, found in zip(cut.parts, drawn, strict=True)]
        self.count = sum(self.sizes)
        self._ends = list(accumulate(self.sizes))

    def part(self, row: int) -> tuple[GroupingSetPlan, ReleasedSet, int]:
        """The grouping set of a released row, and which group of it the row is."""
        which = self.which(row)
        return self.cut.parts[which], self.drawn[which], row - (self._ends[which - 1] if which else 0)

    def which(self, row: int) -> int:
        """The number of the grouping set of a released row."""
        return bisect_right(self._ends, row) if len(self.sizes) > 1 else 0

    def of(self, row: int, source: BundleSource) -> ReleasedBundle | None:
        """What was released for an aggregate in a row; a constant has nothing."""
        return None if source.bundle < 0 else self.part(row)[0].bundles[source.bundle]

    def key(self, number: int) -> list[Any]:
        """A key of the release for all released rows; NULL where a grouping set leaves it out."""
        found = [_key(number, part, drawn) for part, drawn in zip(self.cut.parts, self.drawn, strict=True)]
        return found[0] if len(found) == 1 else list(chain.from_iterable(found))

    def keys(self) -> list[list[Any]]:
        """Each key of the release for all released rows."""
        return [self.key(number) for number in range(len(self.cut.release.keys))]

    def sets(self) -> list[int]:
        """The number of the grouping set of each row."""
        return [which for which, size in enumerate(self.sizes) for _ in range(size)]

    def sums(self, row: int, bundle: int) -> tuple[Fraction, ...]:
        """The noisy sums of a bundle in a row."""
        if bundle < 0:
            return ()
        part, drawn, group = self.part(row)
        return tuple(cell * part.bundles[bundle].unit for cell in drawn.cells[bundle][group])


def _count(part: GroupingSetPlan, drawn: ReleasedSet) -> int:
    """How many groups a grouping set has."""
    return len(part.groups) * (len(drawn.keys) if part.chosen else 1)


def released_tables(cuts: tuple[ReleasePlan, ...], draws: Draws) -> tuple[FinishedTable, ...]:
    """Released tables, as an engine reads them."""
    return tuple(_table(cut, drawn) for cut, drawn in zip(cuts, draws, strict=True))


def _table(cut: ReleasePlan, drawn: tuple[ReleasedSet, ...]) -> FinishedTable:
    release, numbers = cut.release, ReleasedNumbers(cut, drawn)
    columns: dict[str, Callable[[], list[Any]]] = {}
    for i, (name, _) in enumerate(release.keys):
        columns[name] = partial(numbers.key, i)
    if len(cut.parts) > 1:
        columns[f"{release.number}.set"] = numbers.sets
    for name, aggregate, source in cut.sources:
        columns[name] = partial(_column, aggregate, source, numbers)
        fine = release.columns.get(fine_name(name))
        if fine is not None:
            columns[fine.name] = partial(_column, replace(aggregate, facts=fine.facts), source, numbers)
    columns[release.place] = lambda: list(range(numbers.count))
    kinds = {name: release.columns[name].facts.kind for name in columns}
    return FinishedTable(released_name(release), {name: (kinds[name], values) for name, values in columns.items()})


def _key(number: int, part: GroupingSetPlan, found: ReleasedSet) -> list[Any]:
    """A key of all rows of a grouping set: open keys one after the other, the listed groups inside each."""
    listed = part.listed
    if number in listed:
        at = listed.index(number)
        return [group[at] for group in part.groups] * (len(found.keys) if part.chosen else 1)
    if number in part.chosen:
        at = part.chosen.index(number)
        return [picked[at] for picked in found.keys for _ in part.groups]
    return [None] * _count(part, found)


def _column(aggregate: Aggregate, source: BundleSource, numbers: ReleasedNumbers) -> list[Any]:
    """A released column as the engine above holds it; a single sum by whole numbers alone, for there may be many."""
    grid = aggregate.facts.grid
    if AGGREGATES[aggregate.name].measure == CHOICE and source.bundle >= 0:
        return _choices(aggregate, source, numbers)
    if not source.formula.plain or source.bundle < 0 or grid is None:
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


def _choices(aggregate: Aggregate, source: BundleSource, numbers: ReleasedNumbers) -> list[Any]:
    """What was chosen by rank; NULL where it cannot be told: its own interval says nothing, or of a mode a released
    COUNT(*) of the same rows.
    """
    beside = [s for _, a, s in numbers.cut.sources if a.name == "count" and a.arg is None and a.where is None]
    counts = [s for s in beside if s.formula.plain and s.bundle >= 0]
    found: list[Any] = []
    for row in range(numbers.count):
        part, drawn, group = numbers.part(row)
        released = part.bundles[source.bundle]
        if aggregate.name != "mode" and says_nothing(released, drawn.cells[source.bundle][group]):
            found.append(None)
            continue
        if counts and aggregate.name == "mode":
            counted, worth = part.bundles[counts[0].bundle], ranks(numbers.cut, released, SURE)
            number = drawn.cells[counts[0].bundle][group][0] * counted.unit
            term = NoiseTerm(counted.scale, counted.unit, counted.noise == GAUSSIAN)
            if worth is not None and ends_of(number, term, SURE)[1] <= worth.nothing:
                found.append(None)
                continue
        chosen = value_of(aggregate, source, numbers.sums(row, source.bundle), released)
        found.append(_released(aggregate, chosen))
    return found


def bare(question: BoundQuery, table: FinishedTable) -> list[tuple[Any, ...]]:
    """The columns that an engine would give of a released table where it has nothing to compute."""
    nodes = (*(node for _, node in question.items), *question.traces)
    return [tuple(table.values(node.name)) for node in nodes if isinstance(node, Column)]


def is_bare(question: BoundQuery) -> bool:
    """Whether the answer is a released table itself, row by row in its own order: nothing is to be computed."""
    ordered = question.order or question.limit is not None or question.offset
    columns = all(isinstance(node, Column) for _, node in question.items)
    return isinstance(question.relation, Release) and columns and not ordered


def _released(aggregate: Aggregate, value: Any) -> Any:
    """A released value as the engine above holds it: nearest whole steps, or a double; unclamped (semantics 4.3)."""
    if aggregate.facts.kind == DATE and isinstance(value, int):
        return date.fromordinal(value)
    if aggregate.facts.kind == TIMESTAMP and isinstance(value, int):
        return order.moment(value)
    if not isinstance(value, int | Fraction) or isinstance(value, bool):
        return value
    if aggregate.facts.exact and aggregate.facts.grid is not None:
        return int((value / aggregate.facts.grid + Fraction(1, 2)) // 1)
    return float(value)
