"""Two releases whose labels and values look like one another: who passes is one of k by what the labels stand for."""

import csv
import json
import random
from collections import Counter, defaultdict

import duckdb

from sfumato.anonymity import check_release
from sfumato.anonymity.hierarchies import from_rows
from sfumato.anonymity.inspection import EarlierRelease, claims_of
from sfumato.errors import InputError

POOLS = [
    ["1", "2", "3", "4"], ["01", "1", "1.0", "2"], ["a", "b", "c", "d"], ["a", "", "b", "c"], ["1*", "12", "13", "2"],
    ["10-19", "12", "15", "20-29"], ["a|b", "a", "b", "c"], ["*", "a", "b", "c"], [" 1", "1", "2", "3"],
    ["2020-01-05", "2020-01-06", "2020-02-01", "2021-03-03"], ["20200101", "20200105", "20200201", "20210303"],
]  # fmt: skip
LABELS = [
    "0-99", "0..99", "<=99", ">=0", "1-2", "3-4", "1..2", "0+", "1*", "2020", "2020-01", "2019-2022", "n", "m", "1|2",
    "a|b", "{a,b}", "a", "b", "1", "2", "01", "",
]  # fmt: skip
SEEDS = 900
K = 8


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows([head, *rows])
    return path


def random_rows(rng, values):
    """A hierarchy of one or two levels, whose labels may be values, ranges, or labels of the other level."""
    rows = [[value] for value in values]
    names = rng.choice([LABELS, LABELS[:5], values])
    for _ in range(rng.choice([1, 2])):
        below = list(dict.fromkeys(row[-1] for row in rows))
        above = rng.sample(sorted(set(names)), min(2, len(names)))
        new = {label: above[i % 2] for i, label in enumerate(below)}
        rows = [[*row, new[row[-1]]] for row in rows]
        names = rng.choice([above, LABELS])
    return [[*row, "*"] for row in rows]


def random_release(rng, folder, number, people, trees):
    """A release by one level of each column, the people whose classes it leaves out, and where its hierarchies are."""
    quasi = tuple(rng.sample("AB", rng.choice([1, 1, 2])))
    try:
        hierarchies = {name: from_rows(name, trees[name]) for name in quasi}
    except InputError:
        return None
    level = {name: rng.choice([0, 1, 1, 1, 2]) for name in quasi}
    marks = [tuple(hierarchies[name].labels(one[name])[min(level[name], hierarchies[name].height)] for name in quasi)
             for one in people]  # fmt: skip
    sizes = Counter(marks)
    marks = [mark if sizes[mark] >= K else None for mark in marks]
    rows = sorted((*mark, one["S"]) for mark, one in zip(marks, people, strict=True) if mark)
    place = folder / f"h{number}.toml"
    place.write_text("".join(f"[{name}]\nkind = 'rows'\nrows = {json.dumps(trees[name])}\n" for name in trees))
    return (write(folder / f"r{number}.csv", (*quasi, "S"), rows), quasi, place, marks) if rows else None


def test_whoever_passes_is_one_of_k_by_what_labels_stand_for(tmp_path):
    """Truth is the label of each person by the hierarchy that made the release, whatever its text looks like."""
    seen = Counter()
    for seed in range(SEEDS):
        rng = random.Random(f"labels {seed}")
        pools = {name: rng.sample(rng.choice([*POOLS, *POOLS[:1] * 5]), rng.choice([2, 4])) for name in "AB"}
        cells = [[pools[name][(i // step) % len(pools[name])] for name, step in (("A", 1), ("B", 2))] for i in range(4)]
        people = [dict(zip("ABS", (*cells[i % len(cells)], "st"[i % 2]), strict=True)) for i in range(16)]
        same = {name: random_rows(rng, pools[name]) for name in "AB"}
        trees = [same, same if rng.random() < 0.5 else {name: random_rows(rng, pools[name]) for name in "AB"}]
        made = [random_release(rng, tmp_path, number, people, tree) for number, tree in enumerate(trees)]
        if None in made:
            continue
        raw = write(tmp_path / "raw.csv", tuple("ABS"), [tuple(one.values()) for one in people])
        (first, quasi, place, marks), (last, own, here, others) = made
        earlier = EarlierRelease(first, quasi, "S", same_hierarchies=False, hierarchies=place, claims=claims_of(K))
        report = check_release(last, raw, own, "S", hierarchies=here, earlier=[earlier], claims=claims_of(K))
        groups = defaultdict(int)
        for mark in zip(marks, others, strict=True):
            groups[mark] += any(mark)
        is_good = min(n for n in groups.values() if n) >= K
        assert is_good or not report.faultless, seed
        seen[is_good, report.faultless] += 1
        seen["confused"] += any("each other" in words for words in report.not_together)
    assert seen[True, True] > 110, seen
    assert seen[False, False] > 150, seen
    assert 100 < seen["confused"] < 220, "labels that hierarchies explain are read as these say"


def test_null_and_an_empty_text_are_two_labels_of_an_earlier_release(tmp_path):
    """Where this release does not tell them apart, they are one value of the original table, and nobody can be given to
    a class.
    """
    people = [(None, "a", "s"), (None, "b", "t"), ("", "a", "t"), ("", "b", "s")]
    tables = {"raw": "X, Y, S", "first": "X, S", "last": "Y, S"}
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE people (X VARCHAR, Y VARCHAR, S VARCHAR)")
        engine.executemany("INSERT INTO people VALUES (?, ?, ?)", people)
        for name, columns in tables.items():
            order = "ORDER BY ALL NULLS FIRST" if name != "raw" else ""
            engine.execute(f"COPY (SELECT {columns} FROM people {order}) TO '{tmp_path / name}.parquet'")
    last, raw = tmp_path / "last.parquet", tmp_path / "raw.parquet"
    earlier = EarlierRelease(tmp_path / "first.parquet", ("X",), "S", claims=claims_of(2))
    assert check_release(last, raw, ("Y",), "S", claims=claims_of(2, 2)).passed
    report = check_release(last, raw, ("Y",), "S", claims=claims_of(2, 2), earlier=[earlier])
    assert not report.passed
    assert 'labels of "first.parquet" in column "X" can be taken for each other' in report.not_together[0]
