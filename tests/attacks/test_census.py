"""A block of seven people from its published tables (Garfinkel, Abowd, Martindale 2019)."""

import json
import sys
from fractions import Fraction

import pytest

from sfumato.attacks.census import Published, agree, reconstruct
from sfumato.cli import main
from sfumato.errors import InputError

SEX, RACE, STATE = 0, 1, 2
ATTRIBUTES = (("F", "M"), ("B", "W"), ("married", "single"))
TABLES = [
    Published({}, 7, 30, Fraction(38)),
    Published({SEX: "F"}, 4, 30, Fraction("33.5")),
    Published({SEX: "M"}, 3, 30, Fraction(44)),
    Published({RACE: "B"}, 4, 51, Fraction("48.5")),
    Published({RACE: "W"}, 3, 24, Fraction(24)),
    Published({STATE: "single"}, low=18),
    Published({STATE: "married"}, 4, 51, Fraction(54), low=18),
    Published({SEX: "F", RACE: "B"}, 3, 36, Fraction("36.7")),
    Published({SEX: "M", RACE: "B"}),
    Published({SEX: "M", RACE: "W"}),
    Published({SEX: "F", RACE: "W"}),
    Published({}, high=4),
    Published({}, high=17),
    Published({}, low=64),
]
YOUNG = [Published({STATE: "married"}, high=14)]
PEOPLE = {
    (8, ("F", "B", "single")),
    (18, ("M", "W", "single")),
    (24, ("F", "W", "single")),
    (30, ("M", "W", "married")),
    (36, ("F", "B", "married")),
    (66, ("F", "B", "married")),
    (84, ("M", "B", "married")),
}


def test_seven_people_are_found_from_their_tables():
    block = reconstruct(TABLES, ATTRIBUTES, impossible=YOUNG)
    assert set(block.people) == PEOPLE
    assert agree(block.people, sorted(PEOPLE)) == 7
    assert block.unique


def test_a_second_block_is_noticed():
    """With one table less there are others; with a contradiction there is none."""
    fewer = [table for table in TABLES if table.where != {STATE: "married"}]
    assert not reconstruct(fewer, ATTRIBUTES, impossible=YOUNG).unique
    assert reconstruct([*TABLES, Published({SEX: "F"}, 5)], ATTRIBUTES, impossible=YOUNG) is None


def test_two_people_of_one_kind_are_a_block_too():
    tables = [Published({}, 2, 40, Fraction(40))]
    block = reconstruct(tables, (("x",),), oldest=60)
    assert not block.unique
    assert reconstruct([*tables, Published({}, 2, low=40)], (("x",),), oldest=60).unique


LINES = """sex,race,state,low,high,count,median,mean
,,,,,7,30,38.0
F,,,,,4,30,33.5
M,,,,,3,30,44.0
,B,,,,4,51,48.5
,W,,,,3,24,24.0
,,single,18,,,,
,,married,18,,4,51,54.0
F,B,,,,3,36,36.7
M,B,,,,,,
M,W,,,,,,
F,W,,,,,,
,,,,4,,,
,,,,17,,,
,,,64,,,,
,,married,,14,0,,
"""


def test_the_command_finds_who_is_behind_published_tables(tmp_path, monkeypatch, capsys):
    def call(*words):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["sfumato", "attack", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        return (stopped.value.code or 0, *capsys.readouterr())

    (tmp_path / "tables.csv").write_text(LINES)
    truth = [f"{age},{','.join(kinds)}" for age, kinds in sorted(PEOPLE)]
    (tmp_path / "truth.csv").write_text("\n".join(["age,sex,race,state", *truth]) + "\n")
    code, out, err = call("reconstruction", "--tables", "tables.csv", "--csv", "truth.csv", "--json")
    assert code == 1, err  # the attack succeeded: they are the only ones
    found = json.loads(out)
    assert found["unique"]
    assert found["recovered"] == 7
    assert {(p["age"], (p["sex"], p["race"], p["state"])) for p in found["people"]} == PEOPLE
    (tmp_path / "fewer.csv").write_text(LINES.replace(",,married,18,,4,51,54.0\n", ""))
    code, out, _ = call("reconstruction", "--tables", "fewer.csv")
    assert code == 0
    assert "other people are also consistent with them" in out
    (tmp_path / "wrong.csv").write_text(LINES + "F,,,,,5,,\n")
    assert call("reconstruction", "--tables", "wrong.csv")[0] == 2
    (tmp_path / "words.csv").write_text(LINES + "F,,,,,five,,\n")
    code, _, err = call("reconstruction", "--tables", "words.csv")
    assert code == 2
    assert "line 17" in err
    assert call("linking", "--tables", "tables.csv")[0] == 2
    assert call("reconstruction", "--tables", "nowhere.csv")[0] == 2


def test_what_a_solver_says_is_checked_in_fractions(monkeypatch):
    from sfumato.attacks import census

    monkeypatch.setattr(census._Program, "solve", lambda self: [7] + [0] * (len(self.tops) - 1))
    with pytest.raises(InputError, match="does not fit"):
        reconstruct(TABLES, ATTRIBUTES, impossible=YOUNG)
