"""COPY (query) TO STDOUT: an answer as text, CSV or PostgreSQL's binary copy format.

Comes in: rows with their columns. Goes out: the bytes of CopyData messages, one for each row.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from sfumato.server.pgwire.commands import CopyOut
from sfumato.server.pgwire.messages import BINARY, TEXT
from sfumato.server.pgwire.results import Result
from sfumato.server.pgwire.types import encode

_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + struct.pack("!II", 0, 0)
_ESCAPES = {"\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def lines(result: Result, copy: CopyOut) -> Iterator[bytes]:
    """The rows, each as the body of one CopyData message."""
    fields = result.fields or ()
    if copy.form == "binary":
        yield from _binary(result)
        return
    if copy.header:
        yield _line([field.name for field in fields], copy)
    for row in result.rows:
        texts = [encode(value, field.oid, TEXT) for value, field in zip(row, fields, strict=True)]
        yield _line([None if text is None else text.decode() for text in texts], copy)


def _binary(result: Result) -> Iterator[bytes]:
    """The header travels with the first row: some clients read both at once."""
    head = _SIGNATURE
    for row in result.rows:
        cells = [encode(value, field.oid, BINARY) for value, field in zip(row, result.fields or (), strict=True)]
        body = [struct.pack("!i", -1) if cell is None else struct.pack("!I", len(cell)) + cell for cell in cells]
        yield head + struct.pack("!H", len(cells)) + b"".join(body)
        head = b""
    yield head + struct.pack("!h", -1)


def _line(values: list[str | None], copy: CopyOut) -> bytes:
    show = _csv if copy.form == "csv" else _escaped
    cells = [copy.null if value is None else show(value, copy, alone=len(values) == 1) for value in values]
    return (copy.delimiter.join(cells) + "\n").encode("utf-8")


def _escaped(value: str, copy: CopyOut, *, alone: bool) -> str:  # noqa: ARG001  the same shape as `_csv`
    text = "".join(_ESCAPES.get(c, c) for c in value)
    return text if copy.delimiter in _ESCAPES else text.replace(copy.delimiter, "\\" + copy.delimiter)


def _csv(value: str, copy: CopyOut, *, alone: bool) -> str:
    special = any(c in value for c in (copy.delimiter, copy.quote, "\n", "\r"))
    if special or value == copy.null or (alone and value == "\\."):
        return copy.quote + value.replace(copy.quote, copy.quote * 2) + copy.quote
    return value
