"""Twelve questions beside hand-written bounded SQL and the plain query, in one run: CPU of the engine, and our own.

    python bench/bench_suite.py [--rows 1000000] [--runs 5] [--folder DIR]

`engine` is what the engine takes below the cut. `new` is the rest of the walk for a text that was never asked, `again`
for the same text at another epsilon (drawn anew), `other` for the same shape with other constants.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from duckdb import DuckDBPyConnection
from suite import FLOOR, QUESTIONS, Own, cpu, engine_part, make, opened, plain_of

from sfumato.gateway import Gateway

OTHER = {
    "q2": "SELECT COUNT(*) FROM visits WHERE disease = 'Disease{:02d}'",
    "q6": "SELECT city, COUNT(*) FROM visits WHERE age > {} GROUP BY city",
    "q7": "SELECT city, disease, COUNT(*) FROM visits WHERE age > {} GROUP BY city, disease",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where the data are, or are made and kept")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = chosen.folder or Path(name)
        if not (folder / "visits.parquet").exists():
            make(folder, chosen.rows)
        plain = plain_of(folder)
        with opened(folder) as gate:
            _print(chosen, plain, gate)


def _print(chosen: argparse.Namespace, plain: DuckDBPyConnection, gate: Gateway) -> None:
    print(f"{chosen.rows:,} rows, CPU in ms, one thread, median of {chosen.runs}")
    heads = ("plain", "floor", "engine", "/floor", "/plain", "new", "again", "other")
    print(f"{'':4}" + "".join(f"{head:>9}" for head in heads))
    engines = {key: cpu(engine_part(gate, sql), chosen.runs) for key, sql in QUESTIONS.items()}
    own = Own(gate)
    for key, sql in QUESTIONS.items():
        base = cpu(lambda sql=sql: plain.execute(sql).fetchall(), chosen.runs)
        floor = cpu(lambda key=key: plain.execute(FLOOR[key]).fetchall(), chosen.runs) if key in FLOOR else None
        engine = engines[key]
        new, again = (own([sql] * (chosen.runs + 1), fresh=fresh) for fresh in (True, False))
        other = own([OTHER[key].format(i + 1) for i in range(chosen.runs)], fresh=False) if key in OTHER else None
        numbers = (base, floor, engine, None if floor is None else engine / floor, engine / base, new, again, other)
        digits = (1, 1, 1, 2, 2, 1, 1, 1)
        cells = ("-" if n is None else f"{n:,.{d}f}" for n, d in zip(numbers, digits, strict=True))
        print(f"{key:4}" + "".join(f"{cell:>9}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
