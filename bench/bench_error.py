"""The error of counts at epsilon 1, bound 5, beside the law's own.

    python bench/bench_error.py [--rows 100000] [--runs 200] [--draws 200000]

`asked` is the standard deviation over whole questions, `drawn` over many draws of the same law (± its standard error),
`law` what the law has: 2r/(1-r)^2 with r = e^(-1/scale), and 1/12 where a fine grid is rounded to whole numbers.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
from suite import QUESTIONS, make, opened

from sfumato.gateway.answer import mechanism_of
from sfumato.words import Exact


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--draws", type=int, default=200_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        make(Path(name), chosen.rows)
        with opened(Path(name)) as gate:
            print(f"{'':4}{'asked':>9}{'drawn':>9}{'+-':>7}{'law':>9}")
            for key in ("q1", "q2", "q3", "q6", "q7"):
                # each a little better than the last, so that no stored answer will do
                asked = (
                    gate.sql(QUESTIONS[key], epsilon=1 - Fraction(chosen.runs - i, 10**12)) for i in range(chosen.runs)
                )
                told = statistics.stdev(float(answer.rows[0][-1]) for answer in asked)
                drawn, error, exact = _drawn(gate, QUESTIONS[key], chosen.draws)
                print(f"{key:4}{told:9.3f}{drawn:9.3f}{error:7.3f}{exact:9.3f}", flush=True)


def _drawn(gate: object, sql: str, draws: int) -> tuple[float, float, float]:
    """Standard deviation of many draws as an answer shows them, its standard error, and that of the law."""
    plan = gate._plan(sql, 1, rows_per_unit=None, noise=None, within=None, confidence=Fraction(95, 100))
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
