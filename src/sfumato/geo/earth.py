"""Positions on the WGS 84 ellipsoid: degrees to earth-centred metres and back, and distances.

Earth-centred coordinates have no poles and no antimeridian: longitudes of -180 and 180 degrees are one place, and so
are all longitudes of a pole. Distances between them are chords, which are never longer than the way on the ground.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError

Floats = NDArray[np.float64]

EQUATOR = 6378137.0
FLATTENING = 1 / 298.257223563
POLE = EQUATOR * (1 - FLATTENING)
_SQUARED = FLATTENING * (2 - FLATTENING)
_SECOND = _SQUARED / (1 - _SQUARED)
DECIMALS = 7
"""Decimals of reported degrees: about a centimetre. They are a function of the reported grid point alone."""


def row_name(first: int | None, index: int) -> str:
    """How a message names a position: by its row, or if there is no file, not at all."""
    return "the position" if first is None else f"row {first + index + 1}"


def check_degrees(lat: Floats, lon: Floats, first: int | None = 0) -> None:
    """Raise InputError where a latitude or a longitude is impossible; the message names the row, not the value."""
    bad = np.flatnonzero(~((np.abs(lat) <= 90) & (np.abs(lon) <= 360)))
    if bad.size:
        detail = "Latitudes are between -90 and 90 degrees, longitudes between -180 and 180."
        if first is None:
            raise InputError("the position is not valid", detail=detail, hint="Write latitude,longitude in degrees.")
        raise InputError(
            f"{row_name(first, int(bad[0]))} has no valid position",
            detail=detail,
            hint="Check which column is the latitude and which the longitude, or remove rows without a position.",
        )


def to_metres(lat: Floats, lon: Floats) -> Floats:
    """Earth-centred x, y, z of points on the ellipsoid, as rows."""
    phi, lam = np.radians(lat), np.radians(lon)
    sine = np.sin(phi)
    normal = EQUATOR / np.sqrt(1 - _SQUARED * sine * sine)
    across = normal * np.cos(phi)
    return np.stack([across * np.cos(lam), across * np.sin(lam), normal * (1 - _SQUARED) * sine], axis=-1)


def to_degrees(points: Floats) -> tuple[Floats, Floats]:
    """Latitude and longitude below (or above) earth-centred points, by Bowring's formula, rounded to DECIMALS."""
    x, y, z = points[..., 0], points[..., 1], points[..., 2]
    across = np.hypot(x, y)
    theta = np.arctan2(z * EQUATOR, across * POLE)
    up = z + _SECOND * POLE * np.sin(theta) ** 3
    out = np.maximum(across - _SQUARED * EQUATOR * np.cos(theta) ** 3, 0.0)
    return rounded(np.degrees(np.arctan2(up, out)), np.degrees(np.arctan2(y, x)))


def rounded(lat: Floats, lon: Floats) -> tuple[Floats, Floats]:
    """Degrees with DECIMALS decimals, the longitude from -180 up to but not including 180."""
    lon = np.round(lon, DECIMALS)
    return np.round(lat, DECIMALS) + 0.0, np.where(lon >= 180, lon - 360, lon) + 0.0


def ground_distance(lat: Floats, lon: Floats, lat2: Floats, lon2: Floats) -> Floats:
    """Metres on the ground between two positions, within 0.6 %: the arc over their chord on a sphere."""
    chord = np.linalg.norm(to_metres(lat, lon) - to_metres(lat2, lon2), axis=-1)
    return np.asarray(2 * EQUATOR * np.arcsin(np.minimum(chord / (2 * EQUATOR), 1)))
