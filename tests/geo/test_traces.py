"""Traces: budgets, the test of a prediction, zones and saved places."""

import json
import random
import sqlite3
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from math import exp, isqrt, log

import numpy as np
import pytest

from sfumato.design.level import Level
from sfumato.errors import BudgetError, InputError, LedgerError
from sfumato.geo.earth import ground_distance
from sfumato.geo.frames import slack
from sfumato.geo.mechanism import LocationMechanism
from sfumato.geo.purse import Held, MemoryPurse
from sfumato.geo.saved_places import SavedPlaces
from sfumato.geo.traces import FRESH, HELD, REPEATED, TraceMechanism
from sfumato.geo.zones import STRETCH, Zone
from sfumato.ledger import Ledger
from sfumato.ledger.person_budgets import LedgerPurse

MADE = LocationMechanism.within("ln 4", 200, around=(48, 2))


def test_a_trace_never_exceeds_its_budget():
    trace = TraceMechanism.of(MADE, "6 ln 4")
    kinds, total = [], Fraction(0)
    for i in range(60):  # a person who moves far every time
        step = trace.report("ana", 48 + 0.02 * (i % 3), 2.0)
        kinds.append(step.kind)
        total += step.spent
    assert total == trace.purse.held("ana").spent <= trace.total
    assert kinds.count(FRESH) >= 4
    assert kinds[-1] == HELD
    first = kinds.index(HELD)
    assert set(kinds[first:]) == {HELD}
    assert trace.report("ben", 48, 2).kind == FRESH


@pytest.mark.parametrize("zones", [(), (Zone(48.1, 2.1, 300),)])
def test_a_trace_does_not_end_at_the_border_of_its_region(zones):
    """Whether there is a report says nothing about where somebody is; both sides of the border are near each other."""
    made = LocationMechanism.within("ln 4", 200, around=(48, 2), reach=20_000, zones=zones)
    trace = TraceMechanism.of(made, "50 ln 4")
    for lat, lon in ((48, 2), (48.179, 2), (48.181, 2), (60, 2), (-48, -178), (90, 0)):
        assert trace.report("ana", lat, lon).kind in (FRESH, REPEATED)
    around = np.random.default_rng(4)
    lat, lon = 48 + around.normal(0, 0.4, 2000), 2 + around.normal(0, 0.4, 2000)
    lat2, lon2 = lat + around.normal(0, 1e-3, 2000), lon + around.normal(0, 1e-3, 2000)
    steps = made.frame.to_grid(lat, lon, refuse=False) - made.frame.to_grid(lat2, lon2, refuse=False)
    ground = ground_distance(lat, lon, lat2, lon2)
    worst = float(made.noise.rate) * np.linalg.norm(steps.astype(float), axis=1)
    assert (worst <= log(4) * np.maximum(1, 1.006 * ground / 200) + 1e-12).all()
    with pytest.raises(InputError, match="outside the region"):
        made.report(60, 2)


@pytest.mark.parametrize("around", [(48, 2), None])
def test_a_person_who_stays_mostly_gets_the_same_answer(around):
    """At least 95 % of repetitions with the default threshold, and each costs less than a third of a level."""
    trace = TraceMechanism.of(LocationMechanism.within("ln 4", 200, around=around), "300 ln 4")
    count = 400
    steps = trace.report_many(["ana"] * count, [48.001] * count, [2.001] * count)
    kinds = [step.kind for step in steps]
    assert kinds[0] == FRESH
    assert kinds.count(REPEATED) > 0.93 * count  # 0.97 on average; less by chance once in a million runs
    assert set(kinds) == {FRESH, REPEATED}
    assert all((a.lat, a.lon) == (b.lat, b.lon) for a, b in pairwise(steps) if b.kind == REPEATED)
    assert sum(step.spent for step in steps) < 0.33 * count * log(4)
    assert sum(step.spent for step in steps) == trace.purse.held("ana").spent


@pytest.mark.parametrize("level", ["ln 4", "ln 3", "1/3 ln 7", "0.1", "ln 1.001"])
def test_a_budget_of_n_levels_pays_for_n_reports(level):
    """Whatever is rounded: n levels pay for n fresh reports, and for n/2 with two tests of a quarter for each."""
    made = LocationMechanism.within(level, 200, around=(48, 2))
    own = made.level
    for n in (1, 2, 20, 1000):
        trace = TraceMechanism.of(made, Level(n * own.times, own.odds))
        trace.check_first()
        fresh, test = trace._fresh_cost, trace._test_cost
        assert n * fresh <= trace.total < n * fresh + test
        assert n * test <= trace.total
        assert 4 * test >= fresh >= own.epsilon
        assert abs(float(trace.total) - n * float(own.epsilon)) < 1e-12 * n
    with pytest.raises(BudgetError, match="does not allow a single report"):
        TraceMechanism.of(made, Level(own.times * Fraction(999, 1000), own.odds)).check_first()


def test_budgets_pay_for_the_same_reports_however_they_are_written():
    """ln 4 is 2 ln 2 and 1/2 ln 16: amounts are compared as powers of one number, not as they are written."""
    dice = np.random.default_rng(7)
    for _ in range(60):
        base = Fraction(int(dice.integers(2, 12)), int(dice.integers(1, 4)))
        base = base if base > 1 else 1 / base if base < 1 else Fraction(2)
        powers = [int(power) for power in dice.integers(1, 7, 3)]
        n = Fraction(int(dice.integers(1, 40)), int(dice.choice([1, 1, 2, 3])))
        parts = (Fraction(1), n, n / 100)
        own, budget, test = (Level(part / power, base**power) for power, part in zip(powers, parts, strict=True))
        trace = TraceMechanism.of(LocationMechanism.within(own, 200, around=(48, 2)), budget, test=test)
        assert trace._levels(budget) == n
        assert trace.total == n * trace._fresh_cost // Fraction(1, 10**15) * Fraction(1, 10**15)
        assert 0 <= trace._test_cost - n / 100 * trace._fresh_cost < Fraction(1, 10**15)
        if n >= 1:
            trace.check_first()
    other = TraceMechanism.of(MADE, "ln 3", test="ln 2")
    assert not isinstance(other._levels(other.budget), Fraction)


def test_budgets_in_other_words_are_rounded_down():
    """A number for a logarithm: what is spent stays within the number."""
    trace = TraceMechanism.of(MADE, "7", test="0.3")
    spent = [trace.report("ana", 48 + 0.05 * (i % 2), 2).kind for i in range(60)]
    fresh = spent.count(FRESH)
    tests = fresh - 1 + spent.count(REPEATED)
    assert fresh * log(4) + tests * 0.3 <= 7
    assert trace.total <= 7 + Fraction(1, 10**14)


def test_the_default_threshold_is_what_it_says():
    """95 % of fresh reports plus twice the scale of the test's noise: 1.9 km in a plane, 2.1 km worldwide."""
    for around, metres in (((48, 2), 1858), (None, 2085)):
        made = LocationMechanism.within("ln 4", 200, around=around)
        trace = TraceMechanism.of(made, "9 ln 4")
        assert abs(trace.threshold - metres) < 15
        step = float(made.frame.step)
        far = np.linalg.norm(made.noise.sample(20_000).astype(float), axis=1) * step
        inside = (far <= float(trace.threshold) - 2 * step / float(trace.test_rate)).mean()
        assert abs(inside - 0.95) < 0.01
    assert TraceMechanism.of(made, "9 ln 4", threshold="700.5").threshold == Fraction(1401, 2)
    dear = TraceMechanism.of(made, "9 ln 4", test="1/2 ln 4")
    assert dear.threshold < trace.threshold - 500  # a dearer test is surer, so that it holds reports less far
    with pytest.raises(InputError, match="threshold"):
        TraceMechanism.of(made, "9 ln 4", threshold=-3)


def test_the_test_of_a_prediction_costs_what_it_says():
    """The exact chance to pass, for all distances: neighbours within the radius differ by at most e^test."""
    trace = TraceMechanism.of(LocationMechanism.within("ln 4", 200, around=(0, 0), grid=20), "6 ln 4")
    rate, step = float(trace.test_rate), float(trace.mechanism.frame.step)
    threshold = int(trace.threshold / trace.mechanism.frame.step)
    r = exp(-rate)

    def chance(steps):  # P(noise >= steps - threshold)
        k = steps - threshold
        return r**k / (1 + r) if k > 0 else 1 - r ** (1 - k) / (1 + r)

    slackness = float(slack(trace.mechanism.frame))
    worst = 0.0
    for metres in (0, 50, 200, 500):
        for steps in range(200):
            near = steps + int((metres + slackness) / step) + 1
            for a, b in ((chance(steps), chance(near)), (1 - chance(near), 1 - chance(steps))):
                bound = log(4) / 4 * max(1, metres / 200)
                assert log(a / b) <= bound + 1e-9
                worst = max(worst, log(a / b) / bound)
    assert worst > 0.9
    drawn = np.mean([trace.passes((threshold, 0)) for _ in range(4000)])
    assert abs(drawn - chance(threshold)) < 0.04
    offsets = [(3, 4), (threshold + 9, 2)]
    for offset in offsets:
        seen = np.mean([trace.passes(offset) for _ in range(4000)])
        assert abs(seen - chance(isqrt(offset[0] ** 2 + offset[1] ** 2))) < 0.04


def opened(path, budget="3 ln 4", label="trip"):
    trace = TraceMechanism.of(MADE, budget)
    return TraceMechanism.of(MADE, budget, purse=LedgerPurse.open(path, label, trace.total))


def test_a_budget_in_a_ledger_survives_the_process(tmp_path, monkeypatch):
    """Charged before the draw, chained, and the last report with it."""
    file = tmp_path / "ledger"
    trace = opened(file)
    first = trace.report("ana", 48, 2)
    trace.purse.close()
    trace = opened(file)
    assert trace.purse.held("ana").spent == first.spent > 0
    assert trace.purse.held("ana").last is not None
    with pytest.raises(LedgerError, match="these settings"):
        opened(file, label="other")
    monkeypatch.setattr(type(MADE.noise), "sample", lambda *_: (_ for _ in ()).throw(RuntimeError("power cut")))
    with pytest.raises(RuntimeError):
        trace.report("ben", 48, 2)
    assert trace.purse.held("ben") == Held(trace._fresh_cost, None)
    assert trace.purse.verify().debits == 2
    trace.purse.close()
    with LedgerPurse.visit(file) as looked:
        assert set(looked.people()) == {"person ana", "person ben"}
        assert looked.budget == trace.total


def test_a_ledger_and_memory_keep_the_same_accounts(tmp_path):
    """Many people, odd names among them: every account is what its own charges add up to."""
    kept, plain = opened(tmp_path / "ledger").purse, MemoryPurse()
    total, dice = kept.budget, random.Random(5)
    names = ["", "ana", "person ana", "b\nc", "x" * 300, "digest", "\ud800"]
    for _ in range(120):
        who, cost = dice.choice(names), Fraction(dice.randrange(1, 10**15), 10**15)
        refused = []
        for purse in (kept, plain):
            try:
                purse.charge(who, cost, total)
                refused.append(False)
            except BudgetError:
                refused.append(True)
        assert refused[0] == refused[1]
        if not refused[0] and dice.random() < 0.5:
            for purse in (kept, plain):
                purse.remember(who, (dice.randrange(9), -1) if purse is kept else kept.held(who).last)
    assert [kept.held(who) for who in names] == [plain.held(who) for who in names]
    assert max(kept.held(who).spent for who in names) == kept.verify().spent.epsilon > total / 2
    kept.close()


def test_two_who_share_a_ledger_spend_one_persons_budget(tmp_path):
    """Two that do not know of each other: together no more than the budget, and each sees what the other has spent."""
    one, other = opened(tmp_path / "ledger"), opened(tmp_path / "ledger")
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(lambda t: [t.report("ana", 48 + i, 2).kind for i in range(8)], t) for t in (one, other)]
    for run in runs:
        try:
            assert run.result()[-1] == HELD
        except BudgetError:  # the other one was faster between the look and the charge
            pass
    assert one.purse.held("ana") == other.purse.held("ana")
    assert one.purse.held("ana").spent <= one.total
    assert one.purse.verify().debits == other.purse.verify().debits >= 2
    one.purse.close()
    other.purse.close()


def test_a_batch_is_charged_as_its_reports_one_by_one(tmp_path):
    """Interleaved people, odd names among them: what the ledger holds is what the steps cost, a debit for each person
    and batch.
    """
    trace = opened(tmp_path / "ledger", "9 ln 4")
    names, dice = ["ana", "", "b\nc", "\ud800"], random.Random(8)
    spent, last = Counter(), {}
    for _ in range(3):
        people = [dice.choice(names) for _ in range(30)]
        lat = [48 + 0.05 * dice.randrange(3) for _ in people]
        for who, step in zip(people, trace.report_many(people, lat, [2] * 30), strict=True):
            spent[who] += step.spent
            last[who] = step.lat, step.lon
            assert spent[who] <= trace.total
    for who in names:
        held = trace.purse.held(who)
        assert held.spent == spent[who]
        lat, lon = MADE.frame.from_grid(np.array([held.last]))
        assert (lat[0], lon[0]) == last[who]
    assert trace.purse.verify().debits <= 3 * len(names)
    assert trace.report_many([], [], []) == []
    trace.purse.close()


def test_a_batch_that_is_not_committed_reports_nothing(tmp_path, monkeypatch):
    """Whether noise cannot be drawn or the ledger fails: no report comes back, and no half of the batch is charged."""
    trace = opened(tmp_path / "ledger", "9 ln 4")
    trace.report("ana", 48, 2)
    before = trace.purse.held("ana")
    draws = iter(range(3))
    sample = type(MADE.noise).sample

    def broken(self, count, bits=None):
        if next(draws, None) is None:
            raise RuntimeError("power cut")
        return sample(self, count, bits)

    monkeypatch.setattr(type(MADE.noise), "sample", broken)
    with pytest.raises(RuntimeError, match="power cut"):
        trace.report_many([str(i) for i in range(9)], [48] * 9, [2] * 9)
    assert set(trace.purse.people()) == {"person ana"}
    assert trace.purse.held("ana") == before
    monkeypatch.undo()
    store = trace.purse.ledger._store
    monkeypatch.setattr(type(store), "commit", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(LedgerError):
        trace.report_many(["ana", "ben"], [49, 49], [2, 2])
    monkeypatch.undo()
    trace.purse.close()
    with LedgerPurse.visit(tmp_path / "ledger") as looked:
        assert looked.people() == {"person ana": before}
        assert looked.verify().debits == 1


def test_a_batch_waits_for_another_process_and_sees_what_it_spent(tmp_path):
    """Two that charge batches of one person at once: no batch fails after its noise was drawn."""
    one, other = opened(tmp_path / "ledger", "6 ln 4"), opened(tmp_path / "ledger", "6 ln 4")
    with ThreadPoolExecutor(2) as threads:
        runs = [
            threads.submit(lambda t: [t.report_many(["ana"] * 3, [48, 50, 48], [2] * 3) for _ in range(4)], t)
            for t in (one, other)
        ]
    steps = [step for run in runs for batch in run.result() for step in batch]
    assert sum(step.spent for step in steps) == one.purse.held("ana").spent <= one.total
    assert HELD in {step.kind for step in steps}
    one.purse.close()
    other.purse.close()


REPORTING = """
import sys
from pathlib import Path
from sfumato.geo.mechanism import LocationMechanism
from sfumato.geo.traces import TraceMechanism
from sfumato.ledger.person_budgets import LedgerPurse
made = LocationMechanism.within("ln 4", 200, around=(48, 2))
total = TraceMechanism.of(made, "3 ln 4").total
with LedgerPurse.open(Path(sys.argv[1]), "trip", total) as purse:
    trace = TraceMechanism.of(made, "3 ln 4", purse=purse)
    count = int(sys.argv[2])
    for i in range(0, 10**6, count):
        people, lat = [f"{k // 2}" for k in range(i, i + count)], [48 + 0.01 * (k % 2) for k in range(i, i + count)]
        steps = [trace.report(people[0], lat[0], 2)] if count == 1 else trace.report_many(people, lat, [2] * count)
        for who, step in zip(people, steps):
            print(who, step.lat, step.lon, step.spent, flush=True)
"""


@pytest.mark.parametrize("count", [1, 6])
def test_what_was_reported_is_in_the_ledger_after_kill(tmp_path, count):
    """Each report that left the process was paid for on the disk, and its grid point is there."""
    file = tmp_path / "ledger"
    words = [sys.executable, "-c", REPORTING, str(file), str(count)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        said = [process.stdout.readline() for _ in range(20)]
        process.kill()
        said += process.stdout.read().splitlines(keepends=True)
    spent, last = Counter(), {}
    for line in said:
        if line.endswith("\n"):
            who, lat, lon, cost = line.split()
            spent[who] += Fraction(cost)
            last[who] = float(lat), float(lon)
    with LedgerPurse.visit(file) as looked:
        assert looked.verify().debits >= 10
        for who, paid in spent.items():
            assert looked.held(who).spent >= paid > 0
        for who in list(last)[:-1]:  # the last one may have got another report that nobody heard of
            lat, lon = MADE.frame.from_grid(np.array([looked.held(who).last]))
            assert (lat[0], lon[0]) == last[who]


def test_a_budget_that_was_edited_is_found(tmp_path):
    file = tmp_path / "ledger"
    trace = opened(file)
    trace.report("ana", 48, 2)
    trace.purse.close()
    with sqlite3.connect(file) as base:
        for (trigger,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            base.execute(f"DROP TRIGGER {trigger}")
        changed = base.execute("UPDATE cells SET epsilon = ?", ("0" * 60,)).rowcount
    base.close()
    assert changed > 0
    with LedgerPurse.visit(file) as looked, pytest.raises(LedgerError):
        looked.verify()


def test_costs_that_do_not_fit_are_refused_whole():
    purse = MemoryPurse()
    purse.charge("ana", Fraction(3), Fraction(4))
    with pytest.raises(BudgetError):
        purse.charge("ana", Fraction(2), Fraction(4))
    assert purse.held("ana").spent == 3
    with pytest.raises(BudgetError, match="single report"):
        TraceMechanism.of(MADE, "0.5 ln 4").check_first()
    with pytest.raises(BudgetError):
        TraceMechanism.of(MADE, "0.5 ln 4").report("ana", 48, 2)


def test_a_file_that_is_no_ledger_is_refused(tmp_path):
    (tmp_path / "x").write_text("this is no database, " * 100)
    with pytest.raises(LedgerError):
        LedgerPurse.open(tmp_path / "x", "a", Fraction(1))
    Ledger.open(tmp_path / "y", data_id="shop", composition="pure", epsilon=1).close()
    with pytest.raises(LedgerError, match="gateway"):
        LedgerPurse.visit(tmp_path / "y")
    with pytest.raises(LedgerError, match="settings"):
        LedgerPurse.open(tmp_path / "y", "a", Fraction(1))


@pytest.mark.parametrize("around", [(48, 2), None])
def test_positions_in_a_zone_are_one(around):
    zone = Zone(48.01, 2.01, 300)
    made = LocationMechanism.within("ln 4", 200, around=around, zones=[zone])
    inside = 48.01 + np.array([0, 1, -2, 1.5]) / 1000, 2.01 + np.array([0, 1, 1.5, -2]) / 1000
    points = made.frame.to_grid(*inside)
    assert (points == points[0]).all()
    outside = made.frame.to_grid(np.array([48.01, 48.03]), np.array([2.015, 2.01]))
    assert (np.abs(outside - points[0]).max(axis=1) > 10).all()


@pytest.mark.parametrize("around", [(48, 2), None])
def test_zones_stretch_by_no_more_than_they_say(around):
    plain = LocationMechanism.within("ln 4", 200, around=around)
    made = LocationMechanism.within("ln 4", 200, around=around, zones=[Zone(48, 2, 200), Zone(48.1, 2, 150)])
    chance = np.random.default_rng(6)
    lat, lon = 48 + chance.normal(0, 0.006, 4000), 2 + chance.normal(0, 0.009, 4000)
    lat2, lon2 = lat + chance.normal(0, 1e-3, 4000), lon + chance.normal(0, 1e-3, 4000)
    ground = np.linalg.norm(plain.frame.coordinates(lat, lon) - plain.frame.coordinates(lat2, lon2), axis=1)
    pulled = np.linalg.norm(made.frame.coordinates(lat, lon) - made.frame.coordinates(lat2, lon2), axis=1)
    assert (pulled <= float(STRETCH) * ground + 1e-6).all()
    assert (pulled > 1.25 * ground).any()
    steps = made.frame.to_grid(lat, lon) - made.frame.to_grid(lat2, lon2)
    worst = float(made.noise.rate) * np.linalg.norm(steps.astype(float), axis=1)
    assert (worst <= log(4) * np.maximum(1, ground / 200) + 1e-12).all()


def test_zones_that_touch_are_refused():
    made = LocationMechanism.within("ln 4", 200, zones=[Zone(48, 2, 200), Zone(48.005, 2, 200)])
    with pytest.raises(InputError, match="too near"):
        made.report(48, 2)
    with pytest.raises(InputError, match="at most 50 km"):
        Zone(0, 0, 10**6)


def test_saved_places_are_drawn_once(tmp_path):
    places = SavedPlaces(tmp_path / "places.json")
    at = places.save("home", 48.001, 2.001, MADE)
    assert at != (48.001, 2.001)
    assert SavedPlaces(tmp_path / "places.json").report("home") == at
    assert places.save("museum", 48.86, 2.33) == (48.86, 2.33)
    assert json.loads((tmp_path / "places.json").read_text()) == {"home": list(at), "museum": [48.86, 2.33]}
    with pytest.raises(InputError, match="saved already"):
        places.save("home", 48.001, 2.001, MADE)
    with pytest.raises(InputError, match="no saved place"):
        places.report("school")
    assert (tmp_path / "places.json").stat().st_mode & 0o077 == 0
    places.remove("museum")
    assert list(SavedPlaces(tmp_path / "places.json").places) == ["home"]
    with pytest.raises(InputError, match="no saved place"):
        places.remove("museum")
    with pytest.raises(InputError, match="position is not valid"):
        places.save("nowhere", 99, 2)
    (tmp_path / "places.json").write_text("[1]")
    with pytest.raises(InputError, match="not a file of saved places"):
        SavedPlaces(tmp_path / "places.json")
