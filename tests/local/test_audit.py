"""Every encoder is audited as a black box: no violation at its epsilon, and one at a third of it."""

from fractions import Fraction

import pytest

from sfumato.audit import audit, of_function
from sfumato.cli.audit import run
from sfumato.errors import InputError
from sfumato.local import ENCODERS
from sfumato.local.audited import of_task
from sfumato.local.dbitflip import BitFlip
from sfumato.local.numbers import DuchiBit, HybridNumber, Piecewise
from sfumato.local.rappor import Rappor
from sfumato.local.sketch import CountMeanSketch, PrefixExtending
from sfumato.local.tape import SystemTape
from sfumato.local.task import planned_task
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


LARGE = {
    "rappor": lambda: Rappor.planned(2, 4, cohorts=1),
    "count-mean-sketch": lambda: CountMeanSketch.planned(2, hashes=1, columns=64, salt=3),
    "prefix": lambda: PrefixExtending(1, 2, 3 << 30, 2),
}
NUMBERS = {"duchi", "piecewise", "hybrid"}


@pytest.mark.parametrize(
    "name", ["warner", "k-ary", "symmetric-unary", "optimised-unary", "subset", "rappor", *sorted(NUMBERS)]
)
def test_a_task_is_audited_by_its_file(name, tmp_path, capsys):
    """Held at what it states; refuted at a third of it. Larger domains than can be listed."""
    encoder = LARGE.get(
        name, lambda: ENCODERS[name].planned(*(() if name in NUMBERS else (2 if name == "warner" else 30,)), 2)
    )()
    words = {"low": Fraction(0), "high": Fraction(1)} if encoder.takes == "numbers" else {}
    task = planned_task("t", encoder, **words)
    (tmp_path / "t.toml").write_text(task.to_toml())
    assert not audit(of_task(task), task.epsilon, samples=5_000).refuted
    with pytest.raises(SystemExit) as left:
        run(f"task:{tmp_path}/t.toml", None, str(float(task.epsilon) / 3), None, 5_000, as_json=False)
    assert left.value.code == 1
    assert "task t" in capsys.readouterr().out


def test_a_task_that_is_none_is_refused(tmp_path):
    with pytest.raises(InputError, match="neighbours"):
        run(f"task:{tmp_path}/t.toml", None, "1", "one", 100, as_json=False)
    with pytest.raises(OSError, match="No such file"):  # of which the command line makes an error
        run(f"task:{tmp_path}/t.toml", None, "1", None, 100, as_json=False)
