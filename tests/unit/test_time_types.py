"""Every type of time that a source can have is read as the time that it holds."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import PolicyError

_POLICY = """
[data]
id = "times"
version = "1"
[source]
engine = "duckdb"
files = "times.duckdb"
[privacy]
epsilon = 1000000
[tables.t]
unit = "{unit}"
rows_per_unit = 1
[tables.t.columns]
id = {{ type = "integer" }}
at = {{ type = "timestamp", min = 2024-01-01T00:00:00, max = 2024-12-31T00:00:00 }}
"""
_SQL = "SELECT COUNT(*), COUNT(at), COUNT(*) FILTER (WHERE at = TIMESTAMP '2024-06-01 12:00:00') FROM t"
_TYPES = (
    "DATE",
    "TIMESTAMP",
    "TIMESTAMP_S",
    "TIMESTAMP_MS",
    "TIMESTAMP_NS",
    "TIMESTAMPTZ",
    "TIMESTAMPTZ_NS",
    "VARCHAR",
)


def _write(folder: Path, kind: str, unit: str = "id") -> Path:
    with duckdb.connect(str(folder / "times.duckdb")) as engine:
        engine.execute("SET TimeZone = 'UTC'")
        engine.execute(f'CREATE TABLE t (id INTEGER, "at" {kind})')
        engine.execute("INSERT INTO t SELECT i, '2024-06-01 12:00:00' FROM range(500) AS r (i)")
    (folder / "sfumato.toml").write_text(_POLICY.format(unit=unit), encoding="utf-8")
    return folder / "sfumato.toml"


@pytest.mark.parametrize("kind", _TYPES)
def test_a_time_of_any_type_is_the_time_that_it_holds(kind: str, tmp_path: Path) -> None:
    with sfumato.open(_write(tmp_path, kind)) as gateway:
        ((rows, known, noon),) = gateway.sql(_SQL, epsilon=10_000).rows
    assert (rows, known, noon) == (500, 500, 0 if kind == "DATE" else 500)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_time_of_an_arrow_table_is_the_time_that_it_holds(unit: str, zone: str | None) -> None:
    noon = 1_717_243_200 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    at = pa.array([noon] * 500, pa.int64()).cast(pa.timestamp(unit, tz=zone))
    table = pa.table({"id": pa.array(range(500)), "at": at})
    limits = {"at": ("2024-01-01", "2024-12-31T00:00:00")}
    with sfumato.protect(table, "id", 1, 1_000_000, bounds=limits, name="t") as gateway:
        assert [*gateway.sql(_SQL, epsilon=10_000).rows[0]] == [500, 500, 500]


def test_people_who_differ_by_nanoseconds_are_not_made_one(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="TIMESTAMPTZ_NS"):
        sfumato.open(_write(tmp_path, "TIMESTAMPTZ_NS", unit="at"))
