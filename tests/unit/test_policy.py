"""Examples of the policy: the sample parses to what it says; defaults, types, versions, digests, documents, files."""

import re
import tomllib
from dataclasses import FrozenInstanceError
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato.cli.clinic import POLICY as CLINIC
from sfumato.errors import PolicyError
from sfumato.policy import (
    AUTO,
    TYPES,
    Data,
    DataSource,
    PolicyColumn,
    Privacy,
    Share,
    Table,
    UnitJoin,
    from_dict,
    load,
    parse,
    with_types,
)
from sfumato.types import Adjacency
from tests.unit.policy_sample import EXAMPLE, HOME, JOINED, SMALL, document, edited

# --- what a policy says -------------------------------------------------------------------------------------------


def test_the_sample_says_what_it_says():
    policy = parse(EXAMPLE, HOME)
    assert policy.path == Path(HOME)
    files = {name: f"/srv/clinic/{name}.{end}" for name, end in (("patient", "parquet"), ("visit", "csv"))}
    assert policy.source == DataSource("duckdb", files | {"region": "/srv/clinic/region.csv"}, None)
    assert policy.data == Data("clinic", "2024-11", "/srv/clinic/clinic.ledger", None, "/srv/clinic/.sfumato")
    assert policy.privacy == Privacy(
        epsilon=Fraction(4),
        delta=Fraction(1, 10**6),
        delta_selection=Fraction(1, 2 * 10**6),
        adjacency=Adjacency.ADD_REMOVE,
        composition="best",
        query_epsilon=Fraction(1, 10),
        query_delta=Fraction(1, 10**8),
        min_epsilon=Fraction(1, 10**6),
        timing="plain",
        failures=3,
        partition=None,
    )
    assert policy.analysts == {"ana": Share("ana", Fraction(1))}
    one = Fraction(1)
    patient = {
        "ssn": PolicyColumn("ssn", "text", max_length=11),
        "age": PolicyColumn("age", "integer", 0, 120, one),
        "disease": PolicyColumn("disease", "text", values=("Cold", "Flu", "Asthma", "Diabetes", "Migraine")),
        "salary": PolicyColumn("salary", "decimal", Fraction(0), Fraction(200_000), one),
        "zipcode": PolicyColumn("zipcode", "integer", 75000, 75999, one),
        "admitted": PolicyColumn("admitted", "date", date(2015, 1, 1), date(2030, 12, 31), one),
        "area": PolicyColumn("area", "text", values=("north", "east", "south", "west")),
        "street": PolicyColumn("street", "text", max_length=40),
    }
    visit = {
        "patient_ssn": PolicyColumn("patient_ssn", "text", max_length=11),
        "cost": PolicyColumn("cost", "decimal", Fraction(0), Fraction(1000), Fraction(1, 100)),
        "day": PolicyColumn("day", "date", date(2023, 1, 1), date(2025, 12, 31), one),
        "city": PolicyColumn("city", "text", values=("Paris", "Lyon", "Nice")),
        "note": PolicyColumn("note", "text", max_length=80),
    }
    assert policy.tables == {
        "patient": Table("patient", False, "ssn", 1, 1, one, {}, patient),
        "visit": Table("visit", False, "patient_ssn", 20, 5, Fraction(20), {}, visit),
        "region": Table("region", True, None, None, 1, one, {}, {}),
    }
    assert list(policy.tables["patient"].columns) == list(patient)
    assert all(type(value) is int for value in (patient["age"].low, policy.tables["patient"].columns["age"].low))


def test_the_policy_of_the_demo_is_a_policy():
    assert set(parse(CLINIC, HOME).tables) == {"patient", "visit", "region"}


def test_defaults():
    policy = parse(SMALL, HOME)
    assert policy.source == DataSource("duckdb", "/srv/clinic/clinic.duckdb", None)
    assert policy.data == Data("clinic", "1", "/srv/clinic/clinic.ledger", None, "/srv/clinic/.sfumato")
    assert policy.privacy == Privacy(
        epsilon=Fraction(2),
        delta=Fraction(0),
        delta_selection=Fraction(0),
        adjacency=Adjacency.ADD_REMOVE,
        composition="pure",
        query_epsilon=Fraction(1, 20),
        query_delta=Fraction(0),
        min_epsilon=Fraction(1, 10**6),
        timing="plain",
        failures=3,
        partition=None,
    )
    assert policy.analysts == {}
    column = PolicyColumn("id", "integer", None, None, Fraction(1), None, None, True)
    assert policy.tables["person"] == Table("person", False, "id", 3, 3, Fraction(3), {}, {"id": column})


def test_delta_by_default_is_divided_once():
    privacy = parse(SMALL.replace("epsilon = 2", "epsilon = 2\ndelta = 1e-5")).privacy
    assert privacy.delta_selection == Fraction(1, 200_000)
    assert privacy.query_delta == Fraction(1, 10_000_000)
    assert privacy.composition == "best"


def test_what_the_sample_leaves_in_comments():
    policy = parse(
        edited(
            ('ledger = "clinic.ledger"', 'ledger = "postgresql://host/ledger"\nanchor = "/far/head"\nstate = "s"\n#'),
            ("query_epsilon = 0.1", 'query_epsilon = 0.1\ntiming = "padded"\nfailures = 5\npartition = "patient.area"'),
            ("groups_per_unit = 5 ", "l2_per_unit = 2.5\nsum_per_unit = { cost = 5000 } "),
        ),
        HOME,
    )
    assert policy.data == Data("clinic", "2024-11", "postgresql://host/ledger", "/far/head", "/srv/clinic/s")
    privacy, visit = policy.privacy, policy.tables["visit"]
    assert (privacy.timing, privacy.failures, privacy.partition) == ("padded", 5, ("patient", "area"))
    assert (visit.groups_per_unit, visit.l2_per_unit) == (20, Fraction(5, 2))
    assert visit.sum_per_unit == {"cost": Fraction(5000)}


def test_a_dsn_for_postgres():
    text = SMALL.replace('engine = "duckdb"\nfiles = "clinic.duckdb"', 'engine = "postgres"\ndsn = "postgresql://h/d"')
    assert parse(text, HOME).source == DataSource("postgres", None, "postgresql://h/d")


def test_files_may_be_lists_globs_and_addresses():
    files = 'files = { person = ["a/*.parquet", "/abs/b.parquet", "s3://bucket/c.parquet"] }'
    source = parse(SMALL.replace('files = "clinic.duckdb"', files), HOME).source
    assert source.files == {"person": ("/srv/clinic/a/*.parquet", "/abs/b.parquet", "s3://bucket/c.parquet")}


def test_without_a_path_everything_stays_as_written():
    assert parse(SMALL).source.files == "clinic.duckdb"
    assert parse(SMALL).path is None


def test_a_unit_behind_a_join():
    assert parse(JOINED).tables["visit"].unit == UnitJoin("patient", "patient_ssn", "street")


def test_a_chain_of_joins_that_ends():
    tables = from_dict(
        document(
            tables={
                "a": {"unit": {"join": "b", "on": "x = y"}, "rows_per_unit": 1, "columns": {"x": {"type": "integer"}}},
                "b": {"unit": {"join": "c", "on": "y = z"}, "rows_per_unit": 1, "columns": {"y": {"type": "integer"}}},
                "c": {"unit": "z", "rows_per_unit": 1, "columns": {"z": {"type": "integer"}}},
            }
        )
    ).tables
    assert tables["a"].unit == UnitJoin("b", "x", "y")


def test_rows_per_unit_auto():
    text = edited(
        ("rows_per_unit = 20 ", 'rows_per_unit = "auto"\nl2_per_unit = 7 '),
        ("groups_per_unit = 5", "groups_per_unit = 50"),
    )
    visit = parse(text).tables["visit"]
    assert (visit.rows_per_unit, visit.groups_per_unit, visit.l2_per_unit) == (AUTO, 50, 7)


def column(text, files='"t.csv"'):
    """The Column x that these words declare."""
    return (
        parse(
            f'source = {{ engine = "duckdb", files = {{ t = {files} }} }}\ndata.id = "d"\nprivacy.epsilon = 1\n'
            f'[tables.t]\nunit = "id"\nrows_per_unit = 1\ncolumns.id.type = "integer"\ncolumns.x = {text}'
        )
        .tables["t"]
        .columns["x"]
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{ type = "decimal", min = 0, max = 5 }', Fraction(1)),
        ('{ type = "decimal", min = 0, max = 500 }', Fraction(1)),
        ('{ type = "decimal", min = -0.5, max = 1.25 }', Fraction(1, 100)),
        ('{ type = "decimal", min = 0, max = 1.10 }', Fraction(1, 10)),
        ('{ type = "decimal", min = 0, max = 1, grid = 0.25 }', Fraction(1, 4)),
        ('{ type = "double", min = 0, max = 1, grid = 0.001 }', Fraction(1, 1000)),
        ('{ type = "integer", min = 0, max = 9, grid = 1 }', Fraction(1)),
        ('{ type = "decimal" }', None),
        ('{ type = "double" }', None),
        ('{ type = "date" }', Fraction(1)),
        ('{ type = "timestamp" }', Fraction(1, 10**6)),
        ("{ type = 'timestamp', min = 2024-01-01T00:00:00, max = 2024-01-02T00:00:00, grid = 60 }", Fraction(60)),
        ('{ type = "boolean" }', None),
        ("{ values = [3, 1, 2] }", Fraction(1)),
    ],
)
def test_the_grid_of_a_column(text, expected):
    assert column(text).grid == expected


def test_moments_are_naive_and_in_utc():
    x = column('{ type = "timestamp", min = 2024-01-01T00:30:00+02:00, max = 2024-01-02T12:00:00.5 }')
    assert (x.low, x.high) == (datetime(2023, 12, 31, 22, 30), datetime(2024, 1, 2, 12, 0, 0, 500_000))  # noqa: DTZ001  so they are


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        ('["b", "a"]', "text", ("b", "a")),
        ("[3, 1]", "integer", (3, 1)),
        ("[true, false]", "boolean", (True, False)),
        ('[""]', "text", ("",)),
    ],
)
def test_values_imply_their_type(text, kind, values):
    x = column(f"{{ values = {text}, nulls = false }}")
    assert (x.type, x.values, x.nulls) == (kind, values, False)
    assert [type(value) for value in x.values] == [type(value) for value in values]


def test_the_longest_list_of_values():
    many = document()
    many["tables"]["t"]["columns"]["x"] = {"values": list(range(1_000_000))}
    assert len(from_dict(many).tables["t"].columns["x"].values) == 1_000_000
    many["tables"]["t"]["columns"]["x"] = {"values": list(range(1_000_001))}
    with pytest.raises(PolicyError, match="at most 1,000,000 values, but has 1,000,001"):
        from_dict(many)


def test_bounds_may_meet():
    assert column('{ type = "integer", min = 3, max = 3 }').high == 3


def test_a_policy_cannot_be_changed():
    policy = parse(SMALL)
    for record in (policy, policy.source, policy.data, policy.privacy, policy.tables["person"]):
        with pytest.raises(FrozenInstanceError):
            setattr(record, next(iter(record.__dataclass_fields__)), None)


# --- types that a schema gives ------------------------------------------------------------------------------------


def test_parquet_and_databases_may_leave_types_to_the_schema():
    x = column("{ min = 0, max = 9 }", '"t.parquet"')
    assert (x.type, x.low, x.high, x.grid) == (None, 0, 9, None)
    assert column("{ min = 2024-01-01, max = 2024-02-01 }", '"t.csv"').type == "date"
    for files in ('"t.csv"', '["a.parquet", "t.csv.gz"]'):
        with pytest.raises(PolicyError, match=r"\[tables\.t\.columns\.x\] has no type"):
            column("{ min = 0, max = 9 }", files)


UNTYPED = {
    "t": {"unit": "id", "rows_per_unit": 1, "columns": {"id": {}, "x": {"min": 0, "max": 9}, "d": {"type": "decimal"}}},
    "u": {"unit": "id", "rows_per_unit": 1, "columns": {"id": {"type": "integer"}}},
}


def test_a_schema_fills_in_types_and_nothing_else():
    policy = from_dict(document(tables=UNTYPED))
    typed = with_types(policy, {"t": {"id": "integer", "x": "integer", "d": "text", "other": "text"}, "else": {}})
    columns = typed.tables["t"].columns
    assert (columns["x"].type, columns["x"].grid, type(columns["x"].low)) == ("integer", 1, int)
    assert columns["d"].type == "decimal"
    written = {
        **UNTYPED,
        "t": {
            **UNTYPED["t"],
            "columns": {
                "id": {"type": "integer"},
                "d": {"type": "decimal"},
                "x": {"type": "integer", "min": 0, "max": 9},
            },
        },
    }
    assert typed.digest == from_dict(document(tables=written)).digest != policy.digest


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ({"id": "text"}, "[tables.t.columns.id] is text and has no max_length"),
        ({"id": "date"}, "unit in [tables.u] is integer, but the unit of [tables.t] is date"),
        ({"x": "date"}, "min in [tables.t.columns.x] must be a date, but is a number"),
        ({"x": "double"}, "[tables.t.columns.x] is double with bounds and has no grid"),
        ({"x": "uuid"}, f'type of [tables.t.columns.x] must be one of {", ".join(TYPES)}, but is "uuid"'),
    ],
)
def test_a_schema_that_does_not_fit_is_refused(types, message):
    with pytest.raises(PolicyError) as caught:
        with_types(from_dict(document(tables=UNTYPED)), {"t": types})
    assert caught.value.message == message


def units(*columns):
    """A policy of tables a, b, …, whose unit columns are declared like this."""
    tables = {
        name: {"unit": "id", "rows_per_unit": 1, "columns": {"id": c}} for name, c in zip("abc", columns, strict=False)
    }
    return from_dict(document(tables=tables))


ONE_DOMAIN = {
    "lengths": ([{"type": "text", "max_length": 9}, {"type": "text", "max_length": 3}], (None, None, None, 3)),
    "bounds": ([{"type": "integer", "min": 1, "max": 9}, {"type": "integer", "min": 0, "max": 5}], (1, 5, None, None)),
    "none and some": ([{"type": "integer"}, {"type": "integer", "min": 0, "max": 5}], (0, 5, None, None)),
    "a list and bounds": (
        [{"type": "integer", "min": 2, "max": 9}, {"values": [5, 1, 3]}, {"values": [3, 5, 8]}],
        (None, None, (5, 3), None),
    ),
    "a list and a length": (
        [{"values": ["ab", "c", "d"]}, {"type": "text", "max_length": 1}],
        (None, None, ("c", "d"), 1),
    ),
    "days": (
        [{"min": date(2020, 1, 1), "max": date(2021, 1, 1)}, {"min": date(2020, 6, 1), "max": date(2022, 1, 1)}],
        (date(2020, 6, 1), date(2021, 1, 1), None, None),
    ),
    "decimals": (
        [{"type": "decimal"}, {"type": "decimal", "min": 0, "max": 9, "grid": Decimal("0.5")}],
        (0, 9, None, None),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ONE_DOMAIN)
def test_identifiers_have_one_domain_in_all_tables(case):
    """Whatever the order of the tables; each keeps its name and what it says of NULL."""
    given, shared = ONE_DOMAIN[case]
    for columns in (given, given[::-1]):
        settled = [table.columns["id"] for table in units(*columns).tables.values()]
        assert len({column.domain for column in settled}) == 1
        column = settled[0]
        values = column.values and tuple(value for value in (shared[2] or ()) if value in column.values)
        assert (column.low, column.high, values, column.max_length) == shared
        assert len(column.values or ()) == len(shared[2] or ())
    some = {"type": "integer", "min": 0, "max": 5, "nulls": False}
    assert [t.columns["id"].nulls for t in units({"type": "integer"}, some).tables.values()] == [True, False]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            [{"type": "integer", "min": 0, "max": 4}, {"type": "integer", "min": 5, "max": 9}],
            "unit in [tables.b] has no value in common with other unit columns, which identify the same people",
        ),
        (
            [{"values": ["a"]}, {"values": ["b"]}],
            "unit in [tables.b] has no value in common with other unit columns, which identify the same people",
        ),
        (
            [{"min": 0, "max": 4, "type": "decimal", "grid": grid} for grid in (1, Decimal("0.5"))],
            "unit in [tables.b] has another grid than other unit columns",
        ),
    ],
)
def test_identifiers_without_a_common_domain_are_refused(columns, message):
    with pytest.raises(PolicyError) as caught:
        units(*columns)
    assert caught.value.message == message


def test_identifiers_whose_types_a_schema_gives_have_one_domain():
    tables = {
        "a": {"unit": "id", "rows_per_unit": 1, "columns": {"id": {"max_length": 5}}},
        "b": {"unit": "id", "rows_per_unit": 1, "columns": {"id": {"type": "text", "max_length": 3}}},
    }
    policy = from_dict(document(tables=tables))
    assert [table.columns["id"].max_length for table in policy.tables.values()] == [5, 3]
    typed = with_types(policy, {"a": {"id": "text"}})
    assert [table.columns["id"].max_length for table in typed.tables.values()] == [3, 3]


def test_a_sum_of_a_column_that_turns_out_not_to_be_a_number():
    tables = {"t": {**UNTYPED["t"], "sum_per_unit": {"s": 5}, "columns": {"id": {}, "s": {"min": 0, "max": 9}}}}
    policy = from_dict(document(tables=tables))
    assert with_types(policy, {"t": {"s": "integer"}}).tables["t"].sum_per_unit == {"s": 5}
    tables["t"]["columns"]["s"] = {"min": date(2024, 1, 1), "max": date(2024, 1, 2)}
    with pytest.raises(PolicyError, match="is date and cannot be summed"):
        from_dict(document(tables=tables))


# --- versions and digest ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "expected"),
    [("2024-11", "2024-11"), ("daily", "2024-11-30"), ("monthly", "2024-11"), ("Daily", "Daily")],
)
def test_the_calendar_names_a_version_in_utc(version, expected):
    policy = parse(edited(('version = "2024-11"', f'version = "{version}"')))
    late = datetime(2024, 12, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert policy.version_at(late) == expected
    assert policy.version_at(datetime(2024, 11, 30, 23, 30)) == expected  # noqa: DTZ001  naive means UTC
    assert policy.version_at(datetime(2024, 11, 30, tzinfo=UTC)) == expected


SAME = {
    "a comment": ("epsilon = 4 ", "epsilon = 4 # more words"),
    "spacing": ('unit = "ssn"', "\n\n  unit\t=   'ssn'"),
    "digits": ("query_epsilon = 0.1", "query_epsilon = 0.10"),
    "an exponent": ("delta = 1e-6", "delta = 0.000_001"),
    "a default written down": (
        "query_epsilon = 0.1",
        "min_epsilon = 1e-6\ndelta_selection = 5e-7\nquery_epsilon = 0.1",
    ),
    "a default of a table": ("groups_per_unit = 5 ", "l2_per_unit = 20.0\nsum_per_unit = {}\ngroups_per_unit = 5 "),
    "a default of a column": ("max_length = 40", "max_length = 40, nulls = true"),
    "a default left out": (", grid = 1 }", " }"),
    "the order of keys": ('type = "text", max_length = 40', 'max_length = 40, type = "text"'),
    "the order of sections": (
        "[analysts.ana]\nepsilon = 1 ",
        "[tables.region]\npublic=true\n[analysts.ana]\nepsilon = 1 ",
    ),
    "a path": ('"patient.parquet"', '"elsewhere.parquet"'),
    "the ledger": ('"clinic.ledger"', '"other.ledger"'),
    "a version": ('"2024-11" ', '"2024-12" '),
    "a share": ("epsilon = 1 ", "epsilon = 2 "),
    "epsilon": ("epsilon = 4", "epsilon = 5"),
    "delta": ("delta = 1e-6", "delta = 2e-6"),
    "composition": ('composition = "best"', 'composition = "pure"'),
    "query_epsilon": ("query_epsilon = 0.1", "query_epsilon = 0.2"),
    "query_delta": ("query_delta = 1e-8", "query_delta = 2e-8"),
    "min_epsilon": ("query_epsilon = 0.1", "query_epsilon = 0.1\nmin_epsilon = 0.01"),
    "timing": ("query_epsilon = 0.1", 'query_epsilon = 0.1\ntiming = "padded"\nfailures = 9'),
}
OTHER = {
    "id": ('id = "clinic"', 'id = "clinic2"'),
    "adjacency": ('"add-remove" ', '"replace" '),
    "partition": ("query_epsilon = 0.1", 'query_epsilon = 0.1\npartition = "patient.area"'),
    "unit": ('unit = "ssn"', 'unit = "street"'),
    "unit join": ('unit = "patient_ssn"  ', 'unit = { join = "patient", on = "patient_ssn = ssn" }  '),
    "rows_per_unit": ("rows_per_unit = 20 ", "rows_per_unit = 21 "),
    "groups_per_unit": ("groups_per_unit = 5 ", "groups_per_unit = 6 "),
    "l2_per_unit": ("groups_per_unit = 5 ", "l2_per_unit = 5\ngroups_per_unit = 5 "),
    "sum_per_unit": ("groups_per_unit = 5 ", "sum_per_unit = { cost = 5000 }\ngroups_per_unit = 5 "),
    "public": ("public = true", 'unit = "r"\nrows_per_unit = 1\ncolumns.r = { type = "text", max_length = 11 }'),
    "a column": ("note = ", "remark = "),
    "type": ('age      = { type = "integer"', 'age      = { type = "decimal"'),
    "min": ("min = 75000", "min = 75001"),
    "max": ("max = 120", "max = 121"),
    "a date": ("2015-01-01", "2015-01-02"),
    "grid": ("grid = 0.01", "grid = 0.1"),
    "values": ('"Nice"', '"Nîmes"'),
    "the order of values": ('"Paris", "Lyon"', '"Lyon", "Paris"'),
    "max_length": ("max_length = 80", "max_length = 81"),
    "nulls": ("max_length = 80", "max_length = 80, nulls = false"),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_meaning_has_one_digest(name):
    text = edited(SAME[name])
    if name == "the order of sections":
        text = text.removesuffix("\n[tables.region]\npublic = true\n")
    assert parse(text, "/else/where.toml").digest == parse(EXAMPLE, HOME).digest


@pytest.mark.parametrize("name", OTHER)
def test_another_meaning_has_another_digest(name):
    assert parse(edited(OTHER[name])).digest != parse(EXAMPLE).digest


def test_digests_of_different_meanings_differ_from_each_other():
    digests = {parse(edited(edit)).digest for edit in OTHER.values()}
    assert len(digests) == len(OTHER)
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests)


def test_the_digest_of_the_sample_stays():
    """Stored answers are found by it: a change of the form is a new format number, and people pay again."""
    assert parse(EXAMPLE).digest == "936048228a9a8236439eea534b32da5e856725e47e828e911399e620dd522681"


# --- documents made in Python -------------------------------------------------------------------------------------


def test_a_document_from_python_is_the_same_policy():
    assert from_dict(tomllib.loads(EXAMPLE), HOME) == parse(EXAMPLE, HOME)  # floats by their repr


def test_numbers_from_python():
    for epsilon in (0.1, Decimal("0.1"), Fraction(1, 10)):
        assert from_dict(document(privacy={"epsilon": epsilon})).privacy.epsilon == Fraction(1, 10)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "a policy must be a dict, but is list"),
        (document(privacy={"epsilon": "4"}), "epsilon in [privacy] must be a number, but is text"),
        (document(privacy={"epsilon": None}), "epsilon in [privacy] must be a number, but is NoneType"),
        (document(privacy={"epsilon": 1, 7: 2}), 'unknown key "7" in [privacy]'),
        (document(analysts={7: {}}), "a name in [analysts] must be non-empty text without NUL"),
        (
            document(privacy={"epsilon": float("inf")}),
            "epsilon in [privacy] must be a finite number of at most 120 digits",
        ),
        (document(privacy={"epsilon": 10**130}), "epsilon in [privacy] has too many digits"),
    ],
)
def test_mistakes_in_python_have_no_place(given, message):
    with pytest.raises(PolicyError) as caught:
        from_dict(given)
    assert (caught.value.message, caught.value.detail, caught.value.position) == (message, None, None)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": 1}, 'unknown key "epsilon"'),
        ({"intervals": "yes"}, 'must be one of "on", "off"'),
        ({"confidence": 95}, "must be between 0 and 1"),
        ({"noise": "none"}, "must be one of"),
    ],
)
def test_settings_of_an_analyst_are_checked(settings, message):
    with pytest.raises(PolicyError, match=message):
        from_dict(document(analysts={"ana": {"epsilon": 1, "settings": settings}}))


def test_settings_of_an_analyst_change_no_digest():
    plain, given = ({"epsilon": 1}, {"epsilon": 1, "settings": {"intervals": "on", "confidence": 0.9}})
    one, other = (from_dict(document(analysts={"ana": share})) for share in (plain, given))
    assert other.analysts["ana"].settings == (("sfumato.intervals", "on"), ("sfumato.confidence", "0.9"))
    assert one.digest == other.digest


def test_bounds_without_a_last_decimal():
    tables = document()["tables"]
    tables["t"]["columns"]["x"] = {"type": "decimal", "min": 0, "max": Fraction(1, 3)}
    with pytest.raises(PolicyError, match="is not a finite decimal"):
        from_dict(document(tables=tables))
    tables["t"]["columns"]["x"]["grid"] = Fraction(1, 3)
    assert from_dict(document(tables=tables)).tables["t"].columns["x"].high == Fraction(1, 3)


# --- files --------------------------------------------------------------------------------------------------------


def test_load_reads_a_file_and_resolves_from_its_folder(tmp_path, monkeypatch):
    (tmp_path / "here.toml").write_text(EXAMPLE, encoding="utf-8-sig")  # some editors begin with a byte order mark
    monkeypatch.chdir(tmp_path)
    policy = load("here.toml")
    assert policy.source.files["visit"] == str(tmp_path / "visit.csv")
    assert policy.path == tmp_path / "here.toml"
    assert policy == parse(EXAMPLE, tmp_path / "here.toml")


def test_load_says_what_is_wrong_with_a_file(tmp_path):
    with pytest.raises(PolicyError, match="cannot read the policy"):
        load(tmp_path / "nothing.toml")
    with pytest.raises(PolicyError, match="cannot read the policy"):
        load("a\0b")
    (tmp_path / "latin.toml").write_bytes('[data]\nid = "Z\u00fcrich"\n'.encode("latin-1"))
    with pytest.raises(PolicyError, match="the policy is not UTF-8") as caught:
        load(tmp_path / "latin.toml")
    assert caught.value.detail == "latin.toml, line 2, column 8"
