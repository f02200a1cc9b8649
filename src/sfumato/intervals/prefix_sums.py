"""Prefix sums in post-processing: which windows add up a released column in the order of its groups, and how well.

Comes in: a question. Goes out: the windows that are SUM(released column) OVER (… ORDER BY keys), each with its order;
and which released columns are read in no other way, so that noise may be put where totals are best (PrefixSums) instead
of on every group by itself. The private part, its sums and what one person can move stay the same.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.algebra.noise_widths import NoiseTerm
from sfumato.algebra.relations import (
    Distinct,
    Filter,
    Grouped,
    Join,
    Limited,
    MarkJoin,
    Projection,
    Relation,
    Release,
    SetOperation,
    UnionAll,
    Windowed,
    below,
    releases_in,
)
from sfumato.algebra.tree import Column, Node, Over, columns_of
from sfumato.intervals.fine_numbers import column_of, fine_name
from sfumato.mechanisms import PrefixSums, laplace_variance
from sfumato.types import Exact

_FRAMES = ("", *(f"{kind} BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW" for kind in ("ROWS", "RANGE", "GROUPS")))
_LONGEST_ROOT = 1 << 14
"""The square-root form takes time like the square of the length."""

Groups = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class WindowReading:
    """In which order a window adds up the groups: for each value of the keys `apart`, by the keys of `order`.

    Keys by their number in the release; of each in `order` whether it falls, and whether NULL comes first. Every key is
    in one of the two, so that no two groups tie.
    """

    apart: tuple[int, ...]
    order: tuple[tuple[int, bool, bool], ...]

    def tracks(self, groups: Groups) -> list[list[int]]:
        """The places of the groups in running order, each value of the keys apart by itself.

        `groups` have all keys of the release. Exact numbers, dates, truths and text (by code points) sort in Python as
        they do in the engine above the cut; and no promise of privacy rests on the order.
        """
        places = list(range(len(groups)))
        for key, falls, nulls_first in reversed(self.order):
            known = [place for place in places if groups[place][key] is not None]
            unknown = [place for place in places if groups[place][key] is None]
            known.sort(key=lambda place: groups[place][key], reverse=falls)
            places = unknown + known if nulls_first else known + unknown
        found: dict[tuple[Any, ...], list[int]] = {}
        for place in places:
            found.setdefault(tuple(groups[place][key] for key in self.apart), []).append(place)
        return list(found.values())


@dataclass(frozen=True)
class Whole:
    """A total over all groups that are alike in the keys `apart`: SUM(n) OVER (PARTITION BY …), SUM(n) … GROUP BY."""

    apart: tuple[int, ...]

    def tracks(self, groups: Groups) -> list[list[int]]:
        """The places of the groups, each value of the keys apart by itself."""
        return WindowReading(self.apart, ()).tracks(groups)


@dataclass(frozen=True)
class Running:
    """The law of a column that is read as running totals: for each track the sums get their noise by PrefixSums.

    Guarantee: what it costs is epsilon times the distance of neighbours' sums, in L1 and over all tracks, over
        `sensitivity`, or rho times its square.
    Proof: tracks have no group in common; the losses of their PrefixSums are epsilon d/sensitivity, with distances d
        that add up to the whole one, or rho (d/sensitivity)², and squares of parts add up to at most the square of the
        whole.
    Reference: see PrefixSums.
    Checked by: laws::one_person_moves_running_totals_by_what_is_paid, laws::tracks_share_the_sensitivity
    """

    reading: WindowReading
    sensitivity: Fraction
    epsilon: Fraction | None = None
    rho: Fraction | None = None

    def law(self, length: int) -> PrefixSums:
        """The mechanism of a track, on whole numbers."""
        return PrefixSums(self.sensitivity, length, self.epsilon, self.rho)

    def release(self, exact: Exact, groups: Groups) -> list[int]:
        """Noisy sums group by group whose running totals are those of the mechanism: differences of neighbours."""
        cells = [0] * len(groups)
        for track in self.reading.tracks(groups):
            before = 0
            for place, total in zip(track, self.law(len(track)).release([exact.part(i) for i in track]), strict=True):
                cells[place], before = int(total) - before, int(total)
        return cells

    def term(self, length: int, end: int, unit: Fraction) -> NoiseTerm:
        """The noise of the total of the first `end` groups of a track."""
        law = self.law(length)
        if self.epsilon is not None:
            return NoiseTerm(law.scale * unit, unit, draws=law.draws(end))
        return NoiseTerm(law.spread(end) * unit**2, unit, True, law=law, end=end)

    def better(self, lengths: list[int], variance: float) -> bool:
        """Whether the totals have less variance, on the mean, than sums of independent draws of this variance."""
        if self.rho is not None and max(lengths) > _LONGEST_ROOT:
            return False
        apart = sum(variance * n * (n + 1) / 2 for n in lengths)
        return sum(self.law(n).mean_variance * n for n in lengths) < apart

    def text(self, lengths: list[int]) -> list[str]:
        """What makes the stored answer another one (semantics 5.4)."""
        shapes = sorted({n: self.law(n).tree for n in lengths}.items()) if self.epsilon is not None else []
        return [str(self.reading), *(f"{n}: {tree.radix}, {tree.levels}" for n, tree in shapes)]


def independent_variance(scale: Fraction, unit: Fraction, gaussian: bool) -> float:
    """Of one released sum, in squares of its unit; `scale` is the variance of Gaussian noise."""
    return float(scale / unit**2) if gaussian else laplace_variance(scale / unit)


# which windows are running totals
Total = tuple[str, str, WindowReading | Whole]
"""The column, the released column that it adds up, and over which groups, for a running total in which order."""


def wholes_in(top: Relation) -> dict[Release, list[Total]]:
    """Totals over all groups, or all that are alike in some keys: windows without an order, and groups of groups."""
    found: dict[Release, list[Total]] = {}
    for relation in _all(top, set()):
        if not isinstance(relation, Windowed | Grouped) or relation.private:
            continue
        release, names = _rows_of(relation.below)
        if release is None or len(release.sets) > 1:
            continue
        for name, column, whole in _wholes(relation, release, names):
            found.setdefault(release, []).append((column_of(name), column, whole))
    return found


def _wholes(relation: Windowed | Grouped, release: Release, names: dict[str, str]) -> Iterator[tuple[str, str, Whole]]:
    """The totals of one relation over all rows of a release."""
    numbers = {name: i for i, (name, _) in enumerate(release.keys)}
    sums = {name for name, _ in release.aggregates}

    def known(nodes: Iterable[Node | None], among: Container[str]) -> list[str] | None:
        found = [names.get(node.name, "") if isinstance(node, Column) else "" for node in nodes]
        return found if all(name in among for name in found) else None

    if isinstance(relation, Windowed):
        for name, over in relation.windows:
            keys, added = known(over.partition, numbers), known(over.args, sums)
            if over.name == "sum" and not over.order and not over.frame and keys is not None and added:
                yield name, added[0], Whole(tuple(sorted({numbers[key] for key in keys})))
        return
    keys = known((node for _, node in relation.keys), numbers)
    if keys is None or len(relation.sets) > 1:
        return
    for name, aggregate in relation.aggregates:
        added = known((aggregate.arg,), sums)
        if aggregate.name == "sum" and aggregate.where is None and added:
            yield name, added[0], Whole(tuple(numbers[key] for key in keys))


def totals_in(top: Relation) -> dict[Release, list[Total]]:
    """The running totals of a question, by release."""
    found: dict[Release, list[Total]] = {}
    for relation in _all(top, set()):
        if isinstance(relation, Windowed) and not relation.private:
            release, names = _rows_of(relation.below)
            for name, over in relation.windows if release is not None else ():
                reading = _reading(over, release, names) if release is not None else None
                if reading is not None and release is not None and isinstance(over.args[0], Column):
                    found.setdefault(release, []).append((column_of(name), names[over.args[0].name], reading))
    return found


def read_as_totals(top: Relation, read: Iterable[Node], totals: dict[Release, list[Total]]) -> dict[str, WindowReading]:
    """The released columns that are read as running totals in one order, and in no other way."""
    windows = {name for found in totals.values() for name, _, _ in found}
    aggregates = [name for release in releases_in(top) for name, _ in release.aggregates]
    known = {name: column for column in aggregates for name in (column, fine_name(column))}
    orders: dict[str, set[WindowReading]] = {}
    for found in totals.values():
        for _, column, reading in found:
            assert isinstance(reading, WindowReading)
            orders.setdefault(column, set()).add(reading)
    relations = list(_all(top, set()))
    for relation in relations:  # those below come first
        if isinstance(relation, Projection):
            known |= {
                n: known[node.name] for n, node in relation.items if isinstance(node, Column) and node.name in known
            }
    used = {name for relation in relations for name in _reads(relation, windows)}
    used |= {name for node in read for name in columns_of(node)}
    otherwise = {known[name] for name in used if name in known}
    return {column: next(iter(r)) for column, r in orders.items() if len(r) == 1 and column not in otherwise}


def _all(relation: Relation, seen: set[int]) -> Iterator[Relation]:
    """A relation and everything below it, also below releases, each once and what is below first."""
    if id(relation) not in seen:
        seen.add(id(relation))
        for part in below(relation):
            yield from _all(part, seen)
        yield relation


def _rows_of(relation: Relation) -> tuple[Release | None, dict[str, str]]:
    """The release whose rows, all of them, are the rows of a relation; and its columns by their names here."""
    if isinstance(relation, Release):
        return relation, {name: column_of(name) for name in relation.columns}
    if isinstance(relation, Windowed):
        return _rows_of(relation.below)
    if isinstance(relation, Projection):
        release, names = _rows_of(relation.below)
        return release, {n: names[c.name] for n, c in relation.items if isinstance(c, Column) and c.name in names}
    return None, {}


def _reading(over: Over, release: Release, names: dict[str, str]) -> WindowReading | None:
    """The order in which a window adds up a released column, or None where it is no running total."""
    parts = [*over.args, *over.partition, *(item.node for item in over.order)]
    columns = [names.get(node.name) if isinstance(node, Column) else None for node in parts]
    if over.name != "sum" or not over.order or over.frame not in _FRAMES or len(over.args) != 1 or None in columns:
        return None
    keys, sums = [name for name, _ in release.keys], [name for name, _ in release.aggregates]
    if (
        columns[0] not in sums
        or set(columns[1:]) != set(keys)
        or len(columns[1:]) != len(keys)
        or len(release.sets) > 1
    ):
        return None
    numbers = [keys.index(str(name)) for name in columns[1:]]
    apart, order = numbers[: len(over.partition)], numbers[len(over.partition) :]
    falls = [(item.descending, item.nulls_first) for item in over.order]
    return WindowReading(tuple(sorted(apart)), tuple((key, *how) for key, how in zip(order, falls, strict=True)))


def _reads(relation: Relation, totals: set[str]) -> set[str]:
    """The columns that a relation reads itself; of running totals, and under a new name, nothing."""
    nodes: list[Node | None] = []
    if isinstance(relation, Filter):
        nodes = [relation.condition]
    elif isinstance(relation, Join):
        nodes = [relation.on]
    elif isinstance(relation, MarkJoin):
        nodes = [relation.on, relation.operand, relation.value]
    elif isinstance(relation, Projection):
        nodes = [node for _, node in relation.items if not isinstance(node, Column)]
    elif isinstance(relation, Grouped | Release):
        nodes = [node for _, node in (*relation.keys, *relation.aggregates)]
    elif isinstance(relation, Windowed):
        nodes = [over for name, over in relation.windows if column_of(name) not in totals]
    elif isinstance(relation, Limited):
        nodes = [item.node for item in relation.order]
    elif isinstance(relation, UnionAll | SetOperation):
        nodes = [node for _, part in relation.parts for node in part]
    read = {name for node in nodes if node is not None for name in columns_of(node)}
    return read | (set(relation.below.columns) if isinstance(relation, Distinct) else set())
