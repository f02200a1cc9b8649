"""The model of charge, crash, retry and hand-over, walked through every interleaving; and what it finds when it is
broken, line by line.
"""

from functools import cache

import pytest

from sfumato.ledger.steps import NEXT, Step, StepReply, StepResult
from tests.laws.ledger_model import Rules, explore

SCENES = {
    "the same question": Rules(NEXT),
    "two questions, a budget for one": Rules(NEXT, questions=("q", "r")),
    "two questions, a budget for both": Rules(NEXT, questions=("q", "r"), budget=2, most=1),
    "another server with an older ledger": Rules(NEXT, questions=("q", "r"), restore="another server"),
    "one gateway, an older ledger": Rules(NEXT, ("q",), budget=2, restore="same server", most=3, returns=True),
}


@cache
def explored(scene):
    """What is found with the table as it is."""
    return explore(SCENES[scene])


@pytest.mark.parametrize("scene", SCENES)
def test_every_interleaving_keeps_the_promise(scene):
    broken, _ = explored(scene)
    assert broken is None


def test_all_lines_are_walked():
    walked = set().union(*(explored(scene)[1] for scene in SCENES))
    not_walked = set(NEXT) - walked
    # A server does not say of work and commits that it is another one: its lock said so. A disk has no lock.
    assert not_walked == {
        (Step.WORK, StepResult.BUSY), (Step.WORK, StepResult.OLDER),
        (Step.COMMIT, StepResult.BUSY), (Step.COMMIT, StepResult.OLDER),
        (Step.NOTE, StepResult.BUSY), (Step.NOTE, StepResult.LOST), (Step.NOTE, StepResult.OLDER),
    }  # fmt: skip


WRONG = {
    (Step.BEGIN, StepResult.DONE): Step.COMMIT,
    (Step.BEGIN, StepResult.BUSY): StepReply.RESULTS,
    (Step.BEGIN, StepResult.LOST): StepReply.RESULTS,
    (Step.BEGIN, StepResult.OLDER): Step.WORK,
    (Step.BEGIN, StepResult.WRONG): StepReply.RESULTS,
    (Step.WORK, StepResult.DONE): StepReply.RESULTS,
    (Step.WORK, StepResult.LOST): StepReply.RESULTS,
    (Step.WORK, StepResult.WRONG): StepReply.RESULTS,
    (Step.COMMIT, StepResult.DONE): StepReply.NOTHING,
    (Step.COMMIT, StepResult.LOST): StepReply.NOTHING,
    (Step.COMMIT, StepResult.WRONG): Step.NOTE,
    (Step.LOOK, StepResult.DONE): StepReply.NOTHING,
    (Step.LOOK, StepResult.ABSENT): Step.NOTE,
    (Step.LOOK, StepResult.BUSY): StepReply.NOTHING,
    (Step.LOOK, StepResult.LOST): StepReply.NOTHING,
    (Step.LOOK, StepResult.OLDER): Step.NOTE,
    (Step.LOOK, StepResult.WRONG): StepReply.NOTHING,
    (Step.NOTE, StepResult.DONE): StepReply.NOTHING,
    (Step.NOTE, StepResult.WRONG): StepReply.RESULTS,
}
"""For each line that is walked, one way to get it wrong."""

MORE = [
    ((Step.COMMIT, StepResult.LOST), StepReply.RESULTS),
    ((Step.COMMIT, StepResult.LOST), Step.NOTE),
    ((Step.COMMIT, StepResult.DONE), StepReply.RESULTS),  # nothing is noted: a killed gateway takes an older ledger
    ((Step.LOOK, StepResult.DONE), StepReply.RESULTS),
    ((Step.LOOK, StepResult.LOST), StepReply.RESULTS),
    ((Step.LOOK, StepResult.BUSY), StepReply.RESULTS),
    ((Step.BEGIN, StepResult.OLDER), StepReply.RESULTS),
]


@pytest.mark.parametrize(("line", "wrong"), [*WRONG.items(), *MORE], ids=str)
def test_each_line_of_the_table_is_needed(line, wrong):
    found = (explore(rules._replace(table=NEXT | {line: wrong}))[0] for rules in reversed(SCENES.values()))
    assert any(found), f"nothing noticed that {line} leads to {wrong}"


def test_every_line_that_is_walked_is_broken_once():
    walked = set().union(*(explored(scene)[1] for scene in SCENES))
    assert walked == set(WRONG)


def test_a_commit_in_doubt_is_looked_for_under_the_lock():
    """Else it may arrive after it was said not to be there."""
    broken, _ = explore(SCENES["the same question"]._replace(look_needs_lock=False))
    assert broken == "what was said not to be written is written"
