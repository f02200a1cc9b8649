"""No word of a refusal is a name that only the parser knows: every function of its dialect is called once."""

import re

import pytest
from sqlglot import exp
from sqlglot.dialects.postgres import Postgres

from sfumato.errors import QueryError
from sfumato.sql.read.parser import parse

NAMES = {kind.__name__ for kind in vars(exp).values() if isinstance(kind, type) and issubclass(kind, exp.Expression)}
CLASSES = {name.upper() for name in NAMES if re.search(r"[a-z][A-Z]", name)}
"""Names of two words or more: nobody writes these."""
FUNCTIONS = sorted({name for name in Postgres.Parser.FUNCTIONS if name.isidentifier()})
FORMS = ("{f}()", "{f}(age)", "{f}(age, 1)", "{f}(age, 1, 'x')", "{f}(street, 'a')", "{f}(age) OVER ()")
OTHERS = (
    "SELECT a -> 'b' FROM patient",
    "SELECT ARRAY[1, 2] FROM patient",
    "SELECT age[1] FROM patient",
    "SELECT (SELECT 1, 2) FROM patient",
    "SELECT age::json -> 'a' FROM patient",
    "SELECT x'1F' FROM patient",
    "SELECT age AT TIME ZONE 'UTC' FROM patient",
    "SELECT COUNT(*) FROM patient, LATERAL (SELECT 1) x",
    "SELECT COUNT(*) FROM generate_series(1, 10)",
    "SELECT generate_series(1, 10) FROM patient",
    "SELECT unnest(ARRAY[1]) FROM patient",
    "SELECT COUNT(*) FROM patient TABLESAMPLE BERNOULLI (10)",
    "SELECT COUNT(*) FROM ONLY patient",
    "SELECT COUNT(*) FROM patient FOR UPDATE",
    "SELECT DISTINCT ON (age) age FROM patient",
    "SELECT COUNT(*) FROM patient WINDOW w AS (PARTITION BY age)",
    "SELECT age #>> '{a}' FROM patient",
    "SELECT age ? 'a' FROM patient",
    "SELECT age @> '1' FROM patient",
    "SELECT age && '1' FROM patient",
    "SELECT age & 1, age << 1, ~age FROM patient",
    "SELECT age ^@ 'x' FROM patient",
    "SELECT age SIMILAR TO 'x' FROM patient",
    "SELECT age IS JSON FROM patient",
    "SELECT COUNT(*) FROM patient GROUP BY ALL",
    "VALUES (1), (2)",
    "TABLE patient",
    "BEGIN",
    "TRUNCATE patient",
    "VACUUM",
    "MERGE INTO patient USING region ON TRUE WHEN MATCHED THEN DELETE",
    "CREATE TABLE x AS SELECT 1",
    "GRANT ALL ON patient TO ana",
    "KILL 1",
    "ANALYZE patient",
    "REFRESH TABLE patient",
)


def refusal(sql):
    try:
        parse(sql)
    except QueryError as refused:
        return refused
    return None


def leaks(sql, refused):
    """Words of a message that are names of the parser's classes, and that nobody wrote."""
    said = " ".join(filter(None, (refused.message, refused.detail, refused.hint))).upper()
    wrote = sql.upper().replace("_", "")
    return [word for word in re.findall(r"[A-Z0-9_]+", said) if word in CLASSES and word not in wrote]


def test_no_function_is_refused_by_a_name_of_the_parsers():
    met, found = 0, {}
    for name in FUNCTIONS:
        for form in FORMS:
            sql = f"SELECT {form.format(f=name)} FROM patient"
            refused = refusal(sql)
            if refused is not None:
                met += 1
                if leaks(sql, refused):
                    found[sql] = refused.message
    assert met > 3 * len(FUNCTIONS), "most of them are refused"
    assert not found


@pytest.mark.parametrize("sql", OTHERS)
def test_no_other_part_of_a_query_is_refused_by_a_name_of_the_parsers(sql):
    refused = refusal(sql)
    assert refused is None or not leaks(sql, refused), refused.message


def test_what_was_named_by_the_parser_is_named_as_it_was_written():
    assert "function sha256 is not supported" in refusal("SELECT sha256(street) FROM patient").message
