"""Where the grid lies: a frame maps positions to integer coordinates and back.

A frame is chosen in advance, from public knowledge, never from the position that is protected. There are two:

- `Around(lat, lon)`: a square grid in the plane that touches the earth at a public place. Noise is planar.
- `Worldwide()`: one cubic grid through the whole earth. Noise has three dimensions and its vertical part is dropped, so
  the reported place is on average 18 % farther away, and nobody has to say in advance where on earth the points are.

Frames cut into zones by the position itself (UTM zones, one tangent plane for each point) would have different grids on
the two sides of a border, and a reported point would tell the sides apart.

Guarantee: two positions at ground distance D have grid points at most (D + slack)/step steps apart, in Euclidean
distance, where slack = sqrt(dimensions) step + 2 mm.
Proof: the chord between two points is at most D. The plane's coordinates are inner products with two orthonormal
vectors, which never lengthen a difference; the cubic grid takes the point itself. Rounding moves each coordinate by at
most half a step, so both ends together by at most sqrt(dimensions) step; clipping to the region moves no two points
apart. Floats are within 1 µm here; 2 mm are allowed for them.
Reference: none; orthogonal projections are contractions.
Checked by: geo::grid_distances_never_exceed_the_ground, geo::poles_and_the_antimeridian_are_ordinary_places
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.geo.earth import EQUATOR, POLE, check_degrees, rounded, row_name, to_degrees, to_metres
from sfumato.types import as_written, positive, show

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

FARTHEST = 1_000_000
"""Metres: how far a planar region may reach from its centre to each side."""
FINEST = Fraction(1, 10**6)
_ROOT = {2: Fraction(141422, 100000), 3: Fraction(173206, 100000)}
"""The square roots of 2 and 3, from above."""
_ROUNDING = Fraction(2, 1000)


class Frame(Protocol):
    """A grid that was fixed in advance."""

    @property
    def dimensions(self) -> int:
        """2 for a plane, 3 for the whole earth."""

    @property
    def step(self) -> Fraction:
        """Metres between neighbouring grid points."""

    @property
    def stretch(self) -> Fraction:
        """How much longer a distance can be on the grid than on the ground: 1 but for zones."""

    def to_grid(self, lat: Floats, lon: Floats, first: int | None = 0, *, refuse: bool = True) -> Integers:
        """The nearest grid point of each position, as rows of integers; `first` rows came before, for messages
        (None: it is one position, not a row). A position outside of a region is refused, or else counts as a place of
        it.
        """

    def coordinates(self, lat: Floats, lon: Floats, first: int | None = 0, *, refuse: bool = True) -> Floats:
        """Metres along the axes of the grid, before rounding."""

    def from_grid(self, points: Integers) -> tuple[Floats, Floats]:
        """Latitude and longitude of grid points: a function of nothing else."""


def _checked_step(step: Fraction) -> Fraction:
    """A grid step: finer than a micrometre, whole numbers of steps would not fit into 64 bits with room for noise."""
    size = positive(step, "grid")
    if size < FINEST:
        raise InputError("a grid step is at least a micrometre, 0.000001 m")
    return size


def slack(frame: Frame) -> Fraction:
    """Metres by which rounding to the grid can move two positions apart."""
    return _ROOT[frame.dimensions] * frame.step + _ROUNDING


@dataclass(frozen=True)
class Around:
    """The plane that touches the earth at a public place; the region is a square that reaches `reach` metres to each
    side. Positions outside are refused; reports outside are moved to the nearest grid point of the region.
    """

    lat: Fraction
    lon: Fraction
    step: Fraction
    reach: Fraction = Fraction(500_000)
    dimensions = 2
    stretch = Fraction(1)

    def __post_init__(self) -> None:
        for name in ("lat", "lon"):
            object.__setattr__(
                self, name, as_written(getattr(self, name), "latitude" if name == "lat" else "longitude")
            )
        object.__setattr__(self, "step", _checked_step(self.step))
        object.__setattr__(self, "reach", positive(self.reach, "reach"))
        if not (abs(self.lat) <= 90 and abs(self.lon) <= 180):
            raise InputError(
                "the centre of the region is not a valid position", hint="Write latitude,longitude in degrees."
            )
        if self.reach > FARTHEST or self.step > self.reach:
            raise InputError(
                f"the region must reach between one grid step and {FARTHEST // 1000} km from its centre",
                detail=f"It reaches {show(self.reach)} m, and the grid step is {show(self.step)} m.",
                hint="Leave out the centre to use the worldwide grid.",
            )

    @cached_property
    def _axes(self) -> tuple[Floats, Floats]:
        """The centre, and its unit vectors to the east, to the north and up."""
        phi, lam = np.radians(float(self.lat)), np.radians(float(self.lon))
        east = [-np.sin(lam), np.cos(lam), 0.0]
        north = [-np.sin(phi) * np.cos(lam), -np.sin(phi) * np.sin(lam), np.cos(phi)]
        up = [np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)]
        return to_metres(np.array(float(self.lat)), np.array(float(self.lon))), np.array([east, north, up])

    @cached_property
    def steps(self) -> int:
        """Grid points from the centre to the edge of the region."""
        return int(self.reach / self.step)

    def coordinates(self, lat: Floats, lon: Floats, first: int | None = 0, *, refuse: bool = True) -> Floats:
        """Metres to the east and north of the centre; InputError names the first row outside the region."""
        check_degrees(lat, lon, first)
        centre, axes = self._axes
        local = (to_metres(lat, lon) - centre) @ axes.T
        most = (self.steps + 0.5) * float(self.step)
        outside = np.flatnonzero((np.abs(local[..., :2]).max(axis=-1) > most) | (local[..., 2] < -EQUATOR))
        if outside.size and refuse:
            raise InputError(
                f"{row_name(first, int(outside[0]))} is outside the region",
                detail=f"The region reaches {show(self.reach)} m to each side of {show(self.lat)},{show(self.lon)}.",
                hint="Choose the region from public knowledge, or leave it out to use the worldwide grid.",
            )
        return np.asarray(local[..., :2])

    def to_grid(self, lat: Floats, lon: Floats, first: int | None = 0, *, refuse: bool = True) -> Integers:
        """The nearest grid point of the region."""
        steps = np.rint(self.coordinates(lat, lon, first, refuse=refuse) / float(self.step)).astype(np.int64)
        return np.clip(steps, -self.steps, self.steps)

    def from_grid(self, points: Integers) -> tuple[Floats, Floats]:
        """Points beyond the region are moved to its nearest grid point, then up to the ellipsoid."""
        centre, axes = self._axes
        flat = np.clip(points, -self.steps, self.steps) * float(self.step)
        base = centre + flat @ axes[:2]
        scale = np.array([EQUATOR, EQUATOR, POLE])
        foot, up = base / scale, axes[2] / scale
        a, b, c = up @ up, foot @ up, (foot * foot).sum(axis=-1) - 1
        height = (-b + np.sqrt(b * b - a * c)) / a
        x, y, z = np.moveaxis(base + height[..., None] * axes[2], -1, 0)
        lat = np.degrees(np.arctan2(z * EQUATOR**2, np.hypot(x, y) * POLE**2))
        return rounded(lat, np.degrees(np.arctan2(y, x)))


@dataclass(frozen=True)
class Worldwide:
    """One cubic grid through the whole earth, its origin the centre of the earth."""

    step: Fraction
    dimensions = 3
    stretch = Fraction(1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", _checked_step(self.step))
        if self.step > FARTHEST:
            raise InputError(f"a grid step is at most {FARTHEST // 1000} km")

    def coordinates(self, lat: Floats, lon: Floats, first: int | None = 0, *, refuse: bool = True) -> Floats:  # noqa: ARG002  as in a plane
        """Earth-centred metres; no position is outside."""
        check_degrees(lat, lon, first)
        return to_metres(lat, lon)

    def to_grid(self, lat: Floats, lon: Floats, first: int | None = 0, *, refuse: bool = True) -> Integers:  # noqa: ARG002  as in a plane
        """The nearest grid point."""
        return np.rint(self.coordinates(lat, lon, first) / float(self.step)).astype(np.int64)

    def from_grid(self, points: Integers) -> tuple[Floats, Floats]:
        """The place on the ground straight below or above a grid point."""
        return to_degrees(points.astype(np.float64) * float(self.step))
