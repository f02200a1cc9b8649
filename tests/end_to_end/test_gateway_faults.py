"""Kill the gateway between any two steps: what was answered was paid for and is stored; nothing is drawn twice."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sfumato.gateway import open_policy
from sfumato.ledger import Ledger

POLICY = """
[source]
engine = "duckdb"
files = { visit = "visit.csv" }
[data]
id = "clinic"
[privacy]
epsilon = 100
query_epsilon = 0.01
[tables.visit]
unit = "person"
rows_per_unit = 3
[tables.visit.columns]
person = { type = "text", max_length = 9 }
age = { type = "integer", min = 0, max = 100 }
city = { values = ["Paris", "Lyon"] }
"""

CHILD = """
import json, sys
from sfumato.gateway import open_policy
gate = open_policy(sys.argv[1])
start = int(sys.argv[2])
print("ready", flush=True)
for i in range(start, start + 1000):
    answer = gate.sql(f"SELECT city, COUNT(*) FROM visit WHERE age < 20 AND age <> {100 + i} GROUP BY city")
    print(json.dumps([i, answer.receipt, answer.rows]), flush=True)
"""


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    rows = "\n".join(f"p{i % 50},{i % 90},{'Paris' if i % 3 else 'Lyon'}" for i in range(200))
    (tmp_path / "visit.csv").write_text(f"person,age,city\n{rows}\n", encoding="utf-8")
    (tmp_path / "sfumato.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path / "sfumato.toml"


def start(policy: Path, first: int) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", CHILD, str(policy), str(first)], stdout=subprocess.PIPE, text=True)


def kill_and_collect(children: list[subprocess.Popen[str]], seconds: float) -> list[list[object]]:
    """Let them run for a moment after they are ready, kill them, and read what they had printed in full."""
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    time.sleep(seconds)
    printed: list[list[object]] = []
    for child in children:
        child.send_signal(signal.SIGKILL)
        text = child.communicate()[0]
        printed += [json.loads(line) for line in text.split("\n")[:-1] if line]
    return printed


def check(policy: Path, printed: list[list[object]]) -> None:
    """Every answer that was seen is debited and stored, the chain is whole, asking again gives the same rows, free."""
    with Ledger.visit(policy.with_name("clinic.ledger")) as ledger:
        report = ledger.verify()
        debits = {entry.body["receipt"] for entry in ledger.entries() if entry.kind == "debit"}
    assert len(debits) == report.debits >= report.answers >= len({row[1] for row in printed})
    assert {row[1] for row in printed} <= debits
    with open_policy(policy) as gate:
        spent = gate.budget().spent.epsilon
        for i, receipt, rows in printed:
            sql = f"SELECT city, COUNT(*) FROM visit WHERE age < 20 AND age <> {100 + i} GROUP BY city"
            again = gate.sql(sql)
            assert again.receipt == receipt
            assert json.loads(json.dumps(again.rows)) == rows
            assert again.cost.epsilon == 0
        assert gate.budget().spent.epsilon == spent


def storm(policy: Path, kills: int, processes: int, seed: int) -> None:
    chance = random.Random(seed)
    printed: list[list[object]] = []
    for kill in range(kills):
        children = [start(policy, 10_000 * kill + 1000 * k) for k in range(processes)]
        printed += kill_and_collect(children, chance.uniform(0, 0.4))
    assert printed
    check(policy, printed)


def test_an_answer_that_was_seen_is_paid_for_and_stored(clinic: Path) -> None:
    storm(clinic, kills=4, processes=1, seed=1)


def test_two_gateways_on_one_ledger_are_killed(clinic: Path) -> None:
    storm(clinic, kills=2, processes=2, seed=2)


@pytest.mark.slow
def test_a_hundred_kills(clinic: Path) -> None:
    storm(clinic, kills=50, processes=2, seed=3)
