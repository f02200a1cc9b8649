"""Steps of a search: counted, limited, and the same every time."""

import pytest

from sfumato.verify import advice, effort
from sfumato.verify.effort import LOOK, MORE, PROOF, EffortSpent, is_spent, limited, spend
from sfumato.verify.parse import read_program
from sfumato.verify.undecided import settle
from sfumato.verify.verdict import verify

COINS = """P(c : private int) : public int adjacent one; claim ln 2;
 n := 0; m := 0; b :=$ Bernoulli(1/2);
 while (b = 1) { n := n + 2; b :=$ Bernoulli(1/2) }
 b :=$ Bernoulli(1/2);
 while (b = 1) { m := m + 2; b :=$ Bernoulli(1/2) }
 u :=$ Uniform(0..1);
 return c + n - m + u
"""
OVERRUN = 300_000
"""What the last thing that a search begins may cost beyond its limit."""


def test_steps_are_counted_inside_and_outside():
    spend(10**9)  # nothing is limited here
    with limited(100):
        spend(60)
        with limited(1000):  # no more than are left outside
            spend(30)
            with pytest.raises(EffortSpent):
                spend(20)
            assert is_spent()
        with pytest.raises(EffortSpent):
            spend(1)
    assert not is_spent()


def test_what_was_not_spent_inside_is_left_outside():
    with limited(100):
        with limited(50):
            spend(10)
        spend(90)
        with pytest.raises(EffortSpent):
            spend(1)


def used(text):
    with limited(10**9):
        tree = read_program(text)
        found = settle(tree, verify(tree))
        return found, 10**9 - effort._left.get()[0]


def test_an_unknown_ends_after_its_steps():
    found, steps = used(COINS)
    assert (found.verdict, found.note) == ("UNKNOWN", advice.NO_COUPLING[0])
    assert steps <= PROOF + LOOK + LOOK // 3 + 7 * MORE + OVERRUN


@pytest.mark.slow
def test_an_unknown_always_ends_at_the_same_step():
    assert used(COINS) == used(COINS)
