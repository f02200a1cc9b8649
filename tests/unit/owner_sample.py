"""What the tests of the owner's room share: a policy in which everything is right, and files of her own."""

from __future__ import annotations

from pathlib import Path

import duckdb


def write_parquet(path: Path, select: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")


GOOD = """\
[source]
engine = "duckdb"
files = { p = "p.csv", v = "v.csv" }
[data]
id = "d"
version = "1"
[privacy]
epsilon = 4
[analysts.ana]
epsilon = 1
[tables.p]
unit = "id"
rows_per_unit = 1
[tables.p.columns]
id = { type = "text", max_length = 9 }
age = { type = "integer", min = 0, max = 120 }
sex = { values = ["f", "m"] }
[tables.v]
unit = { join = "p", on = "who = id" }
rows_per_unit = 2
[tables.v.columns]
who = { type = "text", max_length = 9 }
cost = { type = "decimal", min = 0, max = 100, grid = 0.01 }
day = { type = "date", min = 2020-01-01, max = 2029-12-31, nulls = false }
note = { type = "text", max_length = 3 }
"""
