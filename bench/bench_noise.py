"""Exact noise beside numpy's float noise and OpenDP's exact noise: nanoseconds a sample and ratios, in one run.

    python bench/bench_noise.py            (make bench pins it to one core)

Ratios above 1 mean that ours is faster. numpy's laplace and normal are the unsafe floor: floats, and no cryptographic
source.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.sampling import gaussian, laplace, sample_gaussian, sample_laplace

SCALES = (1, 3, 10, 100, 1000, 10**4, 10**5, 10**6)


def best(run: Callable[[], Any], times: int = 5) -> float:
    """CPU seconds of the best of several runs."""
    found = float("inf")
    for _ in range(times):
        start = time.process_time()
        run()
        found = min(found, time.process_time() - start)
    return found


def opendp_samplers(scale: float) -> dict[str, Callable[[list[int]], Any]] | None:
    """OpenDP's integer Laplace and Gaussian over vectors, or None where it is not installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int))
    return {
        "laplace": dp.m.make_laplace(space, dp.l1_distance(T=int), scale=scale),
        "gaussian": dp.m.make_gaussian(space, dp.l2_distance(T=float), scale=scale),
    }


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's, with ties given their mean rank."""

    def ranks(values: np.ndarray) -> np.ndarray:
        _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
        ends = np.cumsum(counts)
        return (ends - (counts - 1) / 2)[place]

    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def timing_of_one(sample: Callable[..., int], parameter: Fraction, count: int) -> float:
    """Rank correlation of |noise| with the wall time of its draw, one at a time."""
    sizes, times = np.empty(count), np.empty(count)
    clock = time.perf_counter_ns
    for i in range(count):
        start = clock()
        value = sample(parameter)
        times[i] = clock() - start
        sizes[i] = abs(value)
    return rank_correlation(sizes, times)


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--samples", type=int, default=10**6)
    options.add_argument("--draws", type=int, default=100_000, help="single draws for the rank correlation")
    given = options.parse_args()
    n, rng = given.samples, np.random.default_rng()
    few = [0] * 20_000
    print(f"{n:,} samples, ns each; numpy and OpenDP ({len(few):,} samples) in the same run; x = their time over ours")
    head = ("law", "scale", "ours", "numpy", "x numpy", "OpenDP", "x OpenDP", "n=1000", "one µs", "new ms")
    print("".join(f"{h:>10}" for h in head))
    for law in ("laplace", "gaussian"):
        for scale in SCALES:
            print(row(law, scale, n, rng, few))
    print(f"\nrank correlation of |noise| and time, {given.draws:,} single draws on one scale:")
    for name, sample, parameter in (
        ("laplace 1", sample_laplace, Fraction(1)),
        ("laplace 10", sample_laplace, Fraction(10)),
        ("laplace 1e6", sample_laplace, Fraction(10**6)),
        ("gaussian 10", sample_gaussian, Fraction(100)),
        ("gaussian 1e6", sample_gaussian, Fraction(10**12)),
    ):
        print(f"  {name:>13}: {timing_of_one(sample, parameter, given.draws):+.4f}")


def row(law: str, scale: int, n: int, rng: np.random.Generator, few: list[int]) -> str:
    """One line of the table."""
    if law == "laplace":
        sample, parameter, plans, theirs = sample_laplace, Fraction(scale), laplace._plan, rng.laplace
    else:
        sample, parameter, plans, theirs = sample_gaussian, Fraction(scale) ** 2, gaussian._plan, rng.normal
    new = []
    for step in range(1, 8):  # seven scales nobody has seen
        plans.cache_clear()
        start = time.perf_counter()
        sample(parameter + Fraction(step, 10**9))
        new.append(time.perf_counter() - start)
    sample(parameter, n)
    ours = best(lambda: sample(parameter, n)) / n
    numpy = best(lambda: theirs(0.0, float(scale), n)) / n
    thousand = best(lambda: [sample(parameter, 1000) for _ in range(20)]) / 20_000
    one = best(lambda: [sample(parameter) for _ in range(2000)]) / 2000
    cells = [law, f"{scale:g}", f"{ours * 1e9:.2f}", f"{numpy * 1e9:.1f}", f"{numpy / ours:.2f}"]
    peers = opendp_samplers(float(scale))
    if peers:
        peer = best(lambda: peers[law](few), 3) / len(few)
        cells += [f"{peer * 1e9:.0f}", f"{peer / ours:.0f}"]
    else:
        cells += ["-", "-"]
    cells += [f"{thousand * 1e9:.1f}", f"{one * 1e6:.2f}", f"{sorted(new)[3] * 1e3:.2f}"]
    return "".join(f"{cell:>10}" for cell in cells)


if __name__ == "__main__":
    main()
