"""Several processes over one ledger: they share the budget and nothing else; those that die are replaced."""

import contextlib
import os
import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import psycopg
import pytest
from tests.end_to_end.served import is_alive, running, write_small

from sfumato.gateway import open_policy
from sfumato.ledger import Ledger
from sfumato.server.process.supervisor import MOST_DEATHS

COUNT = "SELECT COUNT(*) FROM visit"
THREE = ("--workers", "3")


def worker_of(client):
    return client.info.backend_pid & 0xFF


def one_of_each(server, stack, count=3):
    """A session at every worker."""
    found = {}
    for _ in range(300):
        client = stack.enter_context(server.connect())
        found.setdefault(worker_of(client), client)
        if len(found) == count:
            return found
    raise AssertionError(f"some worker takes no connection: {sorted(found)}")


def until(holds, seconds=60.0):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Three workers, for tests that leave them as they were."""
    home = tmp_path_factory.mktemp("three")
    policy = write_small(home, changes=[("epsilon = 100", "epsilon = 100\nmin_epsilon = 1e-12")])
    with running(policy, *THREE) as server:
        yield server


def test_every_worker_answers_from_one_ledger(three):
    with contextlib.ExitStack() as stack:
        clients = one_of_each(three, stack)
        sql = "SELECT SUM(age) FROM visit"
        answers = {client.execute(sql).fetchone() for client in clients.values()}
        assert len(answers) == 1  # drawn once, stored, given to everybody


def test_no_two_workers_draw_the_same_noise(three):
    """Sixty counts with noise of scale 3e12: two that share a draw would agree; others do with probability 2e-10.

    A count is never shown below 0, which hides about half of the draws.
    """
    with contextlib.ExitStack() as stack:
        clients = one_of_each(three, stack)
        drawn = []
        for client in clients.values():
            client.execute("SET sfumato.epsilon = '1e-12'")
        for i in range(20):
            for number, client in clients.items():
                question = f"SELECT COUNT(*) FROM visit WHERE age <> {1000 + 100 * number + i}"
                drawn.append(client.execute(question).fetchone()[0])
        seen = [value for value in drawn if value]
        assert len(set(seen)) == len(seen) > 10
        assert max(seen) > 10**11


def test_a_cancel_request_reaches_the_worker_that_it_is_for(three):
    """The request is a connection of its own, which any worker may take.

    It may come before the question runs, so a second one is allowed. Were requests not handed on, each question would
    have 5 chances in 9 to meet its own worker: eight of them 1 in 110. What nobody cancels ends after 20 seconds, in
    other words.
    """
    long = f"SELECT COUNT(*) FROM {', '.join(f'pg_catalog.pg_proc {name}' for name in 'abcde')}"
    for _ in range(8):
        with three.connect() as client:
            before = worked(three)
            asking = Asking(client, long)
            until(lambda asking=asking, before=before: worked(three) > before + 10 or not asking.is_alive())
            for _ in range(2):
                if asking.is_alive():
                    client.cancel_safe(timeout=5)
                    asking.join(2)
            asking.join(60)
            assert isinstance(asking.error, psycopg.errors.QueryCanceled)
            assert "user request" in str(asking.error)


def worked(server):
    """What the workers have worked, in hundredths of a second: who works runs a question."""
    return sum(_worked(worker) for worker in server.workers())


def _worked(process):
    """Of one process, of those that it has started, and of those of them that have ended."""
    home = Path(f"/proc/{process}")
    try:
        own = (home / "stat").read_text(encoding="ascii").rpartition(")")[2].split()[11:15]
        children = (home / "task" / str(process) / "children").read_text(encoding="ascii").split()
        threads = [path for path in (home / "task").iterdir() if path.name != str(process)]
        children += [child for path in threads for child in (path / "children").read_text(encoding="ascii").split()]
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return 0
    return sum(map(int, own)) + sum(_worked(child) for child in children)


class Asking(threading.Thread):
    """A question in a thread."""

    def __init__(self, client, sql):
        super().__init__()
        self.client, self.sql, self.error = client, sql, None
        self.start()

    def run(self):
        try:
            self.client.execute(self.sql)
        except psycopg.Error as error:
            self.error = error


def test_freezing_and_reload_reach_every_worker(tmp_path, call):
    policy = write_small(tmp_path, people=50, changes=[("epsilon = 100", "epsilon = 100000")])
    with running(policy, *THREE) as server, contextlib.ExitStack() as stack:
        clients = one_of_each(server, stack)
        for client in clients.values():
            client.execute("SET sfumato.epsilon = 100")
            assert client.execute(COUNT).fetchone() == (50,)
        assert call("ledger", "freeze", "-p", policy).returncode == 0
        for client in clients.values():
            with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="frozen"):
                client.execute(COUNT)
        assert call("ledger", "thaw", "-p", policy).returncode == 0
        seen, failed, done = ask_in_loops(clients.values())
        changes = [("epsilon = 100", "epsilon = 200000"), ('version = "one"', 'version = "two"')]
        write_small(tmp_path, people=80, changes=changes)  # the budget changes, too: questions meet it halfway
        said = call("reload", "-p", policy)
        assert said.returncode == 0, said.stderr
        for _ in clients:
            with server.connect() as fresh:
                fresh.execute("SET sfumato.epsilon = 100")
                assert fresh.execute(COUNT).fetchone() == (80,)
        done()
        assert failed == []
        assert set(seen) <= {50, 80}
        assert [client.execute(COUNT).fetchone() for client in clients.values()] == [(80,)] * 3
        write_small(tmp_path, people=90, changes=[('files = { visit = "visit.csv" }', 'files = { visit = "no.csv" }')])
        said = call("reload", "-p", policy)
        assert said.returncode == 2
        assert [client.execute(COUNT).fetchone() for client in clients.values()] == [(80,)] * 3


def ask_in_loops(clients):
    seen, failed, done = [], [], threading.Event()

    def ask(client):
        while not done.wait(0.01):
            try:
                seen.append(client.execute(COUNT).fetchone()[0])
            except psycopg.Error as error:
                failed.append(error)

    threads = [threading.Thread(target=ask, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()

    def stop():
        done.set()
        for thread in threads:
            thread.join(60)

    return seen, failed, stop


def test_nothing_of_the_policy_is_on_a_command_line(three):
    """Everybody on a machine can read those, and a policy may hold the password of a database."""
    for worker in three.workers():
        with open(f"/proc/{worker}/cmdline", "rb") as file:  # noqa: PTH123 - a file of the kernel's
            words = file.read()
        assert b"sfumato.server.process.worker" in words
        assert not [line for line in three.policy.read_bytes().splitlines() if len(line) > 5 and line in words]


def test_a_worker_that_dies_is_replaced_under_the_policy_that_is_served(tmp_path):
    policy = write_small(tmp_path)
    with running(policy, "--workers", "2") as server:
        before = server.workers()
        policy.write_text("this is no policy any more", encoding="utf-8")  # edited, but not reloaded
        os.kill(before[0], signal.SIGKILL)
        until(lambda: any(line["message"] == "a worker was replaced" for line in server.log()))
        assert len(server.workers()) == 2
        assert before[0] not in server.workers()
        with contextlib.ExitStack() as stack:
            for client in one_of_each(server, stack, 2).values():
                client.execute(COUNT)
        assert server.stop()[0] == 0


def test_workers_that_die_again_and_again_end_the_whole(tmp_path):
    policy = write_small(tmp_path)
    with running(policy, "--workers", "2") as server:
        killed = set()
        end = time.monotonic() + 100
        while server.process.poll() is None and len(killed) <= MOST_DEATHS and time.monotonic() < end:
            with contextlib.suppress(FileNotFoundError):
                for worker in set(server.workers()) - killed:
                    os.kill(worker, signal.SIGKILL)
                    killed.add(worker)
            time.sleep(0.05)
        assert server.process.wait(60) == 5
        assert "workers died within a minute" in server.process.stderr.read()


def test_workers_end_when_their_crew_is_gone(tmp_path):
    policy = write_small(tmp_path)
    with running(policy, "--workers", "2") as server:
        workers = server.workers()
        assert len(workers) == 2
        server.process.kill()
        server.process.wait(60)
        until(lambda: not any(is_alive(worker) for worker in workers))


def test_a_thousand_questions_at_once_get_exactly_what_the_budget_allows(tmp_path):
    """Epsilon 1 each, 100 in all, pure: of 1,000 questions at three workers, by both doors, 100 are answered."""
    policy = write_small(tmp_path)
    with running(policy, *THREE) as server:
        outcomes = Counter()
        lock = threading.Lock()

        def note(outcome):
            with lock:
                outcomes[outcome] += 1

        def ask(first):
            with server.connect() as client:
                for i in range(first, first + 25):
                    try:
                        client.execute(f"SELECT COUNT(*) FROM visit WHERE age <> {1000 + i}")
                        note("answered")
                    except psycopg.errors.ConfigurationLimitExceeded:
                        note("refused")

        def ask_web(first):
            with server.client() as client:
                for i in range(first, first + 25):
                    sql = f"SELECT COUNT(*) FROM visit WHERE age <> {1000 + i}"
                    status = client.post("/api/query", json={"sql": sql}).status_code
                    note({200: "answered", 402: "refused"}.get(status, status))

        threads = [threading.Thread(target=(ask, ask_web)[k % 2], args=(25 * k,)) for k in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert outcomes == {"answered": 100, "refused": 900}
        assert server.stop()[0] == 0
    with Ledger.visit(tmp_path / "clinic.ledger") as ledger:
        report = ledger.verify()
        assert (report.debits, report.answers, report.spent.epsilon) == (100, 100, 100)


def storm(home, seconds, seed):
    """Kill workers at random while clients ask; then hold what clients saw against the ledger."""
    policy = write_small(home, changes=[("epsilon = 100", "epsilon = 1000000")])
    chance, seen, over = random.Random(seed), [], threading.Event()
    with running(policy, *THREE) as server:

        def ask(first):
            i = first
            while not over.is_set():
                with contextlib.suppress(psycopg.Error), server.connect() as client:
                    while not over.wait(0.005):
                        i += 1
                        sql = f"SELECT COUNT(*) FROM visit WHERE age <> {1000 + i}"
                        seen.append((sql, client.execute(sql).fetchone()))

        threads = [threading.Thread(target=ask, args=(1_000_000 * k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        end, kills = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            time.sleep(chance.uniform(0.5, 2) * max(1, seconds / 12) if kills else 0.5)
            replaced = sum(line["message"] == "a worker was replaced" for line in server.log())
            if kills - replaced < 2 and kills < MOST_DEATHS - 1:
                os.kill(chance.choice(server.workers()), signal.SIGKILL)
                kills += 1
        over.set()
        for thread in threads:
            thread.join(60)
        assert server.stop()[0] == 0
    assert kills > 1
    assert len(seen) > 10
    with Ledger.visit(home / "clinic.ledger") as ledger:
        report = ledger.verify()
    assert len(seen) <= report.answers <= report.debits
    with open_policy(policy) as gate:
        spent = gate.budget().spent
        for sql, row in seen:
            again = gate.sql(sql)
            assert again.rows == [row]
            assert again.cost.epsilon == 0
        assert gate.budget().spent == spent


def test_what_was_answered_was_paid_for_however_workers_die(tmp_path):
    storm(tmp_path, seconds=5, seed=5)


@pytest.mark.slow
def test_a_minute_of_killing(tmp_path):
    storm(tmp_path, seconds=60, seed=6)
