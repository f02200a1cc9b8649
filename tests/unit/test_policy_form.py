"""The policy as a form: what it shows is what the text says, and a change of a field changes one key of the text."""

import tomllib
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.cli.clinic import POLICY
from sfumato.errors import InputError, PolicyError
from sfumato.owner.form import change, form_of
from sfumato.policy import parse
from sfumato.policy.editing import as_text, edited

OTHER = """# what stands before
privacy.epsilon = 4 # dotted
privacy.delta = 1e-6
[source]
engine = "duckdb"
files = { "od d" = "a.csv" }   # a name with a space
[data]
id = "d"
[tables]
"od d" = { unit = "id", rows_per_unit = 2, columns = { id = { type = "integer" }, x = { values = [1, 2] } } }
"""


def read(text):
    return tomllib.loads(text, parse_float=Decimal)


def fields(text):
    found = form_of(text, parse(text))
    return {(*group["path"], one["key"]): one for group in found for one in group["fields"]}


def comments(text):
    return [line.partition("#")[2] for line in text.splitlines() if "#" in line]


def with_value(document, path, value):
    for part in path[:-1]:
        document = document.setdefault(part, {})
    if value is None:
        del document[path[-1]]
    else:
        document[path[-1]] = value


EDITS = [
    (POLICY, ("privacy", "epsilon"), "4.5", Decimal("4.5")),
    (POLICY, ("privacy", "timing"), '"padded"', "padded"),
    (POLICY, ("analysts", "ana", "epsilon"), "2", 2),
    (POLICY, ("analysts", "o 'x' \"y\"", "epsilon"), "2", 2),
    (POLICY, ("tables", "visit", "groups_per_unit"), None, None),
    (POLICY, ("tables", "patient", "columns", "age", "max"), "130", 130),
    (POLICY, ("tables", "patient", "columns", "age", "nulls"), "false", False),
    (POLICY, ("tables", "patient", "columns", "age", "type"), None, None),
    (POLICY, ("tables", "patient", "columns", "age", "min"), None, None),
    (POLICY, ("tables", "patient", "columns", "age", "max"), None, None),
    (POLICY, ("tables", "patient", "columns", "disease", "values"), '["a", "b"]', ["a", "b"]),
    (POLICY, ("analysts",), None, None),
    (OTHER, ("privacy", "epsilon"), "5", 5),
    (OTHER, ("tables", "od d", "rows_per_unit"), "3", 3),
    (OTHER, ("tables", "od d", "l2_per_unit"), "3", 3),
    (OTHER, ("tables", "od d", "columns", "x", "values"), None, None),
    (OTHER, ("data", "version"), '"2"', "2"),
    ("a = {}\n", ("a", "b"), "1", 1),
    ("a = 1", ("b", "c"), "1", 1),
    ("[a]\n# alone\n[b]\nc = 1", ("a", "b"), "1", 1),
]


@pytest.mark.parametrize(("text", "path", "literal", "value"), EDITS)
def test_an_edit_changes_one_key_and_no_comment(text, path, literal, value):
    new = edited(text, (*path, "ana") if path == ("analysts",) else path, literal)  # with the only share goes the table
    wanted = read(text)
    with_value(wanted, path, value)
    assert read(new) == wanted
    gone = [] if value is not None else [one for one in comments(text) if one not in comments(new)]
    assert [one for one in comments(text) if one not in gone] == comments(new)
    assert len(gone) <= 1  # that of the line that is taken away
    same = [line for line in text.splitlines() if line not in new.splitlines()]
    assert len(same) <= 2  # every other line is as it was


@pytest.mark.parametrize(
    ("text", "path", "literal"),
    [
        ("a = 1\n", ("a",), "2\nb = 3"),
        ("a = 1\n", ("a",), "1 # b"),
        ("a = 1\n", ("a", "b"), "2"),
        ("a = [1]\n", ("a", "b"), "2"),
        ("a = 1\n", ("b",), None),
        ("[[a]]\nb = 1\n", ("a", "b"), "2"),
        ("privacy.epsilon = 1\n", ("privacy", "delta"), "0.1"),  # a section of its own would be a second one
        ("a = ", ("a",), "1"),
        (OTHER, ("tables", "od d", "columns", "y", "type"), '"text"'),
        ("[a]\nb = 1\n[a.c]\nd = 1\n", ("a",), None),
    ],
)
def test_an_edit_that_would_mean_something_else_is_refused(text, path, literal):
    """A literal that ends and goes on, a section that is no section, a key that is not there: never a changed text."""
    try:
        new = edited(text, path, literal)
    except InputError:
        return
    wanted = read(text)
    with_value(wanted, path, read(f"value = {literal}")["value"] if literal else None)
    assert read(new) == wanted


@given(st.text(max_size=30))
def test_any_text_is_written_as_toml_reads_it(value):
    assert read(f"a = {as_text(value)}") == {"a": value}


@given(st.text(max_size=20), st.sampled_from([("privacy", "partition"), ("tables", "patient", "unit")]))
def test_whatever_is_typed_changes_its_own_field_alone(typed, path):
    new = change(POLICY, list(path), typed)
    wanted = read(POLICY)
    if typed.strip():
        with_value(wanted, path, typed.strip())
    elif path[0] == "tables" and not typed:
        with_value(wanted, path, None)
    if typed.strip() or not typed:
        assert read(new) == wanted


def test_the_form_shows_what_the_text_says_and_what_holds_where_it_says_nothing():
    found = fields(POLICY)
    assert found["privacy", "epsilon"]["value"] == "4"
    assert found["privacy", "delta"]["value"] == "1e-6"  # as it is written
    assert (found["privacy", "timing"]["value"], found["privacy", "timing"]["default"]) == (None, "plain")
    assert found["privacy", "epsilon"]["about"].endswith(
        "A 50 % suspicion that somebody is in the data becomes at most 98.3 %, one about their values at most 99.97 %."
    )
    assert found["tables", "patient", "unit"]["options"][-1] == "row"
    assert found["tables", "patient", "columns", "disease", "values"]["value"][0] == "Cold"
    assert found["tables", "patient", "columns", "admitted", "min"]["value"] == "2015-01-01"
    assert ("tables", "region", "unit") not in found  # a public table has none
    assert ("tables", "patient", "columns", "street", "grid") not in found  # a text has none
    assert form_of("a = ", None) is None
    assert form_of("privacy = 3\ntables = 4\nanalysts = []", None) is not None


@pytest.mark.parametrize(
    ("path", "given", "line"),
    [
        (["privacy", "epsilon"], "0.5", "epsilon = 0.5 "),
        (["privacy", "delta"], " 1e-7 ", "delta = 1e-7 "),
        (["tables", "visit", "rows_per_unit"], "auto", 'rows_per_unit = "auto" '),
        (["tables", "patient", "columns", "admitted", "max"], "2031-12-31", "max = 2031-12-31 }"),
        (
            ["tables", "patient", "columns", "area", "values"],
            ["n", 'a"]\nx'],
            'area     = { values = ["n", "a\\"]\\nx"] }',
        ),
        (["tables", "patient", "columns", "zipcode", "values"], ["1", "2"], "values = [1, 2] }"),
        (["data", "version"], '2"\n[x]', 'version = "2\\"\\n[x]"'),
        (["analysts", "new\n[privacy]", "epsilon"], "1", '[analysts."new\\n[privacy]"]'),
    ],
)
def test_what_is_typed_becomes_toml(path, given, line):
    assert line in change(POLICY, path, given)


@pytest.mark.parametrize(
    ("path", "given"),
    [
        (["privacy", "epsilon"], "4\ndelta = 1"),
        (["privacy", "epsilon"], "four"),
        (["privacy", "epsilon"], True),
        (["privacy", "epsilon"], ["4"]),
        (["privacy", "adjacency"], "none"),
        (["privacy", "wrong"], "1"),
        (["source", "engine"], "spark"),
        (["data", "ledger"], "other"),
        (["data", "id"], "other"),
        (["tables", "patient", "columns", "age", "max"], "tomorrow"),
        (["tables", "patient", "public"], "true # x"),
        (["analysts", "ana"], "1"),
        ([], "1"),
        (["privacy"], None),
        (["tables", "patient"], None),
    ],
)
def test_what_the_form_does_not_have_is_refused(path, given):
    with pytest.raises(InputError):
        change(POLICY, path, given)


def test_a_text_that_is_no_toml_is_mended_first():
    with pytest.raises(PolicyError, match="not TOML"):
        change("a = ", ["privacy", "epsilon"], "1")


def test_a_public_table_has_no_unit_any_more():
    new = change(POLICY, ["tables", "visit", "public"], True)
    assert parse(new).tables["visit"].public
    with pytest.raises(PolicyError):
        parse(change(new, ["tables", "visit", "public"], None))  # the owner has to say who is protected


@pytest.mark.parametrize("name", ["height", "zip code", 'a "quoted" name', "ü"])
@pytest.mark.parametrize(("policy", "table"), [(POLICY, "patient"), (POLICY, "visit"), (OTHER, "od d")])
def test_a_column_is_added_with_its_type_and_taken_away_again(policy, table, name):
    path = ["tables", table, "columns", name]
    text = change(policy, path, "integer")
    wanted = read(policy)
    with_value(wanted, path, {"type": "integer"})
    assert read(text) == wanted
    assert comments(text) == comments(policy)
    bounded = change(change(text, [*path, "min"], "0"), [*path, "max"], "9")
    assert name in parse(bounded).tables[table].columns
    assert read(change(text, path, None)) == read(policy)


@pytest.mark.parametrize(
    ("path", "given", "message"),
    [
        (["tables", "patient", "columns", "age"], "integer", "has a column"),
        (["tables", "nobody", "columns", "age"], "integer", "has no table"),
        (["tables", "patient", "columns", "x"], "number", "type must be one of"),
        (["tables", "patient", "columns", "x"], 'integer", min = 0 } #', "type must be one of"),
        (["tables", "patient", "columns", "x"], ["text"], "cannot have this value"),
        (["tables", "patient", "columns", ""], "text", "no such field"),
        (["analysts", "bob"], "text", "no such field"),
    ],
)
def test_what_is_no_new_column_is_refused(path, given, message):
    with pytest.raises(InputError, match=message):
        change(POLICY, path, given)
