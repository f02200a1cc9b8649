"""A choice among very many: its parts against their definitions, and its law by trying every bit string."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import accumulate
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.sampling import bands
from sfumato.sampling.bands import sample_banded
from tests.sampling.enumerate_bits import OutOfBits, ScriptedBits
from tests.sampling.test_exact_mass import real

F = Fraction


class Branch(Exception):
    """The script ended where chance has these weights."""

    def __init__(self, weights: list[Any]) -> None:
        super().__init__(weights)
        self.weights = weights


def branch(bits: ScriptedBits, weights: list[Any]) -> int:
    if bits.at == len(bits.script):
        raise Branch(weights)
    value, stated = bits.script[bits.at]
    assert stated == -len(weights)  # where a word's width would stand
    bits.at += 1
    return value


def law_of_one_try(sample: Any, most_bits: int, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[int | str, Any], Any]:
    """(chance of each index, or of another try; chance of what was undecided): every word is tried; coins and uniform
    numbers, which have exact laws of their own, by their weights."""

    def coin(rate: Fraction, gaps: np.ndarray, bits: ScriptedBits) -> np.ndarray:
        assert len(gaps) == 1
        gamma = rate * int(gaps[0])
        assert 0 <= gamma < 1
        heads = mpmath.e ** -real(gamma)
        if branch(bits, [1 - heads, heads]) == 0:
            raise Again
        return np.array([True])

    def uniform(size: int, count: int, bits: ScriptedBits) -> np.ndarray:
        return np.array([branch(bits, [mpmath.mpf(1) / size] * size) for _ in range(count)])

    monkeypatch.setattr(bands, "sample_flips", coin)
    monkeypatch.setattr(bands, "sample_uniform", uniform)
    mass: dict[int | str, Any] = defaultdict(mpmath.mpf)
    waiting: list[tuple[tuple[tuple[int, int], ...], int, Any]] = [((), 0, mpmath.mpf(1))]
    while waiting:
        script, used, chance = waiting.pop()
        bits = ScriptedBits(script)
        try:
            mass[sample(bits)] += chance
            assert bits.at == len(script)
        except Again:
            mass["again"] += chance
        except Branch as at:
            waiting += [((*script, (v, -len(at.weights))), used, chance * w) for v, w in enumerate(at.weights)]
        except OutOfBits as more:
            if used + more.wanted > most_bits:
                mass["undecided"] += chance
            else:
                part = chance / (1 << more.wanted)
                waiting += [((*script, (w, more.wanted)), used + more.wanted, part) for w in range(1 << more.wanted)]
    return mass, mass.pop("undecided", mpmath.mpf(0))


class Again(Exception):
    """The try was not kept."""


CASES: dict[str, tuple[Fraction, list[int], list[int] | None]] = {
    "one": (F(1, 3), [0], None),
    "ones": (F(2, 7), [4, 0, 1, 9, 1, 4], None),
    "whole bands": (F(1), [0, 2, 1, 2], None),
    "many in a band": (F(1, 10), [3, 0, 9, 9, 1, 12, 9], [1, 2, 1, 3, 1, 1, 2]),
    "steep": (F(3, 2), [0, 1, 2, 3], [1, 4, 1, 9]),
    "a long entry far away": (F(2), [0, 8, 8], [1, 17, 3]),
    "the best is rare": (F(1, 2), [11, 0, 13], [15, 1, 12]),
    "lengths": (F(5, 3), [0, 0, 2, 3], [3, 1, 5, 2]),
}


@pytest.mark.parametrize("bits", [28, pytest.param(32, marks=pytest.mark.slow)])
@pytest.mark.parametrize("chunk", [1 << 15, 2])
@pytest.mark.parametrize("name", CASES)
def test_bands_give_the_exact_mass(name: str, chunk: int, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At words of four bits: ties, far bands that a few bits cannot tell from nothing, chunks and lengths."""
    rate, gaps, lengths = CASES[name]
    monkeypatch.setattr(bands, "_CHUNK", chunk)
    arrays = np.array(gaps), None if lengths is None else np.array(lengths)
    mass, undecided = law_of_one_try(lambda b: sample_banded(rate, *arrays, bits=b, width=4), bits, monkeypatch)
    sizes = lengths or [1] * len(gaps)
    proposed = sum(n * mpmath.e ** -(rate * gap // 1) for n, gap in zip(sizes, gaps, strict=True))
    assert undecided < 2**8 / 2**bits
    assert abs(sum(mass.values()) + undecided - 1) < mpmath.mpf(2) ** -300
    assert set(mass) - {"again"} == set(range(len(gaps)))
    for i, (n, gap) in enumerate(zip(sizes, gaps, strict=True)):
        true = n * mpmath.e ** -real(rate * gap) / proposed
        assert mass[i] - mpmath.mpf(2) ** -300 <= true <= mass[i] + undecided
        assert abs(mass[i] / true - 1) < 0.01


def test_a_far_entry_takes_more_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries that the first words cannot tell from nothing are chosen, with their mass, after longer words."""
    monkeypatch.setattr(bands, "_GUARD", 1)
    gaps = np.array([0, 9, 12])
    reach = len(bands._powers(5 + 1 + 2)) - 1
    assert 9 > reach > 0
    mass, undecided = law_of_one_try(lambda bits: sample_banded(F(1), gaps, None, bits=bits, width=5), 30, monkeypatch)
    whole = sum(mpmath.e**-gap for gap in gaps.tolist())
    for i, gap in enumerate(gaps.tolist()):
        assert mass[i] <= mpmath.e**-gap / whole <= mass[i] + undecided
        assert abs(mass[i] * whole / mpmath.e**-gap - 1) < 0.01


def floor_of(rate: Fraction, gap: int, reach: int) -> int:
    return min(rate * gap // 1, reach)


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        st.fractions(F(1, 10**6), F(10**3), max_denominator=10**6),
        st.builds(F, st.integers(1, 10**16), st.just(10**15)),
        st.builds(F, st.integers(1, 2**80), st.integers(1, 2**80)),
    ),
    st.integers(1, 200),
    st.data(),
)
def test_bands_are_the_floors(rate: Fraction, reach: int, data: st.DataObject) -> None:
    """For every rate and gap, in particular around the edges, in 64 bits and beyond."""
    edge = st.builds(lambda j, by: max(0, -(-j // rate) + by), st.integers(0, reach + 2), st.integers(-2, 2))
    gaps = data.draw(
        st.lists(st.one_of(edge, st.integers(0, 2**63 - 1), st.integers(0, 2**100)), min_size=1, max_size=9)
    )
    wanted = [floor_of(rate, gap, reach) for gap in gaps]
    assert bands._floors(rate, np.array(gaps, object), reach).tolist() == wanted
    short = [gap for gap in gaps if gap < 1 << 63]
    found = bands._floors(rate, np.array(short, np.int64), reach)
    assert found.tolist() == [floor_of(rate, gap, reach) for gap in short]
    assert found.dtype == np.int64


def test_bands_may_start_near_the_end_of_64_bits() -> None:
    """Bands as wide as 2^61: the last of them that int64 can reach starts above 2^62."""
    gaps = [0, 2**61 - 1, 2**61, 2**62 - 1, 2**62, 2**62 + 2**61, 2**63 - 1]
    wanted = [0, 0, 1, 1, 2, 3, 3]
    for kind in (np.int64, object):
        assert bands._floors(F(1, 2**61), np.array(gaps, kind), 90).tolist() == wanted


def test_bands_of_many_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    gaps = np.arange(1000)
    lengths = np.arange(1, 1001) << 52
    whole = bands._floors(F(1, 7), gaps, 90)
    sizes = bands._sizes(whole, lengths, 91)
    assert len(sizes) == 1
    assert sizes[0] == [sum((g + 1) << 52 for g in range(1000) if min(g // 7, 90) == j) for j in range(91)]
    monkeypatch.setattr(bands, "_CHUNK", 64)
    assert (bands._floors(F(1, 7), gaps, 90) == whole).all()
    rows = bands._sizes(whole, lengths, 91)
    assert len(rows) == 16
    assert [sum(column) for column in zip(*rows, strict=True)] == sizes[0]


@pytest.mark.parametrize("precise", [1, 7, 20, 73, 160, 300])
def test_band_powers_are_enclosed(precise: int) -> None:
    powers = bands._powers(precise)
    for j, low in enumerate(powers):
        assert low <= mpmath.mpf(2) ** precise * mpmath.e**-j <= low + 2
    assert powers[-1] == 0 < powers[0]


@settings(max_examples=60, deadline=None)
@example(F(1), [(0, 1), (1, 200), (2, 3000)], 7)
@example(F(1), [(0, 1), (1, 1), (2, 9), (6, 5000)], 7)
@example(F(2), [(0, 1), (1, 900), (2, 90_000), (3, 9_000_000)], 7)
@given(
    st.fractions(F(1, 5), F(5), max_denominator=9),
    st.lists(st.tuples(st.integers(0, 12), st.sampled_from([1, 7, 200, 3000])), max_size=6).map(lambda e: [(0, 1), *e]),
    st.integers(0, 7),
)
def test_what_a_word_decides_is_right(rate: Fraction, entries: list[tuple[int, int]], have: int) -> None:
    """At any precision, also one that is far too low: a band is named only if every U that begins with the word is in
    its region."""
    gaps, lengths = np.array([gap for gap, _ in entries]), np.array([n for _, n in entries])
    mass: dict[int, Any] = defaultdict(mpmath.mpf)
    for gap, n in entries:
        mass[rate * gap // 1] += n * mpmath.e ** -(rate * gap // 1)
    whole = sum(mass.values())
    tiny = mpmath.mpf(2) ** -300
    for precise in range(1, 24):
        found = bands._Bands(rate, gaps, lengths, precise)
        words = np.arange(1 << have).astype(np.uint64)
        named = [-1 if band is None else band for band in (found.choose(word, have) for word in range(1 << have))]
        assert found.decide(words, have).tolist() == named
        for word, band in enumerate(named):
            if band >= 0:
                below = sum((m for j, m in mass.items() if j < band), mpmath.mpf(0))
                assert below <= whole * word / 2**have + tiny
                assert whole * (word + 1) / 2**have <= below + mass[band] + tiny


lengths_of = st.one_of(st.integers(1, 5), st.integers(2**31 - 2, 2**31 + 2), st.integers(1, 2**62), st.just(2**62))


@given(st.lists(lengths_of, min_size=1, max_size=30), st.data())
def test_places_are_found_by_running_sums(lengths: list[int], data: st.DataObject) -> None:
    """At both ends of every entry and in between, however long; in 64 bits and in Python ints."""
    ends = list(accumulate(lengths))
    inside = data.draw(st.integers(0, ends[-1] - 1))
    for at in {inside, *(end - 1 for end in ends), *ends[:-1], 0}:
        wanted = next(k for k, end in enumerate(ends) if end > at)
        assert bands._place(np.array(lengths, np.int64), at) == wanted
        assert bands._place(np.array([*lengths, 2**90], object), at) == wanted
        assert bands._places(np.array(lengths, np.int64), np.array([at, at], object), ends[-1]).tolist() == [wanted] * 2


@pytest.mark.parametrize(
    ("rate", "gaps", "lengths"),
    [
        (F(1, 9), list(range(0, 400, 3)), None),
        (F(2, 3), [0, 1, 5, 30, 31, 90], [1, 2**40, 7, 2**62, 2**61, 2**62]),
        (F(1), [0, 20, 300], [1, 2**60, 2**62]),
    ],
)
def test_words_beside_a_cut_are_decided_and_the_cut_is_not(
    rate: Fraction, gaps: list[int], lengths: list[int] | None
) -> None:
    """At the real width: the word in whose cell a cut lies asks for more bits, those beside it do not."""
    sizes = lengths or [1] * len(gaps)
    entries = np.array(gaps), None if lengths is None else np.array(lengths)
    spare = bands._GUARD + (len(gaps) * max(sizes)).bit_length()
    found = bands._Bands(rate, *entries, 64 + spare)
    mass: dict[int, Any] = defaultdict(mpmath.mpf)
    for n, gap in zip(sizes, gaps, strict=True):
        mass[int(rate * gap // 1)] += n * mpmath.e ** -(rate * gap // 1)
    order, whole = sorted(mass), sum(mass.values())
    cuts = list(accumulate(mass[j] / whole for j in order))
    assert found.choose(0, 64) == 0 or mass[0] / whole < mpmath.mpf(2) ** -50
    looked_at = 0
    for below, above, cut in zip(order, order[1:], cuts, strict=False):
        if min(mass[below], mass[above]) / whole > mpmath.mpf(2) ** -50:
            word = int(mpmath.floor(cut * mpmath.mpf(2) ** 64))
            assert [found.choose(word + by, 64) for by in (-2, 0, 2)] == [below, None, above]
            assert found.decide(np.array([word - 2, word, word + 2], np.uint64), 64).tolist() == [below, -1, above]
            looked_at += 1
    assert looked_at
    assert found.choose(2**64 - 1, 64) in (order[-1], None)


def chances(rate: float, gaps: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    weights = lengths * np.exp(-rate * gaps)
    return weights / weights.sum()


@pytest.mark.parametrize("rate", [F(1, 5), F(7, 4), F(123456789012345, 10**15)])
def test_bands_have_their_frequencies(rate: Fraction) -> None:
    """Two-sided: the stated law is accepted, half and twice the rate, and lengths that are not heeded, are rejected."""
    gaps, lengths = np.array([0, 3, 3, 7, 0, 1, 2]), np.array([1, 40, 9, 500, 3, 2, 30]) << 50
    singly = [sample_banded(rate, gaps, lengths) for _ in range(2000)], [sample_banded(rate, gaps) for _ in range(2000)]
    at_once = sample_banded(rate, gaps, lengths, 200_000), sample_banded(rate, gaps, None, 200_000)

    def fit(draws: Any, law: np.ndarray) -> float:
        counts, expected = np.bincount(draws, minlength=7), law * len(draws)
        keep = expected > 5
        return float(stats.chisquare(counts[keep], expected[keep] * counts[keep].sum() / expected[keep].sum()).pvalue)

    for draws in (singly, at_once):
        assert fit(draws[0], chances(float(rate), gaps, lengths)) > 1e-9
        assert fit(draws[1], chances(float(rate), gaps, np.ones(7))) > 1e-9
    others = [chances(factor * float(rate), gaps, lengths) for factor in (0.5, 2)]
    for wrong in (*others, chances(float(rate), gaps, np.ones(7))):
        assert fit(at_once[0], wrong) < 1e-6


def test_gaps_without_a_zero_are_refused() -> None:
    """All would lie beyond what any word can tell: the search would not end."""
    with pytest.raises(ValueError, match="must be 0"):
        sample_banded(F(1), np.array([2**60, 2**61]))


def test_gaps_and_lengths_beyond_64_bits() -> None:
    gaps = np.array([10**30, 0, 10**30 + 5, 0], object)
    assert sample_banded(F(1), gaps) in (1, 3)
    assert sample_banded(F(1), gaps, np.array([2**62, 1, 2**62, 1])) in (1, 3)
    assert sample_banded(F(1, 10**40), gaps, np.array([1, 1, 2**500, 1], object)) == 2
    # a weight of 2^500 e^-300 is far more than 1
    assert sample_banded(F(1), np.array([0, 300]), np.array([1, 2**500], object)) == 1
    counts = np.bincount([sample_banded(F(1, 10**30), gaps) for _ in range(4000)], minlength=4)
    expected = chances(1.0, np.array([1, 0, 1, 0]), np.ones(4)) * 4000
    assert stats.chisquare(counts, expected).pvalue > 1e-9


@pytest.mark.parametrize("rate", [F(1, 2**80), F(2**80 - 1, 2**80), F(2**80, 3)])
def test_a_rate_beyond_64_bits_is_drawn_also_where_the_gap_is_zero(rate: F) -> None:
    """The best of all has the gap 0, whose products are 0, however large the rate's own numbers."""
    assert sample_banded(rate, np.array([0])) == 0
    assert sample_banded(rate, np.array([0, 0]), np.array([3, 4]), 50).max() <= 1
