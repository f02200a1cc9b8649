"""What is run for a question keeps its price: on small extreme tables and on their neighbours, by the plans of each."""

from __future__ import annotations

import os
import random
from fractions import Fraction
from typing import Any

import pytest

from tests.laws import twins
from tests.laws.mutants import planted
from tests.laws.neighbours import Broken

EACH = 40
"""Questions of one world: engines cost more than questions."""


def check(seed: int) -> list[Fraction]:
    r = random.Random(seed)
    world = twins.twins(r)
    return list(twins.check(world, [(twins.question(r), r.choice([None, None, "gaussian"])) for _ in range(EACH)]))


def test_what_is_run_keeps_its_price() -> None:
    """A few worlds; some of their questions are met with equality, so that the check can fail."""
    found = [part for seed in (0, 5) for part in check(seed)]
    assert len(found) > EACH
    assert max(found) == 1


@pytest.mark.slow
def test_what_is_run_keeps_its_price_on_many_questions() -> None:
    """The same for two hundred worlds, or as many as SFUMATO_SEEDS says."""
    for seed in range(int(os.environ.get("SFUMATO_SEEDS", "200"))):
        check(seed)


def row(who: int, **values: Any) -> dict[str, Any]:
    return {"u": who, "s": None, "o": None, "i": 0, "m": 0.0, "f": None, **values}


ALONE = twins.Twins(
    twins.policy("replace", 2),
    {1: {"p": [row(1, s="a", f=float(twins.FAR))], "v": []}},
    {1: {"p": [row(1, s="b", i=4)], "v": []}},
    [{"g": twins.FAR, "n": "a"}, {"g": twins.FAR + 1, "n": "b"}],
)
"""One person with one row in p, who meets two public rows that are one double; and who might have had another."""
APART = "SELECT COUNT(*) FILTER (WHERE p.s = 'a'), COUNT(*) FILTER (WHERE p.s = 'b'), MEDIAN(p.i) FROM p"
FAULTS = {
    "filters that share a price are paid for alone": (
        APART,
        ("cut", "single = self.together ==", "single = self.entries =="),
    ),
    "a double meets what it equals once": (
        "SELECT COUNT(*) FROM p JOIN y ON p.f = y.g",
        ("joins", 'call("cast", (mine,), DOUBLE) if lossy else mine', "mine"),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_what_is_run_are_caught(fault: str) -> None:
    """Each fault breaks the price on the question that is named; without it the question keeps it."""
    text, *faults = FAULTS[fault]
    list(twins.check(ALONE, [(text, None)]))
    with planted(*faults) as faulty, pytest.raises(Broken, match="a neighbour shows"):
        list(twins.check(ALONE, [(text, None)], faulty))
