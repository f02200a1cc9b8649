"""One gateway after another: calls finish where they began, later ones go on, and nobody meets a closed door."""

import threading
import time

import pytest

import sfumato
from sfumato.errors import LedgerError
from sfumato.gateway import enter, read_rows
from sfumato.ledger import Superseded
from sfumato.policy import load
from tests.end_to_end.served import write_small

COUNT = "SELECT COUNT(*) FROM visit"
RICH = ("epsilon = 100", "epsilon = 100000")


@pytest.fixture
def old(tmp_path):
    made = sfumato.open(write_small(tmp_path, people=50, changes=[RICH]))
    yield made
    made.close()


def slowly(gate):
    """Hold the engine until told otherwise."""
    run, began, go = gate._engine.run, threading.Event(), threading.Event()

    def held(*words):
        began.set()
        assert go.wait(60)
        return run(*words)

    gate._engine.run = held
    return began, go


def test_who_is_inside_finishes_and_later_calls_go_to_the_successor(old, tmp_path):
    began, go = slowly(old)
    heard = []
    inside = threading.Thread(target=lambda: heard.append(old.sql(COUNT, epsilon=100).rows))
    inside.start()
    assert began.wait(60)
    changes = [RICH, ('version = "one"', 'version = "two"')]
    new = enter(read_rows(load(write_small(tmp_path, people=80, changes=changes))))
    old.line.give_way(new)
    retired = threading.Thread(target=old.retire)
    retired.start()
    assert old.sql(COUNT, epsilon=100).rows == [(80,)]  # whoever still holds the old one
    assert old.budget().spent.epsilon == 200
    assert old.explain(COUNT).cost is not None
    assert heard == []
    assert retired.is_alive()
    go.set()
    inside.join(60)
    retired.join(60)
    assert heard == [[(50,)]]
    assert not retired.is_alive()
    with pytest.raises(LedgerError, match="closed"):
        old._ledger.budget(None)
    assert old.sql(COUNT, epsilon=100).rows == [(80,)]
    new.close()


def test_a_question_that_meets_a_changed_policy_waits_for_the_successor_that_was_announced(old, tmp_path):
    old.line.announce(True)
    path = write_small(tmp_path, people=50, changes=[("epsilon = 100", "epsilon = 200000")])
    new = enter(read_rows(load(path)))  # as another process does: the ledger has the new policy, `old` not yet
    heard = []
    asking = threading.Thread(target=lambda: heard.append(old.sql(COUNT, epsilon=100)))
    asking.start()
    time.sleep(0.2)
    assert heard == []
    old.line.give_way(new)
    asking.join(60)
    assert heard[0].rows == [(50,)]
    assert new.budget().spent.epsilon == 100  # asked twice, paid once
    new.close()


def test_without_a_successor_a_changed_policy_is_an_error_at_once(old, tmp_path):
    path = write_small(tmp_path, people=50, changes=[("epsilon = 100", "epsilon = 200000")])
    with enter(read_rows(load(path))) as new:
        with pytest.raises(Superseded, match="changed by another process"):
            old.sql(COUNT, epsilon=100)
        old.line.announce(True)
        heard = []

        def ask():
            try:
                old.sql(COUNT, epsilon=100)
            except Superseded as error:
                heard.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        time.sleep(0.1)
        assert heard == []
        old.line.announce(False)  # it does not come after all
        asking.join(60)
        assert len(heard) == 1
        assert new.budget().spent.epsilon == 0
