"""The Laplace law as the lecture has it: a density over all real numbers, or atoms at both ends and a density between.

Comes in: a level, a sensitivity, perhaps a range. Goes out: densities and atoms as exact reals; a channel over cells.
What is released is never drawn from this: mechanisms.Laplace draws on a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from sfumato.design.level import Level, as_level
from sfumato.errors import InputError
from sfumato.mechanisms import Channel
from sfumato.reals import Real, as_real
from sfumato.types import as_written, positive, show


@dataclass(frozen=True)
class LaplaceDensity:
    """c e^(-epsilon |z - y| / sensitivity) with c = epsilon / (2 sensitivity); beyond `low` and `high` moved onto them.

    Guarantee: answers that are at most `sensitivity` apart have densities, and atoms, within a factor e^epsilon.
    Proof: |z - y'| <= |z - y| + |y - y'|; an atom is the integral of the density over what lies beyond an end.
    Reference: Dwork, McSherry, Nissim, Smith, TCC 2006.
    Checked by: design::laplace_densities_are_those_of_the_lecture, design::a_truncated_density_has_its_mass_in_atoms
    """

    level: Level
    sensitivity: Fraction
    low: Fraction | None = None
    high: Fraction | None = None

    @property
    def rate(self) -> Level:
        """epsilon for each unit of distance."""
        return self.level.over(self.sensitivity)

    @property
    def peak(self) -> Fraction | Real:
        """c, the density at the true answer."""
        return self.rate.epsilon / 2

    def density(self, z: Any, y: Any) -> Fraction | Real:
        """At z, if the true answer is y; 0 beyond the ends, and at an end: an atom has no density."""
        at, truth = as_written(z, "z"), as_written(y, "y")
        if (self.low is not None and at <= self.low) or (self.high is not None and at >= self.high):
            return Fraction(0)
        return as_real(self.peak) * self.rate.decay(abs(at - truth))

    def cdf(self, z: Any, y: Any) -> Fraction | Real:
        """The probability of an answer of at most z."""
        at, truth = as_written(z, "z"), as_written(y, "y")
        if self.high is not None and at >= self.high:
            return Fraction(1)
        if self.low is not None and at < self.low:
            return Fraction(0)
        half = self.rate.decay(abs(at - truth)) / 2
        return half if at <= truth else 1 - half

    def atoms(self, y: Any) -> tuple[Fraction | Real, Fraction | Real]:
        """The probabilities of the two ends themselves; 0 where there is none."""
        truth = as_written(y, "y")
        first = Fraction(0) if self.low is None else self.cdf(self.low, truth)
        if self.high is None:
            return first, Fraction(0)
        half = self.rate.decay(abs(self.high - truth)) / 2
        return first, half if truth <= self.high else 1 - half

    def cells(self, inputs: Sequence[Any], edges: Sequence[Any]) -> Channel:
        """The channel of which of the cells between the edges an answer falls into; the last cells have no far edge."""
        cuts = [as_written(edge, "edge") for edge in edges]
        if not cuts or any(a >= b for a, b in pairwise(cuts)):
            raise InputError("the edges of cells go up")
        rows = []
        for x in inputs:
            up_to = [as_real(self.cdf(cut, x)) for cut in cuts] + [as_real(1)]
            rows.append([up_to[0], *(b - a for a, b in pairwise(up_to))])
        names = [f"<={show(cuts[0])}", *(f"<={show(cut)}" for cut in cuts[1:]), f">{show(cuts[-1])}"]
        return Channel(rows, inputs, names)


def laplace(sensitivity: Any, epsilon: Any, low: Any = None, high: Any = None) -> LaplaceDensity:
    """The density of Laplace noise, perhaps truncated.

    >>> laplace(10, 1).peak
    Fraction(1, 20)
    """
    ends = [None if end is None else as_written(end, name) for end, name in ((low, "low"), (high, "high"))]
    if ends[0] is not None and ends[1] is not None and ends[0] >= ends[1]:
        raise InputError(f"low must be below high, but is {show(ends[0])} >= {show(ends[1])}")
    return LaplaceDensity(as_level(epsilon), positive(sensitivity, "sensitivity"), *ends)
