"""Many releases at once: each has the exact law of one, and no release tells anything about another."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sfumato.mechanisms import (
    Exponential,
    Geometric,
    NoisyMax,
    PermuteAndFlip,
    PrefixSums,
    RankedChoice,
    SparseVector,
    Staircase,
)
from tests.laws.test_sparse import transcript_mass

F = Fraction
N = 100_000
ALARM = 1e-9
SCORES = [3, 1, 2, 3]


def fits(outcomes: list[Any], law: dict[Any, float]) -> float:
    """Against the exact masses of some outcomes, all others being one more cell."""
    seen = Counter(outcomes)
    counts = [seen[outcome] for outcome in law]
    wanted = [mass * len(outcomes) for mass in law.values()]
    counts.append(len(outcomes) - sum(counts))
    wanted.append(len(outcomes) - sum(wanted))
    if wanted[-1] < 1e-6 * len(outcomes):
        assert counts[-1] == 0
        counts, wanted = counts[:-1], wanted[:-1]
    return float(stats.chisquare(counts, np.array(wanted) * sum(counts) / sum(wanted)).pvalue)


def apart(outcomes: list[Any]) -> float:
    """Whether each release is independent of the next one: a table of pairs of the commonest outcomes."""
    common = [outcome for outcome, _ in Counter(outcomes).most_common(4)]
    table = Counter(zip(outcomes[::2], outcomes[1::2], strict=False))
    return float(stats.chi2_contingency([[table[a, b] + 1 for a in common] for b in common]).pvalue)


CHOICES = {
    "Exponential": Exponential(1, F(3, 2)),
    "PermuteAndFlip": PermuteAndFlip(1, F(3, 2)),
    "NoisyMax": NoisyMax(1, F(3, 2)),
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices_at_once_have_the_law_of_one(name: str) -> None:
    mechanism: Any = CHOICES[name]
    draws = mechanism.release(SCORES, count=N).tolist()
    law = {i: float(mechanism.mass(i, SCORES)) for i in range(4)}
    assert fits(draws, law) > ALARM
    assert apart(draws) > ALARM
    assert fits(draws, {i: float(mechanism.mass(i, [3, 1, 2, 2])) for i in range(4)}) < 1e-6  # another law is told
    singly = [mechanism.release(SCORES) for _ in range(1500)]
    assert all(type(draw) is int for draw in singly)
    assert fits(singly, law) > ALARM


def test_gaps_at_once_are_those_of_one() -> None:
    """Index and gap of two scores: their difference has the law of two noises, so every pair has an exact mass."""
    mechanism = NoisyMax(1, 2)
    noise = Geometric(1, 1 / mechanism.scale)
    mass = {z: float(noise.mass(z)) for z in range(-60, 61)}
    difference = {d: sum(mass[z] * mass.get(z - d, 0.0) for z in mass) for d in range(-9, 10)}  # first less second
    law = {(0, g): difference[g - 1] for g in range(9)} | {(1, g): difference[-g - 2] for g in range(8)}
    index, gap = mechanism.release_with_gap([5, 4], N)
    assert fits(list(zip(index.tolist(), gap.tolist(), strict=True)), law) > ALARM
    wide = NoisyMax(1, 2).release_with_gap([2**63 - 1, -(2**63)], 5)
    assert all(2**63 < g < 2**65 for g in wide[1].tolist())  # no difference wraps
    assert NoisyMax(1, 2).release_with_gap([7]) == (0, 0)


def test_ranked_choices_at_once_have_the_law_of_one() -> None:
    mechanism = RankedChoice(1, F(3, 2))
    scores, lengths = [0, 4, 1, 1], [1, 30, 2, 5]
    draws = mechanism.release(scores, lengths, N).tolist()
    law = dict(enumerate(map(float, mechanism.mass(scores, lengths))))
    assert fits(draws, law) > ALARM
    assert apart(draws) > ALARM
    assert fits(draws, dict(enumerate(map(float, mechanism.mass(scores))))) < 1e-6


def test_stairs_at_once_have_the_law_of_one() -> None:
    mechanism = Staircase(4, F(3, 2), tread=1)
    draws = (mechanism.release(10, N) - 10).tolist()
    assert fits(draws, {z: float(mechanism.mass(z)) for z in range(-9, 10)}) > ALARM
    assert apart(draws) > ALARM
    assert fits(draws, {z: float(Staircase(4, F(3, 2), tread=2).mass(z)) for z in range(-9, 10)}) < 1e-6


def test_sessions_at_once_have_the_law_of_one() -> None:
    mechanism = SparseVector(1, 2, 1)
    said, gaps = mechanism.release([0, 1], count=N)
    told = {1: lambda gap: gap, 0: lambda _: None, -1: lambda _: "ended"}
    rows = zip(said.tolist(), gaps.tolist(), strict=True)
    draws = [tuple(told[s](g) for s, g in zip(*row, strict=True)) for row in rows]
    law = {(None, g): transcript_mass(mechanism, [0, 1], [None, g]) for g in range(8)}
    law |= {(g, "ended"): transcript_mass(mechanism, [0], [g]) for g in range(8)}
    law[None, None] = transcript_mass(mechanism, [0, 1], [None, None])
    assert fits(draws, law) > ALARM
    assert apart(draws) > ALARM
    wrong = {key: transcript_mass(mechanism, [0, 0], list(key)) for key in law if key[1] != "ended"}
    wrong |= {(g, "ended"): transcript_mass(mechanism, [0], [g]) for g in range(8)}
    assert fits(draws, wrong) < 1e-6


@pytest.mark.parametrize("length", [4, 40])
def test_running_totals_at_once_have_the_law_of_one(length: int) -> None:
    """A total is a sum of so many nodes, each with noise of its own: the variance, and for single nodes the law."""
    mechanism = PrefixSums(1, length, epsilon=2)
    entries = list(range(length))
    rows = mechanism.release(entries, N)
    assert rows.shape == (N, length)
    errors = rows - np.cumsum(entries)
    first = errors[:, 0].tolist()
    assert mechanism.draws(1) == 1
    law = Geometric(1, 1 / mechanism.scale)
    assert fits(first, {z: float(law.mass(z)) for z in range(-6, 7)}) > ALARM
    assert apart(first) > ALARM
    one = np.array([mechanism.release(entries) for _ in range(1500)]) - np.cumsum(entries)
    variance = float(np.var(errors[:, 0]))
    for end in (1, length // 2, length):
        wanted = variance * mechanism.draws(end)
        assert abs(np.var(errors[:, end - 1]) / wanted - 1) < 0.06
        assert abs(np.var(one[:, end - 1]) / wanted - 1) < 0.45


def test_totals_of_the_square_root_at_once() -> None:
    rows = PrefixSums(1, 6, rho=F(1, 2)).release([5] * 6, 4000)
    assert rows.shape == (4000, 6)
    assert np.allclose(rows.mean(axis=0), 5 * np.arange(1, 7), atol=0.3)
    assert len({tuple(row) for row in rows.tolist()}) > 3000
