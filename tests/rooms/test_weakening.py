"""Changes of a policy that weaken the promise are all named, and nothing else is."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato.doors.cli.clinic import POLICY
from sfumato.owner.weakening import odds, weakenings
from sfumato.policy import parse

NOW = parse(POLICY)


def named(text):
    return [one.what for one in weakenings(NOW, parse(text))]


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("\nepsilon = 4 ", "\nepsilon = 4.1 ", ["privacy.epsilon"]),
        ("delta = 1e-6", "delta = 1e-5", ["privacy.delta"]),
        ('unit = "ssn"', 'unit = "zipcode"', None),
        ("\nepsilon = 4 ", "\nepsilon = 3 ", []),
        ("rows_per_unit = 20", "rows_per_unit = 10", []),
        ("rows_per_unit = 20", "rows_per_unit = 40", []),  # noise grows with it: the promise stays
        ("max = 120", "max = 200", []),
        ("epsilon = 1 ", "epsilon = 2 ", []),  # a share: the total stays
    ],
)
def test_what_weakens_is_named(old, new, what):
    assert old in POLICY
    text = POLICY.replace(old, new, 1)
    if what is None:
        text = text.replace('patient_ssn = { type = "text", max_length = 11 }', 'patient_ssn = { type = "integer" }')
        what = ["tables.patient.unit"]
    assert named(text) == what


def test_a_table_that_becomes_public_is_named():
    head, _, rest = POLICY.partition("[tables.visit]")
    _, _, tail = rest.partition("[tables.region]")
    assert named(f"{head}[tables.visit]\npublic = true\n\n[tables.region]{tail}") == ["tables.visit.public"]


def test_adjacency_timing_and_partition_are_named():
    def with_line(line):
        return POLICY.replace("[privacy]\n", f"[privacy]\n{line}\n").replace('adjacency = "add-remove"', "#", 1)

    replaced, padded = parse(with_line('adjacency = "replace"')), parse(with_line('timing = "padded"'))
    assert [one.what for one in weakenings(replaced, NOW)] == ["privacy.adjacency"]
    assert [one.what for one in weakenings(padded, NOW)] == ["privacy.timing"]
    assert [one.what for one in weakenings(NOW, replaced)] == []
    assert named(with_line('partition = "patient.area"')) == ["privacy.partition"]


def test_odds_are_rounded_up():
    assert [odds(Fraction(e)) for e in (0, 1, 4, 60)] == ["50", "73.2", "98.3", "100"]
