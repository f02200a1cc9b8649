"""A device in Python: it keeps what it has spent and its permanent copies, as the browser client does.

Comes in: a task and a value. Goes out: an id and a report, which may be sent as often as needed. What a report costs is
on the disk before the report is drawn. The file is its owner's alone: a permanent copy tells more than any report.

Guarantee: all reports on one task cost at most its `lifetime`, and all reports of the device at most its budget. RAPPOR
draws one permanent copy for a task with its parameters and reports every later text by it.
Proof: costs of independent reports add up, and a report is drawn only after the sum was compared with both limits and
written. A file with a second name, which a replacement would leave behind as it was, is refused. Reports from one copy
are post-processing of it.
Reference: Dwork and Roth 2014, 3.5 (composition); Erlingsson, Pihur, Korolova, CCS 2014 (permanent copies).
Checked by: local::a_device_spends_its_budget_and_no_more, local::a_device_reports_all_texts_by_one_copy,
local::what_a_device_keeps_is_its_owners_alone, local::a_cost_is_on_the_disk_before_its_report_is_drawn,
local::a_file_with_several_names_is_one_budget
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import BudgetError, InputError
from sfumato.files import real_path, replace_file
from sfumato.local.tape import Flags, SystemTape, Tape, sample_uniform_bytes
from sfumato.local.task import LocalTask, charge
from sfumato.types import positive, show

BUDGET = 8
"""What all tasks together may cost, unless it is set: eight reports at epsilon 1, as in the browser."""


class Device:
    """One device, whose state is a file. Several processes may use it."""

    def __init__(self, path: Path, budget: object = BUDGET) -> None:
        self._path, self.budget = real_path(path), positive(budget, "budget")

    @property
    def spent(self) -> Fraction:
        """What all reports so far have cost."""
        with self._state() as state:
            return Fraction(state["spent"])

    def report(self, task: LocalTask, value: Any, tape: Tape | None = None) -> tuple[bytes, bytes]:
        """A fresh id and one report; BudgetError where the task's lifetime or the device's budget does not pay."""
        task.check_open()
        task.inputs([value])  # a value that the task cannot take costs nothing
        drawn = tape or SystemTape()
        with self._state() as state:
            own = state["tasks"].setdefault(task.name, {"spent": "0", "paid": {}, "kept": {}})
            which = task.identity.decode()
            if which not in own["kept"]:
                self._charge(task, own, state)
                own["paid"][which] = own["paid"].get(which, 0) + 1
                if task.memoised:
                    own["kept"][which] = _copy(task, value)
            self._write(state)
            kept = own["kept"].get(which)
        if kept is None:
            report = task.encode([value], drawn).tobytes()
        else:
            report = task.encoder.report_kept(kept["cohort"], _bits(kept["copy"], task.encoder.filter), drawn)
        return SystemTape().take(16).tobytes(), report

    def _charge(self, task: LocalTask, own: dict[str, Any], state: dict[str, Any]) -> None:
        charge(task, own["paid"].get(task.identity.decode(), 0))
        cost = task.event.epsilon
        for book, most, whose in ((own, task.lifetime, "for this task"), (state, self.budget, "for all tasks")):
            total = Fraction(book["spent"]) + cost
            if total > most:
                detail = f"It may spend epsilon {show(most)}, and would have spent {show(total)}."
                raise BudgetError(f"this device has spent its budget {whose}", detail=detail)
            book["spent"] = str(total)

    @contextmanager
    def _state(self) -> Iterator[dict[str, Any]]:
        """What is on the disk, while no other process uses it."""
        with self._path.with_name(f"{self._path.name}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self._path.exists() and self._path.stat().st_nlink > 1:
                raise InputError(
                    f'the device\'s file "{self._path}" has another name, a hard link',
                    detail="It is replaced at each report, so that each name would have a budget of its own.",
                    hint="Remove all names but one.",
                )
            yield self._read() if self._path.exists() else {"spent": "0", "tasks": {}}

    def _read(self) -> dict[str, Any]:
        """The state; a file that is damaged is refused, for what it says that was spent cannot be relied on."""
        try:
            state: dict[str, Any] = json.loads(self._path.read_text("utf-8"))
            sums = [Fraction(state["spent"])]
            for own in state["tasks"].values():
                sums.append(Fraction(own["spent"]))
                counts = list(own["paid"].values())
                whole = all(type(count) is int and count >= 0 for count in counts)
                copies = [(bytes.fromhex(one["copy"]), one["cohort"]) for one in own["kept"].values()]
                if not whole or any(type(cohort) is not int for _, cohort in copies):
                    raise ValueError("a count is not a whole number")
            if min(sums) < 0:
                raise ValueError("a sum is below 0")
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
            raise InputError(
                f'the device\'s file "{self._path}" is damaged',
                detail="What was spent is not known, so nothing is reported.",
                hint="Restore it; a new file would be a new budget.",
            ) from None
        return state

    def _write(self, state: dict[str, Any]) -> None:
        replace_file(self._path, json.dumps(state).encode())


def _copy(task: LocalTask, text: str) -> dict[str, Any]:
    """A cohort and a permanent copy, from a key that is then forgotten."""
    tape = SystemTape()
    cohort = int(sample_uniform_bytes(tape, 1, task.encoder.cohorts)[0])
    copy = task.encoder.copy(text, cohort, tape.take(32).tobytes(), task.identity)
    return {"cohort": cohort, "copy": np.packbits(copy, bitorder="little").tobytes().hex()}


def _bits(written: str, count: int) -> Flags:
    packed = np.frombuffer(bytes.fromhex(written), np.uint8)
    bits: Flags = np.unpackbits(packed, count=count, bitorder="little").astype(np.bool_).reshape(1, -1)
    return bits
