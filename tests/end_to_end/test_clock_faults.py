"""A clock that goes back: times in the chain do not, a version of the calendar does not come again, and it is said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace

import pytest
from tests.end_to_end.test_gateway_faults import POLICY
from tests.end_to_end.told import told_to_the_owner

from sfumato.accounting import Pure
from sfumato.errors import LedgerError
from sfumato.gateway import open_policy, opening
from sfumato.ledger import Ledger, Receipt

FIRST = datetime(2026, 3, 30, 12, tzinfo=UTC)
DAY = timedelta(days=1)
TERMS = {"data_id": "clinic", "composition": "pure", "epsilon": 4}
QUESTION = "SELECT city, COUNT(*) FROM visit GROUP BY city"
OTHER = "SELECT COUNT(*) FROM visit"


class Clock:
    """Says what it is told to say."""

    def __init__(self):
        self.now = FIRST

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(opening, "Ledger", SimpleNamespace(open=partial(Ledger.open, clock=clock)))
    return clock


def write_policy(folder, version):
    rows = "".join(f"p{i},{i},{'Paris' if i % 3 else 'Lyon'}\n" for i in range(90))
    (folder / "visit.csv").write_text(f"person,age,city\n{rows}", encoding="utf-8")
    policy = folder / "sfumato.toml"
    policy.write_text(POLICY.replace("[privacy]", f'version = "{version}"\n[privacy]'), encoding="utf-8")
    return policy


def ask(ledger, question):
    paid = ledger.debit("ada", Pure("0.1"), question=question, epsilon="0.1", version="1", text="")
    assert isinstance(paid, Receipt)
    return ledger.store(paid, question.encode())


def test_times_in_the_chain_never_go_back(tmp_path):
    clock = Clock()
    path = tmp_path / "clinic.ledger"
    with told_to_the_owner() as told:
        with Ledger.open(path, clock=clock, **TERMS) as ledger:
            ask(ledger, "one")
            clock.now -= DAY
            ask(ledger, "two")
            ledger.freeze("owner")
            ledger.verify()
        with Ledger.open(path, clock=clock, **TERMS | {"epsilon": 5}) as ledger:  # a policy entry, by an older clock
            ledger.thaw("owner")
            clock.now += 2 * DAY
            ask(ledger, "three")
            ledger.verify()
            entries = list(ledger.entries())
    times = [datetime.fromisoformat(entry.time) for entry in entries]
    assert times == [FIRST] * (len(entries) - 2) + [FIRST + DAY] * 2
    behind = [
        entry.kind for entry in entries if entry.body.get("clock") == (FIRST - DAY).isoformat("T", "microseconds")
    ]
    assert behind == ["debit", "answer", "frozen", "policy", "thawed"]
    assert sum("clock" in entry.body for entry in entries) == len(behind)
    assert len(told) == 2, "once for each time that it was opened"
    assert all(line.startswith("the clock went back. It says 2026-03-29T12:00") for line in told)


@pytest.mark.parametrize("again", [False, True])
def test_a_version_of_the_calendar_does_not_come_again(tmp_path, clock, again):
    """What was charged to cells, and stored, belongs to the rows of its day; another day's rows must not join them."""
    policy = write_policy(tmp_path, "daily")
    gate = open_policy(policy)
    first = gate.sql(QUESTION)
    clock.now += DAY
    second = gate.sql(QUESTION)
    assert first.receipt != second.receipt
    clock.now -= DAY
    with Ledger.visit(tmp_path / "clinic.ledger", clock=clock) as ledger:
        ledger.freeze("owner")  # an entry that is written by the wrong clock hides nothing
        ledger.thaw("owner")
    if again:  # a new process knows it too
        gate.close()
        gate = open_policy(policy)
    with gate:
        spent = gate.budget().spent
        for sql in (QUESTION, OTHER):
            with pytest.raises(LedgerError, match="the clock went back") as refused:
                gate.sql(sql)
            assert refused.value.detail == "It gives version 2026-03-30, but the ledger is already at 2026-03-31."
        assert gate.budget().spent == spent
        clock.now += DAY + timedelta(hours=1)
        assert gate.sql(QUESTION).receipt == second.receipt
        assert gate.sql(OTHER).cost.epsilon > 0
    with Ledger.visit(tmp_path / "clinic.ledger") as ledger:
        ledger.verify()
        versions = [entry.body["version"] for entry in ledger.entries() if entry.kind == "debit"]
    assert versions == sorted(versions) == ["2026-03-30", "2026-03-31", "2026-03-31"]


def test_a_clock_within_the_same_version_does_no_harm(tmp_path, clock):
    with open_policy(write_policy(tmp_path, "monthly")) as gate:
        first = gate.sql(QUESTION)
        clock.now -= DAY
        again = gate.sql(QUESTION)
        assert (again.receipt, again.rows, again.cost.epsilon) == (first.receipt, first.rows, 0)
        assert gate.sql(OTHER).cost.epsilon > 0
        clock.now -= 31 * DAY
        with pytest.raises(LedgerError, match="the clock went back"):
            gate.sql(QUESTION)


def test_a_clock_that_was_ahead_ends_when_the_owner_names_the_version(tmp_path, clock):
    clock.now = FIRST + 10_000 * DAY
    policy = write_policy(tmp_path, "daily")
    with open_policy(policy) as gate:
        gate.sql(QUESTION)
        clock.now = FIRST
        with pytest.raises(LedgerError, match="the clock went back") as refused:
            gate.sql(QUESTION)
        assert "name the version in the policy" in refused.value.hint
    with open_policy(write_policy(tmp_path, "after the repair")) as gate:
        assert gate.sql(QUESTION).cost.epsilon > 0
    with Ledger.visit(tmp_path / "clinic.ledger") as ledger:
        ledger.verify()
