"""Rows in the order of the original ones, nearly: moved rows and pieces, swapped pairs, samples, kept columns."""

import csv
import itertools
import math
import random
from collections import Counter

import pytest

from sfumato.anonymity import check_release
from sfumato.anonymity.inspection.homes import NOWHERE, homes_of
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


def test_stars_for_suppressed_rows_hide_no_order(people, tmp_path):
    """A class of stars covers everybody: whose rows the others are follows from how many there are."""
    with (tmp_path / "raw.csv").open(encoding="utf-8", newline="") as stream:
        raw = list(csv.reader(stream))[1:]
    odd = [("77", "x", random.Random(i).choice(["flu", "cold", "gout"]), "50") for i in range(6)]
    both = [row for i, row in enumerate(raw) for row in ([odd[i // 10]] if i % 10 == 0 else []) + [tuple(row)]]
    write(tmp_path / "raw.csv", both)
    shown = [("*", "*", ill) if age == "77" else ("20..29" if int(age) < 30 else "30..39", sex, ill)
             for age, sex, ill, _ in both]  # fmt: skip
    assert faults(tmp_path, sorted(shown)) == []
    assert faults(tmp_path, sorted(shown, key=lambda row: row[:2])) == ["order"]
    by_age = sorted(zip(shown, both, strict=True), key=lambda pair: (pair[0][:2], pair[1][0]))
    assert faults(tmp_path, [row for row, _ in by_age]) == ["order"]
    for seed in range(10):
        random.Random(seed).shuffle(shown)
        assert faults(tmp_path, shown) == faults(tmp_path, sorted(shown, key=lambda row: row[:2])) == []


@pytest.mark.parametrize("seed", range(30))
def test_homes_are_those_of_every_assignment(seed):
    """Where sizes settle a class, no assignment of all rows puts its people elsewhere."""
    rng = random.Random(f"homes {seed}")
    sizes = [rng.randint(1, 3) for _ in range(3)]
    owners = [at for at, many in enumerate(sizes) for _ in range(many)] + [None] * rng.randint(0, 1)
    masks = [(0 if at is None else 1 << at) | rng.choice([0, 0, 1, 4, 6]) for at in owners]
    found = homes_of(masks, sizes)
    seen = [set() for _ in masks]
    for way in set(itertools.permutations(owners)):
        if all(at is None or mask >> at & 1 for at, mask in zip(way, masks, strict=True)):
            for places, at in zip(seen, way, strict=True):
                places.add(at)
    for home, mask, places in zip(found, masks, seen, strict=True):
        assert home == NOWHERE if not mask else mask >> home & 1
        if None not in owners and len(places) == 1 and all(len(one) == 1 for one in seen):
            assert {home} == places


@pytest.mark.parametrize("writers", [5, 13])
def test_rows_dealt_to_several_writers_are_found(tmp_path, writers):
    """Dealt in turn and joined, a part shuffled, the first half shuffled: chance has no such orders."""
    rng = random.Random(6)
    raw = [(str(rng.randint(20, 99)), rng.choice("mf"), rng.choice("abcdefgh"), "1") for _ in range(600)]
    write(tmp_path / "raw.csv", raw)
    rows = [(f"{age[0]}0..{age[0]}9", sex, ill) for age, sex, ill, _ in raw]
    dealt = [row for i in range(writers) for row in rows[i::writers]]
    assert faults(tmp_path, dealt) == ["order"]
    some = list(dealt)
    for _ in range(20):
        some.insert(rng.randrange(600), some.pop(rng.randrange(600)))
    assert faults(tmp_path, some) == ["order"]
    head, rest = rows[:400], rows[400:]
    rng.shuffle(head)
    assert faults(tmp_path, head + rest) == ["order"]
    rng.shuffle(rows)
    assert faults(tmp_path, rows) == []


def test_rows_dealt_to_writers_are_found_where_few_values_tell_them_apart(tmp_path):
    """Four kinds of rows: any piece of the release can be found in the table, but not all of it row by row."""
    rng = random.Random(11)
    raw = [(str(rng.randint(20, 39)), "m", rng.choice("ab"), "1") for _ in range(900)]
    write(tmp_path / "raw.csv", raw)
    rows = [("20..29" if int(age) < 30 else "30..39", sex, ill) for age, sex, ill, _ in raw]
    dealt = [row for i in range(9) for row in rows[i::9]]
    dealt.append(dealt.pop(100))
    assert faults(tmp_path, dealt) == ["order"]
