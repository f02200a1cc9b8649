"""Plans are kept with their debits and derived anew: a charge for less than one person can change is found."""

import json
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

import sfumato
from sfumato.gateway import planner as corridor
from sfumato.gateway import rederive
from sfumato.gateway.opening import rederive as rederive_all
from sfumato.ledger import Ledger
from sfumato.policy import load
from sfumato.sql.release.claims import Reason
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


def _change(policy, old="max = 100 }", new="max = 120 }"):
    """Another policy, under which one more query is asked."""
    text = policy.read_text(encoding="utf-8")
    assert old in text
    policy.write_text(text.replace(old, new), encoding="utf-8")
    with closing(sfumato.open(policy)) as gate:
        gate.sql("SELECT SUM(age) FROM visit")


def _verified(policy):
    done = command("ledger", "verify", "--plans", "--json", "-p", policy)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["plans"]


def test_plans_of_earlier_policies_are_derived_anew(served):
    _change(served)
    _change(served, "rows_per_unit = 3", "rows_per_unit = 2")
    assert _verified(served) == {"derived": 8, "not_derived": {}, "wrong": []}


def test_a_charge_for_less_under_an_earlier_policy_is_found(served, monkeypatch):
    _change(served)
    monkeypatch.setattr(rederive, "_is_covered", lambda charged, asked: charged != asked.event)
    policy = load(served)
    with Ledger.visit(policy.data.ledger) as ledger:
        found = rederive_all(policy, ledger)
    assert len(found.wrong) == 6, "five of the earlier policy, one of this"


def test_keys_that_a_policy_selects_with_another_delta_are_derived_anew(tmp_path):
    """The delta of a query is no part of a policy's digest: it is kept with the charge."""
    policy = write_small(tmp_path, changes=[("epsilon = 100", "epsilon = 100\ndelta = 1e-3\nquery_delta = 1e-6")])
    with closing(sfumato.open(policy)) as gate:
        gate.sql("SELECT age, COUNT(*) FROM visit GROUP BY age")
    _change(policy, "query_delta = 1e-6", "query_delta = 1e-7")
    assert _verified(policy) == {"derived": 2, "not_derived": {}, "wrong": []}


@pytest.mark.parametrize("damage", [Path.unlink, lambda place: place.write_text(place.read_text() + " ")])
def test_what_an_earlier_policy_planned_is_told_apart_where_that_is_gone(served, damage):
    """As in a ledger of versions that kept no policy."""
    (kept,) = (served.parent / ".sfumato" / "policies").iterdir()
    _change(served)
    damage(kept)
    assert _verified(served) == {"derived": 1, "not_derived": {rederive.OTHER_POLICY: 6}, "wrong": []}


def test_nothing_is_claimed_where_no_plan_was_derived(served):
    (kept,) = (served.parent / ".sfumato" / "policies").iterdir()
    served.write_text(served.read_text(encoding="utf-8").replace("max = 100 }", "max = 120 }"), encoding="utf-8")
    kept.unlink()
    done = command("ledger", "verify", "--plans", "-p", served)
    assert done.returncode == 0, done.stderr
    assert "No plan was derived again" in done.stdout
    assert "6 plans not derived: an earlier policy, not kept." in done.stdout
    assert "covers what one person can change" not in done.stdout


def test_tables_of_an_earlier_policy_that_are_gone(tmp_path):
    """What an earlier policy says of a table can be read; the table cannot."""
    small = write_small(tmp_path)
    text = small.read_text(encoding="utf-8")
    (tmp_path / "region.csv").write_text("city,area\nParis,1\nLyon,2\n", encoding="utf-8")
    more = text.replace('visit = "visit.csv"', 'visit = "visit.csv", region = "region.csv"')
    assert more != text
    small.write_text(more + "\n[tables.region]\npublic = true\n", encoding="utf-8")
    with closing(sfumato.open(small)) as gate:
        gate.sql(QUERIES[0])
    small.write_text(text, encoding="utf-8")
    with closing(sfumato.open(small)) as gate:
        gate.sql(QUERIES[1])
    assert _verified(small) == {"derived": 1, "not_derived": {rederive.OTHER_TABLES: 1}, "wrong": []}


def test_the_command_says_how_many(served):
    done = command("ledger", "verify", "--plans", "--json", "-p", served)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["plans"] == {"derived": 6, "not_derived": {}, "wrong": []}
    before = command("ledger", "verify", "--json", "-p", served)
    assert json.loads(before.stdout)["entries"] == json.loads(done.stdout)["entries"], "nothing was recorded"


def _long(policy, monkeypatch):
    """A ledger whose derivation is too long to be kept whole."""
    monkeypatch.setattr(rederive, "_LONGEST", 10)
    with closing(sfumato.open(policy)) as gate:
        gate.sql(QUERIES[0])
    monkeypatch.undo()
    return policy


def test_a_long_derivation_is_kept_as_a_hash_of_its_numbers(tmp_path, monkeypatch):
    policy = _long(write_small(tmp_path), monkeypatch)
    found = rederived(policy)
    assert (found.plans, found.wrong) == (1, [])
    with closing(sfumato.open(policy)) as gate:
        (kept,) = [entry.body["plan"]["derived"] for entry in gate.ledger.entries() if entry.kind == "debit"]
    # of [["COUNT(*)", "3", "3"]]: other versions must find the same
    assert kept == {"numbers": sha256(b'[["COUNT(*)", "3", "3"]]').hexdigest()}


def test_other_words_are_no_fault_but_other_numbers_are(tmp_path, monkeypatch):
    policy = _long(write_small(tmp_path), monkeypatch)
    real = Reason.to_dict
    monkeypatch.setattr(Reason, "to_dict", lambda self: {**real(self), "why": ["in other words"]})
    assert (rederived(policy).plans, rederived(policy).wrong) == (1, [])
    monkeypatch.undo()
    monkeypatch.setattr(rederive, "_hash_of_numbers", lambda _: "other numbers")
    (wrong,) = rederived(policy).wrong
    assert "has other numbers than the stored one" in wrong


def test_a_hash_of_words_that_an_early_version_kept(tmp_path, monkeypatch):
    """It was the hash of the whole text: the same words are the same plan, others cannot be compared."""

    def early(asked, reasons, rows_per_unit, day):
        kept = record(asked, reasons, rows_per_unit, day)
        return {**kept, "derived": sha256(json.dumps(kept["derived"]).encode()).hexdigest()}

    record = rederive.record
    monkeypatch.setattr(corridor, "record", early)
    policy = write_small(tmp_path)
    with closing(sfumato.open(policy)) as gate:
        gate.sql(QUERIES[0])
    monkeypatch.undo()
    assert (rederived(policy).plans, rederived(policy).wrong) == (1, [])
    real = Reason.to_dict
    monkeypatch.setattr(Reason, "to_dict", lambda self: {**real(self), "why": ["in other words"]})
    found = rederived(policy)
    assert (found.plans, found.wrong, dict(found.not_derived)) == (0, [], {rederive.OTHER_WORDS: 1})
