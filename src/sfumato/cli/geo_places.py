"""`sfumato geo place`: save a place under a name, print what is reported for it, list and remove saved places."""

from __future__ import annotations

from pathlib import Path

from sfumato.cli.design_common import tell
from sfumato.cli.geo_obfuscate import mechanism, position
from sfumato.errors import InputError
from sfumato.geo.saved_places import SavedPlaces
from sfumato.server.terminal_output import print_json


def run_place(
    name: str | None, at: str | None, file: Path, *, level: str | None, radius: str | None, remove: bool, as_json: bool
) -> None:
    """Save, report, remove or list."""
    if (level is None) != (radius is None):
        raise InputError("noise needs both --level and --radius")
    if at is None and level is not None:
        raise InputError("noise is drawn once, when a place is saved", hint="Give LAT,LON after the name.")
    if remove and (name is None or at is not None):
        raise InputError("--remove takes a name and no position")
    places = SavedPlaces(file)
    if name is None:
        _list(places, as_json=as_json)
        return
    if remove:
        places.remove(name)
        tell([f'removed "{name}"'])
        return
    if at is not None:
        noise = None if level is None or radius is None else mechanism(level, radius)
        places.save(name, *position(at, "LAT,LON"), noise)
    lat, lon = places.report(name)
    if as_json:
        print_json({"name": name, "lat": lat, "lon": lon})
    else:
        tell([f"{lat:.7f},{lon:.7f}"])


def _list(places: SavedPlaces, *, as_json: bool) -> None:
    if as_json:
        every = [{"name": name, "lat": lat, "lon": lon} for name, (lat, lon) in places.places.items()]
        print_json({"places": every})
    else:
        tell([f"{name}: {lat:.7f},{lon:.7f}" for name, (lat, lon) in places.places.items()] or ["no saved places"])
