"""Sensitivities: closed forms against a search over all databases that shares nothing with the product."""

from fractions import Fraction
from itertools import product

import pytest

from sfumato import design
from sfumato.errors import InputError

F = Fraction


def neighbours(one, other, adjacency):
    """Whether two tuples are neighbours, by the words of the lecture."""
    replaced = len(one) == len(other) and sum(a != b for a, b in zip(one, other, strict=True)) == 1
    small, large = sorted((one, other), key=len)
    added = len(large) == len(small) + 1 and any(large[:i] + large[i + 1 :] == small for i in range(len(large)))
    return (replaced and adjacency != "add-remove") or (added and adjacency != "replace")


def rank(records, p):
    """The least value that at least p in a hundred do not exceed."""
    return min(v for v in records if 100 * sum(w <= v for w in records) >= p * len(records))


TOP = 3
PLAIN = {
    "count": lambda x: sum(v == TOP for v in x),
    "sum": sum,
    "average": lambda x: F(sum(x), len(x)),
    "percentage": lambda x: F(100 * sum(v == TOP for v in x), len(x)),
    "percentile": lambda x: rank(x, 30),
    "median": lambda x: rank(x, 50),
    "max": max,
    "min": min,
}


@pytest.mark.parametrize("adjacency", ["both", "replace", "add-remove"])
@pytest.mark.parametrize("query", PLAIN)
def test_closed_forms_agree_with_all_databases(query, adjacency):
    for low in (-1, 0, 2):
        for least in (1, 2):
            values = range(low, TOP + 1)
            whole = [x for n in (least, least + 1) for x in product(values, repeat=n)]
            found = max(
                abs(PLAIN[query](a) - PLAIN[query](b)) for a in whole for b in whole if neighbours(a, b, adjacency)
            )
            options = {"min_size": least, "adjacency": adjacency, "percentile": 30}
            assert design.sensitivity(query, low, TOP, **options) == found
            looked = design.swing(query, low, TOP, closed=False, **options)
            assert looked.value == found
            assert neighbours(*looked.databases, adjacency)
            assert abs(PLAIN[query](looked.databases[0]) - PLAIN[query](looked.databases[1])) == found


@pytest.mark.parametrize("query", PLAIN)
def test_closed_forms_of_metrics_agree_with_all_databases(query):
    values, width = (0, 1, TOP - 1, TOP), TOP
    for size in (1, 2, 3):
        whole = list(product(values, repeat=size))
        found = max(
            abs(PLAIN[query](a) - PLAIN[query](b)) / F(sum(abs(v - w) for v, w in zip(a, b, strict=True)))
            for a in whole
            for b in whole
            if a != b
        )
        options = {"size": size, "percentile": 30, "step": 1}
        assert design.sensitivity(query, 0, TOP, metrics=("manhattan", "manhattan"), **options) == found
        assert design.sensitivity(query, 0, TOP, metrics="normalised-manhattan", **options) == found * width
        assert design.sensitivity(query, 0, TOP, metrics="manhattan", closed=False, **options) == found
        hamming = design.sensitivity(query, 0, TOP, metrics="hamming", **options)
        assert hamming == design.sensitivity(query, 0, TOP, size=size, percentile=30, adjacency="replace")
        if query not in ("count", "percentage"):
            assert found * width == hamming  # the lecture: for sum, average, percentile the two coincide


def test_closed_forms_know_the_sign_and_the_step_of_values():
    for low, high in ((-5, 3), (-3, 5), (2, 6), (-6, -2)):
        for adjacency in ("both", "replace", "add-remove"):
            options = {"adjacency": adjacency, "min_size": 1}
            looked = design.swing("sum", low, high, step=4, closed=False, **options) if high - low == 4 else None
            found = design.sensitivity("sum", low, high, **options)
            added = max(abs(low), abs(high))
            assert found == {"both": max(added, high - low), "replace": high - low, "add-remove": added}[adjacency]
            assert looked is None or looked.value == found
    for query in ("count", "percentage"):
        options = {"size": 2, "step": 2, "metrics": "manhattan"}
        assert design.sensitivity(query, 0, 4, **options) == design.sensitivity(query, 0, 4, closed=False, **options)


def test_the_lectures_average_age():
    assert design.sensitivity("average", 0, 120, min_size=100) == F(6, 5)
    assert design.sensitivity("average", 0, 120, min_size=100, adjacency="add-remove") == F(120, 101)
    assert design.sensitivity("average", 0, 120) == 120
    assert design.sensitivity("average", 0, 120, adjacency="add-remove") == 60
    assert design.sensitivity("percentage", min_size=1000) == F(1, 10)


def test_a_function_that_nobody_has_seen_is_tried_on_all_databases():
    spread = design.swing(lambda ages: max(ages) - min(ages), 0, 4, size=3, adjacency="replace")
    assert (spread.value, spread.approximate) == (4, False)
    assert spread.how == "all 125 databases of 3 records with 5 values"
    second = design.sensitivity(lambda x: sorted(x)[1], values=[0, 3, 10], size=3, adjacency="replace")
    assert second == 10
    assert design.sensitivity(lambda x: sum(x) ** 2, 0, 3, min_size=2, adjacency="add-remove") == 81 - 36
    assert design.sensitivity(lambda x: len(set(x)), values=["a", "b", "c"], size=3) == 1
    assert design.sensitivity(lambda x: sum(range(x[0])), 0, 3, size=1) == 3  # wants ints, and gets them
    mean = design.swing(lambda x: sum(x) / len(x), 0, 1, min_size=2, adjacency="add-remove")
    assert (mean.value, mean.approximate) == (F(1, 3), False)
    rough = design.swing(lambda x: sum(map(float, x)) / 7, 0, 1, size=1)
    assert rough.approximate
    pair = design.sensitivity(lambda x: (x.count(0), x.count(1)), 0, 2, size=2)
    assert pair == 2  # one leaves a box and enters another
    order = design.sensitivity(lambda x: x[0], 0, 5, min_size=1, max_size=2, adjacency="add-remove")
    assert order == 5  # somebody may come in before the first


def test_a_metric_that_is_no_path_is_looked_at_pair_by_pair():
    root = design.sensitivity(sum, 0, 2, size=2, metrics=("euclidean", "manhattan"))
    assert float(root) == pytest.approx(2**0.5)
    assert design.sensitivity(sum, 0, 2, size=2, metrics=(lambda a, b: 3 * (a != b), "manhattan")) == F(4, 3)
    assert design.sensitivity("sum", 0, 2, size=2, metrics=("manhattan", "discrete")) == 1
    values = ["walks", "cycles", "drives"]
    table = [[0, 1, 5], [1, 0, 4], [5, 4, 0]]
    drivers = design.swing(lambda x: x.count("drives"), values=values, size=2, metrics=(table, "manhattan"))
    assert (drivers.value, drivers.databases) == (F(1, 4), (("walks", "cycles"), ("walks", "drives")))
    far = [[0, 1, 9], [1, 0, 8], [9, 8, 0]]
    assert design.sensitivity(lambda x: x.count("drives"), values=values, size=2, metrics=(table, far)) == 2
    for query in ("sum", "average"):
        hamming = design.sensitivity(query, 2, 5, min_size=2, metrics="hamming")
        assert hamming == design.sensitivity(query, 2, 5, min_size=2, metrics="hamming", closed=False)


@pytest.mark.parametrize(
    ("query", "options", "says"),
    [
        ("averge", {}, "not known"),
        ("average", {}, "low and high"),
        ("average", {"low": 3, "high": 1}, "at most high"),
        ("average", {"low": 0, "high": 1, "adjacency": "near"}, "adjacency"),
        ("average", {"low": 0, "high": 1, "size": 0}, "not defined"),
        ("sum", {"low": 0, "high": 1, "size": 3, "adjacency": "add-remove"}, "no two databases"),
        ("sum", {"low": 0, "high": 1, "size": 0, "metrics": "manhattan"}, "no two databases"),
        ("count", {"low": 0, "high": 1, "metrics": "manhattan"}, "no sensitivity"),
        ("percentile", {"low": 0, "high": 1, "percentile": 0}, "percentile"),
        (sum, {}, "domain"),
        (len, {"values": ["a", "b"], "size": 1, "metrics": "normalised-manhattan"}, "number"),
        (sum, {"low": 0, "high": 1000, "size": 3}, "databases"),
        (lambda x: 1 / x[0], {"low": 0, "high": 1, "size": 1}, "fails"),
        (lambda x: float("nan"), {"low": 0, "high": 1, "size": 1}, "finite"),
        (sum, {"low": 0, "high": 1, "size": 1, "metrics": ("manhattan", "taxi")}, "not known"),
        (sum, {"low": 0, "high": 1, "size": 1, "metrics": (lambda a, b: 0, "manhattan")}, "distance 0"),
    ],
)
def test_what_cannot_be_answered_is_one_clear_error(query, options, says):
    with pytest.raises(InputError, match=says):
        design.sensitivity(query, **options)
