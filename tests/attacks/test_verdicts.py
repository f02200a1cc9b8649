"""Broken, allowed, held: what each word means, with numbers that the law of the noise gives."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.attacks import ATTACKS
from sfumato.attacks.base import AttackResult, Claim, Endpoint
from sfumato.attacks.document import _defence, document
from sfumato.attacks.gate import table_endpoint
from sfumato.attacks.page import page
from sfumato.attacks.promise import chance_to_read, crowd, most_right, percent, promise_in_words, repeats
from sfumato.attacks.report import referee
from sfumato.cli.clinic import write_clinic
from sfumato.errors import InputError
from tests.attacks.people import scene_of


def report_of(tmp_path, epsilon, chance, rng, *, people=60):
    """A report on claims that are right with this probability each."""
    _, knowledge, truth = scene_of(tmp_path, people)
    claims = tuple(Claim(i, bit if rng.random() < chance else not bit) for i, bit in enumerate(truth))
    promised = None if epsilon is None else Fraction(epsilon)
    endpoint = Endpoint("one", lambda _: [], promised)
    return referee("linking", lambda *_: AttackResult(claims), endpoint, knowledge, truth, advice="")


def test_no_attack_on_one_bit_exceeds_what_a_promise_permits():
    """Two geometric counts that agree reach the bound, to the last digit; nothing is beyond it."""
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 10.0):
        coin = 1 / (1 + math.exp(-epsilon))
        for rate in (0.5, 0.66, 0.9):
            agreeing = rate * coin**2 / (rate * coin**2 + (1 - rate) * (1 - coin) ** 2)
            assert agreeing == pytest.approx(most_right(epsilon, 2, rate))
            assert rate <= chance_to_read(epsilon, 2, rate) <= most_right(epsilon, 2, rate)
            assert rate <= chance_to_read(epsilon, 1, rate) <= most_right(epsilon, 1, rate) + 1e-12


@pytest.mark.parametrize("epsilon", [None, "1"])
def test_a_guess_is_called_held(tmp_path, epsilon):
    rng = np.random.default_rng(11)
    _, _, truth = scene_of(tmp_path, 60)
    rate = max(sum(truth), 60 - sum(truth)) / 60
    words = [report_of(tmp_path, epsilon, rate, rng).outcome for _ in range(60)]
    assert words.count("held") >= 59


def test_one_attack_is_not_called_attacks(tmp_path):
    _, _, truth = scene_of(tmp_path, 60)
    rate = max(sum(truth), 60 - sum(truth)) / 60
    allowed = report_of(tmp_path, "1", most_right(1.0, 2, rate), np.random.default_rng(12))
    held = report_of(tmp_path, "1", rate, np.random.default_rng(11))
    assert _defence("one", [allowed], published=False)["sentence"].startswith(
        "not broken by 1 attack, but it learned what the guarantee permits"
    )
    two = _defence("one", [allowed, held], published=False)["sentence"]
    assert two.startswith("not broken by 2 attacks, but 1 of them learned what the guarantee permits")


def test_what_a_promise_permits_is_not_called_broken(tmp_path):
    """Right as often as the promise permits at most: allowed; where nothing is promised, broken; more often: broken."""
    rng = np.random.default_rng(12)
    _, _, truth = scene_of(tmp_path, 60)
    most = most_right(1.0, 2, max(sum(truth), 60 - sum(truth)) / 60)
    assert {report_of(tmp_path, "1", most, rng).outcome for _ in range(20)} == {"allowed"}
    assert {report_of(tmp_path, None, most, rng).outcome for _ in range(20)} == {"broken"}
    assert report_of(tmp_path, "1/10", 1.0, rng).outcome == "broken"
    assert report_of(tmp_path, "40", 1.0, rng).outcome == "allowed"


def test_right_claims_are_not_people_recovered(tmp_path):
    """As many as a guess has right are nobody; all of them are everybody."""
    rng = np.random.default_rng(13)
    everybody = report_of(tmp_path, None, 1.0, rng)
    assert everybody.recovered == everybody.right == 60
    _, knowledge, truth = scene_of(tmp_path, 60)
    claims = tuple(Claim(i, has=sum(truth) >= 30) for i in range(60))
    guess = referee(
        "linking", lambda *_: AttackResult(claims), Endpoint("x", lambda _: []), knowledge, truth, advice=""
    )
    assert guess.right >= 30
    assert guess.recovered == 0
    assert "a guess" in guess.short


def test_proofs_among_claims_that_are_no_better_than_a_guess_are_told_apart(tmp_path):
    """Two claims that follow break what promises nothing; the other claims, all wrong, are not counted as a success."""
    _, knowledge, truth = scene_of(tmp_path, 60)
    claims = tuple(Claim(i, has=bit if i < 2 else not bit, certain=i < 2) for i, bit in enumerate(truth))
    report = referee(
        "skewness", lambda *_: AttackResult(claims), Endpoint("x", lambda _: []), knowledge, truth, advice=""
    )
    assert report.short == "broken: 2 with certainty; all 60 claims no better than a guess"
    assert report.words.endswith("all claims together are no more accurate than a guess")
    proofs = referee(
        "skewness", lambda *_: AttackResult(claims[:2]), Endpoint("x", lambda _: []), knowledge, truth, advice=""
    )
    assert proofs.short == "broken: 2 with certainty"


@pytest.mark.parametrize(("epsilon", "word"), [("40", "allowed"), ("4", "allowed"), ("1/20", "held")])
def test_a_budget_is_spent_on_one_person(tmp_path, epsilon, word):
    """With epsilon 40, or 4, she is read; with 1/20 she is not. The promise is kept in all cases, and says so."""
    sheet, knowledge, truth = scene_of(tmp_path, 60)
    with table_endpoint(sheet, knowledge.key, Fraction(epsilon)) as endpoint:
        run = ATTACKS["differencing"].run
        report = referee("differencing", run, endpoint, knowledge, truth, advice="")
    assert report.outcome == word, report.words
    assert report.spent <= Fraction(epsilon)  # on each copy of the ledger
    assert report.queries == repeats(float(Fraction(epsilon)), 2, knowledge.guess)
    assert ("nearly everything" in report.promise) is (epsilon != "1/20")
    assert ("the guarantee permits this" in report.words) is (word == "allowed")


def test_a_budget_that_is_really_spent_is_divided_among_few(tmp_path):
    sheet, knowledge, truth = scene_of(tmp_path, 60)
    with table_endpoint(sheet, knowledge.key, Fraction(100)) as endpoint:
        endpoint.fresh = None
        report = referee("differencing", ATTACKS["differencing"].run, endpoint, knowledge, truth, advice="")
    assert report.queries == crowd(100.0, 2, knowledge.guess) < 60
    assert report.outcome == "allowed"
    assert report.spent <= 100


def test_a_promise_in_words_has_its_numbers():
    text = promise_in_words(4.0, 2, 0.5)
    assert "nearly everything" in text
    assert percent(chance_to_read(4.0, 2, 0.5)) in text
    assert percent(most_right(4.0, 2, 0.5)) in text
    assert "e^(2 × 4)" in text
    assert "little" in promise_in_words(0.1, 2, 0.5)
    assert percent(0.99996) != percent(1.0)


def test_no_success_is_called_certain_by_rounding():
    for text in (promise_in_words(40.0, 2, 0.5), promise_in_words(400.0, 1, 0.3)):
        assert "100.0 %" not in text
        assert text.count("over 99.99 %") >= 2


def test_a_secret_value_is_named_on_a_target(call, tmp_path):
    """COLUMN=VALUE, on a policy as on a table."""
    write_clinic(tmp_path)
    code, out, err = call("attack", "oracles", "--target", "sfumato.toml", "--secret", "disease=Flu", "--json")
    assert code == 0, err
    assert '"value": "Flu"' in out


@pytest.mark.parametrize(("epsilon", "word"), [("40", "allowed"), ("0.05", "held")])
@pytest.mark.parametrize("kind", ["integer", "text"])
def test_a_policy_is_asked_in_its_own_types(call, tmp_path, kind, epsilon, word):
    """Numbers that the policy declares as text, as `sfumato init` drafts identifiers: a refusal is no defence."""
    bounds = "max_length = 9" if kind == "text" else "min = 0, max = 999"
    rows = [f"{i},{(i * 7) % 60 + 18},{'Cold' if (i * i) % 7 < 3 else 'Flu'}" for i in range(1, 121)]
    (tmp_path / "people.csv").write_text("\n".join(["pid,age,disease", *rows]) + "\n")
    (tmp_path / "p.toml").write_text(
        '[source]\nengine = "duckdb"\n[source.files]\npeople = "people.csv"\n[data]\nid = "p"\nversion = "1"\n'
        f'[privacy]\nepsilon = {epsilon}\n[tables.people]\nunit = "pid"\nrows_per_unit = 1\n[tables.people.columns]\n'
        f'pid = {{ type = "{kind}", {bounds} }}\nage = {{ type = "integer", min = 0, max = 120 }}\n'
        'disease = { type = "text", values = ["Cold", "Flu"] }\n'
    )
    code, out, err = call("attack", "differencing", "--target", "p.toml", "--secret", "disease", "--json")
    assert code == 0, err
    (report,) = json.loads(out)["reports"]
    assert (report["outcome"], report["refused"]) == (word, 0), report["words"]
    assert ("nearly everything" in report["promise"]) is (word == "allowed")


def test_an_attack_that_is_refused_everything_shows_nothing(tmp_path):
    """Neither held nor broken: it does not count among the attacks that a target held against."""

    def refuse(_):
        raise InputError("text cannot be compared with integer")

    _, knowledge, truth = scene_of(tmp_path, 60)
    endpoint = Endpoint("gate", refuse, Fraction(40), fresh=lambda: None)
    report = referee("differencing", ATTACKS["differencing"].run, endpoint, knowledge, truth, advice="")
    assert report.short == "not shown: every query was refused"
    assert "text cannot be compared" in report.words
    (defence,) = document([report], "gate", knowledge)["defences"]
    assert (defence["tried"], defence["sentence"]) == (0, "nothing was shown; every query of one attack was refused")
    assert "nearly everything" in defence["promise"]
    assert "held" not in page(document([report], "gate", knowledge)).split("<tbody>")[1].split("</tbody>")[0]
