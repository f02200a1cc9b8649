"""A device in Python keeps the promise of the browser's: what it spends, and by what it tells later texts."""

import os
import stat
from fractions import Fraction

import numpy as np
import pytest

from sfumato.errors import BudgetError, InputError
from sfumato.local.decoding import ReportTally
from sfumato.local.device import BUDGET, Device
from sfumato.local.kary import KAryResponse
from sfumato.local.rappor import Rappor
from sfumato.local.task import planned_task


def test_a_device_spends_its_budget_and_no_more(tmp_path):
    twice = planned_task("twice", KAryResponse.planned(3, 1), lifetime="2")
    for value in ("0", "1"):
        Device(tmp_path / "device.json").report(twice, value)
    with pytest.raises(BudgetError, match="for this task"):
        Device(tmp_path / "device.json").report(twice, "2")
    with pytest.raises(InputError, match="not one of"):
        Device(tmp_path / "device.json").report(twice, "9")
    assert Device(tmp_path / "device.json").spent == 2 * twice.epsilon
    sent = 2
    for number in range(50):
        task = planned_task(f"t{number}", KAryResponse.planned(3, 1))
        if sent < BUDGET:
            Device(tmp_path / "device.json").report(task, "0")
            sent += 1
            continue
        with pytest.raises(BudgetError, match="for all tasks"):
            Device(tmp_path / "device.json").report(task, "0")
    assert Device(tmp_path / "device.json").spent <= BUDGET


def test_a_device_reports_all_texts_by_one_copy(tmp_path):
    """The permanent copy itself is reported; other parameters under the same name cost again."""
    device = Device(tmp_path / "device.json", budget=20)
    first, other = (planned_task("texts", Rappor.planned(e), lifetime="5.5") for e in (4, 3))
    reports = {device.report(first, text)[1] for text in ("a", "a", "b", "")}
    assert len(reports) == 1
    assert device.spent == first.unit_cost
    with pytest.raises(BudgetError, match="for this task"):
        device.report(other, "a")
    assert {device.report(first, "c")[1]} == reports
    assert device.spent == first.unit_cost


@pytest.mark.parametrize("link", [os.link, os.symlink])
@pytest.mark.parametrize("before", [0, 3])
def test_a_file_with_several_names_is_one_budget(tmp_path, link, before):
    """By whichever name it is asked, in any order: a name for the same file is refused or spends from it."""
    task, first, second = planned_task("t", KAryResponse.planned(3, 1), lifetime="100"), tmp_path / "a", tmp_path / "b"
    sent = 0

    def ask(path):
        try:
            Device(path).report(task, "0")
        except (BudgetError, InputError):
            return 0
        return 1

    sent += sum(ask(first) for _ in range(1 + before))
    link(first, second)
    for _ in range(BUDGET):
        sent += ask(second) + ask(first)
    assert sent <= BUDGET
    if link is os.symlink:
        assert sent == BUDGET
        return
    for path in (first, second):
        with pytest.raises(InputError, match="hard link"):
            Device(path).report(task, "0")
        with pytest.raises(InputError, match="hard link"):
            Device(path).spent  # noqa: B018  it is computed
    second.unlink()
    assert ask(first) == 1


@pytest.mark.parametrize(
    "damage",
    [
        b"", b"{", b"[]", b"null", b"{}", b'{"spent": "x", "tasks": {}}', b'{"spent": "1", "tasks": []}', b"\xff",
        b'{"spent": "-1", "tasks": {}}', b'{"spent": "1/0", "tasks": {}}', b'{"spent": null, "tasks": {}}',
        b"[" * 100_000,
        b'{"spent": "0", "tasks": {"t": {"spent": "0"}}}', b'{"spent": NaN, "tasks": {}}',
        b'{"spent": "0", "tasks": {"t": {"spent": "0", "paid": {"a": -1}, "kept": {}}}}',
        b'{"spent": "0", "tasks": {"t": {"spent": "0", "paid": {}, "kept": {"a": {"cohort": "x", "copy": "00"}}}}}',
        b'{"spent": "0", "tasks": {"t": {"spent": "0", "paid": {}, "kept": {"a": {"cohort": 1, "copy": "zz"}}}}}',
    ],
)  # fmt: skip
def test_a_damaged_file_is_one_error_and_no_report(damage, tmp_path):
    file = tmp_path / "device.json"
    file.write_bytes(damage)
    for act in (
        lambda: Device(file).report(planned_task("t", KAryResponse.planned(3, 1)), "0"),
        lambda: Device(file).spent,
    ):
        with pytest.raises(InputError, match="is damaged"):
            act()
    assert file.read_bytes() == damage


def test_reports_of_devices_are_decoded(tmp_path):
    task = planned_task("colours", KAryResponse.planned(2, 4))
    tally = ReportTally(task)
    ids = set()
    for person in range(300):
        number, report = Device(tmp_path / f"{person}.json").report(task, "1" if person % 3 else "0")
        ids.add(number)
        tally.add(np.frombuffer(report, np.uint8)[None, :])
    assert len(ids) == 300
    row = tally.estimates()[1]
    assert row.low - 0.1 < Fraction(2, 3) < row.high + 0.1


def test_what_a_device_keeps_is_its_owners_alone(tmp_path):
    """The permanent copy tells more than any report that is made from it: nobody else on the machine may read it."""
    path = tmp_path / "device.json"
    path.write_text('{"spent": "0", "tasks": {}}', encoding="utf-8")
    path.chmod(0o644)
    Device(path).report(planned_task("texts", Rappor.planned(1, 2)), "a")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_cost_is_on_the_disk_before_its_report_is_drawn(tmp_path, monkeypatch):
    """Its bytes and its name: where the power goes after a report, the state before it must not come back."""
    path, sync, synced = tmp_path / "device.json", os.fsync, []

    def noted(file):
        sync(file)
        synced.append(stat.S_ISDIR(os.fstat(file).st_mode))

    monkeypatch.setattr(os, "fsync", noted)

    class Drawn:
        def take(self, count):
            assert synced == [False, True]
            assert Device(path).spent == task.epsilon
            return np.zeros(count, np.uint8)

    task = planned_task("colours", KAryResponse.planned(3, 1))
    Device(path).report(task, "1", Drawn())


def test_devices_behind_a_link_share_one_budget(tmp_path):
    (tmp_path / "link.json").symlink_to("device.json")
    task = planned_task("colours", KAryResponse.planned(3, 1))
    Device(tmp_path / "link.json").report(task, "1")
    with pytest.raises(BudgetError, match="for this task"):
        Device(tmp_path / "device.json").report(task, "1")
