"""One name for the same rows: what is read of the same files is the same on every machine and at every time.

Better answers are drawn given earlier ones, and cells of a partition are charged apart, where the rows have the same
name (`stamp`). So nothing but the files may have a part in what is read.
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.engines import connect
from sfumato.engines.duckdb.stamp import stamp
from sfumato.errors import PolicyError
from sfumato.gateway.opening import read_rows
from sfumato.policy import load

ZONES = ("UTC", "Asia/Tokyo", "America/New_York")
POLICY = """
[source]
engine = "duckdb"
files = {files}
[data]
id = "d"
version = "1"
[privacy]
epsilon = 100
[tables.p]
unit = "u"
rows_per_unit = 1
[tables.p.columns]
u = {{ type = "integer" }}
{columns}
"""
MOMENT = """
d = { type = "date", min = 2023-12-01, max = 2024-02-01 }
m = { type = "timestamp", min = 2023-12-01T00:00:00, max = 2024-02-01T00:00:00 }
t = { type = "text", max_length = 40 }
"""
LOOK = """
import sys
from sfumato.gateway.opening import read_rows
from sfumato.policy import load
loaded = read_rows(load(sys.argv[1]))
print(loaded.rows, sorted(map(str, loaded.engine._private.execute('SELECT * FROM p').fetchall())))
"""


@pytest.mark.parametrize("kind", ["parquet", "database"])
def test_rows_are_the_same_in_every_time_zone(kind: str, tmp_path: Path) -> None:
    """A moment of the source that has a zone is read as that of UTC, as in the other engines.

    Half an hour before midnight is the next day in Tokyo: under the name of the same rows, a count was 0 there and 999
    here, and its better answer was drawn given the first one.
    """
    moments = pa.array([datetime(2024, 1, 1, hour, 30, tzinfo=UTC) for hour in (3, 23)], pa.timestamp("us", "UTC"))
    rows = pa.table({"u": [1, 2], "d": moments, "m": moments, "t": moments})
    files = '"p.duckdb"' if kind == "database" else '{ p = "p.parquet" }'
    if kind == "database":
        with duckdb.connect(str(tmp_path / "p.duckdb")) as database:
            database.register("given", rows)
            database.execute("CREATE TABLE p AS SELECT * FROM given")
    else:
        pq.write_table(rows, tmp_path / "p.parquet")
    place = tmp_path / "sfumato.toml"
    place.write_text(POLICY.format(files=files, columns=MOMENT), encoding="utf-8")
    found = set()
    for zone in ZONES:
        run = subprocess.run(
            [sys.executable, "-c", LOOK, str(place)],
            env={**os.environ, "TZ": zone},
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(run.stdout)
    assert len(found) == 1
    assert "2024, 1, 1" in found.pop()


def test_tables_that_change_their_files_have_another_name(tmp_path: Path) -> None:
    """The same files under the names of other tables are other rows, and the policy's digest does not say whose."""
    for name, count in (("a", 1), ("b", 1000)):
        pq.write_table(pa.table({"u": range(count)}), tmp_path / f"{name}.parquet")
    place, found = tmp_path / "sfumato.toml", []
    table = '[tables.q]\nunit = "u"\nrows_per_unit = 1\n[tables.q.columns]\nu = { type = "integer" }\n'
    for p, q in (("a", "b"), ("b", "a"), ("a", '["a.parquet", "b.parquet"]')):
        other = q if q.startswith("[") else f'"{q}.parquet"'
        files = f'{{ p = "{p}.parquet", q = {other} }}'
        place.write_text(POLICY.format(files=files, columns=table), encoding="utf-8")
        found.append(stamp(load(place)))
    assert len(set(found)) == 3


def _database(home: Path, generated: str, columns: str = 'g = { type = "text", max_length = 40 }') -> Path:
    (home / "p.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(home / "p.duckdb")) as database:
        database.execute("CREATE MACRO upper(x) AS 'mine'")
        database.execute("CREATE MACRO own(x) AS x")
        database.execute("CREATE SEQUENCE s")
        database.execute(
            "CREATE TABLE p (u INTEGER, x INTEGER, n VARCHAR, d DATE, z TIMESTAMPTZ, h AS (random()),"
            f" k AS (x % 2), g AS ({generated}))"
        )
        database.execute(
            "INSERT INTO p VALUES (1, 3, 'Ann', DATE '2000-02-29', TIMESTAMPTZ '2024-01-01 23:30:00+00'),"
            " (2, NULL, NULL, NULL, NULL), (3, 8, 'bob', DATE '1999-12-31', TIMESTAMPTZ '2024-07-01 01:30:00+00')"
        )
    place = home / "sfumato.toml"
    place.write_text(POLICY.format(files='"p.duckdb"', columns=columns), encoding="utf-8")
    return place


def _rows(place: Path) -> list[tuple[Any, ...]]:
    loaded = read_rows(load(place))
    engine: Any = loaded.engine
    try:
        return sorted(engine._private.execute('SELECT "#person", g FROM p').fetchall())
    finally:
        engine.close()


@pytest.mark.parametrize(
    "generated",
    [
        "random()",
        "x + CAST(random() * 2 AS INTEGER)",
        "today() - d",
        "age(CAST(d AS TIMESTAMP))",
        "current_localtimestamp()",
        "uuid()",
        "nextval('s')",
        "current_setting('threads')",
        "getvariable('x')",
        "setseed(0.5)",
        "stats(x)",
        "own(x)",
        "upper(n)",
        "h > 0.5",
        "CASE WHEN x > 2 THEN h END",
        "txid_current()",
    ],
)
def test_a_generated_column_depends_on_its_row_alone(generated: str, tmp_path: Path) -> None:
    """The clock, chance, settings, other rows and the database's own functions refuse the source."""
    place = _database(tmp_path, generated)
    with pytest.raises(PolicyError, match='column "g" of table "p" is generated with'):
        read_rows(load(place))


@pytest.mark.parametrize(
    ("generated", "first"),
    [
        ("x * 2 + 1", "7"),
        ("CASE WHEN x BETWEEN 1 AND 5 THEN lower(n) ELSE COALESCE(n, '-') END", "ann"),
        ("year(d)", "2000"),
        ("k + 1", "2"),
        ("CAST(z AS DATE)", "2024-01-01"),
        ("x IS NULL OR NOT n LIKE 'A%'", "false"),
    ],
)
def test_a_generated_column_of_its_row_is_read(generated: str, first: str, tmp_path: Path) -> None:
    place = _database(tmp_path, generated)
    found = _rows(place)
    assert found[0] == (1, first)
    assert found == _rows(place)


def test_a_generated_column_that_the_policy_does_not_name_is_not_looked_at(tmp_path: Path) -> None:
    place = _database(tmp_path, "random()", 'n = { type = "text", max_length = 9 }')
    engine = connect(load(place))
    engine.close()


def test_a_number_of_the_row_is_no_part_of_it(tmp_path: Path) -> None:
    """DuckDB refuses it by itself now; where it does not, we do."""
    with pytest.raises((PolicyError, duckdb.Error)):
        read_rows(load(_database(tmp_path, "rowid")))
