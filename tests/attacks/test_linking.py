"""Rows and classes without names: linked, scored, and read where they agree."""

import json

import numpy as np
import pytest

from sfumato.anonymity import generalize
from sfumato.attacks import ATTACKS
from sfumato.attacks.base import Endpoint
from sfumato.attacks.linking import Sparse, covers, link, normal
from sfumato.attacks.report import referee
from sfumato.attacks.scene import set_scene
from sfumato.attacks.sheet import TABLE
from sfumato.errors import QueryError
from tests.attacks.people import QUASI, scene_of, write_people


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("9/15/61", "1961-09-15"),
        ("09/15/1961", "15.09.1961"),
        ("02142", "2142"),
        ("2142.0", 2142),
        (" Female ", "female"),
        ("Sue  J. Carlson", "sue j. carlson"),
    ],
)
def test_spellings_of_one_value_are_the_same(one, other):
    assert normal(one)[-8:] == normal(other)[-8:] if "61" in str(one) else normal(one) == normal(other)


def test_rows_without_names_are_linked_with_a_list_that_has_names():
    """The tables of the course: one woman of the voters' list is in the hospital's data."""
    medical = [
        {"dob": "09/27/64", "sex": "female", "zip": "02139", "problem": "hypertension"},
        {"dob": "05/08/61", "sex": "male", "zip": "02138", "problem": "obesity"},
        {"dob": "09/15/61", "sex": "female", "zip": "02142", "problem": "shortness of breath"},
    ]
    voters = [
        {"name": "Sue J. Carlson", "zip": "2142", "dob": "9/15/61", "sex": "Female"},
        {"name": "Somebody Else", "zip": "2142", "dob": "9/15/63", "sex": "Female"},
    ]
    found = link(voters, medical, ["dob", "sex", "zip"])
    assert found == [[2], []]
    assert medical[found[0][0]]["problem"] == "shortness of breath"


def test_generalised_values_cover_what_they_stand_for():
    assert covers("*", "x")
    assert covers("20..29", 25)
    assert not covers("20..29", 30)
    assert covers("a|b", "B")
    assert covers("021**", "02139")
    assert not covers("021**", "03139")


def test_sparse_records_are_found_by_a_few_rare_items():
    """Three rare films with one wrong rating name a person; three that everybody saw do not."""
    records = [{f"film{j}": 1 + (i * j) % 5 for j in range(40) if (i * 7 + j * j) % 11 < 2} for i in range(200)]
    for record in records:
        record.update({f"hit{j}": 4 for j in range(3)})
    records[17].update({"rare1": 5, "rare2": 1, "rare3": 3})
    linker = Sparse(records)
    found, lead = linker.find({"rare1": 5, "rare2": 2, "rare3": 3, "hit1": 4})
    assert found == 17
    assert lead >= 1.5
    assert linker.find({"hit0": 4, "hit1": 4, "hit2": 4})[0] is None
    assert linker.find({"nobody has it": 1}) == (None, 0.0)


def test_classes_of_a_release_have_k_rows_and_leak_where_they_agree(tmp_path):
    sheet, knowledge, truth = scene_of(tmp_path, 200)
    release = generalize(sheet.records(), QUASI, "state", 5)
    classes = {}
    for row in release:
        classes.setdefault(tuple(row[c] for c in QUASI), []).append(row["state"])
    assert len(release) == 200
    assert min(map(len, classes.values())) >= 5
    # a secret that depends on a known column: every class of the young is homogeneous
    rows = [{**row, "state": "ill" if row["age"] < 50 else "well"} for row in sheet.records()]
    endpoint = Endpoint(
        "kanon", lambda _: (_ for _ in ()).throw(QueryError("no")), release=generalize(rows, QUASI, "state", 5)
    )
    knowledge, truth = set_scene(rows, TABLE, "state", list(QUASI))
    report = referee("homogeneity", ATTACKS["homogeneity"].run, endpoint, knowledge, truth, advice="")
    assert report.succeeded
    assert report.certain > 50
    assert report.certain == report.certain_right


def test_a_list_with_names_says_who_is_attacked(call, tmp_path):
    write_people(tmp_path / "people.csv", 60)
    rows = (tmp_path / "people.csv").read_text().splitlines()
    listed = [
        "name,age,weight,sex,zip",
        *(f"N{i},{','.join(line.split(',')[1:5])}" for i, line in enumerate(rows[1:31])),
    ]
    (tmp_path / "voters.csv").write_text("\n".join(listed) + "\n")
    code, out, err = call(
        "attack",
        "linking",
        "--csv",
        "people.csv",
        "--defence",
        "raw",
        "--secret",
        "state",
        "--with",
        "voters.csv",
        "--json",
    )
    assert code == 1, err
    report = json.loads(out)["reports"][0]
    assert 20 <= report["people"] <= 30
    assert report["certain"] == report["certain_right"] == report["recovered"]


def test_a_few_items_name_a_record(call, tmp_path):
    """Six of the films that somebody saw, with their stars; a list of one's own, with a film that she did not see."""
    rng = np.random.default_rng(3)
    seen = [{int(film) for film in rng.pareto(0.6, 25) * 2 if film < 400} for _ in range(150)]
    lines = ["person,film,stars", *(f"u{p},film {f},{(p * f) % 5 + 1}" for p, films in enumerate(seen) for f in films)]
    (tmp_path / "long.csv").write_text("\n".join(lines) + "\n")
    code, out, err = call(
        "attack", "linking", "--sparse", "--csv", "long.csv", "--defence", "raw,suppress,dp", "--json"
    )
    assert code == 0, err
    reports = {report["defence"]: report for report in json.loads(out)["reports"]}
    assert reports["raw"]["outcome"] == "broken"
    assert reports["raw"]["recovered"] > 0.7 * reports["raw"]["people"] > 80
    assert reports["raw"]["base_rate"] == 1 / len({line.split(",")[0] for line in lines[1:]})
    assert reports["suppress"]["outcome"] == reports["dp"]["outcome"] == "nothing"
    listed = ["person,film,stars", "u3,film 9999,1", *(line for line in lines if line.startswith("u3,"))]
    (tmp_path / "mine.csv").write_text("\n".join(listed) + "\n")
    words = ("attack", "linking", "--sparse", "--csv", "long.csv", "--with", "mine.csv", "--defence", "raw", "--json")
    report = json.loads(call(*words)[1])["reports"][0]
    assert report["recovered"] == report["people"] == 1  # one film that she did not see does no harm
    (tmp_path / "wide.csv").write_text("person,a,b,c\n1,,3,1\n2,4,,\n1,2,2,\n")
    assert "two rows" in call("attack", "linking", "--sparse", "--csv", "wide.csv")[2]
    assert call("attack", "averaging", "--sparse", "--csv", "long.csv")[0] == 2
