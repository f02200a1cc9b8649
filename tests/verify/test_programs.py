"""Programs with a known answer: right ones are proved, wrong ones refuted, failing ones are errors. Nothing is known
by name.
"""

import json
import re
from pathlib import Path

import pytest

from sfumato.errors import InputError
from sfumato.verify import program
from sfumato.verify.kernel.certificate import faults_of
from sfumato.verify.kernel.second import second_solver
from sfumato.verify.parse import read_program
from sfumato.verify.prover.search import search
from sfumato.verify.refuter.refutation import witness_faults
from sfumato.verify.refuter.search import RefuterSearch
from sfumato.verify.verdict import verify

FILES = sorted((Path(__file__).parent / "programs").glob("*.sfp"))
EXPECTED = {path.stem: re.search(r"expect: (\w+)", path.read_text())[1] for path in FILES}
TEXTS = {path.stem: path.read_text() for path in FILES}


def named(verdict):
    return [name for name, expected in EXPECTED.items() if expected == verdict]


def test_there_are_programs_of_every_kind():
    assert min(len(named(verdict)) for verdict in ("PROVED", "REFUTED")) > 25
    assert len(named("ERROR")) >= 5


@pytest.mark.parametrize("name", named("PROVED"))
def test_right_programs_are_proved_and_their_certificates_hold(name):
    verdict = verify(read_program(TEXTS[name]))
    assert (verdict.verdict, verdict.scope, verdict.exit_code) == ("PROVED", "all", 0)
    assert faults_of(json.loads(json.dumps(verdict.certificate)), second_solver()) == []


@pytest.mark.parametrize("name", named("REFUTED"))
def test_wrong_programs_are_refuted_and_their_witnesses_hold(name):
    verdict = verify(read_program(TEXTS[name]))
    assert (verdict.verdict, verdict.exit_code) == ("REFUTED", 1)
    assert witness_faults(json.loads(json.dumps(verdict.certificate))) == []


@pytest.mark.parametrize("name", named("REFUTED"))
def test_wrong_programs_are_never_proved(name):
    assert search(read_program(TEXTS[name])).proofs is None


@pytest.mark.parametrize("name", ["p_two", "p_count", "p_index", "p_gap", "p_nmin", "p_moves", "p_svt_23"])
def test_right_programs_are_never_refuted(name):
    looking = RefuterSearch(read_program(TEXTS[name]), work=4000)
    assert looking.run() is None
    assert looking.best < 1 + 1e-9
    assert looking.work < 4000


@pytest.mark.parametrize("name", named("ERROR"))
def test_programs_that_fail_are_errors_with_a_line_and_an_input(name):
    with pytest.raises(InputError, match=r"line \d+ column \d+|no input satisfies") as raised:
        verify(read_program(TEXTS[name]))
    assert raised.value.hint


def test_the_same_text_gives_the_same_document_every_time():
    first, second = (verify(read_program(TEXTS["p_gap"])).certificate for _ in range(2))
    assert first == second
    first, second = (verify(read_program(TEXTS["r_value"])).to_dict() for _ in range(2))
    assert first == second


def test_names_and_layout_do_not_matter():
    plain = TEXTS["p_gap"]
    renamed = (
        re.sub(r"\bbar\b", "x9", re.sub(r"\bq\b", "zeta", plain)).replace("\n", " ").replace("-- expect: PROVED", "")
    )
    assert verify(read_program(renamed)).verdict == "PROVED"
    wrong = TEXTS["r_value"].replace("REFUTED", "PROVED").replace("Sparse", "NoisyMax")
    assert verify(read_program(wrong)).verdict == "REFUTED"


def test_a_claim_between_the_proved_and_the_refuted_is_said_to_be_unknown():
    text = (  # true by the curve for all epsilon and delta, but not by a tail
        "G(c : private real) : public real requires eps < 1 && delta > 0 && delta < 0.001; adjacent one;"
        "claim (eps, delta); z :=$ Gauss(sqrt(2*ln(0.5/delta))/eps, 0); return c + z"
    )
    verdict = program(text).verify()
    assert (verdict.verdict, verdict.exit_code, verdict.certificate) == ("UNKNOWN", 6, None)
