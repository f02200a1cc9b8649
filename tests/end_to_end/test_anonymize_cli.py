"""`sfumato anonymize`, `release-check` and `hierarchy draft` as people type them: documents, errors, files."""

import csv
import json
import random
import tomllib
from collections import Counter

import duckdb
import pytest

from sfumato.anonymity import AnonymizeRequest, anonymize, check_release, lattice

QUASI = ("--quasi", "age,sex", "--sensitive", "ill")


@pytest.fixture
def home(tmp_path):
    rng = random.Random(4)
    rows = [(rng.randint(20, 59), rng.choice("mf"), rng.choice(["flu", "cold", "none"])) for _ in range(120)]
    with (tmp_path / "people.csv").open("w", newline="") as stream:
        csv.writer(stream, delimiter=";").writerows([("age", "sex", "ill"), *rows])
    ages = "".join(f"{a};{a // 10 * 10}-{a // 10 * 10 + 9};*\n" for a in range(20, 60))
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "people_hierarchy_age.csv").write_text(ages)
    return tmp_path


def test_a_release_and_its_check_as_documents(home, call):
    words = ("-k", "5", "-l", "2", "-t", "0.3", "--hierarchies", "h", "--suppress", "0.05")
    done = call(
        "anonymize", "people.csv", *QUASI, *words, "-o", "out.csv", "--record", "notes.jsonl", "--json", at=home
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {"rows", "suppressed", "k", "l", "t", "loss", "bound", "gap", "optimal", "levels"} <= set(found)
    assert found["rows"] == 120
    assert found["k"] >= 5
    assert found["l"] >= 2
    assert found["t"] <= 0.3
    assert found["optimal"]
    assert found["gap"] == 0
    assert found["loss"] == found["bound"]
    assert set(found["levels"]) == {"age", "sex"}
    done = call("release-check", "out.csv", "--raw", "people.csv", *QUASI, *words[:6], "--json")
    assert done.returncode == 0, done.stdout
    report = json.loads(done.stdout)
    assert report["k"] == found["k"]
    assert set(report["l"]) == {"distinct", "entropy", "recursive_c"}
    assert {"equal", "ordered"} == set(report["t"])
    assert set(report["risk"]) == {"prosecutor", "journalist", "marketer"}
    assert report["faults"] == []
    assert report["discernibility"] >= 120
    lines = (home / "out.csv").read_text().splitlines()
    assert lines[0] == "age;sex;ill"  # as the table that was read


def test_a_forged_release_exits_with_1_and_names_the_fault(home, call):
    call("anonymize", "people.csv", *QUASI, "-k", "5", "--hierarchies", "h", "-o", "out.csv", at=home)
    text = (home / "out.csv").read_text()
    (home / "out.csv").write_text(text.replace("20-29", "20-24"))
    done = call("release-check", "out.csv", "--raw", "people.csv", *QUASI, "--json")
    assert done.returncode == 1
    fault = json.loads(done.stdout)["faults"][0]
    assert (fault["kind"], fault["column"]) == ("coverage", "age")
    assert (home / "out.csv").read_text().splitlines()[fault["row"]].startswith("20-24")
    assert "FAULT coverage" in call("release-check", "out.csv", "--raw", "people.csv", *QUASI).stdout


def test_a_shuffled_release_exits_with_0_and_one_in_the_original_order_with_1(home, call):
    """Numbers in any case; a note tells what the form leaves open, a fault what is wrong and what to do."""
    call("anonymize", "people.csv", *QUASI, "-k", "5", "--hierarchies", "h", "-o", "out.csv", at=home)
    head, *rows = (home / "out.csv").read_text().splitlines()
    random.Random("exit").shuffle(rows)
    (home / "shuffled.csv").write_text("\n".join([head, *rows]) + "\n")
    words = ("--raw", "people.csv", *QUASI, "-k", "5")
    done = call("release-check", "shuffled.csv", *words, "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["faults"], report["passed"]) == (0, [], False)
    assert [(note["kind"], note["about"]) for note in report["notes"]] == [("order", "file")]
    printed = call("release-check", "shuffled.csv", *words, "--canonical", "new.csv")
    assert printed.returncode == 0
    assert "note order" in printed.stdout
    assert "FAULT" not in printed.stdout
    assert "passed" not in printed.stdout
    assert "passed" in call("release-check", "new.csv", *words).stdout
    people = (home / "people.csv").read_text().splitlines()[1:]
    (home / "left.csv").write_text("\n".join([head, *(f"*;*;{one.split(';')[2]}" for one in people)]) + "\n")
    done = call("release-check", "left.csv", *words, "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["k"], report["risk"]["prosecutor"]) == (1, 120, "1/120")
    (fault,) = report["faults"]
    assert (fault["kind"], fault["about"]) == ("order", "people")
    assert fault["hint"].startswith("--canonical FILE")


def test_an_earlier_release_that_was_noted_is_joined(home, call):
    note = ("--record", "notes.jsonl", "--hierarchies", "h")
    call("anonymize", "people.csv", "--quasi", "age", "--sensitive", "ill", "-k", "5", *note, "-o", "one.csv", at=home)
    call("anonymize", "people.csv", "--quasi", "sex", "--sensitive", "ill", "-k", "5", *note, "-o", "two.csv")
    words = ("--raw", "people.csv", "--quasi", "sex", "--sensitive", "ill", "--record", "notes.jsonl", "--json")
    done = call("release-check", "two.csv", *words)
    report = json.loads(done.stdout)
    assert [one["release"] for one in report["with_earlier"]] == ["one.csv"]
    assert report["with_earlier"][0]["k"] < report["k"]
    assert done.returncode == 1
    assert [fault["kind"] for fault in report["faults"]] == ["composition"]


def crowd(folder):
    """Twelve people: two ages, six zip codes within each."""
    rows = [(age, zip_, "abc"[(i + zip_) % 3]) for i, age in enumerate((20, 40)) for zip_ in range(10, 16)]
    with (folder / "crowd.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("age", "zip", "ill"), *rows])
    (folder / "h.toml").write_text('[zip]\nkind="intervals"\nlow=10\nhigh=15\nwidths=[6]\n')
    return "--sensitive", "ill", "-k", "6", "-l", "3", "--hierarchies", "h.toml", "--record", "notes.jsonl"


@pytest.mark.parametrize("first", [True, False])
def test_what_one_release_keeps_and_the_other_protects_is_known(first, tmp_path, call):
    """A column is known to somebody, whichever of two recorded releases calls it a quasi-identifier."""
    words = crowd(tmp_path)
    kept, protected = ("--quasi", "age", "--keep", "zip"), ("--quasi", "age,zip")
    one, two = (kept, protected) if first else (protected, kept)
    for name, way in (("one.csv", one), ("two.csv", two)):
        done = call("anonymize", "crowd.csv", *way, *words, "-o", name, at=tmp_path)
        assert done.returncode == 0, done.stderr
    done = call("release-check", "two.csv", "--raw", "crowd.csv", *two, *words, "--json")
    assert done.returncode == 1
    assert "composition" in {fault["kind"] for fault in json.loads(done.stdout)["faults"]}


def test_a_recorded_release_of_another_table_is_not_passed_over(tmp_path, call):
    words = crowd(tmp_path)
    lines = (tmp_path / "crowd.csv").read_text().splitlines()
    (tmp_path / "later.csv").write_text("\n".join([*lines, "20,10,c"]) + "\n")
    for table, name in (("crowd.csv", "one.csv"), ("later.csv", "two.csv")):
        assert call("anonymize", table, "--quasi", "age", *words, "-o", name, at=tmp_path).returncode == 0
    check = ("release-check", "two.csv", "--raw", "later.csv", "--quasi", "age", *words, "--json")
    done = call(*check)
    report = json.loads(done.stdout)
    assert (done.returncode, report["passed"]) == (1, False)
    assert '"one.csv" in the record is a release of another table, "crowd.csv"' in report["not_compared"][0]
    report = json.loads(call(*check, "--earlier", "one.csv").stdout)
    assert report["not_compared"] == []
    assert [one["release"] for one in report["with_earlier"]] == ["one.csv"]


def test_a_label_that_is_too_long_is_one_error(tmp_path, call):
    words = crowd(tmp_path)[:4]
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "crowd_hierarchy_zip.csv").write_text(f"10;{'x' * 200_000}\n")
    (tmp_path / "long.csv").write_text(f"{'a' * 200_000},ill\n1,2\n")
    for table, more in (("crowd.csv", ("--quasi", "zip", "--hierarchies", "h")), ("long.csv", ("--quasi", "a"))):
        done = call("anonymize", table, *more, *words, "-o", "out.csv", at=tmp_path)
        assert done.returncode == 2, done.stderr
        assert "too long" in done.stderr
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.csv").exists()


def test_the_same_from_a_toml_file(home, call):
    (home / "wanted.toml").write_text(
        'data = "people.csv"\nquasi = ["age", "sex"]\nsensitive = "ill"\nk = 5\nsuppress = 0.05\n'
        'hierarchies = "h"\nout = "a.csv"\n'
    )
    assert call("anonymize", "wanted.toml", at=home).returncode == 0
    assert (
        call(
            "anonymize", "people.csv", *QUASI, "-k", "5", "--suppress", "0.05", "--hierarchies", "h", "-o", "b.csv"
        ).returncode
        == 0
    )
    assert (home / "a.csv").read_bytes() == (home / "b.csv").read_bytes()
    assert call("anonymize", "wanted.toml", "-k", "20", "-o", "c.csv").returncode == 0
    assert (home / "c.csv").read_bytes() != (home / "a.csv").read_bytes()


def test_comparisons_write_nothing(home, call):
    before = sorted(home.iterdir())
    done = call("anonymize", "people.csv", *QUASI, "-k", "5", "--hierarchies", "h", "--dry-run", at=home)
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["k", "1", "2", "5", "10", "20", "50", "100"]
    done = call("anonymize", "people.csv", *QUASI, "-k", "5", "--hierarchies", "h", "--dimensions", "--json")
    found = json.loads(done.stdout)["releases"]
    assert [one["quasi-identifiers"] for one in found] == [1, 2]
    done = call("anonymize", "people.csv", *QUASI, "-k", "7", "--hierarchies", "h", "--dry-run", "--json")
    found = json.loads(done.stdout)["releases"]
    assert [one["k"] for one in found] == [1, 2, 5, 7, 10, 20, 50, 100]  # as asked; what is reached may be more
    assert all(one["k"] <= one["reached"] for one in found)
    assert sorted(home.iterdir()) == before
    assert call("anonymize", "people.csv", *QUASI, "-k", "5", "--dry-run", "--svg", "a.svg").returncode == 0
    assert (home / "a.svg").read_text().startswith("<svg")


def test_a_search_that_is_interrupted_writes_the_best_so_far(home, call, monkeypatch):
    check = lattice.Checker.check

    def stop(self, node):
        if self.checks >= 1:
            raise KeyboardInterrupt
        return check(self, node)

    monkeypatch.setattr(lattice.Checker, "check", stop)
    done = call("anonymize", "people.csv", *QUASI, "-k", "5", "--hierarchies", "h", "-o", "out.csv", at=home)
    assert done.returncode == 0
    assert "gap" in done.stdout
    assert "ended early" in done.stdout
    assert len((home / "out.csv").read_text().splitlines()) == 121


WRONG = {
    "a column that is missing": (("people.csv", "--quasi", "age,zip", "-k", "5"), 'no column "zip"'),
    "a sensitive column that is missing": (
        ("people.csv", "--quasi", "age", "--sensitive", "x", "-k", "2"),
        'no column "x"',
    ),
    "no quasi-identifier": (("people.csv", "-k", "5"), "no quasi-identifiers"),
    "k above the table": (("people.csv", *QUASI, "-k", "121"), "k is larger than the table"),
    "k that is none": (("people.csv", *QUASI, "-k", "few"), "k must be a finite number"),
    "k of nothing": (("people.csv", *QUASI, "-k", "0"), "k must be at least 1"),
    "l without a sensitive column": (
        ("people.csv", "--quasi", "age", "-k", "5", "-l", "2"),
        "l needs a sensitive column",
    ),
    "l above the values": (("people.csv", *QUASI, "-k", "5", "-l", "4"), "l is larger than"),
    "t above 1": (("people.csv", *QUASI, "-k", "5", "-t", "2"), "t must be between 0 and 1"),
    "suppress above 1": (
        ("people.csv", *QUASI, "-k", "5", "--suppress", "5"),
        "suppress must be a fraction of the rows",
    ),
    "a column twice": (("people.csv", "--quasi", "age,age", "-k", "5"), '"age" is named twice'),
    "an unknown method": (("people.csv", *QUASI, "-k", "5", "--method", "magic"), 'unknown method "magic"'),
    "an unknown distance": (
        ("people.csv", *QUASI, "-k", "5", "-t", "0.1", "--distance", "far"),
        'unknown distance "far"',
    ),
    "a value outside": (("people.csv", *QUASI, "-k", "5", "--hierarchies", "short"), "does not cover a value"),
    "no hierarchies": (("people.csv", *QUASI, "-k", "5", "--hierarchies", "nowhere"), "there is no file or folder"),
    "nothing asked": (("people.csv", *QUASI), "no privacy model was requested"),
    "no file": (("nobody.csv", *QUASI, "-k", "5"), "there is no file"),
    "an empty file": (("empty.csv", *QUASI, "-k", "5"), "is empty"),
    "a header alone": (("head.csv", *QUASI, "-k", "5"), "the table has no rows"),
    "not text": (("binary.csv", *QUASI, "-k", "5"), "is not UTF-8"),
    "not UTF-8 below": (("latin.csv", *QUASI, "-k", "5"), "UTF-8"),
    "ragged lines": (("ragged.csv", *QUASI, "-k", "5"), "cannot be read as a table"),
    "two columns of one name": (("twice.csv", *QUASI, "-k", "5"), "do not have distinct names"),
    "broken Parquet": (("broken.parquet", *QUASI, "-k", "5"), "cannot be read as a table"),
    "another format": (("people.xlsx", *QUASI, "-k", "5"), "neither CSV nor Parquet"),
    "no table": (("some.duckdb", *QUASI, "-k", "5"), "which table"),
    "a target that is the table": (("people.csv", *QUASI, "-k", "5", "-o", "people.csv"), "would replace the table"),
    "a target without a format": (("people.csv", *QUASI, "-k", "5", "-o", "out"), "says no format"),
    "a target in no folder": (("people.csv", *QUASI, "-k", "5", "-o", "no/out.csv"), "there is no folder"),
    "a TOML file with another key": (("odd.toml",), 'unknown key "kk"'),
    "a comparison for no k": (("people.csv", *QUASI, "-k", "few", "--dry-run"), "k must be a finite number"),
    "a comparison for a k above the table": (("people.csv", *QUASI, "-k", "121", "--dry-run"), "k is larger than"),
    "a time that is none": (("people.csv", *QUASI, "-k", "5", "--seconds", "nan"), "seconds must be a number"),
    "a time before now": (("people.csv", *QUASI, "-k", "5", "--seconds", "-1"), "seconds must be a number"),
    "a sample of more than all": (
        ("people.csv", *QUASI, "-k", "5", "--sampling", "2"),
        "sampling must be the fraction",
    ),
    "a tree that is missing": (
        ("people.csv", *QUASI, "-k", "5", "-t", "0.5", "--distance", "hierarchical"),
        'needs a hierarchy of "ill"',
    ),
    "a record in no folder": (
        ("people.csv", *QUASI, "-k", "5", "--record", "no/notes"),
        '"no/notes" cannot be written',
    ),
    "a picture in no folder": (
        ("people.csv", *QUASI, "-k", "5", "--dry-run", "--svg", "no/a.svg"),
        "cannot be written",
    ),
    "a target that is a folder": (("people.csv", *QUASI, "-k", "5", "-o", "h"), "is a folder"),
    "a database that is none": (("people.csv", *QUASI, "-k", "5", "-o", "some.duckdb#x"), "cannot be written into"),
    "a schema that is none": (("people.csv", *QUASI, "-k", "5", "-o", "new.duckdb#no.x"), "cannot be written into"),
    "a TOML file with a number for a name": (("kind.toml",), '"sensitive" in "kind.toml" must be a text'),
    "a TOML file with a time that is none": (("time.toml",), '"seconds" in "time.toml" must be a number'),
    "presence without a population": (("people.csv", *QUASI, "--presence", "0,1"), "needs a population"),
    "an order that lacks a value": (
        ("people.csv", *QUASI, "-k", "2", "-t", "0.1", "--distance", "ordered", "--order", "flu,cold"),
        "lacks",
    ),
}


def test_bad_input_is_one_clear_error_and_nothing_is_written(home, call):
    (home / "short").mkdir()
    (home / "short" / "x_hierarchy_age.csv").write_text("20;*\n21;*\n")
    for name, content in {
        "empty.csv": b"",
        "head.csv": b"age;sex;ill\n",
        "binary.csv": bytes(range(256)) * 4,
        "latin.csv": "age;sex;ill\n20;m;fi\xe8vre\n".encode("latin-1"),
        "ragged.csv": b"age;sex;ill\n20;m;flu\n21;f\n22;m;flu;more\n",
        "twice.csv": b"age;age;ill\n1;2;3\n",
        "broken.parquet": b"PAR1 and nothing else",
        "people.xlsx": b"PK\x03\x04",
        "some.duckdb": b"x",
        "odd.toml": b'data = "people.csv"\nkk = 3\n',
        "kind.toml": b'data = "people.csv"\nquasi = "age"\nsensitive = 3\nk = 5\nout = "out.csv"\n',
        "time.toml": b'data = "people.csv"\nquasi = "age"\nk = 5\nseconds = "soon"\nout = "out.csv"\n',
    }.items():
        (home / name).write_bytes(content)
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    for name, (words, said) in WRONG.items():
        target = () if "-o" in words or words[0].endswith(".toml") else ("-o", "out.csv")
        done = call("anonymize", *words, *target, at=home)
        assert (done.returncode, done.stdout) == (2, ""), (name, done)
        assert said in done.stderr, (name, done.stderr)
        assert done.stderr.startswith("ERROR ")
        assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before, name


def test_a_table_of_a_database_is_never_replaced(home, call):
    """Names of tables differ by more than case: a release must not take the place of the table that it was made of."""
    with duckdb.connect(str(home / "d.duckdb")) as engine:
        engine.execute(f"CREATE TABLE people AS SELECT * FROM read_csv('{home}/people.csv', delim = ';')")
        engine.execute("CREATE VIEW v AS SELECT 1 AS one")
        engine.execute("CREATE SCHEMA published")
    words = ("anonymize", "d.duckdb#people", *QUASI, "-k", "5", "-o")
    for target in ("d.duckdb#people", "d.duckdb#PEOPLE", "d.duckdb#main.people", "d.duckdb#v"):
        done = call(*words, target, at=home)
        assert (done.returncode, done.stdout) == (2, ""), target
        assert done.stderr.startswith("ERROR ")
        assert "Traceback" not in done.stderr
    done = call(*words, "d.duckdb#published.people")
    assert done.returncode == 0
    assert 'WARNING: "d.duckdb" also has "people", "v": do not publish this file' in done.stderr
    assert "WARNING" not in call(*words, "alone.duckdb#people").stderr
    with duckdb.connect(str(home / "d.duckdb"), read_only=True) as engine:
        assert engine.execute("SELECT min(typeof(age)), count(*) FROM people").fetchone() == ("BIGINT", 120)
        assert engine.execute("SELECT count(*) FROM published.people").fetchone() == (120,)
    done = call("release-check", "d.duckdb#published.people", "--raw", "people.csv", *QUASI, "--json")
    faults = json.loads(done.stdout)["faults"]  # the table itself lies beside it, and a view
    assert [fault["words"] for fault in faults] == [
        "the database has other tables, columns and views beside the release"
    ]


def test_uniqueness_in_the_population_is_estimated(home, call):
    done = call("anonymize", "people.csv", *QUASI, "--sampling", "0.1", "--dry-run", "--json", at=home)
    first, second = json.loads(done.stdout)["releases"][:2]
    assert (first["k"], first["loss"]) == (1, 0)
    found = first["measures"]["population_uniques"]
    assert set(found) == {"zayatz", "pitman"}
    assert all(0 < part < first["measures"]["uniques"] for part in found.values())
    assert second["measures"]["uniques"] == second["measures"]["population_uniques"]["pitman"] == 0
    done = call("anonymize", "people.csv", *QUASI, "-k", "5", "--sampling", "0.1", "-o", "out.csv")
    assert "discernibility" in done.stdout
    assert "unique in the population, estimated: Zayatz 0.0000, Pitman 0.0000" in done.stdout


def test_odd_names_and_values_survive(tmp_path, call):
    """Quotes, separators, line ends, empty cells and formulas in names and values: released and checked as they are."""
    head = ('a "b"', "c;d'", "e")
    values = ['x,"y"', "l'ine", "", "=1+1", "ünï", "*", "a|b"]
    rows = [(value, secret, "s\nt") for value in values for secret in ("p;q", "r")] * 3
    with (tmp_path / "odd.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])
    quasi = ("--quasi", 'a "b"', "--sensitive", "c;d'", "-k", "2")
    done = call("anonymize", "odd.csv", *quasi, "-o", "out.csv", "--json", at=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["levels"] == {'a "b"': 0}
    done = call("release-check", "out.csv", "--raw", "odd.csv", *quasi)
    assert done.returncode == 0, done.stdout
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as stream:
        assert sorted(list(csv.reader(stream))[1:]) == sorted([a, b] for a, b, _ in rows)


def test_random_texts_are_released_and_checked_whatever_they_hold(tmp_path):
    """Values made of signs that labels are made of: every release passes the check, by either method."""
    signs, outcome = ["x", "y", "1", "2", "*", "|", " ", '"', "..", "\n", "{", "}"], Counter()
    for seed in range(60):
        rng = random.Random(seed)
        rows = [["".join(rng.choices(signs, k=rng.randrange(3))) for _ in "abs"] for _ in range(rng.randint(4, 25))]
        with (tmp_path / "x.csv").open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([list("abs"), *rows])
        method = ("lattice", "mondrian")[seed % 2]
        wanted = AnonymizeRequest(str(tmp_path / "x.csv"), ("a", "b"), "s", k=2, suppress="0.5", method=method)
        done = anonymize(wanted, str(tmp_path / "o.csv"))
        report = check_release(tmp_path / "o.csv", tmp_path / "x.csv", ("a", "b"), "s")
        assert not [fault for fault in report.faults if fault.kind != "format"], seed
        outcome[method, done.measures.classes > 1] += 1
    assert all(outcome[method, True] > 3 for method in ("lattice", "mondrian")), outcome


def test_hierarchies_are_drafted_from_a_policy_or_a_schema(written, tmp_path, call):
    done = call(
        "hierarchy",
        "draft",
        "-p",
        str(written / "sfumato.toml"),
        "--table",
        "patient",
        "--quasi",
        "age,admitted",
        at=tmp_path,
    )
    found = tomllib.loads(done.stdout)
    assert set(found) == {"age", "admitted"}
    assert (found["age"]["low"], found["age"]["high"]) == (0, 120)
    done = call("hierarchy", "draft", str(written / "patient.parquet"), "-o", "h.toml")
    assert done.returncode == 0
    drafted = tomllib.loads((tmp_path / "h.toml").read_text())
    assert drafted["age"]["low"] == "?"  # the file's rows would have told: they are not asked
    assert call("hierarchy", "draft", str(written / "patient.parquet"), "-o", "h.toml").returncode == 2


def test_losses_that_differ_by_less_than_a_unit_are_told_apart(tmp_path, call):
    codes = "".join(f"{i:030d}\n" for i in range(40))
    (tmp_path / "a.csv").write_text("code\n" + codes)
    (tmp_path / "h.toml").write_text('[code]\nkind = "prefix"\nlength = 30\nstars = [1, 2]\n')
    said = call(
        "anonymize", "a.csv", "--quasi", "code", "-k", "2", "--hierarchies", "h.toml", "-o", "o.csv", at=tmp_path
    )
    assert said.returncode == 0, said.stderr
    assert "the smallest of all 4 generalisations (" in said.stdout
    (tmp_path / "h.toml").write_text('[code]\nkind = "prefix"\nlength = 30\nstars = []\n')
    said = call(
        "anonymize", "a.csv", "--quasi", "code", "-k", "2", "--hierarchies", "h.toml", "-o", "p.csv", at=tmp_path
    )
    assert "the smallest of all 2 generalisations (" in said.stdout


def test_what_is_reached_is_what_was_asked_for(home, call):
    """Not the number of distinct values after entropy was asked for, nor nothing of beta."""
    words = ("anonymize", "people.csv", *QUASI, "-k", "2", "-o", "r.csv")
    done = call(*words, "-l", "1.5", "--diversity", "entropy", "--beta", "5", "--json", at=home)
    assert {"k = 2", "entropy l = 1.5", "beta = 5"} <= set(json.loads(done.stdout)["satisfies"]), done
    done = call(*words, "-l", "1.5", "--diversity", "entropy", "--beta", "5")
    assert "and as asked entropy l = 1.5, beta = 5" in done.stdout
    assert "distinct l = " in done.stdout


def test_the_rows_of_one_class_that_match_nobody_are_one_fault(home, call):
    """One line for a class and a label, however many sensitive values it is about; one row is a row."""
    (home / "raw.csv").write_text("age,sex,ill\n30,m,flu\n30,m,cold\n31,m,flu\n31,m,cold\n")
    (home / "r.csv").write_text("age,sex,ill\n30,m,cold\n30,m,cold\n30,m,flu\n30,m,flu\n")
    done = call("release-check", "r.csv", "--raw", "raw.csv", *QUASI, at=home)
    lines = [line for line in done.stdout.splitlines() if line.startswith("FAULT coverage")]
    assert lines == [
        'FAULT coverage in "age", row 1: 2 rows of a class match no original row that its label "30" covers'
    ]
    assert "4 rows in 1 class, the smallest of 4" in done.stdout
    (home / "r.csv").write_text("age,sex,ill\n30,m,cold\n30,m,flu\n30,m,flu\n")
    done = call("release-check", "r.csv", "--raw", "raw.csv", *QUASI)
    assert '1 row of a class matches no original row that its label "30" covers' in done.stdout


def test_an_attack_on_a_published_table_says_so(home, call):
    """No server, no queries; and the reason why an attack cannot be tried, on the terminal too."""
    assert call("anonymize", "people.csv", *QUASI, "-k", "5", "-o", "r.csv", at=home).returncode == 0
    words = ("attack", "all", "--csv", "people.csv", "--release", "r.csv", "--secret", "ill", "--report", "p.html")
    done = call(*words)
    assert "– intersection against r.csv: not applicable: one release alone" in done.stdout, done.stderr
    shown = (home / "p.html").read_text()
    assert "a published table, which answers no queries" in shown
    assert "Each attack read the published table" in shown
    assert "a server that promises nothing" not in shown
    assert "ran queries" not in shown
