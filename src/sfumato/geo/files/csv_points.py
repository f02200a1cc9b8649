"""CSV files of points, read and written a batch at a time.

The delimiter is found in the header line, outside of quotes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import InputError
from sfumato.geo.files.columns import ColumnChoice, Columns, decide
from sfumato.geo.files.streams import Batch, Floats

_ROWS = 50_000
_DELIMITERS = ",;\t|"
_HEADER = 1 << 16
"""A quoted name that is still open after so many characters is not read on."""


def open_csv(path: Path, choice: ColumnChoice) -> tuple[Columns, Iterator[Batch], dict[str, Any]]:
    """The plan for the columns, the batches, and how the file is written."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        line = file.readline()
        while line.count('"') % 2 and len(line) < _HEADER and (more := file.readline()):
            line += more
    delimiter = max(_DELIMITERS, key="".join(line.split('"')[::2]).count)
    names = next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter), [])
    if not names:
        raise InputError(f'"{path.name}" is empty', hint="The first line of a CSV file names its columns.")
    columns = decide(names, choice)
    return columns, _batches(path, delimiter, names, columns), {"delimiter": delimiter}


def _batches(path: Path, delimiter: str, names: list[str], columns: Columns) -> Iterator[Batch]:
    lat, lon = names.index(columns.lat), names.index(columns.lon)
    others = [names.index(name) for name in columns.kept]
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, delimiter=delimiter)
        next(reader)
        done = 0
        while rows := list(islice(reader, _ROWS)):
            rows = [row for row in rows if row]
            if not rows:
                continue
            if any(len(row) != len(names) for row in rows):
                row = next(i for i, row in enumerate(rows) if len(row) != len(names))
                raise InputError(
                    f"row {done + row + 1} has {len(rows[row])} fields, but there are {len(names)} columns"
                )
            yield Batch(
                _degrees(rows, lat, done), _degrees(rows, lon, done), [[row[i] for i in others] for row in rows], done
            )
            done += len(rows)


def _degrees(rows: list[list[str]], place: int, done: int) -> Floats:
    try:
        return np.array([row[place] for row in rows], dtype=object).astype(np.float64)
    except ValueError:
        for i, row in enumerate(rows):
            try:
                float(row[place])
            except ValueError:
                raise InputError(
                    f"row {done + i + 1} has no position",
                    hint="Positions are decimal degrees; remove rows without one.",
                ) from None
        raise


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
