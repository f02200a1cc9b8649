"""Free work ends when it must, and nobody can keep others from theirs."""

import subprocess
import sys
import threading
import time
import weakref

import duckdb
import pytest

from sfumato import interrupts
from sfumato.engines.duckdb import fetching
from sfumato.errors import QueryError
from sfumato.interrupts import (
    CancelScope,
    Slots,
    Stopped,
    cancelled,
    check_wanted,
    current,
    detached,
    planning,
    stopped,
    watched,
    who,
)
from sfumato.server.per_user_limits import Allowance

ENDLESS = "SELECT COUNT(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range + b.range = -1"


@pytest.fixture
def cursor():
    with duckdb.connect(config={"threads": 1}) as connection:
        yield connection


def later(function, *arguments, seconds=0.2):
    timer = threading.Timer(seconds, function, arguments)
    timer.start()
    return timer


def test_a_run_ends_with_its_leash(cursor):
    leash = CancelScope("ana")
    later(leash.cancel, cancelled("user request"))
    with pytest.raises(QueryError, match="due to user request") as ended, watched(cursor.interrupt, leash):
        cursor.execute(ENDLESS).fetchall()
    assert ended.value.sqlstate == "57014"
    with pytest.raises(QueryError, match="user request"), watched(cursor.interrupt, leash):
        raise AssertionError("what begins afterwards does not begin")


def test_a_run_ends_with_its_time(cursor):
    with (
        pytest.raises(QueryError, match=r"may run for 0\.2 seconds"),
        watched(cursor.interrupt, CancelScope(), seconds=0.2),
    ):
        cursor.execute(ENDLESS).fetchall()
    assert cursor.execute("SELECT 1").fetchall() == [(1,)], "nothing is interrupted afterwards"


def test_an_interrupt_that_came_too_early_comes_again(cursor):
    leash, calls = CancelScope(), []

    def interrupt():
        calls.append(time.monotonic())
        cursor.interrupt()

    def begin_late():
        leash.cancel(cancelled("user request"))
        until(lambda: calls)
        cursor.execute(ENDLESS).fetchall()  # begins after the first interrupt, which it does not hear

    with pytest.raises(QueryError, match="user request"), watched(interrupt, leash):
        begin_late()
    assert len(calls) > 1


def test_what_else_goes_wrong_is_not_taken_for_an_interrupt(cursor):
    with pytest.raises(duckdb.ParserException), watched(cursor.interrupt, CancelScope(), seconds=60):
        cursor.execute("nonsense")


def test_work_knows_whom_it_is_for():
    assert current() is None
    assert who() == ""
    leash = CancelScope("ana")
    with leash.held():
        assert who() == "ana"
        leash.cancel(stopped())
        with pytest.raises(Stopped):
            check_wanted()
        with detached():
            assert who() == "ana"
            check_wanted()  # what was paid for goes on
    check_wanted()


def hold(slots, name, count, go):
    """Threads that take a slot and keep it until they may go; and how many have one."""
    inside = []

    def run():
        with slots.of(name):
            inside.append(name)
            go.wait(60)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads, inside


def until(holds):
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


def test_one_analyst_cannot_take_every_slot():
    slots, go = Slots(3, 1), threading.Event()
    threads, inside = hold(slots, "ana", 8, go)
    until(lambda: len(inside) == 1)
    done = threading.Event()

    def bob():
        with slots.of("bob"), slots.of("bob"):  # a thread that has one gets it again
            done.set()

    other = threading.Thread(target=bob)
    other.start()
    assert done.wait(60), "bob waits for nobody"
    assert len(inside) == 1, "ana has one at a time"
    go.set()
    for thread in (*threads, other):
        thread.join(60)
    assert len(inside) == 8, "and all of hers in the end"


def test_slots_are_bounded_together():
    slots, go = Slots(2, 1), threading.Event()
    held = [hold(slots, name, 1, go) for name in "abc"]
    until(lambda: sum(len(inside) for _, inside in held) == 2)
    time.sleep(0.3)
    assert sum(len(inside) for _, inside in held) == 2
    go.set()
    for threads, _ in held:
        threads[0].join(60)


def test_a_cancelled_request_stops_waiting():
    slots, go = Slots(1, 1), threading.Event()
    threads, inside = hold(slots, "ana", 1, go)
    until(lambda: inside)
    leash = CancelScope("bob")
    later(leash.cancel, cancelled("user request"))
    with leash.held(), pytest.raises(QueryError, match="user request"), slots.of("bob"):
        raise AssertionError("there was no slot")
    go.set()
    threads[0].join(60)


def test_a_result_that_is_too_large_is_an_error_and_is_not_held(cursor):
    fetched = []

    class Counting:
        description = (("x", "VARCHAR"),)

        def fetchmany(self, size):
            rows = cursor.fetchmany(size)
            fetched.append(sum(len(row[0]) for row in rows))
            return rows

    cursor.execute("SELECT repeat('x', 10000) FROM range(1000000)")
    with pytest.raises(QueryError, match="larger than 1 MiB") as refused:
        fetching.fetch_bounded(Counting(), 2**20)
    assert refused.value.sqlstate == "54000"
    assert sum(fetched) < 2**20 + fetching._STEP + 10_000
    small, size = fetching.fetch_bounded(cursor.execute("SELECT 'ab', 1 FROM range(3000)"))
    assert len(small) == 3000
    assert size == 3000 * (2 * fetching.CELL + 2)
    with pytest.raises(QueryError, match="larger than 100 rows"):
        fetching.fetch_bounded(cursor.execute("SELECT 1 FROM range(1000)"), rows_at_most=100)


def test_lists_count_by_what_they_hold(cursor):
    with pytest.raises(QueryError, match="larger than 1 MiB"):
        fetching.fetch_bounded(cursor.execute("SELECT range(100000)"), 2**20)
    with pytest.raises(QueryError, match="larger than 1 MiB"):
        fetching.fetch_bounded(cursor.execute("SELECT map([1], [repeat('x', 2000000)])"), 2**20)


class Thing:
    pass


def test_an_allowance_is_given_back_when_things_are_freed():
    allowance = Allowance(100)
    first, second = Thing(), Thing()
    allowance.hold(first, 60)
    allowance.hold(first, 60)  # the same thing is counted once
    with pytest.raises(QueryError, match="would be held for you") as refused:
        allowance.hold(second, 50)
    assert refused.value.sqlstate == "53200"
    gone = weakref.ref(first)
    del first
    assert gone() is None
    assert allowance.used == 0
    allowance.hold(second, 50)
    assert allowance.used == 50


def test_the_runs_that_one_planning_waits_for_have_their_time_together():
    """And the processor time of such a run is not that of planning."""
    leash = CancelScope("ana")
    with leash.held(), planning():
        pace = interrupts._pace.get()
        before = pace._ends
        with watched(lambda: None, leash, seconds=60):
            sum(range(10**6))
        assert pace._ends > before
        assert pace.free < interrupts.FREE_SECONDS
        pace.free = 0.0
        interrupted = threading.Event()

        def run():
            with watched(interrupted.set, leash, seconds=60):
                assert interrupted.wait(60)
                raise RuntimeError

        with pytest.raises(QueryError, match="a free query"):
            run()


def test_a_process_ends_when_its_time_is_over():
    code = (
        "import threading, time\n"
        "from sfumato.server.process.shutdown import end_within\n"
        "end_within(0.5, 3)\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"  # which the interpreter would wait for
    )
    ended = subprocess.run([sys.executable, "-c", code], check=False, timeout=60, capture_output=True)
    assert ended.returncode == 3
