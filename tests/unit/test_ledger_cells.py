"""A partition of people in the ledger: what is charged to some cells only, what that leaves, what `verify` finds."""

import io
import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato.accounting import GaussianRelease, Pure, Refinement, Selection, price
from sfumato.errors import BudgetError, InputError, LedgerError, PolicyError
from sfumato.ledger import Ledger, Receipt, cells, chain, running_sums, schema
from sfumato.types import Adjacency, Loss
from tests.unit.raw_ledger import dump, raw, tamper, walls
from tests.unit.test_ledger import ask, book, found, hash_anew, race

TENTH = Fraction(1, 10)
NORTH, SOUTH, EAST = ("north",), ("south",), ("east",)
OLD = Path(__file__).with_name("ledger_format_1.sql")


def parted(path=None, **changes):
    """A ledger with a partition of people, of epsilon 1."""
    return book(path, **{"epsilon": 1, "partition": "patient.region"} | changes)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "clinic.ledger"


def spend(ledger, *charges, **options):
    """Debit epsilons to cells, each a question of its own."""
    return [
        ask(ledger, f"{where}-{number}-{options}", epsilon, cells=where, **options)
        for number, (epsilon, where) in enumerate(charges)
    ]


# what is spent


def test_cells_are_parallel():
    with parted() as ledger:
        for region in (NORTH, SOUTH, EAST):
            spend(ledger, *[("0.1", region)] * 10)
        assert ledger.budget().spent == Loss(Fraction(1), Fraction(1, 20), Fraction(0))
        assert ledger.budget().remaining.epsilon == 0
        for where in (NORTH, ("east", "west"), None):
            with pytest.raises(BudgetError):
                ask(ledger, "more", "1e-15", cells=where)
        ask(ledger, "more", 1, cells=("west",))  # nobody there was asked about yet
        assert ledger.verify().spent.epsilon == 1


def test_everybody_is_in_every_cell():
    with parted() as ledger:
        spend(ledger, ("0.3", NORTH), ("0.5", None), ("0.2", SOUTH))
        assert ledger.budget().spent.epsilon == Fraction(8, 10)
        with pytest.raises(BudgetError):
            ask(ledger, "more", "0.31", cells=SOUTH)
        spend(ledger, ("0.3", SOUTH), ("0.2", NORTH), ("0.5", EAST))
        with pytest.raises(BudgetError):
            ask(ledger, "more", "1e-15")
        ledger.verify()


def test_several_cells_pay_each():
    with parted() as ledger:
        spend(ledger, ("0.6", ("north", "south")), ("0.4", ("east", "north")))
        assert ledger.budget().spent.epsilon == 1
        assert [ledger.budget(cells=(c,), version="1").remaining.epsilon for c in ("north", "south", "east")] == [
            0,
            Fraction(4, 10),
            Fraction(6, 10),
        ]
        ledger.verify()


def test_replace_takes_the_two_largest():
    with parted(adjacency="replace") as ledger:
        spend(ledger, ("0.5", NORTH), ("0.3", SOUTH), ("0.2", EAST))
        assert ledger.budget().spent.epsilon == Fraction(8, 10)
        spend(ledger, ("0.1", EAST))  # level with the second largest: nothing more is spent
        assert ledger.budget().spent.epsilon == Fraction(8, 10)
        assert ledger.budget(cells=EAST, version="1").remaining.epsilon == Fraction(2, 10)
        assert ledger.budget(cells=("east", "south"), version="1").remaining.epsilon == Fraction(2, 10)
        assert ledger.budget(cells=("east", "north"), version="1").remaining.epsilon == TENTH
        assert ledger.budget(cells=("west",), version="1").remaining.epsilon == Fraction(5, 10)
        with pytest.raises(BudgetError):
            ask(ledger, "more", "0.11", cells=("east", "north"))
        spend(ledger, ("0.1", ("east", "north")))
        assert ledger.verify().spent.epsilon == 1
    with parted(adjacency=Adjacency.REPLACE) as ledger:
        spend(ledger, ("0.5", ("north", "south")))
        assert ledger.budget().spent.epsilon == 1
        ledger.verify()


def test_versions_add_up():
    with parted() as ledger:
        spend(ledger, ("0.4", NORTH), ("0.1", SOUTH), version="monday")
        spend(ledger, ("0.2", NORTH), ("0.5", SOUTH), version="tuesday")
        assert ledger.budget().spent.epsilon == Fraction(9, 10)  # she may have moved from north to south
        assert ledger.budget(cells=NORTH, version="monday").remaining.epsilon == TENTH
        assert ledger.budget(cells=SOUTH, version="monday").remaining.epsilon == Fraction(4, 10)
        assert ledger.budget(cells=NORTH, version="wednesday").remaining.epsilon == TENTH
        ledger.verify()


def test_another_meaning_of_the_cells_adds_up(path):
    """Values that are declared anew may move people from cell to cell; a larger budget moves nobody."""
    with parted(path) as ledger:
        spend(ledger, ("0.4", NORTH))
    for changes, where in (({"policy_digest": "p2"}, SOUTH), ({"partition": "patient.county"}, EAST)):
        with parted(path, **changes) as ledger:
            spend(ledger, ("0.3", where))
            ledger.verify()
    with parted(path, epsilon=2) as ledger:
        assert ledger.budget().spent.epsilon == 1
        spend(ledger, ("0.4", SOUTH))
        assert ledger.budget().spent.epsilon == 1
        ledger.verify()


def test_shares_count_her_own_cells():
    with parted(epsilon=2, shares={"ana": 1}) as ledger:
        spend(ledger, ("1", NORTH), ("0.4", SOUTH))
        spend(ledger, ("1", NORTH), ("0.5", SOUTH), analyst="bob")
        assert ledger.budget("ana").spent.epsilon == ledger.budget("bob").spent.epsilon == 1
        assert ledger.budget("ana", cells=SOUTH, version="1").remaining.epsilon == Fraction(6, 10)
        assert ledger.budget("bob", cells=SOUTH, version="1").remaining.epsilon == Fraction(11, 10)
        assert ledger.budget("ana", cells=EAST, version="1").remaining.epsilon == 1
        with pytest.raises(BudgetError, match='budget of "ana" on "clinic" does not allow this query') as refused:
            ask(ledger, "more", "0.7", cells=SOUTH)
        assert refused.value.detail == "It costs epsilon 0.7; 0.6 of 1 is left."
        assert refused.value.hint == "Use epsilon 0.6 or less, or fewer groups."
        spend(ledger, ("0.6", SOUTH), version="1")
        ledger.verify()


def test_the_narrower_budget_of_the_cells_says_what_would_pass():
    with parted(shares={"ana": "0.6"}) as ledger:
        spend(ledger, ("0.7", SOUTH), ("0.9", NORTH), analyst="owner")
        with pytest.raises(BudgetError) as refused:
            ask(ledger, "more", "0.8", cells=SOUTH)
        assert refused.value.hint == "Use epsilon 0.3 or less, or fewer groups."
        assert ledger.budget("ana", cells=SOUTH, version="1").remaining.epsilon == Fraction(3, 10)
        ask(ledger, "more", "0.3", cells=SOUTH)
        with pytest.raises(BudgetError) as refused:  # everybody has less left, but not in the east
            ask(ledger, "more", "1.1", cells=EAST)
        assert refused.value.hint == "Use epsilon 0.6 or less, or fewer groups."


def test_who_has_no_share_has_cells_too(path):
    with parted(path, epsilon=2) as ledger:
        spend(ledger, ("0.9", NORTH), ("0.2", SOUTH))
    with parted(path, epsilon=2, shares={"ana": 1}) as ledger:
        assert ledger.budget("ana", cells=SOUTH, version="1").remaining.epsilon == Fraction(8, 10)
        with pytest.raises(BudgetError):
            ask(ledger, "more", "0.2", cells=NORTH)
        ledger.verify()


def test_every_currency_has_its_own_largest_cell():
    """Under best: north is the largest in epsilon, south in rho and delta; the door must hold for both."""
    with parted(composition="best", epsilon=4, delta="1e-6") as ledger:
        ask(ledger, "n", "0.2", event=Pure("0.2"), cells=NORTH)
        ask(ledger, "s", event=Selection("0.1", "1e-7"), cells=SOUTH)
        ask(ledger, "n2", event=Selection("0.1", "3e-7"), cells=NORTH)
        ask(ledger, "s2", event=Pure("0.19"), cells=SOUTH)
        rho = max(Fraction(4 + 1, 200), Fraction(100 + 361, 20000))
        assert ledger.budget().spent == Loss(Fraction(3, 10), rho, Fraction(3, 10**7))
        left = ledger.budget(cells=SOUTH, version="1").remaining
        assert left.delta == Fraction(4, 10**7)
        assert left.epsilon == 4 - Fraction(29, 100)
        assert ledger.verify().spent == ledger.budget().spent


def test_a_door_holds_for_all_cells():
    """Many small questions to the north pass by rho, one large one to the south would by epsilon: not both."""
    with parted(composition="best", epsilon=4, delta="1e-6") as ledger:
        spend(ledger, *[("0.1", NORTH)] * 59)
        with pytest.raises(BudgetError):
            ask(ledger, "large", 1, cells=SOUTH)
        assert ledger.remaining_count(None, price(Pure(TENTH)), cells=SOUTH, version="1") == 59
        spend(ledger, *[("0.1", SOUTH)] * 59)
        assert ledger.verify().debits == 118


def test_a_gaussian_to_one_cell_shuts_the_pure_door():
    with parted(composition="best", epsilon=4, delta="1e-6") as ledger:
        ask(ledger, "g", event=GaussianRelease("0.001"), cells=NORTH)
        assert ledger.budget().spent == Loss(None, Fraction(1, 1000), Fraction(0))
        assert ledger.budget(cells=SOUTH, version="1").remaining.epsilon == 0
        with pytest.raises(BudgetError):
            ask(ledger, "large", 1, cells=SOUTH)
        ledger.verify()


def test_a_refinement_of_one_cell_shuts_the_other_door():
    with parted(composition="best", epsilon=4, delta="1e-6") as ledger:
        asked = {"question": "r", "version": "1", "text": "", "cells": NORTH}
        ledger.store(ledger.debit("ana", Pure(TENTH), epsilon=TENTH, **asked), b"first")
        ledger.debit("ana", Refinement(TENTH, 2 * TENTH), epsilon=2 * TENTH, **asked)
        assert ledger.budget().spent == Loss(2 * TENTH, None, Fraction(0))
        assert ledger.remaining_count(None, price(Pure(TENTH)), cells=NORTH, version="1") == 38
        assert ledger.remaining_count(None, price(Pure(TENTH)), cells=SOUTH, version="1") == 40
        assert ledger.remaining_count(None, price(GaussianRelease("1e-9")), cells=SOUTH, version="1") == 0
        ledger.verify()


def test_less_than_was_spent_leaves_nothing_in_any_cell(path):
    with parted(path) as ledger:
        spend(ledger, ("1", NORTH), ("0.1", SOUTH))
    with parted(path, epsilon="0.5") as ledger:
        assert ledger.budget(cells=SOUTH, version="1").remaining.epsilon == 0
        assert ledger.remaining_count(None, price(Pure(TENTH)), cells=SOUTH, version="1") == 0
        with pytest.raises(BudgetError):
            ask(ledger, "more", cells=SOUTH)
        ledger.verify()


# how much is left


def test_remaining_count_knows_the_cells():
    tenth = price(Pure(TENTH))
    with parted(shares={"ana": "0.8"}) as ledger:
        spend(ledger, ("0.6", NORTH), ("0.2", SOUTH), ("0.1", SOUTH))

        def count(analyst, where):
            return ledger.remaining_count(analyst, tenth, cells=where, version=None if where is None else "1")

        assert [count(None, where) for where in (NORTH, SOUTH, EAST, ("north", "east"), None)] == [4, 7, 10, 4, 4]
        assert [count("ana", where) for where in (NORTH, SOUTH, EAST, None)] == [2, 5, 8, 2]
        assert ledger.remaining_count(None, tenth, cells=SOUTH, version="2") == 4
        spend(ledger, *[("0.1", SOUTH)] * 7, analyst="bob")
        assert count(None, SOUTH) == 0


def test_a_refusal_writes_nothing_about_cells(path):
    with parted(path) as ledger:
        spend(ledger, ("0.8", NORTH), ("0.2", SOUTH))
        before = dump(path)
        for where in (NORTH, ("north", "south", "west"), None):
            with pytest.raises(BudgetError):
                ask(ledger, "other", "0.3", cells=where, key="k")
        assert dump(path) == before


def test_a_stored_answer_about_cells_is_free():
    with parted() as ledger:
        stored = ledger.store(ask(ledger, cells=NORTH), b"42")
        assert ask(ledger, cells=NORTH, analyst="bob") == stored
        assert ledger.budget().spent.epsilon == TENTH


# what can be asked for


def test_cells_need_a_partition(path):
    with book() as ledger:
        for call in (
            lambda: ask(ledger, cells=NORTH),
            lambda: ledger.budget(cells=NORTH, version="1"),
            lambda: ledger.remaining_count(None, price(Pure(1)), cells=NORTH, version="1"),
        ):
            with pytest.raises(InputError, match="no partition of people"):
                call()
        assert ledger.verify().debits == 0


@pytest.mark.parametrize(
    "wrong", [(), "north", ["north"], ("",), ("north", None), ("a\nb",), ("\ud800",), ("x" * 10_001,)]
)
def test_cells_must_have_names(wrong):
    with parted() as ledger:
        with pytest.raises(InputError, match="cells must be"):
            ask(ledger, cells=wrong)
        with pytest.raises(InputError, match="cells must be"):
            ledger.budget(cells=wrong, version="1")
        ask(ledger, cells=("x" * 10_000, "'; DROP TABLE cells; --", '"', "ü", "null"))
        ledger.verify()


def test_what_is_left_in_cells_is_that_of_a_version():
    with parted() as ledger:
        with pytest.raises(InputError, match="version"):
            ledger.budget(cells=NORTH)
        with pytest.raises(InputError, match="version"):
            ledger.remaining_count(None, price(Pure(1)), cells=NORTH)


@pytest.mark.parametrize("changes", [{"partition": ""}, {"partition": "a\nb"}, {"partition": 7}, {"adjacency": "swap"}])
def test_a_partition_that_cannot_be_recorded_is_refused(changes):
    with pytest.raises(InputError):
        parted(**changes)


def test_a_name_is_counted_once():
    with parted() as ledger:
        ask(ledger, cells=("south", "north", "south"))
        *_, entry = ledger.entries()
        assert entry.body["cells"] == ["north", "south"]
        assert ledger.budget().spent.epsilon == TENTH
        ledger.verify()


# policies


def test_partition_and_adjacency_are_in_the_chain(path):
    with parted(path, adjacency="replace") as ledger:
        *_, entry = ledger.entries()
        assert (entry.body["now"]["partition"], entry.body["now"]["adjacency"]) == ("patient.region", "replace")
        assert (ledger.terms.partition, ledger.terms.adjacency) == ("patient.region", Adjacency.REPLACE)
    with parted(path, adjacency="replace") as ledger:
        assert len(list(ledger.entries())) == 2
    with Ledger.visit(path) as visitor:
        assert visitor.terms == ledger.terms


def test_what_was_priced_for_less_cannot_be_promised_more(path):
    parted(path).close()
    with parted(path, adjacency="replace") as ledger:  # nothing was spent yet
        spend(ledger, ("0.3", NORTH), ("0.2", SOUTH))
    with parted(path) as ledger:  # prices were higher than needed; nothing is refunded
        assert ledger.budget().spent.epsilon == Fraction(5, 10)
        spend(ledger, ("0.1", SOUTH))
        assert ledger.budget().spent.epsilon == Fraction(5, 10)
        spend(ledger, ("0.1", NORTH))
        assert ledger.verify().spent.epsilon == Fraction(6, 10)
    before = dump(path)
    with pytest.raises(PolicyError, match='adjacency cannot become "replace" any more') as refused:
        parted(path, adjacency="replace")
    assert refused.value.detail.startswith("Charges so far (4) ")
    assert dump(path) == before


def test_replay_knows_what_was_priced_for_less(path):
    with parted(path) as ledger:
        ask(ledger)
    with parted(path, policy_digest="p2") as ledger:
        now = ledger.terms.to_dict()
    hash_anew(path, 4, now=now | {"adjacency": "replace"})
    found(path, "entry 4 of the ledger is not valid\nDETAIL.*not computed for its adjacency")


# one file, several who write


def test_another_process_charged_the_cell(path):
    with parted(path) as one, parted(path) as other:
        spend(one, ("0.6", NORTH))
        spend(other, ("0.3", NORTH), ("0.9", SOUTH))
        for ledger in (one, other):
            assert ledger.budget(cells=NORTH, version="1").remaining.epsilon == TENTH
            with pytest.raises(BudgetError):
                ask(ledger, "more", "0.2", cells=NORTH)
        spend(one, ("0.1", SOUTH))
        with pytest.raises(BudgetError):
            ask(other, "more", cells=SOUTH)
        other.verify()


def test_cells_are_there_when_it_is_opened_again(path):
    with parted(path, adjacency="replace") as ledger:
        spend(ledger, ("0.4", NORTH), ("0.3", SOUTH), ("0.1", ("north", "east")))
        report, standing = ledger.verify(), ledger.budget("ana", cells=EAST, version="1")
    with parted(path, adjacency="replace") as ledger:
        assert ledger.verify() == report
        assert ledger.budget("ana", cells=EAST, version="1") == standing
        assert standing.remaining.epsilon == Fraction(4, 10)  # beside the north, where she may have come from
        spend(ledger, ("0.2", NORTH))
        assert ledger.verify().spent.epsilon == 1


def test_threads_share_the_cells(path):
    with parted(path) as ledger:
        outcomes = race(ledger, 8, 25, "0.01", lambda thread: (("a", "b", "c", "d")[thread % 4],))
        assert sum(outcome is not None for outcome in outcomes) == 8 * 25
        assert ledger.verify().spent.epsilon == Fraction(1, 2)
        more = race(ledger, 8, 50, "0.01", lambda thread: ("a", "b")[: thread % 2 + 1])
        assert sum(outcome is not None for outcome in more) >= 50
        assert ledger.verify().spent.epsilon == 1


def test_an_export_and_a_backup_hold_the_cells(path, tmp_path):
    with parted(path) as ledger:
        spend(ledger, ("0.4", NORTH), ("0.3", ("north", "south")), ("0.1", None))
        text = io.StringIO()
        ledger.export(text)
        ledger.backup(tmp_path / "backup")
        lines = [json.loads(line) for line in text.getvalue().splitlines()]
        assert [line["body"]["cells"] for line in lines if line["kind"] == "debit"] == [
            ["north"],
            ["north", "south"],
            None,
        ]
        with Ledger.visit(tmp_path / "backup") as copy:
            assert copy.verify() == ledger.verify()
            assert copy.budget(cells=SOUTH, version="1") == ledger.budget(cells=SOUTH, version="1")


def statements_of_a_debit(ledger, number, where):
    seen = []
    ledger._write(lambda connection: connection.set_trace_callback(seen.append))
    ask(ledger, f"traced-{number}", "1e-6", cells=where)
    ledger._write(lambda connection: connection.set_trace_callback(None))
    return len(seen)


def test_a_decision_costs_what_the_first_did(path):
    """As many statements as cells are touched, and each finds its rows by an index."""
    with parted(path, adjacency="replace") as ledger:
        spend(ledger, ("1e-4", ("north", "south")))
        first = [statements_of_a_debit(ledger, 0, where) for where in (NORTH, ("north", "south"))]
        for number in range(40):
            spend(ledger, ("1e-4", tuple(f"{number}-{cell}" for cell in range(5))), version=str(number % 2))
        assert [statements_of_a_debit(ledger, 1, where) for where in (NORTH, ("north", "south"))] == first
    with closing(sqlite3.connect(path)) as connection:
        for currency in running_sums.AMOUNTS:
            plan = connection.execute(
                f"EXPLAIN QUERY PLAN SELECT cell, {currency} FROM cells WHERE analyst = '' AND scope = ''"
                f" ORDER BY {currency} DESC LIMIT 2"
            ).fetchall()
            assert [row[3] for row in plan] == [
                f"SEARCH cells USING COVERING INDEX cells_{currency} (analyst=? AND scope=?)"
            ]


# verify


@pytest.fixture
def charged(path):
    """3 and 4 charge the north and both, 5 everybody, 6 the south; ana has a share, and bob asked once."""
    with parted(path, shares={"ana": 1}) as ledger:
        spend(ledger, ("0.1", NORTH), ("0.2", ("north", "south")), ("0.1", None))
        spend(ledger, ("0.3", SOUTH), analyst="bob")
        assert ledger.verify().entries == 6
    return path


@pytest.mark.parametrize("column", ["epsilon", "rho", "delta"])
@pytest.mark.parametrize(("who", "owner"), [("", "everybody"), ("ana", '"ana"'), ("bob", '"bob"')])
def test_verify_finds_edited_cells(charged, column, who, owner):
    change = f"UPDATE cells SET {column} = ? WHERE analyst = ? AND cell = 'south'"
    tamper(charged, (change, (running_sums.write_units(1), who)))
    found(charged, f"the cells of {owner} are not those of the debits")


@pytest.mark.parametrize("who", ["", "ana"])
def test_verify_finds_removed_cells(charged, who):
    tamper(charged, ("DELETE FROM cells WHERE analyst = ? AND cell = 'south'", (who,)))
    found(charged, "the cells of .* are not those of the debits")


def test_verify_finds_cells_that_nobody_charged(charged):
    zero = running_sums.write_units(0)
    tamper(charged, ("INSERT INTO cells VALUES('', 'x', 'y', ?, ?, ?)", (zero,) * 3))
    found(charged, "the cells of everybody are not those of the debits")


@pytest.mark.parametrize("column", ["scope", "cell", "analyst"])
def test_verify_finds_cells_that_were_moved(charged, column):
    tamper(charged, f"UPDATE cells SET {column} = {column} || 'x' WHERE cell = 'north'")
    found(charged, "cells of .* are not those of the debits")


def test_verify_finds_an_edited_list_of_cells(charged):
    tamper(charged, "UPDATE entry SET body = replace(body, '[\"north\"]', '[\"nowhere\"]') WHERE seq = 3")
    found(charged, "entry 3 of the ledger was changed")
    tamper(charged, "UPDATE entry SET body = replace(body, '\"cells\":[\"nowhere\"],', '') WHERE seq = 3")
    found(charged, "entry 3 of the ledger was changed")


@pytest.mark.parametrize(
    ("seq", "listed", "match"),
    [
        (3, ["nowhere"], 'sums of "ana"'),
        (3, None, "sums of everybody"),
        (5, ["north"], "sums of everybody"),
        (4, ["north"], "sums of everybody"),
        (6, ["south", "west"], "cells of everybody"),
        (3, [], "entry 3.*\nDETAIL.*not those of a partition"),
        (4, ["south", "north"], "entry 4.*\nDETAIL.*not those of a partition"),
        (3, ["north", "north"], "entry 3.*\nDETAIL.*not those of a partition"),
        (3, "north", "entry 3.*\nDETAIL.*not those of a partition"),
        (3, [1], "entry 3.*\nDETAIL.*not those of a partition"),
        (3, [""], "entry 3.*\nDETAIL.*not those of a partition"),
    ],
)
def test_verify_finds_cells_that_were_hashed_anew(charged, tmp_path, seq, listed, match):
    anchor = tmp_path / "anchor"
    Ledger.visit(charged, anchor=anchor).close()
    hash_anew(charged, seq, cells=listed)
    found(charged, match)
    with pytest.raises(LedgerError, match="older than its anchor"):
        Ledger.visit(charged, anchor=anchor)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"partition": None}, "entry 3.*\nDETAIL.*not those of a partition"),
        ({"partition": "patient.county"}, "cells of everybody"),
        ({"digest": "p9"}, "cells of everybody"),
        ({"adjacency": "replace"}, "sums of everybody"),
        ({"epsilon": "1/5"}, "entry 4.*\nDETAIL.*exceeds the budget"),
        ({"shares": {"ana": "1/5"}}, "entry 4.*\nDETAIL.*exceeds the budget"),
        ({"epsilon": "1/2", "adjacency": "replace"}, "entry 5.*\nDETAIL.*exceeds the budget"),
        ({"extra": 1}, "policy in the ledger is damaged"),
    ],
)
def test_verify_finds_a_policy_that_was_hashed_anew(charged, changes, match):
    with Ledger.visit(charged) as ledger:
        now = ledger.terms.to_dict()
    hash_anew(charged, 2, now=now | changes)
    found(charged, match)


def test_the_walls_around_cells_stand(charged):
    zero, lot = running_sums.write_units(0), running_sums.write_units(10**18)
    attempts = [
        *(f"UPDATE cells SET {column} = '{zero}' WHERE cell = 'north'" for column in ("epsilon", "rho")),
        f"UPDATE cells SET epsilon = '{lot}', delta = '1' WHERE cell = 'north'",
        *(f"UPDATE cells SET {column} = 'x' WHERE cell = 'north'" for column in ("cell", "scope", "analyst")),
        f"INSERT INTO cells VALUES('', 's', 'c', '{zero}', '{zero}', '-1')",
        "DELETE FROM cells",
    ]
    with raw(charged) as connection:
        for attempt in attempts:
            with pytest.raises(walls()):
                connection.execute(attempt)
        connection.execute(f"UPDATE cells SET delta = '{lot}' WHERE cell = 'north'")
        with pytest.raises(walls()):
            connection.execute(f"UPDATE cells SET delta = '{zero}' WHERE cell = 'north'")


def test_a_scope_is_one_version_under_one_policy(charged):
    with raw(charged) as connection:
        scopes = {row[0] for row in connection.execute("SELECT scope FROM cells")}
    assert scopes == {'["p1","patient.region","1"]'}
    with Ledger.visit(charged) as ledger:
        assert cells.scope_of(ledger.terms, "1", None) in scopes
        assert cells.scope_of(ledger.terms, "1", "rows") not in scopes


# the format before


@pytest.fixture
def old(path):
    """A ledger as format 1 wrote it, down to its hashes."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(OLD.read_text(encoding="utf-8"))
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION}")
        connection.execute("PRAGMA user_version = 1")
    return path


def test_a_ledger_of_format_1_goes_on(old):
    terms = {"composition": "best", "epsilon": 5, "delta": "1e-6", "shares": {"ana": 1}}
    with Ledger.visit(old) as ledger:
        report = ledger.verify()
        assert (report.entries, report.debits, report.answers, report.failures) == (12, 4, 2, 1)
        assert report.hash == "bd4db3e462b818d1e4e3deb334bb9f1bf2452bed170a516efc95be0b9abb83cc"
        assert report.spent == Loss(None, Fraction(17, 125), Fraction(1, 10**7)) == ledger.budget().spent
        assert (ledger.terms.adjacency, ledger.terms.partition) == (Adjacency.ADD_REMOVE, None)
    with closing(sqlite3.connect(old.with_name("clinic.ledger.format-1"))) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    with book(old, **terms) as ledger:
        assert ask(ledger, "q1").answer == b"one"
        assert isinstance(ask(ledger, "q5"), Receipt)
        assert ledger.verify().debits == 5
    with book(old, **terms, partition="patient.region") as ledger:
        ask(ledger, "q6", cells=NORTH)
        ask(ledger, "q7", cells=SOUTH)
        assert ledger.verify().spent.rho == Fraction(17, 125) + 2 * Fraction(1, 200)
        *_, entry = ledger.entries()
        assert chain.canonical(entry.body["cells"]) == '["south"]'


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_the_adjacency_of_format_1_is_recorded_once(old, adjacency):
    """It was not recorded then, so whichever the policy says was in force; from now on it is."""
    terms = {"composition": "best", "epsilon": 5, "delta": "1e-6", "shares": {"ana": 1}, "adjacency": adjacency}
    for _ in range(2):
        with book(old, **terms) as ledger:
            *_, entry = ledger.entries()
            assert (entry.seq, entry.kind, entry.body["now"]["adjacency"]) == (13, "policy", adjacency)
            assert "adjacency" not in entry.body["before"]
            ledger.verify()
    if adjacency == "add-remove":
        with pytest.raises(PolicyError, match="adjacency cannot"):
            book(old, **terms | {"adjacency": "replace"})
