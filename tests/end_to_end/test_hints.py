"""What a refusal proposes is answered: every hint that is a statement is planned, under the policy of the refusal.

The hints are read from tests/golden/refusals, as people read them. Where a hint is in words, the question that follows
from it is written here.
"""

import re
from pathlib import Path

import pytest
from tests.end_to_end.pg import make_clinic
from tests.end_to_end.test_golden_sql import CLINIC, clinic, planned

import sfumato
from sfumato.cli.clinic import POLICY
from sfumato.errors import QueryError

GOLDEN = Path(__file__).parents[1] / "golden" / "refusals"
TITLE, HINT = re.compile(r"^# (.*)$"), re.compile(r"^HINT: (.*)$")
STATEMENT = re.compile(r"Try this instead: (SELECT .*)\.")


def hints():
    """Every refusal by its kind and title, with its hint."""
    found = {}
    for path in sorted(GOLDEN.glob("*.txt")):
        title = None
        for line in path.read_text(encoding="utf-8").splitlines():
            if match := TITLE.match(line):
                title = f"{path.stem}: {match[1]}"
            elif (match := HINT.match(line)) and title is not None:
                found[title] = match[1]
    return found


HINTS = hints()
STATEMENTS = {title: match[1] for title, hint in HINTS.items() if (match := STATEMENT.fullmatch(hint))}

ROWS = {
    "expressions": ("functions: chance", "not-yet: TABLESAMPLE"),
    "private and private": ("joins: of other persons", "joins: persons of an expression"),
    "private and public": ("joins: a public table keeps its rows", "joins: both keep their rows"),
    "IN, EXISTS, EXCEPT": (
        "sub-queries: IN other columns",
        "sub-queries: EXISTS anybody",
        "sub-queries: EXCEPT of attributes",
    ),
    "aggregation per person": ("per-person: a function of the person", "per-person: a rollup of persons"),
    "windows": ("per-person: a window over others", "per-person: the last of rows that tie"),
    "DISTINCT, UNION, LIMIT": ("people: DISTINCT ON", "sub-queries: LIMIT below the cut"),
}
"""The rows of the table in rule 2.2 that refuse something, each with refusals of its kind."""

MENDED = {
    "functions: chance": "SELECT COUNT(*) FROM patient",
    "not-yet: TABLESAMPLE": "SELECT COUNT(*) FROM patient",
}
"""Hints in words, followed by hand."""


@pytest.fixture(scope="module")
def gate(written, tmp_path_factory):
    with sfumato.open(make_clinic(tmp_path_factory.mktemp("hints"), written)) as opened:
        yield opened


def test_there_are_hints_of_both_kinds():
    assert len(STATEMENTS) > 20
    assert len(HINTS) > len(STATEMENTS)


@pytest.mark.parametrize("title", STATEMENTS)
def test_a_statement_that_a_hint_proposes_is_answered(title, gate):
    sql = STATEMENTS[title]
    assert planned(sql).event is not None, "it asks about persons"
    assert gate.explain(sql).refused is None


@pytest.mark.parametrize("row", ROWS)
def test_each_row_of_the_rule_has_refusals_with_a_way_out(row):
    for title in ROWS[row]:
        assert title in STATEMENTS or planned(MENDED[title]).event is not None
    assert all(HINTS[title] for title in ROWS[row])


def test_a_hint_is_mended_by_hand_only_where_it_is_in_words():
    assert not MENDED.keys() & STATEMENTS.keys()


NAMED = {
    "SELECT age FROM patient ORDER BY age LIMIT 3": {},
    'SELECT "Sex" FROM patient': {"age      =": '"Sex" ='},
    'SELECT * FROM "Big Table"': {"tables.patient": 'tables."Big Table"', "patient = ": '"Big Table" = '},
    'SELECT * FROM "order"': {"tables.patient": 'tables."order"', "patient = ": '"order" = '},
    'SELECT a.* FROM "order" AS a JOIN visit AS b ON a.area = b.city': {
        "tables.patient": 'tables."order"',
        "patient = ": '"order" = ',
    },
    "SELECT patient_ssn, COUNT(*) AS n FROM visit GROUP BY patient_ssn HAVING COUNT(*) > 1": {},
    "SELECT disease FROM patient WHERE street = 'it''s'": {},
    "SELECT age FROM patient UNION ALL SELECT age FROM patient": {},
}
"""Questions that show rows, under a policy with some names changed."""


@pytest.mark.parametrize("sql", NAMED)
def test_hints_quote_names_and_keep_the_question(sql):
    text = POLICY
    for old, new in NAMED[sql].items():
        assert old in text
        text = text.replace(old, new)
    policy = clinic(text) if NAMED[sql] else CLINIC
    with pytest.raises(QueryError) as refused:
        planned(sql, policy=policy)
    proposed = STATEMENT.fullmatch(refused.value.hint or "")
    assert proposed, refused.value.hint
    assert planned(proposed[1], policy=policy).event is not None
