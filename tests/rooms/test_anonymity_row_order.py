"""Rows in the order of the original ones, nearly: moved rows and pieces, swapped pairs, samples, kept columns."""

import csv
import itertools
import math
import random
from collections import Counter

import pytest

from sfumato.anonymity import check_release
from sfumato.anonymity.inspection.order import CHANCE, common_length, log_chance, longest_run

HEAD = ("age", "sex", "ill", "weight")


def write(path, rows, head=HEAD):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head[: len(rows[0])], *rows])
    return path


@pytest.fixture
def people(tmp_path):
    """Sixty people, and their labels beside what is released of them."""
    rng = random.Random(5)
    rows = [
        (
            str(rng.randint(20, 39)),
            rng.choice("mf"),
            rng.choice(["flu", "cold", "gout", "none"]),
            str(rng.randint(40, 120)),
        )
        for _ in range(60)
    ]
    write(tmp_path / "raw.csv", rows)
    return [("20..29" if int(age) < 30 else "30..39", *rest) for age, *rest in rows]


def faults(tmp_path, rows, sensitive="ill", keep=(), head=HEAD):
    release = write(tmp_path / "release.csv", rows, head)
    report = check_release(release, tmp_path / "raw.csv", ("age", "sex"), sensitive, keep=keep)
    return [fault.kind for fault in report.faults]


def swapped(rows):
    """Sorted by class, and in the first pair of a class whose values differ exchanged."""
    rows = sorted(rows, key=lambda row: row[:2])
    i = next(i for i in range(len(rows)) if rows[i][:2] == rows[i + 1][:2] and rows[i] != rows[i + 1])
    return [*rows[:i], rows[i + 1], rows[i], *rows[i + 2 :]]


NEARLY = {
    "a row moved": lambda rows: rows[1:] + rows[:1],
    "a row moved, backwards": lambda rows: (rows[1:] + rows[:1])[::-1],
    "halves exchanged": lambda rows: rows[30:] + rows[:30],
    "a pair exchanged": lambda rows: [*rows[:7], rows[8], rows[7], *rows[9:]],
    "a pair exchanged in a class": swapped,
    "a sample by class": lambda rows: sorted(
        (rows[i] for i in sorted(random.Random(3).sample(range(60), 52))), key=lambda row: row[:2]
    ),
    "a sample": lambda rows: [rows[i] for i in sorted(random.Random(3).sample(range(60), 40))],
}


@pytest.mark.parametrize("how", NEARLY)
def test_rows_nearly_in_the_original_order_are_found(people, tmp_path, how):
    rows = [row[:3] for row in people]
    assert faults(tmp_path, NEARLY[how](rows)) == ["order"]
    assert faults(tmp_path, sorted(rows)) == []


def test_kept_values_show_the_original_order(people, tmp_path):
    """Sorted by everything but the kept column; and without a sensitive column."""
    assert faults(tmp_path, sorted(people, key=lambda row: row[:3]), keep=("weight",)) == ["order"]
    assert faults(tmp_path, sorted(people), keep=("weight",)) == []
    bare = [(age, sex, weight) for age, sex, _, weight in people]
    head = ("age", "sex", "weight")
    assert faults(tmp_path, sorted(bare, key=lambda row: row[:2]), None, ("weight",), head) == ["order"]
    assert faults(tmp_path, sorted(bare), None, ("weight",), head) == []


@pytest.mark.parametrize("seed", range(40))
def test_rows_in_a_random_order_are_not_called_ordered(people, tmp_path, seed):
    """Shuffled as a whole, within classes, and sorted by one column; the original sorted by age or not."""
    rng = random.Random(seed)
    if seed % 2:
        with (tmp_path / "raw.csv").open(encoding="utf-8", newline="") as stream:
            write(tmp_path / "raw.csv", sorted(list(csv.reader(stream))[1:]))
    rng.shuffle(people)
    for place in ((), (0,), (1, 0), (2,), (0, 2), (3,)):
        rows = sorted(people, key=lambda row, place=place: [row[i] for i in place])
        assert faults(tmp_path, rows, keep=("weight",)) == [], place


def test_the_bound_is_above_the_exact_chance():
    """Every arrangement of small units: as few of them as the bound says are as close to the original rows."""
    for words in (["aabbc"], ["abcde"], ["aabb", "abc"], ["abcabc"]):
        people = [list(word) for word in words]
        every = itertools.product(*(itertools.permutations(word) for word in people))
        chances = [log_chance(list(zip(orders, people, strict=True))) for orders in every]
        for x, many in sorted(Counter(chances).items()):
            assert sum(n for y, n in Counter(chances).items() if y <= x) <= math.exp(x) * len(chances) * (1 + 1e-9), (
                many
            )
    unit = list(range(14))
    assert log_chance([(unit, unit)]) < math.log(CHANCE)  # 1 of 14! orders


def test_common_parts_are_found_by_definition():
    rng = random.Random(2)
    for _ in range(200):
        a, b = ("".join(rng.choices("abc", k=rng.randint(1, 9))) for _ in range(2))
        longest = max(n for n in range(len(a) + 1) for part in itertools.combinations(a, n) if is_part(part, b))
        assert common_length(a, b) == longest
        end, many = longest_run(a, b)
        assert a[end - many : end] in b
        assert many == max(n for n in range(len(a) + 1) if any(a[i : i + n] in b for i in range(len(a) - n + 1)))


def is_part(part, text):
    rest = iter(text)
    return all(sign in rest for sign in part)
