"""Orders of rows: those of the original table are faults, whatever others an honest writer leaves are not."""

import csv
import random
from itertools import permutations

import pytest

from sfumato.anonymity import check_release
from sfumato.anonymity.inspection.orders import _common, _numbers

HEAD = ("name", "age", "zone", "ill")


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows([head, *rows])
    return path


@pytest.fixture
def table(tmp_path):
    """Six hundred people, whose illness has to do with their age, and how each of them is released."""
    rng = random.Random("people")
    people = []
    for i in range(600):
        age = rng.randint(20, 59)
        people.append((f"p{i:03d}", str(age), str(rng.randint(1, 2)), "flu" if rng.randint(10, 69) < age else "cold"))
    rng.shuffle(people)
    write(tmp_path / "raw.csv", HEAD, people)
    return people


def released(person):
    start = int(person[1]) // 10 * 10
    return f"{start}..{start + 9}", person[2], person[3]


def check(folder, rows):
    release = write(folder / "release.csv", HEAD[1:], rows)
    report = check_release(release, folder / "raw.csv", HEAD[1:3], "ill")
    assert (report.k, report.distinct) == (min(sizes(rows)), 2)  # whatever the order, the numbers are there
    assert {fault.kind for fault in report.faults} <= {"order"}
    return report


def sizes(rows):
    keys = [row[:2] for row in rows]
    return [keys.count(key) for key in set(keys)]


def by_class(rng, rows):
    keys = sorted({row[:2] for row in rows})
    rng.shuffle(keys)
    return [row for key in keys for row in rows if row[:2] == key]


LEFT_OVER = {
    "as they stood": (lambda rng, people: list(map(released, people)), None),
    "backwards": (lambda rng, people: list(map(released, people[::-1])), None),
    "class by class": (lambda rng, people: by_class(rng, list(map(released, people))), None),
    "by labels": (lambda rng, people: sorted(map(released, people), key=lambda row: row[:2]), None),
    "one half": (lambda rng, people: list(map(released, people[:300])) + shuffled(rng, people[300:]), None),
    "all but some": (lambda rng, people: [released(one) for one in people if rng.random() < 0.9], None),
    "by name": (lambda rng, people: list(map(released, sorted(people))), "name"),
    "by name, backwards": (lambda rng, people: list(map(released, sorted(people)[::-1])), "name"),
    "by age": (lambda rng, people: list(map(released, sorted(people, key=lambda one: one[1]))), "age"),
    "by age in classes": (lambda rng, people: by_class(rng, list(map(released, sorted(people, key=by_age)))), "age"),
}


def by_age(person):
    return person[1]


def shuffled(rng, people):
    rows = list(map(released, people))
    rng.shuffle(rows)
    return rows


@pytest.mark.parametrize("name", LEFT_OVER)
def test_an_order_of_the_original_table_is_a_fault(name, table, tmp_path):
    order, column = LEFT_OVER[name]
    (fault,) = check(tmp_path, order(random.Random(name), table)).faults
    assert (fault.kind, fault.column, fault.about) == ("order", column, "people")
    assert "--canonical" in fault.hint


HONEST = {
    "shuffled": lambda rng, rows: rows,
    "by labels": lambda rng, rows: sorted(rows, key=lambda row: row[:2]),
    "class by class": by_class,
    "by age alone": lambda rng, rows: sorted(rows, key=lambda row: row[0]),
    "by illness": lambda rng, rows: sorted(rows, key=lambda row: row[2]),
    "classes, by illness inside": lambda rng, rows: by_class(rng, sorted(rows, key=lambda row: row[2])),
    "backwards": lambda rng, rows: sorted(rows, reverse=True),
}


@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize("is_sorted", [False, True])
def test_an_order_of_an_honest_writer_is_noted_and_no_fault(name, is_sorted, table, tmp_path):
    """Labels, or illnesses, that stand in the order of the original ages because both are sorted say nothing more."""
    people = sorted(table, key=by_age) if is_sorted else table
    write(tmp_path / "raw.csv", HEAD, people)
    rng = random.Random(f"honest {name}")
    report = check(tmp_path, HONEST[name](rng, shuffled(rng, people)))
    assert report.faults == ()
    assert [(note.kind, note.about) for note in report.notes] == [("order", "file")]
    assert report.faultless
    assert not report.passed
    assert "the order of rows" not in report.scope.exact
    assert "whether the order of rows is left over from the original table" in report.scope.rules


def test_few_rows_in_the_original_order_are_a_fault_and_shuffled_ones_hardly_ever(tmp_path):
    people = [(f"p{i}", str(20 + i), "1", ill) for i, ill in enumerate("xyzxzyyx")]
    people = [people[i] for i in (3, 0, 6, 1, 5, 2, 7, 4)]
    write(tmp_path / "raw.csv", HEAD, people)

    def kinds(order):
        rows = [("20..23" if int(one[1]) < 24 else "24..27", "1", one[3]) for one in order]
        write(tmp_path / "release.csv", HEAD[1:], rows)
        report = check_release(tmp_path / "release.csv", tmp_path / "raw.csv", HEAD[1:3], "ill")
        return [fault.kind for fault in report.faults]

    assert kinds(people) == ["order"]
    rng = random.Random("few")
    assert sum(bool(kinds(rng.sample(people, len(people)))) for _ in range(60)) <= 2


def test_labels_without_values_stand_in_an_order_too(table, tmp_path):
    """Who knows where somebody stood, as in a list by name, learns her labels: no sensitive column is needed."""

    def faults(people):
        write(tmp_path / "release.csv", HEAD[1:3], [released(one)[:2] for one in people])
        report = check_release(tmp_path / "release.csv", tmp_path / "raw.csv", HEAD[1:3])
        return [(fault.kind, fault.column) for fault in report.faults]

    assert faults(table) == faults(table[::-1]) == faults(table[50:] + table[:50]) == [("order", None)]
    assert faults(sorted(table)) == [("order", "name")]
    assert faults(random.Random("labels").sample(table, len(table))) == []


def test_shuffled_rows_are_no_fault_by_chance(table, tmp_path):
    """Sixty shuffles, each compared with eight orders of the original table in two ways."""
    write(tmp_path / "raw.csv", HEAD, table[:40])
    rng = random.Random("chance")
    for _ in range(60):
        rows = [("20..59", "*", ill) for _, _, ill in shuffled(rng, table[:40])]
        write(tmp_path / "release.csv", HEAD[1:], rows)
        assert check_release(tmp_path / "release.csv", tmp_path / "raw.csv", HEAD[1:3], "ill").faults == ()


def test_rows_that_can_be_anybody_are_in_no_order(tmp_path):
    """Rows that could be anybody's stand in any order of the original table, and that says nothing."""
    people = [(f"p{i:03d}", str(20 + i % 40), "1", "xy"[i * 7 % 3 % 2]) for i in range(200)]
    write(tmp_path / "raw.csv", HEAD, people)
    for seed in range(5):
        rows = [("*", "*", one[3]) for one in random.Random(seed).sample(people, 8)]
        write(tmp_path / "release.csv", HEAD[1:], rows)
        assert check_release(tmp_path / "release.csv", tmp_path / "raw.csv", HEAD[1:3], "ill").faults == ()


def test_large_classes_are_compared_in_part(tmp_path):
    """A class of more rows than are compared: their first ones, with the first of the people whom it covers."""
    rng = random.Random("large")
    people = [("n", str(rng.randint(20, 59)), "1", rng.choice("xxy")) for _ in range(4000)]
    write(tmp_path / "raw.csv", HEAD, people)
    rows = [("20..59", "1", one[3]) for one in people if rng.random() < 0.95]
    write(tmp_path / "release.csv", HEAD[1:], rows)
    (fault,) = check_release(tmp_path / "release.csv", tmp_path / "raw.csv", HEAD[1:3], "ill").faults
    assert (fault.kind, fault.column) == ("order", None)
    rng.shuffle(rows)
    write(tmp_path / "release.csv", HEAD[1:], rows)
    assert check_release(tmp_path / "release.csv", tmp_path / "raw.csv", HEAD[1:3], "ill").faults == ()


def test_the_common_subsequence_is_the_longest():
    """All places at once, compared with the textbook's table."""
    rng = random.Random("common")
    for _ in range(200):
        one, other = ([(rng.randrange(3), ()) for _ in range(rng.randint(0, 12))] for _ in range(2))
        table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
        for i, a in enumerate(one, 1):
            for j, b in enumerate(other, 1):
                table[i][j] = max(table[i - 1][j], table[i][j - 1], table[i - 1][j - 1] + (a == b))
        masks = {kind: sum(1 << j for j, b in enumerate(other) if b == kind) for kind in one}
        assert _common(one, masks, len(other)) == table[-1][-1]


def test_shuffles_are_even():
    """Each of the six orders of three rows comes about as often: 600 shuffles, within five standard deviations."""
    seen = dict.fromkeys(permutations(range(3)), 0)
    for number in range(600):
        dice = _numbers(f"shuffle {number}", 3)
        seen[tuple(sorted(range(3), key=dice.__getitem__))] += 1
    assert all(abs(many - 100) < 46 for many in seen.values())
