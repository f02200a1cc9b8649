"""Random small tables with hierarchies, and the best release by enumeration and definition alone."""

import itertools
import random
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.anonymity.classes import Tuples
from sfumato.anonymity.compress import _ladder, number_rows
from sfumato.anonymity.hierarchies import from_rows
from sfumato.anonymity.inspection import exact
from sfumato.anonymity.models import (
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    Likeness,
    Presence,
    RecursiveDiversity,
    closeness,
)

VALUES = ("a", "b", "c", "d")
TREE = {"a": ("a", "x", "*"), "b": ("b", "x", "*"), "c": ("c", "y", "*"), "d": ("d", "y", "*")}
KINDS = ("k", "distinct", "entropy", "recursive", "equal", "ordered", "hierarchical", "beta", "presence")


def random_hierarchy(rng, column):
    """A nested hierarchy of two to six values and one to three levels above them."""
    rows = [[f"{column}{i}"] for i in range(rng.randint(2, 6))]
    for level in range(rng.randint(0, 2)):
        labels = sorted({row[-1] for row in rows})
        groups = {label: f"g{level}{rng.randint(0, max(1, len(labels) // 2))}" for label in labels}
        rows = [[*row, groups[row[-1]]] for row in rows]
    return from_rows(column, [[*row, "*"] for row in rows])


def random_table(rng):
    """Hierarchies, and for each row its quasi-identifiers and sensitive value; and a larger population."""
    columns = [f"q{i}" for i in range(rng.randint(1, 3))]
    hierarchies = {column: random_hierarchy(rng, column) for column in columns}
    weights = [rng.random() ** 3 + 0.02 for _ in VALUES]

    def person():
        return tuple(f"{c}{int(hierarchies[c].domain * rng.random() ** 2)}" for c in columns)

    def secret(key):  # in part a matter of the first quasi-identifier
        return rng.choices(VALUES, weights)[0] if rng.random() < 0.6 else VALUES[int(key[0][-1]) % rng.randint(1, 4)]

    rows = [(key, secret(key)) for key in (person() for _ in range(rng.randint(4, 40)))]
    return hierarchies, rows, [key for key, _ in rows] + [person() for _ in range(rng.randint(0, 60))]


def tuples_of(hierarchies, rows, population=None):
    """The same table as the search takes it."""
    columns = list(hierarchies)
    world = Counter(population or [])
    keys = sorted({key for key, _ in rows} | set(world))
    values = [sorted({key[j] for key in keys}) for j in range(len(columns))]
    codes = [np.array([values[j].index(key[j]) for key in keys]) for j in range(len(columns))]
    first, place = number_rows(codes, [len(v) for v in values])
    assert len(first) == len(keys)
    names = tuple(v for v in VALUES if any(s == v for _, s in rows))
    histogram = np.zeros((len(keys), len(names)), np.int64)
    people = np.zeros(len(keys), np.int64)
    where = {key: int(place[i]) for i, key in enumerate(keys)}
    for key, secret in rows:
        histogram[where[key], names.index(secret)] += 1
    for key, many in world.items():
        people[where[key]] += many
    unit = (1 << 32) // len(columns)
    ladders = tuple(_ladder(c, values[j], hierarchies[c], unit) for j, c in enumerate(columns))
    held = tuple(code[first] for code in codes)
    return Tuples(ladders, held, histogram, names, unit, people if population else None)


def random_models(rng, kinds, tuples):
    """For each kind a model with a parameter, and the same condition by definition."""
    made = []
    for kind in kinds:
        if kind == "k":
            k = rng.randint(1, 5)
            made.append((KAnonymity(k), lambda c, w, n, k=k: sum(c.values()) >= k))
        elif kind == "distinct":
            many = rng.randint(1, len(tuples.sensitive))
            made.append((DistinctDiversity(many), lambda c, w, n, m=many: exact.distinct_of([c]) >= m))
        elif kind == "entropy":
            even = Fraction(rng.choice([1, 2, Fraction(3, 2), Fraction(5, 2), len(tuples.sensitive)]))
            even = min(even, Fraction(len(tuples.sensitive)))
            made.append((EntropyDiversity(even), lambda c, w, n, e=even: exact.is_entropy_diverse(c, e)))
        elif kind == "recursive":
            many, ratio = rng.randint(1, len(tuples.sensitive)), Fraction(rng.randint(1, 8), 2)
            made.append((RecursiveDiversity(many, ratio), lambda c, w, n, m=many, r=ratio: _recursive(c, m, r)))
        elif kind == "beta":
            beta = Fraction(rng.randint(1, 12), 4)
            made.append((Likeness(beta), lambda c, w, n, b=beta: _alike(c, w, b)))
        elif kind == "presence":
            low, high = Fraction(rng.choice([0, 0, 1]), 10), Fraction(rng.randint(4, 10), 10)
            made.append((Presence(low, high), PartOfPeople(low, high)))
        else:
            t = Fraction(rng.randint(0, 10), 20)
            distance = {
                "equal": exact.equal_distance,
                "ordered": lambda c, w: exact.ordered_distance(c, w, list(tuples.sensitive)),
                "hierarchical": lambda c, w: exact.hierarchical_distance(c, w, TREE),
            }[kind]
            made.append((closeness(t, kind, tuples.sensitive, TREE), lambda c, w, n, t=t, d=distance: d(c, w) <= t))
    return made


@dataclass(frozen=True)
class PartOfPeople:
    """delta-presence by definition."""

    low: Fraction
    high: Fraction

    def __call__(self, counts, _, people):
        return self.low <= Fraction(sum(counts.values()), people) <= self.high


def _recursive(counts, many, ratio):
    found = exact.recursive_of([counts], many)
    return found is not None and found < ratio


def _alike(counts, whole, beta):
    many, rows = sum(counts.values()), sum(whole.values())
    return all(Fraction(n, many) <= (1 + beta) * Fraction(whole[v], rows) for v, n in counts.items())


def evaluate(hierarchies, rows, population, node, conditions):
    """Rows that a node suppresses, its loss, and whether it gives everybody what they are promised, by definition."""
    label = [
        {v: hierarchies[c].labels(v)[level] for v in {key[j] for key in [r[0] for r in rows] + population}}
        for j, (c, level) in enumerate(zip(hierarchies, node, strict=True))
    ]
    classes, world = {}, Counter()
    for key, secret in rows:
        classes.setdefault(tuple(label[j][v] for j, v in enumerate(key)), Counter())[secret] += 1
    for key in population:
        world[tuple(label[j][v] for j, v in enumerate(key))] += 1
    whole = Counter(secret for _, secret in rows)
    suppressed, loss, released = 0, Fraction(0), set()
    for key, counts in classes.items():
        many = sum(counts.values())
        if all(condition(counts, whole, world[key]) for condition in conditions):
            shares = [h.share(level, one) for h, level, one in zip(hierarchies.values(), node, key, strict=True)]
            loss += many * sum(shares) / len(shares)
            released.add(key)
        else:
            suppressed += many
            loss += many
    least = max((one.low for one in conditions if isinstance(one, PartOfPeople)), default=0)
    return suppressed, loss / len(rows), least == 0 or set(world) <= released


def nodes_of(hierarchies):
    return itertools.product(*(range(h.height + 1) for h in hierarchies.values()))


def case(seed, kinds):
    """One random problem."""
    rng = random.Random(f"{seed} {kinds}")
    hierarchies, rows, population = random_table(rng)
    tuples = tuples_of(hierarchies, rows, population if "presence" in kinds else None)
    models = random_models(rng, kinds, tuples)
    limit = int(rng.choice([0, 0.1, 0.3, 0.6, 1]) * len(rows))
    return hierarchies, rows, population, tuples, models, limit
