"""Releases together, for those who know in which of them somebody is; and what earlier releases have beside."""

import csv
import itertools
import random
from collections import Counter
from fractions import Fraction

import pytest

from sfumato.anonymity import check_release
from sfumato.anonymity.inspection import EarlierRelease, claims_of

CUTS = (["0..1", "2..3"], ["0..0", "1..3"], ["0..2", "3..3"], ["0..3"], ["0..1", "2..2", "3..3"])
LOOSE = ["0..3", "0..1", "1..2", "2..3", "0..2", "1..3", "0..0", "1..1", "2..2", "3..3"]


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *sorted(rows)])
    return path


def stands_for(label, age):
    low, _, high = label.partition("..")
    return int(low) <= int(age) <= int(high)


def random_release(rng, ages, ill, labels, leave):
    """Rows in classes with two values, and the people who have them."""
    label = [rng.choice([one for one in labels if stands_for(one, age)]) for age in ages]
    here = [i for i in range(len(ages)) if rng.random() >= leave]
    values = {label[i]: {ill[j] for j in here if label[j] == label[i]} for i in here}
    here = [i for i in here if len(values[label[i]]) > 1]
    return [(label[i], ill[i]) for i in here], {*here}


def ways(rows, ages):
    """Every way to give each row to a different person whom its label covers: the value of each, or None."""
    found = {(None,) * len(ages)}
    for (label, value), many in Counter(rows).items():
        grown = set()
        for way in found:
            free = [i for i, age in enumerate(ages) if way[i] is None and stands_for(label, age)]
            for chosen in itertools.combinations(free, many):
                grown.add(tuple(value if i in chosen else had for i, had in enumerate(way)))
        found = grown
    return found


def possible(releases, ages, person):
    """The values that a person can have, for who knows in which releases she is."""
    found = set()
    for world in itertools.product(*(ways(rows, ages) for rows, _ in releases)):
        shown = [{*cells} - {None} for cells in zip(*world, strict=True)]
        member = all(
            (way[person] is not None) == (person in here) for way, (_, here) in zip(world, releases, strict=True)
        )
        if member and all(len(values) < 2 for values in shown):
            found |= shown[person]
    return found


EXAMPLE = (
    ["1", "1", "2", "2", "3"], ["flu", "hiv", "cold", "cold", "flu"],
    [([("1..1", "flu"), ("1..1", "hiv")], {0, 1}), ([("1..3", "flu"), ("1..3", "cold")], {0, 2})],
)  # fmt: skip
"""Who is in both releases has flu: the second class covers five people, and has two of them."""


@pytest.mark.parametrize("seed", range(200))
def test_whoever_is_known_to_be_in_releases_that_pass_has_l_values(tmp_path, seed):
    rng = random.Random(f"member {seed}")
    ages = [str(rng.randint(0, 3)) for _ in range(6)]
    ill = [rng.choice(["flu", "hiv", "cold"]) for _ in ages]
    labels, leave = rng.choice([LOOSE, None]), rng.choice([0, 0.2])
    releases = [random_release(rng, ages, ill, labels or rng.choice(CUTS), leave) for _ in range(2)]
    if not seed:
        ages, ill, releases = EXAMPLE
    if not all(rows for rows, _ in releases):
        return
    raw = write(tmp_path / "raw.csv", ("age", "ill"), zip(ages, ill, strict=True))
    files = [write(tmp_path / f"{n}.csv", ("age", "ill"), rows) for n, (rows, _) in enumerate(releases)]
    report = check_release(files[1], raw, ("age",), "ill", earlier=[files[0]], claims=claims_of(k=2, l=2))
    assert seed or not report.passed
    if report.passed:
        people = releases[0][1] | releases[1][1]
        assert all(len(possible(releases, ages, person)) > 1 for person in people)


def test_a_kept_column_ties_a_release_without_sensitive_values_to_this_one(tmp_path):
    """By `a` and by `b` with a drug that only one person takes: who shares both has one condition."""
    ill = {"0x": "flu", "0y": "cold", "1x": "cough", "1y": "flu"}
    people = [(a, b, f"{a}{b}{n}", ill[a + b]) for a in "01" for b in "xy" for n in range(2)]
    raw = write(tmp_path / "raw.csv", ("a", "b", "drug", "ill"), people)
    before = write(tmp_path / "before.csv", ("a", "drug"), [(a, drug) for a, _, drug, _ in people])
    now = write(tmp_path / "now.csv", ("b", "drug", "ill"), [row[1:] for row in people])
    earlier = [EarlierRelease(before, ("a",))]
    for l, wanted in ((None, []), (2, ["composition"])):  # noqa: E741  the letter of the literature
        report = check_release(
            now, raw, ("b",), "ill", keep=("drug",), earlier=earlier, claims=claims_of(k=2, l=l)
        )  # fmt: skip
        assert [fault.kind for fault in report.faults] == wanted


@pytest.mark.parametrize("quasi", [(), ("age", "zip")])
def test_an_earlier_release_with_a_column_that_the_table_lacks_does_not_pass(tmp_path, quasi):
    """The table lost a column by which an earlier release tells everybody apart."""
    people = [("30", f"1305{n}", ill) for n, ill in enumerate(("flu", "cold", "flu", "cold"))]
    raw = write(tmp_path / "raw.csv", ("age", "ill"), [(age, ill) for age, _, ill in people])
    before = write(tmp_path / "before.csv", ("age", "zip", "ill"), people)
    now = write(tmp_path / "now.csv", ("age", "ill"), [("*", ill) for *_, ill in people])
    (fault,) = check_release(now, raw, ("age",), "ill", earlier=[EarlierRelease(before, quasi)]).faults
    assert (fault.kind, fault.column) == ("composition", "zip")


def test_who_is_in_no_earlier_release_is_what_is_left_of_three(tmp_path):
    """Two releases of two areas, and one of both: the row that is in neither is that of who came."""
    people = [(area, ill) for area in "12" for ill in ("flu", "cold", "flu", "cold")] + [("1", "hiv")]
    raw = write(tmp_path / "raw.csv", ("area", "ill"), people)
    before = [
        write(tmp_path / f"{area}.csv", ("area", "ill"), [row for row in people[:-1] if row[0] == area])
        for area in "12"
    ]
    now = write(tmp_path / "now.csv", ("area", "ill"), [("*", ill) for _, ill in people])
    report = check_release(now, raw, ("area",), "ill", earlier=before, claims=claims_of(k=3))
    assert {fault.kind for fault in report.faults} == {"composition"}


def test_what_is_not_known_of_a_group_is_not_said_to_be_close(tmp_path):
    """A class leaves out four of twenty, who can be in one of two groups: how many of each is not known."""
    people = [(area, ill) for area in "12" for ill in ("flu", "cold") * 5]
    raw = write(tmp_path / "raw.csv", ("area", "ill"), people)
    before = write(tmp_path / "before.csv", ("area", "ill"), [("*", ill) for _, ill in people[4:]])
    now = write(tmp_path / "now.csv", ("area", "ill"), people)
    for claims in ({"k": 2, "l": 2}, {"k": 1, "t": "0.5"}):
        report = check_release(now, raw, ("area",), "ill", earlier=[before], claims=claims_of(**claims))
        assert {fault.kind for fault in report.faults} == {"composition"}


CAME = (
    ["1", "1", "1", "2", "2", "2"], ["a", "d", "e", "b", "d", "e"],
    [([("0..3", "d"), ("0..3", "e")] * 2, {1, 2, 4, 5}),
     ([("1..1", ill) for ill in "ade"] + [("2..2", ill) for ill in "bde"], {*range(6)})],
)  # fmt: skip
"""Two people came, one into each class: a and b are more than before, and only the first class has a."""


@pytest.mark.parametrize("seed", range(300))
def test_groups_that_pass_hold_for_who_knows_the_members_of_every_release(tmp_path, seed):
    """By definition: people of the same classes who are in the same releases, also those whom a release leaves out."""
    rng = random.Random(f"apart {seed}")
    ages = [str(rng.randint(1, rng.choice([1, 2]))) for _ in range(rng.randint(4, 8))]
    ill = [rng.choice("abc") for _ in ages]
    releases = []
    for _ in range(rng.choice([2, 3])):
        labels, out = rng.choice(CUTS), {*rng.sample(range(len(ages)), rng.choice([0, 0, 2, 2, 3]))}
        label = [next(one for one in labels if stands_for(one, age)) for age in ages]
        releases.append(([(label[i], ill[i]) for i in range(len(ages)) if i not in out], {*range(len(ages))} - out))
    ages, ill, releases = (ages, ill, releases) if seed else CAME
    raw = write(tmp_path / "raw.csv", ("age", "ill"), zip(ages, ill, strict=True))
    files = [write(tmp_path / f"{n}.csv", ("age", "ill"), rows) for n, (rows, _) in enumerate(releases)]
    groups = {}
    for i, age in enumerate(ages):
        if any(i in here for _, here in releases):
            mark = [(i in here, {label for label, _ in rows if stands_for(label, age)}) for rows, here in releases]
            groups.setdefault(repr(mark), Counter())[ill[i]] += 1
    for claims in ({"k": 2, "l": 2}, {"k": 1, "t": "0.4"}):
        report = check_release(files[-1], raw, ("age",), "ill", earlier=files[:-1], claims=claims_of(**claims))
        assert seed or not report.passed
        if report.passed:
            share = Counter(ill)
            assert all(one.total() >= claims["k"] and len(one) >= claims.get("l", 1) for one in groups.values())
            far = [
                sum(abs(Fraction(one[v], one.total()) - Fraction(share[v], len(ill))) for v in share) / 2
                for one in groups.values()
            ]
            assert max(far) <= Fraction(claims.get("t", 1))


def test_the_same_rows_can_be_those_of_other_people(tmp_path):
    """Two releases with the same rows, of which each leaves two of four people out, are no copies."""
    raw = write(tmp_path / "raw.csv", ("age", "ill"), [("1", "a"), ("1", "b")] * 2)
    files = [write(tmp_path / f"{n}.csv", ("age", "ill"), [("1", "a"), ("1", "b")]) for n in "xy"]
    assert not check_release(files[0], raw, ("age",), "ill", earlier=files[1:], claims=claims_of(k=2)).passed


def test_rows_of_who_is_not_in_the_original_table_are_a_fault(tmp_path):
    """Somebody left: what other releases say of him tells the values of those who were with him."""
    raw = write(tmp_path / "raw.csv", ("age", "ill"), [("1", "a"), ("1", "b")] * 2)
    before = write(tmp_path / "before.csv", ("age", "ill"), [("0..1", ill) for ill in "aabbccdd"])
    (fault,) = check_release(raw, raw, ("age",), "ill", earlier=[before], claims=claims_of(k=2)).faults
    assert (fault.kind, "4 rows" in fault.words) == ("composition", True)


def test_a_dummy_elsewhere_does_not_stand_for_who_is_left_out(tmp_path):
    """Two classes share people; one of the second alone is left out, and the first has a dummy with her value."""
    people = [(age, ill) for age, two in (("1", "de"), ("2", "cf"), ("3", "ab")) for ill in two]
    raw = write(tmp_path / "raw.csv", ("age", "ill"), people)
    rows = [(label, ill) for label, three in (("1..2", "ade"), ("2..3", "bcf")) for ill in three]
    now = write(tmp_path / "now.csv", ("age", "ill"), rows)
    before = write(tmp_path / "before.csv", ("age", "ill"), people[4:])
    claims = claims_of(k=2, l=2, dummies=1)
    assert not check_release(now, raw, ("age",), "ill", claims=claims).faults
    assert check_release(now, raw, ("age",), "ill", earlier=[before], claims=claims).faults  # the other has b


def test_dummies_of_this_release_excuse_nobody_of_an_earlier_one(tmp_path):
    """Each release has the dummies that are recorded of it; one without a record has none."""
    raw = write(tmp_path / "raw.csv", ("age", "ill"), [("1", ill) for ill in "abab"])
    now = write(tmp_path / "now.csv", ("age", "ill"), [("1", ill) for ill in "ababb"])
    before = write(tmp_path / "before.csv", ("age", "ill"), [("*", ill) for ill in "aabba"])
    claims = claims_of(k=2, dummies=1)
    for earlier, passed in ((EarlierRelease(before), False), (EarlierRelease(before, ("age",), claims=claims), True)):
        report = check_release(now, raw, ("age",), "ill", earlier=[earlier], claims=claims)
        assert any("match nobody" in fault.words for fault in report.faults) is not passed
