"""Every attack wins against what it was made for, and loses against the gateway."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.attacks import ATTACKS, averaging, membership
from sfumato.attacks.base import AttackResult, Claim, Endpoint
from sfumato.attacks.defences import DEFENCES, make
from sfumato.attacks.gate import table_endpoint
from sfumato.attacks.report import referee
from sfumato.attacks.scene import set_scene
from sfumato.attacks.sheet import TABLE, read_sheet
from sfumato.attacks.trend import rate_of_trend
from tests.attacks.people import QUASI, scene_of, write_people

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
    ("one-bit", "onebit"),
    ("query-search", "raw"),
    ("query-search", "suppress"),
    ("query-search", "constant"),
    ("versions", "suppress"),
    ("versions", "constant"),
    ("singling-out", "raw"),
]


@pytest.mark.parametrize(("name", "defence"), WINS)
def test_an_attack_wins_against_what_it_was_made_for(arena, monkeypatch, name, defence):
    monkeypatch.setattr(averaging, "_ODDS", math.log(10**4))  # with less luck than is needed otherwise
    monkeypatch.setattr(averaging, "PEOPLE", 18)
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
    monkeypatch.setattr(averaging, "FEW", 6)
    report = arena("averaging", "dp", 20)
    assert not report.succeeded
    assert report.spent <= 1


def test_membership_finds_who_is_in_the_case_group(arena):
    """Many traits, each leaning a little: together they tell, from exact counts."""
    report = arena("membership", "raw", 200, traits=60)
    assert report.succeeded, report.words
    assert not arena("membership", "dp", 100, traits=20).succeeded


def test_time_tells_where_work_depends_on_one_row(tmp_path):
    """With a clock that counts the letters that a question made: what a real one measures, without its noise."""
    sheet, knowledge, truth = scene_of(tmp_path, 60)
    raw, clock = make("raw", sheet, "state", QUASI), [0.0]

    def run(sql):
        fact = sql.partition("CASE WHEN ")[2].partition(" THEN ")[0]
        clock[0] += 1 + 400 * raw.run(knowledge.count(fact))[0][0]
        return [(len(truth),)]

    endpoint = Endpoint("raw", run, clock=lambda: clock[0])
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
        return referee("linking", lambda *_: AttackResult(claims), endpoint, knowledge, truth, advice="").succeeded

    raw, promise = Endpoint("raw", lambda _: []), Endpoint("dp", lambda _: [], Fraction(1))
    assert lost(raw, Claim(0, truth[0], certain=True))
    assert not lost(raw, Claim(0, truth[0]))
    assert not lost(raw, Claim(0, truth[0], certain=True), Claim(1, not truth[1], certain=True))
    assert not lost(promise, Claim(0, truth[0], certain=True))


def test_every_attack_and_every_defence_is_in_its_table():
    assert set(DEFENCES) == {
        "raw",
        "suppress",
        "overlap",
        "round",
        "constant",
        "bounded",
        "sticky",
        "kanon",
        "laplace",
        "onebit",
        "dp",
    }
    assert all(attack.advice and attack.run.__doc__ for attack in ATTACKS.values())
    assert membership.run is ATTACKS["membership"].run


def test_what_the_others_tell_is_no_loss(tmp_path):
    """A secret that follows from the trade: exact answers find it, and so does everybody else's data without hers."""
    path = tmp_path / "trades.csv"
    trades = ["smith", "baker", "miller", "weaver", "cook", "tailor", "farmer", "mason", "priest", "nurse"]
    path.write_text("id,trade,state\n" + "".join(f"{i},{trades[i % 10]},{'yn'[i % 10 < 6]}\n" for i in range(300)))
    sheet = read_sheet(path)
    rows = sheet.records()
    knowledge, truth = set_scene(rows, TABLE, "state", None)
    trend = rate_of_trend(rows, knowledge, truth)
    assert trend > 0.98

    def lost(name, epsilon, *, told):
        endpoint = Endpoint("one", make("raw", sheet, "state", ()).run, epsilon)
        run = ATTACKS[name].run
        return referee(name, run, endpoint, knowledge, truth, advice="", trend=trend if told else 0.0).succeeded

    assert lost("membership", None, told=False)
    assert lost("membership", Fraction(1), told=False)
    assert not lost("membership", None, told=True)
    assert not lost("membership", Fraction(1), told=True)
    assert lost("differencing", None, told=True)  # proved, one by one


def test_a_trend_leaves_her_own_row_out(tmp_path):
    """Traits that have nothing to do with the secret tell nothing, though many of them fit the rows they come from."""
    sheet = read_sheet(write_people(tmp_path / "people.csv", 150, traits=60))
    rows = sheet.records()
    knowledge, truth = set_scene(rows, TABLE, "state", None)
    assert rate_of_trend(rows, knowledge, truth) < 0.55
    found = membership.run(make("raw", sheet, "state", QUASI), knowledge)
    assert sum(claim.has == truth[claim.person] for claim in found.claims) > 0.75 * 150


@pytest.mark.parametrize("rare", ["ill", "well"])
def test_the_tracker_finds_a_secret_that_one_in_fifty_has_or_has_not(tmp_path, rare):
    """The set of all with it, or of all without, is too small to be asked about."""
    path = tmp_path / "rare.csv"
    other = {"ill": "well", "well": "ill"}[rare]
    path.write_text("id,age,state\n" + "".join(f"{i},{i % 60},{rare if i % 50 == 9 else other}\n" for i in range(200)))
    sheet = read_sheet(path)
    knowledge, truth = set_scene(sheet.records(), TABLE, "state=ill", None)
    endpoint = make("suppress", sheet, "state", ("age",))
    report = referee("differencing", ATTACKS["differencing"].run, endpoint, knowledge, truth, advice="")
    assert report.right == report.certain == 200
    assert report.succeeded
