"""The sample clinic: the same on every machine, as its policy declares it, and never written over."""

import csv
import hashlib
import tomllib
from collections import Counter
from decimal import Decimal

import duckdb
import pytest

from sfumato.cli import clinic
from sfumato.errors import InputError

DIGESTS = {
    "visit.csv": "e24d2dc6569ab4dbd040778d569098c0e1eb75f75304444418e1688bcbf1d2d0",
    "region.csv": "192a14206c944b450958eb8b5db249d934009e61c9e92ef388d23a2ef39cf46a",
}


@pytest.mark.parametrize("name", DIGESTS)
def test_the_clinic_is_the_same_on_every_machine(written, name):
    assert hashlib.sha256((written / name).read_bytes()).hexdigest() == DIGESTS[name]


def patients(home):
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT * FROM read_parquet('{home / 'patient.parquet'}')")
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def test_the_parquet_file_holds_the_rows_that_were_made(written):
    for row, made in zip(patients(written), clinic.make_patients(), strict=True):
        assert list(row) == list(clinic.PATIENT)
        salary = "" if row["salary"] is None else int(row["salary"])
        assert tuple((row | {"salary": salary}).values()) == made


def test_the_clinic_is_kept_between_runs_and_fresh_starts_over(made):
    original = (made / "visit.csv").read_bytes()
    (made / "visit.csv").write_text("changed")
    (made / "clinic.ledger").write_text("spent")
    assert not clinic.write_clinic(made)
    assert (made / "visit.csv").read_text() == "changed"
    assert clinic.write_clinic(made, fresh=True)
    assert (made / "visit.csv").read_bytes() == original
    assert not (made / "clinic.ledger").exists()


def test_a_clinic_that_lost_a_file_is_written_again_and_keeps_its_ledger(made):
    (made / "region.csv").unlink()
    (made / "clinic.ledger").write_text("spent")
    assert clinic.write_clinic(made)
    assert (made / "region.csv").exists()
    assert (made / "clinic.ledger").read_text() == "spent"


def test_a_directory_with_other_files_is_left_alone(tmp_path, call):
    (tmp_path / "visit.csv").write_text("mine\n")
    done = call("demo", tmp_path, "--fresh")
    assert done.returncode == 2
    assert done.stderr.startswith('ERROR 22023: directory "')
    assert "\nDETAIL: Found visit.csv" in done.stderr
    assert "\nHINT: " in done.stderr
    assert (tmp_path / "visit.csv").read_text() == "mine\n"
    with pytest.raises(InputError):
        clinic.write_clinic(tmp_path)


def test_a_directory_that_cannot_be_made_exits_2_with_five_fields(tmp_path, call):
    (tmp_path / "file").write_text("")
    done = call("demo", tmp_path / "file" / "below")
    assert done.returncode == 2
    assert done.stderr.startswith("ERROR 58P01: cannot use file")
    assert "Traceback" not in done.stderr


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_policy_is_that_of_the_contract():
    from tests.unit.policy_sample import EXAMPLE

    assert tomllib.loads(clinic.POLICY) == tomllib.loads(EXAMPLE)


def test_the_tables_keep_what_the_policy_declares(written):
    policy = tomllib.loads((written / "sfumato.toml").read_text(), parse_float=Decimal)
    data = {"patient": patients(written), "visit": rows(written / "visit.csv")}
    for table, found in data.items():
        declared = policy["tables"][table]["columns"]
        assert list(found[0]) == list(declared)
        for column, rule in declared.items():
            kind = rule.get("type", "values")
            values = [str(row[column]) for row in found if row[column] not in {"", None}]
            assert len(values) > len(found) // 2
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


def test_people_have_one_row_visits_belong_to_people_and_some_have_more_than_twenty(written):
    people = [row["ssn"] for row in patients(written)]
    assert len(people) == len(set(people)) == clinic.PEOPLE
    assert all(ssn.startswith("000-") for ssn in people)
    visits = Counter(row["patient_ssn"] for row in rows(written / "visit.csv"))
    assert set(visits) <= set(people)
    assert 20 < sum(count > 20 for count in visits.values()) < 400
