"""errors.py: five fields, printed as PostgreSQL prints them, one SQLSTATE for each kind."""

import pickle

import pytest

from sfumato import errors

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.SfumatoError)]

STATES = {
    "SfumatoError": "XX000",
    "PlanError": "XX000",
    "QueryError": "0A000",
    "CollectionFull": "53100",
    "InputError": "22023",
    "PolicyError": "F0000",
    "BudgetError": "53400",
    "EngineError": "58000",
    "LedgerError": "58030",
    "ClaimError": "P0001",
}


def test_every_kind_has_the_state_that_clients_rely_on():
    assert {kind.__name__: kind("x").sqlstate for kind in KINDS} == STATES


@pytest.mark.parametrize("kind", KINDS)
def test_the_docstring_draws_the_kind_with_its_state(kind):
    if kind is errors.SfumatoError:
        return
    line = next(line for line in errors.__doc__.splitlines() if f"── {kind.__name__} " in line)
    assert STATES[kind.__name__] in line


def test_five_fields_become_one_document():
    error = errors.BudgetError("budget is spent", detail="0.2 of 2 remains.", hint="Ask for less.", position=7)
    assert error.to_dict() == {
        "sqlstate": "53400",
        "message": "budget is spent",
        "detail": "0.2 of 2 remains.",
        "hint": "Ask for less.",
        "position": 7,
    }


def test_fields_that_are_not_given_are_none():
    fields = errors.QueryError("no").to_dict()
    assert list(fields) == ["sqlstate", "message", "detail", "hint", "position"]
    assert [fields[name] for name in ("detail", "hint", "position")] == [None, None, None]


def test_printing_shows_message_detail_and_hint_on_lines_of_their_own():
    assert str(errors.QueryError("no")) == "no"
    assert str(errors.QueryError("no", detail="d.", hint="h.")) == "no\nDETAIL: d.\nHINT: h."
    assert str(errors.QueryError("no", hint="h.")) == "no\nHINT: h."


def test_a_narrower_state_replaces_the_default_of_this_error_only():
    assert errors.QueryError("no such column", sqlstate="42703").sqlstate == "42703"
    assert errors.QueryError("no").sqlstate == "0A000"


def test_an_input_error_is_a_query_error_and_a_budget_error_is_not():
    assert issubclass(errors.InputError, errors.QueryError)
    assert not issubclass(errors.BudgetError, errors.QueryError)


def test_an_error_crosses_a_process_boundary():
    error = errors.BudgetError("spent", detail="d.", hint="h.", position=3, sqlstate="53401")
    assert pickle.loads(pickle.dumps(error)).to_dict() == error.to_dict()
