"""NULL and empty texts, kept columns and dummies of releases."""

import csv

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
    """One row may stand for nobody, with a job that somebody has; a job that nobody has is a lie."""
    people = [("1", "flu", "p"), ("1", "hiv", "q"), ("1", "flu", "r"), ("2", "flu", "s"), ("2", "hiv", "t")]
    raw = write(tmp_path / "raw.csv", ("age", "ill", "job"), people)
    for many, faults in ((0, []), (1, ["coverage"]), (4, ["coverage"])):
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
