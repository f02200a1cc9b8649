"""A ledger whose files are changed by something else while a gateway serves it: no further charge is told to anybody.

Each case runs a real gateway process. What it told before must be found by whoever opens the ledger next, or the
opening is refused.
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.end_to_end.disk import PATHS

from sfumato.accounting import Pure
from sfumato.errors import LedgerError
from sfumato.ledger import Ledger, sqlite

TERMS = {"data_id": "clinic", "composition": "pure", "epsilon": 100}

CHILD = """
import json, sys
from pathlib import Path
from sfumato.accounting import Pure
from sfumato.errors import SfumatoError
from sfumato.ledger import Ledger, sqlite
path, sqlite.CHECKPOINT = sys.argv[1], int(sys.argv[2])
ledger = Ledger.open(path, data_id="clinic", composition="pure", epsilon=100, last_head=Path(path + ".head"))
print(json.dumps(["ready"]), flush=True)
for line in sys.stdin:
    word, question = line.split()
    try:
        if word == "debit":
            paid = ledger.debit("ana", Pure("0.1"), question=question, epsilon="0.1", version="1", text=question * 50)
            ledger.store(paid, question.encode() * 50)
            print(json.dumps(["paid", paid.id, paid.seq]), flush=True)
        elif word == "again":
            ledger.mark()
            found = ledger.again(question, "1", "0.1")
            print(json.dumps(["again", found.receipt.id]), flush=True)
        elif word == "budget":
            print(json.dumps(["budget", str(ledger.budget().spent.epsilon)]), flush=True)
        else:
            ledger.close()
            print(json.dumps(["closed"]), flush=True)
    except SfumatoError as error:
        print(json.dumps(["refused", error.message, error.detail]), flush=True)
"""


class Gate:
    """A process that has a ledger open, and does what it is told."""

    def __init__(self, path, checkpoint):
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(path), str(checkpoint)],
            env=os.environ | {"PYTHONPATH": PATHS},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.hear() == ["ready"]

    def hear(self):
        return json.loads(self.process.stdout.readline())

    def say(self, word, question="x"):
        self.process.stdin.write(f"{word} {question}\n")
        self.process.stdin.flush()
        return self.hear()

    def end(self, number=None):
        if number is not None:
            self.process.send_signal(number)
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


def copy_into(source, target):
    """`cp`: the same inode, cut and written again."""
    with target.open("wb") as file:
        file.write(source.read_bytes())


def copy_over(source, target):
    """`dd conv=notrunc`: the same inode, not cut."""
    with target.open("rb+") as file:
        file.write(source.read_bytes())


def copy_with_times(source, target):
    """`cp -p`."""
    copy_into(source, target)
    shutil.copystat(source, target)


def restore_by_sqlite(source, target):
    """`.restore` of SQLite's own shell: a transaction like any other, of an older content."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


def log_of(path):
    return Path(f"{path}-wal")


def shared_memory_of(path):
    return Path(f"{path}-shm")


WAYS = {
    "cp": copy_into,
    "cp -p": copy_with_times,
    "dd": copy_over,
    "restored by SQLite": restore_by_sqlite,
    "mv": lambda old, path: shutil.copy(old, old.with_name("moved")) and old.with_name("moved").replace(path),
    "cut to nothing": lambda _, path: os.truncate(path, 0),
    "cut in half": lambda _, path: os.truncate(path, path.stat().st_size // 2),
    "one byte": lambda _, path: copy_over(path, path),
    "removed": lambda _, path: path.unlink(),
    "log removed": lambda _, path: log_of(path).unlink(),
    "log cut": lambda _, path: os.truncate(log_of(path), 0),
    "half of the log cut": lambda _, path: os.truncate(log_of(path), log_of(path).stat().st_size // 2),
    "shared memory removed": lambda _, path: shared_memory_of(path).unlink(),
    "cp with the log removed": lambda old, path: (copy_into(old, path), log_of(path).unlink()),
}


ALWAYS = {("cp", 10**9), ("cp", 8), ("dd", 8), ("restored by SQLite", 8), ("log cut", 10**9), ("mv", 8)}
ALWAYS |= {("shared memory removed", 8), ("cut in half", 10**9), ("half of the log cut", 8)}
"""The others run with `slow`."""


@pytest.mark.parametrize(
    ("way", "checkpoint"),
    [pytest.param(w, c, marks=[] if (w, c) in ALWAYS else pytest.mark.slow) for w in WAYS for c in (10**9, 8)],
)
def test_a_ledger_that_is_overwritten_in_place_serves_no_more(tmp_path, way, checkpoint):
    """With all entries in the log, or with most of them in the main file."""
    path, old = tmp_path / "clinic.ledger", tmp_path / "backup"
    gate = Gate(path, checkpoint)
    told = [gate.say("debit", f"a{number}") for number in range(10)]
    with Ledger.visit(path) as visitor:
        visitor.backup(old)
    told += [gate.say("debit", f"b{number}") for number in range(12)]
    assert {word for word, *_ in told} == {"paid"}
    WAYS[way](old, path)
    refused = gate.say("debit", "c0")
    assert refused[0] == "refused", "a charge went through"
    for word, question in (("debit", "c1"), ("again", "a1"), ("budget", "x"), ("debit", "c2")):
        assert gate.say(word, question)[0] == "refused", "it serves on"
    gate.end(signal.SIGKILL)
    _check_reopened(path, told)


@pytest.mark.parametrize("ending", ["closed", "killed"])
@pytest.mark.parametrize("checkpoint", [10**9, 8], ids=["all in the log", "most in the main file"])
def test_a_ledger_that_is_overwritten_while_nobody_asks(tmp_path, checkpoint, ending):
    """The gateway is idle, and ends; whoever comes next finds everything, or is refused."""
    path, old = tmp_path / "clinic.ledger", tmp_path / "backup"
    gate = Gate(path, checkpoint)
    told = [gate.say("debit", f"a{number}") for number in range(10)]
    with Ledger.visit(path) as visitor:
        visitor.backup(old)
    told += [gate.say("debit", f"b{number}") for number in range(12)]
    copy_into(old, path)
    if ending == "closed":
        gate.say("close")
    gate.end(None if ending == "closed" else signal.SIGKILL)
    assert log_of(path).stat().st_size > 0, "the log was written into a file that it does not belong to"
    _check_reopened(path, told)


def _check_reopened(path, told):
    """Whoever visits or opens it next sees all that was told, or an error; a look does not make it worse."""
    last = Path(f"{path}.head")
    for opens in (Ledger.visit, lambda place, **more: Ledger.open(place, **TERMS, **more)):
        try:
            with opens(path, last_head=last) as ledger:
                ledger.verify()
                held = {entry.body["receipt"] for entry in ledger.entries() if entry.kind == "debit"}
        except LedgerError:
            continue
        assert {receipt for _, receipt, _ in told} <= held, "charges were forgotten"


def test_workers_that_checkpoint_do_not_alarm_each_other(tmp_path):
    path = tmp_path / "clinic.ledger"
    gates = [Gate(path, 6) for _ in range(3)]
    for number in range(20):
        for index, gate in enumerate(gates):
            assert gate.say("debit", f"{index}-{number}")[0] == "paid"
            assert gate.say("again", f"{index}-{number}")[0] == "again"
    gates[0].end(signal.SIGKILL)
    gates.append(Gate(path, 6))
    for number in range(20, 30):
        for index, gate in enumerate(gates[1:]):
            assert gate.say("debit", f"{index}-{number}")[0] == "paid"
    for gate in gates[1:]:
        gate.end()
    with Ledger.visit(path) as ledger:
        assert ledger.verify().debits == 90


@pytest.mark.parametrize(("way", "checkpoint"), [("cp", 8), ("dd", 10**9)])
def test_all_gateways_notice_whoever_looks_first(tmp_path, way, checkpoint):
    """A process that opens the overwritten file must not make it look right to those that serve it."""
    path, old = tmp_path / "clinic.ledger", tmp_path / "backup"
    gates = [Gate(path, checkpoint) for _ in range(2)]
    for number in range(10):
        gates[number % 2].say("debit", f"a{number}")
    with Ledger.visit(path) as visitor:
        visitor.backup(old)
    for number in range(20):
        gates[number % 2].say("debit", f"b{number}")
    WAYS[way](old, path)
    try:
        with Ledger.open(path, **TERMS) as ledger:
            ledger.thaw("owner")
    except LedgerError:
        pass
    for gate in gates:
        refused = gate.say("debit", "c")
        assert refused[0] == "refused"
        assert any(word in str(refused) for word in ("overwritten", "replaced or removed"))
        gate.end(signal.SIGKILL)


def test_a_process_that_dies_in_a_checkpoint_stops_nobody(tmp_path, monkeypatch):
    path = tmp_path / "clinic.ledger"
    gate = Gate(path, 10**9)
    for number in range(5):
        gate.say("debit", f"a{number}")
    code = """
import os, sys
from sfumato.ledger import Ledger, file_guard as guard, sqlite
write = guard._write
def die(connection, record):
    if not record.busy:
        os._exit(9)
    write(connection, record)
ledger = Ledger.open(sys.argv[1], data_id="clinic", composition="pure", epsilon=100)
sqlite.CHECKPOINT = 1
ledger._store.guard._joined = True
ledger._store.guard._epoch = guard._read(ledger._store.connection).epoch
guard._write = die
ledger.freeze("owner")
import time; time.sleep(30)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], env=os.environ | {"PYTHONPATH": PATHS}, check=False, timeout=60
    )
    assert done.returncode == 9
    refused = gate.say("debit", "b")
    assert refused[0] == "refused"
    assert "frozen" in refused[1], "it is served, and the freeze is heard"
    with Ledger.visit(path) as ledger:
        ledger.thaw("owner")
    assert gate.say("debit", "b")[0] == "paid"
    gate.end()
    monkeypatch.setattr(sqlite, "CHECKPOINT", 4)
    with Ledger.open(path, **TERMS) as ledger:
        for number in range(10):
            ledger.debit("ana", Pure("0.1"), question=f"d{number}", epsilon="0.1", version="1", text="")
        ledger.verify()
