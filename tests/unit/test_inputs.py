"""The one way in for data: every release takes plain numbers for what they are, and refuses everything else by name."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

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
    response,
)
from sfumato.reals import exp
from sfumato.sampling import sample_bernoulli, sample_choice
from sfumato.types import as_written
from tests.unit.inputs import EDGES, SECRET, Case, accepted, refused

F = Fraction
SURE = 100
"""An epsilon at which noise is all but impossible: what comes out is what was understood."""
FAR = 2**70
Expected = Callable[[Any], Any]


class Anything:
    """Equal to every answer: where the law leaves several."""

    def __eq__(self, _: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Refused:
    """The numbers are plain, but not what this mechanism is for."""


@dataclass(frozen=True)
class Slot:
    """A place where a mechanism takes data, and what it answers to it without noise."""

    mechanism: str
    call: Callable[[Any], Any]
    expected: Expected


def one(numbers: Any) -> Any:
    return numbers if isinstance(numbers, int) else Refused


def one_of_any(numbers: Any) -> Any:
    return Anything() if isinstance(numbers, int) else Refused


def many(to: Expected) -> Expected:
    return lambda numbers: Refused if isinstance(numbers, int) else to(numbers)


def known(numbers: list[int]) -> Any:
    return Anything() if min(numbers) >= 0 else Refused


def within(low: int, high: int) -> Expected:
    def to(numbers: Any) -> Any:
        listed = [numbers] if isinstance(numbers, int) else numbers
        return numbers if low <= min(listed) and max(listed) <= high else Refused

    return to


def said(numbers: Any) -> list[int | None]:
    return [n if n >= 0 else None for n in ([numbers] if isinstance(numbers, int) else numbers)]


identity = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
sure = SparseVector(1, 10**4, 10)
weights = many(lambda numbers: Anything() if min(numbers) >= 0 else Refused)
SLOTS = {
    "Geometric": Slot("Geometric", Geometric(1, SURE).release, lambda numbers: numbers),
    "Geometric.refine": Slot(
        "Geometric", lambda v: Geometric(1, SURE).refine(v, 0, Geometric(1, SURE - 1)), one_of_any
    ),
    "TruncatedGeometric": Slot(
        "TruncatedGeometric", TruncatedGeometric(1, SURE, -FAR, FAR).release, lambda numbers: numbers
    ),
    "Laplace": Slot("Laplace", Laplace(1, SURE, 1).release, lambda numbers: numbers),
    "Laplace.release_steps": Slot("Laplace", Laplace(1, SURE, 1).release_steps, lambda numbers: numbers),
    "TruncatedLaplace": Slot(
        "TruncatedLaplace", TruncatedLaplace(1, SURE, 1, -FAR, FAR).release, lambda numbers: numbers
    ),
    "Gaussian": Slot("Gaussian", Gaussian(1, SURE).release, lambda numbers: numbers),
    "Staircase": Slot("Staircase", Staircase(1, SURE).release, one),
    "Exponential": Slot("Exponential", Exponential(1, SURE).release, many(lambda n: n.index(max(n)))),
    "PermuteAndFlip": Slot("PermuteAndFlip", PermuteAndFlip(1, SURE).release, many(lambda n: n.index(max(n)))),
    "NoisyMax": Slot("NoisyMax", NoisyMax(1, SURE).release, many(lambda n: n.index(max(n)))),
    "NoisyMax.release_with_gap": Slot(
        "NoisyMax",
        NoisyMax(1, SURE).release_with_gap,
        many(lambda n: (n.index(max(n)), max(n) - sorted(n)[-2] - 1)),  # the runner-up comes before the largest
    ),
    "RankedChoice": Slot("RankedChoice", RankedChoice(1, SURE).release, many(lambda n: 0 if min(n) >= 0 else Refused)),
    "RankedChoice lengths": Slot(
        "RankedChoice",
        lambda v: RankedChoice(1, 1).release([0, 10**9, 2 * 10**9], v),
        many(lambda n: Refused if min(n) < 1 else 0),
    ),
    "OrderStatistic": Slot(
        "OrderStatistic", lambda v: OrderStatistic(F(1, 2), 1, SURE).release([1, 2, 3], v, 0, 4), weights
    ),
    "OrderStatistic places": Slot(
        "OrderStatistic",
        lambda v: OrderStatistic(F(1, 2), 1, SURE).release(v, [0, 5, 0], -FAR, FAR),
        many(lambda n: n[1]),
    ),
    "MostFrequent": Slot(
        "MostFrequent",
        lambda v: MostFrequent(1, SURE).release([1, 2, 3], v, 0, 4),
        many(lambda n: Refused if min(n) < 0 else 1 + n.index(max(n))),
    ),
    "RankInterval": Slot(
        "RankInterval", lambda v: RankInterval(F(1, 2), 1, SURE).release([1, 2, 3], v, 0, 4, 2), weights
    ),
    "MostFrequent places": Slot(
        "MostFrequent", lambda v: MostFrequent(1, SURE).release(v, [0, 5, 0], -FAR, FAR), many(lambda n: n[1])
    ),
    "RandomizedResponse": Slot("RandomizedResponse", RandomizedResponse(SURE, 2**62 + 3).release, within(0, 2**62 + 2)),
    "RandomizedResponse of 2^63": Slot(
        "RandomizedResponse", RandomizedResponse(SURE, 2**63).release, within(0, 2**63 - 1)
    ),
    "RandomizedResponse of 2^65": Slot(
        "RandomizedResponse", RandomizedResponse(SURE, 2**65).release, within(0, 2**65 - 1)
    ),
    "SparseVector": Slot("SparseVector", sure.release, said),
    "SparseVector.Session.ask": Slot(
        "SparseVector", lambda v: sure.start(0).ask(v), lambda n: said(n)[0] if isinstance(n, int) else Refused
    ),
    "SparseVector.Session.ask_all": Slot(
        "SparseVector", lambda v: sure.start(0).ask_all(v)[1], lambda n: [max(0, n)] if isinstance(n, int) else Refused
    ),
    "Channel": Slot("Channel", Channel(identity).release, within(0, 2)),
    "Channel with names": Slot(
        "Channel",
        Channel(identity, ["a", 2**62, "c"], ["a", 2**62, "c"]).release,
        lambda n: n if n == 2**62 else Refused,
    ),
    "KeySelection": Slot("KeySelection", KeySelection(1, "1e-6").release, many(known)),
    "GaussianKeySelection": Slot("GaussianKeySelection", GaussianKeySelection(1, "1e-6").release, many(known)),
    "ThresholdedCounts": Slot("ThresholdedCounts", ThresholdedCounts(1, SURE, "1e-6").release, many(known)),
    "PrefixSums": Slot(
        "PrefixSums",
        PrefixSums(1, 3, epsilon=SURE).release,
        many(lambda n: np.cumsum(np.array(n, object)).tolist()),
    ),
    "PrefixSums by rho": Slot("PrefixSums", PrefixSums(1, 3, rho=1).release, many(lambda _: Anything())),
}


def plain(answer: Any) -> Any:
    """An answer as lists and ints."""
    return answer.tolist() if isinstance(answer, np.ndarray) else answer


def outcome(slot: Slot, case: Case) -> str:
    """What happened, in one word; anything but the right thing fails here."""
    expected = Refused if case.numbers is None else slot.expected(case.numbers)
    if expected is not Refused:
        assert plain(slot.call(case.value)) == expected, case.kind
        return "taken"
    with pytest.raises(InputError) as caught:
        slot.call(case.value)
    text = f"{caught.value}\n{caught.value.to_dict()}"
    assert str(SECRET) not in text
    if case.numbers is not None:
        return "out of range"
    named = (case.kind, "finite", "not an input of the channel", "one number")
    assert any(word in text for word in named), (case.kind, text)
    return "refused"


def test_every_mechanism_has_a_slot() -> None:
    assert {slot.mechanism for slot in SLOTS.values()} == set(MECHANISMS)


@pytest.mark.parametrize("every", [29, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SLOTS)
def test_plain_numbers_are_taken_for_what_they_are_and_all_else_is_refused_by_name(
    name: str, every: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every container, every width and every edge at every slot; without noise the answer is a function of the data."""
    slot = SLOTS[name]
    seen: Counter[tuple[str, str]] = Counter()
    edges: Counter[int] = Counter()
    for case in (*[*accepted()][::every], *refused()):
        if case.value is None and name == "RankedChoice lengths":
            continue  # no lengths
        happened = outcome(slot, case)
        seen[case.kind, happened] += 1
        if happened == "taken":
            listed = [case.numbers] if isinstance(case.numbers, int) else case.numbers
            edges.update(edge for edge in EDGES if edge in listed)
    totals = {word: sum(n for (_, w), n in seen.items() if w == word) for word in ("taken", "out of range", "refused")}
    with capsys.disabled():
        shown = ", ".join(f"{count} {word}" for word, count in totals.items())
        sys.stdout.write(f"\n{name:30} {shown}; {len({kind for kind, _ in seen})} kinds, {len(edges)} edges ")
    assert totals["refused"] > 300
    assert totals["taken"]
    if every == 1:
        assert {kind for kind, happened in seen if happened != "refused"} == {case.kind for case in accepted()}
        assert set(edges) == {edge for edge in EDGES if _is_taken(slot, edge)}


def _is_taken(slot: Slot, edge: int) -> bool:
    return any(slot.expected(numbers) is not Refused for numbers in (edge, sorted({1, 2, edge})))


def test_arrays_keep_their_shape() -> None:
    for law in (Geometric(1, SURE), Laplace(1, SURE, 1), Gaussian(1, SURE), RandomizedResponse(SURE, 99)):
        for shape in ((2, 3), (6, 1), (1, 2, 3), (0,), (3, 0)):
            for order in ("C", "F"):
                values = np.asarray(np.arange(np.prod(shape)).reshape(shape), order=order)
                for dtype in (np.int16, np.uint64, object):
                    released = law.release(values.astype(dtype, order=order))
                    assert type(released) is np.ndarray
                    assert released.shape == shape
                    assert released.tolist() == values.tolist()
    assert Channel(identity).release(np.array([[0, 1], [2, 0]], order="F")).tolist() == [[0, 1], [2, 0]]
    assert Geometric(1, SURE).release(np.broadcast_to(np.array(5), (2, 2))).tolist() == [[5, 5], [5, 5]]


def test_what_is_released_is_not_changed() -> None:
    for law in (Geometric(1, 1), Laplace(1, 1, 1), Gaussian(1, 1), NoisyMax(1, 1), PrefixSums(1, 3, epsilon=1)):
        for values in (np.array([5, 6, 7]), np.array([5, 6, 2**70], object), [5, 6, 7]):
            before = plain(values)
            law.release(values)
            assert plain(values) == list(before)


def test_floats_reach_a_grid_by_their_exact_value() -> None:
    """Neighbours one step apart land one step apart, whatever the width of the float; wider ones are refused."""
    law = Laplace(F(1, 2**80), SURE, F(1, 2**80))
    for kind in (float, np.float16, np.float32, np.float64):
        for number in (1.5, -0.1, 2.0**-70, 1000.5):
            assert law.release(kind(number)) == F(float(kind(number)))
            assert law.release(np.array(number, kind)) == F(float(np.array(number, kind)))
    for bad in (np.longdouble(1), np.array(1, np.longdouble), np.longdouble("nan")):
        for grid in (law, TruncatedLaplace(1, 1, 1, 0, 9)):
            with pytest.raises(InputError, match="float of at most 64 bits, but was given longdouble"):
                grid.release(bad)
    for bad in (float("inf"), np.float32("nan"), np.array(np.nan)):
        with pytest.raises(InputError, match="finite"):
            law.release(bad)
    for bad in ([0.5], np.array([0.5]), np.array([[1.0]])):
        with pytest.raises(InputError, match="float"):
            law.release(bad)


SIZES = [
    2,
    3,
    4,
    *(2**power + step for power in (31, 53, 62, 63, 64, 70) for step in (-1, 0, 1)),
    2**62 + 2**61,
    7 * 2**60,
]


@pytest.mark.parametrize("size", SIZES)
def test_a_lie_is_the_stated_one_at_every_size(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Value and shift at the ends of their ranges and anywhere between: the answer is their sum modulo the size."""
    law = RandomizedResponse("1e-9", size)
    spots = sorted(
        {0, 1, size // 3, size // 2, size // 2 + 1, size - 2, size - 1} & set(range(min(size, 10**6)))
        | {n for n in (0, size // 3, size // 2, size - 2, size - 1) if 0 <= n < size}
    )
    pairs = [(value, shift) for value in spots for shift in spots if shift < size - 1]
    shifts = np.array([shift for _, shift in pairs], np.int64 if size - 1 <= 2**63 else object)
    values = [value for value, _ in pairs]
    monkeypatch.setattr(response, "sample_uniform", lambda below, _: shifts if below == size - 1 else None)
    for lie in (0, 1):
        coin = lambda _, count, lie=lie: (np.full(count, lie, np.int16), None)  # noqa: E731  a stand-in for one line
        monkeypatch.setattr(RandomizedResponse, "_coin", type("Coin", (), {"draws": staticmethod(coin)}))
        answers = law.release(values).tolist()
        assert answers == [(value + lie * (shift + 1)) % size for value, shift in pairs]


@pytest.mark.parametrize("size", [5, 2**62 + 1, 2**62 + 2**61, 2**63 - 1, 2**63, 2**63 + 1, 2**70])
def test_answers_of_any_size_lie_in_range_and_everywhere(size: int) -> None:
    law = RandomizedResponse("1e-9", size)
    for value in (0, size - 1):
        answers = [int(n) for n in law.release([value] * 4000)]
        assert min(answers) >= 0
        assert max(answers) < size
        parts = Counter(5 * answer // size for answer in answers)
        assert all(600 < parts[part] < 1000 for part in range(5))  # 800 each, eight standard deviations


@pytest.mark.parametrize("count", [-1, True, 1.5, "3", np.float64(2), [1]])
def test_a_count_is_a_whole_number(count: Any) -> None:
    for call in (
        lambda: Exponential(1, 1).release([1, 2], count),
        lambda: PermuteAndFlip(1, 1).release([1, 2], count),
        lambda: NoisyMax(1, 1).release([1, 2], count),
        lambda: RankedChoice(1, 1).release([1, 2], None, count),
        lambda: Staircase(1, 1).release(1, count),
        lambda: PrefixSums(1, 2, epsilon=1).release([1, 2], count),
        lambda: SparseVector(1, 1).release([1, 2], 0, count),
        lambda: OrderStatistic(F(1, 2), 1, 1).release([1], [1], 0, 9, count),
        lambda: MostFrequent(1, 1).release([1], [1], 0, 9, count),
    ):
        with pytest.raises(InputError, match="count must be"):
            call()


def test_a_count_may_be_zero() -> None:
    assert Exponential(1, 1).release([1, 2], 0).size == 0
    assert PermuteAndFlip(1, 1).release([1, 2], 0).size == 0
    assert NoisyMax(1, 1).release([1, 2], 0).size == 0
    assert RankedChoice(1, 1).release([1, 2], None, 0).size == 0
    assert Staircase(1, 1).release(1, 0).size == 0
    assert PrefixSums(1, 2, epsilon=1).release([1, 2], 0).size == 0
    assert SparseVector(1, 1).release([1, 2], 0, 0)[0].shape == (0, 2)
    assert SparseVector(1, 1).release([], 0, 3)[0].shape == (3, 0)
    assert MostFrequent(1, 1).release([1], [1], 0, 9, 0).size == 0


def test_parameters_made_of_numpy_integers_do_not_wrap() -> None:
    for number in (F(np.int64(2**62), np.int64(3)), F(np.int8(100), np.int8(7)), np.uint64(2**63), np.int64(2**62)):
        read = as_written(number)
        assert type(read.numerator) is type(read.denominator) is int
        assert read * 2**70 == F(int(number.numerator), int(number.denominator)) * 2**70
    assert Geometric(F(np.int64(2**62), np.int64(1)), F(np.int64(1), np.int64(2**62))).scale == 2**124
    for bad in (np.timedelta64(5, "s"), np.timedelta64("NaT"), np.datetime64("NaT"), np.ma.masked):
        with pytest.raises(InputError, match="epsilon must be a number"):
            Geometric(1, bad)


def test_chances_and_weights_that_are_none_are_refused() -> None:
    for bad in ([1, -1], [F(-1, 2), F(3, 2)], [-1], [0, 0], [0], []):
        with pytest.raises(InputError, match=r"weight|outcomes"):
            sample_choice(bad)
    for bad in ([exp(1), -exp(0)], [exp(1) - exp(2)], [exp(F(1, 2)), F(-1)]):
        with pytest.raises(InputError, match="weight"):
            sample_choice(bad)
    for bad in ([math.nan, 1], [math.inf, 1], ["1", 1], [None, 1], [1j, 1], [Decimal("NaN"), 1]):
        with pytest.raises(InputError, match="a weight must be a"):
            sample_choice(bad)
    for chance in (F(-1, 2), F(3, 2), math.nan, math.inf, "x", None, 1j):
        with pytest.raises(InputError, match="probability"):
            sample_bernoulli(chance)
