"""Changes of a policy that weaken the promise are all named, and nothing else is."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction

import pytest

from sfumato.accounting import percent_at_most
from sfumato.cli.clinic import POLICY
from sfumato.owner.weakening import other_changes, weakenings
from sfumato.policy import Data, Privacy, Table, parse

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


@pytest.mark.parametrize(
    ("old", "new", "what", "words"),
    [
        ("query_epsilon = 0.1", "query_epsilon = 1", "privacy.query_epsilon", "at most 73.2 % instead of 52.5 %"),
        ("query_delta = 1e-8", "query_delta = 2e-8", "privacy.query_delta", "from 0.00000001 to 0.00000002"),
        ("rows_per_unit = 20", "rows_per_unit = 40", "tables.visit.rows_per_unit", "from 20 to 40"),
        ("rows_per_unit = 20", 'rows_per_unit = "auto"', "tables.visit.rows_per_unit", "from 20 to auto"),
        (
            "groups_per_unit = 5",
            "groups_per_unit = 6",
            "tables.visit.groups_per_unit",
            "becomes at most 98.3 %, one about their values at most 99.97 %",
        ),
        ("groups_per_unit = 5", "l2_per_unit = 40", "tables.visit.l2_per_unit", "from 20 to 40"),
        ("epsilon = 1 ", "epsilon = 2 ", "analysts.ana", "at most 88.1 % instead of 73.2 %"),
        ("[analysts.ana]\nepsilon = 1 ", "#", "analysts.ana", "at most 98.3 % instead of 73.2 %"),
        ("rows_per_unit = 20", "rows_per_unit = 10", None, None),
        ("query_epsilon = 0.1", "query_epsilon = 0.05", None, None),
        ("epsilon = 1 ", "epsilon = 0.5 ", None, None),
        ("max = 120", "max = 200", None, None),
    ],
)
def test_what_counts_for_more_is_named_apart(old, new, what, words):
    """The promise over all answers stays: nothing of it is called weaker, and each is told with its odds."""
    assert old in POLICY
    then = parse(POLICY.replace(old, new, 1))
    assert weakenings(NOW, then) == []
    found = [one for one in other_changes(NOW, then) if one.what == what]
    assert [words in one.words for one in found] == ([True] if what else [])
    assert bool(other_changes(NOW, then)) == bool(what)


def test_another_ledger_forgets_what_was_spent():
    for old, new, key in (
        ('id = "clinic"', 'id = "clinic2"', "data.id"),
        ('ledger = "clinic.ledger"', 'ledger = "new.ledger"', "data.ledger"),
    ):
        (one,) = weakenings(NOW, parse(POLICY.replace(old, new, 1)))
        assert one.what == key
        assert "at most 99.97 % instead of 98.3 %" in one.words


def test_pure_composition_that_is_given_up_is_named():
    pure = POLICY.replace('composition = "best"', 'composition = "pure"')
    (one,) = weakenings(parse(pure), NOW)
    assert one.what == "privacy.composition"
    assert "with probability 0.000001 instead of 0.0000005" in one.words
    assert weakenings(NOW, parse(pure)) == []


def test_no_table_is_new_and_public_without_a_word():
    """Neither under a new name, nor by another file behind an old one."""
    new = POLICY.replace('region = "region.csv" }', 'region = "region.csv", all = "patient.parquet" }')
    assert named(f"{new}\n[tables.all]\npublic = true\n") == ["tables.all.public"]
    assert named(POLICY.replace('"region.csv"', '"patient.parquet"')) == ["tables.region.public"]


def test_the_same_rows_under_another_unit_are_named():
    """Also where the table has another name by then."""
    text = """[source]
engine = "duckdb"
files = {{ {name} = "visit.csv" }}
[data]
id = "clinic"
[privacy]
epsilon = 1
[tables.{name}]
{unit}
[tables.{name}.columns]
person = {{ type = "text", max_length = 9 }}
"""
    now = parse(text.format(name="visit", unit='unit = "person"\nrows_per_unit = 3'))
    same = parse(text.format(name="again", unit='unit = "person"\nrows_per_unit = 2'))
    assert weakenings(now, same) == []
    for name in ("visit", "again"):
        (one,) = weakenings(now, parse(text.format(name=name, unit='unit = "row"')))
        assert one.what == f"tables.{name}.unit"
        assert "a person with 3 rows is then protected with 3 times the epsilon" in one.words
        assert "at most 95.3 % instead of 73.2 %" in one.words


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


def test_every_key_of_the_promise_is_compared():
    """A key that is added to the policy later must be looked at here: does a change of it weaken anything?"""
    weighed = {"epsilon", "delta", "composition", "adjacency", "timing", "partition", "query_epsilon", "query_delta"}
    harmless = {"delta_selection", "min_epsilon", "failures"}  # a part of delta; how little may be asked; availability
    assert {one.name for one in fields(Privacy)} == weighed | harmless
    of_people = {"public", "unit", "rows_per_unit", "groups_per_unit", "l2_per_unit", "sum_per_unit"}
    assert {one.name for one in fields(Table)} == of_people | {"name", "columns", "points"}
    assert {one.name for one in fields(Data)} == {"id", "ledger"} | {"version", "anchor", "state", "schema"}


def test_odds_are_rounded_up():
    assert [percent_at_most(Fraction(e)) for e in (0, 1, 4, 7, 60)] == ["50", "73.2", "98.3", "99.91", "100"]
