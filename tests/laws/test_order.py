"""Ranks: no score moves by more than is claimed, whoever comes, goes or changes; the choice follows the score."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.mechanisms.order import MostFrequent, OrderStatistic
from sfumato.types import Adjacency, Exact

LOW, HIGH = 0, 4
ROWS = st.lists(st.tuples(st.integers(LOW, HIGH), st.integers(1, 3)), max_size=6)
LAWS = [
    *(OrderStatistic(q, 1, 1) for q in (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), Fraction(1))),
    OrderStatistic(None, 1, 1, from_end="low"),
    OrderStatistic(None, 1, 1, from_end="high"),
]


def weights(rows: list[tuple[int, int]]) -> list[int]:
    held = [0] * (HIGH - LOW + 1)
    for place, weight in rows:
        held[place] += weight
    return held


def scores(law: OrderStatistic, held: list[int]) -> list[Fraction]:
    """The score of every candidate, by the law's own rule, in units of weight."""
    below = [sum(held[:place]) for place in range(len(held))]
    scale = 1 if law.fraction is None else law.fraction.denominator
    return [Fraction(score, scale) for score in law.scores(below, held, len(held))]


@pytest.mark.parametrize("law", LAWS, ids=str)
@given(others=ROWS, mine=ROWS, instead=ROWS)
@settings(max_examples=200, deadline=None, database=None, derandomize=True)
def test_no_score_of_a_rank_moves_by_more_than_the_claim(
    law: OrderStatistic, others: list[tuple[int, int]], mine: list[tuple[int, int]], instead: list[tuple[int, int]]
) -> None:
    norm = max(1, sum(w for _, w in mine), sum(w for _, w in instead))
    with_me, without = scores(law, weights(others + mine)), scores(law, weights(others))
    claim = OrderStatistic(law.fraction, norm, 1, Adjacency.ADD_REMOVE, law.from_end).sensitivity
    assert all(abs(a - b) <= claim for a, b in zip(with_me, without, strict=True))
    changed = scores(law, weights(others + instead))
    claim = OrderStatistic(law.fraction, norm, 1, Adjacency.REPLACE, law.from_end).sensitivity
    assert all(abs(a - b) <= claim for a, b in zip(with_me, changed, strict=True))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_claim_is_met(law: OrderStatistic) -> None:
    """Somebody moves a score by exactly what is claimed: it could not be smaller."""
    worst: dict[Adjacency, Fraction] = dict.fromkeys(Adjacency, Fraction(0))
    for held in product(range(40, 43), repeat=3):
        for place in range(3):
            one = [h + (i == place) for i, h in enumerate(held)]
            base, more = scores(law, [*held, 0, 0]), scores(law, [*one, 0, 0])
            worst[Adjacency.ADD_REMOVE] = max(
                worst[Adjacency.ADD_REMOVE], *(abs(a - b) for a, b in zip(base, more, strict=True))
            )
            for other in range(3):
                two = [h + (i == other) for i, h in enumerate(held)]
                changed = scores(law, [*two, 0, 0])
                worst[Adjacency.REPLACE] = max(
                    worst[Adjacency.REPLACE], *(abs(a - b) for a, b in zip(more, changed, strict=True))
                )
    for adjacency, found in worst.items():
        claim = OrderStatistic(law.fraction, 1, 1, adjacency, law.from_end).sensitivity
        assert found == claim or law.fraction in (0, 1), (adjacency, found, claim)


@given(rows=ROWS)
@settings(max_examples=100, deadline=None, database=None, derandomize=True)
def test_a_huge_epsilon_gives_the_plain_answer(rows: list[tuple[int, int]]) -> None:
    held = weights(rows)
    places = [place for place, weight in enumerate(held) if weight]
    if not places:
        return
    row = [place for place, weight in enumerate(held) for _ in range(weight)]
    sealed = Exact([held[place] for place in places])
    assert OrderStatistic(None, 1, 10**6, from_end="low").release(places, sealed, LOW, HIGH) == min(row)
    assert OrderStatistic(None, 1, 10**6, from_end="high").release(places, sealed, LOW, HIGH) == max(row)
    middle = OrderStatistic(Fraction(1, 2), 1, 10**6).release(places, sealed, LOW, HIGH)
    assert row[(len(row) - 1) // 2] <= middle <= row[len(row) // 2]
    assert held[MostFrequent(Fraction(1), Fraction(10**6)).release(places, sealed, LOW, HIGH)] == max(held)
