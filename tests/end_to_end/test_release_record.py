"""The record of releases: quasi-identifiers, copies of the table, releases that were written over."""

import csv
import json
import random
import shutil
from collections import Counter

ILL = ["flu", "hiv", "cancer"]


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])
    return path


def released(call, raw, quasi, out, *more):
    words = ("--quasi", quasi, "--sensitive", "ill", "-k", "3", "--suppress", "0.2", "--record", "notes.jsonl", *more)
    code, _, err = call("anonymize", str(raw), *words, "-o", out)
    assert code == 0, err


def checked(call, out, raw, quasi):
    words = ("--raw", str(raw), "--quasi", quasi, "--sensitive", "ill", "-k", "3", "--record", "notes.jsonl", "--json")
    code, text, err = call("release-check", out, *words)
    assert code in (0, 1), err
    return json.loads(text)


def test_the_record_knows_quasi_identifiers_copies_and_what_was_written_over(tmp_path, call, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = random.Random("record")
    people = [(rng.choice("12"), rng.choice("xyz"), str(i), rng.choice(ILL)) for i in range(40)]
    raw = write(tmp_path / "raw.csv", ("a", "b", "number", "ill"), people)
    copy = shutil.copy(raw, tmp_path / "copy.csv")
    released(call, raw, "a", "one.csv", "--keep", "number")
    released(call, raw, "b", "two.csv")
    least = min(Counter((a, b) for a, b, _, _ in people).values())
    for table in (raw, copy):
        found = checked(call, "two.csv", table, "b")
        assert found["with_earlier"] == [{"release": "one.csv", "k": least}]
        assert found["not_compared"] == []
    released(call, raw, "a,b", "two.csv")
    (words,) = checked(call, "two.csv", raw, "a,b")["not_compared"]
    assert "the release of b of" in words
    assert 'was written over by "two.csv"' in words
    (tmp_path / "one.csv").write_text("a,ill\n1,flu\n1,hiv\n")
    assert "is not what" in checked(call, "two.csv", raw, "a,b")["not_compared"][0]
    (tmp_path / "notes.jsonl").write_bytes(b"\xff\xfe")
    code, _, err = call("release-check", "two.csv", "--raw", str(raw), "--quasi", "a,b", "--record", "notes.jsonl")
    assert code == 2
    assert "not a record of releases" in err


def test_labels_of_an_earlier_release_that_cannot_be_read_are_printed(tmp_path, call):
    people = [(a, b, ILL[i % 3]) for i, (a, b) in enumerate((a, b) for a in "12" for b in "xy" for _ in range(4))]
    raw = write(tmp_path / "raw.csv", ("a", "b", "ill"), people)
    two = write(tmp_path / "two.csv", ("b", "ill"), sorted((b, ill) for _, b, ill in people))
    odd = write(tmp_path / "odd.csv", ("a", "ill"), sorted((f"group {a}", ill) for a, _, ill in people))
    words = ("--raw", str(raw), "--quasi", "b", "--sensitive", "ill", "-k", "4", "--earlier", str(odd))
    code, out, _ = call("release-check", str(two), *words)
    assert code == 0
    assert 'not checked: the meaning of 2 labels of "odd.csv: a"' in out
