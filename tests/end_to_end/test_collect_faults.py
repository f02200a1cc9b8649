"""A collector whose disk fails at every single call, and power that goes at every moment: no acknowledged report is
lost, and none is counted twice.

The collector runs in children whose C library was told which call fails; see disk.py and disk_run.py.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from tests.end_to_end.disk import Disk, Fault, Run, build, fast_folder, lay_out, run_all
from tests.end_to_end.disk_run import SENT, make_collector, record

from sfumato.local.collecting import Collection

PLACE = Path("collect") / "numbers"
EVERYTHING = [number for numbers in SENT for number in numbers]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("disk"))


@pytest.fixture
def base():
    with fast_folder() as folder:
        yield Path(folder)


def check_reports(folder: Path, told: list[list[object]]) -> None:
    """What was acknowledged is there, and after everybody has sent everything again each report is there once."""
    acknowledged = [number for words in told if words[0] == "acknowledged" for number in words[1:]]
    held = Collection(folder / PLACE)
    assert not any(held.commit([record(number) for number in acknowledged])), "an acknowledged report is gone"
    held.commit([record(number) for number in EVERYTHING])
    held.commit([record(number) for number in range(900, 907)])  # whatever waits is in a batch now
    counts = Counter(int.from_bytes(row, "little") for batch in held.batches(2) for row in batch)
    assert counts == Counter([*EVERYTHING, *range(900, 907)])


def check_power(runs: list[Run], folder: Path, moments: str) -> int:
    """Cut the power at every moment of these kinds, whatever else the disk kept."""
    tried = 0
    for run in runs:
        disk = Disk()
        for at, change in enumerate(run.records, 1):
            disk.follow(change)
            if change.kind not in moments and at != len(run.records):
                continue
            for what, state in disk.states(seed=at):
                lay_out(state, folder)
                make_collector(folder)
                try:
                    check_reports(folder, run.told(at))
                except (AssertionError, OSError) as error:
                    raise AssertionError(f"run {run.number}, power gone after record {at}, kept: {what}") from error
                tried += 1
    return tried


@pytest.fixture
def quick(monkeypatch):
    """What is checked afterwards is on a disk that keeps everything."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(os, "fdatasync", lambda _: None)


@pytest.mark.parametrize(
    ("kind", "how", "error"),
    [("W", "once", "full"), ("W", "torn", "full"), ("S", "once", "broken"), ("S", "stays", "broken")],
)
@pytest.mark.usefixtures("quick")
def test_a_disk_that_fails_at_any_call_loses_no_report(library, base, kind, how, error):
    runs = run_all(library, base, "collector", Fault(kind, how, error))
    assert len(runs) > 20
    for run in runs:
        check_reports(run.folder, run.told())
    assert [words[1:] for words in runs[-1].told()] == SENT


@pytest.mark.usefixtures("quick")
def test_power_that_goes_at_any_moment_loses_no_report(library, base):
    (run,) = run_all(library, base, "collector", Fault("W", "once", "full"), first=10**6)
    assert not run.fired
    assert check_power([run], base / "after", "CWXSRUT") > 300


@pytest.mark.parametrize("scenario", ["collector", "killed collector"])
@pytest.mark.usefixtures("quick")
def test_a_repeated_report_is_on_the_disk_before_it_is_acknowledged(library, base, scenario):
    """A sync failed: reading shows reports that the disk does not have, also those that a killed process has left."""
    runs = run_all(library, base, scenario, Fault("S", "once", "broken"))
    assert check_power(runs, base / "after", "T") > 400
