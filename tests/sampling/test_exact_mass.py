"""The exact mass functions, by trying every bit string at a tiny word size, ties and tails included."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from sfumato.reals import as_real, exp
from sfumato.sampling import choice, cuts, gaussian, laplace
from sfumato.sampling.cuts import CutTable, cuts_of
from tests.sampling.enumerate_bits import ScriptedBits, exact_law

F = Fraction
mpmath.mp.prec = 400


def real(x: Fraction) -> Any:
    return mpmath.mpf(x.numerator) / x.denominator


def table_law(table: CutTable) -> dict[int, Any]:
    """The masses that the cuts of a table stand for, from mpmath and the defining formulas, not from `enclose`."""
    return {table.first + i: high - low for i, (low, high) in enumerate(zip(*edges(table.cuts), strict=True))}


def edges(law: cuts.Cuts) -> tuple[list[Any], list[Any]]:
    points = independent_cuts(law)
    return [mpmath.mpf(0), *points], [*points, mpmath.mpf(1)]


def independent_cuts(law: cuts.Cuts) -> list[Any]:
    """The cut points by their definitions, at mpmath's precision."""
    if isinstance(law, laplace.TopCuts):
        r, rho = mpmath.e ** -real(law.rate), mpmath.e ** -real(law.rate * law.step)
        below = [r * rho**k / (1 + r) for k in range(law.reach, -1, -1)]
        return below + [1 - rho**k / (1 + r) for k in range(1, law.reach + 1)]
    if isinstance(law, laplace.DigitCuts):
        rho = mpmath.e ** -real(law.rate)
        return [(1 - rho**k) / (1 - rho**law.size) for k in range(1, law.size)]
    if isinstance(law, gaussian.RowCuts):
        m, two = law.step, 2 * real(law.variance)
        # beyond `far` rows the weights are below 2^-450
        far = law.reach + int(mpmath.sqrt(450 * two) / m) + 3
        weight = [[mpmath.e ** (-mpmath.mpf((m * h + b) ** 2) / two) for h in range(far)] for b in (0, 1)]
        whole = sum(weight[0]) + sum(weight[1])
        running = sum(weight[1][law.reach + 1 :])
        points = [running]
        for w in weight[1][law.reach :: -1] + weight[0][: law.reach + 1]:
            running += w
            points.append(running)
        return [p / whole for p in points]
    raise TypeError(type(law).__name__)


def check_mass(table: CutTable, most_bits: int, law: dict[int, Any] | None = None) -> None:
    """The enumerated law of `draw`, and of `draws` through the guide, is the law of the cuts."""
    law = law or table_law(table)
    for sample in (table.draw, lambda bits: through_guide(table, bits)):
        mass, undecided = exact_law(sample, most_bits)
        assert undecided < F(len(law), 1 << (most_bits - 2 * table.width))
        assert set(mass) <= set(law)
        for value, true in law.items():
            seen = real(mass.get(value, F(0)))
            assert seen - mpmath.mpf(2) ** -300 <= true <= seen + real(undecided) + mpmath.mpf(2) ** -300


def through_guide(table: CutTable, bits: ScriptedBits) -> int:
    table.guide  # noqa: B018  built on purpose, so that a single draw goes through it
    values, _ = table.draws(bits, 1)
    return int(values[0])


SMALL = {"guide": 4, "width": 8}
TABLES = {
    "top 1": lambda: CutTable(
        laplace.TopCuts(F(1), 1, 4), -1 - laplace.TopCuts(F(1), 1, 4).reach, open_ends=True, **SMALL
    ),
    "top 5/7 step 2": lambda: CutTable(
        laplace.TopCuts(F(5, 7), 2, 4), -1 - laplace.TopCuts(F(5, 7), 2, 4).reach, open_ends=True, **SMALL
    ),
    "top 1/9": lambda: CutTable(
        laplace.TopCuts(F(1, 9), 1, 3), -1 - laplace.TopCuts(F(1, 9), 1, 3).reach, open_ends=True, **SMALL
    ),
    "digit 1/3": lambda: CutTable(laplace.DigitCuts(F(1, 3), 1, 4), 0, **SMALL),
    "digit 1/1000": lambda: CutTable(laplace.DigitCuts(F(1, 1000), 1, 8), 0, **SMALL),
    "digit 1/1000 step 4": lambda: CutTable(laplace.DigitCuts(F(1, 1000), 4, 4), 0, **SMALL),
    "rows 1": lambda: CutTable(
        gaussian.RowCuts(F(1), 1, 4), -2 - gaussian.RowCuts(F(1), 1, 4).reach, open_ends=True, **SMALL
    ),
    "rows 30 step 4": lambda: CutTable(
        gaussian.RowCuts(F(30), 4, 4), -2 - gaussian.RowCuts(F(30), 4, 4).reach, open_ends=True, **SMALL
    ),
    "rows 1/50": lambda: CutTable(
        gaussian.RowCuts(F(1, 50), 1, 4), -2 - gaussian.RowCuts(F(1, 50), 1, 4).reach, open_ends=True, **SMALL
    ),
}


LONG = ("top 1/9", "rows 30 step 4")
"""Tables of which others are like: they take ten seconds each."""


@pytest.mark.parametrize("bits", [24, pytest.param(32, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in TABLES])
def test_tables_give_the_exact_mass(name: str, bits: int) -> None:
    """Ties of two words, and of three."""
    check_mass(TABLES[name](), bits)


@pytest.mark.parametrize(
    "weights", [[F(1, 2), F(1, 2)], [F(1, 3), F(2, 3)], [F(1), F(0), F(2), F(5)], [F(0), F(1)], [F(7)]]
)
def test_choices_have_the_exact_mass(weights: list[Fraction]) -> None:
    table = CutTable(cuts_of(weights), 0, **SMALL)
    check_mass(table, 32, {i: real(w / sum(weights)) for i, w in enumerate(weights)})


def test_choices_among_real_weights_have_the_exact_mass() -> None:
    weights = [exp(F(-1, 2)), as_real(F(1, 3)), exp(F(-5))]
    true = [mpmath.e**-0.5, mpmath.mpf(1) / 3, mpmath.e**-5]
    table = CutTable(cuts_of(weights), 0, **SMALL)
    check_mass(table, 32, {i: w / sum(true) for i, w in enumerate(true)})


@pytest.mark.parametrize("gamma", [F(0), F(1, 7), F(2), F(40)])
def test_coins_have_the_exact_mass(gamma: Fraction) -> None:
    heads = mpmath.e ** -real(gamma)
    check_mass(CutTable(cuts_of([exp(-gamma), 1 - exp(-gamma)]), 0, **SMALL), 32, {0: heads, 1: 1 - heads})


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 11])
def test_uniform_has_the_exact_mass(size: int) -> None:
    for sample in (lambda b: choice.sample_uniform(size, bits=b), lambda b: int(choice.sample_uniform(size, 1, b)[0])):
        mass, undecided = exact_law(sample, 16)
        assert set(mass) == set(range(size))
        for seen in mass.values():
            assert seen <= F(1, size) <= seen + undecided
        assert undecided < F(1, 10)


class Outcomes(Exception):
    """The script of table outcomes ended at this table."""


def law_over_tables(
    sample: Any, tables: list[CutTable], most: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[int, Any], Any]:
    """The law of a sampler that draws from tables, each table having the exact law of its cuts (checked above)."""
    laws = {id(table): table_law(table) for table in tables}
    script: list[int] = []
    at = 0

    def draw(table: CutTable, bits: object) -> int:
        nonlocal at
        if at == len(script):
            raise Outcomes(table)
        at += 1
        return script[at - 1]

    monkeypatch.setattr(CutTable, "draw", draw)
    monkeypatch.setattr(
        CutTable, "draws", lambda table, bits, count: (np.array([draw(table, bits)], np.int16), np.arange(1))
    )
    mass: dict[int, Any] = {}
    undecided = mpmath.mpf(0)
    waiting: list[tuple[list[int], Any]] = [([], mpmath.mpf(1))]
    while waiting:
        script, weight = waiting.pop()
        at = 0
        try:
            value = sample()
            mass[value] = mass.get(value, 0) + weight
        except Outcomes as asked:
            if len(script) == most:
                undecided += weight
            else:
                waiting += [([*script, v], weight * w) for v, w in laws[id(asked.args[0])].items()]
    return mass, undecided


@pytest.mark.parametrize(("scale", "digit"), [(F(3, 2), 1), (F(4), 1), (F(5), 2), (F(1), 1)])
def test_laplace_digits_give_the_exact_mass(scale: Fraction, digit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sign, digits and tail put together: up to three lookups, and the tail carried on three times."""
    plan = laplace._Plan(scale, digit=digit, top=1, guide=4, width=8)
    assert len(plan.lower) == (scale > 1) + (scale > 1 << digit)

    def sample() -> int:
        return int(plan.many(ScriptedBits(()), 1)[0])

    most = 3 + len(plan.lower)
    mass, undecided = law_over_tables(sample, [plan.top, *plan.lower], most, monkeypatch)
    assert undecided < 1e-2
    r = mpmath.e ** (-1 / real(scale))
    reach = plan.step * plan.reach
    for value in range(-2 * reach, 2 * reach):  # carried on at least once
        true = (1 - r) / (1 + r) * r ** abs(value) if value >= 0 else (1 - r) / (1 + r) * r**-value
        assert abs(mass[value] - true) < mpmath.mpf(2) ** -300
    assert all(seen <= (1 - r) / (1 + r) * r ** abs(value) + mpmath.mpf(2) ** -300 for value, seen in mass.items())
    assert abs(sum(mass.values()) + undecided - 1) < mpmath.mpf(2) ** -300


@pytest.mark.parametrize("bits", [18, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("variance", [pytest.param(F(577), marks=pytest.mark.slow), F(2000, 3)])
def test_gaussian_rows_give_the_exact_mass(variance: Fraction, bits: int) -> None:
    """Rows and remainders, tails and signs: with the coin replaced by its exact weight, the law is the Gaussian's."""
    plan = gaussian._Plan(variance, guide=3, width=6)
    assert plan.shift >= 1
    kept: dict[int, Any] = {}
    mass, undecided = exact_law(plan.top.draw, bits)
    for signed, chance in mass.items():
        high = -1 - signed if signed < 0 else signed
        if high > plan.reach:
            continue
        _, coin = plan.row(signed, ScriptedBits(()))
        for remainder in range(plan.step):
            start = plan.step * high + coin
            weight = (
                real(chance) / plan.step * mpmath.e ** (-real(F(remainder * (2 * start + remainder)) / (2 * variance)))
            )
            value = -(start + remainder) if coin else start + remainder
            kept[value] = kept.get(value, 0) + weight
    base = kept[0]
    assert set(kept) == set(range(-(plan.step * (plan.reach + 1)), plan.step * (plan.reach + 1)))
    for value, weight in kept.items():
        true = mpmath.e ** (-mpmath.mpf(value * value) / (2 * real(variance)))
        assert abs(weight / base - true) < 1e-3
    assert undecided == F(2 * (plan.reach + 1) + 1, 1 << bits)  # one string for each cut: what lies just at it


def test_gaussian_tail_proposal_has_the_exact_weights() -> None:
    """Beyond the table: proposal times acceptance is the ratio of Gaussian weights."""
    plan = gaussian._Plan(F(577), guide=3, width=6)
    for coin in (0, 1):
        start = plan.step * (plan.reach + 1) + coin
        scale = plan.variance / (plan.step * start)
        for more in range(1, 6):
            proposal = real(F(more) / scale)
            accept = real(F((plan.step * more) ** 2) / (2 * plan.variance))
            true = real(F((start + plan.step * more) ** 2 - start**2) / (2 * plan.variance))
            assert abs(proposal + accept - true) < mpmath.mpf(10) ** -50


def test_gaussian_tail_is_drawn_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tail draws its geometric proposal with the scale above and flips the coin above, on both sides of zero."""
    plan = gaussian._Plan(F(577), guide=3, width=6)
    seen: list[Any] = []
    monkeypatch.setattr(gaussian, "sample_geometric", lambda scale, bits: seen.append(scale) or len(seen))
    monkeypatch.setattr(gaussian, "is_below_exp", lambda gamma, word, width, bits: seen.append(gamma) or len(seen) > 3)
    assert plan.row(plan.reach + 1, ScriptedBits(())) == (plan.reach + 1 + 3, 0)
    start = plan.step * (plan.reach + 1)
    assert seen[0] == seen[2] == plan.variance / (plan.step * start)
    assert seen[1] == F(plan.step**2) / (2 * plan.variance)
    assert seen[3] == F((3 * plan.step) ** 2) / (2 * plan.variance)
    seen[:] = [None] * 4
    high, coin = plan.row(-2 - plan.reach, ScriptedBits(()))
    assert coin == 1
    assert high > plan.reach
    assert seen[4] == plan.variance / (plan.step * (start + 1))
