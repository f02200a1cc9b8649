"""What one unit is, once a ledger is used: which changes of policy are refused, and which are recorded."""

import logging

import pytest

from sfumato.errors import InputError, PolicyError
from sfumato.ledger import Ledger, schema
from sfumato.ledger.units import find_conflict, known_units
from tests.unit.raw_ledger import dump
from tests.unit.test_ledger import ask, book, found, hash_anew

PATIENT = {"column": "ssn", "type": "text"}
VISIT = {"column": "patient_id", "join": "patient", "key": "id"}
UNITS = {"patient": PATIENT, "visit": VISIT, "region": {}}
HOUSEHOLD = {"column": "household", "type": "text"}

REFUSED = {
    "another column": UNITS | {"patient": HOUSEHOLD},
    "another type": UNITS | {"patient": {"column": "ssn", "type": "integer"}},
    "a join instead of a column": UNITS | {"patient": {"column": "house", "join": "home", "key": "id"}},
    "a column instead of a join": UNITS | {"visit": {"column": "patient_id", "type": "text"}},
    "a join to another table": UNITS | {"visit": {"column": "patient_id", "join": "home", "key": "id"}},
    "a join on another column": UNITS | {"visit": {"column": "home_id", "join": "patient", "key": "id"}},
    "a join to another key": UNITS | {"visit": {"column": "patient_id", "join": "patient", "key": "house"}},
    "public": UNITS | {"patient": {}},
    "only new tables": {"person": {"column": "ssn", "type": "text"}, "region": {}},
    "one table left out, the other changed": {"patient": HOUSEHOLD},
}
ALLOWED = {
    "the same": dict(reversed(UNITS.items())),
    "a new table": UNITS | {"lab": {"column": "patient_ssn", "type": "text"}},
    "a table left out": {"patient": PATIENT},
    "a public table is protected": UNITS | {"region": {"column": "mayor", "type": "text"}},
    "a new public table": UNITS | {"calendar": {}},
    "no protected table is left": {"region": {}},
    "a type that is not known": UNITS | {"patient": {"column": "ssn"}},
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "clinic.ledger"


@pytest.mark.parametrize("units", REFUSED.values(), ids=REFUSED)
def test_a_used_ledger_keeps_its_unit(path, units):
    with book(path, units=UNITS) as ledger:
        ask(ledger)
    before = dump(path)
    with pytest.raises(PolicyError, match=r"cannot (become public|change from)|names none of the tables") as refused:
        book(path, units=units, policy_digest="p2")
    assert refused.value.detail.startswith("Charges so far (1) are for the recorded units")
    assert "begin a new data set" in refused.value.hint
    assert dump(path) == before
    with book(path, units=UNITS) as ledger:
        ask(ledger, "the policy before serves on")
        ledger.verify()


@pytest.mark.parametrize("units", REFUSED.values(), ids=REFUSED)
def test_an_unused_ledger_takes_any_unit(path, units):
    book(path, units=UNITS).close()
    with book(path, units=units) as ledger:
        ask(ledger)
        *_, entry, _ = ledger.entries()
        assert entry.body["now"]["units"] == units
        ledger.verify()


@pytest.mark.parametrize("units", ALLOWED.values(), ids=ALLOWED)
def test_what_stays_possible_is_recorded(path, units):
    with book(path, units=UNITS) as ledger:
        ask(ledger)
    with book(path, units=units, policy_digest="p2") as ledger:
        ask(ledger, "more", version="2")
        assert ledger.terms.units == units
        ledger.verify()
    with Ledger.visit(path) as visitor:
        assert visitor.terms.units == units


def test_a_unit_is_not_changed_by_way_of_another_policy(path):
    """A table that is left out, or charges under another policy, do not make the ledger forget."""
    with book(path, units=UNITS) as ledger:
        ask(ledger)
    with book(path, units={"visit": VISIT | {"join": "patient"}, "patient": PATIENT}) as ledger:
        ask(ledger, "two")
    with book(path, units={"visit": VISIT}) as ledger:
        ask(ledger, "three")
    for units in ({"visit": VISIT, "patient": HOUSEHOLD}, {"visit": VISIT, "patient": {}}):
        with pytest.raises(PolicyError, match='"patient" cannot'):
            book(path, units=units)


def test_the_owner_is_told_of_what_nothing_can_check(path, caplog):
    with book(path, units=UNITS) as ledger:
        ask(ledger)
    caplog.set_level(logging.WARNING, "sfumato.operator")
    book(path, units=UNITS | {"region": HOUSEHOLD, "lab": {"column": "who", "type": "text"}}).close()
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    assert any('"region" is protected from now on; it was public before' in line for line in told)
    assert any('"lab" is new' in line and '"who" (text)' in line for line in told)


def test_replay_knows_that_a_unit_changed(path):
    with book(path, units=UNITS) as ledger:
        ask(ledger)
    with book(path, units=UNITS, policy_digest="p2") as ledger:
        now = ledger.terms.to_dict()
    hash_anew(path, 4, now=now | {"units": UNITS | {"patient": HOUSEHOLD}})
    found(path, "entry 4 of the ledger is not valid\nDETAIL.*the units of earlier charges are not its units")


def test_units_that_were_not_recorded_are_those_that_come_first(path):
    """Ledgers of format 2 say nothing of units; the first policy that does says what they were."""
    with book(path) as ledger:
        ask(ledger)
        assert ledger.terms.units == {}
    book(path, units=UNITS).close()
    with pytest.raises(PolicyError, match='unit of table "patient"'):
        book(path, units=UNITS | {"patient": HOUSEHOLD})
    with book(path, units=UNITS) as ledger:
        ledger.verify()


def test_every_pair_of_units_is_the_same_or_refused():
    """Whatever one table's unit was and is: it is the same, one of them lacks a type, or it is refused."""
    kinds = [
        {},
        PATIENT,
        {"column": "ssn"},
        {"column": "ssn", "type": "integer"},
        HOUSEHOLD,
        VISIT,
        VISIT | {"key": "x"},
    ]
    for before in kinds[1:]:
        for after in kinds:
            same = {**after, "type": 0} == {**before, "type": 0} and not (
                "type" in before and "type" in after and before["type"] != after["type"]
            )
            known = known_units([({"units": {"t": before}}, True)])
            assert (find_conflict(known, {"t": after}) is None) == same, (before, after)


@pytest.mark.parametrize("units", [[], {"t": "ssn"}, {"t": {"column": 1}}, {1: {}}])
def test_units_are_texts(units):
    with pytest.raises(InputError, match="units must"):
        book(units=units or [1])


def test_a_ledger_with_units_is_not_for_older_code(path):
    book(path, units=UNITS).close()
    assert schema.FORMAT >= 3
