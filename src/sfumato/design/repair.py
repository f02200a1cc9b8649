"""From floats that are nearly a private mechanism to whole numbers that are one.

Comes in: columns of floats, near to private and adding up to nearly 1. Goes out: whole numbers of 2^-WIDE, which obey
every pair of inputs and add up to exactly 1. A solver's answer is no proof of privacy; this is the step that makes it
one, and `certificate` checks it without knowing of it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.design.problem import BITS
from sfumato.errors import ClaimError

Whole = NDArray[Any]
"""An array of Python's own whole numbers, which do not overflow."""
WIDE = 128
"""Probabilities are whole multiples of 2^-128."""


def raised(columns: Whole, decay: Whole) -> Whole:
    """Every entry raised to what the others ask of it: k_x >= decay(x', x) k_x' for all pairs. The least raises.

    From the largest entry to the smallest, each asks once: a decay is below 1, so that nobody asks for more than it
    has, and those that have asked are not raised any more.
    """
    out = columns.copy()
    for now in out:
        left = set(range(len(now)))
        while left:
            x = max(left, key=now.__getitem__)
            left.discard(x)
            np.maximum(now, -((-(decay[x] * now[x])) >> BITS), out=now)
    return out


def repaired(columns: NDArray[np.float64], group_of: Any, decay: Whole, best: int) -> Whole:
    """The mechanism in whole numbers of 2^-WIDE, one column for each output.

    columns: floats, one column for each orbit; group_of: makes a column for every output; decay: upper ends of
    e^(-epsilon d), in 2^-BITS; best: the output that is worth most without any answer, which takes what is left over.

    Guarantee: u k_x' <= k_x for every column and pair, u being the given upper end; each input's entries add up to 1.
    Proof: raised columns obey all pairs, and so do they after scaling by a < 1, rounding down and raising again. What
        is left over, rest_x = 1 - sum, is added to one column; a is so small that rest obeys all pairs, too, and the
        sum of two columns that obey obeys. The scale is found in floats; that rest obeys is compared in whole numbers.
    Reference: none; private columns are a convex cone, which is all that the proof needs.
    Checked by: design::the_repair_makes_any_matrix_private, design::optima_are_private_in_whole_numbers
    """
    one = 1 << WIDE
    first = np.array([[int(max(v, 0.0) * 2.0**WIDE) for v in row] for row in columns.tolist()], dtype=object)
    first = raised(first, decay)
    sums = group_of(first).sum(axis=0)
    over = np.array([float(Fraction(int(s) - one, one)) for s in sums])
    u = (decay / (1 << BITS)).astype(np.float64)
    short = np.array([[float(Fraction((1 << BITS) - int(d), 1 << BITS)) for d in row] for row in decay])
    with np.errstate(divide="ignore", invalid="ignore"):
        asked = (over[None, :] - u * over[:, None]) / short
    need = max(0.0, float(np.nanmax(asked[np.isfinite(asked)], initial=0.0)), float(over.max()))
    for margin in (2.0**-90, 2.0**-70, 2.0**-50, 2.0**-35, 2.0**-20, 2.0**-10):
        keep = 1 / (1 + Fraction(need) * (1 + Fraction(1, 1 << 30)) + Fraction(margin))
        scaled = first * keep.numerator // keep.denominator
        matrix = group_of(raised(scaled, decay))
        rest = one - matrix.sum(axis=0)
        if (rest >= 0).all() and ((-((-(decay * rest[:, None])) >> BITS)).max(axis=0) <= rest).all():
            matrix[best] += rest
            return np.asarray(matrix)
    raise ClaimError(
        "the mechanism could not be made private",
        detail=f"Its rows are {need:.2g} of a probability too long for distances as small as these.",
        hint="Take a larger epsilon.",
    )
