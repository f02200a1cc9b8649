"""The three equivalent definitions of geo-indistinguishability, checked on any finite channel.

- distances: K(x)(z) <= e^(epsilon d(x,x')) K(x')(z);
- odds: seeing z changes the odds of x against x' by a factor of at most e^(epsilon d(x,x')), for every prior;
- knowledge: who already knows that the position is within r of x gets surer of x by a factor of at most e^(epsilon r),
  for every prior.

Each is computed from its own formula, in fractions: posteriors for the second, posteriors within balls for the third.
The last two speak of all priors; they are checked on the priors that are given, and on `worst_prior`, where the third
comes as near to the first as anybody likes. A definition is said to hold only if that is certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

from sfumato.design.level import Level, as_level
from sfumato.design.priors import Prior, as_prior
from sfumato.mechanisms import Channel
from sfumato.mechanisms.metrics import Distance, Metric, distances
from sfumato.reals import Real, as_real
from sfumato.types import as_written

_BITS = 160


@dataclass(frozen=True)
class Definitions:
    """Which of the three definitions hold at this epsilon, for these priors."""

    distances: bool
    odds: bool
    knowledge: bool


def check_definitions(
    channel: Channel, epsilon: Any, metric: Metric = "euclidean", priors: Sequence[Prior] = ("uniform",)
) -> Definitions:
    """Check all three definitions on a channel of fractions whose inputs are points."""
    rows = [[as_written(p) for p in row] for row in channel.matrix]
    apart = distances(metric, channel.inputs)
    decays = _Decays(as_level(epsilon))
    beliefs = [as_prior(prior, channel.inputs) for prior in priors]
    columns = list(zip(*rows, strict=True))
    return Definitions(
        all(_close(column, apart, decays) for column in columns),
        all(_odds(column, prior, apart, decays) for prior in beliefs for column in columns),
        all(_knowledge(column, prior, apart, decays) for prior in beliefs for column in columns),
    )


def worst_prior(size: int, likely: int, rare: int, weight: Any = Fraction(1, 10**6)) -> list[Fraction]:
    """Nearly all weight on one input and a little on another: here the gain of knowledge is largest."""
    share = as_written(weight, "weight")
    return [1 - share if x == likely else share if x == rare else Fraction(0) for x in range(size)]


class _Decays:
    """Upper ends of e^(-epsilon d), one for each distance."""

    def __init__(self, level: Level) -> None:
        self.level, self.known = level, dict[object, Fraction]()

    def allows(self, large: Fraction, small: Fraction, distance: Distance) -> bool:
        """Whether large <= e^(epsilon distance) small, for certain."""
        if large <= small:
            return True
        key = id(distance) if isinstance(distance, Real) else distance
        if key not in self.known:
            decay = self.level.decay(distance)
            self.known[key] = (
                Fraction(as_real(decay).enclose(_BITS)[1], 1 << _BITS) if isinstance(decay, Real) else decay
            )
        return large * self.known[key] <= small


def _close(column: Sequence[Fraction], apart: Sequence[Sequence[Distance]], decays: _Decays) -> bool:
    return all(decays.allows(a, b, apart[x][y]) for x, a in enumerate(column) for y, b in enumerate(column) if x != y)


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
