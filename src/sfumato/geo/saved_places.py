"""Saved places: report a fixed place instead of the true one, under a name, with noise that is drawn once and kept.

A fixed place tells nothing about where somebody is. Noise on it hides the saved place itself (a home, say) at the level
of the mechanism, once and for all: drawing it anew each time would average out.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import InputError
from sfumato.files import real_path, replace_file
from sfumato.geo.earth import check_degrees
from sfumato.geo.mechanism import LocationMechanism

Position = tuple[float, float]


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("not a number")
    return float(value)


class SavedPlaces:
    """Names and the positions that are reported for them, in a JSON file. The true place of a name is not stored."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._places = self._read()
        except (ValueError, AttributeError, TypeError, RecursionError, OverflowError, InputError):
            raise InputError(f'"{path.name}" is not a file of saved places') from None

    def _read(self) -> dict[str, Position]:
        """Positions of the earth alone: what is not one would be reported as it stands."""
        held = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}
        places = {}
        for name, at in held.items():
            lat, lon = at
            places[str(name)] = _number(lat), _number(lon)
            check_degrees(np.array([places[name][0]]), np.array([places[name][1]]), None)
        return places

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While no other process changes the file, from what is in it now."""
        with real_path(self.path).with_name(f"{self.path.name}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._places = self._read()
            yield

    @property
    def places(self) -> Mapping[str, Position]:
        """The report for each name."""
        return dict(self._places)

    def save(self, name: str, lat: Any, lon: Any, mechanism: LocationMechanism | None = None) -> Position:
        """Save a place, with noise if a mechanism is given. A name is saved once: a second draw would reveal more."""
        check_degrees(np.array([float(lat)]), np.array([float(lon)]), None)
        with self._alone():
            if name in self._places:
                raise InputError(f'the place "{name}" is saved already', hint="Remove it first, or use another name.")
            at = (float(lat), float(lon)) if mechanism is None else mechanism.report(lat, lon)
            self._write({**self._places, name: at})
        return at

    def remove(self, name: str) -> None:
        """Forget a place. Saving the same place with noise again is a second report about it, and costs its level."""
        with self._alone():
            self.report(name)
            self._write({known: at for known, at in self._places.items() if known != name})

    def _write(self, places: dict[str, Position]) -> None:
        """The file for its owner alone, replaced whole."""
        replace_file(self.path, json.dumps(places, indent=1).encode())
        self._places = places

    def report(self, name: str) -> Position:
        """The report for a name."""
        if name not in self._places:
            raise InputError(f'there is no saved place "{name}"', hint=f"Saved: {', '.join(self._places) or 'none'}.")
        return self._places[name]
