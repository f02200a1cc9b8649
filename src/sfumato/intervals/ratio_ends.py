"""Intervals of ratios of noisy sums, for many cells at once: all ratios that the noise does not rule out.

Comes in: for each cell the noisy numbers, their weights above and below the line, and the noise that all cells share.
Goes out: both ends for each cell, or nothing where there is no end. How wide noise is follows from the law and the
weights, so for two terms it is looked up by their proportion; each law is worked out once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.algebra.exact_numbers import Floats
from sfumato.algebra.noise_widths import NoiseTerm, chernoff_bound, two_laplace, widths

_STEPS = 1 << 14
"""Proportions of two weights that are worked out; one in between has the width of the next larger."""
_LOST = 2.0**-46
"""More than doubles lose where a handful of numbers is added up, relatively to the largest."""

Width = Callable[[Floats], Floats]
Cells = NDArray[np.intp] | slice


@dataclass(frozen=True, eq=False)
class NoisyRatios:
    """(first + sum of tops x numbers)/(last + sum of bottoms x numbers): a row for a term, a column for a cell."""

    first: Floats
    last: Floats
    tops: Floats
    bottoms: Floats
    numbers: Floats


def ratio_ends(of: NoisyRatios, terms: Sequence[NoiseTerm], miss: float, *, chernoff: bool) -> tuple[Floats, Floats]:
    """The lower and the upper end of each cell; not a number where the possible ratios have no end.

    Guarantee: an end is a ratio that the noise rules out; going from the middle to it, possible ones came before.
    Proof: a ratio is ruled out only if the gap top - ratio bottom, whose exact value is 0 at the true ratio, is farther
        from 0 than its noise by `widths` and what doubles lose. What is looked up is the width where the smaller weight
        is larger: that noise is less peaked, so its width, and Chernoff's bound for it, are no smaller.
    Reference: Fieller's argument; Birnbaum, On random variables with comparable peakedness, 1948.
    Checked by: laws::many_intervals_are_those_of_each_cell, laws::intervals_hold_what_they_promise
    """
    numbers = np.abs(of.numbers)
    above, below = of.first + (of.tops * of.numbers).sum(axis=0), of.last + (of.bottoms * of.numbers).sum(axis=0)
    lost_above = (np.abs(of.first) + (np.abs(of.tops) * numbers).sum(axis=0)) * _LOST
    lost_below = (np.abs(of.last) + (np.abs(of.bottoms) * numbers).sum(axis=0)) * _LOST
    width = _width(terms, miss, chernoff)

    def possible(ratios: Floats, some: Cells) -> NDArray[np.bool_]:
        gap, lost = above[some] - ratios * below[some], lost_above[some] + np.abs(ratios) * lost_below[some]
        wide = width(of.tops[:, some] - ratios * of.bottoms[:, some])
        return np.asarray(~(np.abs(gap) > wide * (1 + 1e-9) + lost))

    with np.errstate(all="ignore"):
        middle = above / below
        least = np.maximum(np.abs(middle) * 1e-9, 1e-30)
        step = np.maximum(width(of.tops - middle * of.bottoms) / np.abs(below), least)
        halvings = 10 if chernoff else 20
        return _end(middle, -step, possible, halvings), _end(middle, step, possible, halvings)


def _end(middle: Floats, step: Floats, possible: Callable[[Floats, Cells], NDArray[np.bool_]], halvings: int) -> Floats:
    """Where the possible ratios end: by doubling, then halving; rounded outward."""
    inside, outside, step = middle.copy(), middle + step, step.copy()
    open_ = np.arange(len(middle))
    for _ in range(40):
        open_ = open_[possible(outside[open_], open_)]
        if not len(open_):
            break
        inside[open_] = outside[open_]
        step[open_] *= 2
        outside[open_] = middle[open_] + step[open_]
    for _ in range(halvings):
        half = (inside + outside) / 2
        within = possible(half, slice(None))
        inside, outside = np.where(within, half, inside), np.where(within, outside, half)
    outside[open_] = np.nan
    outside[~np.isfinite(outside)] = np.nan
    return outside


def _width(terms: Sequence[NoiseTerm], miss: float, chernoff: bool) -> Width:
    """How wide the noise of a sum with given weights is."""
    if len(terms) != 2 or any(term.gaussian for term in terms):
        return lambda weights: widths(weights, terms, miss, chernoff)
    (one, two), exactly = terms, not chernoff and terms[0].draws == terms[1].draws == 1
    scales = np.array([[float(one.scale)], [float(two.scale)]])
    steps = np.array([[float(one.step)], [float(two.step)]])

    def width(weights: Floats) -> Floats:
        sizes = np.abs(weights) * scales
        larger, smaller = np.maximum(sizes[0], sizes[1]), np.minimum(sizes[0], sizes[1])
        share = np.ceil(smaller / larger * _STEPS)
        place = np.fmin(share, _STEPS).astype(np.intp)  # what is not a number, 0/0, is at the end of the table
        bound: Floats = _by_moments(miss, one.draws, two.draws)[place]
        if one.draws != two.draws:
            bound = np.where(sizes[0] < sizes[1], _by_moments(miss, two.draws, one.draws)[place], bound)
        if not exactly:
            return np.asarray(larger * bound)
        slack = (np.abs(weights) * steps).sum(axis=0)
        return np.asarray(np.minimum(larger * bound, slack + larger * _by_tails(miss)[place]))

    return width


def _shares() -> Floats:
    return np.arange(_STEPS + 1) / _STEPS


@lru_cache(maxsize=64)
def _by_moments(miss: float, larger: int, smaller: int) -> Floats:
    """Chernoff's bound for Laplace draws of sizes 1 and each share, added up so often."""
    sizes = np.vstack([np.ones(_STEPS + 1), _shares()])
    return chernoff_bound(sizes, np.array([larger, smaller]), np.zeros(_STEPS + 1), miss) * (1 + 1e-12)


@lru_cache(maxsize=64)
def _by_tails(miss: float) -> Floats:
    """The width of two Laplace draws of sizes 1 and each share."""
    return two_laplace(np.ones(_STEPS + 1), _shares(), miss) * (1 + 1e-12)
