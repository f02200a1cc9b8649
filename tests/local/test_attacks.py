"""What an adversary would try: bytes that are no reports, files that say more than they should, sizes without end."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato.errors import InputError
from sfumato.local import ENCODERS, read_task
from sfumato.local.decoding import ReportTally
from sfumato.local.kary import KAryResponse
from sfumato.local.numbers import DuchiBit
from sfumato.local.plan import plans
from sfumato.local.task import planned_task
from tests.local.small import DRAWN, same_salt
from tests.local.vectors import ODD

EVERY = [encoder for encoder, _ in DRAWN] + [
    same_salt(plan.encoder)
    for takes, size in (("values", 37), ("numbers", 2), ("strings", 2))
    for plan in plans(takes, 1000, 1, size=size)
]


def task_of(encoder):
    words = {"low": Fraction(0), "high": Fraction(1)} if encoder.takes == "numbers" else {}
    return planned_task("t", encoder, **words)


@pytest.mark.parametrize("encoder", EVERY, ids=str)
def test_arbitrary_bytes_are_counted_or_left_out_and_never_an_exception(encoder):
    dice = np.random.default_rng(8)
    rows = dice.integers(0, 256, (400, encoder.width), dtype=np.uint8)
    rows[::2] = np.minimum(rows[::2], dice.integers(0, 4))
    rows[0], rows[1] = 0, 255
    tally = ReportTally(task_of(encoder), ["a", "b"])
    tally.add(rows)
    tally.add_bytes([row.tobytes() for row in rows[:5]] + [b"", b"x" * (encoder.width + 1)])
    assert tally.reports + tally.malformed == 407
    assert tally.malformed >= 2
    if tally.reports > 10:
        for row in tally.estimates():
            assert np.isfinite([row.estimate, row.low, row.high]).all()


@pytest.mark.parametrize("encoder", [encoder for encoder, _ in DRAWN], ids=str)
def test_valid_reports_are_exactly_those_that_can_be_sent(encoder):
    """Of all byte strings of this width, if there are not too many of them, and of changed ones otherwise."""
    value = "a" if encoder.takes == "strings" else 0
    possible = {report for report, chance in encoder.law(value).items() if chance}
    if encoder.width <= 2:
        rows = np.array([list(i.to_bytes(encoder.width, "little")) for i in range(256**encoder.width)], np.uint8)
    else:
        dice = np.random.default_rng(5)
        rows = np.array([list(report) for report in possible] * 20, np.uint8)
        rows[np.arange(len(rows)), dice.integers(0, encoder.width, len(rows))] = dice.integers(0, 5, len(rows))
    good = encoder.valid(rows)
    assert {row.tobytes() for row in rows[good]} <= possible
    assert good.any()
    assert not {row.tobytes() for row in rows[~good]} & possible


@pytest.mark.parametrize("name", [name for name, kind in ENCODERS.items() if kind.takes == "values"])
def test_sizes_without_end_are_refused_at_once(name):
    for size in (10**8, 10**12, 1 << 40):
        with pytest.raises(InputError, match=r"at most|two values"):
            ENCODERS[name].planned(size, 1)


def test_rare_letters_quotes_and_controls_survive_a_task_file():
    values = ODD
    task = planned_task("t", KAryResponse.planned(len(values), 1), values=values, question='Why "🌹"? # really')
    assert read_task(task.to_toml()) == task
    assert task.to_toml().count("\n") == 11  # one line a value
    with pytest.raises(InputError, match="Unicode"):
        planned_task("t", KAryResponse.planned(2, 1), values=("\ud800", "b"))


@pytest.mark.parametrize(("low", "high"), [("1", "1"), ("2", "1"), ("1e400", "1e401"), ("1", "1.00000000000000000001")])
def test_a_range_that_floats_cannot_hold_is_refused(low, high):
    with pytest.raises(InputError, match="low is smaller"):
        planned_task("t", DuchiBit.planned(1), low=Fraction(low), high=Fraction(high))
    wide = Fraction("1.7e308")
    with pytest.raises(InputError, match="low is smaller"):
        planned_task("t", DuchiBit.planned(1), low=-wide, high=wide)
