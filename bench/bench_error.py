"""The twelve questions at epsilon 1, bound 5, each asked many times: the error, and whether the answers are right.

    python bench/bench_error.py [--rows 100000] [--runs 200] [--draws 200000]

`sd` is the standard deviation of the answers, for groups the root of the mean variance. For one noisy count beside it:
`drawn`, the same over many draws of its law (± its standard error), and `law`, what the law has: 2r/(1-r)^2 with r =
e^(-1/scale), and 1/12 where a fine grid is rounded to whole numbers. `mean` is held against `hand`, the same bounded by
hand in plain SQL: `z` is their distance in standard errors of the mean, for groups the root of the mean square, so that
it is about one where the answers are right; groups without rows are left out of it, as no answer is below zero. `wide`
is the largest distance to the plain answer, over the largest plain number, where nothing is left out (a bound that no
person reaches, epsilon a million).
"""

# ruff: noqa: E501  a question stands on one line
from __future__ import annotations

import argparse
import math
import tempfile
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from suite import FLOOR, QUESTIONS, make, opened, plain_of

from sfumato.gateway import Gateway
from sfumato.gateway.answer import mechanism_of
from sfumato.gateway.query import Query
from sfumato.types import Exact

KEYS = [key for key in QUESTIONS if key.startswith("q")]
COUNTS = ("q1", "q2", "q3", "q6", "q7", "q11")
_EACH = "SELECT *, least(1, 5.0 / COUNT(*) OVER (PARTITION BY user_id)) AS w FROM visits"
HAND = FLOOR | {
    "q5": f"SELECT SUM(w * age) / SUM(w) FROM ({_EACH})",
    "q9": f"SELECT MIN(age) FROM (SELECT age, SUM(SUM(w)) OVER (ORDER BY age) / SUM(SUM(w)) OVER () AS below FROM ({_EACH}) GROUP BY age) WHERE below >= 0.5",
    "q10": f"SELECT SUM(w * age * age) / SUM(w) - (SUM(w * age) / SUM(w)) ** 2 FROM ({_EACH})",
    "q11": f"SELECT region, SUM(w) FROM ({_EACH}) JOIN users USING (user_id) GROUP BY region",
    "q12": "SELECT AVG(least(s, 5000)) FROM (SELECT SUM(cost) AS s FROM visits GROUP BY user_id)",
}


def table(rows: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], float]:
    """The number of each group; the group of no key is ()."""
    return {row[:-1]: float(row[-1]) for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--draws", type=int, default=200_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, chosen.rows)
        plain = plain_of(folder)
        most = plain.execute("SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY user_id)").fetchone()[0]
        heads = ("sd", "drawn", "+-", "law", "mean", "hand", "z", "wide")
        print(f"{chosen.rows:,} rows, {chosen.runs} runs\n{'':4}" + "".join(f"{head:>13}" for head in heads))
        with opened(folder) as gate, opened(folder, bound=most) as wide:
            for key in KEYS:
                told = _asked(gate, QUESTIONS[key], chosen.runs)
                whole = table(wide.sql(QUESTIONS[key], epsilon=10**6).rows)
                hand = table(plain.execute(HAND[key]).fetchall()) if key in HAND else None
                truth = table(plain.execute(QUESTIONS[key]).fetchall())
                drawn = _drawn(gate, QUESTIONS[key], chosen.draws) if key in COUNTS else (None,) * 3
                _print(key, (_sd(told), *drawn, *_held(told, hand), _far(whole, truth)))


def _print(key: str, numbers: tuple[float | None, ...]) -> None:
    cells = (
        "-" if number is None else f"{number:,.7g}" if abs(number) > 100 else f"{number:.3g}" for number in numbers
    )
    print(f"{key:4}" + "".join(f"{cell:>13}" for cell in cells), flush=True)


def _asked(gate: Gateway, sql: str, runs: int) -> dict[tuple[Any, ...], Any]:
    """All answers, by group; each a little better than the last, so that no stored answer will do."""
    answers = [table(gate.sql(sql, epsilon=1 - Fraction(runs - i, 10**12)).rows) for i in range(runs)]
    shown = set.intersection(*(set(answer) for answer in answers))
    return {key: np.array([answer[key] for answer in answers]) for key in shown}


def _sd(told: dict[tuple[Any, ...], Any]) -> float:
    return math.sqrt(sum(numbers.var(ddof=1) for numbers in told.values()) / len(told))


def _held(told: dict[tuple[Any, ...], Any], hand: dict[tuple[Any, ...], float] | None) -> tuple[float | None, ...]:
    """The mean of one number, what it should be, and how far they are apart; of groups only the last."""
    mean = told[()].mean() if () in told else None
    if hand is None:
        return mean, None, None
    distances = []
    for key in told.keys() & hand.keys():
        numbers = told[key]
        apart = numbers.mean() - hand[key]
        error = numbers.std(ddof=1) / math.sqrt(len(numbers))
        distances.append(apart / error if error else (0.0 if apart == 0 else math.inf))
    return mean, hand.get(()), math.sqrt(sum(z * z for z in distances) / len(distances))


def _far(whole: dict[tuple[Any, ...], float], truth: dict[tuple[Any, ...], float]) -> float:
    """Groups that are in one of them only count as zero in the other."""
    return max(abs(whole.get(key, 0.0) - truth.get(key, 0.0)) for key in {*whole, *truth}) / max(truth.values())


def _drawn(gate: Gateway, sql: str, draws: int) -> tuple[float, float, float]:
    """Standard deviation of many draws as an answer shows them, its standard error, and that of the law."""
    plan = gate._planner.fresh(Query(sql), date(2024, 6, 1))
    part = plan.cuts[0].parts[0]
    released = part.bundles[0]
    law = mechanism_of(released, part)
    noisy = np.asarray(law.release(Exact(np.zeros(draws, np.int64)))).astype(float) * float(released.unit)
    shown = np.floor(noisy + 0.5)
    sd = float(shown.std())
    error = math.sqrt(max(0.0, float((shown**4).mean()) - sd**4) / draws) / (2 * sd)
    scale, unit = float(released.scale / released.unit), float(released.unit)
    r = math.exp(-1 / scale)
    variance = 2 * r / (1 - r) ** 2 * unit**2 + (1 / 12 if unit < 1 else 0)
    return sd, error, math.sqrt(variance)


if __name__ == "__main__":
    main()
