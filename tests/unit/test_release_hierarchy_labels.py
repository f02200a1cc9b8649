"""Labels of a hierarchy mean what the hierarchy says and nothing else, however they look and whatever their levels."""

import csv
import itertools
import json
import random
import sys
from collections import Counter

import pytest

from sfumato.anonymity import AnonymizeRequest, anonymize, check_release
from sfumato.anonymity.hierarchies import from_rows
from sfumato.anonymity.inspection import EarlierRelease, claims_of
from sfumato.anonymity.lattice import NoRelease
from sfumato.errors import InputError

HIDING = ["*", "**", "***", ""]
PLAIN = {name: f"plain{i}" for i, name in enumerate(HIDING)}
SEEDS = 600


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows([head, *rows])
    return path


def hierarchy_file(path, rows):
    path.write_text(f"[code]\nkind = 'rows'\nrows = {json.dumps(rows)}\n")
    return path


def random_forgery(rng):
    """A hierarchy of six values with labels that look like hidden cells, and a release whose secrets may be swapped."""
    values = [str(i) for i in range(6)]
    pool = rng.choice([["*", "**", "***", "", "AA"], ["**", "***", "AA"], ["*", "", "AA"]])
    inner = {value: rng.choice(pool) for value in values}
    people = [(value, f"s{i % 4}") for i, value in enumerate(values * 2)]
    rng.shuffle(people)
    rows = [[inner[value], secret] for value, secret in people]
    for _ in range(rng.choice([0, 1, 3])):
        one, other = rng.sample(rows, 2)
        one[1], other[1] = other[1], one[1]
    return [[value, inner[value], "top"] for value in values], people, sorted(rows)


def is_true(people, rows, tree):
    """Whether the rows can be given to different people of the same secret: by trying all ways, secret by secret."""
    above = {row[0]: row for row in tree}
    for secret in {one for _, one in people}:
        here = [value for value, one in people if one == secret]
        labels = [label for label, one in rows if one == secret]
        if not any(
            all(label in above[value] for label, value in zip(labels, way, strict=False))
            for way in itertools.permutations(here, len(labels))
        ):
            return False
    return True


def test_a_label_that_looks_like_a_hidden_cell_covers_what_the_hierarchy_says(tmp_path):
    """With `**` a forged release gets the verdict that it gets with a name in its place; `*` and nothing never pass."""
    seen = Counter()
    for seed in range(SEEDS):
        rng = random.Random(f"forged {seed}")
        tree, people, rows = random_forgery(rng)
        raw = write(tmp_path / "raw.csv", ("code", "s"), people)
        release = write(tmp_path / "r.csv", ("code", "s"), rows)
        report = check_release(release, raw, ("code",), "s", hierarchies=hierarchy_file(tmp_path / "h.toml", tree))
        labels = {label for label, _ in rows}
        named = [[value, PLAIN.get(label, label), top] for value, label, top in tree]
        other = write(tmp_path / "n.csv", ("code", "s"), sorted((PLAIN.get(label, label), s) for label, s in rows))
        plain = check_release(other, raw, ("code",), "s", hierarchies=hierarchy_file(tmp_path / "n.toml", named))
        kinds, wanted = Counter(f.kind for f in report.faults), Counter(f.kind for f in plain.faults)
        assert wanted["coverage"] == kinds["coverage"], seed
        assert bool(wanted["coverage"]) is not is_true(people, rows, tree), seed
        assert kinds["label"] == len(labels & {"*", ""}), seed
        seen[report.faultless, bool(wanted["coverage"]), bool(kinds["label"])] += 1
    cases = [(True, False, False), (False, True, False), (False, False, True), (False, True, True)]
    assert min(seen[case] for case in cases) > 20, seen


@pytest.mark.parametrize("label", ["*", ""])
def test_a_hierarchy_that_hides_some_values_is_refused_by_those_who_make_releases(label):
    with pytest.raises(InputError, match="above some of its values only"):
        from_rows("code", [["1", label], ["2", label], ["11", "**"], ["12", "**"]])
    from_rows("code", [["1", "**", "*"], ["2", "***", "*"]])
    from_rows("code", [[label, label, "all"], ["2", "b", "all"]])  # a value that is spelt so is itself


WORDS = ["p", "q", "r", "s", "t", "u"]
NAMES = ["**", "***", "a", "b", "c", "d", "p", "q", "a|b", "0..2"]


def random_tree(rng):
    """Labels on two levels, which may be those of another level, of a value, or look like a hidden cell or a set."""
    rows = [[value] for value in WORDS]
    for groups in (3, 2):
        names = rng.sample(NAMES, groups)
        below = sorted({row[-1] for row in rows})
        above = {label: rng.choice(names) for label in below}
        rows = [[*row, above[row[-1]]] for row in rows]
    return [[*row, "*"] for row in rows]


def readings(label, tree):
    """What a label can mean: values by the hierarchy, on each level where it has it or on all; members; or all."""
    levels = [{row[0] for row in tree if row[i] == label} for i in range(len(tree[0]))]
    listed = [values for values in levels if values]
    if listed:
        return [*{frozenset(values) for values in (*listed, set().union(*listed))}]
    if label == "*":
        return [frozenset(WORDS)]
    parts = [readings(part, tree) for part in label.split("|")] if "|" in label else []
    return [frozenset().union(*way) for way in itertools.product(*parts)]


def truths(rows, people, tree):
    """For each way to read the labels of a release by which it is true: the classes that each person can be in."""
    classes = sorted({tuple(row[:-1]) for row in rows})
    labels = sorted({one[0] for one in classes})
    for way in itertools.islice(itertools.product(*(readings(label, tree) for label in labels)), 40):
        means = dict(zip(labels, way, strict=True))
        marks = [
            tuple(
                i
                for i, one in enumerate(classes)
                if p[0] in means[one[0]] and one[1:2] in ((), (p[1],), ("*",), ("1..2",))
            )
            for p in people
        ]
        if all(marks):
            yield marks


def test_who_passes_is_one_of_k_by_the_hierarchy_alone_where_levels_mix(tmp_path):
    """Local recoding mixes levels: two releases that pass leave k people by every reading of all labels."""
    seen, k = Counter(), 3
    for seed in range(SEEDS // 3):
        rng = random.Random(f"levels {seed}")
        people = [(rng.choice(WORDS), rng.choice("12"), f"s{i % 3}") for i in range(14)]
        raw = write(tmp_path / "raw.csv", ("code", "zip", "s"), people)
        tree = random_tree(rng)
        place = hierarchy_file(tmp_path / "h.toml", tree)
        found = []
        for number, quasi in enumerate(rng.sample([("code",), ("code", "zip")], 2)):
            request = AnonymizeRequest(
                str(raw), quasi, "s", k=k, hierarchies=place, method=rng.choice(["mondrian"] * 3 + ["lattice"])
            )
            try:
                anonymize(request, str(tmp_path / f"r{number}.csv"))
            except (NoRelease, InputError):
                break
            with (tmp_path / f"r{number}.csv").open(newline="") as stream:
                found.append((quasi, list(csv.reader(stream))[1:]))
        if len(found) < 2:
            continue
        (first, rows), (last, others) = found
        earlier = EarlierRelease(tmp_path / "r0.csv", first, "s", claims=claims_of(k))
        report = check_release(
            tmp_path / "r1.csv", raw, last, "s", hierarchies=place, earlier=[earlier], claims=claims_of(k)
        )
        known = [
            Counter(zip(*ways, strict=True))
            for ways in itertools.product(truths(rows, people, tree), truths(others, people, tree))
        ]
        least = min(min(one.values()) for one in known)
        is_copy = rows == others
        assert not report.faultless or least >= k or is_copy, seed
        seen[report.faultless, least >= k] += 1
        seen["mixed"] += (
            len({i for row in (*rows, *others) for one in tree for i, label in enumerate(one) if label == row[0]}) > 1
        )
    sys.stdout.write(f"{dict(seen)}\n")
    assert seen[True, True] > 5, seen
    assert seen[False, False] > 20, seen
    assert seen["mixed"] > 40, seen
