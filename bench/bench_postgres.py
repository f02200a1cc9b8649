"""The engine in PostgreSQL: CPU of server and client for each question, against SQL that bounds each person by hand.

    python bench/bench_postgres.py [--rows 1000000] [--runs 3]

Both sides run on the same server over the same rows: ours by the job as the gateway runs it, the other by a statement
that somebody wrote for this question, without a compiler: floats where ours has exact numbers, no guards against values
that are not there, the faster of two plans (JIT on or off). A server is found as the tests find one.
"""

# ruff: noqa: E501  a statement stands on one line
from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import psycopg
from suite import QUESTIONS, engine_part, make, opened, policy_of

from sfumato.engines.postgres import PostgreSQL
from sfumato.policy import DataSource

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.pgserver import server

_N = "SELECT user_id, COUNT(*) AS n FROM visits GROUP BY user_id"
_GROUPS = (
    "WITH s AS (SELECT {k}, user_id, COUNT(*) AS n FROM visits GROUP BY {k}, user_id), t AS (SELECT user_id, SUM(n)::float8 AS t FROM s GROUP BY user_id)"
    " SELECT {k}, SUM(n * least(1, 5 / t)) FROM s JOIN t USING (user_id) GROUP BY {k}"
)
BY_HAND = {
    "q1": f"SELECT SUM(least(n, 5)) FROM ({_N}) AS p",
    "q2": "SELECT SUM(least(n, 5)) FROM (SELECT COUNT(*) AS n FROM visits WHERE disease = 'Cold' GROUP BY user_id) AS p",
    "q3": "SELECT COUNT(*) FROM (SELECT user_id FROM visits GROUP BY user_id) AS p",
    "q4": "SELECT SUM(least(s, 5000)) FROM (SELECT SUM(least(greatest(cost, 0), 1000)) AS s FROM visits GROUP BY user_id) AS p",
    "q5": "SELECT SUM(s * least(1, 5 / n)), SUM(least(n, 5)) FROM (SELECT SUM(least(greatest(age, 0), 120))::float8 AS s, COUNT(*)::float8 AS n FROM visits GROUP BY user_id) AS p",
    "q6": _GROUPS.format(k="city"),
    "q7": _GROUPS.format(k="city, disease"),
    "q8": "WITH p AS (SELECT tag, user_id, COUNT(*) AS n FROM visits GROUP BY tag, user_id), few AS (SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY md5('s' || user_id || tag)) AS r FROM p) AS q WHERE r <= 5), t AS (SELECT user_id, SUM(n)::float8 AS t FROM few GROUP BY user_id) SELECT tag, SUM(n * least(1, 5 / t)), COUNT(*) FROM few JOIN t USING (user_id) GROUP BY tag",
    "q9": f"SELECT least(greatest(age, 0), 120), SUM(least(1, 5 / n::float8)) FROM visits JOIN ({_N}) AS p USING (user_id) GROUP BY 1",
    "q10": "SELECT SUM(s * w), SUM(q * w), SUM(n * w) FROM (SELECT s, q, n, least(1, 5 / n) AS w FROM (SELECT SUM(a) AS s, SUM(a * a) AS q, COUNT(*)::float8 AS n FROM (SELECT user_id, least(greatest(age, 0), 120)::float8 AS a FROM visits) AS v GROUP BY user_id) AS p) AS p",
    "q11": "WITH s AS (SELECT region, user_id, COUNT(*)::float8 AS n FROM visits JOIN users USING (user_id) GROUP BY region, user_id) SELECT region, SUM(least(n, 5)) FROM s GROUP BY region",
    "q12": "SELECT SUM(least(greatest(s, 0), 5000)), COUNT(*) FROM (SELECT SUM(least(greatest(cost, 0), 1000)) AS s FROM visits GROUP BY user_id) AS p",
    "u1": "SELECT region, COUNT(*) FROM users GROUP BY region",
    "u2": "SELECT zipcode, sex, COUNT(*) FROM users WHERE region <> 'region3' GROUP BY zipcode, sex",
}


def load(address: str, folder: Path) -> None:
    """The suite's tables, with the index that says that users are persons."""
    with psycopg.connect(address, autocommit=True) as link:
        link.execute("DROP SCHEMA IF EXISTS bench CASCADE; CREATE SCHEMA bench; SET search_path = bench")
        link.execute(
            "CREATE TABLE visits (user_id bigint, city text, disease text, age int, cost numeric(8, 2), day date, tag text)"
        )
        link.execute("CREATE TABLE users (user_id bigint PRIMARY KEY, sex text, region text, zipcode int)")
        for name in ("visits", "users"):
            rows = duckdb.connect().execute(f"SELECT * FROM '{folder}/{name}.parquet'")
            with link.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                while part := rows.fetchmany(20_000):
                    for row in part:
                        copy.write_row(row)
        link.execute("ANALYZE")
        link.execute("ALTER DATABASE postgres SET work_mem = '256MB'")
        link.execute("ALTER DATABASE postgres SET search_path = bench")


def ticks(pid: int, *, ended: bool) -> float:
    """Seconds of CPU of a process, with those of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(n) for n in fields[11 : 15 if ended else 13]) / os.sysconf("SC_CLK_TCK")


class Meter:
    """CPU of this process, of the server's processes, and of its parallel workers, which end with each statement."""

    def __init__(self, address: str) -> None:
        with psycopg.connect(address) as link:
            (backend,) = link.execute("SELECT pg_backend_pid()").fetchone() or (0,)
            self.parent = int(Path(f"/proc/{backend}/stat").read_text().rpartition(")")[2].split()[1])

    def now(self) -> float:
        children = [int(p) for p in Path(f"/proc/{self.parent}/task/{self.parent}/children").read_text().split()]
        server = ticks(self.parent, ended=True) + sum(ticks(pid, ended=False) for pid in children)
        return server + time.process_time()

    def median(self, work: Callable[[], Any], runs: int) -> float:
        work()
        found = []
        for _ in range(runs):
            start = self.now()
            work()
            found.append(self.now() - start)
        return statistics.median(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, server() as address:
        folder = Path(name)
        make(folder, chosen.rows)
        load(address, folder)
        policy = replace(policy_of(folder), source=DataSource("postgres", None, address))
        engine = PostgreSQL(policy)
        gate, meter, ratios = opened(folder, engine), Meter(address), []  # type: ignore[arg-type]
        with psycopg.connect(address, autocommit=True) as link:
            version = link.info.server_version
            print(
                f"PostgreSQL {version // 10000}, {chosen.rows:,} rows; CPU seconds of server and client, median of {chosen.runs}"
            )
            print(f"{'':>5}{'by hand':>10}{'ours':>9}{'ratio':>8}")
            for key, question in QUESTIONS.items():
                hand = []
                for jit in ("on", "off"):
                    link.execute(f"SET jit = {jit}")
                    hand.append(meter.median(lambda key=key: link.execute(BY_HAND[key]).fetchall(), chosen.runs))
                ours = meter.median(engine_part(gate, question), chosen.runs)
                ratios.append(ours / min(hand))
                print(f"{key:>5}{min(hand):>10.2f}{ours:>9.2f}{ratios[-1]:>8.2f}", flush=True)
        print(f"median ratio {statistics.median(ratios):.2f}, largest {max(ratios):.2f}")
        gate.close()


if __name__ == "__main__":
    main()
