"""GeoJSON files of points: a FeatureCollection, read feature by feature, or one feature on each line.

Bounding boxes, other members and altitudes cannot be kept; properties and ids are kept by choice. The file is read
twice: what it holds is known before anything is written. Lines and polygons are refused: their vertices would be many
reports about one secret. So is a member that is there twice, of which readers see only one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from sfumato.errors import InputError
from sfumato.geo.files.columns import ColumnChoice, Columns, decide
from sfumato.geo.files.streams import Batch, Floats, Write

_CHUNK = 1 << 18
_ROWS = 20_000
_ID = "id"
_MEMBERS = {"type", "geometry", "properties", _ID}


def open_geojson(path: Path, choice: ColumnChoice) -> tuple[Columns, Iterator[Batch], dict[str, Any]]:
    """Columns are the names of properties, found by reading the file once."""
    names: dict[str, None] = {}
    beside: dict[str, None] = {}
    for feature in _features(path, beside):
        names |= dict.fromkeys(feature.get("properties") or {})
        beside |= dict.fromkeys(_beside(feature))
        if _ID in feature:
            names[_ID] = None
    position = ("latitude ", "longitude ")
    columns = decide([*names, *position], choice, position=position, beside=list(beside))
    return columns, _batches(path, columns), {}


def _beside(feature: dict[str, Any]) -> list[str]:
    """What a feature holds that cannot be kept."""
    geometry = feature.get("geometry") or {}
    found = [f'member "{name}" of a feature' for name in feature if name not in _MEMBERS]
    found += [f'member "{name}" of a geometry' for name in geometry if name not in ("type", "coordinates")]
    coordinates = geometry.get("coordinates")
    return found + (["altitude"] if isinstance(coordinates, list) and len(coordinates) > 2 else [])


def _batches(path: Path, columns: Columns) -> Iterator[Batch]:
    lat: list[float] = []
    lon: list[float] = []
    rest: list[dict[str, Any]] = []
    kept, done = set(columns.kept), 0
    for number, feature in enumerate(_features(path, {}), 1):
        x, y = _point(feature, number)
        lat.append(y)
        lon.append(x)
        keeps = {k: v for k, v in (feature.get("properties") or {}).items() if k in kept}
        rest.append({"properties": keeps} | ({_ID: feature[_ID]} if _ID in kept and _ID in feature else {}))
        if len(lat) == _ROWS:
            yield Batch(np.array(lat), np.array(lon), rest, done)
            done, lat, lon, rest = number, [], [], []
    if lat:
        yield Batch(np.array(lat), np.array(lon), rest, done)


def _point(feature: dict[str, Any], number: int) -> tuple[float, float]:
    geometry = feature.get("geometry") or {}
    if geometry.get("type") != "Point":
        kind = geometry.get("type", "without a geometry")
        raise InputError(
            f"feature {number} is {kind}, not a Point",
            hint="Only points are protected one by one; each vertex of a line or polygon would be a report of its own.",
        )
    coordinates = geometry.get("coordinates")
    numbers = coordinates[:2] if isinstance(coordinates, list) else []
    if len(numbers) < 2 or any(isinstance(x, bool) or not isinstance(x, int | float) for x in numbers):
        raise InputError(f"feature {number} has no position")
    try:
        return float(numbers[0]), float(numbers[1])
    except OverflowError:
        raise InputError(f"feature {number} has no position") from None


def _features(path: Path, beside: dict[str, None]) -> Iterator[dict[str, Any]]:
    """The features of a file, without reading all of it at once; other members of the collection go to `beside`."""
    with path.open(encoding="utf-8-sig") as file:
        text = _Text(file, path.name, beside)
        text.skip("{")
        listed = text.seek_features()
        for number, feature in enumerate(text.values(listed=listed), 1):
            for member in ("geometry", "properties"):
                if not isinstance(feature.get(member), dict | None):
                    raise InputError(f"the {member} of feature {number} is not an object")
            yield feature


class _Text:
    """A window on a JSON text from which one value after another is decoded."""

    def __init__(self, file: TextIO, name: str, beside: dict[str, None]) -> None:
        self.file, self.name, self.held, self.ended, self.beside = file, name, "", False, beside
        self.decoder = json.JSONDecoder(object_pairs_hook=self.members)

    def members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            raise InputError(f'"{self.name}" holds a member twice', hint="Remove one of them.")
        return made

    def more(self) -> bool:
        chunk = self.file.read(_CHUNK)
        self.held += chunk
        self.ended = not chunk
        return bool(chunk)

    def fail(self) -> InputError:
        return InputError(f'"{self.name}" is not GeoJSON', hint="A FeatureCollection of points, or one feature a line.")

    def skip(self, expected: str) -> None:
        start = self.blank(0)
        self.held = self.held[start:]
        if not self.held.startswith(expected):
            raise self.fail()

    def seek_features(self) -> bool:
        """Move behind the bracket of "features", or return False where the text begins with a feature itself."""
        at = 1
        members: list[str] = []
        while True:
            key, at = self.string(at)
            at = self.after(at, ":")
            if key == "features":
                at = self.after(at, "[")
                self.held = self.held[at:]
                self.note(members)
                return True
            value, end = self.value(at)
            if key == "type" and value == "Feature":
                return False
            members.append(key)
            end = self.blank(end)
            if self.held[end : end + 1] != ",":
                raise self.fail()
            at = end + 1

    def note(self, members: list[str]) -> None:
        self.beside |= {f'member "{key}" of the collection': None for key in members if key != "type"}

    def blank(self, at: int) -> int:
        while True:
            while at < len(self.held) and self.held[at] in " \t\r\n\x1e":
                at += 1
            if at < len(self.held) or not self.more():
                return at

    def after(self, at: int, sign: str) -> int:
        at = self.blank(at)
        if self.held[at : at + 1] != sign:
            raise self.fail()
        return at + 1

    def string(self, at: int) -> tuple[str, int]:
        value, end = self.value(at)
        if not isinstance(value, str):
            raise self.fail()
        return value, end

    def value(self, at: int) -> tuple[Any, int]:
        at = self.blank(at)
        while True:
            try:
                value, end = self.decoder.raw_decode(self.held, at)
            except json.JSONDecodeError:
                if not self.more():
                    raise self.fail() from None
                continue
            except (ValueError, RecursionError):  # a number of thousands of digits, thousands of brackets
                raise self.fail() from None
            if end < len(self.held) or not self.more():  # a number may go on in the next chunk
                self.check_text(value, self.held[at:end])
                return value, end

    def check_text(self, value: Any, written: str) -> None:
        """Refuse half of a letter, which JSON can write and no file can hold."""
        if "\\ud" not in written and "\\uD" not in written:
            return
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError(
                f'"{self.name}" holds half of a letter', detail="A \\ud800 to \\udfff stands alone.", hint="Remove it."
            ) from None

    def values(self, *, listed: bool) -> Iterator[dict[str, Any]]:
        """The features: up to the bracket that closes their list, or else up to the end of the text."""
        at = 0
        while True:
            at = self.blank(at)
            sign = self.held[at : at + 1]
            if listed and sign == "]":
                self.finish(at + 1)
                return
            if sign == "":
                if listed:
                    raise self.cut_off()
                return
            if sign == ",":
                at += 1
                continue
            value, at = self.value(at)
            if not isinstance(value, dict) or value.get("type") != "Feature":
                raise self.fail()
            yield value
            if at > _CHUNK:
                self.held, at = self.held[at:], 0

    def finish(self, at: int) -> None:
        """Read what follows the list of features: other members, the closing brace, and nothing more."""
        while self.held[(at := self.blank(at)) : at + 1] == ",":
            key, at = self.string(at + 1)
            _, at = self.value(self.after(at, ":"))
            if key == "features":
                raise self.fail()
            self.note([key])
        if at == len(self.held):
            raise self.cut_off()
        at = self.blank(self.after(at, "}"))
        if at < len(self.held):
            raise self.fail()

    def cut_off(self) -> InputError:
        return InputError(f'"{self.name}" ends before its list of features does', hint="Copy the whole file again.")


@contextmanager
def write_geojson(path: Path, columns: Columns) -> Iterator[Write]:
    """A FeatureCollection, a feature on each line."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{"type": "FeatureCollection", "features": [')
        lead = ["\n"]

        def write(batch: Batch, lat: Floats, lon: Floats) -> None:
            rests = batch.rest if batch.rest and columns.kept else [{"properties": {}}] * len(lat)
            for a, b, rest in zip(lat.tolist(), lon.tolist(), rests, strict=True):
                point = {"type": "Feature", "geometry": {"type": "Point", "coordinates": [b, a]}} | rest
                file.write(lead[0] + json.dumps(point, ensure_ascii=False))
                lead[0] = ",\n"

        yield write
        file.write("\n]}\n")
