"""Cells as files spell them: NULL and empty texts, quotes around parts of cells, and what files hold beside rows."""

import csv
import random

import duckdb

from sfumato.anonymity import check_release
from sfumato.anonymity.inspection import claims_of


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
    for ends, faults in (((0,), []), ((3,), []), ((6,), []), (range(1, 7), ["metadata"])):
        cells = ["20..29" if not n else f'"{"20..29"[:n]}"{"20..29"[n:]}' for n in ends]
        lines = [f"{cells[i % len(cells)]},{ill}" for i, (_, ill) in enumerate(sorted(people, key=lambda row: row[1]))]
        release.write_text("\n".join(["age,ill", *lines]) + "\n", encoding="utf-8")
        assert kinds(release, raw) == faults
