"""Where origins find their draws: in an answer the numbers that were drawn, in a preview nothing but their laws.

Comes in: a plan, and for an answer what was drawn. Goes out: for each released column and row the sums of draws that it
is (`sql.intervals.cell_intervals` goes on from there), and the noise of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.exact_numbers import ExactNumbers
from sfumato.algebra.noise_sums import ONE, Draw, Key, Linear, Ratio, Track, TrackSum
from sfumato.algebra.noise_widths import NoiseTerm
from sfumato.algebra.tree import Aggregate, Constant
from sfumato.gateway.released_tables import Draws, ReleasedNumbers
from sfumato.intervals.cell_intervals import Null, Number
from sfumato.intervals.prefix_sums import Whole, WindowReading
from sfumato.intervals.provenance import (
    Choice,
    ComputedNumber,
    Leaf,
    ListedAggregate,
    Origin,
    PossiblyNull,
    ReleasedColumn,
    Slot,
)
from sfumato.mechanisms import ThresholdedCounts
from sfumato.sql.release.bundles import NULL, BundleSource
from sfumato.sql.release.plan import Plan
from sfumato.sql.release.ranks import value_ends
from sfumato.sql.release.release_plan import GAUSSIAN, ReleasePlan
from sfumato.sql.release.release_plan import ReleasedBundle as Bundle

Laws = dict[str, tuple[int, Aggregate, BundleSource] | tuple[int, Aggregate, BundleSource, WindowReading | Whole]]
"""Released columns: their cut, what they are, and where their number comes from; and totals of them, each with its
groups and, where it is running, their order."""


def laws(cuts: tuple[ReleasePlan, ...]) -> Laws:
    """The released columns of all cuts, and their totals."""
    known: Laws = {name: (i, a, s) for i, part in enumerate(cuts) for name, a, s in part.sources}
    for part in cuts:
        for window, column, reading in part.totals:
            i, aggregate, source = known[column][:3]
            if source.formula.adds_up:
                known[window] = (i, aggregate, source, reading)
    return known


def sums_of(cut: int, aggregate: Aggregate, source: BundleSource, row: int) -> Number | Null | None:
    """A released column in one row, as draws; None where it was chosen. A constant of the schema has no draw."""
    if source.bundle < 0:
        return Null() if source.formula is NULL else Ratio(Linear())
    return source.formula.number(aggregate, lambda part: (cut, source.bundle, part, row))


def possible(aggregate: Aggregate) -> tuple[Fraction | None, Fraction | None]:
    """Within which range a released number is shown (semantics 4.3)."""
    return AGGREGATES[aggregate.name].range(aggregate)


def released_as(of: Origin | None, found: DrawnNumbers, slots: Sequence[Any]) -> Aggregate | None:
    """The released column that a number is by itself, in this row."""
    name = _released_name(of, found, slots)
    return None if name is None else found.known[name][1]


def is_constant(of: Origin | None, found: DrawnNumbers, slots: Sequence[Any]) -> bool:
    """Whether a number is by itself a released column for which nothing was drawn: a constant of the schema."""
    name = _released_name(of, found, slots)
    return name is not None and found.known[name][2].bundle < 0


def _released_name(of: Origin | None, found: DrawnNumbers, slots: Sequence[Any]) -> str | None:
    match of:
        case ReleasedColumn(name):
            return name
        case Choice(which, options):
            number = found.chosen(which, slots, options)
            return None if number is None or number >= len(options) else _released_name(options[number], found, slots)
        case ComputedNumber("settle", (inner,)) | PossiblyNull(inner):
            return _released_name(inner, found, slots)
    return None


class DrawnNumbers:
    """What was drawn for an answer."""

    def __init__(self, plan: Plan, draws: Draws) -> None:
        self.known = laws(plan.cuts)
        self.numbers = [ReleasedNumbers(part, drawn) for part, drawn in zip(plan.cuts, draws, strict=True)]
        self._totals = {name: (column, reading) for part in plan.cuts for name, column, reading in part.totals}
        self._runs: dict[tuple[int, int, int, WindowReading | Whole], dict[int, TrackSum]] = {}

    def value(self, leaf: Leaf, slots: Sequence[Any]) -> Any:
        """The value of a leaf in a row."""
        return slots[leaf.number] if isinstance(leaf, Slot) else leaf.value if isinstance(leaf, Constant) else None

    def chosen(self, which: Leaf, slots: Sequence[Any], _: Sequence[Origin | None]) -> int | None:
        """Which of several a row has."""
        number = self.value(which, slots)
        return None if number is None else int(number)

    def _bundle(self, key: Draw) -> tuple[Bundle, int]:
        part, drawn, group = self.numbers[key[0]].part(key[3])
        return part.bundles[key[1]], drawn.cells[key[1]][group][key[2]]

    def drawn(self, key: Draw) -> tuple[Fraction, NoiseTerm]:
        """A released number and its noise."""
        part, drawn, group = self.numbers[key[0]].part(key[3])
        released, cell = part.bundles[key[1]], drawn.cells[key[1]][group][key[2]]
        law = part.selection if isinstance(part.selection, ThresholdedCounts) else None
        return cell * released.unit, NoiseTerm(released.scale, released.unit, released.noise == GAUSSIAN, shown=law)

    def picked(self, key: Draw, confidence: Fraction) -> tuple[Fraction, Fraction]:
        """The interval of a value that was chosen by rank."""
        part, drawn, group = self.numbers[key[0]].part(key[3])
        return value_ends(part.bundles[key[1]], drawn.cells[key[1]][group], confidence)

    def drawn_in(self, key: Draw, rows: Sequence[int]) -> tuple[ExactNumbers, NoiseTerm]:
        """The released numbers of rows of one grouping set, and their noise."""
        part, drawn, group = self.numbers[key[0]].part(rows[0])
        cells, first, number = drawn.cells[key[1]], rows[0] - group, key[2]
        _, term = self.drawn((*key[:3], rows[0]))
        return ExactNumbers([cells[row - first][number] for row in rows], part.bundles[key[1]].unit), term

    def grouping_set(self, name: str, row: int) -> int:
        """The grouping set that a released row of a column's release is of."""
        return self.numbers[self.known[name][0]].which(row)

    def runs(self, cut: int, bundle: int) -> bool:
        """Whether noise is on running totals."""
        return self.numbers[cut].cut.parts[0].bundles[bundle].running is not None

    def noise(self, pool: TrackSum) -> NoiseTerm:
        """The noise of a total: of that many draws, or by the law of the totals."""
        released, _ = self._bundle((*pool.slot, pool.track.rows[0]))
        return released.total(len(pool.track.rows), pool.end)

    def released(self, name: str, row: int) -> Number | Null | None:
        """A released column in a released row."""
        cut, aggregate, source, *_ = self.known[name]
        return sums_of(cut, aggregate, source, row)

    def run(self, name: str, row: int) -> Number | None:
        """A window's total at a released row."""
        column, reading = self._totals[name]
        one = self.released(column, row)
        if not isinstance(one, Ratio) or one.bottom != ONE:
            return None
        pools: set[tuple[Key, Fraction]] = set()
        for key, weight in one.top.terms:
            assert not isinstance(key, TrackSum)
            pools.add((self._pools(key[0], key[1], key[2], reading)[row], weight))
        return Ratio(Linear(frozenset(pools)))

    def _pools(self, cut: int, bundle: int, part: int, reading: WindowReading | Whole) -> dict[int, TrackSum]:
        """The total at each released row, by its track."""
        if (cut, bundle, part, reading) not in self._runs:
            numbers, rows = self.numbers[cut], {}
            groups = tuple(zip(*numbers.keys(), strict=True)) or ((),) * numbers.count
            for places in reading.tracks(groups):
                track = self._track(cut, bundle, part, places)
                for end, place in enumerate(places, 1):
                    rows[place] = TrackSum(track, end if isinstance(reading, WindowReading) else len(places))
            self._runs[cut, bundle, part, reading] = rows
        return self._runs[cut, bundle, part, reading]

    def _track(self, cut: int, bundle: int, part: int, places: Sequence[int]) -> Track:
        """Rows of one grouping set, one after the other."""
        kept, drawn, group = self.numbers[cut].part(places[0])
        cells, first = drawn.cells[bundle], places[0] - group
        totals = tuple(accumulate(cells[place - first][part] for place in places))
        position = {place: i for i, place in enumerate(places)}
        return Track(cut, bundle, part, tuple(places), totals, kept.bundles[bundle].unit, position)

    def listed(self, of: ListedAggregate, rows: Any) -> Number | None:
        """A sum of a released column over many rows, each once and all of one law, as one total."""
        if of.name != "sum" or not isinstance(of.inner, ReleasedColumn) or len(rows) < 2 or isinstance(rows[0], tuple):
            return None
        places = [place for place in rows if place is not None]
        if not places or len(set(places)) < len(places):
            return None
        cut, *_ = self.known[of.inner.name]
        first, last = (self.numbers[cut].part(place)[0] for place in (min(places), max(places)))
        one = self.released(of.inner.name, places[0])
        if first is not last or not isinstance(one, Ratio) or one.bottom != ONE:
            return None
        pools: set[tuple[Key, Fraction]] = set()
        for key, weight in one.top.terms:
            assert not isinstance(key, TrackSum)
            if self.runs(key[0], key[1]):
                return None
            pools.add((TrackSum(self._track(key[0], key[1], key[2], places), len(places)), weight))
        return Ratio(Linear(frozenset(pools)))


class Planned:
    """What will be drawn: numbers that are all nothing, each with its noise; of totals the widest.

    What depends on the answer, or on which groups there are, cannot be told from here.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.known = plan, laws(plan.cuts)
        self._aggregates = {(cut, source.bundle): aggregate for cut, aggregate, source, *_ in self.known.values()}
        self._widest: dict[str, dict[int, TrackSum]] = {}
        self._terms: dict[int, NoiseTerm] = {}

    def value(self, leaf: Leaf, _: Sequence[Any]) -> Any:
        """A written number; of a released row its slot stands for it."""
        return leaf.value if isinstance(leaf, Constant) else leaf

    def chosen(self, _: Leaf, _slots: Sequence[Any], options: Sequence[Origin | None]) -> int | None:
        """What is there in most rows is taken to be there."""
        return 1 if len(options) == 2 and options[0] is None else len(options)

    def drawn(self, key: Draw) -> tuple[Fraction, NoiseTerm]:
        """Nothing, with its noise in the first grouping set."""
        released = self.plan.cuts[key[0]].parts[0].bundles[key[1]]
        return Fraction(0), NoiseTerm(released.scale, released.unit, released.noise == GAUSSIAN)

    def picked(self, key: Draw, _: Fraction) -> tuple[Fraction, Fraction]:
        """All that it can be: which interval will be drawn depends on rows."""
        low, high = possible(self._aggregates[key[:2]])
        assert low is not None
        assert high is not None
        return low, high

    def runs(self, cut: int, bundle: int) -> bool:
        """Whether noise is on running totals."""
        return self.plan.cuts[cut].parts[0].bundles[bundle].running is not None

    def noise(self, pool: TrackSum) -> NoiseTerm:
        """The noise of the widest total."""
        return self._terms[id(pool.track)]

    def released(self, name: str, row: Slot) -> Number | Null | None:
        """A released column."""
        cut, aggregate, source, *_ = self.known[name]
        return sums_of(cut, aggregate, source, row.number)

    def run(self, name: str, row: Slot) -> Number | None:
        """The widest total of a window, or of groups of groups, where the groups are known."""
        found = self.known.get(name)
        if found is None or len(found) < 4:
            return None
        cut, _, source, reading = found
        part = self.plan.cuts[cut].parts[0]
        if part.chosen or not part.groups:
            return None  # how many groups there are is not known yet
        pools = self._widest.setdefault(name, {})
        if row.number not in pools:
            track = Track(cut, source.bundle, 0, (row.number,), (0,), Fraction(1), {row.number: 0})
            self._terms[id(track)] = longest_total(self.plan.cuts[cut], source.bundle, reading)
            pools[row.number] = TrackSum(track, 1)
        return Ratio(Linear(frozenset([(pools[row.number], Fraction(1))])))

    def listed(self, of: ListedAggregate, rows: Slot) -> Number | None:
        """A total over groups of groups."""
        return self.run(of.column, rows) if of.name == "sum" and of.column in self.known else None


class Supposed(Planned):
    """What would be drawn of a group with so many rows: sums in the middle of their range, each with its noise."""

    def __init__(self, plan: Plan, rows: int) -> None:
        super().__init__(plan)
        self._rows = rows

    def drawn(self, key: Draw) -> tuple[Fraction, NoiseTerm]:
        """The middle of what so many rows add up to, and its noise."""
        bundle = self.plan.cuts[key[0]].parts[0].bundles[key[1]].bundle
        parts = len(bundle.parts)
        middle = self._rows * bundle.length / (parts if parts > 1 or bundle.length == 1 else 2)
        return middle, super().drawn(key)[1]


def longest_total(cut: ReleasePlan, bundle: int, reading: WindowReading | Whole) -> NoiseTerm:
    """The noise of the widest total: of all totals of a track, one with the most noise."""
    part = cut.parts[0]
    released = part.bundles[bundle]
    lengths = {len(track) for track in reading.tracks(part.groups)}
    terms = [released.total(n, end) for n in lengths for end in (range(1, n + 1) if released.running else (n,))]
    return max(terms, key=lambda term: term.scale * term.draws ** (1 if term.gaussian else 2))
