"""Saved places: report a fixed place instead of the true one, under a name, with noise that is drawn once and kept.

A fixed place tells nothing about where somebody is. Noise on it hides the saved place itself (a home, say) at the level
of the mechanism, once and for all: drawing it anew each time would average out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import InputError
from sfumato.files import replace_file
from sfumato.geo.earth import check_degrees
from sfumato.geo.mechanism import LocationMechanism

Position = tuple[float, float]


class SavedPlaces:
    """Names and the positions that are reported for them, in a JSON file. The true place of a name is not stored."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            held = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            self._places = {str(name): (float(at[0]), float(at[1])) for name, at in held.items()}
        except (ValueError, AttributeError, TypeError, IndexError):
            raise InputError(f'"{path.name}" is not a file of saved places') from None

    @property
    def places(self) -> Mapping[str, Position]:
        """The report for each name."""
        return dict(self._places)

    def save(self, name: str, lat: Any, lon: Any, mechanism: LocationMechanism | None = None) -> Position:
        """Save a place, with noise if a mechanism is given. A name is saved once: a second draw would reveal more."""
        if name in self._places:
            raise InputError(f'the place "{name}" is saved already', hint="Remove it first, or use another name.")
        check_degrees(np.array([float(lat)]), np.array([float(lon)]), None)
        at = (float(lat), float(lon)) if mechanism is None else mechanism.report(lat, lon)
        self._write({**self._places, name: at})
        return at

    def remove(self, name: str) -> None:
        """Forget a place. Saving the same place with noise again is a second report about it, and costs its level."""
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
