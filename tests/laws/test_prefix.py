"""Running totals: what one person moves, and how good the answers are."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato.mechanisms import PrefixSums

F = Fraction


@given(st.integers(1, 40), st.data())
def test_tree_nodes_differ_by_the_levels(length: int, data: st.DataObject) -> None:
    """One unit in one entry moves at most `levels` nodes by one; some entry moves as many. Prefixes are sums of
    nodes."""
    law = PrefixSums(1, length, epsilon=1)
    base = data.draw(st.lists(st.integers(-5, 5), min_size=length, max_size=length))
    nodes = law.nodes(np.array(base))
    moved = []
    for at in range(length):
        changed = list(base)
        changed[at] += 1
        moved.append(sum(int(np.abs(a - b).sum()) for a, b in zip(nodes, law.nodes(np.array(changed)), strict=True)))
    assert max(moved) == law.levels == len(nodes)
    assert law.scale == law.levels
    for end in range(1, length + 1):
        assert sum(nodes[j][(end >> j) - 1] for j in range(law.levels) if end >> j & 1) == sum(base[:end])


@given(st.integers(1, 25), st.lists(st.integers(-3, 3), min_size=25, max_size=25), st.integers(1, 4))
def test_root_moves_by_its_longest_column(length: int, change: list[int], sensitivity: int) -> None:
    """A change of L1 norm at most the sensitivity moves what is measured by at most what the variance pays for."""
    law = PrefixSums(sensitivity, length, rho=F(1, 3))
    moved = law.measured(np.array(change[:length]))
    norm = sum(abs(c) for c in change[:length])
    squared = sum(int(m) ** 2 for m in moved)
    assert squared <= norm**2 * sum(f * f for f in law.factor)
    unit = law.measured(np.array([1] + [0] * (length - 1)))
    assert sum(int(m) ** 2 for m in unit) * sensitivity**2 / (2 * law.variance) == F(1, 3)


def test_root_is_near_the_square_root_of_summation() -> None:
    law = PrefixSums(1, 60, rho=1)
    exact = [math.comb(2 * k, k) / 4**k for k in range(60)]
    assert np.allclose(np.array(law.factor) / 2**20, exact, atol=1e-6)
    square = np.convolve(exact, exact)[:60]
    assert np.allclose(square, 1)


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": F(1, 2)}])
def test_prefix_sums_are_unbiased(price: dict[str, Any]) -> None:
    """The mean of many releases is the truth, at both ends and in the middle."""
    truth = np.arange(50) % 7
    law = PrefixSums(1, 50, **price)
    runs = np.array([law.release(truth) for _ in range(600)], float) - np.cumsum(truth)
    error = runs.std(axis=0) / 600**0.5
    assert np.all(np.abs(runs.mean(axis=0)) < 6.5 * error)  # 6.5 standard errors: 1e-9 for fifty sums


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": F(1, 2)}])
def test_prefix_intervals_cover(price: dict[str, Any]) -> None:
    """At least as often as stated, for a sum of one node, of many, and for the worst."""
    law = PrefixSums(2, 47, **price)
    runs = np.array([law.release(np.zeros(47, int)) for _ in range(500)])
    for end in (32, 31, 47):
        low, high = law.interval("0.9", end)
        hits = int(((runs[:, end - 1] >= low) & (runs[:, end - 1] <= high)).sum())
        assert stats.binomtest(hits, 500, 0.9, alternative="less").pvalue > 1e-9
        assert high <= law.interval("0.9")[1]
    if "epsilon" in price:  # the tree's interval is exact: not wider than need be either
        low, high = law.interval("0.9", 31)
        narrow = ((runs[:, 30] >= low // 2) & (runs[:, 30] <= high // 2)).mean()
        assert narrow < 0.85


def test_running_totals_beat_one_release_each() -> None:
    """For 1024 sums and epsilon 1 a release each would have scale 1024; the tree's error is far smaller, the root's
    smaller yet."""
    tree = PrefixSums(1, 1024, epsilon=1)
    root = PrefixSums(1, 1024, rho=F(1, 2))
    alone = math.log(20) * 1024
    assert tree.interval()[1] < alone / 20
    assert root.interval()[1] < tree.interval()[1] / 5


def test_big_numbers_do_not_wrap() -> None:
    for price in ({"epsilon": 1}, {"rho": 1}):
        sums = PrefixSums(1, 4, **price).release(np.array([2**62, 2**62, 2**62, 2**62]))
        assert abs(int(sums[3]) - 2**64) < 2**64 // 10**9
