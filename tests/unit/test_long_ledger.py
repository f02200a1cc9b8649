"""A ledger of more than 100,000 entries: a page of it costs what it shows."""

import json
import sqlite3
from contextlib import closing
from fractions import Fraction

import pytest

from sfumato.errors import LedgerError
from sfumato.ledger import Ledger, chain, schema, spending
from sfumato.ledger.readers import READERS, Readers
from tests.unit.test_ledger import ask, book, fill

MANY = 60_000
"""Debits, each with its answer."""


def prolong(path, many):
    """Rows as the ledger writes them, put in directly: pages read them, and check each hash that they show."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        connection.execute("BEGIN")
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        seq, previous = chain.head(connection)
        body = json.loads(connection.execute("SELECT body FROM entry WHERE kind = 'debit' LIMIT 1").fetchone()[0])
        ((own, everybody),) = connection.execute("SELECT own, everybody FROM spending LIMIT 1").fetchall()
        entries, debits, answers = [], [], []
        time = chain.latest_time(connection)
        (number,) = connection.execute("SELECT COUNT(*) FROM spending").fetchone()
        for i in range(many):
            who, receipt = ("eve" if i % 20_000 else "ana"), f"{i:032x}"
            for kind, text in (
                ("debit", chain.canonical(body | {"receipt": receipt, "question": f"long {i}"})),
                ("answer", chain.canonical({"debit": seq + 1, "digest": "", "receipt": receipt})),
            ):
                seq += 1
                sealed = chain.seal(seq, time, kind, who, text, previous)
                entries.append((seq, time, kind, who, text, previous, sealed))
                previous = sealed
            debits.append((number + i + 1, seq - 1, f"long {i}", own, everybody))
            answers.append((receipt, f"long {i}", "1", "1/10", b"", seq - 1, seq))
        connection.executemany("INSERT INTO entry VALUES(?, ?, ?, ?, ?, ?, ?)", entries)
        connection.executemany("INSERT INTO spending VALUES(?, ?, ?, ?, ?)", debits)
        connection.executemany("INSERT INTO answer VALUES(?, ?, ?, ?, ?, ?, ?)", answers)
        connection.execute("UPDATE sums SET debits = debits + ? WHERE analyst = ''", (many,))
        for _, sql in triggers:
            connection.execute(sql)
        connection.execute("COMMIT")


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    path = tmp_path_factory.mktemp("long") / "clinic.ledger"
    with book(path, epsilon=100) as ledger:
        fill(ledger, 5)
    prolong(path, MANY)
    return path


class Steps:
    """Counts what SQLite does: its virtual machine's steps, in thousands."""

    def __init__(self, connection):
        self.thousands = 0
        connection.set_progress_handler(self.step, 1000)

    def step(self):
        self.thousands += 1


def test_looking_at_a_long_ledger_reads_few_rows(long):
    with closing(sqlite3.connect(long)) as connection:
        (entries,) = connection.execute("SELECT COUNT(*) FROM entry").fetchone()
        assert entries > 100_000
        steps = Steps(connection)
        own = chain.read_own(connection, "ana", 2**62, 5)
        assert [entry.kind for entry in own] == ["debit"] * 5 + ["answer"] * 5
        assert chain.read_own(connection, "nobody", 2**62, 100) == []
        curve = spending.read_spending(connection, 400)
        assert curve.debits == MANY + 5
        assert 300 < len(curve.points) <= 400
        assert curve.points[-1].seq == entries - 1, "the last debit is among them"
        assert steps.thousands < 100, "a walk along the chain takes a thousand thousands"


def test_every_statement_of_a_look_has_its_index(long):
    seen = []
    with closing(sqlite3.connect(long)) as connection:
        connection.set_trace_callback(seen.append)
        chain.read_own(connection, "ana", 2**62, 5)
        spending.read_spending(connection, 400)
        connection.set_trace_callback(None)
        plans = [row[3] for sql in seen for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}")]
    assert len(seen) >= 6
    scans = [plan for plan in plans if plan.startswith("SCAN") and "entry_rare" not in plan]
    assert all(plan == "SCAN entry" for plan in scans), scans  # ORDER BY seq DESC LIMIT 1, by the key
    assert any("entry_own" in plan for plan in plans)


def test_a_long_history_is_paged(long):
    with Ledger.visit(long) as ledger:
        first = ledger.history("eve", limit=100)
        then = ledger.history("eve", before=first[-1].debit.seq, limit=100)
    assert len(first) == len(then) == 100
    assert {bought.end for bought in (*first, *then)} == {"answer"}
    assert first[-1].debit.seq > then[0].debit.seq


def test_several_read_at_once(long):
    """A reader that is busy keeps nobody waiting."""
    readers = Readers(lambda: sqlite3.connect(long, check_same_thread=False))

    def deep(level):
        return level if level == READERS else readers.read(lambda _: deep(level + 1))

    assert deep(1) == READERS, "one inside of the other"
    readers.close()


def test_the_curve_is_what_the_chain_adds_up_to(tmp_path):
    path = tmp_path / "clinic.ledger"
    with book(path) as ledger:
        fill(ledger, 3)
        ask(ledger, "other", analyst="bob")
        curve = ledger.spending(10)
        ledger.freeze("owner")
        assert [point.everybody.epsilon for point in curve.points] == [Fraction(i, 10) for i in (1, 2, 3, 4)]
        assert [point.own.epsilon for point in curve.points] == [Fraction(i, 10) for i in (1, 2, 3, 1)]
        assert [point.analyst for point in curve.points] == ["ana"] * 3 + ["bob"]
        assert ledger.spending(10).frozen
        assert not curve.frozen
        assert [point.seq for point in ledger.spending(2).points] == [curve.points[1].seq, curve.points[3].seq]
        ledger.verify()


@pytest.mark.parametrize("edit", ["UPDATE spending SET own = everybody WHERE debit = 4", "DELETE FROM spending"])
def test_verify_finds_an_edited_curve(tmp_path, edit):
    path = tmp_path / "clinic.ledger"
    with book(path) as ledger:
        fill(ledger, 3)
        ask(ledger, "other", analyst="bob")
    with closing(sqlite3.connect(path)) as connection:
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(edit)
        walls = dict(
            connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'spending%'")
        )
        for name in walls:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(edit)
        for sql in walls.values():
            connection.execute(sql)
        connection.commit()
    with Ledger.visit(path) as ledger, pytest.raises(LedgerError, match="sums after each debit"):
        ledger.verify()


def test_a_ledger_without_the_curve_gets_it(tmp_path):
    path = tmp_path / "clinic.ledger"
    with book(path) as ledger:
        fill(ledger, 3)
        before = ledger.spending(10)
    with closing(sqlite3.connect(path)) as connection:
        for name in ("spending_stays", "spending_remains"):
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DROP TABLE spending")
        connection.execute("DROP INDEX entry_own")
        schema._add_looks(connection)
        connection.commit()
    with Ledger.visit(path) as ledger:
        assert ledger.spending(10) == before
        ledger.verify()
