"""Intervals of sums of draws and of their ratios: many questions are answered together.

Comes in: ratios of linear combinations, each with a confidence, and what was drawn in the cells that they stand for.
Goes out: an interval for each cell by the law of the draws, or None where none can be told.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from sfumato.algebra.exact_numbers import ExactNumbers, from_floats
from sfumato.algebra.noise_sums import ONE, CellColumns, Cells, Draw, Linear, OneCell, TrackSum, Weighed, apart
from sfumato.algebra.noise_widths import Interval, NoiseTerm, ends_of_all, width_of, widths
from sfumato.intervals.ratio_ends import NoisyRatios, ratio_ends

_OUTWARD = Fraction(1_000_001, 1_000_000)
_LOOSE = 10**6
"""Ends that were searched for are moved outward by this part of the width."""
T = TypeVar("T")


@dataclass(frozen=True)
class RatioQuestion:
    """What is the interval of top/bottom?"""

    top: Linear
    bottom: Linear
    confidence: Fraction
    chernoff: bool = False


@dataclass(frozen=True, eq=False)
class ColumnEnds:
    """The ends of the interval of each cell; nothing is told of the cells in `none`."""

    low: ExactNumbers | list[Fraction]
    high: ExactNumbers | list[Fraction]
    none: frozenset[int] = frozenset()

    def at(self, cell: int) -> tuple[Fraction, Fraction] | None:
        """The interval of one cell."""
        return None if cell in self.none else (self.low[cell], self.high[cell])


@dataclass(frozen=True)
class PickQuestion:
    """What is the interval of a value that was chosen by rank?"""

    draw: Draw
    confidence: Fraction


@dataclass(frozen=True, eq=False)
class _Sought:
    """A question that needs a search."""

    number: int
    asked: RatioQuestion
    parts: list[Weighed]
    ratio: bool

    @property
    def law(self) -> tuple[object, ...]:
        """Questions with the same are searched together."""
        terms = tuple(term for *_, term in self.parts)
        return self.ratio, terms, self.asked.confidence, self.asked.chernoff


Question = RatioQuestion | PickQuestion
Steps = Generator[list[Question], list[ColumnEnds | None], T]
"""A computation that asks for intervals on its way: those of many cells are answered together."""


def together(cells: Sequence[tuple[Steps[T], CellColumns]]) -> list[T]:
    """The results of several computations, one step of all of them after the other."""
    results: dict[int, T] = {}
    answers: dict[int, list[ColumnEnds | None]] = {}
    running = dict(enumerate(cells))
    while running:
        asked: list[tuple[int, list[Question]]] = []
        for number, (steps, _) in list(running.items()):
            try:
                asked.append((number, steps.send(answers[number]) if number in answers else next(steps)))
            except StopIteration as end:
                results[number] = end.value
                del running[number]
        found = iter(answered([(one, cells[number][1]) for number, questions in asked for one in questions]))
        answers = {number: [next(found) for _ in questions] for number, questions in asked}
    return [results[number] for number in range(len(cells))]


def interval(top: Linear, bottom: Linear, cells: Cells, confidence: Fraction, chernoff: bool = False) -> Interval:
    """The interval of top/bottom in one cell."""
    (found,) = answered([(RatioQuestion(top, bottom, confidence, chernoff), OneCell(cells))])
    return None if found is None else found.at(0)


def answered(questions: Sequence[tuple[Question, CellColumns]]) -> list[ColumnEnds | None]:
    """The intervals of top/bottom; a ratio's by test inversion, None where its divisor may be zero. What was chosen by
    rank has the interval that was drawn with it.

    Guarantee: with at least this probability each holds what the exact sums would give.
    Proof: the noise of a linear combination of independent draws is within `width_of`; a ratio r is left out only if
        top - r bottom, whose exact value is 0 at the true ratio, is farther from 0 than its own noise.
    Reference: Fieller's argument; `width_of`.
    Checked by: laws::intervals_hold_what_they_promise, laws::many_intervals_are_those_of_each_cell
    """
    found: list[ColumnEnds | None] = [None] * len(questions)
    alike: dict[tuple[object, ...], list[_Sought]] = {}
    for number, (asked, cells) in enumerate(questions):
        if isinstance(asked, PickQuestion):
            lows, highs = zip(*cells.picked(asked.draw, asked.confidence), strict=True)
            found[number] = ColumnEnds(list(lows), list(highs))
            continue
        one = _direct(number, asked, cells)
        if isinstance(one, _Sought):
            alike.setdefault(one.law, []).append(one)
        else:
            found[number] = one
    for same in alike.values():
        ends = _ratios(same) if same[0].ratio else _sums(same)
        for one, known in zip(same, ends, strict=True):
            found[one.number] = known
    return found


def _direct(  # noqa: PLR0911  one for each form
    number: int, asked: RatioQuestion, cells: CellColumns
) -> ColumnEnds | _Sought | None:
    """What can be told without a search."""
    top, bottom, confidence = asked.top, asked.bottom, asked.confidence
    if bottom is ONE and not asked.chernoff and (key := _single(top)) is not None and not cells.runs(key[0], key[1]):
        return ColumnEnds(*ends_of_all(*cells.drawn(key), confidence))
    parts = apart((top, bottom), cells)
    if parts is not None and any(term.shown is not None for *_, term in parts):
        return _boxed(asked, parts)
    if parts is None or (any(term.law is not None for *_, term in parts) and (len(parts) > 1 or bottom.terms)):
        return None  # a law of running totals is known by itself only
    if any(w[1] for w, _, _ in parts):
        return _Sought(number, asked, sorted(parts, key=_order), ratio=True)
    if not bottom.constant:
        return None
    if asked.chernoff and parts:
        return _Sought(number, asked, sorted(parts, key=_order), ratio=False)
    half = width_of(tuple((w[0], term) for w, _, term in parts), confidence) / abs(bottom.constant)
    return _around(_value(top.constant, parts, 0).times(1 / bottom.constant), half)


def _order(part: Weighed) -> tuple[Fraction, Fraction, bool, int]:
    term = part[2]
    return term.scale, term.step, term.gaussian, term.draws


def _around(centre: ExactNumbers, half: Fraction) -> ColumnEnds:
    return ColumnEnds(centre.plus(-half), centre.plus(half))


def _value(constant: Fraction, parts: list[Weighed], which: int) -> ExactNumbers:
    """A sum, as it was drawn."""
    cells = len(parts[0][1]) if parts else 1
    total = ExactNumbers([0] * cells, Fraction(1)).plus(constant)
    for weights, numbers, _ in parts:
        total = total.plus(numbers.times(weights[which]))
    return total


def _single(top: Linear) -> Draw | None:
    """The draw that a sum is, by itself: most of all numbers are."""
    if len(top.terms) != 1 or top.constant:
        return None
    ((key, weight),) = top.terms
    return key if weight == 1 and not isinstance(key, TrackSum) else None


def _boxed(asked: RatioQuestion, parts: list[Weighed]) -> ColumnEnds | None:
    """Where numbers are told because they are large, noise is not symmetric: each has its interval, and all hold."""
    sure = 1 - (1 - asked.confidence) / len(parts)
    held = [ends_of_all(numbers, term, sure) for _, numbers, term in parts]
    lows, highs, none = [], [], set()
    for cell in range(len(parts[0][1])):
        sides = []
        for which, constant in enumerate((asked.top.constant, asked.bottom.constant)):
            ends = [
                (w[which] * low[cell], w[which] * high[cell]) for (w, *_), (low, high) in zip(parts, held, strict=True)
            ]
            sides.append((constant + sum(map(min, ends)), constant + sum(map(max, ends))))
        above, below = sides
        if below[0] <= 0 <= below[1]:
            none.add(cell)
            above, below = (Fraction(0), Fraction(0)), (Fraction(1), Fraction(1))
        corners = [a / b for a in above for b in below]
        lows.append(min(corners))
        highs.append(max(corners))
    return ColumnEnds(lows, highs, frozenset(none))


def _sums(same: list[_Sought]) -> list[ColumnEnds]:
    """Sums whose noise has a bound that is convex in the weights."""
    terms, asked = _terms(same), same[0].asked
    used = [place for place, term in enumerate(terms) if term.scale]
    weights = np.array([[float(one.parts[place][0][0]) for one in same] for place in used])
    wide = widths(weights, [terms[place] for place in used], float(1 - asked.confidence), True) if used else None
    found = []
    for place, one in enumerate(same):
        half = Fraction(0) if wide is None else Fraction(float(wide[place])) * _OUTWARD
        bottom = one.asked.bottom.constant
        found.append(_around(_value(one.asked.top.constant, one.parts, 0).times(1 / bottom), half / abs(bottom)))
    return found


def _terms(same: list[_Sought]) -> list[NoiseTerm]:
    return [term for *_, term in same[0].parts]


def _ratios(same: list[_Sought]) -> list[ColumnEnds]:
    """Ratios with noise below the line."""
    terms, asked, sizes = _terms(same), same[0].asked, [len(one.parts[0][1]) for one in same]

    def spread(values: list[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.repeat(np.array(values), sizes)

    places = range(len(terms))
    of = NoisyRatios(
        spread([float(one.asked.top.constant) for one in same]),
        spread([float(one.asked.bottom.constant) for one in same]),
        np.array([spread([float(one.parts[place][0][0]) for one in same]) for place in places]),
        np.array([spread([float(one.parts[place][0][1]) for one in same]) for place in places]),
        np.array([np.concatenate([one.parts[place][1].floats() for one in same]) for place in places]),
    )
    low, high = ratio_ends(of, terms, float(1 - asked.confidence), chernoff=asked.chernoff)
    unknown = ~(np.isfinite(low) & np.isfinite(high))
    low[unknown] = high[unknown] = 0.0
    found, first = [], 0
    for one, size in zip(same, sizes, strict=True):
        here = slice(first, first + size)
        none = frozenset(np.flatnonzero(unknown[here]).tolist()) | _perhaps_zero(one)
        both = from_floats(np.concatenate([low[here], high[here]]))
        pairs, unit = list(zip(both.counts[:size], both.counts[size:], strict=True)), both.unit / _LOOSE
        down = ExactNumbers([one * _LOOSE - abs(two - one) for one, two in pairs], unit)
        up = ExactNumbers([two * _LOOSE + abs(two - one) for one, two in pairs], unit)
        found.append(ColumnEnds(down, up, none))
        first += size
    return found


def _perhaps_zero(one: _Sought) -> frozenset[int]:
    """The cells whose divisor may be zero, or so small that noise may have made it."""
    below = _value(one.asked.bottom.constant, one.parts, 1)
    weights = tuple((w[1], term) for w, _, term in one.parts)
    most = width_of(weights, one.asked.confidence, one.asked.chernoff) // below.unit
    return frozenset(cell for cell, count in enumerate(below.counts) if abs(count) <= most)
