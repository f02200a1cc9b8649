"""A disk on which any call can fail and the power can go at any moment: built from disk.c, replayed from its trace.

`Disk` is what a file system may have kept. Worst of all, and allowed: what was not synced is gone; a name is gone until
its directory was synced; and after a failed sync what was written is gone for good, though reading still shows it.
(Names wait on: they are in a journal, which file systems do not go past.)
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import sfumato

HERE = Path(__file__).parent
PATHS = os.pathsep.join(map(str, (Path(sfumato.__file__).parents[1], HERE.parents[1])))
SECTOR = 512
ERRORS = {"full": errno.ENOSPC, "broken": errno.EIO}


def compiler() -> str:
    """A C compiler, or a test that is skipped and says so; on CI nothing is skipped."""
    found = shutil.which("cc") or shutil.which("gcc")
    if found is None or not sys.platform.startswith("linux"):
        why = "a failing disk needs Linux and a C compiler (apt-get install gcc libc6-dev)"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{why}; on CI nothing is skipped")
        pytest.skip(why)
    return found


def build(folder: Path) -> Path:
    library = folder / "disk.so"
    words = [compiler(), "-shared", "-fPIC", "-O1", "-o", library, HERE / "disk.c", "-ldl", "-lpthread"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


def fast_folder() -> tempfile.TemporaryDirectory[str]:
    """In memory where there is such a place: the disk is told by the trace, not by the machine."""
    memory = Path("/dev/shm")  # noqa: S108  a directory with a random name is made below it
    return tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None)


@dataclass(frozen=True)
class Fault:
    """What fails: W what writes or S what syncs; once, from then on (stays), half of it (short, torn); and why."""

    kind: str
    how: str
    error: str


@dataclass(frozen=True)
class Run:
    """One child: what failed for it, what it told, and all that it did to its disk."""

    number: int
    fired: bool
    folder: Path
    records: list[Record]

    def told(self, upto: int | None = None) -> list[list[object]]:
        return [json.loads(record.data) for record in self.records[:upto] if record.kind == "T"]


@dataclass(frozen=True)
class Record:
    kind: str
    offset: int
    path: str
    data: bytes


def read_trace(path: Path, folder: Path) -> list[Record]:
    """The trace of one child; paths are those below its folder."""
    records = []
    with path.open("rb") as file:
        while line := file.readline():
            kind, offset, length, name = line.decode().rstrip("\n").split(" ", 3)
            data = file.read(int(length))
            if kind == "R":
                data = os.path.relpath(data.decode(), folder).encode()
            records.append(Record(kind, int(offset), os.path.relpath(name, folder) if kind != "T" else name, data))
    return records


def run_all(library: Path, base: Path, scenario: str, fault: Fault, first: int = 1) -> list[Run]:
    """Every n from the first to the first that there is no call for; that one ran without a fault."""
    script = [sys.executable, HERE / "disk_run.py", scenario, base, first, fault.kind, fault.how, ERRORS[fault.error]]
    environment = os.environ | {"LD_PRELOAD": str(library), "PYTHONPATH": PATHS, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(list(map(str, script)), capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    runs = []
    for number, code in map(json.loads, done.stdout.splitlines()):
        assert code in (0, 1), f"n = {number} ended with {code}:\n{done.stderr}"
        folder = base / str(number)
        runs.append(Run(number, code == 1, folder, read_trace(base / f"{number}.trace", folder)))
    return runs


@dataclass
class File:
    seen: bytearray = field(default_factory=bytearray)
    kept: bytearray = field(default_factory=bytearray)
    waiting: list[Record] = field(default_factory=list)


def apply(content: bytearray, record: Record) -> None:
    if record.kind == "X":
        del content[record.offset :]
        content.extend(bytes(record.offset - len(content)))
        return
    content.extend(bytes(max(0, record.offset - len(content))))
    content[record.offset : record.offset + len(record.data)] = record.data


class Disk:
    """Follows a trace. `seen` is what a process reads; the rest is what the power leaves."""

    def __init__(self) -> None:
        self.seen: dict[str, File] = {}
        self.kept: dict[str, File] = {}
        self.waiting: list[tuple[str, str | None, File]] = []

    def follow(self, record: Record) -> None:
        if record.kind == "T":
            return
        if record.kind in "WX":
            file = self.seen[record.path]
            apply(file.seen, record)
            file.waiting.append(record)
        elif record.kind in "SF" and record.path in self.seen:
            file = self.seen[record.path]
            for write in file.waiting if record.kind == "S" else ():
                apply(file.kept, write)
            file.waiting = []
        elif record.kind in "SF":
            if record.kind == "F":
                return
            for change in self.waiting:
                if _directory(change) == record.path:
                    _rename(self.kept, change)
            self.waiting = [change for change in self.waiting if _directory(change) != record.path]
        else:
            self._name(record)

    def _name(self, record: Record) -> None:
        """A change of a directory: (old, new, file); without new it is removed, with old = new it is made."""
        file = File() if record.kind == "C" else self.seen[record.path]
        new = {"C": record.path, "R": record.data.decode(), "U": None}[record.kind]
        change = (record.path, new, file)
        _rename(self.seen, change)
        self.waiting.append(change)

    def states(self, seed: int) -> Iterator[tuple[str, dict[str, bytes]]]:
        """What may be found after the power went: nothing that waited, all of it, names alone, some of it."""
        yield "nothing that waited", _plain(self.kept)
        yield "all", {name: bytes(file.seen) for name, file in self.seen.items()}
        yield "names only", _plain(self.seen)
        chance = random.Random(seed)
        names = dict(self.kept)
        for change in self.waiting[: chance.randrange(len(self.waiting) + 1)]:
            _rename(names, change)
        yield f"some, seed {seed}", {name: _some(file, chance) for name, file in names.items()}


def _directory(change: tuple[str, str | None, File]) -> str:
    return str(Path(change[0]).parent)


def _rename(names: dict[str, File], change: tuple[str, str | None, File]) -> None:
    old, new, file = change
    names.pop(old, None)
    if new is not None:
        names[new] = file


def _plain(names: dict[str, File]) -> dict[str, bytes]:
    return {name: bytes(file.kept) for name, file in names.items()}


def _some(file: File, chance: random.Random) -> bytes:
    """Each sector of what waited is there or not."""
    content = bytearray(file.kept)
    for record in file.waiting:
        if record.kind == "X":
            if chance.random() < 1 / 2:
                apply(content, record)
            continue
        at = 0
        while at < len(record.data):
            end = min(len(record.data), at + SECTOR - (record.offset + at) % SECTOR)
            if chance.random() < 1 / 2:
                apply(content, Record("W", record.offset + at, record.path, record.data[at:end]))
            at = end
    return bytes(content)


def lay_out(state: dict[str, bytes], folder: Path) -> None:
    """The files of a state; memory that processes share is not on a disk."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "head").mkdir(parents=True)
    for name, content in state.items():
        if not name.endswith("-shm"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
