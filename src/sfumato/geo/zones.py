"""Privacy zones: inside of a zone (home, school) every position is treated as one.

Answering differently inside of a zone would tell whether somebody is in it: two positions one step apart, on both sides
of the border, would be told apart for certain. Here positions inside are moved to the zone's centre before noise is
drawn, and those around it are pulled in, less and less, up to four times the radius. That stretches distances by at
most 4/3, and the noise is made larger to pay for it. Choose a centre that is not the home itself.

Guarantee: positions inside of one zone have the same law of reports, and the level holds between any two positions.
Proof: around a zone of radius p a point at distance r from the centre is moved along its ray to the distance h(r) = 0
for r <= p, 4/3 (r - p) for p < r < 4p, r beyond: h is continuous with slopes of at most 4/3 and h(r) <= r, so that the
map stretches no distance by more than 4/3 in a plane or in space. Zones are at least four radii apart from each other,
so that every point is moved by one zone at most.
Reference: none; a Lipschitz map before a metric-private mechanism multiplies its epsilon by the constant.
Checked by: geo::positions_in_a_zone_are_one, geo::zones_stretch_by_no_more_than_they_say
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.geo.frames import Frame
from sfumato.types import as_written, positive

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
PULL = 4
STRETCH = Fraction(PULL, PULL - 1)


@dataclass(frozen=True)
class Zone:
    """A disc on the ground: its centre in degrees, its radius in metres."""

    lat: Fraction
    lon: Fraction
    radius: Fraction

    def __post_init__(self) -> None:
        for name, what in (("lat", "latitude"), ("lon", "longitude")):
            object.__setattr__(self, name, as_written(getattr(self, name), what))
        object.__setattr__(self, "radius", positive(self.radius, "radius of a zone"))
        if not (abs(self.lat) <= 90 and abs(self.lon) <= 180):
            raise InputError("the centre of a zone is not a valid position", hint="Write latitude,longitude,metres.")
        if self.radius > 50_000:
            raise InputError("a zone has a radius of at most 50 km")


@dataclass(frozen=True)
class Zoned:
    """A frame with zones."""

    frame: Frame
    zones: tuple[Zone, ...]

    @property
    def dimensions(self) -> int:
        """Those of the frame."""
        return self.frame.dimensions

    @property
    def step(self) -> Fraction:
        """That of the frame."""
        return self.frame.step

    @property
    def stretch(self) -> Fraction:
        """How much longer a distance can become."""
        return self.frame.stretch * STRETCH

    @property
    def moved(self) -> Fraction:
        """How far a position can be moved before noise is drawn: the largest radius."""
        return max(zone.radius for zone in self.zones)

    @property
    def reach(self) -> Fraction:
        """That of the frame, or 0."""
        return getattr(self.frame, "reach", Fraction(0))

    @cached_property
    def _discs(self) -> list[tuple[Floats, float]]:
        """Centres and radii along the axes of the frame; refused where they are too near to each other."""
        lat, lon = (np.array([float(getattr(zone, name)) for zone in self.zones]) for name in ("lat", "lon"))
        try:
            centres = self.frame.coordinates(lat, lon)
        except InputError as error:
            raise InputError("the centre of a zone is outside the region", detail=error.detail) from None
        discs = list(zip(centres, [float(z.radius) for z in self.zones], strict=True))
        for i, (centre, radius) in enumerate(discs):
            for other, size in discs[:i]:
                if np.linalg.norm(centre - other) < PULL * (radius + size):
                    raise InputError(
                        "two zones are too near to each other",
                        detail=f"Centres must be {PULL} times both radii apart.",
                        hint="Join them to one zone.",
                    )
        return discs

    def coordinates(self, lat: Floats, lon: Floats, first: int | None = 0, *, refuse: bool = True) -> Floats:
        """Coordinates of the frame, with zones pulled to their centres."""
        points = np.array(self.frame.coordinates(lat, lon, first, refuse=refuse))
        for centre, radius in self._discs:
            apart = points - centre
            far = np.linalg.norm(apart, axis=-1)
            near = far < PULL * radius
            moved = np.maximum(far[near] - radius, 0) * float(STRETCH)
            points[near] = centre + apart[near] * (moved / np.maximum(far[near], 1e-9))[:, None]
        return points

    def to_grid(self, lat: Floats, lon: Floats, first: int | None = 0, *, refuse: bool = True) -> Integers:
        """The nearest grid point."""
        return np.rint(self.coordinates(lat, lon, first, refuse=refuse) / float(self.step)).astype(np.int64)

    def from_grid(self, points: Integers) -> tuple[Floats, Floats]:
        """As the frame does."""
        return self.frame.from_grid(points)
