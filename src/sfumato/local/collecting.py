"""Where a collector keeps reports: durable before they are acknowledged, shuffled before they can be read.

A task's directory holds `task.toml`; `intake-N`, reports that wait until there are enough; and for each full batch
`batch-N`, its reports in random order, and `ids-N`, the ids that were counted, sorted. No file is ever changed after it
was completed; no time, no address and no order of arrival is kept with a report.

Guarantee: a report whose `commit` has returned is counted exactly once, also if the process is killed at any moment,
if its sender repeats it, or if several processes collect.
Proof: commit appends to the intake and waits for the disk, under a lock on the directory. A batch is completed by
renaming it into place, after its ids; an intake whose batch exists was moved completely and is removed, and one whose
batch does not exist is moved again from the start. A torn record at the end of an intake was never acknowledged. Ids of
all batches and of the intake are looked up before anything is appended.
Reference: Pillai and others, OSDI 2014 (what survives a crash: append, fsync, rename).
Checked by: local::reports_survive_kill_9_once, local::a_crash_at_any_step_loses_and_repeats_nothing,
local::a_repeated_report_is_counted_once
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.errors import InputError
from sfumato.files import replace_file
from sfumato.local.task import LocalTask, read_task
from sfumato.sampling import sample_uniform

ID = 16
"""Bytes of the id by which a sender can repeat a report."""
HOME = "collect"
_READ = 1 << 16

Record = tuple[bytes, bytes]


class Collection:
    """The reports on one task. Several objects and processes may share a directory."""

    def __init__(self, place: Path) -> None:
        self.place = place
        try:
            text = (place / "task.toml").read_text(encoding="utf-8")
        except FileNotFoundError:
            raise InputError(f'"{place}" is not a collector\'s directory', sqlstate="58P01") from None
        self.task: LocalTask = read_task(text)
        self._size: int = ID + self.task.encoder.width
        self._seen: set[bytes] = set()
        self._batches, self._at = 0, 0

    def commit(self, records: Sequence[Record]) -> list[bool]:
        """Store what is new, on the disk; for each record whether it was new."""
        with self._locked():
            try:
                self._catch_up()
                fresh = [self._is_new(identity) for identity, _ in records]
                self._append(b"".join(i + report for (i, report), new in zip(records, fresh, strict=True) if new))
                if self._at >= self.task.minimum_batch * self._size:
                    self._complete()
            except BaseException:
                self._seen, self._batches, self._at = set(), 0, 0  # what is on the disk is read anew
                raise
        return fresh

    def _is_new(self, identity: bytes) -> bool:
        known = identity in self._seen
        self._seen.add(identity)
        return not known

    @contextmanager
    def _locked(self) -> Iterator[None]:
        held = os.open(self.place / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield
        finally:
            os.close(held)

    def _path(self, kind: str, number: int) -> Path:
        return self.place / f"{kind}-{number:08d}"

    def _catch_up(self) -> None:
        """Read what others have stored meanwhile, and finish what a crash has left."""
        while self._path("batch", self._batches).exists():
            self._path("intake", self._batches).unlink(missing_ok=True)
            self._learn(self._path("ids", self._batches).read_bytes(), ID)
            self._batches, self._at = self._batches + 1, 0
        intake = self._path("intake", self._batches)
        if not intake.exists():
            self._at = 0
            return
        with intake.open("r+b") as file:
            whole = os.fstat(file.fileno()).st_size // self._size * self._size
            file.truncate(whole)  # a torn record was never acknowledged
            file.seek(self._at)
            self._learn(file.read(), self._size)
            self._at = whole

    def _learn(self, raw: bytes, step: int) -> None:
        self._seen.update(raw[i : i + ID] for i in range(0, len(raw), step))

    def _append(self, raw: bytes) -> None:
        if not raw:
            return
        intake = self._path("intake", self._batches)
        created = not intake.exists()
        try:
            with intake.open("ab") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            if created:
                self._sync_names()
        except OSError:  # a later wait would not tell whether this part ever reached the disk
            with suppress(OSError):
                os.truncate(intake, self._at)
            raise
        self._at += len(raw)

    def _complete(self) -> None:
        """Turn the intake into a batch: ids sorted, reports in random order, then both under their names."""
        intake = self._path("intake", self._batches)
        raw = intake.read_bytes()
        rows = [raw[i : i + self._size] for i in range(0, len(raw), self._size)]
        reports = [row[ID:] for row in rows]
        shuffle(reports)
        self._write(self._path("ids", self._batches), b"".join(sorted(row[:ID] for row in rows)))
        self._write(self._path("batch", self._batches), b"".join(reports))
        intake.unlink()
        self._batches, self._at = self._batches + 1, 0

    def _write(self, path: Path, raw: bytes) -> None:
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        self._sync_names()

    def _sync_names(self) -> None:
        held = os.open(self.place, os.O_RDONLY)
        try:
            os.fsync(held)
        finally:
            os.close(held)

    # reading: complete batches only
    def paths(self) -> list[Path]:
        """The complete batches."""
        return sorted(path for path in self.place.glob("batch-*") if path.suffix != ".part")

    @property
    def stored(self) -> int:
        """How many reports can be read."""
        return sum(path.stat().st_size for path in self.paths()) // (self._size - ID)

    @property
    def smallest(self) -> int:
        """How many reports the smallest batch holds: so many at least were shuffled together; 0 without a batch."""
        return min((path.stat().st_size for path in self.paths()), default=0) // (self._size - ID)

    @property
    def waiting(self) -> int:
        """How many wait for their batch to be complete."""
        done = {path.name.removeprefix("batch-") for path in self.paths()}
        open_intakes = [path for path in self.place.glob("intake-*") if path.name.removeprefix("intake-") not in done]
        return sum(path.stat().st_size for path in open_intakes) // self._size

    def batches(self, width: int) -> Iterator[list[bytes]]:
        """All reports that can be read, some at a time."""
        if width != self.task.encoder.width:
            raise InputError("these reports belong to another task")
        for path in self.paths():
            yield from self.read(path)

    def read(self, path: Path) -> Iterator[list[bytes]]:
        """The reports of one batch, some at a time."""
        width = self._size - ID
        with path.open("rb") as file:
            while raw := file.read(_READ * width):
                yield [raw[i : i + width] for i in range(0, len(raw), width)]

    def to_dict(self) -> dict[str, object]:
        """What a list of tasks says of it."""
        task = self.task
        return {"task": task.name, "mechanism": task.mechanism, "reports": self.stored, "waiting": self.waiting}


def shuffle(rows: list[bytes]) -> None:
    """Every order is equally likely (Fisher and Yates), from the generator that noise is drawn from."""
    for last in range(len(rows) - 1, 0, -1):
        other = sample_uniform(last + 1)
        rows[last], rows[other] = rows[other], rows[last]


def install(state: Path, text: str) -> str:
    """Let servers collect on a task; its name. A task that is collected on may not change what its reports mean."""
    task = read_task(text)
    place = state / HOME / task.name
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    target = place / "task.toml"
    if target.exists() and read_task(target.read_text(encoding="utf-8")).meaning != task.meaning:
        raise InputError(
            f'reports on "{task.name}" are collected with other parameters, values or ends',
            hint="Give the new task another name: old and new reports cannot be decoded together.",
        )
    replace_file(target, text.encode())
    return task.name


def collections(state: Path) -> list[Collection]:
    """All tasks that are collected on."""
    home = state / HOME
    return [Collection(path.parent) for path in sorted(home.glob("*/task.toml"))] if home.is_dir() else []
