"""The measurements of bench/ run, at a tiny size. Their numbers are not looked at."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TINY = {
    "bench_walk.py": ("--rows", "2000", "--runs", "1"),
    "bench_suite.py": ("--rows", "2000", "--runs", "1"),
    "bench_prepared.py": ("--rows", "2000", "--runs", "1"),
    "bench_error.py": ("--rows", "2000", "--runs", "3", "--draws", "100"),
    "bench_noise.py": ("--samples", "1000", "--draws", "2"),
    "bench_availability.py": ("--queries", "2"),
    "bench_http.py": ("--seconds", "0.2", "--clients", "2"),
}
PEERS = """
import numpy as np
import bench_local
for name in ("count-mean-sketch", "prefix", "rappor"):
    assert np.isfinite(bench_local.text_errors(name, np.random.default_rng(1), 2, 1000)).all(), name
"""


def run(*words):
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), str(ROOT / "bench")])
    command = [sys.executable, *words]
    return subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False)


def test_errors_of_texts():
    done = run("-c", PEERS)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n == "bench_walk.py" else pytest.mark.slow) for n in TINY]
)
def test_it_runs_at_a_tiny_size(name):
    done = run(str(ROOT / "bench" / name), *TINY[name])
    assert done.returncode == 0, done.stderr[-2000:]
