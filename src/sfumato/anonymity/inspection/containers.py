"""What files hold between their parts: gzip headers and members, bytes of a Parquet file that belong to no column.

Comes in: the bytes of a file. Goes out: what was found, in words. The footer of a Parquet file is read here, by the
compact protocol of Thrift: libraries that read such files say nothing of what they pass over.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_COMMENT, _EXTRA = 16, 4
_PAGES = {0, 2, 3}
"""Kinds of pages that readers read: values, dictionaries, values in the second form."""
_FIELDS = {"file": 9, "group": 7, "chunk": 9, "column": 17, "page": 8}
"""The highest field of each record of the format."""
Record = dict[int, Any]


def told_by_gzip(raw: bytes) -> Iterator[str]:
    """What the header of a compressed text says, and whether more members follow."""
    if raw[3] & (_COMMENT | _EXTRA):
        yield "a comment or an extra field in the header of its compression"
    reader = zlib.decompressobj(31)
    reader.decompress(raw)
    if reader.unused_data:
        yield "several compressed parts, whose ends mark rows"


def told_by_layout(raw: bytes) -> Iterator[str]:
    """Bytes of a Parquet file that no reader reads: between its columns, in pages of no kind, in unknown fields."""
    size = int.from_bytes(raw[-8:-4], "little")
    start = len(raw) - 8 - size
    try:
        odd, used = _used(raw, start)
    except (IndexError, KeyError, TypeError, ValueError, RecursionError):
        yield "a layout that is not known"
        return
    end = 4
    for low, high in sorted([*used, (start, len(raw))]):
        odd |= low > end
        end = max(end, high)
    if odd:
        yield "bytes that belong to no column"


def _used(raw: bytes, start: int) -> tuple[bool, list[tuple[int, int]]]:
    """Whether a record has unknown fields or a column odd pages, and the places of what the footer names."""
    footer = _Reader(raw, start)
    file = footer.record()
    odd = footer.at != len(raw) - 8 or _has_more(file, "file")
    used: list[tuple[int, int]] = []
    for group in file[4]:
        odd |= _has_more(group, "group")
        for chunk in group[1]:
            column = chunk[3]
            odd |= _has_more(chunk, "chunk") or _has_more(column, "column")
            low = min(column[at] for at in (9, 11) if column.get(at))
            high = low + column[7]
            odd |= not _are_pages(raw, low, high)
            used.append((low, high))
            used += [(chunk[at], chunk[at] + chunk[at + 1]) for at in (4, 6) if at in chunk]
            if 14 in column:
                used.append((column[14], column[14] + column.get(15, _filter_size(raw, column[14]))))
            used += _copy(raw, chunk, high)
    return odd, used


def _has_more(record: Record, kind: str) -> bool:
    return any(not 1 <= at <= _FIELDS[kind] for at in record)


def _are_pages(raw: bytes, low: int, high: int) -> bool:
    """Whether a column is pages from its first byte to its last."""
    while low < high:
        reader = _Reader(raw, low)
        page = reader.record()
        if page[1] not in _PAGES or _has_more(page, "page"):
            return False
        low = reader.at + page[3]
    return low == high


def _filter_size(raw: bytes, at: int) -> int:
    """The size of a Bloom filter with its header, where the footer does not say it."""
    reader = _Reader(raw, at)
    return int(reader.record()[1]) + reader.at - at


def _copy(raw: bytes, chunk: Record, end: int) -> list[tuple[int, int]]:
    """The copy of a column's record that some writers put behind the column."""
    reader = _Reader(raw, end)
    try:
        found = reader.record()
    except (IndexError, TypeError, ValueError, RecursionError):
        return []
    return [(end, reader.at)] if found in (chunk[3], {2: chunk.get(2), 3: chunk[3]}) else []


@dataclass
class _Reader:
    """Records of Thrift's compact protocol; the fields of a record by number."""

    raw: bytes
    at: int

    def record(self) -> Record:
        """One record with its fields."""
        found: Record = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            found[number] = self._value(head & 15)
        return found

    def _value(self, kind: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind in (3, 4, 5, 6):
            return self._byte() if kind == 3 else self._signed()
        if kind in (7, 8):
            many = 8 if kind == 7 else self._number()
            self.at += many
            if self.at > len(self.raw):
                raise ValueError("the text ends behind the file")
            return self.raw[self.at - many : self.at]
        if kind in (9, 10):
            head = self._byte()
            many = head >> 4 if head >> 4 != 15 else self._number()
            return [self._byte() == 1 if head & 15 in (1, 2) else self._value(head & 15) for _ in range(many)]
        if kind == 12:
            return self.record()
        raise ValueError("an unknown kind of a field")

    def _byte(self) -> int:
        self.at += 1
        return self.raw[self.at - 1]

    def _number(self) -> int:
        found = shift = 0
        while True:
            one = self._byte()
            found |= (one & 127) << shift
            shift += 7
            if one < 128:
                return found

    def _signed(self) -> int:
        number = self._number()
        return number >> 1 ^ -(number & 1)
