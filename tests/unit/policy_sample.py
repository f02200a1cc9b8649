"""The sample policy, small ones, and edits of the sample that are mistakes, for the tests of the policy.

`‸` in an edit marks the place that the error must name; it is taken out before the text is read, so the expected line
and column never come from the code under test.
"""

import pytest

from sfumato.errors import PolicyError
from sfumato.policy import parse

EXAMPLE = """\
[source]
engine = "duckdb"                          # duckdb | postgres | spark (what is not built yet: one clear error)
files  = { patient = "patient.parquet", visit = "visit.csv", region = "region.csv" }     # files, globs, or one .duckdb database
# dsn  = "postgresql://reader@host/clinic"

[data]
id = "clinic"                              # the budget belongs to this id; also the database name at the wire
version = "2024-11"                        # named by the owner (or "daily", "monthly", UTC): never read off the data
ledger = "clinic.ledger"                   # SQLite file, or postgresql://… when several gateways share one budget
# anchor = "/elsewhere/clinic.head"        # the chain's head, written with each commit, compared by verify and at start
# state = ".sfumato"                       # users, tokens, TLS key, loaded files, prepared tables, operator log (mode 700)

[privacy]
epsilon = 4                                # everything that all analysts together may ever learn
delta = 1e-6                               # divided once: delta_selection (default half) and the zCDP conversion
adjacency = "add-remove"                   # or "replace"
composition = "best"                       # "pure" | "zcdp" | "best"
query_epsilon = 0.1
query_delta = 1e-8                         # what one question with open keys spends on selection
# min_epsilon = 1e-6 · timing = "plain" | "padded" · failures = 3 · partition = "patient.area"

[analysts.ana]
epsilon = 1                                # a share: the same filter with this epsilon; the promise is the total

[tables.patient]
unit = "ssn"
rows_per_unit = 1
[tables.patient.columns]
ssn      = { type = "text", max_length = 11 }
age      = { type = "integer", min = 0, max = 120 }
disease  = { values = ["Cold", "Flu", "Asthma", "Diabetes", "Migraine"] }
salary   = { type = "decimal", min = 0, max = 200_000, grid = 1 }
zipcode  = { type = "integer", min = 75000, max = 75999 }
admitted = { type = "date", min = 2015-01-01, max = 2030-12-31 }
area     = { values = ["north", "east", "south", "west"] }
street   = { type = "text", max_length = 40 }       # open domain

[tables.visit]
unit = "patient_ssn"                       # or: unit = { join = "patient", on = "patient_id = id" } (two names around =)
rows_per_unit = 20                         # C of semantics 3.1
groups_per_unit = 5                        # K: only for open keys and COUNT(DISTINCT x); default rows_per_unit
# l2_per_unit = 5                          # C2 for Gaussian noise; default rows_per_unit
# sum_per_unit = { cost = 5000 }           # clip of a lone SUM
[tables.visit.columns]
patient_ssn = { type = "text", max_length = 11 }
cost = { type = "decimal", min = 0, max = 1000, grid = 0.01 }
day  = { type = "date", min = 2023-01-01, max = 2025-12-31 }
city = { values = ["Paris", "Lyon", "Nice"] }
note = { type = "text", max_length = 80 }

[tables.region]
public = true
"""  # noqa: E501  the sample keeps its comments on one line

HOME = "/srv/clinic/sfumato.toml"
MARK = "‸"


def edited(*edits):
    """The sample with each (old, new) applied once; an old text that is not there once is a mistake of the test."""
    text = EXAMPLE
    for old, new in edits:
        assert text.count(old) == 1, (old, text.count(old))
        text = text.replace(old, new)
    return text


def refusal(text, path=HOME):
    with pytest.raises(PolicyError) as caught:
        parse(text, path)
    return caught.value


SMALL = """\
[source]
engine = "duckdb"
files = "clinic.duckdb"
[data]
id = "clinic"
[privacy]
epsilon = 2
[tables.person]
unit = "id"
rows_per_unit = 3
columns.id.type = "integer"
"""


JOINED = edited(
    ('unit = "patient_ssn"  ', 'unit = { join = "patient", on = "patient_ssn = street" }  '),
)


def document(**sections):
    """A small document in Python; sections replace its own."""
    table = {"unit": "id", "rows_per_unit": 1, "columns": {"id": {"type": "integer"}}}
    names = sections.get("tables", {"t": table})
    return {
        "source": {"engine": "duckdb", "files": dict.fromkeys(names, ":memory:")},
        "data": {"id": "d"},
        "privacy": {"epsilon": 1},
        "tables": {"t": table},
    } | sections


AREA = 'area     = { values = ["north", "east", "south", "west"] }'
AGE = "age      = {"
NOTE = 'note = { type = "text", max_length = 80 }'
UNIT = 'unit = "patient_ssn"  '
FILES = 'files  = { patient = "patient.parquet", visit = "visit.csv", region = "region.csv" }'
QUERY = "query_epsilon = 0.1\n"
GROUPS = "groups_per_unit = 5 "


def note(text):
    return (NOTE, f"note = {text}")


def privacy(text):
    return (QUERY, f"{text}\n")


MISTAKES = {
    "toml": {
        "no equals sign": ("rows_per_unit = 1\n", "rows_per_unit ‸1\n"),
        "text without quotes": ('unit = "ssn"', "unit = ‸ssn"),
        "a key twice": ("rows_per_unit = 1\n", "rows_per_unit = 1\nrows_per_unit = 2‸\n"),
        "a section twice": ("[analysts.ana]", "[data‸]\n[analysts.ana]"),
        "an open list": (AREA, 'area = { values = ["north"\n‸street = 1'),
        "a date that is not": ("2015-01-01", "‸2015-02-30"),
        "an end in the middle": ("[tables.region]\npublic = true\n", "[tables.region‸"),
        "a text that never ends": ("[tables.region]\npublic = true\n", '[tables.region]\nx = """abc‸'),
        "a number of 5000 digits": ("epsilon = 4 ", f"epsilon = ‸{'9' * 5000} "),
        "lists in lists": ("epsilon = 4 ", f"epsilon = ‸{'[' * 5000}{']' * 5000} "),
    },
    "top": {
        "unknown section": ("[analysts.ana]", "[‸analyst.ana]"),
        "unknown key": ("[source]", "‸speed = 3\n[source]"),
        "key of a section": ("[source]", '‸ledger = "clinic.ledger"\n[source]'),
        "source missing": ("[source]", "‸[privacy.source]"),
        "not a table": ("[analysts.ana]", "[[‸analysts]]"),
    },
    "source": {
        "engine missing": ('[source]\nengine = "duckdb"', "[‸source]\n#"),
        "engine unknown": ('"duckdb" ', '‸"duckbd" '),
        "engine not text": ('"duckdb" ', "‸3 "),
        "unknown key": (FILES, f"‸file = 3\n{FILES}"),
        "both": (FILES, f'‸dsn = "postgresql://h/d"\n{FILES}'),
        "neither": ((FILES, ""), ("[source]", "[‸source]")),
        "dsn for duckdb": (FILES, '‸dsn = "postgresql://h/d"'),
        "files for postgres": (('engine = "duckdb"  ', 'engine = "postgres"  '), (FILES, f"‸{FILES}")),
        "files not text": ('"patient.parquet"', "‸3"),
        "files empty": ('"patient.parquet"', '‸""'),
        "no file in a list": ('"patient.parquet"', "‸[]"),
        "a number in a list": ('"patient.parquet"', '["a.csv",\n  ‸3]'),
        "one file for all": (FILES, 'files = ‸"patient.csv"'),
        "a database for one table": ('"patient.parquet"', '‸"clinic.duckdb"'),
        "two names by case": (FILES, 'files = { patient = "p.csv", ‸Patient = "q.csv" }'),
        "table without a file": ("[tables.region]", "[tables.‸other]"),
    },
    "data": {
        "id missing": ('[data]\nid = "clinic" ', "[‸data]\n#"),
        "id empty": ('id = "clinic" ', 'id = ‸"" '),
        "id with NUL": ('id = "clinic" ', 'id = ‸"a\\u0000" '),
        "id with a slash": ('id = "clinic" ', 'id = ‸"../clinic" '),
        "version is a date": ('version = "2024-11" ', "version = ‸2024-11-15 "),
        "unknown key": ('version = "2024-11" ', '‸versoin = "2024-11" '),
        "ledger not text": ('ledger = "clinic.ledger"', "ledger = ‸true"),
    },
    "privacy": {
        "epsilon missing": ("[privacy]\nepsilon = 4 ", "[‸privacy]\n#"),
        "epsilon zero": ("epsilon = 4 ", "epsilon = ‸0 "),
        "epsilon text": ("epsilon = 4 ", 'epsilon = ‸"4" '),
        "epsilon true": ("epsilon = 4 ", "epsilon = ‸true "),
        "epsilon nan": ("epsilon = 4 ", "epsilon = ‸nan "),
        "epsilon infinite": ("epsilon = 4 ", "epsilon = ‸inf "),
        "epsilon beyond decimals": ("epsilon = 4 ", "epsilon = ‸1e999999999999999999999 "),
        "epsilon of 4000 digits": ("epsilon = 4 ", "epsilon = ‸1e4000 "),
        "epsilon in hex": ("epsilon = 4 ", f"epsilon = ‸0x1{'0' * 4000} "),
        "epsilon below the least": ("epsilon = 4 ", "epsilon = ‸1e-7 "),
        "unknown key": ("query_delta", "‸query_dleta"),
        "unknown key, nothing near": (QUERY, f"‸speed = 3\n{QUERY}"),
        "delta one": ("delta = 1e-6 ", "delta = ‸1 "),
        "delta negative": ("delta = 1e-6 ", "delta = ‸-1e-6 "),
        "delta_selection above delta": privacy("delta_selection = ‸2e-6"),
        "query_delta above delta_selection": ("query_delta = 1e-8", "query_delta = ‸1e-3"),
        "query_epsilon above epsilon": privacy("query_epsilon = ‸4.5"),
        "query_epsilon below the least": privacy("query_epsilon = ‸0.1\nmin_epsilon = 0.2"),
        "default query_epsilon below the least": (privacy("min_epsilon = 0.2"), ("epsilon = 4 ", "epsilon = ‸4 ")),
        "adjacency": ('adjacency = "add-remove"', 'adjacency = ‸"add-delete"'),
        "composition": ('composition = "best"', 'composition = ‸"rdp"'),
        "zcdp without delta": (
            ("delta = 1e-6 ", "delta = 0 "),
            ("query_delta = 1e-8 ", "#"),
            ('composition = "best"', 'composition = ‸"zcdp"'),
        ),
        "timing": privacy('timing = ‸"pad"'),
        "failures": privacy("failures = ‸0"),
        "failures not whole": privacy("failures = ‸2.5"),
        "partition without a dot": privacy('partition = ‸"area"'),
        "partition of a column that is not": privacy('partition = ‸"patient.arae"'),
        "partition of a public table": (
            privacy('partition = ‸"region.area"'),
            ("public = true", 'public = true\ncolumns.area.values = ["north"]'),
        ),
        "partition of many rows": privacy('partition = ‸"visit.city"'),
    },
    "analysts": {
        "share above the total": ("epsilon = 1 ", "epsilon = ‸4.01 "),
        "share below the least": ("epsilon = 1 ", "epsilon = ‸1e-9 "),
        "share missing": ("[analysts.ana]\nepsilon = 1 ", "[analysts.‸ana]\n#"),
        "unknown key": ("epsilon = 1 ", "‸epsilom = 1 "),
        "not a section": ("[analysts.ana]\nepsilon = 1 ", "[analysts]\nana = ‸1 "),
        "two names by case": ("[tables.patient]\n", "[analysts.‸Ana]\nepsilon = 1\n[tables.patient]\n"),
        "the owner": ("[tables.patient]\n", "[analysts.‸owner]\nepsilon = 1\n[tables.patient]\n"),
        "a name that is empty": ("[tables.patient]\n", '[analysts.‸""]\nepsilon = 1\n[tables.patient]\n'),
        "a name with NUL": ("[tables.patient]\n", '[analysts.‸"a\\u0000"]\nepsilon = 1\n[tables.patient]\n'),
    },
    "tables": {
        "unknown key": ("rows_per_unit = 20 ", "‸rows_per_units = 20 "),
        "rows_per_unit missing": (
            '[tables.patient]\nunit = "ssn"\nrows_per_unit = 1\n',
            '[tables.‸patient]\nunit = "ssn"\n',
        ),
        "unit missing": ('[tables.patient]\nunit = "ssn"\n', "[tables.‸patient]\n"),
        "rows_per_unit zero": ("rows_per_unit = 20 ", "rows_per_unit = ‸0 "),
        "rows_per_unit a word": ("rows_per_unit = 20 ", 'rows_per_unit = ‸"many" '),
        "sum a word": (GROUPS, 'sum_per_unit = { cost = ‸"many" } '),
        "sums a word": (GROUPS, 'sum_per_unit = ‸"all" '),
        "sums of nothing": (
            (GROUPS, 'sum_per_unit = ‸"auto" '),
            ('cost = { type = "decimal", min = 0, max = 1000, grid = 0.01 }', 'cost = { type = "decimal" }'),
        ),
        "sum of too many steps": (
            (GROUPS, 'sum_per_unit = { ‸cost = "auto" } '),
            ("max = 1000, grid = 0.01 }", "max = 1e17, grid = 0.01 }"),
        ),
        "groups above rows": (GROUPS, "groups_per_unit = ‸21 "),
        "groups zero": (GROUPS, "groups_per_unit = ‸0 "),
        "l2 negative": (GROUPS, "l2_per_unit = ‸-1 "),
        "sum of a column that is not": (GROUPS, "sum_per_unit = { ‸csot = 5 } "),
        "sum of text": (GROUPS, "sum_per_unit = { cost = 5, ‸note = 5 } "),
        "sum without bounds": ((GROUPS, "sum_per_unit = { ‸w = 5 } "), (NOTE, 'w = { type = "decimal" }')),
        "sum of zero": (GROUPS, "sum_per_unit.cost = ‸0 "),
        "unit not listed": (UNIT, 'unit = ‸"patient_snn"  '),
        "unit a number": (UNIT, "unit = ‸3  "),
        "units of two types": (
            ('patient_ssn = { type = "text", max_length = 11 }', 'patient_ssn = { type = "integer" }'),
            (UNIT, 'unit = ‸"patient_ssn"  '),
        ),
        "unit is double": (('unit = "ssn"', 'unit = ‸"w"'), (AGE, 'w = { type = "double" }\nage = {')),
        "join to no table": (UNIT, 'unit = { join = ‸"pateint", on = "patient_ssn = ssn" }  '),
        "join to a public table": (UNIT, 'unit = { join = ‸"region", on = "patient_ssn = ssn" }  '),
        "join to itself": (UNIT, 'unit = { on = "patient_ssn = note", join = ‸"visit" }  '),
        "join without on": (UNIT, '‸unit = { join = "patient" }  '),
        "join with another key": (UNIT, 'unit = { join = "patient", ‸using = "ssn" }  '),
        "join on one name": (UNIT, 'unit = { join = "patient", on = ‸"ssn" }  '),
        "join on three names": (UNIT, 'unit = { join = "patient", on = ‸"a = b = c" }  '),
        "join on a column that is not": (UNIT, 'unit = { join = "patient", on = ‸"patient_id = ssn" }  '),
        "join on a key that is not": (UNIT, 'unit = { join = "patient", on = ‸"patient_ssn = id" }  '),
        "join turned around": (UNIT, 'unit = { join = "patient", on = ‸"ssn = patient_ssn" }  '),
        "join of two types": (UNIT, 'unit = { join = "patient", on = ‸"patient_ssn = age" }  '),
        "public with a unit": ("public = true", 'public = true\n‸unit = "area"'),
        "public with rows": ("public = true", "public = true\n‸rows_per_unit = 1"),
        "public a word": ("public = true", 'public = ‸"yes"'),
        "two names by case": ("[tables.region]", "[tables.‸Visit]\n[tables.region]"),
        "a list of tables": ("[tables.region]", "[[tables.‸region]]"),
        "columns not a table": ("public = true", "public = true\ncolumns = ‸[1, 2]"),
    },
    "columns": {
        "not a table": (NOTE, 'note = ‸"text"'),
        "unknown key": note('{ type = "text", ‸maxlength = 80 }'),
        "unknown type": note('{ type = ‸"string", max_length = 80 }'),
        "type missing in a text file": (NOTE, "‸note = { max_length = 80 }"),
        "two names by case": (NOTE, '‸Cost = { type = "integer" }'),
        "min above max": note('{ type = "integer", min = ‸5, max = 4 }'),
        "min alone": note('{ type = "integer", ‸min = 5 }'),
        "max alone": note('{ type = "integer", ‸max = 5 }'),
        "min not whole": note('{ type = "integer", min = ‸0.5, max = 4 }'),
        "max off the grid": note('{ type = "decimal", min = 0, max = ‸0.25, grid = 0.1 }'),
        "min in quotes": note('{ type = "date", min = ‸"2024-01-01", max = 2024-01-02 }'),
        "min true": note('{ type = "integer", min = ‸true, max = 4 }'),
        "max infinite": note('{ type = "double", min = 0, max = ‸inf, grid = 1 }'),
        "min nan": note('{ type = "double", min = ‸nan, max = 1, grid = 1 }'),
        "bounds of two kinds": note('{ type = "date", min = 2024-01-01, max = ‸4 }'),
        "dates for a number": note('{ type = "integer", min = ‸2024-01-01, max = 2024-01-02 }'),
        "numbers for a date": note('{ type = "date", min = ‸1, max = 2 }'),
        "dates for a timestamp": note('{ type = "timestamp", min = ‸2024-01-01, max = 2024-01-02 }'),
        "a moment before the year 1": note(
            '{ type = "timestamp", min = ‸0001-01-01T00:00:00+23:00, max = 2024-01-02T00:00:00 }'
        ),
        "bounds beyond 64 bits": note('{ type = "integer", min = 0, max = ‸9_223_372_036_854_775_808 }'),
        "too many steps": note('{ type = "decimal", min = 0, max = ‸1, grid = 1e-38 }'),
        "double without a grid": (NOTE, '‸note = { type = "double", min = 0, max = 1 }'),
        "grid zero": note('{ type = "decimal", min = 0, max = 1, grid = ‸0 }'),
        "grid without bounds": note('{ type = "decimal", ‸grid = 1 }'),
        "grid of integers": note('{ type = "integer", min = 0, max = 10, grid = ‸5 }'),
        "grid of dates": note('{ type = "date", min = 2024-01-01, max = 2024-01-02, grid = ‸7 }'),
        "grid below a microsecond": note("{ min = 2024-01-01T00:00:00, max = 2024-01-02T00:00:00, grid = ‸1e-7 }"),
        "bounds of text": note('{ type = "text", max_length = 5, ‸min = 0, max = 1 }'),
        "bounds of a boolean": note('{ type = "boolean", ‸min = 0, max = 1 }'),
        "text without max_length": (NOTE, '‸note = { type = "text" }'),
        "max_length of a number": note('{ type = "integer", ‸max_length = 5 }'),
        "max_length zero": note('{ type = "text", max_length = ‸0 }'),
        "nulls a word": note('{ type = "text", max_length = 80, nulls = ‸"no" }'),
        "values empty": note("{ values = ‸[] }"),
        "values not a list": note('{ values = ‸"a" }'),
        "values mixed": note('{ values = ["a", ‸1] }'),
        "values mixed, true and one": note("{ values = [1, ‸true] }"),
        "values twice": note('{ values = [\n  "a", # one\n  "b",\n  ‸"a",\n] }'),
        "values with decimals": note("{ values = [‸0.5] }"),
        "values with NUL": note('{ values = [‸"a\\u0000"] }'),
        "values beyond 64 bits": note("{ values = [‸9_223_372_036_854_775_808] }"),
        "values of another type": note('{ values = ["a"], type = ‸"integer" }'),
        "values and bounds": note("{ values = [1], ‸min = 0, max = 1 }"),
        "values longer than max_length": note('{ values = ["a", ‸"abc"], max_length = 2 }'),
        "values of numbers with max_length": note("{ values = [1], ‸max_length = 2 }"),
        "a list in a list": note("{ values = [‸[1]] }"),
    },
}
