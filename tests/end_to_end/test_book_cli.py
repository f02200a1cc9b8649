"""`sfumato budget` and `sfumato ledger` as a person runs them."""

import json
import re
import sqlite3
from fractions import Fraction

import duckdb
import pytest
from tests.end_to_end.pg import change_policy

from sfumato import errors
from sfumato.cli import ledger

BY_DISEASE = "SELECT disease, COUNT(*) AS n FROM patient GROUP BY disease"

# budget


def test_the_budget_before_the_first_question_makes_no_ledger(made, call):
    done = call("budget", at=made)
    assert re.search(r"^remaining +4 ", done.stdout, re.MULTILINE)
    assert not (made / "clinic.ledger").exists()


def test_the_budget_of_an_analyst_and_of_everybody(made, call):
    call("query", BY_DISEASE, "--analyst", "ana", "--epsilon", "0.25", at=made)
    hers = json.loads(call("budget", "--analyst", "ana", "--json", at=made).stdout)
    assert [hers[part]["epsilon"] for part in ("total", "spent", "remaining")] == ["1", "1/4", "3/4"]
    assert hers["queries"] == 7
    all_of_it = json.loads(call("budget", "--json", at=made).stdout)
    assert [all_of_it[part]["epsilon"] for part in ("total", "spent", "remaining")] == ["4", "1/4", "15/4"]
    assert 'Budget of ana, data "clinic"' in call("budget", "--analyst", "ana", at=made).stdout


def test_a_policy_that_was_changed_is_told(made, call):
    call("query", BY_DISEASE, at=made)
    assert call("budget", at=made).stderr == ""
    change_policy(made, "epsilon = 4 ", "epsilon = 8 ")
    assert "takes effect with the next" in call("budget", at=made).stderr


@pytest.mark.parametrize(("composition", "count"), [("pure", 7), ("zcdp", 7), ("best", 7), ("best", 90)])
def test_split_is_exact(composition, count, made, call):
    """So many questions of that epsilon fit, one unit more does not."""
    from sfumato.accounting import PrivacyFilter, Pure, price

    change_policy(made, 'composition = "best"', f'composition = "{composition}"')
    document = json.loads(call("budget", "split", count, "--json", at=made).stdout)
    each = Fraction(document["epsilon"])
    total = PrivacyFilter(composition, 4, "1e-6")
    assert total.remaining_count(price(Pure(each))) >= count
    assert total.remaining_count(price(Pure(each + Fraction(1, 10**15)))) < count
    if composition == "pure":
        assert each == Fraction(4 * 10**15 // 7, 10**15)
    (shown,) = re.findall(r"--epsilon (\S+)", call("budget", "split", count, at=made).stdout)
    assert each * Fraction(999, 1000) < Fraction(shown) <= each  # four digits, rounded down
    assert len(shown.replace(".", "").strip("0")) <= 4


def test_split_counts_what_was_spent_and_options_stand_on_either_side(made, call):
    before = json.loads(call("budget", "split", "2", "--json", at=made).stdout)["epsilon"]
    call("query", BY_DISEASE, at=made)
    after = json.loads(call("budget", "split", "2", "--json", at=made).stdout)["epsilon"]
    assert (Fraction(before), Fraction(after)) == (2, Fraction(39, 20))
    policy = made / "sfumato.toml"
    one = call("budget", "-p", policy, "--analyst", "ana", "--json", "split", "2", at=made.parent)
    other = call("budget", "split", "2", "-p", policy, "--analyst", "ana", "--json", at=made.parent)
    assert one.stdout == other.stdout
    assert json.loads(one.stdout)["epsilon"] == "1/2"


def test_split_into_too_many_exits_4(made, call):
    assert call("budget", "split", 10**15, at=made).returncode == 4


# ledger


def test_the_ledger_is_shown_verified_exported_and_copied(made, call):
    call("query", BY_DISEASE, at=made)
    shown = call("ledger", "show", at=made).stdout
    assert BY_DISEASE in shown
    assert re.search(r"3 .*charge +owner +0\.1", shown)
    entries = json.loads(call("ledger", "show", "--json", at=made).stdout)["entries"]
    assert [entry["kind"] for entry in entries] == ["opened", "policy", "debit", "answer"]
    verified = json.loads(call("ledger", "verify", "--json", at=made).stdout)
    assert (verified["debits"], verified["spent"]["epsilon"], verified["hash"]) == (1, "1/10", entries[-1]["hash"])
    assert "The ledger is valid: 4 entries" in call("ledger", "verify", at=made).stdout
    assert call("ledger", "export", "out.jsonl", at=made).returncode == 0
    assert [json.loads(line)["hash"] for line in (made / "out.jsonl").read_text().splitlines()] == [
        entry["hash"] for entry in entries
    ]
    assert call("ledger", "backup", "copy.ledger", at=made).returncode == 0
    change_policy(made, 'ledger = "clinic.ledger"', 'ledger = "copy.ledger"')
    assert json.loads(call("ledger", "verify", "--json", at=made).stdout) == verified


@pytest.mark.parametrize("word", ["unfreeze", "thaw"])
def test_freeze_and_unfreeze(made, call, word):
    call("query", BY_DISEASE, at=made)
    assert call("ledger", "freeze", at=made).returncode == 0
    done = call("query", "SELECT COUNT(*) FROM visit", at=made)
    assert done.returncode == 4
    assert "is frozen" in done.stderr
    assert "`sfumato ledger unfreeze`" in done.stderr
    assert call("ledger", word, at=made).returncode == 0
    assert call("query", "SELECT COUNT(*) FROM visit", at=made).returncode == 0


def test_reopen_opens_what_failures_have_closed(made, call, monkeypatch):
    from sfumato.engines.base import failure
    from sfumato.engines.duckdb import DuckDB

    def fail(self, *_):
        raise failure(duckdb.Error("no"))

    with monkeypatch.context() as broken:
        broken.setattr(DuckDB, "run", fail)
        for age in range(3):
            assert call("query", f"SELECT COUNT(*) FROM patient WHERE age = {age}", at=made).returncode == 5
    assert "is closed" in call("query", BY_DISEASE, at=made).stderr
    assert call("ledger", "reopen", at=made).returncode == 0
    assert call("query", BY_DISEASE, at=made).returncode == 0


def test_a_ledger_that_was_edited_exits_1(made, call):
    call("query", BY_DISEASE, at=made)
    assert call("ledger", "verify", at=made).returncode == 0
    with sqlite3.connect(made / "clinic.ledger") as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("""UPDATE entry SET body = replace(body, '"epsilon":"1/10"', '"epsilon":"1/99"')""")
    connection.close()
    done = call("ledger", "verify", at=made)
    assert done.returncode == 1
    assert done.stderr.startswith("ERROR 58030: ")


def test_a_file_that_is_no_ledger_exits_1_and_one_that_is_not_there_5(made, call):
    assert call("ledger", "verify", at=made).returncode == 5
    (made / "clinic.ledger").write_bytes(b"not a database, but longer than its header " * 200)
    assert call("ledger", "verify", at=made).returncode == 1


def test_a_ledger_that_is_busy_is_not_called_broken():
    busy = sqlite3.OperationalError("database is locked")
    busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
    corrupt = sqlite3.DatabaseError("malformed")
    corrupt.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    causes = {busy: False, corrupt: True, OSError("no"): False, None: True}
    for cause, broken in causes.items():
        error = errors.LedgerError("no")
        error.__cause__ = cause
        assert ledger.is_broken(error) is broken
