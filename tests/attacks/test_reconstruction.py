"""Reconstruction of a column from counts over subsets, and its decoders."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato.attacks import reconstruction
from sfumato.attacks.decode import all_subsets, exhaustive, least_absolute, least_squares
from sfumato.attacks.defences import make
from sfumato.attacks.gate import table_endpoint
from sfumato.attacks.report import referee
from tests.attacks.people import QUASI, scene_of


def test_small_noise_does_not_protect_a_column(tmp_path):
    """300 people, 1200 questions: rounding to ten and sticky noise fall; a thousand people are in the slow test."""
    sheet, knowledge, truth = scene_of(tmp_path, 300)
    for defence, least in (("round", 0.95), ("sticky", 0.75)):
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
    assert ((reconstruction.decoded(subsets, answers) > 0.5) == column).all()  # chosen by itself
