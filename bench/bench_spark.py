"""The engine over Spark: CPU of driver, workers and client for each question, beside plain SQL, SQL by hand, and DuckDB.

    python bench/bench_spark.py [--rows 1000000] [--runs 3] [--master local[2]] [--skew 1000000] [--keys 200000]

All run over the same Parquet files: `plain` is the question itself as Spark answers it, without any privacy; `by hand` a
statement that somebody wrote for this question, which bounds people, with floats and without guards; `ours` the job as
the gateway runs it in Spark, and `DuckDB` the same job there. Plain and by hand run in a session with Spark's own
settings. CPU time of all threads, because the machine may be busy with other work; wall time of plain and ours beside it.
`--skew` is a person with so many rows, `--keys` so many different open keys: each is run once more, over rows of its own;
0 leaves it out.
"""

# ruff: noqa: E501  a statement stands on one line
from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
from suite import QUESTIONS, engine_part, make, opened, policy_of

from sfumato.engines.spark import Spark
from sfumato.policy import DataSource

_N = "SELECT user_id, COUNT(*) AS n FROM visits GROUP BY user_id"
_GROUPS = (
    "WITH s AS (SELECT {k}, user_id, COUNT(*) AS n FROM visits GROUP BY {k}, user_id), t AS (SELECT user_id, SUM(n) AS t FROM s GROUP BY user_id)"
    " SELECT {k}, SUM(n * least(1D, 5D / t)) FROM s JOIN t USING (user_id) GROUP BY {k}"
)
BY_HAND = {
    "q1": f"SELECT SUM(least(n, 5)) FROM ({_N}) AS p",
    "q2": "SELECT SUM(least(n, 5)) FROM (SELECT COUNT(*) AS n FROM visits WHERE disease = 'Cold' GROUP BY user_id) AS p",
    "q3": "SELECT COUNT(*) FROM (SELECT user_id FROM visits GROUP BY user_id) AS p",
    "q4": "SELECT SUM(least(s, 5000D)) FROM (SELECT SUM(least(greatest(cost, 0D), 1000D)) AS s FROM visits GROUP BY user_id) AS p",
    "q5": "SELECT SUM(s * least(1D, 5D / n)), SUM(least(n, 5)) FROM (SELECT SUM(least(greatest(age, 0), 120)) AS s, COUNT(*) AS n FROM visits GROUP BY user_id) AS p",
    "q6": _GROUPS.format(k="city"),
    "q7": _GROUPS.format(k="city, disease"),
    "q8": "WITH p AS (SELECT tag, user_id, COUNT(*) AS n FROM visits GROUP BY tag, user_id), few AS (SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY md5(concat('s', user_id, tag))) AS r FROM p) AS q WHERE r <= 5), t AS (SELECT user_id, SUM(n) AS t FROM few GROUP BY user_id) SELECT tag, SUM(n * least(1D, 5D / t)), COUNT(*) FROM few JOIN t USING (user_id) GROUP BY tag",
    "q9": f"SELECT a, SUM(least(1D, 5D / n)) FROM (SELECT user_id, least(greatest(age, 0), 120) AS a FROM visits) AS v JOIN ({_N}) AS p USING (user_id) GROUP BY a",
    "q10": "SELECT SUM(s * w), SUM(q * w), SUM(n * w) FROM (SELECT s, q, n, least(1D, 5D / n) AS w FROM (SELECT SUM(a) AS s, SUM(a * a) AS q, COUNT(*) AS n FROM (SELECT user_id, least(greatest(age, 0), 120) AS a FROM visits) AS v GROUP BY user_id) AS p) AS p",
    "q11": "WITH s AS (SELECT region, user_id, COUNT(*) AS n FROM visits JOIN users USING (user_id) GROUP BY region, user_id) SELECT region, SUM(least(n, 5)) FROM s GROUP BY region",
    "q12": "SELECT SUM(least(greatest(s, 0D), 5000D)), COUNT(*) FROM (SELECT SUM(least(greatest(cost, 0D), 1000D)) AS s FROM visits GROUP BY user_id) AS p",
    "u1": "SELECT region, COUNT(*) FROM users GROUP BY region",
    "u2": "SELECT zipcode, sex, COUNT(*) FROM users WHERE region <> 'region3' GROUP BY zipcode, sex",
}


class Meter:
    """CPU of this process and of the JVM, and wall time."""

    def __init__(self) -> None:
        from pyspark import SparkContext

        assert SparkContext._gateway is not None
        self.pid = SparkContext._gateway.proc.pid

    def now(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(int(n) for n in fields[11:13]) / os.sysconf("SC_CLK_TCK") + time.process_time()

    def median(self, work: Callable[[], Any], runs: int) -> tuple[float, float]:
        work()
        found, walls = [], []
        for _ in range(runs):
            start, wall = self.now(), time.monotonic()
            work()
            found.append(self.now() - start)
            walls.append(time.monotonic() - wall)
        return statistics.median(found), statistics.median(walls)


def engine_over(folder: Path, master: str) -> Spark:
    files: dict[str, str | tuple[str, ...]] = {name: str(folder / f"{name}.parquet") for name in ("visits", "users")}
    return Spark(replace(policy_of(folder), source=DataSource("spark", files, master)))


def plain_session(engine: Spark, folder: Path) -> Callable[[str], Any]:
    """Statements in a session that nobody has changed, over the same files."""
    made = engine._server._session.newSession()
    for name in ("visits", "users"):
        made.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    return lambda sql: made.sql(sql).toArrow()


def others(folder: Path, skew: int, keys: int, master: str) -> None:
    """One person with very many rows; very many open keys."""
    with duckdb.connect() as link:
        link.execute(f"COPY (SELECT * FROM '{folder}/visits.parquet') TO '{folder}/plain.parquet'")
        for title, changed, question in (
            (f"a person with {skew:,} more rows", f"SELECT * FROM '{folder}/plain.parquet' UNION ALL (SELECT v.* REPLACE (0 AS user_id) FROM '{folder}/plain.parquet' AS v, range(100) LIMIT {skew})", "q6"),
            (f"{keys:,} open keys", f"SELECT * REPLACE ('t' || (hash(tag, user_id, day) % {keys}) AS tag) FROM '{folder}/plain.parquet'", "q8"),
        ):  # fmt: skip
            if title.startswith(("0 ", "a person with 0 ")):
                continue
            link.execute(f"COPY ({changed}) TO '{folder}/visits.parquet'")
            engine = engine_over(folder, master)
            gate, meter = opened(folder, engine), Meter()  # type: ignore[arg-type]
            cpu, wall = meter.median(engine_part(gate, QUESTIONS[question]), 1)
            print(f"{title}, {question}: {cpu:.1f} s of CPU, {wall:.1f} s", flush=True)
            gate.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--skew", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--master", default="local[2]")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, chosen.rows)
        engine = engine_over(folder, chosen.master)
        gate, meter, ratios = opened(folder, engine), Meter(), []  # type: ignore[arg-type]
        beside, plain = opened(folder), plain_session(engine, folder)
        print(
            f"Spark {chosen.master}, {chosen.rows:,} rows; CPU seconds of Spark and client, median of {chosen.runs}; wall seconds beside"
        )
        print(
            f"{'':>5}{'plain':>9}{'by hand':>9}{'ours':>9}{'/plain':>8}{'/hand':>8}{'DuckDB':>9}{'wall':>9}{'ours':>9}"
        )
        for key, question in QUESTIONS.items():
            bare, bare_wall = meter.median(lambda question=question: plain(question), chosen.runs)
            hand, _ = meter.median(lambda key=key: plain(BY_HAND[key]), chosen.runs)
            ours, wall = meter.median(engine_part(gate, question), chosen.runs)
            duck, _ = meter.median(engine_part(beside, question), chosen.runs)
            ratios.append(ours / hand)
            print(
                f"{key:>5}{bare:>9.2f}{hand:>9.2f}{ours:>9.2f}{ours / bare:>8.2f}{ratios[-1]:>8.2f}{duck:>9.3f}{bare_wall:>9.2f}{wall:>9.2f}",
                flush=True,
            )
        print(f"median ratio to SQL by hand {statistics.median(ratios):.2f}, largest {max(ratios):.2f}")
        gate.close()
        beside.close()
        others(folder, chosen.skew, chosen.keys, chosen.master)


if __name__ == "__main__":
    main()
