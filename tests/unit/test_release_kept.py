"""Kept columns of a release: those that follow from quasi-identifiers, tell them, or number the rows."""

import csv
import random
from collections import Counter

import pytest

from sfumato.anonymity import check_release
from sfumato.anonymity.inspection import claims_of
from sfumato.anonymity.inspection.kept import follows


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])
    return path


KEPT = {
    "born": lambda _, age, __: str(2020 - age),
    "decade": lambda _, age, __: f"{age // 10}0s",
    "month of birth": lambda i, age, _: f"{2020 - age}-{random.Random(i).randint(1, 12):02}",
    "of two": lambda _, age, zone: f"{zone}{age % 7}",
    "with gaps": lambda i, age, _: "" if i % 200 == 0 else str(age // 3),
    "digest of the row": lambda _, age, zone: f"{(age * 7919 + ord(zone) * 104729) % 99991}",
    "chance": lambda i, _, __: str(random.Random(i).randrange(12)),
    "many values": lambda i, _, __: str(random.Random(i).randrange(600)),
    "like age": lambda i, age, _: f"{random.Random(i).random() < 0.5 if i % 4 == 0 else age > 40}",
    "constant": lambda *_: "c",
    "as the label": lambda _, age, __: "young" if age < 40 else "old",
    "numbers": lambda i, *_: f"x{i}",
    "numbers, some twice": lambda i, *_: f"x{i - i % 2}" if i < 20 else f"x{i}",
}
TELLING = {"born", "decade", "month of birth", "of two", "with gaps", "digest of the row"}
NUMBERS = {"numbers", "numbers, some twice"}


@pytest.fixture
def table(tmp_path):
    rng = random.Random(4)
    people = [(rng.randint(20, 59), rng.choice("ABC"), rng.choice(["flu", "hiv", "none"])) for _ in range(500)]

    def check(**columns):
        head = ("age", "zone", "ill", *columns)
        full = [(age, zone, ill, *(make(i, age, zone) for make in columns.values()))
                for i, (age, zone, ill) in enumerate(people)]  # fmt: skip
        raw = write(tmp_path / "raw.csv", head, full)
        rows = sorted(("20..39" if age < 40 else "40..59", "*", *rest) for age, _, *rest in full)
        release = write(tmp_path / "r.csv", head, rows)
        report = check_release(release, raw, ("age", "zone"), "ill", keep=tuple(columns), claims=claims_of(200))
        return [(fault.kind, fault.column) for fault in report.faults]

    return check


@pytest.mark.parametrize("name", KEPT)
def test_a_kept_column_that_follows_from_quasi_identifiers_is_found(table, name):
    """Two classes of some 250 rows; by what is known of people they are as small as the column makes them."""
    kind = "kept" if name in TELLING else "identifier" if name in NUMBERS else None
    assert table(kept=KEPT[name]) == ([(kind, "kept")] if kind else [])


def test_two_columns_that_number_rows_together_are_found(table):
    assert table(tens=lambda i, *_: str(i // 25), ones=lambda i, *_: str(i % 25)) == [("identifier", "tens")]
    assert table(one=KEPT["chance"], other=lambda i, *_: str(random.Random(-i).randrange(40))) == []


def test_a_column_that_knows_nothing_of_another_does_not_follow_from_it():
    """Random columns of all sorts: many values, few, one that nearly all have; and the same with a rule."""
    rng = random.Random(8)
    found = Counter()
    for _ in range(300):
        many, rows = rng.choice([1, 2, 5, 50, 400]), rng.choice([5, 50, 400])
        weights = [rng.random() ** rng.choice([1, 8]) for _ in range(many)]
        values = [str(one) for one in rng.choices(range(many), weights, k=rows)]
        groups = [rng.randrange(rng.choice([1, 3, 40, 400])) for _ in values]
        assert not follows(values, groups)
        rule = {group: rng.choice(values) for group in groups}
        found[follows([rule[group] for group in groups], groups)] += 1
    assert found[True] > 60  # the rest has too few rows or values to tell
