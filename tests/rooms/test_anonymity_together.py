"""Several releases of the same people: subtraction, values that two releases leave, what is claimed, copies."""

import csv

from sfumato.anonymity import check_release
from sfumato.anonymity.inspection import claims_of

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
