"""Plans are kept with their debits and derived anew: a charge for less than one person can change is found."""

import json
from contextlib import closing

import pytest

import sfumato
from sfumato.gateway import planner as corridor
from sfumato.gateway import rederive
from tests.end_to_end.served import command, write_small

QUERIES = [
    "SELECT COUNT(*) FROM visit WHERE age > 40",
    "SELECT city, SUM(age), COUNT(*) FROM visit GROUP BY city",
    "SELECT MEDIAN(age) FROM visit",
    "SELECT COUNT(*) FROM visit WHERE age > (SELECT AVG(age) FROM visit)",
]


@pytest.fixture
def served(tmp_path):
    """A small clinic whose ledger holds four queries, one of them made better, and one with fewer rows."""
    policy = write_small(tmp_path)
    with closing(sfumato.open(policy)) as gate:
        for query in QUERIES:
            gate.sql(query)
        gate.sql(QUERIES[0], 2)
        gate.sql(QUERIES[1], rows_per_unit=1)
    return policy


def rederived(policy):
    with closing(sfumato.open(policy)) as gate:
        return gate.rederive()


def test_every_plan_is_derived_anew(served):
    found = rederived(served)
    assert (found.plans, found.wrong, dict(found.not_derived)) == (6, [], {})


def test_the_derivation_is_kept_with_the_debit(served):
    with closing(sfumato.open(served)) as gate:
        (first, *_) = [entry for entry in gate.ledger.entries() if entry.kind == "debit"]
    kept = first.body["plan"]
    assert (kept["noise"], kept["rows_per_unit"]) == ("geometric", None)
    (number,) = kept["derived"]
    assert (number["derived"], number["claimed"]) == ("3", "3")
    assert number["why"]


def test_a_claim_below_what_is_derived_is_found(tmp_path, monkeypatch):
    """As if a planner of that day had claimed less, and its checker had let it pass."""

    def less(*given):
        kept = rederive.record(*given)
        kept["derived"] = [{**number, "claimed": "1"} for number in kept["derived"]]
        return kept

    monkeypatch.setattr(corridor, "record", less)
    policy = write_small(tmp_path)
    with closing(sfumato.open(policy)) as gate:
        gate.sql(QUERIES[0])
    monkeypatch.undo()
    (wrong,) = rederived(policy).wrong
    assert "is charged for sensitivity 1, but has 3" in wrong
    done = command("ledger", "verify", "--plans", "-p", policy)
    assert done.returncode == 1
    assert "do not cover what one person can change" in done.stderr


def test_a_charge_for_less_is_found(served, monkeypatch):
    """As if the price of that day had been lower than the plan's."""
    monkeypatch.setattr(rederive, "_is_covered", lambda charged, asked: charged != asked.event)
    assert len(rederived(served).wrong) == 5


def test_what_another_policy_planned_is_told_apart(served):
    text = served.read_text(encoding="utf-8")
    served.write_text(text.replace("max = 100 }", "max = 120 }"), encoding="utf-8")
    found = rederived(served)
    assert (found.plans, dict(found.not_derived)) == (0, {rederive.OTHER_POLICY: 6})


def test_the_command_says_how_many(served):
    done = command("ledger", "verify", "--plans", "--json", "-p", served)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["plans"] == {"derived": 6, "not_derived": {}, "wrong": []}
    before = command("ledger", "verify", "--json", "-p", served)
    assert json.loads(before.stdout)["entries"] == json.loads(done.stdout)["entries"], "nothing was recorded"


def test_a_long_derivation_is_kept_as_a_hash(served, monkeypatch, tmp_path):
    (tmp_path / "long").mkdir()
    monkeypatch.setattr(rederive, "_LONGEST", 10)
    policy = write_small(tmp_path / "long")
    with closing(sfumato.open(policy)) as gate:
        gate.sql(QUERIES[0])
    found = rederived(policy)
    assert (found.plans, found.wrong) == (1, [])
