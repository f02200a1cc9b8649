"""Names of columns as they are typed, dates of early years, and what a check keeps in memory."""

from calendar import monthrange
from collections import Counter
from datetime import date, timedelta

import pytest

from sfumato.anonymity.hierarchies import dates
from sfumato.anonymity.inspection.coverage import cover
from sfumato.anonymity.inspection.declared import declared_tree
from sfumato.cli.anonymize_request import names_in

LEVELS = ["month", "quarter", "year", "decade", "century"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b", ("a", "b")),
        (" a , b ,", ("a", "b")),
        ("", ()),
        ('"a,b"," a"', ("a,b", " a")),
        ('x, "a,b" ,y', ("x", "a,b", "y")),
        ('"say ""hi"""', ('say "hi"',)),
        ('a"b,c', ('a"b', "c")),
        ('"a', ('"a',)),
    ],
)
def test_names_between_commas_may_be_quoted(text, names):
    assert names_in(text) == names


def test_dates_of_all_years_have_labels_and_sizes():
    """The first and the last day of each month, at the ends and around the years 100 and 1000; both ways agree."""
    low, high = date.min, date.max
    hierarchy = dates("d", low, high, LEVELS)
    days = [date(year, month, 1) for year in (1, 9, 99, 100, 999, 1000, 2024, 9999) for month in range(1, 13)]
    days += [day - timedelta(days=1) for day in days[1:]] + [high]
    tree = declared_tree({"kind": "dates", "low": low, "high": high, "levels": LEVELS}, map(str, days))
    for day in days:
        labels = hierarchy.labels(str(day))
        assert labels == tree[str(day)]
        sizes = [hierarchy.size(level, label) for level, label in enumerate(labels[:-1])]
        assert sizes == sorted(sizes)
        assert sizes[1] == monthrange(day.year, day.month)[1]


def test_equal_sets_of_classes_are_kept_once():
    """Local recoding: hundreds of classes without overlap, each for many combinations."""
    classes = [((f"{at * 100}..{at * 100 + 99}",), Counter({"": 100})) for at in range(100)]
    raw = {(str(value),): Counter({"": 1}) for value in range(10_000)}
    found = cover(("a",), classes, raw, {})
    assert found.exact
    assert not found.short
    assert len({id(mask) for mask in found.masks.values()}) == len(classes)
