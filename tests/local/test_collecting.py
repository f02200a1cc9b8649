"""The collector's files: counted once, whatever crashes, and in no order that tells who came first."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import sfumato.local.slots
from sfumato.errors import CollectionFull, InputError
from sfumato.local import collecting
from sfumato.local.collecting import ID, Collection, collections, install, shuffle
from sfumato.local.kary import KAryResponse
from sfumato.local.numbers import DuchiBit
from sfumato.local.slots import SlotFile
from sfumato.local.tape import SystemTape
from sfumato.local.task import planned_task


def task_text(size=1000, batch=10, name="colours"):
    return planned_task(name, KAryResponse.planned(size, 3), minimum_batch=batch).to_toml()


@pytest.fixture
def place(tmp_path):
    install(tmp_path, task_text())
    return tmp_path / "collect" / "colours"


def record(number):
    """The report says its own number, so that each can be found again."""
    return number.to_bytes(ID, "big"), (number % 1000).to_bytes(2, "little")


def stored(place):
    return sorted(int.from_bytes(row, "little") for batch in Collection(place).batches(2) for row in batch)


def test_a_repeated_report_is_counted_once(place):
    held = Collection(place)
    assert held.commit([record(1), record(2), record(1)]) == [True, True, False]
    assert held.commit([record(2), record(3)]) == [False, True]
    assert (held.stored, held.waiting) == (0, 3)
    assert Collection(place).commit([record(i) for i in range(20)]).count(True) == 17
    assert held.commit([record(i) for i in range(25)]).count(True) == 5
    assert (held.stored, held.waiting) == (20, 5)
    assert stored(place) == list(range(20))


@pytest.mark.parametrize("what", ["reports", "disk"])
def test_a_stranger_cannot_fill_the_disk(place, monkeypatch, what):
    """What is new is refused and not written, what is repeated is acknowledged; it goes on once there is room."""
    held = Collection(place)
    assert held.commit([record(i) for i in range(15)]).count(True) == 15
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    usage = shutil.disk_usage(place)
    with monkeypatch.context() as patched:
        if what == "reports":
            patched.setattr(collecting, "MOST", 20)
        else:
            patched.setattr(collecting.shutil, "disk_usage", lambda _: usage._replace(free=collecting.SPARE - 1))
        for _ in range(3):
            for other in (held, Collection(place)):
                with pytest.raises(CollectionFull):
                    other.commit([record(i) for i in range(10, 22)])
        assert held.commit([record(i) for i in range(15)]) == [False] * 15
        if what == "reports":
            assert held.commit([record(i) for i in range(10, 20)]).count(True) == 5
    if what == "disk":
        assert {path.name: path.read_bytes() for path in place.iterdir()} == before
        assert held.commit([record(i) for i in range(10, 22)]).count(True) == 7
    assert (held.stored + held.waiting) == (20 if what == "reports" else 22)


def test_nothing_can_be_read_before_a_batch_is_full(place):
    held = Collection(place)
    for i in range(9):
        held.commit([record(i)])
    assert stored(place) == []
    held.commit([record(9)])
    assert stored(place) == list(range(10))


def test_a_batch_is_in_random_order_and_its_ids_are_sorted(tmp_path):
    install(tmp_path, task_text(batch=200))
    place = tmp_path / "collect" / "colours"
    held = Collection(place)
    for i in range(200):
        held.commit([record(200 - i)])
    order = [int.from_bytes(row, "little") for batch in held.batches(2) for row in batch]
    assert sorted(order) == list(range(1, 201))
    assert order not in (sorted(order), sorted(order, reverse=True))
    ids = (place / "ids-00000000").read_bytes()
    rows = [ids[i : i + ID] for i in range(0, len(ids), ID)]
    assert rows == sorted(rows)
    assert not list(place.glob("waiting-*"))


def test_every_order_is_equally_likely():
    counts = Counter()
    for _ in range(6000):
        rows = [b"a", b"b", b"c"]
        shuffle(rows)
        counts[b"".join(rows)] += 1
    assert len(counts) == 6
    assert max(abs(count - 1000) for count in counts.values()) < 5 * 1000**0.5


class Crashed(Exception):
    pass


STEPS = 170
"""More than the calls that 35 reports need."""


@pytest.mark.parametrize("step", range(STEPS))
def test_a_crash_at_any_step_loses_and_repeats_nothing(place, monkeypatch, step):
    """The disk stops at the n-th write, wait, rename or removal; afterwards the sender repeats what was not said."""
    held, left = Collection(place), [step]

    def failing(real):
        def call(*arguments, **words):
            if left[0] == 0:
                raise Crashed
            left[0] -= 1
            return real(*arguments, **words)

        return call

    acknowledged = []
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", failing(os.pwrite))
        for name in ("fsync", "fdatasync"):
            patch.setattr(os, name, failing(lambda _: None))  # a process is killed: what it wrote is there
        for name in ("replace", "unlink"):
            patch.setattr(Path, name, failing(getattr(Path, name)))
        try:
            for i in range(35):
                held.commit([record(i)])
                acknowledged.append(i)
        except Crashed:
            pass
    for file in place.glob("waiting-????????"):
        raw = bytearray(file.read_bytes())
        raw[raw.index(bytes(26)) + 20] = 7  # half of a record that nobody was told about
        file.write_bytes(raw)
    again = Collection(place)
    again.commit([record(i) for i in range(acknowledged[-1] + 1 if acknowledged else 0, 35)])
    again.commit([record(i) for i in range(35, 40)])
    again.commit([record(i) for i in range(40)])
    assert stored(place) == list(range(again.stored))
    assert again.stored + again.waiting == 40
    assert len(acknowledged) == 35 or left[0] == 0
    if step == STEPS - 1:
        assert left[0] > 0  # every step before was tried


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), Crashed()])
def test_what_the_disk_may_not_have_is_written_anew(place, monkeypatch, error):
    """A wait failed, or whoever had to wait was killed: reading shows the report, a second wait says nothing."""
    held, synced = Collection(place), []
    held.commit([record(0)])

    def failing(_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", failing)
        with pytest.raises(type(error)):
            held.commit([record(1)])
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(Path(f"/proc/self/fd/{file}").resolve().name))
    for again in (held, Collection(place)):
        assert again.commit([record(1), record(0)]) == [False, False]
        assert again.waiting == 2
    assert synced == [place.name, "waiting-00000000.part", place.name]  # once: then the disk has it


@pytest.fixture
def quick(monkeypatch):
    """Where thousands of reports are stored for their order alone."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(os, "fdatasync", lambda _: None)


def arrangement(path, width, known):
    """In which slot each of these records lies."""
    raw = path.read_bytes()
    return [(raw.index(one) - 8) // (8 + width) for one in known]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 1), (1, 2)])
def test_slots_tell_no_order(tmp_path, sizes):
    """Three records in four slots, however they came: all 24 ways to place them are equally likely."""
    known, counts = [b"aaaa", b"bbbb", b"cccc"], Counter()
    for _ in range(1200):
        path, at = tmp_path / "slots", 0
        for size in sizes:
            slots = SlotFile(path, 4)
            slots.read()
            slots.add(known[at : at + size], 4)
            at += size
        assert len(path.read_bytes()) == 4 * 12
        counts[tuple(arrangement(path, 4, known))] += 1
        path.unlink()
    assert len(counts) == 24
    assert sum((count - 50) ** 2 / 50 for count in counts.values()) < 60  # 23 degrees of freedom


@pytest.mark.usefixtures("quick")
def test_a_file_that_grows_tells_no_order(tmp_path, monkeypatch):
    """The first of many is anywhere in the file after each step, also when slots have run out several times."""
    monkeypatch.setattr(sfumato.local.slots, "_LEAST", 0)
    places = []
    for _ in range(120):
        slots, path = SlotFile(tmp_path / "slots", 2), tmp_path / "slots"
        for number in range(50):
            slots.add([number.to_bytes(2, "big")], 1000)
        raw = path.read_bytes()
        rows = [raw[at + 8 : at + 10] for at in range(0, len(raw), 10) if raw[at : at + 8] != bytes(8)]
        assert sorted(rows) == [number.to_bytes(2, "big") for number in range(50)]
        order = [int.from_bytes(row, "big") for row in rows]
        places.append(np.corrcoef(order, range(50))[0, 1])
        path.unlink()
    assert abs(np.mean(places)) < 4.5 / 49**0.5 / 120**0.5
    assert 0.6 < np.var(places) * 49 < 1.6


def test_waiting_reports_are_stored_with_their_ids_and_nothing_else(tmp_path):
    install(tmp_path, task_text(batch=200))
    place = tmp_path / "collect" / "colours"
    held = Collection(place)
    for i in range(100):
        held.commit([record(i)])
    raw = (place / "waiting-00000000").read_bytes()
    slots = [raw[at : at + 26] for at in range(0, len(raw), 26)]
    assert len(slots) == 200
    assert sorted(slot[8:] for slot in slots if slot != bytes(26)) == [b"".join(record(i)) for i in range(100)]
    order = [int.from_bytes(slot[8:24], "big") for slot in slots if slot != bytes(26)]
    assert abs(np.corrcoef(order, range(100))[0, 1]) < 0.5
    assert {path.name for path in place.iterdir()} == {"task.toml", "lock", "waiting-00000000"}
    assert len((place / "lock").read_bytes()) == 17


@pytest.mark.parametrize("batch", [1, 2, 3, 5000])
def test_batches_of_every_size(tmp_path, batch):
    install(tmp_path, task_text(batch=batch))
    held = Collection(tmp_path / "collect" / "colours")
    for first, many in ((0, 1), (1, 1), (2, 5), (7, 1), (8, 400)):
        assert all(held.commit([record(first + i) for i in range(many)]))
    assert held.stored + held.waiting == 408
    assert held.waiting < batch
    assert not any(Collection(held.place).commit([record(i) for i in range(408)]))
    install(tmp_path, task_text(batch=408))
    Collection(held.place).commit([record(i) for i in range(408, 816)])
    counts = Counter(stored(held.place))
    assert counts == Counter(i for i in range(816)), "a larger or smaller batch counts everything once, too"


CHILD = """
import sys
from pathlib import Path
from sfumato.local.collecting import Collection
held, first = Collection(Path(sys.argv[1])), int(sys.argv[2])
for i in range(first, first + 100_000):
    held.commit([(i.to_bytes(16, "big"), (i % 1000).to_bytes(2, "little"))])
    print(i, flush=True)
"""


def test_reports_survive_kill_9_once(tmp_path):
    """Two processes collect on one task and are killed: what they acknowledged is there, once."""
    install(tmp_path, task_text(batch=7))
    place = tmp_path / "collect" / "colours"
    children = [
        subprocess.Popen([sys.executable, "-c", CHILD, place, str(first)], stdout=subprocess.PIPE, text=True)
        for first in (0, 500)
    ]
    said = []
    for child in children:
        said += [int(child.stdout.readline()) for _ in range(150)]
    for child in children:
        child.send_signal(signal.SIGKILL)
    for child in children:
        said += [int(line) for line in child.stdout.read().split() if line]
        child.wait()
        child.stdout.close()
    held = Collection(place)
    assert held.commit([record(i) for i in said]) == [False] * len(said)
    unsaid = [i for first in (0, 500) for i in range(first, first + 490) if i not in set(said)]
    held.commit([record(i) for i in unsaid])
    everything = [*range(490), *range(500, 990)]
    assert held.stored + held.waiting >= len(everything)
    held.commit([record(i) for i in range(10**6, 10**6 + 7)])
    counts = Counter(stored(place))
    assert all(counts[i] == 1 for i in everything if i > 20 and i < 490)


def test_threads_share_a_collection(place):
    held = [Collection(place) for _ in range(4)]
    workers = [
        threading.Thread(target=lambda mine=mine: [mine.commit([record(i)]) for i in range(60)]) for mine in held
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert held[0].stored + held[0].waiting == 60
    assert stored(place) == sorted(set(stored(place)))


def test_a_task_may_change_its_words_but_not_its_meaning(tmp_path):
    install(tmp_path, task_text())
    install(tmp_path, task_text().replace("minimum_batch = 10", "minimum_batch = 50"))
    with pytest.raises(InputError, match="other parameters"):
        install(tmp_path, task_text(size=999))
    assert [held.task.minimum_batch for held in collections(tmp_path)] == [50]
    with pytest.raises(InputError, match="not a collector"):
        Collection(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"values": ("yes", "no")}, {"values": ("no", "yes")}),
        ({"values": ("yes", "no")}, {}),
        ({"values": ("yes", "no")}, {"values": ("yes", "no"), "other": "no"}),
        ({"low": Fraction(0), "high": Fraction(100)}, {"low": Fraction(0), "high": Fraction(1000)}),
        ({"low": Fraction(0), "high": Fraction(100)}, {"low": Fraction(-1), "high": Fraction(100)}),
    ],
)
def test_values_and_ends_of_a_collected_task_stay(tmp_path, old, new):
    """Reports that were sent as yes are not read as no afterwards."""
    encoder = DuchiBit.planned(2) if "low" in old else KAryResponse.planned(2, 2)
    kept = planned_task("q", encoder, **old)
    install(tmp_path, kept.to_toml())
    with pytest.raises(InputError, match="other parameters, values or ends"):
        install(tmp_path, planned_task("q", encoder, **new).to_toml())
    install(tmp_path, planned_task("q", encoder, question="In other words?", **old).to_toml())
    assert collections(tmp_path)[0].task.meaning == kept.meaning


def test_a_lifetime_of_several_reports_is_not_forgotten(tmp_path):
    """What shuffling is worth depends on it: a later task cannot say that everybody sent one report."""
    encoder = KAryResponse.planned(3, 1)
    several, once = planned_task("t", encoder, lifetime=3), planned_task("t", encoder)
    install(tmp_path, several.to_toml())
    install(tmp_path, once.to_toml())  # nothing was collected yet
    install(tmp_path, several.to_toml())
    held = Collection(tmp_path / "collect" / "t")
    held.commit([(bytes(16), b"\0")])
    with pytest.raises(InputError, match="several"):
        install(tmp_path, once.to_toml())
    install(tmp_path, planned_task("t", encoder, lifetime=2).to_toml())
    held.commit([(bytes([i, *[1] * 15]), b"\0") for i in range(120)])
    with pytest.raises(InputError, match="several"):
        install(tmp_path, once.to_toml())


def test_collected_reports_are_decoded(tmp_path):
    from sfumato.local.decoding import ReportTally

    task = planned_task("yes-no", KAryResponse.planned(2, 3), minimum_batch=1000)
    install(tmp_path, task.to_toml())
    held = Collection(tmp_path / "collect" / "yes-no")
    reports = task.encoder.encode(np.repeat([0, 1], [1500, 500]), SystemTape())
    held.commit([(os.urandom(ID), report.tobytes()) for report in reports])
    tally = ReportTally(task)
    for batch in held.batches(1):
        tally.add_bytes(batch)
    tally.add_bytes([b"\7", b"", b"ab"])
    assert (tally.reports, tally.malformed) == (2000, 3)
    no, yes = tally.estimates()
    assert no.low - 0.05 < 0.75 < no.high + 0.05
    assert abs(yes.estimate - 0.25) < 0.1
