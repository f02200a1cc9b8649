"""The whole walk beside the plain engine: milliseconds a question and the ratio to the same SQL in DuckDB, in one run.

    python bench/bench_walk.py [--rows 1000000]

The ledger is in memory here: what a durable debit costs is printed by bench_ledger.py. Data: made here, nobody real;
visits per person follow a power law, as such data do.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb

from sfumato.engines import connect
from sfumato.gateway import Gateway
from sfumato.ledger import Ledger
from sfumato.policy import from_dict

QUESTIONS = (
    "SELECT COUNT(*) FROM visit",
    "SELECT COUNT(*) FROM visit WHERE disease = 'flu' AND age >= 30",
    "SELECT COUNT(DISTINCT person) FROM visit",
    "SELECT SUM(cost) FROM visit",
    "SELECT AVG(age) FROM visit",
    "SELECT city, COUNT(*) FROM visit GROUP BY city",
    "SELECT city, disease, COUNT(*), AVG(cost) FROM visit GROUP BY city, disease",
    "SELECT date_trunc('month', day) AS month, COUNT(*) FROM visit GROUP BY month",
)


def make(folder: Path, rows: int) -> Path:
    """A table of visits: about a tenth as many persons, some of them very often."""
    target = folder / "visit.parquet"
    duckdb.execute(f"""
        COPY (SELECT 'p' || CAST(floor(pow(hash(i) % 1000003 / 1000003.0, 3) * {rows // 10}) AS BIGINT) AS person,
            CAST(hash(i * 3) % 100 AS INTEGER) AS age, CAST(hash(i * 5) % 100000 AS DOUBLE) / 100 AS cost,
            ['Paris', 'Lyon', 'Nice', 'Lille', 'Metz'][CAST(hash(i * 7) % 5 AS BIGINT) + 1] AS city,
            ['cold', 'flu', 'asthma', 'other'][CAST(hash(i * 11) % 4 AS BIGINT) + 1] AS disease,
            DATE '2023-01-01' + CAST(hash(i * 13) % 730 AS INTEGER) AS day
        FROM range({rows}) AS r(i)) TO '{target}' (FORMAT parquet)""")
    return target


def policy(path: Path) -> dict[str, object]:
    """What the owner of these visits would declare."""
    columns = {
        "person": {"type": "text", "max_length": 12},
        "age": {"type": "integer", "min": 0, "max": 120},
        "cost": {"type": "decimal", "min": 0, "max": 1000, "grid": Decimal("0.01")},
        "city": {"values": ["Paris", "Lyon", "Nice", "Lille", "Metz"]},
        "disease": {"values": ["cold", "flu", "asthma", "other"]},
        "day": {"type": "date", "min": date(2023, 1, 1), "max": date(2024, 12, 31)},
    }
    return {
        "source": {"engine": "duckdb", "files": {"visit": str(path)}},
        "data": {"id": "bench"},
        "privacy": {"epsilon": 10**9},
        "tables": {"visit": {"unit": "person", "rows_per_unit": 20, "columns": columns}},
    }


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=10**6)
    options.add_argument("--runs", type=int, default=5)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = make(Path(folder), given.rows)
        rules = from_dict(policy(path))
        ledger = Ledger.open(":memory:", data_id="bench", composition="pure", epsilon=10**9)
        engine = connect(rules)
        engine.keep(rules, rules.tables)
        gate = Gateway(rules, ledger, engine, "walk")
        plain = duckdb.connect()
        plain.execute(f"CREATE TABLE visit AS SELECT * FROM '{path}'")
        print(f"{given.rows:,} rows; median of {given.runs}; ms, and the ratio to plain DuckDB")
        for sql in QUESTIONS:
            ours = statistics.median(timed(lambda n, sql=sql: gate.sql(sql, epsilon=n + 1)) for n in range(given.runs))
            theirs = statistics.median(
                timed(lambda _, sql=sql: plain.execute(sql).fetchall()) for _ in range(given.runs)
            )
            print(f"{ours * 1e3:8.1f} {theirs * 1e3:8.1f} {ours / theirs:7.1f}x  {sql}")


_count = iter(range(10**9))


def timed(run: object) -> float:
    """Seconds; each run has another epsilon, so that no answer is a stored one."""
    start = time.perf_counter()
    run(next(_count))  # type: ignore[operator]
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
