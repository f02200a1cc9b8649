"""Differencing: the examples of the first lecture, and the tracker."""

from dataclasses import replace

import pytest

from sfumato.attacks import differencing
from sfumato.attacks.base import Person, SecretFact
from sfumato.attacks.defences import make
from sfumato.attacks.scene import set_scene
from sfumato.attacks.sheet import TABLE, read_sheet
from tests.attacks.people import QUASI, scene_of


@pytest.mark.parametrize(
    "trick", [differencing.own_row, differencing.union, differencing.all_but_one, differencing.tracker]
)
def test_the_examples_of_illegitimate_use_find_a_person_in_the_raw_table(tmp_path, trick):
    sheet, knowledge, truth = scene_of(tmp_path, 60)
    endpoint = make("raw", sheet, "state", QUASI)
    assert [trick(endpoint, knowledge, i) for i in range(20)] == [float(bit) for bit in truth[:20]]


def test_background_knowledge_finds_a_person_whose_kind_agrees(tmp_path):
    """Five people share a code, and all five are ill (the fourth example)."""
    path = tmp_path / "five.csv"
    lines = ["id,zip,state", *(f"{i},75002,ill" for i in range(5)), *(f"{i},7500{i % 2},well" for i in range(5, 20))]
    path.write_text("\n".join(lines) + "\n")
    sheet = read_sheet(path)
    knowledge, _ = set_scene(sheet.records(), TABLE, "state", ["id", "zip"])
    people = tuple(Person({"zip": p.known["zip"]}, p.where) for p in knowledge.people)
    knowledge = replace(knowledge, fact=SecretFact("state", "ill"), key=None, people=people)
    endpoint = make("raw", sheet, "state", ("zip",))
    assert differencing.background(endpoint, knowledge, 0) == 1.0
    assert differencing.background(endpoint, knowledge, 10) == 0.0


def test_the_tracker_recovers_everybody_from_a_database_that_suppresses(tmp_path):
    sheet, knowledge, truth = scene_of(tmp_path, 1000)
    endpoint = make("suppress", sheet, "state", QUASI)
    assert endpoint.number(knowledge.count(knowledge.people[0].where)) is None  # she alone is refused
    asked = len(endpoint.log)
    found = [differencing.tracker(endpoint, knowledge, i) for i in range(1000)]
    assert found == [float(bit) for bit in truth]
    assert len(endpoint.log) - asked == 1002
