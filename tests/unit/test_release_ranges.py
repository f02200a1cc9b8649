"""What a label covers is found without looking at every value, and is what it covers value by value."""

import random
import time
from collections import Counter

import pytest

from sfumato.anonymity.inspection.column_labels import ColumnLabels
from sfumato.anonymity.inspection.coverage import cover
from sfumato.anonymity.inspection.meaning import covers, has_meaning, labels_of

NUMBERS = ["1", "1.0", "-3", "2.5", "+4", "10", "1e1", "007", "20240301", " 8 ", "0", "-0"]
WORDS = ["", "x", "2020-01-05", "a", "b", "a|b", "1*", "13053", "13068 ", "1 053", "13\n53", "{a,b}", "0-9", "2020"]
WORDS += ["\udc00"]
SIGNS = [
    ("", "..", ""),
    ("", "-", ""),
    ("[", ",", "]"),
    ("[", ",", ")"),
    ("(", ";", "]"),
    ("]", ",", "["),
    ("", " to ", ""),
]
TREES = [
    None,
    {},
    {"1": ("1", "1..4", "*")},
    {"1": ("1", "0-9", "*"), "10": ("10", "1", "*"), "a": ("a", "1*", "*"), "b": ("b", "a", "*")},
    {"13053": ("13053", "130**", "*"), "x": ("x", "a|b", "n"), "": ("", "n", "n"), "2.5": ("2.5", "2020", "n")},
]
LABELS = [
    ">=1", "<3", "2+", "1*", "130**", "1*0*3", "13***", "*", "***", "1|10", "a|x", "{a, b}", "0-9|a", "a|", "n|x", "n",
    "2020", "2020-01", "2020..2024", "2024-03", "strange", "strange|a", "", "\udc00", *NUMBERS, *WORDS,
]  # fmt: skip


def random_label(rng):
    left, middle, right = rng.choice(SIGNS)
    ends = [
        rng.choice(["-inf", "inf", "0", "1", "1.0", "4", "10", "-3", "2.50", "1e99999999999999999999"]) for _ in "ab"
    ]
    return rng.choice([f"{left}{ends[0]}{middle}{ends[1]}{right}", rng.choice(LABELS), rng.choice(LABELS)])


def test_a_label_covers_what_it_covers_value_by_value():
    rng, seen = random.Random("ranges"), Counter()
    for _ in range(12_000):
        pool = rng.choice([NUMBERS, NUMBERS + WORDS, NUMBERS + WORDS, WORDS, ["20240301", "20230101", "2024-05-06"]])
        others = frozenset(rng.sample(pool, rng.randint(1, min(6, len(pool)))))
        label, tree = random_label(rng), rng.choice(TREES)
        opaque = not has_meaning(label, labels_of(tree), others)  # such a label may stand for all it does not exclude
        answers = {value: covers(label, value, tree, others) for value in others}
        wanted = {value for value, answer in answers.items() if answer or (opaque and answer is None)}
        found = ColumnLabels(tree, others).covered(label)
        assert sorted(found) == sorted(wanted), (label, others, tree)
        seen[len(wanted), bool(tree)] += 1
    assert min(seen[many, has_tree] for many in (0, 1, 2, 3, 4) for has_tree in (False, True)) > 20


def by_group(values):
    return {value: (value, f"g{i // 10}", "*") for i, value in enumerate(values)}, [
        f"g{i}" for i in range(len(values) // 10)
    ]


MANY = [str(number) for number in range(10_000, 14_000)]


@pytest.mark.parametrize(
    ("labels", "tree"),
    [
        (by_group(MANY)[1], by_group(MANY)[0]),
        ([f"{number}*" for number in range(1000, 1400)], {}),
        ([f"{number}..{number + 9}" for number in range(10_000, 14_000, 10)], {}),
        (MANY, None),
        ([f"{number}|{number + 1}" for number in range(10_000, 14_000, 2)], None),
    ],
    ids=["hierarchy", "prefixes", "ranges", "values", "sets"],
)
def test_thousands_of_labels_take_no_time(labels, tree):
    """4,000 values under 400 labels of a hierarchy took minutes: each of them was looked for in all of it."""
    start = time.process_time()
    found = cover(
        ["zip"],
        [((label,), Counter(s=1)) for label in labels],
        {(value,): Counter(s=1) for value in MANY},
        {} if tree is None else {"zip": tree},
    )
    assert time.process_time() - start < 10
    assert {mask.bit_count() for mask in found.masks.values()} == {1}
    assert (found.unread, found.short, found.confused) == ({}, [], ())


@pytest.mark.parametrize(
    ("labels", "tree", "values", "is_confused"),
    [
        (["01", "1"], None, ["01", "1"], True),
        (["01", "1"], {"01": ("01", "*"), "1": ("1", "*")}, ["01", "1"], False),
        (["01"], None, ["01", "1"], False),
        (["1*", "12"], None, ["1*", "12"], False),
        (["n", "m"], {"a": ("a", "n", "m"), "b": ("b", "m", "n")}, ["a", "b"], True),
        (["n", "m"], {"a": ("a", "n", "m"), "b": ("b", "m", "*")}, ["a", "b"], True),
        (["b", "a"], {"a": ("a", "b", "*"), "b": ("b", "a", "*")}, ["a", "b"], True),
        (["0-9", "0..9"], {"1": ("1", "0-9", "*"), "2": ("2", "0..9", "*")}, ["1", "2"], False),
        (["20..30", "25..40"], {}, ["25", "30"], False),
        (["", "\udc00"], None, ["", "\udc00"], True),
    ],
)
def test_labels_that_can_be_taken_for_each_other_do_not_pass(labels, tree, values, is_confused):
    assert ColumnLabels(tree, frozenset(values)).confused(labels) is is_confused
