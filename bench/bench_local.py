"""Local privacy beside pure-ldp and multi-freq-ldpy: CPU seconds for a million users at epsilon 1, in one run.

    python bench/bench_local.py [users]      (make bench pins it to one core)

Ours encodes and estimates all users. Peers encode one user at a time: they get a sample of users, and their time is
scaled up, which is in proportion for all of them; the size of the sample stands beside it. Ours draws from AES in
counter mode with exact thresholds, theirs from Mersenne twisters in floats. Then the mean squared error of every
mechanism over 50 runs, beside what its variance says.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.local import ENCODERS
from sfumato.local.estimates import share_variance
from sfumato.local.means import estimate_mean
from sfumato.local.rappor import Rappor
from sfumato.local.sketch import CountMeanSketch, PrefixExtending
from sfumato.local.strings import design, fit
from sfumato.local.tape import SystemTape

TAPE = SystemTape()


def zipf(rng: np.random.Generator, users: int, size: int) -> np.ndarray:
    weights = 1 / np.arange(1, size + 1) ** 1.1
    return rng.choice(size, users, p=weights / weights.sum())


def cpu(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def ours(name: str, values: np.ndarray, size: int) -> tuple[float, float]:
    encoder = ENCODERS[name].planned(size, 1)
    encoder.encode(values[:1000], TAPE)
    encoding, reports = cpu(lambda: encoder.encode(values, TAPE))
    decoding, _ = cpu(lambda: encoder.shares(encoder.tally(reports)))
    return encoding, decoding


def pure_ldp(name: str, values: np.ndarray, size: int) -> tuple[float, float]:
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient, HadamardMechServer
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    padded = 1 << (size - 1).bit_length()  # its transform knows powers of two only
    make = {
        "k-ary": lambda: (DEClient(1, size), DEServer(1, size)),
        "optimised-unary": lambda: (UEClient(1, size, use_oue=True), UEServer(1, size, use_oue=True)),
        "hadamard": lambda: (HadamardMechClient(1, padded, 1), HadamardMechServer(1, padded, 1)),
        "local-hashing": lambda: (LHClient(1, size, use_olh=True), LHServer(1, size, use_olh=True)),
    }
    client, server = make[name]()
    items = (values + 1).tolist()
    encoding, reports = cpu(lambda: [client.privatise(item) for item in items])

    def decode() -> Any:
        for report in reports:
            server.aggregate(report)
        return server.estimate_all(range(1, size + 1), suppress_warnings=True)

    return encoding, cpu(decode)[0]


def multi_freq(name: str, values: np.ndarray, size: int) -> tuple[float, float]:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    ways: dict[str, tuple[Callable[[int], Any], Callable[[Any], Any]]] = {
        "k-ary": (lambda v: GRR_Client(v, size, 1), lambda r: GRR_Aggregator_MI(r, size, 1)),
        "optimised-unary": (lambda v: UE_Client(v, size, 1, True), lambda r: UE_Aggregator_MI(r, 1, True)),
        "local-hashing": (lambda v: LH_Client(v, size, 1, True), lambda r: LH_Aggregator_MI(r, size, 1, True)),
        "subset": (lambda v: SS_Client(v, size, 1), lambda r: SS_Aggregator_MI(r, size, 1)),
    }
    client, server = ways[name]
    client(0)  # compiles
    items = values.tolist()
    encoding, reports = cpu(lambda: [client(item) for item in items])
    return encoding, cpu(lambda: server(reports))[0]


PEERS = (("pure-ldp", pure_ldp), ("multi-freq-ldpy", multi_freq))
CASES = (
    ("k-ary", 100, 100_000),
    ("k-ary", 1000, 100_000),
    ("hadamard", 1000, 50_000),
    ("optimised-unary", 100, 20_000),
    ("optimised-unary", 1000, 5_000),
    ("local-hashing", 1000, 2_000),
    ("subset", 1000, 2_000),
)


def table(users: int) -> None:
    rng = np.random.default_rng(1)
    print(f"{users:,} users, epsilon 1, Zipf 1.1; CPU seconds to encode + to estimate")
    for name, size, sample in CASES:
        values = zipf(rng, users, size)
        if name == "subset":  # a tenth of the users, scaled up
            mine = tuple(10 * seconds for seconds in ours(name, values[: users // 10], size))
        else:
            mine = min((ours(name, values, size) for _ in range(3)), key=sum)
        print(f"{name:16} {size:5}  sfumato          {mine[0]:8.3f} + {mine[1]:7.3f}")
        for peer, run in PEERS:
            try:
                part = run(name, values[:sample], size)
            except KeyError:
                continue  # it has no such mechanism
            except ImportError as error:
                print(f"{'':22}  {peer} is not installed: {error}")
                continue
            scaled = [seconds * users / sample for seconds in part]
            print(
                f"{'':22}  {peer:15}  {scaled[0]:8.3f} + {scaled[1]:7.3f}"
                f"  x{sum(scaled) / sum(mine):.1f} of both, x{scaled[1] / mine[1]:.0f} to estimate ({sample:,} users)"
            )


def errors(runs: int = 50, users: int = 20_000, size: int = 100) -> None:
    """Squared error over variance, averaged over all values and runs: 1 is what theory says."""
    rng = np.random.default_rng(2)
    values = zipf(rng, users, size)
    print(f"\nmean squared error / theory, {runs} runs of {users:,} users, {size} values or a mean")
    for name, kind in ENCODERS.items():
        if kind.takes == "values":
            encoder = kind.planned(2 if name == "warner" else size, 1)
            held = values[: users // 20] % 2 if name == "warner" else values  # one number a run: many small runs
            share = np.bincount(held, minlength=encoder.size) / len(held)
            variance = share_variance(encoder.worth, share, len(held), "fixed")
            squares = [
                ((encoder.shares(encoder.tally(encoder.encode(held, TAPE))) - share) ** 2 / variance).mean()
                for _ in range(runs * (240 if name == "warner" else 1))
            ]
        elif kind.takes == "numbers":
            encoder = kind.planned(1)
            points = rng.integers(0, encoder.grid + 1, users // 20)
            u = points / encoder.grid
            c0, c1, c2 = (float(c) for c in encoder.spread)
            variance = (c0 + c1 * u + c2 * u * u).mean() / len(u)
            squares = [
                (estimate_mean(encoder, encoder.tally(encoder.encode(points, TAPE)))[0] - u.mean()) ** 2 / variance
                for _ in range(runs * 240)
            ]
        else:
            squares = text_errors(name, rng, runs)
        print(f"  {name:16} {np.mean(squares):.3f}")


def text_errors(name: str, rng: np.random.Generator, runs: int, users: int = 6_000) -> list[float]:
    """Eighty texts, all of them candidates. The hash functions of a sketch are public: each run has a salt of its own.
    Heavy hitters are looked up at their full length, without the search that selects them.
    """
    texts = [f"text{i:02d}" for i in range(80)]
    held = zipf(rng, users, len(texts))
    people, true = [texts[v] for v in held], np.bincount(held, minlength=len(texts)) / users
    squares = []
    for run in range(runs):
        if name == "count-mean-sketch":
            sketch = CountMeanSketch.planned(2, hashes=64, columns=64, salt=run)
            supports = sketch.supports(sketch.tally(sketch.encode(people, TAPE)), texts)
            shares = (supports[1:] / users - float(sketch.q)) / float(sketch.p - sketch.q)
            spread = sketch.collision_spread * ((true**2).sum() - true**2)
            variance = share_variance(sketch.worth, true, users, "fixed") + spread
        elif name == "prefix":
            found = PrefixExtending.planned(2)
            reports = found.encode(people, TAPE)
            codes, group = found.codes(texts), found.letters - 1
            n = int(found.tally(reports)[-1])
            counts = np.array([found.supports(reports, group, code[None] >> 8)[0, code & 255] for code in codes])
            shares = (counts / n - float(found.q)) / float(found.p - found.q)
            variance = share_variance(found.worth, true, n, "fixed") + true * (1 - true) * (1 / n - 1 / users)
        else:
            rappor = Rappor.planned(2, 4)
            matrix = design(rappor, texts)
            fitted = fit(rappor, rappor.tally(rappor.encode(people, TAPE)), matrix, len(texts))
            shares = fitted.shares[:-1]
            variance = np.diag(fitted.covariance)[:-1] / fitted.misfit - true * (1 - true) / users
        squares.append(float(((shares - true) ** 2 / variance).mean()))
    return squares


if __name__ == "__main__":
    random.seed(1)
    table(int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000)
    errors()
