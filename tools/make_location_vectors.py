"""Write the test vectors that the Python and the JavaScript location mechanism must both reproduce.

`python tools/make_location_vectors.py` writes clients/browser/location/tests/vectors.json; a test compares the file
with what `vectors()` returns, so that it is always up to date.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.geo.lattice_noise import LatticeNoise
from sfumato.geo.mechanism import LocationMechanism
from sfumato.geo.traces import TraceMechanism
from sfumato.reals import exp, sqrt

FILE = Path(__file__).parents[1] / "clients" / "browser" / "location" / "tests" / "vectors.json"
SETTINGS = [("ln 4", "200"), ("ln 4", "500"), ("ln 4", "2000"), ("1", "50"), ("0.1", "200"), ("3/2 ln 3", "12.5")]
POSITIONS = [(48.8584, 2.2945), (90.0, 0.0), (-89.9999, 123.0), (0.0, 180.0), (0.0, -180.0), (-33.8568, 151.2153)]
VECTORS = [(0, 0, 0), (1, 0, 0), (-3, 4, 0), (7, -7, 7), (120, -45, 3), (900, 900, -900), (250, 0, 0), (4000, 12, -9)]


class Words:
    """Scripted 32-bit words."""

    def __init__(self, words: list[int]) -> None:
        self.words, self.used = words, 0

    def word(self, width: int) -> int:
        """The next word."""
        assert width == 32
        self.used += 1
        return self.words[self.used - 1]

    def take(self, count: int, width: int) -> Any:
        """The next words as an array."""
        return np.array([self.word(width) for _ in range(count)], np.uint64)


def _coins(noise: LatticeNoise) -> list[dict[str, Any]]:
    """Words around the chance of each vector: below, above, and in its very cell, where longer words decide."""
    found = []
    for vector in VECTORS:
        square, total = sum(c * c for c in vector), sum(map(abs, vector))
        bits = 160
        chance = 1 << bits
        if square:
            chance = exp(noise.proposal * total - noise.rate * sqrt(square)).enclose(bits)[0]
        cell = min(chance >> (bits - 32), (1 << 32) - 1)
        rest = [(chance >> (bits - 32 * k)) % (1 << 32) for k in (2, 3, 4)]
        for first in sorted({0, max(cell - 1, 0), cell, min(cell + 1, (1 << 32) - 1), (1 << 32) - 1}):
            for tail in ([0, 0, 0], [2**32 - 1] * 3, [*rest[:2], max(rest[2] - 1, 0)], [*rest[:1], 2**32 - 1, 0]):
                words = Words([first, *tail, 5, 5, 5])
                kept = bool(noise.coins([np.array([c]) for c in vector], words)[0])
                found.append({"vector": vector, "words": words.words, "kept": kept, "used": words.used})
    return found


def vectors() -> dict[str, Any]:
    """All vectors, as one document."""
    settings = []
    for level, radius in SETTINGS:
        made = LocationMechanism.within(level, radius)
        points = made.frame.to_grid(*np.array(POSITIONS).T)
        shifted = points + np.array([17, -230, 45])
        lat, lon = made.frame.from_grid(shifted)
        trace = TraceMechanism.of(made, "9 ln 4")
        settings.append(
            {
                "level": level,
                "radius": radius,
                "step": [str(n) for n in made.frame.step.as_integer_ratio()],
                "rate": [str(end) for end in made.noise.rate.enclose(96)],
                "proposal": [str(n) for n in made.noise.proposal.as_integer_ratio()],
                "test_rate": [str(n) for n in trace.test_rate.as_integer_ratio()],
                "threshold": int(trace.threshold / made.frame.step),
                "grid": points.tolist(),
                "shifted": shifted.tolist(),
                "degrees": np.stack([lat, lon], axis=1).tolist(),
                "coins": _coins(made.noise),
            }
        )
    return {"positions": POSITIONS, "settings": settings}


def main() -> None:
    """Write the file."""
    FILE.write_text(json.dumps(vectors(), separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"Wrote {FILE}")


if __name__ == "__main__":
    main()
