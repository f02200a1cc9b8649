"""Every attack wins against what it was made for, and loses against the gateway."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato.attacks import ATTACKS, averaging, membership
from sfumato.attacks.base import Claim, Endpoint, Found
from sfumato.attacks.defences import DEFENCES, make
from sfumato.attacks.gate import table_endpoint
from sfumato.attacks.report import referee
from tests.attacks.people import QUASI, scene_of

WINS = [
    ("differencing", "raw"),
    ("differencing", "suppress"),
    ("averaging", "raw"),
    ("averaging", "laplace"),
    ("averaging", "bounded"),
    ("reconstruction", "raw"),
    ("reconstruction", "suppress"),
    ("reconstruction", "round"),
    ("linking", "raw"),
    ("oracles", "raw"),
    ("oracles", "suppress"),
]


@pytest.mark.parametrize(("name", "defence"), WINS)
def test_an_attack_wins_against_what_it_was_made_for(arena, name, defence):
    report = arena(name, defence, 80)
    assert report.applicable
    assert report.succeeded, report.words
    assert report.interval[0] > report.base_rate
    assert report.worst
    assert report.certain == report.certain_right  # what is claimed with certainty is so


@pytest.mark.parametrize("name", [name for name in ATTACKS if name != "averaging"])
def test_an_attack_loses_against_the_gateway(arena, name):
    report = arena(name, "dp", 40, traits=8 if name == "membership" else 0)
    assert not report.succeeded, report.words
    assert report.total == 1
    assert report.spent <= 1
    assert report.certain == 0
    if report.claims:
        assert report.rate <= report.bound


def test_averaging_loses_against_the_gateway(arena, monkeypatch):
    """Repeats are the stored answer; other words for the same set are paid for."""
    monkeypatch.setattr(averaging, "PEOPLE", 6)
    report = arena("averaging", "dp", 20)
    assert not report.succeeded
    assert report.spent <= 1


def test_membership_finds_who_is_in_the_case_group(arena):
    """Many traits, each leaning a little: together they tell, from exact counts."""
    report = arena("membership", "raw", 200, traits=60)
    assert report.succeeded, report.words
    assert not arena("membership", "dp", 100, traits=20).succeeded


def test_time_tells_where_work_depends_on_one_row(tmp_path, monkeypatch):
    """With a clock that counts the letters that a question made: what a real one measures, without its noise."""
    sheet, knowledge, truth = scene_of(tmp_path, 60)
    raw, clock = make("raw", sheet, "state", QUASI), [0.0]

    def run(sql):
        fact = sql.partition("CASE WHEN ")[2].partition(" THEN ")[0]
        clock[0] += 1 + 400 * raw.run(knowledge.count(fact))[0][0]
        return [(len(truth),)]

    monkeypatch.setattr("sfumato.attacks.base.time.process_time", lambda: clock[0])
    endpoint = Endpoint("raw", run)
    report = referee("timing", ATTACKS["timing"].run, endpoint, knowledge, truth, advice="")
    assert report.right == report.claims == 60
    assert report.succeeded
    even = Endpoint("even", lambda _: [(1,)])  # nothing takes time: nothing is claimed
    assert not ATTACKS["timing"].run(even, knowledge).claims


def test_averaging_is_right_to_one_half_after_ten_thousand(tmp_path):
    sheet, knowledge, truth = scene_of(tmp_path, 40)
    endpoint = make("laplace", sheet, "state", QUASI)
    answers = [endpoint.number(knowledge.count(knowledge.secret)) for _ in range(10_000)]
    assert abs(sum(answers) / 10_000 - sum(truth)) < 0.75  # five standard errors of noise with scale 10
    assert np.std(answers) > 10
    with table_endpoint(sheet, knowledge.key, Fraction(1)) as gate:
        gate.share(40)
        same = {gate.number(knowledge.count(knowledge.secret)) for _ in range(30)}
    assert len(same) == 1  # one noisy number for ever


def test_a_proof_about_one_person_is_a_loss_where_nothing_is_promised(tmp_path):
    """One certain claim, right: too few to be beyond chance, and yet she is shown. A wrong one proves nothing."""
    _, knowledge, truth = scene_of(tmp_path, 20)

    def lost(endpoint, *claims):
        return referee("linking", lambda *_: Found(claims), endpoint, knowledge, truth, advice="").succeeded

    raw, promise = Endpoint("raw", lambda _: []), Endpoint("dp", lambda _: [], Fraction(1))
    assert lost(raw, Claim(0, truth[0], certain=True))
    assert not lost(raw, Claim(0, truth[0]))
    assert not lost(raw, Claim(0, truth[0], certain=True), Claim(1, not truth[1], certain=True))
    assert not lost(promise, Claim(0, truth[0], certain=True))


def test_every_attack_and_every_defence_is_in_its_table():
    assert set(DEFENCES) == {"raw", "suppress", "overlap", "round", "bounded", "sticky", "kanon", "laplace", "dp"}
    assert all(attack.advice and attack.run.__doc__ for attack in ATTACKS.values())
    assert membership.run is ATTACKS["membership"].run
