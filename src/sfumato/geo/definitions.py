"""The three equivalent definitions of geo-indistinguishability, checked on any finite channel.

- distances: K(x)(z) <= e^(epsilon d(x,x')) K(x')(z);
- odds: seeing z changes the odds of x against x' by a factor of at most e^(epsilon d(x,x')), for every prior;
- knowledge: who already knows that the position is within r of x gets surer of x by a factor of at most e^(epsilon r),
  for every prior.

Each is computed from its own formula, in fractions: posteriors for the second, posteriors within balls for the third.
The last two speak of all priors. They are checked on the uniform prior and, for each report and each pair of inputs, on
`worst_prior`: nearly all weight on one input and so little on the other that its posterior grows by more than
e^(epsilon d) if any prior lets it. So the three definitions agree on every channel. Priors that are given take the
place of these. A definition is said to hold only if that is certain.

Guarantee: without given priors, the three answers are equal.
Proof: let D >= e^(-epsilon d) be the fraction that decides, the same for all three. If K(x) D > K(y), the prior with
weight w < (K(x) D - K(y))/(K(x) - K(y)) on x and the rest on y has w K(x)/(w K(x) + (1 - w) K(y)) D > w; odds are
K(x)/K(y) for every prior. If K(x) D <= K(y) for all pairs, then also for sums over a ball. D is e^(-epsilon d) where
that is a fraction, else above it by less than 2^-159 of it, or of the smallest ratio that it is compared with.
Reference: Andrés, Bordenabe, Chatzikokolakis, Palamidessi, CCS 2013, theorem 3.1 and 3.2.
Checked by: geo::the_three_definitions_agree_on_random_channels,
geo::definitions_decide_as_logarithms_do_however_far_places_are_apart
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, permutations
from typing import Any

import numpy as np

from sfumato.design.level import Level, as_level
from sfumato.design.priors import Prior, as_prior
from sfumato.mechanisms import Channel
from sfumato.mechanisms.metrics import Distance, Metric, distances
from sfumato.reals import Real
from sfumato.types import as_written

_BITS = 160
_ROUGH = 1e-290
"""Floats below this may have few digits, or be quotients of such."""
RARE = Fraction(1, 10**6)
_Check = Callable[[Sequence[Fraction], Sequence[Fraction], Sequence[Sequence[Distance]], "_Decays"], bool]


@dataclass(frozen=True)
class Definitions:
    """Which of the three definitions hold at this epsilon."""

    distances: bool
    odds: bool
    knowledge: bool


def check_definitions(
    channel: Channel, epsilon: Any, metric: Metric = "euclidean", priors: Sequence[Prior] | None = None
) -> Definitions:
    """Check all three definitions on a channel of fractions whose inputs are points; `priors` are those that the last
    two are checked on: without them, the worst ones of every pair are.
    """
    rows = [[as_written(p) for p in row] for row in channel.matrix]
    apart = distances(metric, channel.inputs)
    beliefs = [as_prior(prior, channel.inputs) for prior in (("uniform",) if priors is None else priors)]
    decays = _Decays(as_level(epsilon), _smallest(rows) + _smallest(beliefs))
    columns = list(zip(*rows, strict=True))

    pairs = list(_worst_pairs(rows, apart)) if priors is None else []

    def hold(check: _Check) -> bool:
        given = (check(column, prior, apart, decays) for prior in beliefs for column in columns)
        return all(pair.holds(check, decays) for pair in pairs) and all(given)

    return Definitions(all(_close(column, apart, decays) for column in columns), hold(_odds), hold(_knowledge))


def worst_prior(size: int, likely: int, rare: int, weight: Any = RARE) -> list[Fraction]:
    """Nearly all weight on one input and a little on another: here the gain of knowledge is largest."""
    share = as_written(weight, "weight")
    return [1 - share if x == likely else share if x == rare else Fraction(0) for x in range(size)]


class _Decays:
    """Upper ends of e^(-epsilon d), one for each distance."""

    def __init__(self, level: Level, least: int) -> None:
        """2^-least is below every ratio that is compared."""
        self.level, self.least, self.known = level, least, dict[object, Fraction]()

    def allows(self, large: Fraction, small: Fraction, distance: Distance) -> bool:
        """Whether large <= e^(epsilon distance) small, for certain."""
        return large <= small or large * self.of(distance) <= small

    def rare(self, large: Fraction, small: Fraction, distance: Distance) -> Fraction:
        """A weight so small that a posterior shows whether large > e^(epsilon distance) small."""
        excess = large * self.of(distance) - small
        return excess / (large - small) / 2 if excess > 0 else RARE

    def of(self, distance: Distance) -> Fraction:
        """An upper end for one distance."""
        key = id(distance) if isinstance(distance, Real) else distance
        if key not in self.known:
            self.known[key] = self.level.decay_above(distance, self.least, _BITS)
        return self.known[key]


def _smallest(rows: Sequence[Sequence[Fraction]]) -> int:
    """A whole number n with 2^-n below everything in these rows that is not 0."""
    return 1 + max(p.denominator.bit_length() - p.numerator.bit_length() for row in rows for p in row if p)


def _close(column: Sequence[Fraction], apart: Sequence[Sequence[Distance]], decays: _Decays) -> bool:
    return all(decays.allows(a, b, apart[x][y]) for x, a in enumerate(column) for y, b in enumerate(column) if x != y)


@dataclass(frozen=True)
class _Pair:
    """Two inputs and a report that makes the first likelier: what they need to be checked alone."""

    chances: tuple[Fraction, Fraction]
    distance: Distance

    def holds(self, check: _Check, decays: _Decays) -> bool:
        """Whether a definition holds for the worst prior; inputs without weight change nothing."""
        zero = Fraction(0)
        apart = [[zero, self.distance], [self.distance, zero]]
        return check(self.chances, worst_prior(2, 1, 0, decays.rare(*self.chances, self.distance)), apart, decays)


def _worst_pairs(rows: Sequence[Sequence[Fraction]], apart: Sequence[Sequence[Distance]]) -> Iterator[_Pair]:
    """Every ordered pair of inputs with the reports whose probabilities have the largest ratio. For a prior on two
    inputs, posteriors grow with that ratio, so that no other report refutes what these do not. Floats leave out only
    reports whose ratio is certainly smaller: those that are too near to 0 for a float's precision are all checked.
    """
    table = np.array([[float(p) for p in row] for row in rows])
    table[(table > 0) & (table < _ROUGH)] = np.nan
    for x, y in permutations(range(len(rows)), 2):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = table[x] / table[y]
        largest = np.max(ratios, where=np.isfinite(ratios), initial=0.0)
        for z in np.flatnonzero(~(ratios < largest * (1 - 1e-9))).tolist():
            if rows[x][z] > rows[y][z]:  # a report that is rarer makes nobody surer
                yield _Pair((rows[x][z], rows[y][z]), apart[x][y])


def _odds(
    column: Sequence[Fraction], prior: Sequence[Fraction], apart: Sequence[Sequence[Distance]], decays: _Decays
) -> bool:
    """P(x|z)/P(x'|z) <= e^(epsilon d) P(x)/P(x'), multiplied out where a probability is 0."""
    joint = [p * k for p, k in zip(prior, column, strict=True)]
    seen = sum(joint)
    if not seen:
        return True
    after = [j / seen for j in joint]
    return all(
        decays.allows(after[x] * prior[y], after[y] * prior[x], apart[x][y])
        for x in range(len(after))
        for y in range(len(after))
        if x != y and prior[x] and prior[y]
    )


def _knowledge(
    column: Sequence[Fraction], prior: Sequence[Fraction], apart: Sequence[Sequence[Distance]], decays: _Decays
) -> bool:
    """P(x | z, within r of x) <= e^(epsilon r) P(x | within r of x), for every x and every r that is a distance."""
    for x, row in enumerate(apart):
        if not prior[x] or not column[x]:
            continue
        order = sorted(range(len(row)), key=lambda y: float(row[y]))
        ball, seen = Fraction(0), Fraction(0)
        for _, ring in groupby(order, key=lambda y: float(row[y])):
            members = list(ring)
            ball += sum(prior[y] for y in members)
            seen += sum(prior[y] * column[y] for y in members)
            if not decays.allows(prior[x] * column[x] / seen, prior[x] / ball, row[members[-1]]):
                return False
    return True
