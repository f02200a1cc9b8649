"""`sfumato init`, `sfumato check` and `sfumato prepare` as the owner runs them."""

import json
import re
import shlex
import tomllib

import duckdb
import pytest
from tests.compiled import ask
from tests.end_to_end.terminal import in_terminal
from tests.plans import plan_of

from sfumato.cli import clinic
from sfumato.engines.duckdb import DuckDB
from sfumato.engines.duckdb.fast_plans import physical
from sfumato.gateway import open_policy
from sfumato.policy import load


@pytest.fixture
def files(made):
    """The clinic's files without a policy."""
    (made / clinic.POLICY_FILE).unlink()
    return made


INIT = ("init", "patient.parquet", "visit.csv", "region.csv", "--unit", "patient.ssn")


def decide(text):
    """What a person would write instead of each "?"."""
    text = text.replace('epsilon = "?"', "epsilon = 4", 1)
    head, region = text.split("[tables.region]")
    head = re.sub(r'(salary .*)min = "\?", max = "\?"', r"\1min = 0, max = 200_000", head)
    head = re.sub(r'(cost .*)min = "\?", max = "\?"', r"\1min = 0, max = 1000", head)
    head = re.sub(r'min = "\?", max = "\?"', "min = 2015-01-01, max = 2030-12-31", head)
    head = head.replace('rows_per_unit = "?"', "rows_per_unit = 1", 1).replace(
        'rows_per_unit = "?"', "rows_per_unit = 20"
    )
    assert region.count('"?"') == 2
    return f"{head}[tables.region]\npublic = true\n"


# init


def test_a_draft_that_a_person_completes_is_served(files, call):
    code, out, err = call(*INIT, at=files)
    assert (code, err) == (0, "")
    assert "Wrote sfumato.toml: 3 tables, 16 columns. No row was read." in out
    text = (files / "sfumato.toml").read_text()
    marked = [number for number, line in enumerate(text.splitlines(), 1) for _ in re.findall(r'= "\?"', line)]
    lines = ", ".join(map(str, dict.fromkeys(marked)))  # two decisions of one line are one place to look at
    assert f'{len(marked)} decisions left to you, marked "?", on lines {lines}.' in out
    code, out, err = call("check")
    assert (code, out) == (2, "")
    assert err.count("is not decided yet") == len(marked)
    assert call("query", "SELECT COUNT(*) FROM patient")[0] == 2
    (files / "sfumato.toml").write_text(decide(text))
    code, out, err = call("check")
    assert (code, err) == (0, "")
    assert call("query", "SELECT COUNT(*) FROM patient")[0] == 0
    code, out, _ = call("query", "SELECT SUM(cost) FROM visit", "--json")
    assert code == 0
    assert json.loads(out)["cost"]["epsilon"] == "1/10"


def test_the_next_steps_are_commands(files, call):
    (files / "below").mkdir()
    data = [str(files / name) for name in ("patient.parquet", "visit.csv")]
    _, out, _ = call("init", *data, "--unit", "patient.ssn", "-o", "below/my policy.toml", at=files)
    steps = [shlex.split(line)[1:] for line in out.splitlines() if line.startswith("  sfumato ")]
    assert [step[0] for step in steps] == ["check", "query"]
    assert all(step[-2:] == ["-p", "below/my policy.toml"] for step in steps)
    assert tomllib.loads((files / "below/my policy.toml").read_text())["source"]["files"]["visit"] == "../visit.csv"


def test_a_file_is_never_written_over(files, call):
    (files / "sfumato.toml").write_text("mine")
    code, out, err = call(*INIT, at=files)
    assert (code, out) == (2, "")
    assert "already exists" in err
    assert (files / "sfumato.toml").read_text() == "mine"
    (files / "sfumato.toml").unlink()
    (files / "sfumato.toml").symlink_to(files / "nowhere")
    assert call(*INIT)[0] == 2
    assert not (files / "nowhere").exists()
    assert call(*INIT, "-o", "nowhere/x.toml")[0] == 2


def test_without_a_terminal_the_person_must_be_named(files, call):
    code, out, err = call(*INIT[:-2], at=files)
    assert (code, out) == (2, "")
    assert "HINT: Pass --unit patient.ssn, or --unit row." in err
    assert not (files / "sfumato.toml").exists()
    code, _, err = call("init", "region.csv")
    assert code == 2
    assert "Pass --unit TABLE.COLUMN, or --unit row." in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["init"],
        ["init", "nothing.csv"],
        ["init", "."],
        ["init", "patient.parquet", "--unit", "patient.sn"],
        ["init", "patient.parquet", "--unit", "sn"],
        ["init", "*.xml", "--unit", "a.b"],
        ["check", "-p", "nothing.toml"],
        ["check", "more"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_exits_2_and_writes_nothing(arguments, files, call):
    before = sorted(files.iterdir())
    code, out, err = call(*arguments, at=files)
    assert (code, out) == (2, "")
    assert err
    assert sorted(files.iterdir()) == before


@pytest.mark.parametrize(
    ("typed", "unit"), [("\n", "patient.ssn"), ("2\n", "visit.patient_ssn"), ("patient.area\n", "")]
)
def test_on_a_terminal_the_owner_is_asked_who_the_person_is(typed, unit, files):
    code, shown = in_terminal(INIT[:-2], files, typed)
    assert code == 0, shown
    assert "1  patient.ssn" in shown
    tables = tomllib.loads((files / "sfumato.toml").read_text())["tables"]
    assert tables["patient"]["unit"] == {"patient.ssn": "ssn", "": "area"}.get(unit, "?")
    assert tables["visit"]["unit"] == {"": "?"}.get(unit, "patient_ssn")


# check


def test_check_tells_the_owner(made, call):
    code, out, err = call("check", at=made)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == '"clinic", version 2024-11: the policy is valid'
    assert [line.split()[0] for line in lines[2:5]] == ["patient", "visit", "region"]
    line = clinic.POLICY.splitlines().index(
        next(x for x in clinic.POLICY.splitlines() if x.startswith("rows_per_unit = 20"))
    )
    assert re.match(rf"line {line + 1}, visit: \d+ of [\d,]+ people have more than 20 rows \(up to 60\);", lines[5])
    assert "Only you see these numbers" in lines[6]
    assert lines[7].endswith(".sfumato/admitted.json")
    assert not (made / clinic.LEDGER).exists(), "the ledger is opened by questions"


def test_check_in_json(made, call):
    code, out, _ = call("check", "--json", at=made)
    document = json.loads(out)
    assert code == 0
    assert document["served"]
    assert document["tables"]["patient"]["persons"] == clinic.PEOPLE
    assert document["tables"]["patient"]["unique_unit"]
    assert document["tables"]["region"] == {"public": True, "rows": 4}
    assert [one["table"] for one in document["warnings"]] == ["visit"]
    (made / "sfumato.toml").write_text(clinic.POLICY.replace("age      =", "agee =").replace("city =", "town ="))
    code, out, err = call("check", "--json")
    document = json.loads(out)
    assert (code, document["served"], document["admitted"]) == (2, False, None)
    assert [clinic.POLICY.splitlines()[one["line"] - 1].split()[0] for one in document["problems"]] == ["age", "city"]
    assert err.endswith("2 problems; the policy cannot be served.\n")


def test_a_column_outside_of_its_domain_is_loud_and_exits_1(tmp_path, call):
    (tmp_path / "people.csv").write_text(
        "age,sex\n" + "".join(f"{30 + i},{'female' if i % 2 else 'male'}\n" for i in range(9))
    )
    assert call("init", "people.csv", "--unit", "row", at=tmp_path)[0] == 0
    text = (tmp_path / "sfumato.toml").read_text()
    assert "values" not in text.split("[tables.people.columns]")[1].split("#")[0]  # no list is guessed
    text = text.replace('epsilon = "?"', "epsilon = 1")
    listed = re.sub(r"sex = .*", 'sex = { values = ["F", "M"] }', text)
    (tmp_path / "sfumato.toml").write_text(listed)
    code, out, err = call("check")
    assert code == 1
    assert "9 values (100.0 %) not in the list: NULL" in out
    assert "ERROR: 1 column is mostly outside the declared domain: people.sex" in err
    code, out, _ = call("check", "--json")
    assert code == 1
    assert [one["column"] for one in json.loads(out)["warnings"] if one["mismatch"]] == ["sex"]
    (tmp_path / "sfumato.toml").write_text(listed.replace('["F", "M"]', '["female", "male"]'))
    code, out, err = call("check")
    assert (code, err) == (0, "")
    assert "The rows match the policy." in out


def test_every_mistake_is_shown_with_its_line(made, call):
    text = (
        clinic.POLICY.replace("max = 120", "max = -1")
        .replace("grid = 0.01", "grid = 0")
        .replace("epsilon = 4", "epsilon = 0")
    )
    (made / "sfumato.toml").write_text(text)
    code, out, err = call("check", at=made)
    assert (code, out) == (2, "")
    shown = re.findall(r"^LINE (\d+): (.*)$", err, re.MULTILINE)
    assert all(text.splitlines()[int(number) - 1].endswith(line.lstrip("…")) for number, line in shown)
    assert [text.splitlines()[int(number) - 1].split()[0] for number, _ in shown] == ["epsilon", "age", "cost"]
    assert "3 problems" in err


def test_a_name_cannot_command_a_terminal(made, call):
    (made / "odd.csv").write_text('"id","\x1b[31mred"\n1,2\n')
    assert call("init", "odd.csv", "--unit", "odd.id", "-o", "odd.toml", at=made)[0] == 0
    text = (made / "odd.toml").read_text()
    assert "\x1b" not in text
    (made / "odd.toml").write_text(text.replace('"?"', "1").replace("max_length = 100", "max_length = 0"))
    code, out, err = call("check", "-p", "odd.toml")
    assert code == 2
    assert "\x1b" not in out + err


def test_progress_is_shown_on_a_terminal_and_without_colour_where_asked(made):
    code, shown = in_terminal(["check"], made)
    assert code == 0
    assert "\x1b" in shown
    code, shown = in_terminal(["check"], made, NO_COLOR="1")
    assert code == 0
    assert "reading visit …" in shown
    assert "\x1b" not in shown


def test_a_wide_glob_and_a_database_work_as_well(files, call):
    with duckdb.connect(str(files / "all.duckdb")) as connection:
        for name in ("patient.parquet", "visit.csv", "region.csv"):
            connection.execute(f"CREATE TABLE {name.split('.')[0]} AS FROM '{files / name}'")
    assert call("init", "all.duckdb", "--unit", "patient.ssn", at=files)[0] == 0
    policy = files / "sfumato.toml"
    text = policy.read_text()
    assert text.index("[tables.region]") < text.index("[tables.visit]"), "in the order of names"
    region = text.index("[tables.region]")
    visit = text[text.index("[tables.visit]") :]
    policy.write_text(decide(text[:region] + visit + text[region : text.index("[tables.visit]")]))
    assert call("check")[0] == 0
    assert load(policy).tables["region"].public
    assert call("query", "SELECT COUNT(*) FROM visit WHERE cost > 100")[0] == 0
    policy.unlink()
    assert call("init", "visit*.csv", "--unit", "visit.patient_ssn")[0] == 0
    assert tomllib.loads(policy.read_text())["source"]["files"] == {"visit": "visit*.csv"}


# prepare

ASKED = (
    "SELECT COUNT(*) FROM visit",
    "SELECT SUM(cost), COUNT(DISTINCT patient_ssn) FROM visit",
    "SELECT disease, COUNT(*), AVG(cost) FROM visit JOIN patient ON patient_ssn = ssn GROUP BY disease",
    "SELECT disease, COUNT(*) FROM patient WHERE age > 40 GROUP BY disease",
)


def sums(made):
    """Whether prepared rows are used, and what the engine adds up below the noise."""
    with open_policy(made / clinic.POLICY_FILE) as gate:
        found = []
        for sql in ASKED:
            asked = plan_of(gate, sql)
            for part in asked.cuts[0].parts:
                rows = ask(gate._engine, physical(part.job, gate._engine.known).sums, "salt")
                found.append((asked.digest, asked.notes, sorted(rows, key=str)))
        return bool(gate._engine.known.counted), found


def test_prepared_rows_give_the_same_sums(call, made):
    used, before = sums(made)
    assert not used
    code, out, err = call("prepare", "-p", made / clinic.POLICY_FILE)
    assert (code, err) == (0, "")
    assert "prepared patient, visit" in out
    file = made / ".sfumato" / "prepared.duckdb"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert sorted(p.name for p in file.parent.iterdir() if p.name.startswith("prepared")) == ["prepared.duckdb"]
    used, after = sums(made)
    assert used
    assert after == before
    code, out, _ = call("query", "SELECT COUNT(*) FROM visit", "-p", made / clinic.POLICY_FILE, "--json")
    assert code == 0
    assert json.loads(out)["rows"][0][0] > 0


def test_prepared_rows_wait_for_a_bound_that_is_to_be_found(call, made):
    """What is found later is the bound of the weights, whatever was stored before."""
    policy = made / clinic.POLICY_FILE
    written = policy.read_text()
    policy.write_text(written.replace("rows_per_unit = 20", 'rows_per_unit = "auto"'))
    code, _, err = call("prepare", "-p", policy)
    assert (code, err) == (0, "")
    assert call("check", "-p", policy)[0] == 0
    used, after = sums(made)
    assert used
    (made / ".sfumato" / "prepared.duckdb").unlink()
    assert sums(made) == (False, after)


def test_prepare_says_what_it_wrote(call, made):
    code, out, _ = call("prepare", "-p", made / clinic.POLICY_FILE, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["tables"] == ["patient", "visit"]
    assert told["bytes"] == (made / ".sfumato" / "prepared.duckdb").stat().st_size


def test_prepared_rows_of_changed_files_are_not_used(call, made):
    """One more row in a file, and the file is read again: until it is prepared again."""
    call("prepare", "-p", made / clinic.POLICY_FILE)
    used, before = sums(made)
    visits = made / "visit.csv"
    last = visits.read_text().splitlines()[-1]
    visits.write_text(visits.read_text() + last + "\n")
    now, after = sums(made)
    assert (used, now) == (True, False)
    assert after != before
    call("prepare", "-p", made / clinic.POLICY_FILE)
    assert sums(made) == (True, after)


def test_prepared_rows_of_another_policy_are_not_used(call, made):
    """Nor those of another version, nor what is no such file."""
    policy = made / clinic.POLICY_FILE
    text = policy.read_text()
    call("prepare", "-p", policy)
    for old, new in (('version = "2024-11"', 'version = "2024-12"'), ("max = 1000", "max = 900")):
        assert old in text
        policy.write_text(text.replace(old, new, 1))
        assert not sums(made)[0]
    policy.write_text(text)
    assert sums(made)[0]
    file = made / ".sfumato" / "prepared.duckdb"
    file.write_bytes(file.read_bytes()[:5000])
    assert not sums(made)[0]


def test_files_that_change_while_they_are_read_are_not_prepared(call, made, monkeypatch):
    """And what was prepared before stays."""
    policy = made / clinic.POLICY_FILE
    call("prepare", "-p", policy)
    file = made / ".sfumato" / "prepared.duckdb"
    before = file.read_bytes()
    keep = DuckDB.keep

    def touched(self, *of):
        (made / "visit.csv").touch()
        keep(self, *of)

    monkeypatch.setattr(DuckDB, "keep", touched)
    code, _, err = call("prepare", "-p", policy)
    assert code == 2
    assert "changed while they were read" in err
    assert file.read_bytes() == before
    assert [p.name for p in file.parent.iterdir() if p.name.startswith("prepared")] == ["prepared.duckdb"]
