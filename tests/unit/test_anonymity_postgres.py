"""Tables of a real PostgreSQL server, in and out: nothing that exists is replaced, and no password is shown."""

import json
from functools import partial

import pytest

from sfumato.anonymity import AnonymizeRequest, anonymize, check_release
from sfumato.anonymity.inspection import EarlierRelease, claims_of
from sfumato.cli.release_record import CheckedRelease, note, place_of, recorded
from sfumato.errors import EngineError, InputError
from tests.needed import needed

psycopg = needed("psycopg")
ROWS = [
    *((str(20 + i % 4), "mf"[i % 2], ("flu", "cold", "none")[i % 3]) for i in range(40)),
    *[("30", None, 'a;"b'), ("30", None, "line\nbreak"), ("31", "", "\\N"), ("31", "", "x,y")],
]


@pytest.fixture(scope="module")
def server(pg):
    """A server with one table."""
    with psycopg.connect(pg) as link:
        link.execute('DROP TABLE IF EXISTS "Peo ple", released, one, two')
        link.execute('CREATE TABLE "Peo ple" (age text, sex text, ill text, note text)')
        with link.cursor().copy('COPY "Peo ple" (age, sex, ill) FROM STDIN') as copy:
            for row in ROWS:
                copy.write_row(row)
    return pg


def test_a_table_of_postgres_is_released_into_another_and_checked_there(server, tmp_path):
    raw, out = f"{server}#Peo ple", f"{server}#released"
    done = anonymize(AnonymizeRequest(raw, ("age", "sex"), "ill", k=2), out)
    assert (done.released, done.k) == (44, 2)
    report = check_release(out, raw, ("age", "sex"), "ill")
    assert (report.rows, report.k, report.faults) == (44, 2, ())
    anonymize(AnonymizeRequest(raw, ("age", "sex"), "ill", k=2), str(tmp_path / "same.csv"))
    assert check_release(tmp_path / "same.csv", raw, ("age", "sex"), "ill").t == report.t
    with psycopg.connect(server) as link:
        link.execute("UPDATE released SET age = '99' WHERE age = '20'")
    assert {fault.kind for fault in check_release(out, raw, ("age", "sex"), "ill").faults} == {"coverage"}


def test_nothing_that_exists_is_replaced_and_no_table_is_left_half_written(server):
    asked = AnonymizeRequest(f"{server}#Peo ple", ("age", "sex"), "ill", k=2)
    with pytest.raises(InputError, match="cannot be written"):
        anonymize(asked, f"{server}#Peo ple")
    for wrong, words in ((f"{server}#nobody", "cannot be read"), (server, "which table")):
        with pytest.raises(InputError, match=words) as refused:
            anonymize(AnonymizeRequest(wrong, ("age",), k=2))
        assert "hunter2" not in str(refused.value)
        with pytest.raises(InputError, match=words):
            check_release(wrong, f"{server}#Peo ple", ("age",))
    with pytest.raises(EngineError, match="cannot be reached"):
        check_release("postgresql://me@127.0.0.1:1/x#y", f"{server}#Peo ple", ("age",))
    with psycopg.connect(server) as link:
        assert link.execute('SELECT count(*) FROM "Peo ple"').fetchone() == (44,)


def test_a_record_of_releases_has_addresses_and_no_passwords(server, tmp_path):
    raw, notes = f"{server}#Peo ple", tmp_path / "notes.jsonl"
    asked = AnonymizeRequest(raw, ("age",), "ill", k=2)
    for target in (f"{server}#one", f"{server}#two"):
        anonymize(asked, target, None, partial(note, notes, asked, target))
    assert "hunter2" not in notes.read_text()
    assert [json.loads(line)["data"] for line in notes.read_text().splitlines()] == [place_of(raw)] * 2
    earlier = EarlierRelease(place_of(f"{server}#one"), ("age",), "ill", claims=claims_of(2))
    said = recorded(notes, CheckedRelease(f"{server}#two", raw, ("age",), "ill"))
    assert (said.earlier, said.lost) == ([earlier], [])
    report = check_release(f"{server}#two", raw, ("age",), "ill", earlier=said.earlier)
    assert report.meet == (("one", 2),)


def test_null_beside_empty_texts_and_comments_are_found(server):
    """The original has empty texts alone; in the release NULL marks every second row."""
    with psycopg.connect(server) as link:
        link.execute("DROP TABLE IF EXISTS empty, marked, clean")
        link.execute("CREATE TABLE empty (age text, zip text, ill text)")
        ill, every = (
            "CASE i % 3 WHEN 0 THEN 'flu' ELSE 'none' END",
            "CASE WHEN row_number() OVER () % 2 = 0 THEN zip END",
        )
        link.execute(f"INSERT INTO empty SELECT '20', '', {ill} FROM generate_series(1, 40) i")
        link.execute(f"CREATE TABLE marked AS SELECT age, {every} AS zip, ill FROM empty ORDER BY ill")
        link.execute("CREATE TABLE clean AS SELECT * FROM empty ORDER BY ill")
    raw, quasi = f"{server}#empty", ("age", "zip")
    assert check_release(f"{server}#clean", raw, quasi, "ill").faults == ()
    assert "format" in {fault.kind for fault in check_release(f"{server}#marked", raw, quasi, "ill").faults}
    for sql, words in (
        ("COMMENT ON TABLE clean IS 'row 1 is Alice'", "a comment"),
        ("COMMENT ON COLUMN clean.age IS 'row 1 is 23'", "a comment"),
        ("ALTER TABLE clean ALTER age SET DEFAULT 'row 1 is 23'", "a default of a column"),
        ("ALTER TABLE clean ADD CHECK (age <> 'row 1 is 23')", "a condition"),
    ):
        with psycopg.connect(server) as link:
            link.execute(sql)
        told = [fault.words for fault in check_release(f"{server}#clean", raw, quasi, "ill").faults]
        assert f"the table also has {words}" in told
