"""Running totals: what one person moves, and how good the answers are."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato.mechanisms import PrefixSums
from sfumato.mechanisms.nodes import Tree, best_tree
from sfumato.mechanisms.prefix import laplace_variance
from sfumato.mechanisms.sums import sum_width

F = Fraction


TREES = st.one_of(
    st.integers(1, 200).map(best_tree),
    st.builds(Tree, st.integers(1, 60), st.integers(2, 9), st.integers(1, 5)),
)


@given(TREES, st.data())
def test_tree_nodes_differ_by_the_levels(tree: Tree, data: st.DataObject) -> None:
    """One unit in one entry moves one node of each level by one, whichever entry; totals come back from the nodes."""
    length = tree.length
    base = data.draw(st.lists(st.integers(-5, 5) | st.just(2**70), min_size=length, max_size=length))
    nodes = tree.sums(np.array(base, object))
    for at in {0, length // 2, length - 1}:
        changed = list(base)
        changed[at] += 1
        after = tree.sums(np.array(changed, object))
        moved = [np.abs(a - b) for a, b in zip(nodes, after, strict=True)]
        assert [int(level.sum()) for level in moved] == [1] * tree.levels
    assert tree.totals(nodes).tolist() == np.cumsum(np.array(base, object)).tolist()


def test_the_noise_of_a_node_pays_for_all_levels() -> None:
    law = PrefixSums(3, 1096, epsilon=F(1, 2))
    assert law.levels > 1
    assert law.scale == law.levels * 3 / F(1, 2)


@given(TREES)
def test_totals_take_as_many_nodes_as_they_say(tree: Tree) -> None:
    """Each node enters a total once, with a sign, or not at all: the noise is a sum of `draws` independent draws."""
    used = np.zeros(tree.length, int)
    zeros = [np.zeros(count, np.int64) for count in tree.counts]
    for level, count in enumerate(tree.counts):
        for node in range(count):
            nodes = [part.copy() for part in zeros]
            nodes[level][node] = 1
            weights = tree.totals(nodes)
            assert set(weights.tolist()) <= {-1, 0, 1}
            used += np.abs(weights)
    assert used.tolist() == tree.draws.tolist()


@pytest.mark.parametrize("length", [1, 2, 10, 29, 30, 60, 150])
def test_no_tree_is_much_better_than_the_chosen_one(length: int) -> None:
    """Among all trees of equal radix; the search looks at some of them only."""
    every = [Tree(length, radix, levels) for levels in range(1, 6) for radix in range(2, length + 2)]
    worth = {tree: int(tree.draws.sum()) * tree.levels**2 for tree in every}
    chosen = best_tree(length)
    assert int(chosen.draws.sum()) * chosen.levels**2 <= 1.03 * min(worth.values())
    assert (chosen.levels == 1) == (length < 29)


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("scale", [F(1, 3), F(1), F(7, 2)])
@pytest.mark.parametrize("draws", [2, 3, 7, 20])
def test_widths_of_sums_are_those_of_the_law(scale: Fraction, draws: int, gaussian: bool) -> None:
    """Against the convolution itself: enough, and one less would not be."""
    reach = np.arange(-160, 161)
    one = np.exp(-(reach**2) / (2 * float(scale))) if gaussian else np.exp(-np.abs(reach) / float(scale))
    law = np.array([1.0])
    for _ in range(draws):
        law = np.convolve(law, one / one.sum())
    places = np.abs(np.arange(len(law)) - len(law) // 2)
    for miss in (F(1, 2), F(1, 20), F(1, 1000), F(1, 10**6), F(1, 10**10)):
        t = sum_width(scale, draws, miss, gaussian)
        assert law[places > t].sum() <= miss
        if miss > F(1, 10**9):  # beyond, the bound of the moments
            assert law[places > t - 1].sum() > miss


def test_widths_of_wide_sums() -> None:
    """Whole numbers of 2^-20: as wide as the continuous law, which many draws bring near the normal one."""
    width = sum_width(F(20 * 2**20), 10_000, F(1, 20))
    deviation = math.sqrt(2 * 10_000) * 20 * 2**20
    assert width / deviation == pytest.approx(stats.norm.ppf(0.975), rel=1e-3)
    assert sum_width(F(20 * 2**20), 3, F(1, 20)) / 2**20 == pytest.approx(
        sum_width(F(20 * 2**10), 3, F(1, 20)) / 2**10, rel=1e-3
    )


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
def test_prefix_variance_is_the_stated_one(price: dict[str, Any]) -> None:
    """Neither more nor less, at totals of few and of many draws: within six standard errors of a variance."""
    law, runs = PrefixSums(2, 100, **price), 4000
    found = np.array([law.release(np.zeros(100, int)) for _ in range(runs)], float)
    means = []
    for end in (1, 7, 15, 50, 96, 100):
        stated = float(law.spread(end)) + (1 / 12 if "rho" in price else 0)
        if "epsilon" in price:
            stated = laplace_variance(law.scale) * law.draws(end)
            assert stated <= law.spread(end)
        kurtosis = 3 + (3 / law.draws(end) if "epsilon" in price else 0) + 1
        error = stated * math.sqrt((kurtosis - 1) / runs)
        assert abs(float((found[:, end - 1] ** 2).mean()) - stated) < 6 * error
        means.append(stated)
    assert min(means) < law.mean_variance < max(means)


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": F(1, 2)}])
def test_prefix_intervals_cover(price: dict[str, Any]) -> None:
    """As often as stated, and not much more often: for a sum of one node, of many, and for the worst."""
    law, runs = PrefixSums(2, 150, **price), 1500
    found = np.abs(np.array([law.release(np.zeros(150, int)) for _ in range(runs)]))
    for end in (1, 8, 75, 150):
        high = law.interval("0.9", end)[1]
        assert stats.binomtest(int((found[:, end - 1] <= high).sum()), runs, 0.9, alternative="less").pvalue > 1e-9
        less = int((found[:, end - 1] <= int(0.9 * high) - 1).sum())
        assert stats.binomtest(less, runs, 0.9, alternative="greater").pvalue > 1e-9
        assert high <= law.interval("0.9")[1]


@pytest.mark.parametrize("length", [1, 5, 31, 102, 365])
@pytest.mark.parametrize("epsilon", [F(1, 5), F(1)])
def test_intervals_of_trees_are_those_of_the_exact_law(length: int, epsilon: Fraction) -> None:
    """No draws: which nodes a total takes is read off by noise in one node at a time, and their law is convolved."""
    law = PrefixSums(1, length, epsilon=epsilon)
    ends = np.cumsum([0, *law.tree.counts])
    one_node = np.eye(ends[-1], dtype=np.int64)
    taken = law.tree.totals([one_node[:, a:b] for a, b in itertools.pairwise(ends)])
    assert set(np.unique(taken)) <= {-1, 0, 1}
    nodes = np.abs(taken).sum(axis=0)
    reach = math.ceil(30 * law.scale)
    ratio = math.exp(-1 / law.scale)
    single = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-reach, reach + 1))
    mass = np.ones(1)
    for count in range(1, int(nodes.max()) + 1):
        mass = np.convolve(mass, single)
        middle = len(mass) // 2
        for end in np.flatnonzero(nodes == count)[:1] + 1:
            half = law.interval(F(95, 100), int(end))[1]
            assert mass[middle - half : middle + half + 1].sum() >= 0.95 - 1e-9
            assert mass[middle - half + 1 : middle + half].sum() < 0.95 + 1e-5  # and no narrower one would do


def test_rare_misses_are_covered_by_the_tail_bound() -> None:
    """Where the normal law cannot be trusted the interval is the subgaussian one, and wider."""
    law = PrefixSums(1, 50, rho=F(1, 2))
    sigma = math.sqrt(law.spread(50))
    assert law.interval(1 - F(1, 10**12))[1] >= sigma * math.sqrt(2 * math.log(2e12))
    assert PrefixSums(1, 50, rho=10**9).interval("0.99")[1] >= 0


def test_running_totals_beat_sums_of_noisy_entries() -> None:
    """For 1024 sums, epsilon 1, and the rho that it buys: against independent noise on the entries."""
    tree = PrefixSums(1, 1024, epsilon=1)
    root = PrefixSums(1, 1024, rho=F(1, 2))
    assert tree.mean_variance < laplace_variance(F(1)) * 1025 / 2 / 4
    assert tree.interval()[1] < sum_width(F(1), 1024, F(1, 20)) / 2
    assert root.mean_variance < 1025 / 2 / 40
    assert root.interval()[1] < sum_width(F(1), 1024, F(1, 20), True) / 6


def test_big_numbers_do_not_wrap() -> None:
    for price in ({"epsilon": 1}, {"rho": 1}):
        sums = PrefixSums(1, 4, **price).release(np.array([2**62, 2**62, 2**62, 2**62]))
        assert abs(int(sums[3]) - 2**64) < 2**64 // 10**9
