"""Logs on a disk that is full: no answer is lost by that, nobody is stopped, nothing leaks, and the operator knows."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import psycopg
import pytest
from tests.end_to_end.hosting import PASSWORD
from tests.end_to_end.pg import debits, make_clinic, serving
from tests.end_to_end.told import told_to_the_owner

from sfumato.engines.duckdb import DuckDB
from sfumato.errors import EngineError
from sfumato.gateway import open_policy
from sfumato.policy import load
from sfumato.server import append_only_file
from sfumato.server.audit_log import AuditLog
from sfumato.server.operator_log import keep_log

FULL = Path("/dev/full")
SECRET = "ssn 000-00-0042 is not a number"  # noqa: S105  what an engine might say of a row


@pytest.fixture
def clinic(tmp_path, written):
    """A clinic with an empty directory for its state."""
    policy = make_clinic(tmp_path / "clinic", written)
    Path(load(policy).data.state).mkdir(mode=0o700, exist_ok=True)
    return policy


def fill(policy, name):
    """This file of the state is on a disk that is full."""
    if not FULL.exists():
        pytest.fail("there is no /dev/full: these tests need Linux")
    (Path(load(policy).data.state) / name).symlink_to(FULL)


class Room:
    """A disk with room for so many bytes."""

    def __init__(self, monkeypatch, room):
        self.room, self.write = room, os.write
        monkeypatch.setattr(append_only_file.os, "write", self)

    def __call__(self, handle, data):
        if self.room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        part = data[: self.room]
        self.room -= len(part)
        return self.write(handle, part)


def read(path):
    """The lines of an audit log, and how many are no documents."""
    documents, broken = [], 0
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            documents.append(json.loads(line))
        except ValueError:
            broken += 1
    return documents, broken


@pytest.mark.parametrize("room", [0, 1, 100, 150])
def test_the_audit_log_says_what_it_lacks(tmp_path, monkeypatch, room):
    journal = AuditLog(tmp_path)
    with told_to_the_owner() as told:
        journal.write("question", user="before")
        disk = Room(monkeypatch, room)
        for number in range(5):
            journal.write("question", user=f"lost {number}")
        disk.room = 10**6
        journal.write("question", user="after")
        disk.room = 0
        journal.write("question", user="lost again")
    journal.close()
    assert len(told) == 2, "once for each time that the disk is full"
    assert all("the audit log cannot be written (No space left on device)" in line for line in told)
    found, broken = read(tmp_path / "audit.jsonl")
    assert broken == (room in (1, 100, 150))
    kept = [line["user"] for line in found if line["event"] == "question"]
    assert (kept[0], kept[-1]) == ("before", "after")
    (gap,) = [line for line in found if line["event"] == "lines lost"]
    assert gap["lines"] + len(kept) == 7


def test_an_audit_log_on_a_full_disk_costs_no_answer(clinic):
    fill(clinic, "audit.jsonl")
    with told_to_the_owner() as told, serving(clinic) as door:
        with psycopg.connect(door.dsn(), autocommit=True) as connection:
            first = connection.execute("SELECT COUNT(*) FROM patient").fetchone()
            spent = debits(door)
            assert spent > 0
            assert connection.execute("SELECT COUNT(*) FROM patient").fetchone() == first
            with pytest.raises(psycopg.Error, match="nothing"):
                connection.execute("SELECT nothing FROM patient")
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(door.dsn().replace(PASSWORD, "wrong"))
        assert debits(door) == spent
    assert len(told) == 1
    assert "what was spent is in the ledger" in told[0]


@pytest.mark.parametrize("how", ["full", "a directory stands there"])
def test_an_operators_log_that_cannot_be_written_neither_stops_nor_leaks(clinic, how, monkeypatch, capfd):
    if how == "full":
        fill(clinic, "operator.log")
    else:
        (Path(load(clinic).data.state) / "operator.log").mkdir()
    keep_log(load(clinic))
    monkeypatch.setattr(DuckDB, "run", broken)
    with open_policy(clinic) as gate:
        for number in range(2):
            with pytest.raises(EngineError, match="the engine could not run this query") as failed:
                gate.sql(f"SELECT COUNT(*) FROM patient WHERE age > {number}")
            assert SECRET not in repr(failed.value) + str(failed.value.__cause__)
        monkeypatch.undo()
        assert gate.sql("SELECT COUNT(*) FROM patient").cost.epsilon > 0
    out, err = capfd.readouterr()
    assert SECRET not in out + err
    assert err.count("the operator's log cannot be written") == 1


def broken(self, *_):
    raise RuntimeError(SECRET)
