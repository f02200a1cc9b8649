"""The questions of the benches, the same bounded by hand, their data, and how they are measured.

Data: made here, nobody real: visits of a tenth as many persons whose numbers of visits follow a power law, fifty
cities, twenty diseases, twenty thousand tags. The floor bounds each person by hand and adds floating-point noise: what
a careful person would write without us. One thread, ledger in memory (bench_ledger.py prints what a durable debit costs).
CPU time of this process, all its threads together: the machine may be busy with other work.
"""

# ruff: noqa: E501  a question stands on one line
from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from sfumato.engines.duckdb import DuckDB
from sfumato.gateway import Gateway
from sfumato.gateway.dry_run import DryRun
from sfumato.gateway.query import Query
from sfumato.ledger import Ledger
from sfumato.policy import Policy, from_dict
from sfumato.recent import Recent

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


def policy_of(folder: Path, composition: str = "best", bound: int = 5) -> Policy:
    """At most five rows of a person, or as many as are said."""
    return from_dict(
        {
            "source": {
                "engine": "duckdb",
                "files": {"visits": str(folder / "visits.parquet"), "users": str(folder / "users.parquet")},
            },
            "data": {"id": "suite"},
            "privacy": {
                "epsilon": 10**9,
                "delta": 0.5,
                "query_epsilon": 1,
                "query_delta": 1e-7,
                "composition": composition,
            },
            "tables": {
                "visits": {
                    "unit": "user_id",
                    "rows_per_unit": bound,
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


def opened(folder: Path, engine: DuckDB | None = None, bound: int = 5) -> Gateway:
    """The gateway, its engine on one thread."""
    policy = policy_of(folder, bound=bound)
    engine = engine or DuckDB(policy, threads=1, later=True)
    engine.keep(policy, policy.tables)
    book = Ledger.open(
        ":memory:",
        data_id="suite",
        composition="best",
        epsilon=10**9,
        delta=Fraction(1, 2),
        policy_digest=policy.digest,
    )
    return Gateway(policy, book, engine, "suite")


def plain_of(folder: Path) -> duckdb.DuckDBPyConnection:
    """The same rows in an engine of their own, for plain queries and the floor."""
    plain = duckdb.connect(config={"threads": 1})
    for table in ("visits", "users"):
        plain.execute(f"CREATE TABLE {table} AS SELECT * FROM '{folder}/{table}.parquet'")
    return plain


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
    asked = gate._planner.fresh(Query(sql), date(2024, 6, 1))
    (cut,) = asked.cuts

    def run() -> None:
        for part in cut.parts:
            gate._engine.run(part.job, {}, "s")

    return run


def forget(gate: Gateway) -> None:
    """Let the gateway remember nothing of earlier questions."""
    planner = gate._planner
    planner._questions, planner._plans, planner._dry_run = Recent(10**6), Recent(10**6), DryRun(gate._engine)
    assert isinstance(gate._engine, DuckDB)
    gate._engine.forget()


class Own:
    """Our own CPU for whole questions: all but what the engine takes below the cut."""

    def __init__(self, gate: Gateway) -> None:
        self.gate, self.spent, self.next = gate, 0.0, Fraction(1)
        run = gate._engine.run

        def timed(*asked: Any) -> Any:
            start = time.process_time()
            try:
                return run(*asked)
            finally:
                self.spent += time.process_time() - start

        gate._engine.run = timed  # type: ignore[method-assign]

    def __call__(self, texts: list[str], *, fresh: bool) -> float:
        """The median over these texts, each at an epsilon of its own; `fresh`: nothing is remembered of earlier ones."""
        found = []
        for sql in texts:
            if fresh:
                forget(self.gate)
            self.next, self.spent = self.next + Fraction(1, 10**9), 0.0
            start = time.process_time()
            self.gate.sql(sql, epsilon=self.next)
            found.append(time.process_time() - start - self.spent)
        return statistics.median(found) * 1000
