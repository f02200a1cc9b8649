"""Text files, read by their first line alone: names and the sign between fields come from there, never from rows.

Comes in: the files of a table. Goes out: a query that reads them, every field as text. A reader that guesses the
dialect of a file looks at its rows, and then one person's row decides how everybody's are read (semantics 1.3).
"""

from __future__ import annotations

import csv
import glob
import gzip
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sfumato.errors import PolicyError
from sfumato.policy.sections import quote
from sfumato.words import string

ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
_TABS = (".tsv", ".tsv.gz")
_SIGNS = ",;\t|"
"""Between fields; of two that are as frequent in the first line, the one that stands first here."""
_LONGEST = 1 << 20
"""Bytes of a first line. A longer one is not a line of names."""


@dataclass(frozen=True, slots=True)
class Header:
    """The names of a file's columns, and the sign between its fields."""

    names: tuple[str, ...]
    sign: str


def found(pattern: str) -> list[str]:
    """The files of a path: itself where it is there, else all that it matches, sorted."""
    return [pattern] if Path(pattern).is_file() else sorted(p for p in glob.glob(pattern) if Path(p).is_file())  # noqa: PTH207  a pattern may start at the root


def reader(paths: Iterable[str]) -> str:
    """A query that gives all rows of these files as text, columns matched by name.

    Guarantee: how a row is read depends on its own text, on the file's first line and its name; a file that cannot be
        read so is refused as a whole.
    Proof: detection is off; every option that it would set is given here.
    Reference: semantics 1.3, 1.4.
    Checked by: rooms::no_row_decides_how_others_are_read
    """
    files = [file for path in paths for file in found(path)]
    if not files:
        raise missing(", ".join(paths))
    return f"({' UNION ALL BY NAME '.join(_read(file) for file in files)})"


def missing(path: str) -> PolicyError:
    """A file that is not there."""
    return PolicyError(f"there is no file {quote(path, 200)}", hint="Paths start at the policy's folder.")


def _read(file: str) -> str:
    header = header_of(file)
    columns = ", ".join(f"{string(name)}: 'VARCHAR'" for name in header.names)
    quotes = "quote = '\"', escape = '\"', comment = '', nullstr = ''"
    shape = f"delim = {string(header.sign)}, {quotes}, columns = {{{columns}}}"
    return f"SELECT * FROM read_csv({string(file)}, auto_detect = false, header = true, skip = 0, {shape})"


def header_of(file: str) -> Header:
    """The header of a text file."""
    line = first_line(file, quoted=True)
    sign = "\t" if file.lower().endswith(_TABS) else max(_SIGNS, key=lambda sign: _outside_of_quotes(line).count(sign))
    names = next(csv.reader(line.splitlines(keepends=True), delimiter=sign))
    return Header(_apart(names), sign)


def _apart(names: list[str]) -> tuple[str, ...]:
    """Names as the engine can hold them: an empty one gets a number, and so does one that was met before."""
    met: list[str] = []
    for i, given in enumerate(names):
        name, number = given or f"column{i}", 0
        while name.casefold() in (other.casefold() for other in met):
            number += 1
            name = f"{given or f'column{i}'}_{number}"
        met.append(name)
    return tuple(met)


def _outside_of_quotes(line: str) -> str:
    return "".join(line.split('"')[::2])


def first_line(file: str, *, quoted: bool) -> str:
    """The first line; a header may go on where a quote is open. Read byte by byte: what follows stays unread."""
    line = b""
    with _opened(file) as stream:
        for part in _lines(stream):
            line += part
            if len(line) >= _LONGEST:
                raise PolicyError(f"the first line of {quote(file, 200)} does not end", hint="Is it a text file?")
            if not quoted or line.count(b'"') % 2 == 0:
                break
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PolicyError(f"the first line of {quote(file, 200)} is not UTF-8", hint="Save it as UTF-8.") from None
    if not text.strip() or "\0" in text:
        raise PolicyError(f"the first line of {quote(file, 200)} holds no names", hint="Add the names of its columns.")
    return text


def _opened(file: str) -> IO[bytes]:
    return gzip.open(file, "rb") if file.lower().endswith(".gz") else open(file, "rb", buffering=0)  # type: ignore[return-value]  # noqa: PTH123  closed by the caller


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    while part := stream.readline(_LONGEST):
        yield part
