"""CSV files read without guessing: the first line names the columns and shows the delimiter, each other line is a row.

Comes in: a path. Goes out: names, and every row as texts. Nothing is skipped and nothing is repaired: a row with more
or fewer fields than there are columns, a blank line and a quote that does not end are errors that name the row.
Numbers have one grammar, that of JSON with a leading + or point, wherever they stand.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sfumato.errors import InputError

_ROWS = 50_000
_DELIMITERS = ",;\t|"
_HEADER = 1 << 16
"""A quoted name that is still open after so many characters is not read on."""
_NUMBER = re.compile(r" *[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)? *")


def number(text: str) -> float:
    """The number that a text writes; ValueError for digits of other scripts, 1_0, 0x10, nan, a decimal comma."""
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(text)
    return float(text)


@dataclass(frozen=True, slots=True)
class CsvRows:
    """A CSV file whose header was read."""

    path: Path
    delimiter: str
    names: list[str]

    @classmethod
    def open(cls, path: Path) -> CsvRows:
        """The delimiter is the one that the header has most often, outside of quotes."""
        with path.open(newline="", encoding="utf-8-sig") as file:
            line = file.readline()
            while line.count('"') % 2 and len(line) < _HEADER and (more := file.readline()):
                line += more
        delimiter = max(_DELIMITERS, key="".join(line.split('"')[::2]).count)
        names = next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter, strict=True), [])
        if not names:
            raise InputError(f'"{path.name}" is empty', hint="The first line of a CSV file names its columns.")
        return cls(path, delimiter, names)

    def batches(self) -> Iterator[tuple[int, list[list[str]]]]:
        """Rows with all their fields, some at a time, with the number of rows before."""
        with self.path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, delimiter=self.delimiter, strict=True)
            next(reader)
            done = 0
            while rows := list(islice(reader, _ROWS)):
                for i, row in enumerate(rows):
                    if len(row) != len(self.names):
                        raise self._ragged(done + i + 1, row)
                yield done, rows
                done += len(rows)

    def _ragged(self, number: int, row: list[str]) -> InputError:
        if not row:
            return InputError(f"row {number} is blank", hint="Remove the line. A missing value is an empty field.")
        fields = f"{len(row)} field{'' if len(row) == 1 else 's'}"
        columns = "there is 1 column" if len(self.names) == 1 else f"there are {len(self.names)} columns"
        return InputError(
            f"row {number} has {fields}, but {columns}",
            hint=f'The header\'s delimiter is "{self.delimiter}"; a value that contains it needs quotes.',
        )
