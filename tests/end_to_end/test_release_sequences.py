"""Several recorded releases: columns that another one knows, hierarchies and promises of each, broken records."""

import json
import os
import shutil
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from sfumato.cli import release_record

FOUR = [(a, b, "stuv"["12".index(a) * 2 + "xy".index(b)]) for a in "12" for b in "xy" for _ in range(4)]
"""By either column classes of eight with two values; by both columns groups of four who share one value."""


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(rows, name="raw.csv", head=("A", "B", "S")):
        (tmp_path / name).write_text("".join(",".join(row) + "\n" for row in (head, *rows)))

    return write


@pytest.fixture
def make(call):
    def run(out, *words, raw="raw.csv"):
        done = call("anonymize", raw, *words, "--record", "rec", "-o", out)
        assert done.returncode == 0, done.stderr

    return run


@pytest.fixture
def check(call):
    def run(release, *words, raw="raw.csv"):
        done = call("release-check", release, "--raw", raw, *words, "--json")
        assert done.returncode in (0, 1), done.stderr
        report = json.loads(done.stdout)
        words = [*(fault["words"] for fault in report["faults"]), *report["not_compared"]]
        return report["passed"], "; ".join([*words, *report["not_checked_together"]])

    return run


def test_a_column_is_known_if_any_of_three_releases_says_so(table, make, check):
    rows = [(*cell, f"s{i}") for i, cell in enumerate(("1x", "1x", "1x", "1y", "2y", "2y", "2y", "2x"))]
    table(rows)
    make("r1.csv", "--quasi", "A", "--keep", "B", "-k", "4")
    make("r2.csv", "--quasi", "B", "-k", "4")
    make("r3.csv", "--quasi", "A", "--sensitive", "S", "-k", "4", "-l", "2")
    words = ("--quasi", "A", "--sensitive", "S", "-k", "4", "-l", "2")
    passed, said = check("r3.csv", *words, "--record", "rec")
    assert not passed
    assert "in groups below 4, the smallest 1" in said


def halves(folder, name, pairs):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(f"{value};{label};*\n" for label, pair in zip("nm", pairs, strict=True)
                                       for value in pair))  # fmt: skip


EIGHT = [(a, "s" if i % 2 else "t") for i, a in enumerate("11223344")]


def test_files_that_hierarchies_name_are_part_of_them_whatever_their_own_file_is_called(table, make, check, tmp_path):
    table(EIGHT, head=("A", "S"))
    (tmp_path / "h.conf").write_text('[A]\nfile = "ha.csv"\n')
    words = ("--quasi", "A", "--sensitive", "S", "-k", "4", "--hierarchies", "h.conf")
    halves(tmp_path, "ha.csv", ("12", "34"))
    make("r1.csv", *words)
    halves(tmp_path, "ha.csv", ("13", "24"))
    make("r2.csv", *words)
    passed, said = check("r2.csv", *words, "--record", "rec")
    assert not passed
    assert "the hierarchies of the release of A" in said


def test_a_release_is_checked_with_the_hierarchies_roles_and_dummies_of_its_record(table, make, check, tmp_path):
    table([(a, a, f"s{i}") for i, (a, _) in enumerate(EIGHT)])
    for name, pairs in (("H1", ("12", "34")), ("H2", ("13", "24"))):
        halves(tmp_path / name, "x_hierarchy_A.csv", pairs)
        make(f"{name}.csv", "--quasi", "A", "--sensitive", "S", "-k", "4", "--hierarchies", name)
    words = ("--quasi", "A", "--sensitive", "S", "-k", "2", "--record", "rec")
    passed, said = check("H2.csv", *words, "--hierarchies", "H1")
    assert not passed
    assert "the record has this release with other hierarchies than those that are named" in said
    passed, said = check("H2.csv", *words)
    assert "the smallest 2" in said, "its own hierarchies are read where none are named"
    (tmp_path / "rec").unlink()
    make("both.csv", "--quasi", "A,B", "-k", "2")
    passed, said = check("both.csv", "--quasi", "A", "--keep", "B", "--record", "rec", "--dummies", "3")
    assert not passed
    assert "the record has this release with the quasi-identifiers A, B, not A" in said
    assert "0 dummies, not 3" in said
    assert check("both.csv", "--quasi", "B,A", "-k", "2", "--record", "rec") == (True, "")


def test_a_column_that_is_kept_now_and_in_a_release_without_a_record_is_a_fault(table, make, check):
    table([(a, b, str(i % 2)) for i, (a, b, _) in enumerate(FOUR)])
    make("r1.csv", "--quasi", "A,B", "-k", "2")
    make("r2.csv", "--quasi", "A", "--keep", "B", "-k", "2")
    passed, said = check("r2.csv", "--quasi", "A", "--keep", "B", "-k", "2", "--earlier", "r1.csv")
    assert not passed
    assert 'it is kept here as unknown, but "r1.csv" has it, and no record says that it was kept' in said


@pytest.mark.parametrize(
    ("promise", "words"),
    [
        (("-l", "2"), "not distinct 2-diverse"),
        (("-l", "2", "--diversity", "entropy"), "not entropy 2-diverse"),
        (("-t", "0.5"), "a group is 0.75 from the table, farther than 0.5"),
        (("--beta", "1"), "not 1-like the table"),
        (("-k", "8"), "in groups below 8, the smallest 4"),
        (("--presence", "0,1", "--population", "raw.csv"), "delta-presence is not checked together"),
        ((), ""),
    ],
)
def test_what_an_earlier_release_promised_holds_of_both_together(promise, words, table, make, check):
    table(FOUR)
    make("r1.csv", "--quasi", "A", "--sensitive", "S", *(("-k", "4") if "-k" not in promise else ()), *promise)
    make("r2.csv", "--quasi", "B", "--sensitive", "S", "-k", "4")
    passed, said = check("r2.csv", "--quasi", "B", "--sensitive", "S", "-k", "4", "--record", "rec")
    assert passed is not bool(promise)
    assert words in said
    alone = check("r1.csv", "--quasi", "A", "--sensitive", "S", "-k", "4", "--record", "rec")
    assert alone[0] is not bool(promise), "in either order"


def test_what_one_release_protects_is_judged_beside_another_that_protects_something_else(table, make, check, tmp_path):
    table([(*row, "pq"[i % 2]) for i, row in enumerate(FOUR)], head=("A", "B", "S", "T"))
    make("r1.csv", "--quasi", "A", "--sensitive", "S", "-k", "4", "-l", "2")
    make("r2.csv", "--quasi", "B", "--sensitive", "T", "-k", "4", "-l", "2")
    make("r3.csv", "--quasi", "A", "--sensitive", "T", "-k", "4", "-l", "2")
    three = ("--quasi", "A", "--sensitive", "T", "-k", "4", "-l", "2", "--record", "rec")
    passed, said = check("r3.csv", *three)
    assert not passed
    assert "not distinct 2-diverse" in said
    record = tmp_path / "rec"
    record.write_text("".join(line for line in record.read_text().splitlines(True) if "r2.csv" not in line))
    assert check("r3.csv", *three) == (True, "")


def test_the_same_bytes_with_other_roles_are_another_release(table, make, check, tmp_path):
    table([(a, s) for a, _, s in FOUR], head=("A", "S"))
    make("r1.csv", "--quasi", "A", "--sensitive", "S", "-k", "4", "-l", "2")
    shutil.copy("r1.csv", "copy.csv")
    make("r1.csv", "--quasi", "A", "--keep", "S", "-k", "4")
    assert (tmp_path / "copy.csv").read_bytes() == (tmp_path / "r1.csv").read_bytes()
    for words in (("--keep", "S"), ("--sensitive", "S")):
        passed, said = check("r1.csv", "--quasi", "A", *words, "-k", "4", "--record", "rec")
        assert not passed
        assert "keeps it as it is" in said


def test_a_record_without_a_last_line_end_is_gone_on_with(table, make, check, tmp_path):
    table(FOUR)
    make("r1.csv", "--quasi", "A", "-k", "4")
    (tmp_path / "rec").write_text((tmp_path / "rec").read_text().rstrip("\n"))
    make("r2.csv", "--quasi", "A", "-k", "4")
    assert check("r2.csv", "--quasi", "A", "-k", "4", "--record", "rec") == (True, "")


@pytest.mark.parametrize("out", ["out.csv", "out.parquet", "out.duckdb#t"])
def test_a_release_that_cannot_be_recorded_does_not_appear(out, table, call, tmp_path, monkeypatch):
    table(FOUR)
    call("anonymize", "raw.csv", "--quasi", "A", "-k", "4", "--record", "rec", "-o", "r1.csv")
    before = (tmp_path / "rec").read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    done = call("anonymize", "raw.csv", "--quasi", "A", "-k", "4", "--record", "rec", "-o", out)
    assert done.returncode == 2
    assert '"rec" cannot be written' in done.stderr
    assert (tmp_path / "rec").read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["r1.csv", "raw.csv", "rec"]


@pytest.mark.parametrize("out", ["out.csv", "out.duckdb#t"])
def test_the_line_of_the_record_is_there_before_the_release(out, table, check, make, monkeypatch):
    """Whatever ends the program in between, there is no release without its line."""
    table(FOUR)
    right, seen = release_record.appended_line, []

    def watched(file, line):
        seen.append(Path("out.csv").exists())
        return right(file, line)

    monkeypatch.setattr(release_record, "appended_line", watched)
    make(out, "--quasi", "A", "-k", "4")
    assert seen == [False]
    assert check(out, "--quasi", "A", "-k", "4", "--record", "rec")[1] == "", "its digest is that of the rows"


def test_a_table_that_exists_is_not_recorded_again(table, make, call):
    table(FOUR)
    words = ("--quasi", "A", "-k", "4")
    make("out.duckdb#t", *words)
    done = call("anonymize", "raw.csv", *words, "--record", "rec", "-o", "out.duckdb#t")
    assert done.returncode == 2
    assert len(release_record.read_record(Path("rec"))) == 1


def test_records_that_are_none_are_one_error(table, call, tmp_path):
    table(FOUR)
    (tmp_path / "deep").write_text("[" * 200_000 + "\n")
    os.mkfifo(tmp_path / "pipe")
    for record, words in (("deep", "line 1"), ("pipe", "is not a file"), ("/dev/full", "is not a file")):
        done = call("anonymize", "raw.csv", "--quasi", "A", "-k", "4", "--record", record, "-o", "out.csv")
        assert done.returncode == 2
        assert words in done.stderr
        done = call("release-check", "raw.csv", "--raw", "raw.csv", "--quasi", "A,B,S", "--record", record)
        assert words in done.stderr


def test_a_folder_with_a_number_sign_has_a_record(table, make, check, tmp_path, monkeypatch):
    (tmp_path / "c#1").mkdir()
    table(FOUR)
    shutil.move("raw.csv", "c#1")
    monkeypatch.chdir(tmp_path / "c#1")
    make("r1.csv", "--quasi", "A", "-k", "4")
    make("r2.csv", "--quasi", "B", "-k", "4")
    assert check("r2.csv", "--quasi", "B", "-k", "4", "--record", "rec") == (True, "")


def test_a_release_in_another_format_passes_where_a_label_is_also_a_value(table, make, check, tmp_path):
    table(EIGHT, head=("A", "S"))
    (tmp_path / "H").mkdir()
    (tmp_path / "H" / "x_hierarchy_A.csv").write_text("1;1;*\n2;1;*\n3;3;*\n4;3;*\n")
    words = ("--quasi", "A", "--sensitive", "S", "-k", "4", "--hierarchies", "H")
    make("r1.csv", *words)
    make("r2.parquet", *words)
    for release in ("r1.csv", "r2.parquet"):
        assert check(release, *words, "--record", "rec") == (True, "")


@pytest.mark.parametrize("words", [("--quasi", "A,A"), ("--quasi", "A", "--keep", "A"), ("--quasi", "S,A")])
def test_a_column_has_one_role(words, table, call):
    table(FOUR)
    done = call("release-check", "raw.csv", "--raw", "raw.csv", *words, "--sensitive", "S")
    assert done.returncode == 2
    assert "is named twice" in done.stderr


def test_a_record_of_an_earlier_version_says_too_little_until_the_release_is_made_again(table, make, check, tmp_path):
    table(FOUR)
    words = ("--quasi", "A", "--sensitive", "S", "-k", "4")
    make("r1.csv", *words)
    make("r2.csv", "--quasi", "B", "--sensitive", "S", "-k", "4")
    lines = [json.loads(line) for line in (tmp_path / "rec").read_text().splitlines()]
    del lines[0]["promised"]
    (tmp_path / "rec").write_text("".join(json.dumps(line) + "\n" for line in lines))
    second = ("--quasi", "B", "--sensitive", "S", "-k", "4", "--record", "rec")
    passed, said = check("r2.csv", *second)
    assert not passed
    assert "the record does not say what the release of A" in said
    make("r1.csv", *words)
    assert check("r2.csv", *second) == (True, "")


def test_numbers_that_are_written_differently_are_two_values(table, make, check):
    """Equal as numbers, two texts for the search: whose classes they are is not known, and nothing passes."""
    table([("01010", "x", "s1"), ("01010", "y", "s2"), ("1010", "x", "s3"), ("1010", "y", "s4")])
    words = ("--sensitive", "S", "-k", "2", "-l", "2")
    make("r1.csv", "--quasi", "A", *words)
    make("r2.csv", "--quasi", "B", *words)
    for earlier in (("--record", "rec"), ("--earlier", "r1.csv")):
        passed, said = check("r2.csv", "--quasi", "B", *words, *earlier)
        assert not passed
        assert 'labels of "r1.csv" in column "A" can be taken for each other' in said


def test_labels_that_are_other_values_do_not_pass(table, make, check, tmp_path):
    cells = ["1x"] * 2 + ["1y"] * 2 + ["2x"] * 2 + ["2y"] * 2 + ["3z"] * 4 + ["5z"] * 2 + ["4w"] * 4
    table([(a, b, f"s{a}" if b in "xy" else f"s{i % 2}") for i, (a, b) in enumerate(cells)])
    (tmp_path / "H").mkdir()
    (tmp_path / "H" / "x_hierarchy_A.csv").write_text("1;2;*\n2;1;*\n3;1;*\n4;2;*\n5;1;*\n")
    words = ("--sensitive", "S", "-k", "4", "-l", "2")
    make("r1.csv", "--quasi", "A", *words, "--hierarchies", "H")
    make("r2.csv", "--quasi", "B", *words, "--hierarchies", "H")
    passed, said = check("r2.csv", "--quasi", "B", *words, "--hierarchies", "H", "--record", "rec")
    assert not passed
    assert "can be taken for each other" in said


def test_labels_of_a_hierarchy_mean_what_it_says_whatever_they_look_like(table, make, check, tmp_path):
    """Read as numbers, both labels would cover everybody: the groups of four would look like groups of eight."""
    table([(str(2 * "12".index(a) + 1 + i % 2), b, s) for i, (a, b, s) in enumerate(FOUR)])
    (tmp_path / "H").mkdir()
    (tmp_path / "H" / "x_hierarchy_A.csv").write_text("1;<=99;*\n2;<=99;*\n3;0..99;*\n4;0..99;*\n")
    words = ("--sensitive", "S", "-k", "8", "-l", "2")
    make("r1.csv", "--quasi", "A", *words, "--hierarchies", "H")
    assert {line.split(",")[0] for line in Path("r1.csv").read_text().splitlines()[1:]} == {"<=99", "0..99"}
    make("r2.csv", "--quasi", "B", *words)
    passed, said = check("r2.csv", "--quasi", "B", *words, "--record", "rec")
    assert not passed
    assert "in groups below 8, the smallest 4" in said
    assert "each other" not in said


def test_a_release_through_a_link_is_where_the_record_says(table, make, check, tmp_path):
    table(FOUR)
    (tmp_path / "kept").mkdir()
    Path("link.csv").symlink_to("kept/real.csv")
    make("link.csv", "--quasi", "A", "-k", "4")
    assert Path("link.csv").is_symlink()
    assert release_record.read_record(Path("rec"))[0]["out"] == str(Path("kept/real.csv").resolve())
    make("r2.csv", "--quasi", "B", "-k", "4")
    assert check("r2.csv", "--quasi", "B", "-k", "4", "--record", "rec") == (True, "")
    assert sorted(file.name for file in (tmp_path / "kept").iterdir()) == ["real.csv"]


def test_an_order_that_lacks_a_value_of_today_does_not_pass(table, make, check):
    rows = [("1", b, s) for b in "xy" for s in "aabb"]
    table(rows)
    words = ("--quasi", "A", "--sensitive", "S", "-k", "4")
    make("r1.csv", *words, "-t", "0.5", "--distance", "ordered", "--order", "b,a")
    assert check("r1.csv", *words, "--record", "rec") == (True, "")
    table([*rows, ("1", "x", "c")])
    passed, said = check("r1.csv", *words, "--record", "rec")
    assert not passed
    assert "the t that the record promises is not checked: its order of values lacks some of them" in said


def test_a_line_of_a_record_is_removed_by_nobody_else(tmp_path):
    """One process fails while another one waits for its turn: the line of the first goes, that of the second stays."""
    record, entered, go_on = tmp_path / "rec", threading.Event(), threading.Event()

    def fail():
        with suppress(OSError), release_record.appended_line(record, "first " * 9):
            entered.set()
            go_on.wait(10)
            raise OSError("full")

    def add():
        with release_record.appended_line(record, "second"):
            pass

    threads = [threading.Thread(target=one) for one in (fail, add)]
    threads[0].start()
    entered.wait(10)
    threads[1].start()
    threads[1].join(0.3)
    assert record.read_text() == "first " * 9 + "\n"
    go_on.set()
    for one in threads:
        one.join(10)
    assert record.read_text() == "second\n"


KEPT = "what kept columns show is not checked together"


def test_somebody_who_left_is_seen_in_a_kept_column(table, make, check):
    rows = [("1", f"b{i}", "st"[i % 2]) for i in range(5)]
    words = ("--quasi", "A", "--sensitive", "S", "--keep", "B", "-k", "4", "-l", "2")
    table(rows[:4])
    make("r1.csv", *words)
    passed, said = check("r1.csv", *words, "--record", "rec")
    assert passed, said
    table([*rows[:3], ("1", "b9", rows[3][2])])
    make("r2.csv", *words)
    passed, said = check("r2.csv", *words, "--record", "rec")
    assert not passed
    assert KEPT in said


def test_a_kept_column_under_another_name_does_not_pass(table, make, check):
    rows = [("1", b, "st"[i % 2]) for i, b in enumerate("xyzw")]
    table(rows)
    make("r1.csv", "--quasi", "A", "--keep", "B", "--sensitive", "S", "-k", "4", "-l", "2")
    table(rows, head=("A", "B2", "S"))
    words = ("--quasi", "B2", "--sensitive", "S", "-k", "4", "-l", "2")
    make("r2.csv", *words)
    passed, said = check("r2.csv", *words, "--record", "rec")
    assert not passed
    assert KEPT in said


def test_dummies_do_not_pass_beside_another_release(table, make, check):
    """A dummy might stand in the place of somebody who left."""
    people = {"p0": "1a", "p1": "1a", "p2": "1b", "x": "1c", "q1": "2a", "q2": "2b"}
    table([tuple(cell) for cell in people.values()], head=("A", "S"))
    words = ("--quasi", "A", "--sensitive", "S", "-k", "3", "-l", "2")
    make("r1.csv", *words, "--dummies", "0.3", "--suppress", "0.5")
    table([tuple(cell) for name, cell in (people | {"z": "2c"}).items() if name != "x"], head=("A", "S"))
    make("r2.csv", *words)
    passed, said = check("r2.csv", *words, "--record", "rec")
    assert not passed
    assert "dummies" in said


def test_columns_with_commas_and_blanks_are_named_in_quotes(table, make, check):
    table([("1a", "2", "s"), ("1a", "2", "t")] * 2, head=('"a,b"', " a", "S"))
    words = ("--quasi", '"a,b", " a"', "--sensitive", "S", "-k", "2")
    make("r1.csv", *words)
    assert check("r1.csv", *words) == (True, "")
