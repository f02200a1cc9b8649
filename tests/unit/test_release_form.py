"""The one form of a release: sorted rows in bytes that follow from them, whatever somebody tries to add."""

import csv
import gzip
import io
import random

import duckdb
import pytest

from sfumato.anonymity import AnonymizeRequest, anonymize, check_release
from sfumato.anonymity.inspection import claims_of
from sfumato.anonymity.inspection.canonical import find_form, write_canonical
from sfumato.anonymity.inspection.reading import read_published
from sfumato.anonymity.inspection.traces import ReleaseNote
from sfumato.errors import InputError

HEAD = ("age", "ill")
CELLS = [
    "flu",
    "none",
    "a,b",
    "",
    "12",
    "7.5",
    "null",
    "x y",
    'q"r',
    "-3",
    "a\nb",
    "a\r\nb",
    "#1",
    "é",
    " s ",
    "a;b",
    "01",
]


def faults(data):
    return [fault.kind for fault in find_form(data, read_published(data))]


def written(rows, **how):
    stream = io.StringIO()
    csv.writer(stream, **how).writerows([HEAD, *rows])
    return stream.getvalue()


@pytest.fixture
def people(tmp_path):
    """Sixty people of two decades, all of them released as CSV, Parquet and DuckDB."""
    rng = random.Random(4)
    rows = [(str(rng.randint(20, 39)), rng.choice(["flu", "cold", "none"])) for _ in range(60)]
    raw = tmp_path / "raw.csv"
    raw.write_text(written(rows), newline="")
    (tmp_path / "h.toml").write_text('[age]\nkind = "intervals"\nlow = 20\nhigh = 39\nwidths = [10]\n')
    wanted = AnonymizeRequest(str(raw), ("age",), "ill", k=15, hierarchies=tmp_path / "h.toml")
    for out in ("r.csv", "r.parquet", "r.duckdb#r"):
        assert anonymize(wanted, str(tmp_path / out)).released == 60
        report = check_release(tmp_path / out, raw, ("age",), "ill", claims=claims_of(15))
        assert report.passed
    return tmp_path


@pytest.mark.parametrize("seed", range(20))
def test_plain_writers_pass_and_marks_of_rows_do_not(tmp_path, seed):
    """Every usual way to write all rows alike passes; the same rows with one that is written otherwise never do."""
    rng = random.Random(f"writers {seed}")
    columns = [rng.sample(CELLS, 4) if rng.random() < 0.7 else ["12", "7.5", "-3"], ["flu", "none", "gout"]]
    rows = sorted(tuple(map(rng.choice, columns)) for _ in range(30))
    file = tmp_path / "r.csv"
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC):
        for sign, end in ((",", "\n"), (";", "\r\n"), ("\t", "\n"), ("|", "\r\n")):
            is_number = quoting == csv.QUOTE_NONNUMERIC and set(columns[0]) == {"12", "7.5", "-3"}
            cells = [(Number(a), b) if is_number else (a, b) for a, b in rows]
            text = written(cells, quoting=quoting, delimiter=sign, lineterminator=end)
            for whole in (text, text.removesuffix(end), "\ufeff" + text):
                file.write_text(whole, newline="", encoding="utf-8")
                assert faults(file) == []
            for marked in marks(rng, text, end):
                file.write_text(marked, newline="", encoding="utf-8")
                assert [tuple(row) for row in read_published(file).rows] == rows
                assert faults(file) == ["format"], marked
    with duckdb.connect() as engine:
        engine.execute(
            "CREATE TABLE r AS SELECT unnest(?) AS age, unnest(?) AS ill",
            [list(column) for column in zip(*rows, strict=True)],
        )
        engine.execute(f"COPY (SELECT nullif(age, '') AS age, ill FROM r) TO '{file}' (FORMAT csv, HEADER)")
        assert faults(file) == []
        engine.execute(f"COPY (SELECT coalesce(age, '') AS age, ill FROM r) TO '{file}' (FORMAT csv, HEADER)")
        assert faults(file) == []


class Number(float):
    """A number that is written as it was."""

    def __new__(cls, text):
        made = super().__new__(cls, text)
        made.text = text
        return made

    def __repr__(self):
        return self.text

    __str__ = __repr__


def marks(rng, text, end):
    """The same rows, one of which is written otherwise: quotes, a line end, a blank line."""
    places = [i for i in range(len(text)) if text.startswith(f"flu{end}", i) and text[i - 1] in ",;\t|"]
    if len(places) > 1:
        at = rng.choice(places)
        yield text[:at] + '"flu"' + text[at + 3 :]
        yield text[:at] + '"fl"u' + text[at + 3 :]
        yield text[: at + 3] + ("\n" if end == "\r\n" else "\r\n") + text[at + 3 + len(end) :]
        yield text[: at + 3] + end + text[at + 3 :]
    quoted = [i for i in range(len(text)) if text.startswith(f'"none"{end}', i)]
    if len(quoted) > 1:
        at = rng.choice(quoted)
        yield text[:at] + "none" + text[at + 6 :]


@pytest.mark.parametrize("out", ["r.csv", "r.parquet", "r.duckdb#r"])
def test_a_file_of_the_same_rows_is_the_same_file(people, out):
    """Rows of another table with the same release: what was not released has no influence on the bytes."""
    raw = people / "raw.csv"
    head, *rows = raw.read_text().splitlines()
    other = people / "other"
    other.mkdir()
    ages = [
        f"{age[0]}{random.Random(i).randrange(10)},{ill}" for i, (age, ill) in enumerate(r.split(",") for r in rows)
    ]
    random.Random(1).shuffle(ages)
    (other / "raw.csv").write_text("\n".join([head, *ages]) + "\n")
    wanted = AnonymizeRequest(str(other / "raw.csv"), ("age",), "ill", k=15, hierarchies=people / "h.toml")
    anonymize(wanted, str(other / out))
    name = out.partition("#")[0]
    if name != "r.duckdb":  # it has a random identifier
        assert (other / name).read_bytes() == (people / name).read_bytes()
    assert read_published(other / out) == read_published(people / out)


@pytest.mark.parametrize("out", ["r.csv", "r.parquet", "r.duckdb#r"])
def test_releases_are_sorted_by_their_texts(tmp_path, out):
    """The order of numbers, of a hierarchy and of what the engine groups is another: 9 stands behind 10."""
    raw = tmp_path / "raw.csv"
    rng = random.Random("texts")
    raw.write_text(written([(str(i % 300), rng.choice(["b", "a", "", "é", "B"])) for i in range(6000)]), newline="")
    anonymize(AnonymizeRequest(str(raw), ("age",), "ill", k=2), str(tmp_path / out))
    rows = read_published(tmp_path / out).rows
    assert len({row[0] for row in rows}) == 300
    assert rows == sorted(rows)
    assert check_release(tmp_path / out, raw, ("age",), "ill").passed


@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
def test_whatever_is_changed_in_a_file_is_a_fault(people, name):
    """Everybody is released, so that every other file is wrong: of 150 changes of some bytes none passes."""
    rng = random.Random(f"bytes {name}")
    good, outcome = (people / name).read_bytes(), {"fault": 0, "refused": 0}
    for _ in range(150):
        at = rng.randrange(len(good) + 1)
        new = (
            rng.randbytes(rng.choice([1, 1, 2, 12]))
            if rng.random() < 0.6
            else rng.choice([b'"', b"\n", b"\r", b" ", b"0"])
        )
        gone = rng.choice([0, len(new), 1])
        bad = good[:at] + new + good[at + gone :]
        if bad in (good, b"\xef\xbb\xbf" + good, good.removesuffix(b"\n")):
            continue
        (people / name).write_bytes(bad)
        try:
            report = check_release(people / name, people / "raw.csv", ("age",), "ill", claims=claims_of(15))
        except InputError:
            outcome["refused"] += 1
            continue
        assert not report.passed, bad
        outcome["fault"] += 1
    assert outcome["fault"] > 15
    assert sum(outcome.values()) > 140


@pytest.mark.parametrize("name", ["r.csv", "r.parquet", "r.duckdb"])
def test_any_other_order_of_rows_does_not_pass(people, name):
    """Random or chosen, nobody can tell: without a fault it is noted, and an order of the original table is a fault."""
    rows = read_published(people / "r.csv").rows
    rng = random.Random(name)
    for shuffle in (lambda rows: rows[::-1], lambda rows: rng.sample(rows, len(rows)), exchange_two):
        other = shuffle(rows)
        assert other != rows
        assert sorted(other) == rows
        (people / "other.csv").write_text(written(other), newline="")
        with duckdb.connect() as engine:
            sql = f"SELECT * FROM read_csv('{people}/other.csv', all_varchar = true)"
            if name == "r.parquet":
                engine.execute(f"COPY ({sql}) TO '{people}/other.parquet' (FORMAT parquet)")
            (people / "other.duckdb").unlink(missing_ok=True)
            engine.execute(f"ATTACH '{people}/other.duckdb' AS d")
            engine.execute(f"CREATE TABLE d.r AS {sql}")
        data = f"{people}/{name.replace('r.', 'other.', 1)}" + "#r" * (name == "r.duckdb")
        assert [(type(one), one.kind) for one in find_form(data, read_published(data))] == [(ReleaseNote, "order")]
        report = check_release(data, people / "raw.csv", ("age",), "ill", claims=claims_of(15))
        assert not report.passed
        assert report.faultless  # none of these is an order of the original table
        assert "the order of rows" not in report.scope.exact


def exchange_two(rows):
    at = next(i for i in range(1, len(rows)) if rows[i] != rows[i - 1])
    return [*rows[: at - 1], rows[at], rows[at - 1], *rows[at + 1 :]]


def test_compressed_texts_do_not_pass(people):
    """A plain one is noted; a name, a comment, a further part or bytes behind it are faults."""
    text, file = (people / "r.csv").read_bytes(), people / "r.csv.gz"

    def check(raw):
        file.write_bytes(raw)
        report = check_release(file, people / "raw.csv", ("age",), "ill", claims=claims_of(15))
        assert not report.passed
        assert [note.kind for note in report.notes] == ["metadata"]
        return [fault.kind for fault in report.faults]

    plain = gzip.compress(text, mtime=0)
    assert check(plain) == []
    head, rest = plain[:3], plain[4:10]
    assert check(head + b"\x08" + rest + b"r.csv\0" + plain[10:]) == []
    for flag, more in ((b"\x08", b"Ann.csv\0"), (b"\x10", b"row 5 is Ann\0"), (b"\x04", b"\x03\0Ann")):
        assert check(head + flag + rest + more + plain[10:]) == ["metadata"]
    assert check(plain + gzip.compress(b"")) == ["metadata"]
    half = text.index(b"\n", 200) + 1
    assert check(gzip.compress(text[:half]) + gzip.compress(text[half:])) == ["metadata"]
    assert check(plain + b"\0") == ["metadata"]
    lines = text.decode().splitlines()
    age, ill = lines[-1].split(",")
    assert check(gzip.compress("\n".join([*lines[:-1], f'{age},"{ill}"']).encode())) == ["format"]


def test_a_spelling_of_all_equal_cells_is_noted_and_one_of_a_row_is_a_fault(people):
    """Whatever a writer does with every cell of a column that has the same text marks no row."""
    head, *rows = (people / "r.csv").read_text().splitlines()
    file = people / "other.csv"

    def check(lines):
        file.write_text("".join(lines), newline="")
        report = check_release(file, people / "raw.csv", ("age",), "ill", claims=claims_of(15))
        assert not report.passed
        return [note.kind for note in report.notes], [(fault.kind, fault.row) for fault in report.faults]

    whole = [f"{line}\n" for line in (head, *rows)]
    odd = [line.replace("flu", '"flu"') for line in whole]
    assert odd != whole
    assert check(odd) == (["format"], [])
    assert check([*whole, "\n", "\n"]) == (["format"], [])
    assert check([line.replace("\n", "\r") for line in whole]) == (["format"], [])
    for at in (2, 30, len(whole) - 1):
        cell = whole[at].rstrip("\n").rpartition(",")[2]
        more = [line for line in whole[1:at] if line.endswith(f",{cell}\n")]
        assert more, "a row before has the same cell"
        for marked in (whole[at].replace(cell, f'"{cell}"'), whole[at].replace("\n", "\r\n")):
            assert check([*whole[:at], marked, *whole[at + 1 :]]) == ([], [("format", at)])
    assert check([*whole[:30], "\n", *whole[30:]]) == ([], [("format", 30)])


def test_parquet_of_other_writers_is_a_fault_and_its_rows_can_be_written_anew(people):
    """Metadata, an index of pandas, unused values of dictionaries, odd groups of rows: all is other than the engine."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pandas = pytest.importorskip("pandas")
    rows, file = read_published(people / "r.csv").rows, people / "other.parquet"
    frame = pandas.DataFrame(rows, columns=list(HEAD))
    for name, value in (("of", "Ann, Ben"), (None, None)):
        frame.attrs = {name: value} if name else {}
        frame.to_parquet(file)
        assert faults(file) == ["metadata"]
    table = pa.table({"age": [row[0] for row in rows], "ill": [row[1] for row in rows]})
    pq.write_table(table, file, row_group_size=7)
    assert faults(file) == ["metadata"]
    with duckdb.connect() as engine:
        more = "KV_METADATA {author: 'row 5 is Ann'}"
        engine.execute(f"COPY (FROM '{people}/r.parquet') TO '{file}' (FORMAT parquet, {more})")
        assert faults(file) == ["metadata"]
    write_canonical(read_published(file), people / "new.csv")
    assert faults(people / "new.csv") == []
    assert check_release(people / "new.csv", people / "raw.csv", ("age",), "ill", claims=claims_of(15)).passed
    with pytest.raises(InputError, match="exists"):
        write_canonical(read_published(file), people / "new.csv")


BESIDE = [
    "COMMENT ON TABLE r IS 'Ann is in row 3'",
    "COMMENT ON COLUMN r.ill IS 'Ann is in row 3'",
    "ALTER TABLE r ALTER ill SET DEFAULT 'Ann has the flu'",
    "CREATE MACRO who(x) AS 'Ann has the flu'",
    "CREATE TYPE names AS ENUM ('Ann', 'Ben')",
    'CREATE TYPE "row 2 is Bob" AS VARCHAR',
    "CREATE VIEW v AS SELECT 'Ann has the flu'",
    "CREATE SEQUENCE ann",
    'CREATE SCHEMA "row 1 is Ann"',
    "CREATE INDEX ann ON r(age)",
    "CREATE TABLE people AS SELECT 1 AS secret",
    "ALTER TABLE r ALTER ill TYPE ENUM ('flu', 'cold', 'none')",
    "CREATE TABLE s AS FROM r; DROP TABLE r; CREATE VIEW r AS FROM s",
    "INSERT INTO r SELECT 'x', 'Mr Verysecret' || i FROM range(400) t(i); CHECKPOINT; DELETE FROM r WHERE age = 'x'",
    "CREATE TABLE s AS SELECT 'Mr Verysecret' || i FROM range(400) t(i); CHECKPOINT; DROP TABLE s",
]


@pytest.mark.parametrize("sql", BESIDE)
def test_what_a_database_has_beside_its_rows_is_a_fault(people, sql):
    with duckdb.connect(f"{people}/r.duckdb") as engine:
        for part in sql.split("; "):
            engine.execute(part)
    assert faults(f"{people}/r.duckdb#r") == ["metadata"]


def test_bytes_behind_a_database_and_its_log_are_a_fault(people):
    file = people / "r.duckdb"
    (people / "r.duckdb.wal").write_bytes(b"")
    assert faults(f"{file}#r") == ["metadata"]
    (people / "r.duckdb.wal").unlink()
    assert faults(f"{file}#r") == []
    file.write_bytes(file.read_bytes() + b"row 5 is Ann")
    assert faults(f"{file}#r") == ["metadata"]
