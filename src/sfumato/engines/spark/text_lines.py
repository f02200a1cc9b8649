"""Text files of private rows, as Spark reads them: each line alone, by the names in the first one.

Comes in: the paths of a table. Goes out: a query over the lines of its files, every field as text, and what would
refuse them. Spark's own reader of such files lets a quote that is not closed take the lines of others, puts one sign in
the place of all bytes that are not UTF-8, reads a second file by the places of the first, and fails on a line of very
many fields.

Guarantee: what a row holds follows from its own line and from the names of the columns. A line that is not of RFC 4180,
    not UTF-8, or of another number of fields refuses its file as a whole when a gateway is opened; one that comes later
    is a row of NULLs, which belongs to nobody.
Proof: lines end at LF, CR or CRLF, and each is parsed by an expression over it alone, which is behind `_is_whole`.
    There a quote splits the line into parts outside and inside of quotes; a line is whole where their number is odd and
    each part outside begins and ends at a comma or an end, or is empty between two quotes, so that it can be read in
    one way. Its commas outside of quotes are counted.
Reference: semantics 1.3, 1.4; RFC 4180; decision 088.
Checked by: unit::a_line_decides_its_own_row_alone, unit::a_text_file_is_read_whole_or_refused_over_spark,
    unit::a_line_is_whole_by_the_same_rule_in_spark_and_here
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from sfumato.engines.spark.spelling import quoted, text

_OPTIONS = "map('sep', ',', 'quote', '\\u0022', 'escape', '\\u0022', 'mode', 'PERMISSIVE')"
_QUOTE = text('"')
_ZERO = text("\0")
_FIELDS, _FILE = "`#fields`", "`#file`"
_SHOWN = 3
"""Lines that a refusal names."""


def is_whole(line: str, width: int) -> bool:
    """Whether a line can be read in one way, and has so many fields; bytes that are no UTF-8 are surrogates in it.

    >>> [is_whole(line, 2) for line in ('a,"b,c"', 'a,"b', 'a,b"c"', 'a')]
    [True, False, False, False]
    """
    parts = line.split('"')
    outside, last = parts[::2], len(parts[::2]) - 1
    begins = all(not part or part.startswith(",") for part in outside[1:])
    ends = all(not part or part.endswith(",") for part in outside[:last])
    strange = "\0" in line or any(0xD800 <= ord(sign) <= 0xDFFF for sign in line)
    return len(parts) % 2 == 1 and begins and ends and "".join(outside).count(",") == width - 1 and not strange


def _is_whole(line: str, width: int) -> str:
    """The same as Spark's SQL, over bytes as they are in the file."""
    commas = f"(length(c) - length(replace(c, ',', '')) = {width - 1})"
    outside = "filter(p, (e, i) -> i % 2 = 0)"
    begins = "forall(slice(o, 2, size(p)), e -> e = '' OR startswith(e, ','))"
    ends = "forall(slice(o, 1, size(o) - 1), e -> e = '' OR endswith(e, ','))"
    few = _bound("c", "array_join(o, '')", commas)
    counted = f"CASE WHEN {begins} AND {ends} THEN {few} ELSE FALSE END"
    closed = f"CASE WHEN size(p) % 2 = 1 THEN {_bound('o', outside, counted)} ELSE FALSE END"
    apart = _bound("p", f"split({line}, {_QUOTE}, -1)", closed)
    plain = commas.replace("(c)", f"({line})").replace("(c,", f"({line},")
    sound = f"is_valid_utf8({line}) AND instr({line}, {_ZERO}) = 0"
    return f"({sound} AND CASE WHEN instr({line}, {_QUOTE}) = 0 THEN {plain} ELSE {apart} END)"


def _bound(name: str, value: str, result: str) -> str:
    """A result with a name for a value in it."""
    return f"transform(array({value}), {name} -> {result})[0]"


def rows_of(lines: str, names: list[str], beside: list[str]) -> str:
    """The rows of a view of lines, without the one that holds the names; `beside` are columns of the folders' names."""
    shown = [f"{_FIELDS}._{i} AS {quoted(name)}" for i, name in enumerate(names)] + [quoted(name) for name in beside]
    return f"SELECT {', '.join(shown)} FROM ({_parsed(lines, names)}) AS t WHERE NOT ({_is_header(names)})"


def odd_files(lines: str, names: list[str]) -> str:
    """The files that are to be refused: how often each holds the names, and how many of its lines are not whole."""
    counts = f"COUNT_IF({_is_header(names)}) AS h, COUNT_IF({_FIELDS} IS NULL) AS n"
    return (
        f"SELECT {_FILE}, h, n FROM (SELECT {_FILE}, {counts} FROM"
        f" ({_parsed(lines, names, f'input_file_name() AS {_FILE}')}) AS t GROUP BY {_FILE}) AS q"
        f" WHERE h <> 1 OR n > 0 ORDER BY {_FILE}"
    )


def _parsed(lines: str, names: list[str], more: str = "*") -> str:
    """The lines that are not blank, each with its fields, or without where it is not whole."""
    fields = ", ".join(f"_{i} STRING" for i in range(len(names)))
    read = f"CASE WHEN {_is_whole('value', len(names))} THEN from_csv(value, {text(fields)}, {_OPTIONS}) END"
    return f"SELECT {more}, {read} AS {_FIELDS} FROM `{lines}` WHERE trim(value) <> ''"


def _is_header(names: list[str]) -> str:
    return " AND ".join(f"{_FIELDS}._{i} <=> {text(name)}" for i, name in enumerate(names))


def odd_lines(file: str, width: int) -> list[int]:
    """The numbers of the first lines of a file on this machine that are not whole."""
    return list(islice((number for number, line in _lines(file) if not is_whole(line, width)), _SHOWN))


def _lines(file: str) -> Iterator[tuple[int, str]]:
    opened = gzip.open if file.lower().endswith(".gz") else Path.open
    with opened(Path(file), "rt", encoding="utf-8-sig", errors="surrogateescape", newline=None) as stream:
        yield from ((i, line.rstrip("\n")) for i, line in enumerate(stream, 1) if line.strip(" \n"))
