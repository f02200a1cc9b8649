"""An exact choice among many entries beside numpy's float Gumbel argmax: milliseconds and the ratio, in one run.

    python bench/bench_choice.py           (make bench pins it to one core)

Ratios above 1 mean that ours is faster. The argmax of score plus Gumbel noise has the same law as ours on paper; in
floats it is the unsafe floor: no exact law, and no cryptographic source.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.mechanisms import RankedChoice


def median(run: Callable[[], Any], times: int) -> float:
    """CPU seconds, the median of several runs: the number of tries differs from one to the next."""
    found = []
    for _ in range(times):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return statistics.median(found)


def rows(rng: np.random.Generator, count: int) -> dict[str, tuple[RankedChoice, Any, Any]]:
    """A median's scores, a rate with many digits, everything in one band, and long entries."""
    steep = np.abs(2 * np.arange(count) - count)
    flat, lengths = rng.integers(0, 2000, count), rng.integers(1, 2**62, count)
    return {
        "median": (RankedChoice(1, 1), steep, None),
        "digits": (RankedChoice(1, "0.123456789012345"), flat, None),
        "lengths": (RankedChoice(1, "0.1"), flat, lengths),
        "one band": (RankedChoice(10**6, 1), flat, lengths),
    }


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng()
    print("".join(f"{head:>10}" for head in ("entries", "scores", "ours ms", "numpy ms", "x numpy")))
    for count in (100, 10**4, 10**5, 10**6):
        for name, (law, scores, lengths) in rows(rng, count).items():
            rate, times = float(law.rate), 15 if count > 10**4 else 200
            sizes = np.zeros(count) if lengths is None else np.log(lengths)

            def floats(rate: float = rate, scores: Any = scores, sizes: Any = sizes, count: int = count) -> int:
                return int(np.argmax(sizes - rate * scores + rng.gumbel(size=count)))

            def ours(law: RankedChoice = law, scores: Any = scores, lengths: Any = lengths) -> int:
                return law.release(scores, lengths)

            ours()
            mine, theirs = median(ours, times), median(floats, times)
            cells = (f"{count:,}", name, f"{mine * 1e3:.3f}", f"{theirs * 1e3:.3f}", f"{theirs / mine:.2f}")
            print("".join(f"{cell:>10}" for cell in cells))


if __name__ == "__main__":
    main()
