"""The ledger in one process: what is debited, what is free, what is refused, and what `verify` finds."""

import ctypes
import io
import json
import os
import signal
import sqlite3
import stat
import threading
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.accounting import GaussianRelease, PrivacyFilter, Pure, Refinement, Selection, Together, price
from sfumato.errors import BudgetError, InputError, LedgerError, PolicyError
from sfumato.ledger import (
    Ledger,
    Receipt,
    Stored,
    audit,
    chain,
    group_commit,
    running_sums,
    schema,
    sqlite,
    store,
)
from sfumato.ledger.anchor import read_anchor, write_anchor
from sfumato.ledger.records import SpendingTerms
from sfumato.sampling import fork_detection
from sfumato.types import Loss
from tests.unit.raw_ledger import dump, raw, tamper, walls

TENTH = Fraction(1, 10)


def new_place():
    """Where a ledger lies for which a test names no place; see test_ledger_postgres."""
    return ":memory:"


def book(path=None, **changes):
    policy = {"data_id": "clinic", "composition": "pure", "epsilon": 4, "policy_digest": "p1"}
    return Ledger.open(new_place() if path is None else path, **policy | changes)


def ask(ledger, question="q", epsilon=TENTH, *, analyst="ana", version="1", event=None, key=None, cells=None):
    """Debit a question; most tests do not care what it is."""
    return ledger.debit(
        analyst,
        event or Pure(epsilon),
        question=str(question),
        epsilon=epsilon,
        version=version,
        text=f"SELECT {question}",
        key=key,
        cells=cells,
    )


def fill(ledger, count=5, start=0):
    """Some debits and their answers."""
    for number in range(start, start + count):
        ledger.store(ask(ledger, f"q{number}"), f"answer {number}".encode())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "clinic.ledger"


# debits


@pytest.mark.parametrize(
    "tenth",
    [tomllib.loads("e = 0.1")["e"], json.loads("0.1"), 0.1, "0.1", Decimal("0.1"), TENTH],
    ids=["toml", "json", "float", "text", "decimal", "fraction"],
)
def test_forty_tenths_are_four(tenth):
    with book(epsilon=4.0) as ledger:
        for number in range(40):
            assert isinstance(ask(ledger, number, tenth), Receipt)
        before = list(ledger.entries())
        with pytest.raises(BudgetError, match='budget of "clinic" is spent') as refused:
            ask(ledger, 40, tenth)
        assert refused.value.sqlstate == "53400"
        assert refused.value.detail == "It costs epsilon 0.1; 0 of 4 is left."
        assert list(ledger.entries()) == before
        assert ledger.verify().debits == 40


def test_fifty_nine_tenths_under_best_in_a_ledger(path):
    with book(path, composition="best", delta="1e-6", busy=30) as ledger:
        for number in range(59):
            ask(ledger, number)
        with pytest.raises(BudgetError):
            ask(ledger, 59)
        assert ledger.verify().debits == 59


def test_delta_is_counted():
    with book(composition="best", delta="1e-6", delta_selection="2e-7") as ledger:
        for number in range(2):
            ask(ledger, number, event=Selection(TENTH, "1e-7"))
        with pytest.raises(BudgetError, match="does not allow this query") as refused:
            ask(ledger, 2, event=Selection(TENTH, "1e-7"))
        assert "delta" in refused.value.detail
        ask(ledger, 3)
        assert ledger.budget().spent == Loss(Fraction(3, 10), Fraction(3, 200), Fraction(2, 10**7))


def test_a_gaussian_shuts_the_pure_door_in_a_ledger(path):
    with book(path, composition="best", delta="1e-6") as ledger:
        ask(ledger, event=GaussianRelease("0.001"))
    with book(path, composition="pure") as ledger:
        assert ledger.budget().spent.epsilon is None
        with pytest.raises(BudgetError):
            ask(ledger, "other")
        ledger.verify()


def test_shares_ration_one_total():
    with book(epsilon="1.5", shares={"ana": 1, "bob": 1}) as ledger:
        for number in range(10):
            ask(ledger, number)
        with pytest.raises(BudgetError) as refused:
            ask(ledger, "one more")
        assert refused.value.message == 'budget of "ana" on "clinic" is spent'
        for number in range(5):
            ask(ledger, f"b{number}", analyst="bob")
        with pytest.raises(BudgetError) as refused:
            ask(ledger, "one more", analyst="bob")
        assert refused.value.message == 'budget of "clinic" is spent'
        assert ledger.budget("ana").remaining.epsilon == 0
        assert ledger.budget("bob").spent.epsilon == Fraction(1, 2)
        assert ledger.budget("bob").total.epsilon == 1
        assert ledger.budget("bob").remaining.epsilon == 0  # half of her share, but nothing of the total
        ledger.verify()


def test_the_narrower_budget_says_what_would_pass():
    with book(epsilon=1, shares={"ana": "0.6"}) as ledger:
        ask(ledger, "first", "0.7", analyst="owner")
        with pytest.raises(BudgetError) as refused:
            ask(ledger, "second", "0.8")
        assert refused.value.hint == "Use epsilon 0.3 or less, or fewer groups."
        ask(ledger, "third", "0.3")


def test_who_has_no_share_is_bound_by_the_total_only(path):
    with book(path, epsilon=2, shares={"ana": 1}) as ledger:
        ask(ledger, "all", 2, analyst="owner")
        assert ledger.budget("owner").remaining.epsilon == 0
        assert ledger.remaining_count("ana", price(Pure(1))) == 0
    with book(path, epsilon=4, shares={"ana": 1, "owner": 1}) as ledger:  # a share given later counts what was spent
        with pytest.raises(BudgetError, match='budget of "owner"'):
            ask(ledger, "more", analyst="owner")
        ledger.verify()


def test_a_look_at_a_budget_costs_the_same_however_many_have_shares(monkeypatch):
    """A page that shows everybody's budget would otherwise take seconds in a class."""
    made = Counter()

    def counted(terms, who, _real=SpendingTerms.filter_of):
        made["filters"] += 1
        return _real(terms, who)

    tenth = price(Pure(TENTH))
    with book(shares={f"a{i}": 1 for i in range(50)}) as ledger:
        monkeypatch.setattr(SpendingTerms, "filter_of", counted)
        looks = [lambda: ledger.budget("a7"), ledger.budget, lambda: ledger.remaining_count("a7", tenth)]
        for look in looks:
            made.clear()
            look()
            assert 1 <= made["filters"] <= 2


def test_remaining_count_is_exact():
    with book(shares={"ana": 1}) as ledger:
        tenth = price(Pure(TENTH))
        assert ledger.remaining_count(None, tenth) == ledger.remaining_count("bob", tenth) == 40
        assert ledger.remaining_count("ana", tenth) == 10
        ask(ledger)
        assert (ledger.remaining_count("ana", tenth), ledger.remaining_count(None, tenth)) == (9, 39)


def test_a_price_is_that_of_the_event():
    event = Together([Pure("1/3"), Selection("1/3", "1e-7")])
    with book(composition="best", delta="1e-6") as ledger:
        receipt = ask(ledger, "q", "2/3", event=event)
        assert receipt.price == price(event)
        assert ledger.budget().spent == price(event)


def test_a_refusal_writes_nothing(path):
    with book(path, epsilon=1, shares={"ana": "0.5"}) as ledger:
        ask(ledger)
        before = dump(path)
        for analyst, epsilon in (("ana", "0.45"), ("bob", 2)):
            with pytest.raises(BudgetError):
                ask(ledger, "other", epsilon, analyst=analyst, key="k")
        assert dump(path) == before


def test_a_release_without_a_price_keeps_its_message():
    with book() as ledger, pytest.raises(BudgetError, match='cannot be charged under composition "pure"'):
        ask(ledger, event=GaussianRelease("0.1"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("analyst", ""),
        ("analyst", "a\nb"),
        ("analyst", "\ud800"),
        ("question", "q" * 256),
        ("version", None),
        ("key", ""),
        ("epsilon", 0),
        ("event", "pure"),
        ("text", b"SELECT"),
    ],
)
def test_what_cannot_be_recorded_is_refused(field, value):
    good = {"analyst": "ana", "event": Pure(1), "question": "q", "epsilon": 1, "version": "1", "text": "", "key": None}
    with book() as ledger:
        with pytest.raises(InputError):
            ledger.debit(**good | {field: value})
        assert ledger.debit(**good | {"text": "o'brien \"; DROP TABLE entry; \x00\ud800"}).seq == 3
        ledger.verify()


# answers


def test_a_stored_answer_is_free_for_everybody():
    with book() as ledger:
        receipt = ask(ledger)
        stored = ledger.store(receipt, b"42")
        before = list(ledger.entries())
        again = ask(ledger, analyst="bob")
        assert again == stored == Stored(b"42", receipt, TENTH) == ledger.stored("q", "1", 0.1)
        assert list(ledger.entries()) == before
        assert isinstance(ask(ledger, version="2"), Receipt)
        assert isinstance(ask(ledger, question="q2"), Receipt)


def test_a_higher_epsilon_is_free():
    with book() as ledger:
        ledger.store(ask(ledger, epsilon="0.1"), b"rough")
        ledger.store(ask(ledger, epsilon="0.5"), b"fine")
        assert ask(ledger, epsilon="0.1").answer == b"rough"  # the same question keeps its answer
        assert ask(ledger, epsilon="0.2").answer == b"fine"
        assert ask(ledger, epsilon="0.05").answer == b"fine"
        assert ask(ledger, epsilon="0.05").epsilon == Fraction(1, 2)
        assert isinstance(ask(ledger, epsilon="0.6"), Receipt)
        assert ledger.stored("q", "1", "0.6") is None


def test_what_is_not_answered_is_paid_again():
    with book() as ledger:
        assert ask(ledger).id != ask(ledger).id
        assert ledger.budget().spent.epsilon == 2 * TENTH


def test_the_first_answer_wins():
    with book() as ledger:
        one, two = ask(ledger, analyst="ana"), ask(ledger, analyst="bob")
        first = ledger.store(two, b"first")
        assert ledger.store(one, b"second") == first == ledger.store(one, b"third")
        assert first.receipt == two
        assert ask(ledger).answer == b"first"
        report = ledger.verify()
        assert (report.debits, report.answers) == (2, 1)


def test_one_debit_pays_for_one_answer():
    with book() as ledger:
        receipt = ask(ledger)
        assert ledger.store(receipt, b"42") == ledger.store(receipt, b"42")
        with pytest.raises(LedgerError, match="another answer"):
            ledger.store(receipt, b"43")
        with pytest.raises(LedgerError, match="has an answer"):
            ledger.fail(receipt)
        assert ledger.verify().answers == 1


def test_an_answer_needs_its_debit():
    with book() as ledger:
        receipt = ask(ledger)
        forged = [
            Receipt("0" * 32, "ana", receipt.price, receipt.seq),
            Receipt(receipt.id, "bob", receipt.price, receipt.seq),
            Receipt(receipt.id, "ana", receipt.price, 1),
            Receipt(receipt.id, "ana", receipt.price, 99),
        ]
        for wrong in forged:
            with pytest.raises(LedgerError, match="not in the ledger"):
                ledger.store(wrong, b"42")
        ledger.store(receipt, b"42")  # a wrong receipt is not the end of the ledger


# keys


def test_a_retry_gets_the_answer():
    with book() as ledger:
        receipt = ask(ledger, key="k")
        ledger.store(receipt, b"42")
        assert ask(ledger, key="k") == Stored(b"42", receipt, TENTH)
        assert ask(ledger, key="k", version="2").answer == b"42"  # the same request, though the data moved on
        assert ledger.budget().spent.epsilon == TENTH


def test_a_retry_without_an_answer_pays_again():
    with book() as ledger:
        first, second = ask(ledger, key="k"), ask(ledger, key="k")
        assert first.id != second.id
        assert ledger.budget().spent.epsilon == 2 * TENTH
        ledger.store(second, b"42")
        assert ask(ledger, key="k").receipt == second
        ledger.verify()


def test_a_retry_that_paid_again_has_the_key():
    with book() as ledger:
        ask(ledger, key="k", version="1")
        second = ask(ledger, key="k", version="2")
        ledger.store(second, b"42")
        assert ask(ledger, key="k", version="3").receipt == second


def test_a_key_stands_for_one_question():
    with book() as ledger:
        ask(ledger, key="k")
        for question, epsilon in (("other", TENTH), ("q", Fraction(1, 5))):
            with pytest.raises(InputError, match="another query") as refused:
                ask(ledger, question, epsilon, key="k")
            assert refused.value.sqlstate == "22023"
        assert isinstance(ask(ledger, "other", analyst="bob", key="k"), Receipt)  # keys are hers alone


def test_a_key_is_remembered_when_the_answer_was_free():
    with book() as ledger:
        ledger.store(ask(ledger, epsilon="0.5"), b"fine")
        assert ask(ledger, analyst="bob", epsilon="0.1", key="k").answer == b"fine"
        assert ask(ledger, analyst="bob", epsilon="0.1", key="k", version="2").answer == b"fine"
        with pytest.raises(InputError, match="another query"):
            ask(ledger, "other", analyst="bob", key="k")
        ledger.verify()


# failures and the owner


def test_failures_close_a_version_until_the_owner_looks(path):
    with book(path) as ledger:
        ledger.store(ask(ledger, "kept"), b"42")
        for number in range(3):
            receipt = ask(ledger, number)
            ledger.fail(receipt)
            ledger.fail(receipt)  # said twice, counted once
        with pytest.raises(LedgerError, match='version "1" of "clinic" is closed') as refused:
            ask(ledger, "kept")
        assert refused.value.sqlstate == "58000"
        assert isinstance(ask(ledger, "next", version="2"), Receipt)
        assert ledger.budget().spent.epsilon == 5 * TENTH  # nothing is refunded
    with book(path) as ledger:
        with pytest.raises(LedgerError, match="closed"):
            ask(ledger, "next")
        ledger.reopen("owner")
        assert isinstance(ask(ledger, "next"), Receipt)
        assert ledger.verify().failures == 3


def test_what_failed_has_no_answer():
    with book() as ledger:
        receipt = ask(ledger)
        ledger.fail(receipt)
        with pytest.raises(LedgerError, match="failed already"):
            ledger.store(receipt, b"42")
        assert isinstance(ask(ledger), Receipt)


def test_a_frozen_budget_gives_nothing_away(path):
    with book(path) as ledger, book(path) as other:
        ledger.store(ask(ledger), b"42")
        pending = ask(ledger, "pending")
        other.freeze("owner")
        for question in ("q", "new"):
            with pytest.raises(BudgetError, match='the budget of "clinic" is frozen') as refused:
                ask(ledger, question)
            assert refused.value.sqlstate == "53400"
        ledger.store(pending, b"43")  # paid before
        other.thaw("owner")
        assert ask(ledger).answer == b"42"
        kinds = Counter(entry.kind for entry in ledger.entries())
        assert (kinds["frozen"], kinds["thawed"]) == (1, 1)
        ledger.verify()


# policies


def test_a_changed_policy_is_an_entry(path):
    with book(path, epsilon=1) as ledger:
        ask(ledger, epsilon=1)
    with book(path, epsilon=1) as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["opened", "policy", "debit"]
    with book(path, epsilon=2, policy_digest="p2", who="eve") as ledger:
        *_, entry = ledger.entries()
        assert entry.kind == "policy"
        assert entry.body["who"] == "eve"
        assert entry.body["before"]["epsilon"] == "1"
        assert (entry.body["now"]["epsilon"], entry.body["now"]["digest"]) == ("2", "p2")
        ask(ledger, "more", 1)
        ledger.verify()
    with book(path, epsilon="0.5") as ledger:  # less than was spent: nothing more, and nothing breaks
        assert ledger.budget().remaining.epsilon == 0
        with pytest.raises(BudgetError):
            ask(ledger, "again")
        ledger.verify()


def test_an_older_policy_decides_nothing_more(path):
    with book(path, epsilon=4) as old:
        receipt = ask(old)
        with book(path, epsilon="0.1") as new:
            with pytest.raises(LedgerError, match="policy was changed"):
                ask(old, "more")
            assert old.store(receipt, b"42").answer == b"42"
            with pytest.raises(BudgetError):
                ask(new, "more")
            new.verify()


def test_a_visitor_writes_nothing(path):
    with book(path, epsilon=2, shares={"ana": 1}) as ledger:
        fill(ledger)
        before = dump(path)
        with Ledger.visit(path) as visitor:
            assert visitor.data_id == "clinic"
            assert visitor.budget("ana") == ledger.budget("ana")
            assert visitor.verify() == ledger.verify()
            assert dump(path) == before
            visitor.freeze("owner")
        with pytest.raises(BudgetError, match="frozen"):
            ask(ledger)


def test_there_must_be_something_to_visit(tmp_path):
    (tmp_path / "empty").touch()
    for name in ("nothing", "empty"):
        with pytest.raises(LedgerError, match=f'no ledger at "{name}"'):
            Ledger.visit(tmp_path / name)
    with closing(sqlite3.connect(tmp_path / "bare")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    with pytest.raises(LedgerError, match="no ledger yet"):
        Ledger.visit(tmp_path / "bare")


def test_a_ledger_belongs_to_its_data(path):
    book(path).close()
    with pytest.raises(LedgerError, match='belongs to "clinic", not to "other"'):
        book(path, data_id="other")


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"epsilon": 0}, InputError),
        ({"epsilon": 10**19}, PolicyError),
        ({"composition": "zcdp"}, PolicyError),
        ({"shares": {"": 1}}, PolicyError),
        ({"shares": {"ana": -1}}, InputError),
        ({"failures": 0}, InputError),
        ({"data_id": ""}, InputError),
        ({"anchor": "somewhere"}, InputError),
    ],
)
def test_a_policy_that_cannot_hold_is_refused(changes, error):
    with pytest.raises(error):
        book(**changes)


def test_large_budgets_are_exact(path):
    """SQLite's integers would end at epsilon 9223."""
    with book(path, epsilon=10**18) as ledger:
        ask(ledger, "most", 10**18 - 1)
        ask(ledger, "rest", 1)
        with pytest.raises(BudgetError):
            ask(ledger, "more", "1e-15")
        assert ledger.verify().spent.epsilon == 10**18


# the chain


def test_the_clock_is_in_the_chain():
    moment = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
    with book(clock=lambda: moment) as ledger:
        assert {entry.time for entry in ledger.entries()} == {"2031-05-06T07:08:09.000000+00:00"}


def test_entries_come_in_pages(monkeypatch):
    monkeypatch.setattr(chain, "PAGE", 3)
    with book() as ledger:
        fill(ledger)
        assert [entry.seq for entry in ledger.entries()] == list(range(1, 13))
        assert [entry.seq for entry in ledger.entries(after=9)] == [10, 11, 12]
        assert ledger.verify().entries == 12


def test_an_export_can_be_checked_by_anybody(path, tmp_path):
    with book(path) as ledger:
        fill(ledger)
        ledger.export(tmp_path / "chain.jsonl")
        text = io.StringIO()
        ledger.export(text)
    assert text.getvalue() == (tmp_path / "chain.jsonl").read_text()
    previous = "0" * 64
    for number, line in enumerate(text.getvalue().splitlines(), 1):
        record = json.loads(line)
        body = json.dumps(record["body"], sort_keys=True, separators=(",", ":"))
        fields = [record["seq"], record["time"], record["kind"], record["analyst"], body, previous]
        assert record["seq"] == number
        assert record["hash"] == chain.digest(json.dumps(fields, separators=(",", ":")).encode())
        previous = record["hash"]


def test_the_walls_of_the_schema_stand(path):
    with book(path, shares={"ana": 1}) as ledger:
        fill(ledger)
    zero, lot = running_sums.write_units(0), running_sums.write_units(10**16)
    attempts = [
        "UPDATE entry SET body = '{}' WHERE seq = 3",
        "DELETE FROM entry WHERE seq = 3",
        "INSERT OR REPLACE INTO entry SELECT * FROM entry WHERE seq = 3",
        "INSERT INTO entry SELECT seq + 10, time, kind, analyst, body, previous, hash FROM entry WHERE seq = 3",
        f"UPDATE sums SET epsilon = '{zero}', debits = debits + 1 WHERE analyst = 'ana'",
        f"UPDATE sums SET epsilon = '{lot}', debits = debits + 1 WHERE analyst = 'ana'",
        "UPDATE sums SET rho_shut = 1 WHERE analyst = 'ana'",
        "UPDATE sums SET epsilon = '1', debits = debits + 1 WHERE analyst = 'ana'",
        "DELETE FROM sums",
        "UPDATE answer SET body = x'00'",
        "DELETE FROM answer",
    ]
    with raw(path) as connection:
        for attempt in attempts:
            with pytest.raises(walls()):
                connection.execute(attempt)
    text = "".join(schema.SCHEMA)
    assert f"length(epsilon) = {schema.DIGITS}" in text
    assert ", ".join(f"'{kind}'" for kind in chain.KINDS) in text


events = st.sampled_from(
    [Pure("0.1"), Pure("1/3"), Selection("0.1", "1e-9"), GaussianRelease("0.01"), Refinement("0.1", 1)]
)


@given(st.lists(events, max_size=8))
def test_sums_are_those_of_the_filter(released):
    budget, state = PrivacyFilter("best", 100, "1e-6"), dict(running_sums.ZERO)
    for loss in map(price, released):
        if budget.admits(loss):
            budget.spend(loss)
            state = running_sums.add(state, loss)
        assert state == budget.state()


# verify


def hash_anew(path, seq, **changes):
    """Write one entry anew, and every hash after it."""
    with raw(path) as connection:
        rows = connection.execute(f"SELECT {chain.COLUMNS} FROM entry ORDER BY seq").fetchall()
    statements, previous = [], chain.FIRST
    for number, time, kind, analyst, body, _, _ in rows:
        document = json.loads(body) | (changes if number == seq else {})
        text = chain.canonical(document)
        sealed = chain.seal(number, time, kind, analyst, text, previous)
        update = "UPDATE entry SET body = ?, previous = ?, hash = ? WHERE seq = ?"
        statements.append((update, (text, previous, sealed, number)))
        previous = sealed
    tamper(path, *statements)


@pytest.fixture
def filled(path):
    """Five questions and answers: 3 debit, 4 answer, 5 debit, ... 12 answer."""
    with book(path, shares={"ana": 1}) as ledger:
        fill(ledger)
        assert ledger.verify().entries == 12
    return path


def found(path, match):
    with pytest.raises(LedgerError, match=match), Ledger.visit(path) as ledger:
        ledger.verify()


def test_verify_finds_an_edited_body(filled):
    tamper(filled, "UPDATE entry SET body = replace(body, 'SELECT', 'select') WHERE seq = 5")
    found(filled, "entry 5 of the ledger was changed")


@pytest.mark.parametrize("column", ["time", "kind", "analyst", "previous", "hash"])
def test_verify_finds_any_edited_field(filled, column):
    tamper(filled, f"UPDATE entry SET {column} = replace(kind, 'debit', 'failed') WHERE seq = 5")
    found(filled, "entry 5 of the ledger was changed")


@pytest.mark.parametrize("column", ["epsilon", "rho", "delta", "epsilon_limit"])
@pytest.mark.parametrize("who", ["", "ana"])
def test_verify_finds_edited_sums(filled, column, who):
    tamper(filled, (f"UPDATE sums SET {column} = ? WHERE analyst = ?", (running_sums.write_units(1), who)))
    found(filled, 'the sums of (everybody|"ana") are not those of the debits')


@pytest.mark.parametrize("who", ["", "ana"])
def test_verify_finds_removed_sums(filled, who):
    tamper(filled, ("DELETE FROM sums WHERE analyst = ?", (who,)))
    found(filled, "sums")


def test_verify_finds_a_deleted_entry(filled):
    tamper(filled, "DELETE FROM entry WHERE seq = 5")
    found(filled, "entry 5 of the ledger is missing")


def test_verify_finds_a_deleted_entry_whose_place_was_closed(filled):
    tamper(filled, "DELETE FROM entry WHERE seq = 5", "UPDATE entry SET seq = seq - 1 WHERE seq > 5")
    found(filled, "entry 5 of the ledger was changed")


def test_verify_finds_swapped_entries(filled):
    moves = [f"UPDATE entry SET seq = {new} WHERE seq = {old}" for old, new in ((5, 99), (7, 5), (99, 7))]
    tamper(filled, *moves)
    found(filled, "entry 5 of the ledger was changed")


def test_verify_finds_an_entry_of_another_chain(filled, tmp_path):
    other = tmp_path / "other"
    with book(other) as ledger:
        fill(ledger)
    tamper(filled, "DELETE FROM entry WHERE seq = 5")
    with raw(other) as connection:
        row = connection.execute("SELECT * FROM entry WHERE seq = 5").fetchone()
    tamper(filled, ("INSERT INTO entry VALUES(?, ?, ?, ?, ?, ?, ?)", row))
    found(filled, "entry 5 of the ledger does not follow entry 4")


def test_verify_finds_a_cut_tail(path, tmp_path):
    anchor = tmp_path / "anchor"
    with book(path, anchor=anchor) as ledger:
        fill(ledger)
        ledger.freeze("owner")
        ledger.verify()
    with Ledger.visit(path, anchor=anchor) as ledger:
        tamper(path, "DELETE FROM entry WHERE kind = 'frozen'")
        with pytest.raises(LedgerError, match="older than its anchor"):
            ledger.verify()
    with pytest.raises(LedgerError, match="older than its anchor"):
        book(path, anchor=anchor)
    Ledger.visit(path).verify()  # the chain by itself cannot know how long it was


def test_verify_finds_an_edited_answer(filled):
    tamper(filled, "UPDATE answer SET body = x'00' WHERE debit = 5")
    found(filled, "the answer of entry 6 of the ledger was changed")
    with book(filled, shares={"ana": 1}) as ledger, pytest.raises(LedgerError, match="the answer of entry 6"):
        ask(ledger, "q1")


def test_verify_finds_a_moved_answer(filled):
    tamper(filled, "UPDATE answer SET question = 'other' WHERE debit = 5")
    found(filled, "the answer of entry 6 of the ledger was changed")


def test_verify_finds_a_removed_answer(filled):
    tamper(filled, "DELETE FROM answer WHERE debit = 5")
    found(filled, "the answer of entry 6 of the ledger is missing")


def test_verify_finds_an_answer_without_its_debit(filled):
    tamper(filled, "INSERT INTO answer VALUES('00', 'free', '1', '1/10', x'00', 5, 6)")
    found(filled, "the stored answer of receipt 00 has no debit")


def test_verify_finds_an_answer_without_its_entry(path):
    with book(path) as ledger:
        receipt = ask(ledger)
    tamper(path, ("INSERT INTO answer VALUES(?, 'q', '1', '1/10', x'00', 3, 3)", (receipt.id,)))
    found(path, "has no entry in the chain")


def test_verify_finds_a_key_of_another_question(filled):
    tamper(filled, "INSERT INTO key VALUES('ana', 'k', 'q9', '1/10', 5)")
    found(filled, 'idempotency key of "ana"')


def test_verify_finds_an_older_backup(path, tmp_path):
    backup, anchor = tmp_path / "backup", tmp_path / "anchor"
    with book(path, anchor=anchor) as ledger:
        fill(ledger, 2)
        ledger.backup(backup)
        fill(ledger, 2, start=2)
    Ledger.visit(backup).verify()
    backup.replace(path)
    for opened in (lambda: book(path, anchor=anchor), lambda: Ledger.visit(path, anchor=anchor)):
        with pytest.raises(LedgerError, match="older than its anchor"):
            opened()


@pytest.mark.parametrize(
    ("seq", "changes", "match"),
    [
        (1, {"format": 99}, "entry 1"),
        (2, {"before": {}}, "entry 2"),
        (3, {"price": {"epsilon": "1/20", "rho": "1/200", "delta": "0"}}, "entry 3.*\nDETAIL.*cost"),
        (5, {"event": {"kind": "pure", "epsilon": "1"}}, "entry 5.*\nDETAIL.*cost"),
        (3, {"version": "2"}, "the answer of entry 4"),
        (5, {"receipt": "00"}, "entry 6.*\nDETAIL.*no debit"),
        (4, {"digest": "00"}, "the answer of entry 4"),
        (4, {"debit": 5}, "entry 4"),
        (7, {"event": None}, "unknown"),
        (7, {"price": None}, "entry 7"),
    ],
)
def test_verify_finds_what_was_hashed_anew(filled, tmp_path, seq, changes, match):
    anchor = tmp_path / "anchor"
    Ledger.visit(filled, anchor=anchor).close()
    hash_anew(filled, seq, **changes)
    found(filled, match)
    with pytest.raises(LedgerError, match="older than its anchor"):
        Ledger.visit(filled, anchor=anchor)


def test_verify_finds_a_debit_beyond_the_budget_of_its_day(filled):
    terms = {"digest": "p1", "composition": "pure", "delta": "0", "delta_selection": "0", "failures": 3}
    hash_anew(filled, 2, now=terms | {"epsilon": "3/10", "shares": {"ana": "1"}})
    found(filled, "entry 9 of the ledger is not valid\nDETAIL.*exceeds the budget")
    hash_anew(filled, 2, now=terms | {"epsilon": "4", "shares": {"ana": "1/5"}})
    found(filled, "entry 7 of the ledger is not valid\nDETAIL.*exceeds the budget")


def replay_without(entries, left_out):
    replay = audit.Replay()
    for entry in entries:
        if entry.seq != left_out:
            replay.take(entry)


def test_replay_knows_when_nothing_could_be_debited(path):
    with book(path, failures=1) as ledger:
        ledger.fail(ask(ledger))
        ledger.reopen("owner")
        ledger.freeze("owner")
        ledger.thaw("owner")
        ask(ledger)
        entries = list(ledger.entries())
    for left_out in (5, 7):  # reopened, thawed
        with pytest.raises(LedgerError, match="entry 8 of the ledger is not valid"):
            replay_without(entries, left_out)


def test_replay_knows_that_a_debit_is_settled_once(path):
    with book(path) as ledger:
        ledger.store(ask(ledger), b"42")
        entries = list(ledger.entries())
    for kind in ("answer", "failed"):
        with pytest.raises(LedgerError, match="answered or failed before"):
            replay_without([*entries, replace(entries[-1], seq=5, kind=kind)], None)


def test_verify_finds_a_wall_taken_down(filled):
    with closing(sqlite3.connect(filled)) as connection:
        connection.execute("DROP TRIGGER entry_stays")
    found(filled, "tables of the ledger were changed\nDETAIL: See CREATE TRIGGER entry_stays")


def test_one_who_serves_finds_a_changed_head(filled):
    tamper(filled, "UPDATE entry SET time = '' WHERE seq = 12")
    with pytest.raises(LedgerError, match="entry 12 of the ledger was changed"):
        book(filled, shares={"ana": 1})


def test_verify_names_the_first_bad_entry(filled):
    tamper(filled, "UPDATE entry SET body = '{}' WHERE seq IN (5, 7)", "UPDATE answer SET body = x'00'")
    found(filled, "entry 5 ")


# anchors


def test_an_anchor_follows_the_chain(path, tmp_path):
    anchor = tmp_path / "anchor"
    with book(path, anchor=anchor) as ledger:
        for number in range(3):
            ask(ledger, number)
            *_, last = ledger.entries()
            assert anchor.read_text() == f"{last.seq} {last.hash}\n"
        ledger.verify()
        anchor.unlink()
        with pytest.raises(LedgerError, match="anchor of the ledger is missing"):
            ledger.verify()


def test_a_ledger_newer_than_its_anchor_is_fine(path, tmp_path):
    anchor = tmp_path / "anchor"
    book(path, anchor=anchor).close()
    old = anchor.read_text()
    with book(path) as ledger:
        fill(ledger)
    assert anchor.read_text() == old
    with book(path, anchor=anchor) as ledger:
        ledger.verify()
        assert anchor.read_text().startswith("12 ")


def test_an_anchor_never_goes_back(tmp_path):
    write_anchor(tmp_path / "anchor", 5, "5" * 64)
    write_anchor(tmp_path / "anchor", 3, "3" * 64)
    assert read_anchor(tmp_path / "anchor") == (5, "5" * 64)


def test_a_lost_ledger_is_not_a_new_budget(path, tmp_path):
    anchor = tmp_path / "anchor"
    book(path, anchor=anchor).close()
    path.unlink()
    with pytest.raises(LedgerError, match="older than its anchor"):
        book(path, anchor=anchor)
    assert not path.exists()
    path.touch()
    with pytest.raises(LedgerError, match="older than its anchor"):
        book(path, anchor=anchor)


@pytest.mark.parametrize("text", ["", "12", "12 abc\n", "x" * 70, "é"])
def test_a_damaged_anchor_is_an_error(path, tmp_path, text):
    (tmp_path / "anchor").write_text(text, encoding="utf-8")
    with pytest.raises(LedgerError, match="anchor"):
        book(path, anchor=tmp_path / "anchor")


# the file


def test_the_file_is_durable_local_and_private(path):
    with book(path) as ledger:
        connection = ledger._store.connection
        settings = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "fullfsync", "checkpoint_fullfsync", "wal_autocheckpoint")
        }
        assert settings == {
            "journal_mode": "wal",
            "synchronous": 2,  # FULL: fsync in each commit. Losing power is the only other test of this line.
            "fullfsync": 1,
            "checkpoint_fullfsync": 1,
            "wal_autocheckpoint": 0,
        }
        for file in path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_ledger_behind_a_link_is_the_same_ledger(path, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(path)
    with book(link) as one, book(path) as other:
        ask(one, "one")
        assert other.budget().spent == one.budget().spent
        link.unlink()
        with pytest.raises(LedgerError, match="replaced or removed"):
            ask(one, "two")
        ask(other, "three")


def test_a_relative_path_stays_where_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with book("clinic.ledger", anchor="anchor") as ledger:
        monkeypatch.chdir(tmp_path / "elsewhere")
        ask(ledger, "one")
        ledger.verify()
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_network_file_system_is_refused(path, tmp_path, monkeypatch):
    mounts = tmp_path / "mounts"
    monkeypatch.setattr(store, "MOUNTS", mounts)
    real = str(path.parent.resolve())
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/x {real} nfs4 rw 0 0\n")
    with pytest.raises(LedgerError, match="local disk"):
        book(path)
    assert not path.exists()
    mounts.write_text(f"/dev/sda / nfs rw 0 0\n/dev/sdb {real} ext4 rw 0 0\n")
    book(path).close()


def test_newer_code_wrote_it(path):
    book(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 7")
    for opened in (lambda: book(path), lambda: Ledger.visit(path)):
        with pytest.raises(LedgerError, match="written by newer code") as refused:
            opened()
        assert refused.value.detail == f"Its format is 7; this version knows {schema.FORMAT}."


def test_newer_code_came_while_it_was_open(path):
    with book(path) as ledger:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA user_version = 7")
        with pytest.raises(LedgerError, match="written by newer code"):
            ask(ledger)


def test_an_older_format_is_upgraded_after_a_copy(filled, monkeypatch):
    now = schema.FORMAT
    monkeypatch.setattr(schema, "FORMAT", now + 2)
    more = {now: lambda c: c.execute("CREATE TABLE extra(x)"), now + 1: lambda c: None}
    monkeypatch.setattr(schema, "UPGRADES", more)
    with book(filled, shares={"ana": 1}) as ledger:
        fill(ledger, 1, start=5)
    with closing(sqlite3.connect(filled)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (now + 2,)
        assert connection.execute("SELECT count(*) FROM extra").fetchone() == (0,)
    monkeypatch.undo()
    copy = filled.with_name(f"clinic.ledger.format-{now}")
    with Ledger.visit(copy) as ledger:
        assert ledger.verify().entries == 12


def test_a_failed_upgrade_changes_nothing(filled, monkeypatch):
    before, now = dump(filled), schema.FORMAT
    monkeypatch.setattr(schema, "FORMAT", now + 1)
    monkeypatch.setattr(schema, "UPGRADES", {now: lambda c: c.execute("DROP TABLE key") and c.execute("nonsense")})
    with pytest.raises(LedgerError, match="cannot be read or written"):
        book(filled)
    assert dump(filled) == before


def test_another_file_is_not_a_ledger(tmp_path):
    (tmp_path / "text").write_text("not a database, but long enough to be looked at" * 50)
    with pytest.raises(LedgerError, match="cannot be read"):
        book(tmp_path / "text")
    with closing(sqlite3.connect(tmp_path / "database")) as connection:
        connection.execute("CREATE TABLE people(name)")
    with pytest.raises(LedgerError, match="not a ledger"):
        book(tmp_path / "database")
    with pytest.raises(LedgerError, match="cannot be read"):
        book(tmp_path / "no" / "such" / "directory")


def test_a_backup_is_whole_and_replaces_no_ledger(filled, tmp_path):
    target = tmp_path / "backup"
    with book(filled, shares={"ana": 1}) as ledger:
        for _ in range(2):  # the second replaces the first
            ask(ledger)
            ledger.backup(target)
            with Ledger.visit(target) as copy:
                assert copy.verify() == ledger.verify()
        assert not list(tmp_path.glob("backup*.new"))
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        with pytest.raises(LedgerError, match="itself"):
            ledger.backup(filled)
        with book(tmp_path / "other"), pytest.raises(LedgerError, match="in use"):
            ledger.backup(tmp_path / "other")
    with book() as ledger, pytest.raises(LedgerError, match="memory"):
        ledger.backup(target)


def test_what_is_closed_serves_no_more(path):
    ledger = book(path)
    receipt = ask(ledger)
    ledger.close()
    ledger.close()
    calls = [
        lambda: ask(ledger),
        lambda: ledger.store(receipt, b""),
        ledger.budget,
        ledger.verify,
        lambda: ledger.backup(path.with_name("b")),
        lambda: list(ledger.entries()),
    ]
    for call in calls:
        with pytest.raises(LedgerError, match="the ledger is closed"):
            call()
    assert [file.name for file in path.parent.iterdir()] == ["clinic.ledger"]  # the WAL was taken in


def test_a_forked_child_does_not_touch_it(path, monkeypatch):
    """Also one that C code forks, and one that has its parent's process number in a namespace of its own."""
    with book(path) as ledger:
        ask(ledger)
        forks = [os.fork, ctypes.CDLL(None).fork]
        assert [said_in_child(fork, ledger) for fork in forks] == ["the ledger was opened before a fork"] * 2
        if fork_detection.sees_every_fork():
            monkeypatch.setattr(os, "getpid", lambda: fork_detection._epoch.process)
            assert said_in_child(forks[1], ledger) == "the ledger was opened before a fork"
        ask(ledger, "another")
        assert ledger.verify().debits == 2


def said_in_child(fork, ledger):
    """Why a forked child cannot debit; it closes the ledger, too, and that must not touch anything."""
    read, write = os.pipe()
    if (child := fork()) == 0:
        signal.alarm(10)  # who does not see the fork waits for a thread that is not there
        try:
            try:
                ask(ledger, "child")
                said = "it was debited"
            except LedgerError as error:
                said = error.message
            ledger.close()
            os.write(write, said.encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        heard = pipe.read()
    os.waitpid(child, 0)
    return heard


# many threads


def race(ledger, threads, each, epsilon="0.01", cells=lambda thread: None):
    """Debits from many threads: receipts and refusals."""

    def work(thread):
        done = []
        for number in range(each):
            try:
                question = f"{thread}-{number}"
                done.append(ask(ledger, question, epsilon, analyst=f"a{thread % 2}", cells=cells(thread)))
            except BudgetError:
                done.append(None)
        return done

    with ThreadPoolExecutor(threads) as pool:
        return [outcome for outcomes in pool.map(work, range(threads)) for outcome in outcomes]


def test_eight_threads_spend_one_budget(path):
    with book(path, epsilon=3) as ledger:
        outcomes = race(ledger, 8, 50)
        receipts = {outcome.id: outcome.seq for outcome in outcomes if outcome}
        assert len(outcomes) == 400
        assert len(receipts) == 300
        debits = {entry.body["receipt"]: entry.seq for entry in ledger.entries() if entry.kind == "debit"}
        assert debits == receipts
        assert ledger.verify().spent.epsilon == 3
        assert ledger.budget("a0").spent.epsilon + ledger.budget("a1").spent.epsilon == 3


def test_threads_share_memory(monkeypatch):
    monkeypatch.setattr(sqlite, "CHECKPOINT", 10)
    with book(epsilon=1) as ledger:
        assert sum(outcome is not None for outcome in race(ledger, 4, 50)) == 100


class Gate:
    """A connection whose commits wait until somebody opens the gate."""

    def __init__(self, connection):
        self.connection, self.open, self.commits = connection, threading.Event(), 0

    def __getattr__(self, name):
        return getattr(self.connection, name)

    def execute(self, sql, *parameters):
        if sql == "COMMIT":
            self.commits += 1
            assert self.open.wait(60)
        return self.connection.execute(sql, *parameters)


def test_one_commit_serves_all_who_wait_and_nobody_is_told_before(path):
    with book(path) as ledger, ThreadPoolExecutor(9) as pool:
        gate = ledger._store.connection = Gate(ledger._store.connection)
        first = pool.submit(ask, ledger, "first")
        while not gate.commits:
            pass
        others = [pool.submit(ask, ledger, number) for number in range(8)]
        while len(ledger._writer._jobs) < 8:
            pass
        assert not any(future.done() for future in (first, *others))
        assert ledger.budget().spent.epsilon == 0  # a reader sees what is committed
        gate.open.set()
        assert len({future.result().id for future in (first, *others)}) == 9
        assert gate.commits == 2
        ledger.verify()


def test_a_refusal_takes_back_its_own_writes_only(path):
    def write_and_refuse(connection):
        chain.append(connection, "", "frozen", None, {})
        raise ValueError("after a write")

    with book(path) as ledger, ThreadPoolExecutor(3) as pool:
        gate = ledger._store.connection = Gate(ledger._store.connection)
        blocker = pool.submit(ask, ledger, "blocker")
        while not gate.commits:
            pass
        refused = pool.submit(ledger._write, write_and_refuse)
        while not ledger._writer._jobs:
            pass
        kept = pool.submit(ask, ledger, "kept")
        while len(ledger._writer._jobs) < 2:
            pass
        gate.open.set()
        with pytest.raises(ValueError, match="after a write"):
            refused.result()
        assert [blocker.result().seq, kept.result().seq] == [3, 4]
        ledger.verify()


def test_every_change_moves_the_mark(path):
    for where in (path, ":memory:"):
        with book(where) as ledger:
            marks = [ledger.mark()]
            assert ledger.mark() == marks[0]
            receipt = ask(ledger)
            marks.append(ledger.mark())
            ledger.store(receipt, b"answer")
            marks.append(ledger.mark())
            ledger.fail(ask(ledger, "other"))
            marks.append(ledger.mark())
            for change in (ledger.freeze, ledger.thaw, ledger.reopen):
                change("owner")
                marks.append(ledger.mark())
            assert len(set(marks)) == len(marks)
            assert ask(ledger).answer == b"answer"
            assert ledger.again("q", "1", TENTH).answer == b"answer"
            assert ledger.budget("ana").spent.epsilon == 2 * TENTH
            assert ledger.mark() == marks[-1], "who only looks changes nothing"
        with pytest.raises(LedgerError):
            ledger.mark()


def test_another_process_moves_the_mark(path):
    with book(path) as ledger, book(path) as other:
        before = ledger.mark()
        assert ledger.mark() == before
        other.freeze("owner")
        assert ledger.mark() != before


def test_again_is_the_free_half_of_a_debit(path):
    with book(path) as ledger:
        assert ledger.again("q", "1", TENTH) is None
        ledger.store(ask(ledger, epsilon=2 * TENTH), b"better")
        assert ledger.again("q", "1", TENTH) == ask(ledger)
        assert ledger.again("q", "2", TENTH) is None
        assert ledger.again("q", "1", 3 * TENTH) is None
        ledger.freeze("owner")
        with pytest.raises(BudgetError, match="frozen"):
            ledger.again("q", "1", TENTH)


def test_under_load_commits_wait_for_each_other_and_alone_nobody_waits(path, monkeypatch):
    """Threads that write at different moments share commits; without others on their way, each has its own."""
    monkeypatch.setattr(group_commit, "PATIENCE", 0.05)
    count = 32

    def commits(crowd):
        with book(path.with_name(f"{crowd}.ledger"), epsilon=100) as ledger:
            batches, serve = [], ledger._writer._serve
            monkeypatch.setattr(ledger._writer, "_serve", lambda batch: (batches.append(len(batch)), serve(batch)))

            def one(number):
                with ledger.asking():
                    together.wait()
                    ask(ledger, number)

            together = threading.Barrier(crowd)
            with ThreadPoolExecutor(crowd) as pool:
                list(pool.map(one, range(count)))
            assert ledger._writer._asking == 0
            assert sum(batches) == count
            return len(batches)

    assert commits(1) == count
    assert commits(count) <= 3


def test_a_question_that_ends_without_writing_keeps_nobody_waiting(path, monkeypatch):
    monkeypatch.setattr(group_commit, "PATIENCE", 1000)
    with book(path) as ledger:
        others = [ledger.asking() for _ in range(group_commit.MANY)]
        for other in others:
            other.__enter__()
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(ask, ledger)
            for other in others:
                other.__exit__(None, None, None)
            assert waiting.result(20).price.epsilon == TENTH


def test_a_ledger_that_was_replaced_has_no_mark(path):
    with book(path) as ledger:
        ledger.mark()
        ledger.backup(path.with_name("copy"))
        path.with_name("copy").replace(path)
        with pytest.raises(LedgerError, match="replaced or removed"):
            ledger.mark()
        for _ in range(2):
            with pytest.raises(LedgerError, match="is no longer served"):
                ledger.mark()
            with pytest.raises(LedgerError, match="is no longer served"):
                ask(ledger)
