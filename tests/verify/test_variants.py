"""Programs with discrete and Gaussian noise whose verdicts were derived by hand, many just above or just below what is
tight: one line each in variants.txt.
"""

import json
from pathlib import Path

import pytest

from sfumato.verify.checking import faults_of
from sfumato.verify.parse import read_program
from sfumato.verify.refuter.boxes import Boxes
from sfumato.verify.refuter.discrete import ListingBudget
from sfumato.verify.refuter.normal import Normal
from sfumato.verify.refuter.search import RefuterSearch
from sfumato.verify.refuter.small import Small
from sfumato.verify.run import NotRun
from sfumato.verify.verdict import verify

LINES = [line.split(" | ", 1) for line in (Path(__file__).parent / "variants.txt").read_text().splitlines()]
SLOW = [line for place, line in enumerate(LINES) if place % 5 in (1, 3) or "slow" in line[0]]
QUICK = [line for line in LINES if line not in SLOW]


def judged(words, text):
    found = verify(read_program(text))
    assert (found.verdict, found.scope) == (words.split()[0], "all")
    document = json.loads(json.dumps(found.certificate))
    assert faults_of(document) == []


@pytest.mark.parametrize(("words", "text"), QUICK)
def test_a_verdict_is_the_one_derived_by_hand(words, text):
    judged(words, text)


@pytest.mark.slow
@pytest.mark.parametrize(("words", "text"), SLOW)
def test_a_slow_verdict_is_the_one_derived_by_hand(words, text):
    judged(words, text)


def test_there_are_variants_of_every_kind():
    for law in ("Geometric", "TruncGeometric", "Bernoulli", "Choice", "Uniform", "Gauss"):
        verdicts = {words.split()[0] for words, text in LINES if law in text}
        assert verdicts == {"PROVED", "REFUTED"}, law
    assert len(LINES) > 100


def test_the_same_text_gives_the_same_document_every_time():
    for words, text in (QUICK[0], QUICK[-1]):
        first, second = (verify(read_program(text)).to_dict() for _ in range(2))
        assert first == second, words


@pytest.mark.slow
def test_a_program_that_no_search_covers_is_unknown():
    text = (
        "U(q : private int list) : public int adjacent all; claim 2*eps; i := 0; s := 0; while (i < size(q)) {"
        "z :=$ Geometric(exp(-eps/2)); if (q[i]+z > 0) { b :=$ Bernoulli(1/2); s := s + b - b } i := i+1 } return s"
    )
    assert verify(read_program(text)).verdict == "UNKNOWN"


def test_a_search_that_fails_refutes_nothing(monkeypatch):
    def fails(self):
        raise NotRun

    for search in (Boxes, ListingBudget, Normal, RefuterSearch, Small):
        monkeypatch.setattr(search, "run", fails)
    text = "P(x : private int) : public int adjacent one; claim 0; b :=$ Bernoulli(1/2); return b + x"
    assert verify(read_program(text)).verdict == "UNKNOWN"
