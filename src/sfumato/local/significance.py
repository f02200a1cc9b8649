"""Many candidates at once: p-values adjusted so that few, or none, are named by chance alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError

METHODS = ("holm", "bh")
Floats = NDArray[np.float64]


def adjusted(p_values: Floats, method: str = "holm") -> Floats:
    """Holm: the chance of naming any absent candidate stays below the level. Benjamini-Hochberg ("bh"): the expected
    share of absent ones among those named does.
    """
    if method not in METHODS:
        raise InputError(f"the correction must be holm or bh, but is {method!r}")
    m = len(p_values)
    order = np.argsort(p_values)
    if method == "holm":
        ranked = np.maximum.accumulate(p_values[order] * (m - np.arange(m)))
    else:
        ranked = np.minimum.accumulate((p_values[order] * m / np.arange(1, m + 1))[::-1])[::-1]
    result = np.empty(m)
    result[order] = np.minimum(ranked, 1.0)
    return result
