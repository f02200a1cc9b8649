"""CSV files of points, read and written a batch at a time."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.csv_rows import CsvRows, number
from sfumato.errors import InputError
from sfumato.geo.files.columns import ColumnChoice, Columns, decide
from sfumato.geo.files.streams import Batch, Floats


def open_csv(path: Path, choice: ColumnChoice) -> tuple[Columns, Iterator[Batch], dict[str, Any]]:
    """The plan for the columns, the batches, and how the file is written."""
    file = CsvRows.open(path)
    columns = decide(file.names, choice)
    return columns, _batches(file, columns), {"delimiter": file.delimiter}


def _batches(file: CsvRows, columns: Columns) -> Iterator[Batch]:
    lat, lon = file.names.index(columns.lat), file.names.index(columns.lon)
    others = [file.names.index(name) for name in columns.kept]
    for done, rows in file.batches():
        yield Batch(
            _degrees(rows, lat, done), _degrees(rows, lon, done), [[row[i] for i in others] for row in rows], done
        )


def _degrees(rows: list[list[str]], place: int, done: int) -> Floats:
    degrees = np.empty(len(rows))
    for i, row in enumerate(rows):
        try:
            degrees[i] = number(row[place])
        except ValueError:
            raise InputError(
                f"row {done + i + 1} has no position",
                hint="Positions are decimal degrees with a point; remove rows without one.",
            ) from None
    return degrees


@contextmanager
def write_csv(
    path: Path, columns: Columns, *, delimiter: str = ","
) -> Iterator[Callable[[Batch, Floats, Floats], None]]:
    """A function that writes one batch of reports: latitude, longitude, then what is kept."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow([columns.lat, columns.lon, *columns.kept])

        def write(batch: Batch, lat: Floats, lon: Floats) -> None:
            texts = ([f"{a:.7f}" for a in values.tolist()] for values in (lat, lon))
            if columns.kept:
                writer.writerows([a, b, *rest] for a, b, rest in zip(*texts, batch.rest, strict=True))
            else:
                file.writelines(f"{a}{delimiter}{b}\n" for a, b in zip(*texts, strict=True))

        yield write
