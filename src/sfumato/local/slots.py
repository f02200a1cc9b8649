"""Reports that wait for their batch: a file of equal slots, in which every report has a slot drawn at random.

A slot holds a checksum, an id and a report; one whose checksum does not hold is free. A report is written where it
stays and waits for the disk, so that it can be acknowledged; nothing is appended, and nothing else is moved.

Guarantee: what the file holds depends on which reports wait, not on the order in which they came.
Proof: of n slots a report gets each free one with the same probability. By induction all ways to place the reports that
wait are equally likely, whatever their order was. When slots run out, all reports are placed anew, in a new file whose
size follows from their number alone. A slot that was torn by a crash was never acknowledged, and is free.
Reference: Naor and Teague, STOC 2001 (files and structures that do not remember how they came about).
Checked by: local::slots_tell_no_order, end_to_end::power_that_goes_at_any_moment_loses_no_report
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from sfumato.files import sync_directory
from sfumato.sampling import sample_uniform

_SUM = 8
_LEAST = 1 << 16
"""Bytes of the smallest file, but for batches that need fewer."""


class SlotFile:
    """The records of one file; each has `width` bytes. Whoever writes holds the directory's lock."""

    def __init__(self, path: Path, width: int) -> None:
        self.path, self._size = path, _SUM + width
        self._free: list[int] = []

    def read(self) -> list[bytes]:
        """All records, in no order that means anything."""
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            raw = b""
        slots = [raw[at : at + self._size] for at in range(0, len(raw), self._size)]
        self._free = [number for number, slot in enumerate(slots) if not _is_whole(slot)]
        return [slot[_SUM:] for slot in slots if _is_whole(slot)]

    def renew(self, most: int) -> list[bytes]:
        """All records, from now on in a file that the disk has whole."""
        records = self.read()
        if records:
            self._place(records, most)
        return records

    def add(self, records: Sequence[bytes], most: int) -> None:
        """Put records on the disk, in free slots or else in a larger file, which needs `most` slots at most."""
        if len(records) > len(self._free):
            self._place([*self.read(), *records], most)
            return
        taken = {_draw(self._free): _with_sum(record) for record in records}
        file = os.open(self.path, os.O_WRONLY)
        try:
            for number, slot in taken.items():
                _overwrite(file, slot, number * self._size)
            os.fdatasync(file)
        finally:
            os.close(file)

    def _place(self, records: Sequence[bytes], most: int) -> None:
        """A new file, with room for as many records again."""
        count = max(len(records), min(most, max(_LEAST // self._size, 2 * len(records))))
        free, raw = list(range(count)), bytearray(count * self._size)
        for record in records:
            at = _draw(free) * self._size
            raw[at : at + self._size] = _with_sum(record)
        write_whole(self.path, bytes(raw))
        self._free = free

    def remove(self) -> None:
        """The reports are in a batch."""
        self.path.unlink(missing_ok=True)
        self._free = []


def _with_sum(record: bytes) -> bytes:
    return hashlib.sha256(record).digest()[:_SUM] + record


def _is_whole(slot: bytes) -> bool:
    return slot == _with_sum(slot[_SUM:])


def _draw(free: list[int]) -> int:
    """Take one of them out, each with the same probability."""
    chosen = sample_uniform(len(free))
    free[chosen], free[-1] = free[-1], free[chosen]
    return free.pop()


def _overwrite(file: int, raw: bytes, at: int) -> None:
    """All of it: a call may write a part."""
    while raw:
        done = os.pwrite(file, raw, at)
        raw, at = raw[done:], at + done


def write_whole(path: Path, raw: bytes) -> None:
    """A file under its name, on the disk, whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync_directory(path.parent)
