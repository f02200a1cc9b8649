"""A process on a failing disk: the same work again and again, each time with the next call failing.

Run with disk.c loaded before the C library. For n = 1, 2, ... it forks; the child works in a directory of its own, in
which the n-th call of one kind fails, and tells what it was given. It ends with the first n that there is no call for.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import logging
import os
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.end_to_end.test_gateway_faults import POLICY

from sfumato.accounting import Pure
from sfumato.errors import SfumatoError
from sfumato.gateway import open_policy
from sfumato.ledger import Ledger, Receipt, schema, sqlite
from sfumato.local.collecting import Collection, install
from sfumato.local.kary import KAryResponse
from sfumato.local.task import planned_task
from sfumato.policy import load
from sfumato.server.operator_log import keep_log

LIBRARY = ctypes.CDLL(None)
HOW = {"once": 0, "stays": 1, "short": 2, "torn": 3}
SECONDS = 60
"""A child that hangs is ended."""
TERMS = {"data_id": "clinic", "composition": "pure", "epsilon": 100}
QUESTIONS = 3
SENT = [[0], [1], [2, 3], [4], [5], [6], [7, 8, 9], [10], [11], list(range(12, 20)), [20], [21, 22]]
"""Reports that a collector gets, some of them together; seven make a batch."""
OLD = Path(__file__).parents[1] / "unit" / "ledger_format_1.sql"


def tell(*words: object) -> None:
    """What has left the process, as a line of the disk's own trace: so it is known what was durable before it."""
    data = json.dumps(words).encode()
    LIBRARY.disk_tell(data, ctypes.c_size_t(len(data)))


class Owner(logging.Handler):
    """The operator's log, in the trace."""

    def emit(self, record: logging.LogRecord) -> None:
        tell("owner", record.getMessage())


def refused(error: SfumatoError) -> None:
    tell("refused", error.sqlstate, error.message, error.detail, error.hint)


def the_ledger(folder: Path) -> None:
    """Debits and answers, with an anchor, checkpoints, and a close that takes the log in."""
    logging.getLogger("sfumato.operator").addHandler(Owner())
    try:
        with Ledger.open(folder / "clinic.ledger", anchor=folder / "head" / "anchor", **TERMS) as ledger:
            for number in range(QUESTIONS):
                try:
                    _ask(ledger, f"q{number}")
                except SfumatoError as error:
                    refused(error)
    except SfumatoError as error:
        refused(error)


def _ask(ledger: Ledger, question: str) -> None:
    paid = ledger.debit("ada", Pure("0.1"), question=question, epsilon="0.1", version="1", text=question)
    assert isinstance(paid, Receipt)
    tell("debited", question, paid.id)
    stored = ledger.store(paid, os.urandom(20))
    tell("answered", question, stored.receipt.id, stored.answer.hex())


def policy_of(folder: Path) -> Path:
    """The policy of a run; it lies with data and logs on another disk, which does not fail."""
    return folder.with_name(f"{folder.name}.policy") / "sfumato.toml"


def write_policy(folder: Path) -> None:
    policy = policy_of(folder)
    policy.parent.mkdir()
    rows = "".join(f"p{i % 50},{i % 90},{'Paris' if i % 3 else 'Lyon'}\n" for i in range(200))
    (policy.parent / "visit.csv").write_text(f"person,age,city\n{rows}", encoding="utf-8")
    places = f'ledger = "{folder}/clinic.ledger"\nanchor = "{folder}/head/anchor"\n'
    policy.write_text(POLICY.replace("[privacy]", f"{places}[privacy]"), encoding="utf-8")


def question(number: int) -> str:
    return f"SELECT city, COUNT(*) FROM visit WHERE age < {20 + number} GROUP BY city"


def the_gateway(folder: Path) -> None:
    """Questions to a policy file, as any door asks them."""
    policy = policy_of(folder)
    keep_log(load(policy))
    logging.getLogger("sfumato.operator").addHandler(Owner())
    try:
        with open_policy(policy) as gate:
            for number in range(QUESTIONS):
                try:
                    answer = gate.sql(question(number))
                    tell("answered", number, answer.receipt, answer.rows)
                except SfumatoError as error:
                    refused(error)
    except SfumatoError as error:
        refused(error)


def make_copy(folder: Path) -> None:
    """A ledger, and a copy of it that is older."""
    with Ledger.open(folder / "clinic.ledger", **TERMS) as ledger:
        _ask(ledger, "first")
        ledger.backup(folder / "copy")
        _ask(ledger, "second")


def the_backup(folder: Path) -> None:
    """A new copy in the place of the old one, while serving goes on."""
    try:
        with Ledger.open(folder / "clinic.ledger", **TERMS) as ledger:
            ledger.backup(folder / "copy")
            tell("copied")
    except SfumatoError as error:
        refused(error)


def make_old(folder: Path) -> None:
    """A ledger of the first format."""
    with closing(sqlite3.connect(folder / "clinic.ledger")) as old:
        old.executescript(OLD.read_text(encoding="utf-8"))
        old.execute(f"PRAGMA application_id = {schema.APPLICATION}")
        old.execute("PRAGMA user_version = 1")


def the_upgrade(folder: Path) -> None:
    """Opening it, which upgrades it."""
    try:
        with Ledger.open(folder / "clinic.ledger", **TERMS) as ledger:
            tell("opened", sum(entry.kind == "debit" for entry in ledger.entries()))
    except SfumatoError as error:
        refused(error)


def make_collector(folder: Path) -> None:
    """A task whose batches have seven reports."""
    install(folder, planned_task("numbers", KAryResponse.planned(1000, 3), minimum_batch=7).to_toml())


def the_collector(folder: Path) -> None:
    """Reports one by one and some at a time, by two collectors in turn; what was not acknowledged is sent again."""
    held = [Collection(folder / "collect" / "numbers") for _ in range(2)]
    for turn, numbers in enumerate(SENT):
        for _ in range(3):
            try:
                held[turn % 3 == 2].commit([record(number) for number in numbers])
            except OSError as error:
                tell("failed", error.errno)
                continue
            tell("acknowledged", *numbers)
            break


class Killed(BaseException):
    """The process ends here: nothing is written after it."""


def commit_killed(place: Path, numbers: list[int]) -> None:
    """Store reports, and be killed instead of waiting for the disk after the mark of the change was written."""
    written, syncs, write = False, (os.fsync, os.fdatasync), os.pwrite

    def wrote(file: int, data: bytes, at: int) -> int:
        nonlocal written
        written = True
        return write(file, data, at)

    def sync(file: int) -> None:
        if written:
            raise Killed
        syncs[0](file)

    os.fsync, os.fdatasync, os.pwrite = sync, sync, wrote
    try:
        Collection(place).commit([record(number) for number in numbers])
    except (Killed, OSError) as end:
        tell("ended", type(end).__name__)
    finally:
        (os.fsync, os.fdatasync), os.pwrite = syncs, write


def the_killed_collector(folder: Path) -> None:
    """Whoever gets reports is killed, and somebody else gets them again."""
    place = folder / "collect" / "numbers"
    for numbers in SENT:
        commit_killed(place, numbers)
        held = Collection(place)
        for _ in range(3):
            try:
                held.commit([record(number) for number in numbers])
            except OSError as error:
                tell("failed", error.errno)
                continue
            tell("acknowledged", *numbers)
            break


def record(number: int) -> tuple[bytes, bytes]:
    """A report that says its own number."""
    return number.to_bytes(16, "big"), number.to_bytes(2, "little")


def nothing(_: Path) -> None:
    """There is nothing before the first call."""


SCENARIOS: dict[str, tuple[Callable[[Path], None], Callable[[Path], None]]] = {
    "ledger": (nothing, the_ledger),
    "gateway": (write_policy, the_gateway),
    "backup": (make_copy, the_backup),
    "upgrade": (make_old, the_upgrade),
    "collector": (make_collector, the_collector),
    "killed collector": (make_collector, the_killed_collector),
}
"""What is there before the disk fails, and what is done on it."""


def child(scenario: str, folder: Path, number: int, fault: list[str]) -> int:
    """One run: 0 if the fault never came, 1 if it did."""
    signal.alarm(SECONDS)
    prepare, work = SCENARIOS[scenario]
    prepare(folder)
    handle = os.open(folder.with_name(f"{folder.name}.trace"), os.O_CREAT | os.O_WRONLY, 0o600)
    kind, how, error = fault
    LIBRARY.disk_arm(os.fsencode(folder), handle, ord(kind), ctypes.c_long(number), HOW[how], int(error))
    work(folder)
    return int(LIBRARY.disk_fired() > 0)


def wait(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def main(scenario: str, base: Path, first: int, fault: list[str]) -> None:
    sqlite.CHECKPOINT = 8  # rows: so that this little work has its checkpoints too
    for number in itertools.count(first):
        folder = base / str(number)
        (folder / "head").mkdir(parents=True, exist_ok=True)
        process = os.fork()
        if process == 0:
            code = 2
            try:
                code = child(scenario, folder, number, fault)
            except BaseException:  # noqa: BLE001  a fork must not go on with its parent's work
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = wait(process)
        print(json.dumps([number, code]), flush=True)  # noqa: T201  for the test that started this
        if code == 0:
            return


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
