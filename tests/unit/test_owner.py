"""`check`: what the rows keep to, for the owner's eyes; what the source lacks; and the record of what was admitted."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from sfumato.gateway import open_policy
from sfumato.owner import admission
from sfumato.owner.admission import AdmissionReport, check, facts
from sfumato.policy import load, parse
from tests.unit.owner_sample import GOOD, write_parquet


def home(tmp_path: Path, policy: str = GOOD, p: str | None = None, v: str | None = None) -> Path:
    rows = "id,age,sex\na,30,f\nb,150,x\nc,old,m\n,40,f\nd,,\n"
    visits = "who,cost,day,note\na,5,2021-01-01,abc\na,-5,2021-02-30,abcd\na,500,,\nb,nan,2050-01-01,x\n"
    visits += "z,1,2021-01-01,\n"
    (tmp_path / "p.csv").write_text(rows if p is None else p, encoding="utf-8")
    (tmp_path / "v.csv").write_text(visits if v is None else v, encoding="utf-8")
    (tmp_path / "sfumato.toml").write_text(policy, encoding="utf-8")
    return tmp_path / "sfumato.toml"


def messages(report: AdmissionReport) -> list[str]:
    return [problem.message for problem in report.problems]


def test_the_owner_is_told_what_does_not_hold(tmp_path: Path) -> None:
    report = check(home(tmp_path))
    assert report.problems == ()
    assert report.tables is not None
    p, v = report.tables["p"], report.tables["v"]
    assert (p.rows, p.persons, p.without_person, p.most_rows, p.over, p.unique_unit) == (5, 4, 1, 1, 0, True)
    assert p.columns == {
        "id": {"nulls": 1},
        "age": {"nulls": 1, "unreadable": 1, "below": 0, "above": 1},
        "sex": {"nulls": 1, "outside": 1},
    }
    assert (v.rows, v.persons, v.without_person, v.most_rows, v.over, v.removed) == (5, 2, 1, 3, 1, 1)
    assert v.columns == {
        "who": {"nulls": 0, "too_long": 0},
        "cost": {"nulls": 0, "unreadable": 1, "below": 1, "above": 1},
        "day": {"nulls": 1, "unreadable": 1, "below": 0, "above": 1},
        "note": {"nulls": 2, "too_long": 1},
    }
    assert {one.column for one in report.warnings if one.mismatch} == {"cost"}  # 3 of its 5 values; of day 2 of 4
    told = [(one.line, one.column, one.message) for one in report.warnings]
    assert told == [
        (12, None, "1 row without a privacy unit: left out"),
        (16, "age", "1 value (20.0 %) not of type integer: NULL"),
        (16, "age", "1 value (20.0 %) above max: counted as max"),
        (17, "sex", "1 value (20.0 %) not in the list: NULL"),
        (19, None, "1 row without a privacy unit: left out"),
        (
            20,
            None,
            (
                "1 of 2 people has more than 2 rows (up to 3); their rows are down-weighted, "
                "which removes up to 1 of 5 rows (20.0 %)"
            ),
        ),
        (23, "cost", "1 value (20.0 %) not of type decimal: NULL"),
        (23, "cost", "1 value (20.0 %) below min: counted as min"),
        (23, "cost", "1 value (20.0 %) above max: counted as max"),
        (24, "day", "1 row with NULL: left out (nulls = false)"),
        (24, "day", "1 value (20.0 %) not of type date: NULL"),
        (24, "day", "1 value (20.0 %) above max: counted as max"),
        (25, "note", "1 text (20.0 %) longer than 3 characters: truncated"),
    ]


def test_an_identifier_declared_more_widely_than_another_is_reported(tmp_path: Path) -> None:
    apart = GOOD.replace('unit = { join = "p", on = "who = id" }', 'unit = "who"')
    longer = apart.replace('who = { type = "text", max_length = 9', 'who = { type = "text", max_length = 8')
    wide = apart.replace('id = { type = "text", max_length = 9', 'id = { type = "text", max_length = 12')
    for policy, lines in ((apart, []), (longer, [15]), (wide, [15])):
        report = check(home(tmp_path, policy))
        reported = [one for one in report.warnings if "declared more widely than" in one.message]
        assert [one.line for one in reported] == lines


def test_who_has_more_than_the_one_row_is_left_out_whole(tmp_path: Path) -> None:
    report = check(home(tmp_path, p="id,age,sex\na,1,f\nb,2,m\nc,1,f\n", policy=GOOD.replace("unit = 2", "unit = 1")))
    assert report.tables is not None
    assert (report.tables["v"].over, report.tables["v"].removed) == (1, 3)
    assert any("they are left out, which removes 3 of 5 rows (60.0 %)" in one.message for one in report.warnings)


def test_what_is_measured_changes_no_answer(tmp_path: Path) -> None:
    """The same question before and after, in two places: stored answers would hide a difference."""
    question = "SELECT sex, COUNT(*), SUM(age) FROM p GROUP BY sex"
    shown = []
    for name in ("checked", "not"):
        (tmp_path / name).mkdir()
        path = home(tmp_path / name, GOOD.replace("epsilon = 4", "epsilon = 1e12"))
        if name == "checked":
            assert check(path).admitted is not None
        with open_policy(path) as gate:
            shown.append((gate.sql(question, epsilon=10**10).to_dict()["rows"], str(gate.explain(question).to_dict())))
    assert shown[0] == shown[1]


AGAINST = {
    "a file is missing": (("p.csv", "q.csv"), 3, "there is no file"),
    "a column is missing": (("age = {", "agee = {"), 16, 'has no column "agee"'),
    "a kind of file": (("p.csv", "p.xlsx"), 3, "no file"),
    "a ledger": (('version = "1"', 'ledger = "mysql://x"'), 6, "neither a file nor in PostgreSQL"),
}


@pytest.mark.parametrize("name", AGAINST)
def test_what_the_source_lacks_is_told_with_its_line(name: str, tmp_path: Path) -> None:
    (old, new), line, words = AGAINST[name]
    report = check(home(tmp_path, GOOD.replace(old, new)))
    assert len(report.problems) == 1
    assert words in report.problems[0].message
    assert f"line {line}," in str(report.problems[0].detail)
    assert report.admitted is None
    assert not (tmp_path / ".sfumato" / admission.FILE).exists()


def test_all_that_is_missing_is_told(tmp_path: Path) -> None:
    policy = GOOD.replace("age = {", "Age = {").replace("cost = {", "price = {").replace("sex = {", "gender = {")
    report = check(home(tmp_path, policy))
    assert [str(problem.detail).split(", column")[0] for problem in report.problems] == [
        f"sfumato.toml, line {line}" for line in (16, 17, 23)
    ]
    assert report.problems[0].hint == 'Did you mean "age"? Names must match exactly.'


def test_a_key_that_leads_to_two_people_cannot_be_admitted(tmp_path: Path) -> None:
    report = check(home(tmp_path, p="id,age,sex\na,1,f\na,2,m\n"))
    assert messages(report) == ['"p.id" is a key to people, but is not unique']
    assert "line 19," in str(report.problems[0].detail)


def test_identifiers_of_two_types_cannot_be_served(tmp_path: Path) -> None:
    home(tmp_path)
    write_parquet(tmp_path / "p.parquet", "SELECT 1 AS id, 2 AS age, 'f' AS sex")
    policy = GOOD.replace("p.csv", "p.parquet").replace('unit = { join = "p", on = "who = id" }', 'unit = "who"')
    (tmp_path / "sfumato.toml").write_text(policy, encoding="utf-8")
    report = check(tmp_path / "sfumato.toml")
    assert messages(report) == ['"v.who" is VARCHAR in the source, but "p.id" is INTEGER']


def test_types_that_the_schema_gives_are_held_against_the_rules(tmp_path: Path) -> None:
    home(tmp_path)
    write_parquet(tmp_path / "p.parquet", "SELECT 'a' AS id, 2 AS age, 'f' AS sex")
    policy = GOOD.replace("p.csv", "p.parquet").replace('{ type = "text", max_length = 9 }\nage', "{}\nage")
    (tmp_path / "sfumato.toml").write_text(policy, encoding="utf-8")
    report = check(tmp_path / "sfumato.toml")
    assert messages(report) == ["[tables.p.columns.id] is text and has no max_length"]
    assert "line 15," in str(report.problems[0].detail)


VIEW = """\
[source]
engine = "duckdb"
files = "d.duckdb"
[data]
id = "d"
[privacy]
epsilon = 1
[tables.t]
unit = "u"
rows_per_unit = 1
[tables.t.columns]
u = { max_length = 9 }
x = {}
[tables.w]
unit = "u"
rows_per_unit = 1
[tables.w.columns]
u = { max_length = 9 }
x = {}
"""


@pytest.mark.parametrize(("view", "refused"), [("SELECT u, x FROM t", None), ("SELECT u, x FROM t LIMIT 1", "LIMIT")])
def test_views_are_judged(view: str, refused: str | None, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'a' AS u, 1 AS x")
        connection.execute(f"CREATE VIEW w AS {view}")
    (tmp_path / "sfumato.toml").write_text(VIEW, encoding="utf-8")
    report = check(tmp_path / "sfumato.toml")
    if refused is None:
        assert (report.problems, report.views) == ((), ("w",))
        known = facts(load(tmp_path / "sfumato.toml"), "1")
        assert known is not None
        assert known.keys() == {"t"}, "a view was not measured"
    else:
        assert refused in report.problems[0].message
        assert "line 14," in str(report.problems[0].detail)


def test_a_table_that_the_database_has_not_is_told(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE T2 AS SELECT 1 AS u")
    (tmp_path / "sfumato.toml").write_text(VIEW, encoding="utf-8")
    assert messages(check(tmp_path / "sfumato.toml")) == [
        'the database has no table "t"',
        'the database has no table "w"',
    ]


def test_a_json_name_that_no_line_has_is_a_warning(tmp_path: Path) -> None:
    path = home(tmp_path, GOOD.replace("p.csv", "p.jsonl"))
    (tmp_path / "p.jsonl").write_text('{"id": "a"}\n{"id": "b", "age": 3}\n', encoding="utf-8")
    report = check(path)
    assert report.problems == ()
    assert [one.message for one in report.warnings if one.column == "sex"] == [
        "every value is NULL: does the name match the files?"
    ]


# the record


def test_an_admission_is_kept_without_counts_for_the_owner_alone(tmp_path: Path) -> None:
    path = home(tmp_path)
    moment = datetime(2024, 11, 5, 12, tzinfo=UTC)
    kept = check(path, clock=lambda: moment).admitted
    assert kept == tmp_path / ".sfumato" / "admitted.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    kept_there = [file.name for file in kept.parent.iterdir() if not file.name.startswith("spill-")]
    assert kept_there == ["admitted.json"]
    policy = load(path)
    (entry,) = json.loads(kept.read_text())["versions"]["1"].values()
    assert entry["when"] == "2024-11-05T12:00:00+00:00"
    assert entry["tables"] == {"p": {"unique_unit": True}, "v": {"unique_unit": False}}
    assert entry.keys() == {"when", "source", "tables"}
    assert facts(policy, "1") == {"p": admission.AdmittedFact(True), "v": admission.AdmittedFact(False)}
    with open_policy(path) as gate:
        assert facts(gate.policy, "1") == facts(policy, "1"), "the gateway asks with the types of the schema"


def test_a_fact_ends_with_its_version_its_policy_and_its_files(tmp_path: Path) -> None:
    path = home(tmp_path)
    check(path)
    policy = load(path)
    assert facts(policy, "1") is not None
    assert facts(policy, "2") is None
    assert facts(parse(GOOD.replace("max = 120", "max = 121"), path), "1") is None
    assert facts(parse(GOOD), "1") is None, "a policy without a place has no state directory"
    content = (tmp_path / "p.csv").read_bytes()
    (tmp_path / "p.csv").write_bytes(content + b"e,1,f\n")
    assert facts(policy, "1") is None
    check(path)
    (tmp_path / ".sfumato" / admission.FILE).write_text("[]", encoding="utf-8")
    assert facts(policy, "1") is None
    assert check(path).admitted is not None
    assert facts(policy, "1") is not None


def test_files_that_change_while_they_are_read_are_not_admitted(tmp_path: Path) -> None:
    path = home(tmp_path)

    def touch(words: str) -> None:
        if words == "reading v":
            (tmp_path / "v.csv").write_text("who,cost,day,note\n", encoding="utf-8")

    assert messages(check(path, touch)) == ["the files were changed while they were read"]
    assert facts(load(path), "1") is None


def test_many_versions_are_not_kept_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "_MOST_VERSIONS", 2)
    path = home(tmp_path, GOOD.replace('version = "1"', 'version = "daily"'))
    for day in (1, 2, 3, 2):
        check(path, clock=lambda day=day: datetime(2024, 1, day, tzinfo=UTC))
    kept = json.loads((tmp_path / ".sfumato" / admission.FILE).read_text())
    assert list(kept["versions"]) == ["2024-01-03", "2024-01-02"]
