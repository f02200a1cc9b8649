"""Attacks on reported positions: the digits of a report, and many reports about one place.

`precision`: noise that was drawn in floats leaves its fingerprints in the digits of a report. A radius drawn by an
inverse distribution function that is rounded to six decimals is a multiple of 1e-6/epsilon, measured from the true
position and from hardly any other. For each candidate position the attack asks how well the report fits, and accuses
the best one. It is run with the measures of such defects that are known; on noise drawn on a fixed grid every candidate
fits every report equally well.

`averaging`: independent reports about one place have a mean near it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import asin, atan2, cos, degrees, exp, fsum, lgamma, log, log1p, pi, radians, sin
from secrets import randbelow

import numpy as np
from numpy.typing import NDArray

from sfumato.geo.earth import ground_distance
from sfumato.geo.retrieval import planar_tail, quantile

Floats = NDArray[np.float64]
Position = tuple[float, float]
Reporter = Callable[[float, float], Position]
Residual = Callable[[Position, Floats, Floats], Floats]
_SPHERE = 6378137.0


@dataclass(frozen=True)
class Accusation:
    """How often the true candidate was accused; guessing would accuse it `blind` times."""

    trials: int
    identified: int
    candidates: int

    @property
    def blind(self) -> float:
        """Expected hits of somebody who guesses."""
        return self.trials / self.candidates

    @property
    def by_chance(self) -> float:
        """The probability that somebody who guesses hits at least as often."""
        if self.candidates == 1 or not self.identified:
            return 1.0
        n, yes, no = self.trials, -log(self.candidates), log1p(-1 / self.candidates)
        ways = (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) for k in range(self.identified, n + 1))
        return min(1.0, fsum(exp(way + k * yes + (n - k) * no) for k, way in enumerate(ways, self.identified)))


def candidates(lat: float, lon: float, *, side: int = 21, spacing: float = 11.0) -> tuple[Floats, Floats]:
    """A square of candidate positions around a place, side times side, so many metres apart."""
    steps = (np.arange(side) - side // 2) * spacing / 111_320
    north, east = np.meshgrid(steps, steps / cos(radians(lat)), indexing="ij")
    return lat + north.ravel(), lon + east.ravel()


def decimals_of_radius(epsilon: float, unit: float = 1e-6) -> Residual:
    """How far epsilon times the distance on the sphere is from a multiple of `unit`: the fingerprint of a rounded
    inverse distribution function.
    """

    def residual(report: Position, lat: Floats, lon: Floats) -> Floats:
        phi, other = np.radians(lat), np.radians(report[0])
        delta = np.radians(report[1] - lon)
        half = np.sin((other - phi) / 2) ** 2 + np.cos(phi) * np.cos(other) * np.sin(delta / 2) ** 2
        steps = epsilon * 2 * _SPHERE * np.arcsin(np.sqrt(half)) / unit
        return np.asarray(np.abs(steps - np.rint(steps)))

    return residual


def decimals_of_offset(step: float) -> Residual:
    """How far differences of degrees are from multiples of `step`: the fingerprint of offsets rounded in degrees."""

    def residual(report: Position, lat: Floats, lon: Floats) -> Floats:
        parts = [np.asarray(report[0] - lat) / step, np.asarray(report[1] - lon) / step]
        return np.asarray(sum(np.abs(part - np.rint(part)) for part in parts))

    return residual


def precision(
    reporter: Reporter,
    residual: Residual,
    true: Sequence[int],
    among: tuple[Floats, Floats],
) -> Accusation:
    """For each true candidate draw one report and accuse the candidate that fits best."""
    hits = 0
    for index in true:
        report = reporter(float(among[0][index]), float(among[1][index]))
        hits += int(np.argmin(residual(report, *among))) == index
    return Accusation(len(true), hits, len(among[0]))


def accuse(
    users: tuple[Floats, Floats], reports: tuple[Floats, Floats], residual: Residual, *, side: int = 21
) -> Accusation:
    """The same for reports that somebody else has made, one of side times side candidates accused for each.

    The true position stands at a random place among them, and all have as many decimals as the true positions: a
    candidate must not be found by its own digits.
    """
    hits, decimals = 0, _decimals(*users)
    for lat, lon, *report in zip(*(array.tolist() for array in (*users, *reports)), strict=True):
        index = randbelow(side * side)
        north, east = candidates(lat, lon, side=side)
        among = tuple(np.round(x - x[index] + true, decimals) for x, true in ((north, lat), (east, lon)))
        hits += int(np.argmin(residual((report[0], report[1]), *among))) == index
    return Accusation(len(users[0]), hits, side * side)


def _decimals(*positions: Floats) -> int:
    """The decimals that all of these have, at most 15."""
    return next((d for d in range(15) if all((x == np.round(x, d)).all() for x in positions)), 15)


def rounded_inverse(epsilon: float, unit: float = 1e-6) -> Reporter:
    """Noise as public tools have drawn it: a radius by the inverse distribution function, rounded to `unit`/epsilon.

    The direction is random, on a sphere. The attack finds the true position in its reports.
    """

    def report(lat: float, lon: float) -> Position:
        radius = round(quantile(planar_tail, randbelow(1 << 53) / (1 << 53)) / unit) * unit / epsilon / _SPHERE
        way = randbelow(1 << 53) / (1 << 53) * 2 * pi
        phi = radians(lat)
        north = asin(sin(phi) * cos(radius) + cos(phi) * sin(radius) * cos(way))
        east = radians(lon) + atan2(sin(way) * sin(radius) * cos(phi), cos(radius) - sin(phi) * sin(north))
        return degrees(north), degrees(east)

    return report


def averaging(reporter: Reporter, lat: float, lon: float, reports: int) -> float:
    """Metres between the mean of many reports about one place and the place."""
    drawn = np.array([reporter(lat, lon) for _ in range(reports)])
    mean = drawn.mean(axis=0)
    return float(ground_distance(np.array(lat), np.array(lon), np.array(mean[0]), np.array(mean[1])))
