"""What the gateway remembers: the same answers, under the same rules, with less work."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

import sfumato
from sfumato.cli import clinic
from sfumato.errors import BudgetError, EngineError, SfumatoError
from sfumato.gateway import Gateway, Query
from sfumato.gateway import gateway as corridor
from sfumato.gateway.per_query_lock import QueryLocks
from sfumato.gateway.planner import Planner
from sfumato.gateway.recent_answers import Recent
from sfumato.gateway.run_and_sample import draw
from sfumato.interrupts import CancelScope, cancelled, who
from tests.plans import plan_of

COUNT = "SELECT area, COUNT(*) AS n FROM patient GROUP BY area"


@pytest.fixture
def gate(written, tmp_path):
    for name in clinic.FILES:
        (tmp_path / name).write_bytes((written / name).read_bytes())
    policy = tmp_path / clinic.POLICY_FILE
    changed = policy.read_text().replace('version = "', 'version = "daily" # "', 1)
    assert "daily" in changed
    policy.write_text(changed)
    with sfumato.open(policy) as made:
        yield made


def remembered(gate, sql=COUNT, **options):
    """Ask until the answer is at hand."""
    gate.sql(sql, analyst="ana", **options)
    gate.sql(sql, analyst="ana", **options)
    found = gate.recall(Query(sql, **options), "ana")
    assert found is not None
    return found


def test_what_is_remembered_is_what_was_answered(gate):
    assert gate.recall(Query(COUNT), "ana") is None
    first = gate.sql(COUNT, analyst="ana")
    assert gate.recall(Query(COUNT), "ana") is None, "it was paid for, but not found in the ledger yet"
    second = gate.sql(COUNT, analyst="ana")
    third = gate.recall(Query(COUNT), "ana")
    for told in (second, third):
        assert (told.columns, told.types, told.rows, told.notes) == (
            first.columns, first.types, first.rows, first.notes,
        )  # fmt: skip
        assert told.intervals() == first.intervals()
        assert told.receipt == first.receipt
        assert (told.cost.epsilon, told.cost.rho, told.cost.delta) == (0, 0, 0)
        assert told.remaining == first.remaining
    assert gate.recall(Query(COUNT), "zoe") is None, "what is left to her was not looked up yet"
    assert gate.sql(COUNT, analyst="zoe").rows == first.rows
    assert gate.recall(Query(COUNT), "zoe").remaining.epsilon == gate.budget("zoe").remaining.epsilon


def test_what_is_remembered_honours_a_freeze(gate):
    remembered(gate)
    gate._ledger.freeze("owner")
    assert gate.recall(Query(COUNT), "ana") is None
    with pytest.raises(BudgetError, match="frozen"):
        gate.sql(COUNT, analyst="ana")
    gate._ledger.thaw("owner")
    assert len(gate.sql(COUNT, analyst="ana").rows) == 5


def test_what_is_remembered_shows_the_budget_of_today(gate):
    before = remembered(gate).remaining
    gate.sql("SELECT COUNT(*) FROM visit", analyst="zoe")
    gate.sql("SELECT COUNT(*) FROM patient", 0.25, analyst="ana")
    after = gate.sql(COUNT, analyst="ana").remaining
    assert before.epsilon - after.epsilon == Fraction(1, 4)
    assert gate.recall(Query(COUNT), "ana").remaining == after
    assert after.queries < before.queries


def test_what_is_remembered_is_forgotten_with_the_version(gate):
    first = remembered(gate)
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    other = Gateway(gate.policy, gate._ledger, gate._engine, gate._rows)
    other._memory, other._clock = gate._memory, lambda: tomorrow
    assert other.recall(Query(COUNT), "ana") is None
    second = other.sql(COUNT, analyst="ana")
    assert second.cost.epsilon == Fraction(1, 10), "another version of the data is another question"
    assert second.receipt != first.receipt


def test_who_changes_her_answer_changes_nobody_elses(gate):
    mine = remembered(gate)
    rows = list(mine.rows)
    mine.rows.clear()
    mine.notes.append((None, "mine"))
    assert gate.recall(Query(COUNT), "ana").rows == rows
    assert gate.sql(COUNT, analyst="ana").notes == gate.sql(COUNT, analyst="zoe").notes


def test_options_are_told_apart_by_value_and_by_type(gate):
    remembered(gate, epsilon=1)
    assert gate.recall(Query(COUNT, 1), "ana") is not None
    for other in (True, 1.0, Decimal(1), Fraction(1), "1"):
        assert gate.recall(Query(COUNT, other), "ana") is None
    with pytest.raises(SfumatoError):
        gate.sql(COUNT, True, analyst="ana")
    with pytest.raises(SfumatoError):
        gate.sql(COUNT, [1], analyst="ana")


def test_a_question_is_planned_once_a_day(gate, monkeypatch):
    planned, fresh = [], Planner.fresh
    monkeypatch.setattr(
        Planner, "fresh", lambda of, query, day: (planned.append((query.sql, query.noise)), fresh(of, query, day))[1]
    )
    for _ in range(2):
        gate.explain(COUNT, analyst="ana")
        gate.sql(COUNT, analyst="ana")
        gate.sql(COUNT, analyst="zoe")
    assert planned == [(COUNT, None), (COUNT, "gaussian")]  # the preview compares with the other noise, once
    assert gate.sql(COUNT, key="once", analyst="ana").receipt == gate.sql(COUNT, analyst="ana").receipt


def test_the_last_things_are_kept_and_not_more_than_there_is_room_for():
    kept = Recent(100_000)
    for i in range(10):
        kept.put(i, str(i) * 19_000)
    assert [i for i in range(10) if kept.get(i)] == [5, 6, 7, 8, 9]
    kept.get(5)
    kept.put(10, "x" * 19_000)
    assert [i for i in range(11) if kept.get(i)] == [5, 7, 8, 9, 10]
    kept.put(5, "x" * 26_000)
    assert kept.get(5) is None, "what would push out the others is not kept"
    kept.put(5, "x", more=26_000)
    assert kept.get(5) is None, "nor what will do so later"
    for _ in range(100):
        kept.put("same", "x" * 19_000)
    assert sum(kept.get(i) is not None for i in range(11)) == 4


def test_one_question_asked_at_once_is_paid_for_once(gate, monkeypatch):
    """Thirty threads ask the same, while the engine takes its time; others are not kept waiting by it."""
    begun, goes_on = threading.Event(), threading.Event()

    def slow(engine, asked):
        if len(asked.question.items) == 2:
            begun.set()
            assert goes_on.wait(60)
        return draw(engine, asked)

    monkeypatch.setattr(corridor, "draw", slow)
    with ThreadPoolExecutor(31) as pool:
        asked = [pool.submit(gate.sql, COUNT, analyst="ana") for _ in range(30)]
        assert begun.wait(60)
        other = pool.submit(gate.sql, "SELECT COUNT(*) FROM patient", analyst="ana")
        assert other.result(30).cost.epsilon == Fraction(1, 10)
        goes_on.set()
        answers = [future.result(60) for future in asked]
    assert sum(answer.cost.epsilon for answer in answers) == Fraction(1, 10)
    assert len({answer.receipt for answer in answers}) == 1
    assert gate.budget("ana").spent.epsilon == Fraction(2, 10)
    assert gate._turns._waiting == {}


def test_nobody_waits_behind_who_waits_for_their_own_slots(gate, monkeypatch):
    """Two long runs of one analyst, who then asks what another wants to know: the other one is answered."""
    goes_on, running = threading.Event(), []

    def slow(engine, asked):
        if who() == "ana" and len(asked.question.items) == 2:
            running.append(asked.digest)
            assert goes_on.wait(60)
        return draw(engine, asked)

    def ask(sql, scope):
        with scope.held():
            return gate.sql(sql, analyst=scope.analyst, epsilon="0.01")

    monkeypatch.setattr(corridor, "draw", slow)
    wanted = "SELECT COUNT(*) FROM patient"
    with ThreadPoolExecutor(4) as pool:
        try:
            long = [
                pool.submit(ask, COUNT.replace("GROUP", f"WHERE age > {i} GROUP"), CancelScope("ana")) for i in (1, 2)
            ]
            while len(running) < 2:
                assert not any(future.done() for future in long)
                time.sleep(0.01)
            waits = pool.submit(ask, wanted, CancelScope("ana"))
            while gate.budget("ana").spent.epsilon < Fraction(3, 100):
                time.sleep(0.01)
            assert not waits.done(), "it was charged, and waits for a run of the same analyst to end"
            told = pool.submit(ask, wanted, CancelScope("zoe")).result(60)
            assert waits.result(60).receipt == told.receipt
            assert told.cost.epsilon == 0, "it was paid for once"
            assert not any(future.done() for future in long)
        finally:
            goes_on.set()
    assert gate._turns._waiting == {}
    assert not gate._running._taken


def test_who_waits_for_a_turn_stops_when_it_is_cancelled():
    turns, leaves = QueryLocks(), CancelScope("ana")

    def wait():
        with leaves.held(), turns.of("q"):
            raise AssertionError("this turn was taken")

    with ThreadPoolExecutor(1) as pool, turns.of("q"):
        waits = pool.submit(wait)
        leaves.cancel(cancelled("user request"))
        with pytest.raises(SfumatoError, match="user request"):
            waits.result(60)
    assert turns._waiting == {}


def test_a_question_that_failed_does_not_keep_others_waiting(gate, monkeypatch):
    def broken(engine, asked, known):
        raise RuntimeError

    monkeypatch.setattr(corridor, "draw", broken)
    with pytest.raises(EngineError):
        gate.sql(COUNT, analyst="ana")
    monkeypatch.undo()
    assert gate.sql(COUNT, analyst="ana").cost.epsilon == Fraction(1, 10)


ASKED = [
    COUNT,
    "SELECT COUNT(*), SUM(cost), AVG(cost), VAR_POP(cost) FROM visit",
    "SELECT city, SUM(cost), COUNT(DISTINCT patient_ssn), MEDIAN(cost) FROM visit GROUP BY ROLLUP (city)",
    "SELECT note, COUNT(*), COUNT(DISTINCT day) FROM visit GROUP BY note",
    "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) FROM visit GROUP BY day",
    "SELECT SUM(cost) FROM visit WHERE city = 'Paris'",
    "SELECT COUNT(*) FILTER (WHERE age > 40), COUNT(*) FILTER (WHERE age < 30) FROM patient",
]
OPTIONS = [
    (1, None, None),
    (Fraction(1, 7), None, None),
    (1, 3, None),
    (1, None, "gaussian"),
    (2, 3, "gaussian"),
    (3, 1, None),
]


def parts_of(plan):
    known = [
        (cut.sources, cut.events, cut.notes, [replace(part, bundles=()) for part in cut.parts], repr(cut.parts))
        for cut in plan.cuts
    ]
    return plan.digest, plan.event, plan.notes, known


@pytest.mark.parametrize("sql", ASKED)
def test_a_plan_at_another_epsilon_is_the_plan_that_is_made_from_nothing(gate, sql):
    """Everything that is kept is kept by what it depends on: rows, noise and epsilon in any order change nothing."""

    def planned(epsilon, rows, noise):
        if rows is not None and rows > 1 and "patient" in sql and "visit" not in sql:
            rows = 1
        return plan_of(gate, sql, epsilon, rows=rows, noise=noise)

    warm = [parts_of(planned(*options)) for options in (*OPTIONS, *reversed(OPTIONS))]
    assert warm[: len(OPTIONS)] == warm[: len(OPTIONS) - 1 : -1]
    for options, found in zip(OPTIONS, warm, strict=False):
        gate._planner._questions = Recent(10**6)  # a question that is bound anew has nothing that was worked out before
        assert parts_of(planned(*options)) == found
    assert len({repr(found) for found in warm}) > 2
