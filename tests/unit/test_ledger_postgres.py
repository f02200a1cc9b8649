"""The tests of the ledger once more, over a PostgreSQL server; and what only a server can do wrong."""

import inspect
import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from types import FunctionType, SimpleNamespace

import pytest

from sfumato.errors import InputError, LedgerError
from sfumato.ledger import Ledger, charging, opening
from tests import pgserver
from tests.unit import test_ledger, test_ledger_cells, test_ledger_units
from tests.unit.raw_ledger import raw, tamper
from tests.unit.test_ledger import TENTH, ask, book, fill, filled, found
from tests.unit.test_ledger_cells import charged

OF_FILES = {
    "test_a_backup_is_whole_and_replaces_no_ledger",  # pg_dump
    "test_a_failed_upgrade_changes_nothing",  # there is no older format yet
    "test_a_forked_child_does_not_touch_it",  # the fork is seen before the store
    "test_a_lost_ledger_is_not_a_new_budget",  # see below
    "test_cells_must_have_names",  # the longest ones do not fit into an index
    "test_a_policy_that_cannot_hold_is_refused",  # nothing is stored
    "test_a_ledger_behind_a_link_is_the_same_ledger",
    "test_a_ledger_of_format_1_goes_on",
    "test_a_ledger_that_was_replaced_has_no_mark",  # see below
    "test_a_ledger_with_units_is_not_for_older_code",
    "test_a_network_file_system_is_refused",
    "test_a_refusal_takes_back_its_own_writes_only",  # of SQLite's statements
    "test_a_relative_path_stays_where_it_was",
    "test_an_export_and_a_backup_hold_the_cells",
    "test_an_older_format_is_upgraded_after_a_copy",
    "test_another_file_is_not_a_ledger",
    "test_a_decision_costs_what_the_first_did",  # counts SQLite's statements
    "test_newer_code_came_while_it_was_open",  # see below
    "test_newer_code_wrote_it",
    "test_one_commit_serves_all_who_wait_and_nobody_is_told_before",
    "test_one_who_serves_finds_a_changed_head",  # see below
    "test_sums_are_those_of_the_filter",  # nothing is stored
    "test_the_adjacency_of_format_1_is_recorded_once",
    "test_the_file_is_durable_local_and_private",
    "test_there_must_be_something_to_visit",
    "test_under_load_commits_wait_for_each_other_and_alone_nobody_waits",
    "test_units_that_were_not_recorded_are_those_that_come_first",
    "test_verify_finds_a_cut_tail",  # see below
    "test_verify_finds_a_wall_taken_down",
    "test_verify_finds_an_entry_of_another_chain",  # of another file
    "test_verify_finds_an_older_backup",
    "test_what_is_closed_serves_no_more",
    "test_a_question_that_ends_without_writing_keeps_nobody_waiting",
    "test_every_pair_of_units_is_the_same_or_refused",
    "test_units_are_texts",
}
"""Tests that are about files, or about SQLite's own words; all others hold of both."""

SAMPLE = {
    "test_forty_tenths_are_four",
    "test_fifty_nine_tenths_under_best_in_a_ledger",
    "test_shares_ration_one_total",
    "test_a_refusal_writes_nothing",
    "test_the_first_answer_wins",
    "test_a_retry_gets_the_answer",
    "test_a_key_is_remembered_when_the_answer_was_free",
    "test_failures_close_a_version_until_the_owner_looks",
    "test_a_frozen_budget_gives_nothing_away",
    "test_an_older_policy_decides_nothing_more",
    "test_a_visitor_writes_nothing",
    "test_large_budgets_are_exact",
    "test_the_walls_of_the_schema_stand",
    "test_verify_finds_edited_sums",
    "test_verify_finds_an_edited_answer",
    "test_verify_finds_a_deleted_entry",
    "test_eight_threads_spend_one_budget",
    "test_every_change_moves_the_mark",
    "test_another_process_moves_the_mark",
    "test_again_is_the_free_half_of_a_debit",
    "test_replace_takes_the_two_largest",
    "test_the_walls_around_cells_stand",
    "test_another_process_charged_the_cell",
    "test_a_used_ledger_keeps_its_unit",
}
"""What `make test` runs of them; `make slow` runs them all."""


def again(test, name):
    """The same test under the same name; the long tail of them is slow, and left to `make slow`."""
    if name in SAMPLE:
        return test
    copy = FunctionType(test.__code__, test.__globals__, name, test.__defaults__, test.__closure__)
    copy.__dict__.update(test.__dict__)
    copy.pytestmark = [*getattr(test, "pytestmark", []), pytest.mark.slow]
    return copy


for module in (test_ledger, test_ledger_cells, test_ledger_units):
    for name, test in inspect.getmembers(module, inspect.isfunction):
        if name.startswith("test_") and test.__module__ == module.__name__ and name not in OF_FILES:
            globals()[name] = again(test, name)
del module, name, test

__all__ = ["charged", "filled"]


@pytest.fixture
def path(pg):
    place = pgserver.fresh(pg)
    yield place
    pgserver.drop(place)


@pytest.fixture(autouse=True)
def places(pg, monkeypatch):
    """Where a test names no place, one in the server."""
    made = []

    def new_place():
        made.append(pgserver.fresh(pg))
        return made[-1]

    monkeypatch.setattr(test_ledger, "new_place", new_place)
    monkeypatch.setattr("sfumato.ledger.ledger.TURN", 0.2)  # many ask what another has paid for and never answers
    yield
    for place in made:
        pgserver.drop(place)


def test_every_exception_is_a_test_that_exists():
    names = {name for module in (test_ledger, test_ledger_cells, test_ledger_units) for name in vars(module)}
    assert names >= OF_FILES | SAMPLE
    assert not OF_FILES & SAMPLE


def test_there_must_be_something_to_visit_in_a_server(path):
    with pytest.raises(LedgerError, match="there is no ledger there yet"):
        Ledger.visit(path)
    with pgserver.link(path) as link:
        assert link.execute("SELECT to_regnamespace(%s)", (path.rpartition("#")[2],)).fetchone() == (None,)


def test_a_chain_that_was_cut_is_noticed_by_whoever_saw_it(path, tmp_path):
    anchor = tmp_path / "anchor"
    with book(path, anchor=anchor) as ledger, Ledger.visit(path) as other:
        fill(ledger)
        ledger.freeze("owner")
        assert len(list(other.entries())) == 13
        tamper(path, "DELETE FROM entry WHERE kind = 'frozen'")
        for one in (ledger, other):
            with pytest.raises(LedgerError, match="the ledger is older than it was"):
                one.budget()
            with pytest.raises(LedgerError, match="is no longer served"):
                one.budget()
        with pytest.raises(LedgerError, match="is no longer served"):
            ask(ledger, "more")
    with pytest.raises(LedgerError, match="older than its anchor"):
        book(path, anchor=anchor)
    Ledger.visit(path).verify()  # the chain by itself cannot know how long it was


def test_a_head_that_was_changed_is_noticed_by_whoever_saw_it(path):
    with book(path) as ledger:
        fill(ledger)
        tamper(path, "UPDATE entry SET hash = previous WHERE seq = 12")
        with pytest.raises(LedgerError, match="the ledger is older than it was"):
            ask(ledger, "more")
        with pytest.raises(LedgerError, match="is no longer served"):
            ask(ledger, "more")


@pytest.mark.parametrize(
    "change",
    [
        "DROP TRIGGER sums_grow ON sums",
        "ALTER TABLE entry DISABLE TRIGGER entry_stays",
        "ALTER TABLE cells DROP CONSTRAINT cells_rho_check",
        "ALTER TABLE answer DROP CONSTRAINT answer_question_version_epsilon_key",
        'ALTER TABLE sums ALTER epsilon TYPE text COLLATE pg_catalog."default"',
        "DROP INDEX entry_rare",
        "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NEW; END$$",
        "CREATE RULE less AS ON INSERT TO spending DO INSTEAD NOTHING",
        "ALTER TABLE entry ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE entry ADD note text",
    ],
)
def test_verify_finds_a_wall_of_the_server_taken_down(filled, change):
    if "TYPE" in change:  # what depends on the column goes first
        change = f"DROP TRIGGER sums_grow ON sums; DROP TRIGGER sums_within_limits ON sums; {change}"
    with pgserver.link(filled) as link:
        link.execute(change)
    found(filled, "the tables of the ledger were changed")


def test_a_ledger_is_never_emptied(filled):
    with pgserver.link(filled) as link:
        for table in ("entry", "sums", "answer", "key", "cells", "spending", "head"):
            with pytest.raises(Exception, match="a ledger is never emptied"):
                link.execute(f"TRUNCATE {table}")
        with pytest.raises(Exception, match="the head grows"):
            link.execute("UPDATE head SET place = 'elsewhere', changes = changes + 1")


def test_a_table_that_is_not_durable_is_refused(filled):
    with pgserver.link(filled) as link:
        link.execute("ALTER TABLE spending SET UNLOGGED")
    with pytest.raises(LedgerError, match="not durable"):
        book(filled, shares={"ana": 1})


def test_newer_code_wrote_it_in_a_server(path):
    with book(path) as ledger:
        with raw(path) as connection:
            connection.execute("UPDATE head SET format = 7, changes = changes + 1")
        with pytest.raises(LedgerError, match="written by newer code"):
            ask(ledger)
    with pytest.raises(LedgerError, match="written by newer code"):
        book(path)


def test_commits_are_durable_whatever_the_role_says(path):
    """A default of the role is put right; one that comes back later ends serving."""
    with book(path) as ledger:
        settings = ledger._store._link.execute("SELECT current_setting('synchronous_commit')").fetchone()
        assert settings == ("on",)
        ledger._store._link.execute("SET synchronous_commit = off")
        with pytest.raises(LedgerError, match="does not make commits durable"):
            ask(ledger)


def test_texts_that_no_index_takes_are_refused_and_serving_goes_on(path):
    with book(path, partition="t.c") as ledger:
        long = "0." + "3" * 900
        for wrong in ({"cells": ("x" * 3000,)}, {"version": "é" * 255, "epsilon": long}, {"cells": ("☃" * 700,)}):
            with pytest.raises(InputError, match="too long"):
                ask(ledger, "q", **wrong)
        ask(ledger, "q", version="é" * 255, key="ü" * 255)
        ledger.verify()


@pytest.mark.parametrize("schema", ["A", 'x"y', "x y", "x" * 70, "é", "x;--"])
def test_a_schema_is_a_plain_name(pg, schema):
    with pytest.raises(InputError, match="plain name"):
        book(f"{pg}#{schema}")


def test_nobody_is_told_a_password(pg, caplog):
    wrong = "postgresql://me:hunter2@127.0.0.1:1/nowhere"
    with caplog.at_level(logging.DEBUG), pytest.raises(LedgerError, match="cannot be reached") as refused:
        book(wrong, busy=0.1)
    for text in (str(refused.value), caplog.text):
        assert "hunter2" not in text
    assert refused.value.sqlstate == "58030"
    assert "127.0.0.1" not in str(refused.value), "what analysts are told names no host"


def test_those_who_look_while_others_write_are_not_alarmed(path):
    """What a look compares is what was seen before it, not what another thread has seen meanwhile."""
    with book(path) as ledger, ThreadPoolExecutor(4) as pool:
        looks = [pool.submit(lambda: [ledger.mark() for _ in range(60)]) for _ in range(3)]
        fill(ledger, 12)
        for look in looks:
            assert look.result() == sorted(look.result())
        ledger.verify()


def test_two_gateways_that_ask_the_same_pay_once(path, monkeypatch, caplog):
    """The second waits for the answer of the first; if the first goes away, it pays."""
    monkeypatch.setattr("sfumato.ledger.ledger.TURN", 60)
    with book(path) as one, book(path) as two, ThreadPoolExecutor(1) as pool:
        paid = ask(one, "same")
        waiting = pool.submit(ask, two, "same")
        ask(two, "another")  # nobody else waits
        assert not waiting.done()
        stored = one.store(paid, b"42")
        assert waiting.result(20) == stored
        gone = ask(one, "gone")
        waiting = pool.submit(ask, two, "gone")
        one.close()
        assert waiting.result(20).id != gone.id
        failed = ask(two, "failed")
        two.fail(failed)
        assert two.verify().debits == 5
        assert two.budget().spent.epsilon == 5 * TENTH
    assert not caplog.records, "that somebody waits is nothing to tell the owner"


def test_a_lock_held_by_another_is_said_and_does_no_harm_in_a_server(path):
    with book(path, busy=0.1) as ledger, pgserver.link(path) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM head FOR UPDATE")
        with pytest.raises(LedgerError, match="the ledger is busy") as refused:
            ask(ledger)
        assert (refused.value.sqlstate, refused.value.hint) == ("58030", "Try again.")
        assert ledger.budget().spent.epsilon == 0, "looking needs no lock"
        other.execute("ROLLBACK")
        ask(ledger)
        assert ledger.verify().debits == 1


def test_who_is_slower_than_that_is_not_waited_for(path):
    with book(path) as one, book(path) as two:
        first, second = ask(one, "same"), ask(two, "same")
        assert one.store(first, b"42") == two.store(second, b"43")
        assert two.verify().debits == 2


def test_a_lost_ledger_in_a_server_is_not_a_new_budget(path, tmp_path):
    anchor, last = tmp_path / "anchor", tmp_path / "head"
    with book(path, anchor=anchor, last_head=last) as ledger:
        fill(ledger, 1)
    pgserver.drop(path)
    for changes, words in (({"anchor": anchor}, "older than its anchor"), ({"last_head": last}, "ledger is missing")):
        with pytest.raises(LedgerError, match=words):
            book(path, **changes)
    with pgserver.link(path) as link:
        assert link.execute("SELECT to_regnamespace(%s)", (path.rpartition("#")[2],)).fetchone() == (None,)


def test_the_chain_is_the_same_in_both(path, tmp_path):
    """The same questions at the same times have the same hashes, whatever they are stored in."""
    chains = []
    for place in (path, tmp_path / "clinic.ledger", ":memory:"):
        names = iter(range(10**6))
        with pytest.MonkeyPatch.context() as patch:
            for module in (opening, charging):
                patch.setattr(module, "os", SimpleNamespace(urandom=lambda count: next(names).to_bytes(count, "big")))  # noqa: B023 - it is called in this round
            with book(place, clock=lambda: datetime(2030, 1, 1, tzinfo=UTC), shares={"ana": 2}) as ledger:
                fill(ledger, 8)
                ledger.fail(ask(ledger, "é☃"))
                ledger.verify()
                chains.append(list(ledger.entries()))
    assert chains[0] == chains[1] == chains[2]
    assert len(chains[0]) == 20
