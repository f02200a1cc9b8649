"""What a pass of the check claims exactly, against definitions that are written anew and enumerated."""

import csv
import itertools
import math
import random
import re
from collections import Counter
from fractions import Fraction

import pytest

from sfumato.anonymity import check_release
from sfumato.anonymity.inspection import EarlierRelease, claims_of
from sfumato.anonymity.inspection.exact import is_entropy_diverse

ILL = ("a", "b", "c", "d")
TREE = [("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*")]
GROUND = {
    (u, v): 0 if u == v else Fraction(1, 2) if {u, v} in ({"a", "b"}, {"c", "d"}) else 1 for u in ILL for v in ILL
}
"""The hierarchical distance of two values: the height of their common label, over the height of the tree."""


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])
    return path


def span(label):
    low, _, high = label.partition("..")
    return range(10) if label == "*" else range(int(low), int(high or low) + 1)


def least_work(one, other, cost, names):
    """The earth mover's distance as the largest difference of the means of a function that no step changes by more.

    For a ground distance in halves and quarters some function with such values is the best (Kantorovich).
    """
    steps = sorted({cost(u, v) for u in names for v in names})
    unit = math.lcm(*(Fraction(step).denominator for step in steps))
    best = Fraction(0)
    for potential in itertools.product(range(-unit, unit + 1), repeat=len(names)):
        f = dict(zip(names, (Fraction(p, unit) for p in potential), strict=True))
        if all(f[u] - f[v] <= cost(u, v) for u in names for v in names):
            best = max(best, sum(f[v] * (one[v] - other[v]) for v in names))
    return best


def shares(counts, names):
    return {name: Fraction(counts[name], sum(counts.values())) for name in names}


@pytest.mark.parametrize("seed", range(60))
def test_k_l_and_t_are_those_of_definitions(tmp_path, seed):
    """Every number of the report, and every claim at its border and beside it."""
    rng = random.Random(f"definitions {seed}")
    weights = [rng.choice([1, 1, 3, 9]) for _ in ILL]
    people = [(str(rng.randrange(4)), rng.choices(ILL, weights)[0]) for _ in range(rng.randint(6, 30))]
    cut = rng.randint(1, 3)
    rows = sorted((f"0..{cut - 1}" if int(age) < cut else f"{cut}..3", ill) for age, ill in people)
    raw, release = write(tmp_path / "raw.csv", ("age", "ill"), people), write(tmp_path / "r.csv", ("age", "ill"), rows)
    write(tmp_path / "x_hierarchy_ill.csv", *([TREE[0], TREE[1:]]))
    classes = [Counter(ill for label, ill in rows if label == one) for one in sorted({label for label, _ in rows})]
    whole = Counter(ill for _, ill in people)
    names = [ill for ill in ILL if whole[ill]]
    place = {ill: i for i, ill in enumerate(names)}
    costs = {
        "equal": lambda u, v: Fraction(u != v),
        "ordered": lambda u, v: Fraction(abs(place[u] - place[v]), max(1, len(names) - 1)),
        "hierarchical": lambda u, v: Fraction(GROUND[u, v]),
    }

    def holds(**claims):
        words = {"hierarchies": tmp_path, "claims": claims_of(**claims)}
        report = check_release(release, raw, ("age",), "ill", **words)
        assert {fault.kind for fault in report.faults} <= {"k", "l", "t"}
        return report.passed

    report = check_release(release, raw, ("age",), "ill", hierarchies=tmp_path, claims=claims_of(1))
    k, distinct = min(map(sum, map(Counter.values, classes))), min(map(len, classes))
    assert (report.k, report.distinct, report.passed) == (k, distinct, True)
    assert holds(k=k)
    assert not holds(k=k + 1)
    assert holds(k=1, l=distinct)
    assert not holds(k=1, l=distinct + 1)
    for kind, cost in costs.items():
        t = max(least_work(shares(one, names), shares(whole, names), cost, names) for one in classes)
        assert report.t[kind] == t
        assert holds(k=1, t=str(t), distance=kind)
        assert t == 0 or not holds(k=1, t=str(t - Fraction(1, 10**9)), distance=kind)
    for least in (1, 2, 3):
        for c in (Fraction(1), Fraction(3, 2), Fraction(3)):
            ranked = [sorted(one.values(), reverse=True) for one in classes]
            wanted = all(one[0] < c * sum(one[least - 1 :]) for one in ranked)
            assert holds(k=1, l=least, c=str(c), diversity="recursive") is wanted
    for least in (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(len(names))):
        wanted = all(by_powers(list(one.values()), least) for one in classes)
        assert holds(k=1, l=str(least), diversity="entropy") is wanted


def by_powers(counts, least):
    """e^H >= l in whole numbers: n^n >= l^n times the product of h^h."""
    many = sum(counts)
    return many**many * least.denominator**many >= least.numerator**many * math.prod(n**n for n in counts)


def test_entropy_is_decided_exactly_at_and_beside_ties():
    rng, ties = random.Random(1), 0
    for _ in range(3000):
        counts = [rng.choice([1, 2, 4]) * rng.choice([1, 3]) for _ in range(rng.randint(1, 5))]
        least = Fraction(rng.choice([1, 2, 3, 4, len(counts), Fraction(5, 2)]))
        ties += by_powers(counts, least) and by_powers(counts, least) is not by_powers(
            counts, least + Fraction(1, 10**12)
        )
        values = {str(i): n for i, n in enumerate(counts)}
        for near in (least, least + Fraction(1, 10**12), max(Fraction(1), least - Fraction(1, 10**12))):
            assert is_entropy_diverse(values, near) is by_powers(counts, near)
    assert ties > 200
    even = {str(i): 10**6 for i in range(7)}
    assert is_entropy_diverse(even, Fraction(7))
    assert not is_entropy_diverse(even | {"0": 10**6 + 1}, Fraction(7))  # 1e-14 below: no float tells
    assert not is_entropy_diverse(even, Fraction(10**400))  # beyond all floats


@pytest.mark.parametrize("seed", range(120))
def test_rows_are_covered_exactly_where_an_assignment_exists(tmp_path, seed):
    """Two columns, overlapping labels, kept values: every way to give rows to people is tried."""
    rng = random.Random(f"covered {seed}")
    people = [(str(rng.randrange(4)), str(rng.randrange(3)), rng.choice("ab"), rng.choice("uv")) for _ in range(6)]
    rows = []
    for a, b, ill, kept in rng.sample(people, rng.randint(2, 6)):
        low = rng.randint(0, int(a))
        rows.append((rng.choice(["*", a, f"{low}..{rng.randint(int(a), 4)}"]), rng.choice(["*", b]), ill, kept))
    if rng.random() < 0.6:  # one cell is changed
        i, j = rng.randrange(len(rows)), rng.randrange(4)
        rows[i] = (*rows[i][:j], rng.choice([["0..1", "2"], ["1", "2"], ["a", "b"], ["u", "v"]][j]), *rows[i][j + 1 :])
    fits = any(
        all(
            int(person[0]) in span(row[0]) and int(person[1]) in span(row[1]) and person[2:] == row[2:]
            for row, person in zip(rows, chosen, strict=True)
        )
        for chosen in itertools.permutations(people, len(rows))
    )
    head = ("p", "q", "ill", "kept")
    raw, release = write(tmp_path / "raw.csv", head, people), write(tmp_path / "r.csv", head, sorted(rows))
    report = check_release(release, raw, ("p", "q"), "ill", keep=("kept",), claims=claims_of(1))
    assert report.passed is fits
    assert {fault.kind for fault in report.faults} <= {"coverage", "value"}


def worlds(releases, people):
    """Every way to give each row of every release to a different person whom it covers, each person one condition."""
    found = {(None,) * len(people)}
    for column, rows in releases:
        grown = set()
        for world in found:
            for chosen in itertools.permutations(range(len(people)), len(rows)):
                pairs = list(zip(rows, chosen, strict=True))
                if all(int(people[i][column]) in span(label) and world[i] in (None, ill) for (label, ill), i in pairs):
                    new = list(world)
                    for (_, ill), i in pairs:
                        new[i] = ill
                    grown.add(tuple(new))
        found = grown
    return found


def some_release(rng, people):
    """Rows by one column, with labels that may overlap; now and then somebody is left out."""
    column = rng.randrange(2)
    style = rng.choice(["cut", "cut", "overlap"])
    cut = rng.randint(1, 2)
    rows = []
    for person in people:
        value = int(person[column])
        label = f"0..{cut - 1}" if value < cut else f"{cut}..2"
        if style == "overlap":
            label = rng.choice(["*", label])
        rows.append((label, person[2]))
    gone = rng.choice([None, None, None, rng.choice(rows)[0]])
    return column, sorted(row for row in rows if row[0] != gone)


def test_whoever_passes_is_one_of_k_with_l_values_in_all_worlds(tmp_path):
    """Two and three releases of five people: of all that pass, everybody has l values in the worlds that are left.

    Whoever can have a value in some world is one of k people with the same values.
    """
    outcome = Counter()
    for seed in range(400):
        rng = random.Random(f"worlds {seed}")
        people = [(str(rng.randrange(3)), str(rng.randrange(3)), rng.choice("abc")) for _ in range(5)]
        if rng.random() < 0.6:  # fewer kinds of people, so that more pass
            people = [(*rng.choice([("0", "0"), ("2", "2"), ("0", "2")]), ill) for *_, ill in people]
        releases = [some_release(rng, people) for _ in range(rng.choice([2, 2, 3]))]
        if not all(rows for _, rows in releases):
            continue
        raw = write(tmp_path / "raw.csv", ("p", "q", "ill"), people)
        files = [write(tmp_path / f"{i}.csv", ("pq"[c], "ill"), rows) for i, (c, rows) in enumerate(releases)]
        earlier = [EarlierRelease(file, ("pq"[column],)) for file, (column, _) in zip(files, releases, strict=True)]
        column = "pq"[releases[0][0]]
        report = check_release(files[0], raw, (column,), "ill", earlier=earlier[1:], claims=claims_of(2, 2))
        assert report.unread == {}
        outcome[report.passed, len(releases)] += 1
        if not report.passed:
            continue
        possible = list(zip(*worlds(releases, people), strict=True))
        shown = {i for i, person in enumerate(people)
                 if any(int(person[c]) in span(label) for c, rows in releases for label, _ in rows)}  # fmt: skip
        sets = [frozenset(values) - {None} for values in possible]
        assert all(len(sets[i]) >= 2 for i in shown), seed
        assert all(sum(sets[i] == sets[j] for j in shown) >= 2 for i in shown), seed
    assert min(outcome[True, 2], outcome[True, 3], outcome[False, 2], outcome[False, 3]) > 10, outcome


@pytest.mark.parametrize(
    ("label", "known"),
    [
        ("20..29", True), ("2*", True), ("20..29|30", True),
        ("young", True), ("young|20..29", True), ("{25, 26}", True),
        ("20..29|Ann is the third", False), ("{young, Ann is the third}", False), ("Ann is the third", False),
        ("20..29 (Ann)", False), ("Ann is the third|*", False), ("20..29|Ann is the third*", False),
        ("20..29|*Ann", False), ("20..29|77", False), ("0..1e99999999999999999999", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("given", [True, False])
def test_a_label_that_says_more_than_it_covers_does_not_pass(tmp_path, label, known, given):
    """Everybody is under thirty, so that one member of a set covers all of them."""
    people = [("25", "flu"), ("26", "hiv"), ("25", "flu")]
    raw = write(tmp_path / "raw.csv", ("age", "ill"), people)
    release = write(tmp_path / "r.csv", ("age", "ill"), sorted((label, ill) for _, ill in people))
    write(tmp_path / "x_hierarchy_age.csv", ("25", "young", "*"), [("26", "young", "*"), ("30", "old", "*")])
    known = known and (given or not {"young", "30"} & {*re.split(r"\|", label)})
    assert check_release(release, raw, ("age",), "ill", hierarchies=tmp_path if given else None).passed is known


@pytest.mark.parametrize(
    ("age", "ill", "kind"),
    [
        ("25..26", "flu", None),
        ("25..26", "Ann has hiv", "value"),
        ("Ann has hiv*", "flu", "coverage"),
        ("90..99", "flu", "coverage"),
    ],
)
def test_a_dummy_says_what_a_row_could_say(tmp_path, age, ill, kind):
    """Rows that stand for nobody have labels that cover somebody, and values that somebody has."""
    people = [("25", "flu"), ("26", "hiv"), ("25", "flu")]
    raw = write(tmp_path / "raw.csv", ("age", "ill"), people)
    rows = [("25..26", value) for _, value in people] + [(age, ill)] * 2
    release = write(tmp_path / "r.csv", ("age", "ill"), sorted(rows))
    report = check_release(release, raw, ("age",), "ill", claims=claims_of(k=2, dummies=2))
    assert {fault.kind for fault in report.faults} == ({kind} if kind else set())
    assert report.passed is (kind is None)


@pytest.mark.parametrize(("kept", "passes"), [("u", True), ("Ann has hiv", False)])
def test_kept_columns_of_dummies_have_values_of_the_table(tmp_path, kept, passes):
    people = [("25", "flu", "u"), ("26", "hiv", "u"), ("25", "flu", "u")]
    raw = write(tmp_path / "raw.csv", ("age", "ill", "kept"), people)
    rows = [("*", *rest) for _, *rest in people] + [("*", "flu", kept)]
    release = write(tmp_path / "r.csv", ("age", "ill", "kept"), sorted(rows))
    report = check_release(release, raw, ("age",), "ill", keep=("kept",), claims=claims_of(k=2, dummies=1))
    assert report.passed is passes


def test_a_label_that_is_a_value_too_stands_for_its_group_in_a_set(tmp_path):
    """`other` is a value and the group of `other` and `rare`; local recoding writes `other|beech` for all three."""
    people = [("other", "flu"), ("rare", "hiv"), ("beech", "flu")]
    raw = write(tmp_path / "raw.csv", ("tree", "ill"), people)
    lines = [("rare", "other", "*"), ("beech", "wood", "*")]
    write(tmp_path / "x_hierarchy_tree.csv", ("other", "other", "*"), lines)
    release = write(tmp_path / "r.csv", ("tree", "ill"), sorted(("other|beech", ill) for _, ill in people))
    assert check_release(release, raw, ("tree",), "ill", hierarchies=tmp_path).passed
    assert not check_release(release, raw, ("tree",), "ill").passed


@pytest.mark.parametrize("odd", ["unknown", "nan", "", "n/a"])
def test_a_range_does_not_cover_what_is_no_number(tmp_path, odd):
    """A label that has a meaning for some values covers no others."""
    for label, passes in (("1..3", False), ("*", True), (f"1..3|{odd}", True)):
        raw, release = tmp_path / "raw.csv", tmp_path / "release.csv"
        raw.write_text(f"age,ill\n{odd},flu\n2,cold\n", encoding="utf-8")
        release.write_text(f"age,ill\n{label},cold\n{label},flu\n", encoding="utf-8")
        assert check_release(release, raw, ("age",), "ill").passed is passes
