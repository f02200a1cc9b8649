"""A disk that fails at every single call, and power that goes at every moment: nothing is released that is not debited.

The ledger and the gateway run in children whose C library was told which call fails; see disk.py and disk_run.py.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from tests.end_to_end.disk import Disk, Fault, Run, build, fast_folder, lay_out, run_all
from tests.end_to_end.disk_run import QUESTIONS, TERMS, policy_of, question

from sfumato.accounting import Pure
from sfumato.errors import LedgerError
from sfumato.gateway import open_policy
from sfumato.ledger import Ledger, Stored

DEAD = "the ledger failed and is no longer served"
PLACES = {"ledger": "clinic.ledger", "anchor": Path("head") / "anchor"}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("disk"))


@pytest.fixture
def base():
    with fast_folder() as folder:
        yield Path(folder)


def check_ledger(folder: Path, told: list[list[object]]) -> None:
    """All that was told is in the ledger of this folder; what was answered is stored, and asking again is free."""
    paid = {words[2]: words[1] for words in told if words[0] == "debited"}
    answers = {words[1]: words[2:] for words in told if words[0] == "answered"}
    with Ledger.open(folder / PLACES["ledger"], anchor=folder / PLACES["anchor"], **TERMS) as ledger:
        ledger.verify()
        debits = {entry.body["receipt"]: entry.body["question"] for entry in ledger.entries() if entry.kind == "debit"}
        assert paid.items() <= debits.items(), "a receipt was given for what is not in the ledger"
        spent = ledger.budget().spent
        for question, (receipt, answer) in answers.items():
            again = ledger.debit("eve", Pure("0.1"), question=question, epsilon="0.1", version="1", text="")
            assert isinstance(again, Stored), "an answer was given that is not stored"
            assert (again.receipt.id, again.answer.hex()) == (receipt, answer)
        assert ledger.budget().spent == spent
        assert spent.epsilon == len(debits) * Fraction("0.1")


BEGUN = "created a new ledger: "
"""What the owner is told before anything fails."""


def check_dead(run: Run) -> None:
    """After the first failure nothing more is given, and whoever asks and the owner know why."""
    told = run.told()
    words = [line[0] for line in told]
    if "refused" not in words:
        return
    first = words.index("refused")
    assert not {"debited", "answered"} & set(words[first:]), "it went on after a failure"
    refusals = [line for line in told if line[0] == "refused"]
    assert all(line[1] == "58030" and line[3] and line[4] for line in refusals)
    assert all(line[2] == DEAD for line in refusals[1:])
    assert "disk" in refusals[0][3] or "file" in refusals[0][3], "what happened is not said in plain words"
    assert str(run.folder) not in str(refusals), "paths are the owner's"
    if len(told) > 1:  # it was open, so the owner may not be the one who asked
        (said,) = [line[1] for line in told if line[0] == "owner" and not line[1].startswith(BEGUN)]
        assert said.startswith(DEAD)
        assert refusals[0][3] in said


@pytest.mark.parametrize(
    ("kind", "how", "error"),
    [
        ("W", "once", "full"),
        ("W", "stays", "full"),
        ("W", "torn", "full"),
        ("W", "once", "broken"),
        ("S", "once", "broken"),
        ("S", "stays", "broken"),
    ],
)
def test_a_disk_that_fails_at_any_call(library, base, kind, how, error):
    runs = run_all(library, base, "ledger", Fault(kind, how, error))
    assert len(runs) > 30
    for run in runs:
        check_dead(run)
        check_ledger(run.folder, run.told())
    whole = runs[-1]
    assert not whole.fired
    assert [line[0] for line in whole.told()] == ["debited", "answered"] * QUESTIONS


def check_power(runs_of: list[Run], folder: Path, moments: str) -> int:
    """Cut the power at every moment of these kinds: what was told before is there, whatever else the disk kept."""
    tried = 0
    for run in runs_of:
        disk = Disk()
        for at, record in enumerate(run.records, 1):
            disk.follow(record)
            if record.kind not in moments and at != len(run.records):
                continue
            for what, state in disk.states(seed=at):
                lay_out(state, folder)
                try:
                    check_ledger(folder, run.told(at))
                except (AssertionError, LedgerError) as error:
                    raise AssertionError(f"run {run.number}, power gone after record {at}, kept: {what}") from error
                tried += 1
    return tried


def test_the_power_goes_at_any_moment(library, base):
    (run,) = run_all(library, base, "ledger", Fault("W", "once", "full"), first=10**6)
    assert not run.fired
    disk = Disk()
    for record in run.records:
        disk.follow(record)
    found = {str(path.relative_to(run.folder)): path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
    assert found == {name: bytes(file.seen) for name, file in disk.seen.items()}, "the trace misses a write"
    assert {record.kind for record in run.records} == set("CWXSRUT")
    assert check_power([run], base / "after", "CWXSRUT") > 500


def test_after_a_failed_sync_the_file_is_not_trusted(library, base):
    """What waited for a sync that failed is gone, though reading shows it: no later sync brings it back."""
    runs = run_all(library, base, "ledger", Fault("S", "once", "broken"))
    assert sum(record.kind == "F" for run in runs for record in run.records) == len(runs) - 1
    assert check_power(runs, base / "after", "T") > 100


def check_gateway(run: Run) -> None:
    """Every answer that left the gateway is debited and stored: asking again gives the very same, for nothing."""
    answers = [words[1:] for words in run.told() if words[0] == "answered"]
    with open_policy(policy_of(run.folder)) as gate:
        spent = gate.budget().spent
        for number, receipt, rows in answers:
            again = gate.sql(question(number))
            assert (again.receipt, json.loads(json.dumps(again.rows)), again.cost.epsilon) == (receipt, rows, 0)
        assert gate.budget().spent == spent
    with Ledger.visit(run.folder / PLACES["ledger"], anchor=run.folder / PLACES["anchor"]) as ledger:
        report = ledger.verify()
        assert report.answers >= len(answers)
        assert report.spent.epsilon == report.debits * Fraction("0.01")


@pytest.mark.parametrize(
    ("kind", "how", "error"),
    [
        ("S", "once", "broken"),
        pytest.param("W", "stays", "full", marks=pytest.mark.slow),
        pytest.param("W", "torn", "full", marks=pytest.mark.slow),
        pytest.param("W", "short", "full", marks=pytest.mark.slow),
    ],
)
def test_what_left_the_gateway_is_in_the_ledger(library, base, kind, how, error):
    runs = run_all(library, base, "gateway", Fault(kind, how, error))
    assert len(runs) > 30
    for run in runs:
        check_dead(run)
        check_gateway(run)
    kinds = {tuple(line[0] for line in run.told() if not str(line[1]).startswith(BEGUN)) for run in runs}
    assert ("answered",) * QUESTIONS in kinds
    if how == "short":  # a part was taken, and then the rest: nothing has failed
        assert len(kinds) == 1
    else:
        assert any("answered" in told and "refused" in told for told in kinds), "no fault came in between"


def test_a_backup_on_a_full_disk_leaves_the_old_one(library, base):
    runs = run_all(library, base, "backup", Fault("W", "stays", "full"))
    answers = []
    for run in runs:
        with Ledger.visit(run.folder / "copy") as copy:
            answers.append(copy.verify().answers)
        assert answers[-1] == 2 or run.told()[0][:2] == ["refused", "58030"]
    assert set(answers) == {1, 2}, "a copy is whole: the old one, or the new one"


def test_an_upgrade_on_a_failing_disk_loses_nothing(library, base):
    for fault in (Fault("W", "torn", "full"), Fault("S", "once", "broken")):
        runs = run_all(library, base / fault.kind / fault.how, "upgrade", fault)
        debits = runs[-1].told()[-1][1]
        for run in runs:
            assert run.told() == [["opened", debits]] or run.told()[0][:2] == ["refused", "58030"]
            with Ledger.open(run.folder / PLACES["ledger"], **TERMS) as ledger:
                assert ledger.verify().debits == debits > 0
