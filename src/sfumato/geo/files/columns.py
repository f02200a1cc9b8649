"""Which columns are positions, and what happens to the others: kept, dropped or refused, by an explicit choice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.errors import InputError

_LAT = ("lat", "latitude")
_LON = ("lon", "lng", "long", "longitude")
"""Names that leave no doubt."""
_LIKE_LAT = (*_LAT, "y_lat", "lat_deg", "start_lat", "gps_lat", "breite", "latitud", "y")
_LIKE_LON = (
    *_LON,
    "x_lon",
    "lon_deg",
    "lng_deg",
    "start_lon",
    "start_lng",
    "gps_lon",
    "gps_lng",
    "laenge",
    "longitud",
    "x",
)
"""Names that usually mean positions: somebody confirms them."""
_TELLING = re.compile(
    r"time|date|day|hour|month|year|(^|_)t(s)?$|alt|ele|height|speed|veloc|head|bear|course|azimuth|accura|hdop|geohash|h3|s2|cell|bbox|geom"
    r"|utm|mgrs|easting|northing|address|street|city|zip|post|place|tz|wifi|ssid|ip$|^x$|^y$|lat|lon|lng",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ColumnChoice:
    """What a person chose: names of the position columns, and the other columns to keep. `refuse` makes any other
    column an error; otherwise it is dropped. `guess` takes names that usually mean positions, for a person to confirm;
    otherwise only names that leave no doubt are taken.
    """

    lat: str | None = None
    lon: str | None = None
    keep: tuple[str, ...] = ()
    keep_all: bool = False
    refuse: bool = False
    guess: bool = False


@dataclass(frozen=True)
class Columns:
    """What will be done to the columns of a file, in the file's order."""

    lat: str
    lon: str
    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    guessed: bool

    @property
    def telling(self) -> tuple[str, ...]:
        """Kept columns whose names suggest that they tell where or when somebody was."""
        return tuple(name for name in self.kept if _TELLING.search(name))


def decide(
    names: Sequence[str], choice: ColumnChoice, *, position: tuple[str, str] | None = None, beside: Sequence[str] = ()
) -> Columns:
    """The plan for a file with these columns; `position` names them where the format itself does. What the file holds
    `beside` them (metadata, altitudes, bounding boxes) cannot be kept: it is dropped, or refused with all else.
    """
    if len(set(names)) != len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f'two columns are named "{twice}"', hint="Rename one of them.")
    if position is not None:
        lat, lon, guessed = *position, False
    else:
        lat, lon, guessed = _positions(names, choice)
    others = [name for name in names if name not in (lat, lon)]
    strange = [name for name in choice.keep if name not in others]
    if strange:
        raise InputError(
            f'there is no other column "{strange[0]}" to keep', detail=f"The columns are: {', '.join(names)}."
        )
    kept = tuple(name for name in others if choice.keep_all or name in choice.keep)
    dropped = (*(name for name in others if name not in kept), *beside)
    if choice.refuse and dropped:
        raise InputError(
            f"the file holds more than positions: {', '.join(dropped)}",
            hint="Name columns to keep with --keep, or use --others drop.",
        )
    return Columns(lat, lon, kept, dropped, guessed)


def _positions(names: Sequence[str], choice: ColumnChoice) -> tuple[str, str, bool]:
    for name in (choice.lat, choice.lon):
        if name is not None and name not in names:
            raise InputError(f'there is no column "{name}"', detail=f"The columns are: {', '.join(names)}.")
    lat = choice.lat or _only(names, _LAT, _LIKE_LAT, "latitude", guess=choice.guess)
    lon = choice.lon or _only(names, _LON, _LIKE_LON, "longitude", guess=choice.guess)
    if lat == lon:
        raise InputError("latitude and longitude must be two columns")
    return lat, lon, choice.lat is None or choice.lon is None


def _only(names: Sequence[str], sure: Sequence[str], likely: Sequence[str], what: str, *, guess: bool) -> str:
    found = _named(names, sure) or (_named(names, likely) if guess else [])
    if len(found) != 1:
        lat, lon = _named(names, _LIKE_LAT), _named(names, _LIKE_LON)
        usual = f" They may be --lat {lat[0]} --lon {lon[0]}." if len(lat) == len(lon) == 1 else ""
        raise InputError(
            f"which column is the {what}?",
            detail=f"The columns are: {', '.join(names)}.",
            hint=f"Name them with --lat and --lon.{usual}",
        )
    return found[0]


def _named(names: Sequence[str], words: Sequence[str]) -> list[str]:
    return [name for name in names if name.strip().lower() in words]
