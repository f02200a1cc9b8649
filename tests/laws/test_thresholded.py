"""Counts that are shown from a threshold on: their joint law with one person and without, and intervals given it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest

from sfumato.mechanisms import ThresholdedCounts
from sfumato.types import Adjacency

F = Fraction
LAWS = [
    ThresholdedCounts(norm, epsilon, delta, keys, adjacency)
    for norm, epsilon, delta, keys in (
        (1, 1, F(1, 100), 1),
        (2, 1, F(1, 20), 2),
        (3, F(1, 2), F(1, 5), 3),
        (3, 2, F(1, 1000), 2),
        (2, 1, F(9, 10), 2),
    )
    for adjacency in Adjacency
]
Law = dict[tuple[object, ...], float]


def mass(law: ThresholdedCounts, z: int) -> float:
    """The noise, by its formula in doubles."""
    r = math.exp(-1 / law.scale)
    return (1 - r) / (1 + r) * math.exp(-abs(z) / law.scale)


def tail(law: ThresholdedCounts, t: int) -> float:
    """P(Z >= t)."""
    r = math.exp(-1 / law.scale)
    return math.exp(-t / law.scale) / (1 + r) if t > 0 else 1 - math.exp((t - 1) / law.scale) / (1 + r)


def chance(law: ThresholdedCounts, count: int) -> float:
    """How likely a key with this count is shown."""
    return tail(law, law.threshold - count)


def one_key(law: ThresholdedCounts, count: int | None) -> dict[object, float]:
    """The law of what is told of a key: its number, or None; a key of nobody is never shown."""
    if count is None:
        return {None: 1.0}
    reach = law.threshold + int(14 * law.scale) + 20
    shown = {y: mass(law, y - count) for y in range(law.threshold, reach)}
    return {**shown, None: 1 - chance(law, count)}


def together(law: ThresholdedCounts, counts: list[int | None]) -> Law:
    """Keys are independent."""
    keys = [one_key(law, count) for count in counts]
    return {told: math.prod(key[o] for key, o in zip(keys, told, strict=True)) for told in product(*keys)}


def delta(one: Law, other: Law, epsilon: Fraction) -> float:
    """The largest P(S) - e^epsilon P'(S)."""
    grown = math.exp(epsilon)
    return math.fsum(max(0.0, p - grown * other.get(o, 0.0)) for o, p in one.items())


def splits(norm: int, keys: int) -> Iterator[tuple[int, ...]]:
    """All counts of one person."""
    return (split for split in product(range(norm + 1), repeat=keys) if sum(split) <= norm)


@pytest.mark.parametrize("law", LAWS)
def test_one_persons_keys_are_rarely_shown(law: ThresholdedCounts) -> None:
    """Whatever her counts are, some key of hers alone is shown with at most delta; one step lower would not do."""
    sides = 2 if law.adjacency is Adjacency.REPLACE else 1
    worst = max(sum(chance(law, count) for count in split) for split in splits(int(law.norm), law.keys_per_unit))
    assert sides * worst <= float(law.delta) * (1 + 1e-12)
    if law.threshold > law.norm:
        r = math.exp(-1 / law.scale)
        assert sides * worst / r > float(law.delta)


@pytest.mark.parametrize("law", [law for law in LAWS if law.keys_per_unit > 1])
def test_shown_counts_are_private(law: ThresholdedCounts) -> None:
    """A key that others have and one that is hers alone: the whole joint law, in both directions, exactly."""
    others = law.threshold - 1
    assert float(law.mass(others)) == pytest.approx(chance(law, others), rel=1e-12)
    for hers, alone in splits(int(law.norm), 2):
        with_her = together(law, [others + hers, alone, None])
        sides = [together(law, [others, None, None])]
        if law.adjacency is Adjacency.REPLACE:
            sides = [together(law, [others + int(law.norm) - b, None, b]) for b in (0, int(law.norm))]
        for other in sides:
            assert delta(with_her, other, law.epsilon) <= float(law.delta) + 1e-6
            assert delta(other, with_her, law.epsilon) <= float(law.delta) + 1e-6


def test_a_threshold_for_one_count_of_one_would_not_do() -> None:
    """What is easily forgotten: she may add all of her norm to one key, and be under others beside it."""
    law = ThresholdedCounts(5, 1, F(1, 1000), 5)
    too_low = ThresholdedCounts(1, F(1, 5), F(1, 1000), 1)
    assert too_low.scale == law.scale
    assert too_low.threshold < law.threshold
    assert tail(law, too_low.threshold - 5) > 1 / 1000


@pytest.mark.parametrize("confidence", [F(1, 2), F(95, 100), F(999, 1000)])
@pytest.mark.parametrize(
    "law",
    [
        ThresholdedCounts(1, 1, F(1, 1000)),
        ThresholdedCounts(20, 2, F(1, 100), 4),
        ThresholdedCounts(3, F(1, 4), F(1, 5), 3),
    ],
)
def test_intervals_of_shown_counts_hold_given_that_they_are_shown(law: ThresholdedCounts, confidence: Fraction) -> None:
    """For every count: of the answers in which its key is shown, at least so many have an interval that holds it."""
    reach = law.threshold + int(45 * law.scale) + 40
    ends = {y: law.interval(y, confidence) for y in range(law.threshold, reach)}
    for count in range(0, law.threshold + int(8 * law.scale), max(1, int(law.scale) // 5)):
        told = {y: mass(law, y - count) for y in ends}
        holds = math.fsum(p for y, p in told.items() if ends[y][0] <= count <= ends[y][1])
        assert holds / chance(law, count) >= float(confidence) - 1e-9


def test_far_from_the_threshold_it_is_the_plain_interval() -> None:
    law = ThresholdedCounts(20, 1, "1e-6", 5)
    low, high = law.interval(10**5)
    plain = law.noise.interval()
    assert abs(low - 10**5 - plain[0]) <= 2
    assert abs(high - 10**5 - plain[1]) <= 2
    assert law.interval(law.threshold)[0] == 0
    assert law.interval(law.threshold + 30)[0] == 0


def test_draws_follow_the_law() -> None:
    """20,000 draws of each: a frequency is more than six standard errors off with a chance below 1e-8."""
    law = ThresholdedCounts(2, 1, F(1, 50), 2)
    for count in (0, 2, law.threshold - 1, law.threshold, law.threshold + 3):
        told = law.release([count] * 20_000)
        expected = float(law.mass(count))
        shown = sum(number is not None for number in told)
        assert abs(shown - 20_000 * expected) <= 6 * math.sqrt(20_000 * expected * (1 - expected)) + 6
        assert all(number >= law.threshold for number in told if number is not None)
