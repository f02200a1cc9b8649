"""The check of releases: exact numbers of the lectures' tables, forged releases, matchings by another method."""

import csv
import random
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import sfumato
from sfumato.anonymity import AnonymizeRequest, anonymize, check_release
from sfumato.anonymity.inspection import ReleaseFault, claims_of
from sfumato.anonymity.inspection.coverage import cover
from sfumato.anonymity.inspection.meaning import covers
from sfumato.errors import InputError


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])
    return path


def read(path):
    with path.open(newline="", encoding="utf-8") as stream:
        head, *rows = csv.reader(stream)
    return head, rows


INPATIENTS = [
    ("13053", "28", "Russian", "Heart Disease"),
    ("13068", "29", "American", "Heart Disease"),
    ("13068", "21", "Japanese", "Viral Infection"),
    ("13053", "23", "American", "Viral Infection"),
    ("14853", "50", "Indian", "Cancer"),
    ("14853", "55", "Russian", "Heart Disease"),
    ("14850", "47", "American", "Viral Infection"),
    ("14850", "49", "American", "Viral Infection"),
    ("13053", "31", "American", "Cancer"),
    ("13053", "37", "Indian", "Cancer"),
    ("13068", "36", "Japanese", "Cancer"),
    ("13068", "35", "American", "Cancer"),
]
HEAD = ("zip", "age", "nationality", "condition")
LABELS = [("130**", "< 30", "*")] * 4 + [("1485*", "≥ 40", "*")] * 4 + [("130**", "3*", "*")] * 4


def inpatients(tmp_path, labels=LABELS):
    raw = write(tmp_path / "raw.csv", HEAD, INPATIENTS)
    rows = [(*label, row[-1]) for label, row in zip(labels, INPATIENTS, strict=True)]
    return raw, write(tmp_path / "release.csv", HEAD, sorted(rows))


def test_the_four_anonymous_table_of_the_lecture(tmp_path):
    """k = 4 as the slide says; the third class has one condition, so l = 1 and t = 7/12."""
    raw, release = inpatients(tmp_path)
    report = check_release(release, raw, HEAD[:3], "condition")
    assert (report.k, report.classes, report.distinct, report.entropy) == (4, 3, 1, 1.0)
    assert report.recursive_c is None
    # Cancer, Heart Disease, Viral Infection: 5, 3, 4 of 12; the third class has cancer only
    assert report.t == {"equal": Fraction(7, 12), "ordered": Fraction(11, 24)}
    assert (report.prosecutor, report.journalist, report.marketer) == (Fraction(1, 4), Fraction(1, 4), Fraction(1, 4))
    assert (report.discernibility, report.average_class_size) == (48, 4)
    assert report.faults == ()


def test_a_label_that_no_longer_covers_is_found(tmp_path):
    """`≥ 47` covers the four people of the class; `> 47` has lost one of them."""
    right = [(zip_, age.replace("≥ 40", "≥ 47"), n) for zip_, age, n in LABELS]
    raw, release = inpatients(tmp_path, right)
    assert check_release(release, raw, HEAD[:3], "condition").faults == ()
    raw, release = inpatients(tmp_path, [(zip_, age.replace("≥ 40", "> 47"), n) for zip_, age, n in LABELS])
    (fault,) = check_release(release, raw, HEAD[:3], "condition").faults
    assert (fault.kind, fault.column, fault.row) == ("coverage", "age", 9)


def table(tmp_path, name, lines):
    rows = [tuple(line.split()) for line in lines.strip().splitlines()]
    return write(tmp_path / name, ("race", "age", "sex", "zip", "disease"), sorted(rows))


HOMOGENEOUS = """
* <40 * 120** Cancer
* <40 * 120** Cancer
* <40 * 120** Cancer
* <40 * 120** Cancer
* ≥50 * 151** Hemophilia
* ≥50 * 151** Cancer
* ≥50 * 151** Virus
* ≥50 * 151** Virus
* 4* * 120** Hemophilia
* 4* * 120** Hemophilia
* 4* * 120** Virus
* 4* * 120** Virus
"""
DIVERSE = """
* ≤50 * 120** Cancer
* ≤50 * 120** Cancer
* ≤50 * 120** Hemophilia
* ≤50 * 120** Virus
* >50 * 151** Hemophilia
* >50 * 151** Cancer
* >50 * 151** Virus
* >50 * 151** Virus
* ≤50 * 120** Cancer
* ≤50 * 120** Cancer
* ≤50 * 120** Hemophilia
* ≤50 * 120** Virus
"""
PEOPLE = """
w 31 m 12001 Cancer
w 32 m 12002 Cancer
b 33 f 12003 Cancer
b 34 f 12004 Cancer
w 55 m 15101 Hemophilia
w 56 m 15102 Cancer
b 57 f 15103 Virus
b 58 f 15104 Virus
w 41 m 12005 Hemophilia
w 42 f 12006 Hemophilia
b 43 m 12007 Virus
b 44 f 12008 Virus
"""
QUASI = ("race", "age", "sex", "zip")


def test_the_homogeneous_table_of_the_lecture(tmp_path):
    report = check_release(
        table(tmp_path, "release.csv", HOMOGENEOUS), table(tmp_path, "raw.csv", PEOPLE), QUASI, "disease"
    )
    assert (report.k, report.classes, report.distinct) == (4, 3, 1)
    assert report.t["equal"] == Fraction(7, 12)  # all cancer, against 5 of 12
    assert report.faults == ()


def test_the_diverse_table_of_the_lecture_has_two_classes_and_is_not_entropy_diverse(tmp_path):
    """The slide prints three blocks; two of them have the same labels. Its entropy is that of 2.83 values."""
    release, raw = table(tmp_path, "release.csv", DIVERSE), table(tmp_path, "raw.csv", PEOPLE)
    report = check_release(release, raw, QUASI, "disease", claims=claims_of(4, 3))
    assert (report.k, report.classes, report.distinct) == (4, 2, 3)
    assert report.entropy == pytest.approx(2**1.5)
    assert report.recursive_c == 2  # l = 3: the most frequent value has twice as many rows as the third
    assert report.t["equal"] == Fraction(1, 6)
    assert report.faults == ()
    wanted = check_release(release, raw, QUASI, "disease", claims=claims_of(4, 3, diversity="entropy"))
    assert [fault.kind for fault in wanted.faults] == ["l"]


def test_between_the_two_tables_of_the_lecture_somebody_of_fifty_is_lost(tmp_path):
    """The homogeneous table says `≥50`, the diverse one `>50` of the same four people: right only if nobody is 50."""
    raw = table(tmp_path, "raw.csv", PEOPLE.replace("w 55 m", "w 50 m"))
    assert check_release(table(tmp_path, "one.csv", HOMOGENEOUS), raw, QUASI, "disease").faults == ()
    (fault,) = check_release(table(tmp_path, "two.csv", DIVERSE), raw, QUASI, "disease").faults
    assert (fault.kind, fault.column, fault.row) == ("coverage", "age", 1)


def test_two_tables_of_the_lecture_leave_one_man_together(tmp_path):
    """Each is 2-anonymous; age and weight together single out Alice, Bob, Carl and Don."""
    people = [("30", "60", "no"), ("30", "90", "no"), ("40", "90", "no"), ("40", "100", "yes"), ("50", "60", "no")]
    people += [("50", "100", "yes")]
    raw = write(tmp_path / "raw.csv", ("age", "weight", "disease"), people)
    ages = write(tmp_path / "ages.csv", ("age", "disease"), sorted((a, d) for a, _, d in people))
    weights = write(tmp_path / "weights.csv", ("weight", "disease"), sorted((w, d) for _, w, d in people))
    assert check_release(ages, raw, ("age",), "disease").k == check_release(weights, raw, ("weight",), "disease").k == 2
    report = check_release(weights, raw, ("weight",), "disease", earlier=[ages])
    assert report.meet == (("ages.csv", 1),)
    assert [fault.kind for fault in report.faults] == ["composition"]
    assert "6 people are in groups below 2" in report.faults[0].words


@pytest.fixture
def made(tmp_path):
    """A table of 400 people, its 5-anonymous release, and their columns."""
    rng = random.Random(5)
    rows = [
        (str(18 + int(60 * rng.random() ** 2)), f"1{3000 + int(100 * rng.random() ** 3)}", rng.choice("mf"), state)
        for state in rng.choices(["flu", "cold", "none"], k=396)
    ]
    rows += [("110", "13001", "f", "flu")] * 4
    raw = write(tmp_path / "people.csv", ("age", "zip", "sex", "state"), rows)
    (tmp_path / "h.toml").write_text(
        '[age]\nkind = "intervals"\nlow = 0\nhigh = 119\nwidths = [10, 20, 40]\n'
        '[zip]\nkind = "prefix"\nlength = 5\nstars = [1, 2, 3]\n'
    )
    release = tmp_path / "release.csv"
    wanted = AnonymizeRequest(
        str(raw), ("age", "zip", "sex"), "state", k=5, suppress="0.05", hierarchies=tmp_path / "h.toml"
    )
    done = anonymize(wanted, str(release))
    assert done.suppressed
    return raw, release


def kinds(made, **words):
    raw, release = made
    report = check_release(release, raw, ("age", "zip", "sex"), "state", claims=claims_of(words.pop("k", 5)), **words)
    return {fault.kind for fault in report.faults}


def forge(made, change):
    _, release = made
    head, rows = read(release)
    head, rows = change(head, rows)
    write(release, head, rows)


def narrower(head, rows):
    label = rows[0][0]
    low, _, high = label.partition("..")
    return head, [[f"{low}..{int(high) - 5}" if row[0] == label else row[0], *row[1:]] for row in rows]


def smaller_class(head, rows):
    least = min(Counter(tuple(row[:3]) for row in rows).items(), key=lambda pair: pair[1])[0]
    inside = [row for row in rows if tuple(row[:3]) == least]
    return head, [*(row for row in rows if tuple(row[:3]) != least), *inside[:4]]


def moved(head, rows):
    """A person of one class is released in another."""
    other = next(row for row in rows if row[:3] != rows[0][:3])
    return head, [[*other[:3], rows[0][3]], *rows[1:]]


def exchanged(head, rows):
    """Two classes exchange a sensitive value: the totals are as before."""
    i, j = next(
        (i, j) for i in range(len(rows)) for j in range(i) if rows[i][:3] != rows[j][:3] and rows[i][3] != rows[j][3]
    )
    rows[i][3], rows[j][3] = rows[j][3], rows[i][3]
    return head, rows


FORGED = {
    "narrower": (narrower, "coverage"),
    "one row twice": (lambda head, rows: (head, [*rows, *([rows[0]] * 200)]), "coverage"),
    "a row moved": (moved, "coverage"),
    "a value exchanged": (exchanged, "coverage"),
    "a class below k": (smaller_class, "k"),
    "a value made up": (lambda head, rows: (head, [[*rows[0][:3], "plague"], *rows[1:]]), "value"),
    "row numbers": (lambda head, rows: (["index", *head], [[str(i), *row] for i, row in enumerate(rows)]), "index"),
    "a key": (lambda head, rows: ([*head, "id"], [[*row, f"p{i}"] for i, row in enumerate(rows)]), "column"),
    "a spelling": (lambda head, rows: (head, [[*rows[0][:3], rows[0][3].upper()], *rows[1:]]), "value"),
    "a blank": (lambda head, rows: (head, [[*rows[0][:3], rows[0][3] + " "], *rows[1:]]), "value"),
    "a prefix": (lambda head, rows: (head, [[row[0], "2" + row[1][1:], *row[2:]] for row in rows]), "coverage"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_release_is_refused(name, made):
    assert kinds(made) == set()
    change, kind = FORGED[name]
    forge(made, change)
    assert kind in kinds(made)


def test_every_kind_of_fault_says_what_to_do():
    """Kinds as the source has them: one without words would end a check with a traceback."""
    source = Path(sfumato.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in source.rglob("*.py") if "ReleaseFault(" in path.read_text()]
    kinds = {kind for text in texts for kind in re.findall(r'Release(?:Fault|Note)\(\s*"(\w+)"', text)}
    assert {"k", "index", "order", "metadata", "composition", "earlier"} <= kinds
    for kind in kinds:
        assert ReleaseFault(kind, "words").hint.endswith(".")


def test_the_order_of_the_original_rows_is_found(made, tmp_path):
    """The same rows as they stood in the original table: nothing else is wrong with them."""
    raw, release = made
    head, rows = read(raw)
    released = Counter(tuple(row[:3]) for row in read(release)[1])
    kept = []
    for row in rows:
        fitting = [key for key in released if all(covers(a, b) for a, b in zip(key, row[:3], strict=True))]
        kept += [[*fitting[0], row[3]]] if fitting else []
    assert Counter(map(tuple, kept)) == Counter(map(tuple, read(release)[1]))
    write(release, head, kept)
    assert kinds(made) == {"order"}
    write(release, head, kept[::-1])
    assert kinds(made) == {"order"}
    write(release, head, sorted(kept, key=lambda row: row[:3]))  # as tools leave it that sort by labels
    assert kinds(made) == {"order"}
    random.Random(1).shuffle(kept)  # nobody can tell a random order from one that was chosen: no fault, no pass
    write(release, head, kept)
    assert kinds(made) == set()
    write(release, head, sorted(kept))
    assert kinds(made) == set()


def test_kept_columns_are_those_of_original_rows(tmp_path):
    """A column that is released as it is: a value that was changed, or that belongs to another class, is found."""
    raw = write(tmp_path / "raw.csv", ("age", "town", "ill"), [("20", "A", "x"), ("21", "B", "y")] * 2)
    for towns, kinds_ in (("AABB", []), ("AABC", ["coverage"]), ("ABAB", ["coverage"])):
        rows = sorted(zip(["20", "20", "21", "21"], towns, "xxyy", strict=True))
        release = write(tmp_path / "r.csv", ("age", "town", "ill"), rows)
        report = check_release(release, raw, ("age",), "ill", keep=("town",))
        assert [fault.kind for fault in report.faults] == kinds_, towns
    with pytest.raises(InputError, match='no column "county"'):
        check_release(release, raw, ("age",), "ill", keep=("county",))


def test_an_order_that_lacks_a_value_is_refused(made):
    """Otherwise the ordered distance leaves out what that value adds, and a false claim passes."""
    raw, release = made
    with pytest.raises(InputError, match='lacks "none"'):
        check_release(release, raw, ("age", "zip", "sex"), "state", order=("flu", "cold"))


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"t": "2"}, "t must be between 0 and 1"),
        ({"l": "0"}, "l must be at least 1"),
        ({"dummies": -1}, "dummies must be at least 0"),
        ({"distance": "far", "t": "0.1"}, "unknown distance"),
        ({"diversity": "odd", "l": "2"}, "unknown diversity"),
        ({"k": "few"}, "k must be a finite number"),
    ],
)
def test_a_claim_that_is_none_is_refused(claims, words):
    with pytest.raises(InputError, match=words):
        claims_of(**claims)


def test_a_label_that_no_hierarchy_knows_is_a_fault(made, tmp_path):
    """Given the hierarchies, every label must be theirs or speak for itself; a number speaks for itself anyway."""
    raw, release = made
    head, rows = read(release)
    sexes = {"m", "f"} & {row[2] for row in rows}
    assert sexes, "the release shows sexes"
    write(release, head, [[*row[:2], "male" if row[2] == "m" else row[2], row[3]] for row in rows])
    assert kinds(made, hierarchies=tmp_path / "h.toml") == {"coverage"}
    assert kinds(made) == set()  # without hierarchies the label cannot be read, and that is said
    assert check_release(release, raw, ("age", "zip", "sex"), "state").unread == {"sex": ["male"]}
    write(release, head, [["150", *row[1:]] if row[0] == rows[0][0] else row for row in rows])
    assert kinds(made) == {"coverage"}


def test_metadata_of_files_is_found(made, tmp_path):
    raw, release = made
    with duckdb.connect() as engine:
        engine.execute(
            f"COPY (SELECT * FROM read_csv('{release}', all_varchar = true)) TO '{tmp_path}/r.parquet'"
            " (FORMAT parquet, KV_METADATA {author: 'somebody', rows: '17, 4, 211'})"
        )
        engine.execute(f"ATTACH '{tmp_path}/r.duckdb' AS r")
        engine.execute(f"CREATE TABLE r.release AS SELECT * FROM read_csv('{release}', all_varchar = true)")
        engine.execute("CREATE TABLE r.people AS SELECT 1 AS secret")
    assert kinds((raw, tmp_path / "r.parquet")) == {"metadata"}
    assert kinds((raw, f"{tmp_path}/r.duckdb#release")) == {"metadata"}


def test_an_index_that_pandas_stores_is_found(made, tmp_path):
    """What a release looks like if its frame was filtered and written with its index, under any name."""
    pandas = pytest.importorskip("pandas")
    raw, release = made
    frame = pandas.read_csv(release, dtype=str).sample(frac=1, random_state=3)
    frame.to_parquet(tmp_path / "kept.parquet")
    assert "index" in kinds((raw, tmp_path / "kept.parquet"))
    frame.sort_index().reset_index().to_csv(release, index=False)
    assert kinds(made) == {"index"}


@pytest.mark.parametrize(
    ("label", "inside", "outside"),
    [
        ("20-29", "20 29 25", "19 30"),
        ("20..29", "20 29 25.5", "19.9 30"),
        ("[20, 30)", "20 29.99", "30"),
        ("[20,30]", "20 30", "30.1"),
        ("]20, 30]", "20.1 30", "20"),
        ("[20, 30[", "20", "30"),
        ("(20, 30)", "21", "20 30"),
        ("< 30", "29", "30"),
        ("<=30", "30", "31"),
        ("≤ 30", "30", "31"),
        (">50", "51", "50"),
        ("≥50", "50", "49.9"),
        ("80+", "80 99", "79"),
        ("-5..-1", "-5 -1", "0"),
        ("20 to 29", "20 29", "19 30"),
        ("20—29", "20 29", "19 30"),
        ("(20, inf)", "21 9e9", "20"),
        ("[-∞, 20)", "-7 19", "20"),
        ("⩾50", "50", "49"),
        ("1e2..2e2", "100 200", "99"),
        ("", "a", ""),
        ("130**", "13053 13068", "14853 1305 130531"),
        ("3*", "31 39", "3 311 41"),
        ("2024-03", "2024-03-01", "2024-04-01"),
        ("2024-Q1", "2024-03-31", "2024-04-01"),
        ("2024", "2024-12-31 2024", "2025-01-01"),
        ("2020..2029", "2024-12-31", "2019-12-31"),
        ("2024-02-01/2024-02-03", "2024-02-01 2024-02-03", "2024-02-04"),
        ("2024-02-01..2024-03-05", "2024-02-01 2024-03-05", "2024-01-31 2024-03-06"),
        ("a|b", "a b", "c"),
        ("{a, b}", "a b", "c"),
        ("*", "anything", ""),
        ("*****", "13053", ""),
    ],
)
def test_labels_mean_what_they_say(label, inside, outside):
    known = frozenset("abc")
    assert all(covers(label, value, None, known) for value in inside.split())
    assert not any(covers(label, value, None, known) for value in outside.split())


def test_a_hierarchy_defines_labels_and_misleading_ones_are_named(tmp_path):
    """A hierarchy that puts 7 under `0-4` defines the label, and misleads; without it the label means what it says."""
    tree = {"7": ("7", "0-4", "*"), "red": ("red", "warm", "*"), "blue": ("blue", "cold", "*")}
    assert covers("0-4", "7", tree) is True
    assert covers("0-4", "7") is False
    assert covers("warm", "red", tree) is True
    assert covers("warm", "blue", tree) is False
    assert covers("warm", "blue") is None
    write(tmp_path / "raw.csv", ("age", "ill"), [("3", "a"), ("4", "a"), ("5", "b"), ("6", "b")])
    by_hierarchy = [("0-4", "a"), ("0-4", "b"), ("5-9", "a"), ("5-9", "b")]
    by_text = [("0-4", "a"), ("0-4", "a"), ("5-9", "b"), ("5-9", "b")]
    (tmp_path / "x_hierarchy_age.csv").write_text("3;0-4;*\n4;5-9;*\n5;0-4;*\n6;5-9;*\n")
    found = {}
    for name, rows, place in (("one", by_hierarchy, tmp_path), ("two", by_text, tmp_path), ("three", by_text, None)):
        write(tmp_path / "out.csv", ("age", "ill"), rows)
        report = check_release(tmp_path / "out.csv", tmp_path / "raw.csv", ["age"], "ill", hierarchies=place)
        found[name] = ({fault.kind for fault in report.faults}, report.misleading)
    wrong = {"age": ["0-4", "5-9"]}
    assert found == {"one": (set(), wrong), "two": ({"coverage"}, wrong), "three": (set(), {})}


def matched(released, rows):
    """Whether every released row can have an original row of its own: by one augmenting path for each (Kuhn)."""
    owner = {}

    def place(i, seen):
        for j, (value, secret) in enumerate(rows):
            fits = covers(released[i][0], value) and released[i][1] == secret
            if fits and j not in seen:
                seen.add(j)
                if j not in owner or place(owner[j], seen):
                    owner[j] = i
                    return True
        return False

    return all(place(i, set()) for i in range(len(released)))


def test_a_matching_is_found_exactly_where_one_exists():
    """Overlapping ranges and few rows: the flow over classes agrees with a matching of rows."""
    outcome = Counter()
    for seed in range(300):
        rng = random.Random(seed)
        rows = [(str(rng.randint(0, 9)), rng.choice("ab")) for _ in range(rng.randint(1, 12))]
        spans = [sorted(rng.choices(range(10), k=2)) for _ in range(3)]
        released = [(f"{a}..{b}", rng.choice("ab")) for a, b in rng.choices(spans, k=rng.randint(1, len(rows)))]
        classes, people = {}, {}
        for label, secret in released:
            classes.setdefault((label,), Counter())[secret] += 1
        for value, secret in rows:
            people.setdefault((value,), Counter())[secret] += 1
        found = cover(("x",), list(classes.items()), people, {})
        assert found.exact
        assert (not found.short) == matched(released, rows), seed
        outcome[not found.short, max(mask.bit_count() for mask in found.masks.values()) > 1] += 1
    print(outcome)  # noqa: T201  what it covers
    assert min(outcome[fits, shared] for fits in (True, False) for shared in (True, False)) > 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no header line"),
        ("age,state\n1,flu,2\n", "line 2"),
        ("age,age\n1,2\n", "two columns with the same name"),
        ("age;zip;sex;state\n", "has no rows"),
        ("zip,sex,state\n1,m,flu\n", 'no column "age"'),
    ],
)
def test_a_file_that_is_no_release_is_one_error(text, words, made):
    raw, release = made
    release.write_text(text)
    with pytest.raises(InputError, match=words):
        check_release(release, raw, ("age", "zip", "sex"), "state")
    release.write_bytes(b"\xff\xfe\x00age")
    with pytest.raises(InputError):
        check_release(release, raw, ("age", "zip", "sex"), "state")


def test_names_in_quotes_may_hold_delimiters_and_line_breaks(tmp_path):
    name = "income, gross,\nin EUR, a year"
    raw, release = tmp_path / "raw.csv", tmp_path / "release.csv"
    raw.write_text(f'"{name}";age\n1;30\n1;31\n2;32\n2;33\n')
    release.write_text(f'"{name}"|age\n1|*\n1|*\n2|*\n2|*\n')
    report = check_release(release, raw, ("age",), name)
    assert (report.k, report.distinct, report.faults) == (4, 2, ())


def test_a_release_of_anjana_fails_for_the_row_numbers_that_it_leaves_in(tmp_path):
    """Its own output, byte for byte; the same rows sorted and without that column do not."""
    folder = Path(__file__).parent / "anjana"
    given = {"quasi": ["age", "area"], "sensitive": "illness", "claims": claims_of(3)}
    report = check_release(folder / "release.csv", folder / "raw.csv", **given)
    assert report.k >= 3
    assert "index" in {fault.kind for fault in report.faults}
    assert "people" in {fault.about for fault in report.faults if fault.kind == "index"}
    head, rows = read(folder / "release.csv")
    assert head[0] == "index"
    bare = write(tmp_path / "bare.csv", head[1:], sorted(row[1:] for row in rows))
    kinds = {fault.kind for fault in check_release(bare, folder / "raw.csv", **given).faults}
    assert "index" not in kinds
