"""Twelve questions beside hand-written bounded SQL and the plain query, in one run: CPU of the engine, and our own.

    python bench/bench_suite.py [--rows 1000000] [--runs 5] [--error 0]

Data: made here, nobody real: visits of a tenth as many persons whose numbers of visits follow a power law, fifty
cities, twenty diseases, twenty thousand tags. The floor bounds each person by hand and adds floating-point noise: what
a careful person would write without us. One thread, ledger in memory (bench_ledger.py prints what a durable debit costs).
`--error N` also asks the counts N times and prints the standard deviation of the noise.
"""

# ruff: noqa: E501  a question stands on one line
from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from sfumato.engines.duckdb import DuckDB
from sfumato.gateway import Gateway
from sfumato.ledger import Ledger
from sfumato.policy import from_dict
from sfumato.sql.select import stored
from sfumato.sql.sources import scan_of

CITIES = [f"city{i:02d}" for i in range(50)]
DISEASES = ["Cold", *(f"Disease{i:02d}" for i in range(1, 20))]
QUESTIONS = {
    "q1": "SELECT COUNT(*) FROM visits",
    "q2": "SELECT COUNT(*) FROM visits WHERE disease = 'Cold'",
    "q3": "SELECT COUNT(DISTINCT user_id) FROM visits",
    "q4": "SELECT SUM(cost) FROM visits",
    "q5": "SELECT AVG(age) FROM visits",
    "q6": "SELECT city, COUNT(*) FROM visits GROUP BY city",
    "q7": "SELECT city, disease, COUNT(*) FROM visits GROUP BY city, disease",
    "q8": "SELECT tag, COUNT(*) FROM visits GROUP BY tag",
    "q9": "SELECT MEDIAN(age) FROM visits",
    "q10": "SELECT VAR_POP(age) FROM visits",
    "q11": "SELECT region, COUNT(*) FROM visits JOIN users USING (user_id) GROUP BY region",
    "q12": "SELECT AVG(s) FROM (SELECT user_id, SUM(cost) AS s FROM visits GROUP BY user_id) AS p",
    "u1": "SELECT region, COUNT(*) FROM users GROUP BY region",
    "u2": "SELECT zipcode, sex, COUNT(*) FROM users WHERE region <> 'region3' GROUP BY zipcode, sex",
}
_SHARES = "SELECT {k}, user_id, COUNT(*) AS n FROM visits GROUP BY {k}, user_id"
_WEIGHTED = "SELECT {k}, SUM(n * least(1, 5.0 / t)) FROM (SELECT *, SUM(n) OVER (PARTITION BY user_id) AS t FROM ({s})) GROUP BY {k}"
FLOOR = {
    "q1": "SELECT SUM(least(n, 5)) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY user_id)",
    "q2": "SELECT SUM(least(n, 5)) FROM (SELECT COUNT(*) AS n FROM visits WHERE disease = 'Cold' GROUP BY user_id)",
    "q3": "SELECT COUNT(DISTINCT user_id) FROM visits",
    "q4": "SELECT SUM(least(s, 5000)) FROM (SELECT SUM(least(greatest(cost, 0), 1000)) AS s FROM visits GROUP BY user_id)",
    "q5": "SELECT SUM(m * least(n, 5)), SUM(least(n, 5)) FROM (SELECT AVG(least(greatest(age, 0), 120)) - 60 AS m,"
    " COUNT(*) AS n FROM visits GROUP BY user_id)",
    "q6": _WEIGHTED.format(k="city", s=_SHARES.format(k="city")),
    "q7": _WEIGHTED.format(k="city, disease", s=_SHARES.format(k="city, disease")),
    "q12": "SELECT SUM(least(s, 5000)), COUNT(*) FROM (SELECT SUM(cost) AS s FROM visits GROUP BY user_id)",
}


def make(folder: Path, rows: int) -> None:
    """Visits and users, the same at each run."""
    persons, chance = rows // 10, np.random.default_rng(7)
    weight = chance.pareto(1.5, persons) + 0.3
    user = chance.choice(persons, size=rows, p=weight / weight.sum())
    user[:persons] = np.arange(persons)

    def ranked(count: int, power: float, size: int) -> Any:
        share = 1 / np.arange(1, count + 1) ** power
        return chance.choice(count, size=size, p=share / share.sum())

    home = ranked(50, 0.8, persons)
    city = np.where(chance.random(rows) < 0.7, home[user], ranked(50, 0.8, rows))
    age = np.clip(chance.normal(45, 22, persons), 0, 120).astype(int)[user]
    cost = np.minimum(chance.lognormal(4.6, 0.9, rows), 1000.0).round(2)
    visits = {
        "user_id": user, "city": city, "disease": ranked(20, 0.7, rows), "age": age, "cost": cost,
        "day": chance.integers(0, 366, rows), "tag": ranked(20_000, 1.1, rows),
    }  # fmt: skip
    users = {
        "user_id": np.arange(persons), "sex": chance.integers(0, 2, persons), "home": home,
        "zipcode": 75_000 + chance.integers(0, 20, persons),
    }  # fmt: skip
    with duckdb.connect() as connection:
        connection.register("visits", visits)
        connection.register("users", users)
        listed = ", ".join(f"'{d}'" for d in DISEASES)
        connection.execute(
            f"COPY (SELECT user_id, printf('city%02d', city) AS city, ([{listed}])[disease + 1] AS disease, age, cost,"
            f" DATE '2024-01-01' + day::INTEGER AS day, printf('tag%05d', tag) AS tag FROM visits ORDER BY hash(user_id * 31 + day))"
            f" TO '{folder}/visits.parquet' (FORMAT parquet)"
        )
        connection.execute(
            f"COPY (SELECT user_id, ['F', 'M'][sex + 1] AS sex, 'region' || (home % 10) AS region, zipcode FROM users)"
            f" TO '{folder}/users.parquet' (FORMAT parquet)"
        )


def opened(folder: Path) -> Gateway:
    """The gateway, its engine on one thread."""
    policy = from_dict(
        {
            "source": {
                "engine": "duckdb",
                "files": {"visits": str(folder / "visits.parquet"), "users": str(folder / "users.parquet")},
            },
            "data": {"id": "suite"},
            "privacy": {"epsilon": 10**9, "delta": 0.5, "query_epsilon": 1, "query_delta": 1e-7, "composition": "pure"},
            "tables": {
                "visits": {
                    "unit": "user_id",
                    "rows_per_unit": 5,
                    "columns": {
                        "user_id": {"type": "integer"},
                        "city": {"values": CITIES},
                        "disease": {"values": DISEASES},
                        "age": {"type": "integer", "min": 0, "max": 120},
                        "cost": {"type": "decimal", "min": 0, "max": 1000, "grid": Decimal("0.01")},
                        "day": {"type": "date", "min": date(2024, 1, 1), "max": date(2024, 12, 31)},
                        "tag": {"type": "text", "max_length": 20},
                    },
                },
                "users": {
                    "unit": "user_id",
                    "rows_per_unit": 1,
                    "columns": {
                        "user_id": {"type": "integer"},
                        "sex": {"values": ["F", "M"]},
                        "region": {"values": [f"region{i}" for i in range(10)]},
                        "zipcode": {"type": "integer", "min": 75_000, "max": 75_019},
                    },
                },
            },
        }
    )
    engine = DuckDB(policy, threads=1)
    engine.keep({table.name: stored(scan_of(table, policy, 0)) for table in policy.tables.values()})
    book = Ledger.open(
        ":memory:",
        data_id="suite",
        composition="pure",
        epsilon=10**9,
        delta=Fraction(1, 2),
        policy_digest=policy.digest,
    )
    return Gateway(replace(policy), book, engine)


def cpu(work: Callable[[], Any], runs: int) -> float:
    """Milliseconds of CPU, the median of some runs after a first."""
    work()
    found = []
    for _ in range(runs):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return statistics.median(found) * 1000


def engine_part(gate: Gateway, sql: str) -> Callable[[], None]:
    """What the engine does for a question, and nothing else."""
    asked = gate._plan(sql, None, rows_per_unit=None, noise=None, within=None, confidence=Fraction(95, 100))
    (cut,) = asked.cuts

    def run() -> None:
        for part in cut.parts:
            if part.fast or part.sql:
                gate._engine.run(part.fast or part.sql, len(part.kept), (), "s" if part.chosen else None)
            for released in part.bundles:
                if released.extra is not None:
                    gate._engine.run(released.extra.sql, len(part.kept), ())

    return run


def asked_once(gate: Gateway, sql: str) -> Callable[[], None]:
    """A whole question, never asked before: each has an epsilon of its own."""
    state = {"next": Fraction(1)}

    def run() -> None:
        state["next"] += Fraction(1, 10**9)
        gate.sql(sql, epsilon=state["next"])

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--error", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, chosen.rows)
        plain = duckdb.connect(config={"threads": 1})
        for table in ("visits", "users"):
            plain.execute(f"CREATE TABLE {table} AS SELECT * FROM '{folder}/{table}.parquet'")
        with opened(folder) as gate:
            if chosen.error:
                _errors(gate, chosen.error)
            print(f"{chosen.rows:,} rows, CPU in ms, one thread, median of {chosen.runs}")
            print(
                f"{'':4} {'plain':>8} {'floor':>8} {'engine':>8} {'/floor':>7} {'/plain':>7} {'ours':>7}  the rest of the walk"
            )
            for key, sql in QUESTIONS.items():
                base = cpu(lambda sql=sql: plain.execute(sql.replace("MEDIAN", "median")).fetchall(), chosen.runs)
                floor = cpu(lambda key=key: plain.execute(FLOOR[key]).fetchall(), chosen.runs) if key in FLOOR else None
                engine = cpu(engine_part(gate, sql), chosen.runs)
                whole = cpu(asked_once(gate, sql), chosen.runs)
                beside = f"{floor:8.1f}" if floor is not None else f"{'-':>8}"
                ratio = f"{engine / floor:7.2f}" if floor is not None else f"{'-':>7}"
                print(f"{key:4} {base:8.1f} {beside} {engine:8.1f} {ratio} {engine / base:7.2f} {whole - engine:7.1f}")


def _errors(gate: Gateway, runs: int) -> None:
    """The standard deviation of the noise at epsilon 1, bound 5."""
    for key in ("q1", "q3", "q6"):
        # each a little better than the last, so that no stored answer will do
        asked = (gate.sql(QUESTIONS[key], epsilon=1 - Fraction(runs - i, 10**12)) for i in range(runs))
        found = [float(answer.rows[0][-1]) for answer in asked]
        print(f"{key}: sd {statistics.stdev(found):.2f} over {runs} runs")


if __name__ == "__main__":
    main()
