"""Every encoder is audited as a black box: no violation at its epsilon, and one at a third of it."""

from fractions import Fraction

import pytest

from sfumato.audit import audit, of_function
from sfumato.local import ENCODERS
from sfumato.local.dbitflip import BitFlip
from sfumato.local.numbers import DuchiBit, HybridNumber, Piecewise
from sfumato.local.rappor import Rappor
from sfumato.local.sketch import CountMeanSketch, PrefixExtending
from sfumato.local.tape import SystemTape
from tests.local.small import as_input, inputs

SMALL = {
    "dbitflip": lambda: BitFlip.planned(3, 2, sampled=2),
    "rappor": lambda: Rappor.planned(2, 4, filter=4, hashes=1, cohorts=1),
    "count-mean-sketch": lambda: CountMeanSketch(1, 3, CountMeanSketch.planned(2).truth, 1, 5),
    "prefix": lambda: PrefixExtending(1, 2, 3 << 30, 2),
    "duchi": lambda: DuchiBit(DuchiBit.planned(2).truth, 4),
    "piecewise": lambda: Piecewise(2, Piecewise.planned(2).truth, 6),
    "hybrid": lambda: HybridNumber(1 << 31, 2, Piecewise.planned(2).truth, DuchiBit.planned(2).truth, 6),
    "local-hashing": lambda: ENCODERS["local-hashing"](3, 3, ENCODERS["local-hashing"].planned(3, 2).truth, 3),
}


def black_box(encoder):
    """A function that says itself which inputs are neighbours: all of them."""

    values = list(inputs(encoder))
    numbers = {report: number for number, report in enumerate(encoder.law(values[0]))}

    def report(value, size):
        rows = encoder.encode(as_input(encoder, value, size), SystemTape())
        return [numbers[row.tobytes()] for row in rows]

    report.pairs = [(values[0], values[-1]), (values[-1], values[0]), (values[0], values[1])]
    return of_function(report, name=encoder.name)


def audited(name, samples):
    encoder = SMALL.get(name, lambda: ENCODERS[name].planned(2 if name == "warner" else 3, 2))()
    assert encoder.epsilon > Fraction(1, 2)
    return [audit(black_box(encoder), encoder.epsilon / part, samples=samples).refuted for part in (1, 3)]


@pytest.mark.parametrize("name", ENCODERS)
def test_an_audit_finds_no_violation_at_epsilon_and_one_far_below(name):
    assert audited(name, 5_000) == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODERS)
def test_a_long_audit_finds_no_violation_at_epsilon(name):
    assert audited(name, 300_000) == [False, True]
