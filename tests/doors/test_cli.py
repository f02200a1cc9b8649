"""The command line as a person runs it: in a process of its own."""

import csv
import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from xml.etree import ElementTree as ET

import pytest

from sfumato import errors
from sfumato.doors.cli import clinic, demo, questions, say
from sfumato.errors import ClaimError, InputError, PolicyError

ESCAPE = "\x1b"


def sfumato(*arguments, cwd=None, **environment):
    command = [sys.executable, "-c", "from sfumato.doors.cli import main; main()", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, encoding="utf-8", check=False
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A clinic that is written once."""
    directory = tmp_path_factory.mktemp("clinic")
    clinic.write_clinic(directory)
    return directory


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A clinic of sixty people, for tests that read it many times."""
    monkeypatch.setattr(clinic, "PEOPLE", 60)
    clinic.write_clinic(tmp_path)
    return tmp_path


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# the command


def test_version_is_one_line():
    done = sfumato("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"sfumato \d+\.\d+\.\d+\n", done.stdout)


def test_help_names_every_command_and_each_has_an_example():
    assert "demo" in sfumato("--help").stdout
    assert "Example: sfumato demo" in sfumato("demo", "--help").stdout


@pytest.mark.parametrize("arguments", [["nothing"], ["demo", "--nothing"], ["demo", "a", "b"]])
def test_a_wrong_command_line_exits_2_and_keeps_stdout_clean(arguments):
    done = sfumato(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr


def test_demo_answers_in_plain_words_and_writes_its_files(tmp_path):
    done = sfumato("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for words in ("Cold", "Migraine", "± ", "0.3 of 1 remains", "66.9 % at most", "one person changes"):
        assert words in done.stdout
    home = tmp_path / "sfumato-demo"
    assert {path.name for path in home.iterdir()} == {*clinic.FILES, "bob.svg"}
    assert str(home.name) + "/bob.svg" in done.stdout


def test_no_escape_codes_without_a_terminal_nor_under_no_color(made):
    assert ESCAPE not in sfumato("demo", made).stdout
    assert ESCAPE not in in_terminal(made, NO_COLOR="1")
    assert ESCAPE in in_terminal(made, NO_COLOR="")


def in_terminal(directory, **environment):
    """The demo's output where stdout is a terminal."""
    import pty

    parent, child = pty.openpty()
    command = [sys.executable, "-c", "from sfumato.doors.cli import main; main()", "demo", str(directory)]
    settings = os.environ | {"TERM": "xterm-256color"} | environment
    process = subprocess.Popen(command, stdout=child, stderr=child, env=settings)
    os.close(child)
    chunks = []
    try:
        while chunk := os.read(parent, 65536):
            chunks.append(chunk)
    except OSError:  # Linux says so when the last writer has gone
        pass
    os.close(parent)
    assert process.wait() == 0
    return b"".join(chunks).decode()


def test_json_is_one_document_with_exact_numbers(made):
    done = sfumato("demo", made, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [answer["cost"]["epsilon"] for answer in document["answers"]] == ["1/10", "1/10", "1/5", "3/10"]
    assert [answer["remaining"]["epsilon"] for answer in document["answers"]] == ["9/10", "4/5", "3/5", "3/10"]
    assert document["budget"] == {"epsilon": "1", "remaining": "3/10"}
    assert [row[0] for row in document["answers"][0]["rows"]] == list(clinic.DISEASES)
    assert all(isinstance(row[1], int) for row in document["answers"][0]["rows"])
    assert re.fullmatch(r"-?\d+\.\d\d", document["answers"][3]["rows"][0][0])
    ET.parse(document["picture"])


def test_check_needs_no_directory_and_leaves_none_behind(tmp_path):
    done = sfumato("demo", "--json", "--check", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["answers"]) == 4
    assert not list(tmp_path.iterdir())


def test_two_runs_draw_different_noise(made):
    first, second = (json.loads(sfumato("demo", made, "--json").stdout)["answers"] for _ in range(2))
    # five counts and three more numbers agree by chance with probability below 1e-12
    assert [a["rows"] for a in first] != [a["rows"] for a in second]


def test_a_directory_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "patient.csv").write_text("mine\n")
    done = sfumato("demo", tmp_path, "--fresh")
    assert done.returncode == 2
    assert done.stderr.startswith('ERROR 22023: directory "')
    assert "\nDETAIL: Found patient.csv" in done.stderr
    assert "\nHINT: " in done.stderr
    assert (tmp_path / "patient.csv").read_text() == "mine\n"


def test_a_directory_that_cannot_be_made_exits_2_with_five_fields(tmp_path):
    (tmp_path / "file").write_text("")
    done = sfumato("demo", tmp_path / "file" / "below")
    assert done.returncode == 2
    assert done.stderr.startswith("ERROR 58P01: cannot use file")
    assert "Traceback" not in done.stderr


def test_a_broken_header_is_the_owners_error(tmp_path):
    clinic.write_clinic(tmp_path)
    (tmp_path / "patient.csv").write_text("ssn,age\n1,2\n")
    done = sfumato("demo", tmp_path)
    assert done.returncode == 2
    assert 'ERROR F0000: file "patient.csv" has no column "disease"' in done.stderr


EXITS = {
    errors.ClaimError: 1,
    errors.InputError: 2,
    errors.PolicyError: 2,
    errors.QueryError: 3,
    errors.BudgetError: 4,
    errors.EngineError: 5,
    errors.LedgerError: 5,
}


@pytest.mark.parametrize(("kind", "code"), EXITS.items(), ids=lambda value: getattr(value, "__name__", value))
def test_each_kind_of_error_has_its_exit_code(kind, code):
    assert say.exit_code(kind("no")) == code


def test_all_five_fields_are_printed(capsys):
    say.print_error(errors.QueryError("no", detail="D.", hint="H.", position=4, sqlstate="42703"))
    assert capsys.readouterr().err == "ERROR 42703: no\nDETAIL: D.\nHINT: H.\nPOSITION: 4\n"


# the clinic


DIGESTS = {
    "patient.csv": "49137d75611db815a467d02c282baaf650eca1b4dcf05e26ae71df8937659137",
    "visit.csv": "e24d2dc6569ab4dbd040778d569098c0e1eb75f75304444418e1688bcbf1d2d0",
    "region.csv": "192a14206c944b450958eb8b5db249d934009e61c9e92ef388d23a2ef39cf46a",
}


@pytest.mark.parametrize("name", DIGESTS)
def test_the_clinic_is_the_same_on_every_machine(made, name):
    assert hashlib.sha256((made / name).read_bytes()).hexdigest() == DIGESTS[name]


def test_the_clinic_is_kept_between_runs_and_fresh_starts_over(tmp_path):
    assert clinic.write_clinic(tmp_path)
    original = (tmp_path / "visit.csv").read_bytes()
    (tmp_path / "visit.csv").write_text("changed")
    assert not clinic.write_clinic(tmp_path)
    assert (tmp_path / "visit.csv").read_text() == "changed"
    assert clinic.write_clinic(tmp_path, fresh=True)
    assert (tmp_path / "visit.csv").read_bytes() == original


def test_a_clinic_that_lost_a_file_is_written_again(tmp_path):
    clinic.write_clinic(tmp_path)
    (tmp_path / "region.csv").unlink()
    assert clinic.write_clinic(tmp_path)
    assert (tmp_path / "region.csv").exists()


def test_the_tables_keep_what_the_policy_declares(made):
    policy = tomllib.loads((made / "sfumato.toml").read_text(), parse_float=Decimal)
    for table in ("patient", "visit"):
        declared = policy["tables"][table]["columns"]
        data = rows(made / f"{table}.csv")
        assert list(data[0]) == list(declared)
        for column, rule in declared.items():
            kind = rule.get("type", "values")
            values = [row[column] for row in data if row[column] != ""]
            assert len(values) > len(data) // 2
            if kind in {"integer", "decimal"}:
                assert rule["min"] <= min(map(Decimal, values))
                assert max(map(Decimal, values)) <= rule["max"]
                assert all(Decimal(value) % Decimal(rule.get("grid", 1)) == 0 for value in values)
            elif kind == "date":
                assert rule["min"].isoformat() <= min(values)
                assert max(values) <= rule["max"].isoformat()
            elif kind == "text":
                assert max(map(len, values)) <= rule["max_length"]
            else:
                assert set(values) == set(rule["values"])


def test_the_demo_uses_the_numbers_of_its_policy():
    policy = tomllib.loads(clinic.POLICY, parse_float=Decimal)
    patient, visit = policy["tables"]["patient"], policy["tables"]["visit"]
    assert tuple(patient["columns"]["disease"]["values"]) == clinic.DISEASES
    assert tuple(patient["columns"]["area"]["values"]) == clinic.AREAS
    assert tuple(visit["columns"]["city"]["values"]) == clinic.CITIES
    assert patient["columns"]["salary"]["max"] == clinic.SALARY_MAX
    assert patient["columns"]["salary"]["grid"] == 1
    assert patient["rows_per_unit"] == 1
    assert visit["rows_per_unit"] == clinic.VISITS_PER_PERSON
    assert visit["columns"]["cost"]["max"] == clinic.COST_MAX
    assert str(visit["columns"]["cost"]["grid"]) == clinic.COST_GRID
    assert policy["analysts"]["ana"]["epsilon"] == demo.BUDGET


def test_people_have_one_row_visits_belong_to_people_and_some_have_more_than_twenty(made):
    people = [row["ssn"] for row in rows(made / "patient.csv")]
    assert len(people) == len(set(people)) == clinic.PEOPLE
    assert all(ssn.startswith("000-") for ssn in people)
    visits = Counter(row["patient_ssn"] for row in rows(made / "visit.csv"))
    assert set(visits) <= set(people)
    assert 20 < sum(count > 20 for count in visits.values()) < 400


# the questions


def exact(question, directory):
    value = question.read(directory)._sealed
    return list(map(int, value)) if question.groups else [int(value)]


def test_exact_answers_agree_with_plain_counting(made):
    patients, visits = rows(made / "patient.csv"), rows(made / "visit.csv")
    diseases, old, salaries, costs = (exact(question, made) for question in questions.QUESTIONS)
    assert diseases == [sum(row["disease"] == name for row in patients) for name in clinic.DISEASES]
    assert old == [sum(int(row["age"]) >= 65 for row in patients)]
    assert salaries == [sum(int(row["salary"] or 0) for row in patients)]
    count = Counter(row["patient_ssn"] for row in visits)
    true = sum(Fraction(row["cost"]) * min(Fraction(1), Fraction(20, count[row["patient_ssn"]])) for row in visits)
    assert 0 <= true - costs[0] * questions.QUESTIONS[3].unit < 1  # weights are rounded down, by less than 2^-20 each


WILD = {
    "patient.csv": [
        "x,999,Cold,999999999,75000,2020-01-01,north,s",
        "x,-5,Flu,-9000000,75000,2020-01-01,north,s",
        "x,inf,Cold,Infinity,0,,,",
        "x,1e999999,Plague,nan,0,,,",
        "x,,,,,,,",
        "x",
        "x,70,Cold,12345.678,75000,2020-01-01,north,s,too,many",
    ],
    "visit.csv": [
        "x,1000,2023-01-01,Paris,n",
        "x,5000000,2023-01-01,Paris,n",
        "x,-5000000,2023-01-01,Paris,n",
        "x,-Infinity,2023-01-01,Paris,n",
        "x,sNaN,2023-01-01,Paris,n",
        "x,0.015,2023-01-01,Paris,n",
    ],
}


@pytest.mark.parametrize("copies", [1, 3, 20, 21, 57])
@pytest.mark.parametrize("file", WILD)
def test_one_person_changes_no_answer_by_more_than_its_sensitivity(small, file, copies):
    """Add one person with rows of every kind, also rows that the policy forbids, and look how far the answers move."""
    before = [exact(question, small) for question in questions.QUESTIONS]
    original = (small / file).read_text()
    for line in WILD[file]:
        (small / file).write_text(original + (line + "\n") * copies)
        after = [exact(question, small) for question in questions.QUESTIONS]
        for question, old, new in zip(questions.QUESTIONS, before, after, strict=True):
            moved = sum(abs(a - b) for a, b in zip(old, new, strict=True))
            assert moved <= question.sensitivity_l1, (question.text, line)


def test_the_stated_changes_are_reached(small):
    """The sensitivities are not only enough, they are the smallest that are."""
    before = [exact(question, small) for question in questions.QUESTIONS]
    with (small / "patient.csv").open("a") as file:
        file.write("x,70,Cold,200000,75000,2020-01-01,north,s\n")
    with (small / "visit.csv").open("a") as file:
        file.write("x,1000,2023-01-01,Paris,n\n" * 40)
    after = [exact(question, small) for question in questions.QUESTIONS]
    for question, old, new in zip(questions.QUESTIONS, before, after, strict=True):
        assert sum(abs(a - b) for a, b in zip(old, new, strict=True)) == question.sensitivity_l1


def test_nobody_and_a_missing_person_count_for_nothing(small):
    before = [exact(question, small) for question in questions.QUESTIONS]
    with (small / "patient.csv").open("a") as file:
        file.write(",70,Cold,5,75000,2020-01-01,north,s\n")
    assert [exact(question, small) for question in questions.QUESTIONS] == before


def test_budget_is_debited_before_a_row_is_read(made):
    spent = []

    class Budget:
        def spend(self, loss):
            spent.append(loss.epsilon)
            raise errors.BudgetError("spent")

    from dataclasses import replace

    question = replace(questions.QUESTIONS[0], read=lambda directory: pytest.fail("a row was read"))
    with pytest.raises(errors.BudgetError):
        demo.ask(question, made, Budget())
    assert spent == [Fraction(1, 10)]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d["answers"].pop(),
        lambda d: d["budget"].update(remaining="1"),
        lambda d: d["answers"][1]["rows"][0].__setitem__(0, 10**9),
        lambda d: d["answers"][2]["cost"].update(epsilon="0"),
    ],
)
def test_check_finds_a_document_that_is_not_whole(made, spoil):
    document = demo.ask_all(made)
    picture = made / "bob.svg"
    picture.write_text(demo.draw_bob(), encoding="utf-8")
    document["picture"] = str(picture)
    demo.check_document(document)
    spoil(document)
    with pytest.raises(ClaimError, match="demo is broken"):
        demo.check_document(document)


@pytest.mark.parametrize(
    ("value", "direction", "text"),
    [(150, 0, "1.50"), (-150, 0, "-1.50"), (5, 0, "0.05"), (-5, 0, "-0.05"), (0, 0, "0.00")],
)
def test_cents_are_written_as_people_do(value, direction, text):
    assert demo._on_grid(value, Fraction(1, 100), direction) == text


def test_interval_ends_round_outward():
    third = Fraction(1, 300)
    assert demo._on_grid(1, third, -1) == "0.00"
    assert demo._on_grid(1, third, 1) == "0.01"
    assert demo._on_grid(-1, third, -1) == "-0.01"
    assert demo._on_grid(-1, third, 1) == "0.00"


def test_the_picture_of_bob_is_drawn_without_reading_a_row(golden):
    golden("bob.svg", demo.draw_bob())


def test_errors_of_the_clinic_are_of_their_kind(tmp_path):
    (tmp_path / "visit.csv").write_text("mine")
    with pytest.raises(InputError):
        clinic.write_clinic(tmp_path)
    with pytest.raises(PolicyError):
        list(questions._rows(tmp_path / "visit.csv", ["cost"]))
