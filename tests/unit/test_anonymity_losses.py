"""Losses by definition: what a range of an enumerated domain hides, and what the search may call the smallest."""

import csv
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
    """One character of thirty hides 9 of 10^30 codes, less than a unit of loss: the search cannot tell it from none."""
    codes = [f"{i:030d}" for i in range(40)]
    data = written(tmp_path / "a.csv", ("code", "sex"), [(code, "mf"[i % 2]) for i, code in enumerate(codes)])
    long, short = prefixes("code", 30, [1, 2]), from_rows("sex", [["m", "*"], ["f", "*"]])
    done = anonymize(AnonymizeRequest(data, ("code", "sex"), k=4, hierarchies={"code": long, "sex": short}))
    assert done.optimal
    assert 0 < done.gap < 1e-8
    assert done.bound < float(done.loss)
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
