"""`sfumato.protect`: types from the schema, columns and hide, bounds of many kinds, errors that name the argument."""

# ruff: noqa: DTZ001  a moment without a zone is UTC in a policy

from __future__ import annotations

import warnings
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import InputError, PolicyError

N = 400
FRAME = pd.DataFrame(
    {
        "id": range(N),
        "age": [i % 90 for i in range(N)],
        "cost": [i / 4 for i in range(N)],
        "smoker": [i % 4 == 0 for i in range(N)],
        "town": ["abcd"[i % 4] for i in range(N)],
        "seen": pd.Timestamp("2024-01-01T12:00") + pd.to_timedelta([i % 100 for i in range(N)], unit="D"),
        "born": pd.Series([date(2000, 1, 1 + i % 28) for i in range(N)], dtype=object),
    }
)
START, NOON = datetime(2024, 1, 1), datetime(2024, 12, 31, 12)
EXACT = {"epsilon": 10**6, "delta": 0.5}


def protect(frame=FRAME, **options):
    return sfumato.protect(frame, **({"unit": "id", "rows_per_unit": 1} | EXACT | options))


def ask(gate, sql):
    return gate.sql(sql, epsilon=10**4).rows


@pytest.mark.parametrize(
    "frame", [FRAME, pl.from_pandas(FRAME), pl.from_pandas(FRAME).to_arrow()], ids=["pandas", "polars", "arrow"]
)
def test_types_come_from_the_schema(frame):
    gate = protect(frame)
    kinds = {name: column.type for name, column in gate.policy.tables["data"].columns.items()}
    born = "text" if isinstance(frame, pd.DataFrame) else "date"  # what objects are is not read off the rows
    want = {
        "id": "integer",
        "age": "integer",
        "cost": "double",
        "smoker": "boolean",
        "town": "text",
        "seen": "timestamp",
    }
    assert kinds == want | {"born": born}
    assert ask(gate, "SELECT COUNT(*) FROM data WHERE id >= 300") == [(100,)]  # a number is compared as a number
    assert ask(gate, "SELECT COUNT(*) FROM data WHERE smoker AND town = 'a'") == [(100,)]
    assert ask(gate, "SELECT COUNT(*) FROM data WHERE cost < 25") == [(100,)]
    assert dict(ask(gate, "SELECT smoker, COUNT(*) FROM data GROUP BY smoker"))[True] == 100
    assert dict(ask(gate, "SELECT town, COUNT(*) FROM data GROUP BY town")) == dict.fromkeys("abcd", 100)


MOMENT, DAY, CENTS = datetime(2024, 1, 1, 10), date(2024, 1, 1), Decimal("1.50")
TYPED = {
    **{
        f"category of {name}": (pd.CategoricalDtype(pd.array(known, dtype=name)), known[:1], [known[1], None])
        for name, known in {
            "int64": [2**60 + 1, 2**60 + 2],
            "int8": [1, 2],
            "Int64": [1, 2],
            "float64": [1.0, 2.5],
            "boolean": [True, False],
            "string": ["1", "x"],
            "datetime64[us]": [MOMENT, datetime(1700, 1, 1)],
        }.items()
    },
    "category of objects": (pd.CategoricalDtype([1, "x", DAY]), [1], ["x", DAY, None]),
    "object": (np.dtype(object), [1], ["x", 2.5, DAY, b"x", [1], CENTS, float("nan"), 2**100, pd.NaT, pd.NA, None]),
    "Int64": (pd.Int64Dtype(), [1], [None, 2**62]),
    "float": (np.dtype("float32"), [1.5], [None, float("inf")]),
    "time": (np.dtype("datetime64[ns]"), [MOMENT], [None, datetime(1700, 1, 1)]),
    "numbers of Arrow": (pa.dictionary(pa.int32(), pa.int64()), [1], [2, None]),
    "texts of Arrow": (pa.dictionary(pa.int8(), pa.string()), ["x"], ["y", None]),
    "decimals of Arrow": (pa.decimal128(38, 5), [CENTS], [None, Decimal("9" * 30)]),
    "moments of Arrow": (pa.timestamp("ns"), [MOMENT], [None, datetime(1700, 1, 1)]),
    "large numbers of Arrow": (pa.uint64(), [1], [None, 2**64 - 1]),
    "categories of Polars": (pl.Categorical, ["x"], ["y", None]),
    "decimals of Polars": (pl.Decimal(20, 3), [CENTS], [None]),
}
"""Types, what others have, and what one person may have beside them."""


def frame_of(kind, values):
    if isinstance(kind, pa.DataType):
        return pa.table({"id": range(len(values)), "x": pa.array(values, kind)})
    if isinstance(kind, pl.datatypes.DataTypeClass | pl.DataType):
        return pl.DataFrame({"id": range(len(values)), "x": pl.Series(values, dtype=kind)})
    return pd.DataFrame({"id": np.arange(len(values)), "x": pd.Series(values, dtype=kind)})


@pytest.mark.parametrize("name", TYPED)
def test_no_value_of_a_frame_decides_its_types(name):
    """Declared types, and what others hold, are the same with one person and without; so are refusals."""
    kind, values, others = TYPED[name]
    asked = ("SELECT x, COUNT(*) FROM data GROUP BY x", "SELECT COUNT(*) FROM data WHERE x > 1")

    def seen(more):
        gate = protect(frame_of(kind, [*values, *more]))
        rows = gate._engine._private.execute("SELECT * FROM data ORDER BY id LIMIT 1").fetchall()
        return gate.policy.tables, repr(rows), [str(gate.explain(sql).refused) for sql in asked]

    alone = seen([])
    assert all(seen([other]) == alone for other in others)


def test_columns_and_hide_say_what_can_be_used():
    assert list(protect(columns=["town"], bounds={"age": (0, 120)}).policy.tables["data"].columns) == [
        "id",
        "age",
        "town",
    ]
    gate = protect(hide=["born", "town"])
    assert "town" not in gate.policy.tables["data"].columns
    refused = gate.explain("SELECT COUNT(*) FROM data WHERE town = 'a'").refused
    assert refused is not None
    assert "town" not in (refused.hint or "")


@pytest.mark.parametrize(
    ("column", "ends", "kind", "low", "high"),
    [
        ("age", (0, 120), "integer", 0, 120),
        ("age", (np.int64(0), np.int64(120)), "integer", 0, 120),
        ("age", (0.0, 120.0), "integer", 0, 120),
        ("seen", ("2024-01-01", "2024-12-31"), "date", date(2024, 1, 1), date(2024, 12, 31)),
        ("seen", (pd.Timestamp("2024-01-01"), pd.Timestamp("2024-12-31T12:00")), "timestamp", START, NOON),
        ("seen", ("2024-01-01T00:00", np.datetime64("2024-12-31T12:00")), "timestamp", START, NOON),
        ("born", ("2000-01-01", date(2000, 1, 31)), "date", date(2000, 1, 1), date(2000, 1, 31)),
        ("cost", (0, 100, 1), "integer", 0, 100),
        ("cost", (0, 100, "0.25"), "decimal", 0, 100),
    ],
)  # fmt: skip
def test_bounds_of_many_kinds(column, ends, kind, low, high):
    made = protect(bounds={column: ends}).policy.tables["data"].columns[column]
    assert (made.type, made.low, made.high) == (kind, low, high)


def test_days_of_objects_are_days():
    gate = protect(bounds={"born": ("2000-01-01", "2000-01-31")})
    assert ask(gate, "SELECT COUNT(*) FROM data WHERE born = DATE '2000-01-01'") == [(15,)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"unit": "nobody"}, 'unit: the frame has no column "nobody"'),
        ({"unit": "cost"}, 'unit: column "cost" is double'),
        ({"unit": "smoker"}, 'unit: column "smoker" is boolean'),
        ({"unit": 7}, "unit must be the name of a column, but is int"),
        ({"rows_per_unit": None}, "rows_per_unit is missing"),
        ({"epsilon": None}, "epsilon is missing"),
        ({"hide": "age"}, 'hide must be a list of columns, but is "age"'),
        ({"hide": ["ages"]}, 'hide: the frame has no column "ages"'),
        ({"hide": ["id"]}, 'column "id" is the unit and in hide'),
        ({"columns": ["ages"]}, 'columns: the frame has no column "ages"'),
        ({"bounds": {"ages": (0, 1)}}, 'bounds: the frame has no column "ages"'),
        ({"bounds": {"age": (0, 1)}, "hide": ["age"]}, 'column "age" is in bounds and in hide'),
        ({"bounds": {"age": (0, 1)}, "values": {"age": [1]}}, 'column "age" is in bounds and in values'),
        ({"bounds": {"age": 7}}, r'bounds\["age"\] must be \(low, high\)'),
        ({"bounds": {"age": (9, 1)}}, r'bounds\["age"\]: low 9 is above high 1'),
        ({"bounds": {"age": (0.5, 9)}}, r'bounds\["age"\] must be whole numbers'),
        ({"bounds": {"age": ("a", "b")}}, r'bounds\["age"\] must be a finite number'),
        ({"bounds": {"age": ("2024-01-01", "2024-01-02")}}, r'bounds\["age"\]: the column is integer'),
        ({"bounds": {"cost": (0, 9)}}, r'bounds\["cost"\]: a column of type double needs a grid'),
        ({"bounds": {"cost": (0, 9, -1)}}, r'bounds\["cost"\]: the grid must be above 0'),
        ({"bounds": {"seen": (0, 9)}}, r'bounds\["seen"\] must be two dates or two times'),
        (
            {"bounds": {"town": (0, 3)}},
            r'bounds\["town"\]: the column is text, which has no bounds(.|\n)*values=\{"town"',
        ),
        ({"bounds": {"smoker": (0, 1)}}, r'bounds\["smoker"\]: the column is boolean'),
        ({"values": {"town": "abcd"}}, r'values\["town"\] must be a list'),
        ({"values": {"town": [1, 2]}}, r'values\["town"\]: the column is text, but 1 is int'),
        ({"values": {"smoker": ["yes"]}}, r'values\["smoker"\]: the column is boolean'),
        ({"values": ["town"]}, "values must be a dict of columns"),
        ({"frame": [1, 2, 3]}, "frame: cannot read an object of type list"),
    ],
)
def test_an_error_names_the_argument(options, words):
    with pytest.raises(InputError, match=words):
        protect(**options)


def test_each_row_may_be_a_person():
    gate = sfumato.protect(FRAME, unit="row", epsilon=10**6, hide=["id"], bounds={"age": (0, 120)})
    assert ask(gate, "SELECT COUNT(*), SUM(age) FROM data") == [(N, int(FRAME["age"].sum()))]
    assert not any("left out" in text for _, text in gate.sql("SELECT COUNT(*) FROM data", epsilon=1).notes)
    with pytest.raises(PolicyError, match="must be 1"):
        protect(unit="row", rows_per_unit=2)
    with pytest.raises(InputError, match='the frame has a column "row"'):
        protect(FRAME.rename(columns={"age": "row"}), unit="row")


def test_a_column_that_no_query_reads_is_left_out_unless_it_is_named():
    lists = pd.Series([[1, 2]] * N, dtype=pd.ArrowDtype(pa.list_(pa.int64())))
    frame = FRAME.assign(many=lists)
    assert "many" not in protect(frame).policy.tables["data"].columns
    with pytest.raises(InputError, match='column "many" has a type that no query can read'):
        protect(frame, columns=["many"])


def test_a_ledger_in_memory_is_a_warning_at_the_callers_line(tmp_path):
    with pytest.warns(UserWarning, match="no ledger file: the budget is kept in memory") as caught:
        sfumato.protect(FRAME, unit="id", rows_per_unit=1, epsilon=1)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with sfumato.protect(FRAME, unit="id", rows_per_unit=1, epsilon=1, ledger=tmp_path / "a.ledger") as gate:
            gate.sql("SELECT COUNT(*) FROM data", epsilon=0.5)
        with sfumato.protect(FRAME, unit="id", rows_per_unit=1, epsilon=1, ledger=tmp_path / "a.ledger") as gate:
            assert gate.budget().spent.epsilon == 0.5


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": "a"}, "epsilon must be a number, but is text"),
        ({"epsilon": -1}, "epsilon must be above 0, but is -1"),
        ({"rows_per_unit": 0}, "rows_per_unit must be a whole number, at least 1, but is 0"),
        ({"composition": "sum"}, 'composition must be one of "pure", "zcdp", "best", but is "sum"'),
        ({"adjacency": "near"}, 'adjacency must be one of "add-remove", "replace", but is "near"'),
        ({"delta": 2}, "delta must be at least 0 and below 1, but is 2"),
    ],
)
def test_a_wrong_argument_is_named_as_the_caller_wrote_it(wrong, message):
    """There is no policy file here, so that an error must not send anybody to a section of one."""
    given = {"unit": "id", "rows_per_unit": 1, "epsilon": 1} | wrong
    with pytest.raises(PolicyError) as caught:
        sfumato.protect(pd.DataFrame({"id": [1], "age": [2]}), **given)
    assert caught.value.message == message
    assert "quotes" not in str(caught.value)
