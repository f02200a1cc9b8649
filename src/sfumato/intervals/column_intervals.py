"""The intervals of a whole column: rows that are made of draws in the same way are worked out together.

Comes in: an origin, and for each row the values of its slots. Goes out: groups of rows with their intervals. Rows are
alike if their public values are equal, the same released rows are there, in the same grouping sets, and the same of
them coincide: then they differ in which rows are read and in nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from sfumato.algebra.exact_numbers import ExactNumbers
from sfumato.algebra.noise_sums import CellColumns, Draw, OneCell, TrackSum
from sfumato.algebra.noise_widths import NoiseTerm
from sfumato.intervals.cell_intervals import ReleasedSource, Told, ends_of_cells, has_moments, told
from sfumato.intervals.provenance import (
    Choice,
    ComputedNumber,
    Leaf,
    ListedAggregate,
    Origin,
    PossiblyNull,
    PublicValue,
    ReleasedColumn,
    Slot,
    WindowTotal,
)
from sfumato.intervals.sum_intervals import ColumnEnds


class ColumnSource(ReleasedSource, Protocol):
    """Released numbers, also those of many rows at once."""

    def drawn_in(self, key: Draw, rows: Sequence[int]) -> tuple[ExactNumbers, NoiseTerm]:
        """The released numbers of rows of one grouping set, and their noise; the row of the key does not matter."""

    def grouping_set(self, name: str, row: int) -> int:
        """The grouping set that a released row of a column's release is of."""


@dataclass(frozen=True)
class AlikeRows:
    """Rows that are alike: their places, the slots of the first of them, what is told of it, and all intervals."""

    places: list[int]
    slots: tuple[Any, ...]
    number: Told | None
    ends: ColumnEnds | None


class _Rows:
    """What was drawn for rows that are alike, by the draws of the first of them."""

    def __init__(self, source: ColumnSource, slots: Sequence[tuple[Any, ...]], places: Sequence[int]) -> None:
        self._source, self.runs, self._places, self._slots = source, source.runs, places, slots
        self._at = {slots[0][place]: place for place in places}

    def drawn(self, key: Draw) -> tuple[ExactNumbers, NoiseTerm]:
        """A released number of each row, and their noise."""
        place = self._at[key[3]]
        return self._source.drawn_in(key, [row[place] for row in self._slots])

    def picked(self, key: Draw, confidence: Fraction) -> list[tuple[Fraction, Fraction]]:
        """The interval of the value that was chosen by rank in each row."""
        place = self._at[key[3]]
        return [self._source.picked((*key[:3], row[place]), confidence) for row in self._slots]

    def noise(self, pool: TrackSum) -> NoiseTerm:
        """The noise of a total: totals are never here, each row has its own."""
        return self._source.noise(pool)


def intervals_of_column(
    of: Origin, rows: Sequence[tuple[Any, ...]], source: ColumnSource, confidence: Fraction
) -> list[AlikeRows]:
    """The intervals of a number in all rows.

    Guarantee: the intervals are those that `ends` gives of each row by itself, or wider by what doubles lose.
    Proof: `told` reads of a row its public values, which released rows are there, and these rows' draws, which it
        carries along by their keys: for rows that are alike it is the same tree with other rows in its keys. Equal keys
        stay equal and different ones different. Totals over rows and variances are worked out row by row.
    Reference: semantics 4.4.
    Checked by: laws::many_intervals_are_those_of_each_cell
    """
    seen = _Seen()
    alone = _look(of, seen)
    apart: list[list[int]] = []
    numbers: list[Told | None] = []
    for places in [[place] for place in range(len(rows))] if alone else _alike(rows, seen, source):
        number = told(of, rows[places[0]], source)
        if has_moments(number) and len(places) > 1:
            apart += [[place] for place in places]
            numbers += [told(of, rows[place], source) for place in places]
        else:
            apart.append(places)
            numbers.append(number)
    cells: list[tuple[Told | None, CellColumns, int]] = []
    for places, number in zip(apart, numbers, strict=True):
        columns: CellColumns = OneCell(source)
        if len(places) > 1:
            columns = _Rows(source, [rows[place] for place in places], tuple(seen.places))
        cells.append((number, columns, len(places)))
    found = ends_of_cells(cells, confidence)
    return [
        AlikeRows(places, rows[places[0]], number, ends)
        for places, number, ends in zip(apart, numbers, found, strict=True)
    ]


class _Seen:
    """Which slots of an origin are released rows, by the name of a column there, and which are public values."""

    def __init__(self) -> None:
        self.places: dict[int, str] = {}
        self.values: set[int] = set()


def _look(of: Origin | None, seen: _Seen) -> bool:
    """Note the slots of an origin; whether it has totals, so that every row is worked out by itself."""
    match of:
        case PublicValue(Slot(number)):
            seen.values.add(number)
        case ReleasedColumn(name, Slot(number)):
            seen.places[number] = name
        case ComputedNumber(args=args):
            return max((_look(arg, seen) for arg in args), default=False)  # all are looked at
        case Choice(which, options):
            _note(which, seen)
            return max((_look(option, seen) for option in options), default=False)
        case PossiblyNull(inner):
            return _look(inner, seen)
        case WindowTotal() | ListedAggregate():
            return True
    return False


def _note(leaf: Leaf, seen: _Seen) -> None:
    if isinstance(leaf, Slot):
        seen.values.add(leaf.number)


def _alike(rows: Sequence[tuple[Any, ...]], seen: _Seen, source: ColumnSource) -> Iterable[list[int]]:
    """The rows in groups of those that are alike."""
    groups: dict[Any, list[int]] = {}
    if len(seen.places) == 1 and not seen.values:
        ((slot, name),) = seen.places.items()
        for place, slots in enumerate(rows):
            row = slots[slot]
            groups.setdefault(None if row is None else source.grouping_set(name, row), []).append(place)
    else:
        for place, slots in enumerate(rows):
            groups.setdefault(_pattern(slots, seen, source), []).append(place)
    return groups.values()


def _pattern(slots: tuple[Any, ...], seen: _Seen, source: ColumnSource) -> Any:
    """What rows that are alike have in common."""
    first: dict[Any, int] = {}
    places = []
    for number, name in seen.places.items():
        row = slots[number]
        places.append(None if row is None else (source.grouping_set(name, row), first.setdefault(row, number)))
    return tuple(places), tuple((type(slots[number]), slots[number]) for number in sorted(seen.values))
