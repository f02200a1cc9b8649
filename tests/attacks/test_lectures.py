"""The lectures' own questions and tables, attacked."""

import json

import pytest

from sfumato.attacks import ATTACKS, differencing
from sfumato.attacks.base import Endpoint, Knowledge, Person, SecretFact
from sfumato.attacks.defences import make
from sfumato.attacks.linking import covers
from sfumato.attacks.scene import set_scene
from sfumato.attacks.sheet import read_sheet
from sfumato.errors import QueryError


@pytest.fixture
def patients(tmp_path):
    """PATIENT: 123 has a cold, 456 and 789 have none, 400 people have one, and all five of 75002."""
    rows = ["123,75002,Cold", "456,75001,Flu", "789,75001,Flu", *(f"{1000 + i},75002,Cold" for i in range(4))]
    rows += [*(f"{2000 + i},75003,Cold" for i in range(395)), *(f"{3000 + i},75003,Flu" for i in range(100))]
    (tmp_path / "patient.csv").write_text("\n".join(["ssn,zipcode,disease", *rows]) + "\n")
    sheet = read_sheet(tmp_path / "patient.csv")
    knowledge, _ = set_scene(sheet.records(), "data", "disease=Cold", None)
    return make("raw", sheet, "disease", ()), knowledge


def test_the_four_illegitimate_uses_have_the_slides_answers(patients):
    """A row of one's own; the union of two; everybody but one; who lives where she lives."""
    endpoint, knowledge = patients
    asked = {
        differencing.own_row: [1],
        differencing.union: [1, 0, 1],
        differencing.all_but_one: [400, 399],
        differencing.background: [1, 1, 5, 5],
    }
    for trick, answers in asked.items():
        before = len(endpoint.log)
        assert trick(endpoint, knowledge, 0) == 1
        assert [one.rows[0][0] for one in endpoint.log[before:]] == answers
    questions = [one.sql for one in endpoint.log]
    assert 'SELECT COUNT(*) FROM "data" WHERE "ssn" = 123 AND "disease" = \'Cold\'' in questions
    assert 'SELECT COUNT(*) FROM "data" WHERE (("ssn" = 456) OR ("ssn" = 789)) AND "disease" = \'Cold\'' in questions
    assert 'SELECT COUNT(*) FROM "data" WHERE "zipcode" = 75002 AND "disease" = \'Cold\'' in questions


MEDICAL = """race,birth,sex,zip,status,problem
,09/27/64,female,02139,divorced,hypertension
,09/30/64,female,02139,divorced,obesity
asian,04/18/64,male,02139,married,chest pain
asian,04/15/64,male,02139,married,obesity
black,03/13/63,male,02138,married,hypertension
black,03/18/63,male,02138,married,shortness of breath
black,09/13/64,female,02141,married,shortness of breath
black,09/07/64,female,02141,married,obesity
white,05/14/61,male,02138,single,chest pain
white,05/08/61,male,02138,single,obesity
white,09/15/61,female,02142,widow,shortness of breath
"""


def test_sue_carlson_is_found_on_the_voters_list(call, tmp_path):
    """Sweeney 1997: the hospital's table has no names, the voters' has no problems."""
    (tmp_path / "medical.csv").write_text(MEDICAL)
    (tmp_path / "voters.csv").write_text(
        "name,city,zip,birth,sex,party\nSue J. Carlson,Cambridge,02142,9/15/61,Female,democrat\n"
        "Somebody Else,Cambridge,02139,1/1/70,Male,none\n"
    )
    words = ("--csv", "medical.csv", "--with", "voters.csv", "--secret", "problem=shortness of breath", "--json")
    code, out, err = call("attack", "linking", *words, "--defence", "raw")
    assert code == 1, err
    report = json.loads(out)["reports"][0]
    assert report["people"] == report["certain"] == report["certain_right"] == 1


AGES = {
    "Jon": 30,
    "Jamie": 39,
    "Arya": 16,
    "Bran": 14,
    "Sandor": 45,
    "Jorah": 48,
    "Ned": 32,
    "Ramsay": 32,
    "Dany": 25,
}
ILLS = ["cold", "hand", "ache", "crippled", "fire", "greyscale", "headache", "psychopath", "grandeur"]


def claims_of(name, release, people, fact):
    """What an attack claims of these people, from a table that is published."""
    known = tuple(Person(one, "") for one in people)
    knowledge = Knowledge("data", fact, known, None, 0.5)

    def shut(_):
        raise QueryError("no questions")

    found = ATTACKS[name].run(Endpoint("published", shut, release=release), knowledge)
    return {claim.person: (claim.has, claim.certain) for claim in found.claims}


def test_without_his_name_jorah_is_found_by_his_age():
    """Of nine rows without names seven have an age of their own; two men of 32 hide each other."""
    release = [{"age": age, "disease": ill} for age, ill in zip(AGES.values(), ILLS, strict=True)]
    people = [{"age": age} for age in AGES.values()]
    claims = claims_of("linking", release, people, SecretFact("disease", "greyscale"))
    names = list(AGES)
    assert claims[names.index("Jorah")] == (True, True)
    assert sum(certain for _, certain in claims.values()) == 9  # neither of the two has it: that is known too
    claims = claims_of("linking", release, people, SecretFact("disease", "headache"))
    assert names.index("Ned") not in claims
    assert names.index("Ramsay") not in claims


INPATIENTS = [
    ("13053", 28, "Heart"), ("13068", 29, "Heart"), ("13068", 21, "Viral"), ("13053", 23, "Viral"),
    ("14853", 50, "Cancer"), ("14853", 55, "Heart"), ("14850", 47, "Viral"), ("14850", 49, "Viral"),
    ("13053", 31, "Cancer"), ("13053", 37, "Cancer"), ("13068", 36, "Cancer"), ("13068", 35, "Cancer"),
]  # fmt: skip
SHOWN = [("130**", "< 30")] * 4 + [("1485*", "≥ 40")] * 4 + [("130**", "3*")] * 4


def test_four_anonymous_people_who_agree_are_shown():
    """The slide's 4-anonymous table: everybody in the third class has cancer; of the first, nobody has."""
    release = [{"zip": z, "age": a, "ill": ill} for (z, a), (_, _, ill) in zip(SHOWN, INPATIENTS, strict=True)]
    people = [{"zip": z, "age": age} for z, age, _ in INPATIENTS]
    claims = claims_of("homogeneity", release, people, SecretFact("ill", "Cancer"))
    assert all(claims[i] == (True, True) for i in range(8, 12))
    assert all(claims[i] == (False, True) for i in range(4))
    assert all(claims[i] == (False, False) for i in range(4, 8))  # one in four has it: probably not she


def test_bounds_of_a_released_table_are_understood():
    for released, inside, outside in (
        ("< 30", 29, 30),
        ("≤ 50", 50, 51),
        (">= 50", 50, 49),
        ("≥ 40", 40, 39.5),
        ("> 50", 51, 50),
    ):
        assert covers(released, inside)
        assert not covers(released, outside)
    assert not covers("< 30", "unknown")
    assert covers("<=50K", "<=50K")
    assert not covers("<=50K", ">50K")
