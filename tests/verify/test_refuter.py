"""Chances are what they should be, and witnesses show what they say."""

import json
from fractions import Fraction
from functools import partial
from math import exp
from pathlib import Path

import pytest
from scipy.integrate import quad

from sfumato.verify import program
from sfumato.verify.parse import read_program
from sfumato.verify.refuter.chances import CentredLaw, NotComputed, chance, with_precision
from sfumato.verify.refuter.events import begins, chance_of, event_around, leaves_of, reduced
from sfumato.verify.refuter.forms import Form, noise
from sfumato.verify.refuter.paths import Walker
from sfumato.verify.refuter.refutation import witness_certificate, witness_faults
from sfumato.verify.verdict import verify

PROGRAMS = Path(__file__).parent / "programs"
F = Fraction


def near(ball, value, slack=1e-9):
    assert abs(float(ball.mid()) - value) < slack
    assert float(ball.rad()) < slack


def laplace(x, b):
    return exp(-abs(x) / b) / (2 * b)


def below(x, b):
    return exp(x / b) / 2 if x < 0 else 1 - exp(-x / b) / 2


def test_chances_agree_with_quadrature():
    with_precision(128)
    two = [CentredLaw("Laplace", F(2)), CentredLaw("Laplace", F(4))]
    near(chance(two, [noise(1) - noise(0) - F(1)]), quad(lambda t: laplace(t, 2) * (1 - below(t + 1, 4)), -80, 80)[0])
    star = [CentredLaw("Laplace", F(2)), CentredLaw("Laplace", F(4)), CentredLaw("Laplace", F(4, 3))]
    tests = [noise(0) - noise(1) - F(3), noise(2) - noise(0) * 2 + F(1, 2)]
    inside = quad(
        lambda t: laplace(t, 2) * below(t - 3, 4) * (1 - below(2 * t - 0.5, 4 / 3)), -90, 90, points=[0, 3, 0.25]
    )[0]
    near(chance(star, tests), inside)
    chain = [CentredLaw("Exponential", F(1)), CentredLaw("Exponential", F(2)), CentredLaw("Laplace", F(1))]
    tests = [noise(1) - noise(0), noise(2) - noise(1)]
    inner = lambda y: 1 - exp(-y)  # noqa: E731  the chance that the first is below y
    near(chance(chain, tests), quad(lambda y: exp(-y / 2) / 2 * inner(y) * (1 - below(y, 1)), 0, 90)[0])


def test_an_interval_and_its_complement_make_one():
    with_precision(128)
    laws = [CentredLaw("Laplace", F(1, 3)), CentredLaw("Exponential", F(5))]
    gap = noise(1) - noise(0)
    low = chance(laws, [gap - F(1)])
    middle = chance(laws, [-(gap - F(1)), gap + F(2)])
    high = chance(laws, [-(gap + F(2))])
    near(low + middle + high, 1)


def test_tests_that_hang_together_in_a_circle_are_not_computed():
    three = [CentredLaw("Laplace", F(1))] * 3
    with pytest.raises(NotComputed):
        chance(three, [noise(0) + noise(1) + noise(2)])
    with pytest.raises(NotComputed):
        chance(three, [noise(0) - noise(1), noise(1) - noise(2), noise(2) + noise(0)])


@pytest.mark.parametrize("name", ["p_gap", "r_value", "p_nmin", "p_expmax", "p_resampled", "r_reused"])
def test_chances_of_all_outputs_sum_to_one(name):
    with_precision(256)
    env = {"eps": F(1), "delta": F(0), "q": (F(1), F(0), F(-2)), "T": F(1, 2), "N": F(2)}
    ways = Walker(read_program((PROGRAMS / f"{name}.sfp").read_text())).ways(env)
    assert len(ways) > 3
    near(sum(chance(list(way.noises), list(way.tests)) for way in ways), 1)


def test_outputs_are_taken_apart_until_noise_is_seen():
    first, second = noise(0) + F(1), noise(0) + F(3)
    rows = reduced([first, second, noise(1) + noise(0)])
    assert rows[1] == ({0: F(-1), 1: F(1)}, F(2))
    assert isinstance(rows[2][1], Form)
    assert rows[2][1].factors == ((1, F(1)),)
    assert leaves_of((True, (first,)))[0] == (None, (None,))


@pytest.fixture(scope="module")
def witness():
    tree = read_program((PROGRAMS / "r_svt_2N.sfp").read_text())
    return json.dumps(witness_certificate(tree, verify(tree).witness))


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made.update(hash="1"),
        lambda made: made["witness"]["neighbour"].update(q=made["witness"]["input"]["q"]),
        lambda made: made["witness"]["neighbour"].update(q=["5", "5", "5"]),
        lambda made: made["witness"]["neighbour"].update(eps="2"),
        lambda made: made["witness"]["input"].update(N="0"),
        lambda made: made["witness"].update(chance="0.9"),
        lambda made: made["witness"].update(loss="7"),
        lambda made: made["witness"]["event"].update(leaves=[True, True, True]),
        lambda made: made["witness"]["event"].update(shape=None),
        lambda made: made.pop("witness"),
    ],
)
def test_a_changed_witness_is_rejected(witness, change):
    assert witness_faults(json.loads(witness)) == []
    made = json.loads(witness)
    change(made)
    assert witness_faults(made)


@pytest.mark.parametrize("name", ["r_svt_2N", "r_laplacevalue"])
def test_witnesses_agree_with_samples(name):
    """The chance of being off by more than six standard deviations is below 1e-8."""
    code = program((PROGRAMS / f"{name}.sfp").read_text())
    found = code.verify().witness
    count = 200_000
    for env, text in ((found.one, found.chance_one), (found.two, found.chance_two)):
        chance_there = float(text)
        outputs = code.simulate(count, **env)
        seen = sum(_meets(found.event, output) for output in outputs) / count
        assert abs(seen - chance_there) < 6 * (chance_there / count) ** 0.5


def _meets(event, output):
    items = output if isinstance(output, list) else [output]
    if (event.shape is None) != (not isinstance(output, list)) or (
        event.shape is not None and len(items) != len(event.shape)
    ):
        return False
    for item, wanted in zip(items, event.leaves, strict=True):
        if wanted is None:
            if isinstance(item, bool):
                return False
        elif isinstance(item, bool) != isinstance(wanted, bool) or item != wanted:
            return False
    for test in event.tests:
        value = sum(items[place] * float(factor) for place, factor in test.factors)
        if not (value <= test.bound if test.sign == "<=" else value >= test.bound):
            return False
    return True


LISTED = "P(d : private real list) : public bool list adjacent all; claim eps; {} return r"
GROWN = "r := []; i := 0; while (i < size(d)) { z :=$ Laplace(1/eps, 0); r := r ++ [d[i] + z > 0]; i := i + 1 }"


@pytest.mark.parametrize(
    ("body", "grown"),
    [
        (GROWN, "r"),
        (GROWN.replace("r := r ++", "r := []; r := r ++"), None),
        (GROWN + " if (size(r) > 1) { r := [] }", None),
        (GROWN + " r := [true] ++ r;", None),
        (GROWN + " if (i > 0) { return [] }", None),
        (GROWN.replace("r := []; i", "i := 0; while (i < 1) { r := []; i := i + 1 } i"), None),
    ],
)
def test_ways_are_left_out_only_if_their_outputs_only_grow(body, grown):
    """Whether or not ways are left out while lists grow: the chance of an event is the sum over all of them."""
    with_precision(128)
    tree = read_program(LISTED.format(body))
    walker = Walker(tree)
    assert walker.grown == grown
    env = {"eps": F(1), "delta": F(0), "d": (F(1), F(-1), F(0))}
    for way in walker.ways(env):
        event = event_around(way, None, F(0))
        near(
            chance_of(event, walker.ways(env, partial(begins, event))), float(chance_of(event, walker.ways(env)).mid())
        )
