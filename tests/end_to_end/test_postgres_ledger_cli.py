"""`sfumato ledger` over a server, as a person runs it: a ledger is moved, looked at, frozen, and served on."""

import json
import re

import pytest
from tests import pgserver
from tests.end_to_end.pg import change_policy

BY_DISEASE = "SELECT disease, COUNT(*) AS n FROM patient GROUP BY disease"


@pytest.fixture
def place(pg):
    made = pgserver.fresh(pg)
    yield made
    pgserver.drop(made)


@pytest.fixture
def call(call):
    """The same, and it ends with the code that is expected."""

    def checked(*words, at=None, code=0):
        done = call(*words, at=at)
        assert done[0] == code, done
        return done

    return checked


def test_a_ledger_is_moved_and_everything_goes_on(made, call, place):
    first = call("query", BY_DISEASE, "--epsilon", "0.25", "--json", at=made).stdout
    done = call("ledger", "move", str(made / "clinic.ledger"), place)
    assert "Moved: 6 entries" in done.stderr
    assert "hunter2" not in done.stderr + (made / "clinic.ledger").read_bytes().decode("latin-1")
    refused = call("query", BY_DISEASE, "--epsilon", "0.25", at=made, code=5)
    assert "the ledger was moved" in refused.stderr
    change_policy(made, 'ledger = "clinic.ledger"', f'ledger = "{place}"')
    again = json.loads(call("query", BY_DISEASE, "--epsilon", "0.25", "--json", at=made).stdout)
    assert again["rows"] == json.loads(first)["rows"]
    assert json.loads(call("budget", "--json", at=made).stdout)["spent"]["epsilon"] == "1/4"
    kinds = [entry["kind"] for entry in json.loads(call("ledger", "show", "--json", at=made).stdout)["entries"]]
    assert kinds[:6] == ["opened", "policy", "debit", "answer", "frozen", "thawed"]
    assert "nothing was edited" in call("ledger", "verify", "--plans", at=made).stdout
    call("ledger", "export", str(made / "chain.jsonl"), at=made)
    assert len((made / "chain.jsonl").read_text().splitlines()) == len(kinds)
    call("ledger", "freeze", at=made)
    assert "frozen" in call("query", BY_DISEASE, at=made, code=4).stderr
    call("ledger", "thaw", at=made)
    backup = call("ledger", "backup", str(made / "backup"), at=made, code=5)
    assert re.search(r"pg_dump --schema=t[0-9a-f]+", backup.stderr)
    assert not (made / "backup").exists()
    assert "nothing to accept" in call("ledger", "accept", at=made, code=2).stderr
    assert "hunter2" not in call("ledger", "show", "--json", at=made).stdout


def test_a_ledger_on_another_server_is_accepted_once(made, call, place):
    change_policy(made, 'ledger = "clinic.ledger"', f'ledger = "{place}"')
    call("query", BY_DISEASE, at=made)
    with pgserver.link(place) as link:
        link.execute("UPDATE head SET server = '1/00000001', changes = changes + 1")
    refused = call("query", BY_DISEASE, at=made, code=5)
    assert "on another server than before" in refused.stderr
    assert "sfumato ledger accept" in refused.stderr
    assert "nothing was edited" in call("ledger", "verify", at=made).stdout
    assert "Accepted" in call("ledger", "accept", at=made).stderr
    call("query", BY_DISEASE, at=made)
    assert "nothing to accept" in call("ledger", "accept", at=made, code=2).stderr


def test_a_ledger_that_is_not_there(made, call, place):
    change_policy(made, 'ledger = "clinic.ledger"', f'ledger = "{place}"')
    assert re.search(r"^remaining +4 ", call("budget", at=made).stdout, re.MULTILINE)
    assert "there is no ledger there yet" in call("ledger", "verify", at=made, code=5).stderr
    change_policy(made, place, "postgresql://me:hunter2@127.0.0.1:1/x")
    for words in (("ledger", "verify"), ("query", BY_DISEASE), ("budget",)):
        said = call(*words, at=made, code=5).stderr
        assert "the ledger cannot be reached" in said
        assert "hunter2" not in said
    call("ledger", "move", str(made / "clinic.ledger"), "elsewhere.ledger", code=5)


def test_an_attack_is_tried_on_a_copy_of_a_ledger_in_a_server(made, place, call):
    from sfumato.gateway.opening import fork_policy

    change_policy(made, 'ledger = "clinic.ledger"', f'ledger = "{place}"')
    call("query", BY_DISEASE, at=made)
    (made / "fork").mkdir()
    with fork_policy(made / "sfumato.toml", made / "fork") as gate:
        assert gate.sql("SELECT COUNT(*) FROM patient").cost.epsilon > 0
        assert gate.sql(BY_DISEASE).cost.epsilon == 0
    with pgserver.link(place) as link:
        assert link.execute("SELECT count(*) FROM entry").fetchone() == (4,)
