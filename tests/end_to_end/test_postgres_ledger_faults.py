"""A ledger in a server as the world treats it: connections cut at every message, servers killed and replaced."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction

import psycopg
import pytest
from tests import pgserver
from tests.end_to_end.cutting import Proxy
from tests.end_to_end.test_ledger_faults import (
    COMMON,
    FOREVER,
    POLICY,
    SOURCE,
    UNTIL_SPENT,
    ask,
    check_told,
    finish,
    start,
)
from tests.end_to_end.told import told_to_the_owner

from sfumato.accounting import Pure
from sfumato.errors import LedgerError
from sfumato.ledger import Ledger, Receipt, accept_server
from sfumato.ledger.records import Busy, OutcomeUnknown, ServerError
from sfumato.ledger.steps import StepResult


@pytest.fixture
def place(pg):
    made = pgserver.fresh(pg)
    yield made
    pgserver.drop(made)


def opened(place, epsilon=1000, **changes):
    return Ledger.open(place, epsilon=epsilon, **POLICY | {"busy": 3} | changes)


def through(proxy, place):
    """The same ledger, by way of the proxy."""
    parts = psycopg.conninfo.conninfo_to_dict(place.partition("#")[0])
    host, port = proxy.address
    return f"postgresql://{parts['user']}@{host}:{port}/{parts['dbname']}#{place.partition('#')[2]}"


@pytest.fixture
def proxy(pg):
    made = Proxy(int(psycopg.conninfo.conninfo_to_dict(pg)["port"]))
    yield made
    made.close()


def pay_and_store(ledger, question):
    """What is told of one question: its receipt and answer, or which error."""
    try:
        paid = ask(ledger, question)
    except OutcomeUnknown:
        return "unknown", None, None
    except Busy:
        return "nothing", None, None
    try:
        return "answered", paid, ledger.store(paid, question.encode()).answer
    except Busy:
        return "paid", paid, None


def check_questions(place, told):
    """What was told is there, once; what was said not to be written is not."""
    with Ledger.visit(place) as ledger:
        ledger.verify()
        entries = list(ledger.entries())
        debits = Counter(entry.body["question"] for entry in entries if entry.kind == "debit")
        for question, (word, paid, answer) in told.items():
            if word == "answered":
                assert debits[question] == 1, f"{question} was paid for {debits[question]} times"
                stored = ledger.stored(question, "1", "0.1")
                assert (stored.receipt, stored.answer) == (paid, answer)
            elif word == "paid":
                assert debits[question] == 1
            elif word == "nothing":
                assert debits[question] == 0, f"{question} was charged, and it was said that it was not"


def cut_everywhere(place, proxy, modes, every):
    told = {}
    with opened(through(proxy, place)) as ledger:
        assert pay_and_store(ledger, "first")[0] == "answered"  # it has rows to make
        proxy.arm(0, "")
        assert pay_and_store(ledger, "second")[0] == "answered"
        messages = proxy.sent
        assert messages > 20
        for mode in modes:
            for cut in range(1, messages + 1, every):
                proxy.arm(cut, mode)
                question = f"{mode}-{cut}"
                told[question] = pay_and_store(ledger, question)
                proxy.arm(0, "")
        assert proxy.cuts == len(told), "every cut was made"
        assert pay_and_store(ledger, "last")[0] == "answered", "it goes on"
    check_questions(place, told)
    words = Counter(word for word, *_ in told.values())
    assert set(words) <= {"answered", "nothing"}, "a server that is there can be asked what became of a commit"
    assert words["answered"] >= 3


def test_a_connection_that_is_cut_at_some_message(place, proxy):
    cut_everywhere(place, proxy, ("before", "after", "late"), every=5)


@pytest.mark.slow
def test_a_connection_that_is_cut_at_every_message(place, proxy):
    cut_everywhere(place, proxy, ("before", "after", "late"), every=1)


@pytest.mark.parametrize("mode", ["before", "after", "late"])
def test_a_commit_in_doubt_is_looked_for(place, proxy, mode, monkeypatch):
    """The message that is cut is COMMIT itself."""
    with opened(through(proxy, place)) as ledger:
        commit = type(ledger._store).commit
        looks = []

        def cutting(store):
            proxy.arm(1, mode)
            commit(store)

        look = type(ledger._store).look
        monkeypatch.setattr(
            type(ledger._store), "look", lambda store, head: looks.append(look(store, head)) or looks[-1]
        )
        monkeypatch.setattr(type(ledger._store), "commit", cutting)
        if mode == "before":
            with pytest.raises(Busy, match="cannot be reached") as refused:
                ask(ledger, "doubt")
            assert not isinstance(refused.value, OutcomeUnknown)
        else:
            assert isinstance(ask(ledger, "doubt"), Receipt)
        monkeypatch.undo()
        assert looks == [mode != "before"]
        assert ledger.verify().debits == (mode != "before")


def test_a_commit_that_cannot_be_looked_for_is_not_known(place, proxy, monkeypatch):
    with opened(through(proxy, place), busy=0.3) as ledger:
        paid = ask(ledger, "paid")
        commit = type(ledger._store).commit

        def cutting(store):
            proxy.shut = True
            proxy.arm(1, "after")
            commit(store)

        monkeypatch.setattr(type(ledger._store), "commit", cutting)
        with pytest.raises(OutcomeUnknown, match="cannot be reached") as refused:
            ask(ledger, "doubt")
        assert refused.value.sqlstate == "58030"
        for call in (ledger.mark, ledger.budget, lambda: ask(ledger, "more")):
            with pytest.raises(LedgerError, match="cannot be reached"):  # not even what is stored
                call()
        monkeypatch.undo()
        proxy.shut = False
        assert ledger.store(paid, b"42").answer == b"42"
        assert ledger.verify().debits == 2, "it was charged, and nothing was released for it"


def test_a_failure_that_cannot_be_recorded_ends_serving(place, proxy):
    with opened(through(proxy, place), busy=0.2) as ledger:
        paid = ask(ledger, "paid")
        proxy.shut = True
        proxy.arm(1, "before")
        with pytest.raises(LedgerError, match="cannot be reached"):
            ledger.fail(paid)
        proxy.shut = False
        with pytest.raises(LedgerError, match="is no longer served"):
            ask(ledger, "more")


# processes


def test_what_was_printed_is_in_the_server_after_kill(place):
    """kill -9 of two gateways at random moments, again and again."""
    seed = random.SystemRandom().randrange(2**32)
    chance, told = random.Random(seed), []
    print(f"seed {seed}")  # noqa: T201 - pytest shows it when the test fails
    for _ in range(3):
        processes = [start(FOREVER, place, f"w{number}", 10**6) for number in range(2)]
        for process in processes:
            told += [process.stdout.readline().split() for _ in range(chance.randrange(1, 9))]
        for process in processes:
            process.send_signal(signal.SIGKILL)
        for process in processes:
            text, _ = process.communicate()
            told += [line.split() for line in text.splitlines(keepends=True) if line.endswith("\n")]
    check_told(place, told)
    assert {word for word, *_ in told} == {"debited", "answered"}


def test_three_processes_spend_one_budget(place):
    words = finish(*(start(UNTIL_SPENT.replace("200", "40"), place, f"w{number}", "0.5") for number in range(3)))
    told = [line for line in words if line[0] == "debited"]
    assert len(words) == 120
    assert len({receipt for _, receipt, _ in told}) == 50
    check_told(place, told)


def test_a_gateway_that_is_stopped_holding_the_lock_loses_its_transaction(place):
    """The server ends it; the others go on, and it cannot commit what it had decided on old state."""
    code = """
import os, signal
from sfumato.ledger import ledger as book
work = book.decide
def stop(*arguments, **more):
    done = work(*arguments, **more)
    book.decide = work
    signal.pthread_kill(__import__("threading").get_ident(), signal.SIGSTOP)
    return done
ask(ledger, "before")
book.decide = stop
try:
    ask(ledger, "stopped")
    say("debited")
except LedgerError as error:
    say(error.message.replace(" ", "-"))
say("debited" if isinstance(ask(ledger, "after"), Receipt) else "?")
"""
    process = subprocess.Popen(
        [sys.executable, "-c", COMMON.replace("'busy': 60", "'busy': 1") + code, place, "w1", "0.03"],
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        text=True,
    )
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    with opened(place, "0.03", busy=10) as ledger:
        assert isinstance(ask(ledger, "mine", "0.01"), Receipt), "it waits no longer than the server does"
        os.kill(process.pid, signal.SIGCONT)
        text, _ = process.communicate(timeout=60)
        assert text.split() == ["the-ledger-cannot-be-reached", "debited"]
        asked = [entry.body["question"] for entry in ledger.entries() if entry.kind == "debit"]
        assert asked == ["before", "mine", "after"]
        ledger.verify()


# the server


def test_a_server_that_is_killed_has_what_was_told():
    """kill -9 of the server and all that it started, under load; gateways come back by themselves."""
    with pgserver.cluster() as made:
        place = pgserver.fresh(made.address)
        told, stop, ready = {}, threading.Event(), threading.Barrier(3)

        def work(name):
            with opened(place, busy=2) as ledger:
                number = 0
                ready.wait(60)
                while not stop.is_set():
                    question = f"{name}-{number}"
                    number += 1
                    told[question] = pay_and_store(ledger, question)
                    assert ledger.terms
                return [ledger.verify().entries]

        opened(place).close()
        with ThreadPoolExecutor(2) as pool:
            running = [pool.submit(work, name) for name in "ab"]
            ready.wait(60)
            for _ in range(3):
                before = len(told)
                while len(told) < before + 6:
                    time.sleep(0.01)
                made.kill()
                (made.data / "postmaster.pid").unlink(missing_ok=True)
                made.start()
            before = sum(word == "answered" for word, *_ in told.values())
            while sum(word == "answered" for word, *_ in told.values()) < before + 4:
                time.sleep(0.01)
            stop.set()
            for future in running:
                future.result(60)
        check_questions(place, told)
        assert Counter(word for word, *_ in told.values())["answered"] > 10


def test_a_server_that_says_nothing_is_given_up(monkeypatch):
    """Its process is stopped, so that the connection stays whole and nothing ever comes; twice."""
    monkeypatch.setattr("sfumato.ledger.postgres_link.SPARE", 0.5)
    with pgserver.cluster() as made, opened(pgserver.fresh(made.address), busy=0.3) as ledger:
        (idle,) = ledger._store._link.execute("SELECT pg_backend_pid()").fetchone()
        os.kill(idle, signal.SIGSTOP)
        assert isinstance(ask(ledger, "one"), Receipt), "a connection that says nothing is replaced"
        (busy,) = ledger._store._link.execute("SELECT pg_backend_pid()").fetchone()
        commit = type(ledger._store).commit

        def stopping(store):
            os.kill(busy, signal.SIGSTOP)
            commit(store)

        monkeypatch.setattr(type(ledger._store), "commit", stopping)
        with pytest.raises(OutcomeUnknown):  # it holds the lock, and nobody can look
            ask(ledger, "two")
        monkeypatch.undo()
        for process in (idle, busy):
            os.kill(process, signal.SIGCONT)
        time.sleep(0.2)
        with suppress(Busy):
            ask(ledger, "three")
        assert isinstance(ask(ledger, "four"), Receipt)
        ledger.verify()


def test_a_commit_is_believed_only_if_it_is_one(place):
    """A transaction that had failed is answered with ROLLBACK; one that may not survive with a warning."""
    with opened(place) as ledger:
        link = ledger._store._link
        link.execute("BEGIN")
        with pytest.raises(ServerError, match="division by zero"):
            link.execute("SELECT 1 / 0")
        with pytest.raises(ServerError, match=r"did not confirm a commit .ROLLBACK.") as refused:
            link.commit()
        assert refused.value.meaning is StepResult.WRONG
        with pgserver.link(place) as other:
            other.execute(
                "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS"
                " $$BEGIN RAISE WARNING 'it may not have been replicated'; RETURN NULL; END$$"
            )
            other.execute(
                "CREATE CONSTRAINT TRIGGER warned AFTER INSERT ON entry DEFERRABLE INITIALLY DEFERRED"
                " FOR EACH ROW EXECUTE FUNCTION warn()"
            )
        with pytest.raises(LedgerError, match="cannot be read or written"):
            ask(ledger, "one")
        with pytest.raises(LedgerError, match="is no longer served"):
            ask(ledger, "two")


def test_a_server_that_does_not_sync_is_refused():
    with pgserver.cluster("-F") as made, pytest.raises(LedgerError, match="does not make commits durable") as refused:
        opened(made.address)
    assert "fsync is off" in refused.value.detail


def test_an_older_chain_on_the_same_server_is_refused(tmp_path):
    """A copy of its data directory is put back: nothing tells it from the newest but what was seen of the chain."""
    with pgserver.cluster() as made:
        place, last = pgserver.fresh(made.address), tmp_path / "head"
        ledger = opened(place, last_head=last, busy=1)
        ask(ledger, "one")
        made.stop()
        copy = made.home / "copy"
        shutil.copytree(made.data, copy)
        own(copy)
        made.start()
        ask(ledger, "two")
        made.stop()
        shutil.rmtree(made.data)
        copy.rename(made.data)
        made.start()
        with pytest.raises(LedgerError, match="the ledger is older than it was"):
            ask(ledger, "three")
        with pytest.raises(LedgerError, match="is no longer served"):
            ledger.budget()
        ledger.close()
        with pytest.raises(LedgerError, match="older than the one that was served last"):
            opened(place, last_head=last)


def own(directory):
    if os.geteuid() == 0:
        for file in (directory, *directory.rglob("*")):
            os.chown(file, pgserver.NOBODY, pgserver.NOBODY)


def test_a_promoted_standby_is_another_server(tmp_path):
    """Every gateway refuses it, also one that saw nothing of what it lacks; until the owner accepts it."""
    with pgserver.cluster("-c", "wal_level=replica") as made:
        place = pgserver.fresh(made.address)
        with opened(place) as ledger:
            ask(ledger, "one")
        standby = pgserver.Cluster(made.home, "standby")
        done = made.run(
            pgserver.program("pg_basebackup"),
            "-D",
            standby.data,
            "-h",
            "127.0.0.1",
            "-p",
            made.port,
            "-U",
            "me",
            "-R",
            "-c",
            "fast",
        )
        assert done.returncode == 0, done.stderr
        old = opened(place, busy=1)
        with Ledger.visit(place) as seen:
            before = list(seen.entries())
        try:
            standby.start()
            other = place.replace(str(made.port), str(standby.port))
            with pytest.raises(LedgerError):  # it only reads, and is not asked
                opened(other, busy=1)
            made.stop()
            with psycopg.connect(standby.address, autocommit=True) as link:
                link.execute("SELECT pg_promote()")
            old._store._address = other.partition("#")[0]  # as when a name leads to another host
            with told_to_the_owner() as told:
                with pytest.raises(LedgerError, match="on another server than before") as refused:
                    ask(old, "two")
                assert refused.value.sqlstate == "58030"
                with pytest.raises(LedgerError, match="is no longer served"):
                    old.mark()
            assert len(told) == 1
            old.close()
            with pytest.raises(LedgerError, match="on another server than before"):
                opened(other)
            with Ledger.visit(other) as ledger:  # to look at it is allowed, to write is not
                assert list(ledger.entries()) == before
                with pytest.raises(LedgerError, match="on another server than before"):
                    ledger.freeze("owner")
            assert accept_server(other, "owner")
            assert not accept_server(other, "owner")
            with opened(other) as ledger:
                ask(ledger, "two")
                *_, accepted, debit = ledger.entries()
                assert (accepted.kind, accepted.body["who"], debit.kind) == ("thawed", "owner", "debit")
                assert accepted.body["server"]["before"].endswith("/00000001")
                assert accepted.body["server"]["now"].endswith("/00000002")
                ledger.verify()
        finally:
            old.close()
            standby.stop()


def test_a_restored_dump_is_another_server(pg, place):
    if os.environ.get("SFUMATO_TEST_PG", "").count("@") > 1:
        pytest.skip("pg_dump is asked by address")
    schema = place.rpartition("#")[2]
    with opened(place) as ledger:
        ask(ledger, "one")
        head = ledger.verify().hash
    dump = subprocess.run(
        [pgserver.program("pg_dump"), "--schema", schema, "--no-owner", pg], capture_output=True, text=True, check=True
    ).stdout
    with pgserver.cluster() as made:
        subprocess.run([pgserver.program("psql"), "-qX", made.address], input=dump, text=True, check=True)
        with pytest.raises(LedgerError, match="on another server than before"):
            opened(f"{made.address}#{schema}")
        with Ledger.visit(f"{made.address}#{schema}") as ledger:
            assert ledger.verify().hash == head


# moving


def test_a_ledger_is_moved_with_its_chain(place, tmp_path):
    old = tmp_path / "clinic.ledger"
    with opened(old) as ledger:
        kept = ledger.store(ask(ledger, "kept"), b"42")
        open_one = ask(ledger, "open", cells=("north",))
        ledger.fail(ask(ledger, "failed"))
        before = list(ledger.entries())
        with Ledger.visit(old) as visitor:
            report = visitor.move(place, "owner")
        for call in (lambda: ask(ledger, "kept"), lambda: ledger.store(open_one, b"43"), lambda: ledger.thaw("owner")):
            with pytest.raises(LedgerError, match="the ledger was moved"):
                call()
        assert ledger.budget().spent.epsilon == Fraction(3, 10), "to look is allowed"
    with pytest.raises(LedgerError, match="the ledger was moved"):
        opened(old)
    with opened(place) as ledger:
        now = list(ledger.entries())
        assert now[: len(before)] == before
        assert [entry.kind for entry in now[len(before) :]] == ["frozen", "thawed"]
        assert (ledger.verify().hash, len(now)) == (report.hash, report.entries)
        assert ask(ledger, "kept") == kept
        assert ledger.store(open_one, b"43").answer == b"43"
        assert ledger.budget(cells=("north",), version="1").spent.epsilon == Fraction(3, 10)
    with Ledger.visit(place) as ledger:
        ledger.fork(tmp_path / "fork")
        with Ledger.visit(tmp_path / "fork") as copy:
            assert copy.verify() == ledger.verify()


def test_a_move_that_was_interrupted_goes_on(place, pg, tmp_path, monkeypatch):
    old = tmp_path / "clinic.ledger"
    with opened(old) as ledger:
        ask(ledger, "one")
        ledger.freeze("owner")
    monkeypatch.setattr("sfumato.ledger.moving.copy_rows", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with Ledger.visit(old) as ledger, suppress(KeyboardInterrupt):
        ledger.move(place, "owner")
    monkeypatch.undo()
    with pytest.raises(LedgerError, match="the ledger was moved"):
        opened(old)
    with Ledger.visit(old) as ledger, pytest.raises(Exception, match="already moved to another place"):
        ledger.move(pgserver.fresh(pg), "owner")
    for _ in range(2):  # the second time it has arrived
        with Ledger.visit(old) as ledger:
            report = ledger.move(place, "owner")
    assert report.entries == 5
    with opened(place) as ledger:
        with pytest.raises(Exception, match="is frozen"):
            ask(ledger, "two")
        ledger.thaw("owner")
        assert isinstance(ask(ledger, "two"), Receipt)


def test_what_was_moved_is_spent_at_one_place(place, pg, tmp_path):
    """Neither a copy of the old file nor another ledger stands in for it."""
    old, copy = tmp_path / "clinic.ledger", tmp_path / "copy"
    opened(old).close()
    with Ledger.visit(old) as ledger:
        ledger.move(place, "owner")
        ledger.backup(copy)
    with pytest.raises(LedgerError, match="the ledger was moved"):
        opened(copy)
    another = tmp_path / "another.ledger"
    opened(another).close()
    with Ledger.visit(another) as ledger, pytest.raises(Exception, match="there is a ledger at the new place already"):
        ledger.move(place, "owner")


def test_an_event_is_priced_exactly(place):
    """No number passes through a float or a type of the server that rounds."""
    third = Fraction(1, 3)
    with opened(place, 10**18, composition="pure") as ledger:
        for number in range(3):
            ledger.debit(
                "w0", Pure(third), question=f"q{number}", epsilon=third, version="1", text="", cells=("north",)
            )
        ledger.debit("w1", Pure(10**17), question="large", epsilon=10**17, version="1", text="")
        spent = ledger.budget().spent.epsilon
        assert spent == 10**17 + 3 * Fraction(333333333333334, 10**15)
        ledger.verify()


def _wait_for_a_standby(address, admin):
    """Name a standby that is not there, and wait until commits wait for it: processes hear of it one by one."""
    admin.execute("CREATE TABLE probe (i int)")
    admin.execute("ALTER SYSTEM SET synchronous_standby_names = 'ghost'")
    admin.execute("SELECT pg_reload_conf()")
    ended, last = 0, time.monotonic() + 60
    while not ended and time.monotonic() < last:
        with psycopg.connect(address) as client, suppress(psycopg.OperationalError):
            client.execute("INSERT INTO probe VALUES (1)")
            thread = threading.Thread(target=_commit, args=(client,))
            thread.start()
            while thread.is_alive() and not ended:
                ended = len(admin.execute(_END_WAITING).fetchall())
                time.sleep(0.05)
            thread.join(60)
    assert ended


def _commit(client):
    with suppress(psycopg.OperationalError):
        client.commit()


_END_WAITING = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


def test_a_commit_that_no_standby_has_is_not_believed_after_its_connection_was_ended():
    """Found on the server again, it may be lost with the server: the look for it waits for the standby, too."""
    with pgserver.cluster() as made, psycopg.connect(made.address, autocommit=True) as admin:
        ledger = Ledger.open(pgserver.fresh(made.address), data_id="d", composition="pure", epsilon=10, busy=0.5)
        charge = {"question": "q", "epsilon": 1, "version": "1", "text": "t"}
        _wait_for_a_standby(made.address, admin)
        told = []

        def debit():
            try:
                told.append(ledger.debit("ann", Pure(Fraction(1)), **charge))
            except LedgerError as error:
                told.append(error)

        thread = threading.Thread(target=debit)
        thread.start()
        ended, last = 0, time.monotonic() + 60
        while thread.is_alive() and time.monotonic() < last:
            ended += len(admin.execute(_END_WAITING).fetchall())
            time.sleep(0.1)
        admin.execute("ALTER SYSTEM RESET synchronous_standby_names")
        admin.execute("SELECT pg_reload_conf()")
        thread.join(60)
        assert ended > 1
        assert [type(one) for one in told] == [OutcomeUnknown]
        ledger.close()
