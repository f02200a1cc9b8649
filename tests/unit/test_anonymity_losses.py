"""Losses by definition: what a range of an enumerated domain hides, and what the search may call the smallest."""

import csv
import itertools
import random
from collections import Counter
from fractions import Fraction

from sfumato.anonymity import AnonymizeRequest, anonymize
from sfumato.anonymity.hierarchies import from_rows, prefixes


def written(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows([head, *rows])
    return str(path)


def share_of(label, domain):
    """Of a label of Mondrian: how many of the other values of the domain it could stand for."""
    if label == "*":
        return Fraction(1)
    low, _, high = label.partition("..")
    inside = [value for value in domain if Fraction(low) <= Fraction(value) <= Fraction(high or low)]
    return Fraction(len(inside) - 1, len(domain) - 1)


def test_a_range_hides_the_values_of_the_domain_that_lie_in_it(tmp_path):
    seen = Counter()
    for seed in range(30):
        rng = random.Random(seed)
        step = rng.choice([Fraction(1, 10), Fraction(1), Fraction(1000)])
        domain = sorted({str(float(rng.randint(0, 40) * step)) for _ in range(rng.randint(3, 30))})
        hierarchy = from_rows("q", [[value, "*"] for value in domain])
        rows = [(value,) for value in rng.choices(domain, k=rng.randint(4, 40))]
        data, out = written(tmp_path / f"{seed}.csv", ("q",), rows), tmp_path / f"{seed}.out.csv"
        done = anonymize(AnonymizeRequest(data, ("q",), k=2, method="mondrian", hierarchies={"q": hierarchy}), str(out))
        with out.open(newline="", encoding="utf-8") as stream:
            labels = [row["q"] for row in csv.DictReader(stream)]
        assert len(labels) == len(rows)
        assert done.loss == sum(share_of(label, domain) for label in labels) / len(rows)
        seen[float(step), any(".." in label for label in labels)] += 1
    print(dict(seen))  # noqa: T201  what it covers
    assert all(seen[step, True] for step in (0.1, 1.0, 1000.0))


def test_what_rounding_leaves_open_is_said(tmp_path):
    """One character of thirty hides 9 of 10^30 codes, less than a unit of loss: it is compared in fractions."""
    codes = [f"{i:030d}" for i in range(40)]
    data = written(tmp_path / "a.csv", ("code", "sex"), [(code, "mf"[i % 2]) for i, code in enumerate(codes)])
    long, short = prefixes("code", 30, [1, 2]), from_rows("sex", [["m", "*"], ["f", "*"]])
    done = anonymize(AnonymizeRequest(data, ("code", "sex"), k=4, hierarchies={"code": long, "sex": short}))
    assert (done.optimal, done.gap, done.bound) == (True, 0, float(done.loss))
    assert done.loss > 0
    request = AnonymizeRequest(data, ("code", "sex"), k=4, hierarchies={"code": long, "sex": short}, seconds=0)
    early = anonymize(request)
    assert (early.interrupted, early.optimal) == (True, False)
    assert early.gap == float(early.loss) - early.bound > 0
    shorter = written(tmp_path / "c.csv", ("code", "sex"), [(code[-12:], "mf"[i % 2]) for i, code in enumerate(codes)])
    exact = {"code": prefixes("code", 12, [1, 2]), "sex": short}
    done = anonymize(AnonymizeRequest(shorter, ("code", "sex"), k=4, hierarchies=exact))
    assert (done.optimal, done.gap) == (True, 0)
    few = [(str(i % 5), "mf"[i % 2]) for i in range(40)]
    data = written(tmp_path / "b.csv", ("code", "sex"), few)
    done = anonymize(
        AnonymizeRequest(data, ("code", "sex"), k=4, hierarchies={"code": prefixes("code", 1, []), "sex": short})
    )
    assert (done.optimal, done.gap) == (True, 0)


def tied_table(rng):
    """Codes in two or three columns, one of which has to lose some characters, and where these can be cut."""
    many = rng.choice([2, 2, 3])
    lengths = [rng.choice([12, 18, 22, 25, 30])] * many if rng.random() < 0.7 else rng.sample([2, 18, 22, 25, 30], many)
    stars = [sorted(rng.sample(range(1, min(length, 6)), min(length - 1, 3))) for length in lengths]
    cells = []
    for length, some in zip(lengths, stars, strict=True):
        at = rng.choice([length - star for star in some])
        cells.append(["0" * length, "0" * at + "1" + "0" * (length - at - 1)])
    people = [*itertools.product(*cells)]
    return lengths, stars, people + [rng.choice(people) for _ in range(rng.choice([0, 0, 1, 2]))]


def loss_of(people, level, lengths, most):
    """The loss of a generalisation by definition, in fractions; None where it suppresses too much."""
    marks = [
        tuple("*" if n is None else code[: len(code) - n] for code, n in zip(one, level, strict=True)) for one in people
    ]
    sizes = Counter(marks)
    lost = sum(sizes[mark] < 2 for mark in marks)
    if lost > most or lost == len(people):
        return None
    shares = [
        Fraction(1) if n is None else Fraction(10**n - 1, 10**length - 1)
        for n, length in zip(level, lengths, strict=True)
    ]
    return (sum(shares) * (len(people) - lost) / len(lengths) + lost) / len(people)


def test_losses_that_rounding_makes_equal_are_compared_exactly(tmp_path):
    """Codes of up to thirty characters: the release called optimal has the least loss of all, in fractions."""
    rng, told = random.Random("ties"), 0
    for case in range(80):
        lengths, stars, people = tied_table(rng)
        names = [f"c{j}" for j in range(len(lengths))]
        data = written(tmp_path / f"{case}.csv", names, people)
        hierarchies = {name: prefixes(name, n, some) for name, n, some in zip(names, lengths, stars, strict=True)}
        suppress = rng.choice([0, 0, Fraction(1, 3)])
        done = anonymize(AnonymizeRequest(data, tuple(names), k=2, suppress=suppress, hierarchies=hierarchies))
        levels = itertools.product(*([0, *some, None] for some in stars))
        losses = [loss_of(people, level, lengths, int(suppress * len(people))) for level in levels]
        least = min(loss for loss in losses if loss is not None)
        assert (done.optimal, done.loss) == (True, least), case
        told += any(0 < loss - least < Fraction(1, 2**50) for loss in losses if loss is not None)
    assert told > 20, "losses that units do not tell apart"
