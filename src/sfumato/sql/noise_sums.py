"""Sums of draws, ratios of such sums, and their intervals: whatever several numbers share, they share as one draw.

Comes in: linear combinations of released whole numbers, each known by its cut, bundle, sum and row, and what was drawn
there. Goes out: an interval by the law of the draws, or None where none can be told. Which combination a column is
comes from `origins`, row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Protocol

from sfumato.sql.noise_widths import Interval, NoiseTerm, ends_of, noise_of, wide_enough, width_of
from sfumato.sql.tree import Aggregate

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


def total(linears: Iterable[Linear]) -> Linear:
    """The sum of many."""
    weights: dict[Key, Fraction] = {}
    constant = Fraction(0)
    for linear in linears:
        constant += linear.constant
        for key, weight in linear.terms:
            weights[key] = weights.get(key, Fraction(0)) + weight
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


class Cells(Protocol):
    """What was drawn, and by which law."""

    def drawn(self, key: Draw) -> tuple[Fraction, NoiseTerm]:
        """A released number and its noise."""

    def noise(self, pool: TrackSum) -> NoiseTerm:
        """The noise of a total."""

    def runs(self, cut: int, bundle: int) -> bool:
        """Whether noise is on running totals there: then only one of them has a law, and by itself."""


Weighed = tuple[tuple[Fraction, ...], Fraction, NoiseTerm]
"""The weights of one noisy number in several sums, the number, and its noise."""


def apart(linears: Sequence[Linear], cells: Cells) -> list[Weighed] | None:
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


def _entangled(weights: Weights, cells: Cells) -> bool:
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


def _rest(pool: TrackSum, weights: Weights, cells: Cells) -> Weighed:
    """What a total has beside the draws in it that stand by themselves: these get its weights, too."""
    shared = weights.pop(pool)
    inside = [k for k in weights if not isinstance(k, TrackSum) and k[:3] == pool.slot and pool.holds(k[3])]
    for key in inside:
        weights[key] = [own + weight for own, weight in zip(weights[key], shared, strict=True)]
    term, rest = cells.noise(pool), pool.total - sum((cells.drawn(key)[0] for key in inside), Fraction(0))
    return tuple(shared), rest, replace(term, draws=term.draws - len(inside)) if inside else term


def _alike(found: list[Weighed]) -> list[Weighed]:
    """Numbers of one law and the same weights, added up: one sum of so many draws."""
    if len(found) == 1 or any(term.shown is not None for *_, term in found):
        return found
    together: dict[tuple[tuple[Fraction, ...], NoiseTerm], tuple[Fraction, int]] = {}
    for own, number, term in found:
        one = replace(term, draws=1)
        before, draws = together.get((own, one), (Fraction(0), 0))
        together[own, one] = before + number, draws + term.draws
    return [(own, number, replace(one, draws=draws)) for (own, one), (number, draws) in together.items()]


def interval(  # noqa: PLR0911  one for each form
    top: Linear, bottom: Linear, cells: Cells, confidence: Fraction, chernoff: bool = False
) -> Interval:
    """The interval of top/bottom; a ratio's by test inversion, None where its divisor may be zero.

    Guarantee: with at least this probability it holds what the exact sums would give.
    Proof: the noise of a linear combination of independent draws is within `width_of`; a ratio r is left out only if
        top - r bottom, whose exact value is 0 at the true ratio, is farther from 0 than its own noise.
    Reference: Fieller's argument; `width_of`.
    Checked by: laws::intervals_hold_what_they_promise, rooms::every_interval_above_the_cut_holds_what_it_promises
    """
    if bottom is ONE and not chernoff and (key := _single(top)) is not None and not cells.runs(key[0], key[1]):
        return ends_of(*cells.drawn(key), confidence)
    parts = apart((top, bottom), cells)
    if parts is not None and any(term.shown is not None for *_, term in parts):
        return _boxed(top, bottom, parts, confidence)
    if parts is None or (any(term.law is not None for *_, term in parts) and (len(parts) > 1 or bottom.terms)):
        return None  # a law of running totals is known by itself only

    def at(which: int) -> Fraction:
        return (top, bottom)[which].constant + sum((w[which] * number for w, number, _ in parts), Fraction(0))

    def width(which: int) -> Fraction:
        return width_of(tuple((w[which], term) for w, _, term in parts), confidence, chernoff)

    below = at(1)
    if not any(w[1] for w, _, _ in parts):
        if not below:
            return None
        centre, half = at(0) / below, width(0) / abs(below)
        return centre - half, centre + half
    if abs(below) <= width(1):
        return None
    return _inverted(top.constant, bottom.constant, parts, float(1 - confidence), chernoff=chernoff)


def _boxed(top: Linear, bottom: Linear, parts: list[Weighed], confidence: Fraction) -> Interval:
    """Where numbers are told because they are large, noise is not symmetric: each has its interval, and all hold."""
    sure = 1 - (1 - confidence) / len(parts)
    held = [ends_of(number, term, sure) for _, number, term in parts]

    def side(which: int) -> tuple[Fraction, Fraction]:
        ends = [(w[which] * low, w[which] * high) for (w, _, _), (low, high) in zip(parts, held, strict=True)]
        constant = (top, bottom)[which].constant
        return constant + sum(map(min, ends)), constant + sum(map(max, ends))

    above, below = side(0), side(1)
    if below[0] <= 0 <= below[1]:
        return None
    corners = [a / b for a in above for b in below]
    return min(corners), max(corners)


def _single(top: Linear) -> Draw | None:
    """The draw that a sum is, by itself: most of all numbers are."""
    if len(top.terms) != 1 or top.constant:
        return None
    ((key, weight),) = top.terms
    return key if weight == 1 and not isinstance(key, TrackSum) else None


def _inverted(first: Fraction, last: Fraction, parts: list[Weighed], miss: float, *, chernoff: bool) -> Interval:
    """All ratios that the noise does not rule out: those whose gap, top - ratio bottom, is within its own noise."""
    rows = [(float(w[0]), float(w[1]), float(number), term) for w, number, term in parts]
    above = float(first) + sum(a * v for a, _, v, _ in rows)
    below = float(last) + sum(b * v for _, b, v, _ in rows)
    middle = above / below

    def width(ratio: float) -> float:
        return wide_enough([noise_of(a - ratio * b, term) for a, b, _, term in rows], miss, chernoff)

    def possible(ratio: float) -> bool:
        gap = float(first) - ratio * float(last) + sum((a - ratio * b) * v for a, b, v, _ in rows)
        return abs(gap) <= width(ratio) * (1 + 1e-9)

    step = max(width(middle) / abs(below), abs(middle) * 1e-9, 1e-30)
    ends = [_end(middle, step * sign, possible, 10 if chernoff else 20) for sign in (-1, 1)]
    if ends[0] is None or ends[1] is None:
        return None
    loose = abs(Fraction(ends[1]) - Fraction(ends[0])) / 10**6
    return Fraction(ends[0]) - loose, Fraction(ends[1]) + loose


def _end(inside: float, step: float, possible: Callable[[float], bool], halvings: int) -> float | None:
    """Where the possible ratios end: by doubling, then halving; rounded outward."""
    middle, outside = inside, inside + step
    for _ in range(40):
        if not possible(outside):
            break
        inside, step = outside, step * 2
        outside = middle + step
    else:
        return None
    for _ in range(halvings):
        half = (inside + outside) / 2
        inside, outside = (half, outside) if possible(half) else (inside, half)
    return outside
