"""The mechanism: a position in, a position nearby out, with a level of protection within a radius.

    place = LocationMechanism.within("ln 4", 200, around=(48.85, 2.35))
    lat, lon = place.report(48.8584, 2.2945)

People say "level l within r metres": whoever sees a report can tell two true positions at most r apart by odds of at
most e^l. Farther positions may be told apart more easily, in proportion: l D/r at a distance D.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.design.level import Level, as_level
from sfumato.errors import InputError
from sfumato.geo.frames import Around, Frame, Worldwide, slack
from sfumato.geo.lattice_noise import LatticeNoise
from sfumato.geo.zones import Zone, Zoned
from sfumato.reals import round_down
from sfumato.sampling import Bits
from sfumato.types import sized

Floats = NDArray[np.float64]
_STEPS = 200


@dataclass(frozen=True)
class LocationMechanism:
    """Reports a grid point near the true position.

    Guarantee: for any two positions (of the region, where there is one) at ground distance D and any set of reports,
        the probabilities differ by a factor of at most e^level where D <= radius, and of at most e^(level D/radius)
        beyond.
    Proof: with inner epsilon e = level/(radius + slack), a report z has probability e^(-e |z - g|)/Z at the grid point
        g of the position, in metres. Grid points are at most D + slack apart (frames), so the factor is at most
        e^(e (D + slack)), and (D + slack)/(radius + slack) is at most 1 for D <= radius and at most D/radius beyond.
        Where zones stretch distances, both D and radius are multiplied by the same number. Degrees and their decimals
        are computed from z alone.
    Reference: Andrés, Bordenabe, Chatzikokolakis, Palamidessi, CCS 2013; the lattice replaces its theorem 4.1.
    Checked by: geo::the_stated_level_holds_between_any_two_positions, geo::lattice_noise_has_the_exact_law,
        geo::the_precision_attack_finds_nothing
    """

    frame: Frame
    level: Level
    radius: Fraction

    @classmethod
    def within(
        cls,
        level: Any,
        radius: Any,
        *,
        around: tuple[Any, Any] | None = None,
        grid: Any = None,
        reach: Any = 500_000,
        zones: Sequence[Zone] = (),
    ) -> LocationMechanism:
        """Level `level` ("ln 4" or a number) within `radius` metres; `around` is a public place, `grid` in metres."""
        size = sized(radius, "radius")
        step = nice_step(size / _STEPS) if grid is None else sized(grid, "grid")
        if step > size:
            raise InputError("the grid must not be coarser than the radius", hint="Leave it out: it is chosen to fit.")
        frame: Frame = Worldwide(step) if around is None else Around(*around, step, sized(reach, "reach"))
        return cls(Zoned(frame, tuple(zones)) if zones else frame, sized_level(level), size)

    @property
    def inner(self) -> Level:
        """The epsilon of the noise, per metre: a little smaller than level/radius, to pay for rounding to the grid."""
        return self.level.over(self.radius * self.frame.stretch + slack(self.frame))

    @cached_property
    def noise(self) -> LatticeNoise:
        """The noise, in grid steps."""
        return LatticeNoise(self.inner.over(1 / self.frame.step).epsilon, self.frame.dimensions)

    def report_many(
        self, lat: Any, lon: Any, bits: Bits | None = None, *, first: int | None = 0
    ) -> tuple[Floats, Floats]:
        """A report for each position, drawn independently: each costs the level once. `first` counts rows before;
        None: this is one position, not a row of a file.
        """
        points = self.frame.to_grid(np.asarray(lat, np.float64), np.asarray(lon, np.float64), first)
        return self.frame.from_grid(points + self.noise.sample(len(points), bits))

    def report(self, lat: Any, lon: Any, bits: Bits | None = None) -> tuple[float, float]:
        """A report for one position."""
        out = self.report_many([float(lat)], [float(lon)], bits, first=None)
        return float(out[0][0]), float(out[1][0])


def sized_level(given: Any) -> Level:
    """A level that floats can compute with."""
    level = as_level(given)
    epsilon = level.epsilon
    sized(epsilon if isinstance(epsilon, Fraction) else round_down(epsilon, Fraction(1, 10**101)), "level")
    return level


def nice_step(most: Fraction) -> Fraction:
    """The largest of 1, 2, 5, 10, 20, 50, ... times a power of ten that is at most `most`."""
    unit = Fraction(1)
    while unit > most:
        unit /= 10
    while unit * 10 <= most:
        unit *= 10
    return max(unit * n for n in (1, 2, 5) if unit * n <= most)
