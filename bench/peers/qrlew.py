"""qrlew: SQL in, SQL out, with noise drawn by the engine; what it writes for PostgreSQL is run by DuckDB.

It reads the exact number of rows and writes it into the query, so the length is public. Each aggregate of a question
gets the whole epsilon. Rewriting is a part of asking.
"""

from __future__ import annotations

import sqlite3
from typing import Any

NEEDS = ("pyqrlew==0.9.27", "duckdb>=2.0,<3")
BOUNDS, LENGTH = "itself", "public"
COLUMNS = {
    "visits": "user_id INTEGER, city TEXT, disease TEXT, age INTEGER, cost FLOAT, day TEXT, tag TEXT",
    "users": "user_id INTEGER, sex TEXT, region TEXT, zipcode INTEGER",
}
ASKED = {
    "q1": "SELECT COUNT(*) AS n FROM visits",
    "q2": "SELECT COUNT(*) AS n FROM visits WHERE disease = 'Cold'",
    "q3": "SELECT COUNT(DISTINCT user_id) AS n FROM visits",
    "q4": "SELECT SUM(cost) AS n FROM visits",
    "q5": "SELECT AVG(age) AS n FROM visits",
    "q6": "SELECT city, COUNT(*) AS n FROM visits GROUP BY city",
    "q7": "SELECT city, disease, COUNT(*) AS n FROM visits GROUP BY city, disease",
    "q8": "SELECT tag, COUNT(*) AS n FROM visits GROUP BY tag",
    "q9": "SELECT MEDIAN(age) AS n FROM visits",
    "q10": "SELECT VARIANCE(age) AS n FROM visits",
    "q11": "SELECT u.region AS region, COUNT(*) AS n FROM visits v JOIN users u ON v.user_id = u.user_id"
    " GROUP BY u.region",
    "q12": "WITH p AS (SELECT user_id, SUM(cost) AS s FROM visits GROUP BY user_id) SELECT AVG(s) AS n FROM p",
}


def offers(data: Any) -> dict[str, Any]:
    import duckdb

    plain = duckdb.connect(config={"threads": 1})
    for table in COLUMNS:
        plain.execute(f"CREATE TABLE {table} AS SELECT * FROM '{data.folder}/{table}.parquet'")
    described = _described(data)
    units = [("visits", [], "user_id"), ("users", [], "user_id")]
    loss = {"epsilon": data.epsilon, "delta": data.delta}

    def ask(sql: str) -> Any:
        rewritten = described.relation(sql).rewrite_with_differential_privacy(
            described, units, loss, data.bound, None, data.bound
        )
        found = plain.execute(rewritten.relation().to_query()).fetchall()
        return found[0][0] if len(found[0]) == 1 else {tuple(row[:-1]): row[-1] for row in found}

    return {key: (lambda sql=sql: ask(sql)) for key, sql in ASKED.items()}


def _described(data: Any) -> Any:
    """What it is told of the tables, from a SQLite file with the same rows."""
    from pyqrlew import Dataset
    from sqlalchemy import create_engine

    place = data.folder / "qrlew.sqlite"
    place.unlink(missing_ok=True)
    with sqlite3.connect(place) as rows:
        for table, columns in COLUMNS.items():
            marks = ", ".join("?" * len(columns.split(",")))
            rows.execute(f"CREATE TABLE {table} ({columns})")
            rows.executemany(f"INSERT INTO {table} VALUES ({marks})", data.table(table))
    described = Dataset.from_database("bench", create_engine(f"sqlite:///{place}"), None)
    described = described.with_range(None, "visits", "age", 0, 120).with_range(None, "visits", "cost", 0, 1000)
    described = described.with_range(None, "users", "zipcode", 75_000, 75_019)
    described = described.with_possible_values(None, "visits", "city", data.cities)
    described = described.with_possible_values(None, "visits", "disease", data.diseases)
    described = described.with_possible_values(None, "users", "region", data.regions)
    return described.with_constraint(None, "users", "user_id", "_UNIQUE_")
