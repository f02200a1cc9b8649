"""Parameters with many digits, limits that every method keeps, and people of whom no row is released."""

import csv
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from sfumato.anonymity import AnonymizeRequest, anonymize, lattice
from sfumato.anonymity.classes import Classes
from sfumato.anonymity.models import Likeness, Presence, RecursiveDiversity
from sfumato.errors import InputError


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows([head, *rows])
    return str(path)


def read(path):
    with Path(path).open(newline="", encoding="utf-8") as stream:
        return [tuple(row) for row in csv.reader(stream)][1:]


def classes_with(histogram, population=None):
    histogram = np.array(histogram, np.int64)
    people = None if population is None else np.array(population, np.int64)
    return Classes(np.zeros(len(histogram), np.int64), histogram, histogram.sum(axis=1), people)


def near(rng, ratio):
    """A number close to a ratio of small whole numbers: as a float, with many decimals, or as it is."""
    away = Fraction(rng.choice([-1, 1]), 10 ** rng.choice([16, 18, 19, 25]))
    return rng.choice([ratio, Fraction(float(ratio)), ratio + away])


def test_parameters_with_many_digits_decide_exactly():
    rng, seen = random.Random(7), Counter()
    for _ in range(600):
        counts = [[rng.randint(0, 3000) for _ in range(3)] for _ in range(4)]
        first, second, third = sorted(counts[0], reverse=True)
        if not 0 < third < first:
            continue
        c = near(rng, Fraction(first, second + third))
        classes = classes_with(counts)
        for flag, row in zip(
            RecursiveDiversity(2, c).holds(classes, classes.histogram.sum(axis=0)), counts, strict=True
        ):
            assert flag == (max(row) < c * (sum(row) - max(row)))
            seen["recursive", bool(flag), c.denominator > 1 << 50] += 1
        people = [sum(row) + rng.randint(1, 5000) for row in counts]
        high = min(near(rng, Fraction(sum(counts[0]), people[0])), Fraction(1))
        low = min(near(rng, Fraction(sum(counts[1]), people[1])), high)
        model, classes = Presence(low, high), classes_with(counts, people)
        kept = model.most_kept(classes, classes.size)
        for flag, most, row, there in zip(model.holds(classes, classes.size), kept, counts, people, strict=True):
            assert flag == (low <= Fraction(sum(row), there) <= high)
            assert most == min(sum(row), there * high.numerator // high.denominator)
            seen["presence", bool(flag), high.denominator > 1 << 50] += 1
    print(dict(seen))  # noqa: T201  what it covers
    assert len(seen) == 8


@pytest.mark.parametrize("c", [4 / 3, "1.3333333333333333333333", "1.333333333333333333"])
def test_a_ratio_with_many_digits_is_kept_by_the_release(c, tmp_path):
    rows = [("x", "A")] * 2000 + [("x", "B")] * 1500 + [("y", "A")] * 900 + [("y", "B")] * 1000
    data, out = write(tmp_path / "a.csv", ("q", "s"), rows), str(tmp_path / "out.csv")
    anonymize(AnonymizeRequest(data, ("q",), "s", l=2, diversity="recursive", c=c), out)
    for label in {row[0] for row in read(out)}:
        counts = Counter(s for q, s in read(out) if q == label)
        assert max(counts.values()) < Fraction(c) * min(counts.values())


def test_a_ratio_beyond_floats_excludes_nothing():
    classes = classes_with([[5, 0], [3, 4]])
    totals = classes.histogram.sum(axis=0)
    assert Likeness(Fraction(10**400)).holds(classes, totals).all()
    assert Likeness(Fraction(10**400)).most_kept(classes, totals).tolist() == [5, 7]
    huge = RecursiveDiversity(2, Fraction(10**400))
    assert huge.holds(classes, totals).tolist() == [False, True]
    assert huge.most_kept(classes, totals).tolist() == [0, 7]


def test_mondrian_keeps_the_limit_of_suppression(tmp_path):
    """The whole table is not diverse, so no cut is made; a global recoding exists and is named as the way out."""
    rows = [("x", "A")] * 4 + [("x", "B")] * 4 + [("y", "A")] * 12
    data, out = write(tmp_path / "a.csv", ("q", "s"), rows), tmp_path / "out.csv"
    asked = {"l": 2, "diversity": "recursive", "c": "1.5"}
    with pytest.raises(InputError, match="Mondrian finds no release that satisfies recursive") as refused:
        anonymize(AnonymizeRequest(data, ("q",), "s", suppress="0.7", method="mondrian", **asked), str(out))
    assert "It would suppress 20 rows; 14 are allowed." in str(refused.value)
    assert not out.exists()
    assert anonymize(AnonymizeRequest(data, ("q",), "s", suppress="0.7", **asked), str(out)).suppressed == 12
    with pytest.raises(InputError, match="no release satisfies recursive"):
        anonymize(AnonymizeRequest(data, ("q",), "s", suppress="0.5", method="mondrian", **asked))


def test_no_bound_is_claimed_for_mondrian(tmp_path):
    rows = [("x", "A")] * 4 + [("x", "B")] * 4 + [("y", "A")] * 12
    data = write(tmp_path / "a.csv", ("q", "s"), rows)
    request = AnonymizeRequest(data, ("q",), "s", l=2, diversity="recursive", c="5", suppress="1", method="mondrian")
    done = anonymize(request)
    assert (done.suppressed, done.optimal, done.bound, done.gap, done.levels) == (0, False, None, None, {})
    with pytest.raises(InputError, match="Mondrian finds no release"):  # it would suppress every row
        anonymize(replace(request, c="1.5"))


BETWEEN = ("0.4", "0.6")


@pytest.mark.parametrize("whole", [10**6, 0], ids=["arrays", "columns"])
def test_the_lower_bound_of_presence_holds_for_everybody(whole, tmp_path, monkeypatch):
    """People of a class without rows, or whose rows are suppressed, are known not to be in the table."""
    monkeypatch.setattr(lattice, "WHOLE", whole)
    out = tmp_path / "out.csv"

    def release(table, population, suppress="0.5"):
        data = write(tmp_path / "a.csv", ("q",), [(q,) for q in table])
        world = write(tmp_path / "world.csv", ("q",), [(q,) for q in population])
        return anonymize(
            AnonymizeRequest(data, ("q",), presence=BETWEEN, population=world, suppress=suppress), str(out)
        )

    with pytest.raises(InputError, match="no release satisfies presence"):  # nobody of z is in the table
        release("x" * 5 + "y" * 5, "x" * 10 + "y" * 10 + "z" * 10, "0")
    with pytest.raises(InputError, match="no release satisfies presence"):  # y would be suppressed
        release("x" * 5 + "y", "x" * 10 + "y" * 10)
    assert not out.exists()
    assert release("x" * 8 + "y" * 6, "x" * 10 + "y" * 10 + "z" * 10).levels == {"q": 1}
    unknown = release("x" * 5 + "w" * 5, "x" * 10)  # the top does not hold: the population knows nothing of w
    assert (unknown.levels, unknown.suppressed, unknown.optimal) == ({"q": 0}, 5, True)


def test_dummies_and_presence_go_together(tmp_path):
    """A class is filled up to k only if its part of the population stays below the upper bound."""
    rows = [("x", "A"), ("x", "A"), ("x", "B"), ("y", "B"), ("w", "B")] + [("z", "A")] * 4
    data = write(tmp_path / "a.csv", ("q", "s"), rows)
    people = [("x",)] * 30 + [("y",)] * 30 + [("w",)] * 4 + [("z",)] * 30
    world, out = write(tmp_path / "world.csv", ("q",), people), str(tmp_path / "out.csv")
    asked = {"k": 3, "presence": ("0", "0.5"), "population": world, "suppress": "0.5", "dummies": "0.5"}
    done = anonymize(AnonymizeRequest(data, ("q",), "s", **asked), out)
    assert (done.dummies, done.suppressed) == (2, 1)
    assert Counter(q for q, _ in read(out)) == {"x": 3, "y": 3, "z": 4}
