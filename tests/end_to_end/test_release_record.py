"""The record of releases: quasi-identifiers, copies of the table, releases that were written over."""

import csv
import json
import random
import shutil
import signal
from collections import Counter
from pathlib import Path

import pytest

from sfumato.cli import anonymize as cli_anonymize
from sfumato.cli import release_record

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
    assert 'is not what "two.csv" holds now' in words
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
    assert code == 1
    assert "not passed: no fault found, but not everything could be checked" in out
    assert 'not checked: the meaning of 2 labels of "odd.csv: a"' in out


SIX = "district,dis\n1,A\n2,B\n3,C\n4,B\n5,D\n6,B\n"
PAIRS = {"h2025": (("1", "2"), ("3", "4"), ("5", "6")), "h2026": (("1", "4"), ("3", "6"), ("2", "5"))}


def two_years(folder):
    """Six people, and two hierarchies with the same labels for other districts."""
    (folder / "data.csv").write_text(SIX)
    for name, pairs in PAIRS.items():
        lines = [f"{one};{label};*\n" for label, pair in zip(("n", "m", "s"), pairs, strict=True) for one in pair]
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "x_hierarchy_district.csv").write_text("".join(lines))
    return "--quasi", "district", "--sensitive", "dis", "-k", "2", "-l", "2", "--record", "notes.jsonl"


@pytest.mark.parametrize("out", ["two.csv", "one.csv"])
def test_labels_of_an_earlier_release_mean_what_they_meant(out, tmp_path, call):
    """Read with the hierarchies of today, two releases that together name everybody looked the same."""
    words = two_years(tmp_path)
    for year, name in (("h2025", "one.csv"), ("h2026", out)):
        done = call("anonymize", "data.csv", *words, "--hierarchies", year, "-o", name, at=tmp_path)
        assert done.returncode == 0, done.stderr
    check = ("release-check", out, "--raw", "data.csv", *words, "--hierarchies", "h2026", "--json")
    done = call(*check)
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert (tmp_path / "one.csv").read_text() == (tmp_path / out).read_text() or out == "two.csv"
    assert any("in groups below 2, the smallest 1" in fault["words"] for fault in report["faults"])
    place = tmp_path / "h2025" / "x_hierarchy_district.csv"
    place.write_text(place.read_text() + "7;s;*\n")
    report = json.loads(call(*check).stdout)
    assert not report["passed"]
    assert ["the hierarchies of the release of district" in one for one in report["not_compared"]] == [True]
    lines = [json.loads(line) for line in (tmp_path / "notes.jsonl").read_text().splitlines()]
    for line in lines:
        del line["hierarchies"], line["hierarchies_digest"]
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert not json.loads(call(*check).stdout)["passed"], "an older record says nothing of hierarchies"


def test_what_an_earlier_release_takes_as_known_or_protects_is_not_forgotten(tmp_path, call):
    ill = ["asthma", "cold", "flu", "gout", "lupus", "ulcer"]
    rows = [f"{20 + i},{ill[i % 6]},{('low', 'mid', 'high')[(i + i // 6) % 3]}" for i in range(12)]
    (tmp_path / "data.csv").write_text("\n".join(["age,dis,salary", *rows]) + "\n")
    (tmp_path / "h.toml").write_text('[age]\nkind = "intervals"\nlow = 20\nhigh = 31\nwidths = [6]\n')
    common = ("--hierarchies", "h.toml", "--record", "notes.jsonl")
    first = ("--quasi", "age,dis", "--sensitive", "salary", "-k", "2", "-l", "2", *common)
    assert call("anonymize", "data.csv", *first, "-o", "one.csv", at=tmp_path).returncode == 0
    second = ("--quasi", "age", "--sensitive", "dis", "--keep", "salary", "-k", "6", "-l", "2", *common)
    assert call("anonymize", "data.csv", *second, "-o", "two.csv", at=tmp_path).returncode == 0
    report = json.loads(call("release-check", "two.csv", "--raw", "data.csv", *second, "--json").stdout)
    said = {(fault["column"], fault["words"]) for fault in report["faults"] if fault["kind"] == "composition"}
    assert ("dis", 'it is sensitive here, but is a quasi-identifier of "one.csv"') in said
    words = 'it is what "one.csv" protects, but this release keeps it as it is'
    assert ("salary", words) in said


def test_a_release_that_was_written_over_is_named_by_what_it_held(tmp_path, call):
    """The hint to name an earlier release must not lead to a comparison of a release with itself."""
    words = (*two_years(tmp_path), "--hierarchies", "h2025")
    (tmp_path / "later.csv").write_text(SIX.replace("2,B\n3,C", "2,C\n3,B"))
    for table in ("data.csv", "later.csv"):
        assert call("anonymize", table, *words, "-o", "out.csv", at=tmp_path).returncode == 0
        (tmp_path / f"copy-{table}").write_bytes((tmp_path / "out.csv").read_bytes())
    check = ("release-check", "out.csv", "--raw", "later.csv", *words, "--json")
    assert "is a release of another table" in json.loads(call(*check).stdout)["not_compared"][0]
    done = call(*check, "--earlier", "out.csv")
    assert done.returncode == 2
    assert "--earlier names the release itself" in done.stderr
    report = json.loads(call(*check, "--earlier", "copy-later.csv").stdout)
    assert len(report["not_compared"]) == 1, "another file than the one that was made"
    report = json.loads(call(*check, "--earlier", "copy-data.csv").stdout)
    assert report["not_compared"] == []
    assert [one["release"] for one in report["with_earlier"]] == ["copy-data.csv"]


def test_an_interrupt_while_a_release_is_written_leaves_it_with_its_record(tmp_path, monkeypatch):
    """Ctrl-C is heard when the file and the line of the record are there."""
    two_years(tmp_path)
    right = release_record.note

    def interrupted(*given):
        signal.raise_signal(signal.SIGINT)
        return right(*given)

    monkeypatch.setattr(cli_anonymize, "note", interrupted)
    monkeypatch.chdir(tmp_path)
    wanted = cli_anonymize.AnonymizeCommand(
        "data.csv", {"quasi": "district", "sensitive": "dis", "k": "2"}, None, "one.csv", None, False, False, None,
        Path("notes.jsonl"),
    )  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        cli_anonymize.run(wanted, as_json=True)
    assert [one["out"] for one in release_record.read_record(Path("notes.jsonl"))] == [str(tmp_path / "one.csv")]
    assert (tmp_path / "one.csv").read_text().startswith("district,dis\n")


def test_a_line_of_a_record_that_is_none_is_one_error(tmp_path, call):
    words = two_years(tmp_path)
    (tmp_path / "notes.jsonl").write_text('{"out": "a.csv", "data": "data.csv", "quasi": 5}\n')
    (tmp_path / "o.csv").write_text(SIX)
    done = call("release-check", "o.csv", "--raw", "data.csv", *words, at=tmp_path)
    assert done.returncode == 2
    assert 'line 1 of "notes.jsonl" is not a record of a release' in done.stderr


def test_releases_beside_their_hierarchies_do_not_change_these(tmp_path, call):
    """With --hierarchies . the folder also holds the table, the releases, and files of other kinds."""
    words = two_years(tmp_path)
    shutil.copy(tmp_path / "h2025" / "x_hierarchy_district.csv", tmp_path)
    (tmp_path / "other.toml").write_text("this is [no TOML")
    for name in ("one.csv", "two.csv"):
        done = call("anonymize", "data.csv", *words, "--hierarchies", ".", "-o", name, at=tmp_path)
        assert done.returncode == 0, done.stderr
    (tmp_path / "other.toml").unlink()
    (tmp_path / "notes.jsonl").unlink()
    for name in ("one.csv", "two.csv"):
        assert call("anonymize", "data.csv", *words, "--hierarchies", ".", "-o", name).returncode == 0
    report = json.loads(
        call("release-check", "two.csv", "--raw", "data.csv", *words, "--hierarchies", ".", "--json").stdout
    )
    assert report["not_compared"] == []
    assert [one["release"] for one in report["with_earlier"]] == ["one.csv"]
