"""Intervals of quantiles: how far one person moves a margin, the exact law of neighbours, and what the ends hold."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.mechanisms import OrderStatistic, RankInterval
from sfumato.mechanisms.rank_interval import rungs
from sfumato.types import Adjacency, Exact

F = Fraction
LOW, HIGH = 0, 6
ROWS = st.lists(st.tuples(st.integers(LOW, HIGH), st.integers(1, 3)), max_size=6)
FRACTIONS = (F(0), F(1, 4), F(1, 2), F(9, 10), F(1))


def heap(rows: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    held: dict[int, int] = {}
    for place, weight in rows:
        held[place] = held.get(place, 0) + weight
    places = sorted(held)
    return places, [held[place] for place in places]


def quantiles(rows: list[int], q: Fraction) -> tuple[Fraction, Fraction]:
    """PERCENTILE_DISC and PERCENTILE_CONT of rows that count whole, from their definitions."""
    rows = sorted(rows)
    place = q * (len(rows) - 1)
    below, part = int(place), place - int(place)
    between = rows[below] + (part * (rows[below + 1] - rows[below]) if part else 0)
    return F(rows[max(0, math.ceil(q * len(rows)) - 1)]), F(between)


def test_a_ladder_doubles_in_two_rungs() -> None:
    assert rungs(0, 100, 30) == [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 70]
    assert rungs(0, 100, 0)[-2:] == [96, 100]
    assert rungs(5, 5, 5) == [0]
    assert rungs(0, 2, 1) == [0, 1]
    for low, high in ((0, 1), (-7, 9), (0, 1000)):
        for centre in range(low, high + 1):
            ladder = rungs(low, high, centre)
            assert ladder == sorted(set(ladder))
            assert ladder[-1] == max(centre - low, high - centre)


@pytest.mark.parametrize("q", FRACTIONS)
@given(others=ROWS, mine=ROWS, instead=ROWS, centre=st.integers(LOW, HIGH))
@settings(max_examples=120, deadline=None, database=None, derandomize=True)
def test_no_margin_moves_by_more_than_the_claim(
    q: Fraction,
    others: list[tuple[int, int]],
    mine: list[tuple[int, int]],
    instead: list[tuple[int, int]],
    centre: int,
) -> None:
    norm = max(1, sum(w for _, w in mine), sum(w for _, w in instead))
    for adjacency, one, two in (
        (Adjacency.ADD_REMOVE, others + mine, others),
        (Adjacency.REPLACE, others + mine, others + instead),
    ):
        law = RankInterval(q, norm, 4, adjacency)
        scores = [law.scores(*heap(rows), LOW, HIGH, centre) for rows in (one, two)]
        moved = max(abs(a - b) for a, b in zip(*scores, strict=True))
        assert F(moved, q.denominator) <= law.sensitivity


def test_scores_are_those_of_the_definition() -> None:
    """Rung by rung, from all rows one by one."""
    chance = random.Random(2)
    for _ in range(200):
        q, high = chance.choice(FRACTIONS), chance.choice((1, 5, 17))
        rows = sorted(chance.randint(0, high) for _ in range(chance.randint(0, 40)))
        law, centre, before = RankInterval(q, 1, 8), chance.randint(0, high), -math.inf
        found = law.scores(*heap([(row, 1) for row in rows]), 0, high, centre)
        for score, distance in zip(found, rungs(0, high, centre), strict=True):
            left, right = centre - distance, centre + distance
            below = math.inf if left <= 0 else q * len(rows) - sum(row < left for row in rows)
            above = math.inf if right >= high else sum(row <= right for row in rows) - q * len(rows)
            margin = min(below, above)
            assert score == q.denominator * max(0, law.enough - margin, before - law.enough)
            before = margin


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_neighbours_choose_rungs_within_epsilon(adjacency: Adjacency) -> None:
    """All small heaps and all of their neighbours: the exact law of the rung, given any centre; and epsilon is met."""
    worst = 0.0
    for q, epsilon, norm in ((F(1, 2), F(2), 1), (F(1, 4), F(1), 1), (F(1, 2), F(2), 2)):
        law = RankInterval(q, norm, epsilon, adjacency)
        for held in product(range(3), repeat=4):
            base = [(place, weight) for place, weight in enumerate(held) if weight]
            for centre in range(4):
                here = chances(law, base, centre)
                for place in range(4):
                    one = chances(law, [*base, (place, norm)], centre)
                    pairs = [(here, one)]
                    if adjacency is Adjacency.REPLACE:
                        pairs = [(one, chances(law, [*base, (other, norm)], centre)) for other in range(place)]
                    for first, second in pairs:
                        worst = max(
                            worst, *(abs(math.log(a / b)) / epsilon for a, b in zip(first, second, strict=True))
                        )
    assert 0.3 < worst <= 1 + 1e-12


def chances(law: RankInterval, rows: list[tuple[int, int]], centre: int) -> list[float]:
    return [float(mass) for mass in law.mass(*heap(rows), 0, 3, centre)]


@pytest.mark.parametrize("confidence", [F(1, 2), F(95, 100), F(99, 100)])
def test_rank_intervals_hold_the_quantile(confidence: Fraction) -> None:
    """Whatever the rows and the centre are, and the worst of them come near to what is allowed."""
    chance, most = random.Random(11), 0.0
    for case in range(260):
        high = chance.choice((3, 12, 60))
        rows = [chance.randint(0, high) for _ in range(chance.choice((1, 2, 7, 60)))]
        if case % 4 == 0:  # all rows far from the centre: every rung before them is too short
            rows = [high] * chance.choice((6, 7, 8, 20))
        q, epsilon = chance.choice(FRACTIONS), chance.choice((F(1, 4), F(1), F(3)))
        law = RankInterval(q, 1, epsilon, chance.choice(list(Adjacency)))
        centre = 0 if case % 4 == 0 else chance.randint(0, high)
        masses = [float(mass) for mass in law.mass(*heap([(row, 1) for row in rows]), 0, high, centre)]
        for truth in quantiles(rows, q):
            ends = [law.ends(0, high, centre, rung, confidence) for rung in range(len(masses))]
            missed = sum(mass for mass, (a, b) in zip(masses, ends, strict=True) if not a <= truth <= b)
            assert missed <= float(1 - confidence)
            most = max(most, missed)
    assert most > float(min(1 - confidence, F(1, 20))) / 8


def test_whole_rows_may_weigh_much() -> None:
    """Where rows are weighed in small steps, the row between which a quantile lies is as heavy as they say."""
    law = RankInterval(F(1, 2), 1000, 100, row=1000)
    assert law.enough == 1000 + math.ceil(math.log(20) * 10)
    assert law.ends(0, 100, 50, 3) == (47, 53)
    assert law.ends(0, 100, 50, 3, F(975, 1000)) == (46, 54)
    assert law.ends(0, 100, 50, 3, F(9999, 10000)) == (0, 100)


def test_draws_have_their_law() -> None:
    law, places, weights = RankInterval(F(1, 2), 1, 1), [2, 5, 9], [3, 8, 4]
    masses = [float(mass) for mass in law.mass(places, weights, 0, 40, 6)]
    count = 4000
    drawn = law.release(places, Exact(weights), 0, 40, 6, count=count).tolist()
    for rung, mass in enumerate(masses):
        sd = math.sqrt(count * mass * (1 - mass))
        assert abs(drawn.count(rung) - count * mass) <= 5 * sd + 3


@pytest.mark.parametrize("end", ["low", "high"])
def test_an_end_has_a_row_or_says_nothing(end: str) -> None:
    """Also of no row, and of fewer than are looked for."""
    chance, most = random.Random(5), 0.0
    for _ in range(150):
        high = chance.choice((1, 5, 400))
        rows = [(chance.randint(0, high), chance.choice((1, 5, 30))) for _ in range(chance.choice((0, 1, 2, 9)))]
        law = OrderStatistic(None, 1, chance.choice((F(1, 2), F(2))), chance.choice(list(Adjacency)), end)
        nothing = high if end == "low" else 0
        missed = 0.0
        for first, count, mass in law.mass(*heap(rows), 0, high):
            for value in range(first, first + count):
                there = any(place <= value if end == "low" else place >= value for place, _ in rows)
                missed += 0.0 if there or value == nothing else float(mass) / count
        assert missed <= 1e-4
        most = max(most, missed)
    assert most > 1e-6
