"""Sums of draws and ratios of such sums: whatever several numbers share, they share as one draw.

Comes in: linear combinations of released whole numbers, each known by its cut, bundle, sum and row, and what was drawn
there. Goes out: the independent noisy numbers that they are made of (`sum_intervals` goes on from there). Which
combination a column is comes from `origins`, row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, repeat
from typing import Protocol

from sfumato.algebra.exact_numbers import ExactNumbers, exact
from sfumato.algebra.noise_widths import NoiseTerm
from sfumato.algebra.tree import Aggregate

_MANY = 100_000
"""Draws of overlapping totals that are written out one by one; of more there is no interval."""

Draw = tuple[int, int, int, int]
"""A released number: which cut, which bundle of it, which sum of the bundle, which released row."""


@dataclass(frozen=True, eq=False)
class Track:
    """Released rows one after the other, all with the noise of one law; what was drawn up to each, in whole units."""

    cut: int
    bundle: int
    part: int
    rows: tuple[int, ...]
    totals: tuple[int, ...]
    unit: Fraction
    position: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class TrackSum:
    """The sum of the first rows of a track, as one term: totals of many groups are not written out."""

    track: Track
    end: int

    @property
    def slot(self) -> tuple[int, int, int]:
        """What it is a total of."""
        return self.track.cut, self.track.bundle, self.track.part

    @property
    def total(self) -> Fraction:
        """What was drawn, added up."""
        return self.track.totals[self.end - 1] * self.track.unit

    def holds(self, row: int) -> bool:
        """Whether a released row is in it."""
        return self.track.position.get(row, self.end) < self.end


Key = Draw | TrackSum


@dataclass(frozen=True)
class Linear:
    """A sum of weighted draws and a constant."""

    terms: frozenset[tuple[Key, Fraction]] = frozenset()
    constant: Fraction = Fraction(0)

    def scaled(self, factor: Fraction) -> Linear:
        """Times a number."""
        if not factor:
            return Linear()
        return Linear(frozenset((key, weight * factor) for key, weight in self.terms), self.constant * factor)

    def plus(self, other: Linear) -> Linear:
        """The sum of two: a draw that is in both is one draw, with both weights."""
        if not self.terms or not other.terms:
            return Linear(self.terms | other.terms, self.constant + other.constant)
        total = dict(self.terms)
        for key, weight in other.terms:
            total[key] = total.get(key, Fraction(0)) + weight
        return Linear(frozenset((key, w) for key, w in total.items() if w), self.constant + other.constant)


def total(linears: Iterable[Linear], factors: Iterable[Fraction] | None = None) -> Linear:
    """The sum of many, each times its factor where there are factors."""
    weights: dict[Key, Fraction] = {}
    constant = Fraction(0)
    for linear, factor in zip(linears, repeat(Fraction(1)) if factors is None else factors, strict=False):
        constant += linear.constant * factor
        for key, weight in linear.terms:
            own = weight if factors is None else weight * factor
            weights[key] = weights[key] + own if key in weights else own
    return Linear(frozenset((key, w) for key, w in weights.items() if w), constant)


ONE = Linear(frozenset(), Fraction(1))


def weighed(weights: Iterable[Fraction], draws: Iterable[Draw]) -> Linear:
    """Draws with these weights."""
    return Linear(frozenset((draw, weight) for draw, weight in zip(draws, weights, strict=True) if weight))


@dataclass(frozen=True)
class Ratio:
    """top/bottom; public numbers are ratios without draws."""

    top: Linear
    bottom: Linear = ONE

    @property
    def fixed(self) -> Fraction | None:
        """Its value, where no noise is in it."""
        if self.top.terms or self.bottom.terms or not self.bottom.constant:
            return None
        return self.top.constant / self.bottom.constant


@dataclass(frozen=True)
class Moment:
    """A variance, a correlation, or another function of the sums of one row that has its own interval."""

    aggregate: Aggregate
    draws: tuple[Draw, ...]


@dataclass(frozen=True)
class Pick:
    """A value that was chosen by rank, whose interval was drawn with it."""

    draw: Draw


class Cells(Protocol):
    """What was drawn, and by which law."""

    def picked(self, key: Draw, confidence: Fraction) -> tuple[Fraction, Fraction]:
        """The interval of a value that was chosen by rank."""

    def drawn(self, key: Draw) -> tuple[Fraction, NoiseTerm]:
        """A released number and its noise."""

    def noise(self, pool: TrackSum) -> NoiseTerm:
        """The noise of a total."""

    def runs(self, cut: int, bundle: int) -> bool:
        """Whether noise is on running totals there: then only one of them has a law, and by itself."""


class CellColumns(Protocol):
    """What was drawn for several cells that are the same sums of other rows: by the keys of one of them."""

    def picked(self, key: Draw, confidence: Fraction) -> list[tuple[Fraction, Fraction]]:
        """The interval of the value that was chosen by rank in each cell."""

    def drawn(self, key: Draw) -> tuple[ExactNumbers, NoiseTerm]:
        """A released number of each cell, and the noise of all of them."""

    def noise(self, pool: TrackSum) -> NoiseTerm:
        """The noise of a total."""

    def runs(self, cut: int, bundle: int) -> bool:
        """Whether noise is on running totals there."""


class OneCell:
    """A single cell."""

    def __init__(self, cells: Cells) -> None:
        self._cells, self.noise, self.runs = cells, cells.noise, cells.runs

    def picked(self, key: Draw, confidence: Fraction) -> list[tuple[Fraction, Fraction]]:
        """The interval of a value that was chosen by rank."""
        return [self._cells.picked(key, confidence)]

    def drawn(self, key: Draw) -> tuple[ExactNumbers, NoiseTerm]:
        """A released number and its noise."""
        number, term = self._cells.drawn(key)
        return exact(number), term


Weighed = tuple[tuple[Fraction, ...], ExactNumbers, NoiseTerm]
"""The weights of a noisy number in several sums, the number in each cell, and its noise."""


def apart(linears: Sequence[Linear], cells: CellColumns) -> list[Weighed] | None:
    """Independent noisy numbers that all these sums are made of; None where noise is shared and cannot be told apart.

    A total and draws in it become these draws and the rest of the total; totals that overlap become their draws.
    """
    weights: Weights = {}
    for i, linear in enumerate(linears):
        for key, weight in linear.terms:
            weights.setdefault(key, [Fraction(0)] * len(linears))[i] += weight
    if _entangled(weights, cells) or not _written_out(weights):
        return None
    found = [_rest(pool, weights, cells) for pool in [key for key in weights if isinstance(key, TrackSum)]]
    draws = [
        (tuple(own), *cells.drawn(key)) for key, own in weights.items() if not isinstance(key, TrackSum) and any(own)
    ]
    return _alike([*(one for one in found if one[2].draws), *draws])


Weights = dict[Key, list[Fraction]]


def _entangled(weights: Weights, cells: CellColumns) -> bool:
    """Whether noise on running totals is in several terms: then only one of them has a law, and by itself."""
    bundles = [key.slot[:2] if isinstance(key, TrackSum) else key[:2] for key in weights]
    alone = {key.slot[:2] for key in weights if isinstance(key, TrackSum) and bundles.count(key.slot[:2]) == 1}
    return any(cells.runs(*bundle) for bundle in set(bundles) - alone)


def _written_out(weights: Weights) -> bool:
    """Totals of the same sums as their draws; not where these are too many."""
    pools = [key for key in weights if isinstance(key, TrackSum)]
    slots = [pool.slot for pool in pools]
    crowded = [pool for pool in pools if slots.count(pool.slot) > 1]
    if sum(pool.end for pool in crowded) > _MANY:
        return False
    for pool in crowded:
        shared = weights.pop(pool)
        for row in pool.track.rows[: pool.end]:
            own = weights.setdefault((*pool.slot, row), [Fraction(0)] * len(shared))
            own[:] = [mine + weight for mine, weight in zip(own, shared, strict=True)]
    return True


def _rest(pool: TrackSum, weights: Weights, cells: CellColumns) -> Weighed:
    """What a total has beside the draws in it that stand by themselves: these get its weights, too."""
    shared = weights.pop(pool)
    inside = [k for k in weights if not isinstance(k, TrackSum) and k[:3] == pool.slot and pool.holds(k[3])]
    for key in inside:
        weights[key] = [own + weight for own, weight in zip(weights[key], shared, strict=True)]
    term, rest = cells.noise(pool), exact(pool.total)
    for key in inside:
        rest = rest.plus(cells.drawn(key)[0].times(Fraction(-1)))
    return tuple(shared), rest, replace(term, draws=term.draws - len(inside)) if inside else term


def _alike(found: list[Weighed]) -> list[Weighed]:
    """Numbers of one law and the same weights, added up: one sum of so many draws."""
    if any(term.shown is not None for *_, term in found):
        return found
    if not any(one[0] == two[0] and one[2] == two[2] for one, two in combinations(found, 2)):
        return found
    together: dict[tuple[tuple[Fraction, ...], NoiseTerm], tuple[ExactNumbers, int]] = {}
    for own, number, term in found:
        one = replace(term, draws=1)
        before = together.get((own, one))
        together[own, one] = (
            (number, term.draws) if before is None else (before[0].plus(number), before[1] + term.draws)
        )
    return [(own, number, replace(one, draws=draws)) for (own, one), (number, draws) in together.items()]
