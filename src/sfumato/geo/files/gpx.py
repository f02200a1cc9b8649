"""GPX files: waypoints, routes and tracks. Positions are reported, segments stay; all else is dropped unless kept.

The file's metadata (author, bounds, links, times), names of tracks, extensions, attributes and comments cannot be kept.
A document type is refused: it may hold entities.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np

from sfumato.csv_rows import number
from sfumato.errors import InputError
from sfumato.geo.files.columns import ColumnChoice, Columns, decide
from sfumato.geo.files.streams import Batch, Floats, Write

_POINTS = {"wpt", "rtept", "trkpt"}
_GROUPS = {"rte", "trk", "trkseg"}
_SIMPLE = {
    *("ele", "time", "magvar", "geoidheight", "name", "cmt", "desc", "src"),
    *("sym", "type", "fix", "sat", "hdop", "vdop", "pdop"),
}
_USUAL = {"version", "creator", "xsi:schemaLocation"}
"""What programs write at the head of a file; it is not copied."""
_CHUNK = 1 << 18
_ROWS = 20_000
LAT, LON = "@lat", "@lon"


@dataclass(eq=False)
class _GpxReader:
    """Events of the parser as points and group borders; `rest` items are (tag, children) or a border."""

    name: str
    lat: list[float] = field(default_factory=list)
    lon: list[float] = field(default_factory=list)
    rest: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    children: dict[str, str] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)
    beside: dict[str, None] = field(default_factory=dict)
    done: int = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if not self.tags and tag != "gpx":
            raise InputError(f'"{self.name}" is not a GPX file')
        inside = bool(_POINTS & set(self.tags))
        if inside and tag in _POINTS:
            raise InputError(f"point {self.done + len(self.lat)} has a point inside", hint="Take it out.")
        parent = self.tags[-1] if self.tags else ""
        if (parent in _GROUPS | {"gpx"} and tag not in _GROUPS | _POINTS) or (inside and parent in _SIMPLE):
            self.beside[tag if parent == "gpx" else f"{tag} of {parent}"] = None
        self.look(parent)
        self.tags.append(tag)
        if attributes and tag in _GROUPS | _SIMPLE | {"gpx"}:
            usual = _USUAL if tag == "gpx" else set()
            said = [name for name in attributes if name not in usual and not name.startswith("xmlns")]
            self.beside |= {f'attribute "{name}" of {tag}': None for name in said}
        if tag in _GROUPS:
            self.rest.append((f"<{tag}", {}))
        if tag in _POINTS:
            self.children = {}
            try:
                lat, lon = number(attributes["lat"]), number(attributes["lon"])
            except (KeyError, ValueError):
                raise InputError(f"point {self.done + len(self.lat) + 1} has no position") from None
            self.lat.append(lat)
            self.lon.append(lon)
            self.beside |= {f'attribute "{name}"': None for name in attributes if name not in ("lat", "lon")}

    def look(self, tag: str) -> None:
        """Forget the text since the last tag; text that belongs to no element of a point is something else."""
        if self.text and tag in _POINTS | _GROUPS | {"gpx"} and "".join(self.text).strip():
            self.beside[f"text of {tag}"] = None
        self.text.clear()

    def note(self, what: str) -> None:
        self.beside[what] = None

    def end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2]
        self.tags.pop()
        parent = self.tags[-1] if self.tags else ""
        if parent in _POINTS:
            if tag in self.children:
                self.beside[f"another {tag} of {parent}"] = None
            self.children[tag] = "".join(self.text).strip() if tag in _SIMPLE else ""
        if tag in _POINTS:
            self.rest.append((tag, self.children))
        if tag in _GROUPS:
            self.rest.append((f">{tag}", {}))
        self.look(tag)

    def refuse(self, *_: object) -> None:
        raise InputError(f'"{self.name}" has a document type, which is not read', hint="Remove the DOCTYPE line.")


def open_gpx(path: Path, choice: ColumnChoice) -> tuple[Columns, Iterator[Batch], dict[str, Any]]:
    """Columns are the names of elements inside of points, found by reading the file once."""
    names: dict[str, None] = {}
    reader = _GpxReader(path.name)
    for batch in _parsed(path, reader):
        for _, children in batch.rest:
            names |= dict.fromkeys(children)
    columns = decide([*names, LAT, LON], choice, position=(LAT, LON), beside=list(reader.beside))
    strange = [name for name in columns.kept if name not in _SIMPLE]
    if strange:
        raise InputError(
            f'"{strange[0]}" of a GPX file cannot be kept', hint=f"These can: {', '.join(sorted(_SIMPLE))}."
        )
    return columns, _parsed(path, _GpxReader(path.name)), {}


def _parsed(path: Path, reader: _GpxReader) -> Iterator[Batch]:
    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.text.append
    parser.StartDoctypeDeclHandler = reader.refuse
    parser.CommentHandler = lambda _: reader.note("comments")
    parser.ProcessingInstructionHandler = lambda *_: reader.note("processing instructions")
    with path.open("rb") as file:
        while True:
            chunk = file.read(_CHUNK)
            try:
                parser.Parse(chunk, not chunk)
            except (expat.ExpatError, LookupError, ValueError) as error:  # also encodings that nobody knows
                raise InputError(f'"{path.name}" is not XML', detail=str(error)) from None
            open_point = bool(_POINTS & set(reader.tags))
            if not open_point and (len(reader.lat) >= _ROWS or not chunk):
                yield Batch(np.array(reader.lat), np.array(reader.lon), reader.rest, reader.done)
                reader.done += len(reader.lat)
                reader.lat, reader.lon, reader.rest = [], [], []
            if not chunk:
                return


@contextmanager
def write_gpx(path: Path, columns: Columns) -> Iterator[Write]:
    """A new GPX file with the same segments."""
    with path.open("w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        file.write('<gpx version="1.1" creator="sfumato" xmlns="http://www.topografix.com/GPX/1/1">\n')

        def write(batch: Batch, lat: Floats, lon: Floats) -> None:
            points = zip(lat.tolist(), lon.tolist(), strict=True)
            ours = batch.rest and isinstance(batch.rest[0], tuple)
            for tag, children in batch.rest if ours else [("wpt", {})] * len(lat):
                if tag[0] in "<>":
                    file.write(f"<{'/' if tag[0] == '>' else ''}{tag[1:]}>\n")
                    continue
                a, b = next(points)
                inside = "".join(f"<{k}>{escape(v)}</{k}>" for k, v in children.items() if k in columns.kept)
                file.write(f'<{tag} lat="{a:.7f}" lon="{b:.7f}">{inside}</{tag}>\n')

        yield write
        file.write("</gpx>\n")
