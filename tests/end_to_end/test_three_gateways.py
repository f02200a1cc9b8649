"""Three gateways in three processes, one ledger in PostgreSQL: one budget, one answer to a question, one payer."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from tests import pgserver
from tests.end_to_end.disk import PATHS
from tests.end_to_end.test_gateway_faults import POLICY

from sfumato.errors import LedgerError
from sfumato.gateway import Query, open_policy
from sfumato.ledger import Ledger

CHILD = """
import json, os, sys
from concurrent.futures import ThreadPoolExecutor
from sfumato.errors import SfumatoError
from sfumato.gateway import open_policy
policy, first, last, threads = sys.argv[1], *map(int, sys.argv[2:5])
gate = open_policy(policy)
def ask(number):
    try:
        answer = gate.sql(f"SELECT city, COUNT(*) FROM visit WHERE age < 20 AND age <> {100 + number} GROUP BY city")
        say("answer", number, answer.receipt, answer.rows, float(answer.cost.epsilon))
    except SfumatoError as error:
        say("refused", number, error.sqlstate, error.message)
def say(*words):
    os.write(1, (json.dumps(words) + "\\n").encode())  # a line at once, whichever thread says it
say("ready")
sys.stdin.readline()
with ThreadPoolExecutor(threads) as pool:
    list(pool.map(ask, range(first, last)))
gate.close()
"""


@pytest.fixture
def place(pg):
    made = pgserver.fresh(pg)
    yield made
    pgserver.drop(made)


def policies(tmp_path, place, budget):
    """The same policy on three hosts: each has a state directory of its own."""
    made = []
    for host in "abc":
        home = tmp_path / host
        home.mkdir()
        rows = "\n".join(f"p{i % 50},{i % 90},{'Paris' if i % 3 else 'Lyon'}" for i in range(200))
        (home / "visit.csv").write_text(f"person,age,city\n{rows}\n", encoding="utf-8")
        text = POLICY.replace('id = "clinic"', f'id = "clinic"\nledger = "{place}"')
        (home / "sfumato.toml").write_text(text.replace("epsilon = 100", f"epsilon = {budget}"), encoding="utf-8")
        made.append(home / "sfumato.toml")
    return made


def start(policy, first, last, threads=8):
    """A gateway that waits for a line, and then asks."""
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(policy), str(first), str(last), str(threads)],
        env=os.environ | {"PYTHONPATH": PATHS},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert json.loads(process.stdout.readline()) == ["ready"]
    return process


def ask_all(processes):
    """All at once; what each of them says."""
    with ThreadPoolExecutor(len(processes)) as pool:
        texts = list(pool.map(lambda process: process.communicate("go\n")[0], processes))
    assert [process.returncode for process in processes] == [0] * len(processes)
    return [json.loads(line) for text in texts for line in text.splitlines()]


def check_answers(place, said):
    """Every answer that left is the one that is stored, charged once; and no question has two."""
    rows = defaultdict(set)
    with Ledger.visit(place) as ledger:
        report = ledger.verify()
        debits = {entry.body["receipt"] for entry in ledger.entries() if entry.kind == "debit"}
        stored = {entry.body["receipt"] for entry in ledger.entries() if entry.kind == "answer"}
    for word, number, receipt, *more in said:
        if word == "answer":
            assert receipt in stored <= debits
            rows[number].add((receipt, json.dumps(more[0])))
    assert all(len(answers) == 1 for answers in rows.values()), "a question has two answers"
    return report, rows


def spend(tmp_path, place, queries, budget):
    """Each gateway asks a third of the queries, then all ask the same ones."""
    each = queries // 3
    hosts = policies(tmp_path, place, Fraction(budget, 100).__float__())
    said = ask_all([start(host, i * each, (i + 1) * each) for i, host in enumerate(hosts)])
    assert len(said) == queries
    report, rows = check_answers(place, said)
    assert len(rows) == budget
    assert (report.debits, report.answers, report.failures) == (budget, budget, 0)
    assert report.spent.epsilon == Fraction(budget, 100)
    refused = Counter(tuple(line[2:]) for line in said if line[0] == "refused")
    assert refused == {("53400", 'budget of "clinic" is spent'): queries - budget}


def test_three_gateways_spend_one_budget(tmp_path, place):
    spend(tmp_path, place, queries=90, budget=15)


@pytest.mark.slow
def test_three_gateways_and_three_thousand_queries_against_a_budget_for_five_hundred(tmp_path, place):
    spend(tmp_path, place, queries=3000, budget=500)


def test_three_gateways_that_ask_the_same_pay_once(tmp_path, place):
    hosts = policies(tmp_path, place, 1)
    said = ask_all([start(host, 0, 8) for host in hosts])
    report, rows = check_answers(place, said)
    assert len(rows) == report.debits == report.answers == 8
    paid = Counter(line[1] for line in said if line[4] > 0)
    assert paid == dict.fromkeys(range(8), 1), "one payer each"


def kill_some(tmp_path, made, rounds, server):
    """kill -9 of a gateway, or of the server, at a random moment of a round."""
    place = pgserver.fresh(made.address)
    hosts = policies(tmp_path, place, 100)
    seed = random.SystemRandom().randrange(2**32)
    chance, said = random.Random(seed), []
    print(f"seed {seed}")  # noqa: T201 - pytest shows it when the test fails
    for number in range(rounds):
        processes = [start(host, number * 5, number * 5 + 10, threads=4) for host in hosts]
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        said.append(json.loads(chance.choice(processes).stdout.readline()))  # not before anything was answered
        time.sleep(chance.random() / 3)
        if server:
            made.kill()
            (made.data / "postmaster.pid").unlink(missing_ok=True)
            made.start()
        else:
            chance.choice(processes).send_signal(signal.SIGKILL)
        for process in processes:
            text, _ = process.communicate()
            said += [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    report, rows = check_answers(place, said)
    assert len(rows) <= report.answers <= report.debits
    assert rows
    assert {line[2] for line in said if line[0] == "refused"} <= {"58030"}


def test_gateways_are_killed(tmp_path):
    with pgserver.cluster() as made:
        kill_some(tmp_path, made, rounds=1, server=False)


@pytest.mark.slow
@pytest.mark.parametrize("server", [False, True])
def test_gateways_and_the_server_are_killed(tmp_path, server):
    with pgserver.cluster() as made:
        kill_some(tmp_path, made, rounds=12, server=server)


def test_a_gateway_that_loses_its_ledger_answers_nothing(tmp_path):
    """Not even what it has in memory; and it goes on when the ledger is back."""
    with pgserver.cluster() as made:
        place = pgserver.fresh(made.address)
        query = "SELECT COUNT(*) FROM visit"
        with open_policy(policies(tmp_path, place, 1)[0]) as gate:
            first = gate.sql(query)
            assert gate.recall(Query(query)) is not None or gate.sql(query).cost.epsilon == 0
            made.stop()
            for call in (
                lambda: gate.sql(query),
                lambda: gate.sql(query + " WHERE age < 9"),
                lambda: gate.recall(Query(query)),
            ):
                with pytest.raises(LedgerError, match="cannot be reached") as refused:
                    call()
                assert refused.value.sqlstate == "58030"
            made.start()
            again = gate.sql(query)
            assert (again.receipt, again.rows, again.cost.epsilon) == (first.receipt, first.rows, 0)
