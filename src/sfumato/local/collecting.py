"""Where a collector keeps reports: durable before they are acknowledged, in random order from their first write on.

A task's directory holds `task.toml`; `waiting-N`, reports that wait until there are enough, each in a random slot
(`slots`); and for each full batch `batch-N`, its reports in random order, and `ids-N`, the ids that were counted,
sorted. Batches are never changed; no time, no address and no order of arrival is kept with a report.

Guarantee: a report whose `commit` has returned is counted exactly once, also if the process is killed at any moment,
if its sender repeats it, or if several processes collect.
Proof: commit writes to slots, or writes a batch, and waits for the disk, under a lock on the directory. A batch is
completed by renaming it into place, after its ids; waiting reports whose batch exists are in it and are removed, and
those whose batch does not exist go into it later. Ids of all batches and of waiting reports are looked up before
anything is written. The lock's file holds a random mark that is replaced before each change: whoever finds the mark of
their own last change has seen everything, and whoever does not reads what is new. A byte before it says that the disk
has the change; where it does not, a wait for the disk was cut short or failed, and a second wait would not tell: what
waits is written anew.
Reference: Pillai and others, OSDI 2014 (what survives a crash: overwrite, fsync, rename).
Checked by: local::reports_survive_kill_9_once, local::a_crash_at_any_step_loses_and_repeats_nothing,
end_to_end::power_that_goes_at_any_moment_loses_no_report, local::a_repeated_report_is_counted_once,
end_to_end::a_repeated_report_is_on_the_disk_before_it_is_acknowledged
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sfumato.errors import CollectionFull, InputError
from sfumato.files import replace_file, sync_directory
from sfumato.local.slots import SlotFile, write_whole
from sfumato.local.task import LocalTask, read_task
from sfumato.sampling import sample_uniform

ID = 16
"""Bytes of the id by which a sender can repeat a report."""
HOME = "collect"
MOST = 10_000_000
"""Reports on one task: ten times what a large survey has."""
SPARE = 1 << 28
"""Bytes of the disk that reports leave free."""
_MARK = 16
_OPEN, _ON_DISK = b"\0", b"\1"
"""Before the mark of a change: it has begun, and the disk has it."""
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
        self._width: int = self.task.encoder.width
        self._forget()

    def _forget(self) -> None:
        """What is on the disk is read anew."""
        self._seen: set[bytes] = set()
        self._batches, self._many, self._mark = 0, 0, b""
        self._slots = self._waiting(0)

    def commit(self, records: Sequence[Record]) -> list[bool]:
        """Store what is new, on the disk; for each record whether it was new."""
        with self._locked() as lock:
            try:
                self._catch_up(lock)
                fresh = [self._is_new(identity) for identity, _ in records]
                if any(fresh):
                    self._check_room()
                    self._mark = os.urandom(_MARK)
                    os.pwrite(lock, _OPEN + self._mark, 0)
                    self._store([i + report for (i, report), new in zip(records, fresh, strict=True) if new])
                    os.pwrite(lock, _ON_DISK, 0)
            except CollectionFull:  # nothing was written
                self._seen.difference_update(i for (i, _), new in zip(records, fresh, strict=True) if new)
                raise
            except BaseException:
                self._forget()
                raise
        return fresh

    def _check_room(self) -> None:
        """Refuse what would be too much, before any of it is written. What is repeated is acknowledged all the same.

        Anybody may send reports, under ids of their own choice: without a limit a stranger could fill the disk, and the
        ledger is on it.
        """
        if len(self._seen) > MOST:
            raise CollectionFull(
                f"the task has as many reports as it may have, {MOST:,}", hint="Its owner can plan a new task."
            )
        if shutil.disk_usage(self.place).free < SPARE:
            raise CollectionFull("the collector's disk is nearly full", hint="Send it again later.")

    def _is_new(self, identity: bytes) -> bool:
        known = identity in self._seen
        self._seen.add(identity)
        return not known

    @contextmanager
    def _locked(self) -> Iterator[int]:
        held = os.open(self.place / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield held
        finally:
            os.close(held)

    def _path(self, kind: str, number: int) -> Path:
        return self.place / f"{kind}-{number:08d}"

    def _waiting(self, number: int) -> SlotFile:
        return SlotFile(self._path("waiting", number), ID + self._width)

    def _catch_up(self, lock: int) -> None:
        """Read what others have stored meanwhile, and finish what a crash has left."""
        change = os.pread(lock, 1 + _MARK, 0)
        if self._mark and change == _ON_DISK + self._mark:
            return
        on_disk = change[:1] == _ON_DISK
        if not on_disk:
            sync_directory(self.place)  # before a batch's waiting reports are removed
        while self._path("batch", self._batches).exists():
            self._waiting(self._batches).remove()
            raw = self._path("ids", self._batches).read_bytes()
            self._seen.update(raw[at : at + ID] for at in range(0, len(raw), ID))
            self._batches += 1
        self._slots = self._waiting(self._batches)
        rows = self._slots.read() if on_disk else self._slots.renew(self.task.minimum_batch)
        if not on_disk:  # what is known is acknowledged when it is repeated
            os.pwrite(lock, _ON_DISK, 0)
        self._seen.update(row[:ID] for row in rows)
        self._many = len(rows)

    def _store(self, rows: list[bytes]) -> None:
        """In slots while there are too few for a batch; then all of them are one."""
        if self._many + len(rows) >= self.task.minimum_batch:
            self._complete([*self._slots.read(), *rows])
        else:
            self._slots.add(rows, self.task.minimum_batch)
            self._many += len(rows)

    def _complete(self, rows: list[bytes]) -> None:
        """A batch: ids sorted, reports in random order, then both under their names."""
        reports = [row[ID:] for row in rows]
        shuffle(reports)
        write_whole(self._path("ids", self._batches), b"".join(sorted(row[:ID] for row in rows)))
        write_whole(self._path("batch", self._batches), b"".join(reports))
        self._slots.remove()
        self._batches, self._many = self._batches + 1, 0
        self._slots = self._waiting(self._batches)

    # reading: complete batches only
    def paths(self) -> list[Path]:
        """The complete batches."""
        return sorted(path for path in self.place.glob("batch-*") if path.suffix != ".part")

    @property
    def stored(self) -> int:
        """How many reports can be read."""
        return sum(path.stat().st_size for path in self.paths()) // self._width

    @property
    def smallest(self) -> int:
        """How many reports the smallest batch holds: so many at least were shuffled together; 0 without a batch."""
        return min((path.stat().st_size for path in self.paths()), default=0) // self._width

    @property
    def waiting(self) -> int:
        """How many wait for their batch to be complete."""
        done = {path.name.removeprefix("batch-") for path in self.paths()}
        numbers = {path.name.removeprefix("waiting-") for path in self.place.glob("waiting-*") if not path.suffix}
        return sum(len(self._waiting(int(number)).read()) for number in numbers - done)

    def batches(self, width: int) -> Iterator[list[bytes]]:
        """All reports that can be read, some at a time."""
        if width != self.task.encoder.width:
            raise InputError("these reports belong to another task")
        for path in self.paths():
            yield from self.read(path)

    def read(self, path: Path) -> Iterator[list[bytes]]:
        """The reports of one batch, some at a time."""
        width = self._width
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
    old = read_task(target.read_text(encoding="utf-8")) if target.exists() else task
    if old.meaning != task.meaning:
        raise InputError(
            f'reports on "{task.name}" are collected with other parameters, values or ends',
            hint="Give the new task another name: old and new reports cannot be decoded together.",
        )
    if task.single and not old.single and any(place.glob("*-*")):  # reports that wait, or ids
        raise InputError(
            f'one person may have sent several of the reports on "{task.name}"',
            detail="The new lifetime says that everybody sends one, and the effect of shuffling is computed from that.",
            hint="Keep the longer lifetime, or give the new task another name.",
        )
    replace_file(target, text.encode())
    return task.name


def collections(state: Path) -> list[Collection]:
    """All tasks that are collected on."""
    home = state / HOME
    return [Collection(path.parent) for path in sorted(home.glob("*/task.toml"))] if home.is_dir() else []
