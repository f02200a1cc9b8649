"""Every cut and every guide entry of the tables that are really used, at full word size, against mpmath."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from sfumato.reals import bound_exp_neg
from sfumato.sampling import gaussian, laplace
from sfumato.sampling.cuts import UNDECIDED, CutTable
from tests.sampling.test_exact_mass import independent_cuts

F = Fraction
SCALES = [F(1, 1000), F(1, 2), F(1), F(10), F(16), F(17), F(333, 7), F(1000), F(10**6), F(20 * 2**20 * 10), F(2**61)]
VARIANCES = [F(1, 100), F(1), F(100), F(576), F(577), F(10**6), F(10**12), F(2**90, 3)]


def tables() -> list[CutTable]:
    found = []
    for scale in SCALES:
        plan = laplace._Plan(scale)
        found += [plan.top, *plan.lower]
    return found + [gaussian._Plan(variance).top for variance in VARIANCES]


def check_floors(table: CutTable) -> None:
    with mpmath.workprec(2500 if isinstance(table.cuts, laplace.TopCuts) else 700):
        for stored, true in zip(table.floors, independent_cuts(table.cuts), strict=True):
            assert stored == min(int(mpmath.floor(true * 2**table.width)), 2**table.width - 1)


def test_every_cut_is_the_floor() -> None:
    cuts = 0
    for table in tables():
        check_floors(table)
        cuts += len(table.floors)
    assert cuts > 7_000


def test_every_guide_entry_is_decided() -> None:
    """A value in the guide is the region of the first and of the last word that begins so; a cell with a cut is not
    decided."""
    for table in tables():
        rest = np.uint64(table.width - table.guide_width)
        first = np.arange(1 << table.guide_width, dtype=np.uint64) << rest
        last = first | np.uint64((1 << int(rest)) - 1)
        floors = np.array(table.floors, np.uint64)
        low, high = np.searchsorted(floors, first, "left"), np.searchsorted(floors, last, "right")
        decided = table.guide != UNDECIDED
        assert np.array_equal(
            decided, (low == high) & (low > 0) & (low < len(floors)) if table.open_ends else low == high
        )
        assert np.array_equal(table.guide[decided], (low + table.first)[decided])


@pytest.mark.parametrize(
    "variance", [F(577), F(1000), F(10**6), F(10**12), F(2**54), F((200 << 20) ** 2), F(2**57), F(2**70, 3), F(2**110)]
)
def test_gaussian_coin_is_enclosed(variance: Fraction) -> None:
    """The integer band holds e^-γ for rows near and far, remainders small and large: scalar, vector and exact path
    agree."""
    plan = gaussian._Plan(variance)
    rows = np.unique(np.linspace(0, plan.reach, 12).astype(np.int64)) * plan.step
    starts = np.concatenate([rows, rows + 1])
    remainders = np.unique([int(i * (plan.step - 1) / 16) for i in range(17)] + [1, plan.step - 1]).astype(np.int64)
    start, remainder = (grid.ravel() for grid in np.meshgrid(starts, remainders))
    base = plan.coin.base(remainder.copy(), start.copy())
    for a, rest, middle in zip(start.tolist(), remainder.tolist(), base.tolist(), strict=True):
        low, high = bound_exp_neg(F(rest * (2 * a + rest)) / (2 * variance), 96)
        assert middle - gaussian._BELOW < low / 2**64
        assert high / 2**64 < middle + gaussian._ABOVE


def test_the_gaussian_coin_holds_every_scale() -> None:
    """Between the lengths of its factors there is no gap: each quarter of a power of two, up to 2^150."""
    for quarter in range(20, 600):
        variance = F(int(2 ** (quarter / 4) * 1000), 1000) ** 2
        step = 1
        while variance > (gaussian._TOP * step) ** 2:
            step *= 2
        if step > 1:
            gaussian._Coin(variance, step, gaussian.RowCuts(variance, step, 64).reach)


class FixedWord:
    """A source whose first word is given; later bits are all zero, so that a tie falls below the cut."""

    def __init__(self, words: list[int], arrays: dict[int, object] | None = None) -> None:
        self.words, self.arrays = words, arrays or {}

    def word(self, width: int) -> int:
        return self.words.pop(0) if self.words else 0

    def take(self, count: int, width: int) -> np.ndarray:
        return np.broadcast_to(np.asarray(self.arrays[width], np.uint64), (count,)).copy()


@pytest.mark.parametrize("variance", [F(577), F(10**6), F(2**70, 3)])
def test_gaussian_coin_flips_at_the_floor(variance: Fraction) -> None:
    """The coin says yes for a word exactly when the word is at most floor(2^32 e^-γ), the bits after it being zero."""
    plan = gaussian._Plan(variance)
    for high in (0, 1, plan.reach // 3, plan.reach):
        for remainder in (1, plan.step // 2, plan.step - 1):
            start = high * plan.step + 1
            floor = bound_exp_neg(F(remainder * (2 * start + remainder)) / (2 * variance), 96)[0] >> 64
            words = [w for gap in (-5000, -200, -1, 0, 1, 2, 200, 5000) if 0 <= (w := floor + gap) < 1 << 32]
            said = [plan.coin.exactly(word, 32, remainder, start, FixedWord([])) for word in words]
            assert said == [word <= floor for word in words]
            many = np.array(words, np.uint32)

            kept, _ = plan._finish(
                np.full(len(words), start),
                np.arange(len(words)),
                set(),
                FixedWord([], {plan.shift: remainder, 32: many}),
            )
            assert len(kept) == sum(said)


def test_exponential_steps_are_floors() -> None:
    with mpmath.workprec(200):
        true = [int(mpmath.floor(mpmath.e ** (-mpmath.mpf(i) / 1024) * 2**32)) for i in range(1024)]
    assert gaussian._exp_steps().tolist() == true
