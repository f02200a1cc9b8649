"""Drafts for the law, filled in from the ledger: nothing is claimed that is not recorded, the rest is left open."""

import json
import sys

import pytest

import sfumato
from sfumato.attacks.promise import promise_in_words
from sfumato.cli import main
from sfumato.cli.clinic import write_clinic
from sfumato.cli.ledger_report import ARTICLES, OPEN


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
    assert text["likely consequences of the answers alone"] == promise_in_words(0.75, 2, 0.5)
    assert text["to whom"] == "ana (2 queries)"
    assert text["what left through the gateway"].startswith("2 charged answers")
    assert found["head"] in text["evidence"]
    assert OPEN in text["nature of the breach"]
    verified = json.loads(call("ledger", "verify", "--json")[1])
    assert verified["hash"] == found["head"]  # the draft changed nothing


def test_erasure_leaves_the_record_alone_and_says_which_queries_name_people(call, tmp_path):
    before = (tmp_path / "clinic.ledger").read_bytes()
    text = call("ledger", "report", "--article", "17")[1]
    assert "1 recorded texts compare" in text
    assert "no rows" in text
    assert (tmp_path / "clinic.ledger").read_bytes() == before


def test_every_article_has_a_draft_and_others_are_refused(call):
    for number in ARTICLES:
        code, out, err = call("ledger", "report", "--article", number)
        assert code == 0, err
        assert out.startswith(f"Article {number}: ")
        assert OPEN in out
    assert call("ledger", "report", "--article", "99")[0] == 2
