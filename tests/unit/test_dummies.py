"""Dummies tell nothing of those whom they hide: every release of small tables, with its exact chance."""

import csv
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import prod

import numpy as np
import pytest

from sfumato.anonymity import AnonymizeRequest, anonymize, check_release, dummies
from sfumato.anonymity.inspection import claims_of
from sfumato.anonymity.recoding import at_node
from sfumato.anonymity.releases import prepare
from sfumato.errors import InputError

PUBLISHED = "AABC"


def prepared(folder, people, **words):
    """A table with a class `x` that is released and a class `v` of these people, and its classes."""
    raw = folder / "raw.csv"
    with raw.open("w", newline="") as stream:
        csv.writer(stream).writerows(
            [("q", "s"), *(("x", value) for value in PUBLISHED), *(("v", one) for one in people)]
        )
    asked = prepare(AnonymizeRequest(str(raw), ("q",), "s", suppress="1", dummies="1", **words))
    return asked, at_node(asked.compressed.tuples, (0,), asked.models, asked.hierarchies)


def filled(asked, recoding):
    """The values of `v` as they are released, or None."""
    tuples = asked.compressed.tuples
    done, classes, _ = dummies.fill(asked.compressed, recoding, asked.models, tuples.rows)
    at = next(i for i, code in enumerate(recoding.label_of[0]) if recoding.labels[0][code] == "v")
    return "".join(map(str.__mul__, tuples.sensitive, classes.histogram[at].tolist())) if done.held[at] else None


@pytest.mark.parametrize(
    ("people", "added", "words"),
    [
        (1, 1, {"k": 2}),
        (1, 2, {"k": 3}),
        (1, 1, {"k": 2, "l": 2}),
        (1, 3, {"k": 3, "l": 3}),
        (2, 2, {"k": 3, "l": 2}),
        (2, 3, {"k": 4, "l": "1.9", "diversity": "entropy"}),
        (1, 3, {"l": 2, "diversity": "recursive", "c": 2}),
    ],
)
def test_a_filled_class_says_of_its_people_what_its_rows_say(tmp_path, monkeypatch, people, added, words):
    """All values of the people (also one that nobody else has) and all draws: what an attacker makes of a release."""
    chance = defaultdict(lambda: defaultdict(Fraction))
    monkeypatch.setattr(dummies._Sizes, "added", lambda self, size, _: added if size == people else None)
    often = Counter(PUBLISHED)
    tables = {kinds: prepared(tmp_path, kinds, **words) for kinds in combinations_with_replacement("ABCD", people)}
    for real in product("ABCD", repeat=people):
        asked, recoding = tables[tuple(sorted(real))]
        names, before = asked.compressed.tuples.sensitive, prod(Fraction(often[one], 4) for one in real)
        for draw in product(PUBLISHED, repeat=added):
            counts = np.array([draw.count(name) for name in names])
            calls = iter([counts])
            monkeypatch.setattr(dummies, "_drawn", lambda *_, calls=calls: next(calls))
            shown = filled(asked, recoding)
            if shown is not None:
                chance[shown][real] += before
    assert len(chance) > 2
    for shown, worlds in chance.items():
        assert "D" not in shown, "a value that no dummy can have is nobody's but the person's"
        belief = defaultdict(Fraction)
        for real, part in worlds.items():
            belief[real[0]] += part
        rows = {value: Fraction(many, people + added) for value, many in Counter(shown).items()}
        assert {value: part / sum(worlds.values()) for value, part in belief.items()} == rows, shown
        assert len(belief) >= Fraction(words.get("l", 1))


@pytest.mark.parametrize(
    "words", [{"k": 2}, {"k": 3, "l": 2}, {"k": 2, "l": 3}, {"k": 3, "l": 2, "diversity": "entropy"}]
)
def test_which_classes_are_filled_depends_on_sizes(tmp_path, monkeypatch, words):
    """A class of enough rows is filled whatever its values are, or not at all: else it would tell that they agree."""
    monkeypatch.setattr(dummies._Sizes, "_holds_often", lambda self, size: size > 3)
    seen = Counter()
    for people in (1, 2, 3):
        plans = set()
        for real in combinations_with_replacement("ABD", people):
            asked, recoding = prepared(tmp_path, real, **words)
            if len(asked.compressed.tuples.sensitive) < int(words.get("l", 1)):
                continue
            held = recoding.classes.histogram[recoding.held].sum(axis=0)
            assert held.sum() in (4, 4 + people)
            plan = dummies._planned(recoding, asked.models, held, 100)
            if len(real) >= max(words["k"], words.get("l", 1)):
                assert not plan
            plans.add(tuple(many for _, many in plan))
        assert len(plans) == 1, (people, plans)
        seen[plans.pop() != ()] += 1
    assert seen[True]
    assert seen[False]


def test_values_of_dummies_are_drawn_from_those_of_the_release(monkeypatch):
    monkeypatch.setattr(dummies, "sample_uniform", lambda size, count: np.arange(size)[:count])
    assert dummies._drawn(np.array([3, 0, 1, 2]), 6).tolist() == [3, 0, 1, 2], "each value as often as it is published"


def test_dummies_that_would_tell_or_do_nothing_are_refused(tmp_path):
    prepared(tmp_path, "A", k=2)
    wanted = {"data": str(tmp_path / "raw.csv"), "quasi": ("q",), "sensitive": "s", "k": 2, "dummies": "0.5"}
    for words, said in (({}, "without suppression"), ({"suppress": "1", "t": "0.5"}, "t or beta"),
                        ({"suppress": "1", "beta": "2"}, "t or beta")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            anonymize(AnonymizeRequest(**wanted, **words))


def test_no_bound_is_claimed_and_one_loss_is_said_where_dummies_are_allowed(tmp_path):
    """A release with dummies at another node may lose less than the best one without."""
    found = Counter()
    for people in ("A", "AB", "ABCA", "ABCAB"):
        prepared(tmp_path, people, k=2)
        for part in ("0.01", "0.5"):
            raw = str(tmp_path / "raw.csv")
            done = anonymize(AnonymizeRequest(raw, ("q",), "s", k=4, suppress="0.5", dummies=part))
            assert (done.bound, done.gap, done.optimal) == (None, None, False)
            assert done.loss == done.measures.loss
            assert done.to_dict()["loss"] == done.to_dict()["measures"]["loss"]
            found[done.dummies > 0] += 1
    assert found[True]
    assert found[False]


def test_a_check_does_not_pass_l_or_t_on_the_strength_of_dummies(tmp_path):
    """Such as those that releases once got: the value that a class lacked most."""
    prepared(tmp_path, "A", k=2)
    out = tmp_path / "out.csv"
    out.write_text("q,s\nv,A\nv,C\nx,A\nx,A\nx,B\nx,C\n")

    def check(*words):
        return check_release(out, tmp_path / "raw.csv", ("q",), "s", claims=claims_of(*words, dummies=1))

    assert check(2).passed
    assert [note.kind for note in check(2, 2).notes] == ["dummies"]
    assert check(2, 2).faultless
    assert not check(2, 2).passed
    assert [fault.kind for fault in check(2, None, "0.9").faults] == ["dummies"]
