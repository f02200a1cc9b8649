"""What all file formats share: batches of positions, and the loop that reads, reports and writes them.

The result is written beside its place and moved there when it is complete: a file that could not be read to its end
leaves nothing behind.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.geo.files.columns import ColumnChoice, Columns
from sfumato.geo.mechanism import LocationMechanism

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Batch:
    """Positions, and whatever the format keeps beside them; `done` rows came before."""

    lat: Floats
    lon: Floats
    rest: Any
    done: int = 0


Write = Callable[[Batch, Floats, Floats], None]
Report = Callable[[Batch], tuple[Floats, Floats]]


@dataclass(frozen=True)
class Obfuscated:
    """What was done: rows, columns, and remarks for the owner of the file."""

    rows: int
    columns: Columns
    remarks: tuple[str, ...] = ()


@dataclass
class _Order:
    """Whether the rows come sorted by latitude or by longitude: then their order tells about positions."""

    last: dict[str, float] = field(default_factory=dict)
    trend: dict[str, set[int]] = field(default_factory=lambda: {"latitude": set(), "longitude": set()})

    def look(self, batch: Batch) -> None:
        for name, values in (("latitude", batch.lat), ("longitude", batch.lon)):
            joined = np.concatenate([[self.last[name]], values]) if name in self.last else values
            self.trend[name] |= set(np.unique(np.sign(np.diff(joined))).astype(int).tolist())
            if values.size:
                self.last[name] = float(values[-1])

    def sorted_by(self, rows: int) -> list[str]:
        return [name for name, signs in self.trend.items() if rows > 9 and not {1, -1} <= signs and signs != {0}]


Opened = tuple[Columns, Iterator[Batch], dict[str, Any]]
Opener = Callable[[Path, ColumnChoice], Opened]
Writer = Callable[..., AbstractContextManager[Write]]


def _format(path: Path) -> tuple[Opener, Writer]:
    from sfumato.geo.files import csv_points, geojson, gpx, parquet

    known: dict[str, tuple[Opener, Writer]] = {
        ".csv": (csv_points.open_csv, csv_points.write_csv),
        ".tsv": (csv_points.open_csv, csv_points.write_csv),
        ".geojson": (geojson.open_geojson, geojson.write_geojson),
        ".json": (geojson.open_geojson, geojson.write_geojson),
        ".gpx": (gpx.open_gpx, gpx.write_gpx),
        ".parquet": (parquet.open_parquet, parquet.write_parquet),
        ".geoparquet": (parquet.open_parquet, parquet.write_parquet),
    }
    if path.suffix.lower() not in known:
        raise InputError(
            f'"{path.name}" has no known format', hint="Use .csv, .tsv, .geojson, .json, .gpx, .parquet or .geoparquet."
        )
    return known[path.suffix.lower()]


def _kind(path: Path) -> str:
    """The format of a file, whatever its ending is."""
    return {".tsv": "csv", ".json": "geojson", ".geoparquet": "parquet"}.get(
        path.suffix.lower(), path.suffix.lower()[1:]
    )


def _same(batch: Batch) -> Batch:
    return batch


def open_points(path: Path, choice: ColumnChoice) -> Opened:
    """The plan for the columns of a file, its batches, and how it is written."""
    if not path.exists():
        raise InputError(f'cannot use file "{path}": no such file', sqlstate="58P01")
    with _one_error(path):
        columns, batches, how = _format(path)[0](path, choice)
    return columns, _read(path, batches), how


@contextmanager
def _one_error(path: Path) -> Iterator[None]:
    """What a damaged file makes a reader raise, as one error that names the file."""
    try:
        yield
    except UnicodeDecodeError:
        raise InputError(f'"{path.name}" is not UTF-8 text', hint="Save it as UTF-8.") from None
    except (OSError, csv.Error) as error:
        if isinstance(error, OSError) and error.errno is not None:  # a disk, not what is written on it
            raise
        raise InputError(f'"{path.name}" is damaged', detail=str(error).strip().splitlines()[0]) from None


def _read(path: Path, batches: Iterator[Batch]) -> Iterator[Batch]:
    with _one_error(path):
        yield from batches


def read_positions(path: Path, choice: ColumnChoice | None = None) -> tuple[Floats, Floats]:
    """All positions of a file."""
    _, batches, _ = open_points(path, choice or ColumnChoice())
    parts = list(batches)
    none = [np.empty(0)]
    return np.concatenate([b.lat for b in parts] or none), np.concatenate([b.lon for b in parts] or none)


def obfuscate_file(
    source: Path,
    target: Path,
    mechanism: LocationMechanism,
    choice: ColumnChoice,
    *,
    progress: Callable[[int], None] | None = None,
    report: Report | None = None,
    opened: Opened | None = None,
) -> Obfuscated:
    """Write a file with a report for each position of another; formats are those of the names' endings.

    `report` replaces an independent draw for each row, for example by a trace with a budget.
    """
    if target.exists() and target.resolve() == source.resolve():
        raise InputError("the result would replace the file that is read", hint="Write to another file.")
    _, writer = _format(target)
    columns, batches, how = opened or open_points(source, choice)
    written, how, converted = _converted(source, target, columns, how)
    if target.suffix.lower() == ".geoparquet" and not how.get("geometry"):
        how = how | {"geometry": "geometry"}
    draw = report or (lambda batch: mechanism.report_many(batch.lat, batch.lon, first=batch.done))
    if target.is_dir():
        raise InputError(f'cannot use file "{target}": is a directory', sqlstate="58P01")
    if not target.parent.is_dir():
        raise InputError(f'cannot use file "{target}": no such directory', sqlstate="58P01")
    part = target.with_name(f".{target.name}.part{os.getpid()}")
    rows, order = 0, _Order()
    try:
        with writer(part, written, **how) as write:
            for batch in batches:
                with _one_error(source):
                    kept = converted(batch)
                write(kept, *draw(batch))
                order.look(batch)
                rows += len(batch.lat)
                if progress is not None:
                    progress(rows)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return Obfuscated(rows, columns, _remarks(columns, order.sorted_by(rows)))


def _converted(
    source: Path, target: Path, columns: Columns, how: dict[str, Any]
) -> tuple[Columns, dict[str, Any], Callable[[Batch], Batch]]:
    """The columns as another format names them, how it is written, and a batch as it writes it."""
    if _format(target) == _format(source):
        return columns, how, _same
    from sfumato.geo.files.kept_columns import convert

    return convert(columns, _kind(source), _kind(target))


def check_file(
    source: Path, target: Path, mechanism: LocationMechanism, choice: ColumnChoice, person: str | None
) -> None:
    """Refuse what `obfuscate_file` would refuse in any row, and rows without a person, before anything is spent."""
    if person is not None and _kind(source) == "gpx":
        raise InputError("this format has no column for people", hint="Leave out --person: the file is one person's.")
    columns, batches, how = open_points(source, choice)
    _, _, converted = _converted(source, target, columns, how)
    for batch in batches:
        mechanism.frame.coordinates(batch.lat, batch.lon, batch.done, refuse=False)
        with _one_error(source):
            converted(batch)
            if person is not None:
                persons_of(batch, columns, person)


def persons_of(batch: Batch, columns: Columns, name: str) -> list[str]:
    """The values of a kept column, whatever the format, as names of people. A row without one has no budget."""
    if hasattr(batch.rest, "column"):
        values = list(batch.rest.column(name).to_pylist())
    elif batch.rest and isinstance(batch.rest[0], dict):
        values = [row["properties"].get(name, row.get(name)) for row in batch.rest]
    else:
        place = columns.kept.index(name)
        values = [row[place] for row in batch.rest]
    for i, value in enumerate(values):
        if value is None or str(value).strip() in ("", "nan"):
            raise InputError(f"row {batch.done + i + 1} names no person", hint=f'Give each row its "{name}".')
    return [str(value) for value in values]


def _remarks(columns: Columns, by: list[str]) -> tuple[str, ...]:
    lines = []
    if columns.telling:
        lines.append(f"kept columns may reveal where or when somebody was: {', '.join(columns.telling)}")
    if by:
        lines.append(f"the rows are sorted by {' and '.join(by)}: their order reveals true positions; shuffle them")
    return tuple(lines)
