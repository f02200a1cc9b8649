"""Several releases of the same people: subtraction, values that two releases leave, what is claimed, copies."""

import csv
import itertools
import random
from collections import Counter

import pytest

from sfumato.anonymity import check_release
from sfumato.anonymity.inspection import EarlierRelease, claims_of

ILL = ["flu", "hiv", "cancer", "none", "cold", "gout"]


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])
    return path


def published(tmp_path, people, leave_out=()):
    """The people by `a`, b` and condition; one release by `a`, and one by `b` without some people."""
    raw = write(tmp_path / "raw.csv", ("a", "b", "ill"), people)
    one = write(tmp_path / "one.csv", ("a", "ill"), sorted((a, ill) for a, _, ill in people))
    two = write(tmp_path / "two.csv", ("b", "ill"), sorted((b, ill) for _, b, ill in people if b not in leave_out))
    return raw, one, two


def together(raw, release, by, earlier, **claims):
    report = check_release(release, raw, (by,), "ill", earlier=[earlier], claims=claims_of(**claims))
    return [fault.kind for fault in report.faults], report.meet[0][1]


def test_who_is_in_one_release_alone_is_found_by_subtraction(tmp_path):
    """Six people are released by `a`, the same ones but one by `b`: the difference of the two is that one."""
    people = [("1", "x", ill) for ill in ILL[:5]] + [("1", "y", ILL[5])] + [("2", "z", ill) for ill in ILL[:5]]
    raw, one, two = published(tmp_path, people, ("y",))
    assert together(raw, one, "a", two) == (["composition"], 1)
    assert together(raw, two, "b", one) == (["composition"], 1)


def test_l_and_t_are_those_of_what_releases_leave_together(tmp_path):
    """Each class has two conditions; of four people who share both classes all have one."""
    people = [(a, b, ILL["12".index(a) * 2 + "xy".index(b)]) for a in "12" for b in "xy" for _ in range(4)]
    people += [("3", "w", ill) for ill in ILL[:4]]
    raw, one, two = published(tmp_path, people)
    assert together(raw, one, "a", two, k=4) == ([], 4)
    assert together(raw, one, "a", two, k=4, l=2) == (["composition"], 4)
    assert together(raw, one, "a", two, k=4, t="0.7") == (["composition"], 4)
    assert together(raw, one, "a", two, k=4, t="0.8") == ([], 4)


def test_groups_are_compared_with_the_k_that_is_claimed(tmp_path):
    """Classes of eight, and groups of four who have four conditions: 4-anonymous, not 8-anonymous."""
    people = [(a, b, ill) for a in "12" for b in "xy" for ill in ILL[:4]]
    raw, one, two = published(tmp_path, people)
    assert together(raw, one, "a", two, k=4, l=4) == ([], 4)
    assert together(raw, one, "a", two, k=5) == (["composition"], 4)
    assert together(raw, one, "a", two) == (["composition"], 4)


def test_a_copy_of_a_release_adds_nothing_where_classes_overlap(tmp_path):
    people = [("22", "flu"), ("22", "hiv"), ("27", "flu"), ("27", "hiv"), ("33", "flu"), ("33", "cancer")]
    rows = [("20..29", ill) for ill in ("flu", "flu", "hiv")] + [("25..35", ill) for ill in ("cancer", "flu", "hiv")]
    raw = write(tmp_path / "raw.csv", ("age", "ill"), people)
    release, copy = (write(tmp_path / name, ("age", "ill"), rows) for name in ("release.csv", "copy.csv"))
    report = check_release(release, raw, ("age",), "ill", earlier=[copy])
    assert (report.faults, report.meet) == ((), (("copy.csv", 3),))


def labels(row, recoding):
    """A row as a release shows it: each column as it is, as its first letter, or as a star."""
    return tuple(
        {"is": cell, "first": f"{cell[0]}*", "star": "*"}[how] for cell, how in zip(row, recoding, strict=True)
    )


def smallest_together(people, shown):
    """By definition: people of the same labels in all releases; who is left out of one is told apart by that."""
    marks = [tuple(labels(row, how) if i in here else None for how, here in shown) for i, row in enumerate(people)]
    return min(many for mark, many in Counter(marks).items() if any(mark))


@pytest.mark.parametrize("seed", range(60))
def test_composition_is_what_a_simple_attacker_finds(tmp_path, seed):
    """Two releases with random labels, kept columns and rows that were left out, against counting by definition."""
    rng = random.Random(f"together {seed}")
    people = [tuple(rng.choice(["a1", "a2", "b1", "b2"]) for _ in range(2)) for _ in range(rng.choice([12, 40]))]
    secret = [rng.choice(ILL) for _ in people]
    money = [str(1000 + i) for i in range(len(people))]
    raw = write(tmp_path / "raw.csv", ("p", "q", "money", "ill"), [
        (*row, cash, ill) for row, cash, ill in zip(people, money, secret, strict=True)
    ])  # fmt: skip
    shown, files = [], []
    for name in ("now.csv", "before.csv"):
        how = tuple(rng.choice(["is", "first", "star"]) for _ in range(2))
        left_out = rng.choice([None, None, labels(rng.choice(people), how)])
        here = {i for i, row in enumerate(people) if labels(row, how) != left_out} or {*range(len(people))}
        kept = name == "before.csv" and rng.random() < 0.5
        rows = sorted((*labels(people[i], how), *((money[i],) if kept else ()), secret[i]) for i in here)
        head = ("p", "q", *(("money",) if kept else ()), "ill")
        files.append(write(tmp_path / name, head, rows))
        shown.append((how, here))
    k = min(rng.randint(2, 5), smallest_together(people, shown[:1]))
    earlier = EarlierRelease(files[1], ("p", "q"))
    report = check_release(files[0], raw, ("p", "q"), "ill", earlier=[earlier], claims=claims_of(k=k))
    wanted = smallest_together(people, shown)
    assert report.meet[0][1] == wanted
    assert ("composition" in [fault.kind for fault in report.faults]) is (wanted < k)


def test_three_releases_leave_less_than_every_two_of_them(tmp_path):
    """Eight people, one for each value of three bits: a release by each bit; any two leave pairs, all three nobody."""
    people = [(a, b, c, ILL[i % 2]) for i, (a, b, c) in enumerate(itertools.product("01", repeat=3))]
    raw = write(tmp_path / "raw.csv", ("a", "b", "c", "ill"), people)
    files = [write(tmp_path / f"{j}.csv", ("abc"[j], "ill"), sorted((p[j], p[3]) for p in people)) for j in range(3)]
    for order in itertools.permutations(range(3)):
        now, *before = order
        report = check_release(
            files[now], raw, ("abc"[now],), "ill", earlier=[files[j] for j in before], claims=claims_of(2)
        )
        assert [k for _, k in report.meet] == [2, 1]
        assert [fault.kind for fault in report.faults] == ["composition"]


@pytest.mark.parametrize("seed", range(30))
def test_who_came_or_left_between_two_releases_is_their_difference(tmp_path, seed):
    """The same labels before and after; by definition: how many rows a class has more or fewer."""
    rng = random.Random(f"came {seed}")
    people = [(rng.choice("ab"), rng.choice(ILL)) for _ in range(60)]
    gone = {i for i in range(60) if rng.random() < rng.choice([0, 0.02, 0.3])}
    before = [row for i, row in enumerate(people) if i not in gone]
    versions = [people, before] if rng.random() < 0.5 else [before, people]
    raw = write(tmp_path / "raw.csv", ("a", "ill"), people)
    old, new = (write(tmp_path / n, ("a", "ill"), sorted(r)) for n, r in zip(("o.csv", "n.csv"), versions, strict=True))
    changed = [sum(row[0] == a for row in people) - sum(row[0] == a for row in before) for a in "ab"]
    report = check_release(new, raw, ("a",), "ill", earlier=[old], claims=claims_of(k=3))
    assert bool(report.faults) is any(0 < many < 3 for many in changed)


def test_labels_of_an_earlier_release_that_cannot_be_read_are_said(tmp_path):
    people = [(a, b, ILL[i % 4]) for i, (a, b) in enumerate((a, b) for a in "12" for b in "xy" for _ in range(4))]
    raw, _, two = published(tmp_path, people)
    odd = write(tmp_path / "odd.csv", ("a", "ill"), sorted((f"group {a}", ill) for a, _, ill in people))
    (tmp_path / "h.toml").write_text('[a]\nkind = "rows"\nrows = [["1", "one", "*"], ["2", "two", "*"]]\n')
    for hierarchies in (None, tmp_path / "h.toml"):
        report = check_release(two, raw, ("b",), "ill", earlier=[odd], hierarchies=hierarchies, claims=claims_of(k=4))
        assert report.unread == {"odd.csv: a": ["group 1", "group 2"]}


def stands_for(label, value):
    low, _, high = label.partition("..")
    return label == "*" or int(low) <= int(value) <= int(high or low)


def worlds(release, ages):
    """Every way to give each row to a different person whom its label covers: the condition of each, or None."""
    found = {(None,) * len(ages)}
    for (label, ill), many in Counter(release).items():
        grown = set()
        for world in found:
            free = [i for i, age in enumerate(ages) if world[i] is None and stands_for(label, age)]
            for chosen in itertools.combinations(free, many):
                grown.add(tuple(ill if i in chosen else had for i, had in enumerate(world)))
        found = grown
    return found


def known(possible):
    return {i for i, seen in enumerate(zip(*possible, strict=True)) if len({*seen}) == 1 and seen[0] is not None}


def agreed(one, other):
    """A world of both releases, if they can be true together."""
    pairs = list(zip(one, other, strict=True))
    fits = all(None in pair or pair[0] == pair[1] for pair in pairs)
    return [tuple(a if b is None else b for a, b in pairs)] if fits else []


def diverse_release(rng, ages, ill):
    """Rows with overlapping labels and stars; classes without two rows and two conditions are left out."""
    rows = []
    for age, value in zip(ages, ill, strict=True):
        low = int(age) - rng.randint(0, 2)
        rows.append((rng.choice(["*", age, f"{max(low, 0)}..{max(low, 0) + 2}"]), value))
    classes = {label: {ill for other, ill in rows if other == label} for label, _ in rows}
    return sorted(row for row in rows if len(classes[row[0]]) > 1 and rng.random() < 0.95)


EXAMPLE = (
    ["2", "3", "3", "3", "3", "3"], ["flu", "hiv", "flu", "flu", "flu", "hiv"],
    [[("3", "flu")] * 2 + [("3", "hiv")] * 2,
     [("*", "flu")] * 2 + [("*", "hiv")] + [("3", "flu")] * 2 + [("3", "hiv")]],
)  # fmt: skip
"""All are in the second release, and both who have hiv in the first one, without the first person."""


@pytest.mark.parametrize("seed", range(150))
def test_what_two_releases_prove_together_is_a_fault(tmp_path, seed):
    """Every world that two diverse releases leave: whose condition only both together tell is said."""
    rng = random.Random(f"worlds {seed}")
    if seed:
        ages, ill = [str(rng.randint(0, 3)) for _ in range(6)], [rng.choice(ILL[:3]) for _ in range(6)]
        releases = [diverse_release(rng, ages, ill) for _ in range(2)]
    else:
        ages, ill, releases = EXAMPLE
    if not all(releases) or any(len({i for a, i in rows if a == age}) < 2 for rows in releases for age, _ in rows):
        return
    before, now = (worlds(rows, ages) for rows in releases)
    both = {world for a in before for b in now for world in agreed(a, b)}
    if not known(both) - known(before) - known(now):
        return
    raw = write(tmp_path / "raw.csv", ("age", "ill"), zip(ages, ill, strict=True))
    files = [write(tmp_path / f"{n}.csv", ("age", "ill"), rows) for n, rows in enumerate(releases)]
    report = check_release(files[1], raw, ("age",), "ill", earlier=[files[0]], claims=claims_of(k=2, l=2))
    assert "composition" in [fault.kind for fault in report.faults]
