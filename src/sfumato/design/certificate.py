"""What is proved about a mechanism: that it is private, and that no private one is worth more. In whole numbers.

Comes in: a matrix of fractions, or prices of rows, from wherever. Goes out: an error with the numbers, or a bound.
Neither function knows how the matrix or the prices were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from math import lcm
from operator import gt, mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.design.level import as_level
from sfumato.design.problem import BITS, Problem, apart_of
from sfumato.errors import ClaimError
from sfumato.mechanisms.metrics import Metric
from sfumato.reals import Real
from sfumato.types import as_written, show


def check(matrix: Sequence[Sequence[Any]], epsilon: Any, metric: Metric = None, inputs: Sequence[Any] = ()) -> None:
    """Raise unless the matrix is a mechanism that is epsilon d-private, for every pair of inputs and every output.

    Guarantee: where nothing is raised, rows add up to 1 and matrix[x][z] <= e^(epsilon d(x, x')) matrix[x'][z].
    Proof: entries are whole numbers of one unit. For each pair of rows e^(-epsilon d) is a fraction, or enclosed by
        fractions of which the upper end u is taken, with digits below the smallest ratio of two entries: u matrix[x][z]
        <= matrix[x'][z] is compared for each output.
    Reference: Chatzikokolakis, Andres, Bordenabe, Palamidessi, PETS 2013.
    Checked by: design::the_check_finds_the_smallest_breach, design::the_check_agrees_with_the_exact_epsilon
    """
    level, rows = as_level(epsilon), [[as_written(p, "probability") for p in row] for row in matrix]
    apart = apart_of(metric, list(inputs) or list(range(len(rows))))
    for x, row in enumerate(rows):
        if min(row) < 0 or sum(row) != 1:
            raise ClaimError(
                "this is no mechanism", detail=f"Row {x} adds up to {show(sum(row))}, or has an entry below 0."
            )
    unit = lcm(*(p.denominator for row in rows for p in row))
    whole = [[p.numerator * (unit // p.denominator) for p in row] for row in rows]
    known: dict[object, tuple[int, int]] = {}
    for x, here in enumerate(whole):
        for other, there in enumerate(whole):
            distance = apart[x][other]
            if x == other or distance is None:
                continue
            key = id(distance) if isinstance(distance, Real) else distance.as_integer_ratio()
            if key not in known:
                known[key] = level.decay_above(distance, unit.bit_length(), BITS).as_integer_ratio()
            top, bottom = known[key]
            if any(map(gt, map(mul, here, repeat(top)), map(mul, there, repeat(bottom)))):
                z = next(z for z, (a, b) in enumerate(zip(here, there, strict=True)) if a * top > b * bottom)
                raise ClaimError(
                    f"this mechanism is not {level} d-private",
                    detail=f"Output {z} has probability {float(rows[x][z]):.17g} for input {x} and "
                    f"{float(rows[other][z]):.17g} for input {other}.",
                )


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of rows of one output, in whole numbers of 2^-BITS: k_here - e^(-epsilon d) k_there >= 0 costs `price`."""

    here: NDArray[np.intp]
    there: NDArray[np.intp]
    price: NDArray[Any]


def bound_utility(problem: Problem, prices: Sequence[Prices]) -> Fraction:
    """What no private mechanism can exceed, whatever the prices are; good prices give a good bound. One for each guess.

    Guarantee: the expected gain of every epsilon d-private mechanism, after any remapping, is at most the result.
    Proof: weak duality. Each row is at least 0 for a private column k, so that worth k <= sum of value_x k_x with value
        = worth + what the prices add; columns are at least 0 and add up to 1, so that the sum over all outputs is at
        most the sum over x of the largest value_x. Worth is rounded up, e^(-epsilon d) down, which only raises it.
    Reference: any book on linear programs; Ghosh, Roughgarden, Sundararajan, STOC 2009, for this one.
    Checked by: design::any_prices_give_a_bound, design::the_bound_is_the_optimum_of_a_second_solver
    """
    decays = np.array([[low for low, _ in row] for row in problem.decays], dtype=object)
    most: list[int] | None = None
    for row, paid in zip(problem.worth, prices, strict=True):
        if len(paid.price) and min(paid.price) < 0:
            raise ClaimError("a price is below 0")
        value = [high << BITS for high in row]
        taken = decays[paid.here, paid.there] * paid.price
        for x, y, price, less in zip(paid.here.tolist(), paid.there.tolist(), paid.price, taken, strict=True):
            if x == y:
                raise ClaimError("a row compares two different inputs")
            value[x] += price << BITS
            value[y] -= less
        most = value if most is None else [max(pair) for pair in zip(most, value, strict=True)]
    return Fraction(sum(most or [0]), 1 << (2 * BITS))
