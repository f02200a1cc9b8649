"""From an area of interest to an area of retrieval: how far around a report to ask, so that nothing wanted is missed.

The true position is within the noise radius of the report with the wanted confidence, so that everything within
`interest` metres of it lies within noise radius + interest of the report. The radius depends on the level and on the
confidence alone, never on the report that was drawn: a radius chosen after the draw would tell how far away one is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import cosh, exp, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.geo.earth import ground_distance
from sfumato.geo.mechanism import LocationMechanism
from sfumato.types import certainty, sized

Floats = NDArray[np.float64]
FARTHEST = 20_037_509.0
"""Metres: half of the way around the earth. Whoever asks for so much asks for all of it."""


@dataclass(frozen=True)
class Retrieval:
    """Radii in metres. `radius` is that of planar Laplace noise without a grid; `grid_radius` holds for the mechanism
    as it is, rounding to its grid and dimensions included.
    """

    interest: float
    confidence: float
    noise_radius: float
    radius: float
    grid_radius: float


def planar_tail(t: float) -> float:
    """P(epsilon |noise| > t) of planar Laplace noise."""
    return (1 + t) * exp(-t)


def spatial_tail(t: float) -> float:
    """P(epsilon times the horizontal part > t) of three-dimensional Laplace noise: t² K_2(t)/2, K_2 by the trapezoidal
    rule on its integral over e^(-t cosh u) cosh 2u.
    """
    if t <= 0:
        return 1.0
    total = 0.5 * exp(-t)
    for i in range(1, 4000):
        u = i / 64
        term = exp(-t * cosh(u)) * cosh(2 * u)
        total += term
        if t * cosh(u) > 745 or (u > 2 and term < total * 1e-18):
            break
    return min(1.0, t * t * total / 128)


def quantile(tail: Callable[[float], float], confidence: float) -> float:
    """The least t whose tail is at most 1 - confidence, by bisection, from above."""
    low, high = 0.0, 1.0
    while tail(high) > 1 - confidence:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > 1 - confidence else (low, middle)
    return high


def retrieve(mechanism: LocationMechanism, interest: Any, confidence: Any = "0.95") -> Retrieval:
    """The area of retrieval that contains an area of interest with a given confidence.

    Guarantee: with probability at least `confidence`, every place within `interest` metres of the true position is
        within `grid_radius` metres of the report.
    Proof: a grid cell of side s around each grid point is within c = s sqrt(d)/2 of it, so that e^(-e |z|) s^d differs
        from the integral over its cell by a factor of at most e^(e c), and so does the normalising sum: the tail of the
        grid law at R is at most e^(2 e c) times that of the continuous law at R - c. Rounding the position adds c,
        rounding of degrees less than 2 cm, a zone its radius, and a plane that touches the earth shortens what lies R
        off its centre by less than 1 - cos(R/6356 km), for which the radius is stretched. No place is farther away
        than half of the way around the earth.
    Reference: Andrés, Bordenabe, Chatzikokolakis, Palamidessi, CCS 2013, section 5 (area of retrieval).
    Checked by: geo::the_area_of_retrieval_is_that_of_the_lecture, geo::everything_of_interest_is_retrieved
    """
    sure = float(certainty(confidence))
    wanted = float(sized(interest, "interest"))
    outer = float(mechanism.level.over(mechanism.radius).epsilon)
    noise = quantile(planar_tail, sure) / outer
    frame, inner = mechanism.frame, float(mechanism.inner.epsilon)
    half = float(frame.step) * sqrt(frame.dimensions) / 2
    tail = planar_tail if frame.dimensions == 2 else spatial_tail
    widened = exp(min(2 * inner * half, 700))
    grid = quantile(lambda t: widened * tail(t), sure) / inner + 2 * half + 0.02 + float(getattr(frame, "moved", 0))
    reach = float(getattr(frame, "reach", 0)) * sqrt(2)
    bent = (reach + grid) / 6_356_000
    stretch = 1 / np.cos(min(bent, 1.5))
    return Retrieval(wanted, sure, noise, min(noise + wanted, FARTHEST), min(float(grid * stretch) + wanted, FARTHEST))


@dataclass(frozen=True)
class Demonstration:
    """What asking through a report gives: the share of wanted places that came back, and how many came for each."""

    queries: int
    recall: float
    complete: float
    wanted: float
    received: float

    @property
    def lost(self) -> float:
        """Wanted places that did not come back, for each query."""
        return self.wanted * (1 - self.recall)

    @property
    def bandwidth(self) -> float:
        """Places received for each wanted one."""
        return self.received / self.wanted if self.wanted else float("nan")


def demonstrate(
    mechanism: LocationMechanism, area: Retrieval, places: tuple[Floats, Floats], users: tuple[Floats, Floats]
) -> Demonstration:
    """Query a file of places around a report of each user's position, within the area of retrieval."""
    reports = mechanism.report_many(*users)
    wanted = received = both = complete = 0
    for lat, lon, seen_lat, seen_lon in zip(*users, *reports, strict=True):
        near = ground_distance(np.array(lat), np.array(lon), *places) <= area.interest
        got = ground_distance(np.array(seen_lat), np.array(seen_lon), *places) <= area.grid_radius
        hit = int((near & got).sum())
        wanted, received, both = wanted + int(near.sum()), received + int(got.sum()), both + hit
        complete += hit == int(near.sum())
    count = len(users[0])
    recall = both / wanted if wanted else 1.0
    return Demonstration(count, recall, complete / count, wanted / count, received / count)
