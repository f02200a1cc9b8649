"""The scan of Spark beside that of DuckDB: every type that a file may have, declared as every kind, row by row.

A row that one engine reads otherwise than another, or that ends a statement, is a row that decides for others.
"""

# ruff: noqa: E501  the values of a type stand on one line
from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from sfumato.algebra.column_facts import facts_of
from sfumato.algebra.tree import Facts
from sfumato.engines.duckdb import scans as of_duckdb
from sfumato.engines.spark import scans as of_spark
from sfumato.engines.spark.session import SparkServer
from sfumato.engines.spark.spelling import absolute, negative, quotient, text, type_of, whole
from sfumato.engines.spark.tables import open_table
from sfumato.policy import PolicyColumn
from tests.needed import needed

needed("pyspark")
MOMENTS = [
    None if one is None else datetime.fromisoformat(one)
    for one in ("0001-01-01", "9999-12-31T23:59:59", "2024-03-10T02:30", None, "1582-10-10T01:00")
]
HELD = {
    "i8": pa.array([1, -128, 127, None, 0], pa.int8()),
    "u8": pa.array([1, 255, 0, None, 7], pa.uint8()),
    "i32": pa.array([1, -(2**31), 2**31 - 1, None, 0], pa.int32()),
    "u32": pa.array([1, 2**32 - 1, 0, None, 3], pa.uint32()),
    "i64": pa.array([1, -(2**63), 2**63 - 1, None, 2**53 + 1], pa.int64()),
    "u64": pa.array([1, 2**64 - 1, 2**63, None, 0], pa.uint64()),
    "f32": pa.array([1.5, math.nan, math.inf, None, -0.0], pa.float32()),
    "f64": pa.array([1.0625, -math.inf, 1e300, None, -0.0], pa.float64()),
    "d9_2": pa.array([Decimal("1.25"), Decimal("-9999999.99"), Decimal("0.00"), None, Decimal("2.50")], pa.decimal128(9, 2)),
    "d38_0": pa.array([Decimal(1), Decimal(10**38 - 1), Decimal(1 - 10**38), None, Decimal(-(2**63))], pa.decimal128(38, 0)),
    "d38_9": pa.array([Decimal("1.5"), Decimal("9" * 29 + "." + "9" * 9), Decimal("-" + "9" * 29 + "." + "9" * 9), None, Decimal("0.000000001")], pa.decimal128(38, 9)),
    "b": pa.array([True, False, True, None, False]),
    "s": pa.array(["1", "2024-01-05", " 3.7 ", "9" * 38, "true"]),
    "day": pa.array([date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29), None, date(1582, 10, 10)]),
    "us": pa.array(MOMENTS, pa.timestamp("us")),
    "ms": pa.array(MOMENTS, pa.timestamp("ms")),
    "dictionary": pa.array(["1", "x", "1", None, "2.5"]).dictionary_encode(),
}  # fmt: skip
DECLARED = {
    "whole": PolicyColumn("c", "integer", low=-1000, high=1000),
    "unbounded": PolicyColumn("c", "integer"),
    "listed": PolicyColumn("c", "integer", values=(1, 2, 255)),
    "cents": PolicyColumn("c", "decimal", low=-1000, high=1000, grid=Fraction(1, 100)),
    "thirds": PolicyColumn("c", "decimal", low=-9, high=9, grid=Fraction(3, 10)),
    "wide": PolicyColumn("c", "decimal", low=-(10**28), high=10**28, grid=Fraction(1, 1000)),
    "double": PolicyColumn("c", "double"),
    "text": PolicyColumn("c", "text", max_length=30),
    "words": PolicyColumn("c", "text", values=("1", "true", "1.5")),
    "truth": PolicyColumn("c", "boolean"),
    "day": PolicyColumn("c", "date", low=date(1900, 1, 1), high=date(2100, 1, 1)),
    "moment": PolicyColumn("c", "timestamp"),
}
APART = {
    **{(held, "text"): "a float is printed in other words" for held in ("f32", "f64")},
}
"""Where engines may differ, with the reason: a unit or a key of such a text is compared within one engine alone."""


@pytest.fixture(scope="module")
def server() -> Iterator[SparkServer]:
    made = SparkServer("local[2]")
    yield made
    made.close()


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1)) // timedelta(microseconds=1)  # noqa: DTZ001  times have no zone here
    if isinstance(value, date):
        return (value - date(1970, 1, 1)).days
    return int(value) if isinstance(value, Decimal) else value


def _leaving(sql: str, facts: Facts) -> str:
    return {"DATE": f"unix_date({sql})", "TIMESTAMP": f"unix_micros({sql})"}.get(type_of(facts), sql)


SOME = ("unbounded", "cents", "truth")
"""Kinds that are looked at each time; the others take minutes."""


@pytest.mark.parametrize("kinds", [SOME, pytest.param(tuple(DECLARED), marks=pytest.mark.slow)], ids=["some", "all"])
def test_every_type_is_read_alike_as_every_kind(kinds: tuple[str, ...], server: SparkServer, tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"n": range(5), **HELD}), file)
    table, apart = open_table(server, "rows", str(file)), []
    server._session.conf.set("spark.sql.codegen.wholeStage", "false")  # each statement is long, and run over five rows
    server._session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    for kind in kinds:
        declared = DECLARED[kind]
        facts = facts_of(declared)
        shown = [_leaving(of_spark.enforced(declared, table.columns[held], facts), facts) for held in HELD]
        listed = ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(shown))
        found = server.cells(f"SELECT n, {listed} FROM {table.place} AS t ORDER BY n")
        with duckdb.connect() as link:
            meant = [of_duckdb.enforced(declared, f'"{held}"', facts) for held in HELD]
            rows = link.execute(f"SELECT {', '.join(meant)} FROM '{file}' ORDER BY n").fetchall()
        for i, held in enumerate(HELD):
            ours, theirs = [_plain(v) for v in found.column(i + 1).to_pylist()], [_plain(row[i]) for row in rows]
            if ours != theirs and (held, kind) not in APART:
                apart.append((held, kind, ours, theirs))
    assert not apart, "\n".join(map(str, apart))


def test_numbers_of_38_digits_keep_all_of_them(server: SparkServer) -> None:
    """Spark's own minus and ABS keep 34 of them, and raise at the last number."""
    most = 10**38 - 1
    cases = [most, -most, 12345678901234567890123456789012345678, -12345678901234567890123456789012345678, -1, 0]
    rows = ", ".join(f"({i}, {whole(n, wide=True)})" for i, n in enumerate(cases))
    asked = [negative("x"), absolute("x"), quotient("x", whole(7, wide=True), sure=False)]
    asked += [quotient("x", whole(-(10**9), wide=True), sure=False)]
    found = server.cells(f"SELECT {', '.join(asked)} FROM VALUES {rows} AS t(i, x) ORDER BY i").to_pylist()
    meant = [(-n, abs(n), int(Fraction(n, 7)), int(Fraction(n, -(10**9)))) for n in cases]
    assert [tuple(int(v) for v in row.values()) for row in found] == meant
    own = server.cells(f"SELECT abs(x) AS a FROM VALUES {rows} AS t(i, x) WHERE i = {text('3')}")
    assert int(own.column(0)[0].as_py()) != -cases[3], "the test sees what it is for"
