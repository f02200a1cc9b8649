"""Two gateways on one ledger: one is stopped in the middle, one has an old policy, or the file is an older one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.end_to_end.disk import PATHS
from tests.end_to_end.test_gateway_faults import POLICY
from tests.end_to_end.told import told_to_the_owner

from sfumato.engines.duckdb import DuckDB
from sfumato.errors import BudgetError, LedgerError
from sfumato.gateway import open_policy, opening
from sfumato.ledger import Ledger

QUESTION = "SELECT city, COUNT(*) FROM visit WHERE age < {} GROUP BY city"

CHILD = """
import json, signal, sys, threading
from sfumato.server.operator_log import keep_log
from sfumato.errors import SfumatoError
from sfumato.gateway import Gateway, open_policy
from sfumato.ledger import ledger as book
from sfumato.policy import load

def stopping(module, name):
    work = getattr(module, name)
    def stop(*arguments, **more):
        done = work(*arguments, **more)
        setattr(module, name, work)
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # this thread first: it goes no step further
        return done
    setattr(module, name, stop)

PLACES = {
    "holding the lock": (book, "decide"), "before its answer is stored": (Gateway, "_draw"),
    "after its answer is stored": (Gateway, "_answer"),
}
policy, where = sys.argv[1:3]
keep_log(load(policy))
gate = open_policy(policy)
gate.sql("SELECT COUNT(*) FROM visit WHERE age < 3")
if where in PLACES:
    stopping(*PLACES[where])
print("ready", flush=True)
for line in sys.stdin:
    try:
        answer = gate.sql(line)
        print(json.dumps(["answer", answer.receipt, answer.rows, float(answer.cost.epsilon)]), flush=True)
    except SfumatoError as error:
        print(json.dumps(["error", error.sqlstate, error.message, error.hint]), flush=True)
gate.close()
"""


@pytest.fixture
def policy(tmp_path):
    rows = "".join(f"p{i % 50},{i % 90},{'Paris' if i % 3 else 'Lyon'}\n" for i in range(200))
    (tmp_path / "visit.csv").write_text(f"person,age,city\n{rows}", encoding="utf-8")
    path = tmp_path / "sfumato.toml"
    path.write_text(POLICY, encoding="utf-8")
    return path


class Other:
    """Another gateway, in another process, that answers one line at a time."""

    def __init__(self, policy, where=""):
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(policy), where],
            env=os.environ | {"PYTHONPATH": PATHS},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "ready\n"

    def begin(self, sql):
        self.process.stdin.write(f"{sql}\n")
        self.process.stdin.flush()

    def end(self):
        return json.loads(self.process.stdout.readline())

    def wait_until_stopped(self):
        _, status = os.waitpid(self.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)


@contextmanager
def another(policy, where=""):
    other = Other(policy, where)
    try:
        yield other
        other.process.stdin.close()
        assert other.process.wait(60) == 0
    finally:
        other.process.kill()
        other.process.stdin.close()
        other.process.stdout.close()
        other.process.wait()


def entries(policy):
    with Ledger.visit(policy.with_name("clinic.ledger")) as ledger:
        ledger.verify()
        return list(ledger.entries())


def seconds(monkeypatch, busy):
    """How long the gateways of this process wait for a lock."""
    monkeypatch.setattr(opening, "Ledger", SimpleNamespace(open=partial(Ledger.open, busy=busy)))


def stop_while_holding(policy):
    """One is stopped inside its transaction; the other is told so, once a question, and nothing is lost or released."""
    with told_to_the_owner() as told, another(policy, "holding the lock") as other, open_policy(policy) as gate:
        before = gate.budget().spent
        other.begin(QUESTION.format(20))
        other.wait_until_stopped()
        for _ in range(2):
            with pytest.raises(LedgerError, match="the ledger is busy") as refused:
                gate.sql(QUESTION.format(30))
            assert (refused.value.sqlstate, refused.value.hint) == ("58030", "Try again.")
        assert gate.budget().spent == before
        assert [line.split(".")[0] for line in told] == ["the ledger is busy"]
        os.kill(other.process.pid, signal.SIGCONT)
        kind, receipt, rows, _ = other.end()
        assert kind == "answer"
        mine = gate.sql(QUESTION.format(30))
        other.begin(QUESTION.format(30))
        assert other.end()[1] == mine.receipt
        again = gate.sql(QUESTION.format(20))
        assert (again.receipt, json.loads(json.dumps(again.rows)), again.cost.epsilon) == (receipt, rows, 0)
    kinds = [entry.kind for entry in entries(policy)]
    assert kinds == ["opened", "policy", *["debit", "answer"] * 3]


def test_a_gateway_that_is_stopped_holding_the_lock(policy, monkeypatch):
    seconds(monkeypatch, 0.2)
    stop_while_holding(policy)


@pytest.mark.slow
def test_a_gateway_that_is_stopped_for_a_minute(policy, monkeypatch):
    seconds(monkeypatch, 30)  # twice: each question waits that long
    stop_while_holding(policy)


@pytest.mark.parametrize("where", ["before its answer is stored", "after its answer is stored"])
def test_a_gateway_that_is_stopped_after_it_paid(policy, where):
    """The other goes on meanwhile; the first answer to a question is the one that both give."""
    with another(policy, where) as other, open_policy(policy) as gate:
        other.begin(QUESTION.format(20))
        other.wait_until_stopped()
        mine = gate.sql(QUESTION.format(20))
        assert (mine.cost.epsilon > 0) == (where == "before its answer is stored")
        os.kill(other.process.pid, signal.SIGCONT)
        kind, receipt, rows, _ = other.end()
        assert (kind, receipt, rows) == ("answer", mine.receipt, json.loads(json.dumps(mine.rows)))
    found = entries(policy)
    released = {entry.body["receipt"] for entry in found if entry.kind == "answer"}
    assert mine.receipt in released <= {entry.body["receipt"] for entry in found if entry.kind == "debit"}
    assert len(released) == 2


def test_a_gateway_with_an_old_policy_spends_nothing(policy):
    """The newest policy in the ledger holds for every process; an older one comes back only if the owner brings it."""
    newer = policy.with_name("newer.toml")
    newer.write_text(POLICY.replace("epsilon = 100", "epsilon = 0.05"), encoding="utf-8")
    with another(policy) as other, open_policy(newer) as gate:
        for number in range(1, 5):
            gate.sql(QUESTION.format(number))
        with pytest.raises(BudgetError):
            gate.sql(QUESTION.format(99))
        for number in (99, 1, 99):  # new ones, and one whose answer is stored
            other.begin(QUESTION.format(number))
            told = other.end()
            assert told == ["error", "58030", "the policy was changed by another process", "Reload the policy."]
        spent = gate.budget().spent.epsilon
        assert spent == gate.policy.privacy.epsilon, "all that the newest policy allows, and no more"
        with pytest.raises(BudgetError):  # and the one that has the newest goes on as before
            gate.sql(QUESTION.format(99))
        assert gate.sql(QUESTION.format(1)).cost.epsilon == 0
    log = Path(policy.with_name(".sfumato") / "operator.log").read_text(encoding="utf-8")
    assert log.count("the policy was changed by another process") == 1, "the owner is told, once"
    with open_policy(policy) as gate:
        assert gate.sql(QUESTION.format(99)).cost.epsilon > 0
    changes = [entry.body for entry in entries(policy) if entry.kind == "policy"]
    assert [body["now"]["epsilon"] for body in changes] == ["100", "1/20", "100"]
    assert [body["before"] for body in changes] == [None, changes[0]["now"], changes[1]["now"]]
    assert all(body["who"] == "owner" and len(body["now"]["digest"]) == 64 for body in changes)


# an older ledger


def test_an_older_ledger_is_refused_by_its_anchor(policy):
    policy.write_text(POLICY.replace("[privacy]", 'anchor = "elsewhere"\n[privacy]'), encoding="utf-8")
    book, kept = policy.with_name("clinic.ledger"), policy.with_name("kept")
    with open_policy(policy) as gate:
        gate.sql(QUESTION.format(1))
        gate._ledger.backup(policy.with_name("copy"))
        gate.sql(QUESTION.format(2))
    shutil.copy(book, kept)
    shutil.copy(policy.with_name("copy"), book)
    for opens in (partial(open_policy, policy), partial(Ledger.visit, book, anchor=policy.with_name("elsewhere"))):
        with pytest.raises(LedgerError, match="the ledger is older than its anchor") as refused:
            opens()
        assert refused.value.detail == "The anchor names entry 6, which is not in this chain of 4 entries."
        assert refused.value.hint.startswith("Restore the newest ledger")
    done = subprocess.run(
        [sys.executable, "-c", "from sfumato.cli import main; main()", "ledger", "verify", "-p", str(policy)],
        env=os.environ | {"PYTHONPATH": PATHS},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "older than its anchor" in done.stderr
    assert "Restore the newest ledger" in done.stderr
    shutil.copy(kept, book)
    with open_policy(policy) as gate:
        assert gate.sql(QUESTION.format(2)).cost.epsilon == 0


@pytest.mark.parametrize("what", ["restored", "removed", "its log removed"])
def test_a_ledger_that_is_replaced_while_it_is_open_serves_no_more(policy, what):
    """What it would debit could not be found again: by whoever opens the file that stands there now."""
    book, old = policy.with_name("clinic.ledger"), policy.with_name("copy")
    gate = open_policy(policy)
    first = gate.sql(QUESTION.format(1))
    gate._ledger.backup(old)
    second = gate.sql(QUESTION.format(2))
    if what == "restored":
        old.replace(book)
    else:
        Path(f"{book}-wal" if what == "its log removed" else book).unlink()
    with told_to_the_owner() as told:
        with pytest.raises(LedgerError, match="replaced or removed while it was open") as refused:
            gate.sql(QUESTION.format(3))
        assert refused.value.hint.startswith("Stop every gateway")
        for number in (1, 3):  # not even what is stored
            with pytest.raises(LedgerError, match="is no longer served"):
                gate.sql(QUESTION.format(number))
        gate.close()
    assert len(told) == 1
    assert "replaced or removed while it was open" in told[0]
    if what == "its log removed":  # what it had written was taken in when it ended
        with open_policy(policy) as gate:
            assert gate.sql(QUESTION.format(1)).receipt == first.receipt
            assert gate.sql(QUESTION.format(2)).receipt == second.receipt


# a lock that is held when the answer is there


def hold_while_running(monkeypatch, other, meanwhile):
    """As the next question runs, the other gateway takes the lock and is stopped; then `meanwhile` happens."""
    run = DuckDB.run

    def stopped(self, *arguments):
        monkeypatch.setattr(DuckDB, "run", run)
        other.begin(QUESTION.format(20))
        other.wait_until_stopped()
        return meanwhile(self, *arguments)

    monkeypatch.setattr(DuckDB, "run", stopped)


def go_on(other):
    os.kill(other.process.pid, signal.SIGCONT)
    assert other.end()[0] == "answer"


def test_an_answer_that_was_paid_for_is_waited_for(policy, monkeypatch):
    seconds(monkeypatch, 1)
    with another(policy, "holding the lock") as other, open_policy(policy) as gate:
        later = threading.Timer(1.5, os.kill, (other.process.pid, signal.SIGCONT))  # longer than a debit waits

        run = DuckDB.run

        def meanwhile(*arguments):
            later.start()
            return run(*arguments)

        hold_while_running(monkeypatch, other, meanwhile)
        assert gate.sql(QUESTION.format(30)).cost.epsilon > 0
        assert other.end()[0] == "answer"
    assert [entry.kind for entry in entries(policy)].count("answer") == 3


def test_an_answer_that_cannot_be_stored_is_not_given(policy, monkeypatch):
    seconds(monkeypatch, 0.05)
    with another(policy, "holding the lock") as other, open_policy(policy) as gate:
        hold_while_running(monkeypatch, other, DuckDB.run)
        with pytest.raises(LedgerError, match="the ledger is busy"):
            gate.sql(QUESTION.format(30))
        go_on(other)
        assert gate.sql(QUESTION.format(30)).cost.epsilon > 0, "it is drawn anew, and paid for again"
    kinds = [entry.kind for entry in entries(policy)]
    assert (kinds.count("debit"), kinds.count("answer")) == (4, 3)


def test_a_failure_that_cannot_be_recorded_ends_serving(policy, monkeypatch):
    """Each is a bit that noise does not cover, and only what is counted is rationed."""

    def fails(*_):
        raise RuntimeError

    seconds(monkeypatch, 0.05)
    with told_to_the_owner() as told, another(policy, "holding the lock") as other, open_policy(policy) as gate:
        hold_while_running(monkeypatch, other, fails)
        with pytest.raises(LedgerError, match="the ledger is busy"):
            gate.sql(QUESTION.format(30))
        go_on(other)
        with pytest.raises(LedgerError, match="is no longer served"):
            gate.sql(QUESTION.format(30))
    assert any(line.startswith("the ledger failed and is no longer served. First the ledger is busy") for line in told)
    with open_policy(policy) as gate:
        assert gate.sql(QUESTION.format(30)).cost.epsilon > 0
