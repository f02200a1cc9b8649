"""The drawing board: CPU seconds for the best private mechanism, repaired and certified, and ratios to qif.

    python bench/bench_design.py [--most 11]

Grids have the uniform prior (or a random one, without symmetry), Euclidean distances for privacy and loss, epsilon 1
for each cell. qif (Chatzikokolakis, 1.6) solves the same program with each of its solvers; its best one counts among
those whose matrix has the epsilon that was asked, by its own measure. It has no grid beyond 7 x 7 within minutes, and
checks or repairs nothing. Our numbers include reading the problem, the search, the repair and both checks. `--most 15`
goes on to a grid of 15 x 15, which takes minutes.
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction

import numpy as np

from sfumato.design.channels import channel
from sfumato.design.metrics import grid
from sfumato.design.optimum import optimal
from sfumato.design.utilities import utility

SOLVERS = ("GLOP", "CLP", "HIGHS", "SOPLEX")


def ours(name, prior, gain, *, epsilon, metric, inputs):
    start = time.process_time()
    best = optimal(prior, gain, epsilon, metric, inputs=inputs)
    took = time.process_time() - start
    print(f"{name:44} {took:8.2f} s   utility {float(best.utility):.9f}   proved to {float(best.gap):.1e}", flush=True)
    return best, took


def theirs(width):
    """Seconds, loss and epsilon of each of qif's solvers; None if qif is not there."""
    try:
        import qif
        from qif import measure, mechanism, probab
    except ImportError:
        print("qif is not installed, so that nothing is compared: pip install 'sfumato[bench]'")
        return None
    points = [(i % width, i // width) for i in range(width * width)]

    def apart(a, b):
        return float(np.hypot(points[a][0] - points[b][0], points[a][1] - points[b][1]))

    prior, found = probab.uniform(len(points)), {}
    for solver in SOLVERS:
        qif.lp.defaults.solver = solver
        start = time.process_time()
        made = mechanism.d_privacy.min_loss_given_d(prior, len(points), apart, apart)
        took = time.process_time() - start
        loss = sum(prior[x] * made[x, z] * apart(x, z) for x in range(len(points)) for z in range(len(points)))
        level = measure.d_privacy.smallest_epsilon(made, apart)
        found[solver] = took, loss, level
        print(f"  qif {solver:8} {width} x {width} {took:29.2f} s   loss {loss:.9f}   epsilon {level:.12g}", flush=True)
    return found


def compare(width):
    best, took = ours(f"grid {width} x {width}", "uniform", "loss", epsilon=1, metric="euclidean", inputs=grid(width))
    found = theirs(width)
    if found:
        right = {
            name: seconds
            for name, (seconds, loss, level) in found.items()
            if level <= 1 + 1e-9 and abs(loss + float(best.utility)) < 1e-6
        }
        name = min(right, key=right.get)
        print(f"  qif's best correct solver ({name}) to ours: {right[name] / took:.1f} times the CPU")


def random_prior(count, seed=3):
    weights = np.random.default_rng(seed).integers(1, 1000, count)
    return [Fraction(int(w), int(weights.sum())) for w in weights]


def counts(values=100, epsilon="1/2"):
    for word, prior in (("uniform", "uniform"), ("random", random_prior(values))):
        for gain in ("identity", "distance"):
            name = f"count of {values} values, {word} prior, {gain}"
            best, _ = ours(name, prior, gain, epsilon=epsilon, metric="manhattan", inputs=range(values))
            noise = float(utility(channel("truncated-geometric", range(values), epsilon=epsilon), prior, gain).gain)
            print(f"  best-remapped geometric noise: {noise:.9f}, {abs(noise - float(best.utility)):.1e} away")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=11)
    most = parser.parse_args().most
    ours("warm up", "uniform", "identity", epsilon=1, metric="manhattan", inputs=range(5))
    for width in (5, 7):
        compare(width)
    counts()
    prior = np.random.default_rng(3).dirichlet(np.ones(81)).tolist()
    ours("grid 9 x 9, random prior, no symmetry", prior, "loss", epsilon=1, metric="euclidean", inputs=grid(9))
    for width in (9, 11, 15):
        if width <= most:
            ours(f"grid {width} x {width}", "uniform", "loss", epsilon=1, metric="euclidean", inputs=grid(width))


if __name__ == "__main__":
    main()
