"""Verify: the house's own mechanisms as programs, each with the certificate of its claim.

Comes in: a name. Goes out: a program's text, or its certificate. Sensitivities are one step: a mechanism with another
one is the same program in steps of that size. `make docs` writes certificates; `make test` has the kernel check them
anew, and compares each program with the mechanism that it stands for, law by law.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PROGRAMS: dict[str, tuple[str, ...]] = {
    "Geometric": ("geometric", "histogram"),
    "Laplace": ("geometric", "histogram"),  # the same law, in steps of its grid
    "TruncatedGeometric": ("truncated_geometric",),
    "TruncatedLaplace": ("truncated_geometric",),
    "NoisyMax": ("noisy_max", "noisy_max_monotone"),
    "PermuteAndFlip": ("permute_and_flip", "permute_and_flip_monotone"),
    "SparseVector": ("sparse_vector", "sparse_vector_monotone"),
    "Exponential": ("exponential",),
    "RandomizedResponse": ("randomized_response", "randomized_response_four"),
}
"""The programs that stand for a mechanism."""
NOT_WRITTEN: dict[str, str] = {
    "Gaussian": "its noise is discrete Gaussian, and the language has continuous Gaussian noise only",
    "GaussianKeySelection": "its thresholds come from privacy curves of the discrete Gaussian",
    "KeySelection": "its probabilities come from a recursion over the number of people, not from noise",
    "OrderStatistic": "it chooses among ranges of candidates whose number depends on the data",
    "MostFrequent": "its candidates without rows are one entry whose size depends on the data",
    "RankInterval": "it chooses a distance by ranks, which are sums over lists of any length",
    "RankedChoice": "it chooses among ranges of candidates whose number depends on the data",
    "Staircase": "the language has no staircase distribution",
    "ThresholdedCounts": "the set of keys depends on the data",
    "PrefixSums": "the nodes of a prefix sum follow the binary digits of its position",
    "Channel": "it is an arbitrary matrix, whose epsilon is computed from it",
}
"""The mechanisms that the language cannot say, or not for all their sizes, and why."""


def names() -> tuple[str, ...]:
    """All programs."""
    return tuple(sorted({name for found in PROGRAMS.values() for name in found}))


def text_of(name: str) -> str:
    """A program of the library."""
    return (FOLDER / f"{name}.sfp").read_text(encoding="utf-8")


def certificate_of(name: str) -> dict[str, Any]:
    """The certificate of its claim."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found
