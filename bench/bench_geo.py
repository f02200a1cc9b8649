"""Speed of location privacy, in CPU seconds of one process: `python bench/bench_geo.py`."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import json
import tempfile
import time
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato import design
from sfumato.geo.evaluation import evaluate
from sfumato.geo.files import ColumnChoice, obfuscate_file
from sfumato.geo.grid_channels import GridCells
from sfumato.geo.lattice_noise import LatticeNoise
from sfumato.geo.mechanism import LocationMechanism

POINTS, ROWS = 2_000_000, 1_000_000


def cpu(work):
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def noise():
    for dimensions in (2, 3):
        for rate in (
            Fraction(10**5),
            Fraction(10),
            Fraction(1),
            Fraction(1, 100),
            Fraction(1, 10**6),
            Fraction(1, 10**10),
        ):
            made = LatticeNoise(rate, dimensions)
            made.sample(1000)
            seconds, _ = cpu(lambda made=made: made.sample(POINTS))
            speed = POINTS / seconds / 1e6
            print(f"noise, {dimensions} dimensions, rate {float(rate):g}: {speed:.1f} million points a second")


def files(home):
    chance = np.random.default_rng(0)
    lat, lon = 48.85 + chance.normal(0, 0.05, ROWS), 2.35 + chance.normal(0, 0.05, ROWS)
    with (home / "a.csv").open("w") as file:
        file.write("id,lat,lon\n")
        file.writelines(f"{i},{a:.6f},{b:.6f}\n" for i, (a, b) in enumerate(zip(lat, lon, strict=True)))
    pq.write_table(pa.table({"id": np.arange(ROWS), "lat": lat, "lon": lon}), home / "a.parquet")
    features = [
        {"type": "Feature", "properties": {"id": i}, "geometry": {"type": "Point", "coordinates": [b, a]}}
        for i, (a, b) in enumerate(zip(lat[:200_000].tolist(), lon[:200_000].tolist(), strict=True))
    ]
    (home / "a.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    for around in ((48.85, 2.35), None):
        made = LocationMechanism.within("ln 4", 200, around=around)
        for name in ("a.csv", "a.parquet", "a.geojson"):
            seconds, done = cpu(
                partial(obfuscate_file, home / name, home / f"out-{name}", made, ColumnChoice(keep=("id",)))
            )
            kind = "planar" if around else "worldwide"
            print(f"{name}, {done.rows} rows, {kind}: {seconds:.2f} s")


def grids():
    seconds, done = cpu(lambda: evaluate(GridCells(9, 9)))
    print(f"evaluate 9x9, {len(done.rows)} rows: {seconds:.2f} s")
    for seed in (1, 2, 3):
        weights = np.random.default_rng(seed).dirichlet(np.ones(81))
        whole = [Fraction(int(w * 10**9) + 1) for w in weights]
        prior = [w / sum(whole) for w in whole]
        seconds, best = cpu(lambda prior=prior: design.optimal(prior, "loss", 1, "euclidean", inputs=design.grid(9)))
        loss, gap = -float(best.utility), float(best.gap)
        print(f"optimum for a random prior on 9x9: {seconds:.2f} s, loss {loss:.6f}, gap {gap:.1e}")


if __name__ == "__main__":
    noise()
    with tempfile.TemporaryDirectory() as home:
        files(Path(home))
    grids()
