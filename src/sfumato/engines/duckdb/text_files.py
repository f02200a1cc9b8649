"""Text files, read by their first line alone: names and the sign between fields come from there, never from rows.

Comes in: the files of a table. Goes out: a query that reads them, every field as text. A reader that guesses the
dialect of a file looks at its rows, and then one person's row decides how everybody's are read (semantics 1.3).
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sfumato.errors import PolicyError
from sfumato.policy.sections import quote
from sfumato.types import string

ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
_TABS = (".tsv", ".tsv.gz")
_SIGNS = ",;\t|"
"""Between fields; of two that are as frequent in the first line, the one that stands first here."""
_LONGEST = 1 << 20
"""Bytes of a first line. A longer one is not a line of names."""
_LONGEST_NAME = 10_000
"""Characters of a column's name."""
LONGEST_LINE = 2_000_000
"""Bytes of any line that the engine reads (its max_line_size); a row of several lines may be longer."""
_CHUNK = 1 << 24
_BUFFER, _LARGEST_BUFFER = 32_000_000, 1 << 28
"""Bytes that one scanner of the engine reads: usually, and of a file that has quotes, at most."""
_SAID = (
    r"(?m)^  file = .*$|(?<=sniffing )file .*",
    r"CSV Error on Line: \d+",
    r"Expected Number of Columns: \d+ Found: \d+",
    r"Value with unterminated quote found",
    r"This file is not utf-8 encoded",
    r"Maximum line size of \d+ bytes exceeded",
    r"not RFC 4180 compliant|not possible to automatically detect the CSV parsing dialect",
)
"""What of the engine's words is worth telling."""


@dataclass(frozen=True, slots=True)
class CsvHeader:
    """The names of a file's columns, and the sign between its fields."""

    names: tuple[str, ...]
    sign: str


def found(pattern: str) -> list[str]:
    """The files of a path: itself where it is there, else all that it matches, sorted; `**` is any depth.

    Guarantee: what is looked for here is what is read, and what `stamp` looks at; no file is matched again.
    Proof: engines are given these names as they are (`exactly`). A path that is a file and matches others is refused.
    Reference: semantics 1.3, 1.4.
    Checked by: unit::a_file_whose_name_is_a_pattern_is_one_file, unit::the_stamp_sees_every_file_that_is_read
    """
    matched = sorted(p for p in glob.glob(pattern, recursive=True) if Path(p).is_file())  # noqa: PTH207  a pattern may start at the root
    for file in matched:
        _check_name(file)
    if not Path(pattern).is_file():
        return matched
    if set(matched) - {pattern}:
        raise PolicyError(
            f"{quote(pattern, 200)} is a file, and a pattern that other files match", hint="Rename the file."
        )
    return [pattern]


def files_under(paths: Iterable[str]) -> list[str]:
    """The files of these paths, each once.

    Guarantee: no row is read twice because a file was named twice.
    Proof: a name that two paths match is listed once; another name of the same file, such as a link, is refused.
    Reference: semantics 1.3.
    Checked by: unit::a_file_is_read_once_under_whatever_names
    """
    files = list(dict.fromkeys(file for path in paths for file in found(path)))
    names: dict[tuple[int, ...], str] = {}
    for file in files:
        state = Path(file).stat()  # some disks give several files one number
        first = names.setdefault((state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns), file)
        if first != file:
            raise PolicyError(
                f"{quote(first, 200)} and {quote(file, 200)} are one file", hint="Name it once, and remove the link."
            )
    return files


def _check_name(file: str) -> None:
    """Refuse names that an engine cannot be given as they are: it reads a backslash as the end of a folder's name."""
    if any("\ud800" <= sign <= "\udfff" for sign in file):  # bytes that are no text
        raise PolicyError(f"the name of {quote(ascii(file), 200)} is not UTF-8", hint="Rename the file.")
    if "\\" in file and os.sep != "\\":
        raise PolicyError(f"the name of {quote(file, 200)} has a backslash", hint="Rename the file or its folder.")


def exactly(file: str) -> str:
    """A file's name as the engine reads it: nothing in it is a pattern."""
    return string(file if "://" in file else glob.escape(file))


Folders = Callable[[Mapping[str, tuple[str, ...]]], str]
"""Options about folder names, given the columns of each file."""


def reader(paths: Iterable[str], folders: Folders) -> str:
    """A query that gives all rows of these files as text, columns matched by name.

    Guarantee: how a row is read depends on its own text, on the file's first line and its name; a file that cannot be
        read so is refused as a whole, and no row of it is left out.
    Proof: detection is off; every option that it would set is given here. Rows that do not fit are errors of the
        engine, but for a line longer than its buffer, which it would leave out: such a line is found here first.
        Where a scanner that begins in the middle of a file takes a line inside of a quoted text for a row, the
        engine refuses the file; a file with quotes is one buffer, and so one scanner's, unless it is too large.
    Reference: semantics 1.3, 1.4; RFC 4180.
    Checked by: unit::no_row_decides_how_others_are_read, unit::a_text_file_is_read_whole_or_refused,
        unit::lines_in_a_quoted_text_are_no_rows
    """
    return _all(paths, lambda header: f"auto_detect = false, columns = {{{_columns(header)}}}", folders)


def public_reader(paths: Iterable[str]) -> str:
    """The same for a public table, where the values of all rows together say the types of the columns."""
    names = "sample_size = -1, names = [{}]"
    return _all(paths, lambda header: names.format(", ".join(string(n) for n in header.names)), lambda _: "")


def _all(paths: Iterable[str], typed: Callable[[CsvHeader], str], folders: Folders) -> str:
    files = files_under(paths)
    if not files:
        raise missing(", ".join(paths))
    headers = {file: header_of(file) for file in files}
    more = folders({file: header.names for file, header in headers.items()})
    rows = (_read(file, headers[file], ", ".join(filter(None, (typed(headers[file]), more)))) for file in files)
    return f"({' UNION ALL BY NAME '.join(rows)})"


def missing(path: str) -> PolicyError:
    """A file that is not there."""
    return PolicyError(f"there is no file {quote(path, 200)}", hint="Paths start at the policy's folder.")


def _read(file: str, header: CsvHeader, options: str) -> str:
    size, quoted = _check_lines(file)
    buffer = f", buffer_size = {max(_BUFFER, size + 1)}" if quoted and size < _LARGEST_BUFFER else ""
    quotes = "quote = '\"', escape = '\"', comment = '', nullstr = '', null_padding = false, ignore_errors = false"
    shape = f"header = true, skip = 0, delim = {string(header.sign)}, {quotes}, {options}{buffer}"
    return f"SELECT * FROM read_csv({exactly(file)}, {shape})"


def _columns(header: CsvHeader) -> str:
    return ", ".join(f"{string(name)}: 'VARCHAR'" for name in header.names)


def _check_lines(file: str) -> tuple[int, bool]:
    """Refuse a line that is too long for the engine, which would leave it out at the end of a file.

    The file's length in bytes, and whether there is a quote in it.
    """
    before, rest, end, quoted = 0, b"", b"", False
    with _opened(file) as stream:
        while chunk := stream.read(_CHUNK):
            rest += chunk
            quoted = quoted or b'"' in chunk
            if not before:  # as the first line ends, so do all
                end = b"\n" if b"\n" in rest[: LONGEST_LINE + 1] else b"\r"
            at = _skip_lines(rest, end)
            if len(rest) - at > LONGEST_LINE:
                raise PolicyError(
                    f"a line of {quote(file, 200)} is longer than {LONGEST_LINE:,} bytes",
                    detail=f"It begins at byte {before + at:,}.",
                    hint="Is it a text file with one record in each line? Store longer texts in a Parquet file.",
                )
            before, rest = before + at, rest[at:]
    return before + len(rest), quoted


def _skip_lines(data: bytes, end: bytes) -> int:
    """Where the first line begins that is too long or not whole; of lines that are neither few bytes are looked at."""
    at = 0
    while (found := data.rfind(end, at, at + LONGEST_LINE + 1)) >= 0:
        at = found + 1
    return at


def words_of(error: str) -> str:
    """What an engine says of a text file, for the owner: which file, which line, what is wrong, and no row of it."""
    parts = [re.search(pattern, error) for pattern in _SAID]
    known = [part[0].strip().rstrip(".") for part in parts if part is not None]
    return "; ".join(known) or error.split("\n", maxsplit=1)[0][:300]


def header_of(file: str) -> CsvHeader:
    """The header of a text file."""
    line = _first_record(first_line(file, quoted=True))
    sign = "\t" if file.lower().endswith(_TABS) else max(_SIGNS, key=lambda sign: _outside_of_quotes(line).count(sign))
    try:
        names = next(csv.reader(io.StringIO(line, newline=""), delimiter=sign))
    except (csv.Error, StopIteration):
        raise PolicyError(f"the first line of {quote(file, 200)} holds no names", hint="Is it a text file?") from None
    if any(len(name) > _LONGEST_NAME for name in names):
        raise PolicyError(
            f"a name in the first line of {quote(file, 200)} is longer than {_LONGEST_NAME:,} characters",
            hint="Is it a text file?",
        )
    return CsvHeader(_apart(names), sign)


def _first_record(text: str) -> str:
    """The text up to the end of its first line, also where lines end with a carriage return alone."""
    record = ""
    for part in re.split(r"(?<=\r)(?!\n)", text):
        record += part
        if record.count('"') % 2 == 0:
            break
    return record


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


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    """The bytes of a file; one that cannot be read, or is cut, is an error of the policy."""
    try:
        with gzip.open(file, "rb") if file.lower().endswith(".gz") else Path(file).open("rb", buffering=0) as stream:
            yield stream  # type: ignore[misc]
    except (OSError, EOFError, zlib.error) as error:
        raise PolicyError(f"cannot read {quote(file, 200)}", detail=f"{error}.", hint="Is the file whole?") from None


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    while part := stream.readline(_LONGEST):
        yield part
