"""What a row holds after loading follows from that row alone: not from others, nor from what a file says of them."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sfumato.engines import connect
from sfumato.engines.duckdb import DuckDB
from sfumato.engines.duckdb.frame_rows import as_read
from sfumato.engines.duckdb.stamp import stamp
from sfumato.engines.postgres.source import SourceColumn
from sfumato.engines.spark.source import SparkColumn
from sfumato.errors import InputError, PolicyError
from sfumato.gateway import open_policy, protect
from sfumato.policy import from_dict, with_schema
from sfumato.policy import load as load_policy

NAN, INF = float("nan"), float("inf")
NUMBERS = [NAN, NAN, NAN, 0.0, -0.0, 5.0, 6.25, 99.995, 100.0, 500.0, -500.0, INF, -INF, None, 1e300, 2.5, 3.5]
TEXTS = ["a", "b", "A", "", " a", None, "é", "nan", "5", "aaaaaaaaaaaaaaaa"]
KINDS = ["pyarrow", "polars", "duckdb parquet", "row groups", "csv", "jsonl", "database"]


def _rows(seed: int) -> list[dict[str, Any]]:
    r = random.Random(seed)
    return [
        {"u": i, "x": r.choice(NUMBERS), "f": r.choice(NUMBERS), "w": r.choice(NUMBERS), "t": r.choice(TEXTS)}
        for i in range(40)
    ]


def _policy(folder: Path, source: str, *, text: bool, nulls: bool = True) -> Path:
    place = folder / "sfumato.toml"
    place.write_text(
        f"""
[source]
engine = "duckdb"
{source}
[data]
id = "d"
[privacy]
epsilon = 1e12
query_epsilon = 1e9
[tables.p]
unit = "u"
rows_per_unit = 1
[tables.p.columns]
u = {{ {'type = "text", max_length = 9' if text else 'type = "integer"'} }}
x = {{ type = "decimal", min = 0, max = 100, grid = 0.01{"" if nulls else ", nulls = false"} }}
f = {{ type = "integer", min = 0, max = 100 }}
w = {{ type = "double" }}
t = {{ values = ["a", "b"] }}
""",
        encoding="utf-8",
    )
    return place


def _write(folder: Path, kind: str, rows: list[dict[str, Any]], *, nulls: bool = True) -> Path:
    """The rows in a file of this kind, and the policy that reads it."""
    schema = pa.schema([("u", pa.int64()), *((name, pa.float64()) for name in "xfw"), ("t", pa.string())])
    table = pa.Table.from_pylist(rows, schema=schema)
    place, source = folder / "p.parquet", "files = { p = 'p.parquet' }"
    if kind == "pyarrow":
        pq.write_table(table, place)
    elif kind == "row groups":
        pq.write_table(table, place, row_group_size=7)
    elif kind == "polars":
        pl.from_arrow(table).write_parquet(place)  # type: ignore[union-attr]
    elif kind == "duckdb parquet":
        _copy(table, place)
    elif kind == "database":
        source = f"files = '{folder / 'p.duckdb'}'"
        with duckdb.connect(str(folder / "p.duckdb")) as database:
            database.register("given", table)
            database.execute("CREATE TABLE p AS SELECT * FROM given")
    elif kind == "csv":
        source = "files = { p = 'p.csv' }"
        texts = [",".join("" if row[c] is None else str(row[c]) for c in "uxfwt") for row in rows]
        (folder / "p.csv").write_text("\n".join(["u,x,f,w,t", *texts, ""]), encoding="utf-8")
    else:
        source = "files = { p = 'p.jsonl' }"
        texts = [json.dumps({c: None if row[c] is None else str(row[c]) for c in "uxfwt"}) for row in rows]
        (folder / "p.jsonl").write_text("\n".join([*texts, ""]), encoding="utf-8")
    return _policy(folder, source, text=kind in ("csv", "jsonl"), nulls=nulls)


def _copy(table: pa.Table, place: Path) -> None:
    with duckdb.connect() as database:
        database.register("given", table)
        database.execute(f"COPY given TO '{place}' (FORMAT parquet)")


def _kept(place: Path) -> dict[str, tuple[str, ...]]:
    """The rows as an engine keeps them, by unit, each value as it is written."""
    policy = load_policy(place)
    engine: Any = connect(policy, later=True)
    try:
        policy = with_schema(policy, {name: engine.schema(table) for name, table in policy.tables.items()})
        engine.keep(policy, list(policy.tables))
        found = engine._private.execute('SELECT "#person", x, f, w, t FROM p').fetchall()
    finally:
        engine.close()
    return {str(row[0]): tuple(map(str, row[1:])) for row in found}


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_is_loaded_as_if_it_were_alone(kind: str, tmp_path: Path) -> None:
    """Any part of the rows, down to one of them, is loaded as the same values."""
    r, rows = random.Random(7), _rows(KINDS.index(kind))
    parts = [rows, *(r.sample(rows, count) for count in (1, 1, 2, 2, 3, 5, 9, 20))]
    whole: dict[str, tuple[str, ...]] = {}
    for number, part in enumerate(parts):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = _kept(_write(folder, kind, part))
        whole = whole or found
        assert found == {str(row["u"]): whole[str(row["u"])] for row in part}
    assert not any("nan" in row[:3] for row in whole.values())


@pytest.mark.parametrize("nulls", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_nan_in_a_file_is_missing_whatever_others_hold(kind: str, nulls: bool, tmp_path: Path) -> None:
    """Three hundred people without a number: who joins them changes their count by one.

    Parquet files state the least and the largest number of a column without NaN. DuckDB concluded that a column had no
    NaN where they differ: with one person of 500, all 300 had the number 100.
    """
    nobody = [{"u": i, "x": NAN, "f": NAN, "w": NAN, "t": "a"} for i in range(300)]
    one = {"u": 1000, "x": 5.0, "f": 5.0, "w": 5.0, "t": "a"}
    for number, others in enumerate(([], [one], [one, one | {"u": 1001, "x": 500.0, "f": 500.0, "w": 500.0}])):
        folder = tmp_path / str(number)
        folder.mkdir()
        with open_policy(_write(folder, kind, [*nobody, *others], nulls=nulls)) as gate:
            answer = gate.sql("SELECT COUNT(x), COUNT(f), COUNT(w), SUM(x), COUNT(*) FROM p")
        count = len(others)
        expected = (count, count, count, [0, 5, 105][count], count + (300 if nulls else 0))
        assert tuple(map(int, answer.rows[0])) == expected


@pytest.mark.parametrize("other", ["x", 3, 2.5, None, True, b"a", [1], 2**70, pd.Timestamp("2024-01-01")])
def test_an_object_of_a_frame_does_not_change_what_others_hold(other: object) -> None:
    """DuckDB looks at the objects of a pandas column for the type of all of them: numbers then round in another way."""
    people = pd.DataFrame({"id": range(101), "x": pd.Series([2.5] * 100 + [None], dtype=object)})
    joined = people.assign(x=pd.Series([2.5] * 100 + [other], dtype=object))
    sums = []
    for frame in (people, joined):
        with protect(frame, unit="id", rows_per_unit=1, epsilon=1e12, bounds={"x": (0, 10)}) as gate:
            sums.append(int(gate.sql("SELECT SUM(x) FROM data", epsilon=1e9).rows[0][0]))
    assert 0 <= sums[1] - sums[0] <= 10


def test_types_of_a_frame_that_are_its_own_stay() -> None:
    """Only columns of Python objects become text."""
    frame = pd.DataFrame({"id": ["a", "b"], "x": [1.5, 2.25], "d": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    source = {"engine": "duckdb", "files": {"p": ":memory:"}}
    columns = {"id": {"type": "text", "max_length": 3}, "x": {}, "d": {}}
    document = {"source": source, "data": {"id": "d"}, "privacy": {"epsilon": 1}}
    document |= {"tables": {"p": {"unit": "id", "rows_per_unit": 1, "columns": columns}}}
    policy = from_dict(document)
    engine = connect(policy, {"p": frame})
    try:
        assert engine.schema(policy.tables["p"]) == {"id": "text", "x": "double", "d": "timestamp"}
    finally:
        engine.close()


def test_each_table_has_its_own_frame() -> None:
    """Also where frames are read after all of them were registered."""
    columns = {"u": {"type": "integer"}, "x": {"type": "integer", "min": 0, "max": 9}}
    document = {
        "source": {"engine": "duckdb", "files": {"a": "a.csv", "b": "b.csv"}},
        "data": {"id": "d"},
        "privacy": {"epsilon": 1},
        "tables": {name: {"unit": "u", "rows_per_unit": 1, "columns": columns} for name in "ab"},
    }
    policy = from_dict(document)
    frames = {"a": pd.DataFrame({"u": [1], "x": [1]}), "b": pd.DataFrame({"u": [1], "x": [2]})}
    engine = DuckDB(policy, frames, later=True)
    engine.keep(policy, policy.tables)
    held = [engine._private.execute(f"SELECT x FROM {name}").fetchall() for name in "ab"]
    engine.close()
    assert held == [[(1,)], [(2,)]]


# several files of one table
FOLDERS = ["2024-1-5", "2024-1-6", "-0", " 5", "00123", "2024-01-01 00:00", "1e5", "true", "inf", "epoch", "x", "a b"]
"""Texts of folders that an engine may take for dates, numbers or truths, unless another folder says otherwise."""
LAYOUT = """
[source]
engine = "duckdb"
files = {{ p = "{files}" }}
[data]
id = "d"
version = "1"
[privacy]
epsilon = 1
[tables.p]
unit = "u"
rows_per_unit = 1
[tables.p.columns]
u = {{ type = "integer" }}
{column} = {declared}
"""


def _one(folder: Path, kind: str, number: int, column: str | None = None) -> None:
    folder.mkdir(parents=True)
    if kind == "parquet":
        pq.write_table(
            pa.table({"u": pa.array([number]), **({column: pa.array(["own"])} if column else {})}), folder / "p.parquet"
        )
    elif kind == "csv":
        (folder / "p.csv").write_text(
            f"u{',' + column if column else ''}\n{number}{',own' if column else ''}\n", encoding="utf-8"
        )
    else:
        (folder / "p.jsonl").write_text(json.dumps({"u": number}) + "\n", encoding="utf-8")


def _column(home: Path, files: str, column: str, declared: str) -> dict[int, Any]:
    """A column as the engine keeps it, by unit."""
    (home / "sfumato.toml").write_text(LAYOUT.format(files=files, column=column, declared=declared), encoding="utf-8")
    engine: Any = connect(load_policy(home / "sfumato.toml"))
    try:
        engine.keep(load_policy(home / "sfumato.toml"), ["p"])
        return {int(u): value for u, value in engine._private.execute(f'SELECT "#person", {column} FROM p').fetchall()}
    finally:
        engine.close()


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_folder_does_not_decide_how_others_are_read(kind: str, tmp_path: Path) -> None:
    """Any part of the folders, down to one, gives each file the text of its own folder."""
    r = random.Random(11)
    for number, part in enumerate(
        [FOLDERS, *(r.sample(FOLDERS, n) for n in (1, 1, 2, 2, 2, 3, 5, 9)), ["2024-1-5", "2024-1-6"]]
    ):
        home = tmp_path / str(number)
        for name in part:
            _one(home / f"k={name}", kind, FOLDERS.index(name))
        found = _column(home, f"*/*.{kind}", "k", '{ type = "text", max_length = 30 }')
        assert found == {FOLDERS.index(name): name for name in part}


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_file_outside_of_the_folders_refuses_the_source(kind: str, tmp_path: Path) -> None:
    _one(tmp_path / "k=a", kind, 1)
    _one(tmp_path / "b", kind, 2)
    with pytest.raises(PolicyError, match="in no such folder"):
        _column(tmp_path, f"*/*.{kind}", "k", '{ type = "text", max_length = 30 }')


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_column_in_folders_and_files_refuses_the_source(kind: str, tmp_path: Path) -> None:
    _one(tmp_path / "k=a", kind, 1, "k")
    with pytest.raises(PolicyError, match="both in folder names and in"):
        _column(tmp_path, f"*/*.{kind}", "k", '{ type = "text", max_length = 30 }')


_TYPES: dict[str, tuple[pa.DataType, Any]] = {
    "int64": (pa.int64(), 2**53 + 1),
    "int32": (pa.int32(), 2),
    "uint64": (pa.uint64(), 2**63 + 1),
    "uint8": (pa.uint8(), 2),
    "double": (pa.float64(), 2.5),
    "float": (pa.float32(), 2.345),
    "text": (pa.string(), "x"),
    "date": (pa.date32(), date(2024, 1, 1)),
    "timestamp": (pa.timestamp("us"), datetime(2024, 1, 1, 5)),  # noqa: DTZ001  times have no zone here
    "milliseconds": (pa.timestamp("ms"), datetime(2024, 1, 1, 5)),  # noqa: DTZ001  the same
    "boolean": (pa.bool_(), True),
    "decimal(9,1)": (pa.decimal128(9, 1), Decimal("2.5")),
    "decimal(9,3)": (pa.decimal128(9, 3), Decimal("2.125")),
}
_DECLARED = (
    '{ type = "text", max_length = 40 }',
    '{ type = "integer", min = 0, max = 9223372036854775807 }',
    '{ type = "decimal", min = 0, max = 10, grid = 0.01 }',
    '{ type = "double" }',
)


@pytest.mark.parametrize("declared", _DECLARED)
def test_files_of_different_types_are_refused_as_a_whole(declared: str, tmp_path: Path) -> None:
    """Either the rows of the first file are as if it were alone, or nothing is read."""
    refused, pairs = 0, list(itertools.permutations(_TYPES, 2))[:: 1 if "text" in declared else 5]
    for number, (one, other) in enumerate(pairs):
        home = tmp_path / str(number)
        home.mkdir()
        for place, name in (("a", one), ("b", other)):
            kind, value = _TYPES[name]
            pq.write_table(
                pa.table({"u": pa.array([int(place == "b")]), "x": pa.array([value], kind)}), home / f"{place}.parquet"
            )
        try:
            alone = _column(home, "a.parquet", "x", declared)
            both = _column(home, "*.parquet", "x", declared)
        except PolicyError as error:
            assert "different types in its files" in str(error)  # noqa: PT017  it may also be read
            refused += 1
            continue
        assert both[0] == alone[0], (one, other)
        assert {one, other} <= {"int64", "int32", "uint8", "timestamp", "milliseconds"}, (one, other)
    assert refused > 0.8 * len(pairs)


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("name", ["[0-9]", "*", "[a]", "**", "[!z]"])
def test_a_file_whose_name_is_a_pattern_is_one_file(kind: str, name: str, tmp_path: Path) -> None:
    """An engine would take it for a pattern, and read everybody's files once more; in folders and as files."""
    declared = '{ type = "text", max_length = 30 }'
    for number, folder in enumerate(["1", "2", "a", name]):
        _one(tmp_path / f"k={folder}", kind, number)
        (tmp_path / f"k={folder}/p.{kind}").rename(tmp_path / f"k={folder}/{folder}.{kind}")
    assert _column(tmp_path, f"k=?*/?*.{kind}", "k", declared) == {0: "1", 1: "2", 2: "a", 3: name}


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_path_that_is_a_file_and_a_pattern_is_refused(kind: str, tmp_path: Path) -> None:
    for number, name in enumerate(["1", "*"]):
        _one(tmp_path / f"k={name}", kind, number)
        (tmp_path / f"k={name}/p.{kind}").rename(tmp_path / f"{name}.{kind}")
    with pytest.raises(PolicyError, match="a pattern that other files match"):
        _column(tmp_path, f"*.{kind}", "x", '{ type = "integer" }')


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_the_stamp_sees_every_file_that_is_read(kind: str, tmp_path: Path) -> None:
    for number, folder in enumerate(("a", "a/b", "a/b/c")):
        _one(tmp_path / folder / "k=v", kind, number)
    found = _column(tmp_path, f"**/*.{kind}", "k", '{ type = "text", max_length = 30 }')
    assert found == {0: "v", 1: "v", 2: "v"}
    policy, stamps = load_policy(tmp_path / "sfumato.toml"), set()
    for number, folder in enumerate(("a", "a/b", "a/b/c")):
        stamps.add(stamp(policy))
        place = tmp_path / folder / f"k=v/p.{kind}"
        place.unlink()
        place.parent.rmdir()
        _one(place.parent, kind, number + 10)
    stamps.add(stamp(policy))
    assert len(stamps) == 4


class _Heir(pd.DataFrame):
    """A frame of another package."""


@pytest.mark.parametrize("frame", [pd.DataFrame, _Heir])
@pytest.mark.parametrize(
    ("values", "other"), [([1, 2], None), ([2.5], "x"), ([True, False], "z"), ([2**53, 2**53 + 1], None)]
)
def test_a_category_of_a_frame_does_not_change_what_others_hold(frame: Any, values: list[Any], other: Any) -> None:
    known = [*values, *([] if other is None else [other])]
    texts = []
    for rows in (values, [*values, other]):
        for dtype in (pd.CategoricalDtype(known), object):
            made = as_read(frame({"x": pd.Series(rows, dtype=dtype)}))
            texts.append(list(made["x"][: len(values)]))
    assert texts == [list(map(str, values))] * 4


@pytest.mark.parametrize("rows", [{"x": [1, 2]}, [1, 2], (1,), 5, "p.csv", None, np.array([1, 2])], ids=str)
def test_what_is_no_frame_is_refused(rows: Any) -> None:
    with pytest.raises(InputError, match="frame: cannot read"):
        as_read(rows)


def _partitioned(home: Path) -> dict[str, Any]:
    """What reads files when it is asked: types follow from all folders, all files, or all lines."""
    for number, name in enumerate(["01", "02", "x"]):
        _one(home / "hive" / f"k={name}", "parquet", number)
    (home / "p.csv").write_text("u,x\n1,01\n2,x\n", encoding="utf-8")
    table = pa.table({"u": [1, 2], "x": [1, 2]})
    return {
        "hive": ds.dataset(home / "hive", partitioning="hive"),
        "csv": ds.dataset(home / "p.csv", format="csv"),
        "in memory": ds.dataset(table),
        "scanner": ds.dataset(table).scanner(),
        "lazy hive": pl.scan_parquet(home / "hive/*/*.parquet", hive_partitioning=True),
        "lazy csv": pl.scan_csv(home / "p.csv"),
        "relation": duckdb.sql(f"SELECT * FROM read_csv('{home / 'p.csv'}')"),
    }


def test_rows_that_are_read_later_are_refused(tmp_path: Path) -> None:
    """One folder `k=x` made '01' of the 1 of everybody else, as it did for files before they were read as text."""
    for name, frame in _partitioned(tmp_path).items():
        with pytest.raises(InputError, match="reads them later"):
            as_read(frame)
        with pytest.raises(InputError, match="reads them later"):
            protect(frame, unit="u", rows_per_unit=1, epsilon=1)
        assert frame is not None, name


def test_a_stream_is_read_once_and_whole() -> None:
    table = pa.table({"u": list(range(5000)), "x": [1] * 5000})
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=100))
    with protect(reader, unit="u", rows_per_unit=1, epsilon=1e12, bounds={"x": (0, 1)}) as gate:
        assert gate.sql("SELECT COUNT(*), SUM(x) FROM data", epsilon=1e9).rows == [(5000, 5000)]


class _Mute:
    """An object that says what it holds in an error."""

    def __str__(self) -> str:
        raise ValueError("42")


@pytest.mark.parametrize("value", ["half of a pair: \ud800", _Mute()], ids=["surrogate", "mute"])
def test_an_object_without_a_text_is_named_by_its_column_alone(value: object) -> None:
    frame = pd.DataFrame({"u": [1, 2], "x": pd.Series(["a", value], dtype=object)})
    with pytest.raises(InputError, match='a value in column "x" has no text') as refused:
        protect(frame, unit="u", rows_per_unit=1, epsilon=1)
    assert "42" not in str(refused.value)


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize(
    ("name", "words"),
    [("a\\b", "a backslash"), ("\\[1]", "a backslash"), (os.fsdecode(b"\xff"), "not UTF-8")],
    ids=ascii,
)
def test_a_name_that_no_engine_can_be_given_is_refused(kind: str, name: str, words: str, tmp_path: Path) -> None:
    """An engine reads a backslash as the end of a folder's name: another file would be read, or none."""
    _one(tmp_path / "d", kind, 1)
    shutil.copy(tmp_path / f"d/p.{kind}", tmp_path / f"d/{name}.{kind}")
    with pytest.raises(PolicyError, match=words):
        _column(tmp_path, f"d/*.{kind}", "x", '{ type = "integer" }')


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_file_is_read_once_under_whatever_names(kind: str, tmp_path: Path) -> None:
    """A link beside a file, hard or soft, would count its rows twice; a name that two patterns match is one name."""
    declared = '{ type = "text", max_length = 9 }'
    _one(tmp_path / "d", kind, 1, None if kind == "jsonl" else "x")
    place = tmp_path / f"d/p.{kind}"
    twice = f'd/*.{kind}", "d/p.{kind}'
    listed = LAYOUT.replace('"{files}"', '["{files}"]').format(files=twice, column="x", declared=declared)
    (tmp_path / "sfumato.toml").write_text(listed, encoding="utf-8")
    engine: Any = connect(load_policy(tmp_path / "sfumato.toml"))
    assert engine._private.execute("SELECT COUNT(*) FROM p").fetchall() == [(1,)]
    engine.close()
    for link in (Path.symlink_to, Path.hardlink_to):
        other = tmp_path / f"d/other.{kind}"
        link(other, place)
        with pytest.raises(PolicyError, match="are one file"):
            _column(tmp_path, f"d/*.{kind}", "x", declared)
        other.unlink()


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_folder_with_two_equal_signs_names_no_column(kind: str, tmp_path: Path) -> None:
    _one(tmp_path / "k=a", kind, 1)
    _one(tmp_path / "k=b=c", kind, 2)
    with pytest.raises(PolicyError, match="in no such folder"):
        _column(tmp_path, f"*/*.{kind}", "k", '{ type = "text", max_length = 30 }')


@pytest.mark.parametrize(
    "kind",
    [
        "INTERVAL",
        "INTERVAL[]",
        "STRUCT(a INTERVAL)",
        "DOUBLE[]",
        "MAP(INTEGER, INTEGER)",
        "DOUBLE",
        "FLOAT",
        "INTEGER[3]",
    ],
)
def test_units_are_of_types_whose_equal_values_are_the_same(kind: str, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "p.duckdb")) as database:
        database.execute(f"CREATE TABLE p (u {kind}, x INTEGER)")
    (tmp_path / "sfumato.toml").write_text(
        f"[source]\nengine = 'duckdb'\nfiles = '{tmp_path / 'p.duckdb'}'\n[data]\nid = 'd'\n[privacy]\nepsilon = 1\n"
        "[tables.p]\nunit = 'u'\nrows_per_unit = 1\n[tables.p.columns]\nu = {}\nx = { type = 'integer' }\n",
        encoding="utf-8",
    )
    with pytest.raises(PolicyError, match="identifies people, but is of type"):
        connect(load_policy(tmp_path / "sfumato.toml")).close()
    with duckdb.connect(str(tmp_path / "p.duckdb")) as database:
        database.execute("CREATE OR REPLACE TABLE p (u ENUM ('a[1]', 'INTERVAL'), x INTEGER)")
    connect(load_policy(tmp_path / "sfumato.toml")).close()


_MANY = {
    **dict.fromkeys(("TINYINT", "UBIGINT", "HUGEINT", "UHUGEINT", "DECIMAL(9, 3)", "BIGNUM"), ("0", "-0", "1")),
    "VARCHAR": ("'a'", "'A'", "'a '", "'a' || chr(0)", "'e' || chr(769)", "'é'"),
    "VARCHAR COLLATE NOCASE": ("'a'", "'A'"),
    "BLOB": ("'\\x00'", "'\\x00\\x00'"),
    "BIT": ("'1'", "'01'"),
    "UUID": ("uuid()", "uuid()"),
    "DATE": ("'2024-01-01'", "'infinity'", "'290000-01-01'"),
    "TIME": ("'00:00'", "'24:00'"),
    "TIMETZ": ("'12:00:00+01'", "'11:00:00+00'"),
    "TIMESTAMPTZ": ("'2024-01-01 12:00+01'", "'2024-01-01 11:00+00'", "'infinity'"),
    "TIMESTAMP_NS": ("'2024-01-01'", "'2024-01-01 00:00:00.000000001'"),
    "BOOLEAN": ("true", "false"),
    "JSON": ("'{\"a\":1}'", "'{\"a\": 1}'"),
}
"""Values of each type that identifies people, of which some engine might say that they are equal."""


@pytest.mark.parametrize("kind", _MANY)
def test_values_of_units_that_are_equal_are_written_alike(kind: str, tmp_path: Path) -> None:
    """As many people as there are different texts of their identifiers."""
    with duckdb.connect(str(tmp_path / "p.duckdb")) as database:
        database.execute(f"CREATE TABLE p (u {kind}, x INTEGER)")
        for value in _MANY[kind]:
            database.execute(f"INSERT INTO p VALUES ({value}, 1)")
        texts = database.execute("SELECT COUNT(DISTINCT encode(CAST(u AS VARCHAR))) FROM p").fetchall()
    (tmp_path / "sfumato.toml").write_text(
        f"[source]\nengine = 'duckdb'\nfiles = '{tmp_path / 'p.duckdb'}'\n[data]\nid = 'd'\n[privacy]\nepsilon = 1\n"
        "[tables.p]\nunit = 'u'\nrows_per_unit = 1\n[tables.p.columns]\nu = { type = 'text', max_length = 5 }\n",
        encoding="utf-8",
    )
    policy = load_policy(tmp_path / "sfumato.toml")
    engine: Any = connect(policy)
    engine.keep(policy, ["p"])
    people = engine._private.execute('SELECT COUNT(DISTINCT "#person") FROM p').fetchall()
    engine.close()
    assert people == texts


@pytest.mark.parametrize("declared", ["integer", "decimal", "double"])
def test_a_number_of_any_length_is_refused_whatever_the_rows_are(declared: str, tmp_path: Path) -> None:
    """One that is longer than 64 bits made the engine fail; now the type decides."""
    for number, value in enumerate(("1", "9" * 60)):
        place = tmp_path / str(number)
        place.mkdir()
        with duckdb.connect(str(place / "p.duckdb")) as database:
            database.execute("CREATE TABLE p (u INTEGER, x BIGNUM)")
            database.execute(f"INSERT INTO p VALUES (1, '{value}')")
        (place / "sfumato.toml").write_text(
            f"[source]\nengine = 'duckdb'\nfiles = 'p.duckdb'\n[data]\nid = 'd'\n[privacy]\nepsilon = 1\n"
            f"[tables.p]\nunit = 'u'\nrows_per_unit = 1\n[tables.p.columns]\nu = {{}}\nx = {{ type = '{declared}' }}\n",
            encoding="utf-8",
        )
        with pytest.raises(PolicyError, match="is of type BIGNUM"):
            connect(load_policy(place / "sfumato.toml"))


def test_no_engine_takes_a_float_for_an_identifier() -> None:
    """0 and -0 are equal, and all NaN: two people would be one."""
    for column in (
        *(SourceColumn("u", t) for t in ("float4", "float8")),
        *(SparkColumn("u", t) for t in ("float", "double")),
    ):
        assert not column.can_name_persons
    for column in (
        SourceColumn("u", "int8"),
        SourceColumn("u", "uuid"),
        SparkColumn("u", "bigint"),
        SparkColumn("u", "string"),
    ):
        assert column.can_name_persons


_WHOLE = {"SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "HUGEINT": 127}
_DECLARED = ("type = 'integer'", "type = 'decimal'", "type = 'text', max_length = 40")


@pytest.mark.parametrize("declared", _DECLARED)
def test_identifiers_of_two_widths_are_read_as_whole_numbers(declared: str, tmp_path: Path) -> None:
    """What the policy admits shows each identifier alike in both tables, at the ends of the types and between."""
    admitted = 0
    for number, (one, other) in enumerate(itertools.combinations(_WHOLE, 2)):
        place = tmp_path / str(number)
        place.mkdir()
        bits = min(_WHOLE[one], _WHOLE[other])
        ends = {s * (2**b + k) for s in (-1, 1) for b in range(1, bits) for k in (0, 1, 3, 5)}
        rows = ", ".join(f"({value})" for value in sorted(ends) if -(2**bits) <= value < 2**bits)
        with duckdb.connect(str(place / "p.duckdb")) as database:
            for name, kind in (("a", one), ("b", other)):
                database.execute(f"CREATE TABLE {name} (u {kind}); INSERT INTO {name} VALUES {rows}")
        tables = "".join(
            f"[tables.{name}]\nunit = 'u'\nrows_per_unit = 1\n[tables.{name}.columns]\nu = {{ {declared} }}\n"
            for name in "ab"
        )
        (place / "sfumato.toml").write_text(
            "[source]\nengine = 'duckdb'\nfiles = 'p.duckdb'\n[data]\nid = 'd'\n[privacy]\nepsilon = 1\n" + tables,
            encoding="utf-8",
        )
        policy = load_policy(place / "sfumato.toml")
        try:
            engine: Any = connect(policy)
        except PolicyError as refused:
            assert "identify people, but have different types" in refused.message  # noqa: PT017  it may also be read
            continue
        admitted += 1
        engine.keep(policy, ["a", "b"])
        both = 'FROM a JOIN b ON a."#person" = b."#person"'
        people, differ = engine._private.execute(
            f"SELECT COUNT(*), COUNT(*) FILTER (a.u IS DISTINCT FROM b.u) {both}"
        ).fetchone()
        engine.close()
        assert people > bits
        assert not differ
    assert admitted == (0 if "decimal" in declared else 6)
