"""Releases end to end: hierarchies, files, models, local recoding, dummies; every release is checked independently."""

import csv
import itertools
import random
import tomllib
from collections import Counter
from datetime import date
from fractions import Fraction

import duckdb
import pytest

from sfumato.anonymity import (
    AnonymizeRequest,
    anonymize,
    by_dimension,
    check_release,
    compare,
    dates,
    estimate_population_uniques,
    from_rows,
    generalize,
    intervals,
    keep_or_star,
    lattice,
    prefixes,
)
from sfumato.anonymity.close_calls import entropy_is_at_least
from sfumato.anonymity.draft import DeclaredColumn, draft_hierarchies
from sfumato.anonymity.hierarchies import declared
from sfumato.anonymity.hierarchy_files import read_hierarchies
from sfumato.anonymity.inspection import claims_of
from sfumato.anonymity.population import PitmanModel, fit_pitman, population_uniques
from sfumato.errors import InputError

QUASI = ("age", "zip", "sex", "born")
HIERARCHIES = """
[age]
kind = "intervals"
low = 0
high = 99
widths = [5, 10, 50]
[zip]
kind = "prefix"
length = 5
stars = [2, 4]
[born]
kind = "dates"
low = 1920-01-01
high = 2020-12-31
levels = ["year", "decade"]
"""


def people(count, seed=1):
    rng = random.Random(seed)
    for _ in range(count):
        age = int(99 * rng.random() ** 1.5)
        born = date(2020 - age, rng.randint(1, 12), rng.randint(1, 28))
        ill = rng.choices(["flu", "cold", "gout", "none"], [3 + age / 20, 3, 1 + age / 30, 6])[0]
        yield str(age), f"1{rng.randint(0, 3)}0{rng.randint(0, 2)}{rng.randint(0, 9)}", rng.choice("mf"), str(born), ill


@pytest.fixture
def home(tmp_path):
    with (tmp_path / "people.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([(*QUASI, "ill"), *people(240)])
    (tmp_path / "h.toml").write_text(HIERARCHIES)
    (tmp_path / "x_hierarchy_ill.csv").write_text("flu;air;*\ncold;air;*\ngout;body;*\nnone;none;*\n")
    return tmp_path


def request(home, **words):
    return AnonymizeRequest(str(home / "people.csv"), QUASI, "ill", hierarchies=home / "h.toml", **words)


WANTED = {
    "k": {"k": 5},
    "distinct": {"k": 4, "l": 3},
    "entropy": {"k": 2, "l": 2, "diversity": "entropy"},
    "recursive": {"k": 2, "l": 2, "diversity": "recursive", "c": "2.5"},
    "equal": {"k": 3, "t": "0.25"},
    "ordered": {"k": 3, "t": "0.15", "distance": "ordered"},
    "beta": {"k": 3, "beta": "1.5"},
    "all": {"k": 5, "l": 2, "t": "0.3", "beta": 2},
}


@pytest.mark.parametrize("method", ["lattice", "mondrian"])
@pytest.mark.parametrize("name", WANTED)
def test_a_release_passes_the_independent_check(name, method, home):
    wanted = WANTED[name]
    done = anonymize(request(home, **wanted, method=method, suppress="0.1"), str(home / "out.csv"))
    stated = {key: wanted[key] for key in ("diversity", "c", "distance") if key in wanted}
    claims = claims_of(wanted["k"], wanted.get("l"), wanted.get("t"), **stated)
    report = check_release(home / "out.csv", home / "people.csv", QUASI, "ill", claims=claims)
    assert report.faults == ()
    assert report.exact
    assert not report.unread
    assert (report.rows, report.k, report.distinct) == (done.released, done.k, done.l)
    assert done.released + done.suppressed == done.rows == 240
    assert report.average_class_size == done.measures.average_class_size
    assert report.discernibility == done.measures.discernibility
    assert report.prosecutor == done.measures.prosecutor
    assert report.marketer == done.measures.marketer
    if method == "lattice":
        assert done.optimal
        assert done.gap == 0
        assert done.suppressed <= 24
    else:
        assert done.bound is None
        assert done.suppressed == 0


def test_local_recoding_loses_less(home):
    lost = {method: anonymize(request(home, k=5, method=method)).loss for method in ("lattice", "mondrian")}
    assert lost["mondrian"] < lost["lattice"] / 2


@pytest.mark.parametrize("target", ["out.csv", "out.tsv", "out.parquet", "out.duckdb#released"])
@pytest.mark.parametrize("source", ["people.csv", "people.parquet", "people.duckdb#people"])
def test_every_kind_of_file_holds_the_same_release(source, target, home):
    with duckdb.connect() as engine:
        read = f"SELECT * FROM read_csv('{home}/people.csv', all_varchar = true)"
        engine.execute(f"COPY ({read}) TO '{home}/people.parquet'")
        engine.execute(f"ATTACH '{home}/people.duckdb' AS d")
        engine.execute(f"CREATE TABLE d.people AS {read}")
    wanted = AnonymizeRequest(str(home / source), QUASI, "ill", k=5, suppress="0.05", hierarchies=home / "h.toml")
    done = anonymize(wanted, str(home / target))
    report = check_release(str(home / target), home / "people.csv", QUASI, "ill", claims=claims_of(5))
    assert (report.rows, report.faults) == (done.released, ())


def test_a_release_is_sorted_and_made_of_declared_columns_alone(home):
    anonymize(request(home, k=5), str(home / "out.csv"))
    with (home / "out.csv").open(newline="") as stream:
        head, *rows = csv.reader(stream)
    assert head == [*QUASI, "ill"]
    assert rows == sorted(rows)


def test_kept_columns_are_released_as_they_are(home):
    wanted = AnonymizeRequest(
        str(home / "people.csv"), ("age", "zip"), "ill", k=5, keep=("sex",), hierarchies=home / "h.toml"
    )
    anonymize(wanted, str(home / "out.csv"))
    report = check_release(home / "out.csv", home / "people.csv", ("age", "zip"), "ill", keep=("sex",))
    assert report.faults == ()
    assert [
        fault.kind for fault in check_release(home / "out.csv", home / "people.csv", ("age", "zip"), "ill").faults
    ] == ["column"]


def test_dummies_save_rows_and_are_counted(home):
    without = anonymize(request(home, k=5, suppress="0.1"))
    done = anonymize(request(home, k=5, suppress="0.1", dummies="0.1"), str(home / "out.csv"))
    assert 0 < done.dummies <= 24
    assert done.suppressed < without.suppressed
    assert not done.optimal
    assert done.bound is None
    honest = check_release(home / "out.csv", home / "people.csv", QUASI, "ill", claims=claims_of(5))
    assert {fault.kind for fault in honest.faults} == {"coverage"}
    told = claims_of(5, dummies=done.dummies)
    assert check_release(home / "out.csv", home / "people.csv", QUASI, "ill", claims=told).faults == ()


def test_presence_hides_who_is_in_the_table(home):
    """The table is a sample of a population: in no class more than half of the people are in it."""
    rows = list(people(240))
    with (home / "world.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([(*QUASI, "ill"), *rows, *people(300, seed=2)])
    world = str(home / "world.csv")
    done = anonymize(request(home, k=2, presence=("0", "0.5"), population=world, suppress="0.2"), str(home / "out.csv"))
    assert done.optimal
    with (home / "out.csv").open(newline="") as stream:
        classes = Counter(tuple(row[:4]) for row in list(csv.reader(stream))[1:])
    from sfumato.anonymity.inspection.meaning import covers

    for key, many in classes.items():
        inside = sum(all(covers(a, b) for a, b in zip(key, row, strict=False)) for row in [*rows, *people(300, seed=2)])
        assert 2 * many <= inside
    assert done.measures.journalist < done.measures.prosecutor


def test_more_quasi_identifiers_lose_more(home):
    """The curse of dimensionality: with each column the best release loses at least as much in all."""
    found = [(many, release.loss * many) for many, release in by_dimension(request(home, k=10))]
    assert [many for many, _ in found] == [1, 2, 3, 4]
    assert all(a[1] <= b[1] for a, b in itertools.pairwise(found))
    assert found[-1][1] > found[0][1]


def test_a_larger_k_loses_more(home):
    found = list(compare(request(home, k=5, suppress="0.05"), [2, 5, 10, 1000]))
    assert [k for k, _ in found] == [2, 5, 10]
    assert all(a.loss <= b.loss for (_, a), (_, b) in itertools.pairwise(found))


def test_many_quasi_identifiers_do_not_stall(tmp_path):
    """Twenty columns of three levels: 3.5 billion nodes. The search ends, with a release and an honest gap."""
    rng = random.Random(2)
    names = [f"q{i}" for i in range(20)]
    rows = [[str(min(9, int(rng.expovariate(0.5)))) for _ in names] for _ in range(300)]
    with (tmp_path / "wide.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([names, *rows])
    (tmp_path / "h.toml").write_text(
        "".join(f'[{name}]\nkind = "intervals"\nlow = 0\nhigh = 9\nwidths = [5]\n' for name in names)
    )
    wanted = AnonymizeRequest(
        str(tmp_path / "wide.csv"), tuple(names), k=5, suppress="0.05", hierarchies=tmp_path / "h.toml", seconds=1
    )
    done = anonymize(wanted, str(tmp_path / "out.csv"))
    assert done.nodes == 3**20 > lattice.WHOLE
    assert done.interrupted
    assert 0 < done.bound < done.loss < 1
    assert check_release(tmp_path / "out.csv", tmp_path / "wide.csv", names, claims=claims_of(5)).faults == ()
    local = anonymize(
        AnonymizeRequest(
            str(tmp_path / "wide.csv"), tuple(names), k=5, method="mondrian", hierarchies=tmp_path / "h.toml"
        )
    )
    assert local.loss < done.loss


def test_plain_rows_are_generalised():
    rows = [{"age": 20 + i % 30, "sex": "mf"[i % 2], "ill": i % 3 == 0} for i in range(100)]
    released = generalize(rows, ["age", "sex"], "ill", 5)
    classes = Counter((row["age"], row["sex"]) for row in released)
    assert len(released) == 100
    assert min(classes.values()) >= 5
    assert len(classes) > 8
    assert sum(row["ill"] for row in released) == sum(row["ill"] for row in rows)
    assert generalize([{"a": None, "s": 1}, {"a": "x|y", "s": 2}], ["a"], "s", 2) == [
        {"a": "*", "s": 1},
        {"a": "*", "s": 2},
    ]
    assert generalize([{"s": 1}, {"s": 2}], [], "s", 2) == [{"s": 1}, {"s": 2}]
    assert generalize([], ["a"], "s", 2) == []


@pytest.mark.parametrize(
    ("hierarchy", "value", "labels", "shares"),
    [
        (
            intervals("a", 0, 99, [10, 50]),
            "37",
            ("37", "30..39", "0..49", "*"),
            (0, Fraction(9, 99), Fraction(49, 99), 1),
        ),
        (intervals("a", 0, 95, [10]), "93", ("93", "90..95", "*"), (0, Fraction(5, 95), 1)),
        (intervals("a", -10, 9, [5]), "-3", ("-3", "-5..-1", "*"), (0, Fraction(4, 19), 1)),
        (prefixes("z", 5, [2]), "13053", ("13053", "130**", "*"), (0, Fraction(99, 99_999), 1)),
        (
            dates("d", date(2020, 1, 1), date(2021, 12, 31), ["month", "quarter", "year"]),
            "2020-02-29",
            ("2020-02-29", "2020-02", "2020-Q1", "2020", "*"),
            (0, Fraction(28, 730), Fraction(90, 730), Fraction(365, 730), 1),
        ),
        (from_rows("e", [["a", "x"], ["b", "x"], ["c", "y"]]), "a", ("a", "x", "*"), (0, Fraction(1, 2), 1)),
        (keep_or_star("e"), "anything", ("anything", "*"), (0, 1)),
    ],
)
def test_hierarchies_label_values_and_know_their_share(hierarchy, value, labels, shares):
    assert hierarchy.labels(value) == labels
    assert tuple(hierarchy.share(level, label) for level, label in enumerate(labels)) == shares
    assert hierarchy.height == len(labels) - 1


def test_what_lies_outside_of_a_domain_is_not_covered():
    assert intervals("a", 0, 99, [10]).labels("100") is None
    assert intervals("a", 0, 99, [10]).labels("abc") is None
    assert prefixes("z", 5, [2]).labels("1305") is None
    assert dates("d", date(2020, 1, 1), date(2020, 12, 31), ["month"]).labels("2021-01-01") is None
    assert dates("d", date(2020, 1, 1), date(2020, 12, 31), ["month"]).labels("soon") is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: from_rows("e", [["a", "x"], ["b"]]), "1 levels in line 2"),
        (lambda: from_rows("e", []), "is empty"),
        (lambda: from_rows("e", [["a", "x", "p"], ["b", "x", "q"]]), "not nested"),
        (lambda: from_rows("e", [["a", "x"], ["a", "y"]]), "two lines"),
        (lambda: intervals("a", 5, 1, [2]), "is empty"),
        (lambda: intervals("a", 0, 99, [10, 25]), "not a multiple"),
        (lambda: prefixes("z", 5, [2, 1]), "must grow"),
        (lambda: dates("d", date(2020, 1, 1), date(2021, 1, 1), ["year", "month"]), "are wrong"),
        (lambda: declared("a", {"kind": "magic"}), "no known kind"),
        (lambda: declared("a", {"kind": "intervals", "low": 1, "widths": [2]}), 'lacks "high"'),
        (lambda: declared("a", {"kind": "star", "low": 1}), 'unknown key "low"'),
        (lambda: declared("a", {"kind": "intervals", "low": "?", "high": 3, "widths": [2]}), "low must be"),
    ],
)
def test_a_hierarchy_that_is_none_is_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_a_draft_is_read_back_and_takes_nothing_from_rows(tmp_path):
    columns = {
        "age": DeclaredColumn("integer", 0, 120),
        "born": DeclaredColumn("date", date(1930, 1, 1), date(2020, 12, 31)),
        "area": DeclaredColumn("text", values=("north", "south")),
        "note": DeclaredColumn("text"),
        "salary": DeclaredColumn("integer"),
    }
    text = draft_hierarchies(columns)
    (tmp_path / "h.toml").write_text(text)
    found = read_hierarchies(tmp_path / "h.toml", ["age", "born", "note"])
    assert found["age"].labels("37") == ("37", "30..39", "20..39", "0..39", "*")
    assert found["born"].labels("1999-05-06") == ("1999-05-06", "1999-05", "1999-Q2", "1999", "1990..1999", "*")
    with pytest.raises(InputError, match='"area" is still'):
        read_hierarchies(tmp_path / "h.toml", ["area"])
    (tmp_path / "h.toml").write_text(text.replace('["north", "?"]', '["north", "up"]').replace("?", "down"))
    assert read_hierarchies(tmp_path / "h.toml", ["area"])["area"].labels("north") == ("north", "up", "*")
    (tmp_path / "h.toml").write_text(text)
    with pytest.raises(InputError, match="low must be"):
        read_hierarchies(tmp_path / "h.toml", ["salary"])


def test_a_draft_says_what_suits_a_column_without_a_declared_type():
    """A CSV file declares nothing: the draft is valid as it stands, and shows what to write for numbers and dates."""
    text = draft_hierarchies({"age": DeclaredColumn(""), "pay": DeclaredColumn("double")})
    assert tomllib.loads(text) == {"age": {"kind": "star"}, "pay": {"kind": "star"}}
    assert '# whole numbers:   kind = "intervals", low = "?", high = "?"' in text
    assert "round it to whole numbers" in text
    assert "intervals" not in draft_hierarchies({"age": DeclaredColumn("")}, decided=True)


def test_ties_of_entropy_are_decided_exactly():
    assert entropy_is_at_least([3, 3, 3], Fraction(3))
    assert not entropy_is_at_least([3, 3, 2], Fraction(3))
    assert entropy_is_at_least([10**9, 10**9], Fraction(2))
    assert not entropy_is_at_least([10**9, 10**9 - 1], Fraction(2))
    assert entropy_is_at_least([2, 1, 1], Fraction(2828427, 10**6))
    assert not entropy_is_at_least([2, 1, 1], Fraction(2828428, 10**6))


def test_unique_rows_of_a_sample_are_estimated():
    """Classes of one: everybody is alone there as here. With classes of two a row that is alone may be of those."""
    assert estimate_population_uniques([1] * 50, Fraction(1, 10)) == 1
    assert estimate_population_uniques([5] * 50, Fraction(1, 10)) == 0
    # one class of one and one of two: 1 against 2 (1 - f) rows that are shown alone
    assert estimate_population_uniques([1, 2], Fraction(1, 2)) == pytest.approx(1 / (1 + 2 * 0.5))
    assert estimate_population_uniques([1, 2], Fraction(1)) == 1  # the sample is the population


def sampled_classes(rng, alpha, theta, rows):
    """Class sizes after so many people of a Pitman process, and the class of each person."""
    sizes, of = [], []
    for n in range(rows):
        if rng.random() * (theta + n) < theta + alpha * len(sizes):
            sizes.append(0)
            at = len(sizes) - 1
        else:
            at = of[rng.randrange(n)]
            while rng.random() * sizes[at] < alpha:  # a class of j people is joined with a weight of j - alpha
                at = of[rng.randrange(n)]
        sizes[at] += 1
        of.append(at)
    return sizes, of


def test_uniqueness_by_the_pitman_model_is_that_of_the_process():
    """Parameters are found again; of rows alone in a sample as many are alone in the population as the model says."""
    rng = random.Random(8)
    said = seen = 0.0
    for alpha, theta in ((0.3, 50.0), (0.6, 5.0), (0.8, 200.0)):
        sizes, of = sampled_classes(rng, alpha, theta, 20_000)
        found = fit_pitman(sizes)
        assert abs(found.alpha - alpha) < 0.06, (alpha, found)
        sample = Counter(of[:2_000])
        alone = [at for at, n in sample.items() if n == 1]
        kept = sum(sizes[at] == 1 for at in alone)
        wanted = PitmanModel(alpha, theta).stay_alone(2_000, 20_000) * len(alone)
        assert abs(kept - wanted) < 5 * (wanted + 1) ** 0.5
        said += population_uniques(list(sample.values()), Fraction(1, 10))["pitman"] * 2_000
        seen += kept
    assert abs(said - seen) < 0.15 * seen
    print(f"alone in the population: {seen:.0f}, by the model {said:.0f}")  # noqa: T201  what it covers
    assert population_uniques([3, 4], Fraction(1, 2)) == {"zayatz": 0, "pitman": 0}
    assert population_uniques([1, 1, 1], Fraction(1, 2))["pitman"] == 1
    assert population_uniques([1, 2, 5], Fraction(1))["pitman"] == pytest.approx(1 / 8)  # the sample is everybody


def test_hierarchies_may_be_given_as_objects(home):
    given = read_hierarchies(home / "h.toml", QUASI)
    asked = AnonymizeRequest(str(home / "people.csv"), QUASI, "ill", k=5, hierarchies=given)
    assert anonymize(asked) == anonymize(request(home, k=5))


def test_rows_of_a_toml_file_define_their_labels_for_the_check(home):
    """Hierarchies that list values in TOML are read by the check: a row under another label is found."""
    text = '[sex]\nkind = "rows"\nrows = [["m", "he"], ["f", "she"]]\n[ill]\nfile = "x_hierarchy_ill.csv"\n'
    (home / "rows.toml").write_text(text)
    raw = home / "raw.csv"
    raw.write_text("sex,ill\n" + "m,flu\n" * 3 + "f,gout\n" * 3)
    right, wrong = "he,flu\n" * 3 + "she,gout\n" * 3, "he,flu\n" * 2 + "he,gout\n" + "she,flu\n" + "she,gout\n" * 2
    for rows, kinds in ((right, []), (wrong, ["coverage"])):
        (home / "o.csv").write_text("sex,ill\n" + rows)
        report = check_release(home / "o.csv", raw, ["sex"], "ill", hierarchies=home / "rows.toml")
        assert sorted({fault.kind for fault in report.faults}) == kinds
        assert report.unread == {}
        assert "hierarchical" in report.t
    (home / "broken.toml").write_text("[sex\n")
    with pytest.raises(InputError, match="not a TOML file"):
        check_release(home / "o.csv", raw, ["sex"], "ill", hierarchies=home / "broken.toml")


def test_what_some_k_cannot_reach_leaves_the_others(tmp_path):
    """A diverse release exists for small k alone: the comparison shows those, and fails only where there is none."""
    rows = ["m,a"] * 10 + ["f,a"] * 5 + ["f,b"] * 5
    (tmp_path / "t.csv").write_text("\n".join(["sex,ill", *rows]) + "\n")
    asked = AnonymizeRequest(str(tmp_path / "t.csv"), ("sex",), "ill", l=2, diversity="entropy", suppress="0.5")
    assert [k for k, _ in compare(asked, [2, 5, 10, 15, 20, 30])] == [2, 5, 10]
    with pytest.raises(InputError, match="no release satisfies"):
        list(compare(asked, [15, 20]))


def test_a_tie_of_closeness_is_kept_and_one_row_more_is_not(home, tmp_path):
    """Classes exactly t from the table: 1/2 against 3/4 is 0.25."""
    lines = ["m,a"] * 10 + ["m,b"] * 10 + ["f,a"] * 20
    (tmp_path / "t.csv").write_text("\n".join(["sex,ill", *lines]) + "\n")
    kept = anonymize(AnonymizeRequest(str(tmp_path / "t.csv"), ("sex",), "ill", k=2, t="0.25"))
    assert kept.levels == {"sex": 0}
    assert anonymize(AnonymizeRequest(str(tmp_path / "t.csv"), ("sex",), "ill", k=2, t="0.2499999999999")).levels == {
        "sex": 1
    }
