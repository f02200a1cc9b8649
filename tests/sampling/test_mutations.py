"""The checks of this room can fail: each of these faults, planted on purpose, is caught by the check that is named."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from sfumato.sampling import fork_detection, gaussian, laplace
from sfumato.sampling.cuts import CutTable
from tests.sampling import test_bits, test_exact_mass, test_statistics, test_tables

F = Fraction


def small_table() -> CutTable:
    return test_exact_mass.TABLES["digit 1/3"]()


def test_a_wrong_cut_is_caught() -> None:
    """One unit in one cut, upward or downward, at tiny and at full width."""
    for by in (-1, 1):
        table = small_table()
        table.floors[1] += by
        table._array = np.array(table.floors, np.uint64)
        with pytest.raises(AssertionError):
            test_exact_mass.check_mass(table, 32)
        table = laplace._Plan(F(1000)).lower[0]
        table.floors[77] += by
        with pytest.raises(AssertionError):
            test_tables.check_floors(table)


def test_a_dropped_refinement_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ties decided without further bits: always below, always above."""
    for shift in (0, 1):
        monkeypatch.setattr(CutTable, "_settle_tie", lambda table, word, _, by=shift: table.floors.index(word) + by)
        with pytest.raises(AssertionError):
            test_exact_mass.check_mass(small_table(), 32)


def test_a_float_shortcut_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ratio e^-x from a double: wrong in the 54th bit, seen in the cuts."""

    def by_float(x: Fraction, width: int) -> tuple[int, int]:
        near = int(math.exp(-x) * 2**60) << max(0, width - 60) >> max(0, 60 - width)
        return near, near

    monkeypatch.setattr(laplace, "bound_exp_neg", by_float)
    with pytest.raises(AssertionError):
        test_tables.check_floors(laplace._Plan(F(7)).top)
    monkeypatch.setattr(gaussian, "bound_exp_neg", by_float)
    with pytest.raises(AssertionError):
        test_tables.check_floors(gaussian._Plan(F(100)).top)


def test_a_guide_without_sentinels_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen bits taken for the whole word."""
    table = small_table()
    floors = np.array(table.floors) >> (table.width - table.guide_width)
    table._guide = np.searchsorted(floors, np.arange(1 << table.guide_width)).astype(np.int16)
    with pytest.raises(AssertionError):
        test_exact_mass.check_mass(table, 32)


def test_a_tail_that_is_cut_off_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplace._Plan, "beyond", lambda plan, high, _: high)
    with pytest.raises((AssertionError, KeyError)):
        test_exact_mass.test_laplace_digits_give_the_exact_mass(F(4), 1, monkeypatch)


def test_a_coin_with_a_narrow_band_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The quadratic term of e^-d left out: the upper end is too low by up to 2^11 units of 2^-32."""
    monkeypatch.setattr(gaussian, "_ABOVE", 4)
    with pytest.raises(AssertionError):
        test_tables.test_gaussian_coin_is_enclosed(F(10**6))


@pytest.mark.parametrize(
    ("wrong", "check"),
    [
        (
            lambda s, n=None, _real=laplace.sample_laplace: _real(s * F(11, 10), n),
            test_statistics.test_scale_is_the_stated_one,
        ),
        (
            lambda s, n=None, _real=laplace.sample_laplace: _real(s, n) // 2 * 2,
            test_statistics.test_scale_is_the_stated_one,
        ),
    ],
)
def test_a_wrong_scale_is_caught(
    wrong: Callable[..., object], check: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_statistics, "sample_laplace", wrong)
    with pytest.raises(AssertionError):
        check(F(10), test_statistics.many)


def test_a_stream_that_survives_a_fork_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    fixed = object()
    monkeypatch.setattr(fork_detection._epoch, "current", lambda: fixed)
    with pytest.raises(AssertionError):
        test_bits.test_fork_does_not_repeat()
