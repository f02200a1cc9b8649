"""Does the duration of a release tell how large its noise is? Arrays of every length, by the clock on the wall.

    python bench/bench_array_timing.py [--seconds 4]

The gateway releases arrays, also of one number. A number is rare here if its probability is below 2^-16: such numbers
lie far out, and are the ones that 16 random bits never decide. Runs are sorted into those with more rare numbers than
usual and the others (for short arrays: with some, and with none). AUC is the probability that a run of the first sort
took longer than one of the second: 0.5 tells nothing, 1 tells everything. The interval is for no difference at all.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.mechanisms import Gaussian, Geometric

SIZES = (1, 8, 64, 512, 4096, 8192, 20_000, 100_000)
RARE = 2.0**-16


def laplace_edge(scale: float) -> int:
    """The least size of a number whose probability is below RARE."""
    ratio = math.exp(-1 / scale)
    return math.ceil(scale * math.log((1 - ratio) / (1 + ratio) / RARE))


def gaussian_edge(sigma: float) -> int:
    """The same for discrete Gaussian noise."""
    return math.ceil(sigma * math.sqrt(2 * math.log(1 / (RARE * sigma * math.sqrt(2 * math.pi)))))


LAWS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "Geometric, scale 1": (Geometric(1, 1).release, laplace_edge(1)),
    "Geometric, scale 10": (Geometric(10, 1).release, laplace_edge(10)),
    "Geometric, scale 1000": (Geometric(1000, 1).release, laplace_edge(1000)),
    "Gaussian, sigma 10": (Gaussian(10, "0.5").release, gaussian_edge(10)),
}


def runs(release: Callable[[Any], Any], edge: int, size: int, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """How many rare numbers each run had, and how long it took in nanoseconds."""
    values = [0] * size
    for _ in range(max(20, 200_000 // size)):  # tables and pools have grown
        release(values)
    rare, times = [], []
    clock, end = time.perf_counter_ns, time.perf_counter_ns() + int(seconds * 1e9)
    while clock() < end:
        start = clock()
        noisy = release(values)
        times.append(clock() - start)
        rare.append(int((abs(noisy) >= edge).sum()))
    return np.array(rare), np.array(times)


def auc(slow: np.ndarray, fast: np.ndarray) -> float:
    """The probability that one of the first is larger than one of the second; ties count for half."""
    both = np.concatenate([slow, fast])
    _, place, counts = np.unique(both, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return float((ranks[: slow.size].sum() - slow.size * (slow.size + 1) / 2) / (slow.size * fast.size))


def main() -> None:
    """Print a line for each law and length."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=4.0, help="for each line")
    options.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    given = options.parse_args()
    head = ("length", "runs", "rare", "rare µs", "usual µs", "AUC", "no difference")
    print(f"{'law':24}" + "".join(f"{word:>{max(9, len(word) + 5)}}" for word in head))
    for name, (release, edge) in LAWS.items():
        for size in given.sizes:
            rare, times = runs(release, edge, size, given.seconds)
            more = rare > np.median(rare)
            slow, fast = times[more], times[~more]
            if not slow.size:
                print(f"{name:24}{size:11}{times.size:9}        0")
                continue
            half = 1.96 * math.sqrt((slow.size + fast.size + 1) / (12 * slow.size * fast.size))
            counts = f"{size:11}{times.size:9}{slow.size:9}"
            medians = f"{np.median(slow) / 1e3:12.1f}{np.median(fast) / 1e3:13.1f}"
            chance = f"{auc(slow, fast):9.3f}{0.5 - half:9.3f} to {0.5 + half:.3f}"
            print(f"{name:24}{counts}{medians}{chance}", flush=True)


if __name__ == "__main__":
    main()
