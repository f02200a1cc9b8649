"""The ledger as the world treats it: processes killed, disks full, commits that fail, two gateways on one file."""

import hashlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

import sfumato
from sfumato.accounting import Pure
from sfumato.errors import BudgetError, LedgerError
from sfumato.ledger import Ledger, Receipt, sqlite

SOURCE = Path(sfumato.__file__).parents[1]
POLICY = {
    "data_id": "clinic",
    "composition": "pure",
    "shares": {"w0": 10**6},
    "busy": 60,
    "partition": "patient.region",
}

COMMON = f"""
import sys
from sfumato.accounting import Pure
from sfumato.errors import BudgetError, LedgerError
from sfumato.ledger import Ledger, Receipt

def ask(ledger, question, epsilon="0.01", analyst="w0", cells=None):
    return ledger.debit(
        analyst, Pure(epsilon), question=question, epsilon=epsilon, version="1", text=question, cells=cells
    )

def say(*words):
    print(*words, flush=True)

path, who, epsilon = sys.argv[1:4]
ledger = Ledger.open(path, epsilon=epsilon, **{POLICY!r})
"""

FOREVER = """
import hashlib, os
number = 0
while True:
    question = f"{os.getpid()}-{number}"
    receipt = ask(ledger, question, analyst=who)
    say("debited", receipt.id, receipt.seq)
    answer = os.urandom(8)
    ledger.store(receipt, answer)
    say("answered", receipt.id, hashlib.sha256(answer).hexdigest())
    number += 1
"""

UNTIL_SPENT = """
for number in range(200):
    try:
        receipt = ask(ledger, f"{who}-{number}", analyst=who)
    except BudgetError:
        say("refused")
    else:
        say("debited", receipt.id, receipt.seq)
"""

UNTIL_CELLS_ARE_SPENT = """
for number in range(200):
    try:
        receipt = ask(ledger, f"{who}-{number}", analyst=who, cells=(("north", "south", "west")[number % 3],))
    except BudgetError:
        say("refused")
    else:
        say("debited", receipt.id, receipt.seq)
"""

UNTIL_FULL = """
import os, resource
from sfumato.ledger import sqlite
limit, sqlite.CHECKPOINT = int(sys.argv[4]), int(sys.argv[5])
ask(ledger, "before")
resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path + "-wal") + limit, resource.RLIM_INFINITY))
receipt = None
try:
    for number in range(10_000):
        receipt = ask(ledger, f"{number:250}".replace(" ", "x"))
        say("debited", receipt.id, receipt.seq)
except LedgerError as error:
    say("failed", error.message.replace(" ", "-"))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
for call in (lambda: ask(ledger, "again"), lambda: ledger.store(receipt, b""), ledger.budget, ledger.verify):
    try:
        call()
    except LedgerError as error:
        say("dead", error.message.replace(" ", "-"))
"""


def start(code, *arguments):
    """A process that works on a ledger; the end of it is what it printed."""
    return subprocess.Popen(
        [sys.executable, "-c", COMMON + code, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        text=True,
    )


def finish(*processes):
    """Everything that processes say until they end, as lists of words."""
    with ThreadPoolExecutor(len(processes)) as pool:  # a pipe that nobody reads would stop its process
        texts = list(pool.map(lambda process: process.communicate()[0], processes))
    assert [process.returncode for process in processes] == [0] * len(processes)
    return [line.split() for text in texts for line in text.splitlines()]


def ask(ledger, question="q", epsilon="0.1", cells=None):
    return ledger.debit("w0", Pure(epsilon), question=question, epsilon=epsilon, version="1", text="", cells=cells)


def check_told(path, told):
    """Every receipt that was told is a debit, every answer that was told is stored, and the ledger is whole."""
    with Ledger.visit(path) as ledger:
        report = ledger.verify()
        debits = {entry.body["receipt"]: entry for entry in ledger.entries() if entry.kind == "debit"}
        for word, receipt, *rest in told:
            assert receipt in debits, "a receipt was given for what is not in the ledger"
            if word == "debited":
                assert debits[receipt].seq == int(rest[0])
            else:
                body = debits[receipt].body
                stored = ledger.stored(body["question"], "1", body["epsilon"])
                assert stored is not None, "an answer was given that is not stored"
                assert hashlib.sha256(stored.answer).hexdigest() == rest[0]
        assert report.debits >= sum(word == "debited" for word, *_ in told)
        assert report.spent.epsilon == sum(Fraction(entry.body["price"]["epsilon"]) for entry in debits.values())
        assert report.spent == ledger.budget().spent


def kill_loop(path, kills, writers, check_every):
    """Kill writers at random moments, again and again, on one ledger."""
    seed = random.SystemRandom().randrange(2**32)
    chance, told = random.Random(seed), []
    print(f"seed {seed}")  # noqa: T201 - pytest shows it when the test fails
    for kill in range(1, kills + 1):
        processes = [start(FOREVER, path, f"w{number}", 10**6) for number in range(writers)]
        for process in processes:
            told += [process.stdout.readline().split() for _ in range(chance.randrange(1, 12))]
        time.sleep(chance.choice((0, chance.random() / 50)))  # half of them at the very moment of a reply
        for process in processes:
            process.send_signal(signal.SIGKILL)
        for process in processes:
            text, _ = process.communicate()
            told += [line.split() for line in text.splitlines(keepends=True) if line.endswith("\n")]
        if kill % check_every == 0:
            check_told(path, told)
    assert {word for word, *_ in told} == {"debited", "answered"}


def test_what_was_printed_is_in_the_ledger_after_kill(tmp_path):
    kill_loop(tmp_path / "clinic.ledger", kills=12, writers=1, check_every=1)


@pytest.mark.slow
def test_what_was_printed_is_in_the_ledger_after_a_hundred_kills_of_two_writers(tmp_path):
    kill_loop(tmp_path / "clinic.ledger", kills=100, writers=2, check_every=10)


def test_two_processes_spend_one_budget(tmp_path):
    path = tmp_path / "clinic.ledger"
    words = finish(*(start(UNTIL_SPENT, path, f"w{number}", 3) for number in range(2)))
    told = [line for line in words if line[0] == "debited"]
    assert len(words) == 400
    assert len({receipt for _, receipt, _ in told}) == 300
    check_told(path, told)
    with Ledger.visit(path) as ledger:
        assert ledger.verify().spent.epsilon == 3
        assert ledger.budget("w0").spent.epsilon + ledger.budget("w1").spent.epsilon == 3


def test_two_processes_share_the_cells(tmp_path):
    path = tmp_path / "clinic.ledger"
    words = finish(*(start(UNTIL_CELLS_ARE_SPENT, path, f"w{number}", "0.5") for number in range(2)))
    assert [line[0] for line in words].count("debited") == 150  # fifty a cell, whoever asked
    assert len(words) == 400
    with Ledger.visit(path) as ledger:
        assert ledger.verify().spent.epsilon == Fraction(1, 2)
        assert ledger.budget(cells=("north",), version="1").remaining.epsilon == 0
        assert ledger.budget(cells=("east",), version="1").remaining.epsilon == Fraction(1, 2)


@pytest.mark.parametrize("checkpoint", [1, 10**9], ids=["with checkpoints", "without"])
@pytest.mark.parametrize("limit", [0, 1, 4096, 20_000, 50_001])
def test_a_full_disk_stops_serving(tmp_path, limit, checkpoint):
    pytest.importorskip("resource", reason="limits of file sizes are of Unix")
    path = tmp_path / "clinic.ledger"
    words = finish(start(UNTIL_FULL, path, "w0", 10**6, limit, checkpoint))
    told = [line for line in words if line[0] == "debited"]
    assert len(told) < 10_000
    assert words[-4:] == [["dead", "the-ledger-failed-and-is-no-longer-served"]] * 4
    assert sum(line[0] == "failed" for line in words) == 1
    check_told(path, told)
    with Ledger.open(path, epsilon=10**6, **POLICY) as ledger:  # the cause is gone
        assert isinstance(ask(ledger, "after"), Receipt)


class Faulty:
    """A connection on which one kind of statement fails."""

    def __init__(self, connection, word, error):
        self.connection, self.word, self.error, self.tries = connection, word, error, 0

    def __getattr__(self, name):
        return getattr(self.connection, name)

    def execute(self, sql, *parameters):
        if sql.startswith(self.word):
            self.tries += 1
            raise self.error
        return self.connection.execute(sql, *parameters)

    def executemany(self, sql, rows):
        for row in rows:
            self.execute(sql, row)


@pytest.mark.parametrize(
    "word", ["BEGIN", "SAVEPOINT", "INSERT INTO entry", "UPDATE sums", "INSERT INTO cells", "RELEASE", "COMMIT"]
)
def test_a_failed_write_gives_no_receipt_and_is_not_tried_again(tmp_path, word):
    path = tmp_path / "clinic.ledger"
    with Ledger.open(path, epsilon=4, **POLICY) as ledger:
        kept = ask(ledger, "kept")
        fault = Faulty(ledger._store.connection, word, sqlite3.OperationalError("disk I/O error"))
        ledger._store.connection = fault
        with pytest.raises(LedgerError, match="cannot be read or written"):
            ask(ledger, "lost", cells=("north", "south"))
        assert fault.tries == 1
        calls = [lambda: ask(ledger, "more"), lambda: ledger.store(kept, b""), ledger.budget, lambda: ledger.fail(kept)]
        for call in calls:
            with pytest.raises(LedgerError, match="failed and is no longer served"):
                call()
        assert fault.tries == 1
    with Ledger.visit(path) as ledger:
        assert ledger.verify().debits == 1


def test_a_failed_checkpoint_stops_serving(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "CHECKPOINT", 1)
    path = tmp_path / "clinic.ledger"
    with Ledger.open(path, epsilon=4, **POLICY) as ledger:
        fault = sqlite3.OperationalError("disk I/O error")
        ledger._store.guard._copier = Faulty(sqlite3.connect(path), "PRAGMA wal_checkpoint", fault)
        assert isinstance(ask(ledger, "kept"), Receipt)  # its commit is on the disk
        with pytest.raises(LedgerError):
            ask(ledger, "more")
    with Ledger.visit(path) as ledger:
        assert ledger.verify().debits == 1


def test_a_dead_ledger_fails_all_who_wait(tmp_path):
    class Slow(Faulty):
        """Fails its commit only when the others have come."""

        def execute(self, sql, *parameters):
            if sql == "COMMIT":
                committing.set()
                assert go.wait(60)
            return Faulty.execute(self, sql, *parameters)

    committing, go = threading.Event(), threading.Event()
    path = tmp_path / "clinic.ledger"
    with Ledger.open(path, epsilon=4, **POLICY) as ledger, ThreadPoolExecutor(4) as pool:
        ledger._store.connection = Slow(ledger._store.connection, "COMMIT", sqlite3.OperationalError("disk"))
        waiting = [pool.submit(ask, ledger, "first")]
        assert committing.wait(60)
        waiting += [pool.submit(ask, ledger, f"{number}") for number in range(3)]
        while len(ledger._writer._jobs) < 3:
            time.sleep(0.001)
        go.set()
        for future in waiting:
            with pytest.raises(LedgerError):
                future.result()
    with Ledger.visit(path) as ledger:
        assert ledger.verify().debits == 0


def test_an_anchor_that_cannot_be_written_stops_serving(tmp_path):
    directory = tmp_path / "elsewhere"
    directory.mkdir()
    with Ledger.open(tmp_path / "clinic.ledger", epsilon=4, anchor=directory / "anchor", **POLICY) as ledger:
        ask(ledger, "one")
        (directory / "anchor").unlink()
        directory.rmdir()
        with pytest.raises(LedgerError, match="the anchor of the ledger cannot be written"):
            ask(ledger, "two")
        with pytest.raises(LedgerError, match="is no longer served"):
            ask(ledger, "three")


def test_a_wall_that_is_hit_stops_serving(tmp_path, monkeypatch):
    """Were the filter wrong, SQLite would still refuse, and serving would stop."""
    monkeypatch.setattr("sfumato.accounting.filters.PrivacyFilter._fits", lambda self, sums: True)
    with Ledger.open(tmp_path / "clinic.ledger", epsilon=1, **POLICY) as ledger:
        ask(ledger, "one", "1")
        with pytest.raises(LedgerError, match="cannot be read or written") as refused:
            ask(ledger, "two", "1")
        assert "sums stay within their limits" in refused.value.detail
        with pytest.raises(LedgerError, match="is no longer served"):
            ask(ledger, "three", "0.1")


def test_a_lock_held_by_another_is_said_and_does_no_harm(tmp_path):
    path = tmp_path / "clinic.ledger"
    with Ledger.open(path, epsilon=4, **POLICY | {"busy": 0.05}) as ledger:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(LedgerError, match="the ledger is busy"):
                ask(ledger)
            with pytest.raises(LedgerError, match="the ledger is busy"):
                Ledger.open(path, epsilon=4, **POLICY | {"busy": 0.05})
            assert ledger.budget().spent.epsilon == 0  # looking needs no lock
            other.execute("ROLLBACK")
        assert isinstance(ask(ledger), Receipt)
        ledger.verify()


def test_many_open_one_new_file_at_once(tmp_path):
    path = tmp_path / "clinic.ledger"
    code = "say('debited', (receipt := ask(ledger, who)).id, receipt.seq)"
    told = finish(*(start(code, path, f"w{number}", 4) for number in range(4)))
    assert len(told) == 4
    check_told(path, told)
    with Ledger.visit(path) as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["opened", "policy", *["debit"] * 4]


def test_serving_goes_on_through_checkpoints_and_a_backup(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "CHECKPOINT", 5)
    path = tmp_path / "clinic.ledger"
    with Ledger.open(path, epsilon=1, **POLICY) as ledger:
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(ask, ledger, f"{number}", "0.01") for number in range(100)]
            copies = [pool.submit(ledger.backup, tmp_path / f"copy{number}") for number in range(3)]
            for future in (*asked, *copies):
                future.result()
        with pytest.raises(BudgetError):
            ask(ledger, "more", "0.01")
        whole = list(ledger.entries())
    for number in range(3):
        with Ledger.visit(tmp_path / f"copy{number}") as copy:
            copy.verify()
            entries = list(copy.entries())
            assert entries == whole[: len(entries)]


def test_a_ledger_left_open_ends_with_its_process(tmp_path):
    path = tmp_path / "clinic.ledger"
    told = finish(start("say('debited', (receipt := ask(ledger, who)).id, receipt.seq)", path, "w0", 4))
    assert [file.name for file in tmp_path.iterdir()] == ["clinic.ledger"]  # closed at exit: the WAL was taken in
    check_told(path, told)
