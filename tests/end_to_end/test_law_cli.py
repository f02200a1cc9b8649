"""Drafts for the law, filled in from the ledger: nothing is claimed that is not recorded, the rest is left open."""

import json
import sys
from fractions import Fraction

import pytest

import sfumato
from sfumato.accounting import suspicion
from sfumato.cli import main
from sfumato.cli.clinic import write_clinic
from sfumato.cli.ledger_report import ARTICLES, OPEN
from sfumato.errors import BudgetError
from sfumato.types import Adjacency


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    write_clinic(tmp_path)
    with sfumato.open(tmp_path / "sfumato.toml") as gate:
        gate.sql("SELECT COUNT(*) FROM patient WHERE age > 40", epsilon="0.5", analyst="ana")
        gate.sql("SELECT COUNT(*) FROM patient WHERE ssn = '000-00-0005'", epsilon="0.25", analyst="ana")

    def run(*words):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        return (stopped.value.code or 0, *capsys.readouterr())

    return run


def test_a_breach_notice_has_what_the_ledger_knows(call, tmp_path):
    code, out, err = call("ledger", "report", "--article", "33", "--json")
    assert code == 0, err
    found = json.loads(out)
    text = {one["head"]: one["text"] for one in found["sections"]}
    assert found["spent"] == "0.75"
    words = suspicion(Fraction(3, 4), Adjacency.ADD_REMOVE)
    assert text["likely consequences of the answers alone"].endswith(f"at most epsilon 0.75 together: {words}")
    assert text["to whom"].startswith("ana (2 charged queries); stored answers are free")
    assert text["what left through the gateway"].startswith("2 charged answers")
    assert found["head"] in text["evidence"]
    assert OPEN in text["nature of the breach"]
    verified = json.loads(call("ledger", "verify", "--json")[1])
    assert verified["hash"] == found["head"]  # the draft changed nothing


def test_erasure_leaves_the_record_alone_and_says_which_queries_name_people(call, tmp_path):
    before = (tmp_path / "clinic.ledger").read_bytes()
    text = call("ledger", "report", "--article", "17")[1]
    assert "1 recorded query mentions a column that identifies people: entry 5;" in text
    assert "no rows were prepared" in text
    assert "no rows" in text
    assert (tmp_path / "clinic.ledger").read_bytes() == before


def test_every_article_has_a_draft_and_others_are_refused(call):
    for number in ARTICLES:
        code, out, err = call("ledger", "report", "--article", number)
        assert code == 0, err
        assert out.startswith(f"Article {number}: ")
        assert OPEN in out
    assert call("ledger", "report", "--article", "99")[0] == 2


def test_copies_of_rows_are_named_in_an_erasure(call, tmp_path):
    """Prepared rows outlive the source: a draft that leaves them out would leave the person in."""
    assert call("prepare")[0] == 0
    text = call("ledger", "report", "--article", "17")[1]
    assert f"{tmp_path}/.sfumato/prepared.duckdb holds them" in text


def test_a_draft_never_states_less_than_was_spent(call, tmp_path):
    """A lowered total hides nothing, Gaussian noise counts as the total, and delta is stated where it was spent."""

    def learnt():
        sections = json.loads(call("ledger", "report", "--article", "33", "--json")[1])["sections"]
        return next(one["text"] for one in sections if one["head"].startswith("likely"))

    policy = tmp_path / "sfumato.toml"
    with sfumato.open(policy) as gate:
        gate.sql("SELECT note, COUNT(*) FROM visit GROUP BY note", epsilon="0.25", analyst="ana")
    assert "at most epsilon 1 together" in learnt()
    assert learnt().endswith("(up to delta 1e-8, for values 3.8e-8)")
    written = policy.read_text()
    policy.write_text(written.replace("\nepsilon = 4 ", "\nepsilon = 0.5 ").replace("epsilon = 1", "epsilon = 0.5"))
    assert "at most epsilon 1 together" in learnt()
    policy.write_text(written)
    with sfumato.open(policy) as gate:
        gate.sql("SELECT COUNT(*) FROM visit", noise="gaussian", epsilon="0.1")
    assert "at most epsilon 4 together" in learnt()
    assert learnt().endswith("(up to delta 1e-6, for values 5.6e-5)")


def test_a_total_below_what_was_spent_bounds_nothing(call, tmp_path):
    """It was lowered: neither the budget nor the draft may call its odds those of all answers."""
    policy = tmp_path / "sfumato.toml"
    with sfumato.open(policy) as gate:
        gate.sql("SELECT COUNT(*) FROM visit", epsilon="2")
    assert "all of it: a 50 %" in call("budget")[1]
    written = policy.read_text()
    policy.write_text(written.replace("\nepsilon = 4 ", "\nepsilon = 0.5 ").replace("epsilon = 1", "epsilon = 0.5"))
    with sfumato.open(policy) as gate, pytest.raises(BudgetError):
        gate.sql("SELECT COUNT(*) FROM patient", epsilon="0.1")
    out = call("budget")[1]
    assert "all of it" not in out
    assert "the total does not bound the answers so far" in out
    spent = suspicion(Fraction("2.75"), Adjacency.ADD_REMOVE)
    assert f"spent so far: {spent}" in out
    draft = call("ledger", "report", "--article", "35")[1]
    assert f"risk when the whole budget is spent: epsilon 2.75: {spent}" in draft


def test_an_impact_assessment_needs_no_query(call, tmp_path):
    """Before anything is served: the risk of the whole budget, and a ledger that is not there is not made up."""
    (tmp_path / "new").mkdir()
    write_clinic(tmp_path / "new")
    code, out, err = call("ledger", "report", "--article", "35", "-p", tmp_path / "new" / "sfumato.toml")
    assert code == 0, err
    assert "risk when the whole budget is spent: epsilon 4: a 50 % suspicion that somebody is in the data" in out
    assert "risk so far: nothing: no answer was given" in out
    assert "head of the chain: none yet" in out
    assert not (tmp_path / "new" / "clinic.ledger").exists()
