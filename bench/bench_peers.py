"""The same counts by peers that are installed beside us, in one run: CPU of a question, ratio to the plain one, error.

    python bench/bench_peers.py [--rows 100000] [--runs 20]

Epsilon 1, at most five rows of a person. diffprivlib protects rows, not persons: the caller bounds by hand and divides
epsilon by five; its count is cut at the number of rows, which it takes as public, so half of its noise is missing. What
is not installed, or does not run here, is said to be so.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from suite import CITIES, QUESTIONS, cpu, make, opened, plain_of

Ask = dict[str, Callable[[], float]]


def ours(folder: Path) -> Ask:
    """A whole question each time, at an epsilon of its own, a little below one."""
    gate, asked = opened(folder), iter(range(10**6))

    def ask(sql: str) -> float:
        return float(gate.sql(sql, epsilon=1 - Fraction(10**6 - next(asked), 10**12)).rows[0][-1])

    return {key: (lambda sql=QUESTIONS[key]: ask(sql)) for key in ("q1", "q3", "q6")}


def opendp(folder: Path) -> Ask:
    """The Polars interface: a person's rows are truncated."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    rows = pl.read_parquet(folder / "visits.parquet")
    one = dp.polars.Margin(by=[], max_length=2 * len(rows), max_groups=1)
    keys = pl.LazyFrame({"city": CITIES})

    def query(margins: list[Any]) -> Any:
        unit = dp.unit_of(contributions=1, identifier=pl.col("user_id"))
        loss = dp.loss_of(epsilon=1.0)
        context = dp.Context.compositor(
            data=rows.lazy(), privacy_unit=unit, privacy_loss=loss, split_evenly_over=1, margins=margins
        )
        return context.query()

    def cities() -> float:
        found = query([]).truncate_per_group(5).group_by("city").agg(dp.len()).with_keys(keys).release().collect()
        return float(dict(zip(found["city"], found["len"], strict=True))[CITIES[0]])

    return {
        "q1": lambda: query([one]).truncate_per_group(5).select(dp.len()).release().collect()["len"][0],
        "q3": lambda: (
            query([one]).truncate_per_group(1).select(pl.col("user_id").dp.n_unique()).release().collect()["user_id"][0]
        ),
        "q6": cities,
    }


def diffprivlib(folder: Path) -> Ask:
    """Five random rows of each person, chosen by the caller."""
    import diffprivlib as lib
    import duckdb
    import numpy as np

    sql = f"SELECT user_id, CAST(right(city, 2) AS DOUBLE) AS city FROM '{folder}/visits.parquet'"
    rows = duckdb.sql(sql).fetchnumpy()

    def bounded() -> Any:
        order = np.random.default_rng().permutation(len(rows["user_id"]))
        order = order[np.argsort(rows["user_id"][order], kind="stable")]
        users = rows["user_id"][order]
        first = np.r_[0, np.flatnonzero(users[1:] != users[:-1]) + 1]
        rank = np.arange(len(users)) - np.repeat(first, np.diff(np.r_[first, len(users)]))
        return rows["city"][order[rank < 5]]

    def cities() -> float:
        return float(lib.tools.histogram(bounded(), epsilon=0.2, bins=50, range=(-0.5, 49.5))[0][0])

    return {"q1": lambda: float(lib.tools.count_nonzero(np.ones(len(bounded())), epsilon=0.2)), "q6": cities}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=20)
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, chosen.rows)
        plain = plain_of(folder)
        base = {key: cpu(lambda sql=QUESTIONS[key]: plain.execute(sql).fetchall(), 5) for key in ("q1", "q3", "q6")}
        print(f"{chosen.rows:,} rows, {chosen.runs} runs\n{'':24}{'CPU ms':>10}{'/plain':>9}{'sd':>9}")
        for peer in (ours, opendp, diffprivlib):
            try:
                asks = peer(folder)
            except ImportError:
                print(f"{peer.__name__:14} not installed")
                continue
            for key, plainly in base.items():
                _print(f"{peer.__name__:14}{key:>4}", asks.get(key), plainly, chosen.runs)


def _print(name: str, ask: Callable[[], float] | None, plainly: float, runs: int) -> None:
    if ask is None:
        print(f"{name} not offered")
        return
    found, spent = [], []
    try:
        for _ in range(runs):
            start = time.process_time()
            found.append(float(ask()))
            spent.append(1000 * (time.process_time() - start))
    except Exception as error:  # noqa: BLE001  whatever a peer raises is what it says
        print(f"{name} does not run here: {' '.join(str(error).split())[:90]}")
        return
    middle = statistics.median(spent)
    print(f"{name}{middle:16.1f}{middle / plainly:9.1f}{statistics.stdev(found):9.2f}", flush=True)


if __name__ == "__main__":
    main()
