"""Ranges of numbers are found by halving, and mean what they mean value by value."""

import random

from sfumato.anonymity.inspection.meaning import covered, covers, has_meaning

NUMBERS = ["1", "1.0", "-3", "2.5", "+4", "10", "1e1", "007", "20240301", " 8 ", "0", "-0"]
SIGNS = [
    ("", "..", ""),
    ("", "-", ""),
    ("[", ",", "]"),
    ("[", ",", ")"),
    ("(", ";", "]"),
    ("]", ",", "["),
    ("", " to ", ""),
]


def test_a_range_covers_what_it_covers_value_by_value():
    rng, most = random.Random("ranges"), 0
    for _ in range(4000):
        others = frozenset(rng.sample(NUMBERS + ["", "x", "2020-01-05"] * (rng.random() < 0.3), rng.randint(1, 6)))
        left, middle, right = rng.choice(SIGNS)
        ends = [
            rng.choice(["-inf", "inf", "0", "1", "1.0", "4", "10", "-3", "2.50", "1e99999999999999999999"])
            for _ in "ab"
        ]
        label = rng.choice([f"{left}{ends[0]}{middle}{ends[1]}{right}", rng.choice(NUMBERS), ">=1", "1*", "*", "1|10"])
        tree = rng.choice([None, {}, {"1": ("1", "1..4", "*")}])
        opaque = not has_meaning(label, tree, others)  # such a label may stand for any value it does not exclude
        answers = {value: covers(label, value, tree, others) for value in others}
        wanted = {value for value, answer in answers.items() if answer or (opaque and answer is None)}
        assert {*covered(label, tree, others)} == wanted, (label, others)
        most = max(most, len(wanted))
    assert most > 3
