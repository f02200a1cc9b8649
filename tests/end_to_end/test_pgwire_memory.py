"""What is at hand: repeated questions are answered without work, and no sooner than the ledger allows it."""

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest
from tests.end_to_end import pg

import sfumato
from sfumato.cli import clinic
from sfumato.gateway import Gateway
from sfumato.ledger import Ledger

COUNT = "SELECT area, COUNT(*) AS n FROM patient GROUP BY area"


@pytest.fixture
def door(written, tmp_path):
    policy = pg.make_clinic(tmp_path / "c", written, *pg.RICH)
    with pg.serving(policy, encrypted=False, users=("ana", "bob", "auditor")) as served:
        yield served


@pytest.fixture
def worked(door, monkeypatch):
    """Counts the questions that reach the gateway's walk."""
    asked, walk = [], Gateway.answer

    def counted(gate, query, *more, **options):
        asked.append(query.sql)
        return walk(gate, query, *more, **options)

    monkeypatch.setattr(Gateway, "answer", counted)
    return asked


def elsewhere(door, words):
    """Something that another process does to the ledger."""
    path = door.gate.policy.data.ledger
    script = f"from sfumato.ledger import Ledger\nwith Ledger.visit({str(path)!r}) as ledger:\n    {words}"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def lines(door):
    log = Path(door.gate.policy.data.state) / "audit.jsonl"
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def test_the_third_time_nothing_is_walked_and_everything_is_told(door, worked):
    with psycopg.connect(door.dsn(), autocommit=True) as connection:
        notices = []
        connection.add_notice_handler(lambda notice: notices.append((notice.message_primary, notice.message_detail)))
        found = [connection.execute(COUNT).fetchall() for _ in range(5)]
        assert connection.cursor(binary=True).execute(COUNT).fetchall() == found[0]
    assert found == [found[0]] * 5
    assert len(worked) == 2, "once to pay, once to find it in the ledger"
    assert pg.debits(door) == Decimal("0.1")
    width, first = re.fullmatch(r"(n ± \d+ at 95 %; )(.*)", notices[0][0]).groups()
    assert first.startswith("cost: epsilon 0.1; ")
    assert {first for first, _ in notices[1:]} == {notices[1][0]}
    assert notices[1][0].startswith(f"{width}cost: free, the answer was stored; epsilon 899.9 left")
    assert {detail for _, detail in notices} == {notices[0][1]}
    told = [line for line in lines(door) if line["event"] == "question"]
    assert len(told) == 6, "each has its line in the audit log"
    assert [line["cost"]["epsilon"] for line in told] == ["1/10", *["0"] * 5]
    assert len({line["receipt"] for line in told}) == 1


def test_a_freeze_is_heard_by_the_next_question(door):
    with psycopg.connect(door.dsn(), autocommit=True) as connection:
        for _ in range(3):
            connection.execute(COUNT)
        elsewhere(door, "ledger.freeze('owner')")
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="frozen"):
            connection.execute(COUNT)
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="frozen"):
            connection.execute(COUNT)
        elsewhere(door, "ledger.thaw('owner')")
        assert len(connection.execute(COUNT).fetchall()) == 5


def test_a_changed_policy_is_heard_by_the_next_question(door, written, tmp_path):
    with psycopg.connect(door.dsn(), autocommit=True) as connection:
        for _ in range(3):
            connection.execute(COUNT)
        policy = Path(door.gate.policy.data.ledger).parent / clinic.POLICY_FILE
        policy.write_text(policy.read_text().replace("epsilon = 1000 # everything", "epsilon = 999 # everything"))
        with sfumato.open(policy):
            pass
        with pytest.raises(psycopg.Error, match="policy was changed by another process"):
            connection.execute(COUNT)


def test_a_closed_version_is_heard_by_the_next_question(door):
    with psycopg.connect(door.dsn(), autocommit=True) as connection:
        for _ in range(3):
            connection.execute(COUNT)
        failing = (
            "from fractions import Fraction as F; from sfumato.accounting import Pure; version = "
            f"{door.gate.policy.version_at(door.gate._clock())!r}\n"
            "    for i in range(3): ledger.fail(ledger.debit('x', Pure(F(1, 10)), question=f'q{i}', epsilon=F(1, 10),"
            " version=version, text=''))"
        )
        elsewhere(door, failing)
        with pytest.raises(psycopg.Error, match="is closed"):
            connection.execute(COUNT)


def test_what_remains_is_that_of_who_asks_and_of_now(door):
    heard = {"ana": [], "bob": []}

    def listen(connection, name):
        connection.add_notice_handler(lambda notice: heard[name].append(notice.message_primary))

    with (
        psycopg.connect(door.dsn(), autocommit=True) as ana,
        psycopg.connect(door.dsn("bob"), autocommit=True) as bob,
    ):
        listen(ana, "ana")
        listen(bob, "bob")
        for _ in range(3):
            ana.execute(COUNT)
        for _ in range(3):
            assert bob.execute(COUNT).fetchall() == ana.execute(COUNT).fetchall()
        assert all("epsilon 899.9 left" in words for words in heard["ana"][1:])
        assert all("epsilon 999.9 left" in words for words in heard["bob"])
        bob.execute("SET sfumato.epsilon = 5")
        bob.execute("SELECT COUNT(*) FROM visit")
        ana.execute(COUNT)
        bob.execute("RESET sfumato.epsilon")
        bob.execute(COUNT)
        assert "epsilon 899.9 left" in heard["ana"][-1]
        assert "epsilon 994.9 left" in heard["bob"][-1]
    assert pg.debits(door) == Decimal("0.1")


def test_an_auditor_gets_nothing_that_others_have_paid_for(door):
    with psycopg.connect(door.dsn(), autocommit=True) as ana:
        for _ in range(3):
            ana.execute(COUNT, prepare=True)
    with psycopg.connect(door.dsn("auditor"), autocommit=True) as auditor:
        for prepare in (False, True):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                auditor.execute(COUNT, prepare=prepare)
    with pg.Raw(door, user="auditor") as client:
        said = client.ask(pg.parse(COUNT), pg.describe("S"), pg.SYNC)
        assert pg.kinds(said) == "EZ"  # at Parse: no value could change it


def test_options_make_another_question(door):
    with psycopg.connect(door.dsn(), autocommit=True) as connection:
        for _ in range(3):
            first = connection.execute(COUNT)
        connection.execute("SET sfumato.intervals = on")
        for _ in range(3):
            wide = connection.execute(COUNT)
            assert [column.name for column in wide.description] == ["area", "n", "n_low", "n_high"]
        ninety_five = wide.fetchall()
        connection.execute("SET sfumato.confidence = 0.5")
        for _ in range(3):
            half = connection.execute(COUNT).fetchall()
        assert [row[:2] for row in half] == [row[:2] for row in ninety_five] == first.fetchall()
        widths = [(b[3] - b[2], a[3] - a[2]) for a, b in zip(ninety_five, half, strict=True)]
        assert all(narrow <= wide for narrow, wide in widths)  # both end at zero where a count is far below it
        assert any(narrow < wide for narrow, wide in widths)
        assert pg.debits(door) == Decimal("0.1")
        connection.execute("SET sfumato.epsilon = 0.2")
        connection.execute(COUNT)
    assert pg.debits(door) > Decimal("0.1"), "a better answer is paid for"


def test_the_catalog_is_at_hand_for_each_user_and_her_settings(door):
    with (
        psycopg.connect(door.dsn(), autocommit=True) as ana,
        psycopg.connect(door.dsn("bob"), autocommit=True) as bob,
    ):
        for _ in range(3):
            assert ana.execute("SELECT current_user").fetchone() == ("ana",)
            assert bob.execute("SELECT current_user").fetchone() == ("bob",)
            assert bob.execute("SELECT current_setting('application_name')").fetchone() == ("",)
        bob.execute("SET application_name = 'x'")
        assert bob.execute("SELECT current_setting('application_name')").fetchone() == ("x",)
        assert bob.execute("SELECT set_config('application_name', 'y', false)").fetchone() == ("y",)
        bob.execute("SET application_name = 'z'")
        assert bob.execute("SELECT set_config('application_name', 'y', false)").fetchone() == ("y",)
        assert bob.execute("SHOW application_name").fetchone() == ("y",), "what a stored result sets is set again"


@pytest.mark.parametrize(
    "clock", ["now()", "clock_timestamp()", "current_timestamp", "random()", "extract(epoch from now())"]
)
def test_clocks_are_not_remembered(door, clock):
    with psycopg.connect(door.dsn(), autocommit=True) as connection:
        assert len({connection.execute(f"SELECT {clock}").fetchone() for _ in range(3)}) == 3
        assert len({connection.execute(f"SELECT {clock}", binary=True).fetchone() for _ in range(3)}) == 3


def test_no_question_is_left_unpaid_while_others_are_remembered(door):
    """Twenty connections repeat and ask anew at once: what is spent is one debit for each new question."""

    def ask(number):
        with psycopg.connect(door.dsn("ana"), autocommit=True) as connection:
            rows = []
            for i in range(10):
                rows.append(connection.execute(f"SELECT COUNT(*) FROM patient WHERE age > {i}").fetchone())
                rows.append(connection.execute(COUNT).fetchall())
            return rows

    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(ask, range(20)))
    assert all(rows == found[0] for rows in found)
    with Ledger.visit(door.gate.policy.data.ledger) as ledger:
        kinds = [(entry.kind, entry.body.get("question")) for entry in ledger.entries()]
        assert ledger.verify().answers == 11
    paid = [question for kind, question in kinds if kind == "debit"]
    assert len(set(paid)) == 11
