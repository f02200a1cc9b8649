"""Singling out, one bit a question, searched questions, versions, likelihood ratios, auxiliary knowledge."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.attacks import ATTACKS, auxiliary, likelihood, onebit, singling, versions
from sfumato.attacks.base import Endpoint
from sfumato.attacks.defences import make
from sfumato.attacks.gate import table_endpoint
from sfumato.attacks.report import referee
from sfumato.attacks.scene import set_scene
from sfumato.attacks.sheet import TABLE, read_sheet
from tests.attacks.people import QUASI, scene_of, write_people


def behind(tmp_path, name, epsilon, *, count=60, traits=0, column="state"):
    """The report of an attack on the gateway with this total."""
    sheet = read_sheet(write_people(tmp_path / "people.csv", count, traits))
    knowledge, truth = set_scene(sheet.records(), TABLE, column, None)
    with table_endpoint(sheet, knowledge.key, Fraction(epsilon)) as endpoint:
        return referee(name, ATTACKS[name].run, endpoint, knowledge, truth, advice="", exact=sheet.count)


@pytest.mark.parametrize("key", [True, False])
def test_one_row_is_singled_out_by_exact_counts(tmp_path, key):
    """By the key, or by what is known where there is none; luck would find one in a thousand tries."""
    path = write_people(tmp_path / "people.csv", 120)
    if not key:
        path.write_text("\n".join(line.partition(",")[2] for line in path.read_text().splitlines()) + "\n")
    sheet = read_sheet(path)
    knowledge, truth = set_scene(sheet.records(), TABLE, "state", None)
    assert (knowledge.key is not None) is key
    found = singling.run(make("raw", sheet, "state", QUASI), knowledge)
    assert found.bets
    for bet in found.bets:
        assert sheet.count(bet.where) == 1
        assert bet.weight * 120 < 1e-3
    report = referee("singling-out", lambda *_: found, Endpoint("raw", lambda _: []), knowledge, truth, advice="",
                     exact=sheet.count)  # fmt: skip
    assert report.outcome == "broken"
    assert report.base_rate < 1e-3


def test_singling_out_is_held_against_a_small_epsilon_and_allowed_by_an_enormous_one(tmp_path):
    assert behind(tmp_path, "singling-out", 1).right == 0
    report = behind(tmp_path, "singling-out", 2000)
    assert report.outcome == "allowed", report.words
    assert report.bound == 1.0


def test_the_weight_of_a_bet_bounds_it(tmp_path):
    """A bet that luck explains is no success; a promise lets n w e^(2 epsilon) be right."""
    sheet, knowledge, truth = scene_of(tmp_path, 60)
    row = sheet.records()[0]["id"]

    def judged(weight, epsilon):
        bets = (singling.Bet(f'"id" = {row}', weight),) * 8
        endpoint = Endpoint("x", lambda _: [], epsilon)
        run = lambda *_: singling.AttackResult(bets=bets)  # noqa: E731  one line is enough
        return referee("singling-out", run, endpoint, knowledge, truth, advice="", exact=sheet.count)

    assert judged(1 / 60, None).base_rate == pytest.approx((59 / 60) ** 59)
    assert judged(1e-6, None).outcome == "broken"
    assert judged(1e-6, Fraction(1)).bound == pytest.approx(60e-6 * math.e**2)
    assert judged(1e-6, Fraction(1)).outcome == "broken"
    assert judged(1e-6, Fraction(6)).outcome == "allowed"


def test_a_column_is_solved_from_yes_and_no():
    """One answer in ten is wrong: the linear program does not care."""
    rng = np.random.default_rng(4)
    column = rng.integers(0, 2, 30)
    lines = rng.integers(0, 2, (1200, 30)).astype(float)
    cuts = np.round(lines.sum(axis=1) / 2 + rng.uniform(-2, 2, 1200)) + 0.5
    signs = np.where(lines @ column > cuts, 1.0, -1.0) * np.where(rng.random(1200) < 0.1, -1, 1)
    assert ((onebit._decode(lines, cuts, signs, 0.5) > 0.5) == column).all()


def test_searched_questions_beat_no_guess_behind_the_gateway(tmp_path):
    report = behind(tmp_path, "query-search", 1)
    assert report.applicable
    assert report.outcome in ("held", "nothing")
    sheet, knowledge, _ = scene_of(tmp_path, 60)
    found = ATTACKS["query-search"].run(make("raw", sheet, "state", QUASI), knowledge)
    assert {claim.person for claim in found.claims}.isdisjoint(knowledge.told)  # friends are not attacked


def test_versions_are_paid_for_from_one_budget(tmp_path):
    """Forty versions give forty secrets away; behind the gateway each version's answer costs its part."""
    sheet, knowledge, truth = scene_of(tmp_path, 200)
    found = versions.run(make("suppress", sheet, "state", QUASI), knowledge)
    assert all(claim.has == truth[claim.person] for claim in found.claims)
    assert len(found.claims) == 40
    assert sheet.count("1 = 1") == 200  # the owner's rows are as they were
    report = behind(tmp_path, "versions", 1)
    assert report.outcome == "held"
    assert report.spent <= 1
    assert report.queries > 10
    assert behind(tmp_path, "versions", 400).outcome == "allowed"


def test_likelihood_ratios_find_who_is_in_the_group(tmp_path):
    """As many counts as people nearly: who is in follows from how the counts lean; not behind the gateway."""
    sheet = read_sheet(write_people(tmp_path / "people.csv", 100, traits=120))
    knowledge, truth = set_scene(sheet.records(), TABLE, "state", None)
    endpoint = make("raw", sheet, "state", QUASI)
    report = referee("likelihood", likelihood.run, endpoint, knowledge, truth, advice="")
    assert report.outcome == "broken", report.words
    gate = behind(tmp_path, "likelihood", 1, count=100, traits=20)
    assert gate.outcome == "held", gate.words


def test_likelihood_ratios_are_those_of_groups_drawn_at_random():
    """The closed form against counting: over all groups of half of six people, with one count."""
    table = np.array([[1.0], [1.0], [0.0], [0.0], [0.0], [1.0]])
    lean = likelihood._ratios(table, np.array([3.0]), 0.5)
    assert lean[0] > 0 > lean[2]
    assert lean[0] == pytest.approx(lean[1])
    assert likelihood._ratios(table, np.array([1.5]), 0.5) == pytest.approx(np.zeros(6))


def test_auxiliary_knowledge_is_stopped_by_nothing_and_breaks_nothing(tmp_path):
    """Twice the average: right with the gateway too, and as right without her row; so it is nobody's loss."""
    report = behind(tmp_path, "auxiliary", 100, count=200, column="weight")
    assert report.right > 0.9 * report.claims
    assert report.outcome == "held"
    assert "no mechanism can prevent" in report.words
    sheet = read_sheet(write_people(tmp_path / "people.csv", 200))
    knowledge, truth = set_scene(sheet.records(), TABLE, "weight", None)
    endpoint = make("raw", sheet, "weight", QUASI)
    exact = referee("auxiliary", auxiliary.run, endpoint, knowledge, truth, advice="")
    assert exact.right == exact.claims
    assert exact.outcome == "held"
    told = referee("auxiliary", lambda *_: auxiliary.AttackResult(auxiliary.run(endpoint, knowledge).claims), endpoint,
                   knowledge, truth, advice="")  # fmt: skip
    assert told.outcome == "broken"  # without the comparison the referee would accuse every answer of use
    knowledge, _ = set_scene(sheet.records(), TABLE, "state", None)
    assert not auxiliary.run(endpoint, knowledge).applicable
