"""The time grid, with a clock that stands still: what is shown after work on rows depends on the slot alone."""

import pandas as pd
import pytest

import sfumato
from sfumato.errors import EngineError
from sfumato.gateway.timing import FIRST, Grid, grid_of, slot
from tests.end_to_end.served import write_small


class Clock:
    """Time that passes only when somebody works or sleeps."""

    def __init__(self):
        self.time, self.slept = 1000.0, []

    def now(self):
        return self.time

    def sleep(self, seconds):
        assert seconds > 0
        self.slept.append(seconds)
        self.time += seconds / 2 if seconds > 0.001 else seconds  # as if woken too early, now and then


@pytest.fixture
def gate():
    frame = pd.DataFrame({"person": [f"p{i}" for i in range(50)], "age": [i % 90 for i in range(50)]})
    made = sfumato.protect(frame, unit="person", rows_per_unit=1, epsilon=1000, bounds={"age": (0, 100)})
    with made:
        yield made


def watch(gate, clock, took, *, storing=0.0, padded=True, fails=False):
    """Let the engine take so long; note when the ledger hears of answers and failures."""
    gate._grid = Grid(FIRST if padded else 0, clock.now, clock.sleep)
    engine, ledger, noted = gate._engine, gate._ledger, []
    run = type(engine).run

    def slow(*words):
        clock.time += took
        if fails:
            raise EngineError("the engine could not run this query")
        return run(engine, *words)

    engine.run = slow
    store, fail = type(ledger).store, type(ledger).fail

    def stored(receipt, answer):
        noted.append(("stored", clock.time))
        clock.time += storing
        return store(ledger, receipt, answer)

    def failed(receipt):
        noted.append(("failed", clock.time))
        return fail(ledger, receipt)

    ledger.store, ledger.fail = stored, failed
    return noted


def test_slots_double_from_a_tenth_of_a_second():
    assert FIRST == 0.1
    assert [round(slot(t), 9) for t in (0, 0.1, 0.1001, 0.2, 0.21, 3.1, 3.3)] == [0.1, 0.1, 0.2, 0.2, 0.4, 3.2, 6.4]
    assert all(slot(t / 1000) >= t / 1000 for t in range(5000))


@pytest.mark.parametrize("took", [0.0, 0.001, 0.04, 0.0999, 0.101, 0.17, 0.1999, 0.23, 6.0])
@pytest.mark.parametrize("fails", [False, True])
def test_what_follows_begins_on_the_grid(took, fails):
    clock = Clock()
    grid, arrived = Grid(FIRST, clock.now, clock.sleep), clock.now()
    try:
        with grid.hidden(arrived):
            clock.time += took
            if fails:
                raise EngineError("it failed")
    except EngineError:
        assert fails
    assert clock.now() - arrived == pytest.approx(slot(took), abs=1e-9)


@pytest.mark.parametrize("took", [0.0, 0.01, 0.099, 0.101, 0.17])
@pytest.mark.parametrize("storing", [0.001, 0.012, 0.049])
def test_an_answer_is_stored_on_the_grid(gate, took, storing):
    """Who asks on another connection whether it is there learns the slot, no more; so does who measures the reply."""
    clock = Clock()
    noted = watch(gate, clock, took, storing=storing)
    began = clock.now()
    gate.sql("SELECT COUNT(*) FROM data", epsilon=1)
    assert [(what, pytest.approx(when - began, abs=1e-9)) for what, when in noted] == [("stored", slot(took))]
    assert clock.now() - began == pytest.approx(slot(took) + FIRST / 2, abs=1e-9)


@pytest.mark.parametrize("took", [0.0, 0.01, 0.099, 0.101])
def test_a_failure_waits_like_an_answer(gate, took):
    clock = Clock()
    noted = watch(gate, clock, took, fails=True)
    began = clock.now()
    with pytest.raises(EngineError):
        gate.sql("SELECT COUNT(*) FROM data", epsilon=1)
    assert [(what, pytest.approx(when - began, abs=1e-9)) for what, when in noted] == [("failed", slot(took))]


def test_what_reads_no_row_does_not_wait(gate):
    clock = Clock()
    watch(gate, clock, 0.02)
    gate.sql("SELECT COUNT(*) FROM data", epsilon=1)
    clock.slept.clear()
    assert gate.sql("SELECT COUNT(*) FROM data", epsilon=1).cost.epsilon == 0  # stored
    gate.explain("SELECT SUM(age) FROM data")
    with pytest.raises(sfumato.errors.QueryError):
        gate.sql("SELECT age FROM data")
    assert clock.slept == []


def test_plain_waits_for_nothing(gate):
    clock = Clock()
    noted = watch(gate, clock, 0.02, padded=False)
    began = clock.now()
    gate.sql("SELECT COUNT(*) FROM data", epsilon=1)
    assert clock.slept == []
    assert noted == [("stored", began + 0.02)]


def test_the_policy_decides(tmp_path):
    assert (grid_of("plain").first, grid_of("padded").first) == (0, FIRST)
    policy = write_small(tmp_path, changes=[("query_epsilon = 1", 'query_epsilon = 1\ntiming = "padded"')])
    with sfumato.open(policy) as gate:
        assert gate._grid.first == FIRST
    with sfumato.open(write_small(tmp_path)) as gate:
        assert gate._grid.first == 0
