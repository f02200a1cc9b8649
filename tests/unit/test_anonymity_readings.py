"""Rows in the order of a column, however the column is spelt and sorted: numbers, dates, texts, empty cells."""

import csv
import random
from datetime import date, timedelta

import pytest

from sfumato.anonymity import check_release
from sfumato.anonymity.inspection import claims_of
from sfumato.anonymity.inspection.ranks import ranks_of

FORMS = ["%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y-%m-%d", "%d %b %Y", "%Y%m%d"]
KINDS = ["number", "decimal", "text", *FORMS]


def column(rng, kind, many):
    """Cells of a kind, and for each of them what it is sorted by."""
    if kind == "text":
        cells = ["".join(rng.choices("abcxyz", k=5)) for _ in range(many)]
        return cells, list(cells)
    if kind in FORMS:
        days = [date(1950, 1, 1) + timedelta(days=rng.randint(0, 20000)) for _ in range(many)]
        return [day.strftime(kind) for day in days], [day.toordinal() for day in days]
    numbers = [round(10 ** rng.uniform(0, 6), 2 if kind == "decimal" else None) for _ in range(many)]
    return [str(number) for number in numbers], numbers


def checked(tmp_path, rows, order):
    """A release by tens of years whose rows stand in an order of the original ones."""
    tens = [(f"{int(age) // 10}0..{int(age) // 10}9", ill) for age, _, ill in rows]
    for name, head, lines in (
        ("raw.csv", ("age", "cell", "ill"), rows),
        ("release.csv", ("age", "ill"), [tens[i] for i in order]),
    ):
        with (tmp_path / name).open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([head, *lines])
    report = check_release(tmp_path / "release.csv", tmp_path / "raw.csv", ("age",), "ill", claims=claims_of(k=5))
    return [(fault.kind, fault.column) for fault in report.faults]


@pytest.mark.parametrize("seed", range(36))
def test_an_order_by_a_column_is_found_however_it_is_spelt_and_sorted(tmp_path, seed):
    rng = random.Random(f"readings {seed}")
    kind, by_text = KINDS[seed % len(KINDS)], rng.random() < 0.3
    cells, keys = column(rng, kind, 300)
    keys = list(cells) if by_text else keys
    empty = {i for i in range(300) if rng.random() < rng.choice([0, 0.01, 0.1])}
    cells = ["" if i in empty else cell for i, cell in enumerate(cells)]
    people = [(str(rng.randint(20, 59)), cell, rng.choice(["flu", "hiv", "cold", "gout"])) for cell in cells]
    filled = sorted((i for i in range(300) if i not in empty), key=lambda i: keys[i], reverse=rng.random() < 0.3)
    order = [*sorted(empty), *filled] if rng.random() < 0.5 else [*filled, *sorted(empty)]
    if rng.random() < 0.5:
        order.sort(key=lambda i: people[i][0][0])  # by their tens, and inside by the column
    assert checked(tmp_path, people, order) == [("order", "cell")], (kind, by_text)
    rng.shuffle(order)
    assert checked(tmp_path, people, order) == []


def test_each_order_is_read_once():
    assert len(ranks_of(["1", "2", "3"])) == 1
    assert len(ranks_of(["1", "2", "10"])) == 2  # as numbers, as texts
    assert ranks_of(["2", "10", ""])[0] == [2.0, 10.0, float("inf")]
    assert [2.0, 10.0, float("-inf")] in ranks_of(["2", "10", ""])
    assert len(ranks_of(["2020-01-02", "2020-02-01"])) == 1
    assert ranks_of(["02.01.2020", "01.02.2020"])[0][0] < ranks_of(["02.01.2020", "01.02.2020"])[0][1]
