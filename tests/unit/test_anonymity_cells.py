"""Cells as files spell them: NULL and empty texts, quotes around parts of cells, and what files hold beside rows."""

import csv
import random

import duckdb
import pytest

from sfumato.anonymity import AnonymizeRequest, anonymize, check_release
from sfumato.anonymity.inspection import claims_of
from sfumato.errors import InputError


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])
    return path


def in_database(place, rows, *more):
    place.unlink(missing_ok=True)
    with duckdb.connect(str(place)) as engine:
        engine.execute("CREATE TABLE r (age VARCHAR, ill VARCHAR)")
        engine.executemany("INSERT INTO r VALUES (?, ?)", rows)
        for sql in more:
            engine.execute(sql)
    return f"{place}#r"


def kinds(release, raw, **words):
    report = check_release(release, raw, ("age",), "ill", **words)
    return [fault.kind for fault in report.faults]


def test_null_and_an_empty_text_are_two_cells(tmp_path):
    """Ten people without an age, of whom one has NULL and the others an empty text: a class of one row."""
    people = [("", "flu"), ("", "cold")] * 5
    raw = write(tmp_path / "raw.csv", ("age", "ill"), people)
    rows = sorted(people)
    for empty in ("", None):  # one way to write them says nothing
        release = in_database(tmp_path / "r.duckdb", [(empty, ill) for _, ill in rows])
        assert kinds(release, raw, claims=claims_of(10)) == []
    release = in_database(tmp_path / "r.duckdb", [(None if i == 3 else "", ill) for i, (_, ill) in enumerate(rows)])
    report = check_release(release, raw, ("age",), "ill", claims=claims_of(10))
    assert (report.k, report.classes) == (1, 2)
    assert {"k", "format"} <= {fault.kind for fault in report.faults}
    with duckdb.connect() as engine:
        engine.execute(f"ATTACH '{tmp_path}/r.duckdb' AS d (READ_ONLY)")
        engine.execute(f"COPY d.r TO '{tmp_path}/r.parquet' (FORMAT parquet)")
    assert check_release(tmp_path / "r.parquet", raw, ("age",), "ill").k == 1
    mixed = in_database(tmp_path / "raw.duckdb", [(None if i % 2 else "", ill) for i, (_, ill) in enumerate(people)])
    assert kinds(write(tmp_path / "r.csv", ("age", "ill"), rows), mixed) == []  # the original may have both


def test_quotes_around_a_part_of_a_cell_are_found(tmp_path):
    """`"2"0..29` and `"20"..29` are the same value: where the quotes end numbers the rows."""
    rng = random.Random(4)
    people = [(str(rng.randint(20, 29)), rng.choice(["flu", "cold"])) for _ in range(40)]
    raw, release = write(tmp_path / "raw.csv", ("age", "ill"), people), tmp_path / "r.csv"
    for ends, faults in (((0,), []), ((3,), ["metadata"]), ((6,), []), (range(1, 7), ["metadata"])):
        cells = ["20..29" if not n else f'"{"20..29"[:n]}"{"20..29"[n:]}' for n in ends]
        lines = [f"{cells[i % len(cells)]},{ill}" for i, (_, ill) in enumerate(sorted(people, key=lambda row: row[1]))]
        release.write_text("\n".join(["age,ill", *lines]) + "\n", encoding="utf-8")
        assert kinds(release, raw) == faults


@pytest.fixture
def people(tmp_path):
    """Forty people of two ages, and what is released of them."""
    rng = random.Random(4)
    rows = sorted((str(rng.randint(20, 39)), rng.choice(["flu", "cold"])) for _ in range(40))
    write(tmp_path / "raw.csv", ("age", "ill"), rows)
    return sorted((f"{age[0]}0..{age[0]}9", ill) for age, ill in rows)


@pytest.mark.parametrize(
    "sql",
    [
        "COMMENT ON TABLE r IS 'Ann is in row 3'",
        "COMMENT ON COLUMN r.ill IS 'Ann is in row 3'",
        "ALTER TABLE r ALTER ill SET DEFAULT 'Ann has the flu'",
        "CREATE MACRO who(x) AS 'Ann has the flu'",
        "CREATE TYPE names AS ENUM ('Ann', 'Ben')",
    ],
)
def test_what_a_database_says_beside_its_rows_is_found(people, tmp_path, sql):
    assert kinds(in_database(tmp_path / "r.duckdb", people), tmp_path / "raw.csv") == []
    assert kinds(in_database(tmp_path / "r.duckdb", people, sql), tmp_path / "raw.csv") == ["metadata"]


def test_a_type_of_the_values_that_rows_have_says_nothing(people, tmp_path):
    more = ("CREATE TYPE ills AS ENUM ('flu', 'cold')", "ALTER TABLE r ALTER ill TYPE ills")
    assert kinds(in_database(tmp_path / "r.duckdb", people, *more), tmp_path / "raw.csv") == []


def test_what_parquet_files_hide_is_found(people, tmp_path):
    """Attributes of pandas, the name of an index, values of binary dictionaries, groups that number rows."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pandas = pytest.importorskip("pandas")
    file, raw = tmp_path / "r.parquet", tmp_path / "raw.csv"
    frame = pandas.DataFrame(people, columns=["age", "ill"])
    pq.write_table(pa.Table.from_pandas(frame), file)
    assert kinds(file, raw) == []
    frame.attrs = {"of": "Ann, Ben"}
    pq.write_table(pa.Table.from_pandas(frame), file)
    assert kinds(file, raw) == ["metadata"]
    frame.attrs = {}
    for index in (pandas.RangeIndex(40, name="Ann, Ben"), pandas.RangeIndex(7, 47), pandas.RangeIndex(40)):
        frame.index = index
        pq.write_table(pa.Table.from_pandas(frame), file)
        assert kinds(file, raw) == ([] if index.start == 0 and index.name is None else ["metadata"])
    table = pa.table({"age": [row[0] for row in people], "ill": [row[1] for row in people]})
    for values in ([b"flu", b"cold"], [b"flu", b"cold", b"Ann"]):
        places = pa.array([values.index(row[1].encode()) for row in people])
        coded = pa.DictionaryArray.from_arrays(places, pa.array(values))
        pq.write_table(table.set_column(1, "ill", coded), file, store_schema=False)
        assert kinds(file, raw) == ["metadata"] * (len(values) - 2)
    for sizes in ((40,), (15, 15, 10), (1, 2, 37), (20, 5, 15)):
        with pq.ParquetWriter(file, table.schema) as writer:
            for i, size in enumerate(sizes):
                writer.write_table(table.slice(sum(sizes[:i]), size))
        assert kinds(file, raw) == ([] if sizes in ((40,), (15, 15, 10)) else ["metadata"]), sizes


def test_a_kept_column_of_which_every_value_occurs_once_is_an_identifier(tmp_path):
    people = [("20", "x" if i % 2 else "y", f"{7 * i}") for i in range(20)]
    raw = write(tmp_path / "raw.csv", ("age", "ill", "id"), people)
    release = write(tmp_path / "r.csv", ("age", "ill", "id"), sorted(people))
    assert kinds(release, raw, keep=("id",)) == ["identifier"]
    for many, alike, found in ((20, 2, []), (120, 12, ["identifier"]), (120, 13, [])):  # nine in ten are still alone
        rows = [("20", "x" if i % 2 else "y", "7" if i < alike else f"{7 * i + 8}") for i in range(many)]
        raw, release = write(raw, ("age", "ill", "id"), rows), write(release, ("age", "ill", "id"), sorted(rows))
        assert kinds(release, raw, keep=("id",)) == found


def test_dummies_do_not_excuse_forged_values_of_kept_columns(tmp_path):
    """One row may stand for nobody; four have a job that nobody has."""
    people = [("1", "flu", "p"), ("1", "hiv", "q"), ("1", "flu", "r"), ("2", "flu", "s"), ("2", "hiv", "t")]
    raw = write(tmp_path / "raw.csv", ("age", "ill", "job"), people)
    for many, faults in ((0, []), (1, []), (4, ["coverage"])):
        rows = sorted([*((*row[:2], "lie" if i < many else row[2]) for i, row in enumerate(people))])
        release = write(tmp_path / "r.csv", ("age", "ill", "job"), rows)
        assert kinds(release, raw, keep=("job",), claims=claims_of(2, dummies=1)) == faults
        added = write(tmp_path / "r.csv", ("age", "ill", "job"), sorted([*rows, ("2", "hiv", "t")]))
        assert kinds(added, raw, keep=("job",), claims=claims_of(2, dummies=1)) == (["coverage"] if many else [])


def test_dummies_and_kept_columns_are_refused_together(tmp_path):
    """A dummy would repeat the kept values of one person, who then has two rows, or of another class."""
    raw = write(tmp_path / "raw.csv", ("age", "ill", "job"), [("1", "flu", "a"), ("1", "hiv", "b"), ("2", "flu", "c")])
    wanted = AnonymizeRequest(str(raw), ("age",), "ill", k=2, suppress="0.4", dummies="0.5", keep=("job",))
    with pytest.raises(InputError, match="kept columns"):
        anonymize(wanted)


def test_a_hierarchy_with_lines_of_different_lengths_is_refused(tmp_path):
    rows = [("1", "q")] * 2 + [("2", "p")] * 2
    raw = write(tmp_path / "raw.csv", ("age", "ill"), rows)
    (tmp_path / "x_hierarchy_ill.csv").write_text("q;*\np;a;*\nr;a;*\n")
    with pytest.raises(InputError, match="different lengths"):
        check_release(raw, raw, ("age",), "ill", hierarchies=tmp_path)
