"""How often intervals of 95 % hold the plain answer: every kind of interval, fresh draws through the whole path.

    python bench/bench_coverage.py [--intervals 2000] [--seconds 10] [--only median,avg] [--epsilon 0.2]

Data: 600 made-up people with one row each, so that no bound cuts rows and plain SQL is what an interval is about. Every
draw is a query of its own, at an epsilon that is larger by 1e-12: planned, charged, drawn and stored as any other. Each
kind ends with so many intervals, or after so many seconds of CPU. `held` is the part of them that hold the plain number,
of all groups of an answer (open keys: where they are shown), with the 99 % interval of Clopper and Pearson; prefix sums
share their noise, so there each answer counts once, with the part of its totals that are held, and the interval is the
normal one. Below 95 % by more than chance is a fault, and said. `untold` is the part that is the whole range or may be
anything, and counts as held.
"""

# ruff: noqa: E501  a query stands on one line
from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from datetime import date, timedelta
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import duckdb
import pandas as pd

import sfumato
from sfumato.audit.bounds import bound_above, bound_below

PEOPLE = 600
KINDS = {
    "count": "SELECT COUNT(*) FROM data WHERE {k} AND x > 30",
    "count by key": "SELECT g, COUNT(*) FROM data WHERE {k} GROUP BY g",
    "count of an open key": "SELECT w, COUNT(*) FROM data WHERE {k} GROUP BY w",
    "total over groups": "SELECT SUM(n) FROM (SELECT g, COUNT(*) AS n FROM data WHERE {k} GROUP BY g) AS t",
    "prefix sums": "SELECT x, SUM(COUNT(*)) OVER (ORDER BY x) FROM data WHERE {k} GROUP BY x",
    "distinct": "SELECT COUNT(DISTINCT x) FROM data WHERE {k}",
    "sum": "SELECT SUM(x) FROM data WHERE {k}",
    "avg": "SELECT g, AVG(x) FROM data WHERE {k} GROUP BY g",
    "ratio": "SELECT 100.0 * COUNT(*) FILTER (WHERE x > 50) / COUNT(*) FROM data WHERE {k}",
    "product": "SELECT AVG(x) * AVG(y) FROM data WHERE {k}",
    "rollup": "SELECT g, GROUPING(g), SUM(x) FROM data WHERE {k} GROUP BY ROLLUP (g)",
    "var_pop": "SELECT VAR_POP(x) FROM data WHERE {k}",
    "stddev_samp": "SELECT STDDEV_SAMP(x) FROM data WHERE {k}",
    "covar_pop": "SELECT COVAR_POP(x, y) FROM data WHERE {k}",
    "corr": "SELECT CORR(x, y) FROM data WHERE {k}",
    "regr_slope": "SELECT REGR_SLOPE(y, x) FROM data WHERE {k}",
    "regr_r2": "SELECT REGR_R2(y, x) FROM data WHERE {k}",
    "median": "SELECT g, MEDIAN(x) FROM data WHERE {k} GROUP BY g",
    "percentile_cont": "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY y) FROM data WHERE {k}",
    "percentile_disc": "SELECT PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY y) FROM data WHERE {k}",
    "percentile of days": "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY d) FROM data WHERE {k}",
    "min": "SELECT g, MIN(x) FROM data WHERE {k} GROUP BY g",
    "max": "SELECT MAX(y) FROM data WHERE {k}",
    "range": "SELECT MAX(x) - MIN(x) FROM data WHERE {k}",
}
GAUSSIAN = ("count by key", "avg", "prefix sums", "median", "var_pop")


def frame() -> pd.DataFrame:
    """The rows: some values often, some keys rare, one group of few."""
    x = [(i * i) % 97 for i in range(PEOPLE)]
    return pd.DataFrame(
        {
            "id": range(PEOPLE),
            "k": [0] * PEOPLE,
            "x": x,
            "y": [(2 * v + (i * 7919) % 60) ** 2 // 40 for i, v in enumerate(x)],
            "g": ["abcd"[min(3, i % 16 // 5)] for i in range(PEOPLE)],
            "w": [f"w{int((i % 100) ** 0.7)}" for i in range(PEOPLE)],
            "d": [date(2020, 1, 1) + timedelta(days=3 * v) for v in x],
        }
    )


def gate_of(data: pd.DataFrame) -> Any:
    """A gateway with a budget that does not end, but for delta, which pays for fifty selections of keys."""
    return sfumato.protect(
        data, unit="id", rows_per_unit=1, epsilon=10**9, delta=0.9, composition="best",
        bounds={"k": (0, 10**9), "x": (0, 100), "y": (0, 2000), "d": (date(2019, 1, 1), date(2022, 1, 1))},
        values={"g": ["a", "b", "c", "d"]},
    )  # fmt: skip


def covered(
    data: pd.DataFrame, sql: str, truth: dict[Any, Any], options: dict[str, Any], *, most: int, until: float
) -> list[tuple[int, int, int]]:
    """Of each answer: how many intervals there were, how many held, and how many said nothing."""
    answers: list[tuple[int, int, int]] = []
    groups, number, met = {key for key, value in truth.items() if value is not None}, 0, 0
    while met < most and time.process_time() < until:
        with gate_of(data) as gate:
            for turn in range(number, number + 50):
                answer = gate.sql(sql, epsilon=options["epsilon"] + Fraction(turn, 10**12), noise=options["noise"])
                ends, untold, held, nothing = answer.intervals(), answer.untold(), 0, 0
                places = [i for i, row in enumerate(answer.rows) if row[:-1] in groups]
                for place in places:
                    end, said = ends[place][-1], bool(untold[place][-1])
                    nothing += said
                    held += said if end is None else end[0] <= truth[answer.rows[place][:-1]] <= end[1]
                answers.append((len(places), held, nothing))
                met += 1 if options["shared"] else len(places)
                if met >= most or time.process_time() > until:
                    break
            number += 50
    return answers


def chances(answers: list[tuple[int, int, int]], shared: bool) -> tuple[int, float, float, float]:
    """How many independent ones there are, the part that held, and from where to where it may be, with 99 %."""
    met, held = sum(n for n, _, _ in answers), sum(h for _, h, _ in answers)
    if not shared:
        return met, held / met, bound_below(held, met, 0.005), bound_above(held, met, 0.005)
    parts = [h / n for n, h, _ in answers]
    error = NormalDist().inv_cdf(0.995) * statistics.stdev(parts) / len(parts) ** 0.5
    return len(parts), statistics.mean(parts), statistics.mean(parts) - error, min(1.0, statistics.mean(parts) + error)


def main() -> None:
    """The table; exit code 1 if a kind holds less than it says by more than chance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--intervals", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(1, 5))
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    data = frame()
    plain = duckdb.connect(config={"threads": 1})
    plain.register("data", data)
    wanted = [name for name in KINDS if not asked.only or name in asked.only.split(",")]
    print(f"{PEOPLE} people, epsilon {float(asked.epsilon)}, intervals of 95 %")
    print(f"{'kind':24}{'noise':11}{'intervals':>10}{'held':>9}{'99 % from':>11}{'to':>9}{'untold':>9}{'CPU s':>8}")
    wrong = []
    for name in wanted:
        sql = KINDS[name].format(k="true")
        truth = {row[:-1]: row[-1] for row in plain.execute(sql).fetchall()}
        truth = {key: value.date() if hasattr(value, "date") else value for key, value in truth.items()}
        for noise in ("geometric", *(("gaussian",) if name in GAUSSIAN else ())):
            began, shared = time.process_time(), name == "prefix sums"
            options = {"epsilon": asked.epsilon, "noise": noise, "shared": shared}
            answers = covered(data, sql, truth, options, most=asked.intervals, until=began + asked.seconds)
            met, part, low, high = chances(answers, shared)
            if high < 0.95:
                wrong.append(name)
            nothing = sum(n for *_, n in answers) / max(1, sum(n for n, *_ in answers))
            spent = time.process_time() - began
            print(
                f"{name:24}{noise:11}{met:10,}{part:9.2%}{low:11.2%}{high:9.2%}{nothing:9.1%}{spent:8.1f}", flush=True
            )
    if wrong:
        sys.exit(f"intervals hold less than they say: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
