"""Mechanisms by example: what goes in, what comes out, and what is refused."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato import mechanisms
from sfumato.accounting import BoundedRange, GaussianSelection, Pure, Selection, charge
from sfumato.accounting import GaussianRelease as GaussianEvent
from sfumato.errors import InputError
from sfumato.mechanisms import (
    MECHANISMS,
    Channel,
    Exponential,
    Gaussian,
    GaussianKeySelection,
    Geometric,
    KeySelection,
    Laplace,
    MostFrequent,
    NoisyMax,
    OrderStatistic,
    PermuteAndFlip,
    PrefixSums,
    RandomizedResponse,
    RankedChoice,
    RankInterval,
    SparseVector,
    Staircase,
    ThresholdedCounts,
    TruncatedGeometric,
    TruncatedLaplace,
)
from sfumato.types import Adjacency, Exact

F = Fraction
WITH_EPSILON: dict[str, Callable[[Any, Any], Any]] = {
    "Geometric": Geometric,
    "TruncatedGeometric": lambda s, e: TruncatedGeometric(s, e, 0, 9),
    "Laplace": lambda s, e: Laplace(s, e, "0.1"),
    "TruncatedLaplace": lambda s, e: TruncatedLaplace(s, e, "0.1", 0, 1),
    "Gaussian": Gaussian,
    "Exponential": Exponential,
    "PermuteAndFlip": PermuteAndFlip,
    "NoisyMax": NoisyMax,
    "RankedChoice": RankedChoice,
    "OrderStatistic": lambda s, e: OrderStatistic(F(1, 2), s, e),
    "MostFrequent": MostFrequent,
    "RankInterval": lambda s, e: RankInterval(F(1, 2), s, e),
    "RandomizedResponse": lambda s, e: RandomizedResponse(e, 2 if s == 1 else s),
    "Staircase": Staircase,
    "SparseVector": SparseVector,
    "KeySelection": lambda s, e: KeySelection(e, "1e-6", s),
    "GaussianKeySelection": lambda s, e: GaussianKeySelection(e, "1e-6", s),
    "ThresholdedCounts": lambda s, e: ThresholdedCounts(s, e, "1e-6"),
    "PrefixSums": lambda s, e: PrefixSums(s, 8, epsilon=e),
}
EXAMPLES: dict[str, Any] = {
    **{name: make(1, "0.5") for name, make in WITH_EPSILON.items()},
    "Channel": Channel([[F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)]]),
}


def test_every_mechanism_has_an_example() -> None:
    assert set(EXAMPLES) == set(MECHANISMS)


@pytest.mark.parametrize("name", WITH_EPSILON)
@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "-inf", None, True, "much", 1j])
def test_bad_epsilon_is_refused(name: str, bad: Any) -> None:
    with pytest.raises(InputError, match=r"^(epsilon|rho) must be|^give epsilon"):
        WITH_EPSILON[name](1, bad)


@pytest.mark.parametrize("name", [n for n in WITH_EPSILON if n != "RandomizedResponse"])
@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), True, "x", 0])
def test_bad_sensitivity_is_refused(name: str, bad: Any) -> None:
    with pytest.raises(InputError, match=r"^(sensitivity|sensitivity_l1|sensitivity_l2|keys_per_unit|norm) must be"):
        WITH_EPSILON[name](bad, 1)


@pytest.mark.parametrize("name", [n for n in WITH_EPSILON if n != "RandomizedResponse"])
def test_missing_sensitivity_is_refused(name: str) -> None:
    with pytest.raises((InputError, TypeError)):
        WITH_EPSILON[name](None, 1)
    with pytest.raises(TypeError):
        MECHANISMS[name]()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_event_is_what_the_loss_says(name: str) -> None:
    """Priced by the accountant and by the mechanism: the same, at the distance that it was made for."""
    mechanism = EXAMPLES[name]
    assert charge(mechanism.event) == mechanism.loss(1)
    assert isinstance(mechanism.event, (Pure, BoundedRange, Selection, GaussianEvent, GaussianSelection))
    assert mechanism.loss(0).epsilon in (0, None)
    assert mechanism.loss(0).rho == 0
    with pytest.raises(InputError, match="distance must be"):
        mechanism.loss(-1)


@pytest.mark.parametrize(
    "name", ["Geometric", "TruncatedGeometric", "Laplace", "TruncatedLaplace", "Gaussian", "Staircase"]
)
def test_numbers_in_numbers_out(name: str) -> None:
    mechanism = EXAMPLES[name]
    for value in (5, F(5), Decimal(5), np.int64(5), np.uint8(5), Exact(5), Exact(np.int32(5))):
        assert isinstance(mechanism.release(value), (int, Fraction))
    if name == "Staircase":
        with pytest.raises(InputError, match="one number"):
            mechanism.release([1, 2])
        return
    for array in (
        np.arange(6).reshape(2, 3),
        Exact(np.arange(6).reshape(2, 3)),
        np.arange(6, dtype=np.uint64).reshape(2, 3),
    ):
        noisy = mechanism.release(array)
        assert noisy.shape == (2, 3)
    assert mechanism.release([]).size == 0
    assert len(mechanism.release([1, 2, 3])) == 3


@pytest.mark.parametrize("name", ["Geometric", "TruncatedGeometric", "Gaussian", "Staircase"])
@pytest.mark.parametrize(
    "bad", [0.5, 3.0, np.float32(1), np.array([1.0]), [1, 2.5], F(1, 2), True, np.array([True]), "5", None]
)
def test_floats_and_strays_are_refused(name: str, bad: Any) -> None:
    with pytest.raises(InputError, match="needs"):
        EXAMPLES[name].release(bad)


def test_laplace_takes_floats_through_its_grid() -> None:
    law = Laplace(1, 1, "0.01")
    released = law.release(0.1)
    assert (released / F(1, 100)).denominator == 1
    for bad in (float("nan"), float("inf"), Decimal("nan"), "1", True, None):
        with pytest.raises(InputError, match="needs a"):
            law.release(bad)
    with pytest.raises(InputError, match="needs whole numbers, but was given an array of float64"):
        law.release(np.array([0.1, 0.2]))
    with pytest.raises(InputError, match="multiple of the grid"):
        law.release([F(1, 300)])
    assert law.release([F(1, 100), 2]).shape == (2,)


def test_laplace_rounds_halves_upward() -> None:
    """At an epsilon where noise is all but impossible."""
    law = Laplace(1, 10**6, 1)
    assert [law.release(x) for x in (0.5, -0.5, 1.5, F(7, 3))] == [1, 0, 2, 2]


def test_truncated_answers_stay_in_range() -> None:
    law = TruncatedGeometric(1, "0.01", -3, 4)
    drawn = law.release(np.zeros(500, int))
    assert drawn.min() == -3
    assert drawn.max() == 4
    fine = TruncatedLaplace(1, "0.01", "0.5", 0, 2).release([1] * 300)
    assert set(fine.tolist()) <= {F(i, 2) for i in range(5)}
    with pytest.raises(InputError, match="low must be at most high"):
        TruncatedGeometric(1, 1, 5, 4)
    with pytest.raises(InputError, match="multiples of the grid"):
        TruncatedLaplace(1, 1, "0.5", "0.3", 2)
    with pytest.raises(InputError, match="at most 512"):
        TruncatedGeometric(1, 1, 0, 10**6).channel()


def test_nothing_wraps() -> None:
    """Values and noise beyond 64 bits are Python ints; the array's type is a function of the answer alone."""
    near = Geometric(1, 1).release(np.array([2**63 - 1] * 200))
    assert all(abs(int(x) - (2**63 - 1)) < 80 for x in near)  # 80 scales: once in 1e32 runs
    assert max(int(x) for x in near) >= 2**63
    wide = Geometric(2**80, 1).release(np.zeros(50, int))
    assert wide.dtype == object
    assert max(abs(int(x)) for x in wide) > 2**78
    assert abs(Geometric(1, 1).release(10**40) - 10**40) < 1000
    gauss = Gaussian(2**70, "0.5").release(np.zeros(20, int))
    assert gauss.dtype == object
    assert Geometric(1, 1).release(np.array([2**70], object)).dtype == object
    assert Geometric(1, 50).release(np.array([7], object)).dtype == np.int64


def test_exact_numbers_stay_sealed_in_errors() -> None:
    secret = Exact(987654321.5)
    with pytest.raises(InputError) as caught:
        Geometric(1, 1).release(secret)
    assert "987654321" not in str(caught.value) + repr(caught.value.to_dict())
    with pytest.raises(TypeError):
        pickle.dumps(secret)


def test_scores() -> None:
    for kind in (Exponential, PermuteAndFlip, NoisyMax):
        law = kind(1, 60)
        assert law.release([1, 2, 90]) == 2
        assert law.release(Exact([1, 90, 2])) == 1
        assert law.release(np.array([5])) == 0
        for bad in ([], 3, [1.5, 2], [[1], [2]], [True]):
            with pytest.raises(InputError):
                law.release(bad)
    assert Exponential(1, 60).release([F(1, 3), F(40, 3), 1]) == 1
    assert Exponential(1, 60).release([Exact(1), Exact(40)]) == 1
    for score in (
        np.int64(40),
        Decimal(40),
        Decimal("40.5"),
        Exact(40),
    ):  # one scale for all, whatever they are written as
        assert Exponential(1, 60).release([F(1, 3), score, F(61, 2), 20]) == 1
    assert NoisyMax(1, 60).release_with_gap([7])[1] == 0


def test_ranked_choices() -> None:
    law = RankedChoice(1, 60)
    assert law.release([90, 2, 1 + 90]) == 1
    assert law.release(Exact(np.array([90, 91, 3], np.int32)), Exact([1, 2**62, 1])) == 2
    assert law.release([2**80, 2**70, 2**90], [1, 2**62, 2**62]) == 1
    assert law.release(np.array([2**63 - 1, 0]), np.array([2**62, 1])) == 1
    assert law.release(np.array([5]), [7]) == 0
    assert law.release([0, 1], [1, 2**200]) == 1  # a better score does not make up for so many candidates
    scores = np.arange(200)
    assert law.release(scores) < 3
    assert scores[0] == 0
    for bad in ([], 3, [1.5, 2], [[1], [2]], [True], [-1, 2], np.array([-1, 2]), [2**70, -1], None):
        with pytest.raises(InputError):
            law.release(bad)
    for bad in ([], 3, [1.5, 2], [[1], [2]], [True, True], [1, 0], [1], [1, 1, 1], np.array([1, -1])):
        with pytest.raises(InputError):
            law.release([4, 5], bad)
    assert [float(p) for p in law.mass([3])] == [1]
    with pytest.raises(InputError) as caught:
        law.release(Exact([-987654321, 2]))
    assert "987654321" not in str(caught.value) + repr(caught.value.to_dict())


def test_responses() -> None:
    law = RandomizedResponse("0.5", 3)
    assert set(law.release(np.zeros(300, int)).tolist()) == {0, 1, 2}
    assert law.release(2) in (0, 1, 2)
    for bad in (3, -1, [0, 3]):
        with pytest.raises(InputError, match="from 0 to 2"):
            law.release(bad)
    for bad in ("1/2", "0.3"):
        with pytest.raises(InputError, match="likelier"):
            RandomizedResponse.telling_truth(bad)
    assert law.loss(1) == law.loss(7)


def test_channels() -> None:
    for bad in ([], [[]], [[1], [F(1, 2), F(1, 2)]]):
        with pytest.raises(InputError, match="matrix"):
            Channel(bad)
    with pytest.raises(InputError, match=r"row 1 of the channel must add up to 1, but adds up to 0\.9"):
        Channel([[F(1, 2), F(1, 2)], ["0.5", "0.4"]])
    with pytest.raises(InputError, match="between 0 and 1"):
        Channel([[2, -1]])
    channel = Channel([["0.75", 0.25], [F(1, 4), Decimal("0.75")]])
    assert float(channel.epsilon()) == pytest.approx(1.0986122886681098)
    with pytest.raises(InputError, match="from 0 to 1"):
        channel.release(2)
    with pytest.raises(InputError, match="cannot be charged"):
        Channel([[1, 0], [0, 1]]).event  # noqa: B018  the property itself refuses
    assert Channel([[1, 0], [0, 1]]).loss(1).epsilon is None


def test_refinements() -> None:
    before, after = Geometric(1, "0.1"), Geometric(1, "0.3")
    assert isinstance(after.refine(Exact(50), 57, before), int)
    with pytest.raises(InputError, match="larger epsilon"):
        before.refine(50, 57, after)
    with pytest.raises(InputError, match="has the sensitivity"):
        after.refine(50, 57, Geometric(2, "0.1"))
    with pytest.raises(InputError, match="one number"):
        after.refine([50], 57, before)


def test_selections() -> None:
    for law in (KeySelection(1, "1e-6"), GaussianKeySelection("0.5", "1e-6")):
        shown = law.release([0, 10**6, 10**30])
        assert shown.tolist() == [False, True, True]
        assert law.release([]).size == 0
        for bad in (5, [-1], [0.5], [[1]]):
            with pytest.raises(InputError):
                law.release(bad)
        with pytest.raises(InputError, match="one person"):
            law.loss(2)
    for bad in (0, 1, -1, "nan"):
        with pytest.raises(InputError, match="delta must be"):
            KeySelection(1, bad)
    with pytest.raises(InputError, match="adjacency must be"):
        KeySelection(1, "1e-6", 1, "swap")
    assert KeySelection(1, "1e-6", adjacency="replace").adjacency is Adjacency.REPLACE


def test_prefix_sums() -> None:
    with pytest.raises(InputError, match="give epsilon for the tree, or rho"):
        PrefixSums(1, 8)
    with pytest.raises(InputError, match="give epsilon for the tree, or rho"):
        PrefixSums(1, 8, epsilon=1, rho=1)
    with pytest.raises(InputError, match="list of 8 whole numbers"):
        PrefixSums(1, 8, epsilon=1).release([1, 2])
    with pytest.raises(InputError, match="length must be"):
        PrefixSums(1, 0, epsilon=1)
    assert np.all(np.abs(PrefixSums(1, 8, epsilon=10**4).release(np.arange(8)) - np.cumsum(np.arange(8))) <= 1)


def test_gaussian_takes_a_squared_sensitivity() -> None:
    """Twenty keys of one person have L2 norm sqrt 20, which is no fraction; its square is."""
    assert Gaussian(None, "0.5", squared=20).variance == 20
    assert Gaussian(2, "0.5").variance == 4
    with pytest.raises(InputError, match="give sensitivity_l2, or its square"):
        Gaussian(1, 1, squared=1)
    with pytest.raises(InputError, match="distance must be"):
        Gaussian(None, "0.5", squared=20).delta(1)
    with pytest.raises(InputError, match="epsilon must be at least 0"):
        Gaussian(1, 1).delta(-1)


@pytest.mark.parametrize("confidence", [0, 1, "1.2", -1, "nan"])
def test_bad_confidence_is_refused(confidence: Any) -> None:
    for law in (Geometric(1, 1), Gaussian(1, 1), Laplace(1, 1, 1), Staircase(1, 1), PrefixSums(1, 3, epsilon=1)):
        with pytest.raises(InputError, match="confidence must be"):
            law.interval(confidence)


def test_decimals_are_the_decimals_written() -> None:
    for written in (0.1, "0.1", Decimal("0.1"), F(1, 10), np.float64(0.1)):
        assert Geometric(1, written).epsilon == F(1, 10)


def test_order_statistics_find_what_is_there() -> None:
    places, weights = [10, 20, 30], Exact([100, 100, 100])
    assert OrderStatistic(Fraction(1, 2), 1, 60).release(places, weights, 0, 40) == 20
    assert 30 <= OrderStatistic(Fraction(1), 1, 60).release(places, weights, 0, 40) <= 40
    assert OrderStatistic(None, 1, 60).release(places, weights, 0, 40) == 10
    assert OrderStatistic(None, 1, 60, from_end="high").release(places, weights, 0, 40) == 30
    assert MostFrequent(1, 60).release([10, 20], Exact([1, 900]), 0, 10**9) == 20
    for law in (OrderStatistic(Fraction(1, 2), 1, 1), OrderStatistic(None, 1, 1), MostFrequent(1, 1)):
        assert 5 <= law.release([], Exact([]), 5, 9) <= 9  # nothing to choose from gives a candidate
        assert law.event.epsilon == 1
    with pytest.raises(InputError):
        OrderStatistic(Fraction(3, 2), 1, 1)
    for law in (OrderStatistic(Fraction(1, 2), 1, 1), OrderStatistic(None, 1, 1), MostFrequent(1, 1)):
        for places, weights in (([3, 2], [1, 1]), ([1, 1], [1, 1]), ([-1], [1]), ([10], [1])):
            with pytest.raises(InputError, match="places must increase, from low to high"):
                law.release(places, Exact(weights), 0, 9)
        for places, weights in (([1], [1, 1]), (1, 1), ([[1]], [[1]]), ([1], [])):
            with pytest.raises(InputError, match=r"a list of places|one number"):
                law.release(places, Exact(weights), 0, 9)
        with pytest.raises(InputError, match="at least 0"):
            law.release([1], Exact([-1]), 0, 9)
        with pytest.raises(InputError, match="low must be at most high"):
            law.release([], [], 9, 0)
        few = {4} if isinstance(law, OrderStatistic) and law.fraction is None else {2, 3, 4}  # no value is above 4
        assert set(law.release([3], [1], 2, 4, count=300).tolist()) == few
    with pytest.raises(InputError, match="from_end"):
        OrderStatistic(None, 1, 1, from_end="up")


TYPED = """
from decimal import Decimal
from fractions import Fraction
from sfumato import design, geo
from sfumato.design.optimum import Optimum
from sfumato.mechanisms import Gaussian, Geometric, KeySelection, Laplace, OrderStatistic, PrefixSums, SparseVector

Geometric(1, 1)
Geometric(Fraction(1), "0.5")
Laplace(1, 0.5, Decimal("0.1"))
Gaussian(None, "0.5", squared=20)
KeySelection(1, "1e-6", adjacency="replace")
OrderStatistic(None, 1, 1)
PrefixSums(1, 8, epsilon=1)
epsilon: Fraction = Geometric(1, 1).epsilon
positives: int = SparseVector(1, 1).positives
noisy: int = Geometric(1, 1).release(5)
best: Optimum = design.optimal("uniform", "distance", 1, "manhattan", inputs=range(3))
place: geo.LocationMechanism = geo.within("ln 4", 200, around=(48.85, 2.35))
"""


@pytest.mark.slow
def test_what_people_write_type_checks(tmp_path: Path) -> None:
    """Parameters may be written as int, float, Decimal, Fraction or text, and are read as Fractions."""
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(TYPED)
    wrong.write_text(
        TYPED + "Geometric([1], 1)\nword: str = Geometric(1, 1).epsilon\n"
        'none: str = Geometric(1, 1).release(5)\nless: str = design.optimal("uniform", "distance", 1, "manhattan")\n'
        'sent: str = geo.within("ln 4", 200, around=(48.85, 2.35))\n'
    )
    source = str(Path(mechanisms.__file__).parents[2])
    for file, errors in ((right, 0), (wrong, 5)):
        run = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(file)],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "MYPYPATH": source},
        )
        assert run.stdout.count(": error:") == errors, run.stdout
