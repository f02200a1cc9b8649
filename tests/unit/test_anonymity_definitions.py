"""Distances against linear programs, and random releases recomputed from their files by definitions written here."""

import csv
import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from sfumato.anonymity import AnonymizeRequest, anonymize
from sfumato.anonymity.classes import Classes
from sfumato.anonymity.inspection import exact
from sfumato.anonymity.models import closeness
from sfumato.errors import InputError

VALUES = ("a", "b", "c", "d", "e")
TREE = {v: (v, g, top, "*") for v, g, top in zip(VALUES, "xxyyz", "ppppq", strict=True)}


def ground(kind):
    """The distance between any two sensitive values, as it is defined."""

    def between(i, j):
        if kind == "equal":
            return Fraction(int(i != j))
        if kind == "ordered":
            return Fraction(abs(i - j), len(VALUES) - 1)
        levels = zip(TREE[VALUES[i]], TREE[VALUES[j]], strict=True)
        return Fraction(next(level for level, (a, b) in enumerate(levels) if a == b), 3)

    return [[between(i, j) for j in range(len(VALUES))] for i in range(len(VALUES))]


def moved(kind, part, whole):
    """The least work that makes one distribution the other: a linear program."""
    optimize = pytest.importorskip("scipy.optimize")
    n = len(VALUES)
    rows = [[float(k // n == i) for k in range(n * n)] for i in range(n)]
    columns = [[float(k % n == j) for k in range(n * n)] for j in range(n)]
    wanted = [h / sum(part) for h in part] + [h / sum(whole) for h in whole]
    cost = [float(one) for line in ground(kind) for one in line]
    return optimize.linprog(cost, A_eq=rows + columns, b_eq=wanted).fun


@pytest.mark.parametrize("kind", ["equal", "ordered", "hierarchical"])
def test_a_distance_is_the_least_work(kind):
    """The check's formula, the search's formula and the linear program agree."""
    rng = random.Random(kind)
    for _ in range(60):
        whole = [rng.randint(1, 9) for _ in VALUES]
        part = [rng.randint(0, n) for n in whole]
        if not sum(part):
            continue
        counts, total = Counter(dict(zip(VALUES, part, strict=True))), dict(zip(VALUES, whole, strict=True))
        found = {
            "equal": exact.equal_distance,
            "ordered": lambda c, w: exact.ordered_distance(c, w, VALUES),
            "hierarchical": lambda c, w: exact.hierarchical_distance(c, w, TREE),
        }[kind](counts, total)
        histogram = np.array([part], np.int64)
        model = closeness(1, kind, VALUES, TREE)
        classes = Classes(np.zeros(1, np.int64), histogram, histogram.sum(axis=1))
        wanted = moved(kind, part, whole)
        assert float(found) == pytest.approx(wanted, abs=1e-9)
        assert float(model.distances(classes, np.array(whole))[0]) == pytest.approx(wanted, abs=1e-9)


def read(file):
    with file.open(newline="", encoding="utf-8") as stream:
        return [tuple(row) for row in csv.reader(stream)][1:]


def random_people(rng):
    """Ages, places and a secret that depends on them in part."""
    for _ in range(rng.randint(12, 90)):
        age, place = int(40 * rng.random() ** 2), rng.choice(["p1", "p2", "q1", "q2"])
        secret = rng.choice(VALUES) if rng.random() < 0.7 else VALUES[age % 3]
        yield str(age), place, secret


def holds(counts, whole, wanted):
    """Whether a class satisfies what was asked for, from the definitions."""
    size, rows = sum(counts.values()), sum(whole.values())
    shares = [Fraction(n, size) for n in counts.values()]
    if size < wanted["k"]:
        return False
    if "l" in wanted:
        ordered = sorted(counts.values(), reverse=True)
        kind = wanted.get("diversity", "distinct")
        if kind == "distinct" and len(ordered) < wanted["l"]:
            return False
        if kind == "entropy" and -sum(float(p) * math.log(p) for p in shares) < math.log(wanted["l"]) - 1e-9:
            return False
        if kind == "recursive" and not ordered[0] < 3 * sum(ordered[wanted["l"] - 1 :]):
            return False
    if "t" in wanted:
        there = [Fraction(counts.get(v, 0), size) - Fraction(whole.get(v, 0), rows) for v in VALUES]
        far = sum(map(abs, there)) / 2
        if wanted.get("distance") == "ordered":
            far = sum(map(abs, list(itertools.accumulate(there))[:-1])) / (len(VALUES) - 1)
        if far > Fraction(wanted["t"]):
            return False
    return "beta" not in wanted or all(
        Fraction(n, size) <= (1 + Fraction(wanted["beta"])) * Fraction(whole[v], rows) for v, n in counts.items()
    )


def stands_for(label, value):
    """Whether a label of these hierarchies, or a range or set of them, covers a value."""
    if label in ("*", value) or value in label.split("|") or any(value[0] + "x" == one for one in label.split("|")):
        return True
    low, dots, high = label.partition("..")
    return bool(dots) and value.isdecimal() and int(low) <= int(value) <= int(high)


def recompute(home, seed):
    """One random table and request: every condition of the release is computed again."""
    rng = random.Random(seed)
    people = list(random_people(rng))
    with (home / "t.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("age", "place", "secret"), *people])
    wanted = {"k": rng.randint(1, 6)}
    if rng.random() < 0.6:
        wanted |= {"l": rng.randint(1, 5), "diversity": rng.choice(["distinct", "entropy", "recursive"])}
    if rng.random() < 0.5:
        wanted |= {"t": rng.choice(["0.2", "0.35", "0.6"]), "distance": rng.choice(["equal", "ordered"])}
    if rng.random() < 0.3:
        wanted |= {"beta": rng.choice(["0.5", "2"])}
    method, limit = rng.choice(["lattice", "mondrian"]), rng.choice(["0", "0.1", "0.5"])
    extra = {"order": VALUES} if wanted.get("distance") == "ordered" else {}
    asked = AnonymizeRequest(
        str(home / "t.csv"), ("age", "place"), "secret", **wanted, **extra,
        method=method, suppress=limit, hierarchies=home / "h.toml",
    )  # fmt: skip
    try:
        done = anonymize(asked, str(home / "o.csv"))
    except InputError:
        return "none", method
    rows = read(home / "o.csv")
    whole, classes = Counter(secret for *_, secret in people), {}
    for age, place, secret in rows:
        classes.setdefault((age, place), Counter())[secret] += 1
    assert all(holds(counts, whole, wanted) for counts in classes.values()), (seed, wanted)
    assert len(people) - len(rows) == done.suppressed <= Fraction(limit) * len(people)
    assert done.k == min((sum(counts.values()) for counts in classes.values()), default=0)
    for key, counts in classes.items():  # enough people of each value whom the labels cover
        fitting = Counter(s for *own, s in people if all(map(stands_for, key, own)))
        assert all(counts[secret] <= fitting[secret] for secret in counts), (seed, key)
    return "suppressed" if done.suppressed else "whole", method


HIERARCHIES = """
[age]
kind = "intervals"
low = 0
high = 39
widths = [5, 20]
[place]
kind = "rows"
rows = [["p1", "px"], ["p2", "px"], ["q1", "qx"], ["q2", "qx"]]
"""


def test_random_releases_satisfy_what_was_asked_for(tmp_path):
    (tmp_path / "h.toml").write_text(HIERARCHIES)
    seen = Counter(recompute(tmp_path, seed) for seed in range(40))
    print(dict(seen))  # noqa: T201  what it covers
    assert all(seen["whole", method] >= 5 for method in ("lattice", "mondrian"))
    assert seen["suppressed", "lattice"] >= 5
    assert sum(n for (what, _), n in seen.items() if what == "none") >= 3


@pytest.mark.slow
def test_many_random_releases_satisfy_what_was_asked_for(tmp_path):
    (tmp_path / "h.toml").write_text(HIERARCHIES)
    assert sum(what != "none" for what, _ in (recompute(tmp_path, seed) for seed in range(1000, 3000))) > 1000
