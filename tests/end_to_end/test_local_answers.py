"""Answers in files: as many reports as rows, each of the value that stands there, or one error that names the row."""

import csv
import io
import random

import duckdb
import pytest

from sfumato.cli.local_files import read_answers, run_encode
from sfumato.errors import InputError
from sfumato.local.kary import KAryResponse
from sfumato.local.numbers import DuchiBit
from sfumato.local.task import LocalTask, planned_task

NUMBERS = ["5", " 5 ", "-3.5", "+2", ".5", "5.", "1e1", "1E-3", "007"]
NO_NUMBERS = [
    "5,9", "1_0", "0x10", "nan", "inf", "-inf", "1e400", "", " ", "\u0665", "\uff11", "1 0", "1.5.1", "true", "five",
    "1,000", "--1", "1e", "\u00bd", "5\u00a0", "5\t", "5\n",
]  # fmt: skip
WORDS = [
    "red",
    "blue, dark",
    "a;b",
    'say "yes"',
    "two\nlines",
    "# no comment",
    "1",
    "NULL",
    "tab\there",
    "x" * 300,
    "'",
]


def written(dice):
    """A file as programs and hands write them, and what Python's csv reads in it with the header's delimiter."""
    delimiter = dice.choice(",;\t|")
    names = dice.sample(["colour", "age", "city"], dice.choice([1, 2, 3]))
    if len(names) == 1:
        delimiter = ","  # nothing in the header shows another one
    quoting = dice.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
    ends = dice.choice(["\n", "\r\n"])
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=ends)
    writer.writerow(names)
    for _ in range(dice.randint(1, 40)):
        row = [dice.choice(WORDS) for _ in names]
        kind = dice.random()
        if kind < 0.02:
            out.write(dice.choice(["", "# a comment", '"not closed', "5,9", "a;b", "x,y,z,w"]) + ends)  # a hand's row
        elif kind < 0.03:
            writer.writerow([*row, "more"] if dice.random() < 0.5 else row[1:])
        else:
            writer.writerow(row)
    text = out.getvalue()
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    return text, names, rows[1:]


@pytest.mark.parametrize("seed", range(6))
def test_every_row_of_a_file_is_an_answer_or_an_error(seed, tmp_path):
    dice, read, refused = random.Random(seed), 0, 0
    file = tmp_path / "answers.csv"
    for _ in range(150):
        text, names, rows = written(dice)
        file.write_text(text, encoding=dice.choice(["utf-8", "utf-8-sig"]), newline="")
        place = dice.randrange(len(names))
        answers, error = None, ""
        try:
            answers = [value for _, batch in read_answers(file, names[place], "values") for value in batch]
        except InputError as raised:
            error = raised.message
        if answers is None:
            assert "row " in error or "damaged" in error
            assert any(len(row) != len(names) for row in rows) or '"not closed' in text
        else:
            assert answers == [row[place] or None for row in rows]
        read, refused = read + (answers is not None), refused + (answers is None)
    assert read > 50
    assert refused > 10


def test_files_that_were_guessed_at(tmp_path):
    """Each lost or changed answers without a word when the delimiter, the header and lines to skip were guessed."""
    task = planned_task("t", DuchiBit.planned(2), low=0, high=10)
    for text, said in (
        ("hours\n" + "5,9\n" * 400, "row 1 has 2 fields, but there is 1 column"),
        ("colour\n" + "red\n" * 30 + "blue, dark\n" * 60, "row 31 has 2 fields"),
        ("v\n1_0\n", "row 1: the value is not a number"),
        ("v\n5\n\n7\n", "row 2 is blank"),
        ("# survey of May\nv\n5\n", "row 1: the value is not a number"),
        ('v\n5\n"6\n7\n', "is damaged"),
        ("v,w\n5;6\n", "row 1 has 1 field, but there are 2 columns"),
        ("v,v\n5,6\n", 'more than one column "v"'),
        ("", "is empty"),
        ("v\n", "has no rows"),
    ):
        (tmp_path / "in.csv").write_text(text)
        (tmp_path / "t.toml").write_text(task.to_toml())
        (tmp_path / "out.parquet").write_text("as it was")
        with pytest.raises(InputError) as raised:
            run_encode(tmp_path / "in.csv", tmp_path / "t.toml", tmp_path / "out.parquet", column=None, key=None)
        assert said in str(raised.value), text[:20]
        assert (tmp_path / "out.parquet").read_text() == "as it was"


def test_a_first_line_of_numbers_is_a_header(tmp_path):
    (tmp_path / "in.csv").write_text("3\n4\n5\n")
    assert [batch for _, batch in read_answers(tmp_path / "in.csv", None, "numbers")] == [["4", "5"]]


def points(task, values):
    return [int(one) for one in task.inputs(values)]


def test_numbers_have_one_grammar_in_every_file(tmp_path):
    """In CSV, in texts of Parquet and in Python; the browser client is held to the same list by its own test."""
    task = planned_task("t", DuchiBit.planned(2), low=-5, high=10)
    for text in NUMBERS + NO_NUMBERS:
        (tmp_path / "in.csv").write_text(f'v\n"{text}"\n', encoding="utf-8")
        duckdb.sql("SELECT $v AS v", params={"v": text}).write_parquet(str(tmp_path / "in.parquet"))
        outcomes = [outcome(task, lambda text=text: [text])]
        for name in ("in.csv", "in.parquet"):
            read = [v for _, batch in read_answers(tmp_path / name, None, "numbers") for v in batch]
            outcomes.append(outcome(task, lambda read=read: read))
        good = points(task, [float(text)]) if text in NUMBERS else None
        assert outcomes == [good] * 3, text
    for value in (True, False, None, [], [5], 10**400, "5" * 400, b"5", 1j):
        assert outcome(task, lambda value=value: [value]) is None, value


def outcome(task, read):
    try:
        return points(task, read())
    except InputError:
        return None


def test_types_of_parquet_are_numbers_or_refused(tmp_path):
    task = planned_task("t", DuchiBit.planned(2), low=0, high=10)
    kinds = ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE", "DECIMAL(9,2)"]
    for kind in kinds:
        duckdb.sql(f"SELECT 5::{kind} AS v").write_parquet(str(tmp_path / "in.parquet"))
        read = [v for _, batch in read_answers(tmp_path / "in.parquet", None, "numbers") for v in batch]
        assert points(task, read) == points(task, [5]), kind
    for wrong in ("true", "DATE '2020-01-01'", "[5]"):
        duckdb.sql(f"SELECT {wrong} AS v").write_parquet(str(tmp_path / "in.parquet"))
        read = [v for _, batch in read_answers(tmp_path / "in.parquet", None, "numbers") for v in batch]
        assert outcome(task, lambda read=read: read) is None, wrong


def test_a_task_for_values_counts_every_row(tmp_path):
    task: LocalTask = planned_task("t", KAryResponse.planned(2, 20), values=("red", "blue, dark"))
    (tmp_path / "t.toml").write_text(task.to_toml())
    (tmp_path / "in.csv").write_text("colour\n" + "red\n" * 30 + '"blue, dark"\n' * 60)
    run_encode(tmp_path / "in.csv", tmp_path / "t.toml", tmp_path / "r.parquet", column=None, key=None)
    reports = duckdb.sql(f"SELECT report FROM '{tmp_path / 'r.parquet'}'").fetchall()
    assert [reports.count((bytes([i]),)) for i in (0, 1)] == [30, 60]
