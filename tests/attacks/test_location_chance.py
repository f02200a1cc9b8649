"""How likely a guesser hits as often: the same as in whole numbers, and for many trials."""

from fractions import Fraction
from math import comb

import pytest

from sfumato.attacks.location import Accusation


@pytest.mark.parametrize(("trials", "identified", "candidates"), [(5, 2, 3), (40, 0, 7), (200, 9, 441), (3, 3, 1)])
def test_by_chance_is_the_tail_of_a_binomial(trials, identified, candidates):
    p = Fraction(1, candidates)
    tail = sum(comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(identified, trials + 1))
    assert Accusation(trials, identified, candidates).by_chance == pytest.approx(float(tail), rel=1e-9)


def test_many_trials_do_not_overflow():
    assert 0.4 < Accusation(100_000, 227, 441).by_chance < 0.6
    assert Accusation(100_000, 100_000, 441).by_chance == 0
