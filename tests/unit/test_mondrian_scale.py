"""Local recoding of columns with many values: labels as their definition says, in few steps, and an end when asked."""

import random
import sys
import time
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from sfumato.anonymity import AnonymizeRequest, anonymize, check_release, mondrian
from sfumato.anonymity.classes import Ladder, Tuples
from sfumato.anonymity.hierarchies import STAR, from_rows, keep_or_star, prefixes
from sfumato.anonymity.inspection import claims_of
from sfumato.anonymity.models import KAnonymity
from sfumato.errors import QueryError
from sfumato.interrupts import CancelScope, cancelled
from sfumato.server.http import release_calls


def plainly(axis, hierarchy, low, high):
    """A label and its share by definition: from the sets of values that each label has."""
    inside = [i for i in range(len(axis.leaves)) if low <= axis.place[i] <= high]
    inside.sort(key=lambda i: (axis.place[i], axis.leaves[i]))
    leaves = [axis.leaves[i] for i in inside]
    if len(leaves) == 1:
        return leaves[0], Fraction(0)
    between = f"{leaves[0]}..{leaves[-1]}"
    if axis.numeric and between not in axis.taken:
        return between, mondrian._numeric_share(axis, hierarchy, leaves[0], leaves[-1])
    if hierarchy.kind == "star":
        plain = len(leaves) <= 12 and all(mondrian._is_plain(one) and STAR not in one for one in leaves)
        return mondrian._joined(leaves, axis) if plain else STAR, Fraction(1)
    members = {}
    for i, row in enumerate(axis.rows):
        for level, label in enumerate(row):
            members.setdefault((level, label), set()).add(i)
    parts, done = [], set()
    for i in inside:
        if i not in done:
            part = max(one for one in enumerate(axis.rows[i]) if members[one] <= {*inside})
            done |= members[part]
            parts.append(part)
    label = mondrian._joined([label for _, label in parts], axis) if len(parts) > 1 else parts[0][1]
    if label == STAR or (len(parts) > 1 and not all(mondrian._is_plain(label) for _, label in parts)):
        return STAR, Fraction(1)
    size = sum(hierarchy.domain if level == hierarchy.height else hierarchy.size(level, name) for level, name in parts)
    return label, Fraction(size - 1, hierarchy.domain - 1)


def drawn_hierarchy(rng):
    """Words or numbers in groups at random, some of which are spelt like ranges, sets or values."""
    many = rng.randint(2, 14)
    numbers = rng.random() < 0.5
    values = [str(i) for i in range(many)] if numbers else [f"{rng.choice('abc')}{i}" for i in range(many)]
    if rng.random() < 0.2:
        return values, keep_or_star("c")
    rows, groups = {value: [value] for value in values}, [[value] for value in values]
    for level in range(rng.randint(1, 3)):
        if rng.random() < 0.5:
            rng.shuffle(groups)
        at, larger = 0, []
        while at < len(groups):
            step = rng.randint(1, 3)
            larger.append([value for group in groups[at : at + step] for value in group])
            at += step
        groups = larger
        for number, group in enumerate(groups):
            ends = f"{min(group)}..{max(group)}"
            label = rng.choice([ends, "|".join(group), f"L{level}{number}", f"L{level}{number}"]) + "'" * number
            for value in group:
                rows[value].append(label)
    shown = rng.sample(values, rng.randint(2, many))
    return sorted(shown), from_rows("c", list(rows.values()))


def test_labels_of_ranges_are_those_of_the_definition():
    seen = Counter()
    for seed in range(400):
        values, hierarchy = drawn_hierarchy(random.Random(f"labels {seed}"))
        axis = mondrian._axis(values, hierarchy)
        line = mondrian._Line(axis, hierarchy)
        for low in range(len(values)):
            for high in range(low, len(values)):
                found = line.label(low, high)
                assert found == plainly(axis, hierarchy, low, high), (seed, low, high)
                seen[
                    "set" if "|" in found[0] else "*" if found[0] == STAR else "range" if ".." in found[0] else "label"
                ] += 1
    assert min(seen[kind] for kind in ("set", "*", "range", "label")) > 100, seen


def table(values, hierarchy, many=1):
    """Tuples with this column and one of numbers."""
    ages = [str(i) for i in range(40)]
    codes = (np.arange(len(values)), np.arange(len(values)) * 7 % 40)
    ladders = (Ladder("c", (), (tuple(values),), ()), Ladder("age", (), (tuple(ages),), ()))
    tuples = Tuples(ladders, codes, np.full((len(values), 1), many), ("",), 1)
    return tuples, {"c": hierarchy, "age": keep_or_star("age")}


def steps_of(many):
    """Lines of the module that run, for a column with so many codes below a prefix hierarchy."""
    values = [f"z{i * 7919 % 1_000_000:06}" for i in range(many)]
    tuples, hierarchies = table(sorted(values), prefixes("c", 7, [1, 2, 3, 4, 5]))
    count = 0

    def traced(frame, event, _):
        nonlocal count
        count += event == "line"
        return traced

    before = sys.gettrace()
    sys.settrace(lambda frame, *rest: traced if frame.f_code.co_filename == mondrian.__file__ else None)
    try:
        mondrian.cut_classes(tuples, [KAnonymity(5)], hierarchies)
    finally:
        sys.settrace(before)
    return count


def test_steps_grow_with_the_values_not_with_their_square():
    assert steps_of(1600) < 2.6 * steps_of(800)


def test_after_the_time_limit_or_ctrl_c_the_classes_so_far_are_released(monkeypatch):
    tuples, hierarchies = table(sorted(f"{i:07}" for i in range(400)), prefixes("c", 7, [1, 2]), many=2)
    whole = mondrian.cut_classes(tuples, [KAnonymity(3)], hierarchies)
    assert not whole.interrupted
    assert len(mondrian.cut_classes(tuples, [KAnonymity(3)], hierarchies, 0).classes) == 1
    rounds, cut = [], mondrian._Cutter._round
    for stop in (KeyboardInterrupt, None):

        def limited(self, *words, stop=stop):
            rounds.append(None)
            if stop is not None and len(rounds) == 4:
                raise stop
            return cut(self, *words)

        rounds.clear()
        monkeypatch.setattr(mondrian._Cutter, "_round", limited)
        if stop is None:  # the clock strikes after three rounds
            monkeypatch.setattr(time, "monotonic", lambda: float(len(rounds)))
        early = mondrian.cut_classes(tuples, [KAnonymity(3)], hierarchies, 3)
        assert early.interrupted
        assert early.held.all()
        assert len(early.classes) == 8 < len(whole.classes)
        assert early.classes.size.sum() == 800


def test_a_client_who_leaves_ends_it():
    tuples, hierarchies = table(sorted(f"{i:07}" for i in range(400)), prefixes("c", 7, [1, 2]))
    scope = CancelScope("owner")
    scope.cancel(cancelled("client disconnect"))
    with scope.held(), pytest.raises(QueryError, match="client disconnect"):
        mondrian.cut_classes(tuples, [KAnonymity(3)], hierarchies)


def test_the_console_is_free_again_when_a_client_has_left(tmp_path, monkeypatch):
    """One release is made at a time: one that nobody waits for must not keep others out."""
    data = tmp_path / "data.csv"
    data.write_text("a,s\n" + "".join(f"{i % 40},{i % 3}\n" for i in range(400)))
    request = AnonymizeRequest(str(data), ("a",), "s", k=1, method="mondrian")
    monkeypatch.setattr(release_calls, "_request", lambda *_: request)
    scope, cut = CancelScope("owner"), mondrian._Cutter._round

    def leaving(self, *words):
        scope.cancel(cancelled("client disconnect"))
        return cut(self, *words)

    monkeypatch.setattr(mondrian._Cutter, "_round", leaving)
    with scope.held(), pytest.raises(QueryError, match="client disconnect"):
        release_calls.compare(None, {})
    monkeypatch.setattr(mondrian._Cutter, "_round", cut)
    assert release_calls.compare(None, {})["releases"]


def test_a_set_of_many_labels_is_the_label_above_them(tmp_path):
    """Classes of several columns span many values each: their labels have a bounded length, and still cover them."""
    rng, home = random.Random(5), tmp_path / "h"
    home.mkdir()
    tree = "".join(f"w{n},{'low' if n < 200 else 'high'},*\n" for n in range(400))
    (home / "a.csv").write_text(tree, encoding="utf-8")
    rows = "".join(f"w{rng.randrange(400)},{rng.randrange(50)},{rng.randrange(50)}\n" for _ in range(1200))
    data, out = tmp_path / "t.csv", tmp_path / "o.csv"
    data.write_text("a,b,c\n" + rows, encoding="utf-8")
    quasi = ("a", "b", "c")
    anonymize(AnonymizeRequest(str(data), quasi, k=5, method="mondrian", hierarchies=home), str(out))
    labels = [line.split(",")[0] for line in out.read_text(encoding="utf-8").splitlines()[1:]]
    assert max(label.count("|") for label in labels) < 100
    assert {"low", "high", "*"} & set(labels)
    assert check_release(out, data, quasi, None, hierarchies=home, claims=claims_of(k=5)).passed
