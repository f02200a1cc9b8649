"""Bad texts: every one is an error with line and column, or a program with a verdict; never anything else."""

import re
from pathlib import Path

import pytest

from sfumato.errors import InputError
from sfumato.verify.faults import check_inputs
from sfumato.verify.parse import read_program
from sfumato.verify.verdict import verify
from tests.verify.mutants import mutants

TEXTS = [path.read_text() for path in sorted((Path(__file__).parent / "programs").glob("*.sfp"))]
PLACE = r"line \d+ column \d+"


def faults_of(count, seed, then):
    """How many texts were read as programs, and errors without a place: all else that is raised is not caught."""
    good, bad = 0, []
    for text in mutants(TEXTS, count, seed):
        try:
            tree = read_program(text)
            good += 1
            then(tree)
        except InputError as error:
            if not re.search(f"{PLACE}|no input satisfies", error.message):
                bad.append((error.message, text))
    return good, bad


def test_a_bad_text_is_an_error_with_its_place_or_a_program():
    good, bad = faults_of(1000, 1, check_inputs)
    assert bad == []
    assert 25 < good < 750


@pytest.mark.slow
def test_many_bad_texts_are_errors_or_programs():
    good, bad = faults_of(5000, 2, check_inputs)
    assert bad == []
    assert good > 200


@pytest.mark.slow
def test_programs_with_mistakes_in_them_have_a_verdict():
    found = []
    _, bad = faults_of(400, 3, lambda tree: found.append(verify(tree).verdict))
    assert bad == []
    assert set(found) <= {"PROVED", "REFUTED", "UNKNOWN"}
    assert len(found) > 10
