"""Reconstruction of a column from counts over subsets, and its decoders."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato.attacks import reconstruction, scene
from sfumato.attacks.base import Endpoint
from sfumato.attacks.decode import Equations, all_subsets, exhaustive, least_absolute, least_squares
from sfumato.attacks.defences import make
from sfumato.attacks.gate import table_endpoint
from sfumato.attacks.report import referee
from sfumato.attacks.sheet import TABLE, read_sheet
from tests.attacks.people import QUASI, scene_of, write_people


def test_small_noise_does_not_protect_a_column(tmp_path):
    """200 people, 800 questions: rounding to ten and sticky noise fall; a thousand people are in the slow test."""
    sheet, knowledge, truth = scene_of(tmp_path, 200)
    for defence, least in (("round", 0.92), ("sticky", 0.7)):
        report = referee(
            "reconstruction",
            reconstruction.run,
            make(defence, sheet, "state", QUASI),
            knowledge,
            truth,
            advice="",
        )
        assert report.rate > least
        assert report.succeeded
        assert [queries for queries, _ in report.curve] == sorted(queries for queries, _ in report.curve)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("defence", "least"), [("round", 0.99), ("sticky", 0.93), ("laplace", 0.80), ("overlap", 0.99)]
)
def test_a_thousand_people_and_four_thousand_questions(tmp_path, defence, least):
    sheet, knowledge, truth = scene_of(tmp_path, 1000)
    endpoint = make(defence, sheet, "state", QUASI)
    report = referee("reconstruction", reconstruction.run, endpoint, knowledge, truth, advice="")
    assert report.rate >= least


@pytest.mark.slow
def test_a_thousand_people_behind_the_gateway_are_a_coin(tmp_path):
    sheet, knowledge, truth = scene_of(tmp_path, 1000)
    with table_endpoint(sheet, knowledge.key, Fraction(1)) as endpoint:
        report = referee("reconstruction", reconstruction.run, endpoint, knowledge, truth, advice="")
    assert report.interval[0] < report.base_rate + 0.03
    assert not report.succeeded


def test_all_subsets_within_alpha_give_all_but_four_alpha():
    rng = np.random.default_rng(7)
    subsets = all_subsets(8).astype(float)
    for alpha in (0.5, 1.0):
        for _ in range(6):
            column = rng.integers(0, 2, 8)
            answers = subsets @ column + rng.uniform(-alpha, alpha, len(subsets))
            found = exhaustive(answers, alpha)
            assert found is not None
            assert int((found != column.astype(bool)).sum()) <= 4 * alpha
    assert exhaustive(np.full(256, 100.0), 1.0) is None


def test_absolute_errors_survive_wrong_answers():
    """A tenth of the answers is garbage: the linear program does not care, least squares does."""
    rng = np.random.default_rng(3)
    column = rng.integers(0, 2, 48)
    subsets = rng.integers(0, 2, (480, 48)).astype(bool)
    answers = (subsets @ column).astype(float)
    answers[:48] = rng.uniform(0, 48, 48)
    assert ((least_absolute(subsets, answers) > 0.5) == column).all()
    assert not ((least_squares(subsets, answers) > 0.5) == column).all()


def test_a_few_wrong_answers_are_noticed_and_survived(tmp_path):
    """Every eleventh answer is garbage: the attack turns to absolute errors by itself."""
    sheet, knowledge, truth = scene_of(tmp_path, 60)
    raw, rng = make("raw", sheet, "state", QUASI), np.random.default_rng(5)
    asked = iter(range(10_000))

    def run(sql):
        return [(int(rng.integers(0, 60)),)] if next(asked) % 11 == 3 else raw.run(sql)

    report = referee("reconstruction", reconstruction.run, Endpoint("lies", run), knowledge, truth, advice="")
    assert report.right == report.claims == 60
    assert report.certain == 0


def test_noise_that_hides_everything_leaves_a_guess_as_it_was():
    """The decoder knows how common the secret is: it is never worse than a guess, and finds a rare one if it can."""
    rng = np.random.default_rng(9)
    column = np.zeros(200, bool)
    column[:6] = True
    subsets = rng.integers(0, 2, (800, 200)).astype(bool)
    for noise, least in ((1e4, 194), (2.0, 199)):
        equations = Equations(np.ones(200), 0.03)
        equations.add(subsets, subsets @ column.astype(float) + rng.normal(0, noise, 800))
        found = equations.solve()
        assert ((found.odds > 0) == column).sum() >= least


def test_people_who_look_alike_are_solved_for_together():
    """Of three who cannot be told apart the number is found who have the secret."""
    rng = np.random.default_rng(2)
    sizes, counts = np.array([1.0, 3.0, 2.0, 1.0]), np.array([1, 2, 0, 0])
    subsets = rng.integers(0, 2, (40, 4)).astype(bool)
    equations = Equations(sizes, 0.5)
    equations.add(subsets, (subsets @ counts).astype(float))
    assert np.allclose(equations.solve().counts, counts, atol=1e-3)
    assert equations.is_regular()
    equations = Equations(sizes, 0.5)
    equations.add(np.ones((9, 4), bool), np.full(9, 3.0))
    assert not equations.is_regular()


@pytest.mark.parametrize(("people", "certain"), [(5, True), (8, True), (30, True)])
def test_rounded_counts_of_few_people_prove_nothing(tmp_path, people, certain):
    """All subsets of five people: exact counts prove the column, and ten times nothing proves nothing."""
    sheet, knowledge, truth = scene_of(tmp_path, people)
    for defence, sure in (("raw", certain), ("round", False)):
        endpoint = make(defence, sheet, "state", QUASI)
        report = referee("reconstruction", reconstruction.run, endpoint, knowledge, truth, advice="")
        assert bool(report.certain) is sure
        assert report.certain == report.certain_right
        if sure:
            assert report.right == people


@pytest.mark.parametrize("named", [True, False])
def test_part_of_a_large_table_is_solved_for(tmp_path, monkeypatch, named):
    """A hundred of six hundred rows: with a key by its lowest values, without one by some values of a column."""
    monkeypatch.setattr(scene, "_MOST", 120)
    path = write_people(tmp_path / "people.csv", 600)
    if not named:
        path.write_text("\n".join(line.partition(",")[2] for line in path.read_text().splitlines()) + "\n")
    sheet = read_sheet(path)
    knowledge, truth = scene.set_scene(sheet.records(), TABLE, "state", None)
    assert knowledge.only
    for defence, least in (("raw", 1.0), ("round", 0.85)):
        endpoint = make(defence, sheet, "state", QUASI)
        report = referee("reconstruction", reconstruction.run, endpoint, knowledge, truth, advice="")
        assert report.claims > 90
        assert report.rate >= least
    assert report.certain == 0


def test_people_whom_the_attacker_does_not_know_of_do_not_spoil_it(tmp_path):
    """A list of half of the people: patterns of the key would count the others too, so names are listed."""
    sheet, knowledge, truth = scene_of(tmp_path, 240)
    half = replace(knowledge, people=knowledge.people[:60])
    endpoint = make("raw", sheet, "state", QUASI)
    report = referee("reconstruction", reconstruction.run, endpoint, half, truth[:60], advice="")
    assert report.right == report.certain == 60
